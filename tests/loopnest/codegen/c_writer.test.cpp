// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/codegen/c_writer.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/whole_file.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/run/work_folder.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/walk.hpp>
#include <augur/target/isa_level.hpp>

#include <doctest/doctest.h>

#include "kernels.hpp"
#include "../../may_skip.hpp"
#include "random_schedule.hpp"

using namespace augur;

using namespace augur::loopnest;

namespace {

/// A runner that calls each program once, for its outputs.
program_runner runner_for_outputs(isa_level level = isa_level::native) {
    runner_options options;
    options.threads = 2;
    options.timing.repeats = 1;
    options.timing.min_repeat_seconds = 0;
    options.compiler.isa = level;
    auto runner = program_runner::create(options);
    if (!runner) FAIL(runner.error().detail);
    return *std::move(runner);
}

/// Checks that all programs of a kernel give the evaluator's outputs. `name_of(i)` describes program i.
template <class F>
void check_outputs(program_runner& runner, const compute_dag& dag, const std::vector<generated_program>& programs, const F& name_of) {
    const auto outputs = evaluated(dag).second;
    const auto reference = runner.make_expected_outputs(outputs);
    if (!reference) FAIL(reference.error().detail);
    const auto measured = runner.measure(programs, *reference);
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const std::string name = name_of(i);
        CAPTURE(name);
        CAPTURE(measured[i].reason);
        CHECK(to_string(measured[i].status) == to_string(outcome::ok));
    }
}
void check_outputs(program_runner& runner, const compute_dag& dag, const std::vector<generated_program>& programs) {
    check_outputs(runner, dag, programs, [](std::size_t i) { return "program " + std::to_string(i); });
}

} // namespace

// Random schedules, as for the interpreter, but through the compiler and the runner, which compares the outputs with the evaluator's.
TEST_CASE("c_writer: random schedules compute the right result when compiled") {
    auto runner = runner_for_outputs();
    for (const auto& text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        augur::random_engine rng(fnv1a64(text, 7));
        std::vector<generated_program> programs;
        std::vector<loop_state> states;
        for (unsigned i = 0; i < 5; ++i) {
            states.push_back(random_schedule::sample(dag, rng, 24));
            const auto k = lower(states.back());
            REQUIRE(k);
            c_options how;
            how.id = i;
            how.vector_floats = i % 2 == 0 ? 16 : 4;
            how.vector_registers = i % 2 == 0 ? 32 : 16;
            programs.push_back(write_c(*k, how));
        }
        check_outputs(runner, *dag, programs, [&](std::size_t i) { return to_json(states[i].schedule()); });
    }
}

// Axes with large prime factors have tiles that the end of the axis cuts: along lanes, rows, and in copies and fused consumers.
TEST_CASE("c_writer: tiles that the end of an axis cuts compute the right result") {
    auto runner = runner_for_outputs();
    for (const char* text :
         {"dense:m=11,n=37,k=9,bias,relu", "batch_matmul:b=2,m=13,n=22,k=7", "conv2d:h=11,w=13,c=5,f=17,k=3,pad=1,relu",
          "conv2d:h=13,w=11,c=3,f=23,k=3,pad=1,layout=nchw,bias", "max_pool2d:h=26,w=22,c=11,k=3,stride=2,pad=1", "softmax:m=29,n=19",
          "depthwise_conv2d:h=13,w=11,c=19,k=3,pad=1,bias", "depthwise_conv2d:h=19,w=23,c=2,k=5,pad=2,layout=nchw"}) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto space = ansor_space::create(dag, {});
        REQUIRE(space);
        augur::random_engine rng(fnv1a64(text));
        std::vector<generated_program> programs;
        for (unsigned i = 0; i < 24; ++i) {
            const auto s = space->state(sample_path(*space, rng).values);
            REQUIRE(s);
            const auto k = lower(*s);
            REQUIRE(k);
            c_options how;
            how.id = i;
            how.vector_floats = 16 >> (i % 3);
            how.vector_registers = i % 3 == 0 ? 32 : 16;
            programs.push_back(write_c(*k, how));
        }
        check_outputs(runner, *dag, programs);
    }
}

