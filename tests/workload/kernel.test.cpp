// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/kernel.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace augur;

namespace {

const std::vector<std::string> canonical{
    "dense:m=1,n=1000,k=512,bias",
    "matmul:m=3,n=5,k=7",
    "batch_matmul:b=12,m=128,n=128,k=64",
    "batch_matmul:b=12,m=128,n=64,k=128,transb=0",
    "conv2d:n=1,h=56,w=56,c=64,f=64,k=3,stride=1,pad=1,layout=nhwc,bias,relu",
    "conv2d:n=2,h=14,w=9,c=8,f=12,k=3,stride=2,pad=2,dilation=2,groups=4,layout=nchw",
    "depthwise_conv2d:n=1,h=112,w=112,c=32,k=3,stride=1,pad=1,layout=nhwc,bias,relu6",
    "conv2d_transpose:n=1,h=4,w=4,c=8,f=4,k=4,stride=2,pad=1,opad=1,layout=nchw,tanh",
    "max_pool2d:n=1,h=112,w=112,c=64,k=3,stride=2,pad=1,layout=nhwc",
    "avg_pool2d:n=1,h=8,w=8,c=4,k=2,stride=2,pad=0,layout=nchw",
    "global_avg_pool2d:n=1,h=7,w=7,c=512,layout=nhwc",
    "softmax:m=1536,n=128",
    "layer_norm:m=128,n=768,add,gelu",
    "elementwise:n=1,h=56,w=56,c=256,layout=nchw,scale,add,relu,sigmoid",
    "batch_matmul:b=12,m=128,n=64,k=128,transb=0,transa=1",
    "conv2d:n=16,h=14,w=9,c=8,f=12,k=3x5,stride=2x1,pad=0x1x2x3,dilation=1x2,layout=nhwc",
    "depthwise_conv2d:n=1,h=12,w=32,c=4,k=1x7,stride=1,pad=0x3,layout=nchw",
    "conv2d_transpose:n=1,h=4,w=4,c=8,f=4,k=4x3,stride=2x3,pad=1x0,opad=1x2,dilation=2,groups=2,layout=nchw",
    "max_pool2d:n=1,h=12,w=13,c=64,k=3x2,stride=2x1,pad=1x0,dilation=2,layout=nhwc",
    "softmax:m=6,n=128,inner=10",
    "conv1d:n=1,w=100,c=3,f=8,k=5,stride=2,pad=4x0,dilation=2,layout=nwc,relu",
    "conv1d:n=2,w=100,c=4,f=8,k=3,stride=1,pad=1,groups=2,layout=ncw",
    "conv1d_transpose:n=1,w=10,c=4,f=8,k=4,stride=2,pad=1,layout=ncw",
    "conv3d:n=1,d=4,h=6,w=7,c=3,f=8,k=3x3x1,stride=1x2x2,pad=1x1x0,layout=ncdhw,bias",
    "conv3d:n=1,d=4,h=6,w=7,c=3,f=8,k=3,stride=1,pad=1x1x1x1x1x0,layout=ndhwc",
    "conv2d_winograd:n=1,h=14,w=14,c=64,f=32,pad=1,tile=4,layout=nhwc,bias,relu",
    "conv2d_winograd:n=4,h=14,w=13,c=64,f=32,pad=1x0,tile=2,layout=nchw",
    "reduce_sum:m=3,n=50",
    "reduce_max:m=3,n=50,inner=7,relu",
    "reduce_mean:m=1,n=49,inner=64",
};

void refused(std::string_view text, errc code, std::string_view part) {
    CAPTURE(text);
    const auto k = kernel::parse(text);
    REQUIRE_FALSE(k);
    CHECK(k.error().code == code);
    CAPTURE(k.error().detail);
    CHECK(k.error().detail.find(part) != std::string::npos);
}

} // namespace

