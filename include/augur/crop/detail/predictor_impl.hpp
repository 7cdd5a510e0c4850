// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CROP_DETAIL_PREDICTOR_IMPL_HPP
#define AUGUR_CROP_DETAIL_PREDICTOR_IMPL_HPP

/// @file
/// Members of `crop::predictor`: a function at a time, from the cycles of its blocks to the sums of the program.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/crop/detail/memory_costs.hpp>
#include <augur/crop/predictor.hpp>
#include <augur/program/features.hpp>
#include <augur/program/pipeline/register_traffic.hpp>

namespace augur::inline v0::crop {

inline void predictor::lower(const control_flow_graph& flow) {
    std::vector<native_code> one;
    std::vector<std::size_t> at;
    std::vector<std::uint8_t> changed;
    native_.clear();
    rewritten_.clear();
    lowered_.assign(flow.size(), {});
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        auto& l = lowered_[b];
        l.code = &flow[b].code;
        at.push_back(native_.size());
        if (flow[b].count == 0) continue;
        if (options_.registers) {
            changed.assign(l.code->size(), 0);
            const auto [first, last] = in_edges(b, flow);
            for (auto e = first; e != last; ++e)
                for (const auto& d : flow[*e].carried) changed[d.to] = 1;
            if (auto more = with_register_traffic(*l.code, changed, register_file::make(machine_)))
                l.code = &rewritten_.emplace_back(std::move(*more));
        }
        costs_->lower(*l.code, one);
        native_.insert(native_.end(), one.begin(), one.end());
    }
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        auto& l = lowered_[b];
        if (flow[b].count == 0) continue;
        l.native = std::span<const native_code>(native_).subspan(at[b], l.code->size());
        for (const auto& c : l.native) l.slots += c.slots();
    }
}

inline predictor::tally predictor::count(const control_flow_graph& flow) const {
    tally t;
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        const auto n = static_cast<double>(flow[b].count);
        const auto code = lowered_[b].code->values();
        for (std::size_t v = 0; v < lowered_[b].native.size(); ++v) {
            const auto c = lowered_[b].native[v];
            if (c.parts == 0) continue;
            const double parts = c.parts * n;
            t.all += n;
            t.by_source[static_cast<std::size_t>(costs_->row(c.row_index()).from)] += n;
            if (code[v].op == instruction_class::unknown) t.unknown += n;
            else if (cost_table::is_load(code[v].op)) t.loads += parts;
            else if (code[v].op == instruction_class::store || code[v].op == instruction_class::scatter) t.stores += parts;
        }
    }
    return t;
}

/// A parallel function as one thread runs it: iterations one after another, with added edges from the returning blocks to the entry.
inline control_flow_graph predictor::repeated_iterations(const function_features& f) {
    const auto& flow = f.flow;
    std::vector<basic_block> blocks(flow.values().begin(), flow.values().end());
    std::vector<control_flow_graph::new_edge> edges;
    std::vector<std::uint64_t> left(flow.size());
    for (std::uint32_t b = 0; b < flow.size(); ++b) left[b] = flow[b].count;
    for (std::uint32_t i = 0; i < flow.edge_count(); ++i) {
        const auto e = flow.edge(i);
        edges.push_back({e.source, e.target, flow[e]});
        left[e.source] -= flow[e].count;
    }
    auto again = f.count - f.launches;
    for (std::uint32_t b = 0; b < flow.size() && again > 0; ++b) {
        const auto n = (std::min)(left[b], again);
        if (n > 0) edges.push_back({b, 0, {n, {}}});
        again -= n;
    }
    return {std::move(blocks), std::move(edges)};
}

