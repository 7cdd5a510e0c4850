// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include <augur/core/steady_seconds.hpp>
#include <augur/record/file_descriptor.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/tlp/inference/frozen_model.hpp>
#include <augur/tlp/online.hpp>
#include <augur/tlp/weights_file.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/tune/tuner.hpp>
#include <augur/tune/tuning_log.hpp>

#include "executor.hpp"
#ifdef AUGUR_HAS_XGBOOST
#include "tlp_trees.hpp"
#endif
#ifdef AUGUR_EXAMPLES_NEST_MODELS
#include <augur/xgboost/task_normalised_model.hpp>
#include <augur/session/known.hpp>
#include <augur/session/sample_schedules.hpp>
#endif

namespace examples {

namespace {

using task = augur::loopnest::kernel_task;
using schedule = augur::step_list;

std::string stem_of(const search_plan& plan, const search_row& row, std::uint64_t seed) {
    return plan.folder + "/" + std::string(row.id) + "-" + std::to_string(seed);
}

using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
file open_file(const std::string& path, const char* mode) { return {std::fopen(path.c_str(), mode), &std::fclose}; }

/// A line a record: seconds since the search began, and how many of them went into measuring; written as the records are. A whole search has a last
/// line that says so.
struct times {
    struct line {
        double seconds = 0, measuring = 0;

        [[nodiscard]] std::string text() const {
            std::array<char, 64> out{};
            std::snprintf(out.data(), out.size(), "%.4f %.4f\n", seconds, measuring);
            return out.data();
        }
    };
    std::vector<line> records;
    line end;
    bool whole = false;

    static times read(const std::string& path) {
        times out;
        const file from = open_file(path, "re");
        char text[128];
        while (from && std::fgets(text, sizeof text, from.get()) != nullptr && std::strchr(text, '\n') != nullptr) { // a torn line is the last one
            line l;
            out.whole = std::sscanf(text, "end %lf %lf", &l.seconds, &l.measuring) == 2;
            if (!out.whole && std::sscanf(text, "%lf %lf", &l.seconds, &l.measuring) != 2) break;
            out.end = l;
            if (!out.whole) out.records.push_back(l);
        }
        return out;
    }
    [[nodiscard]] std::string text() const {
        std::string out;
        for (const auto& l : records) out += l.text();
        return out;
    }
    /// As many lines as the log has records: the program may have died between the two.
    void fit(std::size_t count) {
        records.resize(count, records.empty() ? line{} : records.back());
        if (!whole) end = count == 0 ? line{} : records.back();
    }
};
/// Times belong to records by their place: what is damaged or lost cannot be told apart from what is there.
/// One record may be ahead: the program may have died between the two.
augur::result<void> belong(const times& t, const augur::trials_in_log<>& log, const std::string& stem) {
    const std::size_t n = log.trials.size(), m = t.records.size();
    if (log.log.bad == 0 && n >= m && n - m <= (t.whole ? 0U : 1U)) return {};
    return augur::error{augur::errc::parse, stem + ".jsonl has " + std::to_string(n) + " records and " + std::to_string(log.log.bad) +
                                                " damaged lines, " + stem + ".times " + std::to_string(m) +
                                                " times: expected as many, undamaged. Remove both to search again"};
}
void put(const file& to, const char* before, const times::line& l) {
    std::fprintf(to.get(), "%s%s", before, l.text().c_str());
    std::fflush(to.get());
}

/// Measures, and keeps the time. What an interrupted search took stands on the clock already; repeating its proposals does not count again.
struct timed_runner {
    augur::session* s;
    times::line before;
    bool repeating;
    double origin = augur::steady_seconds(), measuring = before.measuring;

