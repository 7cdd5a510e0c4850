// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_VOCABULARY_HPP
#define AUGUR_TLM_VOCABULARY_HPP

/// @file
/// Vocabulary of tensor sentences: a token per word, as the authors' tokenizer (Hugging Face `WordLevel`), or numbers as their prime factors.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/number.hpp>
#include <augur/core/printable.hpp>

namespace augur::inline v0::tlm {

/// Index of a token in its vocabulary.
using token = std::uint32_t;

/// How numbers become tokens.
enum class number_form : std::uint8_t {
    words,  ///< a token for each number that was counted; any other is [UNK] and cannot be generated
    factors ///< powers of 2, 3, 5, 7, 11 and 13, then the digits of the rest, then an end: every 64-bit number has tokens
};

namespace detail {

inline constexpr std::array<std::int64_t, 6> number_primes{2, 3, 5, 7, 11, 13};

/// Reads an object: `f(key)` reads or skips each value. False after an error.
template <class F>
bool read_members(json_reader& in, F&& f) {
    if (!in.begin_object()) return false;
    for (std::string_view key; in.next_member(key);)
        if (!f(key)) return false;
    return in.ok();
}

/// Highest power of a prime below 2^63.
constexpr int highest_power(std::int64_t prime) {
    int e = 0;
    for (std::int64_t left = (std::numeric_limits<std::int64_t>::max)(); left >= prime; left /= prime) ++e;
    return e;
}

/// Texts of the tokens that numbers are made of: minus, zero, end, digits, powers. A word of a sentence that is spelled like one of them is unknown
/// (`vocabulary::append`).
inline std::vector<std::string> number_tokens() {
    std::vector<std::string> out{"#-", "#0", "#;"};
    for (char c = '0'; c <= '9'; ++c) out.push_back(std::string("#d") + c);
    for (const auto p : number_primes)
        for (int e = 1; e <= highest_power(p); ++e) out.push_back("#" + std::to_string(p) + "^" + std::to_string(e));
    return out;
}

/// The number that a word is, if it is written as the library writes integers.
inline std::optional<std::int64_t> integer_of(std::string_view word) {
    const auto digits = word.starts_with('-') ? word.substr(1) : word;
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0') || word == "-0" || digits.find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    return parse_int(word);
}

} // namespace detail

/// Words and their tokens. The first seven are the special tokens of the authors' tokenizer.
///
/// Threads  const calls are thread-safe
class vocabulary {
public:
    static constexpr std::array<std::string_view, 7> special{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]", "[BOS]"};
    static constexpr token padding = 0, unknown = 1, begin = 2, end = 3;
    static constexpr std::size_t most_words = std::size_t{1} << 24U;

    /// @param words  after the special tokens, without those of numbers
    /// Errors        invalid_argument: a word is empty, has blanks, comes twice, is not UTF-8 or longer than 1 MiB, so that `from_json` reads what
    ///               `to_json` writes; limit: more than `most_words`
    [[nodiscard]] static result<vocabulary> create(std::span<const std::string> words, number_form numbers = number_form::words) {
        vocabulary out;
        if (words.size() > most_words) return error{errc::limit, "vocabulary: more than 2^24 words"};
        for (const auto s : special) out.add(std::string(s));
        if (numbers == number_form::factors)
            for (auto& t : detail::number_tokens()) out.add(std::move(t));
        for (const auto& w : words) {
            if (w.empty() || w.find_first_of(" \t\r\n\f\v") != std::string::npos)
                return error{errc::invalid_argument, "vocabulary: expected words without blanks, '" + printable(w) + "' came"};
            if (!reads_back(w))
                return error{errc::invalid_argument, "vocabulary: expected words in UTF-8 of at most 1 MiB, '" + printable(w) + "' came"};
            if (!out.add(w)) return error{errc::invalid_argument, "vocabulary: the word '" + printable(w) + "' comes twice"};
        }
        out.find_numbers();
        return out;
    }

