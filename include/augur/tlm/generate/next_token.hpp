// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_NEXT_TOKEN_HPP
#define AUGUR_TLM_GENERATE_NEXT_TOKEN_HPP

/// @file
/// The concept `next_token_model`: a language model of any kind, which tells the next token of several sequences behind one prompt.

#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// What a model knows of sequences that stand behind one prompt.
///
/// Syntax      `s.sequences(n)`         n sequences, each just the prompt
///             `s.copy(from, to)`       sequence `to` becomes what `from` is
///             `s.append(i, tokens)`    sequence i goes on; the model may put off the work
///             `s.logits(which, out)` -> result<void>: out (number of `which`, words) <- logits of the token behind each of these sequences, which are
///                                      distinct
/// Semantics   the logits of a sequence depend on its tokens only, not on the other sequences; all of `out` is written
/// Threads     one thread per session
template <class Session>
concept next_token_session = std::movable<Session> && requires(Session& s, std::size_t n, std::span<const token> tokens,
                                                               std::span<const std::size_t> which, std::span<float> out) {
    s.sequences(n);
    s.copy(n, n);
    s.append(n, tokens);
    { s.logits(which, out) } -> std::same_as<result<void>>;
};

/// A language model.
///
/// Syntax      `m.words() -> std::size_t`, the size of its vocabulary, and either `m.open(prompt) -> result<session>`, a `next_token_session`, or, for a
///             model without state, `m.logits(tokens, out) -> result<void>`: out (words) <- logits of the token behind these tokens
/// Optional    `m.context() -> std::size_t`: the most tokens of a sequence, its prompt included. `generator` throws longer sentences away,
///             `generate_unconstrained` counts them as illegal; without it they are asked for, and the model may fail
/// Threads     concurrent const calls are allowed; the model outlives its sessions
template <class M>
concept next_token_model = requires(const M& m) {
    { m.words() } -> std::convertible_to<std::size_t>;
} && (requires(const M& m, std::span<const token> tokens) {
    requires next_token_session<std::remove_cvref_t<decltype(*m.open(tokens))>>;
} || requires(const M& m, std::span<const token> tokens, std::span<float> out) {
    { m.logits(tokens, out) } -> std::same_as<result<void>>;
});

/// The session of a model without state: it keeps the tokens, and asks for all of them each time.
template <class M>
class stateless_session {
public:
    stateless_session(const M& model, std::span<const token> prompt) : model_(&model), prompt_(prompt.begin(), prompt.end()) {}
    void sequences(std::size_t n) { tokens_.assign(n, prompt_); }
    void copy(std::size_t from, std::size_t to) { tokens_[to] = tokens_[from]; }
    void append(std::size_t i, std::span<const token> tokens) { tokens_[i].insert(tokens_[i].end(), tokens.begin(), tokens.end()); }
    [[nodiscard]] result<void> logits(std::span<const std::size_t> which, std::span<float> out) {
        const std::size_t words = model_->words();
        for (std::size_t k = 0; k < which.size(); ++k)
            if (auto told = model_->logits(std::span<const token>(tokens_[which[k]]), out.subspan(k * words, words)); !told) return told;
        return {};
    }

private:
    const M* model_;
    std::vector<token> prompt_;
    std::vector<std::vector<token>> tokens_;
};

namespace detail {

/// The most tokens of a sentence, its prompt included: `context()` of a model that has it.
template <class M>
[[nodiscard]] std::size_t context_of([[maybe_unused]] const M& model) {
    if constexpr (requires {
                      { model.context() } -> std::convertible_to<std::size_t>;
                  })
        return static_cast<std::size_t>(model.context());
    else return (std::numeric_limits<std::size_t>::max)();
}

} // namespace detail

/// A session of a model behind a prompt.   Errors: those of the model
template <next_token_model M>
[[nodiscard]] auto open_session(const M& model, std::span<const token> prompt) {
    if constexpr (requires { model.open(prompt); }) return model.open(prompt);
    else return result<stateless_session<M>>(stateless_session<M>(model, prompt));
}

} // namespace augur::inline v0::tlm

#endif
