// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_PROCESS_HPP
#define AUGUR_LOOPNEST_RUN_PROCESS_HPP

/// @file
/// Runs programs as child processes with deadlines and bounded output, from argument vectors without a shell. Linux and POSIX.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <augur/core/steady_seconds.hpp>
#include <augur/loopnest/run/child_process.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0::loopnest {

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

/// A running child and the host's ends of its descriptors.
struct running_process {
    pid_t pid = -1;
    file_descriptor in, out, err;
    std::size_t sent = 0;
    double start = 0;
    double asked = 0; ///< time at which its descriptor 0 was closed to request its end; 0: not yet
    bool running = false;

    void close_streams() noexcept {
        in.reset();
        out.reset();
        err.reset();
    }
};

inline std::vector<std::string> small_environment(const process_spec& spec) {
    std::vector<std::string> made{"LANG=C", "LC_ALL=C"};
    for (const char* name : {"PATH", "HOME"})
        if (const char* value = std::getenv(name)) made.push_back(std::string(name) + "=" + value);
    const char* temporary = spec.temporary.empty() ? std::getenv("TMPDIR") : spec.temporary.c_str();
    if (temporary != nullptr) made.push_back(std::string("TMPDIR=") + temporary);
    return made;
}

inline void start_process(const process_spec& spec, running_process& child, process_result& done) {
    file_descriptor in, out, err;
    child.start = steady_seconds();
    if (spec.arguments.empty()) {
        done.start_error = EINVAL;
        return;
    }
    if (!open_socket_pair(child.in, in) || !open_socket_pair(child.out, out) || !open_socket_pair(child.err, err)) {
        done.start_error = errno;
        child.close_streams();
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
    child.close_streams();
}

inline void send_input(const process_spec& spec, running_process& child) {
    while (child.in && child.sent < spec.input.size()) {
        const ssize_t n = ::send(child.in.get(), spec.input.data() + child.sent, spec.input.size() - child.sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; // the buffer is full, or the child has closed its end
        child.sent += static_cast<std::size_t>(n);
    }
}

inline void finish_process(const process_spec& spec, running_process& child, process_result& done, const child_exit& end) {
    child.running = false;
    done.exited = WIFEXITED(end.status);
    done.code = done.exited ? WEXITSTATUS(end.status) : WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0;
    done.cpu_seconds = end.cpu_seconds;
    done.wall_seconds = steady_seconds() - child.start;
    read_available(child.out, done.output, spec.max_output);
    read_available(child.err, done.errors, spec.max_output);
    child.close_streams();
}

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
    std::vector<detail::running_process> children(specs.size());
    std::size_t next = 0, running = 0;
    std::vector<pollfd> fds;
    int tick = 1; // milliseconds; a child usually ends with its streams, unless a descendant holds them open
    while (next < specs.size() || running > 0) {
        const bool halt = stop_requested(stop);
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
            read_available(c.out, done[i].output, specs[i].max_output);
            read_available(c.err, done[i].errors, specs[i].max_output);
            const double now = steady_seconds();
            auto state = poll_child(c.pid);
            if (state == child_state::running && c.asked == 0 && (halt || now - c.start > specs[i].wall_seconds)) {
                done[i].timed_out = !halt;
                done[i].stopped = halt;
                c.asked = now;
                c.in.reset();
            }
            if (state == child_state::running && c.asked != 0 && now - c.asked >= specs[i].grace_seconds) state = child_state::ended;
            if (state == child_state::running) continue;
            detail::finish_process(specs[i], c, done[i], state == child_state::ended ? kill_and_reap(c.pid) : child_exit{});
            --running;
        }
    }
    return done;
}

/// Runs one child.
inline process_result run_process(const process_spec& spec, stop_flag stop = nullptr) {
    return std::move(run_processes(std::span(&spec, 1), 1, stop).front());
}

} // namespace augur::inline v0::loopnest

#endif
