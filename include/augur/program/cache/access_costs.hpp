// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_CACHE_ACCESS_COSTS_HPP
#define AUGUR_PROGRAM_CACHE_ACCESS_COSTS_HPP

/// @file
/// What a memory access costs on a machine, from how a program reuses its lines: Equation 6 of Crop for any number of cache levels.

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

/// Equation 6 multiplies P_L2(h) with the misses of L1.
enum class eq6_mode : std::uint8_t {
    paper,       ///< and takes it as Equation 5 gives it, for all accesses: too high, for most of those hits are L1's already
    conditional, ///< for those that L1 missed, (P_L2 - P_L1) / (1 - P_L1); so at each level
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

/// Sets of a cache. pre: its size and ways are known
[[nodiscard]] constexpr std::uint64_t sets_of(const cache_level& cache) noexcept {
    return static_cast<std::uint64_t>(cache.bytes / (cache.line_bytes * cache.ways));
}

/// The share of all accesses that a cache has (Equation 5), lines placed at random.
/// @note errors: shape_mismatch, lines of another size; invalid_argument, ways or size not known. Cost: 30 ns for each bin in use
[[nodiscard]] inline result<double> hit_rate(const reuse_profile& profile, const cache_level& cache) {
    if (auto fits = detail::check_cache(cache, profile.line_bytes()); !fits) return fits.error();
    return hit_rate(profile, static_cast<std::uint64_t>(cache.ways), static_cast<std::uint64_t>(cache.bytes / cache.line_bytes));
}

/// The same, exactly: the profile was counted for this number of sets. 1 when there is no access at all.
/// @note errors: also shape_mismatch, another number of sets, or more ways than the profile knows
[[nodiscard]] inline result<double> hit_rate(const associativity_profile& profile, const cache_level& cache) {
    if (auto fits = detail::check_cache(cache, profile.line_bytes); !fits) return fits.error();
    if (sets_of(cache) != profile.sets || static_cast<std::size_t>(cache.ways) > profile.hits.size())
        return error{errc::shape_mismatch, "cache level " + std::to_string(cache.level) + " has " + std::to_string(sets_of(cache)) + " sets of " +
                                               std::to_string(cache.ways) + " ways, the profile " + profile.shape()};
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(cache.ways); ++i) hits += profile.hits[i];
    return profile.accesses > 0 ? static_cast<double>(hits) / static_cast<double>(profile.accesses) : 1.0;
}

/// The time between two accesses, in cycles, below which they do not come when lines for one set have to wait for one another: as often as an access
/// finds its line at none of the profile's places, and as many of these as fall into one set. 0 where the machine does not say how long. Lines that
/// are at a place beyond the ways do not wait: caches that are not quite LRU still have many of them.
/// pre: the profile is of the cache's sets and lines
[[nodiscard]] inline double cycles_of_sets(const associativity_profile& profile, const cache_level& cache) noexcept {
    if (profile.accesses == 0 || profile.fills == 0) return 0;
    std::uint64_t found = 0;
    for (const auto n : profile.hits) found += n;
    const double far = 1 - static_cast<double>(found) / static_cast<double>(profile.accesses);
    return cache.set_cycles * far * (std::min)(1.0, static_cast<double>(profile.crowded) / static_cast<double>(profile.fills));
}

/// Equation 6: the mean of what an access costs that level i has with `hit_rates[i]` (of all accesses, inner to outer) and `costs[i]`, and what is
/// behind them with `beyond`. Latencies in cycles give the mean latency; cycles a byte give the bandwidth twin that PPT takes for the time between
/// two loads (Chennupati et al. 2017: a block of b bytes takes latency + (b - 1) cycles a byte).
/// pre: as many costs as hit rates, each of which is in [0, 1]
[[nodiscard]] inline double average_cost(std::span<const double> hit_rates, std::span<const double> costs, double beyond, eq6_mode mode) {
    AUGUR_ASSERT(hit_rates.size() == costs.size(), "average_cost: a cost for each level");
    double sum = 0, missed = 1, inner = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        double hit = hit_rates[i];
        if (mode == eq6_mode::conditional) { // a level that has less than the one before it has nothing for it
            const double all = (std::max)(inner, hit);
            hit = inner < 1 ? (all - inner) / (1 - inner) : 1;
            inner = all;
        }
        sum += missed * hit * costs[i];
        missed *= 1 - hit;
    }
    return sum + missed * beyond;
}

/// What an access costs on the average, in cycles of the core.
struct access_costs {
    double latency = 0;         ///< from its address to its value
    double cycles_per_byte = 0; ///< that the levels need to hand it over; those whose bandwidth is not known count as nothing
};

/// Both forms of Equation 6 for a machine, `hit_rates` as above, one a level. `threads` share the memory's bandwidth.
/// @note errors: invalid_argument, when the clock, a latency or a hit rate is not known
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
