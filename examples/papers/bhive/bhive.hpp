// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_BHIVE_BHIVE_HPP
#define AUGUR_EXAMPLES_PAPERS_BHIVE_BHIVE_HPP

/// @file
/// Basic blocks whose throughput was measured, and how well it is predicted.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>

#include "x86_graphlet.hpp"

namespace examples {

struct measured_block {
    std::size_t line = 0; ///< of the file
    std::string text;
    double bytes = 0;  ///< of machine code
    double cycles = 0; ///< a round, measured
    x86_block code;
};

/// Cycles a round, by block; NaN: it could not do this one.
struct block_row {
    std::string name;
    std::vector<double> cycles;
    std::string note; ///< why the row is absent, if it has no cycles
};

/// How many pairs of [first, last) stand in falling order; sorts them.
inline std::uint64_t count_falling(double* first, double* last, std::vector<double>& room) {
    if (last - first < 2) return 0;
    double* const middle = first + (last - first) / 2;
    std::uint64_t falling = count_falling(first, middle, room) + count_falling(middle, last, room);
    room.clear();
    double *a = first, *b = middle;
    while (a < middle || b < last) {
        if (b == last || (a < middle && *a <= *b)) {
            room.push_back(*a++);
        } else {
            falling += static_cast<std::uint64_t>(middle - a);
            room.push_back(*b++);
        }
    }
    std::copy(room.begin(), room.end(), first);
    return falling;
}

/// Kendall's rank correlation, tau-b: ties count in neither list. NaN where a list has one value only.
/// @note O(n log n), after Knight (1966)
inline double kendall_tau(const std::vector<double>& x, const std::vector<double>& y) {
    AUGUR_ASSERT(x.size() == y.size(), "kendall_tau: shape");
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b] || (x[a] == x[b] && y[a] < y[b]); });
    const auto tied = [&](auto same) { // pairs of neighbours that are the same, in runs
        double pairs = 0, run = 1;
        for (std::size_t i = 1; i <= order.size(); ++i) {
            if (i < order.size() && same(order[i - 1], order[i])) run += 1;
            else pairs += run * (run - 1) / 2, run = 1;
        }
        return pairs;
    };
    const double of_x = tied([&](auto a, auto b) { return x[a] == x[b]; });
    const double of_both = tied([&](auto a, auto b) { return x[a] == x[b] && y[a] == y[b]; });
    std::vector<double> by_x, room;
    for (const auto i : order) by_x.push_back(y[i]);
    const auto falling = static_cast<double>(count_falling(by_x.data(), by_x.data() + by_x.size(), room));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return y[a] < y[b]; });
    const double of_y = tied([&](auto a, auto b) { return y[a] == y[b]; });
    const auto n = static_cast<double>(x.size());
    const double pairs = n * (n - 1) / 2, width = std::sqrt((pairs - of_x) * (pairs - of_y));
    return width > 0 ? (pairs - of_x - of_y + of_both - 2 * falling) / width : std::numeric_limits<double>::quiet_NaN();
}

struct block_score {
    std::size_t blocks = 0;
    double tau = 0, median_error = 0, error = 0;
};

/// How well cycles are predicted, of those blocks that `wanted` names. Errors are |predicted - measured| / measured.
inline block_score score_blocks(const std::vector<double>& predicted, const std::vector<double>& measured, const std::vector<std::size_t>& wanted) {
    std::vector<double> p, m, errors;
    for (const auto i : wanted) {
        p.push_back(predicted[i]);
        m.push_back(measured[i]);
        errors.push_back(std::fabs(predicted[i] - measured[i]) / measured[i]);
    }
    block_score s{wanted.size(), kendall_tau(p, m), 0, 0};
    if (errors.empty()) return s;
    std::sort(errors.begin(), errors.end());
    s.median_error = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
    s.error = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
    return s;
}

/// Cycles by llvm-mca, 100 rounds; it is llvm-mca-19, or without the number. NaN where it does not understand a block.
/// @note errors: io
augur::result<block_row> mca_blocks(const std::vector<measured_block>& blocks, const std::string& cpu);

} // namespace examples

#endif
