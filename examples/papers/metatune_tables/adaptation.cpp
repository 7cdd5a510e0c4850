// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune_tables.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <augur/core/random_engine.hpp>

#include "console.hpp"
#include "statistics.hpp"

namespace metatune_tables {

namespace {

metatune::task_samples part_of(const metatune::task_samples& all, std::span<const std::size_t> which) {
    metatune::task_samples out;
    for (const std::size_t i : which) {
        out.candidates.push_back(all.candidates[i]);
        out.seconds.push_back(all.seconds[i]);
    }
    return out;
}

/// Speeds that a network predicts, in the unit that it was fine-tuned in.
std::vector<double> predict(const metatune::network<float>& net, const metatune::task_samples& samples) {
    constexpr std::size_t most = 128;
    metatune::candidate_graphs graphs(net.config);
    metatune::network_activation<float> kept;
    std::vector<double> out;
    for (std::size_t first = 0; first < samples.candidates.size(); first += most) {
        graphs.clear();
        for (std::size_t i = first; i < (std::min)(first + most, samples.candidates.size()); ++i)
            (void)graphs.add(samples.candidates[i]); // checked when it was read
        augur::nn::matrix<float> y(graphs.size(), net.config.outputs);
        net.forward(graphs, kept, y);
        for (augur::nn::index i = 0; i < y.rows(); ++i) out.push_back(static_cast<double>(y(i, 0)));
    }
    return out;
}

/// @param speeds  predicted, best of the task = 1
scores score(const std::vector<double>& speeds, const metatune::task_samples& query, double least) {
    std::vector<double> measured, errors;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        measured.push_back(least / query.seconds[i]);
        errors.push_back(std::pow(speeds[i] - measured[i], 2));
    }
    std::vector<std::size_t> order(speeds.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return measured[a] != measured[b] ? measured[a] > measured[b] : a < b; });
    order.resize((order.size() + 3) / 4);
    scores out;
    for (const double e : errors) out.mse += e / static_cast<double>(errors.size());
    for (const std::size_t i : order) out.mse_fast += errors[i] / static_cast<double>(order.size());
    out.spearman = examples::spearman(speeds, measured);
    return out;
}

/// Draw number `seed` of the points of a task: measures some, predicts the others.
augur::result<scores> adapt(start from, metatune::network<float> net, const table_task& task, std::uint64_t seed, const adaptation& how) {
    std::vector<std::size_t> order(task.samples.candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    augur::random_engine rng(seed);
    rng.shuffle(std::span(order));
    const auto support = part_of(task.samples, std::span(order).first(how.shots)), query = part_of(task.samples, std::span(order).subspan(how.shots));
    const double unit = task.least / support.least(); // the models know only the best point measured
    std::vector<double> speeds;
    if (from == start::constant_high || from == start::constant_mean) {
        double mean = 0;
        for (const double s : support.seconds) mean += support.least() / s / static_cast<double>(how.shots);
        speeds.assign(query.seconds.size(), from == start::constant_high ? 1.0 : mean);
    } else {
        if (from == start::random) net = metatune::network<float>::random_init(net.config, augur::random_engine(seed).stream(1));
        if (auto tuned = metatune::fine_tune(net, support, how.fine_tuning); !tuned) return tuned.error();
        speeds = predict(net, query);
    }
    for (double& s : speeds) s *= unit;
    return score(speeds, query, task.least);
}

} // namespace

augur::result<std::vector<metatune::network<float>>> train(const device_tasks& on, std::size_t shots, const training_plan& plan,
                                                           examples::executor& threads) {
    metatune::config shape;
    shape.features = static_cast<augur::nn::index>(on.features);
    shape.outputs = 1; // all samples ran
    std::vector<metatune::task_samples> tasks;
    for (const auto& t : on.train) tasks.push_back(t.samples);
    const auto random = metatune::network<float>::random_init(shape, augur::random_engine(plan.seed));
    std::vector<metatune::network<float>> out(start_names.size(), random);
    const auto go_on = [](const metatune::training_progress&) { return !examples::stop_requested(); };
    const auto net_of = [&](start s) -> metatune::network<float>& { return out[static_cast<std::size_t>(s)]; };

    metatune::pretraining_options supervised;
    supervised.epochs = plan.epochs;
    supervised.batch = plan.batch;
    supervised.learning_rate = plan.learning_rate;
    supervised.seed = plan.seed;
    metatune::training_state begun(random);
    auto report = metatune::pretrain(begun, tasks, threads, supervised, go_on);
    if (!report) return report.error();
    auto longer = begun;
    supervised.epochs *= 2;
    if (report = metatune::pretrain(longer, tasks, threads, supervised, go_on); !report) return report.error();
    net_of(start::pretrained) = longer.net;

    metatune::meta_training_options meta;
    meta.inner = plan.inner;
    meta.shots = shots;
    meta.queries = plan.queries;
    meta.batch = plan.meta_tasks;
    meta.steps = begun.steps;
    meta.learning_rate = plan.learning_rate;
    meta.frozen = plan.frozen;
    meta.seed = plan.seed;
    for (const auto& [to, gradient] : {std::pair{start::first_order, augur::nn::meta_gradient::first_order},
                                       std::pair{start::second_order, augur::nn::meta_gradient::second_order}}) {
        metatune::training_state state(begun.net);
        meta.inner.gradient = gradient;
        if (meta.steps > 0) report = metatune::meta_train(state, tasks, threads, meta, go_on);
        if (!report) return report.error();
        net_of(to) = state.net;
    }
    return out;
}

augur::result<std::vector<scores>> judge(start from, const metatune::network<float>& net, const std::vector<table_task>& tasks, const adaptation& how,
                                         examples::executor& threads) {
    std::vector<augur::result<scores>> all(tasks.size() * how.seeds, scores{});
    threads.bulk(all.size(), [&](std::size_t i) {
        if (!examples::stop_requested()) all[i] = adapt(from, net, tasks[i / how.seeds], 1 + i % how.seeds, how);
    });
    std::vector<scores> out(tasks.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i]) return augur::error{all[i].error().code, tasks[i / how.seeds].name + ": " + all[i].error().detail};
        const auto share = 1 / static_cast<double>(how.seeds);
        scores& to = out[i / how.seeds];
        to.mse += share * all[i]->mse;
        to.mse_fast += share * all[i]->mse_fast;
        to.spearman += share * all[i]->spearman;
    }
    return out;
}

} // namespace metatune_tables
