// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_GRAPH_CONTROL_FLOW_HPP
#define AUGUR_PROGRAM_GRAPH_CONTROL_FLOW_HPP

/// @file
/// Control-flow graphs with counts (Crop, sections 2.3 and 3.1.1), how often a block counts when functions run in parallel, and which branches are
/// foretold wrongly.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/program/graph/graphlet.hpp>

namespace augur::inline v0 {

/// Instructions without a branch but the last, and how often they ran.
struct basic_block {
    std::string name;
    graphlet code;
    std::uint64_t count = 0; ///< in all executions of its function together

    friend bool operator==(const basic_block&, const basic_block&) = default;
};

/// A way from a block to one that follows.
struct control_edge {
    std::uint64_t count = 0;         ///< how often it was taken, in all
    std::vector<dependence> carried; ///< what the later block takes from the earlier one

    friend bool operator==(const control_edge&, const control_edge&) = default;
};

/// The blocks of a function; block 0 is where it begins.
using control_flow_graph = compact_graph<basic_block, control_edge>;

/// Eq. 3: how many executions of a block count for the time of a program.
///
/// @param executions  Count(F): of the function; for a parallel one, the iterations that are dealt to the threads
/// @param per_call    Count(BB): of the block, in one execution of the function
/// @param launches    how often the parallel region was entered; each deals out its share anew (the paper has 1)
constexpr double effective_count(std::uint64_t executions, double per_call, int threads, bool parallel, std::uint64_t launches = 1) noexcept {
    if (!parallel || threads <= 1 || launches == 0) return static_cast<double>(executions) * per_call;
    const auto rounds = [&](std::uint64_t n) { return (n + static_cast<std::uint64_t>(threads) - 1) / static_cast<std::uint64_t>(threads); };
    const std::uint64_t each = executions / launches, longer = executions % launches; // as even as they can be
    return static_cast<double>(longer * rounds(each + 1) + (launches - longer) * rounds(each)) * per_call;
}

/// Do counts fit together? A block runs as often as it is come to, and is left at most as often; the first one is also come to from outside.
/// @param entries  executions of the function
/// @note errors: invalid_argument, which names the block
[[nodiscard]] inline result<void> check_counts(const control_flow_graph& flow, std::uint64_t entries) {
    std::vector<std::uint64_t> in(flow.size(), 0), out(flow.size(), 0);
    if (!in.empty()) in[0] = entries;
    constexpr std::uint64_t most = std::uint64_t{1} << 62U; // sums of what a reader accepts cannot wrap round
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

/// A natural loop: the blocks from which its head is come back to.
struct control_loop {
    std::uint32_t head = 0;
    std::vector<bool> blocks; ///< (blocks) those inside
    double rounds = 0;        ///< times that the head runs, each time the loop is entered; 0 when it never was
};

/// The natural loops of a graph, inner ones before those around them. A cycle with two entries is none.
/// @note O(blocks * edges) at worst; a few loops and blocks in practice
[[nodiscard]] inline std::vector<control_loop> natural_loops(const control_flow_graph& flow) {
    const auto n = static_cast<std::uint32_t>(flow.size());
    constexpr std::uint32_t none = 0xFFFFFFFF;
    if (n == 0) return {};
    // Dominators by Cooper, Harvey and Kennedy: reverse postorder, then to a fixed point.
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
                while (other != best) { // up to where they meet
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

/// The share of an edge's executions that the machine did not foresee.
///
/// Of two ways on, the rarer one is missed half the time, the other never; a way out of a loop is missed always. A loop of so few rounds that the
/// machine remembers them all is foreseen, its end and the ways within: in tensor programs they are the same each time it is entered.
/// @param predicted_trips  the most rounds whose end is foreseen (`core_front::predicted_trips`)
/// @return (edges) by the edge's index
[[nodiscard]] inline std::vector<double> branch_misses(const control_flow_graph& flow, double predicted_trips) {
    const auto loops = natural_loops(flow);
    std::vector<double> misses(flow.edge_count(), 0.0);
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        const auto first = flow.rows()[b], last = flow.rows()[b + 1];
        if (last - first < 2 || flow[b].count == 0) continue;
        const auto around = std::find_if(loops.begin(), loops.end(), [&](const control_loop& l) { return l.blocks[b]; }); // the innermost
        std::uint32_t usual = first;
        for (auto e = first; e < last; ++e)
            if (flow[flow.edge(e)].count > flow[flow.edge(usual)].count) usual = e;
        for (auto e = first; e < last; ++e) {
            if (e == usual || flow.edge(e).target == flow.edge(usual).target) continue;
            const bool leaves = around != loops.end() && !around->blocks[flow.edge(e).target];
            const bool remembered = around != loops.end() && around->rounds <= predicted_trips;
            misses[e] = remembered ? 0 : leaves ? 1 : 0.5;
        }
    }
    return misses;
}

} // namespace augur::inline v0

#endif
