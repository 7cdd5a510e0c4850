// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/kernels/graph.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <augur/core/isa.hpp>
#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

namespace kernels = augur::nn::kernels;

namespace {

/// The kernels of one instruction set.
struct graph_kernels {
    decltype(&kernels::weighted_rows) weighted_rows;
    decltype(&kernels::add_scaled) add_scaled;
    decltype(&kernels::gated_sum_and_max) gated_sum_and_max;
    decltype(&kernels::scaled_relu) scaled_relu;
    decltype(&kernels::two_relus) two_relus;
    decltype(&kernels::row_maxima) row_maxima;
    decltype(&kernels::dot) dot;
    decltype(&kernels::all_finite) all_finite;
};

std::vector<graph_kernels> every_instruction_set() {
    namespace k = kernels;
    std::vector<graph_kernels> list{
        {k::weighted_rows, k::add_scaled, k::gated_sum_and_max, k::scaled_relu, k::two_relus, k::row_maxima, k::dot, k::all_finite}};
#if defined(__x86_64__)
    namespace d = kernels::detail;
    list.push_back({d::weighted_rows_generic, d::add_scaled_generic, d::gated_sum_and_max_generic, d::scaled_relu_generic, d::two_relus_generic,
                    d::row_maxima_generic, d::dot_generic, d::all_finite_generic});
    if (augur::best_isa() >= augur::isa::avx2)
        list.push_back({d::weighted_rows_avx2, d::add_scaled_avx2, d::gated_sum_and_max_avx2, d::scaled_relu_avx2, d::two_relus_avx2,
                        d::row_maxima_avx2, d::dot_avx2, d::all_finite_avx2});
    if (augur::best_isa() >= augur::isa::avx512)
        list.push_back({d::weighted_rows_avx512, d::add_scaled_avx512, d::gated_sum_and_max_avx512, d::scaled_relu_avx512, d::two_relus_avx512,
                        d::row_maxima_avx512, d::dot_avx512, d::all_finite_avx512});
#endif
    return list;
}

} // namespace

