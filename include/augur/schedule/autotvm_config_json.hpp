// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_AUTOTVM_CONFIG_JSON_HPP
#define AUGUR_SCHEDULE_AUTOTVM_CONFIG_JSON_HPP

/// @file
/// Reads and writes the knobs of an AutoTVM configuration as JSON, byte for byte as TVM: `[["tile_f", "sp", [-1, 2, 16]], ["unroll_kw", "ot", true]]`.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <augur/schedule/detail/raw_json.hpp>

namespace augur::inline v0 {

/// Default limit of the number of knobs in a configuration.
inline constexpr std::size_t max_knobs = 4096;

namespace detail {

/// Appends a finite number as Python's `repr` and json.dumps write it: shortest digits; `1000000000.0`, `0.0001`, `1e-05`, `1e+16`.
inline void append_python_number(std::string& out, double value) {
    std::array<char, 40> buffer;
    const char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
    std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    if (text.front() == '-') {
        out += '-';
        text.remove_prefix(1);
    }
    const std::size_t e = text.find('e');
    int exponent = 0;
    std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
    if (exponent < -4 || exponent >= 16) {
        out += text;
        return;
    }
    std::string digits(text.substr(0, 1));
    if (e > 2) digits += text.substr(2, e - 2);
    if (exponent < 0) {
        out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
        return;
    }
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    out.append(digits, 0, whole).append(".").append(digits.size() > whole ? digits.substr(whole) : "0");
}

/// Reads one integer, real or name of a list.
inline bool read_autotvm_item(json_reader& in, autotvm_value& out) {
    if (in.peek() == json_kind::string) return in.read(out.emplace<std::string>());
    return in.read(out.emplace<std::int64_t>());
}

/// Reads the value of a knob of kind `other`. What is no number is kept as JSON.
inline bool read_autotvm_option(json_reader& in, autotvm_value& out) {
    if (in.peek() == json_kind::number) {
        json_number number;
        if (!in.read(number)) return false;
        if (number.is_integer) out = number.integer;
        else out = number.real;
        return true;
    }
    std::string_view json;
    if (!in.raw(json)) return false;
    to_one_line(out.emplace<std::string>(json));
    return true;
}

inline bool read_autotvm_knob(json_reader& in, autotvm_knob& out) {
    const auto next = [&in](const char* item) { return in.next_element() || in.fail(errc::parse, std::string("a knob ends before its ") + item); };
    std::string_view kind;
    if (!in.begin_array() || !next("name") || !in.read(out.name) || !next("kind") || !in.read(kind)) return false;
    const auto known = std::find(autotvm_knob_kinds.begin(), autotvm_knob_kinds.end(), kind);
    if (known == autotvm_knob_kinds.end())
        return in.fail(errc::parse, "expected a knob of kind sp, re, an or ot, got '" + std::string(kind.substr(0, 40)) + "'");
    out.kind = static_cast<autotvm_knob_kind>(known - autotvm_knob_kinds.begin());
    out.values.clear();
    if (!next("value")) return false;
    if (out.kind == autotvm_knob_kind::other) {
        if (!read_autotvm_option(in, out.values.emplace_back())) return false;
    } else {
        if (!in.begin_array()) return false;
        while (in.next_element())
            if (!read_autotvm_item(in, out.values.emplace_back())) return false;
        if (!in.ok()) return false;
        if (!fits(out.kind, out.values)) return in.fail(errc::parse, "expected integers, got a name in a knob of kind " + std::string(*known));
    }
    if (in.next_element()) return in.fail(errc::parse, "a knob has more than a name, a kind and a value");
    return in.ok();
}

inline void write_autotvm_value(json_writer& out, const autotvm_value& value, bool json_text) {
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
        out.value(*integer);
    } else if (const auto* const real = std::get_if<double>(&value)) {
        std::string text;
        append_python_number(text, *real);
        out.raw(text);
    } else if (const auto* const text = std::get_if<std::string>(&value)) {
        json_text ? out.raw(*text) : out.value(*text);
    }
}

} // namespace detail

/// Reads an array of knobs from `in`. False on an error, which `in` then holds.
inline bool read_autotvm_config(json_reader& in, autotvm_config& out, std::size_t max_count = max_knobs) {
    out.knobs.clear();
    if (!in.begin_array()) return false;
    while (in.next_element()) {
        if (out.knobs.size() == max_count) return in.fail(errc::limit, "more knobs than the limit of " + std::to_string(max_count));
        if (!detail::read_autotvm_knob(in, out.knobs.emplace_back())) return false;
    }
    return in.ok();
}

/// Parses a JSON text as an array of knobs. Errors: parse, limit; the message begins with line:column.
[[nodiscard]] inline result<autotvm_config> parse_autotvm_config(std::string_view json, json_limits limits = {}) {
    json_reader in(json, limits);
    autotvm_config config;
    if (!read_autotvm_config(in, config) || !in.finish()) return in.error();
    return config;
}

/// Writes the array of knobs in TVM's format. pre: reals are finite
inline void write_autotvm_config(json_writer& out, const autotvm_config& config) {
    out.begin_array();
    for (const autotvm_knob& knob : config.knobs) {
        out.begin_array().value(knob.name).value(autotvm_knob_kinds[static_cast<std::size_t>(knob.kind)]);
        const bool single = knob.kind == autotvm_knob_kind::other;
        if (!single) out.begin_array();
        for (const autotvm_value& value : knob.values) detail::write_autotvm_value(out, value, single);
        if (!single) out.end_array();
        out.end_array();
    }
    out.end_array();
}

[[nodiscard]] inline std::string to_json(const autotvm_config& config) {
    std::string text;
    json_writer out(text);
    write_autotvm_config(out, config);
    return text;
}

} // namespace augur::inline v0

#endif
