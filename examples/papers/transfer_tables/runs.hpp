// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TRANSFER_TABLES_RUNS_HPP
#define AUGUR_EXAMPLES_PAPERS_TRANSFER_TABLES_RUNS_HPP

/// @file
/// The results of `transfer` run by run, for figures and tables.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "figures.hpp"

namespace transfer_figures {

/// One run of `transfer` with one chooser.
struct run {
    std::string network, chooser, logs, machine;
    std::vector<const examples::transfer_result*> kernels; ///< those with an untuned latency

    /// Sum over the kernels, each with its uses.
    template <class F>
    [[nodiscard]] double total(F&& of) const {
        double sum = 0;
        for (const auto* k : kernels) sum += k->uses * of(*k);
        return sum;
    }
    [[nodiscard]] double speedup() const {
        return untuned() / total([](const auto& k) { return k.latency; });
    }
    /// That of the long search; 0: it is not known for all kernels.
    [[nodiscard]] double full_speedup() const {
        return untuned() / total([](const auto& k) { return k.full > 0 ? k.full : std::numeric_limits<double>::infinity(); });
    }
    /// How many times as slow as the result of the long search.
    [[nodiscard]] double over_full() const { return full_speedup() / speedup(); }
    [[nodiscard]] double count(std::size_t examples::transfer_result::* what) const {
        double sum = 0;
        for (const auto* k : kernels) sum += static_cast<double>(k->*what);
        return sum;
    }

private:
    [[nodiscard]] double untuned() const {
        return total([](const auto& k) { return k.untuned; });
    }
};

/// All runs, in the order of the results; of a kernel the first result counts. A kernel whose untuned schedule has failed is left out.
inline std::vector<run> runs_of(std::span<const examples::transfer_result> results) {
    std::vector<run> out;
    for (const auto& r : results) {
        if (!(r.untuned > 0)) continue;
        auto at = std::find_if(out.begin(), out.end(), [&](const run& one) {
            return one.network == r.network && one.chooser == r.chooser && one.logs == r.logs && one.machine == r.machine;
        });
        if (at == out.end()) {
            out.push_back({r.network, r.chooser, r.logs, r.machine, {}});
            at = std::prev(out.end());
        }
        if (std::none_of(at->kernels.begin(), at->kernels.end(), [&](const auto* k) { return k->kernel == r.kernel; })) at->kernels.push_back(&r);
    }
    return out;
}

/// From the first to the last record.
inline double seconds_of(const network_log& log) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
    for (const auto& k : log.kernels)
        for (const auto& t : k.trials)
            if (t.timestamp > 0) {
                first = (std::min)(first, t.timestamp);
                last = (std::max)(last, t.timestamp);
            }
    return last > first ? static_cast<double>(last - first) : 0;
}

} // namespace transfer_figures

#endif
