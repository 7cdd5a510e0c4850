// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's checkpoints and the standardisation of columns, alone and in a weights file.
#include <augur/metatune/checkpoint.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/metatune/weights_file.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../nn/same_parameters.hpp"
#include "../record/logs.hpp"
#include "../search/threads.hpp"
#include "data.hpp"

namespace metatune_checkpoint_test {

namespace mt = augur::metatune;

mt::config shape() {
    mt::config c;
    c.features = 4;
    c.convolutions = {6, 5};
    c.head = {7};
    return c;
}

std::vector<mt::task_samples> tasks() {
    augur::random_engine rng(11);
    std::vector<mt::task_samples> out(3);
    for (auto& t : out)
        for (int i = 0; i < 30; ++i) {
            t.candidates.push_back(metatune_data::random_loops(5, 4, rng));
            t.seconds.push_back(1e-3 * std::exp(static_cast<double>(t.candidates.back().features(0, 0))));
        }
    return out;
}

} // namespace metatune_checkpoint_test

TEST_CASE("metatune checkpoint: a training that goes on from the file ends with the bits of one that did not stop") {
    using namespace metatune_checkpoint_test;
    const auto samples = tasks();
    const logs::folder tmp;
    const auto path = tmp / "checkpoint.safetensors";
    toy::threads threads{2};
    mt::pretraining_options options;
    options.epochs = 3;
    options.batch = 16;
    mt::training_state whole(mt::network<float>::random_init(shape(), augur::random_engine(2)));
    auto cut = whole;
    REQUIRE(mt::pretrain(whole, samples, threads, options, [](const auto&) { return true; }));
    for (int calls = 0; cut.steps < whole.steps; ++calls) {
        REQUIRE(calls < 10);
        REQUIRE(mt::pretrain(cut, samples, threads, options, [](const auto& p) { return p.step % 5 != 0; }));
        REQUIRE(mt::save_checkpoint({42, "pre-training", cut}, path));
        auto back = mt::load_checkpoint(path, shape(), 42);
        REQUIRE(back);
        CHECK(back->stage == "pre-training");
        CHECK(back->state.steps == cut.steps);
        CHECK(same_parameters(back->state.first, cut.first));
        CHECK(same_parameters(back->state.second, cut.second));
        cut = std::move(back->state);
    }
    CHECK(same_parameters(whole.net, cut.net));
}

TEST_CASE("metatune checkpoint: of another run, torn, with a broken byte, or none") {
    using namespace metatune_checkpoint_test;
    const logs::folder tmp;
    const auto path = tmp / "checkpoint.safetensors";
    const mt::checkpoint kept{7, "meta-training", mt::training_state(mt::network<float>::random_init(shape(), augur::random_engine(2)))};
    REQUIRE(mt::save_checkpoint(kept, path));
    const auto other = mt::load_checkpoint(path, shape(), 8);
    REQUIRE_FALSE(other);
    CHECK(other.error().code == augur::errc::version_mismatch);
    CHECK(other.error().detail.find("other samples or options") != std::string::npos);
    const auto bytes = augur::nn::load_bytes(path);
    REQUIRE(bytes);
    const auto code_of = [&](const std::string& text) {
        REQUIRE(augur::replace_file(path, text));
        const auto read = mt::load_checkpoint(path, shape(), 7);
        return read ? augur::errc{} : read.error().code;
    };
    REQUIRE(augur::replace_file(path, *bytes));
    REQUIRE(mt::load_checkpoint(path, shape(), 7));
    auto broken = *bytes;
    broken[broken.size() - 3] = static_cast<char>(broken[broken.size() - 3] ^ 1);
    CHECK(code_of(broken) == augur::errc::version_mismatch);
    for (std::size_t cut = 0; cut < bytes->size(); cut += 97) {
        REQUIRE(augur::replace_file(path, bytes->substr(0, cut)));
        CHECK_FALSE(mt::load_checkpoint(path, shape(), 7));
    }
    REQUIRE(mt::save({kept.state.net, "", {}}, path)); // weights are no checkpoint
    const auto weights = mt::load_checkpoint(path, shape(), 7);
    REQUIRE_FALSE(weights);
    CHECK(weights.error().code == augur::errc::version_mismatch);
    std::remove(path.c_str());
    CHECK_FALSE(mt::load_checkpoint(path, shape(), 7));
}