    [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
    [[nodiscard]] number_form numbers() const noexcept { return numbers_at_ == 0 ? number_form::words : number_form::factors; }
    /// pre: t < size()
    [[nodiscard]] const std::string& word(token t) const { return words_[t]; }
    /// The token of a text that is one token; nullopt: it is none.
    [[nodiscard]] std::optional<token> find(std::string_view word) const {
        const auto at = tokens_.find(std::string(word));
        return at == tokens_.end() ? std::nullopt : std::optional(at->second);
    }

    /// Appends the tokens of a word. False: it is unknown, and [UNK] was appended.
    bool append(std::string_view word, std::vector<token>& out) const {
        if (numbers_at_ != 0)
            if (const auto n = detail::integer_of(word)) return append_factors(*n, out), true;
        auto t = find(word);
        if (t && is_number_token(*t)) t.reset();
        out.push_back(t.value_or(unknown));
        return t.has_value();
    }
    /// Appends the tokens of the words of a text, which blanks separate; calls `f(word)` for each unknown word.
    template <class F>
    void append_text(std::string_view text, std::vector<token>& out, const F& f) const {
        each_word(text, [&](std::string_view word) {
            if (!append(word, out)) f(word);
        });
    }
    /// The same; returns the number of unknown words.
    std::size_t append_text(std::string_view text, std::vector<token>& out) const {
        std::size_t unknown_words = 0;
        append_text(text, out, [&](std::string_view) { ++unknown_words; });
        return unknown_words;
    }
    /// [CLS] text [SEP], as the authors' tokenizer.
    [[nodiscard]] std::vector<token> encode(std::string_view text) const {
        std::vector<token> out{begin};
        append_text(text, out);
        out.push_back(end);
        return out;
    }

    /// The words of tokens, with single blanks between them; special tokens are left out.
    /// Errors  invalid_argument: a token beyond the vocabulary, or tokens that are no number
    [[nodiscard]] result<std::string> decode(std::span<const token> tokens) const {
        std::string out;
        const auto add = [&](std::string_view word) { (out += out.empty() ? "" : " ") += word; };
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const token t = tokens[i];
            if (t >= size()) return error{errc::invalid_argument, "vocabulary: token " + std::to_string(t) + " of " + std::to_string(size())};
            if (t < special.size()) continue;
            if (!is_number_token(t)) {
                add(words_[t]);
                continue;
            }
            const auto n = take_factors(tokens, i);
            if (!n) return error{errc::invalid_argument, "vocabulary: the tokens at " + std::to_string(i) + " are no number"};
            add(std::to_string(*n));
        }
        return out;
    }

    /// Calls `f(word)` for each word of a text, which blanks separate.
    template <class F>
    static void each_word(std::string_view text, F&& f) {
        constexpr std::string_view blanks = " \t\r\n\f\v";
        for (std::size_t at = text.find_first_not_of(blanks); at < text.size();) {
            const auto last = (std::min)(text.find_first_of(blanks, at), text.size());
            f(text.substr(at, last - at));
            at = (std::min)(text.find_first_not_of(blanks, last), text.size());
        }
    }

    /// The tokenizer.json of Hugging Face tokenizers (`WordLevel`, `WhitespaceSplit`, `[CLS] A [SEP]`). Numbers as factors are told by their tokens; that
    /// library does not split numbers so.
    [[nodiscard]] std::string to_json() const {
        std::string text;
        json_writer out(text);
        out.begin_object().key("version").value("1.0").key("truncation").null().key("padding").null().key("added_tokens").begin_array();
        for (std::size_t i = 0; i < special.size(); ++i) {
            out.begin_object().key("id").value(static_cast<std::int64_t>(i)).key("content").value(special[i]);
            for (const auto flag : {"single_word", "lstrip", "rstrip", "normalized"}) out.key(flag).value(false);
            out.key("special").value(true).end_object();
        }
        out.end_array().key("normalizer").null().key("pre_tokenizer").begin_object().key("type").value("WhitespaceSplit").end_object();
        const auto piece = [&](std::string_view kind, std::string_view id) {
            out.begin_object().key(kind).begin_object().key("id").value(id).key("type_id").value(std::int64_t{0}).end_object().end_object();
        };
        const auto known = [&](token t) {
            out.key(special[t]).begin_object().key("id").value(special[t]).key("ids").begin_array().value(static_cast<std::int64_t>(t)).end_array();
            out.key("tokens").begin_array().value(special[t]).end_array().end_object();
        };
        out.key("post_processor").begin_object().key("type").value("TemplateProcessing").key("single").begin_array();
        piece("SpecialToken", special[begin]), piece("Sequence", "A"), piece("SpecialToken", special[end]);
        out.end_array().key("pair").begin_array();
        piece("Sequence", "A"), piece("Sequence", "B");
        out.end_array().key("special_tokens").begin_object();
        known(begin), known(end);
        out.end_object().end_object().key("decoder").null().key("model").begin_object().key("type").value("WordLevel").key("vocab").begin_object();
        for (std::size_t i = 0; i < size(); ++i) out.key(words_[i]).value(static_cast<std::int64_t>(i));
        out.end_object().key("unk_token").value(special[unknown]).end_object().end_object();
        return text;
    }

