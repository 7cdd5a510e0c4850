// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_EXAMPLES_MADE_UP_RESULT_HPP
#define AUGUR_TESTS_EXAMPLES_MADE_UP_RESULT_HPP

// A result of the program `transfer` with all of its fields.

#include <cstddef>
#include <string>

#include "../../examples/support/transfer_results.hpp"

inline examples::transfer_result made_up_result(const std::string& network, const std::string& kernel, const std::string& chooser, double latency,
                                                std::size_t adapted = 5) {
    examples::transfer_result r;
    r.network = network;
    r.kernel = kernel;
    r.label = kernel + " label";
    r.machine = "a machine";
    r.chooser = chooser;
    r.uses = 2;
    r.untuned = 4;
    r.latency = latency;
    r.full = 1;
    r.measurements = 4;
    r.adapted = adapted;
    r.logs = "a, b";
    r.source = "dense:m=1";
    return r;
}

#endif