namespace {

/// Programs of samples of the space for vectors of 16, 8 and 4 lanes in turn, with their schedules.
struct sampled_programs {
    std::vector<generated_program> programs;
    std::vector<step_list> schedules;
};

/// Up to `most` of 1000 samples: those that `wanted(i, source)` takes and that are not too long to compile.
template <class F>
sampled_programs sample_programs(const char* kernel, const std::shared_ptr<const compute_dag>& dag, std::size_t most, const F& wanted) {
    const auto space = ansor_space::create(dag, {});
    REQUIRE(space);
    augur::random_engine rng(fnv1a64(kernel));
    sampled_programs out;
    for (unsigned i = 0; i < 1000 && out.programs.size() < most; ++i) {
        const auto s = space->state(sample_path(*space, rng).values);
        REQUIRE(s);
        const auto k = lower(*s);
        REQUIRE(k);
        c_options how;
        how.id = i;
        how.vector_floats = 16 >> (i % 3);
        how.vector_registers = i % 3 == 0 ? 32 : 16;
        auto p = write_c(*k, how);
        if (!wanted(i, p.source) || p.source.size() > 500'000) continue;
        out.programs.push_back(std::move(p));
        out.schedules.push_back(s->schedule());
    }
    return out;
}

} // namespace

// Lanes that are not adjacent in memory: filters of NCHW convolutions, and copies of operands that are read along the reduction. Blocks of every size are
// transposed, with overlapping remainders, for results that stay in registers and for partial sums in memory.
TEST_CASE("c_writer: tiles that are transposed in registers compute the right result") {
    auto runner = runner_for_outputs();
    std::map<std::string, int> left; // constructs, and how many programs with each are still to be run
    for (const char* used :
         {"aug_zip_low16(", "aug_zip_high8(", "aug_zip_low4(", "aug_unzip_even16(", "aug_unzip_odd8(", "aug_unzip_odd4(", "aug_store_part16_8(",
          "aug_store_part16_4(", "aug_store_part8_2(", "aug_load16_8(", "aug_load8_4(", "AUG_SHUFFLE(16", "AUG_SHUFFLE(8"})
        left[used] = 1;
    for (const char* text : {"conv2d:h=6,w=9,c=4,f=32,k=3,pad=1,layout=nchw,bias,relu", "conv2d:h=4,w=56,c=6,f=24,k=1,stride=2,layout=nchw,bias",
                             "conv2d:h=3,w=8,c=64,f=16,k=1,layout=nchw", "batch_matmul:b=2,m=9,n=48,k=32", "batch_matmul:b=3,m=6,n=20,k=28",
                             "conv2d:h=5,w=6,c=32,f=32,k=3,pad=1,groups=8", "depthwise_conv2d:h=9,w=33,c=5,k=3,stride=2,pad=1,layout=nchw"}) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [programs, schedules] = sample_programs(text, dag, 32, [&](unsigned i, const std::string& source) {
            bool wanted = i < 4;
            for (auto& construct : left)
                if (construct.second > 0 && source.find(construct.first) != std::string::npos) {
                    --construct.second;
                    wanted = true;
                }
            return wanted;
        });
        check_outputs(runner, *dag, programs, [&made = schedules](std::size_t i) { return to_json(made[i]); });
    }
    for (const auto& construct : left) {
        CAPTURE(construct.first);
        CHECK(construct.second == 0);
    }
}

// What a row needs is computed for each of its elements: the array that holds it is then read by the very loop that it stands in.
TEST_CASE("c_writer: a buffer that is indexed by the loop that it is attached to") {
    auto runner = runner_for_outputs();
    const auto dag = dag_of("softmax:m=5,n=12");
    for (const std::int64_t parallel : {-1, 0}) {
        loop_state s(dag); // 1 maximum, 2 exponentials, 3 their sum, 4 quotients
        REQUIRE(s.apply(compute_at_step{3, 4, 1}));
        REQUIRE(s.apply(compute_at_step{2, 4, 1}));
        REQUIRE(s.apply(compute_at_step{1, 2, 1}));
        if (parallel >= 0) REQUIRE(s.apply(annotate_step{4, parallel, loop_annotation::parallel}));
        const auto k = lower(s);
        if (!k) FAIL(k.error().detail);
        check_outputs(runner, *dag, {write_c(*k)});
    }
}

