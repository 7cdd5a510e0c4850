// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/iterator_features.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>

#include "enumerated_touches.hpp"

using namespace augur;

namespace {

constexpr auto f32 = element_type::f32;
using enum nest_annotation;

/// C = A B of 128 x 128 in TVM's default schedule. When TVM lowers a program for features, it leaves out that C begins at 0.
loop_nest_builder product() {
    constexpr std::int64_t n = 128;
    loop_nest_builder nest;
    for (const char* name : {"C", "B", "A"}) { // in no order
        nest.name(name);
        nest.buffer(n * n * 4);
    }
    for (const char* axis : {"y", "x", "k"}) {
        nest.name(axis);
        nest.begin_loop(n, serial);
    }
    const nest_access c{0, f32, 0, {{0, n}, {1, 1}}};
    nest_statement sum;
    const auto before = sum.load(c), a = sum.load({2, f32, 0, {{0, n}, {2, 1}}}), b = sum.load({1, f32, 0, {{2, n}, {1, 1}}});
    sum.store(c, sum.add(instruction_class::fadd, f32, {before, sum.add(instruction_class::fmul, f32, {a, b})}));
    nest.statement(sum);
    for (int i = 0; i < 3; ++i) nest.end_loop();
    return nest;
}

buffer_touch plain(std::uint32_t buffer, std::uint32_t access, std::int64_t stride, std::int64_t count, std::int64_t reuse) {
    buffer_touch t;
    t.buffer = buffer;
    t.access = access;
    t.stride = stride;
    t.count = count;
    t.reuse = reuse;
    return t;
}

} // namespace

TEST_CASE("iterator features: the numbers of TVM's own test") {
    // tests/python/unittest/test_autotvm_feature.py, test_iter_feature_gemm
    const auto features = iterator_features_of(product());
    REQUIRE(features);
    const auto& loops = features->loops;
    REQUIRE(loops.size() == 3);
    CHECK(features->buffers == std::vector<std::string>{"C", "B", "A"});
    const std::uint32_t c = 0, b = 1, a = 2;
    CHECK(loops[0].touches ==
          std::vector{plain(a, 0, 128, 16384, 128), plain(b, 0, 0, 16384, 128), plain(c, 0, 128, 16384, 128), plain(c, 1, 128, 16384, 128)});
    CHECK(loops[1].touches == std::vector{plain(a, 0, 0, 128, 128), plain(b, 0, 1, 16384, 1), plain(c, 0, 1, 128, 128), plain(c, 1, 1, 128, 128)});
    CHECK(loops[2].touches == std::vector{plain(a, 0, 1, 128, 1), plain(b, 0, 128, 128, 1), plain(c, 0, 0, 1, 128), plain(c, 1, 0, 1, 128)});
    const std::vector<std::vector<std::int64_t>> attributes{{128, 1, 128, 2097152}, {128, 2, 16384, 16384}, {128, 3, 2097152, 128}};
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(std::vector<std::int64_t>{loops[i].length, loops[i].nest_level, loops[i].topdown, loops[i].bottomup} == attributes[i]);
        CHECK(loops[i].annotation == serial);
        CHECK(loops[i].additions == (i == 2 ? 1 : 0));
        CHECK(loops[i].multiplications == (i == 2 ? 1 : 0));
        CHECK(loops[i].divisions == 0);
        CHECK(loops[i].parent == (i == 0 ? loop_features::no_parent : i - 1));
    }
    CHECK(loops[2].axis == "k");
}

