// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_DETAIL_UOPS_TABLE_HPP
#define AUGUR_TARGET_DETAIL_UOPS_TABLE_HPP

/// @file
/// The tables of uops.info as they are read: cores, the instruction that stands for each class, and its entry.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::detail {

/// How a core's table splits the store-to-load round trip into a latency of the store (register to memory) and a latency of the load (memory to
/// register). Only the round trip can be measured, neither part alone.
enum class uops_trip : std::uint8_t {
    whole, ///< each latency is an upper bound: the round trip minus 1 cycle, the minimum of the other part
    parts  ///< the two latencies add up to the round trip
};

/// A core in the tables of uops.info; issue width and window as in uiCA (microArchConfigs.py).
struct uops_core {
    std::string_view name, text;
    int issue_width, window;
    std::int64_t vector_bytes;
    uops_trip trip;
};
inline constexpr std::array<uops_core, 10> uops_cores{{{"SNB", "Sandy Bridge", 4, 168, 32, uops_trip::whole},
                                                       {"IVB", "Ivy Bridge", 4, 168, 32, uops_trip::whole},
                                                       {"HSW", "Haswell", 4, 192, 32, uops_trip::whole},
                                                       {"BDW", "Broadwell", 4, 192, 32, uops_trip::whole},
                                                       {"SKL", "Skylake", 4, 224, 32, uops_trip::parts},
                                                       {"SKX", "Skylake-X", 4, 224, 64, uops_trip::parts},
                                                       {"CLX", "Cascade Lake", 4, 224, 64, uops_trip::parts},
                                                       {"ICL", "Ice Lake", 5, 352, 64, uops_trip::parts},
                                                       {"TGL", "Tiger Lake", 5, 352, 64, uops_trip::parts},
                                                       {"RKL", "Rocket Lake", 5, 352, 64, uops_trip::parts}}};

/// The x86 instruction that represents an instruction class. Placeholders: * is S or D for floats, D or Q for integers; # is a vector register; ~ is
/// a vector register of half the size (at least XMM); & is the number of bits of an element; @ is the number of bits of the vector. If several rows
/// apply, the first one that is in the table counts.
struct uops_row {
    instruction_class op;
    char kind; ///< 'f' f32 and f64, 'i' i32 and i64, or the one of 's' f32, 'd' f64, 'w' i32, 'q' i64
    bool vector;
    std::string_view text;
};
inline constexpr auto uops_rows = std::to_array<uops_row>({
    {instruction_class::fadd, 'f', false, "VADDS* (XMM, XMM, XMM)"},
    {instruction_class::fadd, 'f', true, "VADDP* (#, #, #)"},
    {instruction_class::fmul, 'f', false, "VMULS* (XMM, XMM, XMM)"},
    {instruction_class::fmul, 'f', true, "VMULP* (#, #, #)"},
    {instruction_class::fma, 'f', false, "VFMADD231S* (XMM, XMM, XMM)"},
    {instruction_class::fma, 'f', true, "VFMADD231P* (#, #, #)"},
    {instruction_class::fdiv, 'f', false, "VDIVS* (XMM, XMM, XMM)"},
    {instruction_class::fdiv, 'f', true, "VDIVP* (#, #, #)"},
    {instruction_class::fsqrt, 'f', false, "VSQRTS* (XMM, XMM, XMM)"},
    {instruction_class::fsqrt, 'f', true, "VSQRTP* (#, #)"},
    {instruction_class::fminmax, 'f', false, "VMAXS* (XMM, XMM, XMM)"},
    {instruction_class::fminmax, 'f', true, "VMAXP* (#, #, #)"},
    {instruction_class::compare, 'f', true, "VCMPP* (K, #, #, I8)"},
    {instruction_class::compare, 'f', true, "VCMPP* (#, #, #, I8)"},
    {instruction_class::compare, 'i', false, "CMP_39 (R&, R&)"},
    {instruction_class::compare, 'i', true, "VPCMP* (K, #, #, I8)"},
    {instruction_class::compare, 'i', true, "VPCMPGT* (#, #, #)"},
    {instruction_class::select, 'f', true, "VBLENDMP* (#, K, #, #)"},
    {instruction_class::select, 'f', true, "VBLENDVP* (#, #, #, #)"},
    {instruction_class::select, 'i', false, "CMOVZ (R&, R&)"},
    {instruction_class::select, 'i', true, "VPBLENDM* (#, K, #, #)"},
    {instruction_class::select, 'i', true, "VPBLENDVB (#, #, #, #)"},
    {instruction_class::ialu, 'i', false, "ADD_01 (R&, R&)"},
    {instruction_class::ialu, 'i', true, "VPADD* (#, #, #)"},
    {instruction_class::imul, 'i', false, "IMUL (R&, R&)"},
    {instruction_class::imul, 'i', true, "VPMULL* (#, #, #)"},
    {instruction_class::idiv, 'i', false, "IDIV (R&)"},
    {instruction_class::convert, 's', false, "VCVTSI2SS (XMM, XMM, R32)"},
    {instruction_class::convert, 's', true, "VCVTDQ2PS (#, #)"},
    {instruction_class::convert, 'd', false, "VCVTSS2SD (XMM, XMM, XMM)"},
    {instruction_class::convert, 'd', true, "VCVTPS2PD (#, ~)"},
    {instruction_class::convert, 'w', false, "VCVTTSS2SI (R32, XMM)"},
    {instruction_class::convert, 'w', true, "VCVTTPS2DQ (#, #)"},
    {instruction_class::convert, 'q', true, "VPMOVSXDQ (#, ~)"},
    {instruction_class::shuffle, 'f', true, "VPERMP* (#, #, #)"},
    {instruction_class::shuffle, 'd', true, "VPERMPD (#, #, I8)"},
    {instruction_class::shuffle, 'f', true, "VPERMILP* (#, #, I8)"},
    {instruction_class::shuffle, 'i', true, "VPERM* (#, #, #)"},
    {instruction_class::shuffle, 'q', true, "VPERMQ (#, #, I8)"},
    {instruction_class::shuffle, 'i', true, "VPSHUFD (#, #, I8)"},
    {instruction_class::load, 'f', false, "VMOVS* (XMM, M&)"},
    {instruction_class::load, 'f', true, "VMOVUP* (#, M@)"},
    {instruction_class::load, 'i', false, "MOV (R&, M&)"},
    {instruction_class::load, 'i', true, "VMOVDQU& (#, M@)"},
    {instruction_class::load, 'i', true, "VMOVDQU (#, M@)"},
    {instruction_class::store, 'f', false, "VMOVS* (M&, XMM)"},
    {instruction_class::store, 'f', true, "VMOVUP* (M@, #)"},
    {instruction_class::store, 'i', false, "MOV (M&, R&)"},
    {instruction_class::store, 'i', true, "VMOVDQU& (M@, #)"},
    {instruction_class::store, 'i', true, "VMOVDQU (M@, #)"},
    {instruction_class::gather, 's', true, "VGATHERDPS (#, K, VSIB_#)"},
    {instruction_class::gather, 's', true, "VGATHERDPS (#, VSIB_#, #)"},
    {instruction_class::gather, 'd', true, "VGATHERQPD (#, K, VSIB_#)"},
    {instruction_class::gather, 'd', true, "VGATHERQPD (#, VSIB_#, #)"},
    {instruction_class::scatter, 's', true, "VSCATTERDPS (VSIB_#, K, #)"},
    {instruction_class::scatter, 'd', true, "VSCATTERQPD (VSIB_#, K, #)"},
    {instruction_class::branch, 'q', false, "JNZ (Rel8)"},
});

