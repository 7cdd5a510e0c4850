// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/lower/lower.hpp>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <augur/loopnest/detail/epilogue.hpp>
#include <augur/loopnest/lower/interpret.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/codegen/naive_evaluator.hpp>

#include <doctest/doctest.h>

#include "kernels.hpp"
#include "random_schedule.hpp"

using namespace augur;

using namespace augur::loopnest;

TEST_CASE("lower: random schedules of every operator compute what the definition says") {
    for (const auto& text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [inputs, want] = evaluated(*dag);
        augur::random_engine rng(fnv1a64(text));
        std::set<std::string> kinds;
        for (int i = 0; i < 200; ++i) {
            CAPTURE(i);
            const auto s = random_schedule::sample(dag, rng, 24);
            for (const auto& step : s.steps()) kinds.insert(std::visit([](const auto& x) { return std::string(x.kind); }, step));
            const auto k = lower(s);
            REQUIRE(k);
            for (const auto& kernel : {*k, loopnest::detail::with_epilogues(*k)}) {
                const auto got = interpret(kernel, inputs);
                if (!got) FAIL(got.error().detail);
                REQUIRE(got->size() == want.size());
                double worst = 0;
                for (std::size_t o = 0; o < want.size(); ++o) worst = (std::max)(worst, largest_error((*got)[o], want[o]));
                if (!(worst <= 2e-5)) {
                    std::string list;
                    list = to_json(s.schedule());
                    FAIL("error ", worst, " with\n", list);
                }
            }
        }
        CHECK(kinds.size() >= 6); // splits, fusions, reorders, attachments: the fuzzer must not starve
    }
}

TEST_CASE("lower: lengths that a log makes huge are refused") {
    const auto refused = [](const std::string& steps) {
        const auto list = parse_steps(steps);
        REQUIRE(list);
        loop_state s(dag_of("dense:m=16,n=64,k=64"));
        if (auto applied = s.apply(*list); !applied) {
            CHECK(applied.error().code == errc::illegal_schedule);
            return applied.error().detail;
        }
        const auto b = bound(s);
        CHECK((b || b.error().code == errc::illegal_schedule));
        return b ? std::string("accepted") : b.error().detail;
    };
    CHECK(refused(R"([["SP",2,2,64,[4,4,4294967297],1],["RF",2,2,0]])") ==
          "step 1 (RF): the lengths of a split make 68719476752 iterations of a loop of 64, rfactor would compute them all");
    CHECK(refused(R"([["SP",2,2,64,[4,4],1],["RF",2,2,0]])") == "accepted");
    CHECK(refused(R"([["SP",2,2,64,[3,7],1],["RF",2,2,0]])") == "accepted"); // 84 iterations
    CHECK(refused(R"([["SP",2,2,64,[4,4,4294967297],1]])") == "accepted");   // without rfactor a part is no longer than its loop
    CHECK(refused(R"([["SP",2,2,64,[0,1099511627776,1099511627776],1]])") == "step 0 (SP): product of lengths beyond 2^40");
    CHECK(refused(R"([["SP",2,0,16,[1099511627776],1],["SP",2,2,64,[1099511627776],1],["FFSP",2,4,[0,1],0,1]])") ==
          "step 2 (FFSP): product of lengths beyond 2^40");

    // a name that every round makes 17 times as long
    std::string parts = "1", loops = "0";
    for (int i = 1; i < 16; ++i) parts += ",1";
    for (int i = 1; i < 17; ++i) loops += "," + std::to_string(i);
    std::string grows, many;
    for (int i = 0; i < 40; ++i) {
        grows += std::string(grows.empty() ? "[" : ",") + R"(["SP",2,0,16,[)" + parts + R"(],1],["FU",2,[)" + loops + "]]";
        many += std::string(many.empty() ? "[" : ",") + R"(["SP",2,0,16,[)" + parts + "],1]";
    }
    CHECK(refused(grows + "]") == "step 5 (FU): a loop name beyond 4096 bytes");
    CHECK(refused(many + "]") == "step 31 (SP): more than 512 loops in a stage");

    constexpr std::int64_t side = 1 << 18;
    compute_dag large;
    const int in = large.input("a", {side, side});
    large.compute("b", {{"i", side}, {"j", side}}, ex::read(in, {ex::axis(0), ex::axis(2)}), {{"k", side}}, reducer::sum);
    const auto b = bound(loop_state(std::make_shared<const compute_dag>(large)));
    REQUIRE(!b);
    CHECK(b.error().code == errc::illegal_schedule);
    CHECK(b.error().detail == "stage 1: its loops have more than 2^50 iterations");
}

TEST_CASE("lower: intermediates that do not fit on a thread's stack are refused") {
    const auto chain = [](std::int64_t rows) { // b and c are computed for each i of d, of which each reads all rows of the one before
        compute_dag dag;
        int last = dag.input("a", {rows, 1024});
        const auto all = [&] { return ex::read(last, {ex::axis(1), ex::axis(2)}); };
        last = dag.compute("b", {{"j", rows}, {"k", 1024}}, ex::read(last, {ex::axis(0), ex::axis(1)}) + ex::constant(1));
        last = dag.compute("c", {{"j", rows}, {"k", 1024}}, ex::read(last, {ex::axis(0), ex::axis(1)}) * ex::constant(2));
        dag.compute("d", {{"i", 4}}, all(), {{"j", rows}, {"k", 1024}}, reducer::sum);
        loop_state s(std::make_shared<const compute_dag>(dag));
        REQUIRE(s.apply(compute_at_step{2, 3, 0}));
        REQUIRE(s.apply(compute_at_step{1, 3, 0}));
        return lower(s);
    };
    CHECK(chain(512));
    const auto refused = chain(513);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::illegal_schedule);
    CHECK(refused.error().detail ==
          "stage 3: expected at most 1048576 elements of intermediates at once inside its loops, on the stack, came 1050624");
}

TEST_CASE("interpret: stops at its limit of iterations") {
    const auto dag = dag_of("dense:m=16,n=64,k=64");
    const auto k = lower(loop_state(dag));
    REQUIRE(k);
    const auto inputs = evaluated(*dag).first;
    const auto stopped = interpret(*k, inputs, 1000);
    REQUIRE(!stopped);
    CHECK(stopped.error().code == errc::illegal_schedule);
    CHECK(interpret(*k, inputs, 100'000));
}

TEST_CASE("lower: inlining that doubles an expression with each stage is refused") {
    const auto chain = [](int stages) {
        compute_dag dag;
        int last = dag.input("a", {8});
        for (int i = 0; i <= stages; ++i)
            last = dag.compute("b" + std::to_string(i), {{"i", 8}}, ex::read(last, {ex::axis(0)}) + ex::read(last, {ex::axis(0)}));
        loop_state s(std::make_shared<const compute_dag>(dag));
        for (int i = 1; i <= stages; ++i) REQUIRE(s.apply(compute_inline_step{i}));
        return bound(s);
    };
    CHECK(chain(10));
    const auto refused = chain(60);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::illegal_schedule);
    CHECK(refused.error().detail == "stage 15: an expression of more than 65536 nodes");
}
