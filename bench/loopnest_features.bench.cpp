// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast candidates become the numbers that a cost model reads. One thread; items are states.
#include <augur/loopnest/features/nest_features.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>
#include <augur/workload/kernel.hpp>

namespace {

constexpr std::array<std::string_view, 4> kernels{
    "dense:m=512,n=512,k=512", "conv2d:n=1,h=56,w=56,c=64,f=64,k=3,stride=1,pad=1,layout=nhwc,bias,relu",
    "depthwise_conv2d:n=1,h=56,w=56,c=144,k=3,stride=1,pad=1,layout=nhwc,bias,relu6", "softmax:m=1536,n=128"};

struct candidates {
    std::shared_ptr<const augur::loopnest::compute_dag> dag;
    std::vector<augur::step_list> lists;
};

candidates candidates_of(std::string_view text) {
    candidates out;
    out.dag = std::make_shared<const augur::loopnest::compute_dag>(*augur::loopnest::build_dag(*augur::kernel::parse(text)));
    augur::loopnest::ansor_options options;
    options.num_cores = 24;
    const auto space = *augur::loopnest::ansor_space::create(out.dag, options);
    augur::random_engine rng(1);
    for (int i = 0; i < 256; ++i) out.lists.push_back(*space.realise(augur::sample_path(space, rng).values));
    return out;
}

augur::loopnest::loop_state replayed(const candidates& from, const augur::step_list& list) {
    augur::loopnest::loop_state s(from.dag);
    if (!s.apply(list)) return augur::loopnest::loop_state(from.dag);
    return s;
}

void nest_features(benchmark::State& state) {
    const auto from = candidates_of(kernels[static_cast<std::size_t>(state.range(0))]);
    std::vector<augur::loopnest::loop_state> states;
    std::vector<augur::loopnest::bounded_state> bounds;
    for (const auto& list : from.lists) {
        states.push_back(replayed(from, list));
        bounds.push_back(*augur::loopnest::bound(states.back()));
    }
    augur::loopnest::nest_extractor extractor;
    std::vector<float> out(augur::loopnest::nest_feature_count);
    std::size_t i = 0;
    for (auto _ : state) {
        extractor.extract(states[i], bounds[i], out);
        benchmark::DoNotOptimize(out.data());
        i = (i + 1) % states.size();
    }
    state.SetItemsProcessed(state.iterations());
}

void bound_and_features(benchmark::State& state) {
    const auto from = candidates_of(kernels[static_cast<std::size_t>(state.range(0))]);
    std::vector<augur::loopnest::loop_state> states;
    for (const auto& list : from.lists) states.push_back(replayed(from, list));
    augur::loopnest::nest_extractor extractor;
    std::vector<float> out(augur::loopnest::nest_feature_count);
    std::size_t i = 0;
    for (auto _ : state) {
        auto done = extractor.extract(states[i++ % states.size()], out);
        benchmark::DoNotOptimize(done);
        benchmark::DoNotOptimize(out.data());
    }
    state.SetItemsProcessed(state.iterations());
}

void replay_and_features(benchmark::State& state) {
    const auto from = candidates_of(kernels[static_cast<std::size_t>(state.range(0))]);
    augur::loopnest::nest_extractor extractor;
    std::vector<float> out(augur::loopnest::nest_feature_count);
    std::size_t i = 0;
    for (auto _ : state) {
        auto done = extractor.extract(replayed(from, from.lists[i++ % from.lists.size()]), out);
        benchmark::DoNotOptimize(done);
        benchmark::DoNotOptimize(out.data());
    }
    state.SetItemsProcessed(state.iterations());
}

// 0: matmul 512, 1: conv 3x3 64x56 with bias and relu, 2: depthwise 3x3 144x56, 3: softmax 1536x128
BENCHMARK(nest_features)->Name("loopnest/nest_features")->ArgName("kernel")->DenseRange(0, 3);
BENCHMARK(bound_and_features)->Name("loopnest/bound_and_features")->ArgName("kernel")->DenseRange(0, 3);
BENCHMARK(replay_and_features)->Name("loopnest/replay_and_features")->ArgName("kernel")->DenseRange(0, 3);

} // namespace
