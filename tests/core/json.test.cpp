// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/json_writer.hpp>
#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

#ifdef AUGUR_TEST_NLOHMANN
#include <nlohmann/json.hpp>
#endif
#ifdef AUGUR_TEST_SIMDJSON
#include <simdjson.h>
#endif

using namespace augur;

namespace {

std::string refusal(std::string_view text, json_limits limits = {}) {
    json_reader in(text, limits);
    if (in.skip() && in.finish()) return "accepted";
    return in.error().detail;
}

} // namespace

TEST_CASE("json_reader: reads what is asked for") {
    json_reader in(R"( {"a": [1, -2, 9223372036854775807], "b\n": "x\u00e9\ud83d\ude00", "c": {"d": null, "e": [true, false, []]}, "f": 1.5e3} )");
    std::string_view key;
    std::vector<std::int64_t> numbers;
    std::string text;
    double real = 0;
    bool yes = false;
    bool no = true;
    REQUIRE(in.begin_object());
    REQUIRE(in.next_member(key));
    CHECK(key == "a");
    CHECK(in.peek() == json_kind::array);
    REQUIRE(in.begin_array());
    while (in.next_element()) in.read(numbers.emplace_back());
    CHECK(numbers == std::vector<std::int64_t>{1, -2, INT64_MAX});
    REQUIRE(in.next_member(key));
    CHECK(key == "b\n");
    CHECK(in.read(text));
    CHECK(text == "x\xC3\xA9\xF0\x9F\x98\x80");
    REQUIRE(in.next_member(key));
    REQUIRE(in.begin_object());
    REQUIRE(in.next_member(key));
    CHECK(in.read_null());
    REQUIRE(in.next_member(key));
    REQUIRE(in.begin_array());
    CHECK(in.next_element());
    CHECK(in.read(yes));
    CHECK(in.next_element());
    CHECK(in.read(no));
    CHECK(in.next_element());
    std::string_view raw;
    CHECK(in.raw(raw));
    CHECK(raw == "[]");
    CHECK(!in.next_element());
    CHECK(!in.next_member(key));
    REQUIRE(in.next_member(key));
    CHECK(in.read(real));
    CHECK(!in.next_member(key));
    CHECK(in.finish());
    CHECK(yes);
    CHECK(!no);
    CHECK(real == 1500.0);
}

TEST_CASE("json_reader: an error names its place and sticks") {
    json_reader in("[1,\n  \"x\"]", {}, 10);
    std::int64_t n = 0;
    CHECK(in.begin_array());
    CHECK(in.next_element());
    CHECK(in.read(n));
    CHECK(in.next_element());
    CHECK(!in.read(n));
    CHECK(n == 1);
    CHECK(in.error().code == errc::parse);
    CHECK(in.error().detail == "11:3: expected an integer, got '\"'");
    CHECK(!in.next_element());
    CHECK(!in.skip());
    CHECK(!in.finish());
    CHECK(in.peek() == json_kind::none);
    CHECK(in.error().detail == "11:3: expected an integer, got '\"'");

    CHECK(refusal("") == "1:1: expected a value, got the end");
    CHECK(refusal("[1 2]") == "1:4: expected ',' or ']', got '2'");
    CHECK(refusal("[1,]") == "1:4: expected a value, got ']'");
    CHECK(refusal("{\"a\" 1}") == "1:6: expected ':', got '1'");
    CHECK(refusal("{\"a\": 1,}") == "1:9: expected a key in quotes, got '}'");
    CHECK(refusal("01") == "1:1: a number must not begin with 0");
    CHECK(refusal("\"a\tb\"") == "1:3: a control character inside a string must be escaped");
    CHECK(refusal("1 \x7F") == "1:3: expected the end, got byte 0x7F");
}

