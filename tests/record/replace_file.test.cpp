// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/replace_file.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "logs.hpp"

using namespace augur;

namespace {

/// What the next calls meet, one letter each: I interrupted, S only half is taken, 1 one byte is taken, F disk full, 0 nothing is taken, E an
/// input/output error, N not possible here. When it is used up, calls go through. `seen` says which were made, a retry as itself.
struct scripted_replacement {
    static inline std::string script, seen;
    static inline std::size_t at = 0;
    static void set(const char* to) {
        script = to;
        seen.clear();
        at = 0;
    }
    static char next(char call) {
        seen += call;
        return at < script.size() ? script[at++] : '.';
    }
    static int failure(char letter) {
        errno = letter == 'I' ? EINTR : letter == 'F' ? ENOSPC : letter == 'N' ? EINVAL : EIO;
        return -1;
    }
    static ssize_t write(int fd, const char* from, std::size_t size) {
        switch (const char letter = next('w')) {
        case '.': return ::write(fd, from, size);
        case 'S': return ::write(fd, from, (size + 1) / 2);
        case '1': return ::write(fd, from, 1);
        case '0': return 0;
        default: return failure(letter);
        }
    }
    static int sync(int) {
        const char letter = next('s');
        return letter == '.' ? 0 : failure(letter);
    }
    static int rename(const char* from, const char* to) {
        const char letter = next('r');
        return letter == '.' ? std::rename(from, to) : failure(letter);
    }
};

std::ptrdiff_t files_in(const logs::folder& folder) { return std::distance(std::filesystem::directory_iterator(folder.path), {}); }

} // namespace

TEST_CASE("replace_file: bytes to the disk, then the name, then the folder") {
    const logs::folder folder;
    const std::string path = folder / "weights";
    for (const char* text : {"first", "", "third, which is longer"}) {
        scripted_replacement::set("");
        REQUIRE(replace_file<scripted_replacement>(path, text));
        CHECK(scripted_replacement::seen == (*text == '\0' ? "srs" : "wsrs"));
        CHECK(logs::read(path) == text);
        CHECK(files_in(folder) == 1);
        REQUIRE(replace_file(path, std::string(text) + "!")); // the system's own calls
        CHECK(logs::read(path) == std::string(text) + "!");
    }
}

TEST_CASE("replace_file: interrupted, short and failing calls give the old file or the new one, and are told") {
    const logs::folder folder;
    const std::string path = folder / "weights";
    const std::string before = "the old ones", after = "the new ones, which are longer";
    for (const char* script : {"I", "III", "SSS", "1I1S", "SISI111", ".I", ".III", "...I", "...N"}) { // these go through in the end
        CAPTURE(script);
        logs::write(path, before);
        scripted_replacement::set(script);
        CHECK(replace_file<scripted_replacement>(path, after));
        CHECK(logs::read(path) == after);
        CHECK(files_in(folder) == 1);
    }
    for (const char* script : {"F", "SF", "1IF", "0", "S0", "E", ".E", ".F", ".IE", ".N", "..E", "..F", "..I"}) { // these fail, nothing has changed
        CAPTURE(script);
        logs::write(path, before);
        scripted_replacement::set(script);
        const auto failed = replace_file<scripted_replacement>(path, after);
        REQUIRE(!failed);
        CHECK(failed.error().code == errc::io);
        CHECK(failed.error().detail.starts_with(path + ": "));
        CHECK(logs::read(path) == before);
        CHECK(files_in(folder) == 1);
    }
    scripted_replacement::set("...E"); // the folder: the new file is there, and not certain to stay
    const auto unsure = replace_file<scripted_replacement>(path, after);
    REQUIRE(!unsure);
    CHECK(unsure.error().detail.find("did not confirm its name") != std::string::npos);
    CHECK(logs::read(path) == after);
    CHECK(files_in(folder) == 1);
}

TEST_CASE("replace_file: what is not committed goes") {
    const logs::folder folder;
    const std::string path = folder / "weights";
    {
        auto file = file_replacement::open(path);
        REQUIRE(file);
        REQUIRE(file->write("half of"));
        CHECK(files_in(folder) == 1);
    }
    CHECK(files_in(folder) == 0);
    auto a = file_replacement::open(path), b = file_replacement::open(path); // two at once: the last commit stands
    REQUIRE((a && b));
    REQUIRE((a->write("abcdef") && b->write("123456") && b->rewind() && b->write("00")));
    REQUIRE((b->commit() && logs::read(path) == "003456" && a->commit()));
    CHECK(logs::read(path) == "abcdef");
    CHECK(files_in(folder) == 1);
}

TEST_CASE("replace_file: places that do not take a file") {
    const logs::folder folder;
    CHECK(replace_file("/nowhere/at/all", "x").error().code == errc::not_found);
    std::filesystem::create_directories(folder.path / "taken" / "inside");
    CHECK(replace_file(folder / "taken", "x").error().code == errc::io);
    const auto nowhere = file_replacement::open(folder / "no/x.json"); // by the path that was given, not that of the part
    REQUIRE(!nowhere);
    CHECK(nowhere.error().detail.starts_with(folder / "no/x.json: "));
    CHECK(nowhere.error().detail.find(".part") == std::string::npos);
    CHECK(files_in(folder) == 1);
    const std::string pipe = folder / "pipe"; // it would not be one any more
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(replace_file(pipe, "x").error().detail == pipe + ": expected a regular file, got a FIFO");
    CHECK(std::filesystem::is_fifo(pipe));
    std::filesystem::remove(pipe);
    CHECK(replace_file(folder / std::string(300, 'n').c_str(), "x").error().code == errc::io);

    const pid_t child = ::fork(); // a real limit on the size of a file
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit most{1000, 1000};
        ::setrlimit(RLIMIT_FSIZE, &most);
        const bool right = replace_file(folder / "small", std::string(1000, 's')) && !replace_file(folder / "small", std::string(1001, 'l'));
        ::_exit(right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(logs::read(folder / "small") == std::string(1000, 's'));
    CHECK(files_in(folder) == 2);
}

TEST_CASE("replace_file: a reader, or a writer that is killed, never leaves half a file") {
    const logs::folder folder;
    const std::string path = folder / "weights";
    const std::string one(20'000, 'a'), other(70'000, 'b');
    REQUIRE(replace_file(path, one));
    for (int round = 0; round < 20; ++round) {
        const pid_t child = ::fork();
        if (child == 0)
            for (bool first = true;; first = !first)
                if (!replace_file(path, first ? other : one)) ::_exit(1);
        for (int look = 0; look < 20; ++look) {
            const std::string seen = logs::read(path);
            REQUIRE((seen == one || seen == other));
        }
        ::usleep(static_cast<unsigned>(137 * round));
        REQUIRE(::kill(child, SIGKILL) == 0);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        const std::string seen = logs::read(path);
        REQUIRE((seen == one || seen == other));
    }
}
