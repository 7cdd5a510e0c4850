// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_AUTOTVM_CONVOLUTION_HPP
#define AUGUR_SPACE_AUTOTVM_CONVOLUTION_HPP

/// @file
/// The convolution of an AutoTVM workload: arguments of the templates of two-dimensional convolutions (TVM 0.8, python/tvm/topi/nn/conv2d.py and
/// nn/utils.py, get_pad_tuple).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/target/machine_instructions.hpp>
#include <augur/workload/window.hpp>

namespace augur::inline v0 {

/// The AutoTVM templates whose loops are known. The order is that of `autotvm_template_names`.
enum class autotvm_template : std::uint8_t {
    conv2d_nchw_cuda,
    conv2d_nchwc_x86, ///< also has the schedule for windows of one element
    depthwise_conv2d_nchwc_x86,
};
inline constexpr std::array<std::string_view, 3> autotvm_template_names{"conv2d_nchw.cuda", "conv2d_NCHWc.x86", "depthwise_conv2d_NCHWc.x86"};

/// A template with its arguments.
struct autotvm_convolution {
    autotvm_template form = autotvm_template::conv2d_nchw_cuda;
    element_type type = element_type::f32;
    std::int64_t batch = 1;
    std::int64_t in_channels = 1;
    std::int64_t out_channels = 1;
    window_axis y; ///< height
    window_axis x; ///< width

    [[nodiscard]] bool depthwise() const noexcept { return form == autotvm_template::depthwise_conv2d_nchwc_x86; }
};

namespace detail {

/// The arguments of a convolution as they stand in a workload key.
struct autotvm_convolution_arguments {
    std::array<std::array<std::int64_t, 4>, 2> shapes{}; ///< of image and kernel
    std::array<std::string, 2> types;
    std::vector<std::int64_t> strides, padding, dilation; ///< one number, or a list
    std::string padding_name;                             ///< SAME, VALID; empty: `padding` has numbers

