// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_RECORD_AUTOTVM_LINES_HPP
#define AUGUR_TESTS_RECORD_AUTOTVM_LINES_HPP

// Lines of AutoTVM logs, good ones and odd ones.

#include <string>
#include <string_view>
#include <vector>

namespace autotvm_lines {

inline std::string line(std::string_view input, std::string_view config, std::string_view result,
                        std::string_view behind = R"("version": 0.2, "tvm_version": "0.10.0")") {
    return R"({"input": )" + std::string(input) + R"(, "config": )" + std::string(config) + R"(, "result": )" + std::string(result) + ", " +
           std::string(behind) + "}";
}

inline constexpr std::string_view cpu_input =
    R"(["llvm -keys=cpu ", "conv2d_NCHWc.x86", [["TENSOR", [1, 64, 56, 56], "float32"], ["TENSOR", [64, 64, 3, 3], "float32"], )"
    R"([1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"], {}])";
inline constexpr std::string_view gpu_input =
    R"(["cuda -keys=cuda,gpu -max_num_threads=1024", "conv2d_nchw.cuda", [["TENSOR", [1, 64, 56, 56], "float32"], )"
    R"(["TENSOR", [64, 64, 3, 3], "float32"], 1, "SAME", 1, "float32"], {}])";
inline constexpr std::string_view cpu_config =
    R"({"index": 383, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 32]], ["tile_oc", "sp", [-1, 64]], ["tile_ow", "sp", [-1, 14]], )"
    R"(["unroll_kw", "ot", true]]})";
inline constexpr std::string_view gpu_config =
    R"({"index": 822558, "code_hash": null, "entity": [["tile_f", "sp", [-1, 8, 16, 1]], ["tile_y", "sp", [-1, 1, 1, 2]], )"
    R"(["tile_rc", "sp", [-1, 8]], ["auto_unroll_max_step", "ot", 1500], ["unroll_explicit", "ot", 0]]})";
inline constexpr std::string_view arm_config =
    R"({"index": 24781, "code_hash": null, "entity": [["tile_co", "sp", [-1, 32]], ["reorder_0", "re", [0, 1, 2, 3]], )"
    R"(["ann_reduce", "an", ["unroll", "none"]], ["ann_spatial", "an", ["unroll", "none", "vec"]], ["tile_oh", "ot", 2]]})";
inline constexpr std::string_view good_result = R"([[2.408779395348837e-05, 0.0046030244375000005, 0.5], 0, 2.0755221843719482, 1680907291.283948])";
inline constexpr std::string_view failed_result = R"([[1000000000.0], 6, 10, 1677797593.4421608])";

/// Lines as TVM writes them: a line that is read and written again is the same.
inline std::vector<std::string> usual() {
    return {line(cpu_input, cpu_config, good_result),
            line(gpu_input, gpu_config, good_result),
            line(gpu_input, arm_config, failed_result),
            line(cpu_input, cpu_config, good_result, R"("version": 0.2)"),
            line(cpu_input, R"({"index": 0, "code_hash": "3f", "entity": []})", good_result),
            line(R"(["llvm", "dense", [], {}])", cpu_config, failed_result, R"("version": 0.2, "tvm_version": "0.8.dev0")"),
            line(R"(["llvm", "d\"e", [1], {"a": [1, {"b": null}]}])", cpu_config, failed_result)};
}

