// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/train/loss.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;

namespace {
std::vector<double> list(const nlohmann::json& j) { return j.get<std::vector<double>>(); }
} // namespace

TEST_CASE("lambda_rank: independent double evaluation and the training code's float run") {
    nn::lambda_rank rank;
    const auto file = vectors::load("tlp_lambdarank.json"); // lives as long as the loop
    for (const auto& c : file["cases"]) {
        CAPTURE(c["case"].get<std::string>());
        const auto score = list(c["preds"]), label = list(c["labels"]), expected = list(c["grad"]);
        std::vector<double> gradient(score.size());
        const double loss = rank(std::span<const double>(score), std::span<const double>(label), std::span<double>(gradient));
        CHECK(loss == doctest::Approx(c["loss_double"].get<double>()).epsilon(1e-7));
        for (std::size_t i = 0; i < score.size(); ++i) CHECK(std::abs(gradient[i] - expected[i]) < 1e-5);
    }
}

TEST_CASE("lambda_rank: scores that are no numbers have a loss that is none, and no gradient") {
    nn::lambda_rank rank;
    const std::vector<double> label{0, 1, 0.5, 0.25};
    for (const double wrong : {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        const std::vector<double> score{1, wrong, 2, 0};
        std::vector<double> gradient(score.size(), 7);
        CHECK(std::isnan(rank(std::span<const double>(score), std::span<const double>(label), std::span<double>(gradient))));
        CHECK(gradient == std::vector<double>(4, 0));
    }
}

TEST_CASE("lambda_rank: PyTorch's gradients in double, clamps included") {
    const auto j = vectors::load("lambda_rank.json");
    nn::lambda_rank rank;
    for (const auto& c : j["clamped"]) {
        CAPTURE(c["list"].get<std::string>());
        const auto& from = j["lists"][c["list"].get<std::string>()];
        const auto score = list(from["scores"]), label = list(from["labels"]), expected = list(c["grad_log2"]);
        std::vector<double> gradient(score.size());
        const double loss = rank(std::span<const double>(score), std::span<const double>(label), std::span<double>(gradient));
        CHECK(loss == doctest::Approx(c["loss_log2"].get<double>()).epsilon(1e-12));
        for (std::size_t i = 0; i < score.size(); ++i) CHECK(std::abs(gradient[i] - expected[i]) < 1e-12);
        std::vector<float> narrow_score(score.begin(), score.end()), narrow_label(label.begin(), label.end()), narrow(score.size());
        CHECK(rank(std::span<const float>(narrow_score), std::span<const float>(narrow_label), std::span<float>(narrow)) ==
              doctest::Approx(loss).epsilon(1e-5));
    }
    for (const auto& c : j["cases"]) { // without the clamps the two are one, when no pair is further apart than 23
        if (c["scheme"] != "lambdarank" || !c["k"].is_null() || c["list"] == "n3_large_margin") continue;
        const auto& from = j["lists"][c["list"].get<std::string>()];
        const auto score = list(from["scores"]), label = list(from["labels"]);
        std::vector<double> gradient(score.size());
        CHECK(rank(std::span<const double>(score), std::span<const double>(label), std::span<double>(gradient)) ==
              doctest::Approx(c["loss_log2"].get<double>()).epsilon(1e-12));
    }
}

namespace {
/// The definition, pair by pair, in the wide type.
long double lambda_rank_twin(const std::vector<double>& score, const std::vector<double>& label, std::vector<long double>& gradient) {
    const std::size_t n = score.size();
    std::vector<std::size_t> rank(n, 1);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) rank[i] += score[j] > score[i] || (score[j] == score[i] && j < i) ? 1U : 0U;
    auto sorted = label;
    std::sort(sorted.rbegin(), sorted.rend());
    long double ideal = 0, loss = 0;
    for (std::size_t r = 0; r < n; ++r) ideal += (std::exp2(static_cast<long double>(sorted[r])) - 1) / std::log2(static_cast<long double>(r + 2));
    gradient.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            if (!(label[i] > label[j])) continue;
            const auto discount = [&](std::size_t k) { return 1 / std::log2(static_cast<long double>(1 + rank[k])); };
            const long double w = std::abs(discount(i) - discount(j)) *
                                  (std::exp2(static_cast<long double>(label[i])) - std::exp2(static_cast<long double>(label[j]))) / ideal;
            const long double x = static_cast<long double>(score[i]) - static_cast<long double>(score[j]), p = 1 / (1 + std::exp(-x));
            const long double power = std::pow(std::max(p, 1e-10L), w);
            loss -= std::log2(std::max(power, 1e-10L));
            if (p < 1e-10L || power < 1e-10L) continue;
            const long double pull = w / std::log(2.0L) / (1 + std::exp(x));
            gradient[i] -= pull;
            gradient[j] += pull;
        }
    return loss;
}
} // namespace

