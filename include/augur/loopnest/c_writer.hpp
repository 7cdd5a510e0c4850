// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_C_WRITER_HPP
#define AUGUR_LOOPNEST_C_WRITER_HPP

/// @file
/// Lowered kernels as C with GNU vector types.
///
/// The space loops behind the last reduce loop are a register tile: their results live in local vectors while the reduce loops around them run,
/// whatever the schedule's unroll pragma says (LLVM does the same for TVM). A tile larger than the register file is cut, evenly or not, into the
/// shape that is computed fastest, and the outer part of the cut moves outside the reduce loops, which is legal since no two elements of a space loop
/// meet. Where a tile has too few sums to hide their latency, several partial ones of each take turns.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/c_value.hpp>
#include <augur/loopnest/program.hpp>
#include <augur/loopnest/tile_shape.hpp>

namespace augur::inline v0 {

namespace detail {

class c_writer : private c_value {
public:
    c_writer(lowered_kernel k, const c_options& o) : c_value(std::move(k), o), choose_(o.vector_floats, o.vector_registers) {}

    program run() {
        program p;
        p.flops = kernel_.flops;
        p.entry = "aug_kernel_" + std::to_string(options_.id);
        std::string body = function(p.entry, kernel_.roots, true);
        if (!kernel_.packing.empty()) {
            p.pack_entry = "aug_pack_" + std::to_string(options_.id);
            body += function(p.pack_entry, kernel_.packing, false);
        }
        p.source = std::move(functions_) + body;
        for (const auto& b : kernel_.buffers) {
            using role = program_buffer::role;
            if (b.what == lowered_buffer::kind::local) continue; // they come last
            const auto what = b.what == lowered_buffer::kind::input    ? (b.constant ? role::weight : role::input)
                              : b.what == lowered_buffer::kind::output ? role::output
                              : b.what == lowered_buffer::kind::packed ? role::packed
                                                                       : role::scratch;
            p.buffers.push_back({what, b.elements, static_cast<std::uint64_t>(b.tensor)});
        }
        return p;
    }

private:
    tile_chooser choose_;

    std::string function(const std::string& name, const std::vector<std::size_t>& nests, bool launch) {
        open({});
        declare_buffers();
        for (const auto n : nests) block([&] { emit(kernel_.nests[n], 0); });
        const auto body = close();
        return "void " + name + (launch ? "(float *const *b, aug_launch launch) {\n(void)launch;\n" : "(float *const *b) {\n") + body + "}\n";
    }

    /// The loops that carry attached stages, then the rest as a core.
    void emit(const lowered_nest& n, std::size_t depth) {
        std::size_t core_begin = 0;
        for (std::size_t i = 0; i < n.loops.size(); ++i)
            if (!n.loops[i].attached.empty()) core_begin = i + 1;
        if (depth >= core_begin) return core(n, depth);
        if (n.combine != reducer::none && depth == n.first_reduce()) neutral(n, depth);
        const auto& l = n.loops[depth];
        loop(l.term, l.extent, l.annotation == loop_annotation::parallel, [&] {
            for (const auto a : l.attached) {
                const auto& nest = kernel_.nests[a];
                locals_.push_back(nest.buffer);
                line("float b" + std::to_string(nest.buffer) + "[" + std::to_string(kernel_.buffers[static_cast<std::size_t>(nest.buffer)].elements) +
                     "] __attribute__((aligned(64)));");
                block([&] { emit(nest, 0); });
            }
            block([&] { emit(n, depth + 1); });
            locals_.resize(locals_.size() - l.attached.size());
        });
    }

    /// Sets the results below `depth` to the neutral value, in memory.
    void neutral(const lowered_nest& n, std::size_t depth) {
        lowered_nest clear = n;
        clear.combine = reducer::none;
        clear.value = {};
        clear.value.op = expr_op::constant;
        clear.value.value = identity_of(n.combine);
        clear.loops.clear();
        clear.guards.clear();
        std::vector<int> reduce;
        for (std::size_t i = 0; i < n.loops.size(); ++i) {
            if (n.loops[i].reduce) reduce.push_back(n.loops[i].term);
            else if (i >= depth) clear.loops.push_back({n.loops[i].term, n.loops[i].extent, false, loop_annotation::none, {}});
        }
        for (const auto& g : n.guards)
            if (!depends_on(g, reduce)) clear.guards.push_back(g);
        block([&] { core(clear, 0); });
    }

