// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_OPTIONS_HPP
#define AUGUR_LLVM_OPTIONS_HPP

/// @file
/// What is asked of a program in LLVM IR: where it begins, what it gets, on how many threads, and within which limits. No header of LLVM.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/target/machine_instructions.hpp>

namespace augur::inline v0 {

/// Memory behind a pointer: all zeros, and not one page more than is written to.
struct ir_buffer {
    std::uint64_t bytes = 0;               ///< 0: not known, then `ir_options::reserve_bytes`, in which an access is never refused
    std::vector<std::int64_t> shape = {};  ///< of a tensor; calling conventions that hand tensors over need it
    element_type type = element_type::f32; ///< of a tensor
};

/// What the entry gets for a parameter.
using ir_argument = std::variant<ir_buffer, std::int64_t, double>;

/// `4096` (bytes of a buffer), `512x64xf32` (a tensor), `=7` (an integer), `=0.5` (a number with a point is a double).
/// @note errors: parse
[[nodiscard]] inline result<ir_argument> parse_ir_argument(std::string_view text) {
    const auto refuse = [&]() -> result<ir_argument> {
        return error{errc::parse,
                     "argument '" + std::string(text.substr(0, 80)) + "': expected bytes (4096), a tensor (512x64xf32) or a value (=7, =0.5)"};
    };
    if (text.starts_with('=')) {
        if (const auto whole = parse_int(text.substr(1))) return ir_argument(*whole);
        if (const auto number = parse_double(text.substr(1))) return ir_argument(*number);
        return refuse();
    }
    ir_buffer buffer;
    if (const auto bytes = parse_int(text)) {
        if (*bytes <= 0) return refuse();
        buffer.bytes = static_cast<std::uint64_t>(*bytes);
        return ir_argument(buffer);
    }
    std::uint64_t elements = 1;
    for (;;) {
        const auto x = text.find('x');
        if (x == std::string_view::npos) break;
        const auto extent = parse_int(text.substr(0, x));
        if (!extent || *extent < 1 || buffer.shape.size() == 16 || elements > (std::uint64_t{1} << 50U) / static_cast<std::uint64_t>(*extent))
            return refuse();
        elements *= static_cast<std::uint64_t>(*extent);
        buffer.shape.push_back(*extent);
        text.remove_prefix(x + 1);
    }
    const auto type = parse_element_type(text);
    if (!type || buffer.shape.empty()) return refuse();
    buffer.type = *type;
    buffer.bytes = elements * static_cast<std::uint64_t>(bytes_of(*type));
    return ir_argument(buffer);
}

/// How the trace of a program becomes profiles.
struct trace_options {
    std::uint64_t exact = std::uint64_t{1} << 26U; ///< so many accesses are counted one by one; what comes behind them is sampled
    double rate = 0.01;                            ///< of the lines that stand for all of them, where it is sampled: in (0, 1]
    std::uint64_t most = 0;                        ///< the trace ends here, and the features say so; 0: never
    bool warm = true;                              ///< the program runs again and again on the same memory; else nothing is in a cache at its start
    std::vector<std::uint64_t> sets = {64, 1024, 2048}; ///< numbers of sets for which it is also counted exactly, 32 places deep (associativity_profile)
    std::int64_t line_bytes = 64;                       ///< 64 or 128
    std::uint64_t seed = 0;                             ///< which lines a sample has
};

/// How far a run is.
struct ir_progress {
    std::string_view step; ///< "read", "analyse", "compile", "run", "done"
    double seconds = 0;    ///< since the call
    std::uint64_t accesses = 0;
};

struct ir_options {
    std::string entry = {}; ///< a function of the program; empty: the one that there is to find (docs/llvm.md)
    std::vector<ir_argument> arguments =
        {};          ///< by parameter or, with TVM's conventions, by tensor; a pointer that is left out is a buffer of unknown size
    int threads = 1; ///< that parallel regions are dealt to: memory profiles are of so many
    trace_options trace = {};
    bool promote = true;  ///< variables in allocas become registers first, as in any optimised build
    bool contract = true; ///< a product and the addition that alone uses it may become one instruction, whatever their flags (TVM compiles so)
    double time_limit_seconds = 10;
    std::uint64_t memory_limit_bytes = std::uint64_t{4} << 30U;
    std::uint64_t reserve_bytes = std::uint64_t{4} << 30U;         ///< of addresses, for a buffer of unknown size
    std::vector<std::pair<std::string, const void*>> symbols = {}; ///< functions and variables that the program needs from outside
    loopnest::stop_flag stop = nullptr;                                      ///< set: the run is ended, interrupted

    /// A parallel loop of TVM's with more iterations is counted by stretches of some of them.
    static constexpr std::uint64_t most_instances = 256;
};

/// @note errors: invalid_argument, by the option's name
[[nodiscard]] inline result<void> check_ir_options(const ir_options& o) {
    const auto refuse = [](const std::string& text) { return error{errc::invalid_argument, "ir_options." + text}; };
    if (o.threads < 1 || o.threads > 256) return refuse("threads: expected 1 to 256, got " + std::to_string(o.threads));
    if (!(o.time_limit_seconds > 0 && o.time_limit_seconds <= 86400)) return refuse("time_limit_seconds: expected more than 0 and at most a day");
    if (o.memory_limit_bytes < std::uint64_t{1} << 20U || o.memory_limit_bytes > std::uint64_t{1} << 44U)
        return refuse("memory_limit_bytes: expected 2^20 to 2^44");
    if (o.reserve_bytes < 4096 || o.reserve_bytes > std::uint64_t{1} << 40U) return refuse("reserve_bytes: expected 4096 to 2^40");
    if (!(o.trace.rate > 0 && o.trace.rate <= 1)) return refuse("trace.rate: expected more than 0 and at most 1");
    if (o.trace.sets.size() > 16) return refuse("trace.sets: expected at most 16");
    for (const auto s : o.trace.sets)
        if (s < 1 || s > std::uint64_t{1} << 26U) return refuse("trace.sets: expected 1 to 2^26, got " + std::to_string(s));
    if (o.trace.line_bytes != 64 && o.trace.line_bytes != 128) return refuse("trace.line_bytes: expected 64 or 128");
    for (const auto& a : o.arguments)
        if (const auto* b = std::get_if<ir_buffer>(&a); b != nullptr && b->bytes > std::uint64_t{1} << 40U)
            return refuse("arguments: a buffer of more than 2^40 bytes");
    return {};
}

} // namespace augur::inline v0

#endif
