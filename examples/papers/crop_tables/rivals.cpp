// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models that learn from some of the measured programs, on the same tasks: what Crop does without.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/online.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>

#ifdef AUGUR_HAS_XGBOOST
#include "tlp_trees.hpp"
#endif

#include "crop_tables.hpp"
#include "executor.hpp"

namespace examples {

namespace {

using augur::result;
using records = std::vector<std::uint32_t>;

/// All programs; the tasks are those of `tasks`, a task's records its programs.
result<augur::dataset> dataset_of(const std::vector<measured_task>& tasks) {
    augur::dataset_builder out;
    const auto source = out.source("measured");
    for (const auto& t : tasks) {
        const auto number = out.task(t.name, "", {});
        if (!number) return number.error();
        for (const auto& p : t.programs) {
            augur::measurement m;
            m.status = augur::outcome::ok;
            m.seconds = {p.seconds};
            if (auto added = out.add(*number, source, p.steps, m); !added) return added.error();
        }
    }
    augur::dataset_options keep;
    keep.merge_equal = false;
    auto data = std::move(out).finish(keep);
    if (data.tasks() != tasks.size()) return augur::error{augur::errc::invalid_argument, "two tasks have one name"};
    return data;
}

/// A share of the programs of some tasks, from as many tasks as can give four: of fewer no order is learned.
records draw(const augur::dataset& data, std::vector<std::uint32_t> tasks, double share, augur::random_engine rng) {
    const records all = augur::tlp::records_of(data, tasks);
    if (share >= 1) return all;
    const auto wanted = static_cast<std::size_t>((std::max)(2LL, std::llround(share * static_cast<double>(all.size()))));
    rng.shuffle(std::span(tasks));
    tasks.resize(std::clamp(wanted / 4, std::size_t{1}, tasks.size()));
    records out;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        records own = augur::tlp::records_of(data, std::span(tasks).subspan(i, 1));
        rng.shuffle(std::span(own));
        own.resize((std::min)(own.size(), wanted * (i + 1) / tasks.size() - wanted * i / tasks.size()));
        out.insert(out.end(), own.begin(), own.end());
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// Trains on some records and scores others, higher is better: the options are those with which the models learn in the tuning loop.
using rival = result<std::vector<float>> (*)(const augur::dataset& data, const augur::tlp::training_samples& train, const records& judged,
                                             std::uint64_t seed, executor& threads);

result<std::vector<float>> tlp_scores(const augur::dataset& data, const augur::tlp::training_samples& train, const records& judged,
                                      std::uint64_t seed, executor& threads) {
    augur::tlp::online_options o;
    o.fit.seed = seed;
    const augur::tlp::row_table table(o.schema, data.primitives());
    auto net = augur::tlp::model<float>::random_init(o.config.with_input(o.schema), augur::random_engine(seed).stream(0));
    augur::tlp::deduplicated_batch bags(o.schema.columns, net.config.order());
    for (const auto r : train.records)
        if (!bags.add(data.schedule(r), table)) return augur::error{augur::errc::unknown_primitive, "a schedule beyond TLP's vocabulary"};
    (void)augur::tlp::fit_online(net, bags, train.labels, train.groups, threads, o.fit);
    augur::tlp::forward_backward<float> pass;
    return augur::tlp::record_scores(net, table, data, judged, threads, pass);
}

result<std::vector<float>> tree_scores([[maybe_unused]] const augur::dataset& data, [[maybe_unused]] const augur::tlp::training_samples& train,
                                       [[maybe_unused]] const records& judged, [[maybe_unused]] std::uint64_t seed,
                                       [[maybe_unused]] executor& threads) {
#ifdef AUGUR_HAS_XGBOOST
    const tlp_trees_online_options o;
    const augur::tlp::row_table table(o.schema, data.primitives());
    auto how = o.trees;
    how.seed = seed;
    how.threads = static_cast<std::uint32_t>(threads.concurrency());
    const auto trees = tlp_trees::train(table, data, train.records, train.labels, train.groups, how);
    if (!trees) return trees.error();
    std::vector<float> scores(judged.size());
    if (auto done = trees->score_records(table, data, judged, scores); !done) return done.error();
    return scores;
#else
    return augur::error{augur::errc::unsupported, "built without XGBoost"};
#endif
}

} // namespace

result<std::vector<score_row>> learned_rows(const std::vector<measured_task>& tasks, const rival_options& o, progress_line& progress) {
    std::vector<score_row> out;
    if (o.seeds == 0) return out;
    if (tasks.size() < 2) {
        out.push_back({"learned models", false, {}, "one task: there is no other one to learn from"});
        return out;
    }
    const auto data = dataset_of(tasks);
    if (!data) return data.error();
    executor threads;
    const std::size_t folds = std::clamp(o.folds, std::size_t{2}, tasks.size());
    constexpr std::array shares{1.0, 0.05, 0.005};
    constexpr std::array models{std::pair<const char*, rival>{"TLP", tlp_scores}, std::pair<const char*, rival>{"boosted trees", tree_scores}};
    std::size_t done = 0;
    for (const auto& [name, scores_by] : models)
        for (const double share : shares) {
            score_row row{text_of("%s, %g %% of other tasks", name, 100 * share), false, std::vector<task_score>(tasks.size()), {}};
            std::size_t learned = 0;
            for (std::uint64_t seed = o.seed; seed < o.seed + o.seeds && row.note.empty(); ++seed) {
                std::vector<std::uint32_t> order(tasks.size()); // the tasks of a fold are `folds` apart
                std::iota(order.begin(), order.end(), 0U);
                augur::random_engine(seed).shuffle(std::span(order));
                for (std::size_t fold = 0; fold < folds; ++fold) {
                    if (stop_requested().load()) return augur::error{augur::errc::interrupted, "stopped"};
                    progress.show(done++, models.size() * shares.size() * o.seeds * folds, row.name, fold == 0);
                    std::vector<std::uint32_t> own, others;
                    for (std::size_t i = 0; i < order.size(); ++i) (i % folds == fold ? own : others).push_back(order[i]);
                    std::sort(others.begin(), others.end());
                    const auto train = augur::tlp::make_samples(*data, draw(*data, others, share, augur::random_engine(seed).stream(fold)),
                                                                {augur::label_rule::zero, true});
                    const auto judged = augur::tlp::records_of(*data, own);
                    const auto scores = scores_by(*data, train, judged, seed, threads);
                    if (!scores && scores.error().code != augur::errc::unsupported) return scores.error();
                    if (!scores) {
                        row.note = scores.error().detail;
                        break;
                    }
                    learned += train.size();
                    std::size_t at = 0;
                    for (const auto t : own) {
                        std::vector<double> slowness;
                        while (slowness.size() < tasks[t].programs.size()) slowness.push_back(-static_cast<double>((*scores)[at++]));
                        add_score(row.scores[t], score_of(slowness, times_of(tasks[t])), 1 / static_cast<double>(o.seeds));
                    }
                }
            }
            if (row.note.empty()) row.note = text_of("%.0f programs", static_cast<double>(learned) / static_cast<double>(o.seeds * folds));
            else row.scores.clear();
            out.push_back(std::move(row));
        }
    progress.clear();
    return out;
}

} // namespace examples
