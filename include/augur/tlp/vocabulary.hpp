// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_VOCABULARY_HPP
#define AUGUR_TLP_VOCABULARY_HPP

/// @file
/// Vocabulary builder: derives a TLP schema from example schedules of any schedule language.
///
/// The authors list the step kinds and pragmas of Ansor logs by hand. The builder counts the kinds and names that `schedule_traits` visits, e.g.
/// AutoTVM's knobs, MetaSchedule's instructions or Kernel Tuner's parameters.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/tlp/features.hpp>

namespace augur::inline v0::tlp {

/// Limits of a learned vocabulary. Kinds beyond the limit share one column, names beyond it are encoded by `unknown_word::other`.
struct vocabulary_options {
    std::string name = "learned";
    std::size_t kinds = 64;     ///< maximum number of kinds with their own column, most frequent first
    std::size_t words = 512;    ///< maximum number of names with their own value, most frequent first
    std::size_t rows = 64;      ///< maximum rows; the schema has fewer if no schedule is so long
    std::size_t numbers = 24;   ///< maximum parameter columns; the schema has fewer if no primitive is so long
    std::size_t positions = 32; ///< columns of the position one-hot; at most the number of rows
};

/// Counts the kinds and names of schedules and builds a schema from the counts. It is a schedule sink; `see` visits one schedule.
///
/// Memory is proportional to the number of distinct kinds and names. The schema does not depend on the order of the schedules.
class vocabulary_builder {
public:
    /// Number of occurrences of a kind, or of a name as a parameter of a kind.
    struct count {
        std::string kind;
        std::string text; ///< empty for a kind
        std::size_t times = 0;
    };

    template <schedule S>
    void see(const S& s) {
        begin();
        schedule_traits<S>::visit(s, *this);
        end();
    }

    void begin() {
        steps_ = items_ = 0;
        kind_.clear();
    }
    void primitive(std::string_view kind) {
        end_primitive();
        ++steps_;
        items_ = 0;
        kind_.assign(kind);
        ++kinds_[kind_];
    }
    void number(std::integral auto) { ++items_; }
    void number(double) { ++items_; }
    void name(std::string_view text) {
        ++items_;
        word_.first = kind_;
        word_.second.assign(text);
        ++words_[word_];
    }
    void end() {
        end_primitive();
        longest_schedule_ = (std::max)(longest_schedule_, steps_);
        ++schedules_;
    }

    [[nodiscard]] std::size_t schedules() const { return schedules_; }
    [[nodiscard]] std::size_t longest_schedule() const { return longest_schedule_; }   ///< in primitives
    [[nodiscard]] std::size_t longest_primitive() const { return longest_primitive_; } ///< in numbers and names
    /// Sorted by frequency, highest first; ties by text.
    [[nodiscard]] std::vector<count> kinds() const {
        std::vector<count> all;
        for (const auto& [kind, times] : kinds_) all.push_back({kind, {}, times});
        return sorted(std::move(all));
    }
    [[nodiscard]] std::vector<count> words() const {
        std::vector<count> all;
        for (const auto& [word, times] : words_) all.push_back({word.first, word.second, times});
        return sorted(std::move(all));
    }

    /// Builds the schema: one column per kind and one for all other kinds, names numbered from 1 within their kind by frequency, no padding.
    /// Errors: invalid_argument (no primitive seen, or `kinds` or `rows` of 0), those of `schema::check`.
    [[nodiscard]] result<tlp::schema> schema(const vocabulary_options& options = {}) const {
        if (kinds_.empty()) return error{errc::invalid_argument, "tlp vocabulary: " + std::to_string(schedules_) + " schedules without a primitive"};
        if (options.kinds == 0 || options.rows == 0)
            return error{errc::invalid_argument, "tlp vocabulary: expected at least one kind and one row, got " + std::to_string(options.kinds) +
                                                     " and " + std::to_string(options.rows)};
        tlp::schema s;
        s.name = options.name;
        for (auto& k : kinds())
            if (s.kinds.size() < options.kinds) s.kinds.push_back(std::move(k.kind));
        std::map<std::string, float> next;
        for (auto& w : words()) {
            if (s.words.size() == options.words) break;
            if (std::find(s.kinds.begin(), s.kinds.end(), w.kind) == s.kinds.end()) continue;
            const float value = ++next[w.kind];
            s.words.push_back({std::move(w.kind), std::move(w.text), value});
        }
        s.kind_columns = s.kinds.size() + 1;
        s.rows = (std::min)(options.rows, longest_schedule_);
        s.positions = (std::min)(options.positions, s.rows);
        s.columns = s.kind_columns + (std::min)(options.numbers, longest_primitive_) + s.positions;
        s.unknown = unknown_word::other;
        s.pad = false;
        if (auto fits = s.check(); !fits) return fits.error();
        return s;
    }

private:
    void end_primitive() {
        if (steps_ > 0) longest_primitive_ = (std::max)(longest_primitive_, items_);
    }
    static std::vector<count> sorted(std::vector<count> all) {
        std::sort(all.begin(), all.end(), [](const count& a, const count& b) {
            if (a.times != b.times) return a.times > b.times;
            return a.kind != b.kind ? a.kind < b.kind : a.text < b.text;
        });
        return all;
    }

    std::map<std::string, std::size_t> kinds_;
    std::map<std::pair<std::string, std::string>, std::size_t> words_; ///< by kind and text
    std::size_t schedules_ = 0, longest_schedule_ = 0, longest_primitive_ = 0;
    std::size_t steps_ = 0, items_ = 0; ///< primitives of the current schedule, parameters of the current primitive
    std::string kind_;
    std::pair<std::string, std::string> word_;
};
static_assert(schedule_sink<vocabulary_builder>);

template <class Range>
result<tlp::schema> tlp::schema::learn(const Range& schedules, const vocabulary_options& options) {
    vocabulary_builder learner;
    for (const auto& s : schedule_span(schedules)) learner.see(s);
    return learner.schema(options);
}

} // namespace augur::inline v0::tlp

#endif
