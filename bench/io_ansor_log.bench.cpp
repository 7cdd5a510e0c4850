// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records of Ansor logs read per second and core: task, target, hardware, ids of the steps, mean cost and error number of each line.
// The other readers get the same lines and look tasks and steps up in the same cache by their text; they check less of each line than augur does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/io/ansor_log.hpp>
#include <augur/schedule/steps_json.hpp>
#include <benchmark/benchmark.h>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#ifdef AUGUR_TEST_SIMDJSON
#include <simdjson.h>
#endif

namespace {

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

struct log_text {
    std::string name, text;
};
/// A real log where there is one ($AUGUR_DATA, or beside the checkout), else a generated one.
const log_text& input() {
    static const log_text log = [] {
        const char* const named = std::getenv("AUGUR_DATA");
        const std::filesystem::path data = named != nullptr ? named : std::filesystem::path(AUGUR_TEST_DIR) / "../../shared/data";
        const auto path = data / "ansor-x86-24core/resnet_50.jsonl.gz";
        std::string text;
        if (auto source = augur::byte_source::open(path.string())) {
            std::vector<char> block(1U << 20U);
            for (auto got = source->read(block.data(), block.size()); got && *got > 0; got = source->read(block.data(), block.size()))
                text.append(block.data(), *got);
        }
        return text.empty() ? log_text{"generated", generated_log()} : log_text{"resnet_50 of ansor-x86-24core", text};
    }();
    return log;
}

/// What is taken from the log, in a form that two readers can be compared by.
struct extraction {
    std::uint64_t records = 0, steps = 0, errors = 0;
    double costs = 0;
    void add(std::uint64_t n_steps, double mean, bool failed) {
        ++records;
        steps += n_steps;
        errors += failed ? 1 : 0;
        costs += failed ? 0 : mean;
    }
};

/// Bytes in memory as a source.
struct memory_source {
    std::string_view rest;
    augur::result<std::size_t> read(char* into, std::size_t most) {
        const auto n = (std::min)(most, rest.size());
        std::memcpy(into, rest.data(), n);
        rest.remove_prefix(n);
        return n;
    }
};

double mean(const std::vector<double>& costs) {
    double sum = 0;
    for (const double c : costs) sum += c;
    return sum / static_cast<double>(costs.size());
}

struct counting_sink {
    extraction seen;
    std::uint32_t tasks = 0, kinds = 0;
    std::uint32_t task(const augur::logged_task&) { return tasks++; }
    std::uint32_t step(const augur::step_list&) { return kinds++; }
    augur::result<void> add(const augur::record_view& trial) {
        seen.add(trial.steps.size(), trial.measured.ok() ? mean(trial.measured.seconds) : 0, !trial.measured.ok());
        benchmark::DoNotOptimize(trial.steps.data());
        return {};
    }
};

extraction by_augur() {
    counting_sink sink;
    memory_source source{input().text};
    augur::ansor_log_reader<counting_sink> reader("log", sink);
    if (!reader.read(source) || reader.summary().bad > 0) return {};
    return sink.seen;
}

void report(benchmark::State& state, extraction (*read)()) {
    const extraction expected = by_augur();
    for (auto _ : state) {
        const extraction seen = read();
        if (seen.records != expected.records || seen.steps != expected.steps || seen.errors != expected.errors || seen.costs != expected.costs)
            return state.SkipWithError("the readers do not agree");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(expected.records)); // items_per_second = records/s
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input().text.size()));
    state.SetLabel(input().name);
}

/// What the other readers keep: tasks and steps by their text, in the cache that augur uses itself.
struct other_memory {
    augur::detail::text_cache tasks, steps;
    std::uint32_t next = 0;
    std::vector<std::uint32_t> ids;
    std::vector<double> costs;
    std::uint32_t lookup(augur::detail::text_cache& cache, std::string_view text) {
        const auto hash = augur::detail::hash_words(text);
        auto id = cache.find(hash, text);
        if (id == augur::detail::text_cache::none) cache.insert(hash, text, id = next++);
        return id;
    }
};

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
        const auto keep = [&](augur::detail::text_cache& cache, const nlohmann::json& value) {
            text = value.dump();
            const std::size_t length = text.size();
            text.append(16, ' ');
            return memory.lookup(cache, std::string_view(text).substr(0, length));
        };
        benchmark::DoNotOptimize(keep(memory.tasks, line["i"][0]));
        memory.ids.clear();
        for (const auto& step : line["i"][1][1]) memory.ids.push_back(keep(memory.steps, step));
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
