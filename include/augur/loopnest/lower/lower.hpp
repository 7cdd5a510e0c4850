// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_LOWER_LOWER_HPP
#define AUGUR_LOOPNEST_LOWER_LOWER_HPP

/// @file
/// Lowering of a schedule state to loop nests over flat buffers. The interpreter and the C writer read this form.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/inserted_stage.hpp>
#include <augur/loopnest/detail/tile_layout.hpp>
#include <augur/loopnest/lower/bounds.hpp>

namespace augur::inline v0::loopnest {

/// A lowered expression: as `expr`, with reads as flat offsets and conditions in affine form.
/// `read` is buffer[index]; `less_equal` is 0 <= index; `equal` is index == 0; `axis` is the value of index as a float.
struct lowered_expr {
    expr_op op{};
    double value = 0;
    int buffer = -1;
    affine index;
    std::vector<lowered_expr> operands;
};

namespace detail {

/// True for a division that the C writer writes as a product, whatever the flags of the compiler: its divisor is a constant whose reciprocal is a normal
/// number. A product is some ten times as fast; it differs by one unit in the last place.
[[nodiscard]] inline bool is_product_with_reciprocal(const lowered_expr& e) {
    if (e.op != expr_op::div || e.operands[1].op != expr_op::constant) return false;
    const double divisor = std::abs(e.operands[1].value);
    return divisor > 1e-30 && divisor < 1e30;
}

} // namespace detail

/// A flat float32 buffer.
struct lowered_buffer {
    enum class kind : std::uint8_t {
        input,   ///< a placeholder
        output,  ///< a result
        packed,  ///< a constant placeholder in the layout of its reader's tiles
        scratch, ///< an intermediate at the root
        local,   ///< an intermediate inside a loop of another stage, on the stack
    } type{};
    int tensor = 0; ///< the id of the operation that it stores
    std::int64_t elements = 0;
    bool constant = false; ///< an input with equal contents in all calls
};

/// A loop of a nest; nests list their loops outermost first.
struct lowered_loop {
    int term = -1; ///< term number of the loop variable; -1: the loop runs once
    std::int64_t extent = 1;
    bool reduce = false;
    loop_annotation annotation = loop_annotation::none;
    std::vector<std::size_t> attached; ///< nests computed at the start of the loop body, in order
};

/// The loop nest of one stage, with one store in the innermost body.
///
/// A reduction first stores the neutral value, before its first reduce loop, over the space loops inside that loop; then each step does
/// `buffer[index] = combine(buffer[index], value)`. A store is skipped where a guard is negative. A guard that depends on reduce loops does not
/// apply to the store of the neutral value.
struct lowered_nest {
    std::size_t stage = 0;
    std::vector<lowered_loop> loops;
    std::vector<affine> guards;
    int buffer = -1;
    affine index;
    lowered_expr value;
    reducer combine = reducer::none;
    std::int64_t auto_unroll_max_step = -1;
    /// The value that is stored instead of the finished result of a reduction, which it reads as `result_buffer`. Lowering makes none; code generation
    /// does where results stay in registers.
    std::optional<lowered_expr> epilogue;

    static constexpr int result_buffer = -2;

    /// The position of the first reduce loop; `loops.size()` if there is none.
    [[nodiscard]] std::size_t first_reduce() const {
        return static_cast<std::size_t>(std::find_if(loops.begin(), loops.end(), [](const lowered_loop& l) { return l.reduce; }) - loops.begin());
    }
};

/// A lowered kernel.
struct lowered_kernel {
    term_table terms;
    std::vector<lowered_buffer> buffers; ///< ordered: inputs, outputs, packed, scratch, local
    std::vector<lowered_nest> nests;
    std::vector<std::size_t> roots;   ///< nests at the root, in execution order
    std::vector<std::size_t> packing; ///< nests that fill the packed buffers; executed once
    double flops = 0;
};

struct lower_options {
    bool rewrite_layout = true; ///< give constant placeholders the layout of their reader's tiles (Ansor: layout rewrite)
    /// Limit for the intermediates inside loops that exist at once. They lie on a thread's stack: 4 MiB, half of what a thread has on Linux.
    std::int64_t max_local_elements = 1024 * 1024;
    std::int64_t max_scratch_elements = std::int64_t{1} << 31; ///< limit for one intermediate at the root
};

namespace detail {

class lowering {
public:
    lowering(const loop_state& s, bounded_state b, const lower_options& o) : state_(s), bounds_(std::move(b)), options_(o) {}

