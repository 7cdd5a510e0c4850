// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/executor.hpp>
struct pool {
    void bulk(std::size_t n, const auto& f) {
        for (std::size_t i = 0; i < n; ++i) f(i);
    }
#if !FAIL // who schedules must say how many run at once: scratch is one a thread
    std::size_t concurrency() const { return 1; }
#endif
};
template <augur::bulk_executor E>
void run(E&) {}
void check(pool& p) { run(p); }
