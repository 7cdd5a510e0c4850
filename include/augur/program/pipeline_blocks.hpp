// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_BLOCKS_HPP
#define AUGUR_PROGRAM_PIPELINE_BLOCKS_HPP

/// @file
/// What blocks cost where they stand: behind another block (Crop's superblocks), and in a loop that has run for a while. A block alone is too dear
/// by the time in which the pipeline fills and drains, which in a loop of short blocks is most of it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/program/pipeline.hpp>

namespace augur::inline v0 {

/// A block ready to be simulated: its graphlet and what its instructions become on the machine at hand.
struct lowered_block {
    const graphlet* code = nullptr;
    std::span<const native_code> native; ///< (V)
    double slots = 0;                    ///< room that it takes in the front of the core
};

/// Simulates blocks alone, behind others and in loops. Scratch like `pipeline`: one thread an object, no allocation once it has met its largest
/// block.
class block_pipeline {
public:
    explicit block_pipeline(const cost_table& costs, pipeline_options options = {}) : pipe_(costs, options) {}

    [[nodiscard]] const cost_table& costs() const noexcept { return pipe_.costs(); }

    /// Cycles of a block alone.
    [[nodiscard]] double alone(const lowered_block& b) {
        fill(0, b);
        return pipe_.run({b.code->rows(), b.code->targets()}, b.code->size());
    }
    /// Cycles of two blocks, one behind the other. That of the first taken away is what the second costs there.
    /// @param carried  what `b` takes from `p`, by rising source
    [[nodiscard]] double pair(const lowered_block& p, const lowered_block& b, std::span<const dependence> carried) {
        const auto n = static_cast<std::uint32_t>(p.code->size());
        rows_.assign(1, 0);
        targets_.clear();
        append(p, carried, 0);
        append(b, {}, n);
        fill(0, p);
        fill(n, b);
        link(*p.code, *b.code, carried, n);
        return pipe_.run({rows_, targets_}, n + b.code->size());
    }
    /// Cycles of each further round of a block that follows itself, once the loop is under way: (T(3R) - T(R)) / 2R for R rounds, enough of them to
    /// fill the window.
    /// @param carried  what a round takes from the one before, by rising source
    /// @param alone    cycles of the block alone
    [[nodiscard]] double round(const lowered_block& b, std::span<const dependence> carried, double alone) {
        const auto rounds = [&]() -> double {
            if (!pipe_.options().front || pipe_.options().units != unit_model::ideal) return b.code->size() < 256 ? 8 : 2;
            // Rounds that are in flight together. When a round is over before the window could fill, a few tell as much.
            const double in_window = std::ceil(costs().window() / (std::max)(b.slots, 1.0));
            return std::clamp(in_window, 2.0, alone * costs().issue_width() > costs().window() ? 1e5 : 8.0);
        }();
        const double room = 65536 / static_cast<double>(b.code->size() + 1); // a bound for code that is all folds
        return rounds_of(b, carried, static_cast<std::size_t>(std::clamp(room, 1.0, rounds)));
    }

private:
    double rounds_of(const lowered_block& b, std::span<const dependence> carried, std::size_t rounds) {
        const std::size_t copies = 3 * rounds;
        const auto n = static_cast<std::uint32_t>(b.code->size());
        rows_.assign(1, 0);
        targets_.clear();
        for (std::uint32_t i = 0; i < copies; ++i) append(b, carried, i * n);
        const auto run = [&](std::size_t first) {
            for (std::uint32_t i = 0; i < first; ++i) {
                fill(i * n, b);
                if (i > 0) link(*b.code, *b.code, carried, i * n);
            }
            return pipe_.run({rows_, targets_}, first * n);
        };
        const double some = run(rounds), all = run(copies);
        return (std::max)(0.0, all - some) / static_cast<double>(copies - rounds);
    }

    /// The edges of a block that begins at `at`; those that are carried go to the block behind it.
    void append(const lowered_block& b, std::span<const dependence> carried, std::uint32_t at) {
        const auto rows = b.code->rows();
        const auto targets = b.code->targets();
        const auto n = static_cast<std::uint32_t>(b.code->size());
        auto d = carried.begin();
        for (std::uint32_t v = 0; v < n; ++v) {
            for (auto e = rows[v]; e < rows[v + 1]; ++e) targets_.push_back(targets[e] + at);
            for (; d != carried.end() && d->from == v; ++d) targets_.push_back(d->to + at + n);
            rows_.push_back(static_cast<std::uint32_t>(targets_.size()));
        }
    }
    void fill(std::uint32_t at, const lowered_block& b) {
        const auto n = static_cast<std::uint32_t>(b.code->size());
        auto* const cells = pipe_.cells(at + n).data() + at;
        for (std::uint32_t v = 0; v < n; ++v) cells[v] = {0, b.code->predecessors(v), b.native[v]};
    }
    /// Block `b`, which begins at `at`, waits for what is carried to it.
    void link(const graphlet& p, const graphlet& b, std::span<const dependence> carried, std::uint32_t at) {
        const auto cells = pipe_.cells(at + b.size());
        for (const auto& d : carried) {
            auto& later = cells[at + d.to];
            ++later.outstanding;
            if (p[d.from].op == instruction_class::store && cost_table::is_load(b[d.to].op)) later.code = costs().forwarded(later.code);
        }
    }

    pipeline pipe_;
    std::vector<std::uint32_t> rows_, targets_;
};

} // namespace augur::inline v0

#endif
