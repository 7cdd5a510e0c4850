// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quotients and remainders of affine forms, against their values at every point of the loops.
#include <augur/loopnest/detail/affine.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>

namespace affine_test {

using augur::loopnest::affine;
using augur::loopnest::term_table;

namespace {

/// The value of a form where loop i has the value values[i]; loops are the first terms of the table.
std::int64_t value_of(const term_table& terms, const affine& a, const std::vector<std::int64_t>& values) {
    std::int64_t out = a.constant;
    for (const auto& [t, f] : a.terms) {
        const auto& term = terms[t];
        if (term.type == term_table::term::kind::loop) {
            out += f * values[static_cast<std::size_t>(t)];
            continue;
        }
        const auto inner = value_of(terms, term.operand, values);
        const auto quotient = augur::loopnest::floor_div(inner, term.divisor);
        out += f * (term.type == term_table::term::kind::quotient ? quotient : inner - quotient * term.divisor);
    }
    return out;
}

} // namespace

TEST_CASE("affine: quotient and remainder are those of the value, at every point") {
    augur::random_engine rng(1);
    constexpr std::int64_t factors[] = {-32, -6, -1, 1, 2, 3, 4, 8, 12, 16, 32, 48, 80, 160}, extents[] = {1, 2, 3, 4, 5, 8, 16};
    for (int i = 0; i < 400; ++i) {
        term_table terms;
        affine a(static_cast<std::int64_t>(rng.below(64)) - 32);
        std::vector<std::int64_t> lengths;
        for (int loop = 0; loop < 3; ++loop) {
            lengths.push_back(extents[rng.below(7)]);
            a.add(term_table::value(terms.loop(lengths.back())), factors[rng.below(14)]);
        }
        for (const std::int64_t divisor : {1, 2, 3, 4, 6, 16, 32, 80, 96, 160}) {
            CAPTURE(divisor);
            const auto quotient = terms.quotient(a, divisor), remainder = terms.remainder(a, divisor);
            bool same = true;
            for (std::int64_t x = 0; x < lengths[0]; ++x)
                for (std::int64_t y = 0; y < lengths[1]; ++y)
                    for (std::int64_t z = 0; z < lengths[2]; ++z) {
                        const std::vector<std::int64_t> at{x, y, z};
                        const auto whole = value_of(terms, a, at), q = augur::loopnest::floor_div(whole, divisor);
                        same = same && value_of(terms, quotient, at) == q && value_of(terms, remainder, at) == whole - q * divisor;
                    }
            CHECK(same);
        }
    }
}

TEST_CASE("affine: what lies below a divisor's base does not stand in the quotient") {
    term_table terms;
    const int q = terms.loop(15), t = terms.loop(32);
    const auto a = term_table::value(q) * 32 + term_table::value(t);
    CHECK(terms.quotient(a, 160) == terms.quotient(term_table::value(q), 5));
    CHECK(terms.remainder(a, 160) == terms.remainder(term_table::value(q), 5) * 32 + term_table::value(t));
}

} // namespace affine_test
