// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_REGISTER_TRAFFIC_HPP
#define AUGUR_PROGRAM_PIPELINE_REGISTER_TRAFFIC_HPP

/// @file
/// What the values of a block cost because registers are few and have a size: instructions that no program has and every code generator makes.

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

/// The vector registers of a machine.
struct register_file {
    std::uint32_t count = 16;
    std::uint32_t bytes = 16; ///< of each

    /// 32 where they have 64 bytes (AVX-512) and on Arm and RISC-V, else 16.
    static register_file of(const machine& m) noexcept {
        const bool many = m.vector_bytes >= 64 || (m.architecture != "x86_64" && m.architecture != "i686");
        return {many ? 32U : 16U, static_cast<std::uint32_t>(m.vector_bytes)};
    }
};

/// The block with what its registers cost, or none when that is nothing. New instructions come last and depend on nothing: they take room and units.
///
/// Values that come from other blocks (a `move` that folds away, of floats or vectors) take registers from the beginning to the end. Those that do
/// not fit are loaded, and stored as well when the block changes them. A vector whose lanes are no power of two, and too many for one register, goes
/// from block to block lane by lane, as LLVM's code generators do it (TargetLoweringBase::getVectorTypeBreakdown): put together where it is used, and
/// taken apart again when the block changes it.
/// @param changed  (V) is the value another one each time? True of a phi that is carried, false of what stays the same
/// @note O(V)
[[nodiscard]] inline std::optional<graphlet> with_register_traffic(const graphlet& code, std::span<const std::uint8_t> changed,
                                                                   const register_file& registers) {
    constexpr std::uint32_t for_results = 2; // registers that hold what is being computed
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
    constexpr std::uint64_t most = 65536; // of each kind: beyond, the count says no more
    const auto add = [&](std::uint64_t n, instruction i) { values.insert(values.end(), static_cast<std::size_t>((std::min)(n, most)), i); };
    constexpr auto f32 = element_type::f32;
    add(loads, {instruction_class::load, f32, fold_hint::operand, 1});
    add(together + apart, {instruction_class::shuffle, f32, fold_hint::none, 4});
    add(stores, {instruction_class::store, f32, fold_hint::none, 1});
    return graphlet(std::move(values), std::move(edges));
}

} // namespace augur::inline v0

#endif
