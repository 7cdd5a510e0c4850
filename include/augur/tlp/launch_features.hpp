// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_LAUNCH_FEATURES_HPP
#define AUGUR_TLP_LAUNCH_FEATURES_HPP

/// @file
/// Launch features of GPU schedules: threads per block, work per thread, virtual threads and blocks of each stage bound to threads.
///
/// Each feature is a product of extents from several steps (splits, fusions, annotations), which a per-primitive encoding does not contain. The
/// transform steps determine the extents of split and fused loops; no compute DAG is needed.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Assigns the integers of a visit of a step to the step's fields; for steps without names. False if their count does not fit the fields.
/// An integer that is not 0 is true, one that is no annotation is `none`. Allocates only to grow a list.
template <class Step>
[[nodiscard]] bool assign_fields(std::span<const std::int64_t> numbers, Step& step) {
    return std::apply(
        [&](auto&... fields) {
            std::size_t later = sizeof...(fields); // fields after the current one; a list leaves an integer for each
            const auto take = [&]<class Field>(Field& field) {
                --later;
                constexpr bool is_list = std::is_same_v<Field, std::vector<std::int64_t>>;
                if (numbers.size() < (is_list ? later : 1)) return false;
                const std::size_t count = is_list ? numbers.size() - later : 1;
                if constexpr (is_list) field.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
                else if constexpr (std::is_same_v<Field, bool>) field = numbers.front() != 0;
                else if constexpr (std::is_same_v<Field, std::int64_t>) field = numbers.front();
                else {
                    constexpr auto last = static_cast<std::int64_t>(loop_annotation::tensorize);
                    field = numbers.front() >= 0 && numbers.front() <= last ? static_cast<loop_annotation>(numbers.front()) : loop_annotation::none;
                }
                numbers = numbers.subspan(count);
                return true;
            };
            return (take(fields) && ...) && numbers.empty();
        },
        step_fields(step));
}

} // namespace detail

/// Tracks loop extents through the steps of one schedule and emits one row per stage with a loop bound to threadIdx.x, except copies into a cache
/// (CHR).
///
/// An extent that the steps do not determine is 0; an extent above 2^40 and every product with an unknown extent are 0, too. At an inconsistent step
/// the tracking stops; rows from earlier steps remain. Reuse one object for many schedules; it allocates only to grow.
///
/// A schedule sink: call `clear` before and `finish` after a visit. Or call `step` for each step.
class launch_follower {
public:
    static constexpr std::string_view kind = "TH"; ///< of the primitives that `visit` reports

    /// threads per block; iterations per thread over the stage's loops, including virtual threads; last bound virtual threads; last bound blocks
    using row = std::array<std::int64_t, 4>;

    void clear() {
        open_ = lost_ = false;
        used_ = 0;
        virtual_threads_ = blocks_ = 0;
        numbers_.clear();
        numbers_.reserve(32); // most steps have fewer
        lengths_.clear();
        splits_.clear();
        rows_.clear();
    }

    void primitive(std::string_view next) {
        finish();
        open_ = true;
        type_ = step_index(next);
    }
    void number(std::integral auto n) { numbers_.push_back(static_cast<std::int64_t>(n)); }
    void number(double) const noexcept {}
    void name(std::string_view) const noexcept {}
    /// Ends the last step.
    void finish() {
        if (open_) step(type_, numbers_);
        open_ = false;
        numbers_.clear();
    }

    /// Processes the next step.
    ///
    /// @param type     index of its type in `transform_step` (`step_index` of its kind)
    /// @param numbers  its integers in the order of the logs, without names
    void step(std::size_t type, std::span<const std::int64_t> numbers) {
        splits_.push_back({lengths_.size(), 0, 0});
        lost_ = lost_ || !dispatch(type, numbers);
    }

    [[nodiscard]] std::span<const row> rows() const { return rows_; }

    /// Reports each row to a schedule sink as a primitive of four numbers.
    template <schedule_sink Sink>
    void visit(Sink& sink) const {
        for (const row& numbers : rows_) {
            sink.primitive(kind);
            for (const std::int64_t n : numbers) sink.number(n);
        }
    }

private:
    static constexpr std::int64_t most_stages = 1024, most_loops = 1024;
    static constexpr std::int64_t largest = std::int64_t{1} << 40;

    struct loop {
        std::int64_t extent = 0; ///< 0: unknown
        bool bound = false;      ///< bound to blocks or threads: not part of the work per thread
    };
    struct stage {
        std::vector<loop> loops; ///< up to the last loop that a step used; later loops are unknown
        bool copy = false;       ///< created by CHR
    };
    struct split { ///< factors of an SP step: a range of lengths_
        std::size_t first = 0, count = 0;
        std::int64_t extent = 0;
    };

    [[nodiscard]] static std::int64_t times(std::int64_t a, std::int64_t b) {
        if (a <= 0 || b <= 0 || a > largest / b) return 0;
        return a * b;
    }
    [[nodiscard]] static std::int64_t product(std::span<const std::int64_t> factors) {
        std::int64_t all = 1;
        for (const std::int64_t factor : factors) all = times(all, factor);
        return all;
    }

