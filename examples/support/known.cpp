// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifdef AUGUR_EXAMPLES_NEST_MODELS
#include "known.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/measurement.hpp>
#include <augur/search/random.hpp>
#include <augur/search/seen.hpp>
#include <augur/workload/kernel.hpp>

namespace examples {

namespace {

using task = augur::loopnest::kernel_task;

/// The kernels that a log has records of, in its order.
augur::result<std::vector<task>> tasks_of(const std::string& log, const augur::hardware_params& hardware) {
    auto reader = augur::log_reader::open(log);
    if (!reader) return reader.error();
    std::vector<task> out;
    std::set<std::string, std::less<>> seen;
    for (augur::record r;;) {
        const auto more = reader->next(r);
        if (!more) return more.error();
        if (!*more) return out;
        if (!seen.insert(r.task.workload_key).second) continue;
        const auto what = augur::kernel::from_workload_key(r.task.workload_key);
        if (!what) continue; // `read_known` counts its records
        auto t = task::create(*what, hardware);
        if (!t) return t.error();
        out.push_back(*std::move(t));
    }
}

} // namespace

augur::result<known_candidates> read_known(const std::string& log, const augur::hardware_params& hardware, const augur::toolchain& made_with,
                                           augur::loopnest::nest_row row_of) {
    const auto tasks = tasks_of(log, hardware);
    if (!tasks) return tasks.error();
    known_candidates out{augur::task_normalised_samples(row_of.columns()), 0, 0, 0, {}};
    augur::log_read_options read;
    read.on_bad_line = [&](const augur::bad_line& b) {
        if (out.first_bad.empty()) out.first_bad = b.text();
    };
    const auto old = augur::read_trials(log, std::span<const task>(*tasks), made_with, read);
    if (!old) return old.error();
    out.passed_over = old->other_task + old->other_target + old->other_toolchain;
    for (const auto& t : *tasks) {
        std::vector<float> rows, row(row_of.columns()), labels;
        std::vector<double> latencies;
        const auto of = augur::task_identity(t);
        for (const auto& trial : old->trials)
            if (trial.task == of && row_of(t, trial.schedule, row)) {
                rows.insert(rows.end(), row.begin(), row.end());
                latencies.push_back(trial.outcome.latency());
            }
        if (latencies.empty()) continue;
        ++out.kernels;
        out.records += latencies.size();
        const double least = *std::min_element(latencies.begin(), latencies.end());
        for (const double l : latencies) labels.push_back(augur::speed_label(least, l));
        const auto all = augur::task_normaliser::of(rows, row_of.columns());
        if (auto done = out.samples.add(all, std::move(rows), labels); !done) return done.error();
    }
    if (out.records == 0)
        return augur::error{augur::errc::not_found,
                            log + ": expected records of kernels on this machine, with these threads and this compiler and its flags; " +
                                std::to_string(old->other_task) + " are of unknown kernels, " + std::to_string(old->other_target) +
                                " of another target or number of threads, " + std::to_string(old->other_toolchain) + " of another compiler"};
    return out;
}

std::vector<augur::step_list> drawn_at_random(const augur::loopnest::ansor_space& space, std::uint64_t seed) {
    augur::seen_points seen;
    augur::random_engine rng(seed);
    std::vector<augur::decision_vector> points;
    augur::draw_unseen(space, seen, 512, rng, points);
    std::vector<augur::step_list> out;
    for (const auto& p : points)
        if (auto made = space.realise(p)) out.push_back(*std::move(made));
    return out;
}

} // namespace examples
#endif
