// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's online cost model: the concept, what it scores before and after it adapts, threads, and the edges: failures, constant labels, refused
// candidates.
#include <augur/metatune/cost_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <augur/schedule/steps.hpp>

#include "../search/threads.hpp"

namespace mt = augur::metatune;
namespace nn = augur::nn;

namespace {

struct toy_kernel {
    std::string name = "a";
    [[nodiscard]] std::string_view key() const { return name; }
};

/// A schedule that is two sizes.
struct two_sizes {
    std::int64_t a = 1, b = 1;
    void visit(auto& sink) const {
        sink.primitive("tile");
        sink.number(a);
        sink.number(b);
    }
};

/// Loops of the two sizes; size 0 has none, size -1 has a feature that is not finite, size -2 has loops of another network.
struct sizes_as_loops {
    augur::result<mt::loop_rows> operator()(const toy_kernel&, const two_sizes& s) const {
        if (s.a == 0) return augur::error{augur::errc::illegal_schedule, "no loops"};
        mt::loop_rows loops;
        loops.features.setZero(2, s.a == -2 ? 2 : 3);
        loops.features(0, 0) = s.a == -1 ? std::numeric_limits<float>::infinity() : static_cast<float>(s.a) / 8;
        loops.features(1, 0) = static_cast<float>(s.b) / 8;
        loops.features(0, 1) = 1;
        loops.present = {1, 1};
        loops.parents = {mt::loop_rows::no_parent, 0};
        return loops;
    }
};

using model_of_sizes = mt::cost_model<two_sizes, toy_kernel, sizes_as_loops>;
using seen_record = augur::observation<two_sizes, toy_kernel>;
static_assert(augur::trainable_cost_model<model_of_sizes, two_sizes, toy_kernel>);
constexpr float refused_score = -std::numeric_limits<float>::infinity();

mt::config sizes_config(nn::index outputs = 2) {
    mt::config c;
    c.features = 3;
    c.convolutions = {16, 16};
    c.head = {32, 16};
    c.outputs = outputs;
    return c;
}
mt::network<float> start_weights(nn::index outputs = 2) { return mt::network<float>::random_init(sizes_config(outputs), augur::random_engine(3)); }
model_of_sizes from_start(nn::index outputs = 2) {
    mt::fine_tuning_options options;
    options.steps = 300;
    options.learning_rate = 5e-3;
    return {sizes_as_loops(), start_weights(outputs), options};
}

/// The 64 schedules with sizes 1 to 8 and a latency each.
struct measured_sizes {
    toy_kernel task;
    std::vector<two_sizes> schedules;
    std::vector<augur::measurement> outcomes;
    std::vector<seen_record> records;

    template <class Latency>
    explicit measured_sizes(const Latency& latency, std::string name = "a") : task{std::move(name)} {
        for (std::int64_t i = 0; i < 64; ++i) schedules.push_back({1 + i * 37 % 64 / 8, 1 + i * 37 % 8});
        for (const auto& s : schedules) {
            augur::measurement m;
            const double seconds = latency(s);
            m.status = std::isfinite(seconds) ? augur::outcome::ok : augur::outcome::run_crash;
            if (std::isfinite(seconds)) m.seconds = {seconds};
            outcomes.push_back(m);
        }
        for (std::size_t i = 0; i < schedules.size(); ++i) records.push_back({&task, &schedules[i], &outcomes[i]});
    }
    measured_sizes(const measured_sizes&) = delete;
    measured_sizes& operator=(const measured_sizes&) = delete;
    [[nodiscard]] std::span<const seen_record> first(std::size_t n) const { return std::span<const seen_record>(records).first(n); }
};

constexpr double fails = std::numeric_limits<double>::infinity();
double bowl_of_sizes(const two_sizes& s) { return 1e-3 * std::exp(0.05 * static_cast<double>((s.a - 6) * (s.a - 6) + (s.b - 2) * (s.b - 2))); }

std::vector<float> scores_of(model_of_sizes& model, const toy_kernel& task, const std::vector<two_sizes>& schedules) {
    std::vector<float> scores(schedules.size());
    REQUIRE(model.score(task, std::span<const two_sizes>(schedules), std::span<float>(scores)));
    return scores;
}

/// Share of the pairs of valid candidates that the scores order as the latencies do.
double pairs_in_order(const std::vector<float>& scores, const measured_sizes& data) {
    double right = 0, all = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
        for (std::size_t k = 0; k < scores.size(); ++k)
            if (data.outcomes[i].latency() < data.outcomes[k].latency() && std::isfinite(data.outcomes[k].latency())) {
                all += 1;
                right += scores[i] > scores[k] ? 1 : 0;
            }
    return right / all;
}

} // namespace

