// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_TILE_PLAN_HPP
#define AUGUR_LOOPNEST_DETAIL_TILE_PLAN_HPP

/// @file
/// How a lowered nest becomes code: which loops stay outside, which run around a register tile, which are lanes, and what is unrolled. The C writer
/// writes these decisions, and the loop nests for Crop have the same structure.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/loopnest/codegen/c_options.hpp>
#include <augur/loopnest/detail/tile_shape.hpp>
#include <augur/loopnest/lower/lower.hpp>

namespace augur::inline v0::loopnest::detail {

/// The largest divisor of `n` up to `limit`.
inline std::int64_t largest_divisor(std::int64_t n, std::int64_t limit) {
    for (auto d = (std::min)(n, limit); d > 1; --d)
        if (n % d == 0) return d;
    return 1;
}

/// The loop to vectorise: the annotated one, else the innermost space loop along which the results are contiguous. Returns `loops.size()` if there
/// is none.
inline std::size_t vector_loop(const lowered_nest& n, const std::vector<lowered_loop>& loops) {
    for (std::size_t i = loops.size(); i-- > 0;)
        if (loops[i].annotation == loop_annotation::vectorize) return i;
    for (std::size_t i = loops.size(); i-- > 0;)
        if (!loops[i].reduce && loops[i].annotation != loop_annotation::parallel && n.index.factor(loops[i].term) == 1) return i;
    return loops.size();
}

/// True if loop `term` has the factor 0 or 1 in every read of `e`; sets `one` if some factor is 1.
inline bool smooth(const term_table& terms, const lowered_expr& e, int term, bool& one) {
    if (e.op == expr_op::read)
        for (const auto& [t, f] : e.index.terms) {
            if (t == term && f != 1) return false;
            if (t != term && terms.depends(term_table::value(t), [&](int x) { return x == term; })) return false;
            one = one || t == term;
        }
    return std::all_of(e.operands.begin(), e.operands.end(), [&](const lowered_expr& o) { return smooth(terms, o, term, one); });
}

/// The reduce loop to vectorise: its operands are contiguous along it and are not along the vector loop `v`. The order of the additions changes,
/// within the same rounding bounds. Returns `loops.size()` if there is none.
inline std::size_t sum_loop(const term_table& terms, const lowered_nest& n, const std::vector<lowered_loop>& loops, std::size_t v) {
    if (n.combine == reducer::none) return loops.size();
    if (v < loops.size()) {
        bool one = false;
        if (loops[v].annotation == loop_annotation::vectorize || smooth(terms, n.value, loops[v].term, one)) return loops.size();
    }
    for (std::size_t i = loops.size(); i-- > 0;) {
        bool one = false;
        if (!loops[i].reduce || loops[i].extent < 8 || !smooth(terms, n.value, loops[i].term, one) || !one) continue;
        const auto moves = [&](const affine& g) { return terms.depends(g, [&](int t) { return t == loops[i].term; }); };
        if (std::none_of(n.guards.begin(), n.guards.end(), moves)) return i;
    }
    return loops.size();
}

/// Replaces the loop variable `term` in `a`.
inline affine substituted(term_table& terms, const affine& a, int term, const affine& replacement) {
    return terms.substitute(a, [&](int t) { return t == term ? replacement : term_table::value(t); });
}
inline void substitute(term_table& terms, lowered_expr& e, int term, const affine& replacement) {
    e.index = substituted(terms, e.index, term, replacement);
    for (auto& o : e.operands) substitute(terms, o, term, replacement);
}
inline void substitute(term_table& terms, lowered_nest& n, int term, const affine& replacement) {
    n.index = substituted(terms, n.index, term, replacement);
    for (auto& g : n.guards) g = substituted(terms, g, term, replacement);
    substitute(terms, n.value, term, replacement);
}

/// The nest that stores the neutral value of the reduction `n` to its results, over the space loops from `depth` on.
inline lowered_nest neutral_nest(const term_table& terms, const lowered_nest& n, std::size_t depth) {
    lowered_nest clear = n;
    clear.combine = reducer::none;
    clear.value = {};
    clear.value.op = expr_op::constant;
    clear.value.value = identity_of(n.combine);
    clear.loops.clear();
    clear.guards.clear();
    for (std::size_t i = depth; i < n.loops.size(); ++i)
        if (!n.loops[i].reduce) clear.loops.push_back({n.loops[i].term, n.loops[i].extent, false, loop_annotation::none, {}});
    const auto reduces = [&](int t) { return std::any_of(n.loops.begin(), n.loops.end(), [&](const auto& l) { return l.reduce && l.term == t; }); };
    for (const auto& g : n.guards)
        if (!terms.depends(g, reduces)) clear.guards.push_back(g);
    return clear;
}

/// The single read that a reduction combines directly or selected against padding; null for any other value.
inline const lowered_expr* only_read(const lowered_expr& e) {
    if (e.op == expr_op::read) return &e;
    if (e.op != expr_op::select || e.operands[2].op != expr_op::constant) return nullptr;
    return e.operands[1].op == expr_op::read ? &e.operands[1] : nullptr;
}

/// The overlap of the reads of a reduction along each loop of a tile; `reduce` are the reduce loops around the tile.
inline std::vector<tile_window> windows_of(const lowered_nest& n, const std::vector<lowered_loop>& tile, std::span<const lowered_loop> reduce) {
    std::vector<tile_window> out(tile.size());
    const auto* read = only_read(n.value);
    if (read == nullptr) return out;
    std::vector<bool> taken(reduce.size(), false);
    for (std::size_t i = 0; i < tile.size(); ++i) {
        const auto step = read->index.factor(tile[i].term);
        for (std::size_t k = 0; k < reduce.size(); ++k) {
            const auto reduce_factor = read->index.factor(reduce[k].term);
            if (taken[k] || reduce_factor <= 0 || step % reduce_factor != 0 || step / reduce_factor < 1 || step / reduce_factor >= reduce[k].extent)
                continue;
            taken[k] = true;
            out[i] = {step / reduce_factor, reduce[k].extent};
            break;
        }
    }
    return out;
}

inline bool overlap(const std::vector<tile_window>& windows) {
    return std::any_of(windows.begin(), windows.end(), [](const tile_window& w) { return w.stride > 0; });
}

/// The structure of the code of a nest: outer loops, reduce loops around the tile, tile loops, lanes.
struct tile_plan {
    /// A loop that exceeds the registers: it is split into whole parts and a remainder.
    struct cut {
        lowered_loop loop;
        std::int64_t part = 0;
        std::size_t at = 0; ///< position in `outer` of the loop over the parts
    };

