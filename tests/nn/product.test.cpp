// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/product.hpp>

#include <augur/core/random_engine.hpp>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;

namespace {

template <class T>
nn::matrix<nn::dual<T>> random_duals(nn::index rows, nn::index cols, std::uint64_t seed, double scale = 1) {
    const vectors::matrix value = vectors::random_matrix(rows, cols, seed), tangent = scale * vectors::random_matrix(rows, cols, seed + 1000);
    nn::matrix<nn::dual<T>> m(rows, cols);
    for (nn::index i = 0; i < m.size(); ++i) m.data()[i] = {T(value.data()[i]), T(tangent.data()[i])};
    return m;
}

template <class T>
nn::matrix<T> values_of(const nn::matrix<nn::dual<T>>& m) {
    return m.unaryExpr([](const nn::dual<T>& x) { return x.value; });
}
template <class T>
vectors::matrix tangents_of(const nn::matrix<nn::dual<T>>& m) {
    return m.unaryExpr([](const nn::dual<T>& x) { return static_cast<double>(x.tangent); });
}

/// The three products of duals against the rule of products on matrices of double; a `scale` of 0 makes the first operand data.
template <class T>
void check_dual_products(nn::index t, nn::index i, nn::index o, double scale, double tolerance) {
    using D = nn::dual<T>;
    CAPTURE(t);
    CAPTURE(i);
    CAPTURE(o);
    const auto x = random_duals<T>(t, i, 1, scale), w = random_duals<T>(i, o, 2), y = random_duals<T>(t, o, 3), dy = random_duals<T>(t, o, 3, scale);
    const vectors::matrix xv = values_of(x).template cast<double>(), wv = values_of(w).template cast<double>(),
                          yv = values_of(y).template cast<double>();
    const vectors::matrix xt = tangents_of(x), wt = tangents_of(w), yt = tangents_of(y), dyt = tangents_of(dy);
    for (const bool accumulate : {false, true}) {
        const auto check = [&](const nn::matrix<D>& got, const nn::matrix<D>& start, const nn::matrix<T>& plain, const vectors::matrix& tangent) {
            CHECK(vectors::distance(values_of(got), plain) < tolerance);
            const vectors::matrix expected = accumulate ? vectors::matrix(tangents_of(start) + tangent) : tangent;
            CHECK(vectors::distance(tangents_of(got), expected) < tolerance);
        };
        const nn::matrix<D> start = y, start_x = x, start_w = w;
        nn::matrix<D> got = start;
        nn::matrix<T> plain = values_of(start);
        nn::multiply<D>(x, w, got, accumulate);
        nn::multiply<T>(values_of(x), values_of(w), plain, accumulate);
        check(got, start, plain, xv * wt + xt * wv);

        got = start_x;
        plain = values_of(start_x);
        nn::multiply_transposed<D>(dy, w, got, accumulate);
        nn::multiply_transposed<T>(values_of(dy), values_of(w), plain, accumulate);
        check(got, start_x, plain, yv * wt.transpose() + dyt * wv.transpose());

        got = start_w;
        plain = values_of(start_w);
        nn::multiply_outer<D>(x, y, got, accumulate);
        nn::multiply_outer<T>(values_of(x), values_of(y), plain, accumulate);
        check(got, start_w, plain, xt.transpose() * yv + xv.transpose() * yt);
    }
}

} // namespace

TEST_CASE("products of duals: the rule of products; the values are those of plain products") {
    for (const nn::index t : {1, 5, 20, 50})
        for (const nn::index i : {1, 7, 64})
            for (const nn::index o : {1, 3, 16, 33})
                for (const double scale : {0, 1}) {
                    check_dual_products<double>(t, i, o, scale, 1e-13);
                    check_dual_products<float>(t, i, o, scale, 1e-4);
                }
    check_dual_products<float>(3, 900, 5, 1, 1e-4); // sums in several blocks
    check_dual_products<float>(900, 3, 5, 1, 1e-4);
}

TEST_CASE("products of duals: operands and results that are blocks of larger matrices, and of no size") {
    using D = nn::dual<float>;
    const auto w = random_duals<float>(9, 8, 2);
    const nn::matrix<D> right = w.block(3, 1, 5, 3);
    nn::matrix<D> whole(4, 3);
    for (const double scale : {0, 1}) {
        const auto x = random_duals<float>(6, 9, 1, scale);
        const nn::matrix<D> left = x.block(1, 2, 4, 5);
        nn::matrix<D> wide = nn::matrix<D>::Zero(6, 8);
        nn::multiply<D>(left, right, whole);
        nn::multiply<D>(x.block(1, 2, 4, 5), w.block(3, 1, 5, 3), wide.block(2, 4, 4, 3));
        CHECK(values_of<float>(wide.block(2, 4, 4, 3)) == values_of(whole));
        CHECK(tangents_of<float>(wide.block(2, 4, 4, 3)) == tangents_of(whole));
        CHECK(values_of<float>(wide).topRows(2).isZero(0));
        CHECK(values_of<float>(wide).leftCols(4).isZero(0));
    }

    nn::matrix<D> none(0, 3), kept = whole;
    nn::multiply<D>(nn::matrix<D>(0, 5), right, none);
    nn::multiply_outer<D>(nn::matrix<D>(0, 4), none, kept, true);
    CHECK(values_of(kept) == values_of(whole));
    CHECK(tangents_of(kept) == tangents_of(whole));
    nn::multiply_outer<D>(nn::matrix<D>(0, 4), none, kept);
    CHECK(tangents_of(kept).isZero(0));
}

TEST_CASE("products of duals of duals: second derivatives") {
    using DD = nn::dual<nn::dual<double>>;
    const auto a = random_duals<double>(4, 3, 1), b = random_duals<double>(3, 2, 5);
    nn::matrix<DD> x(4, 3), w(3, 2), y(4, 2);
    for (nn::index i = 0; i < x.size(); ++i) x.data()[i] = {a.data()[i], nn::dual<double>(a.data()[i].tangent)};
    for (nn::index i = 0; i < w.size(); ++i) w.data()[i] = {b.data()[i], nn::dual<double>(b.data()[i].tangent)};
    nn::multiply<DD>(x, w, y);
    const vectors::matrix second = y.unaryExpr([](const DD& d) { return d.tangent.tangent; });
    CHECK(vectors::distance(second, 2 * tangents_of(a) * tangents_of(b)) < 1e-14); // (x + e p)(w + e q) = x w + e (x q + p w) + e^2 p q
}
