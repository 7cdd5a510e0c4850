// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/vocabulary.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>

#include "../nn/vectors.hpp"
#include "read_back.hpp"

namespace tlm = augur::tlm;
using tlm::vocabulary;

namespace {

vocabulary small_vocabulary(tlm::number_form numbers) {
    const std::vector<std::string> words{"SP", "=", "64", "dense"};
    return *vocabulary::create(words, numbers);
}

} // namespace

TEST_CASE("vocabulary: the words, their order and the tokens of the authors' tokenizer") {
    const auto expected = vectors::load("tlm_vocab.json");
    tlm::vocabulary_builder counted;
    for (const auto& text : expected["texts"]) counted.add_text(text.get<std::string>());
    const auto v = counted.build();
    REQUIRE(v);
    REQUIRE(v->size() == expected["vocab"].size());
    for (std::size_t i = 0; i < v->size(); ++i) CHECK(v->word(static_cast<tlm::token>(i)) == expected["vocab"][i].get<std::string>());
    for (std::size_t i = 0; i < expected["texts"].size(); ++i)
        CHECK(v->encode(expected["texts"][i].get<std::string>()) == expected["encoded"][i].get<std::vector<tlm::token>>());
}

TEST_CASE("vocabulary: numbers as factors, every 64-bit number there and back") {
    const auto v = small_vocabulary(tlm::number_form::factors);
    CHECK(v.numbers() == tlm::number_form::factors);
    CHECK(small_vocabulary(tlm::number_form::words).numbers() == tlm::number_form::words);
    std::vector<std::int64_t> numbers{0,
                                      1,
                                      -1,
                                      2,
                                      64,
                                      224,
                                      1024,
                                      17,
                                      34,
                                      -289,
                                      6469693230,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min(),
                                      std::int64_t{1} << 62,
                                      3486784401,
                                      9223372036854775783};
    augur::random_engine rng(1);
    for (int i = 0; i < 2000; ++i) numbers.push_back(static_cast<std::int64_t>(rng() >> rng.below(64)));
    std::vector<tlm::token> all;
    std::string text;
    for (const auto n : numbers) {
        std::vector<tlm::token> one;
        CHECK(v.append(std::to_string(n), one));
        const auto back = v.decode(one);
        REQUIRE(back);
        CHECK(*back == std::to_string(n));
        for (std::size_t cut = 1; cut < one.size(); ++cut) // no number is the beginning of another
            CHECK_FALSE(v.decode(std::span(one).first(cut)));
        all.insert(all.end(), one.begin(), one.end());
        text += (text.empty() ? "" : " ") + std::to_string(n);
    }
    CHECK(*v.decode(all) == text);
    const auto tokens_of = [&](const char* word) {
        std::vector<tlm::token> out;
        v.append(word, out);
        std::string names;
        for (const auto t : out) names += (names.empty() ? "" : " ") + v.word(t);
        return names;
    };
    CHECK(tokens_of("224") == "#2^5 #7^1 #;");
    CHECK(tokens_of("1") == "#;");
    CHECK(tokens_of("-34") == "#- #2^1 #d1 #d7 #;");
    CHECK(tokens_of("dense") == "dense");
    CHECK(tokens_of("007") == "[UNK]"); // not as integers are written
    CHECK(tokens_of("99999999999999999999") == "[UNK]");
    // tokens that the library does not write for a number
    const auto id = [&](const char* word) { return *v.find(word); };
    for (const auto& wrong : {std::vector{id("#7^1"), id("#2^1"), id("#;")}, std::vector{id("#d4"), id("#;")}, std::vector{id("#d0"), id("#;")},
                              std::vector{id("#-"), id("#0")}, std::vector{id("#2^62"), id("#3^1"), id("#;")}, std::vector{id("#2^1"), id("SP")}})
        CHECK_FALSE(v.decode(wrong));
    CHECK(v.decode(std::vector<tlm::token>{static_cast<tlm::token>(v.size())}).error().code == augur::errc::invalid_argument);
}

TEST_CASE("vocabulary: words beyond it are [UNK] and counted, special tokens are no text") {
    const auto v = small_vocabulary(tlm::number_form::words);
    std::vector<tlm::token> out;
    CHECK(v.append_text("dense 64  SP\tnew\n65 =", out) == 2);
    CHECK(out.size() == 6);
    CHECK(out[3] == vocabulary::unknown);
    const auto whole = v.encode("SP = 64");
    CHECK(whole.front() == vocabulary::begin);
    CHECK(whole.back() == vocabulary::end);
    CHECK(*v.decode(whole) == "SP = 64");
    CHECK(v.find("dense").has_value());
    CHECK_FALSE(v.find("conv2d"));
    for (const auto& bad :
         {std::vector<std::string>{"a", "a"}, std::vector<std::string>{"a b"}, std::vector<std::string>{""}, std::vector<std::string>{"[PAD]"}})
        CHECK(vocabulary::create(bad).error().code == augur::errc::invalid_argument);
}

