// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_TABLES_ROUND_ROBIN_TREES_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_TABLES_ROUND_ROBIN_TREES_HPP

/// @file
/// Boosted trees with several feature normalisations that select candidates round-robin, with a bounded blend of a second model (decision 18).
/// Needs XGBoost.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/model/bounded_blend.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

namespace examples {

/// Round-robin selection of candidates: the models in turn select their best candidate that is not yet selected, starting with the first model.
/// Candidates with equal rows are the same program; it is selected once, by its highest-scored candidate. Further candidates of selected programs
/// follow only after all programs. Ties go to the lower index.
///
/// @param scores  per model (N) scores, higher is better.   pre: at least one model, no score is NaN
/// @param first   (N) `augur::equal_rows` of the candidates
/// @param most    maximum number of selected candidates
/// @return        at most `most` different indices in the order of selection. O(models N log N)
[[nodiscard]] inline std::vector<std::uint32_t> select_round_robin(std::span<const std::vector<float>> scores, std::span<const std::uint32_t> first,
                                                                   std::size_t most) {
    AUGUR_ASSERT(!scores.empty(), "select_round_robin: no model");
    std::vector<std::vector<std::uint32_t>> orders;
    for (const auto& model_scores : scores) {
        AUGUR_ASSERT(model_scores.size() == first.size(), "select_round_robin: one score per candidate");
        auto& order = orders.emplace_back(first.size());
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return model_scores[a] != model_scores[b] ? model_scores[a] > model_scores[b] : a < b; });
    }
    std::vector<std::uint32_t> out;
    std::vector<bool> proposed(first.size()), known(first.size()); // selected candidates; selected programs, by their first candidate
    for (const bool repeats : {false, true}) {
        std::vector<std::size_t> next(orders.size());
        for (std::size_t turn = 0, idle = 0; out.size() < most && idle < orders.size(); turn = (turn + 1) % orders.size()) {
            const auto& order = orders[turn];
            std::size_t& at = next[turn];
            while (at < order.size() && (proposed[order[at]] || (!repeats && known[first[order[at]]]))) ++at;
            idle = at < order.size() ? 0 : idle + 1;
            if (idle > 0) continue;
            proposed[order[at]] = known[first[order[at]]] = true;
            out.push_back(order[at]);
        }
    }
    return out;
}

/// Training samples of one member of `round_robin_trees`: `augur::task_normalised_samples` for each normalisation.
class round_robin_samples {
public:
    /// pre: columns >= 1, at least one normalisation
    round_robin_samples(std::size_t columns, std::span<const augur::normalisation> methods) {
        AUGUR_ASSERT(!methods.empty(), "round_robin_samples: no normalisation");
        for (const auto method : methods) samples_.emplace_back(columns, method);
    }

    /// Adds the candidates of one task to the samples of each normalisation; the candidates themselves are the reference of the normalisation.
    ///
    /// @param rows    (N, C), finite; N >= 1
    /// @param labels  (N) least latency over latency, 0 for a failure
    /// @note          errors: those of `task_normalised_samples::add`
    [[nodiscard]] augur::result<void> add(std::span<const float> rows, std::span<const float> labels) {
        const std::size_t columns = samples_.front().columns();
        if (rows.empty() || rows.size() % columns != 0)
            return augur::error{augur::errc::shape_mismatch, "round_robin_samples: expected rows of " + std::to_string(columns) + ", got " +
                                                                 std::to_string(rows.size()) + " numbers"};
        for (auto& samples : samples_) {
            const auto all = augur::task_normaliser::fit(rows, columns, samples.method());
            if (auto done = samples.add(all, {rows.begin(), rows.end()}, labels); !done) return done;
        }
        return {};
    }
    [[nodiscard]] std::size_t size() const noexcept { return samples_.front().size(); }
    /// Samples in the order of the normalisations.
    [[nodiscard]] std::span<const augur::task_normalised_samples> by_method() const noexcept { return samples_; }

private:
    std::vector<augur::task_normalised_samples> samples_;
};

/// Selects candidates of kernels whose class is not in the training data. The score of a normalisation is the mean of the members' trees. A value;
/// share it as const.
class round_robin_trees {
public:
    using normalisation = augur::normalisation;
    using trees = augur::task_normalised_trees;

