// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_NEST_LOOPS_HPP
#define AUGUR_LOOPNEST_DETAIL_NEST_LOOPS_HPP

/// @file
/// Queries on the loops of a lowered nest, for its tile plan: along which loop data is contiguous, which reads overlap; and substitution of loop
/// variables.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

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

/// True if vectors along loop `term` may have lanes behind its last iteration: results and operands are adjacent along it, or do not depend on it.
inline bool lanes_may_end_anywhere(const term_table& terms, const lowered_nest& n, int term) {
    bool one = false;
    lowered_expr result = n.value; // as a read of the result
    result.op = expr_op::read;
    result.index = n.index;
    result.operands.clear();
    return smooth(terms, result, term, one) && one && smooth(terms, n.value, term, one) && (!n.epilogue || smooth(terms, *n.epilogue, term, one));
}

/// Calls `f` for each read in `e`.
template <class F>
void each_read(const lowered_expr& e, const F& f) {
    if (e.op == expr_op::read) f(e);
    for (const auto& o : e.operands) each_read(o, f);
}

/// True if one iteration of loop `rows` is as far as all of loop `row` in every read of `n`, and neither decides a condition.
inline bool contiguous(const term_table& terms, const lowered_nest& n, int rows, const lowered_loop& row) {
    const auto decides = [&](const affine& a) { return terms.depends(a, [&](int t) { return t == rows || t == row.term; }); };
    const auto in = [&](const auto& self, const lowered_expr& e) -> bool {
        if (e.op == expr_op::read) {
            auto rest = e.index;
            std::erase_if(rest.terms, [&](const auto& t) { return t.first == rows || t.first == row.term; });
            return e.index.factor(rows) == e.index.factor(row.term) * row.extent && !decides(rest);
        }
        return !decides(e.index) && std::all_of(e.operands.begin(), e.operands.end(), [&](const lowered_expr& o) { return self(self, o); });
    };
    return in(in, n.value) && std::none_of(n.guards.begin(), n.guards.end(), decides);
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

/// True if the loops reduce over few steps, such as a depthwise window: a tile then runs all of them.
inline bool is_short_reduction(const std::vector<lowered_loop>& loops) {
    constexpr std::int64_t most_steps = 96; // a window of 7 x 7, or of 3 x 3 and 8 channels of a group
    std::int64_t steps = 1;
    for (const auto& l : loops)
        if (l.reduce) steps = (std::min)(steps * l.extent, most_steps + 1);
    return steps <= most_steps;
}

/// True if the tiles of a reduction with these loops run all its steps, so that no partial sum goes through memory.
inline bool stays_in_registers(const std::vector<lowered_loop>& loops) {
    const auto reduces = [](const lowered_loop& l) { return l.reduce && l.term >= 0; };
    const auto first = std::find_if(loops.begin(), loops.end(), reduces);
    if (std::any_of(first, loops.end(), [](const lowered_loop& l) { return !l.attached.empty(); })) return false;
    if (is_short_reduction(loops)) return true;
    const auto behind = std::find_if(first, loops.end(), [](const lowered_loop& l) { return !l.reduce && l.term >= 0; });
    return std::none_of(behind, loops.end(), reduces);
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
    if (n.epilogue) substitute(terms, *n.epilogue, term, replacement);
}

/// The nest that stores the neutral value of the reduction `n` to its results, over the space loops from `depth` on.
inline lowered_nest neutral_nest(const term_table& terms, const lowered_nest& n, std::size_t depth) {
    lowered_nest clear = n;
    clear.combine = reducer::none;
    clear.epilogue.reset();
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

/// Removes from `e`, a product, the conditions under which a factor is a zero between the elements of a dilated image, and adds them to `phases`:
/// equations of remainders, as a transposed convolution has. Steps in which one does not hold add nothing.
inline void take_phases(lowered_expr& e, std::vector<lowered_expr>& phases) {
    if (e.op == expr_op::mul) {
        for (auto& o : e.operands) take_phases(o, phases);
        return;
    }
    if (e.op != expr_op::select || e.operands[2].op != expr_op::constant || e.operands[2].value != 0) return;
    const auto rest = [&](const auto& self, const lowered_expr& c) -> std::optional<lowered_expr> {
        if (c.op == expr_op::equal) {
            phases.push_back(c);
            return std::nullopt;
        }
        if (c.op != expr_op::logical_and) return c;
        auto a = self(self, c.operands[0]), b = self(self, c.operands[1]);
        if (!a || !b) return a ? a : b;
        auto both = c;
        both.operands = {*std::move(a), *std::move(b)};
        return both;
    };
    auto left = rest(rest, e.operands[0]);
    auto inner = std::move(e.operands[1]);
    take_phases(inner, phases);
    if (!left) {
        e = std::move(inner);
        return;
    }
    e.operands[0] = *std::move(left);
    e.operands[1] = std::move(inner);
}

/// The conditions that `take_phases` finds in a sum of products; none if they differ between the lanes of loop `lanes`.
inline std::vector<lowered_expr> phases_of(const term_table& terms, const lowered_nest& n, int lanes, lowered_expr* without = nullptr) {
    std::vector<lowered_expr> phases;
    if (n.combine != reducer::sum || n.value.op != expr_op::mul) return phases;
    auto value = n.value;
    take_phases(value, phases);
    const auto moves = [&](const lowered_expr& c) { return terms.depends(c.index, [&](int t) { return t == lanes; }); };
    if (std::any_of(phases.begin(), phases.end(), moves)) return {};
    if (without != nullptr) *without = std::move(value);
    return phases;
}

/// The number of iterations of `loop` after which the conditions `phases` repeat: of so many adjacent results, one needs a given step of the reduction.
inline std::int64_t period_of(const term_table& terms, const std::vector<lowered_expr>& phases, int loop) {
    std::int64_t period = 1;
    for (const auto& c : phases)
        for (const auto& [t, f] : c.index.terms) {
            const auto& x = terms[t];
            if (x.type != term_table::term::kind::remainder) continue;
            if (const auto step = x.operand.factor(loop); step != 0) period = (std::max)(period, x.divisor / std::gcd(x.divisor, step));
        }
    return period;
}

/// The overlap of one read of a reduction along each loop of a tile; `reduce` are the reduce loops around the tile.
inline std::vector<tile_window> windows_of(const affine& read, const std::vector<lowered_loop>& tile, std::span<const lowered_loop> reduce) {
    std::vector<tile_window> out(tile.size());
    std::vector<bool> taken(reduce.size(), false);
    for (std::size_t i = 0; i < tile.size(); ++i) {
        const auto step = read.factor(tile[i].term);
        for (std::size_t k = 0; k < reduce.size(); ++k) {
            const auto reduce_factor = read.factor(reduce[k].term);
            if (taken[k] || reduce_factor <= 0 || step % reduce_factor != 0 || step / reduce_factor < 1 || step / reduce_factor >= reduce[k].extent)
                continue;
            taken[k] = true;
            out[i] = {step / reduce_factor, reduce[k].extent};
            break;
        }
    }
    return out;
}

/// As above, for a reduction that combines a single read.
inline std::vector<tile_window> windows_of(const lowered_nest& n, const std::vector<lowered_loop>& tile, std::span<const lowered_loop> reduce) {
    const auto* read = only_read(n.value);
    return read == nullptr ? std::vector<tile_window>(tile.size()) : windows_of(read->index, tile, reduce);
}

/// A product of an image, whose windows overlap between the results of a tile, and a filter that differs between lanes at most, as in a depthwise
/// convolution. Along the loops `fixed`, the filter differs as well, so that a tile has one iteration of them.
struct windowed_product {
    const lowered_expr* image = nullptr;
    const lowered_expr* filter = nullptr;
    std::vector<bool> fixed;
};
inline std::optional<windowed_product> windowed_product_of(const term_table& terms, const lowered_nest& n, const std::vector<lowered_loop>& tile) {
    if (n.combine != reducer::sum || n.value.op != expr_op::mul) return std::nullopt;
    const auto* a = only_read(n.value.operands[0]);
    const auto* b = only_read(n.value.operands[1]);
    if (a == nullptr || b == nullptr) return std::nullopt;
    const auto moves = [&](const lowered_expr& read, const lowered_loop& l) { return terms.depends(read.index, [&](int t) { return t == l.term; }); };
    windowed_product out{a, b, {}};
    std::size_t of_a = 0, of_b = 0; // loops along which only one of them moves
    for (const auto& l : tile) {
        of_a += moves(*a, l) && !moves(*b, l) ? 1U : 0U;
        of_b += moves(*b, l) && !moves(*a, l) ? 1U : 0U;
    }
    if (of_b > of_a) std::swap(out.image, out.filter);
    for (const auto& l : tile) out.fixed.push_back(moves(*out.filter, l));
    return of_a + of_b > 0 ? std::optional(std::move(out)) : std::nullopt;
}

inline bool overlap(const std::vector<tile_window>& windows) {
    return std::any_of(windows.begin(), windows.end(), [](const tile_window& w) { return w.stride > 0; });
}

} // namespace augur::inline v0::loopnest::detail

#endif
