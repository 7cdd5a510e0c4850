// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records of AutoTVM logs read per second and core: task, ids of the knobs, mean cost and error number of each line.
// The other reader gets the same lines and looks tasks and knobs up in the same cache by their text; it checks less of each line than augur does.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/io/autotvm_log.hpp>
#include <augur/record/autotvm_line.hpp>
#include <benchmark/benchmark.h>

#include "log_parse.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif

namespace {

using log_parse::extraction, log_parse::log_text;
using sink_type = log_parse::counting_sink<augur::autotvm_config>;

/// A log of direct convolutions on a GPU, sixteen tasks one after the other.
std::string generated_log() {
    auto rng = augur::random_engine(1);
    std::string text;
    augur::autotvm_line line;
    line.target = "cuda -keys=cuda,gpu -arch=sm_75 -max_num_threads=1024 -thread_warp_size=32";
    line.name = "conv2d_nchw.cuda";
    line.tvm_version = "0.10.0";
    for (int trial = 0; trial < 40'000; ++trial) {
        const std::string channels = std::to_string(16 * (1 + trial / 2500));
        line.arguments = R"([["TENSOR", [1, )" + channels + R"(, 56, 56], "float32"], ["TENSOR", [64, )" + channels +
                         R"(, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "float32"])";
        line.index = static_cast<std::int64_t>(rng.below(90'316'800));
        line.config.knobs.clear();
        for (const char* name : {"tile_f", "tile_y", "tile_x", "tile_rc", "tile_ry", "tile_rx"}) {
            augur::autotvm_knob knob{name, augur::autotvm_knob_kind::split, {std::int64_t{-1}}};
            const bool reduce = knob.name.size() == 7;
            for (int part = 0; part < (reduce ? 1 : 3); ++part) knob.values.emplace_back(std::int64_t{1} << rng.below(reduce ? 2 : 5));
            line.config.knobs.push_back(std::move(knob));
        }
        line.config.knobs.push_back({"auto_unroll_max_step", augur::autotvm_knob_kind::other, {std::int64_t{512}}});
        line.config.knobs.push_back({"unroll_explicit", augur::autotvm_knob_kind::other, {static_cast<std::int64_t>(rng.below(2))}});
        line.error = rng.below(7) == 0 ? 1 : 0;
        line.costs.assign(line.error == 0 ? 3 : 1, augur::autotvm_failed_cost);
        const double typical = 1e-5 * (1.0 + rng.uniform());
        if (line.error == 0)
            for (double& cost : line.costs) cost = typical * (1 + 0.01 * rng.uniform());
        line.all_cost = 1 + rng.uniform();
        line.timestamp = 1'680'000'000.5 + trial;
        augur::append_autotvm_line(text, line);
        text += '\n';
    }
    return text;
}

/// A real log where there is one, else a generated one.
const log_text& input() {
    static const log_text log = [] {
        std::string text = log_parse::data_file("autotvm/cuda_gtx1650.resnet-18.jsonl.gz");
        return text.empty() ? log_text{"generated", generated_log()} : log_text{"resnet-18 on GTX 1650", text};
    }();
    return log;
}

extraction by_augur() {
    sink_type sink;
    log_parse::memory_source source{input().text};
    augur::autotvm_log_reader<sink_type> reader("log", sink);
    if (!reader.read(source) || reader.summary().bad > 0) return {};
    return sink.seen;
}

#if __has_include(<nlohmann/json.hpp>)
extraction by_nlohmann() {
    extraction seen;
    log_parse::other_memory memory;
    std::string text;
    for (std::string_view rest = input().text; !rest.empty();) {
        const std::size_t size = (std::min)(rest.find('\n'), rest.size());
        const auto line = nlohmann::json::parse(rest.substr(0, size), nullptr, false);
        rest.remove_prefix((std::min)(size + 1, rest.size()));
        if (line.is_discarded()) return {};
        benchmark::DoNotOptimize(memory.lookup_dump(memory.tasks, text, line["input"]));
        memory.ids.clear();
        for (const auto& knob : line["config"]["entity"]) memory.ids.push_back(memory.lookup_dump(memory.steps, text, knob));
        memory.costs = line["result"][0].get<std::vector<double>>();
        const bool failed = line["result"][1].get<std::int64_t>() != 0;
        seen.add(memory.ids.size(), log_parse::mean(memory.costs), failed);
    }
    return seen;
}
#endif

} // namespace

static void parse_autotvm(benchmark::State& state) { log_parse::report(state, input(), by_augur(), by_augur); }
BENCHMARK(parse_autotvm)->Name("io/autotvm/parse");

#if __has_include(<nlohmann/json.hpp>)
static void parse_autotvm_nlohmann(benchmark::State& state) { log_parse::report(state, input(), by_augur(), by_nlohmann); }
BENCHMARK(parse_autotvm_nlohmann)->Name("io/autotvm/parse_nlohmann");
#endif
