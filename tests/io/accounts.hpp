// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_IO_ACCOUNTS_HPP
#define AUGUR_TESTS_IO_ACCOUNTS_HPP

// The readers of AutoTVM logs and MetaSchedule databases beside the parsers of one line (record/), which read the same text another way: every field of
// every record, every word of every error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <augur/io/autotvm_log.hpp>
#include <augur/io/meta_schedule_log.hpp>
#include <augur/record/autotvm_line.hpp>
#include <augur/record/meta_schedule_line.hpp>

#include "same.hpp"

namespace accounts {

using namespace augur;

inline constexpr std::size_t usual_block = std::size_t{1} << 18U;

/// What a reader says about a log: the records and the bad lines, as texts.
struct account {
    std::vector<std::string> records, bad;
    log_summary summary;
    std::size_t steps = 0; ///< calls of `step`
};

template <class S>
std::string words(const logged_task& task, const S& schedule, const measurement& m, std::string_view compiler) {
    std::string text = task.workload_key + " " + task.target + " " + to_json(schedule) + " " + std::string(to_string(m.status)) + " " + m.reason;
    for (const double s : m.seconds) append_number_hex(text += " ", s);
    append_number_hex(text += " ", m.total_seconds);
    append_number(text += " ", m.timestamp);
    return text.append(" ").append(compiler);
}

inline auto& parts(autotvm_config& config) { return config.knobs; }
inline auto& parts(meta_schedule_trace& trace) { return trace.instructions; }

/// Gathers what a reader of schedules S gives, and stops the program where the reader breaks its word.
template <class S>
struct account_sink {
    account seen{};
    std::vector<logged_task> tasks{};
    std::vector<S> steps{};

    static void must(bool so) {
        if (!so) std::abort();
    }
    std::uint32_t task(const logged_task& t) { return tasks.push_back(t), static_cast<std::uint32_t>(tasks.size() - 1); }
    std::uint32_t step(const S& one) {
        S copy = one;
        must(parts(copy).size() == 1);
        return ++seen.steps, steps.push_back(std::move(copy)), static_cast<std::uint32_t>(steps.size() - 1);
    }
    result<void> add(const record_view& trial) {
        S schedule;
        for (const auto n : trial.steps) parts(schedule).push_back(parts(steps.at(n)).front());
        must(trial.task == tasks.at(trial.task_number));
        seen.records.push_back(words(trial.task, schedule, trial.measured, trial.machine.compiler));
        return {};
    }
};
static_assert(trial_sink<account_sink<autotvm_config>, autotvm_config> && !trial_sink<account_sink<autotvm_config>>);
static_assert(trial_sink<account_sink<meta_schedule_trace>, meta_schedule_trace> && !trial_sink<account_sink<meta_schedule_trace>>);

/// The account of all lines; `parse(line, number, record)` gives the words of a record, or "line:column: reason" and false.
template <class Parse>
account by_lines(std::string_view text, const Parse& parse) {
    account seen;
    std::size_t number = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const auto size = std::min(rest.find('\n'), rest.size());
        const bool unended = size == rest.size();
        std::string_view line = rest.substr(0, size);
        rest.remove_prefix(unended ? size : size + 1);
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line.front() == '#') continue;
        std::string said;
        if (parse(line, number, said)) {
            seen.records.push_back(std::move(said));
            continue;
        }
        const auto reason = said.find(": ") + 2;
        seen.bad.push_back("log:" + said.substr(0, reason) + (unended ? "the log ends within a record: " : "") + said.substr(reason));
    }
    return seen;
}

template <class Reader, class S, class... A>
account by_reader(std::string_view text, log_read_options options, std::size_t block, const A&... workloads) {
    account_sink<S> to;
    options.on_bad_line = [&](const bad_line& line) { to.seen.bad.push_back(line.text()); };
    same::memory_source source{text};
    Reader reader("log", workloads..., to, options, block);
    account_sink<S>::must(reader.read(source).has_value());
    to.seen.summary = reader.summary();
    return std::move(to.seen);
}

/// What the reader says otherwise than the lines; empty: nothing.
inline std::string difference(const account& reader, const account& lines) {
    const auto first = [](const std::vector<std::string>& a, const std::vector<std::string>& b, std::string_view what) -> std::string {
        for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
            const std::string x = i < a.size() ? a[i] : "(none)", y = i < b.size() ? b[i] : "(none)";
            if (x != y) return std::string(what) + " " + std::to_string(i) + ": the reader says\n" + x + "\nthe lines say\n" + y;
        }
        return "";
    };
    if (auto d = first(reader.records, lines.records, "record"); !d.empty()) return d;
    if (auto d = first(reader.bad, lines.bad, "bad line"); !d.empty()) return d;
    if (reader.summary.records != lines.records.size()) return "the summary counts other records than were given";
    if (reader.summary.bad + (reader.summary.torn ? 1 : 0) != lines.bad.size()) return "the summary counts other bad lines than were told";
    return "";
}

// --- AutoTVM ---------------------------------------------------------------------------------------------------------------------------------

inline account autotvm_by_reader(std::string_view text, const log_read_options& options = {}, std::size_t block = usual_block) {
    return by_reader<autotvm_log_reader<account_sink<autotvm_config>>, autotvm_config>(text, options, block);
}

inline account autotvm_by_lines(std::string_view text) {
    return by_lines(text, [](std::string_view line, std::size_t number, std::string& said) {
        const auto parsed = parse_autotvm_line(line, {}, number);
        if (!parsed) return said = parsed.error().detail, false;
        const std::string compiler = parsed->tvm_version.empty() ? "unknown" : "TVM " + parsed->tvm_version;
        said = words(autotvm_task(*parsed), parsed->config, autotvm_measurement(*parsed), compiler);
        return true;
    });
}

// --- MetaSchedule ----------------------------------------------------------------------------------------------------------------------------

using hashes = std::optional<std::vector<std::string>>;

inline account meta_schedule_by_reader(std::string_view text, const hashes& workloads, const log_read_options& options = {},
                                       std::size_t block = usual_block) {
    return by_reader<meta_schedule_log_reader<account_sink<meta_schedule_trace>>, meta_schedule_trace>(text, options, block, workloads);
}

inline account meta_schedule_by_lines(std::string_view text, const hashes& workloads) {
    return by_lines(text, [&](std::string_view line, std::size_t number, std::string& said) {
        const auto parsed = parse_meta_schedule_line(line, {}, number);
        if (!parsed) return said = parsed.error().detail, false;
        const auto at = static_cast<std::size_t>(parsed->workload);
        if (workloads && at >= workloads->size()) {
            said = std::to_string(number) + ":" + std::to_string(line.find('[') + 2) + ": expected a workload below " +
                   std::to_string(workloads->size()) + ", got " + std::to_string(parsed->workload);
            return false;
        }
        const auto workload = workloads ? (*workloads)[at] : "log#" + std::to_string(parsed->workload);
        said = words(meta_schedule_task(*parsed, workload), parsed->trace, meta_schedule_measurement(*parsed), "unknown");
        return true;
    });
}

} // namespace accounts

#endif
