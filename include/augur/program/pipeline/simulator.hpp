// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_SIMULATOR_HPP
#define AUGUR_PROGRAM_PIPELINE_SIMULATOR_HPP

/// @file
/// Pipeline simulator (Crop, section 3.4): the cycles that the instructions of a graphlet take on the functional units of a machine.
///
/// An instruction starts when its operands are ready and a unit is free. It occupies the unit for its reciprocal throughput, and its result is ready
/// after its latency. The instruction that is ready first starts first; ties go to the earlier one in program order. With a front end, instructions
/// enter the window in program order, at most the issue width in a cycle. A full window accepts the next instruction when its oldest one is done.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <augur/program/pipeline/costs.hpp>

namespace augur::inline v0 {

/// The model of the functional units.
enum class unit_model : std::uint8_t {
    ideal,      ///< as described at the top of the file
    ppt_compat, ///< PPT's shift registers, clocked by the throughput; a result takes depth + 1 ticks (program/detail/ppt_model.hpp)
};

struct pipeline_options {
    unit_model units = unit_model::ideal;
    bool front = true; ///< model the issue width and window of the machine; ignored with ppt_compat
};

/// The edges of straight-line code in CSR form. All edges lead forward in program order; edges to vertices that are not run are ignored.
struct pipeline_view {
    std::span<const std::uint32_t> rows;    ///< (V + 1) offsets of the edges of each vertex
    std::span<const std::uint32_t> targets; ///< (E) target vertices
};

/// The simulation state of a vertex.
struct pipeline_cell {
    double time = 0;               ///< cycle in which its operands are ready; after its start, cycle in which its result is ready
    std::uint32_t outstanding = 0; ///< operands that are not ready yet
    native_code code;
};

namespace detail {

/// The cycle in which a vertex can start; ties are ordered by program order.
struct ready_event {
    double time;
    std::uint32_t vertex;
    friend bool operator<(const ready_event& a, const ready_event& b) noexcept {
        return a.time < b.time || (a.time == b.time && a.vertex < b.vertex);
    }
};

/// Priority queue of events, earliest first. Usually few events are pending, and a new one belongs near one of the two ends. So the events are a
/// sorted array, and an insertion moves the events between its position and the nearer end; a heap takes the overflow.
class event_queue {
public:
    void clear() noexcept { first_ = last_ = size / 2, heap_.clear(); }
    [[nodiscard]] bool empty() const noexcept { return first_ == last_ && heap_.empty(); }
    /// pre: not empty
    [[nodiscard]] const ready_event& top() const noexcept { return from_heap() ? heap_.front() : sorted_[first_]; }
    void push(ready_event e) {
        const std::size_t n = last_ - first_;
        if (n == most) {
            heap_.push_back(e);
            std::push_heap(heap_.begin(), heap_.end(), later);
            return;
        }
        if (first_ == 0 || last_ == size) {
            const std::size_t middle = (size - n) / 2;
            std::memmove(sorted_ + middle, sorted_ + first_, n * sizeof e);
            first_ = middle;
            last_ = middle + n;
        }
        if (n > 0 && e < sorted_[first_ + n / 2]) {
            std::size_t at = --first_;
            for (; sorted_[at + 1] < e; ++at) sorted_[at] = sorted_[at + 1];
            sorted_[at] = e;
        } else {
            std::size_t at = last_++;
            for (; at > first_ && e < sorted_[at - 1]; --at) sorted_[at] = sorted_[at - 1];
            sorted_[at] = e;
        }
    }
    /// pre: not empty
    void pop() {
        if (!from_heap()) {
            ++first_;
            return;
        }
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
    }

private:
    static bool later(const ready_event& a, const ready_event& b) noexcept { return b < a; }
    [[nodiscard]] bool from_heap() const noexcept { return !heap_.empty() && (first_ == last_ || heap_.front() < sorted_[first_]); }

    static constexpr std::size_t most = 128, size = 512;
    ready_event sorted_[size];
    std::size_t first_ = size / 2, last_ = size / 2;
    std::vector<ready_event> heap_;
};

} // namespace detail

/// Simulates code with the costs of a machine.
///
/// Holds scratch memory: no allocation once the largest block has been simulated. Deterministic: no seed, no hash, no clock.
/// Threads    one thread per object; the cost table may be shared
class pipeline {
public:
    explicit pipeline(const cost_table& costs, pipeline_options options = {}) : costs_(&costs), options_(options) {}

    [[nodiscard]] const cost_table& costs() const noexcept { return *costs_; }
    [[nodiscard]] const pipeline_options& options() const noexcept { return options_; }

    /// Cycles of a graphlet that runs alone, from its start to its last result.
    /// @note unit_model::ideal: O((V + E) log V), about 20 ns for each vertex
    [[nodiscard]] double block(const graphlet& g) {
        unknown_ += costs_->lower(g, code_);
        for (auto& c : cells(g.size())) {
            const auto v = static_cast<std::uint32_t>(&c - cells_.data());
            c = {0, g.predecessors(v), code_[v]};
        }
        return run({g.rows(), g.targets()}, g.size());
    }
    /// (V) the cells of the last run; `pipeline_cell::time` is the cycle in which the result was ready.
    [[nodiscard]] std::span<const pipeline_cell> done() const noexcept { return {cells_.data(), ran_}; }
    /// Instructions of an unknown class in all calls of `block` so far.
    [[nodiscard]] std::size_t unknown() const noexcept { return unknown_; }

