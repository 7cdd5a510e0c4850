// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_LOOPNEST_TVM_DAG_HPP
#define AUGUR_IO_LOOPNEST_TVM_DAG_HPP

/// @file
/// Parser for the text form of a TVM auto_scheduler compute DAG (`ComputeDAG.__str__`, src/auto_scheduler/compute_dag.cc), one operation per line:
///
///     p0 = PLACEHOLDER [1, 7, 7, 512]
///     pad_temp(i0, i1, i2, i3) = tir.if_then_else(((((i1 >= 1) && (i1 < 8)) && (i2 >= 1)) && (i2 < 8)), p0[i0, (i1 - 1), ...], 0f)
///     p1 = PLACEHOLDER [3, 3, 512, 512]
///     conv2d_nhwc(nn, yy, xx, ff) += (pad_temp[nn, (yy + ry), (xx + rx), rc]*p1[ry, rx, rc, ff])
///
/// The DAG allows the schedules of a log to be replayed (`loop_state`) and their loop bounds to be inferred (`bound`).
///
/// The text lacks two kinds of information, which the parser infers. It lists the inferences that are not certain in `tvm_dag::assumed`.
///   Extents       of computed tensors and of reduce axes. The output shape is at the end of the workload key. An axis that is an index by itself
///                 covers the whole dimension. Every other tensor is as large as its readers need. Assumption: if the readers need less, the padding
///                 after the data is as large as the padding before it. Assumption: if s window sizes fit a max pooling with stride s > 1, the window
///                 ends with the data.
///   Tensor names  are not unique. TVM prints producers in post-order, directly before their first reader. Reads of a name therefore refer to the
///                 last tensors of that name that have no reader yet, in order. Assumption: if all have readers, a read refers to the latest that
///                 does not add a scalar, because hard-swish multiplies x, not x + 3, by relu6(x + 3).
/// The text has neither constant inputs nor operation attributes (`operation::constant`, `constant_index`).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/io/loopnest/detail/tvm_dag_body.hpp>
#include <augur/io/loopnest/detail/tvm_dag_extents.hpp>
#include <augur/io/loopnest/detail/tvm_dag_key.hpp>
#include <augur/io/loopnest/detail/tvm_dag_lexer.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0 {

/// Limits of `parse_tvm_dag`.
struct tvm_dag_limits {
    std::size_t text = std::size_t{64} << 10U; ///< bytes of text
    std::size_t operations = 1024;
    int depth = 256; ///< nesting depth of an expression; at most 1024
};

/// Parsed DAG. The operations are in text order, and the id of an operation is its position.
struct tvm_dag {
    loopnest::compute_dag dag;
    std::vector<std::string> assumed; ///< one sentence per inference that is not certain; empty: the DAG is certain
};

namespace detail {

/// Parser of a DAG text.
class tvm_dag_parser {
public:
    tvm_dag_parser(std::string_view text, const tvm_dag_limits& limits) : in_(text), limits_(limits) {}

    result<tvm_dag> run(std::string_view key) {
        for (; in_.more_lines() && !in_.failed(); in_.next_line()) {
            in_.begin_line();
            if (out_.dag.ops.size() == limits_.operations)
                in_.fail(errc::limit, "expected at most " + std::to_string(limits_.operations) + " operations");
            else if (in_.seek("..(OMITTED).."))
                in_.fail(errc::unsupported, "expected the whole operation, the text was shortened where it was printed");
            else operation();
        }
        if (in_.failed()) return in_.error();
        if (out_.dag.ops.empty() || out_.dag.ops.back().placeholder())
            return error{errc::parse, std::to_string(in_.line()) + ":1: expected a computed tensor at the end of the DAG"};
        if (auto done = read_result_shape(key, out_.dag); !done) return done.error();
        if (auto done = extent_inference(out_.dag, out_.assumed).run(); !done) return done.error();
        if (auto done = out_.dag.check(); !done) return done.error();
        return std::move(out_);
    }

private:
    bool operation() {
        const auto begin = in_.position();
        const auto name = in_.word();
        if (name.empty()) return in_.expected("the name of an operation");
        if (!(in_.accept("=") ? placeholder(name) : computed(name, begin))) return false;
        read_.push_back(false);
        return in_.at_line_end() || in_.expected("the end of the line");
    }

