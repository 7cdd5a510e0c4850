// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_TUNER_HPP
#define AUGUR_TUNE_TUNER_HPP

/// @file
/// The tuning loop: tasks and a budget in, measured schedules out.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
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
#include <augur/tune/summary.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// Tuning without a cost model.
struct no_model {};

/// A trial as a log gives it back.
template <schedule S>
struct logged_trial {
    std::string task; ///< its `task_identity`
    S schedule;
    measurement outcome;
};

/// What `tuner::resume` did with the records.
struct resume_report {
    std::size_t taken = 0;
    std::size_t duplicates = 0; ///< same task and schedule as an earlier record
    std::size_t foreign = 0;    ///< of no task of this run
};

/// Who hears of the run and who may end it. Each may be replaced.
struct ignore_progress {
    void operator()(const tuning_progress&) const noexcept {}
};
struct never_stop {
    bool operator()() const noexcept { return false; }
};
struct steady_seconds {
    double operator()() const { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
};

namespace detail {
template <class P, class S>
concept offers_decide = requires(const P& p, const S& s) {
    { p.decide(s) } -> std::same_as<result<decision_vector>>;
};
} // namespace detail

/// Tunes tasks: the task scheduler chooses one, its strategy proposes candidates, the runner measures them, every record goes to the sink, the model
/// learns, and so on until the budget is used up.
///
///     augur::tuner<step_list, kernel_task, ansor_space, evolutionary<>, tlp::scorer<>> t(tasks, spaces, strategies, model, options);
///     t.resume(records);                  // where there is a log
///     auto summary = t.run(runner, sink);
///
/// The random numbers of a proposal depend on the seed, the number of the task and the number of its round. Nothing depends on a clock. So the run
/// is a function of its arguments and of the measurements: given the same, two runs propose the same, whatever the number of threads, provided that
/// model and strategy keep their contracts.
///
/// A failed candidate is a trial. A proposal that the space makes no schedule of, or whose schedule is known already, is none: the strategy is told
/// and asked again. An error of the model costs its scores for that round, not the run. An error of the sink ends the run.
///
/// Threads  one thread an object; `run` once an object
template <schedule S, task Task, decision_tree Space, search_strategy<Space> Strategy, class Model = no_model, bulk_executor E = serial_executor>
requires decision_space<Space, S> &&(std::same_as<Model, no_model> || cost_model<Model, S, Task>)class tuner {
public:
    struct trial {
        std::size_t task = 0;
        S schedule;
        measurement outcome;
        bool recorded = false; ///< came from a log
    };

    /// pre: as many spaces and strategies as tasks; all of them, the model and the executor outlive the tuner
    tuner(std::span<const Task> tasks, std::span<const Space> spaces, std::span<Strategy> strategies, Model& model, E& executor,
          tuning_options options = {})
        : tuner(tasks, spaces, strategies, &model, &executor, options) {}
    /// On the calling thread.
    tuner(std::span<const Task> tasks, std::span<const Space> spaces, std::span<Strategy> strategies, Model& model, tuning_options options = {})
        : tuner(tasks, spaces, strategies, &model, nullptr, options) {}
    /// Without a model.
    tuner(std::span<const Task> tasks, std::span<const Space> spaces, std::span<Strategy> strategies,
          tuning_options options = {}) requires std::same_as<Model, no_model> : tuner(tasks, spaces, strategies, nullptr, nullptr, options) {}

    tuner(const tuner&) = delete;
    tuner& operator=(const tuner&) = delete;

    /// Takes the records of an earlier run: none of their schedules is measured or written again, and they count as trials. Call it before `run`,
    /// once.
    ///
    /// With `options.replay` (the default) `run` proposes from the first round on and takes the recorded measurement wherever it proposes a recorded
    /// schedule. When the earlier run had the same tasks, options, strategies and first model, and wrote its log in order, this repeats it exactly:
    /// model, strategies, scheduler and random numbers stand where they stood when it ended, and the resumed run ends with the same set of trials
    /// as one that was never interrupted and measured the same. It costs the proposals and the training over again, but no measurement. At the
    /// first proposal that was not recorded, the records that were not met (another seed, other options, a log of somebody else) are taken in at
    /// once: they count for the budget, the best, the scheduler and the model; the strategies cannot know them as points. Without `options.replay`
    /// all records are taken in so, before the first round: quick, but the run continues otherwise than it would have.
    resume_report resume(std::vector<logged_trial<S>> records) {
        resume_report report;
        for (auto& r : records) {
            const auto of = numbers_.find(r.task);
            if (of == numbers_.end()) {
                ++report.foreign;
                continue;
            }
            const std::size_t task = of->second;
            const std::uint64_t hash = hash_schedule(r.schedule);
            if (!pending_[task].emplace(hash, recorded_.size()).second) {
                ++report.duplicates;
                continue;
            }
            ++report.taken;
            recorded_.push_back({task, hash, std::move(r.schedule), std::move(r.outcome), false});
        }
        left_ = report.taken;
        return report;
    }

    /// Runs until the budget is used up, nothing is left to try, or `stop` says so.
    ///
    /// @param sink      `record_sink`; called once for each measured trial, right after its batch
    /// @param progress  called with a `tuning_progress` after each trial that was measured, and once after recorded ones that were taken together
    /// @param stop      read between batches; the batch that runs is finished and written
    /// @param clock     seconds since some moment
    /// Errors  `invalid_argument` when the options make no sense or the runner gives more measurements than there were candidates, and what the
    ///         sink says; `trials()` then still has all that was measured
    template <runner<S, Task> R, record_sink<S, Task> Sink, class Progress = ignore_progress, class Stop = never_stop, class Clock = steady_seconds>
    [[nodiscard]] result<tuning_summary> run(R& runner, Sink&& sink, Progress&& progress = {}, Stop&& stop = {}, Clock&& clock = {}) {
        if (auto ok = check(); !ok) return ok.error();
        const std::size_t round = (std::min)(options_.round, options_.trials / tasks_.size());
        const double begin = clock();
        tools<R, Sink, Progress, Stop, Clock> t{runner, sink, progress, stop, clock, begin, round};
        if (!options_.replay) take_all(t);
        while (trials_.size() < options_.trials) {
            summary_.interrupted = static_cast<bool>(stop());
            if (summary_.interrupted) break;
            const auto task = scheduler_.next();
            summary_.exhausted = !task && left_ == 0;
            if (!task && left_ == 0) break;
            if (!task) { // the replay came to its end before the records did
                take_all(t);
                continue;
            }
            auto ok = run_round(*task, (std::min)(round, options_.trials - trials_.size()), t);
            if (!ok) return ok.error();
            if (summary_.interrupted) break;
        }
        if (left_ > 0) take_all(t); // stopped during the replay: the summary knows them all the same
        summary_.seconds = clock() - begin;
        summary_.trials = trials_.size();
        for (std::size_t i = 0; i < tasks_.size(); ++i) summary_.tasks[i].rounds = scheduler_.rounds(i);
        return summary_;
    }

    /// All trials in the order in which they were taken; stable addresses.
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
    struct proposal { ///< one round's candidates, and the proposals that turned out to be known
        std::vector<candidate> fresh;
        std::vector<std::pair<decision_vector, std::uint64_t>> known;
        std::vector<measured_decisions> unrealised;
    };
    template <class R, class Sink, class Progress, class Stop, class Clock>
    struct tools {
        R& runner;
        Sink& sink;
        Progress& progress;
        Stop& stop;
        Clock& clock;
        double begin;
        std::size_t round;
    };

    tuner(std::span<const Task> tasks, std::span<const Space> spaces, std::span<Strategy> strategies, Model* model, E* executor,
          const tuning_options& options)
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

    [[nodiscard]] result<void> check() const {
        if (tasks_.empty()) return error{errc::invalid_argument, "tuning: expected at least one task, none came"};
        if (options_.trials < tasks_.size())
            return error{errc::invalid_argument, "tuning: expected at least one trial for each of " + std::to_string(tasks_.size()) + " tasks, " +
                                                     std::to_string(options_.trials) + " came"};
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

    /// Asks the strategy; with the model's scores, or without when it gives an error.
    [[nodiscard]] result<std::vector<decision_vector>> ask(std::size_t task, std::size_t n, random_engine& rng) {
        if constexpr (!std::same_as<Model, no_model>) {
            using scorer = bound_scorer<S, Space, Model, Task, E>;
            scorer score =
                executor_ != nullptr ? scorer(spaces_[task], tasks_[task], *model_, *executor_) : scorer(spaces_[task], tasks_[task], *model_);
            random_engine again = rng;
            auto points = strategies_[task].propose(spaces_[task], score, n, rng);
            if (points) return points;
            note_model_error(points.error());
            rng = again;
        }
        detail::constant_scorer flat;
        return strategies_[task].propose(spaces_[task], flat, n, rng);
    }

    void note_model_error(const error& why) {
        if (summary_.model_errors++ == 0) summary_.first_model_error = why.detail;
    }

    [[nodiscard]] result<proposal> propose(std::size_t task, std::size_t n) {
        proposal out;
        std::unordered_set<std::uint64_t> here;
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
                if (known_[task].count(hash) != 0 || !here.insert(hash).second) {
                    ++summary_.repeated;
                    out.known.emplace_back(std::move(d), hash);
                    continue;
                }
                out.fresh.push_back({std::move(d), hash, std::move(*made)});
            }
        }
        return out;
    }

