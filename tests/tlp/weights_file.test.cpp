// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/weights_file.hpp>

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../nn/weights_parts.hpp"
#include "../record/logs.hpp"
#include "data.hpp"

using augur::errc;

namespace {
augur::tlp::trained_model small_model(augur::tlp::schema schema = augur::tlp::schema::ansor(16, 4, 0)) {
    augur::tlp::config config = augur::tlp::config::small(0);
    config.encoder = {4, 8};
    config.scaling = augur::tlp::scaling::logarithm;
    config.heads = 2;
    config.decoder = {4};
    auto model = augur::tlp::trained_model::random_init(std::move(schema), config, augur::random_engine(3));
    REQUIRE(model);
    return *std::move(model);
}
std::vector<float> score(const augur::tlp::trained_model& model) {
    augur::serial_executor serial;
    augur::tlp::forward_backward<float> pass;
    const auto bags = tlp_data::bags_of(tlp_data::random_schedules(20, 1), model.schema);
    std::vector<float> out(20);
    pass.forward(model.model, bags, serial, out);
    return out;
}
} // namespace

TEST_CASE("tlp weights: a saved model is the same model, with its schema") {
    for (auto schema : {augur::tlp::schema::ansor(16, 4, 0), augur::tlp::schema::ansor_gpu(16, 4, 0), augur::tlp::schema::authors_cpu(),
                        augur::tlp::schema::authors_gpu()}) {
        const auto model = small_model(std::move(schema));
        const auto again = augur::tlp::from_safetensors(augur::tlp::to_safetensors(model));
        REQUIRE(again);
        CHECK(again->schema == model.schema);
        CHECK(again->model.config == model.model.config);
        if (model.schema.name != "authors-gpu") CHECK(score(*again) == score(model));
    }
    const logs::folder tmp;
    const auto path = tmp / "weights.safetensors";
    const auto model = small_model();
    REQUIRE(augur::tlp::save(model, path));
    const auto loaded = augur::tlp::load(path);
    std::remove(path.c_str());
    REQUIRE(loaded);
    CHECK(score(*loaded) == score(model));
    CHECK(augur::tlp::load(path).error().code == errc::io);

    // what could not be loaded again is not written
    auto broken = model;
    broken.model.encoder.front().W(0, 0) = std::numeric_limits<float>::quiet_NaN();
    CHECK(augur::tlp::save(broken, path).error().detail == path + ": expected finite parameters, 'encoder.0.weight' has a NaN or an infinity");
    broken = model;
    broken.schema.kinds[0] = "bad \xff\xfe";
    CHECK(augur::tlp::save(broken, path).error().code == errc::invalid_argument);
    broken = model;
    broken.schema.columns = 40;
    CHECK(augur::tlp::save(broken, path).error().detail == path + ": expected a model with the 40 columns of its schema, got 24");
    broken = model;
    broken.model.decoders.front().back().b(0) = 3e38F; // finite, but the sum over the rows is not
    const auto overflow = augur::tlp::save(broken, path);
    CHECK(overflow.error().code == errc::invalid_argument);
    CHECK(overflow.error().detail.find("the known input scores") != std::string::npos);
    CHECK(!std::filesystem::exists(path));
}

TEST_CASE("tlp weights: stored in torch's orientation") {
    const auto model = small_model();
    const std::string file = augur::tlp::to_safetensors(model);
    const auto header = augur::nn::parse_safetensors(file);
    REQUIRE(header);
    std::vector<float> w(4 * 24);
    REQUIRE(augur::nn::read_tensor(file, *header, "encoder.0.weight", std::array<std::uint64_t, 2>{4, 24}, w));
    CHECK(w[1 * 24 + 5] == model.model.encoder[0].W(5, 1));
}

