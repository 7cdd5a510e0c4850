// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_TLM_KERNELS_HPP
#define AUGUR_EXAMPLES_TOOLS_TLM_KERNELS_HPP

/// @file
/// Kernels to learn from.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/workload/kernel.hpp>

/// A kernel and the network that it is from, or is a variant of.
struct sourced_kernel {
    augur::kernel workload;
    std::string network;
};

/// Kernels of networks, then variants of them: other batches, image sizes, widths and lengths, another activation, no residual. Kernels that differ in
/// what variants keep (class, window, stride, groups, extents up to 4) have equally many variants, so that a corpus has all of them and not only what
/// one network has most of. Those of smaller counts are the first ones of larger ones.
///
/// @param left_out  networks none of whose workloads is among them; a kernel that `networks` share with them has variants all the same
/// Errors           those of `augur::find_network`; limit: there are not so many
[[nodiscard]] augur::result<std::vector<sourced_kernel>> varied_kernels(std::span<const std::string> networks, std::span<const std::string> left_out,
                                                                        std::size_t count, std::uint64_t seed);

#endif
