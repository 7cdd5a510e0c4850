// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_IO_SAME_HPP
#define AUGUR_TESTS_IO_SAME_HPP

// The fast reader beside log_reader (record/log_reader.hpp), which reads the same log another way: every field, every word of every error.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <augur/io/ansor_log.hpp>
#include <augur/record/log_reader.hpp>

namespace same {

/// Bytes in memory as a source.
struct memory_source {
    std::string_view rest;
    augur::result<std::size_t> read(char* into, std::size_t most) {
        const auto n = (std::min)(most, rest.size());
        std::memcpy(into, rest.data(), n);
        rest.remove_prefix(n);
        return n;
    }
};

/// A text as an open file without a name.
struct memory_file {
    int fd = ::memfd_create("log", MFD_CLOEXEC);
    memory_file() = default;
    explicit memory_file(std::string_view text) { set(text); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    ~memory_file() { ::close(fd); }
    void set(std::string_view text) const {
        const bool good = ::ftruncate(fd, 0) == 0 && ::lseek(fd, 0, SEEK_SET) == 0 &&
                          ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::lseek(fd, 0, SEEK_SET) == 0;
        if (!good) __builtin_trap();
    }
};

inline bool equal(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
inline bool equal(const augur::measurement& a, const augur::measurement& b) {
    if (a.seconds.size() != b.seconds.size()) return false;
    for (std::size_t i = 0; i < a.seconds.size(); ++i)
        if (!equal(a.seconds[i], b.seconds[i])) return false;
    return a.status == b.status && equal(a.total_seconds, b.total_seconds) && equal(a.compile_cpu_seconds, b.compile_cpu_seconds) &&
           equal(a.run_cpu_seconds, b.run_cpu_seconds) && equal(a.packing_seconds, b.packing_seconds) && equal(a.max_error, b.max_error) &&
           a.timestamp == b.timestamp && a.reason == b.reason;
}
inline bool equal(const augur::log_summary& a, const augur::log_summary& b) {
    return a.records == b.records && a.foreign == b.foreign && a.bad == b.bad && a.torn == b.torn && a.ours == b.ours &&
           a.last_sequence == b.last_sequence;
}

/// Holds each trial against the next record of a log_reader. Equal steps may have several numbers here: one a spelling.
struct lockstep_sink {
    augur::log_reader& slow;
    std::vector<augur::logged_task> tasks{};
    std::vector<augur::transform_step> steps{};
    std::size_t trials = 0;
    std::string difference{};
    augur::record record{};

    std::uint32_t task(const augur::logged_task& t) { return tasks.push_back(t), static_cast<std::uint32_t>(tasks.size() - 1); }
    std::uint32_t step(const augur::step_list& one) {
        if (one.steps.size() != 1) difference = "step: not a list of one step";
        return steps.push_back(one.steps.front()), static_cast<std::uint32_t>(steps.size() - 1);
    }
    augur::result<void> add(const augur::record_view& t) {
        ++trials;
        const auto more = slow.next(record);
        const auto differ = [&](const char* what) {
            if (difference.empty()) difference = "trial " + std::to_string(trials) + ": " + what;
        };
        if (!more) return {}; // the slow reader loses the record in front of an error
        if (!*more) return differ("one more than there is"), augur::result<void>();
        if (!(t.task == record.task) || t.task_number >= tasks.size() || !(tasks[t.task_number] == record.task)) differ("task");
        bool equal_steps = t.steps.size() == record.schedule.steps.size();
        for (std::size_t i = 0; equal_steps && i < t.steps.size(); ++i)
            equal_steps = t.steps[i] < steps.size() && steps[t.steps[i]] == record.schedule.steps[i];
        if (!equal_steps) differ("steps");
        if (!equal(t.measured, record.measured)) differ("measurement");
        if (t.machine != record.machine || t.flags != record.flags) differ("machine or flags");
        if (t.version != record.version || t.sequence != record.sequence || t.foreign != record.foreign) differ("version, sequence or foreign");
        return {};
    }
};
static_assert(augur::trial_sink<lockstep_sink>);

struct outcome {
    std::string difference; ///< empty when there is none
    augur::log_summary summary;
    std::vector<std::string> bad;
    std::string error;
    std::size_t distinct_steps = 0;
};

/// Reads `source` here and `fd` there.
template <class Source>
outcome compare(Source& source, int fd, augur::log_read_options options = {}, std::size_t block = std::size_t{1} << 18U) {
    outcome seen;
    std::vector<std::string> bad;
    auto slow_options = options;
    slow_options.on_bad_line = [&](const augur::bad_line& line) { bad.push_back(line.text()); };
    options.on_bad_line = [&](const augur::bad_line& line) { seen.bad.push_back(line.text()); };
    augur::log_reader slow("log", fd, slow_options);
    lockstep_sink sink{slow};
    augur::ansor_log_reader<lockstep_sink> fast("log", sink, options, block);
    const auto done = fast.read(source);
    const auto rest = slow.next(sink.record);
    seen.summary = fast.summary();
    seen.difference = sink.difference;
    seen.distinct_steps = sink.steps.size();
    if (!done) seen.error = done.error().detail;
    const auto differ = [&](const char* what) {
        if (seen.difference.empty()) seen.difference = what;
    };
    if (static_cast<bool>(done) != static_cast<bool>(rest)) differ("one fails");
    else if (!done && (done.error().code != rest.error().code || done.error().detail != rest.error().detail)) differ("other errors");
    else if (done && *rest) differ("one record too few");
    if (bad != seen.bad) differ("other bad lines");
    if (!equal(seen.summary, slow.summary())) differ("other summary");
    return seen;
}

} // namespace same

#endif
