// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_MACHINE_CHECK_HPP
#define AUGUR_TARGET_MACHINE_CHECK_HPP

/// @file
/// Plausibility check of a machine description, and default values for its unknown fields.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

namespace detail {

/// Keeps the first violation, with the name of the field.
struct machine_checker {
    std::string violation;

    [[nodiscard]] bool ok() const { return violation.empty(); }
    void refuse(const std::string& field, std::string_view text) {
        if (ok()) violation.append(field).append(": ").append(text);
    }
    static std::string shown(double v) {
        std::string s;
        if (v - v == 0) append_number_6(s, v);
        else s = "no finite number";
        return s;
    }
    /// Requires low <= v <= high; NaN is rejected.
    void within(const std::string& field, double v, double low, double high) {
        if (!(v >= low && v <= high)) refuse(field, "expected " + shown(low) + " to " + shown(high) + ", got " + shown(v));
    }
    void power_of_two(const std::string& field, std::int64_t v, std::int64_t low, std::int64_t high) {
        if (v < low || v > high || !std::has_single_bit(static_cast<std::uint64_t>(v)))
            refuse(field, "expected a power of two from " + std::to_string(low) + " to " + std::to_string(high) + ", got " + std::to_string(v));
    }
};

inline void check_caches(const machine& m, machine_checker& c) {
    if (m.caches.empty() || m.caches.size() > 8) c.refuse("caches", "expected 1 to 8 levels, got " + std::to_string(m.caches.size()));
    for (std::size_t i = 0; i < m.caches.size() && c.ok(); ++i) {
        const auto& k = m.caches[i];
        const auto at = "caches[" + std::to_string(i) + "].";
        if (k.level != static_cast<int>(i) + 1)
            c.refuse(at + "level", "expected " + std::to_string(i + 1) + ", inner to outer, got " + std::to_string(k.level));
        c.power_of_two(at + "line_bytes", k.line_bytes, 16, 1024);
        c.within(at + "bytes", static_cast<double>(k.bytes), 1024, static_cast<double>(std::int64_t{1} << 36U));
        c.within(at + "sharers", k.sharers, 1, 65536);
        c.within(at + "ways", static_cast<double>(k.ways), 1, 1 << 20);
        c.within(at + "latency", k.latency, 0.25, 1e5);
        if (k.bytes_per_cycle != 0) c.within(at + "bytes_per_cycle", k.bytes_per_cycle, 1e-3, 1e5);
        if (k.set_cycles != 0) c.within(at + "set_cycles", k.set_cycles, 1e-3, 1e5);
        if (!c.ok()) return;
        if (k.bytes % (k.line_bytes * k.ways) != 0)
            c.refuse(at + "ways",
                     "expected sets of " + std::to_string(k.ways) + " lines to divide the capacity, got " + std::to_string(k.bytes) + " bytes");
        // Catches sizes that are sums over the cores, as lscpu prints them.
        if (k.sharers <= 2 && k.bytes > (k.level == 1 ? std::int64_t{512} << 10U : k.level == 2 ? std::int64_t{16} << 20U : std::int64_t{1} << 36U))
            c.refuse(at + "bytes",
                     "expected the size of one instance, not the sum over the cores, got " + std::to_string(k.bytes) + " bytes for one core");
        if (i == 0) continue;
        const auto& inner = m.caches[i - 1];
        const auto inner_level = " (level " + std::to_string(inner.level) + ")";
        if (k.bytes < inner.bytes)
            c.refuse(at + "bytes", "expected at least " + std::to_string(inner.bytes) + inner_level + ", got " + std::to_string(k.bytes));
        if (k.latency <= inner.latency)
            c.refuse(at + "latency", "expected more than " + c.shown(inner.latency) + inner_level + ", got " + c.shown(k.latency));
        if (k.line_bytes < inner.line_bytes)
            c.refuse(at + "line_bytes",
                     "expected at least " + std::to_string(inner.line_bytes) + inner_level + ", got " + std::to_string(k.line_bytes));
        if (k.sharers < inner.sharers)
            c.refuse(at + "sharers", "expected at least " + std::to_string(inner.sharers) + inner_level + ", got " + std::to_string(k.sharers));
    }
}

inline std::string cost_name(const instruction_cost& c, std::size_t index) {
    return "costs[" + std::to_string(index) + "] (" + std::string(to_string(c.op)) + " " + std::string(to_string(c.type)) + ").";
}

inline void check_costs(const machine& m, machine_checker& c) {
    if (m.units.size() > 250) c.refuse("units", "expected at most 250, got " + std::to_string(m.units.size()));
    for (std::size_t i = 0; i < m.units.size() && c.ok(); ++i) {
        const auto at = "units[" + std::to_string(i) + "].";
        if (m.units[i].name.empty() || m.units[i].name.size() > 64) c.refuse(at + "name", "expected 1 to 64 bytes");
        c.within(at + "count", m.units[i].count, 1, 16);
        for (std::size_t j = 0; j < i && c.ok(); ++j)
            if (m.units[j].name == m.units[i].name) c.refuse(at + "name", "'" + m.units[i].name + "' stands twice");
    }
    std::int64_t all_units = 0; // they and one for each class without a cost have numbers of eight bits
    for (const auto& u : m.units) all_units += u.count;
    if (c.ok() && all_units > 200) c.refuse("units", "expected at most 200 units of all kinds, got " + std::to_string(all_units));
    if (m.costs.size() > 2000) c.refuse("costs", "expected at most 2000, got " + std::to_string(m.costs.size()));
    std::vector<std::pair<std::uint64_t, std::size_t>> seen; // class, type and lanes of a cost; its index
    for (std::size_t i = 0; i < m.costs.size() && c.ok(); ++i) {
        const auto& k = m.costs[i];
        seen.emplace_back((static_cast<std::uint64_t>(k.op) << 8U | static_cast<std::uint64_t>(k.type)) << 32U | static_cast<std::uint32_t>(k.lanes),
                          i);
        const bool plain = k.lanes >= 1 && k.lanes <= 1024 && k.latency >= 1e-3 && k.latency <= 1e5 && k.throughput >= 1e-3 && k.throughput <= 1e5 &&
                           k.unit < m.units.size();
        if (plain && (k.lanes == 1 || (std::has_single_bit(static_cast<std::uint64_t>(k.lanes)) && k.lanes * bytes_of(k.type) <= m.vector_bytes)))
            continue;
        const auto at = cost_name(k, i);
        c.power_of_two(at + "lanes", k.lanes, 1, 1024);
        c.within(at + "latency", k.latency, 1e-3, 1e5);
        c.within(at + "throughput", k.throughput, 1e-3, 1e5);
        if (k.unit >= m.units.size())
            c.refuse(at + "unit", "expected one of the " + std::to_string(m.units.size()) + " units, got " + std::to_string(k.unit));
        if (c.ok()) // else the product may overflow
            c.refuse(at + "lanes",
                     "expected vectors of at most " + std::to_string(m.vector_bytes) + " bytes, got " + std::to_string(k.lanes * bytes_of(k.type)));
    }
    std::sort(seen.begin(), seen.end());
    for (std::size_t i = 1; i < seen.size() && c.ok(); ++i) {
        if (seen[i].first != seen[i - 1].first) continue;
        const auto& k = m.costs[seen[i].second];
        c.refuse(cost_name(k, seen[i].second) + "lanes", "the cost of " + std::to_string(k.lanes) + " lanes stands twice");
    }
}

} // namespace detail

