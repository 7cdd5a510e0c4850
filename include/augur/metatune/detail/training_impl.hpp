// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_DETAIL_TRAINING_IMPL_HPP
#define AUGUR_METATUNE_DETAIL_TRAINING_IMPL_HPP

/// @file
/// Definitions of metatune/training.hpp.

#include <augur/metatune/training.hpp>

namespace augur::inline v0 {
namespace metatune {

namespace detail {

/// Is a learning rate or a weight sound?
[[nodiscard]] inline bool above_zero(double x) { return x > 0 && std::isfinite(x); }
[[nodiscard]] inline bool not_below_zero(double x) { return x >= 0 && std::isfinite(x); }

[[nodiscard]] inline result<void> check_all(std::span<const task_samples> tasks, const config& c) {
    for (std::size_t t = 0; t < tasks.size(); ++t)
        if (auto sound = tasks[t].check(c); !sound) return error{sound.error().code, sound.error().detail + " of task " + std::to_string(t)};
    return {};
}

template <class M>
[[nodiscard]] nn::adam<M> plain_adam(const M& like, double learning_rate) {
    typename nn::adam<M>::options o;
    o.learning_rate = learning_rate;
    o.weight_decay = 0;
    return nn::adam<M>(like, o);
}

/// Parts of a network that a training changes.
inline constexpr auto whole_network = [](network<float>& net) -> network<float>& { return net; };
inline constexpr auto head_only = [](network<float>& net) -> nn::mlp<float>& { return net.head; };

/// Steps of Adam along the meta-gradient until `steps`; `part` selects what they change.
/// @param draw   `draw(step) -> std::span<const nn::meta_task<L::batch>>`
/// @param scale  of the sum of the losses, in the reports
template <class L, class Part, class Draw, bulk_executor Executor, class Progress>
result<training_report> descend(const L& loss, training_state& state, const Part& part, double learning_rate, nn::maml_options inner,
                                std::size_t steps, double scale, const Draw& draw, Executor& executor, Progress&& progress) {
    auto& theta = part(state.net);
    auto gradient = theta;
    auto optimiser = plain_adam(theta, learning_rate);
    optimiser.restore(std::move(part(state.first)), std::move(part(state.second)), state.steps);
    nn::maml<float, L> meta(loss, inner);
    training_report report;
    bool sound = true;
    while (optimiser.steps() < steps && !report.stopped) {
        const float sum = meta.gradient(theta, draw(optimiser.steps()), executor, gradient);
        sound = std::isfinite(sum);
        if (!sound) break;
        optimiser.step(theta, gradient);
        report.last_loss = scale * static_cast<double>(sum);
        if (report.steps++ == 0) report.first_loss = report.last_loss;
        report.stopped = !progress(training_progress{optimiser.steps(), steps, report.last_loss}) && optimiser.steps() < steps;
    }
    part(state.first) = optimiser.first();
    part(state.second) = optimiser.second();
    state.steps = optimiser.steps();
    if (sound && state.net.not_finite().empty()) return report;
    return error{errc::limit, "metatune: expected a finite loss and parameters, they are not after step " + std::to_string(state.steps) +
                                  ": lower the learning rate"};
}

/// Swaps a random sample of `count` items to the front.   pre: count <= items.size()
inline void draw_front(std::span<std::size_t> items, std::size_t count, random_engine& rng) {
    for (std::size_t i = 0; i < count; ++i) std::swap(items[i], items[i + static_cast<std::size_t>(rng.below(items.size() - i))]);
}

/// Draws meta-tasks: the same for the same options and step.
class meta_task_sampler {
public:
    meta_task_sampler(std::span<const task_samples> tasks, const meta_training_options& options) : tasks_(tasks), options_(&options) {
        for (std::size_t t = 0; t < tasks.size(); ++t)
            if (tasks[t].candidates.size() >= options.shots + options.queries) eligible_.push_back(t);
    }
    [[nodiscard]] std::size_t eligible() const { return eligible_.size(); }

