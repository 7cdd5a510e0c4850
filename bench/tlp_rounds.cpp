// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlp_rounds.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_set>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>
#include <augur/workload/networks.hpp>

std::vector<augur::step_list> tlp_rounds::round_of(const augur::kernel& what, std::size_t n) {
    auto dag = augur::loopnest::build_dag(what);
    if (!dag) std::abort();
    augur::loopnest::ansor_options options;
    options.num_cores = 2;
    auto space = augur::loopnest::ansor_space::create(std::make_shared<const augur::loopnest::compute_dag>(*std::move(dag)), options);
    if (!space) std::abort();
    augur::random_engine rng(1);
    std::unordered_set<std::uint64_t> seen;
    std::vector<augur::step_list> round;
    for (std::size_t draws = 0; round.size() < n && draws < 16 * n; ++draws) {
        const auto path = augur::sample_path(*space, rng);
        if (!seen.insert(augur::hash_decisions(path.values)).second) continue;
        auto steps = space->realise(path.values);
        if (!steps) std::abort();
        round.push_back(*std::move(steps));
    }
    return round;
}

std::vector<augur::kernel> tlp_rounds::convolutions() {
    std::vector<augur::kernel> all;
    for (const std::string_view name : {"resnet_50", "mobilenet_v2"}) {
        const auto net = augur::find_network(name);
        if (!net) std::abort();
        for (const auto& k : net->kernels)
            if (k.workload.kind() == augur::kernel_kind::conv2d || k.workload.kind() == augur::kernel_kind::depthwise_conv2d)
                all.push_back(k.workload);
    }
    return all;
}
