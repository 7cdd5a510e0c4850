// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_GUARDED_CHILD_HPP
#define AUGUR_LLVM_RUN_GUARDED_CHILD_HPP

/// @file
/// A function called in a forked child, within limits: what it crashes, fills or never ends is the child. It hands back a text. Linux.

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
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
#include <augur/loopnest/run/process.hpp>

namespace augur::inline v0::detail {

struct child_limits {
    double seconds = 10;
    std::uint64_t memory_bytes = std::uint64_t{4} << 30U; ///< that it has written to, beyond what it had from its parent
    loopnest::stop_flag stop = nullptr;
};

/// Begins each message of a child. What a child writes when its memory is in ruins should not pass for one.
struct guard_header {
    std::uint64_t nonce = 0;
    std::uint32_t kind = 0; ///< 0: progress, 1: the result, 2: an error
    std::uint32_t code = 0; ///< of an error
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0; ///< of the text
    std::uint32_t header_crc = 0;

    [[nodiscard]] std::uint32_t own_crc() const noexcept {
        std::array<char, sizeof(guard_header)> raw{};
        guard_header h = *this;
        h.header_crc = 0;
        std::memcpy(raw.data(), &h, sizeof h);
        return crc32({raw.data(), raw.size()});
    }
};

/// The child's end. Its functions allocate nothing, so that a signal handler may call them.
class child_report {
public:
    child_report(int fd, std::uint64_t nonce) noexcept : fd_(fd), nonce_(nonce) {}

