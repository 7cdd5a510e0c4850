// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_IN_MODEL_PASS_HPP
#define AUGUR_LOOPNEST_RUN_IN_MODEL_PASS_HPP

/// @file
/// Schedules that are best alone and not inside the network: caches are cold there, and neighbours leave data in other places.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/run/network_runner.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// A kernel whose other schedules were tried inside the network.
struct in_model_trial {
    std::size_t kernel = 0;
    double before = 0, after = 0; ///< latency of the network in seconds, median: with the schedule that it had, and with the fastest other one
    std::size_t alternative = 0;  ///< the fastest other one
    bool kept = false;            ///< it is in the network now
};

/// Tries the next schedules of each kernel that is slower inside the network than alone by more than the spread of the network's latency, the one that
/// loses most first. A schedule is kept if the upper quartile of the network's latency with it is below the lower quartile without it.
///
/// @param alone         seconds of one call of each kernel alone; infinity or 0: not known, the kernel is passed over
/// @param alternatives  other schedules of each kernel, the best one first; at most two are tried
/// @param schedules     of each kernel; changed where one was kept
/// @param rounds        visits to each variant, at least 3
/// @param stop          asked before each kernel
/// Cost    a compilation of the network for each schedule tried, and those of `network_runner::times_inside`
/// Errors, after which `schedules` is unchanged: invalid_argument (a list without one entry for each kernel of the network, fewer than 3 rounds); those
///         of `network_runner::times_inside`
/// Source  Gibson, Cano: Transfer-tuning (2022), section 5.5: the schedule that is fastest alone need not be so behind other kernels
[[nodiscard]] inline result<std::vector<in_model_trial>> in_model_pass(network_runner& net, std::span<const double> alone,
                                                                       std::span<const std::vector<step_list>> alternatives,
                                                                       std::vector<step_list>& schedules, int rounds = 5, stop_flag stop = nullptr) {
    const auto list = net.graph().kernels().kernels;
    if (alone.size() != list.size() || alternatives.size() != list.size() || schedules.size() != list.size() || rounds < 3)
        return error{errc::invalid_argument, "in-model pass: expected latencies, alternatives and schedules of " + std::to_string(list.size()) +
                                                 " kernels and at least 3 rounds, got " + std::to_string(alone.size()) + ", " +
                                                 std::to_string(alternatives.size()) + ", " + std::to_string(schedules.size()) + " and " +
                                                 std::to_string(rounds)};
    std::vector<in_model_trial> out;
    const auto inside = net.times_inside(schedules);
    if (!inside) return inside.error();
    const auto seconds = net.seconds_of_kernels(*inside);
    const auto now = net.compare(std::span(&schedules, 1), rounds).front();
    if (!std::isfinite(now.high)) return error{errc::io, "in-model pass: the network failed or was stopped with the schedules that it has"};
    const double spread = now.spread();
    const auto loss = [&](std::size_t k) { return std::isfinite(alone[k]) ? seconds[k] - alone[k] * list[k].uses : 0.0; };
    std::vector<std::size_t> order(list.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::pair(loss(b), a) < std::pair(loss(a), b); });
    for (const auto k : order) {
        if (stop_requested(stop)) break;
        const bool slower = alone[k] > 0 && loss(k) > spread * alone[k] * list[k].uses;
        if (!slower || alternatives[k].empty()) continue;
        std::vector<std::vector<step_list>> variants{schedules};
        for (std::size_t a = 0; a < alternatives[k].size() && a < 2; ++a) {
            variants.push_back(schedules);
            variants.back()[k] = alternatives[k][a];
        }
        const auto latencies = net.compare(variants, rounds);
        in_model_trial t{k, latencies[0].median, latencies[1].median, 0, false};
        for (std::size_t v = 2; v < variants.size(); ++v)
            if (latencies[v].median < t.after) {
                t.after = latencies[v].median;
                t.alternative = v - 1;
            }
        t.kept = latencies[t.alternative + 1].high < latencies[0].low;
        if (t.kept) schedules = std::move(variants[t.alternative + 1]);
        out.push_back(t);
    }
    return out;
}

} // namespace augur::inline v0::loopnest

#endif
