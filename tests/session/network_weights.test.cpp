// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/session/network_weights.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/whole_file.hpp>
#include <augur/loopnest.hpp>
#include <augur/loopnest/run/network_runner.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/workload/network_graph.hpp>

#include "../may_skip.hpp"

using namespace augur;

namespace {

network_graph graph_of(std::vector<network_node> nodes) {
    const auto last = nodes.size() - 1;
    auto g = network_graph::create("small", std::move(nodes), {last});
    if (!g) FAIL(g.error().detail);
    return *std::move(g);
}
network_node kernel_node(std::string name, std::string_view text, std::vector<std::size_t> inputs) {
    const auto k = kernel::parse(text);
    if (!k) FAIL(k.error().detail);
    return {std::move(name), kernel_call{*k}, std::move(inputs)};
}

// The outputs of a network with weights, by its generated program; the naive nests are the reference there.
std::vector<float> outputs_of(const network_graph& g, loopnest::network_weights weights) {
    std::vector<loopnest::kernel_task> tasks;
    std::vector<step_list> schedules;
    const auto net = g.kernels();
    for (const auto& k : net.kernels) {
        tasks.push_back(*loopnest::kernel_task::create(k.workload, hardware_params{}, k.uses));
        schedules.push_back(loopnest::untuned_schedule(*tasks.back().dag(), 2));
    }
    loopnest::runner_options options;
    options.threads = 2;
    options.timing.min_repeat_seconds = 0;
    auto programs = loopnest::program_runner::create(options);
    if (!programs) FAIL(programs.error().detail);
    loopnest::task_runner runner(*std::move(programs), loopnest::c_options::of(detect_machine()));
    auto whole = loopnest::network_runner::create(runner, g, tasks, std::move(weights));
    if (!whole) FAIL(whole.error().detail);
    const auto m = whole->measure(schedules);
    if (!m) FAIL(m.error().detail);
    CAPTURE(m->reason);
    CHECK(m->ok());
    const auto read = loopnest::program_runner::read_reference(whole->right());
    if (!read) FAIL(read.error().detail);
    return (*read)[0];
}

struct temporary_folder {
    std::string path = "/tmp/augur-weights-XXXXXX";
    temporary_folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
    ~temporary_folder() { CHECK(std::system(("rm -rf '" + path + "'").c_str()) == 0); }
};

} // namespace

TEST_CASE("network weights: numbers of a file reach the kernels, and what is wrong with a file is named") {
    const temporary_folder at;
    const auto path = at.path + "/w.safetensors";
    const auto g = graph_of({{"x", network_input{{1, 2}}, {}}, kernel_node("fc", "dense:m=1,n=3,k=2,bias", {0})});
    using shape = std::vector<std::uint64_t>;
    const auto file = [&](const std::function<void(nn::safetensors_writer&)>& more, shape weight = {3, 2}, float first = 1) {
        nn::safetensors_writer w;
        w.tensor("fc.weight", weight, std::vector<float>{first, 2, 3, 4, 5, 6});
        more(w);
        return w.file();
    };
    const auto write = [&](const std::string& bytes) {
        REQUIRE(std::system(("rm -f '" + path + "'").c_str()) == 0);
        REQUIRE(loopnest::write_private_file(path, bytes));
    };
    const auto bias = [](nn::safetensors_writer& w) { w.tensor("fc.bias", shape{3}, std::vector<float>{10, 20, 30}); };
    const auto all = [&](nn::safetensors_writer& w) {
        bias(w);
        w.tensor("x", shape{2}, std::vector<float>{1, -1});
        w.tensor("not.ours", shape{1}, std::vector<float>{0});
    };
    write(file(all));
    const auto weights = find_network_weights(path, g);
    if (!weights) FAIL(weights.error().detail);
    CHECK(outputs_of(g, *weights) == std::vector<float>{9, 19, 29});

    const auto refused = [&](const std::string& bytes, errc code, const std::string& part) {
        write(bytes);
        const auto w = find_network_weights(path, g);
        REQUIRE_FALSE(w);
        CAPTURE(w.error().detail);
        CHECK(w.error().code == code);
        CHECK(w.error().detail.starts_with(path));
        CHECK(w.error().detail.find(part) != std::string::npos);
    };
    refused(file([](nn::safetensors_writer&) {}), errc::not_found, "tensor 'fc.bias' is not in the file");
    refused(file(bias, {2, 3}), errc::shape_mismatch, "tensor 'fc.weight' has shape [2, 3], expected [3, 2]");
    refused(file(bias, {6}), errc::shape_mismatch, "tensor 'fc.weight' has shape [6]");
    refused(file(bias, {3, 2}, std::numeric_limits<float>::quiet_NaN()), errc::parse,
            "tensor 'fc.weight' has a number that is not finite at element 0");
    const auto whole = file(bias);
    for (std::size_t n = 0; n < whole.size(); n += 7) { // it ends early
        write(whole.substr(0, n));
        CAPTURE(n);
        CHECK_FALSE(find_network_weights(path, g));
    }
    CHECK_FALSE(find_network_weights(at.path + "/none", g));
}

