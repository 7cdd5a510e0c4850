// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <variant>

#include <augur/search/bayes/bayesian_search.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/tune/tuner.hpp>
#ifdef AUGUR_HAS_XGBOOST
#include <augur/xgboost/trees_online.hpp>
#endif

namespace {

using augur::configuration;
using augur::tuning_archive;

/// One column per parameter: a number is itself, a text its rank among the texts of the parameter.
struct parameter_columns {
    std::vector<std::map<std::string, float>> texts;

    explicit parameter_columns(const tuning_archive& a) : texts(a.records.front().point.parameters.size()) {
        for (const auto& r : a.records)
            for (std::size_t i = 0; i < texts.size(); ++i)
                if (const auto* text = std::get_if<std::string>(&r.point.parameters[i].value)) texts[i].emplace(*text, 0.0F);
        for (auto& column : texts) {
            float rank = 0;
            for (auto& entry : column) entry.second = rank++;
        }
    }
    [[nodiscard]] std::size_t columns() const { return texts.size(); }
    augur::result<void> operator()(const tuning_archive&, const configuration& c, std::span<float> row) const {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto& value = c.parameters[i].value;
            if (const auto* integer = std::get_if<std::int64_t>(&value)) row[i] = static_cast<float>(*integer);
            else if (const auto* real = std::get_if<double>(&value)) row[i] = static_cast<float>(*real);
            else row[i] = texts[i].at(std::get<std::string>(value));
        }
        return {};
    }
};

template <class Strategy, class Model>
search_curve run_tuner(const recording& on, Strategy strategy, Model& model, const search_options& options, std::uint64_t seed,
                       augur::t4_results* trials) {
    augur::tuning_options o;
    o.trials = options.trials;
    o.round = options.round;
    o.seed = seed;
    augur::replay_runner runner = on.runner;
    const std::span<const tuning_archive> tasks(&on.archive, 1);
    const std::span<const augur::recorded_space> spaces(&on.space, 1);
    const std::span<Strategy> strategies(&strategy, 1);
    search_curve out;
    augur::tuning_hooks<configuration, tuning_archive> hooks;
    hooks.progress = [&](const augur::tuning_progress& p) {
        out.best.push_back(p.best_latency);
        out.seconds.push_back(p.seconds);
    };
    hooks.clock = runner.clock();
    if (trials != nullptr) hooks.sink = std::ref(*trials);
    const auto run = [&](auto& tuner) {
        if (auto done = tuner.run(runner, hooks); !done) out.failed = done.error();
        else if (done->model_errors > 0) out.failed = augur::error{augur::errc::io, "the model: " + done->first_model_error};
    };
    if constexpr (std::same_as<Model, augur::no_model>) {
        augur::tuner t(tasks, spaces, strategies, o);
        run(t);
    } else {
        augur::tuner t(tasks, spaces, strategies, model, o);
        run(t);
    }
    return out;
}

} // namespace

std::vector<std::string> search_names() {
#ifdef AUGUR_HAS_XGBOOST
    return {"random", "bayesian", "evolutionary+trees"};
#else
    return {"random", "bayesian"};
#endif
}

augur::result<recording> make_recording(const std::string& path, tuning_archive archive) {
    auto space = augur::recorded_space::build(archive.records, &augur::measured_configuration::point);
    if (!space) return space.error();
    std::string name = path + ": " + archive.workload + (archive.device.empty() ? "" : " on " + archive.device);
    recording out{std::move(archive), *std::move(space), std::move(name), {}};
    const std::string identity = augur::task_identity(out.archive);
    for (const auto& r : out.archive.records) out.runner.add(identity, r.point, r.measured);
    augur::replay_runner all = out.runner;
    for (std::size_t i = 0; i < out.space.size(); ++i) {
        const configuration c = *out.space.realise(out.space.point(i));
        out.optimum = (std::min)(out.optimum, all.measure(out.archive, std::span<const configuration>(&c, 1)).front().latency());
    }
    out.seconds = all.seconds();
    if (out.optimum == std::numeric_limits<double>::infinity())
        return augur::error{augur::errc::not_found, "expected a configuration that succeeded, all " + std::to_string(out.space.size()) + " failed"};
    return out;
}

double search_curve::share(double optimum, std::size_t trials) const {
    if (best.empty() || trials == 0) return 0;
    return optimum / best[(std::min)(trials, best.size()) - 1]; // 0 where the latency is infinity
}

double search_curve::trials_to(double optimum, double wanted) const {
    for (std::size_t i = 0; i < best.size(); ++i)
        if (optimum / best[i] >= wanted) return static_cast<double>(i + 1);
    return std::numeric_limits<double>::infinity();
}

search_curve run_search(const recording& on, std::string_view name, const search_options& options, std::uint64_t seed, augur::t4_results* trials) {
#ifdef AUGUR_HAS_XGBOOST
    if (name == "evolutionary+trees") {
        augur::evolutionary_options o;
        o.population = 256;
        auto trees = augur::few_sample_trees();
        trees.seed = seed;
        trees.column_share = 0.8; // few columns, each of which matters
        augur::trees_online<configuration, tuning_archive, parameter_columns> model(parameter_columns(on.archive), trees);
        return run_tuner(on, augur::evolutionary<>(o), model, options, seed, trials);
    }
#endif
    augur::no_model none;
    if (name == "bayesian") return run_tuner(on, augur::bayesian_search<>{}, none, options, seed, trials);
    return run_tuner(on, augur::random_search{}, none, options, seed, trials);
}
