// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_PIPELINE_COSTS_HPP
#define AUGUR_PROGRAM_PIPELINE_COSTS_HPP

/// @file
/// Lowers the instructions of a graphlet to native instructions of a machine (parts, folds, fusions) with their latencies and units: the only view of
/// the machine that the pipeline simulator has.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/program/graph/graphlet.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

/// The cost of a native instruction.
struct cost_row {
    double latency = 0; ///< cycles from start to result
    double busy = 0;    ///< cycles for which the instruction occupies a unit
    std::uint8_t first_unit = 0;
    std::uint8_t units = 1; ///< number of equal units, numbered from first_unit
    provenance from = provenance::defaulted;
};

/// The native instructions of a vertex: `parts` instructions of one cost row. 0 parts: the vertex folds away, and its result time is that of its
/// operands.
struct native_code {
    static constexpr std::uint16_t no_slot = 0x8000; ///< flag in `row`: a memory operand of another instruction, which takes no issue slot

    std::uint16_t row = 0;
    std::uint16_t parts = 0;

    [[nodiscard]] std::size_t row_index() const noexcept { return row & (no_slot - 1U); }
    /// Issue slots in the front end of the core.
    [[nodiscard]] unsigned slots() const noexcept { return (row & no_slot) != 0 ? 0U : parts; }
    friend bool operator==(const native_code&, const native_code&) = default;
};

/// Look-up table of the instruction costs of a machine.
///
/// An instruction class and type that the machine lists has the listed cost: that of the shortest listed vector with enough lanes, or several parts
/// of the longest one. A type that is not listed takes the cost of the same class with the nearest type; a class that is not listed takes a textbook
/// default. Both have the provenance `defaulted`. On a machine without multiply-add, `fma` costs a multiplication and an addition.
///
/// Threads    const use from many threads
class cost_table {
public:
    /// pre: check_machine(m)
    explicit cost_table(const machine& m);

    [[nodiscard]] const cost_row& row(std::size_t i) const noexcept { return rows_[i]; }
    /// The number of units of all kinds.
    [[nodiscard]] std::size_t units() const noexcept { return units_; }
    /// The index in `machine::units` of the unit of a row; machine::units.size() for the units of default costs.
    [[nodiscard]] std::size_t unit_of(const cost_row& r) const noexcept { return unit_names_[r.first_unit]; }
    [[nodiscard]] double issue_width() const noexcept { return issue_width_; }
    [[nodiscard]] double window() const noexcept { return window_; }
    [[nodiscard]] double mispredict() const noexcept { return mispredict_; }

    /// The native instructions of one instruction, without folds and fusions.
    [[nodiscard]] native_code look_up(const instruction& i) const noexcept {
        const entry& e = entries_[(static_cast<std::size_t>(i.op) * element_types + static_cast<std::size_t>(i.type)) * buckets + bucket(i.lanes)];
        const std::uint32_t parts = (i.lanes + (1U << e.lanes_log2) - 1) >> e.lanes_log2;
        return {e.row, static_cast<std::uint16_t>((std::min)(parts, 65535U))};
    }
    /// The same for a load that reads the value of a store in flight (store-to-load forwarding).
    [[nodiscard]] native_code forwarded(native_code c) const noexcept {
        c.row = static_cast<std::uint16_t>(forwarded_[c.row_index()] | (c.row & native_code::no_slot));
        return c;
    }
    [[nodiscard]] bool folds(fold_hint f) const noexcept { return ((folds_ >> static_cast<unsigned>(f)) & 1U) != 0; }

    /// Lowers each instruction of a graphlet, with the folds and fusions of the machine.
    /// @param out  (V) native instructions, by vertex; overwritten
    /// @return     the number of instructions of an unknown class
    std::size_t lower(const graphlet& g, std::vector<native_code>& out) const;

    /// Sets the memory costs: loads take `extra` cycles more than a hit in the first cache; at most one load starts in `load_interval` cycles, and
    /// one store in `store_interval` cycles. With 0, 0 and 0 every access hits the first cache.
    void set_memory(double extra, double load_interval, double store_interval = 0) {
        for (const auto& r : memory_rows_) {
            const double interval = r.load ? load_interval : store_interval;
            rows_[r.at].latency = r.base.latency + (r.load ? extra : 0);
            rows_[r.at].busy = (std::max)(r.base.busy, interval * r.base.units);
        }
    }

    static constexpr bool is_load(instruction_class c) noexcept { return c == instruction_class::load || c == instruction_class::gather; }

private:
    static constexpr std::size_t buckets = 11; ///< 1, 2, 4, ..., 1024 lanes
    struct entry {
        std::uint16_t row = 0;
        std::uint8_t lanes_log2 = 0; ///< log2 of the lanes of the native instruction
    };
    static std::size_t bucket(std::uint32_t lanes) noexcept {
        return (std::min)(buckets - 1, static_cast<std::size_t>(std::bit_width((std::max)(lanes, 1U) - 1U)));
    }

