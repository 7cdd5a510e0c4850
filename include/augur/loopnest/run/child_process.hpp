// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_CHILD_PROCESS_HPP
#define AUGUR_LOOPNEST_RUN_CHILD_PROCESS_HPP

/// @file
/// Building blocks for a parent of child processes: streams to a child, its state without reaping it, the end of its process group. Linux and POSIX.
///
/// `run_process` (process.hpp) is built from them for programs, `run_guarded` of the component llvm for forked functions.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// Moves a descriptor to a number above 2; a host without standard streams may get lower numbers. Returns false, with errno, on failure.
inline bool above_standard(file_descriptor& fd) noexcept {
    if (fd.get() > 2) return true;
    const int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3);
    if (moved >= 0) fd.reset(moved);
    return moved >= 0;
}

} // namespace detail

/// Opens a pair of connected stream sockets, one end for the host and one for a child. Sockets instead of a pipe, because a write to a child that has
/// ended can then return EPIPE without a SIGPIPE (MSG_NOSIGNAL).
///
/// Both ends are close-on-exec and above 2, so that neither replaces a standard stream; the host's end is non-blocking.
/// @return false, with errno and without a pair, on failure
[[nodiscard]] inline bool open_socket_pair(file_descriptor& host_end, file_descriptor& child_end) noexcept {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
    host_end.reset(fds[0]);
    child_end.reset(fds[1]);
    if (detail::above_standard(host_end) && detail::above_standard(child_end) && ::fcntl(host_end.get(), F_SETFL, O_NONBLOCK) == 0) return true;
    const int error_number = errno;
    host_end.reset();
    child_end.reset();
    errno = error_number;
    return false;
}

/// Reads all bytes that a stream has now and appends them to `text`; closes the stream at its end or on an error. Blocks until the end of the stream
/// if the descriptor is not O_NONBLOCK. Does nothing if the stream is closed.
///
/// @param max_bytes  largest size of `text`; later bytes are read and discarded, so that the child does not wait for the host
inline void read_available(file_descriptor& stream, std::string& text, std::size_t max_bytes) {
    char block[16384];
    while (stream) {
        const ssize_t n = ::read(stream.get(), block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n <= 0) {
            stream.reset();
            return;
        }
        if (text.size() < max_bytes) text.append(block, (std::min)(max_bytes - text.size(), static_cast<std::size_t>(n)));
    }
}

/// State of a child that this process has not reaped.
enum class child_state : std::uint8_t {
    running,
    ended, ///< a zombie, so its process and group number stay reserved until `kill_and_reap`
    gone   ///< reaped by other code, or the host ignores SIGCHLD
};

/// The state of a child, without reaping it. A child that is suspended by a signal is continued.
/// Threads    safe to call concurrently for different children
[[nodiscard]] inline child_state poll_child(pid_t pid) noexcept {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0)
        return errno == EINTR ? child_state::running : child_state::gone;
    if (info.si_pid == 0) return child_state::running;
    if (info.si_code != CLD_STOPPED) return child_state::ended;
    ::kill(pid, SIGCONT);
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG);
    return child_state::running;
}

/// How a reaped child ended.
struct child_exit {
    int status = 0;         ///< wait status, for WIFEXITED and its family
    double cpu_seconds = 0; ///< user and system time, including reaped descendants
};

/// Kills the process group of a child and reaps the child. The order matters: an unreaped child reserves the number of its group, so that the signal
/// cannot reach another group.
///
/// @pre    the child leads a group of its own and `poll_child` did not give `gone`
/// @return all zero if the child was reaped by other code
/// Source  wait4(2), for this child only
inline child_exit kill_and_reap(pid_t pid) noexcept {
    ::kill(-pid, SIGKILL);
    child_exit end;
    rusage used{};
    pid_t reaped;
    do reaped = ::wait4(pid, &end.status, 0, &used);
    while (reaped < 0 && errno == EINTR);
    end.cpu_seconds =
        static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return end;
}

} // namespace augur::inline v0::loopnest

#endif
