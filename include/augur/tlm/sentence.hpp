// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_SENTENCE_HPP
#define AUGUR_TLM_SENTENCE_HPP

/// @file
/// Tensor sentences (Zhai et al. 2024, section 4.2): a kernel, a machine and the decisions of a schedule as words.
///
///     dense bias 16 64 32 AuthenticAMD 25 17 v4 2 L1 32K PPT  sketch = 3 SP RE CA  SP T_dense i = 4 1 8  ...  unroll T_dense : 0
///     |- prompt: kernel ----|- prompt: machine ------------|  |- decisions: name, marker, value -----------------------------|
///
/// The decisions are those of a search space (space/describe.hpp). A walk writes a sentence while it samples (algorithm 1) and while a model chooses
/// (algorithm 2); both use `sentence_walk`, so that what a model learns is what it is asked.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/core/printable.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/walk.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0::tlm {

inline constexpr std::string_view prompt_end = "PPT";  ///< last word of a prompt
inline constexpr std::string_view choice_marker = "="; ///< between the name of a decision and its value
inline constexpr std::string_view forced_marker = ":"; ///< the same, where the space has one option

/// Calls `f(word)` for each call of a visit. A word has no blanks: bytes up to 0x20, 0x7F and `%` are written `%XX`, an empty name is `%`.
template <class F>
class word_sink {
public:
    explicit word_sink(F f) : f_(std::move(f)) {}
    void primitive(std::string_view s) { name(s); }
    void name(std::string_view s) {
        if (!s.empty() && s.find_first_of(special()) == std::string_view::npos) return f_(s);
        text_ = s.empty() ? "%" : "";
        for (const char c : s) {
            if (special().find(c) == std::string_view::npos) text_ += c;
            else {
                constexpr std::string_view digits = "0123456789ABCDEF";
                const auto byte = static_cast<unsigned char>(c);
                ((text_ += '%') += digits[byte >> 4U]) += digits[byte & 15U];
            }
        }
        f_(std::string_view(text_));
    }
    void number(std::integral auto n) { write(static_cast<std::int64_t>(n)); }
    void number(double x) { write(x); }

private:
    F f_;
    std::string text_;

    static constexpr std::string_view special() noexcept {
        return {"\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37 %\177", 35};
    }
    void write(auto value) {
        text_.clear();
        append_number(text_, value);
        f_(std::string_view(text_));
    }
};

/// Calls `f(word)` for each run of letters and digits in a text such as a workload key; all other ASCII characters separate words. Hashes, words of 16
/// or more hexadecimal digits, are left out: they say nothing of a kernel that was never seen.
template <class F>
void text_words(std::string_view text, const F& f) {
    const auto letter = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
    };
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && letter(text[end])) ++end;
        const auto word = text.substr(at, end - at);
        if (!word.empty() && (word.size() < 16 || word.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)) f(word);
        at = end + (end == at ? 1 : 0);
    }
}

/// The prompt of a task: the words of its kernel class, if its key does not have them, of its key, and of the machine, with single blanks between them.
/// Of the machine: vendor, family, model, instruction set, threads and caches; product name and compiler are left out.
template <task T>
[[nodiscard]] std::string prompt_text(const T& t, const machine_identity& machine) {
    std::string out;
    const auto add = [&](std::string_view word) { (out += word) += ' '; };
    const std::string_view key = task_key(t), kernel_class = task_kernel_class(t);
    if (key.find(kernel_class) == std::string_view::npos) text_words(kernel_class, add);
    text_words(key, add);
    for (const auto field : {&machine_identity::vendor, &machine_identity::family, &machine_identity::model, &machine_identity::isa,
                             &machine_identity::threads, &machine_identity::caches})
        text_words(machine.*field, add);
    return out += prompt_end;
}

namespace detail {

/// Describes the decisions of a space that does not: kind and number of the decision, and values as numbers, those of many options in digits.
template <decision_tree P>
class plain_cursor {
public:
    static constexpr std::uint64_t base = 1024; ///< of the digits

