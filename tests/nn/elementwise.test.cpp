// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/kernels/dual_pairs.hpp>
#include <augur/nn/kernels/elementwise.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <augur/core/isa.hpp>
#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

namespace kernels = augur::nn::kernels;

namespace {
std::vector<float> numbers(std::size_t n, augur::random_engine& rng) {
    std::vector<float> x(n);
    for (float& v : x) v = rng.below(5) == 0 ? 0.0F : static_cast<float>(rng.uniform(-2, 2));
    return x;
}

/// The forms of a kernel that this machine can run.
template <class F>
std::vector<F> forms_here(F generic, F avx2, F avx512) {
    std::vector<F> out{generic};
    if (augur::best_isa() >= augur::isa::avx2) out.push_back(avx2);
    if (augur::best_isa() >= augur::isa::avx512) out.push_back(avx512);
    return out;
}
#if defined(__x86_64__)
#define EVERY_FORM(NAME) forms_here(&kernels::detail::NAME##_generic, &kernels::detail::NAME##_avx2, &kernels::detail::NAME##_avx512)
#else
#define EVERY_FORM(NAME)                                                                                                                             \
    std::vector { &kernels::NAME }
#endif
} // namespace

TEST_CASE("elementwise: the same numbers as plain loops, whatever the length") {
    augur::random_engine rng(4);
    for (std::size_t n = 0; n < 70; ++n) {
        CAPTURE(n);
        const auto size = static_cast<std::ptrdiff_t>(n);
        std::vector<float> nan(n, std::nanf("")), kept = nan, added(n);
        kernels::relu(kept.data(), size);
        kernels::relu_add(nan.data(), nan.data(), added.data(), size);
        for (std::size_t i = 0; i < n; ++i) CHECK((std::isnan(kept[i]) && std::isnan(nan[i]) && std::isnan(added[i])));
        const auto x = numbers(n, rng), y = numbers(n, rng);
        auto a = x, b = x, c = y, d = x, hidden = x, sum = std::vector<float>(n);
        kernels::relu(a.data(), size);
        kernels::relu_backward(y.data(), b.data(), b.data(), size);
        kernels::add(x.data(), c.data(), size);
        kernels::relu_add(y.data(), hidden.data(), sum.data(), size);
        double squares = 0;
        for (std::size_t i = 0; i < n; ++i) {
            CHECK(a[i] == (x[i] > 0 ? x[i] : 0.0F));
            CHECK(b[i] == (y[i] > 0 ? x[i] : 0.0F));
            CHECK(c[i] == y[i] + x[i]);
            CHECK(hidden[i] == a[i]);
            CHECK(sum[i] == a[i] + y[i]);
            squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        }
        CHECK(kernels::square_sum(x.data(), size) == doctest::Approx(squares).epsilon(1e-14));
        auto pairs = x;
        kernels::relu_backward_pairs(y.data(), pairs.data(), pairs.data(), size / 2);
        for (std::size_t i = 0; i < n; ++i) CHECK(pairs[i] == (i / 2 * 2 + 1 < n && !(y[i / 2 * 2] > 0) ? 0.0F : x[i]));
        std::vector<float> values(n), tangents(n), both(2 * n), twice = numbers(2 * n, rng);
        const auto before = twice;
        kernels::join_pairs(x.data(), y.data(), both.data(), size, false);
        kernels::join_pairs(x.data(), y.data(), twice.data(), size, true);
        kernels::split_pairs(both.data(), values.data(), tangents.data(), size);
        CHECK((values == x && tangents == y));
        kernels::add_tangents(-0.5F, both.data(), values.data(), size);
        for (std::size_t i = 0; i < n; ++i) CHECK(values[i] == doctest::Approx(x[i] - 0.5F * y[i]));
        for (std::size_t i = 0; i < n; ++i) {
            CHECK((both[2 * i] == x[i] && both[2 * i + 1] == y[i]));
            CHECK((twice[2 * i] == before[2 * i] + x[i] && twice[2 * i + 1] == before[2 * i + 1] + y[i]));
        }
        auto shifted = x, back = x;
        kernels::softmax_backward(y.data(), 0.25F, 0.5F, back.data(), size);
        if (n > 0) kernels::softmax_shift(0.5F, shifted.data(), size);
        for (std::size_t i = 0; i < n; ++i) {
            CHECK(back[i] == y[i] * (x[i] - 0.25F) * 0.5F);
            CHECK(shifted[i] == (x[i] - *std::max_element(x.begin(), x.end())) * 0.5F);
        }
        // three rows that lie n + 1 apart
        const auto rows = numbers(3 * (n + 1), rng);
        kernels::add_rows(rows.data(), size + 1, 3, size, d.data());
        for (std::size_t i = 0; i < n; ++i) CHECK(d[i] == ((x[i] + rows[i]) + rows[n + 1 + i]) + rows[2 * (n + 1) + i]);
    }
}

