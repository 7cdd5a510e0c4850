// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CROP_PREDICTION_HPP
#define AUGUR_CROP_PREDICTION_HPP

/// @file
/// What Crop says of a program on a machine: one number, where it comes from, and how far it is to be trusted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/json_writer.hpp>
#include <augur/program/cache/access_costs.hpp>
#include <augur/program/pipeline/simulator.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::crop {

/// What keeps code from being faster.
enum class limit : std::uint8_t {
    none,        ///< it takes no time
    front,       ///< as many instructions enter as can
    unit,        ///< the units of one kind are always busy
    dependences, ///< results are waited for
    latency,     ///< caches and memory are waited for
    bandwidth,   ///< caches and memory hand over as much as they can
    branches,    ///< branches that were not foreseen
    launch,      ///< work is handed to threads
};
inline constexpr std::array<std::string_view, 8> limit_names{"none", "front", "unit", "dependences", "latency", "bandwidth", "branches", "launch"};
constexpr std::string_view to_string(limit l) noexcept { return augur::detail::name_of(limit_names, static_cast<std::size_t>(l)); }

/// Which model. The defaults are what we take for the best; `as_published` is what the paper says.
struct options {
    unit_model units = unit_model::ideal;
    bool front = true;       ///< issue width and window
    bool superblocks = true; ///< blocks cost what they add behind the one before; else each alone, times its count (Eq. 1)
    bool branches = true;    ///< with `superblocks`: branches that are not foreseen
    eq6_mode eq6 = eq6_mode::conditional;
    bool bandwidth = true;    ///< of caches and memory, where the machine says it
    bool set_profiles = true; ///< exact hit rates where the program has a profile for the sets of a cache
    bool registers = true;    ///< what does not fit into registers, and vectors that no register is made for
    bool breakdown = true;    ///< what limits blocks and what levels cost; else only times. Twice the work

    /// Crop as published: Eq. 1 to 6 and nothing else. Times of units are ideal; PPT's, its ancestor's, are `unit_model::ppt_compat`.
    static constexpr options as_published() noexcept { return {unit_model::ideal, false, false, false, eq6_mode::paper, false, false, false, true}; }
};

/// A cache, or the memory behind them.
struct level_share {
    std::string name;        ///< "L1", ..., "memory"
    double share = 0;        ///< of the accesses that are served here
    double stall_cycles = 0; ///< waited for it, beyond what the first cache would take
};

struct block_share {
    std::string name;
    double count = 0;        ///< ECount of Eq. 3
    double cycles = 0;       ///< of all of them
    double stall_cycles = 0; ///< of these: waited for caches and memory
    limit limited_by = limit::none;
    std::string unit; ///< which, for limit::unit
};

struct function_share {
    std::string name;
    bool parallel = false;
    double cycles = 0;        ///< on the thread that has most to do
    double load_latency = 0;  ///< Eq. 6, cycles
    double load_interval = 0; ///< cycles between two loads that the bandwidth allows; 0: no limit
    double mispredict_cycles = 0;
    double launch_cycles = 0;
    std::vector<level_share> levels;
    std::vector<block_share> blocks;
};

struct prediction {
    double seconds = 0;
    double cycles = 0;
    int threads = 1;
    std::vector<function_share> functions;
    std::vector<level_share> levels; ///< of the whole program
    double mispredict_cycles = 0;
    double launch_cycles = 0;
    limit limited_by = limit::none; ///< what most of the cycles are limited by
    std::string unit;               ///< which, for limit::unit
    std::uint64_t unknown = 0;      ///< instructions in the program whose class is not known: they have a default cost
    double unknown_share = 0;       ///< of the instructions that ran
    std::array<double, 3> trust{};  ///< shares of the instructions that ran whose cost is a default, from a table, measured
};

/// What limits in words: "unit fp add", "bandwidth".
[[nodiscard]] inline std::string limit_text(limit l, std::string_view unit) {
    std::string text(to_string(l));
    if (l == limit::unit) text.append(" ").append(unit);
    return text;
}

/// A prediction as JSON, one number first.
[[nodiscard]] inline std::string prediction_to_json(const prediction& p) {
    std::string out;
    json_writer w(out);
    const auto levels = [&](const std::vector<level_share>& list) {
        w.key("levels").begin_array();
        for (const auto& l : list)
            w.begin_object().key("name").value(l.name).key("share").value(l.share).key("stall_cycles").value(l.stall_cycles).end_object();
        w.end_array();
    };
    w.begin_object().key("seconds").value(p.seconds).key("cycles").value(p.cycles).key("threads").value(p.threads);
    w.key("limited_by").value(limit_text(p.limited_by, p.unit)).key("mispredict_cycles").value(p.mispredict_cycles);
    w.key("launch_cycles").value(p.launch_cycles).key("unknown").value(p.unknown).key("unknown_share").value(p.unknown_share);
    w.key("default").value(p.trust[0]).key("table").value(p.trust[1]).key("measured").value(p.trust[2]);
    levels(p.levels);
    w.key("functions").begin_array();
    for (const auto& f : p.functions) {
        w.begin_object().key("name").value(f.name).key("parallel").value(f.parallel).key("cycles").value(f.cycles);
        w.key("load_latency").value(f.load_latency).key("load_interval").value(f.load_interval);
        w.key("mispredict_cycles").value(f.mispredict_cycles).key("launch_cycles").value(f.launch_cycles);
        levels(f.levels);
        w.key("blocks").begin_array();
        for (const auto& b : f.blocks) {
            w.begin_object().key("name").value(b.name).key("count").value(b.count).key("cycles").value(b.cycles);
            w.key("stall_cycles").value(b.stall_cycles).key("limited_by").value(limit_text(b.limited_by, b.unit)).end_object();
        }
        w.end_array().end_object();
    }
    w.end_array().end_object();
    return out;
}

} // namespace augur::inline v0::crop

#endif
