// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's training: what meta-training is for, the bits on one and two threads and after an interruption, failures, bad input.
#include <augur/metatune/fine_tuning.hpp>
#include <augur/metatune/training.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../nn/same_parameters.hpp"
#include "../search/threads.hpp"
#include "data.hpp"

namespace mt = augur::metatune;
namespace nn = augur::nn;

namespace {

constexpr double failed = std::numeric_limits<double>::infinity();
const auto go_on = [](const mt::training_progress&) { return true; };

mt::config small_config(nn::index outputs) {
    mt::config c;
    c.features = 3;
    c.convolutions = {24, 16};
    c.head = {32, 32};
    c.outputs = outputs;
    return c;
}

/// Two loops whose best sizes differ from task to task: the logarithm of the latency is the squared distance from them. Of 100 candidates, `failures`
/// fail, those with the largest first size.
mt::task_samples bowl(int count, double failures, augur::random_engine& rng) {
    const double best[] = {rng.uniform(-1, 1), rng.uniform(-1, 1)};
    mt::task_samples task;
    for (int i = 0; i < count; ++i) {
        auto loops = metatune_data::random_loops(2, 3, rng, 1'000'000'000);
        double squares = 0;
        for (nn::index s = 0; s < 2; ++s) {
            loops.features(s, 1) = s == 0 ? 1 : 0;
            loops.features(s, 2) = s == 1 ? 1 : 0;
            squares += std::pow(static_cast<double>(loops.features(s, 0)) - best[s], 2);
        }
        const bool broken = loops.features(0, 0) > 1 - 2 * failures / 100;
        task.seconds.push_back(broken ? failed : 1e-3 * std::exp(squares));
        task.candidates.push_back(std::move(loops));
    }
    return task;
}

std::vector<mt::task_samples> bowls(int tasks, int count, double failures, std::uint64_t seed) {
    augur::random_engine rng(seed);
    std::vector<mt::task_samples> all;
    for (int t = 0; t < tasks; ++t) all.push_back(bowl(count, failures, rng));
    return all;
}

mt::task_samples part_of(const mt::task_samples& task, std::size_t first, std::size_t last) {
    mt::task_samples part;
    for (std::size_t i = first; i < last; ++i) {
        part.candidates.push_back(task.candidates[i]);
        part.seconds.push_back(task.seconds[i]);
    }
    return part;
}

nn::matrix<float> predictions(const mt::network<float>& net, const mt::task_samples& task) {
    mt::candidate_graphs graphs(net.config);
    for (const auto& one : task.candidates) REQUIRE(graphs.add(one));
    mt::network_activation<float> kept;
    nn::matrix<float> y(graphs.size(), net.config.outputs);
    net.forward(graphs, kept, y);
    return y;
}

/// Mean squared error of the speeds relative to `least`.
double speed_error(const mt::network<float>& net, const mt::task_samples& task, double least) {
    const auto y = predictions(net, task);
    double sum = 0;
    for (nn::index i = 0; i < y.rows(); ++i)
        sum += std::pow(static_cast<double>(y(i, 0)) - least / task.seconds[static_cast<std::size_t>(i)], 2) / static_cast<double>(y.rows());
    return sum;
}

mt::pretraining_options short_pretraining() {
    mt::pretraining_options o;
    o.epochs = 2;
    o.batch = 30;
    return o;
}
mt::meta_training_options short_meta_training(bool frozen) {
    mt::meta_training_options o;
    o.frozen = frozen;
    o.ways = 2;
    o.shots = 3;
    o.queries = 4;
    o.batch = 5;
    o.cold = 1;
    o.steps = 6;
    return o;
}

} // namespace

TEST_CASE("metatune training: meta-trained weights adapt to unseen tasks better than random and pre-trained ones") {
    const auto seen = bowls(64, 60, 0, 7), unseen = bowls(40, 120, 0, 8);
    toy::threads threads{2};
    const auto random = mt::network<float>::random_init(small_config(1), augur::random_engine(1));
    mt::training_state pretrained(random);
    mt::pretraining_options first;
    first.epochs = 10;
    const auto report = mt::pretrain(pretrained, seen, threads, first, go_on);
    REQUIRE(report);
    CHECK(report->last_loss < 0.5 * report->first_loss);

    mt::training_state meta(pretrained.net);
    mt::meta_training_options second;
    second.inner = {0.1, 3};
    second.shots = 10;
    second.batch = 16;
    second.steps = 250;
    second.learning_rate = 2e-3;
    second.frozen = false;
    REQUIRE(mt::meta_train(meta, seen, threads, second, go_on));

    mt::fine_tuning_options options;
    options.inner_rate = 0.1;
    options.inner_steps = 3;
    options.steps = 20;
    options.frozen = false;
    for (const std::size_t points : {5U, 20U}) {
        double by_pretrained = 0, by_meta = 0;
        int better_than_random = 0;
        for (const auto& task : unseen) {
            const auto support = part_of(task, 0, points), query = part_of(task, 20, 120);
            const auto error_of = [&](mt::network<float> net) {
                REQUIRE(mt::fine_tune(net, support, options));
                return speed_error(net, query, support.least());
            };
            const double adapted = error_of(meta.net);
            better_than_random += adapted < error_of(random) ? 1 : 0;
            by_meta += adapted;
            by_pretrained += error_of(pretrained.net);
        }
        CAPTURE(points);
        CHECK(better_than_random >= 36);
        // a poor best of 5 makes the labels of better ones large: 0.48 to 0.82 over 4 seeds; with 20 points 0.04 to 0.12
        CHECK(by_meta < (points == 5 ? 0.9 : 0.3) * by_pretrained);
    }
}

TEST_CASE("metatune training: equal bits on one and two threads, and after an interruption") {
    const auto tasks = bowls(6, 20, 20, 3);
    augur::serial_executor one;
    toy::threads two{2};
    const auto start = mt::network<float>::random_init(small_config(2), augur::random_engine(1));
    const auto train = [&](int phase, auto& executor, mt::training_state& state, const auto& progress) {
        if (phase == 0) return mt::pretrain(state, tasks, executor, short_pretraining(), progress);
        return mt::meta_train(state, tasks, executor, short_meta_training(phase == 1), progress);
    };
    for (int phase = 0; phase < 3; ++phase) {
        CAPTURE(phase);
        mt::training_state by_one(start), by_two(start), in_parts(start);
        const auto report = train(phase, one, by_one, go_on);
        REQUIRE(report);
        REQUIRE(train(phase, two, by_two, go_on));
        CHECK(same_parameters(by_one.net, by_two.net));
        CHECK_FALSE(same_parameters(by_one.net, start));
        CHECK(by_one.steps == report->steps);
        CHECK_FALSE(report->stopped);

        std::size_t calls = 0;
        const auto stop_at_each_third = [&](const mt::training_progress& p) {
            CHECK(p.steps == report->steps);
            return ++calls % 3 != 0;
        };
        auto part = train(phase, two, in_parts, stop_at_each_third);
        REQUIRE(part);
        CHECK(part->stopped);
        CHECK(in_parts.steps == 3);
        auto copy = in_parts; // as from a file
        while (copy.steps < report->steps) REQUIRE(train(phase, one, copy, stop_at_each_third));
        CHECK(same_parameters(copy.net, by_one.net));
        CHECK(same_parameters(copy.first, by_one.first));
        CHECK(same_parameters(copy.second, by_one.second));
        const auto nothing = train(phase, one, copy, go_on);
        REQUIRE(nothing);
        CHECK(nothing->steps == 0);
    }
}

TEST_CASE("metatune training: the speeds of a meta-task are relative to the best of its support; without support to that of the task") {
    // Two candidates that look alike, one four times as fast. By turns one is the support and the other the query, whose speed is then 4 or 1/4, and
    // smooth L1 is least where the slopes of both are opposite: at 1/4 + 1. Without support both speeds, 1 and 1/4, are seen as often.
    augur::random_engine rng(4);
    mt::task_samples task = bowl(1, 0, rng);
    task.candidates.push_back(task.candidates.front());
    task.seconds = {1e-3, 4e-3};
    augur::serial_executor serial;
    const auto trained = [&](std::size_t cold) {
        mt::training_state state(mt::network<float>::random_init(small_config(1), augur::random_engine(1)));
        mt::meta_training_options o;
        o.inner.inner_rate = 1e-9; // adaptation changes nothing
        o.shots = o.queries = 1;
        o.batch = 16;
        o.cold = cold;
        o.steps = 400;
        o.learning_rate = 3e-3;
        o.frozen = false;
        REQUIRE(mt::meta_train(state, std::vector{task}, serial, o, go_on));
        return static_cast<double>(predictions(state.net, task)(0, 0));
    };
    CHECK(trained(0) == doctest::Approx(1.25).epsilon(0.1));
    CHECK(trained(16) == doctest::Approx(0.625).epsilon(0.1));
}

TEST_CASE("metatune training: options that prepare for a fine-tuning adapt as it does") {
    mt::fine_tuning_options adapts;
    const auto prepared = mt::meta_training_options::preparing(adapts);
    CHECK(prepared.inner.inner_rate == adapts.inner_rate);
    CHECK(prepared.inner.inner_steps == adapts.inner_steps);
    CHECK(prepared.frozen == adapts.frozen);
    CHECK(prepared.validity_weight == adapts.validity_weight);
    CHECK(4 * prepared.cold == prepared.batch);
    CHECK(prepared.check());
    // Two candidates, one of them the support and the other the query. The loss before the first step is smooth L1 of the query's speed relative to
    // the support, after the inner steps; fine-tuning without Adam takes these steps, too.
    augur::random_engine rng(4);
    mt::task_samples task = bowl(2, 0, rng);
    task.seconds = {1e-3, 4e-3};
    augur::serial_executor serial;
    const auto start = mt::network<float>::random_init(small_config(1), augur::random_engine(1));
    adapts.inner_rate = 0.1;
    adapts.steps = 0;
    for (const bool frozen : {false, true})
        for (const std::size_t steps : {std::size_t{1}, std::size_t{4}}) {
            CAPTURE(frozen);
            CAPTURE(steps);
            adapts.frozen = frozen;
            adapts.inner_steps = steps;
            auto options = mt::meta_training_options::preparing(adapts);
            options.shots = options.queries = options.batch = options.steps = 1;
            options.cold = 0;
            mt::training_state state(start);
            const auto report = mt::meta_train(state, std::vector{task}, serial, options, go_on);
            REQUIRE(report);
            const auto loss_of = [&](std::size_t support, const mt::fine_tuning_options& by) {
                auto net = start;
                REQUIRE(mt::fine_tune(net, part_of(task, support, support + 1), by));
                const double predicted = static_cast<double>(predictions(net, part_of(task, 1 - support, 2 - support))(0, 0));
                const double off = std::abs(predicted - task.seconds[support] / task.seconds[1 - support]);
                return off < 1 ? off * off / 2 : off - 0.5;
            };
            const auto agrees = [&](const mt::fine_tuning_options& by) {
                return std::abs(report->first_loss - loss_of(0, by)) < 1e-5 || std::abs(report->first_loss - loss_of(1, by)) < 1e-5;
            };
            CHECK(agrees(adapts));
            auto other = adapts;
            other.inner_steps = 2;
            CHECK_FALSE(agrees(other));
            other = adapts;
            other.frozen = !frozen;
            CHECK_FALSE(agrees(other));
        }
}

TEST_CASE("metatune training: frozen convolutions do not move; the kinds of meta-gradient and the seeds differ") {
    const auto tasks = bowls(6, 20, 20, 3);
    augur::serial_executor serial;
    const auto start = mt::network<float>::random_init(small_config(2), augur::random_engine(1));
    std::vector<mt::network<float>> trained;
    auto options = short_meta_training(true);
    options.inner = {0.1, 2};
    for (const auto kind : {nn::meta_gradient::second_order, nn::meta_gradient::first_order, nn::meta_gradient::reptile}) {
        options.inner.gradient = kind;
        trained.push_back(start);
        mt::training_state state(start);
        REQUIRE(mt::meta_train(state, tasks, serial, options, go_on));
        trained.back() = state.net;
        mt::network<float>::visit(
            [](const std::string& name, const auto& before, const auto& after) { CHECK((before == after) == !name.starts_with("predict.")); }, start,
            state.net);
    }
    ++options.seed;
    mt::training_state state(start);
    REQUIRE(mt::meta_train(state, tasks, serial, options, go_on));
    trained.push_back(state.net);
    for (std::size_t a = 0; a < trained.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) CHECK_FALSE(same_parameters(trained[a], trained[b]));
}

TEST_CASE("metatune training: the second output learns which candidates fail, and failures have no speed") {
    const auto tasks = bowls(16, 60, 40, 5);
    augur::serial_executor serial;
    mt::training_state state(mt::network<float>::random_init(small_config(2), augur::random_engine(1)));
    mt::pretraining_options options;
    options.epochs = 20;
    options.validity_weight = 0.5;
    REQUIRE(mt::pretrain(state, tasks, serial, options, go_on));
    int right = 0, all = 0;
    for (const auto& task : bowls(8, 60, 40, 6)) {
        const auto y = predictions(state.net, task);
        for (nn::index i = 0; i < y.rows(); ++i, ++all) right += (y(i, 1) > 0) == std::isfinite(task.seconds[static_cast<std::size_t>(i)]) ? 1 : 0;
    }
    CHECK(right > 0.9 * all);

    // the speed of a failure is never asked for: one output learns the same with and without them
    auto net = mt::network<float>::random_init(small_config(1), augur::random_engine(2)), without = net;
    mt::task_samples valid;
    for (std::size_t i = 0; i < 60; ++i)
        if (std::isfinite(tasks[0].seconds[i])) {
            valid.candidates.push_back(tasks[0].candidates[i]);
            valid.seconds.push_back(tasks[0].seconds[i]);
        }
    REQUIRE(valid.seconds.size() < 50);
    REQUIRE(mt::fine_tune(net, tasks[0]));
    REQUIRE(mt::fine_tune(without, valid));
    CHECK((predictions(net, valid) - predictions(without, valid)).cwiseAbs().maxCoeff() < 1e-3F);
}

TEST_CASE("metatune training: fine-tuning on few, constant, failed and no samples") {
    augur::random_engine rng(4);
    const auto start = mt::network<float>::random_init(small_config(2), augur::random_engine(1));
    const auto tuned = [&](const mt::task_samples& samples, bool frozen = true) {
        auto net = start;
        mt::fine_tuning_options o;
        o.frozen = frozen;
        o.steps = 300;
        REQUIRE(mt::fine_tune(net, samples, o));
        return net;
    };
    CHECK(same_parameters(tuned({}), start));
    auto task = bowl(30, 0, rng);
    for (double& s : task.seconds) s = 2e-3;
    for (const bool frozen : {true, false}) {
        const auto y = predictions(tuned(task, frozen), task);
        CHECK((y.col(0).array() - 1.0F).abs().maxCoeff() < 0.1F); // all the best
        CHECK(y.col(1).minCoeff() > 1);
    }
    for (double& s : task.seconds) s = failed;
    const auto net = tuned(task);
    CHECK(predictions(net, task).col(1).maxCoeff() < -1);
    auto single = start;
    single.config.outputs = 1;
    single = mt::network<float>::random_init(small_config(1), augur::random_engine(1));
    const auto before = single;
    REQUIRE(mt::fine_tune(single, task));
    CHECK(same_parameters(single, before));
    const auto one = part_of(bowl(1, 0, rng), 0, 1);
    CHECK(predictions(tuned(one), one)(0, 0) == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("metatune training: only failures, constant labels, batches above the number of candidates, tasks too small for shots and queries") {
    augur::serial_executor serial;
    for (const nn::index outputs : {1, 2}) {
        CAPTURE(outputs);
        const auto start = mt::network<float>::random_init(small_config(outputs), augur::random_engine(1));
        const auto trained = [&](int phase, const std::vector<mt::task_samples>& tasks, const mt::pretraining_options& first) {
            mt::training_state state(start);
            if (phase == 0) REQUIRE(mt::pretrain(state, tasks, serial, first, go_on));
            else REQUIRE(mt::meta_train(state, tasks, serial, short_meta_training(phase == 1), go_on));
            CHECK(state.net.not_finite().empty());
            return state.net;
        };
        const auto tasks = bowls(4, 20, 40, 3);
        auto failures = tasks, constant = tasks;
        for (auto& t : failures) std::fill(t.seconds.begin(), t.seconds.end(), failed);
        for (auto& t : constant) std::fill(t.seconds.begin(), t.seconds.end(), 2e-3);
        auto with_small = tasks;
        with_small.push_back(part_of(tasks[0], 0, 6)); // 3 + 4 are asked for
        with_small.push_back({});
        for (int phase = 0; phase < 3; ++phase) {
            CAPTURE(phase);
            // without a speed to learn one output has nothing to learn
            CHECK(same_parameters(trained(phase, failures, short_pretraining()), start) == (outputs == 1));
            CHECK_FALSE(same_parameters(trained(phase, constant, short_pretraining()), start));
            if (phase > 0) CHECK(same_parameters(trained(phase, with_small, short_pretraining()), trained(phase, tasks, short_pretraining())));
        }
        auto all = short_pretraining(), more = all;
        all.batch = 80;
        more.batch = 5000;
        CHECK(same_parameters(trained(0, tasks, all), trained(0, tasks, more)));
    }
}

TEST_CASE("metatune training: bad options and samples are refused, divergence is told") {
    auto tasks = bowls(3, 20, 0, 3);
    augur::serial_executor serial;
    const auto start = mt::network<float>::random_init(small_config(2), augur::random_engine(1));
    const auto refused = [&](const mt::pretraining_options& o, std::span<const mt::task_samples> of) {
        mt::training_state state(start);
        const auto done = mt::pretrain(state, of, serial, o, go_on);
        REQUIRE_FALSE(done);
        CHECK(state.net.not_finite().empty());
        return done.error().code;
    };
    const auto meta_refused = [&](const mt::meta_training_options& o, std::span<const mt::task_samples> of) {
        mt::training_state state(start);
        const auto done = mt::meta_train(state, of, serial, o, go_on);
        REQUIRE_FALSE(done);
        CHECK(same_parameters(state.net, start));
        return done.error().code;
    };
    const auto invalid = augur::errc::invalid_argument;
    auto pre = short_pretraining();
    CHECK(refused(pre, {}) == invalid);
    pre.batch = 0;
    CHECK(refused(pre, tasks) == invalid);
    pre = short_pretraining();
    pre.learning_rate = std::numeric_limits<double>::quiet_NaN();
    CHECK(refused(pre, tasks) == invalid);
    pre.learning_rate = 1e30;
    CHECK(refused(pre, tasks) == augur::errc::limit);

    auto meta = short_meta_training(true);
    meta.shots = 17; // 17 + 4 of 20
    CHECK(meta_refused(meta, tasks) == invalid);
    meta = short_meta_training(true);
    meta.ways = 4;
    CHECK(meta_refused(meta, tasks) == invalid);
    meta.ways = 0;
    CHECK(meta_refused(meta, tasks) == invalid);
    meta = short_meta_training(true);
    meta.inner.inner_rate = 0;
    CHECK(meta_refused(meta, tasks) == invalid);
    CHECK(mt::meta_training_options::authors().check());
    meta = short_meta_training(true);
    meta.cold = 6; // of 5
    CHECK(meta_refused(meta, tasks) == invalid);

    const auto spoilt = [&](auto&& spoil) {
        auto bad = tasks;
        spoil(bad[1]);
        CHECK(refused(short_pretraining(), bad) == meta_refused(short_meta_training(false), bad));
        return refused(short_pretraining(), bad);
    };
    CHECK(spoilt([](mt::task_samples& t) { t.seconds.pop_back(); }) == augur::errc::shape_mismatch);
    CHECK(spoilt([](mt::task_samples& t) { t.seconds[2] = 0; }) == invalid);
    CHECK(spoilt([](mt::task_samples& t) { t.seconds[2] = std::numeric_limits<double>::quiet_NaN(); }) == invalid);
    CHECK(spoilt([](mt::task_samples& t) { t.candidates[2].features.resize(2, 4); }) == augur::errc::shape_mismatch);
    CHECK(spoilt([](mt::task_samples& t) { t.candidates[2].features(0, 0) = std::numeric_limits<float>::infinity(); }) == invalid);

    auto net = start;
    mt::fine_tuning_options fine;
    fine.learning_rate = 1e30;
    const auto diverged = mt::fine_tune(net, tasks[0], fine);
    REQUIRE_FALSE(diverged);
    CHECK(diverged.error().code == augur::errc::limit);
    CHECK(same_parameters(net, start));
    fine.learning_rate = -1;
    CHECK_FALSE(mt::fine_tune(net, tasks[0], fine));
}