    /// Cells of `n` vertices, which the caller fills before `run`.
    [[nodiscard]] std::span<pipeline_cell> cells(std::size_t n) {
        if (cells_.size() < n) cells_.resize(n);
        return {cells_.data(), n};
    }
    /// Cycles of the first `n` cells. pre: each cell has time 0, its code, and in `outstanding` the number of edges of `view` that lead to it from
    /// these cells
    [[nodiscard]] double run(const pipeline_view& view, std::size_t n);

private:
    template <bool Front>
    double run_ideal(const pipeline_view& view, std::size_t n);
    double run_ppt(const pipeline_view& view, std::size_t n);

    const cost_table* costs_;
    pipeline_options options_;
    std::vector<native_code> code_;
    std::vector<pipeline_cell> cells_;
    std::vector<double> unit_free_; ///< by unit: the cycle in which it becomes free; equal units are sorted
    detail::event_queue queue_;
    std::vector<std::uint32_t> folded_; ///< finished vertices without native instructions whose users are not updated yet
    std::size_t ran_ = 0, unknown_ = 0;
};

inline double pipeline::run(const pipeline_view& view, std::size_t n) {
    AUGUR_ASSERT(n <= cells_.size() && (n == 0 || view.rows.size() > n), "pipeline: shape");
    ran_ = n;
    if (n == 0) return 0;
    if (options_.units == unit_model::ppt_compat) return run_ppt(view, n);
    return options_.front ? run_ideal<true>(view, n) : run_ideal<false>(view, n);
}

template <bool Front>
double pipeline::run_ideal(const pipeline_view& view, std::size_t n) {
    constexpr std::uint32_t started = 0xFFFFFFFF;
    unit_free_.assign(costs_->units(), 0.0);
    queue_.clear();
    pipeline_cell* const cell = cells_.data();
    double* const unit_free = unit_free_.data();
    const cost_row* const cost = &costs_->row(0);
    const std::uint32_t* const rows = view.rows.data();
    const std::uint32_t* const targets = view.targets.data();
    const double width = costs_->issue_width(), window = costs_->window();
    double front = 0, retired = 0, in_flight = 0; // cycle in which the front end is free, last result of the retired instructions, slots in use
    double end = 0;
    std::uint32_t next = 0, oldest = 0; // next to enter; oldest in the window

    for (;;) {
        std::uint32_t v = next;
        double time = 0;
        bool entering = next < n;
        if constexpr (Front) {
            if (entering) {
                const double room = cell[next].code.slots();
                while (in_flight + room > window && oldest < next) {
                    if (cell[oldest].outstanding != started) {
                        entering = false;
                        break;
                    }
                    retired = (std::max)(retired, cell[oldest].time);
                    in_flight -= cell[oldest++].code.slots();
                }
                time = (std::max)(front, retired);
                if (entering && (queue_.empty() || !(queue_.top() < detail::ready_event{time, next}))) {
                    front = time + room / width;
                    in_flight += room;
                } else {
                    entering = false;
                }
            }
        }
        if (entering) { // starts now, or when its operands are ready; a folded vertex needs no event
            ++next;
            const double ready = cell[v].time;
            if (cell[v].outstanding != 0) {
                cell[v].time = (std::max)(ready, time);
                continue;
            }
            if (ready > time && cell[v].code.parts > 0) {
                queue_.push({ready, v});
                continue;
            }
            time = (std::max)(time, ready);
        } else {
            if (queue_.empty()) break;
            const auto e = queue_.top();
            queue_.pop();
            v = e.vertex;
            time = e.time;
        }

        const native_code c = cell[v].code;
        const cost_row& r = cost[c.row_index()];
        double* const unit = unit_free + r.first_unit;
        double result = time;
        for (unsigned part = 0; part < c.parts; ++part) {
            const double from = (std::max)(time, unit[0]);
            result = (std::max)(result, from + r.latency);
            double busy_until = from + r.busy;
            for (unsigned u = 1; u < r.units; ++u) { // equal units are interchangeable: sorted by the cycle in which they become free
                const double other = unit[u];
                unit[u - 1] = (std::min)(busy_until, other);
                busy_until = (std::max)(busy_until, other);
            }
            unit[r.units - 1U] = busy_until;
        }
        cell[v].time = result;
        for (;;) { // notify the users; a folded user finishes with its last operand and notifies its own users
            const double done = cell[v].time;
            cell[v].outstanding = started;
            end = (std::max)(end, done);
            for (auto e = rows[v]; e < rows[v + 1]; ++e) {
                const auto w = targets[e];
                if (w >= n) continue;
                cell[w].time = (std::max)(cell[w].time, done);
                if (--cell[w].outstanding != 0 || w >= next) continue;
                if (cell[w].code.parts > 0) queue_.push({cell[w].time, w});
                else folded_.push_back(w);
            }
            if (folded_.empty()) break;
            v = folded_.back();
            folded_.pop_back();
        }
    }
    return end;
}

} // namespace augur::inline v0

#include <augur/program/detail/ppt_model.hpp> // run_ppt

#endif
