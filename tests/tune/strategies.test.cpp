// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Annealing and descent under the tuner: its log, its resumption, its determinism.
#include <augur/search/annealing.hpp>
#include <augur/search/descent.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/io/tuning_archive.hpp>
#include <augur/search/random.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/replay_runner.hpp>
#include <augur/tune/tuner.hpp>
#include <augur/tune/tuning_log.hpp>

#include "../record/logs.hpp"
#include "../search/landscapes.hpp"
#include "../search/threads.hpp"

namespace strategies_test {

using augur::configuration;
using augur::measurement;

namespace {

using task = augur::tuning_archive;

measurement measure_product(const task& t, const configuration& c) {
    measurement m;
    const double seconds = toy::product_latency(c, t.workload.size());
    m.status = std::isfinite(seconds) ? augur::outcome::ok : augur::outcome::run_crash;
    if (m.status == augur::outcome::ok) m.seconds = {seconds};
    return m;
}

/// Learns the mean log latency of each value of each parameter.
struct table_model {
    static constexpr augur::score_meaning meaning = augur::score_meaning::negative_log_latency;
    std::map<std::pair<std::string, std::string>, std::pair<double, double>> table;

    augur::result<void> score(const task&, std::span<const configuration> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            double sum = 0;
            for (const auto& p : batch[i].parameters)
                if (const auto at = table.find({p.name, augur::to_string(p.value)}); at != table.end()) sum -= at->second.first / at->second.second;
            scores[i] = static_cast<float>(sum);
        }
        return {};
    }
    augur::result<void> update(std::span<const augur::observation<configuration, task>> records) {
        table.clear();
        for (const auto& r : records)
            for (const auto& p : r.schedule->parameters) {
                auto& [sum, count] = table[{p.name, augur::to_string(p.value)}];
                sum += 7 + std::log(r.outcome->ok() ? r.outcome->latency() : 1e-2); // so a value that was never tried is a good one
                count += 1;
            }
        return {};
    }
};

augur::annealing_options few() {
    augur::annealing_options o;
    o.walkers = 16;
    o.iterations = 30;
    return o;
}
struct annealing : augur::simulated_annealing<> {
    annealing() : simulated_annealing(few()) {}
};
struct polished : augur::then_descend<annealing> {
    polished() : then_descend(annealing(), 30) {}
};

const std::vector<task>& tasks() {
    static const std::vector<task> both = [] {
        std::vector<task> out(2);
        out[0].workload = "product 64";
        out[1].workload = "product 4096";
        return out;
    }();
    return both;
}
const std::vector<augur::recorded_space>& spaces() {
    static const std::vector<augur::recorded_space> both(2, *augur::recorded_space::build(toy::product_records()));
    return both;
}

using trial_list = std::vector<std::pair<std::size_t, std::string>>;

augur::tuning_options budget(std::size_t trials) {
    augur::tuning_options o;
    o.trials = trials;
    o.round = 7;
    o.batch = 3;
    o.seed = 5;
    return o;
}

template <class Tuner>
trial_list list_of(const Tuner& t) {
    trial_list out;
    for (const auto& x : t.trials()) out.emplace_back(x.task, augur::to_string(x.schedule));
    return out;
}

} // namespace

TEST_CASE_TEMPLATE("strategies: killed after any prefix of the log and resumed from the file, the tuner ends with the same trials", T, annealing,
                   augur::coordinate_descent, polished) {
    const augur::toolchain here(augur::machine_identity{}, "");
    const logs::folder tmp;
    const auto path = tmp / "log.jsonl";
    trial_list whole;
    for (const std::size_t cut : {100U, 0U, 1U, 13U, 30U, 59U, 60U, 61U, 88U, 99U}) {
        CAPTURE(cut);
        std::filesystem::remove(path);
        for (const bool resumed : {false, true}) {
            std::vector<T> strategies(2);
            table_model model;
            augur::function_runner runner(measure_product);
            auto log = augur::open_tuning_log<configuration>(path, tasks(), here);
            REQUIRE(log);
            augur::tuner t(tasks(), spaces(), strategies, model, budget(50));
            const std::size_t known = log->found.trials.size();
            t.resume(std::move(log->found.trials));
            std::size_t written = 0;
            auto sink = augur::log_sink(log->writer, here);
            const auto counted = [&](const task& of, const configuration& c, const measurement& m) { return ++written, sink(of, c, m); };
            const auto summary = t.run(runner, {.sink = counted, .stop = [&] { return !resumed && written >= cut; }});
            REQUIRE(summary);
            if (!resumed) continue;
            CHECK(known >= cut);
            CHECK(known < cut + 3);
            CHECK(summary->trials == 100);
            CHECK(summary->measured == 100 - known);
            if (whole.empty()) whole = list_of(t);
            CHECK(list_of(t) == whole);
        }
    }
    CHECK(whole.size() == 100);
}

