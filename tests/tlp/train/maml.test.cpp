// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Meta-training of TLP: what `nn::maml` needs of a model is its forward and backward pass for any scalar.
#include <augur/nn/train/maml.hpp>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/tlp/train/speed_loss.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <doctest/doctest.h>

namespace tlp_maml_test {

namespace nn = augur::nn;
namespace tlp = augur::tlp;

using samples = tlp::measured_schedules;
using tlp::speed_loss;

samples made_up(std::size_t count, std::size_t columns, augur::random_engine& rng) {
    samples out{tlp::deduplicated_batch(columns), {}};
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<float> rows(4 * columns);
        for (float& x : rows) x = static_cast<float>(rng.uniform());
        out.rows.add(rows);
        out.speeds.push_back(rng.uniform());
    }
    return out;
}

TEST_CASE("maml of TLP: the second-order gradient is that of central differences, which the first-order one is not") {
    tlp::config config = tlp::config::small(5);
    config.encoder = {8, 8};
    config.heads = 2;
    config.decoder = {8};
    config.scaling = tlp::scaling::raw;
    auto net = tlp::model<double>::random_init(config, augur::random_engine(3));
    augur::random_engine rng(1);
    std::vector<nn::meta_task<samples>> tasks;
    for (int t = 0; t < 3; ++t) {
        auto support = made_up(4, 5, rng);
        tasks.push_back({std::move(support), made_up(5, 5, rng)});
    }
    augur::serial_executor serial;
    nn::maml<double, speed_loss> exact(speed_loss{config}, {0.05, 2, nn::meta_gradient::second_order});
    nn::maml<double, speed_loss> first(speed_loss{config}, {0.05, 2, nn::meta_gradient::first_order});
    auto gradient = tlp::model<double>::zeros(config), first_order = gradient, ignored = gradient;
    exact.gradient(net, tasks, serial, gradient);
    first.gradient(net, tasks, serial, first_order);
    std::size_t compared = 0, different = 0;
    tlp::model<double>::visit(
        [&](auto&&, auto& p, const auto& g, const auto& f) {
            constexpr double h = 1e-5;
            for (nn::index i = 0; i < p.size(); i += 7, ++compared) {
                const double x = p.data()[i];
                p.data()[i] = x + h;
                const double above = exact.gradient(net, tasks, serial, ignored);
                p.data()[i] = x - h;
                const double below = exact.gradient(net, tasks, serial, ignored);
                p.data()[i] = x;
                CHECK(g.data()[i] == doctest::Approx((above - below) / (2 * h)).epsilon(1e-6));
                different += std::abs(g.data()[i] - f.data()[i]) > 1e-3 * std::abs(g.data()[i]) ? 1 : 0;
            }
        },
        net, gradient, first_order);
    CHECK(compared > 80);
    CHECK(different > compared / 2);
}

TEST_CASE("maml of TLP: as the comment of speed_loss shows it") {
    tlp::config config = tlp::config::small(5);
    const auto net = tlp::model<float>::random_init(config, augur::random_engine(3));
    augur::random_engine rng(1);
    std::vector<nn::meta_task<samples>> tasks;
    tasks.push_back({made_up(4, 5, rng), made_up(5, 5, rng)});
    augur::serial_executor threads;
    auto gradient = tlp::model<float>::zeros(config);
    const auto example = [&] {
#include <snippets/tlp/train/speed_loss.hpp.1.inc>
        return loss;
    };
    CHECK(example() > 0);
    double sum = 0;
    tlp::model<float>::visit([&](auto&&, const auto& g) { sum += double(g.squaredNorm()); }, gradient);
    CHECK(sum > 0);
}

} // namespace tlp_maml_test
