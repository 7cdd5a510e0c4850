// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/train/online_trainer.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <augur/dataset/builder.hpp>
#include <augur/schedule/steps.hpp>
#include <doctest/doctest.h>

#include "../../nn/same_parameters.hpp"
#include "../../record/logs.hpp"

using namespace augur;

namespace {

struct threads {
    template <class F>
    void bulk(std::size_t n, const F& f) const {
        std::vector<std::thread> all;
        for (std::size_t w = 0; w < 3; ++w)
            all.emplace_back([&, w] {
                for (std::size_t i = w; i < n; i += 3) f(n - 1 - i);
            });
        for (auto& t : all) t.join();
    }
    [[nodiscard]] static std::size_t concurrency() { return 3; }
};

/// A tiled loop whose latency the tile decides: the model has something to learn. A sixth fails.
struct kernel_log {
    dataset data;
    tlp::row_table table{tlp::schema::ansor(16, 6, 0)};

    explicit kernel_log(std::size_t tasks, std::size_t records = 40, const char* const* targets = nullptr, std::size_t platforms = 1,
                        std::int64_t times = 1) {
        dataset_builder builder;
        for (std::size_t p = 0; p < platforms; ++p) {
            augur::random_engine rng(7 + p); // other schedules on each platform, some of them the same
            for (std::size_t t = 0; t < tasks; ++t) {
                const auto task = builder.task("[\"kernel\", " + std::to_string(t) + "]", targets != nullptr ? targets[p] : "llvm", {});
                REQUIRE(task);
                for (std::size_t i = 0; i < records; ++i) {
                    const auto inner = static_cast<std::int64_t>(rng.below(6)), outer = static_cast<std::int64_t>(rng.below(6));
                    step_list s;
                    s.steps.emplace_back(split_step{2, 0, 512, {std::int64_t{times} << outer, std::int64_t{times} << inner}, true});
                    s.steps.emplace_back(annotate_step{2, static_cast<std::int64_t>(t), loop_annotation::parallel});
                    if (rng.below(2) == 0) s.steps.emplace_back(annotate_step{2, 3, loop_annotation::vectorize});
                    measurement m;
                    m.status = outer == 5 ? outcome::run_memory : outcome::ok;
                    const double slow = 6 - static_cast<double>(inner) + 0.3 * static_cast<double>(outer);
                    if (m.ok()) m.seconds = {1e-3 * slow * (s.steps.size() == 3 ? 0.5 : 1.0)};
                    REQUIRE(builder.add(*task, builder.source("log"), s, m));
                }
            }
        }
        data = std::move(builder).finish();
        table.extend(data.primitives());
    }
    [[nodiscard]] std::vector<std::uint32_t> records(std::uint32_t first, std::uint32_t last) const {
        std::vector<std::uint32_t> tasks;
        for (std::uint32_t t = first; t < last; ++t) tasks.push_back(t);
        return tlp::records_of(data, tasks);
    }
    [[nodiscard]] tlp::model<float> model(nn::index outputs = 1) const {
        auto config = tlp::config::small(static_cast<nn::index>(table.schema().columns));
        config.encoder = {16};
        config.heads = 2;
        config.decoder = {8};
        config.outputs = outputs;
        return tlp::model<float>::random_init(config, augur::random_engine(3));
    }
};

std::string temporary(const char* name) {
    const auto path = std::filesystem::temp_directory_path() / ("augur_" + std::to_string(::getpid()) + "_" + name);
    std::filesystem::remove(path);
    return path.string();
}

} // namespace

TEST_CASE("train_on_dataset: both ways of ranking and mse learn to pick the fast programs of unseen tasks") {
    const kernel_log log(6);
    const auto train = tlp::make_samples(log.data, log.records(0, 4)), validation = tlp::make_samples(log.data, log.records(4, 6));
    serial_executor serial;
    tlp::forward_backward<float> pass;
    const auto before = tlp::evaluate_top_k(log.model(), log.table, log.data, validation, 0, serial, pass);
    for (const int way : {0, 1, 2}) {
        CAPTURE(way);
        auto options = way == 1 ? tlp::training_options::faithful() : tlp::training_options{};
        if (way == 2) options.fine.loss = tlp::training_loss::mse;
        options.batch = 64;
        options.fine.list = 16;
        options.epochs = 40;
        options.learning_rate = 5e-3;
        auto net = log.model();
        std::size_t told = 0;
        const auto report = tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options, [&](const tlp::training_progress& p) {
            CHECK(p.epoch == ++told);
            CHECK(p.epochs == 40);
            return true;
        });
        REQUIRE(report);
        CHECK(told == 40);
        CHECK(report->history.back().loss < 0.7 * report->history.front().loss);
        const auto after = tlp::evaluate_top_k(net, log.table, log.data, validation, 0, serial, pass);
        CHECK(after.score(0) == report->history[report->best].top_1); // the weights of the best epoch
        CHECK(after.score(1) == report->history[report->best].top_5);
        CHECK(after.score(0) > 0.9);
        CHECK(after.score(0) >= before.score(0));
        for (const auto& e : report->history) CHECK(e.top_1 + e.top_5 <= after.score(0) + after.score(1));
    }
}

