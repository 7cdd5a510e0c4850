// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/kernels/panel_layer.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/nn/kernels/packed_linear.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"

namespace k = augur::nn::kernels;

namespace {

/// Exact in T.
template <class T = k::bf16>
std::vector<double> draw(std::ptrdiff_t n, std::uint64_t seed) {
    augur::random_engine rng(seed);
    std::vector<double> v(static_cast<std::size_t>(n));
    for (double& x : v) {
        const auto exact = static_cast<float>(rng.uniform(-1, 1));
        x = static_cast<double>(sizeof(T) == sizeof(float) ? exact : k::to_float(k::to_bf16(exact)));
    }
    return v;
}
template <class T>
T as(double x) {
    if constexpr (std::is_same_v<T, float>) return static_cast<float>(x);
    else return k::to_bf16(static_cast<float>(x));
}

/// Products, gathered rows and all four ends against a double loop.
template <class T>
void check(const k::panel_kernels<T>& kernels, double tolerance) {
    const std::ptrdiff_t w = kernels.width;
    for (const std::ptrdiff_t m : {1, 5, 6, 7, 22, 77})
        for (const std::ptrdiff_t n : {w, 3 * w - 7})
            for (const std::ptrdiff_t depth : {1, 8, 31, 256}) {
                const std::ptrdiff_t room = kernels.amx ? (depth + 31) / 32 * 32 : (depth + 1) / 2 * 2, out = (n + w - 1) / w * w;
                const auto a = draw<T>(m * depth, 1), b = draw<T>(depth * n, 2), bias = draw<float>(n, 3), x = draw<T>(m * out, 4);
                const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
                const k::packed_panels<T> packed(
                    kernels, depth, n, [&](auto i, auto c) { return static_cast<float>(b[at(i * n + c)]); },
                    [&](auto c) { return static_cast<float>(bias[at(c)]); });
                std::vector<T> A(at((m + 15) / 16 * 16 * room)), X(x.size()), Y(at(m * out) + 1, as<T>(77));
                std::vector<k::bf16> halves(at(64 * room));
                for (std::ptrdiff_t i = 0; i < m * depth; ++i) A[at(i / depth * room + i % depth)] = as<T>(a[at(i)]);
                for (std::size_t i = 0; i < x.size(); ++i) X[i] = as<T>(x[i]);
                std::vector<double> sum(at(m * n));
                for (std::ptrdiff_t i = 0; i < m * n; ++i) {
                    sum[at(i)] = bias[at(i % n)];
                    for (std::ptrdiff_t p = 0; p < depth; ++p) sum[at(i)] += a[at(i / n * depth + p)] * b[at(p * n + i % n)];
                }
                CAPTURE(m);
                CAPTURE(n);
                CAPTURE(depth);
                for (const auto end : {k::panel_end::linear, k::panel_end::relu, k::panel_end::residual}) {
                    CAPTURE(static_cast<int>(end));
                    k::layer_rows<T> rows;
                    rows.a = A.data();
                    rows.a_row = room;
                    rows.y = Y.data();
                    rows.y_row = out;
                    rows.x = X.data();
                    rows.x_row = out;
                    rows.room = halves.data();
                    k::panel_layer<T>(kernels, end, m, rows, packed);
                    CHECK(Y.back() == as<T>(77)); // nothing behind the last row
                    double worst = 0;
                    for (std::ptrdiff_t i = 0; i < m * n; ++i) {
                        double want = sum[at(i)];
                        if (end != k::panel_end::linear) want = std::max(want, 0.0);
                        if (end == k::panel_end::residual) want += x[at(i / n * out + i % n)];
                        worst = std::max(worst, std::abs(want - static_cast<double>(k::to_float(Y[at(i / n * out + i % n)]))) / (1 + std::abs(want)));
                    }
                    CHECK(worst < tolerance);
                }
                std::vector<float> sums(at(m * out) + 1, 77); // in float, whatever T is
                k::layer_rows<T> in_float;
                in_float.a = A.data();
                in_float.a_row = room;
                in_float.sums = sums.data();
                in_float.sums_row = out;
                in_float.room = halves.data();
                k::panel_layer<T>(kernels, k::panel_end::sums, m, in_float, packed);
                CHECK(sums.back() == 77);
                double off = 0;
                for (std::ptrdiff_t i = 0; i < m * n; ++i)
                    off = std::max(off, std::abs(sum[at(i)] - static_cast<double>(sums[at(i / n * out + i % n)])) / (1 + std::abs(sum[at(i)])));
                CHECK(off < (kernels.amx && sizeof(T) == sizeof(float) ? tolerance : 1e-5));
                // a start for each row
                const auto own = draw<float>(m * out, 6);
                std::vector<float> owns(own.begin(), own.end());
                std::vector<const float*> begins(at(m));
                for (std::ptrdiff_t r = 0; r < m; ++r) begins[at(r)] = owns.data() + (m - 1 - r) * out;
                k::layer_rows<T> each;
                each.a = A.data();
                each.a_row = room;
                each.y = Y.data();
                each.y_row = out;
                each.init = begins.data();
                each.room = halves.data();
                k::panel_layer<T>(kernels, k::panel_end::linear, m, each, packed);
                double farthest = 0;
                for (std::ptrdiff_t i = 0; i < m * n; ++i) {
                    const double want = sum[at(i)] - bias[at(i % n)] + own[at((m - 1 - i / n) * out + i % n)];
                    farthest =
                        std::max(farthest, std::abs(want - static_cast<double>(k::to_float(Y[at(i / n * out + i % n)]))) / (1 + std::abs(want)));
                }
                CHECK(farthest < tolerance);
                // the panel in segments that lie in another order, and the fold of two halves
                if (kernels.amx || depth % 8 != 0 || n < w) continue;
                const std::ptrdiff_t segments = depth / 8, size = 8 * w;
                std::vector<T> scattered(at(segments * size));
                std::vector<const T*> where(at(segments));
                for (std::ptrdiff_t s = 0; s < segments; ++s) {
                    where[at(s)] = scattered.data() + (segments - 1 - s) * size;
                    std::copy_n(packed.weights.data() + s * size, size, scattered.data() + (segments - 1 - s) * size);
                }
                const auto start = draw<float>(m * w, 5);
                std::vector<float> starts(start.begin(), start.end());
                std::vector<const float*> init(at(m));
                for (std::ptrdiff_t r = 0; r < m; ++r) init[at(r)] = starts.data() + (m - 1 - r) * w;
                k::panel_tile<T> t;
                t.a = A.data();
                t.a_row = room;
                t.a_segment = 8;
                t.segments = where.data();
                t.count = segments;
                t.steps = 8 / kernels.pair;
                t.init = init.data();
                t.init_next = 1;
                t.y = Y.data();
                t.y_row = out;
                kernels(k::panel_end::fold, m, t);
                double worst = 0;
                for (std::ptrdiff_t r = 0; r < m; ++r)
                    for (std::ptrdiff_t c = 0; c < w / 2; ++c) {
                        const auto of = [&](std::ptrdiff_t column) {
                            return sum[at(r * n + column)] - bias[at(column)] + start[at((m - 1 - r) * w + column)];
                        };
                        const double want = std::max(of(c + w / 2), 0.0) + of(c);
                        worst = std::max(worst, std::abs(want - static_cast<double>(k::to_float(Y[at(r * out + c)]))) / (1 + std::abs(want)));
                    }
                CHECK(worst < tolerance);
                std::vector<float> whole(at(m * w)); // and the sums themselves, in float whatever T is
                t.y = nullptr;
                t.y_row = 0;
                t.sums = whole.data();
                t.sums_row = w;
                kernels(k::panel_end::sums, m, t);
                for (std::ptrdiff_t i = 0; i < m * w; ++i) {
                    const double want = sum[at(i / w * n + i % w)] - bias[at(i % w)] + start[at((m - 1 - i / w) * w + i % w)];
                    CHECK(std::abs(want - static_cast<double>(whole[at(i)])) < 1e-5 * (1 + std::abs(want)));
                }
            }
}

} // namespace

