// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_AUTOTVM_LINE_HPP
#define AUGUR_RECORD_AUTOTVM_LINE_HPP

/// @file
/// Parser and writer for one line of an AutoTVM log of version 0.2 (TVM 0.7 and later, python/tvm/autotvm/record.py). A line that is read and
/// written again is the same byte for byte:
///
///     {"input": [target, template, [arguments], {}], "config": {"index": 7, "code_hash": null, "entity": [knobs]},
///      "result": [[seconds], error, all_cost, timestamp], "version": 0.2, "tvm_version": "0.10.0"}

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/record.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <augur/schedule/autotvm_config_json.hpp>

namespace augur::inline v0 {

/// One measured configuration of an AutoTVM log.
struct autotvm_line {
    std::string target;             ///< `cuda -keys=cuda,gpu ...`
    std::string name;               ///< name of the template, for example `conv2d_nchw.cuda`
    std::string arguments = "[]";   ///< arguments of the template: a JSON array, as in the log
    std::string keywords = "{}";    ///< keyword arguments: a JSON object; TVM writes it empty
    std::int64_t index = 0;         ///< index of the configuration in the space of the template (space/autotvm_space.hpp)
    std::string code_hash = "null"; ///< null or a string, in JSON
    autotvm_config config;
    std::vector<double> costs; ///< one latency per repeat, in seconds; [1e9] for a failed trial
    std::int64_t error = 0;    ///< MeasureErrorNo, the numbers of Ansor's MeasureErrorNO; 0: no error
    double all_cost = 0;       ///< wall time of the trial in seconds, build included
    double timestamp = 0;      ///< Unix seconds
    std::string tvm_version;   ///< empty: the line has none
    std::string spelling;      ///< original text of "result", which the writer repeats while it agrees with the fields; see `ansor_line::spelling`
};

/// Cost that AutoTVM writes for a failed trial, in seconds.
inline constexpr double autotvm_failed_cost = 1e9;

namespace detail {

/// Reads the value of a member and checks that it begins with `kind`; keeps its text.
inline bool read_raw(json_reader& in, json_kind kind, const char* expected, std::string& out) {
    const bool right = in.peek() == kind;
    std::string_view text;
    if (!in.raw(text)) return false;
    if (!right) return in.fail(errc::parse, std::string("expected ") + expected + ", got " + std::string(text.substr(0, 40)));
    out = text;
    return true;
}

inline bool read_autotvm_input(json_reader& in, autotvm_line& out) {
    return in.begin_array() && more(in, "target") && in.read(out.target) && more(in, "name of the template") && in.read(out.name) &&
           more(in, "arguments") && read_raw(in, json_kind::array, "an array of arguments", out.arguments) && more(in, "keyword arguments") &&
           read_raw(in, json_kind::object, "an object of keyword arguments", out.keywords) && no_more(in, "\"input\"");
}

inline bool read_autotvm_result(json_reader& in, autotvm_line& out) {
    out.costs.clear();
    if (!in.begin_array()) return false;
    const std::size_t start = in.offset() - 1; // of the opening bracket
    if (!more(in, "costs") || !in.begin_array()) return false;
    while (in.next_element())
        if (!in.read(out.costs.emplace_back())) return false;
    if (!more(in, "error number") || !in.read(out.error) || !more(in, "all_cost") || !in.read(out.all_cost)) return false;
    if (!more(in, "timestamp") || !in.read(out.timestamp) || !no_more(in, "\"result\"")) return false;
    out.spelling = in.since(start);
    return true;
}

inline bool autotvm_spelling_holds(const autotvm_line& line) {
    if (line.spelling.empty() || line.spelling.find('\n') != std::string::npos) return false;
    json_reader in(line.spelling);
    autotvm_line again;
    return read_autotvm_result(in, again) && in.finish() && again.costs == line.costs && again.error == line.error &&
           again.all_cost == line.all_cost && again.timestamp == line.timestamp;
}

/// Whole seconds of a timestamp; 0 if it is beyond 64 bits.
inline std::int64_t whole_seconds(double timestamp) noexcept {
    return timestamp > -9e18 && timestamp < 9e18 ? static_cast<std::int64_t>(timestamp) : 0;
}

} // namespace detail

/// Workload key of a line: `["<template>", arguments...]`, TVM's workload. Keyword arguments follow as an object if there are any.
[[nodiscard]] inline std::string autotvm_workload_key(std::string_view name, std::string_view arguments, std::string_view keywords) {
    std::string key = "[";
    append_json_string(key, name);
    const auto inside = arguments.size() >= 2 ? arguments.substr(1, arguments.size() - 2) : std::string_view();
    if (!inside.empty()) key.append(", ").append(inside);
    if (keywords != "{}") key.append(", ").append(keywords);
    return key += ']';
}

/// Tuning task of a line, in the form of the other logs. AutoTVM does not log hardware numbers; they are 0.
[[nodiscard]] inline logged_task autotvm_task(const autotvm_line& line) {
    logged_task task;
    task.workload_key = autotvm_workload_key(line.name, line.arguments, line.keywords);
    task.target = line.target;
    task.fields = 2;
    return task;
}

/// Measurement of a line. TVM's error numbers are those of Ansor; a time of zero or of 1e9 s without an error gives `unstable`.
[[nodiscard]] inline measurement autotvm_measurement(const autotvm_line& line) {
    measurement m;
    m.seconds = line.costs;
    m.total_seconds = line.all_cost;
    m.timestamp = detail::whole_seconds(line.timestamp);
    detail::set_ansor_outcome(m, line.error, autotvm_failed_cost);
    return m;
}

/// Reads the next object of `in`. On an error it returns false, `in` holds the error, and `out` is unspecified.
inline bool read_autotvm_line(json_reader& in, autotvm_line& out, std::size_t most_knobs = max_knobs) {
    std::string_view key;
    json_number version;
    if (!in.begin_object() || !in.next_member(key)) return in.ok() && in.fail(errc::parse, "expected the key \"input\", got an empty object");
    if (key == "i") return in.fail(errc::version_mismatch, "expected an AutoTVM log of version 0.2, got one of version 0.1 or of another tuner");
    if (key != "input") return in.fail(errc::parse, "expected the key \"input\"");
    if (!detail::read_autotvm_input(in, out)) return false;
    if (!detail::member(in, "config") || !in.begin_object() || !detail::member(in, "index") || !in.read(out.index)) return false;
    if (!detail::member(in, "code_hash")) return false;
    if (!detail::read_raw(in, in.peek() == json_kind::null ? json_kind::null : json_kind::string, "a code hash or null", out.code_hash)) return false;
    if (!detail::member(in, "entity") || !read_autotvm_config(in, out.config, most_knobs)) return false;
    if (in.next_member(key)) return in.fail(errc::parse, "expected the end of \"config\" after \"entity\", got an unknown key");
    if (!in.ok() || !detail::member(in, "result") || !detail::read_autotvm_result(in, out)) return false;
    if (!detail::member(in, "version") || !in.read(version)) return false;
    if (version.real != 0.2) return in.fail(errc::version_mismatch, "expected version 0.2");
    out.tvm_version.clear();
    if (!in.next_member(key)) return in.ok();
    if (key != "tvm_version") return in.fail(errc::parse, "expected the key \"tvm_version\" or the end of the record");
    if (!in.read(out.tvm_version)) return false;
    if (in.next_member(key)) return in.fail(errc::parse, "expected the end of the record after \"tvm_version\", got an unknown key");
    return in.ok();
}

/// Parses one log line. Errors: those of `json_reader`, version_mismatch; the message begins with line:column.
[[nodiscard]] inline result<autotvm_line> parse_autotvm_line(std::string_view text, json_limits limits = {}, std::size_t line = 1) {
    json_reader in(text, limits, line);
    autotvm_line out;
    if (!read_autotvm_line(in, out) || !in.finish()) return in.error();
    return out;
}

/// Appends the line in TVM's format, without the newline. pre: costs, all_cost and timestamp are finite
inline void append_autotvm_line(std::string& text, const autotvm_line& line) {
    json_writer out(text);
    out.begin_object().key("input").begin_array().value(line.target).value(line.name).raw(line.arguments).raw(line.keywords).end_array();
    out.key("config").begin_object().key("index").value(line.index).key("code_hash").raw(line.code_hash).key("entity");
    write_autotvm_config(out, line.config);
    out.end_object().key("result");
    if (detail::autotvm_spelling_holds(line)) {
        out.raw(line.spelling);
    } else {
        const auto real = [&out](double value) { detail::write_autotvm_value(out, value, false); };
        out.begin_array().begin_array();
        for (const double seconds : line.costs) real(seconds);
        out.end_array().value(line.error);
        real(line.all_cost);
        real(line.timestamp);
        out.end_array();
    }
    out.key("version").raw("0.2");
    if (!line.tvm_version.empty()) out.key("tvm_version").value(line.tvm_version);
    out.end_object();
}

[[nodiscard]] inline std::string to_json(const autotvm_line& line) {
    std::string text;
    append_autotvm_line(text, line);
    return text;
}

} // namespace augur::inline v0

#endif
