// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that version 0.1 wrote must be read for good. With AUGUR_PINS_WRITE=1 those that are missing are written; none is overwritten.
#include "pins.hpp"

#include <filesystem>

#include <augur/core/executor.hpp>
#include <augur/loopnest/crop/features.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/crop/predictor.hpp>
#include <augur/tlp/train/checkpoint.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/weights_file.hpp>
#include <augur/program/features_json.hpp>
#include <augur/program/reuse/profile_json.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/file.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/log_writer.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/target/machine_file.hpp>
#ifdef AUGUR_HAS_XGBOOST
#include <augur/xgboost/boosted_trees.hpp>
#endif

#include "../nn/same_parameters.hpp"
#include "../record/logs.hpp"

namespace {

using pins::take;

constexpr std::uint64_t run_number = 0xF123456789ABCDEFU;
constexpr std::uint64_t origin = 77;

std::string fixture(const std::string& name) { return pins::place("fixtures/" + name); }
/// Is this file to be written now?
bool lacks(const std::string& name) { return pins::writing() && !std::filesystem::exists(fixture(name)); }
void write(const std::string& name, const std::string& text) { REQUIRE(augur::replace_file(fixture(name), text)); }

/// A copy that may be written to, gone in the end.
struct copy {
    logs::folder folder;
    std::string path;
    explicit copy(const std::string& name) : path(folder / name.c_str()) {
        std::filesystem::copy_file(fixture(name), path);
        std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
    }
};

augur::tlp::trained_model tiny(std::uint64_t seed) {
    augur::tlp::config config = augur::tlp::config::small(0);
    config.encoder = {4, 8};
    config.scaling = augur::tlp::scaling::logarithm;
    config.heads = 2;
    config.decoder = {4};
    return take(augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(16, 4, 0), config, augur::random_engine(seed)));
}

void write_log() {
    std::uint64_t seed = 0;
    for (const auto text : {pins::kernels[0], pins::kernels[3]}) {
        if (seed > 0) std::ofstream(fixture("log.jsonl"), std::ios::app) << "# the second kernel\n"; // a remark: TVM and we skip it
        auto log = take(augur::log_writer::open(fixture("log.jsonl")));
        const pins::problem p(text);
        for (const auto& s : pins::schedules(p.space, 6, ++seed)) {
            augur::record r;
            r.task = p.task.logged();
            r.schedule = s;
            r.measured = pins::pretended(s);
            r.measured.total_seconds = 1.5;
            r.measured.compile_cpu_seconds = 0.25;
            r.measured.run_cpu_seconds = 0.1;
            r.measured.packing_seconds = 1e-5;
            r.measured.max_error = 0.03125;
            r.measured.timestamp = 1700000000;
            r.machine.compiler = "a compiler 1.0";
            r.flags = "-O3 -march=native";
            REQUIRE(log.append(r));
        }
    }
}

std::vector<augur::record> logged(augur::log_summary* summary = nullptr) {
    augur::log_read_options strict;
    strict.strict = true;
    auto reader = take(augur::log_reader::open(fixture("log.jsonl"), strict));
    std::vector<augur::record> out;
    for (augur::record r; take(reader.next(r));) out.push_back(r);
    if (summary != nullptr) *summary = reader.summary();
    return out;
}

augur::dataset collected() {
    augur::dataset_builder builder;
    for (const auto& r : logged()) {
        const auto task = take(builder.task(r.task.workload_key, r.task.target, r.task.hardware));
        REQUIRE(builder.add(task, builder.source("log.jsonl"), r.schedule, r.measured));
    }
    return std::move(builder).finish();
}

/// One epoch of two, then the user stops; a second call goes on.
augur::tlp::training_report train(augur::tlp::model<float>& net, const std::string& checkpoint, bool stop) {
    const auto data = collected();
    const augur::tlp::row_table table(augur::tlp::schema::ansor(16, 4, 0), data.primitives());
    const auto samples = augur::tlp::make_samples(data, augur::tlp::records_of(data, std::array<std::uint32_t, 2>{0, 1}));
    augur::tlp::training_options o;
    o.epochs = 2;
    o.checkpoint = checkpoint;
    augur::serial_executor serial;
    return take(augur::tlp::train_on_dataset(net, table, data, samples, {}, serial, o, [&](const augur::tlp::training_progress&) { return !stop; }));
}

