// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_HPP
#define AUGUR_PROGRAM_PIPELINE_HPP

/// @file
/// The pipeline simulator (Crop, section 3.4): how many cycles the instructions of a graphlet take on a machine's units.
///
/// An instruction starts when its operands are there and a unit is free; it keeps the unit for its throughput and has its result after its latency.
/// What is ready first starts first, of two the earlier in the program. With a front, instructions enter in program order, so many a cycle, and only so
/// many at a time: the oldest must be done before the next one enters.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/program/pipeline_costs.hpp>

namespace augur::inline v0 {

/// How units are modelled.
enum class unit_model : std::uint8_t {
    ideal,      ///< as above
    ppt_compat, ///< PPT's shift registers: a unit moves by ticks of its throughput, a result comes (depth + 1) ticks after its start (pipeline_ppt.hpp)
};

struct pipeline_options {
    unit_model units = unit_model::ideal;
    bool front = true; ///< issue width and window of the machine; ppt_compat knows neither
};

/// Code in a row, ready to be simulated: what `pipeline` runs. Edges lead forward; those to a vertex beyond what is run are passed over.
struct pipeline_view {
    std::span<const native_code> code;       ///< (V)
    std::span<const std::uint32_t> rows;     ///< (V + 1) where a vertex's edges begin
    std::span<const std::uint32_t> targets;  ///< (E)
    std::span<const std::uint32_t> waits_for; ///< (V) how many edges lead to a vertex
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

/// The events to come, soonest first. Few live at a time and new ones are mostly late, so they are kept sorted, in front of a heap for the many.
class event_queue {
public:
    void clear() noexcept { first_ = last_ = 0, heap_.clear(); }
    [[nodiscard]] bool empty() const noexcept { return first_ == last_ && heap_.empty(); }
    [[nodiscard]] const ready_event& top() const noexcept {
        if (heap_.empty()) return sorted_[first_];
        return first_ == last_ || heap_.front() < sorted_[first_] ? heap_.front() : sorted_[first_];
    }
    void push(ready_event e) {
        if (last_ == capacity) {
            if (first_ == 0) {
                heap_.push_back(e);
                std::push_heap(heap_.begin(), heap_.end(), later);
                return;
            }
            std::copy(sorted_ + first_, sorted_ + last_, sorted_);
            last_ -= first_;
            first_ = 0;
        }
        std::size_t at = last_++;
        for (; at > first_ && e < sorted_[at - 1]; --at) sorted_[at] = sorted_[at - 1];
        sorted_[at] = e;
    }
    void pop() {
        if (heap_.empty() || (first_ != last_ && sorted_[first_] < heap_.front())) {
            ++first_;
            if (first_ == last_) first_ = last_ = 0;
            return;
        }
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
    }

private:
    static bool later(const ready_event& a, const ready_event& b) noexcept { return b < a; }
    static constexpr std::size_t capacity = 64;
    ready_event sorted_[capacity];
    std::size_t first_ = 0, last_ = 0;
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

    /// Cycles from the start to the last result of the first `n` vertices.
    /// @note ideal: O((V + E) log V), some 20 ns a vertex; without a front O(V) memory is all it needs
    [[nodiscard]] double run(const pipeline_view& view, std::size_t n);
    [[nodiscard]] double run(const pipeline_view& view) { return run(view, view.code.size()); }

    /// Cycles of a graphlet that runs alone.
    [[nodiscard]] double block(const graphlet& g) {
        unknown_ += costs_->lower(g, code_);
        waits_.resize(g.size());
        for (std::uint32_t v = 0; v < g.size(); ++v) waits_[v] = g.predecessors(v);
        return run({code_, g.rows(), g.targets(), waits_});
    }
    /// (V) when each result of the last run was there.
    [[nodiscard]] std::span<const double> done() const noexcept { return {done_.data(), ran_}; }
    /// How many instructions of an unknown class `block` has met so far.
    [[nodiscard]] std::size_t unknown() const noexcept { return unknown_; }

private:
    template <bool Front>
    double run_ideal(const pipeline_view& view, std::size_t n);
    double run_ppt(const pipeline_view& view, std::size_t n);

