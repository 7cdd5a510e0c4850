// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/detail/training_loop.hpp>

#include <vector>

#include <doctest/doctest.h>

using namespace augur;

TEST_CASE("tlp training loop: learning rates at the begin, in the middle and at the end") {
    tlp::training_options o;
    o.learning_rate = 2;
    CHECK(tlp::detail::learning_rate(o, 0, 0) == doctest::Approx(2)); // cosine: down to 1 %
    CHECK(tlp::detail::learning_rate(o, 3, 0.5) == doctest::Approx(2 * 0.505));
    CHECK(tlp::detail::learning_rate(o, 6, 1) == doctest::Approx(2 * 0.01));
    o.fine.rate = tlp::learning_rate_decay::constant;
    CHECK(tlp::detail::learning_rate(o, 6, 1) == 2);
    o.fine.rate = tlp::learning_rate_decay::step;
    o.fine.rate_every = 3;
    o.fine.rate_factor = 0.5;
    CHECK(tlp::detail::learning_rate(o, 2, 0.9) == 2);
    CHECK(tlp::detail::learning_rate(o, 3, 0) == 1);
    CHECK(tlp::detail::learning_rate(o, 6, 0) == 0.5);
}

TEST_CASE("tlp training loop: least_steps adds epochs, counted in full batches") {
    tlp::training_samples samples; // one task of 10
    for (std::uint32_t i = 0; i < 10; ++i) {
        samples.records.push_back(i);
        samples.groups.push_back(0);
        samples.labels.push_back(1 / (1.0F + static_cast<float>(i)));
        samples.known.push_back(1);
    }
    const std::vector<std::uint32_t> usable = samples.records;
    const auto net = tlp::model<float>::zeros(tlp::config::small(4));
    const auto epochs = [&](std::size_t batch, std::size_t least) {
        tlp::training_options o;
        o.epochs = 3;
        o.batch = batch;
        o.fine.least_steps = least;
        return tlp::detail::training_loop(net, samples, usable, o).epochs();
    };
    CHECK(epochs(4, 0) == 3); // three steps an epoch
    CHECK(epochs(4, 9) == 3);
    CHECK(epochs(4, 10) == 4);
    CHECK(epochs(512, 7) == 7);
}