TEST_CASE_TEMPLATE("strategies: records of another run are taken, not measured again, and learnt from", T, annealing, augur::coordinate_descent,
                   polished) {
    std::vector<augur::logged_trial<configuration>> records;
    {
        std::vector<augur::random_search> strategies(2);
        augur::function_runner runner(measure_product);
        augur::tuner t(tasks(), spaces(), strategies, budget(40));
        REQUIRE(t.run(runner));
        for (const auto& x : t.trials()) records.push_back({augur::task_identity(tasks()[x.task]), x.schedule, x.outcome});
    }
    std::vector<T> strategies(2);
    table_model model;
    augur::function_runner runner(measure_product);
    auto options = budget(60);
    options.replay = false;
    augur::tuner t(tasks(), spaces(), strategies, model, options);
    t.resume(records);
    const auto summary = t.run(runner);
    REQUIRE(summary);
    CHECK(summary->recorded == 80);
    CHECK(summary->measured == 40);
    CHECK(summary->repeated == 0); // the strategies know the records
}

TEST_CASE("strategies: given the same measurements, one thread and several propose the same") {
    std::vector<trial_list> found;
    for (const std::size_t n : {1U, 2U, 4U}) {
        toy::threads pool{n};
        std::vector<augur::then_descend<augur::simulated_annealing<toy::threads>>> strategies;
        for (int i = 0; i < 2; ++i) strategies.emplace_back(augur::simulated_annealing(few(), pool), 28);
        table_model model;
        augur::function_runner runner(measure_product);
        augur::tuner t(tasks(), spaces(), strategies, model, pool, budget(50));
        REQUIRE(t.run(runner));
        found.push_back(list_of(t));
    }
    CHECK(found[0].size() == 100);
    CHECK(found[1] == found[0]);
    CHECK(found[2] == found[0]);
}

TEST_CASE_TEMPLATE("strategies: a runner that gives NaN, zero or no time, and a model that gives NaN", T, annealing, augur::coordinate_descent,
                   polished) {
    struct nan_model : table_model {
        augur::result<void> score(const task& t, std::span<const configuration> batch, std::span<float> scores) {
            auto ok = table_model::score(t, batch, scores);
            for (std::size_t i = 0; i < batch.size(); ++i)
                if (std::get<std::int64_t>(batch[i].parameters[3].value) == 5) scores[i] = std::numeric_limits<float>::quiet_NaN();
            return ok;
        }
    };
    std::vector<T> strategies(2);
    nan_model model;
    std::size_t asked = 0;
    augur::function_runner runner([&](const task& t, const configuration& c) {
        auto m = measure_product(t, c);
        if (++asked % 4 == 0) m.status = augur::outcome::ok, m.seconds = {std::nan("")};
        if (asked % 9 == 0) m.status = augur::outcome::ok, m.seconds = {0.0};
        if (asked % 13 == 0) m.status = augur::outcome::ok, m.seconds = {};
        return m;
    });
    augur::tuner t(tasks(), spaces(), strategies, model, budget(50));
    const auto summary = t.run(runner);
    REQUIRE(summary);
    CHECK(summary->trials == 100);
    for (const auto& best : summary->tasks) CHECK((best.best_latency > 1e-3 && best.best_latency < toy::never));
    for (const auto& x : t.trials()) CHECK(std::get<std::int64_t>(x.schedule.parameters[3].value) != 5);
}

TEST_CASE_TEMPLATE("strategies: a space smaller than the budget ends the run, whatever was measured", T, annealing, augur::coordinate_descent,
                   polished) {
    std::vector<configuration> few_points;
    for (std::int64_t i = 0; i < 40; ++i) few_points.push_back({{{"x", i / 5}, {"y", i % 5}}});
    const std::vector<augur::recorded_space> small(2, *augur::recorded_space::build(few_points));
    for (const bool fails : {false, true}) {
        std::vector<T> strategies(2);
        augur::function_runner runner([&](const task&, const configuration&) {
            measurement m;
            m.status = fails ? augur::outcome::run_crash : augur::outcome::ok;
            if (!fails) m.seconds = {1e-3};
            return m;
        });
        augur::tuner t(tasks(), small, strategies, budget(100));
        const auto summary = t.run(runner);
        REQUIRE(summary);
        CHECK(summary->exhausted);
        if (!fails) CHECK(summary->trials == 80); // a task whose trials all fail ends before
    }
}

TEST_CASE("strategies: with a model that learns, both find better points than random search") {
    std::map<std::string, std::size_t> wins;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        augur::function_runner runner([&](const task& t, const configuration& c) {
            measurement m;
            const double seconds = toy::product_latency(c, seed + t.workload.size());
            m.status = std::isfinite(seconds) ? augur::outcome::ok : augur::outcome::run_crash;
            if (m.status == augur::outcome::ok) m.seconds = {seconds};
            return m;
        });
        auto options = budget(70);
        options.seed = seed;
        const auto best = [&](auto strategy) {
            std::vector<decltype(strategy)> strategies(2, strategy);
            table_model model;
            augur::tuner t(tasks(), spaces(), strategies, model, options);
            const auto summary = t.run(runner);
            REQUIRE(summary);
            return summary->tasks[0].best_latency + summary->tasks[1].best_latency;
        };
        const double random = best(augur::random_search());
        wins["annealing"] += best(annealing()) < random ? 1U : 0U;
        wins["descent"] += best(augur::coordinate_descent()) < random ? 1U : 0U;
        wins["annealing, then descent"] += best(polished()) < random ? 1U : 0U;
    }
    for (const auto& won : wins) {
        CAPTURE(won.first);
        CHECK(won.second >= 18); // by chance 18 of 24: p < 0.012
    }
}

} // namespace strategies_test