// A transposed convolution multiplies no zeros that the definition inserts: which of its products are zero follows from remainders of the indices.
TEST_CASE("c_writer: products with the zeros of a dilated image are left out") {
    auto runner = runner_for_outputs();
    for (const char* text :
         {"conv2d_transpose:h=5,w=6,c=8,f=16,k=4,stride=2,pad=1", "conv2d_transpose:h=4,w=5,c=6,f=20,k=3,stride=3,pad=1",
          "conv2d_transpose:h=5,w=9,c=8,f=16,k=4,stride=2x1,pad=1,layout=nchw,tanh", "conv1d_transpose:w=17,c=8,f=24,k=5,stride=2,pad=2"}) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [programs, schedules] = sample_programs(text, dag, 12, [](unsigned, const std::string& source) {
            return source.find("if ((0 - q") != std::string::npos; // sums in scalar code are not grouped
        });
        CHECK(programs.size() == 12);
        check_outputs(runner, *dag, programs, [&made = schedules](std::size_t i) { return to_json(made[i]); });
    }
}

// gcc takes a pointer far before an array on the stack for a pointer to something else.
TEST_CASE("c_writer: a border of zeros around an image on the stack") {
    auto runner = runner_for_outputs();
    const auto dag = dag_of("conv2d_transpose:n=1,h=3,w=4,c=4,f=6,k=3x2,stride=2x1,pad=1x0,opad=1x0,dilation=1x2,groups=2,layout=nhwc");
    const auto steps = parse_steps(R"([["SP",5,0,1,[1,1,1],1],["SP",5,4,6,[1,3,2],1],["SP",5,8,6,[2,1,1],1],["SP",5,12,6,[1,1,1],1],)"
                                   R"(["SP",5,16,3,[3],1],["SP",5,18,2,[1],1],["SP",5,20,2,[1],1],)"
                                   R"(["RE",5,[0,4,8,12,1,5,9,13,16,18,20,2,6,10,14,17,19,21,3,7,11,15]],["CA",4,5,2],["CA",2,5,2],["CA",1,2,0],)"
                                   R"(["FU",5,[0,1,2]],["AN",5,0,3],["PR",5,0,"auto_unroll_max_step$0"],["AN",1,3,2],["AN",2,3,2],["AN",4,3,2],)"
                                   R"(["AN",5,19,2]])");
    REQUIRE(steps);
    loop_state s(dag);
    REQUIRE(s.apply(*steps));
    const auto k = lower(s);
    REQUIRE(k);
    check_outputs(runner, *dag, {write_c(*k)});
}

namespace {

/// Pooling with tiles of `rows` x `columns` results and `channels` lanes; the padding is inlined.
loop_state pooling_tiles(const std::shared_ptr<const compute_dag>& dag, std::int64_t rows, std::int64_t columns, std::int64_t channels) {
    loop_state s(dag);
    const auto& axes = dag->ops[2].axes;
    const std::int64_t inner[] = {1, rows, columns, channels};
    for (std::int64_t a = 0; a < 4; ++a) REQUIRE(s.apply(split_step{2, 2 * a, axes[static_cast<std::size_t>(a)].extent, {inner[a]}, true}));
    REQUIRE(s.apply(reorder_step{2, {0, 2, 4, 6, 8, 9, 1, 3, 5, 7}}));
    REQUIRE(s.apply(compute_inline_step{1}));
    REQUIRE(s.apply(fuse_step{2, {0, 1, 2}}));
    REQUIRE(s.apply(annotate_step{2, 0, loop_annotation::parallel}));
    REQUIRE(s.apply(annotate_step{2, 7, loop_annotation::vectorize}));
    return s;
}

/// How often a text occurs.
std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
    return n;
}

} // namespace

// The first is cut by the ends of two axes, where rows that are left must stay vectors; the window of the second leaves registers for one result only.
TEST_CASE("c_writer: untuned depthwise convolutions for 16 registers have no sums of single elements") {
    auto runner = runner_for_outputs();
    for (const char* text : {"depthwise_conv2d:h=38,w=38,c=2,k=5,pad=2,layout=nchw,bias", "depthwise_conv2d:h=14,w=14,c=16,k=13,pad=6,bias"}) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        c_options how;
        how.vector_floats = 8;
        how.vector_registers = 16;
        loop_state s(dag);
        REQUIRE(s.apply(untuned_schedule(*dag, 2, how)));
        const auto k = lower(s);
        REQUIRE(k);
        const auto p = write_c(*k, how);
        CHECK(count_of(p.source, "float a") == 0);
        check_outputs(runner, *dag, {p});
    }
}