TEST_CASE("metatune standardisation: mean 0 and deviation 1 over the present loops, constant columns 0, absent loops untouched") {
    using namespace metatune_checkpoint_test;
    augur::random_engine rng(3);
    std::vector<mt::loop_rows> all;
    std::vector<const mt::loop_rows*> from;
    for (int i = 0; i < 40; ++i) {
        all.push_back(metatune_data::random_loops(6, 4, rng));
        for (std::size_t s = 0; s < 6; ++s)
            if (all.back().present[s] != 0) all.back().features(static_cast<augur::nn::index>(s), 2) = 3;
    }
    for (const auto& one : all) from.push_back(&one);
    const auto columns = mt::standardisation::fit(from);
    REQUIRE(columns.mean.size() == 4);
    CHECK(columns.scale[2] == 0);
    double sum = 0, squares = 0, count = 0;
    for (auto& one : all) {
        REQUIRE(columns.apply(one));
        for (std::size_t s = 0; s < 6; ++s) {
            const auto row = one.features.row(static_cast<augur::nn::index>(s));
            CHECK(row(2) == 0);
            if (one.present[s] == 0) {
                CHECK(row.isZero(0));
                continue;
            }
            sum += static_cast<double>(row(0));
            squares += static_cast<double>(row(0)) * static_cast<double>(row(0));
            ++count;
        }
    }
    CHECK(std::abs(sum / count) < 1e-6);
    CHECK(std::abs(squares / count - 1) < 1e-5);
    auto narrow = metatune_data::random_loops(2, 3, rng);
    const auto refused = columns.apply(narrow);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == augur::errc::shape_mismatch);
    mt::loop_rows many; // a constant column has scale 0, however many rows there are and however large it is
    many.features.resize(20'000, 2);
    many.features.col(0).setConstant(std::log2(65.0F));
    many.features.col(1).setConstant(1e6F);
    many.features(7, 1) += 1;
    many.present.assign(20'000, 1);
    many.parents.assign(20'000, mt::loop_rows::no_parent);
    const mt::loop_rows* const one[] = {&many};
    const auto constant = mt::standardisation::fit(one);
    CHECK(constant.scale[0] == 0);
    CHECK(constant.scale[1] == doctest::Approx(std::sqrt(20'000.0)).epsilon(1e-3));
    CHECK(mt::standardisation::fit({}).mean.empty());
    const auto before = narrow.features;
    CHECK(mt::standardisation().apply(narrow));
    CHECK(narrow.features == before);
}

TEST_CASE("metatune standardisation: a weights file has it, and only a whole one") {
    using namespace metatune_checkpoint_test;
    const logs::folder tmp;
    const auto path = tmp / "columns.safetensors";
    mt::trained_network trained{mt::network<float>::random_init(shape(), augur::random_engine(1)), "graph", {{1, 2, 3, 4}, {0, 1, 2, 0.5F}}};
    REQUIRE(mt::save(trained, path));
    const auto back = mt::load(path);
    REQUIRE(back);
    CHECK(back->columns == trained.columns);
    CHECK(mt::to_safetensors(*back) == mt::to_safetensors(trained));
    for (const bool means : {false, true}) { // one short, or one of the two
        auto wrong = trained;
        (means ? wrong.columns.mean : wrong.columns.scale).pop_back();
        CHECK_FALSE(mt::save(wrong, path));
        wrong = trained;
        (means ? wrong.columns.mean : wrong.columns.scale).clear();
        const auto refused = mt::save(wrong, path);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == augur::errc::invalid_argument);
    }
    CHECK(mt::load(path)->columns == trained.columns); // what cannot be loaded is not written
}
