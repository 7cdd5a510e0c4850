// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_GRAPH_CONTROL_FLOW_HPP
#define AUGUR_PROGRAM_GRAPH_CONTROL_FLOW_HPP

/// @file
/// Control-flow graphs with execution counts (Crop, sections 2.3 and 3.1.1): effective counts of parallel functions (Eq. 3), natural loops, and rates
/// of mispredicted branches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/program/graph/graphlet.hpp>

namespace augur::inline v0 {

/// A basic block: straight-line code whose last instruction may be a branch, with its execution count.
struct basic_block {
    std::string name;
    graphlet code;
    std::uint64_t count = 0; ///< executions of the block, summed over all executions of its function

    friend bool operator==(const basic_block&, const basic_block&) = default;
};

/// A control-flow edge, from a block to a successor.
struct control_edge {
    std::uint64_t count = 0;         ///< times taken, summed over all executions of the function
    std::vector<dependence> carried; ///< values that the target block takes from the source block

    friend bool operator==(const control_edge&, const control_edge&) = default;
};

/// The blocks of a function; block 0 is the entry.
using control_flow_graph = compact_graph<basic_block, control_edge>;

/// Eq. 3, ECount: executions of a block that contribute to the run time of the program, which is that of the thread with the most work.
///
/// @param executions  Count(F): executions of the function; for a parallel function, the iterations that are distributed over the threads
/// @param per_call    Count(BB): executions of the block in one execution of the function
/// @param launches    entries of the parallel region; the iterations of each entry are distributed separately (1 in the paper)
constexpr double effective_count(std::uint64_t executions, double per_call, int threads, bool parallel, std::uint64_t launches = 1) noexcept {
    if (!parallel || threads <= 1 || launches == 0) return static_cast<double>(executions) * per_call;
    const auto rounds = [&](std::uint64_t n) { return (n + static_cast<std::uint64_t>(threads) - 1) / static_cast<std::uint64_t>(threads); };
    const std::uint64_t each = executions / launches, longer = executions % launches; // iterations spread evenly over the launches
    return static_cast<double>(longer * rounds(each + 1) + (launches - longer) * rounds(each)) * per_call;
}

/// Checks the flow conservation of the counts: a block runs as often as its in-edges are taken (the entry block also `entries` times), and its
/// out-edges are taken at most as often as the block runs.
/// @param entries  executions of the function
/// @note errors: invalid_argument, which names the block
[[nodiscard]] inline result<void> check_counts(const control_flow_graph& flow, std::uint64_t entries) {
    std::vector<std::uint64_t> in(flow.size(), 0), out(flow.size(), 0);
    if (!in.empty()) in[0] = entries;
    constexpr std::uint64_t most = std::uint64_t{1} << 62U; // saturates, so that sums do not overflow
    for (std::uint32_t i = 0; i < flow.edge_count(); ++i) {
        const auto e = flow.edge(i);
        const auto count = (std::min)(flow[e].count, most / 2);
        in[e.target] = (std::min)(in[e.target] + count, most);
        out[e.source] = (std::min)(out[e.source] + count, most);
    }
    const auto name = [&](std::uint32_t b) { return "block " + std::to_string(b) + " ('" + flow[b].name.substr(0, 80) + "')"; };
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        if (in[b] != flow[b].count)
            return error{errc::invalid_argument,
                         name(b) + " ran " + std::to_string(flow[b].count) + " times but was come to " + std::to_string(in[b]) + " times"};
        if (out[b] > flow[b].count)
            return error{errc::invalid_argument,
                         name(b) + " ran " + std::to_string(flow[b].count) + " times but was left " + std::to_string(out[b]) + " times"};
    }
    return {};
}

/// A natural loop: the head and the blocks from which a back edge to the head is reached.
struct control_loop {
    std::uint32_t head = 0;
    std::vector<bool> blocks; ///< (blocks) true for the blocks of the loop
    double rounds = 0;        ///< mean trip count: executions of the head for each entry of the loop; 0 when the loop was never entered
};

