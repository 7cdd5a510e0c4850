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
/// previous one has ended. So by default the sum runs over control-flow edges (program/pipeline/edge_costs.hpp). The cost of an edge is the time that
/// its target block b adds in the middle of a control-flow path that fills the instruction window; for the edge of a block to itself it is the time of
/// one iteration in the steady state. (The paper's superblock, T(p + b) - T(p), sees two blocks only.) A mispredicted edge costs T(b) and the
/// misprediction penalty.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/crop/detail/memory_costs.hpp>
#include <augur/crop/prediction.hpp>
#include <augur/program/features.hpp>
#include <augur/program/pipeline/edge_costs.hpp>
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
    /// Executed instructions of a function.
    struct tally {
        double loads = 0, stores = 0, all = 0, unknown = 0;
        std::array<double, 3> by_source{};
    };

    /// Sums over the functions of a program.
    struct totals {
        tally ran;
        double accesses = 0;
        std::vector<double> by_limit, by_unit; ///< cycles; the last unit is that of default costs
    };

    void lower(const control_flow_graph& flow);
    tally count(const control_flow_graph& flow) const;
    static control_flow_graph repeated_iterations(const function_features& f);
    double run(const control_flow_graph& flow, std::uint64_t entries, const std::vector<double>& misses);
    void limits(std::uint32_t b, double interval, double per_run, double stall, block_share& out);
    std::vector<level_share> empty_levels() const;
    static function_share empty_share(const function_features& f, const std::vector<level_share>& levels);
    double simulate(const control_flow_graph& flow, std::uint64_t entries, const detail::memory_costs& memory, const tally& ran,
                    function_share& share);
    double fill_blocks(const control_flow_graph& flow, double part, double interval, function_share& share);
    void divide_stalls(const std::vector<double>& shares, double stalls, std::vector<level_share>& levels) const;
    tally predict_function(const function_features& f, const detail::memory_costs& memory, double part, int threads, function_share& share);
    std::size_t unit_index(const std::string& name) const;
    std::string unit_name(std::size_t unit) const;
    void add_function(const function_share& share, const tally& ran, double part, prediction& out, totals& sum) const;
    void finish(totals& sum, prediction& out) const;

    machine machine_;
    options options_;
    std::unique_ptr<cost_table> costs_; // at a stable address, because edges_ refers to it
    edge_costs edges_;
    std::vector<native_code> native_; ///< of all blocks of a function, in order
    std::deque<graphlet> rewritten_;  ///< blocks with register traffic added
    std::vector<lowered_block> lowered_;
    std::vector<double> cycles_, near_cycles_, unit_busy_; ///< by block; by block when every access hits the first cache; by unit
    std::vector<double> mispredicted_;                     ///< by block, cycles of mispredicted branches
};

/// Predicts one program on one machine. @note errors: those of predictor::predict and check_machine
[[nodiscard]] inline result<prediction> predict(const program_features& p, const machine& m, int threads = 1, options o = {}) {
    if (auto fits = check_machine(m); !fits) return fits.error();
    return predictor(m, o).predict(p, threads);
}

} // namespace augur::inline v0::crop

#include <augur/crop/detail/predictor_impl.hpp>

#endif
