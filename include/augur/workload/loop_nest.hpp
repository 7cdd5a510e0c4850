// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_LOOP_NEST_HPP
#define AUGUR_WORKLOAD_LOOP_NEST_HPP

/// @file
/// The concept `loop_nest`: an IR-independent view of a program as loops around statements with affine accesses; and a builder for such nests.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/target/machine_instructions.hpp>

namespace augur::inline v0 {

/// How a loop is executed.
enum class nest_annotation : std::uint8_t {
    serial,
    parallel,   ///< the iterations are distributed over threads
    vectorized, ///< the iterations become vector lanes
    unrolled,   ///< fully unrolled
    block_x,    ///< the iterations are bound to an index of a GPU's grid of blocks
    block_y,
    block_z,
    thread_x, ///< bound to an index of the threads of a block
    thread_y,
    thread_z,
    virtual_thread, ///< the iterations belong to one thread, interleaved as though they were threads
};
inline constexpr std::size_t nest_annotations = 11;

/// One term of an index: (i / divide % modulo) * stride, where i is the iteration number of a loop. A plain loop has divide 1 and modulo 0, which
/// means no modulo operation. The original axes of a fused loop are quotients and remainders of its iteration number.
struct nest_digit {
    std::uint32_t loop = 0; ///< index of the loop among those around the statement, counted from the outermost
    std::int64_t stride = 0;
    std::int64_t divide = 1;
    std::int64_t modulo = 0;

    [[nodiscard]] constexpr std::int64_t at(std::int64_t i) const noexcept {
        i /= divide;
        return (modulo > 0 ? i % modulo : i) * stride;
    }
    friend bool operator==(const nest_digit&, const nest_digit&) = default;
};

/// An access to a buffer. Its index is offset + sum of the digits, in elements.
struct nest_access {
    std::uint32_t buffer = 0;
    element_type type = element_type::f32;
    std::int64_t offset = 0;
    std::vector<nest_digit> digits;
    bool begins = false; ///< for the load of an accumulator: the value before the reduction loops (those without a digit) is a constant

    friend bool operator==(const nest_access&, const nest_access&) = default;
};

/// An instruction of a statement. A load and a store refer to an access; a store has one operand, the stored value.
struct nest_operation {
    static constexpr std::uint32_t none = 0xFFFFFFFF;

    instruction_class op = instruction_class::unknown;
    element_type type = element_type::f32;
    std::array<std::uint32_t, 3> operands{none, none, none}; ///< indices of earlier operations of the statement
    std::uint32_t access = none;                             ///< index into nest_statement::accesses; only for loads and stores

    friend bool operator==(const nest_operation&, const nest_operation&) = default;
};

/// A statement in a loop body: straight-line code, in program order.
struct nest_statement {
    std::vector<nest_access> accesses;
    std::vector<nest_operation> operations;
    double share = 1; ///< fraction of the iterations that execute the statement, 0 to 1; the others skip it

    /// Appends an operation and returns its index.
    std::uint32_t add(instruction_class op, element_type type, std::initializer_list<std::uint32_t> operands = {}) {
        nest_operation o{op, type, {}, nest_operation::none};
        o.operands.fill(nest_operation::none);
        AUGUR_ASSERT(operands.size() <= 3, "nest_statement: at most three operands");
        std::size_t i = 0;
        for (const auto operand : operands) o.operands[i++] = operand;
        operations.push_back(o);
        return static_cast<std::uint32_t>(operations.size()) - 1;
    }
    std::uint32_t load(nest_access from) {
        const auto v = add(instruction_class::load, from.type);
        operations.back().access = static_cast<std::uint32_t>(accesses.size());
        accesses.push_back(std::move(from));
        return v;
    }
    void store(nest_access to, std::uint32_t value) {
        add(instruction_class::store, to.type, {value});
        operations.back().access = static_cast<std::uint32_t>(accesses.size());
        accesses.push_back(std::move(to));
    }
    friend bool operator==(const nest_statement&, const nest_statement&) = default;
};

/// How to visit a loop nest of type N. The default calls the member; specialise it for a type that you cannot edit.
template <class N>
struct loop_nest_traits {
    template <class Sink>
        requires requires(const N& n, Sink& k) { n.visit(k); }
    static void visit(const N& n, Sink& k) {
        n.visit(k);
    }
};

namespace detail {
struct null_nest_sink {
    void buffer(std::int64_t) const noexcept {} ///< the next buffer, by its size in bytes; all buffers come before the first loop
    void begin_loop(std::int64_t, nest_annotation) const noexcept {} ///< trip count; the body follows, up to end_loop
    void end_loop() const noexcept {}
    void statement(const nest_statement&) const noexcept {}
};
} // namespace detail

/// Names the buffer or the loop that the next call of a sink adds; does nothing if the sink has no member `name(std::string_view, std::uint32_t)`. The
/// name of a buffer is its role, for example `kernel`. The name of a loop is the axis that it iterates over; `level` counts the loops into which the axis
/// is split, from the outermost.
template <class Sink>
constexpr void name_next(Sink& sink, std::string_view name, std::uint32_t level = 0) {
    if constexpr (requires { sink.name(name, level); }) sink.name(name, level);
}

/// A program as loops around statements.
///
/// Syntax      `loop_nest_traits<N>::visit(const N&, Sink&)` calls the sink's `buffer`, `begin_loop`, `end_loop`, `statement`, in program order;
///             it may call `name_next` before a buffer or a loop
/// Semantics   (the compiler cannot check these; `features_of_nest` returns an error for a nest that violates them)
///   nested    every begin_loop has an end_loop; extents are at least 1
///   known     buffers are numbered in the order of their calls; digits refer to loops around the statement, operands to earlier operations
///   stable    two visits of an unmodified nest make the same calls
/// Cost        linear in the number of loops and statements, independent of the trip counts
/// Threads     concurrent visits of one const object are allowed
template <class N>
concept loop_nest = requires(const N& n, detail::null_nest_sink& k) { loop_nest_traits<N>::visit(n, k); };

/// Builds and stores a loop nest. It is also a sink, so it can copy any other nest.
///
/// ```cpp
/// loop_nest_builder n;
/// const auto x = n.buffer(4096), y = n.buffer(4096);
/// n.begin_loop(64, nest_annotation::serial);
/// n.begin_loop(16, nest_annotation::vectorized);
/// nest_statement s; // y[16 i + j] = x[16 i + j] * x[16 i + j]
/// const auto v = s.load({x, element_type::f32, 0, {{0, 16}, {1, 1}}});
/// s.store({y, element_type::f32, 0, {{0, 16}, {1, 1}}}, s.add(instruction_class::fmul, element_type::f32, {v, v}));
/// n.statement(s);
/// n.end_loop();
/// n.end_loop();
/// ```
class loop_nest_builder {
public:
    /// A loop, or a statement. Node 0 is the whole program, a loop that runs once.
    struct node {
        std::uint32_t parent = 0;
        std::int64_t extent = 1;
        nest_annotation annotation = nest_annotation::serial;
        std::uint32_t statement = nest_operation::none; ///< index of the statement; none: the node is a loop
        std::vector<std::uint32_t> children;
        std::string axis; ///< empty: the loop has no name
        std::uint32_t level = 0;