TEST_CASE("metatune cost model: without any training 0, then it ranks what it has not seen") {
    const measured_sizes data(bowl_of_sizes);
    mt::fine_tuning_options options;
    options.steps = 300;
    options.learning_rate = 5e-3;
    model_of_sizes model(sizes_as_loops(), sizes_config(), augur::random_engine(3), options);
    CHECK(scores_of(model, data.task, data.schedules) == std::vector<float>(64, 0));
    CHECK(model.adapted(data.task) == nullptr);
    REQUIRE(model.update(data.first(0)));
    CHECK(scores_of(model, data.task, data.schedules) == std::vector<float>(64, 0));

    REQUIRE(model.update(data.first(24)));
    REQUIRE(model.adapted(data.task) != nullptr);
    CHECK(pairs_in_order(scores_of(model, data.task, data.schedules), data) > 0.85);
    const toy_kernel other{"b"};
    CHECK(scores_of(model, other, data.schedules) == std::vector<float>(64, 0)); // a task of its own
    CHECK(scores_of(model, data.task, {}).empty());
}

TEST_CASE("metatune cost model: tasks do not learn from each other, and the number of updates does not matter") {
    const measured_sizes one(bowl_of_sizes, "one"), two([](const two_sizes& s) { return 1 / bowl_of_sizes(s); }, "two");
    auto at_once = from_start(), in_steps = from_start(), alone = from_start();
    const auto by_start = scores_of(at_once, one.task, one.schedules);
    CHECK(std::count(by_start.begin(), by_start.end(), 0.0F) < 64); // trained weights score

    std::vector<seen_record> both;
    for (std::size_t i = 0; i < 40; ++i) {
        both.push_back(one.records[i]);
        both.push_back(two.records[i]);
        if (i % 7 == 6) REQUIRE(in_steps.update(std::span<const seen_record>(both)));
    }
    REQUIRE(in_steps.update(std::span<const seen_record>(both)));
    REQUIRE(at_once.update(std::span<const seen_record>(both)));
    REQUIRE(alone.update(one.first(40)));
    for (const auto* data : {&one, &two}) {
        const auto scores = scores_of(at_once, data->task, data->schedules);
        CHECK(scores == scores_of(in_steps, data->task, data->schedules));
        CHECK(pairs_in_order(scores, *data) > 0.85);
    }
    CHECK(scores_of(alone, one.task, one.schedules) == scores_of(at_once, one.task, one.schedules));
    CHECK(scores_of(alone, two.task, one.schedules) == by_start);
}

TEST_CASE("metatune cost model: failures, few points and constant labels are defined") {
    for (const nn::index outputs : {1, 2}) {
        CAPTURE(outputs);
        const auto finite = [](const std::vector<float>& scores) {
            return std::all_of(scores.begin(), scores.end(), [](float s) { return std::isfinite(s); });
        };
        // 40 % fail: those whose second size is 6 to 8
        const measured_sizes some([](const two_sizes& s) { return s.b > 5 ? fails : bowl_of_sizes(s); });
        auto model = from_start(outputs);
        REQUIRE(model.update(some.first(48)));
        auto scores = scores_of(model, some.task, some.schedules);
        CHECK(finite(scores));
        CHECK(pairs_in_order(scores, some) > 0.85);
        if (outputs == 2) { // the failures of the ones not seen lie below the valid ones
            double below = 0, all = 0;
            for (std::size_t i = 48; i < 64; ++i)
                for (std::size_t k = 48; k < 64; ++k)
                    if (some.outcomes[i].ok() && !some.outcomes[k].ok()) {
                        all += 1;
                        below += scores[i] > scores[k] ? 1 : 0;
                    }
            CHECK(below > 0.8 * all);
        }

        const measured_sizes none([](const two_sizes&) { return fails; });
        auto of_failures = from_start(outputs);
        const auto before = scores_of(of_failures, none.task, none.schedules);
        REQUIRE(of_failures.update(none.first(64)));
        const auto after = scores_of(of_failures, none.task, none.schedules);
        CHECK(finite(after));
        CHECK((after == before) == (outputs == 1)); // one output has nothing to learn from failures
        model_of_sizes untrained(sizes_as_loops(), sizes_config(outputs), augur::random_engine(1));
        REQUIRE(untrained.update(none.first(64)));
        if (outputs == 1) CHECK(scores_of(untrained, none.task, none.schedules) == std::vector<float>(64, 0));

        const measured_sizes equal([](const two_sizes&) { return 2e-3; });
        auto constant = from_start(outputs);
        REQUIRE(constant.update(equal.first(64)));
        scores = scores_of(constant, equal.task, equal.schedules);
        CHECK(finite(scores));
        const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
        CHECK(*high - *low < 0.1F);
        auto single = from_start(outputs);
        REQUIRE(single.update(equal.first(1)));
        CHECK(finite(scores_of(single, equal.task, equal.schedules)));
    }
}

