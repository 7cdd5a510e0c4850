// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/record_assembler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/record/ansor_line.hpp>
#include <augur/record/record.hpp>
#include <doctest/doctest.h>

#include "logs.hpp"

using namespace augur;

namespace {

/// Writes down what it is asked; `give` fails when `refuse` is set.
struct noting_store {
    std::vector<std::string>* events;
    bool refuse = false;
    record parsed{}, waiting{};
    std::string line{};

    bool parse(std::string_view text, std::size_t number, bad_line& problem) {
        auto read = parse_ansor_line(text, {}, number);
        if (!read) return problem = {{}, number, 7, errc::parse, "no record"}, false;
        parsed = to_record(*std::move(read));
        return true;
    }
    void keep(std::string_view text) {
        waiting = parsed;
        line = text;
    }
    record& pending() { return waiting; }
    std::string_view pending_line() const { return line; }
    void drop() { events->push_back("drop"); }
    result<void> give() {
        events->push_back(waiting.foreign ? "foreign" : "record " + std::to_string(waiting.sequence));
        if (refuse) return error{errc::limit, "enough"};
        return {};
    }
};

struct outcome_of_lines {
    std::vector<std::string> events;
    log_summary summary;
    std::string error;
    std::uint64_t torn_at = 0;
    bool torn_header = false;
};

/// Gives the lines to an assembler; the last one has no newline when it does not end with one.
outcome_of_lines assemble(std::string_view text, bool strict = false, bool refuse = false) {
    outcome_of_lines seen;
    log_read_options options;
    options.strict = strict;
    options.on_bad_line = [&](const bad_line& bad) { seen.events.push_back(bad.text()); };
    detail::record_assembler<noting_store> records("log", options, noting_store{&seen.events, refuse});
    std::size_t number = 0, at = 0;
    while (at < text.size() && !records.failed()) {
        const auto end = std::min(text.find('\n', at), text.size());
        records.accept({text.substr(at, end - at), ++number, end == text.size(), at});
        at = end + 1;
    }
    if (!records.failed()) records.finish(number);
    seen.summary = records.summary();
    seen.error = records.error().detail;
    seen.torn_at = records.torn_at();
    seen.torn_header = records.torn_header();
    return seen;
}

using events = std::vector<std::string>;

const std::string ours = to_text(logs::record(3)); // two lines
const std::string line = ours.substr(0, ours.find('\n') + 1);
const std::string comment = ours.substr(line.size());

} // namespace

TEST_CASE("record_assembler: the next line decides about a record line") {
    CHECK(assemble(ours + ours).events == events{"record 3", "record 3"});
    CHECK(assemble(line + line).events == events{"foreign", "foreign"}); // the second one at the end of the log
    CHECK(assemble(line + log_header()).events == events{"foreign"});
    CHECK(assemble(line + "# a remark\n" + comment).events == events{"record 3"}); // TVM's log: a remark says nothing
    CHECK(assemble(ours + line + "# a remark\n" + ours).events == events{"record 3", "log:3:1: the comment of the record is damaged", "record 3"});
    CHECK(assemble(ours + line + ours).events == events{"record 3", "foreign", "record 3"}); // TVM appended to our log
    CHECK(assemble(comment).events == events{"log:1:1: expected a record line before its comment line"});
    auto damaged = comment;
    damaged[60] = damaged[60] == 'x' ? 'y' : 'x';
    CHECK(assemble(line + damaged + ours).events == events{"drop", "log:2:1: the checksum does not match the record", "record 3"});
    CHECK(assemble("nonsense\n" + ours + "{}\n").events == events{"log:1:1: neither a record nor a comment", "record 3", "log:4:7: no record"});
}

TEST_CASE("record_assembler: a log that ends within a record is torn there") {
    const auto all = assemble(ours + line);
    CHECK(all.events == events{"record 3", "log:3:1: the log ends within a record"});
    CHECK(all.summary.torn);
    CHECK(all.torn_at == ours.size());
    for (std::size_t n = 1; n < ours.size() - 1; ++n) { // also within the comment it is the record that is torn
        const auto cut = assemble(ours + ours.substr(0, n));
        CAPTURE(n);
        CHECK(cut.events == events{"record 3", n > line.size() ? "log:4:1: the log ends within a record" : "log:3:1: the log ends within a record"});
        CHECK(cut.torn_at == ours.size());
        CHECK(!cut.torn_header);
    }
    CHECK(assemble(ours + ours.substr(0, ours.size() - 1)).events == events{"record 3", "record 3"}); // only the newline is missing
    const auto header = assemble(log_header().substr(0, 20));
    CHECK(header.summary.torn);
    CHECK(header.torn_header);
    CHECK(!assemble(line + "# a remark").summary.torn);
}

TEST_CASE("record_assembler: the first error ends the reading") {
    CHECK(assemble("bad\nworse\n" + ours, true).error == "log:1:1: neither a record nor a comment");
    CHECK(assemble(ours + ours, false, true).error == "enough");
    std::string other = log_header();
    other.replace(other.find("1"), 1, "2");
    CHECK(assemble(other + ours).events == events{"log:1:1: the header of the log is damaged", "record 3"});
}
