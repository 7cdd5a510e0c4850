// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_TUNER_ARGUMENTS_HPP
#define AUGUR_TUNE_DETAIL_TUNER_ARGUMENTS_HPP

/// @file
/// Compile-time checks of the tuner's arguments: optional members of a type must have the signature of the concept, and ranges must outlive the call.

#include <concepts>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/model/concepts.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>
#include <augur/tune/concepts.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// The model type for tuning without a cost model.
struct no_model {};

namespace detail {
template <class P, class S>
concept offers_decide = requires(const P& p, const S& s) {
    { p.decide(s) } -> std::same_as<result<decision_vector>>;
};

// Whether a class has a member of some name, whatever its type: the name is then ambiguous in a class that inherits a second one.
struct update_name {
    int update = 0;
};
struct decide_name {
    int decide = 0;
};
struct neighbour_name {
    int neighbour = 0;
};
struct cursor_name {
    int cursor = 0;
};
struct fingerprint_name {
    int fingerprint = 0;
};
struct expected_latency_name {
    int expected_latency = 0;
};
struct meaning_name {
    int meaning = 0;
};
struct key_name {
    int key = 0;
};
template <class C, class Name>
struct name_probe : C, Name {};
template <class C>
concept can_be_base = std::is_class_v<C> && !std::is_final_v<C>;
template <class C>
concept names_update = can_be_base<C> && !requires { &name_probe<C, update_name>::update; };
template <class C>
concept names_decide = can_be_base<C> && !requires { &name_probe<C, decide_name>::decide; };
template <class C>
concept names_neighbour = can_be_base<C> && !requires { &name_probe<C, neighbour_name>::neighbour; };
template <class C>
concept names_cursor = can_be_base<C> && !requires { &name_probe<C, cursor_name>::cursor; };
template <class C>
concept names_fingerprint = can_be_base<C> && !requires { &name_probe<C, fingerprint_name>::fingerprint; };
template <class C>
concept names_expected_latency = can_be_base<C> && !requires { &name_probe<C, expected_latency_name>::expected_latency; };
template <class C>
concept names_meaning = can_be_base<C> && !requires { &name_probe<C, meaning_name>::meaning; };
template <class C>
concept names_key = can_be_base<C> && !requires { &name_probe<C, key_name>::key; };

template <class R>
using element_t = std::remove_cvref_t<std::ranges::range_reference_t<R>>;
/// A range whose elements outlive the expression: an lvalue, or a view such as a span.
template <class R>
concept kept_range = std::ranges::contiguous_range<R> && std::ranges::borrowed_range<R>;
template <class Space>
concept realises = requires(const Space& p, std::span<const std::uint64_t> d) { typename decltype(p.realise(d))::value_type; };
struct no_schedule {};
template <class Space>
struct schedule_of {
    using type = no_schedule;
};
template <realises Space>
struct schedule_of<Space> {
    using type = typename decltype(std::declval<const Space&>().realise(std::span<const std::uint64_t>{}))::value_type;
};
/// The schedule type of a space.
template <class Space>
using schedule_of_t = typename schedule_of<Space>::type;

template <class M>
concept says_meaning = requires {
    { M::meaning } -> std::convertible_to<score_meaning>;
};
template <class M, class S, class Task>
concept scores = requires(M& m, const Task& t, std::span<const S> batch, std::span<float> out) {
    { m.score(t, batch, out) } -> std::same_as<result<void>>;
};

/// The arguments of a tuner, checked in words: a base class, so that the first error is one of these and not one about a member.
template <class Task, class Space, class Strategy, class Model, class E>
struct tuner_arguments {
    static_assert(task<Task> || !names_key<Task>,
                  "the task has a member `key` that is not `key() const -> std::string_view`: change it, or specialise augur::task_traits<Task>");
    static_assert(task<Task>, "the task has no key: give it a member `key() const -> std::string_view`, or specialise augur::task_traits<Task>");
    static_assert(decision_tree<Space>, "the space is no augur::decision_tree: it needs `next(std::span<const std::uint64_t>) const -> "
                                        "std::optional<augur::decision>`");
    static_assert(realises<Space>, "`realise` of the space must be `realise(std::span<const std::uint64_t>) const -> augur::result<S>`");
    using S = schedule_of_t<Space>;
    static_assert(schedule<S>, "what the space realises is no schedule: specialise augur::schedule_traits for it, or give it a member "
                               "`visit(sink) const`");
    static_assert(decision_space<Space, S>, "`realise` of the space must be `realise(std::span<const std::uint64_t>) const -> augur::result<S>`");
    static_assert(search_strategy<Strategy, Space>,
                  "the strategy is no augur::search_strategy for this space: it needs `propose(space, scorer, n, "
                  "rng) -> result<std::vector<decision_vector>>` and `observe(std::span<const measured_decisions>)`");
    static_assert(bulk_executor<E>, "the executor is no augur::bulk_executor: it needs `bulk(n, f)` and `concurrency() const`");
    static constexpr bool guided = !std::same_as<Model, no_model>;
    static_assert(!guided || says_meaning<Model> || !names_meaning<Model>,
                  "the model has a member `meaning` that is not `static constexpr augur::score_meaning meaning`");
    static_assert(!guided || says_meaning<Model>,
                  "the model does not say what its scores mean: it needs `static constexpr augur::score_meaning meaning`");
    static_assert(
        !guided || scores<Model, S, Task>,
        "the model cannot score these schedules: it needs `score(const Task&, std::span<const S>, std::span<float>) -> augur::result<void>`");
    static_assert(!guided || !names_update<Model> || trainable_cost_model<Model, S, Task>,
                  "the model has a member `update` that is not `update(std::span<const observation<S, Task>>) -> result<void>`, so it would never be "
                  "trained");
    static_assert(!names_decide<Space> || offers_decide<Space, S>,
                  "the space has a member `decide` that is not `decide(const S&) const -> result<decision_vector>`, so the strategies would not "
                  "observe resumed records");
    static_assert(!names_neighbour<Space> || offers_neighbour<Space>,
                  "the space has a member `neighbour` that is not `neighbour(std::span<const std::uint64_t>, std::uint64_t, random_engine&) const -> "
                  "std::uint64_t`, so mutation would not use it");
    static_assert(!names_cursor<Space> || offers_cursor<Space>,
                  "the space has a member `cursor` that is not `cursor() const`, an object with `next() -> std::optional<decision>` and "
                  "`choose(value)`, so no walk would use it");
    static_assert(!names_fingerprint<Space> || offers_fingerprint<Space>,
                  "the space has a member `fingerprint` that is not `fingerprint(std::span<const std::uint64_t>) const -> std::uint64_t`, so equal "
                  "schedules would not be recognised by it");
    static_assert(!names_expected_latency<Strategy> || expects_latency<Strategy>,
                  "the strategy has a member `expected_latency` that is not `expected_latency(std::span<const std::uint64_t>) const -> double`");
};

/// The runner of a tuner, checked in words.
template <class R, class S, class Task>
consteval bool is_runner() {
    static_assert(runner<R, S, Task>, "the runner is no augur::runner: it needs `measure(const Task&, std::span<const S>) -> "
                                      "std::vector<augur::measurement>`");
    return true;
}
} // namespace detail

} // namespace augur::inline v0

#endif