TEST_CASE("tlp weights: every backbone and any number of outputs") {
    for (int k = 0; k < 3; ++k) {
        augur::tlp::config config = augur::tlp::config::small(0);
        config.encoder = {4, 8};
        config.heads = 2;
        config.decoder = {4};
        if (k == 0) config.backbone = augur::tlp::backbone::lstm;
        if (k == 1) config.attention_layers = 2;
        if (k == 2) config.outputs = 3;
        const auto model = augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(16, 4, 0), config, augur::random_engine(3));
        REQUIRE(model);
        const std::string file = augur::tlp::to_safetensors(*model);
        const auto again = augur::tlp::from_safetensors(file);
        REQUIRE(again);
        CHECK(again->model.config == model->model.config);
        augur::tlp::model<float>::visit([](std::string_view, const auto& a, const auto& b) { CHECK(a == b); }, again->model, model->model);
        const auto header = augur::nn::parse_safetensors(file);
        REQUIRE(header);
        const char* const name[] = {"lstm.weight_hh_l0", "attention_1.in_proj_weight", "mtl_heads.2.0.weight"};
        CHECK(header->find(name[k]) != nullptr);
    }
}

TEST_CASE("tlp weights: a file from before there were backbones and outputs") {
    std::string old = augur::tlp::to_safetensors(small_model());
    for (std::string key : {"\\\"backbone\\\": 0, ", "\\\"attention_layers\\\": 1, ", ", \\\"outputs\\\": 1"}) {
        const auto at = old.find(key); // spaces in their place, so that the header keeps its length
        REQUIRE(at != std::string::npos);
        old.replace(at, key.size(), std::string(key.size(), ' '));
    }
    const auto model = augur::tlp::from_safetensors(old);
    REQUIRE(model);
    CHECK(model->model.config == small_model().model.config);
}

TEST_CASE("tlp weights: another schema than the one asked for says which file has which") {
    const logs::folder tmp;
    const auto path = tmp / "weights.safetensors";
    REQUIRE(augur::tlp::save(small_model(), path));
    CHECK(augur::tlp::load(path, small_model().schema, "data.augur"));
    const auto refused = augur::tlp::load(path, augur::tlp::schema::authors_cpu(), "data.augur");
    CHECK(refused.error().code == errc::version_mismatch);
    CHECK(refused.error().detail ==
          "tlp schema: '" + path + "' (schema 'ansor') has 16 x 24 features, 'data.augur' (schema 'authors-cpu') has 25 x 22 features");
    std::remove(path.c_str());
    CHECK(augur::tlp::load(path, augur::tlp::schema::authors_cpu(), "data.augur").error().code == errc::io);
}

namespace {
using parts = weights_parts;
struct corruption {
    const char* what;
    void (*edit)(parts&);
    errc code;
    const char* says; ///< a part of the error
};
const float not_a_number = std::numeric_limits<float>::quiet_NaN();
const float infinity = std::numeric_limits<float>::infinity();
} // namespace