std::vector<double> scores(const augur::tlp::trained_model& model) {
    std::vector<augur::step_list> schedules;
    for (const auto& r : logged()) schedules.push_back(r.schedule);
    std::vector<float> out(schedules.size());
    augur::serial_executor serial;
    auto scorer = model.scorer(serial);
    REQUIRE(scorer.score(pins::problem(pins::kernels[0]).task, std::span<const augur::step_list>(schedules), std::span<float>(out)));
    return {out.begin(), out.end()};
}

augur::reuse_profile reuse() {
    augur::reuse_profile p(64);
    augur::random_engine rng(1);
    for (int i = 0; i < 300; ++i) {
        const auto octave = rng.below(24), distance = rng.below(std::uint64_t{1} << octave);
        p.add(distance, 1 + rng.below(9));
    }
    p.add_cold(41);
    return p;
}

} // namespace

TEST_CASE("0.1: a log with remarks is read, resumed and continued; a data set file holds the same") {
    pins::book book("files");
    if (lacks("log.jsonl")) write_log();
    augur::log_summary summary;
    const auto records = logged(&summary);
    REQUIRE(records.size() == 12);
    CHECK(summary.ours);
    CHECK(summary.bad == 0);
    CHECK(summary.foreign == 0);
    CHECK(summary.last_sequence == 11);
    CHECK(records[0].task.workload_key == pins::problem(pins::kernels[0]).task.key());
    CHECK(records[11].task.workload_key == "[\"conv2d_nhwc_bias_add_relu6\", 1, 28, 28, 32, 48, 3, 1, 1, 1, 1]");
    CHECK(records[3].task.target == "c -keys=cpu -mcpu=native");
    CHECK(records[3].machine.compiler == "a compiler 1.0");
    CHECK(records[3].measured.timestamp == 1700000000);
    CHECK(records[3].measured.max_error == 0.03125);
    std::string steps;
    std::size_t failed = 0;
    for (const auto& r : records) {
        steps += augur::to_json(r.schedule);
        failed += r.measured.status == augur::outcome::run_timeout ? 1U : 0U;
        CHECK(r.measured.latency() == pins::pretended(r.schedule).latency());
        CHECK(pins::problem(r.sequence < 6 ? pins::kernels[0] : pins::kernels[3]).space.decide(r.schedule));
    }
    book.text("log.steps", failed, steps);
    {
        const copy log("log.jsonl");
        auto writer = take(augur::log_writer::open(log.path));
        CHECK(writer.next_sequence() == 12);
        CHECK(writer.bytes_cut() == 0);
        REQUIRE(writer.append(records[0]));
        CHECK(pins::contents(log.path).starts_with(pins::contents(fixture("log.jsonl"))));
    }
    if (std::endian::native == std::endian::little) { // the file says that it is of such a machine
        const auto built = collected();
        if (lacks("dataset.augur")) REQUIRE(augur::write_dataset(fixture("dataset.augur"), built, origin));
        const auto mapped = take(augur::map_dataset(fixture("dataset.augur"), {augur::content_hash(built), origin}));
        REQUIRE(mapped.size() == 12);
        REQUIRE(mapped.tasks() == 2);
        CHECK(mapped.task(1).key == records[11].task.workload_key);
        CHECK(mapped.task(1).last == 12);
        CHECK(mapped.source(0) == "log.jsonl");
        CHECK(mapped.report().failed == failed);
        for (std::size_t i = 0; i < records.size(); ++i) {
            const auto& seconds = records[i].measured.seconds;
            CHECK(mapped.status(i) == records[i].measured.status);
            CHECK(mapped.seconds(i) == (seconds.empty() ? HUGE_VAL : (seconds[0] + seconds[1] + seconds[2]) / 3));
        }
        book.text("dataset.content", 0, std::to_string(augur::content_hash(mapped)));
    }
}