TEST_CASE("kernel: canonical texts are fixed points") {
    for (const auto& text : canonical) {
        const auto k = kernel::parse(text);
        CAPTURE(text);
        REQUIRE(k);
        CHECK(k->text() == text);
    }
}

TEST_CASE("kernel: order of parameters and defaults do not matter, order of fused operations does") {
    const auto full = kernel::parse("conv2d:n=1,h=56,w=28,c=64,f=32,k=1,stride=1,pad=0,dilation=1,groups=1,layout=nhwc,bias,relu");
    const auto brief = kernel::parse("conv2d:bias,k=1,f=32,c=64,w=28,relu,h=56");
    REQUIRE(full);
    REQUIRE(brief);
    CHECK(*full == *brief);
    CHECK((*full)["w"] == 28);
    CHECK(full->workload_key() == R"(["conv2d_nhwc_bias_relu", 1, 56, 28, 64, 32, 1, 1, 0, 1, 1])");
    CHECK(full->class_name() == "conv2d_nhwc_bias_relu");
    const auto other = kernel::parse("conv2d:h=56,w=28,c=64,f=32,k=1,relu,bias");
    REQUIRE(other);
    CHECK_FALSE(*other == *full);
    CHECK(other->workload_key() != full->workload_key());
    const auto made = kernel::make(kernel_kind::conv2d, {{"h", 56}, {"w", 28}, {"c", 64}, {"f", 32}, {"k", 1}}, {fused_op::bias, fused_op::relu});
    REQUIRE(made);
    CHECK(*made == *full);
}

TEST_CASE("kernel: keys are JSON and differ") {
    std::vector<std::string> keys;
    for (const auto& text : canonical) {
        const auto k = kernel::parse(text);
        REQUIRE(k);
        const auto key = k->workload_key();
        for (const auto& other : keys) CHECK(key != other);
        keys.push_back(key);
        CHECK(key.front() == '[');
        CHECK(key.back() == ']');
        CHECK(key.find('"', 2) == k->class_name().size() + 2);
    }
}

TEST_CASE("kernel: a key gives its kernel back, and no other text a kernel") {
    for (const auto& text : canonical) {
        const auto k = kernel::parse(text);
        REQUIRE(k);
        const auto key = k->workload_key();
        const auto again = kernel::from_workload_key(key);
        REQUIRE(again);
        CHECK(*again == *k);
        // Every cut and every changed character is refused, or is the very key of another kernel.
        for (std::size_t n = 0; n < key.size(); ++n) CHECK_FALSE(kernel::from_workload_key(std::string_view(key).substr(0, n)));
        for (std::size_t at = 0; at < key.size(); ++at)
            for (const char c : {'0', '7', ' ', ',', '"', ']', '_', '-', 'x', '\0'}) {
                auto changed = key;
                changed[at] = c;
                if (const auto other = kernel::from_workload_key(changed)) CHECK(other->workload_key() == changed);
            }
    }
    for (const auto* text : {"", "[", "[]", "[\"", "[\"]", "[\"conv2d\"]", "[\"dense\", 1, 2]", "[\"dense\", 1, 2, 3, 4]", "[\"dense\",1,2,3]",
                             "[\"dense\", 01, 2, 3]", "[\"dense\", 1, 2, 99999999999999999999]", "[\"dense\", 0, 2, 3]", "[\"dense_nhwc\", 1, 2, 3]",
                             "[\"dense_\", 1, 2, 3]", "[\"elementwise_nhwc\", 1, 2, 3, 4]", "[\"12b88bedece6984af589a28b43e0f3c4\", 1, 56]"})
        CHECK(kernel::from_workload_key(text).error().code == augur::errc::parse);
    CHECK_FALSE(kernel::from_workload_key("[\"" + std::string(1 << 20, 'a') + "]"));
}

