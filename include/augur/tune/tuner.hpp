// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_TUNER_HPP
#define AUGUR_TUNE_TUNER_HPP

/// @file
/// The tuning loop: distributes a budget of trials over tasks, and proposes, measures and records candidate schedules.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/retraining_schedule.hpp>
#include <augur/model/concepts.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/search/bound_scorer.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/task_scheduler.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tune/concepts.hpp>
#include <augur/tune/detail/shapes.hpp>
#include <augur/tune/hooks.hpp>
#include <augur/tune/summary.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// The model type for tuning without a cost model.
struct no_model {};

/// A trial read from a log.
template <schedule S>
struct logged_trial {
    std::string task; ///< `task_identity` of the task
    S schedule;
    measurement outcome;
};

/// Number of records that `tuner::resume` accepted and skipped.
struct resume_report {
    std::size_t taken = 0;
    std::size_t duplicates = 0; ///< same task and schedule as an earlier record
    std::size_t foreign = 0;    ///< records of no task of this run
};

/// Tunes tasks in rounds until the budget is used up. In each round the task scheduler chooses a task, the task's strategy proposes candidates, the
/// runner measures them, every record goes to the sink, and the model is trained.
///
///     augur::tuner t(tasks, spaces, strategies, model, executor, options); // vectors, arrays or spans: one space and one strategy per task
///     t.resume(records);                                                   // optional: the records of an earlier run
///     auto summary = t.run(runner, {.sink = log, .stop = stop_requested});
///
/// A run is deterministic: the random numbers of a proposal depend only on the seed, the index of the task and the number of its round, and no
/// decision depends on a clock. With equal arguments and measurements two runs propose the same points, for every number of threads, if model and
/// strategy satisfy their contracts.
///
/// A failed candidate counts as a trial. A proposal that the space cannot realise, or whose schedule is already known, does not; the strategy
/// observes its result and is asked for more. After an error of the model the round continues without scores. An error of the sink ends the run.
///
/// Threads  one thread per object; call `run` once per object
template <task Task, decision_tree Space, search_strategy<Space> Strategy, class Model = no_model, bulk_executor E = serial_executor>
class tuner {
public:
    using S = detail::schedule_of_t<Space>; ///< the schedule type of the space
    static_assert(decision_space<Space, S>,
                  "`realise` of the space must be `realise(std::span<const std::uint64_t>) const -> result<S>` for a schedule S: specialise "
                  "augur::schedule_traits<S>");
    static_assert(
        std::same_as<Model, no_model> || cost_model<Model, S, Task>,
        "the model is not an augur::cost_model of these schedules and tasks: it needs `score(task, std::span<const S>, std::span<float>) -> "
        "result<void>` and `static constexpr score_meaning meaning`");
    static_assert(!detail::names_update<Model> || trainable_cost_model<Model, S, Task>,
                  "the model has a member `update` that is not `update(std::span<const observation<S, Task>>) -> result<void>`, so it would never be "
                  "trained");
    static_assert(!detail::names_decide<Space> || detail::offers_decide<Space, S>,
                  "the space has a member `decide` that is not `decide(const S&) const -> result<decision_vector>`, so the strategies would not "
                  "observe resumed records");
    static_assert(!detail::names_neighbour<Space> || detail::offers_neighbour<Space>,
                  "the space has a member `neighbour` that is not `neighbour(std::span<const std::uint64_t>, std::uint64_t, random_engine&) const -> "
                  "std::uint64_t`, so mutation would not use it");
    struct trial {
        std::size_t task = 0;
        S schedule;
        measurement outcome;
        bool recorded = false; ///< taken from a log
    };

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

    /// Takes the records of an earlier run. They count as trials; their schedules are neither measured nor written again. Call it before `run`, at
    /// most once.
    ///
    /// With `options.replay` (the default), `run` repeats the earlier run: it proposes from the first round and uses the recorded measurement of
    /// every proposed schedule that has one. If the earlier run had the same tasks, options, strategies and initial model, and wrote its log in
    /// order, the model, strategies, scheduler and random numbers reach the state at the end of that run. The resumed run then ends with the same
    /// trials as an uninterrupted run with the same measurements. The proposals and the training are repeated; the measurements are not. At the first
    /// proposed schedule without a record, all unused records (from another seed, other options or another program) are taken at once: they count for
    /// the budget, the best latencies, the scheduler and the model. The strategies observe them only if the space offers `decide`. Without
    /// `options.replay` all records are taken in this way before the first round. That is fast, but the run continues differently than the earlier
    /// run.
    resume_report resume(std::vector<logged_trial<S>> records) {
        resume_report report;
        for (auto& r : records) {
            const auto number = numbers_.find(r.task);
            if (number == numbers_.end()) {
                ++report.foreign;
                continue;
            }
            const std::size_t task = number->second;
            const std::uint64_t hash = hash_schedule(r.schedule);
            if (!pending_[task].emplace(hash, recorded_.size()).second) {
                ++report.duplicates;
                continue;
            }
            ++report.taken;
            recorded_.push_back({task, hash, std::move(r.schedule), std::move(r.outcome), false});
        }
        unused_records_ = report.taken;
        return report;
    }

