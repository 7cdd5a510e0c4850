// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CROP_PREDICTOR_HPP
#define AUGUR_CROP_PREDICTOR_HPP

/// @file
/// Crop's analytical predictor (Sun et al. 2024): the run time of a program from its features and a machine description, without measurements.
///
/// ```cpp
/// auto features = augur::features_from_json(text);               // gathered anywhere
/// auto machine = augur::read_machine("target.json");
/// auto p = augur::crop::predict(*features, *machine, 8);         // p->seconds and their breakdown
/// ```
///
/// As published, the cost is the sum of T(block) * ECount over all blocks (Eq. 1). That overestimates loops, because an iteration starts before the
/// previous one has ended. So by default the sum runs over control-flow edges. The cost of an edge is the time that its target block b adds after its
/// source block p, T(p + b) - T(p); for the edge of a block to itself it is the time of one iteration in the steady state. A mispredicted edge costs
/// T(b) and the misprediction penalty.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/crop/prediction.hpp>
#include <augur/program/cache/access_costs.hpp>
#include <augur/program/features.hpp>
#include <augur/program/pipeline/edge_costs.hpp>
#include <augur/program/pipeline/register_traffic.hpp>
#include <augur/target/machine_check.hpp>

namespace augur::inline v0::crop {

/// Predicts programs for one machine. The cost tables are built once, by the constructor.
/// Threads    one thread per object
class predictor {
public:
    /// pre: check_machine(m)
    explicit predictor(machine m, options o = {})
        : machine_(std::move(m)), options_(o), costs_(std::make_unique<cost_table>(machine_)),
          edges_(*costs_, {o.units, o.front && o.units == unit_model::ideal}) {
        AUGUR_ASSERT(check_machine(machine_), "crop::predictor: check_machine");
    }

    [[nodiscard]] const machine& target() const noexcept { return machine_; }
    [[nodiscard]] const options& settings() const noexcept { return options_; }

    /// Predicts the run time of a program.
    /// @param threads  threads that run parallel functions, at least 1; limited to the number of processors of the machine
    /// @note errors: invalid_argument, inconsistent features (check_features) or less than 1 thread; shape_mismatch, profiles of another line size
    [[nodiscard]] result<prediction> predict(const program_features& p, int threads = 1);

private:
    /// Memory costs of a function.
    struct memory_costs {
        double extra = 0;           ///< cycles of a load beyond the latency of the first cache, Eq. 6
        double interval = 0;        ///< minimum cycles between two accesses due to bandwidth
        std::vector<double> shares; ///< shares of the accesses by cache level, then memory
    };
    /// Executed instructions of a function.
    struct tally {
        double loads = 0, stores = 0, all = 0, unknown = 0;
        std::array<double, 3> by_source{};
    };

    result<memory_costs> memory_of(const std::vector<memory_features>& list, int threads) const;
    static const associativity_profile* set_profile_for(const memory_features& m, const cache_level& cache);
    result<double> hits(const memory_features& m, const cache_level& cache, int threads) const;
    void lower(const control_flow_graph& flow);
    tally count(const control_flow_graph& flow) const;
    static control_flow_graph repeated_iterations(const function_features& f);
    double run(const control_flow_graph& flow, std::uint64_t entries, const std::vector<double>& misses);
    void limits(std::uint32_t b, double interval, double per_run, double stall, block_share& out);

