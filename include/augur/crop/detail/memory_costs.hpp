// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CROP_DETAIL_MEMORY_COSTS_HPP
#define AUGUR_CROP_DETAIL_MEMORY_COSTS_HPP

/// @file
/// Memory costs of a function on a machine, from its memory profiles: hit rates by cache, mean latency (Eq. 6) and bandwidth.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/crop/prediction.hpp>
#include <augur/program/cache/access_costs.hpp>
#include <augur/program/features.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::crop::detail {

/// Memory costs of a function.
struct memory_costs {
    double extra = 0;           ///< cycles of a load beyond the latency of the first cache, Eq. 6
    double interval = 0;        ///< minimum cycles between two accesses due to bandwidth
    std::vector<double> shares; ///< shares of the accesses by cache level, then memory
};

/// The exact profile for the sets and ways of a cache; null when there is none.
inline const associativity_profile* set_profile_for(const memory_features& m, const cache_level& cache) {
    for (const auto& s : m.sets)
        if (s.line_bytes == cache.line_bytes && s.sets == sets_of(cache) && s.hits.size() >= static_cast<std::size_t>(cache.ways)) return &s;
    return nullptr;
}

/// Hit rate of a cache over all accesses, with `threads` threads on `processors` processors. Errors: those of hit_rate.
inline result<double> thread_hit_rate(const memory_features& m, const cache_level& cache, int processors, int threads, bool set_profiles) {
    // Threads are spread evenly over the instances of a cache.
    const int instances = (std::max)(1, processors / cache.sharers);
    const int together = (std::min)(cache.sharers, (threads + instances - 1) / instances);
    if (together > 1 && m.threads > 1) return hit_rate(m.shared, cache);
    if (set_profiles && together == 1)
        if (const auto* const sets = set_profile_for(m, cache)) return hit_rate(*sets, cache);
    if (together == 1) return hit_rate(m.own, cache);
    // Without a profile of interleaved threads, each thread has an equal part of the cache.
    auto part = cache;
    const auto sets = (std::max)(std::int64_t{1}, static_cast<std::int64_t>(sets_of(cache)) / together);
    part.bytes = sets * cache.ways * cache.line_bytes;
    return hit_rate(m.own, part);
}

/// Minimum cycles between two accesses due to bandwidth. A miss of the first cache transfers a whole line; the load units limit the first cache
/// itself.
/// @param profile  profile of the function; null: every access hits the first cache
/// @param rates    (caches) hit rates
inline result<double> access_interval(const machine& m, const options& o, const memory_features* profile, const std::vector<double>& rates,
                                      int threads) {
    const auto levels = m.caches.size();
    std::vector<double> line_cycles(levels, 0.0);
    for (std::size_t i = 1; i < levels; ++i)
        if (const auto& c = m.caches[i]; c.bytes_per_cycle > 0) line_cycles[i] = static_cast<double>(c.line_bytes) / c.bytes_per_cycle;
    const std::vector<double> none(levels, 0.0);
    const auto far = memory_access_costs(m, none, o.eq6, threads); // cost of an access that misses all caches
    if (!far) return far.error();
    const double interval = average_cost(rates, line_cycles, far->cycles_per_byte * static_cast<double>(m.caches.back().line_bytes), o.eq6);
    const auto* const sets = profile != nullptr && o.set_profiles ? set_profile_for(*profile, m.caches.front()) : nullptr;
    return sets != nullptr ? (std::max)(interval, cycles_of_sets(*sets, m.caches.front())) : interval;
}

/// Memory costs of a function with the profiles `list`, with `threads` threads. Errors: those of thread_hit_rate and memory_access_costs.
inline result<memory_costs> memory_costs_of(const machine& m, const options& o, const std::vector<memory_features>& list, int threads) {
    memory_costs out;
    const auto levels = m.caches.size();
    const auto* const profile = memory_for(list, threads);
    std::vector<double> rates(levels, 1.0);
    for (std::size_t i = 0; profile != nullptr && i < levels; ++i) {
        const auto rate = thread_hit_rate(*profile, m.caches[i], m.processors, threads, o.set_profiles);
        if (!rate) return rate.error();
        rates[i] = *rate;
    }
    const auto access = memory_access_costs(m, rates, o.eq6, threads);
    if (!access) return access.error();
    out.extra = access->latency - m.caches.front().latency;
    // The share of a level is Eq. 6 with cost 1 for that level and 0 for the others.
    std::vector<double> one(levels, 0.0);
    for (std::size_t i = 0; i < levels; ++i) {
        one[i] = 1;
        out.shares.push_back(average_cost(rates, one, 0, o.eq6));
        one[i] = 0;
    }
    out.shares.push_back(average_cost(rates, one, 1, o.eq6));
    if (o.bandwidth) {
        const auto interval = access_interval(m, o, profile, rates, threads);
        if (!interval) return interval.error();
        out.interval = *interval;
    }
    return out;
}

} // namespace augur::inline v0::crop::detail

#endif
