// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_ITERATOR_FEATURES_HPP
#define AUGUR_WORKLOAD_ITERATOR_FEATURES_HPP

/// @file
/// Features of the loops of a nest as in AutoTVM, the context of each loop variable (Chen et al., "Learning to Optimize Tensor Programs", 2018; TVM 0.8,
/// src/autotvm/touch_extractor.cc), as structs and as rows of numbers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/target/machine_instructions.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0 {

/// How a loop and those inside it touch a buffer by one access.
struct buffer_touch {
    std::uint32_t buffer = 0; ///< index into `iterator_features::buffers`
    std::uint32_t access = 0; ///< which access of that buffer, counted in program order
    std::int64_t stride = 0;  ///< elements from one iteration to the next; 0: the loop does not move the access; 1: also for a quotient or remainder
    static constexpr std::int64_t mod = -1; ///< a field that TVM has and never sets
    std::int64_t count = 1;                 ///< iterations of the loops, from this one inwards, that move the access
    std::int64_t reuse = 1;                 ///< iterations of those that do not
    /// For a loop of threads or blocks, how much larger count and reuse are than those of one thread or block; 0: not such a loop, or its work does not
    /// begin directly inside it or inside another one of its kind.
    std::int64_t thread_count = 0;
    std::int64_t thread_reuse = 0;

    friend bool operator==(const buffer_touch&, const buffer_touch&) = default;
};

/// Features of one loop. Operations are counted in the innermost loop around them, once, not once an iteration.
struct loop_features {
    static constexpr std::uint32_t no_parent = 0xFFFFFFFF;

    std::string axis;                 ///< what the loop iterates over; empty: the nest has no names
    std::uint32_t level = 0;          ///< which of the loops of its axis, from the outermost
    std::uint32_t parent = no_parent; ///< index of the loop around this one
    std::int64_t length = 1;          ///< iterations
    std::uint32_t nest_level = 1;     ///< loops around the body, this one included
    std::int64_t topdown = 1;         ///< product of the lengths from the outermost loop to this one
    std::int64_t bottomup = -1;       ///< the largest count * reuse; -1: no buffer is touched
    nest_annotation annotation = nest_annotation::serial;
    std::uint32_t additions = 0; ///< of floats, as all three; with subtractions
    std::uint32_t multiplications = 0;
    std::uint32_t divisions = 0;
    std::vector<buffer_touch> touches; ///< ordered by name of the buffer, then access

    friend bool operator==(const loop_features&, const loop_features&) = default;
};

/// Features of all loops of a nest.
struct iterator_features {
    std::vector<std::string> buffers; ///< names of the buffers in the order of the nest; empty where it gives none
    std::vector<loop_features> loops; ///< in program order

    friend bool operator==(const iterator_features&, const iterator_features&) = default;
};

namespace detail {

/// Gathers the features during a visit. All features of a touch follow from the loops around the access, so each is final at once.
class iterator_feature_sink {
public:
    void name(std::string_view text, std::uint32_t level) {
        next_name_ = text;
        next_level_ = level;
    }
    void buffer(std::int64_t) {
        out_.buffers.push_back(std::exchange(next_name_, {}));
        accesses_.push_back(0);
    }
    void begin_loop(std::int64_t length, nest_annotation annotation) {
        loop_features& loop = out_.loops.emplace_back();
        loop.axis = std::exchange(next_name_, {});
        loop.level = std::exchange(next_level_, 0U);
        loop.annotation = annotation;
        if (!open_.empty()) {
            loop.parent = open_.back();
            loop.topdown = out_.loops[loop.parent].topdown;
        }
        open_.push_back(static_cast<std::uint32_t>(out_.loops.size()) - 1);
        if (length < 1) return refuse(errc::invalid_argument, "a loop of " + std::to_string(length) + " iterations, expected 1 or more");
        if (open_.size() > max_depth) return refuse(errc::limit, "more than 60 loops in one another");
        if (length > most_iterations / loop.topdown) return refuse(errc::limit, "a body runs more than 2^53 times");
        loop.length = length;
        loop.topdown *= length;
        loop.nest_level = static_cast<std::uint32_t>(open_.size());
    }
    void end_loop() {
        if (open_.empty()) return refuse(errc::invalid_argument, "a loop that ends twice");
        open_.pop_back();
    }
    void statement(const nest_statement& s) {
        if (failed()) return;
        if (!open_.empty()) count_operations(s, out_.loops[open_.back()]);
        for (const nest_access& a : s.accesses) {
            if (a.buffer >= accesses_.size())
                return refuse(errc::invalid_argument, "an access to buffer " + std::to_string(a.buffer) + ", there is none");
            for (const nest_digit& d : a.digits)
                if (d.loop >= open_.size() || d.divide < 1 || d.modulo < 0)
                    return refuse(errc::invalid_argument, "expected digits of loops around the access, divided by 1 or more");
            touch(a, accesses_[a.buffer]++);
        }
    }

