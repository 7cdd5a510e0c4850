// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_RECORDED_SPACE_HPP
#define AUGUR_SPACE_RECORDED_SPACE_HPP

/// @file
/// The space of recorded points: a trie over configurations, so that a search can propose only points whose measurement is known.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/schedule/configuration.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/describe.hpp>

namespace augur::inline v0 {

/// A `decision_space` of the distinct configurations of a range. There is one decision per parameter, in the order of the parameters. The options of a
/// decision are the values that occur after the earlier ones, in ascending order: integers, then reals, then texts. A parameter with one such value
/// is a decision with one option.
///
/// `sample_path` is uniform over the options of each decision, not over the points; `space.point(rng.below(space.size()))` is uniform over the points.
///
/// Memory      8 bytes per node of the trie, at most one node per point and parameter; each distinct value of a parameter once
/// Cost        `build` O(n p log n) for n points of p parameters; a cursor O(1) per decision; `decide` O(p log n)
/// Threads     immutable after construction; safe to share
class recorded_space {
public:
    /// @param records  any range; `point(record)` gives a `const configuration&`
    /// Errors: invalid_argument (no record, a record without parameters or with other parameters than the first, a real that is not finite)
    template <class Range, class Point = std::identity>
    [[nodiscard]] static result<recorded_space> build(const Range& records, Point point = {}) {
        std::vector<const configuration*> points;
        for (const auto& r : records) points.push_back(&static_cast<const configuration&>(std::invoke(point, r)));
        recorded_space out;
        if (auto ok = out.check(points); !ok) return ok.error();
        out.fill(points);
        return out;
    }

    /// The number of points.
    [[nodiscard]] std::size_t size() const noexcept { return levels_.back().size() - 1; }
    /// The number of decisions of a point.
    [[nodiscard]] std::size_t parameters() const noexcept { return names_.size(); }

    /// Walks the trie. pre: the space outlives the cursor
    class cursor_type {
    public:
        explicit cursor_type(const recorded_space& space) noexcept : space_(&space) {}
        [[nodiscard]] std::optional<decision> next() const noexcept {
            if (level_ == space_->names_.size()) return std::nullopt;
            return decision{decision_kind::other, space_->children(level_, node_), 0, true};
        }
        void choose(std::uint64_t value) noexcept { node_ = space_->levels_[level_++][node_].first_child + static_cast<std::size_t>(value); }

        /// The name of the parameter.
        void describe(auto& sink) const { sink.primitive(space_->names_[level_]); }
        /// Ordinal if no recorded value of the parameter is a text.
        [[nodiscard]] decision_scale scale() const {
            const bool numbers = !std::holds_alternative<std::string>(space_->values_[level_].back()); // texts are the last ones
            return {numbers ? decision_scale::kind::ordinal : decision_scale::kind::categorical};
        }
        /// One word: the value.
        void words(std::uint64_t value, auto& sink) const {
            std::visit(
                [&](const auto& v) {
                    if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) sink.name(v);
                    else sink.number(v);
                },
                value_at(value));
        }
        /// The value nearest to a number by difference, of two the smaller; a text only if it is a value. Cost: the options.
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const schedule_item> words) const {
            if (words.size() != 1) return std::nullopt;
            const schedule_item& word = words[0];
            const bool text = word.type == schedule_item::kind::name;
            const double wanted = word.type == schedule_item::kind::integer ? static_cast<double>(word.integer) : word.real;
            std::optional<std::uint64_t> best;
            double least = std::numeric_limits<double>::infinity();
            for (std::uint64_t v = 0; v < space_->children(level_, node_); ++v) {
                const tuning_value& known = value_at(v);
                if (const auto* own = std::get_if<std::string>(&known)) {
                    if (text && *own == word.text) return v;
                    continue;
                }
                if (text) continue;
                const auto* integer = std::get_if<std::int64_t>(&known);
                if (integer != nullptr && word.type == schedule_item::kind::integer && *integer == word.integer) return v;
                const double distance = std::abs((integer != nullptr ? static_cast<double>(*integer) : *std::get_if<double>(&known)) - wanted) +
                                        ((integer != nullptr) == (word.type == schedule_item::kind::integer) ? 0 : 1e-300); // 1 is not 1.0
                if (!best || distance < least) {
                    best = v;
                    least = distance;
                }
            }
            return best;
        }

