// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_BLOCKS_HPP
#define AUGUR_PROGRAM_PIPELINE_BLOCKS_HPP

/// @file
/// Cycles of basic blocks in context: after another block (Crop's superblocks, section 3.1.2), along a control-flow path, and in the steady state of
/// a loop. A block simulated alone includes the fill and drain of the pipeline, which in a loop of short blocks is most of its time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/program/pipeline/simulator.hpp>

namespace augur::inline v0 {

/// A block ready for simulation: its graphlet and the native instructions of a machine.
struct lowered_block {
    const graphlet* code = nullptr;
    std::span<const native_code> native; ///< (V)
    double slots = 0;                    ///< issue slots of the block in the front end
};

/// A block on a control-flow path.
struct path_block {
    const lowered_block* block = nullptr;
    std::span<const dependence> carried; ///< values that the block takes from its predecessor on the path, by rising source
};

/// Simulates blocks alone, along paths and in loops. Scratch memory as in `pipeline`: no allocation once the largest block has been simulated.
/// Threads    one thread per object
class block_pipeline {
public:
    explicit block_pipeline(const cost_table& costs, pipeline_options options = {}) : pipe_(costs, options) {}

    [[nodiscard]] const cost_table& costs() const noexcept { return pipe_.costs(); }

    /// Cycles of a block alone, from its start to its last result.
    [[nodiscard]] double alone(const lowered_block& b) {
        fill(0, b);
        return pipe_.run({b.code->rows(), b.code->targets()}, b.code->size());
    }
    /// End times of the blocks of a path: (path) the cycle of the last result among a block and all blocks before it. The difference of two adjacent
    /// end times is the cost of the later block in this context. A path of two blocks is Crop's superblock. The empty pipeline at the start of the
    /// path has no influence on a block that comes after enough blocks to fill the window.
    [[nodiscard]] std::span<const double> along(std::span<const path_block> path) {
        rows_.assign(1, 0);
        targets_.clear();
        std::uint32_t n = 0;
        for (std::size_t i = 0; i < path.size(); ++i) {
            append(*path[i].block, i + 1 < path.size() ? path[i + 1].carried : std::span<const dependence>(), n);
            fill(n, *path[i].block);
            if (i > 0) link(*path[i - 1].block->code, *path[i].block->code, path[i].carried, n);
            n += static_cast<std::uint32_t>(path[i].block->code->size());
        }
        [[maybe_unused]] const double end = pipe_.run({rows_, targets_}, n);
        ends_.clear();
        auto cell = pipe_.done().begin();
        double last = 0;
        for (const auto& p : path) {
            for (std::size_t v = p.block->code->size(); v > 0; --v) last = (std::max)(last, (cell++)->time);
            ends_.push_back(last);
        }
        return ends_;
    }
    /// Cycles of one iteration of a block that follows itself, in the steady state: (T(3R) - T(R)) / 2R for R iterations, where R iterations fill the
    /// window.
    /// @param carried  values that an iteration takes from the one before, by rising source
    /// @param alone    cycles of the block alone
    [[nodiscard]] double round(const lowered_block& b, std::span<const dependence> carried, double alone) {
        const auto rounds = [&]() -> double {
            if (!pipe_.options().front || pipe_.options().units != unit_model::ideal) return b.code->size() < 256 ? 8 : 2;
            // Iterations in flight at the same time; at most 8 when an iteration ends before the window can fill.
            const double in_window = std::ceil(costs().window() / (std::max)(b.slots, 1.0));
            return std::clamp(in_window, 2.0, alone * costs().issue_width() > costs().window() ? 1e5 : 8.0);
        }();
        const double room = 65536 / static_cast<double>(b.code->size() + 1); // a bound for code where most instructions fold
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

    /// Appends the edges of a block whose first vertex is `at`; carried edges lead to the next block.
    void append(const lowered_block& b, std::span<const dependence> carried, std::uint32_t at) {
        const auto rows = b.code->rows();
        const auto targets = b.code->targets();
        const auto n = static_cast<std::uint32_t>(b.code->size());
        const std::size_t row = rows_.size(), edge = targets_.size();
        rows_.resize(row + n);
        targets_.resize(edge + targets.size() + carried.size());
        auto* to = targets_.data() + edge;
        auto d = carried.begin();
        for (std::uint32_t v = 0; v < n; ++v) {
            for (auto e = rows[v]; e < rows[v + 1]; ++e) *to++ = targets[e] + at;
            for (; d != carried.end() && d->from == v; ++d) *to++ = d->to + at + n;
            rows_[row + v] = static_cast<std::uint32_t>(to - targets_.data());
        }
        AUGUR_ASSERT(d == carried.end(), "block_pipeline: what is carried comes from the block, by rising source");
    }
    void fill(std::uint32_t at, const lowered_block& b) {
        const auto n = static_cast<std::uint32_t>(b.code->size());
        auto* const cells = pipe_.cells(at + n).data() + at;
        for (std::uint32_t v = 0; v < n; ++v) cells[v] = {0, b.code->predecessors(v), b.native[v]};
    }
    /// Adds the carried operands to block `b`, whose first vertex is `at`; `p` is the block before it.
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
    std::vector<double> ends_;
};

} // namespace augur::inline v0

#endif