    /// @param methods  normalisations in round-robin order, the best single one first.   pre: at least one
    explicit round_robin_trees(std::vector<normalisation> methods = {normalisation::relative, normalisation::ranked, normalisation::absolute})
        : methods_(std::move(methods)) {
        AUGUR_ASSERT(!methods_.empty(), "round_robin_trees: no normalisation");
    }

    [[nodiscard]] std::span<const normalisation> methods() const noexcept { return methods_; }
    /// Trees by member and normalisation.
    [[nodiscard]] std::span<const std::vector<trees>> members() const noexcept { return members_; }

    /// Trains and adds one member. Errors: those of `task_normalised_trees::train` and of `add`.
    [[nodiscard]] augur::result<void> train(const round_robin_samples& samples, const augur::boosted_trees_options& options = trees::defaults()) {
        std::vector<trees> member;
        for (const auto& one : samples.by_method()) {
            auto trained = trees::train(one, options);
            if (!trained) return trained.error();
            member.push_back(*std::move(trained));
        }
        return add(std::move(member));
    }
    /// Adds one member. Errors: invalid_argument (other normalisations), shape_mismatch (other columns than earlier members).
    [[nodiscard]] augur::result<void> add(std::vector<trees> member) {
        if (!std::equal(member.begin(), member.end(), methods_.begin(), methods_.end(),
                        [](const trees& t, normalisation method) { return t.method() == method; }))
            return augur::error{augur::errc::invalid_argument, "round_robin_trees: expected trees of " + std::to_string(methods_.size()) +
                                                                   " normalisations in their order, got " + std::to_string(member.size()) +
                                                                   " trees of other ones"};
        const std::size_t columns = (members_.empty() ? member : members_.front()).front().columns();
        for (const auto& t : member)
            if (t.columns() != columns)
                return augur::error{augur::errc::shape_mismatch, "round_robin_trees: expected trees of " + std::to_string(columns) +
                                                                     " columns, got " + std::to_string(t.columns())};
        members_.push_back(std::move(member));
        return {};
    }

    /// Selects the candidates of a task to measure, best first: the normalisations take turns (`select_round_robin`), and equal programs are selected
    /// once. `rows` is the reference of the normalisation: pass all candidates or a large sample.
    ///
    /// @param rows           (N, C), finite
    /// @param second_scores  (N) scores of a second model for `blend`, higher is better, no NaN; or empty
    /// @param most           maximum number of selected candidates
    /// Errors: not_found (no member), shape_mismatch; those of `task_normalised_trees::score`. O(N log N C) plus the members' predictions.
    [[nodiscard]] augur::result<std::vector<std::uint32_t>> propose(std::span<const float> rows, std::span<const float> second_scores,
                                                                    std::size_t most, const augur::bounded_blend& blend = {}) const {
        if (members_.empty()) return augur::error{augur::errc::not_found, "round_robin_trees: no member was trained"};
        const std::size_t columns = members_.front().front().columns(), n = rows.size() / columns;
        if (rows.size() != n * columns || (!second_scores.empty() && second_scores.size() != n))
            return augur::error{augur::errc::shape_mismatch, "round_robin_trees: expected rows of " + std::to_string(columns) +
                                                                 " numbers and one second score per row, got " + std::to_string(rows.size()) +
                                                                 " numbers and " + std::to_string(second_scores.size()) + " scores"};
        if (n == 0) return std::vector<std::uint32_t>();
        std::vector<std::vector<float>> scores;
        std::vector<float> member_scores(n);
        for (std::size_t m = 0; m < methods_.size(); ++m) {
            const auto all = augur::task_normaliser::fit(rows, columns, methods_[m]);
            auto& mean = scores.emplace_back(n);
            for (const auto& member : members_) {
                std::vector<float> normalised(rows.begin(), rows.end());
                if (auto done = member[m].score(all, normalised, member_scores); !done) return done.error();
                for (std::size_t i = 0; i < n; ++i) mean[i] += member_scores[i] / static_cast<float>(members_.size());
            }
            if (!second_scores.empty()) blend.add(augur::task_normaliser::fit(second_scores, 1), second_scores, mean);
        }
        return select_round_robin(scores, augur::equal_rows(rows, columns), most);
    }

private:
    std::vector<normalisation> methods_;
    std::vector<std::vector<trees>> members_;
};

} // namespace examples

#endif