    std::vector<augur::measurement> measure(const task& t, std::span<const schedule> candidates) {
        const double begin = augur::steady_seconds();
        if (std::exchange(repeating, false)) origin = begin - before.seconds;
        auto out = s->measure(t, candidates);
        measuring += augur::steady_seconds() - begin;
        return out;
    }
    [[nodiscard]] times::line now() const { return repeating ? before : times::line{augur::steady_seconds() - origin, measuring}; }
};

/// Runs a tuner with its own log and times.
template <class Tuner>
augur::result<bool> run(augur::session& s, Tuner& tuner, const std::string& stem, const std::string& name, progress_line& progress) {
    auto log = augur::open_tuning_log(stem + ".jsonl", s.tasks(), s.made_with());
    if (!log) return log.error();
    auto* const old = &log->found;
    auto known = times::read(stem + ".times");
    if (auto fits = belong(known, *old, stem); !fits) return fits.error();
    known.fit(old->trials.size());
    std::size_t written = old->trials.size();
    if (auto kept = augur::replace_file(stem + ".times", known.text()); !kept) return kept.error();
    const file to = open_file(stem + ".times", "ae");
    if (!to) return augur::errno_error(stem + ".times", "cannot write");
    tuner.resume(std::move(old->trials));

    timed_runner runner{&s, known.end, written > 0};
    std::size_t shown = 0;
    const auto report = [&](const augur::tuning_progress& p) {
        for (; written < p.trials; ++written) put(to, "", runner.now());
        const bool important = p.trials == p.trials_total || p.trials >= shown + 16;
        if (important) shown = p.trials;
        progress.show(p.trials, p.trials_total, name + "  network " + milliseconds(p.objective) + " ms  " + clock_text(p.seconds_left) + " left",
                      important);
    };
    auto summary = tuner.run(
        runner, {.sink = augur::log_sink(log->writer, s.made_with()), .progress = std::ref(report), .stop = [] { return stop_requested().load(); }});
    progress.clear();
    if (!summary) return summary.error();
    if (summary->model_errors > 0)
        std::fprintf(stderr, "%s: %zu rounds went on without the model, the first because: %s\n", name.c_str(), summary->model_errors,
                     summary->first_model_error.c_str());
    if (!summary->interrupted) put(to, "end ", runner.now());
    if (std::ferror(to.get()) != 0) return augur::error{augur::errc::io, stem + ".times: cannot write all of it"};
    return !summary->interrupted;
}

} // namespace

augur::result<bool> run_search(augur::session& s, const search_plan& plan, const search_row& row, std::uint64_t seed, progress_line& progress) {
    const std::string stem = stem_of(plan, row, seed), name = std::string(row.name) + ", seed " + std::to_string(seed);
    if (const auto before = times::read(stem + ".times"); before.whole) {
        const auto log = augur::read_trials(stem + ".jsonl", s.tasks(), s.made_with());
        if (!log) return log.error();
        if (auto fits = belong(before, *log, stem); !fits) return fits.error();
        return true;
    }
    const auto& settings = s.options().search;
    augur::tuning_options options;
    options.trials = settings.trials;
    options.round = settings.round_size();
    options.batch = 8;
    options.seed = seed;
    if (row.guide == search_guide::none) {
        std::vector<augur::random_search> strategies(s.tasks().size());
        augur::tuner t(s.tasks(), s.spaces(), strategies, options);
        return run(s, t, stem, name, progress);
    }

    executor threads = make_executor(s.report().threads);
    const auto guided = [&](auto& model) {
        std::vector<augur::evolutionary<executor>> strategies(s.tasks().size(),
                                                              augur::evolutionary<executor>(augur::evolutionary_options{}, threads));
        augur::tuner t(s.tasks(), s.spaces(), strategies, model, threads, options);
        return run(s, t, stem, name, progress);
    };
    const auto first_update = std::clamp(options.round * s.tasks().size(), std::size_t{8}, std::size_t{64}); // as `tune` has it
    if (row.guide == search_guide::trees) {
#ifdef AUGUR_HAS_XGBOOST
        tlp_trees_online_options o;
        o.first_update = first_update;
        o.trees.threads = static_cast<std::uint32_t>(s.report().threads);
        tlp_trees_online<schedule, task> model(o);
        return guided(model);
#else
        return augur::error{augur::errc::unsupported, "built without XGBoost"};
#endif
    }
    augur::tlp::online_options o;
    o.first_update = first_update;
    o.fit.seed = seed;
    if (row.weights.empty()) {
        augur::tlp::online_model<schedule, task, executor> model(threads, o);
        return guided(model);
    }
    auto weights = augur::tlp::load(plan.folder + "/" + std::string(row.weights) + ".safetensors");
    if (!weights) return weights.error();
    if (row.guide == search_guide::learning) {
        augur::tlp::online_model<schedule, task, executor> model(threads, *std::move(weights), o);
        return guided(model);
    }
    auto frozen = augur::tlp::freeze(*weights); // its first output: this machine's
    if (!frozen) return frozen.error();
    auto model = frozen->scorer(threads);
    if (row.guide == search_guide::learned) return guided(model);
#ifdef AUGUR_EXAMPLES_NEST_MODELS
    augur::loopnest::nest_row row_of(augur::loopnest::nest_target::make(s.host(), s.report().threads));
    augur::task_normalised_samples samples(row_of.columns());
    const auto known = augur::read_known(plan.folder + "/collect.jsonl", s.host().hardware(s.report().threads), s.made_with(), row_of, samples);
    if (!known) return known.error();
    const auto advised = [&](auto& trees) -> augur::result<bool> {
        for (std::size_t k = 0; k < s.tasks().size(); ++k)
            if (auto met = trees.set_normaliser(s.tasks()[k], augur::sample_schedules(s.spaces()[k], 512, seed)); !met) return met.error();
        return guided(trees);
    };
    augur::boosted_trees_options tree_options = augur::task_normalised_trees::defaults();
    tree_options.threads = static_cast<std::uint32_t>(s.report().threads);
    tree_options.seed = seed;
    if (row.guide == search_guide::advised_learning) {
        augur::task_normalised_online_options learning;
        learning.trees = tree_options;
        using online_model = augur::task_normalised_model<schedule, task, augur::loopnest::nest_row, augur::tree_training::online>;
        auto trees = online_model::create(std::move(samples), row_of, model, learning);
        if (!trees) return trees.error();
        return advised(*trees);
    }
    auto members = augur::task_normalised_trees::train_members(samples, tree_options, 5);
    if (!members) return members.error();
    augur::task_normalised_model<schedule, task, augur::loopnest::nest_row> trees(*std::move(members), row_of, model);
    return advised(trees);
#else
    return augur::error{augur::errc::unsupported, "built without Boost or without XGBoost"};
#endif
}

augur::result<search_trace> read_search(const augur::session& s, const search_plan& plan, const search_row& row, std::uint64_t seed) {
    const std::string stem = stem_of(plan, row, seed);
    const auto old = augur::read_trials(stem + ".jsonl", s.tasks(), s.made_with());
    if (!old) return old.error();
    if (old->trials.empty()) return augur::error{augur::errc::not_found, stem + ".jsonl has no records of these kernels"};
    auto clock = times::read(stem + ".times");
    if (auto fits = belong(clock, *old, stem); !fits) return fits.error();
    clock.fit(old->trials.size());
    search_trace out;
    out.seed = seed;
    out.whole = clock.whole;
    out.total_seconds = clock.end.seconds;
    out.measuring = clock.end.measuring;
    out.result = augur::search_report(std::string(row.name), s.tasks().size());
    auto& best = out.result.best_latency;
    for (std::size_t i = 0; i < old->trials.size(); ++i) {
        const auto& trial = old->trials[i];
        std::size_t k = 0;
        while (augur::task_identity(s.tasks()[k]) != trial.task) ++k; // read_trials gives no others
        if (trial.outcome.latency() < best[k]) {
            best[k] = trial.outcome.latency();
            out.result.finalists[k].assign(1, {best[k], trial.schedule});
        }
        double network = 0;
        for (std::size_t t = 0; t < best.size(); ++t) network += s.report().kernels[t].uses * best[t];
        out.seconds.push_back(clock.records[i].seconds);
        out.network.push_back(network);
    }
    return out;
}

} // namespace examples
