// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_BENCH_TLP_ROUNDS_HPP
#define AUGUR_BENCH_TLP_ROUNDS_HPP

/// @file
/// Real rounds: the candidates that a search would score for a kernel, drawn by the library's own sampler; no data file is needed.

#include <cstddef>
#include <string_view>
#include <vector>

#include <augur/schedule/steps.hpp>
#include <augur/workload/kernel.hpp>

namespace tlp_rounds {

/// The task of every benchmark: a score does not depend on it.
struct any_task {
    [[nodiscard]] static std::string_view key() { return "conv2d"; }
};

/// `n` distinct candidates of one kernel, fixed seed; fewer where the space has no more.
std::vector<augur::step_list> round_of(const augur::kernel& what, std::size_t n);

/// The convolutions of resnet_50 and mobilenet_v2, each once.
std::vector<augur::kernel> convolutions();

} // namespace tlp_rounds

#endif