    /// Runs until the budget is used up, all tasks have ended, or `stop` returns true.
    ///
    /// Errors  `invalid_argument` for invalid options, for a second call, or if the runner returns more measurements than candidates; the errors of
    ///         the strategy and of the sink. After an error `trials()` still has all measured trials
    template <runner<S, Task> R>
    [[nodiscard]] result<tuning_summary> run(R& runner, tuning_hooks<S, Task> hooks = {}) {
        if (ran_) return error{errc::invalid_argument, "tuning: expected one call of run per tuner, got a second one"};
        ran_ = true;
        if (auto ok = check(); !ok) return ok.error();
        if (!hooks.sink) hooks.sink = [](const Task&, const S&, const measurement&) { return result<void>(); };
        if (!hooks.progress) hooks.progress = [](const tuning_progress&) {};
        if (!hooks.stop) hooks.stop = [] { return false; };
        if (!hooks.clock) hooks.clock = steady_seconds();
        const std::size_t round = (std::min)(options_.round, options_.trials);
        const double begin = hooks.clock();
        run_context<R> t{runner, hooks, begin, round};
        if (!options_.replay) take_all(t);
        while (trials_.size() < budget()) {
            summary_.interrupted = hooks.stop();
            if (summary_.interrupted) break;
            const auto task = scheduler_.next();
            summary_.exhausted = !task && unused_records_ == 0;
            if (!task && unused_records_ == 0) break;
            if (!task) { // all tasks ended during the replay, but unused records are left
                take_all(t);
                continue;
            }
            auto ok = run_round(*task, (std::min)(round, budget() - trials_.size()), t);
            if (!ok) return ok.error();
            if (summary_.interrupted) break;
        }
        if (unused_records_ > 0) take_all(t); // stopped during the replay: the summary counts the unused records too
        summary_.seconds = hooks.clock() - begin;
        summary_.trials = trials_.size();
        for (std::size_t i = 0; i < tasks_.size(); ++i) summary_.tasks[i].rounds = scheduler_.rounds(i);
        return summary_;
    }

    /// All trials, in the order in which they were measured or taken from records. Their addresses are stable.
    [[nodiscard]] const std::deque<trial>& trials() const noexcept { return trials_; }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct recorded {
        std::size_t task;
        std::uint64_t hash;
        S schedule;
        measurement outcome;
        bool used;
    };
    struct candidate {
        decision_vector decisions;
        std::uint64_t hash;
        S schedule;
    };
    struct proposal { ///< the candidates of one round, and the proposals that are no candidates
        std::vector<candidate> fresh;
        std::vector<std::pair<decision_vector, std::uint64_t>> known;
        std::vector<measured_decisions> unrealised;
    };
    template <class R>
    struct run_context {
        R& runner;
        tuning_hooks<S, Task>& hooks;
        double begin;
        std::size_t round;
    };

    struct references {};
    tuner(std::span<const Task> tasks, std::span<const Space> spaces, std::span<Strategy> strategies, Model* model, E* executor,
          const tuning_options& options, references)
        : tasks_(tasks), spaces_(spaces), strategies_(strategies), model_(model), executor_(executor), options_(options),
          scheduler_(scheduled(tasks), options.scheduler.check() ? options.scheduler : task_scheduler_options{}), known_(tasks.size()),
          pending_(tasks.size()) {
        AUGUR_ASSERT(tasks.size() == spaces.size() && tasks.size() == strategies.size(), "tuner: a space and a strategy a task");
        summary_.tasks.resize(tasks.size());
        for (std::size_t i = 0; i < tasks.size(); ++i) numbers_.emplace(task_identity(tasks[i]), i);
    }