TEST_CASE("json_reader: strict on what RFC 8259 is strict on") {
    for (const char* text : {"0", "-0", "1e5", "1E+5", "0.5", "\"\"", "[]", "{}", " \t\r\n[ ] ", "\"\\/\\b\\f\"", "\"\\uD834\\uDD1E\"", "\"\x7F\"",
                             "\"\xF4\x8F\xBF\xBF\"", "null", "{\"\": 0}", "1e-999"}) {
        CAPTURE(text);
        CHECK(refusal(text) == "accepted");
    }
    for (const char* text : {"-",
                             "+1",
                             ".5",
                             "1.",
                             "1.e5",
                             "1e",
                             "00",
                             "-01",
                             "0x1",
                             "Infinity",
                             "NaN",
                             "nul",
                             "truE",
                             "[",
                             "]",
                             "[,]",
                             "[1,,2]",
                             "{",
                             "{1: 2}",
                             "{\"a\"}",
                             "{\"a\":}",
                             "{,}",
                             "\"",
                             "\"\\\"",
                             "\"\\x\"",
                             "\"\\u12\"",
                             "\"\\u12G4\"",
                             "\"\\u+123\"",
                             "\"\\uD800\"",
                             "\"\\uDC00\"",
                             "\"\\uD800\\u0041\"",
                             "'a'",
                             "[1]]",
                             "1 2",
                             "/* */ 1",
                             "\xEF\xBB\xBF[]",
                             "\"\xC0\x80\"",
                             "\"\xED\xA0\x80\"",
                             "\"\xF5\x80\x80\x80\"",
                             "\"\x80\"",
                             "\"\xE2\x82\"",
                             "[1}",
                             "{\"a\": 1]",
                             "\x0B[]",
                             "1e400",
                             "-1e400"}) {
        CAPTURE(text);
        CHECK(refusal(text) != "accepted");
    }
}

TEST_CASE("json_reader: limits are arguments") {
    const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    CHECK(refusal(nested(64)) == "accepted");
    CHECK(refusal(nested(65)) == "1:65: nesting beyond the limit of 64");
    CHECK(refusal(nested(3), {.depth = 2}) == "1:3: nesting beyond the limit of 2");
    CHECK(refusal(nested(1024), {.depth = 100'000}) == "accepted");
    CHECK(refusal(nested(1025), {.depth = 100'000}) == "1:1025: nesting beyond the limit of 1024");
    CHECK(refusal(std::string(10'000'000, '[')) == "1:65: nesting beyond the limit of 64");
    CHECK(refusal("\"abcd\"", {.string = 4}) == "accepted");
    CHECK(refusal("\"abcde\"", {.string = 4}).ends_with("string beyond the limit of 4"));
    CHECK(refusal("\"\\n\\n\\n\\n\\n\\n\"", {.string = 4}).ends_with("string beyond the limit of 4"));
    CHECK(refusal("[1, 2]", {.document = 5}) == "1:1: text beyond the limit of 5");
    std::int64_t n = 7;
    for (const char* text : {"9223372036854775808", "-9223372036854775809", "99999999999999999999", "1.0", "1e2"}) {
        CAPTURE(text);
        json_reader in(text);
        CHECK(!in.read(n));
        CHECK(n == 7);
    }
    json_reader in("-9223372036854775808");
    CHECK(in.read(n));
    CHECK(n == INT64_MIN);
}

TEST_CASE("json_writer: separators and escapes as in TVM's logs") {
    std::string text;
    json_writer out(text);
    out.begin_object().key("a").begin_array().value(1).value(-2.5).value("x\"\\\n\r\t\x01/").begin_array().end_array().end_array();
    out.key("b").begin_object().end_object().key("c").value(true).key("d").null().key("e").value_6(1e10).key("f").raw("[1]").end_object();
    CHECK(text == R"({"a": [1, -2.5, "x\"\\\n\r\t\u0001/", []], "b": {}, "c": true, "d": null, "e": 1e+10, "f": [1]})");
    CHECK(refusal(text) == "accepted");

    auto rng = augur::random_engine(3);
    for (int i = 0; i < 20'000; ++i) { // any bytes give a text that can be read, and UTF-8 comes back unchanged
        std::string bytes;
        for (auto n = rng.below(12); n > 0; --n) bytes += static_cast<char>(rng.below(4) == 0 ? rng.below(256) : 0x20 + rng.below(95));
        std::string json;
        append_json_string(json, bytes);
        json_reader in(json);
        std::string once;
        REQUIRE(in.read(once));
        REQUIRE(in.finish());
        std::string again;
        append_json_string(again, once);
        REQUIRE(again == json);
        if (once.find("\xEF\xBF\xBD") == std::string::npos) REQUIRE(once == bytes);
    }
}

#ifdef AUGUR_TEST_NLOHMANN
namespace {

/// The value of a text, built from our reader.
bool build(json_reader& in, nlohmann::json& out) {
    switch (in.peek()) {
    case json_kind::object: {
        out = nlohmann::json::object();
        std::string_view key;
        in.begin_object();
        while (in.next_member(key)) {
            const std::string name(key);
            if (!build(in, out[name])) return false;
        }
        return in.ok();
    }
    case json_kind::array:
        out = nlohmann::json::array();
        in.begin_array();
        while (in.next_element()) {
            out.push_back(nullptr);
            if (!build(in, out.back())) return false;
        }
        return in.ok();
    case json_kind::string: {
        std::string text;
        if (!in.read(text)) return false;
        out = text;
        return true;
    }
    case json_kind::number: {
        json_number number;
        if (!in.read(number)) return false;
        if (number.is_integer) out = number.integer;
        else out = number.real;
        return true;
    }
    case json_kind::boolean: {
        bool flag = false;
        if (!in.read(flag)) return false;
        out = flag;
        return true;
    }
    case json_kind::null: out = nullptr; return in.read_null();
    case json_kind::none: return in.skip();
    }
    return false;
}

/// Equal, where an integer beyond 64 bits counts as the double that we make of it.
bool same(const nlohmann::json& a, const nlohmann::json& b) {
    if (a.is_number() && b.is_number()) {
        if (a.is_number_integer() && b.is_number_integer() && !a.is_number_unsigned() && !b.is_number_unsigned())
            return a.get<std::int64_t>() == b.get<std::int64_t>();
        return a.get<double>() == b.get<double>();
    }
    if (a.type() != b.type() || a.size() != b.size()) return false;
    if (a.is_array()) {
        for (std::size_t i = 0; i < a.size(); ++i)
            if (!same(a[i], b[i])) return false;
        return true;
    }
    if (a.is_object()) {
        for (const auto& [key, value] : a.items())
            if (!b.contains(key) || !same(value, b[key])) return false;
        return true;
    }
    return a == b;
}

const std::vector<std::string> corpus = {
    R"({"i": [["[\"conv2d_layer\", 1, 7, [1, 1]]", "llvm -keys=cpu", [8, 64, 64, 0, 0, 0, 0, 0], "", 2, []], [[], [["CHW", 3, "local"], ["SP", 3, 0, 14, [7, 2, 1], 1], ["PR", 3, 0, "auto_unroll_max_step$16"]]]], "r": [[0.000238006, 1e+10, 5e-324], 0, 0.219506, 1606961782], "v": "v0.6"})",
    R"([null, true, false, 0, -0, -0.0, 1.5E+10, 123456789012345678, 12345678901234567890, 0.1e-5, "", "\u0000\u001f\"\\\/\b\f\n\r\t", {}])",
    "{\"k\xC3\xA9y\": \"\xE2\x82\xAC \xF0\x9D\x84\x9E\", \"\\ud834\\udd1e\": [[[[]]]], \"a\": {\"b\": {\"c\": [1, {\"d\": 2}]}}, \"a\": 3}",
    " [ 1 ,\t2\r\n, [ ] , { } , { \"x\" : [ ] } ] ",
    R"("a plain string of more than eight bytes, then an escape \n and \u00e4 and more than eight bytes again")",
    "-1234.5678e-12",
};