TEST_CASE("metatune cost model: labels are relative to the least latency so far") {
    const measured_sizes data(bowl_of_sizes), scaled([](const two_sizes& s) { return 128 * bowl_of_sizes(s); });
    auto model = from_start(), of_scaled = from_start();
    REQUIRE(model.update(data.first(20)));
    REQUIRE(of_scaled.update(scaled.first(20)));
    CHECK(scores_of(model, data.task, data.schedules) == scores_of(of_scaled, data.task, data.schedules)); // 128 is exact in binary
}

TEST_CASE("metatune cost model: candidates without loops score -infinity and teach nothing") {
    const measured_sizes data(bowl_of_sizes);
    auto model = from_start(), clean = from_start();
    std::vector<two_sizes> schedules = data.schedules;
    schedules[3].a = 0;
    schedules[9].a = -1;
    std::vector<seen_record> records = {data.first(20).begin(), data.first(20).end()}, kept;
    for (const std::size_t i : {3U, 9U}) records[i].schedule = &schedules[i];
    for (std::size_t i = 0; i < 20; ++i)
        if (i != 3 && i != 9) kept.push_back(records[i]);
    REQUIRE(model.update(std::span<const seen_record>(records)));
    REQUIRE(clean.update(std::span<const seen_record>(kept)));
    const auto scores = scores_of(model, data.task, schedules);
    const auto expected = scores_of(clean, data.task, data.schedules);
    for (std::size_t i = 0; i < 64; ++i) {
        if (i == 3 || i == 9) CHECK(scores[i] == refused_score);
        else CHECK(scores[i] == doctest::Approx(static_cast<double>(expected[i])).epsilon(1e-4));
    }
    model_of_sizes untrained(sizes_as_loops(), sizes_config(), augur::random_engine(1));
    CHECK(scores_of(untrained, data.task, schedules)[3] == refused_score);
    CHECK(scores_of(untrained, data.task, schedules)[4] == 0);

    std::vector<float> few(3);
    CHECK_FALSE(model.score(data.task, std::span<const two_sizes>(data.schedules), std::span<float>(few)));
    schedules[5].a = -2; // loops of another network are no matter of the candidate
    std::vector<float> all(64);
    const auto wrong = model.score(data.task, std::span<const two_sizes>(schedules), std::span<float>(all));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == augur::errc::shape_mismatch);
    records.push_back({&data.task, &schedules[5], &data.outcomes[5]});
    const auto before = scores_of(model, data.task, data.schedules);
    CHECK_FALSE(model.update(std::span<const seen_record>(records)));
    CHECK(scores_of(model, data.task, data.schedules) == before);
}

TEST_CASE("metatune cost model: a task that cannot be adapted keeps no other from it") {
    const measured_sizes first(bowl_of_sizes, "a"), second(bowl_of_sizes, "b");
    auto model = from_start();
    const two_sizes of_another_network{-2, 1};
    std::vector<seen_record> records(first.records.begin(), first.records.begin() + 20);
    records.push_back({&first.task, &of_another_network, &first.outcomes[20]});
    records.insert(records.end(), second.records.begin(), second.records.begin() + 20);
    const auto done = model.update(std::span<const seen_record>(records));
    REQUIRE_FALSE(done);
    CHECK(done.error().code == augur::errc::shape_mismatch);
    CHECK(model.adapted(first.task) == nullptr);
    CHECK(model.adapted(second.task) != nullptr);
    CHECK(model.update(std::span<const seen_record>(records))); // nothing new
}

