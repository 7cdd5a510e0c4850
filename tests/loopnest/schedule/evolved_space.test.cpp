// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options that Ansor's evolution reaches.
#include <augur/loopnest/schedule/space.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <augur/loopnest/lower/interpret.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

#include "dags.hpp"
#include "kernels.hpp"

using namespace augur;

using namespace augur::loopnest;
using namespace augur::loopnest::testing_dags;

namespace {

/// TVM's space or the default one, for two cores.
ansor_space space_of_two(const dag_ptr& dag, bool faithful, bool evolved) {
    auto options = ansor_options::as_tvm(2);
    if (!faithful) options = {.num_cores = 2};
    options.evolved = evolved;
    auto out = ansor_space::create(dag, options);
    REQUIRE_MESSAGE(static_cast<bool>(out), out.error().detail);
    return *std::move(out);
}

/// Ansor's MutateTileSize: one factor moves from a length to another.
bool mutate_tile_size(step_list& list, random_engine& rng) {
    std::vector<split_step*> splits;
    for (auto& s : list.steps)
        if (auto* split = std::get_if<split_step>(&s)) splits.push_back(split);
    if (splits.empty()) return false;
    auto& split = *splits[rng.below(splits.size())];
    std::vector<std::int64_t> lengths{split.extent};
    for (const auto l : split.lengths) {
        lengths.front() /= l;
        lengths.push_back(l);
    }
    auto& from = lengths[rng.below(lengths.size())];
    auto& to = lengths[rng.below(lengths.size())];
    std::vector<std::int64_t> factors;
    for (std::int64_t f = 2; f <= from; ++f)
        if (from % f == 0 && (&to != &lengths.back() || to * f <= 64)) factors.push_back(f);
    if (&from == &to || factors.empty()) return false;
    const auto f = factors[rng.below(factors.size())];
    from /= f;
    to *= f;
    split.lengths.assign(lengths.begin() + 1, lengths.end());
    return true;
}

/// Ansor's MutateParallel: another number of fused outermost loops; annotations of the stage behind it move along.
bool mutate_parallel(const dag_ptr& dag, step_list& list, random_engine& rng) {
    loop_state state(dag);
    for (std::size_t k = 0; k + 1 < list.steps.size(); ++k) {
        auto* fusion = std::get_if<fuse_step>(&list.steps[k]);
        const auto* parallel = std::get_if<annotate_step>(&list.steps[k + 1]);
        if (fusion == nullptr || fusion->iters.front() != 0 || parallel == nullptr || parallel->annotation != loop_annotation::parallel) {
            REQUIRE(state.apply(list.steps[k]));
            continue;
        }
        const auto s = static_cast<std::size_t>(fusion->stage);
        const auto& st = state.stages()[s];
        std::size_t most = 0;
        while (most < st.iters.size() && !st.var_of(most).reduce && !state.has_attached(s, most)) ++most;
        if (most == 0) return false;
        const auto before = static_cast<std::int64_t>(fusion->iters.size());
        fusion->iters.resize(1 + rng.below(most));
        for (std::size_t i = 0; i < fusion->iters.size(); ++i) fusion->iters[i] = static_cast<std::int64_t>(i);
        const auto moved = before - static_cast<std::int64_t>(fusion->iters.size());
        for (auto at = k + 2; at < list.steps.size(); ++at) {
            if (const auto* other = std::get_if<fuse_step>(&list.steps[at]); other != nullptr && other->stage == fusion->stage) return false;
            if (auto* note = std::get_if<annotate_step>(&list.steps[at]); note != nullptr && note->stage == fusion->stage && note->iter != 0)
                note->iter += moved;
        }
        return moved != 0;
    }
    return false;
}

/// Ansor's MutateComputeLocation: one of the candidates in the complete program, whose loops are fused, although the step comes before the fusions.
bool mutate_location(const dag_ptr& dag, const loopnest::detail::sketch_plan& plan, step_list& list, random_engine& rng) {
    loop_state state(dag);
    REQUIRE(state.apply(list));
    REQUIRE(infer_bounds(state));
    for (auto k = plan.steps.steps.size(); k < list.steps.size(); ++k) {
        auto* at = std::get_if<compute_at_step>(&list.steps[k]);
        if (at == nullptr || rng.below(2) == 0) continue;
        auto options = loopnest::detail::compute_locations(state, *plan.accesses, static_cast<std::size_t>(at->stage), true);
        std::erase_if(options, [](const loopnest::detail::compute_location& l) { return l.type != loopnest::detail::compute_location::kind::at; });
        if (options.empty()) return false;
        const auto& to = options[rng.below(options.size())];
        at->target_stage = static_cast<std::int64_t>(to.stage);
        at->target_iter = static_cast<std::int64_t>(to.iter);
        return true;
    }
    return false;
}

bool legal(const dag_ptr& dag, const step_list& list) {
    loop_state state(dag);
    return state.apply(list) && infer_bounds(state);
}

/// Computes the kernel as `list` says and compares with the naive evaluator.
void check_result(const dag_ptr& dag, const step_list& list) {
    loop_state state(dag);
    REQUIRE(state.apply(list));
    const auto lowered = lower(state);
    if (!lowered) FAIL(lowered.error().detail);
    const auto [inputs, want] = evaluated(*dag);
    const auto got = interpret(*lowered, inputs);
    if (!got) FAIL(got.error().detail);
    REQUIRE(got->size() == want.size());
    for (std::size_t o = 0; o < want.size(); ++o) CHECK(largest_error((*got)[o], want[o]) <= 2e-5);
}

std::vector<std::pair<std::string, dag_ptr>> evolved_kernels() {
    return {{"matmul", matmul(8, 96, 32)},
            {"double matmul", double_matmul(16)},
            {"conv nhwc", conv2d_nhwc_bias_relu(8, 8, 8, 24, 3, 1, 1)},
            {"conv nhwc stride 2", conv2d_nhwc_bias_relu(9, 9, 6, 8, 3, 2, 1)},
            {"conv nchw", conv2d_nchw_bn_relu(1, 8, 8, 4, 12, 3, 1, 1)},
            {"max pool", max_pool2d_nchw(1, 12, 12, 8, 3, 2, 1)},
            {"row sum", row_reduce({16}, 48, reducer::sum)},
            {"softmax", softmax({12}, 36)},
            {"softmax 4d", softmax({1, 3, 8}, 12)},
            {"winograd", winograd_nhwc(8, 8, 4, 4, 1)}};
}

} // namespace

