// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_FIND_COMPILER_HPP
#define AUGUR_LOOPNEST_RUN_FIND_COMPILER_HPP

/// @file
/// Finds the host's C compiler, the flags that it accepts, and the instruction-set level of its code.

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/guarded_process.hpp>
#include <augur/loopnest/run/compiler.hpp>
#include <augur/loopnest/run/compiler_messages.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/loopnest/run/work_folder.hpp>
#include <augur/target/isa_level.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

inline std::vector<std::string> split_blanks(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const auto skip = text.find_first_not_of(" \t");
        if (skip == std::string_view::npos) break;
        text.remove_prefix(skip);
        const auto end = (std::min)(text.find_first_of(" \t"), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

/// The level whose vectors code has that is compiled with these predefined macros (output of `cc -dM -E`); `x86-64`: below v2. Empty: none is known.
/// Only the feature of a level that decides about the vectors counts, since flags such as -mavx2 leave out the others.
inline std::string built_isa(std::string_view macros) {
    const auto defines = [&](const char* name) { return macros.find("#define " + std::string(name) + " ") != std::string_view::npos; };
    if (defines("__aarch64__")) return std::string(to_string(isa_level::aarch64));
    if (!defines("__x86_64__")) return {};
    const auto level = defines("__AVX512F__")  ? isa_level::x86_64_v4
                       : defines("__AVX2__")   ? isa_level::x86_64_v3
                       : defines("__SSE4_2__") ? isa_level::x86_64_v2
                                               : isa_level::native;
    return level == isa_level::native ? "x86-64" : std::string(to_string(level));
}

} // namespace detail

/// Finds the compiler, the default flags that it accepts, and the level of its code. Runs the compiler two or three times (0.1 s), and once more for each
/// flag if it refuses one of them.
///
/// @return errors: not_found (the compiler cannot be started), limit (no file descriptors are left), invalid_argument (`--version` fails), unsupported
///         (it does not know the ISA level), io, interrupted. A compiler that cannot compile is found here and refused by `build_runner`
inline result<compiler> find_compiler(const compiler_options& options, const work_folder& folder, stop_flag stop = nullptr) {
    compiler found;
    std::string command = options.command;
    if (const char* cc = std::getenv("CC"); command.empty() && cc != nullptr) command = cc;
    if (command.find_first_not_of(" \t") == std::string::npos) command = "cc";
    found.command = detail::split_blanks(command);

    process_spec ask;
    ask.arguments = found.command;
    ask.arguments.emplace_back("--version");
    ask.wall_seconds = 20;
    ask.temporary = folder.path();
    const auto version = run_process(ask, stop);
    if (version.stopped) return error{errc::interrupted, "stopped while asking the compiler for its version"};
    if (version.start_error != 0)
        return detail::no_start("C compiler", found.command.front(), version.start_error, "; install gcc or clang, or name one");
    if (!version.ok())
        return error{errc::invalid_argument, "C compiler: '" + command + " --version' failed" + (version.timed_out ? " (time limit)" : "") + ": " +
                                                 detail::one_line(version.errors)};
    found.identity = detail::one_line(std::string_view(version.output).substr(0, version.output.find('\n')), 200);

    const std::string source = folder.path() + "/probe.c";
    (void)::unlink(source.c_str());
    if (auto written = write_private_file(source, "int augur_probe;\n"); !written) return written.error();
    const auto run = [&](const std::vector<std::string>& flags, std::initializer_list<const char*> action) {
        process_spec probe;
        probe.arguments = found.command;
        probe.arguments.insert(probe.arguments.end(), flags.begin(), flags.end());
        for (const char* a : action) probe.arguments.emplace_back(a);
        probe.arguments.push_back(source);
        probe.wall_seconds = 20;
        probe.temporary = folder.path();
        return run_process(probe, stop);
    };
    const auto accepts = [&](const std::vector<std::string>& flags) { return run(flags, {"-S", "-o", "/dev/null"}).ok(); };
    const auto with_isa = [&]() -> result<compiler> {
        const auto macros = run(found.flags, {"-dM", "-E"});
        if (macros.stopped || stop_requested(stop)) return error{errc::interrupted, "stopped while probing the compiler"};
        if (macros.ok()) found.isa = detail::built_isa(macros.output);
        return found;
    };
    const bool native = options.isa == isa_level::native;
    if (!options.flags.empty()) {
        if (!native) found.flags = isa_flags(options.isa);
        found.flags.insert(found.flags.end(), options.flags.begin(), options.flags.end());
        if (native) return with_isa();
    } else {
        found.flags = default_compile_flags(options.isa);
    }
    if (!accepts(found.flags)) {
        std::vector<std::string> kept;
        for (const auto& flag : options.flags.empty() ? found.flags : isa_flags(options.isa))
            if (accepts({flag})) kept.push_back(flag);
        kept.insert(kept.end(), options.flags.begin(), options.flags.end()); // the user's own are never left out: a wrong one shows when it is used
        found.flags = std::move(kept);
    }
    if (stop_requested(stop)) return error{errc::interrupted, "stopped while probing the compiler"};
    if (const auto march = isa_flags(options.isa).front(); !native && std::find(found.flags.begin(), found.flags.end(), march) == found.flags.end())
        return error{errc::unsupported, "ISA level " + std::string(to_string(options.isa)) + ": expected a C compiler that takes " + march +
                                            ", got '" + found.identity + "'"};
    return with_isa();
}

} // namespace augur::inline v0::loopnest

#endif
