// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tlp/score/lstm/f32: candidates a second of the paper's LSTM on real rounds. Features, rows and network, as a search calls it.
//
// of_fma is the dense network's multiply-adds (every row encoded, every state computed) a second, over the peak (limit/fma_f32) at the same moment.
#include <augur/tlp/scorer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "limits.hpp"
#include "tlp_rounds.hpp"

namespace {

/// Floating-point operations of the dense network for one schedule of n rows.
double dense_flop(const augur::tlp::config& c, double n) {
    double a_row = 0, behind = 0;
    auto in = c.columns;
    for (const auto w : c.encoder) a_row += static_cast<double>(std::exchange(in, w) * w);
    const auto d = static_cast<double>(in);
    a_row += 2 * d * 4 * d;
    behind += static_cast<double>(c.residual_blocks) * d * d;
    for (const auto w : c.decoder) behind += static_cast<double>(std::exchange(in, w) * w);
    return 2 * (n * a_row + behind + static_cast<double>(in));
}

void tlp_score_lstm(benchmark::State& state, bool faithful) {
    auto config = faithful ? augur::tlp::config::authors_lstm(0) : augur::tlp::config::full(0);
    config.backbone = augur::tlp::backbone::lstm;
    auto model = augur::tlp::trained_model::random_init(faithful ? augur::tlp::schema::authors_cpu() : augur::tlp::schema::ansor(), config,
                                                        augur::random_engine(1));
    if (!model) std::abort();
    model->schema.unknown = augur::tlp::unknown_word::zeros; // our sampler speaks more words than the authors' logs
    std::vector<std::vector<augur::step_list>> rounds;
    for (const auto& k : tlp_rounds::convolutions()) rounds.push_back(tlp_rounds::round_of(k, 2048));
    augur::serial_executor serial;
    auto scorer = model->scorer(serial);
    std::vector<float> scores;
    std::vector<double> flop(rounds.size(), 0.0);
    limits::share_of_peak share;
    for (std::size_t r = 0; r < rounds.size(); ++r)
        for (const auto& s : rounds[r]) {
            const std::size_t rows = model->schema.pad ? model->schema.rows : (std::min)(s.steps.size(), model->schema.rows);
            flop[r] += dense_flop(model->model.config, static_cast<double>(rows));
        }
    for (auto _ : state) {
        double logs = 0;
        for (std::size_t r = 0; r < rounds.size(); ++r) {
            scores.resize(rounds[r].size());
            share.begin();
            const double start = limits::thread_seconds();
            if (!scorer.score(tlp_rounds::any_task{}, std::span<const augur::step_list>(rounds[r]), std::span<float>(scores))) std::abort();
            const double took = limits::thread_seconds() - start;
            share.end(flop[r], took);
            logs += std::log(took / static_cast<double>(rounds[r].size()));
        }
        state.SetIterationTime(std::exp(logs / static_cast<double>(rounds.size())) * 1e3); // of 1000 candidates, geometric mean over the kernels
    }
    state.SetItemsProcessed(state.iterations() * 1000);
    state.counters["of_fma"] = share.value();
}

} // namespace

BENCHMARK_CAPTURE(tlp_score_lstm, default, false)->Name("tlp/score/lstm/f32")->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tlp_score_lstm, faithful, true)->Name("tlp/faithful/lstm/f32")->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
