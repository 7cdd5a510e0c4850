// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NaN, infinities and denormals through compiled schedules: the rules of loopnest/ir/expr.hpp hold for every schedule and every vector.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/codegen/c_writer.hpp>
#include <augur/loopnest/codegen/naive_evaluator.hpp>
#include <augur/loopnest/codegen/naive_program.hpp>
#include <augur/loopnest/lower/interpret.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/walk.hpp>

#include <doctest/doctest.h>

#include "dags.hpp"
#include "kernels.hpp"
#include "native_object.hpp"
#include "random_schedule.hpp"

using namespace augur;

using namespace augur::loopnest;

namespace {

namespace td = augur::loopnest::testing_dags;
using tensor = std::vector<float>;

float of_bits(std::uint32_t bits) {
    float out = 0;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}

struct named_dag {
    std::string name;
    td::dag_ptr dag;
    bool exact = false; ///< results are elements of the inputs, or zero: denormals are compared bit by bit
};

/// x, y -> f(x, y), element by element.
named_dag function_of(std::string name, expr (*f)(expr, expr), bool exact = false) {
    compute_dag d;
    const int x = d.input("x", {7, 45});
    const int y = d.input("y", {7, 45});
    d.compute("f", {{"i", 7}, {"j", 45}}, f(ex::read(x, td::axes_of(2)), ex::read(y, td::axes_of(2))));
    return {std::move(name), td::share(std::move(d)), exact};
}

/// The maximum or minimum along the first axis: each lane of a vector has its own.
td::dag_ptr column_reduce(reducer how) {
    compute_dag d;
    const int a = d.input("A", {21, 37});
    d.compute("B", {{"j", 37}}, ex::read(a, {ex::axis(1), ex::axis(0)}), {{"k", 21}}, how);
    return td::share(std::move(d));
}

std::vector<named_dag> special_kernels() {
    std::vector<named_dag> out;
    for (const char* text : {"max_pool2d:h=9,w=21,c=5,k=3,stride=2,pad=1", "max_pool2d:h=8,w=10,c=24,k=3,stride=1,pad=1",
                             "max_pool2d:h=9,w=35,c=3,k=3,stride=2,pad=1,layout=nchw", "elementwise:h=3,w=5,c=23,relu"})
        out.push_back({text, dag_of(text), true});
    for (const char* text :
         {"elementwise:h=3,w=5,c=23,relu6", "elementwise:h=3,w=5,c=23,sigmoid", "elementwise:h=3,w=5,c=23,tanh", "elementwise:h=3,w=5,c=23,gelu",
          "softmax:m=6,n=37", "layer_norm:m=5,n=33", "dense:m=5,n=37,k=19,bias,relu", "conv2d:h=7,w=9,c=3,f=20,k=3,pad=1,layout=nchw,bias,relu6",
          "batch_matmul:b=2,m=9,n=24,k=32", "avg_pool2d:h=7,w=18,c=5,k=3,stride=1,pad=1"})
        out.push_back({text, dag_of(text), false});
    for (const auto how : {reducer::max, reducer::min}) {
        const auto name = std::string(how == reducer::max ? "max" : "min");
        out.push_back({name + " of rows", td::row_reduce({9}, 67, how), true});
        out.push_back({name + " of columns", column_reduce(how), true});
    }
    out.push_back(function_of("exp", [](expr x, expr) { return ex::exp(std::move(x)); }));
    out.push_back(function_of("tanh", [](expr x, expr) { return ex::tanh(std::move(x)); }));
    out.push_back(function_of("erf", [](expr x, expr) { return ex::erf(std::move(x)); }));
    out.push_back(function_of("sqrt", [](expr x, expr) { return ex::sqrt(std::move(x)); }));
    out.push_back(function_of("quotient", [](expr x, expr y) { return std::move(x) / std::move(y); }));
    out.push_back(function_of("maximum", [](expr x, expr y) { return ex::max(std::move(x), std::move(y)); }, true));
    out.push_back(function_of("minimum", [](expr x, expr y) { return ex::min(std::move(x), std::move(y)); }, true));
    return out;
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int input_sets = 7;

/// True for the weights of a product. A product with a zero of the padding may be left out, so these are finite.
bool is_weight(const compute_dag& dag, std::size_t i) {
    bool read = false;
    for (const auto& op : dag.ops)
        if (!op.reduce_axes.empty())
            walk(op.body, [&](const expr_node& n) { read = read || (n.op == expr_op::read && dag.index_of(static_cast<int>(n.integer)) == i); });
    return read && dag.ops[i].constant;
}

/// Inputs of a kernel: all special values among ordinary ones, few NaN, few infinities, denormals only, large values, and rows without a number.
std::vector<tensor> special_inputs(const compute_dag& dag, int set, random_engine& rng) {
    const std::array nan{of_bits(0x7fc00000U), of_bits(0x7fc00001U), of_bits(0xffc0ffffU), of_bits(0x7fffffffU)}; // signs and payloads
    const std::array rest{infinity, -infinity, 0.0F, -0.0F, 1e-40F, -1e-40F, of_bits(1), std::numeric_limits<float>::min()};
    const auto among = [&](const auto& from) { return from[rng.below(from.size())]; };
    const auto ordinary = [&] { return static_cast<float>(static_cast<double>(rng.below(2'000'001)) * 1e-6 - 1.0); };
    std::vector<tensor> out(dag.ops.size());
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        if (!dag.ops[i].placeholder()) continue;
        for (std::int64_t e = 0; e < dag.ops[i].elements(); ++e) {
            float v = ordinary();
            switch (is_weight(dag, i) ? -1 : set) {
            case -1: break;
            case 0:
                if (rng.below(4) == 0) v = rng.below(3) == 0 ? among(nan) : among(rest);
                break;
            case 1:
                if (rng.below(40) == 0) v = among(nan);
                break;
            case 2:
                if (rng.below(40) == 0) v = rng.below(2) == 0 ? infinity : -infinity;
                break;
            case 3: v = std::copysign(of_bits(static_cast<std::uint32_t>(rng.below(0x00800000U))), v); break;
            case 4: v *= 130; break;
            case 5: v = rng.below(8) == 0 ? v : -infinity; break;
            default: v = e * 2 < dag.ops[i].elements() ? among(nan) : -infinity; break;
            }
            out[i].push_back(v);
        }
    }
    return out;
}

/// The first element that differs; the size if none does. NaN equals NaN, an infinity equals itself.
std::size_t first_difference(const tensor& got, const tensor& want, const tolerance& allowed) {
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (i >= got.size()) return i;
        const bool same = std::isnan(want[i]) ? std::isnan(got[i])
                          : std::isinf(want[i]) || std::isinf(got[i])
                              ? got[i] == want[i]
                              : std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])) <=
                                    allowed.absolute + allowed.relative * std::abs(static_cast<double>(want[i]));
        if (!same) return i;
    }
    return want.size();
}

