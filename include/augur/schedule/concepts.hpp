// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_CONCEPTS_HPP
#define AUGUR_SCHEDULE_CONCEPTS_HPP

/// @file
/// The concept `schedule`: a sequence of transform primitives that can be visited. Also sinks for visits, and a contract check for tests.

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>

namespace augur::inline v0 {

/// How to visit a schedule of type S: `visit` passes the primitives to a sink, one by one.
/// The default calls the member `visit`; specialise it for a type that you cannot edit (as with `llvm::GraphTraits`).
template <class S>
struct schedule_traits {
    template <class Sink>
        requires requires(const S& s, Sink& k) { s.visit(k); }
    static void visit(const S& s, Sink& k) {
        s.visit(k);
    }
};

namespace detail { // private to this room
struct null_sink {
    void primitive(std::string_view) const noexcept {} ///< begins a step; the following numbers and names belong to it
    void number(std::integral auto) const noexcept {}  ///< a factor, or the index of an axis or a stage
    void number(double) const noexcept {}
    void name(std::string_view) const noexcept {} ///< an axis or buffer name, a pragma
};
} // namespace detail

/// The receiver of a visit of a schedule.
template <class K>
concept schedule_sink = requires(K& k, std::string_view s, std::int64_t i, double d) {
    k.primitive(s);
    k.number(i);
    k.number(d);
    k.name(s);
};

/// A schedule: the transform steps, in order, that turn a workload into a program.
///
/// Syntax      `schedule_traits<S>::visit(const S&, Sink&)` calls the sink's `primitive`, `number`, `name`; a
///             number is an integer within std::int64_t, or a float or double
/// Semantics   (the compiler cannot check these; `testing::check_schedule` checks the first two)
///   begins    a visit begins with `primitive`; numbers and names belong to the primitive before them
///   stable    two visits of an unmodified schedule report equal steps
///   complete  equal steps on equal workloads mean the same program
/// Cost        linear in the steps; the visit itself allocates nothing; views are valid only during the call
/// Threads     concurrent visits of one const object are allowed
template <class S>
concept schedule = requires(const S& s, detail::null_sink& k) { schedule_traits<S>::visit(s, k); };

/// The schedule type of a contiguous range: of a vector, an array or a span, const or not.
template <class Range>
using range_schedule_t = std::remove_cv_t<typename decltype(std::span(std::declval<const Range&>()))::element_type>;

namespace detail {
/// The compile error of a function that takes a schedule of any type and got something else.
template <class S>
constexpr void require_schedule() noexcept {
    static_assert(schedule<S>, "this type is no schedule: specialise augur::schedule_traits for it, or give it a member `visit(sink) const`");
}
} // namespace detail

/// A range of schedules as a span of const schedules.
template <class Range>
[[nodiscard]] constexpr std::span<const range_schedule_t<Range>> schedule_span(const Range& schedules) noexcept {
    detail::require_schedule<range_schedule_t<Range>>();
    return schedules;
}

/// One recorded call of a visit. `rebuild` reads a list of them.
struct schedule_item {
    enum class kind : std::uint8_t { primitive, integer, real, name };
    kind type{};
    std::int64_t integer = 0;
    double real = 0;
    std::string text; ///< for a primitive or a name

    /// Compares reals bit by bit, so a NaN is equal to itself.
    friend bool operator==(const schedule_item& a, const schedule_item& b) {
        return a.type == b.type && a.integer == b.integer && std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real) &&
               a.text == b.text;
    }
};

/// A sink that records all calls.
struct recording_sink {
    std::vector<schedule_item> items;
    void primitive(std::string_view s) { items.push_back({schedule_item::kind::primitive, 0, 0, std::string(s)}); }
    void number(std::integral auto i) { items.push_back({schedule_item::kind::integer, static_cast<std::int64_t>(i), 0, {}}); }
    void number(double d) { items.push_back({schedule_item::kind::real, 0, d, {}}); }
    void name(std::string_view s) { items.push_back({schedule_item::kind::name, 0, 0, std::string(s)}); }
};

/// A schedule that can be rebuilt from the recorded calls of a visit.
///
/// Syntax      `schedule_traits<S>::rebuild(task, span<const schedule_item>) -> result<S>`
/// Semantics   `rebuild(task, items of visit(s))` returns a schedule whose visit records the same items; malformed items are an error, never
///             a crash
template <class S, class Task>
concept rebuildable_schedule = schedule<S> && requires(const Task& t, std::span<const schedule_item> items) {
    { schedule_traits<S>::rebuild(t, items) } -> std::same_as<result<S>>;
};

namespace testing {

/// For tests of a user's schedule type: checks that a visit of `s` begins with a primitive and that two visits report the same.
template <schedule S>
[[nodiscard]] result<void> check_schedule(const S& s) {
    recording_sink first;
    recording_sink second;
    schedule_traits<S>::visit(s, first);
    schedule_traits<S>::visit(s, second);
    if (first.items != second.items) return error{errc::illegal_schedule, "two visits of one schedule saw different steps"};
    if (!first.items.empty() && first.items.front().type != schedule_item::kind::primitive)
        return error{errc::illegal_schedule, "a visit must begin with primitive(), it began with a number or a name"};
    return {};
}

/// As above; also checks that `rebuild` returns a schedule with the same steps.
template <class S, class Task>
    requires rebuildable_schedule<S, Task>
[[nodiscard]] result<void> check_schedule(const S& s, const Task& task) {
    if (auto stable = check_schedule(s); !stable) return stable;
    recording_sink seen;
    schedule_traits<S>::visit(s, seen);
    auto rebuilt_schedule = schedule_traits<S>::rebuild(task, std::span<const schedule_item>(seen.items));
    if (!rebuilt_schedule) return rebuilt_schedule.error();
    recording_sink rebuilt;
    schedule_traits<S>::visit(*rebuilt_schedule, rebuilt);
    if (seen.items != rebuilt.items) return error{errc::illegal_schedule, "rebuild(visit(s)) visits other steps than s"};
    return {};
}

} // namespace testing

} // namespace augur::inline v0

#endif
