// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_GUARDED_CHILD_HPP
#define AUGUR_LLVM_RUN_GUARDED_CHILD_HPP

/// @file
/// Runs a function in a forked child process with time and memory limits, so that a crash, a full memory or an endless loop cannot harm the caller.
/// The function returns a string. Linux.

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/loopnest/run/child_process.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0::detail {

struct child_limits {
    double seconds = 10;
    std::uint64_t memory_bytes = std::uint64_t{4} << 30U; ///< limit on memory written by the child, beyond that of its parent
    loopnest::stop_flag stop = nullptr;
};

/// Header of each message of a child. The nonce and the checksums make it unlikely that output of a child with corrupted memory passes as a message.
struct guard_header {
    std::uint64_t nonce = 0;
    std::uint32_t kind = 0;  ///< 0: progress, 1: result, 2: error
    std::uint32_t code = 0;  ///< errc of an error
    std::uint64_t bytes = 0; ///< bytes of the text
    std::uint32_t crc = 0;   ///< CRC-32 of the text
    std::uint32_t header_crc = 0;

    [[nodiscard]] std::uint32_t own_crc() const noexcept {
        std::array<char, sizeof(guard_header)> raw{};
        guard_header h = *this;
        h.header_crc = 0;
        std::memcpy(raw.data(), &h, sizeof h);
        return crc32({raw.data(), raw.size()});
    }
};

/// Sends messages from the child to its parent. The functions allocate nothing, so that a signal handler can call them.
class child_report {
public:
    child_report(int fd, std::uint64_t nonce) noexcept : fd_(fd), nonce_(nonce) {}

    void send(std::uint32_t kind, std::string_view text, std::uint32_t code = 0) const noexcept {
        guard_header h{nonce_, kind, code, text.size(), crc32(text), 0};
        h.header_crc = h.own_crc();
        sigset_t all, before; // blocks signals: a handler can also send a message
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
        std::array<char, 1024> whole; // one write: a handler in another thread can also send a message
        if (text.size() <= whole.size() - sizeof h) {
            std::memcpy(whole.data(), &h, sizeof h);
            std::memcpy(whole.data() + sizeof h, text.data(), text.size());
            put(whole.data(), sizeof h + text.size());
        } else {
            put(reinterpret_cast<const char*>(&h), sizeof h);
            put(text.data(), text.size());
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    /// Sends an error and ends the child.
    [[noreturn]] void fail(errc code, std::string_view text) const noexcept {
        send(2, text, static_cast<std::uint32_t>(code));
        ::_exit(0);
    }

private:
    void put(const char* from, std::size_t n) const noexcept {
        while (n > 0) {
            const ssize_t wrote = ::write(fd_, from, n);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote <= 0) ::_exit(2); // the parent has closed its end
            from += wrote;
            n -= static_cast<std::size_t>(wrote);
        }
    }
    int fd_;
    std::uint64_t nonce_;
};

/// A message of a child.
struct child_message {
    std::uint32_t kind = 0; ///< as in `guard_header`
    errc code{};
    std::string_view text;
};

/// Parses the messages of a child from the bytes of its socket.
class message_parser {
public:
    explicit message_parser(std::uint64_t nonce) noexcept : nonce_(nonce) {}

    std::string input; ///< all bytes of the child so far; the caller appends to it

    /// The next message; its text is valid until `input` changes. Null: the message is not complete yet.
    /// Error: io (the bytes are no message of the child).
    result<std::optional<child_message>> next() {
        std::optional<child_message> none;
        guard_header h;
        if (input.size() - used_ < sizeof h) return none;
        std::memcpy(&h, input.data() + used_, sizeof h);
        if (h.nonce != nonce_ || h.header_crc != h.own_crc() || h.bytes > std::size_t{1} << 29U)
            return error{errc::io, "expected a message of the child, got other bytes: its memory may be corrupted"};
        if (input.size() - used_ - sizeof h < h.bytes) return none;
        const std::string_view text(input.data() + used_ + sizeof h, static_cast<std::size_t>(h.bytes));
        used_ += sizeof h + text.size();
        if (crc32(text) != h.crc) return error{errc::io, "the checksum does not match the message of the child"};
        return std::optional(child_message{h.kind, static_cast<errc>(h.code), text});
    }

private:
    std::uint64_t nonce_;
    std::size_t used_ = 0; ///< bytes of the messages before
};

/// Resident memory of a process in bytes without file-backed pages, from /proc/<pid>/statm; 0 if that cannot be read.
inline std::uint64_t memory_of(pid_t pid) noexcept {
    std::array<char, 64> path;
    std::array<char, 256> text{};
    std::snprintf(path.data(), path.size(), "/proc/%d/statm", static_cast<int>(pid));
    const auto fd = file_descriptor::open(path.data(), O_RDONLY);
    if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
    unsigned long long addresses = 0, resident = 0, files = 0;
    if (std::sscanf(text.data(), "%llu %llu %llu", &addresses, &resident, &files) != 3 || files > resident) return 0;
    return (resident - files) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Isolates the child: it cannot enlarge files, has no inherited descriptor except `fd`, and is killed when its parent ends.
/// @return 0, or errno if the standard streams cannot be redirected to `/dev/null`
/// @pre fd > 2
inline int fence_child(const child_limits& limits, int fd, pid_t parent) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(2);
    ::setpgid(0, 0);
#ifdef SYS_close_range
    const auto close_range = [](unsigned first, unsigned last) {
        if (first <= last) ::syscall(SYS_close_range, first, last, 0U);
    };
    close_range(3U, static_cast<unsigned>(fd) - 1); // before open, because the parent can be at its descriptor limit
    close_range(static_cast<unsigned>(fd) + 1, ~0U);
#endif
    const int null_device = ::open("/dev/null", O_RDWR);
    if (null_device < 0) return errno;
    for (int i = 0; i < 3; ++i)
        if (::dup2(null_device, i) != i) return errno;
    if (null_device > 2) ::close(null_device);
    const auto limit = [](auto resource, std::uint64_t n) {
        rlimit l{};
        ::getrlimit(resource, &l);
        l.rlim_cur = (std::min)(static_cast<rlim_t>(n), l.rlim_max);
        ::setrlimit(resource, &l);
    };
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, static_cast<std::uint64_t>(limits.seconds * 4) + 10);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int s : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2}) ::signal(s, SIG_DFL);
    ::signal(SIGXFSZ, SIG_IGN);
    return 0;
}

