// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records of MetaSchedule databases read per second and core: task, ids of the instructions, mean time of each line. The other reader gets the same
// lines and looks tasks and instructions up in the same cache by their text; it checks less of each line than augur does.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/io/meta_schedule_log.hpp>
#include <benchmark/benchmark.h>

#include "log_parse.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif

namespace {

using log_parse::extraction, log_parse::log_text;
using sink_type = log_parse::counting_sink<augur::meta_schedule_trace>;

/// Records of one sketch with sampled tiles, of the tile sizes and times of chance.
std::string generated_log() {
    auto rng = augur::random_engine(1);
    std::string text;
    for (int trial = 0; trial < 2000; ++trial) {
        const auto tile = [&] { return std::to_string(1U << rng.below(6)); };
        text +=
            R"([0,[[[["GetBlock",[],["C","main"],["b0"]],["GetBlock",[],["root","main"],["b1"]],["Annotate",["b0","\"SSRSRS\""],)"
            R"(["meta_schedule.tiling_structure"],[]],["GetLoops",["b0"],[],["l2","l3","l4"]],["SamplePerfectTile",["l2"],[4,64],["v5","v6","v7","v8"]],)"
            R"(["Split",["l2","v5","v6","v7","v8"],[1],["l9","l10","l11","l12"]],["SamplePerfectTile",["l3"],[4,64],["v13","v14","v15","v16"]],)"
            R"(["Split",["l3","v13","v14","v15","v16"],[1],["l17","l18","l19","l20"]],["SamplePerfectTile",["l4"],[2,64],["v21","v22"]],)"
            R"(["Split",["l4","v21","v22"],[1],["l23","l24"]],["Reorder",["l9","l17","l10","l18","l23","l11","l19","l24","l12","l20"],[],[]],)"
            R"(["SampleCategorical",[],[[0,16,64,512],[0.25,0.25,0.25,0.25]],["v25"]],["Annotate",["b1","v25"],["meta_schedule.unroll_explicit"],[]],)"
            R"(["EnterPostproc",[],[],[]]],[[4,[)" +
            tile() + "," + tile() + "," + tile() + "," + tile() + "]],[6,[" + tile() + "," + tile() + "," + tile() + "," + tile() + "]],[8,[" +
            tile() + "," + tile() + "]],[11," + std::to_string(rng.below(4)) + "]]],[0.00" + std::to_string(1'000'000 + rng.below(9'000'000)) +
            R"(],{"keys":["cpu"],"kind":"llvm","num-cores":1,"tag":""},[["TENSOR","float32",[128,128]],["TENSOR","float32",[128,128]]]]])"
            "\n";
    }
    return text;
}

/// Real records where there are some, repeated to some megabytes, else generated ones.
const log_text& input() {
    static const log_text log = [] {
        const std::string once = log_parse::data_file("meta-schedule/mlc_learning_x86/01_HEAD_tune_tmp__database_tuning_record.json.gz") +
                                 log_parse::data_file("meta-schedule/web_stable_diffusion_best_only/log_db__database_tuning_record.json.gz");
        if (once.empty()) return log_text{"generated", generated_log()};
        std::string text;
        for (int i = 0; i < 10; ++i) text += once;
        return log_text{"two databases, 10 times", text};
    }();
    return log;
}

extraction by_augur() {
    sink_type sink;
    log_parse::memory_source source{input().text};
    augur::meta_schedule_log_reader<sink_type> reader("log", std::nullopt, sink);
    if (!reader.read(source) || reader.summary().bad > 0) return {};
    return sink.seen;
}

#if __has_include(<nlohmann/json.hpp>)
extraction by_nlohmann() {
    extraction seen;
    log_parse::other_memory memory;
    std::string text;
    std::vector<const nlohmann::json*> decisions;
    for (std::string_view rest = input().text; !rest.empty();) {
        const std::size_t size = (std::min)(rest.find('\n'), rest.size());
        const auto line = nlohmann::json::parse(rest.substr(0, size), nullptr, false);
        rest.remove_prefix((std::min)(size + 1, rest.size()));
        if (line.is_discarded()) return {};
        const auto& record = line[1];
        benchmark::DoNotOptimize(memory.lookup_dump(memory.tasks, text, nlohmann::json{line[0], record[2], record[3]}));
        const auto& instructions = record[0][0];
        decisions.assign(instructions.size(), nullptr);
        for (const auto& decision : record[0][1]) decisions[decision[0].get<std::size_t>()] = &decision[1];
        memory.ids.clear();
        for (std::size_t i = 0; i < instructions.size(); ++i)
            memory.ids.push_back(decisions[i] == nullptr ? memory.lookup_dump(memory.steps, text, instructions[i])
                                                         : memory.lookup_dump(memory.steps, text, nlohmann::json{instructions[i], *decisions[i]}));
        memory.costs = record[1].get<std::vector<double>>();
        seen.add(memory.ids.size(), log_parse::mean(memory.costs), *std::max_element(memory.costs.begin(), memory.costs.end()) >= 1e10);
    }
    return seen;
}
#endif

} // namespace

static void parse_meta_schedule(benchmark::State& state) { log_parse::report(state, input(), by_augur(), by_augur); }
BENCHMARK(parse_meta_schedule)->Name("io/meta_schedule/parse");

#if __has_include(<nlohmann/json.hpp>)
static void parse_meta_schedule_nlohmann(benchmark::State& state) { log_parse::report(state, input(), by_augur(), by_nlohmann); }
BENCHMARK(parse_meta_schedule_nlohmann)->Name("io/meta_schedule/parse_nlohmann");
#endif
