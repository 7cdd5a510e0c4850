// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_TLM_ITERATE_HPP
#define AUGUR_EXAMPLES_TOOLS_TLM_ITERATE_HPP

/// @file
/// Iterative optimisation of a language model (Zhai et al. 2024, section 5.3).

#include <cstddef>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/session/options.hpp>

/// Kernels in batches: each batch is measured with programs of the model that was fine-tuned on the batches before.
struct iteration {
    augur::session_options
        options;        ///< kernels, machine, the language model of the beginning, and logs that it learns from as well (`demonstrations`)
    std::string folder; ///< a log a batch; the same call goes on with them
    std::size_t batches = 4;
    std::size_t programs = 16; ///< of a kernel in its batch
    std::size_t lag = 0;       ///< the latest batches that a model does not know yet; the authors', who train while they measure: 1
};

/// The logs of all batches, in their order, after measuring what is missing.
///
/// Kernels are sorted by class and dealt out, so that each batch has some of each class. Prints a row a batch, and after how many programs a kernel
/// each batch converged.
/// Errors: those of the session; interrupted
[[nodiscard]] augur::result<std::vector<std::string>> measure_batches(const iteration& it);

#endif
