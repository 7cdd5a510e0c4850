// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/llvm/run/guarded_child.hpp>

#include <atomic>
#include <string>

#include <sys/stat.h>
#include <sys/syscall.h>

#include <doctest/doctest.h>

using namespace augur;

namespace {

std::atomic<int> late_kills{0}; // signals to a group whose first process is no child of ours any more: it may be anybody's group

result<std::string> guarded(result<std::string> (*child)(const augur::detail::child_report&)) {
    return augur::detail::run_guarded({.seconds = 60}, child, [](std::string_view) {});
}

/// "null" when the standard streams of this process are no file at all.
result<std::string> streams(const augur::detail::child_report&) {
    struct stat null{}, s{};
    if (::stat("/dev/null", &null) != 0) return std::string("no /dev/null");
    for (int fd = 0; fd < 3; ++fd)
        if (::fstat(fd, &s) != 0 || s.st_rdev != null.st_rdev) return "descriptor " + std::to_string(fd) + " is something else";
    return std::string("null");
}

} // namespace

// Stands before the library's.
extern "C" int kill(pid_t to, int signal) noexcept {
    siginfo_t info{};
    if (to < -1 && ::waitid(P_PID, static_cast<id_t>(-to), &info, WEXITED | WNOHANG | WNOWAIT) != 0) ++late_kills;
    return static_cast<int>(::syscall(SYS_kill, to, signal));
}

TEST_CASE("guarded child: its group is killed only while its number is that of a child not waited for") {
    late_kills = 0;
    const auto r = guarded([](const augur::detail::child_report&) { return result<std::string>(std::string("said")); });
    REQUIRE(r);
    CHECK(*r == "said");
    CHECK_FALSE(guarded([](const augur::detail::child_report&) -> result<std::string> { std::abort(); }));
    CHECK(late_kills == 0);
}

TEST_CASE("guarded child: one that is stopped goes on") {
    const auto r = guarded([](const augur::detail::child_report&) {
        ::raise(SIGSTOP);
        return result<std::string>(std::string("on"));
    });
    REQUIRE(r);
    CHECK(*r == "on");
}

TEST_CASE("guarded child: a host without a descriptor left gives its child streams that are not its own") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t host = ::fork();
    REQUIRE(host >= 0);
    if (host == 0) {
        ::dup2(ends[1], 3);
        for (int fd = 4; fd < 1024; ++fd) ::close(fd);
        const rlimit few{6, 6}; // its streams, the pipe and the pair of sockets
        ::setrlimit(RLIMIT_NOFILE, &few);
        const auto r = guarded(streams);
        const std::string said = r ? *r : r.error().detail;
        ::_exit(::write(3, said.data(), said.size()) < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    augur::file_descriptor from(ends[0]);
    std::string said;
    augur::loopnest::read_available(from, said, 1 << 16);
    int status = 0;
    while (::waitpid(host, &status, 0) < 0 && errno == EINTR) {}
    CHECK(said == "null");
}