    /// The largest divisor of `n` up to `limit`.
    static std::int64_t divisor(std::int64_t n, std::int64_t limit) {
        for (auto d = (std::min)(n, limit); d > 1; --d)
            if (n % d == 0) return d;
        return 1;
    }

    /// The loop whose iterations become lanes: the annotated one, else the innermost space loop along which the results lie side by side.
    [[nodiscard]] std::size_t vector_loop(const lowered_nest& n, const std::vector<lowered_loop>& loops) const {
        for (std::size_t i = loops.size(); i-- > 0;)
            if (loops[i].annotation == loop_annotation::vectorize) return i;
        for (std::size_t i = loops.size(); i-- > 0;)
            if (!loops[i].reduce && loops[i].annotation != loop_annotation::parallel && n.index.factor(loops[i].term) == 1) return i;
        return loops.size();
    }

    /// The factor of loop `term` in every read of `e` is 0 or 1; `one`: some is 1.
    [[nodiscard]] bool smooth(const lowered_expr& e, int term, bool& one) const {
        if (e.op == expr_op::read) {
            for (const auto& [t, f] : e.index.terms) {
                if (t == term && f != 1) return false;
                if (t != term && depends_on(term_table::value(t), {term})) return false;
                one = one || t == term;
            }
        }
        return std::all_of(e.operands.begin(), e.operands.end(), [&](const lowered_expr& o) { return smooth(o, term, one); });
    }

    /// A reduce loop along which the operands lie side by side, where they do not along the vector loop `v`. Its steps become lanes: the sum is
    /// another one than step by step, within the same bounds of rounding.
    [[nodiscard]] std::size_t sum_loop(const lowered_nest& n, const std::vector<lowered_loop>& loops, std::size_t v) const {
        if (n.combine == reducer::none) return loops.size();
        if (v < loops.size()) {
            bool one = false;
            if (loops[v].annotation == loop_annotation::vectorize || smooth(n.value, loops[v].term, one)) return loops.size();
        }
        for (std::size_t i = loops.size(); i-- > 0;) {
            bool one = false;
            if (!loops[i].reduce || loops[i].extent < 8 || !smooth(n.value, loops[i].term, one) || !one) continue;
            if (std::none_of(n.guards.begin(), n.guards.end(), [&](const affine& g) { return depends_on(g, {loops[i].term}); })) return i;
        }
        return loops.size();
    }

    /// A loop of the tile too long for the registers: whole parts, then what is left.
    struct cut {
        lowered_loop loop;
        std::int64_t part = 0;
        std::size_t at = 0; ///< the place in `plan::outer` where the parts are counted
    };

    /// How a core is written: loops, then reduce loops around the tile, then the tile.
    struct plan {
        lowered_nest nest; ///< with cut loops substituted
        std::vector<lowered_loop> outer;
        std::vector<lowered_loop> around; ///< the reduce loops during which the tile stays in registers
        std::vector<lowered_loop> tile;   ///< without the vector loop
        lowered_loop lanes;               ///< term -1: scalars
        lowered_loop sum_lanes;           ///< a reduce loop whose steps are lanes, folded at the end; term -1: none
        bool neutral_in_registers = false;
        std::vector<cut> cuts; ///< still to be written, in the order of `at`; their loops have the whole extent until then
    };

    /// The one read that a reduction combines as it is, or where it is inside the padding; null when it combines something else.
    [[nodiscard]] static const lowered_expr* only_read(const lowered_expr& e) {
        if (e.op == expr_op::read) return &e;
        if (e.op != expr_op::select || e.operands[2].op != expr_op::constant) return nullptr;
        return e.operands[1].op == expr_op::read ? &e.operands[1] : nullptr;
    }

