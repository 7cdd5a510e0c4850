// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorded.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include <augur/core/steady_seconds.hpp>
#include <augur/tune/tuner.hpp>

namespace examples {

using augur::configuration;
using augur::tuning_archive;

augur::result<recording> make_recording(std::string name, tuning_archive archive) {
    auto space = augur::recorded_space::build(archive.records, &augur::measured_configuration::point);
    if (!space) return space.error();
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

search_curve run_recorded(const recording& on, recorded_strategy strategy, recorded_model model, const augur::tuning_options& options,
                          augur::t4_results* trials) {
    augur::replay_runner runner = on.runner;
    const std::span<const tuning_archive> tasks(&on.archive, 1);
    const std::span<const augur::recorded_space> spaces(&on.space, 1);
    const std::span<recorded_strategy> strategies(&strategy, 1);
    search_curve out;
    augur::tuning_hooks<configuration, tuning_archive> hooks;
    double expecting = 0; // no part of a search, so its seconds do not count, and no progress is asked for, which would ask as well
    const auto expect = [&](const tuning_archive& t, const configuration& c, double seconds) {
        const double least = model.learned() > 0 ? out.best[model.learned() - 1] : std::numeric_limits<double>::infinity();
        if (!model.predicts() || !std::isfinite(least)) return;
        const double begin = augur::steady_seconds();
        float speed = 0;
        if (model.speeds(t, {&c, 1}, {&speed, 1}) && std::isfinite(speed)) out.expected.push_back({seconds, static_cast<double>(speed), least});
        expecting += augur::steady_seconds() - begin;
    };
    hooks.sink = [&](const tuning_archive& t, const configuration& c, const augur::measurement& m) -> augur::result<void> {
        expect(t, c, m.latency());
        out.best.push_back((std::min)(out.best.empty() ? std::numeric_limits<double>::infinity() : out.best.back(), m.latency()));
        out.seconds.push_back(runner.seconds());
        return trials != nullptr ? (*trials)(t, c, m) : augur::result<void>();
    };
    hooks.clock = runner.clock();
    augur::tuner tuner(tasks, spaces, strategies, model, options);
    const double begin = augur::steady_seconds();
    if (auto done = tuner.run(runner, hooks); !done) out.failed = done.error();
    else if (done->model_errors > 0) out.failed = augur::error{augur::errc::io, "the model: " + done->first_model_error};
    out.proposing = augur::steady_seconds() - begin - expecting;
    return out;
}

parameter_columns::parameter_columns(const tuning_archive& a) : texts(a.records.front().point.parameters.size()) {
    for (const auto& r : a.records) add(r.point);
}

void parameter_columns::add(const configuration& c) {
    for (std::size_t i = 0; i < (std::min)(texts.size(), c.parameters.size()); ++i) {
        const auto* const text = std::get_if<std::string>(&c.parameters[i].value);
        if (text == nullptr || !texts[i].emplace(*text, 0.0F).second) continue;
        float rank = 0;
        for (auto& entry : texts[i]) entry.second = rank++;
    }
}

augur::result<void> parameter_columns::operator()(const tuning_archive&, const configuration& c, std::span<float> row) const {
    if (c.parameters.size() != row.size())
        return augur::error{augur::errc::shape_mismatch,
                            "expected " + std::to_string(row.size()) + " parameters, got " + std::to_string(c.parameters.size())};
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto& value = c.parameters[i].value;
        if (const auto* integer = std::get_if<std::int64_t>(&value)) row[i] = static_cast<float>(*integer);
        else if (const auto* real = std::get_if<double>(&value)) row[i] = static_cast<float>(*real);
        else if (const auto rank = texts[i].find(std::get<std::string>(value)); rank != texts[i].end()) row[i] = rank->second;
        else
            return augur::error{augur::errc::not_found,
                                "expected a recorded value of '" + c.parameters[i].name + "', got '" + augur::to_string(value) + "'"};
    }
    return {};
}

} // namespace examples
