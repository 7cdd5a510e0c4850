// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_UNTUNED_SCHEDULE_HPP
#define AUGUR_LOOPNEST_SCHEDULE_UNTUNED_SCHEDULE_HPP

/// @file
/// The schedule of a kernel before any measurement: a point of the space that fixed rules choose.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <augur/loopnest/codegen/c_options.hpp>
#include <augur/loopnest/detail/sketch_plan.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// The tensors that an operation reads, by their numbers.
inline std::set<std::int64_t> tensors_of(const operation& op) {
    std::set<std::int64_t> out;
    walk(op.body, [&](const expr_node& n) {
        if (n.op == expr_op::read) out.insert(n.integer);
    });
    return out;
}

/// Tile sizes of a sketch by fixed rules.
class untuned_tiles {
public:
    untuned_tiles(const compute_dag& dag, const sketch_plan& plan, const c_options& code, std::int64_t cores)
        : dag_(dag), plan_(plan), code_(code), cores_(cores) {}

    /// One option per open split.
    [[nodiscard]] std::vector<std::uint64_t> run() {
        for (std::size_t first = 0; first < plan_.splits.size();) {
            auto last = first;
            while (last < plan_.splits.size() && plan_.splits[last].stage == plan_.splits[first].stage)
                ++last; // a step's number may name another stage
            stage_tiles(first, last);
            first = last;
        }
        return out_;
    }

private:
    static constexpr std::int64_t most_lanes = 64; ///< results of a tile along the innermost axis, and along the filters
    static constexpr std::int64_t most_rows = 8;   ///< along the next axis
    static constexpr std::int64_t panel_rows = 16; ///< the same, with few registers
    static constexpr std::int64_t copy_rows = 64;  ///< the same, if an operand is copied
    static constexpr std::int64_t few_filters = 4; ///< too few for lanes
    static constexpr std::int64_t least_steps = 8; ///< of a sum over lanes, as the code generator has it
    static constexpr std::int64_t most_steps = 64; ///< of one reduce axis; the rest of a longer reduction runs around the tile

    const compute_dag& dag_;
    const sketch_plan& plan_;
    const c_options& code_;
    std::int64_t cores_;
    std::vector<std::uint64_t> out_;

    [[nodiscard]] const split_step& split(std::size_t i) const { return std::get<split_step>(plan_.steps.steps[plan_.splits[i].step]); }

    /// The splits [first, last) of one stage, one per axis.
    void stage_tiles(std::size_t first, std::size_t last) {
        std::vector<std::int64_t> space;
        for (auto i = first; i < last; ++i)
            if (!plan_.splits[i].reduce) space.push_back(split(i).extent);
        const auto limits = limits_of(space);
        std::size_t axis = 0;
        for (auto i = first; i < last; ++i) {
            const auto limit = plan_.splits[i].reduce ? tile_limit{most_steps, most_steps} : limits[axis++];
            auto length = tile(plan_.splits[i], limit);
            if (length % code_.vector_floats != 0) length = tile(plan_.splits[i], {limit.uneven, limit.uneven, limit.around_steps});
            out_.push_back(plan_.splits[i].tiles->index_of(lengths(plan_.splits[i], length, limit.around_steps)).value_or(0));
        }
    }

    struct tile_limit {
        std::int64_t length;
        std::int64_t uneven;       ///< if no length up to that is a multiple of the vector
        bool around_steps = false; ///< the tile lies around the reduction, not in it
    };

