// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/sentence.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/vocabulary.hpp>
#include <augur/workload/kernel.hpp>

#include "../loopnest/kernels.hpp"
#include "../space/toy.hpp"
#include "read_back.hpp"

namespace tlm = augur::tlm;

namespace {

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> out;
    tlm::vocabulary::each_word(text, [&](std::string_view word) { out.push_back(word); });
    return out;
}

template <class P>
std::string decisions_text(const P& space, const augur::decision_vector& point) {
    std::string out;
    tlm::append_words(out, tlm::spoken_point<P>{&space, point});
    return out;
}

/// One decision with so many options, without a description.
struct single {
    std::uint64_t options;
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> prefix) const {
        if (!prefix.empty()) return std::nullopt;
        return augur::decision{augur::decision_kind::other, options};
    }
};

} // namespace

TEST_CASE("sentence: names are words without blanks") {
    std::vector<std::string> words;
    tlm::word_sink sink([&](std::string_view w) { words.emplace_back(w); });
    sink.primitive("SP");
    sink.name("an axis");
    sink.name("");
    sink.name("100%");
    sink.name("tab\tnul" + std::string(1, '\0') + "\x7f");
    sink.number(-7);
    sink.number(0.25);
    CHECK(words == std::vector<std::string>{"SP", "an%20axis", "%", "100%25", "tab%09nul%00%7F", "-7", "0.25"});
}

TEST_CASE("sentence: words of a workload key, hashes left out") {
    std::string out;
    const auto add = [&](std::string_view w) { (out += w) += ' '; };
    tlm::text_words(R"(["00a059b856ac30ac172b6252254479a6", [1024, 512], "T_matmul_NT"])", add);
    CHECK(out == "1024 512 T matmul NT ");
    out.clear();
    tlm::text_words("", add);
    tlm::text_words("--", add);
    tlm::text_words("deadbeef 123456789012345 1234567890123456 facade-facade-facade", add);
    CHECK(out == "deadbeef 123456789012345 facade facade facade ");
}

TEST_CASE("sentence: the prompt of a task has its key and the machine, not its compiler") {
    augur::machine_identity machine;
    machine.vendor = "AuthenticAMD";
    machine.isa = "x86-64-v4";
    machine.threads = "2";
    machine.caches = "L1 32K, L2 1M";
    machine.compiler = "gcc 12";
    CHECK(tlm::prompt_text(toy::task{}, machine) == "toy AuthenticAMD unknown unknown x86 64 v4 2 L1 32K L2 1M PPT");
    const auto task = augur::loopnest::kernel_task::create(*augur::kernel::parse("dense:m=16,n=32,k=8,bias"), {});
    REQUIRE(task);
    CHECK(tlm::prompt_text(*task, machine).starts_with("dense bias 16 32 8 AuthenticAMD"));
}

TEST_CASE("sentence: described decisions have their words, others their kind and number") {
    // sketch 0: the tiles 1 2 3 4 6 9 12 18 of 36, within 24; the second within 24 / 4
    CHECK(decisions_text(toy::described_space{}, {0, 3, 4, 2}) == " sketch = 0 tile = 4 tile second = 6 unroll = 2");
    CHECK(decisions_text(toy::space{}, {0, 3, 4, 2}) == " sketch 0 = 0 tile_size 1 = 3 tile_size 2 = 4 unroll 3 = 2");
    // sketch 1: a location with one option
    CHECK(decisions_text(toy::described_space{}, {1, 0, 0, 1}) == " sketch = 1 tile = 1 location : 0 parallel = 1");
}

