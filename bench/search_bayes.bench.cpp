// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bayesian optimisation beside Eigen's factorisation of the same kernel matrix, which is what no Gaussian process does without.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <variant>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/bayesian_search.hpp>
#include <augur/search/bayes/fit.hpp>
#include <augur/search/bayes/gaussian_process.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/autotvm_space.hpp>
#include <augur/space/walk.hpp>

namespace {

constexpr Eigen::Index points = 1000, dimensions = 10;

struct problem {
    Eigen::MatrixXd x{dimensions, points};
    Eigen::VectorXd y{points};
    augur::gp_hyperparameters h{Eigen::VectorXd::Constant(dimensions, 1.0), 1, 1e-2, 0};
    problem() {
        augur::random_engine rng(1);
        for (double& v : x.reshaped()) v = rng.uniform();
        for (Eigen::Index i = 0; i < points; ++i) y[i] = x.col(i).squaredNorm() - 3 + 0.1 * rng.uniform();
    }
};

void llt(benchmark::State& state) {
    const problem p;
    const Eigen::MatrixXd scaled = augur::detail::scaled_points(p.x, p.h.lengthscales);
    Eigen::MatrixXd k = augur::detail::cross_covariance(scaled, scaled, p.h.signal_variance);
    k.diagonal().array() += p.h.noise_variance;
    Eigen::LLT<Eigen::MatrixXd> factor(points);
    for (auto _ : state) benchmark::DoNotOptimize(factor.compute(k).info());
}
BENCHMARK(llt)->Name("gp/llt/n1000")->Unit(benchmark::kMillisecond);

void likelihood(benchmark::State& state) {
    const problem p;
    augur::gp_likelihood of(p.x, p.y);
    Eigen::VectorXd gradient;
    for (auto _ : state) benchmark::DoNotOptimize(of(p.h, &gradient));
}
BENCHMARK(likelihood)->Name("gp/likelihood/n1000")->Unit(benchmark::kMillisecond);

// AutoTVM's space of a 3x3 convolution of VGG-16 (MetaTune, table 1): 451 584 000 points.
augur::autotvm_space convolution() {
    using augur::autotvm_split_knob;
    using values = std::vector<std::vector<augur::autotvm_value>>;
    const auto numbers = [](std::initializer_list<std::int64_t> all) {
        values out;
        for (const auto n : all) out.push_back({n});
        return out;
    };
    auto space = augur::autotvm_space::make({autotvm_split_knob("tile_f", 128, 4),
                                             autotvm_split_knob("tile_y", 112, 4),
                                             autotvm_split_knob("tile_x", 112, 4),
                                             autotvm_split_knob("tile_rc", 128, 2),
                                             autotvm_split_knob("tile_ry", 3, 2),
                                             autotvm_split_knob("tile_rx", 3, 2),
                                             {"auto_unroll_max_step", augur::autotvm_knob_kind::other, numbers({0, 512, 1500})},
                                             {"unroll_explicit", augur::autotvm_knob_kind::other, numbers({0, 1})}});
    return *std::move(space);
}

// Seconds, made up: each length of a split should be 4, with noise.
double latency_of(const augur::autotvm_space& space, const augur::decision_vector& p, double noise) {
    double sum = 0.1 * noise + 0.1 * static_cast<double>(p[6]);
    for (std::size_t k = 0; k < 6; ++k)
        for (const auto& length : space.knobs()[k].options[p[k]])
            if (const auto* n = std::get_if<std::int64_t>(&length); n != nullptr && *n > 0)
                sum += 0.05 * std::pow(std::log2(static_cast<double>(*n)) - 2, 2);
    return std::exp(sum);
}

// A whole proposal: candidates, their words, hyper-parameters, posterior, batch. With failures: the chance to be valid as well.
void propose(benchmark::State& state, augur::acquisition by, bool failures) {
    const auto space = convolution();
    augur::random_engine rng(1);
    std::vector<augur::measured_decisions> known;
    for (Eigen::Index i = 0; i < points; ++i) {
        auto p = augur::sample_path(space, rng).values;
        const double latency = latency_of(space, p, rng.uniform());
        known.push_back({std::move(p), failures && i % 5 == 0 ? INFINITY : latency});
    }
    augur::bayesian_options options;
    options.by = by;
    options.candidates = 12000; // some mutants come twice: about 10000 are distinct
    augur::constant_scorer scorer;
    augur::bayesian_report report;
    for (auto _ : state) {
        augur::bayesian_search<> search(options);
        search.observe(known);
        auto own = rng;
        benchmark::DoNotOptimize(search.propose(space, scorer, 64, own));
        report = search.report();
    }
    state.counters["points"] = static_cast<double>(report.points + report.failures);
    state.counters["candidates"] = static_cast<double>(report.candidates);
    state.counters["dimensions"] = static_cast<double>(report.dimensions);
}
BENCHMARK_CAPTURE(propose, log_ei, augur::acquisition::log_expected_improvement, false)
    ->Name("bo/propose/n1000_c10000_q64")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(propose, log_ei_failures, augur::acquisition::log_expected_improvement, true)
    ->Name("bo/propose/n1000_c10000_q64/failures")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(propose, bound, augur::acquisition::upper_confidence_bound, false)
    ->Name("bo/propose/n1000_c10000_q64/upper_confidence_bound")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(propose, samples, augur::acquisition::monte_carlo_improvement, false)
    ->Name("bo/propose/n1000_c10000_q64/monte_carlo_improvement")
    ->Unit(benchmark::kMillisecond);

} // namespace
