// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bayesian optimisation beside Eigen's factorisation of the same kernel matrix, which is what no Gaussian process does without.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/bayesian_search.hpp>
#include <augur/search/bayes/fit.hpp>
#include <augur/search/bayes/gaussian_process.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/factorisation.hpp>
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

// Three tiled axes and an unroll depth: 10 dimensions, 10^8 points.
struct tiles {
    augur::factorisation axis{1024, 3};
    class cursor_type {
    public:
        explicit cursor_type(const tiles& of) : of_(&of) {}
        [[nodiscard]] std::optional<augur::decision> next() const {
            if (at_ == 4) return std::nullopt;
            return augur::decision{augur::decision_kind::tile_size, at_ < 3 ? of_->axis.count() : 6, 0, true};
        }
        void choose(std::uint64_t) { ++at_; }
        void describe(auto& sink) const {
            sink.primitive("tile");
            sink.number(at_);
        }
        [[nodiscard]] augur::decision_scale scale() const {
            if (at_ < 3) return {augur::decision_scale::kind::factorisation, 1024, 3, 1024};
            return {augur::decision_scale::kind::ordinal};
        }
        void words(std::uint64_t value, auto& sink) const {
            if (at_ == 3) return sink.number(value);
            std::int64_t lengths[3];
            of_->axis.lengths_of(value, lengths);
            for (const auto l : lengths) sink.number(l);
        }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item>) const { return std::nullopt; }

    private:
        const tiles* of_;
        std::uint64_t at_ = 0;
    };
    [[nodiscard]] cursor_type cursor() const { return cursor_type(*this); }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        cursor_type c(*this);
        for (const auto v : p) c.choose(v);
        return c.next();
    }
};

// A whole proposal: candidates, their words, hyper-parameters, posterior, batch. With failures: the chance to be valid as well.
void propose(benchmark::State& state, augur::acquisition by, bool failures) {
    const tiles space;
    augur::random_engine rng(1);
    std::vector<augur::measured_decisions> known;
    for (Eigen::Index i = 0; i < points; ++i) {
        auto p = augur::sample_path(space, rng).values;
        double sum = 0.1 * rng.uniform() + 0.1 * static_cast<double>(p[3]);
        for (std::size_t a = 0; a < 3; ++a) {
            std::int64_t lengths[3];
            space.axis.lengths_of(p[a], lengths);
            for (const auto l : lengths) sum += 0.05 * std::pow(std::log2(static_cast<double>(l)) - 2, 2);
        }
        known.push_back({std::move(p), failures && i % 5 == 0 ? INFINITY : std::exp(sum)});
    }
    augur::bayesian_options options;
    options.by = by;
    options.candidates = 10950; // some mutants come twice: 10000 are distinct
    augur::detail::constant_scorer scorer;
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
