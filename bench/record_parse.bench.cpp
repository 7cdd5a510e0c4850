// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Log lines read and written per second on one core: whole records by augur, and what general JSON readers need for the same bytes.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/record/ansor_line.hpp>
#include <augur/record/record.hpp>
#include <benchmark/benchmark.h>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#ifdef AUGUR_TEST_SIMDJSON
#include <simdjson.h>
#endif

namespace {

/// Lines like those of a tuned convolution: 20 steps, 10 costs, about 1 KiB.
const std::vector<std::string>& lines() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> made;
        for (int i = 0; i < 1000; ++i)
            made.push_back(
                R"({"i": [["[\"f4380bb1dc62422a69ad4a1a9771f927\", 1, 28, 28, 512, 1, 1, 512, 1024, 1, 14, 14, 1024]", "llvm -keys=cpu -mcpu=core-avx2", )"
                R"([8, 64, 64, 0, 0, 0, 0, 0], "", 2, []], [[], [["CHW", 3, "local"], ["SP", 3, 0, 1, [1, 1, 1], 1], ["SP", 3, 4, 14, [7, 2, 1], 1], )"
                R"(["SP", 3, 8, 14, [14, 1, 1], 1], ["SP", 3, 12, )" +
                std::to_string(1000 + i) +
                R"(, [2, 2, 16], 1], ["SP", 3, 16, 1, [1], 1], ["SP", 3, 18, 1, [1], 1], ["SP", 3, 20, 512, [4], 1], )"
                R"(["RE", 3, [0, 4, 8, 12, 1, 5, 9, 13, 16, 18, 20, 2, 6, 10, 14, 17, 19, 21, 3, 7, 11, 15]], ["FSP", 4, 0, 1, 2], ["FSP", 4, 3, 2, 2], )"
                R"(["FSP", 4, 6, 3, 2], ["FSP", 4, 9, 4, 2], ["RE", 4, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]], ["CA", 3, 4, 7], ["CI", 1], )"
                R"(["FU", 4, [0, 1, 2, 3, 4, 5, 6, 7]], ["AN", 4, 0, 3], ["PR", 3, 0, "auto_unroll_max_step$16"], ["AN", 3, 21, 2]]]], )"
                R"("r": [[0.000238006, 0.000235502, 0.000239805, 0.000234637, 0.000235266, 0.000238355, 0.000240836, 0.000232856, 0.000231219, 0.000238776], )"
                R"(0, 0.219506, 1606961782], "v": "v0.5"})");
        return made;
    }();
    return all;
}

template <class F>
void over_lines(benchmark::State& state, F&& f) {
    std::int64_t bytes = 0;
    std::size_t i = 0;
    const auto& all = lines();
    for (auto _ : state) {
        const std::string& line = all[i++ % all.size()];
        if (!f(line)) state.SkipWithError("a line was refused");
        bytes += static_cast<std::int64_t>(line.size());
    }
    state.SetBytesProcessed(bytes);
    state.SetItemsProcessed(state.iterations()); // items_per_second = records/s
}

} // namespace

static void read_record(benchmark::State& state) {
    over_lines(state, [](const std::string& line) {
        augur::json_reader in(line);
        augur::ansor_line out;
        const bool good = augur::read_ansor_line(in, out) && in.finish();
        benchmark::DoNotOptimize(out);
        return good;
    });
}
BENCHMARK(read_record);

static void skip_text(benchmark::State& state) { // checked and passed over, nothing kept
    over_lines(state, [](const std::string& line) {
        augur::json_reader in(line);
        return in.skip() && in.finish();
    });
}
BENCHMARK(skip_text);

static void write_line(benchmark::State& state) {
    const auto parsed = augur::parse_ansor_line(lines()[0]);
    std::string text;
    std::int64_t bytes = 0;
    for (auto _ : state) {
        text.clear();
        augur::append_ansor_line(text, *parsed);
        benchmark::DoNotOptimize(text.data());
        bytes += static_cast<std::int64_t>(text.size());
    }
    state.SetBytesProcessed(bytes);
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(write_line);

static void checksum(benchmark::State& state) {
    over_lines(state, [](const std::string& line) {
        auto sum = augur::crc32(line);
        benchmark::DoNotOptimize(sum);
        return true;
    });
}
BENCHMARK(checksum);

#if __has_include(<nlohmann/json.hpp>)
static void nlohmann_dom(benchmark::State& state) {
    over_lines(state, [](const std::string& line) {
        auto dom = nlohmann::json::parse(line, nullptr, false);
        benchmark::DoNotOptimize(dom);
        return !dom.is_discarded();
    });
}
BENCHMARK(nlohmann_dom);
#endif

#ifdef AUGUR_TEST_SIMDJSON
static void simdjson_dom(benchmark::State& state) {
    simdjson::dom::parser parser;
    over_lines(state, [&](const std::string& line) { return parser.parse(line).error() == simdjson::SUCCESS; });
}
BENCHMARK(simdjson_dom);
#endif