TEST_CASE("kernel: output extents") {
    const auto extent = [](std::string_view text) {
        const auto k = kernel::parse(text);
        REQUIRE(k);
        return k->window(0).out;
    };
    CHECK(extent("conv2d:h=224,w=224,c=3,f=64,k=7,stride=2,pad=3") == 112);
    CHECK(extent("conv2d:h=9,w=9,c=1,f=1,k=3,dilation=4") == 1);
    CHECK(extent("max_pool2d:h=112,w=112,c=1,k=3,stride=2,pad=1") == 56);
    CHECK(extent("conv2d_transpose:h=4,w=4,c=1,f=1,k=4,stride=2,pad=1") == 8);
    CHECK(extent("conv2d_transpose:h=4,w=4,c=1,f=1,k=3,stride=2,pad=1,opad=1") == 8);
    CHECK(extent("global_avg_pool2d:h=4,w=4,c=1") == 1);
    CHECK(extent("conv2d:h=9,w=5,c=1,f=1,k=3x1,stride=2x1,pad=0x0x1x0") == 4);
    CHECK(extent("max_pool2d:h=9,w=9,c=1,k=3,dilation=2") == 5);
    CHECK(extent("conv2d_transpose:h=4,w=4,c=1,f=1,k=3,stride=2,pad=1,dilation=2") == 9);
    CHECK(extent("conv1d:w=10,c=1,f=1,k=3,dilation=2,pad=4x0") == 10);
    CHECK(extent("conv3d:d=5,h=4,w=4,c=1,f=1,k=3,stride=2x1x1") == 2);
    CHECK(extent("conv2d_winograd:h=7,w=4,c=1,f=1") == 5);
}

TEST_CASE("kernel: windows may differ between axes and borders between sides") {
    const auto k = kernel::parse("conv2d:h=9,w=20,c=2,f=1,k=3x5,stride=2x1,pad=0x1x2x3,dilation=1x2");
    REQUIRE(k);
    CHECK(k->rank() == 2);
    const auto rows = k->window(0);
    const auto columns = k->window(1);
    CHECK(rows.in == 9);
    CHECK(rows.k == 3);
    CHECK(rows.stride == 2);
    CHECK(rows.pad_before == 0);
    CHECK(rows.pad_behind == 2);
    CHECK(rows.out == 5);
    CHECK(columns.in == 20);
    CHECK(columns.span() == 9);
    CHECK(columns.pad_before == 1);
    CHECK(columns.pad_behind == 3);
    CHECK(columns.out == 16);
    CHECK(k->workload_key() == R"(["conv2d_nhwc", 1, 9, 20, 2, 1, [3, 5], [2, 1], [0, 1, 2, 3], [1, 2], 1])");
    const auto made =
        kernel::make(kernel_kind::conv2d,
                     {{"h", 9}, {"w", 20}, {"c", 2}, {"f", 1}, {"k", {3, 5}}, {"stride", {2, 1}}, {"pad", {0, 1, 2, 3}}, {"dilation", {1, 2}}});
    REQUIRE(made);
    CHECK(*made == *k);
    // the same kernel has one text and one key, however it was given
    const auto square = kernel::parse("conv2d:h=9,w=9,c=2,f=1,k=3x3,stride=1x1,pad=1x1x1x1");
    REQUIRE(square);
    CHECK(square->text() == "conv2d:n=1,h=9,w=9,c=2,f=1,k=3,stride=1,pad=1,layout=nhwc");
    const auto causal = kernel::parse("conv1d:w=9,c=1,f=1,k=3,pad=1x1");
    REQUIRE(causal);
    CHECK(causal->text() == "conv1d:n=1,w=9,c=1,f=1,k=3,stride=1,pad=1,layout=nwc");
}

