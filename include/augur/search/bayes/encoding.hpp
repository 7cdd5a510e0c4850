// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_ENCODING_HPP
#define AUGUR_SEARCH_BAYES_ENCODING_HPP

/// @file
/// Points of a described space as vectors in the unit cube, from the words of their options.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/describe.hpp>

namespace augur::inline v0 {

/// A point in its own words: what it says of each column that it has. `encode` makes a matrix of many.
struct word_features {
    enum class kind : std::uint8_t {
        fraction, ///< within 0 and 1
        number,   ///< of any size: its rank among the numbers of all points counts
        category, ///< 1 where the point has this word, else 0
    };
    struct entry {
        std::uint64_t column;   ///< hash of the decision's name, and of what the column says of it
        std::uint64_t decision; ///< hash of the decision's name
        kind type;
        double value;
    };
    std::vector<entry> entries;
};

/// The words of a point:
///
/// - of a factorisation the logarithms of its lengths, as shares of that of the extent;
/// - of an ordinal decision its number, else its index as a share of the greatest one;
/// - of a categorical decision which words they are;
/// - of each decision that it is there.
///
/// Nullopt: the values are no point of the space.   Cost: that of a walk
template <described_space P>
[[nodiscard]] std::optional<word_features> features_of_words(const P& space, std::span<const std::uint64_t> values) {
    using kind = word_features::kind;
    word_features out;
    recording_sink words;
    std::unordered_map<std::uint64_t, std::uint64_t> repeats; // of names
    auto cursor = space.cursor();
    for (std::size_t i = 0;; ++i) {
        const std::optional<decision> d = cursor.next();
        if (!d && i == values.size()) return out;
        if (!d || i == values.size() || values[i] >= d->options) return std::nullopt;
        const std::uint64_t name = detail::decision_name(cursor);
        const std::uint64_t slot = mix64(name + repeats[name]++);
        const auto add = [&](std::uint64_t part, kind type, double value) { out.entries.push_back({mix64(slot ^ mix64(part)), slot, type, value}); };
        const decision_scale scale = cursor.scale();
        words.items.clear();
        cursor.words(values[i], words);
        add(0, kind::fraction, 1); // it is there
        if (scale.type == decision_scale::kind::factorisation && scale.extent > 1) {
            std::uint64_t part = 0;
            for (const auto& item : words.items)
                if (item.type == schedule_item::kind::integer)
                    add(++part, kind::fraction,
                        std::clamp(std::log2(static_cast<double>((std::max)(item.integer, std::int64_t{1}))) /
                                       std::log2(static_cast<double>(scale.extent)),
                                   0.0, 1.0));
        } else if (scale.type == decision_scale::kind::ordinal) {
            const bool integer = words.items.size() == 1 && words.items[0].type == schedule_item::kind::integer;
            const bool real = words.items.size() == 1 && words.items[0].type == schedule_item::kind::real && std::isfinite(words.items[0].real);
            if (integer || real) add(1, kind::number, integer ? static_cast<double>(words.items[0].integer) : words.items[0].real);
            else add(1, kind::fraction, d->options > 1 ? static_cast<double>(values[i]) / static_cast<double>(d->options - 1) : 0);
        } else if (scale.type == decision_scale::kind::categorical) {
            hashing_sink word;
            cursor.words(values[i], word);
            add(mix64(word.state) | 1U, kind::category, 1);
        }
        cursor.choose(values[i]);
    }
}

/// Points as columns of a matrix, and what was left out.
struct encoded_points {
    Eigen::MatrixXd points;             ///< (d, n), within 0 and 1; 0 where a point does not have the decision
    std::vector<std::uint64_t> columns; ///< (d) which column of `word_features` each dimension is
    std::size_t constant = 0;           ///< columns left out because all points have the same value
    std::size_t repeated = 0;           ///< columns left out because another one, or one minus it, has their values
    std::size_t merged_words = 0;       ///< words of categorical decisions beyond `most_words`, which share one dimension a decision
};

/// Makes a matrix of points. A column is there if the points differ in it; columns are in the order in which the points bring them up.
///
/// @param most_words  dimensions of a categorical decision, at most; its other words count as one
/// Cost   linear in the entries; to compare columns d^2 n at worst, where many agree in most points
[[nodiscard]] inline encoded_points encode(std::span<const word_features> points, std::size_t most_words = 32) {
    using kind = word_features::kind;
    struct column {
        std::uint64_t key;
        kind type;
        std::vector<double> numbers; ///< ascending
    };
    encoded_points out;
    std::vector<column> columns;
    std::unordered_map<std::uint64_t, std::size_t> place;    // of columns
    std::unordered_map<std::uint64_t, std::size_t> words_of; // decisions
    const auto n = static_cast<Eigen::Index>(points.size());
    for (const word_features& p : points)
        for (const auto& e : p.entries) {
            if (place.contains(e.column)) continue;
            std::uint64_t key = e.column;
            if (e.type == kind::category && ++words_of[e.decision] > most_words) {
                key = mix64(e.decision);
                ++out.merged_words;
            }
            const auto at = place.try_emplace(key, columns.size());
            if (at.second) columns.push_back({key, e.type, {}});
            place.try_emplace(e.column, at.first->second);
        }
    for (const word_features& p : points)
        for (const auto& e : p.entries)
            if (e.type == kind::number) columns[place.at(e.column)].numbers.push_back(e.value);
    for (column& c : columns) {
        std::sort(c.numbers.begin(), c.numbers.end());
        c.numbers.erase(std::unique(c.numbers.begin(), c.numbers.end()), c.numbers.end());
    }
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(n, static_cast<Eigen::Index>(columns.size()));
    for (Eigen::Index i = 0; i < n; ++i)
        for (const auto& e : points[static_cast<std::size_t>(i)].entries) {
            const std::size_t at = place.at(e.column);
            const auto& numbers = columns[at].numbers;
            double value = e.value;
            if (e.type == kind::number) {
                const auto rank = std::lower_bound(numbers.begin(), numbers.end(), e.value) - numbers.begin();
                value = numbers.size() > 1 ? static_cast<double>(rank) / static_cast<double>(numbers.size() - 1) : 0;
            }
            all(i, static_cast<Eigen::Index>(at)) = value;
        }
    std::vector<Eigen::Index> kept;
    for (Eigen::Index c = 0; c < all.cols(); ++c) {
        const auto differ = [&](const auto& of) { // from the first point on
            for (Eigen::Index i = 0; i < n; ++i)
                if (of(i)) return true;
            return false;
        };
        if (!differ([&](Eigen::Index i) { return all(i, c) != all(0, c); })) {
            ++out.constant;
            continue;
        }
        const bool again = std::any_of(kept.begin(), kept.end(), [&](Eigen::Index k) {
            return !differ([&](Eigen::Index i) { return all(i, c) != all(i, k); }) ||
                   !differ([&](Eigen::Index i) { return all(i, c) != 1 - all(i, k); });
        });
        if (again) ++out.repeated;
        else kept.push_back(c);
    }
    out.points.resize(static_cast<Eigen::Index>(kept.size()), n);
    for (std::size_t k = 0; k < kept.size(); ++k) {
        out.points.row(static_cast<Eigen::Index>(k)) = all.col(kept[k]).transpose();
        out.columns.push_back(columns[static_cast<std::size_t>(kept[k])].key);
    }
    return out;
}

} // namespace augur::inline v0

#endif
