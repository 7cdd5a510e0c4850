// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_PROCESS_HPP
#define AUGUR_LOOPNEST_RUN_PROCESS_HPP

/// @file
/// Child processes with deadlines and bounded output, started from argument vectors without a shell, and private work folders. Linux and POSIX.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0::loopnest {

/// Stop request for a long call. It is polled, so a signal handler may set it. Null: never stops.
using stop_flag = const std::atomic<bool>*;

/// A child process to start. It gets its own process group, only the descriptors 0, 1 and 2, and a small environment (PATH, HOME, TMPDIR, LANG=C).
/// A child that is suspended by a signal is continued immediately.
struct process_spec {
    std::vector<std::string> arguments; ///< the first is the program, looked up in PATH if it has no slash
    std::string input;                  ///< sent to descriptor 0 of the child, which then stays open until the child ends
    double wall_seconds = 60;           ///< time limit; the process group is killed `grace_seconds` after it
    double grace_seconds = 0;           ///< descriptor 0 closes at the limit, the kill follows after this time; a guard can end its children
    std::size_t max_output = 64 * 1024; ///< bytes kept of each of the two outputs; the rest is discarded
    std::string temporary{};            ///< folder for temporary files, passed as TMPDIR; empty: the host's
};

/// How a child process ended.
struct process_result {
    int start_error = 0; ///< errno if it could not be started
    bool exited = false; ///< true: exit code `code`; false: ended by signal `code`
    int code = 0;
    bool timed_out = false; ///< killed at the wall-time limit
    bool stopped = false;   ///< killed, or never started, because the stop flag was set
    double wall_seconds = 0;
    double cpu_seconds = 0; ///< user and system time, including reaped descendants
    std::string output;     ///< from descriptor 1
    std::string errors;     ///< from descriptor 2

    [[nodiscard]] bool ok() const noexcept { return start_error == 0 && exited && code == 0 && !timed_out && !stopped; }
};

namespace detail {

using unique_fd = file_descriptor;

/// Moves a descriptor to a number above 2; a host without standard streams may get lower numbers. Returns false, with errno, on failure.
inline bool above_standard(unique_fd& fd) noexcept {
    if (fd.get() > 2) return true;
    const int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3);
    if (moved >= 0) fd.reset(moved);
    return moved >= 0;
}

/// Creates a socket pair. Both ends are close-on-exec and above 2; `host_end` is non-blocking. On failure returns false, with errno, without a pair.
inline bool socket_pair(unique_fd& host_end, unique_fd& child_end) noexcept {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
    host_end.reset(fds[0]);
    child_end.reset(fds[1]);
    if (above_standard(host_end) && above_standard(child_end) && ::fcntl(host_end.get(), F_SETFL, O_NONBLOCK) == 0) return true;
    const int error_number = errno;
    host_end.reset();
    child_end.reset();
    errno = error_number;
    return false;
}

/// True if a start failed because the process or the system has no file descriptors left.
[[nodiscard]] inline bool no_descriptors(int start_error) noexcept { return start_error == EMFILE || start_error == ENFILE; }

/// The reason of a failed start, with the limit that caused it.
[[nodiscard]] inline std::string start_failure(int start_error) {
    std::string text = std::strerror(start_error);
    if (start_error != EMFILE) return text;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) text += ", the limit is " + std::to_string(files.rlim_cur) + " (ulimit -n)";
    return text;
}

inline double seconds_now() noexcept { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A running child and the host's ends of its descriptors.
struct child_process {
    pid_t pid = -1;
    unique_fd in, out, err;
    std::size_t sent = 0;
    double start = 0;
    double asked = 0; ///< time at which its descriptor 0 was closed to request its end; 0: not yet
    bool running = false;
};

inline std::vector<std::string> small_environment(const process_spec& spec) {
    std::vector<std::string> made{"LANG=C", "LC_ALL=C"};
    for (const char* name : {"PATH", "HOME"})
        if (const char* value = std::getenv(name)) made.push_back(std::string(name) + "=" + value);
    const char* temporary = spec.temporary.empty() ? std::getenv("TMPDIR") : spec.temporary.c_str();
    if (temporary != nullptr) made.push_back(std::string("TMPDIR=") + temporary);
    return made;
}

inline void start_process(const process_spec& spec, child_process& child, process_result& done) {
    unique_fd in, out, err;
    child.start = seconds_now();
    if (spec.arguments.empty()) {
        done.start_error = EINVAL;
        return;
    }
    if (!socket_pair(child.in, in) || !socket_pair(child.out, out) || !socket_pair(child.err, err)) {
        done.start_error = errno;
        child.in.reset();
        child.out.reset();
        child.err.reset();
        return;
    }
    auto arguments = spec.arguments;
    auto environment = small_environment(spec);
    std::vector<char*> argv, envp;
    for (auto& a : arguments) argv.push_back(a.data());
    for (auto& e : environment) envp.push_back(e.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    int bad = 0; // all three are needed: without one the child would inherit a stream of the host
    int number = 0;
    for (const auto* fd : {&in, &out, &err})
        if (const int failed = ::posix_spawn_file_actions_adddup2(&actions, fd->get(), number++); bad == 0) bad = failed;
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 3); // without this function the guard closes them
#endif
#endif
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    done.start_error = bad != 0 ? bad : ::posix_spawnp(&child.pid, argv[0], &actions, &attributes, argv.data(), envp.data());
    child.running = done.start_error == 0;
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (child.running) return;
    child.in.reset();
    child.out.reset();
    child.err.reset();
}

/// State of a child that was not reaped. `ended`: a zombie, so its process and group number stay reserved until `reap_group`.
/// `gone`: reaped by other code, or the host ignores SIGCHLD.
enum class child_state : std::uint8_t { runs, ended, gone };

/// The state of a child, without reaping it. A suspended child is continued.
inline child_state poll_child(pid_t pid) noexcept {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0)
        return errno == EINTR ? child_state::runs : child_state::gone;
    if (info.si_pid == 0) return child_state::runs;
    if (info.si_code != CLD_STOPPED) return child_state::ended;
    ::kill(pid, SIGCONT);
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG);
    return child_state::runs;
}

