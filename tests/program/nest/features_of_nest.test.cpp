// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/nest/features_of_nest.hpp>

#include <augur/crop/predictor.hpp>
#include <augur/program/cache/hit_rate.hpp>
#include <augur/target/machine_presets.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace augur;

namespace {

struct archetype { // the contract and nothing more
    archetype() = delete;
    archetype(const archetype&) = delete;
    void visit(auto& sink) const {
        sink.buffer(std::int64_t{64});
        sink.begin_loop(std::int64_t{2}, nest_annotation::serial);
        sink.statement(nest_statement{});
        sink.end_loop();
    }
};
struct mutating {
    void visit(auto&) {}
};
static_assert(loop_nest<archetype> && loop_nest<loop_nest_builder> && !loop_nest<mutating> && !loop_nest<int>);
} // namespace
template result<program_features> augur::features_of_nest(const archetype&, const nest_options&, std::string); // needs no more than it asks

namespace {

constexpr auto f32 = element_type::f32;
using enum nest_annotation;

/// C(m,n) += A(m,k) B(k,n) with tiles of rows x columns vectors of `lanes`; loops i j k row column lane.
loop_nest_builder product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t rows, std::int64_t columns, std::int64_t lanes,
                          nest_annotation outer = serial, bool begins = true) {
    loop_nest_builder nest;
    for (const auto bytes : {m * k * 4, k * n * 4, m * n * 4}) nest.buffer(bytes);
    nest.begin_loop(m / rows, outer);
    nest.begin_loop(n / columns / lanes, serial);
    nest.begin_loop(k, serial);
    nest.begin_loop(rows, unrolled);
    nest.begin_loop(columns, unrolled);
    nest.begin_loop(lanes, vectorized);
    nest_statement s;
    nest_access c{2, f32, 0, {{0, rows * n}, {3, n}, {1, columns * lanes}, {4, lanes}, {5, 1}}, begins};
    const auto sum = s.load(c);
    const auto a = s.load({0, f32, 0, {{0, rows * k}, {3, k}, {2, 1}}});
    const auto b = s.load({1, f32, 0, {{2, n}, {1, columns * lanes}, {4, lanes}, {5, 1}}});
    c.begins = false;
    s.store(c, s.add(instruction_class::fadd, f32, {sum, s.add(instruction_class::fmul, f32, {a, b})}));
    nest.statement(s);
    for (int i = 0; i < 6; ++i) nest.end_loop();
    return nest;
}

/// Lanes of a class that ran, in all functions.
double ran(const program_features& p, instruction_class op) {
    double sum = 0;
    for (const auto& f : p.functions)
        for (const auto& b : f.flow.values())
            for (const auto& i : b.code.values())
                if (i.op == op) sum += static_cast<double>(b.count) * i.lanes;
    return sum;
}

program_features features(const loop_nest_builder& n, const nest_options& o = {}) {
    auto p = features_of_nest(n, o);
    REQUIRE_MESSAGE(p, (p ? "" : p.error().detail));
    return *std::move(p);
}

/// Reuse distances by going back through the trace.
reuse_profile by_force(const std::vector<std::uint64_t>& lines) {
    reuse_profile out(64);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::map<std::uint64_t, int> between;
        std::size_t j = i;
        while (j-- > 0 && lines[j] != lines[i]) between[lines[j]] = 1;
        if (j == static_cast<std::size_t>(-1)) out.add_cold(1);
        else out.add(between.size());
    }
    return out;
}

} // namespace

