// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/meta_schedule_line.hpp>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "meta_schedule_lines.hpp"

using namespace augur;

TEST_CASE("meta_schedule_line: lines that TVM writes are written again byte for byte") {
    for (const auto& text : meta_schedule_lines::usual()) {
        CAPTURE(text);
        const auto line = parse_meta_schedule_line(text);
        REQUIRE(line);
        CHECK(to_json(*line) == text);
    }
}

TEST_CASE("meta_schedule_line: fields") {
    const auto line = parse_meta_schedule_line(meta_schedule_lines::usual()[1]);
    REQUIRE(line);
    CHECK(line->workload == 1);
    CHECK(line->trace.instructions.size() == 3);
    CHECK(line->run_seconds == std::vector<double>{2.7618662635147519716e-05, 0.5});
    const auto task = meta_schedule_task(*line, "6909843517902726160");
    CHECK(task.workload_key == R"(["6909843517902726160", ["TENSOR","float32",[128,128]],["TENSOR","float32",[128,128]]])");
    CHECK(task.target == R"({"keys":["cpu"],"kind":"llvm","num-cores":1,"tag":""})");
    CHECK(meta_schedule_measurement(*line).ok());
    CHECK(meta_schedule_workload_key("a#1", "null") == R"(["a#1"])");
    const auto measured = [](std::size_t i) { return meta_schedule_measurement(*parse_meta_schedule_line(meta_schedule_lines::usual()[i])); };
    CHECK(measured(2).status == outcome::runner_error);
    CHECK(measured(2).reason == "the trial failed");
    CHECK(measured(2).seconds.empty());
    CHECK(measured(3).reason == "the trial was not measured");
}

TEST_CASE("meta_schedule_line: errors say what was expected and where") {
    const auto reason = [](const std::string& text) { return parse_meta_schedule_line(text).error().detail; };
    using meta_schedule_lines::line;
    CHECK(reason(line("-1", "[]", "[]", "[1]")) == "1:2: expected the index of a workload, got -1");
    CHECK(reason(line("0", "[]", "[[0,1]]", "[1]")) == "1:11: expected the index of one of 0 instructions, got 0");
    CHECK(reason(line("0", R"([["A",[],[],[]]])", "[[0,1],[0,1]]", "[1]")) == "1:31: instruction 0 has two decisions");
    CHECK(reason(line("0", R"([["A",[],[]]])", "[]", "[1]")) == "1:15: an instruction ends before its outputs");
    CHECK(reason("[0,[[[],[]],[1]]]") == "1:14: missing: target");
}

TEST_CASE("meta_schedule_line: every line cut at every byte, and with every byte changed, is read or refused with its place") {
    std::size_t read = 0;
    const auto check = [&](const std::string& text) {
        const auto line = parse_meta_schedule_line(text);
        if (line) {
            ++read;
            const auto again = parse_meta_schedule_line(to_json(*line)); // what is read can be written and read
            REQUIRE(again);
            CHECK(to_json(*again) == to_json(*line));
        } else {
            CHECK(line.error().detail.starts_with("1:"));
        }
    };
    for (const auto& text : meta_schedule_lines::usual())
        for (std::size_t n = 0; n < text.size(); ++n) {
            const auto cut = parse_meta_schedule_line(std::string_view(text).substr(0, n));
            REQUIRE(!cut);
            CHECK(cut.error().detail.starts_with("1:"));
            for (const unsigned mask : {1U, 0x20U, 0x80U}) {
                std::string changed = text;
                changed[n] = static_cast<char>(static_cast<unsigned char>(changed[n]) ^ mask);
                check(changed);
            }
        }
    for (const auto& text : meta_schedule_lines::odd()) check(text);
    CHECK(read > 500);
}
