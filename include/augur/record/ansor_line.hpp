// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_ANSOR_LINE_HPP
#define AUGUR_RECORD_ANSOR_LINE_HPP

/// @file
/// Parser and writer for one record line of a TVM auto_scheduler log (v0.2 to v0.6, src/auto_scheduler/measure_record.cc). A line that is read and
/// written again is the same byte for byte:
///
///     {"i": [[key, target, [8 hardware numbers], host, layout, [inputs]], [[], [steps]]], "r": [[seconds], error, all_cost, timestamp], "v": "v0.6"}

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/schedule/steps_json.hpp>

namespace augur::inline v0 {

/// Tuning task of a log line: TVM's SearchTask.
struct logged_task {
    std::string workload_key; ///< JSON in a string: `["<hash or function>", arguments...]`
    std::string target;       ///< `llvm -keys=cpu ...`
    /// TVM's HardwareParams: cores, vector unit bytes, cache line bytes, shared memory and local memory per block in bytes, threads per block,
    /// vthreads, warp size
    std::array<std::int64_t, 8> hardware{};
    std::string target_host;
    std::int64_t layout_rewrite = 0; ///< TVM's LayoutRewriteOption: 0 none, 1 insert a transform stage, 2 rewrite for pre-transformed inputs
    std::vector<std::string> inputs; ///< names of the task inputs that have fixed contents

    /// Number of fields that the line has. Older log versions have 2, 3 or 5 of the 6.
    std::uint8_t fields = 6;

    friend bool operator==(const logged_task&, const logged_task&) = default;
};

/// One measured schedule of a TVM log: MeasureInput and MeasureResult.
struct ansor_line {
    logged_task task;
    step_list schedule;
    std::vector<double> costs;  ///< one latency per repeat, in seconds; [1e10] for a failed trial
    std::int64_t error = 0;     ///< MeasureErrorNO; 0: no error
    double all_cost = 0;        ///< wall time of the trial in seconds, build included
    std::int64_t timestamp = 0; ///< Unix seconds
    std::string version = "v0.6";

