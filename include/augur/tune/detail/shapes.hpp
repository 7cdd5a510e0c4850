// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_SHAPES_HPP
#define AUGUR_TUNE_DETAIL_SHAPES_HPP

/// @file
/// Compile-time checks of the tuner's arguments: which optional members a type has, in which shape, and which ranges may be kept.

#include <concepts>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

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

template <class R>
using element_t = std::remove_cvref_t<std::ranges::range_reference_t<R>>;
/// A range whose elements outlive the expression: an lvalue, or a view such as a span.
template <class R>
concept kept_range = std::ranges::contiguous_range<R> && std::ranges::borrowed_range<R>;
/// The schedule type of a space.
template <class Space>
using schedule_of_t = typename decltype(std::declval<const Space&>().realise(std::span<const std::uint64_t>{}))::value_type;
} // namespace detail

} // namespace augur::inline v0

#endif
