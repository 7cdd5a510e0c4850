// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_BHIVE_X86_TEXT_HPP
#define AUGUR_EXAMPLES_PAPERS_BHIVE_X86_TEXT_HPP

/// @file
/// Instructions of x86-64 as a disassembler writes them in Intel's syntax: the mnemonic and its operands.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>

#include "flags.hpp"

namespace examples {

/// Registers by what holds them: eax is a part of rax, xmm0 of zmm0.
enum x86_register : int {
    no_register = -1,
    rax = 0,
    rcx,
    rdx,
    rbx,
    rsp,
    rbp,
    rsi,
    rdi,
    r8,
    vectors = 16,
    masks = 48,
    x87 = 56,
    flags,
    x86_registers
};

struct x86_operand {
    enum class form : std::uint8_t { reg, memory, number };

    form kind = form::number;
    int reg = no_register; ///< no_register also for one that nobody waits for: rip, segments
    int bytes = 0;         ///< of the register, or in memory; 0: the text does not say
    int base = no_register, index = no_register;
    int scale = 1;
    std::int64_t value = 0; ///< the number, or what is added to the address
    bool segment = false;   ///< memory of the thread: fs, gs

    [[nodiscard]] bool is_memory() const noexcept { return kind == form::memory; }
    [[nodiscard]] bool is_register() const noexcept { return kind == form::reg; }
    [[nodiscard]] bool is_vector() const noexcept { return is_register() && reg >= vectors && reg < masks; }
    friend bool operator==(const x86_operand&, const x86_operand&) = default;
};

struct x86_instruction {
    std::string mnemonic;
    std::vector<x86_operand> operands;
};

namespace detail {

inline std::string_view trim(std::string_view s) noexcept {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
}

/// A number behind a prefix: "xmm12" gives 12. -1: it is none, or not below `end`.
inline int numbered(std::string_view text, std::string_view prefix, int end) noexcept {
    if (!text.starts_with(prefix) || text.size() > prefix.size() + 2) return -1;
    const auto n = augur::parse_int(text.substr(prefix.size()));
    return n && *n >= 0 && *n < end ? static_cast<int>(*n) : -1;
}

/// The register of that name as an operand. False: there is none.
inline bool find_register(std::string_view name, x86_operand& out) {
    static constexpr std::array<std::string_view, 8> old{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    static constexpr std::array<std::string_view, 8> low{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"};
    static constexpr std::array<std::string_view, 4> high{"ah", "ch", "dh", "bh"};
    static constexpr std::array<std::string_view, 10> nobody{"rip", "eip", "riz", "eiz", "cs", "ds", "es", "ss", "fs", "gs"};
    const auto is = [&](int reg, int bytes) {
        out.kind = x86_operand::form::reg;
        out.reg = reg;
        out.bytes = bytes;
        return true;
    };
    const auto place = [](const auto& names, std::string_view n) { return std::find(names.begin(), names.end(), n) - names.begin(); };
    for (const auto& [prefix, bytes] : {std::pair("r", 8), std::pair("e", 4), std::pair("", 2)})
        if (name.starts_with(prefix))
            if (const auto i = place(old, name.substr(std::string_view(prefix).size())); i < 8) return is(static_cast<int>(i), bytes);
    if (const auto i = place(low, name); i < 8) return is(static_cast<int>(i), 1);
    if (const auto i = place(high, name); i < 4) return is(static_cast<int>(i), 1);
    if (place(nobody, name) < 10) return is(no_register, 8);
    if (name.size() > 1 && name[0] == 'r') {
        const char last = name.back();
        const int bytes = last == 'd' ? 4 : last == 'w' ? 2 : last == 'b' || last == 'l' ? 1 : 8;
        if (const int n = numbered(name.substr(0, name.size() - (bytes < 8 ? 1 : 0)), "r", 16); n >= 8) return is(n, bytes);
    }
    for (const auto& [prefix, bytes] : {std::pair("xmm", 16), std::pair("ymm", 32), std::pair("zmm", 64)})
        if (const int n = numbered(name, prefix, 32); n >= 0) return is(vectors + n, bytes);
    if (const int n = numbered(name, "k", 8); n >= 0) return is(masks + n, 8);
    if (numbered(name, "mm", 8) >= 0 || name == "st" || name.starts_with("st(")) return is(x87, 8);
    return false;
}

/// A number as disassemblers write it: 0x1f, -0x8, 12; up to 64 bits of any sign.
inline bool read_number(std::string_view text, std::int64_t& out) {
    const bool minus = text.starts_with('-');
    if (minus || text.starts_with('+')) text.remove_prefix(1);
    const int base = text.starts_with("0x") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    std::uint64_t bits = 0;
    const char* const end = text.data() + text.size();
    const auto [at, failure] = std::from_chars(text.data(), end, bits, base);
    if (failure != std::errc{} || at != end) return false;
    out = static_cast<std::int64_t>(minus ? 0 - bits : bits);
    return true;
}

/// What stands between the brackets: registers, one of them scaled, and numbers.
inline bool read_address(std::string_view text, x86_operand& out) {
    std::uint64_t sum = 0;
    while (!text.empty()) {
        const bool minus = text.front() == '-';
        if (minus || text.front() == '+') text.remove_prefix(1);
        const auto term = trim(text.substr(0, text.find_first_of("+-")));
        text.remove_prefix((std::min)(text.size(), text.find_first_of("+-")));
        const auto star = term.find('*');
        x86_operand r;
        if (std::int64_t n = 0; read_number(term, n)) {
            sum += minus ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
        } else if (!minus && find_register(term.substr(0, star), r)) {
            if (star == std::string_view::npos && out.base == no_register) {
                out.base = r.reg;
            } else {
                std::int64_t scale = 1;
                if (star != std::string_view::npos && !read_number(term.substr(star + 1), scale)) return false;
                if (out.index != no_register || (scale != 1 && scale != 2 && scale != 4 && scale != 8)) return false;
                out.index = r.reg;
                out.scale = static_cast<int>(scale);
            }
        } else {
            return false;
        }
    }
    out.value = static_cast<std::int64_t>(sum);
    return true;
}

inline bool read_operand(std::string_view text, x86_operand& out) {
    static constexpr std::array<std::pair<std::string_view, int>, 8> sizes{{{"BYTE PTR ", 1},
                                                                            {"WORD PTR ", 2},
                                                                            {"DWORD PTR ", 4},
                                                                            {"QWORD PTR ", 8},
                                                                            {"TBYTE PTR ", 10},
                                                                            {"XMMWORD PTR ", 16},
                                                                            {"YMMWORD PTR ", 32},
                                                                            {"ZMMWORD PTR ", 64}}};
    for (const auto& [words, bytes] : sizes)
        if (text.starts_with(words)) {
            out.kind = x86_operand::form::memory;
            out.bytes = bytes;
            text = trim(text.substr(words.size()));
            break;
        }
    if (text.size() > 3 && text[2] == ':') {
        out.segment = text.starts_with("fs") || text.starts_with("gs");
        out.kind = x86_operand::form::memory;
        text.remove_prefix(3);
    }
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
        out.kind = x86_operand::form::memory;
        return text.size() > 2 && read_address(text.substr(1, text.size() - 2), out);
    }
    if (read_number(text, out.value)) return true;
    return !out.is_memory() && find_register(text, out);
}

} // namespace detail

/// Reads one instruction. Prefixes that do not change what it computes are left out.
/// @note errors: parse, with the part that is not understood
inline augur::result<x86_instruction> parse_x86(std::string_view text) {
    static constexpr std::array<std::string_view, 12> prefixes{"lock", "cs", "ds", "es",      "ss",     "data16",
                                                               "bnd",  "fs", "gs", "notrack", "addr32", "rex.W"};
    text = detail::trim(text);
    x86_instruction out;
    for (;;) {
        const auto word = text.substr(0, text.find_first_of(" \t"));
        text = detail::trim(text.substr(word.size()));
        out.mnemonic = word;
        if (text.empty() || std::find(prefixes.begin(), prefixes.end(), word) == prefixes.end()) break;
    }
    const bool plain = !out.mnemonic.empty() && std::all_of(out.mnemonic.begin(), out.mnemonic.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    });
    if (!plain) return augur::error{augur::errc::parse, "'" + shown(out.mnemonic) + "' is no instruction"};
    for (bool more = !text.empty(); more;) {
        const auto one = text.substr(0, text.find(',')); // no comma stands inside an address
        more = one.size() < text.size();
        text.remove_prefix(one.size() + (more ? 1 : 0));
        const auto operand = detail::trim(one.substr(0, one.find('{'))); // masks of AVX-512 are passed over
        if (!detail::read_operand(operand, out.operands.emplace_back()))
            return augur::error{augur::errc::parse, "'" + shown(operand) + "' is no operand"};
    }
    return out;
}

} // namespace examples

#endif
