// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/lower.hpp>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <augur/loopnest/interpret.hpp>
#include <augur/loopnest/operators.hpp>
#include <augur/loopnest/reference.hpp>

#include <doctest/doctest.h>

#include "kernels.hpp"
#include "random_schedule.hpp"

using namespace augur;

TEST_CASE("lower: random schedules of every operator compute what the definition says") {
    for (const auto& text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [inputs, want] = evaluated(*dag);
        augur::random rng(fnv1a64(text));
        std::set<std::string> kinds;
        for (int i = 0; i < 200; ++i) {
            CAPTURE(i);
            const auto s = random_schedule::sample(dag, rng, 24);
            for (const auto& step : s.steps()) kinds.insert(std::visit([](const auto& x) { return std::string(x.kind); }, step));
            const auto k = lower(s);
            REQUIRE(k);
            const auto got = interpret(*k, inputs);
            if (!got) FAIL(got.why().detail);
            REQUIRE(got->size() == want.size());
            double worst = 0;
            for (std::size_t o = 0; o < want.size(); ++o) worst = (std::max)(worst, largest_error((*got)[o], want[o]));
            if (!(worst <= 2e-5)) {
                std::string list;
                list = to_json(s.schedule());
                FAIL("error ", worst, " with\n", list);
            }
        }
        CHECK(kinds.size() >= 6); // splits, fusions, reorders, attachments: the fuzzer must not starve
    }
}