        [[nodiscard]] bool is_loop() const noexcept { return statement == nest_operation::none; }
        friend bool operator==(const node&, const node&) = default;
    };

    /// Names the buffer or the loop of the next call, see `name_next`.
    void name(std::string_view name, std::uint32_t level = 0) {
        next_name_ = name;
        next_level_ = level;
    }
    /// Adds a buffer and returns its number.
    std::uint32_t buffer(std::int64_t bytes) {
        buffers_.push_back(bytes);
        buffer_names_.push_back(std::exchange(next_name_, {}));
        return static_cast<std::uint32_t>(buffers_.size()) - 1;
    }
    void begin_loop(std::int64_t extent, nest_annotation annotation) {
        open_ = add({open_, extent, annotation, nest_operation::none, {}, std::exchange(next_name_, {}), std::exchange(next_level_, 0U)});
    }
    void end_loop() {
        if (open_ == 0) unbalanced_ = true;
        open_ = nodes_[open_].parent;
    }
    void statement(nest_statement s) {
        statements_.push_back(std::move(s));
        add({open_, 1, nest_annotation::serial, static_cast<std::uint32_t>(statements_.size()) - 1, {}, {}, 0});
    }

    [[nodiscard]] const std::vector<node>& nodes() const noexcept { return nodes_; }
    [[nodiscard]] const std::vector<nest_statement>& statements() const noexcept { return statements_; }
    [[nodiscard]] const std::vector<std::int64_t>& buffers() const noexcept { return buffers_; }
    [[nodiscard]] const std::vector<std::string>& buffer_names() const noexcept { return buffer_names_; } ///< empty: the buffer has no name
    /// Whether every begin_loop had its end_loop.
    [[nodiscard]] bool balanced() const noexcept { return open_ == 0 && !unbalanced_; }

    template <class Sink>
    void visit(Sink& sink) const {
        for (std::size_t b = 0; b < buffers_.size(); ++b) {
            if (!buffer_names_[b].empty()) name_next(sink, buffer_names_[b]);
            sink.buffer(buffers_[b]);
        }
        for (const auto c : nodes_[0].children) visit(c, sink);
        if (!balanced()) sink.end_loop(); // an unmatched call, so that the sink sees an unbalanced nest too
    }
    friend bool operator==(const loop_nest_builder&, const loop_nest_builder&) = default;

private:
    std::vector<node> nodes_{node{}};
    std::vector<nest_statement> statements_;
    std::vector<std::int64_t> buffers_;
    std::vector<std::string> buffer_names_;
    std::uint32_t open_ = 0;
    bool unbalanced_ = false;
    std::string next_name_;
    std::uint32_t next_level_ = 0;

    std::uint32_t add(node n) {
        nodes_.push_back(std::move(n));
        nodes_[open_].children.push_back(static_cast<std::uint32_t>(nodes_.size()) - 1);
        return static_cast<std::uint32_t>(nodes_.size()) - 1;
    }
    template <class Sink>
    void visit(std::uint32_t at, Sink& sink) const {
        const auto& n = nodes_[at];
        if (!n.is_loop()) return sink.statement(statements_[n.statement]);
        if (!n.axis.empty()) name_next(sink, n.axis, n.level);
        sink.begin_loop(n.extent, n.annotation);
        for (const auto c : n.children) visit(c, sink);
        sink.end_loop();
    }
};
static_assert(loop_nest<loop_nest_builder>);

} // namespace augur::inline v0

#endif