    /// Calls take(meta-task, of the query, task, candidate, unit) for each sample of a step. The unit is the least latency of the support, all that a
    /// search knows of its task; without a success there, that of the task.
    template <class Take>
    void draw(std::size_t step, const Take& take) {
        const random_engine of_step = random_engine(options_->seed).stream(step);
        for (std::size_t m = 0; m < options_->batch; ++m) {
            random_engine rng = of_step.stream(m);
            ways_ = eligible_;
            draw_front(ways_, options_->ways, rng);
            const std::size_t shots = m < options_->cold ? 0 : options_->shots;
            for (std::size_t w = 0; w < options_->ways; ++w) {
                order_.resize(tasks_[ways_[w]].candidates.size());
                std::iota(order_.begin(), order_.end(), std::size_t{0});
                draw_front(order_, shots + options_->queries, rng);
                const task_samples& task = tasks_[ways_[w]];
                double unit = std::numeric_limits<double>::infinity();
                for (std::size_t i = 0; i < shots; ++i) unit = (std::min)(unit, task.seconds[order_[i]]);
                if (!std::isfinite(unit)) unit = task.least();
                for (std::size_t i = 0; i < shots + options_->queries; ++i) take(m, i >= shots, ways_[w], order_[i], unit);
            }
        }
    }

private:
    std::span<const task_samples> tasks_;
    const meta_training_options* options_;
    std::vector<std::size_t> eligible_, ways_, order_;
};

} // namespace detail

inline result<void> pretraining_options::check() const {
    const auto wrong = [](const std::string& what) { return error{errc::invalid_argument, "metatune pre-training: expected " + what}; };
    if (epochs < 1 || batch < 1) return wrong("at least 1 epoch and a batch of 1, got " + std::to_string(epochs) + " and " + std::to_string(batch));
    if (!detail::above_zero(learning_rate) || !detail::not_below_zero(validity_weight))
        return wrong("a learning rate above 0 and a weight of at least 0, got " + std::to_string(learning_rate) + " and " +
                     std::to_string(validity_weight));
    return {};
}

inline result<void> meta_training_options::check() const {
    const auto wrong = [](const std::string& what) { return error{errc::invalid_argument, "metatune meta-training: expected " + what}; };
    if (ways < 1 || shots < 1 || queries < 1 || batch < 1 || steps < 1 || ways > 65536 || shots > 65536 || queries > 65536 || batch > 65536)
        return wrong("1 to 65536 ways, shots, queries and meta-tasks and at least 1 step, got " + std::to_string(ways) + ", " +
                     std::to_string(shots) + ", " + std::to_string(queries) + ", " + std::to_string(batch) + " and " + std::to_string(steps));
    if (cold > batch)
        return wrong("at most as many meta-tasks without support as meta-tasks, got " + std::to_string(cold) + " of " + std::to_string(batch));
    if (!detail::above_zero(inner.inner_rate) || !detail::above_zero(learning_rate) || !detail::not_below_zero(validity_weight))
        return wrong("learning rates above 0 and a weight of at least 0, got " + std::to_string(inner.inner_rate) + ", " +
                     std::to_string(learning_rate) + " and " + std::to_string(validity_weight));
    return {};
}

template <bulk_executor Executor, class Progress>
result<training_report> pretrain(training_state& state, std::span<const task_samples> tasks, Executor& executor, const pretraining_options& options,
                                 Progress&& progress) {
    const config& shape = state.net.config;
    if (auto sound = options.check(); !sound) return sound.error();
    if (auto sound = detail::check_all(tasks, shape); !sound) return sound.error();
    struct place {
        std::size_t task, candidate;
    };
    std::vector<place> all;
    std::vector<double> least;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        least.push_back(tasks[t].least());
        for (std::size_t i = 0; i < tasks[t].candidates.size(); ++i) all.push_back({t, i});
    }
    if (all.empty()) return error{errc::invalid_argument, "metatune pre-training: expected a candidate, got none"};