    lowered_nest nest; ///< with split loops substituted
    std::vector<lowered_loop> outer;
    std::vector<lowered_loop> reduce_loops; ///< reduce loops during which the tile stays in registers
    std::vector<lowered_loop> tile;         ///< without the vectorised loop
    lowered_loop lanes;                     ///< the vectorised loop; term -1: scalar code
    lowered_loop sum_lanes;                 ///< a reduce loop whose steps are lanes, folded at the end; term -1: none
    bool neutral_in_registers = false;
    std::vector<cut> cuts; ///< splits not yet applied, ordered by `at`; until then their loops have the full extent

    /// The nest of the loops of `outer` from `depth` on and of all inner loops.
    [[nodiscard]] lowered_nest inner_nest(std::size_t depth) const {
        auto n = nest;
        n.loops.assign(outer.begin() + static_cast<std::ptrdiff_t>(depth), outer.end());
        n.loops.insert(n.loops.end(), reduce_loops.begin(), reduce_loops.end());
        n.loops.insert(n.loops.end(), tile.begin(), tile.end());
        if (lanes.term >= 0) n.loops.push_back(lanes);
        return n;
    }
};

/// How the reduce loops around a tile are written.
struct reduce_unrolling {
    std::size_t first_unrolled = 0; ///< the reduce loops from here on are unrolled
    std::int64_t vectors = 1;       ///< vectors of one row of the tile
    std::int64_t sums = 1;          ///< vectors of the tile
    std::int64_t partial = 1;       ///< partial sums per result, used in turn
};

/// A reduction over lanes: `rounds` rounds of `vectors` independent sums of `width` lanes, then a remainder.
struct lane_reduction {
    std::int64_t width = 1;
    std::int64_t vectors = 1;
    std::int64_t rounds = 1;
};

/// Plans the code of lowered nests for one set of options.
class tile_planner {
public:
    explicit tile_planner(const c_options& o) : options_(o), choose_(o.vector_floats, o.vector_registers) {}

