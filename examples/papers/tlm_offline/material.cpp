// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlm_offline.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/tlm/sentence.hpp>

#include "console.hpp"

namespace tlm_offline {

namespace {

using augur::errc;
using augur::error;
using augur::result;

/// A task with the points of some of its records.
struct found_points {
    judged_task task;
    std::size_t outside = 0, equal = 0; ///< records that are no point, or the point of an earlier one
};

/// The points of the records in this order, each once and with its least latency; after a request to stop they are not all.
found_points points_of(const recorded_task& task, ansor_space space, std::span<const std::size_t> records) {
    found_points out{{std::move(space), task.name, task.prompt, {}, {}, {}, {}}};
    auto& one = out.task;
    std::map<decision_vector, std::size_t> known;
    for (const auto r : records) {
        if (examples::stop_requested()) break;
        const auto point = task.point(one.space, r);
        const auto text = point ? tlm::sentence_text("", one.space, *point) : result<std::string>(point.error());
        if (!text) {
            ++out.outside;
            continue;
        }
        const auto [at, is_new] = known.try_emplace(*point, one.points.size());
        if (is_new) {
            one.points.push_back(*point);
            one.seconds.push_back(task.seconds[r]);
            std::size_t length = 0;
            tlm::vocabulary::each_word(*text, [&](std::string_view word) {
                if (!one.words.contains(word)) one.words.emplace(word);
                ++length;
            });
            one.lengths.push_back(static_cast<double>(length));
        } else {
            ++out.equal;
            one.seconds[at->second] = (std::min)(one.seconds[at->second], task.seconds[r]);
        }
    }
    return out;
}

} // namespace

std::vector<std::size_t> fastest_first(std::span<const double> seconds) {
    std::vector<std::size_t> order(seconds.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return seconds[a] != seconds[b] ? seconds[a] < seconds[b] : a < b; });
    return order;
}

result<material> prepare(const wishes& w, const std::vector<recorded_task>& tasks, examples::executor& threads) {
    const augur::random_engine rng(w.seed);
    material out;
    std::vector<std::pair<std::size_t, std::size_t>> pool; // task, record
    std::vector<std::size_t> candidates;
    std::size_t too_few = 0;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        out.prompts.push_back(tasks[t].prompt);
        if (tasks[t].tested) {
            if (tasks[t].seconds.size() >= w.least_records) candidates.push_back(t);
            else ++too_few;
            continue;
        }
        auto order = fastest_first(tasks[t].seconds);
        order.resize((std::min)(order.size(), (std::max)(order.size() * w.fastest / 100, std::size_t{4})));
        for (const auto r : order) pool.emplace_back(t, r);
    }
    const auto all_fast = pool.size(), all_candidates = candidates.size();
    rng.stream(0).shuffle(std::span(pool));
    pool.resize((std::min)(pool.size(), *std::max_element(w.counts.begin(), w.counts.end())));
    out.spaces.resize(tasks.size());
    std::vector<std::uint8_t> is_used(tasks.size(), 0);
    std::set<std::string> learned_prompts;
    for (const auto& one : pool) {
        is_used[one.first] = 1;
        learned_prompts.insert(tasks[one.first].prompt);
    }
    threads.bulk(tasks.size(), [&](std::size_t t) {
        if (is_used[t] == 0 || examples::stop_requested()) return;
        if (auto space = ansor_space::create(tasks[t].dag, tasks[t].options)) out.spaces[t].emplace(*std::move(space));
    });
    examples::progress_line line;
    line.show(0, pool.size(), "records to learn from: finding their points", true);
    std::vector<std::optional<decision_vector>> points(pool.size());
    threads.bulk(pool.size(), [&](std::size_t i) {
        const auto& space = out.spaces[pool[i].first];
        if (!space || examples::stop_requested()) return;
        if (auto point = tasks[pool[i].first].point(*space, pool[i].second)) points[i].emplace(*std::move(point));
    });
    for (std::size_t i = 0; i < pool.size(); ++i)
        if (points[i]) out.lessons.push_back({pool[i].first, *std::move(points[i]), tasks[pool[i].first].seconds[pool[i].second]});

    rng.stream(1).shuffle(std::span(candidates));
    candidates.resize((std::min)(candidates.size(), w.tasks));
    std::vector<std::optional<found_points>> found(candidates.size());
    line.show(0, candidates.size(), "tasks to be judged by: finding their points", true);
    threads.bulk(candidates.size(), [&](std::size_t i) {
        const auto& task = tasks[candidates[i]];
        auto space = ansor_space::create(task.dag, task.options);
        if (!space) return;
        std::vector<std::size_t> order(task.seconds.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        rng.stream(2).stream(candidates[i]).shuffle(std::span(order));
        order.resize((std::min)(order.size(), w.records));
        found[i].emplace(points_of(task, *std::move(space), order));
    });
    line.clear();
    if (examples::stop_requested()) return stopped();
    std::size_t judged_points = 0, known_prompts = 0, outside = 0, equal = 0;
    for (auto& one : found) {
        if (!one) continue;
        outside += one->outside;
        equal += one->equal;
        if (one->task.points.empty()) continue;
        judged_points += one->task.points.size();
        known_prompts += learned_prompts.contains(one->task.prompt) ? 1 : 0;
        out.tested.push_back(std::move(one->task));
    }
    std::printf(
        "to learn from: the fastest %zu %% of the records of each task, at least 4, are %zu; %zu drawn, of which %zu are no points of the spaces\n"
        "to be judged by: %zu of %zu tasks with at least %zu records (%zu have fewer), %zu points; %zu equal records are one, %zu are no points; "
        "%zu of the tasks have the prompt of one that is learned from\n",
        w.fastest, all_fast, pool.size(), pool.size() - out.lessons.size(), out.tested.size(), all_candidates, w.least_records, too_few,
        judged_points, equal, outside, known_prompts);
    if (out.lessons.empty()) return error{errc::not_found, "expected records to learn from, there are none"};
    if (out.tested.empty())
        return error{errc::not_found,
                     "expected a task of a test network with at least " + std::to_string(w.least_records) + " records, there is none"};
    return out;
}

result<augur::dataset> corpus_of(const material& m, std::size_t count, examples::executor& threads) {
    constexpr std::size_t n_parts = 64; // as many on any number of threads, so that the corpus is the same
    std::vector<augur::dataset_builder> parts(n_parts);
    std::vector<std::optional<error>> failed(n_parts);
    threads.bulk(n_parts, [&](std::size_t p) {
        const auto source = parts[p].source("logs");
        for (std::size_t i = p * count / n_parts; i < (p + 1) * count / n_parts && !failed[p]; ++i) {
            const auto& one = m.lessons[i];
            if (auto added = tlm::add_sentence(parts[p], source, m.prompts[one.task], *m.spaces[one.task], one.point, one.seconds); !added)
                failed[p] = added.error();
        }
    });
    augur::dataset_builder all;
    for (std::size_t p = 0; p < n_parts; ++p) {
        if (failed[p]) return *failed[p];
        if (auto merged = all.merge(std::move(parts[p])); !merged) return merged.error();
    }
    return std::move(all).finish();
}

} // namespace tlm_offline