TEST_CASE("iterator features: a row has TVM's columns") {
    const auto features = iterator_features_of(product());
    REQUIRE(features);
    static_assert(iterator_row_columns() == 66 && iterator_row_columns(0) == 18 && iterator_row_columns(2) == 30);
    std::vector<float> row(iterator_row_columns(), 9.0F);
    write_iterator_row(features->loops[1], row);
    const auto log2 = [](double x) { return static_cast<float>(std::log(x + 1) / std::log(2)); };
    std::vector<float> expected{log2(128), 2, log2(16384), log2(16384), 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    for (const auto& t : features->loops[1].touches) {
        const auto pair = {log2(static_cast<double>(t.stride)), -1.0F, log2(static_cast<double>(t.count)),
                           log2(static_cast<double>(t.reuse)),  0.0F,  0.0F};
        expected.insert(expected.end(), pair);
    }
    expected.resize(row.size(), 0.0F);
    for (std::size_t i = 0; i < row.size(); ++i) CHECK(row[i] == doctest::Approx(expected[i]));

    std::vector<float> narrow(iterator_row_columns(2));
    write_iterator_row(features->loops[1], narrow);
    CHECK(std::equal(narrow.begin(), narrow.end(), row.begin()));
    loop_features loop;
    loop.touches = {plain(0, 0, -7, 1, 1)};
    write_iterator_row(loop, narrow);
    CHECK(narrow[3] == -1);
    CHECK(narrow[18] == -3);
    const nest_annotation order[]{block_x, block_y, block_z, thread_x, thread_y, thread_z, unrolled, vectorized, parallel, serial, virtual_thread};
    for (std::size_t i = 0; i < std::size(order); ++i) { // feature_visitor.h, AnnotationType
        loop.annotation = order[i];
        write_iterator_row(loop, narrow);
        for (std::size_t column = 0; column < std::size(order); ++column) CHECK(narrow[4 + column] == (column == i ? 1 : 0));
    }
}

TEST_CASE("iterator features: touches of random nests, beside all iterations") {
    random_engine random(1);
    const nest_annotation outer[]{block_x, block_y, thread_x, parallel, serial, virtual_thread};
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        loop_nest_builder nest;
        const std::size_t buffers = 1 + random.below(3), depth = 1 + random.below(5);
        for (std::size_t b = 0; b < buffers; ++b) {
            nest.name(std::string(1, static_cast<char>('z' - b)));
            nest.buffer(4);
        }
        std::vector<std::int64_t> extents;
        for (std::size_t l = 0; l < depth; ++l) {
            extents.push_back(static_cast<std::int64_t>(1 + random.below(4)));
            nest.begin_loop(extents[l], outer[random.below(std::size(outer))]);
        }
        nest_statement s;
        for (std::size_t n = 1 + random.below(4); n-- > 0;) {
            // a tensor over some of the loops in any order, so that each combination is an element of its own
            nest_access a{static_cast<std::uint32_t>(random.below(buffers)), f32, static_cast<std::int64_t>(random.below(9)), {}};
            std::vector<std::uint32_t> order(depth);
            for (std::uint32_t l = 0; l < depth; ++l) order[l] = l;
            for (std::size_t l = depth; l > 1; --l) std::swap(order[l - 1], order[random.below(l)]);
            std::int64_t stride = static_cast<std::int64_t>(1 + random.below(3));
            for (const std::uint32_t l : order) {
                if (random.below(3) == 0) continue;
                if (extents[l] == 4 && random.below(2) == 0) { // two axes that are fused, in the tensor as the other axis within the one
                    a.digits.push_back({l, stride * 2, 1, 2});
                    a.digits.push_back({l, stride, 2, 0});
                } else {
                    a.digits.push_back({l, stride});
                }
                stride *= extents[l];
            }
            if (random.below(2) == 0) s.load(a);
            else s.store(a, s.add(instruction_class::move, f32));
        }
        nest.statement(s);
        for (std::size_t l = 0; l < depth; ++l) nest.end_loop();
        const auto features = iterator_features_of(nest);
        REQUIRE(features);
        REQUIRE(features->loops.size() == depth);
        const auto path = enumerated::path_of(nest, static_cast<std::uint32_t>(nest.nodes().size()) - 1);
        for (std::size_t l = 0; l < depth; ++l) {
            CAPTURE(l);
            std::vector<buffer_touch> expected;
            std::vector<std::uint32_t> numbers(buffers);
            std::int64_t bottomup = -1;
            for (const auto& a : s.accesses) {
                auto& t = expected.emplace_back(enumerated::touch_of(nest, path, a, l));
                t.buffer = a.buffer;
                t.access = numbers[a.buffer]++;
                bottomup = std::max(bottomup, t.count * t.reuse);
            }
            std::sort(expected.begin(), expected.end(), [](const auto& x, const auto& y) { // names descend
                return x.buffer != y.buffer ? x.buffer > y.buffer : x.access < y.access;
            });
            CHECK(features->loops[l].touches == expected);
            CHECK(features->loops[l].bottomup == bottomup);
        }
    }
}

