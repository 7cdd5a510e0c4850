// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_CONCEPTS_HPP
#define AUGUR_WORKLOAD_CONCEPTS_HPP

/// @file
/// What the library asks of a task: a key, and whatever else is known.

#include <concepts>
#include <string>
#include <string_view>

namespace augur::inline v0 {

/// How to read a task of type T. The default calls the members that are there; specialise it for a type that you cannot edit.
///
/// `key` is asked of every task and tells it from every other one on the same target. The rest has defaults: no target text, weight 1 (how often the
/// kernel occurs in its network), 0 floating-point operations (unknown), no kernel class.
template <class T>
struct task_traits {
    static std::string_view key(const T& t)
        requires requires { { t.key() } -> std::convertible_to<std::string_view>; }
    {
        return t.key();
    }
    static std::string_view target(const T& t) {
        if constexpr (requires { { t.target() } -> std::convertible_to<std::string_view>; }) return t.target();
        else return {};
    }
    static double weight(const T& t) {
        if constexpr (requires { { t.weight() } -> std::convertible_to<double>; }) return t.weight();
        else return 1;
    }
    static double flops(const T& t) {
        if constexpr (requires { { t.flops() } -> std::convertible_to<double>; }) return t.flops();
        else return 0;
    }
    static std::string_view kernel_class(const T& t) {
        if constexpr (requires { { t.kernel_class() } -> std::convertible_to<std::string_view>; }) return t.kernel_class();
        else return {};
    }
};

/// A task: one kernel to be tuned for one target.
///
/// Syntax      `task_traits<T>::key(t)`; `target`, `weight`, `flops`, `kernel_class` may be left to their defaults
/// Semantics   equal keys on equal targets mean the same computation
/// Cost        constant; the views live as long as the task
template <class T>
concept task = requires(const T& t) {
    { task_traits<T>::key(t) } -> std::convertible_to<std::string_view>;
};

/// Target and key in one text: what to keep a task's things under.
template <task Task>
[[nodiscard]] std::string task_identity(const Task& t) {
    std::string text(task_traits<Task>::target(t));
    return (text += '\n') += task_traits<Task>::key(t);
}

} // namespace augur::inline v0

#endif
