// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file of compute DAGs beside logs: which lines are read, and what is said of those that are not.
#include <doctest/doctest.h>

#ifdef AUGUR_SEARCH_TABLES_PROGRAM // else there is no Eigen, and the shared sources are not built

#include <fstream>
#include <string>
#include <string_view>

#include "scratch.hpp"
#include "task_dags.hpp"

namespace task_dags_test {

TEST_CASE("task DAGs: wanted lines are read, the last one without a newline as well; a damaged line is told by number") {
    const scratch folder("dags-test");
    const auto path = folder / "task-dags.jsonl";
    const auto line = [](const std::string& key, const std::string& rows) {
        return "{\"key\": \"[\\\"" + key + "\\\"]\", \"dag\": \"p0 = PLACEHOLDER [" + rows +
               ", 8]\\np1 = PLACEHOLDER [8, 4]\\nproduct(i, j) += (p0[i, k]*p1[k, j])\"}";
    };
    std::ofstream(path) << line("a", "16") << '\n' << line("b", "16") << '\n' << line("c", "32");
    const auto read = [&](std::string_view but) { return examples::read_dags(path, [&](std::string_view key) { return key != but; }); };
    const auto two = read("[\"b\"]");
    REQUIRE(two);
    REQUIRE(two->size() == 2);
    CHECK(two->begin()->first == "[\"a\"]");
    CHECK(two->rbegin()->first == "[\"c\"]");
    CHECK(two->at("[\"c\"]")->ops.size() == 3); // two inputs, the product
    std::ofstream(path, std::ios::app) << '\n' << "{\"key\": \"[]\", \"dag\": \"nothing known\"}\n";
    CHECK(read("none")->size() == 3); // the fourth cannot be read
    std::ofstream(path, std::ios::app) << "{\"key\": ";
    const auto damaged = read("[\"b\"]");
    REQUIRE_FALSE(damaged);
    CHECK(damaged.error().detail.find(path + ":5") == 0);
    CHECK(examples::read_dags(folder / "none", [](std::string_view) { return true; }).error().code == augur::errc::not_found);
}

} // namespace task_dags_test

#endif
