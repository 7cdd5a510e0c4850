// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_RUNNER_GUARD_SOURCE_HPP
#define AUGUR_LOOPNEST_DETAIL_RUNNER_GUARD_SOURCE_HPP

/// @file
/// C source of the warden and the guard of the runner: they start the worker under resource limits, end it with all its descendants, and report.
///
/// Part of the program in loopnest/detail/runner_source.hpp, which describes the processes.

namespace augur::inline v0::loopnest::detail {

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

/* The command line, and the job of "measure". */
struct request {
    double wall; // seconds
    uint64_t cpu, memory, file;
    char **command; // the argument vector of "exec"; NULL: "measure"
    char *job;
    uint64_t job_length;
};
static int read_request(struct request *r, char **argv) {
    memset(r, 0, sizeof *r);
    nonce = strtoull(argv[1], NULL, 16);
    r->wall = 1e-3 * strtod(argv[2], NULL);
    r->cpu = strtoull(argv[3], NULL, 10);
    r->memory = strtoull(argv[4], NULL, 10);
    r->file = strtoull(argv[5], NULL, 10);
    if (strcmp(argv[6], "exec") == 0) {
        r->command = argv + 7;
        return 0;
    }
    if (read_all(0, &r->job_length, sizeof r->job_length) != 0 || r->job_length > (1u << 24)) return -1;
    r->job = malloc(r->job_length + 1);
    if (!r->job || read_all(0, r->job, r->job_length) != 0) return -1;
    r->job[r->job_length] = 0;
    return 0;
}

static _Noreturn void fail_start(int fd) {
    const int start_error = errno;
    write_all(fd, &start_error, sizeof start_error);
    _exit(127);
}

/* Sets signals, descriptors and limits of the worker, then starts the command or the candidate. The errno of a failure up to there, which is not the
   candidate's fault, goes to descriptor `start`. */
static _Noreturn void become_worker(const struct request *r, int message, int start, const sigset_t *signals) {
    sigprocmask(SIG_SETMASK, signals, NULL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    if (r->command) close(message);
    limit(RLIMIT_NOFILE, 256, 256);
    const int null = open("/dev/null", O_RDWR);
    int good = null >= 0 && dup2(null, 0) == 0 && dup2(r->command ? 2 : null, 1) == 1 && (r->command || dup2(null, 2) == 2);
    if (good && null > 2) close(null);
    if (good && !r->command) good = (result_fd = far_descriptor(message)) >= 0;
    if (!good) fail_start(start);
    limit(RLIMIT_CORE, 1, 1); // one byte: a zero could mean "unset", and one byte yields no useful core file
    limit(RLIMIT_CPU, r->cpu, r->cpu + 1);
    limit(RLIMIT_AS, r->memory, r->memory);
    limit(RLIMIT_FSIZE, r->file, r->file);
    if (r->command) {
        execvp(r->command[0], r->command);
        fail_start(start);
    }
    close(start);
    close(message);
    work(r->job, r->job_length);
}

/* The worker's message, as far as it has arrived. */
struct inbox {
    int fd, open;
    size_t have;
    char bytes[sizeof(struct envelope)];
};
static void receive(struct inbox *in) {
    const ssize_t k = read(in->fd, in->bytes + in->have, sizeof in->bytes - in->have);
    if (k <= 0 && !(k < 0 && errno == EINTR)) in->open = 0;
    else if (k > 0) in->have += (size_t)k;
    if (in->have == sizeof in->bytes) in->open = 0;
}

/* Waits for the end of the worker, the time limit, or the end of the host, and receives the message meanwhile. */
enum wait_end { worker_ended, time_is_up, host_is_gone };
static enum wait_end await_worker(pid_t worker, double deadline, const sigset_t *signals, struct inbox *in) {
    for (;;) {
        siginfo_t info;
        memset(&info, 0, sizeof info);
        if (waitid(P_PID, (id_t)worker, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == worker)
            return worker_ended; // not reaped yet: its group number must stay reserved for the signal that ends the group
        const double rest = deadline - now(CLOCK_MONOTONIC);
        if (rest <= 0) return time_is_up;
        struct pollfd fds[2] = {{0, POLLIN, 0}, {in->open ? in->fd : -1, POLLIN, 0}};
        struct timespec wait = {(time_t)rest, (long)((rest - (double)(time_t)rest) * 1e9)};
        if (ppoll(fds, 2, &wait, signals) <= 0) continue;
        char c;
        const int gone = fds[0].revents && read(0, &c, 1) <= 0; // the host sends nothing more, so the event is its end
        if (fds[1].revents) receive(in);
        if (gone) return host_is_gone;
    }
}

/* Sends the report and, if it is intact, the message of the worker. */
static int send_report(struct report *rep, const struct inbox *in) {
    struct envelope e;
    memcpy(&e, in->bytes, sizeof e);
    const int good = in->have == sizeof e && e.magic == magic && e.nonce == nonce &&
                     e.length == sizeof e.body && e.crc == crc32_of(&e.body, sizeof e.body);
    if (good) {
        rep->payload = sizeof e.body;
        rep->crc = e.crc;
    }
    if (write_all(1, rep, sizeof *rep) != 0) return -1;
    return good ? write_all(1, &e.body, sizeof e.body) : 0;
}

/* Orphaned descendants become children of this process. Not inherited by fork. */
static void become_subreaper(void) {
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
}

/* Closes all descriptors but the standard ones. */
static void close_descriptors(void) {
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
#endif
    for (int fd = 3; fd < 1024; ++fd) close(fd);
}

/* Blocks SIGCHLD, which only ppoll lets through. Returns the signals that were blocked before. */
static sigset_t block_child_signals(void) {
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_child;
    sigaction(SIGCHLD, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    return before;
}

int main(int argc, char **argv) {
    if (argc < 7) return 96;
    volatile double keep_libm = (double)argc; // candidates are linked without libraries and use this libm
    (void)(expf((float)keep_libm) + tanhf((float)keep_libm) + erff((float)keep_libm));
    become_subreaper();
    close_descriptors();
    become_guard();
    become_subreaper();
    const sigset_t signals = block_child_signals();
    struct request req;
    if (read_request(&req, argv) != 0) return 95;

    struct report rep;
    memset(&rep, 0, sizeof rep);
    rep.nonce = nonce;
    int messages[2] = {-1, -1}, starts[2] = {-1, -1};
    const pid_t me = getpid();
    const double begin = now(CLOCK_MONOTONIC);
    const pid_t worker = pipe(messages) == 0 && pipe(starts) == 0 && fcntl(starts[1], F_SETFD, FD_CLOEXEC) == 0 ? fork() : -1;
    if (worker < 0) rep.cause = errno;
    if (worker == 0) {
        setpgid(0, 0);
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); // if the guard itself is killed
        if (getppid() != me) _exit(127);
#endif
        close(messages[0]);
        close(starts[0]);
        become_worker(&req, messages[1], starts[1], &signals);
    }
    if (worker > 0) setpgid(worker, worker);
    close(messages[1]);
    close(starts[1]);
    static struct inbox in;
    in.fd = messages[0];
    in.open = 1;
    enum wait_end end = worker_ended;
    if (worker > 0) {
        int start_error = 0;
        if (read_all(starts[0], &start_error, sizeof start_error) == 0) rep.cause = start_error;
        end = await_worker(worker, begin + req.wall, &signals, &in);
    }
    rep.timeout = end == time_is_up;
    rep.wall = now(CLOCK_MONOTONIC) - begin;
    int status = 0;
    if (worker > 0) {
        kill(-worker, SIGKILL);
        kill(worker, SIGKILL);
        while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {}
    }
    rep.strays = end_children();
    if (end == host_is_gone) return 0;
    while (in.open) receive(&in);
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    rep.cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    rep.exited = end == worker_ended && WIFEXITED(status);
    rep.code = rep.exited ? WEXITSTATUS(status) : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return send_report(&rep, &in) == 0 ? 0 : 93;
}
)SRC";

} // namespace augur::inline v0::loopnest::detail

#endif