    explicit plain_cursor(const P& space) : cursor_(augur::detail::cursor_of(space)) {}
    [[nodiscard]] std::optional<decision> next() {
        open_ = cursor_.next();
        return open_;
    }
    void choose(std::uint64_t value) {
        cursor_.choose(value);
        ++number_;
    }
    void describe(auto& sink) const {
        constexpr std::array<std::string_view, decision_kinds> names{"sketch",    "tile_size", "compute_location", "parallel", "unroll",
                                                                     "vectorize", "other"};
        sink.primitive(names[static_cast<std::size_t>(open_->kind)]);
        sink.number(number_);
    }
    void words(std::uint64_t value, auto& sink) const {
        for (std::uint64_t unit = first_unit(); unit > 0; unit /= base) sink.number(value / unit % base);
    }

    class speller_type {
    public:
        speller_type(std::uint64_t options, std::uint64_t unit) : left_(options), unit_(unit) {}
        [[nodiscard]] std::uint64_t choices() const noexcept { return unit_ == 0 ? 0 : (left_ - 1) / unit_ + 1; }
        void word(std::uint64_t choice, auto& sink) const { sink.number(choice); }
        void choose(std::uint64_t choice) noexcept {
            value_ += choice * unit_;
            left_ = (std::min)(left_ - choice * unit_, unit_);
            unit_ /= base;
        }
        [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

    private:
        std::uint64_t left_; ///< options that begin with the digits chosen so far
        std::uint64_t unit_, value_ = 0;
    };
    [[nodiscard]] speller_type speller() const { return {open_->options, first_unit()}; }

private:
    decltype(augur::detail::cursor_of(std::declval<const P&>())) cursor_;
    std::optional<decision> open_;
    std::size_t number_ = 0;

    [[nodiscard]] std::uint64_t first_unit() const noexcept {
        std::uint64_t unit = 1;
        while ((open_->options - 1) / unit >= base) unit *= base;
        return unit;
    }
};

/// A sink whose primitives are names.
template <class Sink>
struct names_only {
    Sink& to;
    void primitive(std::string_view s) { to.name(s); }
    void name(std::string_view s) { to.name(s); }
    void number(auto n) { to.number(n); }
};

} // namespace detail

/// A walk from the root of a space to a leaf that says each decision in words. A space without descriptions writes the kind and the number of a
/// decision, and its value.
///
/// Cost     that of the space's cursor
/// Threads  one thread per walk; the space must outlive it
template <decision_tree P>
class sentence_walk {
public:
    explicit sentence_walk(const P& space) : cursor_(make(space)) {}

    /// The open decision; nullopt at a leaf.
    [[nodiscard]] std::optional<decision> next() { return cursor_.next(); }
    void choose(std::uint64_t value) { cursor_.choose(value); }

    /// The name of the open decision, which begins with a primitive, and the marker.
    void name(const decision& open, auto& sink) const {
        cursor_.describe(sink);
        sink.name(open.options > 1 ? choice_marker : forced_marker);
    }
    /// The words of a value of the open decision, without a primitive.   pre: value < options
    void value(std::uint64_t value, auto& sink) const {
        detail::names_only<std::remove_reference_t<decltype(sink)>> names{sink};
        cursor_.words(value, names);
    }
    /// Spells a value of the open decision (`word_speller`). The walk must stay as it is meanwhile.
    [[nodiscard]] auto speller() const {
        if constexpr (described) return speller_of(cursor_);
        else return cursor_.speller();
    }

private:
    static constexpr bool described = described_space<P>;
    static auto make(const P& space) {
        if constexpr (described) return space.cursor();
        else return detail::plain_cursor<P>(space);
    }
    decltype(make(std::declval<const P&>())) cursor_;
};

/// A point of a space as a `schedule` that visits the decisions of its sentence: a primitive each, with name, marker and value.
///
/// pre: the decisions are complete and legal (`trace_path`), and outlive the view
template <decision_tree P>
struct spoken_point {
    const P* space;
    std::span<const std::uint64_t> decisions;