    /// How the reads of a reduction overlap along the loops of a tile; `reduce` are the loops that run within it.
    [[nodiscard]] static std::vector<tile_window> windows_of(const lowered_nest& n, const std::vector<lowered_loop>& tile,
                                                             std::span<const lowered_loop> reduce) {
        std::vector<tile_window> out(tile.size());
        const auto* read = only_read(n.value);
        if (read == nullptr) return out;
        std::vector<bool> taken(reduce.size(), false);
        for (std::size_t i = 0; i < tile.size(); ++i) {
            const auto step = read->index.factor(tile[i].term);
            for (std::size_t k = 0; k < reduce.size(); ++k) {
                const auto within = read->index.factor(reduce[k].term);
                if (taken[k] || within <= 0 || step % within != 0 || step / within < 1 || step / within >= reduce[k].extent) continue;
                taken[k] = true;
                out[i] = {step / within, reduce[k].extent};
                break;
            }
        }
        return out;
    }

    [[nodiscard]] static bool overlap(const std::vector<tile_window>& windows) {
        return std::any_of(windows.begin(), windows.end(), [](const tile_window& w) { return w.stride > 0; });
    }

    /// Writes the loops from `depth` on; none of them carries attached stages.
    void core(const lowered_nest& n, std::size_t depth) {
        std::vector<lowered_loop> loops;
        for (std::size_t i = depth; i < n.loops.size(); ++i)
            if (n.loops[i].term >= 0) loops.push_back(n.loops[i]);
        bool begun = false; // the first reduce loop is outside: the results hold partial sums
        for (std::size_t i = 0; i < depth; ++i) begun = begun || n.loops[i].reduce;

        auto v = vector_loop(n, loops);
        plan p;
        if (const auto r = sum_loop(n, loops, v); r < loops.size()) {
            p.sum_lanes = loops[r];
            loops.erase(loops.begin() +
                        static_cast<std::ptrdiff_t>(r)); // it is written inside the others, wherever it stood: a reduction has no order here
            v = loops.size();
        }
        std::size_t behind = 0; // the first loop behind the last reduce loop
        for (std::size_t i = 0; i < loops.size(); ++i)
            if (loops[i].reduce) behind = i + 1;
        std::size_t group = behind; // the first of the reduce loops that end there
        while (group > 0 && loops[group - 1].reduce) --group;

        p.nest = n;
        const bool tiled = behind > 0 && p.sum_lanes.term < 0;
        std::vector<std::int64_t> extents;
        std::vector<lowered_loop> rows;
        for (std::size_t i = behind; tiled && i < loops.size(); ++i) {
            if (i == v || loops[i].annotation == loop_annotation::parallel) continue;
            rows.push_back(loops[i]);
            extents.push_back(loops[i].extent);
        }
        tile_shape shape;
        if (tiled) {
            std::int64_t steps = 1;
            for (std::size_t i = group; i < behind; ++i) steps *= loops[i].extent;
            const auto across = v < loops.size() ? loops[v].extent : 1;
            const auto windows = windows_of(n, rows, std::span(loops).subspan(group, behind - group));
            shape = overlap(windows) ? choose_.of_windows(across, extents, windows) : choose_.of_products(across, extents, steps);
        } else if (v < loops.size()) {
            const auto W = static_cast<std::int64_t>(options_.vector_floats);
            const auto e = loops[v].extent;
            shape.lanes = (std::min)(e, 4 * W);
            if (e > 4 * W && e % W == 0 && divisor(e / W, 4) > 1) shape.lanes = W * divisor(e / W, 4);
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
            } else if (i >= group && i < behind) {
                p.around.push_back(l);
            } else if (const bool inside = tiled && i >= behind && l.annotation != loop_annotation::parallel; inside && *next++ > 1) {
                p.tile.push_back(l);
                if (next[-1] < l.extent) p.cuts.push_back({l, next[-1], p.outer.size()});
            } else {
                p.outer.push_back(l);
            }
        }
        if (tiled) unroll(p, shape);
        p.neutral_in_registers =
            n.combine != reducer::none && !begun &&
            std::none_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(group), [](const lowered_loop& l) { return l.reduce; });
        write(p, 0);
    }

