// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_MACHINE_MEMORY_HPP
#define AUGUR_EXAMPLES_TOOLS_MACHINE_MEMORY_HPP

/// @file
/// The micro-benchmarks of caches, memory, branches and the window of a core, as C that stands behind `probe_prelude`.

#include <string_view>

namespace examples {

/// Each line of the output is a name and times in ns, as those of the probes. Arguments: quick or not, then
///     chase BYTES         a walk through all lines of so much memory in random order, each step waiting for the one before
///     read BYTES THREADS  sums of vectors, each thread over memory of its own; the time of one byte of all
///     sets BYTES PERIOD   the same time of a line, of lines a period apart, which come into one set of the first cache
///     branches            branches that nobody can foresee beside such that everybody can; loops of so many rounds in a loop
///     window BYTES        two independent walks with so many empty instructions between: slower as soon as a window no longer holds both
inline constexpr std::string_view memory_source = R"(#include <pthread.h>
#include <sys/mman.h>
typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
static void *room_of(size_t bytes) {
    bytes = (bytes + (2u << 20)) & ~(size_t)((2u << 20) - 1);
    char *p = mmap(NULL, bytes + (2u << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) { fprintf(stderr, "no memory for %zu bytes\n", bytes); exit(1); }
    p = (char *)(((uintptr_t)p + (2u << 20) - 1) & ~(uintptr_t)((2u << 20) - 1));
    madvise(p, bytes, MADV_HUGEPAGE); /* else far walks wait for the page tables as well */
    memset(p, 0, bytes);
    return p;
}
static uint64_t draw(void) { static uint64_t x = 88172645463325252u; x ^= x << 13; x ^= x >> 7; x ^= x << 17; return x; }
/* A cycle through all lines (Sattolo): a pointer in each to the next. */
static void *cycle_of(size_t bytes) {
    const size_t n = bytes / 64;
    char *at = room_of(bytes);
    uint32_t *next = malloc(n * sizeof *next);
    for (size_t i = 0; i < n; ++i) next[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; --i) { size_t j = draw() % i; uint32_t t = next[i]; next[i] = next[j]; next[j] = t; }
    for (size_t i = 0; i < n; ++i) *(void **)(at + 64 * i) = at + (size_t)64 * next[i];
    free(next);
    return at;
}
static void *walker, *other_walker;
static void walk(uint64_t n) {
    void *p = walker;
    for (uint64_t i = 0; i < n; ++i) {
#define STEP p = *(void **)p; HOLD_R(p);
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
    }
    walker = p;
}
static const vec *stream;
static size_t stream_vectors;
static vec sum_of(const vec *in, size_t n) {
    vec a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i + 8 <= n; i += 8) {
#define ADD(x, k) x += in[i + k]; HOLD_V(x);
        ADD(a, 0) ADD(b, 1) ADD(c, 2) ADD(d, 3) ADD(a, 4) ADD(b, 5) ADD(c, 6) ADD(d, 7)
    }
    return a + b + c + d;
}
static void read_all(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) { vec v = sum_of(stream, stream_vectors); HOLD_V(v); }
}
static size_t rows, period;
static void read_columns(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
        vec a = {0}, b = {0}, c = {0}, d = {0};
        for (size_t column = 0; column < period; column += 64)
            for (size_t r = 0; r + 4 <= rows; r += 4) {
                const char *at = (const char *)stream + r * period + column;
#define LINE(x, k) x += *(const vec *)(at + k * period); HOLD_V(x);
                LINE(a, 0) LINE(b, 1) LINE(c, 2) LINE(d, 3)
            }
    }
}
static pthread_barrier_t gate;
static double starts[256], ends[256];
static size_t thread_bytes;
static int rounds;
static void *reader(void *argument) {
    const size_t me = (size_t)argument;
    const vec *mine = room_of(thread_bytes);
    for (int r = 0; r < rounds; ++r) {
        pthread_barrier_wait(&gate);
        starts[me] = now(); /* not the main thread's time: where the readers have all processors it comes late */
        vec v = sum_of(mine, thread_bytes / sizeof(vec));
        HOLD_V(v);
        ends[me] = now();
        pthread_barrier_wait(&gate);
    }
    return NULL;
}
static void read_threads(size_t bytes, int threads) {
    double took[9];
    pthread_t all[256];
    rounds = repeats > 9 ? 9 : 5;
    thread_bytes = bytes / (size_t)threads;
    pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, reader, (void *)(size_t)i);
    for (int r = 0; r < rounds; ++r) {
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        double start = starts[0], end = ends[0];
        for (int i = 1; i < threads; ++i) {
            if (starts[i] < start) start = starts[i];
            if (ends[i] > end) end = ends[i];
        }
        took[r] = end - start;
    }
    qsort(took, (size_t)rounds, sizeof *took, less);
    for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
    const double all_bytes = (double)(thread_bytes * (size_t)threads);
    printf("read.%d %.6g %.6g 1\n", threads, took[0] / all_bytes, took[rounds / 2] / all_bytes);
}
enum { choices = 1 << 18 };
static unsigned char choice[choices];
static void branches(uint64_t n) {
    uint64_t a = 0, b = 0;
    for (uint64_t r = 0; r < n; ++r)
        for (int i = 0; i < choices; ++i) {
            if (choice[i]) { a += 3; __asm__ volatile("" : "+r"(a)); }
            else { b += 5; __asm__ volatile("" : "+r"(b)); }
        }
}
static uint64_t trips;
static void loops(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t t = trips;
        HOLD_R(t);
        do __asm__ volatile(""); while (--t);
    }
}
#define WINDOW(N) static void window##N(uint64_t n) { \
    void *p = walker, *q = other_walker; \
    for (uint64_t i = 0; i < n; ++i) { \
        p = *(void **)p; HOLD_R(p); __asm__ volatile(".rept " #N "\n\tnop\n\t.endr"); \
        q = *(void **)q; HOLD_R(q); __asm__ volatile(".rept " #N "\n\tnop\n\t.endr"); } \
    walker = p; other_walker = q; }
#define WINDOWS(F) F(24) F(32) F(40) F(48) F(56) F(64) F(80) F(96) F(112) F(128) F(144) F(160) F(176) F(192) F(208) F(224) F(240) F(256) F(288) \
    F(320) F(352) F(384) F(416) F(448) F(480) F(512) F(544) F(576) F(640) F(704) F(768) F(896) F(1024)
WINDOWS(WINDOW)
int main(int argc, char **argv) {
    begin(argc, argv);
    if (argc < 3) return 2;
    const size_t bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    if (!strcmp(argv[2], "chase")) {
        walker = cycle_of(bytes);
        if (bytes > 8u << 20) target = 2e6; /* far walks are disturbed in many ways: longer ones, and more lines */
        measure("chase", walk, 16);
    } else if (!strcmp(argv[2], "read")) {
        const int threads = atoi(argv[4]);
        if (threads > 0) { read_threads(bytes, threads > 256 ? 256 : threads); return 0; }
        stream = room_of(bytes);
        stream_vectors = bytes / sizeof(vec) / 8 * 8;
        measure("read", read_all, (double)(stream_vectors * sizeof(vec)));
    } else if (!strcmp(argv[2], "sets")) {
        period = strtoull(argv[4], NULL, 10);
        rows = bytes / period / 4 * 4;
        stream = room_of(bytes);
        measure("sets", read_columns, (double)(rows * period / 64));
    } else if (!strcmp(argv[2], "branches")) {
        for (int i = 0; i < choices; ++i) choice[i] = 0;
        measure("branches.never", branches, choices);
        for (int i = 0; i < choices; ++i) choice[i] = 1;
        measure("branches.always", branches, choices);
        for (int i = 0; i < choices; ++i) choice[i] = draw() >> 32 & 1;
        measure("branches.random", branches, choices);
        static const int rounds_of[] = {2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96, 128, 160, 192, 224, 256};
        for (size_t i = 0; i < sizeof rounds_of / sizeof *rounds_of; ++i) {
            char name[32];
            trips = (uint64_t)rounds_of[i];
            snprintf(name, sizeof name, "loops.%d", rounds_of[i]);
            measure(name, loops, 1);
        }
    } else if (!strcmp(argv[2], "window")) {
        walker = cycle_of(bytes);
        other_walker = cycle_of(bytes);
        repeats = repeats / 3;
#define MEASURE(N) measure("window." #N, window##N, 1);
        WINDOWS(MEASURE)
    }
    return 0;
}
)";

} // namespace examples

#endif