    machine machine_;
    options options_;
    std::unique_ptr<cost_table> costs_; // at a stable address, because edges_ refers to it
    edge_costs edges_;
    std::vector<native_code> native_; ///< of all blocks of a function, in order
    std::deque<graphlet> rewritten_;  ///< blocks with register traffic added
    std::vector<lowered_block> lowered_;
    std::vector<double> cycles_, near_cycles_, unit_busy_; ///< by block; by block when every access hits the first cache; by unit
};

/// The exact profile for the sets and ways of a cache; null when there is none.
inline const associativity_profile* predictor::set_profile_for(const memory_features& m, const cache_level& cache) {
    for (const auto& s : m.sets)
        if (s.line_bytes == cache.line_bytes && s.sets == sets_of(cache) && s.hits.size() >= static_cast<std::size_t>(cache.ways)) return &s;
    return nullptr;
}

/// Hit rate of a cache over all accesses, with `threads` threads.
inline result<double> predictor::hits(const memory_features& m, const cache_level& cache, int threads) const {
    // Threads are spread evenly over the instances of a cache.
    const int instances = (std::max)(1, machine_.processors / cache.sharers);
    const int together = (std::min)(cache.sharers, (threads + instances - 1) / instances);
    if (together > 1 && m.threads > 1) return hit_rate(m.shared, cache);
    if (options_.set_profiles && together == 1)
        if (const auto* const sets = set_profile_for(m, cache)) return hit_rate(*sets, cache);
    if (together == 1) return hit_rate(m.own, cache);
    // Without a profile of interleaved threads, each thread has an equal part of the cache.
    auto part = cache;
    const auto sets = (std::max)(std::int64_t{1}, static_cast<std::int64_t>(sets_of(cache)) / together);
    part.bytes = sets * cache.ways * cache.line_bytes;
    return hit_rate(m.own, part);
}

inline result<predictor::memory_costs> predictor::memory_of(const std::vector<memory_features>& list, int threads) const {
    memory_costs out;
    const auto levels = machine_.caches.size();
    std::vector<double> rates(levels, 1.0);
    if (const auto* m = memory_for(list, threads)) {
        for (std::size_t i = 0; i < levels; ++i) {
            const auto rate = hits(*m, machine_.caches[i], threads);
            if (!rate) return rate.error();
            rates[i] = *rate;
        }
    }
    const auto access = memory_access_costs(machine_, rates, options_.eq6, threads);
    if (!access) return access.error();
    out.extra = access->latency - machine_.caches.front().latency;
    // The share of a level is Eq. 6 with cost 1 for that level and 0 for the others.
    std::vector<double> one(levels, 0.0), line_cycles(levels, 0.0);
    for (std::size_t i = 0; i < levels; ++i) {
        one[i] = 1;
        out.shares.push_back(average_cost(rates, one, 0, options_.eq6));
        one[i] = 0;
        const auto& c = machine_.caches[i];
        if (i > 0 && c.bytes_per_cycle > 0) line_cycles[i] = static_cast<double>(c.line_bytes) / c.bytes_per_cycle;
    }
    out.shares.push_back(average_cost(rates, one, 1, options_.eq6));
    if (options_.bandwidth) { // a miss of the first cache transfers a whole line; the load units limit the first cache itself
        const std::vector<double> none(levels, 0.0);
        const auto far = memory_access_costs(machine_, none, options_.eq6, threads); // cost of an access that misses all caches
        if (!far) return far.error();
        out.interval = average_cost(rates, line_cycles, far->cycles_per_byte * static_cast<double>(machine_.caches.back().line_bytes), options_.eq6);
        if (const auto* const m = memory_for(list, threads); m != nullptr && options_.set_profiles)
            if (const auto* const sets = set_profile_for(*m, machine_.caches.front()))
                out.interval = (std::max)(out.interval, cycles_of_sets(*sets, machine_.caches.front()));
    }
    return out;
}

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

/// Fills cycles_ with the cycles of all executions of each block. Returns the part of these cycles that mispredicted branches cost.
inline double predictor::run(const control_flow_graph& flow, std::uint64_t entries, const std::vector<double>& misses) {
    cycles_.assign(flow.size(), 0.0);
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
        mispredicted += n * missed * costs_->mispredict();
    }
    return mispredicted;
}

/// Finds the bottleneck of a block with `per_run` cycles for each execution, `stall` of them beyond the first cache.
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
        const auto u = static_cast<std::size_t>(busiest - unit_busy_.begin());
        out.unit = u < machine_.units.size() ? machine_.units[u].name : "default";
    }
}

