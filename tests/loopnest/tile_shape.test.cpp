// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/tile_shape.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <doctest/doctest.h>

using namespace augur;
using detail::tile_chooser;
using detail::tile_window;

namespace {

/// Registers that a shape holds.
std::int64_t held(const tile_chooser& of, const detail::tile_shape& s) {
    auto n = of.vectors(s.lanes);
    for (const auto p : s.parts) n *= p;
    return n;
}

/// Distinct positions, by counting them.
std::int64_t counted(const tile_window& w, std::int64_t n) {
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < w.length; ++k) seen.insert(w.stride > 0 ? i * w.stride + k : i * w.length + k);
    return static_cast<std::int64_t>(seen.size());
}

} // namespace

TEST_CASE("tile_shape: vectors and windows are counted right") {
    const tile_chooser of(16, 32);
    const std::int64_t want[][2] = {{1, 1}, {16, 1}, {17, 2}, {24, 2}, {31, 5}, {48, 3}, {0, 0}};
    for (const auto& w : want) CHECK(of.vectors(w[0]) == w[1]);
    for (std::int64_t length = 1; length < 6; ++length)
        for (std::int64_t stride = 0; stride < length; ++stride)
            for (std::int64_t n = 1; n < 8; ++n) CHECK(tile_window{stride, length}.positions(n) == counted({stride, length}, n));
}

TEST_CASE("tile_shape: products fill the registers and leave none to spill") {
    for (const std::int64_t lanes : {4, 8, 16}) {
        const std::int64_t registers = lanes == 16 ? 32 : 16;
        const tile_chooser of(lanes, registers);
        for (const std::int64_t across : {std::int64_t{1}, lanes, 2 * lanes, 3 * lanes, 4 * lanes, 8 * lanes})
            for (const auto& extents : std::vector<std::vector<std::int64_t>>{{}, {1}, {7}, {14}, {2, 7}, {7, 7}, {4, 64}}) {
                const auto s = of.of_products(across, extents, 1000);
                CHECK(s.lanes >= 1);
                CHECK(s.lanes <= across);
                REQUIRE(s.parts.size() == extents.size());
                for (std::size_t i = 0; i < extents.size(); ++i) {
                    CHECK(s.parts[i] >= 1);
                    CHECK(s.parts[i] <= extents[i]);
                }
                CHECK(held(of, s) < registers);
            }
    }
    const auto even = tile_chooser(16, 32).of_products(64, {7}, 576); // 14 accumulators, 9 operands, no rest
    CHECK(even.lanes == 32);
    CHECK(even.parts == std::vector<std::int64_t>{7});
}

TEST_CASE("tile_shape: windows of pooling share what they read, and no shape that fits reads less") {
    const tile_chooser of(16, 32);
    const std::vector<tile_window> pool{{2, 3}, {2, 3}};
    const auto loads_of = [&](const detail::tile_shape& s, const std::vector<std::int64_t>& extents) {
        double n = static_cast<double>(of.vectors(64));
        for (std::size_t k = 0; k < extents.size(); ++k) {
            const auto rest = extents[k] % s.parts[k];
            n *= static_cast<double>(extents[k] / s.parts[k] * counted(pool[k], s.parts[k]) + (rest > 0 ? counted(pool[k], rest) : 0));
        }
        return n;
    };
    for (const auto& extents : std::vector<std::vector<std::int64_t>>{{1, 1}, {2, 4}, {4, 2}, {7, 7}, {14, 14}, {28, 56}}) {
        const auto s = of.of_windows(64, extents, pool);
        CHECK(held(of, s) <= 30);
        REQUIRE(s.parts.size() == 2);
        double least = std::numeric_limits<double>::infinity();
        for (std::int64_t h = 1; h <= extents[0]; ++h)
            for (std::int64_t w = 1; w <= extents[1] && h * w <= 30; ++w) least = (std::min)(least, loads_of({16, {h, w}}, extents));
        CHECK(loads_of(s, extents) <= 1.25 * least); // tiles cost as well, so not always the least
        const double alone = 9.0 * 4 * static_cast<double>(extents[0] * extents[1]);
        if (extents[0] * extents[1] >= 8) CHECK(loads_of(s, extents) < 0.7 * alone);
    }
}
