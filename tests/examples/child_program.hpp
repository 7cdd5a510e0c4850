// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_EXAMPLES_CHILD_PROGRAM_HPP
#define AUGUR_TESTS_EXAMPLES_CHILD_PROGRAM_HPP

// A program started from a test, with its outputs in the files `out` and `err` of a folder.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "scratch.hpp"

using strings = std::vector<std::string>;

/// For `--compiler`: candidates without optimisation, where it does not matter how fast they are.
inline const std::string quick_compiler = AUGUR_TEST_DIR "/examples/quick_cc";

inline std::string contents(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}
inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline pid_t start(const scratch& folder, const std::string& program, strings arguments) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) return child;
    ::dup2(::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    ::dup2(::open((folder / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
}
// The exit code, or minus the signal.
inline int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Kills a program as soon as something is so, or has been for it ended before; false: neither comes, it hangs.
template <class F>
bool kill_when(pid_t child, F so) {
    for (int i = 0; i < 12000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
        siginfo_t info{};
        const bool ended = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
        if (!ended && !so()) continue;
        ::kill(child, SIGKILL);
        wait_for(child);
        return true;
    }
    ::kill(child, SIGKILL);
    wait_for(child);
    return false;
}
// Lines of a file that is being written, those of its header and comments included.
inline std::size_t lines_in(const std::string& path) {
    const auto text = contents(path);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Runs the program with each list of arguments: exit code 2, and one line that has the words beside it.
inline void check_refusals(const scratch& folder, const std::string& program, const std::vector<std::pair<strings, std::string>>& rows) {
    for (const auto& [arguments, says] : rows) {
        const int code = wait_for(start(folder, program, arguments));
        const auto said = contents(folder / "err");
        const std::string expected(says); // clang 14 captures no part of a binding
        CAPTURE(expected);
        CAPTURE(said);
        CHECK(code == 2);
        CHECK(contains(said, expected));
        CHECK(std::count(said.begin(), said.end(), '\n') == 1);
    }
}

#endif
