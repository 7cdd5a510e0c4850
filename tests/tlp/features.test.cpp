// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/features.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "data.hpp"

using tlp_data::load, tlp_data::steps_of;

namespace {

/// Somebody else's schedule: kinds and numbers that no vocabulary knows.
struct foreign {
    template <class Sink>
    void visit(Sink& k) const {
        k.primitive("tile");
        k.number(std::int64_t{8});
        k.number(2.5);
        k.primitive("PR");
        k.number(std::int64_t{3});
        k.name("auto_unroll_max_step$64");
        k.name("innermost");
    }
};

} // namespace

TEST_CASE("tlp features: the authors' numbers, CPU and GPU, cropped and whole") {
    for (const char* name : {"tlp_cpu_chw", "tlp_cpu_rf_cr", "tlp_gpu_tenset_k80", "tlp_gpu_winograd", "tlp_gpu_winograd_full"}) {
        CAPTURE(name);
        const auto j = load(std::string(name) + ".json");
        const auto rows = j["crop_seq_len"].get<std::size_t>(), columns = j["crop_emb_size"].get<std::size_t>();
        const auto schema = j["vocab"] == "llvm" ? augur::tlp::schema::authors_cpu(rows, columns) : augur::tlp::schema::authors_gpu(rows, columns);
        REQUIRE(schema.check());
        std::vector<float> out(rows * columns, -7);
        const auto n = augur::tlp::extract_features(steps_of(j["record_line"].get<std::string>()), schema, out);
        REQUIRE(n);
        CHECK(*n == rows);
        std::size_t wrong = 0;
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c)
                if (out[r * columns + c] != j["features"][r][c].get<float>()) ++wrong;
        CHECK(wrong == 0);
    }
}

TEST_CASE("tlp features: every crop is a corner of the largest") {
    const auto j = load("tlp_cpu_chw.json");
    const auto s = steps_of(j["record_line"].get<std::string>());
    const auto whole = augur::tlp::schema::authors_cpu(54, 40);
    std::vector<float> all(54 * 40);
    REQUIRE(augur::tlp::extract_features(s, whole, all));
    for (const std::size_t rows : {25U, 54U})
        for (const std::size_t columns : {22U, 40U}) {
            const auto schema = augur::tlp::schema::authors_cpu(rows, columns);
            std::vector<float> out(rows * columns);
            REQUIRE(augur::tlp::extract_features(s, schema, out));
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < columns; ++c) CHECK(out[r * columns + c] == all[r * 40 + c]);
        }
}

TEST_CASE("tlp features: at the edges of the vocabulary") {
    const auto file = load("tlp_unknown.json"); // lives as long as the loop
    for (const auto& c : file["cases"]) {
        CAPTURE(c["case"].get<std::string>());
        const bool cpu = c["platform"] == "llvm";
        auto schema = cpu ? augur::tlp::schema::authors_cpu() : augur::tlp::schema::authors_gpu();
        const auto s = steps_of(c["record_line"].get<std::string>());
        std::vector<float> out(schema.rows * schema.columns);
        const auto n = augur::tlp::extract_features(s, schema, out);
        CHECK(static_cast<bool>(n) == (c["result"] == "ok")); // we refuse what the authors' extractor dies of
        if (!n) {
            CHECK(n.error().code == augur::errc::unknown_primitive);
            CHECK(n.error().detail.find("step ") == 0);
        }
        schema.unknown = augur::tlp::unknown_word::zeros;
        CHECK(augur::tlp::extract_features(s, schema, out));
    }
}

TEST_CASE("tlp features: a language that the vocabulary does not know") {
    auto schema = augur::tlp::schema::ansor();
    REQUIRE(schema.check());
    std::vector<float> out(schema.rows * schema.columns);
    const auto n = augur::tlp::extract_features(foreign{}, schema, out);
    REQUIRE(n);
    CHECK(*n == 2); // no padding
    const float* tile = out.data();
    const float* pragma = tile + schema.columns;
    CHECK(tile[schema.kinds.size()] == 1);                          // the column "other"
    const float* places = tile + schema.columns - schema.positions; // a one-hot of the place ends the row
    CHECK((places[0] == 1 && places[1] == 0 && places[schema.columns] == 0 && places[schema.columns + 1] == 1));
    CHECK(tile[schema.kind_columns] == 8);
    CHECK(tile[schema.kind_columns + 1] == 2.5F);
    CHECK(pragma[2] == 1);
    CHECK(pragma[schema.kind_columns + 1] == 65);
    CHECK(pragma[schema.kind_columns + 2] == -1);

    schema.unknown = augur::tlp::unknown_word::refuse;
    const auto refused = augur::tlp::extract_features(foreign{}, schema, out);
    REQUIRE(!refused);
    CHECK(refused.error().detail == "step 0: primitive 'tile' is not in the vocabulary 'ansor'");
}