    [[nodiscard]] stage& at(std::int64_t number) {
        while (used_ <= static_cast<std::size_t>(number)) {
            if (stages_.size() == used_) stages_.emplace_back();
            stages_[used_].loops.clear();
            stages_[used_++].copy = false;
        }
        return stages_[static_cast<std::size_t>(number)];
    }
    /// Inserts a stage without loops; false if there are too many.
    [[nodiscard]] bool insert(std::int64_t number, bool copy) {
        if (used_ >= static_cast<std::size_t>(most_stages)) return false;
        static_cast<void>(at(number)); // creates the stages up to `number`
        static_cast<void>(at(static_cast<std::int64_t>(used_)));
        for (std::size_t i = used_ - 1; i > static_cast<std::size_t>(number); --i) std::swap(stages_[i], stages_[i - 1]);
        stages_[static_cast<std::size_t>(number)].loops.clear();
        stages_[static_cast<std::size_t>(number)].copy = copy;
        return true;
    }
    /// Inserts a stage in front of stage `number`, which gets new loops.
    [[nodiscard]] bool insert_rfactor(std::int64_t number) {
        if (!insert(number, false)) return false;
        at(number + 1).loops.clear();
        return true;
    }
    /// Loop i of a stage, created if no step has used it; null if i is out of range.
    [[nodiscard]] static loop* loop_at(stage& s, std::int64_t i) {
        if (i < 0 || i >= most_loops) return nullptr;
        if (s.loops.size() <= static_cast<std::size_t>(i)) s.loops.resize(static_cast<std::size_t>(i) + 1);
        return &s.loops[static_cast<std::size_t>(i)];
    }
    /// Splits loop i by the factors `inner` into (remainder, inner...), or, if !inner_to_outer, into (inner..., remainder); outermost loop first.
    /// An `extent` of 0 is unknown.   pre: loop i exists
    [[nodiscard]] static bool divide(stage& s, std::int64_t i, std::int64_t extent, std::span<const std::int64_t> inner, bool inner_to_outer) {
        if (s.loops.size() + inner.size() > static_cast<std::size_t>(most_loops)) return false;
        const std::int64_t part = product(inner);
        const auto place = s.loops.begin() + i;
        *place = {extent > 0 && part > 0 ? (extent + part - 1) / part : 0, false};
        const auto to = s.loops.insert(inner_to_outer ? place + 1 : place, inner.size(), loop{});
        for (std::size_t k = 0; k < inner.size(); ++k) to[static_cast<std::ptrdiff_t>(k)].extent = times(inner[k], 1);
        return true;
    }
    /// The split of an earlier step; null if `step` is no earlier step.
    [[nodiscard]] const split* split_of(std::int64_t step) const {
        return step >= 0 && static_cast<std::size_t>(step) + 1 < splits_.size() ? &splits_[static_cast<std::size_t>(step)] : nullptr;
    }
    [[nodiscard]] std::span<const std::int64_t> lengths(const split& s) const { return std::span(lengths_).subspan(s.first, s.count); }

    [[nodiscard]] bool dispatch(std::size_t type, std::span<const std::int64_t> numbers) {
        switch (type) {
        case step_index(split_step::kind): return read_and_run(split_, numbers);
        case step_index(follow_split_step::kind): return read_and_run(follow_split_, numbers);
        case step_index(follow_fused_split_step::kind): return read_and_run(follow_fused_split_, numbers);
        case step_index(fuse_step::kind): return read_and_run(fuse_, numbers);
        case step_index(reorder_step::kind): return read_and_run(reorder_, numbers);
        case step_index(annotate_step::kind): return read_and_run(annotate_, numbers);
        // of the steps that insert a stage only its index counts
        case step_index(cache_write_step::kind): return has_stage(numbers) && insert(numbers.front(), false);
        case step_index(cache_read_step::kind): return has_stage(numbers) && insert(numbers.front() + 1, true);
        case step_index(rfactor_step::kind): return has_stage(numbers) && insert_rfactor(numbers.front());
        default: return true; // the step changes no loop
        }
    }
    [[nodiscard]] static bool has_stage(std::span<const std::int64_t> numbers) {
        return !numbers.empty() && numbers.front() >= 0 && numbers.front() < most_stages;
    }
    template <class Step>
    [[nodiscard]] bool read_and_run(Step& step, std::span<const std::int64_t> numbers) {
        return has_stage(numbers) && detail::assign_fields(numbers, step) && run(step);
    }

