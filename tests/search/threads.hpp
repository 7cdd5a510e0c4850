// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_SEARCH_THREADS_HPP
#define AUGUR_TESTS_SEARCH_THREADS_HPP

/// @file
/// An executor whose order is not that of a loop.

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace toy {

/// Runs on `count` threads, the last piece first.
struct threads {
    std::size_t count;
    template <class F>
    void bulk(std::size_t n, const F& f) {
        std::atomic<std::size_t> next{0};
        std::vector<std::thread> pool;
        for (std::size_t t = 0; t < count; ++t)
            pool.emplace_back([&] {
                for (std::size_t i = next++; i < n; i = next++) f(n - 1 - i);
            });
        for (auto& t : pool) t.join();
    }
    [[nodiscard]] std::size_t concurrency() const { return count; }
};

} // namespace toy

#endif
