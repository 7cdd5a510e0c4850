// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_BHIVE_X86_CLASSES_HPP
#define AUGUR_EXAMPLES_PAPERS_BHIVE_X86_CLASSES_HPP

/// @file
/// What x86 instructions do, in Crop's words: class, element type, and which operands they read and write.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <augur/target/machine_instructions.hpp>

namespace examples {

/// What happens to the first operand; the others are read.
enum class x86_shape : std::uint8_t { writes, updates, reads };

/// What an instruction does, its operands aside.
struct x86_meaning {
    augur::instruction_class op = augur::instruction_class::unknown;
    char kind = 'g'; ///< 'g' integer as wide as the operand, 's' f32 and 'd' f64 scalars, 'S' 'D' vectors of these, 'I' vector of i32
    x86_shape shape = x86_shape::updates;
    bool sets_flags = false, needs_flags = false;
    bool copies = false; ///< one operand to the other: a load, a store or, between registers, a name
    bool both = false;   ///< of a copy: the rest of the register stays
};

namespace detail {

struct x86_row {
    std::string_view name;
    x86_meaning meaning;
};

inline constexpr auto x86_rows = [] {
    using enum augur::instruction_class;
    using enum x86_shape;
    return std::to_array<x86_row>({
        {"mov", {ialu, 'g', writes, false, false, true}},
        {"movabs", {ialu, 'g', writes, false, false, true}},
        {"movzx", {ialu, 'g', writes, false, false, true}},
        {"movsx", {ialu, 'g', writes}},
        {"movsxd", {ialu, 'g', writes}},
        {"lea", {ialu, 'g', writes}},
        {"add", {ialu, 'g', updates, true}},
        {"sub", {ialu, 'g', updates, true}},
        {"adc", {ialu, 'g', updates, true, true}},
        {"sbb", {ialu, 'g', updates, true, true}},
        {"and", {ialu, 'g', updates, true}},
        {"or", {ialu, 'g', updates, true}},
        {"xor", {ialu, 'g', updates, true}},
        {"not", {ialu, 'g', updates}},
        {"neg", {ialu, 'g', updates, true}},
        {"inc", {ialu, 'g', updates, true}},
        {"dec", {ialu, 'g', updates, true}},
        {"shl", {ialu, 'g', updates, true}},
        {"sal", {ialu, 'g', updates, true}},
        {"shr", {ialu, 'g', updates, true}},
        {"sar", {ialu, 'g', updates, true}},
        {"rol", {ialu, 'g', updates, true}},
        {"ror", {ialu, 'g', updates, true}},
        {"shlx", {ialu, 'g', writes}},
        {"shrx", {ialu, 'g', writes}},
        {"sarx", {ialu, 'g', writes}},
        {"rorx", {ialu, 'g', writes}},
        {"andn", {ialu, 'g', writes, true}},
        {"bswap", {ialu, 'g', updates}},
        {"cmp", {compare, 'g', reads, true}},
        {"test", {compare, 'g', reads, true}},
        {"bt", {compare, 'g', reads, true}},
        {"bts", {ialu, 'g', updates, true}},
        {"btr", {ialu, 'g', updates, true}},
        {"imul", {imul, 'g', updates, true}},
        // Intel has one port for these, the multiplier's, and its time
        {"shld", {imul, 'g', updates, true}},
        {"shrd", {imul, 'g', updates, true}},
        {"bsr", {imul, 'g', updates, true}},
        {"bsf", {imul, 'g', updates, true}},
        {"tzcnt", {imul, 'g', writes, true}}, // Skylake's wait for the operands they read alone, its popcnt for the register it writes as well
        {"lzcnt", {imul, 'g', writes, true}},
        {"popcnt", {imul, 'g', updates, true}},
        {"nop", {move, 'g', reads}},
        {"endbr64", {move, 'g', reads}},
        {"vzeroupper", {move, 'g', reads}},
        {"prefetcht0", {load, 'g', reads}},
        {"prefetcht1", {load, 'g', reads}},
        {"prefetcht2", {load, 'g', reads}},
        {"prefetchnta", {load, 'g', reads}},
        {"prefetchw", {load, 'g', reads}},
        {"jmp", {branch, 'g', reads}},
        {"movss", {shuffle, 's', updates, false, false, true, true}},
        {"movsd", {shuffle, 'd', updates, false, false, true, true}},
        {"movaps", {ialu, 'S', writes, false, false, true}},
        {"movups", {ialu, 'S', writes, false, false, true}},
        {"movapd", {ialu, 'D', writes, false, false, true}},
        {"movupd", {ialu, 'D', writes, false, false, true}},
        {"movdqa", {ialu, 'I', writes, false, false, true}},
        {"movdqu", {ialu, 'I', writes, false, false, true}},
        {"lddqu", {ialu, 'I', writes, false, false, true}},
        {"movntps", {ialu, 'S', writes, false, false, true}},
        {"movntdq", {ialu, 'I', writes, false, false, true}},
        {"movd", {shuffle, 'I', writes, false, false, true, true}},
        {"movq", {shuffle, 'I', writes, false, false, true, true}},
        {"movddup", {shuffle, 'D', writes, false, false, true, true}},
        {"movlps", {shuffle, 'S', updates}},
        {"movhps", {shuffle, 'S', updates}},
        {"movlpd", {shuffle, 'D', updates}},
        {"movhpd", {shuffle, 'D', updates}},
        {"movlhps", {shuffle, 'S', updates}},
        {"movhlps", {shuffle, 'S', updates}},
        {"broadcastss", {shuffle, 'S', writes, false, false, true, true}},
        {"broadcastsd", {shuffle, 'D', writes, false, false, true, true}},
        {"extractf128", {shuffle, 'S', writes}},
        {"insertf128", {shuffle, 'S', writes}},
        {"extracti128", {shuffle, 'I', writes}},
        {"inserti128", {shuffle, 'I', writes}},
        {"perm2f128", {shuffle, 'S', writes}},
        {"perm2i128", {shuffle, 'I', writes}},
    });
}();

/// Arithmetic with a suffix: ss, sd, ps or pd.
inline constexpr auto x86_float_rows = [] {
    using enum augur::instruction_class;
    using enum x86_shape;
    return std::to_array<x86_row>({
        {"add", {fadd}},
        {"sub", {fadd}},
        {"addsub", {fadd}},
        {"mul", {fmul}},
        {"div", {fdiv}},
        {"max", {fminmax}},
        {"min", {fminmax}},
        {"and", {ialu}},
        {"andn", {ialu}},
        {"or", {ialu}},
        {"xor", {ialu}},
        {"shuf", {shuffle}},
        {"unpckl", {shuffle}},
        {"unpckh", {shuffle}},
        {"hadd", {reduce}},
        {"hsub", {reduce}},
        {"blend", {ialu}},
        {"blendv", {select}},
        {"rcp", {fmul, 'g', writes}},
        {"rsqrt", {fmul, 'g', writes}},
        {"sqrt", {fsqrt, 'g', writes}},
        {"round", {convert, 'g', writes}},
        {"movmsk", {shuffle, 'g', writes}},
        {"permil", {shuffle, 'g', writes}},
        {"perm", {shuffle, 'g', writes}},
        {"extract", {shuffle, 'g', writes}},
        {"insert", {shuffle}},
        {"ucomi", {compare, 'g', reads, true}},
        {"comi", {compare, 'g', reads, true}},
    });
}();

/// Integers in vectors, by how the name begins; the longer name stands first.
inline constexpr auto x86_vector_rows = [] {
    using enum augur::instruction_class;
    using enum x86_shape;
    return std::to_array<x86_row>({
        {"padd", {ialu}},
        {"psub", {ialu}},
        {"pand", {ialu}},
        {"por", {ialu}},
        {"pxor", {ialu}},
        {"pmin", {ialu}},
        {"pmax", {ialu}},
        {"pavg", {ialu}},
        {"psrldq", {shuffle}},
        {"pslldq", {shuffle}},
        {"psrl", {ialu}},
        {"psra", {ialu}},
        {"psll", {ialu}},
        {"pabs", {ialu, 'I', writes}},
        {"psign", {ialu}},
        {"pcmp", {compare}},
        {"ptest", {compare, 'I', reads, true}},
        {"pmulld", {imul}},
        {"pmul", {fmul}},
        {"pmadd", {fmul}},
        {"psad", {fadd}},
        {"pshufd", {shuffle, 'I', writes}},
        {"pshufb", {shuffle}},
        {"pshuf", {shuffle, 'I', writes}},
        {"punpck", {shuffle}},
        {"pack", {shuffle}},
        {"palign", {shuffle}},
        {"pinsr", {shuffle}},
        {"pextr", {shuffle, 'I', writes}},
        {"pmovmskb", {shuffle, 'I', writes}},
        {"pmov", {shuffle, 'I', writes}},
        {"pblend", {ialu}},
        {"pbroadcast", {shuffle, 'I', writes, false, false, true, true}},
        {"perm", {shuffle, 'I', writes}},
    });
}();

inline char suffix_kind(std::string_view two) noexcept {
    return two == "ss" ? 's' : two == "sd" ? 'd' : two == "ps" ? 'S' : two == "pd" ? 'D' : '\0';
}

} // namespace detail

/// What an instruction of that name does; none: nobody has told. A leading v (AVX) does not change it, but writes the first of three operands.
inline std::optional<x86_meaning> x86_meaning_of(std::string_view name) {
    using enum augur::instruction_class;
    const auto find = [](const auto& rows, auto same) -> std::optional<x86_meaning> {
        const auto at = std::find_if(rows.begin(), rows.end(), [&](const detail::x86_row& r) { return same(r.name); });
        if (at == rows.end()) return std::nullopt;
        return at->meaning;
    };
    if (auto m = find(detail::x86_rows, [&](auto row) { return row == name; })) return m;
    if (name.starts_with("cmov")) return x86_meaning{select, 'g', x86_shape::updates, false, true};
    if (name.starts_with("set")) return x86_meaning{select, 'g', x86_shape::updates, false, true};
    if (name.starts_with("j")) return x86_meaning{branch, 'g', x86_shape::reads, false, true};
    if (name.starts_with("v") && name.size() > 1) name.remove_prefix(1);
    if (auto m = find(detail::x86_rows, [&](auto row) { return row == name; })) return m;
    const char suffix = name.size() > 3 ? detail::suffix_kind(name.substr(name.size() - 2)) : '\0';
    if (name.starts_with("fmadd") || name.starts_with("fmsub") || name.starts_with("fnmadd") || name.starts_with("fnmsub"))
        return suffix == '\0' ? std::nullopt : std::optional(x86_meaning{fma, suffix, x86_shape::updates});
    if (name.starts_with("cvt")) {
        const auto two = name.find('2');
        const auto to = two == std::string_view::npos ? std::string_view() : name.substr(two + 1);
        const bool scalar = to == "ss" || to == "sd";
        const char kind = to == "si" ? 'g' : to.ends_with("dq") ? 'I' : to.size() == 2 ? detail::suffix_kind(to) : '\0';
        if (kind == '\0') return std::nullopt;
        return x86_meaning{convert, kind, scalar ? x86_shape::updates : x86_shape::writes};
    }
    if (suffix != '\0') {
        const auto stem = name.substr(0, name.size() - 2);
        auto m = find(detail::x86_float_rows, [&](auto row) { return row == stem; });
        if (!m && stem.starts_with("cmp")) m = x86_meaning{compare};
        if (m) {
            m->kind = m->op == ialu ? 'I' : suffix;
            if (m->op == fsqrt && (suffix == 's' || suffix == 'd')) m->shape = x86_shape::updates; // the rest of the register stays
            return m;
        }
    }
    auto m = find(detail::x86_vector_rows, [&](auto row) { return name.starts_with(row); });
    if (m) m->kind = 'I';
    return m;
}

} // namespace examples

#endif