TEST_CASE("loop nest: a matrix product in register tiles does what a compiler makes of it") {
    const auto p = features(product(64, 128, 32, 4, 2, 16));
    REQUIRE(p.functions.size() == 1);
    constexpr double work = 64.0 * 128 * 32;
    CHECK(ran(p, instruction_class::fmul) == work);
    CHECK(ran(p, instruction_class::fadd) == work);
    CHECK(ran(p, instruction_class::store) == 64.0 * 128);          // the sums stay in registers
    CHECK(ran(p, instruction_class::load) == work / 4 + work / 32); // B by vectors for four rows; A for a tile row, one float
    CHECK(ran(p, instruction_class::move) == 64.0 * 128);
    const auto& flow = p.functions[0].flow;
    std::size_t inner = 0;
    for (std::uint32_t b = 0; b < flow.size(); ++b)
        if (flow[b].count == 64 / 4 * (128 / 32) * 32) inner = b;
    REQUIRE(inner > 0);
    int folded = 0, carried = 0;
    for (const auto& i : flow[static_cast<std::uint32_t>(inner)].code.values()) folded += i.fold == fold_hint::multiply_add ? 1 : 0;
    for (std::uint32_t e = 0; e < flow.edge_count(); ++e)
        if (flow.edge(e).source == inner && flow.edge(e).target == inner) carried += static_cast<int>(flow[flow.edge(e)].carried.size());
    CHECK(folded == 8);  // all multiplications go into additions
    CHECK(carried == 8); // and all sums into the next round
}

TEST_CASE("loop nest: without registers sums go through memory") {
    nest_options few;
    few.registers = 0;
    const auto p = features(product(16, 32, 8, 4, 2, 16), few);
    constexpr double work = 16.0 * 32 * 8;
    CHECK(ran(p, instruction_class::store) == work);
    CHECK(ran(p, instruction_class::load) == work + work / 4 + work / 32);
    nest_options some;
    some.registers = 8;
    CHECK(ran(features(product(16, 32, 8, 4, 2, 16), some), instruction_class::store) == 16.0 * 32);
}

TEST_CASE("loop nest: parallel loops are functions, unrolled ones that are too long stay loops") {
    const auto p = features(product(64, 32, 16, 4, 2, 16, parallel));
    REQUIRE(p.functions.size() == 2);
    CHECK(p.functions[1].parallel);
    CHECK(p.functions[1].count == 16);
    CHECK(p.functions[1].launches == 1);
    CHECK(ran(p, instruction_class::fmul) == 64.0 * 32 * 16);
    nest_options shorter;
    shorter.unrolled = 4;
    const auto q = features(product(64, 32, 16, 4, 2, 16), shorter);
    CHECK(ran(q, instruction_class::fmul) == 64.0 * 32 * 16);
    CHECK(q.functions[0].flow.size() > p.functions[1].flow.size());
    const auto one = crop::predict(p, epyc_zen4(), 1), two = crop::predict(p, epyc_zen4(), 2);
    REQUIRE(one);
    REQUIRE(two);
    CHECK(two->seconds < 0.6 * one->seconds);
}

TEST_CASE("loop nest: a share of the iterations, fused loops, strides between lanes") {
    loop_nest_builder nest;
    const auto x = nest.buffer(4 * 64 * 24), y = nest.buffer(4 * 24 * 64);
    nest.begin_loop(64 * 3, serial); // i and a part of j as one loop
    nest.begin_loop(8, vectorized);
    nest_statement s; // y(j,i) = x(i,j) for two iterations of three
    s.share = 2.0 / 3;
    s.store({y, f32, 0, {{0, 1, 3, 0}, {0, 8 * 64, 1, 3}, {1, 64}}}, s.load({x, f32, 0, {{0, 24, 3, 0}, {0, 8, 1, 3}, {1, 1}}}));
    nest.statement(s);
    nest.end_loop();
    nest.end_loop();
    const auto p = features(nest);
    CHECK(ran(p, instruction_class::load) == 128.0 * 8);
    CHECK(ran(p, instruction_class::scatter) == 128.0 * 8);
    CHECK(p.functions[0].memory[0].own.total() == 128 + 128 * 8); // a load is half a line
}

