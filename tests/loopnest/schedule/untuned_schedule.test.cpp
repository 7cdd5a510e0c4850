// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/schedule/untuned_schedule.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include <augur/loopnest/lower/interpret.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/schedule/steps_json.hpp>

#include <doctest/doctest.h>

#include "../dags.hpp"
#include "../kernels.hpp"

using namespace augur;

using namespace augur::loopnest;

TEST_CASE("untuned schedule: every operator computes what the definition says, and the schedule is a point of the space") {
    for (const auto& text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [inputs, want] = evaluated(*dag);
        for (const auto& [cores, floats, registers] : {std::tuple{1, 16, 32}, {2, 16, 32}, {64, 16, 32}, {2, 8, 16}, {1, 4, 16}, {2, 4, 32}}) {
            c_options code;
            code.vector_floats = floats;
            code.vector_registers = registers;
            const auto list = untuned_schedule(*dag, cores, code);
            const auto written = to_json(list);
            CAPTURE(written);
            const auto space = ansor_space::create(dag, {.num_cores = cores});
            REQUIRE(space);
            CHECK(space->decide(list));
            loop_state s(dag);
            REQUIRE(s.apply(list));
            const auto k = lower(s);
            REQUIRE(k);
            const auto got = interpret(*k, inputs);
            if (!got) FAIL(got.error().detail);
            double worst = 0;
            for (std::size_t o = 0; o < want.size(); ++o) worst = (std::max)(worst, largest_error((*got)[o], want[o]));
            CHECK(worst <= 2e-5);
        }
    }
}

TEST_CASE("untuned schedule: results of a convolution stay in registers, its lanes are full, and the threads have work") {
    const auto list = untuned_schedule(*dag_of("conv2d:h=28,w=28,c=128,f=128,k=3,pad=1,bias,relu"), 2);
    const auto text = to_json(list);
    CHECK(text.find("[1, 1, 64]") != std::string::npos);    // 64 filters
    CHECK(text.find("[\"CI\", 1]") != std::string::npos);   // padding where it is read
    CHECK(text.find("128, [64], 1]") != std::string::npos); // channels
    CHECK(text.find("[\"AN\"") != std::string::npos);
    c_options avx2;
    avx2.vector_floats = 8;
    avx2.vector_registers = 16;
    const auto narrow = to_json(untuned_schedule(*dag_of("conv2d:h=28,w=28,c=128,f=128,k=3,pad=1,bias,relu"), 2, avx2));
    CHECK(narrow.find("[1, 1, 16]") != std::string::npos); // 16 filters, as many as a register tile has
    CHECK(narrow.find("[1, 1, 14]") != std::string::npos); // half a row of the image, of which the register tiles are parts
    const auto own = to_json(untuned_schedule(*dag_of("depthwise_conv2d:h=28,w=28,c=64,k=3,pad=1"), 2, avx2));
    CHECK(own.find("[1, 1, 32]") != std::string::npos); // 32 channels: no weight is read for two of them
    const auto both = to_json(untuned_schedule(*dag_of("batch_matmul:b=2,m=128,n=128,k=64"), 2, avx2));
    CHECK(both.find("128, [1, 1, 64], 1]") != std::string::npos); // what is copied serves 64 rows
    CHECK(both.find("128, [1, 1, 16], 1]") != std::string::npos);
    const auto copied = to_json(untuned_schedule(*dag_of("batch_matmul:b=2,m=512,n=128,k=64"), 2)); // with 32 registers, too
    CHECK(copied.find("[\"CHR\"") != std::string::npos);
    CHECK(copied.find("512, [1, 1, 64], 1]") != std::string::npos);
    const auto few_rows = to_json(untuned_schedule(*dag_of("batch_matmul:b=2,m=32,n=64,k=64"), 2));
    CHECK(few_rows.find("32, [1, 1, 8], 1]") != std::string::npos); // so that two threads have four tiles each
    const auto uneven = to_json(untuned_schedule(*dag_of("conv2d:h=23,w=23,c=67,f=71,k=3,pad=1"), 2, avx2));
    CHECK(uneven.find("71, [1, 1, 24], 1]") != std::string::npos); // no multiple of a vector up to 16 divides with little padding
    const auto unrolled = [&](const char* kernel) {
        return to_json(untuned_schedule(*dag_of(kernel), 2, avx2)).find("step$512") != std::string::npos;
    };
    CHECK(unrolled("conv2d:h=224,w=224,c=3,f=64,k=7,pad=3,stride=2")); // seven positions of a window, 21 times
    CHECK_FALSE(unrolled("conv2d:h=28,w=28,c=128,f=128,k=3,pad=1"));   // too much code
    CHECK_FALSE(unrolled("dense:m=128,n=128,k=128"));                  // one loop
    CHECK_FALSE(unrolled("max_pool2d:h=112,w=112,c=64,k=3,pad=1,stride=2"));
}

