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
#include <augur/core/number.hpp>
#include <augur/workload/detail/kernel_parameters.hpp>
#include <augur/workload/kernel_kind.hpp>

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

/// A kernel. A value, always valid. Windows, strides and padding are square.
///
/// Text form: `conv2d:n=1,h=56,w=56,c=64,f=64,k=3,stride=1,pad=1,layout=nhwc,bias,relu`. Parameters are named and may be in any order; the fused
/// operations may stand between or after them and are applied in the order of the text. Defaults: `n`, `stride`, `dilation`, `groups`, `transb` 1;
/// `pad`, `opad` 0; `layout` nhwc. `text()` prints the canonical form, and `parse(text())` returns the same kernel.
class kernel {
public:
    using parameter = std::pair<std::string_view, std::int64_t>;

    /// Errors: invalid_argument (an unknown, duplicate or missing parameter, or a value outside its range), shape_mismatch (a window larger than the
    /// padded image, groups that do not divide the channels, ...), limit (a tensor of more than 2^31 elements, more than 16 fused operations).
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
                const auto layout = detail::place_of(detail::tensor_layout_names, value);
                if (!layout) return error{errc::parse, place + "expected layout nhwc or nchw, got '" + printable(value) + "'"};
                if (layout_given) return error{errc::invalid_argument, place + "layout is given twice"};
                layout_given = true;
                out.layout_ = static_cast<tensor_layout>(*layout);
            } else {
                const auto number = parse_int(value);
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
            if (const auto layout = detail::place_of(detail::tensor_layout_names, word)) out.layout_ = static_cast<tensor_layout>(*layout);
            else if (const auto op = detail::place_of(detail::fused_op_names, word)) out.fused_.push_back(static_cast<fused_op>(*op));
            else return failure;
        }
        std::size_t at = name.size() + 3;
        for (const auto& p : detail::kernel_parameters(out.kind_)) {
            at += 2; // skips a comma and a space; the comparison below rejects any other characters
            if (at >= key.size()) return failure;
            const auto number = key.substr(at, (std::min)(key.find_first_of(",]", at), key.size()) - at);
            const auto value = parse_int(number);
            if (!value || !out.set(p.name, *value).empty()) return failure;
            at += number.size();
        }
        auto checked = finished(std::move(out), name);
        if (!checked || checked->workload_key() != key) return failure;
        return checked;
    }

    [[nodiscard]] kernel_kind kind() const noexcept { return kind_; }
    [[nodiscard]] tensor_layout layout() const noexcept { return layout_; }
    [[nodiscard]] const std::vector<fused_op>& fused() const noexcept { return fused_; }
    /// Whether the kernel has the axes n, h, w, c, and so a layout.
    [[nodiscard]] bool is_image() const noexcept { return detail::kernel_parameters(kind_).front().name == "n"; }

    /// The value of a parameter. pre: this kind has the parameter
    [[nodiscard]] std::int64_t operator[](std::string_view name) const {
        const auto at = find(name);
        AUGUR_ASSERT(at.has_value(), "kernel: no such parameter");
        return at ? values_[*at] : 0;
    }

    /// The output extent (h or w) of the operator for an input extent `in`.
    [[nodiscard]] std::int64_t output_extent(std::int64_t in) const {
        switch (kind_) {
        case kernel_kind::conv2d:
        case kernel_kind::depthwise_conv2d:
        case kernel_kind::max_pool2d:
        case kernel_kind::avg_pool2d: return floor_div_or_negative(in + 2 * (*this)["pad"] - window(), (*this)["stride"]) + 1;
        case kernel_kind::conv2d_transpose: return (in - 1) * (*this)["stride"] - 2 * (*this)["pad"] + (*this)["k"] + (*this)["opad"];
        case kernel_kind::global_avg_pool2d: return 1;
        default: return in;
        }
    }

    /// The canonical text form.
    [[nodiscard]] std::string text() const {
        std::string out(to_string(kind_));
        char separator = ':';
        const auto parameters = detail::kernel_parameters(kind_);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (parameters[i].quiet && values_[i] == parameters[i].fallback) continue;
            out.append(1, separator).append(parameters[i].name).append("=").append(std::to_string(values_[i]));
            separator = ',';
        }
        if (is_image()) out.append(",layout=").append(to_string(layout_));
        for (const auto op : fused_) out.append(",").append(to_string(op));
        return out;
    }

    /// The kernel class: kind, layout and fused operations without sizes, e.g. `conv2d_nhwc_bias_relu`. Schedules can be reused within a class.
    [[nodiscard]] std::string class_name() const {
        std::string out(to_string(kind_));
        if (is_image()) out.append("_").append(to_string(layout_));
        for (const auto op : fused_) out.append("_").append(to_string(op));
        return out;
    }

    /// A key in the form of TVM's workload keys: the class and every parameter, e.g. `["conv2d_nhwc_bias_relu", 1, 56, ...]`. Equal keys mean equal
    /// computations.
    [[nodiscard]] std::string workload_key() const {
        std::string out = "[\"" + class_name() + "\"";
        for (const auto v : values_) out.append(", ").append(std::to_string(v));
        return out + "]";
    }

    friend bool operator==(const kernel& a, const kernel& b) {
        return a.kind_ == b.kind_ && a.layout_ == b.layout_ && a.values_ == b.values_ && a.fused_ == b.fused_;
    }