TEST_CASE("graph kernels: the same numbers as plain loops in double, whatever the width and the instruction set") {
    augur::random_engine rng(3);
    for (const graph_kernels& k : every_instruction_set())
        for (std::size_t n = 0; n < 140; n += n < 40 ? 1 : 13) {
            CAPTURE(n);
            constexpr std::size_t rows = 7;
            const auto width = static_cast<std::ptrdiff_t>(n), stride = width + 3, first = std::ptrdiff_t{5}; // row 5 is the first of the data
            std::vector<float> x(rows * (n + 3)), start(n), y(n), most(n);
            std::vector<std::int32_t> greatest(n);
            for (float& v : x) v = static_cast<float>(rng.below(9)) / 4 - 1; // often equal
            for (float& v : start) v = static_cast<float>(rng.uniform(-1, 1));
            const auto at = [&](std::ptrdiff_t row, std::size_t c) { return x[static_cast<std::size_t>(row - first) * (n + 3) + c]; };
            const kernels::row_source source{x.data(), stride, first};
            for (const std::size_t count : {0U, 1U, 6U}) {
                const std::array<std::ptrdiff_t, 6> which{7, 5, 11, 5, 8, 9};
                const std::array<double, 6> factors{0.5, -1, 0.25, 2, 1.0 / 3, 3};
                const auto used = static_cast<std::ptrdiff_t>(count);
                k.weighted_rows(source, which.data(), factors.data(), used, start.data(), y.data(), width);
                for (std::size_t c = 0; c < n; ++c) {
                    double sum = static_cast<double>(start[c]);
                    for (std::size_t m = 0; m < count; ++m) sum += factors[m] * static_cast<double>(at(which[m], c));
                    CHECK(static_cast<double>(y[c]) == doctest::Approx(sum).epsilon(1e-5).scale(1));
                }

                const std::array<std::int32_t, 6> nodes{7, 5, 11, 6, 8, 9};
                std::vector<float> weight(12);
                for (float& w : weight) w = static_cast<float>(rng.uniform());
                k.gated_sum_and_max(source, nodes.data(), count > 0 ? nodes[0] : -1, used, weight.data(), y.data(), most.data(), greatest.data(),
                                    width);
                for (std::size_t c = 0; c < n; ++c) {
                    double sum = 0;
                    std::int32_t best = count > 0 ? nodes[0] : -1;
                    for (std::size_t m = 0; m < count; ++m) {
                        sum += static_cast<double>(weight[static_cast<std::size_t>(nodes[m])]) * static_cast<double>(at(nodes[m], c));
                        if (at(nodes[m], c) > at(best, c)) best = nodes[m];
                    }
                    CHECK(static_cast<double>(y[c]) == doctest::Approx(sum).epsilon(1e-5).scale(1));
                    CHECK(greatest[c] == best);
                    CHECK(most[c] == (count > 0 ? at(best, c) : 0.0F));
                }
            }
            for (const std::ptrdiff_t count : {0, 1, 6}) {
                const std::array<std::ptrdiff_t, 6> which{7, 5, 11, 5, 8, 9};
                auto maxima = start;
                k.row_maxima(source, which.data(), count, maxima.data(), width);
                for (std::size_t c = 0; c < n; ++c) {
                    float most_of = start[c];
                    for (std::size_t m = 0; m < static_cast<std::size_t>(count); ++m) most_of = (std::max)(most_of, at(which[m], c));
                    CHECK(maxima[c] == most_of);
                }
            }
            std::vector<float> first_relu(n), in_place(x.begin(), x.begin() + width);
            k.scaled_relu(-1.5F, x.data(), start.data(), y.data(), width);
            k.two_relus(in_place.data(), -1.5F, start.data(), first_relu.data(), 0.5F, x.data() + stride, 0.25F, in_place.data(), width);
            for (std::size_t c = 0; c < n; ++c) {
                CHECK(static_cast<double>(y[c]) == doctest::Approx((std::max)(0.0F, start[c] - 1.5F * x[c])).epsilon(1e-5).scale(1));
                CHECK(first_relu[c] == y[c]);
                const float second = (std::max)(0.0F, at(first + 1, c) + 0.5F * x[c]);
                CHECK(static_cast<double>(in_place[c]) == doctest::Approx(second + 0.25F * y[c]).epsilon(1e-5).scale(1));
            }
            auto to = start;
            k.add_scaled(-1.5F, x.data(), to.data(), width);
            double product = 0;
            for (std::size_t c = 0; c < n; ++c) {
                CHECK(to[c] == doctest::Approx(start[c] - 1.5F * x[c]));
                product += static_cast<double>(x[c]) * static_cast<double>(start[c]);
            }
            CHECK(static_cast<double>(k.dot(x.data(), start.data(), width)) == doctest::Approx(product).epsilon(1e-4).scale(1));

            CHECK(k.all_finite(start.data(), width));
            for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::nanf("")})
                for (std::size_t c = 0; c < n; ++c) {
                    auto spoilt = start;
                    spoilt[c] = bad;
                    CHECK_FALSE(k.all_finite(spoilt.data(), width));
                }
            std::fill(to.begin(), to.end(), std::numeric_limits<float>::max());
            CHECK(k.all_finite(to.data(), width));
        }
}

TEST_CASE("graph kernels: a NaN stays one behind ReLU") {
    for (const graph_kernels& k : every_instruction_set())
        for (const std::ptrdiff_t n : {1, 16, 67}) {
            const std::vector<float> x(67, std::nanf("")), zeros(67, 0);
            std::vector<float> u(67), v(67);
            k.scaled_relu(1, x.data(), zeros.data(), u.data(), n);
            CHECK(std::isnan(u[static_cast<std::size_t>(n) - 1]));
            k.two_relus(x.data(), 1, zeros.data(), u.data(), 1, zeros.data(), 0, v.data(), n);
            CHECK((std::isnan(u[static_cast<std::size_t>(n) - 1]) && std::isnan(v[static_cast<std::size_t>(n) - 1])));
        }
}

TEST_CASE("graph kernels: a NaN in the first row stays the maximum, in another one it is no maximum") {
    for (const graph_kernels& k : every_instruction_set())
        for (const std::size_t n : {1U, 16U, 67U}) {
            std::vector<float> x(3 * n, 1), weight(3, 1), sums(n), most(n);
            std::vector<std::int32_t> greatest(n);
            const std::array<std::int32_t, 3> nodes{0, 1, 2};
            for (const std::size_t row : {0U, 1U}) {
                std::fill(x.begin(), x.end(), 1.0F);
                std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(row * n), n, std::nanf(""));
                const auto width = static_cast<std::ptrdiff_t>(n);
                k.gated_sum_and_max({x.data(), width}, nodes.data(), 0, 3, weight.data(), sums.data(), most.data(), greatest.data(), width);
                for (std::size_t c = 0; c < n; ++c) {
                    CHECK(std::isnan(sums[c]));
                    CHECK(std::isnan(most[c]) == (row == 0));
                    CHECK(greatest[c] == 0);
                }
            }
        }
}