TEST_CASE("elementwise: the form of each instruction set gives the numbers of plain loops, whatever the length, and writes nothing behind") {
    augur::random_engine rng(6);
    for (std::size_t n = 0; n < 70; ++n) {
        CAPTURE(n);
        const auto size = static_cast<std::ptrdiff_t>(n);
        const auto x = numbers(n + 1, rng), y = numbers(n + 1, rng), z = numbers(n + 1, rng), rows = numbers(3 * (n + 1), rng);
        std::vector<float> power(n);
        for (std::size_t i = 0; i < n; ++i) power[i] = std::exp(-std::abs(y[i]));
        // `call` runs a form on a copy of `from`, whose first n numbers become those of `formula`.
        const auto exactly = [&](const auto& forms, const std::vector<float>& from, const auto& call, const auto& formula) {
            auto want = from;
            for (std::size_t i = 0; i < n; ++i) want[i] = formula(i);
            for (const auto form : forms) {
                auto to = from;
                call(form, to.data());
                CHECK(to == want);
            }
        };
        const auto nearly = [&](const auto& forms, const std::vector<float>& from, const auto& call, const auto& formula) {
            for (const auto form : forms) {
                auto to = from;
                call(form, to.data());
                double worst = 0;
                for (std::size_t i = 0; i < n; ++i) worst = std::max(worst, std::abs(static_cast<double>(to[i]) - formula(i)));
                CHECK(worst < 1e-5);
                CHECK(to[n] == from[n]);
            }
        };
        const auto relu = [](float v) { return v > 0 ? v : 0.0F; };
        exactly(EVERY_FORM(relu), x, [&](auto f, float* to) { f(to, size); }, [&](std::size_t i) { return relu(x[i]); });
        exactly(
            EVERY_FORM(relu_backward), z, [&](auto f, float* to) { f(y.data(), x.data(), to, size); },
            [&](std::size_t i) { return y[i] > 0 ? x[i] : 0.0F; });
        exactly(EVERY_FORM(add), y, [&](auto f, float* to) { f(x.data(), to, size); }, [&](std::size_t i) { return y[i] + x[i]; });
        exactly(EVERY_FORM(scale), x, [&](auto f, float* to) { f(0.3F, to, size); }, [&](std::size_t i) { return x[i] * 0.3F; });
        exactly(
            EVERY_FORM(relu_add), z,
            [&](auto f, float* to) {
                auto hidden = x;
                f(y.data(), hidden.data(), to, size);
                for (std::size_t i = 0; i < n; ++i) CHECK(hidden[i] == relu(x[i]));
            },
            [&](std::size_t i) { return relu(x[i]) + y[i]; });
        exactly(
            EVERY_FORM(add_rows), x, [&](auto f, float* to) { f(rows.data(), size + 1, 3, size, to); },
            [&](std::size_t i) { return ((x[i] + rows[i]) + rows[n + 1 + i]) + rows[2 * (n + 1) + i]; });
        exactly(
            EVERY_FORM(softmax_backward), x, [&](auto f, float* to) { f(y.data(), 0.25F, 0.5F, to, size); },
            [&](std::size_t i) { return y[i] * (x[i] - 0.25F) * 0.5F; });
        if (n > 0) {
            const float most = *std::max_element(x.begin(), x.begin() + size);
            exactly(EVERY_FORM(softmax_shift), x, [&](auto f, float* to) { f(0.5F, to, size); }, [&](std::size_t i) { return (x[i] - most) * 0.5F; });
        }
        const std::size_t pairs = n / 2;
        exactly(
            EVERY_FORM(relu_backward_pairs), z, [&](auto f, float* to) { f(y.data(), x.data(), to, size / 2); },
            [&](std::size_t i) { return i >= 2 * pairs     ? z[i]
                                        : y[i / 2 * 2] > 0 ? x[i]
                                                           : 0.0F; });
        exactly(
            EVERY_FORM(join_pairs), z, [&](auto f, float* to) { f(x.data(), y.data(), to, size / 2, true); },
            [&](std::size_t i) { return i >= 2 * pairs ? z[i] : z[i] + (i % 2 == 0 ? x[i / 2] : y[i / 2]); });
        exactly(
            EVERY_FORM(split_pairs), z,
            [&](auto f, float* to) {
                auto tangents = y;
                f(x.data(), to, tangents.data(), size / 2);
                for (std::size_t i = 0; i < n; ++i) CHECK(tangents[i] == (i < pairs ? x[2 * i + 1] : y[i]));
            },
            [&](std::size_t i) { return i < pairs ? x[2 * i] : z[i]; });
        nearly(
            EVERY_FORM(add_tangents), z, [&](auto f, float* to) { f(-0.3F, x.data(), to, size / 2); },
            [&](std::size_t i) { return static_cast<double>(z[i]) - (i < pairs ? 0.3 * static_cast<double>(x[2 * i + 1]) : 0.0); });

        // GELU: u = 2 sqrt(2 / pi) (x + 0.044715 x^3), of which x sigmoid(u) is the value.
        const double root = 2 * std::sqrt(2 / std::acos(-1.0));
        const auto sigmoid = [&](std::size_t i) {
            const auto e = static_cast<double>(power[i]);
            return (x[i] < 0 ? e : 1.0) / (1 + e);
        };
        nearly(
            EVERY_FORM(gelu_argument), z, [&](auto f, float* to) { f(x.data(), to, size); },
            [&](std::size_t i) {
                const auto v = static_cast<double>(x[i]);
                return -std::abs(root * (v + 0.044715 * v * v * v));
            });
        nearly(
            EVERY_FORM(gelu_value), z, [&](auto f, float* to) { f(x.data(), power.data(), to, size); },
            [&](std::size_t i) { return static_cast<double>(x[i]) * sigmoid(i); });
        nearly(
            EVERY_FORM(gelu_slope), z, [&](auto f, float* to) { f(x.data(), power.data(), to, size); },
            [&](std::size_t i) {
                const auto v = static_cast<double>(x[i]);
                return static_cast<double>(z[i]) * (sigmoid(i) + v * sigmoid(i) * (1 - sigmoid(i)) * root * (1 + 3 * 0.044715 * v * v));
            });

        const kernels::adam_constants c{0.9F, 0.1F, 0.999F, 0.001F, 0.01F, 0.001F, 1.5F, 1e-8F};
        for (const auto form : EVERY_FORM(adam)) {
            auto p = x, mean = z, square = y;
            for (float& s : square) s *= s;
            const auto before = square;
            form(c, rows.data(), mean.data(), square.data(), p.data(), size);
            for (std::size_t i = 0; i < n; ++i) {
                const double d = static_cast<double>(rows[i]) + 0.01 * static_cast<double>(x[i]);
                const double m = 0.9 * static_cast<double>(z[i]) + 0.1 * d, v = 0.999 * static_cast<double>(before[i]) + 0.001 * d * d;
                CHECK(std::abs(static_cast<double>(mean[i]) - m) < 2e-6);
                CHECK(std::abs(static_cast<double>(square[i]) - v) < 2e-6);
                const double moved = 0.001 * m / (std::sqrt(v) * 1.5 + 1e-8);
                CHECK(std::abs(static_cast<double>(p[i]) - (static_cast<double>(x[i]) - moved)) < 5e-6 * (1 + std::abs(moved)));
            }
            CHECK((p[n] == x[n] && mean[n] == z[n] && square[n] == before[n]));
        }
    }
}
#undef EVERY_FORM

