// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/networks.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <augur/core/hash.hpp>
#include <augur/workload/network_graph.hpp>

#include <doctest/doctest.h>

using namespace augur;

namespace {

struct totals {
    int convolutions = 0; // with depthwise ones
    int dense = 0;
    std::int64_t parameters = 0;    // weights and one bias a channel
    std::int64_t multiply_adds = 0; // of convolutions and products
};

totals count(const network& net) {
    totals t;
    for (const auto& [k, uses] : net.kernels) {
        std::int64_t parameters = 0;
        std::int64_t products = 0;
        switch (k.kind()) {
        case kernel_kind::conv2d:
        case kernel_kind::depthwise_conv2d: {
            t.convolutions += uses;
            const auto f = k.value_or("f", k["c"])[0];
            const auto inputs = k.kind() == kernel_kind::conv2d ? k["c"] / k["groups"] : 1;
            const auto weights = k["k"] * k["k"] * inputs * f;
            const bool biased = std::count(k.fused().begin(), k.fused().end(), fused_op::bias) != 0;
            parameters = weights + (biased ? f : 0);
            products = k.window(0).out * k.window(1).out * weights;
            break;
        }
        case kernel_kind::elementwise: parameters = 2 * k["c"]; break; // a normalisation that is not folded
        case kernel_kind::dense:
            t.dense += uses;
            parameters = k["n"] * k["k"] + k["n"];
            products = k["m"] * k["n"] * k["k"];
            break;
        case kernel_kind::batch_matmul: products = k["b"] * k["m"] * k["n"] * k["k"]; break;
        case kernel_kind::layer_norm: parameters = 2 * k["n"]; break;
        default: break;
        }
        t.parameters += parameters * uses;
        t.multiply_adds += products * uses;
    }
    return t;
}

network find(std::string_view name) {
    auto net = find_network(name);
    REQUIRE(net);
    return *net;
}

} // namespace