TEST_CASE("loop nest: reuse distances are those of the accesses in order") {
    nest_options cold;
    cold.warm = false;
    loop_nest_builder nest; // y(i) += x(j, i): y from memory each time, since x goes by rows
    const auto x = nest.buffer(4 * 6 * 160), y = nest.buffer(4 * 160);
    nest.begin_loop(6, serial);
    nest.begin_loop(10, serial);
    nest.begin_loop(16, vectorized);
    nest_statement s;
    const nest_access to{y, f32, 0, {{1, 16}, {2, 1}}};
    const auto v = s.load(to);
    s.store(to, s.add(instruction_class::fadd, f32, {v, s.load({x, f32, 0, {{0, 160}, {1, 16}, {2, 1}}})}));
    nest.statement(s);
    for (int i = 0; i < 3; ++i) nest.end_loop();
    std::vector<std::uint64_t> lines;
    for (std::uint64_t i = 0; i < 6; ++i)
        for (std::uint64_t j = 0; j < 10; ++j)
            for (const auto line : {1000 + j, i * 10 + j, 1000 + j}) lines.push_back(line);
    CHECK(features(nest, cold).functions[0].memory[0].own == by_force(lines));
    auto twice = lines; // warm: as in a second run, where what was cold comes back after all that is used
    twice.insert(twice.end(), lines.begin(), lines.end());
    const auto first = by_force(lines), both = by_force(twice), warm = features(nest).functions[0].memory[0].own;
    CHECK(warm.total() == lines.size());
    CHECK(warm.cold() == 0);
    for (const std::uint64_t ways : {32ULL, 128ULL}) {
        const double want =
            (hit_rate(both, ways, ways) * static_cast<double>(both.total()) - hit_rate(first, ways, ways) * static_cast<double>(first.total())) /
            static_cast<double>(lines.size());
        CHECK(hit_rate(warm, ways, ways) == doctest::Approx(want).epsilon(0.2));
    }
}

TEST_CASE("loop nest: a column a power of two apart meets in one set, and is there in the next run") {
    loop_nest_builder nest; // twelve times down a column of 40 lines, 4096 bytes apart: one of 64 sets, 40 of 2048
    nest.buffer(40 * 4096);
    nest.begin_loop(12, serial);
    nest.begin_loop(40, serial);
    nest_statement s;
    s.store({0, f32, 0, {{1, 1024}}}, s.load({0, f32, 0, {{1, 1024}}}));
    nest.statement(s);
    nest.end_loop();
    nest.end_loop();
    nest_options o;
    o.sets = {64, 2048};
    for (const bool warm : {false, true}) {
        o.warm = warm;
        const auto sets = features(nest, o).functions[0].memory[0].sets;
        REQUIRE(sets.size() == 2);
        const std::uint64_t first = warm ? 0 : 40; // uses that nobody was before
        CHECK(sets[0].accesses == 12 * 40 * 2);
        CHECK(sets[0].hits[0] == 12 * 40); // the store finds what the load brought
        CHECK(std::accumulate(sets[0].hits.begin() + 1, sets[0].hits.end(), std::uint64_t{0}) == 0);
        CHECK(sets[1].accesses == 12 * 40 * 2);
        CHECK(std::accumulate(sets[1].hits.begin(), sets[1].hits.end(), std::uint64_t{0}) == 12 * 40 * 2 - first);
    }
    o.accesses = 4096; // followed whole below that, never less
    CHECK(features(nest, o).functions[0].memory[0].sets.size() == 2);
    CHECK(features(product(128, 128, 128, 1, 1, 16), o).functions[0].memory[0].sets.empty());
    o.sets = {0};
    CHECK_FALSE(features_of_nest(nest, o));
}

TEST_CASE("loop nest: long nests are looked at in parts, and come out alike") {
    for (const bool tiled : {false, true}) {
        CAPTURE(tiled);
        const auto nest = tiled ? product(128, 128, 128, 4, 2, 16) : product(96, 96, 96, 1, 1, 16);
        nest_options whole, part;
        whole.accesses = 1ULL << 24U;
        part.accesses = 16384;
        const auto a = features(nest, whole), b = features(nest, part);
        CHECK(a.source == "loop nest");
        CHECK(b.source != a.source);
        const auto &x = a.functions[0].memory[0].own, &y = b.functions[0].memory[0].own;
        CHECK(static_cast<double>(y.total()) == doctest::Approx(static_cast<double>(x.total())).epsilon(0.01));
        for (const std::uint64_t lines : {64ULL, 512ULL, 2048ULL}) {
            CAPTURE(lines);
            CHECK(std::fabs(hit_rate(x, lines, lines) - hit_rate(y, lines, lines)) < 0.04);
        }
    }
}

