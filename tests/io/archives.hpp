// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_IO_ARCHIVES_HPP
#define AUGUR_TESTS_IO_ARCHIVES_HPP

// A small Kernel Tuner cache, the same results as a T4 file, and the folder of real caches.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace archives {

inline const std::string head = R"({
"device_name": "Some GPU",
"kernel_name": "add",
"problem_size": [4096, 16],
"tune_params_keys": ["block", "share", "layout"],
"tune_params": {"block": [16, 32], "share": [0.5], "layout": ["row", "column"]},
"objective": "time",
"cache": {
)";
inline const std::vector<std::string> entries{
    R"("16,0.5,row": {"block": 16, "share": 0.5, "layout": "row", "time": 2.5, "times": [3.0, 2.0, 2.5], "compile_time": 900.5, )"
    R"("verification_time": 0, "benchmark_time": 99.5, "GFLOP/s": 12.5, "strategy_time": 7, "framework_time": 9, )"
    R"("timestamp": "2023-12-22 09:54:05.502007+00:00"})",
    R"("16,0.5,column": {"block": 16, "share": 0.5, "layout": "column", "time": "RuntimeFailedConfig", "compile_time": 500, )"
    R"("verification_time": 0, "benchmark_time": 0.5, "strategy_time": 0, "framework_time": 2, "timestamp": "1970-01-02T00:00:01Z"})",
    R"("32,0.5,row": {"layout": "row", "block": 32, "share": 0.5, "time": "CompilationFailedConfig", "compile_time": 250})",
    R"("32,0.5,column": {"block": 32, "share": 0.5, "layout": "column", "time": 1.25, "compile_time": 100, "benchmark_time": 20, "timestamp": null})",
};

inline std::string cache_of(const std::vector<std::string>& list) {
    std::string text = head;
    for (const auto& e : list) text += (&e == list.data() ? "" : ",\n") + e;
    return text + "}\n}\n";
}

inline const std::string t4 = R"({"results": [
{"timestamp": "2023-12-22 09:54:05.502007+00:00", "configuration": {"block": 16, "share": 0.5, "layout": "row"}, "times": {"compilation": 900.5, )"
                              R"("benchmark": 99.5, "framework": 9, "search_algorithm": 7, "validation": 0, "runtimes": [3.0, 2.0, 2.5]}, )"
                              R"("invalidity": "correct", "correctness": 1, "measurements": [{"name": "GFLOP/s", "value": 12.5, "unit": ""}, )"
                              R"({"name": "time", "value": 2.5, "unit": "ms"}], "objectives": ["time"]},
{"timestamp": "1970-01-02 00:00:01", "configuration": {"block": 16, "share": 0.5, "layout": "column"}, "times": {"compilation": 500, )"
                              R"("benchmark": 0.5}, "invalidity": "runtime", "correctness": 1, "measurements": [{"name": "time", )"
                              R"("value": "RuntimeFailedConfig", "unit": "ms"}]},
{"configuration": {"layout": "row", "block": 32, "share": 0.5}, "times": {"compilation_time": 250}, "invalidity": "compile", "correctness": 0, )"
                              R"("measurements": [{"name": "time", "value": "CompilationFailedConfig", "unit": "ms"}]},
{"configuration": {"block": 32, "share": 0.5, "layout": "column"}, "times": {"compilation": 100, "benchmark": 20}, "invalidity": "correct", )"
                              R"("correctness": 1, "measurements": [{"name": "time", "value": 1.25, "unit": "ms"}]}
], "schema_version": "1.0.0"})";

/// Real caches: $AUGUR_DATA, else beside the repository. Empty when there are none.
inline std::vector<std::string> real_files() {
    const char* const named = std::getenv("AUGUR_DATA");
    const auto folder =
        (named != nullptr ? std::filesystem::path(named) : std::filesystem::path(AUGUR_TEST_DIR) / "../../shared/data") / "kernel-tuner";
    std::vector<std::string> files;
    for (const char* device : {"A100", "A4000", "MI250X", "W6600"})
        if (const auto path = folder / (std::string(device) + ".json.gz"); std::filesystem::exists(path)) files.push_back(path.string());
    return files;
}

} // namespace archives

#endif