    /// Reads a tokenizer.json of that kind; members that say nothing of words are passed over.
    /// Errors  parse, with the line; version_mismatch: another kind of tokenizer, other special tokens; limit
    [[nodiscard]] static result<vocabulary> from_json(std::string_view text) {
        json_reader in(text);
        std::vector<std::pair<std::string, std::int64_t>> words;
        std::string type, unknown_word, splits;
        detail::read_members(in, [&](std::string_view key) {
            if (key == "pre_tokenizer" && in.peek() == json_kind::object)
                return detail::read_members(in, [&](std::string_view k) { return k == "type" ? in.read(splits) : in.skip(); });
            if (key != "model") return in.skip();
            return detail::read_members(in, [&](std::string_view k) {
                if (k == "type") return in.read(type);
                if (k == "unk_token") return in.read(unknown_word);
                if (k != "vocab") return in.skip();
                return detail::read_members(in, [&](std::string_view word) {
                    if (words.size() == most_words) return in.fail(errc::limit, "more than 2^24 words");
                    words.emplace_back(std::string(word), 0);
                    return in.read(words.back().second);
                });
            });
        });
        if (!in.finish()) return error{in.error().code, "tokenizer: " + in.error().detail};
        const auto other = [](std::string what) { return error{errc::version_mismatch, "tokenizer: " + std::move(what)}; };
        if (type != "WordLevel") return other("expected a model of the type WordLevel, '" + printable(type) + "' came");
        if (!splits.empty() && splits != "WhitespaceSplit")
            return other("expected the pre-tokenizer WhitespaceSplit, '" + printable(splits) + "' came");
        if (unknown_word != special[unknown]) return other("expected the unknown word [UNK], '" + printable(unknown_word) + "' came");
        std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
        vocabulary out;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto& [word, id] = words[i];
            if (id != static_cast<std::int64_t>(i))
                return error{errc::parse, "tokenizer: expected the ids 0 to " + std::to_string(words.size() - 1) + ", each once, '" +
                                              printable(word) + "' has " + std::to_string(id)};
            if (i < special.size() && word != special[i])
                return other("expected " + std::string(special[i]) + " as token " + std::to_string(i) + ", '" + printable(word) + "' came");
            if (!out.add(word)) return error{errc::parse, "tokenizer: the word '" + printable(word) + "' comes twice"};
        }
        if (words.size() < special.size()) return other("expected the seven special tokens, " + std::to_string(words.size()) + " words came");
        out.find_numbers();
        return out;
    }

    friend bool operator==(const vocabulary& a, const vocabulary& b) noexcept { return a.words_ == b.words_; }

private:
    std::vector<std::string> words_;
    std::unordered_map<std::string, token> tokens_;
    token numbers_at_ = 0;                                                               ///< first token of numbers as factors; 0: numbers are words
    static constexpr token minus = 0, zero = 1, number_end = 2, digits = 3, powers = 13; ///< after `numbers_at_`

    bool add(std::string word) {
        if (!tokens_.try_emplace(word, static_cast<token>(words_.size())).second) return false;
        words_.push_back(std::move(word));
        return true;
    }
    /// Is a word the same after it was written as JSON and read? A byte that is not UTF-8 is written as U+FFFD.
    [[nodiscard]] static bool reads_back(std::string_view word) {
        std::string json, read;
        append_json_string(json, word);
        json_reader in(json);
        return in.read(read) && read == word;
    }
    /// Numbers are factors if all tokens of these are there, in order.
    void find_numbers() {
        const auto expected = detail::number_tokens();
        const auto at = find(expected.front());
        if (at && words_.size() - *at >= expected.size() && std::equal(expected.begin(), expected.end(), words_.begin() + *at)) numbers_at_ = *at;
    }
    [[nodiscard]] bool is_number_token(token t) const noexcept {
        return numbers_at_ != 0 && t >= numbers_at_ && t - numbers_at_ < number_token_count();
    }
    [[nodiscard]] static constexpr token number_token_count() noexcept {
        int count = powers;
        for (const auto p : detail::number_primes) count += detail::highest_power(p);
        return static_cast<token>(count);
    }