struct candidate {
    generated_program program;
    std::string schedule;
    std::vector<std::vector<tensor>> outputs; ///< of the interpreter, per input set; empty: not interpreted
};

/// Schedules of the space and random ones, with vectors of each width.
std::vector<candidate> candidates_of(const named_dag& k, std::vector<lowered_kernel>& lowered) {
    std::vector<candidate> out;
    random_engine rng(fnv1a64(k.name));
    const auto space = ansor_space::create(k.dag, {});
    REQUIRE(space);
    for (unsigned i = 0; i < 6; ++i) {
        auto s = loop_state(k.dag);
        if (i == 0) REQUIRE(s.apply(untuned_schedule(*k.dag)));
        else if (i % 2 == 0) s = random_schedule::sample(k.dag, rng, 24);
        else {
            auto drawn = space->state(sample_path(*space, rng).values);
            REQUIRE(drawn);
            s = std::move(*drawn);
        }
        auto l = lower(s);
        REQUIRE(l);
        c_options how;
        how.id = i;
        how.vector_floats = std::array{16, 8, 4, 16}[i % 4];
        how.vector_registers = i % 4 == 0 ? 32 : 16;
        auto p = write_c(*l, how);
        if (p.source.size() > 100'000) continue;
        lowered.push_back(std::move(*l));
        out.push_back({std::move(p), to_json(s.schedule()), {}});
    }
    auto naive = naive_program(*k.dag);
    REQUIRE(naive);
    out.push_back({std::move(*naive), "naive", {}});
    return out;
}

std::vector<std::vector<std::string>> flag_sets() {
    std::vector<std::vector<std::string>> out{{}};
#ifdef __x86_64__
    const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
    for (const char* without : {"-mno-avx512f", "-mno-avx"}) {
        if (!avx512 && std::string_view(without) == "-mno-avx512f") continue; // the same code once more
        out.push_back(default_compile_flags());
        out.back().push_back(without);
    }
#endif
    return out;
}

} // namespace

