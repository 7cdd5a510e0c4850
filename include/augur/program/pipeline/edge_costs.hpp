// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_EDGE_COSTS_HPP
#define AUGUR_PROGRAM_PIPELINE_EDGE_COSTS_HPP

/// @file
/// What the blocks of a function cost behind those that run before them.
///
/// Crop's superblocks are a block and the one that follows (section 3.3). Processors look further: a loop of five short blocks has many of its rounds
/// under way at a time, and no two neighbours show that. So here the block is looked at in the middle of a way through the function, long enough that
/// the window is full before it and work is left behind it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/program/graph/control_flow.hpp>
#include <augur/program/pipeline/blocks.hpp>

namespace augur::inline v0 {

/// Cycles of blocks alone, and of edges. Scratch: allocates while it meets its largest function.
/// Threads    one thread an object
class edge_costs {
public:
    explicit edge_costs(const cost_table& costs, pipeline_options options = {}) : blocks_(costs, options), front_(options.front) {}

    /// (blocks) cycles of each alone; 0 of those that never ran.   pre: `lowered` is of the blocks of `flow`
    std::span<const double> alone(const control_flow_graph& flow, std::span<const lowered_block> lowered) {
        alone_.assign(flow.size(), 0.0);
        for (std::uint32_t b = 0; b < flow.size(); ++b)
            if (flow[b].count > 0) alone_[b] = blocks_.alone(lowered[b]);
        return alone_;
    }
    /// (edges) cycles that the block at the end of each takes there. An edge that makes up less than 1 in 10000 has its block's cost alone.
    ///
    /// A way's beginning is not looked at, for the pipeline is empty, nor its end, where nothing competes with what is left. Rounds of a loop of one
    /// block are alike (block_pipeline::round), so what entering it costs beyond them is the entry's.
    /// pre: alone(flow, lowered) came before
    /// @note some 5.5 windows of instructions are simulated for each way; blocks that are on one way share it
    std::span<const double> behind(const control_flow_graph& flow, std::span<const lowered_block> lowered);

private:
    /// Of an edge on a way.
    struct place {
        std::size_t at = 0;
        bool to_the_end = false; ///< the way goes on until the function is over
    };
    place find_way(const control_flow_graph& flow, std::span<const lowered_block> lowered, std::uint32_t edge);

    block_pipeline blocks_;
    bool front_;
    std::vector<double> alone_;
    std::vector<path_block> way_;
    std::vector<std::uint32_t> way_edges_, owing_; ///< (way - 1) by which edges; edges of which something is owed
    std::vector<double> owed_, behind_;            ///< by edge: how often a way is still to take it
};

/// Fills way_: an edge with what usually runs before it, three windows of it, and behind it, somewhat less. Where ways meet or part, each is taken as
/// often as it was in the run: a visit owes every way its share and goes the one it owes most.
inline edge_costs::place edge_costs::find_way(const control_flow_graph& flow, std::span<const lowered_block> lowered, std::uint32_t edge) {
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
    way_edges_.clear();
    double slots = 0;
    for (std::uint32_t e = edge; e != none; e = most) {
        way_edges_.push_back(e);
        const auto b = flow.edge(e).source;
        slots += lowered[b].slots;
        most = none;
        if (slots >= 3 * window || way_edges_.size() == longest) break;
        const auto [first, last] = in_edges(b, flow);
        for (auto in = first; in != last; ++in) owe((*in).index, flow[b].count);
        if (most != none) owed_[most] -= 1;
    }
    settle();
    std::reverse(way_edges_.begin(), way_edges_.end());
    const std::size_t at = way_edges_.size() - 1;
    slots = 0;
    for (std::uint32_t b = flow.edge(edge).target; slots < 2.5 * window && way_edges_.size() < 2 * longest; b = flow.edge(most).target) {
        most = none;
        for (auto out = flow.rows()[b]; out < flow.rows()[b + 1]; ++out) owe(out, flow[b].count);
        if (most == none) break; // where the function ends
        owed_[most] -= 1;
        way_edges_.push_back(most);
        slots += lowered[flow.edge(most).target].slots;
    }
    settle();
    way_.assign(1, {&lowered[flow.edge(way_edges_.front()).source], {}});
    for (const auto e : way_edges_) way_.push_back({&lowered[flow.edge(e).target], flow[flow.edge(e)].carried});
    return {at, most == none};
}

inline std::span<const double> edge_costs::behind(const control_flow_graph& flow, std::span<const lowered_block> lowered) {
    constexpr double unknown = -1;
    const auto edges = static_cast<std::uint32_t>(flow.edge_count());
    const double window = blocks_.costs().window();
    behind_.assign(edges, unknown);
    owed_.assign(edges, 0.0);
    std::vector<std::uint32_t> round_of(flow.size(), edges); // a block's edge to itself
    double all = 0;
    for (std::uint32_t b = 0; b < flow.size(); ++b) all += alone_[b] * static_cast<double>(flow[b].count);
    std::vector<std::pair<double, std::uint32_t>> order; // the dearest first: what others see of it on their ways is the less usual
    for (std::uint32_t i = 0; i < edges; ++i) {
        const auto e = flow.edge(i);
        const double cost = alone_[e.target] * static_cast<double>(flow[e].count);
        if (cost * 10000 <= all) behind_[i] = alone_[e.target];
        else if (e.source == e.target) behind_[i] = blocks_.round(lowered[e.target], flow[e].carried, alone_[e.target]);
        else order.emplace_back(-cost, i);
        if (e.source == e.target) round_of[e.target] = i;
    }
    std::sort(order.begin(), order.end());
    std::vector<std::pair<double, double>> seen; // by edge, on one way: cycles, times
    std::vector<double> slots;                   // (way + 1) before each block
    for (const auto& [cost, i] : order) {
        if (behind_[i] != unknown) continue;
        const auto [wanted, to_the_end] = find_way(flow, lowered, i);
        const auto ends = blocks_.along(way_);
        slots.assign(1, 0);
        for (const auto& w : way_) slots.push_back(slots.back() + w.block->slots);
        const double until = slots.back() - (to_the_end ? 0 : window); // what is over by then is seen whole
        seen.assign(edges, {0, 0});
        for (std::size_t w = 0; w < way_edges_.size(); ++w) {
            const auto on = way_edges_[w];
            if (behind_[on] != unknown) continue;
            if ((slots[w + 1] < 2 * window || slots[w + 2] > until) && w != wanted) continue;
            std::size_t last = w + 1;
            double rounds = 0;
            for (const auto round = round_of[flow.edge(on).target]; last < way_edges_.size() && way_edges_[last] == round && slots[last + 2] <= until;
                 ++last)
                rounds += behind_[round];
            seen[on].first += (std::max)(0.0, ends[last] - ends[w] - rounds);
            seen[on].second += 1;
        }
        for (std::uint32_t on = 0; on < edges; ++on)
            if (seen[on].second > 0) behind_[on] = seen[on].first / seen[on].second;
    }
    return behind_;
}

} // namespace augur::inline v0

#endif
