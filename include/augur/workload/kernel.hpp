// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_KERNEL_HPP
#define AUGUR_WORKLOAD_KERNEL_HPP

/// @file
/// A deep-learning operator with its shape parameters and fused element-wise operations: text form and TVM-style workload key.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/printable.hpp>
#include <augur/core/number.hpp>
#include <augur/workload/detail/kernel_parameters.hpp>
#include <augur/workload/kernel_kind.hpp>
#include <augur/workload/window.hpp>

namespace augur::inline v0 {

namespace detail {

template <std::size_t N>
std::optional<std::size_t> place_of(const std::array<std::string_view, N>& names, std::string_view name) {
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == name) return i;
    return std::nullopt;
}

template <std::size_t N>
std::string join_names(const std::array<std::string_view, N>& names) {
    std::string out;
    for (const auto name : names) out.append(out.empty() ? "" : ", ").append(name);
    return out;
}

} // namespace detail

/// A kernel. A value, always valid.
///
/// Text form: `conv2d:n=1,h=56,w=56,c=64,f=64,k=3,stride=1,pad=1,layout=nhwc,bias,relu`. Parameters are named and may be in any order; the fused
/// operations may stand between or after them and are applied in the order of the text. Defaults: `n`, `stride`, `dilation`, `groups`, `transb`,
/// `inner` 1; `pad`, `opad`, `transa` 0; `tile` 4; `layout` channels last. `k`, `stride`, `pad`, `opad` and `dilation` are one number for all spatial
/// axes or one for each, `k=3x5`; `pad=0x1x2x1` has the borders before the axes (top, left) and then those behind them (bottom, right). `text()` prints
/// the canonical form, which has as few numbers as possible, and `parse(text())` returns the same kernel.
class kernel {
public:
    using parameter = std::pair<std::string_view, parameter_value>;

    /// Errors: invalid_argument (an unknown, duplicate or missing parameter, a value outside its range, or of too many numbers), shape_mismatch (a window
    /// larger than the padded image, groups that do not divide the channels, ...), limit (a tensor of more than 2^31 elements, more than 16 fused
    /// operations).
    static result<kernel> make(kernel_kind kind, std::initializer_list<parameter> parameters, std::vector<fused_op> fused = {},
                               tensor_layout layout = tensor_layout::nhwc) {
        kernel out(kind, layout, std::move(fused));
        for (const auto& [name, value] : parameters)
            if (auto reason = out.set(name, value); !reason.empty())
                return error{errc::invalid_argument, std::string(to_string(kind)) + ": " + reason};
        return finished(std::move(out), to_string(kind));
    }

