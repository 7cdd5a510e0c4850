// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/record.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <augur/record/log_reader.hpp>
#include <augur/record/log_writer.hpp>

#include "logs.hpp"

using namespace augur;

namespace {

struct two_lines {
    std::string line;
    std::string comment;
};
two_lines split(const std::string& text) {
    const auto newline = text.find('\n');
    return {text.substr(0, newline), text.substr(newline + 1, text.size() - newline - 2)};
}

} // namespace

TEST_CASE("record: the first line is TVM's, the second says the rest exactly") {
    record r = logs::record(1);
    r.measured.seconds = {1.0 / 3, std::nextafter(2e-5, 1), 5e-324};
    r.measured.max_error = std::numeric_limits<double>::infinity();
    r.measured.packing_seconds = 0.1 + 0.2;
    r.measured.run_cpu_seconds = -0.0;
    r.sequence = 41;
    const std::string text = to_text(r);
    CHECK(text.ends_with("\"}\n"));
    const auto [line, comment] = split(text);
    CHECK(comment.starts_with("# {\"augur\": \"record\", \"version\": 1, "));
    CHECK(comment.find("\"length\": " + std::to_string(line.size())) != std::string::npos);
    CHECK(line == R"({"i": [["[\"dense\", [1, 65]]", "llvm -keys=cpu", [8, 64, 64, 0, 0, 0, 0, 0], "", 2, []], [[], [["SP", 2, 0, 512, [8, 2], 1], )"
                  R"(["AN", 2, 0, 3]]]], "r": [[0.333333, 2e-05, 4.94066e-324], 0, 0.1, 1700000001], "v": "v0.6"})");
    const auto again = parse_record(line, comment);
    REQUIRE(again);
    CHECK(to_text(*again) == text);
    CHECK(again->measured.seconds == r.measured.seconds);
    CHECK(again->measured.max_error == r.measured.max_error);
    CHECK(std::signbit(again->measured.run_cpu_seconds));
    CHECK(again->measured.packing_seconds == r.measured.packing_seconds);
    CHECK(again->sequence == 41);
    CHECK(again->machine == r.machine);
    CHECK(again->flags == r.flags);
    CHECK(!again->foreign);
    CHECK(again->schedule == r.schedule);
    CHECK(again->task == r.task);
}

TEST_CASE("record: every outcome comes back, failures cost 1e10 in TVM's line") {
    for (int i = 0; to_string(static_cast<outcome>(i)) != "unknown"; ++i) {
        record r = logs::record(2);
        r.measured.status = static_cast<outcome>(i);
        r.measured.seconds = r.measured.ok() ? std::vector<double>{1e-3} : std::vector<double>{};
        r.measured.reason = "because\n\"of\" \xFF this";
        const auto [line, comment] = split(to_text(r));
        CHECK(line.find(r.measured.ok() ? "\"r\": [[0.001], 0," : "\"r\": [[1e+10], " + std::to_string(ansor_error(r.measured.status)) + ",") !=
              std::string::npos);
        const auto again = parse_record(line, comment);
        REQUIRE(again);
        CHECK(again->measured.status == r.measured.status);
        CHECK(again->measured.reason == "because\n\"of\" \xEF\xBF\xBD this");
        CHECK(again->measured.seconds == r.measured.seconds);
        const auto foreign = parse_ansor_line(line);
        REQUIRE(foreign);
        const auto record = to_record(*foreign);
        CHECK(record.foreign);
        CHECK(record.measured.ok() == r.measured.ok());
        CHECK(ansor_error(record.measured.status) == ansor_error(r.measured.status));
    }
    auto line = parse_ansor_line(R"({"i": [["k", "llvm"], [[], []]], "r": [[1e+10], 0, 1, 5], "v": "v0.6"})");
    REQUIRE(line);
    CHECK(to_record(*line).measured.status == outcome::unstable);
}

TEST_CASE("record: a changed byte in either line is found") {
    const auto [line, comment] = split(to_text(logs::record(4)));
    const auto refused = [&](const std::string& l, const std::string& c) { return !parse_record(l, c); };
    CHECK(!refused(line, comment));
    for (std::size_t i = 0; i < line.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            auto changed = line;
            changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ (1U << bit));
            CHECK(refused(changed, comment));
        }
    for (std::size_t i = 0; i < comment.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            auto changed = comment;
            changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ (1U << bit));
            CHECK(refused(line, changed));
        }
    CHECK(refused(line, split(to_text(logs::record(7))).comment));
    CHECK(refused(line + " ", comment));
    CHECK(refused(line, comment + " "));
}

