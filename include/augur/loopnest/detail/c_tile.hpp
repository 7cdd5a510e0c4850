// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_TILE_HPP
#define AUGUR_LOOPNEST_DETAIL_C_TILE_HPP

/// @file
/// Code generation for the register tile of a nest: vectorised, reduced over lanes, or element by element.

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

    /// Writes the tile with its results in registers.
    void vectors(const tile_plan& p, const std::vector<affine>& guards) {
        loaded_.clear();
        const auto& n = p.nest;
        if (n.combine == reducer::none) return elements(p);
        std::int64_t length = 1;
        for (const auto& l : p.reduce_loops) length *= l.extent;
        std::int64_t count = 0;
        each_vector(p, 0, [&](const lanes&) { ++count; });
        halves_apart_ = reads_every_second(p);
        const auto windows = windows_of(n, p.tile, p.reduce_loops);
        auto loads = length * count; // distinct ones
        for (std::size_t i = 0; i < p.tile.size(); ++i) loads = loads / p.tile[i].extent * windows[i].positions(p.tile[i].extent) / windows[i].length;
        if (p.sum_lanes.term < 0 && guards.empty() && loads <= most_shared && length * count <= 4 * most_shared && overlap(windows)) return shared(p);
        const auto across = adjacent_rows(p, n.index);
        auto sums = begin_sums(p, across);
        if (p.sum_lanes.term >= 0) return folded(p, sums, guards);
        const auto results = sums.size();
        const auto unrolling = planner_.unrolling(p, !guards.empty());
        for (std::int64_t k = 1; k < unrolling.partial; ++k)
            each_vector(p, 0, [&](const lanes& l) { sums.push_back(neutral_vector(n.combine, l.width)); });
        reduce(p, guards, sums, results, unrolling);
        const bool apart = std::exchange(halves_apart_, false);
        std::size_t i = 0;
        each_vector(p, 0, [&](const lanes& l) {
            for (auto k = i + results; k < sums.size(); k += results) line(combined(n.combine, sums[i], {sums[k], l.width > 1}, l.width));
            if (apart) line(sums[i] + " = aug_inner_halves8(" + sums[i] + ");");
            if (across == p.tile.size() && !n.epilogue) store(n.buffer, n.index, l, {sums[i], l.width > 1});
            ++i;
        });
        if (n.epilogue) finish(p, across, sums);
        if (across < p.tile.size()) store_transposed(p, across, sums);
        loaded_.clear();
    }

    /// True if all operands of a tile in AVX2 code that move with its lanes are every second element along them. Two vectors of such elements take two
    /// shuffles, of which the second one, between the halves, may as well come after the reduction. Other instruction sets have one shuffle for both.
    [[nodiscard]] bool reads_every_second(const tile_plan& p) const {
        if (options_.vector_floats != 8 || options_.vector_registers >= 32 || !p.neutral_in_registers || p.sum_lanes.term >= 0 || p.lanes.extent < 8)
            return false;
        bool all = true, any = false;
        each_read(p.nest.value, [&](const lowered_expr& e) {
            const auto step = e.index.factor(p.lanes.term);
            auto rest = e.index;
            std::erase_if(rest.terms, [&](const auto& t) { return t.first == p.lanes.term; });
            all = all && (step == 0 || step == 2) && !depends_on(rest, {p.lanes.term});
            any = any || step == 2;
        });
        return all && any;
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
            // The last two vectors of a row may share elements (`segments`), and a kernel may write over what it reads (`network_options::in_place`): both
            // are computed before one is stored.
            const auto row = p.lanes.term < 0 ? std::vector<lane_segment>(1) : segments(p.lanes.extent, p.lanes_behind);
            const bool shared = row.size() > 1 && row.back().first < row[row.size() - 2].first + row[row.size() - 2].width;
            std::optional<std::pair<lanes, std::string>> waiting;
            const auto named = [&](const lanes& l) {
                const auto text = widened(value(n.value, l), l.width);
                auto name = fresh("e");
                line("const " + type_of(l.width) + " " + name + " = " + text + ";");
                return name;
            };
            each_vector(p, 0, [&](const lanes& l) {
                if (shared && l.first == row[row.size() - 2].first) {
                    waiting.emplace(l, named(l));
                } else if (waiting) {
                    const auto last = named(l);
                    store(n.buffer, n.index, waiting->first, {waiting->second, l.width > 1});
                    store(n.buffer, n.index, l, {last, l.width > 1});
                    waiting.reset();
                } else {
                    store(n.buffer, n.index, l, value(n.value, l));
                }
            });
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

    /// Groups the vectors of a tile by the text of their conditions `phases`, with the loops outside fixed; without those whose conditions are false.
    std::vector<std::pair<std::string, std::vector<bool>>> phase_groups(const tile_plan& p, const std::vector<lowered_expr>& phases) {
        std::vector<std::pair<std::string, std::vector<bool>>> groups;
        std::size_t count = 0;
        each_vector(p, 0, [&](const lanes&) { ++count; });
        std::size_t i = 0;
        each_vector(p, 0, [&](const lanes& l) {
            std::string all;
            bool never = false;
            for (const auto& c : phases) {
                const auto text = condition(c, l, 0);
                never = never || text == "0";
                if (text != "1") all += (all.empty() ? "" : " && ") + text;
            }
            const auto same = [&](const auto& g) { return g.first == all; };
            auto at = std::find_if(groups.begin(), groups.end(), same);
            if (!never && at == groups.end()) at = groups.insert(at, {all, std::vector<bool>(count, false)});
            if (!never) at->second[i] = true;
            ++i;
        });
        return groups;
    }

    /// Writes the reduce loops around a tile. Its `results` sums have partial sums behind them in `sums`, which the steps use in turn. Products with the
    /// zeros of a dilated image are left out.
    void reduce(const tile_plan& p, const std::vector<affine>& guards, const std::vector<std::string>& sums, std::size_t results,
                const reduce_unrolling& unrolling) {
        auto term = p.nest.value; // of the sum
        const auto phases = p.window_loops > 0 ? std::vector<lowered_expr>() : phases_of(kernel_.terms, p.nest, p.lanes.term, &term);
        std::size_t phase_depth = 0; // reduce loops that the phases depend on come first
        for (std::size_t k = 0; k < p.reduce_loops.size(); ++k)
            if (std::any_of(phases.begin(), phases.end(), [&](const lowered_expr& c) { return depends_on(c.index, {p.reduce_loops[k].term}); }))
                phase_depth = k + 1;

        bool strided = false;
        each_read(term, [&](const lowered_expr& e) { strided = strided || e.index.factor(p.lanes.term) > 1; });

        // Neighbouring steps of a convolution broadcast the same elements. Only AVX-512 and NEON multiply by an element that has no register of its own:
        // with fewer registers the elements are read again, lest accumulators are spilled.
        const auto sums_held = static_cast<std::int64_t>(sums.size());
        const bool crowded =
            options_.vector_registers < 32 && sums_held + unrolling.vectors + unrolling.sums / unrolling.vectors + 1 > options_.vector_registers;
        std::size_t turn = 0; // number of reduction steps written so far
        const auto body = [&](const std::vector<bool>& chosen) {
            if (crowded && !loaded_.empty()) {
                loaded_.clear();
                line("AUG_FORGET;");
            }
            std::size_t i = turn++ % static_cast<std::size_t>(unrolling.partial) * results;
            tile_terms_.clear();
            for (const auto& l : p.tile)
                if (unrolling.vectors > 1) tile_terms_.push_back(l.term);
            std::size_t k = 0;
            each_vector(p, 0, [&](const lanes& l) {
                if (chosen.empty() || chosen[k]) line(combined(p.nest.combine, sums[i + k], value(term, l), l.width));
                ++k;
            });
            tile_terms_.clear();
        };
        const auto enter = [&](auto&& self, std::size_t depth, const std::vector<bool>& chosen) -> void {
            if (depth == unrolling.first_unrolled && strided && guards.empty() && phases.empty()) {
                touched_.clear();
                each_step(p, depth, [&](const lanes& l) { touch_all(term, l); });
            }
            if (!phases.empty() && chosen.empty() && depth == phase_depth) {
                for (const auto& [when, group] : phase_groups(p, phases)) {
                    loaded_.clear();
                    open({});
                    self(self, depth, group);
                    loaded_.clear();
                    const auto text = close();
                    line((when.empty() ? std::string() : "if (" + when + ") ") + "{\n" + text + "}");
                }
                return;
            }
            if (p.window_loops > 0 && guards.empty() && depth == unrolling.first_unrolled) return reduce_by_position(p, depth, sums);
            if (depth == p.reduce_loops.size()) {
                if (guards.empty()) return body(chosen);
                std::string guard_text;
                for (const auto& g : guards) guard_text += (guard_text.empty() ? "(" : " && (") + sum_text(known(g)) + ") >= 0";
                open({});
                body(chosen);
                const auto text = close();
                loaded_.clear();
                return line(branch(guard_text) + "{\n" + text + "}");
            }
            const auto& l = p.reduce_loops[depth];
            if (depth < unrolling.first_unrolled) {
                return loop(l.term, l.extent, false, [&] {
                    loaded_.clear();
                    self(self, depth + 1, chosen);
                    loaded_.clear();
                });
            }
            for (std::int64_t i = 0; i < l.extent; ++i) {
                fixed_.emplace_back(l.term, i);
                self(self, depth + 1, chosen);
                fixed_.pop_back();
            }
        };
        enter(enter, 0, {});
        loaded_.clear();
        touched_.clear();
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
        std::size_t result = 0;
        each_step(p, first, [&](const lanes& l) {
            touch_all(p.nest.value, l);
            steps.push_back({at_lane(product->image->index, l, 0), fixed_, l, result++ % sums.size()});
        });
        std::vector<std::size_t> order(steps.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return std::pair(steps[a].place.constant, a) < std::pair(steps[b].place.constant, b); });
        const auto outside = fixed_;
        held_buffer_ = product->filter->buffer;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto& s = steps[order[i]];
            const auto same = [&](std::size_t other) { return steps[order[other]].place == s.place; };
            shared_reads_ = (i > 0 && same(i - 1)) || (i + 1 < order.size() && same(i + 1));
            fixed_ = s.fixed;
            line(combined(p.nest.combine, sums[s.result], value(p.nest.value, s.at), s.at.width));
        }
        shared_reads_ = false;
        touched_.clear();
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
