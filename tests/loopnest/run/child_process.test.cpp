// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/child_process.hpp>

#include <csignal>
#include <string>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;

namespace {

/// A forked child that leads a group of its own and then calls `f`.
template <class F>
pid_t start_child(F f) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::setpgid(0, 0);
        f();
        ::_exit(0);
    }
    ::setpgid(pid, pid);
    return pid;
}

/// The first state of a child that is not `running`.
child_state wait_for_end(pid_t pid) {
    auto state = poll_child(pid);
    for (; state == child_state::running; state = poll_child(pid)) ::poll(nullptr, 0, 1);
    return state;
}

} // namespace

TEST_CASE("child process: an ended child keeps its status until it is reaped, then it is gone") {
    const pid_t pid = start_child([] { ::_exit(7); });
    REQUIRE(pid > 0);
    CHECK(wait_for_end(pid) == child_state::ended);
    CHECK(poll_child(pid) == child_state::ended); // polled again: it was not reaped
    const auto end = kill_and_reap(pid);
    REQUIRE(WIFEXITED(end.status));
    CHECK(WEXITSTATUS(end.status) == 7);
    CHECK(end.cpu_seconds >= 0);
    CHECK(poll_child(pid) == child_state::gone);
}

TEST_CASE("child process: a running child is killed with the processes of its group") {
    file_descriptor host_end, child_end;
    REQUIRE(open_socket_pair(host_end, child_end));
    const pid_t pid = start_child([&] {
        const bool parent = ::fork() > 0;
        (void)!::write(child_end.get(), parent ? "p" : "c", 1);
        for (;;) ::pause();
    });
    REQUIRE(pid > 0);
    child_end.reset();
    std::string text;
    while (host_end && text.size() < 2) {
        pollfd readable{host_end.get(), POLLIN, 0};
        ::poll(&readable, 1, -1);
        read_available(host_end, text, 16);
    }
    CHECK(poll_child(pid) == child_state::running);
    const auto end = kill_and_reap(pid);
    REQUIRE(WIFSIGNALED(end.status));
    CHECK(WTERMSIG(end.status) == SIGKILL);
    while (host_end) { // the stream ends when no process of the group has it open
        pollfd readable{host_end.get(), POLLIN, 0};
        ::poll(&readable, 1, -1);
        read_available(host_end, text, 16);
    }
    CHECK(text.size() == 2);
}

TEST_CASE("child process: a suspended child is continued") {
    const pid_t pid = start_child([] { ::raise(SIGSTOP); });
    REQUIRE(pid > 0);
    CHECK(wait_for_end(pid) == child_state::ended);
    CHECK(kill_and_reap(pid).status == 0);
}

TEST_CASE("child process: a stream is read as far as it has bytes, kept up to a limit, and closed at its end") {
    file_descriptor host_end, child_end;
    REQUIRE(open_socket_pair(host_end, child_end));
    CHECK(host_end.get() > 2);
    CHECK(child_end.get() > 2);
    std::string text;
    read_available(host_end, text, 100); // nothing yet: returns at once
    CHECK(host_end);
    CHECK(text.empty());
    REQUIRE(::write(child_end.get(), "0123456789", 10) == 10);
    read_available(host_end, text, 4);
    CHECK(host_end);
    CHECK(text == "0123");
    child_end.reset();
    read_available(host_end, text, 100);
    CHECK_FALSE(host_end);
    CHECK(text == "0123");
}
