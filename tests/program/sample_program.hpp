// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_PROGRAM_SAMPLE_PROGRAM_HPP
#define AUGUR_TESTS_PROGRAM_SAMPLE_PROGRAM_HPP

#include <cstdint>
#include <string>
#include <utility>

#include <augur/program/features.hpp>

/// A program of two functions: one that is entered once, and the body of ten parallel iterations, a loop of 16 rounds (loads, addition, store, counter,
/// branch; the sum is carried) and a block behind it. `more` functions of the second kind.
inline augur::program_features sample_program(int more = 0) {
    using augur::fold_hint;
    using op = augur::instruction_class;
    constexpr auto f32 = augur::element_type::f32;
    constexpr auto i64 = augur::element_type::i64;
    augur::program_features p;
    p.name = "sum of rows";
    p.source = "by hand";

    augur::reuse_profile memory(64);
    memory.add_cold(100);
    memory.add(0, 1000);
    memory.add(5, 300);
    memory.add(2048, 7);
    augur::reuse_profile shared = memory;
    shared.add(40'000, 11);
    p.memory = {{1, memory, memory, {{64, 64, 1407, {1200, 50, 30, 20, 5, 0, 0, 2}}}}, {4, memory, shared, {}}};

    augur::function_features main;
    main.name = "main";
    augur::graphlet_builder entry;
    entry.add({op::call, i64, fold_hint::none, 1});
    entry.add({op::branch, i64, fold_hint::none, 1});
    main.flow = augur::control_flow_graph({{"entry", std::move(entry).take(), 1}}, {});
    p.functions.push_back(std::move(main));

    for (int i = 0; i <= more; ++i) {
        augur::function_features f;
        f.name = i == 0 ? "body" : "body." + std::to_string(i);
        f.parallel = true;
        f.count = 10;
        augur::graphlet_builder head, loop, tail;
        head.add({op::ialu, i64, fold_hint::none, 1});
        head.add({op::branch, i64, fold_hint::none, 1});
        const auto sum = loop.add({op::move, f32, fold_hint::always, 16}); // 0
        const auto x = loop.add({op::load, f32, fold_hint::operand, 16});  // 1
        const auto next = loop.add({op::fadd, f32, fold_hint::none, 16}, {sum, x});
        const auto counter = loop.add({op::ialu, i64, fold_hint::none, 1});
        const auto test = loop.add({op::compare, i64, fold_hint::compare_branch, 1}, {counter});
        loop.add({op::branch, i64, fold_hint::none, 1}, {test});
        tail.add({op::store, f32, fold_hint::none, 16});
        tail.add({op::branch, i64, fold_hint::none, 1});
        f.flow = augur::control_flow_graph(
            {{"head", std::move(head).take(), 10}, {"loop", std::move(loop).take(), 160}, {"tail", std::move(tail).take(), 10}},
            {{0, 1, {10, {}}}, {1, 1, {150, {{next, sum}, {counter, counter}}}}, {1, 2, {10, {{next, 0}}}}});
        p.functions.push_back(std::move(f));
    }
    return p;
}

#endif
