// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/schedule/sketch.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/json.hpp>
#include <augur/schedule/steps_json.hpp>

#include "dags.hpp"

using namespace augur;

using namespace augur::loopnest;
using namespace augur::loopnest::testing_dags;

namespace {

std::vector<sketch> sketches_of(const dag_ptr& dag, std::int64_t cores = 4) {
    auto out = generate_sketches(dag, {cores, 4096, false});
    REQUIRE_MESSAGE(static_cast<bool>(out), out.error().detail);
    return *std::move(out);
}

dag_ptr build(const std::string& name, const std::vector<std::int64_t>& a) {
    if (name == "matmul") return matmul(a[0], a[1], a[2]);
    if (name == "double_matmul") return double_matmul(a[0]);
    if (name == "conv2d_nchw_bn_relu") return conv2d_nchw_bn_relu(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    if (name == "max_pool2d") return max_pool2d_nchw(a[0], a[1], a[2], a[3], 2, 1, a[4]);
    if (name == "min over axis") return row_reduce({a[0]}, a[1], reducer::min);
    if (name == "softmax 2d") return softmax({a[0]}, a[1]);
    if (name == "softmax 4d") return softmax({a[0], a[1], a[2]}, a[3]);
    if (name == "conv2d winograd nhwc") return winograd_nhwc(a[1], a[2], a[3], a[4], a[7]);
    if (name == "zero-rank reduction") return zero_rank(a[0]);
    return nullptr;
}

std::string steps_of(const sketch& s) { return to_json(s.steps); }
stage::place where(const sketch& s, std::size_t i) { return s.state.stages()[i].placement; }

} // namespace

TEST_CASE("sketch: as many as TVM makes") {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/ansor_sketch_counts.json");
    REQUIRE(file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    json_reader in(text);
    std::string_view key;
    int rows = 0;
    in.begin_object();
    while (in.next_member(key)) {
        if (key != "rows") {
            in.skip();
            continue;
        }
        in.begin_array();
        while (in.next_element()) {
            std::string name;
            std::vector<std::int64_t> args;
            std::int64_t expected = 0;
            in.begin_object();
            while (in.next_member(key)) {
                if (key == "workload") in.read(name);
                else if (key == "sketches") in.read(expected);
                else if (key == "args") {
                    in.begin_array();
                    while (in.next_element()) in.read(args.emplace_back());
                } else in.skip();
            }
            CAPTURE(name);
            const auto dag = build(name, args);
            REQUIRE(dag);
            const auto sketches = sketches_of(dag);
            CHECK(static_cast<std::int64_t>(sketches.size()) == expected);
            std::set<std::string> distinct;
            for (const auto& s : sketches) distinct.insert(steps_of(s));
            CHECK(distinct.size() == sketches.size());
            ++rows;
        }
    }
    CHECK(static_cast<bool>(in.finish()));
    CHECK(rows == 10);
}

TEST_CASE("sketch: the steps of a matmul") {
    const auto s = sketches_of(matmul(512, 512, 512));
    REQUIRE(s.size() == 3);
    CHECK(steps_of(s[0]) == R"([["SP", 2, 0, 512, [0, 0, 0], 1], ["SP", 2, 4, 512, [0, 0, 0], 1], ["SP", 2, 8, 512, [0], 1], )"
                            R"(["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]]])");
    CHECK(steps_of(s[1]) ==
          R"([["CHW", 2, "local"], ["SP", 2, 0, 512, [0, 0, 0], 1], ["SP", 2, 4, 512, [0, 0, 0], 1], ["SP", 2, 8, 512, [0], 1], )"
          R"(["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["FSP", 3, 0, 1, 1], ["FSP", 3, 2, 2, 1], ["RE", 3, [0, 2, 1, 3]], ["CA", 2, 3, 1]])");
    CHECK(steps_of(s[2]) ==
          R"([["CHW", 2, "local"], ["SP", 2, 0, 512, [0, 0, 0], 1], ["SP", 2, 4, 512, [0, 0, 0], 1], ["SP", 2, 8, 512, [0], 1], )"
          R"(["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["FSP", 3, 0, 1, 2], ["FSP", 3, 3, 2, 2], ["RE", 3, [0, 3, 1, 4, 2, 5]], ["CA", 2, 3, 3]])");
}