/// The error of a child that ended without a result. `status`: as of waitpid.
inline error ended_without_result(int status) {
    const bool by_signal = WIFSIGNALED(status);
    const int code = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    if (by_signal && code == SIGXCPU) return {errc::limit, "stopped at its limit of processor time"};
    return {errc::io, by_signal ? "the child was ended by signal " + std::to_string(code) + " without a result"
                                : "the child ended with code " + std::to_string(code) + " without a result"};
}

/// Calls `child(const child_report&) -> result<std::string>` in a forked child and returns its result. Calls `progress(text)` in this process for
/// each progress message of the child. The child is killed at its limits, together with the processes that it started.
/// Errors: limit (time, memory); interrupted; io (fork failed, or the child ended without a result); errors that the child sent.
/// Threads: the process may have several threads. If one of them holds a lock during the fork and the child needs it, the child ends at its time
/// limit.
template <class Child, class Progress>
result<std::string> run_guarded(const child_limits& limits, Child&& child, Progress&& progress) {
    file_descriptor parent_end, child_end;
    if (!loopnest::open_socket_pair(parent_end, child_end))
        return error{errc::io, std::string("cannot create a socket pair: ") + std::strerror(errno)};
    const double start = steady_seconds();
    const std::uint64_t nonce =
        mix64(static_cast<std::uint64_t>(start * 1e9) ^ reinterpret_cast<std::uint64_t>(&parent_end) ^ static_cast<std::uint64_t>(::getpid()));
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return error{errc::io, std::string("cannot fork: ") + std::strerror(errno)};
    if (pid == 0) {
        const child_report report(child_end.get(), nonce);
        if (const int failure = fence_child(limits, child_end.get(), parent); failure != 0) report.fail(errc::io, std::strerror(failure));
        result<std::string> made = child(report);
        if (!made) report.fail(made.error().code, made.error().detail);
        report.send(1, *made);
        ::_exit(0);
    }
    ::setpgid(pid, pid); // parent and child both call it, because either can run first
    child_end.reset();
    const std::uint64_t base = memory_of(pid);

    result<std::string> out = error{errc::io, ""};
    bool ended = false, killed = false, has_result = false;
    message_parser messages(nonce);
    int status = 0, tick = 1;
    const auto kill_for = [&](errc code, std::string text) {
        if (killed || has_result) return;
        out = error{code, std::move(text)};
        killed = true;
        ::kill(-pid, SIGKILL);
        ::kill(pid, SIGKILL);
    };
    while (!ended || parent_end) {
        pollfd wait{parent_end.get(), POLLIN, 0};
        const int ready = ::poll(&wait, parent_end ? 1U : 0U, tick);
        tick = ready == 0 ? (std::min)(tick * 2, 20) : 1;
        if (parent_end) loopnest::read_available(parent_end, messages.input, std::size_t{1} << 30U);
        while (!has_result) {
            const auto message = messages.next();
            if (!message) kill_for(message.error().code, message.error().detail);
            if (!message || !*message) break;
            const auto& [kind, code, text] = **message;
            if (kind == 0) {
                progress(text);
                continue;
            }
            if (!killed) out = kind == 1 ? result<std::string>(std::string(text)) : error{code, std::string(text)};
            has_result = true;
        }
        if (!ended) {
            const auto state = loopnest::poll_child(pid);
            if (state != loopnest::child_state::running) { // `gone`: the process may ignore SIGCHLD
                ended = true;
                // also kills processes that the child left behind, which may hold the socket
                if (state == loopnest::child_state::ended) status = loopnest::kill_and_reap(pid).status;
                tick = 1;
                continue; // reads the last messages
            }
            if (loopnest::stop_requested(limits.stop)) kill_for(errc::interrupted, "stopped by the stop flag");
            const double now = steady_seconds() - start;
            if (now > limits.seconds + 1) kill_for(errc::limit, "stopped at its time limit of " + std::to_string(limits.seconds) + " seconds");
            const std::uint64_t memory = memory_of(pid);
            if (memory > base + limits.memory_bytes)
                kill_for(errc::limit, "stopped at its memory limit: it had written to " + std::to_string((memory - base) >> 20U) +
                                          " MiB, the limit is " + std::to_string(limits.memory_bytes >> 20U));
            if (has_result && now > limits.seconds + 2) ::kill(-pid, SIGKILL); // the result is here, but the child does not end
        } else if (ready == 0 || !parent_end) {
            break;
        }
    }
    if (!has_result && !killed) return ended_without_result(status);
    return out;
}

} // namespace augur::inline v0::detail

#endif
