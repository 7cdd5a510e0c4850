// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_RUNNER_THREADS_SOURCE_HPP
#define AUGUR_LOOPNEST_DETAIL_RUNNER_THREADS_SOURCE_HPP

/// @file
/// C source of the thread pool that runs the parallel loops of a candidate: pinned threads that spin, then sleep on a futex. Each thread begins with a
/// part of its own, the same in every call for the sake of its caches, and takes over iterations of slower threads when it has none left.
///
/// Part of the program in loopnest/detail/runner_source.hpp.

namespace augur::inline v0::loopnest::detail {

inline constexpr char runner_threads_source[] = R"SRC(
/* ---- the threads of a candidate ---------------------------------------------------------------------------------------------------------------- */

typedef void (*body_t)(void *, int64_t, int64_t);
typedef void (*launch_t)(body_t, void *, int64_t);
typedef void (*entry_t)(float *const *, launch_t);
typedef void (*pack_t)(float *const *);

static struct {
    int threads, spin;
    _Alignas(64) _Atomic uint32_t epoch;
    _Alignas(64) _Atomic uint32_t left;
    _Alignas(64) _Atomic int sleepers;
    _Atomic int main_sleeps;
    body_t body;
    void *context;
    int64_t unit; // iterations of a block
    int64_t count;
    struct part *parts; // one a thread
} pool;
struct part { // the blocks of a thread that nobody has taken yet: begin in the low 32 bits, end in the high ones
    _Alignas(64) _Atomic uint64_t blocks;
};
static _Thread_local int inside; // a nested launch runs serially on the calling thread

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
static void futex_wait(_Atomic uint32_t *at, uint32_t while_equal) {
#ifdef __linux__
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, while_equal, NULL, NULL, 0);
#else
    (void)at; (void)while_equal;
    sched_yield();
#endif
}
static void futex_wake(_Atomic uint32_t *at) {
#ifdef __linux__
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#else
    (void)at;
#endif
}
/* Takes half of what is left of a part, from the front for its owner and from the back for others. */
static int take_blocks(struct part *part, int own, int64_t *begin, int64_t *end) {
    uint64_t seen = atomic_load_explicit(&part->blocks, memory_order_relaxed);
    for (;;) {
        const uint32_t first = (uint32_t)seen, last = (uint32_t)(seen >> 32);
        if (first == last) return 0;
        const uint32_t taken = (last - first + 1) / 2, cut = own ? first + taken : last - taken;
        const uint64_t rest = own ? (uint64_t)last << 32 | cut : (uint64_t)cut << 32 | first;
        if (!atomic_compare_exchange_weak_explicit(&part->blocks, &seen, rest, memory_order_relaxed, memory_order_relaxed)) continue;
        *begin = (own ? first : cut) * pool.unit;
        *end = (own ? cut : last) * pool.unit;
        if (*end > pool.count) *end = pool.count;
        return 1;
    }
}
/* The part of thread t, then what others have left of theirs: a part only shrinks, so one pass finds everything. */
static void work_of(int t) {
    int64_t begin, end;
    inside = 1;
    for (int other = 0; other < pool.threads; ++other) {
        struct part *const part = &pool.parts[(t + other) % pool.threads];
        while (take_blocks(part, other == 0, &begin, &end)) pool.body(pool.context, begin, end);
    }
    inside = 0;
}
static void *thread_main(void *argument) {
    uint32_t seen = 0;
    for (;;) {
        int tries = pool.spin;
        while (atomic_load_explicit(&pool.epoch, memory_order_acquire) == seen) {
            if (--tries > 0) {
                relax();
                continue;
            }
            atomic_fetch_add(&pool.sleepers, 1);
            futex_wait(&pool.epoch, seen);
            atomic_fetch_sub(&pool.sleepers, 1);
        }
        ++seen;
        work_of((int)(intptr_t)argument);
        if (atomic_fetch_sub(&pool.left, 1) == 1 && atomic_load(&pool.main_sleeps)) futex_wake(&pool.left);
    }
    return NULL;
}
static void launch(body_t body, void *context, int64_t n) {
    if (n <= 0) return;
    if (pool.threads == 1 || n == 1 || inside) {
        body(context, 0, n);
        return;
    }
    pool.body = body;
    pool.context = context;
    pool.count = n;
    pool.unit = n / UINT32_MAX + 1;
    const int64_t blocks = (n + pool.unit - 1) / pool.unit, k = pool.threads;
    for (int64_t t = 0, begin = 0; t < k; ++t) {
        const int64_t behind = begin + blocks / k + (t < blocks % k);
        atomic_store_explicit(&pool.parts[t].blocks, (uint64_t)behind << 32 | (uint64_t)begin, memory_order_relaxed);
        begin = behind;
    }
    atomic_store(&pool.left, (uint32_t)(pool.threads - 1));
    atomic_fetch_add(&pool.epoch, 1);
    if (atomic_load(&pool.sleepers) > 0) futex_wake(&pool.epoch);
    work_of(0);
    int tries = pool.spin;
    uint32_t left;
    while ((left = atomic_load(&pool.left)) != 0) {
        if (--tries > 0) {
            relax();
            continue;
        }
        atomic_store(&pool.main_sleeps, 1);
        if (atomic_load(&pool.left) == left) futex_wait(&pool.left, left);
        atomic_store(&pool.main_sleeps, 0);
    }
}
static int start_threads(int n) {
    pool.threads = n;
    pool.parts = aligned_alloc(64, (size_t)n * sizeof *pool.parts);
    if (!pool.parts) return -1;
#ifdef __linux__
    cpu_set_t allowed, one;
    int cpus[1024], found = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (int c = 0; c < CPU_SETSIZE && found < 1024; ++c)
            if (CPU_ISSET(c, &allowed)) cpus[found++] = c;
    const int pin = n <= found;
#else
    const int pin = 0;
#endif
    pool.spin = pin ? 2000 : 1; // a spinning thread must not occupy the processor of a working one
    pthread_attr_t stack; // the default is the environment's, from 128 KiB up
    if (pthread_attr_init(&stack) != 0 || pthread_attr_setstacksize(&stack, (size_t)8 << 20) != 0) return -1;
    for (int t = 1; t < n; ++t) {
        pthread_t id;
        if (pthread_create(&id, &stack, thread_main, (void *)(intptr_t)t) != 0) return -1;
#ifdef __linux__
        if (pin) {
            CPU_ZERO(&one);
            CPU_SET(cpus[t], &one);
            pthread_setaffinity_np(id, sizeof one, &one);
        }
#endif
    }
#ifdef __linux__
    if (pin) {
        CPU_ZERO(&one);
        CPU_SET(cpus[0], &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
#endif
    return 0;
}
)SRC";

} // namespace augur::inline v0::loopnest::detail

#endif