    /// Original text of "r"; empty if the line was not read from a log. Some logs were rewritten by programs that format numbers differently from TVM
    /// (1e10 as 10000000000.0). The writer repeats the original text while it agrees with costs, error, all_cost and timestamp.
    std::string spelling;
};

/// Cost that TVM writes for a failed trial, in seconds.
inline constexpr double ansor_failed_cost = 1e10;

namespace detail {

/// Moves to the next array element. Error: parse when the array ends here; the message names `item`.
inline bool more(json_reader& in, const char* item) { return in.next_element() || in.fail(errc::parse, std::string("missing: ") + item); }
/// Leaves an array. Error: parse when the array has another element; the message names `array`.
inline bool no_more(json_reader& in, const char* array) {
    if (in.next_element()) return in.fail(errc::parse, std::string("more elements than expected in ") + array);
    return in.ok();
}
/// Moves to the next object member. Error: parse when its key is not `name`.
inline bool member(json_reader& in, std::string_view name) {
    std::string_view key;
    if (in.next_member(key) && key == name) return true;
    return in.fail(errc::parse, "expected the key \"" + std::string(name) + "\"");
}

inline bool read_task(json_reader& in, logged_task& task) {
    task.hardware = {};
    task.target_host.clear();
    task.layout_rewrite = 0;
    task.inputs.clear();
    if (!in.begin_array() || !more(in, "workload key") || !in.read(task.workload_key)) return false;
    if (!more(in, "target") || !in.read(task.target)) return false;
    task.fields = 2;
    if (!in.next_element()) return in.ok();
    if (!in.begin_array()) return false;
    for (auto& number : task.hardware)
        if (!more(in, "one of the eight hardware numbers") || !in.read(number)) return false;
    if (!no_more(in, "the hardware numbers")) return false;
    task.fields = 3;
    if (!in.next_element()) return in.ok();
    if (!in.read(task.target_host) || !more(in, "layout rewrite option") || !in.read(task.layout_rewrite)) return false;
    task.fields = 5;
    if (!in.next_element()) return in.ok();
    if (!in.begin_array()) return false;
    while (in.next_element())
        if (!in.read(task.inputs.emplace_back())) return false;
    task.fields = 6;
    return no_more(in, "the task");
}

/// Reads the value of "r": costs, error number, all_cost and timestamp.
inline bool read_measured(json_reader& in, ansor_line& out) {
    out.costs.clear();
    if (!in.begin_array()) return false;
    const std::size_t start = in.offset() - 1; // of the opening bracket
    if (!more(in, "costs") || !in.begin_array()) return false;
    while (in.next_element())
        if (!in.read(out.costs.emplace_back())) return false;
    if (!more(in, "error number") || !in.read(out.error)) return false;
    if (!more(in, "all_cost") || !in.read(out.all_cost)) return false;
    if (!more(in, "timestamp") || !in.read(out.timestamp) || !no_more(in, "\"r\"")) return false;
    out.spelling = in.since(start);
    return true;
}

/// Does `line.spelling` parse to the values of the fields?
inline bool spelling_holds(const ansor_line& line) {
    if (line.spelling.empty() || line.spelling.find('\n') != std::string::npos) return false;
    json_reader in(line.spelling);
    ansor_line again;
    return read_measured(in, again) && in.finish() && again.costs == line.costs && again.error == line.error && again.all_cost == line.all_cost &&
           again.timestamp == line.timestamp;
}

} // namespace detail

/// Reads the next object of `in`. On an error it returns false, `in` holds the error, and `out` is unspecified.
inline bool read_ansor_line(json_reader& in, ansor_line& out, std::size_t most_steps = max_steps) {
    if (!in.begin_object() || !detail::member(in, "i") || !in.begin_array()) return false;
    if (!detail::more(in, "task") || !detail::read_task(in, out.task)) return false;
    if (!detail::more(in, "state") || !in.begin_array()) return false;
    if (!detail::more(in, "stages") || !in.begin_array() || !detail::no_more(in, "the stages")) return false; // TVM writes an empty array
    if (!detail::more(in, "steps") || !read_steps(in, out.schedule, most_steps)) return false;
    if (!detail::no_more(in, "the state") || !detail::no_more(in, "\"i\"")) return false;

    if (!detail::member(in, "r") || !detail::read_measured(in, out)) return false;
    if (!detail::member(in, "v") || !in.read(out.version)) return false;
    std::string_view key;
    if (in.next_member(key)) return in.fail(errc::parse, "expected the end of the record after \"v\", got an unknown key");
    return in.ok();
}

/// Parses one log line. Errors: those of `json_reader`; the message begins with line:column, and `line` is the line number to use.
[[nodiscard]] inline result<ansor_line> parse_ansor_line(std::string_view text, json_limits limits = {}, std::size_t line = 1) {
    json_reader in(text, limits, line);
    ansor_line out;
    if (!read_ansor_line(in, out) || !in.finish()) return in.error();
    return out;
}

/// Appends the line in TVM's format, without the newline.
inline void append_ansor_line(std::string& text, const ansor_line& line) {
    json_writer out(text);
    const logged_task& task = line.task;
    out.begin_object().key("i").begin_array();
    out.begin_array().value(task.workload_key).value(task.target);
    if (task.fields >= 3) {
        out.begin_array();
        for (const auto number : task.hardware) out.value(number);
        out.end_array();
    }
    if (task.fields >= 5) out.value(task.target_host).value(task.layout_rewrite);
    if (task.fields >= 6) {
        out.begin_array();
        for (const auto& name : task.inputs) out.value(name);
        out.end_array();
    }
    out.end_array();
    out.begin_array().begin_array().end_array();
    write_steps(out, line.schedule);
    out.end_array().end_array();
    out.key("r");
    if (detail::spelling_holds(line)) {
        out.raw(line.spelling);
    } else {
        out.begin_array().begin_array();
        for (const double seconds : line.costs) out.value_6(seconds);
        out.end_array().value(line.error).value_6(line.all_cost).value(line.timestamp).end_array();
    }
    out.key("v").value(line.version).end_object();
}

[[nodiscard]] inline std::string to_json(const ansor_line& line) {
    std::string text;
    append_ansor_line(text, line);
    return text;
}

} // namespace augur::inline v0

#endif
