// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/metatune/loop_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>

#include "candidates.hpp"

using namespace augur;

namespace {

/// A dot text as a set of nodes and a set of edges, line by line.
struct drawing {
    std::set<std::string> nodes;
    std::set<std::pair<std::string, std::string>> edges;
    std::size_t lines = 0, dashed = 0;

    explicit drawing(const std::string& dot) {
        std::istringstream in(dot);
        for (std::string line; std::getline(in, line);) {
            if (line == "digraph loops {" || line == "}") continue;
            ++lines;
            std::istringstream words(line.substr(0, line.rfind(';')));
            std::string from, arrow, to;
            words >> from >> arrow >> to;
            if (arrow == "->") edges.emplace(from, to);
            else nodes.insert(from);
            dashed += line.find("style=dashed") != std::string::npos ? 1U : 0U;
        }
    }
};

metatune::loop_rows three_loops() {
    iterator_features f;
    f.loops.resize(3);
    f.loops[1].parent = 0;
    f.loops[2].parent = 1;
    return metatune::rows_of(f, 0);
}

} // namespace

TEST_CASE("metatune loop_graph: rows of a convolution on a GPU") {
    const auto made = candidates::of_all_templates();
    REQUIRE(made.size() == 7);
    const auto& f = made[0].features;
    const auto rows = metatune::rows_of(f);
    CHECK(metatune::check(rows));
    REQUIRE(rows.features.rows() == 21);
    CHECK(rows.features.cols() == 66);
    CHECK(std::all_of(rows.present.begin(), rows.present.end(), [](auto p) { return p == 1; }));
    for (std::size_t i = 0; i < 21; ++i) {
        const auto row = static_cast<nn::index>(i);
        CHECK(rows.parents[i] == (i == 0    ? metatune::loop_rows::no_parent
                                  : i == 18 ? 8U
                                            : static_cast<std::uint32_t>(i) - 1)); // two nests of threads
        CHECK(rows.features(row, 0) == doctest::Approx(std::log2(static_cast<double>(f.loops[i].length) + 1)));
        CHECK(rows.features(row, 1) == static_cast<float>(i < 18 ? i + 1 : i - 8));
    }
    CHECK(rows.features(0, 6) == 1); // blockIdx.z
    // threadIdx.x: accumulator three times, then data: stride 1, mod, 14 * 64 * 9 * 2 elements, each for 4 output channels
    const float data[6]{1, -1, std::log2(14.0F * 64 * 9 * 2 + 1), std::log2(5.0F), std::log2(15.0F), 1};
    for (nn::index c = 0; c < 6; ++c) CHECK(rows.features(8, 18 + 3 * 6 + c) == doctest::Approx(data[c]));
    CHECK(metatune::loop_names(f)[18] == "ff[3]");
    CHECK(metatune::rows_of(f, 2).features == rows.features.leftCols(30)); // the touches that have room
}

TEST_CASE("metatune loop_graph: a candidate without loops has no rows") {
    const auto rows = metatune::rows_of({});
    CHECK((rows.features.rows() == 0 && rows.features.cols() == 66 && rows.present.empty() && rows.parents.empty()));
    CHECK(metatune::check(rows));
    const auto dot = metatune::to_dot(rows, {});
    REQUIRE(dot);
    CHECK(*dot == "digraph loops {\n  root;\n}\n");
}

TEST_CASE("metatune loop_graph: nodes and edges of Figure 2") {
    random_engine random(1);
    for (int round = 0; round < 300; ++round) {
        const auto f = candidates::at_random(random);
        auto rows = metatune::rows_of(f);
        std::size_t absent = 0;
        for (std::size_t i = 0; i < f.loops.size(); ++i) { // a loop within an absent one is absent
            const auto parent = rows.parents[i];
            if (random.below(4) != 0 && (parent == metatune::loop_rows::no_parent || rows.present[parent] != 0)) continue;
            rows.present[i] = 0;
            rows.features.row(static_cast<nn::index>(i)).setZero();
            ++absent;
        }
        for (const bool nested : {false, true}) {
            const auto dot = metatune::to_dot(rows, metatune::loop_names(f), {nested});
            REQUIRE(dot);
            const drawing d(*dot);
            std::set<std::string> nodes{"root"};
            std::set<std::pair<std::string, std::string>> edges;
            for (std::size_t i = 0; i < f.loops.size(); ++i) {
                const std::string loop = "for" + std::to_string(i), context = "iterval" + std::to_string(i);
                nodes.insert({loop, context});
                edges.insert({{"root", loop}, {loop, context}});
                if (nested && f.loops[i].parent != loop_features::no_parent) edges.emplace("for" + std::to_string(f.loops[i].parent), loop);
            }
            CHECK(d.nodes == nodes);
            CHECK(d.edges == edges);
            CHECK(d.lines == nodes.size() + edges.size());
            CHECK(d.dashed == 2 * absent);
        }
    }
}

TEST_CASE("metatune loop_graph: names are quoted") {
    iterator_features f;
    f.loops.resize(1);
    const std::vector<std::string> names{"a\"b\\c\nd"};
    const auto dot = metatune::to_dot(metatune::rows_of(f), names);
    REQUIRE(dot);
    CHECK(dot->find(R"(label="a\"b\\c\nd"])") != std::string::npos);
}

TEST_CASE("metatune loop_graph: rows that are none are refused") {
    const auto refused = [](errc code, const metatune::loop_rows& rows) {
        const auto good = metatune::check(rows);
        REQUIRE(!good);
        CHECK(good.error().code == code);
        CHECK(good.error().detail.find("expected") != std::string::npos);
        CHECK(!metatune::to_dot(rows, std::vector<std::string>(rows.present.size())));
    };
    CHECK(metatune::check(three_loops()));
    auto rows = three_loops();
    rows.parents.pop_back();
    refused(errc::shape_mismatch, rows);
    rows = three_loops();
    rows.features.conservativeResize(2, Eigen::NoChange);
    refused(errc::shape_mismatch, rows);
    for (const std::uint32_t parent : {1U, 2U, 3U, 0xFFFFFFFEU}) {
        rows = three_loops();
        rows.parents[1] = parent;
        refused(errc::invalid_argument, rows);
    }
    for (const float x : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
        rows = three_loops();
        rows.features(1, 5) = x;
        refused(errc::invalid_argument, rows);
    }
    rows = three_loops();
    rows.present[2] = 0; // its features are not 0
    refused(errc::invalid_argument, rows);
    rows.features.row(2).setZero();
    CHECK(metatune::check(rows));
    rows.present[0] = 0; // and 1 within is present
    rows.features.row(0).setZero();
    refused(errc::invalid_argument, rows);
    const auto dot = metatune::to_dot(three_loops(), std::vector<std::string>(2));
    REQUIRE(!dot);
    CHECK(dot.error().code == errc::shape_mismatch);
}
