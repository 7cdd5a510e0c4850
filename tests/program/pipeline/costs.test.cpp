// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/pipeline/costs.hpp>

#include <string>
#include <utility>
#include <vector>

#include <augur/program/pipeline/simulator.hpp>
#include <augur/target/machine_check.hpp>
#include <augur/target/machine_presets.hpp>
#include <doctest/doctest.h>

namespace costs_test {

using namespace augur;

namespace {

using op = instruction_class;
constexpr auto f32 = element_type::f32;
constexpr auto f64 = element_type::f64;
constexpr auto i64 = element_type::i64;
constexpr auto plain = fold_hint::none;

struct found {
    double latency, throughput;
    unsigned parts;
    provenance from;
    friend bool operator==(const found&, const found&) = default;
};
found look_up(const cost_table& costs, instruction i) {
    const auto c = costs.look_up(i);
    const auto& r = costs.row(c.row_index());
    return {r.latency, r.busy / r.units, c.parts, r.from};
}

std::vector<native_code> lowered(const cost_table& costs, const graphlet& g) {
    std::vector<native_code> code;
    costs.lower(g, code);
    return code;
}

machine without(machine m, fold_hint f) {
    m.core.folds &= ~(1U << static_cast<unsigned>(f));
    return m;
}

} // namespace

TEST_CASE("costs: a vector is what the machine's registers make of it") {
    const cost_table wide(epyc_zen4()), half(epyc_7763()), narrow(cortex_a72());
    const instruction v16{op::fma, f32, plain, 16};
    CHECK(look_up(wide, v16) == found{4, 1, 1, provenance::measured}); // one register, two passes
    CHECK(look_up(half, v16) == found{4, 0.5, 2, provenance::table});  // two registers
    CHECK(look_up(narrow, v16) == found{7, 0.5, 4, provenance::table});
    CHECK(look_up(wide, {op::fma, f32, plain, 8}) == found{4, 0.5, 1, provenance::measured});
    CHECK(look_up(wide, {op::fma, f32, plain, 5}) == found{4, 0.5, 1, provenance::measured}); // rounded up
    CHECK(look_up(wide, {op::fma, f32, plain, 1}).throughput == 0.5);
    CHECK(look_up(wide, {op::fma, f32, plain, 17}).parts == 2);
    CHECK(look_up(wide, {op::fma, f32, plain, 4096}).parts == 256);
    CHECK(look_up(wide, {op::fma, f64, plain, 16}).parts == 2);
    CHECK(look_up(narrow, {op::fma, f64, plain, 3}).parts == 2);
    CHECK(look_up(wide, {op::exp, f32, plain, 16}).parts == 16); // a function is called for each lane
    CHECK(look_up(wide, {op::fma, f32, plain, 0x80000000U}).parts == 65535);
}

TEST_CASE("costs: what is not listed has the nearest type's cost, then a default, and says so") {
    const cost_table costs(epyc_zen4());
    const auto half = look_up(costs, {op::fadd, element_type::f16, plain, 32});
    CHECK(half == found{3, 1, 1, provenance::defaulted}); // as many bytes of f32
    CHECK(look_up(costs, {op::idiv, element_type::i1, plain, 1}).latency == 12);
    CHECK(look_up(costs, {op::tanh, f32, plain, 1}).from == provenance::defaulted);
    CHECK(look_up(costs, {op::unknown, i64, plain, 1}) == found{4, 1, 1, provenance::defaulted});
    CHECK(look_up(costs, {op::load, f32, plain, 1}) == found{4, 0.33, 1, provenance::table});
    for (std::size_t c = 0; c < instruction_classes; ++c) // there is a cost for everything, on every machine
        for (std::size_t t = 0; t < element_types; ++t)
            for (const auto& m : {epyc_zen4(), cortex_a72(), complete_machine({})}) {
                const auto f = look_up(cost_table(m), {static_cast<op>(c), static_cast<element_type>(t), plain, 7});
                CHECK(f.latency > 0);
                CHECK(f.throughput > 0);
                CHECK(f.parts > 0);
            }
}

TEST_CASE("costs: folds are the machine's") {
    graphlet_builder b;
    const auto phi = b.add({op::move, i64, fold_hint::always, 1});
    const auto address = b.add({op::ialu, i64, fold_hint::address, 1}, {phi});
    const auto x = b.add({op::load, f32, plain, 1}, {address});
    const auto splat = b.add({op::shuffle, f32, fold_hint::splat, 16}, {x});
    const auto y = b.add({op::load, f32, fold_hint::operand, 16}, {address});
    const auto product = b.add({op::fmul, f32, fold_hint::multiply_add, 16}, {splat, y});
    const auto sum = b.add({op::fadd, f32, plain, 16}, {product});
    const auto test = b.add({op::compare, i64, fold_hint::compare_branch, 1}, {phi});
    const auto branch = b.add({op::branch, i64, plain, 1}, {test});
    const auto g = std::move(b).take();

    const cost_table zen(epyc_zen4());
    const auto code = lowered(zen, g);
    for (const auto v : {phi, address, splat, product, test}) CHECK(code[v].parts == 0);
    for (const auto v : {x, y, sum, branch}) CHECK(code[v].parts == 1);
    CHECK(code[sum] == zen.look_up({op::fma, f32, plain, 16}));
    CHECK(code[x].slots() == 1);
    CHECK(code[y].slots() == 0); // the load is done, in the room of the fma
    pipeline ideal(zen, {unit_model::ideal, false});
    CHECK(ideal.block(g) == 4 + 4); // a load, then the fma

    auto m = epyc_zen4();
    m.core.folds = 0;
    const cost_table plainly(m);
    for (const auto& c : lowered(plainly, g)) CHECK(c.parts == 1);
    CHECK(lowered(plainly, g)[sum] == plainly.look_up({op::fadd, f32, plain, 16}));
    CHECK(lowered(cost_table(without(epyc_zen4(), fold_hint::splat)), g)[splat].parts == 1);
    CHECK(lowered(cost_table(cortex_a72()), g)[test].parts == 1); // compares, then branches
}

TEST_CASE("costs: an addition takes one of its factors, and only what is its like") {
    const cost_table costs(epyc_zen4());
    const auto fma = costs.look_up({op::fma, f32, plain, 16}), fadd = costs.look_up({op::fadd, f32, plain, 16});
    { // a * b + c * d: one of them stays a multiplication
        graphlet_builder b;
        const auto p = b.add({op::fmul, f32, fold_hint::multiply_add, 16}), q = b.add({op::fmul, f32, fold_hint::multiply_add, 16});
        const auto sum = b.add({op::fadd, f32, plain, 16}, {p, q});
        const auto code = lowered(costs, std::move(b).take());
        CHECK(code[p].parts == 0);
        CHECK(code[q].parts == 1);
        CHECK(code[sum] == fma);
    }
    const auto stays = [&](instruction user, bool twice, fold_hint hint = fold_hint::multiply_add) {
        graphlet_builder b;
        const auto p = b.add({op::fmul, f32, hint, 16});
        b.add(user, {p});
        if (twice) b.add(user, {p});
        const auto code = lowered(costs, std::move(b).take());
        return code[p].parts == 1 && code[1] == costs.look_up(user);
    };
    CHECK(!stays({op::fadd, f32, plain, 16}, false));
    CHECK(stays({op::fadd, f32, plain, 16}, true)); // its value is needed twice
    CHECK(stays({op::fadd, f32, plain, 8}, false));
    CHECK(stays({op::fadd, f64, plain, 16}, false));
    CHECK(stays({op::fmul, f32, plain, 16}, false));
    CHECK(stays({op::fadd, f32, plain, 16}, false, plain)); // not allowed to
    CHECK(fma.row != fadd.row);
}

TEST_CASE("costs: memory decides what a load takes, and a store in flight is quicker") {
    cost_table costs(epyc_zen4());
    graphlet_builder b;
    const auto w = b.add({op::store, f32, plain, 16});
    const auto r = b.add({op::load, f32, plain, 16}, {w}), other = b.add({op::load, f32, plain, 16});
    const auto g = std::move(b).take();
    const auto code = lowered(costs, g);
    const auto latency = [&](std::uint32_t v) { return costs.row(code[v].row_index()).latency; };
    CHECK(latency(r) == 7);
    CHECK(latency(other) == 4);
    costs.set_memory(30, 9);
    CHECK(latency(r) == 7);
    CHECK(latency(other) == 34);
    CHECK(costs.row(code[other].row_index()).busy / costs.row(code[other].row_index()).units == 9);
    costs.set_memory(0, 0.1); // more bandwidth than the core can ask for
    CHECK(look_up(costs, {op::load, f32, plain, 16}) == found{4, 1, 1, provenance::table});
    costs.set_memory(0, 0);
    CHECK(latency(other) == 4);
}

} // namespace costs_test
