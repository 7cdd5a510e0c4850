// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/byte_source.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include <augur/core/random_engine.hpp>
#include <augur/io/ansor_log.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "../record/logs.hpp"

namespace byte_source_test {

using namespace augur;

namespace {

struct contents {
    std::string text, error;
    errc code{};
};
contents unpack(const std::string& path, std::size_t most = 1000) {
    contents all;
    auto source = byte_source::open(path);
    if (!source) return {{}, source.error().detail, source.error().code};
    std::vector<char> block(most);
    for (;;) {
        const auto got = source->read(block.data(), block.size());
        if (!got) {
            all.error = got.error().detail;
            all.code = got.error().code;
            CHECK(!source->read(block.data(), block.size())); // it stays an error
            return all;
        }
        if (*got == 0) {
            CHECK(*source->read(block.data(), block.size()) == 0);
            return all;
        }
        all.text.append(block.data(), *got);
    }
}

/// Text that packs neither well nor badly.
std::string some_text(std::size_t size) {
    auto rng = augur::random_engine(4);
    std::string text;
    while (text.size() < size) text += std::to_string(rng.below(1000)) + (rng.below(20) == 0 ? "\n" : " ");
    return text;
}

/// What the programs gzip and zstd make of a file; empty where the program is not installed.
std::string packed_by(const std::string& program, const std::string& path) {
    if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0) return {};
    const std::string to = path + ".packed";
    REQUIRE(std::system((program + " -c '" + path + "' > '" + to + "' 2>/dev/null").c_str()) == 0);
    return logs::read(to);
}

/// Resident memory in KiB.
long resident() {
    std::ifstream in("/proc/self/statm");
    long total = 0;
    long pages = 0;
    in >> total >> pages;
    return pages * (::sysconf(_SC_PAGESIZE) / 1024);
}

/// Refuses every line, and looks at the memory now and then.
struct watching_sink {
    long first = 0, most = 0;
    std::size_t trials = 0;
    std::uint32_t task(const logged_task&) { return 0; }
    std::uint32_t step(const step_list&) { return 0; }
    result<void> add(const record_view&) {
        if (++trials % 1000 == 0) look();
        return {};
    }
    void look() {
        const long now = resident();
        if (first == 0) first = now;
        most = (std::max)(most, now);
    }
};

} // namespace

TEST_CASE("byte_source: plain files") {
    const logs::folder tmp;
    const std::string path = tmp / "a";
    for (const std::size_t size : {0U, 1U, 3U, 65'535U, 65'536U, 65'537U, 300'000U}) {
        const std::string text = some_text(size).substr(0, size);
        logs::write(path, text);
        CHECK(unpack(path).text == text);
        CHECK(unpack(path, 1'000'000).text == text);
        CHECK(byte_source::open(path)->form() == packing::none);
    }
    CHECK(byte_source::open(tmp / "none").error().code == errc::not_found);
    CHECK(byte_source::open(tmp.path.string()).error().code == errc::io);
    const std::string pipe = tmp / "pipe"; // who opens it waits for ever
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(byte_source::open(pipe).error().detail == pipe + ": expected a regular file, got a FIFO");
}

TEST_CASE("byte_source: packed files, whole, in pieces, cut at every byte and damaged" MAY_SKIP) {
    const logs::folder tmp;
    const std::string path = tmp / "a";
    const std::string text = some_text(20'000);
    logs::write(path, text);
    for (const std::string program : {"gzip", "zstd"}) {
        CAPTURE(program);
        const std::string packed = packed_by(program, path);
        if (packed.empty()) SKIP_CASE("no " << program);
        const std::string to = tmp / "b";
        logs::write(to, packed);
        const bool can =
#ifdef AUGUR_HAS_ZLIB
            program == "gzip" ||
#endif
#ifdef AUGUR_HAS_ZSTD
            program == "zstd" ||
#endif
            false;
        if (!can) {
            const auto refused = unpack(to);
            CHECK(refused.code == errc::unsupported);
            CHECK(refused.error.find("AUGUR_WITH_Z") != std::string::npos);
            continue;
        }
        for (const std::size_t most : {1U, 7U, 4096U, 1'000'000U}) CHECK(unpack(to, most).text == text);
        CHECK(byte_source::open(to)->form() == (program == "gzip" ? packing::gzip : packing::zstd));

        logs::write(to, packed + packed + packed); // three members, one text
        CHECK(unpack(to).text == text + text + text);
        CHECK(unpack(to, text.size()).text == text + text + text);
        if (program == "gzip") {
            logs::write(to, packed + std::string(1000, '\0'));
            CHECK(unpack(to).text == text);
        }
        logs::write(to, packed + "garbage");
        CHECK(unpack(to).text == text);
        CHECK(unpack(to).code == errc::parse);

        for (std::size_t size = 4; size < packed.size(); size += 1 + size / 64) {
            logs::write(to, packed.substr(0, size));
            const auto cut = unpack(to);
            CAPTURE(size);
            REQUIRE(cut.code == errc::parse);
            REQUIRE(cut.error.find("ends too early") != std::string::npos);
            REQUIRE(text.starts_with(cut.text));
        }
        auto rng = augur::random_engine(5);
        for (int i = 0; i < 300; ++i) {
            std::string damaged = packed;
            const auto at = 4 + rng.below(packed.size() - 4);
            damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << rng.below(8)));
            logs::write(to, damaged);
            const auto seen = unpack(to);
            REQUIRE((seen.code == errc::parse || seen.text == text)); // both have checksums; a name or a time may change unseen
        }
    }
}

