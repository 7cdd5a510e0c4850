// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_LAUNCH_FEATURES_HPP
#define AUGUR_TLP_LAUNCH_FEATURES_HPP

/// @file
/// Launch features of GPU schedules: threads per block, work per thread, virtual threads and blocks of each stage bound to threads.
///
/// Each feature is a product of extents from several steps (splits, fusions, annotations), which a per-primitive encoding does not contain. The
/// transform steps determine the extents of split and fused loops; no compute DAG is needed.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/schedule/concepts.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Ansor's transform steps that change the loops of a stage; `other` for the rest.
enum class loop_step : std::uint8_t { other, SP, FSP, FFSP, FU, RE, AN, CHW, CHR, RF };

[[nodiscard]] inline loop_step loop_step_of(std::string_view kind) {
    constexpr std::array<std::string_view, 9> names{"SP", "FSP", "FFSP", "FU", "RE", "AN", "CHW", "CHR", "RF"};
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == kind) return static_cast<loop_step>(i + 1);
    return loop_step::other;
}

} // namespace detail

/// Tracks loop extents through the steps of one schedule and emits one row per stage with a loop bound to threadIdx.x, except copies into a cache
/// (CHR).
///
/// An extent that the steps do not determine is 0; an extent above 2^40 and every product with an unknown extent are 0, too. At an inconsistent step
/// the tracking stops; rows from earlier steps remain. Reuse one object for many schedules; it allocates only to grow.
class launch_follower {
public:
    /// threads per block; iterations per thread over the stage's loops, including virtual threads; last bound virtual threads; last bound blocks
    using row = std::array<std::int64_t, 4>;

    void clear() {
        used_ = 0;
        steps_ = 0;
        lost_ = false;
        virtual_threads_ = blocks_ = 0;
        lengths_.clear();
        splits_.clear();
        rows_.clear();
    }

    /// Processes the next step, given its kind and its integer parameters in order, without names.
    void step(detail::loop_step kind, std::span<const std::int64_t> n) {
        splits_.push_back({lengths_.size(), 0, 0});
        ++steps_;
        if (lost_ || kind == detail::loop_step::other) return;
        lost_ = n.empty() || n[0] < 0 || n[0] >= most_stages || !run(kind, n);
    }

    [[nodiscard]] std::span<const row> rows() const { return rows_; }

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

    [[nodiscard]] stage& at(std::int64_t number) {
        while (used_ <= static_cast<std::size_t>(number)) {
            if (stages_.size() == used_) stages_.emplace_back();
            stages_[used_].loops.clear();
            stages_[used_++].copy = false;
        }
        return stages_[static_cast<std::size_t>(number)];
    }
    void insert(std::int64_t number, bool copy) {
        static_cast<void>(at(number)); // creates the stages up to `number`
        static_cast<void>(at(static_cast<std::int64_t>(used_)));
        for (std::size_t i = used_ - 1; i > static_cast<std::size_t>(number); --i) std::swap(stages_[i], stages_[i - 1]);
        stages_[static_cast<std::size_t>(number)].loops.clear();
        stages_[static_cast<std::size_t>(number)].copy = copy;
    }
    /// Ensures that loop i exists; false if i is out of range.
    [[nodiscard]] static bool reach(stage& s, std::int64_t i) {
        if (i < 0 || i >= most_loops) return false;
        if (s.loops.size() <= static_cast<std::size_t>(i)) s.loops.resize(static_cast<std::size_t>(i) + 1);
        return true;
    }
    /// Splits loop i by the factors `inner` into (remainder, inner...), or, if !inner_to_outer, into (inner..., remainder); outermost loop first.
    [[nodiscard]] bool divide(stage& s, std::int64_t i, std::int64_t extent, std::span<const std::int64_t> inner, bool inner_to_outer) {
        if (!reach(s, i) || s.loops.size() + inner.size() > static_cast<std::size_t>(most_loops)) return false;
        std::int64_t product = 1;
        for (const std::int64_t length : inner) product = times(product, length);
        const std::int64_t remainder = extent > 0 && product > 0 ? (extent + product - 1) / product : 0;
        const auto place = s.loops.begin() + i;
        *place = {remainder, false};
        const auto to = s.loops.insert(inner_to_outer ? place + 1 : place, inner.size(), loop{});
        for (std::size_t k = 0; k < inner.size(); ++k) to[static_cast<std::ptrdiff_t>(k)].extent = times(inner[k], 1);
        return true;
    }