    /// Splits the innermost reduce loop when it is too long to be written out as a whole, so that some of its steps are.
    void unroll(plan& p, const tile_shape& shape) {
        auto sums = static_cast<std::int64_t>(segments(shape.lanes).size());
        for (const auto part : shape.parts) sums *= part;
        if (p.around.empty() || p.around.back().extent * sums <= most_written_out(p.nest)) return;
        const auto whole = p.around.back();
        auto inner = whole;
        inner.extent = divisor(whole.extent, std::clamp(most_written_out(p.nest) / sums, std::int64_t{1}, std::int64_t{8}));
        if (inner.extent == 1) return;
        auto& outer = p.around.back();
        outer.extent = whole.extent / inner.extent;
        outer.term = kernel_.terms.loop(outer.extent);
        inner.term = kernel_.terms.loop(inner.extent);
        substitute(p.nest, whole.term, term_table::value(outer.term) * inner.extent + term_table::value(inner.term));
        p.around.push_back(inner);
    }

    /// `count` parts of `size` iterations of a loop that was cut, from iteration `first` on.
    void write_parts(plan p, const lowered_loop& whole, std::int64_t first, std::int64_t count, std::int64_t size, std::size_t depth) {
        const int outer = count > 1 ? kernel_.terms.loop(count) : -1;
        auto inner = whole;
        inner.extent = size;
        inner.term = kernel_.terms.loop(size);
        substitute(p.nest, whole.term,
                   affine(first) + (outer >= 0 ? term_table::value(outer) * size : affine()) + term_table::value(inner.term));
        if (p.lanes.term == whole.term) p.lanes = inner;
        for (auto& l : p.tile)
            if (l.term == whole.term) l = inner;
        loop(outer, count, whole.annotation == loop_annotation::parallel, [&] { write(p, depth); });
    }

    void write(const plan& p, std::size_t depth) {
        if (!p.cuts.empty() && p.cuts.front().at == depth) {
            auto q = p;
            q.cuts.erase(q.cuts.begin());
            const auto& c = p.cuts.front();
            const auto left = c.loop.extent % c.part;
            write_parts(q, c.loop, 0, c.loop.extent / c.part, c.part, depth);
            if (left > 0) write_parts(q, c.loop, c.loop.extent - left, 1, left, depth);
            return;
        }
        if (depth == p.outer.size()) return tile(p);
        const auto& l = p.outer[depth];
        const bool reduced_before =
            std::any_of(p.outer.begin(), p.outer.begin() + static_cast<std::ptrdiff_t>(depth), [](const lowered_loop& x) { return x.reduce; });
        const bool begun = std::any_of(p.nest.loops.begin(), p.nest.loops.end(), [&](const lowered_loop& x) {
            return x.reduce && std::any_of(scopes_.begin(), scopes_.end(),
                                           [&](const scope& s) { return std::find(s.loops.begin(), s.loops.end(), x.term) != s.loops.end(); });
        });
        if (l.reduce && !reduced_before && !begun && p.nest.combine != reducer::none) {
            lowered_nest rest = p.nest;
            rest.loops.assign(p.outer.begin() + static_cast<std::ptrdiff_t>(depth), p.outer.end());
            rest.loops.insert(rest.loops.end(), p.around.begin(), p.around.end());
            rest.loops.insert(rest.loops.end(), p.tile.begin(), p.tile.end());
            if (p.lanes.term >= 0) rest.loops.push_back(p.lanes);
            neutral(rest, 0);
        }
        loop(l.term, l.extent, l.annotation == loop_annotation::parallel, [&] { write(p, depth + 1); });
    }

    /// Calls `f(lanes)` for every vector of the tile, with the tile's loops fixed.
    void each_vector(const plan& p, std::size_t depth, const std::function<void(const lanes&)>& f) {
        if (depth < p.tile.size()) {
            for (std::int64_t i = 0; i < p.tile[depth].extent; ++i) {
                fixed_.emplace_back(p.tile[depth].term, i);
                each_vector(p, depth + 1, f);
                fixed_.pop_back();
            }
            return;
        }
        if (p.lanes.term < 0) return f(lanes{});
        for (const auto& s : segments(p.lanes.extent)) f(lanes{p.lanes.term, s.first, s.width});
    }

