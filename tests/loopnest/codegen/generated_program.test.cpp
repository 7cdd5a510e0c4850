// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/codegen/generated_program.hpp>

#include <string>

#include <doctest/doctest.h>

#include <augur/loopnest/codegen/c_writer.hpp>
#include <augur/schedule/steps_json.hpp>

#include "kernels.hpp"
#include "native_object.hpp"

using namespace augur;

using namespace augur::loopnest;

// The buffer ends at a page that cannot be accessed.
TEST_CASE("generated program: a masked load reads its lanes only") {
    std::string source(program_prelude);
    for (const char* n : {"2", "4", "8", "16"}) {
        const auto v = std::string("aug_load_mask") + n;
        source += std::string("void last") + n + "(const float *end, float *to) { aug_store" + n + "(to, " + v + "(end - 1, aug_lanes(-3, 1, " + n +
                  "), 7.0f)); }\n";
        source += std::string("void first") + n + "(const float *begin, float *to) { aug_store" + n + "(to, " + v + "(begin - 1, aug_lanes(1, 2, " +
                  n + "), 7.0f)); }\n";
    }
    const native_object object(source);
    const guarded_floats from(1024); // whole pages: both ends are at one
    from.data()[0] = 3;
    from.data()[1023] = 5;
    for (const int n : {2, 4, 8, 16}) {
        float got[16] = {};
        object.function<void(const float*, float*)>("last" + std::to_string(n))(from.data() + 1024, got);
        CHECK(got[0] == 5);
        CHECK(got[1] == 7);
        object.function<void(const float*, float*)>("first" + std::to_string(n))(from.data(), got);
        CHECK(got[0] == 7);
        CHECK(got[1] == 3);
        CHECK(got[n - 1] == (n == 2 ? 3 : 7));
    }
}

// The product is attached to its bias, and both to the gelu.
TEST_CASE("generated program: two element-wise stages behind a product, each attached to the next") {
    const auto dag = dag_of("dense:m=3,n=5,k=8,bias,gelu"); // 2 product, 4 bias, 5 gelu
    loop_state s(dag);
    REQUIRE(s.apply(compute_at_step{4, 5, 0}));
    REQUIRE(s.apply(compute_at_step{2, 4, 0}));
    const auto k = lower(s);
    REQUIRE(k);
    const auto p = write_c(*k);
    std::vector<std::vector<float>> tensors(dag->ops.size());
    const auto [inputs, want] = evaluated(*dag);
    for (std::size_t i = 0, next = 0; i < dag->ops.size(); ++i)
        if (dag->ops[i].placeholder()) tensors[i] = inputs[next++];
    const auto got = outputs_of(native_object(std::string(program_prelude) + p.source), *dag, p, tensors);
    CHECK(largest_error(got.front(), want.front()) <= 2e-5);
}

// gcc makes masked loads of the reads that a guard skips behind the end of a matrix, with a mask that it knows.
TEST_CASE("generated program: splits that overshoot read nothing behind the end of a buffer") {
    const auto dag = dag_of("matmul:m=8,n=6,k=9");
    const auto steps = parse_steps(R"([["RF",2,2,0],["CHW",3,"local"],["SP",4,1,0,[4],1],["SP",2,2,0,[2],1],["AN",2,0,2],["FSP",3,2,3,1],)"
                                   R"(["FSP",3,3,3,2],["RE",3,[0,1,2,3,4,5]],["SP",3,0,0,[4,26,4],0],["SP",3,6,0,[8],1]])");
    REQUIRE(steps);
    loop_state s(dag);
    REQUIRE(s.apply(*steps));
    const auto k = lower(s);
    REQUIRE(k);
    c_options how;
    how.vector_floats = 4;
    how.vector_registers = 16;
    const auto p = write_c(*k, how);
    CHECK(p.source.find("AUG_BRANCH") != std::string::npos);
    std::vector<std::vector<float>> tensors(dag->ops.size());
    const auto [inputs, want] = evaluated(*dag);
    for (std::size_t i = 0, next = 0; i < dag->ops.size(); ++i)
        if (dag->ops[i].placeholder()) tensors[i] = inputs[next++];
    const auto got = outputs_of(native_object(std::string(program_prelude) + p.source), *dag, p, tensors);
    CHECK(largest_error(got.front(), want.front()) <= 2e-5);
}
