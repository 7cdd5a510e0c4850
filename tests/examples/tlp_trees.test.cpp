// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boosted trees on TLP's features, the baseline of several programs: what they learn and refuse, on made-up and on real logs.
#include <doctest/doctest.h>

#ifndef AUGUR_HAS_XGBOOST
TEST_CASE("tlp_trees is not built: it needs XGBoost") {}
#else

#include "../../examples/support/tlp_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/io/ansor_dataset.hpp>
#include <augur/tlp/train/samples.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/split.hpp>
#include <augur/dataset/top_k.hpp>
#include <augur/schedule/steps.hpp>

#include "../may_skip.hpp"

namespace tlp_trees_test {

using namespace augur;
using examples::tlp_flat_features;
using examples::tlp_trees;
using examples::tlp_trees_online;
using examples::tlp_trees_online_options;

namespace {

struct kernel_task {
    std::string name;
    [[nodiscard]] std::string_view key() const { return name; }
};

/// A tiled loop: the tile and whether it is vectorised decide the latency, the task only scales it. A sixth fails.
struct kernel_log {
    dataset data;
    std::vector<step_list> schedules; ///< by record
    std::vector<measurement> measured;
    std::vector<std::uint32_t> task_of;

    explicit kernel_log(std::size_t tasks, std::size_t records = 60) {
        dataset_builder builder;
        augur::random_engine rng(7);
        for (std::size_t t = 0; t < tasks; ++t) {
            const auto task = builder.task("[\"kernel\", " + std::to_string(t) + "]", "llvm", {});
            REQUIRE(task);
            for (std::size_t i = 0; i < records; ++i) {
                const auto inner = static_cast<std::int64_t>(rng.below(6)), outer = static_cast<std::int64_t>(rng.below(6));
                step_list s;
                s.steps.emplace_back(split_step{2, 0, 512, {std::int64_t{1} << outer, std::int64_t{1} << inner}, true});
                s.steps.emplace_back(annotate_step{2, 1, loop_annotation::parallel});
                if (rng.below(2) == 0) s.steps.emplace_back(annotate_step{2, 3, loop_annotation::vectorize});
                measurement m;
                m.status = outer == 5 ? outcome::run_memory : outcome::ok;
                const double slow = 6 - static_cast<double>(inner) + 0.3 * static_cast<double>(outer);
                if (m.ok()) m.seconds = {1e-3 * static_cast<double>(t + 1) * slow * (s.steps.size() == 3 ? 0.5 : 1.0)};
                REQUIRE(builder.add(*task, builder.source("log"), s, m));
                schedules.push_back(std::move(s));
                measured.push_back(std::move(m));
                task_of.push_back(*task);
            }
        }
        data = std::move(builder).finish({.merge_equal = false});
    }
    [[nodiscard]] std::vector<std::uint32_t> records(std::uint32_t first, std::uint32_t last) const {
        std::vector<std::uint32_t> tasks;
        for (std::uint32_t t = first; t < last; ++t) tasks.push_back(t);
        return tlp::records_of(data, tasks);
    }
};

boosted_trees_options small() {
    boosted_trees_options o;
    o.rounds = 60;
    return o;
}

/// The score of some tasks.
top_k_score judge(const tlp_trees& model, const tlp::row_table& table, const dataset& data, const std::vector<std::uint32_t>& tasks) {
    top_k_score sum({1, 5});
    for (const std::uint32_t t : tasks) {
        const auto samples = tlp::make_samples(data, tlp::records_of(data, std::span(&t, 1)));
        std::vector<float> scores(samples.size());
        REQUIRE(model.score_records(table, data, samples.records, scores));
        sum.add(std::span<const float>(scores), std::span<const float>(samples.labels), samples.least[0]);
    }
    return sum;
}

std::filesystem::path logs_folder() {
    const char* const set = std::getenv("AUGUR_DATA");
    const auto folder = set != nullptr ? std::filesystem::path(set) : std::filesystem::path(AUGUR_TEST_DIR) / ".." / ".." / "shared" / "data";
    return folder / "ansor-x86-24core";
}

} // namespace

static_assert(cost_model<tlp_trees, step_list, kernel_task> && cost_model<const tlp_trees, step_list, kernel_task>);
static_assert(trainable_cost_model<tlp_trees_online<step_list, kernel_task>, step_list, kernel_task>);

TEST_CASE("tlp trees: flat features are the matrix that tlp_features writes") {
    const kernel_log log(2);
    for (const auto& schema : {tlp::schema::authors_cpu(), tlp::schema::authors_cpu(2, 14), tlp::schema::ansor(4, 6, 3)}) {
        const tlp::row_table table(schema, log.data.primitives());
        const std::size_t width = schema.rows * schema.columns;
        std::vector<float> flat(width, 7), whole(width);
        for (std::uint32_t r = 0; r < log.data.size(); ++r) {
            std::fill(whole.begin(), whole.end(), 0.0F);
            REQUIRE(tlp::extract_features(log.schedules[r], schema, std::span<float>(whole)));
            CHECK(tlp_flat_features(log.data.schedule(r), table, flat));
            CHECK(flat == whole);
        }
    }
}

TEST_CASE("tlp trees learn what makes a kernel fast and tell it of kernels they have not seen") {
    const kernel_log log(8);
    const tlp::row_table table(tlp::schema::authors_cpu(), log.data.primitives());
    const auto samples = tlp::make_samples(log.data, log.records(0, 6));
    for (const auto objective : {tree_objective::squared_error, tree_objective::rank_pairwise}) {
        auto o = small();
        o.objective = objective;
        const auto model = tlp_trees::train(table, log.data, samples.records, samples.labels, samples.groups, o);
        REQUIRE(model);
        CHECK(model->refused() == 0);
        const auto score = judge(*model, table, log.data, {6, 7});
        CHECK(score.tasks() == 2);
        CHECK(score.score(0) > 0.9);
        CHECK(score.score(1) > 0.99);

        // as a cost model it says of a schedule what it says of the record
        std::vector<float> of_records(log.data.size()), of_schedules(log.data.size());
        REQUIRE(model->score_records(table, log.data, log.records(0, 8), of_records));
        REQUIRE(model->score(kernel_task{}, std::span<const step_list>(log.schedules), of_schedules));
        CHECK(of_records == of_schedules);

        const auto again = tlp_trees::load(model->save(), tlp::schema::authors_cpu());
        REQUIRE(again);
        REQUIRE(again->score(kernel_task{}, std::span<const step_list>(log.schedules), of_schedules));
        CHECK(of_records == of_schedules);
        CHECK(tlp_trees::load(model->save(), tlp::schema::authors_cpu(25, 40)).error().code == errc::version_mismatch);
        CHECK(tlp_trees::make(tlp::schema::authors_cpu(25, 40), model->trees()).error().code == errc::shape_mismatch);
        const tlp::row_table other(tlp::schema::authors_cpu(25, 40), log.data.primitives());
        CHECK(model->score_records(other, log.data, log.records(0, 8), of_records).error().code == errc::version_mismatch);
        CHECK(model->score(kernel_task{}, std::span<const step_list>(log.schedules), std::span(of_schedules).first(3)).error().code ==
              errc::shape_mismatch);
    }
}

TEST_CASE("tlp trees: a word that the vocabulary does not know is no score, and no lesson") {
    kernel_log log(1);
    log.schedules[3].steps.emplace_back(storage_align_step{1, 0, 2, 3}); // the authors' vocabulary has no SA
    dataset_builder builder;
    const auto task = builder.task("k", "llvm", {});
    REQUIRE(task);
    for (std::size_t i = 0; i < log.schedules.size(); ++i) REQUIRE(builder.add(*task, builder.source("log"), log.schedules[i], log.measured[i]));
    const dataset data = std::move(builder).finish({.merge_equal = false});
    const tlp::row_table table(tlp::schema::authors_cpu(), data.primitives());
    const std::uint32_t first = 0;
    const auto samples = tlp::make_samples(data, tlp::records_of(data, std::span(&first, 1)));
    const auto model = tlp_trees::train(table, data, samples.records, samples.labels, samples.groups, small());
    REQUIRE(model);
    CHECK(model->refused() == 1);
    std::vector<float> a(data.size()), b(data.size());
    REQUIRE(model->score_records(table, data, samples.records, a));
    REQUIRE(model->score(kernel_task{}, std::span<const step_list>(log.schedules), b));
    CHECK(a == b);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::isinf(a[i]) == (i == 3));
    CHECK(tlp_trees::train(table, data, samples.records, {}, samples.groups).error().code == errc::shape_mismatch);
}