/// Fills cycles_ with the cycles of all executions of each block, and mispredicted_ with the part of them that mispredicted branches cost. Returns the
/// sum of that part.
inline double predictor::run(const control_flow_graph& flow, std::uint64_t entries, const std::vector<double>& misses) {
    cycles_.assign(flow.size(), 0.0);
    mispredicted_.assign(flow.size(), 0.0);
    const auto alone = edges_.alone(flow, lowered_);
    if (!options_.superblocks) {
        for (std::uint32_t b = 0; b < flow.size(); ++b) cycles_[b] = alone[b] * static_cast<double>(flow[b].count);
        return 0;
    }
    const auto edge_cycles = edges_.edges(flow, lowered_);
    double mispredicted = 0;
    cycles_[0] = alone[0] * static_cast<double>(entries);
    for (std::uint32_t i = 0; i < flow.edge_count(); ++i) {
        const auto e = flow.edge(i);
        if (flow[e].count == 0) continue;
        const auto n = static_cast<double>(flow[e].count);
        const double missed = options_.branches ? misses[i] : 0;
        cycles_[e.target] += n * ((1 - missed) * edge_cycles[i] + missed * (alone[e.target] + costs_->mispredict()));
        mispredicted_[e.target] += n * missed * costs_->mispredict();
        mispredicted += n * missed * costs_->mispredict();
    }
    return mispredicted;
}

/// Finds the bottleneck of a block with `per_run` cycles for each execution without mispredicted branches, `stall` of them beyond the first cache.
inline void predictor::limits(std::uint32_t b, double interval, double per_run, double stall, block_share& out) {
    if (!(per_run > 0)) return;
    unit_busy_.assign(machine_.units.size() + 1, 0.0); // the last element: units of default costs
    double accesses = 0;
    const auto code = lowered_[b].code->values();
    for (std::size_t v = 0; v < code.size(); ++v) {
        const auto c = lowered_[b].native[v];
        if (c.parts == 0) continue;
        const auto& r = costs_->row(c.row_index());
        auto& busy = unit_busy_[costs_->unit_of(r)];
        busy += c.parts * r.busy / r.units;
        if (cost_table::is_load(code[v].op) || code[v].op == instruction_class::store) accesses += c.parts;
    }
    const auto busiest = std::max_element(unit_busy_.begin(), unit_busy_.end());
    const double front = options_.front ? lowered_[b].slots / costs_->issue_width() : 0;
    const double near = per_run - stall;
    if (2 * stall > per_run) {
        out.limited_by = accesses * interval * 2 > per_run ? limit::bandwidth : limit::latency;
    } else if ((std::max)(front, *busiest) < 0.75 * near) {
        out.limited_by = limit::dependences;
    } else if (front >= *busiest) {
        out.limited_by = limit::front;
    } else {
        out.limited_by = limit::unit;
        out.unit = unit_name(static_cast<std::size_t>(busiest - unit_busy_.begin()));
    }
}

inline std::size_t predictor::unit_index(const std::string& name) const {
    std::size_t u = 0;
    while (u < machine_.units.size() && machine_.units[u].name != name) ++u;
    return u;
}
inline std::string predictor::unit_name(std::size_t unit) const { return unit < machine_.units.size() ? machine_.units[unit].name : "default"; }

/// The cache levels of the machine, then memory, without accesses.
inline std::vector<level_share> predictor::empty_levels() const {
    std::vector<level_share> levels;
    for (const auto& c : machine_.caches) levels.push_back({"L" + std::to_string(c.level), 0, 0});
    levels.push_back({"memory", 0, 0});
    return levels;
}

/// The share of a function that takes no time.
inline function_share predictor::empty_share(const function_features& f, const std::vector<level_share>& levels) {
    function_share share;
    share.name = f.name;
    share.parallel = f.parallel;
    share.levels = levels;
    for (const auto& b : f.flow.values()) share.blocks.push_back({b.name, 0, 0, 0, limit::none, {}});
    return share;
}