    /// The largest tile along each space axis: lanes, filters, rows; one iteration of the other axes, for the threads.
    [[nodiscard]] std::vector<tile_limit> limits_of(const std::vector<std::int64_t>& space) const {
        std::vector<tile_limit> out(space.size(), {1, 1});
        if (space.size() == 1) return {{4, 4}}; // a block of rows
        const auto roles = roles_of(space);
        const auto many = std::count_if(space.begin(), space.end(), [](std::int64_t extent) { return extent > 1; });
        // Few registers: smaller panels of weights, which more register tiles of few rows read. Without rows or weights nothing is read again. Such a tile
        // has two vectors; of a wider panel it would read every other line, which costs a quarter more where the second-level cache is too small for it.
        // A panel that is copied first, as the sketch says or because both operands may be, pays for itself after many rows.
        const bool panels = code_.vector_registers < 32 && many > 1 && roles.operands > 1;
        const bool both = panels && roles.constants == 0, copied = both || !plan_.copies.empty();
        const std::int64_t vector = code_.vector_floats;
        auto rows = space.size();
        for (std::size_t k = 0, a = space.size(); a-- > 0;) {
            if (space[a] == 1) continue;
            if (k++ == 0 || roles.filter[a]) {
                const auto wide = panels ? 4 * vector : most_lanes;
                out[a] = {panels && (both || roles.filter[a]) ? 2 * vector : wide, wide};
                // filters that are not adjacent results are lanes only within one group, whose channels all of them read
                if (k > 1 && roles.group[a] >= vector) out[a] = {within(roles.group[a], out[a].length, vector), (std::min)(wide, roles.group[a])};
                // few filters would fill a quarter of the lanes: each is a sum of its own, whose steps are the lanes
                if (k == 1 && roles.filter[a] && space[a] <= few_filters && roles.steps_adjacent > 0 && roles.steps_adjacent % vector == 0)
                    out[a] = {1, 1};
                if (k == 1 && sums_over_lanes(space, roles, a)) return limits_of_sums(space, roles, a);
            } else if (rows == space.size()) {
                rows = a;
            }
        }
        if (rows < space.size()) { // the copy of an operand is of no use to other iterations of an axis by which that operand is read
            const auto length = copied && roles.readers[rows] < 2 ? rows_of_copy(space, out, rows) : panels ? panel_rows : most_rows;
            out[rows] = {length, length};
        }
        return out;
    }

    /// Rows of axis `a` that share a copy: `copy_rows`, or as many as leave four tiles for each core.
    [[nodiscard]] std::int64_t rows_of_copy(const std::vector<std::int64_t>& space, const std::vector<tile_limit>& limits, std::size_t a) const {
        const auto tiles = [&](std::int64_t rows) {
            std::int64_t n = 1;
            for (std::size_t b = 0; b < space.size(); ++b) {
                const auto length = b == a ? rows : limits[b].length;
                n *= (space[b] + length - 1) / length;
            }
            return n;
        };
        auto rows = copy_rows;
        while (rows > most_rows && tiles(rows) / 4 < cores_) rows /= 2;
        return rows;
    }

    /// The largest number of vectors up to `limit` that divides a group; if none does, the limit or the group.
    [[nodiscard]] static std::int64_t within(std::int64_t group, std::int64_t limit, std::int64_t vector) {
        const auto most = (std::min)(limit, group);
        for (auto n = most / vector * vector; n > 0; n -= vector)
            if (group % n == 0) return n;
        return most;
    }

    /// Calls `f(op)` for the reductions with these space axes.
    template <class F>
    void each_reduction(const std::vector<std::int64_t>& space, const F& f) const {
        for (const auto& op : dag_.ops) {
            if (op.reduce_axes.empty() || op.axes.size() != space.size()) continue;
            const auto same = [](const loop_axis& a, std::int64_t extent) { return a.extent == extent; };
            if (std::equal(op.axes.begin(), op.axes.end(), space.begin(), same)) f(op);
        }
    }

    struct reduction_roles {
        std::vector<bool> filter;        ///< axes that index the constant operand and not the other, unlike the channels of a depthwise convolution
        std::vector<std::int64_t> group; ///< of axes that are groups of filters: filters of one group; else 0
        std::vector<int> readers;        ///< of axes: the reads of a product that depend on it
        std::vector<std::int64_t>
            steps_along; ///< of axes that index an operand, no constant, which is adjacent along a reduce axis: its extent; else 0
        std::size_t reductions = 0, operands = 0, constants = 0;
        std::int64_t steps_adjacent = 0; ///< extent of the reduce axis along which the operand that is no constant is adjacent; 0: it is not
    };

