// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_REPORT_HPP
#define AUGUR_SESSION_REPORT_HPP

/// @file
/// The data of a session's report: machine, compiler, kernels with their baselines and limits, searches with their trials and best schedules.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/run/roofline.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/options.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/summary.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/workload/class_levels.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0 {

/// A short name of a kernel for tables: `conv2d 56x56x64->64 3x3/1 +bias +relu`. Parameters that have their usual value are left out: a batch of 1, no
/// dilation (d2), one group (g32), a border of half the window (p0, p0x1x2x1), no output padding (op1), a Winograd tile of 4 (t2), channels last, A B^T.
[[nodiscard]] inline std::string kernel_label(const kernel& k) {
    std::string out(to_string(k.kind()));
    const auto sizes = [&](std::initializer_list<const char*> names) {
        for (const auto* name : names) out.append(name == *names.begin() ? " " : "x").append(std::to_string(k[name]));
    };
    const auto unless = [&](std::int64_t usual, const char* name, const char* sign) {
        if (const auto value = k.value_or(name, usual); value != parameter_value(usual)) out.append(" ").append(sign).append(value.text());
    };
    if (!k.is_image()) {
        if (k.kind() == kernel_kind::batch_matmul) sizes({"b", "m", "n", "k"});
        else if (k.value_or("k", 0)[0] != 0) sizes({"m", "n", "k"});
        else if (k.value_or("inner", 1)[0] != 1) sizes({"m", "n", "inner"});
        else sizes({"m", "n"});
        if (k.value_or("transa", 0)[0] != 0 || k.value_or("transb", 1)[0] != 1)
            out.append(k["transa"] != 0 ? " T" : " N").append(k["transb"] != 0 ? "T" : "N");
    } else {
        out.append(" ").append(k["n"] == 1 ? "" : std::to_string(k["n"]) + "x");
        std::string window;
        bool usual_border = true;
        for (std::size_t axis = 0; axis < k.rank(); ++axis) {
            const auto w = k.window(axis);
            out.append(std::to_string(w.in)).append("x");
            window.append(axis == 0 ? " " : "x").append(std::to_string(w.k));
            usual_border = usual_border && w.pad_before == (w.span() - 1) / 2 && w.pad_behind == w.pad_before;
        }
        out.append(std::to_string(k["c"]));
        if (const auto f = k.value_or("f", 0)[0]; f != 0) out.append("->").append(std::to_string(f));
        if (k.kind() != kernel_kind::elementwise && k.kind() != kernel_kind::global_avg_pool2d) {
            out.append(window).append("/").append(k.value_or("stride", 1).text());
            unless(1, "dilation", "d");
            unless(1, "groups", "g");
            if (!usual_border) unless(-1, "pad", "p");
            unless(0, "opad", "op");
            unless(4, "tile", "t");
        }
        if (k.layout() == tensor_layout::nchw) out.append(" ").append(to_string(k.layout(), k.rank()));
    }
    for (const auto op : k.fused()) out.append(" +").append(to_string(op));
    return out;
}

/// The resource whose measured peak gives the least latency of a kernel.
enum class roofline_bound : std::uint8_t {
    multiply_adds,  ///< peak of fused multiply-adds
    read_bandwidth, ///< of the cache or memory that holds the kernel's data
    function,       ///< throughput of an elementary function, e.g. exp
};

/// A kernel of the session, and what its tuned latency is compared with. Latencies are in seconds.
struct kernel_report {
    std::string label; ///< `kernel_label`
    double uses = 1;   ///< calls per inference
    double flops = 0;
    double needed_flops = 0;                              ///< `flops` without products with the zeros that a transposed convolution inserts
    double bytes = 0;                                     ///< that must be read and written at least
    double naive = 0;                                     ///< one thread, the loops of the definition; 0: not measured
    double untuned = 0;                                   ///< `loopnest::untuned_schedule`; 0: not measured
    double limit = 0;                                     ///< the least that the measured roofline allows; 0: not known
    roofline_bound bound = roofline_bound::multiply_adds; ///< what gives the limit
    loopnest::expr_op function{};                         ///< for a bound of `function`: exp, tanh, erf, sqrt or div
    std::optional<machine_identity> elsewhere{};          ///< another machine, from whose log all its latencies are; none: this machine

