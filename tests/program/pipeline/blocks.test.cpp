// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/pipeline/blocks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/target/machine_presets.hpp>
#include <doctest/doctest.h>

namespace blocks_test {

using namespace augur;

namespace {

using op = instruction_class;
constexpr auto f32 = element_type::f32;
constexpr auto plain = fold_hint::none;

/// A block with what it becomes on a machine.
struct block {
    graphlet code;
    std::vector<native_code> native;
    block(graphlet g, const cost_table& costs) : code(std::move(g)) { costs.lower(code, native); }
    [[nodiscard]] lowered_block view() const {
        double slots = 0;
        for (const auto& c : native) slots += c.slots();
        return {&code, native, slots};
    }
};

graphlet chain(std::size_t n, op what) {
    graphlet_builder b;
    for (std::uint32_t i = 0; i < n; ++i) {
        b.add({what, f32, plain, 8});
        if (i > 0) b.after(i - 1, i);
    }
    return std::move(b).take();
}
graphlet side_by_side(std::size_t n, op what) {
    graphlet_builder b;
    for (std::size_t i = 0; i < n; ++i) b.add({what, f32, plain, 8});
    return std::move(b).take();
}
graphlet some_block(augur::random_engine& r, std::size_t n) {
    constexpr op classes[] = {op::fadd, op::fmul, op::load, op::store, op::ialu, op::fdiv};
    graphlet_builder b;
    for (std::uint32_t v = 0; v < n; ++v) {
        b.add({classes[r.below(6)], f32, plain, 8});
        if (v > 0 && r.below(2) == 0) b.after(static_cast<std::uint32_t>(r.below(v)), v);
    }
    return std::move(b).take();
}

} // namespace

TEST_CASE("blocks: a block behind another is the superblock as a graph") {
    augur::random_engine r(5);
    for (const auto options : {pipeline_options{unit_model::ideal, false}, {unit_model::ideal, true}, {unit_model::ppt_compat, false}}) {
        const cost_table costs(epyc_zen4());
        block_pipeline blocks(costs, options);
        pipeline whole(costs, options);
        for (int i = 0; i < 30; ++i) {
            const block p(some_block(r, 1 + r.below(30)), costs), b(some_block(r, 1 + r.below(30)), costs);
            std::vector<dependence> carried;
            for (std::uint32_t v = 0; v < p.code.size(); ++v)
                if (r.below(4) == 0) carried.push_back({v, static_cast<std::uint32_t>(r.below(b.code.size()))});
            const auto joined = superblock(p.code, b.code, carried);
            CHECK(joined.size() == p.code.size() + b.code.size());
            CHECK(joined.edge_count() == p.code.edge_count() + b.code.edge_count() + carried.size());
            const auto first = p.view(), last = b.view();
            const std::array<augur::path_block, 2> way{{{&first, {}}, {&last, carried}}};
            const double cycles = whole.block(joined);
            double before = 0;
            for (const auto& c : whole.done().first(p.code.size())) before = (std::max)(before, c.time);
            const auto ends = blocks.along(way);
            CHECK(ends[0] == before);
            CHECK(ends[1] == cycles);
            CHECK(blocks.alone(p.view()) == whole.block(p.code));
        }
    }
}

TEST_CASE("blocks: a loop under way costs what limits it") {
    const cost_table costs(epyc_zen4()); // additions: two a cycle, three cycles each; six instructions a cycle
    block_pipeline blocks(costs);
    const auto round = [&](const block& b, const std::vector<dependence>& carried) {
        return blocks.round(b.view(), carried, blocks.alone(b.view()));
    };
    CHECK(round({side_by_side(8, op::fadd), costs}, {}) == doctest::Approx(4));          // the units
    CHECK(round({chain(5, op::fadd), costs}, {}) == doctest::Approx(2.5).epsilon(0.02)); // rounds overlap
    CHECK(round({chain(5, op::fadd), costs}, {{4, 0}}) == doctest::Approx(15));          // the last result goes to the first of the next round
    CHECK(round({chain(1, op::fadd), costs}, {{0, 0}}) == doctest::Approx(3));
    CHECK(round({side_by_side(12, op::ialu), costs}, {}) == doctest::Approx(3).epsilon(0.01));
    const block empty({}, costs);
    CHECK(round(empty, {}) == 0);
    // What is carried from a store to a load comes by way of the store buffer: 1 + 7 cycles.
    for (const auto hint : {plain, augur::fold_hint::operand}) { // a load that the addition does takes it, too
        graphlet_builder b;
        const auto x = b.add({op::load, f32, hint, 8});
        const auto y = b.add({op::fadd, f32, plain, 8}, {x});
        b.add({op::store, f32, plain, 8}, {y});
        CHECK(round({std::move(b).take(), costs}, {{2, 0}}) == doctest::Approx(7 + 3 + 1));
    }
}

TEST_CASE("blocks: rounds that wait for memory fill the window") {
    auto m = epyc_zen4();
    cost_table costs(m);
    costs.set_memory(396, 0); // every load from memory, 400 cycles
    graphlet_builder b;
    const auto x = b.add({op::load, f32, plain, 8});
    b.add({op::fadd, f32, plain, 8}, {x});
    b.add({op::ialu, element_type::i64, plain, 1});
    b.add({op::branch, element_type::i64, plain, 1});
    const block loop(std::move(b).take(), costs);
    block_pipeline blocks(costs);
    // Little's law: 320 instructions in flight, 4 a round, each some 403 cycles: a round in 5.04 cycles
    CHECK(blocks.round(loop.view(), {}, blocks.alone(loop.view())) == doctest::Approx(403.0 * 4 / 320).epsilon(0.03));
    m.core.window = 40;
    cost_table small(m);
    small.set_memory(396, 0);
    block_pipeline narrow(small);
    CHECK(narrow.round(loop.view(), {}, narrow.alone(loop.view())) == doctest::Approx(403.0 * 4 / 40).epsilon(0.05));
}

TEST_CASE("blocks: the rounds of a loop add up to the whole of it") {
    augur::random_engine r(6);
    const cost_table costs(xeon_gold_5220r());
    block_pipeline blocks(costs);
    for (int i = 0; i < 20; ++i) {
        const block b(some_block(r, 2 + r.below(20)), costs);
        const auto last = static_cast<std::uint32_t>(b.code.size() - 1);
        const std::vector<dependence> carried = i % 2 == 0 ? std::vector<dependence>{} : std::vector<dependence>{{last, 0}};
        graphlet whole = b.code;
        for (int k = 1; k < 200; ++k) { // 200 rounds as one graph
            std::vector<dependence> at;
            for (const auto& d : carried) at.push_back({d.from + static_cast<std::uint32_t>(whole.size() - b.code.size()), d.to});
            whole = superblock(whole, b.code, at);
        }
        pipeline all(costs);
        const double alone = blocks.alone(b.view()), round = blocks.round(b.view(), carried, alone);
        CHECK(alone + 199 * round == doctest::Approx(all.block(whole)).epsilon(0.06));
    }
}

} // namespace blocks_test
