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
#include <unordered_set>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/retraining_schedule.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/model/concepts.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/search/bound_scorer.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/task_scheduler.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tune/concepts.hpp>
#include <augur/tune/detail/latency_of_score.hpp>
#include <augur/tune/detail/trial_book.hpp>
#include <augur/tune/detail/tuner_arguments.hpp>
#include <augur/tune/detail/validate_measurements.hpp>
#include <augur/tune/hooks.hpp>
#include <augur/tune/options.hpp>
#include <augur/tune/resume.hpp>
#include <augur/tune/summary.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

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
    resume_report resume(std::vector<logged_trial<S>> records) { return book_.resume(std::move(records)); }

    /// Runs until the budget is used up, all tasks have ended, or `stop` returns true.
    ///
    /// Errors  `invalid_argument` for invalid options, for a second call, or if the runner returns more measurements than candidates; the errors of
    ///         the strategy and of the sink. After an error `trials()` still has all measured trials
    template <runner<S, Task> R>
    [[nodiscard]] result<tuning_summary> run(R& runner, tuning_hooks<S, Task> hooks = {}) {
        if (ran_) return error{errc::invalid_argument, "tuning: expected one call of run per tuner, got a second one"};
        ran_ = true;
        if (auto ok = options_.check(tasks_.size()); !ok) return ok.error();
        if (auto ok = book_.check(); !ok) return ok.error();
        if (!hooks.sink) hooks.sink = [](const Task&, const S&, const measurement&) { return result<void>(); };
        const bool shown = static_cast<bool>(hooks.progress);
        if (!shown) hooks.progress = [](const tuning_progress&) {};
        if (!hooks.stop) hooks.stop = [] { return false; };
        if (!hooks.clock) hooks.clock = steady_seconds;
        const std::size_t round = (std::min)(options_.round, options_.trials);
        const double begin = hooks.clock();
        run_context<R> t{runner, hooks, begin, round, shown};
        if (!options_.replay) take_all(t);
        while (book_.trials.size() < budget()) {
            book_.summary.interrupted = hooks.stop();
            if (book_.summary.interrupted) break;
            const auto task = scheduler_.next();
            book_.summary.exhausted = !task && book_.unused == 0;
            if (!task && book_.unused == 0) break;
            if (!task) { // all tasks ended during the replay, but unused records are left
                take_all(t);
                continue;
            }
            auto ok = run_round(*task, (std::min)(round, budget() - book_.trials.size()), t);
            if (!ok) return ok.error();
            if (book_.summary.interrupted) break;
        }
        if (book_.unused > 0) take_all(t); // stopped during the replay: the summary counts the unused records too
        book_.summary.seconds = hooks.clock() - begin;
        book_.summary.trials = book_.trials.size();
        for (std::size_t i = 0; i < tasks_.size(); ++i) book_.summary.tasks[i].rounds = scheduler_.rounds(i);
        return book_.summary;
    }

    /// All trials, in the order in which they were measured or taken from records. Their addresses are stable.
    [[nodiscard]] const std::deque<trial>& trials() const noexcept { return book_.trials; }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

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
        bool shown; ///< somebody sees the progress
    };

    struct references {};
    tuner(std::span<const Task> tasks, std::span<const Space> spaces, std::span<Strategy> strategies, Model* model, E* executor,
          const tuning_options& options, references)
        : tasks_(tasks), spaces_(spaces), strategies_(strategies), model_(model), executor_(executor), options_(options),
          scheduler_(scheduled(tasks), options.scheduler.check() ? options.scheduler : task_scheduler_options{}), book_(tasks) {
        AUGUR_ASSERT(tasks.size() == spaces.size() && tasks.size() == strategies.size(), "tuner: a space and a strategy a task");
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

    /// Asks the strategy for points, with the scores of the model; after an error of the model, without scores.
    [[nodiscard]] result<std::vector<decision_vector>> ask(std::size_t task, std::size_t n, random_engine& rng) {
        if constexpr (!std::same_as<Model, no_model>) {
            using scorer = bound_scorer<S, Space, Model, Task, E>;
            scorer score =
                executor_ != nullptr ? scorer(spaces_[task], tasks_[task], *model_, *executor_) : scorer(spaces_[task], tasks_[task], *model_);
            const random_engine initial_rng = rng;
            auto points = strategies_[task].propose(spaces_[task], score, n, rng);
            if (points) return points;
            book_.note_model_error(points.error());
            rng = initial_rng;
        }
        detail::constant_scorer flat;
        return strategies_[task].propose(spaces_[task], flat, n, rng);
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
                    ++book_.summary.unrealised;
                    out.unrealised.push_back({std::move(d), infinity});
                    continue;
                }
                const std::uint64_t hash = hash_schedule(*made);
                if (book_.known[task].count(hash) != 0 || !proposed.insert(hash).second) {
                    ++book_.summary.repeated;
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
        book_.summary.propose_seconds += t.hooks.clock() - begin;
        if (!proposed) return proposed.error();

        const std::size_t before = book_.trials.size();
        std::vector<measured_decisions> points = std::move(proposed->unrealised);
        std::vector<candidate> batch;
        for (candidate& c : proposed->fresh) {
            if (const auto at = book_.pending[task].find(c.hash); at != book_.pending[task].end()) {
                detail::pending_record<S>& r = book_.records[at->second];
                points.push_back({std::move(c.decisions), r.outcome.latency()});
                book_.take(r);
            } else {
                batch.push_back(std::move(c));
            }
        }
        const std::size_t replayed = book_.trials.size() - before;
        if (replayed > 0 && batch.size() < proposed->fresh.size()) report_progress(task, t);
        if (!batch.empty() && book_.unused > 0) take_all(t);
        const std::size_t measured_from = book_.trials.size();
        if (auto ok = measure(task, batch, points, t); !ok) return ok;
        if (book_.summary.interrupted) return {};

        for (auto& [decisions, hash] : proposed->known)
            if (const auto at = book_.known[task].find(hash); at != book_.known[task].end())
                points.push_back({std::move(decisions), book_.trials[at->second].outcome.latency()});
        strategies_[task].observe(std::span<const measured_decisions>(points));
        double best = infinity;
        for (const measured_decisions& p : points) best = (std::min)(best, p.latency);
        scheduler_.report(task, replayed + book_.trials.size() - measured_from, best);
        train(t);
        return {};
    }

    /// For each candidate the latency that the model expects of the best one after it; empty if the model has no opinion. See `tuning_progress`.
    [[nodiscard]] std::vector<double> expect(std::size_t task, std::span<const candidate> all) {
        std::vector<double> out;
        if constexpr (!std::same_as<Model, no_model>) {
            constexpr std::size_t most = 512; // trials, so that the cost of a round does not grow with the run
            std::vector<S> batch;
            std::vector<double> latencies;
            for (std::size_t i = book_.trials.size(); i-- > 0 && batch.size() < most;)
                if (book_.trials[i].task == task) {
                    batch.push_back(book_.trials[i].schedule);
                    latencies.push_back(book_.trials[i].outcome.latency());
                }
            if (batch.size() < detail::latency_of_score::least || all.empty()) return out;
            for (const candidate& c : all) batch.push_back(c.schedule);
            std::vector<float> scores(batch.size());
            if (!model_->score(tasks_[task], std::span<const S>(batch), std::span<float>(scores))) return out; // the next proposal reports the error
            const auto line = detail::latency_of_score::fit(std::span(scores).first(latencies.size()), latencies);
            if (!line) return out;
            out.resize(all.size());
            double best = infinity;
            for (std::size_t i = all.size(); i-- > 0;) {
                out[i] = best;
                if (const float score = scores[latencies.size() + i]; std::isfinite(score)) best = (std::min)(best, (*line)(score));
            }
        }
        return out;
    }

    /// Measures candidates in batches and writes their records. Stops between batches if the stop flag is set or the budget is used up.
    template <class Context>
    [[nodiscard]] result<void> measure(std::size_t task, std::vector<candidate>& all, std::vector<measured_decisions>& points, Context& t) {
        const double begin_expecting = t.hooks.clock();
        const std::vector<double> expected = t.shown ? expect(task, all) : std::vector<double>();
        book_.summary.propose_seconds += t.hooks.clock() - begin_expecting;
        for (std::size_t from = 0; from < all.size() && book_.trials.size() < budget();) {
            book_.summary.interrupted = t.hooks.stop();
            if (book_.summary.interrupted) return {};
            const std::size_t n = (std::min)({options_.batch, all.size() - from, budget() - book_.trials.size()});
            std::vector<S> batch;
            batch.reserve(n);
            for (std::size_t i = 0; i < n; ++i) batch.push_back(std::move(all[from + i].schedule));
            const double begin = t.hooks.clock();
            std::vector<measurement> outcomes = t.runner.measure(tasks_[task], std::span<const S>(batch));
            book_.summary.measure_seconds += t.hooks.clock() - begin;
            const std::size_t received = outcomes.size();
            detail::validate_measurements(outcomes, n);
            result<void> written; // the first error of the sink; the whole batch is passed to the sink and kept
            for (std::size_t i = 0; i < n; ++i) {
                candidate& c = all[from + i];
                measurement& m = outcomes[i];
                auto done = t.hooks.sink(tasks_[task], std::as_const(batch[i]), std::as_const(m));
                const bool kept = static_cast<bool>(done);
                if (written && !kept) written = std::move(done);
                points.push_back({std::move(c.decisions), m.latency()});
                book_.add(task, c.hash, std::move(batch[i]), std::move(m), false);
                if (kept) report_progress(task, t, from + i < expected.size() ? expected[from + i] : infinity);
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
            std::size_t due = book_.trials.size() < first ? 0 : book_.trials.size();
            if (options_.train_growth > 1) due = last_retraining(book_.trials.size(), first, options_.train_growth);
            if (due <= trained_at_) return;
            trained_at_ = due;
            const double begin = t.hooks.clock();
            std::vector<observation<S, Task>> records;
            records.reserve(book_.trials.size());
            for (const trial& x : book_.trials) records.push_back({&tasks_[x.task], &x.schedule, &x.outcome});
            if (auto ok = model_->update(std::span<const observation<S, Task>>(records)); !ok) book_.note_model_error(ok.error());
            book_.summary.train_seconds += t.hooks.clock() - begin;
        }
    }

    /// Takes all unused records as trials, and reports them to the scheduler in rounds, as if they had been measured now.
    template <class Context>
    void take_all(Context& t) {
        if (book_.unused == 0) return;
        std::vector<std::size_t> count(tasks_.size());
        std::vector<double> best(tasks_.size(), infinity);
        auto report_round = [&](std::size_t task) {
            scheduler_.report(task, count[task], best[task]);
            count[task] = 0;
            best[task] = infinity;
        };
        for (detail::pending_record<S>& r : book_.records) {
            if (r.used) continue;
            const std::size_t task = r.task;
            best[task] = (std::min)(best[task], r.outcome.latency());
            if constexpr (detail::offers_decide<Space, S>) {
                if (auto d = spaces_[task].decide(r.schedule)) {
                    const measured_decisions point{std::move(*d), r.outcome.latency()};
                    strategies_[task].observe(std::span<const measured_decisions>(&point, 1));
                }
            }
            book_.take(r);
            if (++count[task] == t.round) report_round(task);
        }
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (count[i] > 0) report_round(i);
        report_progress(book_.trials.back().task, t);
    }

    template <class Context>
    void report_progress(std::size_t task, Context& t, double expected = infinity) {
        tuning_progress p = book_.progress(task, budget(), t.hooks.clock() - t.begin);
        p.expected_latency = expected;
        t.hooks.progress(p);
    }

    std::span<const Task> tasks_;
    std::span<const Space> spaces_;
    std::span<Strategy> strategies_;
    Model* model_;
    E* executor_;
    tuning_options options_;
    task_scheduler scheduler_;
    detail::trial_book<S> book_;
    std::size_t trained_at_ = 0; ///< retraining point of the last training
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
