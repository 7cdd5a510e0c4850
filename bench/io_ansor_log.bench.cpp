// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records of Ansor logs read per second and core: task, target, hardware, ids of the steps, mean cost and error number of each line.
// The other readers get the same lines and look tasks and steps up in the same cache by their text; they check less of each line than augur does.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/io/ansor_log.hpp>
#include <augur/schedule/steps_json.hpp>
#include <benchmark/benchmark.h>

#include "log_parse.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#ifdef AUGUR_TEST_SIMDJSON
#include <simdjson.h>
#endif

namespace {

using log_parse::counting_sink, log_parse::extraction, log_parse::log_text, log_parse::mean, log_parse::memory_source, log_parse::other_memory;

/// A tuning log as Ansor writes it, twenty tasks in rounds of 64 trials: tile sizes are drawn, the rest of a schedule belongs to its sketch.
std::string generated_log() {
    auto rng = augur::random_engine(1);
    std::string text;
    augur::ansor_line line;
    line.task.target = "llvm -keys=cpu -mcpu=core-avx2";
    line.task.hardware = {8, 64, 64, 0, 0, 0, 0, 0};
    line.task.layout_rewrite = 2;
    for (int trial = 0; trial < 20'000; ++trial) {
        const std::int64_t task = trial / 64 % 20;
        line.task.workload_key = "[\"f4380bb1dc62422a69ad4a1a9771f9" + std::to_string(10 + task) + "\", [1, 28, 28, 512], [1, 1, 512, 1024]]";
        line.schedule.steps = {augur::cache_write_step{3, "local"}};
        constexpr std::int64_t extents[] = {1, 28, 28, 1024, 1, 1, 512};
        for (std::int64_t i = 0; i < 7; ++i) {
            std::vector<std::int64_t> lengths;
            for (int part = 0; part < (i < 4 ? 3 : 1); ++part) lengths.push_back(std::int64_t{1} << rng.below(extents[i] > 1 ? 6 : 1));
            line.schedule.steps.emplace_back(augur::split_step{3, i < 4 ? 4 * i : 8 + 2 * i, extents[i] + (i > 0 ? task : 0), lengths, true});
        }
        line.schedule.steps.emplace_back(augur::reorder_step{3, {0, 4, 8, 12, 1, 5, 9, 13, 16, 18, 20, 2, 6, 10, 14, 17, 19, 21, 3, 7, 11, 15}});
        for (std::int64_t i = 0; i < 4; ++i) line.schedule.steps.emplace_back(augur::follow_split_step{4, 3 * i, 1 + i, 2});
        line.schedule.steps.emplace_back(augur::reorder_step{4, {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}});
        line.schedule.steps.emplace_back(augur::compute_at_step{3, 4, 7});
        line.schedule.steps.emplace_back(augur::compute_inline_step{1});
        line.schedule.steps.emplace_back(augur::fuse_step{4, {0, 1, 2, 3, 4, 5, 6, 7}});
        line.schedule.steps.emplace_back(augur::annotate_step{4, 0, augur::loop_annotation::parallel});
        line.schedule.steps.emplace_back(augur::pragma_step{3, 0, "auto_unroll_max_step$" + std::to_string(std::int64_t{16} << (2 * rng.below(3)))});
        line.schedule.steps.emplace_back(augur::annotate_step{3, 21, augur::loop_annotation::vectorize});
        line.error = rng.below(20) == 0 ? 4 : 0;
        line.costs.assign(line.error == 0 ? 10 : 1, augur::ansor_failed_cost);
        const double typical = 1e-4 * (1 + static_cast<double>(rng.below(1000)));
        if (line.error == 0)
            for (double& cost : line.costs) cost = typical * (1 + 1e-5 * static_cast<double>(rng.below(5000)));
        line.all_cost = typical * 700;
        line.timestamp = 1'700'000'000 + trial;
        augur::append_ansor_line(text, line);
        text += '\n';
    }
    return text;
}

/// A real log where there is one, else a generated one.
const log_text& input() {
    static const log_text log = [] {
        std::string text = log_parse::data_file("ansor-x86-24core/resnet_50.jsonl.gz");
        return text.empty() ? log_text{"generated", generated_log()} : log_text{"resnet_50 of ansor-x86-24core", text};
    }();
    return log;
}

extraction by_augur() {
    counting_sink<augur::step_list> sink;
    memory_source source{input().text};
    augur::ansor_log_reader<counting_sink<augur::step_list>> reader("log", sink);
    if (!reader.read(source) || reader.summary().bad > 0) return {};
    return sink.seen;
}

void report(benchmark::State& state, extraction (*read)()) { log_parse::report(state, input(), by_augur(), read); }

#ifdef AUGUR_TEST_SIMDJSON
/// False when the line is not what it should be.
template <class Document>
bool take_simdjson(Document&& document, other_memory& memory, extraction& seen) {
    namespace od = simdjson::ondemand;
    od::array parts, state, steps, task, measured, costs;
    std::string_view text;
    if (document["i"].get_array().get(parts) != simdjson::SUCCESS) return false;
    auto part = parts.begin();
    if ((*part).get_array().get(task) != simdjson::SUCCESS || task.raw_json().get(text) != simdjson::SUCCESS) return false;
    benchmark::DoNotOptimize(memory.lookup(memory.tasks, text)); // key, target and hardware hang on it
    if ((*++part).get_array().get(state) != simdjson::SUCCESS) return false;
    auto inner = state.begin();
    if ((*++inner).get_array().get(steps) != simdjson::SUCCESS) return false;
    memory.ids.clear();
    for (auto step : steps) {
        od::array one;
        if (step.get_array().get(one) != simdjson::SUCCESS || one.raw_json().get(text) != simdjson::SUCCESS) return false;
        memory.ids.push_back(memory.lookup(memory.steps, text));
    }
    benchmark::DoNotOptimize(memory.ids.data());
    if (document["r"].get_array().get(measured) != simdjson::SUCCESS) return false;
    auto field = measured.begin();
    if ((*field).get_array().get(costs) != simdjson::SUCCESS) return false;
    memory.costs.clear();
    for (auto cost : costs)
        if (cost.get_double().get(memory.costs.emplace_back()) != simdjson::SUCCESS) return false;
    std::int64_t error = 0;
    if ((*++field).get_int64().get(error) != simdjson::SUCCESS) return false;
    seen.add(memory.ids.size(), mean(memory.costs), error != 0);
    return true;
}

extraction by_simdjson() {
    extraction seen;
    other_memory memory;
    simdjson::ondemand::parser parser;
    static const simdjson::padded_string padded(input().text);
    simdjson::ondemand::document_stream lines;
    if (parser.iterate_many(padded, std::size_t{1} << 20U).get(lines) != simdjson::SUCCESS) return {};
    for (auto line : lines)
        if (!take_simdjson(line, memory, seen)) return {};
    return seen;
}

extraction by_simdjson_lines() {
    extraction seen;
    other_memory memory;
    simdjson::ondemand::parser parser;
    static const simdjson::padded_string padded(input().text);
    const char* at = padded.data();
    const char* const end = at + padded.size();
    while (at < end) {
        const auto* const newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        const auto size = static_cast<std::size_t>((newline != nullptr ? newline : end) - at);
        simdjson::ondemand::document line;
        if (parser.iterate(simdjson::padded_string_view(at, size, size + simdjson::SIMDJSON_PADDING)).get(line) != simdjson::SUCCESS) return {};
        if (!take_simdjson(line, memory, seen)) return {};
        at += size + 1;
    }
    return seen;
}
#endif

#if __has_include(<nlohmann/json.hpp>)
extraction by_nlohmann() {
    extraction seen;
    other_memory memory;
    std::string text;
    for (std::string_view rest = input().text; !rest.empty();) {
        const std::size_t size = (std::min)(rest.find('\n'), rest.size());
        const auto line = nlohmann::json::parse(rest.substr(0, size), nullptr, false);
        rest.remove_prefix((std::min)(size + 1, rest.size()));
        if (line.is_discarded()) return {};
        benchmark::DoNotOptimize(memory.lookup_dump(memory.tasks, text, line["i"][0]));
        memory.ids.clear();
        for (const auto& step : line["i"][1][1]) memory.ids.push_back(memory.lookup_dump(memory.steps, text, step));
        memory.costs = line["r"][0].get<std::vector<double>>();
        seen.add(memory.ids.size(), mean(memory.costs), line["r"][1].get<std::int64_t>() != 0);
    }
    return seen;
}
#endif

} // namespace

static void parse(benchmark::State& state) { report(state, by_augur); }
BENCHMARK(parse)->Name("io/ansor_log/parse");

#ifdef AUGUR_TEST_SIMDJSON
static void parse_simdjson(benchmark::State& state) { report(state, by_simdjson); }
BENCHMARK(parse_simdjson)->Name("io/ansor_log/parse_simdjson");
static void parse_simdjson_lines(benchmark::State& state) { report(state, by_simdjson_lines); }
BENCHMARK(parse_simdjson_lines)->Name("io/ansor_log/parse_simdjson_lines");
#endif

#if __has_include(<nlohmann/json.hpp>)
static void parse_nlohmann(benchmark::State& state) { report(state, by_nlohmann); }
BENCHMARK(parse_nlohmann)->Name("io/ansor_log/parse_nlohmann");
#endif
