// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/work_folder.hpp>

#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;

TEST_CASE("work folder: private, and gone with its owner or with the next one") {
    std::string path, left;
    {
        auto made = work_folder::create();
        REQUIRE(made);
        path = made->path();
        struct stat s{};
        REQUIRE(::stat(path.c_str(), &s) == 0);
        CHECK((s.st_mode & 0777) == 0700);
        REQUIRE(write_private_file(path + "/x", "text"));
        CHECK_FALSE(write_private_file(path + "/x", "again")); // never over something
        const work_folder moved = *std::move(made);
        CHECK(moved.path() == path);

        // As a killed owner leaves it: old, with a lock file that nobody holds.
        left = path + "/augur-work-dead00";
        REQUIRE(::mkdir(left.c_str(), 0700) == 0);
        REQUIRE(write_private_file(left + "/lock", ""));
        const timespec old[2] = {{1, 0}, {1, 0}};
        REQUIRE(::utimensat(AT_FDCWD, left.c_str(), old, 0) == 0);
        const auto unlocked = path + "/augur-work-dead01"; // killed before it had a lock
        REQUIRE(::mkdir(unlocked.c_str(), 0700) == 0);
        REQUIRE(::utimensat(AT_FDCWD, unlocked.c_str(), old, 0) == 0);
        {
            const auto neighbour = work_folder::create(path);
            REQUIRE(neighbour);
            CHECK(::access(left.c_str(), F_OK) != 0);
            CHECK(::access(unlocked.c_str(), F_OK) != 0);
            REQUIRE(::utimensat(AT_FDCWD, neighbour->path().c_str(), old, 0) == 0);
            const auto third = work_folder::create(path);
            REQUIRE(third);
            CHECK(::access(neighbour->path().c_str(), F_OK) == 0); // its owner lives
        }
        CHECK(::access(path.c_str(), F_OK) == 0);
    }
    CHECK(::access(path.c_str(), F_OK) != 0);
    const auto nowhere = work_folder::create("/nonexistent/folder");
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error().code == errc::io);
}
