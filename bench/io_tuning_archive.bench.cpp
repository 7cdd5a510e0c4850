// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Entries of a Kernel Tuner cache read per second and core: parameters, all repeats, costs, outcome. nlohmann_json makes the same records of its DOM.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#ifdef AUGUR_TEST_NLOHMANN
#include <nlohmann/json.hpp>
#endif

#include <augur/core/random_engine.hpp>
#include <augur/io/tuning_archive.hpp>

namespace {

/// Like a real cache: ten parameters, 32 repeats.
std::string generated_cache() {
    const std::vector<std::string> names{"block_size_x", "block_size_y", "tile_size_x", "tile_size_y",   "read_only",
                                         "use_padding",  "use_shmem",    "use_cmem",    "filter_height", "filter_width"};
    std::string text = R"({"device_name": "generated", "kernel_name": "convolution", "problem_size": [4096, 4096], "tune_params_keys": [)";
    for (const auto& name : names) text += (&name == names.data() ? "\"" : ", \"") + name + "\"";
    text += "],\n\"objective\": \"time\", \"cache\": {\n";
    augur::random_engine rng(1);
    for (int i = 0; i < 4000; ++i) {
        text += (i == 0 ? "\"" : ",\n\"") + std::to_string(i) + "\": {";
        for (const auto& name : names) text += "\"" + name + "\": " + std::to_string(rng.below(16)) + ", ";
        text += "\"time\": " + std::to_string(rng.uniform(1, 9)) + "0123456789, \"times\": [";
        for (int k = 0; k < 32; ++k) text += (k == 0 ? "" : ", ") + std::to_string(rng.uniform(1, 9)) + "0123456789";
        text += R"(], "compile_time": 918.5990339610726, "verification_time": 0, "benchmark_time": 126.3829180970788, "GFLOP/s": 1948.156995, )"
                R"("strategy_time": 0, "framework_time": 105.24242906831205, "timestamp": "2023-12-22 09:54:05.502007+00:00"})";
    }
    return text + "}\n}\n";
}

struct cache_text {
    std::string name, text;
};
/// A real cache where there is one ($AUGUR_DATA, or beside the checkout), else a generated one.
const cache_text& input() {
    static const cache_text cache = [] {
        const char* const named = std::getenv("AUGUR_DATA");
        const std::filesystem::path data = named != nullptr ? named : std::filesystem::path(AUGUR_TEST_DIR) / "../../shared/data";
        std::string text;
        if (auto source = augur::byte_source::open((data / "kernel-tuner/A100.json.gz").string())) {
            std::vector<char> block(1U << 20U);
            for (auto got = source->read(block.data(), block.size()); got && *got > 0; got = source->read(block.data(), block.size()))
                text.append(block.data(), *got);
        }
        return text.empty() ? cache_text{"generated", generated_cache()} : cache_text{"A100 of benchmark_hub", text};
    }();
    return cache;
}

std::vector<augur::measured_configuration> by_augur() {
    augur::tuning_archive out;
    if (!augur::parse_tuning_archive(input().text, "cache", out) || out.bad > 0) return {};
    return std::move(out.records);
}

#ifdef AUGUR_TEST_NLOHMANN
std::vector<augur::measured_configuration> by_nlohmann() {
    const auto json = nlohmann::json::parse(input().text); // the members of `ordered_json` are searched one by one
    const auto& names = json["tune_params_keys"];
    std::vector<augur::measured_configuration> out;
    for (const auto& entry : json["cache"].items()) {
        const auto& e = entry.value();
        auto& r = out.emplace_back();
        for (const auto& name : names) {
            const auto& text = name.get_ref<const std::string&>();
            r.point.parameters.push_back({text, e[text].get<std::int64_t>()});
        }
        auto& m = r.measured;
        m.status = augur::outcome::ok;
        if (const auto& time = e["time"]; time.is_string()) {
            m.reason = time.get<std::string>();
            m.status = augur::detail::outcome_of_failure(m.reason);
        } else {
            for (const auto& x : e["times"]) m.seconds.push_back(x.get<double>() / 1000);
        }
        m.compile_cpu_seconds = e["compile_time"].get<double>() / 1000;
        m.total_seconds = (e["compile_time"].get<double>() + e["verification_time"].get<double>() + e["benchmark_time"].get<double>()) / 1000;
        m.timestamp = augur::detail::parse_timestamp(e["timestamp"].get_ref<const std::string&>());
    }
    return out;
}
#endif

void parse(benchmark::State& state, std::vector<augur::measured_configuration> (*read)()) {
    const auto by_point = [](std::vector<augur::measured_configuration> records) { // nlohmann sorts members by name
        std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return to_string(a.point) < to_string(b.point); });
        return records;
    };
    const auto expected = by_point(by_augur()), seen = by_point(read());
    bool same = !expected.empty() && seen.size() == expected.size();
    for (std::size_t i = 0; same && i < seen.size(); ++i)
        same = seen[i].point == expected[i].point && seen[i].measured.seconds == expected[i].measured.seconds &&
               seen[i].measured.status == expected[i].measured.status && seen[i].measured.total_seconds == expected[i].measured.total_seconds &&
               seen[i].measured.timestamp == expected[i].measured.timestamp;
    if (!same) return state.SkipWithError("the readers do not agree");
    for (auto _ : state) {
        auto records = read();
        benchmark::DoNotOptimize(records.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(expected.size())); // items_per_second = entries/s
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input().text.size()));
    state.SetLabel(input().name);
}
BENCHMARK_CAPTURE(parse, augur, by_augur)->Name("io/kernel_tuner/parse/augur")->Unit(benchmark::kMillisecond);
#ifdef AUGUR_TEST_NLOHMANN
BENCHMARK_CAPTURE(parse, nlohmann, by_nlohmann)->Name("io/kernel_tuner/parse/nlohmann")->Unit(benchmark::kMillisecond);
#endif

} // namespace
