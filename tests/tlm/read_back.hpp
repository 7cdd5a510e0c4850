// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_TLM_READ_BACK_HPP
#define AUGUR_TESTS_TLM_READ_BACK_HPP

/// @file
/// Damaged texts, and what must hold of whatever is read from them, for tests and fuzzers: it is refused with a reason, or it comes back the same when it is
/// written and read again. The functions return what is wrong, empty if nothing is.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/tlm/tvm_sentence.hpp>
#include <augur/tlm/vocabulary.hpp>
#include <augur/tlm/weights_file.hpp>

namespace read_back {

/// Damaged inputs of a test.
#ifdef AUGUR_TEST_SLOW
inline constexpr int rounds = 1'000'000;
#else
inline constexpr int rounds = 20'000;
#endif

/// The text with one to three changes: of a byte, or of a piece that is left out or comes again.
inline std::string damaged(std::string text, augur::random_engine& rng) {
    for (auto n = 1 + rng.below(3); n > 0 && !text.empty(); --n) {
        const auto at = rng.below(text.size());
        switch (rng.below(3)) {
        case 0: text[at] = static_cast<char>(rng.below(256)); break;
        case 1: text.erase(at, 1 + rng.below(8)); break;
        default: text.insert(at, text.substr(rng.below(text.size()), rng.below(20))); break;
        }
    }
    return text;
}

inline std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> out;
    augur::tlm::vocabulary::each_word(text, [&](std::string_view word) { out.push_back(word); });
    return out;
}

/// The words of a text, a blank before each, with one to three changes.
inline std::string damaged_words(std::string_view text, augur::random_engine& rng) {
    const auto all = words_of(text);
    std::vector<std::string> words(all.begin(), all.end());
    for (auto n = 1 + rng.below(3); n > 0 && !words.empty(); --n) {
        const auto at = rng.below(words.size());
        const std::string other = words[rng.below(words.size())];
        switch (rng.below(4)) {
        case 0: words[at] = other; break;
        case 1: words.erase(words.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 2: words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), other); break;
        default: words[at] = std::to_string(rng.below(40)); break;
        }
    }
    std::string out;
    for (const auto& word : words) (out += ' ') += word;
    return out;
}

template <class Result>
std::string refused(const Result& read) {
    return read.error().detail.empty() ? "an error without a reason" : "";
}

inline std::string tokenizer(std::string_view text) {
    const auto read = augur::tlm::vocabulary::from_json(text);
    if (!read) return refused(read);
    if (read->size() < augur::tlm::vocabulary::special.size()) return "a tokenizer without its special tokens";
    const auto again = augur::tlm::vocabulary::from_json(read->to_json());
    if (!again) return "a tokenizer is not read again: " + again.error().detail;
    return *again == *read && again->numbers() == read->numbers() ? "" : "a tokenizer comes back as another";
}

inline std::string config(std::string_view text) {
    const auto read = augur::tlm::read_config_json(text);
    if (!read) return refused(read);
    if (!read->first.check()) return "a config of a model that cannot be";
    const auto again = augur::tlm::read_config_json(augur::tlm::config_json(read->first, read->second));
    if (!again) return "a config is not read again: " + again.error().detail;
    return *again == *read ? "" : "a config comes back as another";
}

/// A sentence of a space, without its prompt.
template <class P>
std::string sentence(const P& space, std::string_view text) {
    const auto words = words_of(text);
    const auto read = augur::tlm::read_sentence(space, words);
    if (!read) return refused(read);
    const auto said = augur::tlm::sentence_text("", space, *read);
    if (!said) return "what was read is no point: " + said.error().detail;
    std::string expected;
    for (const auto word : words) (expected += ' ') += word;
    return *said == expected ? "" : "a sentence was read as another: " + *said;
}

/// A sentence of the authors for Ansor.
inline std::string ansor(std::string_view text) {
    const auto read = augur::tlm::read_ansor_steps(text);
    if (!read) return refused(read);
    if (const auto schedule = augur::tlm::ansor_schedule(*read); !schedule && schedule.error().detail.empty()) return "an error without a reason";
    const auto again = augur::tlm::read_ansor_steps(augur::tlm::ansor_steps_text(*read, false));
    if (!again) return "steps are not read again: " + again.error().detail;
    return augur::to_json(*again) == augur::to_json(*read) ? "" : "steps come back as others";
}

/// A line of a MetaSchedule database and a sentence of the authors.
inline std::string meta_schedule(std::string_view line, std::string_view text) {
    const auto changed = augur::tlm::with_meta_schedule_decisions(line, text);
    if (!changed) return refused(changed);
    const auto again = augur::tlm::with_meta_schedule_decisions(*changed, text);
    if (!again) return "a line is not read again: " + again.error().detail;
    return *again == *changed ? "" : "a line comes back as another";
}

} // namespace read_back

#endif