TEST_CASE("sketch: rfactor comes first, outer part then inner part") {
    const auto s = sketches_of(matmul(8, 8, 512));
    REQUIRE(s.size() == 5);
    CHECK(steps_of(s[0]) == R"([["SP", 2, 2, 512, [0], 1], ["RF", 2, 2, 2]])");
    CHECK(steps_of(s[1]) == R"([["SP", 2, 2, 512, [0], 1], ["RF", 2, 3, 2], ["RE", 2, [0, 1, 3, 2]]])");
    CHECK(s[0].state.stages().size() == 4);
    CHECK(sketches_of(matmul(8, 8, 512), 3).size() == 3); // 64 outputs are enough for 3 cores
    // several reduce loops are fused first
    const auto p = sketches_of(max_pool2d_nchw(1, 112, 112, 64, 3, 2, 1), 2);
    REQUIRE(p.size() == 3);
    CHECK(steps_of(p[1]) == R"([["FU", 2, [4, 5]], ["SP", 2, 4, 9, [0], 1], ["RF", 2, 5, 4], ["RE", 2, [0, 1, 2, 3, 5, 4]]])");
}

TEST_CASE("sketch: a convolution with an element-wise tail, as TVM's own test looks at it") {
    const auto s = sketches_of(conv2d_nchw_bn_relu(1, 56, 56, 512, 512, 3, 1, 1));
    REQUIRE(s.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK_FALSE(augur::loopnest::detail::is_tiled(s[i].state, 1));
        CHECK(augur::loopnest::detail::is_tiled(s[i].state, 3));
        CHECK(where(s[i], 3) == (i < 2 ? stage::place::at : stage::place::root));
        for (const std::size_t tail : {5U, 7U, 9U}) CHECK(where(s[i], tail) == stage::place::inlined);
        CHECK(augur::loopnest::detail::is_tiled(s[i].state, 10) == (i < 2));
    }
}

TEST_CASE("sketch: softmax, each reduction three ways") {
    for (const auto& dag : {softmax({1}, 1024), softmax({1, 12, 128}, 128)}) {
        const auto s = sketches_of(dag);
        REQUIRE(s.size() == 9);
        const auto factored = [](const sketch& x) {
            std::vector<std::int64_t> stages;
            for (const auto& step : x.steps.steps)
                if (const auto* f = std::get_if<rfactor_step>(&step)) stages.push_back(f->stage);
            return stages;
        };
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j) {
                std::vector<std::int64_t> expected;
                if (i < 2) expected.push_back(3);
                if (j < 2) expected.push_back(1);
                CHECK(factored(s[i * 3 + j]) == expected);
            }
        CHECK(s[8].steps.steps.empty());
    }
}

TEST_CASE("sketch: winograd unrolls what indexes constants") {
    const auto s = sketches_of(winograd_nhwc(28, 28, 128, 128, 1));
    REQUIRE(s.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t behind = i == 0 ? 0 : 1; // the cache stage
        for (const std::size_t st : {1U, 2U}) CHECK_FALSE(augur::loopnest::detail::is_tiled(s[i].state, st));
        CHECK(where(s[i], 3) == stage::place::inlined);
        CHECK(augur::loopnest::detail::is_tiled(s[i].state, 4));
        CHECK(augur::loopnest::detail::is_tiled(s[i].state, 6));
        CHECK(where(s[i], 6) == (i == 0 ? stage::place::root : stage::place::at));
        CHECK(where(s[i], 7 + behind) == stage::place::inlined);
        CHECK(augur::loopnest::detail::is_tiled(s[i].state, 8 + behind));
        CHECK_FALSE(augur::loopnest::detail::is_tiled(s[i].state, 9 + behind));
        std::size_t unrolled = 0;
        for (const auto& it : s[i].state.stages()[4].iters) unrolled += it.annotation == loop_annotation::unroll ? 1 : 0;
        CHECK(unrolled == 4);
    }
}