/// Fills cycles_ and near_cycles_, and the load costs of `share`. Returns the cycles of mispredicted branches.
inline double predictor::simulate(const control_flow_graph& flow, std::uint64_t entries, const detail::memory_costs& memory, const tally& ran,
                                  function_share& share) {
    // The load interval covers the bandwidth of loads and stores; a store counts twice (read for ownership and write-back).
    const double load_interval = ran.loads > 0 ? memory.interval * (ran.loads + 2 * ran.stores) / ran.loads : 0;
    const double store_interval = ran.loads > 0 ? 0 : 2 * memory.interval;
    const auto misses = options_.branches && options_.superblocks ? branch_misses(flow, machine_.core.predicted_trips) : std::vector<double>{};
    share.load_latency = machine_.caches.front().latency + memory.extra;
    share.load_interval = load_interval;

    const bool far = options_.breakdown && (memory.extra > 0 || memory.interval > 0);
    costs_->set_memory(0, 0);
    if (far) {
        run(flow, entries, misses);
        near_cycles_ = cycles_;
    }
    costs_->set_memory(memory.extra, load_interval, store_interval);
    const double mispredicted = run(flow, entries, misses);
    if (!far) near_cycles_ = cycles_;
    return mispredicted;
}

/// Fills the blocks of `share` from cycles_ and near_cycles_, and adds their cycles to it. Returns their stall cycles.
/// @param part      factor from the counts of the whole program to those of one thread
/// @param interval  minimum cycles between two accesses
inline double predictor::fill_blocks(const control_flow_graph& flow, double part, double interval, function_share& share) {
    double stalls = 0;
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        auto& block = share.blocks[b];
        block.count = static_cast<double>(flow[b].count) * part;
        block.cycles = cycles_[b] * part;
        block.stall_cycles = (std::max)(0.0, cycles_[b] - near_cycles_[b]) * part;
        share.cycles += block.cycles;
        stalls += block.stall_cycles;
        if (!options_.breakdown || !(block.count > 0)) continue;
        const double mispredicted = mispredicted_[b] * part;
        if (2 * mispredicted > block.cycles) block.limited_by = limit::branches;
        else limits(b, interval, (block.cycles - mispredicted) / block.count, block.stall_cycles / block.count, block);
    }
    return stalls;
}

/// Divides stall cycles among the levels by accesses served times latency beyond that of the first level.
/// @param shares  (levels) shares of the accesses
inline void predictor::divide_stalls(const std::vector<double>& shares, double stalls, std::vector<level_share>& levels) const {
    const auto weight = [&](std::size_t i) {
        return shares[i] * ((i < machine_.caches.size() ? machine_.caches[i].latency : machine_.memory.latency) - machine_.caches[0].latency);
    };
    double sum = 0;
    for (std::size_t i = 0; i < levels.size(); ++i) sum += weight(i);
    for (std::size_t i = 0; i < levels.size(); ++i) {
        levels[i].share = shares[i];
        levels[i].stall_cycles = sum > 0 ? stalls * weight(i) / sum : 0;
    }
}

/// Predicts one function into its empty share. Returns its executed instructions, of all threads.
/// pre: f.count > 0
inline predictor::tally predictor::predict_function(const function_features& f, const detail::memory_costs& memory, double part, int threads,
                                                    function_share& share) {
    const bool repeats = options_.superblocks && f.parallel && f.count > f.launches;
    const control_flow_graph repeated = repeats ? repeated_iterations(f) : control_flow_graph();
    const control_flow_graph& flow = repeats ? repeated : f.flow;
    lower(flow);
    const tally ran = count(flow);
    share.mispredict_cycles = simulate(flow, repeats ? f.launches : f.count, memory, ran, share) * part;
    const double stalls = fill_blocks(flow, part, memory.interval, share);
    if (f.parallel && threads > 1) share.launch_cycles = static_cast<double>(f.launches) * machine_.core.parallel_launch;
    share.cycles += share.launch_cycles;
    divide_stalls(memory.shares, stalls, share.levels);
    return ran;
}