TEST_CASE("panel: every instruction set against a double loop") {
    for (const auto level : {k::isa::generic, k::isa::avx2, k::isa::avx512})
        if (level <= k::best_isa()) check(k::float_panels(level), 1e-5);
}

TEST_CASE("panel: narrow panels give what wide ones do") {
    const auto a = draw(40 * 31, 1), b = draw(31 * 48, 2);
    const std::vector<float> A(a.begin(), a.end());
    const auto run = [&](const k::panel_kernels<float>& kernels, std::ptrdiff_t m) {
        const k::packed_panels<float> packed(
            kernels, 31, 48, [&](auto i, auto c) { return static_cast<float>(b[static_cast<std::size_t>(i * 48 + c)]); },
            [](auto c) { return static_cast<float>(c); });
        const std::ptrdiff_t row = packed.panels * kernels.width;
        std::vector<float> y(static_cast<std::size_t>(m * row)), columns;
        k::layer_rows<float> rows;
        rows.a = A.data();
        rows.a_row = 31;
        rows.y = y.data();
        rows.y_row = row;
        k::panel_layer<float>(kernels, k::panel_end::linear, m, rows, packed);
        for (std::ptrdiff_t i = 0; i < m; ++i) columns.insert(columns.end(), y.begin() + i * row, y.begin() + i * row + 48);
        return columns;
    };
    for (const auto level : {k::isa::generic, k::isa::avx2, k::isa::avx512})
        for (const std::ptrdiff_t m : {1, 2, 5, 12, 13, 40})
            if (level <= k::best_isa()) {
                CHECK(k::narrow_float_panels(level).width == 16);
                CHECK(run(k::narrow_float_panels(level), m) == run(k::float_panels(level), m));
            }
}

