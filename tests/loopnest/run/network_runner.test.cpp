// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/network_runner.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/loopnest.hpp>
#include <augur/workload/networks.hpp>

#include "small_network.hpp"

#include <doctest/doctest.h>

using namespace augur;
using namespace augur::loopnest;

namespace {

// The network by the evaluator, kernel by kernel: the tensors of all nodes. Constants are those of the program, in its order.
std::vector<std::vector<float>> evaluated_network(const network_graph& g, const generated_program& p) {
    using role = program_buffer::role;
    std::vector<program_buffer> inputs, weights;
    for (const auto& b : p.buffers) {
        if (b.purpose == role::input) inputs.push_back(b);
        if (b.purpose == role::weight) weights.push_back(b);
    }
    std::size_t input = 0, weight = 0;
    const auto filled = [](const program_buffer& b) {
        std::vector<float> out(static_cast<std::size_t>(b.elements));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = program_input_value(b, static_cast<std::int64_t>(i));
        return out;
    };
    std::vector<std::vector<float>> all(g.nodes().size());
    for (std::size_t n = 0; n < g.nodes().size(); ++n) {
        const auto& node = g.nodes()[n];
        const auto from = [&](std::size_t i) -> const std::vector<float>& { return all[node.inputs[i]]; };
        if (std::holds_alternative<network_input>(node.action)) {
            all[n] = filled(inputs.at(input++));
        } else if (const auto* k = g.kernel_of(n)) {
            const auto dag = build_dag(*k);
            REQUIRE(dag);
            std::vector<std::vector<float>> tensors(dag->ops.size());
            std::size_t operand = 0;
            for (std::size_t i = 0; i < dag->ops.size(); ++i) {
                if (!dag->ops[i].placeholder()) continue;
                tensors[i] = dag->ops[i].constant ? filled(weights.at(weight++)) : from(operand++);
            }
            const auto done = evaluate(*dag, tensors);
            if (!done) FAIL(done.error().detail);
            all[n] = tensors.back();
        } else if (std::holds_alternative<reshape>(node.action)) {
            all[n] = from(0);
        } else if (const auto* c = std::get_if<strided_copy>(&node.action)) {
            std::vector<std::int64_t> at(c->shape.size(), 0);
            for (std::int64_t count = elements_of(c->shape); count > 0; --count) {
                auto source = c->offset;
                for (std::size_t a = 0; a < at.size(); ++a) source += at[a] * c->strides[a];
                all[n].push_back(from(0).at(static_cast<std::size_t>(source)));
                for (std::size_t a = at.size(); a-- > 0;) {
                    if (++at[a] < c->shape[a]) break;
                    at[a] = 0;
                }
            }
        } else {
            const auto axis = std::get<concatenation>(node.action).axis;
            std::int64_t outer = 1;
            for (std::size_t a = 0; a < axis; ++a) outer *= g.shape_of(n)[a];
            for (std::int64_t o = 0; o < outer; ++o)
                for (std::size_t i = 0; i < node.inputs.size(); ++i) {
                    const auto chunk = static_cast<std::ptrdiff_t>(from(i).size()) / outer;
                    all[n].insert(all[n].end(), from(i).begin() + o * chunk, from(i).begin() + (o + 1) * chunk);
                }
        }
    }
    CHECK(weight == weights.size());
    return all;
}

task_runner small_runner() {
    runner_options options;
    options.threads = 2;
    options.timing.min_repeat_seconds = 0;
    auto programs = program_runner::create(options);
    if (!programs) FAIL(programs.error().detail);
    return task_runner(std::move(*programs), c_options::of(detect_machine()));
}

std::vector<step_list> untuned_schedules(std::span<const kernel_task> tasks) {
    std::vector<step_list> out;
    for (const auto& t : tasks) out.push_back(untuned_schedule(*t.dag(), 2));
    return out;
}

} // namespace

