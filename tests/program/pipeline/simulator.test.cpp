// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/pipeline/simulator.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/target/machine_check.hpp>
#include <augur/target/machine_presets.hpp>
#include <doctest/doctest.h>

#include "vector_file.hpp"

namespace simulator_test {

using namespace augur;

namespace {

using op = instruction_class;

/// ppt_lite's classes in our words.
instruction_class class_of(std::string_view name) {
    if (name == "alu") return op::select;
    if (name == "br") return op::branch;
    return parse_instruction_class(name == "iadd" ? "ialu" : name).value_or(op::unknown);
}

struct vector_case {
    std::string name;
    std::vector<std::string> vertices;
    std::vector<instruction_class> classes;
    std::vector<std::vector<std::string>> successors;
    double ppt_total = 0, ideal_total = 0;
    std::map<std::string, double> ppt_done, ideal_done;

    [[nodiscard]] graphlet graph() const {
        graphlet_builder b;
        for (const auto c : classes) b.add({c, element_type::i64, fold_hint::none, 1});
        for (std::uint32_t v = 0; v < vertices.size(); ++v)
            for (const auto& s : successors[v])
                b.after(v, static_cast<std::uint32_t>(std::find(vertices.begin(), vertices.end(), s) - vertices.begin()));
        return std::move(b).take();
    }
};

std::map<std::string, double> read_numbers(json_reader& in) {
    std::map<std::string, double> numbers;
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        const std::string name(key);
        in.read(numbers[name]);
    }
    return numbers;
}

struct vectors {
    machine hardware;
    std::vector<vector_case> cases;
};

vectors read_vectors() {
    const auto text = test_vector("crop_pipeline.json");
    json_reader in(text);
    std::string_view key;
    std::map<std::string, double> counts, latencies, throughputs;
    vectors v;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "hw") {
            in.begin_object();
            while (in.next_member(key)) {
                const std::string what(key);
                (what == "counts" ? counts : what == "lat" ? latencies : throughputs) = read_numbers(in);
            }
        } else if (key == "cases") {
            in.begin_array();
            while (in.next_element()) {
                auto& c = v.cases.emplace_back();
                in.begin_object();
                while (in.next_member(key)) {
                    const std::string what(key);
                    if (what == "name") in.read(c.name);
                    else if (what == "ppt_total") in.read(c.ppt_total);
                    else if (what == "ideal_total") in.read(c.ideal_total);
                    else if (what == "ppt_done") c.ppt_done = read_numbers(in);
                    else if (what == "ideal_done") c.ideal_done = read_numbers(in);
                    else {
                        in.begin_object();
                        while (in.next_member(key)) {
                            c.vertices.emplace_back(key);
                            std::string_view word;
                            auto& after = c.successors.emplace_back();
                            in.begin_array();
                            in.next_element() && in.read(word);
                            c.classes.push_back(class_of(word));
                            in.next_element() && in.begin_array();
                            while (in.next_element()) in.read(after.emplace_back());
                            CHECK(!in.next_element());
                        }
                    }
                }
            }
        } else {
            in.skip();
        }
    }
    REQUIRE_MESSAGE(in.finish(), in.reason());
    machine& m = v.hardware;
    for (const auto& [name, count] : counts) {
        m.units.push_back({name, static_cast<int>(count)});
        m.costs.push_back({class_of(name), element_type::i64, 1, latencies[name], throughputs[name] / count, m.units.size() - 1, provenance::table});
    }
    m.core.store_forward = latencies["load"]; // ppt_lite knows no forwarding
    return v;
}

