// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_STREAM_HPP
#define AUGUR_PROGRAM_REUSE_STREAM_HPP

/// @file
/// Exact LRU reuse distances of a stream of memory accesses, in one pass.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/isa.hpp>
#include <augur/program/detail/collapse_repeats.hpp>
#include <augur/program/detail/last_access_table.hpp>
#include <augur/program/detail/lru_rank_index.hpp>
#include <augur/program/reuse/profile.hpp>

namespace augur::inline v0 {

/// Computes exact reuse (LRU stack) distances: for each access, the number of distinct other lines since the last access to its line (Crop, section
/// 3.2.2).
///
/// ```cpp
/// reuse_stream stream;
/// reuse_profile profile(64);
/// for (auto lines : chunks) stream.feed(lines, profile); // addresses divided by 64, in spans of any size
/// ```
///
/// A line is any 64-bit number. The result does not depend on the division of the stream into spans, nor on the processor.
/// Cost       6 ns for each access of a blocked matrix product, 19 ns for random ones to a million lines (Zen 5, docs/program.md); O(1) amortised, with a
///            renumbering of n lines after every 7n accesses. `reuse_parallel` uses several processors
/// Memory     at most 48 bytes for each line, and 20 KB
/// Limits     2^28 lines
/// Threads    one thread per stream
class reuse_stream {
public:
    /// @param level  instruction set to use; tests pass a lower one
    explicit reuse_stream(isa level = best_isa()) : level_(level), lines_(level), order_(level) {}
    [[nodiscard]] isa level() const noexcept { return level_; }

    /// Sets distances[i] to the reuse distance of lines[i], or `cold_access`. pre: distances.size() == lines.size()
    void distances(std::span<const std::uint64_t> lines, std::span<std::uint32_t> distances) {
        AUGUR_ASSERT(distances.size() == lines.size(), "reuse_stream: as many distances as accesses");
        std::array<std::uint32_t, batch> last_times;
        std::array<const void*, batch> next;
        const std::uint64_t* at = lines.data();
        std::uint32_t* to = distances.data();
        for (std::size_t left = lines.size(); left > 0;) {
            reserve(0);
            const auto n = static_cast<std::uint32_t>((std::min)(left, std::size_t{order_.room()}));
            left -= n;
            lines_.exchange(at, n, order_.now(), last_times.data());
            const std::uint32_t places = lines_.places_of(at + n, static_cast<std::uint32_t>((std::min)(left, std::size_t{n})), next.data());
            order_.move_to_front(last_times.data(), n, to, next.data(), places);
            at += n;
            to += n;
        }
    }

    /// Adds the distances of `lines` to a profile.
    /// @param first_uses  if not null, the lines of cold accesses are appended in order
    void feed(std::span<const std::uint64_t> lines, reuse_profile& counts, std::vector<std::uint64_t>* first_uses = nullptr) {
        std::array<std::uint32_t, detail::repeats_block> found;
        std::array<std::uint64_t, detail::repeats_block> kept;
        for (; !lines.empty(); lines = lines.subspan((std::min)(kept.size(), lines.size()))) {
            const auto all = lines.first((std::min)(kept.size(), lines.size()));
            const auto part = detail::collapse_repeats(all, kept);
            counts.add(0, all.size() - part.size());
            const std::span<std::uint32_t> out(found.data(), part.size());
            distances(part, out);
            counts.add(out);
            if (first_uses != nullptr)
                for (std::size_t i = 0; i < out.size(); ++i)
                    if (out[i] == cold_access) first_uses->push_back(part[i]);
        }
    }

    /// Appends the accesses of another stream, as if they had been fed to this one (the merge step of PARDA).
    /// @param first_uses  the lines of `later` in the order of their first use
    /// @param distances   distances[i] becomes the distance of the first use of first_uses[i], or `cold_access` when this stream does not have the
    /// line
    /// pre: both spans have later.lines() elements.   Cost: that of 2 to 3 accesses for each line
    void append(const reuse_stream& later, std::span<const std::uint64_t> first_uses, std::span<std::uint32_t> distances) {
        AUGUR_ASSERT(first_uses.size() == later.lines() && distances.size() == first_uses.size(),
                     "reuse_stream: append: expected all lines of the later stream");
        // Moving the lines to the front in the order of their first uses gives the ranks of the first uses, and occupies one time for each line. The
        // time stored for a line is its position in the order of the last uses.
        reserve(first_uses.size());
        const std::uint32_t start = order_.now();
        const auto newest = static_cast<std::uint32_t>(first_uses.size()) - 1;
        constexpr std::size_t ahead = 16;
        std::array<std::uint32_t, batch> last_times;
        for (std::size_t done = 0; done < first_uses.size();) {
            const std::size_t n = (std::min)(first_uses.size() - done, std::size_t{order_.room()});
            lines_.make_room();
            for (std::size_t i = 0; i < n; ++i) {
                if (done + i + ahead < first_uses.size()) {
                    lines_.prefetch(first_uses[done + i + ahead]);
                    later.lines_.prefetch(first_uses[done + i + ahead]);
                }
                const std::uint64_t line = first_uses[done + i];
                last_times[i] = lines_.exchange(line, start + newest - later.order_.rank(later.lines_.find(line)));
            }
            order_.move_to_front(last_times.data(), static_cast<std::uint32_t>(n), &distances[done]);
            done += n;
        }
    }

    /// Number of distinct lines so far.
    [[nodiscard]] std::size_t lines() const noexcept { return lines_.size(); }
    /// Allocated memory, in bytes.
    [[nodiscard]] std::size_t bytes() const noexcept { return lines_.bytes() + order_.bytes(); }

private:
    static constexpr std::size_t batch = detail::last_access_table::batch;
    static_assert(cold_access == detail::last_access_table::never);

    /// Makes room for a batch of new lines and for max(uses, batch) new times.
    void reserve(std::size_t uses) {
        lines_.make_room();
        if (order_.fits((std::max)(uses, batch))) return;
        lines_.each_times([&](std::uint32_t* times, std::size_t n) { order_.order(times, n, lines_.size()); });
        order_.restart(lines_.size(), uses);
    }

    isa level_;
    detail::last_access_table lines_;
    detail::lru_rank_index order_;
};

} // namespace augur::inline v0

#endif
