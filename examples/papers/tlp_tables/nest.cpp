// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include <augur/model/task_normaliser.hpp>
#include <augur/io/loopnest/tvm_dag.hpp>
#include <augur/loopnest/features/nest_features.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>

namespace examples {

using augur::error;
using augur::result;

result<void> read_dags(const std::string& path, table_data& set) {
    std::set<std::string, std::less<>> wanted;
    for (std::uint32_t t = 0; t < set.data.tasks(); ++t) wanted.emplace(set.data.task(t).key);
    auto read = read_dags(path, [&](std::string_view key) { return wanted.contains(key); });
    if (!read) return read.error().code == augur::errc::not_found ? result<void>() : read.error();
    for (auto& [key, dag] : *read) set.dags.insert_or_assign(key, std::move(dag));
    return {};
}

result<std::vector<float>> features_of(const table_data& set, std::span<const std::uint32_t> records) {
    if (records.empty()) return std::vector<float>();
    std::uint32_t number = 0; // tasks hold their records one behind the other
    while (set.data.task(number).last <= records.front()) ++number;
    const std::string_view key = set.data.task(number).key;
    const auto known = set.dags.find(key);
    if (known == set.dags.end()) return error{augur::errc::not_found, "no compute DAG of " + std::string(key)};
    auto dag = known->second;
    std::vector<float> out(records.size() * augur::loopnest::nest_feature_count);
    augur::loopnest::nest_extractor extractor;
    augur::recording_sink seen;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto refused = [&](const error& why) { return error{why.code, "record " + std::to_string(records[i]) + ": " + why.detail}; };
        seen.items.clear();
        set.data.visit(records[i]).visit(seen);
        const auto steps = augur::schedule_traits<augur::step_list>::rebuild(key, std::span<const augur::schedule_item>(seen.items));
        if (!steps) return refused(steps.error());
        augur::loopnest::compute_dag told = *dag;
        const auto changed = augur::adopt_extents(told, *steps);
        if (!changed) return refused(changed.error());
        if (*changed) dag = std::make_shared<const augur::loopnest::compute_dag>(std::move(told));
        augur::loopnest::loop_state state(dag);
        if (auto done = state.apply(*steps); !done) return refused(done.error());
        const auto row = std::span(out).subspan(i * augur::loopnest::nest_feature_count, augur::loopnest::nest_feature_count);
        if (auto done = extractor.extract(state, row); !done) return refused(done.error());
    }
    return out;
}

std::optional<std::vector<double>> best_of_programs(const table_data& set, std::span<const std::uint32_t> records, std::span<const double> labels) {
    const auto rows = features_of(set, records);
    if (!rows) return std::nullopt;
    const auto first = augur::equal_rows(*rows, augur::loopnest::nest_feature_count);
    std::vector<double> best(labels.begin(), labels.end());
    for (std::size_t i = 0; i < best.size(); ++i) best[first[i]] = (std::max)(best[first[i]], labels[i]);
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = best[first[i]];
    return best;
}

result<void> score_programs(const table_data& set, std::span<const std::uint32_t> records, augur::random_engine& rng, std::span<float> scores) {
    constexpr std::size_t least = 3;
    const auto rows = features_of(set, records);
    if (!rows) return rows.error();
    const auto first = augur::equal_rows(*rows, augur::loopnest::nest_feature_count);
    std::vector<std::vector<double>> programs(records.size());
    for (std::size_t i = 0; i < records.size(); ++i)
        if (const double s = set.data.seconds(records[i]); std::isfinite(s)) programs[first[i]].push_back(s);
    bool some = false;
    for (auto& p : programs) {
        std::sort(p.begin(), p.end());
        some = some || p.size() >= least;
    }
    std::vector<std::size_t> order; // best first
    for (std::size_t i = 0; i < records.size(); ++i)
        if (std::isfinite(set.data.seconds(records[i]))) order.push_back(i);
    std::vector<double> key(records.size()), chance(records.size());
    for (const auto i : order) {
        const auto& p = programs[first[i]];
        key[i] = !some ? set.data.seconds(records[i]) : p.size() >= least ? p[p.size() / 2] : std::numeric_limits<double>::infinity();
        chance[i] = rng.uniform();
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] != key[b] ? key[a] < key[b] : chance[a] < chance[b]; });
    std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < order.size(); ++i) scores[order[i]] = -static_cast<float>(i);
    return {};
}

} // namespace examples
