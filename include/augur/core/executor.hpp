// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_EXECUTOR_HPP
#define AUGUR_CORE_EXECUTOR_HPP

/// @file
/// Concept for parallel executors that run n independent work items, and a serial one. `thread_pool.hpp` and `tbb/executor.hpp` have parallel ones.

#include <concepts>
#include <cstddef>

namespace augur::inline v0 {

namespace detail {
struct bulk_probe {
    void operator()(std::size_t) const {}
};
} // namespace detail

/// Runs independent work items.
///
/// Syntax      `e.bulk(n, f)` calls `f(i)` once for each i in [0, n) and returns when all calls are done
///             `e.concurrency()` is the maximum number of calls that run at the same time, at least 1
/// Semantics   the order of the calls and their threads are unspecified; `f` must not depend on either
/// Threads     `f` is called concurrently; `bulk` itself is called from one thread at a time
template <class E>
concept bulk_executor = requires(E& e, std::size_t n, const detail::bulk_probe& f) {
    e.bulk(n, f);
    { e.concurrency() } -> std::convertible_to<std::size_t>;
};

/// Runs the work items one after the other, on the calling thread.
struct serial_executor {
    template <class F>
    void bulk(std::size_t n, const F& f) const {
        for (std::size_t i = 0; i < n; ++i) f(i);
    }
    [[nodiscard]] static constexpr std::size_t concurrency() noexcept { return 1; }
};
static_assert(bulk_executor<serial_executor>);

namespace detail {
/// A reference to an executor of the caller; without one, work runs on the calling thread.
template <bulk_executor E>
class executor_ref {
public:
    executor_ref() = default;
    explicit executor_ref(E& executor) noexcept : executor_(&executor) {}
    template <class F>
    void bulk(std::size_t n, const F& f) const {
        if (executor_ != nullptr) executor_->bulk(n, f);
        else serial_executor{}.bulk(n, f);
    }
    [[nodiscard]] std::size_t concurrency() const { return executor_ != nullptr ? static_cast<std::size_t>(executor_->concurrency()) : 1; }

private:
    E* executor_ = nullptr;
};
} // namespace detail

} // namespace augur::inline v0

#endif
