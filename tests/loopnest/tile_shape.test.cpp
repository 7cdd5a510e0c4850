// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/detail/tile_shape.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;
using augur::loopnest::detail::tile_chooser;
using augur::loopnest::detail::tile_window;

namespace {

/// Registers that a shape holds.
std::int64_t held(const tile_chooser& of, const augur::loopnest::detail::tile_shape& s) {
    auto n = of.vectors(s.lanes);
    for (const auto p : s.parts) n *= p;
    return n;
}

/// What `n` windows read, by counting: how many of them take each position.
std::map<std::int64_t, std::int64_t> takers(const tile_window& w, std::int64_t n) {
    std::map<std::int64_t, std::int64_t> out;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < w.length; ++k) ++out[w.stride > 0 ? i * w.stride + k : i * w.length + k];
    return out;
}

} // namespace

TEST_CASE("tile_shape: vectors and windows are counted right") {
    const tile_chooser of(16, 32);
    const std::int64_t want[][2] = {{1, 1}, {3, 2}, {7, 2}, {16, 1}, {17, 2}, {24, 2}, {31, 2}, {48, 3}, {0, 0}};
    for (const auto& w : want) CHECK(of.vectors(w[0]) == w[1]);
    const auto behind = of.with_lanes_behind(true); // of 3 and of 5 to 15 lanes in a vector of 4, 8 or 16
    const std::int64_t wanted[][2] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {7, 1}, {8, 1}, {9, 1}, {14, 1}, {16, 1}, {17, 2}, {31, 2}, {0, 0}};
    for (const auto& w : wanted) CHECK(behind.vectors(w[0]) == w[1]);
    for (std::int64_t length = 1; length < 6; ++length)
        for (std::int64_t stride = 0; stride < length; ++stride)
            for (std::int64_t n = 1; n < 8; ++n)
                for (const std::int64_t each : {1, 3, 5}) {
                    const tile_window w{stride, length};
                    std::int64_t alone = 0, operations = -n; // the first value of a result needs none
                    for (const auto& [at, many] : takers(w, n)) {
                        alone += many == 1 ? 1 : 0;
                        operations += many == 1 ? each : each - 1 + many;
                    }
                    CHECK(w.positions(n) == static_cast<std::int64_t>(takers(w, n).size()));
                    CHECK(w.alone(n) == alone);
                    CHECK(w.operations(n, each) == operations);
                }
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
    // Of 16 registers: whole lines of the vectors from the second-level cache, many rows for each, and a register to spare.
    const tile_chooser avx2(8, 16);
    for (const std::int64_t rows : {8, 14, 16, 56})
        for (const std::int64_t across : {32, 64, 128}) {
            const auto s = avx2.of_products(across, {rows}, 768);
            CHECK(s.lanes == 16);
            CHECK(s.parts.front() >= 4);
            CHECK(held(avx2, s) + 2 + 1 < 16);
        }
}

TEST_CASE("tile_shape: windows of pooling share loads and operations in tiles that fit") {
    const std::vector<tile_window> pool{{2, 3}, {2, 3}};
    for (const std::int64_t lanes : {8, 16}) {
        const std::int64_t registers = lanes == 16 ? 32 : 16;
        const tile_chooser of(lanes, registers);
        for (const std::int64_t across : {lanes / 2, lanes, 64 / lanes * lanes})
            for (const auto& extents : std::vector<std::vector<std::int64_t>>{{1, 1}, {2, 4}, {4, 2}, {7, 7}, {14, 14}, {28, 56}}) {
                const auto s = of.of_windows(across, extents, pool, 9);
                CHECK(held(of, s) < registers);
                REQUIRE(s.parts.size() == 2);
                CHECK(s.lanes >= (std::min)(across, 2 * lanes));
                if (extents[0] * extents[1] >= 8) CHECK(s.parts[0] * s.parts[1] >= 4);
            }
    }
}