/// Adds the function that was predicted last to the program.
inline void predictor::add_function(const function_share& share, const tally& ran, double part, prediction& out, totals& sum) const {
    const double touched = (ran.loads + ran.stores) * part;
    for (std::size_t i = 0; i < share.levels.size(); ++i) {
        out.levels[i].share += share.levels[i].share * touched;
        out.levels[i].stall_cycles += share.levels[i].stall_cycles;
    }
    out.mispredict_cycles += share.mispredict_cycles;
    out.launch_cycles += share.launch_cycles;
    out.cycles += share.cycles;
    for (std::size_t b = 0; b < share.blocks.size(); ++b) {
        const auto& block = share.blocks[b];
        const double cycles = block.cycles - mispredicted_[b] * part; // `finish` adds those of mispredicted branches
        sum.by_limit[static_cast<std::size_t>(block.limited_by)] += cycles;
        if (block.limited_by == limit::unit) sum.by_unit[unit_index(block.unit)] += cycles;
    }
    sum.accesses += touched;
    sum.ran.all += ran.all * part;
    sum.ran.unknown += ran.unknown * part;
    for (std::size_t i = 0; i < 3; ++i) sum.ran.by_source[i] += ran.by_source[i] * part;
}

/// Turns the sums over the functions into shares, the bottleneck and the time of the program.
inline void predictor::finish(totals& sum, prediction& out) const {
    for (auto& l : out.levels) l.share = sum.accesses > 0 ? l.share / sum.accesses : 0;
    if (sum.ran.all > 0) {
        out.unknown_share = sum.ran.unknown / sum.ran.all;
        for (std::size_t i = 0; i < 3; ++i) out.trust[i] = sum.ran.by_source[i] / sum.ran.all;
    }
    auto& by_limit = sum.by_limit;
    by_limit[static_cast<std::size_t>(limit::branches)] += out.mispredict_cycles;
    by_limit[static_cast<std::size_t>(limit::launch)] = out.launch_cycles;
    by_limit[static_cast<std::size_t>(limit::none)] = 0;
    if (out.cycles > 0 && options_.breakdown) {
        out.limited_by = static_cast<limit>(std::max_element(by_limit.begin(), by_limit.end()) - by_limit.begin());
        if (out.limited_by == limit::unit)
            out.unit = unit_name(static_cast<std::size_t>(std::max_element(sum.by_unit.begin(), sum.by_unit.end()) - sum.by_unit.begin()));
    }
    out.seconds = out.cycles / machine_.clock_hz;
}

inline result<prediction> predictor::predict(const program_features& p, int threads) {
    if (threads < 1) return error{errc::invalid_argument, "crop: expected at least 1 thread, got " + std::to_string(threads)};
    if (auto fits = check_features(p); !fits) return error{fits.error().code, "crop: " + fits.error().detail};
    prediction out;
    out.threads = (std::min)(threads, machine_.processors);
    const auto levels = empty_levels();
    out.levels = levels;
    totals sum;
    sum.by_limit.assign(limit_names.size(), 0.0);
    sum.by_unit.assign(machine_.units.size() + 1, 0.0);
    for (const auto& f : p.functions) {
        for (const auto& b : f.flow.values())
            for (const auto& i : b.code.values()) out.unknown += i.op == instruction_class::unknown ? 1U : 0U;
        auto& share = out.functions.emplace_back(empty_share(f, levels));
        if (f.count == 0) continue;
        const int together = f.parallel ? out.threads : 1; // that share caches and bandwidth
        const auto memory = detail::memory_costs_of(machine_, options_, f.memory.empty() ? p.memory : f.memory, together);
        if (!memory) return error{memory.error().code, "crop: function '" + f.name.substr(0, 80) + "': " + memory.error().detail};
        // Eq. 3 scales all counts of a function by the same factor.
        const double part = effective_count(f.count, 1, out.threads, f.parallel, f.launches) / static_cast<double>(f.count);
        const tally ran = predict_function(f, *memory, part, out.threads, share);
        add_function(share, ran, part, out, sum);
    }
    finish(sum, out);
    return out;
}

} // namespace augur::inline v0::crop

#endif
