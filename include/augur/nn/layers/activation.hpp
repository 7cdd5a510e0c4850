// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_ACTIVATION_HPP
#define AUGUR_NN_LAYERS_ACTIVATION_HPP

/// @file
/// Activation functions (sigmoid, tanh, GELU, ReLU) and their derivatives.

#include <algorithm>
#include <cmath>
#include <concepts>

#include <augur/nn/dual.hpp>
#include <augur/nn/kernels/dual_pairs.hpp>
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/gelu.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {
using std::erfc;
using std::tanh;
template <class S>
concept has_tanh = requires(const S& x) {
    { tanh(x) } -> std::convertible_to<S>;
};
template <class S>
concept has_erfc = requires(const S& x) {
    { erfc(x) } -> std::convertible_to<S>;
};
} // namespace detail

/// 1 / (1 + e^-x), without overflow for large |x|.
template <scalar S>
S sigmoid(const S& x) {
    using std::exp;
    if (x < S(0)) {
        const S e = exp(x);
        return e / (S(1) + e);
    }
    return S(1) / (S(1) + exp(-x));
}

/// tanh; computed from exp if the number type has no tanh.
template <scalar S>
S hyperbolic_tangent(const S& x) {
    if constexpr (detail::has_tanh<S>) {
        using std::tanh;
        return tanh(x);
    } else {
        using std::exp;
        const S e = x < S(0) ? exp(x + x) : exp(-(x + x));
        const S t = (S(1) - e) / (S(1) + e);
        return x < S(0) ? -t : t;
    }
}

/// Gaussian error linear unit (Hendrycks, Gimpel 2016), exact: x Phi(x) = x erfc(-x / sqrt 2) / 2. Needs `erfc`.
template <scalar S>
    requires detail::has_erfc<S>
struct gelu_exact {
    static S value(const S& x) {
        using std::erfc;
        return S(0.5) * x * erfc(-x * S(0.70710678118654752440));
    }
    /// Phi(x) + x phi(x)
    static S derivative(const S& x) {
        using std::erfc;
        using std::exp;
        return S(0.5) * erfc(-x * S(0.70710678118654752440)) + x * S(0.39894228040143267794) * exp(S(-0.5) * x * x);
    }
};

/// GELU with the tanh approximation of GPT-2: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
template <scalar S>
struct gelu_tanh {
    // 1 + tanh(u) = 2 sigmoid(2 u): without cancellation for negative x
    static S value(const S& x) { return x * sigmoid<S>(S(1.5957691216057307118) * (x + S(0.044715) * x * x * x)); }
    static S derivative(const S& x) {
        const S s = sigmoid<S>(S(1.5957691216057307118) * (x + S(0.044715) * x * x * x));
        return s + x * s * (S(1) - s) * S(1.5957691216057307118) * (S(1) + S(0.134145) * x * x);
    }
};

/// Rectified linear unit; its derivative at 0 is 0. NaN stays NaN, so that an invalid score is detected.
template <scalar S>
struct rectifier {
    static S value(const S& x) { return x <= S(0) ? S(0) : x; }
    static S derivative(const S& x) { return x > S(0) ? S(1) : S(0); }
};

namespace detail {
/// to <- from where the rectifier lets x pass, else 0; in vectors for float and its duals.   (n)
template <scalar S>
void rectify(const S* x, const S* from, S* to, index n) {
    if constexpr (std::same_as<S, float>) return kernels::relu_backward(x, from, to, n);
    if constexpr (std::same_as<S, dual<float>>)
        return kernels::relu_backward_pairs(reinterpret_cast<const float*>(x), reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), n);
    for (index i = 0; i < n; ++i) to[i] = x[i] > S(0) ? from[i] : S(0);
}
} // namespace detail

/// y <- F(x), elementwise.   x, y (T, D) may be the same matrix
template <class F, scalar S>
void activate(in<S> x, out<S> y) {
    AUGUR_ASSERT(x.rows() == y.rows() && x.cols() == y.cols(), "activate: shape");
    for (index t = 0; t < x.rows(); ++t) {
        const S* const from = x.data() + t * x.outerStride();
        S* const to = y.data() + t * y.outerStride();
        if constexpr (std::same_as<F, gelu_tanh<float>>) kernels::gelu(from, to, x.cols());
        else if constexpr (std::same_as<F, rectifier<float>>) {
            if (from != to) std::copy_n(from, x.cols(), to);
            kernels::relu(to, x.cols());
        } else if constexpr (std::same_as<F, rectifier<dual<float>>>) detail::rectify(from, from, to, x.cols()); // NaN becomes 0
        else
            for (index i = 0; i < x.cols(); ++i) to[i] = F::value(from[i]);
    }
}

/// Given x and dL/dy: dy <- dL/dx, in place.
template <class F, scalar S>
void activate_backward(in<S> x, out<S> dy) {
    AUGUR_ASSERT(x.rows() == dy.rows() && x.cols() == dy.cols(), "activate: shape");
    for (index t = 0; t < x.rows(); ++t) {
        const S* const from = x.data() + t * x.outerStride();
        S* const to = dy.data() + t * dy.outerStride();
        if constexpr (std::same_as<F, gelu_tanh<float>>) kernels::gelu_backward(from, to, x.cols());
        else if constexpr (std::same_as<F, rectifier<S>>) detail::rectify(from, to, to, x.cols());
        else
            for (index i = 0; i < x.cols(); ++i) to[i] *= F::derivative(from[i]);
    }
}

} // namespace nn
} // namespace augur::inline v0

#endif
