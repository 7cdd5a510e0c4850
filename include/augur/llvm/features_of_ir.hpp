// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_FEATURES_OF_IR_HPP
#define AUGUR_LLVM_FEATURES_OF_IR_HPP

/// @file
/// Extracts the features of the Crop cost model from LLVM IR (version 14 to 19): graphlets by static analysis; execution counts and memory profiles
/// by one run of the instrumented program in a forked child process.
///
/// ```cpp
/// auto features = augur::features_of_ir_file("matmul.ll", {.threads = 2});
/// auto p = augur::crop::predict(*features, machine, 2);
/// ```
///
/// The child process protects the caller from accidents (an endless loop, a wild store), not from malicious code: the program runs as machine code
/// with the rights of this process.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/steady_seconds.hpp>
#include <augur/llvm/options.hpp>
#include <augur/llvm/run/extract.hpp>
#include <augur/program/features_json.hpp>

namespace augur::inline v0 {

using ir_progress_sink = std::function<void(const ir_progress&)>;

namespace detail {

template <class Module>
result<program_features> features_in_child(const ir_options& o, const ir_progress_sink& sink, Module&& module) {
    if (auto fits = check_ir_options(o); !fits) return fits.error();
    const double start = steady_seconds();
    ir_progress now;
    const auto report_progress = [&](std::string_view text) { // text: "run 12345"
        const auto space = text.find(' ');
        const auto step = text.substr(0, space);
        for (const std::string_view known : {"read", "analyse", "compile", "run"})
            if (step == known) now.step = known;
        if (space != std::string_view::npos) now.accesses = static_cast<std::uint64_t>(parse_int(text.substr(space + 1)).value_or(0));
        now.seconds = steady_seconds() - start;
        if (sink) sink(now);
    };
    const auto text = run_guarded(
        {o.time_limit_seconds, o.memory_limit_bytes, o.stop},
        [&](const child_report& report) -> result<std::string> {
            ir_failures::install(report, o);
            auto m = module(report);
            if (!m) return m.error();
            auto made = extract_features(**m, o, report);
            if (!made) return made.error();
            return features_to_json(*made);
        },
        report_progress);
    if (!text) return text.error();
    auto features = features_from_json(*text);
    if (!features) return error{features.error().code, "expected valid features from the child process: " + features.error().detail};
    now.step = "done";
    now.seconds = steady_seconds() - start;
    if (sink) sink(now);
    return features;
}

} // namespace detail

/// Features of the program in a file of LLVM text or bitcode. A child process reads, analyses, compiles and runs the program; it is killed at the
/// limits of `o`.
/// Errors     invalid_argument (an option, or a parameter without a value), not_found (the file, the entry or a function that the program calls),
///            parse, unsupported (IR that cannot be run or counted), limit (time or memory), interrupted, illegal_schedule (the program failed: a
///            wild access, a division by zero), io. The message names the step at which the error occurred
/// Cost       about 0.1 s for the compilation, and 10 ns per memory access
/// Threads    thread-safe; it forks, so no other thread of the process may execute LLVM code at that time, because LLVM has locks
[[nodiscard]] inline result<program_features> features_of_ir_file(const std::string& path, const ir_options& o = {},
                                                                  const ir_progress_sink& progress = {}) {
    return detail::features_in_child(o, progress, [&](const detail::child_report& report) -> result<::llvm::Module*> {
        report.send(0, "read");
        auto made = detail::read_module(path);
        if (!made) return made.error();
        return made->release();
    });
}

/// Features of a module of the caller. The module is not changed: the child process works on its copy.
/// Errors     as above
[[nodiscard]] inline result<program_features> features_of_module(::llvm::Module& m, const ir_options& o = {}, const ir_progress_sink& progress = {}) {
    return detail::features_in_child(o, progress, [&](const detail::child_report&) -> result<::llvm::Module*> { return &m; });
}

} // namespace augur::inline v0

#endif
