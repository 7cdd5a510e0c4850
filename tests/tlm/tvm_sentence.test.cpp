// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/tvm_sentence.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/record/record.hpp>

#include "../nn/vectors.hpp"
#include "read_back.hpp"

namespace tlm = augur::tlm;

TEST_CASE("tvm sentence: an Ansor record gives the authors' words, and its steps come back") {
    const auto v = vectors::load("tlm_ansor_sentence.json");
    const auto line = augur::parse_ansor_line(v["record_line"].get<std::string>());
    REQUIRE(line);
    const auto text = tlm::ansor_sentence(v["dag"].get<std::string>(), line->task, line->schedule);
    REQUIRE(text);
    CHECK(*text == v["text"].get<std::string>());
    std::vector<std::string> words;
    tlm::vocabulary::each_word(*text, [&](std::string_view w) { words.emplace_back(w); });
    CHECK(words == v["words"].get<std::vector<std::string>>());

    const auto shown = tlm::ansor_sentence(v["dag"].get<std::string>(), line->task, line->schedule, false);
    const auto steps = tlm::read_ansor_steps(*shown);
    REQUIRE_MESSAGE(steps, steps.error().detail);
    CHECK(augur::to_json(*steps) == augur::to_json(line->schedule)); // byte for byte
    const auto hidden = tlm::read_ansor_steps(*text);
    REQUIRE(hidden);
    CHECK(augur::to_json(*hidden) != augur::to_json(line->schedule));
    const auto schedule = tlm::ansor_schedule(*hidden), direct = tlm::ansor_schedule(*steps);
    REQUIRE(schedule);
    CHECK(augur::to_json(*schedule) == augur::to_json(*direct)); // SPC has the lengths
    CHECK(augur::to_json(*schedule).find("SPC") == std::string::npos);
}

TEST_CASE("tvm sentence: every kind of step, there and back") {
    const std::string json =
        R"([["AN", 1, 0, 3], ["FU", 1, [0, 1]], ["PR", 1, 0, "auto_unroll_max_step$16"], ["RE", 1, [1, 0]], ["SP", 1, 0, 8, [2, 4], 1], )"
        R"(["FSP", 1, 0, 4, 2], ["FFSP", 1, 0, [4, 4], 1, 1], ["SA", 1, 0, 4, 2], ["CA", 1, 2, 3], ["CI", 1], ["CR", 1], )"
        R"(["CHR", 1, "shared", [2, 3]], ["CHW", 1, "local"], ["RF", 1, 2, 0], ["PPT"], ["SPC", 1, 0, 8, [4, 2], 1], ["CLS", [3, 1]], )"
        R"(["CLS", []], ["PRS", [1]], ["VECS", []], ["TBS"]])";
    const auto steps = augur::parse_steps(json);
    REQUIRE(steps);
    const auto back = tlm::read_ansor_steps("p0 T_add 4 4 " + tlm::ansor_steps_text(*steps, false));
    REQUIRE_MESSAGE(back, back.error().detail);
    CHECK(augur::to_json(*back) == json);
    CHECK(std::get<augur::split_step>(tlm::ansor_schedule(*back)->steps[4]).lengths == std::vector<std::int64_t>{4, 2});
    const auto unknown = augur::parse_steps(R"([["CI", 1], ["XYZ", 1, 2], ["PPT"]])");
    REQUIRE(unknown);
    CHECK(tlm::ansor_schedule(*unknown).error().code == augur::errc::unsupported); // a step that is not known is not lost
}

