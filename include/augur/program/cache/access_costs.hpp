// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_CACHE_ACCESS_COSTS_HPP
#define AUGUR_PROGRAM_CACHE_ACCESS_COSTS_HPP

/// @file
/// Mean latency and bandwidth cost of a memory access, from the hit rates of the cache levels: Equation 6 of Crop for any number of levels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/program/cache/hit_rate.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/program/reuse/profile.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

/// How Equation 6 reads the hit rate P_L2(h), which it multiplies with the misses of L1.
enum class eq6_mode : std::uint8_t {
    paper,       ///< as in the paper: the rate of Equation 5, over all accesses; too high, because it includes the hits of L1
    conditional, ///< the rate over the accesses that L1 missed, (P_L2 - P_L1) / (1 - P_L1); the same at each level
};

namespace detail {
inline result<void> check_cache(const cache_level& cache, std::int64_t line_bytes) {
    const auto name = "cache level " + std::to_string(cache.level);
    if (cache.line_bytes != line_bytes)
        return error{errc::shape_mismatch,
                     name + " has lines of " + std::to_string(cache.line_bytes) + " bytes, the profile is of lines of " + std::to_string(line_bytes)};
    if (cache.ways < 1 || cache.bytes < cache.ways * cache.line_bytes)
        return error{errc::invalid_argument,
                     name + ": expected at least one set, got " + std::to_string(cache.bytes) + " bytes in " + std::to_string(cache.ways) + " ways"};
    return {};
}
} // namespace detail

/// The number of sets of a cache. pre: `bytes`, `line_bytes` and `ways` are known
[[nodiscard]] constexpr std::uint64_t sets_of(const cache_level& cache) noexcept {
    return static_cast<std::uint64_t>(cache.bytes / (cache.line_bytes * cache.ways));
}

/// Hit rate of a cache over all accesses (Equation 5); each line is in a random set.
/// @note errors: shape_mismatch, line sizes differ; invalid_argument, ways or size not known. Cost: 30 ns for each bin in use
[[nodiscard]] inline result<double> hit_rate(const reuse_profile& profile, const cache_level& cache) {
    if (auto fits = detail::check_cache(cache, profile.line_bytes()); !fits) return fits.error();
    return hit_rate(profile, static_cast<std::uint64_t>(cache.ways), static_cast<std::uint64_t>(cache.bytes / cache.line_bytes));
}

/// The exact LRU hit rate, from a profile of the same number of sets. 1 when there is no access.
/// @note errors: also shape_mismatch, for another number of sets or more ways than the profile has
[[nodiscard]] inline result<double> hit_rate(const associativity_profile& profile, const cache_level& cache) {
    if (auto fits = detail::check_cache(cache, profile.line_bytes); !fits) return fits.error();
    if (sets_of(cache) != profile.sets || static_cast<std::size_t>(cache.ways) > profile.hits.size())
        return error{errc::shape_mismatch, "cache level " + std::to_string(cache.level) + " has " + std::to_string(sets_of(cache)) + " sets of " +
                                               std::to_string(cache.ways) + " ways, the profile " + profile.shape()};
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(cache.ways); ++i) hits += profile.hits[i];
    return profile.accesses > 0 ? static_cast<double>(hits) / static_cast<double>(profile.accesses) : 1.0;
}

/// Minimum interval between two accesses, in cycles, due to set conflicts: fills of one set are served one after another. The interval is
/// `set_cycles` of the machine, times the rate of accesses whose line is at no LRU position of the profile, times the share of these fills that go
/// into one set. 0 when the machine has no `set_cycles`. Hits at LRU positions beyond the ways do not count as fills, because caches that only
/// approximate LRU still have many of these lines.
/// pre: the profile has the number of sets and the line size of the cache
[[nodiscard]] inline double cycles_of_sets(const associativity_profile& profile, const cache_level& cache) noexcept {
    if (profile.accesses == 0 || profile.fills == 0) return 0;
    std::uint64_t found = 0;
    for (const auto n : profile.hits) found += n;
    const double far = 1 - static_cast<double>(found) / static_cast<double>(profile.accesses);
    return cache.set_cycles * far * (std::min)(1.0, static_cast<double>(profile.crowded) / static_cast<double>(profile.fills));
}

