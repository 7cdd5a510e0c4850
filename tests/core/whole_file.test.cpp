// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/whole_file.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include <doctest/doctest.h>

using namespace augur;

TEST_CASE("whole_file: a regular file is read, anything else is named and never waited for") {
    std::string name = (std::filesystem::temp_directory_path() / "augur-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const std::filesystem::path folder = name;
    const std::string path = folder / "file", text(3'000'000, 'x');
    std::ofstream(path, std::ios::binary) << text;
    CHECK(*read_whole_file(path, text.size()) == text);
    CHECK(read_whole_file(path, text.size() - 1).error().code == errc::limit);
    std::filesystem::create_symlink(path, folder / "link");
    CHECK(*read_whole_file(folder / "link", text.size()) == text);
    {
        auto file = whole_file::open(path);
        REQUIRE(file);
        CHECK(file->size() == text.size());
        std::string front;
        REQUIRE(file->read(front, 5));
        CHECK(front == "xxxxx");
        REQUIRE(file->read(front, 10'000'000));
        CHECK(front == text);
    }
    if (std::filesystem::exists("/proc/self/status")) CHECK(read_whole_file("/proc/self/status", 1 << 20)->starts_with("Name:")); // of size 0

    const auto refusal = [](const std::string& of) {
        const auto got = read_whole_file(of, 1000);
        REQUIRE(!got);
        CHECK(got.error().code == errc::io);
        CHECK(got.error().detail.starts_with(of + ": "));
        return got.error().detail.substr(of.size() + 2);
    };
    const std::string pipe = folder / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(refusal(pipe) == "expected a regular file, got a FIFO");
    std::filesystem::create_symlink(pipe, folder / "to_pipe");
    CHECK(refusal(folder / "to_pipe") == "expected a regular file, got a FIFO");
    CHECK(refusal(folder) == "expected a regular file, got a directory");
    CHECK(refusal("/dev/zero") == "expected a regular file, got a device");
    CHECK(refusal(folder / "none").find("No such file") != std::string::npos);
    std::filesystem::remove_all(folder);
}
