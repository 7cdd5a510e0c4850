// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/detail/tile_sizes.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/space/factorisation.hpp>

#include <doctest/doctest.h>

namespace loopnest = augur::loopnest;
using loopnest::detail::tile_sizes;
using loopnest::detail::well_divisible;

namespace {

std::size_t divisors(std::int64_t n) {
    std::size_t count = 0;
    for (std::int64_t d = 1; d <= n; ++d) count += n % d == 0 ? 1U : 0U;
    return count;
}

} // namespace

TEST_CASE("tile sizes: the number that is factored instead of an extent has the most divisors up to an eighth above") {
    for (std::int64_t n = 1; n <= 600; ++n) {
        CAPTURE(n);
        const auto m = well_divisible(n);
        auto rest = n;
        for (const std::int64_t p : {2, 3, 5, 7})
            while (rest % p == 0) rest /= p;
        if (rest == 1 || n <= 8) {
            CHECK(m == n);
            continue;
        }
        REQUIRE(m >= n);
        REQUIRE(m <= n + n / 8);
        for (auto other = n; other <= n + n / 8; ++other) CHECK(divisors(other) <= divisors(m));
    }
    CHECK(well_divisible(127) == 132);
    CHECK(well_divisible(1048573) == 1081080); // with 256 divisors
    CHECK(well_divisible(std::int64_t{1} << 40) == std::int64_t{1} << 40);
    CHECK(well_divisible((std::int64_t{1} << 40) + 1) == (std::int64_t{1} << 40) + 1); // too large to look at each number
}

TEST_CASE("tile sizes: options are distinct, found again, and contain all factorisations of the extent") {
    augur::random_engine rng(5);
    for (const std::int64_t extent : {1, 7, 22, 23, 56, 127, 176}) {
        for (const std::size_t lengths : {1U, 3U}) {
            for (const bool exact : {false, true}) {
                CAPTURE(extent);
                CAPTURE(lengths);
                const tile_sizes sizes(extent, lengths, 64, exact);
                const augur::factorisation own(extent, lengths, 64);
                std::set<std::vector<std::int64_t>> seen;
                for (std::uint64_t i = 0; i < sizes.count(); ++i) {
                    std::vector<std::int64_t> l(lengths);
                    sizes.lengths_of(i, l);
                    seen.insert(l);
                    CHECK(sizes.index_of(l) == i);
                    CHECK(sizes.neighbour(i, rng) < sizes.count());
                    if (exact) CHECK(own.index_of(l) == i);
                }
                CHECK(seen.size() == sizes.count());
                for (std::uint64_t i = 0; i < own.count(); ++i) CHECK(seen.count(own.lengths_of(i)) == 1);
                CHECK(sizes.likely() <= sizes.count());
                CHECK(!sizes.index_of(std::vector<std::int64_t>(lengths, 113)));
            }
        }
    }
}