TEST_CASE("metatune cost model: scores are those of the network, a large batch scores as its parts, to the bit") {
    const measured_sizes data(bowl_of_sizes);
    auto model = from_start();
    REQUIRE(model.update(data.first(20)));
    mt::candidate_graphs graphs(sizes_config());
    for (const auto& s : data.schedules) REQUIRE(graphs.add(*sizes_as_loops()(data.task, s)));
    mt::network_activation<float> kept;
    nn::matrix<float> y(64, 2);
    model.adapted(data.task)->forward(graphs, kept, y);
    const auto scores = scores_of(model, data.task, data.schedules);
    for (nn::index i = 0; i < 64; ++i) {
        const float expected = mt::score_of({y.data() + 2 * i, 2});
        CHECK(std::abs(scores[static_cast<std::size_t>(i)] - expected) <= 1e-5F * (std::max)(1.0F, std::abs(expected)));
    }
    std::vector<two_sizes> many;
    for (int i = 0; i < 10; ++i) many.insert(many.end(), data.schedules.begin(), data.schedules.end());
    many.resize(601);
    const auto whole = scores_of(model, data.task, many), once = scores_of(model, data.task, data.schedules);
    for (std::size_t i = 0; i < many.size(); ++i) CHECK(whole[i] == once[i % 64]);
}

TEST_CASE("metatune cost model: the same bits for any number of threads that extract loops") {
    const measured_sizes data(bowl_of_sizes);
    std::vector<two_sizes> many = data.schedules; // more than are extracted at a time
    for (std::int64_t i = 0; i < 300; ++i) many.push_back({i % 9, 1 + i % 7});
    auto serial = from_start();
    REQUIRE(serial.update(data.first(40)));
    const auto expected = scores_of(serial, data.task, many);
    for (const std::size_t count : {std::size_t{1}, std::size_t{4}}) {
        CAPTURE(count);
        toy::threads threads{count};
        mt::fine_tuning_options options;
        options.steps = 300;
        options.learning_rate = 5e-3;
        mt::cost_model<two_sizes, toy_kernel, sizes_as_loops, toy::threads> model(sizes_as_loops(), start_weights(), threads, options);
        REQUIRE(model.update(data.first(40)));
        std::vector<float> scores(many.size());
        REQUIRE(model.score(data.task, std::span<const two_sizes>(many), std::span<float>(scores)));
        CHECK(scores == expected);
        CHECK(model.unscored() == serial.unscored());
        REQUIRE(model.last_failure());
        CHECK(model.last_failure()->detail == serial.last_failure()->detail);
    }
}

TEST_CASE("metatune cost model: it tells how many candidates have no score, and why the last of them has none") {
    const measured_sizes data(bowl_of_sizes);
    auto model = from_start();
    CHECK(model.unscored() == 0);
    CHECK_FALSE(model.last_failure());
    std::vector<two_sizes> schedules = data.schedules;
    for (const std::size_t i : {std::size_t{3}, std::size_t{9}, std::size_t{40}}) schedules[i].a = 0;
    auto scores = scores_of(model, data.task, schedules);
    CHECK(std::count(scores.begin(), scores.end(), refused_score) == 3);
    CHECK(model.unscored() == 3);
    REQUIRE(model.last_failure());
    CHECK(model.last_failure()->code == augur::errc::illegal_schedule);
    CHECK(model.last_failure()->detail == "no loops");
    schedules[50].a = -1; // behind the others
    scores = scores_of(model, data.task, schedules);
    CHECK(std::count(scores.begin(), scores.end(), refused_score) == 4);
    CHECK(model.unscored() == 4);
    REQUIRE(model.last_failure());
    CHECK(model.last_failure()->code == augur::errc::invalid_argument);
    scores_of(model, data.task, data.schedules); // of the last batch alone
    CHECK(model.unscored() == 0);
    CHECK_FALSE(model.last_failure());

    auto huge = start_weights(1); // finite weights whose outputs are not
    huge.head.layers.back().b.setConstant(std::numeric_limits<float>::max());
    huge.head.layers.back().W.setConstant(std::numeric_limits<float>::max());
    model_of_sizes overflows(sizes_as_loops(), huge);
    scores = scores_of(overflows, data.task, data.schedules);
    CHECK(overflows.unscored() == static_cast<std::size_t>(std::count(scores.begin(), scores.end(), refused_score)));
    REQUIRE(overflows.last_failure());
    CHECK(overflows.last_failure()->code == augur::errc::limit);
}
