// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_META_SCHEDULE_TRACE_HPP
#define AUGUR_SCHEDULE_META_SCHEDULE_TRACE_HPP

/// @file
/// Schedule type of TVM's MetaSchedule: a trace, the instructions of a tensor program schedule with their decisions (TVM src/tir/schedule/trace.cc).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// A JSON value that is no number, text or list: null, a boolean or an object.
struct trace_json {
    std::string text;
    friend bool operator==(const trace_json&, const trace_json&) = default;
};

/// Input, attribute or decision of an instruction.
struct trace_value {
    /// A text is the name of a random variable (`b0` a block, `l5` a loop, `v8` an expression), or a string literal in quotes, or a word.
    std::variant<std::int64_t, double, std::string, trace_json, std::vector<trace_value>> data;
    friend bool operator==(const trace_value& a, const trace_value& b) { return a.data == b.data; }
};

struct trace_instruction {
    std::string kind; ///< for example SamplePerfectTile
    std::vector<trace_value> inputs, attributes;
    std::vector<std::string> outputs;    ///< names of the random variables that it defines
    std::optional<trace_value> decision; ///< of a sampling instruction: tile sizes, or the index of a category or of a loop
    friend bool operator==(const trace_instruction&, const trace_instruction&) = default;
};

namespace detail {
template <schedule_sink Sink>
void visit_trace_value(const trace_value& value, Sink& sink) {
    if (const auto* const integer = std::get_if<std::int64_t>(&value.data)) sink.number(*integer);
    else if (const auto* const real = std::get_if<double>(&value.data)) sink.number(*real);
    else if (const auto* const text = std::get_if<std::string>(&value.data)) sink.name(std::string_view(*text));
    else if (const auto* const json = std::get_if<trace_json>(&value.data)) sink.name(std::string_view(json->text));
    else if (const auto* const list = std::get_if<std::vector<trace_value>>(&value.data))
        for (const trace_value& item : *list) visit_trace_value(item, sink);
}
} // namespace detail

/// A trace. A value.
///
/// A visit reports each instruction as `primitive(kind)`, then inputs, attributes, outputs and decision, with lists flattened, as TLM does: `number`
/// for a number, `name` for a text. The borders of lists are not reported, so that a trace cannot be rebuilt from a visit.
struct meta_schedule_trace {
    std::vector<trace_instruction> instructions;

    template <schedule_sink Sink>
    void visit(Sink& sink) const {
        for (const trace_instruction& instruction : instructions) {
            sink.primitive(std::string_view(instruction.kind));
            for (const trace_value& value : instruction.inputs) detail::visit_trace_value(value, sink);
            for (const trace_value& value : instruction.attributes) detail::visit_trace_value(value, sink);
            for (const std::string& name : instruction.outputs) sink.name(std::string_view(name));
            if (instruction.decision) detail::visit_trace_value(*instruction.decision, sink);
        }
    }

    friend bool operator==(const meta_schedule_trace&, const meta_schedule_trace&) = default;
};

} // namespace augur::inline v0

#endif
