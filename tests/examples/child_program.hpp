// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_EXAMPLES_CHILD_PROGRAM_HPP
#define AUGUR_TESTS_EXAMPLES_CHILD_PROGRAM_HPP

// A program started from a test, with its outputs in the files `out` and `err` of a folder.

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "scratch.hpp"

using strings = std::vector<std::string>;

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

#endif
