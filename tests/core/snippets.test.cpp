// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C++ blocks in headers and documents of the rooms that need the standard library only. A block is included where the names that it uses are declared.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/core/json_object.hpp>
#include <augur/model/bounded_blend.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/workload/loop_nest.hpp>

#include <doctest/doctest.h>

using namespace augur;

TEST_CASE("snippets: a machine file that is not there is an error in words") {
    const auto puts_error = [] {
#include <snippets/core/README.md.1.inc>
        return 0;
    };
    CHECK(puts_error() >= 0);
}

TEST_CASE("snippets: json_reader reads a list and says where it is wrong") {
    const auto numbers = [](std::string_view text) -> result<std::vector<std::int64_t>> {
#include <snippets/core/json.hpp.1.inc>
        return list;
    };
    CHECK(*numbers("[1, 20]") == std::vector<std::int64_t>{1, 20});
    CHECK(numbers("[1, 2,\"x\"]").error().detail == "1:7: expected an integer, got '\"'");
}

TEST_CASE("snippets: json_members reads the members of an object in any order") {
    using detail::json_members;
    static constexpr std::array<std::string_view, 3> names{"a", "b", "c"};
    const auto read = [](std::string_view text) {
        json_reader in(text);
        std::array<std::int64_t, 3> numbers{};
#include <snippets/core/json_object.hpp.1.inc>
        return in.finish() ? numbers : std::array<std::int64_t, 3>{-1, -1, -1};
    };
    CHECK(read(R"({"c": 3, "a": 1})") == std::array<std::int64_t, 3>{1, 0, 3});
    CHECK(read(R"({"b": 3, "a": 1})")[0] == -1);
}

TEST_CASE("snippets: bounded_blend adds a bounded correction") {
    const std::vector<float> second{-1000, 0, 1000};
    std::vector<float> scores{1, 2, 3};
#include <snippets/model/bounded_blend.hpp.1.inc>
    CHECK(scores[0] == doctest::Approx(0.8));
    CHECK(scores[1] == doctest::Approx(2));
    CHECK(scores[2] == doctest::Approx(3.2));
}

TEST_CASE("snippets: loop_nest_builder holds the nest of a product") {
#include <snippets/workload/loop_nest.hpp.1.inc>
    int loops = 0, statements = 0;
    for (const auto& node : n.nodes()) (node.statement == nest_operation::none ? loops : statements) += 1;
    CHECK(loops == 3); // and the whole program
    CHECK(statements == 1);
}