TEST_CASE("tlp trees online: what is learned depends on the records alone") {
    const kernel_log log(4);
    const std::vector<kernel_task> tasks{{"a"}, {"b"}, {"c"}, {"d"}};
    std::vector<observation<step_list, kernel_task>> seen;
    for (std::size_t i = 0; i < log.schedules.size(); ++i) { // the tasks take turns
        const std::size_t r = (i % 4) * 60 + i / 4;
        seen.push_back({&tasks[log.task_of[r]], &log.schedules[r], &log.measured[r]});
    }
    tlp_trees_online_options options;
    options.trees = small();
    tlp_trees_online<step_list, kernel_task> often(options), once(options);
    std::vector<float> a(log.schedules.size()), b(a.size());
    const std::span<const step_list> batch(log.schedules);
    REQUIRE(often.score(tasks[0], batch, a));
    CHECK(std::all_of(a.begin(), a.end(), [](float s) { return s == 0; }));
    REQUIRE(often.update({}));
    for (std::size_t n = 1; n <= seen.size(); ++n) REQUIRE(often.update(std::span(seen).first(n)));
    CHECK(often.trained_on() == 128);
    REQUIRE(once.update(seen));
    REQUIRE((often.model() != nullptr && once.model() != nullptr));
    CHECK(often.model()->save() == once.model()->save());

    REQUIRE(once.score(tasks[0], batch, b));
    top_k_score sum({1});
    for (std::size_t t = 0; t < 4; ++t) {
        const auto l = labels(log.data, t);
        sum.add(std::span<const float>(b).subspan(t * 60, 60), std::span<const double>(l.values), l.min_seconds);
    }
    CHECK(sum.score(0) > 0.9);
}

