// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_STANDARDISATION_HPP
#define AUGUR_METATUNE_STANDARDISATION_HPP

/// @file
/// Features of loops with mean 0 and deviation 1, as networks are trained on them.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <augur/core/error.hpp>
#include <augur/metatune/loop_rows.hpp>

namespace augur::inline v0 {
namespace metatune {

/// Means and scales of the columns of loops. A part of what a network has learned: its inputs have to be in this form.
struct standardisation {
    /// (F) mean and 1 / standard deviation of each column: a feature x becomes (x - mean) * scale. A column that does not vary has scale 0, so its
    /// features become 0. Both empty: features stay as they are.
    std::vector<float> mean, scale;

    /// Those of the present loops of `from`; no loop: none. The scale of a column that does not vary is 0: it teaches nothing.
    /// pre: each has the same number of columns
    [[nodiscard]] static standardisation fit(std::span<const loop_rows* const> from) {
        const auto each_row = [&](const auto& f) {
            for (const loop_rows* one : from)
                for (std::size_t r = 0; r < one->present.size(); ++r)
                    if (one->present[r] != 0) f(one->features.row(static_cast<Eigen::Index>(r)).cast<double>().transpose().array());
        };
        Eigen::ArrayXd mean, squares;
        double count = 0;
        each_row([&](const auto& row) {
            if (count == 0) mean = squares = Eigen::ArrayXd::Zero(row.size());
            mean += row;
            ++count;
        });
        mean /= count;
        each_row([&](const auto& row) { squares += (row - mean).square(); }); // a second pass: the difference of two sums of squares would cancel
        standardisation out;
        for (Eigen::Index c = 0; c < mean.size(); ++c) {
            const double deviation = std::sqrt(squares[c] / count);
            out.mean.push_back(static_cast<float>(mean[c]));
            out.scale.push_back(deviation > 1e-6 ? static_cast<float>(1 / deviation) : 0.0F);
        }
        return out;
    }

    /// Changes the features of the present loops. Errors, after which `rows` is unchanged: shape_mismatch, another number of columns.
    [[nodiscard]] result<void> apply(loop_rows& rows) const {
        if (mean.empty()) return {};
        if (rows.features.rows() > 0 && static_cast<std::size_t>(rows.features.cols()) != mean.size())
            return error{errc::shape_mismatch,
                         "metatune: expected " + std::to_string(mean.size()) + " features a loop, got " + std::to_string(rows.features.cols())};
        for (std::size_t r = 0; r < rows.present.size(); ++r) {
            if (rows.present[r] == 0) continue;
            for (std::size_t c = 0; c < mean.size(); ++c) {
                float& x = rows.features(static_cast<nn::index>(r), static_cast<nn::index>(c));
                x = (x - mean[c]) * scale[c];
            }
        }
        return {};
    }

    friend bool operator==(const standardisation&, const standardisation&) = default;
};

} // namespace metatune
} // namespace augur::inline v0

#endif
