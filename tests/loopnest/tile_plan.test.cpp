// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/detail/tile_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kernels.hpp"
#include "random_schedule.hpp"

using namespace augur;

using namespace augur::loopnest;
using augur::loopnest::detail::tile_chooser;
using augur::loopnest::detail::tile_plan;
using augur::loopnest::detail::tile_planner;

namespace {

using loop_values = std::map<int, std::int64_t>;

std::int64_t value_of(const term_table& terms, const affine& a, const loop_values& loops) {
    std::int64_t sum = a.constant;
    for (const auto& [t, f] : a.terms) {
        const auto& x = terms[t];
        if (x.type == term_table::term::kind::loop) {
            const auto at = loops.find(t);
            sum += f * (at == loops.end() ? 0 : at->second);
            continue;
        }
        const auto inner = value_of(terms, x.operand, loops);
        auto quotient = inner / x.divisor;
        if (quotient * x.divisor > inner) --quotient;
        sum += f * (x.type == term_table::term::kind::quotient ? quotient : inner - quotient * x.divisor);
    }
    return sum;
}

/// How often a nest stores to each element, guards apart.
using store_counts = std::map<std::int64_t, std::int64_t>;

void count_stores(const term_table& terms, const lowered_nest& n, const std::vector<lowered_loop>& loops, std::size_t depth, loop_values& values,
                  store_counts& out) {
    if (depth == loops.size()) {
        ++out[value_of(terms, n.index, values)];
        return;
    }
    for (std::int64_t i = 0; i < loops[depth].extent; ++i) {
        values[loops[depth].term] = i;
        count_stores(terms, n, loops, depth + 1, values, out);
    }
}

/// The stores of a plan, in its parts, and the most vectors that one of its tiles holds.
struct planned_stores {
    const tile_planner& planner;
    term_table& terms;
    const tile_chooser& chooser;
    store_counts out = {};
    std::int64_t most_held = 0;

    void add(const tile_plan& p, std::vector<lowered_loop> parts) {
        if (!p.cuts.empty())
            return planner.for_each_part(terms, p, [&](int term, std::int64_t count, const tile_plan& part) {
                auto inner = parts;
                if (term >= 0) inner.push_back({term, count, false, loop_annotation::none, {}});
                add(part, inner);
            });
        auto loops = parts;
        loops.insert(loops.end(), p.outer.begin(), p.outer.end());
        loops.insert(loops.end(), p.reduce_loops.begin(), p.reduce_loops.end());
        loops.insert(loops.end(), p.tile.begin(), p.tile.end());
        if (p.lanes.term >= 0) loops.push_back(p.lanes);
        if (p.sum_lanes.term >= 0) loops.push_back(p.sum_lanes);
        loop_values values;
        count_stores(terms, p.nest, loops, 0, values, out);
        const auto unrolling = planner.unrolling(p, false);
        auto sums = chooser.with_lanes_behind(p.lanes_behind).vectors(p.lanes.term < 0 ? 1 : p.lanes.extent);
        CHECK(unrolling.vectors == sums);
        for (const auto& l : p.tile) sums *= l.extent;
        CHECK(unrolling.sums == sums);
        CHECK(unrolling.partial >= 1);
        if (p.nest.combine != reducer::none) most_held = (std::max)(most_held, sums * unrolling.partial);
    }
};

} // namespace

TEST_CASE("tile plans: the parts of a nest store to each element as often as the nest does, and tiles fit the registers") {
    for (const auto& text : small_kernels) {
        CAPTURE(std::string(text));
        const auto dag = dag_of(text);
        augur::random_engine rng(fnv1a64(text));
        for (const int floats : {16, 8, 4}) {
            CAPTURE(floats);
            const int registers = floats == 16 ? 32 : 16;
            c_options o;
            o.vector_floats = floats;
            o.vector_registers = registers;
            const tile_planner planner(o);
            const tile_chooser chooser(floats, registers);
            for (int i = 0; i < 6; ++i) {
                CAPTURE(i);
                auto k = lower(random_schedule::sample(dag, rng, i < 2 ? 0 : 12));
                REQUIRE(k);
                for (const auto& n : k->nests) {
                    std::size_t depth = 0;
                    for (std::size_t l = 0; l < n.loops.size(); ++l)
                        if (!n.loops[l].attached.empty()) depth = l + 1;
                    auto terms = k->terms;
                    std::vector<lowered_loop> loops;
                    for (std::size_t l = depth; l < n.loops.size(); ++l)
                        if (n.loops[l].term >= 0) loops.push_back(n.loops[l]);
                    store_counts expected;
                    loop_values values;
                    count_stores(terms, n, loops, 0, values, expected);
                    planned_stores stores{planner, terms, chooser};
                    stores.add(planner.plan(terms, n, depth), {});
                    CHECK(stores.out == expected);
                    CHECK(stores.most_held <= registers);
                }
            }
        }
    }
}

TEST_CASE("tile plans: a reduction over lanes covers its steps") {
    c_options o;
    for (const int floats : {4, 8, 16}) {
        o.vector_floats = floats;
        const tile_planner planner(o);
        for (std::int64_t extent = 8; extent < 300; ++extent) {
            CAPTURE(extent);
            const auto [width, vectors, rounds] = planner.lanes_of_sum(extent);
            CHECK(width <= floats);
            CHECK(vectors <= 4);
            const auto rest = extent - width * vectors * rounds;
            CHECK(rest >= 0);
            CHECK(rest < width * vectors);
        }
    }
}

TEST_CASE("tile plans: rows that are contiguous and no whole vectors are summed as one") {
    const auto sum_of = [](const char* kernel, int floats) {
        c_options o;
        o.vector_floats = floats;
        auto k = lower(loop_state(dag_of(kernel)));
        REQUIRE(k);
        const auto pool = std::find_if(k->nests.begin(), k->nests.end(), [](const lowered_nest& n) { return n.combine == reducer::sum; });
        REQUIRE(pool != k->nests.end());
        const auto p = tile_planner(o).plan(k->terms, *pool, 0);
        return std::pair(p.sum_lanes.term < 0 ? 0 : p.sum_lanes.extent, p.reduce_loops.size());
    };
    CHECK(sum_of("global_avg_pool2d:h=7,w=7,c=5,layout=nchw", 8) == std::pair<std::int64_t, std::size_t>(49, 0));
    CHECK(sum_of("global_avg_pool2d:h=5,w=12,c=5,layout=nchw", 8) == std::pair<std::int64_t, std::size_t>(60, 0));
    CHECK(sum_of("global_avg_pool2d:h=5,w=16,c=5,layout=nchw", 8) == std::pair<std::int64_t, std::size_t>(16, 1)); // no remainder to save
    CHECK(sum_of("global_avg_pool2d:h=7,w=7,c=16", 8).first == 0);                                                 // lanes are channels
    CHECK(sum_of("avg_pool2d:h=9,w=9,c=4,k=3,stride=3,layout=nchw", 8).first == 0);                                // windows are no rows of one block
}
