// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.hpp"

using strings = std::vector<std::string>;

TEST_CASE("ir: a loop, counted by hand") {
    augur::ir_options o;
    o.arguments = {augur::ir_buffer{4000, {}}, std::int64_t{1000}};
    o.trace.warm = false;
    const auto p = features_of("sum.ll", o);
    CHECK(p.name == "sum");
    REQUIRE(p.functions.size() == 1);
    const auto& f = p.functions[0];
    CHECK_FALSE(f.parallel);
    CHECK(f.count == 1);
    CHECK(block_of(f, "entry").count == 1);
    CHECK(block_of(f, "loop").count == 1000);
    CHECK(block_of(f, "exit").count == 1);
    CHECK(way(f, "loop", "loop").count == 999);
    CHECK(way(f, "loop", "exit").count == 1);
    CHECK(code_of(block_of(f, "loop")) == strings{"move i64 1 always", "move f32 1 always", "ialu i64 1 address", "load f32 1 operand", "fadd f32 1",
                                                  "ialu i64 1", "compare i64 1 compare_branch", "branch i64 1"});
    CHECK(edges_of(block_of(f, "loop").code) == edge_list{{0, 2}, {0, 5}, {1, 4}, {2, 3}, {3, 4}, {5, 6}, {6, 7}});
    CHECK(carried_by(way(f, "loop", "loop")) == edge_list{{4, 1}, {5, 0}});
    CHECK(carried_by(way(f, "loop", "exit")) == edge_list{{4, 0}});

    std::vector<std::uint64_t> lines;
    for (std::uint64_t i = 0; i < 1000; ++i) lines.push_back(4 * i / 64);
    REQUIRE(p.memory.size() == 1);
    CHECK(p.memory[0].own == profile_of(lines));
    CHECK(p.memory[0].own.cold() == 63);
    o.trace.warm = true;
    CHECK(features_of("sum.ll", o).memory[0].own == warm_profile_of(lines));
}

TEST_CASE("ir: folds") {
    const auto p = features_of(
        "folds.ll", {.entry = "folds", .arguments = {augur::ir_buffer{}, augur::ir_buffer{}, augur::ir_buffer{}, std::int64_t{4}, std::int64_t{3}}});
    const auto& f = p.functions[0];
    CHECK(code_of(block_of(f, "splats")) == strings{"load f32 1", "shuffle f32 8 splat", "shuffle f32 8 splat", "load f32 8 operand", "fma f32 8",
                                                    "fmul f32 8 multiply_add", "fadd f32 8", "fmul f32 8", "fadd f32 8", "store f32 8",
                                                    "shuffle f32 8 always", "shuffle f32 8", "ialu i64 1 address", "store f32 8",
                                                    "branch i64 1 always"});
    CHECK(code_of(block_of(f, "addresses")) == strings{"ialu i64 1 address",  "ialu i64 1 address", "load f32 1",
                                                       "ialu i64 1",          "ialu i64 1 address", "ialu i64 1 address",
                                                       "load f32 1 operand",  "ialu i64 1",         "fadd f32 1",
                                                       "ialu i64 1 address",  "load f32 1 operand", "fadd f32 1",
                                                       "ialu i64 1",          "store f32 1",        "ialu i64 1",
                                                       "store i64 1",         "store f32 1",        "convert i64 1 extend",
                                                       "convert i8 1 always", "convert i64 1",      "compare i64 1 compare_branch",
                                                       "branch i64 1"});
    CHECK(code_of(block_of(f, "functions")) == strings{"load f32 1", "exp f32 1", "tanh f32 1", "compare f32 1 always", "fminmax f32 1",
                                                       "compare f32 1", "select f32 1", "ialu i32 1", "imul i32 1", "ialu i32 1", "idiv i32 1",
                                                       "move i32 1", "ialu i32 1", "store i32 1", "move i32 1 always", "branch i64 1 always"});
    // without leave to contract the product stays
    const auto strict =
        features_of("folds.ll", {.entry = "folds",
                                 .arguments = {augur::ir_buffer{}, augur::ir_buffer{}, augur::ir_buffer{}, std::int64_t{4}, std::int64_t{3}},
                                 .contract = false});
    CHECK(code_of(block_of(strict.functions[0], "splats"))[5] == "fmul f32 8");
}

TEST_CASE("ir: what a load reads") {
    const auto p = features_of("dependences.ll", {.arguments = {augur::ir_buffer{}, augur::ir_buffer{}, std::int64_t{7}}});
    const auto& f = p.functions[0];
    const auto& entry = block_of(f, "entry").code;
    edge_list memory;
    for (const auto& e : edges_of(entry))
        if (entry[e.first].op == augur::instruction_class::store) memory.push_back(e);
    CHECK(memory == edge_list{{0, 2}, {0, 11}, {10, 11}});                  // 6 may read 0 or not: nobody knows, so it does not wait
    CHECK(carried_by(way(f, "entry", "loop")) == edge_list{{10, 1}});       // which place %at is nobody says
    CHECK(carried_by(way(f, "loop", "loop")) == edge_list{{5, 1}, {6, 0}}); // the sum in memory, the counter
    CHECK(carried_by(way(f, "recurrence", "recurrence")) == edge_list{{4, 0}, {6, 2}});
    CHECK(carried_by(way(f, "each", "each")) == edge_list{{5, 0}});
}

TEST_CASE("ir: ways, calls and variables") {
    augur::ir_options o;
    o.entry = "ways";
    o.arguments = {std::int64_t{100}};
    const auto p = features_of("ways.ll", o);
    const auto& f = function_named(p, "ways");
    CHECK(block_of(f, "head").count == 100);
    CHECK(block_of(f, "zero").count == 20);
    CHECK(block_of(f, "few").count == 40);
    CHECK(block_of(f, "other").count == 40);
    CHECK(way(f, "head", "few").count == 40); // one way, though two cases lead there
    CHECK(way(f, "other", "join").count == 20);
    CHECK(way(f, "other", "even").count == 20);
    CHECK(block_of(f, "join").count == 100);
    CHECK(way(f, "join", "head").count == 99);
    CHECK(function_named(p, "twice").count == 40);
    CHECK(code_of(block_of(f, "few")) == strings{"branch i32 1", "branch i64 1 always"}); // the variable is a register
    CHECK(p.memory[0].own.total() == 0);
    o.promote = false;
    const auto plain = features_of("ways.ll", o);
    CHECK(code_of(block_of(function_named(plain, "ways"), "few")) == strings{"branch i32 1", "store i32 1", "branch i64 1 always"});
    CHECK(plain.memory[0].own.total() == 42);
}

TEST_CASE("ir: a module of the caller's stays as it is") {
    ::llvm::LLVMContext context;
    const auto m = parse_ir("ways.ll", context);
    REQUIRE(m);
    const auto text = [&] {
        std::string s;
        ::llvm::raw_string_ostream out(s);
        m->print(out, nullptr);
        return s;
    };
    const auto before = text();
    augur::ir_options o;
    o.entry = "ways";
    o.arguments = {std::int64_t{100}};
    const auto made = augur::features_of_module(*m, o);
    REQUIRE(made);
    CHECK(text() == before);
    CHECK(features_to_json(*made) == features_to_json(features_of("ways.ll", o)));
}