/// Equation 6: mean cost of an access over the levels of the memory hierarchy.
///
/// With latencies in cycles the result is the mean latency. With cycles per byte it is the mean transfer cost, which PPT uses for the time between
/// two loads (Chennupati et al. 2017: a block of b bytes takes latency + (b - 1) * cycles per byte).
/// @param hit_rates  (levels) of all accesses, from the innermost level outwards, each in [0, 1]
/// @param costs      (levels) cost of a hit in each level
/// @param beyond     cost of an access that misses all levels
[[nodiscard]] inline double average_cost(std::span<const double> hit_rates, std::span<const double> costs, double beyond, eq6_mode mode) {
    AUGUR_ASSERT(hit_rates.size() == costs.size(), "average_cost: a cost for each level");
    double sum = 0, missed = 1, inner = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        double hit = hit_rates[i];
        if (mode == eq6_mode::conditional) { // a level with a lower rate than the inner ones adds no hits
            const double all = (std::max)(inner, hit);
            hit = inner < 1 ? (all - inner) / (1 - inner) : 1;
            inner = all;
        }
        sum += missed * hit * costs[i];
        missed *= 1 - hit;
    }
    return sum + missed * beyond;
}

/// Mean cost of a memory access, in core cycles.
struct access_costs {
    double latency = 0;         ///< cycles from address to value
    double cycles_per_byte = 0; ///< transfer cost; a level of unknown bandwidth counts as 0
};

/// Equation 6 for a machine, for latency and for bandwidth.
/// @param hit_rates  (levels) as in `average_cost`
/// @param threads    number of threads that share the memory bandwidth
/// @note errors: invalid_argument, when the clock or a latency is not known, or a hit rate is not in [0, 1]
[[nodiscard]] inline result<access_costs> memory_access_costs(const machine& m, std::span<const double> hit_rates, eq6_mode mode, int threads = 1) {
    if (hit_rates.size() != m.caches.size())
        return error{errc::invalid_argument,
                     "expected a hit rate for each of " + std::to_string(m.caches.size()) + " cache levels, got " + std::to_string(hit_rates.size())};
    std::vector<double> latency, per_byte;
    for (std::size_t i = 0; i < m.caches.size(); ++i) {
        const auto& c = m.caches[i];
        if (!(c.latency > 0)) return error{errc::invalid_argument, "cache level " + std::to_string(c.level) + ": latency is not known"};
        if (!(hit_rates[i] >= 0 && hit_rates[i] <= 1))
            return error{errc::invalid_argument, "cache level " + std::to_string(c.level) + ": expected a hit rate of 0 to 1"};
        latency.push_back(c.latency);
        per_byte.push_back(c.bytes_per_cycle > 0 ? 1 / c.bytes_per_cycle : 0);
    }
    if (!(m.memory.latency > 0)) return error{errc::invalid_argument, "memory.latency is not known"};
    double bandwidth = m.memory.core_bytes_per_second;
    if (m.memory.bytes_per_second > 0) {
        const double share = m.memory.bytes_per_second / (std::max)(1, threads);
        bandwidth = bandwidth > 0 ? (std::min)(bandwidth, share) : share;
    }
    if (bandwidth > 0 && !(m.clock_hz > 0)) return error{errc::invalid_argument, "clock_hz is not known"};
    return access_costs{average_cost(hit_rates, latency, m.memory.latency, mode),
                        average_cost(hit_rates, per_byte, bandwidth > 0 ? m.clock_hz / bandwidth : 0, mode)};
}

} // namespace augur::inline v0

#endif
