// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_FEATURES_NEST_TARGET_HPP
#define AUGUR_LOOPNEST_FEATURES_NEST_TARGET_HPP

/// @file
/// Machine parameters of the loop-nest features: cores, vector lanes, cache sizes and line costs.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// Machine parameters of the features; all are above 0, and `line_bytes` is at least 4, a float. The default is a server with 24 cores and a compiler
/// without AVX, as for TVM's public CPU logs. The features of one model must all use the same target, or each the target of its log.
struct nest_target {
    double cores = 24;                                        ///< cores that execute the parts of a parallel loop
    double vector_lanes = 4;                                  ///< float lanes of the vectors that the compiler uses
    double line_bytes = 64;                                   ///< cache line size in bytes
    std::array<double, 3> cache_bytes{32768, 1 << 20, 1.4e6}; ///< capacity of each level available to one core, L1 first
    std::array<double, 3> line_cycles{4, 12, 40};             ///< cycles in which one core fetches a line from behind each level

    /// The target of a log line. Cache sizes and line costs are the default ones, and so is a number that the log does not have.
    [[nodiscard]] static nest_target make(const hardware_params& h) noexcept {
        nest_target t;
        t.cores = static_cast<double>((std::max)(h.num_cores, std::int64_t{1}));
        t.vector_lanes = static_cast<double>((std::max)(h.vector_unit_bytes / 4, std::int64_t{1}));
        if (h.cache_line_bytes >= 4) t.line_bytes = static_cast<double>(h.cache_line_bytes);
        return t;
    }
    /// The target of a machine; unknown parameters keep their default. The capacity of a shared cache is divided evenly among its cores; processors
    /// that share an L1 cache count as one core. A missing level gets the capacity of the level before it.
    [[nodiscard]] static nest_target make(const machine& m, int threads = 0) noexcept {
        nest_target t = make(m.hardware(threads));
        const auto* first = m.cache(1);
        const double together = first == nullptr ? 1 : (std::max)(first->sharers, 1);
        for (std::size_t i = 0; i < t.cache_bytes.size(); ++i) {
            const auto level = static_cast<int>(i) + 1;
            if (const auto* c = m.cache(level); c != nullptr && c->bytes > 0)
                t.cache_bytes[i] = static_cast<double>(c->bytes) / (std::max)(c->sharers / together, 1.0);
            else if (i > 0 && first != nullptr) t.cache_bytes[i] = t.cache_bytes[i - 1];
            const auto* next_level = m.cache(level + 1);
            if (next_level != nullptr && next_level->bytes_per_cycle > 0) t.line_cycles[i] = t.line_bytes / next_level->bytes_per_cycle;
            if (next_level == nullptr && m.memory.core_bytes_per_second > 0 && m.clock_hz > 0)
                t.line_cycles[i] = t.line_bytes * m.clock_hz / m.memory.core_bytes_per_second;
        }
        return t;
    }
};

} // namespace augur::inline v0::loopnest

#endif
