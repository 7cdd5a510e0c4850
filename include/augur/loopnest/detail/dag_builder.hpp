// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_DAG_BUILDER_HPP
#define AUGUR_LOOPNEST_DETAIL_DAG_BUILDER_HPP

/// @file
/// What the builders of operators share: the DAG under construction, its inputs, the axes of images, padding.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0::loopnest::detail {

using indices = std::vector<expr>;

inline expr axis(std::size_t i) { return ex::axis(static_cast<std::int64_t>(i)); }
inline indices axes(std::size_t n, std::size_t first = 0) {
    indices out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(axis(first + i));
    return out;
}
inline std::vector<loop_axis> named(std::string_view prefix, const std::vector<std::int64_t>& shape) {
    std::vector<loop_axis> out;
    for (std::size_t i = 0; i < shape.size(); ++i) out.push_back({std::string(prefix) + std::to_string(i), shape[i]});
    return out;
}
inline expr times(expr e, std::int64_t factor) { return factor == 1 ? e : std::move(e) * ex::integer(factor); }
inline expr plus(expr e, std::int64_t offset) {
    if (offset == 0) return e;
    return offset > 0 ? std::move(e) + ex::integer(offset) : std::move(e) - ex::integer(-offset);
}
/// Joins conditions; an empty one is true.
inline expr both(expr a, expr b) { return a ? ex::both(std::move(a), std::move(b)) : b; }

/// The DAG of a kernel under construction.
class dag_builder {
public:
    explicit dag_builder(const kernel& k) : kernel_(k) {
        for (std::size_t a = 0; a < k.rank(); ++a) windows_.push_back(k.window(a));
    }

    compute_dag dag;

    [[nodiscard]] const kernel& workload() const { return kernel_; }
    [[nodiscard]] std::int64_t get(std::string_view name) const { return kernel_[name]; }

    // Images: a batch, spatial axes and channels, the channels last or behind the batch.
    [[nodiscard]] const std::vector<window_axis>& windows() const { return windows_; }
    [[nodiscard]] std::size_t rank() const { return windows_.size(); }
    [[nodiscard]] bool channels_last() const { return kernel_.layout() == tensor_layout::nhwc; }
    [[nodiscard]] std::size_t channel_axis() const { return channels_last() ? rank() + 1 : 1; }
    [[nodiscard]] std::size_t spatial_axis(std::size_t i) const { return (channels_last() ? 1 : 2) + i; }
    [[nodiscard]] std::string layout() const { return std::string(to_string(kernel_.layout(), rank())); }

    /// A batch, spatial values and a channel in the order of the layout.
    template <class T>
    [[nodiscard]] std::vector<T> image(T n, std::vector<T> spatial, T c) const {
        std::vector<T> out{std::move(n)};
        if (!channels_last()) out.push_back(c);
        out.insert(out.end(), spatial.begin(), spatial.end());
        if (channels_last()) out.push_back(std::move(c));
        return out;
    }
    [[nodiscard]] std::vector<std::int64_t> input_shape() const { return image(get("n"), extents(&window_axis::in), get("c")); }
    [[nodiscard]] std::vector<std::int64_t> extents(std::int64_t window_axis::* member) const {
        std::vector<std::int64_t> out;
        for (const auto& w : windows_) out.push_back(w.*member);
        return out;
    }
    /// Loops over the windows or their elements: names[i] with the extents of `member`.
    [[nodiscard]] std::vector<loop_axis> loops(const std::vector<std::string_view>& names, std::int64_t window_axis::* member) const {
        std::vector<loop_axis> out;
        for (std::size_t i = 0; i < rank(); ++i) out.push_back({std::string(names[i]), windows_[i].*member});
        return out;
    }
    /// The input indices of element `in_window` of the windows at the space axes of the operation.
    [[nodiscard]] indices taps(const indices& in_window) const {
        indices out;
        for (std::size_t i = 0; i < rank(); ++i)
            out.push_back(times(axis(spatial_axis(i)), windows_[i].stride) + times(in_window[i], windows_[i].dilation));
        return out;
    }

    int input(const std::vector<std::int64_t>& shape) { return dag.input("p" + std::to_string(inputs_++), shape); }
    int constant(const std::vector<std::int64_t>& shape) { return dag.input("p" + std::to_string(inputs_++), shape, true); }

    [[nodiscard]] std::vector<std::int64_t> shape_of(int id) const {
        std::vector<std::int64_t> out;
        for (const auto& a : dag.ops[dag.index_of(id)].axes) out.push_back(a.extent);
        return out;
    }

    /// Pads image `id` with `value` along its spatial axes.
    int pad(int id, std::string name, std::string_view axis_prefix, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& behind,
            double value) {
        auto shape = shape_of(id);
        auto at = axes(shape.size());
        expr inside;
        for (std::size_t i = 0; i < rank(); ++i) {
            const auto a = spatial_axis(i);
            if (before[i] > 0) inside = both(inside, ex::less_equal(ex::integer(before[i]), at[a]));
            if (behind[i] > 0) inside = both(inside, ex::less(at[a], ex::integer(before[i] + shape[a])));
            at[a] = plus(at[a], -before[i]);
            shape[a] += before[i] + behind[i];
        }
        auto body = ex::read(id, at);
        if (inside) body = ex::select(inside, std::move(body), ex::constant(value));
        return dag.compute(std::move(name), named(axis_prefix, shape), std::move(body));
    }

private:
    const kernel& kernel_;
    std::vector<window_axis> windows_;
    int inputs_ = 0;
};

} // namespace augur::inline v0::loopnest::detail

#endif
