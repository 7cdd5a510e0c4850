// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_DESCRIBE_HPP
#define AUGUR_SPACE_DESCRIBE_HPP

/// @file
/// What the options of a search space mean: names of decisions, words of values, the legal value nearest to given words, and spelling.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// What distance between two values of a decision means.
struct decision_scale {
    enum class kind : std::uint8_t {
        categorical,   ///< nothing: values are equal or not
        ordinal,       ///< the values are in ascending order of one number
        factorisation, ///< the words are lengths of nested loops; distance is a ratio
    } type = kind::categorical;
    std::int64_t extent = 0;        ///< factorisation: the number that the product of the lengths divides
    std::size_t levels = 0;         ///< factorisation: the number of lengths
    std::int64_t max_innermost = 0; ///< factorisation: limit of the last length

    friend bool operator==(const decision_scale&, const decision_scale&) = default;
};

/// Spells the value of a decision word by word: each word with its legal choices, given the words before.
///
/// Syntax      `choices() -> std::uint64_t`, 0 when the value is complete; `word(choice, sink)`; `choose(choice)`; `value() -> std::uint64_t`
/// Semantics   every sequence of choices ends at a value, every value is reached by exactly one sequence; the words of the choices are those of
///             `words(value)`, and no choice's words are the beginning of another's
template <class W>
concept word_speller = requires(W& w, const W& c, std::uint64_t choice, detail::null_sink& sink) {
    { c.choices() } -> std::same_as<std::uint64_t>;
    c.word(choice, sink);
    w.choose(choice);
    { c.value() } -> std::same_as<std::uint64_t>;
};

/// A cursor that says what the open decision means.
///
/// Syntax      as the cursor of `decision_tree`, and of the open decision
///             `describe(sink)`   its name: a primitive, then names and numbers
///             `scale()`          -> decision_scale
///             `words(v, sink)`   the words of value v, as numbers and names
///             `nearest(words)`   -> std::optional<std::uint64_t>: the value nearest to the given words; nullopt: no value is near to them
///             `speller()`        optional: a `word_speller`; without it a value is spelled as one word
///             The sink is any `schedule_sink`, so these members are templates; given words are a span of `schedule_item`.
/// Semantics   decisions with equal names have the same role in every shape and in every kernel of a class. `words` of different values differ, and
///             `nearest(words(v)) == v`
/// Cost        no allocation
template <class C>
concept describing_cursor =
    detail::walk_cursor<C> && requires(const C& c, std::uint64_t value, detail::null_sink& sink, std::span<const schedule_item> words) {
        c.describe(sink);
        { c.scale() } -> std::same_as<decision_scale>;
        c.words(value, sink);
        { c.nearest(words) } -> std::same_as<std::optional<std::uint64_t>>;
    };

/// A decision tree whose cursor describes its decisions. `testing::check_described_space` checks the semantics.
///
/// ```cpp
/// // A schedule of one shape as the nearest legal one of another shape:
/// const auto point = small.decide(tuned);
/// if (!point) return point.error();
/// const auto words = augur::describe_point(small, *point);
/// if (!words) return words.error();
/// return large.realise(augur::adapt_point(large, *words).path.values);
/// ```
template <class P>
concept described_space = decision_tree<P> && requires(const P& p) {
    { p.cursor() } -> describing_cursor;
};

namespace detail {

/// Spells a value as one word.
template <class C>
class value_speller {
public:
    explicit value_speller(const C& cursor) : cursor_(&cursor), options_(options_of(cursor.next())) {}
    [[nodiscard]] std::uint64_t choices() const noexcept { return chosen_ ? 0 : options_; }
    void word(std::uint64_t choice, auto& sink) const { cursor_->words(choice, sink); }
    void choose(std::uint64_t choice) noexcept { chosen_ = choice; }
    [[nodiscard]] std::uint64_t value() const noexcept { return chosen_.value_or(0); }

private:
    const C* cursor_;
    std::uint64_t options_;
    std::optional<std::uint64_t> chosen_;

    /// 0: a space that has changed its mind has no decision any more.
    static std::uint64_t options_of(const std::optional<decision>& d) noexcept { return d ? d->options : 0; }
};

/// Compares the calls of a visit with recorded ones.
class comparing_sink {
public:
    explicit comparing_sink(std::span<const schedule_item> expected) noexcept : expected_(expected) {}
    void primitive(std::string_view s) noexcept { text(schedule_item::kind::primitive, s); }
    void number(std::integral auto i) noexcept {
        const auto* item = take(schedule_item::kind::integer);
        equal_ = equal_ && item->integer == static_cast<std::int64_t>(i);
    }
    void number(double d) noexcept {
        const auto* item = take(schedule_item::kind::real);
        equal_ = equal_ && std::bit_cast<std::uint64_t>(item->real) == std::bit_cast<std::uint64_t>(d);
    }
    void name(std::string_view s) noexcept { text(schedule_item::kind::name, s); }
    [[nodiscard]] bool equal() const noexcept { return equal_ && at_ == expected_.size(); }

private:
    std::span<const schedule_item> expected_;
    std::size_t at_ = 0;
    bool equal_ = true;

