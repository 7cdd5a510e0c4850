// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "draw.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <augur/dataset/split.hpp>
#include <augur/dataset/top_k.hpp>

#include "nest.hpp"

namespace examples {
namespace {

table_records share_of(const table_records& all, double share) {
    const auto n = static_cast<std::size_t>(std::llround(share * static_cast<double>(all.size())));
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>((std::clamp)(n, std::size_t{all.empty() ? 0U : 1U}, all.size()))};
}

} // namespace

drawn draw(const table_data& set, const recipe& r, const std::vector<table_head>& heads, std::size_t most, std::uint64_t seed) {
    drawn out;
    const augur::task_split split = augur::split_tasks(set.data, set.held_out, 0.1, seed);
    for (const table_head& head : heads) {
        const auto limited = [&](std::size_t all) {
            return most > 0 && all > 0 ? (std::min)(head.share, static_cast<double>(most) / static_cast<double>(all)) : head.share;
        };
        table_records train, validation;
        if (r.split_by_record) {
            auto tasks = set.on(head.platform, split.train);
            const auto more = set.on(head.platform, split.validation);
            tasks.insert(tasks.end(), more.begin(), more.end());
            const augur::record_split both = augur::split_records(set.data, tasks, 0.1, seed);
            const double share = limited(both.train.size()); // in the order of a permutation: the first ones are drawn
            train = share_of(both.train, share);
            validation = share_of(both.validation, share);
        } else {
            const auto tasks = set.on(head.platform, split.train);
            train = augur::draw_records(set.data, tasks, limited(augur::tlp::records_of(set.data, tasks).size()), seed);
            validation = augur::draw_records(set.data, set.on(head.platform, split.validation), head.share, seed);
        }
        out.train.push_back(std::move(train));
        out.validation.push_back(out.validation.empty() ? std::move(validation) : table_records());
    }
    return out;
}

augur::tlp::label_options labels_of(const recipe& r) { return {r.failures, r.failures != augur::label_rule::faithful}; }

void judge(const table_data& set, std::string_view platform, const table_scores& score, const std::map<std::uint32_t, std::string>& left_out,
           cell_score& out) {
    std::vector<augur::top_k_score> sums(1 + set.test_networks.size(), augur::top_k_score({1, 5}));
    augur::top_k_score programs({1, 5});
    top_scores mean{0, 0}; // a task is a task, however long it takes
    bool all_known = !set.dags.empty();
    for (const std::uint32_t t : set.test(platform)) {
        const augur::dataset_task task = set.data.task(t);
        if (const auto why = left_out.find(t); why != left_out.end()) {
            out.without_nest.push_back(why->second);
            continue;
        }
        table_records members(static_cast<std::size_t>(task.last - task.first));
        std::iota(members.begin(), members.end(), static_cast<std::uint32_t>(task.first));
        const augur::task_labels labels = augur::labels(set.data, t);
        const std::vector<float> scores = score(std::span<const std::uint32_t>(members));
        const auto add = [&](augur::top_k_score& sum) {
            sum.add(std::span<const float>(scores), std::span<const double>(labels.values), labels.min_seconds);
        };
        add(sums[0]);
        augur::top_k_score alone({1, 5});
        add(alone);
        if (alone.tasks() > 0) mean = {mean.top_1 + alone.score(0), mean.top_5 + alone.score(1)};
        for (std::size_t n = 0; n < set.test_networks.size(); ++n)
            for (const std::uint32_t s : task.sources)
                if (set.data.source(s) == set.test_networks[n]) add(sums[1 + n]);
        const auto best = best_of_programs(set, members, labels.values);
        all_known = all_known && best.has_value();
        if (all_known) programs.add(std::span<const float>(scores), std::span<const double>(*best), labels.min_seconds);
    }
    out.together = {sums[0].score(0), sums[0].score(1)};
    out.tasks = sums[0].tasks();
    out.without_record = sums[0].without_record();
    for (std::size_t n = 0; n < set.test_networks.size(); ++n)
        if (sums[1 + n].tasks() > 0) out.networks.emplace_back(set.test_networks[n], top_scores{sums[1 + n].score(0), sums[1 + n].score(1)});
    const auto judged = static_cast<double>((std::max)(out.tasks, std::size_t{1}));
    out.networks.emplace_back("mean of tasks", top_scores{mean.top_1 / judged, mean.top_5 / judged});
    if (all_known && programs.tasks() > 0) out.networks.emplace_back("by program", top_scores{programs.score(0), programs.score(1)});
}

} // namespace examples
