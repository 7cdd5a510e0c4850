// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_TUNING_LOOP_HPP
#define AUGUR_TUNE_DETAIL_TUNING_LOOP_HPP

/// @file
/// The rounds of a tuning run: propose, measure, observe, report to the scheduler, train.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/retraining_schedule.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/model/concepts.hpp>
#include <augur/record/measurement.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/task_scheduler.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tune/detail/expect_latencies.hpp>
#include <augur/tune/detail/propose_round.hpp>
#include <augur/tune/detail/trial_book.hpp>
#include <augur/tune/detail/tuner_arguments.hpp>
#include <augur/tune/detail/tuning_problem.hpp>
#include <augur/tune/detail/validate_measurements.hpp>
#include <augur/tune/hooks.hpp>
#include <augur/tune/options.hpp>
#include <augur/tune/summary.hpp>

namespace augur::inline v0::detail {

/// One run of a tuner, which owns everything that is passed by reference. Trials and summary go to the book.
template <class Task, class Space, class Strategy, class Model, class E, class R>
class tuning_loop {
public:
    using S = schedule_of_t<Space>;
    using problem = tuning_problem<Task, Space, Strategy, Model, E>;

    tuning_loop(const problem& p, const tuning_options& options, task_scheduler& scheduler, trial_book<S>& book, R& runner,
                tuning_hooks<S, Task> hooks)
        : problem_(p), options_(options), scheduler_(scheduler), book_(book), runner_(runner), hooks_(std::move(hooks)),
          round_((std::min)(options.round, options.trials)), first_round_(options.first_round > 0 ? (std::min)(options.first_round, round_) : round_),
          shown_(static_cast<bool>(hooks_.progress)) {
        if (!hooks_.sink) hooks_.sink = [](const Task&, const S&, const measurement&) { return result<void>(); };
        if (!shown_) hooks_.progress = [](const tuning_progress&) {};
        if (!hooks_.stop) hooks_.stop = [] { return false; };
        if (!hooks_.clock) hooks_.clock = steady_seconds;
        begin_ = hooks_.clock();
    }

