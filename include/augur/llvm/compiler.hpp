// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_COMPILER_HPP
#define AUGUR_LLVM_COMPILER_HPP

/// @file
/// Compiles loopnest candidates to LLVM IR with clang, so that Crop can rank them by the code that a compiler generates. Needs no LLVM header.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <unistd.h>

#include <augur/llvm/options.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/work_folder.hpp>

namespace augur::inline v0 {

/// Writes the LLVM IR of a candidate with clang. The input is the C code that would be measured, compiled with the same flags.
///
/// ```cpp
/// auto clang = ir_compiler::find({"clang-19", {}});
/// auto program = loopnest::compile_schedule(task, schedule);
/// auto written = clang->write(*program, "candidate.ll");
/// auto features = features_of_ir_file("candidate.ll", clang->run_of(*program)); // crop::model takes a function that does these
/// ```
///
/// The generated entry runs parallel loops sequentially, so that the features are those of one thread.
/// Threads    one thread per object; compilations of several objects may run concurrently
class ir_compiler {
public:
    /// Finds clang. Errors: those of find_compiler; invalid_argument (the compiler is not clang).
    [[nodiscard]] static result<ir_compiler> find(const loopnest::compiler_options& o) {
        auto folder = loopnest::work_folder::create();
        if (!folder) return folder.error();
        auto cc = find_compiler(o, *folder);
        if (!cc) return cc.error();
        if (!cc->is_clang()) return error{errc::invalid_argument, "'" + o.command + "' is not clang: " + cc->identity};
        cc->flags.emplace_back("-fno-discard-value-names"); // the features then have the block names of the IR
        return ir_compiler(std::move(*folder), std::move(*cc));
    }

    [[nodiscard]] const loopnest::compiler& which() const noexcept { return cc_; }
    /// Cache key: a hash of the program, the compiler and the flags. Equal keys mean equal IR.
    [[nodiscard]] std::uint64_t key(const loopnest::generated_program& p) const {
        auto hash = fnv1a64(source_of(p), fnv1a64(cc_.identity));
        for (const auto& flag : cc_.flags) hash = fnv1a64(flag, hash);
        return hash;
    }
    /// Options to run the IR: its entry and the sizes of its buffers.
    [[nodiscard]] static ir_options run_of(const loopnest::generated_program& p) {
        ir_options options;
        options.entry = "crop_entry";
        for (const auto& b : p.buffers)
            options.arguments.emplace_back(ir_buffer{static_cast<std::uint64_t>((std::max)(std::int64_t{1}, b.elements)) * 4});
        return options;
    }
    /// Writes the IR as text. Takes the time of one clang run.
    /// Errors: io; invalid_argument (with the diagnostics of clang).
    [[nodiscard]] result<void> write(const loopnest::generated_program& p, const std::string& path) const {
        const auto file = folder_.path() + "/candidate.c";
        (void)::unlink(file.c_str());
        if (auto written = loopnest::write_private_file(file, source_of(p)); !written) return written.error();
        loopnest::process_spec job;
        job.arguments = cc_.command;
        job.arguments.insert(job.arguments.end(), cc_.flags.begin(), cc_.flags.end());
        for (const char* a : {"-std=gnu11", "-S", "-emit-llvm", "-o"}) job.arguments.emplace_back(a);
        job.arguments.insert(job.arguments.end(), {path, file});
        job.temporary = folder_.path();
        if (const auto r = loopnest::run_process(job); !r.ok())
            return error{errc::invalid_argument, cc_.identity + ": " + (r.timed_out ? "time limit" : loopnest::first_compiler_error(r.errors))};
        return {};
    }

private:
    ir_compiler(loopnest::work_folder folder, loopnest::compiler cc) : folder_(std::move(folder)), cc_(std::move(cc)) {}

    static std::string source_of(const loopnest::generated_program& p) {
        std::string parameters, list;
        for (std::size_t i = 0; i < p.buffers.size(); ++i) {
            const auto name = "b" + std::to_string(i);
            parameters += (i == 0 ? "float *" : ", float *") + name;
            list += (i == 0 ? "" : ", ") + name;
        }
        return std::string(loopnest::program_prelude) + p.source +
               "static void crop_launch(aug_body body, void *context, int64_t n) { body(context, 0, n); }\nvoid crop_entry(" + parameters +
               ") { float *const buffers[] = {" + list + "}; " + p.entry + "(buffers, crop_launch); }\n";
    }

    loopnest::work_folder folder_;
    loopnest::compiler cc_;
};

} // namespace augur::inline v0

#endif
