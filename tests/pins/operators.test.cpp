// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pins.hpp"

#include <functional>
#include <set>

#include <augur/tlp/features.hpp>
#include <augur/loopnest/crop/features.hpp>
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/model/concepts.hpp>
#include <augur/crop/predictor.hpp>
#include <augur/program/features_json.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/tune/replay_runner.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/tune/tuner.hpp>

#include "../record/logs.hpp"

namespace {

using pins::spell, pins::told;

constexpr std::size_t samples = 4;

augur::evolutionary_options few_generations() {
    augur::evolutionary_options o;
    o.population = 64;
    o.generations = 2;
    return o;
}

/// Two proposals, the second after the first was measured, under a score that is made up.
template <class Strategy>
std::string proposals(const augur::loopnest::ansor_space& space, Strategy strategy, std::uint64_t seed) {
    auto score = [](std::span<const augur::decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = pins::pretended_score(spell(points[i]));
        return {};
    };
    std::string out;
    for (std::uint64_t round = 0; round < 2; ++round) {
        augur::random_engine rng = augur::random_engine(seed).stream(round);
        std::vector<augur::measured_decisions> measured;
        for (auto& p : pins::take(strategy.propose(space, score, 12, rng))) {
            out += spell(p);
            measured.push_back({p, pins::pretended_seconds(spell(p)) + 1e-6});
        }
        strategy.observe(measured);
    }
    return out;
}

/// A cost model that computes.
struct pretended_model {
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    augur::result<void> score(const augur::loopnest::kernel_task&, std::span<const augur::step_list> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = pins::pretended_score(augur::to_json(batch[i]));
        return {};
    }
};

} // namespace

TEST_CASE("pins: each operator's decisions, steps, C text, features, predictions and proposals") {
    const augur::machine wide = augur::xeon_gold_5220r(), narrow = augur::epyc_7763();
    augur::crop::predictor predict(wide), published(wide, augur::crop::options::as_published());
    pins::book book("operators");
    std::set<augur::kernel_kind> kinds;
    for (const auto text : pins::kernels) {
        const pins::problem p(text);
        const augur::kernel& kernel = p.task.workload();
        kinds.insert(kernel.kind());
        const std::string name(text.substr(0, text.find(',', text.rfind('='))));
        book.text(name + ".kernel", 0, kernel.text() + kernel.workload_key() + kernel.class_name() + std::to_string(p.task.flops()));
        book.text(name + ".sketches", 0, [&] {
            std::string out;
            for (std::size_t i = 0; i < p.space.sketches(); ++i) out += augur::to_json(p.space.sketch_steps(i));
            return out;
        }());
        const auto as_tvm = pins::take(augur::loopnest::ansor_space::create(p.task.dag(), augur::loopnest::ansor_options::as_tvm(24)));
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            std::string decisions, steps, wide_c, narrow_c, tlp, nest, features, forms;
            std::vector<double> predicted;
            augur::random_engine rng(seed);
            for (std::size_t i = 0; i < samples; ++i) {
                const auto path = augur::sample_path(p.space, rng);
                decisions += spell(path.values);
                for (const auto& d : path.decisions) decisions += std::to_string(static_cast<int>(d.kind)) + "/" + std::to_string(d.options) + " ";
                const auto tvm_path = augur::sample_path(as_tvm, rng);
                decisions += spell(tvm_path.values) + told(as_tvm.realise(tvm_path.values), [](const auto& s) { return augur::to_json(s); });
                const auto made = p.space.realise(path.values);
                steps += told(made, [](const auto& s) { return augur::to_json(s); });
                if (!made) continue;
                steps += std::to_string(augur::hash_schedule(*made));
                const auto c = [&](const augur::machine& on) {
                    return told(augur::loopnest::compile_schedule(p.task, *made, augur::loopnest::c_options::of(on)), [](const auto& program) {
                        std::string out = program.source + program.entry + program.pack_entry;
                        for (const auto& b : program.buffers)
                            out += std::to_string(static_cast<int>(b.purpose)) + "/" + std::to_string(b.elements) + " ";
                        return out;
                    });
                };
                wide_c += c(wide);
                narrow_c += c(narrow);
                for (const auto& schema : {augur::tlp::schema::ansor(), augur::tlp::schema::ansor_gpu(), augur::tlp::schema::authors_cpu()}) {
                    std::vector<float> rows(schema.rows * schema.columns);
                    tlp += told(augur::tlp::extract_features(*made, schema, rows),
                                [&](std::size_t n) { return spell(std::span(rows).first(n * schema.columns)); });
                }
                std::vector<float> row(augur::loopnest::nest_row::columns());
                augur::loopnest::nest_row describe(augur::loopnest::nest_target::make(wide, 24));
                REQUIRE(describe(p.task, *made, row));
                nest += spell(row);
                augur::loopnest::crop_feature_extractor gather;
                gather.code = augur::loopnest::c_options::of(wide);
                gather.nest.accesses = 1U << 12U;
                gather.nest.sets = {64};
                const auto f = gather(p.task, *made);
                features += told(f, [](const auto& program) { return augur::features_to_json(program); });
                if (!f) continue;
                for (const int threads : {1, 24}) {
                    const auto said = pins::take(predict.predict(*f, threads));
                    forms += pins::form(augur::crop::prediction_to_json(said));
                    predicted.insert(predicted.end(), {said.seconds, said.mispredict_cycles, said.levels.front().share});
                }
                predicted.push_back(pins::take(published.predict(*f, 1)).cycles);
            }
            book.text(name + ".decisions", seed, decisions);
            book.text(name + ".steps", seed, steps);
            book.text(name + ".c_512", seed, wide_c);
            book.text(name + ".c_256", seed, narrow_c);
            book.text(name + ".tlp_rows", seed, tlp);
            book.text(name + ".nest_rows", seed, nest);
            book.text(name + ".crop_features", seed, features);
            book.text(name + ".crop_form", seed, forms);
            book.numbers(name + ".crop", seed, predicted);
            book.text(name + ".random", seed, proposals(p.space, augur::random_search(), seed));
            book.text(name + ".evolutionary", seed, proposals(p.space, augur::evolutionary<>(few_generations()), seed));
        }
    }
    CHECK(kinds.size() == 19);
}

