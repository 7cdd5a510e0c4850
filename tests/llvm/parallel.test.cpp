// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.hpp"

#include <augur/program/reuse/interleave.hpp>

namespace {
using lines = std::vector<std::uint64_t>;

/// tvm.ll: what the body of iteration i does to memory, from when it is called. The closure and the environment are on stacks, x and y begin lines of
/// their own; a variable of the runtime is a line of its own each.
lines iteration(std::uint64_t i) {
    constexpr std::uint64_t closure = 10, env = 11, runtime = 12, x = 1000, y = 100'000;
    lines l{closure, closure, env, runtime};
    for (std::uint64_t j = 0; j < 4; ++j) {
        l.push_back(x + 4 * i + j);
        l.push_back(y + 4 * i + j);
    }
    l.push_back(runtime); // free
    return l;
}
} // namespace

TEST_CASE("ir: TVM's parallel launch, an instance an iteration") {
    for (const int threads : {1, 2, 3, 4}) {
        CAPTURE(threads);
        augur::ir_options o;
        o.threads = threads;
        const auto p = features_of("tvm.ll", o);
        CHECK(p.name == "default_function_compute_");
        const auto& entry = function_named(p, "default_function_compute_");
        CHECK_FALSE(entry.parallel);
        const auto& body = function_named(p, "__tvm_parallel_lambda");
        CHECK(body.parallel);
        CHECK(body.count == 10);
        CHECK(body.launches == 1);
        CHECK(block_of(body, "inner").count == 40);
        CHECK(way(body, "inner", "inner").count == 30);
        CHECK(way(body, "outer.end", "outer").count == 0);
        REQUIRE(body.memory.size() == 1);
        CHECK(body.memory[0].threads == threads);
        CHECK(body.memory[0].own.total() == 10 * iteration(0).size());
        CHECK(body.memory[0].shared.total() == 10 * iteration(0).size());
        CHECK(p.memory[0].own.total() == 10 * iteration(0).size() + 4); // and the closure is filled, the launch is loaded
    }
}

TEST_CASE("ir: threads see their own part, a shared cache all of them in turn") {
    for (const int threads : {2, 3}) {
        CAPTURE(threads);
        augur::ir_options o;
        o.threads = threads;
        o.trace.warm = false;
        const auto p = features_of("tvm.ll", o);
        const auto& body = function_named(p, "__tvm_parallel_lambda");
        const auto each = (10 + static_cast<std::uint64_t>(threads) - 1) / static_cast<std::uint64_t>(threads);
        std::vector<lines> traces(static_cast<std::size_t>(threads));
        for (std::uint64_t i = 0; i < 10; ++i)
            for (const auto line : iteration(i)) traces[i / each].push_back(line);
        std::vector<std::span<const std::uint64_t>> spans(traces.begin(), traces.end());
        lines together;
        augur::interleave(spans, augur::interleaving::round_robin, 0,
                          [&](std::span<const std::uint64_t> l) { together.insert(together.end(), l.begin(), l.end()); });
        // The runtime's variables may share a line, and the closure was used before: the 80 lines of the buffers are what is certain.
        CHECK(body.memory[0].shared.total() == together.size());
        CHECK(body.memory[0].shared.cold() >= 80);
        CHECK(body.memory[0].shared.cold() <= profile_of(together).cold());
        augur::reuse_profile own(64);
        for (const auto& t : traces) REQUIRE(own.merge(profile_of(t)));
        CHECK(body.memory[0].own.cold() >= 80);
        CHECK(body.memory[0].own.cold() <= own.cold());
    }
}

TEST_CASE("ir: TVM's packed entry gets tensors") {
    augur::ir_options o;
    o.arguments = {*augur::parse_ir_argument("10x64xf32"), *augur::parse_ir_argument("10x64xf32")};
    auto entry = o;
    // the entry itself, with what it checks: reached by a module that has no other function of that name
    ::llvm::LLVMContext context;
    const auto m = parse_ir("tvm.ll", context);
    REQUIRE(m);
    m->getFunction("default_function_compute_")->setName("work");
    const auto p = augur::features_of_module(*m, entry);
    INFO((p ? "" : p.error().detail));
    REQUIRE(p);
    CHECK(p->name == "default_function");
    CHECK(function_named(*p, "default_function").count == 1);
    CHECK(function_named(*p, "__tvm_parallel_lambda").count == 10);
    entry.arguments.pop_back(); // one tensor: the program says that this is wrong
    const auto wrong = augur::features_of_module(*m, entry);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().detail.find("the program failed with -1: wrong") != std::string::npos);
}

TEST_CASE("ir: OpenMP as clang compiles it") {
    for (const int threads : {1, 3}) {
        CAPTURE(threads);
        augur::ir_options o;
        o.threads = threads;
        o.entry = "scale";
        o.arguments = {augur::ir_buffer{}, augur::ir_buffer{}, std::int64_t{12}};
        const auto p = features_of("openmp.ll", o);
        const auto body = std::find_if(p.functions.begin(), p.functions.end(), [](const auto& f) { return f.parallel; });
        REQUIRE(body != p.functions.end());
        CHECK(body->count == 12); // an instance an iteration
        CHECK(body->launches == 1);
        std::uint64_t inner = 0;
        for (const auto& b : body->flow.values()) inner = (std::max)(inner, b.count);
        CHECK(inner == 12 * 16);
        o.entry = "total";
        o.arguments = {augur::ir_buffer{}, std::int64_t{9}};
        const auto q = features_of("openmp.ll", o);
        const auto sum = std::find_if(q.functions.begin(), q.functions.end(), [](const auto& f) { return f.parallel && f.name.find("total") == 0; });
        REQUIRE(sum != q.functions.end());
        CHECK(sum->count == 9);
    }
}

TEST_CASE("ir: the same again is the same, to the last bit") {
    for (const int threads : {1, 2}) {
        augur::ir_options o;
        o.threads = threads;
        o.trace.sets = {64, 1024};
        const auto first = features_to_json(features_of("tvm.ll", o));
        CHECK(features_to_json(features_of("tvm.ll", o)) == first);
    }
}
