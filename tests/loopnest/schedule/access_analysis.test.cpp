// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/schedule/access_analysis.hpp>

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <augur/loopnest/schedule/state.hpp>

#include "dags.hpp"

using namespace augur;

using namespace augur::loopnest;
using namespace augur::loopnest::testing_dags;

namespace {
std::vector<bool> each(const compute_dag& d, bool (access_analysis::*ask)(std::size_t) const) {
    const access_analysis a(d);
    std::vector<bool> out;
    for (std::size_t i = 0; i < d.ops.size(); ++i) out.push_back((a.*ask)(i));
    return out;
}
/// A DAG of one input (8, 6) and one operation on it.
compute_dag one(const std::vector<loop_axis>& axes, const std::vector<expr>& indices) {
    compute_dag d;
    const int a = d.input("A", {8, 6});
    d.compute("B", axes, ex::read(a, indices));
    return d;
}
} // namespace

TEST_CASE("analysis: what TVM says about conv + bias + scale + shift + relu") {
    const auto d = conv2d_nchw_bn_relu(1, 56, 56, 512, 512, 3, 1, 1); // Data pad Kernel conv Bias add Scale mul Offset add relu
    CHECK(each(*d, &access_analysis::needs_tiling) == std::vector<bool>{false, false, false, true, false, false, false, false, false, false, false});
    CHECK(each(*d, &access_analysis::strictly_inlineable) ==
          std::vector<bool>{false, false, false, false, false, true, false, true, false, true, true});
    CHECK(each(*d, &access_analysis::output) == std::vector<bool>{false, false, false, false, false, false, false, false, false, false, true});
    const access_analysis a(*d);
    CHECK(a.matches_elementwise(3, 10));
    CHECK(a.matches_elementwise(3, 5));
    CHECK_FALSE(a.matches_elementwise(1, 3)); // another shape
    CHECK_FALSE(a.matches_elementwise(4, 5)); // a placeholder
    loop_state s(d);
    CHECK(a.consumers(s.stages(), 3) == std::vector<std::size_t>{5});
    for (const std::int64_t i : {9, 7, 5}) REQUIRE(s.apply(compute_inline_step{i}));
    CHECK(a.consumers(s.stages(), 3) == std::vector<std::size_t>{10});
    CHECK(a.consumers(s.stages(), 8) == std::vector<std::size_t>{10});
}

TEST_CASE("analysis: reuse makes a stage worth tiling") {
    const auto tiled = [](const compute_dag& d) -> bool { return each(d, &access_analysis::needs_tiling).back(); };
    CHECK(tiled(*matmul(4, 5, 6)));
    CHECK(tiled(*matmul(1, 5, 6)));       // A misses j
    CHECK_FALSE(tiled(*matmul(1, 1, 6))); // both miss axes of extent 1 only
    CHECK_FALSE(tiled(*max_pool2d_nchw(1, 8, 8, 4, 2, 2, 1)));
    CHECK_FALSE(tiled(*row_reduce({4}, 8, reducer::sum)));
    compute_dag outer; // no reduction: two tensors must miss an axis
    const int a = outer.input("a", {8});
    const int b = outer.input("b", {6});
    outer.compute("one", {{"i", 8}, {"j", 6}}, ex::read(a, {ax(0)}));
    CHECK_FALSE(tiled(outer));
    outer.compute("two", {{"i", 8}, {"j", 6}}, ex::read(a, {ax(0)}) * ex::read(b, {ax(1)}));
    CHECK(tiled(outer));
    const auto w = winograd_nhwc(28, 28, 128, 128, 1);
    CHECK(each(*w, &access_analysis::needs_tiling) == std::vector<bool>{false, false, false, false, false, false, true, false, false, false});
}

TEST_CASE("analysis: what may always be inlined") {
    const auto inlineable = [](const compute_dag& d) -> bool { return each(d, &access_analysis::strictly_inlineable).back(); };
    const std::vector<loop_axis> ij{{"i", 8}, {"j", 6}};
    CHECK(inlineable(one(ij, {ax(0), ax(1)})));
    CHECK(inlineable(one(ij, {ax(0) + num(1), ax(1) - num(2)})));
    CHECK(inlineable(one(ij, {num(1) + ax(0) * num(1) + num(2), num(3) - num(1)})));
    CHECK_FALSE(inlineable(one(ij, {ax(1), ax(0)})));          // transposed
    CHECK_FALSE(inlineable(one(ij, {ax(0), ax(0)})));          // one axis twice
    CHECK_FALSE(inlineable(one(ij, {ax(0) * num(2), ax(1)}))); // strided
    CHECK_FALSE(inlineable(one(ij, {ax(0) + ax(1), ax(1)})));  // a sum of axes
    CHECK_FALSE(inlineable(one(ij, {ex::floor_div(ax(0), 2), ax(1)})));
    CHECK_FALSE(inlineable(one(ij, {num(7) - ax(0), ax(1)}))); // reversed
    const auto s = softmax({4}, 8);
    CHECK(each(*s, &access_analysis::strictly_inlineable) == std::vector<bool>{false, false, false, false, true}); // exp is not
    compute_dag constant;
    constant_matrix(constant, "M", 3, 3);
    CHECK(inlineable(constant)); // reads nothing, so its branches do not count
}

TEST_CASE("analysis: readers") {
    const auto s = softmax({4}, 8);
    const access_analysis a(*s);
    CHECK(a.readers(0) == std::vector<std::size_t>{1, 2});
    CHECK(a.readers(2) == std::vector<std::size_t>{3, 4});
    CHECK_FALSE(a.matches_elementwise(2, 4)); // two readers
    loop_state st(s);
    REQUIRE(st.apply(compute_inline_step{2}));
    CHECK(a.consumers(st.stages(), 1) == std::vector<std::size_t>{3, 4});
}
