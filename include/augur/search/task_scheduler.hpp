// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_TASK_SCHEDULER_HPP
#define AUGUR_SEARCH_TASK_SCHEDULER_HPP

/// @file
/// Ansor's gradient-based task scheduler: chooses which kernel of a network gets the next round of trials.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>

namespace augur::inline v0 {

/// How the next task is chosen.
enum class scheduling : std::uint8_t { gradient, round_robin };

/// Parameters of the task scheduler; names as in Ansor.
struct task_scheduler_options {
    scheduling strategy = scheduling::gradient;
    double alpha = 0.2;             ///< weight of the measured gradient against the forecast
    double beta = 2;                ///< the forecast assumes that a task reaches at least 1 / beta of the highest throughput of its group
    std::size_t window = 3;         ///< number of rounds over which the measured gradient is taken
    double delta = 1e-4;            ///< seconds; step of the numeric derivative of the objective
    std::size_t task_patience = 0;  ///< a task ends after more than this many trials without improvement; 0: never
    std::size_t total_patience = 0; ///< all tasks end after this many trials without improvement of the objective; 0: never
    /// A task without a successful trial ends after this many rounds; 0: never, as in Ansor, where such a task takes the whole budget.
    std::size_t hopeless_rounds = 3;

    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check() const {
        if (window > 0 && delta > 0 && std::isfinite(delta) && alpha >= 0 && alpha <= 1 && beta > 0) return {};
        return error{errc::invalid_argument, "task scheduler: expected a window and delta above 0, alpha from 0 to 1 and beta above 0, got " +
                                                 std::to_string(window) + ", " + std::to_string(delta) + ", " + std::to_string(alpha) + " and " +
                                                 std::to_string(beta)};
    }
};

/// The properties of a task that the scheduler uses.
struct scheduled_task {
    double weight = 1; ///< number of occurrences of the kernel in the network
    double flops = 0;  ///< floating-point operations of one call; used only for tasks of a group
    std::string group; ///< tasks of one group are expected to reach a similar throughput; empty: no group
};

/// Ansor's similarity group: the kernel class and int(log_1.618(flops + 1)), so the FLOP counts of a group lie within a factor of 1.618.
/// Empty (no group) if there is no class or if `flops` is negative or not finite.
[[nodiscard]] inline std::string similarity_group(std::string_view kernel_class, double flops) {
    if (kernel_class.empty() || !(flops >= 0) || !std::isfinite(flops)) return {};
    return std::string(kernel_class) + "_" + std::to_string(static_cast<long long>(std::log(flops + 1) / std::log(1.618)));
}

/// Allocates rounds of trials to tasks by Ansor's gradient (OSDI 2020, section 6; python/tvm/auto_scheduler/task_scheduler.py), in order to minimise
/// the objective f, the weighted sum of the best latencies g_i:
///
///     grad_i = df/dg_i * (alpha (g_i(t) - g_i(t-w)) / w + (1 - alpha) (min(g_i - g_i / t, beta C_i / max_k(C_k / g_k)) - g_i))
///
/// where t is the number of rounds of the task, w the window, C_i its FLOP count, and k runs over the tasks of its group.
/// First every task gets one round, in order. Then the task with the smallest gradient is next; ties go to the lowest index, or to a random task if
/// all gradients are equal. A task leaves its group if its throughput is below best / beta after more than 5 rounds more than any other task of the
/// group. For a task without a successful trial Ansor assumes a latency of 1e10 s. Here such tasks also come first, but they are left out of the
/// objective of the other tasks, where 1e10 would dominate.
///
/// Not thread-safe.
class task_scheduler {
public:
    /// pre: options.check() succeeds
    explicit task_scheduler(std::vector<scheduled_task> tasks, task_scheduler_options options = {})
        : options_(options), tasks_(std::move(tasks)), state_(tasks_.size()) {
        AUGUR_ASSERT(options_.check(), "task_scheduler: options");
        for (std::size_t i = 0; i < tasks_.size(); ++i) state_[i].group = tasks_[i].group;
    }

    /// The task of the next round; nullopt if all tasks have ended. Of equal gradients the lowest index wins.
    [[nodiscard]] std::optional<std::size_t> next() { return pick(nullptr); }
    /// As above, but chooses a random task if all gradients are equal.
    [[nodiscard]] std::optional<std::size_t> next(random_engine& rng) { return pick(&rng); }

    /// Reports the result of a round.
    ///
    /// @param trials   number of measured candidates; 0: the space has no more points, and the task ends
    /// @param latency  the best latency of the round in seconds; infinity if all candidates failed
    void report(std::size_t task, std::size_t trials, double latency) {
        AUGUR_ASSERT(task < state_.size(), "task_scheduler::report: no such task");
        progress& s = state_[task];
        ++s.rounds;
        s.trials += trials;
        trials_ += trials;
        if (latency < s.best) {
            s.best = latency;
            s.best_at = s.trials;
        }
        s.history.push_back(s.best);
        if (trials == 0) s.dead = true;
        if (options_.task_patience > 0 && s.trials - s.best_at > options_.task_patience) s.dead = true;
        if (options_.hopeless_rounds > 0 && !std::isfinite(s.best) && s.rounds >= options_.hopeless_rounds) s.dead = true;
        leave_group(task);
        const double current = all_measured() ? objective() : infinity;
        if (current < best_objective_ || current == infinity) {
            best_objective_ = current;
            best_objective_at_ = trials_;
        }
    }