TEST_CASE("record: the origin of a schedule is in the comment of that record alone") {
    auto r = logs::record(3);
    const auto without = to_text(r);
    CHECK(without.find("origin") == std::string::npos);
    r.origin = "transfer from \"dense\"\n1";
    const auto [line, comment] = split(to_text(r));
    auto read = parse_record(line, comment);
    REQUIRE(read);
    CHECK(read->origin == r.origin);
    CHECK(to_text(*read) == to_text(r));
    const auto [plain_line, plain_comment] = split(without);
    CHECK(line == plain_line);
    CHECK(read_record_comment(plain_line, plain_comment, *read)); // leaves nothing of the record before
    CHECK(read->origin.empty());

    const logs::folder tmp;
    const std::string path = tmp / "log.jsonl";
    {
        auto writer = log_writer::open(path);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(1)));
        REQUIRE(writer->append(r));
    }
    log_read_options strict;
    strict.strict = true;
    auto reader = log_reader::open(path, strict);
    REQUIRE(reader);
    record found;
    REQUIRE(reader->next(found));
    CHECK(found.origin.empty());
    REQUIRE(reader->next(found));
    CHECK(found.origin == r.origin);
}

TEST_CASE("record: a comment of another version is refused as such, not misread") {
    const auto reseal = [](std::string text) { // as a later version would write it
        std::string sealed = text.substr(0, text.size() - 1 - detail::crc_tail - detail::crc_key.size());
        detail::seal(sealed, 0);
        return sealed;
    };
    std::string header = log_header();
    CHECK(check_log_header(header.substr(0, header.size() - 1)));
    std::string other = header;
    other.replace(other.find("\"version\": 1"), 12, "\"version\": 2");
    CHECK(check_log_header(other.substr(0, other.size() - 1)).error().code == errc::parse); // a damaged one
    other = reseal(other);
    CHECK(check_log_header(other.substr(0, other.size() - 1)).error().code == errc::version_mismatch);

    std::string text = to_text(logs::record(1));
    text.replace(text.find(detail::log_schema()), 16, "0123456789abcdef");
    const auto [line, comment] = split(reseal(text));
    const auto read = parse_record(line, comment);
    REQUIRE(!read);
    CHECK(read.error().code == errc::version_mismatch);
}

TEST_CASE("record: a log of version 0.1 knows of the machine the compiler alone, and goes on with records that know it") {
    const logs::folder tmp;
    const std::string path = tmp / "old.jsonl";
    logs::write(path, logs::read(AUGUR_TEST_DIR "/pins/fixtures/log.jsonl"));
    {
        auto writer = log_writer::open(path);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(1)));
    }
    CHECK(logs::read(path).starts_with(logs::read(AUGUR_TEST_DIR "/pins/fixtures/log.jsonl")));
    log_read_options strict;
    strict.strict = true;
    auto reader = log_reader::open(path, strict);
    REQUIRE(reader);
    std::size_t old = 0, known = 0;
    for (record r;;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        known += r.machine == logs::record(1).machine ? 1U : 0U;
        old += r.machine == logs::compiled_by("a compiler 1.0") ? 1U : 0U; // all other fields are unknown
        CHECK_FALSE(r.foreign);
    }
    CHECK(old == 12);
    CHECK(known == 1);

    const std::string cut = logs::read(path).substr(0, 40); // a header that its writer did not finish, of that version too
    logs::write(path, cut);
    auto writer = log_writer::open(path);
    REQUIRE(writer);
    CHECK(writer->bytes_cut() == 40);
    CHECK(logs::read(path) == log_header());
}

TEST_CASE("record: TVM's line does not depend on the machine; a field that is not known is an error that names it") {
    auto known = logs::record(1), unknown = known;
    unknown.machine = {};
    const auto [line, comment] = split(to_text(known));
    const auto [same_line, other_comment] = split(to_text(unknown));
    CHECK(line == same_line);
    CHECK(comment != other_comment);
    const auto read = parse_record(line, other_comment);
    REQUIRE(read);
    CHECK(read->machine == machine_identity{});

    std::string text = to_text(known);
    text.replace(text.find("\"vendor\""), 8, "\"seller\"");
    std::string sealed = text.substr(0, text.size() - 1 - detail::crc_tail - detail::crc_key.size());
    detail::seal(sealed, 0);
    const auto [other_line, later] = split(sealed);
    const auto refused = parse_record(other_line, later);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail.find("'seller' is not known here") != std::string::npos);
}
