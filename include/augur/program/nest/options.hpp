// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_NEST_OPTIONS_HPP
#define AUGUR_PROGRAM_NEST_OPTIONS_HPP

/// @file
/// Options of `features_of_nest`, and those that fit a machine.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/target/machine.hpp>

namespace augur::inline v0 {

/// Options of `features_of_nest`: how a nest becomes code, and how many of its memory accesses are followed. The defaults are those of a core with
/// AVX-512.
struct nest_options {
    std::size_t registers = 32;           ///< vector registers that may hold values across the iterations of loops
    std::int64_t register_bytes = 64;     ///< bytes of one register
    std::size_t unrolled = 4096;          ///< limit of operations in an unrolled loop with all inside it; a larger loop is not unrolled
    std::uint64_t accesses = 1ULL << 20U; ///< accesses followed one by one in a function; a longer function is sampled by iterations
    std::int64_t line_bytes = 64;         ///< 64 or 128
    bool warm = true;                     ///< the nest has run before on the same buffers, as in a tuner's repeats; else the first accesses are cold
    std::vector<std::uint64_t> sets = {64, 1024, 2048}; ///< set counts with an exact profile, for functions of at most `accesses`

    /// The options for code of machine `m`: its vector registers, the line size of its first cache, and the set counts of its first two caches.
    /// What `m` does not tell keeps its default. Outer caches get no exact profile: most hash addresses to slices, which the profile does not model.
    ///
    /// The features suit every machine for which code with as many registers of this size is generated. pre: none; a line size that is not 64 or 128
    /// is refused by `features_of_nest`.
    [[nodiscard]] static nest_options of(const machine& m) {
        nest_options o;
        o.registers = static_cast<std::size_t>(m.vector_registers());
        o.register_bytes = m.vector_bytes;
        if (!m.caches.empty()) o.line_bytes = m.caches.front().line_bytes;
        std::vector<std::uint64_t> known;
        for (const auto& c : m.caches) {
            if (c.level > 2 || c.ways < 1 || c.line_bytes < 1 || c.line_bytes != o.line_bytes) continue;
            const auto n = c.bytes / c.line_bytes / c.ways;
            if (n > 0 && std::find(known.begin(), known.end(), n) == known.end()) known.push_back(static_cast<std::uint64_t>(n));
        }
        if (!known.empty()) o.sets = std::move(known);
        return o;
    }
};

} // namespace augur::inline v0

#endif