    result<lowered_kernel> run() {
        const auto& ops = state_.dag().ops;
        buffer_of_.assign(ops.size(), -1);
        layout_.resize(ops.size());
        for (std::size_t i = 0; i < ops.size(); ++i)
            if (ops[i].placeholder()) make_buffer(i, lowered_buffer::kind::input, ops[i].elements());
        for (std::size_t i = 0; i < ops.size(); ++i)
            if (bounds_.bodies[i] && state_.dag().is_output(i)) make_buffer(i, lowered_buffer::kind::output, ops[i].elements());
        if (options_.rewrite_layout)
            for (std::size_t i = 0; i < ops.size(); ++i)
                if (ops[i].placeholder() && ops[i].constant) pack(i);
        for (std::size_t i = 0; i < ops.size(); ++i)
            if (bounds_.bodies[i] && state_.stages()[i].placement == stage::place::at && is_cache_read(state_.steps(), i))
                layout_[i] = layout_of_copy(state_, bounds_, i);
        for (const auto place : {stage::place::root, stage::place::at}) {
            for (std::size_t i = 0; i < ops.size(); ++i) {
                if (!bounds_.bodies[i] || buffer_of_[i] >= 0 || state_.stages()[i].placement != place) continue;
                const bool root = place == stage::place::root;
                std::int64_t n = 1;
                for (const auto e : bounds_.stages[i].box.extent) n *= e; // at most the elements of the tensor, which `compute_dag::check` limits
                if (root && n > options_.max_scratch_elements)
                    return error{errc::limit, "stage " + std::to_string(i) + ": intermediate is too large"};
                make_buffer(i, root ? lowered_buffer::kind::scratch : lowered_buffer::kind::local, n);
            }
        }
        std::vector<std::size_t> nest_of(ops.size(), loop_state::npos);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (!bounds_.bodies[i]) continue;
            if (auto made = nest(i); !made) return refused("stage " + std::to_string(i) + ": " + made.error().detail);
            nest_of[i] = out_.nests.size() - 1;
        }
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (nest_of[i] == loop_state::npos) continue;
            const auto& s = state_.stages()[i];
            if (s.placement == stage::place::root) out_.roots.push_back(nest_of[i]);
            else out_.nests[nest_of[s.at_stage]].loops[state_.stages()[s.at_stage].iter_of(s.at_var)].attached.push_back(nest_of[i]);
        }
        for (const auto root : out_.roots)
            if (const auto n = local_elements(root); n > options_.max_local_elements)
                return refused("stage " + std::to_string(out_.nests[root].stage) + ": expected at most " +
                               std::to_string(options_.max_local_elements) +
                               " elements of intermediates at once inside its loops, on the stack, came " + std::to_string(n));
        out_.terms = std::move(bounds_.terms);
        out_.flops = state_.dag().flops();
        return std::move(out_);
    }

private:
    static error refused(std::string reason) { return {errc::illegal_schedule, std::move(reason)}; }

    const loop_state& state_;
    bounded_state bounds_;
    const lower_options& options_;
    lowered_kernel out_;
    std::vector<int> buffer_of_;      ///< one per operation
    std::vector<tile_layout> layout_; ///< one per operation

    int make_buffer(std::size_t op, lowered_buffer::kind kind, std::int64_t elements) {
        const auto& o = state_.dag().ops[op];
        out_.buffers.push_back({kind, o.id, elements, o.constant});
        buffer_of_[op] = static_cast<int>(out_.buffers.size()) - 1;
        return buffer_of_[op];
    }

    /// Elements of the local buffers that exist at once while nest `at` runs, its own result excepted.
    [[nodiscard]] std::int64_t local_elements(std::size_t at) const {
        std::int64_t own = 0, inner = 0;
        for (const auto& l : out_.nests[at].loops)
            for (const auto a : l.attached) {
                own += out_.buffers[static_cast<std::size_t>(out_.nests[a].buffer)].elements;
                inner = (std::max)(inner, local_elements(a));
            }
        return own + inner;
    }