TEST_CASE("kernel: parameters that came later leave the keys of older logs as they were") {
    const auto key = [](std::string_view text) { return kernel::parse(text)->workload_key(); };
    CHECK(key("max_pool2d:h=8,w=8,c=4,k=3,stride=2,pad=1") == R"(["max_pool2d_nhwc", 1, 8, 8, 4, 3, 2, 1])");
    CHECK(key("max_pool2d:h=8,w=8,c=4,k=3,stride=2,pad=1,dilation=2") == R"(["max_pool2d_nhwc", 1, 8, 8, 4, 3, 2, 1, 2])");
    CHECK(key("batch_matmul:b=2,m=3,n=4,k=5") == R"(["batch_matmul", 2, 3, 4, 5, 1])");
    CHECK(key("batch_matmul:b=2,m=3,n=4,k=5,transa=1") == R"(["batch_matmul", 2, 3, 4, 5, 1, 1])");
    CHECK(key("conv2d_transpose:h=4,w=4,c=4,f=4,k=4,groups=2") == R"(["conv2d_transpose_nhwc", 1, 4, 4, 4, 4, 4, 1, 0, 0, 1, 2])");
    CHECK(key("softmax:m=2,n=3") == R"(["softmax", 2, 3])");
}

TEST_CASE("kernel: errors say what and where") {
    refused("", errc::parse, "unknown");
    refused("conv4d:n=1", errc::parse, "'conv4d' is unknown");
    refused("dense:m=1x2,n=2,k=3", errc::invalid_argument, "column 7: 'm': expected 1 number, got 2");
    refused("conv2d:h=5,w=5,c=4,f=4,k=3x", errc::parse, "whole number, got '3x'");
    refused("conv2d:h=5,w=5,c=4,f=4,k=3x3x3", errc::invalid_argument, "'k': expected 1 or 2 numbers, got 3");
    refused("conv2d:h=5,w=5,c=4,f=4,k=3x0", errc::invalid_argument, "'k' must be within 1 and 1024, is 3x0");
    refused("conv2d:h=5,w=5,c=4,f=4,k=3,pad=1x1x1", errc::invalid_argument, "'pad': expected 1, 2 or 4 numbers, got 3");
    refused("conv3d:d=5,h=5,w=5,c=4,f=4,k=3,pad=1x1x1x1x1x1x1", errc::invalid_argument, "expected 1, 3 or 6 numbers, got 7");
    refused("conv2d:h=5,w=5,c=4,f=4,k=1x3,pad=1", errc::shape_mismatch, "pad=1 must be less than the window of 1");
    refused("conv1d:w=5,c=4,f=4,k=3x3", errc::invalid_argument, "'k': expected 1 number, got 2");
    refused("conv1d:w=5,c=4,f=4,k=3,layout=nhwc", errc::parse, "expected layout nwc or ncw, got 'nhwc'");
    refused("conv1d:h=5,w=5,c=4,f=4,k=3", errc::invalid_argument, "no parameter 'h'; known are n, w, c");
    refused("conv3d:d=2,h=5,w=5,c=4,f=4,k=3", errc::shape_mismatch, "no output is left along 'd'");
    refused("conv2d_winograd:h=5,w=5,c=4,f=4,tile=3", errc::shape_mismatch, "tile must be 2 or 4");
    refused("conv2d_winograd:h=5,w=5,c=4,f=4,k=3", errc::invalid_argument, "no parameter 'k'");
    refused("conv2d_transpose:h=5,w=5,c=4,f=6,k=3,groups=4", errc::shape_mismatch, "groups=4");
    refused("reduce_sum:m=100000,n=100000,inner=3", errc::limit, "2^31");
    refused("dense", errc::parse, "expected ':'");
    refused("dense:", errc::parse, "column 7");
    refused("dense:m=1,n=2,k=3,", errc::parse, "column 19");
    refused("dense:m=1,n=2", errc::invalid_argument, "'k' is missing");
    refused("dense:m=1,n=2,k=3,q=4", errc::invalid_argument, "column 19: there is no parameter 'q'; known are m, n, k");
    refused("dense:m=1,n=2,k=3,m=1", errc::invalid_argument, "'m' is given twice");
    refused("dense:m=0,n=2,k=3", errc::invalid_argument, "'m' must be within 1 and 16777216, is 0");
    refused("dense:m=-1,n=2,k=3", errc::invalid_argument, "is -1");
    refused("dense:m=99999999999999999999,n=2,k=3", errc::parse, "whole number");
    refused("dense:m=1 ,n=2,k=3", errc::parse, "whole number");
    refused("dense:m=1.5,n=2,k=3", errc::parse, "whole number");
    refused("dense:m=,n=2,k=3", errc::parse, "whole number");
    refused("dense:m=1,n=2,k=3,reul", errc::parse, "neither");
    refused("dense:m=1,n=2,k=3,layout=nhwc", errc::parse, "layout");
    refused("dense:m=1,n=2,k=3\n", errc::parse, "'3?'");
    refused("dense:m=100000,n=100000,k=3", errc::limit, "2^31");
    refused("batch_matmul:b=2,m=1,n=1,k=1,transb=2", errc::invalid_argument, "transb");
    refused("conv2d:h=5,w=5,c=4,f=4,k=3,layout=nhcw", errc::parse, "nhwc or nchw");
    refused("conv2d:h=5,w=5,c=4,f=4,k=3,layout=nhwc,layout=nhwc", errc::invalid_argument, "twice");
    refused("conv2d:h=5,w=5,c=4,f=4,k=7", errc::shape_mismatch, "no output is left along 'h'");
    refused("conv2d:h=5,w=2,c=4,f=4,k=3", errc::shape_mismatch, "along 'w'");
    refused("conv2d:h=5,w=5,c=4,f=4,k=3,pad=3", errc::shape_mismatch, "pad=3");
    refused("conv2d:h=5,w=5,c=4,f=6,k=3,groups=4", errc::shape_mismatch, "groups=4");
    refused("conv2d:h=5,w=5,c=4,f=4,k=2000", errc::invalid_argument, "1024");
    refused("conv2d:h=16777216,w=16777216,c=16777216,f=16777216,n=16777216,k=1", errc::limit, "2^31");
    refused("conv2d_transpose:h=5,w=5,c=4,f=4,k=3,stride=2,opad=2", errc::shape_mismatch, "opad=2");
    refused("conv2d_transpose:h=1,w=1,c=4,f=4,k=3,pad=2", errc::shape_mismatch, "no output");
    refused("max_pool2d:h=5,w=5,c=4,k=3,pad=2", errc::shape_mismatch, "half of k");
    refused("elementwise:h=5,w=5,c=4", errc::invalid_argument, "at least one of");
    std::string many = "elementwise:h=5,w=5,c=4";
    for (int i = 0; i < 17; ++i) many += ",relu";
    refused(many, errc::limit, "expected at most 16 fused operations, got 17");
    refused("dense:" + std::string(5000, 'm'), errc::limit, "expected at most 4096 characters, got 5006");
    CHECK_FALSE(kernel::make(kernel_kind::dense, {{"m", 1}, {"n", 1}}));
    CHECK_FALSE(kernel::make(kernel_kind::dense, {{"m", 1}, {"n", 1}, {"k", 1}, {"k", 1}}));
}

TEST_CASE("kernel: no cut or changed byte crashes, and what is read prints back") {
    for (const auto& text : canonical) {
        const auto fine = [](const std::string& t) {
            const auto k = kernel::parse(t);
            if (!k) return !k.error().detail.empty();
            const auto again = kernel::parse(k->text());
            return again && *again == *k;
        };
        for (std::size_t i = 0; i < text.size(); ++i) {
            CHECK(fine(text.substr(0, i)));
            for (int bit = 0; bit < 8; ++bit) {
                auto changed = text;
                changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
                CHECK(fine(changed));
            }
            for (const char c : {'\0', '\xff', ',', '=', ':', '9', '-'}) {
                auto changed = text;
                changed.insert(i, 1, c);
                CHECK(fine(changed));
            }
        }
    }
}