TEST_CASE("lambda_rank: every pair by its definition, scores near and far, ties, all instruction sets") {
    augur::random_engine rng(11);
    nn::lambda_rank rank;
    for (const double spread : {0.01, 3.0, 40.0, 5000.0})
        for (const std::size_t n : {1U, 2U, 7U, 8U, 9U, 131U}) {
            CAPTURE(spread);
            CAPTURE(n);
            std::vector<double> score(n), label(n), gradient(n);
            for (std::size_t i = 0; i < n; ++i) {
                score[i] = i > 0 && rng.below(8) == 0 ? score[rng.below(i)] : rng.uniform(-spread, spread);
                label[i] = i > 0 && rng.below(8) == 0 ? label[rng.below(i)] : rng.uniform();
            }
            std::vector<long double> expected;
            const auto loss = static_cast<double>(lambda_rank_twin(score, label, expected));
            const double got = rank(std::span<const double>(score), std::span<const double>(label), std::span<double>(gradient));
            CHECK(got == doctest::Approx(loss).epsilon(1e-12));
            for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(gradient[i] - static_cast<double>(expected[i])) < 1e-12);
        }
    constexpr std::ptrdiff_t n = 64;
    std::vector<double> score(n), power(n), gain(n), discount(n);
    for (std::size_t r = 0; r < n; ++r) {
        score[r] = 1 - static_cast<double>(r);
        power[r] = std::exp(score[r] - 1);
        gain[r] = rng.uniform();
        discount[r] = 1 / std::log2(static_cast<double>(r) + 2);
    }
    for (std::ptrdiff_t a = 0; a < n; ++a) {
        using nn::kernels::isa;
        std::vector<double> first(n), other(n);
        const nn::kernels::ranked_items items{score.data(), power.data(), gain.data(), discount.data()};
        const double loss = nn::kernels::lambda_pairs(items, a, n, first.data(), isa::generic);
        for (const isa level : {isa::avx2, isa::avx512}) {
            if (level > nn::kernels::best_isa()) continue;
            std::fill(other.begin(), other.end(), 0.0);
            CHECK(nn::kernels::lambda_pairs(items, a, n, other.data(), level) == doctest::Approx(loss).epsilon(1e-13));
            for (std::size_t b = 0; b < n; ++b) CHECK(std::abs(first[b] - other[b]) < 1e-14);
        }
    }
}

TEST_CASE("lambda_rank: equal scores are ranked by index; an empty list has no loss") {
    nn::lambda_rank rank;
    const std::vector<double> score{0, 0, 0}, label{0.2, 1, 0.5};
    std::vector<double> a(3), b(3);
    const double first = rank(std::span<const double>(score), std::span<const double>(label), std::span<double>(a));
    CHECK(first == rank(std::span<const double>(score), std::span<const double>(label), std::span<double>(b)));
    CHECK(a == b);
    CHECK(a[1] < 0); // the best candidate is to rise: the loss falls with its score
    CHECK(rank(std::span<const double>(), std::span<const double>(), std::span<double>()) == 0);
}

TEST_CASE("mse: mean and gradient") {
    const std::vector<double> score{1, 2}, label{0, 4};
    std::vector<double> gradient(2);
    CHECK(nn::mse(std::span<const double>(score), std::span<const double>(label), std::span<double>(gradient)) == doctest::Approx(2.5));
    CHECK(gradient == std::vector<double>{1, -2});
}