TEST_CASE("tlp trees on real logs, by networks" MAY_SKIP) {
    // resnet_50, mobilenet_v2 and resnext_50 are held out; 39 000 training records, failures among them. Short: 4 000 and 60 trees; a single failed
    // program picked first then takes all of top-1, so top-5 alone is asked
    const auto folder = logs_folder();
    if (!std::filesystem::exists(folder)) SKIP_CASE("no data (AUGUR_DATA)");
#ifdef AUGUR_TEST_SLOW
    const double wanted = 39000, least_top_1 = 0.5, least_top_5 = 0.85;
    boosted_trees_options options;
#else
    const double wanted = 4000, least_top_1 = 0, least_top_5 = 0.7;
    auto options = small();
#endif
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    dataset_builder builder;
    serial_executor executor;
    const auto reports = read_ansor_logs(paths, executor, builder);
    if (!reports && reports.error().code == errc::unsupported) SKIP_CASE(reports.error().detail);
    REQUIRE(reports);
    const dataset data = std::move(builder).finish();
    const std::string_view held[] = {"resnet_50", "mobilenet_v2", "resnext_50"};
    const auto flags = held_out_by_source(data, held);
    REQUIRE(flags);
    const auto split = split_tasks(data, *flags);
    const double share = wanted / static_cast<double>(tlp::records_of(data, split.train).size());
    const auto samples = tlp::make_samples(data, draw_records(data, split.train, share));
    const tlp::row_table table(tlp::schema::authors_cpu(), data.primitives());
    for (const auto objective : {tree_objective::squared_error, tree_objective::rank_pairwise}) {
        options.objective = objective;
        const auto model = tlp_trees::train(table, data, samples.records, samples.labels, samples.groups, options);
        REQUIRE(model);
        CHECK(model->refused() == 0);
        const auto score = judge(*model, table, data, split.test);
        const std::string name = objective == tree_objective::squared_error ? "squared error" : "pairwise rank";
        MESSAGE(samples.size() << " records, " << name << ": top-1 " << score.score(0) << ", top-5 " << score.score(1) << " over " << score.tasks()
                               << " tasks, " << score.without_record() << " without a valid record");
        CHECK(score.score(0) > least_top_1);
        CHECK(score.score(1) > least_top_5);
    }
}

} // namespace tlp_trees_test

#endif