TEST_CASE("vocabulary: the most frequent words, at most so many") {
    tlm::vocabulary_builder counted;
    counted.add_text("b a c a 12 12 12 b a");
    const auto v = counted.build(tlm::number_form::words, 9);
    REQUIRE(v);
    REQUIRE(v->size() == 9);
    CHECK(v->word(7) == "12"); // three of each, in the order of bytes
    CHECK(v->word(8) == "a");
    const auto f = counted.build(tlm::number_form::factors);
    REQUIRE(f);
    CHECK_FALSE(f->find("12"));
    counted.add_text("#0 #; #2^3"); // spelled like the tokens of numbers
    const auto same = counted.build(tlm::number_form::factors);
    REQUIRE(same);
    CHECK(*same == *f);
    std::vector<tlm::token> tokens;
    CHECK(same->append_text("a #0 #; #2^3", tokens) == 3);
    CHECK(tokens == std::vector<tlm::token>{*same->find("a"), vocabulary::unknown, vocabulary::unknown, vocabulary::unknown});
    CHECK(f->word(static_cast<tlm::token>(f->size() - 1)) == "c");
}

TEST_CASE("vocabulary: tokenizer.json of Hugging Face, there and back") {
    for (const auto numbers : {tlm::number_form::words, tlm::number_form::factors}) {
        const auto v = small_vocabulary(numbers);
        const auto back = vocabulary::from_json(v.to_json());
        REQUIRE(back);
        CHECK((*back == v));
        CHECK(back->numbers() == numbers);
    }
    const std::string head =
        R"({"added_tokens": [{"id": 0}], "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"type": "WordLevel", "vocab": {)";
    const std::string words = R"("[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "[EOS]": 5, "[BOS]": 6)",
                      tail = R"(}, "unk_token": "[UNK]"}})";
    CHECK(vocabulary::from_json(head + words + R"(, "SP": 7)" + tail)->size() == 8);
    const auto code = [](const std::string& text) {
        const auto read = vocabulary::from_json(text);
        return read ? augur::errc{} : read.error().code;
    };
    CHECK(code(head + words + R"(, "SP": 8)" + tail) == augur::errc::parse);  // 7 is missing
    CHECK(code(head + words + R"(, "SP": 6)" + tail) == augur::errc::parse);  // twice
    CHECK(code(head + words + R"(, "SP": -1)" + tail) == augur::errc::parse); // none
    CHECK(code(head + words + R"(, "SP": 7, "SP": 8)" + tail) == augur::errc::parse);
    CHECK(code(head + words + R"(, "SP": "7")" + tail) == augur::errc::parse);
    CHECK(code(head + R"("[PAD]": 0)" + tail) == augur::errc::version_mismatch);
    CHECK(code(head + R"("[UNK]": 0, "[PAD]": 1)" + tail) == augur::errc::version_mismatch);
    CHECK(code("{}") == augur::errc::version_mismatch);
    CHECK(code("") == augur::errc::parse);
    CHECK(code("[]") == augur::errc::parse);
    CHECK(code(head + words + tail + "x") == augur::errc::parse);
    CHECK(code(R"({"model": {"type": "BPE"}})") == augur::errc::version_mismatch);
    CHECK(code(R"({"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "WordLevel", "vocab": {)" + words + tail) ==
          augur::errc::version_mismatch);
}

TEST_CASE("vocabulary: words that are not UTF-8 are refused, all others come back from tokenizer.json") {
    // RFC 3629: no lone or missing continuation, no overlong form, no surrogate, nothing beyond U+10FFFF
    for (const char* bad : {"caf\xE9", "\xFF", "\x80", "\xE2\x82", "\xC0\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
        CAPTURE(bad);
        const auto made = vocabulary::create(std::vector<std::string>{"SP", bad});
        REQUIRE(!made);
        CHECK(made.error().code == augur::errc::invalid_argument);
        CHECK(made.error().detail.find("UTF-8") != std::string::npos);
        tlm::vocabulary_builder counted;
        counted.add_text("SP " + std::string(bad));
        CHECK_FALSE(counted.build());
    }
    const std::vector<std::string> good{"caf\xC3\xA9", "\xEF\xBF\xBD", "\xE6\x97\xA5", "\xF0\x9F\x98\x80", "\"\\", "\x01\x7F", std::string(1, '\0')};
    const auto v = vocabulary::create(good);
    REQUIRE_MESSAGE(v, v.error().detail);
    const auto back = vocabulary::from_json(v->to_json());
    REQUIRE_MESSAGE(back, back.error().detail);
    for (std::size_t i = 0; i < good.size(); ++i) CHECK(back->word(static_cast<tlm::token>(vocabulary::special.size() + i)) == good[i]);
}

TEST_CASE("vocabulary: damaged tokenizer.json never crashes and is never read as another") {
    const auto v = small_vocabulary(tlm::number_form::words);
    const auto good = v.to_json();
    augur::random_engine rng(5);
    for (int i = 0; i < read_back::rounds; ++i) {
        const auto fault = read_back::tokenizer(read_back::damaged(good, rng));
        REQUIRE_MESSAGE(fault.empty(), fault);
    }
}
