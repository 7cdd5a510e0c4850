// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_T4_RESULTS_HPP
#define AUGUR_IO_T4_RESULTS_HPP

/// @file
/// Writer of T4 result files (JSON, schema 1.0.0 of Kernel Tuner's `results-schema.json`): the trials of a tuning run, for other autotuning tools.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <variant>

#include <augur/core/error.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/record/logged_schedule.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/configuration.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

namespace detail {

/// `2023-12-22 09:54:05+00:00`; empty for a time that is not known (0) or has no year of four digits.
inline std::string timestamp_text(std::int64_t unix_seconds) {
    if (unix_seconds <= 0 || unix_seconds > 253402300799) return {};
    const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
    const auto midnight = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day day{midnight};
    const auto rest = static_cast<int>((time - midnight).count());
    std::array<char, 40> text{};
    const int n = std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d+00:00", static_cast<int>(day.year()),
                                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()), rest / 3600, rest / 60 % 60, rest % 60);
    return std::string(text.data(), static_cast<std::size_t>((std::max)(n, 0)));
}

/// The `invalidity` of T4.
constexpr std::string_view t4_invalidity(outcome status) noexcept {
    switch (status) {
    case outcome::ok: return "correct";
    case outcome::illegal_schedule: return "constraints";
    case outcome::compile_error: return "compile";
    case outcome::compile_timeout:
    case outcome::run_timeout: return "timeout";
    case outcome::wrong_result: return "correctness";
    case outcome::run_crash:
    case outcome::run_memory:
    case outcome::run_exit:
    case outcome::runner_error:
    case outcome::unstable: break;
    }
    return "runtime";
}

inline double t4_milliseconds(double seconds) noexcept { return std::isfinite(seconds) && seconds > 0 ? seconds * 1e3 : 0; }

} // namespace detail

/// Collects the trials of one task and writes them as a T4 file, which `read_tuning_archive` reads. Models `record_sink` for every task and schedule
/// type: `tuner.run(runner, {.sink = std::ref(results)})`. T4 does not name the kernel, so one object takes the trials of one task.
///
/// A `configuration` is written parameter by parameter. Any other schedule is one parameter `schedule`: its steps as in a log, as text. Times are in
/// milliseconds; `runtimes` are the latencies, the measurement `time` is their median, or of a failure its outcome and reason. Of a trial's
/// `total_seconds`, `compilation` is `compile_cpu_seconds` and `benchmark` the rest.
class t4_results {
public:
    /// Errors: invalid_argument (a trial of a second task).
    template <task Task, schedule S>
    result<void> operator()(const Task& t, const S& s, const measurement& m) {
        std::string identity = task_identity(t);
        if (results_ == 0) task_ = std::move(identity);
        else if (task_ != identity)
            return error{errc::invalid_argument, "T4: expected trials of one task, got one of '" + std::string(task_key(t)) + "', too"};
        text_ += results_++ == 0 ? "\n" : ",\n";
        json_writer out(text_);
        out.begin_object();
        if (const std::string time = detail::timestamp_text(m.timestamp); !time.empty()) out.key("timestamp").value(time);
        out.key("configuration").begin_object();
        if constexpr (std::same_as<S, configuration>) {
            for (const tuning_parameter& p : s.parameters) {
                out.key(p.name);
                std::visit([&out](const auto& value) { out.value(value); }, p.value);
            }
        } else {
            out.key("schedule").value(to_json(to_logged(s)));
        }
        out.end_object();
        write_measurement(out, m);
        out.end_object();
        return {};
    }

    /// The number of trials.
    [[nodiscard]] std::size_t size() const noexcept { return results_; }
    /// The whole file.
    [[nodiscard]] std::string text() const { return "{\"results\": [" + text_ + "\n], \"schema_version\": \"1.0.0\"}\n"; }
    /// Writes or replaces a file. Errors: those of `replace_file`.
    [[nodiscard]] result<void> write(const std::string& path) const { return replace_file(path, text()); }

private:
    static void write_measurement(json_writer& out, const measurement& m) {
        const double compilation = detail::t4_milliseconds(m.compile_cpu_seconds);
        out.key("times").begin_object();
        out.key("compilation").value(compilation);
        out.key("benchmark").value((std::max)(0.0, detail::t4_milliseconds(m.total_seconds) - compilation));
        out.key("framework").value(0).key("search_algorithm").value(0).key("validation").value(0);
        out.key("runtimes").begin_array();
        if (m.ok())
            for (const double s : m.seconds) out.value(detail::t4_milliseconds(s));
        out.end_array().end_object();
        out.key("invalidity").value(detail::t4_invalidity(m.status));
        out.key("correctness").value(m.status == outcome::wrong_result ? 0 : 1);
        out.key("measurements").begin_array().begin_object().key("name").value("time").key("value");
        if (std::isfinite(m.latency())) out.value(detail::t4_milliseconds(m.latency()));
        else out.value(std::string(to_string(m.status)) + (m.reason.empty() ? "" : ": ") + m.reason);
        out.key("unit").value("ms").end_object().end_array();
        out.key("objectives").begin_array().value("time").end_array();
    }

    std::string task_;
    std::string text_; ///< the results, without the brackets around them
    std::size_t results_ = 0;
};

} // namespace augur::inline v0

#endif