    void tile(const plan& p) {
        std::vector<int> inside;
        for (const auto& l : p.tile) inside.push_back(l.term);
        if (p.lanes.term >= 0) inside.push_back(p.lanes.term);
        std::vector<int> reduce;
        for (const auto& l : p.nest.loops)
            if (l.reduce && l.term >= 0) reduce.push_back(l.term);
        std::vector<int> around;
        for (const auto& l : p.around) around.push_back(l.term);
        if (p.sum_lanes.term >= 0) around.push_back(p.sum_lanes.term);

        std::string whole; // the tile lies inside all guards
        std::vector<affine> per_step;
        bool slow_only = false;
        for (const auto& g : p.nest.guards) {
            const bool of_tile = depends_on(g, inside);
            if (depends_on(g, around)) {
                if (of_tile) slow_only = true;
                else per_step.push_back(g);
                continue;
            }
            const auto worst = kernel_.terms.sweep(g, [&](int t) { return std::find(inside.begin(), inside.end(), t) != inside.end(); }).first;
            const auto text = "(" + sum_text(worst) + ") >= 0";
            whole += (whole.empty() ? "" : " && ") + text;
        }
        const bool partial = std::any_of(p.nest.guards.begin(), p.nest.guards.end(), [&](const affine& g) { return depends_on(g, inside); });
        if (slow_only) return block([&] { points(p); });
        if (whole.empty()) return block([&] { vectors(p, per_step); });
        open({});
        vectors(p, per_step);
        const auto fast = close();
        std::string slow;
        if (partial) {
            open({});
            points(p);
            slow = close();
        }
        line("if (" + whole + ") {\n" + fast + "}" + (slow.empty() ? "" : " else {\n" + slow + "}"));
    }

    /// Vector operations of a reduction that may be written one behind the other.
    [[nodiscard]] std::int64_t most_written_out(const lowered_nest& n) const {
        return (std::min)((std::max)(n.auto_unroll_max_step, std::int64_t{64}), static_cast<std::int64_t>(options_.max_unrolled));
    }