    /// Parses the text form. Errors: those of `make`, and parse for malformed text; the message names the column.
    static result<kernel> parse(std::string_view text) {
        if (text.size() > detail::kernel_max_text)
            return error{errc::limit,
                         "kernel: expected at most " + std::to_string(detail::kernel_max_text) + " characters, got " + std::to_string(text.size())};
        const auto colon = text.find(':');
        const auto name = text.substr(0, colon);
        const auto kind = detail::place_of(detail::kernel_kind_names, name);
        if (!kind)
            return error{errc::parse, "kernel '" + printable(name) + "' is unknown; known are " + detail::join_names(detail::kernel_kind_names)};
        if (colon == std::string_view::npos)
            return error{errc::parse, "kernel '" + printable(name) + "': expected ':' and parameters after the name, got the end"};
        kernel out(static_cast<kernel_kind>(*kind), tensor_layout::nhwc, {});
        bool layout_given = false;
        for (std::size_t at = colon + 1;;) {
            const auto comma = text.find(',', at);
            const auto item = text.substr(at, comma == std::string_view::npos ? comma : comma - at);
            const auto place = std::string(name) + ", column " + std::to_string(at + 1) + ": ";
            const auto equals = item.find('=');
            const auto key = item.substr(0, equals);
            if (item.empty()) return error{errc::parse, place + "expected <parameter>=<number> or a fused operation, got nothing"};
            if (equals == std::string_view::npos) {
                const auto op = detail::place_of(detail::fused_op_names, key);
                if (!op)
                    return error{errc::parse, place + "'" + printable(key) + "' is neither <parameter>=<number> nor one of " +
                                                  detail::join_names(detail::fused_op_names)};
                out.fused_.push_back(static_cast<fused_op>(*op));
            } else if (const auto value = item.substr(equals + 1); key == "layout" && out.is_image()) {
                const auto& layouts = detail::tensor_layout_names[out.rank() - 1];
                const auto layout = detail::place_of(layouts, value);
                if (!layout)
                    return error{errc::parse, place + "expected layout " + std::string(layouts[0]) + " or " + std::string(layouts[1]) + ", got '" +
                                                  printable(value) + "'"};
                if (layout_given) return error{errc::invalid_argument, place + "layout is given twice"};
                layout_given = true;
                out.layout_ = static_cast<tensor_layout>(*layout);
            } else {
                const auto number = parameter_value::parse(value);
                if (!number) return error{errc::parse, place + "'" + printable(key) + "': expected a whole number, got '" + printable(value) + "'"};
                if (auto reason = out.set(key, *number); !reason.empty()) return error{errc::invalid_argument, place + reason};
            }
            if (comma == std::string_view::npos) break;
            at = comma + 1;
        }
        return finished(std::move(out), name);
    }

    /// Returns the kernel whose `workload_key()` is exactly `key`.   Errors: parse (any other text, e.g. a key of another compiler)
    static result<kernel> from_workload_key(std::string_view key) {
        const auto failure = error{errc::parse, "kernel: '" + printable(key) + "' is no key of a known kernel"};
        if (key.size() > detail::kernel_max_text || !key.starts_with("[\"") || !key.ends_with(']')) return failure;
        const auto name = key.substr(2, (std::min)(key.find('"', 2), key.size()) - 2);
        std::optional<std::size_t> kind; // longest match: conv2d is a prefix of conv2d_transpose
        for (std::size_t i = 0; i < detail::kernel_kind_names.size(); ++i) {
            const auto known_name = detail::kernel_kind_names[i];
            if (name.starts_with(known_name) && (!kind || known_name.size() > detail::kernel_kind_names[*kind].size())) kind = i;
        }
        if (!kind) return failure;
        kernel out(static_cast<kernel_kind>(*kind), tensor_layout::nhwc, {});
        for (auto suffix = name.substr(detail::kernel_kind_names[*kind].size()); !suffix.empty();) {
            const auto word = suffix.substr(1, (std::min)(suffix.find('_', 1), suffix.size()) - 1);
            suffix.remove_prefix(word.size() + 1);
            if (const auto layout = out.is_image() ? detail::place_of(detail::tensor_layout_names[out.rank() - 1], word) : std::nullopt)
                out.layout_ = static_cast<tensor_layout>(*layout);
            else if (const auto op = detail::place_of(detail::fused_op_names, word)) out.fused_.push_back(static_cast<fused_op>(*op));
            else return failure;
        }
        std::size_t at = name.size() + 3;
        for (const auto& p : detail::kernel_parameters(out.kind_)) {
            if (p.appended && at + 1 == key.size()) break;
            at += 2; // skips a comma and a space; the comparison below rejects any other characters
            if (at >= key.size()) return failure;
            const bool list = key[at] == '[';
            const auto end = (std::min)(key.find_first_of(list ? "]" : ",]", at), key.size());
            const auto value = parameter_value::parse(key.substr(at, end - at).substr(list ? 1 : 0), ", ");
            if (!value || !out.set(p.name, *value).empty()) return failure;
            at = end + (list ? 1 : 0);
        }
        auto checked = finished(std::move(out), name);
        if (!checked || checked->workload_key() != key) return failure;
        return checked;
    }

