// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_IO_LINES_HPP
#define AUGUR_TESTS_IO_LINES_HPP

// Lines and logs to read, good ones, odd ones and broken ones.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/record/record.hpp>

#include "../record/logs.hpp"

namespace lines {

inline std::string tvm_line(std::int64_t i) { return augur::to_json(augur::to_ansor_line(logs::record(i))); }

/// Lines in every spelling that is known to exist, and some that should not.
inline std::vector<std::string> odd_lines() {
    std::vector<std::string> lines;
    const auto line = [&](std::string_view task, std::string_view steps, std::string_view measured, std::string_view version = R"("v0.6")") {
        lines.push_back("{\"i\": [" + std::string(task) + ", [[], " + std::string(steps) + "]], \"r\": " + std::string(measured) +
                        ", \"v\": " + std::string(version) + "}");
    };
    const std::string_view steps = R"([["CHW", 3, "local"], ["SP", 3, 0, 128, [4, 2], 1], ["RE", 3, [0, 5]], )"
                                   R"(["PR", 5, 0, "auto_unroll_max_step$16"]])";
    const std::string_view measured = "[[0.000238006, 2.5e-05], 0, 0.219506, 1606961782]";
    for (const char* task :
         {R"(["k", "llvm"])", R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, 8]])", R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, 8], "", 1])",
          R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, 8], "", 1, []])", R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, -8], "h", 0, ["a", "b"]])",
          R"(["[\"f\", [1, [2, 3]], \"x\\\\y\"]", "llvm "])", R"(["[[], [[\"SP\", 1", "], \"r\": [[1"])", R"(["\u00e9\ud83d\ude00é", "t"])",
          R"(["k"])", R"([1, 2])", R"(["k", "llvm", [1, 2]])", R"(["k", "llvm", [1, 2, 3, 4, 5, 6, 7, 8], ""])", R"(["k" , "llvm" ])"})
        line(task, steps, measured);
    for (const char* list : {"[]",
                             R"([["PPT"]])",
                             R"([["PPT", "x"], ["CI", 1]])",
                             R"([["SPC", 1, [2, [3, ["SP"]]]], ["X", {"a": [["CI", 1]]}], ["CI", 2]])",
                             R"([["CI",1],["CI",2],["SP",3,0,128,[4,2],1],["PR",5,0,"x"]])",
                             R"([["CI", 1] ,  [ "CI", 1 ]])",
                             R"([["CI", 1], ["CI", 01]])",
                             R"([["CI", -1]])",
                             R"([["SA", 1, 2, 3, -4]])",
                             R"([["CI", 1, 2]])",
                             R"([["CI"]])",
                             R"([[]])",
                             R"([["CI", 1],])",
                             R"([["CI", 1] ["CI", 2]])",
                             R"([["PR", 5, 0, "], [\"CI\", 1"], ["CI", 1]])",
                             R"([["PR", 5, 0, "a]]]b"], ["CI", 1]])",
                             R"([["PR", 5, 0, "]]], \"r\": "]])",
                             R"([["CI", 9223372036854775807], ["CI", 9223372036854775808]])",
                             R"([["CI", 1.0]])",
                             R"([["AN", 1, 2, 12]])",
                             R"([["AN", 1, 2, 11]])",
                             R"([["RE", 1, []]])",
                             R"([["CI", 1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]])",
                             R"([["CHR", 1, "sha\u0072ed", [1, 2]]])",
                             R"([["\u0043I", 1]])",
                             R"([["CI", 1], 2])",
                             R"([["CI", 1], "x"])"})
        line(R"(["k", "llvm"])", list, measured);
    for (const char* r : {"[[1e+10], 1, 0.37, 5]",
                          "[[10000000000.0], 4, 1.0, 5]",
                          "[[], 0, 1, 5]",
                          "[[0], 0, 1, 5]",
                          "[[-0.0], 0, 1, 5]",
                          "[[-1e-5], 0, 1, 5]",
                          "[[1e10], 0, 1, 5]",
                          "[[1e-400], 0, 1, 5]",
                          "[[1e400], 0, 1, 5]",
                          "[[1e23], 0, 1, 5]",
                          "[[123456789012345678901234567890], 0, 1, 5]",
                          "[[0.1234567890123456789], 0, 1, 5]",
                          "[[9007199254740993], 0, 1, 5]",
                          "[[9007199254740991e22], 0, 1, 5]",
                          "[[1E5, 1e5, 1E+5, 1E-5], 0, 1, 5]",
                          "[[01], 0, 1, 5]",
                          "[[1.], 0, 1, 5]",
                          "[[.5], 0, 1, 5]",
                          "[[1e], 0, 1, 5]",
                          "[[+1], 0, 1, 5]",
                          "[[-], 0, 1, 5]",
                          "[[1, 2,], 0, 1, 5]",
                          "[[NaN], 0, 1, 5]",
                          "[[1], 0.0, 1, 5]",
                          "[[1], -0, 1, 5]",
                          "[[1], 1234567890123456789, 1, 5]",
                          "[[1], 99999999999999999999, 1, 5]",
                          "[[1], 9999999999999999999, 1, 5]",
                          "[[1], 999999999999999999, 1, 5]",
                          "[[1], 8, -0.5, -5]",
                          "[[1], 2, 1, 5, 6]",
                          "[[1], 2, 1]",
                          "[ [ 1 , 2 ] , 0 , 1 , 5 ]",
                          "[[1],0,1,5]",
                          "[[\"1\"], 0, 1, 5]",
                          "[[4.9e-324], 0, 1, 5]",
                          "[[0.00000000000000000000000000000000001], 0, 1, 5]",
                          "[[1], 00, 1, 5]",
                          "[[1], 0, 1, 1e9]"})
        line(R"(["k", "llvm"])", steps, r);
    for (const char* v : {R"("v0.2")", R"("")", R"("v\u0030")", "6", "null", R"("v0.6", "w": 1)", R"("v0.6" )", R"("v0.6)"})
        line(R"(["k", "llvm"])", steps, measured, v);
    const std::string whole = tvm_line(0);
    for (const char* behind : {"\r", " ", "  \r", "x", "}", "\t", ", ", "\f"}) lines.push_back(whole + behind);
    for (const char* other :
         {"", "\r", "#", "# a remark", " indented", "{", "{}", "[]", "garbage", "\t", "# {\"augur\": \"record\", ", "# {\"augur\": \"log\", "})
        lines.emplace_back(other);
    lines.push_back(" " + whole);
    lines.push_back(R"({"\u0069": )" + whole.substr(5));
    lines.push_back("{ \"i\" : " + whole.substr(6));
    return lines;
}