TEST_CASE("special values: every schedule gives the NaN, infinities and denormals of the evaluator") {
    std::map<std::string, int> programs_with{{"aug_load_mask", 0}, {"aug_zip_", 0},  {"aug_unzip_", 0}, {"aug_fold_max", 0},   {"aug_fold_sum", 0},
                                             {"aug_max16(", 0},    {"aug_max8(", 0}, {"aug_max4(", 0},  {"aug_low_words8", 0}, {"aug_max1(", 0},
                                             {"aug_exp16(", 0},    {"aug_exp8(", 0}, {"aug_lowest", 0}};
    for (const auto& k : special_kernels()) {
        CAPTURE(k.name);
        std::vector<lowered_kernel> lowered;
        auto candidates = candidates_of(k, lowered);
        std::string source(program_prelude);
        for (const auto& c : candidates) {
            source += c.program.source;
            for (auto& [construct, n] : programs_with) n += c.program.source.find(construct) != std::string::npos ? 1 : 0;
        }
        std::vector<std::vector<tensor>> inputs;
        std::vector<std::vector<tensor>> wanted;
        random_engine rng(fnv1a64(k.name, 3));
        for (int set = 0; set < input_sets; ++set) {
            inputs.push_back(special_inputs(*k.dag, set, rng));
            auto tensors = inputs.back();
            REQUIRE(evaluate(*k.dag, tensors));
            wanted.emplace_back();
            for (std::size_t i = 0; i < k.dag->ops.size(); ++i)
                if (k.dag->is_output(i)) wanted.back().push_back(tensors[i]);
        }
        const auto check = [&](const std::string& what, int set, const std::vector<tensor>& got) {
            const auto& want = wanted[static_cast<std::size_t>(set)];
            REQUIRE(got.size() == want.size());
            const auto allowed = k.exact && set == 3 ? tolerance{0, 0} : tolerance_of(*k.dag);
            for (std::size_t o = 0; o < want.size(); ++o) {
                const auto at = first_difference(got[o], want[o], allowed);
                if (at == want[o].size()) continue;
                MESSAGE(k.name, ", input set ", set, ", element ", at, ": got ", got[o][at], ", expected ", want[o][at], " from ", what);
                CHECK(at == want[o].size());
            }
        };
        for (int set = 0; set < input_sets; ++set) {
            std::vector<tensor> placeholders;
            for (const auto& t : inputs[static_cast<std::size_t>(set)])
                if (!t.empty()) placeholders.push_back(t);
            for (std::size_t i = 0; i < lowered.size(); ++i) {
                const auto got = interpret(lowered[i], placeholders);
                REQUIRE(got);
                check("the interpreter: " + candidates[i].schedule, set, *got);
            }
        }
        for (const auto& flags : flag_sets()) {
            const native_object object(source, flags);
            for (const auto& c : candidates)
                for (int set = 0; set < input_sets; ++set)
                    check((flags.empty() ? "" : flags.back() + " ") + c.schedule, set,
                          outputs_of(object, *k.dag, c.program, inputs[static_cast<std::size_t>(set)]));
        }
    }
    for (const auto& [construct, n] : programs_with) {
        const auto& name = construct; // clang 14 captures no structured binding
        CAPTURE(name);
        CHECK(n > 0);
    }
}
