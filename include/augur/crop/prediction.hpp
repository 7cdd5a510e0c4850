// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CROP_PREDICTION_HPP
#define AUGUR_CROP_PREDICTION_HPP

/// @file
/// The result of a Crop prediction: run time, its breakdown by function, block and cache level, and the provenance of the instruction costs.

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

/// The bottleneck of a block or program.
enum class limit : std::uint8_t {
    none,        ///< takes no time, or no breakdown was asked for
    front,       ///< issue width of the front end
    unit,        ///< throughput of one kind of functional unit
    dependences, ///< latency of dependent instructions
    latency,     ///< latency of caches and memory
    bandwidth,   ///< bandwidth of caches and memory
    branches,    ///< mispredicted branches
    launch,      ///< start of parallel regions
};
inline constexpr std::array<std::string_view, 8> limit_names{"none", "front", "unit", "dependences", "latency", "bandwidth", "branches", "launch"};
constexpr std::string_view to_string(limit l) noexcept { return augur::detail::name_of(limit_names, static_cast<std::size_t>(l)); }

/// Options of the model. The defaults include our extensions of the paper; `as_published` is the model of the paper.
struct options {
    unit_model units = unit_model::ideal;
    bool front = true;       ///< model the issue width and window of the machine
    bool superblocks = true; ///< sum over edges, each block timed on a long path (not the paper's pairs of blocks); else each block alone (Eq. 1)
    bool branches = true;    ///< with `superblocks`: cost of mispredicted branches
    eq6_mode eq6 = eq6_mode::conditional;
    bool bandwidth = true;    ///< bandwidth of caches and memory, where the machine has it
    bool set_profiles = true; ///< exact hit rates where the program has a profile for the number of sets of a cache
    bool registers = true;    ///< register spills and vectors wider than a register
    bool breakdown = true;    ///< bottlenecks and stalls by level; else only times. Doubles the run time of a prediction

    /// Crop as published: Eq. 1 to 6 without extensions. Functional units are ideal; `unit_model::ppt_compat` gives those of PPT, its ancestor.
    static constexpr options as_published() noexcept { return {unit_model::ideal, false, false, false, eq6_mode::paper, false, false, false, true}; }
};

/// The share of a cache level, or of memory.
struct level_share {
    std::string name;        ///< "L1", ..., "memory"
    double share = 0;        ///< of all accesses, those served by this level
    double stall_cycles = 0; ///< cycles beyond those of hits in the first cache
};

/// The share of a basic block.
struct block_share {
    std::string name;
    double count = 0;        ///< ECount of Eq. 3
    double cycles = 0;       ///< of all executions
    double stall_cycles = 0; ///< of these, cycles beyond those of hits in the first cache
    limit limited_by = limit::none;
    std::string unit; ///< name of the unit, for limit::unit
};

/// The share of a function.
struct function_share {
    std::string name;
    bool parallel = false;
    double cycles = 0;        ///< of the thread with the most work
    double load_latency = 0;  ///< Eq. 6, cycles
    double load_interval = 0; ///< minimum cycles between two loads due to bandwidth; 0: no limit
    double mispredict_cycles = 0;
    double launch_cycles = 0;
    std::vector<level_share> levels;
    std::vector<block_share> blocks;
};

/// The predicted run time of a program on a machine, with its breakdown.
struct prediction {
    double seconds = 0;
    double cycles = 0;
    int threads = 1;
    std::vector<function_share> functions;
    std::vector<level_share> levels; ///< of the whole program
    double mispredict_cycles = 0;
    double launch_cycles = 0;
    limit limited_by = limit::none; ///< the bottleneck of most cycles
    std::string unit;               ///< name of the unit, for limit::unit
    std::uint64_t unknown = 0;      ///< instructions in the code whose class is not known; they have a default cost
    double unknown_share = 0;       ///< of the executed instructions, those of an unknown class
    std::array<double, 3> trust{};  ///< shares of the executed instructions whose cost is a default, from a table, measured
};

/// The text of a bottleneck, for example "unit fp add" or "bandwidth".
[[nodiscard]] inline std::string limit_text(limit l, std::string_view unit) {
    std::string text(to_string(l));
    if (l == limit::unit) text.append(" ").append(unit);
    return text;
}

/// The JSON text of a prediction; `seconds` is the first member.
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
