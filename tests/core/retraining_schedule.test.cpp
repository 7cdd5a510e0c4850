// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/retraining_schedule.hpp>

#include <cstddef>
#include <limits>

#include <doctest/doctest.h>

TEST_CASE("marks: the greatest that is reached; there is an end even for the least growth and the largest count") {
    using augur::last_retraining;
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    CHECK(last_retraining(63, 64, 2) == 0);
    CHECK(last_retraining(64, 64, 2) == 64);
    CHECK(last_retraining(127, 64, 2) == 64);
    CHECK(last_retraining(1000, 64, 2) == 512);
    CHECK(last_retraining(324, 64, 1.5) == 324);
    CHECK(last_retraining(485, 64, 1.5) == 324); // 486 is next
    CHECK(last_retraining(most - 1, 64, std::numeric_limits<double>::infinity()) == 64);
    std::size_t before = 0;
    for (std::size_t n = 1; n < 5000; ++n) { // never falls, never beyond
        const std::size_t mark = last_retraining(n, 7, augur::least_retraining_growth);
        CHECK(mark >= before);
        CHECK(mark <= n);
        before = mark;
    }
    CHECK(last_retraining(most / 2, 1, augur::least_retraining_growth) > most / 4);
}