    // a batch is cut into parts for the threads; their shares make the sum of their losses the loss of the batch
    constexpr std::size_t most_of_part = 8;
    const std::size_t steps_of_epoch = (all.size() + options.batch - 1) / options.batch;
    std::vector<nn::meta_task<graph_samples>> parts;
    std::vector<place> order;
    std::size_t epoch_of_order = options.epochs; // none
    const auto draw = [&](std::size_t step) {
        if (step / steps_of_epoch != epoch_of_order) {
            epoch_of_order = step / steps_of_epoch;
            order = all;
            random_engine(options.seed).stream(epoch_of_order).shuffle(std::span(order));
        }
        const std::size_t first = step % steps_of_epoch * options.batch;
        const auto batch = std::span<const place>(order).subspan(first, (std::min)(options.batch, order.size() - first));
        const std::size_t used = (batch.size() + most_of_part - 1) / most_of_part;
        while (parts.size() < used) parts.push_back({{candidate_graphs(shape), {}}, {candidate_graphs(shape), {}}});
        const auto valid_of = [](const targets& t) { return static_cast<double>(std::count(t.valid.begin(), t.valid.end(), 1)); };
        double valid = 0;
        for (std::size_t p = 0; p < used; ++p) {
            graph_samples& part = parts[p].query;
            part.candidates.clear();
            part.wanted.clear();
            for (std::size_t i = p * most_of_part; i < (std::min)(batch.size(), (p + 1) * most_of_part); ++i) {
                const task_samples& from = tasks[batch[i].task];
                [[maybe_unused]] const auto added = part.candidates.add(from.candidates[batch[i].candidate]);
                AUGUR_ASSERT(added, "metatune: a candidate that was not checked");
                detail::add_target(part.wanted, least[batch[i].task], from.seconds[batch[i].candidate]);
            }
            valid += valid_of(part.wanted);
        }
        for (std::size_t p = 0; p < used; ++p) {
            targets& wanted = parts[p].query.wanted;
            wanted.speed_share = valid_of(wanted) / (std::max)(valid, 1.0);
            wanted.valid_share = options.validity_weight * static_cast<double>(wanted.valid.size()) / static_cast<double>(batch.size());
        }
        return std::span<const nn::meta_task<graph_samples>>(parts).first(used);
    };
    return detail::descend(network_loss{shape}, state, detail::whole_network, options.learning_rate, {0, 0, nn::meta_gradient::first_order},
                           options.epochs * steps_of_epoch, 1, draw, executor, progress);
}

template <bulk_executor Executor, class Progress>
result<training_report> meta_train(training_state& state, std::span<const task_samples> tasks, Executor& executor,
                                   const meta_training_options& options, Progress&& progress) {
    const config& shape = state.net.config;
    if (auto sound = options.check(); !sound) return sound.error();
    if (auto sound = detail::check_all(tasks, shape); !sound) return sound.error();
    detail::meta_task_sampler sampler(tasks, options);
    if (sampler.eligible() < options.ways)
        return error{errc::invalid_argument, "metatune meta-training: expected " + std::to_string(options.ways) + " tasks of at least " +
                                                 std::to_string(options.shots + options.queries) + " candidates, got " +
                                                 std::to_string(sampler.eligible())};
    const double scale = 1 / static_cast<double>(options.batch);
    const auto teach = [&](targets& to, std::size_t task, std::size_t candidate, double unit) {
        to.valid_share = options.validity_weight;
        detail::add_target(to, unit, tasks[task].seconds[candidate]);
    };

    if (!options.frozen) {
        std::vector<nn::meta_task<graph_samples>> drawn(options.batch, {{candidate_graphs(shape), {}}, {candidate_graphs(shape), {}}});
        const auto draw = [&](std::size_t step) {
            for (auto& d : drawn)
                for (graph_samples* to : {&d.support, &d.query}) {
                    to->candidates.clear();
                    to->wanted.clear();
                }
            sampler.draw(step, [&](std::size_t m, bool query, std::size_t task, std::size_t candidate, double unit) {
                graph_samples& to = query ? drawn[m].query : drawn[m].support;
                [[maybe_unused]] const auto added = to.candidates.add(tasks[task].candidates[candidate]);
                AUGUR_ASSERT(added, "metatune: a candidate that was not checked");
                teach(to.wanted, task, candidate, unit);
            });
            return std::span<const nn::meta_task<graph_samples>>(drawn);
        };
        return detail::descend(network_loss{shape}, state, detail::whole_network, options.learning_rate, options.inner, options.steps, scale, draw,
                               executor, progress);
    }

    std::vector<nn::matrix<float>> embeddings(tasks.size());
    executor.bulk(tasks.size(), [&](std::size_t t) { embeddings[t] = detail::embeddings_of(state.net, tasks[t].candidates); });
    std::vector<nn::meta_task<embedded_samples>> drawn(options.batch);
    for (std::size_t m = 0; m < drawn.size(); ++m) {
        const std::size_t shots = m < options.cold ? 0 : options.shots;
        drawn[m].support.embeddings.resize(static_cast<nn::index>(options.ways * shots), shape.embedding());
        drawn[m].query.embeddings.resize(static_cast<nn::index>(options.ways * options.queries), shape.embedding());
    }
    const auto draw = [&](std::size_t step) {
        for (auto& d : drawn)
            for (embedded_samples* to : {&d.support, &d.query}) to->wanted.clear();
        sampler.draw(step, [&](std::size_t m, bool query, std::size_t task, std::size_t candidate, double unit) {
            embedded_samples& to = query ? drawn[m].query : drawn[m].support;
            to.embeddings.row(static_cast<nn::index>(to.wanted.valid.size())) = embeddings[task].row(static_cast<nn::index>(candidate));
            teach(to.wanted, task, candidate, unit);
        });
        return std::span<const nn::meta_task<embedded_samples>>(drawn);
    };
    return detail::descend(head_loss{shape}, state, detail::head_only, options.learning_rate, options.inner, options.steps, scale, draw, executor,
                           progress);
}

} // namespace metatune
} // namespace augur::inline v0

#endif