    void append_factors(std::int64_t n, std::vector<token>& out) const {
        if (n == 0) return out.push_back(numbers_at_ + zero);
        if (n < 0) out.push_back(numbers_at_ + minus);
        auto rest = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
        token at = numbers_at_ + powers;
        for (const auto p : detail::number_primes) {
            const auto most = static_cast<token>(detail::highest_power(p));
            token e = 0;
            for (; e < most && rest % static_cast<std::uint64_t>(p) == 0; ++e) rest /= static_cast<std::uint64_t>(p);
            if (e > 0) out.push_back(at + e - 1);
            at += most;
        }
        if (rest > 1)
            for (const char c : std::to_string(rest)) out.push_back(numbers_at_ + digits + static_cast<token>(c - '0'));
        out.push_back(numbers_at_ + number_end);
    }
    /// Reads a number whose first token is at `i`, which moves to its last token. Nullopt: `append_factors` writes no number so.
    [[nodiscard]] std::optional<std::int64_t> take_factors(std::span<const token> tokens, std::size_t& i) const {
        if (tokens[i] == numbers_at_ + zero) return 0;
        const auto first = i;
        std::uint64_t value = 1, rest = 0;
        const auto times = [](std::uint64_t a, std::uint64_t b) { // 0: too large
            return a == 0 || b == 0 || a > (std::uint64_t{1} << 63U) / b ? 0 : a * b;
        };
        const bool negative = tokens[i] == numbers_at_ + minus;
        for (i += negative ? 1 : 0; i < tokens.size() && is_number_token(tokens[i]); ++i) {
            const token t = tokens[i] - numbers_at_;
            if (t == number_end) {
                value = rest == 0 ? value : times(value, rest);
                if (value == 0 || (!negative && value > static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)()))) return std::nullopt;
                const auto n = static_cast<std::int64_t>(negative ? 0 - value : value);
                std::vector<token> written; // powers in another order, or digits that have such factors, are no number
                append_factors(n, written);
                const auto read = tokens.subspan(first, i + 1 - first);
                return std::equal(read.begin(), read.end(), written.begin(), written.end()) ? std::optional(n) : std::nullopt;
            }
            if (t >= powers) {
                token at = powers;
                for (const auto p : detail::number_primes) {
                    const auto most = static_cast<token>(detail::highest_power(p));
                    if (t < at + most) {
                        for (token e = 0; e <= t - at; ++e) value = times(value, static_cast<std::uint64_t>(p));
                        break;
                    }
                    at += most;
                }
            } else if (t >= digits) {
                rest = rest > ((std::numeric_limits<std::uint64_t>::max)() - 9) / 10 ? 0 : 10 * rest + (t - digits);
                if (rest == 0) return std::nullopt;
            } else {
                return std::nullopt;
            }
            if (value == 0) return std::nullopt;
        }
        return std::nullopt;
    }
};

/// Counts words and makes the vocabulary of the authors' tokenizer: the most frequent words, equal counts in the order of their bytes.
class vocabulary_builder {
public:
    void add(std::string_view word, std::uint64_t times = 1) { counts_[std::string(word)] += times; }
    void add_text(std::string_view text, std::uint64_t times = 1) {
        vocabulary::each_word(text, [&](std::string_view word) { add(word, times); });
    }

    /// @param limit  on its size, with the special tokens
    /// Errors        as `vocabulary::create`
    [[nodiscard]] result<vocabulary> build(number_form numbers = number_form::words, std::size_t limit = 30000) const {
        const auto number_tokens = detail::number_tokens();
        std::vector<std::pair<std::uint64_t, std::string>> words;
        for (const auto& [word, count] : counts_) {
            const bool is_special = std::find(vocabulary::special.begin(), vocabulary::special.end(), word) != vocabulary::special.end();
            const bool is_number = numbers == number_form::factors &&
                                   (detail::integer_of(word) || std::find(number_tokens.begin(), number_tokens.end(), word) != number_tokens.end());
            if (!is_special && !is_number) words.emplace_back(count, word);
        }
        std::sort(words.begin(), words.end(),
                  [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
        const auto taken = vocabulary::special.size() + (numbers == number_form::factors ? number_tokens.size() : 0);
        words.resize((std::min)(words.size(), limit - (std::min)(limit, taken)));
        std::vector<std::string> texts;
        for (auto& w : words) texts.push_back(std::move(w.second));
        return vocabulary::create(texts, numbers);
    }

private:
    std::unordered_map<std::string, std::uint64_t> counts_;
};

} // namespace augur::inline v0::tlm

#endif