    template <schedule_sink K>
    void visit(K& sink) const {
        sentence_walk<P> walk(*space);
        for (std::size_t i = 0; const auto open = walk.next(); ++i) {
            AUGUR_ASSERT(i < decisions.size() && decisions[i] < open->options, "spoken_point: no legal point");
            walk.name(*open, sink);
            walk.value(decisions[i], sink);
            walk.choose(decisions[i]);
        }
    }
};
template <decision_tree P>
spoken_point(const P*, std::span<const std::uint64_t>) -> spoken_point<P>;

/// Appends the words of a schedule, with a blank before each.
template <schedule S>
void append_words(std::string& out, const S& s) {
    word_sink sink([&](std::string_view word) { (out += ' ') += word; });
    schedule_traits<S>::visit(s, sink);
}

/// The sentence of a point of a space.   Errors: illegal_schedule, as `trace_path`
template <decision_tree P>
[[nodiscard]] result<std::string> sentence_text(std::string_view prompt, const P& space, std::span<const std::uint64_t> decisions) {
    if (auto legal = trace_path(space, decisions); !legal) return legal.error();
    std::string out(prompt);
    append_words(out, spoken_point<P>{&space, decisions});
    return out;
}

/// The decisions of a sentence without its prompt: the inverse of `spoken_point`, for text that a model or a user has written.
///
/// Cost    the words of all choices at each word of a value
/// Errors  parse: a word that the space does not expect there, too few or too many words; the message has the number of the word, from 1;
///         illegal_schedule: the space has no option for a decision, or words of a value that it does not have
template <decision_tree P>
[[nodiscard]] result<decision_vector> read_sentence(const P& space, std::span<const std::string_view> words) {
    decision_vector out;
    std::size_t at = 0;
    const auto broken = [&](const std::string& what) {
        return error{errc::illegal_schedule, "sentence: decision " + std::to_string(out.size()) + ": expected " + what};
    };
    const auto wrong = [&](std::string_view expected) {
        return error{errc::parse, "sentence: word " + std::to_string(at + 1) + ": expected " + std::string(expected) + ", " +
                                      (at < words.size() ? "'" + printable(words[at]) + "' came" : "the sentence ends")};
    };
    sentence_walk<P> walk(space);
    while (const auto open = walk.next()) {
        if (open->options == 0) return broken("at least one option, the space gave none");
        std::optional<error> failed;
        word_sink name([&](std::string_view word) {
            if (failed) return;
            if (at == words.size() || words[at] != word) failed = wrong("'" + printable(word) + "'");
            else ++at;
        });
        walk.name(*open, name);
        if (failed) return *failed;
        auto speller = walk.speller();
        if (open->options > 1 && speller.choices() == 0) return broken("words of its options, the space gave none");
        while (const std::uint64_t choices = speller.choices()) {
            std::uint64_t chosen = choices;
            std::size_t length = 0;
            for (std::uint64_t c = 0; c < choices && chosen == choices; ++c) {
                bool same = true;
                length = 0;
                word_sink one([&](std::string_view word) { same = same && at + length < words.size() && words[at + length] == word, ++length; });
                detail::names_only<decltype(one)> as_names{one};
                speller.word(c, as_names);
                if (same) chosen = c;
            }
            if (chosen == choices) return wrong("one of " + std::to_string(choices) + " choices");
            speller.choose(chosen);
            at += length;
        }
        const std::uint64_t value = speller.value();
        if (value >= open->options)
            return broken("a value below " + std::to_string(open->options) + ", the space gave words of " + std::to_string(value));
        out.push_back(value);
        walk.choose(value);
    }
    if (at != words.size()) return wrong("the end");
    return out;
}

} // namespace augur::inline v0::tlm

#endif