    /// Whether the results along axis `a` are sums over lanes: all they read is adjacent along the reduction, so that lanes along `a` would be gathered, and
    /// there are few rows of results, which share what is gathered. Folding a sum costs as much as half a vector of its steps; a step that fills no vector
    /// waits for the one before, and costs two.
    [[nodiscard]] bool sums_over_lanes(const std::vector<std::int64_t>& space, const reduction_roles& roles, std::size_t a) const {
        std::int64_t rows = 1;
        for (std::size_t b = 0; b < space.size(); ++b)
            if (b != a && roles.readers[b] < 2) rows = (std::min)(rows * space[b], few_filters + 1);
        const auto steps = roles.steps_along[a], vector = std::int64_t{code_.vector_floats};
        return roles.reductions == 1 && vector > 1 && steps >= least_steps && rows <= few_filters &&
               2 * steps > (vector + 4 * (steps % vector)) * rows;
    }

    /// The tiles of `sums_over_lanes`, around the reduction: all rows, and along `a` as much as leaves tiles for the cores.
    [[nodiscard]] std::vector<tile_limit> limits_of_sums(const std::vector<std::int64_t>& space, const reduction_roles& roles, std::size_t a) const {
        std::vector<tile_limit> out(space.size(), {1, 1});
        for (std::size_t b = 0; b < space.size(); ++b)
            if (b != a && roles.readers[b] < 2) out[b] = {space[b], space[b], true};
        const auto length = rows_of_copy(space, out, a);
        out[a] = {length, length, true};
        return out;
    }

    /// What the reductions with these axes read.
    [[nodiscard]] reduction_roles roles_of(const std::vector<std::int64_t>& space) const {
        reduction_roles out{std::vector<bool>(space.size(), false), std::vector<std::int64_t>(space.size(), 0), std::vector<int>(space.size(), 0),
                            std::vector<std::int64_t>(space.size(), 0)};
        auto both = out.filter;
        each_reduction(space, [&](const auto& op) {
            std::vector<int> readers(space.size(), 0);
            const auto tensors = tensors_of(op);
            ++out.reductions;
            out.operands = (std::max)(out.operands, tensors.size());
            const auto apart = steps_apart(op);
            for (const auto t : tensors) out.constants += is_constant(dag_.index_of(static_cast<int>(t))) ? 1 : 0;
            walk(op.body, [&](const expr_node& n) {
                if (n.op != expr_op::read) return;
                const auto from = dag_.index_of(static_cast<int>(n.integer));
                const bool constant = is_constant(from);
                std::int64_t adjacent = 0; // extent of the reduce axis along which the read is adjacent
                if (!constant && !n.operands.empty() && n.operands.back()->op == expr_op::axis && !has_inserted_zeros(from))
                    if (const auto step = n.operands.back()->integer - static_cast<std::int64_t>(space.size()); step >= 0)
                        adjacent = op.reduce_axes[static_cast<std::size_t>(step)].extent;
                if (adjacent > 0) out.steps_adjacent = adjacent;
                std::set<std::size_t> axes;
                for (const auto& index : n.operands) {
                    walk(index, [&](const expr_node& x) {
                        if (x.op == expr_op::axis && static_cast<std::size_t>(x.integer) < space.size())
                            axes.insert(static_cast<std::size_t>(x.integer));
                    });
                    const auto axis = space_axis(index, space);
                    if (axis < space.size()) (constant ? out.filter : both)[axis] = true;
                    if (!constant)
                        walk(index, [&](const expr_node& x) {
                            if (x.op != expr_op::floor_div) return;
                            if (const auto a = space_axis(x.operands[0], space); a < space.size()) out.group[a] = x.operands[1]->integer;
                        });
                }
                for (const auto a : axes) {
                    ++readers[a];
                    if (adjacent > 0 && !apart.contains(n.operands.back()->integer)) out.steps_along[a] = (std::max)(out.steps_along[a], adjacent);
                }
            });
            for (std::size_t a = 0; a < space.size(); ++a) out.readers[a] = (std::max)(out.readers[a], readers[a]);
        });
        for (std::size_t a = 0; a < space.size(); ++a) out.filter[a] = out.filter[a] && !both[a];
        return out;
    }