    bool read(json_reader& in) {
        const auto next = [&in](const char* name) {
            return in.next_element() || in.fail(errc::parse, std::string("expected ") + name + ", got the end");
        };
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            std::string_view tag;
            if (!next("a tensor") || !in.begin_array() || !next("\"TENSOR\"") || !in.read(tag)) return false;
            if (tag != "TENSOR") return in.fail(errc::parse, "expected \"TENSOR\", got '" + std::string(tag.substr(0, 40)) + "'");
            if (!next("a shape") || !in.begin_array()) return false;
            for (auto& extent : shapes[i])
                if (!next("four extents") || !in.read(extent)) return false;
            if (in.next_element()) return in.fail(errc::unsupported, "expected a shape of four extents, got more");
            if (!next("an element type") || !in.read(types[i])) return false;
            if (in.next_element()) return in.fail(errc::parse, "expected the end of a tensor after its type");
        }
        if (!next("strides") || !numbers(in, strides) || !next("padding")) return false;
        if (in.peek() == json_kind::string ? !in.read(padding_name) : !numbers(in, padding)) return false;
        if (!next("dilation") || !numbers(in, dilation)) return false;
        std::string_view ignored; // layouts, which the templates do not use, and the type of the output
        while (in.next_element())
            if (!in.read(ignored)) return false;
        return in.ok();
    }

private:
    static bool numbers(json_reader& in, std::vector<std::int64_t>& out) {
        if (in.peek() != json_kind::array) return in.read(out.emplace_back());
        in.begin_array();
        while (in.next_element())
            if (!in.read(out.emplace_back())) return false;
        return in.ok();
    }
};

/// The window along axis 0 (height) or 1 (width).
inline result<window_axis> autotvm_window(const autotvm_convolution_arguments& from, std::size_t axis) {
    constexpr std::int64_t most = std::int64_t{1} << 24U;
    const std::string name = axis == 0 ? "height: " : "width: ";
    const auto number = [axis](const std::vector<std::int64_t>& list) { return list.size() == 1 ? list[0] : list[axis]; };
    window_axis w;
    w.in = from.shapes[0][2 + axis];
    w.k = from.shapes[1][2 + axis];
    w.stride = number(from.strides);
    w.dilation = number(from.dilation);
    for (const std::int64_t n : {w.in, w.k, w.stride, w.dilation})
        if (n < 1 || n > most)
            return error{errc::invalid_argument, name + "expected extents, strides and dilations of 1 to 2^24, got " + std::to_string(n)};
    if (from.padding_name == "SAME") {
        w.pad_before = w.span() / 2;
        w.pad_behind = w.span() - 1 - w.pad_before;
    } else if (from.padding_name.empty()) {
        w.pad_before = number(from.padding);
        w.pad_behind = from.padding.size() == 4 ? from.padding[2 + axis] : w.pad_before;
    } else if (from.padding_name != "VALID") {
        return error{errc::invalid_argument, "expected padding in numbers, SAME or VALID, got '" + from.padding_name.substr(0, 40) + "'"};
    }
    for (const std::int64_t n : {w.pad_before, w.pad_behind})
        if (n < 0 || n > most) return error{errc::invalid_argument, name + "expected padding of 0 to 2^24, got " + std::to_string(n)};
    const std::int64_t padded = w.in + w.pad_before + w.pad_behind;
    if (w.span() > padded)
        return error{errc::shape_mismatch, name + "a window of " + std::to_string(w.span()) + " in a padded image of " + std::to_string(padded)};
    w.out = (padded - w.span()) / w.stride + 1;
    return w;
}

inline result<autotvm_convolution> autotvm_convolution_of(autotvm_template form, const autotvm_convolution_arguments& from) {
    autotvm_convolution c;
    c.form = form;
    const auto &image = from.shapes[0], &kernel = from.shapes[1];
    for (const std::int64_t n : {image[0], image[1], kernel[0]})
        if (n < 1 || n > std::int64_t{1} << 24U)
            return error{errc::invalid_argument, "expected a batch and channels of 1 to 2^24, got " + std::to_string(n)};
    c.batch = image[0];
    c.in_channels = image[1];
    c.out_channels = kernel[0];
    const std::int64_t channels = c.depthwise() ? 1 : c.in_channels;
    if (kernel[1] != channels || (c.depthwise() && c.out_channels != c.in_channels))
        return error{errc::shape_mismatch, "a kernel of " + std::to_string(kernel[0]) + " x " + std::to_string(kernel[1]) +
                                               " channels for an image of " + std::to_string(c.in_channels)};
    if (from.types[0] != from.types[1])
        return error{errc::unsupported, "expected equal element types, got " + from.types[0] + " and " + from.types[1]};
    constexpr std::array<std::string_view, 3> names{"float16", "float32", "float64"};
    constexpr std::array<element_type, 3> types{element_type::f16, element_type::f32, element_type::f64};
    const auto type = std::find(names.begin(), names.end(), from.types[0]);
    if (type == names.end()) return error{errc::unsupported, "expected float16, float32 or float64, got '" + from.types[0].substr(0, 40) + "'"};
    c.type = types[static_cast<std::size_t>(type - names.begin())];
    const auto fits = [](const std::vector<std::int64_t>& list, std::size_t most) {
        return list.size() == 1 || list.size() == 2 || list.size() == most;
    };
    if (!fits(from.strides, 2) || !fits(from.dilation, 2) || (from.padding_name.empty() && !fits(from.padding, 4)))
        return error{errc::parse, "expected one or two strides and dilations, and one, two or four numbers of padding"};
    auto y = autotvm_window(from, 0);
    if (!y) return y.error();
    auto x = autotvm_window(from, 1);
    if (!x) return x.error();
    c.y = *y;
    c.x = *x;
    double products = static_cast<double>(c.batch) * static_cast<double>(c.out_channels) * static_cast<double>(channels);
    for (const window_axis& w : {c.y, c.x}) products *= static_cast<double>(w.in + w.pad_before + w.pad_behind) * static_cast<double>(w.k);
    if (products > 0x1p50) return error{errc::limit, "a convolution of more than 2^50 products"};
    return c;
}

} // namespace detail

/// Reads the workload key of a record (`autotvm_workload_key`): `["conv2d_nchw.cuda", ["TENSOR", [1, 3, 224, 224], "float32"], ["TENSOR", ...], strides,
/// padding, dilation, ...]`.
/// Errors: parse, with line:column; not_found, a template that is not among `autotvm_template_names`; shape_mismatch; invalid_argument; unsupported, a
/// shape that is not of four extents or elements that are no floats; limit, more than 2^50 products
[[nodiscard]] inline result<autotvm_convolution> parse_autotvm_convolution(std::string_view workload_key) {
    json_reader in(workload_key);
    std::string_view name;
    if (!in.begin_array()) return in.error();
    if (!in.next_element() || !in.read(name)) return in.ok() ? error{errc::parse, "expected the name of a template, got an empty list"} : in.error();
    const auto known = std::find(autotvm_template_names.begin(), autotvm_template_names.end(), name);
    if (known == autotvm_template_names.end())
        return error{errc::not_found,
                     "expected conv2d_nchw.cuda, conv2d_NCHWc.x86 or depthwise_conv2d_NCHWc.x86, got '" + std::string(name.substr(0, 60)) + "'"};
    detail::autotvm_convolution_arguments arguments;
    if (!arguments.read(in) || !in.finish()) return in.error();
    return detail::autotvm_convolution_of(static_cast<autotvm_template>(known - autotvm_template_names.begin()), arguments);
}

} // namespace augur::inline v0

#endif
