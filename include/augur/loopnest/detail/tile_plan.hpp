// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_TILE_PLAN_HPP
#define AUGUR_LOOPNEST_DETAIL_TILE_PLAN_HPP

/// @file
/// How a lowered nest becomes code: which loops stay outside, which run around a register tile, which are lanes, and what is unrolled. The C writer
/// writes these decisions, and the loop nests for Crop have the same structure.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <augur/loopnest/codegen/c_options.hpp>
#include <augur/loopnest/detail/lane_chooser.hpp>
#include <augur/loopnest/detail/nest_loops.hpp>
#include <augur/loopnest/detail/tile_shape.hpp>
#include <augur/loopnest/lower/lower.hpp>

namespace augur::inline v0::loopnest::detail {

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
    bool lanes_behind = false;              ///< a vector may have lanes behind the last iteration
    lowered_loop sum_lanes;                 ///< a reduce loop whose steps are lanes, folded at the end; term -1: none
    bool neutral_in_registers = false;
    std::int64_t sharing = 1;     ///< of so many results, one takes part in a step of the reduction; the others would add an inserted zero
    std::size_t window_loops = 0; ///< the last reduce loops: unrolled, with their steps in the order of the image elements that they read; 0: none
    std::vector<cut> cuts;        ///< splits not yet applied, ordered by `at`; until then their loops have the full extent

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
    explicit tile_planner(const c_options& o) : options_(o), choose_(o.vector_floats, o.vector_registers - (o.multiply_add ? 0 : 1)) {}

    /// Plans the loops of `n` from `depth` on; none of them carries attached stages. Split loops become new terms.
    [[nodiscard]] tile_plan plan(term_table& terms, const lowered_nest& whole, std::size_t depth) const {
        tile_plan p;
        p.nest = whole;
        const auto& n = p.nest;
        std::vector<lowered_loop> loops;
        for (std::size_t i = depth; i < n.loops.size(); ++i)
            if (n.loops[i].term >= 0) loops.push_back(n.loops[i]);
        gather_short_reduction(loops);
        join_rows(terms, p.nest, loops);
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

        // A reduce loop outside means that the results in memory are partial sums.
        const auto reduces = [](const lowered_loop& l) { return l.reduce; };
        p.neutral_in_registers = n.combine != reducer::none &&
                                 std::none_of(n.loops.begin(), n.loops.begin() + static_cast<std::ptrdiff_t>(depth), reduces) &&
                                 std::none_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(group), reduces);

