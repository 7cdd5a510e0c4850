// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/dataset/split.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "datasets.hpp"

namespace split_test {

using namespace datasets;

namespace {

std::set<std::string> keys(const dataset& data, const std::vector<std::uint32_t>& tasks) {
    std::set<std::string> out;
    for (const auto t : tasks) out.insert(normalised_workload_key(data.task(t).key));
    return out;
}
bool disjoint(const std::set<std::string>& a, const std::set<std::string>& b) {
    return std::none_of(a.begin(), a.end(), [&](const auto& k) { return b.contains(k); });
}

} // namespace

TEST_CASE("split: no key of a held-out source is trained on, and every task is used once") {
    const auto all = make(4000, 60, 1);
    const dataset data = build(all);
    const std::array<std::string_view, 2> names = {"net_4", "logs/net_3.json.gz"};
    const auto held = held_out_by_source(data, names);
    REQUIRE(held);
    std::set<std::string> expected;
    for (const auto& m : all)
        if (m.source == "logs/net_4.json.gz" || m.source == "logs/net_3.json.gz") expected.insert(m.key);
    const task_split split = split_tasks(data, *held);
    CHECK(keys(data, split.test) == expected);
    CHECK(disjoint(keys(data, split.test), keys(data, split.train)));
    CHECK(disjoint(keys(data, split.test), keys(data, split.validation)));
    CHECK(disjoint(keys(data, split.train), keys(data, split.validation)));
    std::vector<std::uint32_t> together;
    for (const auto* list : {&split.train, &split.validation, &split.test}) {
        CHECK(std::is_sorted(list->begin(), list->end()));
        together.insert(together.end(), list->begin(), list->end());
    }
    std::sort(together.begin(), together.end());
    REQUIRE(together.size() == data.tasks());
    for (std::uint32_t t = 0; t < together.size(); ++t) CHECK(together[t] == t);
    const auto rest = keys(data, split.train).size() + keys(data, split.validation).size();
    CHECK(keys(data, split.validation).size() == (rest + 5) / 10);

    const std::array<std::string_view, 1> unknown = {"net_9"};
    const auto refused = held_out_by_source(data, unknown);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::not_found);
    CHECK(refused.error().detail.find("net_9") != std::string::npos);
}

TEST_CASE("split: the seed draws the validation, the order of the logs does not") {
    const auto all = make(4000, 60, 1);
    auto sorted = all;
    for (std::size_t i = 1; i < sorted.size(); ++i) // stable; the standard one warns of its own buffer with clang
        for (std::size_t k = i; k > 0 && sorted[k].key < sorted[k - 1].key; --k) std::swap(sorted[k], sorted[k - 1]);
    const dataset data = build(all), other = build(sorted);
    const auto validation = [](const dataset& d, std::uint64_t seed) {
        return keys(d, split_tasks(d, std::vector<bool>(d.tasks()), 0.2, seed).validation);
    };
    std::map<std::string, int> drawn;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const auto v = validation(data, seed);
        CHECK(v == validation(other, seed));
        CHECK(v.size() == 12);
        for (const auto& k : v) ++drawn[k];
    }
    CHECK(drawn.size() == 60); // each one's turn comes: 20 of 100 times, with a variance of 100 * 0.2 * 0.8
    double chi_square = 0;
    for (const auto& [key, times] : drawn) chi_square += (times - 20.0) * (times - 20.0) / 16;
    CHECK(chi_square < 98.4); // one in a thousand is above, with 59 degrees of freedom
    CHECK(chi_square > 29.6); // and one in a thousand below
}

