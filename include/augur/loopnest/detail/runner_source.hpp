// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_RUNNER_SOURCE_HPP
#define AUGUR_LOOPNEST_DETAIL_RUNNER_SOURCE_HPP

/// @file
/// C source of the runner: the program that guards compilers and runs candidates. It is compiled once per work folder.
///
/// Each compilation and each candidate starts two processes: the warden and its child, the guard. The guard becomes the subreaper of its
/// descendants, forks the worker under resource limits, waits for it, kills its remaining descendants and reports. If the host dies, its end of
/// descriptor 0 closes, and the guard ends the worker as well. The warden waits for the guard. It continues a suspended guard; if the guard was
/// killed, the warden inherits and ends its descendants. The host thus never changes its own signal handlers, limits or subreaper state.
///
///     runner <nonce> <wall milliseconds> <cpu seconds> <memory bytes> <file bytes> exec <argument vector ...>
///     runner <nonce> <wall milliseconds> <cpu seconds> <memory bytes> <file bytes> measure        (the job arrives on descriptor 0)
///
/// The job is that of loopnest/detail/runner_job.hpp. Descriptor 1 gets one report (loopnest/detail/runner_report.hpp): the guard's, then the checked
/// message of the worker. Descriptor 2 is the output of the compiler.

#include <string>

#include <augur/loopnest/detail/runner_guard_source.hpp>
#include <augur/loopnest/detail/runner_threads_source.hpp>
#include <augur/loopnest/detail/runner_worker_source.hpp>

namespace augur::inline v0::loopnest::detail {

/// Declarations shared by guard and worker.
inline constexpr char runner_common_source[] = R"SRC(
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

struct report {
    uint64_t nonce;
    int32_t exited, code, timeout, cause;
    double cpu, wall;
    uint64_t payload;
    uint32_t crc, strays;
};
struct message {
    int32_t status, repeats;
    double packing, first, timed_cpu, max_error;
    int64_t where;
    int32_t buffer, calls;
    float got, want;
    double seconds[64];
    char text[256];
};
struct envelope { // message from the worker to the guard
    uint64_t nonce, length;
    uint32_t crc, magic;
    struct message body;
};
enum { fine, cannot_load, no_memory, wrong, bad_job, overrun, refused_memory };
enum { role_input, role_weight, role_packed, role_scratch, role_output };
enum { magic = 0x52475541 };

static uint64_t nonce;

static double now(clockid_t clock_id) {
    struct timespec t;
    clock_gettime(clock_id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static uint32_t crc32_of(const void *data, size_t n) {
    const unsigned char *p = data;
    uint32_t c = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; ++i) {
        c ^= p[i];
        for (int k = 0; k < 8; ++k) c = (c & 1u) ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    }
    return c ^ 0xFFFFFFFFu;
}
static int write_all(int fd, const void *data, size_t n) {
    const char *p = data;
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}
static int read_all(int fd, void *data, size_t n) {
    char *p = data;
    while (n > 0) {
        ssize_t k = read(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}
)SRC";

inline std::string runner_source() { return std::string(runner_common_source) + runner_threads_source + runner_worker_source + runner_guard_source; }

} // namespace augur::inline v0::loopnest::detail

#endif
