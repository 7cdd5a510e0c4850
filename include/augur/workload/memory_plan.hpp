// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_MEMORY_PLAN_HPP
#define AUGUR_WORKLOAD_MEMORY_PLAN_HPP

/// @file
/// One arena for buffers that do not live at the same time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// A buffer and the steps during which its contents are needed, both ends included.
struct buffer_lifetime {
    std::int64_t bytes = 0;
    std::size_t first = 0, last = 0;
};

/// Where each buffer lies in the arena.
struct memory_plan {
    std::vector<std::int64_t> offsets; ///< one a buffer, in bytes
    std::int64_t bytes = 0;            ///< of the arena
};

/// Places buffers so that no two that live at the same time overlap. The largest one comes first; each takes the tightest gap that it fits into between
/// those placed before that live when it does, else the end.
///
/// @param alignment  of every offset, in bytes
/// @return           the same plan for the same buffers, on every machine
/// Cost    quadratic in the number of buffers
/// Source  Pisarchyk, Lee: Efficient memory management for deep neural net inference (2020), section 5.2, greedy by size for offset calculation
[[nodiscard]] inline memory_plan plan_memory(std::span<const buffer_lifetime> buffers, std::int64_t alignment = 64) {
    AUGUR_ASSERT(alignment > 0, "plan_memory: an alignment");
    const auto aligned = [&](std::int64_t n) { return (n + alignment - 1) / alignment * alignment; };
    std::vector<std::size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b; });
    memory_plan out;
    out.offsets.assign(buffers.size(), 0);
    std::vector<std::size_t> placed; // by offset
    for (const auto i : order) {
        const auto& b = buffers[i];
        std::int64_t end = 0, best = -1, tightest = 0;
        for (const auto p : placed) {
            if (buffers[p].first > b.last || buffers[p].last < b.first) continue;
            const auto gap = out.offsets[p] - end;
            if (gap >= b.bytes && (best < 0 || gap < tightest)) {
                best = end;
                tightest = gap;
            }
            end = (std::max)(end, aligned(out.offsets[p] + buffers[p].bytes));
        }
        out.offsets[i] = best >= 0 ? best : end;
        out.bytes = (std::max)(out.bytes, out.offsets[i] + b.bytes);
        placed.insert(
            std::upper_bound(placed.begin(), placed.end(), i, [&](std::size_t x, std::size_t y) { return out.offsets[x] < out.offsets[y]; }), i);
    }
    return out;
}

/// The most bytes that live at one step: no plan needs less.
[[nodiscard]] inline std::int64_t live_bytes(std::span<const buffer_lifetime> buffers) {
    std::int64_t most = 0;
    for (const auto& at : buffers) { // the maximum is reached where a buffer begins
        std::int64_t live = 0;
        for (const auto& b : buffers)
            if (b.first <= at.first && at.first <= b.last) live += b.bytes;
        most = (std::max)(most, live);
    }
    return most;
}

} // namespace augur::inline v0

#endif
