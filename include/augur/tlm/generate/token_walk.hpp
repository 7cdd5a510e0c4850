// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_TOKEN_WALK_HPP
#define AUGUR_TLM_GENERATE_TOKEN_WALK_HPP

/// @file
/// A walk down a search space token by token: at each token the legal ones.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

namespace detail {

/// A space that answers otherwise than it did before.
[[nodiscard]] inline error options_changed(std::size_t decision) {
    return {errc::illegal_schedule, "generator: expected the options of decision " + std::to_string(decision) + " as before, the space gave others"};
}

} // namespace detail

/// Walks from the root of a space to a leaf by tokens. Tokens without an alternative are taken and reported.
///
/// A choice with a word that is not in the vocabulary has no tokens and is left out. If no choice has tokens, the first is taken without a token: a small
/// vocabulary makes a space smaller, never empty. `unsayable` counts the choices that were left out.
///
/// A walk fails at a decision for which the space has no option, or not those that it had a moment before.
///
/// Cost     of a token: the words of the choices at the first token of a word, nothing later
/// Threads  one thread per walk; space and vocabulary must outlive it
template <decision_tree P>
class token_walk {
public:
    token_walk(const P& space, const vocabulary& words, sentence_form form)
        : space_(&space), words_(&words), form_(form), walk_(std::in_place, space) {}
    token_walk(const token_walk& other)
        : space_(other.space_), words_(other.words_), form_(other.form_), decisions_(other.decisions_), open_(other.open_), spelled_(other.spelled_),
          tokens_(other.tokens_), choices_of_word_(other.choices_of_word_), told_(other.told_), next_(other.next_), unsayable_(other.unsayable_),
          failed_(other.failed_) {
        if constexpr (std::copy_constructible<sentence_walk<P>>) {
            walk_.emplace(*other.walk_);
        } else { // a cursor that cannot be copied goes the way again
            walk_.emplace(*space_);
            for (std::size_t i = 0; i < decisions_.size() && !failed_; ++i) {
                if (const auto d = walk_->next(); d && decisions_[i] < d->options) walk_->choose(decisions_[i]);
                else failed_ = detail::options_changed(i);
            }
            if (open_ && !failed_ && walk_->next() != open_) failed_ = detail::options_changed(decisions_.size());
        }
        if (other.speller_ && !failed_) {
            speller_.emplace(walk_->speller());
            for (const auto c : spelled_) speller_->choose(c);
        }
    }
    token_walk& operator=(const token_walk&) = delete;

    /// Goes to the next token with an alternative and appends those passed over to `passed`. False: the point is complete, or the walk has `failed`.
    [[nodiscard]] bool advance(std::vector<token>& passed) {
        next_.clear();
        while (!failed_) {
            if (!open_) {
                open_ = walk_->next();
                if (!open_) return false;
                if (open_->options == 0) {
                    failed_ = error{errc::illegal_schedule, "generator: expected at least one option for decision " +
                                                                std::to_string(decisions_.size()) + ", the space gave none"};
                    break;
                }
                if (form_ == sentence_form::full) {
                    word_sink sink([&](std::string_view w) { words_->append(w, passed); });
                    walk_->name(*open_, sink);
                }
                if (open_->options == 1) {
                    if (form_ == sentence_form::full) {
                        word_sink sink([&](std::string_view w) { words_->append(w, passed); });
                        walk_->value(0, sink);
                    }
                    decide(0);
                    continue;
                }
                speller_.emplace(walk_->speller());
                spelled_.clear();
                list();
            }
            if (choices_of_word_.empty()) { // no word is left
                if (spelled_.empty()) failed_ = detail::options_changed(decisions_.size());
                else decide(speller_->value());
                continue;
            }
            find_next();
            if (next_.size() > 1) return true;
            if (!next_.empty()) passed.push_back(next_.front());
            tell(next_.empty() ? vocabulary::unknown : next_.front());
            next_.clear();
        }
        return false;
    }
    /// Illegal_schedule: the space has no option for a decision, or others than it had; the message has the number of the decision, from 0.
    [[nodiscard]] const std::optional<error>& failed() const noexcept { return failed_; }