TEST_CASE("tvm sentence: a MetaSchedule record gives the authors' words, and takes decisions back") {
    const auto v = vectors::load("tlm_meta_sentence.json");
    const auto line = v["record_line"].get<std::string>();
    const auto text = tlm::meta_schedule_sentence(v["task_name"].get<std::string>(), v["shapes"].dump(), v["target"].get<std::string>(), line);
    REQUIRE_MESSAGE(text, text.error().detail);
    CHECK(*text == v["text"].get<std::string>());
    const auto same = tlm::with_meta_schedule_decisions(line, *text);
    REQUIRE_MESSAGE(same, same.error().detail);
    CHECK(*same == line); // byte for byte
    auto other = *text;
    other.replace(other.find("10 1 1 4 1"), 10, "10 2 1 2 1");
    other.replace(other.find("b4 2 meta_schedule"), 4, "b4 8");
    const auto changed = tlm::with_meta_schedule_decisions(line, other);
    REQUIRE(changed);
    CHECK(changed->find("[10, [2, 1, 2, 1]]") != std::string::npos);
    CHECK(changed->find("[\"b4\", 8]") != std::string::npos);
    const auto again = tlm::meta_schedule_sentence(v["task_name"].get<std::string>(), v["shapes"].dump(), v["target"].get<std::string>(), *changed);
    CHECK(*again == other);
    auto post_processed = line; // what stands behind EnterPostproc is neither said nor taken
    const std::string enters = R"(["EnterPostproc", [], [], []])";
    REQUIRE(post_processed.find(enters) != std::string::npos);
    post_processed.insert(post_processed.find(enters) + enters.size(), R"(, ["Annotate", ["b4", 16], ["meta_schedule.parallel"], []])");
    CHECK(*tlm::meta_schedule_sentence(v["task_name"].get<std::string>(), v["shapes"].dump(), v["target"].get<std::string>(), post_processed) ==
          *text);
    const auto unchanged = tlm::with_meta_schedule_decisions(post_processed, *text);
    REQUIRE_MESSAGE(unchanged, unchanged.error().detail);
    CHECK(*unchanged == post_processed);
    const auto code = [&](const std::string& l, const std::string& s) {
        const auto read = tlm::with_meta_schedule_decisions(l, s);
        return read ? augur::errc{} : read.error().code;
    };
    CHECK(code(line, "PPT 10 1 1 4") == augur::errc::illegal_schedule);
    CHECK(code(line, "PPT 11 1 1 4 1") == augur::errc::illegal_schedule);
    CHECK(code(line, *text + " 3") == augur::errc::illegal_schedule);
    CHECK(code(line, "") == augur::errc::illegal_schedule);
    CHECK(code("[0]", *text) == augur::errc::parse);
    const std::string quoted = R"([0, [[[["Annotate", ["b\"4", 2], ["meta_schedule.parallel"], []]], [[1, 3]]], [0.1]]])";
    const auto written = tlm::with_meta_schedule_decisions(quoted, "PPT 1 5 Annotate b\"4 8 meta_schedule.parallel");
    REQUIRE_MESSAGE(written, written.error().detail);
    CHECK(*written == R"([0, [[[["Annotate", ["b\"4", 8], ["meta_schedule.parallel"], []]], [[1, 5]]], [0.1]]])");
    CHECK(tlm::meta_schedule_sentence("a", "[]", "llvm", "[0, 1]").error().code == augur::errc::parse);
}

TEST_CASE("tvm sentence: what is no sentence is an error, whatever the words") {
    const auto detail = [](std::string_view text) {
        const auto read = tlm::read_ansor_steps(text);
        return read ? std::string("none") : read.error().detail;
    };
    CHECK(detail("a b c") == "none"); // no step
    CHECK(detail("SP 1 2") == "tlm sentence: word 1: expected a step with at least 4 fields, 'SP' came");
    CHECK(detail("x SP a 0 8 2 1") != "none");
    CHECK(tlm::ansor_schedule(*tlm::read_ansor_steps("SPC 1 0 8 2 4 1")).error().code == augur::errc::illegal_schedule);
    const std::vector<std::string> words{
        "SP", "SPC", "RE", "FU", "AN", "CA", "PR", "CLS", "VECS", "FFSP", "CHR", "0", "1", "-3", "7", "9223372036854775807", "x", "PPT"};
    augur::random_engine rng(2);
    for (int i = 0; i < read_back::rounds; ++i) {
        std::string text;
        for (auto n = rng.below(24); n > 0; --n) text += words[rng.below(words.size())] + " ";
        const auto fault = read_back::ansor(text);
        REQUIRE_MESSAGE(fault.empty(), fault);
    }
}

TEST_CASE("tvm sentence: damaged sentences and lines are refused, or read as what they say") {
    const auto of_ansor = vectors::load("tlm_ansor_sentence.json"), of_meta = vectors::load("tlm_meta_sentence.json");
    const auto steps = of_ansor["text"].get<std::string>(), line = of_meta["record_line"].get<std::string>(),
               text = of_meta["text"].get<std::string>();
    augur::random_engine rng(3);
    for (int i = 0; i < read_back::rounds / 4; ++i) {
        const auto whole = rng.below(2) == 0 ? line : read_back::damaged(line, rng);
        const auto fault = i % 2 == 0 ? read_back::ansor(rng.below(2) == 0 ? read_back::damaged(steps, rng) : read_back::damaged_words(steps, rng))
                                      : read_back::meta_schedule(whole, rng.below(2) == 0 ? text : read_back::damaged_words(text, rng));
        REQUIRE_MESSAGE(fault.empty(), fault);
    }
}