TEST_CASE("loop nest: an element that stays in a register, and many loops of two, end in time") {
    loop_nest_builder sum;
    sum.buffer(4);
    sum.begin_loop(std::int64_t{1} << 40U, serial);
    nest_statement s;
    const auto old = s.load({0, f32, 0, {}});
    s.store({0, f32, 0, {}}, s.add(instruction_class::fmul, f32, {old, old}));
    sum.statement(s);
    sum.end_loop();
    CHECK(features(sum).functions.size() == 1);
    loop_nest_builder deep;
    deep.buffer(std::int64_t{4} << 36U);
    nest_statement read;
    nest_access a{0, f32, 0, {}};
    for (std::uint32_t i = 0; i < 36; ++i) {
        deep.begin_loop(2, serial);
        a.digits.push_back({i, std::int64_t{1} << i});
    }
    read.load(a);
    deep.statement(read);
    for (int i = 0; i < 36; ++i) deep.end_loop();
    nest_options few;
    few.accesses = 1U << 14U;
    CHECK(static_cast<double>(features(deep, few).functions[0].memory[0].own.total()) == doctest::Approx(0x1p36).epsilon(0.01));
}

TEST_CASE("loop nest: what is none is refused") {
    const auto code = [](const loop_nest_builder& n) {
        const auto p = features_of_nest(n);
        return p ? errc{} : p.error().code;
    };
    loop_nest_builder open;
    open.begin_loop(4, serial);
    CHECK(code(open) == errc::invalid_argument);
    open.end_loop();
    CHECK(code(open) == errc{});
    open.end_loop();
    CHECK(code(open) == errc::invalid_argument);
    const auto with = [&](std::int64_t extent, std::int64_t bytes, auto change) {
        loop_nest_builder n;
        n.buffer(bytes);
        n.begin_loop(extent, serial);
        nest_statement s;
        s.store({0, f32, 0, {{0, 1}}}, s.load({0, f32, 0, {{0, 1}}}));
        change(s);
        n.statement(s);
        n.end_loop();
        return code(n);
    };
    CHECK(with(4, 16, [](auto&) {}) == errc{});
    CHECK(with(0, 16, [](auto&) {}) == errc::invalid_argument);
    CHECK(with(4, 0, [](auto&) {}) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.share = 1.5; }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.share = std::nan(""); }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.accesses[0].buffer = 1; }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.accesses[0].digits[0].loop = 1; }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.accesses[0].digits[0].divide = 0; }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.operations[1].operands[0] = 1; }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.operations[0].access = 7; }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.operations[1].operands[0] = nest_operation::none; }) == errc::invalid_argument);
    CHECK(with(4, 16, [](auto& s) { s.accesses[0].offset = std::numeric_limits<std::int64_t>::max() / 2; }) == errc::limit);
    CHECK(with(4, 16, [](auto& s) { s.accesses[0].digits[0].stride = std::numeric_limits<std::int64_t>::min(); }) == errc::limit);
    const auto deep = [](int depth, std::int64_t extent) {
        loop_nest_builder n;
        for (int i = 0; i < depth; ++i) n.begin_loop(extent, serial);
        for (int i = 0; i < depth; ++i) n.end_loop();
        return n;
    };
    CHECK(code(deep(61, 1)) == errc::limit);
    CHECK(code(deep(60, 1)) == errc{});
    CHECK(code(deep(54, 2)) == errc::limit);
    CHECK(code(deep(2, 1 << 26)) == errc{}); // without accesses it is not followed
    nest_options lines;
    lines.line_bytes = 32;
    CHECK_FALSE(features_of_nest(product(4, 32, 4, 4, 2, 16), lines));
}
