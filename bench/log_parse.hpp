// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_BENCH_LOG_PARSE_HPP
#define AUGUR_BENCH_LOG_PARSE_HPP

// What the benchmarks of log readers share: real logs, what is taken from a log, what other readers keep.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/io/detail/text_cache.hpp>
#include <augur/io/trial_sink.hpp>
#include <benchmark/benchmark.h>

namespace log_parse {

struct log_text {
    std::string name, text;
};
/// A file of the data folder ($AUGUR_DATA, or beside the checkout), unpacked; empty where there is none.
inline std::string data_file(const char* name) {
    const char* const named = std::getenv("AUGUR_DATA");
    const std::filesystem::path data = named != nullptr ? named : std::filesystem::path(AUGUR_TEST_DIR) / "../../shared/data";
    std::string text;
    if (auto source = augur::byte_source::open((data / name).string())) {
        std::vector<char> block(1U << 20U);
        for (auto got = source->read(block.data(), block.size()); got && *got > 0; got = source->read(block.data(), block.size()))
            text.append(block.data(), *got);
    }
    return text;
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

inline double mean(const std::vector<double>& costs) {
    double sum = 0;
    for (const double c : costs) sum += c;
    return sum / static_cast<double>(costs.size());
}

/// Counts the trials that a reader gives.
template <class S>
struct counting_sink {
    extraction seen;
    std::uint32_t tasks = 0, kinds = 0;
    std::uint32_t task(const augur::logged_task&) { return tasks++; }
    std::uint32_t step(const S&) { return kinds++; }
    augur::result<void> add(const augur::record_view& trial) {
        seen.add(trial.steps.size(), trial.measured.ok() ? mean(trial.measured.seconds) : 0, !trial.measured.ok());
        benchmark::DoNotOptimize(trial.steps.data());
        return {};
    }
};

/// Runs `read` and checks that it takes from the log what `expected` has.
inline void report(benchmark::State& state, const log_text& input, const extraction& expected, extraction (*read)()) {
    for (auto _ : state) {
        const extraction seen = read();
        if (seen.records != expected.records || seen.steps != expected.steps || seen.errors != expected.errors || seen.costs != expected.costs)
            return state.SkipWithError("the readers do not agree");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(expected.records)); // items_per_second = records/s
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input.text.size()));
    state.SetLabel(input.name);
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
    /// As above, for a value of another JSON library; `scratch` holds its text.
    template <class Json>
    std::uint32_t lookup_dump(augur::detail::text_cache& cache, std::string& scratch, const Json& value) {
        scratch = value.dump();
        const std::size_t length = scratch.size();
        scratch.append(16, ' '); // the cache reads beyond the text
        return lookup(cache, std::string_view(scratch).substr(0, length));
    }
};

} // namespace log_parse

#endif
