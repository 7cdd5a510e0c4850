// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_REGISTER_TRAFFIC_HPP
#define AUGUR_PROGRAM_PIPELINE_REGISTER_TRAFFIC_HPP

/// @file
/// Spill code and vector legalisation of a basic block: loads, stores and shuffles that a code generator adds because the register file is finite.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <augur/program/graph/graphlet.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

/// The vector register file of a machine.
struct register_file {
    std::uint32_t count = 16;
    std::uint32_t bytes = 16; ///< bytes of one register

    static register_file make(const machine& m) noexcept {
        return {static_cast<std::uint32_t>(m.vector_registers()), static_cast<std::uint32_t>(m.vector_bytes)};
    }
};

/// Appends the spill and legalisation instructions of a block; nullopt when there are none. The new instructions stand at the end and have no
/// operands: they take issue slots and units, not latency.
///
/// A value that is live into the block (a `move` that folds away, of floats or vectors) occupies registers for the whole block. A value without a
/// free register is reloaded, and also stored when the block changes it. A vector that needs more than one register and whose number of lanes is not
/// a power of two is passed between blocks lane by lane, as LLVM does it (TargetLoweringBase::getVectorTypeBreakdown): it is assembled before its
/// use, and split again when the block changes it.
/// @param changed  (V) 1 where the value changes between executions of the block (a carried phi), 0 where it is loop-invariant
/// @note O(V)
[[nodiscard]] inline std::optional<graphlet> with_register_traffic(const graphlet& code, std::span<const std::uint8_t> changed,
                                                                   const register_file& registers) {
    constexpr std::uint32_t for_results = 2; // registers reserved for temporaries
    std::uint64_t held = 0, constant = 0, together = 0, apart = 0;
    for (std::uint32_t v = 0; v < code.size(); ++v) {
        const auto& i = code[v];
        if (i.op != instruction_class::move || i.fold != fold_hint::always || i.type == element_type::i1) continue;
        if (i.lanes == 1 && !is_float(i.type)) continue;
        const std::uint64_t lanes = std::bit_ceil(std::uint64_t{i.lanes}), bytes = lanes * static_cast<std::uint64_t>(bytes_of(i.type));
        std::uint64_t taken = (bytes + registers.bytes - 1) / registers.bytes;
        if (lanes != i.lanes && taken > 1) {
            taken = i.lanes;
            together += i.lanes;
            apart += changed[v] != 0 ? i.lanes : 0;
        }
        held += taken;
        constant += changed[v] != 0 ? 0 : taken;
    }
    const std::uint64_t room = registers.count > for_results ? registers.count - for_results : 0;
    const std::uint64_t loads = held > room ? held - room : 0, stores = loads > constant ? loads - constant : 0;
    if (loads + together == 0) return std::nullopt;

    std::vector<instruction> values(code.values().begin(), code.values().end());
    std::vector<graphlet::new_edge> edges;
    edges.reserve(code.edge_count());
    for (std::uint32_t e = 0; e < code.edge_count(); ++e) edges.push_back({code.edge(e).source, code.edge(e).target, {}});
    constexpr std::uint64_t most = 65536; // limit for each kind of instruction
    const auto add = [&](std::uint64_t n, instruction i) { values.insert(values.end(), static_cast<std::size_t>((std::min)(n, most)), i); };
    constexpr auto f32 = element_type::f32;
    add(loads, {instruction_class::load, f32, fold_hint::operand, 1});
    add(together + apart, {instruction_class::shuffle, f32, fold_hint::none, 4});
    add(stores, {instruction_class::store, f32, fold_hint::none, 1});
    return graphlet(std::move(values), std::move(edges));
}

} // namespace augur::inline v0

#endif