private:
    kernel_kind kind_;
    tensor_layout layout_;
    std::vector<std::int64_t> values_; // in the order of kernel_parameters(kind_); -1: not set
    std::vector<fused_op> fused_;

    kernel(kernel_kind kind, tensor_layout layout, std::vector<fused_op> fused)
        : kind_(kind), layout_(layout), values_(detail::kernel_parameters(kind).size(), -1), fused_(std::move(fused)) {}

    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
        const auto parameters = detail::kernel_parameters(kind_);
        for (std::size_t i = 0; i < parameters.size(); ++i)
            if (parameters[i].name == name) return i;
        return std::nullopt;
    }

    /// Input text for an error message: control characters and bytes beyond ASCII become '?', at most 40 characters.
    static std::string printable(std::string_view text) {
        std::string out(text.substr(0, 40));
        for (auto& c : out)
            if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
        return text.size() > 40 ? out + "..." : out;
    }

    /// Sets a parameter. Returns the error message, or an empty string.
    std::string set(std::string_view name, std::int64_t value) {
        const auto at = find(name);
        if (!at) {
            std::string names;
            for (const auto& p : detail::kernel_parameters(kind_)) names.append(names.empty() ? "" : ", ").append(p.name);
            return "there is no parameter '" + printable(name) + "'; known are " + names + (is_image() ? ", layout" : "");
        }
        const auto& p = detail::kernel_parameters(kind_)[*at];
        if (values_[*at] != -1) return "'" + std::string(name) + "' is given twice";
        if (value < p.low || value > p.high)
            return "'" + std::string(name) + "' must be within " + std::to_string(p.low) + " and " + std::to_string(p.high) + ", is " +
                   std::to_string(value);
        values_[*at] = value;
        return {};
    }

    /// Fills in the defaults and checks the kernel.
    static result<kernel> finished(kernel out, std::string_view name) {
        const auto parameters = detail::kernel_parameters(out.kind_);
        const std::string prefix = std::string(name) + ": ";
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (out.values_[i] == -1) out.values_[i] = parameters[i].fallback;
            if (out.values_[i] == -1) return error{errc::invalid_argument, prefix + "'" + std::string(parameters[i].name) + "' is missing"};
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

    static std::int64_t floor_div_or_negative(std::int64_t a, std::int64_t b) { return a < 0 ? -1 : a / b; }
    [[nodiscard]] std::int64_t window() const { return (find("dilation") ? (*this)["dilation"] : 1) * ((*this)["k"] - 1) + 1; }

    /// The reason why the sizes are inconsistent; empty if they are consistent.
    [[nodiscard]] std::string misfit() const {
        const auto& self = *this;
        if (!find("stride")) return {};
        for (const auto* side : {"h", "w"})
            if (output_extent(self[side]) < 1)
                return std::string("no output is left along '") + side + "' of " + std::to_string(self[side]) +
                       " with k=" + std::to_string(self["k"]) + " and pad=" + std::to_string(self["pad"]);
        switch (kind_) {
        case kernel_kind::conv2d:
            if (self["c"] % self["groups"] != 0 || self["f"] % self["groups"] != 0)
                return "groups=" + std::to_string(self["groups"]) + " must divide c=" + std::to_string(self["c"]) +
                       " and f=" + std::to_string(self["f"]);
            [[fallthrough]];
        case kernel_kind::depthwise_conv2d:
            if (self["pad"] >= window()) return "pad=" + std::to_string(self["pad"]) + " must be less than the window of " + std::to_string(window());
            break;
        case kernel_kind::conv2d_transpose:
            if (self["pad"] >= self["k"]) return "pad=" + std::to_string(self["pad"]) + " must be less than k=" + std::to_string(self["k"]);
            if (self["opad"] >= self["stride"])
                return "opad=" + std::to_string(self["opad"]) + " must be less than stride=" + std::to_string(self["stride"]);
            break;
        default:
            if (2 * self["pad"] > self["k"]) return "pad=" + std::to_string(self["pad"]) + " must be at most half of k=" + std::to_string(self["k"]);
            break;
        }
        return {};
    }

    /// Elements of the largest tensor, padding included.
    [[nodiscard]] double largest_tensor() const {
        const auto get = [&](std::string_view name) { return find(name) ? static_cast<double>((*this)[name]) : 1.0; };
        const auto largest = [](std::initializer_list<double> sizes) { return (std::max)(sizes); };
        if (!is_image()) return get("b") * largest({get("m") * get("n"), get("m") * get("k"), get("n") * get("k")});
        const auto out_h = static_cast<double>(output_extent((*this)["h"]));
        const auto out_w = static_cast<double>(output_extent((*this)["w"]));
        const bool transposed = kind_ == kernel_kind::conv2d_transpose; // its padded image is k - 1 larger than the output
        const double border = find("k") ? (transposed ? get("k") - 1 : 2 * get("pad")) : 0;
        const double padded = transposed ? (out_h + border) * (out_w + border) : (get("h") + border) * (get("w") + border);
        const double channels_out = find("f") ? get("f") : get("c");
        const double weights = find("f") ? get("k") * get("k") * get("c") / get("groups") * get("f") : 0;
        return largest({get("n") * padded * get("c"), get("n") * out_h * out_w * channels_out, weights});
    }
};

} // namespace augur::inline v0

#endif
