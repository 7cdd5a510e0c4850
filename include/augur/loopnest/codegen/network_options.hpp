// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_NETWORK_OPTIONS_HPP
#define AUGUR_LOOPNEST_CODEGEN_NETWORK_OPTIONS_HPP

/// @file
/// How a network becomes a program: names, numbers of its constants, and what is timed.

#include <cstdint>
#include <map>
#include <string>

namespace augur::inline v0::loopnest {

/// Numbers of a network's constants and inputs in a file.
struct network_weights {
    std::string file; ///< float32 in the machine's byte order
    /// Where each begins, in bytes, by name: that of a node and an operand, `layer1.0.conv1.weight`, or that of an input. What has no place is filled by seed.
    std::map<std::string, std::int64_t> offsets;
};

/// How a network becomes a program.
struct network_options {
    unsigned id = 0;                          ///< makes the names of a translation unit distinct
    std::uint64_t seed = 1;                   ///< of inputs and weights
    const network_weights* weights = nullptr; ///< null: by seed
    /// An element-wise kernel may write where its first input lies, if nobody reads that afterwards. Not for kernels whose pointers are restricted, as those
    /// of `naive_program` are.
    bool in_place = true;
    /// 0: one call is one run. Else one call is so many runs, and the last buffer, an output, has the seconds of each step of each run.
    int timed_runs = 0;
};

} // namespace augur::inline v0::loopnest

#endif
