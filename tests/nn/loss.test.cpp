// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/loss.hpp>

#include <vector>

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