    void send(std::uint32_t kind, std::string_view text, std::uint32_t code = 0) const noexcept {
        guard_header h{nonce_, kind, code, text.size(), crc32(text), 0};
        h.header_crc = h.own_crc();
        sigset_t all, before; // a handler that sends, too, must not come between
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
        std::array<char, 1024> whole; // in one piece: a handler in another thread may send, too
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
    /// The child ends here.
    [[noreturn]] void fail(errc code, std::string_view text) const noexcept {
        send(2, text, static_cast<std::uint32_t>(code));
        ::_exit(0);
    }

private:
    void put(const char* from, std::size_t n) const noexcept {
        while (n > 0) {
            const ssize_t wrote = ::write(fd_, from, n);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote <= 0) ::_exit(2); // nobody listens
            from += wrote;
            n -= static_cast<std::size_t>(wrote);
        }
    }
    int fd_;
    std::uint64_t nonce_;
};

/// Bytes of memory that a process has for itself, without files, by /proc/<pid>/statm; 0 where there is none.
inline std::uint64_t memory_of(pid_t pid) noexcept {
    std::array<char, 64> path;
    std::array<char, 256> text{};
    std::snprintf(path.data(), path.size(), "/proc/%d/statm", static_cast<int>(pid));
    const loopnest::detail::unique_fd fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
    if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
    unsigned long long addresses = 0, resident = 0, files = 0;
    if (std::sscanf(text.data(), "%llu %llu %llu", &addresses, &resident, &files) != 3 || files > resident) return 0;
    return (resident - files) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// What the child sees of the world: no files that it could make larger, no descriptor but its own, an end when its parent ends.
/// @return errno when its standard streams cannot be made `/dev/null`, else 0
/// @pre fd > 2
inline int fence_child(const child_limits& limits, int fd, pid_t parent) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(2);
    ::setpgid(0, 0);
#ifdef SYS_close_range
    const auto close_range = [](unsigned first, unsigned last) {
        if (first <= last) ::syscall(SYS_close_range, first, last, 0U);
    };
    close_range(3U, static_cast<unsigned>(fd) - 1); // before the next open: a host at its limit has no number left
    close_range(static_cast<unsigned>(fd) + 1, ~0U);
#endif
    const int nothing = ::open("/dev/null", O_RDWR);
    if (nothing < 0) return errno;
    for (int i = 0; i < 3; ++i)
        if (::dup2(nothing, i) != i) return errno;
    if (nothing > 2) ::close(nothing);
    const auto limit = [](auto what, std::uint64_t n) {
        rlimit l{};
        ::getrlimit(what, &l);
        l.rlim_cur = (std::min)(static_cast<rlim_t>(n), l.rlim_max);
        ::setrlimit(what, &l);
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

/// Calls `child(const child_report&)`, which sends messages and whose result<std::string> is the last one, in a child; `progress(text)` here for each
/// message of progress. The child is killed at its limits, with all it started.
/// @note errors: limit (time, memory); interrupted; io, when it ended otherwise or nothing can be forked; those that the child sent.
///       A process with several threads may fork: a child that waits for a lock that another thread held at that moment ends at its time limit.
template <class Child, class Progress>
result<std::string> run_guarded(const child_limits& limits, Child&& child, Progress&& progress) {
    loopnest::detail::unique_fd here, there;
    if (!loopnest::detail::socket_pair(here, there)) return error{errc::io, std::string("cannot make a pair of sockets: ") + std::strerror(errno)};
    const double start = loopnest::detail::seconds_now();
    const std::uint64_t nonce =
        mix64(static_cast<std::uint64_t>(start * 1e9) ^ reinterpret_cast<std::uint64_t>(&here) ^ static_cast<std::uint64_t>(::getpid()));
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return error{errc::io, std::string("cannot fork: ") + std::strerror(errno)};
    if (pid == 0) {
        const child_report report(there.get(), nonce);
        if (const int why = fence_child(limits, there.get(), parent); why != 0) report.fail(errc::io, std::strerror(why));
        result<std::string> made = child(report);
        if (!made) report.fail(made.error().code, made.error().detail);
        report.send(1, *made);
        ::_exit(0);
    }
    ::setpgid(pid, pid); // both sides do it: whoever comes first
    there.reset();
    const std::uint64_t base = memory_of(pid);

    result<std::string> out = error{errc::io, ""};
    bool ended = false, killed = false, told = false;
    std::string input;
    std::size_t used = 0;
    int status = 0, tick = 1;
    const auto kill_for = [&](errc code, std::string text) {
        if (killed || told) return;
        out = error{code, std::move(text)};
        killed = true;
        ::kill(-pid, SIGKILL);
        ::kill(pid, SIGKILL);
    };
    while (!ended || here) {
        pollfd wait{here.get(), POLLIN, 0};
        const int ready = ::poll(&wait, here ? 1U : 0U, tick);
        tick = ready == 0 ? (std::min)(tick * 2, 20) : 1;
        if (here) loopnest::detail::drain(here, input, std::size_t{1} << 30U);
        while (!told && input.size() - used >= sizeof(guard_header)) {
            guard_header h;
            std::memcpy(&h, input.data() + used, sizeof h);
            if (h.nonce != nonce || h.header_crc != h.own_crc() || h.bytes > std::size_t{1} << 29U) {
                kill_for(errc::io, "the child sent what is no message: its memory is in ruins");
                break;
            }
            if (input.size() - used - sizeof h < h.bytes) break;
            const std::string_view text(input.data() + used + sizeof h, static_cast<std::size_t>(h.bytes));
            used += sizeof h + text.size();
            if (crc32(text) != h.crc) {
                kill_for(errc::io, "the child sent a message that was damaged on the way");
                break;
            }
            if (h.kind == 0) {
                progress(text);
                continue;
            }
            if (!killed) out = h.kind == 1 ? result<std::string>(std::string(text)) : error{static_cast<errc>(h.code), std::string(text)};
            told = true;
        }
        if (!ended) {
            const auto state = loopnest::detail::look_at(pid);
            if (state != loopnest::detail::child_state::runs) { // gone: the host may have its children waited for by nobody
                ended = true;
                rusage ignored{};
                if (state == loopnest::detail::child_state::ended) loopnest::detail::reap_group(pid, status, ignored); // with whom it left behind, who may hold the socket
                tick = 1;
                continue; // once more round for what it wrote last
            }
            if (loopnest::detail::is_set(limits.stop)) kill_for(errc::interrupted, "stopped because it was asked to");
            const double now = loopnest::detail::seconds_now() - start;
            if (now > limits.seconds + 1) kill_for(errc::limit, "stopped at its time limit of " + std::to_string(limits.seconds) + " seconds");
            const std::uint64_t memory = memory_of(pid);
            if (memory > base + limits.memory_bytes)
                kill_for(errc::limit, "stopped at its memory limit: it had written to " + std::to_string((memory - base) >> 20U) +
                                          " MiB, the limit is " + std::to_string(limits.memory_bytes >> 20U));
            if (told && now > limits.seconds + 2) ::kill(-pid, SIGKILL); // it said all and does not end
        } else if (ready == 0 || !here) {
            break;
        }
    }
    if (!told && !killed) {
        const bool by_signal = WIFSIGNALED(status);
        const int code = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
        if (by_signal && code == SIGXCPU) return error{errc::limit, "stopped at its limit of processor time"};
        return error{errc::io, by_signal ? "the child was ended by signal " + std::to_string(code) + " and said nothing"
                                         : "the child ended with code " + std::to_string(code) + " and said nothing"};
    }
    return out;
}

} // namespace augur::inline v0::detail

#endif
