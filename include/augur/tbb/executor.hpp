// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TBB_EXECUTOR_HPP
#define AUGUR_TBB_EXECUTOR_HPP

/// @file
/// `bulk_executor` on a oneTBB task arena.

#include <algorithm>
#include <cstddef>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <augur/core/executor.hpp>

namespace augur::inline v0 {

/// Runs bulk work in a task arena of at most `threads` threads; 0: one per hardware thread.
class tbb_executor {
public:
    explicit tbb_executor(std::size_t threads = 0) : arena_(threads == 0 ? ::tbb::task_arena::automatic : static_cast<int>(threads)) {}

    template <class F>
    void bulk(std::size_t n, const F& f) {
        arena_.execute([&] { ::tbb::parallel_for(std::size_t{0}, n, [&](std::size_t i) { f(i); }); });
    }
    [[nodiscard]] std::size_t concurrency() const { return static_cast<std::size_t>((std::max)(1, arena_.max_concurrency())); }

private:
    ::tbb::task_arena arena_;
};
static_assert(bulk_executor<tbb_executor>);

} // namespace augur::inline v0

#endif
