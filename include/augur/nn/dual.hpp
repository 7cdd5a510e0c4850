// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DUAL_HPP
#define AUGUR_NN_DUAL_HPP

/// @file
/// Dual numbers for forward-mode automatic differentiation.

#include <cmath>
#include <compare>
#include <type_traits>

#include <Eigen/Core>

namespace augur::inline v0 {
namespace nn {

/// value + tangent * e with e^2 = 0. A function evaluated on duals gives its value and its exact directional derivative.
///
/// Comparison uses the value only. `dual<dual<T>>` gives second derivatives.
template <class T>
struct dual {
    T value{};
    T tangent{};

    constexpr dual() = default;
    constexpr dual(T v, T t) : value(v), tangent(t) {}
    // NOLINTNEXTLINE(google-explicit-constructor): a constant is a dual with tangent 0
    constexpr dual(T v) : value(v) {}
    template <class U>
        requires(std::is_arithmetic_v<U> && !std::is_same_v<U, T>)
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr dual(U v) : value(static_cast<T>(v)) {}

    constexpr dual& operator+=(const dual& b) {
        value += b.value;
        tangent += b.tangent;
        return *this;
    }
    constexpr dual& operator-=(const dual& b) {
        value -= b.value;
        tangent -= b.tangent;
        return *this;
    }
    constexpr dual& operator*=(const dual& b) {
        tangent = tangent * b.value + value * b.tangent;
        value *= b.value;
        return *this;
    }
    constexpr dual& operator/=(const dual& b) {
        value /= b.value;
        tangent = (tangent - value * b.tangent) / b.value;
        return *this;
    }
    friend constexpr dual operator+(dual a, const dual& b) { return a += b; }
    friend constexpr dual operator-(dual a, const dual& b) { return a -= b; }
    friend constexpr dual operator*(dual a, const dual& b) { return a *= b; }
    friend constexpr dual operator/(dual a, const dual& b) { return a /= b; }
    friend constexpr dual operator-(const dual& a) { return {-a.value, -a.tangent}; }
    friend constexpr bool operator==(const dual& a, const dual& b) { return a.value == b.value; }
    friend constexpr auto operator<=>(const dual& a, const dual& b) { return a.value <=> b.value; }

    friend dual exp(const dual& a) {
        using std::exp;
        const T e = exp(a.value);
        return {e, e * a.tangent};
    }
    friend dual log(const dual& a) {
        using std::log;
        return {log(a.value), a.tangent / a.value};
    }
    friend dual log2(const dual& a) { return log(a) / dual(T(0.69314718055994530942)); }
    friend dual sqrt(const dual& a) {
        using std::sqrt;
        const T r = sqrt(a.value);
        return {r, a.tangent / (r + r)};
    }
    friend dual tanh(const dual& a) {
        using std::tanh;
        const T t = tanh(a.value);
        return {t, (T(1) - t * t) * a.tangent};
    }
    friend dual erfc(const dual& a) {
        using std::erfc;
        using std::exp;
        return {erfc(a.value), T(-1.12837916709551257390) * exp(-a.value * a.value) * a.tangent};
    }
    friend dual abs(const dual& a) { return a.value < T(0) ? -a : a; }
};

} // namespace nn
} // namespace augur::inline v0

/// Lets Eigen use duals as scalars.
template <class T>
struct Eigen::NumTraits<augur::nn::dual<T>> : Eigen::GenericNumTraits<augur::nn::dual<T>> {
    using Real = augur::nn::dual<T>;
    using NonInteger = augur::nn::dual<T>;
    using Nested = augur::nn::dual<T>;
    using Literal = augur::nn::dual<T>;
    enum { IsComplex = 0, IsInteger = 0, IsSigned = 1, RequireInitialization = 1, ReadCost = 2, AddCost = 2, MulCost = 4 };
    static Real epsilon() { return Real(NumTraits<T>::epsilon()); }
    static Real dummy_precision() { return Real(NumTraits<T>::dummy_precision()); }
    static Real highest() { return Real(NumTraits<T>::highest()); }
    static Real lowest() { return Real(NumTraits<T>::lowest()); }
    static int digits10() { return NumTraits<T>::digits10(); }
};

#endif