// Tiles of pooling load once what their windows have in common; borders, remainders and narrow vectors are where that can go wrong.
TEST_CASE("c_writer: untuned schedules with cut copies, three lanes and large windows compute the right result") {
    auto runner = runner_for_outputs();
    for (const char* text : {"batch_matmul:b=2,m=19,n=77,k=37", "batch_matmul:b=1,m=70,n=45,k=19", "conv2d:h=9,w=11,c=5,f=3,k=3,pad=1,bias",
                             "max_pool2d:h=7,w=9,c=2,k=11,pad=5,layout=nchw", "avg_pool2d:h=13,w=13,c=2,k=13,stride=1,pad=6,layout=nchw"}) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        std::vector<generated_program> programs;
        for (const auto& [floats, registers] : {std::pair{16, 32}, {8, 16}, {4, 32}}) {
            c_options how;
            how.id = static_cast<unsigned>(programs.size());
            how.vector_floats = floats;
            how.vector_registers = registers;
            loop_state state(dag);
            REQUIRE(state.apply(untuned_schedule(*dag, 1, how)));
            const auto k = lower(state);
            if (!k) FAIL(k.error().detail);
            programs.push_back(write_c(*k, how));
        }
        check_outputs(runner, *dag, programs);
    }
}

TEST_CASE("c_writer: tiles of overlapping windows compute the right result from fewer loads") {
    auto runner = runner_for_outputs();
    for (const char* text : {"max_pool2d:h=23,w=27,c=24,k=3,stride=2,pad=1", "avg_pool2d:h=12,w=14,c=20,k=3,stride=1,pad=1",
                             "max_pool2d:h=34,w=40,c=32,k=5,stride=3,pad=2", "max_pool2d:h=22,w=22,c=16,k=2,stride=2,pad=1"}) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto window = static_cast<std::size_t>(dag->ops[2].reduce_axes[0].extent);
        std::vector<generated_program> programs;
        const std::int64_t tiles[][3] = {{1, 4, 8}, {3, 1, 4}, {2, 2, 8}, {3, 4, 8}};
        for (const auto& [rows, columns, channels] : tiles) {
            c_options how;
            how.id = static_cast<unsigned>(programs.size());
            how.vector_floats = static_cast<int>(channels);
            how.vector_registers = 16;
            const auto k = lower(pooling_tiles(dag, rows, columns, channels));
            if (!k) FAIL(k.error().detail);
            programs.push_back(write_c(*k, how));
            const auto loads = count_of(programs.back().source, "aug_load");
            const auto& out = dag->ops.back().axes; // a tile that the end of an axis cuts has its own code
            const auto results = (rows + out[1].extent % rows) * (columns + out[2].extent % columns) * (out[3].extent % channels > 0 ? 2 : 1);
            const auto alone = 2 * window * window * static_cast<std::size_t>(results); // one version for the border, one for the inner tiles
            if (window == 2) CHECK(loads == alone);                                     // these have nothing in common
            else if (alone < 200) CHECK(loads < alone);
        }
        check_outputs(runner, *dag, programs);
    }
}