/// Kills the process group of a child and reaps the child; returns false if the child was reaped before.
inline bool reap_group(pid_t pid, int& status, rusage& used) noexcept {
    ::kill(-pid, SIGKILL);
    pid_t ended;
    do ended = ::wait4(pid, &status, 0, &used);
    while (ended < 0 && errno == EINTR);
    return ended == pid;
}

/// Reads all available bytes; closes the descriptor at the end of the stream.
inline void drain(unique_fd& from, std::string& text, std::size_t limit) {
    char block[16384];
    while (from) {
        const ssize_t n = ::read(from.get(), block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n <= 0) {
            from.reset();
            return;
        }
        if (text.size() < limit) text.append(block, (std::min)(limit - text.size(), static_cast<std::size_t>(n)));
    }
}

inline void send_input(const process_spec& spec, child_process& child) {
    while (child.in && child.sent < spec.input.size()) {
        const ssize_t n = ::send(child.in.get(), spec.input.data() + child.sent, spec.input.size() - child.sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; // the buffer is full, or the child has closed its end
        child.sent += static_cast<std::size_t>(n);
    }
}

inline void finish_process(const process_spec& spec, child_process& child, process_result& done, int status, const rusage& used) {
    child.running = false;
    done.exited = WIFEXITED(status);
    done.code = done.exited ? WEXITSTATUS(status) : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    done.cpu_seconds =
        static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    done.wall_seconds = seconds_now() - child.start;
    drain(child.out, done.output, spec.max_output);
    drain(child.err, done.errors, spec.max_output);
    child.in.reset();
    child.out.reset();
    child.err.reset();
}

inline bool is_set(stop_flag stop) noexcept { return stop != nullptr && stop->load(std::memory_order_relaxed); }

} // namespace detail

/// Runs children, at most `concurrency` at the same time, and waits for all of them.
///
/// Semantics   result i belongs to spec i. A child that cannot be started, fails or is killed gives a result as any other. If `stop` is set, running
///             children are killed and the others not started. A child without a free file descriptor is started after another one has ended.
/// Errors      in the results; a signal that arrives during the call only interrupts the wait
/// Threads     safe to call concurrently; the host's signal handlers, limits and other children are not changed. A host that ignores SIGCHLD gets
///             neither exit codes nor CPU times, and processes that a child leaves in its group survive.
/// Source      posix_spawn, waitid and wait4, for its own children only
inline std::vector<process_result> run_processes(std::span<const process_spec> specs, std::size_t concurrency = 1, stop_flag stop = nullptr) {
    std::vector<process_result> done(specs.size());
    std::vector<detail::child_process> children(specs.size());
    std::size_t next = 0, running = 0;
    std::vector<pollfd> fds;
    int tick = 1; // milliseconds; a child usually ends with its streams, unless a descendant holds them open
    while (next < specs.size() || running > 0) {
        const bool halt = detail::is_set(stop);
        while (next < specs.size() && (halt || running < (std::max)(concurrency, std::size_t{1}))) {
            if (halt) done[next].stopped = true;
            else detail::start_process(specs[next], children[next], done[next]);
            if (detail::no_descriptors(done[next].start_error) && running > 0) {
                done[next].start_error = 0;
                break;
            }
            if (children[next].running) ++running;
            ++next;
        }
        fds.clear();
        for (std::size_t i = 0; i < next; ++i) {
            auto& c = children[i];
            if (!c.running) continue;
            detail::send_input(specs[i], c);
            if (c.in && c.sent < specs[i].input.size()) fds.push_back({c.in.get(), POLLOUT, 0});
            if (c.out) fds.push_back({c.out.get(), POLLIN, 0});
            if (c.err) fds.push_back({c.err.get(), POLLIN, 0});
        }
        if (running > 0) {
            const int ready = ::poll(fds.data(), static_cast<nfds_t>(fds.size()), tick);
            tick = ready == 0 ? (std::min)(tick * 2, 20) : 1;
        }
        for (std::size_t i = 0; i < next; ++i) {
            auto& c = children[i];
            if (!c.running) continue;
            detail::drain(c.out, done[i].output, specs[i].max_output);
            detail::drain(c.err, done[i].errors, specs[i].max_output);
            int status = 0;
            rusage used{};
            const double now = detail::seconds_now();
            auto state = detail::poll_child(c.pid);
            if (state == detail::child_state::runs && c.asked == 0 && (halt || now - c.start > specs[i].wall_seconds)) {
                done[i].timed_out = !halt;
                done[i].stopped = halt;
                c.asked = now;
                c.in.reset();
            }
            if (state == detail::child_state::runs && c.asked != 0 && now - c.asked >= specs[i].grace_seconds) state = detail::child_state::ended;
            if (state == detail::child_state::runs) continue;
            if (state == detail::child_state::ended) detail::reap_group(c.pid, status, used);
            detail::finish_process(specs[i], c, done[i], status, used);
            --running;
        }
    }
    return done;
}