/// Checks that every field that a prediction needs is present, within its range and consistent with the others.
/// @note errors: invalid_argument, which names the first wrong field. Takes about 20 microseconds.
[[nodiscard]] inline result<void> check_machine(const machine& m) {
    detail::machine_checker c;
    c.within("processors", m.processors, 1, 1 << 20);
    c.power_of_two("vector_bytes", m.vector_bytes, 4, 1024);
    c.within("clock_hz", m.clock_hz, 1e6, 1e11);
    c.within("issue_width", m.core.issue_width, 0.5, 64);
    c.within("window", m.core.window, 1, 1e5);
    c.within("mispredict", m.core.mispredict, 0.1, 1e4);
    c.within("store_forward", m.core.store_forward, 0.25, 1e4);
    c.within("predicted_trips", m.core.predicted_trips, 0, 1e9);
    c.within("parallel_launch", m.core.parallel_launch, 0, 1e9);
    if (m.core.folds >> fold_hints != 0) c.refuse("folds", "expected bits of known fold hints only");
    if (m.folds(fold_hint::none)) c.refuse("folds", "'none' is not to be listed");
    detail::check_caches(m, c);
    c.within("memory.latency", m.memory.latency, 1, 1e6);
    if (c.ok() && m.memory.latency <= m.caches.back().latency)
        c.refuse("memory.latency", "expected more than " + c.shown(m.caches.back().latency) + " (the last cache), got " + c.shown(m.memory.latency));
    if (m.memory.bytes != 0) c.within("memory.bytes", static_cast<double>(m.memory.bytes), 1, 1e16);
    if (m.memory.bytes_per_second != 0) c.within("memory.bytes_per_second", m.memory.bytes_per_second, 1e5, 1e15);
    if (m.memory.core_bytes_per_second != 0) c.within("memory.core_bytes_per_second", m.memory.core_bytes_per_second, 1e5, 1e15);
    if (m.memory.bytes_per_second != 0 && m.memory.core_bytes_per_second > m.memory.bytes_per_second)
        c.refuse("memory.core_bytes_per_second", "expected at most bytes_per_second, which all cores share");
    detail::check_costs(m, c);
    if (!c.ok()) return error{errc::invalid_argument, "machine: " + std::move(c.violation)};
    return {};
}

