// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune_tables.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/nn/train/maml.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/speed_loss.hpp>

namespace metatune_tables {

namespace {

namespace nn = augur::nn;
namespace tlp = augur::tlp;

using schedules = tlp::measured_schedules;
using tlp::speed_loss;
using model = tlp::model<float>;
using maml = nn::maml<float, speed_loss>;

void add(schedules& to, const metatune::task_samples& from, std::size_t i, double least) {
    const auto& rows = from.candidates[i].features;
    to.rows.add({rows.data(), static_cast<std::size_t>(rows.size())});
    to.speeds.push_back(least / from.seconds[i]);
}

nn::adam<model> optimiser_of(const model& net, double rate) {
    nn::adam<model>::options o;
    o.learning_rate = rate;
    o.weight_decay = 0;
    return nn::adam<model>(net, o);
}

/// The trainings of a device: what `train` does with the graph network.
class trainer {
public:
    trainer(const device_tasks& on, std::size_t shots, const training_plan& plan, examples::executor& threads)
        : on_(&on), shots_(shots), plan_(&plan), threads_(&threads) {
        loss_.config = on.tlp;
    }

    [[nodiscard]] const speed_loss& loss() const { return loss_; }
    [[nodiscard]] model random(std::uint64_t seed) const { return model::random_init(loss_.config, augur::random_engine(seed)); }

