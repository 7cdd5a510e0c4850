// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/schedule/steps.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/schedule/steps_json.hpp>
#include <doctest/doctest.h>

using namespace augur;

namespace {
std::size_t allocations = 0; // of this whole executable; one test looks at how it changes
}

// The whole family. Not inlined: gcc would see free meet operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size > 0 ? size : 1)) return p;
    std::abort();
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace {

/// One of every kind, and the JSON that TVM writes for it.
struct sample {
    const char* json;
    transform_step step;
};
const std::vector<sample>& samples() {
    static const std::vector<sample> all = {
        {R"(["AN", 4, 0, 3])", annotate_step{4, 0, loop_annotation::parallel}},
        {R"(["AN", 4, 7, 11])", annotate_step{4, 7, loop_annotation::tensorize}},
        {R"(["FU", 4, [0, 1, 2]])", fuse_step{4, {0, 1, 2}}},
        {R"(["FU", 4, []])", fuse_step{4, {}}},
        {R"(["PR", 3, 0, "auto_unroll_max_step$16"])", pragma_step{3, 0, "auto_unroll_max_step$16"}},
        {R"(["RE", 2, [2, 0, 1]])", reorder_step{2, {2, 0, 1}}},
        {R"(["SP", 3, 4, 14, [7, 2, 1], 1])", split_step{3, 4, 14, {7, 2, 1}, true}},
        {R"(["SP", 3, 4, 0, [0], 0])", split_step{3, 4, 0, {0}, false}},
        {R"(["SP", 3, 4, 9223372036854775807, [], 1])", split_step{3, 4, INT64_MAX, {}, true}},
        {R"(["FSP", 4, 0, 1, 3])", follow_split_step{4, 0, 1, 3}},
        {R"(["FFSP", 4, 0, [4, 3, 2, 1], 1, 1])", follow_fused_split_step{4, 0, {4, 3, 2, 1}, 1, true}},
        {R"(["SA", 1, 2, 32, -8])", storage_align_step{1, 2, 32, -8}},
        {R"(["CA", 2, 3, 8])", compute_at_step{2, 3, 8}},
        {R"(["CI", 1])", compute_inline_step{1}},
        {R"(["CR", 6])", compute_root_step{6}},
        {R"(["CHR", 1, "shared", [2, 3]])", cache_read_step{1, "shared", {2, 3}}},
        {R"(["CHW", 2, "local"])", cache_write_step{2, "local"}},
        {R"(["RF", 3, 2, 1])", rfactor_step{3, 2, 1}},
        {R"(["PPT"])", foreign_step{"PPT", R"(["PPT"])"}},
        {R"(["SPC", 1,  {"a\"]": [[], "]"]}, null])", foreign_step{"SPC", R"(["SPC", 1,  {"a\"]": [[], "]"]}, null])"}},
    };
    return all;
}

std::string seen(const step_list& list) {
    struct printer {
        std::string text;
        void primitive(std::string_view s) { text.append(text.empty() ? "" : "; ").append(s); }
        void number(std::int64_t n) { text += " " + std::to_string(n); }
        void number(double) { text += " real"; }
        void name(std::string_view s) { text.append(" '").append(s).append("'"); }
    } sink;
    schedule_traits<step_list>::visit(list, sink);
    return sink.text;
}

std::string refusal(std::string_view json) {
    const auto list = parse_steps(json);
    return list ? "accepted" : list.error().detail;
}

} // namespace

static_assert(schedule<step_list>);
static_assert(rebuildable_schedule<step_list, int>);

TEST_CASE("visit_step: reaches the step that std::visit reaches, of every type, and may change it") {
    std::vector<bool> reached(std::variant_size_v<transform_step>);
    for (const auto& sample : samples()) {
        auto step = sample.step;
        const auto address = [](const auto& s) { return static_cast<const void*>(&s); };
        CHECK(visit_step(std::as_const(step), address) == std::visit(address, step));
        reached[step.index()] = true;
        visit_step(step, []<class S>(S& s) { s = S{}; });
        CHECK(std::visit([]<class S>(const S& s) { return s == S{}; }, step));
    }
    CHECK(std::find(reached.begin(), reached.end(), false) == reached.end());
}

