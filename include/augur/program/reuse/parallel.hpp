// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_PARALLEL_HPP
#define AUGUR_PROGRAM_REUSE_PARALLEL_HPP

/// @file
/// Parallel computation of the exact reuse distances of one trace (PARDA).

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

/// A part of a trace, counted alone: lines that are cold here may occur in earlier parts.
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

/// Does `stream.feed(lines, counts)` in parallel parts, which are merged pairwise (PARDA: Niu, Dinan, Lu, Sadayappan 2012). The result is equal to
/// that of `feed` for any number of threads and parts.
///
/// The speed-up needs parts with many more accesses than lines, because the merge looks up each line of a part again. A part has at least `least`
/// accesses; there are at most `executor.concurrency()` parts.
/// Memory     one stream for each part
template <bulk_executor E>
void reuse_parallel(reuse_stream& stream, std::span<const std::uint64_t> lines, reuse_profile& counts, E& executor,
                    std::size_t least = std::size_t{1} << 20U) {
    const std::size_t count = (std::min)(std::size_t{executor.concurrency()}, lines.size() / (std::max)(least, std::size_t{1}));
    if (count <= 1) return stream.feed(lines, counts);
    std::vector<detail::reuse_part> parts(count, {reuse_stream(stream.level()), reuse_profile(counts.line_bytes()), {}});
    std::swap(parts[0].stream, stream);
    executor.bulk(count, [&](std::size_t i) {
        const std::size_t from = lines.size() / count * i;
        auto& part = parts[i];
        part.stream.feed(lines.subspan(from, i + 1 == count ? lines.size() - from : lines.size() / count), part.profile, &part.first_uses);
    });
    for (std::size_t step = 1; step < count; step *= 2)
        executor.bulk((count - step + 2 * step - 1) / (2 * step), [&](std::size_t i) {
            parts[2 * step * i].append(parts[2 * step * i + step]);
            parts[2 * step * i + step] = {reuse_stream(stream.level()), reuse_profile(counts.line_bytes()), {}}; // frees its memory
        });
    std::swap(parts[0].stream, stream);
    [[maybe_unused]] const bool same = static_cast<bool>(counts.merge(parts[0].profile));
}

} // namespace augur::inline v0

#endif