TEST_CASE("sentence: a value of many options is spelled in digits, every value once") {
    for (const std::uint64_t options : {1U, 2U, 1023U, 1024U, 1025U, 5000U, 2048U}) {
        CAPTURE(options);
        const single space{options};
        tlm::sentence_walk<single> walk(space);
        REQUIRE(walk.next());
        std::set<std::uint64_t> values;
        // depth first over all spellings
        std::vector<std::vector<std::uint64_t>> open{{}};
        while (!open.empty()) {
            const auto choices = open.back();
            open.pop_back();
            auto speller = walk.speller();
            std::string spelled;
            tlm::word_sink sink([&](std::string_view w) { (spelled += ' ') += w; });
            for (const auto c : choices) {
                speller.word(c, sink);
                speller.choose(c);
            }
            if (speller.choices() == 0) {
                CHECK(values.insert(speller.value()).second);
                std::string words;
                tlm::word_sink of_value([&](std::string_view w) { (words += ' ') += w; });
                walk.value(speller.value(), of_value);
                CHECK(words == spelled);
                continue;
            }
            for (std::uint64_t c = 0; c < speller.choices(); ++c) {
                open.push_back(choices);
                open.back().push_back(c);
            }
        }
        CHECK(values.size() == options);
        CHECK(*values.rbegin() == options - 1);
    }
    const single most{~std::uint64_t{0}}; // seven digits
    const auto text = decisions_text(most, {most.options - 1});
    CHECK(text == " other 0 = 15 1023 1023 1023 1023 1023 1022");
    const auto back = tlm::read_sentence(most, split(text));
    REQUIRE(back);
    CHECK(*back == augur::decision_vector{most.options - 1});
}

TEST_CASE("sentence: the decisions of every kernel come back from its text") {
    for (const auto name : small_kernels) {
        CAPTURE(name);
        auto dag = augur::loopnest::build_dag(*augur::kernel::parse(name));
        REQUIRE(dag);
        const auto space = augur::loopnest::ansor_space::create(std::make_shared<const augur::loopnest::compute_dag>(*std::move(dag)), {});
        REQUIRE(space);
        augur::random_engine rng(3);
        for (int i = 0; i < 20; ++i) {
            const auto path = augur::sample_path(*space, rng);
            const auto text = tlm::sentence_text("a kernel PPT", *space, path.values);
            REQUIRE(text);
            auto words = split(*text);
            REQUIRE(words.size() > 3);
            CHECK(words[2] == tlm::prompt_end);
            words.erase(words.begin(), words.begin() + 3);
            const auto back = tlm::read_sentence(*space, words);
            REQUIRE_MESSAGE(back, back.error().detail);
            CHECK(*back == path.values);
        }
    }
}

TEST_CASE("sentence: what the space does not expect is an error with the number of the word") {
    const toy::described_space space;
    const auto detail = [&](std::string_view text) {
        const auto read = tlm::read_sentence(space, split(text));
        return read ? std::string("none") : read.error().detail;
    };
    CHECK(detail("sketch = 0 tile = 4 tile second = 6 unroll = 2") == "none");
    CHECK(detail("") == "sentence: word 1: expected 'sketch', the sentence ends");
    CHECK(detail("sketch = 0 tile : 4 tile second = 6 unroll = 2") == "sentence: word 5: expected '=', ':' came");
    CHECK(detail("sketch = 2") == "sentence: word 3: expected one of 2 choices, '2' came");
    CHECK(detail("sketch = 0 tile = 5") == "sentence: word 6: expected one of 8 choices, '5' came");
    CHECK(detail("sketch = 0 tile =") == "sentence: word 6: expected one of 8 choices, the sentence ends");
    CHECK(detail("sketch = 0 tile = 4 tile second = 6 unroll = 2 more") == "sentence: word 14: expected the end, 'more' came");
    CHECK(tlm::sentence_text("PPT", space, augur::decision_vector{0, 99}).error().code == augur::errc::illegal_schedule);
}

TEST_CASE("sentence: damaged ones are refused, or read as what they say") {
    const toy::described_space described;
    const toy::space plain;
    const toy::grid many{2, 5000}; // options of two digits
    const auto kernel = *augur::loopnest::ansor_space::create(
        std::make_shared<const augur::loopnest::compute_dag>(*augur::loopnest::build_dag(*augur::kernel::parse("dense:m=16,n=32,k=8,bias"))), {});
    augur::random_engine rng(6);
    const auto fault_in = [&](const auto& space) {
        const auto text = decisions_text(space, augur::sample_path(space, rng).values);
        return read_back::sentence(space, rng.below(4) == 0 ? read_back::damaged(text, rng) : read_back::damaged_words(text, rng));
    };
    for (int i = 0; i < read_back::rounds / 5; ++i) {
        const auto fault = i % 4 == 0 ? fault_in(described) : i % 4 == 1 ? fault_in(plain) : i % 4 == 2 ? fault_in(many) : fault_in(kernel);
        REQUIRE_MESSAGE(fault.empty(), fault);
    }
}