    /// Runs until the budget is used up, all tasks have ended, or `stop` returns true. Call it once.   Errors: see `tuner::run`
    [[nodiscard]] result<void> run() {
        if (!options_.replay) take_all();
        while (book_.trials.size() < budget()) {
            book_.summary.interrupted = hooks_.stop();
            if (book_.summary.interrupted) break;
            const auto task = scheduler_.next();
            book_.summary.exhausted = !task && book_.unused == 0;
            if (!task && book_.unused == 0) break;
            if (!task) { // all tasks ended during the replay, but unused records are left
                take_all();
                continue;
            }
            auto ok = run_round(*task, (std::min)(round_after(book_.summary.tasks[*task].trials), budget() - book_.trials.size()));
            if (!ok) return ok;
            if (book_.summary.interrupted) break;
        }
        if (book_.unused > 0) take_all(); // stopped during the replay: the summary counts the unused records too
        book_.summary.seconds = hooks_.clock() - begin_;
        book_.summary.trials = book_.trials.size();
        for (std::size_t i = 0; i < problem_.tasks.size(); ++i) book_.summary.tasks[i].rounds = scheduler_.rounds(i);
        return {};
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    /// Trials of all tasks together.
    [[nodiscard]] std::size_t budget() const noexcept { return options_.trials * problem_.tasks.size(); }

    /// The size of the round of a task that has so many trials.
    [[nodiscard]] std::size_t round_after(std::size_t trials) const noexcept { return std::clamp(trials, first_round_, round_); }

    /// One round of a task: propose, measure, observe, report to the scheduler, train.
    [[nodiscard]] result<void> run_round(std::size_t task, std::size_t n) {
        const double begin = hooks_.clock();
        const random_engine numbers = random_engine(options_.seed).stream(task).stream(scheduler_.rounds(task));
        auto proposed = propose_round(problem_, book_, task, n, numbers, options_.attempts);
        book_.summary.propose_seconds += hooks_.clock() - begin;
        if (!proposed) return proposed.error();

        const std::size_t before = book_.trials.size();
        std::vector<measured_decisions> points = std::move(proposed->unrealised);
        std::vector<tuning_candidate<S>> batch;
        for (tuning_candidate<S>& c : proposed->fresh) {
            if (const auto at = book_.pending[task].find(c.hash); at != book_.pending[task].end()) {
                pending_record<S>& r = book_.records[at->second];
                points.push_back({std::move(c.decisions), r.outcome.latency()});
                book_.take(r);
            } else {
                batch.push_back(std::move(c));
            }
        }
        const std::size_t replayed = book_.trials.size() - before;
        if (replayed > 0 && batch.size() < proposed->fresh.size()) report_progress(task);
        if (!batch.empty() && book_.unused > 0) take_all();
        const std::size_t measured_from = book_.trials.size();
        if (auto ok = measure(task, batch, points); !ok) return ok;
        if (book_.summary.interrupted) return {};

        for (auto& [decisions, hash] : proposed->known)
            if (const auto at = book_.known[task].find(hash); at != book_.known[task].end())
                points.push_back({std::move(decisions), book_.trials[at->second].outcome.latency()});
        problem_.strategies[task].observe(std::span<const measured_decisions>(points));
        double best = infinity;
        for (const measured_decisions& p : points) best = (std::min)(best, p.latency);
        scheduler_.report(task, replayed + book_.trials.size() - measured_from, best);
        train();
        return {};
    }

    /// Measures candidates in batches and writes their records. Stops between batches if the stop flag is set or the budget is used up.
    [[nodiscard]] result<void> measure(std::size_t task, std::vector<tuning_candidate<S>>& all, std::vector<measured_decisions>& points) {
        const double begin_expecting = hooks_.clock();
        const std::vector<double> expected = shown_ ? expect_latencies(problem_, book_.trials, task, all) : std::vector<double>();
        book_.summary.propose_seconds += hooks_.clock() - begin_expecting;
        for (std::size_t from = 0; from < all.size() && book_.trials.size() < budget();) {
            book_.summary.interrupted = hooks_.stop();
            if (book_.summary.interrupted) return {};
            const std::size_t n = (std::min)({options_.batch, all.size() - from, budget() - book_.trials.size()});
            std::vector<S> batch;
            batch.reserve(n);
            for (std::size_t i = 0; i < n; ++i) batch.push_back(std::move(all[from + i].schedule));
            const double begin = hooks_.clock();
            std::vector<measurement> outcomes = runner_.measure(problem_.tasks[task], std::span<const S>(batch));
            book_.summary.measure_seconds += hooks_.clock() - begin;
            const std::size_t received = outcomes.size();
            validate_measurements(outcomes, n);
            result<void> written; // the first error of the sink; the whole batch is passed to the sink and kept
            for (std::size_t i = 0; i < n; ++i) {
                tuning_candidate<S>& c = all[from + i];
                measurement& m = outcomes[i];
                auto done = hooks_.sink(problem_.tasks[task], std::as_const(batch[i]), std::as_const(m));
                const bool kept = static_cast<bool>(done);
                if (written && !kept) written = std::move(done);
                points.push_back({std::move(c.decisions), m.latency()});
                runner_errors_ = m.status == outcome::runner_error ? runner_errors_ + 1 : 0;
                if (runner_errors_ > 0) runner_reason_ = m.reason;
                book_.add(task, c.hash, std::move(batch[i]), std::move(m), false);
                if (kept) report_progress(task, from + i < expected.size() ? expected[from + i] : infinity);
            }
            if (!written) return written;
            if (received > n)
                return error{errc::invalid_argument, "tuning: the runner gave " + std::to_string(received) + " measurements for " +
                                                         std::to_string(n) + " candidates, so which is whose is not known"};
            if (options_.runner_errors > 0 && runner_errors_ >= options_.runner_errors && !hooks_.stop())
                return error{errc::io,
                             "tuning: the runner failed for " + std::to_string(runner_errors_) + " candidates in a row, at last: " + runner_reason_};
            from += n;
        }
        return {};
    }

    /// Trains the model if the retraining schedule requires it.
    void train() {
        if constexpr (trainable_cost_model<Model, S, Task>) {
            const std::size_t first = (std::max)(options_.train_first, std::size_t{1});
            std::size_t due = book_.trials.size() < first ? 0 : book_.trials.size();
            if (options_.train_growth > 1) due = last_retraining(book_.trials.size(), first, options_.train_growth);
            if (due <= trained_at_) return;
            trained_at_ = due;
            const double begin = hooks_.clock();
            std::vector<observation<S, Task>> records;
            records.reserve(book_.trials.size());
            for (const tuned_trial<S>& x : book_.trials) records.push_back({&problem_.tasks[x.task], &x.schedule, &x.outcome});
            if (auto ok = problem_.model->update(std::span<const observation<S, Task>>(records)); !ok) book_.note_model_error(ok.error());
            book_.summary.train_seconds += hooks_.clock() - begin;
        }
    }

    /// Takes all unused records as trials, and reports them to the scheduler in rounds, as if they had been measured now.
    void take_all() {
        if (book_.unused == 0) return;
        std::vector<std::size_t> count(problem_.tasks.size());
        std::vector<double> best(problem_.tasks.size(), infinity);
        auto report_round = [&](std::size_t task) {
            scheduler_.report(task, count[task], best[task]);
            count[task] = 0;
            best[task] = infinity;
        };
        for (pending_record<S>& r : book_.records) {
            if (r.used) continue;
            const std::size_t task = r.task;
            best[task] = (std::min)(best[task], r.outcome.latency());
            if constexpr (offers_decide<Space, S>) {
                if (auto d = problem_.spaces[task].decide(r.schedule)) {
                    const measured_decisions point{std::move(*d), r.outcome.latency()};
                    problem_.strategies[task].observe(std::span<const measured_decisions>(&point, 1));
                }
            }
            const std::size_t before = book_.summary.tasks[task].trials - count[task]; // at the start of the round
            book_.take(r);
            if (++count[task] == round_after(before)) report_round(task);
        }
        for (std::size_t i = 0; i < problem_.tasks.size(); ++i)
            if (count[i] > 0) report_round(i);
        report_progress(book_.trials.back().task);
    }

    void report_progress(std::size_t task, double expected = infinity) {
        tuning_progress p = book_.progress(task, budget(), hooks_.clock() - begin_);
        p.expected_latency = expected;
        hooks_.progress(p);
    }

    const problem& problem_;
    const tuning_options& options_;
    task_scheduler& scheduler_;
    trial_book<S>& book_;
    R& runner_;
    tuning_hooks<S, Task> hooks_;
    std::size_t round_;       ///< trials of a task between two decisions of the scheduler
    std::size_t first_round_; ///< the same of the first round, at most `round_`
    bool shown_;              ///< somebody sees the progress
    double begin_ = 0;
    std::size_t runner_errors_ = 0; ///< failures of the runner itself since its last answer
    std::string runner_reason_;     ///< of the latest
    std::size_t trained_at_ = 0;    ///< retraining point of the last training
};

} // namespace augur::inline v0::detail

#endif
