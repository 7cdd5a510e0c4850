// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_META_SCHEDULE_LINE_HPP
#define AUGUR_RECORD_META_SCHEDULE_LINE_HPP

/// @file
/// Parser and writer for the lines of a MetaSchedule database (TVM src/meta_schedule/database/json_database.cc). A record that is read and written
/// again is the same byte for byte:
///
///     database_tuning_record.json    [workload,[[instructions,decisions],[seconds],{target},[[arguments]]]]
///     database_workload.json         ["structural hash","module in base64"]

#include <algorithm>
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
#include <augur/schedule/meta_schedule_trace.hpp>
#include <augur/schedule/meta_schedule_trace_json.hpp>

namespace augur::inline v0 {

/// One record of a database.
struct meta_schedule_line {
    std::int64_t workload = 0; ///< line of the workload in database_workload.json, from 0
    meta_schedule_trace trace;
    bool measured = true;            ///< false: TVM wrote null in place of the times
    std::vector<double> run_seconds; ///< one latency per repeat, in seconds; [1e10] for a failed trial
    std::string target = "null";     ///< JSON, as in the file
    std::string arguments = "null";  ///< JSON, as in the file: `[["TENSOR","float32",[128,128]],...]`
};

namespace detail {

inline bool read_run_seconds(json_reader& in, meta_schedule_line& out) {
    out.run_seconds.clear();
    out.measured = in.peek() != json_kind::null;
    if (!out.measured) return in.read_null();
    if (!in.begin_array()) return false;
    while (in.next_element())
        if (!in.read(out.run_seconds.emplace_back())) return false;
    return in.ok();
}

inline bool read_raw_of(json_reader& in, std::string& out) {
    std::string_view text;
    if (!in.raw(text)) return false;
    out = text;
    return true;
}

/// Sets status and reason of a measurement from the times in `m.seconds`.
inline void set_meta_schedule_outcome(measurement& m, bool measured) {
    const bool failed = std::any_of(m.seconds.begin(), m.seconds.end(), [](double s) { return s >= ansor_failed_cost; });
    if (measured && !failed) return set_ansor_outcome(m, 0);
    m.seconds.clear();
    m.status = outcome::runner_error; // the database does not say why
    m.reason = measured ? "the trial failed" : "the trial was not measured";
}

} // namespace detail

/// Measurement of a record. The database has no error numbers: a failed trial, and one that was not measured, is `runner_error`.
[[nodiscard]] inline measurement meta_schedule_measurement(const meta_schedule_line& line) {
    measurement m;
    m.seconds = line.run_seconds;
    detail::set_meta_schedule_outcome(m, line.measured);
    return m;
}

/// Workload key of a record: `["<workload>", arguments...]`. `workload` is the structural hash of the module, or what else identifies it.
[[nodiscard]] inline std::string meta_schedule_workload_key(std::string_view workload, std::string_view arguments) {
    std::string key = "[";
    append_json_string(key, workload);
    const auto inside = arguments.starts_with('[') && arguments.size() > 2 ? arguments.substr(1, arguments.size() - 2) : std::string_view();
    if (!inside.empty()) key.append(", ").append(inside);
    return key += ']';
}

/// Tuning task of a record, in the form of the other logs. The target is JSON.
[[nodiscard]] inline logged_task meta_schedule_task(const meta_schedule_line& line, std::string_view workload) {
    logged_task task;
    task.workload_key = meta_schedule_workload_key(workload, line.arguments);
    task.target = line.target;
    task.fields = 2;
    return task;
}

/// Reads the next array of `in` as a record. On an error it returns false, `in` holds the error, and `out` is unspecified.
inline bool read_meta_schedule_line(json_reader& in, meta_schedule_line& out, std::size_t most_instructions = max_instructions) {
    if (!in.begin_array() || !detail::more(in, "index of the workload") || !in.read(out.workload)) return false;
    if (out.workload < 0) return in.fail(errc::parse, "expected the index of a workload, got " + std::to_string(out.workload));
    if (!detail::more(in, "record") || !in.begin_array()) return false;
    if (!detail::more(in, "trace") || !read_meta_schedule_trace(in, out.trace, most_instructions)) return false;
    if (!detail::more(in, "times") || !detail::read_run_seconds(in, out)) return false;
    if (!detail::more(in, "target") || !detail::read_raw_of(in, out.target)) return false;
    if (!detail::more(in, "arguments") || !detail::read_raw_of(in, out.arguments)) return false;
    return detail::no_more(in, "the record") && detail::no_more(in, "the line");
}

/// Parses one line of database_tuning_record.json. Errors: those of `json_reader`; the message begins with line:column.
[[nodiscard]] inline result<meta_schedule_line> parse_meta_schedule_line(std::string_view text, json_limits limits = {}, std::size_t line = 1) {
    json_reader in(text, limits, line);
    meta_schedule_line out;
    if (!read_meta_schedule_line(in, out) || !in.finish()) return in.error();
    return out;
}

/// Reads the next array of `in` as a workload: its structural hash. The module is checked to be a string and skipped.
inline bool read_meta_schedule_workload(json_reader& in, std::string& hash) {
    std::string_view module_text;
    return in.begin_array() && detail::more(in, "structural hash") && in.read(hash) && detail::more(in, "module") && in.read(module_text) &&
           detail::no_more(in, "the workload");
}

/// Appends a record in TVM's format, without the newline. pre: times and reals are finite
inline void append_meta_schedule_line(std::string& text, const meta_schedule_line& line) {
    const detail::compact_writer out{text};
    append_number(text += '[', line.workload);
    text += ",[";
    append_meta_schedule_trace(text, line.trace);
    text += ',';
    if (line.measured) out.list(line.run_seconds, [&](double seconds) { out.real(seconds); });
    else text += "null";
    text.append(",").append(line.target).append(",").append(line.arguments).append("]]");
}

[[nodiscard]] inline std::string to_json(const meta_schedule_line& line) {
    std::string text;
    append_meta_schedule_line(text, line);
    return text;
}

} // namespace augur::inline v0

#endif