TEST_CASE("elementwise: pairs pass by their value alone, which may be any number") {
    const float infinite = std::numeric_limits<float>::infinity(), least = std::numeric_limits<float>::denorm_min();
    const float values[] = {0, -0.0F, 1, -1, least, -least, infinite, -infinite, std::nanf(""), -std::nanf("")};
    for (const float value : values)
        for (const float tangent : values) {
            std::vector<float> y(38), from(38);
            for (std::size_t i = 0; i < 38; i += 2) {
                y[i] = value;
                y[i + 1] = from[i] = tangent;
                from[i + 1] = 5;
            }
            auto to = from;
            kernels::relu_backward_pairs(y.data(), from.data(), to.data(), 19);
            for (std::size_t i = 0; i < 38; ++i)
                CHECK(std::bit_cast<std::uint32_t>(to[i]) == (value > 0 ? std::bit_cast<std::uint32_t>(from[i]) : 0U));
        }
}

TEST_CASE("elementwise: a row times a matrix and times a block of columns, of floats and of bf16, against doubles") {
    augur::random_engine rng(5);
    for (const std::ptrdiff_t k : {1, 2, 5, 12, 64})
        for (const std::ptrdiff_t n : {1, 16, 31, 70}) {
            CAPTURE(k);
            CAPTURE(n);
            const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
            const auto check = [&](const auto& of) {
                using number = std::decay_t<decltype(of(0.0F))>;
                const auto x = numbers(at(k), rng),
                           plain = numbers(at((k - 1) * n + n + kernels::row_product_slack + k * kernels::column_block), rng);
                std::vector<number> b;
                for (const float v : plain) b.push_back(of(v));
                const auto want = [&](std::ptrdiff_t row, std::ptrdiff_t c) {
                    double sum = 0;
                    for (std::ptrdiff_t i = 0; i < k; ++i)
                        sum += static_cast<double>(x[at(i)]) * static_cast<double>(kernels::to_float(b[at(i * row + c)]));
                    return sum;
                };
                std::vector<float> y(at(n) + 1, 3), block(at(kernels::column_block) + 1, 3);
                kernels::row_product(x.data(), k, b.data(), n, n, y.data(), false);
                for (std::ptrdiff_t c = 0; c < n; ++c) CHECK(std::abs(static_cast<double>(y[at(c)]) - want(n, c)) < 1e-5 * static_cast<double>(k));
                kernels::row_product(x.data(), k, b.data(), n, n, y.data(), true);
                for (std::ptrdiff_t c = 0; c < n; ++c)
                    CHECK(std::abs(static_cast<double>(y[at(c)]) - 2 * want(n, c)) < 2e-5 * static_cast<double>(k));
                kernels::column_block_product(x.data(), k, b.data(), block.data());
                for (std::ptrdiff_t c = 0; c < kernels::column_block; ++c)
                    CHECK(std::abs(static_cast<double>(block[at(c)]) - want(kernels::column_block, c)) < 1e-5 * static_cast<double>(k));
                CHECK((y.back() == 3 && block.back() == 3)); // nothing behind
            };
            check([](float v) { return v; });
            check([](float v) { return kernels::to_bf16(v); });
        }
}

