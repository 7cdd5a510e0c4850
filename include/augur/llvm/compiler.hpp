// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_COMPILER_HPP
#define AUGUR_LLVM_COMPILER_HPP

/// @file
/// The embedded compiler's candidates as LLVM IR, through clang, so that Crop can rank them by what a compiler makes of them. No header of LLVM.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <augur/llvm/options.hpp>
#include <augur/loopnest/run/compile.hpp>

namespace augur::inline v0 {

/// A clang that writes the IR of a candidate: of the C that would be measured, with its flags.
///
///     auto clang = ir_compiler::find({.command = "clang-19"});
///     clang->write(write_c(lowered, c_options), "candidate.ll");
///     auto features = features_of_ir_file("candidate.ll", clang->run_of(program)); // crop::model takes a function that does these
///
/// Parallel loops run one after the other, so the features are of one thread.
/// Threads    one thread an object; children of several may run side by side
class ir_compiler {
public:
    /// @note errors: those of find_compiler; invalid_argument, it is no clang
    [[nodiscard]] static result<ir_compiler> find(const loopnest::compiler_options& o) {
        auto folder = loopnest::work_folder::create();
        if (!folder) return folder.error();
        auto cc = find_compiler(o, *folder);
        if (!cc) return cc.error();
        if (!cc->is_clang()) return error{errc::invalid_argument, "'" + o.command + "' is not clang: " + cc->identity};
        cc->flags.emplace_back("-fno-discard-value-names"); // the blocks of the features are those of the IR, by name
        return ir_compiler(std::move(*folder), std::move(*cc));
    }

    [[nodiscard]] const loopnest::compiler& which() const noexcept { return cc_; }
    /// Equal for programs, compilers and flags of which the same IR comes.
    [[nodiscard]] std::uint64_t key(const loopnest::generated_program& p) const {
        auto hash = fnv1a64(source_of(p), fnv1a64(cc_.identity));
        for (const auto& flag : cc_.flags) hash = fnv1a64(flag, hash);
        return hash;
    }
    /// How the IR is run: its entry, and the buffers that it gets.
    [[nodiscard]] static ir_options run_of(const loopnest::generated_program& p) {
        ir_options how;
        how.entry = "crop_entry";
        for (const auto& b : p.buffers)
            how.arguments.emplace_back(ir_buffer{static_cast<std::uint64_t>((std::max)(std::int64_t{1}, b.elements)) * 4});
        return how;
    }
    /// Writes the IR as text. Costs what clang takes for the program.
    /// @note errors: io; invalid_argument, with what clang says
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
            return error{errc::invalid_argument, cc_.identity + ": " + (r.timed_out ? "time limit" : loopnest::detail::compiler_complaint(r.errors))};
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
