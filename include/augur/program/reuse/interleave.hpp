// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_INTERLEAVE_HPP
#define AUGUR_PROGRAM_REUSE_INTERLEAVE_HPP

/// @file
/// Interleaves the traces of several threads into one trace for a shared cache (the concurrent reuse profile of PPT-Multicore; Barai et al. 2022).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace augur::inline v0 {

/// The order of the accesses of different threads.
enum class interleaving : std::uint8_t {
    round_robin, ///< one access of each thread in turn; a finished thread drops out
    uniform,     ///< random: every interleaving that keeps the order within each thread is equally likely
};

/// Passes all accesses of `traces` as one stream to `sink(span<const uint64_t>)`, in pieces of up to 1024. The sink may feed a `reuse_stream`, an
/// `associativity_stream` or both. (Profiles of private caches need no interleaving: use one stream for each trace and merge the profiles.)
/// @param seed  seed of `uniform`
/// @note Cost: 2 ns for each access with `round_robin`, 10 ns with `uniform`; memory for one piece
template <class Sink>
void interleave(std::span<const std::span<const std::uint64_t>> traces, interleaving order, std::uint64_t seed, Sink&& sink) {
    std::array<std::uint64_t, 1024> piece;
    std::size_t filled = 0;
    const auto put = [&](std::uint64_t line) {
        piece[filled++] = line;
        if (filled < piece.size()) return;
        sink(std::span<const std::uint64_t>(piece));
        filled = 0;
    };
    std::vector<std::span<const std::uint64_t>> left;
    std::uint64_t total = 0;
    for (const auto& t : traces) {
        if (!t.empty()) left.push_back(t);
        total += t.size();
    }
    if (order == interleaving::round_robin) {
        while (!left.empty()) {
            std::size_t rounds = left.front().size();
            for (const auto& t : left) rounds = t.size() < rounds ? t.size() : rounds;
            for (std::size_t i = 0; i < rounds; ++i)
                for (const auto& t : left) put(t[i]);
            std::size_t kept = 0;
            for (const auto& t : left)
                if (t.size() > rounds) left[kept++] = t.subspan(rounds);
            left.resize(kept);
        }
    } else {
        random_engine draw(seed);
        for (; total > 0; --total) { // draw a thread with a probability proportional to its remaining accesses
            std::uint64_t at = draw.below(total);
            std::size_t i = 0;
            for (; at >= left[i].size(); ++i) at -= left[i].size();
            put(left[i].front());
            left[i] = left[i].subspan(1);
        }
    }
    if (filled > 0) sink(std::span<const std::uint64_t>(piece.data(), filled));
}

} // namespace augur::inline v0

#endif
