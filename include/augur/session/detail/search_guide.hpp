// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_SEARCH_GUIDE_HPP
#define AUGUR_SESSION_DETAIL_SEARCH_GUIDE_HPP

/// @file
/// Model and strategy of a session's search, whatever the model's type is: the tuner is compiled for them once, not once for each model.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/model/concepts.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/search/annealing.hpp>
#include <augur/search/bound_scorer.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/descent.hpp>
#include <augur/search/draft_verify.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/in_turn.hpp>
#include <augur/search/random.hpp>

#ifdef AUGUR_HAS_SEARCH_BAYES
#include <augur/search/bayes/bayesian_search.hpp>
#endif

#ifdef AUGUR_HAS_TLM
#include <augur/tlm/generative_search.hpp>
#include <augur/tlm/online.hpp>
#endif

namespace augur::inline v0::detail {

/// A cost model of Ansor schedules of any type, by reference.
class any_model {
public:
    using schedules = std::span<const step_list>;
    using records = std::span<const observation<step_list, loopnest::kernel_task>>;

    static constexpr score_meaning meaning = score_meaning::rank; ///< what all models have in common

    /// pre: `model` outlives it
    template <cost_model<step_list, loopnest::kernel_task> M>
    explicit any_model(M& model)
        : score_([&model](const loopnest::kernel_task& task, schedules batch, std::span<float> scores) { return model.score(task, batch, scores); }) {
        if constexpr (trainable_cost_model<M, step_list, loopnest::kernel_task>) update_ = [&model](records seen) { return model.update(seen); };
    }

    result<void> score(const loopnest::kernel_task& task, schedules batch, std::span<float> scores) { return score_(task, batch, scores); }
    result<void> update(records seen) { return update_ ? update_(seen) : result<void>(); }

private:
    std::function<result<void>(const loopnest::kernel_task&, schedules, std::span<float>)> score_;
    std::function<result<void>(records)> update_; ///< empty: the model does not learn
};

/// Gives every schedule the same score.
struct ranks_nothing {
    static constexpr score_meaning meaning = score_meaning::rank;
    static result<void> score(const loopnest::kernel_task&, std::span<const step_list>, std::span<float> scores) {
        std::fill(scores.begin(), scores.end(), 0.0F);
        return {};
    }
};

#ifdef AUGUR_HAS_TLM
/// Candidates that a language model writes, which learns from all kernels of the session.
template <class E>
using language_search = tlm::generative_search<tlm::online_model<E>, loopnest::ansor_space>;
#endif

/// Proposes nothing.
struct no_search {
    template <class Space, point_scorer F>
    [[nodiscard]] static result<std::vector<decision_vector>> propose(const Space&, F&, std::size_t, random_engine&) {
        return std::vector<decision_vector>{};
    }
    static void observe(std::span<const measured_decisions>) noexcept {}
};

/// A search of a session: any of the strategies, alone or as the drafts of a model.
template <class E>
class guided_search {
public:
    using scorer = bound_scorer<step_list, loopnest::ansor_space, any_model, loopnest::kernel_task, E>;

    template <class Strategy>
        requires(!std::same_as<Strategy, guided_search>)
    explicit guided_search(Strategy search) : search_(std::move(search)) {}
    /// `draft` scores the drafts.   pre: it outlives the strategy
    guided_search(evolutionary<E> search, scorer& draft) : search_(draft_then_verify<evolutionary<E>, scorer>(std::move(search), draft)) {}
#ifdef AUGUR_HAS_TLM
    /// The model ranks what the language model drafts, for `drafted` trials of a kernel, and then what evolves.
    guided_search(language_search<E> search, std::size_t drafted, evolutionary<E> then)
        : search_(in_turn<language_drafts, evolutionary<E>>(language_drafts(std::move(search), unranked, {.draft_share = 0}), drafted,
                                                            std::move(then))) {}
#endif

    template <point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const loopnest::ansor_space& space, F& score, std::size_t n, random_engine& rng) {
        return std::visit([&](auto& search) { return search.propose(space, score, n, rng); }, search_);
    }
    void observe(std::span<const measured_decisions> points) {
        std::visit([&](auto& search) { search.observe(points); }, search_);
    }
    [[nodiscard]] double expected_latency(std::span<const std::uint64_t> point) const {
        return std::visit([&](const auto& search) { return expected_latency_of(search, point); }, search_);
    }

private:
#ifdef AUGUR_HAS_TLM
    using language_drafts = draft_then_verify<language_search<E>, const constant_scorer>;
#endif
    std::variant<evolutionary<E>, draft_then_verify<evolutionary<E>, scorer>, simulated_annealing<E>, coordinate_descent, random_search, no_search
#ifdef AUGUR_HAS_SEARCH_BAYES
                 ,
                 bayesian_search<E>
#endif
#ifdef AUGUR_HAS_TLM
                 ,
                 language_search<E>, in_turn<language_drafts, evolutionary<E>>
#endif
                 >
        search_;

    static constexpr constant_scorer unranked{};
};

} // namespace augur::inline v0::detail

#endif
