// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include <augur/tlp/online.hpp>
#include <augur/tlp/weights_file.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/tune/tuner.hpp>

#include "executor.hpp"
#ifdef AUGUR_EXAMPLES_NEST_MODELS
#include <augur/loopnest/crop/features.hpp>
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/crop/cost_model.hpp>
#include <augur/model/residual.hpp>
#include <augur/xgboost/task_normalised_online.hpp>
#include <augur/xgboost/trees_online.hpp>

#include "known.hpp"
#endif

namespace examples {

namespace {

/// When TLP learns: first after one round of each kernel, then as in its defaults whenever the records have doubled.
augur::tlp::online_options tlp_options(const settings& s) {
    augur::tlp::online_options o;
    o.seed = s.seed;
    o.first_update = std::clamp(round_of(s) * s.work.kernels.size(), std::size_t{8}, std::size_t{64});
    return o;
}

/// A search of so many kernels that has measured nothing.
searched unsearched(const std::string& name, std::size_t kernels) {
    searched out;
    out.name = name;
    out.latencies.resize(kernels);
    out.finalists.resize(kernels);
    out.best_latency.assign(kernels, std::numeric_limits<double>::infinity());
    out.checked_latency.assign(kernels, 0);
    return out;
}

} // namespace

template <class Tuner>
void session::collect(const Tuner& tuner, searched& out) const {
    for (const auto& t : tuner.trials()) {
        const double latency = t.outcome.latency();
        out.latencies[t.task].push_back(latency);
        const auto status = static_cast<std::size_t>(t.outcome.status);
        ++out.counts[status];
        if (out.first_reason[status].empty()) out.first_reason[status] = baselines[t.task].name + ": " + t.outcome.reason;
        out.best_latency[t.task] = (std::min)(out.best_latency[t.task], latency);
        auto& few = out.finalists[t.task];
        if (!std::isfinite(latency)) continue;
        const auto place = std::find_if(few.begin(), few.end(), [&](const auto& f) { return latency < f.first; });
        few.insert(place, {latency, t.schedule});
        if (few.size() > 4) few.pop_back();
    }
}

std::vector<std::string> session::notes_of(const augur::trials_in_log<>& old, std::size_t taken, std::size_t duplicates,
                                           const std::string& first_bad) const {
    std::vector<std::string> notes;
    const auto note = [&](std::size_t n, const std::string& text) {
        if (n > 0) notes.push_back(with.log + ": " + std::to_string(n) + " " + text);
    };
    if (taken == 0) notes.push_back(with.log + ": nothing to resume, starting anew");
    note(taken, "records are taken over and not measured again");
    note(duplicates, "records repeat a schedule and are passed over");
    note(old.other_task, "records are of other kernels and are passed over");
    note(old.other_target, "records are of other targets or another number of threads and are passed over");
    note(old.other_toolchain, "records are of another compiler or other flags and are passed over");
    note(old.log.bad, "lines are damaged and are passed over; the first: " + first_bad);
    note(static_cast<std::size_t>(log_->bytes_cut()), "bytes of an unfinished record at the end were cut off");
    return notes;
}

template <class Tuner>
searched session::run(Tuner& tuner, const std::string& name, bool to_log, progress_line& progress) {
    searched out = unsearched(name, tasks.size());
    const bool logged = to_log && log_;
    if (logged && with.resume) {
        std::string first_bad;
        augur::log_read_options read;
        read.on_bad_line = [&](const augur::bad_line& b) {
            if (first_bad.empty()) first_bad = b.text();
        };
        auto old = augur::read_trials(with.log, std::span<const augur::loopnest::kernel_task>(tasks), made_with_, read);
        if (!old) {
            out.failed = old.error();
            return out;
        }
        const auto taken = tuner.resume(std::move(old->trials));
        out.notes = notes_of(*old, taken.taken, taken.duplicates, first_bad);
        for (const auto& n : out.notes) std::fprintf(stderr, "%s\n", n.c_str());
    }
    std::size_t shown = 0;
    const auto report = [&](const augur::tuning_progress& p) {
        const std::size_t failed = p.trials - p.counts[static_cast<std::size_t>(augur::outcome::ok)];
        const bool important = p.trials == p.trials_total || p.trials >= shown + 8;
        if (important) shown = p.trials;
        progress.show(p.trials, p.trials_total,
                      name + "  " + baselines[p.task].name + "  best " + milliseconds(p.best_latency) + " ms  " + std::to_string(failed) +
                          " failed  " + clock_text(p.seconds_left) + " left",
                      important);
    };
    augur::tuning_hooks<augur::step_list, augur::loopnest::kernel_task> hooks;
    if (logged) hooks.sink = augur::log_sink(*log_, made_with_);
    hooks.progress = report;
    hooks.stop = [] { return stop_requested().load(); };
    auto summary = tuner.run(*this, hooks);
    progress.clear();
    if (summary) out.summary = std::move(*summary);
    else out.failed = summary.error();
    if (logged) (void)static_cast<bool>(log_->flush()); // every record is in the file already; this is for a machine that crashes
    collect(tuner, out);
    return out;
}

searched session::search(const std::string& name, bool guided, bool to_log, progress_line& progress) {
    augur::tuning_options options;
    options.trials = with.trials * tasks.size();
    options.round = round_of(with);
    options.batch = 8;
    options.seed = with.seed;
    if (with.even) options.scheduler.strategy = augur::scheduling::round_robin;
    if (!guided) {
        std::vector<augur::random_search> strategies(tasks.size());
        augur::tuner t(tasks, spaces, strategies, options);
        return run(t, name, to_log, progress);
    }
    executor threads = make_executor(with.threads);
    augur::evolutionary_options evolution;
    evolution.population = with.population != 0 ? with.population : asks_crop(with.by) ? 256 : evolution.population;
    if (with.by != guide::tlp && with.by != guide::nest)
        evolution.eps_greedy = 0.25; // these are sure of themselves from the first round on: others must be tried to tell them
    const auto search_by = [&](auto& model) {
        std::vector<augur::evolutionary<executor>> strategies(tasks.size(), augur::evolutionary<executor>(evolution, threads));
        augur::tuner t(tasks, spaces, strategies, model, threads, options);
        return run(t, name, to_log, progress);
    };
#ifdef AUGUR_EXAMPLES_NEST_MODELS
    if (with.by == guide::nest) {
        augur::task_normalised_online_options learning;
        learning.trees.threads = static_cast<std::uint32_t>(with.threads);
        learning.trees.seed = with.seed;
        auto trees = augur::task_normalised_online<augur::step_list, augur::loopnest::kernel_task, augur::loopnest::nest_row>::create(
            *known_, augur::loopnest::nest_row(augur::loopnest::nest_target::of(on, with.threads)), learning);
        augur::result<void> met = trees ? augur::result<void>{} : trees.error();
        for (std::size_t k = 0; k < tasks.size() && met; ++k) met = trees->set_normaliser(tasks[k], drawn_at_random(spaces[k], with.seed));
        if (met) return search_by(*trees);
        searched out = unsearched(name, tasks.size());
        out.failed = met.error();
        return out;
    }
    if (with.by != guide::tlp) {
        auto how = augur::few_sample_trees();
        how.seed = with.seed;
        augur::trees_online<augur::step_list, augur::loopnest::kernel_task, augur::loopnest::nest_row> trees(
            augur::loopnest::nest_row(augur::loopnest::nest_target::of(on, with.threads)), how);
        if (with.by == guide::trees) return search_by(trees);
        augur::crop::model crop(*crop_on_, with.threads, augur::loopnest::crop_feature_extractor{augur::loopnest::native_c_options(on)});
        if (with.by == guide::crop) return search_by(crop);
        augur::residual_model hybrid(std::move(crop), std::move(trees));
        return search_by(hybrid);
    }
#endif
    using model_type = augur::tlp::online_model<augur::step_list, augur::loopnest::kernel_task, executor>;
    std::optional<model_type> model;
    if (start_) model.emplace(threads, *start_, tlp_options(with));
    else model.emplace(threads, tlp_options(with));
    auto out = search_by(*model);
    if (model->model() != nullptr) learned_ = std::make_shared<const augur::tlp::trained_model>(*model->model());
    return out;
}

augur::result<void> session::load_model() {
#ifndef AUGUR_EXAMPLES_NEST_MODELS
    if (with.guided && with.by != guide::tlp)
        return augur::error{augur::errc::unsupported, "model " + std::string(to_string(with.by)) + ": built without Boost or without XGBoost"};
#endif
    if (!with.machine.empty()) {
        auto m = find_machine(with.machine);
        if (!m) return m.error();
        crop_on_.emplace(*std::move(m));
    }
    if (with.weights.empty()) return {};
    auto model = augur::tlp::load(with.weights);
    if (!model) return model.error();
    start_ = std::make_shared<const augur::tlp::trained_model>(std::move(*model));
    return {};
}

augur::result<void> session::load_known() {
#ifdef AUGUR_EXAMPLES_NEST_MODELS
    if (!with.guided || with.by != guide::nest) return {};
    auto known =
        read_known(with.known, on.hardware(with.threads), made_with_, augur::loopnest::nest_row(augur::loopnest::nest_target::of(on, with.threads)));
    if (!known) return known.error();
    std::fprintf(stderr, "%s: %zu candidates of %zu kernels are known\n", with.known.c_str(), known->records, known->kernels);
    if (known->passed_over > 0)
        std::fprintf(stderr, "%s: %zu records of unknown kernels, other targets or compilers are passed over\n", with.known.c_str(),
                     known->passed_over);
    if (!known->first_bad.empty())
        std::fprintf(stderr, "%s: damaged lines are passed over; the first: %s\n", with.known.c_str(), known->first_bad.c_str());
    known_ = std::make_shared<const augur::task_normalised_samples>(std::move(known->samples));
#endif
    return {};
}

augur::result<void> session::save_model(const std::string& path) const {
    if (!learned_) return augur::error{augur::errc::not_found, path + ": there is no model to write, it has not learned anything yet"};
    return augur::tlp::save(*learned_, path);
}

} // namespace examples
