// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cells of the tables that boosted trees have a part in.
#include <numeric>
#include <utility>

#include <augur/tlp/row_table.hpp>
#include <augur/loopnest/features/nest_features.hpp>

#ifdef AUGUR_HAS_XGBOOST
#include "tlp_trees.hpp"
#include "round_robin_trees.hpp"
#endif

#include "draw.hpp"
#include "nest.hpp"

namespace examples {

using augur::errc;
using augur::error;
using augur::result;

result<cell_score> cell_runner::trees([[maybe_unused]] const table_cell& cell, [[maybe_unused]] std::uint64_t seed) const {
#ifdef AUGUR_HAS_XGBOOST
    const std::string& platform = cell.heads.front().platform;
    const table_data& set = *world_->find(platform);
    recipe r = recipe_for(cell, 1, seed);
    r.split_by_record = false; // nothing is chosen by validation here
    const drawn parts = draw(set, r, cell.heads, budget_.records, seed);
    const auto samples = augur::tlp::make_samples(set.data, parts.train, {r.failures, false});
    const augur::tlp::row_table table(r.schema, set.data.primitives());
    augur::boosted_trees_options options;
    if (cell.method == table_method::trees_ranking) options.objective = augur::tree_objective::rank_pairwise;
    options.seed = seed;
    options.threads = static_cast<std::uint32_t>(threads_->concurrency());
    const auto trees = tlp_trees::train(table, set.data, samples.records, samples.labels, samples.groups, options);
    if (!trees) return trees.error();
    cell_score out;
    result<void> fine;
    judge_cell(
        cell,
        [&](std::span<const std::uint32_t> members) {
            std::vector<float> scores(members.size());
            if (auto done = trees->score_records(table, set.data, members, scores); !done) fine = done.error();
            return scores;
        },
        out);
    if (!fine) return fine.error();
    out.samples = samples.size();
    return out;
#else
    return error{errc::unsupported, missing_here(cell)};
#endif
}

result<cell_score> cell_runner::nest_trees([[maybe_unused]] const table_cell& cell, [[maybe_unused]] std::uint64_t first_seed,
                                           [[maybe_unused]] const table_scores& language, [[maybe_unused]] cell_score out) const {
#ifdef AUGUR_HAS_XGBOOST
    const std::string& platform = cell.heads.front().platform;
    const table_data& set = *world_->find(platform);
    constexpr auto columns = augur::loopnest::nest_feature_count;
    round_robin_trees trees = language ? round_robin_trees() : round_robin_trees({augur::normalisation::relative});
    std::size_t samples_of_first = 0;
    for (std::size_t m = 0; m < cell.members; ++m) {
        const std::uint64_t seed = cell.members * (first_seed - 1) + 1 + m;
        const recipe r = recipe_for(cell, 1, seed);
        const drawn parts = draw(set, r, cell.heads, cell.full ? budget_.full_records : budget_.records, seed);
        const augur::tlp::training_samples samples = augur::tlp::make_samples(set.data, parts.train, {r.failures, false});
        round_robin_samples known(columns, trees.methods());
        for (std::size_t i = 0, end = 0; i < samples.size(); i = end) {
            while (end < samples.size() && samples.groups[end] == samples.groups[i]) ++end;
            const auto rows = features_of(set, std::span(samples.records).subspan(i, end - i));
            if (!rows && rows.error().code == errc::not_found) continue; // no DAG: the row says of how many samples it was trained
            if (!rows) return rows.error();
            if (auto done = known.add(*rows, std::span(samples.labels).subspan(i, end - i)); !done) return done.error();
        }
        augur::boosted_trees_options options = augur::task_normalised_trees::defaults();
        options.seed = seed;
        options.threads = static_cast<std::uint32_t>(threads_->concurrency());
        if (auto done = trees.train(known, options); !done) return done.error();
        if (m == 0) samples_of_first = known.size();
    }
    result<void> fine;
    judge_cell(
        cell,
        [&](std::span<const std::uint32_t> records) {
            std::vector<float> place(records.size(), -static_cast<float>(records.size()));
            const auto rows = features_of(set, records);
            const auto said = language ? language(records) : std::vector<float>();
            const auto proposed = rows ? trees.propose(*rows, said, records.size()) : rows.error();
            if (!proposed) fine = proposed.error();
            else
                for (std::size_t i = 0; i < proposed->size(); ++i) place[(*proposed)[i]] = -static_cast<float>(i);
            return place;
        },
        out);
    if (!fine) return fine.error();
    if (!language) out.samples = samples_of_first;
    return out;
#else
    return error{errc::unsupported, missing_here(cell)};
#endif
}

} // namespace examples