/// The definition, word by word: among all vertices that have entered and whose operands are there, the one that was ready first (then: that stands
/// first) takes the unit that is free first; the next vertex enters when its turn comes before all of these. Quadratic, and nothing of it is shared with
/// the simulator but the cost of a vertex.
std::vector<double> by_hand(const graphlet& g, const cost_table& costs, bool front) {
    std::vector<native_code> code;
    costs.lower(g, code);
    std::vector<double> done(g.size(), -1), entered(g.size(), front ? -1 : 0), free(costs.units(), 0);
    std::size_t inside = front ? 0 : g.size();
    for (std::size_t left = g.size(); left > 0;) {
        double best = INFINITY;
        std::uint32_t pick = 0;
        for (std::uint32_t v = 0; v < inside; ++v) {
            if (done[v] >= 0) continue;
            double ready = entered[v];
            const auto in = in_edges(v, g);
            for (auto e = in.first; e != in.second; ++e) ready = done[source(*e, g)] < 0 ? INFINITY : (std::max)(ready, done[source(*e, g)]);
            if (ready < best) best = ready, pick = v;
        }
        if (inside < g.size()) {
            double at = inside == 0 ? 0 : entered[inside - 1] + code[inside - 1].slots() / costs.issue_width();
            bool fits = true;
            double behind = code[inside].slots(); // room that is taken by it and those right before it
            std::size_t v = inside;
            while (v > 0 && behind + code[v - 1].slots() <= costs.window()) behind += code[--v].slots();
            for (std::size_t w = 0; w < v; ++w) { // all others must be done
                fits = fits && done[w] >= 0;
                at = (std::max)(at, done[w]);
            }
            if (fits && (at < best || (at == best && inside < pick))) {
                entered[inside++] = at;
                continue;
            }
        }
        REQUIRE(best < INFINITY);
        double end = best;
        for (unsigned part = 0; part < code[pick].parts; ++part) {
            const auto& row = costs.row(code[pick].row_index());
            const auto first = free.begin() + row.first_unit;
            const auto unit = std::min_element(first, first + row.units);
            const double from = (std::max)(best, *unit);
            *unit = from + row.busy;
            end = (std::max)(end, from + row.latency);
        }
        done[pick] = end;
        --left;
    }
    return done;
}

graphlet random_graphlet(augur::random_engine& r, std::size_t n, double density) {
    constexpr std::array<instruction_class, 12> classes{op::fadd, op::fmul, op::fma,    op::load,    op::store,   op::ialu,
                                                        op::imul, op::fdiv, op::branch, op::shuffle, op::unknown, op::exp};
    constexpr std::array<fold_hint, 5> folds{fold_hint::none, fold_hint::none, fold_hint::always, fold_hint::operand, fold_hint::multiply_add};
    graphlet_builder b;
    for (std::uint32_t v = 0; v < n; ++v) {
        b.add({classes[r.below(classes.size())], r.below(2) == 0 ? element_type::f32 : element_type::i64, folds[r.below(folds.size())],
               static_cast<std::uint32_t>(1 + r.below(20))});
        for (std::uint32_t p = 0; p < v; ++p)
            if (r.uniform() < density) b.after(p, v);
    }
    return std::move(b).take();
}

} // namespace

TEST_CASE("pipeline: ppt_lite's and the ideal times of every vertex") {
    const auto v = read_vectors();
    const cost_table costs(v.hardware);
    pipeline ideal(costs, {unit_model::ideal, false}), ppt(costs, {unit_model::ppt_compat, false});
    CHECK(v.cases.size() == 14);
    for (const auto& c : v.cases) {
        CAPTURE(c.name);
        const auto g = c.graph();
        const double ideal_total = ideal.block(g), ppt_total = ppt.block(g);
        CHECK(std::abs(ideal_total - c.ideal_total) <= 1e-9);
        CHECK(std::abs(ppt_total - c.ppt_total) <= 1e-9);
        for (std::size_t i = 0; i < c.vertices.size(); ++i) {
            CAPTURE(c.vertices[i]);
            CHECK(std::abs(ideal.done()[i].time - c.ideal_done.at(c.vertices[i])) <= 1e-9);
            CHECK(std::abs(ppt.done()[i].time - c.ppt_done.at(c.vertices[i])) <= 1e-9);
        }
    }
    CHECK(ideal.unknown() == 1);
}