    [[nodiscard]] kernel_kind kind() const noexcept { return kind_; }
    [[nodiscard]] tensor_layout layout() const noexcept { return layout_; }
    [[nodiscard]] const std::vector<fused_op>& fused() const noexcept { return fused_; }
    /// Whether the kernel has a batch, spatial axes and channels, and so a layout.
    [[nodiscard]] bool is_image() const noexcept { return rank() != 0; }
    /// How many spatial axes an image has; 0 for matrices.
    [[nodiscard]] std::size_t rank() const noexcept {
        const auto parameters = detail::kernel_parameters(kind_);
        return static_cast<std::size_t>(
            std::count_if(parameters.begin(), parameters.end(), [](const auto& p) { return p.name == "d" || p.name == "h" || p.name == "w"; }));
    }

    /// The value of a parameter that has one number. pre: this kind has the parameter, and one number for all axes
    [[nodiscard]] std::int64_t operator[](std::string_view name) const {
        const auto at = find(name);
        AUGUR_ASSERT(at.has_value() && values_[*at].count() == 1, "kernel: no such parameter, or one with several numbers");
        return at ? values_[*at][0] : 0;
    }
    /// The value of a parameter, or `otherwise` for a kind without it.
    [[nodiscard]] parameter_value value_or(std::string_view name, parameter_value otherwise) const {
        const auto at = find(name);
        return at ? values_[*at] : otherwise;
    }

    /// The factor by which a transposed convolution enlarges its image with zeros, the product of its strides; 1 for other kernels. TVM's count of
    /// operations includes the products with these zeros.
    [[nodiscard]] double dilation_of_image() const {
        double factor = 1;
        if (is_transposed())
            for (std::size_t a = 0; a < rank(); ++a) factor *= static_cast<double>(window(a).stride);
        return factor;
    }

    /// The operator's window along a spatial axis. Global pooling has one window, which is the image; where there are no windows they are of one element.
    /// pre: axis < rank(); the axes are d, h, w in this order
    [[nodiscard]] window_axis window(std::size_t axis) const {
        const auto axes = rank();
        AUGUR_ASSERT(axis < axes, "kernel: an axis of the image");
        window_axis out;
        out.in = value_or(std::string_view("dhw").substr(3 - axes + axis, 1), 1)[0];
        if (kind_ == kernel_kind::global_avg_pool2d) {
            out.k = out.stride = out.in;
            return out;
        }
        out.k = value_or("k", kind_ == kernel_kind::conv2d_winograd ? 3 : 1).before(axis);
        out.stride = value_or("stride", 1).before(axis);
        out.dilation = value_or("dilation", 1).before(axis);
        out.pad_before = value_or("pad", 0).before(axis);
        out.pad_behind = value_or("pad", 0).behind(axis, axes);
        out.opad = value_or("opad", 0).before(axis);
        const auto border = out.pad_before + out.pad_behind;
        if (is_transposed()) out.out = (out.in - 1) * out.stride - border + out.span() + out.opad;
        else out.out = out.in + border < out.span() ? 0 : (out.in + border - out.span()) / out.stride + 1;
        return out;
    }

