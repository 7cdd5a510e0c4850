// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_COMPILE_HPP
#define AUGUR_LOOPNEST_RUN_COMPILE_HPP

/// @file
/// Compiles C source to shared objects, with the C compiler as a guarded child process.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/guarded_process.hpp>
#include <augur/loopnest/detail/runner_source.hpp>
#include <augur/loopnest/run/compiler.hpp>
#include <augur/loopnest/run/compiler_messages.hpp>
#include <augur/loopnest/run/find_compiler.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/loopnest/run/work_folder.hpp>

namespace augur::inline v0::loopnest {

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
    bool timed_out = false; ///< wall or CPU limit exceeded. A compiler out of memory has failed as for an error in the source; see `reason`
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