    [[nodiscard]] bool run(detail::loop_step kind, std::span<const std::int64_t> n) {
        using enum detail::loop_step;
        switch (kind) {
        case SP: {
            if (n.size() < 4) return false;
            stage& s = at(n[0]);
            if (!reach(s, n[1])) return false;
            const auto inner = n.subspan(3, n.size() - 4);
            const std::int64_t extent = n[2] != 0 ? times(n[2], 1) : s.loops[static_cast<std::size_t>(n[1])].extent;
            splits_.back() = {lengths_.size(), inner.size(), extent};
            lengths_.insert(lengths_.end(), inner.begin(), inner.end());
            return divide(s, n[1], extent, inner, n.back() != 0);
        }
        case FSP: {
            if (n.size() != 4 || n[2] < 0 || static_cast<std::size_t>(n[2]) + 1 >= steps_ || n[3] < 1) return false;
            const split from = splits_[static_cast<std::size_t>(n[2])];
            const auto parts = static_cast<std::size_t>(n[3]);
            if (from.count + 1 < parts) return false;
            const auto lengths = std::span(lengths_).subspan(from.first, from.count);
            inner_.assign(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(parts - 1));
            std::int64_t product = 1;
            for (const std::int64_t length : lengths.subspan(parts - 1)) product = times(product, length);
            inner_.push_back(product);
            stage& s = at(n[0]);
            if (!reach(s, n[1])) return false;
            const std::int64_t known = s.loops[static_cast<std::size_t>(n[1])].extent;
            return divide(s, n[1], known > 0 ? known : from.extent, inner_, true);
        }
        case FFSP: {
            if (n.size() < 5) return false;
            const std::int64_t level = n[n.size() - 2];
            std::int64_t product = 1;
            for (const std::int64_t step : n.subspan(2, n.size() - 4)) {
                if (step < 0 || static_cast<std::size_t>(step) + 1 >= steps_) return false;
                const split from = splits_[static_cast<std::size_t>(step)];
                if (level < 0 || static_cast<std::size_t>(level) >= from.count) return false;
                product = times(product, lengths_[from.first + static_cast<std::size_t>(level)]);
            }
            stage& s = at(n[0]);
            return reach(s, n[1]) && divide(s, n[1], s.loops[static_cast<std::size_t>(n[1])].extent, std::span(&product, 1), n.back() != 0);
        }
        case FU: {
            if (n.size() < 2) return false;
            stage& s = at(n[0]);
            const auto fused = n.subspan(1);
            std::int64_t product = 1;
            for (std::size_t k = 0; k < fused.size(); ++k) {
                if (fused[k] != fused[0] + static_cast<std::int64_t>(k) || !reach(s, fused[k])) return false;
                product = times(product, s.loops[static_cast<std::size_t>(fused[k])].extent);
            }
            s.loops.erase(s.loops.begin() + fused[0] + 1, s.loops.begin() + fused.back() + 1);
            s.loops[static_cast<std::size_t>(fused[0])] = {product, false};
            return true;
        }
        case RE: {
            stage& s = at(n[0]);
            moved_.clear();
            for (const std::int64_t i : n.subspan(1)) {
                if (!reach(s, i)) return false;
                moved_.push_back(s.loops[static_cast<std::size_t>(i)]);
            }
            s.loops.swap(moved_);
            return true;
        }
        case AN: {
            if (n.size() != 3) return false;
            stage& s = at(n[0]);
            if (!reach(s, n[1])) return false;
            loop& l = s.loops[static_cast<std::size_t>(n[1])];
            constexpr std::int64_t vthread = 4, block_x = 5, thread_x = 6, thread_z = 10; // schedule/steps.hpp: loop_annotation
            l.bound = n[2] >= block_x && n[2] <= thread_z;
            if (s.copy) return true;
            if (n[2] == vthread) virtual_threads_ = l.extent;
            if (n[2] == block_x) blocks_ = l.extent;
            if (n[2] != thread_x) return true;
            std::int64_t work = 1;
            for (const loop& each : s.loops)
                if (!each.bound) work = times(work, each.extent);
            rows_.push_back({l.extent, work, virtual_threads_, blocks_});
            return true;
        }
        case CHW: return used_ < static_cast<std::size_t>(most_stages) && (insert(n[0], false), true);
        case CHR: return used_ < static_cast<std::size_t>(most_stages) && (static_cast<void>(at(n[0])), insert(n[0] + 1, true), true);
        case RF: // the original stage gets new loops
            if (used_ >= static_cast<std::size_t>(most_stages)) return false;
            at(n[0]).loops.clear();
            insert(n[0], false);
            return true;
        case other: break;
        }
        return true;
    }

    std::vector<stage> stages_; ///< stages from used_ on are spare
    std::size_t used_ = 0, steps_ = 0;
    std::vector<std::int64_t> lengths_, inner_;
    std::vector<split> splits_; ///< one per step; without factors unless the step is an SP
    std::vector<loop> moved_;
    std::vector<row> rows_;
    std::int64_t virtual_threads_ = 0, blocks_ = 0;
    bool lost_ = false;
};

/// Schedule sink adaptor: forwards every call to another sink; `finish` appends the rows of a `launch_follower` as "TH" primitives of four numbers.
template <schedule_sink Sink>
class launch_feature_sink {
public:
    /// `next` and `follower` must outlive this object.
    launch_feature_sink(Sink& next, launch_follower& follower) : next_(&next), follower_(&follower) { follower.clear(); }

    void primitive(std::string_view kind) {
        close();
        open_ = true;
        kind_ = detail::loop_step_of(kind);
        next_->primitive(kind);
    }
    void number(std::integral auto n) {
        if (size_ < items_.size()) items_[size_++] = static_cast<std::int64_t>(n);
        else more_.push_back(static_cast<std::int64_t>(n));
        next_->number(n);
    }
    void number(double n) { next_->number(n); }
    void name(std::string_view text) { next_->name(text); }
    /// Ends the schedule and appends the "TH" primitives.
    void finish() {
        close();
        for (const launch_follower::row& row : follower_->rows()) {
            next_->primitive("TH");
            for (const std::int64_t n : row) next_->number(n);
        }
    }

private:
    void close() {
        if (open_ && more_.empty()) {
            follower_->step(kind_, std::span(items_).first(size_));
        } else if (open_) {
            more_.insert(more_.begin(), items_.begin(), items_.end());
            follower_->step(kind_, more_);
            more_.clear();
        }
        size_ = 0;
    }

    Sink* next_;
    launch_follower* follower_;
    std::array<std::int64_t, 64> items_{}; ///< first integer parameters of the current primitive; more_ holds the rest
    std::size_t size_ = 0;
    std::vector<std::int64_t> more_;
    detail::loop_step kind_{};
    bool open_ = false;
};

} // namespace augur::inline v0::tlp

#endif