TEST_CASE("byte_source: what unpacks to a gigabyte stays flat in memory, as one line and as many") {
    const logs::folder tmp;
    for (const std::string program : {"gzip", "zstd"}) {
#ifndef AUGUR_HAS_ZLIB
        if (program == "gzip") continue;
#endif
#ifndef AUGUR_HAS_ZSTD
        if (program == "zstd") continue;
#endif
        if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0) continue;
        const std::string line = to_json(to_ansor_line(logs::record(0)));
        for (const bool many : {false, true}) {
#ifdef AUGUR_TEST_SLOW
            const std::string size = "1G";
#else
            const std::string size = "200M";
#endif
            const std::string path = tmp / "bomb";
            const std::string make = many ? "yes '" + line + "'" : "cat /dev/zero";
            REQUIRE(std::system((make + " 2>/dev/null | head -c " + size + " | " + program + " -1 -c > '" + path + "'").c_str()) == 0);
            log_read_options options;
            watching_sink sink;
            std::size_t bad = 0;
            options.on_bad_line = [&](const bad_line& told) { bad += told.code == errc::limit ? 1 : 0, sink.look(); };
            auto source = byte_source::open(path);
            REQUIRE(source);
            sink.look();
            ansor_log_reader<watching_sink> reader(path, sink, options);
            REQUIRE(reader.read(*source));
            sink.look();
            CAPTURE(program);
            CAPTURE(many);
            CHECK(reader.bytes() >= 200'000'000);
            CHECK(bad == (many ? 0 : 1));
            CHECK(reader.summary().torn == (many && reader.bytes() % (line.size() + 1) != 0)); // head cuts the last line
            CHECK(reader.summary().records == (many ? reader.bytes() / (line.size() + 1) : 0));
            MESSAGE(program << ": " << reader.bytes() << " bytes from " << std::filesystem::file_size(path) << ", memory grew by "
                            << sink.most - sink.first << " KiB");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
            CHECK(sink.most - sink.first < 80'000); // a line may have 16 MiB, and the buffer doubles
#endif
        }
    }
}

#ifdef AUGUR_HAS_ZLIB
TEST_CASE("byte_source: a log whose file breaks off gives what stands before, and says so") {
    const logs::folder tmp;
    std::string text;
    for (int i = 0; i < 2000; ++i) text += to_json(to_ansor_line(logs::record(i))) + "\n";
    logs::write(tmp / "a", text);
    const std::string packed = packed_by("gzip", tmp / "a");
    const std::string path = tmp / "b";
    logs::write(path, packed.substr(0, packed.size() / 2));
    std::vector<std::string> paths{path};
    std::vector<std::string> told;
    watching_sink sink;
    log_read_options options;
    options.on_bad_line = [&](const bad_line& bad) { told.push_back(bad.text()); };
    serial_executor executor;
    const auto sink_of = [&](std::size_t) -> watching_sink& { return sink; };
    const auto read = read_ansor_logs(paths, executor, sink_of, options);
    REQUIRE(read);
    CHECK(sink.trials > 500);
    CHECK(sink.trials < 1500);
    CHECK((*read)[0].summary.records == sink.trials);
    REQUIRE(!told.empty());
    CHECK(told[0].find("damaged gzip: the file ends too early") != std::string::npos);
    options.strict = true;
    CHECK(!read_ansor_logs(paths, executor, sink_of, options));
}
#endif

} // namespace byte_source_test
