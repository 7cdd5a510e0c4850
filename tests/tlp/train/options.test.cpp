// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/train/options.hpp>

#include <limits>

#include <doctest/doctest.h>

using namespace augur;

TEST_CASE("tlp options: five usual ones, and the others apart") {
    const tlp::training_options usual;
    CHECK(usual.check(1));
    const auto& [epochs, batch, learning_rate, seed, checkpoint, fine] = usual; // a sixth is refused here
    CHECK(epochs == 12);
    CHECK(batch == 512);
    CHECK(learning_rate == 2e-3);
    CHECK(seed == 1);
    CHECK(checkpoint.empty());
    CHECK(fine.patience == 0);
    CHECK(fine.least_steps == 0);
}

TEST_CASE("tlp options: the settings of the online model") {
    const auto o = tlp::training_options::online();
    CHECK(o.check(1));
    CHECK(o.epochs == 100);
    CHECK(o.batch == 128);
    CHECK(o.learning_rate == 1e-3);
    CHECK(o.fine.list == 64);
    CHECK(o.fine.sharpness == 1);
    CHECK(o.fine.regret == 0);
    CHECK(o.fine.rate == tlp::learning_rate_decay::cosine);
    CHECK(o.fine.weight_decay == 1e-4);
    CHECK(o.fine.clip == 0.5);
    CHECK(o.fine.least_steps == 300);
}

TEST_CASE("tlp options: the authors' settings") { // scripts/tlp_train.py of the TLP repository
    const auto o = tlp::training_options::faithful();
    CHECK(o.check(1));
    CHECK(o.epochs == 50);
    CHECK(o.batch == 1024);
    CHECK(o.learning_rate == 7e-4);
    CHECK(o.fine.weight_decay == 1e-6);
    CHECK(o.fine.clip == 0.5);
    CHECK(o.fine.loss == tlp::training_loss::lambda_rank);
    CHECK_FALSE(o.fine.by_task);
    CHECK(o.fine.rate == tlp::learning_rate_decay::constant);
}

TEST_CASE("tlp options: what is no number or too small is refused, of both parts") {
    const auto refused = [](auto change) {
        tlp::training_options o;
        change(o);
        const auto done = o.check(2);
        return !done && done.error().code == errc::invalid_argument;
    };
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    CHECK(refused([](auto& o) { o.batch = 1; }));
    CHECK(refused([](auto& o) { o.epochs = 0; }));
    CHECK(refused([](auto& o) { o.learning_rate = none; }));
    CHECK(refused([](auto& o) { o.fine.list = 1; }));
    CHECK(refused([](auto& o) { o.fine.clip = none; }));
    CHECK(refused([](auto& o) { o.fine.weight_decay = -1; }));
    CHECK(refused([](auto& o) { o.fine.sharpness = 0; }));
    CHECK(refused([](auto& o) { o.fine.target_head = 2; }));
    CHECK(refused([](auto& o) { o.fine.target_head_passes = 0; }));
    CHECK(refused([](auto& o) { o.fine.output_weights = {1}; }));
    CHECK_FALSE(refused([](auto& o) { o.fine.output_weights = {1, 0}; }));
}
