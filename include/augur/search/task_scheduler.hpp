// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_TASK_SCHEDULER_HPP
#define AUGUR_SEARCH_TASK_SCHEDULER_HPP

/// @file
/// The task scheduler chooses which kernel of a network gets the next round of trials: by the rule of Ansor or of the authors of TLM, or in turn.

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
enum class scheduling : std::uint8_t {
    gradient,    ///< Ansor's rule: the largest expected gain in the objective
    round_robin, ///< the tasks that have not ended, in turn
    windowed     ///< the rule of the authors of TLM: sets of tasks with the largest gain in their last rounds
};

/// Parameters of the task scheduler; names as in Ansor. `alpha`, `beta`, `window` and `delta` belong to `scheduling::gradient`.
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

/// Allocates rounds of trials to tasks, in order to minimise the objective f, the weighted sum of the best latencies g_i. First every task gets one
/// round, in order. Then `scheduling` says which task is next.
///
/// `gradient` is Ansor's gradient (OSDI 2020, section 6; python/tvm/auto_scheduler/task_scheduler.py):
///
///     grad_i = df/dg_i * (alpha (g_i(t) - g_i(t-w)) / w + (1 - alpha) (min(g_i - g_i / t, beta C_i / max_k(C_k / g_k)) - g_i))
///
/// where t is the number of rounds of the task, w the window, C_i its FLOP count, and k runs over the tasks of its group.
/// The task with the smallest gradient is next; ties go to the lowest index, or to a random task if all gradients are equal. A task leaves its group
/// if its throughput is below best / beta after more than 5 rounds more than any other task of the group. For a task without a successful trial Ansor
/// assumes a latency of 1e10 s. Here such tasks also come first, but the objective of the other tasks leaves them out, where 1e10 would dominate.
///
/// `windowed` is the rule of the authors of TLM (gen/task_sheduler.py of github.com/zhaiyi000/tlm; their paper does not describe it). It chooses a
/// set of at most ceil(n / 4) of the n tasks that have not ended, and each task of the set gets one round. For a window of w rounds, a task with the
/// weight c_i and t rounds has the score
///
///     c_i * (g_i(t-w+1) - g_i(t))   if t >= w
///     c_i * g_i(1)                  if t < w: the authors pad short histories with zeros
///
/// The set is filled in descending order with the tasks whose score is above 0; ties go to the lowest index. The first window has 3 rounds. It grows,
/// up to 99 rounds, while the set has free places. This differs from the authors' program as follows:
///
/// - If no task has a score above 0 in any window, the next set is one task, in turn as in `round_robin`. The authors' run ends there. Here the
///   budget or patience ends a run.
/// - The authors choose fewer tasks when the 20 000 trials of a network are nearly used up. Here the tuner has the budget. It also has the size of a
///   round, which the authors multiply by 4 if they choose fewer than 20 tasks. They begin with two rounds of every task.
/// - A task without a successful trial has the score c_i * 1e10 s in every window, so it comes first until it succeeds or ends. The authors' score of
///   such a task is the same in windows of more than t rounds, else 0. After a success, failed rounds before it count as 1e10 s in both.
/// - The authors' padding stays in the stored histories. That changes the scores only where several networks share a kernel, because the networks are
///   scored one after another. A scheduler has one network, so this is not followed.
///
/// Cost of `next`: linear in the number of tasks n, for `gradient` quadratic; for `windowed` a new set takes at most 97 sorts of n scores.
/// Not thread-safe.
class task_scheduler {
public:
    /// pre: options.check() succeeds
    explicit task_scheduler(std::vector<scheduled_task> tasks, task_scheduler_options options = {})
        : options_(options), tasks_(std::move(tasks)), state_(tasks_.size()) {
        AUGUR_ASSERT(options_.check(), "task_scheduler: options");
        for (std::size_t i = 0; i < tasks_.size(); ++i) state_[i].group = tasks_[i].group;
    }

    /// The task of the next round; nullopt if all tasks have ended. Of equal gradients or scores the lowest index wins. Call it once for each round:
    /// `round_robin` and `windowed` go on to the next task whether or not a result is reported.
    [[nodiscard]] std::optional<std::size_t> next() { return pick(nullptr); }
    /// As above, but `gradient` chooses a random task if all gradients are equal.
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

    /// What `scheduling::gradient` compares, in seconds per round: at most 0; 0 for tasks that have ended.   pre: every task had a round
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
    static constexpr double unmeasured = 1e10; ///< latency of a task without success, seconds: Ansor's, and that of the authors of TLM
    static constexpr std::size_t first_window = 3, last_window = 99; ///< rounds, for `scheduling::windowed`

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

    /// The weighted gain of a task in its last `window` rounds, in seconds; a shorter history is padded with zeros.   pre: the task had a round
    [[nodiscard]] double window_score(std::size_t i, std::size_t window) const {
        const progress& s = state_[i];
        const bool whole = s.rounds >= window && std::isfinite(s.best);
        const double before = s.rounds >= window ? s.history[s.rounds - window] : s.history.front();
        return ((std::min)(before, unmeasured) - (whole ? s.best : 0.0)) * tasks_[i].weight;
    }

    /// The next set of tasks for `scheduling::windowed`, in the order of their rounds; empty if no score is above 0.   pre: every task had a round
    [[nodiscard]] std::vector<std::size_t> choose_set(const std::vector<std::size_t>& alive) const {
        const std::size_t places = (alive.size() + 3) / 4;
        std::vector<std::size_t> chosen;
        std::vector<std::pair<double, std::size_t>> order; // negated score, task: ascending order is that of the rule
        for (std::size_t window = first_window; window <= last_window && chosen.size() < places; ++window) {
            order.clear();
            for (const std::size_t i : alive)
                if (const double score = window_score(i, window); score > 0 && std::find(chosen.begin(), chosen.end(), i) == chosen.end())
                    order.emplace_back(-score, i);
            std::sort(order.begin(), order.end());
            for (std::size_t k = 0; k < order.size() && chosen.size() < places; ++k) chosen.push_back(order[k].second);
        }
        return chosen;
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
        if (options_.strategy == scheduling::windowed) {
            std::erase_if(set_, [this](std::size_t i) { return state_[i].dead; });
            if (set_.empty()) set_ = choose_set(alive);
            if (!set_.empty()) {
                const std::size_t task = set_.front();
                set_.erase(set_.begin());
                return task;
            }
        }
        if (options_.strategy != scheduling::gradient) {
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
    std::size_t turn_ = 0;         ///< round robin: the lowest index of the next task
    std::vector<std::size_t> set_; ///< `windowed`: chosen tasks whose round is still to come
    std::size_t trials_ = 0;
    double best_objective_ = infinity;
    std::size_t best_objective_at_ = 0;
};

} // namespace augur::inline v0

#endif