TEST_CASE("pins: records of a run, names of machines and schemas") {
    pins::book book("records");
    const std::vector<pins::problem> problems{pins::problem(pins::kernels[0]), pins::problem(pins::kernels[3])};
    std::vector<augur::loopnest::kernel_task> tasks;
    std::vector<augur::loopnest::ansor_space> spaces;
    for (const auto& p : problems) {
        tasks.push_back(p.task);
        spaces.push_back(p.space);
        book.text("task", tasks.size(), augur::task_identity(p.task));
    }
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const logs::folder tmp;
        const auto path = tmp / "log.jsonl";
        {
            auto log = pins::take(augur::log_writer::open(path, augur::durability::none));
            augur::toolchain made_with;
            made_with.machine.compiler = "a compiler 1.0";
            made_with.flags = "-O3 -march=native";
            augur::log_sink sink(log, made_with);
            pretended_model model;
            std::vector<augur::evolutionary<>> strategies(2, augur::evolutionary<>(few_generations()));
            augur::tuning_options o;
            o.trials = 20;
            o.round = 8;
            o.seed = seed;
            augur::tuner tuner(tasks, spaces, strategies, model, o);
            augur::function_runner runner([](const augur::loopnest::kernel_task&, const augur::step_list& s) { return pins::pretended(s); });
            const auto done = pins::take(tuner.run(runner, {.sink = std::ref(sink)}));
            CHECK(done.trials == 40);
            book.numbers("run.best", seed,
                         std::array{done.tasks[0].best_latency, done.tasks[1].best_latency, static_cast<double>(done.tasks[0].rounds)});
            book.text("run.counts", seed, spell(done.counts) + std::to_string(done.repeated) + "," + std::to_string(done.unrealised));
        }
        book.text("run.log", seed, pins::contents(path)); // with header, sequence, schema, outcomes and checksums; no clock was read for it
    }
    book.text("c.prelude", 0, augur::loopnest::program_prelude);
    for (const auto& schema :
         {augur::tlp::schema::authors_cpu(), augur::tlp::schema::authors_gpu(), augur::tlp::schema::ansor(), augur::tlp::schema::ansor_gpu()})
        book.text("schema." + schema.name, 0, std::to_string(schema.hash()));
    for (const auto name : augur::machine_preset_names)
        book.text("machine." + std::string(name), 0, augur::machine_to_json(pins::take(augur::machine_preset(name))));
}
