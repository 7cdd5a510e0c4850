// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_SIMULATOR_HPP
#define AUGUR_PROGRAM_PIPELINE_SIMULATOR_HPP

/// @file
/// The pipeline simulator (Crop, section 3.4): how many cycles the instructions of a graphlet take on a machine's units.
///
/// An instruction starts when its operands are there and a unit is free; it keeps the unit for its throughput and has its result after its latency.
/// What is ready first starts first, of two the earlier in the program. With a front, instructions enter in program order, so many a cycle, and only
/// so many at a time: the oldest must be done before the next one enters.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <augur/program/pipeline/costs.hpp>

namespace augur::inline v0 {

/// How units are modelled.
enum class unit_model : std::uint8_t {
    ideal,      ///< as above
    ppt_compat, ///< PPT's shift registers, which move by ticks of the throughput; a result takes depth + 1 ticks (program/detail/ppt_model.hpp)
};

struct pipeline_options {
    unit_model units = unit_model::ideal;
    bool front = true; ///< issue width and window of the machine; ppt_compat knows neither
};

/// The edges of code in a row, in program order: they lead forward; those to a vertex beyond what is run are passed over.
struct pipeline_view {
    std::span<const std::uint32_t> rows;    ///< (V + 1) where a vertex's edges begin
    std::span<const std::uint32_t> targets; ///< (E)
};

/// A vertex while it is simulated.
struct pipeline_cell {
    double time = 0;               ///< when its operands are there; once it has started, when its result is
    std::uint32_t outstanding = 0; ///< operands that are not there yet
    native_code code;
};

namespace detail {

/// When a vertex can start; of two that can at once, the earlier in the program.
struct ready_event {
    double time;
    std::uint32_t vertex;
    friend bool operator<(const ready_event& a, const ready_event& b) noexcept {
        return a.time < b.time || (a.time == b.time && a.vertex < b.vertex);
    }
};

/// The events to come, soonest first. Few live at a time, and a new one is either soon or later than all others, so they are kept sorted and a new
/// one moves those between it and the nearer end; for the many there is a heap behind.
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

/// Simulates code on a machine's costs.
///
/// A value of scratch: allocates while it meets its largest block, then no more. Deterministic: no seed, no hash, no clock.
/// Threads    one thread an object; the cost table may be shared
class pipeline {
public:
    explicit pipeline(const cost_table& costs, pipeline_options options = {}) : costs_(&costs), options_(options) {}

    [[nodiscard]] const cost_table& costs() const noexcept { return *costs_; }
    [[nodiscard]] const pipeline_options& options() const noexcept { return options_; }

    /// Cycles of a graphlet that runs alone, from its start to its last result.
    /// @note ideal: O((V + E) log V), some 20 ns a vertex
    [[nodiscard]] double block(const graphlet& g) {
        unknown_ += costs_->lower(g, code_);
        for (auto& c : cells(g.size())) {
            const auto v = static_cast<std::uint32_t>(&c - cells_.data());
            c = {0, g.predecessors(v), code_[v]};
        }
        return run({g.rows(), g.targets()}, g.size());
    }
    /// When each result of the last run was there: (V), as `pipeline_cell::time`.
    [[nodiscard]] std::span<const pipeline_cell> done() const noexcept { return {cells_.data(), ran_}; }
    /// How many instructions of an unknown class `block` has met so far.
    [[nodiscard]] std::size_t unknown() const noexcept { return unknown_; }

    /// Room for `n` vertices, to be filled before `run`.
    [[nodiscard]] std::span<pipeline_cell> cells(std::size_t n) {
        if (cells_.size() < n) cells_.resize(n);
        return {cells_.data(), n};
    }
    /// Runs the first `n` cells: time 0, their code, and how many edges of `view` from among them lead to each.
    [[nodiscard]] double run(const pipeline_view& view, std::size_t n);

private:
    template <bool Front>
    double run_ideal(const pipeline_view& view, std::size_t n);
    double run_ppt(const pipeline_view& view, std::size_t n);

    const cost_table* costs_;
    pipeline_options options_;
    std::vector<native_code> code_;
    std::vector<pipeline_cell> cells_;
    std::vector<double> unit_free_; ///< of equal units: the soonest free first
    detail::event_queue queue_;
    std::vector<std::uint32_t> folded_; ///< over, and their users do not know yet
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
    double front = 0, retired = 0, in_flight = 0; // when the front is free, when the last to leave the window had its result, room taken
    double end = 0;
    std::uint32_t next = 0, oldest = 0; // to enter, and in the window

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
        if (entering) { // it starts now, or when its operands are there; what folds away takes no turn
            ++next;
            const double there = cell[v].time;
            if (cell[v].outstanding != 0) {
                cell[v].time = (std::max)(there, time);
                continue;
            }
            if (there > time && cell[v].code.parts > 0) {
                queue_.push({there, v});
                continue;
            }
            time = (std::max)(time, there);
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
            for (unsigned u = 1; u < r.units; ++u) { // equal units may change places: kept in the order in which they become free
                const double other = unit[u];
                unit[u - 1] = (std::min)(busy_until, other);
                busy_until = (std::max)(busy_until, other);
            }
            unit[r.units - 1U] = busy_until;
        }
        cell[v].time = result;
        for (;;) { // its users; those that fold away are over with their last operand, and theirs follow
            const double there = cell[v].time;
            cell[v].outstanding = started;
            end = (std::max)(end, there);
            for (auto e = rows[v]; e < rows[v + 1]; ++e) {
                const auto w = targets[e];
                if (w >= n) continue;
                cell[w].time = (std::max)(cell[w].time, there);
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
