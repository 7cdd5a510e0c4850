// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/transfer/operation_sequence.hpp>

#include <string>

#include <doctest/doctest.h>

using augur::transfer::operation_sequence;

TEST_CASE("operation_sequence: names of every era of TVM are one") {
    const std::string conv = "nn_contrib_conv2d_NCHWc_add_nn_relu";
    for (const char* name : {"fused_nn.contrib_conv2d_NCHWc_add_nn.relu", "fused_nn_contrib_conv2d_NCHWc_add_nn_relu",
                             "vm_mod_fused_nn_contrib_conv2d_NCHWc_add_nn_relu", "tvmgen_default_fused_nn_contrib_conv2d_NCHWc_add_nn_relu_17",
                             "fused_nn_contrib_conv2d_NCHWc_add_nn_relu_1",
                             " fused_nn_contrib_conv2d_NCHWc_add_nn_relu_2,"
                             "fused_nn_contrib_conv2d_NCHWc_add_nn_relu_3 "})
        CHECK(operation_sequence(name) == conv);
    CHECK(operation_sequence("b,a, a_2") == "a,b");
    CHECK(operation_sequence("vm_mod_fused_nn_conv2d_1") == "nn_conv2d"); // the 2d is of the operation
    CHECK(operation_sequence("fused_nn_conv2d") == "nn_conv2d");
    CHECK(operation_sequence("conv2d_nhwc_bias_relu") == "conv2d_nhwc_bias_relu"); // one of ours
    CHECK(operation_sequence("") == "");
    CHECK(operation_sequence(",, ,") == "");
    CHECK(operation_sequence("17") == "17");
    CHECK(operation_sequence("_17") == "");
}

TEST_CASE("operation_sequence: a name that was cut is the beginning of the whole one") {
    const std::string whole = "fused_nn_contrib_conv2d_NCHWc_add_nn_relu_add_multiply_add_nn_relu_nn_contrib_conv2d_NCHWc_add";
    REQUIRE(whole.size() > 80);
    const std::string kept = whole.substr(0, 80), expected = operation_sequence(whole);
    CHECK(operation_sequence(kept + "_13741852871398754_") == expected); // TVM 0.8: std::hash, decimal
    CHECK(operation_sequence(kept + "_9ac4ee4ab12bd234_") == expected);  // TVM 0.9: hexadecimal
    CHECK(operation_sequence("tvmgen_default_" + kept + "_9ac4ee4ab12bd234__3") == expected);
    CHECK(operation_sequence("tvmgen_default_" + whole + "_12") == expected);
    CHECK(operation_sequence(kept) == expected);
    const std::string other = "fused_nn_dense" + whole.substr(14);
    CHECK(operation_sequence(other) != expected);
}
