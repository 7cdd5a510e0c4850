// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_TUNER_HPP
#define AUGUR_TUNE_TUNER_HPP

/// @file
/// The tuning loop: distributes a budget of trials over tasks, and proposes, measures and records candidate schedules.

#include <cmath>
#include <concepts>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/search/task_scheduler.hpp>
#include <augur/tune/concepts.hpp>
#include <augur/tune/detail/trial_book.hpp>
#include <augur/tune/detail/tuner_arguments.hpp>
#include <augur/tune/detail/tuning_loop.hpp>
#include <augur/tune/detail/tuning_problem.hpp>
#include <augur/tune/hooks.hpp>
#include <augur/tune/options.hpp>
#include <augur/tune/resume.hpp>
#include <augur/tune/summary.hpp>

namespace augur::inline v0 {

/// Checks what `tuner::run` asks of its tasks: they differ in target or key, and their weights are finite and at least 0.   Errors: invalid_argument
template <task Task>
[[nodiscard]] result<void> check_tasks(std::span<const Task> tasks) {
    std::set<std::string> identities;
    for (const Task& t : tasks) identities.insert(task_identity(t));
    if (identities.size() != tasks.size())
        return error{errc::invalid_argument, "tuning: expected tasks that differ in target or key, " +
                                                 std::to_string(tasks.size() - identities.size()) + " of " + std::to_string(tasks.size()) +
                                                 " came twice"};
    for (const Task& t : tasks)
        if (const double weight = task_weight(t); !(weight >= 0) || !std::isfinite(weight))
            return error{errc::invalid_argument,
                         "tuning: expected a weight of at least 0 of '" + std::string(task_key(t)) + "', " + std::to_string(weight) + " came"};
    return {};
}

/// Tunes tasks in rounds until the budget is used up. In each round the task scheduler chooses a task, the task's strategy proposes candidates, the
/// runner measures them, every record goes to the sink, and the model is trained.
///
/// ```cpp
/// augur::tuner t(tasks, spaces, strategies, model, executor, options); // vectors, arrays or spans: one space and one strategy per task
/// t.resume(records);                                                   // optional: the records of an earlier run
/// auto summary = t.run(runner, {.sink = log, .stop = stop_requested});
/// ```
///
/// A run is deterministic: the random numbers of a proposal depend only on the seed, the index of the task and the number of its round, and no
/// decision depends on a clock. With equal arguments and measurements two runs propose the same points, for every number of threads, if model and
/// strategy satisfy their contracts.
///
/// A failed candidate counts as a trial. A proposal that the space cannot realise, or whose schedule is already known, does not; the strategy
/// observes its result and is asked for more. After an error of the model the round continues without scores. An error of the sink ends the run.
///
/// Threads  one thread per object; call `run` once per object
template <class Task, class Space, class Strategy, class Model = no_model, class E = serial_executor>
class tuner : detail::tuner_arguments<Task, Space, Strategy, Model, E> {
public:
    using S = detail::schedule_of_t<Space>; ///< the schedule type of the space
    using trial = detail::tuned_trial<S>;   ///< a trial, with the index of its task
    /// The tuner keeps references: tasks, spaces, strategies, model and executor must outlive it; temporaries are refused.
    /// pre: one space and one strategy per task
    template <detail::kept_range Tasks, detail::kept_range Spaces, detail::kept_range Strategies>
    tuner(Tasks&& tasks, Spaces&& spaces, Strategies&& strategies, Model& model, E& executor, const tuning_options& options = {})
        : tuner(std::span<const Task>(tasks), std::span<const Space>(spaces), std::span<Strategy>(strategies), &model, &executor, options,
                references()) {}
    /// As above, on the calling thread.
    template <detail::kept_range Tasks, detail::kept_range Spaces, detail::kept_range Strategies>
    tuner(Tasks&& tasks, Spaces&& spaces, Strategies&& strategies, Model& model, const tuning_options& options = {})
        : tuner(std::span<const Task>(tasks), std::span<const Space>(spaces), std::span<Strategy>(strategies), &model, nullptr, options,
                references()) {}
    /// As above, without a model.
    template <detail::kept_range Tasks, detail::kept_range Spaces, detail::kept_range Strategies>
        requires std::same_as<Model, no_model>
    tuner(Tasks&& tasks, Spaces&& spaces, Strategies&& strategies, const tuning_options& options = {})
        : tuner(std::span<const Task>(tasks), std::span<const Space>(spaces), std::span<Strategy>(strategies), nullptr, nullptr, options,
                references()) {}
    /// A temporary container would be destroyed before the tuner runs.
    template <class Tasks, class Spaces, class Strategies, class... Rest>
        requires(!(detail::kept_range<Tasks> && detail::kept_range<Spaces> && detail::kept_range<Strategies>))
    tuner(Tasks&& tasks, Spaces&& spaces, Strategies&& strategies, Rest&&... rest) = delete;

    tuner(const tuner&) = delete;
    tuner& operator=(const tuner&) = delete;