        const bool tiled = after_reduce > 0 && p.sum_lanes.term < 0;
        const auto in_tile = [&](std::size_t i) { return tiled && i >= after_reduce && loops[i].annotation != loop_annotation::parallel; };
        tile_shape shape;
        std::size_t across = loops.size(); // a loop of a copy that is transposed in registers
        if (tiled) {
            const reduction_loops reduction{terms, n, loops, group, after_reduce, p.neutral_in_registers};
            const lane_chooser lanes(choose_, options_.masks_are_free());
            v = lanes.cheapest(reduction, v);
            shape = lanes.shape_of(reduction, v);
        } else if (v < loops.size()) {
            across = transposed_loop(terms, n, loops, v);
            shape.lanes = across < loops.size() ? (std::min)(loops[v].extent, block_of(loops[v].extent)) : lanes_at_once(loops[v].extent);
        }
        if (v < loops.size()) {
            p.lanes = loops[v];
            p.lanes.attached.clear();
            p.lanes_behind = options_.masks_are_free() && p.sum_lanes.term < 0 && lanes_may_end_anywhere(terms, n, p.lanes.term);
        }
        auto next = shape.parts.begin();
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const auto& l = loops[i];
            if (i == v) {
                if (shape.lanes < l.extent) p.cuts.push_back({p.lanes, shape.lanes, p.outer.size()});
            } else if (i == across) {
                p.tile.push_back(l);
                if (const auto block = block_of(l.extent); block < l.extent) p.cuts.push_back({l, block, p.outer.size()});
            } else if (i >= group && i < after_reduce) {
                p.reduce_loops.push_back(l);
            } else if (in_tile(i) && *next++ > 1) {
                p.tile.push_back(l);
                if (next[-1] < l.extent) p.cuts.push_back({l, next[-1], p.outer.size()});
            } else {
                p.outer.push_back(l);
            }
        }
        p.window_loops = static_cast<std::size_t>(std::count(shape.window.begin(), shape.window.end(), true));
        if (p.window_loops > 0) move_last(p.reduce_loops, shape.window);
        if (p.window_loops == 0 && tiled) {
            std::vector<bool> inside; // of the loops on which the zeros of a dilated image depend
            const auto phases = phases_of(terms, p.nest, p.lanes.term);
            for (const auto& l : p.reduce_loops) {
                const auto moves = [&](const lowered_expr& c) { return terms.depends(c.index, [&](int t) { return t == l.term; }); };
                inside.push_back(std::none_of(phases.begin(), phases.end(), moves));
            }
            move_last(p.reduce_loops, inside);
            for (const auto& l : p.tile) p.sharing *= period_of(terms, phases, l.term);
            split_reduction(terms, p, shape);
        }
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
        const auto vectors = choose_.with_lanes_behind(p.lanes_behind).vectors(p.lanes.term < 0 ? 1 : p.lanes.extent);
        reduce_unrolling out{p.reduce_loops.size(), vectors, vectors, 1};
        for (const auto& l : p.tile) out.sums *= l.extent;
        if (p.window_loops > 0 && !guarded) {
            out.first_unrolled -= p.window_loops;
            return out;
        }
        std::int64_t length = 1;
        for (const auto& l : p.reduce_loops) length *= l.extent;
        auto written = (std::max)(out.sums / p.sharing, std::int64_t{1});
        const auto limit = most_unrolled(p.nest);
        while (out.first_unrolled > 0 && !guarded && written * p.reduce_loops[out.first_unrolled - 1].extent <= limit)
            written *= p.reduce_loops[--out.first_unrolled].extent;
        out.partial = (std::max)((std::min)(choose_.turns(out.sums / vectors, vectors, length), written / out.sums), std::int64_t{1});
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

    /// Moves all reduce loops of a short reduction, such as a depthwise window, next to the first one. All space loops behind it then form the register
    /// tile, and no partial sum goes through memory. A long reduction keeps its outer part outside, where the schedule blocks it for the caches.
    static void gather_short_reduction(std::vector<lowered_loop>& loops) {
        if (!is_short_reduction(loops)) return;
        const auto reduces = [](const lowered_loop& l) { return l.reduce; };
        std::vector<lowered_loop>
            space; // behind the first reduce loop; not std::stable_partition: clang reports a deprecated function inside libstdc++ 12
        auto to = std::find_if(loops.begin(), loops.end(), reduces);
        for (auto from = to; from != loops.end(); ++from) {
            if (!from->reduce) space.push_back(std::move(*from));
            else if (from != to++) *std::prev(to) = std::move(*from);
        }
        std::move(space.begin(), space.end(), to);
    }

    /// Makes one loop of neighbouring reduce loops along which all operands are contiguous, such as the rows and columns of global pooling, if the lanes of
    /// a sum run along it. Otherwise every row would end in a remainder, or would be shorter than a vector.
    void join_rows(term_table& terms, lowered_nest& n, std::vector<lowered_loop>& loops) const {
        for (auto i = loops.size(); i-- > 1;) {
            const auto& rows = loops[i - 1];
            const auto& row = loops[i];
            if (!rows.reduce || !row.reduce || row.extent % options_.vector_floats == 0 || !contiguous(terms, n, rows.term, row)) continue;
            auto joined = loops;
            joined[i - 1] = row;
            joined[i - 1].extent = rows.extent * row.extent;
            joined[i - 1].term = terms.loop(joined[i - 1].extent);
            joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(i));
            auto nest = n;
            substitute(terms, nest, row.term, term_table::value(joined[i - 1].term));
            substitute(terms, nest, rows.term, affine());
            if (sum_loop(terms, nest, joined, vector_loop(nest, joined)) != i - 1) continue;
            n = std::move(nest);
            loops = std::move(joined);
        }
    }

    /// Limit for the vector operations of a reduction in one unrolled sequence.
    [[nodiscard]] std::int64_t most_unrolled(const lowered_nest& n) const {
        return (std::min)((std::max)(n.auto_unroll_max_step, std::int64_t{64}), static_cast<std::int64_t>(options_.max_unrolled));
    }

    /// Moves the loops that are marked behind the others.
    static void move_last(std::vector<lowered_loop>& loops, const std::vector<bool>& marked) {
        std::vector<lowered_loop> out;
        for (const bool last : {false, true})
            for (std::size_t i = 0; i < loops.size(); ++i)
                if (marked[i] == last) out.push_back(loops[i]);
        loops = std::move(out);
    }

    /// Elements of a loop that are transposed at once: a power of two, at most one vector.
    [[nodiscard]] std::int64_t block_of(std::int64_t extent) const {
        return static_cast<std::int64_t>(
            std::bit_floor(static_cast<std::uint64_t>((std::min)(extent, static_cast<std::int64_t>(options_.vector_floats)))));
    }

    /// The loop along which a copy reads adjacent elements, if it does not along its lanes `v`: blocks of both loops are transposed in registers.
    /// `loops.size()` if there is none.
    [[nodiscard]] static std::size_t transposed_loop(const term_table& terms, const lowered_nest& n, const std::vector<lowered_loop>& loops,
                                                     std::size_t v) {
        bool one = false;
        if (n.value.op != expr_op::read || !n.guards.empty() || smooth(terms, n.value, loops[v].term, one)) return loops.size();
        for (std::size_t i = loops.size(); i-- > 0;) {
            bool adjacent = false;
            if (i != v && loops[i].annotation != loop_annotation::parallel && smooth(terms, n.value, loops[i].term, adjacent) && adjacent) return i;
        }
        return loops.size();
    }

    /// Lanes of one pass of a loop that is no reduction: up to four vectors.
    [[nodiscard]] std::int64_t lanes_at_once(std::int64_t extent) const {
        const auto width = static_cast<std::int64_t>(options_.vector_floats);
        if (extent > 4 * width && extent % width == 0 && largest_divisor(extent / width, 4) > 1) return width * largest_divisor(extent / width, 4);
        return (std::min)(extent, 4 * width);
    }

    /// Splits the innermost reduce loop if it is too long for full unrolling, so that some of its steps are unrolled.
    void split_reduction(term_table& terms, tile_plan& p, const tile_shape& shape) const {
        auto sums = choose_.with_lanes_behind(p.lanes_behind).vectors(shape.lanes);
        for (const auto part : shape.parts) sums *= part;
        sums = (std::max)(sums / p.sharing, std::int64_t{1});
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
