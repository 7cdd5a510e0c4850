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
        return k->output_extent((*k)["h"]);
    };
    CHECK(extent("conv2d:h=224,w=224,c=3,f=64,k=7,stride=2,pad=3") == 112);
    CHECK(extent("conv2d:h=9,w=9,c=1,f=1,k=3,dilation=4") == 1);
    CHECK(extent("max_pool2d:h=112,w=112,c=1,k=3,stride=2,pad=1") == 56);
    CHECK(extent("conv2d_transpose:h=4,w=4,c=1,f=1,k=4,stride=2,pad=1") == 8);
    CHECK(extent("conv2d_transpose:h=4,w=4,c=1,f=1,k=3,stride=2,pad=1,opad=1") == 8);
    CHECK(extent("global_avg_pool2d:h=4,w=4,c=1") == 1);
}

TEST_CASE("kernel: errors say what and where") {
    refused("", errc::parse, "unknown");
    refused("conv3d:n=1", errc::parse, "'conv3d' is unknown");
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
