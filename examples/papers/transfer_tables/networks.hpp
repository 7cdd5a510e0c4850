// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TRANSFER_TABLES_NETWORKS_HPP
#define AUGUR_EXAMPLES_PAPERS_TRANSFER_TABLES_NETWORKS_HPP

/// @file
/// Tables 1 to 4 of Transfer-Tuning for other networks, from the logs of their searches and the results of `transfer`.

#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>

#include "figures.hpp"
#include "transfer_results.hpp"

namespace transfer_figures {

/// A log with the name that results have for it.
struct named_log {
    std::string name;
    network_log log;
};
struct table {
    std::string title;
    std::vector<std::vector<std::string>> rows;
};

/// The kernels of the first network; the classes of all; the sources that equation 1 chooses for each, and what was measured with their schedules; and how
/// much of speed-up and time of the long search the first chooser of the results has. A kernel's untuned latency is its first record.
/// Errors: those of `augur::loopnest::kernel_task::create`
[[nodiscard]] augur::result<std::vector<table>> tables_of(std::span<const named_log> logs, std::span<const examples::transfer_result> results);

} // namespace transfer_figures

#endif