    /// Plans the loops of `n` from `depth` on; none of them carries attached stages. Split loops become new terms.
    [[nodiscard]] tile_plan plan(term_table& terms, const lowered_nest& n, std::size_t depth) const {
        std::vector<lowered_loop> loops;
        for (std::size_t i = depth; i < n.loops.size(); ++i)
            if (n.loops[i].term >= 0) loops.push_back(n.loops[i]);
        tile_plan p;
        p.nest = n;
        auto v = vector_loop(n, loops);
        if (const auto r = sum_loop(terms, n, loops, v); r < loops.size()) {
            p.sum_lanes = loops[r];
            loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(r)); // innermost, wherever the loop was: a reduction has no order here
            v = loops.size();
        }
        const auto last = std::find_if(loops.rbegin(), loops.rend(), [](const lowered_loop& l) { return l.reduce; });
        const auto after_reduce = static_cast<std::size_t>(loops.rend() - last); // index of the first loop after the last reduce loop
        std::size_t group = after_reduce;                                        // index of the first of the adjacent reduce loops that end there
        while (group > 0 && loops[group - 1].reduce) --group;

        const bool tiled = after_reduce > 0 && p.sum_lanes.term < 0;
        const auto in_tile = [&](std::size_t i) { return tiled && i >= after_reduce && loops[i].annotation != loop_annotation::parallel; };
        tile_shape shape;
        if (tiled) {
            std::vector<lowered_loop> rows;
            for (auto i = after_reduce; i < loops.size(); ++i)
                if (i != v && in_tile(i)) rows.push_back(loops[i]);
            shape = shape_of(n, v < loops.size() ? loops[v].extent : 1, rows, std::span(loops).subspan(group, after_reduce - group));
        } else if (v < loops.size()) {
            shape.lanes = lanes_at_once(loops[v].extent);
        }
        if (v < loops.size()) {
            p.lanes = loops[v];
            p.lanes.attached.clear();
        }
        auto next = shape.parts.begin();
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const auto& l = loops[i];
            if (i == v) {
                if (shape.lanes < l.extent) p.cuts.push_back({p.lanes, shape.lanes, p.outer.size()});
            } else if (i >= group && i < after_reduce) {
                p.reduce_loops.push_back(l);
            } else if (in_tile(i) && *next++ > 1) {
                p.tile.push_back(l);
                if (next[-1] < l.extent) p.cuts.push_back({l, next[-1], p.outer.size()});
            } else {
                p.outer.push_back(l);
            }
        }
        if (tiled) split_reduction(terms, p, shape);
        // A reduce loop outside means that the results in memory are partial sums.
        const auto reduces = [](const lowered_loop& l) { return l.reduce; };
        p.neutral_in_registers = n.combine != reducer::none &&
                                 std::none_of(n.loops.begin(), n.loops.begin() + static_cast<std::ptrdiff_t>(depth), reduces) &&
                                 std::none_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(group), reduces);
        return p;
    }

    /// Applies the first cut of `p` and calls `f(term, count, part)` for the whole parts, then for the remainder: a loop over `count` parts with
    /// the loop variable `term` (-1: one part), and the plan inside it.
    template <class F>
    void for_each_part(term_table& terms, const tile_plan& p, const F& f) const {
        const auto& c = p.cuts.front();
        const auto apply = [&](std::int64_t first, std::int64_t count, std::int64_t size) {
            const int outer = count > 1 ? terms.loop(count) : -1;
            auto inner = c.loop;
            inner.extent = size;
            inner.term = terms.loop(size);
            auto part = p;
            part.cuts.erase(part.cuts.begin());
            const auto start = affine(first) + (outer >= 0 ? term_table::value(outer) * size : affine());
            substitute(terms, part.nest, c.loop.term, start + term_table::value(inner.term));
            if (part.lanes.term == c.loop.term) part.lanes = inner;
            for (auto& l : part.tile)
                if (l.term == c.loop.term) l = inner;
            f(outer, count, part);
        };
        apply(0, c.loop.extent / c.part, c.part);
        if (const auto remainder = c.loop.extent % c.part; remainder > 0) apply(c.loop.extent - remainder, 1, remainder);
    }

    /// Which of the reduce loops of `p` are unrolled, and how many partial sums hide the latency.
    /// @param guarded  guards depend on the reduce loops: nothing is unrolled
    [[nodiscard]] reduce_unrolling unrolling(const tile_plan& p, bool guarded) const {
        const auto vectors = choose_.vectors(p.lanes.term < 0 ? 1 : p.lanes.extent);
        reduce_unrolling out{p.reduce_loops.size(), vectors, vectors, 1};
        for (const auto& l : p.tile) out.sums *= l.extent;
        std::int64_t length = 1;
        for (const auto& l : p.reduce_loops) length *= l.extent;
        auto written = out.sums;
        const auto limit = most_unrolled(p.nest);
        while (out.first_unrolled > 0 && !guarded && written * p.reduce_loops[out.first_unrolled - 1].extent <= limit)
            written *= p.reduce_loops[--out.first_unrolled].extent;
        out.partial = (std::min)(choose_.turns(out.sums / vectors, vectors, length), written / out.sums);
        return out;
    }

    /// How `extent` steps of a reduction become lanes.
    [[nodiscard]] lane_reduction lanes_of_sum(std::int64_t extent) const {
        std::int64_t width = options_.vector_floats;
        while (width > extent) width /= 2;
        const auto vectors = (std::min)(extent / width, std::int64_t{4});
        return {width, vectors, extent / (width * vectors)};
    }

