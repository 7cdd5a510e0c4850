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
/// Descriptor 1 gets one report (loopnest/detail/runner_report.hpp): the guard's, then the checked message of the worker. Descriptor 2 is the output
/// of the compiler.

#include <string>

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

inline constexpr char runner_guard_source[] = R"SRC(
/* ---- the guard ---------------------------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t child_ended;
static void on_child(int s) { (void)s; child_ended = 1; }

static void limit(int resource, uint64_t soft, uint64_t hard) {
    struct rlimit r;
    if (soft == 0 || getrlimit(resource, &r) != 0) return;
    if (r.rlim_max == RLIM_INFINITY || r.rlim_max > hard) r.rlim_max = (rlim_t)hard;
    r.rlim_cur = soft < r.rlim_max ? (rlim_t)soft : r.rlim_max;
    setrlimit(resource, &r);
}

/* Kills all direct children. Orphaned descendants become direct children, so repeated calls leave no process. */
static void kill_children(void) {
#ifdef __linux__
    DIR *d = opendir("/proc");
    struct dirent *e;
    const pid_t me = getpid();
    while (d && (e = readdir(d))) {
        const pid_t pid = (pid_t)atoi(e->d_name);
        if (pid <= 1) continue;
        char name[64], line[512];
        snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
        const int fd = open(name, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        const ssize_t k = read(fd, line, sizeof line - 1);
        close(fd);
        if (k <= 0) continue;
        line[k] = 0;
        const char *after = strrchr(line, ')'); // the name may contain blanks and parentheses
        int parent = 0;
        char state = 0;
        if (after && sscanf(after + 1, " %c %d", &state, &parent) == 2 && parent == me) kill(pid, SIGKILL);
    }
    if (d) closedir(d);
#endif
}

/* Ends and reaps all descendants, including those that left the group: as subreaper this process inherits orphans. Returns their number. */
static uint32_t end_children(void) {
    uint32_t found = 0;
    for (int pass = 0; pass < 5000; ++pass) {
        int stray;
        pid_t p;
        while ((p = waitpid(-1, &stray, WNOHANG)) > 0) ++found;
        if (p < 0 && errno == ECHILD) break;
        kill_children();
        const struct timespec nap = {0, pass < 100 ? 100000 : 1000000};
        nanosleep(&nap, NULL);
    }
    return found;
}

/* Forks. The child returns and becomes the guard, in its own process group: if one of the two processes is killed, the other one cleans up. */
static void become_guard(void) {
    const pid_t guard = fork();
    if (guard < 0) _exit(92);
    setpgid(guard, guard);
    if (guard == 0) return;
    int status = 0;
    for (;;) {
        siginfo_t info;
        memset(&info, 0, sizeof info);
        if (waitid(P_PID, (id_t)guard, &info, WEXITED | WSTOPPED | WNOWAIT) != 0) {
            if (errno == EINTR) continue;
            break;
        }
        if (info.si_code != CLD_STOPPED) break;
        kill(guard, SIGCONT); // a candidate may suspend the guard to outlive its time limit
        waitid(P_PID, (id_t)guard, &info, WSTOPPED | WNOHANG);
    }
    kill(-guard, SIGKILL); // the guard is not reaped yet, so its group number is valid
    while (waitpid(guard, &status, 0) < 0 && errno == EINTR) {}
    end_children(); // descendants of a killed guard
    if (WIFSIGNALED(status)) {
        limit(RLIMIT_CORE, 1, 1);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status)); // the host reads the guard's signal
    }
    _exit(WEXITSTATUS(status));
}

/* A descriptor for the worker that a candidate does not use by accident: 100, or the last one if there are fewer. */
static int far_descriptor(int fd) {
    struct rlimit files;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    if (high < 0 && getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > 3 && files.rlim_cur <= 100)
        high = fcntl(fd, F_DUPFD_CLOEXEC, (int)files.rlim_cur - 1);
    return high < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : high;
}

int main(int argc, char **argv) {
    if (argc < 7) return 96;
    nonce = strtoull(argv[1], NULL, 16);
    const double wall = 1e-3 * strtod(argv[2], NULL);
    const uint64_t cpu = strtoull(argv[3], NULL, 10), memory = strtoull(argv[4], NULL, 10), file = strtoull(argv[5], NULL, 10);
    const int exec = strcmp(argv[6], "exec") == 0;
    volatile double keep_libm = (double)argc; // candidates are linked without libraries and use this libm
    (void)(expf((float)keep_libm) + tanhf((float)keep_libm) + erff((float)keep_libm));
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
#endif
#endif
        for (int fd = 3; fd < 1024; ++fd) close(fd);
    become_guard();
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); // not inherited by fork
#endif

    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_child;
    sigaction(SIGCHLD, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);

    struct report rep;
    memset(&rep, 0, sizeof rep);
    rep.nonce = nonce;
    char *bytes = NULL;
    uint64_t length = 0;
    if (!exec) {
        if (read_all(0, &length, sizeof length) != 0 || length > (1u << 24) ||
            !(bytes = malloc(length + 1)) || read_all(0, bytes, length) != 0) return 95;
        bytes[length] = 0;
    }
    int pipes[2] = {-1, -1}, starts[2] = {-1, -1};
    const pid_t me = getpid();
    const double begin = now(CLOCK_MONOTONIC);
    const pid_t worker = pipe(pipes) == 0 && pipe(starts) == 0 && fcntl(starts[1], F_SETFD, FD_CLOEXEC) == 0 ? fork() : -1;
    if (worker < 0) rep.cause = errno;
    if (worker == 0) {
        setpgid(0, 0);
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); // if the guard itself is killed
        if (getppid() != me) _exit(127);
