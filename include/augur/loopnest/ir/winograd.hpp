// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_IR_WINOGRAD_HPP
#define AUGUR_LOOPNEST_IR_WINOGRAD_HPP

/// @file
/// The transforms of Winograd's convolution F(tile, 3).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0::loopnest {

/// A matrix of a transform, row by row.
struct winograd_matrix {
    std::size_t rows = 0, columns = 0;
    std::vector<double> values;
    [[nodiscard]] double operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

/// The matrices of F(tile, 3), which computes `tile` outputs of a filter of three elements by tile + 2 products:
///
///     y = A' ((G g) * (B' d))      y (T)    g (3)    d (T+2)    A (T+2, T)    B (T+2, T+2)    G (T+2, 3)
///
/// In two dimensions weights are transformed to G g G', which a kernel `conv2d_winograd` takes as its constant. Lavin, Gray, Fast algorithms for
/// convolutional neural networks, 2015, with the interpolation points of TVM (Barabasz et al., 2018).
struct winograd_transforms {
    winograd_matrix a, b, g;

    /// pre: tile is 2 or 4
    static winograd_transforms of(std::int64_t tile) {
        AUGUR_ASSERT(tile == 2 || tile == 4, "winograd: a tile of 2 or 4");
        constexpr std::array<double, 5> points{0, -1, 1, 0.5, -2}; // and infinity: the last rows of A and G, the last column of B
        const auto m = static_cast<std::size_t>(tile);
        const auto alpha = m + 2;
        const auto finite = alpha - 1;
        winograd_transforms out{{alpha, m, std::vector<double>(alpha * m)},
                                {alpha, alpha, std::vector<double>(alpha * alpha)},
                                {alpha, 3, std::vector<double>(alpha * 3)}};
        for (std::size_t i = 0; i < alpha; ++i) {
            std::vector<double> polynomial{1}; // the product of x - p over the other points
            double scale = 1;
            for (std::size_t k = 0; k < finite; ++k) {
                if (k == i) continue;
                if (i < finite) scale *= points[i] - points[k];
                polynomial.insert(polynomial.begin(), 0);
                for (std::size_t e = 0; e + 1 < polynomial.size(); ++e) polynomial[e] -= points[k] * polynomial[e + 1];
            }
            const double sign = i == 0 && scale < 0 ? -1 : 1; // TVM's choice
            for (std::size_t e = 0; e < polynomial.size(); ++e) out.b.values[e * alpha + i] = sign * polynomial[e];
            double power = 1;
            for (std::size_t j = 0; i < finite && j < (m > 3 ? m : 3); ++j, power *= points[i]) {
                if (j < m) out.a.values[i * m + j] = power;
                if (j < 3) out.g.values[i * 3 + j] = power / (sign * scale);
            }
        }
        out.a.values[finite * m + m - 1] = 1;
        out.g.values[finite * 3 + 2] = 1;
        return out;
    }
};

} // namespace augur::inline v0::loopnest

#endif