TEST_CASE("train_on_dataset: the same bits on many threads, and after a kill between any two epochs") {
    const kernel_log log(4);
    const auto train = tlp::make_samples(log.data, log.records(0, 3)), validation = tlp::make_samples(log.data, log.records(3, 4));
    serial_executor serial;
    threads many;
    tlp::training_options options;
    options.batch = 48;
    options.fine.list = 16;
    options.epochs = 5;
    auto whole = log.model();
    const auto expected = tlp::train_on_dataset(whole, log.table, log.data, train, validation, serial, options);
    REQUIRE(expected);
    auto parallel = log.model();
    REQUIRE(tlp::train_on_dataset(parallel, log.table, log.data, train, validation, many, options));
    CHECK(same_parameters(whole, parallel));

    for (std::size_t killed = 1; killed <= 5; ++killed) {
        CAPTURE(killed);
        options.checkpoint = temporary("resume");
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) { // dies behind this epoch; the one after the last dies when all is done
            auto lost = log.model();
            (void)tlp::train_on_dataset(lost, log.table, log.data, train, validation, serial, options, [&](const tlp::training_progress& p) {
                if (p.epoch == killed) ::raise(SIGKILL);
                return true;
            });
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        auto net = log.model();
        const auto first =
            tlp::train_on_dataset(net, log.table, log.data, train, validation, many, options, [&](const tlp::training_progress&) { return false; });
        REQUIRE(first); // one more epoch on three threads, then the user stops it
        CHECK(first->resumed_from == killed);
        CHECK(first->stopped == (killed < 4));
        net = log.model();
        const auto second = tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options);
        REQUIRE(second);
        CHECK(second->resumed_from == (std::min)(killed + 1, std::size_t{5}));
        CHECK(second->history == expected->history);
        CHECK(second->best == expected->best);
        CHECK(second->steps == expected->steps);
        CHECK(same_parameters(net, whole));
    }

    // another run's file, and damage anywhere
    auto net = log.model();
    auto other = options;
    other.seed = 2;
    const auto refused = tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, other);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::version_mismatch);
    CHECK(same_parameters(net, log.model()));
    other = options;
    other.fine.target_head_passes = 5;
    CHECK(tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, other).error().code == errc::version_mismatch);
    const kernel_log longer(4, 40, nullptr, 1, 3); // the same ids and labels, the tiles are three times as long
    CHECK(std::ranges::equal(longer.data.schedule(7), log.data.schedule(7)));
    CHECK(tlp::train_on_dataset(net, longer.table, longer.data, train, validation, serial, options).error().code == errc::version_mismatch);
    const auto bytes = nn::load_bytes(options.checkpoint);
    REQUIRE(bytes);
    augur::random_engine rng(5);
    for (int i = 0; i < 200; ++i) {
        auto damaged = *bytes;
        if (i % 4 == 0) damaged.resize(rng.below(damaged.size()));
        else damaged[rng.below(i % 4 == 1 ? 600 : damaged.size())] ^= static_cast<char>(1U << rng.below(8));
        if (damaged == *bytes) continue;
        REQUIRE(replace_file(options.checkpoint, damaged));
        const auto read = tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options);
        CHECK(!read);
    }
    std::remove(options.checkpoint.c_str());
}

TEST_CASE("train_on_dataset: of equal samples and options a data set and a running search have the same first loss") {
    const kernel_log log(3);
    const auto samples = tlp::make_samples(log.data, log.records(0, 3));
    auto options = tlp::training_options::online();
    options.fine.list = options.batch = 512; // one step: the loss before the weights move
    options.epochs = 2;
    options.fine.least_steps = 5;
    serial_executor serial;
    auto net = log.model();
    const auto report = tlp::train_on_dataset(net, log.table, log.data, samples, tlp::training_samples{}, serial, options);
    REQUIRE(report);
    CHECK(report->steps == 5);
    CHECK(report->history.size() == 5);

    auto other = log.model();
    tlp::deduplicated_batch schedules(log.table.schema().columns, other.config.order());
    for (const auto r : samples.records) REQUIRE(schedules.add(log.data.schedule(r), log.table));
    const auto fitted = tlp::fit_online(other, schedules, samples.labels, samples.groups, serial, options);
    CHECK(fitted.steps == 5);
    CHECK(fitted.schedules == 5 * samples.size());
    CHECK(fitted.first_loss == doctest::Approx(report->history.front().loss).epsilon(1e-5));
    CHECK(fitted.last_loss < fitted.first_loss);
}

