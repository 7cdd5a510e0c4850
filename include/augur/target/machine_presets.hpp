// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_MACHINE_PRESETS_HPP
#define AUGUR_TARGET_MACHINE_PRESETS_HPP

/// @file
/// Machine descriptions of four CPUs: Cascade Lake, Zen 3, Zen 4, Cortex-A72. `provenance` marks numbers from tables, measurements and defaults.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <augur/core/error.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

namespace detail {

/// One line of an instruction table: the cost for all element types of a kind, in vectors of `bytes` bytes (0: scalars).
struct preset_cost {
    instruction_class op;
    char kind; ///< 'f' f32 and f64, 's' f32, 'd' f64, 'i' integers, 'a' all of these
    int bytes;
    double latency;
    double throughput;
    std::size_t unit;
    provenance from = provenance::table;
};

inline void add_preset_costs(machine& m, std::span<const preset_cost> rows) {
    for (const auto& r : rows) {
        for (std::size_t t = 1; t < element_types; ++t) { // without i1, which is looked up as i8
            const auto type = static_cast<element_type>(t);
            const bool small_float = type == element_type::f16 || type == element_type::bf16;
            const bool single = type == element_type::f32;
            const bool fits = r.kind == 'a'   ? !small_float
                              : r.kind == 'i' ? !is_float(type)
                              : r.kind == 'f' ? is_float(type) && !small_float
                              : r.kind == 's' ? single
                                              : type == element_type::f64;
            const std::int64_t lanes = r.bytes == 0 ? 1 : r.bytes / bytes_of(type);
            if (fits && (r.bytes == 0 || lanes > 1)) m.costs.push_back({r.op, type, lanes, r.latency, r.throughput, r.unit, r.from});
        }
    }
}

constexpr std::uint32_t fold_bits(std::initializer_list<fold_hint> folds) {
    std::uint32_t bits = 0;
    for (const auto f : folds) bits |= 1U << static_cast<unsigned>(f);
    return bits;
}
inline constexpr std::uint32_t x86_folds = fold_bits({fold_hint::always, fold_hint::address, fold_hint::extend, fold_hint::splat,
                                                      fold_hint::compare_branch, fold_hint::multiply_add, fold_hint::operand});
inline constexpr std::uint32_t aarch64_folds =
    fold_bits({fold_hint::always, fold_hint::address, fold_hint::extend, fold_hint::splat, fold_hint::multiply_add});

} // namespace detail

