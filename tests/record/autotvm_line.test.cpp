// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/autotvm_line.hpp>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "autotvm_lines.hpp"

using namespace augur;

namespace {

/// Does the text begin with `1:` and a column within the line or just after it?
bool has_place(std::string_view reason, std::size_t longest) {
    if (!reason.starts_with("1:")) return false;
    const auto column = parse_int(reason.substr(2, reason.find(':', 2) - 2));
    return column && *column >= 1 && *column <= static_cast<std::int64_t>(longest) + 1;
}

} // namespace

TEST_CASE("autotvm_line: lines that TVM writes are written again byte for byte, with and without their spelling") {
    for (const auto& text : autotvm_lines::usual()) {
        CAPTURE(text);
        auto line = parse_autotvm_line(text);
        REQUIRE(line);
        CHECK(to_json(*line) == text);
        if (line->all_cost == 10) continue; // json.dumps wrote an integer
        line->spelling.clear();
        CHECK(to_json(*line) == text);
    }
}

TEST_CASE("autotvm_line: fields") {
    const auto line = parse_autotvm_line(autotvm_lines::usual()[1]);
    REQUIRE(line);
    CHECK(line->target == "cuda -keys=cuda,gpu -max_num_threads=1024");
    CHECK(line->name == "conv2d_nchw.cuda");
    CHECK(line->index == 822558);
    CHECK(line->config.knobs.size() == 5);
    CHECK(line->tvm_version == "0.10.0");
    CHECK(autotvm_task(*line).workload_key ==
          R"(["conv2d_nchw.cuda", ["TENSOR", [1, 64, 56, 56], "float32"], ["TENSOR", [64, 64, 3, 3], "float32"], 1, "SAME", 1, "float32"])");
    const auto m = autotvm_measurement(*line);
    CHECK(m.ok());
    CHECK(m.seconds == std::vector<double>{2.408779395348837e-05, 0.0046030244375000005, 0.5});
    CHECK(m.timestamp == 1680907291);
    CHECK(m.total_seconds == 2.0755221843719482);
    const auto failed = parse_autotvm_line(autotvm_lines::usual()[2]);
    REQUIRE(failed);
    CHECK(autotvm_measurement(*failed).status == outcome::compile_timeout);
    CHECK(autotvm_measurement(*failed).seconds.empty());
    CHECK(autotvm_workload_key("a\"b", "[]", "{}") == R"(["a\"b"])");
    CHECK(autotvm_workload_key("t", "[1]", R"({"k": 2})") == R"(["t", 1, {"k": 2}])");
}

TEST_CASE("autotvm_line: a changed field is written in place of the spelling") {
    auto line = parse_autotvm_line(autotvm_lines::usual()[2]);
    REQUIRE(line);
    line->error = 4;
    CHECK(to_json(*line).find("\"result\": [[1000000000.0], 4, 10.0, 1677797593.4421608]") != std::string::npos);
}

TEST_CASE("autotvm_line: other logs are refused by name") {
    const auto old = parse_autotvm_line(R"({"i": ["llvm", "t", [], {}, [], {}], "r": [[0.1], 0, 1, 2], "v": 0.1})");
    REQUIRE(!old);
    CHECK(old.error().code == errc::version_mismatch);
    CHECK(old.error().detail == "1:1: expected an AutoTVM log of version 0.2, got one of version 0.1 or of another tuner");
    const auto next =
        parse_autotvm_line(autotvm_lines::line(autotvm_lines::cpu_input, autotvm_lines::cpu_config, autotvm_lines::good_result, R"("version": 0.3)"));
    REQUIRE(!next);
    CHECK(next.error().code == errc::version_mismatch);
}

TEST_CASE("autotvm_line: every line cut at every byte, and with every byte changed, is read or refused with its place") {
    std::size_t read = 0;
    const auto check = [&](const std::string& text) {
        const auto line = parse_autotvm_line(text);
        if (line) {
            ++read;
            const auto again = parse_autotvm_line(to_json(*line)); // what is read can be written and read
            REQUIRE(again);
            CHECK(to_json(*again) == to_json(*line));
        } else {
            CAPTURE(text);
            CAPTURE(line.error().detail);
            CHECK(has_place(line.error().detail, text.size()));
        }
    };
    for (const auto& text : autotvm_lines::usual()) {
        for (std::size_t n = 0; n < text.size(); ++n) {
            const auto cut = parse_autotvm_line(std::string_view(text).substr(0, n));
            REQUIRE(!cut);
            CHECK(has_place(cut.error().detail, n));
            for (const unsigned mask : {1U, 0x20U, 0x80U}) {
                std::string changed = text;
                changed[n] = static_cast<char>(static_cast<unsigned char>(changed[n]) ^ mask);
                check(changed);
            }
        }
    }
    for (const auto& text : autotvm_lines::odd()) check(text);
    CHECK(read > 1000); // digits and letters within names
}
