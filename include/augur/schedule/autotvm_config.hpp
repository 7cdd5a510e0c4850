// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_AUTOTVM_CONFIG_HPP
#define AUGUR_SCHEDULE_AUTOTVM_CONFIG_HPP

/// @file
/// Schedule type of TVM's AutoTVM: the configuration of a template, a list of named knobs (TVM python/tvm/autotvm/task/space.py, ConfigEntity).

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/printable.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/detail/raw_json.hpp>

namespace augur::inline v0 {

/// What a knob decides. The order is that of `autotvm_knob_kinds`.
enum class autotvm_knob_kind : std::uint8_t {
    split,    ///< lengths of the parts of an axis, outermost first; -1: what the other parts leave
    reorder,  ///< order of axes, by index
    annotate, ///< one annotation per axis ("none", "unroll", "vec", "blockIdx.x", ...), or axis indices where a cache is attached
    other,    ///< one value
};

/// Names of the kinds in logs.
inline constexpr std::array<std::string_view, 4> autotvm_knob_kinds{"sp", "re", "an", "ot"};

/// One number or text of a knob.
using autotvm_value = std::variant<std::int64_t, double, std::string>;

/// A knob of a template with its value.
struct autotvm_knob {
    std::string name;
    autotvm_knob_kind kind = autotvm_knob_kind::other;
    /// split, reorder: integers. annotate: names or integers. other: exactly one; a text is the value in JSON, for example `true` or `"NCHW"`.
    std::vector<autotvm_value> values;
    friend bool operator==(const autotvm_knob&, const autotvm_knob&) = default;
};

/// Can a knob of kind `kind` hold `values`?
[[nodiscard]] inline bool fits(autotvm_knob_kind kind, std::span<const autotvm_value> values) noexcept {
    if (kind == autotvm_knob_kind::other) return values.size() == 1;
    for (const autotvm_value& value : values)
        if (!std::holds_alternative<std::int64_t>(value) && (kind != autotvm_knob_kind::annotate || !std::holds_alternative<std::string>(value)))
            return false;
    return true;
}

/// A configuration of an AutoTVM template. A value.
///
/// A visit reports each knob as `primitive(kind)`, `name(name of the knob)`, then its values: `number` for a number, `name` for a text.
struct autotvm_config {
    std::vector<autotvm_knob> knobs;

    template <schedule_sink Sink>
    void visit(Sink& sink) const {
        for (const autotvm_knob& knob : knobs) {
            sink.primitive(autotvm_knob_kinds[static_cast<std::size_t>(knob.kind)]);
            sink.name(std::string_view(knob.name));
            for (const autotvm_value& value : knob.values) {
                if (const auto* const integer = std::get_if<std::int64_t>(&value)) sink.number(*integer);
                else if (const auto* const real = std::get_if<double>(&value)) sink.number(*real);
                else if (const auto* const text = std::get_if<std::string>(&value)) sink.name(std::string_view(*text));
            }
        }
    }

    friend bool operator==(const autotvm_config&, const autotvm_config&) = default;
};

template <>
struct schedule_traits<autotvm_config> {
    template <schedule_sink Sink>
    static void visit(const autotvm_config& s, Sink& k) {
        s.visit(k);
    }

    /// Rebuilds the knobs; the task is not used. Error `parse`: items that form no knob; the message names the knob.
    template <class Task>
    static result<autotvm_config> rebuild(const Task&, std::span<const schedule_item> items) {
        using item_kind = schedule_item::kind;
        autotvm_config config;
        for (std::size_t i = 0; i < items.size();) {
            const auto failure = [at = config.knobs.size()](const std::string& reason) {
                return error{errc::parse, "knob " + std::to_string(at) + ": " + reason};
            };
            autotvm_knob knob;
            std::size_t kind = 0;
            while (kind < autotvm_knob_kinds.size() && autotvm_knob_kinds[kind] != items[i].text) ++kind;
            if (items[i].type != item_kind::primitive || kind == autotvm_knob_kinds.size())
                return failure("expected the kind sp, re, an or ot, got '" + printable(items[i].text) + "'");
            knob.kind = static_cast<autotvm_knob_kind>(kind);
            if (++i == items.size() || items[i].type != item_kind::name) return failure("expected its name after the kind");
            knob.name = items[i].text;
            for (++i; i < items.size() && items[i].type != item_kind::primitive; ++i) {
                if (items[i].type == item_kind::real && !std::isfinite(items[i].real)) return failure("expected finite numbers");
                if (knob.kind == autotvm_knob_kind::other && items[i].type == item_kind::name && !detail::is_json_line(items[i].text))
                    return failure("expected the JSON of its option, on one line");
                if (items[i].type == item_kind::integer) knob.values.emplace_back(items[i].integer);
                else if (items[i].type == item_kind::real) knob.values.emplace_back(items[i].real);
                else knob.values.emplace_back(items[i].text);
            }
            if (!fits(knob.kind, knob.values)) return failure("these are not the values of the kind " + std::string(autotvm_knob_kinds[kind]));
            config.knobs.push_back(std::move(knob));
        }
        return config;
    }
};

} // namespace augur::inline v0

#endif
