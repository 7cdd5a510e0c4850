// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_COMPILE_HPP
#define AUGUR_LOOPNEST_RUN_COMPILE_HPP

/// @file
/// The host's C compiler as a child process: search, flag probing, and compilation of C source to shared objects.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/runner_report.hpp>
#include <augur/loopnest/detail/runner_source.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/loopnest/run/work_folder.hpp>
#include <augur/target/isa_level.hpp>

namespace augur::inline v0::loopnest {

/// The compiler and flags that the user selects.
struct compiler_options {
    std::string command;            ///< program and leading arguments, separated by blanks, never passed to a shell; empty: the variable CC, else cc
    std::vector<std::string> flags; ///< one argument each; empty: `default_compile_flags`
    isa_level isa = isa_level::native; ///< what the code may use; its flags stand before `flags`, except for native
};

/// A compiler that was found, with the text that identifies it in records.
struct compiler {
    std::vector<std::string> command; ///< the program and its leading arguments
    std::vector<std::string> flags;   ///< flags for every program
    std::string identity;             ///< the first line of --version
    std::string isa;                  ///< level of its code with these flags (`built_isa`); empty: it does not tell
    [[nodiscard]] bool is_clang() const noexcept { return identity.find("clang") != std::string::npos; }
};

/// Limits of one compilation.
struct compile_limits {
    double wall_seconds = 20; ///< limit for one kernel; a batch of programs with n kernels gets n times as much
    double cpu_seconds = 20;
    std::uint64_t memory_bytes = std::uint64_t{4} << 30U; ///< address space of each compiler process
    std::uint64_t file_bytes = std::uint64_t{256} << 20U; ///< size of each file that the compiler writes
};

/// The flags that make code for a level.
inline std::vector<std::string> isa_flags(isa_level l) {
    const std::string march = "-march=" + std::string(to_string(l));
    switch (l) {
    case isa_level::native: break;
    case isa_level::x86_64_v2: return {march, "-mprefer-vector-width=128"};
    case isa_level::x86_64_v3: return {march, "-mprefer-vector-width=256"};
    case isa_level::x86_64_v4: return {march, "-mprefer-vector-width=512"};
    case isa_level::aarch64: return {"-march=armv8-a"};
    }
#if defined(__aarch64__)
    return {"-mcpu=native"};
#else
    return {"-march=native", "-mprefer-vector-width=512"};
#endif
}

/// The flags used if the user names none. Flags that the compiler refuses are omitted, but not the architecture of a level.
///
/// -O2 instead of -O3: the generated code has explicit vectors and unrolling, and -O3 takes up to four times the compile time. No -Ofast: sums must
/// keep the order of the schedule, and NaN must be preserved, or the output check would miss errors.
inline std::vector<std::string> default_compile_flags(isa_level l = isa_level::native) {
    std::vector<std::string> flags{"-O2"};
    for (auto& f : isa_flags(l)) flags.push_back(std::move(f));
    for (const char* f : {"-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast", "-fvect-cost-model=dynamic", "-w"})
        flags.emplace_back(f);
    return flags;
}

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

/// Compiler output for a record: printable characters, one line, at most `limit` bytes.
inline std::string one_line(std::string_view text, std::size_t limit = 400) {
    std::string line;
    for (const char c : text) {
        if (line.size() >= limit) break;
        const bool printable = c >= ' ' && c != 127;
        if (printable) line.push_back(c);
        else if (!line.empty() && line.back() != ' ') line.push_back(' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

/// `text` with a path that differs between runs replaced.
inline std::string without_path(std::string text, std::string_view path, std::string_view instead) {
    for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos; at += instead.size()) text.replace(at, path.size(), instead);
    return text;
}

/// A report of the guard process; `valid` if nonce, length and checksum are correct.
struct guard_answer {
    bool valid = false;
    guard_report report{};
    std::string payload;
};

inline guard_answer read_guard(const process_result& r, std::uint64_t nonce) {
    guard_answer a;
    if (r.output.size() < sizeof a.report) return a;
    std::memcpy(&a.report, r.output.data(), sizeof a.report);
    if (a.report.nonce != nonce || r.output.size() - sizeof a.report != a.report.payload) return a;
    a.payload = r.output.substr(sizeof a.report);
    a.valid = a.payload.empty() || crc32(a.payload) == a.report.crc;
    return a;
}

/// A number that identifies one child, so that a late message of another child is not accepted.
inline std::uint64_t fresh_nonce(std::uint64_t counter) {
    const auto clock = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return mix64(mix64(clock ^ static_cast<std::uint64_t>(::getpid()) << 32U) + counter);
}

struct guard_limits {
    double wall_seconds, cpu_seconds;
    std::uint64_t memory_bytes, file_bytes;
};

/// The error for a required program that could not be started.
inline error no_start(std::string_view component, const std::string& program, int start_error, std::string_view help = {}) {
    const auto code = no_descriptors(start_error) ? errc::limit : start_error == ENOENT || start_error == EACCES ? errc::not_found : errc::io;
    std::string text(component);
    text += ": cannot start '" + program + "': " + start_failure(start_error);
    if (code == errc::not_found) text += help;
    return {code, std::move(text)};
}

inline process_spec guarded(const std::string& runner, std::uint64_t nonce, const guard_limits& l) {
    const auto whole = [](double x) { return std::to_string(static_cast<std::uint64_t>((std::max)(x, 1.0) + 0.5)); };
    char hex[20];
    std::snprintf(hex, sizeof hex, "%llx", static_cast<unsigned long long>(nonce));
    process_spec s;
    s.arguments = {runner, hex, whole(l.wall_seconds * 1e3), whole(l.cpu_seconds), std::to_string(l.memory_bytes), std::to_string(l.file_bytes)};
    s.wall_seconds = l.wall_seconds + 10; // the guard enforces the limit; this one is for a guard that hangs
    s.grace_seconds = 5;
    s.temporary = runner.substr(0, runner.rfind('/')); // the work folder: files of a killed compiler are removed with it
    return s;
}

} // namespace detail

/// The relevant part of the compiler output for a record: from its first error on, as one line of at most 400 bytes.
[[nodiscard]] inline std::string first_compiler_error(std::string_view output) {
    const auto at = output.find("error");
    const auto line = at == std::string_view::npos ? 0 : output.rfind('\n', at);
    return detail::one_line(output.substr(line == std::string_view::npos ? 0 : line));
}

/// Finds the compiler, the default flags that it accepts, and the level of its code. Runs the compiler two to four times (0.1 s).
///
/// @return errors: not_found (the compiler cannot be started), limit (no file descriptors are left), invalid_argument (it fails on an empty
///         file), unsupported (it does not know the ISA level), io, interrupted
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
        for (const auto& flag : found.flags)
            if (accepts({flag})) kept.push_back(flag);
        found.flags = std::move(kept);
    }
    if (stop_requested(stop)) return error{errc::interrupted, "stopped while probing the compiler"};
    if (const auto march = isa_flags(options.isa).front(); !native && std::find(found.flags.begin(), found.flags.end(), march) == found.flags.end())
        return error{errc::unsupported, "ISA level " + std::string(to_string(options.isa)) + ": expected a C compiler that takes " + march +
                                            ", got '" + found.identity + "'"};
    return with_isa();
}