/// Replaces the placeholders of a row for one element type and vector size in bytes.
inline std::string uops_text(std::string_view text, element_type t, std::int64_t bytes) {
    const auto reg = [](std::int64_t b) { return b == 64 ? "ZMM" : b == 32 ? "YMM" : "XMM"; };
    std::string out;
    for (const char c : text) {
        if (c == '*') out += t == element_type::f32 ? 'S' : t == element_type::f64 || t == element_type::i32 ? 'D' : 'Q';
        else if (c == '#') out += reg(bytes);
        else if (c == '~') out += reg(bytes / 2);
        else if (c == '&') out += std::to_string(8 * bytes_of(t));
        else if (c == '@') out += std::to_string(8 * bytes);
        else out += c;
    }
    return out;
}

/// An instruction to look up, and the class that it represents.
struct uops_wanted {
    instruction_class op;
    element_type type;
    std::int64_t lanes;
    std::string text;
    std::int64_t place = -1; ///< index in perfData; -1: not in the table
};
inline std::vector<uops_wanted> uops_wanted_of(const uops_core& core) {
    std::vector<uops_wanted> list;
    for (const auto& r : uops_rows)
        for (const auto t : {element_type::f32, element_type::f64, element_type::i32, element_type::i64}) {
            const char kind = t == element_type::f32 ? 's' : t == element_type::f64 ? 'd' : t == element_type::i32 ? 'w' : 'q';
            if (r.kind != kind && r.kind != (is_float(t) ? 'f' : 'i')) continue;
            for (std::int64_t bytes = 16; bytes <= (r.vector ? core.vector_bytes : 16); bytes *= 2)
                list.push_back({r.op, t, r.vector ? bytes / bytes_of(t) : 1, uops_text(r.text, t, bytes)});
        }
    return list;
}

/// The table entry of one instruction.
struct uops_entry {
    double latency = 0;
    double divider = 0;                                 ///< cycles that the divider is busy
    double extra_limit = 0;                             ///< the throughput field "TP": a further lower bound in cycles
    double forward = 0;                                 ///< latency in cycles of a store (register to memory) or of a load (memory to register)
    std::vector<std::pair<std::uint32_t, double>> uops; ///< a set of ports (one bit each); the number of micro-operations that use one of them
};

/// The bit set of a list of ports. Ports 0 to 9 are digits, ports from 10 are letters from A.
inline std::uint32_t uops_ports(std::string_view text) noexcept {
    std::uint32_t bits = 0;
    for (const char c : text) bits |= c >= '0' && c <= '9' ? 1U << (c - '0') : c >= 'A' && c <= 'P' ? 1U << (c - 'A' + 10) : 0U;
    return bits;
}

