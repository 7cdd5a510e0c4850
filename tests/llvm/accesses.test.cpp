// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "program.hpp"

#include <augur/core/random_engine.hpp>

namespace {
// two buffers, far apart; their first lines have these numbers
constexpr std::uint64_t base_a = 1'000'000, base_b = 2'000'000;

void bytes(std::vector<std::uint64_t>& lines, std::uint64_t buffer, std::uint64_t from, std::uint64_t n) {
    for (auto line = from / 64; line <= (from + n - 1) / 64; ++line) lines.push_back(buffer + line);
}
} // namespace

TEST_CASE("ir: every form of an access is traced, line by line") {
    std::vector<std::uint64_t> lines;
    bytes(lines, base_a, 0, 64);
    bytes(lines, base_a, 100, 64);
    bytes(lines, base_a, 256, 128);
    bytes(lines, base_a, 420, 128);
    bytes(lines, base_a, 1024, 12);
    bytes(lines, base_b, 0, 512);
    bytes(lines, base_b, 0, 512);
    // three = 3: lanes 5 to 9 are on, bytes 2080 + 20 to 2080 + 39
    bytes(lines, base_a, 2100, 20);
    for (const std::uint64_t i : std::initializer_list<std::uint64_t>{0, 1000, 2000, 3000}) bytes(lines, base_b, 4 * i, 4); // gather
    for (const std::uint64_t i : std::initializer_list<std::uint64_t>{1000, 2000})
        bytes(lines, base_b, 4 * i, 4); // scatter: lanes 4, 5, 6, 10 of the mask
    std::vector<std::uint64_t> in, out;
    bytes(in, base_a, 4100, 200);
    bytes(out, base_b, 8190, 200);
    for (std::size_t i = 0; i < (std::max)(in.size(), out.size()); ++i) {
        if (i < in.size()) lines.push_back(in[i]);
        if (i < out.size()) lines.push_back(out[i]);
    }
    bytes(lines, base_a, 4100, 150);
    augur::ir_options o;
    o.arguments = {augur::ir_buffer{8192, {}}, augur::ir_buffer{16384, {}}, std::int64_t{3}};
    o.trace.warm = false;
    o.trace.sets = {1};
    const auto p = features_of("accesses.ll", o);
    const auto expected = profile_of(lines);
    CHECK(p.memory[0].own.total() == expected.total());
    CHECK(p.memory[0].own == expected);
    CHECK(p.memory[0].shared == expected);
    REQUIRE(p.memory[0].sets.size() == 1);
    CHECK(p.memory[0].sets[0].accesses == lines.size());
    o.trace.warm = true;
    CHECK(features_of("accesses.ll", o).memory[0].own == warm_profile_of(lines));

    const auto code = block_of(p.functions[0], "entry").code.values();
    const auto has = [&](const char* text) { return std::count_if(code.begin(), code.end(), [&](const auto& i) { return text_of(i) == text; }); };
    CHECK(has("load i8 200") == 1); // memcpy
    CHECK(has("store i8 200") == 1);
    CHECK(has("store i8 150") == 1); // memset: as long as it was when it ran
    CHECK(has("gather f32 4") == 1);
    CHECK(has("scatter f32 4") == 1);
    CHECK(has("load i64 64") == 1);
}

TEST_CASE("trace_profile: exact when it is short, near the truth when it is not") {
    // Two parts, long enough for a burst each: a sweep over 32 KB with a stream beside it, then a walk at random over 8 MB.
    augur::random_engine draw(5);
    std::vector<std::uint64_t> sweep, walk;
    for (std::uint64_t t = 0; t < 1600; ++t)
        for (std::uint64_t i = 0; i < 512; ++i) {
            sweep.push_back(i);
            if (i % 8 == 0) sweep.push_back(1'000'000 + t * 64 + i / 8);
        }
    for (int i = 0; i < 400'000; ++i) walk.push_back(2'000'000 + draw.below(131072));
    const auto run = [&](const augur::trace_options& o) {
        augur::detail::trace_profile p(o, o.exact);
        p.feed(sweep, 0);
        p.feed(walk, 1);
        return p.finish();
    };
    augur::trace_options exact;
    exact.warm = false;
    exact.exact = ~std::uint64_t{0};
    augur::trace_options sampled = exact;
    sampled.exact = 50'000;
    sampled.rate = 0.05;
    const auto truth = run(exact), guess = run(sampled);
    REQUIRE(truth.size() == 3);
    REQUIRE(guess.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CAPTURE(i);
        CHECK(guess[i].reuse.total() == truth[i].reuse.total());
        for (const std::uint64_t reach : {400U, 520U, 1000U, 16384U, 100000U, 600000U}) { // hits of a cache with so many lines, LRU
            const auto hits = [&](const augur::reuse_profile& p) {
                std::uint64_t n = 0;
                for (std::size_t d = 0; augur::reuse_profile::low(d) < reach; ++d) n += p.count(d);
                return static_cast<double>(n) / static_cast<double>(p.total());
            };
            CAPTURE(reach);
            CHECK(std::abs(hits(guess[i].reuse) - hits(truth[i].reuse)) < 0.02);
        }
    }
    // Warm by what the stream knows is warm by running twice.
    augur::trace_options once;
    once.exact = ~std::uint64_t{0};
    augur::detail::trace_profile p(once, once.exact);
    const std::span<const std::uint64_t> some = std::span(walk).first(100'000);
    p.feed(some.first(1000), 0);
    p.feed(some.subspan(1000), 1);
    const auto warm = p.finish();
    CHECK(warm.back().reuse == warm_profile_of(some));
    // So it is by sets, and the parts add up.
    REQUIRE(warm.back().sets.size() == once.sets.size());
    for (std::size_t s = 0; s < once.sets.size(); ++s) {
        auto twice = *augur::associativity_stream::create(once.sets[s], augur::associativity_stream::deepest);
        twice.feed(some);
        auto second = twice.profile(); // its crowds are those of the first run
        const auto [fills, crowded] = std::pair(second.fills, second.crowded);
        second.accesses = 0;
        std::fill(second.hits.begin(), second.hits.end(), 0U);
        twice.feed(some, second);
        second.fills = fills;
        second.crowded = crowded;
        CHECK(warm.back().sets[s] == second);
        auto sum = warm[0].sets[s];
        REQUIRE(sum.merge(warm[1].sets[s]));
        CHECK(sum == second);
    }
}

TEST_CASE("ir: a trace that ends early says so, and counts go on") {
    augur::ir_options o;
    o.arguments = {augur::ir_buffer{}, std::int64_t{400'000}};
    o.trace.most = 100'000;
    const auto p = features_of("sum.ll", o);
    CHECK(p.source.find("the trace ends early") != std::string::npos);
    CHECK(block_of(p.functions[0], "loop").count == 400'000);
    CHECK(p.memory[0].own.total() <= 100'000);
    CHECK(p.memory[0].own.total() > 50'000);
    o.trace.most = 0;
    o.trace.exact = 100'000;
    const auto q = features_of("sum.ll", o);
    CHECK(q.source.find("sampled") != std::string::npos);
    CHECK(q.memory[0].own.total() == 400'000);
}
