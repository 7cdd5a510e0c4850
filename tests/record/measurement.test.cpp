// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/measurement.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>

namespace {

augur::measurement timed(std::vector<double> seconds) {
    augur::measurement m;
    m.status = augur::outcome::ok;
    m.seconds = std::move(seconds);
    return m;
}

} // namespace

TEST_CASE("measurement: the latency is the median, as sorting gives it, for times of any size") {
    augur::random_engine rng(3);
    for (std::size_t n = 1; n < 40; ++n) {
        std::vector<double> seconds(n);
        for (double& s : seconds) s = rng.uniform(1e-6, 1e-3);
        auto sorted = seconds;
        std::sort(sorted.begin(), sorted.end());
        const double expected = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
        CHECK(timed(seconds).latency() == expected);
        CHECK(timed(seconds).spread() == (n < 2 ? 0 : (sorted.back() - sorted.front()) / expected));
    }
    constexpr double large = std::numeric_limits<double>::max();
    CHECK(timed({large, large}).latency() == large);
}

TEST_CASE("measurement: a failure, no time and a time that is none have no latency, and the last is named") {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    auto failed = timed({1e-3});
    failed.status = augur::outcome::run_timeout;
    CHECK(failed.latency() == inf);
    CHECK(timed({}).latency() == inf);
    CHECK(timed({}).unsound() == nullptr);
    for (const double bad : {0.0, -1.0, inf, -inf, nan})
        for (std::size_t at = 0; at < 3; ++at) {
            auto m = timed({1e-3, 2e-3, 3e-3});
            m.seconds[at] = bad;
            CHECK(m.latency() == inf);
            CHECK(m.unsound() == &m.seconds[at]);
        }
}

TEST_CASE("measurement: the label is 1 for the best, falls with the time, and is 0 for a failure, also where all failed") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    CHECK(augur::speed_label(2e-3, 2e-3) == 1);
    CHECK(augur::speed_label(2e-3, 8e-3) == 0.25F);
    CHECK(augur::speed_label(2e-3, inf) == 0);
    CHECK(augur::speed_label(inf, inf) == 0);
}
