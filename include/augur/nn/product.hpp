// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_PRODUCT_HPP
#define AUGUR_NN_PRODUCT_HPP

/// @file
/// Matrix products of the layers: A B, A B^T and A^T B.
///
/// float uses nn/kernels/gemm.hpp. A product of `dual<T>` is products of T: three times the work, or twice if the tangents of the first operand are
/// 0, as those of data are; it allocates the parts. Other scalars use Eigen.

#include <augur/nn/dual.hpp>
#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// y <- [y +] x w     (T,I)(I,O)
template <scalar S>
void multiply(in<S> x, in<S> w, out<S> y, bool accumulate = false);

/// y <- [y +] x w^T     (T,O)(I,O)^T
template <scalar S>
void multiply_transposed(in<S> x, in<S> w, out<S> y, bool accumulate = false);

/// g <- [g +] x^T y     (T,I)^T(T,O)
template <scalar S>
void multiply_outer(in<S> x, in<S> y, out<S> g, bool accumulate = false);

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/product_impl.hpp>

#endif