    const cost_table* costs_;
    pipeline_options options_;
    std::vector<native_code> code_;
    std::vector<std::uint32_t> waits_;
    std::vector<double> done_;             ///< when a vertex can start; once it has, when its result is there
    std::vector<std::uint32_t> outstanding_; ///< results it still waits for; `started` once it has begun
    std::vector<double> unit_free_;
    detail::event_queue queue_;
    std::size_t ran_ = 0, unknown_ = 0;
};

inline double pipeline::run(const pipeline_view& view, std::size_t n) {
    AUGUR_ASSERT(n <= view.code.size() && view.rows.size() >= n && view.waits_for.size() >= n, "pipeline: shape");
    if (done_.size() < n) {
        done_.resize(n);
        outstanding_.resize(n);
    }
    ran_ = n;
    if (n == 0) return 0;
    if (options_.units == unit_model::ppt_compat) return run_ppt(view, n);
    return options_.front ? run_ideal<true>(view, n) : run_ideal<false>(view, n);
}

template <bool Front>
double pipeline::run_ideal(const pipeline_view& view, std::size_t n) {
    constexpr std::uint32_t started = 0xFFFFFFFF;
    std::fill_n(done_.data(), n, 0.0);
    std::copy_n(view.waits_for.data(), n, outstanding_.data());
    unit_free_.assign(costs_->units(), 0.0);
    queue_.clear();
    double* const done = done_.data();
    std::uint32_t* const outstanding = outstanding_.data();
    double end = 0;
    std::uint32_t next = 0; // to enter

    const auto start = [&](std::uint32_t v, double time) {
        const native_code c = view.code[v];
        if (c.parts > 0) {
            const cost_row& r = costs_->row(c.row);
            double* const unit = unit_free_.data() + r.first_unit;
            const double ready = time;
            for (unsigned part = 0; part < c.parts; ++part) {
                std::size_t best = 0;
                for (std::size_t u = 1; u < r.units; ++u)
                    if (unit[u] < unit[best]) best = u;
                const double from = (std::max)(ready, unit[best]);
                unit[best] = from + r.busy;
                time = (std::max)(time, from + r.latency);
            }
        }
        done[v] = time;
        outstanding[v] = started;
        end = (std::max)(end, time);
        for (auto e = view.rows[v]; e < view.rows[v + 1]; ++e) {
            const auto w = view.targets[e];
            if (w >= n) continue;
            done[w] = (std::max)(done[w], time);
            if (--outstanding[w] == 0 && w < next) queue_.push({done[w], w});
        }
    };
    const auto enter = [&](double at) { // the next vertex is there; it starts now, or when its operands are
        const auto v = next++;
        if (outstanding[v] != 0) done[v] = (std::max)(done[v], at);
        else if (done[v] <= at) start(v, at);
        else queue_.push({done[v], v});
    };

    if constexpr (!Front) {
        while (next < n) enter(0);
    } else {
        const double width = costs_->issue_width(), window = costs_->window();
        double front = 0, retired = 0, in_flight = 0; // when the front is free, when the last to leave the window had its result, room taken
        std::uint32_t oldest = 0;
        while (next < n) {
            const native_code c = view.code[next];
            const double room = c.slot ? c.parts : 0;
            bool fits = true;
            while (in_flight + room > window && oldest < next) {
                if (outstanding[oldest] != started) {
                    fits = false;
                    break;
                }
                retired = (std::max)(retired, done[oldest]);
                const native_code left = view.code[oldest++];
                in_flight -= left.slot ? left.parts : 0;
            }
            const double at = (std::max)(front, retired);
            if (fits && (queue_.empty() || !(queue_.top() < detail::ready_event{at, next}))) {
                front = at + room / width;
                in_flight += room;
                enter(at);
            } else {
                const auto e = queue_.top();
                queue_.pop();
                start(e.vertex, e.time);
            }
        }
    }
    while (!queue_.empty()) {
        const auto e = queue_.top();
        queue_.pop();
        start(e.vertex, e.time);
    }
    return end;
}

} // namespace augur::inline v0

#include <augur/program/pipeline_ppt.hpp> // run_ppt

#endif
