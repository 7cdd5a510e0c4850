// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thread pool of generated programs, as a program of its own: every iteration exactly once, whatever the threads take from each other.
#include <string>
#include <vector>

#include <augur/loopnest/detail/runner_threads_source.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/work_folder.hpp>

#include <doctest/doctest.h>

namespace runner_threads_source_test {

inline constexpr char includes[] = R"SRC(#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
)SRC";

// Counts of plain integers: an iteration that two threads run, or none, shows in them.
inline constexpr char program[] = R"SRC(
enum { most = 1000, calls = 200 };
static int count[most], inner_count[most][3];
static pthread_t who[16];
static _Atomic int64_t passed;
static _Atomic int taken_over;
static _Thread_local volatile int work;

static int fail(const char *what, int64_t n) { return printf("%s, n = %lld\n", what, (long long)n), 1; }
static void unequal(void *n, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
        ++count[i];
        if (i < *(int64_t *)n / 4)
            for (int k = 0; k < 200; ++k) work = k;
    }
}
static void inner(void *row, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++((int *)row)[i];
}
static void nested(void *n, int64_t begin, int64_t end) {
    (void)n;
    for (int64_t i = begin; i < end; ++i) launch(inner, inner_count[i], 3);
}
static void lengths(void *n, int64_t begin, int64_t end) {
    if (begin >= 0 && begin < end && end <= *(int64_t *)n) atomic_fetch_add(&passed, end - begin);
}
// The first iteration ends when another thread has run the last one of its part, or after 20 seconds.
static void waits(void *n, int64_t begin, int64_t end) {
    (void)n;
    for (int64_t i = begin; i < end; ++i) {
        who[i] = pthread_self();
        if (i == 7) atomic_store(&taken_over, 1);
        for (int k = 0; i == 0 && k < 20000 && !atomic_load(&taken_over); ++k) usleep(1000);
    }
}
int main(int argc, char **argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    if (start_threads(threads) != 0) return fail("no threads", threads);
    const int64_t lengths_of[] = {1, 2, 3, 4, 5, 7, 16, 63, 64, 65, most};
    for (size_t l = 0; l < sizeof lengths_of / sizeof *lengths_of; ++l) {
        int64_t n = lengths_of[l];
        memset(count, 0, sizeof count);
        memset(inner_count, 0, sizeof inner_count);
        for (int c = 0; c < calls; ++c) launch(unequal, &n, n);
        launch(nested, &n, n);
        for (int i = 0; i < most; ++i) {
            if (count[i] != (i < n ? calls : 0)) return fail("not once a call", n);
            for (int k = 0; k < 3; ++k)
                if (inner_count[i][k] != (i < n)) return fail("nested: not once", n);
        }
    }
    const int64_t long_ones[] = {0, UINT32_MAX, (int64_t)UINT32_MAX + 1, 3 * ((int64_t)1 << 32) + 5, (int64_t)1 << 50};
    for (size_t l = 0; l < sizeof long_ones / sizeof *long_ones; ++l) {
        int64_t n = long_ones[l];
        passed = 0;
        launch(lengths, &n, n);
        if (passed != n) return fail("iterations are missing", n);
    }
    if (threads == 2) {
        int64_t n = 16;
        launch(waits, &n, n);
        if (!taken_over || pthread_equal(who[0], who[7])) return fail("nothing was taken over", n);
    }
    return puts("good") < 0;
}
)SRC";

} // namespace runner_threads_source_test

TEST_CASE("runner_threads_source: every iteration once, on any number of threads, and slow threads are helped") {
    using namespace runner_threads_source_test;
    using namespace augur::loopnest;
    auto folder = work_folder::create();
    REQUIRE(folder);
    const auto cc = find_compiler({}, *folder);
    REQUIRE(cc);
    const auto c = folder->path() + "/pool.c", executable = folder->path() + "/pool";
    REQUIRE(write_private_file(c, std::string(includes) + augur::loopnest::detail::runner_threads_source + program));
    process_spec job;
    job.arguments = cc->command;
    for (const auto& a : {std::string("-std=gnu11"), std::string("-O2"), std::string("-o"), executable, c, std::string("-lpthread")})
        job.arguments.push_back(a);
    job.wall_seconds = 60;
    job.temporary = folder->path();
    const auto made = run_process(job);
    if (!made.ok()) FAIL(made.errors);
    for (const char* threads : {"1", "2", "3", "5", "16"}) {
        CAPTURE(threads);
        job.arguments = {executable, threads};
        const auto ran = run_process(job);
        CAPTURE(ran.output);
        CHECK(ran.ok());
        CHECK(ran.output == "good\n");
    }
}
