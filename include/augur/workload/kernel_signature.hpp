// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_KERNEL_SIGNATURE_HPP
#define AUGUR_WORKLOAD_KERNEL_SIGNATURE_HPP

/// @file
/// The tensors that a kernel reads and writes: names, shapes, and which of them are constant over calls.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/workload/kernel.hpp>

namespace augur::inline v0 {

/// The number of elements of a shape.   pre: the product fits into 63 bits
[[nodiscard]] inline std::int64_t elements_of(const std::vector<std::int64_t>& shape) noexcept {
    std::int64_t n = 1;
    for (const auto extent : shape) n *= extent;
    return n;
}

/// A tensor that a kernel reads.
struct kernel_operand {
    /// data, other (the second factor of a product), add; of constants: weight, bias, scale, offset, gamma, beta. A name that comes again gets a number:
    /// bias2.
    std::string name;
    std::vector<std::int64_t> shape;
    bool constant = false; ///< equal contents in all calls
};

/// The tensors of a kernel. Operands stand in the order in which the kernel first uses them; a value per channel has extent 1 along the other axes.
struct kernel_signature {
    std::vector<kernel_operand> operands;
    std::vector<std::int64_t> output;
    std::size_t channel_axis = 0; ///< of the output; of matrices the last axis
};

namespace detail {

class signature_builder {
public:
    explicit signature_builder(const kernel& k) : kernel_(k), rank_(k.rank()), last_(k.layout() == tensor_layout::nhwc) {}

    kernel_signature run() {
        if (rank_ > 0) image_operator();
        else matrix_operator();
        out_.channel_axis = rank_ > 0 && !last_ ? 1 : out_.output.size() - 1;
        for (const auto op : kernel_.fused()) fuse(op);
        return std::move(out_);
    }

private:
    using shape = std::vector<std::int64_t>;

    const kernel& kernel_;
    std::size_t rank_;
    bool last_; ///< the channels are the last axis
    kernel_signature out_;

    [[nodiscard]] std::int64_t get(std::string_view name, std::int64_t otherwise = 1) const { return kernel_.value_or(name, otherwise)[0]; }

    void operand(std::string name, shape of, bool constant = false) {
        const auto same = [&](const kernel_operand& o) {
            return o.name.starts_with(name) && o.name.find_first_not_of("0123456789", name.size()) == std::string::npos;
        };
        const auto before = std::count_if(out_.operands.begin(), out_.operands.end(), same);
        if (before > 0) name += std::to_string(before + 1);
        out_.operands.push_back({std::move(name), std::move(of), constant});
    }

    [[nodiscard]] shape extents(std::int64_t window_axis::* member) const {
        shape out;
        for (std::size_t a = 0; a < rank_; ++a) out.push_back(kernel_.window(a).*member);
        return out;
    }
    [[nodiscard]] shape image(shape spatial, std::int64_t channels) const {
        shape out{get("n")};
        if (!last_) out.push_back(channels);
        out.insert(out.end(), spatial.begin(), spatial.end());
        if (last_) out.push_back(channels);
        return out;
    }
    /// The window, and two axes behind it or before it.
    [[nodiscard]] shape filter(shape behind, shape before) const {
        auto out = extents(&window_axis::k);
        const auto& other = last_ ? behind : before;
        out.insert(last_ ? out.end() : out.begin(), other.begin(), other.end());
        return out;
    }

    void image_operator() {
        const auto c = get("c");
        const auto f = get("f", c);
        const auto groups = get("groups");
        operand("data", image(extents(&window_axis::in), c));
        out_.output = image(extents(&window_axis::out), f);
        switch (kernel_.kind()) {
        case kernel_kind::conv1d:
        case kernel_kind::conv2d:
        case kernel_kind::conv3d: return operand("weight", filter({c / groups, f}, {f, c / groups}), true);
        case kernel_kind::depthwise_conv2d: return operand("weight", filter({c, 1}, {c, 1}), true);
        case kernel_kind::conv1d_transpose:
        case kernel_kind::conv2d_transpose: return operand("weight", filter({c, f / groups}, {c, f / groups}), true);
        case kernel_kind::conv2d_winograd: {
            const auto alpha = get("tile") + 2;
            return operand("weight", last_ ? shape{alpha, alpha, f, c} : shape{alpha, alpha, c, f}, true);
        }
        default: return; // pooling, and element-wise operations
        }
    }

    void matrix_operator() {
        const auto m = get("m"), n = get("n"), k = get("k"), b = get("b"), inner = get("inner");
        out_.output = {m, n};
        switch (kernel_.kind()) {
        case kernel_kind::dense: operand("data", {m, k}); return operand("weight", {n, k}, true);
        case kernel_kind::matmul: operand("data", {m, k}); return operand("other", {k, n});
        case kernel_kind::batch_matmul:
            operand("data", get("transa") != 0 ? shape{b, k, m} : shape{b, m, k});
            operand("other", get("transb") != 0 ? shape{b, n, k} : shape{b, k, n});
            out_.output = {b, m, n};
            return;
        case kernel_kind::layer_norm:
            operand("data", {m, n});
            operand("gamma", {n}, true);
            return operand("beta", {n}, true);
        default: break;
        }
        operand("data", inner == 1 ? shape{m, n} : shape{m, n, inner}); // softmax, reductions
        if (kernel_.kind() == kernel_kind::softmax) out_.output = out_.operands.front().shape;
        else out_.output = inner == 1 ? shape{m} : shape{m, inner};
    }

    void fuse(fused_op op) {
        shape per_channel(out_.output.size(), 1);
        per_channel[out_.channel_axis] = out_.output[out_.channel_axis];
        switch (op) {
        case fused_op::bias: return operand("bias", per_channel, true);
        case fused_op::scale: operand("scale", per_channel, true); return operand("offset", per_channel, true);
        case fused_op::add: return operand("add", out_.output);
        default: return;
        }
    }
};

} // namespace detail

/// The operands and the output of a kernel.   Cost: a microsecond
[[nodiscard]] inline kernel_signature signature_of(const kernel& k) { return detail::signature_builder(k).run(); }

} // namespace augur::inline v0

#endif
