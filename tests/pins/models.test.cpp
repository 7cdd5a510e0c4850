// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pins.hpp"

#include <augur/core/executor.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/inference/frozen_model.hpp>
#include <augur/tlp/online.hpp>
#ifdef AUGUR_HAS_XGBOOST
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/xgboost/trees_online.hpp>

#include "../../examples/support/tlp_trees.hpp"
#endif

namespace {

using pins::spell, pins::take;

/// Schedules of three kernels and what a machine might say of them.
struct lesson {
    std::vector<pins::problem> problems{pins::problem(pins::kernels[0]), pins::problem(pins::kernels[5]), pins::problem(pins::kernels[10])};
    std::vector<std::vector<augur::step_list>> schedules;
    std::vector<augur::measurement> outcomes;
    std::vector<augur::observation<augur::step_list, augur::loopnest::kernel_task>> seen;
    augur::dataset data;
    augur::tlp::row_table table{augur::tlp::schema::ansor(24, 10, 0)};
    augur::tlp::training_samples train, validation;

    lesson() {
        augur::dataset_builder builder;
        for (const auto& p : problems) schedules.push_back(pins::schedules(p.space, 24, schedules.size() + 1));
        for (std::size_t t = 0; t < problems.size(); ++t) {
            const auto logged = problems[t].task.logged();
            const auto task = take(builder.task(logged.workload_key, logged.target, logged.hardware));
            for (const auto& s : schedules[t]) {
                outcomes.push_back(pins::pretended(s));
                REQUIRE(builder.add(task, builder.source("pins"), s, outcomes.back()));
            }
        }
        data = std::move(builder).finish();
        for (std::size_t i = 0; i < outcomes.size(); ++i) seen.push_back({&problems[i / 24].task, &schedules[i / 24][i % 24], &outcomes[i]});
        table.extend(data.primitives());
        train = augur::tlp::make_samples(data, augur::tlp::records_of(data, std::array<std::uint32_t, 2>{0, 1}));
        validation = augur::tlp::make_samples(data, augur::tlp::records_of(data, std::array<std::uint32_t, 1>{2}));
    }
};

template <class Model>
std::vector<double> scores(Model& model, const lesson& l) {
    std::vector<float> out(8);
    REQUIRE(model.score(l.problems[2].task, std::span<const augur::step_list>(l.schedules[2]).first(8), std::span<float>(out)));
    return {out.begin(), out.end()};
}

/// Of each parameter its norm.
std::vector<double> norms(const augur::tlp::model<float>& net) {
    std::vector<double> out;
    augur::tlp::model<float>::visit([&](std::string_view, const auto& p) { out.push_back(static_cast<double>(p.norm())); }, net);
    return out;
}

} // namespace

TEST_CASE("pins: samples, first weights, and small TLPs after a few steps") {
    const lesson l;
    pins::book book("tlp");
    book.text("samples", 0, spell(l.train.records) + spell(l.train.groups) + spell(std::span<const float>(l.train.labels)));
    augur::serial_executor serial;
    for (const std::string name : {"attention", "lstm", "faithful"}) {
        augur::tlp::config config = augur::tlp::config::small(0);
        config.encoder = {8, 16};
        config.heads = 2;
        config.decoder = {8};
        if (name == "lstm") config.backbone = augur::tlp::backbone::lstm;
        if (name == "faithful") config.scaling = augur::tlp::scaling::logarithm;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            auto model = take(augur::tlp::trained_model::random_init(l.table.schema(), config, augur::random_engine(seed)));
            std::string first;
            augur::tlp::model<float>::visit(
                [&](std::string_view parameter, const auto& p) {
                    first += std::string(parameter) + spell(std::span<const float>(p.data(), static_cast<std::size_t>(p.size())));
                },
                model.model);
            book.text(name + ".first_weights", seed, first);
            auto options = name == "faithful" ? augur::tlp::training_options::faithful() : augur::tlp::training_options();
            options.batch = 16;
            options.fine.list = 8;
            options.epochs = 2;
            options.seed = seed;
            const auto report = take(augur::tlp::train_on_dataset(model.model, l.table, l.data, l.train, l.validation, serial, options));
            auto scorer = model.scorer(serial);
            book.numbers(name + ".loss", seed, std::array{report.history[0].loss, report.history[1].loss, static_cast<double>(report.steps)},
                         "1e-04");
            book.numbers(name + ".norms", seed, norms(model.model), "1e-04");
            book.numbers(name + ".scores", seed, scores(scorer, l), "1e-04");
            if (name == "lstm") continue;
            augur::tlp::freeze_options exact; // without AMX, whose factors have 16 binary digits
            exact.amx = false;
            auto frozen = take(augur::tlp::freeze(model, exact)).scorer(serial);
            book.numbers(name + ".frozen", seed, scores(frozen, l), "1e-04");
        }
    }
    augur::tlp::online_options options;
    options.fit.epochs = 1;
    options.fit.fine.least_steps = 3;
    augur::tlp::online_model<augur::step_list, augur::loopnest::kernel_task, augur::serial_executor> online(serial, options);
    REQUIRE(online.update(l.seen));
    book.numbers("online.scores", 0, scores(online, l), "1e-04");
}

#ifdef AUGUR_HAS_XGBOOST
TEST_CASE("pins: small boosted trees") {
    const lesson l;
    pins::book book("trees");
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        augur::boosted_trees_options o;
        o.rounds = 8;
        o.depth = 3;
        o.row_share = 0.8;
        o.seed = seed;
        o.objective = seed == 3 ? augur::tree_objective::rank_pairwise : augur::tree_objective::squared_error;
        const auto trees = take(examples::tlp_trees::train(l.table, l.data, l.train.records, l.train.labels, l.train.groups, o));
        book.numbers("tlp_trees", seed, scores(trees, l));
        augur::trees_online<augur::step_list, augur::loopnest::kernel_task, augur::loopnest::nest_row> online(
            augur::loopnest::nest_row(augur::loopnest::nest_target::make(augur::xeon_gold_5220r(), 24)), [&] {
                auto few = augur::few_sample_trees();
                few.rounds = 8;
                few.seed = seed;
                return few;
            }());
        REQUIRE(online.update(l.seen));
        book.numbers("trees_online", seed, scores(online, l));
    }
}
#endif