std::string mutate(augur::random_engine& rng, std::string text) {
    static const std::vector<std::string> tokens = {"[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    ",",
                                                    ":",
                                                    "\"",
                                                    "\\",
                                                    "\\u",
                                                    "\\ud800",
                                                    "0",
                                                    "-",
                                                    ".",
                                                    "e",
                                                    "E+",
                                                    "1",
                                                    "9999999999",
                                                    "null",
                                                    "true",
                                                    "\n",
                                                    "\x01",
                                                    "\xC3",
                                                    "\xE2\x82\xAC",
                                                    " ",
                                                    "\\\"",
                                                    "[[[[[[",
                                                    "1e308",
                                                    "\"a\":",
                                                    "\xED\xA0\x80",
                                                    "00",
                                                    "1.5"};
    for (auto n = 1 + rng.below(3); n > 0; --n) {
        const auto at = static_cast<std::size_t>(rng.below(text.size() + 1));
        switch (rng.below(6)) {
        case 0:
            if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << rng.below(8)));
            break;
        case 1: text.erase(at, static_cast<std::size_t>(1 + rng.below(3))); break;
        case 2: text.insert(at, tokens[static_cast<std::size_t>(rng.below(tokens.size()))]); break;
        case 3: text.resize(at); break;
        case 4: text.insert(at, text.substr(static_cast<std::size_t>(rng.below(text.size() + 1)), static_cast<std::size_t>(rng.below(8)))); break;
        default:
            if (at < text.size()) text[at] = static_cast<char>(rng.below(256));
            break;
        }
    }
    return text;
}

} // namespace

