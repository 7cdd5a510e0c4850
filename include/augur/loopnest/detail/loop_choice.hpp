// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_LOOP_CHOICE_HPP
#define AUGUR_LOOPNEST_DETAIL_LOOP_CHOICE_HPP

/// @file
/// Choice of the vectorised loop and the vectorised reduction loop of a lowered nest; shared by the C writer and by models of its code.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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

} // namespace augur::inline v0::loopnest::detail

#endif