    /// The reduce axes, by their numbers in the body, along which the elements of an operand that is no constant are not adjacent.
    [[nodiscard]] std::set<std::int64_t> steps_apart(const operation& op) const {
        std::set<std::int64_t> out;
        walk(op.body, [&](const expr_node& n) {
            if (n.op != expr_op::read) return;
            const auto from = dag_.index_of(static_cast<int>(n.integer));
            if (is_constant(from)) return;
            bool behind = false; // are there elements along the indices behind this one?
            for (std::size_t i = n.operands.size(); i-- > 0;) {
                if (behind)
                    walk(n.operands[i], [&](const expr_node& x) {
                        if (x.op == expr_op::axis && static_cast<std::size_t>(x.integer) >= op.axes.size()) out.insert(x.integer);
                    });
                behind = behind || dag_.ops[from].axes[i].extent > 1;
            }
        });
        return out;
    }

    /// True for an image with zeros between its elements, padded or not: of sums over lanes no product with such a zero is left out.
    [[nodiscard]] bool has_inserted_zeros(std::size_t image) const {
        const auto& op = dag_.ops[image];
        bool found = false;
        if (op.placeholder() || !op.reduce_axes.empty()) return found;
        walk(op.body, [&](const expr_node& n) {
            found = found || n.op == expr_op::floor_mod || (n.op == expr_op::read && has_inserted_zeros(dag_.index_of(static_cast<int>(n.integer))));
        });
        return found;
    }

    /// The space axis that an index is; their number: it is none alone.
    [[nodiscard]] static std::size_t space_axis(const expr& index, const std::vector<std::int64_t>& space) {
        return index->op == expr_op::axis ? (std::min)(static_cast<std::size_t>(index->integer), space.size()) : space.size();
    }

    /// True for a constant, and for what is computed from constants only, such as a rotated filter.
    [[nodiscard]] bool is_constant(std::size_t op) const {
        if (dag_.ops[op].placeholder()) return dag_.ops[op].constant;
        bool all = true;
        walk(dag_.ops[op].body,
             [&](const expr_node& n) { all = all && (n.op != expr_op::read || is_constant(dag_.index_of(static_cast<int>(n.integer)))); });
        return all;
    }

    /// The largest inner length up to `limit` that the split may have; a multiple of 16 if there is one.
    [[nodiscard]] static std::int64_t tile(const open_split& s, tile_limit limit) {
        std::int64_t best = 1;
        for (auto n = limit.length; n > 1; --n) {
            if (!s.tiles->index_of(lengths(s, n, limit.around_steps))) continue;
            if (n % 16 == 0) return n;
            best = (std::max)(best, n);
        }
        return best;
    }

    [[nodiscard]] static std::vector<std::int64_t> lengths(const open_split& s, std::int64_t length, bool around_steps) {
        std::vector<std::int64_t> out(s.tiles->lengths(), 1);
        (around_steps ? out.front() : out.back()) = length;
        return out;
    }
};

