// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/ansor_log.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/record/record.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "../search/threads.hpp"
#include "lines.hpp"
#include "same.hpp"

namespace ansor_log_test {

using namespace augur;
using lines::tvm_line;

namespace {

same::outcome compare_text(const std::string& text, const log_read_options& options = {}, std::size_t block = std::size_t{1} << 18U) {
    same::memory_source source{text};
    const same::memory_file file(text);
    return same::compare(source, file.fd, options, block);
}

struct counting_sink {
    std::vector<std::string> steps; ///< distinct, as JSON
    std::string trials;             ///< what was given, as a text
    std::uint32_t tasks = 0;
    std::size_t stop_at = 0;
    std::uint32_t task(const logged_task&) { return tasks++; }
    std::uint32_t step(const step_list& one) {
        const std::string json = to_json(one);
        const auto at = std::find(steps.begin(), steps.end(), json);
        if (at == steps.end()) steps.push_back(json);
        return static_cast<std::uint32_t>(std::find(steps.begin(), steps.end(), json) - steps.begin());
    }
    result<void> add(const record_view& trial) {
        if (stop_at > 0 && --stop_at == 0) return error{errc::limit, "enough"};
        trials += trial.task.workload_key;
        for (const auto n : trial.steps) trials += " " + std::to_string(n);
        for (const double s : trial.measured.seconds) append_number(trials += " ", s);
        trials += '\n';
        return {};
    }
};
static_assert(trial_sink<counting_sink>);

} // namespace

TEST_CASE("ansor_log: every spelling is read, or refused, as the strict reader does") {
    const auto odd = lines::odd_lines();
    std::size_t good = 0;
    for (const auto& line : odd) {
        const auto seen = compare_text(line + "\n" + tvm_line(1) + "\n" + line + "\n");
        CAPTURE(line);
        CHECK(seen.difference.empty());
        good += seen.summary.records == 3 ? 1 : 0;
        CHECK(compare_text(line).difference.empty());            // without a newline: torn?
        for (std::size_t n = 0; n < line.size(); n += 1 + n % 3) // known texts, and the line ends behind one
            CHECK(compare_text(line + "\n" + tvm_line(1) + "\n" + line.substr(0, n) + "\n").difference.empty());
        CHECK(compare_text(log_header() + line).difference.empty());
    }
    CHECK(good > 40);
    CHECK(good < odd.size() - 30);
}

TEST_CASE("ansor_log: logs of chance, damaged, in blocks of any size, read as the strict reader does") {
    auto rng = augur::random_engine(11);
    const auto odd = lines::odd_lines();
    std::size_t records = 0;
    std::size_t bad = 0;
#ifdef AUGUR_TEST_SLOW
    constexpr int rounds = 200'000;
#else
    constexpr int rounds = 5000;
#endif
    for (int i = 0; i < rounds; ++i) {
        const std::string text = lines::random_log(rng, odd);
        log_read_options options;
        options.strict = rng.below(10) == 0;
        if (rng.below(8) == 0) options.limits.document = 100 + rng.below(900);
        if (rng.below(8) == 0) options.limits.string = rng.below(40);
        if (rng.below(8) == 0) options.limits.depth = static_cast<int>(rng.below(9));
        if (rng.below(8) == 0) options.steps = rng.below(4);
        const auto seen = compare_text(text, options, 1 + rng.below(i % 2 == 0 ? 200 : 5000));
        CAPTURE(text);
        REQUIRE(seen.difference.empty());
        records += seen.summary.records;
        bad += seen.summary.bad;
    }
    MESSAGE(records << " records, " << bad << " bad lines");
    CHECK(records > static_cast<std::size_t>(rounds));
    CHECK(bad > static_cast<std::size_t>(rounds));
}

TEST_CASE("ansor_log: with the line ends of another system it is the same log") {
    std::string text;
    for (const char c : log_header() + to_text(logs::record(0)) + to_text(logs::record(1)) + tvm_line(0) + "\n")
        (c == '\n' ? text += '\r' : text) += c;
    const auto seen = compare_text(text);
    CHECK(seen.difference.empty());
    CHECK(seen.summary.ours);
    CHECK(seen.summary.records == 2);
    CHECK(seen.bad == std::vector<std::string>{"log:6:1: the log ends within a record"}); // the line of TVM
}

TEST_CASE("ansor_log: what repeats is shown once") {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += tvm_line(i % 4) + "\n";
    counting_sink sink;
    same::memory_source source{text};
    ansor_log_reader<counting_sink> reader("log", sink);
    REQUIRE(reader.read(source));
    CHECK(reader.summary().records == 1000);
    CHECK(reader.bytes() == text.size());
    CHECK(sink.tasks == 4);
    CHECK(sink.steps.size() == 5);

    sink = {};
    sink.stop_at = 10;
    same::memory_source again{text};
    ansor_log_reader<counting_sink> stopped("log", sink);
    const auto done = stopped.read(again);
    REQUIRE(!done);
    CHECK(done.error().detail == "enough");
    CHECK(stopped.summary().records == 10);
}

TEST_CASE("ansor_log: the steps of a refused line are not shown") {
    const std::string bad = R"({"i": [["k", "llvm"], [[], [["CI", 77]]]], "r": [[0.1], 0, 1, x], "v": "v0.6"})";
    counting_sink sink;
    same::memory_source source{bad};
    const std::string text = bad + "\n" + tvm_line(0) + "\n";
    source.rest = text;
    ansor_log_reader<counting_sink> reader("log", sink);
    REQUIRE(reader.read(source));
    CHECK(reader.summary().bad == 1);
    CHECK(sink.steps.size() == 2);
    CHECK(sink.tasks == 1);
}

TEST_CASE("ansor_log: more distinct steps and tasks than are remembered") {
    std::string text;
    for (int i = 0; i < 5000; ++i)
        text += R"({"i": [["key )" + std::to_string(i) + R"(", "llvm"], [[], [["CI", )" + std::to_string(i) + R"(], ["SP", 1, 1, )" +
                std::to_string(7 * i) + R"(, [1, 2], 1]]]], "r": [[0.1], 0, 1, 2], "v": "v0.6"})" + "\n";
    const auto seen = compare_text(text + text);
    CHECK(seen.difference.empty());
    CHECK(seen.distinct_steps >= 10'000); // shown again only where the cache forgot
    CHECK(seen.distinct_steps < 10'050);
}

TEST_CASE("ansor_log: many files on many threads, as on one; the first that fails is told") {
    const logs::folder tmp;
    std::vector<std::string> paths;
    auto rng = augur::random_engine(3);
    for (int file = 0; file < 12; ++file) {
        std::string text;
        for (int i = 0; i < 300; ++i) text += tvm_line(static_cast<std::int64_t>(rng.below(50))) + "\n";
        if (file % 3 == 1) text += "garbage\n";
        paths.push_back(tmp / ("log" + std::to_string(file)).c_str());
        logs::write(paths.back(), text);
    }
    const auto read = [&](auto executor, const log_read_options& options, std::vector<counting_sink>& sinks) {
        sinks.assign(paths.size(), {});
        return read_ansor_logs(paths, executor, [&](std::size_t i) -> counting_sink& { return sinks[i]; }, options);
    };
    std::vector<counting_sink> one;
    std::vector<counting_sink> four;
    std::vector<std::string> bad;
    log_read_options options;
    options.on_bad_line = [&](const bad_line& line) { bad.push_back(line.text()); };
    const auto serial = read(serial_executor(), options, one);
    const auto parallel = read(toy::threads{4}, options, four);
    REQUIRE(serial);
    REQUIRE(parallel);
    CHECK(bad.size() == 8);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        CHECK((*serial)[i].path == paths[i]);
        CHECK((*serial)[i].summary.records == 300);
        CHECK(same::equal((*serial)[i].summary, (*parallel)[i].summary));
        CHECK(one[i].trials == four[i].trials);
    }
    options.strict = true;
    for (int round = 0; round < 20; ++round) {
        const auto failed = read(toy::threads{4}, options, four);
        REQUIRE(!failed);
        CHECK(failed.error().detail == paths[1] + ":301:1: neither a record nor a comment");
    }
    paths[2] = tmp / "none";
    options.strict = false;
    CHECK(read(toy::threads{4}, options, four).error().code == errc::not_found);
}

#ifdef AUGUR_HAS_ZLIB
TEST_CASE("ansor_log: real logs give what the strict reader gives" MAY_SKIP) {
    const auto files = logs::ansor_files();
    if (files.empty()) SKIP_CASE("no data (AUGUR_DATA)");
    std::size_t records = 0;
    for (const auto& file : files) {
#ifndef AUGUR_TEST_SLOW
        if (std::filesystem::file_size(file) > 100'000) continue;
#endif
        auto source = byte_source::open(file.string());
        REQUIRE(source);
        const logs::unpacked slow(file);
        const auto seen = same::compare(*source, slow.fd());
        CAPTURE(file.string());
        CHECK(seen.difference.empty());
        CHECK(seen.bad.empty());
        records += seen.summary.records;
    }
    MESSAGE(records << " records");
    CHECK(records > 10'000);
}
#endif

} // namespace ansor_log_test
