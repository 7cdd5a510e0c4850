// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_EDGE_COSTS_HPP
#define AUGUR_PROGRAM_PIPELINE_EDGE_COSTS_HPP

/// @file
/// Cycles of each control-flow edge: the time that the block at its end adds to the blocks that ran before it.
///
/// Crop's superblock is a block and its successor (section 3.1.2). Out-of-order processors overlap more than two blocks: a loop of five short blocks
/// has many iterations in flight, and no pair of neighbours shows that. So a block is simulated in the middle of a control-flow path that is long
/// enough to fill the instruction window before the block and to leave work after it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/program/graph/control_flow.hpp>
#include <augur/program/pipeline/blocks.hpp>

namespace augur::inline v0 {

/// Cycles of blocks alone and of control-flow edges. Scratch memory: no allocation once the largest function has been simulated.
/// Threads    one thread per object
class edge_costs {
public:
    explicit edge_costs(const cost_table& costs, pipeline_options options = {}) : blocks_(costs, options), front_(options.front) {}

    /// (blocks) cycles of each block alone; 0 for a block that never ran.   pre: `lowered` holds the blocks of `flow`
    std::span<const double> alone(const control_flow_graph& flow, std::span<const lowered_block> lowered) {
        alone_.assign(flow.size(), 0.0);
        for (std::uint32_t b = 0; b < flow.size(); ++b)
            if (flow[b].count > 0) alone_[b] = blocks_.alone(lowered[b]);
        return alone_;
    }
    /// (edges) cycles that the target block of each edge takes after the source block. An edge with less than 1 in 10000 of the cycles of all blocks
    /// has the cost of its block alone.
    ///
    /// The start of a path is not measured, because the pipeline is empty there; nor is its end, where no later instruction competes for units. All
    /// iterations of a loop of one block cost the same (block_pipeline::round); what the path costs beyond that is the cost of the loop's entry edge.
    /// pre: alone(flow, lowered) was called before
    /// @note about 5.5 windows of instructions are simulated for each path; one path gives the costs of all edges on it
    std::span<const double> edges(const control_flow_graph& flow, std::span<const lowered_block> lowered);

private:
    /// The position of an edge on its path.
    struct position {
        std::size_t index = 0;       ///< in path_edges_
        bool reaches_return = false; ///< the path ends where the function returns
    };
    position find_path(const control_flow_graph& flow, std::span<const lowered_block> lowered, std::uint32_t edge);