TEST_CASE("train_on_dataset: the head alone, early stop, errors") {
    const kernel_log log(4);
    const auto train = tlp::make_samples(log.data, log.records(0, 3)), validation = tlp::make_samples(log.data, log.records(3, 4));
    serial_executor serial;
    tlp::training_options options;
    options.epochs = 3;
    options.fine.decoders_only = true;
    options.fine.weight_decay = 0.1;
    auto net = log.model();
    REQUIRE(tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options));
    const auto start = log.model();
    CHECK(same_parameters(net, start, "encoder"));
    CHECK(same_parameters(net, start, "attention"));
    CHECK(same_parameters(net, start, "l_list"));
    CHECK(!same_parameters(net, start, "decoder"));

    options = {};
    options.epochs = 1000;
    options.fine.patience = 3;
    net = log.model();
    const auto stopped = tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options);
    REQUIRE(stopped);
    CHECK(stopped->history.size() == stopped->best + 1 + 3);
    CHECK(!stopped->stopped);

    const auto code_of = [&](const tlp::training_options& o, const tlp::training_samples& samples) {
        const auto done = tlp::train_on_dataset(net, log.table, log.data, samples, validation, serial, o);
        return done ? errc{} : done.error().code;
    };
    CHECK(code_of({}, tlp::training_samples{}) == errc::not_found);
    options = {};
    options.fine.list = 1;
    CHECK(code_of(options, train) == errc::invalid_argument);
    options = {};
    options.fine.output_weights = {1, 2};
    CHECK(code_of(options, train) == errc::invalid_argument);
    options = {};
    options.fine.target_head = 1;
    CHECK(code_of(options, train) == errc::invalid_argument);
    options = {};
    options.batch = 1;
    CHECK(code_of(options, train) == errc::invalid_argument);
    options = {};
    options.learning_rate = 1e39; // diverges in the first epoch: the network is as it was
    net = log.model();
    CHECK(code_of(options, train) == errc::limit);
    CHECK(same_parameters(net, start));
    for (const bool by_task : {true, false}) { // no limit is the limit of all samples
        const auto trained = [&](std::size_t most) {
            options = {};
            options.epochs = 1;
            options.fine.by_task = by_task;
            options.fine.list = options.batch = most;
            net = log.model();
            const auto done = tlp::train_on_dataset(net, log.table, log.data, train, tlp::training_samples{}, serial, options);
            REQUIRE(done);
            CHECK(done->steps == 1);
            return net;
        };
        const auto unbounded = trained(std::numeric_limits<std::size_t>::max());
        CHECK(same_parameters(trained(train.size()), unbounded));
    }
    options = {};
    options.checkpoint = AUGUR_TEST_DIR "/main.cpp/in a file";
    CHECK(code_of(options, train) == errc::io);
    options.checkpoint = "/nowhere/at/all";
    CHECK(code_of(options, train) == errc::not_found);
    auto two = train;
    two.outputs = 2;
    CHECK(code_of({}, two) == errc::shape_mismatch);
}

TEST_CASE("train_on_dataset: an error in a later epoch leaves the weights of the best epoch before it") {
    const kernel_log log(4);
    const auto train = tlp::make_samples(log.data, log.records(0, 3)), validation = tlp::make_samples(log.data, log.records(3, 4));
    serial_executor serial;
    tlp::training_options options;
    options.fine.rate = tlp::learning_rate_decay::step;
    options.fine.rate_every = 2;
    const auto first_two = [&] {
        auto o = options;
        o.checkpoint.clear();
        o.fine.rate_factor = 0.5;
        o.epochs = 2;
        auto net = log.model();
        REQUIRE(tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, o));
        return net;
    }();
    CHECK(!same_parameters(first_two, log.model()));

    options.fine.rate_factor = 1e38; // the third epoch diverges
    auto net = log.model();
    const auto diverged = tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options);
    REQUIRE(!diverged);
    CHECK(diverged.error().code == errc::limit);
    CHECK(same_parameters(net, first_two));

    // the folder of the checkpoint vanishes in the first epoch: the second cannot be written
    const logs::folder tmp;
    options.fine.rate_factor = 0.5;
    options.checkpoint = tmp / "gone/checkpoint";
    REQUIRE(std::filesystem::create_directory(tmp / "gone"));
    net = log.model();
    std::size_t epochs = 0;
    const auto gone = [&](const tlp::training_progress& p) {
        epochs = p.epoch;
        std::filesystem::remove_all(tmp / "gone");
        return true;
    };
    CHECK(tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options, gone).error().code == errc::not_found);
    CHECK(epochs == 1);
    CHECK(same_parameters(net, first_two));

    // a folder that never was is an error before the first epoch
    epochs = 0;
    net = log.model();
    CHECK(tlp::train_on_dataset(net, log.table, log.data, train, validation, serial, options, gone).error().code == errc::not_found);
    CHECK(epochs == 0);
    CHECK(same_parameters(net, log.model()));
}