namespace {

/// Kernels of every class with full vectors of each level, and remainders.
constexpr const char* level_kernels[] = {"dense:m=9,n=40,k=24,bias,relu",
                                         "dense:m=3,n=20,k=16,bias,gelu",
                                         "batch_matmul:b=2,m=9,n=20,k=36",
                                         "conv2d:h=9,w=11,c=8,f=24,k=3,pad=1,bias,relu",
                                         "conv2d:h=9,w=14,c=4,f=16,k=3,stride=2,pad=1,layout=nchw,bias",
                                         "conv2d:h=8,w=8,c=16,f=20,k=1,bias",
                                         "conv2d:h=6,w=6,c=16,f=16,k=3,pad=1,groups=4",
                                         "depthwise_conv2d:h=9,w=9,c=20,k=3,pad=1,bias,relu6",
                                         "conv2d_transpose:h=4,w=5,c=8,f=12,k=4,stride=2,pad=1,tanh",
                                         "max_pool2d:h=11,w=13,c=20,k=3,stride=2,pad=1",
                                         "avg_pool2d:h=9,w=19,c=4,k=3,stride=1,pad=1,layout=nchw",
                                         "depthwise_conv2d:h=19,w=37,c=3,k=3,stride=2,pad=1,layout=nchw,bias",
                                         "max_pool2d:h=11,w=35,c=3,k=3,stride=2,pad=1,layout=nchw",
                                         "global_avg_pool2d:h=5,w=7,c=24",
                                         "global_avg_pool2d:h=7,w=7,c=9,layout=nchw",
                                         "softmax:m=4,n=37",
                                         "layer_norm:m=3,n=40",
                                         "elementwise:h=3,w=5,c=20,scale,add,relu"};

/// Programs of random schedules: of any steps, and of the search space, whose schedules have register tiles.
std::vector<generated_program> random_programs(const std::shared_ptr<const compute_dag>& dag, augur::random_engine& rng, c_options how,
                                               unsigned count) {
    const auto space = ansor_space::create(dag, {});
    REQUIRE(space);
    std::vector<generated_program> out;
    while (out.size() < count) {
        auto drawn = out.size() % 3 == 0 ? result<loop_state>(random_schedule::sample(dag, rng, 24)) : space->state(sample_path(*space, rng).values);
        REQUIRE(drawn);
        const auto k = lower(*drawn);
        REQUIRE(k);
        how.id = static_cast<unsigned>(out.size());
        auto p = write_c(*k, how);
        if (p.source.size() < 300'000) out.push_back(std::move(p));
    }
    return out;
}

} // namespace

TEST_CASE("c_writer: random schedules compute the right result at every ISA level of this machine") {
    for (const auto level : {isa_level::x86_64_v2, isa_level::x86_64_v3, isa_level::x86_64_v4}) {
        CAPTURE(to_string(level));
        const auto on = detect_machine(level);
        if (!on) {
            CHECK(on.error().code == errc::unsupported);
            MESSAGE(on.error().detail);
            continue;
        }
        auto runner = runner_for_outputs(level);
        for (const char* text : level_kernels) {
            CAPTURE(text);
            const auto dag = dag_of(text);
            augur::random_engine rng(fnv1a64(text, static_cast<std::uint64_t>(level)));
            check_outputs(runner, *dag, random_programs(dag, rng, c_options::of(*on), 3));
        }
    }
}

namespace {

/// A program that reads the inputs of kernels from the file of its first argument, runs them, and writes their outputs to the second one. Scratch and
/// outputs begin as NaN. Exits with 3 after a write behind a buffer.
std::string driver_of(const std::vector<generated_program>& programs) {
    std::string s = R"(#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void serial(aug_body body, void *context, int64_t n) { body(context, 0, n / 2); body(context, n / 2, n); }
static float *buffer(FILE *in, size_t n) {
    float *b = aligned_alloc(64, (n + 16) * 4 / 64 * 64 + 64);
    memset(b, 0xff, n * 4);
    memset(b + n, 0xa5, 64);
    if (in && fread(b, 4, n, in) != n) exit(2);
    return b;
}
static void finish(FILE *out, const float *b, size_t n) {
    for (int i = 0; i < 64; ++i) if (((const unsigned char *)(b + n))[i] != 0xa5) exit(3);
    if (out && fwrite(b, 4, n, out) != n) exit(2);
}
int main(int count, char **argument) {
    if (count != 3) return 2;
    FILE *in = fopen(argument[1], "rb"), *out = fopen(argument[2], "wb");
    if (!in || !out) return 2;
)";
    for (const auto& p : programs) {
        s += "    {\n        float *b[] = {";
        for (const auto& b : p.buffers) {
            const bool read = b.purpose == program_buffer::role::input || b.purpose == program_buffer::role::weight;
            s += (read ? "buffer(in, " : "buffer(NULL, ") + std::to_string(b.elements) + "), ";
        }
        s += "};\n";
        if (!p.pack_entry.empty()) s += "        " + p.pack_entry + "(b);\n";
        s += "        " + p.entry + "(b, serial);\n";
        for (std::size_t i = 0; i < p.buffers.size(); ++i)
            s += std::string("        finish(") + (p.buffers[i].purpose == program_buffer::role::output ? "out" : "NULL") + ", b[" +
                 std::to_string(i) + "], " + std::to_string(p.buffers[i].elements) + ");\n";
        s += "    }\n";
    }
    return s + "    return fclose(out) == 0 ? 0 : 2;\n}\n";
}

std::string bytes_of(const std::vector<float>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}; }

} // namespace

