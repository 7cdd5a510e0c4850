// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/reuse/parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/tbb/executor.hpp>

#include "../../bench/traces.hpp"
#include "../search/threads.hpp"

namespace parallel_test {

using namespace augur;

namespace {
/// Says that it runs 500 at once.
struct in_parts {
    template <class F>
    void bulk(std::size_t n, const F& f) const {
        for (std::size_t i = n; i-- > 0;) f(i);
    }
    static std::size_t concurrency() { return 500; }
};
} // namespace

TEST_CASE("reuse_parallel: the same counts and the same stream, for any number of threads and parts") {
    augur::random_engine draw(5);
    std::vector<std::vector<std::uint64_t>> all{
        traces::mm_blocked(40, 8, 8, 40), traces::conv16c(16, 16, 14, 14), traces::uniform(20000, 3000), {}, {7}};
    auto& jumping = all.emplace_back();
    for (std::uint64_t i = 0; i < 30000; ++i) jumping.push_back(draw.below(4) == 0 ? draw() : draw.below(1 + i % 977) * 64);
    for (const auto& lines : all) {
        // fed in three spans, the second and the third in parts: the stream goes on between them
        const std::span<const std::uint64_t> span(lines);
        const auto first = span.first(span.size() / 3), second = span.subspan(span.size() / 3, span.size() / 2),
                   third = span.subspan(first.size() + second.size());
        reuse_stream one;
        reuse_profile expected;
        one.feed(lines, expected);
        std::vector<std::uint32_t> next_expected(lines.size());
        one.distances(lines, next_expected);
        const auto same = [&](auto executor, std::size_t least) {
            CAPTURE(lines.size());
            CAPTURE(executor.concurrency());
            reuse_stream stream;
            reuse_profile profile;
            stream.feed(first, profile);
            reuse_parallel(stream, second, profile, executor, least);
            reuse_parallel(stream, third, profile, executor, least);
            CHECK(profile == expected);
            std::vector<std::uint32_t> next(lines.size());
            stream.distances(lines, next); // it knows the order of the last uses
            CHECK(next == next_expected);
        };
        for (const std::size_t least : std::initializer_list<std::size_t>{1, 100}) {
            for (const std::size_t threads : std::initializer_list<std::size_t>{1, 2, 3, 8, 13}) same(toy::threads{threads}, least);
            same(tbb_executor(), least);
        }
    }
}

TEST_CASE("reuse_parallel: parts of one access") {
    const auto lines = traces::uniform(500, 40);
    reuse_stream one, many;
    reuse_profile expected, profile;
    one.feed(lines, expected);
    in_parts order;
    reuse_parallel(many, lines, profile, order, 1);
    CHECK(profile == expected);
}

TEST_CASE("reuse_stream: append goes across the end of the times") {
    std::vector<std::uint64_t> lines;
    for (std::uint64_t i = 0; i < 65000; ++i) lines.push_back(i % 50);
    for (std::uint64_t i = 0; i < 2000; ++i) lines.push_back(i % 700);
    reuse_stream one, two, later;
    reuse_profile expected, profile, part;
    one.feed(lines, expected);
    const std::span<const std::uint64_t> span(lines);
    two.feed(span.first(65000), profile);
    std::vector<std::uint64_t> first_uses;
    later.feed(span.subspan(65000), part, &first_uses);
    std::vector<std::uint32_t> distances(first_uses.size());
    two.append(later, first_uses, distances);
    REQUIRE(profile.merge(part));
    profile.replace_cold(distances);
    CHECK(profile == expected);
}

} // namespace parallel_test
