// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/metatune/checkpoint.hpp>

namespace metatune_program {

namespace {

using augur::errc;
using augur::error;

/// Of all that determines the weights.
std::uint64_t run_of(std::span<const metatune::task_samples> tasks, const training_plan& plan) {
    std::uint64_t hash = augur::fnv1a64("metatune 1");
    const auto bytes = [&hash](const auto* values, std::size_t count) {
        hash = augur::fnv1a64({reinterpret_cast<const char*>(values), count * sizeof *values}, hash);
    };
    const auto number = [&](double x) { bytes(&x, 1); };
    const auto& c = plan.shape;
    const auto& s = plan.supervised;
    const auto& m = plan.meta;
    for (const auto* widths : {&c.convolutions, &c.head}) {
        number(static_cast<double>(widths->size()));
        for (const auto w : *widths) number(static_cast<double>(w));
    }
    for (const auto n : {c.features, c.outputs}) number(static_cast<double>(n));
    for (const auto n : {s.epochs, s.batch, m.ways, m.shots, m.queries, m.batch, m.cold, m.steps, m.inner.inner_steps})
        number(static_cast<double>(n));
    for (const double x : {s.learning_rate, s.validity_weight, m.learning_rate, m.validity_weight, m.inner.inner_rate}) number(x);
    for (const bool b : {c.nested, c.masked, m.frozen}) number(b ? 1 : 0);
    number(static_cast<double>(m.inner.gradient));
    for (const auto seed : {plan.seed, s.seed, m.seed}) hash = augur::mix64(hash ^ seed);
    for (const auto& t : tasks) {
        bytes(t.seconds.data(), t.seconds.size());
        for (const auto& rows : t.candidates) {
            bytes(rows.features.data(), static_cast<std::size_t>(rows.features.size()));
            bytes(rows.present.data(), rows.present.size());
        }
    }
    return hash;
}

} // namespace

training_plan::training_plan() : meta(metatune::meta_training_options::preparing({})) {}

augur::result<metatune::network<float>> train(std::span<const kernel_samples> kernels, const training_plan& plan, examples::executor& threads,
                                              const training_watch& watch) {
    std::vector<metatune::task_samples> tasks;
    for (const auto& k : kernels) tasks.push_back(k.samples);
    const auto large = static_cast<std::size_t>(
        std::count_if(tasks.begin(), tasks.end(), [&](const auto& t) { return t.candidates.size() >= plan.meta.shots + plan.meta.queries; }));
    if (plan.meta.steps > 0) // now, not after the pre-training
        if (auto fits = plan.meta.check(); !fits) return fits.error();
    if (plan.meta.steps > 0 && large < plan.meta.ways)
        return error{errc::invalid_argument, "expected " + std::to_string(plan.meta.ways) + " kernels with " +
                                                 std::to_string(plan.meta.shots + plan.meta.queries) + " candidates, got " + std::to_string(large)};
    const bool keeps = !plan.checkpoint.empty();
    metatune::checkpoint now{keeps ? run_of(tasks, plan) : 0, "pre-training",
                             metatune::training_state(metatune::network<float>::random_init(plan.shape, augur::random_engine(plan.seed)))};
    if (std::error_code unknown; keeps && std::filesystem::exists(plan.checkpoint, unknown)) {
        auto kept = metatune::load_checkpoint(plan.checkpoint, plan.shape, now.run);
        if (!kept) return kept.error();
        now = *std::move(kept);
    }
    for (;;) {
        const bool meta = now.stage == "meta-training";
        bool stops = false;
        const double begun = augur::steady_seconds();
        const auto progress = [&](const metatune::training_progress& p) {
            stops = !watch(now.stage, p);
            return !stops && !(keeps && augur::steady_seconds() - begun > plan.checkpoint_seconds);
        };
        const auto report = meta ? metatune::meta_train(now.state, tasks, threads, plan.meta, progress)
                                 : metatune::pretrain(now.state, tasks, threads, plan.supervised, progress);
        if (!report) return report.error();
        if (!report->stopped) {
            if (meta || plan.meta.steps == 0) return std::move(now.state.net);
            now.stage = "meta-training";
            now.state = metatune::training_state(std::move(now.state.net));
        }
        if (keeps && (report->stopped || stops))
            if (auto saved = metatune::save_checkpoint(now, plan.checkpoint); !saved) return saved.error();
        if (stops) return error{errc::interrupted, "stopped in " + now.stage + " after step " + std::to_string(now.state.steps)};
    }
}

} // namespace metatune_program
