// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_GUARDED_TILE_HPP
#define AUGUR_LOOPNEST_DETAIL_C_GUARDED_TILE_HPP

/// @file
/// Code generation for register tiles under guards: whole tiles, tiles that the end of an axis cuts, and tiles at the border of a padded tensor.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/c_tile.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_guarded_tile : protected c_tile {
protected:
    using c_tile::c_tile;

    /// Writes a tile: whole where its guards allow all of it, cut to the iterations that they leave, or element by element where their number differs
    /// from tile to tile.
    void tile(const tile_plan& p) {
        std::vector<int> step_terms;
        for (const auto& l : p.reduce_loops) step_terms.push_back(l.term);
        if (p.sum_lanes.term >= 0) step_terms.push_back(p.sum_lanes.term);

        std::vector<affine> of_tile;
        std::vector<affine> per_step;
        std::string outside; // conditions that hold for the whole tile or for none of it
        for (const auto& g : p.nest.guards) {
            const bool cuts = cut_loops(p, g).size() > 0;
            if (depends_on(g, step_terms)) {
                if (cuts) return block([&] { points(p); });
                per_step.push_back(g);
            } else if (cuts) {
                of_tile.push_back(g);
            } else {
                outside += (outside.empty() ? "" : " && ") + condition(g);
            }
        }
        open({});
        guarded_tile(p, of_tile, per_step);
        const auto body = close();
        line(branch(outside) + "{\n" + body + "}");
    }

    /// The loops of the tile on which `g` depends.
    [[nodiscard]] std::vector<lowered_loop> cut_loops(const tile_plan& p, const affine& g) const {
        auto loops = p.tile;
        if (p.lanes.term >= 0) loops.push_back(p.lanes);
        std::vector<lowered_loop> out;
        for (const auto& l : loops)
            if (depends_on(g, {l.term})) out.push_back(l);
        return out;
    }

    /// `g` at the last iterations of the tile: at least 0 if all of them are allowed.
    [[nodiscard]] affine for_whole_tile(const tile_plan& p, const affine& g) {
        return kernel_.terms
            .sweep(g,
                   [&](int t) {
                       return p.lanes.term == t || std::any_of(p.tile.begin(), p.tile.end(), [&](const lowered_loop& l) { return l.term == t; });
                   })
            .first;
    }

    [[nodiscard]] std::string condition(const affine& g) { return "(" + sum_text(g) + ") >= 0"; }

    /// The iterations of loop `l` that the guard `g` leaves in each tile that it cuts; 0: it cuts no tile. None if the number differs between tiles.
    static std::optional<std::int64_t> iterations_left(const affine& g, const lowered_loop& l) {
        if (g.factor(l.term) != -1) return std::nullopt;
        std::int64_t step = 0; // tiles start at multiples of it
        for (const auto& [t, f] : g.terms)
            if (t != l.term) step = std::gcd(step, f);
        if (step < l.extent) return std::nullopt;
        const auto left = ((g.constant + 1) % step + step) % step;
        return left < l.extent ? left : 0;
    }

    /// Writes a tile under the guards `of_tile`, which depend on its loops.
    void guarded_tile(const tile_plan& p, std::vector<affine> of_tile, const std::vector<affine>& per_step) {
        if (of_tile.empty()) return interior_and_border(p, per_step);
        auto text = [&](const affine& g, const tile_plan& plan, std::vector<affine> rest) {
            open({});
            guarded_tile(plan, std::move(rest), per_step);
            const auto body = close();
            return branch(condition(g)) + "{\n" + body + "}";
        };
        // Guards that leave the same number of iterations in each tile first: within them the others concern less.
        const auto only_loop = [&](const affine& g) -> std::optional<lowered_loop> {
            auto loops = cut_loops(p, g);
            return loops.size() == 1 ? std::optional(loops.front()) : std::nullopt;
        };
        const auto take = [&](const auto& suits) -> std::optional<affine> {
            for (auto at = of_tile.end(); at != of_tile.begin();) {
                const auto l = only_loop(*--at);
                if (!l || !suits(*at, *l)) continue;
                auto g = *std::move(at);
                of_tile.erase(at);
                return g;
            }
            return std::nullopt;
        };
        if (const auto g = take([](const affine& guard, const lowered_loop& l) { return iterations_left(guard, l).has_value(); })) {
            const auto l = *only_loop(*g);
            const auto left = *iterations_left(*g, l);
            auto both = text(for_whole_tile(p, *g), p, of_tile);
            if (left > 0) {
                auto cut = p;
                shorten(cut, of_tile, l, left);
                both += " else " + text(without(*g, l.term), cut, of_tile);
            }
            return line(both);
        }
        const auto is_row = [&](const affine&, const lowered_loop& l) { return l.term != p.lanes.term; };
        const auto g = take(is_row);
        if (!g) return points_where_cut(p, of_tile, per_step);
        const auto whole = text(for_whole_tile(p, *g), p, of_tile);
        const auto l = *only_loop(*g);
        auto row = p; // one iteration of the loop, in which its lanes stay vectors and no windows overlap along it
        row.window_loops = 0;
        std::erase_if(row.tile, [&](const lowered_loop& x) { return x.term == l.term; });
        open({});
        loop(l.term, l.extent, false, [&] { line(text(*g, row, of_tile)); });
        line(whole + " else {\n" + close() + "}");
    }

    static affine without(affine g, int term) {
        std::erase_if(g.terms, [&](const auto& t) { return t.first == term; });
        return g;
    }

    /// Limits loop `l` of the tile to `extent` iterations, also in `guards`.
    void shorten(tile_plan& p, std::vector<affine>& guards, const lowered_loop& l, std::int64_t extent) {
        auto shorter = l;
        shorter.extent = extent;
        shorter.term = kernel_.terms.loop(extent);
        substitute(kernel_.terms, p.nest, l.term, term_table::value(shorter.term));
        for (auto& g : guards) g = substituted(kernel_.terms, g, l.term, term_table::value(shorter.term));
        if (p.lanes.term == l.term) p.lanes = shorter;
        for (auto& t : p.tile)
            if (t.term == l.term) t = shorter;
    }

    /// Writes a tile whole if all of `of_tile` allow it, else element by element.
    void points_where_cut(const tile_plan& p, const std::vector<affine>& of_tile, const std::vector<affine>& per_step) {
        std::string whole;
        for (const auto& g : of_tile) whole += (whole.empty() ? "" : " && ") + condition(for_whole_tile(p, g));
        open({});
        interior_and_border(p, per_step);
        const auto fast = close();
        open({});
        points(p);
        line(branch(whole) + "{\n" + fast + "} else {\n" + close() + "}");
    }

    /// Writes the tile. If its reads are padded and the padding depends on loops of the tile, there are two versions: one without conditions for tiles
    /// that lie inside the padded tensor, as nearly all do, and one for the others.
    void interior_and_border(const tile_plan& p, const std::vector<affine>& guards) {
        std::vector<affine> bounds;
        if (!padding_bounds(p.nest.value, bounds) || bounds.empty()) return vectors(p, guards);
        const auto inner = [&](int t) {
            const auto is = [&](const lowered_loop& l) { return l.term == t; };
            return is(p.lanes) || is(p.sum_lanes) || std::any_of(p.tile.begin(), p.tile.end(), is) ||
                   std::any_of(p.reduce_loops.begin(), p.reduce_loops.end(), is);
        };
        if (std::none_of(bounds.begin(), bounds.end(), [&](const affine& b) { return kernel_.terms.depends(b, inner); }))
            return vectors(p, guards); // known outside the tile: padded_read selects a pointer there
        std::string inside;
        std::vector<affine> crossed; // by every tile: they stay conditions of the lanes
        for (const auto& b : bounds) {
            const auto least = kernel_.terms.sweep(b, inner).first;
            if (least.is_constant() && least.constant < 0) {
                crossed.push_back(b);
                continue;
            }
            const auto text = condition(least);
            if (inside.find(text) == std::string::npos) inside += (inside.empty() ? "" : " && ") + text;
        }
        if (inside.empty()) return vectors(p, guards);
        auto interior = p;
        interior.nest.value = unpadded(p.nest.value, crossed);
        open({});
        vectors(interior, guards);
        const auto fast = close();
        open({});
        vectors(p, guards);
        line(branch(inside) + "{\n" + fast + "} else {\n" + close() + "}");
    }

    /// Collects the affine conditions (each at least 0) under which the selects of `e` take their first value. False if a select has another form.
    static bool padding_bounds(const lowered_expr& e, std::vector<affine>& bounds) {
        const auto conjunction = [&](const auto& self, const lowered_expr& c) -> bool {
            if (c.op == expr_op::logical_and) return self(self, c.operands[0]) && self(self, c.operands[1]);
            if (c.op == expr_op::equal) return true; // a zero between the elements of a dilated image, not of the border
            if (c.op != expr_op::less_equal) return false;
            if (std::find(bounds.begin(), bounds.end(), c.index) == bounds.end()) bounds.push_back(c.index);
            return true;
        };
        const auto reads = [](const lowered_expr& o) { return o.op == expr_op::read || o.op == expr_op::select; };
        if (e.op == expr_op::select && (!conjunction(conjunction, e.operands[0]) || !reads(e.operands[1]))) return false;
        const std::size_t first = e.op == expr_op::select ? 1 : 0; // the condition is no value
        return std::all_of(e.operands.begin() + static_cast<std::ptrdiff_t>(first), e.operands.end(),
                           [&](const lowered_expr& o) { return padding_bounds(o, bounds); });
    }

    /// `e` with only the conditions `kept` in its selects; the first value of a select without conditions is in its place.
    static lowered_expr unpadded(const lowered_expr& e, const std::vector<affine>& kept) {
        if (e.op != expr_op::select) {
            auto out = e;
            for (auto& o : out.operands) o = unpadded(o, kept);
            return out;
        }
        const auto filtered = [&](const auto& self, const lowered_expr& c) -> std::optional<lowered_expr> {
            if (c.op != expr_op::logical_and)
                return c.op == expr_op::equal || std::find(kept.begin(), kept.end(), c.index) != kept.end() ? std::optional(c) : std::nullopt;
            auto a = self(self, c.operands[0]), b = self(self, c.operands[1]);
            if (!a || !b) return a ? a : b;
            auto both = c;
            both.operands = {*std::move(a), *std::move(b)};
            return both;
        };
        auto left = filtered(filtered, e.operands[0]);
        if (!left) return unpadded(e.operands[1], kept);
        auto out = e;
        out.operands[0] = *std::move(left);
        out.operands[1] = unpadded(e.operands[1], kept);
        return out;
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