    static std::vector<scheduled_task> scheduled(std::span<const Task> tasks) {
        std::vector<scheduled_task> out;
        for (const Task& t : tasks) {
            const double flops = task_flops(t);
            out.push_back({task_weight(t), flops, similarity_group(task_kernel_class(t), flops)});
        }
        return out;
    }

    /// Trials of all tasks together.
    [[nodiscard]] std::size_t budget() const noexcept { return options_.trials * tasks_.size(); }

    [[nodiscard]] result<void> check() const {
        if (tasks_.empty()) return error{errc::invalid_argument, "tuning: expected at least one task, none came"};
        if (options_.trials == 0 || options_.trials > std::numeric_limits<std::size_t>::max() / tasks_.size())
            return error{errc::invalid_argument, "tuning: expected at least one trial per task, and a budget that can be counted, got " +
                                                     std::to_string(options_.trials) + " for each of " + std::to_string(tasks_.size()) + " tasks"};
        if (numbers_.size() != tasks_.size())
            return error{errc::invalid_argument, "tuning: expected tasks that differ in target or key, " +
                                                     std::to_string(tasks_.size() - numbers_.size()) + " of " + std::to_string(tasks_.size()) +
                                                     " came twice"};
        if (options_.round == 0 || options_.batch == 0 || options_.attempts == 0)
            return error{errc::invalid_argument, "tuning: expected round, batch and attempts of at least 1, " + std::to_string(options_.round) +
                                                     ", " + std::to_string(options_.batch) + " and " + std::to_string(options_.attempts) + " came"};
        if (!(options_.train_growth == 1 || options_.train_growth >= least_retraining_growth))
            return error{errc::invalid_argument,
                         "tuning: expected train_growth of 1, or of at least 1.01, " + std::to_string(options_.train_growth) + " came"};
        for (const Task& t : tasks_)
            if (!(task_weight(t) >= 0) || !std::isfinite(task_weight(t)))
                return error{errc::invalid_argument, "tuning: expected a weight of at least 0 of '" + std::string(task_key(t)) + "', " +
                                                         std::to_string(task_weight(t)) + " came"};
        return options_.scheduler.check();
    }

    /// Asks the strategy for points, with the scores of the model; after an error of the model, without scores.
    [[nodiscard]] result<std::vector<decision_vector>> ask(std::size_t task, std::size_t n, random_engine& rng) {
        if constexpr (!std::same_as<Model, no_model>) {
            using scorer = bound_scorer<S, Space, Model, Task, E>;
            scorer score =
                executor_ != nullptr ? scorer(spaces_[task], tasks_[task], *model_, *executor_) : scorer(spaces_[task], tasks_[task], *model_);
            const random_engine initial_rng = rng;
            auto points = strategies_[task].propose(spaces_[task], score, n, rng);
            if (points) return points;
            note_model_error(points.error());
            rng = initial_rng;
        }
        detail::constant_scorer flat;
        return strategies_[task].propose(spaces_[task], flat, n, rng);
    }

    void note_model_error(const error& e) {
        if (summary_.model_errors++ == 0) summary_.first_model_error = e.detail;
    }

    /// Proposes up to `n` new candidates for a task.
    [[nodiscard]] result<proposal> propose(std::size_t task, std::size_t n) {
        proposal out;
        std::unordered_set<std::uint64_t> proposed;
        const random_engine round = random_engine(options_.seed).stream(task).stream(scheduler_.rounds(task));
        for (std::size_t attempt = 0; attempt < options_.attempts && out.fresh.size() < n; ++attempt) {
            random_engine rng = round.stream(attempt);
            auto points = ask(task, n - out.fresh.size(), rng);
            if (!points) return points.error();
            if (points->empty()) break;
            for (decision_vector& d : *points) {
                auto made = spaces_[task].realise(d);
                if (!made) {
                    ++summary_.unrealised;
                    out.unrealised.push_back({std::move(d), infinity});
                    continue;
                }
                const std::uint64_t hash = hash_schedule(*made);
                if (known_[task].count(hash) != 0 || !proposed.insert(hash).second) {
                    ++summary_.repeated;
                    out.known.emplace_back(std::move(d), hash);
                    continue;
                }
                out.fresh.push_back({std::move(d), hash, std::move(*made)});
            }
        }
        return out;
    }