TEST_CASE("evolved space: whatever TVM's mutations make of a sampled program is a point, and computes the right result") {
    std::size_t programs = 0, by_tvm = 0, computed = 0;
    for (const auto& kernel : evolved_kernels()) {
        const auto& name = kernel.first;
        const auto& dag = kernel.second;
        CAPTURE(name);
        const auto tvm = space_of_two(dag, true, false);
        const std::vector<ansor_space> spaces{space_of_two(dag, true, true), space_of_two(dag, false, true)};
        random_engine rng(fnv1a64(name));
        for (int parent = 0; parent < 60; ++parent) {
            const auto path = sample_path(tvm, rng);
            const auto& plan = tvm.plan(static_cast<std::size_t>(path.values[0]));
            auto list = *tvm.realise(path.values);
            for (int generation = 0; generation < 8; ++generation) {
                auto child = list;
                const auto rule = rng.below(4);
                if (!(rule == 0   ? mutate_parallel(dag, child, rng)
                      : rule == 1 ? mutate_location(dag, plan, child, rng)
                                  : mutate_tile_size(child, rng)) ||
                    !legal(dag, child))
                    continue;
                list = std::move(child);
                const auto json = to_json(list);
                CAPTURE(json);
                ++programs;
                by_tvm += tvm.decide(list) ? 1 : 0;
                for (const auto& evolved : spaces) {
                    const auto point = evolved.decide(list);
                    REQUIRE(point);
                    const auto back = evolved.realise(*point);
                    REQUIRE(back);
                    CHECK(to_json(*back) == json);
                }
                if (programs % 16 != 0) continue;
                check_result(dag, list);
                ++computed;
            }
        }
    }
    MESSAGE(programs << " programs, " << by_tvm << " points of TVM's sampling, " << computed << " computed");
    CHECK(programs > 1500);
    CHECK(by_tvm < programs * 3 / 4);
    CHECK(computed > 90);
}

