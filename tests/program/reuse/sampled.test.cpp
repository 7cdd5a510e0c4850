// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/reuse/sampled.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/program/cache/hit_rate.hpp>
#include <augur/program/reuse/interleave.hpp>

#include "../../bench/traces.hpp"

namespace sampled_test {

using namespace augur;

TEST_CASE("sampled_reuse_stream: all lines at rate 1, the same choice on every processor") {
    const auto lines = traces::conv16c(16, 32, 28, 28);
    reuse_stream exact;
    reuse_profile profile;
    exact.feed(lines, profile);
    auto all = *sampled_reuse_stream::create(1);
    all.feed(lines);
    CHECK(all.sampled() == lines.size());
    CHECK(all.profile().cold() == profile.cold());
    for (std::size_t b = 0; b < reuse_profile::exact; ++b) CHECK(all.profile().count(b) == profile.count(b));
    CHECK(all.profile().total() == profile.total());

    for (const std::uint64_t seed : std::initializer_list<std::uint64_t>{0, 1, 2}) {
        auto fast = *sampled_reuse_stream::create(0.1, seed), plain = *sampled_reuse_stream::create(0.1, seed, 64, isa::generic);
        fast.feed(lines);
        for (std::size_t i = 0; i < lines.size(); i += 1237) plain.feed({&lines[i], (std::min)(std::size_t{1237}, lines.size() - i)});
        CHECK(fast.profile() == plain.profile());
        std::uint64_t chosen = 0; // independent of the loop: the definition
        for (const auto line : lines) chosen += static_cast<double>(mix64(line ^ mix64(seed))) < 0.1 * 0x1p64 ? 1 : 0;
        CHECK(fast.sampled() == chosen);
    }
}

TEST_CASE("sampled_reuse_stream: a rate of next to nothing samples next to nothing") {
    const auto lines = traces::conv16c(16, 32, 28, 28);
    for (const double rate : {1e-12, 1e-30}) {
        auto few = *sampled_reuse_stream::create(rate);
        few.feed(lines);
        CHECK(few.sampled() == 0);
    }
}

TEST_CASE("sampled_reuse_stream: hit rates near the exact ones, every access accounted for") {
    const auto lines = traces::mm_blocked(96, 32, 16, 112);
    reuse_stream exact;
    reuse_profile profile;
    exact.feed(lines, profile);
    double worst = 0;
    for (const std::uint64_t seed : std::initializer_list<std::uint64_t>{1, 2, 3, 4, 5}) {
        auto some = *sampled_reuse_stream::create(0.25, seed);
        some.feed(lines);
        const auto estimate = some.profile();
        CHECK(estimate.total() == lines.size());
        worst = (std::max)(worst, std::fabs(hit_rate(estimate, 8, 1024) - hit_rate(profile, 8, 1024)));
    }
    CHECK(worst < 0.03);
    CHECK(worst > 0);
}

TEST_CASE("sampled_reuse_stream: what is refused") {
    for (const double rate : {0.0, -1.0, 1.5, std::nan("")}) CHECK(sampled_reuse_stream::create(rate).error().code == errc::invalid_argument);
    CHECK(sampled_reuse_stream::create(0.1, 0, 32).error().code == errc::unsupported);
    auto none = *sampled_reuse_stream::create(1e-9);
    none.feed(traces::uniform(1000, 100));
    CHECK(none.profile().total() == 1000); // all of it at distance 0: nothing is known
    CHECK((*sampled_reuse_stream::create(0.5)).profile().total() == 0);
}

namespace {
using trace = std::vector<std::uint64_t>;
trace interleaved(const std::vector<trace>& traces, interleaving order, std::uint64_t seed = 0) {
    std::vector<std::span<const std::uint64_t>> spans(traces.begin(), traces.end());
    trace out;
    interleave(spans, order, seed, [&](std::span<const std::uint64_t> part) { out.insert(out.end(), part.begin(), part.end()); });
    return out;
}
} // namespace

TEST_CASE("interleave: in turn and at random, each thread in its own order") {
    CHECK(interleaved({{1, 2, 3}, {10}, {}, {20, 21}}, interleaving::round_robin) == trace{1, 10, 20, 2, 21, 3});
    CHECK(interleaved({}, interleaving::uniform).empty());
    CHECK(interleaved({{1, 2}}, interleaving::uniform) == trace{1, 2});
    std::vector<trace> threads(3);
    for (std::uint64_t i = 0; i < 3000; ++i) threads[i % 3 == 0 ? 0 : i % 5 == 0 ? 1 : 2].push_back(i);
    const auto mixed = interleaved(threads, interleaving::uniform, 7);
    CHECK(mixed == interleaved(threads, interleaving::uniform, 7));
    CHECK(mixed != interleaved(threads, interleaving::uniform, 8));
    std::vector<trace> apart(3);
    for (const auto x : mixed) apart[x % 3 == 0 ? 0 : x % 5 == 0 ? 1 : 2].push_back(x);
    CHECK(apart == threads);

    // two accesses of one thread, one of another: each of three orders with equal chance
    std::size_t first = 0, last = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        const auto order = interleaved({{1, 2}, {9}}, interleaving::uniform, seed);
        first += order.front() == 9 ? 1 : 0;
        last += order.back() == 9 ? 1 : 0;
    }
    CHECK(first > 900);
    CHECK(first < 1100);
    CHECK(last > 900);
    CHECK(last < 1100);
}

TEST_CASE("interleave: threads of one program in a shared cache") {
    // in turn, two threads that share no line see twice the distance; two that do the same see nothing new
    const auto own = traces::mm_blocked(32, 8, 8, 32);
    auto far = own;
    for (auto& line : far) line += 1U << 20U;
    const auto profile_of = [](const trace& t) {
        reuse_profile p;
        reuse_stream().feed(t, p);
        return p;
    };
    const auto alone = profile_of(own), apart = profile_of(interleaved({own, far}, interleaving::round_robin)),
               together = profile_of(interleaved({own, own}, interleaving::round_robin));
    for (std::size_t d = 0; d < 500; ++d) CHECK(apart.count(2 * d + 1) == 2 * alone.count(d));
    CHECK(apart.cold() == 2 * alone.cold());
    CHECK(together.cold() == alone.cold());
    for (std::size_t d = 1; d < 1000; ++d) CHECK(together.count(d) == alone.count(d));
    CHECK(together.count(0) == alone.count(0) + own.size());
}

} // namespace sampled_test