#endif
        sigprocmask(SIG_SETMASK, &before, NULL);
        signal(SIGCHLD, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        close(pipes[0]);
        close(starts[0]);
        if (exec) close(pipes[1]);
        limit(RLIMIT_NOFILE, 256, 256);
        // Preparations for the start; a failure here is not the candidate's fault.
        const int null = open("/dev/null", O_RDWR);
        int good = null >= 0 && dup2(null, 0) == 0 && dup2(exec ? 2 : null, 1) == 1 && (exec || dup2(null, 2) == 2);
        if (good && null > 2) close(null);
        if (good && !exec) good = (result_fd = far_descriptor(pipes[1])) >= 0;
        if (!good) {
            const int start_error = errno;
            write_all(starts[1], &start_error, sizeof start_error);
            _exit(127);
        }
        limit(RLIMIT_CORE, 1, 1); // one byte: a zero could mean "unset", and one byte yields no useful core file
        limit(RLIMIT_CPU, cpu, cpu + 1);
        limit(RLIMIT_AS, memory, memory);
        limit(RLIMIT_FSIZE, file, file);
        if (exec) {
            execvp(argv[7], argv + 7);
            const int start_error = errno;
            write_all(starts[1], &start_error, sizeof start_error);
            _exit(127);
        }
        close(starts[1]);
        close(pipes[1]);
        work(bytes, length);
    }
    if (worker > 0) setpgid(worker, worker);
    close(pipes[1]);
    close(starts[1]);
    if (worker > 0) {
        int start_error = 0;
        if (read_all(starts[0], &start_error, sizeof start_error) == 0) rep.cause = start_error;
    }
    // Wait for the end of the worker, the time limit, or the end of the host.
    static char received[sizeof(struct envelope)];
    size_t have = 0;
    int open_pipe = 1, host_gone = 0, ended = worker < 0, status = 0;
    struct rusage used;
    memset(&used, 0, sizeof used);
    while (!ended && !host_gone) {
        siginfo_t info;
        memset(&info, 0, sizeof info);
        if (waitid(P_PID, (id_t)worker, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == worker) {
            ended = 1; // not reaped yet: its group number must stay reserved for the signal below
            break;
        }
        const double rest = begin + wall - now(CLOCK_MONOTONIC);
        if (rest <= 0) {
            rep.timeout = 1;
            break;
        }
        child_ended = 0;
        struct pollfd fds[2] = {{0, POLLIN, 0}, {open_pipe ? pipes[0] : -1, POLLIN, 0}};
        struct timespec wait = {(time_t)rest, (long)((rest - (double)(time_t)rest) * 1e9)};
        if (ppoll(fds, 2, &wait, &before) <= 0) continue;
        if (fds[0].revents) { // the host sends nothing more, so the event is its end
            char c;
            if (read(0, &c, 1) <= 0) host_gone = 1;
        }
        if (fds[1].revents) {
            const ssize_t k = read(pipes[0], received + have, sizeof received - have);
            if (k <= 0 && !(k < 0 && errno == EINTR)) open_pipe = 0;
            else if (k > 0) have += (size_t)k;
            if (have == sizeof received) open_pipe = 0;
        }
    }
    rep.wall = now(CLOCK_MONOTONIC) - begin;
    if (worker > 0) {
        kill(-worker, SIGKILL);
        kill(worker, SIGKILL);
        while (wait4(worker, &status, 0, &used) < 0 && errno == EINTR) {}
    }
    rep.strays = end_children();
    if (host_gone) return 0;
    while (open_pipe && have < sizeof received) {
        const ssize_t k = read(pipes[0], received + have, sizeof received - have);
        if (k <= 0) break;
        have += (size_t)k;
    }
    struct rusage all;
    getrusage(RUSAGE_CHILDREN, &all);
    rep.cpu = (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) + 1e-6 * (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec);
    rep.exited = ended && WIFEXITED(status);
    rep.code = rep.exited ? WEXITSTATUS(status) : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    struct envelope e;
    memcpy(&e, received, sizeof e);
    const int good = have == sizeof e && e.magic == magic && e.nonce == nonce &&
                     e.length == sizeof e.body && e.crc == crc32_of(&e.body, sizeof e.body);
    if (good) {
        rep.payload = sizeof e.body;
        rep.crc = e.crc;
    }
    if (write_all(1, &rep, sizeof rep) != 0) return 93;
    return good && write_all(1, &e.body, sizeof e.body) != 0 ? 93 : 0;
}
)SRC";

inline std::string runner_source() { return std::string(runner_common_source) + runner_worker_source + runner_guard_source; }

} // namespace augur::inline v0::loopnest::detail

#endif