TEST_CASE("network runner: the whole program computes what the evaluator computes kernel by kernel") {
    const auto g = small_network();
    const auto tasks = tasks_of(g);
    auto runner = small_runner();
    auto net = network_runner::create(runner, g, tasks);
    if (!net) FAIL(net.error().detail);
    CHECK(net->naive_seconds() > 0);

    const auto schedules = untuned_schedules(tasks);
    const auto program = net->program_of(schedules);
    if (!program) FAIL(program.error().detail);
    const auto all = evaluated_network(g, program->program);
    const auto naive = program_runner::read_reference(net->right());
    const auto tuned = runner.programs().make_expected_outputs(program->program);
    if (!tuned) FAIL(tuned.error().detail);
    const auto generated = program_runner::read_reference(*tuned);
    REQUIRE(naive);
    REQUIRE(generated);
    REQUIRE(naive->size() == 2);
    REQUIRE(generated->size() == 2);
    double largest = 0;
    for (std::size_t o = 0; o < 2; ++o) {
        const auto& right = all[g.outputs()[o]];
        REQUIRE((*naive)[o].size() == right.size());
        REQUIRE((*generated)[o].size() == right.size());
        for (std::size_t i = 0; i < right.size(); ++i) {
            largest = (std::max)(largest, std::fabs(static_cast<double>(right[i])));
            CHECK(static_cast<double>((*naive)[o][i]) == doctest::Approx(static_cast<double>(right[i])).epsilon(1e-5));
            CHECK(static_cast<double>((*generated)[o][i]) == doctest::Approx(static_cast<double>(right[i])).epsilon(1e-5));
        }
    }
    CHECK(largest > 0.1); // nothing vanishes on the way

    const auto m = net->measure(schedules);
    if (!m) FAIL(m.error().detail);
    CAPTURE(m->reason);
    CHECK(m->ok());
    CHECK(m->max_error < 1);
    const auto inside = net->times_inside(schedules);
    if (!inside) FAIL(inside.error().detail);
    REQUIRE(inside->size() == g.nodes().size());
    for (std::size_t i = 0; i < g.nodes().size(); ++i) {
        const bool executed = !std::holds_alternative<network_input>(g.nodes()[i].action) && !std::holds_alternative<reshape>(g.nodes()[i].action);
        CAPTURE(g.nodes()[i].name);
        CHECK(((*inside)[i] > 0) == executed);
    }
}

TEST_CASE("network runner: an element-wise kernel in place applies its operation once, however its rows are cut into vectors") {
    const auto call = [](std::string name, std::string_view text, std::vector<std::size_t> inputs) {
        const auto k = kernel::parse(text);
        if (!k) FAIL(k.error().detail);
        return network_node{std::move(name), kernel_call{*k}, std::move(inputs)};
    };
    for (const std::string shape : {"h=7,w=7,c=20", "h=4,w=7,c=28", "h=7,w=5,c=12"}) {
        CAPTURE(shape);
        const auto pixels = shape.substr(0, shape.find(",c"));
        const auto channels = shape.substr(shape.find("c=") + 2);
        const auto value_of = [&](std::string_view name) { return std::int64_t{std::stoll(shape.substr(shape.find(std::string(name) + "=") + 2))}; };
        const auto g = network_graph::create("in place",
                                             {{"image", network_input{{1, value_of("h"), value_of("w"), 2}}, {}},
                                              call("conv", "conv2d:" + pixels + ",c=2,f=" + channels + ",k=1", {0}),
                                              call("scale", "elementwise:" + shape + ",scale", {1}),
                                              call("behind", "conv2d:" + shape + ",f=4,k=1", {2})},
                                             {3});
        if (!g) FAIL(g.error().detail);
        const auto tasks = tasks_of(*g);
        auto runner = small_runner();
        auto net = network_runner::create(runner, *g, tasks);
        if (!net) FAIL(net.error().detail);
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            auto schedules = untuned_schedules(tasks);
            for (std::size_t k = 0; seed > 0 && k < tasks.size(); ++k) {
                random_engine rng(seed);
                const auto space = ansor_space::create(tasks[k].dag());
                REQUIRE(space);
                const auto steps = space->realise(sample_path(*space, rng).values);
                REQUIRE(steps);
                schedules[k] = *steps;
            }
            const auto program = net->program_of(schedules);
            if (!program) FAIL(program.error().detail);
            const auto right = evaluated_network(*g, program->program).back();
            const auto outputs = runner.programs().make_expected_outputs(program->program);
            if (!outputs) FAIL(outputs.error().detail);
            const auto generated = program_runner::read_reference(*outputs);
            REQUIRE(generated);
            REQUIRE(generated->front().size() == right.size());
            for (std::size_t i = 0; i < right.size(); ++i)
                CHECK(static_cast<double>((*generated)[0][i]) == doctest::Approx(static_cast<double>(right[i])).epsilon(1e-5));
        }
    }
}

TEST_CASE("network runner: another wiring of the same kernels is a wrong output") {
    const auto g = small_network();
    const auto tasks = tasks_of(g);
    auto runner = small_runner();
    auto net = network_runner::create(runner, g, tasks);
    if (!net) FAIL(net.error().detail);
    auto nodes = g.nodes();
    const auto block =
        static_cast<std::size_t>(std::find_if(nodes.begin(), nodes.end(), [](const network_node& n) { return n.name == "block"; }) - nodes.begin());
    REQUIRE(nodes[block].inputs.size() == 2);
    nodes[block].inputs[1] = 1; // an input of the network of that shape
    const auto other = network_graph::create("other", nodes, g.outputs());
    if (!other) FAIL(other.error().detail);
    std::vector<generated_program> kernels;
    for (std::size_t k = 0; k < tasks.size(); ++k)
        kernels.push_back(*runner.program_of(tasks[k], untuned_schedule(*tasks[k].dag(), 2), static_cast<unsigned>(k)));
    const auto program = write_network(*other, kernels);
    if (!program) FAIL(program.error().detail);
    const auto m = runner.programs().measure(std::span(&program->program, 1), net->right()).front();
    CHECK(to_string(m.status) == to_string(outcome::wrong_result));
}