TEST_CASE("iterator features: an index that is not linear in a loop, as TVM's parser takes it") {
    loop_nest_builder nest;
    nest.buffer(4096);
    nest.begin_loop(12, parallel);
    nest_statement s;
    s.load({0, f32, 0, {{0, 100, 3, 0}}});       // i / 3 * 100: no coefficient; the loop counts as one that moves the access
    s.load({0, f32, 0, {{0, 7, 1, 4}, {0, 2}}}); // the first occurrence decides
    s.load({0, f32, 0, {{0, 2}, {0, 7, 1, 4}}});
    nest.statement(s);
    nest.end_loop();
    const auto features = iterator_features_of(nest);
    REQUIRE(features);
    CHECK(features->loops[0].touches == std::vector{plain(0, 0, 1, 12, 1), plain(0, 1, 1, 12, 1), plain(0, 2, 2, 12, 1)});
}

TEST_CASE("iterator features: arithmetic of floats, in the innermost loop") {
    loop_nest_builder nest;
    nest.begin_loop(3, serial);
    nest.begin_loop(1, serial);
    nest_statement s;
    for (const auto op : {instruction_class::fma, instruction_class::fadd, instruction_class::fmul, instruction_class::fmul, instruction_class::fdiv,
                          instruction_class::exp})
        s.add(op, f32);
    s.add(instruction_class::ialu, element_type::i32);
    s.add(instruction_class::idiv, element_type::i64);
    nest.statement(s);
    nest.end_loop();
    nest.end_loop();
    const auto features = iterator_features_of(nest);
    REQUIRE(features);
    CHECK(features->loops[0].additions == 0);
    CHECK(features->loops[1].additions == 2);
    CHECK(features->loops[1].multiplications == 3);
    CHECK(features->loops[1].divisions == 1);
    CHECK(features->loops[1].bottomup == -1);
}

TEST_CASE("iterator features: a nest that breaks its word is an error") {
    const auto fails = [](errc code, const auto& build) {
        loop_nest_builder nest;
        nest.buffer(4);
        build(nest);
        const auto features = iterator_features_of(nest);
        REQUIRE(!features);
        CHECK(features.error().code == code);
        CHECK(features.error().detail.starts_with("loop nest: "));
    };
    const auto touching = [](const nest_access& a) {
        return [a](loop_nest_builder& n) {
            n.begin_loop(2, serial);
            nest_statement s;
            s.load(a);
            n.statement(s);
            n.end_loop();
        };
    };
    fails(errc::invalid_argument, [](auto& n) { n.begin_loop(2, serial); });
    fails(errc::invalid_argument, [](auto& n) { n.end_loop(); });
    fails(errc::invalid_argument, [](auto& n) { n.begin_loop(0, serial), n.end_loop(); });
    fails(errc::invalid_argument, [](auto& n) { n.begin_loop(-5, serial), n.end_loop(); });
    fails(errc::invalid_argument, touching({1, f32, 0, {}}));
    fails(errc::invalid_argument, touching({0, f32, 0, {{1, 1}}}));
    fails(errc::invalid_argument, touching({0, f32, 0, {{0, 1, 0, 0}}}));
    fails(errc::invalid_argument, touching({0, f32, 0, {{0, 1, 1, -1}}}));
    fails(errc::limit, [](auto& n) {
        for (int i = 0; i < 61; ++i) n.begin_loop(1, serial);
        for (int i = 0; i < 61; ++i) n.end_loop();
    });
    fails(errc::limit, [](auto& n) {
        for (int i = 0; i < 2; ++i) n.begin_loop(std::int64_t{1} << 27U, serial);
        for (int i = 0; i < 2; ++i) n.end_loop();
    });
}

TEST_CASE("loop_nest_builder keeps names and gives them on") {
    const auto nest = product();
    loop_nest_builder copy;
    nest.visit(copy);
    CHECK(copy == nest);
    CHECK(copy.buffer_names() == std::vector<std::string>{"C", "B", "A"});
    CHECK(copy.nodes()[1].axis == "y");
    struct nameless : detail::null_nest_sink {
        std::size_t loops = 0;
        void begin_loop(std::int64_t, nest_annotation) { ++loops; }
    } sink;
    nest.visit(sink); // a sink without names
    CHECK(sink.loops == 3);
}