TEST_CASE("panel: bf16 in plain C++ and by the processor against a double loop on the rounded numbers") {
    check(k::bf16_panels(false), 4.5e-3); // one rounding to 8 bits
    if (k::has_bf16()) check(k::bf16_panels(true), 4.5e-3);
    else MESSAGE("no AVX512_BF16 here: the plain C++ form alone was checked");
}

TEST_CASE("panel: AMX, in bf16 and in floats that are split in two" MAY_SKIP) {
    if (!k::amx_ready()) SKIP_CASE("no AMX here");
    check(k::bf16_panels(true, true), 4.5e-3);
    check(k::float_panels(k::isa::avx512, true), 1e-4); // sums of 256 products, each exact to 16 binary digits
}

TEST_CASE("packed linear: float and bf16 against a double loop on the rounded numbers, whatever the shape; a row alone is the row among others") {
    std::vector<std::optional<k::panel_kernels<k::bf16>>> kernels{std::nullopt, k::bf16_panels(false)};
    if (k::has_bf16()) kernels.push_back(k::bf16_panels(true));
    if (k::amx_ready()) kernels.push_back(k::bf16_panels(true, true));
    k::packed_linear::scratch scratch;
    const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
    for (const auto& half : kernels)
        for (const std::ptrdiff_t inputs : {1, 7, 64, 130})
            for (const std::ptrdiff_t outputs : {1, 31, 64, 129})
                for (const bool biased : {false, true}) {
                    CAPTURE(inputs);
                    CAPTURE(outputs);
                    constexpr std::ptrdiff_t rows = 14;
                    const std::ptrdiff_t x_row = inputs + 3, y_row = outputs + 2;
                    const auto x = draw<float>(rows * x_row, 1), w = draw<float>(inputs * outputs, 2), b = draw<float>(outputs, 3);
                    const std::vector<float> X(x.begin(), x.end()), W(w.begin(), w.end()), B(b.begin(), b.end());
                    const k::packed_linear map(inputs, outputs, {W.data(), outputs, 1}, biased ? B.data() : nullptr, half);
                    std::vector<float> y(at(rows * y_row), 77), alone(at(outputs));
                    map.forward(rows, X.data(), x_row, y.data(), y_row, scratch);
                    const auto rounded = [&](double v) { return half ? static_cast<double>(k::to_float(as<k::bf16>(v))) : v; };
                    double farthest = 0;
                    for (std::ptrdiff_t r = 0; r < rows; ++r) {
                        for (std::ptrdiff_t c = 0; c < outputs; ++c) {
                            double sum = biased ? b[at(c)] : 0;
                            for (std::ptrdiff_t i = 0; i < inputs; ++i) sum += rounded(x[at(r * x_row + i)]) * rounded(w[at(i * outputs + c)]);
                            farthest = std::max(farthest, std::abs(sum - static_cast<double>(y[at(r * y_row + c)])) / (1 + std::abs(sum)));
                        }
                        CHECK((y[at(r * y_row + outputs)] == 77 && y[at(r * y_row + outputs + 1)] == 77));
                        map.forward(1, X.data() + r * x_row, x_row, alone.data(), outputs, scratch);
                        CHECK(std::equal(alone.begin(), alone.end(), y.begin() + r * y_row));
                    }
                    CHECK(farthest < 1e-5);
                }
}