TEST_CASE("expected_regret: its value by the definition, its gradient by central differences") {
    augur::random_engine rng(3);
    for (const std::size_t n : {2U, 7U, 64U}) {
        std::vector<double> score(n), label(n), gradient(n), ignored(n);
        for (std::size_t i = 0; i < n; ++i) {
            score[i] = 6 * rng.uniform() - 3;
            label[i] = i % 5 == 4 ? 0 : std::exp2(-6 * rng.uniform()); // failures, and costs beyond the limit
        }
        const auto value = [&] {
            return nn::expected_regret(std::span<const double>(score), std::span<const double>(label), std::span<double>(ignored), 4.0);
        };
        const double best = *std::max_element(label.begin(), label.end());
        long double above = 0, below = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const long double e = std::exp(static_cast<long double>(score[i]));
            above += e * (label[i] > 0 ? std::min(4.0L, std::log2(static_cast<long double>(best / label[i]))) : 4.0L);
            below += e;
        }
        CHECK(nn::expected_regret(std::span<const double>(score), std::span<const double>(label), std::span<double>(gradient), 4.0) ==
              doctest::Approx(static_cast<double>(above / below)).epsilon(1e-12));
        for (std::size_t i = 0; i < n; ++i) {
            const double at = score[i], h = 1e-5;
            score[i] = at + h;
            const double up = value();
            score[i] = at - h;
            const double down = value();
            score[i] = at;
            CHECK(std::abs(gradient[i] - (up - down) / (2 * h)) < 1e-9);
        }
    }
}

TEST_CASE("expected_regret: sure of the best it is 0, sure of a failure the limit; scores may be large; nothing valid teaches nothing") {
    const std::vector<float> label{0.25F, 1, 0};
    std::vector<float> gradient(3);
    const auto of = [&](std::vector<float> score) {
        return nn::expected_regret(std::span<const float>(score), std::span<const float>(label), std::span<float>(gradient));
    };
    CHECK(of({-1e4F, 1e4F, -1e4F}) == 0);
    CHECK(of({-1e4F, -1e4F, 1e4F}) == 4);
    CHECK(of({1e4F, -1e4F, -1e4F}) == 2);
    CHECK(of({0, 0, 0}) == doctest::Approx(2));
    const std::vector<float> failed(3), score{1, 2, 3};
    CHECK(nn::expected_regret(std::span<const float>(score), std::span<const float>(failed), std::span<float>(gradient)) == 0);
    CHECK(gradient == std::vector<float>(3));
    CHECK(nn::expected_regret(std::span<const float>(), std::span<const float>(), std::span<float>()) == 0);
}

TEST_CASE("binary_cross_entropy: the definition, the derivative by central differences, large logits") {
    const std::vector<double> logit{-3, -0.5, 0, 0.7, 4}, label{0, 1, 0.25, 1, 0};
    std::vector<double> gradient(5), unused(5);
    const auto loss_at = [&](std::vector<double> x, std::vector<double>& slope) {
        return nn::binary_cross_entropy(std::span<const double>(x), std::span<const double>(label), std::span<double>(slope));
    };
    double expected = 0;
    for (std::size_t i = 0; i < 5; ++i) {
        const double p = 1 / (1 + std::exp(-logit[i]));
        expected -= (label[i] * std::log(p) + (1 - label[i]) * std::log(1 - p)) / 5;
    }
    CHECK(loss_at(logit, gradient) == doctest::Approx(expected).epsilon(1e-12));
    for (std::size_t i = 0; i < 5; ++i) {
        auto up = logit, down = logit;
        up[i] += 1e-5;
        down[i] -= 1e-5;
        CHECK(std::abs((loss_at(up, unused) - loss_at(down, unused)) / 2e-5 - gradient[i]) < 1e-9);
    }
    using dual = nn::dual<double>; // the tangent of the loss is the derivative, at 0 too
    for (const double x : {-1.0, 0.0, 1.0}) {
        const std::vector<dual> at{dual(x, 1)}, one{dual(0.25)};
        std::vector<dual> slopes(1);
        const dual loss = nn::binary_cross_entropy(std::span<const dual>(at), std::span<const dual>(one), std::span<dual>(slopes));
        CHECK(loss.tangent == doctest::Approx(slopes[0].value));
    }
    const std::vector<float> far{-1000, 1000}, wrong{1, 0};
    std::vector<float> slope(2);
    CHECK(nn::binary_cross_entropy(std::span<const float>(far), std::span<const float>(wrong), std::span<float>(slope)) == 1000);
    CHECK(slope == std::vector<float>{-0.5F, 0.5F});
    CHECK(nn::binary_cross_entropy(std::span<const float>(), std::span<const float>(), std::span<float>()) == 0);
}