TEST_CASE("tlp weights: every corruption has its error") {
    const corruption all[] = {
        {"no metadata", [](parts& p) { p.header.erase("__metadata__"); }, errc::version_mismatch, "expected metadata format 'augur-tlp', got ''"},
        {"another format", [](parts& p) { p.meta("format", "augur", "other"); }, errc::version_mismatch, "got 'other-tlp'"},
        {"another version", [](parts& p) { p.meta("version", "1", "2"); }, errc::version_mismatch, "expected version 1, got '2'"},
        {"no schema", [](parts& p) { p.header["__metadata__"].erase("schema"); }, errc::parse, "schema"},
        {"schema is no JSON", [](parts& p) { p.header["__metadata__"]["schema"] = "{"; }, errc::parse, "schema"},
        {"schema is a list", [](parts& p) { p.header["__metadata__"]["schema"] = "[]"; }, errc::parse, "schema"},
        {"schema with a key too many", [](parts& p) { p.meta("schema", "\"rows\"", "\"more\""); }, errc::parse, "unknown key 'more'"},
        {"schema that does not say how many places", [](parts& p) { p.meta("schema", "\"positions\": 0, ", ""); }, errc::parse,
         "expected the key 'positions', it is missing"},
        {"schema that does not say whether it pads", [](parts& p) { p.meta("schema", ", \"pad\": 0", ""); }, errc::parse,
         "the key 'pad', it is missing"},
        {"schema with two lists of kinds", [](parts& p) { p.meta("schema", "\"kinds\": [", "\"kinds\": [\"AN\"], \"kinds\": ["); }, errc::parse,
         "the key 'kinds' twice"},
        {"schema without a row", [](parts& p) { p.meta("schema", "\"rows\": 16", "\"rows\": 0"); }, errc::shape_mismatch, "got 0 x 24"},
        {"schema of 2^31 rows", [](parts& p) { p.meta("schema", "\"rows\": 16", "\"rows\": 2147483648"); }, errc::parse, "expected 0 to 65536"},
        {"schema of minus one row", [](parts& p) { p.meta("schema", "\"rows\": 16", "\"rows\": -1"); }, errc::parse, "expected 0 to 65536, got -1"},
        {"schema of half a row", [](parts& p) { p.meta("schema", "\"rows\": 16", "\"rows\": 0.5"); }, errc::parse, "schema"},
        {"schema of 4 GB of features",
         [](parts& p) {
             p.meta("schema", "\"rows\": 16", "\"rows\": 65536");
             p.meta("schema", "\"columns\": 24", "\"columns\": 65536");
         },
         errc::limit, "the limit is 16777216"},
        {"more kinds than columns for them", [](parts& p) { p.meta("schema", "\"kind_columns\": 20", "\"kind_columns\": 3"); }, errc::shape_mismatch,
         "15 kinds need as many columns, it has 3"},
        {"more places than columns", [](parts& p) { p.meta("schema", "\"positions\": 0", "\"positions\": 25"); }, errc::shape_mismatch,
         "25 positions"},
        {"a rule that is none", [](parts& p) { p.meta("schema", "\"unknown\": 2", "\"unknown\": 7"); }, errc::parse, "expected 0 to 2, got 7"},
        {"a name of two parts", [](parts& p) { p.meta("schema", "[\"CHW\", \"local\", 1]", "[\"CHW\", \"local\"]"); }, errc::parse, "schema"},
        {"a name of four parts", [](parts& p) { p.meta("schema", "[\"CHW\", \"local\", 1]", "[\"CHW\", \"local\", 1, 2]"); }, errc::parse, "schema"},
        {"schema wider than the config", [](parts& p) { p.meta("schema", "\"columns\": 24", "\"columns\": 25"); }, errc::shape_mismatch,
         "the schema has 25 columns, the config 24"},
        {"no config", [](parts& p) { p.header["__metadata__"].erase("config"); }, errc::parse, "config"},
        {"config with a key too many", [](parts& p) { p.meta("config", "\"heads\"", "\"tails\""); }, errc::parse, "unknown key 'tails'"},
        {"no head", [](parts& p) { p.meta("config", "\"heads\": 2", "\"heads\": 0"); }, errc::shape_mismatch, "heads that divide the width 8, got 0"},
        {"heads that do not divide", [](parts& p) { p.meta("config", "\"heads\": 2", "\"heads\": 3"); }, errc::shape_mismatch, "got 3"},
        {"other heads that divide", [](parts& p) { p.meta("config", "\"heads\": 2", "\"heads\": 4"); }, errc::version_mismatch,
         "the known input scores"},
        {"no encoder", [](parts& p) { p.meta("config", "[4, 8]", "[]"); }, errc::shape_mismatch, "1 to 16 encoder layers"},
        {"a width of 0", [](parts& p) { p.meta("config", "[4, 8]", "[0, 8]"); }, errc::shape_mismatch, "a width of 1 to 16384, got 0"},
        {"a width of 2^62", [](parts& p) { p.meta("config", "[4, 8]", "[4611686018427387904, 8]"); }, errc::parse, "expected 0 to 16384"},
        {"the widest that a config may be", [](parts& p) { p.meta("config", "[4, 8]", "[16384, 16384]"); }, errc::shape_mismatch,
         "more parameters than the file has bytes"},
        {"an encoder layer too many", [](parts& p) { p.meta("config", "[4, 8]", "[4, 8, 8]"); }, errc::shape_mismatch,
         "needs 17 tensors, the file has 15"},
        {"a backbone that is none", [](parts& p) { p.meta("config", "\"backbone\": 0", "\"backbone\": 2"); }, errc::parse, "expected 0 to 1, got 2"},
        {"the other backbone", [](parts& p) { p.meta("config", "\"backbone\": 0", "\"backbone\": 1"); }, errc::not_found,
         "tensor 'lstm_linar_encoder.0.weight' is not in the file"},
        {"no attention", [](parts& p) { p.meta("config", "\"attention_layers\": 1", "\"attention_layers\": 0"); }, errc::shape_mismatch, "got 0"},
        {"no output", [](parts& p) { p.meta("config", "\"outputs\": 1", "\"outputs\": 0"); }, errc::shape_mismatch, "1 to 64 outputs, got 0"},
        {"outputs that are not there", [](parts& p) { p.meta("config", "\"outputs\": 1", "\"outputs\": 64"); }, errc::shape_mismatch, "tensors"},
        {"the other scaling", [](parts& p) { p.meta("config", "\"scaling\": 1", "\"scaling\": 0"); }, errc::version_mismatch,
         "the known input scores"},
        {"a scaling that is none", [](parts& p) { p.meta("config", "\"scaling\": 1", "\"scaling\": 9"); }, errc::parse, ", got 9"},
        {"a dead layer that is not there", [](parts& p) { p.meta("config", "\"dead_layer\": 0", "\"dead_layer\": 1"); }, errc::shape_mismatch,
         "tensors"},
        {"a weight that is no number", [](parts& p) { p.put("encoder.2.weight", not_a_number, 3); }, errc::parse,
         "tensor 'encoder.2.weight' has a number that is not finite at element 3"},
        {"an infinite bias", [](parts& p) { p.put("decoder.2.bias", infinity); }, errc::parse,
         "tensor 'decoder.2.bias' has a number that is not finite at element 0"},
        {"attention that is minus infinite", [](parts& p) { p.put("attention.in_proj_weight", -infinity, 5); }, errc::parse,
         "tensor 'attention.in_proj_weight' has a number that is not finite at element 5"},
        {"a known input that is no number", [](parts& p) { p.put("probe.rows", not_a_number); }, errc::parse, "tensor 'probe.rows' has a number"},
        {"one weight changed", [](parts& p) { p.put("decoder.2.bias", 50); }, errc::version_mismatch, "the known input scores"},
        {"a weight so large that scores overflow", [](parts& p) { p.put("decoder.2.bias", 3e38F); }, errc::version_mismatch,
         "the known input scores"},
        {"a tensor by another name",
         [](parts& p) {
             p.header["decoder.9.bias"] = p.header["decoder.2.bias"];
             p.header.erase("decoder.2.bias");
         },
         errc::not_found, "tensor 'decoder.2.bias' is not in the file"},
        {"a tensor too many", [](parts& p) { p.add("l0.0.weight", {1}, 4); }, errc::shape_mismatch, "needs 15 tensors, the file has 16"},
        {"weights in doubles",
         [](parts& p) {
             p.header.erase("decoder.2.bias"); // the last tensor
             p.data.resize(p.data.size() - 4);
             p.add("decoder.2.bias", {1}, 8, "F64");
         },
         errc::version_mismatch, "tensor 'decoder.2.bias' has type F64, expected F32"},
        {"weights in halves",
         [](parts& p) {
             p.header["encoder.0.weight"]["dtype"] = "F16";
             p.header["encoder.0.weight"]["shape"] = {8, 24};
         },
         errc::version_mismatch, "has type F16"},
        {"a weight the other way round", [](parts& p) { p.header["encoder.0.weight"]["shape"] = {24, 4}; }, errc::shape_mismatch,
         "tensor 'encoder.0.weight' has shape [24, 4], expected [4, 24]"},
        {"a bias of two dimensions", [](parts& p) { p.header["encoder.0.bias"]["shape"] = {1, 4}; }, errc::shape_mismatch, "expected [4]"},
        {"a known input of other columns",
         [](parts& p) {
             const auto n = p.header["probe.rows"]["shape"][0].get<int>();
             p.header["probe.rows"]["shape"] = {2 * n, 12};
         },
         errc::shape_mismatch, "tensor 'probe.rows' has shape"},
        {"a known input without a shape",
         [](parts& p) {
             p.header["probe.rows"]["shape"] = nlohmann::json::array();
             p.header["probe.rows"]["data_offsets"] = {0, 4};
         },
         errc::shape_mismatch, "begins at"},
        {"a known input of 2^40 rows", [](parts& p) { p.header["probe.rows"]["shape"] = {1099511627776, 24}; }, errc::shape_mismatch,
         "the shape needs"},
        {"no known score", [](parts& p) { p.header["__metadata__"].erase("probe_score"); }, errc::version_mismatch, "the file says ''"},
        {"a known score that is no number", [](parts& p) { p.header["__metadata__"]["probe_score"] = "nan"; }, errc::version_mismatch,
         "the file says 'nan'"},
        {"another known score", [](parts& p) { p.header["__metadata__"]["probe_score"] = "7e9"; }, errc::version_mismatch, "the file says '7e9'"},
        {"one byte too few", [](parts& p) { p.data.pop_back(); }, errc::shape_mismatch, "bytes, the file has"},
        {"one byte too many", [](parts& p) { p.data.push_back('\0'); }, errc::shape_mismatch, "bytes, the file has"},
        {"two tensors in one place", [](parts& p) { p.header["encoder.0.bias"]["data_offsets"] = p.header["encoder.2.bias"]["data_offsets"]; },
         errc::shape_mismatch, ""},
    };
    static_assert(std::size(all) >= 40);
    auto model = small_model();
    model.model.attention.front().in_proj.W *= 10; // as if trained: what the heads are then shows in a score
    const std::string good = augur::tlp::to_safetensors(model);
    REQUIRE(augur::tlp::from_safetensors(parts(good).file()));
    for (const auto& c : all) {
        CAPTURE(std::string(c.what));
        parts p(good);
        c.edit(p);
        const auto read = augur::tlp::from_safetensors(p.file());
        CHECK(!read);
        if (read) continue;
        CAPTURE(read.error().detail);
        CHECK(augur::to_string(read.error().code) == augur::to_string(c.code));
        CHECK(read.error().detail.find(c.says) != std::string::npos);
    }
}