    /// The canonical text form.
    [[nodiscard]] std::string text() const {
        std::string out(to_string(kind_));
        char separator = ':';
        const auto parameters = detail::kernel_parameters(kind_);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (parameters[i].quiet && values_[i] == parameter_value(parameters[i].fallback)) continue;
            out.append(1, separator).append(parameters[i].name).append("=").append(values_[i].text());
            separator = ',';
        }
        if (is_image()) out.append(",layout=").append(to_string(layout_, rank()));
        for (const auto op : fused_) out.append(",").append(to_string(op));
        return out;
    }

    /// The kernel class: kind, layout and fused operations without sizes, e.g. `conv2d_nhwc_bias_relu`. Schedules can be reused within a class.
    [[nodiscard]] std::string class_name() const {
        std::string out(to_string(kind_));
        if (is_image()) out.append("_").append(to_string(layout_, rank()));
        for (const auto op : fused_) out.append("_").append(to_string(op));
        return out;
    }

    /// A key in the form of TVM's workload keys: the class and every parameter, e.g. `["conv2d_nhwc_bias_relu", 1, 56, ..., [3, 5], ...]`. Equal keys mean
    /// equal computations.
    [[nodiscard]] std::string workload_key() const {
        std::string out = "[\"" + class_name() + "\"";
        const auto parameters = detail::kernel_parameters(kind_);
        auto n = values_.size();
        while (n > 0 && parameters[n - 1].appended && values_[n - 1] == parameter_value(parameters[n - 1].fallback)) --n;
        for (std::size_t i = 0; i < n; ++i) {
            const bool list = values_[i].count() > 1;
            out.append(list ? ", [" : ", ").append(values_[i].text(", ")).append(list ? "]" : "");
        }
        return out + "]";
    }

    friend bool operator==(const kernel& a, const kernel& b) {
        return a.kind_ == b.kind_ && a.layout_ == b.layout_ && a.values_ == b.values_ && a.fused_ == b.fused_;
    }

