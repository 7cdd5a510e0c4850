// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_LINEAR_HPP
#define AUGUR_NN_LAYERS_LINEAR_HPP

/// @file
/// Linear (affine) layer, ReLU, and the residual block relu(x W + b) + x.

#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

template <scalar S>
struct linear;

/// Weights of a linear layer, packed into panels for many matrix products with the same weights; pack again after the weights change. Only for float:
/// for other scalars the products read the layer's own weights. Results are bit-identical with and without packing.
template <scalar S>
class packed_weights {
public:
    void pack(const linear<S>& layer);
    [[nodiscard]] const kernels::packed_operand& forward() const { return forward_; }   ///< W
    [[nodiscard]] const kernels::packed_operand& backward() const { return backward_; } ///< its transpose

private:
    kernels::packed_operand forward_, backward_;
};

/// Affine map of every row, y = x W + b.
///
///     x (T, I)    W (I, O)    b (O)    y (T, O)
///
/// A value: it stores no activations, so `forward` on a shared const layer is thread-safe, and a gradient is another `linear`.
template <scalar S>
struct linear {
    matrix<S> W;     ///< (I, O), the transpose of torch's weight
    row_vector<S> b; ///< (O)

    static linear zeros(index in_features, index out_features);

    /// y <- x W + b.   pre: y is (T, O); `packed` is null or packed from this layer
    void forward(in<S> x, out<S> y, const packed_weights<S>* packed = nullptr) const;
    /// Given dL/dy (T, O): dx <- dL/dx (T, I), and grad += (dL/dW, dL/db).
    void backward(in<S> x, in<S> dy, out<S> dx, linear& grad, const packed_weights<S>* packed = nullptr) const;
    /// Backward without dL/dx: grad += (dL/dW, dL/db).
    void backward(in<S> x, in<S> dy, linear& grad) const;

    /// Calls f(name, parameters...) for each parameter of several layers together, e.g. 1 layer to save, 2 for SGD. Names are torch's.
    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("weight", layers.W...);
        f("bias", layers.b...);
    }
};

/// x <- max(x, 0).   pre: x (T, D)
template <scalar S>
void relu(out<S> x);

/// Given y = relu(x) and dL/dy: dy <- dL/dx, in place. The derivative at 0 is 0, as in torch.
template <scalar S>
void relu_backward(in<S> y, out<S> dy);

/// y = relu(x W + b) + x.   x, y (T, D)
///
/// Backward needs `hidden` = relu(x W + b) (T, D), which the caller stores.
template <scalar S>
struct residual {
    linear<S> inner; ///< (D, D)

    static residual zeros(index width) { return {linear<S>::zeros(width, width)}; }

    /// hidden <- relu(x W + b), y <- hidden + x.   pre: `packed` is null or packed from `inner`
    void forward(in<S> x, out<S> hidden, out<S> y, const packed_weights<S>* packed = nullptr) const;
    /// dx <- dL/dx, grad += dL/d(inner).   pre: `hidden` from forward; `scratch` (T, D)
    void backward(in<S> x, in<S> hidden, in<S> dy, out<S> scratch, out<S> dx, residual& grad, const packed_weights<S>* packed = nullptr) const;

    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        linear<S>::visit(f, layers.inner...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/linear_impl.hpp>

#endif