TEST_CASE("tlp weights: any number that is not finite is refused with its tensor's name") {
    const std::string good = augur::tlp::to_safetensors(small_model());
    const parts whole(good);
    for (const auto& [name, entry] : whole.header.items()) {
        if (name == "__metadata__") continue;
        parts p = whole;
        p.put(name.c_str(), not_a_number);
        const auto model = augur::tlp::from_safetensors(p.file());
        REQUIRE(!model);
        CHECK(model.error().detail == "safetensors: tensor '" + name + "' has a number that is not finite at element 0");
    }
}

TEST_CASE("tlp weights: cut or with a broken byte, an error or a model, never worse") {
    const std::string good = augur::tlp::to_safetensors(small_model());
    for (std::size_t n = 0; n < good.size(); n += 7) CHECK(!augur::tlp::from_safetensors(std::string_view(good).substr(0, n)));
    augur::random_engine rng(5);
    for (std::size_t i = 0; i < good.size(); i += 3) {
        std::string broken = good;
        broken[i] = static_cast<char>(rng.below(256));
        const auto model = augur::tlp::from_safetensors(broken);
        if (model) CHECK(model->schema.check());
    }
}

TEST_CASE("tlp weights: words that end early are an error, in a release build too") {
    const auto refusal = [](const std::string& schema) {
        std::string text = R"({"__metadata__":{"format":"augur-tlp","version":"1","schema":")";
        for (const char c : schema) text += c == '"' ? "\\\"" : std::string(1, c);
        text += "\"}}";
        std::string file(8, '\0');
        file[0] = static_cast<char>(text.size());
        REQUIRE(text.size() < 128);
        return augur::tlp::from_safetensors(file + text).error().detail;
    };
    CHECK(refusal(R"({"words":[[]],[]],[]],[]]]})") == "tlp weights: schema 1:11: expected a kind, a text and a value");
    CHECK(refusal(R"({"words":[["a","b"]]})") == "tlp weights: schema 1:16: expected a kind, a text and a value");
    CHECK(refusal(R"({"words":[["a","b",1,2]]})") == "tlp weights: schema 1:20: expected a kind, a text and a value");
    CHECK(refusal(R"({"words":[7]})") == "tlp weights: schema 1:11: expected an array, got '7'");

    std::string layers = R"({"encoder":[1)";
    for (int i = 0; i < 64; ++i) layers += ",1";
    const auto config = augur::tlp::detail::read_config(layers + "]}");
    CHECK(config.error().code == errc::limit);
}
