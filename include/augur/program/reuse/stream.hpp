// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_STREAM_HPP
#define AUGUR_PROGRAM_REUSE_STREAM_HPP

/// @file
/// Exact reuse distances of a stream of accesses.

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

/// Reuse (stack) distances as accesses come: for each the number of other lines used since its line was used last (Crop, section 3.2.2), exactly.
///
///     reuse_stream stream;
///     reuse_profile profile(64);
///     while (more) stream.feed(lines, profile); // addresses divided by 64, as many at once as there are
///
/// A line is any 64-bit number. The result depends neither on how the stream is cut into spans nor on the processor.
/// Cost       about 10 ns an access to tensor programs, 35 ns to a million lines at random (docs/program.md); O(1) but for re-numbering the lines
///            after seven times as many accesses. `reuse_parallel` uses several processors
/// Memory     at most 48 bytes a line, and 20 KB
/// Limits     2^28 lines
/// Threads    one thread a stream
class reuse_stream {
public:
    /// `level` is for tests: a lesser instruction set.
    explicit reuse_stream(isa level = best_isa()) : level_(level), lines_(level), order_(level) {}
    [[nodiscard]] isa level() const noexcept { return level_; }

    /// distances[i] = that of lines[i], or `cold_access`. pre: distances.size() == lines.size()
    void distances(std::span<const std::uint64_t> lines, std::span<std::uint32_t> distances) {
        AUGUR_ASSERT(distances.size() == lines.size(), "reuse_stream: a distance for each access");
        std::array<std::uint32_t, batch> before;
        std::array<const void*, batch> next;
        const std::uint64_t* at = lines.data();
        std::uint32_t* to = distances.data();
        for (std::size_t left = lines.size(); left > 0;) {
            reserve(0);
            const auto n = static_cast<std::uint32_t>((std::min)(left, std::size_t{order_.room()}));
            left -= n;
            lines_.exchange(at, n, order_.now(), before.data());
            const std::uint32_t places = lines_.places_of(at + n, static_cast<std::uint32_t>((std::min)(left, std::size_t{n})), next.data());
            order_.move_to_front(before.data(), n, to, next.data(), places);
            at += n;
            to += n;
        }
    }

    /// Counts the distances of `lines`. `first_uses`, if given, collects the lines that are cold, in order.
    void feed(std::span<const std::uint64_t> lines, reuse_profile& into, std::vector<std::uint64_t>* first_uses = nullptr) {
        std::array<std::uint32_t, detail::repeats_block> found;
        std::array<std::uint64_t, detail::repeats_block> kept;
        for (; !lines.empty(); lines = lines.subspan((std::min)(kept.size(), lines.size()))) {
            const auto all = lines.first((std::min)(kept.size(), lines.size()));
            const auto part = detail::collapse_repeats(all, kept);
            into.add(0, all.size() - part.size());
            const std::span<std::uint32_t> out(found.data(), part.size());
            distances(part, out);
            into.add(out);
            if (first_uses != nullptr)
                for (std::size_t i = 0; i < out.size(); ++i)
                    if (out[i] == cold_access) first_uses->push_back(part[i]);
        }
    }

    /// Goes on as if it had been fed what `later`, a stream of its own, was fed. `first_uses` are the lines of `later` in the order of their first
    /// use; distances[i] becomes that of first_uses[i], now that it is known what came before (`cold_access`: still the first).
    /// pre: both spans have later.lines() elements.   Cost: that of 2 to 3 accesses for each of them
    void append(const reuse_stream& later, std::span<const std::uint64_t> first_uses, std::span<std::uint32_t> distances) {
        AUGUR_ASSERT(first_uses.size() == later.lines() && distances.size() == first_uses.size(), "reuse_stream: all lines of the later stream");
        // In the order of the first uses a line's rank counts those before it as they must be, and in the end all these times are in use. But what a
        // line keeps is its place in the order of the last uses.
        reserve(first_uses.size());
        const std::uint32_t start = order_.now();
        const auto newest = static_cast<std::uint32_t>(first_uses.size()) - 1;
        constexpr std::size_t ahead = 16;
        std::array<std::uint32_t, batch> before;
        for (std::size_t done = 0; done < first_uses.size();) {
            const std::size_t n = (std::min)(first_uses.size() - done, std::size_t{order_.room()});
            lines_.make_room();
            for (std::size_t i = 0; i < n; ++i) {
                if (done + i + ahead < first_uses.size()) {
                    lines_.prefetch(first_uses[done + i + ahead]);
                    later.lines_.prefetch(first_uses[done + i + ahead]);
                }
                const std::uint64_t line = first_uses[done + i];
                before[i] = lines_.exchange(line, start + newest - later.order_.rank(later.lines_.find(line)));
            }
            order_.move_to_front(before.data(), static_cast<std::uint32_t>(n), &distances[done]);
            done += n;
        }
    }

    /// Different lines so far.
    [[nodiscard]] std::size_t lines() const noexcept { return lines_.size(); }
    /// Memory that it holds.
    [[nodiscard]] std::size_t bytes() const noexcept { return lines_.bytes() + order_.bytes(); }

private:
    static constexpr std::size_t batch = detail::last_access_table::batch;
    static_assert(cold_access == detail::last_access_table::never);

    /// Room for a batch of lines, and for `uses` at one go, which are a batch at least.
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