    [[nodiscard]] result<iterator_features> finish() && {
        if (!failed() && !open_.empty()) refuse(errc::invalid_argument, "a loop that does not end");
        if (failed()) return error_;
        std::vector<std::uint32_t> by_name(out_.buffers.size()), place(out_.buffers.size());
        std::iota(by_name.begin(), by_name.end(), 0U);
        std::sort(by_name.begin(), by_name.end(), [&](auto a, auto b) {
            const int order = out_.buffers[a].compare(out_.buffers[b]);
            return order != 0 ? order < 0 : a < b;
        });
        for (std::uint32_t i = 0; i < by_name.size(); ++i) place[by_name[i]] = i;
        for (loop_features& loop : out_.loops)
            std::sort(loop.touches.begin(), loop.touches.end(), [&](const buffer_touch& a, const buffer_touch& b) {
                return std::pair(place[a.buffer], a.access) < std::pair(place[b.buffer], b.access);
            });
        return std::move(out_);
    }

private:
    static constexpr std::size_t max_depth = 60;
    static constexpr std::int64_t most_iterations = std::int64_t{1} << 53U;

    iterator_features out_;
    std::vector<std::uint32_t> open_;     ///< indices of the loops around the current place, from the outermost
    std::vector<std::uint32_t> accesses_; ///< of each buffer, so far
    std::string next_name_;
    std::uint32_t next_level_ = 0;
    augur::error error_;

    [[nodiscard]] bool failed() const noexcept { return !error_.detail.empty(); }
    void refuse(errc code, const std::string& reason) {
        if (!failed()) error_ = {code, "loop nest: " + reason};
    }
    static void count_operations(const nest_statement& s, loop_features& loop) {
        for (const nest_operation& o : s.operations) {
            if (!is_float(o.type)) continue;
            const bool both = o.op == instruction_class::fma;
            loop.additions += both || o.op == instruction_class::fadd ? 1 : 0;
            loop.multiplications += both || o.op == instruction_class::fmul ? 1 : 0;
            loop.divisions += o.op == instruction_class::fdiv ? 1 : 0;
        }
    }
    /// Threads contain serial work, blocks contain threads.
    static constexpr std::size_t parallel_level(nest_annotation a) noexcept {
        using enum nest_annotation;
        if (a == block_x || a == block_y || a == block_z) return 2;
        return a == thread_x || a == thread_y || a == thread_z || a == parallel ? 1 : 0;
    }
    void touch(const nest_access& a, std::uint32_t number) {
        std::array<std::int64_t, max_depth> strides{};
        for (const nest_digit& d :
             a.digits) // a loop of one iteration has no variable in TVM's simplified index; of several digits its parser takes the first
            if (auto& stride = strides[d.loop]; stride == 0 && out_.loops[open_[d.loop]].length > 1)
                stride = d.divide == 1 && d.modulo == 0 ? d.stride : 1;
        buffer_touch t;
        t.buffer = a.buffer;
        t.access = number;
        std::array<buffer_touch, 3> unit{}; // what one iteration of a parallel loop of that level does, 0: unknown
        unit[1].count = unit[2].count = 0;
        for (std::size_t i = open_.size(); i-- > 0;) {
            loop_features& loop = out_.loops[open_[i]];
            t.stride = strides[i];
            (t.stride != 0 ? t.count : t.reuse) *= loop.length;
            const std::size_t level = parallel_level(loop.annotation);
            const bool known = level > 0 && unit[level].count > 0;
            t.thread_count = known ? t.count / unit[level].count : 0;
            t.thread_reuse = known ? t.reuse / unit[level].reuse : 0;
            if (loop.touches.empty()) loop.touches.reserve(8);
            loop.touches.push_back(t);
            loop.bottomup = (std::max)(loop.bottomup, t.count * t.reuse);
            if (i > 0 && parallel_level(out_.loops[open_[i - 1]].annotation) == level + 1) unit[level + 1] = t;
        }
    }
};

/// TVM's order of annotations: BlockX, ..., ThreadZ, Unrolled, Vectorized, Parallel, Serial, VirtualThread.
inline constexpr std::array<std::uint8_t, nest_annotations> autotvm_annotation_order{9, 8, 7, 6, 0, 1, 2, 3, 4, 5, 10};

inline constexpr std::size_t iterator_loop_columns = 4 + nest_annotations + 3;
inline constexpr std::size_t iterator_touch_columns = 6;

} // namespace detail

