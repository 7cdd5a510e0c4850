// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_OPTIONS_HPP
#define AUGUR_LLVM_OPTIONS_HPP

/// @file
/// Options of the feature extraction from LLVM IR: entry function, arguments, threads and limits. Needs no LLVM header.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/target/machine_instructions.hpp>

namespace augur::inline v0 {

/// Buffer for a pointer parameter, filled with zeros. Only pages that the program writes to take memory.
struct ir_buffer {
    std::uint64_t bytes = 0;               ///< size; 0: not known, `ir_options::reserve_bytes` of address space are reserved
    std::vector<std::int64_t> shape = {};  ///< shape of a tensor; required by calling conventions that pass tensors
    element_type type = element_type::f32; ///< element type of a tensor
};

/// Argument for a parameter of the entry.
using ir_argument = std::variant<ir_buffer, std::int64_t, double>;

/// Parses an argument: `4096` (a buffer in bytes), `512x64xf32` (a tensor), `=7` (an integer) or `=0.5` (a double, with a decimal point).
/// Error: parse.
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

/// Options of the memory profiles that are computed from the trace.
struct trace_options {
    std::uint64_t exact = std::uint64_t{1} << 26U;      ///< number of accesses with exact reuse distances; later accesses are sampled
    double rate = 0.01;                                 ///< sampling rate of cache lines (SHARDS), in (0, 1]
    std::uint64_t most = 0;                             ///< limit on the traced accesses; the features then say that the trace is cut; 0: no limit
    bool warm = true;                                   ///< assumes repeated runs on the same memory; false: the caches are empty at the start
    std::vector<std::uint64_t> sets = {64, 1024, 2048}; ///< set counts for exact set-associative profiles, 32 ways deep (associativity_profile)
    std::int64_t line_bytes = 64;                       ///< cache line in bytes: 64 or 128
    std::uint64_t seed = 0;                             ///< seed of the line sampling
};

/// Progress of an extraction.
struct ir_progress {
    std::string_view step;      ///< "read", "analyse", "compile", "run", "done"
    double seconds = 0;         ///< seconds since the call
    std::uint64_t accesses = 0; ///< traced memory accesses
};

struct ir_options {
    std::string entry = {}; ///< entry function; empty: found by the rules in docs/llvm.md
    /// One per parameter or, with TVM's calling conventions, one per tensor. A pointer without an argument is a buffer of unknown size.
    std::vector<ir_argument> arguments = {};
    int threads = 1; ///< number of threads that share parallel regions; the memory profiles are for that number
    trace_options trace = {};
    bool promote = true;  ///< run mem2reg first, as an optimised build does
    bool contract = true; ///< fuse a multiplication and its only use, an addition, into an FMA regardless of fast-math flags, as TVM does
    double time_limit_seconds = 10;
    std::uint64_t memory_limit_bytes = std::uint64_t{4} << 30U;
    std::uint64_t reserve_bytes = std::uint64_t{4} << 30U;         ///< address space for a buffer of unknown size, in bytes
    std::vector<std::pair<std::string, const void*>> symbols = {}; ///< external functions and variables of the program: name and address
    loopnest::stop_flag stop = nullptr;                            ///< when set, the run ends with the error interrupted

    /// Limit on the instances of a TVM parallel loop. In a loop with more iterations an instance runs several consecutive iterations.
    static constexpr std::uint64_t most_instances = 256;
};

/// Checks the ranges of all options. Error: invalid_argument; the message names the option.
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
            return refuse("arguments: expected a buffer of at most 2^40 bytes, got " + std::to_string(b->bytes));
    return {};
}

} // namespace augur::inline v0

#endif