    /// The tile in registers.
    void vectors(const plan& p, const std::vector<affine>& guards) {
        loaded_.clear();
        const auto& n = p.nest;
        const auto type = [](const lanes& l) { return l.width == 1 ? std::string("float") : "aug_v" + std::to_string(l.width); };
        if (n.combine == reducer::none) {
            each_vector(p, 0, [&](const lanes& l) { store(n.buffer, n.index, l, value(n.value, l)); });
            loaded_.clear();
            return;
        }
        std::vector<std::string> sums;
        each_vector(p, 0, [&](const lanes& l) {
            sums.push_back(fresh("a"));
            const value_text start = p.neutral_in_registers ? value_text{number(identity_of(n.combine)), false} : read(n.buffer, n.index, l);
            line(type(l) + " " + sums.back() + " = " + widened(start, l.width) + ";");
        });
        loaded_.clear();
        if (p.sum_lanes.term >= 0) return folded(p, sums, guards);
        const auto results = sums.size();
        const auto limit = most_written_out(n);
        std::size_t first_written_out = p.around.size();
        auto steps = static_cast<std::int64_t>(sums.size());
        while (first_written_out > 0 && guards.empty() && steps * p.around[first_written_out - 1].extent <= limit)
            steps *= p.around[--first_written_out].extent;
        const auto width = p.lanes.term < 0 ? std::size_t{1} : segments(p.lanes.extent).size();
        std::int64_t length = 1;
        for (const auto& l : p.around) length *= l.extent;
        const auto wished = choose_.turns(static_cast<std::int64_t>(results / width), static_cast<std::int64_t>(width), length);
        const auto partial = (std::min)(static_cast<std::size_t>(wished), static_cast<std::size_t>(steps) / results);
        for (std::size_t k = 1; k < partial; ++k)
            each_vector(p, 0, [&](const lanes& l) {
                sums.push_back(fresh("a"));
                line(type(l) + " " + sums.back() + " = " + widened({number(identity_of(n.combine)), false}, l.width) + ";");
            });
        if (partial <= 1 && guards.empty() && length * static_cast<std::int64_t>(results) <= most_shared && overlap(windows_of(n, p.tile, p.around)))
            return shared(p, sums);
        std::size_t turn = 0; // how many steps are written
        const auto body = [&] {
            std::size_t i = turn++ % partial * results;
            tile_terms_.clear();
            for (const auto& l : p.tile)
                if (width > 1) tile_terms_.push_back(l.term);
            each_vector(p, 0, [&](const lanes& l) {
                const auto v = value(n.value, l);
                line(combined(n.combine, sums[i++], v, l.width));
            });
            tile_terms_.clear();
        };
        const auto enter = [&](auto&& self, std::size_t depth) -> void {
            if (depth == p.around.size()) {
                if (guards.empty()) return body();
                std::string inside;
                for (const auto& g : guards) inside += (inside.empty() ? "(" : " && (") + sum_text(known(g)) + ") >= 0";
                open({});
                body();
                const auto text = close();
                loaded_.clear();
                return line("if (" + inside + ") {\n" + text + "}");
            }
            const auto& l = p.around[depth];
            if (depth < first_written_out) {
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
        std::size_t i = 0;
        each_vector(p, 0, [&](const lanes& l) {
            for (auto k = i + results; k < sums.size(); k += results) line(combined(n.combine, sums[i], {sums[k], l.width > 1}, l.width));
            store(n.buffer, n.index, l, {sums[i++], l.width > 1});
        });
        loaded_.clear();
    }

    static constexpr std::int64_t most_shared = 512; ///< operations of a tile of windows that are written out

    /// A tile of windows: every step is written out, and what several windows read is loaded once and combined with all of them at once, so that it
    /// needs no register for long.
    void shared(const plan& p, const std::vector<std::string>& sums) {
        const auto& n = p.nest;
        struct common {
            value_text value;
            int width;
            std::vector<std::size_t> takers; // the results that combine it
        };
        std::vector<common> reads;
        in_place_ = true;
        const auto enter = [&](auto&& self, std::size_t depth) -> void {
            if (depth < p.around.size()) {
                for (std::int64_t i = 0; i < p.around[depth].extent; ++i) {
                    fixed_.emplace_back(p.around[depth].term, i);
                    self(self, depth + 1);
                    fixed_.pop_back();
                }
                return;
            }
            std::size_t i = 0;
            each_vector(p, 0, [&](const lanes& l) {
                const auto v = value(n.value, l);
                auto at = std::find_if(reads.begin(), reads.end(), [&](const common& r) { return r.width == l.width && r.value.text == v.text; });
                if (at == reads.end()) at = reads.insert(at, {v, l.width, {}});
                at->takers.push_back(i++);
            });
        };
        enter(enter, 0);
        in_place_ = false;
        for (auto& [v, width, takers] : reads) {
            if (takers.size() > 1) {
                const auto name = fresh("x");
                line("const " + (v.vector ? "aug_v" + std::to_string(width) : std::string("float")) + " " + name + " = " + v.text + ";");
                v.text = name;
            }
            for (const auto i : takers) line(combined(n.combine, sums[i], v, width));
        }
        std::size_t i = 0;
        each_vector(p, 0, [&](const lanes& l) { store(n.buffer, n.index, l, {sums[i++], l.width > 1}); });
        loaded_.clear();
    }

    /// The one element of a tile whose reduction runs over lanes: some independent vectors, what is left one by one, and the fold.
    void folded(const plan& p, const std::vector<std::string>& sums, const std::vector<affine>& guards) {
        const auto& n = p.nest;
        const auto r = p.sum_lanes;
        const auto W = static_cast<std::int64_t>(options_.vector_floats);
        const int width = static_cast<int>((std::min)(W, static_cast<std::int64_t>(segments(r.extent).front().width)));
        const auto count = (std::min)(r.extent / width, std::int64_t{4});
        const auto whole = r.extent / (width * count);
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
                substitute(moving, r.term, base + term_table::value(inner));
                const auto v = value(moving, lanes{inner, 0, width});
                line(combined(n.combine, parts[static_cast<std::size_t>(i)], v, width));
            }
        };
        const auto rest = [&] {
            for (auto at = whole * width * count; at < r.extent;) {
                const auto wide = at + width <= r.extent;
                moving = n.value;
                substitute(moving, r.term, affine(at) + (wide ? term_table::value(inner) : affine()));
                const auto v = value(moving, wide ? lanes{inner, 0, width} : lanes{});
                line(combined(n.combine, wide ? parts.front() : sums.front(), v, wide ? width : 1));
                at += wide ? width : 1;
            }
        };
        const auto enter = [&](auto&& self, std::size_t depth) -> void {
            loaded_.clear();
            if (depth < p.around.size()) return loop(p.around[depth].term, p.around[depth].extent, false, [&] { self(self, depth + 1); });
            std::string inside;
            for (const auto& g : guards) inside += (inside.empty() ? "if ((" : " && (") + sum_text(g) + ") >= 0";
            open({});
            loop(whole > 1 ? outer : -1, whole, false, [&] {
                steps();
                loaded_.clear();
            });
            rest();
            loaded_.clear();
            const auto text = close();
            line(inside + (inside.empty() ? "{\n" : ") {\n") + text + "}");
        };
        enter(enter, 0);
        const char* fold = n.combine == reducer::sum ? "aug_fold_sum" : n.combine == reducer::max ? "aug_fold_max" : "aug_fold_min";
        for (std::size_t i = 1; i < parts.size(); ++i) line(combined(n.combine, parts.front(), {parts[i], true}, width));
        line(combined(n.combine, sums.front(), {fold + std::to_string(width) + "(" + parts.front() + ")", false}, 1));
        store(n.buffer, n.index, lanes{}, {sums.front(), false});
        loaded_.clear();
    }