    /// Takes the records of an earlier run. They count as trials; their schedules are neither measured nor written again. Call it before `run`;
    /// of several calls, which are as one with all records, the records are in the order of the calls.
    ///
    /// With `options.replay` (the default), `run` repeats the earlier run: it proposes from the first round and uses the recorded measurement of
    /// every proposed schedule that has one. If the earlier run had the same tasks, options, strategies and initial model, and wrote its log in
    /// order, the model, strategies, scheduler and random numbers reach the state at the end of that run. The resumed run then ends with the same
    /// trials as an uninterrupted run with the same measurements. The proposals and the training are repeated; the measurements are not. At the first
    /// proposed schedule without a record, all unused records (from another seed, other options or another program) are taken at once: they count for
    /// the budget, the best latencies, the scheduler and the model. The strategies observe them only if the space offers `decide`. Without
    /// `options.replay` all records are taken in this way before the first round. That is fast, but the run continues differently than the earlier
    /// run.
    resume_report resume(std::vector<logged_trial<S>> records) { return book_.resume(std::move(records)); }

    /// Runs until the budget is used up, all tasks have ended, or `stop` returns true.
    ///
    /// Errors  `invalid_argument` for invalid options, for a second call, or if the runner returns more measurements than candidates; `io` after
    ///         `tuning_options::runner_errors`; the errors of the strategy and of the sink. After an error `trials()` still has all measured trials
    template <class R>
        requires(detail::is_runner<R, S, Task>())
    [[nodiscard]] result<tuning_summary> run(R& runner, tuning_hooks<S, Task> hooks = {}) {
        if (ran_) return error{errc::invalid_argument, "tuning: expected one call of run per tuner, got a second one"};
        ran_ = true;
        if (auto ok = options_.check(problem_.tasks.size()); !ok) return ok.error();
        if (auto ok = check_tasks(problem_.tasks); !ok) return ok.error();
        detail::tuning_loop<Task, Space, Strategy, Model, E, R> loop(problem_, options_, scheduler_, book_, runner, std::move(hooks));
        if (auto ok = loop.run(); !ok) return ok.error();
        return book_.summary;
    }

    /// All trials, in the order in which they were measured or taken from records. Their addresses are stable.
    [[nodiscard]] const std::deque<trial>& trials() const noexcept { return book_.trials; }

private:
    struct references {};
    tuner(std::span<const Task> tasks, std::span<const Space> spaces, std::span<Strategy> strategies, Model* model, E* executor,
          const tuning_options& options, references)
        : problem_{tasks, spaces, strategies, model, executor}, options_(options),
          scheduler_(detail::scheduled_tasks(tasks), options.scheduler.check() ? options.scheduler : task_scheduler_options{}), book_(tasks) {
        AUGUR_ASSERT(tasks.size() == spaces.size() && tasks.size() == strategies.size(), "tuner: a space and a strategy a task");
    }

    detail::tuning_problem<Task, Space, Strategy, Model, E> problem_;
    tuning_options options_;
    task_scheduler scheduler_;
    detail::trial_book<S> book_;
    bool ran_ = false;
};

// An argument of the wrong type deduces as well, so that the checks of the class say what is wrong with it.
template <class Tasks, class Spaces, class Strategies>
tuner(Tasks&&, Spaces&&, Strategies&&) -> tuner<detail::element_t<Tasks>, detail::element_t<Spaces>, detail::element_t<Strategies>>;
template <class Tasks, class Spaces, class Strategies>
tuner(Tasks&&, Spaces&&, Strategies&&, tuning_options) -> tuner<detail::element_t<Tasks>, detail::element_t<Spaces>, detail::element_t<Strategies>>;
template <class Tasks, class Spaces, class Strategies, class Model>
    requires(!std::same_as<std::remove_const_t<Model>, tuning_options>)
tuner(Tasks&&, Spaces&&, Strategies&&, Model&) -> tuner<detail::element_t<Tasks>, detail::element_t<Spaces>, detail::element_t<Strategies>, Model>;
template <class Tasks, class Spaces, class Strategies, class Model>
tuner(Tasks&&, Spaces&&, Strategies&&, Model&, tuning_options)
    -> tuner<detail::element_t<Tasks>, detail::element_t<Spaces>, detail::element_t<Strategies>, Model>;
template <class Tasks, class Spaces, class Strategies, class Model, bulk_executor E>
tuner(Tasks&&, Spaces&&, Strategies&&, Model&, E&)
    -> tuner<detail::element_t<Tasks>, detail::element_t<Spaces>, detail::element_t<Strategies>, Model, E>;
template <class Tasks, class Spaces, class Strategies, class Model, bulk_executor E>
tuner(Tasks&&, Spaces&&, Strategies&&, Model&, E&, tuning_options)
    -> tuner<detail::element_t<Tasks>, detail::element_t<Spaces>, detail::element_t<Strategies>, Model, E>;

} // namespace augur::inline v0

#endif
