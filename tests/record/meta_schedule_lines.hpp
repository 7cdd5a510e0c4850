// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_RECORD_META_SCHEDULE_LINES_HPP
#define AUGUR_TESTS_RECORD_META_SCHEDULE_LINES_HPP

// Lines of MetaSchedule databases, good ones and odd ones.

#include <string>
#include <string_view>
#include <vector>

namespace meta_schedule_lines {

inline std::string line(std::string_view workload, std::string_view instructions, std::string_view decisions, std::string_view seconds,
                        std::string_view target = R"({"keys":["cpu"],"kind":"llvm","num-cores":1,"tag":""})",
                        std::string_view arguments = R"([["TENSOR","float32",[128,128]],["TENSOR","float32",[128,128]]])") {
    return "[" + std::string(workload) + ",[[" + std::string(instructions) + "," + std::string(decisions) + "]," + std::string(seconds) + "," +
           std::string(target) + "," + std::string(arguments) + "]]";
}

inline constexpr std::string_view cpu_instructions =
    R"([["GetBlock",[],["C","main"],["b0"]],["GetLoops",["b0"],[],["l1","l2"]],["SamplePerfectTile",["l2"],[2,16],["v3","v4"]],)"
    R"(["Split",["l2","v3","v4"],[1],["l5","l6"]],["SampleCategorical",[],[[0,16,64,512],[0.25,0.25,0.25,0.25]],["v7"]],)"
    R"(["Annotate",["b0","\"SSRSRS\""],["meta_schedule.tiling_structure"],[]],["CacheRead",["b0",["b0"]],[0,"shared"],["b8"]],)"
    R"(["EnterPostproc",[],[],[]]])";
inline constexpr std::string_view gpu_instructions =
    R"([["SampleCategorical",[],[[32,64],[0.16666666666666665741,0.5]],["v6"]],["Split",["l5","None","v6"],[1,null,{"a":[1]},true],["l7","l8"]],)"
    R"(["Bind",["l7"],["blockIdx.x"],[]]])";

/// Lines as TVM writes them: a line that is read and written again is the same.
inline std::vector<std::string> usual() {
    return {line("0", cpu_instructions, "[[2,[32,4]],[4,3]]", "[0.001740364124999999821]"),
            line("1", gpu_instructions, "[[0,1]]", "[2.7618662635147519716e-05,0.5]"),
            line("0", cpu_instructions, "[[2,[64,2]],[4,0]]", "[10000000000]"),
            line("1", gpu_instructions, "[]", "null"),
            line("0", "[]", "[]", "[1]", "null", "null"),
            line("2", R"([["A",[],[],[]]])", "[[0,[]]]", "[0.25]", R"("llvm")", "[]")};
}

inline std::vector<std::string> odd() {
    std::vector<std::string> lines;
    for (const char* workload : {"-1", "3", "99999999999999999999", "01", "1.0", "\"0\"", "null", " 1 ", "123456789012345678"})
        lines.push_back(line(workload, gpu_instructions, "[[0,1]]", "[0.5]"));
    for (const char* instructions :
         {R"([["A",["["],["]]"],["b"]],["B",[],[],[]]])", R"([["A",[],[]]])", R"([["A",[],[],[],1]])", R"([["A",[],[],[1]]])", R"([["A",1,[],[]]])",
          R"([[1,[],[],[]]])", R"([["A",[],[],[]],])", R"([["A",[],[],[]]["B",[],[],[]]])", R"([ [ "A" , [ ] , [ ] , [ ] ] ])", R"(["A"])", "1",
          R"([["A",["\"x\\\"y\""],[1e400],[]]])", R"([["A",[1,[2,[3,[4]]]],[-0.5,1e-7,123456789012345678901],[]]])", R"([["\u0041",[],[],[]]])"})
        lines.push_back(line("0", instructions, "[]", "[0.5]"));
    for (const char* decisions : {"[[0,1],[0,2]]",
                                  "[[1,1],[0,2]]",
                                  "[[3,1]]",
                                  "[[-1,1]]",
                                  "[[0]]",
                                  "[[]]",
                                  "[0]",
                                  "[[0,1,2]]",
                                  "[[0,\"[\"]]",
                                  "[[0,1.5]]",
                                  "[[0,null]]",
                                  "[[0,[1,[2]]]]",
                                  "[[0,{\"a\":[1]}]]",
                                  "[ [ 0 , [ 1 , 2 ] ] , [ 1 , 5 ] ]",
                                  "[[0,01]]",
                                  "[[00,1]]",
                                  "[[0,[1,]]]",
                                  "[[0,1]",
                                  "1",
                                  "[[0,99999999999999999999]]"})
        lines.push_back(line("0", gpu_instructions, decisions, "[0.5]"));
    for (const char* seconds : {"[]", "[0]", "[-1]", "[1e10]", "[1e9,2]", "[0.5,1e11]", "[NaN]", "[1e400]", "[1e-400]", "[0.12345678901234567890123]",
                                "[\"1\"]", "0.5", "[ 0.5 , 1 ]", "[0.5,]", "[01]", "[1.]"})
        lines.push_back(line("0", cpu_instructions, "[[2,[32,4]],[4,3]]", seconds));
    for (const char* target : {"{", "{}x", "1", "[]", R"({"a":"]]"})", "null"}) lines.push_back(line("0", cpu_instructions, "[]", "[0.5]", target));
    for (const char* arguments : {"[", "[]]", "{}", "[1,2]", "[[]],1", " [ 1 ] ", "[]],[]"})
        lines.push_back(line("0", cpu_instructions, "[]", "[0.5]", "null", arguments));
    for (const char* other : {"[]", "{}", "garbage", "[0]", "[0,[]]", "[0,[[],[]]]", R"(["6909843517902726160","bW9kdWxl"])", "null", " ", "\t"})
        lines.emplace_back(other);
    const std::string whole = usual().front();
    for (const char* behind : {" ", "x", "]", "\t", ",", "\r"}) lines.push_back(whole + behind);
    lines.push_back(" " + whole);
    return lines;
}

} // namespace meta_schedule_lines

#endif
