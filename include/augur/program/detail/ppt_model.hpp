// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_PPT_MODEL_HPP
#define AUGUR_PROGRAM_DETAIL_PPT_MODEL_HPP

/// @file
/// Functional units as in PPT's simulator (lanl/PPT, ppt_lite), the ancestor of Crop's pipeline, reproduced event by event.
///
/// A unit is a shift register of max(1, floor(latency / throughput)) stages. It shifts every `throughput` cycles from its wake-up until it is empty.
/// An instruction waits in the queue of the first idle unit of its kind, else in the shortest queue. It enters at the next shift and is done one
/// shift after it has left the last stage: at least (depth + 1) * throughput cycles, so an addition with a latency of 1 and a throughput of 0.5 takes
/// 1.5.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include <augur/program/pipeline/simulator.hpp>

namespace augur::inline v0 {

namespace detail {

/// One run of the model. Each cost row has its own units, because the depth of the shift register depends on the row.
class ppt_run {
public:
    ppt_run(const cost_table& costs, const pipeline_view& view, std::span<pipeline_cell> cells) : costs_(&costs), view_(view), cells_(cells) {
        for (const auto& c : cells) parts_left_.push_back(c.code.parts);
    }
    double run() {
        for (std::uint32_t v = 0; v < cells_.size(); ++v)
            if (cells_[v].outstanding == 0) ready_.push_back(v);
        dispatch();
        while (!moves_.empty()) {
            const auto m = moves_.top();
            moves_.pop();
            now_ = m.time;
            move(m.unit);
        }
        return now_done_;
    }

private:
    struct unit {
        bool active = false;
        std::size_t depth = 1;
        double tick = 1;
        std::size_t empty_moves = 0;
        std::uint64_t moves = 0;
        std::deque<std::uint32_t> queue;                               ///< waiting vertices
        std::deque<std::pair<std::uint64_t, std::uint32_t>> in_flight; ///< (shift at which it entered, vertex)
    };
    struct next_move {
        double time;
        std::uint64_t number; ///< sequence number, which orders events of the same time
        std::size_t unit;
        bool operator<(const next_move& other) const { return time > other.time || (time == other.time && number > other.number); }
    };

    /// The first unit of a row.
    std::size_t first_unit(std::size_t row) {
        if (unit_at_.size() <= row) unit_at_.resize(row + 1, 0);
        if (unit_at_[row] == 0) {
            const auto& r = costs_->row(row);
            unit_at_[row] = units_.size() + 1;
            unit u;
            u.tick = r.busy;
            u.depth = (std::max)(std::size_t{1}, static_cast<std::size_t>(r.latency / r.busy));
            units_.insert(units_.end(), r.units, u);
        }
        return unit_at_[row] - 1;
    }
    void wake(std::size_t u) { moves_.push({now_ + units_[u].tick, ++set_, u}); }
    void dispatch() {
        for (std::size_t i = 0; i < ready_.size(); ++i) { // `ready_` may grow: a folded vertex finishes at once
            const auto v = ready_[i];
            const auto c = cells_[v].code;
            if (c.parts == 0) finish(v);
            const auto first = c.parts == 0 ? 0 : first_unit(c.row_index());
            for (unsigned part = 0; part < c.parts; ++part) {
                const auto end = first + costs_->row(c.row_index()).units;
                std::size_t u = first;
                while (u < end && units_[u].active) ++u;
                if (u < end) {
                    units_[u].active = true;
                    wake(u);
                } else {
                    u = first;
                    for (std::size_t k = first + 1; k < end; ++k)
                        if (units_[k].queue.size() < units_[u].queue.size()) u = k;
                }
                units_[u].queue.push_back(v);
            }
        }
        ready_.clear();
    }
    void finish(std::uint32_t v) {
        cells_[v].time = now_done_ = now_;
        for (auto e = view_.rows[v]; e < view_.rows[v + 1]; ++e) {
            const auto w = view_.targets[e];
            if (w < cells_.size() && --cells_[w].outstanding == 0) ready_.push_back(w);
        }
    }
    void move(std::size_t at) {
        ++units_[at].moves;
        if (auto& flying = units_[at].in_flight; !flying.empty() && flying.front().first + units_[at].depth == units_[at].moves) {
            const auto v = flying.front().second;
            flying.pop_front();
            if (--parts_left_[v] == 0) {
                finish(v);
                dispatch(); // may wake other units before this one continues, and may add units
            }
        }
        unit& u = units_[at];
        if (!u.queue.empty()) {
            u.in_flight.emplace_back(u.moves, u.queue.front());
            u.queue.pop_front();
            u.empty_moves = 0;
        } else if (++u.empty_moves == u.depth) {
            u.active = false;
            return;
        }
        wake(at);
    }

    const cost_table* costs_;
    pipeline_view view_;
    std::span<pipeline_cell> cells_;
    std::vector<std::uint32_t> parts_left_, ready_;
    std::vector<std::size_t> unit_at_; ///< by row: 1 + index of its first unit; 0: no units yet
    std::vector<unit> units_;
    std::priority_queue<next_move> moves_;
    std::uint64_t set_ = 0;
    double now_ = 0, now_done_ = 0;
};

} // namespace detail

/// @note O(V * depth * log units), and it allocates: for comparison with PPT, not for speed
inline double pipeline::run_ppt(const pipeline_view& view, std::size_t n) { return detail::ppt_run(*costs_, view, {cells_.data(), n}).run(); }

} // namespace augur::inline v0

#endif
