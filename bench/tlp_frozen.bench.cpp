// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tlp/score/*: candidates a second of the default model; tlp/faithful/*: of the paper's. Features, rows and network, as a search calls it.
//
// of_fma is the dense network's multiply-adds (no row shared) a second, over the peak (limit/fma_f32) at the same moment.
#include <augur/tlp/inference/frozen_model.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/tbb/executor.hpp>

#include "limits.hpp"
#include "tlp_rounds.hpp"

namespace {

/// Rows that no other candidate has.
struct unshared {
    std::uint64_t seed = 0;
    std::int64_t rows = 0;
    void visit(auto& sink) const {
        augur::random_engine rng(seed);
        for (std::int64_t r = 0; r < rows; ++r) {
            sink.primitive("SP");
            for (int i = 0; i < 9; ++i) sink.number(static_cast<std::int64_t>(rng.below(512)));
        }
    }
};

augur::tlp::trained_model model_of(bool faithful) {
    auto model =
        faithful ? augur::tlp::trained_model::random_init(augur::tlp::schema::authors_cpu(), augur::tlp::config::authors(0), augur::random_engine(1))
                 : augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(), augur::tlp::config::full(0), augur::random_engine(1));
    if (!model) std::abort();
    if (faithful) model->schema.unknown = augur::tlp::unknown_word::zeros; // our sampler speaks more words than the authors' logs
    return *std::move(model);
}

/// Floating-point operations of the dense network on n rows.
double dense_flop(const augur::tlp::config& c, double n) {
    double macs = 0;
    auto in = c.inputs();
    for (const auto w : c.encoder) {
        macs += static_cast<double>(in * w);
        in = w;
    }
    const auto d = static_cast<double>(in);
    macs += 3 * d * d + 2 * n * d + d * d + static_cast<double>(c.residual_blocks) * d * d;
    for (const auto w : c.decoder) {
        macs += static_cast<double>(in * w);
        in = w;
    }
    return 2 * n * (macs + static_cast<double>(in));
}

/// Operations of a batch: every row that the model reads.
template <class S>
double dense_flop(const augur::tlp::trained_model& model, const std::vector<S>& batch) {
    augur::tlp::row_ids rows(model.schema, 65536);
    std::vector<std::uint32_t> ids;
    std::vector<float> times;
    double sum = 0;
    for (const auto& s : batch) {
        ids.clear();
        times.clear();
        if (!rows.has_room()) rows.clear();
        if (!rows.add(s, ids, times)) std::abort();
        double n = 0;
        for (const float t : times) n += static_cast<double>(t);
        sum += dense_flop(model.model.config, n);
    }
    return sum;
}

const std::vector<std::vector<augur::step_list>>& rounds() {
    static const auto all = [] {
        std::vector<std::vector<augur::step_list>> r;
        for (const auto& k : tlp_rounds::convolutions()) r.push_back(tlp_rounds::round_of(k, 2048));
        return r;
    }();
    return all;
}

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Each batch by itself, its rows unknown before, or warm: known. The figure is the geometric mean over the batches.
template <class S>
void score(benchmark::State& state, bool faithful, augur::tlp::precision precision, const std::vector<std::vector<S>>& batches,
           std::size_t threads = 1, bool warm = false) {
    const auto model = model_of(faithful);
    augur::tlp::freeze_options options;
    options.precision = precision;
    const auto frozen = augur::tlp::freeze(model, options);
    if (!frozen) std::abort();
    if (frozen->precision() != precision) {
        state.SkipWithError("this processor has no bf16");
        return;
    }
    augur::tbb_executor many(threads);
    augur::serial_executor one;
    std::vector<double> flop;
    for (const auto& b : batches) flop.push_back(dense_flop(model, b));
    std::vector<float> scores;
    limits::share_of_peak share;
    double rates = 0;
    const auto run = [&](auto& executor) {
        auto scorer = frozen->scorer(executor);
        for (std::size_t b = 0; warm && b < batches.size(); ++b) {
            scores.resize(batches[b].size());
            if (!scorer.score(tlp_rounds::any_task{}, std::span<const S>(batches[b]), std::span<float>(scores))) std::abort();
        }
        for (auto _ : state) {
            double logs = 0;
            for (std::size_t b = 0; b < batches.size(); ++b) {
                scores.resize(batches[b].size());
                if (!warm) scorer.clear();
                share.begin();
                const double start = threads == 1 ? limits::thread_seconds() : wall_seconds();
                if (!scorer.score(tlp_rounds::any_task{}, std::span<const S>(batches[b]), std::span<float>(scores))) std::abort();
                const double took = (threads == 1 ? limits::thread_seconds() : wall_seconds()) - start;
                share.end(flop[b] / static_cast<double>(threads), took); // against the peak of one
                logs += std::log(took / static_cast<double>(batches[b].size()));
            }
            rates += std::exp(-logs / static_cast<double>(batches.size()));
        }
    };
    if (threads == 1) run(one);
    else run(many);
    state.counters["items_per_second"] = rates / static_cast<double>(state.iterations());
    state.counters["of_fma"] = share.value();
}

void dense(benchmark::State& state, bool faithful) {
    std::vector<std::vector<unshared>> batches(1);
    for (std::uint64_t i = 0; i < 2048; ++i) batches[0].push_back({i, 25});
    score(state, faithful, augur::tlp::precision::single, batches);
}
void batch1(benchmark::State& state, bool warm) {
    std::vector<std::vector<augur::step_list>> batches;
    for (const auto& r : rounds())
        for (std::size_t i = 0; i < 4; ++i) batches.push_back({r[i]});
    score(state, false, augur::tlp::precision::single, batches, 1, warm);
}

/// Parsed steps to ids of rows: what scoring needs of the features.
void features(benchmark::State& state) {
    const auto model = model_of(false);
    augur::tlp::row_ids rows(model.schema, 2048);
    std::vector<std::uint32_t> ids;
    std::vector<float> times;
    const auto& batch = rounds()[2];
    for (auto _ : state) {
        ids.clear();
        times.clear();
        for (const auto& s : batch)
            if (!rows.add(s, ids, times)) std::abort();
        benchmark::DoNotOptimize(ids.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch.size()));
}

constexpr auto f32 = augur::tlp::precision::single;
constexpr auto bf16 = augur::tlp::precision::bf16;

// one pass over all rounds is an iteration
[[maybe_unused]] const bool registered = [] {
    const auto add = [](const char* name, auto&& f) { benchmark::RegisterBenchmark(name, f)->Unit(benchmark::kMillisecond); };
    for (const bool faithful : {false, true}) {
        const std::string group = faithful ? "tlp/faithful/" : "tlp/score/";
        for (const auto precision : {f32, bf16}) {
            const std::string name = group + (precision == f32 ? "real/f32" : "real/bf16");
            add(name.c_str(), [=](benchmark::State& s) { score(s, faithful, precision, rounds()); });
            add((name + "/threads:2").c_str(), [=](benchmark::State& s) { score(s, faithful, precision, rounds(), 2); });
        }
        add((group + "dense/f32").c_str(), [=](benchmark::State& s) { dense(s, faithful); });
    }
    add("tlp/score/batch1/f32", [](benchmark::State& s) { batch1(s, false); });
    add("tlp/score/batch1_warm/f32", [](benchmark::State& s) { batch1(s, true); });
    benchmark::RegisterBenchmark("tlp/features/steps", features);
    return true;
}();

} // namespace
