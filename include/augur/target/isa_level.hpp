// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_ISA_LEVEL_HPP
#define AUGUR_TARGET_ISA_LEVEL_HPP

/// @file
/// The instruction-set level that code is generated for: the microarchitecture levels of the x86-64 psABI, AArch64, or all that this machine has.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

/// What a kernel may use of its processor. `isa` (core/isa.hpp) chooses between versions of this library's own functions and does not affect kernels.
enum class isa_level : std::uint8_t {
    native,    ///< all that the machine has on which the code is compiled
    x86_64_v2, ///< SSE4.2: 16 vector registers of 16 bytes, no multiply-add
    x86_64_v3, ///< AVX2 and FMA: 16 registers of 32 bytes
    x86_64_v4, ///< AVX-512 F, BW, CD, DQ and VL: 32 registers of 64 bytes
    aarch64,   ///< Advanced SIMD of Armv8-A: 32 registers of 16 bytes
};
inline constexpr std::array<std::string_view, 5> isa_level_names{"native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
constexpr std::string_view to_string(isa_level l) noexcept { return detail::name_of(isa_level_names, static_cast<std::size_t>(l)); }

/// Errors: invalid_argument
[[nodiscard]] inline result<isa_level> parse_isa_level(std::string_view text) {
    const auto at = std::find(isa_level_names.begin(), isa_level_names.end(), text);
    if (at != isa_level_names.end()) return static_cast<isa_level>(at - isa_level_names.begin());
    return error{errc::invalid_argument,
                 "ISA level: expected native, x86-64-v2, x86-64-v3, x86-64-v4 or aarch64, got '" + std::string(text.substr(0, 64)) + "'"};
}

/// The target string in log lines, in TVM's form, for kernels that a C compiler builds for a level.
[[nodiscard]] inline std::string target_text(isa_level l) { return "c -keys=cpu -mcpu=" + std::string(to_string(l)); }

/// The least machine that runs code of a level: architecture, features as in /proc/cpuinfo, and width of the vectors; native: this machine.
[[nodiscard]] inline machine machine_of(isa_level l) {
    if (l == isa_level::native) return detect_machine();
    machine m;
    m.vector_bytes = l == isa_level::x86_64_v4 ? 64 : l == isa_level::x86_64_v3 ? 32 : 16;
    if (l == isa_level::aarch64) {
        m.architecture = "aarch64";
        m.features = {"asimd", "fp"};
        return m;
    }
    m.architecture = "x86_64";
    m.features = {"cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"}; // pni: SSE3
    if (l >= isa_level::x86_64_v3)
        for (const char* f : {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}) m.features.emplace_back(f); // abm: LZCNT
    if (l >= isa_level::x86_64_v4)
        for (const char* f : {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}) m.features.emplace_back(f);
    std::sort(m.features.begin(), m.features.end());
    return m;
}

/// `m` as code of a level uses it: with the features, vectors, instruction costs and folds that the level has. Unchanged for native.
///
/// Errors  unsupported: another architecture, shorter vectors, or no multiply-add where the level has it. Other features are not compared, since the
///         description of a machine need not list them all
[[nodiscard]] inline result<machine> machine_at(machine m, isa_level l) {
    if (l == isa_level::native) return m;
    const auto least = machine_of(l);
    const auto refused = [&](const std::string& expected, const std::string& got) {
        return error{errc::unsupported, "ISA level " + std::string(to_string(l)) + ": expected " + expected + ", got " +
                                            (m.cpu_name.empty() ? "a machine" : "'" + m.cpu_name + "'") + " with " + got};
    };
    if (m.architecture != least.architecture)
        return refused("a machine of architecture " + least.architecture, "architecture '" + m.architecture + "'");
    if (m.vector_bytes < least.vector_bytes)
        return refused("vectors of " + std::to_string(least.vector_bytes) + " bytes", "vectors of " + std::to_string(m.vector_bytes));
    if (least.has_multiply_add() && !m.has_multiply_add()) return refused("a multiply-add instruction", "none");
    std::vector<std::string> kept;
    std::set_intersection(m.features.begin(), m.features.end(), least.features.begin(), least.features.end(), std::back_inserter(kept));
    m.features = std::move(kept);
    m.vector_bytes = least.vector_bytes;
    const bool adds = least.has_multiply_add();
    const auto absent = [&](const instruction_cost& c) {
        return c.lanes * bytes_of(c.type) > (std::max)(m.vector_bytes, std::int64_t{8}) || (c.op == instruction_class::fma && !adds);
    };
    m.costs.erase(std::remove_if(m.costs.begin(), m.costs.end(), absent), m.costs.end());
    const auto bit = [](fold_hint f) { return 1U << static_cast<unsigned>(f); };
    if (!adds) m.core.folds &= ~bit(fold_hint::multiply_add);
    if (l == isa_level::x86_64_v2) m.core.folds &= ~bit(fold_hint::splat); // before AVX no load broadcasts
    return m;
}

/// This machine as code of a level uses it.
/// Errors  those of `machine_at`; unsupported if this processor lacks a feature of the level
[[nodiscard]] inline result<machine> detect_machine(isa_level l) {
    auto here = detect_machine();
    if (l == isa_level::native) return here;
    const auto least = machine_of(l);
    std::string missing;
    for (const auto& f : least.features)
        if (here.architecture == least.architecture && !here.has(f)) missing += (missing.empty() ? "" : ", ") + f;
    if (!missing.empty())
        return error{errc::unsupported, "ISA level " + std::string(to_string(l)) + ": expected a processor that has " + missing + ", got '" +
                                            (here.cpu_name.empty() ? "unknown" : here.cpu_name) + "' without"};
    return machine_at(std::move(here), l);
}

} // namespace augur::inline v0

#endif