    std::vector<cost_row> rows_;
    std::vector<std::uint16_t> forwarded_;
    struct memory_row {
        std::uint16_t at;
        bool load;
        cost_row base; ///< the costs of a hit in the first cache
    };
    std::vector<memory_row> memory_rows_;
    std::vector<std::uint16_t> unit_names_;
    std::array<entry, instruction_classes * element_types * buckets> entries_{};
    std::size_t units_ = 0;
    std::uint32_t folds_ = 0;
    double issue_width_ = 4, window_ = 224, mispredict_ = 15;
};

namespace detail {

/// Default cost of an instruction class that the machine does not list. Arithmetic has the cost of a current core; a function of the mathematical
/// library is called for each lane. An unknown instruction costs more than an addition, so that a program with many of them does not look fast.
struct default_cost {
    double latency;    ///< cycles
    double throughput; ///< cycles between two instructions on one unit
    bool vector;       ///< one instruction for a whole register; else one for each lane
};
inline constexpr std::array<default_cost, instruction_classes> default_costs{{
    {4, 1, true},    // unknown
    {4, 0.5, true},  // fadd
    {4, 0.5, true},  // fmul
    {4, 0.5, true},  // fma
    {14, 6, true},   // fdiv
    {16, 8, true},   // fsqrt
    {3, 0.5, true},  // fminmax
    {2, 0.5, true},  // compare
    {1, 0.5, true},  // select
    {1, 0.33, true}, // ialu
    {4, 1, true},    // imul
    {20, 10, false}, // idiv
    {4, 1, true},    // convert
    {2, 1, true},    // shuffle
    {10, 3, true},   // reduce
    {4, 0.5, true},  // load; the latency is that of the first cache
    {1, 1, true},    // store
    {6, 1, false},   // gather
    {2, 1, false},   // scatter
    {1, 1, true},    // branch
    {1, 0.25, true}, // move
    {40, 20, false}, // exp
    {40, 20, false}, // log
    {60, 30, false}, // tanh
    {60, 30, false}, // erf
    {80, 40, false}, // pow
    {30, 20, false}, // call
}};

} // namespace detail