/// A log of such lines, ours among them, in an order of chance; sometimes damaged.
inline std::string random_log(augur::random_engine& rng, const std::vector<std::string>& odd) {
    std::string text;
    const auto lines = rng.below(12);
    for (std::uint64_t i = 0; i < lines; ++i) switch (rng.below(8)) {
        case 0: text += augur::log_header(); break;
        case 1:
        case 2: text += augur::to_text(logs::record(static_cast<std::int64_t>(rng.below(6)))); break;
        case 3:
        case 4: text += tvm_line(static_cast<std::int64_t>(rng.below(6))) + "\n"; break;
        default: text += odd[rng.below(odd.size())] + "\n";
        }
    if (rng.below(3) == 0 && !text.empty()) text.resize(rng.below(text.size()));
    for (auto n = rng.below(3); n > 0 && !text.empty(); --n) {
        constexpr std::string_view bytes = "\n\r \t\"\\[]{},:#0123456789-.eE\0\xFF";
        const auto at = rng.below(text.size());
        switch (rng.below(3)) {
        case 0: text[at] = bytes[rng.below(bytes.size())]; break;
        case 1: text.insert(at, 1, bytes[rng.below(bytes.size())]); break;
        default: text.erase(at, 1 + rng.below(9));
        }
    }
    return text;
}

} // namespace lines

#endif
