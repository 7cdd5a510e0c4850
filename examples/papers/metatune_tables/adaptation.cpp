// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune_tables.hpp"

#include <utility>

#include <augur/core/random_engine.hpp>

#include "console.hpp"

namespace metatune_tables {

namespace {

/// Draw number `seed` of the points of a task: measures some, predicts the others.
augur::result<scores> adapt(start from, metatune::network<float> net, const table_task& task, std::uint64_t seed, const adaptation& how) {
    if (from == start::random) net = metatune::network<float>::random_init(net.config, augur::random_engine(seed).stream(1));
    if (from != start::constant_high && from != start::constant_mean)
        return examples::adapt_and_judge(std::move(net), task.samples, task.least, how.shots, seed, how.fine_tuning);
    const auto [support, query] = examples::draw_points(task.samples, how.shots, seed);
    double mean = 0;
    for (const double s : support.seconds) mean += support.least() / s / static_cast<double>(how.shots);
    return examples::judge_speeds(std::vector<double>(query.seconds.size(), from == start::constant_high ? 1.0 : mean), task.least / support.least(),
                                  query, task.least);
}

} // namespace

augur::result<std::vector<metatune::network<float>>> train(const device_tasks& on, std::size_t shots, const training_plan& plan,
                                                           examples::executor& threads) {
    metatune::config shape;
    shape.features = static_cast<augur::nn::index>(on.features);
    shape.outputs = 1; // all samples ran
    shape.masked = plan.network.masked;
    shape.nested = plan.network.nested;
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
    meta.frozen = plan.network.frozen;
    meta.seed = plan.seed;
    for (const auto& [to, gradient] :
         {std::pair{start::first_order, augur::nn::meta_gradient::first_order},
          std::pair{start::second_order, augur::nn::meta_gradient::second_order}, std::pair{start::reptile, augur::nn::meta_gradient::reptile}}) {
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

scores mean_of(const std::vector<scores>& of) {
    scores mean;
    for (const auto part : {&scores::mse, &scores::mse_fast, &scores::spearman})
        for (const scores& s : of) mean.*part += s.*part / static_cast<double>(of.size());
    return mean;
}

augur::result<adapted_rows> adapt_all(const device_tasks& on, const training_plan& plan, adaptation how, examples::executor& threads) {
    const auto nets = train(on, how.shots, plan, threads);
    if (!nets) return nets.error();
    return adapted_by(on, [&](start from, const std::vector<table_task>& tasks, std::size_t steps) {
        how.fine_tuning.steps = steps;
        return judge(from, (*nets)[static_cast<std::size_t>(from)], tasks, how, threads);
    });
}

} // namespace metatune_tables