/// The natural loops of a graph, inner loops before outer loops. A cycle with two entries (irreducible control flow) is not reported.
/// @note O(blocks * edges) at worst; a few loops and blocks in practice
[[nodiscard]] inline std::vector<control_loop> natural_loops(const control_flow_graph& flow) {
    const auto n = static_cast<std::uint32_t>(flow.size());
    constexpr std::uint32_t none = 0xFFFFFFFF;
    if (n == 0) return {};
    // Dominators (Cooper, Harvey, Kennedy 2001): iterate over the blocks in reverse postorder to a fixed point.
    std::vector<std::uint32_t> order, number(n, none);
    {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> path{{0, flow.rows()[0]}};
        std::vector<bool> seen(n, false);
        seen[0] = true;
        while (!path.empty()) {
            auto& [b, e] = path.back();
            if (e == flow.rows()[b + 1]) {
                number[b] = static_cast<std::uint32_t>(order.size());
                order.push_back(b);
                path.pop_back();
                continue;
            }
            const auto t = flow.targets()[e++];
            if (!seen[t]) {
                seen[t] = true;
                path.emplace_back(t, flow.rows()[t]);
            }
        }
    }
    std::vector<std::uint32_t> dominator(n, none);
    dominator[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (auto at = order.rbegin(); at != order.rend(); ++at) {
            if (*at == 0) continue;
            std::uint32_t best = none;
            const auto [in, end] = in_edges(*at, flow);
            for (auto e = in; e != end; ++e) {
                auto other = (*e).source;
                if (dominator[other] == none) continue;
                if (best == none) {
                    best = other;
                    continue;
                }
                while (other != best) { // to the common dominator
                    while (number[other] < number[best]) other = dominator[other];
                    while (number[best] < number[other]) best = dominator[best];
                }
            }
            if (dominator[*at] != best) dominator[*at] = best, changed = true;
        }
    }
    std::vector<control_loop> loops;
    for (const auto head : order) { // postorder: inner heads first
        control_loop loop{head, {}, 0};
        std::vector<std::uint32_t> work;
        double entered = head == 0 ? static_cast<double>(flow[head].count) : 0;
        const auto [in, end] = in_edges(head, flow);
        for (auto e = in; e != end; ++e) {
            const auto from = (*e).source;
            if (number[from] == none) continue;
            auto up = from;
            while (up != head && up != 0) up = dominator[up];
            const auto count = static_cast<double>(flow[*e].count);
            if (up != head) {
                if (head != 0) entered += count;
                continue;
            }
            if (head == 0) entered -= count;
            if (loop.blocks.empty()) {
                loop.blocks.assign(n, false);
                loop.blocks[head] = true;
            }
            if (!loop.blocks[from]) {
                loop.blocks[from] = true;
                work.push_back(from);
            }
        }
        if (loop.blocks.empty()) continue;
        while (!work.empty()) {
            const auto b = work.back();
            work.pop_back();
            const auto [first, last] = in_edges(b, flow);
            for (auto e = first; e != last; ++e) {
                const auto from = (*e).source;
                if (number[from] == none || loop.blocks[from]) continue;
                loop.blocks[from] = true;
                work.push_back(from);
            }
        }
        if (entered > 0) loop.rounds = static_cast<double>(flow[head].count) / entered;
        loops.push_back(std::move(loop));
    }
    return loops;
}

/// The misprediction rate of each control-flow edge, from a static model of the branch predictor.
///
/// Of the edges that leave a block, the most frequent one is always predicted. Any other edge is mispredicted in half of its executions, or in all of
/// them when it leaves the innermost loop. In a loop with at most `predicted_trips` iterations all edges are predicted, also the exit,
/// because the branch history of tensor programs repeats with every entry of the loop.
/// @param predicted_trips  the largest trip count that the predictor remembers (`core_front::predicted_trips`)
/// @return (edges) rates from 0 to 1, by the index of the edge
[[nodiscard]] inline std::vector<double> branch_misses(const control_flow_graph& flow, double predicted_trips) {
    const auto loops = natural_loops(flow);
    std::vector<double> misses(flow.edge_count(), 0.0);
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        const auto first = flow.rows()[b], last = flow.rows()[b + 1];
        if (last - first < 2 || flow[b].count == 0) continue;
        const auto innermost = std::find_if(loops.begin(), loops.end(), [&](const control_loop& l) { return l.blocks[b]; });
        std::uint32_t usual = first;
        for (auto e = first; e < last; ++e)
            if (flow[flow.edge(e)].count > flow[flow.edge(usual)].count) usual = e;
        for (auto e = first; e < last; ++e) {
            if (e == usual || flow.edge(e).target == flow.edge(usual).target) continue;
            const bool leaves = innermost != loops.end() && !innermost->blocks[flow.edge(e).target];
            const bool remembered = innermost != loops.end() && innermost->rounds <= predicted_trips;
            misses[e] = remembered ? 0 : leaves ? 1 : 0.5;
        }
    }
    return misses;
}

} // namespace augur::inline v0

#endif
