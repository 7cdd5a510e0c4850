// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/kernels/gemm.hpp>

#include <augur/nn/kernels/exp.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

namespace k = augur::nn::kernels;

namespace {
std::vector<float> draw(std::ptrdiff_t n, std::uint64_t seed) {
    augur::random_engine rng(seed);
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& x : v) x = static_cast<float>(rng.uniform(-1, 1));
    return v;
}
} // namespace

TEST_CASE("gemm: every instruction set, tail and transposition against a double loop") {
    for (const std::ptrdiff_t m : {1, 5, 6, 13, 50})
        for (const std::ptrdiff_t n : {1, 7, 16, 20, 33, 64, 100})
            for (const std::ptrdiff_t depth : {1, 31, 256, 300, 400})
                for (int mode = 0; mode < 6; ++mode) {
                    const bool at = mode % 3 == 1, bt = mode % 3 == 2, add = mode >= 3;
                    const auto a = draw(m * depth, 1), b = draw(depth * n, 2), c0 = draw(m * n, 3);
                    const k::operand A = at ? k::operand{a.data(), 1, m} : k::operand{a.data(), depth, 1};
                    const k::operand B = bt ? k::operand{b.data(), 1, depth} : k::operand{b.data(), n, 1};
                    std::vector<double> expected;
                    for (std::ptrdiff_t i = 0; i < m; ++i)
                        for (std::ptrdiff_t j = 0; j < n; ++j) {
                            double sum = add ? static_cast<double>(c0[static_cast<std::size_t>(i * n + j)]) : 0.0;
                            for (std::ptrdiff_t p = 0; p < depth; ++p)
                                sum += static_cast<double>(A.data[i * A.row + p * A.col]) * static_cast<double>(B.data[p * B.row + j * B.col]);
                            expected.push_back(sum);
                        }
                    for (const auto level : {k::isa::generic, k::isa::avx2, k::isa::avx512}) {
                        if (level > k::best_isa()) continue;
                        auto c = c0;
                        k::gemm(m, n, depth, A, B, c.data(), n, {add ? c.data() : nullptr, n}, level);
                        k::packed_operand packed;
                        packed.pack(depth, n, B, level);
                        auto same = c0;
                        packed.gemm(m, A, same.data(), n, {add ? same.data() : nullptr, n});
                        CHECK(same == c);
                        double worst = 0;
                        for (std::size_t i = 0; i < c.size(); ++i) worst = (std::max)(worst, std::abs(expected[i] - static_cast<double>(c[i])));
                        CAPTURE(m);
                        CAPTURE(n);
                        CAPTURE(depth);
                        CAPTURE(mode);
                        CHECK(worst < 2e-5);
                    }
                }
}

TEST_CASE("gemm: a row's result does not depend on the other rows, nor on the vector width") {
    const std::ptrdiff_t m = 29, n = 70, depth = 300;
    const auto a = draw(m * depth, 1), b = draw(depth * n, 2);
    std::vector<float> all(static_cast<std::size_t>(m * n)), one(static_cast<std::size_t>(n));
    k::gemm(m, n, depth, {a.data(), depth, 1}, {b.data(), n, 1}, all.data(), n);
    for (std::ptrdiff_t i = 0; i < m; ++i) {
        k::gemm(1, n, depth, {a.data() + i * depth, depth, 1}, {b.data(), n, 1}, one.data(), n);
        CHECK(std::equal(one.begin(), one.end(), all.begin() + i * n));
    }
    if (k::best_isa() == k::isa::avx512) {
        auto narrow = all;
        k::gemm(m, n, depth, {a.data(), depth, 1}, {b.data(), n, 1}, narrow.data(), n, {}, k::isa::avx2);
        CHECK(narrow == all);
    }
}

TEST_CASE("exp_nonpositive: against the standard library") {
    double worst = 0;
    for (float x = 0; x > -87; x -= 0.0037F) {
        const double expected = std::exp(static_cast<double>(x));
        worst = (std::max)(worst, std::abs(static_cast<double>(k::exp_nonpositive(x)) - expected) / expected);
    }
    CHECK(worst < 3e-7);
    CHECK(k::exp_nonpositive(0) == 1);
    CHECK(k::exp_nonpositive(-200) == 0);
    CHECK(k::exp_nonpositive(-1e30F) == 0);
    CHECK(std::isnan(k::exp_nonpositive(std::nanf(""))));
}

TEST_CASE("exp_nonpositive: many at once, at every length and level, in place") {
    for (const auto level : {k::isa::generic, k::best_isa()})
        for (std::ptrdiff_t n = 0; n <= 40; ++n) {
            std::vector<float> x;
            for (std::ptrdiff_t i = 0; i <= n; ++i) x.push_back(-87.0F * static_cast<float>(i * 7 % 41) / 40);
            const auto from = x;
            k::exp_nonpositive(x.data(), n, level);
            for (std::size_t i = 0; i + 1 < x.size(); ++i)
                CHECK(static_cast<double>(x[i]) == doctest::Approx(std::exp(static_cast<double>(from[i]))).epsilon(3e-7));
            CHECK(x.back() == from.back());
            std::vector<float> odd(static_cast<std::size_t>(n), -87.5F);
            if (n > 1) odd[1] = std::nanf("");
            k::exp_nonpositive(odd.data(), n, level);
            for (std::size_t i = 0; i < odd.size(); ++i) CHECK((i == 1 ? std::isnan(odd[i]) : odd[i] == 0));
        }
}