TEST_CASE("0.1: weights and checkpoints are read, and training goes on from them") {
    pins::book book("weights");
    if (lacks("weights.safetensors")) REQUIRE(augur::tlp::save(tiny(3), fixture("weights.safetensors")));
    const auto model = take(augur::tlp::load(fixture("weights.safetensors"), augur::tlp::schema::ansor(16, 4, 0), "here"));
    REQUIRE(model.model.config == tiny(3).model.config);
    CHECK(same_parameters(model.model, tiny(3).model));
    book.numbers("weights.scores", 0, scores(model), "1e-06");

    if (lacks("checkpoint.safetensors")) {
        augur::tlp::checkpoint c;
        c.run = run_number;
        c.steps = 7;
        c.best = 1;
        c.history = {{0.75, 0.5, 0.625}, {0.5, 0.875, 1}};
        c.model = tiny(1).model;
        c.best_model = tiny(2).model;
        c.first = tiny(3).model;
        c.second = tiny(4).model;
        REQUIRE(augur::tlp::save_checkpoint(c, fixture("checkpoint.safetensors")));
    }
    const auto c = take(augur::tlp::load_checkpoint(fixture("checkpoint.safetensors"), model.model.config, run_number));
    CHECK(c.steps == 7);
    CHECK(c.best == 1);
    CHECK(c.history == std::vector<augur::tlp::epoch_report>{{0.75, 0.5, 0.625}, {0.5, 0.875, 1}});
    CHECK(same_parameters(c.model, tiny(1).model));
    CHECK(same_parameters(c.best_model, tiny(2).model));
    CHECK(same_parameters(c.first, tiny(3).model));
    CHECK(same_parameters(c.second, tiny(4).model));

    auto net = tiny(3).model;
    if (lacks("resume.safetensors")) train(net, fixture("resume.safetensors"), true);
    const copy resume("resume.safetensors");
    auto resumed = tiny(3).model, whole = tiny(3).model;
    const auto report = train(resumed, resume.path, false);
    CHECK(report.resumed_from == 1); // data, options and first weights have the fingerprint that they had
    CHECK(report.history.size() == 2);
    train(whole, "", false);
    book.numbers("resume.scores", 0, scores({model.schema, resumed}), "1e-04");
    book.numbers("resume.scores", 1, scores({model.schema, whole}), "1e-04");
}

TEST_CASE("0.1: files of machines, features, profiles and trees are read") {
    pins::book book("programs");
    if (lacks("machine.json")) write("machine.json", augur::machine_to_json(augur::epyc_zen4()));
    const auto machine = take(augur::read_machine(fixture("machine.json")));
    CHECK(machine == augur::epyc_zen4());
    CHECK(augur::machine_to_json(machine) == pins::contents(fixture("machine.json")));

    if (lacks("features.json")) {
        const pins::problem p("dense:m=16,n=24,k=8,bias");
        augur::loopnest::crop_feature_extractor gather;
        gather.code = augur::loopnest::c_options::of(machine);
        gather.nest.sets = {64};
        write("features.json", augur::features_to_json(take(gather(p.task, pins::schedules(p.space, 1, 1)[0]))));
    }
    const auto text = pins::contents(fixture("features.json"));
    const auto features = take(augur::features_from_json(text));
    CHECK(augur::features_to_json(features) == text);
    CHECK(features.source == "loop nest");
    const auto said = take(augur::crop::predict(features, machine, 2));
    book.numbers("features.predicted", features.functions.size(), std::array{said.seconds, said.cycles, said.levels.front().share}, "1e-06");

    if (lacks("reuse.json")) write("reuse.json", augur::profile_to_json(reuse()));
    const auto profile = take(augur::profile_from_json<augur::reuse_profile>(pins::contents(fixture("reuse.json"))));
    CHECK(profile.cold() == 41);
    CHECK(profile.total() == reuse().total());
    CHECK(profile == reuse());
    if (lacks("sets.json")) write("sets.json", augur::profile_to_json(augur::associativity_profile{64, 512, 100, {40, 20, 10, 5}, 25, 3}));
    CHECK(take(augur::profile_from_json<augur::associativity_profile>(pins::contents(fixture("sets.json")))) ==
          augur::associativity_profile{64, 512, 100, {40, 20, 10, 5}, 25, 3});
#ifdef AUGUR_HAS_XGBOOST
    pins::book trees_book("trees_file");
    const std::vector<float> x{0, 1, 1, 2, 2, 0, 3, 1, 4, 5, 5, 3}, y{0.25, 0.5, 0.125, 0.75, 1, 0.875};
    if (lacks("trees.bin")) {
        augur::boosted_trees_options o;
        o.rounds = 4;
        o.depth = 2;
        write("trees.bin", take(augur::boosted_trees::train({x, 2, y, {}}, o)).save(42));
    }
    const auto trees = take(augur::boosted_trees::load(pins::contents(fixture("trees.bin")), 42));
    CHECK(trees.columns() == 2);
    std::vector<float> out(6);
    REQUIRE(trees.predict(x, out));
    trees_book.numbers("trees.scores", 0, std::vector<double>(out.begin(), out.end()), "1e-06");
#endif
}
