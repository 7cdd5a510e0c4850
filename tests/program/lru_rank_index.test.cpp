// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/detail/lru_rank_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>

namespace lru_rank_index_test {

using namespace augur;

TEST_CASE("recency: ranks on a long axis, against flags that are counted one by one") {
    for (const std::size_t lines : {std::size_t{0}, std::size_t{63}, std::size_t{64}, std::size_t{1000}, std::size_t{70000}, std::size_t{300000}})
        for (const isa level : {isa::generic, best_isa()}) {
            CAPTURE(lines);
            detail::lru_rank_index order(level);
            order.restart(lines, 0);
            REQUIRE(order.now() == 64 + lines);
            std::vector<unsigned char> live(64 + lines, 1);
            std::fill_n(live.begin(), 64, static_cast<unsigned char>(0));
            augur::random_engine draw(lines);
            for (int round = 0; round < 12; ++round) {
                std::vector<std::uint32_t> before, expected;
                for (std::uint32_t i = 0; i < order.room() && before.size() < 1 + draw.below(64); ++i) {
                    // a line, most likely an old one, or none
                    std::uint32_t time = detail::lru_rank_index::never;
                    if (live.size() > 64 && draw.below(5) != 0) time = static_cast<std::uint32_t>(64 + draw.below(live.size() - 64));
                    if (time != detail::lru_rank_index::never && live[time] == 0) continue;
                    before.push_back(time);
                    if (time == detail::lru_rank_index::never) {
                        expected.push_back(time);
                    } else {
                        expected.push_back(static_cast<std::uint32_t>(std::count(live.begin() + time + 1, live.end(), 1)));
                        live[time] = 0;
                    }
                    live.push_back(1);
                }
                std::vector<std::uint32_t> rank(before.size());
                order.move_to_front(before.data(), static_cast<std::uint32_t>(before.size()), rank.data());
                REQUIRE(rank == expected);
                REQUIRE(order.now() == live.size());
                for (int i = 0; i < 3 && live.size() > 64; ++i) {
                    const auto time = static_cast<std::uint32_t>(64 + draw.below(live.size() - 64));
                    if (live[time] != 0) CHECK(order.rank(time) == std::count(live.begin() + time + 1, live.end(), 1));
                }
            }
        }
}

TEST_CASE("recency: room and the end of the times") {
    detail::lru_rank_index order(isa::generic);
    std::vector<std::uint32_t> never(64, detail::lru_rank_index::never), rank(64);
    std::uint32_t uses = 0;
    while (order.room() > 0) {
        CHECK(order.fits(order.room() - 1));
        const auto n = order.room();
        order.move_to_front(never.data(), n, rank.data());
        uses += n;
    }
    CHECK(!order.fits(0));
    CHECK(uses + 64 == order.now());
    CHECK(order.rank(64) == uses - 1); // nothing was used twice
    CHECK(order.rank(order.now() - 1) == 0);
    order.restart(100, 200000);
    CHECK(order.fits(200000));
}

} // namespace lru_rank_index_test
