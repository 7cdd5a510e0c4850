// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_TLM_ITERATE_HPP
#define AUGUR_EXAMPLES_TOOLS_TLM_ITERATE_HPP

/// @file
/// Iterative optimisation of a language model (Zhai et al. 2024, section 5.3).

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/session/options.hpp>
#include <augur/workload/kernel.hpp>

/// Kernels in batches: each batch is measured with programs of the model that was fine-tuned on the batches before.
struct iteration {
    augur::session_options
        options;        ///< kernels, machine, the language model of the beginning, and logs that it learns from as well (`demonstrations`)
    std::string folder; ///< a log a batch; the same call goes on with them
    std::size_t batches = 4;
    std::size_t programs = 16; ///< of a kernel in its batch, on average
    std::size_t lag = 0;       ///< the latest batches that a model does not know yet; the authors', who train while they measure: 1
};

/// The logs of all batches, in their order, after measuring what is missing.
///
/// Kernels are sorted by class and dealt out, so that each batch has some of each class. Prints a row a batch, and after how many programs a kernel
/// each batch converged. Convergence is judged by the first `programs` programs of each kernel; it has more if search spaces of others have ended.
/// Errors: those of the session; interrupted
[[nodiscard]] augur::result<std::vector<std::string>> measure_batches(const iteration& it);

/// Copies the records of a tuning log to another file, which is replaced, without those of some kernels. Damaged lines are not copied.
/// @return  how many records were copied
/// Errors: those of `log_reader` and `replace_file`
[[nodiscard]] augur::result<std::size_t> copy_records(const std::string& from, const std::string& to, std::span<const augur::kernel> left_out);

#endif
