// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/train/mtl_loss.hpp>

#include <augur/tlp/train/forward_backward.hpp>

#include <limits>

#include <augur/nn/train/loss.hpp>
#include <doctest/doctest.h>

#include "data.hpp"

namespace nn = augur::nn;
using augur::tlp::config;
using augur::tlp::model;

namespace {
struct labelled {
    std::vector<double> scores, labels;
    std::vector<std::uint8_t> known;
};
labelled reference() {
    const auto j = tlp_data::load("tlp_mtl_loss.json");
    labelled all;
    for (std::size_t n = 0; n < 4; ++n)
        for (std::size_t k = 0; k < 2; ++k) { // the file is (outputs, N) with -100 for no label
            all.scores.push_back(j["preds"][k][n].get<double>());
            const double label = j["labels"][k][n].get<double>();
            all.known.push_back(label == -100 ? 0 : 1);
            all.labels.push_back(label == -100 ? std::numeric_limits<double>::quiet_NaN() : label); // never read
        }
    return all;
}
} // namespace

TEST_CASE("mtl loss: the authors' number, with a mask in place of their -100") {
    const auto j = tlp_data::load("tlp_mtl_loss.json");
    const auto all = reference();
    std::vector<double> d(8, 7);
    augur::tlp::mtl_loss<double> loss;
    nn::lambda_rank rank;
    const double sum = loss(all.scores, all.labels, all.known, {}, 2, rank, std::span<double>(d));
    CHECK(sum == doctest::Approx(j["loss"].get<double>()).epsilon(1e-6)); // a float32 run
    CHECK(d[2 * 1 + 0] == 0);                                             // the schedule without a label for output 0
    CHECK(d[2 * 1 + 1] != 0);
    for (std::size_t k = 0; k < 2; ++k) { // one output alone, by a weight of 0 for the other
        const std::array<double, 2> weights{k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0};
        CHECK(loss(all.scores, all.labels, all.known, weights, 2, rank, std::span<double>(d)) ==
              doctest::Approx(j["head_losses"][k].get<double>()).epsilon(1e-6));
    }
    const std::array<double, 2> weights{0.5, 2};
    CHECK(loss(all.scores, all.labels, all.known, weights, 2, rank, std::span<double>(d)) ==
          doctest::Approx(0.5 * j["head_losses"][0].get<double>() + 2 * j["head_losses"][1].get<double>()).epsilon(1e-6));
}

TEST_CASE("mtl loss: the gradient by central differences; no labels at all is no NaN") {
    auto all = reference();
    std::vector<double> d(8), unused(8);
    augur::tlp::mtl_loss<double> loss;
    const std::array<double, 2> weights{0.7, 1.3};
    const auto at = [&] { return loss(all.scores, all.labels, all.known, weights, 2, nn::mse<double>, std::span<double>(unused)); };
    loss(all.scores, all.labels, all.known, weights, 2, nn::mse<double>, std::span<double>(d));
    for (std::size_t i = 0; i < 8; ++i) {
        const double keep = all.scores[i], h = 1e-6;
        all.scores[i] = keep + h;
        const double up = at();
        all.scores[i] = keep - h;
        const double down = at();
        all.scores[i] = keep;
        CHECK(d[i] == doctest::Approx((up - down) / (2 * h)).epsilon(1e-7));
    }
    for (std::size_t n = 0; n < 4; ++n) all.known[2 * n] = 0; // output 0 has none: only output 1 is left
    CHECK(at() == doctest::Approx(1.3 * [&] {
              std::vector<double> s, y, g(4);
              for (std::size_t n = 0; n < 4; ++n) {
                  s.push_back(all.scores[2 * n + 1]);
                  y.push_back(all.labels[2 * n + 1]);
              }
              return nn::mse<double>(s, y, g);
          }()));
    std::fill(all.known.begin(), all.known.end(), std::uint8_t{0});
    CHECK(at() == 0);
}

TEST_CASE("mtl: an output without labels learns nothing, and the others learn as if it were not there") {
    const auto schema = augur::tlp::schema::ansor(64, 6, 0);
    auto config = augur::tlp::config::small(static_cast<nn::index>(schema.columns));
    config.outputs = 3;
    const auto net = augur::tlp::model<double>::random_init(config, augur::random_engine(5));
    const auto bags = tlp_data::bags_of(tlp_data::random_schedules(70, 3), schema); // three pieces
    augur::serial_executor serial;
    augur::tlp::forward_backward<double> pass;
    std::vector<double> scores(70 * 3), d(70 * 3, 0.0), one(70), d_one(70);
    for (std::size_t n = 0; n < 70; ++n) d[3 * n + 1] = d_one[n] = n < 40 ? static_cast<double>(n % 5) - 2 : 0; // the last piece has none at all
    auto grad = net;
    pass.forward_to_train(net, bags, serial, scores);
    pass.backward(net, bags, serial, std::span<const double>(d), grad);
    for (const std::size_t k : {0U, 2U})
        for (const auto& layer : grad.decoders[k]) CHECK((layer.W.isZero(0) && layer.b.isZero(0)));
    const auto alone = net.only(1);
    auto grad_alone = alone;
    pass.forward_to_train(alone, bags, serial, one);
    for (std::size_t n = 0; n < 70; ++n) CHECK(one[n] == scores[3 * n + 1]);
    pass.backward(alone, bags, serial, std::span<const double>(d_one), grad_alone);
    grad.decoders = {grad.decoders[1]};
    grad.config.outputs = 1;
    augur::tlp::model<double>::visit(
        [](std::string_view name, const auto& a, const auto& b) {
            CAPTURE(std::string(name));
            CHECK(a.isApprox(b, 1e-13));
        },
        grad, grad_alone);
}
