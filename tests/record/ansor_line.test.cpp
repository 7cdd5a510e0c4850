// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/ansor_line.hpp>

#include <string>
#include <string_view>

#include <augur/record/line_reader.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "logs.hpp"

using namespace augur;

namespace {

/// Parsed and written: the same bytes? Written from the values alone, not from the spelling that was kept.
bool same_bytes(std::string_view text) {
    auto line = parse_ansor_line(text);
    if (!line) return false;
    if (to_json(*line) != text) return false;
    line->spelling.clear();
    return to_json(*line) == text;
}

std::string refusal(std::string_view text) {
    const auto line = parse_ansor_line(text);
    return line ? "accepted" : line.error().detail;
}

const std::string whole = R"({"i": [["[\"matmul\", 64]", "llvm -keys=cpu", [8, 64, 64, 0, 0, 0, 0, -1], "llvm", 2, ["a", "b"]], )"
                          R"([[], [["CI", 1]]]], "r": [[0.00123457, 1e-06], 0, 0.5, 1700000000], "v": "v0.6"})";

} // namespace

TEST_CASE("ansor_line: the fields of a line") {
    const auto line = parse_ansor_line(whole);
    REQUIRE(line);
    CHECK(line->task.workload_key == "[\"matmul\", 64]");
    CHECK(line->task.target == "llvm -keys=cpu");
    CHECK(line->task.hardware == std::array<std::int64_t, 8>{8, 64, 64, 0, 0, 0, 0, -1});
    CHECK(line->task.target_host == "llvm");
    CHECK(line->task.layout_rewrite == 2);
    CHECK(line->task.inputs == std::vector<std::string>{"a", "b"});
    CHECK(line->schedule.steps == std::vector<transform_step>{compute_inline_step{1}});
    CHECK(line->costs == std::vector<double>{0.00123457, 1e-6});
    CHECK(line->error == 0);
    CHECK(line->all_cost == 0.5);
    CHECK(line->timestamp == 1700000000);
    CHECK(line->version == "v0.6");
    CHECK(same_bytes(whole));
}

TEST_CASE("ansor_line: older and odd forms come back as they were") {
    for (const char* task : {R"(["k", "llvm"])", R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, 8]])", R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, 8], "", 1])",
                             R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, 8], "", 1, []])", R"(["[\"f\", [1, [2, 3]], \"x\\\\y\"]", "llvm "])"}) {
        const std::string text = std::string("{\"i\": [") + task + R"(, [[], [["PPT"], ["SPC", 1, [2]]]]], "r": [[1e+10], 4, 0, 1], "v": "v0.5"})";
        CAPTURE(text);
        CHECK(same_bytes(text));
    }
    const std::string spelled = R"({"i": [["k", "llvm"], [[], []]], "r": [[10000000000.0, 0.10], 4, 1.0, 5], "v": "v0.6"})";
    auto line = parse_ansor_line(spelled);
    REQUIRE(line);
    CHECK(to_json(*line) == spelled);
    line->costs[1] = 0.25; // now the spelling does not hold
    CHECK(to_json(*line) == R"({"i": [["k", "llvm"], [[], []]], "r": [[1e+10, 0.25], 4, 1, 5], "v": "v0.6"})");
}

TEST_CASE("ansor_line: what is not one is refused with its place") {
    for (std::size_t n = 0; n < whole.size(); ++n) CHECK(refusal(std::string_view(whole).substr(0, n)) != "accepted");
    CHECK(refusal("{}") == "1:1: expected the key \"i\"");
    CHECK(refusal(R"({"r": 1})").starts_with("1:"));
    const auto changed = [](std::string_view from, std::string_view to) {
        std::string text = whole;
        return text.replace(text.find(from), from.size(), to);
    };
    CHECK(refusal(changed("64, 0, 0", "64, 0")).find("hardware") != std::string::npos);
    CHECK(refusal(changed("0, -1]", "0, -1, 1]")).find("hardware") != std::string::npos);
    CHECK(refusal(changed("[[], [[", "[[1], [[")).find("stages") != std::string::npos);
    CHECK(refusal(changed(", 1700000000", "")).find("timestamp") != std::string::npos);
    CHECK(refusal(changed("1e-06", "\"x\"")).find("expected a number") != std::string::npos);
    CHECK(refusal(changed("\"v0.6\"", "\"v0.6\", \"w\": 1")).find("unknown key") != std::string::npos);
    CHECK(refusal(changed("\"llvm\", 2", "\"llvm\"")) != "accepted");
    CHECK(refusal(whole + " x") != "accepted");
    CHECK(refusal(changed("0.5, 17", "1e999, 17")).find("range") != std::string::npos);
}

TEST_CASE("ansor_line: records of TVM's own tests come back byte for byte") {
    for (const char* name : {"tlp_cpu_chw", "tlp_cpu_rf_cr"}) {
        const std::string text = logs::read(std::string(AUGUR_TEST_DIR) + "/vectors/" + name + ".json");
        json_reader in(text);
        std::string_view key;
        std::string line;
        REQUIRE(in.begin_object());
        while (in.next_member(key))
            if (key == "record_line" ? !in.read(line) : !in.skip()) break;
        REQUIRE(in.finish());
        CHECK(same_bytes(line));
    }
}

TEST_CASE("ansor_line: real logs come back byte for byte" MAY_SKIP) {
    const auto files = logs::ansor_files();
    if (files.empty()) SKIP_CASE("no data (AUGUR_DATA)");
#ifdef AUGUR_TEST_SLOW
    constexpr std::size_t stride = 1;
#else
    constexpr std::size_t stride = 101;
#endif
    std::size_t lines = 0;
    std::size_t spelled = 0;
    for (const auto& file : files) {
        logs::unpacked log(file);
        line_reader in(log.fd());
        for (std::string_view text; in.next(text) == line_reader::status::line;) {
            if (in.number() % stride != 0 && in.number() != 1) continue;
            ++lines;
            if (same_bytes(text)) continue;
            ++spelled; // rewritten by other programs: 10000000000.0 for 1e+10
            const auto line = parse_ansor_line(text);
            CAPTURE(file.string());
            CAPTURE(in.number());
            REQUIRE(line);
            REQUIRE(to_json(*line) == text);
        }
    }
    CHECK(spelled * 1000 < lines);
    MESSAGE(lines << " lines, of which " << spelled << " are not spelled as TVM does");
}
