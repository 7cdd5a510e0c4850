// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleaning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <augur/schedule/hash.hpp>

namespace examples {

namespace {

constexpr std::int64_t gap = 600; // seconds
constexpr std::size_t least_common = 20;
constexpr double slow = 1.15;

/// The session of each record: records in the order of their time stamps, cut where nothing was measured for `gap`.
std::vector<std::size_t> sessions_of(const augur::tuning_archive& archive, std::size_t& count) {
    const auto& records = archive.records;
    std::vector<std::size_t> order(records.size()), out(records.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto stamp = [&](std::size_t i) { return records[i].measured.timestamp; };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return stamp(a) != stamp(b) ? stamp(a) < stamp(b) : a < b; });
    count = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (k == 0 || stamp(order[k]) - stamp(order[k - 1]) > gap) ++count;
        out[order[k]] = count - 1;
    }
    return out;
}

void drop_copies(augur::tuning_archive& archive, std::vector<augur::autotvm_config>& configs, cleaning& told) {
    std::map<std::vector<double>, std::uint64_t> first; // configuration that had these latencies first
    std::size_t kept = 0;
    for (std::size_t i = 0; i < archive.records.size(); ++i) {
        const auto& r = archive.records[i];
        if (r.measured.ok()) {
            const auto [at, fresh] = first.try_emplace(r.measured.seconds, augur::hash_schedule(r.point));
            if (!fresh && at->second != augur::hash_schedule(r.point)) {
                ++told.copied;
                continue;
            }
        }
        if (kept != i) {
            archive.records[kept] = std::move(archive.records[i]);
            configs[kept] = std::move(configs[i]);
        }
        ++kept;
    }
    archive.records.resize(kept);
    configs.resize(kept);
}

void scale_sessions(augur::tuning_archive& archive, cleaning& told) {
    std::size_t count = 0;
    const auto session = sessions_of(archive, count);
    if (count < 2) return;
    std::map<std::uint64_t, std::vector<double>> least; // by configuration, then session
    std::vector<std::uint64_t> hash(archive.records.size());
    for (std::size_t i = 0; i < hash.size(); ++i) {
        const auto& r = archive.records[i];
        hash[i] = augur::hash_schedule(r.point);
        if (!r.measured.ok()) continue;
        auto& of = least[hash[i]];
        of.resize(count, std::numeric_limits<double>::infinity());
        of[session[i]] = (std::min)(of[session[i]], r.measured.latency());
    }
    for (std::size_t s = 0; s < count; ++s) {
        double sum = 0;
        std::size_t common = 0;
        for (const auto& [configuration, of] : least) {
            double others = std::numeric_limits<double>::infinity();
            for (std::size_t k = 0; k < count; ++k)
                if (k != s) others = (std::min)(others, of[k]);
            if (!std::isfinite(of[s]) || !std::isfinite(others)) continue;
            sum += std::log(of[s] / others);
            ++common;
        }
        const double slowness = common < least_common ? 1 : std::exp(sum / static_cast<double>(common));
        if (slowness <= slow) continue;
        ++told.slow_sessions;
        for (std::size_t i = 0; i < hash.size(); ++i) {
            if (session[i] != s || !archive.records[i].measured.ok()) continue;
            for (double& seconds : archive.records[i].measured.seconds) seconds /= slowness;
            ++told.scaled;
        }
    }
}

} // namespace

cleaning clean(augur::tuning_archive& archive, std::vector<augur::autotvm_config>& configs) {
    cleaning told;
    drop_copies(archive, configs, told);
    scale_sessions(archive, told);
    return told;
}

} // namespace examples
