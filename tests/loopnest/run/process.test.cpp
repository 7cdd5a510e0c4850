// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/work_folder.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;

namespace {

process_spec call(std::vector<std::string> arguments, double wall = 30) {
    process_spec s;
    s.arguments = std::move(arguments);
    s.wall_seconds = wall;
    return s;
}

std::atomic<bool> alarmed{false};
std::atomic<int> late_kills{0}; // signals to a group whose first process is no child of ours any more: it may be anybody's group

std::size_t open_descriptors() {
    std::error_code bad;
    std::size_t n = 0;
    for (std::filesystem::directory_iterator it("/proc/self/fd", bad), end; !bad && it != end; it.increment(bad)) ++n;
    return n;
}

/// What `f` makes in a process that has descriptors 0 to 3 and can have no more than `most`.
template <class F>
std::string with_few_descriptors(rlim_t most, F f) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::dup2(ends[1], 3);
        for (int fd = 4; fd < 1024; ++fd) ::close(fd);
        const rlimit few{most, most};
        const std::string said = ::setrlimit(RLIMIT_NOFILE, &few) == 0 ? f() : "no limit";
        ::_exit(::write(3, said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    augur::file_descriptor from(ends[0]);
    std::string said;
    augur::loopnest::read_available(from, said, 1 << 16);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return said;
}

} // namespace

// Stands before the library's.
extern "C" int kill(pid_t to, int signal) noexcept {
    siginfo_t info{};
    if (to < -1 && ::waitid(P_PID, static_cast<id_t>(-to), &info, WEXITED | WNOHANG | WNOWAIT) != 0) ++late_kills;
    return static_cast<int>(::syscall(SYS_kill, to, signal));
}

TEST_CASE("process: a group is killed only while its number is that of a child not waited for") {
    late_kills = 0;
    CHECK(run_process(call({"true"})).ok());
    CHECK(run_process(call({"sh", "-c", "sleep 1000 & exit 0"})).ok());
    CHECK(run_process(call({"sleep", "1000"}, 0.01)).timed_out);
    CHECK(late_kills == 0);
}

TEST_CASE("process: with few descriptors a child has its own streams or is not started") {
    for (rlim_t most = 4; most <= 24; ++most) {
        CAPTURE(most);
        const auto said = with_few_descriptors(most, [] {
            auto s = call({"cat"}); // a shell needs more
            s.input = "in";
            s.wall_seconds = 0.2; // ends the input
            s.grace_seconds = 60;
            const auto r = run_process(s);
            return r.start_error != 0 ? std::string(std::strerror(r.start_error)) : r.output;
        });
        CHECK(said == (most < 10 ? std::strerror(EMFILE) : "in"));
    }
}

TEST_CASE("process: where only one has descriptors at a time they go one after the other") {
    const auto said = with_few_descriptors(12, [] {
        const std::vector<process_spec> specs(3, call({"echo", "x"}));
        std::string all;
        for (const auto& r : run_processes(specs, 3)) all += r.ok() ? r.output : std::strerror(r.start_error);
        return all;
    });
    CHECK(said == "x\nx\nx\n");
}

TEST_CASE("process: a child that was stopped goes on") {
    const auto r = run_process(call({"sh", "-c", "kill -STOP $$; echo on"}, 60));
    CHECK(r.ok());
    CHECK(r.output == "on\n");
}

TEST_CASE("process: temporary files go where they are told to") {
    auto s = call({"sh", "-c", "echo $TMPDIR"});
    s.temporary = "/some/folder";
    CHECK(run_process(s).output == "/some/folder\n");
}

TEST_CASE("process: output, errors, exit codes and signals") {
    const auto r = run_process(call({"sh", "-c", "echo out; echo err >&2; exit 3"}));
    CHECK(r.exited);
    CHECK(r.code == 3);
    CHECK_FALSE(r.ok());
    CHECK(r.output == "out\n");
    CHECK(r.errors == "err\n");
    const auto killed = run_process(call({"sh", "-c", "kill -9 $$"}));
    CHECK_FALSE(killed.exited);
    CHECK(killed.code == SIGKILL);
    CHECK(run_process(call({"true"})).ok());
}

TEST_CASE("process: arguments reach the program untouched, no shell in between") {
    CHECK(run_process(call({"printf", "%s|", "a b", "$(touch /tmp/never); `id`", "*", ""})).output == "a b|$(touch /tmp/never); `id`|*||");
}

TEST_CASE("process: a program that is not there is a result") {
    CHECK(run_process(call({"/nonexistent/cc"})).start_error == ENOENT);
    CHECK(run_process(call({})).start_error == EINVAL);
}

TEST_CASE("process: input is sent and output is bounded, but read to its end") {
    auto s = call({"head", "-c", "300000"});
    s.input.assign(300000, 'x');
    s.max_output = 1000;
    const auto r = run_process(s);
    CHECK(r.ok());
    CHECK(r.output == std::string(1000, 'x'));
    auto deaf = call({"true"}); // goes before it reads: no SIGPIPE in the host
    deaf.input.assign(1 << 20, 'x');
    CHECK(run_process(deaf).ok());
}

TEST_CASE("process: the wall limit ends a child that ignores SIGTERM, and its group") {
    const auto r = run_process(call({"sh", "-c", "trap '' TERM INT; sleep 1000 & while :; do sleep 1000; done"}, 0.3));
    CHECK(r.timed_out);
    CHECK_FALSE(r.ok());
    CHECK(r.wall_seconds < 500); // and not 1000
}

TEST_CASE("process: a descendant that holds the streams does not hold us") {
    const auto r = run_process(call({"sh", "-c", "sleep 1000 & exit 0"}));
    CHECK(r.ok());
    CHECK(r.wall_seconds < 500);
}

TEST_CASE("process: children get descriptors 0 to 2 and a small environment only") {
    ::setenv("AUGUR_TEST_SECRET", "1", 1);
    CHECK(run_process(call({"env"})).output.find("AUGUR_TEST_SECRET") == std::string::npos);
    CHECK(run_process(call({"sh", "-c", "echo $PATH"})).output.size() > 1);
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const auto listed = run_process(call({"ls", "/proc/self/fd"})).output;
    CHECK(listed == "0\n1\n2\n3\n"); // 3 is the folder that ls reads
    ::close(fd);
}

TEST_CASE("process: several at the same time, in order, without leaking descriptors") {
    const auto folder = work_folder::create();
    REQUIRE(folder);
    const auto before = open_descriptors();
    std::vector<process_spec> specs;
    for (int i = 0; i < 6; ++i) // each one waits for all of them
        specs.push_back(call({"sh", "-c", "cd $0; : > came-$1; while [ ! -e came-5 ] || [ $(ls came-* | wc -l) -lt 6 ]; do sleep 0.02; done; echo $1",
                              folder->path(), std::to_string(i)},
                             60));
    const auto r = run_processes(specs, 6);
    for (int i = 0; i < 6; ++i) CHECK(r[static_cast<std::size_t>(i)].output == std::to_string(i) + "\n");
    CHECK(open_descriptors() == before);
}

TEST_CASE("process: CPU time of descendants is counted") {
    const auto r = run_process(call({"sh", "-c", "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'"}));
    CHECK(r.ok());
    CHECK(r.cpu_seconds > 0.02);
    CHECK(r.cpu_seconds < 20);
}

TEST_CASE("process: a signal that sets the stop flag ends the wait at once") {
    struct sigaction act{}, before{};
    act.sa_handler = [](int) { alarmed = true; };
    ::sigaction(SIGALRM, &act, &before);
    alarmed = false;
    const std::vector<process_spec> specs{call({"sh", "-c", "kill -ALRM $PPID; exec sleep 1000"}, 2000), call({"sleep", "1000"}, 2000)};
    const auto r = run_processes(specs, 1, &alarmed);
    ::sigaction(SIGALRM, &before, nullptr);
    CHECK(r[0].stopped);
    CHECK_FALSE(r[0].timed_out);
    CHECK(r[0].wall_seconds < 500);
    CHECK(r[1].stopped);
    CHECK(r[1].wall_seconds == 0);
}