    private:
        friend recorded_space;
        const recorded_space* space_;
        std::size_t level_ = 0, node_ = 0;

        [[nodiscard]] const tuning_value& value_at(std::uint64_t value) const {
            const node& parent = space_->levels_[level_][node_];
            return space_->values_[level_][space_->levels_[level_ + 1][parent.first_child + static_cast<std::size_t>(value)].value];
        }
    };
    [[nodiscard]] cursor_type cursor() const noexcept { return cursor_type(*this); }

    /// pre: the prefix is legal
    [[nodiscard]] std::optional<decision> next(std::span<const std::uint64_t> prefix) const noexcept {
        cursor_type at(*this);
        for (const std::uint64_t value : prefix) at.choose(value);
        return at.next();
    }

    /// The configuration of complete decisions. Errors: illegal_schedule.
    [[nodiscard]] result<configuration> realise(std::span<const std::uint64_t> decisions) const {
        if (decisions.size() != names_.size())
            return error{errc::illegal_schedule,
                         "recorded space: expected " + std::to_string(names_.size()) + " decisions, got " + std::to_string(decisions.size())};
        configuration out;
        out.parameters.reserve(names_.size());
        cursor_type at(*this);
        for (std::size_t i = 0; i < decisions.size(); ++i) {
            if (const std::uint64_t options = children(i, at.node_); decisions[i] >= options)
                return error{errc::illegal_schedule, "recorded space: expected a value below " + std::to_string(options) + " for parameter '" +
                                                         names_[i] + "', got " + std::to_string(decisions[i])};
            at.choose(decisions[i]);
            out.parameters.push_back({names_[i], values_[i][levels_[at.level_][at.node_].value]});
        }
        return out;
    }

    /// The decisions of a point. Errors: illegal_schedule (other parameters, or a point that is not recorded).
    [[nodiscard]] result<decision_vector> decide(const configuration& point) const {
        if (!same_names(point)) return error{errc::illegal_schedule, "recorded space: " + other_parameters(point)};
        decision_vector out;
        cursor_type at(*this);
        for (std::size_t i = 0; i < names_.size(); ++i) {
            const std::optional<std::uint32_t> id = id_of(i, point.parameters[i].value);
            const auto first = levels_[i + 1].begin() + static_cast<std::ptrdiff_t>(levels_[i][at.node_].first_child);
            const auto last = first + static_cast<std::ptrdiff_t>(children(i, at.node_));
            const auto found = std::lower_bound(first, last, id.value_or(0), [](const node& n, std::uint32_t wanted) { return n.value < wanted; });
            if (!id || found == last || found->value != *id)
                return error{errc::illegal_schedule, "recorded space: expected a recorded point, got " + to_string(point) + ", of which '" +
                                                         names_[i] + "' was not recorded after the values before it"};
            out.push_back(static_cast<std::uint64_t>(found - first));
            at.choose(out.back());
        }
        return out;
    }

    /// The decisions of the i-th point in lexicographic order of the decisions. pre: i < size()
    [[nodiscard]] decision_vector point(std::size_t i) const {
        AUGUR_ASSERT(i < size(), "recorded_space::point: index");
        decision_vector out(names_.size());
        for (std::size_t level = names_.size(); level-- > 0;) { // from the leaf to its parents
            const auto above = std::upper_bound(levels_[level].begin(), levels_[level].end() - 1, i,
                                                [](std::size_t child, const node& n) { return child < n.first_child; });
            const auto parent = static_cast<std::size_t>(above - levels_[level].begin()) - 1;
            out[level] = i - levels_[level][parent].first_child;
            i = parent;
        }
        return out;
    }

