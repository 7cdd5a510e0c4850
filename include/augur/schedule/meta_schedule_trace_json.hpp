// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_META_SCHEDULE_TRACE_JSON_HPP
#define AUGUR_SCHEDULE_META_SCHEDULE_TRACE_JSON_HPP

/// @file
/// Reads and writes MetaSchedule traces as JSON, byte for byte as TVM: `[[[kind,[inputs],[attributes],[outputs]],...],[[instruction,decision],...]]`.

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
#include <augur/schedule/detail/raw_json.hpp>
#include <augur/schedule/meta_schedule_trace.hpp>

namespace augur::inline v0 {

/// Default limit of the number of instructions of a trace.
inline constexpr std::size_t max_instructions = 4096;

namespace detail {

inline bool read_trace_values(json_reader& in, std::vector<trace_value>& out);

inline bool read_trace_value(json_reader& in, trace_value& out) {
    switch (in.peek()) {
    case json_kind::string: return in.read(out.data.emplace<std::string>());
    case json_kind::array: return read_trace_values(in, out.data.emplace<std::vector<trace_value>>());
    case json_kind::number: {
        json_number number;
        if (!in.read(number)) return false;
        if (number.is_integer) out.data = number.integer;
        else out.data = number.real;
        return true;
    }
    default: {
        std::string_view json;
        if (!in.raw(json)) return false;
        std::string& text = out.data.emplace<trace_json>().text;
        text = json;
        to_one_line(text);
        return true;
    }
    }
}

inline bool read_trace_values(json_reader& in, std::vector<trace_value>& out) {
    out.clear();
    if (!in.begin_array()) return false;
    while (in.next_element())
        if (!read_trace_value(in, out.emplace_back())) return false;
    return in.ok();
}

/// Reads an instruction without its decision.
inline bool read_trace_instruction(json_reader& in, trace_instruction& out) {
    const auto next = [&in](const char* item) {
        return in.next_element() || in.fail(errc::parse, std::string("an instruction ends before its ") + item);
    };
    out.outputs.clear();
    out.decision.reset();
    if (!in.begin_array() || !next("kind") || !in.read(out.kind)) return false;
    if (!next("inputs") || !read_trace_values(in, out.inputs) || !next("attributes") || !read_trace_values(in, out.attributes)) return false;
    if (!next("outputs") || !in.begin_array()) return false;
    while (in.next_element())
        if (!in.read(out.outputs.emplace_back())) return false;
    if (in.next_element()) return in.fail(errc::parse, "an instruction has more than a kind, inputs, attributes and outputs");
    return in.ok();
}

/// Reads `[instruction, decision]` and gives the instruction its decision.
inline bool read_trace_decision(json_reader& in, meta_schedule_trace& out) {
    std::int64_t at = 0;
    if (!in.begin_array()) return false;
    if (!in.next_element()) return in.fail(errc::parse, "a decision without the index of its instruction");
    if (!in.read(at)) return false;
    if (at < 0 || static_cast<std::uint64_t>(at) >= out.instructions.size())
        return in.fail(errc::parse,
                       "expected the index of one of " + std::to_string(out.instructions.size()) + " instructions, got " + std::to_string(at));
    auto& decision = out.instructions[static_cast<std::size_t>(at)].decision;
    if (decision) return in.fail(errc::parse, "instruction " + std::to_string(at) + " has two decisions");
    if (!in.next_element()) return in.fail(errc::parse, "an index of an instruction without a decision");
    if (!read_trace_value(in, decision.emplace())) return false;
    if (in.next_element()) return in.fail(errc::parse, "a decision has more than an index and a value");
    return in.ok();
}

/// Writer of TVM's compact JSON: no spaces, 20 significant digits.
struct compact_writer {
    std::string& out;

    void real(double value) const {
        std::array<char, 40> text;
        out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 20).ptr);
    }
    void value(const trace_value& v) const {
        if (const auto* const integer = std::get_if<std::int64_t>(&v.data)) append_number(out, *integer);
        else if (const auto* const number = std::get_if<double>(&v.data)) real(*number);
        else if (const auto* const text = std::get_if<std::string>(&v.data)) append_json_string(out, *text);
        else if (const auto* const json = std::get_if<trace_json>(&v.data)) out += json->text;
        else if (const auto* const items = std::get_if<std::vector<trace_value>>(&v.data))
            list(*items, [this](const trace_value& item) { value(item); });
    }
    template <class Range, class Write>
    void list(const Range& items, const Write& write) const {
        char before = '[';
        for (const auto& item : items) {
            out += before;
            write(item);
            before = ',';
        }
        out += before == '[' ? "[]" : "]";
    }
};

} // namespace detail

/// Reads a trace. False on an error, which `in` then holds.
inline bool read_meta_schedule_trace(json_reader& in, meta_schedule_trace& out, std::size_t max_count = max_instructions) {
    out.instructions.clear();
    if (!in.begin_array() || !in.next_element()) return in.ok() && in.fail(errc::parse, "a trace without instructions and decisions");
    if (!in.begin_array()) return false;
    while (in.next_element()) {
        if (out.instructions.size() == max_count) return in.fail(errc::limit, "more instructions than the limit of " + std::to_string(max_count));
        if (!detail::read_trace_instruction(in, out.instructions.emplace_back())) return false;
    }
    if (!in.ok()) return false;
    if (!in.next_element()) return in.fail(errc::parse, "a trace ends before its decisions");
    if (!in.begin_array()) return false;
    while (in.next_element())
        if (!detail::read_trace_decision(in, out)) return false;
    if (!in.ok()) return false;
    if (in.next_element()) return in.fail(errc::parse, "a trace has more than instructions and decisions");
    return in.ok();
}

/// Parses a JSON text as a trace. Errors: parse, limit; the message begins with line:column.
[[nodiscard]] inline result<meta_schedule_trace> parse_meta_schedule_trace(std::string_view json, json_limits limits = {}) {
    json_reader in(json, limits);
    meta_schedule_trace trace;
    if (!read_meta_schedule_trace(in, trace) || !in.finish()) return in.error();
    return trace;
}

/// Appends a trace in TVM's format. pre: reals are finite
inline void append_meta_schedule_trace(std::string& text, const meta_schedule_trace& trace) {
    const detail::compact_writer out{text};
    const auto value = [&](const trace_value& v) { out.value(v); };
    text += '[';
    out.list(trace.instructions, [&](const trace_instruction& instruction) {
        text += '[';
        append_json_string(text, instruction.kind);
        text += ',';
        out.list(instruction.inputs, value);
        text += ',';
        out.list(instruction.attributes, value);
        text += ',';
        out.list(instruction.outputs, [&](const std::string& name) { append_json_string(text, name); });
        text += ']';
    });
    text += ',';
    std::vector<std::size_t> decided;
    for (std::size_t i = 0; i < trace.instructions.size(); ++i)
        if (trace.instructions[i].decision) decided.push_back(i);
    out.list(decided, [&](std::size_t i) {
        append_number(text += '[', i);
        text += ',';
        out.value(*trace.instructions[i].decision);
        text += ']';
    });
    text += ']';
}

[[nodiscard]] inline std::string to_json(const meta_schedule_trace& trace) {
    std::string text;
    append_meta_schedule_trace(text, trace);
    return text;
}

} // namespace augur::inline v0

#endif
