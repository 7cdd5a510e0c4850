// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/ir/dag.hpp>

#include <array>
#include <string_view>

#include <doctest/doctest.h>

#include <augur/loopnest/ir/expr.hpp>

#include "kernels.hpp"

namespace dag_test {

using augur::loopnest::expr_op;

TEST_CASE("compute_dag: evaluations of elementary functions are those of the definition") {
    struct expected {
        std::string_view kernel;
        std::array<double, 5> counts; ///< of exp, tanh, erf, sqrt, div
    };
    const expected all[] = {
        {"softmax:m=6,n=8", {48, 0, 0, 0, 48}},            // each element: e^(x - max), over the sum of its row
        {"layer_norm:m=6,n=8", {0, 0, 0, 6, 6}},           // each row: 1 / sqrt(variance + epsilon); a division by n is one by a constant
        {"dense:m=3,n=5,k=8,bias,gelu", {0, 0, 15, 0, 0}}, // each element of the result
        {"dense:m=3,n=5,k=8,tanh", {0, 15, 0, 0, 0}},      // not once for each of the k products
        {"dense:m=3,n=5,k=8,bias,relu", {0, 0, 0, 0, 0}},
        {"avg_pool2d:h=6,w=6,c=3,k=2,stride=2", {0, 0, 0, 0, 0}}, // divides by the size of the window
    };
    for (const auto& e : all) {
        CAPTURE(e.kernel);
        const auto dag = dag_of(e.kernel);
        std::size_t at = 0;
        for (const auto function : {expr_op::exp, expr_op::tanh, expr_op::erf, expr_op::sqrt, expr_op::div}) {
            CAPTURE(at);
            CHECK(dag->evaluations(function) == e.counts[at]);
            ++at;
        }
    }
}

} // namespace dag_test
