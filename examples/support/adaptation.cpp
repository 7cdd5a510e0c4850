// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adaptation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include <augur/core/random_engine.hpp>

#include "statistics.hpp"

namespace examples {

namespace metatune = augur::metatune;

namespace {

metatune::task_samples part_of(const metatune::task_samples& all, std::span<const std::size_t> which) {
    metatune::task_samples out;
    for (const std::size_t i : which) {
        out.candidates.push_back(all.candidates[i]);
        out.seconds.push_back(all.seconds[i]);
    }
    return out;
}

} // namespace

std::pair<metatune::task_samples, metatune::task_samples> draw_points(const metatune::task_samples& all, std::size_t points, std::uint64_t seed) {
    std::vector<std::size_t> order(all.candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    augur::random_engine rng(seed);
    rng.shuffle(std::span(order));
    return {part_of(all, std::span(order).first(points)), part_of(all, std::span(order).subspan(points))};
}

std::vector<double> predict_speeds(const metatune::network<float>& net, const metatune::task_samples& samples) {
    constexpr std::size_t most = 128;
    metatune::candidate_graphs graphs(net.config);
    metatune::network_activation<float> kept;
    std::vector<double> out;
    for (std::size_t first = 0; first < samples.candidates.size(); first += most) {
        graphs.clear();
        for (std::size_t i = first; i < (std::min)(first + most, samples.candidates.size()); ++i)
            (void)graphs.add(samples.candidates[i]); // checked when it was read
        augur::nn::matrix<float> y(graphs.size(), net.config.outputs);
        net.forward(graphs, kept, y);
        for (augur::nn::index i = 0; i < y.rows(); ++i) { // a failure has the speed 0, so what is expected is speed times the chance to be valid
            const double speed = y(i, 0), chance = y.cols() == 2 ? 1 / (1 + std::exp(-static_cast<double>(y(i, 1)))) : 1;
            out.push_back(speed * chance);
        }
    }
    return out;
}

adaptation_scores judge_speeds(std::vector<double> speeds, double unit, const metatune::task_samples& query, double least) {
    std::vector<double> measured, errors;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        speeds[i] *= unit;
        measured.push_back(least / query.seconds[i]);
        errors.push_back(std::pow(speeds[i] - measured[i], 2));
    }
    std::vector<std::size_t> order(speeds.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return measured[a] != measured[b] ? measured[a] > measured[b] : a < b; });
    order.resize((order.size() + 3) / 4);
    adaptation_scores out;
    for (const double e : errors) out.mse += e / static_cast<double>(errors.size());
    for (const std::size_t i : order) out.mse_fast += errors[i] / static_cast<double>(order.size());
    out.spearman = spearman(speeds, measured);
    return out;
}

augur::result<adaptation_scores> adapt_and_judge(metatune::network<float> net, const metatune::task_samples& all, double least, std::size_t points,
                                                 std::uint64_t seed, const metatune::fine_tuning_options& options) {
    const auto [support, query] = draw_points(all, points, seed);
    if (auto tuned = metatune::fine_tune(net, support, options); !tuned) return tuned.error();
    const double best = support.least(); // the model knows only the best point measured
    return judge_speeds(predict_speeds(net, query), std::isfinite(best) ? least / best : 1, query, least);
}

} // namespace examples
