// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_REPLAY_RUNNER_HPP
#define AUGUR_TUNE_REPLAY_RUNNER_HPP

/// @file
/// Runners that do not execute candidates, for tests and for repeated runs: `replay_runner` looks up recorded measurements, `function_runner` calls a
/// function.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// Returns the recorded measurement of a schedule of a task; the outcome is `runner_error` if there is no record. It models `runner` for every task and
/// schedule type, so that strategies and models can be compared without a machine.
///
/// A virtual clock advances by the `total_seconds` of each measurement that is returned: the time that building and running it took. With
/// `tuning_hooks::clock = runner.clock()` the times of a tuning run are these seconds, and a time limit is `stop = [&] { return runner.seconds() > limit; }`.
///
/// ```cpp
/// augur::replay_runner runner;
/// for (const auto& r : archive.records) runner.add(augur::task_identity(archive), r.point, r.measured);
/// auto summary = tuner.run(runner, {.clock = runner.clock()});
/// ```
class replay_runner {
public:
    /// Adds a record. Several records of a schedule are one: it has the latencies of all successful ones, so that their median counts, and the mean of
    /// their `total_seconds`. A failure counts only if no record of the schedule succeeded; then the first failure counts.
    /// @param task  the `task_identity` of the task
    template <schedule S>
    void add(std::string_view task, const S& s, measurement m) {
        const auto [at, fresh] = table_.try_emplace(key_of(fnv1a64(task), s));
        entry& e = at->second;
        if (fresh || (m.ok() && !e.merged.ok())) {
            e = {std::move(m), 1};
        } else if (m.ok()) {
            e.merged.seconds.insert(e.merged.seconds.end(), m.seconds.begin(), m.seconds.end());
            e.merged.total_seconds += (m.total_seconds - e.merged.total_seconds) / ++e.records;
        }
    }
    /// The number of schedules that have a record.
    [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }

    template <task Task, schedule S>
    [[nodiscard]] std::vector<measurement> measure(const Task& t, std::span<const S> candidates) {
        std::vector<measurement> out;
        out.reserve(candidates.size());
        const std::uint64_t task_hash = fnv1a64(task_identity(t));
        for (const S& s : candidates) {
            const auto at = table_.find(key_of(task_hash, s));
            measurement& m = out.emplace_back();
            if (at != table_.end()) m = at->second.merged;
            else m.reason = "this schedule was not recorded";
            if (m.total_seconds > 0 && std::isfinite(m.total_seconds)) seconds_ += m.total_seconds;
        }
        return out;
    }

    /// The time on the virtual clock: the sum of `total_seconds` of all measurements returned so far.
    [[nodiscard]] double seconds() const noexcept { return seconds_; }
    /// The virtual clock as a `tuning_hooks::clock`. pre: the runner outlives it and stays where it is
    [[nodiscard]] auto clock() const noexcept {
        return [this] { return seconds_; };
    }

private:
    struct entry {
        measurement merged;
        double records = 0; ///< that `merged` has
    };

    template <schedule S>
    static std::uint64_t key_of(std::uint64_t task, const S& s) {
        return mix64(hash_schedule(s) ^ task);
    }

    std::unordered_map<std::uint64_t, entry> table_;
    double seconds_ = 0;
};

/// A runner that calls `f(task, schedule)`, which returns the latency in seconds or a `measurement`.
template <class F>
class function_runner {
public:
    explicit function_runner(F f) : f_(std::move(f)) {}

    template <task Task, schedule S>
    [[nodiscard]] std::vector<measurement> measure(const Task& t, std::span<const S> candidates) {
        std::vector<measurement> out;
        out.reserve(candidates.size());
        for (const S& s : candidates) {
            if constexpr (std::is_same_v<std::invoke_result_t<F&, const Task&, const S&>, measurement>) {
                out.push_back(f_(t, s));
            } else {
                measurement& m = out.emplace_back();
                m.status = outcome::ok;
                m.seconds.assign(1, f_(t, s));
            }
        }
        return out;
    }

private:
    F f_;
};

} // namespace augur::inline v0

#endif