TEST_CASE("network weights: a file that shrinks behind its check, and numbers that overflow, are told by the runner") {
    const temporary_folder at;
    const auto path = at.path + "/w";
    const auto g = graph_of({{"x", network_input{{1, 2}}, {}}, kernel_node("fc", "dense:m=1,n=3,k=2,bias", {0})});
    REQUIRE(loopnest::write_private_file(path, "too short"));
    std::vector<loopnest::kernel_task> tasks{*loopnest::kernel_task::create(*kernel::parse("dense:m=1,n=3,k=2,bias"), hardware_params{})};
    auto programs = loopnest::program_runner::create();
    if (!programs) FAIL(programs.error().detail);
    loopnest::task_runner runner(*std::move(programs), loopnest::c_options::of(detect_machine()));
    const auto made = loopnest::network_runner::create(runner, g, tasks, {path, {{"fc.weight", 0}}});
    REQUIRE_FALSE(made);
    CAPTURE(made.error().detail);
    CHECK(made.error().detail.find("contents: the file ends early") != std::string::npos);

    // Numbers whose products overflow: any program without numbers would be as right.
    const std::vector<float> large(8, 3e38F);
    const auto big = at.path + "/big";
    REQUIRE(loopnest::write_private_file(big, std::string(reinterpret_cast<const char*>(large.data()), large.size() * sizeof(float))));
    const auto overflowing = loopnest::network_runner::create(runner, g, tasks, {big, {{"fc.weight", 0}, {"x", 24}}});
    REQUIRE_FALSE(overflowing);
    CHECK(overflowing.error().detail == "network 'small': output 'fc' is not finite at element 0: its weights or inputs are too large");
}

TEST_CASE("network weights: a residual network of PyTorch gives the numbers that PyTorch gives" MAY_SKIP) {
    std::string python;
    for (const char* name : {"python3", "/usr/bin/python3"})
        if (python.empty() && std::system((std::string(name) + " -c 'import torch' 2> /dev/null").c_str()) == 0) python = name;
    if (python.empty()) SKIP_CASE("no python3 with torch here");
    const temporary_folder at;
    const auto name = [&](const char* file) { return "'" + at.path + "/" + file + "' "; };
    const std::string tests = AUGUR_TEST_DIR;
    REQUIRE(std::system((python + " '" + tests + "/session/torch_resnet.py' " + name("state.pt") + name("image.pt") + name("output")).c_str()) == 0);
    REQUIRE(std::system(
                (python + " '" + tests + "/../docs/convert_resnet_weights.py' " + name("state.pt") + name("weights") + name("image.pt")).c_str()) ==
            0);
    const auto g = graph_of({{"input", network_input{{1, 32, 32, 3}}, {}},
                             kernel_node("conv1", "conv2d:h=32,w=32,c=3,f=8,k=7,stride=2,pad=3,bias,relu", {0}),
                             kernel_node("maxpool", "max_pool2d:h=16,w=16,c=8,k=3,stride=2,pad=1", {1}),
                             kernel_node("layer1.0.conv1", "conv2d:h=8,w=8,c=8,f=8,k=3,pad=1,bias,relu", {2}),
                             kernel_node("layer1.0.conv2", "conv2d:h=8,w=8,c=8,f=8,k=3,pad=1,bias,add,relu", {3, 2}),
                             kernel_node("layer2.0.downsample", "conv2d:h=8,w=8,c=8,f=16,k=1,stride=2,bias", {4}),
                             kernel_node("layer2.0.conv1", "conv2d:h=8,w=8,c=8,f=16,k=3,stride=2,pad=1,bias,relu", {4}),
                             kernel_node("layer2.0.conv2", "conv2d:h=4,w=4,c=16,f=16,k=3,pad=1,bias,add,relu", {6, 5}),
                             kernel_node("avgpool", "global_avg_pool2d:h=4,w=4,c=16", {7}),
                             {"flat", reshape{{1, 16}}, {8}},
                             kernel_node("fc", "dense:m=1,n=10,k=16,bias", {9})});
    const auto weights = find_network_weights(at.path + "/weights", g);
    if (!weights) FAIL(weights.error().detail);
    const auto got = outputs_of(g, *weights);
    const auto bytes = read_whole_file(at.path + "/output", 4096);
    REQUIRE(bytes);
    REQUIRE(bytes->size() == got.size() * sizeof(float));
    for (std::size_t i = 0; i < got.size(); ++i) {
        float right = 0;
        bytes->copy(reinterpret_cast<char*>(&right), sizeof right, i * sizeof right);
        CHECK(static_cast<double>(got[i]) == doctest::Approx(static_cast<double>(right)).epsilon(1e-4));
    }
}