    /// The legal tokens, at least two; after `advance`.
    [[nodiscard]] std::span<const token> choices() const noexcept { return next_; }
    /// The open decision.
    [[nodiscard]] decision_kind kind() const noexcept { return open_->kind; }
    [[nodiscard]] std::uint64_t options() const noexcept { return open_->options; }
    /// Goes on with a legal token.
    void choose(token t) {
        if (!failed_) tell(t); // a copy may have failed
    }
    /// The legal token that leads to a value of the open decision, where the walk has not gone to another value already; nullopt: it has no tokens, or is
    /// beyond the options.
    [[nodiscard]] std::optional<token> towards(std::uint64_t value) const {
        if (value >= open_->options) return std::nullopt;
        std::vector<token> spelling;
        word_sink sink([&](std::string_view w) { words_->append(w, spelling); });
        walk_->value(value, sink);
        std::size_t at = told_;
        { // the tokens of the words that are spelled already
            std::vector<token> before;
            word_sink earlier([&](std::string_view w) { words_->append(w, before); });
            detail::names_only<decltype(earlier)> names{earlier};
            auto again = walk_->speller();
            for (const auto c : spelled_) {
                again.word(c, names);
                again.choose(c);
            }
            at += before.size();
        }
        if (at >= spelling.size() || std::find(next_.begin(), next_.end(), spelling[at]) == next_.end()) return std::nullopt;
        return spelling[at];
    }

    [[nodiscard]] const decision_vector& decisions() const noexcept { return decisions_; }
    /// Of a complete point: whether the space has it.   Errors: illegal_schedule.   Cost: `trace_path`
    [[nodiscard]] result<void> check_point() const {
        if (auto legal = trace_path(*space_, decisions_); !legal)
            return error{errc::illegal_schedule, "generator: the space does not have a point that it has offered: " + legal.error().detail};
        return {};
    }
    /// Choices that were left out because they have no tokens.
    [[nodiscard]] std::size_t unsayable() const noexcept { return unsayable_; }

private:
    using speller_type = decltype(std::declval<const sentence_walk<P>&>().speller());
    struct word_tokens {
        std::uint64_t choice;
        std::size_t begin, end; ///< in `tokens_`
    };
    const P* space_;
    const vocabulary* words_;
    sentence_form form_;
    std::optional<sentence_walk<P>> walk_;
    decision_vector decisions_;
    std::optional<decision> open_;
    std::optional<speller_type> speller_; ///< refers to `walk_`
    std::vector<std::uint64_t> spelled_;  ///< choices of the speller so far
    std::vector<token> tokens_;
    std::vector<word_tokens> choices_of_word_; ///< that agree with the tokens told of the word
    std::size_t told_ = 0;                     ///< tokens of the open word
    std::vector<token> next_;
    std::size_t unsayable_ = 0;
    std::optional<error> failed_;

    void decide(std::uint64_t value) {
        if (value >= open_->options) {
            failed_ = detail::options_changed(decisions_.size());
            return;
        }
        decisions_.push_back(value);
        speller_.reset();
        walk_->choose(value);
        open_.reset();
    }
    /// Finds the choices of the next word.
    void list() {
        tokens_.clear();
        choices_of_word_.clear();
        told_ = 0;
        const std::uint64_t n = speller_->choices();
        for (std::uint64_t c = 0; c < n; ++c) {
            word_tokens one{c, tokens_.size(), 0};
            bool known = true;
            word_sink sink([&](std::string_view w) { known = words_->append(w, tokens_) && known; });
            detail::names_only<decltype(sink)> names{sink};
            speller_->word(c, names);
            one.end = tokens_.size();
            if (known || n == 1) choices_of_word_.push_back(one);
            else tokens_.resize(one.begin);
        }
        unsayable_ += static_cast<std::size_t>(n) - choices_of_word_.size();
        if (choices_of_word_.empty() && n > 0) choices_of_word_.push_back({0, 0, 0});
    }
    void find_next() {
        next_.clear();
        std::vector<bool> found(words_->size());
        for (const auto& c : choices_of_word_) {
            if (c.begin + told_ >= c.end) continue;
            const token t = tokens_[c.begin + told_];
            if (!found[t]) next_.push_back(t);
            found[t] = true;
        }
    }
    void tell(token t) {
        std::erase_if(choices_of_word_, [&](const word_tokens& c) { return c.begin + told_ < c.end && tokens_[c.begin + told_] != t; });
        ++told_;
        const auto& first = choices_of_word_.front(); // no word begins another, so the first that is complete is the only one
        if (first.begin + told_ < first.end) return;
        spelled_.push_back(first.choice);
        speller_->choose(first.choice);
        list();
    }
};

} // namespace augur::inline v0::tlm

#endif