    /// Epochs on the samples of all tasks.   @param first  number of the first epoch
    std::size_t pretrain(model& net, nn::adam<model>& optimiser, std::size_t first) const {
        std::vector<std::pair<std::size_t, std::size_t>> all; // task and sample
        for (std::size_t t = 0; t < on_->train.size(); ++t)
            for (std::size_t i = 0; i < on_->train[t].samples.seconds.size(); ++i) all.emplace_back(t, i);
        speed_loss::activation<float> kept;
        model gradient = model::zeros(loss_.config);
        std::size_t steps = 0;
        for (std::size_t epoch = first; epoch < first + plan_->epochs && !examples::stop_requested(); ++epoch) {
            augur::random_engine rng = augur::random_engine(plan_->seed).stream(epoch);
            auto order = all;
            rng.shuffle(std::span(order));
            for (std::size_t at = 0; at < order.size(); at += plan_->batch, ++steps) {
                schedules batch = none();
                for (std::size_t i = at; i < (std::min)(at + plan_->batch, order.size()); ++i) {
                    const auto& samples = on_->train[order[i].first].samples;
                    add(batch, samples, order[i].second, samples.least());
                }
                nn::set_zero(gradient);
                loss_(net, batch, kept, gradient);
                optimiser.step(net, gradient);
            }
        }
        return steps;
    }
    /// Labels are relative to the best of the support.
    void meta_train(model& net, std::size_t steps, nn::meta_gradient how) const {
        auto inner = plan_->inner;
        inner.gradient = how;
        maml meta(loss_, inner);
        auto optimiser = optimiser_of(net, plan_->learning_rate);
        model gradient = model::zeros(loss_.config);
        for (std::size_t step = 0; step < steps && !examples::stop_requested(); ++step) {
            augur::random_engine rng = augur::random_engine(plan_->seed).stream(1000 + step);
            std::vector<maml::task> tasks(plan_->meta_tasks, {none(), none()});
            for (maml::task& task : tasks) {
                const auto& samples = on_->train[rng.below(on_->train.size())].samples;
                std::vector<std::size_t> order(samples.seconds.size());
                std::iota(order.begin(), order.end(), std::size_t{0});
                rng.shuffle(std::span(order));
                order.resize((std::min)(order.size(), shots_ + plan_->queries));
                double least = samples.seconds[order[0]];
                for (std::size_t i = 1; i < shots_; ++i) least = (std::min)(least, samples.seconds[order[i]]);
                for (std::size_t i = 0; i < order.size(); ++i) add(i < shots_ ? task.support : task.query, samples, order[i], least);
            }
            meta.gradient(net, tasks, *threads_, gradient);
            model::visit([&](auto&&, auto& g) { g /= static_cast<float>(tasks.size()); }, gradient);
            optimiser.step(net, gradient);
        }
    }
    [[nodiscard]] schedules none() const { return {tlp::deduplicated_batch(on_->features), {}}; }

private:
    const device_tasks* on_;
    std::size_t shots_;
    const training_plan* plan_;
    examples::executor* threads_;
    speed_loss loss_;
};

/// Draw number `seed` of the points of a task: adapts to some, predicts the others.
scores adapt(start from, model net, const trainer& by, const table_task& task, std::uint64_t seed, const adaptation& how) {
    const auto [support, query] = examples::draw_points(task.samples, how.shots, seed);
    const double least = support.least();
    double mean = 0;
    for (const double s : support.seconds) mean += least / s / static_cast<double>(how.shots);
    if (from == start::constant_high || from == start::constant_mean)
        return examples::judge_speeds(std::vector<double>(query.seconds.size(), from == start::constant_high ? 1.0 : mean), task.least / least, query,
                                      task.least);
    if (from == start::random) net = by.random(seed + 1000);
    schedules known = by.none(), others = by.none();
    for (std::size_t i = 0; i < support.seconds.size(); ++i) add(known, support, i, least);
    for (std::size_t i = 0; i < query.seconds.size(); ++i) add(others, query, i, least);
    maml(by.loss(), {how.fine_tuning.inner_rate, how.fine_tuning.inner_steps}).adapt(net, known);
    auto optimiser = optimiser_of(net, how.fine_tuning.learning_rate);
    speed_loss::activation<float> kept;
    model gradient = model::zeros(by.loss().config);
    for (std::size_t s = 0; s < how.fine_tuning.steps; ++s) {
        nn::set_zero(gradient);
        by.loss()(net, known, kept, gradient);
        optimiser.step(net, gradient);
    }
    std::vector<float> predicted(others.speeds.size());
    augur::serial_executor serial;
    kept.pass.forward(net, others.rows, serial, std::span<float>(predicted));
    return examples::judge_speeds(std::vector<double>(predicted.begin(), predicted.end()), task.least / least, query, task.least);
}

} // namespace

augur::result<adapted_rows> adapt_all_tlp(const device_tasks& on, const training_plan& plan, const adaptation& how, examples::executor& threads) {
    const trainer by(on, how.shots, plan, threads);
    std::vector<model> nets(start_names.size(), by.random(plan.seed));
    const auto net_of = [&](start s) -> model& { return nets[static_cast<std::size_t>(s)]; };
    model begun = net_of(start::random);
    auto optimiser = optimiser_of(begun, plan.learning_rate);
    const std::size_t steps = by.pretrain(begun, optimiser, 0);
    net_of(start::pretrained) = begun;
    by.pretrain(net_of(start::pretrained), optimiser, plan.epochs);
    for (const auto& [to, gradient] :
         {std::pair{start::first_order, nn::meta_gradient::first_order}, std::pair{start::second_order, nn::meta_gradient::second_order},
          std::pair{start::reptile, nn::meta_gradient::reptile}}) {
        net_of(to) = begun;
        by.meta_train(net_of(to), steps, gradient);
    }
    if (examples::stop_requested()) return augur::error{augur::errc::interrupted, "stopped before the tables were whole"};
    for (const model& net : nets)
        if (const auto bad = net.not_finite(); !bad.empty())
            return augur::error{augur::errc::limit, "TLP: expected finite parameters, '" + bad + "' is not: lower the learning rates"};
    return adapted_by(on, [&](start from, const std::vector<table_task>& tasks, std::size_t adam_steps) -> augur::result<std::vector<scores>> {
        adaptation with = how;
        with.fine_tuning.steps = adam_steps;
        std::vector<scores> all(tasks.size() * how.seeds);
        threads.bulk(all.size(), [&](std::size_t i) {
            if (!examples::stop_requested()) all[i] = adapt(from, net_of(from), by, tasks[i / how.seeds], 1 + i % how.seeds, with);
        });
        std::vector<scores> out;
        for (std::size_t t = 0; t < tasks.size(); ++t)
            out.push_back(
                mean_of({all.begin() + static_cast<std::ptrdiff_t>(t * how.seeds), all.begin() + static_cast<std::ptrdiff_t>((t + 1) * how.seeds)}));
        return out;
    });
}

} // namespace metatune_tables
