// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/file_descriptor.hpp>

#include <type_traits>
#include <utility>

#include <fcntl.h>

#include <doctest/doctest.h>

using namespace augur;

static_assert(!std::is_copy_constructible_v<file_descriptor> && !std::is_copy_assignable_v<file_descriptor>);

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

} // namespace

TEST_CASE("file descriptor: one owner at a time, which closes it") {
    auto first = file_descriptor::open("/dev/null", O_RDONLY);
    REQUIRE(first);
    const int fd = first.get();
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    file_descriptor second(std::move(first));
    CHECK_FALSE(first); // NOLINT: moved from, owns none
    CHECK(second.get() == fd);
    file_descriptor& itself = second;
    second = std::move(itself);
    CHECK(is_open(fd));
    second = file_descriptor();
    CHECK_FALSE(second);
    CHECK(second.get() == -1);
    CHECK_FALSE(is_open(fd));
}

TEST_CASE("file descriptor: a failed open owns nothing, and its error has the path and the reason") {
    const auto none = file_descriptor::open("/nonexistent/file", O_RDONLY);
    const auto failure = errno_error("/nonexistent/file", "cannot open");
    CHECK_FALSE(none);
    CHECK(failure.code == errc::not_found);
    CHECK(failure.detail == "/nonexistent/file: cannot open: No such file or directory");
}

TEST_CASE("file descriptor: only regular files are opened as such") {
    CHECK(open_regular_file(__FILE__, O_RDONLY));
    const auto folder = open_regular_file("/tmp", O_RDONLY), device = open_regular_file("/dev/null", O_RDONLY),
               none = open_regular_file("/nonexistent/file", O_RDONLY);
    REQUIRE_FALSE(folder);
    CHECK(folder.error().detail == "/tmp: expected a regular file, got a directory");
    REQUIRE_FALSE(device);
    CHECK(device.error().detail == "/dev/null: expected a regular file, got a device");
    REQUIRE_FALSE(none);
    CHECK(none.error().code == errc::not_found);
}
