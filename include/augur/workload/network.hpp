// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_NETWORK_HPP
#define AUGUR_WORKLOAD_NETWORK_HPP

/// @file
/// The kernels of a network and how often each is called: what a tuner sees of a network.

#include <algorithm>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0 {

/// A kernel of a network, and the number of its calls per inference.
struct network_kernel {
    kernel workload;
    int uses = 1;
};

/// A network: its distinct kernels, in the order of their first use.
struct network {
    std::string name;
    std::vector<network_kernel> kernels;

    /// Adds `uses` calls of a kernel.
    void add(const kernel& k, int uses = 1) {
        const auto position = std::find_if(kernels.begin(), kernels.end(), [&](const network_kernel& n) { return n.workload == k; });
        if (position != kernels.end()) position->uses += uses;
        else kernels.push_back({k, uses});
    }
    /// The same for what `kernel::parse` gives.   Errors: the one that `k` holds; nothing is added then
    result<void> add(const result<kernel>& k, int uses = 1) {
        if (!k) return k.error();
        add(*k, uses);
        return {};
    }
};

} // namespace augur::inline v0

#endif