private:
    const c_options& options_;
    tile_chooser choose_;

    /// Limit for the vector operations of a reduction in one unrolled sequence.
    [[nodiscard]] std::int64_t most_unrolled(const lowered_nest& n) const {
        return (std::min)((std::max)(n.auto_unroll_max_step, std::int64_t{64}), static_cast<std::int64_t>(options_.max_unrolled));
    }

    [[nodiscard]] tile_shape shape_of(const lowered_nest& n, std::int64_t lanes, const std::vector<lowered_loop>& rows,
                                      std::span<const lowered_loop> reduce) const {
        std::vector<std::int64_t> extents;
        for (const auto& l : rows) extents.push_back(l.extent);
        std::int64_t steps = 1;
        for (const auto& l : reduce) steps *= l.extent;
        const auto windows = windows_of(n, rows, reduce);
        return overlap(windows) ? choose_.of_windows(lanes, extents, windows, steps) : choose_.of_products(lanes, extents, steps);
    }

    /// Lanes of one pass of a loop that is no reduction: up to four vectors.
    [[nodiscard]] std::int64_t lanes_at_once(std::int64_t extent) const {
        const auto width = static_cast<std::int64_t>(options_.vector_floats);
        if (extent > 4 * width && extent % width == 0 && largest_divisor(extent / width, 4) > 1) return width * largest_divisor(extent / width, 4);
        return (std::min)(extent, 4 * width);
    }

    /// Splits the innermost reduce loop if it is too long for full unrolling, so that some of its steps are unrolled.
    void split_reduction(term_table& terms, tile_plan& p, const tile_shape& shape) const {
        auto sums = choose_.vectors(shape.lanes);
        for (const auto part : shape.parts) sums *= part;
        const auto limit = most_unrolled(p.nest);
        if (p.reduce_loops.empty() || p.reduce_loops.back().extent * sums <= limit) return;
        const auto whole = p.reduce_loops.back();
        auto inner = whole;
        inner.extent = largest_divisor(whole.extent, std::clamp(limit / sums, std::int64_t{1}, std::int64_t{8}));
        if (inner.extent == 1) return;
        auto& outer = p.reduce_loops.back();
        outer.extent = whole.extent / inner.extent;
        outer.term = terms.loop(outer.extent);
        inner.term = terms.loop(inner.extent);
        substitute(terms, p.nest, whole.term, term_table::value(outer.term) * inner.extent + term_table::value(inner.term));
        p.reduce_loops.push_back(inner);
    }
};

} // namespace augur::inline v0::loopnest::detail

#endif