TEST_CASE("steps: every kind to JSON and back, byte for byte") {
    step_list all;
    std::string json = "[";
    for (const auto& sample : samples()) {
        const std::string text = sample.json;
        const transform_step& step = sample.step;
        CAPTURE(text);
        const auto one = parse_steps("[" + text + "]");
        REQUIRE(one);
        REQUIRE(one->steps.size() == 1);
        CHECK(one->steps[0] == step);
        CHECK(to_json(*one) == "[" + text + "]");
        json.append(all.steps.empty() ? "" : ", ").append(text);
        all.steps.push_back(step);
    }
    json += "]";
    CHECK(to_json(all) == json);
    const auto again = parse_steps(json);
    REQUIRE(again);
    CHECK(*again == all);
    CHECK(to_json(step_list{}) == "[]");

    const auto spaced = parse_steps("[ [\"SP\",3,\n4 ,14,[7,2,1],1],[\"X\",\n\t1]]"); // other spellings give TVM's; a step stays on one line
    REQUIRE(spaced);
    CHECK(to_json(*spaced) == R"([["SP", 3, 4, 14, [7, 2, 1], 1], ["X",  1]])");
}

TEST_CASE("steps: a visit shows the fields in the order of the logs") {
    step_list list;
    for (const auto& [text, step] : samples()) list.steps.push_back(step);
    CHECK(seen(list) == "AN 4 0 3; AN 4 7 11; FU 4 0 1 2; FU 4; PR 3 0 'auto_unroll_max_step$16'; RE 2 2 0 1; SP 3 4 14 7 2 1 1; SP 3 4 0 0 0; "
                        "SP 3 4 9223372036854775807 1; FSP 4 0 1 3; FFSP 4 0 4 3 2 1 1 1; SA 1 2 32 -8; CA 2 3 8; CI 1; CR 6; CHR 1 'shared' 2 3; "
                        "CHW 2 'local'; RF 3 2 1; PPT '[\"PPT\"]'; SPC '[\"SPC\", 1,  {\"a\\\"]\": [[], \"]\"]}, null]'");
    const auto stable = testing::check_schedule(list);
    CHECK(stable);
    const auto rebuilt = testing::check_schedule(list, 0);
    CHECK(rebuilt);
    recording_sink sink;
    list.visit(sink);
    const auto again = schedule_traits<step_list>::rebuild(0, std::span<const schedule_item>(sink.items));
    REQUIRE(again);
    CHECK(*again == list);
}

TEST_CASE("steps: rebuild refuses what is no step, at any place and of any kind") {
    const auto rebuild = [](const std::vector<schedule_item>& items) {
        return schedule_traits<step_list>::rebuild(0, std::span<const schedule_item>(items));
    };
    using kind = schedule_item::kind;
    for (const auto& sample : samples()) {
        const std::string text = sample.json;
        const transform_step& step = sample.step;
        CAPTURE(text);
        recording_sink sink;
        step_list{{step}}.visit(sink);
        const auto missing = std::vector<schedule_item>(sink.items.begin(), sink.items.end() - 1);
        const auto cut = rebuild(missing);
        if (cut) CHECK(*cut != step_list{{step}}); // a list that got shorter, at most
        auto more = sink.items;
        more.push_back({kind::name, 0, 0, "x"});
        CHECK(!rebuild(more));
        for (std::size_t i = 0; i < sink.items.size(); ++i) {
            auto other = sink.items;
            other[i] = {kind::real, 0, 1.5, {}};
            CHECK(!rebuild(other));
        }
    }
    CHECK(!rebuild({{kind::integer, 1, 0, {}}}));
    CHECK(!rebuild({{kind::primitive, 0, 0, "X"}}));
    CHECK(!rebuild({{kind::primitive, 0, 0, "X"}, {kind::name, 0, 0, "[\"Y\"]"}}));
    CHECK(!rebuild({{kind::primitive, 0, 0, "X"}, {kind::name, 0, 0, "[\"X\""}}));
    CHECK(rebuild({{kind::primitive, 0, 0, "X"}, {kind::name, 0, 0, "[\"X\", 1]"}}));
    CHECK(!rebuild({{kind::primitive, 0, 0, "X"}, {kind::name, 0, 0, "[\"X\",\n1]"}})); // a record is one line
    CHECK(!rebuild({{kind::primitive, 0, 0, "CI"}, {kind::integer, -1, 0, {}}}));
    const auto align = [&](std::int64_t stage, std::int64_t iter, std::int64_t factor) {
        return rebuild({{kind::primitive, 0, 0, "SA"},
                        {kind::integer, stage, 0, {}},
                        {kind::integer, iter, 0, {}},
                        {kind::integer, factor, 0, {}},
                        {kind::integer, -4, 0, {}}});
    };
    CHECK(align(1, 2, -32));
    CHECK(!align(-1, 2, 32));
    CHECK(!align(1, -2, 32));
    const auto bad = rebuild({{kind::primitive, 0, 0, "CI"}, {kind::integer, 1, 0, {}}, {kind::primitive, 0, 0, "AN"}, {kind::integer, 1, 0, {}}});
    REQUIRE(!bad);
    CHECK(bad.error().detail == "step 1 (AN): these are not the fields of this kind");
    CHECK(!rebuild({{kind::primitive, 0, 0, "AN"}, {kind::integer, 1, 0, {}}, {kind::integer, 1, 0, {}}, {kind::integer, 12, 0, {}}}));
}