TEST_CASE("untuned schedule: up to four rows of a product whose operand is adjacent along the reduction are sums over lanes") {
    c_options avx2;
    avx2.vector_floats = 8;
    avx2.vector_registers = 16;
    const auto tiles = [](const char* kernel, const c_options& code, const char* tile) {
        return to_json(untuned_schedule(*dag_of(kernel), 2, code)).find(tile) != std::string::npos;
    };
    for (const auto& code : {c_options{}, avx2}) {
        const auto around = [&](const char* kernel) { return tiles(kernel, code, "128, [32, 1, 1], 1]"); }; // tiles of columns around the reduction
        CHECK(around("batch_matmul:b=2,m=1,n=128,k=64")); // the query of a token and the keys before it
        CHECK(around("batch_matmul:b=2,m=4,n=128,k=64"));
        CHECK(tiles("batch_matmul:b=2,m=4,n=128,k=64", code, ", 4, [4, 1, 1], 1]")); // all rows read a key while it is in the cache
        CHECK(around("batch_matmul:b=2,m=1,n=128,k=33"));
        CHECK_FALSE(around("batch_matmul:b=2,m=5,n=128,k=64"));
        CHECK_FALSE(around("batch_matmul:b=2,m=1,n=128,k=7"));           // shorter than a vector
        CHECK_FALSE(around("batch_matmul:b=2,m=4,n=128,k=31"));          // a remainder of 15 or 7 steps for each of 512 results
        CHECK_FALSE(around("batch_matmul:b=2,m=1,n=128,k=64,transb=0")); // the values: the lanes are results
        CHECK_FALSE(around("batch_matmul:b=2,m=4,n=128,k=64,transa=1")); // the other operand is not adjacent
        CHECK(tiles("dense:m=128,n=1,k=64", code, "128, [16, 1, 1], 1]"));
    }
    c_options scalar;
    scalar.vector_floats = 1;
    CHECK_FALSE(tiles("batch_matmul:b=2,m=1,n=128,k=64", scalar, "128, [32, 1, 1], 1]"));
}

TEST_CASE("untuned schedule: products with a scalar, and with a batch between the rows and the columns") {
    using testing_dags::ax;
    compute_dag scaled;
    const int x = scaled.input("X", {40, 24}), w = scaled.input("W", {24, 32}, true), by = scaled.input("S", {});
    scaled.compute("Y", {{"i", 40}, {"j", 32}}, ex::read(x, {ax(0), ax(2)}) * ex::read(w, {ax(2), ax(1)}) * ex::read(by, {}), {{"k", 24}},
                   reducer::sum);
    compute_dag batched; // the batch reads both operands, so that its iterations share no copy
    const int a = batched.input("A", {96, 64, 32}), b = batched.input("B", {64, 48, 32});
    batched.compute("Y", {{"m", 96}, {"b", 64}, {"n", 48}}, ex::read(a, {ax(0), ax(1), ax(3)}) * ex::read(b, {ax(1), ax(2), ax(3)}), {{"k", 32}},
                    reducer::sum);
    for (auto* d : {&scaled, &batched}) {
        const auto dag = std::make_shared<const compute_dag>(*d);
        const auto list = untuned_schedule(*dag, 2);
        loop_state s(dag);
        REQUIRE(s.apply(list));
        CHECK(lower(s));
        CHECK(to_json(list).find("64, [1, 1, 64], 1]") == std::string::npos);
    }
}
