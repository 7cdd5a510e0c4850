// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_REPLAY_RUNNER_HPP
#define AUGUR_TUNE_REPLAY_RUNNER_HPP

/// @file
/// Runners that do not execute candidates, for tests and for repeated runs: `replay_runner` looks up recorded measurements, `function_runner` calls a
/// function.

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

/// Returns the recorded measurement of a schedule of a task; the outcome is `runner_error` if there is no record.
class replay_runner {
public:
    /// Adds a record. The first record of a schedule counts.
    /// @param task  the `task_identity` of the task
    template <schedule S>
    void add(std::string_view task, const S& s, measurement m) {
        table_.emplace(key_of(fnv1a64(task), s), std::move(m));
    }
    [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }

    template <task Task, schedule S>
    [[nodiscard]] std::vector<measurement> measure(const Task& t, std::span<const S> candidates) const {
        std::vector<measurement> out;
        out.reserve(candidates.size());
        const std::uint64_t task_hash = fnv1a64(task_identity(t));
        for (const S& s : candidates) {
            const auto at = table_.find(key_of(task_hash, s));
            measurement& m = out.emplace_back();
            if (at != table_.end()) m = at->second;
            else m.reason = "this schedule was not recorded";
        }
        return out;
    }

private:
    template <schedule S>
    static std::uint64_t key_of(std::uint64_t task, const S& s) {
        return mix64(hash_schedule(s) ^ task);
    }

    std::unordered_map<std::uint64_t, measurement> table_;
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