    /// The tile element by element, each behind its guards.
    void points(const plan& p) {
        auto loops = p.tile;
        if (p.lanes.term >= 0) loops.push_back(p.lanes);
        const auto& n = p.nest;
        std::vector<int> around;
        for (const auto& l : p.around) around.push_back(l.term);
        auto steps = p.around;
        if (p.sum_lanes.term >= 0) steps.push_back(p.sum_lanes);
        const auto test = [&](bool moving) {
            std::string text;
            for (const auto& g : n.guards)
                if (depends_on(g, around) == moving) text += (text.empty() ? "(" : " && (") + sum_text(g) + ") >= 0";
            return text;
        };
        const auto under = [&](const std::string& condition, const auto& f) {
            open({});
            loaded_.clear();
            f();
            loaded_.clear();
            const auto body = close();
            line((condition.empty() ? "" : "if (" + condition + ") ") + std::string("{\n") + body + "}");
        };
        const auto element = [&] {
            if (n.combine == reducer::none) return store(n.buffer, n.index, lanes{}, value(n.value, lanes{}));
            const auto sum = fresh("a");
            line("float " + sum + " = " + (p.neutral_in_registers ? number(identity_of(n.combine)) : read(n.buffer, n.index, lanes{}).text) + ";");
            loaded_.clear();
            const auto enter = [&](auto&& self, std::size_t depth) -> void {
                if (depth < steps.size()) return loop(steps[depth].term, steps[depth].extent, false, [&] { self(self, depth + 1); });
                under(test(true), [&] { line(combined(n.combine, sum, value(n.value, lanes{}), 1)); });
            };
            enter(enter, 0);
            store(n.buffer, n.index, lanes{}, {sum, false});
        };
        const auto enter = [&](auto&& self, std::size_t depth) -> void {
            if (depth < loops.size()) return loop(loops[depth].term, loops[depth].extent, false, [&] { self(self, depth + 1); });
            under(test(false), element);
        };
        enter(enter, 0);
    }
};

} // namespace detail

/// Writes a lowered kernel as C.
/// Nothing of the DAG's text reaches the source: names are made from numbers.
[[nodiscard]] inline program write_c(const lowered_kernel& kernel, const c_options& options = {}) { return detail::c_writer(kernel, options).run(); }

} // namespace augur::inline v0

#endif