    template <class Tools>
    [[nodiscard]] result<void> run_round(std::size_t task, std::size_t n, Tools& t) {
        const double asked = t.clock();
        auto proposed = propose(task, n);
        summary_.propose_seconds += t.clock() - asked;
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
        const std::size_t own = trials_.size() - before;
        if (own > 0 && batch.size() < proposed->fresh.size()) report_progress(task, t);
        if (!batch.empty() && left_ > 0) take_all(t);
        const std::size_t measured_from = trials_.size();
        if (auto ok = measure(task, batch, points, t); !ok) return ok;
        if (summary_.interrupted) return {};

        for (auto& [decisions, hash] : proposed->known)
            if (const auto at = known_[task].find(hash); at != known_[task].end())
                points.push_back({std::move(decisions), trials_[at->second].outcome.latency()});
        strategies_[task].observe(std::span<const measured_decisions>(points));
        double best = infinity;
        for (const measured_decisions& p : points) best = (std::min)(best, p.latency);
        scheduler_.report(task, own + trials_.size() - measured_from, best);
        train(t);
        return {};
    }

    /// Measures in batches and writes what comes; stops between them when asked to, or when the budget is used up.
    template <class Tools>
    [[nodiscard]] result<void> measure(std::size_t task, std::vector<candidate>& all, std::vector<measured_decisions>& points, Tools& t) {
        for (std::size_t from = 0; from < all.size() && trials_.size() < options_.trials;) {
            summary_.interrupted = static_cast<bool>(t.stop());
            if (summary_.interrupted) return {};
            const std::size_t n = (std::min)({options_.batch, all.size() - from, options_.trials - trials_.size()});
            std::vector<S> batch;
            batch.reserve(n);
            for (std::size_t i = 0; i < n; ++i) batch.push_back(std::move(all[from + i].schedule));
            const double begin = t.clock();
            std::vector<measurement> outcomes = t.runner.measure(tasks_[task], std::span<const S>(batch));
            summary_.measure_seconds += t.clock() - begin;
            const std::size_t came = outcomes.size();
            outcomes.resize(n);
            for (std::size_t i = came; i < n; ++i)
                outcomes[i].reason = "the runner gave " + std::to_string(came) + " measurements for " + std::to_string(n) + " candidates";
            result<void> written; // the first error of the sink; all of the batch are offered to it, and kept in `trials()`
            for (std::size_t i = 0; i < n; ++i) {
                candidate& c = all[from + i];
                measurement& m = outcomes[i];
                if (m.ok() && !std::isfinite(m.latency())) {
                    const double* const bad = m.unsound();
                    m.reason = "expected finite times above zero, " + (bad != nullptr ? std::to_string(*bad) + " s" : std::string("none")) + " came";
                    m.status = outcome::unstable;
                }
                auto done = t.sink(tasks_[task], std::as_const(batch[i]), std::as_const(m));
                const bool kept = static_cast<bool>(done);
                if (written && !kept) written = std::move(done);
                points.push_back({std::move(c.decisions), m.latency()});
                add(task, c.hash, std::move(batch[i]), std::move(m), false);
                if (kept) report_progress(task, t);
            }
            if (!written) return written;
            if (came > n)
                return error{errc::invalid_argument, "tuning: the runner gave " + std::to_string(came) + " measurements for " + std::to_string(n) +
                                                         " candidates, so which is whose is not known"};
            from += n;
        }
        return {};
    }

