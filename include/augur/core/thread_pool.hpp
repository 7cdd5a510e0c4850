// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_THREAD_POOL_HPP
#define AUGUR_CORE_THREAD_POOL_HPP

/// @file
/// `thread_pool_executor`: a `bulk_executor` on threads of the standard library, for users without oneTBB.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>

namespace augur::inline v0 {

/// Runs bulk work on the calling thread and on a fixed number of worker threads, which sleep between calls.
///
/// Indices are handed out one at a time, so pieces may differ in cost. A piece that itself calls `bulk` of the same executor is not supported. An exception
/// of a piece leaves `bulk` when all running pieces have ended; those that were not begun are left out.
///
/// Cost     constructor: starts the threads; `bulk`: wakes them, some 10 microseconds; allocates nothing
/// Threads  as `bulk_executor`: `bulk` from one thread at a time
class thread_pool_executor {
public:
    /// @param threads  most pieces at the same time, the calling thread included; 0: `std::thread::hardware_concurrency`.
    ///                 Where the system starts fewer threads, the executor has fewer.
    explicit thread_pool_executor(std::size_t threads = 0) {
        if (threads == 0) threads = std::thread::hardware_concurrency();
        while (workers_.size() + 1 < threads && start()) {}
    }
    thread_pool_executor(const thread_pool_executor&) = delete;
    thread_pool_executor& operator=(const thread_pool_executor&) = delete;
    ~thread_pool_executor() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
    }

    template <class F>
    void bulk(std::size_t n, const F& f) {
        if (workers_.empty() || n < 2) {
            for (std::size_t i = 0; i < n; ++i) f(i);
            return;
        }
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            call_ = [](const void* function, std::size_t i) { (*static_cast<const F*>(function))(i); };
            function_ = &f;
            count_ = n;
            next_.store(0, std::memory_order_relaxed);
            busy_ = workers_.size();
            ++round_;
        }
        wake_.notify_all();
        run();
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
#ifdef __cpp_exceptions
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
#endif
    }
    [[nodiscard]] std::size_t concurrency() const noexcept { return workers_.size() + 1; }

private:
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    void (*call_)(const void*, std::size_t) = nullptr;
    const void* function_ = nullptr;
    std::size_t count_ = 0, busy_ = 0; ///< pieces of this round; workers that have not finished it
    std::uint64_t round_ = 0;
    bool stop_ = false;
    std::atomic<std::size_t> next_{0};
#ifdef __cpp_exceptions
    std::exception_ptr thrown_; ///< the first one of this round
#endif

    bool start() {
#ifdef __cpp_exceptions
        try { // std::system_error when the system has no thread left
            workers_.emplace_back([this] { work(); });
        } catch (...) {
            return false;
        }
#else
        workers_.emplace_back([this] { work(); });
#endif
        return true;
    }
    void run() {
        const auto pieces = [this] {
            for (std::size_t i = next_.fetch_add(1, std::memory_order_relaxed); i < count_; i = next_.fetch_add(1, std::memory_order_relaxed))
                call_(function_, i);
        };
#ifdef __cpp_exceptions
        try {
            pieces();
        } catch (...) { // of a piece, which is the caller's code
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!thrown_) thrown_ = std::current_exception();
            next_.store(count_, std::memory_order_relaxed);
        }
#else
        pieces();
#endif
    }
    void work() {
        std::uint64_t seen = 0;
        for (std::unique_lock<std::mutex> lock(mutex_);;) {
            wake_.wait(lock, [&] { return stop_ || round_ != seen; });
            if (stop_) return;
            seen = round_;
            lock.unlock();
            run();
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }
};
static_assert(bulk_executor<thread_pool_executor>);

} // namespace augur::inline v0

#endif