TEST_CASE("split: keys that differ in how they spell padding are one; a fifth is held out") {
    CHECK(normalised_workload_key(R"(["conv2d_layer", 128, 128, 28, 28, 128, 3, 3, 1, "SAME"])") ==
          R"(["conv2d_layer", 128, 128, 28, 28, 128, 3, 3, 1, 1])");
    CHECK(normalised_workload_key(R"(["conv2d_layer", 128, 84, 42, 42, 84, 1, 1, 1, "SAME"])") ==
          R"(["conv2d_layer", 128, 84, 42, 42, 84, 1, 1, 1, 0])");
    CHECK(normalised_workload_key(R"(["conv2d_layer", 128, 3, 230, 230, 64, 7, 7, 2, "VALID"])") ==
          R"(["conv2d_layer", 128, 3, 230, 230, 64, 7, 7, 2, 0])");
    for (const char* same :
         {R"(["conv2d_layer", 128, 3, 230, 230, 64, 7, 7, 2, "SAME"])", R"(["conv2d_layer", 1, 2, "SAME"])", "[\"conv2d_layer\", \"SAME\"]",
          R"(["conv2d_layer", 1, 2, 3, 4, 5, 3, x, 1, "SAME"])", R"(["pool_layer", "max", 128, 42, 165, 165, 3, 3, 2, "SAME"])", "", "\"SAME\"]"})
        CHECK(normalised_workload_key(same) == same);

    dataset_builder builder;
    for (int i = 0; i < 1000; ++i)
        for (const char* padding : {"\"VALID\"", "0"}) {
            const auto t = builder.task("[\"conv2d_layer\", " + std::to_string(i) + ", 1, 8, 8, 1, 1, 1, 1, " + padding + "]", padding, {});
            REQUIRE(t);
            REQUIRE(builder.add(*t, builder.source("s"), {}, 1, outcome::ok));
        }
    const dataset data = std::move(builder).finish();
    const auto held = held_out_by_key(data);
    std::size_t count = 0;
    for (std::size_t t = 0; t < held.size(); t += 2) {
        CHECK(held[t] == held[t + 1]);
        count += held[t] ? 1U : 0U;
    }
    CHECK(count > 150);
    CHECK(count < 250);
    // FNV-1a-64 by its definition
    std::uint64_t h = 14695981039346656037ULL;
    for (const char c : std::string(R"(["conv2d_layer", 0, 1, 8, 8, 1, 1, 1, 1, 0])")) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    CHECK(held[0] == (h % 5 == 0));
    const task_split split = split_tasks(data, held);
    CHECK(disjoint(keys(data, split.train), keys(data, split.validation)));
    CHECK(split.validation.size() % 2 == 0);
}

TEST_CASE("split: below a share of 1 something is left to train on, however little there is") {
    const dataset data = build(make(3000, 11, 6, 12));
    const std::vector<std::uint32_t> one = {2};
    std::vector<bool> held(data.tasks(), true);
    held[0] = false;
    for (const double share : {0.0, 0.3, 0.5, 0.99, 0.9999}) {
        CAPTURE(share);
        CHECK(!split_tasks(data, held, share).train.empty());
        CHECK(!split_records(data, one, share).train.empty());
        CHECK(!split_tasks(data, std::vector<bool>(data.tasks()), share).train.empty());
    }
    CHECK(split_tasks(data, held, 1).train.empty());
    CHECK(split_records(data, one, 1).train.empty());
}

TEST_CASE("split: by record, as the authors do, and a share of each task") {
    const dataset data = build(make(3000, 11, 6, 12));
    const std::vector<std::uint32_t> tasks = {1, 4, 7};
    const record_split split = split_records(data, tasks, 0.1, 3);
    std::set<std::uint32_t> train(split.train.begin(), split.train.end()), validation(split.validation.begin(), split.validation.end());
    std::size_t n = 0;
    for (const auto t : tasks) n += data.task(t).last - data.task(t).first;
    CHECK(train.size() == n * 9 / 10);
    CHECK(train.size() + validation.size() == n);
    for (const auto r : validation) CHECK(!train.contains(r));
    CHECK(!std::is_sorted(split.train.begin(), split.train.end()));
    CHECK(split_records(data, tasks, 0.1, 3).train == split.train);
    CHECK(split_records(data, tasks, 0.1, 4).train != split.train);

    const auto drawn = draw_records(data, tasks, 0.07, 3);
    CHECK(std::is_sorted(drawn.begin(), drawn.end()));
    std::size_t expected = 0;
    for (const auto t : tasks) {
        const auto task = data.task(t);
        const auto in = static_cast<std::size_t>(std::count_if(drawn.begin(), drawn.end(), [&](auto r) { return r >= task.first && r < task.last; }));
        const double share = 0.07 * static_cast<double>(task.last - task.first);
        CHECK(std::abs(static_cast<double>(in) - share) <= 0.5);
        expected += in;
    }
    CHECK(drawn.size() == expected);
    CHECK(draw_records(data, tasks, 0.07, 3) == drawn);
    CHECK(draw_records(data, tasks, 0.07, 4) != drawn);
    CHECK(draw_records(data, tasks, 1).size() == n);
    CHECK(draw_records(data, tasks, 0).size() == tasks.size()); // at least one
    CHECK(split_records(data, {}).train.empty());
}

} // namespace split_test