TEST_CASE("train_on_dataset: a list longer than the batch is a list of the batch") {
    const kernel_log log(3);
    const auto train = tlp::make_samples(log.data, log.records(0, 3));
    serial_executor serial;
    const auto trained = [&](std::size_t list, std::size_t& steps) {
        tlp::training_options options;
        options.batch = 16;
        options.fine.list = list;
        options.epochs = 2;
        options.fine.least_steps = 20;
        auto net = log.model();
        const auto report = tlp::train_on_dataset(net, log.table, log.data, train, tlp::training_samples{}, serial, options);
        REQUIRE(report);
        steps = report->steps;
        return net;
    };
    std::size_t steps = 0, steps_of_batch = 0;
    const auto net = trained(128, steps);
    CHECK(same_parameters(net, trained(16, steps_of_batch)));
    CHECK(steps == steps_of_batch);
    CHECK(steps >= 20);
}

TEST_CASE("tlp samples: labels of several platforms are aligned by schedule, as a search through all pairs finds them") {
    const char* const targets[] = {"llvm", "cuda"};
    const kernel_log log(3, 40, targets, 2);
    const std::vector<std::vector<std::uint32_t>> records{log.records(0, 3), log.records(3, 6)};
    for (const bool given : {false, true}) {
        auto part = records;
        if (given) part[0].resize(part[0].size() / 2);
        const auto samples = tlp::make_samples(log.data, std::span<const std::vector<std::uint32_t>>(part), {label_rule::zero, given});
        REQUIRE(samples.outputs == 2);
        std::size_t both = 0, known = 0;
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const auto ids = log.data.schedule(samples.records[i]);
            for (std::uint32_t k = 0; k < 2; ++k) {
                const std::uint32_t task = samples.groups[i] + 3 * k;
                double least = std::numeric_limits<double>::infinity(), seconds = least;
                bool there = false;
                for (const std::uint32_t r : given ? part[k] : records[k]) {
                    const auto t = log.data.task(task);
                    if (r < t.first || r >= t.last) continue;
                    least = (std::min)(least, log.data.seconds(r));
                }
                for (const std::uint32_t r : part[k]) {
                    const auto t = log.data.task(task);
                    const auto other = log.data.schedule(r);
                    if (r < t.first || r >= t.last || !std::equal(ids.begin(), ids.end(), other.begin(), other.end())) continue;
                    there = true;
                    seconds = (std::min)(seconds, log.data.seconds(r));
                }
                CHECK((samples.known[2 * i + k] != 0) == there);
                known += there ? 1U : 0U;
                if (there) CHECK(samples.labels[2 * i + k] == static_cast<float>(std::isinf(seconds) ? 0.0 : least / seconds));
            }
            both += samples.known[2 * i] != 0 && samples.known[2 * i + 1] != 0 ? 1U : 0U;
        }
        CHECK(both > 10);
        CHECK(known == part[0].size() + part[1].size()); // the data set has merged equal schedules of a task
    }
    const auto samples = tlp::make_samples(log.data, std::span<const std::vector<std::uint32_t>>(records));
    auto net = log.model(2);
    serial_executor serial;
    tlp::training_options options;
    options.epochs = 30;
    options.learning_rate = 5e-3;
    options.fine.output_weights = {1, 0.5};
    const auto report = tlp::train_on_dataset(net, log.table, log.data, samples, samples, serial, options);
    REQUIRE(report);
    tlp::forward_backward<float> pass;
    for (std::size_t k = 0; k < 2; ++k) CHECK(tlp::evaluate_top_k(net, log.table, log.data, samples, k, serial, pass).score(0) > 0.9);
}