    const schedule_item* take(schedule_item::kind type) noexcept {
        equal_ = equal_ && at_ < expected_.size() && expected_[at_].type == type;
        return equal_ ? &expected_[at_++] : nullptr;
    }
    void text(schedule_item::kind type, std::string_view s) noexcept {
        const auto* item = take(type);
        equal_ = equal_ && item->text == s;
    }
};

template <describing_cursor C>
[[nodiscard]] std::uint64_t decision_name(const C& cursor) {
    hashing_sink name;
    cursor.describe(name);
    return name.state;
}

} // namespace detail

/// The speller of the open decision of a cursor. The cursor must outlive it.
template <describing_cursor C>
[[nodiscard]] auto speller_of(const C& cursor) {
    if constexpr (requires {
                      { cursor.speller() } -> word_speller;
                  })
        return cursor.speller();
    else return detail::value_speller<C>(cursor);
}

/// A point of a described space in words: per decision the hash of its name, and the words of its value.
class described_point {
public:
    struct entry {
        std::uint64_t name;
        std::size_t begin, end; ///< of the words in `items`
    };
    std::vector<entry> decisions;
    std::vector<schedule_item> items;

    [[nodiscard]] std::span<const schedule_item> words(const entry& e) const { return std::span(items).subspan(e.begin, e.end - e.begin); }
};

/// The point of complete decisions in words.   Errors: illegal_schedule, as `trace_path`
template <described_space P>
[[nodiscard]] result<described_point> describe_point(const P& space, std::span<const std::uint64_t> values) {
    described_point out;
    recording_sink words;
    auto cursor = space.cursor();
    for (std::size_t i = 0;; ++i) {
        const std::optional<decision> d = cursor.next();
        if (!d && i == values.size()) break;
        if (!d || i == values.size() || values[i] >= d->options) return trace_path(space, values).error(); // says what is wrong
        const auto begin = words.items.size();
        cursor.words(values[i], words);
        out.decisions.push_back({detail::decision_name(cursor), begin, words.items.size()});
        cursor.choose(values[i]);
    }
    out.items = std::move(words.items);
    return out;
}

/// The words of a described point, one decision after the other, each taken once.
class word_matcher {
public:
    /// pre: the point outlives the matcher
    explicit word_matcher(const described_point& point) : point_(&point), taken_(point.decisions.size(), false) {}

    /// The words of the first decision with this name that is not taken yet; nullopt: there is none.
    [[nodiscard]] std::optional<std::span<const schedule_item>> take(std::uint64_t name) {
        for (std::size_t i = first_; i < taken_.size(); ++i) {
            if (taken_[i] || point_->decisions[i].name != name) continue;
            taken_[i] = true;
            while (first_ < taken_.size() && taken_[first_]) ++first_;
            return point_->words(point_->decisions[i]);
        }
        return std::nullopt;
    }

private:
    const described_point* point_;
    std::vector<bool> taken_;
    std::size_t first_ = 0; ///< all decisions before it are taken
};

/// The point of a space that is nearest to given words, decision by decision.
struct adapted_point {
    decision_path path;
    std::size_t equal = 0;   ///< decisions with the given words
    std::size_t changed = 0; ///< decisions with the nearest legal words
    std::size_t unnamed = 0; ///< decisions that the words do not name, or to which no value is near: the preferred value
};

/// Adapts a point of another space, for example of the same kernel in another shape.
///
/// Cost  that of a walk, and of `nearest` for each decision
template <described_space P>
[[nodiscard]] adapted_point adapt_point(const P& space, const described_point& words) {
    adapted_point out;
    word_matcher given(words);
    auto cursor = space.cursor();
    while (const std::optional<decision> d = cursor.next()) {
        if (d->options == 0) break; // as `sample_path`
        const auto wanted = given.take(detail::decision_name(cursor));
        const auto value = wanted ? cursor.nearest(*wanted) : std::nullopt;
        if (value) {
            AUGUR_ASSERT(*value < d->options, "adapt_point: nearest gave a value outside the options");
            detail::comparing_sink same(*wanted);
            cursor.words(*value, same);
            ++(same.equal() ? out.equal : out.changed);
        } else {
            ++out.unnamed;
        }
        out.path.values.push_back(value.value_or(d->preferred));
        out.path.decisions.push_back(*d);
        cursor.choose(out.path.values.back());
    }
    return out;
}

/// Uniform crossover by words: each decision takes the value nearest to the words that one parent, drawn with equal probability, has for a decision of
/// that name; if it has none, those of the other parent, and if that has none either, it is sampled. The parents
/// may have different sketches: their decisions that the child does not have are ignored.
///
/// pre: both parents are complete walks of this space
template <described_space P>
[[nodiscard]] decision_path cross_words(const P& space, decision_path_view a, decision_path_view b, random_engine& rng) {
    const auto first = describe_point(space, a.values), second = describe_point(space, b.values);
    AUGUR_ASSERT(first && second, "cross_words: the parents are points of the space");
    word_matcher of_first(*first), of_second(*second);
    decision_path path;
    auto cursor = space.cursor();
    while (const std::optional<decision> d = cursor.next()) {
        if (d->options == 0) break; // as `sample_path`
        const auto name = detail::decision_name(cursor);
        auto x = of_first.take(name), y = of_second.take(name);
        if (rng.below(2) == 1) std::swap(x, y);
        auto value = x ? cursor.nearest(*x) : std::nullopt;
        if (!value && y) value = cursor.nearest(*y);
        path.values.push_back(value ? *value : detail::draw(*d, rng));
        path.decisions.push_back(*d);
        cursor.choose(path.values.back());
    }
    return path;
}

} // namespace augur::inline v0

#endif