    template <class Tools>
    void train(Tools& t) {
        if constexpr (trainable_cost_model<Model, S, Task>) {
            const std::size_t first = (std::max)(options_.train_first, std::size_t{1});
            std::size_t mark = trials_.size() < first ? 0 : trials_.size();
            if (options_.train_growth > 1) mark = last_retraining(trials_.size(), first, options_.train_growth);
            if (mark <= trained_at_) return;
            trained_at_ = mark;
            const double begin = t.clock();
            std::vector<observation<S, Task>> records;
            records.reserve(trials_.size());
            for (const trial& x : trials_) records.push_back({&tasks_[x.task], &x.schedule, &x.outcome});
            if (auto ok = model_->update(std::span<const observation<S, Task>>(records)); !ok) note_model_error(ok.error());
            summary_.train_seconds += t.clock() - begin;
        }
    }

    void add(std::size_t task, std::uint64_t hash, S schedule, measurement outcome, bool from_log) {
        task_summary& mine = summary_.tasks[task];
        const auto status = (std::min)(static_cast<std::size_t>(outcome.status), outcome_kinds - 1);
        const double latency = outcome.latency();
        ++mine.trials;
        ++mine.counts[status];
        ++summary_.counts[status];
        ++(from_log ? summary_.recorded : summary_.measured);
        if (!outcome.ok() && summary_.first_failure.empty())
            summary_.first_failure = std::string(task_key(tasks_[task])) + ": " + std::string(to_string(outcome.status)) + ": " + outcome.reason;
        if (latency < mine.best_latency) {
            mine.best_latency = latency;
            mine.best_trial = trials_.size();
        }
        known_[task].emplace(hash, trials_.size());
        trials_.push_back({task, std::move(schedule), std::move(outcome), from_log});
    }