/// Lines that other programs may have written, and lines that are no records.
inline std::vector<std::string> odd() {
    std::vector<std::string> lines;
    for (const char* input : {R"(["llvm", "t", [1]])", R"(["llvm", "t", {}, {}])", R"(["llvm", "t", [], []])", R"([1, "t", [], {}])", "[]", "{}",
                              R"(["llvm","t",[1,2],{}])", R"(["], \"config\": {\"index\": ", "t", [], {}])", R"(["llvm", "t", [], {}, 1])"})
        lines.push_back(line(input, cpu_config, good_result));
    for (const char* config : {R"({"index": 1, "code_hash": null, "entity": [["a[b", "sp", [-1, 2]], ["a]]b", "sp", [-1, 2]], ["c", "ot", "]"]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "ot", [[1], 2]], ["b", "ot", {"c": []}], ["d", "ot", null]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "sp", []], ["a", "an", []]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "sp", [1]],]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "sp", [1]] ["b"]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "xy", [1]]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "sp"]]})",
                               R"({"index": 1, "code_hash": null, "entity": [[]]})",
                               R"({"index": 1, "code_hash": null, "entity": [1]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "sp", [01]]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "an", [1, "x"]]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "sp", [9223372036854775808]]]})",
                               R"({"index": 1.5, "code_hash": null, "entity": []})",
                               R"({"index": 01, "code_hash": null, "entity": []})",
                               R"({"index": 12345678901234567890, "code_hash": null, "entity": []})",
                               R"({"index": 123456789012345678, "code_hash": null, "entity": []})",
                               R"({"index": -1, "code_hash": 5, "entity": []})",
                               R"({"code_hash": null, "index": 1, "entity": []})",
                               R"({"index": 1, "entity": []})",
                               R"({"index": 1, "code_hash": null, "entity": [], "x": 1})",
                               R"({"index":1,"code_hash":null,"entity":[["a","sp",[-1,2]],["b","ot",3]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["a", "sp" , [ -1 , 2 ] ] , [ "b", "ot", 1.50]]})",
                               R"({"index": 1, "code_hash": null, "entity": [["\u0061", "sp", [-1, 2]], ["a", "\u0073p", [-1, 2]]]})"})
        lines.push_back(line(gpu_input, config, good_result));
    for (const char* result : {"[[], 0, 1, 2]",
                               "[[0.5], 0, 1, 2]",
                               "[[1e9], 0, 1, 2]",
                               "[[0.0], 0, 1, 2]",
                               "[[-0.5], 0, 1.0, 2.5]",
                               "[[NaN], 0, 1, 2]",
                               "[[Infinity], 0, 1, 2]",
                               "[[1e400], 0, 1, 2]",
                               "[[1e-400], 0, 1, 2]",
                               "[[0.1, 0.2,], 0, 1, 2]",
                               "[[0.1], 0.0, 1, 2]",
                               "[[0.1], 0, 1]",
                               "[[0.1], 0, 1, 2, 3]",
                               "[[0.1], 99, 1, 2]",
                               "[[0.1], -0, 1, -2.5]",
                               "[[0.1], 0, 1, 1e30]",
                               "[ [ 0.1 ] , 0 , 1 , 2 ]",
                               "[[0.1],0,1,2]",
                               "[[01.5], 0, 1, 2]",
                               "[[1.], 0, 1, 2]",
                               "[[.5], 0, 1, 2]",
                               "[[123456789012345678901234567890.5], 0, 1, 2]",
                               "[[0.12345678901234567890123], 0, 1, 2]",
                               "[[\"a\"], 0, 1, 2]"})
        lines.push_back(line(cpu_input, cpu_config, result));
    for (const char* behind : {R"("version": 0.1)", R"("version": 0.20)", R"("version": "0.2")", R"("version": 0.2, "tvm_version": 1)",
                               R"("version": 0.2, "tvm_version": "a\"b")", R"("version": 0.2, "tvm_version": "")", R"("version": 0.2, "x": 1)",
                               R"("version": 0.2, "tvm_version": "a", "b": 1)", R"("version":0.2,"tvm_version":"0.10.0")", R"("version": 0.2 )"})
        lines.push_back(line(cpu_input, cpu_config, good_result, behind));
    for (const char* other : {"{}", "[]", "garbage", "{", R"({"i": [["k", "llvm"], [[], []]], "r": [[0.1], 0, 1, 2], "v": "v0.6"})",
                              R"({"i": ["llvm", "t", [], {}, [], {}], "r": [[0.1], 0, 1, 2], "v": 0.1})", "null", " ", "\t"})
        lines.emplace_back(other);
    const std::string whole = usual().front();
    for (const char* behind : {" ", "x", "}", "\t", ", "}) lines.push_back(whole + behind);
    lines.push_back(" " + whole);
    return lines;
}

} // namespace autotvm_lines

#endif
