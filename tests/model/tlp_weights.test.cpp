// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/tlp_weights.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tlp_data.hpp"

using augur::errc;

namespace {
augur::tlp_model small_model(augur::tlp_schema schema = augur::tlp_schema::ansor(16, 4, 0)) {
    augur::tlp_config config = augur::tlp_config::small(0);
    config.encoder = {4, 8};
    config.heads = 2;
    config.decoder = {4};
    auto model = augur::tlp_model::random_init(std::move(schema), config, augur::random(3));
    REQUIRE(model);
    return *std::move(model);
}
std::vector<float> score(const augur::tlp_model& model) {
    augur::serial_executor serial;
    augur::tlp_pass<float> pass;
    const auto bags = tlp_data::bags_of(tlp_data::random_schedules(20, 1), model.schema);
    std::vector<float> out(20);
    pass.forward(model.network, bags, serial, out);
    return out;
}
void replace(std::string& text, const std::string& from, const std::string& to) {
    REQUIRE(from.size() == to.size());
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
}
} // namespace

TEST_CASE("tlp weights: a saved model is the same model, with its schema") {
    for (auto schema : {augur::tlp_schema::ansor(16, 4, 0), augur::tlp_schema::authors_cpu(), augur::tlp_schema::authors_gpu()}) {
        const auto model = small_model(std::move(schema));
        const auto again = augur::tlp_from_safetensors(augur::to_safetensors(model));
        REQUIRE(again);
        CHECK(again->schema == model.schema);
        CHECK(again->network.config == model.network.config);
        if (model.schema.name != "authors-gpu") CHECK(score(*again) == score(model));
    }
    const auto path = (std::filesystem::temp_directory_path() / "augur_tlp_weights_test.safetensors").string();
    const auto model = small_model();
    REQUIRE(augur::save_tlp(model, path));
    const auto loaded = augur::load_tlp(path);
    std::remove(path.c_str());
    REQUIRE(loaded);
    CHECK(score(*loaded) == score(model));
    CHECK(augur::load_tlp(path).why().code == errc::io);
}

TEST_CASE("tlp weights: stored in torch's orientation") {
    const auto model = small_model();
    const std::string file = augur::to_safetensors(model);
    const auto header = augur::nn::parse_safetensors(file);
    REQUIRE(header);
    std::vector<float> w(4 * 24);
    REQUIRE(augur::nn::read_tensor(file, *header, "encoder.0.weight", std::array<std::uint64_t, 2>{4, 24}, w));
    CHECK(w[1 * 24 + 5] == model.network.encoder[0].W(5, 1));
}

TEST_CASE("tlp weights: what does not fit is refused in words") {
    const std::string good = augur::to_safetensors(small_model());
    const auto why = [&](const std::string& from, const std::string& to) {
        std::string broken = good;
        replace(broken, from, to);
        const auto model = augur::tlp_from_safetensors(broken);
        REQUIRE(!model);
        return model.why();
    };
    CHECK(why("augur-tlp", "other-tlp").code == errc::version_mismatch);
    CHECK(why("\"version\": \"1\"", "\"version\": \"2\"").code == errc::version_mismatch);
    CHECK(why("decoder.2.bias", "decoder.9.bias").code == errc::not_found);
    CHECK(why("\\\"heads\\\": 2", "\\\"heads\\\": 3").code == errc::shape_mismatch);
    CHECK(why("\\\"decoder\\\": [4]", "\\\"decoder\\\": [5]").code == errc::shape_mismatch);
    CHECK(why("\\\"encoder\\\": [4, 8]", "\\\"encoder\\\": [4,80]").code == errc::shape_mismatch);
    CHECK(why("\\\"unknown\\\": 2", "\\\"unknown\\\": 7").code == errc::parse);
    CHECK(why("\\\"scaling\\\": 1", "\\\"scaling\\\": 0").code == errc::version_mismatch);
    std::string nan = good;
    for (std::size_t i = 1; i <= 4; ++i) nan[nan.size() - i] = '\xff';
    CHECK(augur::tlp_from_safetensors(nan).why().code == errc::parse);
    std::string off = good; // one weight changed: no longer what was saved
    off[off.size() - 1] = '\x42';
    CHECK(augur::tlp_from_safetensors(off).why().code == errc::version_mismatch);
}

TEST_CASE("tlp weights: cut or with a broken byte, an error or a model, never worse") {
    const std::string good = augur::to_safetensors(small_model());
    for (std::size_t n = 0; n < good.size(); n += 7) CHECK(!augur::tlp_from_safetensors(std::string_view(good).substr(0, n)));
    augur::random rng(5);
    for (std::size_t i = 0; i < good.size(); i += 3) {
        std::string broken = good;
        broken[i] = static_cast<char>(rng.below(256));
        const auto model = augur::tlp_from_safetensors(broken);
        if (model) CHECK(model->schema.check());
    }
}