inline uops_entry read_uops_entry(json_reader& in) {
    uops_entry e;
    std::string_view key, name;
    if (in.peek() == json_kind::null) return in.read_null(), e;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "divC") {
            in.read(e.divider);
        } else if (key == "TP") {
            in.read(e.extra_limit);
        } else if (key == "ports") {
            in.begin_object();
            while (in.next_member(name)) {
                auto& u = e.uops.emplace_back(uops_ports(name), 0);
                if (u.first == 0) in.fail(errc::parse, "expected a set of ports, got '" + std::string(name.substr(0, 40)) + "'");
                in.read(u.second);
            }
        } else if (key == "lat") { // latency: maximum over registers and addresses; a memory operand's value counts in `forward`
            in.begin_object();
            while (in.next_member(name)) {
                const bool memory_value = name.ends_with("|mem"), into_memory = name.starts_with("REG") && name.ends_with("|MEM0");
                double cycles = 0;
                if (!in.read(cycles)) continue;
                if (memory_value || into_memory) e.forward = (std::max)(e.forward, cycles);
                if (!memory_value) e.latency = (std::max)(e.latency, cycles);
            }
        } else {
            in.skip();
        }
        if (!in.ok()) break;
    }
    if (e.uops.size() > 16) in.fail(errc::limit, "more than 16 sets of ports");
    for (const auto& [ports, count] : e.uops)
        if (!(count >= 0 && count <= 1e6)) in.fail(errc::invalid_argument, "micro-operations: expected 0 to 1000000");
    if (!(e.latency >= 0 && e.latency <= 1e5 && e.divider >= 0 && e.divider <= 1e5 && e.extra_limit >= 0 && e.extra_limit <= 1e5 && e.forward >= 0 &&
          e.forward <= 1e4))
        in.fail(errc::invalid_argument, "cycles: expected 0 to 100000");
    return e;
}

/// The reciprocal throughput in cycles, and the set of ports that limits it. Each port executes at most one micro-operation per cycle, so every set
/// of ports gives a lower bound.
inline std::pair<double, std::uint32_t> uops_throughput(const uops_entry& e) {
    std::pair<double, std::uint32_t> worst{0, 0};
    for (std::uint32_t subset = 1; subset < 1U << e.uops.size(); ++subset) {
        std::uint32_t ports = 0;
        double count_inside = 0;
        for (std::size_t i = 0; i < e.uops.size(); ++i)
            if ((subset >> i & 1U) != 0) ports |= e.uops[i].first;
        for (const auto& [set, count] : e.uops)
            if ((set & ~ports) == 0) count_inside += count;
        if (const double cycles = count_inside / std::popcount(ports); cycles > worst.first) worst = {cycles, ports};
    }
    return worst;
}

using uops_entries = std::map<std::int64_t, uops_entry>; ///< by index in perfData

/// Reads "instrData": sets the perfData index of the instructions in `list`, and adds an empty entry for each.
inline void read_uops_instructions(json_reader& in, std::vector<uops_wanted>& list, uops_entries& entries) {
    std::multimap<std::string_view, uops_wanted*> by_text;
    for (auto& w : list) by_text.emplace(w.text, &w);
    std::string_view name;
    in.begin_object();
    while (in.next_member(name)) {
        in.begin_array();
        while (in.next_element()) {
            std::string text;
            std::int64_t place = -1;
            in.begin_object();
            while (in.next_member(name)) {
                if (name == "string") in.read(text);
                else if (name == "perfData") in.read(place);
                else in.skip();
            }
            const auto [first, last] = by_text.equal_range(text);
            for (auto at = first; at != last; ++at)
                if (at->second->place < 0) at->second->place = place, entries[place];
        }
    }
}

/// Reads "perfData" into the entries.
inline void read_uops_costs(json_reader& in, uops_entries& entries) {
    in.begin_array();
    for (std::int64_t i = 0; in.next_element(); ++i) {
        const auto at = entries.find(i);
        if (at == entries.end()) in.skip();
        else at->second = read_uops_entry(in);
    }
}

/// Reads the file of one architecture; keeps the entries of the instructions in `list`.
inline result<uops_entries> read_uops_table(std::string_view text, std::vector<uops_wanted>& list) {
    json_reader in(text, {std::size_t{64} << 20U, 4096, 16});
    uops_entries entries;
    std::string_view key;
    bool instructions = false, costs = false;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "instrData") {
            instructions = true;
            read_uops_instructions(in, list, entries);
        } else if (key == "perfData") {
            if (!instructions) in.fail(errc::parse, "expected \"instrData\" before \"perfData\"");
            costs = true;
            read_uops_costs(in, entries);
        } else {
            in.skip();
        }
    }
    if (in.ok() && !costs) in.fail(errc::parse, "expected \"instrData\" and \"perfData\"");
    if (!in.finish()) return error{in.error().code, "uops.info: " + in.error().detail};
    return entries;
}

} // namespace augur::inline v0::detail

#endif