TEST_CASE("elementwise: Adam's step in double") {
    augur::random_engine rng(5);
    for (const std::size_t n : {1U, 7U, 16U, 37U}) {
        auto p = numbers(n, rng), m = numbers(n, rng), v = numbers(n, rng);
        const auto g = numbers(n, rng);
        for (float& s : v) s *= s;
        const auto p0 = p, m0 = m, v0 = v;
        const kernels::adam_constants c{0.9F, 0.1F, 0.999F, 0.001F, 0.01F, 0.001F, 1.5F, 1e-8F};
        kernels::adam(c, g.data(), m.data(), v.data(), p.data(), static_cast<std::ptrdiff_t>(n));
        for (std::size_t i = 0; i < n; ++i) {
            const double d = static_cast<double>(g[i]) + 0.01 * static_cast<double>(p0[i]);
            const double mean = 0.9 * static_cast<double>(m0[i]) + 0.1 * d, square = 0.999 * static_cast<double>(v0[i]) + 0.001 * d * d;
            CHECK(static_cast<double>(m[i]) == doctest::Approx(mean).epsilon(1e-5));
            CHECK(static_cast<double>(v[i]) == doctest::Approx(square).epsilon(1e-5));
            const double moved = 0.001 * mean / (std::sqrt(square) * 1.5 + 1e-8);
            CHECK(std::abs(static_cast<double>(p[i]) - (static_cast<double>(p0[i]) - moved)) < 1e-6 * (1 + std::abs(moved)));
        }
    }
}
