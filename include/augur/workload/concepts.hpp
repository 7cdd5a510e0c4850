// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_CONCEPTS_HPP
#define AUGUR_WORKLOAD_CONCEPTS_HPP

/// @file
/// The concept `task` (one kernel to tune for one target) and `task_traits`, which adapts task types of other compilers.

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <augur/workload/class_levels.hpp>

namespace augur::inline v0 {

namespace detail {
/// Text that a view of may outlive the expression: a reference to a string, not a string.
template <class T>
concept lasting_text = std::convertible_to<T, std::string_view> && !std::same_as<T, std::string>;
} // namespace detail

/// Accessors of a task of type T. The default calls the members of T that exist; specialise it for a type that you cannot edit.
///
/// `key` is required and is unique among the tasks of one target. `target` is what code is generated for, such as a TVM target string. Which machine
/// measured a record is no part of it: logs keep that in `toolchain` (record/toolchain.hpp), and `read_trials` compares both. The other functions are
/// optional, also in a specialisation; the functions below define the default values.
template <class T>
struct task_traits {
    static std::string_view key(const T& t)
        requires requires {
            { t.key() } -> detail::lasting_text;
        }
    {
        return t.key();
    }
    static std::string_view target(const T& t)
        requires requires {
            { t.target() } -> std::convertible_to<std::string_view>;
        }
    {
        static_assert(detail::lasting_text<decltype(t.target())>, "a string by value is gone before its view");
        return t.target();
    }
    static double weight(const T& t)
        requires requires {
            { t.weight() } -> std::convertible_to<double>;
        }
    {
        return t.weight();
    }
    static double flops(const T& t)
        requires requires {
            { t.flops() } -> std::convertible_to<double>;
        }
    {
        return t.flops();
    }
    static std::string_view kernel_class(const T& t)
        requires requires {
            { t.kernel_class() } -> std::convertible_to<std::string_view>;
        }
    {
        static_assert(detail::lasting_text<decltype(t.kernel_class())>, "a string by value is gone before its view");
        return t.kernel_class();
    }
    static decltype(auto) class_levels(const T& t)
        requires requires {
            { t.class_levels() } -> std::convertible_to<const augur::class_levels&>;
        }
    {
        return t.class_levels();
    }
};

/// A task: one kernel to tune for one target.
///
/// Syntax      `task_traits<T>::key(t)`; `target`, `weight`, `flops`, `kernel_class`, `class_levels` are optional
/// Semantics   equal keys on equal targets mean the same computation
/// Cost        constant; the views are valid as long as the task
template <class T>
concept task = requires(const T& t) {
    { task_traits<T>::key(t) } -> detail::lasting_text; // a string by value would be gone before its view
};

/// The task type of a contiguous range: of a vector, an array or a span, const or not.
template <class Range>
using range_task_t = std::remove_cv_t<typename decltype(std::span(std::declval<const Range&>()))::element_type>;

/// The key of a task.
template <task Task>
[[nodiscard]] std::string_view task_key(const Task& t) {
    return task_traits<Task>::key(t);
}
/// The target of a task; empty if the task type has none.
template <task Task>
[[nodiscard]] std::string_view task_target(const Task& t) {
    if constexpr (requires {
                      { task_traits<Task>::target(t) } -> std::convertible_to<std::string_view>;
                  })
        return task_traits<Task>::target(t);
    else return {};
}
/// How often the kernel occurs in its network; 1 if the task type has no weight.
template <task Task>
[[nodiscard]] double task_weight(const Task& t) {
    if constexpr (requires {
                      { task_traits<Task>::weight(t) } -> std::convertible_to<double>;
                  })
        return task_traits<Task>::weight(t);
    else return 1;
}
/// Floating-point operations of one call; 0 (unknown) if the task type has no count.
template <task Task>
[[nodiscard]] double task_flops(const Task& t) {
    if constexpr (requires {
                      { task_traits<Task>::flops(t) } -> std::convertible_to<double>;
                  })
        return task_traits<Task>::flops(t);
    else return 0;
}
/// The kernel class of a task, e.g. `conv2d_nhwc_bias_relu`; empty if the task type has none.
template <task Task>
[[nodiscard]] std::string_view task_kernel_class(const Task& t) {
    if constexpr (requires {
                      { task_traits<Task>::kernel_class(t) } -> std::convertible_to<std::string_view>;
                  })
        return task_traits<Task>::kernel_class(t);
    else return {};
}

/// The kernel class of a task at every level. If the task type does not say them: its class as the sequence of operations and as their prefix, and its
/// key as the workload.
template <task Task>
[[nodiscard]] class_levels task_class_levels(const Task& t) {
    if constexpr (requires {
                      { task_traits<Task>::class_levels(t) } -> std::convertible_to<class_levels>;
                  })
        return task_traits<Task>::class_levels(t);
    else {
        const std::string operations(task_kernel_class(t));
        return class_levels()
            .set(class_level::prefix, operations)
            .set(class_level::operations, operations)
            .set(class_level::workload, std::string(task_key(t)));
    }
}

/// Target and key in one string, unique per task: an index for data about tasks.
template <task Task>
[[nodiscard]] std::string task_identity(const Task& t) {
    const std::string_view target = task_target(t);
    std::string text = std::to_string(target.size());
    return ((text += '\n') += target) += task_key(t); // the length prefix makes the concatenation unambiguous
}

} // namespace augur::inline v0

#endif