/// Compiles the runner program into the folder and returns its path. Costs about 0.5 s.
///
/// @return errors: invalid_argument (compile error, with the compiler's message), limit (no file descriptors are left), interrupted, io
inline result<std::string> build_runner(const compiler& cc, const work_folder& folder, stop_flag stop = nullptr) {
    const std::string source = folder.path() + "/runner.c", binary = folder.path() + "/runner";
    if (auto written = write_private_file(source, detail::runner_source()); !written) return written.error();
    process_spec job;
    job.arguments = cc.command;
    // Machine flags only: the fill and the comparison must not depend on the floating-point flags of the candidates.
    for (const auto& flag : cc.flags)
        if (flag.rfind("-m", 0) == 0) job.arguments.push_back(flag);
    for (const char* a : {"-O2", "-w", "-ffp-contract=off", "-pthread", "-o"}) job.arguments.emplace_back(a);
    job.arguments.push_back(binary);
    job.arguments.push_back(source);
    for (const char* a : {"-Wl,--no-as-needed", "-ldl", "-lm"}) job.arguments.emplace_back(a);
    job.wall_seconds = 60;
    job.temporary = folder.path();
    const auto r = run_process(job, stop);
    if (r.stopped) return error{errc::interrupted, "stopped while compiling the runner"};
    if (r.start_error != 0) return detail::no_start("C compiler", cc.command.front(), r.start_error);
    if (!r.ok()) return error{errc::invalid_argument, "C compiler '" + cc.identity + "' cannot build the runner: " + first_compiler_error(r.errors)};
    return binary;
}

