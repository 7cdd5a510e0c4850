// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Annealing and coordinate descent in the spaces of kernels.
#include <augur/search/annealing.hpp>
#include <augur/search/descent.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>

#include "dags.hpp"

using namespace augur;
using namespace augur::loopnest;
using namespace augur::loopnest::testing_dags;

TEST_CASE("ansor_space: coordinate neighbours are programs that differ, and neither search proposes anything else") {
    for (const bool faithful : {false, true})
        for (const auto& kernel : {std::pair<std::string, dag_ptr>{"matmul", matmul(56, 64, 60)},
                                   {"conv", conv2d_nhwc_bias_relu(14, 14, 12, 16, 3, 1, 1)},
                                   {"softmax", softmax({128}, 768)}}) {
            CAPTURE(kernel.first);
            ansor_options options;
            options.faithful = faithful;
            const auto space = ansor_space::create(kernel.second, options);
            REQUIRE(space);
            random_engine rng(1);
            std::size_t neighbours = 0;
            for (int k = 0; k < 10; ++k) {
                const auto from = sample_path(*space, rng).values;
                const auto near = coordinate_neighbours(*space, from);
                REQUIRE(near);
                for (const auto& p : *near) {
                    REQUIRE(p != from);
                    REQUIRE(space->realise(p));
                }
                neighbours += near->size();
            }
            CHECK(neighbours >= 100);

            auto scorer = [](std::span<const decision_vector> points, std::span<float> scores) -> result<void> {
                for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(hash_decisions(points[i]) % 1000);
                return {};
            };
            annealing_options few;
            few.walkers = 16;
            few.iterations = 20;
            then_descend search(simulated_annealing<>(few), 16);
            std::set<decision_vector> seen;
            for (int round = 0; round < 4; ++round) {
                const auto points = search.propose(*space, scorer, 16, rng);
                REQUIRE(points);
                CHECK(points->size() == 16);
                std::vector<measured_decisions> back;
                for (const auto& p : *points) {
                    REQUIRE(space->realise(p));
                    REQUIRE(seen.insert(p).second);
                    back.push_back({p, 1 + static_cast<double>(hash_decisions(p) % 100)});
                }
                search.observe(back);
            }
        }
}
