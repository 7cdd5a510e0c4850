// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/graph/control_flow.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

#include "vector_file.hpp"

namespace control_flow_test {

using namespace augur;

namespace {

using edge = control_flow_graph::new_edge;

control_flow_graph flow(const std::vector<std::uint64_t>& counts, const std::vector<edge>& edges) {
    std::vector<basic_block> blocks;
    for (std::size_t i = 0; i < counts.size(); ++i) blocks.push_back({"b" + std::to_string(i), {}, counts[i]});
    return {std::move(blocks), edges};
}

/// Entry, a loop of ten rounds around one of four, exit: b0, b1 (outer head), b2 (inner, to itself), b3 (outer latch), b4.
control_flow_graph nest() {
    return flow({1, 10, 40, 10, 1}, {{0, 1, {1, {}}}, {1, 2, {10, {}}}, {2, 2, {30, {}}}, {2, 3, {10, {}}}, {3, 1, {9, {}}}, {3, 4, {1, {}}}});
}

std::set<std::uint32_t> members(const control_loop& l) {
    std::set<std::uint32_t> s;
    for (std::uint32_t b = 0; b < l.blocks.size(); ++b)
        if (l.blocks[b]) s.insert(b);
    return s;
}

/// By the definition: a dominates b when b cannot be reached from the entry without a.
bool reaches(const control_flow_graph& g, std::uint32_t from, std::uint32_t to, std::int64_t without) {
    if (static_cast<std::int64_t>(from) == without) return false;
    std::vector<std::uint32_t> work{from};
    std::vector<bool> seen(g.size(), false);
    seen[from] = true;
    while (!work.empty()) {
        const auto b = work.back();
        work.pop_back();
        if (b == to) return true;
        for (auto e = g.rows()[b]; e < g.rows()[b + 1]; ++e) {
            const auto t = g.targets()[e];
            if (static_cast<std::int64_t>(t) != without && !seen[t]) seen[t] = true, work.push_back(t);
        }
    }
    return false;
}

} // namespace

TEST_CASE("control flow: Eq. 3, the vectors") {
    const auto text = test_vector("crop_eq3.json");
    json_reader in(text);
    std::string_view key;
    int rows = 0;
    in.begin_object();
    while (in.next_member(key)) {
        if (key != "rows") {
            in.skip();
            continue;
        }
        in.begin_array();
        while (in.next_element()) {
            std::int64_t executions = 0, threads = 0, per_call = 0, serial = 0, parallel = 0;
            in.begin_object();
            while (in.next_member(key))
                in.read(key == "count_F"         ? executions
                        : key == "threads"       ? threads
                        : key == "count_BB"      ? per_call
                        : key == "serial_ecount" ? serial
                                                 : parallel);
            const auto n = static_cast<std::uint64_t>(executions);
            CHECK(effective_count(n, static_cast<double>(per_call), static_cast<int>(threads), false) == static_cast<double>(serial));
            CHECK(effective_count(n, static_cast<double>(per_call), static_cast<int>(threads), true) == static_cast<double>(parallel));
            ++rows;
        }
    }
    REQUIRE(in.finish());
    CHECK(rows == 8);
}

TEST_CASE("control flow: a parallel region that is entered several times deals out each time") {
    CHECK(effective_count(20, 1, 4, true, 2) == 6); // 10 iterations twice, 3 rounds each
    CHECK(effective_count(20, 1, 4, true, 1) == 5);
    CHECK(effective_count(21, 2, 4, true, 2) == 12); // 10 and 11: 3 rounds each
    CHECK(effective_count(7, 1, 4, true, 7) == 7);   // one by one: nothing is parallel
    CHECK(effective_count(20, 1, 1, true, 2) == 20);
    CHECK(effective_count(20, 1, 4, true, 0) == 20);
}

TEST_CASE("control flow: counts that do not fit are refused by the block's name") {
    CHECK(check_counts(nest(), 1));
    const auto refused = [](const control_flow_graph& g, std::uint64_t entries, const char* text) {
        const auto said = check_counts(g, entries);
        REQUIRE(!said);
        CHECK(said.error().code == errc::invalid_argument);
        CHECK(said.error().detail == text);
    };
    refused(nest(), 2, "block 0 ('b0') ran 1 times but was come to 2 times");
    auto g = nest();
    g[2].count = 41;
    refused(g, 1, "block 2 ('b2') ran 41 times but was come to 40 times");
    refused(flow({5, 6}, {{0, 1, {6, {}}}}), 5, "block 0 ('b0') ran 5 times but was left 6 times");
    CHECK(check_counts(flow({5, 2}, {{0, 1, {2, {}}}}), 5));                           // left by a return
    CHECK(!check_counts(flow({1, 1}, {{0, 1, {~0ULL, {}}}, {0, 1, {~0ULL, {}}}}), 1)); // no wrapping round
}

TEST_CASE("control flow: loops, and the branches that are missed") {
    const auto g = nest();
    const auto loops = natural_loops(g);
    REQUIRE(loops.size() == 2);
    CHECK(members(loops[0]) == std::set<std::uint32_t>{2});
    CHECK(loops[0].rounds == 4);
    CHECK(members(loops[1]) == std::set<std::uint32_t>{1, 2, 3});
    CHECK(loops[1].rounds == 10);
    CHECK(branch_misses(g, 0) == std::vector<double>{0, 0, 0, 1, 0, 1}); // one at each end of a loop
    CHECK(branch_misses(g, 4) == std::vector<double>{0, 0, 0, 0, 0, 1}); // the machine counts to four
    CHECK(branch_misses(g, 64) == std::vector<double>(6, 0.0));
    // if (p = 0.3) else, then a loop that begins at the entry itself and is left at once as often as not
    const auto split = flow({10, 3, 7, 10}, {{0, 1, {3, {}}}, {0, 2, {7, {}}}, {1, 3, {3, {}}}, {2, 3, {7, {}}}});
    CHECK(branch_misses(split, 0) == std::vector<double>{0.5, 0, 0, 0});
    const auto at_entry = flow({8, 5}, {{0, 0, {3, {}}}, {0, 1, {5, {}}}});
    REQUIRE(natural_loops(at_entry).size() == 1);
    CHECK(natural_loops(at_entry)[0].rounds == doctest::Approx(8.0 / 5));
    CHECK(branch_misses(at_entry, 0) == std::vector<double>{0.5, 0});
    CHECK(natural_loops({}).empty());
    CHECK(branch_misses({}, 0).empty());
}

TEST_CASE("control flow: natural loops are their definition, on random graphs") {
    augur::random_engine r(8);
    for (int i = 0; i < 200; ++i) {
        const auto n = static_cast<std::uint32_t>(1 + r.below(12));
        std::vector<edge> edges;
        for (std::uint32_t v = 0; v < n; ++v)
            for (auto k = r.below(3); k > 0; --k) edges.push_back({v, static_cast<std::uint32_t>(r.below(n)), {}});
        const auto g = flow(std::vector<std::uint64_t>(n, 1), edges);
        std::vector<std::pair<std::uint32_t, std::set<std::uint32_t>>> expected;
        for (std::uint32_t head = 0; head < n; ++head) {
            std::set<std::uint32_t> body;
            for (const auto& e : edges) { // back edges: to a block that dominates their source
                if (e.target != head || !reaches(g, 0, e.source, -1) || (e.source != head && head != 0 && reaches(g, 0, e.source, head))) continue;
                body.insert(head);
                for (std::uint32_t b = 0; b < n; ++b) // what reaches the source without the head
                    if (b == e.source || (b != head && e.source != head && reaches(g, 0, b, -1) && reaches(g, b, e.source, head))) body.insert(b);
            }
            if (!body.empty()) expected.emplace_back(head, body);
        }
        std::vector<std::pair<std::uint32_t, std::set<std::uint32_t>>> got;
        for (const auto& l : natural_loops(g)) {
            for (const auto& before : got) // inner ones first
                CHECK(!(before.second.count(l.head) != 0 && before.second.size() > members(l).size() && members(l).count(before.first) == 0));
            got.emplace_back(l.head, members(l));
        }
        std::sort(got.begin(), got.end());
        CHECK(got == expected);
    }
}

} // namespace control_flow_test
