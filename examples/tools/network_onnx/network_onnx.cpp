// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a network in ONNX, with inputs and what they must give, for other programs to run: network_onnx --help, docs/network.md.
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/json_writer.hpp>
#include <augur/loopnest/codegen/naive_program.hpp>
#include <augur/loopnest/codegen/network_program.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/workload/networks.hpp>

#include "flags.hpp"
#include "onnx_model.hpp"

namespace {

namespace loopnest = augur::loopnest;
using augur::errc;
using augur::error;
using role = loopnest::program_buffer::role;

/// The network of naive nests.
augur::result<loopnest::generated_program> naive_network(const augur::network_graph& g) {
    std::vector<loopnest::generated_program> kernels;
    for (const auto& k : g.kernels().kernels) {
        const auto dag = loopnest::build_dag(k.workload);
        if (!dag) return dag.error();
        auto program = loopnest::naive_program(*dag, "naive_" + std::to_string(kernels.size()));
        if (!program) return program.error();
        kernels.push_back(*std::move(program));
    }
    auto whole = loopnest::write_network(g, kernels, {.in_place = false});
    if (!whole) return whole.error();
    return std::move(whole->program);
}

/// The contents of the buffers with a role, by seed.
std::vector<std::vector<float>> contents_of(const loopnest::generated_program& p, role purpose) {
    std::vector<std::vector<float>> out;
    for (const auto& b : p.buffers) {
        if (b.purpose != purpose) continue;
        auto& values = out.emplace_back();
        for (std::int64_t i = 0; i < b.elements; ++i) values.push_back(loopnest::program_input_value(b, i));
    }
    return out;
}

std::string bytes_of(const std::vector<std::vector<float>>& tensors) {
    std::string out;
    for (const auto& t : tensors) out.append(reinterpret_cast<const char*>(t.data()), t.size() * sizeof(float));
    return out;
}

std::string description_of(const examples::onnx_model& m) {
    std::string out;
    augur::json_writer json(out);
    json.begin_object();
    for (const auto& [key, values] : {std::pair{"inputs", &m.inputs}, std::pair{"outputs", &m.outputs}}) {
        json.key(key).begin_array();
        for (const auto& v : *values) {
            json.begin_object().key("name").value(v.name).key("shape").begin_array();
            for (const auto n : v.shape) json.value(n);
            json.end_array().end_object();
        }
        json.end_array();
    }
    json.end_object();
    return out + "\n";
}

augur::result<void> write(const std::string& network, const std::string& folder) {
    const auto graph = augur::find_network_graph(network);
    if (!graph) return graph.error();
    const auto naive = naive_network(*graph);
    if (!naive) return naive.error();
    const auto model = examples::write_onnx(*graph, contents_of(*naive, role::weight));
    if (!model) return model.error();
    auto inputs = contents_of(*naive, role::input);
    std::size_t next = 0;
    for (std::size_t i = 0; i < graph->nodes().size(); ++i) {
        if (!std::holds_alternative<augur::network_input>(graph->nodes()[i].action)) continue;
        const auto& shape = graph->shape_of(i);
        if (model->inputs[next].channels_first) inputs[next] = examples::permuted(inputs[next], shape, examples::channels_first_axes(shape.size()));
        ++next;
    }
    std::error_code wrong;
    std::filesystem::create_directories(folder, wrong);
    if (wrong) return error{errc::io, folder + ": " + wrong.message()};

    loopnest::runner_options options;
    options.threads = 1;
    auto runner = loopnest::program_runner::create(options);
    if (!runner) return runner.error();
    const auto expected = runner->make_expected_outputs(*naive);
    if (!expected) return expected.error();
    const auto outputs = loopnest::program_runner::read_reference(*expected);
    if (!outputs) return outputs.error();
    const std::pair<const char*, std::string> files[] = {
        {"inputs.f32", bytes_of(inputs)}, {"outputs.f32", bytes_of(*outputs)}, {"model.json", description_of(*model)}};
    for (const auto& [name, text] : files)
        if (auto written = augur::replace_file(folder + "/" + name, text); !written) return written;
    if (auto written = augur::replace_file(folder + "/model.onnx", model->bytes); !written) return written;
    std::printf("written %s: model.onnx (%.1f MB), model.json, inputs.f32, outputs.f32; time it: node time_onnx.js %s THREADS\n", folder.c_str(),
                static_cast<double>(model->bytes.size()) / 1e6, folder.c_str());
    return {};
}

} // namespace

int main(int argc, char** argv) {
    std::string network, folder;
    bool help = false;
    examples::flag_set flags;
    flags.add_text("network", "NAME", "as for `tune`", network);
    flags.add_text("out", "FOLDER", "gets model.onnx, model.json (names and shapes), inputs.f32, and outputs.f32 of the naive nests", folder);
    flags.add_switch("help", "print this", help);
    auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
    if (help && read) {
        std::printf("usage: network_onnx --network NAME --out FOLDER\n\n%s", flags.help().c_str());
        return 0;
    }
    if (read && (network.empty() || folder.empty())) read = error{errc::invalid_argument, "give --network and --out; try --help"};
    const auto done = read ? write(network, folder) : read;
    if (done) return 0;
    std::fprintf(stderr, "network_onnx: %s\n", done.error().detail.c_str());
    return done.error().code == errc::invalid_argument || done.error().code == errc::not_found ? 2 : 1;
}