TEST_CASE("network program: the arena, element-wise kernels in place, and programs that do not fit") {
    const auto g = small_network();
    const auto tasks = tasks_of(g);
    std::vector<generated_program> kernels;
    for (std::size_t k = 0; k < tasks.size(); ++k) {
        c_options o;
        o.id = static_cast<unsigned>(k);
        kernels.push_back(*compile_schedule(tasks[k], untuned_schedule(*tasks[k].dag()), o));
    }
    const auto in_place = write_network(g, kernels), apart = write_network(g, kernels, {.in_place = false});
    REQUIRE(in_place);
    REQUIRE(apart);
    CHECK(apart->tensor_bytes - in_place->tensor_bytes == 8 * 8 * 8 * 4); // of the normalisation behind the concatenation
    CHECK(in_place->arena_bytes >= in_place->live_bytes);
    CHECK(in_place->arena_bytes < apart->tensor_bytes);
    CHECK(in_place->steps.size() == g.nodes().size() - 4); // two inputs and two reshapes are no steps
    const auto refused = [&](std::vector<generated_program> programs, const std::string& part) {
        const auto p = write_network(g, programs);
        REQUIRE_FALSE(p);
        CAPTURE(p.error().detail);
        CHECK(p.error().code == errc::invalid_argument);
        CHECK(p.error().detail.find(part) != std::string::npos);
    };
    refused({}, "expected " + std::to_string(kernels.size()) + " kernels, got 0");
    auto twice = kernels;
    twice[1].entry = twice[0].entry;
    refused(twice, "two kernels have the entry aug_kernel_0");
    auto swapped = kernels;
    std::swap(swapped[0], swapped[1]);
    refused(swapped, "the program aug_kernel_1 is not one of conv2d");
}

TEST_CASE("network runner: a buffer takes whole pages, a large one whole huge pages") {
    constexpr std::int64_t page = 4096, huge = 2097152, numbers = 65536; // of 256 KiB
    using augur::loopnest::detail::bytes_of_buffer;
    CHECK(bytes_of_buffer(1, true, page) == page);
    CHECK(bytes_of_buffer(1025, true, page) == 2 * page);
    CHECK(bytes_of_buffer(numbers, true, page) == 4 * numbers);
    CHECK(bytes_of_buffer(numbers + 1, true, page) == huge);
    CHECK(bytes_of_buffer(numbers + 1, false, page) == 4 * numbers + page);
    CHECK(bytes_of_buffer(huge / 4 + 1, true, page) == 2 * huge);
    CHECK(bytes_of_buffer(std::int64_t{1} << 40, true, page) == std::int64_t{1} << 42);
}

TEST_CASE("network runner: one kernel is a network, and too large a network is refused before it is built") {
    auto runner = small_runner();
    const auto one =
        network_graph::create("one", {{"x", network_input{{4, 6}}, {}}, {"soft", kernel_call{*kernel::parse("softmax:m=4,n=6")}, {0}}}, {1});
    REQUIRE(one);
    const auto tasks = tasks_of(*one);
    auto net = network_runner::create(runner, *one, tasks);
    if (!net) FAIL(net.error().detail);
    const auto m = net->measure(untuned_schedules(tasks));
    REQUIRE(m);
    CAPTURE(m->reason);
    CHECK(m->ok());
    const std::vector<step_list> illegal{step_list{{compute_inline_step{99}}}};
    const auto failed = net->measure(illegal);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().detail.starts_with("softmax:m=4,n=6: step 0 (CI)"));

    std::vector<network_node> nodes{{"x", network_input{{1, 16384, 16384, 8}}, {}}};
    std::vector<std::size_t> outputs;
    const auto k = kernel::parse("elementwise:h=16384,w=16384,c=8,relu");
    REQUIRE(k);
    for (std::size_t i = 1; i <= 4096; ++i) { // 8 GiB each
        nodes.push_back({"y" + std::to_string(i), kernel_call{*k}, {0}});
        outputs.push_back(i);
    }
    const auto large = network_graph::create("large", nodes, outputs);
    if (!large) FAIL(large.error().detail);
    const auto refused = network_runner::create(runner, *large, tasks_of(*large));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::limit);
    CHECK(refused.error().detail.starts_with("network 'large': its buffers need 33562624 MiB, the machine has "));
}