    /// The gradients that `next` would compare, in seconds per round: at most 0; 0 for tasks that have ended.   pre: every task had a round
    [[nodiscard]] std::vector<double> gradients() const {
        std::vector<double> out(tasks_.size(), 0.0);
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (!state_[i].dead) out[i] = gradient(i);
        return out;
    }

    [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
    [[nodiscard]] std::size_t rounds(std::size_t task) const { return state_[task].rounds; }
    /// The best latency of a task in seconds; infinity before the first success.
    [[nodiscard]] double best(std::size_t task) const { return state_[task].best; }
    [[nodiscard]] bool ended(std::size_t task) const { return state_[task].dead; }
    /// The current group of the task; empty: no group.
    [[nodiscard]] const std::string& group(std::size_t task) const { return state_[task].group; }
    /// Weighted sum of the best latencies of the tasks that have one, in seconds.
    [[nodiscard]] double objective() const { return objective_with(tasks_.size(), 0); }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double unmeasured = 1e10; ///< Ansor's latency of a task without success, seconds

    struct progress {
        std::size_t rounds = 0;
        std::size_t trials = 0;
        std::size_t best_at = 0; ///< number of trials when the best was found
        double best = infinity;
        bool dead = false;
        std::string group;
        std::vector<double> history; ///< best latency after each round
    };

    /// Does every task have a success, or has ended without one?
    [[nodiscard]] bool all_measured() const {
        return std::all_of(state_.begin(), state_.end(), [](const progress& s) { return s.dead || std::isfinite(s.best); });
    }

    /// The objective if the best latency of task `changed` were smaller by `reduction` seconds.
    [[nodiscard]] double objective_with(std::size_t changed, double reduction) const {
        double sum = 0;
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (std::isfinite(state_[i].best)) sum += (i == changed ? state_[i].best - reduction : state_[i].best) * tasks_[i].weight;
        return sum;
    }

    /// The highest throughput in the task's group, in FLOP per second; 0 if the task is alone in its group.
    [[nodiscard]] double group_speed(std::size_t task) const {
        if (state_[task].group.empty()) return 0;
        double best = 0;
        std::size_t members = 0;
        for (std::size_t j = 0; j < tasks_.size(); ++j) {
            if (state_[j].group != state_[task].group) continue;
            ++members;
            best = (std::max)(best, tasks_[j].flops / state_[j].best);
        }
        return members > 1 ? best : 0;
    }

    [[nodiscard]] double gradient(std::size_t i) const {
        const progress& s = state_[i];
        AUGUR_ASSERT(s.rounds > 0, "task_scheduler::gradients: a task had no round yet");
        if (!std::isfinite(s.best)) return -(1 - options_.alpha) * tasks_[i].weight * unmeasured / static_cast<double>(s.rounds);
        // A numeric derivative with the summation order of Ansor, so that ties are broken as in Ansor.
        const double chain = (objective() - objective_with(i, options_.delta)) / options_.delta;
        double backward = 0;
        if (s.rounds > options_.window && std::isfinite(s.history[s.rounds - 1 - options_.window]))
            backward = (s.history[s.rounds - 1] - s.history[s.rounds - 1 - options_.window]) / static_cast<double>(options_.window);
        double goal = s.best - s.best / static_cast<double>(s.rounds);
        if (const double speed = group_speed(i); speed > 0) goal = (std::min)(goal, options_.beta * tasks_[i].flops / speed);
        return chain * (options_.alpha * backward + (1 - options_.alpha) * (goal - s.best));
    }

    /// Removes the task from its group if it is too slow for it.
    void leave_group(std::size_t task) {
        const double speed = group_speed(task);
        if (!(speed > 0)) return;
        std::size_t max_rounds = 0;
        for (std::size_t j = 0; j < tasks_.size(); ++j)
            if (j != task && state_[j].group == state_[task].group) max_rounds = (std::max)(max_rounds, state_[j].rounds);
        if (tasks_[task].flops / state_[task].best < speed / options_.beta && state_[task].rounds > 5 + max_rounds) state_[task].group.clear();
    }

    [[nodiscard]] std::optional<std::size_t> pick(random_engine* rng) {
        std::vector<std::size_t> alive;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (state_[i].dead) continue;
            if (state_[i].rounds == 0) return i; // warm-up
            alive.push_back(i);
        }
        if (alive.empty()) return std::nullopt;
        if (options_.total_patience > 0 && all_measured() && trials_ - best_objective_at_ >= options_.total_patience) return std::nullopt;
        if (options_.strategy == scheduling::round_robin) {
            const auto position = std::lower_bound(alive.begin(), alive.end(), turn_);
            const std::size_t task = position == alive.end() ? alive.front() : *position;
            turn_ = task + 1;
            return task;
        }
        std::vector<double> slope;
        slope.reserve(alive.size());
        for (const std::size_t i : alive) slope.push_back(gradient(i));
        const auto [low, high] = std::minmax_element(slope.begin(), slope.end());
        if (rng != nullptr && *low == *high) return alive[static_cast<std::size_t>(rng->below(alive.size()))];
        return alive[static_cast<std::size_t>(low - slope.begin())];
    }

    task_scheduler_options options_;
    std::vector<scheduled_task> tasks_;
    std::vector<progress> state_;
    std::size_t turn_ = 0; ///< round robin: the lowest index of the next task
    std::size_t trials_ = 0;
    double best_objective_ = infinity;
    std::size_t best_objective_at_ = 0;
};

} // namespace augur::inline v0

#endif
