// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_PARALLEL_HPP
#define AUGUR_PROGRAM_REUSE_PARALLEL_HPP

/// @file
/// Reuse distances of one trace on several processors.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/program/reuse/profile.hpp>
#include <augur/program/reuse/stream.hpp>

namespace augur::inline v0 {

namespace detail {

/// A part of a trace, looked at alone: what is cold may have been used by the parts before it.
struct reuse_part {
    reuse_stream stream;
    reuse_profile profile;
    std::vector<std::uint64_t> first_uses;

    void append(const reuse_part& later) {
        std::vector<std::uint32_t> distances(later.first_uses.size());
        stream.append(later.stream, later.first_uses, distances);
        [[maybe_unused]] const bool same = static_cast<bool>(profile.merge(later.profile));
        AUGUR_ASSERT(same, "reuse_parallel: parts of one profile");
        profile.replace_cold(distances);
        for (std::size_t i = 0; i < distances.size(); ++i)
            if (distances[i] == cold_access) first_uses.push_back(later.first_uses[i]);
    }
};

} // namespace detail

/// `stream.feed(lines, into)` in parts at once (PARDA: Niu, Dinan, Lu, Sadayappan 2012), merged two by two. The same stream and the same counts, to
/// the last bit, on any number of threads and for any number of parts.
///
/// It pays when a part has many more accesses than lines: each part looks its lines up once more. Parts are of 2^20 accesses or more, at most as
/// many as `executor.concurrency()`.
/// Memory     that of a stream for each part
template <bulk_executor E>
void reuse_parallel(reuse_stream& stream, std::span<const std::uint64_t> lines, reuse_profile& into, E& executor,
                    std::size_t least = std::size_t{1} << 20U) {
    const std::size_t count = (std::min)(std::size_t{executor.concurrency()}, lines.size() / (std::max)(least, std::size_t{1}));
    if (count <= 1) return stream.feed(lines, into);
    std::vector<detail::reuse_part> parts(count, {reuse_stream(stream.level()), reuse_profile(into.line_bytes()), {}});
    std::swap(parts[0].stream, stream);
    executor.bulk(count, [&](std::size_t i) {
        const std::size_t from = lines.size() / count * i;
        auto& part = parts[i];
        part.stream.feed(lines.subspan(from, i + 1 == count ? lines.size() - from : lines.size() / count), part.profile, &part.first_uses);
    });
    for (std::size_t step = 1; step < count; step *= 2)
        executor.bulk((count - step + 2 * step - 1) / (2 * step), [&](std::size_t i) {
            parts[2 * step * i].append(parts[2 * step * i + step]);
            parts[2 * step * i + step] = {reuse_stream(stream.level()), reuse_profile(into.line_bytes()), {}}; // its memory is free again
        });
    std::swap(parts[0].stream, stream);
    [[maybe_unused]] const bool same = static_cast<bool>(into.merge(parts[0].profile));
}

} // namespace augur::inline v0

#endif
