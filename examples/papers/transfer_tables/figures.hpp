// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TRANSFER_TABLES_FIGURES_HPP
#define AUGUR_EXAMPLES_PAPERS_TRANSFER_TABLES_FIGURES_HPP

/// @file
/// Figures 1 and 4 to 8 of Transfer-Tuning for other networks, from the results of `transfer` and the logs of `tune` and `transfer`.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/workload/kernel.hpp>

#include "chart.hpp"
#include "transfer_results.hpp"

namespace transfer_figures {

/// A record of a log.
struct network_trial {
    double latency = 0;         ///< seconds; infinity: it failed
    std::int64_t timestamp = 0; ///< Unix seconds; 0: not known
    std::string source;         ///< kernel that the schedule is from, `augur::kernel::text`; empty: none
};
struct network_kernel_trials {
    augur::kernel workload;
    double uses = 1;
    std::vector<network_trial> trials; ///< in the order of the log, the untuned schedule first
};
/// What a log has of the kernels of a network.
struct network_log {
    std::string network;
    std::vector<network_kernel_trials> kernels;
};
/// Records of other kernels are passed over.
/// Errors: those of `augur::find_network` and of `augur::log_reader`; not_found (a kernel of the network has no record)
[[nodiscard]] augur::result<network_log> read_network_log(const std::string& network, const std::string& path);

/// What the figures are drawn from; a figure without data is left out.
struct figure_data {
    std::vector<examples::transfer_result> results;   ///< of a network, chooser and set of logs, the first result of each kernel counts
    std::vector<examples::transfer_result> elsewhere; ///< of kernels with the schedules of another machine
    std::vector<examples::transfer_result> lengths;   ///< of networks with the schedules of the same network at another length
    std::vector<network_log> searches;                ///< long searches
    std::vector<network_log> pairs;                   ///< all transferred schedules measured
};
struct figure {
    std::string name; ///< of its file, without ending
    examples::bar_chart chart;
};
[[nodiscard]] std::vector<figure> draw(const figure_data& data);

} // namespace transfer_figures

#endif
