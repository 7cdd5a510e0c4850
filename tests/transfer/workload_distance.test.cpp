// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/transfer/workload_distance.hpp>

#include <cstddef>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using augur::transfer::workload_arguments, augur::transfer::workload_distance;

TEST_CASE("workload_distance: as TVM computes it") {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/workload_distance_factor.json");
    const auto cases = nlohmann::json::parse(file)["cases"];
    CHECK(cases.size() == 9);
    for (const auto& c : cases) {
        const auto key = [&](const char* who) {
            auto list = nlohmann::json::array({c[who][0]});
            for (const auto& a : c[who][1]) list.push_back(a);
            return workload_arguments::parse(list.dump());
        };
        const auto target = key("target"), candidate = key("candidate");
        REQUIRE(target);
        REQUIRE(candidate);
        const auto factor = workload_distance(*target, *candidate);
        CHECK(factor.has_value() == !c["factor"].is_null());
        if (factor) CHECK(*factor == c["factor"].get<double>());
    }
}

TEST_CASE("workload_distance: keys of both forms are one, and what is no key has its column") {
    const auto flat = workload_arguments::parse(R"(["d373", 1, 7, 7, 512])"), nested = workload_arguments::parse(R"(["d373", [1, 7], [7, [512]]])");
    REQUIRE(flat);
    REQUIRE(nested);
    CHECK(flat->arguments == nested->arguments);
    CHECK(workload_distance(*flat, *nested) == 1.0);
    for (const char* text : {"", "[]", "[1]", "{}", R"(["a", {}])", R"(["a", 1.5])", R"(["a", 1)", R"(["a", 99999999999999999999])", R"(["a"] 1)"}) {
        const auto bad = workload_arguments::parse(text);
        REQUIRE(!bad);
        CHECK(bad.error().detail.starts_with("1:"));
    }
    const std::string deep = "[\"a\", " + std::string(100'000, '[');
    CHECK(!workload_arguments::parse(deep));
    const auto least = workload_arguments::parse(R"(["a", -9223372036854775808])"), minus = workload_arguments::parse(R"(["a", -1])");
    REQUIRE(least);
    REQUIRE(minus);
    CHECK(!workload_distance(*least, *minus)); // the quotient has no int64
    const auto axis = workload_arguments::parse(R"(["a", -2])"), count = workload_arguments::parse(R"(["a", 1])");
    CHECK(!workload_distance(*axis, *count)); // a negative factor would rank first
    CHECK(!workload_distance(*count, *axis));
}
