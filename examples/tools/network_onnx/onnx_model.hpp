// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_ONNX_MODEL_HPP
#define AUGUR_EXAMPLES_TOOLS_ONNX_MODEL_HPP

/// @file
/// A network as a model in ONNX.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/workload/network_graph.hpp>

namespace examples {

/// An input or an output of a model.
struct onnx_value {
    std::string name;
    std::vector<std::int64_t> shape;
    bool channels_first = false; ///< its axes are not those of the network: the last one has become the second
};

struct onnx_model {
    std::string bytes;                       ///< the file
    std::vector<onnx_value> inputs, outputs; ///< in the order of the network's nodes, and of its outputs
};

/// The elements of an array in another order of its axes: axis `a` of the result is axis `axes[a]` of `values`.
/// pre: values has the elements of `shape`, and axes is a permutation
[[nodiscard]] std::vector<float> permuted(std::span<const float> values, std::span<const std::int64_t> shape, std::span<const std::int64_t> axes);

/// The axes of an image with the channels last, by which `permuted` puts them behind the batch.
[[nodiscard]] std::vector<std::int64_t> channels_first_axes(std::size_t rank);

/// Writes a network in operators of opset 17, as an exporter would: images have their channels behind the batch, a bias is part of its convolution or matrix
/// product, GELU is written out. A tensor is transposed only where something else than an image operator reads the elements of an image.
///
/// @param constants  the contents of each constant operand, call by call, in the order of `signature_of`
/// Errors: unsupported, with the node: an operator without a counterpart, or whose weights have another form (transposed convolutions, Winograd,
///         reductions, dilated average pooling), a strided copy that is no slice of a reshape with permuted axes; limit: 2 GiB, which Protocol Buffers cannot exceed;
///         unsupported on a machine whose numbers have another byte order; invalid_argument: constants of another number or size
[[nodiscard]] augur::result<onnx_model> write_onnx(const augur::network_graph& g, std::span<const std::vector<float>> constants);

} // namespace examples

#endif