    /// One round of a task: propose, measure, observe, report to the scheduler, train.
    template <class Context>
    [[nodiscard]] result<void> run_round(std::size_t task, std::size_t n, Context& t) {
        const double begin = t.hooks.clock();
        auto proposed = propose(task, n);
        summary_.propose_seconds += t.hooks.clock() - begin;
        if (!proposed) return proposed.error();

        const std::size_t before = trials_.size();
        std::vector<measured_decisions> points = std::move(proposed->unrealised);
        std::vector<candidate> batch;
        for (candidate& c : proposed->fresh) {
            if (const auto at = pending_[task].find(c.hash); at != pending_[task].end()) {
                recorded& r = recorded_[at->second];
                points.push_back({std::move(c.decisions), r.outcome.latency()});
                take(r);
            } else {
                batch.push_back(std::move(c));
            }
        }
        const std::size_t replayed = trials_.size() - before;
        if (replayed > 0 && batch.size() < proposed->fresh.size()) report_progress(task, t);
        if (!batch.empty() && unused_records_ > 0) take_all(t);
        const std::size_t measured_from = trials_.size();
        if (auto ok = measure(task, batch, points, t); !ok) return ok;
        if (summary_.interrupted) return {};

        for (auto& [decisions, hash] : proposed->known)
            if (const auto at = known_[task].find(hash); at != known_[task].end())
                points.push_back({std::move(decisions), trials_[at->second].outcome.latency()});
        strategies_[task].observe(std::span<const measured_decisions>(points));
        double best = infinity;
        for (const measured_decisions& p : points) best = (std::min)(best, p.latency);
        scheduler_.report(task, replayed + trials_.size() - measured_from, best);
        train(t);
        return {};
    }

    /// Measures candidates in batches and writes their records. Stops between batches if the stop flag is set or the budget is used up.
    template <class Context>
    [[nodiscard]] result<void> measure(std::size_t task, std::vector<candidate>& all, std::vector<measured_decisions>& points, Context& t) {
        for (std::size_t from = 0; from < all.size() && trials_.size() < budget();) {
            summary_.interrupted = t.hooks.stop();
            if (summary_.interrupted) return {};
            const std::size_t n = (std::min)({options_.batch, all.size() - from, budget() - trials_.size()});
            std::vector<S> batch;
            batch.reserve(n);
            for (std::size_t i = 0; i < n; ++i) batch.push_back(std::move(all[from + i].schedule));
            const double begin = t.hooks.clock();
            std::vector<measurement> outcomes = t.runner.measure(tasks_[task], std::span<const S>(batch));
            summary_.measure_seconds += t.hooks.clock() - begin;
            const std::size_t received = outcomes.size();
            outcomes.resize(n);
            for (std::size_t i = received; i < n; ++i)
                outcomes[i].reason = "the runner gave " + std::to_string(received) + " measurements for " + std::to_string(n) + " candidates";
            result<void> written; // the first error of the sink; the whole batch is passed to the sink and kept in trials_
            for (std::size_t i = 0; i < n; ++i) {
                candidate& c = all[from + i];
                measurement& m = outcomes[i];
                if (m.ok() && !std::isfinite(m.latency())) {
                    const double* const invalid_time = m.unsound();
                    m.reason = "expected finite times above zero, " +
                               (invalid_time != nullptr ? std::to_string(*invalid_time) + " s" : std::string("none")) + " came";
                    m.status = outcome::unstable;
                }
                auto done = t.hooks.sink(tasks_[task], std::as_const(batch[i]), std::as_const(m));
                const bool kept = static_cast<bool>(done);
                if (written && !kept) written = std::move(done);
                points.push_back({std::move(c.decisions), m.latency()});
                add(task, c.hash, std::move(batch[i]), std::move(m), false);
                if (kept) report_progress(task, t);
            }
            if (!written) return written;
            if (received > n)
                return error{errc::invalid_argument, "tuning: the runner gave " + std::to_string(received) + " measurements for " +
                                                         std::to_string(n) + " candidates, so which is whose is not known"};
            from += n;
        }
        return {};
    }

    /// Trains the model if the retraining schedule requires it.
    template <class Context>
    void train(Context& t) {
        if constexpr (trainable_cost_model<Model, S, Task>) {
            const std::size_t first = (std::max)(options_.train_first, std::size_t{1});
            std::size_t due = trials_.size() < first ? 0 : trials_.size();
            if (options_.train_growth > 1) due = last_retraining(trials_.size(), first, options_.train_growth);
            if (due <= trained_at_) return;
            trained_at_ = due;
            const double begin = t.hooks.clock();
            std::vector<observation<S, Task>> records;
            records.reserve(trials_.size());
            for (const trial& x : trials_) records.push_back({&tasks_[x.task], &x.schedule, &x.outcome});
            if (auto ok = model_->update(std::span<const observation<S, Task>>(records)); !ok) note_model_error(ok.error());
            summary_.train_seconds += t.hooks.clock() - begin;
        }
    }