    /// Adds the nest that copies a constant tensor into the order in which the tiles of its only reader access it.
    void pack(std::size_t w) {
        const auto& ops = state_.dag().ops;
        const auto l = layout_of_constant(state_, bounds_, w);
        if (l.pieces.empty()) return;
        lowered_nest nest;
        nest.stage = w;
        const auto source = buffer_of_[w];
        std::vector<affine> axis(ops[w].axes.size());
        affine flat;
        for (const auto& p : l.pieces) {
            const int term = p.extent > 1 ? bounds_.terms.loop(p.extent) : -1;
            nest.loops.push_back({term, p.extent, false, loop_annotation::none, {}});
            flat = flat * p.extent;
            if (term >= 0) {
                axis[p.axis].add(term_table::value(term), p.stride);
                flat.add(term_table::value(term));
            }
        }
        lowered_expr read;
        read.op = expr_op::read;
        read.buffer = source;
        for (std::size_t a = 0; a < axis.size(); ++a) {
            read.index = read.index * ops[w].axes[a].extent + axis[a];
            const auto room = affine(ops[w].axes[a].extent - 1) - axis[a];
            if (bounds_.terms.range(room).low < 0)
                nest.guards.push_back(room); // guarded elements keep what the buffer began with, and nothing reads them
        }
        nest.value = std::move(read);
        nest.index = flat;
        nest.buffer = make_buffer(w, lowered_buffer::kind::packed, l.elements());
        layout_[w] = l;
        out_.packing.push_back(out_.nests.size());
        out_.nests.push_back(std::move(nest));
    }

    /// The loops of a copy with an order of its own: one for each piece of the layout.
    void copy_loops(std::size_t i, lowered_nest& n, std::vector<affine>& axes) {
        axes = bounds_.stages[i].box.low;
        for (const auto& p : layout_[i].pieces) {
            n.loops.push_back({bounds_.terms.loop(p.extent), p.extent, false, loop_annotation::none, {}});
            axes[p.axis].add(term_table::value(n.loops.back().term), p.stride);
        }
    }

    /// The flat offset of the element `index` of operation `at`.
    affine offset(std::size_t at, const std::vector<affine>& index) {
        const auto& ops = state_.dag().ops;
        affine flat;
        if (!layout_[at].pieces.empty()) {
            const auto& within = bounds_.stages[at].box; // empty for a placeholder
            for (const auto& p : layout_[at].pieces) {
                auto v = bounds_.terms.quotient(within.low.empty() ? index[p.axis] : index[p.axis] - within.low[p.axis], p.stride);
                const bool outermost = p.stride * p.extent >= (within.low.empty() ? ops[at].axes[p.axis].extent : within.extent[p.axis]);
                flat = flat * p.extent + (outermost ? v : bounds_.terms.remainder(v, p.extent));
            }
            return flat;
        }
        if (ops[at].placeholder()) {
            for (std::size_t a = 0; a < index.size(); ++a) flat = flat * ops[at].axes[a].extent + index[a];
            return flat;
        }
        const auto& box = bounds_.stages[at].box;
        for (std::size_t a = 0; a < index.size(); ++a) flat = flat * box.extent[a] + (index[a] - box.low[a]);
        return flat;
    }

    std::optional<lowered_expr> lower(const expr& e, const std::vector<affine>& axes) {
        lowered_expr out;
        out.op = e->op;
        out.value = e->value;
        if (e->is_index()) {
            const auto v = to_affine(e, axes, bounds_.terms);
            if (!v) return std::nullopt;
            out.op = expr_op::axis;
            out.index = *v;
            return out;
        }
        switch (e->op) {
        case expr_op::read: {
            const auto at = state_.dag().index_of(static_cast<int>(e->integer));
            std::vector<affine> index;
            for (const auto& o : e->operands) {
                auto v = to_affine(o, axes, bounds_.terms);
                if (!v) return std::nullopt;
                index.push_back(std::move(*v));
            }
            out.buffer = buffer_of_[at];
            out.index = offset(at, index);
            return out;
        }
        case expr_op::less:
        case expr_op::less_equal:
        case expr_op::equal: {
            const auto a = to_affine(e->operands[0], axes, bounds_.terms);
            const auto b = to_affine(e->operands[1], axes, bounds_.terms);
            if (!a || !b) return std::nullopt;
            out.op = e->op == expr_op::equal ? expr_op::equal : expr_op::less_equal;
            out.index = *b - *a;
            if (e->op == expr_op::less) out.index.constant -= 1;
            return out;
        }
        default: break;
        }
        for (const auto& o : e->operands) {
            auto v = lower(o, axes);
            if (!v) return std::nullopt;
            out.operands.push_back(std::move(*v));
        }
        return simplified(std::move(out));
    }