TEST_CASE("sketch: plain reductions that read along rows are tiled on request") {
    const auto more = [](const dag_ptr& dag) {
        auto out = generate_sketches(dag, {64, 4096, true});
        REQUIRE(out);
        return *std::move(out);
    };
    const auto s = more(max_pool2d_nhwc(1, 112, 112, 64, 3, 2, 1));
    REQUIRE(s.size() == 2);
    CHECK(steps_of(s[0]) == R"([["SP", 2, 0, 1, [0], 1], ["SP", 2, 2, 56, [0], 1], ["SP", 2, 4, 56, [0], 1], ["SP", 2, 6, 64, [0], 1], )"
                            R"(["RE", 2, [0, 2, 4, 6, 8, 9, 1, 3, 5, 7]]])");
    CHECK(s[1].steps.steps.empty());
    CHECK(more(max_pool2d_nchw(1, 112, 112, 64, 3, 2, 1)).size() == 2);
    CHECK(more(row_reduce({1024}, 32, reducer::sum)).size() == 1); // contiguous along the reduction
}

TEST_CASE("sketch: an operand that is read along the reduction is copied on request") {
    const auto product = [](bool transposed, bool constant) {
        compute_dag d;
        const int x = d.input("x", {2, 8, 16}),
                  y = d.input("y", transposed ? std::vector<std::int64_t>{2, 12, 16} : std::vector<std::int64_t>{2, 16, 12}, constant);
        d.compute("z", {{"b", 2}, {"i", 8}, {"j", 12}},
                  ex::read(x, {ax(0), ax(1), ax(3)}) * ex::read(y, transposed ? std::vector{ax(0), ax(2), ax(3)} : std::vector{ax(0), ax(3), ax(2)}),
                  {{"k", 16}}, reducer::sum);
        return share(std::move(d));
    };
    const auto count = [](const dag_ptr& dag, bool copies) {
        const auto all = generate_sketches(dag, {4, 4096, false, copies});
        REQUIRE(all);
        for (const auto& s : *all) {
            std::size_t reads = 0;
            for (const auto& step : s.steps.steps) reads += std::holds_alternative<cache_read_step>(step) ? 1 : 0;
            CHECK(reads <= 1);
            if (reads == 0) continue;
            CHECK(augur::loopnest::detail::is_cache_read(s.steps.steps, 2));
            CHECK(where(s, 2) == stage::place::at);
            CHECK(s.state.stages()[2].at_stage > 2);
            CHECK(s.state.dag().ops[2].name == "y.local");
        }
        return all->size();
    };
    CHECK(count(product(true, false), false) == 3);
    CHECK(count(product(true, false), true) == 6);
    CHECK(count(product(true, true), true) == 3);   // a constant is packed, once
    CHECK(count(product(false, false), true) == 3); // read along the innermost axis
    // Inside the outermost tiles, so that the copy serves all inner ones: the fused stage's outer loops, or the product's own.
    const auto all = generate_sketches(product(true, false), {4, 4096, false, true});
    REQUIRE(all);
    CHECK(steps_of((*all)[3]).ends_with(R"(["CHR", 1, "local", [2]], ["CA", 2, 3, 2]])"));
    CHECK(steps_of((*all)[4]).ends_with(R"(["CA", 2, 3, 2], ["CHR", 1, "local", [2]], ["CA", 2, 4, 2]])"));
    CHECK(steps_of((*all)[5]).ends_with(R"(["CA", 2, 3, 5], ["CHR", 1, "local", [2]], ["CA", 2, 4, 2]])"));
}

TEST_CASE("sketch: bad arguments are told") {
    CHECK(generate_sketches(matmul(8, 8, 8), {0, 4096, false}).error().code == errc::invalid_argument);
    CHECK(generate_sketches(matmul(8, -1, 8), {}).error().code == errc::shape_mismatch);
    CHECK(generate_sketches(share(compute_dag{}), {}).error().code == errc::shape_mismatch);
    // 3^10 sketches
    compute_dag d;
    int x = d.input("A", {4, 4096});
    for (int i = 0; i < 10; ++i) {
        const auto n = std::to_string(i);
        const int s = d.compute("s" + n, {{"i", 4}}, ex::read(x, {ax(0), ax(1)}), {{"k", 4096}}, reducer::max);
        x = d.compute("e" + n, {{"i", 4}, {"j", 4096}}, ex::exp(ex::read(x, {ax(0), ax(1)}) - ex::read(s, {ax(0)})));
    }
    CHECK(generate_sketches(share(std::move(d)), {}).error().code == errc::limit);
}