    /// The name of the bound in tables: fma, read, or that of the function.
    [[nodiscard]] std::string_view bound_name() const {
        if (bound != roofline_bound::function) return bound == roofline_bound::read_bandwidth ? "read" : "fma";
        switch (function) {
        case loopnest::expr_op::exp: return "exp";
        case loopnest::expr_op::tanh: return "tanh";
        case loopnest::expr_op::erf: return "erf";
        case loopnest::expr_op::sqrt: return "sqrt";
        default: return "div";
        }
    }
};

/// A schedule and its recorded latency in seconds.
struct scheduled_latency {
    double latency = 0;
    step_list schedule;
};

/// A schedule of another kernel that was proposed for a kernel.
struct transferred_schedule {
    std::string source;                              ///< the workload of the kernel that it is of
    class_level level{};                             ///< the finest level at which the kernels agree
    std::size_t equal = 0, changed = 0, unnamed = 0; ///< see `transfer::transferred_point`
    double latency = 0;                              ///< in seconds; infinity: it failed; 0: not measured
    outcome status{};                                ///< of its measurement, if there is one
    step_list schedule;

    /// In words, for a log and for tables.
    [[nodiscard]] std::string text() const {
        return "transfer from " + source + ", same " + std::string(to_string(level)) + ", " + std::to_string(equal) + " decisions equal, " +
               std::to_string(changed) + " changed, " + std::to_string(unnamed) + " of its own";
    }
};

/// What the logs of other kernels have for a kernel.
struct kernel_transfers {
    std::vector<transferred_schedule> proposed;                        ///< the first one was measured first
    std::size_t adapted = 0;                                           ///< different schedules, of which those were chosen
    std::array<std::size_t, transfer::refusal_names.size()> refused{}; ///< schedules of the pool, by `transfer::refusal`
};

/// One search over all kernels. A vector with one element per kernel has the order of the session's kernels.
struct search_report {
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    std::string name;
    std::vector<std::vector<double>> latencies;            ///< per kernel: of its trials in order, seconds; infinity if one failed
    std::vector<std::vector<scheduled_latency>> finalists; ///< per kernel: the best few by their records, best first
    std::vector<double> best_latency;                      ///< per kernel: of its trials, as recorded; infinity if all failed
    std::vector<double> checked_latency;                   ///< per kernel: of the best finalist, measured again at the end; 0: not measured
    std::vector<scheduled_latency> result;                 ///< per kernel: the better of what the search found and the untuned schedule
    std::vector<kernel_transfers> transfers;               ///< per kernel; empty without `session_options::transfer_from`
    outcome_counts counts{};
    std::array<std::string, outcome_kinds> first_reason; ///< per outcome: kernel and reason of the first trial
    std::optional<tuning_summary> summary;               ///< none if the search ended by an error
    std::optional<error> failed;
    std::vector<std::string> notes; ///< about the log and the records that were taken from it

    search_report() = default;
    /// A search of so many kernels that has measured nothing.
    search_report(std::string search_name, std::size_t kernels)
        : name(std::move(search_name)), latencies(kernels), finalists(kernels), best_latency(kernels, infinity), checked_latency(kernels, 0.0),
          result(kernels, scheduled_latency{infinity, {}}) {}

    /// The latency that the search found for a kernel: measured again where that was done, for the minimum of many measurements is biased.
    [[nodiscard]] double found(std::size_t kernel) const { return checked_latency[kernel] > 0 ? checked_latency[kernel] : best_latency[kernel]; }
};

/// All that a session knows for its report.
struct session_report {
    machine host; ///< the machine that it ran on
    int threads = 1;
    toolchain made_with; ///< this machine, compiler and flags of the candidates
    session_options options;
    std::vector<kernel_report> kernels;
    loopnest::roofline roofline;         ///< zeros: not measured
    std::string roofline_error;          ///< why a limit could not be measured, the first reason; empty: all were
    std::vector<search_report> searches; ///< the last one counts, the others are compared with it

    /// Weighted sum of the result latencies of a search, seconds; infinity if a kernel has none.
    [[nodiscard]] double network_latency(std::size_t search) const {
        double sum = 0;
        for (std::size_t k = 0; k < kernels.size(); ++k) sum += kernels[k].uses * searches[search].result[k].latency;
        return sum;
    }
};

} // namespace augur::inline v0

#endif
