// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_LOGGED_SCHEDULE_HPP
#define AUGUR_RECORD_LOGGED_SCHEDULE_HPP

/// @file
/// Conversion of any schedule type to and from the step list of a log. One primitive is one step, such as `[".tile", "i", 8, [0.5]]`.
///
/// The dot keeps the kinds apart from Ansor's step names. A real number is in brackets, which distinguishes 8 from 8.0; NaN and infinities are
/// strings in brackets.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/record.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0 {

/// Schedule that can be written to a log and rebuilt from it.
template <class S, class Task>
concept loggable_schedule = std::same_as<S, step_list> || rebuildable_schedule<S, Task>;

/// A trial of a log: `task` is the `task_identity` of its task, `schedule` its schedule, `outcome` its measurement. `logged_trial` (tune/resume.hpp)
/// models it.
template <class T>
concept measured_trial = schedule<decltype(T::schedule)> && requires(const T& t) {
    { t.task } -> std::convertible_to<std::string_view>;
    { t.outcome } -> std::convertible_to<const measurement&>;
};

namespace detail {

/// Schedule sink that appends one step per primitive.
class logging_sink {
public:
    explicit logging_sink(step_list& to) : to_(&to) {}

    void primitive(std::string_view kind) {
        to_->steps.emplace_back(foreign_step{"." + std::string(kind), {}});
        item([&](json_writer& out) { out.value(step().kind); });
    }
    void number(std::integral auto n) {
        item([&](json_writer& out) { out.value(static_cast<std::int64_t>(n)); });
    }
    void number(double x) {
        item([&](json_writer& out) {
            out.begin_array();
            write_real(out, x);
            out.end_array();
        });
    }
    void name(std::string_view text) {
        item([&](json_writer& out) { out.value(text); });
    }

private:
    [[nodiscard]] foreign_step& step() { return std::get<foreign_step>(to_->steps.back()); }
    template <class F>
    void item(F&& write) {
        if (to_->steps.empty()) return; // an item before the first primitive: `log_sink` detects that the schedule does not round-trip
        std::string& text = step().json;
        if (text.empty()) text = "[";
        else text.back() = ','; // replaces the closing bracket
        if (text.size() > 1) text += ' ';
        json_writer out(text);
        write(out);
        text += ']';
    }

    step_list* to_;
};

/// Appends the items of one step to `to`. On an error it returns false, and `in` holds the error.
inline bool read_logged_step(json_reader& in, std::vector<schedule_item>& to) {
    using kind = schedule_item::kind;
    schedule_item first{kind::primitive, 0, 0, {}};
    if (!in.begin_array() || !more(in, "the kind") || !in.read(first.text)) return false;
    if (!first.text.starts_with('.')) return in.fail(errc::parse, "expected a kind that begins with a dot");
    first.text.erase(0, 1);
    to.push_back(std::move(first));
    while (in.next_element()) {
        schedule_item item;
        bool read = false;
        switch (in.peek()) {
        case json_kind::string:
            item.type = kind::name;
            read = in.read(item.text);
            break;
        case json_kind::array:
            item.type = kind::real;
            read = in.begin_array() && more(in, "a number") && read_real(in, item.real) && no_more(in, "the brackets of a number");
            break;
        default:
            item.type = kind::integer;
            read = in.read(item.integer);
            break;
        }
        if (!read) return false;
        to.push_back(std::move(item));
    }
    return in.finish();
}

} // namespace detail

/// Step list of a schedule; a `step_list` is returned unchanged. Items that a visit gives before the first primitive are left out.
template <schedule S>
[[nodiscard]] step_list to_logged(const S& s) {
    if constexpr (std::same_as<S, step_list>) {
        return s;
    } else {
        step_list out;
        detail::logging_sink sink(out);
        schedule_traits<S>::visit(s, sink);
        return out;
    }
}

/// Checks that no step is the log form of another schedule type: primitives of such steps are not those of that type's `visit`.
/// Errors: invalid_argument; Ansor's logs have no kind that begins with a dot.
[[nodiscard]] inline result<void> check_ansor_steps(const step_list& s) {
    for (const auto& step : s.steps)
        if (const auto* const foreign = std::get_if<foreign_step>(&step); foreign != nullptr && foreign->kind.starts_with('.'))
            return error{errc::invalid_argument, "expected Ansor's steps, got \"" + foreign->kind +
                                                     "\" of another schedule type: read its log by `read_trials` of that type"};
    return {};
}

/// Rebuilds a schedule from its step list: the inverse of `to_logged`.
/// Errors: parse (steps that `to_logged` does not write); those of `rebuild`.
template <class S, class Task>
    requires loggable_schedule<S, Task>
[[nodiscard]] result<S> from_logged([[maybe_unused]] const Task& t, step_list logged) {
    if constexpr (std::same_as<S, step_list>) {
        return logged;
    } else {
        std::vector<schedule_item> items;
        for (const auto& step : logged.steps) {
            const auto* const foreign = std::get_if<foreign_step>(&step);
            if (foreign == nullptr) return error{errc::parse, "logged schedule: expected steps whose kind begins with a dot, got an Ansor step"};
            json_reader in(foreign->json);
            if (!detail::read_logged_step(in, items)) return in.error();
        }
        return schedule_traits<S>::rebuild(t, std::span<const schedule_item>(items));
    }
}

} // namespace augur::inline v0

#endif