    bool placeholder(std::string_view name) {
        if (!in_.expect("PLACEHOLDER") || !in_.expect("[")) return false;
        std::vector<std::int64_t> shape;
        if (!in_.accept("]")) {
            do {
                if (!in_.integer(shape.emplace_back(), "an extent")) return false;
                if (shape.back() < 1) return in_.fail(errc::shape_mismatch, "expected extents of at least 1, got " + std::to_string(shape.back()));
                if (shape.size() > tvm_max_axes) return in_.fail(errc::limit, "expected at most 64 dimensions");
            } while (in_.accept(","));
            if (!in_.expect("]")) return false;
        }
        out_.dag.input(std::string(name), shape);
        return true;
    }

    bool computed(std::string_view name, std::size_t begin) {
        std::vector<std::string_view> axes;
        if (!axis_names(axes)) return false;
        const loopnest::reducer combine = in_.accept("+=")     ? loopnest::reducer::sum
                                          : in_.accept("max=") ? loopnest::reducer::max
                                          : in_.accept("min=") ? loopnest::reducer::min
                                                               : loopnest::reducer::none;
        const bool reduces = combine != loopnest::reducer::none;
        if (!reduces && !in_.accept("=")) return in_.expected("'=', '+=', 'max=' or 'min='");
        tvm_dag_body_parser body(in_, std::move(axes), reduces, limits_.depth);
        loopnest::expr e;
        if (!body.parse(e)) return false;
        if (reduces && body.reduce_axes().empty())
            return in_.fail(errc::parse, "expected an axis to reduce over in the body of " + std::string(name), begin);
        if (!resolve(body.reads())) return false;
        e = rewrite(e, [&](const loopnest::expr_node& n, const std::vector<loopnest::expr>& operands) {
            return n.op == loopnest::expr_op::read
                       ? loopnest::ex::read(static_cast<int>(body.reads()[static_cast<std::size_t>(n.integer)].tensor), operands)
                       : loopnest::expr();
        });
        const auto unknown = [](std::span<const std::string_view> names) {
            std::vector<loopnest::loop_axis> list;
            for (const auto n : names) list.push_back({std::string(n), 0});
            return list;
        };
        out_.dag.compute(std::string(name), unknown(body.spatial_axes()), std::move(e), unknown(body.reduce_axes()), combine);
        return true;
    }

    bool axis_names(std::vector<std::string_view>& axes) {
        if (!in_.accept("(")) return in_.expected("'(' or '='");
        if (in_.accept(")")) return true;
        do {
            const auto axis = in_.word();
            if (axis.empty()) return in_.expected("the name of an axis");
            if (std::find(axes.begin(), axes.end(), axis) != axes.end())
                return in_.fail(errc::parse, "expected axes of different names, got " + std::string(axis) + " twice", in_.position() - axis.size());
            if (axes.size() == tvm_max_axes) return in_.fail(errc::limit, "expected at most 64 axes");
            axes.push_back(axis);
        } while (in_.accept(","));
        return in_.expect(")");
    }

    [[nodiscard]] bool adds_scalar(std::size_t i) const {
        const auto& body = out_.dag.ops[i].body;
        return body && body->op == loopnest::expr_op::add && std::any_of(body->operands.begin(), body->operands.end(), [](const loopnest::expr& e) {
                   return e->op == loopnest::expr_op::constant || (e->op == loopnest::expr_op::read && e->operands.empty());
               });
    }