/// The location of a stage: inlined if it is cheap or has one reader, else in the outermost loop of its reader.
[[nodiscard]] inline std::uint64_t untuned_location(const ansor_cursor& cursor, const decision& d) {
    const auto likely = d.sampled_options();
    if (likely < 2) return 0;
    const auto steps = cursor.emits(1);
    const auto* inlined = steps.empty() ? nullptr : std::get_if<compute_inline_step>(&steps.front());
    if (inlined == nullptr || likely == 2) return 1;
    bool costly = false;
    walk(cursor.state().dag().ops[static_cast<std::size_t>(inlined->stage)].body, [&](const expr_node& n) {
        costly = costly || n.op == expr_op::exp || n.op == expr_op::tanh || n.op == expr_op::erf || n.op == expr_op::div || n.op == expr_op::sqrt;
    });
    return costly ? 2 : 1;
}

/// The unroll pragma of a stage: 16 steps; with few registers 512 for a short sum of products over several loops, whose inner loops, seven positions of a
/// window for example, end so often that it costs a third of the time.
inline std::uint64_t untuned_unroll(const ansor_cursor& cursor, const decision& d, const c_options& code) {
    constexpr double short_sum = 256;
    const auto steps = cursor.emits(d.options - 1);
    const auto* pragma = steps.empty() ? nullptr : std::get_if<pragma_step>(&steps.front());
    if (pragma == nullptr || code.vector_registers >= 32) return 1;
    const auto& op = cursor.state().dag().ops[static_cast<std::size_t>(pragma->stage)];
    double length = 1;
    std::size_t loops = 0;
    for (const auto& axis : op.reduce_axes) {
        length *= static_cast<double>(axis.extent);
        loops += axis.extent > 1 ? 1 : 0;
    }
    return loops > 1 && length <= short_sum && tensors_of(op).size() > 1 ? d.options - 1 : 1;
}

} // namespace detail

/// A schedule without any measurement, from `ansor_space` by rules: the first likely sketch that factors no reduction; tiles of up to 64 lanes and 8
/// rows (one filter where there are up to four, or one column of a product of up to four rows whose operand is adjacent along the reduction: there the
/// lanes run along it); up to 64 steps of each reduce axis inside them; padding inlined,
/// other stages in the outermost loop of their readers; 16 steps unrolled; loops parallel until there are 16 iterations for each of `cores`. The vectors
/// are those of `code`. With fewer than 32 vector registers the tile of a product has four vectors (two along filters, and if both operands may be copied)
/// and 16 rows, and short sums of products are unrolled. Up to 64 rows share the copy of an operand, as many as leave four tiles for each of `cores`.
///
/// Cost  of creating a space.
/// @note the empty schedule if the DAG has no space (`ansor_space::create` refuses it)
[[nodiscard]] inline step_list untuned_schedule(const compute_dag& dag, std::int64_t cores = 1, const c_options& code = {}) {
    const auto space = ansor_space::create(std::make_shared<const compute_dag>(dag), {.num_cores = (std::max)(cores, std::int64_t{1})});
    if (!space) return {};
    auto cursor = space->cursor();
    const auto sketches = cursor.next();
    const auto likely = sketches->sampled_options();
    std::uint64_t sketch = 0;
    const auto factors = [&](std::uint64_t i) {
        const auto& steps = space->sketch_steps(static_cast<std::size_t>(i)).steps;
        return std::any_of(steps.begin(), steps.end(), [](const transform_step& s) { return std::holds_alternative<rfactor_step>(s); });
    };
    while (sketch + 1 < likely && factors(sketch)) ++sketch;
    cursor.choose(sketch);
    for (const auto tile : detail::untuned_tiles(dag, space->plan(static_cast<std::size_t>(sketch)), code, cores).run()) cursor.choose(tile);
    while (const auto d = cursor.next()) {
        std::uint64_t value = d->preferred;
        if (d->kind == decision_kind::compute_location) value = detail::untuned_location(cursor, *d);
        if (d->kind == decision_kind::unroll) value = detail::untuned_unroll(cursor, *d, code);
        cursor.choose(value);
    }
    return cursor.state().schedule();
}

} // namespace augur::inline v0::loopnest

#endif
