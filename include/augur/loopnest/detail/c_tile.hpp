// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_TILE_HPP
#define AUGUR_LOOPNEST_DETAIL_C_TILE_HPP

/// @file
/// Code generation for the register tile of a nest: vectorised, reduced over lanes, or element by element where guards cut the tile.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/c_transpose.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_tile : protected c_transpose {
protected:
    c_tile(lowered_kernel k, const c_options& o) : c_transpose(std::move(k), o), planner_(o) {}

    tile_planner planner_;

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
        const auto g = of_tile.back();
        const auto loops = cut_loops(p, g);
        const auto left = loops.size() == 1 ? iterations_left(g, loops.front()) : std::nullopt;
        if (!left) return points_where_cut(p, of_tile, per_step);
        of_tile.pop_back();
        auto both = text(for_whole_tile(p, g), p, of_tile);
        if (*left > 0) {
            auto cut = p;
            shorten(cut, of_tile, loops.front(), *left);
            both += " else " + text(without(g, loops.front().term), cut, of_tile);
        }
        line(both);
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
            if (c.op != expr_op::less_equal) return false;
            if (std::find(bounds.begin(), bounds.end(), c.index) == bounds.end()) bounds.push_back(c.index);
            return true;
        };
        if (e.op == expr_op::select && (!conjunction(conjunction, e.operands[0]) || e.operands[1].op != expr_op::read)) return false;
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
            if (c.op != expr_op::logical_and) return std::find(kept.begin(), kept.end(), c.index) != kept.end() ? std::optional(c) : std::nullopt;
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

    /// Writes the tile with its results in registers.
    void vectors(const tile_plan& p, const std::vector<affine>& guards) {
        loaded_.clear();
        const auto& n = p.nest;
        if (n.combine == reducer::none) return elements(p);
        std::int64_t length = 1;
        for (const auto& l : p.reduce_loops) length *= l.extent;
        std::int64_t count = 0;
        each_vector(p, 0, [&](const lanes&) { ++count; });
        if (p.sum_lanes.term < 0 && guards.empty() && length * count <= most_shared && overlap(windows_of(n, p.tile, p.reduce_loops)))
            return shared(p);
        const auto across = adjacent_rows(p, n.index);
        auto sums = begin_sums(p, across);
        if (p.sum_lanes.term >= 0) return folded(p, sums, guards);
        const auto results = sums.size();
        const auto unrolling = planner_.unrolling(p, !guards.empty());
        for (std::int64_t k = 1; k < unrolling.partial; ++k)
            each_vector(p, 0, [&](const lanes& l) { sums.push_back(neutral_vector(n.combine, l.width)); });
        reduce(p, guards, sums, results, unrolling);
        std::size_t i = 0;
        each_vector(p, 0, [&](const lanes& l) {
            for (auto k = i + results; k < sums.size(); k += results) line(combined(n.combine, sums[i], {sums[k], l.width > 1}, l.width));
            if (across == p.tile.size() && !n.epilogue) store(n.buffer, n.index, l, {sums[i], l.width > 1});
            ++i;
        });
        if (n.epilogue) finish(p, across, sums);
        if (across < p.tile.size()) store_transposed(p, across, sums);
        loaded_.clear();
    }

    /// Applies the epilogue to the results `sums` of a tile, and stores them unless they are to be transposed.
    void finish(const tile_plan& p, std::size_t across, const std::vector<std::string>& sums) {
        const auto& n = p.nest;
        each_read(*n.epilogue, [&](const lowered_expr& r) { // lanes apart, as of a tensor that is added
            if (r.buffer == lowered_nest::result_buffer) return;
            if (const auto rows = adjacent_rows(p, r.index); rows < p.tile.size())
                tile_reads_.push_back({r.buffer, r.index, load_transposed(p, rows, r.buffer, r.index)});
        });
        vector_ = 0;
        each_vector(p, 0, [&](const lanes& l) {
            const auto& sum = sums[vector_];
            const auto v = finished(n, l, {sum, l.width > 1});
            if (across == p.tile.size()) store(n.buffer, n.index, l, v);
            else line(sum + " = " + widened(v, l.width) + ";");
            ++vector_;
        });
        tile_reads_.clear();
    }

    /// Writes a tile without a reduction; a copy whose lanes are apart where it reads is transposed in registers.
    void elements(const tile_plan& p) {
        const auto& n = p.nest;
        const auto across = n.value.op == expr_op::read ? adjacent_rows(p, n.value.index) : p.tile.size();
        if (across < p.tile.size()) {
            const auto read = load_transposed(p, across, n.value.buffer, n.value.index);
            std::size_t i = 0;
            each_vector(p, 0, [&](const lanes& l) { store(n.buffer, n.index, l, {read[i++], l.width > 1}); });
        } else {
            each_vector(p, 0, [&](const lanes& l) { store(n.buffer, n.index, l, value(n.value, l)); });
        }
        loaded_.clear();
    }

    /// Declares a vector of the neutral value of `r`; returns its name.
    std::string neutral_vector(reducer r, int width) {
        auto name = fresh("a");
        line(type_of(width) + " " + name + " = " + widened({number(identity_of(r)), false}, width) + ";");
        return name;
    }

    /// Declares the sums of a tile in the order of `each_vector`: neutral values, or the partial sums in memory.
    std::vector<std::string> begin_sums(const tile_plan& p, std::size_t across) {
        const auto& n = p.nest;
        std::vector<std::string> sums;
        if (p.neutral_in_registers) {
            each_vector(p, 0, [&](const lanes& l) { sums.push_back(neutral_vector(n.combine, l.width)); });
        } else if (across < p.tile.size()) {
            sums = load_transposed(p, across, n.buffer, n.index);
        } else {
            each_vector(p, 0, [&](const lanes& l) {
                sums.push_back(fresh("a"));
                line(type_of(l.width) + " " + sums.back() + " = " + widened(read(n.buffer, n.index, l), l.width) + ";");
            });
        }
        loaded_.clear();
        return sums;
    }

    /// Writes the reduce loops around a tile. Its `results` sums have partial sums behind them in `sums`, which the steps use in turn.
    void reduce(const tile_plan& p, const std::vector<affine>& guards, const std::vector<std::string>& sums, std::size_t results,
                const reduce_unrolling& unrolling) {
        std::size_t turn = 0; // number of reduction steps written so far
        const auto body = [&] {
            std::size_t i = turn++ % static_cast<std::size_t>(unrolling.partial) * results;
            tile_terms_.clear();
            for (const auto& l : p.tile)
                if (unrolling.vectors > 1) tile_terms_.push_back(l.term);
            each_vector(p, 0, [&](const lanes& l) {
                const auto v = value(p.nest.value, l);
                line(combined(p.nest.combine, sums[i++], v, l.width));
            });
            tile_terms_.clear();
        };
        const auto enter = [&](auto&& self, std::size_t depth) -> void {
            if (p.window_loops > 0 && guards.empty() && depth == unrolling.first_unrolled) return reduce_by_position(p, depth, sums);
            if (depth == p.reduce_loops.size()) {
                if (guards.empty()) return body();
                std::string guard_text;
                for (const auto& g : guards) guard_text += (guard_text.empty() ? "(" : " && (") + sum_text(known(g)) + ") >= 0";
                open({});
                body();
                const auto text = close();
                loaded_.clear();
                return line(branch(guard_text) + "{\n" + text + "}");
            }
            const auto& l = p.reduce_loops[depth];
            if (depth < unrolling.first_unrolled) {
                return loop(l.term, l.extent, false, [&] {
                    loaded_.clear();
                    self(self, depth + 1);
                    loaded_.clear();
                });
            }
            for (std::int64_t i = 0; i < l.extent; ++i) {
                fixed_.emplace_back(l.term, i);
                self(self, depth + 1);
                fixed_.pop_back();
            }
        };
        enter(enter, 0);
        loaded_.clear();
    }

    /// Writes the steps of the reduce loops from `first` on in the order of the image elements that they read. Each element is loaded once and then used
    /// for all results that it takes part in; the filter stays in registers.
    void reduce_by_position(const tile_plan& p, std::size_t first, const std::vector<std::string>& sums) {
        struct step {
            affine place; // of the image element
            std::vector<std::pair<int, std::int64_t>> fixed;
            lanes at;
            std::size_t result;
        };
        const auto product = windowed_product_of(kernel_.terms, p.nest, p.tile);
        std::vector<step> steps;
        const auto enter = [&](const auto& self, std::size_t depth) -> void {
            if (depth < p.reduce_loops.size()) {
                for (std::int64_t i = 0; i < p.reduce_loops[depth].extent; ++i) {
                    fixed_.emplace_back(p.reduce_loops[depth].term, i);
                    self(self, depth + 1);
                    fixed_.pop_back();
                }
                return;
            }
            std::size_t result = 0;
            each_vector(p, 0, [&](const lanes& l) { steps.push_back({at_lane(product->image->index, l, 0), fixed_, l, result++}); });
        };
        enter(enter, first);
        std::vector<std::size_t> order(steps.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return std::pair(steps[a].place.constant, a) < std::pair(steps[b].place.constant, b); });
        const auto outside = fixed_;
        held_buffer_ = product->filter->buffer;
        for (const auto k : order) {
            fixed_ = steps[k].fixed;
            line(combined(p.nest.combine, sums[steps[k].result], value(p.nest.value, steps[k].at), steps[k].at.width));
        }
        held_buffer_ = -1;
        fixed_ = outside;
        loaded_.clear();
    }

    /// Writes a tile of one element whose reduction runs over lanes: some independent vector sums, a scalar remainder, and the final fold.
    void folded(const tile_plan& p, const std::vector<std::string>& sums, const std::vector<affine>& guards) {
        const auto& n = p.nest;
        const auto r = p.sum_lanes;
        const auto sum_shape = planner_.lanes_of_sum(r.extent); // no structured binding: clang 14 and 15 cannot capture one
        const auto width = static_cast<int>(sum_shape.width);
        const auto count = sum_shape.vectors;
        const auto whole = sum_shape.rounds;
        std::vector<std::string> parts;
        for (std::int64_t i = 0; i < count; ++i) {
            parts.push_back(fresh("a"));
            line("aug_v" + std::to_string(width) + " " + parts.back() + " = aug_set" + std::to_string(width) + "(" + number(identity_of(n.combine)) +
                 ");");
        }
        const auto outer = kernel_.terms.loop(whole);
        const auto inner = kernel_.terms.loop(width);
        lowered_expr moving = n.value;
        const auto steps = [&] {
            for (std::int64_t i = 0; i < count; ++i) {
                moving = n.value;
                const auto base = (whole > 1 ? term_table::value(outer) * (width * count) : affine()) + affine(i * width);
                substitute(kernel_.terms, moving, r.term, base + term_table::value(inner));
                const auto v = value(moving, lanes{inner, 0, width});
                line(combined(n.combine, parts[static_cast<std::size_t>(i)], v, width));
            }
        };
        const auto rest = [&] {
            for (auto at = whole * width * count; at < r.extent;) {
                const auto wide = at + width <= r.extent;
                moving = n.value;
                substitute(kernel_.terms, moving, r.term, affine(at) + (wide ? term_table::value(inner) : affine()));
                const auto v = value(moving, wide ? lanes{inner, 0, width} : lanes{});
                line(combined(n.combine, wide ? parts.front() : sums.front(), v, wide ? width : 1));
                at += wide ? width : 1;
            }
        };
        const auto enter = [&](auto&& self, std::size_t depth) -> void {
            loaded_.clear();
            if (depth < p.reduce_loops.size())
                return loop(p.reduce_loops[depth].term, p.reduce_loops[depth].extent, false, [&] { self(self, depth + 1); });
            std::string guard_text;
            for (const auto& g : guards) guard_text += (guard_text.empty() ? "(" : " && (") + sum_text(g) + ") >= 0";
            open({});
            loop(whole > 1 ? outer : -1, whole, false, [&] {
                steps();
                loaded_.clear();
            });
            rest();
            loaded_.clear();
            const auto text = close();
            line(branch(guard_text) + "{\n" + text + "}");
        };
        enter(enter, 0);
        const char* fold = n.combine == reducer::sum ? "aug_fold_sum" : n.combine == reducer::max ? "aug_fold_max" : "aug_fold_min";
        for (std::size_t i = 1; i < parts.size(); ++i) line(combined(n.combine, parts.front(), {parts[i], true}, width));
        line(combined(n.combine, sums.front(), {fold + std::to_string(width) + "(" + parts.front() + ")", false}, 1));
        store(n.buffer, n.index, lanes{}, finished(n, lanes{}, {sums.front(), false}));
        loaded_.clear();
    }

    /// Writes the tile element by element, each with its guards.
    void points(const tile_plan& p) {
        auto loops = p.tile;
        if (p.lanes.term >= 0) loops.push_back(p.lanes);
        const auto& n = p.nest;
        std::vector<int> step_terms;
        for (const auto& l : p.reduce_loops) step_terms.push_back(l.term);
        auto steps = p.reduce_loops;
        if (p.sum_lanes.term >= 0) steps.push_back(p.sum_lanes);
        const auto test = [&](bool moving) {
            std::string text;
            for (const auto& g : n.guards)
                if (depends_on(g, step_terms) == moving) text += (text.empty() ? "(" : " && (") + sum_text(g) + ") >= 0";
            return text;
        };
        const auto guarded = [&](const std::string& condition, const auto& f) {
            open({});
            loaded_.clear();
            f();
            loaded_.clear();
            const auto body = close();
            line(branch(condition) + "{\n" + body + "}");
        };
        const auto element = [&] {
            if (n.combine == reducer::none) return store(n.buffer, n.index, lanes{}, value(n.value, lanes{}));
            const auto sum = fresh("a");
            line("float " + sum + " = " + (p.neutral_in_registers ? number(identity_of(n.combine)) : read(n.buffer, n.index, lanes{}).text) + ";");
            loaded_.clear();
            const auto enter = [&](auto&& self, std::size_t depth) -> void {
                if (depth < steps.size()) return loop(steps[depth].term, steps[depth].extent, false, [&] { self(self, depth + 1); });
                guarded(test(true), [&] { line(combined(n.combine, sum, value(n.value, lanes{}), 1)); });
            };
            enter(enter, 0);
            store(n.buffer, n.index, lanes{}, finished(n, lanes{}, {sum, false}));
        };
        const auto enter = [&](auto&& self, std::size_t depth) -> void {
            if (depth < loops.size()) return loop(loops[depth].term, loops[depth].extent, false, [&] { self(self, depth + 1); });
            guarded(test(false), element);
        };
        enter(enter, 0);
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