TEST_CASE("evolved space: one program of each kind that sampling does not make") {
    const auto check = [](const dag_ptr& dag, std::string_view json) {
        CAPTURE(json);
        const auto list = parse_steps(json);
        REQUIRE(list);
        for (const bool faithful : {false, true}) {
            if (faithful) CHECK(space_of_two(dag, faithful, false).decide(*list).error().code == errc::not_found);
            const auto evolved = space_of_two(dag, faithful, true);
            const auto point = evolved.decide(*list);
            REQUIRE(point);
            const auto back = evolved.realise(*point);
            REQUIRE(back);
            CHECK(to_json(*back) == json);
        }
        check_result(dag, *list);
    };
    const std::string tiled = R"([["SP", 2, 0, 4, [1, 2, 1], 1], ["SP", 2, 4, 48, [1, 1, 24], 1], ["SP", 2, 8, 8, [2], 1], )"
                              R"(["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], )";
    const auto product = matmul(4, 48, 8);
    check(product, tiled + R"(["FU", 2, [0, 1]], ["AN", 2, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$64"], ["AN", 2, 8, 2]])"); // a vector of 24
    check(product, tiled + R"(["FU", 2, [0]], ["AN", 2, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$0"]])");        // a fusion of one loop
    check(product, R"([["SP", 2, 0, 4, [1, 2, 1], 1], ["SP", 2, 4, 48, [1, 1, 8], 1], ["SP", 2, 8, 8, [2], 1], )" // no vector of 8
                   R"(["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["AN", 2, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$0"]])");
    check(max_pool2d_nchw(1, 12, 12, 8, 3, 2, 1), // the padding in the loop over one image
          R"([["CA", 1, 2, 0], ["AN", 2, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$16"], ["AN", 1, 3, 2]])");
    check(softmax({12}, 36), // the sum in a loop that is a vector
          R"([["CA", 3, 4, 1], ["AN", 1, 0, 3], ["AN", 2, 0, 3], ["AN", 4, 0, 3], ["PR", 1, 0, "auto_unroll_max_step$16"], )"
          R"(["PR", 3, 0, "auto_unroll_max_step$0"], ["AN", 4, 1, 2]])");
}

TEST_CASE("evolved space: it has the options of the other space first, and its samples") {
    for (const auto& kernel : evolved_kernels()) {
        const auto& name = kernel.first;
        const auto& dag = kernel.second;
        CAPTURE(name);
        for (const bool faithful : {false, true}) {
            const auto usual = space_of_two(dag, faithful, false), evolved = space_of_two(dag, faithful, true);
            random_engine one(3), two(3);
            for (int i = 0; i < 50; ++i) {
                const auto path = sample_path(usual, one), same = sample_path(evolved, two);
                CHECK(path.values == same.values);
                CHECK(*usual.realise(path.values) == *evolved.realise(path.values));
                CHECK(describe_point(usual, path.values)->items == describe_point(evolved, path.values)->items);
                auto a = usual.cursor(), b = evolved.cursor();
                for (const auto v : path.values) {
                    const auto d = *a.next(), e = *b.next();
                    CHECK(d.kind == e.kind);
                    CHECK(d.options <= e.options);
                    CHECK(d.sampled == e.sampled);
                    if (d.sampled) CHECK(d.sampled_options() == e.sampled_options());
                    CHECK(d.preferred == e.preferred);
                    for (std::uint64_t o = 0; o < d.options && d.kind != decision_kind::sketch && d.kind != decision_kind::tile_size; ++o)
                        CHECK(a.emits(o) == b.emits(o));
                    a.choose(v);
                    b.choose(v);
                }
            }
        }
    }
}

TEST_CASE("evolved space: any choice of its options is a legal program, which gives its decisions back, as do its mutants") {
    std::size_t computed = 0;
    for (const auto text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        for (const bool faithful : {false, true}) {
            const auto space = space_of_two(dag, faithful, true);
            random_engine rng(fnv1a64(text));
            for (int i = 0; i < 24; ++i) {
                decision_path path;
                auto cursor = space.cursor();
                while (const auto d = cursor.next()) {
                    path.decisions.push_back(*d);
                    path.values.push_back(rng.below(d->options));
                    cursor.choose(path.values.back());
                }
                for (const auto& values : {path.values, mutate_path(space, path, mutation_weights::cpu(), rng).values}) {
                    const auto list = space.realise(values);
                    REQUIRE_MESSAGE(static_cast<bool>(list), list.error().detail);
                    const auto json = to_json(*list);
                    CAPTURE(json);
                    REQUIRE(legal(dag, *list));
                    const auto back = space.decide(*list);
                    REQUIRE(back);
                    CHECK(*back == values);
                    if (++computed % 4 == 0) check_result(dag, *list);
                }
            }
        }
    }
}
