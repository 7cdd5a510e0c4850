// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables 1 to 4 of Transfer-Tuning for made-up networks, against values worked out by hand.
#include <doctest/doctest.h>

#ifdef AUGUR_TRANSFER_TABLES_PROGRAM // else there is no Eigen

#include <string>
#include <utility>
#include <vector>

#include "../../examples/papers/transfer_tables/networks.hpp"
#include "../../examples/papers/transfer_tables/runs.hpp"
#include "made_up_result.hpp"

namespace transfer_tables_test {

namespace {

using strings = std::vector<std::string>;
using transfer_figures::named_log;

/// Its log begins at second 0 and ends at second 100.
named_log made_up(const std::string& network, const std::vector<std::pair<std::string, double>>& kernels) {
    named_log out{network + "_log", {network, {}}};
    for (const auto& [text, untuned] : kernels) {
        const auto k = augur::kernel::parse(text);
        REQUIRE(k);
        out.log.kernels.push_back({*k, 1, {{untuned, 1, ""}, {untuned / 2, 101, ""}}});
    }
    return out;
}

} // namespace

TEST_CASE("transfer_tables: classes, choices by equation 1 and shares of the long search") {
    const std::string relu = "dense:m=8,n=8,k=", soft = "softmax:m=8,n=";
    std::vector<named_log> logs{
        made_up("a", {{relu + "8,relu", 3}, {relu + "16,relu", 2}, {soft + "8", 5}}), made_up("b", {{soft + "16", 1}, {relu + "24,relu", 1}}),
        made_up("c", {{relu + "8,relu", 1}, {relu + "16,relu", 1}, {relu + "24,relu", 1}, {relu + "32,relu", 1}, {relu + "40,relu", 1}})};
    auto first = made_up_result("a", relu + "8,relu", "all", 1, 5); // untuned 4, full 1, used twice
    first.logs = "c_log";
    first.seconds = 2.5; // of each of four measurements
    const auto tables = transfer_figures::tables_of(logs, std::vector{first});
    REQUIRE(tables);
    REQUIRE(tables->size() == 5);
    const auto& kernels = (*tables)[0].rows;
    REQUIRE(kernels.size() == 4);
    CHECK(kernels[1][0] == "A");
    CHECK(kernels[2][0] == "A");
    CHECK(kernels[3][0] == "B");
    CHECK(kernels[3][4] == "50.0 %");
    const auto& classes = (*tables)[1].rows;
    CHECK(classes[1] == strings{"a", "3", "2 A 50 %, 1 B 50 %", "c"});
    CHECK((*tables)[2].rows.size() == 3); // two classes
    // a from c: 0.5^2 sqrt(5) = 0.56, two kernels of five schedules; a from b: 0.5^2 + 0.5^2 = 0.5
    const auto& choices = (*tables)[3].rows;
    CHECK(choices[1] == strings{"a", "1", "c", "10 + 3", "2", "50 %", "4.000 (all)"});
    CHECK(choices[2] == strings{"a", "2", "b", "3 + 3", "3", "100 %", "-"});
    // b from a: 0.25 sqrt(2) + 0.25 = 0.60; from c 0.25 sqrt(5) = 0.56
    CHECK(choices[3] == strings{"b", "1", "a", "3 + 2", "2", "100 %", "-"});
    const auto& parts = (*tables)[4].rows;
    REQUIRE(parts.size() == 2);
    CHECK(parts[1] == strings{"a", "all", "4.000", "4.000", "100", "10", "100", "10"});
    CHECK(transfer_figures::tables_of({}, {})->empty());
}

TEST_CASE("transfer_tables: runs are told apart by machine, and leave out a kernel whose untuned schedule has failed") {
    std::vector<examples::transfer_result> results{made_up_result("net", "a", "trees", 1), made_up_result("net", "b", "trees", 8),
                                                   made_up_result("net", "a", "trees", 2)}; // untuned 4, full 1
    results[1].untuned = 0;
    results[2].machine = "another machine";
    const auto runs = transfer_figures::runs_of(results);
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].kernels.size() == 1);
    CHECK(runs[0].speedup() == 4);
    CHECK(runs[0].full_speedup() == 4);
    CHECK(runs[0].count(&examples::transfer_result::measurements) == 4);
    CHECK(runs[1].speedup() == 2);
}

} // namespace transfer_tables_test

#endif