inline result<prediction> predictor::predict(const program_features& p, int threads) {
    if (threads < 1) return error{errc::invalid_argument, "crop: expected at least 1 thread, got " + std::to_string(threads)};
    if (auto fits = check_features(p); !fits) return error{fits.error().code, "crop: " + fits.error().detail};
    prediction out;
    threads = (std::min)(threads, machine_.processors);
    out.threads = threads;
    tally ran;
    double accesses = 0;
    std::vector<double> limited(limit_names.size(), 0.0), by_unit(machine_.units.size() + 1, 0.0);
    for (std::size_t i = 0; i <= machine_.caches.size(); ++i)
        out.levels.push_back({i < machine_.caches.size() ? "L" + std::to_string(machine_.caches[i].level) : "memory", 0, 0});

    for (const auto& f : p.functions) {
        auto& share = out.functions.emplace_back();
        share.name = f.name;
        share.parallel = f.parallel;
        share.levels = out.levels;
        for (auto& l : share.levels) l = {std::move(l.name), 0, 0};
        for (const auto& b : f.flow.values()) {
            for (const auto& i : b.code.values()) out.unknown += i.op == instruction_class::unknown ? 1U : 0U;
            share.blocks.push_back({b.name, 0, 0, 0, limit::none, {}});
        }
        if (f.count == 0) continue;
        const auto memory = memory_of(f.memory.empty() ? p.memory : f.memory, threads);
        if (!memory) return error{memory.error().code, "crop: function '" + f.name.substr(0, 80) + "': " + memory.error().detail};
        // Eq. 3 scales all counts of a function by the same factor.
        const double part = effective_count(f.count, 1, threads, f.parallel, f.launches) / static_cast<double>(f.count);
        const bool repeats = options_.superblocks && f.parallel && f.count > f.launches;
        const control_flow_graph repeated = repeats ? repeated_iterations(f) : control_flow_graph();
        const control_flow_graph& flow = repeats ? repeated : f.flow;
        const std::uint64_t entries = repeats ? f.launches : f.count;
        lower(flow);
        const tally t = count(flow);
        // The load interval covers the bandwidth of loads and stores; a store counts twice (read for ownership and write-back).
        const double load_interval = t.loads > 0 ? memory->interval * (t.loads + 2 * t.stores) / t.loads : 0;
        const double store_interval = t.loads > 0 ? 0 : 2 * memory->interval;
        const auto misses = options_.branches && options_.superblocks ? branch_misses(flow, machine_.core.predicted_trips) : std::vector<double>{};

        const bool far = options_.breakdown && (memory->extra > 0 || memory->interval > 0);
        costs_->set_memory(0, 0);
        if (far) {
            run(flow, entries, misses);
            near_cycles_ = cycles_;
        }
        costs_->set_memory(memory->extra, load_interval, store_interval);
        share.mispredict_cycles = run(flow, entries, misses) * part;
        if (!far) near_cycles_ = cycles_;
        share.load_latency = machine_.caches.front().latency + memory->extra;
        share.load_interval = load_interval;
        double stalls = 0;
        for (std::uint32_t b = 0; b < flow.size(); ++b) {
            auto& block = share.blocks[b];
            block.count = static_cast<double>(flow[b].count) * part;
            block.cycles = cycles_[b] * part;
            block.stall_cycles = (std::max)(0.0, cycles_[b] - near_cycles_[b]) * part;
            share.cycles += block.cycles;
            stalls += block.stall_cycles;
            if (options_.breakdown && block.count > 0)
                limits(b, memory->interval, block.cycles / block.count, block.stall_cycles / block.count, block);
            limited[static_cast<std::size_t>(block.limited_by)] += block.cycles;
            if (block.limited_by == limit::unit) {
                std::size_t u = 0;
                while (u < machine_.units.size() && machine_.units[u].name != block.unit) ++u;
                by_unit[u] += block.cycles;
            }
        }
        if (f.parallel && threads > 1) share.launch_cycles = static_cast<double>(f.launches) * machine_.core.parallel_launch;
        share.cycles += share.launch_cycles;
        // Stalls are divided among the levels by accesses served times latency beyond that of the first level.
        double sum = 0;
        const auto weight = [&](std::size_t i) {
            return memory->shares[i] *
                   ((i < machine_.caches.size() ? machine_.caches[i].latency : machine_.memory.latency) - machine_.caches[0].latency);
        };
        for (std::size_t i = 0; i < share.levels.size(); ++i) sum += weight(i);
        const double touched = (t.loads + t.stores) * part;
        for (std::size_t i = 0; i < share.levels.size(); ++i) {
            share.levels[i].share = memory->shares[i];
            share.levels[i].stall_cycles = sum > 0 ? stalls * weight(i) / sum : 0;
            out.levels[i].share += memory->shares[i] * touched;
            out.levels[i].stall_cycles += share.levels[i].stall_cycles;
        }
        accesses += touched;
        out.mispredict_cycles += share.mispredict_cycles;
        out.launch_cycles += share.launch_cycles;
        out.cycles += share.cycles;
        ran.all += t.all * part;
        ran.unknown += t.unknown * part;
        for (std::size_t i = 0; i < 3; ++i) ran.by_source[i] += t.by_source[i] * part;
    }

    for (auto& l : out.levels) l.share = accesses > 0 ? l.share / accesses : 0;
    if (ran.all > 0) {
        out.unknown_share = ran.unknown / ran.all;
        for (std::size_t i = 0; i < 3; ++i) out.trust[i] = ran.by_source[i] / ran.all;
    }
    limited[static_cast<std::size_t>(limit::branches)] = out.mispredict_cycles;
    limited[static_cast<std::size_t>(limit::launch)] = out.launch_cycles;
    limited[static_cast<std::size_t>(limit::none)] = 0;
    if (out.cycles > 0 && options_.breakdown) {
        out.limited_by = static_cast<limit>(std::max_element(limited.begin(), limited.end()) - limited.begin());
        if (out.limited_by == limit::unit) {
            const auto u = static_cast<std::size_t>(std::max_element(by_unit.begin(), by_unit.end()) - by_unit.begin());
            out.unit = u < machine_.units.size() ? machine_.units[u].name : "default";
        }
    }
    out.seconds = out.cycles / machine_.clock_hz;
    return out;
}

/// Predicts one program on one machine. @note errors: those of predictor::predict and check_machine
[[nodiscard]] inline result<prediction> predict(const program_features& p, const machine& m, int threads = 1, options o = {}) {
    if (auto fits = check_machine(m); !fits) return fits.error();
    return predictor(m, o).predict(p, threads);
}

} // namespace augur::inline v0::crop

#endif