/// Features of the loops of a nest, equal to those of TVM for an equal lowered program, with accesses numbered in the order of the nest.
/// Errors: invalid_argument, a nest that violates the semantics of `loop_nest`; limit, more than 60 loops in one another, or a body that runs more than
/// 2^53 times. Cost: for each access, the loops around it; independent of the trip counts.
template <loop_nest N>
[[nodiscard]] result<iterator_features> iterator_features_of(const N& nest) {
    detail::iterator_feature_sink sink;
    loop_nest_traits<N>::visit(nest, sink);
    return std::move(sink).finish();
}

/// Columns of the row of a loop with room for `touches` touches; 66 for 8.
[[nodiscard]] constexpr std::size_t iterator_row_columns(std::size_t touches = 8) noexcept {
    return detail::iterator_loop_columns + detail::iterator_touch_columns * touches;
}

/// Writes a loop as numbers, in TVM's order: length, nest level, topdown, bottomup; the annotation as 11 indicators; additions, multiplications,
/// divisions; of each touch stride, mod, count, reuse, thread count, thread reuse. All but the nest level and the indicators are sign(x) log2(|x| + 1).
/// Columns without a touch are 0; touches beyond the room of the row are left out.
/// pre: row.size() is iterator_row_columns(touches)
inline void write_iterator_row(const loop_features& loop, std::span<float> row) {
    AUGUR_ASSERT(row.size() >= detail::iterator_loop_columns && (row.size() - detail::iterator_loop_columns) % detail::iterator_touch_columns == 0,
                 "write_iterator_row: 18 columns and 6 for each touch");
    const auto scaled = [](std::int64_t x) {
        if (x == 0) return 0.0F;
        return static_cast<float>(std::copysign(std::log2(std::abs(static_cast<double>(x)) + 1), static_cast<double>(x)));
    };
    std::fill(row.begin(), row.end(), 0.0F);
    row[0] = scaled(loop.length);
    row[1] = static_cast<float>(loop.nest_level);
    row[2] = scaled(loop.topdown);
    row[3] = scaled(loop.bottomup);
    row[4U + detail::autotvm_annotation_order[static_cast<std::size_t>(loop.annotation)]] = 1;
    row[15] = scaled(loop.additions);
    row[16] = scaled(loop.multiplications);
    row[17] = scaled(loop.divisions);
    auto to = row.subspan(detail::iterator_loop_columns);
    for (const buffer_touch& t : loop.touches) {
        if (to.empty()) return;
        std::size_t column = 0;
        for (const std::int64_t x : {t.stride, buffer_touch::mod, t.count, t.reuse, t.thread_count, t.thread_reuse}) to[column++] = scaled(x);
        to = to.subspan(detail::iterator_touch_columns);
    }
}

} // namespace augur::inline v0

#endif