TEST_CASE("pipeline: the ideal model is its definition, on random graphlets of every size, with a front and without") {
    augur::random_engine r(3);
    auto tight = epyc_zen4();
    tight.core.window = 12;
    tight.core.issue_width = 1.5;
    auto tiny = xeon_gold_5220r();
    tiny.core.window = 1;
    for (const auto& m : {xeon_gold_5220r(), epyc_zen4(), cortex_a72(), complete_machine({}), tight, tiny}) {
        const cost_table costs(m);
        for (const bool front : {false, true}) {
            pipeline p(costs, {unit_model::ideal, front});
            for (const std::size_t n : std::initializer_list<std::size_t>{1, 2, 5, 8, 40, 200}) {
                for (int i = 0; i < (n > 100 ? 2 : 10); ++i) {
                    const auto g = random_graphlet(r, n, i % 2 == 0 ? 0.3 : 1.5 / static_cast<double>(n));
                    const auto expected = by_hand(g, costs, front);
                    const double total = p.block(g);
                    CHECK(total == *std::max_element(expected.begin(), expected.end()));
                    CHECK(std::equal(expected.begin(), expected.end(), p.done().begin(), p.done().end(),
                                     [](double t, const pipeline_cell& c) { return t == c.time; }));
                }
            }
        }
    }
}

TEST_CASE("pipeline: issue width and window are what limits independent work") {
    auto m = epyc_zen4();
    const auto independent = [](std::size_t n, instruction_class c) {
        graphlet_builder b;
        for (std::size_t i = 0; i < n; ++i) b.add({c, element_type::f32, fold_hint::none, 1});
        return std::move(b).take();
    };
    {
        const cost_table costs(m); // 600 additions of integers: four a cycle
        pipeline p(costs);
        CHECK(p.block(independent(600, op::ialu)) == doctest::Approx(150).epsilon(0.01));
    }
    m.core.issue_width = 2;
    {
        const cost_table costs(m);
        pipeline p(costs);
        CHECK(p.block(independent(600, op::ialu)) == doctest::Approx(300).epsilon(0.01));
    }
    m.core.issue_width = 6;
    m.core.window = 10;
    m.units[7].count = 1; // stores one by one, a cycle each; then loads of 100 cycles in flight, ten at a time
    {
        cost_table costs(m);
        costs.set_memory(96, 0);
        pipeline p(costs);
        CHECK(p.block(independent(600, op::load)) == doctest::Approx(6000).epsilon(0.02)); // Little: 10 in flight, 100 cycles each
    }
    m.core.window = 1e5;
    {
        cost_table costs(m);
        costs.set_memory(0, 7); // a bandwidth of one access in seven cycles
        pipeline p(costs);
        CHECK(p.block(independent(600, op::load)) == doctest::Approx(4200).epsilon(0.01));
    }
}

TEST_CASE("pipeline: ten thousand ready at once, and scratch that is used again") {
    const cost_table costs(epyc_7763());
    pipeline p(costs, {unit_model::ideal, false});
    graphlet_builder b;
    const auto root = b.add({op::load, element_type::f32, fold_hint::none, 8});
    for (int i = 0; i < 10000; ++i) b.add({op::fadd, element_type::f32, fold_hint::none, 8}, {root});
    const auto g = std::move(b).take();
    CHECK(p.block(g) == doctest::Approx(4 + 10000 * 0.5 - 1 + 3));
    const auto first = p.block(g);
    graphlet_builder one;
    one.add({op::fadd, element_type::f32, fold_hint::none, 8});
    CHECK(p.block(std::move(one).take()) == 3);
    CHECK(p.done().size() == 1);
    CHECK(p.block(g) == first);
    CHECK(p.block({}) == 0);
}

} // namespace simulator_test