    block_pipeline blocks_;
    bool front_;
    std::vector<double> alone_;
    std::vector<path_block> path_;
    std::vector<std::uint32_t> path_edges_, owing_; ///< (path - 1) the edges of the path; edges with a debt in owed_
    std::vector<double> owed_, edge_cycles_;        ///< by edge: how often paths still have to take it; its cycles
};

/// Fills path_ with the most usual control-flow path through an edge: 3 windows of instructions before the edge and 2.5 windows after it. Where paths
/// join or split, each is taken as often as in the recorded run: a visit adds to every edge its share of the executions and takes the edge with the
/// largest sum.
inline edge_costs::position edge_costs::find_path(const control_flow_graph& flow, std::span<const lowered_block> lowered, std::uint32_t edge) {
    constexpr std::size_t longest = 1024;
    const auto none = static_cast<std::uint32_t>(flow.edge_count());
    const double window = front_ ? blocks_.costs().window() : 0;
    std::uint32_t most = none;
    const auto owe = [&](std::uint32_t e, std::uint64_t visits) {
        const auto count = flow[flow.edge(e)].count;
        if (count == 0) return;
        if (owed_[e] == 0) owing_.push_back(e);
        owed_[e] += static_cast<double>(count) / static_cast<double>(visits);
        if (most == none || owed_[e] > owed_[most]) most = e;
    };
    const auto settle = [&] {
        for (const auto e : owing_) owed_[e] = 0;
        owing_.clear();
    };
    path_edges_.clear();
    double slots = 0;
    for (std::uint32_t e = edge; e != none; e = most) {
        path_edges_.push_back(e);
        const auto b = flow.edge(e).source;
        slots += lowered[b].slots;
        most = none;
        if (slots >= 3 * window || path_edges_.size() == longest) break;
        const auto [first, last] = in_edges(b, flow);
        for (auto in = first; in != last; ++in) owe((*in).index, flow[b].count);
        if (most != none) owed_[most] -= 1;
    }
    settle();
    std::reverse(path_edges_.begin(), path_edges_.end());
    const std::size_t index = path_edges_.size() - 1;
    slots = 0;
    for (std::uint32_t b = flow.edge(edge).target; slots < 2.5 * window && path_edges_.size() < 2 * longest; b = flow.edge(most).target) {
        most = none;
        for (auto out = flow.rows()[b]; out < flow.rows()[b + 1]; ++out) owe(out, flow[b].count);
        if (most == none) break; // the function returns here
        owed_[most] -= 1;
        path_edges_.push_back(most);
        slots += lowered[flow.edge(most).target].slots;
    }
    settle();
    path_.assign(1, {&lowered[flow.edge(path_edges_.front()).source], {}});
    for (const auto e : path_edges_) path_.push_back({&lowered[flow.edge(e).target], flow[flow.edge(e)].carried});
    return {index, most == none};
}

inline std::span<const double> edge_costs::edges(const control_flow_graph& flow, std::span<const lowered_block> lowered) {
    constexpr double unknown = -1;
    const auto edge_count = static_cast<std::uint32_t>(flow.edge_count());
    const double window = blocks_.costs().window();
    edge_cycles_.assign(edge_count, unknown);
    owed_.assign(edge_count, 0.0);
    std::vector<std::uint32_t> round_of(flow.size(), edge_count); // by block: its edge to itself
    double all = 0;
    for (std::uint32_t b = 0; b < flow.size(); ++b) all += alone_[b] * static_cast<double>(flow[b].count);
    std::vector<std::pair<double, std::uint32_t>> order; // the most expensive edges first: paths of other edges show them in a less usual context
    for (std::uint32_t i = 0; i < edge_count; ++i) {
        const auto e = flow.edge(i);
        const double cost = alone_[e.target] * static_cast<double>(flow[e].count);
        if (cost * 10000 <= all) edge_cycles_[i] = alone_[e.target];
        else if (e.source == e.target) edge_cycles_[i] = blocks_.round(lowered[e.target], flow[e].carried, alone_[e.target]);
        else order.emplace_back(-cost, i);
        if (e.source == e.target) round_of[e.target] = i;
    }
    std::sort(order.begin(), order.end());
    std::vector<std::pair<double, double>> seen; // by edge, on one path: cycles, occurrences
    std::vector<double> slots;                   // (path + 1) sum of the slots before each block
    for (const auto& [cost, i] : order) {
        if (edge_cycles_[i] != unknown) continue;
        const auto [wanted, reaches_return] = find_path(flow, lowered, i);
        const auto ends = blocks_.along(path_);
        slots.assign(1, 0);
        for (const auto& p : path_) slots.push_back(slots.back() + p.block->slots);
        const double until = slots.back() - (reaches_return ? 0 : window); // only blocks that end before this slot are measured
        seen.assign(edge_count, {0, 0});
        for (std::size_t w = 0; w < path_edges_.size(); ++w) {
            const auto edge = path_edges_[w];
            if (edge_cycles_[edge] != unknown) continue;
            if ((slots[w + 1] < 2 * window || slots[w + 2] > until) && w != wanted) continue;
            std::size_t last = w + 1;
            double rounds = 0;
            for (const auto round = round_of[flow.edge(edge).target];
                 last < path_edges_.size() && path_edges_[last] == round && slots[last + 2] <= until; ++last)
                rounds += edge_cycles_[round];
            seen[edge].first += (std::max)(0.0, ends[last] - ends[w] - rounds);
            seen[edge].second += 1;
        }
        for (std::uint32_t edge = 0; edge < edge_count; ++edge)
            if (seen[edge].second > 0) edge_cycles_[edge] = seen[edge].first / seen[edge].second;
    }
    return edge_cycles_;
}

} // namespace augur::inline v0

#endif
