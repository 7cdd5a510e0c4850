// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_STANDARDISE_HPP
#define AUGUR_EXAMPLES_SUPPORT_STANDARDISE_HPP

/// @file
/// Features of loops as MetaTune's network is trained on them.

#include <cstddef>
#include <span>

#include <Eigen/Core>

#include <augur/metatune/loop_rows.hpp>

namespace examples {

/// Makes the columns of the present loops of `all` have mean 0 and deviation 1 over those of `from`. A column that does not vary there becomes 0: it
/// teaches nothing.
///
/// @param all   at least one, each with the same number of columns
/// @param from  at least one present loop among them; may be some of `all`
inline void standardise(std::span<augur::metatune::loop_rows* const> all, std::span<const augur::metatune::loop_rows* const> from) {
    const auto columns = all.front()->features.cols();
    Eigen::ArrayXd sum = Eigen::ArrayXd::Zero(columns), squares = sum;
    double count = 0;
    for (const auto* c : from)
        for (std::size_t r = 0; r < c->present.size(); ++r) {
            if (c->present[r] == 0) continue;
            const Eigen::ArrayXd row = c->features.row(static_cast<Eigen::Index>(r)).cast<double>().transpose().array();
            sum += row;
            squares += row.square();
            ++count;
        }
    const Eigen::ArrayXd mean = sum / count, deviation = (squares / count - mean.square()).max(0).sqrt();
    const Eigen::ArrayXd scale = (deviation > 1e-6).select(1 / deviation.max(1e-6), 0);
    for (auto* c : all)
        for (std::size_t r = 0; r < c->present.size(); ++r) {
            if (c->present[r] == 0) continue;
            auto row = c->features.row(static_cast<Eigen::Index>(r));
            row = ((row.cast<double>().transpose().array() - mean) * scale).cast<float>().transpose().matrix();
        }
}

} // namespace examples

#endif