    /// The value of a condition if the ranges of its terms determine it; nullopt otherwise.
    [[nodiscard]] std::optional<bool> settled(const lowered_expr& c) const {
        switch (c.op) {
        case expr_op::less_equal:
        case expr_op::equal: {
            const auto r = bounds_.terms.range(c.index);
            if (c.op == expr_op::equal) {
                if (r.low > 0 || r.high < 0) return false;
                if (r.low == 0 && r.high == 0) return true;
                return std::nullopt;
            }
            if (r.low >= 0) return true;
            if (r.high < 0) return false;
            return std::nullopt;
        }
        case expr_op::logical_and:
        case expr_op::logical_or: {
            const bool stop = c.op == expr_op::logical_or;
            const auto a = settled(c.operands[0]);
            const auto b = settled(c.operands[1]);
            if ((a && *a == stop) || (b && *b == stop)) return stop;
            if (a && b) return !stop;
            return std::nullopt;
        }
        default: return std::nullopt;
        }
    }

    lowered_expr simplified(lowered_expr e) const {
        if (e.op == expr_op::logical_and || e.op == expr_op::logical_or) {
            const bool keep = e.op == expr_op::logical_and; // the value that does not affect the result
            if (settled(e.operands[0]) == keep) return std::move(e.operands[1]);
            if (settled(e.operands[1]) == keep) return std::move(e.operands[0]);
        }
        if (e.op == expr_op::select) {
            if (const auto c = settled(e.operands[0])) return std::move(e.operands[*c ? 1 : 2]);
        }
        return e;
    }

    result<void> nest(std::size_t i) {
        const auto& op = state_.dag().ops[i];
        const auto& s = state_.stages()[i];
        const auto& b = bounds_.stages[i];
        lowered_nest n;
        n.stage = i;
        n.combine = op.combine;
        n.auto_unroll_max_step = s.auto_unroll_max_step;
        const bool ordered = s.placement == stage::place::at && !layout_[i].pieces.empty();
        auto axes = b.axes;
        if (ordered) copy_loops(i, n, axes);
        for (std::size_t k = 0; k < s.iters.size() && !ordered; ++k) {
            const auto& v = s.vars[s.iters[k].var];
            const auto annotation = s.iters[k].annotation;
            if (v.space && v.reduce && b.loops[k] >= 0) return refused("a loop runs over space and reduce axes at once");
            if (v.reduce && (annotation == loop_annotation::parallel || annotation == loop_annotation::vectorize) && b.loops[k] >= 0)
                return refused("a reduce loop is parallel or vectorised");
            n.loops.push_back({b.loops[k], b.extents[s.iters[k].var], v.reduce && !v.space, annotation, {}});
        }
        const auto guard = [&](affine room) {
            if (bounds_.terms.range(room).low < 0 && std::find(n.guards.begin(), n.guards.end(), room) == n.guards.end())
                n.guards.push_back(std::move(room));
        };
        if (!ordered)
            for (const auto& room : b.room) guard(room); // the iteration lies inside the box
        for (std::size_t a = 0; a < op.axes.size() && s.placement == stage::place::at; ++a) {
            guard(affine(op.axes[a].extent - 1) - axes[a]); // and inside the tensor
            guard(axes[a]);
        }
        std::vector<affine> index(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(op.axes.size()));
        auto value = lower(bounds_.bodies[i], axes);
        if (!value) return refused("an index is not affine in the loops");
        n.buffer = buffer_of_[i];
        n.index = offset(i, index);
        n.value = std::move(*value);
        out_.nests.push_back(std::move(n));
        return {};
    }
};

} // namespace detail

/// Lowers a schedule state.   Cost: about that of `bound`.
/// Errors: illegal_schedule (bounds, indices, intermediates too large for a stack), limit (an intermediate at the root is too large).
[[nodiscard]] inline result<lowered_kernel> lower(const loop_state& s, const lower_options& options = {}) {
    auto b = bound(s);
    if (!b) return b.error();
    return detail::lowering(s, std::move(*b), options).run();
}

} // namespace augur::inline v0::loopnest

#endif