    void take(recorded& r) {
        r.used = true;
        --left_;
        pending_[r.task].erase(r.hash);
        add(r.task, r.hash, std::move(r.schedule), std::move(r.outcome), true);
    }

    /// Takes the records that no proposal met, and tells the scheduler in rounds, as if they had been measured now.
    template <class Tools>
    void take_all(Tools& t) {
        if (left_ == 0) return;
        std::vector<std::size_t> count(tasks_.size());
        std::vector<double> best(tasks_.size(), infinity);
        auto tell = [&](std::size_t task) {
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
            if (++count[task] == t.round) tell(task);
        }
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (count[i] > 0) tell(i);
        report_progress(trials_.back().task, t);
    }

    template <class Tools>
    void report_progress(std::size_t task, Tools& t) {
        tuning_progress p;
        p.task = task;
        p.task_trials = summary_.tasks[task].trials;
        p.trials = trials_.size();
        p.trials_total = options_.trials;
        p.last_latency = trials_.back().outcome.latency();
        p.best_latency = summary_.tasks[task].best_latency;
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (std::isfinite(summary_.tasks[i].best_latency)) p.objective += task_weight(tasks_[i]) * summary_.tasks[i].best_latency;
        p.counts = summary_.counts;
        p.seconds = t.clock() - t.begin;
        if (summary_.measured > 0 && p.trials < p.trials_total)
            p.seconds_left = p.seconds / static_cast<double>(summary_.measured) * static_cast<double>(p.trials_total - p.trials);
        t.progress(std::as_const(p));
    }

    std::span<const Task> tasks_;
    std::span<const Space> spaces_;
    std::span<Strategy> strategies_;
    Model* model_;
    E* executor_;
    tuning_options options_;
    task_scheduler scheduler_;
    std::unordered_map<std::string, std::size_t> numbers_; ///< of the tasks, by identity
    std::deque<trial> trials_;
    std::vector<std::unordered_map<std::uint64_t, std::size_t>> known_;   ///< a task: schedule hash to place in trials_
    std::vector<std::unordered_map<std::uint64_t, std::size_t>> pending_; ///< a task: schedule hash to place in recorded_
    std::vector<recorded> recorded_;
    std::size_t left_ = 0;       ///< recorded and not taken yet
    std::size_t trained_at_ = 0; ///< the mark of the last training
    tuning_summary summary_;
};

} // namespace augur::inline v0

#endif
