// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_UOPS_INFO_HPP
#define AUGUR_TARGET_UOPS_INFO_HPP

/// @file
/// Imports instruction costs from the tables of uops.info (Abel, Reineke 2019), in uiCA's format: one JSON file per architecture.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/target/detail/uops_table.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

namespace detail {

/// The properties of a core that are known without its table.
inline machine uops_machine(const uops_core& core) {
    machine m;
    m.architecture = "x86_64";
    m.cpu_name = "Intel " + std::string(core.text) + " (uops.info)";
    m.features = core.vector_bytes == 64 ? std::vector<std::string>{"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"}
                 : core.window >= 192    ? std::vector<std::string>{"avx", "avx2", "fma"}
                                         : std::vector<std::string>{"avx"};
    m.vector_bytes = core.vector_bytes;
    m.core.issue_width = core.issue_width;
    m.core.window = core.window;
    return m;
}

/// The index of the unit of this name; adds the unit if there is none.
inline std::size_t uops_unit(machine& m, const std::string& name, int count) {
    for (std::size_t u = 0; u < m.units.size(); ++u)
        if (m.units[u].name == name) return u;
    m.units.push_back({name, count});
    return m.units.size() - 1;
}

/// Adds the cost of one instruction; adds nothing if the instruction is eliminated at register renaming.
inline void add_uops_cost(machine& m, const uops_wanted& w, const uops_entry& e) {
    const auto [cycles, ports] = uops_throughput(e);
    if (cycles <= 0 && e.divider <= 0 && e.extra_limit <= 0) return;
    const bool divides = e.divider > cycles;
    if (!divides && ports == 0) return; // no unit to charge
    std::string unit = divides ? "divider" : "ports ";
    for (unsigned p = 0; !divides && p < 26; ++p)
        if ((ports >> p & 1U) != 0) unit += static_cast<char>(p < 10 ? '0' + p : 'A' + p - 10);
    const bool writes = w.op == instruction_class::store || w.op == instruction_class::scatter;
    m.costs.push_back({w.op, w.type, w.lanes, writes || e.latency <= 0 ? 1 : e.latency, (std::max)({cycles, e.divider, e.extra_limit}),
                       uops_unit(m, unit, divides ? 1 : std::popcount(ports)), provenance::table});
}

/// Store-to-load forwarding latency of an i64 in cycles: the round trip without the store's own latency of 1 cycle. 0: not in the table.
inline double uops_store_forward(const uops_core& core, const std::vector<uops_wanted>& list, const uops_entries& entries) {
    double store = 0, load = 0;
    for (const auto& w : list) {
        const auto at = entries.find(w.place);
        if (at == entries.end() || w.type != element_type::i64 || w.lanes != 1) continue;
        if (w.op == instruction_class::store) store = at->second.forward;
        if (w.op == instruction_class::load) load = at->second.forward;
    }
    if (store <= 0 || load <= 0) return 0;
    const double round_trip = core.trip == uops_trip::whole ? (std::max)(store, load) + 1 : store + load;
    return (std::max)(round_trip - 1, 1.0);
}

} // namespace detail

/// Builds a machine description from the JSON text of one architecture: execution units, instruction costs, issue width, window and store-to-load
/// forwarding latency, all with provenance `table`. The caller sets caches, memory, clock and number of processors; `complete_machine` has defaults.
///
/// A unit is the set of ports that limits an instruction most. Overlapping sets become separate units, so code that uses both is predicted slightly
/// too fast. Stores and scatters have a latency of 1 cycle, because no instruction waits for their result.
/// @param text          {"instrData": {...}, "perfData": [...], ...}
/// @param architecture  "SNB", "IVB", "HSW", "BDW", "SKL", "SKX", "CLX", "ICL", "TGL", "RKL"
/// @note errors: not_found (an unknown architecture, or none of the instructions is in the table); parse, limit and invalid_argument, each with line
///       and column. Takes about 50 ms
[[nodiscard]] inline result<machine> import_uops_info(std::string_view text, std::string_view architecture) {
    const auto core = std::find_if(detail::uops_cores.begin(), detail::uops_cores.end(), [&](const auto& c) { return c.name == architecture; });
    if (core == detail::uops_cores.end()) {
        std::string names;
        for (const auto& c : detail::uops_cores) names.append(names.empty() ? "" : ", ").append(c.name);
        return error{errc::not_found, "uops.info: expected an architecture of " + names + ", got '" + std::string(architecture.substr(0, 40)) + "'"};
    }
    auto list = detail::uops_wanted_of(*core);
    const auto entries = detail::read_uops_table(text, list);
    if (!entries) return entries.error();
    machine m = detail::uops_machine(*core);
    for (const auto& w : list) {
        const auto at = entries->find(w.place);
        const bool known = std::any_of(m.costs.begin(), m.costs.end(),
                                       [&](const instruction_cost& c) { return c.op == w.op && c.type == w.type && c.lanes == w.lanes; });
        if (at != entries->end() && !known) detail::add_uops_cost(m, w, at->second);
    }
    m.core.store_forward = detail::uops_store_forward(*core, list, *entries);
    if (m.costs.empty()) return error{errc::not_found, "uops.info: none of the " + std::to_string(list.size()) + " instructions is in this table"};
    return m;
}

} // namespace augur::inline v0

#endif