TEST_CASE("steps: malformed ones are refused with their place, of every kind") {
    for (const auto& [text, step] : samples()) {
        if (std::holds_alternative<foreign_step>(step)) continue;
        const std::string json = text;
        for (std::size_t n = 1; n < json.size(); ++n) { // cut short anywhere
            CAPTURE(json.substr(0, n));
            CHECK(refusal("[" + json.substr(0, n)) != "accepted");
            CHECK(refusal("[" + json.substr(0, n) + "]") != "accepted");
        }
        CHECK(refusal("[" + json.substr(0, json.size() - 1) + ", 1]]").find("more fields than") != std::string::npos);
        for (auto comma = json.find(','); comma < json.find_first_of("[\"", 6); comma = json.find(',', comma + 1)) // whole fields missing
            CHECK(refusal("[" + json.substr(0, comma) + "]]").find("ends before its last field") != std::string::npos);
        // each number in turn replaced by what it must not be
        for (std::size_t i = json.find(','); i < json.size(); ++i) {
            if (!detail::is_digit(json[i]) || detail::is_digit(json[i - 1]) || json[i - 1] == '-' || json[i - 1] == '$') continue;
            std::size_t n = 1;
            while (detail::is_digit(json[i + n])) ++n;
            for (const char* wrong :
                 {"-1", "1.5", "1e3", "\"1\"", "true", "null", "{}", "[1]", "[[1]]", "9223372036854775808", "99999999999999999999999"}) {
                if (json.starts_with("[\"SA\"") && wrong == std::string_view("-1")) continue; // its factor and offset may be negative
                auto changed = json;
                changed.replace(i, n, wrong);
                CAPTURE(changed);
                CHECK(refusal("[" + changed + "]") != "accepted");
            }
        }
    }
    CHECK(refusal(R"([["AN", 1, 2, 12]])") == "1:15: expected an annotation from 0 to 11");
    CHECK(refusal(R"([["SP", 1, 2, 3, [4], 2]])") == "1:23: expected 0 or 1");
    CHECK(refusal(R"([["CHW", 1, 2]])") == "1:13: expected a string, got '2'");
    CHECK(refusal(R"([["SA", 1, 2, 1.5, 0]])") == "1:15: expected an integer, got a fraction or an exponent");
    CHECK(refusal(R"([["SA", -1, 2, 32, 0]])").find("expected a stage and a loop of at least 0") != std::string::npos);
    CHECK(refusal(R"([["SA", 1, 2, -32, -1]])") == "accepted");
    CHECK(refusal(R"([["FU", 1, [0, -1]]])") == "1:16: expected a number of at least 0");
    CHECK(refusal(R"([[]])") == "1:2: expected a step, got an empty array");
    CHECK(refusal(R"([[1]])") == "1:3: expected a string, got '1'");
    CHECK(refusal(R"([["X", [[]])") != "accepted");
    CHECK(refusal(R"([["X", 1e999]])") != "accepted");
    CHECK(refusal(R"({})") == "1:1: expected an array, got '{'");

    std::string many = "[";
    for (std::size_t i = 0; i < max_steps; ++i) many += i == 0 ? "[\"CI\", 1]" : ", [\"CI\", 1]";
    CHECK(refusal(many + "]") == "accepted");
    const auto over = parse_steps(many + ", [\"CI\", 1]]");
    REQUIRE(!over);
    CHECK(over.error().code == errc::limit);
}

TEST_CASE("steps: a visit allocates nothing") {
    step_list list;
    for (const auto& [text, step] : samples()) list.steps.push_back(step);
    struct counter : augur::detail::null_sink {
        std::int64_t sum = 0;
        void primitive(std::string_view s) { sum += static_cast<std::int64_t>(s.size()); }
        void number(std::int64_t n) { sum += n & 7; }
        void number(double) {}
    } sink;
    const std::size_t before = allocations;
    schedule_traits<step_list>::visit(list, sink);
    CHECK(allocations == before);
    CHECK(sink.sum > 0);
}
