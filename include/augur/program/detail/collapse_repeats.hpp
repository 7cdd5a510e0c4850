// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_COLLAPSE_REPEATS_HPP
#define AUGUR_PROGRAM_DETAIL_COLLAPSE_REPEATS_HPP

/// @file
/// Removes repeated accesses to the same line from a trace, before the reuse-distance look-up: their distance is 0.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace augur::inline v0::detail {

inline constexpr std::size_t repeats_block = 1024;

/// Copies `lines` to `kept` without accesses equal to the previous one. Returns `lines` unchanged when a sample has few repeats, because the copy
/// would cost more than it saves. Removed accesses have distance 0. pre: lines.size() <= kept.size()
inline std::span<const std::uint64_t> collapse_repeats(std::span<const std::uint64_t> lines,
                                                       std::array<std::uint64_t, repeats_block>& kept) noexcept {
    constexpr std::size_t sample = 128;
    if (lines.size() < sample) return lines;
    std::size_t repeats = 0;
    for (std::size_t i = 1; i < sample; ++i) repeats += lines[i] == lines[i - 1] ? 1 : 0;
    if (repeats <= sample / 8) return lines;
    std::size_t n = 0;
    std::uint64_t last = ~lines[0];
    for (const std::uint64_t line : lines) {
        kept[n] = line;
        n += line != last ? 1 : 0;
        last = line;
    }
    return {kept.data(), n};
}

} // namespace augur::inline v0::detail

#endif