TEST_CASE("tlp schema: equal means equal hash, and sizes are checked") {
    const auto a = augur::tlp::schema::ansor();
    auto b = a;
    b.name = "renamed";
    CHECK(a.hash() == b.hash());
    b.kind_columns = 21;
    CHECK(a.hash() != b.hash());
    b.kind_columns = 14;
    CHECK(b.check().error().code == augur::errc::shape_mismatch);
    b = a;
    b.positions = b.columns + 1;
    CHECK(b.check().error().code == augur::errc::shape_mismatch);
    b.positions = 3;
    CHECK(a.hash() != b.hash());
    CHECK(augur::tlp::schema::authors_cpu(0, 22).check().error().code == augur::errc::shape_mismatch);
    CHECK(augur::tlp::schema::authors_cpu(65536, 65536).check().error().code == augur::errc::limit);

    augur::tlp::schema kinds = a, words = a; // the same texts in other places, and values that differ in the last bit
    kinds.kinds = {"a", "k", "t", std::to_string(std::bit_cast<std::uint32_t>(1.0F))};
    kinds.words.clear();
    words.kinds = {"a"};
    words.words = {{"k", "t", 1.0F}};
    CHECK(kinds.hash() != words.hash());
    auto next = words;
    next.words[0].value = std::nextafter(1.0F, 2.0F);
    CHECK(next.hash() != words.hash());
    CHECK(next.check());
    next.words[0].value = std::numeric_limits<float>::infinity();
    CHECK(next.check().error().code == augur::errc::invalid_argument);
}

TEST_CASE("tlp schema: a mismatch says which has what") {
    using augur::tlp::same_schema;
    const auto cpu = augur::tlp::schema::authors_cpu();
    auto other = cpu;
    other.name = "renamed";
    CHECK(augur::tlp::same_schema(cpu, "a.safetensors", other, "b.augur"));
    const auto why = [&] { return augur::tlp::same_schema(cpu, "a.safetensors", other, "b.augur").error(); };
    CHECK(augur::tlp::same_schema(cpu, "a", augur::tlp::schema::authors_cpu(54, 40), "b").error().code == augur::errc::version_mismatch);
    other = augur::tlp::schema::authors_cpu(54, 40);
    CHECK(why().detail == "tlp schema: 'a.safetensors' (schema 'authors-cpu') has 25 x 22 features, "
                          "'b.augur' (schema 'authors-cpu') has 54 x 40 features");
    other = cpu;
    other.kinds[2] = "XX";
    CHECK(why().detail == "tlp schema: 'a.safetensors' (schema 'authors-cpu') has kind 2 'AN', 'b.augur' (schema 'authors-cpu') has kind 2 'XX'");
    other = cpu;
    other.kinds.pop_back();
    CHECK(why().detail.find("has kind 10 'PR', 'b.augur' (schema 'authors-cpu') has 10 kinds") != std::string::npos);
    other = cpu;
    other.words[1].value = 2.5F;
    CHECK(
        why().detail.find("has name 'PR.auto_unroll_max_step$0' = 2, 'b.augur' (schema 'authors-cpu') has name 'PR.auto_unroll_max_step$0' = 2.5") !=
        std::string::npos);
    other = cpu;
    other.words.clear();
    CHECK(why().detail.find("has 0 names") != std::string::npos);
    other = cpu;
    other.pad = false;
    CHECK(why().detail.find("and no padding") != std::string::npos);
    for (auto change : {&augur::tlp::schema::kind_columns, &augur::tlp::schema::positions}) { // equal hash and equal words agree
        other = cpu;
        ++(other.*change);
        CHECK(!augur::tlp::same_schema(cpu, "a", other, "b"));
        CHECK(cpu.hash() != other.hash());
    }
}
