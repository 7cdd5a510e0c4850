// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_TUNING_ENTRY_HPP
#define AUGUR_IO_DETAIL_TUNING_ENTRY_HPP

/// @file
/// Parser of one entry of a Kernel Tuner cache, and of one result of a T4 file.

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/number.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/configuration.hpp>

namespace augur::inline v0::detail {

/// Unix seconds of `2023-12-22 09:54:05.502007+00:00`; the zone is taken as UTC and the fraction is dropped. 0 for a text of another form.
inline std::int64_t parse_timestamp(std::string_view text) {
    constexpr std::string_view form = "0000-00-00 00:00:00";
    if (text.size() < form.size()) return 0;
    for (std::size_t i = 0; i < form.size(); ++i)
        if (form[i] == '0' ? !is_digit(text[i]) : form[i] != text[i] && text[i] != 'T') return 0;
    const auto number = [&](std::size_t from, std::size_t n) { return static_cast<int>(*parse_int(text.substr(from, n))); };
    const std::chrono::year_month_day day{std::chrono::year(number(0, 4)), std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                          std::chrono::day(static_cast<unsigned>(number(8, 2)))};
    if (!day.ok()) return 0;
    return std::int64_t{86400} * std::chrono::sys_days(day).time_since_epoch().count() + 3600 * number(11, 2) + 60 * number(14, 2) + number(17, 2);
}

/// The times of an entry as they stand in the file.
struct tuning_times {
    std::optional<double> mean;
    std::vector<double> repeats;
    double compilation = 0, validation = 0, benchmark = 0;
    double unit = 1e-3; ///< in seconds; Kernel Tuner writes milliseconds
    std::int64_t timestamp = 0;
    outcome status = outcome::ok;
    std::string failure; ///< what the file says of a failed configuration

