// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/thread_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

TEST_CASE("thread_pool: every index once, for any number of threads and pieces, call after call") {
    for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
        augur::thread_pool_executor pool(threads);
        CHECK(pool.concurrency() == threads);
        for (const std::size_t n : {0U, 1U, 2U, 7U, 1000U})
            for (int round = 0; round < 20; ++round) {
                std::vector<std::atomic<int>> calls(n);
                pool.bulk(n, [&](std::size_t i) { ++calls[i]; });
                for (const auto& c : calls) REQUIRE(c == 1);
            }
    }
}

TEST_CASE("thread_pool: as many pieces at the same time as it says") {
    augur::thread_pool_executor pool(4);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::atomic<int> here{0};
    pool.bulk(4, [&](std::size_t) { // each piece waits for the other three: only four threads can finish this
        {
            const std::lock_guard lock(mutex);
            ids.insert(std::this_thread::get_id());
        }
        for (++here; here < 4;) std::this_thread::yield();
    });
    CHECK(ids.size() == 4);
}

TEST_CASE("thread_pool: an exception of a piece ends the call when all running pieces have ended, and the pool goes on") {
    augur::thread_pool_executor pool(4);
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> running{0}, begun{0};
        CHECK_THROWS_AS(pool.bulk(1000,
                                  [&](std::size_t i) {
                                      ++running;
                                      ++begun;
                                      if (i == static_cast<std::size_t>(round)) {
                                          --running;
                                          throw std::runtime_error("a piece");
                                      }
                                      std::this_thread::yield();
                                      --running;
                                  }),
                        std::runtime_error);
        CHECK(running == 0);
        CHECK(begun > round);
        std::vector<std::atomic<int>> calls(100);
        pool.bulk(calls.size(), [&](std::size_t i) { ++calls[i]; });
        for (const auto& c : calls) REQUIRE(c == 1);
    }
}

TEST_CASE("thread_pool: 0 threads are those of the machine") {
    augur::thread_pool_executor pool;
    CHECK(pool.concurrency() == (std::max)(std::size_t{1}, std::size_t{std::thread::hardware_concurrency()}));
}
