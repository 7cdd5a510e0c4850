// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's weights files: they read back as written, and what is not one is refused.
#include <augur/metatune/weights_file.hpp>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../nn/same_parameters.hpp"
#include "../nn/weights_parts.hpp"
#include "../record/logs.hpp"
#include "data.hpp"

namespace mt = augur::metatune;
namespace nn = augur::nn;

namespace {

mt::trained_network a_network() {
    mt::config c;
    c.features = 7;
    c.convolutions = {9, 6, 5};
    c.head = {8};
    c.nested = true;
    c.masked = false;
    return {mt::network<float>::random_init(c, augur::random_engine(5)), "slots: \"i\", \"j\"\n"};
}

} // namespace

TEST_CASE("metatune weights: a file reads back as the network, its config and its super-graph") {
    const auto trained = a_network();
    const logs::folder tmp;
    const auto path = tmp / "weights.safetensors";
    REQUIRE(mt::save(trained, path));
    const auto back = mt::load(path, trained.graph_template);
    REQUIRE(back);
    CHECK(back->graph_template == trained.graph_template);
    CHECK(back->net.config == trained.net.config);
    CHECK(same_parameters(trained.net, back->net));
    CHECK(mt::to_safetensors(*back) == mt::to_safetensors(trained));

    const auto other = mt::load(path, "another super-graph");
    REQUIRE_FALSE(other);
    CHECK(other.error().code == augur::errc::version_mismatch);
    CHECK(other.error().detail.starts_with("'" + path));
    std::remove(path.c_str());
    const auto gone = mt::load(path);
    REQUIRE_FALSE(gone);
    CHECK(gone.error().code == augur::errc::io);
}

TEST_CASE("metatune weights: one output, defaults") {
    mt::config c;
    c.outputs = 1;
    const mt::trained_network trained{mt::network<float>::random_init(c, augur::random_engine(1)), ""};
    const auto back = mt::from_safetensors(mt::to_safetensors(trained));
    REQUIRE(back);
    CHECK(back->net.config == c);
}

namespace {
struct weights_corruption {
    const char* what;
    void (*edit)(weights_parts&);
    augur::errc code;
    const char* says; ///< a part of the error
};
} // namespace