    /// Resolves the tensors that the reads of the current operation refer to (rules: head of this file).
    bool resolve(std::vector<tvm_dag_read>& reads) {
        const auto& ops = out_.dag.ops;
        std::vector<bool> done(reads.size(), false);
        for (std::size_t r = 0; r < reads.size(); ++r) {
            if (done[r]) continue;
            std::vector<std::size_t> named, unread, group;
            std::size_t other_rank = ops.size();
            for (std::size_t i = 0; i < ops.size(); ++i) {
                if (ops[i].name != reads[r].name) continue;
                if (ops[i].axes.size() != reads[r].rank) other_rank = i;
                else named.push_back(i);
            }
            if (named.empty() && other_rank < ops.size())
                return in_.fail(errc::shape_mismatch,
                                "expected " + std::to_string(ops[other_rank].axes.size()) + " indices of " + ops[other_rank].name + ", got " +
                                    std::to_string(reads[r].rank),
                                reads[r].at);
            if (named.empty())
                return in_.fail(errc::not_found, "expected a tensor defined above, got " + std::string(reads[r].name.substr(0, 80)), reads[r].at);
            for (const auto i : named)
                if (!read_[i]) unread.push_back(i);
            std::vector<std::string_view> texts; // distinct reads; equal reads can still refer to two tensors
            for (std::size_t q = r; q < reads.size(); ++q)
                if (reads[q].name == reads[r].name && reads[q].rank == reads[r].rank) {
                    group.push_back(q);
                    done[q] = true;
                    if (std::find(texts.begin(), texts.end(), reads[q].indices) == texts.end()) texts.push_back(reads[q].indices);
                }
            auto latest = unread.empty() ? named.back() : unread.back();
            if (unread.empty())
                for (auto i = named.size(); i-- > 0 && adds_scalar(latest = named[i]);)
                    if (i == 0) latest = named.back();
            const bool each = unread.size() > 1 && group.size() <= unread.size();
            const bool by_text = unread.size() > 1 && !each && texts.size() == unread.size();
            for (std::size_t k = 0; k < group.size(); ++k) {
                auto& read = reads[group[k]];
                read.tensor = latest;
                if (each) read.tensor = unread[unread.size() - group.size() + k];
                if (by_text) read.tensor = unread[static_cast<std::size_t>(std::find(texts.begin(), texts.end(), read.indices) - texts.begin())];
            }
            if (named.size() > 1 && !by_text && (unread.empty() || (each ? group.size() > 1 && group.size() < unread.size() : group.size() > 1)))
                out_.assumed.push_back("operation " + std::to_string(ops.size() + 1) + ": " + ops[latest].name + " is taken as operation " +
                                       std::to_string(latest + 1) + ", the text allows " + std::to_string(named.size()));
            for (const auto k : group) read_[reads[k].tensor] = true;
        }
        return true;
    }

    tvm_dag_lexer in_;
    tvm_dag_limits limits_;
    tvm_dag out_;
    std::vector<bool> read_; ///< (tensors) the tensor has a reader
};

} // namespace detail

/// Parses a DAG that TVM printed, for the task with the given workload key (JSON in a string, as in a log).
///
/// Errors    the message begins with line:column or names the operation.
///           parse: syntax error; limit: too long, deep or large; not_found: an unknown name; unsupported: a function that loopnest does not have, a
///           text that TVM shortened ("..(OMITTED).."), or an extent that cannot be inferred; shape_mismatch: the extents contradict each other or
///           the key
/// Cost      linear in the text, times the number of extents to infer
/// Threads   thread-safe; no state
[[nodiscard]] inline result<tvm_dag> parse_tvm_dag(std::string_view text, std::string_view workload_key, const tvm_dag_limits& limits = {}) {
    AUGUR_ASSERT(limits.depth >= 1 && limits.depth <= 1024, "parse_tvm_dag: depth");
    if (text.size() > limits.text)
        return error{errc::limit, "1:1: expected at most " + std::to_string(limits.text) + " bytes, got " + std::to_string(text.size())};
    return detail::tvm_dag_parser(text, limits).run(workload_key);
}