    [[nodiscard]] bool run(const split_step& s) {
        stage& target = at(s.stage);
        const loop* const l = loop_at(target, s.iter);
        if (l == nullptr) return false;
        const std::int64_t extent = s.extent != 0 ? times(s.extent, 1) : l->extent;
        splits_.back() = {lengths_.size(), s.lengths.size(), extent};
        lengths_.insert(lengths_.end(), s.lengths.begin(), s.lengths.end());
        return divide(target, s.iter, extent, s.lengths, s.inner_to_outer);
    }
    [[nodiscard]] bool run(const follow_split_step& s) {
        const split* const source = split_of(s.source_step);
        if (source == nullptr || s.parts < 1 || source->count + 1 < static_cast<std::size_t>(s.parts)) return false;
        const auto own = static_cast<std::size_t>(s.parts - 1); // lengths before the product of the rest
        const auto all = lengths(*source);
        inner_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own));
        inner_.push_back(product(all.subspan(own)));
        stage& target = at(s.stage);
        const loop* const l = loop_at(target, s.iter);
        return l != nullptr && divide(target, s.iter, l->extent > 0 ? l->extent : source->extent, inner_, true);
    }
    [[nodiscard]] bool run(const follow_fused_split_step& s) {
        if (s.source_steps.empty()) return false;
        std::int64_t length = 1;
        for (const std::int64_t step : s.source_steps) {
            const split* const source = split_of(step);
            if (source == nullptr || s.level < 0 || static_cast<std::size_t>(s.level) >= source->count) return false;
            length = times(length, lengths(*source)[static_cast<std::size_t>(s.level)]);
        }
        stage& target = at(s.stage);
        const loop* const l = loop_at(target, s.iter);
        return l != nullptr && divide(target, s.iter, l->extent, std::span(&length, 1), s.factor_or_nparts);
    }
    [[nodiscard]] bool run(const fuse_step& s) {
        if (s.iters.empty()) return false;
        stage& target = at(s.stage);
        const std::int64_t first = s.iters.front();
        std::int64_t extent = 1;
        for (std::size_t k = 0; k < s.iters.size(); ++k) {
            const loop* const l = s.iters[k] == first + static_cast<std::int64_t>(k) ? loop_at(target, s.iters[k]) : nullptr;
            if (l == nullptr) return false;
            extent = times(extent, l->extent);
        }
        target.loops.erase(target.loops.begin() + first + 1, target.loops.begin() + s.iters.back() + 1);
        target.loops[static_cast<std::size_t>(first)] = {extent, false};
        return true;
    }
    [[nodiscard]] bool run(const reorder_step& s) {
        stage& target = at(s.stage);
        moved_.clear();
        for (const std::int64_t i : s.order) {
            const loop* const l = loop_at(target, i);
            if (l == nullptr) return false;
            moved_.push_back(*l);
        }
        target.loops.swap(moved_);
        return true;
    }
    [[nodiscard]] bool run(const annotate_step& s) {
        stage& target = at(s.stage);
        loop* const l = loop_at(target, s.iter);
        if (l == nullptr) return false;
        l->bound = s.annotation >= loop_annotation::block_x && s.annotation <= loop_annotation::thread_z;
        if (target.copy) return true;
        if (s.annotation == loop_annotation::vthread) virtual_threads_ = l->extent;
        if (s.annotation == loop_annotation::block_x) blocks_ = l->extent;
        if (s.annotation != loop_annotation::thread_x) return true;
        std::int64_t work = 1;
        for (const loop& each : target.loops)
            if (!each.bound) work = times(work, each.extent);
        rows_.push_back({l->extent, work, virtual_threads_, blocks_});
        return true;
    }
    std::vector<stage> stages_; ///< stages from used_ on are spare
    std::size_t used_ = 0;
    std::vector<std::int64_t> lengths_, inner_;
    std::vector<split> splits_; ///< one per step; without factors unless the step is an SP
    std::vector<loop> moved_;
    std::vector<row> rows_;
    std::int64_t virtual_threads_ = 0, blocks_ = 0;
    bool open_ = false, lost_ = false;
    std::size_t type_ = 0; ///< of the current step of a visit
    std::vector<std::int64_t> numbers_;
    // the last step of each type, so that the lists keep their memory
    split_step split_{};
    follow_split_step follow_split_{};
    follow_fused_split_step follow_fused_split_{};
    fuse_step fuse_{};
    reorder_step reorder_{};
    annotate_step annotate_{};
};
static_assert(schedule_sink<launch_follower>);

/// Schedule sink adaptor: forwards every call to a `launch_follower` and to another sink; `finish` appends the follower's rows to the other sink.
template <schedule_sink Sink>
class launch_feature_sink {
public:
    /// `next` and `follower` must outlive this object.
    launch_feature_sink(Sink& next, launch_follower& follower) : next_(&next), follower_(&follower) { follower.clear(); }

    void primitive(std::string_view kind) {
        follower_->primitive(kind);
        next_->primitive(kind);
    }
    void number(std::integral auto n) {
        follower_->number(n);
        next_->number(n);
    }
    void number(double n) { next_->number(n); }
    void name(std::string_view text) { next_->name(text); }
    /// Ends the schedule and appends the launch-feature rows.
    void finish() {
        follower_->finish();
        follower_->visit(*next_);
    }

private:
    Sink* next_;
    launch_follower* follower_;
};

} // namespace augur::inline v0::tlp

#endif