    void reset() { *this = {std::nullopt, std::exchange(repeats, {}), 0, 0, 0, 1e-3, 0, outcome::ok, {}}, repeats.clear(); }
};

/// The outcome of the text that Kernel Tuner writes in place of a time.
inline outcome outcome_of_failure(std::string_view text) {
    if (text == "CompilationFailedConfig") return outcome::compile_error;
    if (text == "RuntimeFailedConfig") return outcome::run_crash;
    if (text == "InvalidConfig") return outcome::illegal_schedule;
    return outcome::runner_error;
}

/// Kernel Tuner wrote failures as this time before version 0.4.
inline constexpr double kernel_tuner_failed_time = 1e20;

/// Measurement of the times; false if there is none, then `in` holds the error.
inline bool to_measurement(json_reader& in, const tuning_times& t, measurement& m) {
    m = {};
    m.status = t.status;
    m.reason = t.failure;
    m.timestamp = t.timestamp;
    // a division is rounded once: 1e-3 is not exact
    const auto seconds = [per_second = std::round(1 / t.unit)](double x) { return x / per_second; };
    m.total_seconds = seconds(t.compilation + t.validation + t.benchmark);
    m.compile_cpu_seconds = seconds(t.compilation);
    if (!m.ok()) return true;
    if (t.mean && *t.mean >= kernel_tuner_failed_time) {
        m.status = outcome::runner_error;
        m.reason = "failed, the recorded time is 1e20";
        return true;
    }
    if (t.repeats.empty() && !t.mean) return in.fail(errc::parse, "expected a time or a failure, got neither");
    m.seconds.reserve(t.repeats.empty() ? 1 : t.repeats.size());
    for (const double x : t.repeats) m.seconds.push_back(seconds(x));
    if (t.repeats.empty()) m.seconds.push_back(seconds(*t.mean));
    if (m.unsound() == nullptr) return true;
    m.status = outcome::unstable;
    m.reason = "no failure, but not a positive time";
    m.seconds.clear();
    return true;
}

/// Reads the value of a parameter. A truth value is 0 or 1, and -0.0 is 0.0.
inline bool read_tuning_value(json_reader& in, tuning_value& out) {
    switch (in.peek()) {
    case json_kind::number: {
        json_number n;
        if (!in.read(n)) return false;
        if (n.is_integer) out = n.integer;
        else out = n.real + 0.0;
        return true;
    }
    case json_kind::boolean: {
        bool b = false;
        if (!in.read(b)) return false;
        out = std::int64_t{b ? 1 : 0};
        return true;
    }
    case json_kind::string: {
        std::string_view text;
        if (!in.read(text)) return false;
        out = std::string(text);
        return true;
    }
    default: return in.skip() && in.fail(errc::parse, "expected a number, a text or a truth value");
    }
}

inline bool read_timestamp(json_reader& in, std::int64_t& out) {
    std::string_view text;
    if (in.peek() != json_kind::string) return in.skip();
    return in.read(text) && (out = parse_timestamp(text), true);
}

inline bool read_numbers(json_reader& in, std::vector<double>& out) {
    if (!in.begin_array()) return false;
    while (in.next_element())
        if (!in.read(out.emplace_back())) return false;
    return in.ok();
}

/// Position of a parameter by its name. Files list the parameters in order, so the search begins at `expected`.
inline std::size_t find_parameter(const configuration& c, std::string_view name, std::size_t expected) {
    const std::size_t n = c.parameters.size();
    for (std::size_t i = 0; i < n; ++i)
        if (const std::size_t at = expected + i < n ? expected + i : expected + i - n; c.parameters[at].name == name) return at;
    return n;
}

/// Reads the members of an entry whose parameters are known. `unknown(name)` reads a member that is no parameter. An entry that lacks a parameter, or
/// has one twice, is an error. pre: there are parameters
template <class F>
bool read_members(json_reader& in, configuration& point, std::vector<bool>& present, F&& unknown) {
    present.assign(point.parameters.size(), false);
    std::size_t expected = 0;
    std::string_view name;
    if (!in.begin_object()) return false;
    while (in.next_member(name)) {
        const std::size_t at = find_parameter(point, name, expected % present.size());
        if (at == present.size()) {
            if (!unknown(name)) return false;
            continue;
        }
        if (present[at]) return in.fail(errc::parse, "'" + std::string(name) + "' stands twice");
        present[at] = true;
        if (!read_tuning_value(in, point.parameters[at].value)) return false;
        expected = at + 1;
    }
    for (std::size_t i = 0; in.ok() && i < present.size(); ++i)
        if (!present[i]) return in.fail(errc::parse, "parameter '" + point.parameters[i].name + "' is missing");
    return in.ok();
}

/// Reads an entry of a cache: parameters and times in one object.
/// @param objective  name of the member that Kernel Tuner minimised; a text there is a failure, as in `time`
inline bool read_cache_entry(json_reader& in, std::string_view objective, configuration& point, std::vector<bool>& present, tuning_times& t) {
    t.reset();
    return read_members(in, point, present, [&](std::string_view name) {
        if (name == "times") return t.repeats.clear(), read_numbers(in, t.repeats);
        if (name == "compile_time") return in.read(t.compilation);
        if (name == "verification_time") return in.read(t.validation);
        if (name == "benchmark_time") return in.read(t.benchmark);
        if (name == "timestamp") return read_timestamp(in, t.timestamp);
        if (name != "time" && name != objective) return in.skip();
        if (in.peek() == json_kind::string) {
            if (!in.read(t.failure)) return false;
            t.status = outcome_of_failure(t.failure);
            return true;
        }
        return name == "time" ? in.read(t.mean.emplace()) : in.skip();
    });
}

/// The seconds of a unit of time; 0: unknown.
inline double seconds_of_unit(std::string_view unit) {
    if (unit.empty() || unit == "ms" || unit == "milliseconds") return 1e-3;
    if (unit == "s" || unit == "seconds") return 1;
    if (unit == "us" || unit == "microseconds") return 1e-6;
    return unit == "ns" || unit == "nanoseconds" ? 1e-9 : 0;
}

/// Reads the list of measurements of a T4 result. The one of the name `time` has the mean time and the unit of all times; a text is the failure.
inline bool read_t4_measurements(json_reader& in, tuning_times& t) {
    if (!in.begin_array()) return false;
    while (in.next_element()) {
        std::string name, text, unit;
        std::optional<double> value;
        std::string_view key;
        if (!in.begin_object()) return false;
        bool good = true;
        while (good && in.next_member(key)) {
            if (key == "name") good = in.read(name);
            else if (key == "unit") good = in.read(unit);
            else if (key == "value" && in.peek() == json_kind::number) good = in.read(value.emplace());
            else if (key == "value" && in.peek() == json_kind::string) good = in.read(text);
            else good = in.skip();
        }
        if (!in.ok()) return false;
        if (name != "time") continue;
        t.mean = value;
        t.failure = std::move(text);
        t.unit = seconds_of_unit(unit);
        if (t.unit == 0) return in.fail(errc::parse, "expected the unit s, ms, us or ns of the time, got '" + unit.substr(0, 40) + "'");
    }
    return in.ok();
}

inline bool read_t4_times(json_reader& in, tuning_times& t) {
    std::string_view key;
    if (!in.begin_object()) return false;
    bool good = true;
    while (good && in.next_member(key)) {
        if (key == "runtimes") t.repeats.clear(), good = read_numbers(in, t.repeats);
        else if (key == "compilation" || key == "compilation_time") good = in.read(t.compilation);
        else if (key == "benchmark") good = in.read(t.benchmark);
        else if (key == "validation") good = in.read(t.validation);
        else good = in.skip();
    }
    return in.ok();
}

/// Reads the `invalidity` of a T4 result.
inline bool read_t4_invalidity(json_reader& in, outcome& status) {
    std::string_view text;
    if (!in.read(text)) return false;
    if (text == "correct") status = outcome::ok;
    else if (text == "compile") status = outcome::compile_error;
    else if (text == "runtime") status = outcome::run_crash;
    else if (text == "timeout") status = outcome::run_timeout;
    else if (text == "correctness") status = outcome::wrong_result;
    else if (text == "constraints") status = outcome::illegal_schedule;
    else return in.fail(errc::parse, "expected an invalidity such as correct, compile or runtime, got '" + std::string(text.substr(0, 40)) + "'");
    return true;
}

/// Reads a result of a T4 file. `point` without parameters takes those of the result.
inline bool read_t4_result(json_reader& in, configuration& point, std::vector<bool>& present, tuning_times& t) {
    t.reset();
    bool configured = false;
    bool judged = false;
    std::string_view key;
    if (!in.begin_object()) return false;
    bool good = true;
    const bool first = point.parameters.empty();
    while (good && in.next_member(key)) {
        if (key == "configuration" && first) {
            configured = true;
            good = in.begin_object();
            while (good && in.next_member(key)) {
                const std::size_t n = point.parameters.size();
                if (n > 0 && find_parameter(point, key, 0) < n) return in.fail(errc::parse, "'" + std::string(key) + "' stands twice");
                tuning_parameter& p = point.parameters.emplace_back(tuning_parameter{std::string(key), {}});
                good = read_tuning_value(in, p.value);
            }
            if (in.ok() && point.parameters.empty()) return in.fail(errc::parse, "expected at least one parameter, got none");
        } else if (key == "configuration") {
            configured = true;
            good = read_members(in, point, present, [&](std::string_view name) {
                return in.skip() && in.fail(errc::parse, "'" + std::string(name.substr(0, 40)) + "' is no parameter of the results before");
            });
        } else if (key == "times") good = read_t4_times(in, t);
        else if (key == "measurements") good = read_t4_measurements(in, t);
        else if (key == "timestamp") good = read_timestamp(in, t.timestamp);
        else if (key == "invalidity") judged = good = read_t4_invalidity(in, t.status);
        else good = in.skip();
    }
    if (!in.ok()) return false;
    if (!configured || !judged) return in.fail(errc::parse, std::string("'") + (configured ? "invalidity" : "configuration") + "' is missing");
    if (t.status != outcome::ok && t.failure.empty()) t.failure = to_string(t.status);
    return true;
}

} // namespace augur::inline v0::detail

#endif
