// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TRANSFER_SOURCE_RANKING_HPP
#define AUGUR_TRANSFER_SOURCE_RANKING_HPP

/// @file
/// Which network has the schedules that are worth most to another one: the selection heuristic of Transfer-Tuning (section 4.4, equation 1).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur::inline v0::transfer {

/// What a network has of one kernel class.
struct class_share {
    std::string kernel_class;
    std::size_t kernels = 0; ///< kernels of the class that differ, |W_Tc|; how often each of them is used does not count
    double share = 0;        ///< of the time of the untuned network, P_c, 0 to 1
};

/// How the classes that target and source share are weighed.
enum class source_rule : std::uint8_t {
    square_root, ///< P_c^2 sqrt(|W_Tc|): equation 1
    linear,      ///< P_c^2 |W_Tc|, which fits the paper's table as well
};

/// The value of a source for a target: the sum over the classes of the target of P_c^2 sqrt(|W_Tc|). A class whose share is not finite counts nothing.
///
/// Cost  the product of the two numbers of classes
[[nodiscard]] inline double source_value(std::span<const class_share> target, std::span<const class_share> source,
                                         source_rule rule = source_rule::square_root) {
    double sum = 0;
    for (const auto& t : target)
        for (const auto& s : source) {
            if (s.kernel_class != t.kernel_class || !std::isfinite(t.share)) continue;
            const auto count = static_cast<double>(s.kernels);
            sum += t.share * t.share * (rule == source_rule::square_root ? std::sqrt(count) : count);
        }
    return sum;
}

/// A source with its value. Sources of equal value have equal ranks, from 1: the heuristic does not tell between them.
struct ranked_source {
    std::size_t source = 0; ///< index in the list of sources
    double value = 0;
    std::size_t rank = 1; ///< 1 + the number of sources of a higher value
    bool tied = false;    ///< another source has the same value
};

/// The sources for a target, the best first, equal ones in their order.
///
/// @param same_value  values that differ by at most this fraction of the larger one are equal: sums of the same terms may differ in their last bits
[[nodiscard]] inline std::vector<ranked_source> rank_sources(std::span<const class_share> target,
                                                             std::span<const std::span<const class_share>> sources,
                                                             source_rule rule = source_rule::square_root, double same_value = 1e-12) {
    std::vector<ranked_source> out;
    for (std::size_t i = 0; i < sources.size(); ++i) out.push_back({i, source_value(target, sources[i], rule)});
    std::sort(out.begin(), out.end(),
              [](const ranked_source& a, const ranked_source& b) { return a.value != b.value ? a.value > b.value : a.source < b.source; });
    for (std::size_t begin = 0, end = 0; begin < out.size(); begin = end) {
        end = begin + 1;
        while (end < out.size() && out[begin].value - out[end].value <= same_value * out[begin].value) ++end;
        std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.begin() + static_cast<std::ptrdiff_t>(end),
                  [](const ranked_source& a, const ranked_source& b) { return a.source < b.source; });
        for (std::size_t i = begin; i < end; ++i) {
            out[i].rank = begin + 1;
            out[i].tied = end - begin > 1;
        }
    }
    return out;
}

/// What a transfer from a source would measure, one schedule for each kernel of a class.
struct pair_counts {
    std::size_t pairs = 0;         ///< (kernel of the target, schedule of the source) of a class that both have
    std::size_t kernels = 0;       ///< of the target
    std::size_t transferable = 0;  ///< kernels of the target whose class the source has
    double transferable_share = 0; ///< their share of the time of the target
    [[nodiscard]] std::size_t measurements() const noexcept { return pairs + kernels; } ///< each kernel as it is, too: what the paper prints as pairs
};

/// Counts the pairs of a transfer from `source` to `target`.   Cost: the product of the two numbers of classes
[[nodiscard]] inline pair_counts count_pairs(std::span<const class_share> target, std::span<const class_share> source) {
    pair_counts out;
    for (const auto& t : target) {
        out.kernels += t.kernels;
        std::size_t schedules = 0;
        for (const auto& s : source)
            if (s.kernel_class == t.kernel_class) schedules += s.kernels;
        out.pairs += t.kernels * schedules;
        if (schedules == 0) continue;
        out.transferable += t.kernels;
        out.transferable_share += t.share;
    }
    return out;
}

} // namespace augur::inline v0::transfer

#endif
