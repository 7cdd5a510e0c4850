// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/codegen/naive_evaluator.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/loopnest/ir/dag.hpp>

using namespace augur;

using namespace augur::loopnest;

namespace {

using tensor = std::vector<float>;

void refused(const compute_dag& dag, std::vector<tensor> tensors, std::string_view part) {
    const auto r = evaluate(dag, tensors);
    REQUIRE_FALSE(r);
    CAPTURE(r.error().detail);
    CHECK(r.error().detail.find(part) != std::string::npos);
}

} // namespace

TEST_CASE("naive evaluator: sums are in double, and only the chosen side of a select is read") {
    compute_dag dag;
    const auto x = dag.input("x", {3});
    dag.compute("sum", {}, ex::read(x, {ex::axis(0)}), {{"k", 3}}, reducer::sum);
    std::vector<tensor> t{{1e8F, 1.0F, -1e8F}, {}};
    REQUIRE(evaluate(dag, t));
    CHECK(t[1] == tensor{1.0F});

    compute_dag guarded;
    const auto y = guarded.input("y", {2});
    const auto inside = ex::both(ex::less_equal(ex::integer(0), ex::axis(0) - ex::integer(1)), ex::less(ex::axis(0), ex::integer(3)));
    guarded.compute("pad", {{"i", 4}}, ex::select(inside, ex::read(y, {ex::axis(0) - ex::integer(1)}), ex::constant(-1)));
    std::vector<tensor> u{{5, 6}, {}};
    REQUIRE(evaluate(guarded, u));
    CHECK(u[1] == tensor{-1, 5, 6, -1});
}

TEST_CASE("naive evaluator: NaN in maxima and minima, and results beyond single precision") {
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    constexpr auto most = (std::numeric_limits<float>::max)();
    compute_dag dag;
    const auto x = ex::read(dag.input("x", {4}), {ex::axis(0)});
    dag.compute("relu", {{"i", 4}}, ex::max(x, ex::constant(0)));
    dag.compute("nan_relu", {{"i", 4}}, ex::max(ex::constant(0), x));
    dag.compute("least", {{"i", 4}}, ex::min(x, ex::constant(6)));
    dag.compute("top", {}, x, {{"k", 4}}, reducer::max);
    dag.compute("bottom", {}, x, {{"k", 4}}, reducer::min);
    dag.compute("exp", {{"i", 4}}, ex::exp(x));
    std::vector<tensor> t(7);
    t[0] = {-infinity, nan, 100, -2};
    REQUIRE(evaluate(dag, t));
    CHECK(t[1] == tensor{0, 0, 100, 0}); // the second operand if one is NaN
    CHECK(t[2][0] == 0);
    CHECK(std::isnan(t[2][1]));
    CHECK(t[3] == tensor{-infinity, 6, 6, -2});
    CHECK(t[4] == tensor{100});
    CHECK(t[5] == tensor{-infinity});
    CHECK(t[6][0] == 0);
    CHECK(std::isnan(t[6][1]));
    CHECK(t[6][2] == infinity);
    t[0] = {nan, -infinity, nan, -infinity};
    REQUIRE(evaluate(dag, t));
    CHECK(t[4] == tensor{-most});
    CHECK(t[5] == tensor{-infinity});
    t[0] = {nan, nan, nan, nan};
    REQUIRE(evaluate(dag, t));
    CHECK(t[4] == tensor{-most});
    CHECK(t[5] == tensor{most});
}

TEST_CASE("naive evaluator: what does not fit is refused, and nothing outside is touched") {
    compute_dag dag;
    const auto x = dag.input("x", {3});
    const auto reading = [&](expr index) {
        auto d = dag;
        d.compute("out", {{"i", 4}}, ex::read(x, {std::move(index)}));
        return d;
    };
    const auto i = ex::axis(0);
    const auto far = ex::integer((std::numeric_limits<std::int64_t>::max)());
    refused(reading(i), {{1, 2, 3}, {}}, "reads outside");
    refused(reading(i - ex::integer(1)), {{1, 2, 3}, {}}, "reads outside");
    refused(reading(i + far), {{1, 2, 3}, {}}, "reads outside");
    refused(reading(far * far * i - far), {{1, 2, 3}, {}}, "reads outside");
    refused(reading(ex::integer(0)), {{1, 2}, {}}, "expected 3 elements, came 2");
    refused(reading(ex::integer(0)), {{1, 2, 3}}, "expected 2 tensors, came 1");
    refused(reading(ex::constant(0)), {{1, 2, 3}, {}}, "not a float32 value");
    refused(reading(ex::less(i, i)), {{1, 2, 3}, {}}, "not a float32 value");

    const auto body = [&](expr value) {
        auto d = dag;
        d.compute("out", {{"i", 4}}, std::move(value));
        return d;
    };
    refused(body(ex::less(i, i)), {{1, 2, 3}, {}}, "not a float32 value");
    refused(body(ex::select(i, ex::constant(1), ex::constant(2))), {{1, 2, 3}, {}}, "not a float32 value");
    refused(body(ex::make(expr_op::add, {i})), {{1, 2, 3}, {}}, "wrong operands");
    refused(body(ex::make(expr_op::exp, {})), {{1, 2, 3}, {}}, "wrong operands");
    refused(body(ex::make(expr_op::exp, {expr()})), {{1, 2, 3}, {}}, "without an operand");
    refused(reading(ex::make(expr_op::floor_div, {i})), {{1, 2, 3}, {}}, "without an operand");
    refused(body(ex::axis(1)), {{1, 2, 3}, {}}, "axis");
    auto twice = body(ex::constant(1));
    twice.ops[1].id = 0;
    refused(twice, {{1, 2, 3}, {}}, "used twice");
    auto huge = body(ex::constant(1));
    huge.ops[1].axes[0].extent = std::int64_t{1} << 40;
    refused(huge, {{1, 2, 3}, {}}, "2^31");
    refused(compute_dag{}, {}, "must end with");
}
