// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/t4_results.hpp>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#ifdef AUGUR_TEST_NLOHMANN
#include <nlohmann/json.hpp>
#endif

#include <augur/io/tuning_archive.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/search/random.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/concepts.hpp>
#include <augur/tune/replay_runner.hpp>
#include <augur/tune/tuner.hpp>
#include <doctest/doctest.h>

#include "archives.hpp"

namespace t4_results_test {

using namespace augur;

static_assert(record_sink<t4_results, configuration, tuning_archive> && record_sink<t4_results, step_list, tuning_archive>);

namespace {
tuning_archive parsed(std::string_view text, std::string_view name) {
    tuning_archive a;
    const auto ok = parse_tuning_archive(text, name, a);
    REQUIRE(ok);
    CHECK(a.bad == 0);
    return a;
}
} // namespace

TEST_CASE("t4_results: what a tuner found on a cache is read back as it was") {
    const tuning_archive cache = parsed(archives::cache_of(archives::entries), "cache.json");
    const std::vector<tuning_archive> tasks{cache};
    const std::vector<recorded_space> spaces{*recorded_space::build(cache.records, &measured_configuration::point)};
    std::vector<random_search> strategies(1);
    replay_runner runner;
    for (const auto& r : cache.records) runner.add(task_identity(cache), r.point, r.measured);
    t4_results out;
    augur::tuner t(tasks, spaces, strategies);
    REQUIRE(t.run(runner, {.sink = std::ref(out)}));
    CHECK(out.size() == 4);
    const tuning_archive back = parsed(out.text(), "found/here.json");
    CHECK(back.key() == "here");
    REQUIRE(back.records.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        const measured_configuration& b = back.records[i];
        CHECK(b.point == t.trials()[i].schedule); // in the order of the trials
        for (const auto& r : cache.records) {
            if (r.point != b.point) continue;
            CHECK(b.measured.status == r.measured.status);
            REQUIRE(b.measured.seconds.size() == r.measured.seconds.size());
            for (std::size_t k = 0; k < r.measured.seconds.size(); ++k)
                CHECK(b.measured.seconds[k] == doctest::Approx(r.measured.seconds[k]).epsilon(1e-15));
            CHECK(b.measured.total_seconds == doctest::Approx(r.measured.total_seconds).epsilon(1e-15));
            CHECK(b.measured.timestamp == r.measured.timestamp);
        }
    }
}

#ifdef AUGUR_TEST_NLOHMANN
TEST_CASE("t4_results: every outcome has what the schema asks for") {
    constexpr const char* invalidity[] = {"correct", "constraints", "compile", "timeout", "runtime", "timeout",
                                          "runtime", "correctness", "runtime", "runtime", "runtime"};
    t4_results out;
    const tuning_archive one{"k", "d", {}, 0};
    CHECK(nlohmann::json::parse(out.text())["results"].empty());
    for (int i = 0; i < 11; ++i) {
        measurement m;
        m.status = static_cast<outcome>(i);
        m.reason = "a \"reason\"\n\x01";
        m.seconds = {0.25};
        m.total_seconds = i == 3 ? std::numeric_limits<double>::infinity() : 2;
        m.timestamp = i == 4 ? -5 : 1703238845;
        REQUIRE(out(one, configuration{{{"a", std::int64_t{i}}, {"b", 0.5}, {"c", "x\"y"}}}, m));
    }
    const auto json = nlohmann::json::parse(out.text());
    CHECK(json["schema_version"].get<std::string>() == "1.0.0");
    REQUIRE(json["results"].size() == 11);
    for (std::size_t i = 0; i < 11; ++i) {
        const auto& r = json["results"][i];
        CHECK(r["configuration"]["a"].get<std::size_t>() == i);
        CHECK(r["configuration"]["c"].get<std::string>() == "x\"y");
        CHECK(r["invalidity"].get<std::string>() == invalidity[i]);
        CHECK(r["correctness"].get<int>() == (i == 7 ? 0 : 1));
        CHECK(r["times"]["runtimes"].size() == (i == 0 ? 1 : 0));
        CHECK(r["times"]["benchmark"].get<double>() == (i == 3 ? 0 : 2000));
        CHECK(r["measurements"][0]["value"].is_string() == (i != 0));
        CHECK(r.contains("timestamp") == (i != 4));
        if (i != 4) CHECK(r["timestamp"].get<std::string>() == "2023-12-22 09:54:05+00:00");
    }
    CHECK(parsed(out.text(), "x").records.size() == 11);
}
#endif

TEST_CASE("t4_results: steps are one parameter, and a second task is refused") {
    t4_results out;
    const auto steps = parse_steps(R"([["SP", 2, 0, 512, [8, 4], 1], ["CI", 1]])");
    REQUIRE(steps);
    measurement m;
    m.status = outcome::ok;
    m.seconds = {0.25};
    REQUIRE(out(tuning_archive{"k", "d", {}, 0}, *steps, m));
    const auto back = parsed(out.text(), "x");
    REQUIRE(back.records.size() == 1);
    CHECK(to_string(back.records[0].point) == R"(schedule=[["SP", 2, 0, 512, [8, 4], 1], ["CI", 1]])");
    const auto refused = out(tuning_archive{"k", "e", {}, 0}, *steps, m);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK(out.size() == 1);
}

} // namespace t4_results_test
