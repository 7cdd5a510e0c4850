// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/detail/lowered_statement.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <augur/loopnest/codegen/c_writer.hpp>
#include <augur/loopnest/features/schedule_nest.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/target/machine_instructions.hpp>
#include <augur/workload/loop_nest.hpp>

#include "dags.hpp"
#include "kernels.hpp"

namespace lowered_statement_test {

namespace loopnest = augur::loopnest;

namespace {

struct operations {
    std::size_t products = 0, quotients = 0; ///< of all statements
    bool c_divides = false;                  ///< a division in the C text; it has none of indices while no loop is split
};

/// Of the schedule without a step.
operations operations_of(const std::shared_ptr<const loopnest::compute_dag>& dag) {
    const loopnest::loop_state state(dag);
    const auto lowered = loopnest::lower(state);
    REQUIRE(lowered);
    augur::loop_nest_builder nest;
    loopnest::schedule_nest{&state, &*lowered}.visit(nest);
    operations out;
    for (const auto& s : nest.statements())
        for (const auto& o : s.operations) {
            out.products += o.op == augur::instruction_class::fmul ? 1 : 0;
            out.quotients += o.op == augur::instruction_class::fdiv ? 1 : 0;
        }
    const auto program = loopnest::write_c(*lowered);
    REQUIRE(!program.source.empty());
    out.c_divides = program.source.find(" / ") != std::string::npos;
    return out;
}

} // namespace

TEST_CASE("lowered_statement: a quotient by a constant is a product with its reciprocal, as in the C text; other quotients are divisions") {
    const struct {
        const char* kernel;
        std::size_t products, quotients; // by the formulas of the operators
    } expected[] = {
        {"max_pool2d:n=1,h=9,w=9,c=4,k=3,stride=2", 0, 0},
        {"avg_pool2d:n=1,h=6,w=6,c=4,k=2,stride=2", 1, 0}, // by 4
        {"avg_pool2d:n=1,h=9,w=9,c=4,k=3,stride=2", 1, 0}, // by 9
        {"global_avg_pool2d:n=1,h=5,w=7,c=6", 1, 0},
        {"reduce_mean:m=3,n=11", 1, 0},
        {"layer_norm:m=3,n=17", 5, 1}, // mean, square, variance, scale twice; one over the deviation
    };
    for (const auto& e : expected) {
        CAPTURE(e.kernel);
        const auto got = operations_of(dag_of(e.kernel));
        CHECK(got.products == e.products);
        CHECK(got.quotients == e.quotients);
        CHECK(got.c_divides == (e.quotients > 0));
    }
    const auto softmax = operations_of(dag_of("softmax:m=4,n=19"));
    CHECK(softmax.quotients == 1);
    CHECK(softmax.c_divides);
}

TEST_CASE("lowered_statement: a constant whose reciprocal is no normal number stays a divisor, as in the C text") {
    for (const double divisor : {3.0, -8.0, 1e29, 1e31, 1e-31}) {
        CAPTURE(divisor);
        const bool divides = divisor == 1e31 || divisor == 1e-31;
        loopnest::compute_dag d;
        const int x = d.input("x", {8});
        d.compute("y", {{"i", 8}}, loopnest::ex::read(x, {loopnest::ex::axis(0)}) / loopnest::ex::constant(divisor));
        const auto got = operations_of(loopnest::testing_dags::share(std::move(d)));
        CHECK(got.products == (divides ? 0U : 1U));
        CHECK(got.quotients == (divides ? 1U : 0U));
        CHECK(got.c_divides == divides);
    }
}

} // namespace lowered_statement_test
