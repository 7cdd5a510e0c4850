// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/schedule/space.hpp>

#include <algorithm>
#include <string>

#include <augur/core/hash.hpp>
#include <augur/loopnest/lower/interpret.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/walk.hpp>

#include <doctest/doctest.h>

#include <augur/loopnest/detail/epilogue.hpp>

#include "kernels.hpp"

using namespace augur;

using namespace augur::loopnest;

TEST_CASE("space: samples of every operator compute what the definition says") {
    int epilogues = 0;
    for (const auto& text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [inputs, want] = evaluated(*dag);
        for (const bool faithful : {false, true}) {
            ansor_options options;
            options.num_cores = 2;
            options.faithful = faithful;
            const auto space = ansor_space::create(dag, options);
            REQUIRE(space);
            augur::random_engine rng(fnv1a64(text));
            for (int i = 0; i < (faithful ? 50 : 200); ++i) {
                auto path = sample_path(*space, rng);
                for (std::size_t k = 0; k < path.values.size(); ++k) // sampling follows Ansor's parallel rule; here any number of loops
                    if (path.decisions[k].kind == decision_kind::parallel) path.values[k] = rng.below(path.decisions[k].options);
                const auto s = space->state(path.values);
                if (!s) FAIL(s.error().detail);
                const auto list = to_json(s->schedule());
                CAPTURE(list);
                const auto k = lower(*s);
                if (!k) FAIL(k.error().detail);
                const auto check = [&](const lowered_kernel& kernel) {
                    const auto got = interpret(kernel, inputs);
                    if (!got) FAIL(got.error().detail);
                    REQUIRE(got->size() == want.size());
                    double worst = 0;
                    for (std::size_t o = 0; o < want.size(); ++o) worst = (std::max)(worst, largest_error((*got)[o], want[o]));
                    REQUIRE(worst <= 2e-5);
                };
                check(*k);
                const auto fused = loopnest::detail::with_epilogues(*k);
                const bool any = std::any_of(fused.nests.begin(), fused.nests.end(), [](const lowered_nest& n) { return n.epilogue.has_value(); });
                if (any) check(fused);
                epilogues += any ? 1 : 0;
            }
        }
    }
    CHECK(epilogues > 300);
}
