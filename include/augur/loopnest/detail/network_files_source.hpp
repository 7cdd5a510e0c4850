// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_NETWORK_FILES_SOURCE_HPP
#define AUGUR_LOOPNEST_DETAIL_NETWORK_FILES_SOURCE_HPP

/// @file
/// C around the program of a network: its API and a program that times it. Words between @ are filled in by loopnest/codegen/network_files.hpp.

namespace augur::inline v0::loopnest::detail {

inline constexpr char network_header_source[] = R"SRC(/* @name@: a network as C.
@tensors@
   All tensors are float32, row-major. One network and one set of threads a process; one call at a time. */
#ifndef NET_H
#define NET_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { NET_INPUTS = @inputs@, NET_OUTPUTS = @outputs@ };
extern const size_t net_input_floats[NET_INPUTS], net_output_floats[NET_OUTPUTS];

typedef struct net net;

/* Reads a file of packed weights, allocates all memory and starts the threads. The calling thread is one of them, and each is bound to a processor if
   there are enough. NULL on failure, with errno: EINVAL for a file of another network, or threads that were started with another number; EAGAIN if
   they cannot be started, after which no call succeeds in this process. */
net *net_open(const char *weights, int threads);
/* Where to write input i before a run, and to read output i after it. i is below NET_INPUTS or NET_OUTPUTS. */
float *net_input(net *n, int i);
const float *net_output(const net *n, int i);
void net_run(net *n);
/* Frees the memory. The threads stay, asleep, for the next net_open. n may be NULL. */
void net_close(net *n);
#ifdef __cplusplus
}
#endif
#endif
)SRC";

inline constexpr char network_includes_source[] = R"SRC(/* @name@: a network as C. Build: @build@ */
#define _GNU_SOURCE
#include "net.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
)SRC";

inline constexpr char network_api_source[] = R"SRC(
struct net {
    float *b[@buffers@];
    void *memory;
};
const size_t net_input_floats[NET_INPUTS] = @input_floats@, net_output_floats[NET_OUTPUTS] = @output_floats@;
static const int input_buffers[NET_INPUTS] = @input_buffers@, output_buffers[NET_OUTPUTS] = @output_buffers@;

/* Weights, then inputs, outputs and the arena, on huge pages where there are some. */
static float *allocate(void) {
    const size_t unit = (size_t)2 << 20, bytes = ((size_t)@all_floats@ * sizeof(float) + unit - 1) / unit * unit;
    float *memory = aligned_alloc(unit, bytes);
    if (!memory) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    memset(memory, 0, bytes);
    return memory;
}
static int read_weights(const char *path, float *to) {
    FILE *f = fopen(path, "rb");
    if (!f) return -1;
    static const char key[64] = "@key@";
    char begin[64], more;
    const size_t floats = @weight_floats@;
    const int whole = fread(begin, 64, 1, f) == 1 && memcmp(begin, key, 64) == 0 && fread(to, sizeof(float), floats, f) == floats &&
                      fread(&more, 1, 1, f) == 0 && !ferror(f);
    fclose(f);
    if (!whole) errno = EINVAL;
    return whole ? 0 : -1;
}
static int start_once(int threads) {
    if (pool.threads != 0 || start_threads(threads) == 0) return 0;
    pool.threads = -1; /* some may have started: no other set can be */
    errno = EAGAIN;
    return -1;
}
net *net_open(const char *weights, int threads) {
    if (threads < 1 || threads > 1024 || (pool.threads != 0 && pool.threads != threads)) {
        errno = EINVAL;
        return NULL;
    }
    net *n = calloc(1, sizeof *n);
    float *memory = n ? allocate() : NULL;
    if (!memory || read_weights(weights, memory) != 0 || start_once(threads) != 0) {
        const int why = errno;
        free(memory);
        free(n);
        errno = why;
        return NULL;
    }
    n->memory = memory;
@places@    return n;
}
float *net_input(net *n, int i) { return n->b[input_buffers[i]]; }
const float *net_output(const net *n, int i) { return n->b[output_buffers[i]]; }
void net_run(net *n) { @entry@(n->b, launch); }
void net_close(net *n) {
    if (!n) return;
    free(n->memory);
    free(n);
}
)SRC";

inline constexpr char network_main_source[] = R"SRC(/* Times @name@: net [THREADS [RUNS [INPUT OUTPUT]]]
   INPUT and OUTPUT: files with all inputs or outputs as float32, one after the other. Without them the inputs are pseudo-random. */
#define _GNU_SOURCE
#include "net.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static int fail(const char *what) {
    fprintf(stderr, "net: %s: %s\n", what, strerror(errno));
    return 1;
}
int main(int argc, char **argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 1, runs = argc > 2 ? atoi(argv[2]) : 100;
    if (runs < 1 || argc == 4 || argc > 5) {
        fprintf(stderr, "usage: net [THREADS [RUNS [INPUT OUTPUT]]]\n");
        return 2;
    }
    net *n = net_open("net.weights", threads);
    if (!n) return fail("net.weights");
    FILE *in = argc > 4 ? fopen(argv[3], "rb") : NULL;
    if (argc > 4 && !in) return fail(argv[3]);
    uint32_t x = 1;
    for (int i = 0; i < NET_INPUTS; ++i)
        for (size_t k = 0; k < net_input_floats[i]; ++k) {
            float *to = &net_input(n, i)[k];
            if (!in) *to = (float)((x = x * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1;
            else if (fread(to, sizeof *to, 1, in) != 1) {
                errno = EINVAL;
                return fail(argv[3]);
            }
        }
    if (in) fclose(in);
    double *seconds = calloc((size_t)runs, sizeof *seconds);
    if (!seconds) return fail("memory");
    for (int i = 0; i < 3; ++i) net_run(n); /* the first runs find cold caches */
    for (int i = 0; i < runs; ++i) {
        const double begin = now();
        net_run(n);
        seconds[i] = now() - begin;
    }
    qsort(seconds, (size_t)runs, sizeof *seconds, ascending);
    printf("median %.4f ms, fastest %.4f ms, %d runs, %d threads\n", 1e3 * seconds[runs / 2], 1e3 * seconds[0], runs, threads);
    free(seconds);
    FILE *out = argc > 4 ? fopen(argv[4], "wb") : NULL;
    if (argc > 4 && !out) return fail(argv[4]);
    for (int i = 0; out && i < NET_OUTPUTS; ++i)
        if (fwrite(net_output(n, i), sizeof(float), net_output_floats[i], out) != net_output_floats[i]) return fail(argv[4]);
    if (out && fclose(out) != 0) return fail(argv[4]);
    net_close(n);
    return 0;
}
)SRC";

} // namespace augur::inline v0::loopnest::detail

#endif