TEST_CASE("json_reader: accepts and reads what nlohmann_json and simdjson do, over 150000 mutated texts") {
    auto rng = augur::random_engine(2024);
#ifdef AUGUR_TEST_SIMDJSON
    simdjson::dom::parser parser;
#endif
    int accepted = 0;
    const int rounds = 150'000;
    for (int i = 0; i < rounds; ++i) {
        const std::string& seed = corpus[static_cast<std::size_t>(rng.below(corpus.size()))];
        const std::string text = static_cast<std::size_t>(i) < corpus.size() ? corpus[static_cast<std::size_t>(i)] : mutate(rng, seed);
        if (text.starts_with("\xEF\xBB\xBF")) continue; // a byte order mark: both others skip it
        CAPTURE(text);
        json_reader in(text);
        nlohmann::json ours;
        const bool good = build(in, ours) && in.finish();
        if (text.find('\0') == std::string::npos) { // where nlohmann_json ends
            const auto theirs = nlohmann::json::parse(text, nullptr, false);
            REQUIRE(good == !theirs.is_discarded());
            if (good) REQUIRE(same(ours, theirs));
        }
        if (good) ++accepted;
        json_reader skipper(text);
        REQUIRE((skipper.skip() && skipper.finish()) == good);
#ifdef AUGUR_TEST_SIMDJSON
        std::size_t digits = 0;
        std::size_t longest = 0;
        for (const char c : text) {
            digits = c >= '0' && c <= '9' ? digits + 1 : 0;
            longest = (std::max)(longest, digits);
        }
        if (longest < 19) REQUIRE((parser.parse(text).error() == simdjson::SUCCESS) == good); // it refuses integers of more than 64 bits
#endif
    }
    CHECK(accepted > rounds / 20);
    MESSAGE("accepted by all: " << accepted << " of " << rounds);
}
#endif

TEST_CASE("json_reader: a call that does not fit the text is an error that sticks, whatever the order of calls") {
    const auto first_wrong = [](std::string_view text, auto&& calls) {
        json_reader in(text);
        calls(in);
        REQUIRE(!in.ok());
        CHECK(!in.next_element());
        return in.error().detail;
    };
    std::string_view key;
    CHECK(first_wrong("[]]]", [&](json_reader& in) { in.begin_array(), in.next_element(), in.next_element(); }) ==
          "1:3: expected an array that goes on, got ']'");
    CHECK(first_wrong("1", [&](json_reader& in) { in.next_member(key); }) == "1:1: expected an object that goes on, got '1'");
    CHECK(first_wrong("{}", [&](json_reader& in) { in.begin_object(), in.next_element(); }) == "1:2: expected an array that goes on, got '}'");
    CHECK(first_wrong("[]", [&](json_reader& in) { in.begin_array(), in.next_member(key); }) == "1:2: expected an object that goes on, got ']'");
    CHECK(first_wrong("[,]", [&](json_reader& in) { in.begin_array(), in.next_element(), in.next_element(); }) == "1:2: expected a value, got ','");
    CHECK(first_wrong(R"({"a":})", [&](json_reader& in) { in.begin_object(), in.next_member(key), in.next_member(key); }) ==
          "1:6: expected a value, got '}'");
    json_reader failed("[12345"); // an error may lie before what was read
    const auto behind = [&] { return failed.begin_array(), failed.next_element(), failed.offset() + 100; }();
    CHECK(failed.since(behind).empty());

    // random calls on random texts: a sanitizer sees a stack that is left, and no text with unmatched brackets comes to its end
    augur::random_engine dice(9);
    constexpr std::string_view bytes = "[]{},1\": ";
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        int depth = 0;
        bool matched = true;
        for (std::size_t i = dice.below(24); i > 0; --i) {
            text += bytes[dice.below(bytes.size())];
            depth += text.back() == '[' || text.back() == '{' ? 1 : text.back() == ']' || text.back() == '}' ? -1 : 0;
            matched = matched && depth >= 0;
        }
        const bool quotes = text.find('"') != std::string::npos; // brackets in strings do not count
        json_reader in(text, {1024, 1024, 4});
        std::int64_t n = 0;
        for (int call = 0; call < 40; ++call) {
            switch (dice.below(8)) {
            case 0: in.begin_array(); break;
            case 1: in.begin_object(); break;
            case 2: in.next_member(key); break;
            case 3: in.read(n); break;
            case 4: in.skip(); break;
            default: in.next_element(); break;
            }
        }
        CAPTURE(text);
        if (in.finish() && !quotes) CHECK((matched && depth == 0));
    }
}
