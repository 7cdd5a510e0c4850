// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace examples {

namespace {

/// Two-sided 97.5 % quantile of Student's t: a table, and from 5 degrees of freedom on Cornish and Fisher's expansion, within 0.2 %.
double student(std::size_t degrees) {
    static constexpr std::array<double, 4> few{12.706, 4.303, 3.182, 2.776};
    if (degrees == 0) return std::numeric_limits<double>::infinity();
    if (degrees <= few.size()) return few[degrees - 1];
    const double z = 1.959964, d = static_cast<double>(degrees);
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * d) + (5 * z5 + 16 * z3 + 3 * z) / (96 * d * d) + (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * d * d * d);
}

/// Places in rising order; equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i + 1;
        while (end < order.size() && !(values[order[i]] < values[order[end]])) ++end;
        for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + end - 1) / 2;
        i = end;
    }
    return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    const double ma = std::accumulate(a.begin(), a.end(), 0.0) / n, mb = std::accumulate(b.begin(), b.end(), 0.0) / n;
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += (a[i] - ma) * (b[i] - mb);
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
    }
    return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

} // namespace

mean_interval arithmetic(std::span<const double> values) {
    mean_interval out;
    out.count = values.size();
    if (values.empty()) return out;
    const auto n = static_cast<double>(values.size());
    double spread = 0;
    for (const double v : values) out.mean += v / n;
    for (const double v : values) spread += std::pow(v - out.mean, 2);
    const double half = values.size() < 2 ? 0 : student(values.size() - 1) * std::sqrt(spread / (n - 1) / n);
    out.low = out.mean - half;
    out.high = out.mean + half;
    return out;
}

mean_interval geometric(std::span<const double> values) {
    std::vector<double> logarithms(values.size());
    std::transform(values.begin(), values.end(), logarithms.begin(), [](double v) { return std::log(v); });
    const mean_interval m = arithmetic(logarithms);
    if (m.count == 0) return m;
    return {std::exp(m.mean), std::exp(m.low), std::exp(m.high), m.count};
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) { return correlation(ranks_of(a), ranks_of(b)); }

std::vector<double> total_latencies(std::span<const double> begun, std::span<const std::vector<double>> trials, std::size_t most) {
    std::size_t longest = 0;
    for (const auto& of : trials) longest = (std::max)(longest, of.size());
    std::vector<double> out((std::min)(longest, most) + 1);
    for (std::size_t k = 0; k < begun.size(); ++k) {
        const auto first = std::span(trials[k]).first((std::min)(trials[k].size(), out.size() - 1));
        const bool works = std::isfinite(begun[k]) || std::any_of(first.begin(), first.end(), [](double l) { return std::isfinite(l); });
        if (!works) continue;
        double least = begun[k];
        for (std::size_t n = 0; n < out.size(); ++n) {
            if (n > 0 && n <= first.size()) least = (std::min)(least, first[n - 1]);
            out[n] += least;
        }
    }
    return out;
}

std::optional<std::size_t> converged_at(std::span<const double> falling, std::size_t window, double share) {
    for (std::size_t n = window; n < falling.size(); ++n)
        if (falling[n - window] - falling[n] < share * falling[n - window]) return n; // false where both are infinite
    return std::nullopt;
}

} // namespace examples
