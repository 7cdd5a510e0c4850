// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_FEATURES_OF_IR_HPP
#define AUGUR_LLVM_FEATURES_OF_IR_HPP

/// @file
/// Crop's features of a program in LLVM IR, version 14 to 19: its graphlets as they stand, its counts and its use of memory as it runs, once, in a
/// child.
///
///     auto features = augur::features_of_ir_file("matmul.ll", {.threads = 2});
///     auto p = augur::crop::predict(*features, machine, 2);
///
/// A child is a protection from accidents, an endless loop or a wild store, not from malice: what it runs is machine code with this process's rights.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/json_writer.hpp>
#include <augur/llvm/run/extract.hpp>
#include <augur/program/features_json.hpp>

namespace augur::inline v0 {

using ir_progress_sink = std::function<void(const ir_progress&)>;

namespace detail {

template <class Module>
result<program_features> features_in_child(const ir_options& o, const ir_progress_sink& sink, Module&& module) {
    if (auto fits = check_ir_options(o); !fits) return fits.error();
    const double start = loopnest::detail::seconds_now();
    ir_progress now;
    const auto tell = [&](std::string_view text) { // "run 12345"
        const auto space = text.find(' ');
        const auto step = text.substr(0, space);
        for (const std::string_view known : {"read", "analyse", "compile", "run"})
            if (step == known) now.step = known;
        if (space != std::string_view::npos) now.accesses = static_cast<std::uint64_t>(parse_int(text.substr(space + 1)).value_or(0));
        now.seconds = loopnest::detail::seconds_now() - start;
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
        tell);
    if (!text) return text.error();
    auto features = features_from_json(*text);
    if (!features) return error{features.error().code, "what the child sent is not right: " + features.error().detail};
    now.step = "done";
    now.seconds = loopnest::detail::seconds_now() - start;
    if (sink) sink(now);
    return features;
}

} // namespace detail

/// Features of the program in a file, text or bitcode. It is read, analysed, compiled and run in a child, which is ended at the limits of `o`.
/// @note errors: invalid_argument, an option, or a parameter that needs a value; not_found, the file, the entry or what it calls; parse; unsupported,
///       IR that cannot be run or counted; limit, time or memory; interrupted; illegal_schedule, a program that failed (a wild access, a division by
///       zero); io. The message says what was done when it happened.
/// Cost       compilation, some 0.1 s, and 10 ns for each access to memory
/// Threads    safe to call concurrently; it forks, so no other thread of the process may be within LLVM then, which has locks of its own
[[nodiscard]] inline result<program_features> features_of_ir_file(const std::string& path, const ir_options& o = {},
                                                                  const ir_progress_sink& progress = {}) {
    return detail::features_in_child(o, progress, [&](const detail::child_report& report) -> result<::llvm::Module*> {
        report.send(0, "read");
        auto made = detail::read_module(path);
        if (!made) return made.error();
        return made->release();
    });
}

/// Features of a module of the caller's, which stays as it is: what is done to it is done to the child's copy.
/// @note errors: as above
[[nodiscard]] inline result<program_features> features_of_module(::llvm::Module& m, const ir_options& o = {}, const ir_progress_sink& progress = {}) {
    return detail::features_in_child(o, progress, [&](const detail::child_report&) -> result<::llvm::Module*> { return &m; });
}

} // namespace augur::inline v0

#endif