/// Corrects the inferred extents of a DAG with those of a logged schedule. An SP (split) step has the extent of its loop; if the loop is an unsplit
/// axis of a stage at root, that is the extent of the axis. Computed tensors are then enlarged to cover all reads. Returns true if an extent changed.
///
/// Errors    illegal_schedule: a step cannot be applied, or two steps have different extents for one axis;
///           shape_mismatch: a step has another extent for a placeholder, or a read is outside a placeholder. `dag` is unchanged on an error.
/// Cost      that of applying the steps
inline result<bool> adopt_extents(loopnest::compute_dag& dag, const step_list& steps) {
    loopnest::loop_state state(std::make_shared<const loopnest::compute_dag>(dag));
    loopnest::compute_dag out = dag;
    std::vector<std::size_t> origin(dag.ops.size()); // (stages) operation in `dag`; npos: the stage has other axes
    for (std::size_t i = 0; i < origin.size(); ++i) origin[i] = i;
    std::vector<std::vector<bool>> known(dag.ops.size());
    for (std::size_t i = 0; i < known.size(); ++i) known[i].resize(dag.ops[i].axis_count());
    bool changed = false;
    for (const auto& step : steps.steps) {
        const auto* split = std::get_if<split_step>(&step);
        const auto number = split != nullptr && split->stage >= 0 ? static_cast<std::size_t>(split->stage) : origin.size();
        if (number < origin.size() && origin[number] != loopnest::loop_state::npos && split->extent > 0 && split->iter >= 0) {
            const auto& stage = state.stages()[number];
            const auto i = origin[number];
            const auto iter = static_cast<std::size_t>(split->iter);
            const auto axis = iter < stage.iters.size() ? stage.iters[iter].var : loopnest::loop_state::npos;
            if (stage.placement == loopnest::stage::place::root && axis < known[i].size() && axis < state.dag().ops[number].axis_count()) {
                auto& op = out.ops[i];
                auto& extent = (axis < op.axes.size() ? op.axes[axis] : op.reduce_axes[axis - op.axes.size()]).extent;
                const auto wrong = [&](errc code) {
                    return error{code, "step " + std::to_string(state.steps().size()) + " (SP): axis " + op.axis(axis).name + " of " + op.name +
                                           " has extent " + std::to_string(extent) + ", the step has " + std::to_string(split->extent)};
                };
                if (extent != split->extent && known[i][axis]) return wrong(errc::illegal_schedule);
                if (extent != split->extent && op.placeholder()) return wrong(errc::shape_mismatch);
                changed = changed || extent != split->extent;
                extent = split->extent;
                known[i][axis] = true;
            }
        }
        if (auto done = state.apply(step); !done) return done.error();
        const auto insert = [&](std::int64_t at, std::size_t from) { origin.insert(origin.begin() + at, from); };
        if (const auto* w = std::get_if<cache_write_step>(&step)) {
            insert(w->stage, origin[static_cast<std::size_t>(w->stage)]);
        } else if (const auto* r = std::get_if<cache_read_step>(&step)) {
            insert(r->stage + 1, origin[static_cast<std::size_t>(r->stage)]);
        } else if (const auto* f = std::get_if<rfactor_step>(&step)) {
            origin[static_cast<std::size_t>(f->stage)] = loopnest::loop_state::npos;
            insert(f->stage, loopnest::loop_state::npos);
        }
    }
    if (!changed) return false;
    std::vector<std::string> none;
    detail::extent_inference inference(out, none);
    inference.grow();
    if (auto fine = inference.check(); !fine) return fine.error();
    if (auto fine = out.check(); !fine) return fine.error();
    dag = std::move(out);
    return true;
}

} // namespace augur::inline v0

#endif