private:
    struct node {
        std::uint32_t value;       ///< index in `values_` of the parameter before this level
        std::uint32_t first_child; ///< index in the next level; the children end where those of the next node begin
    };

    recorded_space() = default;

    [[nodiscard]] std::uint64_t children(std::size_t level, std::size_t at) const noexcept {
        return levels_[level][at + 1].first_child - levels_[level][at].first_child;
    }
    [[nodiscard]] bool same_names(const configuration& c) const {
        return std::equal(names_.begin(), names_.end(), c.parameters.begin(), c.parameters.end(),
                          [](const std::string& name, const tuning_parameter& p) { return name == p.name; });
    }
    [[nodiscard]] std::string other_parameters(const configuration& c) const {
        std::string expected;
        for (const auto& name : names_) expected += (expected.empty() ? "" : ", ") + name;
        return "expected the parameters " + expected + ", got " + (c.parameters.empty() ? "none" : to_string(c));
    }
    [[nodiscard]] std::optional<std::uint32_t> id_of(std::size_t parameter, const tuning_value& value) const {
        const auto& known = values_[parameter];
        const auto at = std::lower_bound(known.begin(), known.end(), value);
        if (at == known.end() || *at != value) return std::nullopt;
        return static_cast<std::uint32_t>(at - known.begin());
    }

    [[nodiscard]] result<void> check(std::span<const configuration* const> points) {
        if (points.empty() || points.size() >= std::numeric_limits<std::uint32_t>::max())
            return error{errc::invalid_argument, "recorded space: expected 1 to " + std::to_string(std::numeric_limits<std::uint32_t>::max() - 1) +
                                                     " points, got " + std::to_string(points.size())};
        for (const tuning_parameter& p : points.front()->parameters) names_.push_back(p.name);
        if (names_.empty()) return error{errc::invalid_argument, "recorded space: expected at least one parameter, got none"};
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto place = [i] { return "recorded space, point " + std::to_string(i) + ": "; };
            if (!same_names(*points[i])) return error{errc::invalid_argument, place() + other_parameters(*points[i])};
            for (const tuning_parameter& p : points[i]->parameters)
                if (const auto* real = std::get_if<double>(&p.value); real != nullptr && !std::isfinite(*real))
                    return error{errc::invalid_argument, place() + "expected a finite value of '" + p.name + "', got another"};
        }
        return {};
    }

    void fill(std::span<const configuration* const> points) {
        const std::size_t depth = names_.size();
        values_.resize(depth);
        std::vector<std::uint32_t> ids(points.size() * depth); // (n, p)
        for (std::size_t d = 0; d < depth; ++d) {
            auto& known = values_[d];
            for (const configuration* c : points) known.push_back(c->parameters[d].value);
            std::sort(known.begin(), known.end());
            known.erase(std::unique(known.begin(), known.end()), known.end());
            known.shrink_to_fit();
            for (std::size_t i = 0; i < points.size(); ++i) ids[i * depth + d] = *id_of(d, points[i]->parameters[d].value);
        }
        std::vector<std::size_t> order(points.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto row = [&](std::size_t i) { return std::span<const std::uint32_t>(ids).subspan(i * depth, depth); };
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::lexicographical_compare(row(a).begin(), row(a).end(), row(b).begin(), row(b).end());
        });
        levels_.assign(depth + 1, {});
        levels_[0].push_back({0, 0});
        for (std::size_t k = 0; k < order.size(); ++k) {
            const auto now = row(order[k]);
            std::size_t shared = 0; // decisions that the point has in common with the one before
            if (k > 0) shared = static_cast<std::size_t>(std::mismatch(now.begin(), now.end(), row(order[k - 1]).begin()).first - now.begin());
            for (std::size_t d = shared; d < depth; ++d)
                levels_[d + 1].push_back({now[d], d + 1 < depth ? static_cast<std::uint32_t>(levels_[d + 2].size()) : 0});
        }
        for (std::size_t d = 0; d <= depth; ++d) levels_[d].push_back({0, d < depth ? static_cast<std::uint32_t>(levels_[d + 1].size()) : 0});
        // d ascends, so the next level does not have its last node yet
        for (auto& level : levels_) level.shrink_to_fit();
    }

    std::vector<std::string> names_;
    std::vector<std::vector<tuning_value>> values_; ///< per parameter, ascending
    std::vector<std::vector<node>> levels_;         ///< nodes by depth, root first; each level ends with a node that is none
};

static_assert(decision_space<recorded_space, configuration> && described_space<recorded_space>);

} // namespace augur::inline v0

#endif
