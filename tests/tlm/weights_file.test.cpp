// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Folders whose files do not fit each other, checkpoints of Hugging Face, damaged configs. (A model that comes back from its folder: trainer.test.cpp.)
#include <augur/tlm/weights_file.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/tlm/vocabulary.hpp>

#include "../nn/same_parameters.hpp"
#include "read_back.hpp"

namespace nn = augur::nn;
namespace tlm = augur::tlm;
namespace fs = std::filesystem;

namespace weights_file_test {

namespace {

tlm::vocabulary some_words(const std::string& more = "") {
    tlm::vocabulary_builder counted;
    counted.add_text("a kernel PPT 0 1 2 3" + more);
    return *counted.build();
}

tlm::language_model small_model() {
    auto words = some_words();
    const tlm::gpt2_config config{static_cast<nn::index>(words.size()), 16, 2, 8, 2, 32};
    return {tlm::gpt2<float>::random_init(config, augur::random_engine(1)), std::move(words), tlm::sentence_form::compact};
}

/// A file with the tensors of a net, each called `name(its own name)`; those without a name are left out.
template <class F>
nn::safetensors_writer file_of(const tlm::gpt2<float>& net, const F& name) {
    nn::safetensors_writer out;
    tlm::gpt2<float>::visit(
        [&](const std::string& own, const auto& p) {
            const std::string called = name(own);
            if (called.empty()) return;
            std::vector<std::uint64_t> shape{static_cast<std::uint64_t>(p.rows()), static_cast<std::uint64_t>(p.cols())};
            if (std::remove_cvref_t<decltype(p)>::RowsAtCompileTime == 1) shape.erase(shape.begin());
            out.tensor(called, shape, std::span<const float>(p.data(), static_cast<std::size_t>(p.size())));
        },
        net);
    return out;
}

/// A folder with a model, removed in the end.
struct model_folder {
    std::string path = (fs::temp_directory_path() / ("augur-tlm-folder-" + std::to_string(::getpid()))).string();
    model_folder() {
        fs::remove_all(path);
        fs::create_directory(path);
    }
    model_folder(const model_folder&) = delete;
    model_folder& operator=(const model_folder&) = delete;
    ~model_folder() { fs::remove_all(path); }
    void write(const char* name, std::string_view bytes) const {
        std::ofstream file(path + name, std::ios::binary);
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    /// Code and text of the error, without the folder; "none" if it can be loaded.
    [[nodiscard]] std::string loaded() const {
        const auto read = tlm::load(path);
        if (read) return "none";
        const auto& text = read.error().detail;
        REQUIRE(text.starts_with(path));
        return std::string(augur::to_string(read.error().code)) + text.substr(path.size());
    }
};

bool begins(const std::string& text, std::string_view with) { return text.starts_with(with); }

} // namespace

TEST_CASE("weights file: a tokenizer with more tokens than the model has is an error, one with fewer is none") {
    const model_folder folder;
    const auto m = small_model();
    REQUIRE(tlm::save(m, folder.path));
    CHECK(folder.loaded() == "none");
    folder.write("/model.safetensors", tlm::to_safetensors(m.net)); // of others, which do not say whose tokens they know
    folder.write("/tokenizer.json", some_words(" 4 5").to_json());
    CHECK(folder.loaded() ==
          "shape_mismatch: the tokenizer has " + std::to_string(m.words.size() + 2) + " tokens, the model " + std::to_string(m.words.size()));
    tlm::vocabulary_builder few;
    few.add_text("a kernel");
    folder.write("/tokenizer.json", few.build()->to_json());
    CHECK(folder.loaded() == "none");
}

TEST_CASE("weights file: weights beside the tokenizer of another model of the same size are an error") {
    const model_folder folder;
    const auto m = small_model();
    REQUIRE(tlm::save(m, folder.path));
    auto other = m;
    tlm::vocabulary_builder counted;
    counted.add_text("a kernel PPT 0 1 2 4");
    other.words = *counted.build();
    REQUIRE(other.words.size() == m.words.size());
    const std::string expected = "version_mismatch: the weights were saved with another tokenizer";
    folder.write("/tokenizer.json", other.words.to_json()); // a save that was killed behind the first file
    CHECK(folder.loaded() == expected);
    folder.write("/model.safetensors", tlm::to_safetensors(m.net)); // nothing is said
    CHECK(folder.loaded() == "none");
    folder.write("/model.safetensors", tlm::to_safetensors(m.net, &m.words));
    CHECK(folder.loaded() == expected);
    REQUIRE(tlm::save(other, folder.path)); // the rest of the save
    CHECK(folder.loaded() == "none");
    folder.write("/tokenizer.json", "  " + other.words.to_json() + "\n"); // the same words in another layout
    CHECK(folder.loaded() == "none");
    const auto bytes = tlm::to_safetensors(m.net, &m.words);
    const auto header = nn::parse_safetensors(bytes);
    REQUIRE(header);
    CHECK(header->metadata_text("augur_tokenizer") == std::to_string(augur::fnv1a64(m.words.to_json())));
}

TEST_CASE("weights file: a size that a config does not have is named") {
    const std::vector<std::string> sizes{"vocab_size", "n_positions", "n_layer", "n_embd", "n_head"};
    const auto read = [&](const std::string& without, const std::string& value) {
        std::string text = R"({"model_type": "gpt2")";
        for (const auto& name : sizes)
            if (name != without) text += ", \"" + name + "\": 8";
            else text += value;
        const auto config = tlm::read_config_json(text + "}");
        return config ? std::string("none") : augur::to_string(config.error());
    };
    CHECK(read("", "") == "none");
    for (const auto& name : sizes) {
        CHECK(read(name, "") == "invalid_argument: config: " + name + " is missing, or 0");
        CHECK(read(name, ", \"" + name + "\": 0") == "invalid_argument: config: " + name + " is missing, or 0");
    }
}

TEST_CASE("weights file: a config whose heads do not divide its width, or of another size, is an error") {
    const model_folder folder;
    const auto m = small_model();
    REQUIRE(tlm::save(m, folder.path));
    auto other = m.net.config();
    other.heads = 3;
    folder.write("/config.json", tlm::config_json(other, m.form));
    CHECK(folder.loaded() == "invalid_argument/config.json: gpt2: 3 heads do not divide a width of 8");
    other = m.net.config();
    other.context = 32;
    folder.write("/config.json", tlm::config_json(other, m.form));
    CHECK(begins(folder.loaded(), "shape_mismatch/model.safetensors: "));
    other = m.net.config();
    other.layers = 1;
    folder.write("/config.json", tlm::config_json(other, m.form));
    CHECK(begins(folder.loaded(), "shape_mismatch/model.safetensors: gpt2 weights: 12 tensors that a model of 1 layers does not have"));
}

TEST_CASE("weights file: one that is cut off, or has bytes behind its end, is an error") {
    const model_folder folder;
    const auto m = small_model();
    REQUIRE(tlm::save(m, folder.path));
    const auto bytes = tlm::to_safetensors(m.net);
    for (const std::size_t left :
         {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{500}, bytes.size() / 2, bytes.size() - 4, bytes.size() - 1}) {
        CAPTURE(left);
        const auto cut = bytes.substr(0, left);
        CHECK(!tlm::gpt2_from_safetensors(cut, m.net.config()));
        folder.write("/model.safetensors", cut);
        const auto told = folder.loaded();
        CHECK((begins(told, "parse/model.safetensors: ") || begins(told, "shape_mismatch/model.safetensors: ")));
    }
    folder.write("/model.safetensors", bytes + "0000");
    CHECK(begins(folder.loaded(), "shape_mismatch/model.safetensors: "));
    folder.write("/model.safetensors", bytes);
    CHECK(folder.loaded() == "none");
}

TEST_CASE("weights file: every tensor that is missing is named") {
    const auto m = small_model();
    std::vector<std::string> names;
    tlm::gpt2<float>::visit([&](const std::string& name, const auto&) { names.push_back(name); }, m.net);
    CHECK(names.size() == 28);
    for (const auto& missing : names) {
        CAPTURE(missing);
        const auto bytes = file_of(m.net, [&](const std::string& name) { return name == missing ? std::string() : "transformer." + name; }).file();
        const auto read = tlm::gpt2_from_safetensors(bytes, m.net.config());
        REQUIRE(!read);
        CHECK(read.error().code == augur::errc::not_found);
        CHECK(read.error().detail.find(missing + "' is not in the file") != std::string::npos);
    }
}

TEST_CASE("weights file: checkpoints of Hugging Face, with and without prefix, tied output and masks") {
    const model_folder folder;
    const auto m = small_model();
    REQUIRE(tlm::save(m, folder.path));
    const auto& tied = m.net.tokens.W;
    const std::vector<float> mask(16 * 16, 1), least{-10000};
    for (const char* prefix : {"", "transformer."}) {
        const auto named = [&](const std::string& name) { return prefix + name; };
        auto file = file_of(m.net, named);
        file.tensor("lm_head.weight", std::array{static_cast<std::uint64_t>(tied.rows()), static_cast<std::uint64_t>(tied.cols())},
                    std::span<const float>(tied.data(), static_cast<std::size_t>(tied.size())));
        for (const char* layer : {"h.0", "h.1"}) {
            file.tensor(named(std::string(layer) + ".attn.bias"), std::array<std::uint64_t, 4>{1, 1, 16, 16}, mask);
            file.tensor(named(std::string(layer) + ".attn.masked_bias"), std::span<const std::uint64_t>(), least);
        }
        const auto bytes = file.file();
        const auto read = tlm::gpt2_from_safetensors(bytes, m.net.config());
        REQUIRE_MESSAGE(read, read.error().detail);
        CHECK(same_parameters(*read, m.net));
        folder.write("/model.safetensors", bytes);
        folder.write("/config.json",
                     R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256, )"
                     R"("initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 16, "n_embd": 8, "n_head": 2, )"
                     R"("n_inner": null, "n_layer": 2, "n_positions": 16, "summary_proj_to_labels": true, "summary_first_dropout": 0.1, )"
                     R"("task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": )" +
                         std::to_string(tied.rows()) + "}");
        const auto whole = tlm::load(folder.path);
        REQUIRE_MESSAGE(whole, whole.error().detail);
        CHECK(same_parameters(whole->net, m.net));
        CHECK(whole->form == tlm::sentence_form::full);
    }
    auto halves = file_of(m.net, [](const std::string& name) { return name; }).file();
    const auto type = halves.find("\"F32\"");
    halves.replace(type, 5, "\"I32\""); // of the same size
    const auto other_type = tlm::gpt2_from_safetensors(halves, m.net.config());
    CHECK(other_type.error().code == augur::errc::version_mismatch);
    CHECK(other_type.error().detail.find("expected type F32") != std::string::npos);
    auto strange = file_of(m.net, [](const std::string& name) { return name; });
    strange.tensor("h.0.attn.scale", std::array<std::uint64_t, 1>{1}, least);
    CHECK(tlm::gpt2_from_safetensors(strange.file(), m.net.config()).error().code == augur::errc::shape_mismatch);
}

TEST_CASE("weights file: a damaged config.json never crashes and is never read as another") {
    const auto good = tlm::config_json({4096, 512, 4, 256, 4, 1024}, tlm::sentence_form::compact);
    CHECK(tlm::read_config_json(good));
    augur::random_engine rng(5);
    for (int i = 0; i < read_back::rounds; ++i) {
        const auto fault = read_back::config(read_back::damaged(good, rng));
        REQUIRE_MESSAGE(fault.empty(), fault);
    }
}

} // namespace weights_file_test