TEST_CASE("metatune weights: every corruption has its error") {
    using augur::errc;
    using parts = weights_parts;
    static constexpr float not_finite[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
    const weights_corruption all[] = {
        {"no metadata", [](parts& p) { p.header.erase("__metadata__"); }, errc::version_mismatch,
         "expected metadata format 'augur-metatune', got ''"},
        {"another format", [](parts& p) { p.meta("format", "metatune", "tlp"); }, errc::version_mismatch, "got 'augur-tlp'"},
        {"another version", [](parts& p) { p.meta("version", "1", "2"); }, errc::version_mismatch, "expected version 1, got '2'"},
        {"no config", [](parts& p) { p.header["__metadata__"].erase("config"); }, errc::parse, "config"},
        {"config is no JSON", [](parts& p) { p.header["__metadata__"]["config"] = "{"; }, errc::parse, "config"},
        {"config is a list", [](parts& p) { p.header["__metadata__"]["config"] = "[]"; }, errc::parse, "config"},
        {"config with a key that is none", [](parts& p) { p.meta("config", "nested", "nestled"); }, errc::parse, "unknown key 'nestled'"},
        {"config without a key", [](parts& p) { p.meta("config", ", \"masked\": 0", ""); }, errc::parse, "one is missing"},
        {"config with a key twice", [](parts& p) { p.meta("config", "masked", "nested"); }, errc::parse, "the key 'nested' twice"},
        {"config with a list twice", [](parts& p) { p.meta("config", "\"head\"", "\"head\": [8], \"head\""); }, errc::parse, "the key 'head' twice"},
        {"a mask that is none", [](parts& p) { p.meta("config", "\"masked\": 0", "\"masked\": 2"); }, errc::parse, "expected 0 to 1, got 2"},
        {"a mask in words", [](parts& p) { p.meta("config", "\"masked\": 0", "\"masked\": x"); }, errc::parse, "config"},
        {"the other mask", [](parts& p) { p.meta("config", "\"masked\": 0", "\"masked\": 1"); }, errc::version_mismatch, "of the probe"},
        {"the other edges", [](parts& p) { p.meta("config", "\"nested\": 1", "\"nested\": 0"); }, errc::version_mismatch, "of the probe"},
        {"no features", [](parts& p) { p.meta("config", "\"features\": 7", "\"features\": 0"); }, errc::shape_mismatch, "1 to 16384 features, got 0"},
        {"half a feature", [](parts& p) { p.meta("config", "\"features\": 7", "\"features\": 0.5"); }, errc::parse, "config"},
        {"minus one feature", [](parts& p) { p.meta("config", "\"features\": 7", "\"features\": -1"); }, errc::parse, "got -1"},
        {"a feature too many", [](parts& p) { p.meta("config", "\"features\": 7", "\"features\": 8"); }, errc::shape_mismatch, "shape"},
        {"no convolution", [](parts& p) { p.meta("config", "[9, 6, 5]", "[]"); }, errc::shape_mismatch, "1 to 16 convolutions"},
        {"17 convolutions", [](parts& p) { p.meta("config", "[9, 6, 5]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"); }, errc::limit, "more than 16"},
        {"a convolution too few", [](parts& p) { p.meta("config", "[9, 6, 5]", "[9, 5]"); }, errc::shape_mismatch, "the config needs"},
        {"another width of a convolution", [](parts& p) { p.meta("config", "[9, 6, 5]", "[9, 5, 5]"); }, errc::shape_mismatch, "shape"},
        {"another width of the last one", [](parts& p) { p.meta("config", "[9, 6, 5]", "[9, 6, 6]"); }, errc::shape_mismatch, "shape"},
        {"a width of 0", [](parts& p) { p.meta("config", "[9, 6, 5]", "[9, 0, 5]"); }, errc::shape_mismatch, "widths of 1 to 16384, got 0"},
        {"a width of 16385", [](parts& p) { p.meta("config", "[9, 6, 5]", "[9, 16385, 5]"); }, errc::shape_mismatch, "got 16385"},
        {"a width of 2^62", [](parts& p) { p.meta("config", "[9, 6, 5]", "[9, 4611686018427387904, 5]"); }, errc::shape_mismatch, "widths"},
        {"the widest", [](parts& p) { p.meta("config", "[9, 6, 5]", "[16384, 16384, 5]"); }, errc::shape_mismatch, "more parameters than the file"},
        {"no hidden layer", [](parts& p) { p.meta("config", "\"head\": [8]", "\"head\": []"); }, errc::shape_mismatch, "the config needs"},
        {"a hidden layer of another width", [](parts& p) { p.meta("config", "\"head\": [8]", "\"head\": [9]"); }, errc::shape_mismatch, "shape"},
        {"one output", [](parts& p) { p.meta("config", "\"outputs\": 2", "\"outputs\": 1"); }, errc::shape_mismatch, "shape"},
        {"three outputs", [](parts& p) { p.meta("config", "\"outputs\": 2", "\"outputs\": 3"); }, errc::parse, "expected 0 to 2, got 3"},
        {"a weight that is no number", [](parts& p) { p.put("gnn.gnn_layers.0.graph_conv.weight", not_finite[0], 3); }, errc::parse,
         "tensor 'gnn.gnn_layers.0.graph_conv.weight' has a number that is not finite at element 3"},
        {"an infinite bias", [](parts& p) { p.put("predict.2.bias", not_finite[1]); }, errc::parse, "has a number that is not finite at element 0"},
        {"a probe that is no number", [](parts& p) { p.put("probe.features", not_finite[0]); }, errc::parse, "tensor 'probe.features'"},
        {"one weight changed", [](parts& p) { p.put("predict.2.bias", 50); }, errc::version_mismatch, "output 0 of the probe"},
        {"a weight so large that outputs overflow", [](parts& p) { p.put("predict.2.bias", 3e38F, 1); }, errc::version_mismatch,
         "output 1 of the probe"},
        {"another known output", [](parts& p) { p.put("probe.outputs", 7, 1); }, errc::version_mismatch, "the file says 7"},
        {"a tensor by another name",
         [](parts& p) {
             p.header["predict.7.bias"] = p.header["predict.0.bias"];
             p.header.erase("predict.0.bias");
         },
         errc::not_found, "'predict.0.bias'"},
        {"no known outputs",
         [](parts& p) {
             p.header["probe.inputs"] = p.header["probe.outputs"];
             p.header.erase("probe.outputs");
         },
         errc::not_found, "'probe.outputs'"},
        {"a tensor too many", [](parts& p) { p.add("more", {1}, 4); }, errc::shape_mismatch, "tensors, the file has"},
        {"weights in halves",
         [](parts& p) {
             p.header["predict.0.weight"]["dtype"] = "F16";
             p.header["predict.0.weight"]["shape"] = {10, 16};
         },
         errc::version_mismatch, "has type F16"},
        {"a weight the other way round", [](parts& p) { p.header["predict.0.weight"]["shape"] = {8, 10}; }, errc::shape_mismatch, "expected [10, 8]"},
        {"a bias of two dimensions", [](parts& p) { p.header["predict.0.bias"]["shape"] = {1, 8}; }, errc::shape_mismatch, "expected [8]"},
        {"one byte too few", [](parts& p) { p.data.pop_back(); }, errc::shape_mismatch, "bytes, the file has"},
        {"one byte too many", [](parts& p) { p.data.push_back('\0'); }, errc::shape_mismatch, "bytes, the file has"},
        {"two tensors in one place", [](parts& p) { p.header["predict.0.bias"]["data_offsets"] = p.header["predict.0.weight"]["data_offsets"]; },
         errc::shape_mismatch, ""},
    };
    const std::string good = mt::to_safetensors(a_network());
    REQUIRE(mt::from_safetensors(weights_parts(good).file()));
    for (const auto& c : all) {
        CAPTURE(std::string(c.what));
        weights_parts p(good);
        c.edit(p);
        const auto read = mt::from_safetensors(p.file());
        CHECK(!read);
        if (read) continue;
        CAPTURE(read.error().detail);
        CHECK(augur::to_string(read.error().code) == augur::to_string(c.code));
        CHECK(read.error().detail.find(c.says) != std::string::npos);
    }
}

TEST_CASE("metatune weights: any number that is not finite is refused with its tensor's name") {
    const weights_parts whole(mt::to_safetensors(a_network()));
    for (const auto& [name, entry] : whole.header.items()) {
        if (name == "__metadata__") continue;
        weights_parts p = whole;
        p.put(name.c_str(), std::numeric_limits<float>::quiet_NaN());
        const auto read = mt::from_safetensors(p.file());
        REQUIRE_FALSE(read);
        CHECK(read.error().detail == "safetensors: tensor '" + name + "' has a number that is not finite at element 0");
    }
}

TEST_CASE("metatune weights: cut or with a broken byte, an error or a network, never worse") {
    const std::string good = mt::to_safetensors(a_network());
    for (std::size_t n = 0; n < good.size(); n += 7) CHECK_FALSE(mt::from_safetensors(std::string_view(good).substr(0, n)));
    augur::random_engine rng(5);
    for (std::size_t i = 0; i < good.size(); i += 3) {
        std::string broken = good;
        broken[i] = static_cast<char>(rng.below(256));
        if (const auto read = mt::from_safetensors(broken)) CHECK(read->net.config.check());
    }
}

TEST_CASE("metatune weights: what could not be loaded again is not written") {
    const logs::folder tmp;
    const auto path = tmp / "refused.safetensors";
    auto changed = a_network();
    changed.net.convolutions[1].b[0] = std::numeric_limits<float>::quiet_NaN();
    auto refused = mt::save(changed, path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == augur::errc::invalid_argument);
    CHECK(refused.error().detail.find("gnn.gnn_layers.1.graph_conv.bias") != std::string::npos);
    changed = a_network();
    changed.graph_template = "\xff\xfe";
    refused = mt::save(changed, path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == augur::errc::invalid_argument);
    CHECK_FALSE(std::filesystem::exists(path));
}
