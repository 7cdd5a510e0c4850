// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_COMPILER_HPP
#define AUGUR_LOOPNEST_RUN_COMPILER_HPP

/// @file
/// The C compiler that kernels are compiled with: what the user selects, its flags, its limits.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

} // namespace augur::inline v0::loopnest

#endif