/// Returns `m` with textbook values in its unknown fields, so that rough predictions are possible for the machine that `detect_machine` found.
/// The instruction costs are not changed, because the pipeline model has its own defaults for them.
[[nodiscard]] inline machine complete_machine(machine m) {
    const auto fill = [](auto& value, auto fallback) {
        if (value == 0) value = fallback;
    };
    fill(m.clock_hz, 3e9);
    fill(m.core.issue_width, 4.0);
    fill(m.core.window, 224.0);
    fill(m.core.mispredict, 15.0);
    fill(m.core.store_forward, 5.0);
    if (m.core.folds == 0) {
        const auto bit = [](fold_hint f) { return 1U << static_cast<unsigned>(f); };
        m.core.folds = bit(fold_hint::always) | bit(fold_hint::address);
        if (m.architecture == "x86_64") {
            m.core.folds |= bit(fold_hint::extend) | bit(fold_hint::compare_branch) | bit(fold_hint::operand);
            if (m.has("avx")) m.core.folds |= bit(fold_hint::splat);
            if (m.has("fma")) m.core.folds |= bit(fold_hint::multiply_add);
        } else if (m.architecture == "aarch64") {
            m.core.folds |= bit(fold_hint::extend) | bit(fold_hint::splat) | bit(fold_hint::multiply_add);
        }
    }
    if (m.caches.empty()) m.caches = {{1, 32 << 10U}, {2, 1 << 20U}};
    double latency = 4;
    for (std::size_t i = 0; i < m.caches.size(); ++i) {
        auto& k = m.caches[i];
        const std::int64_t lines = k.line_bytes > 0 ? k.bytes / k.line_bytes : 0; // check_machine refuses such a level
        for (const std::int64_t ways : {8, 16, 12, 11, 10, 4, 2, 1})
            if (k.ways == 0 && lines % ways == 0) k.ways = ways;
        fill(k.latency, latency);
        latency = k.latency * 3.5; // 4, 14, 49 cycles: typical of three cache levels
    }
    fill(m.memory.latency, latency < 200 ? 300.0 : latency * 2);
    return m;
}

} // namespace augur::inline v0

#endif