// The parameter counts are those that torchvision and the BERT authors publish, less what is not there: a folded batch norm has one number a
// channel, not two.
TEST_CASE("networks: layers, parameters and multiply-adds are the published ones") {
    const auto r18 = count(find("resnet_18"));
    CHECK(r18.convolutions == 17 + 3);
    CHECK(r18.dense == 1);
    CHECK(r18.parameters == 11'689'512 - 4'800);
    CHECK(r18.multiply_adds == 1'814'073'344);

    const auto r50 = count(find("resnet_50"));
    CHECK(r50.convolutions == 49 + 4);
    CHECK(r50.dense == 1);
    CHECK(r50.parameters == 25'557'032 - 26'560);
    CHECK(r50.multiply_adds == 4'089'184'256);

    const auto mobile = count(find("mobilenet_v2"));
    CHECK(mobile.convolutions == 52);
    CHECK(mobile.dense == 1);
    CHECK(mobile.parameters == 3'504'872 - 17'056);
    CHECK(mobile.multiply_adds == 300'774'272);

    const auto vgg = count(find("vgg_16"));
    CHECK(vgg.convolutions == 13);
    CHECK(vgg.dense == 3);
    CHECK(vgg.parameters == 138'357'544);
    CHECK(vgg.multiply_adds == 15'470'264'320);

    const auto x50 = count(find("resnext_50"));
    CHECK(x50.convolutions == 49 + 4);
    CHECK(x50.parameters == 25'028'904 - 34'112);
    CHECK(x50.multiply_adds == doctest::Approx(4.23e9).epsilon(0.02));

    const auto mnas = count(find("mnasnet1_0"));
    CHECK(mnas.convolutions == 52);
    CHECK(mnas.parameters == 4'383'312 - 18'960);
    CHECK(mnas.multiply_adds == doctest::Approx(0.314e9).epsilon(0.02));

    const auto alex = count(find("alexnet"));
    CHECK(alex.convolutions == 5);
    CHECK(alex.dense == 3);
    CHECK(alex.parameters == 61'100'840);
    CHECK(alex.multiply_adds == doctest::Approx(0.714e9).epsilon(0.02));

    const auto densely = count(find("densenet_121"));
    CHECK(densely.convolutions == 120);
    CHECK(densely.parameters == 7'978'856 - 7'488);
    CHECK(densely.multiply_adds == doctest::Approx(2.83e9).epsilon(0.02));

    const auto bert = count(find("bert_base"));
    CHECK(bert.dense == 12 * 4 + 1);
    CHECK(bert.parameters == 85'054'464 + 590'592 + 1'536); // encoder, pooler, and the norm behind the embeddings
    CHECK(bert.multiply_adds == 12 * (std::int64_t{128} * 768 * 768 * 12 + std::int64_t{2} * 128 * 128 * 768) + 768 * 768);
}

TEST_CASE("networks: transformers have any number of tokens") {
    constexpr std::int64_t weights = std::int64_t{12} * 768 * 768; // of a layer
    const auto longer = find("bert_base:tokens=384");
    CHECK(longer.name == "bert_base:tokens=384");
    CHECK(count(longer).multiply_adds == 12 * (384 * weights + std::int64_t{2} * 384 * 384 * 768) + 768 * 768);
    CHECK(count(longer).parameters == count(find("bert_base")).parameters);

    const auto block = count(find("gpt2"));
    CHECK(block.dense == 4);
    CHECK(block.parameters == 7'087'872); // of transformers' GPT2Block
    CHECK(block.multiply_adds == 128 * weights + std::int64_t{2} * 128 * 128 * 768);
    CHECK(count(find("gpt2:tokens=1")).multiply_adds == weights + std::int64_t{2} * 768);
    CHECK(count(find("gpt2:past=127,tokens=1")).multiply_adds == weights + std::int64_t{2} * 128 * 768);
    CHECK(find("gpt2:past=127,tokens=1").kernels[2].workload.text() == "batch_matmul:b=12,m=1,n=128,k=64");
    CHECK(find("gpt2:tokens=2").kernels[2].workload.text() == "batch_matmul:b=12,m=2,n=2,k=64,add");

    const auto refused = [](std::string_view text, std::string_view part) {
        CAPTURE(text);
        const auto net = find_network(text);
        REQUIRE_FALSE(net);
        CAPTURE(net.error().detail);
        CHECK(net.error().code == errc::invalid_argument);
        CHECK(net.error().detail.find(part) != std::string::npos);
    };
    refused("gpt2:tokens=0", "gpt2: 'tokens' must be a number within 1 and 4096, is '0'");
    refused("gpt2:tokens=", "is ''");
    refused("gpt2:tokens=1,past=x", "'past' must be a number within 0 and 4096, is 'x'");
    refused("gpt2:tokens=1,tokens=2", "gpt2: 'tokens' is given twice");
    refused("gpt2:tokens", "gpt2: there is no parameter 'tokens'");
    for (const auto* text : {"gpt2:", "bert_base:", "resnet_18:", "bert_base:tokens=384,", "bert_base:,tokens=384", "gpt2:tokens=1,past=127,", "gpt2:tokens=1,,past=127"})
        refused(text, "expected <parameter>=<number> after ':' and after each ',', got nothing");
    refused("bert_base:past=1", "bert_base: there is no parameter 'past=1'");
    refused("resnet_18:tokens=1", "resnet_18: there is no parameter 'tokens=1'");
}

TEST_CASE("networks: kernels are distinct and valid, and every text reads back") {
    for (const auto name : network_names) {
        const auto net = find(name);
        CHECK(net.name == name);
        for (std::size_t i = 0; i < net.kernels.size(); ++i) {
            CHECK(net.kernels[i].uses >= 1);
            const auto again = kernel::parse(net.kernels[i].workload.text());
            REQUIRE(again);
            CHECK(*again == net.kernels[i].workload);
            for (std::size_t j = 0; j < i; ++j) CHECK(net.kernels[j].workload.workload_key() != net.kernels[i].workload.workload_key());
        }
    }
    CHECK(find("resnet_18").kernels.size() == 18);
}

TEST_CASE("networks: an unknown name lists the known ones") {
    const auto net = find_network("resnet_19");
    REQUIRE_FALSE(net);
    CHECK(net.error().code == errc::not_found);
    CHECK(net.error().detail.find("resnet_18, resnet_50") != std::string::npos);
}

TEST_CASE("networks: the kernels of the graphs are those of the lists that version 0.1 had") {
    struct list {
        std::string_view name;
        int calls;
        std::uint32_t hash; // of lines "uses kernel", in the order of the first use, from lists that were written by hand
    };
    for (const auto& l :
         {list{"resnet_18", 23, 0xB4D9C2DF}, list{"resnet_50", 56, 0xFF0B20B2}, list{"resnext_50", 56, 0x743E2E86},
          list{"mobilenet_v2", 54, 0x26447CEE}, list{"mnasnet1_0", 54, 0x8FA84CC9}, list{"vgg_16", 21, 0x8E384F7A}, list{"alexnet", 11, 0x9A44D525},
          list{"densenet_121", 188, 0x3AB6216C}, list{"bert_base", 110, 0x30CF6A50}, list{"gpt2", 9, 0x30614B18},
          list{"bert_base:tokens=384", 110, 0x20254C9E}, list{"gpt2:tokens=1,past=127", 9, 0xA1BD6414}}) {
        CAPTURE(l.name);
        std::string text;
        int calls = 0;
        for (const auto& [k, uses] : find(l.name).kernels) {
            text += std::to_string(uses) + " " + k.text() + "\n";
            calls += uses;
        }
        CHECK(calls == l.calls);
        CHECK(crc32(text) == l.hash);
    }
}

TEST_CASE("networks: graphs have the residual edges of the papers, and outputs of the expected shapes") {
    const auto graph_of = [](std::string_view name) {
        auto g = find_network_graph(name);
        REQUIRE(g);
        return *g;
    };
    const auto residuals = [](const network_graph& g) { // kernels that add another tensor
        int n = 0;
        for (std::size_t i = 0; i < g.nodes().size(); ++i) {
            const auto* k = g.kernel_of(i);
            n += k != nullptr && std::count(k->fused().begin(), k->fused().end(), fused_op::add) != 0 ? 1 : 0;
        }
        return n;
    };
    const auto resnet = graph_of("resnet_18");
    CHECK(residuals(resnet) == 8);
    CHECK(resnet.shape_of(resnet.outputs()[0]) == std::vector<std::int64_t>{1, 1000});
    for (std::size_t i = 0; i < resnet.nodes().size(); ++i) {
        if (resnet.nodes()[i].name == "layer1.0.conv2") CHECK(resnet.nodes()[resnet.nodes()[i].inputs[1]].name == "maxpool");
        if (resnet.nodes()[i].name == "layer2.0.conv2") CHECK(resnet.nodes()[resnet.nodes()[i].inputs[1]].name == "layer2.0.downsample");
        if (resnet.nodes()[i].name == "layer2.0.downsample") CHECK(resnet.nodes()[resnet.nodes()[i].inputs[0]].name == "layer1.1.conv2");
    }
    CHECK(residuals(graph_of("resnet_50")) == 16);
    CHECK(residuals(graph_of("mobilenet_v2")) == 10);
    CHECK(residuals(graph_of("bert_base")) == 24);
    const auto bert = graph_of("bert_base:tokens=5");
    REQUIRE(bert.outputs().size() == 2);
    CHECK(bert.shape_of(bert.outputs()[0]) == std::vector<std::int64_t>{1, 768});
    CHECK(bert.shape_of(bert.outputs()[1]) == std::vector<std::int64_t>{5, 768});
    const auto dense = graph_of("densenet_121");
    CHECK(std::count_if(dense.nodes().begin(), dense.nodes().end(),
                        [](const network_node& n) { return std::holds_alternative<concatenation>(n.action); }) == 58);
    CHECK(find_network_graph("resnet_19").error().code == errc::not_found);
}