TEST_CASE("panel: pairs of bf16 by the processor and in plain C++, whole vectors and what is left, with a second and without") {
    for (const bool native : {false, true}) {
        if (native && !k::has_bf16()) continue;
        for (const std::ptrdiff_t n : {1, 8, 16, 27, 64})
            for (const bool two : {true, false}) {
                const auto size = static_cast<std::size_t>(n);
                std::vector<float> a, b;
                for (const double x : draw<float>(n, 1)) a.push_back(static_cast<float>(x));
                for (const double x : draw<float>(n, 2)) b.push_back(static_cast<float>(x));
                std::vector<k::bf16> pairs(2 * size + 1, 7), even(2 * size + 1, 7), odd(2 * size + 1, 7), second(2 * size);
                for (std::size_t i = 0; i < 2 * size; ++i) second[i] = static_cast<k::bf16>(1000 + i);
                k::to_bf16_pairs(a.data(), two ? b.data() : nullptr, pairs.data(), n, native);
                k::transpose_pairs(pairs.data(), two ? second.data() : nullptr, even.data(), odd.data(), n, native);
                bool same = true;
                for (std::size_t i = 0; i < size; ++i) {
                    same = same && pairs[2 * i] == k::to_bf16(a[i]) && pairs[2 * i + 1] == (two ? k::to_bf16(b[i]) : 0);
                    same = same && even[2 * i] == pairs[2 * i] && even[2 * i + 1] == (two ? second[2 * i] : 0);
                    same = same && odd[2 * i] == pairs[2 * i + 1] && odd[2 * i + 1] == (two ? second[2 * i + 1] : 0);
                }
                CHECK(same);
                CHECK(pairs.back() == 7); // nothing beyond
                CHECK(even.back() == 7);
                CHECK(odd.back() == 7);
            }
    }
}

TEST_CASE("panel: to bf16 to nearest, ties to even, NaN stays") {
    CHECK(k::to_float(k::to_bf16(1.0F)) == 1.0F);
    CHECK(k::to_float(k::to_bf16(1.00390625F)) == 1.0F);      // halfway to 1.0078125: even is below
    CHECK(k::to_float(k::to_bf16(1.01171875F)) == 1.015625F); // halfway: even is above
    CHECK(k::to_float(k::to_bf16(1.0040F)) == 1.0078125F);
    CHECK(k::to_float(k::to_bf16(-3.0e38F)) == doctest::Approx(-3.0e38).epsilon(4e-3));
    CHECK(std::isinf(k::to_float(k::to_bf16(std::numeric_limits<float>::infinity()))));
    CHECK(std::isnan(k::to_float(k::to_bf16(std::numeric_limits<float>::quiet_NaN()))));
    const auto many = draw<float>(77, 9);
    const std::vector<float> from(many.begin(), many.end());
    for (const bool native : {false, k::has_bf16()}) {
        std::vector<k::bf16> to(from.size());
        k::to_bf16(from.data(), to.data(), 77, native);
        for (std::size_t i = 0; i < from.size(); ++i) CHECK(to[i] == k::to_bf16(from[i]));
    }
}

TEST_CASE("panel: AVX2 and AVX-512 agree to the last bit, and a NaN passes ReLU") {
    const auto a = draw(6 * 64, 1), b = draw(64 * 64, 2);
    std::vector<float> A(a.begin(), a.end());
    const auto run = [&](k::isa level) {
        const auto kernels = k::float_panels(level);
        const k::packed_panels<float> packed(
            kernels, 64, 64, [&](auto i, auto c) { return static_cast<float>(b[static_cast<std::size_t>(i * 64 + c)]); }, [](auto) { return 0.0F; });
        std::vector<float> y(6 * 64);
        k::layer_rows<float> rows;
        rows.a = A.data();
        rows.y = y.data();
        rows.a_row = rows.y_row = 64;
        k::panel_layer<float>(kernels, k::panel_end::relu, 6, rows, packed);
        return y;
    };
    if (k::best_isa() >= k::isa::avx512) CHECK(run(k::isa::avx2) == run(k::isa::avx512));
    A[64] = std::numeric_limits<float>::quiet_NaN();
    for (const auto level : {k::isa::generic, k::isa::avx2, k::isa::avx512})
        if (level <= k::best_isa()) CHECK((std::isnan(run(level)[64]) && !std::isnan(run(level)[0])));
}