inline cost_table::cost_table(const machine& m)
    : folds_(m.core.folds), issue_width_(m.core.issue_width), window_(m.core.window), mispredict_(m.core.mispredict) {
    std::vector<std::uint8_t> first;
    for (std::size_t u = 0; u < m.units.size(); ++u) {
        first.push_back(static_cast<std::uint8_t>(units_));
        units_ += static_cast<std::size_t>(m.units[u].count);
        unit_names_.resize(units_, static_cast<std::uint16_t>(u));
    }
    const double hit = m.caches.empty() ? 4 : m.caches.front().latency;
    const auto add_row = [&](double latency, double busy, std::uint8_t unit, std::uint8_t count, provenance from, instruction_class op) {
        const auto at = static_cast<std::uint16_t>(rows_.size());
        rows_.push_back({latency, busy, unit, count, from});
        forwarded_.push_back(at);
        if (is_load(op) || op == instruction_class::store) memory_rows_.push_back({at, is_load(op), rows_.back()});
        if (is_load(op)) {
            rows_.push_back({m.core.store_forward, busy, unit, count, from}); // the same load after a store: forwarded
            forwarded_.back() = static_cast<std::uint16_t>(at + 1);
            forwarded_.push_back(static_cast<std::uint16_t>(at + 1));
        }
        return at;
    };
    const auto row_of = [&](const instruction_cost& c, provenance from) {
        const auto& unit = m.units[c.unit];
        return add_row(c.latency, c.throughput * unit.count, first[c.unit], static_cast<std::uint8_t>(unit.count), from, c.op);
    };
    auto costs = m.costs;
    if (std::none_of(costs.begin(), costs.end(), [](const auto& c) { return c.op == instruction_class::fma; }))
        for (const auto& x : m.costs) // a multiplication followed by an addition
            for (const auto& y : m.costs)
                if (x.op == instruction_class::fmul && y.op == instruction_class::fadd && x.type == y.type && x.lanes == y.lanes)
                    costs.push_back(
                        {instruction_class::fma, x.type, x.lanes, x.latency + y.latency, x.throughput + y.throughput, x.unit, provenance::defaulted});
    std::vector<std::uint16_t> listed, derived(costs.size(), 0); // rows of listed costs; rows of the same costs for types that are not listed
    std::array<std::vector<std::size_t>, instruction_classes> of_class;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        listed.push_back(row_of(costs[i], costs[i].from));
        of_class[static_cast<std::size_t>(costs[i].op)].push_back(i);
    }
    for (std::size_t op = 0; op < instruction_classes; ++op) {
        std::uint16_t fallback = 0;
        if (of_class[op].empty()) { // nothing listed: the class gets a unit of its own
            const auto& d = detail::default_costs[op];
            const auto kind = static_cast<instruction_class>(op);
            const double latency = kind == instruction_class::load ? hit : kind == instruction_class::gather ? hit + 2 : d.latency;
            unit_names_.push_back(static_cast<std::uint16_t>(m.units.size()));
            fallback = add_row(latency, d.throughput, static_cast<std::uint8_t>(units_++), 1, provenance::defaulted, kind);
        }
        for (std::size_t t = 0; t < element_types; ++t) {
            const auto type = static_cast<element_type>(t);
            const auto distance = [&](std::size_t i) { // float or integer first, then the size
                const auto other = costs[i].type;
                return (is_float(other) == is_float(type) ? 0 : 1000) + std::abs(bytes_of(other) - bytes_of(type)) * 10 + (other == type ? 0 : 1);
            };
            const auto near = std::min_element(of_class[op].begin(), of_class[op].end(), [&](auto a, auto b) { return distance(a) < distance(b); });
            for (std::size_t b = 0; b < buckets; ++b) {
                entry& e = entries_[(op * element_types + t) * buckets + b];
                if (of_class[op].empty()) {
                    const auto lanes = detail::default_costs[op].vector ? (std::max)(m.vector_bytes / bytes_of(type), std::int64_t{1}) : 1;
                    e = {fallback, static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(lanes)) - 1)};
                    continue;
                }
                // The shortest listed vector with at least 2^b lanes, or the longest one. A vector of another type has as many lanes as fit its
                // bytes.
                const auto listed_type = costs[*near].type;
                const auto wanted = std::int64_t{1} << b;
                std::size_t best = costs.size();
                std::int64_t best_lanes = 0;
                for (const auto i : of_class[op]) {
                    const auto& c = costs[i];
                    if (c.type != listed_type) continue;
                    const std::int64_t lanes = c.lanes == 1 ? 1 : (std::max)(c.lanes * bytes_of(c.type) / bytes_of(type), std::int64_t{1});
                    const bool better = best == costs.size() || (lanes >= wanted ? best_lanes < wanted || lanes < best_lanes : lanes > best_lanes);
                    if (better) best = i, best_lanes = lanes;
                }
                e = {listed[best], static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(best_lanes)) - 1)};
                if (listed_type == type || (type == element_type::i1 && listed_type == element_type::i8)) continue;
                if (derived[best] == 0) derived[best] = row_of(costs[best], provenance::defaulted); // 0 means none: row 0 is always a listed row
                e.row = derived[best];
            }
        }
    }
    AUGUR_ASSERT(units_ <= 255 && rows_.size() < native_code::no_slot, "cost_table: check_machine bounds these");
}

inline std::size_t cost_table::lower(const graphlet& g, std::vector<native_code>& out) const {
    constexpr std::uint16_t fused = 1, behind_store = 2; // flags for later vertices, kept in `parts`
    const auto code = g.values();
    const auto rows = g.rows();
    const auto targets = g.targets();
    std::size_t unknown = 0;
    out.assign(code.size(), native_code{});
    for (std::size_t v = 0; v < code.size(); ++v) {
        instruction i = code[v];
        const auto notes = out[v].parts;
        if ((notes & fused) != 0) i.op = instruction_class::fma;
        native_code c = look_up(i);
        if ((notes & behind_store) != 0) c = forwarded(c);
        unknown += i.op == instruction_class::unknown ? 1 : 0;
        if (i.op == instruction_class::store)
            for (auto e = rows[v]; e < rows[v + 1]; ++e)
                if (is_load(code[targets[e]].op)) out[targets[e]].parts |= behind_store;
        if (i.fold != fold_hint::none && folds(i.fold)) {
            if (i.fold == fold_hint::operand) {
                c.row |= native_code::no_slot;
            } else if (i.fold != fold_hint::multiply_add) {
                c.parts = 0;
            } else if (rows[v + 1] - rows[v] == 1) {
                const auto user = targets[rows[v]];
                const bool takes = code[user].op == instruction_class::fadd && code[user].type == i.type && code[user].lanes == i.lanes;
                if (takes && (out[user].parts & fused) == 0) { // an addition fuses with one multiplication, the earlier one
                    out[user].parts |= fused;
                    c.parts = 0;
                }
            }
        }
        out[v] = c;
    }
    return unknown;
}

} // namespace augur::inline v0

#endif