private:
    kernel_kind kind_;
    tensor_layout layout_;
    std::vector<parameter_value> values_; // in the order of kernel_parameters(kind_), as short as possible; without numbers: not set
    std::vector<fused_op> fused_;

    kernel(kernel_kind kind, tensor_layout layout, std::vector<fused_op> fused)
        : kind_(kind), layout_(layout), values_(detail::kernel_parameters(kind).size()), fused_(std::move(fused)) {}

    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
        const auto parameters = detail::kernel_parameters(kind_);
        for (std::size_t i = 0; i < parameters.size(); ++i)
            if (parameters[i].name == name) return i;
        return std::nullopt;
    }

    /// Sets a parameter. Returns the error message, or an empty string.
    std::string set(std::string_view name, const parameter_value& value) {
        const auto at = find(name);
        if (!at) {
            std::string names;
            for (const auto& p : detail::kernel_parameters(kind_)) names.append(names.empty() ? "" : ", ").append(p.name);
            return "there is no parameter '" + printable(name) + "'; known are " + names + (is_image() ? ", layout" : "");
        }
        const auto& p = detail::kernel_parameters(kind_)[*at];
        if (values_[*at].count() != 0) return "'" + std::string(name) + "' is given twice";
        const auto axes = rank();
        std::vector<std::size_t> counts{1};
        if (p.form != detail::parameter_form::single && axes > 1) counts.push_back(axes);
        if (p.form == detail::parameter_form::per_side) counts.push_back(2 * axes);
        if (std::find(counts.begin(), counts.end(), value.count()) == counts.end()) {
            std::string expected;
            for (const auto n : counts) expected.append(expected.empty() ? "" : n == counts.back() ? " or " : ", ").append(std::to_string(n));
            return "'" + std::string(name) + "': expected " + expected + (counts.size() == 1 ? " number" : " numbers") + ", got " +
                   std::to_string(value.count());
        }
        for (std::size_t i = 0; i < value.count(); ++i)
            if (value[i] < p.low || value[i] > p.high)
                return "'" + std::string(name) + "' must be within " + std::to_string(p.low) + " and " + std::to_string(p.high) + ", is " +
                       value.text();
        values_[*at] = value.shortened(axes);
        return {};
    }

    /// Fills in the defaults and checks the kernel.
    static result<kernel> finished(kernel out, std::string_view name) {
        const auto parameters = detail::kernel_parameters(out.kind_);
        const std::string prefix = std::string(name) + ": ";
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (out.values_[i].count() != 0) continue;
            out.values_[i] = parameters[i].fallback;
            if (parameters[i].fallback == -1) return error{errc::invalid_argument, prefix + "'" + std::string(parameters[i].name) + "' is missing"};
        }
        if (out.fused_.size() > detail::kernel_max_fused)
            return error{errc::limit, prefix + "expected at most " + std::to_string(detail::kernel_max_fused) + " fused operations, got " +
                                          std::to_string(out.fused_.size())};
        if (out.kind_ == kernel_kind::elementwise && out.fused_.empty())
            return error{errc::invalid_argument, prefix + "expected at least one of " + detail::join_names(detail::fused_op_names)};
        if (auto reason = out.misfit(); !reason.empty()) return error{errc::shape_mismatch, prefix + reason};
        if (const auto elements = out.largest_tensor(); elements > static_cast<double>(detail::kernel_max_elements))
            return error{errc::limit, prefix + "expected tensors of at most 2^31 elements, got one of " + std::to_string(elements)};
        return out;
    }

    [[nodiscard]] bool is_transposed() const noexcept { return kind_ == kernel_kind::conv2d_transpose || kind_ == kernel_kind::conv1d_transpose; }

    /// The reason why the sizes are inconsistent; empty if they are consistent.
    [[nodiscard]] std::string misfit() const {
        const auto text = [](std::int64_t n) { return std::to_string(n); };
        if (kind_ == kernel_kind::conv2d_winograd && (*this)["tile"] == 3) return "tile must be 2 or 4, is 3";
        for (std::size_t axis = 0; axis < rank(); ++axis) {
            const auto w = window(axis);
            const std::string name(1, "dhw"[3 - rank() + axis]);
            const auto pad = (std::max)(w.pad_before, w.pad_behind);
            if (w.out < 1) return "no output is left along '" + name + "' of " + text(w.in) + " with k=" + text(w.k) + " and pad=" + text(pad);
            if (kind_ == kernel_kind::max_pool2d || kind_ == kernel_kind::avg_pool2d) {
                if (2 * pad > w.k) return "pad=" + text(pad) + " must be at most half of k=" + text(w.k);
            } else if (pad >= w.span()) return "pad=" + text(pad) + " must be less than the window of " + text(w.span());
            if (w.opad > 0 && w.opad >= w.stride) return "opad=" + text(w.opad) + " must be less than stride=" + text(w.stride);
        }
        const auto groups = value_or("groups", 1)[0];
        const auto c = value_or("c", 1)[0];
        const auto f = value_or("f", groups)[0];
        if (c % groups != 0 || f % groups != 0) return "groups=" + text(groups) + " must divide c=" + text(c) + " and f=" + text(f);
        return {};
    }

    /// Elements of the largest tensor, padding included.
    [[nodiscard]] double largest_tensor() const {
        const auto get = [&](std::string_view name) { return static_cast<double>(value_or(name, 1)[0]); };
        const auto largest = [](std::initializer_list<double> sizes) { return (std::max)(sizes); };
        if (!is_image()) return get("b") * get("inner") * largest({get("m") * get("n"), get("m") * get("k"), get("n") * get("k")});
        double padded = get("n") * get("c");
        double out = get("n") * (find("f") ? get("f") : get("c"));
        double weights = find("f") ? get("c") / get("groups") * get("f") : 0;
        const auto tile = kind_ == kernel_kind::conv2d_winograd ? get("tile") : 0.0;
        for (std::size_t axis = 0; axis < rank(); ++axis) {
            const auto w = window(axis);
            const auto extent = static_cast<double>(w.out);
            const auto border = static_cast<double>(is_transposed() ? w.span() - 1 : w.pad_before + w.pad_behind);
            // Tiles overlap: less than (tile + 2) / tile of the image, and one tile more.
            padded *= tile > 0 ? (extent / tile + 1) * (tile + 2) : (is_transposed() ? extent : static_cast<double>(w.in)) + border;
            out *= tile > 0 ? (extent / tile + 1) * (tile + 2) : extent;
            weights *= tile > 0 ? tile + 2 : static_cast<double>(w.k);
        }
        return largest({padded, out, weights});
    }
};

} // namespace augur::inline v0

#endif