    /// Appends a trial and updates the summary.
    void add(std::size_t task, std::uint64_t hash, S schedule, measurement outcome, bool from_log) {
        task_summary& own_summary = summary_.tasks[task];
        const auto status = (std::min)(static_cast<std::size_t>(outcome.status), outcome_kinds - 1);
        const double latency = outcome.latency();
        ++own_summary.trials;
        ++own_summary.counts[status];
        ++summary_.counts[status];
        ++(from_log ? summary_.recorded : summary_.measured);
        if (!outcome.ok() && summary_.first_failure.empty())
            summary_.first_failure = std::string(task_key(tasks_[task])) + ": " + std::string(to_string(outcome.status)) + ": " + outcome.reason;
        if (latency < own_summary.best_latency) {
            own_summary.best_latency = latency;
            own_summary.best_trial = trials_.size();
        }
        known_[task].emplace(hash, trials_.size());
        trials_.push_back({task, std::move(schedule), std::move(outcome), from_log});
    }

    /// Turns a record into a trial.
    void take(recorded& r) {
        r.used = true;
        --unused_records_;
        pending_[r.task].erase(r.hash);
        add(r.task, r.hash, std::move(r.schedule), std::move(r.outcome), true);
    }

    /// Takes all unused records as trials, and reports them to the scheduler in rounds, as if they had been measured now.
    template <class Context>
    void take_all(Context& t) {
        if (unused_records_ == 0) return;
        std::vector<std::size_t> count(tasks_.size());
        std::vector<double> best(tasks_.size(), infinity);
        auto report_round = [&](std::size_t task) {
            scheduler_.report(task, count[task], best[task]);
            count[task] = 0;
            best[task] = infinity;
        };
        for (recorded& r : recorded_) {
            if (r.used) continue;
            const std::size_t task = r.task;
            best[task] = (std::min)(best[task], r.outcome.latency());
            if constexpr (detail::offers_decide<Space, S>) {
                if (auto d = spaces_[task].decide(r.schedule)) {
                    const measured_decisions point{std::move(*d), r.outcome.latency()};
                    strategies_[task].observe(std::span<const measured_decisions>(&point, 1));
                }
            }
            take(r);
            if (++count[task] == t.round) report_round(task);
        }
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (count[i] > 0) report_round(i);
        report_progress(trials_.back().task, t);
    }

    template <class Context>
    void report_progress(std::size_t task, Context& t) {
        tuning_progress p;
        p.task = task;
        p.task_trials = summary_.tasks[task].trials;
        p.trials = trials_.size();
        p.trials_total = budget();
        p.last_latency = trials_.back().outcome.latency();
        p.best_latency = summary_.tasks[task].best_latency;
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (std::isfinite(summary_.tasks[i].best_latency)) p.objective += task_weight(tasks_[i]) * summary_.tasks[i].best_latency;
        p.counts = summary_.counts;
        p.seconds = t.hooks.clock() - t.begin;
        if (summary_.measured > 0 && p.trials < p.trials_total)
            p.seconds_left = p.seconds / static_cast<double>(summary_.measured) * static_cast<double>(p.trials_total - p.trials);
        t.hooks.progress(std::as_const(p));
    }

    std::span<const Task> tasks_;
    std::span<const Space> spaces_;
    std::span<Strategy> strategies_;
    Model* model_;
    E* executor_;
    tuning_options options_;
    task_scheduler scheduler_;
    std::unordered_map<std::string, std::size_t> numbers_; ///< task_identity to index of the task
    std::deque<trial> trials_;
    std::vector<std::unordered_map<std::uint64_t, std::size_t>> known_;   ///< per task: schedule hash to index in trials_
    std::vector<std::unordered_map<std::uint64_t, std::size_t>> pending_; ///< per task: schedule hash to index in recorded_
    std::vector<recorded> recorded_;
    std::size_t unused_records_ = 0; ///< number of unused records
    std::size_t trained_at_ = 0;     ///< retraining point of the last training
    tuning_summary summary_;
    bool ran_ = false;
};

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