TEST_CASE("c_writer: random schedules compute the right result on AArch64, emulated" MAY_SKIP) {
    auto folder = work_folder::create();
    REQUIRE(folder);
    const std::string at = folder->path() + "/";
    const auto run = [&](std::vector<std::string> arguments) {
        process_spec job;
        job.arguments = std::move(arguments);
        job.wall_seconds = 60;
        return run_process(job);
    };
    if (const auto r = run({"qemu-aarch64", "--version"}); r.start_error != 0) SKIP_CASE("no qemu-aarch64");
    compiler_options options;
    options.command = "aarch64-linux-gnu-gcc";
    options.isa = isa_level::aarch64;
    const auto cc = find_compiler(options, *folder);
    if (!cc && cc.error().code == errc::not_found) SKIP_CASE("no aarch64-linux-gnu-gcc");
    if (!cc) FAIL(cc.error().detail);
    const auto runner = build_runner(*cc, *folder); // the runner is C for any processor, too
    if (!runner) FAIL(runner.error().detail);
    int number = 0;
    for (const char* text : level_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [inputs, want] = evaluated(*dag);
        augur::random_engine rng(fnv1a64(text, 5));
        const auto programs = random_programs(dag, rng, c_options::of(machine_of(isa_level::aarch64)), 3);
        std::string source(program_prelude), data;
        for (const auto& p : programs) {
            source += p.source;
            for (const auto& b : p.buffers) {
                if (b.purpose != program_buffer::role::input && b.purpose != program_buffer::role::weight) continue;
                std::vector<float> values(static_cast<std::size_t>(b.elements));
                for (std::size_t i = 0; i < values.size(); ++i) values[i] = program_input_value(b, static_cast<std::int64_t>(i));
                data += bytes_of(values);
            }
        }
        const auto stem = at + std::to_string(number++);
        REQUIRE(write_private_file(stem + ".c", source + driver_of(programs)));
        REQUIRE(write_private_file(stem + ".in", data));
        auto command = cc->command;
        command.insert(command.end(), cc->flags.begin(), cc->flags.end());
        for (const auto& a : {std::string("-std=gnu11"), std::string("-static"), "-o" + stem, stem + ".c", std::string("-lm")}) command.push_back(a);
        const auto compiled = run(command);
        CAPTURE(compiled.errors);
        REQUIRE(compiled.ok());
        const auto ended = run({"qemu-aarch64", stem, stem + ".in", stem + ".out"});
        CAPTURE(ended.errors);
        REQUIRE(ended.ok());
        const auto got = read_whole_file(stem + ".out", std::size_t{1} << 24U);
        REQUIRE(got);
        std::size_t from = 0;
        for (std::size_t i = 0; i < programs.size(); ++i)
            for (const auto& w : want) {
                std::vector<float> values(w.size());
                REQUIRE(from + values.size() * sizeof(float) <= got->size());
                std::memcpy(values.data(), got->data() + from, values.size() * sizeof(float));
                from += values.size() * sizeof(float);
                CHECK(largest_error(values, w) < 1e-4);
            }
        CHECK(from == got->size());
    }
}

TEST_CASE("c_writer: a program is as long as its code, not as its loops, and has a limit") {
    constexpr std::int64_t length = std::int64_t{1} << 39U; // its lanes as a list would take 512 GiB
    compute_dag dag;
    const int in = dag.input("a", {length});
    dag.compute("b", {{"i", 1}}, ex::read(in, {ex::axis(1)}), {{"k", length}}, reducer::sum);
    const auto k = lower(loop_state(std::make_shared<const compute_dag>(dag)));
    REQUIRE(k);
    const auto p = write_c(*k);
    CHECK(p.source.find("aug_fold_sum16") != std::string::npos);
    CHECK(p.source.size() < 10'000);
    c_options narrow;
    narrow.max_source_bytes = p.source.size();
    CHECK(write_c(*k, narrow).source == p.source);
    for (const auto most : {p.source.size() - 1, std::size_t{100}, std::size_t{0}}) {
        narrow.max_source_bytes = most;
        CHECK(write_c(*k, narrow).source.empty());
    }

    const auto created = kernel_task::create(*kernel::parse("dense:m=16,n=64,k=64"), hardware_params{});
    REQUIRE(created);
    const auto& task = *created;
    narrow.max_source_bytes = 1000;
    const auto refused = compile_schedule(task, {}, narrow);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::illegal_schedule);
    CHECK(compile_schedule(task, {}));
}
