// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's weights files: they read back as written, and what is not one is refused.
#include <augur/metatune/weights_file.hpp>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

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

/// The file with other text in its header, of the same length.
std::string with(std::string file, const std::string& from, const std::string& to) {
    const auto at = file.find(from);
    REQUIRE(at != std::string::npos);
    REQUIRE(from.size() == to.size());
    return file.replace(at, from.size(), to);
}

std::string scratch_file(const char* name) { return (std::filesystem::temp_directory_path() / name).string(); }

} // namespace

TEST_CASE("metatune weights: a file reads back as the network, its config and its super-graph") {
    const auto trained = a_network();
    const auto path = scratch_file("augur_metatune_weights.safetensors");
    REQUIRE(mt::save(trained, path));
    const auto back = mt::load(path, trained.graph_template);
    REQUIRE(back);
    CHECK(back->graph_template == trained.graph_template);
    CHECK(back->net.config == trained.net.config);
    mt::network<float>::visit([](const std::string&, const auto& a, const auto& b) { CHECK(a == b); }, trained.net, back->net);
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

TEST_CASE("metatune weights: what is not a file of this network is refused") {
    const auto trained = a_network();
    const std::string good = mt::to_safetensors(trained);
    for (std::size_t n = 0; n < good.size(); n += 97) CHECK_FALSE(mt::from_safetensors(good.substr(0, n)));
    CHECK_FALSE(mt::from_safetensors(good.substr(0, good.size() - 1)));
    CHECK_FALSE(mt::from_safetensors(good + "x"));
    const auto code_of = [](const std::string& file) {
        const auto read = mt::from_safetensors(file);
        REQUIRE_FALSE(read);
        CHECK_FALSE(read.error().detail.empty());
        return read.error().code;
    };
    using augur::errc;
    CHECK(code_of(with(good, "augur-metatune", "augur-tlp-2023")) == errc::version_mismatch);
    CHECK(code_of(with(good, "\"version\": \"1\"", "\"version\": \"2\"")) == errc::version_mismatch);
    CHECK(code_of(with(good, "[9, 6, 5]", "[9, 6, 6]")) == errc::shape_mismatch);
    CHECK(code_of(with(good, "[9, 6, 5]", "[9, 5, 5]")) == errc::shape_mismatch);
    CHECK(code_of(with(good, "[9, 6, 5]", "[9, 6555]")) == errc::shape_mismatch);
    CHECK(code_of(with(good, "[9, 6, 5]", "[9, 0, 5]")) == errc::shape_mismatch);
    CHECK(code_of(with(good, "[9, 6, 5]", "[9999999]")) == errc::shape_mismatch);
    CHECK(code_of(with(good, "\\\"nested\\\"", "\\\"nesled\\\"")) == errc::parse);
    CHECK(code_of(with(good, "\\\"masked\\\": 0", "\\\"nested\\\": 0")) == errc::parse);
    CHECK(code_of(with(good, "\\\"masked\\\": 0", "\\\"masked\\\": 2")) == errc::parse);
    CHECK(code_of(with(good, "\\\"masked\\\": 0", "\\\"masked\\\": x")) == errc::parse);
    CHECK(code_of(with(good, "\\\"masked\\\": 0", "\\\"masked\\\": 1")) == errc::version_mismatch); // the probe has an absent loop
    CHECK(code_of(with(good, "probe.outputs", "probe.0utputs")) == errc::not_found);
    CHECK(code_of(with(good, "predict.0.bias", "predict.7.bias")) == errc::not_found);

    auto changed = trained; // the probe's outputs are of other weights
    changed.net.head.layers.back().b[1] += 1;
    std::string mixed = mt::to_safetensors(changed);
    mixed.replace(mixed.size() - 8, 8, good.substr(good.size() - 8));
    CHECK(code_of(mixed) == errc::version_mismatch);

    changed = trained;
    changed.net.convolutions[1].b[0] = std::numeric_limits<float>::quiet_NaN();
    const auto path = scratch_file("augur_metatune_refused.safetensors");
    auto refused = mt::save(changed, path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK(refused.error().detail.find("gnn.gnn_layers.1.graph_conv.bias") != std::string::npos);
    changed = trained;
    changed.graph_template = "\xff\xfe";
    refused = mt::save(changed, path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK_FALSE(std::filesystem::exists(path));
}
