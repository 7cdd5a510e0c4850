// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_INTERLEAVE_HPP
#define AUGUR_PROGRAM_REUSE_INTERLEAVE_HPP

/// @file
/// What a cache sees that several threads share: their traces as one (the concurrent profile of PPT-Multicore; Barai et al. 2022).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace augur::inline v0 {

/// Whose turn it is.
enum class interleaving : std::uint8_t {
    round_robin, ///< one access each, in turn; a thread at its end drops out
    uniform,     ///< every order in which each thread keeps its own is equally likely
};

/// All accesses of `traces` as one stream, in pieces to `sink(span<const uint64_t>)`: into a `reuse_stream`, a `associativity_stream` or both. The private
/// counterpart needs nothing: a stream for each trace, their profiles merged.
/// `seed` is for `uniform`.   Cost: 2 ns an access in turn, 10 ns at random; memory for one piece
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
        for (; total > 0; --total) { // each access that is left is the next one with equal chance; of its thread it is the first
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