/// The result of compiling one batch of programs into one shared object.
struct compile_outcome {
    bool ok = false;
    bool timed_out = false; ///< wall or CPU limit exceeded, or the memory limit of the compiler
    bool stopped = false;
    bool ours = false; ///< internal failure: the program is not the cause
    double cpu_seconds = 0;
    double wall_seconds = 0;
    std::string object; ///< path of the shared object
    std::string reason;
};

/// Compiles batches to shared objects, `concurrency` at a time; the object of batch i is numbered `first_number` + i.
///
/// The objects are linked without libraries; the runner provides libm and libc.
inline std::vector<compile_outcome> compile_batches(const compiler& cc, const std::string& runner, const work_folder& folder,
                                                    std::span<const std::vector<const generated_program*>> batches, std::uint64_t first_number,
                                                    const compile_limits& limits, std::size_t concurrency, stop_flag stop = nullptr) {
    std::vector<compile_outcome> done(batches.size());
    std::vector<process_spec> jobs(batches.size());
    std::vector<std::uint64_t> nonces(batches.size());
    std::vector<std::string> sources(batches.size());
    for (std::size_t i = 0; i < batches.size(); ++i) {
        std::string text(program_prelude);
        for (const generated_program* p : batches[i]) text += p->source;
        const std::string stem = folder.path() + "/b" + std::to_string(first_number + i);
        sources[i] = stem + ".c";
        done[i].object = stem + ".so";
        if (auto written = write_private_file(sources[i], text); !written) {
            done[i].ours = true;
            done[i].reason = written.error().detail;
            continue;
        }
        double n = 0;
        for (const generated_program* p : batches[i]) n += p->kernels;
        n = (std::max)(n, 1.0);
        nonces[i] = detail::fresh_nonce(first_number + i);
        jobs[i] = detail::guarded(runner, nonces[i], {limits.wall_seconds * n, limits.cpu_seconds * n, limits.memory_bytes, limits.file_bytes});
        auto& a = jobs[i].arguments;
        a.emplace_back("exec");
        a.insert(a.end(), cc.command.begin(), cc.command.end());
        a.insert(a.end(), cc.flags.begin(), cc.flags.end());
        for (const char* flag : {"-std=gnu11", "-shared", "-fPIC", "-nostdlib", "-o"}) a.emplace_back(flag);
        a.push_back(done[i].object);
        a.push_back(sources[i]);
    }
    const auto ended = run_processes(jobs, concurrency, stop);
    for (std::size_t i = 0; i < batches.size(); ++i) {
        auto& d = done[i];
        const auto& r = ended[i];
        const auto complaint =
            first_compiler_error(detail::without_path(detail::without_path(r.errors, sources[i], "program.c"), d.object, "program.so"));
        (void)::unlink(sources[i].c_str());
        if (d.ours) continue;
        d.cpu_seconds = r.cpu_seconds;
        d.wall_seconds = r.wall_seconds;
        d.stopped = r.stopped;
        const auto a = detail::read_guard(r, nonces[i]);
        if (r.stopped) d.reason = "interrupted";
        else if (!a.valid || a.report.cause != 0) {
            d.ours = true;
            d.reason = "the compiler could not be started: ";
            d.reason += r.start_error != 0 ? detail::start_failure(r.start_error) : std::strerror(a.valid ? a.report.cause : EPROTO);
        } else if (a.report.timeout != 0 || (a.report.exited == 0 && a.report.code == SIGXCPU)) {
            d.timed_out = true;
            d.reason = "the compiler passed its time limit";
        } else if (a.report.exited == 0) d.reason = "the compiler died by signal " + std::to_string(a.report.code) + " " + complaint;
        else if (a.report.code != 0) d.reason = complaint;
        else d.ok = true;
        if (!d.ok) (void)::unlink(d.object.c_str());
    }
    return done;
}

} // namespace augur::inline v0::loopnest

#endif