/// Intel Xeon Gold 5220R (Cascade Lake), the target machine of Table 1 of the Crop paper. Latencies are from that table. Cache sizes are per
/// instance; the table has sums (48 x 32 KB, 48 x 1 MB, 2 x 35.75 MB). One 512-bit FMA unit. Instruction costs: LLVM 19's scheduling model of the
/// core and public tables.
[[nodiscard]] inline machine xeon_gold_5220r() {
    using enum instruction_class;
    machine m;
    m.architecture = "x86_64";
    m.cpu_name = "Intel Xeon Gold 5220R";
    m.features = {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"};
    m.processors = 48;
    m.vector_bytes = 64;
    m.clock_hz = 2.2e9;
    m.caches = {{1, 32 << 10U, 64, 1, 8, 4, 128, provenance::table},
                {2, 1 << 20U, 64, 1, 16, 14, 64, provenance::table},
                {3, 36608 << 10U, 64, 24, 11, 59.5, 16, provenance::table}};
    m.memory = {0, 108, 0, 0, provenance::table};
    m.core = {4, 224, 16, 5, 0, 0, detail::x86_folds, provenance::table};
    m.units = {{"fp", 2}, {"divide", 1}, {"integer", 4}, {"shuffle", 1}, {"load", 2}, {"store", 1}, {"branch", 1}};
    static constexpr auto table = std::to_array<detail::preset_cost>({
        {fadd, 'f', 0, 4, 0.5, 0},     {fadd, 'f', 32, 4, 0.5, 0},    {fadd, 'f', 64, 4, 1, 0},      {fmul, 'f', 0, 4, 0.5, 0},
        {fmul, 'f', 32, 4, 0.5, 0},    {fmul, 'f', 64, 4, 1, 0},      {fma, 'f', 0, 4, 0.5, 0},      {fma, 'f', 32, 4, 0.5, 0},
        {fma, 'f', 64, 4, 1, 0},       {fdiv, 's', 0, 11, 3, 1},      {fdiv, 's', 32, 11, 5, 1},     {fdiv, 's', 64, 18, 10, 1},
        {fdiv, 'd', 0, 14, 4, 1},      {fdiv, 'd', 32, 14, 8, 1},     {fdiv, 'd', 64, 23, 16, 1},    {fsqrt, 's', 0, 12, 3, 1},
        {fsqrt, 's', 32, 12, 6, 1},    {fsqrt, 's', 64, 20, 12, 1},   {fsqrt, 'd', 0, 18, 6, 1},     {fsqrt, 'd', 32, 18, 12, 1},
        {fminmax, 'f', 0, 4, 0.5, 0},  {fminmax, 'f', 32, 4, 0.5, 0}, {fminmax, 'f', 64, 4, 1, 0},   {compare, 'f', 0, 4, 0.5, 0},
        {compare, 'f', 32, 4, 0.5, 0}, {compare, 'f', 64, 4, 1, 3},   {compare, 'i', 0, 1, 0.25, 2}, {compare, 'i', 32, 1, 0.5, 0},
        {compare, 'i', 64, 3, 1, 3},   {select, 'a', 0, 1, 0.5, 2},   {select, 'a', 32, 2, 0.67, 2}, {select, 'a', 64, 1, 0.5, 2},
        {ialu, 'i', 0, 1, 0.25, 2},    {ialu, 'i', 32, 1, 0.33, 2},   {ialu, 'i', 64, 1, 0.5, 2},    {imul, 'i', 0, 3, 1, 3},
        {imul, 'i', 32, 10, 1, 0},     {imul, 'i', 64, 10, 2, 0},     {idiv, 'i', 0, 26, 6, 1},      {convert, 'a', 0, 5, 1, 0},
        {convert, 'a', 32, 4, 0.5, 0}, {convert, 'a', 64, 4, 1, 0},   {shuffle, 'a', 0, 1, 1, 3},    {shuffle, 'a', 32, 3, 1, 3},
        {shuffle, 'a', 64, 3, 1, 3},   {load, 'a', 0, 4, 0.5, 4},     {load, 'a', 64, 4, 0.5, 4},    {store, 'a', 0, 1, 1, 5},
        {store, 'a', 64, 1, 1, 5},     {gather, 's', 32, 20, 5, 4},   {gather, 's', 64, 26, 9, 4},   {branch, 'i', 0, 1, 1, 6},
    });
    detail::add_preset_costs(m, table);
    return m;
}

/// AMD EPYC 7763 (Zen 3), the source machine of the Crop paper. Instruction costs: LLVM 19's scheduling model and public tables. Memory: defaults.
[[nodiscard]] inline machine epyc_7763() {
    using enum instruction_class;
    machine m;
    m.architecture = "x86_64";
    m.cpu_name = "AMD EPYC 7763";
    m.features = {"avx", "avx2", "fma"};
    m.processors = 128;
    m.vector_bytes = 32;
    m.clock_hz = 2.45e9;
    m.caches = {{1, 32 << 10U, 64, 2, 8, 4, 64, provenance::table},
                {2, 512 << 10U, 64, 2, 8, 12, 32, provenance::table},
                {3, 32 << 20U, 64, 16, 16, 46, 32, provenance::table}};
    m.memory = {0, 260, 204.8e9, 0, provenance::defaulted};
    m.core = {6, 256, 13, 7, 0, 0, detail::x86_folds, provenance::table};
    m.units = {{"fp add", 2},  {"fp multiply", 2}, {"divide", 1}, {"integer", 4}, {"vector", 4},
               {"shuffle", 2}, {"load", 3},        {"store", 2},  {"branch", 2}};
    static constexpr auto table = std::to_array<detail::preset_cost>({
        {fadd, 'f', 0, 3, 0.5, 0},     {fadd, 'f', 32, 3, 0.5, 0},    {fmul, 'f', 0, 3, 0.5, 1},     {fmul, 'f', 32, 3, 0.5, 1},
        {fma, 'f', 0, 4, 0.5, 1},      {fma, 'f', 32, 4, 0.5, 1},     {fdiv, 's', 0, 11, 3, 2},      {fdiv, 's', 32, 11, 3, 2},
        {fdiv, 'd', 0, 13, 5, 2},      {fdiv, 'd', 32, 13, 5, 2},     {fsqrt, 's', 0, 15, 5, 2},     {fsqrt, 's', 32, 15, 5, 2},
        {fsqrt, 'd', 0, 21, 9, 2},     {fsqrt, 'd', 32, 21, 9, 2},    {fminmax, 'f', 0, 1, 0.5, 1},  {fminmax, 'f', 32, 1, 0.5, 1},
        {compare, 'f', 0, 1, 0.5, 1},  {compare, 'f', 32, 1, 0.5, 1}, {compare, 'i', 0, 1, 0.25, 3}, {compare, 'i', 32, 1, 0.25, 4},
        {select, 'a', 0, 1, 0.5, 3},   {select, 'a', 32, 1, 0.5, 4},  {ialu, 'i', 0, 1, 0.25, 3},    {ialu, 'i', 32, 1, 0.25, 4},
        {imul, 'i', 0, 3, 1, 3},       {imul, 'i', 32, 3, 0.5, 1},    {idiv, 'i', 0, 12, 6, 2},      {convert, 'a', 0, 3, 0.5, 0},
        {convert, 'a', 32, 3, 0.5, 0}, {shuffle, 'a', 0, 1, 0.5, 5},  {shuffle, 'a', 32, 1, 0.5, 5}, {load, 'a', 0, 4, 0.33, 6},
        {load, 'a', 32, 4, 0.5, 6},    {store, 'a', 0, 1, 0.5, 7},    {store, 'a', 32, 1, 1, 7},     {gather, 's', 32, 20, 8, 6},
        {branch, 'i', 0, 1, 0.5, 8},
    });
    detail::add_preset_costs(m, table);
    return m;
}

/// AMD EPYC (Zen 4), as a machine with two processors. The clock (3.69 GHz, from a chain of dependent additions) and most arithmetic costs were
/// measured on it; the other costs are from LLVM 19's scheduling model and public tables. Memory: defaults.
[[nodiscard]] inline machine epyc_zen4() {
    using enum instruction_class;
    constexpr auto measured = provenance::measured;
    machine m;
    m.architecture = "x86_64";
    m.cpu_name = "AMD EPYC (Zen 4)";
    m.features = {"avx", "avx2", "avx512_bf16", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"};
    m.processors = 2;
    m.vector_bytes = 64;
    m.clock_hz = 3.69e9;
    m.caches = {{1, 32 << 10U, 64, 1, 8, 4, 64, provenance::table},
                {2, 1 << 20U, 64, 1, 8, 14, 32, provenance::table},
                {3, 32 << 20U, 64, 2, 16, 50, 27, provenance::table}};
    m.memory = {0, 400, 0, 0, provenance::defaulted};
    m.core = {6, 320, 13, 7, 0, 0, detail::x86_folds, provenance::table};
    m.units = {{"fp add", 2},  {"fp multiply", 2}, {"divide", 1}, {"integer", 4}, {"vector", 4},
               {"shuffle", 2}, {"load", 3},        {"store", 2},  {"branch", 2}};
    static constexpr auto table = std::to_array<detail::preset_cost>({
        {fadd, 'f', 0, 3, 0.5, 0, measured},
        {fadd, 'f', 32, 3, 0.5, 0, measured},
        {fadd, 'f', 64, 3, 1, 0, measured},
        {fmul, 'f', 0, 3, 0.5, 1, measured},
        {fmul, 'f', 32, 3, 0.5, 1, measured},
        {fmul, 'f', 64, 3, 1, 1, measured},
        {fma, 'f', 0, 4, 0.5, 1, measured},
        {fma, 'f', 32, 4, 0.5, 1, measured},
        {fma, 'f', 64, 4, 1, 1, measured},
        {fdiv, 's', 0, 11, 3, 2, measured},
        {fdiv, 's', 32, 11, 3, 2, measured},
        {fdiv, 's', 64, 11, 6, 2},
        {fdiv, 'd', 0, 13, 5, 2},
        {fdiv, 'd', 32, 13, 5, 2},
        {fdiv, 'd', 64, 13, 10, 2},
        {fsqrt, 's', 0, 15, 5, 2},
        {fsqrt, 's', 32, 15, 5, 2, measured},
        {fsqrt, 's', 64, 15, 10, 2},
        {fsqrt, 'd', 0, 21, 9, 2},
        {fsqrt, 'd', 32, 21, 9, 2},
        {fsqrt, 'd', 64, 21, 18, 2},
        {fminmax, 'f', 0, 2, 0.5, 1},
        {fminmax, 'f', 32, 2, 0.5, 1, measured},
        {fminmax, 'f', 64, 2, 1, 1, measured},
        {compare, 'f', 0, 2, 0.5, 1},
        {compare, 'f', 32, 2, 0.5, 1},
        {compare, 'f', 64, 2, 1, 1},
        {compare, 'i', 0, 1, 0.25, 3},
        {compare, 'i', 32, 1, 0.25, 4},
        {compare, 'i', 64, 1, 0.5, 4},
        {select, 'a', 0, 1, 0.5, 3},
        {select, 'a', 32, 1, 0.5, 4},
        {select, 'a', 64, 1, 1, 4},
        {ialu, 'i', 0, 1, 0.25, 3, measured},
        {ialu, 'i', 32, 1, 0.25, 4},
        {ialu, 'i', 64, 1, 0.5, 4},
        {imul, 'i', 0, 3, 1, 3, measured},
        {imul, 'i', 32, 3, 0.5, 1},
        {imul, 'i', 64, 3, 1, 1},
        {idiv, 'i', 0, 12, 6, 2},
        {convert, 'a', 0, 3, 0.5, 0},
        {convert, 'a', 32, 3, 0.5, 0},
        {convert, 'a', 64, 3, 1, 0},
        {shuffle, 'a', 0, 1, 0.5, 5},
        {shuffle, 'a', 32, 1, 0.5, 5},
        {shuffle, 'a', 64, 1, 1, 5},
        {load, 'a', 0, 4, 0.33, 6},
        {load, 'a', 32, 4, 0.5, 6},
        {load, 'a', 64, 4, 1, 6},
        {store, 'a', 0, 1, 0.5, 7},
        {store, 'a', 32, 1, 1, 7},
        {store, 'a', 64, 1, 2, 7},
        {gather, 's', 32, 20, 8, 6},
        {gather, 's', 64, 28, 16, 6},
        {branch, 'i', 0, 1, 0.5, 8},
    });
    detail::add_preset_costs(m, table);
    return m;
}

/// Arm Cortex-A72 as in a Raspberry Pi 4: four cores at 1.5 GHz. Instruction costs: Arm's software optimisation guide for the core. Caches: its
/// reference manual. Latencies beyond the first cache level: defaults.
[[nodiscard]] inline machine cortex_a72() {
    using enum instruction_class;
    machine m;
    m.architecture = "aarch64";
    m.cpu_name = "Arm Cortex-A72";
    m.features = {"asimd", "fp"};
    m.processors = 4;
    m.vector_bytes = 16;
    m.clock_hz = 1.5e9;
    m.caches = {{1, 32 << 10U, 64, 1, 2, 4, 16, provenance::table}, {2, 1 << 20U, 64, 4, 16, 21, 16, provenance::defaulted}};
    m.memory = {0, 190, 4e9, 0, provenance::defaulted};
    m.core = {3, 128, 15, 5, 0, 0, detail::aarch64_folds, provenance::table};
    m.units = {{"fp", 2}, {"divide", 1}, {"integer", 2}, {"multiply", 1}, {"load", 1}, {"store", 1}, {"branch", 1}};
    static constexpr auto table = std::to_array<detail::preset_cost>({
        {fadd, 'f', 0, 4, 0.5, 0},     {fadd, 'f', 16, 4, 0.5, 0},    {fmul, 'f', 0, 4, 0.5, 0},   {fmul, 'f', 16, 4, 0.5, 0},
        {fma, 'f', 0, 7, 0.5, 0},      {fma, 'f', 16, 7, 0.5, 0},     {fdiv, 's', 0, 11, 9, 1},    {fdiv, 's', 16, 25, 22, 1},
        {fdiv, 'd', 0, 18, 16, 1},     {fdiv, 'd', 16, 34, 32, 1},    {fsqrt, 's', 0, 17, 15, 1},  {fsqrt, 's', 16, 36, 34, 1},
        {fminmax, 'f', 0, 3, 0.5, 0},  {fminmax, 'f', 16, 3, 0.5, 0}, {compare, 'f', 0, 3, 1, 0},  {compare, 'f', 16, 3, 0.5, 0},
        {compare, 'i', 0, 1, 0.5, 2},  {compare, 'i', 16, 3, 0.5, 0}, {select, 'a', 0, 1, 0.5, 2}, {select, 'a', 16, 3, 0.5, 0},
        {ialu, 'i', 0, 1, 0.5, 2},     {ialu, 'i', 16, 3, 0.5, 0},    {imul, 'i', 0, 3, 1, 3},     {imul, 'i', 16, 4, 2, 0},
        {idiv, 'i', 0, 12, 12, 3},     {convert, 'a', 0, 5, 1, 0},    {convert, 'a', 16, 4, 1, 0}, {shuffle, 'a', 0, 3, 0.5, 0},
        {shuffle, 'a', 16, 3, 0.5, 0}, {load, 'i', 0, 4, 1, 4},       {load, 'f', 0, 5, 1, 4},     {load, 'a', 16, 5, 1, 4},
        {store, 'a', 0, 1, 1, 5},      {store, 'a', 16, 2, 2, 5},     {branch, 'i', 0, 1, 1, 6},
    });
    detail::add_preset_costs(m, table);
    return m;
}

/// The names of the presets.
inline constexpr std::array<std::string_view, 4> machine_preset_names{"xeon-gold-5220r", "epyc-7763", "epyc-zen4", "cortex-a72"};
/// Returns the preset of a name. Errors: not_found, which lists the names.
[[nodiscard]] inline result<machine> machine_preset(std::string_view name) {
    if (name == machine_preset_names[0]) return xeon_gold_5220r();
    if (name == machine_preset_names[1]) return epyc_7763();
    if (name == machine_preset_names[2]) return epyc_zen4();
    if (name == machine_preset_names[3]) return cortex_a72();
    return error{errc::not_found,
                 "no machine '" + std::string(name.substr(0, 40)) + "', there are xeon-gold-5220r, epyc-7763, epyc-zen4, cortex-a72"};
}

} // namespace augur::inline v0

#endif