/// Runs one child.
inline process_result run_process(const process_spec& spec, stop_flag stop = nullptr) {
    return std::move(run_processes(std::span(&spec, 1), 1, stop).front());
}

/// A private folder (mode 0700), removed with its owner. `create` also removes the folders of killed owners below the same parent.
///
/// Move-only. The lock on its file `lock` shows that the owner is alive.
class work_folder {
public:
    /// Creates a folder below `parent`; empty: TMPDIR, else /tmp.   errors: io
    static result<work_folder> create(std::string parent = {}) {
        if (parent.empty()) {
            const char* set = std::getenv("TMPDIR");
            parent = set != nullptr && *set != '\0' ? set : "/tmp";
        }
        std::error_code ignored;
        std::string absolute = std::filesystem::absolute(parent, ignored).string();
        if (ignored) return error{errc::io, "work folder: cannot resolve '" + parent + "'"};
        sweep(absolute);
        std::string path = absolute + "/augur-work-XXXXXX";
        if (::mkdtemp(path.data()) == nullptr)
            return error{errc::io, "work folder: mkdtemp below '" + absolute + "' failed: " + std::strerror(errno)};
        work_folder made;
        made.path_ = std::move(path);
        made.lock_.reset(::open((made.path_ + "/lock").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!made.lock_ || ::flock(made.lock_.get(), LOCK_EX | LOCK_NB) != 0)
            return error{errc::io, "work folder: cannot lock '" + made.path_ + "': " + std::strerror(errno)};
        return made;
    }

    work_folder(work_folder&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
    work_folder& operator=(work_folder&& other) noexcept {
        if (this != &other) {
            remove();
            path_ = std::exchange(other.path_, {});
            lock_ = std::move(other.lock_);
        }
        return *this;
    }
    work_folder(const work_folder&) = delete;
    work_folder& operator=(const work_folder&) = delete;
    ~work_folder() { remove(); }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    work_folder() = default;
    void remove() noexcept {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
        path_.clear();
        lock_.reset();
    }
    static void sweep(const std::string& parent) {
        std::error_code bad;
        std::vector<std::string> dead;
        for (std::filesystem::directory_iterator entry(parent, bad), end; !bad && entry != end; entry.increment(bad)) {
            const std::string path = entry->path().string();
            struct stat s{};
            if (entry->path().filename().string().rfind("augur-work-", 0) != 0) continue;
            if (::lstat(path.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || s.st_uid != ::geteuid()) continue;
            // A newer folder may not be locked yet: it may be between mkdtemp and the lock.
            if (std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) - s.st_mtime < 10) continue;
            const detail::unique_fd lock(::open((path + "/lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
            if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) dead.push_back(path);
        }
        for (const auto& path : dead) std::filesystem::remove_all(path, bad);
    }

    std::string path_;
    detail::unique_fd lock_;
};

/// Writes a new file that only its owner can read.   errors: io
inline result<void> write_private_file(const std::string& path, std::string_view bytes) {
    const detail::unique_fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    bool good = static_cast<bool>(fd);
    while (good && !bytes.empty()) {
        const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        good = n > 0;
        if (good) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    if (!good) return error{errc::io, "cannot write '" + path + "': " + std::strerror(errno)};
    return {};
}

} // namespace augur::inline v0::loopnest

#endif
