// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/detail/nest_index.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace nest_index_test {

using namespace augur;
using augur::detail::nest_index;

namespace {

std::int64_t value(const nest_index& index, const std::vector<std::int64_t>& iteration) {
    std::int64_t sum = 0;
    for (const auto& d : index.digits()) sum += d.at(iteration[d.loop]);
    return sum;
}

} // namespace

TEST_CASE("nest_index: a fused loop taken apart and put together") {
    random_engine random(1);
    for (int round = 0; round < 500; ++round) {
        const auto draw = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + random.below(n)); };
        const std::int64_t a = draw(4), b = draw(4), c = draw(4), extent = a * b * c;
        const bool whole = random.below(2) == 0;
        const std::int64_t unit = draw(5), s2 = whole ? unit * c : draw(9), s1 = whole ? unit * c * b : draw(9);
        const nest_index f(0, extent), g(1, 3);
        std::array<nest_index, 4> parts{f / (b * c) * s1, f / c % b * s2, f % c * unit, g * 7};
        for (std::size_t i = parts.size(); i > 1; --i) std::swap(parts[i - 1], parts[random.below(i)]);
        const nest_index sum = parts[0] + parts[1] + (parts[2] + parts[3]);
        for (std::int64_t i = 0; i < extent; ++i) {
            CHECK(value(sum, {i, 2}) == i / (b * c) * s1 + i / c % b * s2 + i % c * unit + 14);
            CHECK(value(f / c / b, {i}) == i / (b * c));
            CHECK(value(f % (b * c) / c, {i}) == i % (b * c) / c);
            CHECK(value(f % (b * c) % c, {i}) == i % c);
            CHECK(value((f % c + f / c * c) / c, {i}) == i / c); // a digit that was put together, apart again
        }
        if (whole) CHECK(sum.digits().size() == (extent > 1 ? 2 : 1)); // one digit again
    }
}

TEST_CASE("nest_index: what is always 0 has no digit") {
    const nest_index one(0, 1), f(1, 6);
    CHECK(one.digits().empty());
    CHECK((one * 5 + one / 3 + one % 2).digits().empty());
    CHECK((f / 6).digits().empty());
    CHECK((f % 1).digits().empty());
    CHECK((f % 6).digits() == std::vector<nest_digit>{{1, 1, 1, 0}});
    CHECK((f / 2 % 2 * 3).digits() == std::vector<nest_digit>{{1, 3, 2, 2}});
}

} // namespace nest_index_test
