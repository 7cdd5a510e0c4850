// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/log_reader.hpp>

#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <augur/core/random_engine.hpp>
#include <augur/record/log_writer.hpp>
#include <doctest/doctest.h>

#include "logs.hpp"

using namespace augur;

namespace {

struct contents {
    std::vector<record> records;
    std::vector<std::string> bad;
    log_summary summary;
    std::string error;
};

void read_all(log_reader& reader, contents& all) {
    for (;;) {
        record record;
        const auto more = reader.next(record);
        if (!more) all.error = more.error().detail;
        if (!more || !*more) break;
        all.records.push_back(record);
    }
    all.summary = reader.summary();
}

contents read_log(const std::string& path, log_read_options options = {}) {
    contents all;
    options.on_bad_line = [&](const bad_line& bad) { all.bad.push_back(bad.text()); };
    auto reader = log_reader::open(path, options);
    if (reader) read_all(*reader, all);
    else all.error = reader.error().detail;
    return all;
}

/// The same of a text of at most 64 KiB, through a pipe: nothing touches a disk.
contents read_text(const std::string& text) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    contents all;
    log_reader reader("pipe", ends[0]);
    read_all(reader, all);
    ::close(ends[0]);
    return all;
}

/// A log of n records as text, and where each of them begins and ends.
struct written_log {
    std::string text = log_header();
    std::vector<std::string> records;
    std::vector<std::size_t> ends;
    explicit written_log(int n) {
        for (int i = 0; i < n; ++i) {
            records.push_back(to_text(logs::record(i)));
            text += records.back();
            ends.push_back(text.size());
        }
    }
};

std::string tvm_line(std::int64_t i) { return to_json(to_ansor_line(logs::record(i))) + "\n"; }

/// Of another version, and whole.
std::string header_of_version_2() {
    std::string later = log_header();
    later.replace(later.find("\"version\": 1"), 12, "\"version\": 2");
    later.resize(later.size() - 1 - augur::detail::crc_tail - augur::detail::crc_key.size());
    augur::detail::seal(later, 0);
    return later;
}

} // namespace

TEST_CASE("log: what was appended is read, over several openings") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    for (int round = 0; round < 3; ++round) {
        auto writer = log_writer::open(path, round == 0 ? durability::each : round == 1 ? durability::batch : durability::none);
        REQUIRE(writer);
        CHECK(writer->next_sequence() == round * 40);
        CHECK(writer->found().records == static_cast<std::size_t>(round * 40));
        for (int i = 0; i < 40; ++i) {
            const auto at = writer->append(logs::record(i));
            REQUIRE(at);
            CHECK(*at == round * 40 + i);
        }
        CHECK(writer->flush());
        CHECK(writer->bytes_cut() == 0);
    }
    const auto all = read_log(path);
    CHECK(all.error.empty());
    CHECK(all.bad.empty());
    CHECK(all.summary.ours);
    CHECK(!all.summary.torn);
    REQUIRE(all.records.size() == 120);
    for (int i = 0; i < 120; ++i) {
        auto expected = logs::record(i % 40);
        expected.sequence = i;
        CHECK(to_text(all.records[static_cast<std::size_t>(i)]) == to_text(expected));
    }
    CHECK(std::distance(std::filesystem::directory_iterator(tmp.path), {}) == 1); // no file beside the log
    CHECK(logs::read(path).starts_with(log_header()));
}

TEST_CASE("log: behind a line beyond the limit that has no newline nothing is lost; a time that is none does not end a log") {
    const logs::folder tmp;
    {
        auto writer = log_writer::open(tmp / "a.log", durability::none);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(0)));
    }
    logs::write(tmp / "a.log", logs::read(tmp / "a.log") + std::string((std::size_t{16} << 20U) + 10, 'x'));
    auto strange = logs::record(2);
    strange.measured.total_seconds = std::numeric_limits<double>::quiet_NaN();
    {
        auto writer = log_writer::open(tmp / "a.log", durability::none);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(1)));
        REQUIRE(writer->append(strange));
    }
    const auto all = read_log(tmp / "a.log");
    CHECK(all.bad.size() == 1);
    REQUIRE(all.records.size() == 3);
    CHECK(std::isnan(all.records[2].measured.total_seconds));
}

TEST_CASE("log: a remark at the end that no newline ends is kept, half of a line of ours is cut off") {
    const logs::folder tmp;
    const auto with_tail = [&](const std::string& tail) {
        logs::write(tmp / "a.log", "");
        const auto append = [&](int i) {
            auto writer = log_writer::open(tmp / "a.log", durability::none);
            REQUIRE(writer);
            REQUIRE(writer->append(logs::record(i)));
        };
        append(0);
        logs::write(tmp / "a.log", logs::read(tmp / "a.log") + tail);
        append(1);
        const auto all = read_log(tmp / "a.log");
        CHECK(all.bad.empty());
        CHECK(!all.summary.torn);
        CHECK(all.records.size() == 2);
        return logs::read(tmp / "a.log").find(tail + '\n') != std::string::npos;
    };
    CHECK(with_tail("# measured with the window open"));
    CHECK(!with_tail("{\"i\": [[\"[\\\"half"));
    CHECK(!with_tail("# {\"augur\": \"reco"));
    CHECK(!with_tail(std::string(100, '\0')));
}

TEST_CASE("log: with the line ends of another system it is the same log") {
    const logs::folder tmp;
    {
        auto writer = log_writer::open(tmp / "a.log", durability::none);
        REQUIRE(writer);
        for (int i = 0; i < 5; ++i) REQUIRE(writer->append(logs::record(i)));
    }
    std::string text;
    for (const char c : logs::read(tmp / "a.log")) (c == '\n' ? text += '\r' : text) += c;
    std::ofstream(tmp / "b.log", std::ios::binary) << text;
    const auto all = read_log(tmp / "b.log");
    CHECK(all.bad.empty());
    CHECK(all.summary.ours);
    REQUIRE(all.records.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) CHECK(to_text(all.records[i]) == to_text(read_log(tmp / "a.log").records[i]));
    auto writer = log_writer::open(tmp / "b.log", durability::none);
    REQUIRE(writer);
    CHECK(writer->next_sequence() == 5);
}

TEST_CASE("log: truncated at every byte it loses the last record at most, and goes on") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    const written_log log(3);
    for (std::size_t size = 0; size <= log.text.size(); ++size) {
        CAPTURE(size);
        logs::write(path, log.text.substr(0, size));
        std::size_t complete = 0;
        // the last newline may be missing: the checksum tells that the record is whole
        while (complete < 3 && log.ends[complete] <= size + 1) ++complete;
        const auto before = read_log(path);
        REQUIRE(before.error.empty());
        REQUIRE(before.records.size() == complete);
        REQUIRE(before.summary.foreign == 0);
        REQUIRE(before.summary.bad == 0);

        auto writer = log_writer::open(path, durability::none);
        REQUIRE(writer);
        const std::size_t end = complete == 0 ? log_header().size() : log.ends[complete - 1];
        if (size > end) REQUIRE(writer->bytes_cut() == size - end);
        REQUIRE(writer->append(logs::record(99)));
        const auto after = read_log(path);
        REQUIRE(after.error.empty());
        REQUIRE(after.bad.empty());
        REQUIRE(after.records.size() == complete + 1);
        for (std::size_t i = 0; i < complete; ++i) REQUIRE(to_text(after.records[i]) == log.records[i]);
        REQUIRE(after.records.back().sequence == static_cast<std::int64_t>(complete));
        auto expected = logs::record(99);
        expected.sequence = static_cast<std::int64_t>(complete);
        REQUIRE(to_text(after.records.back()) == to_text(expected));
    }
}

TEST_CASE("log: any byte changed costs one record, two where it joins lines; a wrong one is never given") {
    const written_log log(4);
    auto rng = augur::random_engine(5);
    std::size_t tried = 0;
    for (std::size_t at = 0; at < log.text.size(); ++at) {
        const auto old = static_cast<unsigned char>(log.text[at]);
        std::set<unsigned char> others = {0, '\n', ' ', '#', '{', '"', '\r', 0xFF, static_cast<unsigned char>(rng.below(256))};
        for (unsigned bit = 0; bit < 8; ++bit) others.insert(static_cast<unsigned char>(old ^ (1U << bit)));
        others.erase(old);
        for (const unsigned char other : others) {
            std::string text = log.text;
            text[at] = static_cast<char>(other);
            const auto all = read_text(text);
            CAPTURE(at);
            CAPTURE(int{other});
            REQUIRE(all.error.empty());
            REQUIRE(all.records.size() >= (old == '\n' ? 2 : 3));
            REQUIRE(all.summary.foreign == 0);
            REQUIRE((all.summary.bad > 0 || all.summary.torn || all.records.size() == 4));
            std::size_t next = 0; // those that are given are among those that were written, in order
            for (const auto& record : all.records) {
                const std::string given = to_text(record);
                while (next < 4 && log.records[next] != given) ++next;
                REQUIRE(next < 4);
                ++next;
            }
            ++tried;
        }
    }
    MESSAGE(tried << " changed logs");
}

TEST_CASE("log: a flipped and then re-opened log keeps what is whole") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    const written_log log(3);
    auto rng = augur::random_engine(6);
    for (int i = 0; i < 500; ++i) {
        std::string text = log.text;
        const auto at = static_cast<std::size_t>(rng.below(text.size()));
        text[at] = static_cast<char>(rng.below(256));
        logs::write(path, text);
        const auto before = read_log(path);
        auto writer = log_writer::open(path, durability::none);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(50)));
        const auto after = read_log(path);
        CAPTURE(at);
        REQUIRE(after.records.size() == before.records.size() + 1);
        std::set<std::int64_t> sequences;
        for (const auto& record : after.records) REQUIRE(sequences.insert(record.sequence).second);
    }
}

TEST_CASE("log: TVM's lines are foreign records, before ours, among them and alone") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    logs::write(path, tvm_line(0) + "# a remark\n\n" + tvm_line(1) + " indented, which TVM skips\n" + tvm_line(2));
    auto all = read_log(path);
    CHECK(all.records.size() == 3);
    CHECK(all.summary.foreign == 3);
    CHECK(all.bad.empty());
    CHECK(!all.summary.ours);
    CHECK(all.records[2].measured.status == outcome::run_crash);

    {
        auto writer = log_writer::open(path, durability::none);
        REQUIRE(writer);
        CHECK(writer->bytes_cut() == 0);
        REQUIRE(writer->append(logs::record(3)));
    }
    logs::write(path, logs::read(path) + tvm_line(4) + to_text(logs::record(5)) + tvm_line(6));
    all = read_log(path);
    REQUIRE(all.records.size() == 6);
    CHECK(all.summary.foreign == 4);
    CHECK(all.records[4].foreign);
    CHECK(!all.records[5].foreign);
    CHECK(all.summary.torn); // the last line without comment, in a log of ours
    CHECK(all.bad.size() == 1);

    logs::write(path, tvm_line(0) + tvm_line(1).substr(0, 100)); // TVM itself was killed
    all = read_log(path);
    CHECK(all.records.size() == 1);
    CHECK(all.summary.torn);
    {
        auto writer = log_writer::open(path, durability::none);
        REQUIRE(writer);
        CHECK(writer->bytes_cut() == 100);
    }
    CHECK(logs::read(path) == tvm_line(0) + log_header());

    std::string unended = tvm_line(0);
    unended.pop_back();
    logs::write(path, unended);
    {
        auto writer = log_writer::open(path, durability::none);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(0)));
    }
    CHECK(logs::read(path) == tvm_line(0) + log_header() + to_text(logs::record(0)));
}

TEST_CASE("log: two logs one after the other are one") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    const written_log log(2);
    logs::write(path, log.text + log.text);
    CHECK(read_log(path).records.size() == 4);
    CHECK(read_log(path).bad.empty());
    logs::write(path, log.text.substr(0, log.text.size() - 300) + "\n" + log.text); // the first was torn
    CHECK(read_log(path).records.size() == 3);
}

TEST_CASE("log: bad lines are told with file, line, column and reason; strict ends at the first") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    std::string broken = tvm_line(1);
    broken.replace(broken.find("\"AN\", 2"), 7, "\"AN\", x");
    logs::write(path, tvm_line(0) + broken + "garbage\n" + std::string(3000, 'x') + "\n" + tvm_line(2));
    log_read_options options;
    options.limits.document = 2000;
    auto all = read_log(path, options);
    CHECK(all.records.size() == 2);
    REQUIRE(all.bad.size() == 3);
    CHECK(all.bad[0] == path + ":2:" + std::to_string(broken.find('x') + 1) + ": expected an integer, got 'x'");
    CHECK(all.bad[1] == path + ":3:1: neither a record nor a comment");
    CHECK(all.bad[2] == path + ":4:1: a line beyond the limit of 2000 bytes");
    options.strict = true;
    all = read_log(path, options);
    REQUIRE(all.bad.size() == 1);
    CHECK(all.error == all.bad[0]);

    logs::write(path, log_header() + to_text(logs::record(0)) + tvm_line(1) + header_of_version_2()); // a record without its comment comes first
    all = read_log(path);
    CHECK(all.bad.size() == 1);
    CHECK(all.error.find("version 2, known is 1") != std::string::npos);
    all = read_log(path, options);
    REQUIRE(all.bad.size() == 1);
    CHECK(all.error == all.bad[0]);

    CHECK(read_log(tmp / "none").error.find("No such file") != std::string::npos);
    CHECK(log_reader::open(tmp / "none").error().code == errc::not_found);
    CHECK(read_log(tmp.path.string()).error.find("got a directory") != std::string::npos);
}

TEST_CASE("log: a line longer than any buffer is passed over in bounded memory") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    logs::write(path, tvm_line(0) + "{" + std::string(1'000'000, '[') + "\n" + tvm_line(1) + std::string(500'000, 'y'));
    log_read_options options;
    options.limits.document = 10'000;
    const auto all = read_log(path, options);
    CHECK(all.records.size() == 2);
    CHECK(all.summary.bad == 2);
}

TEST_CASE("log: a file that is no log is refused and left as it is") {
    const logs::folder tmp;
    const std::string path = tmp / "notes.txt";
    for (const char* text : {"int main() {}\n", "{\"a\": 1}", "{\"a\": 1}\n", "# only remarks\n", "x", "\n\n", "{"}) {
        logs::write(path, text);
        const auto writer = log_writer::open(path);
        REQUIRE(!writer);
        CHECK(writer.error().code == errc::version_mismatch);
        CHECK(logs::read(path) == text);
    }
    CHECK(!log_writer::open(tmp.path.string()));
    CHECK(log_writer::open("/dev/full").error().code == errc::io);
    CHECK(!log_writer::open(tmp / "no/such/folder.log"));

    const std::string later = header_of_version_2() + to_text(logs::record(0));
    logs::write(path, later);
    CHECK(log_writer::open(path).error().code == errc::version_mismatch);
    CHECK(read_log(path).error.find("version 2, known is 1") != std::string::npos);
    CHECK(logs::read(path) == later);
}

TEST_CASE("log: a record that could not be read again is refused before it is written") {
    const logs::folder tmp;
    auto writer = log_writer::open(tmp / "a.log", durability::none);
    REQUIRE(writer);
    const std::string before = logs::read(tmp / "a.log");
    auto long_key = logs::record(0);
    long_key.task.workload_key.assign(2'000'000, 'k');
    CHECK(writer->append(long_key).error().code == errc::invalid_argument);
    auto negative = logs::record(0);
    negative.schedule.steps.emplace_back(compute_inline_step{-1});
    CHECK(!writer->append(negative));
    auto many = logs::record(0);
    many.schedule.steps.assign(max_steps + 1, compute_inline_step{1});
    CHECK(!writer->append(many));
    auto other = logs::record(0); // not UTF-8: it would come back as another task
    other.task.workload_key = "k\xff";
    CHECK(writer->append(other).error().code == errc::invalid_argument);
    CHECK(logs::read(tmp / "a.log") == before);
    CHECK(*writer->append(logs::record(0)) == 0);
}

namespace {

/// What the next calls of the writer meet, one letter each: I interrupted, S only half is taken, 1 one byte is taken, F disk full, 0 nothing is taken,
/// T truncation fails once. When it is used up, calls go through.
struct scripted_calls {
    static inline std::string script;
    static inline std::size_t at = 0;
    static char next() { return at < script.size() ? script[at++] : '.'; }
    static ssize_t write(int fd, const char* from, std::size_t size) {
        switch (next()) {
        case 'I': errno = EINTR; return -1;
        case 'S': return ::write(fd, from, (size + 1) / 2);
        case '1': return ::write(fd, from, 1);
        case 'F': errno = ENOSPC; return -1;
        case '0': return 0;
        default: return ::write(fd, from, size);
        }
    }
    static int truncate(int fd, off_t size) {
        if (at < script.size() && script[at] == 'T') {
            ++at;
            errno = EIO;
            return -1;
        }
        return ::ftruncate(fd, size);
    }
    static int sync(int) {
        if (at < script.size() && script[at] == 'Y') {
            ++at;
            errno = EIO;
            return -1;
        }
        return 0;
    }
};

} // namespace

TEST_CASE("log: interrupted, short and failing writes leave whole records only") {
    const logs::folder tmp;
    for (const char* script : {"I", "IIII", "S", "SSSS", "1I1S", "SISISI111"}) { // these go through in the end
        const std::string path = tmp / "a.log";
        std::filesystem::remove(path);
        scripted_calls::script.clear();
        auto writer = basic_log_writer<scripted_calls>::open(path, durability::each);
        REQUIRE(writer);
        scripted_calls::script = script;
        scripted_calls::at = 0;
        CHECK(writer->append(logs::record(0)));
        CHECK(logs::read(path) == log_header() + to_text(logs::record(0)));
    }
    for (const char* script : {"F", "SF", "1F", "ISF", "SSS0", "0", "SFT", "1FT"}) { // these fail, and nothing stays
        CAPTURE(script);
        const std::string path = tmp / "b.log";
        std::filesystem::remove(path);
        scripted_calls::script.clear();
        auto writer = basic_log_writer<scripted_calls>::open(path, durability::each);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(0)));
        scripted_calls::script = script;
        scripted_calls::at = 0;
        const auto failed = writer->append(logs::record(1));
        REQUIRE(!failed);
        CHECK(failed.error().code == errc::io);
        CHECK(failed.error().detail.find("No space left") != std::string::npos);
        if (std::string_view(script).find('T') == std::string_view::npos) CHECK(logs::read(path) == log_header() + to_text(logs::record(0)));
        CHECK(read_log(path).records.size() == 1);
        REQUIRE(writer->append(logs::record(1))); // there is room again
        CHECK(logs::read(path) == log_header() + to_text(logs::record(0)) + to_text(logs::record(1)));
    }
    const std::string path = tmp / "c.log"; // a disk that does not confirm: told, and the record is there once
    scripted_calls::script.clear();
    auto writer = basic_log_writer<scripted_calls>::open(path, durability::each);
    REQUIRE(writer);
    scripted_calls::script = ".Y";
    scripted_calls::at = 0;
    CHECK(!writer->append(logs::record(0)));
    CHECK(writer->next_sequence() == 1);
    CHECK(read_log(path).records.size() == 1);
    CHECK(!writer->flush()); // the system tells it once, the writer from then on
    CHECK(!writer->append(logs::record(1)));
    CHECK(read_log(path).records.size() == 2);
}

TEST_CASE("log: a long reason is cut between characters, not refused") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    auto writer = log_writer::open(path, durability::none);
    REQUIRE(writer);
    auto r = logs::record(0);
    r.measured.status = outcome::compile_error;
    r.measured.seconds.clear();
    r.measured.reason = "error: ";
    while (r.measured.reason.size() < 3'000'000) r.measured.reason += "\xE2\x82\xAC"; // a character of three bytes
    REQUIRE(writer->append(r));
    const auto read = read_log(path);
    REQUIRE(read.records.size() == 1);
    const auto& reason = read.records[0].measured.reason;
    CHECK(reason.size() <= 65536);
    CHECK(reason.size() > 65532);
    CHECK((reason.size() - 7) % 3 == 0);
    CHECK(r.measured.reason.starts_with(reason));
}

TEST_CASE("log: one that is to be new and holds records is refused and left as it is") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    const std::string tvm = to_text(logs::record(0)).substr(0, to_text(logs::record(0)).find('\n') + 1); // without a comment
    std::ofstream(path, std::ios::binary) << tvm << tvm.substr(0, 40);
    const auto refused = log_writer::open(path, durability::none, true);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK(refused.error().detail.find("holds 1 records") != std::string::npos);
    CHECK(logs::read(path) == tvm + tvm.substr(0, 40));
    CHECK(log_writer::open(path, durability::none));
    CHECK(log_writer::open(tmp / "new.log", durability::none, true));
}

TEST_CASE("log: a real limit on the size of a file") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    const std::size_t room = log_header().size() + 3 * to_text(logs::record(0)).size() + 100;
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit most{room, room};
        ::setrlimit(RLIMIT_FSIZE, &most);
        auto writer = log_writer::open(path, durability::none);
        if (!writer) ::_exit(100);
        int good = 0;
        for (int i = 0; i < 10; ++i)
            if (writer->append(logs::record(0))) ++good;
        ::_exit(good);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    const auto all = read_log(path);
    CHECK(all.records.size() == static_cast<std::size_t>(WEXITSTATUS(status)));
    CHECK(all.records.size() >= 2);
    CHECK(all.bad.empty());
    CHECK(logs::read(path).ends_with("\"}\n"));
}

TEST_CASE("log: a second writer is refused with the id of the first, whatever it calls the file") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        auto writer = log_writer::open(path, durability::none);
        const char byte = writer ? 'y' : 'n';
        if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    REQUIRE(byte == 'y');
    std::filesystem::create_symlink(path, tmp / "link.log");
    const auto second = log_writer::open(path);
    REQUIRE(!second);
    CHECK(second.error().code == errc::busy);
    CHECK(second.error().detail.find("process " + std::to_string(child)) != std::string::npos);
    CHECK(log_writer::open(tmp / "link.log").error().code == errc::busy);
    CHECK(read_log(path).error.empty()); // reading needs no lock
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    ::close(ready[0]);
    ::close(ready[1]);
    CHECK(log_writer::open(path)); // the lock of a dead process does not block
}

TEST_CASE("log: a file beside the log is nobody's but its owner's") {
    const logs::folder tmp;
    const std::string path = tmp / "poetry", other = tmp / "poetry.lock";
    logs::write(other, "# of another program\n");
    {
        auto writer = log_writer::open(path, durability::none);
        REQUIRE(writer);
        REQUIRE(writer->append(logs::record(0)));
        const auto second = log_writer::open(path, durability::none);
        REQUIRE(!second);
        CHECK(second.error().code == errc::busy);
#if defined(__linux__)
        CHECK(second.error().detail.find("process " + std::to_string(::getpid())) != std::string::npos);
#endif
        CHECK(logs::read(other) == "# of another program\n");
    }
    CHECK(logs::read(other) == "# of another program\n");
    logs::write(path, "no log\n");
    CHECK(log_writer::open(path).error().code == errc::version_mismatch);
    CHECK(logs::read(other) == "# of another program\n");
    std::filesystem::remove(other);
    REQUIRE(::mkfifo(other.c_str(), 0600) == 0); // who opens it waits for ever
    std::filesystem::remove(path);
    CHECK(log_writer::open(path));
}

TEST_CASE("log: what is no regular file is refused by name, and does not make anybody wait") {
    const logs::folder tmp;
    const std::string pipe = tmp / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const auto& [path, kind] :
         {std::pair(pipe, "a FIFO"), std::pair(tmp.path.string(), "a directory"), std::pair(std::string("/dev/zero"), "a device")}) {
        const error expected{errc::io, path + ": expected a regular file, got " + kind};
        const auto read = log_reader::open(path);
        REQUIRE(!read);
        CHECK(read.error().code == expected.code);
        CHECK(read.error().detail == expected.detail);
        const auto written = log_writer::open(path);
        REQUIRE(!written);
        CHECK(written.error().code == expected.code);
        CHECK(written.error().detail == expected.detail);
    }
}

TEST_CASE("log: writers killed at any moment lose no record that was appended and double none") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    auto rng = augur::random_engine(9);
    std::int64_t confirmed = 0;
    for (int round = 0; round < 30; ++round) {
        int told[2];
        REQUIRE(::pipe(told) == 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(told[0]);
            auto writer = log_writer::open(path, durability::none);
            if (!writer) ::_exit(1);
            for (int i = 0;; ++i) {
                const auto at = writer->append(logs::record(i));
                if (!at) ::_exit(2);
                if (::write(told[1], &*at, sizeof *at) != sizeof *at) ::_exit(3);
            }
        }
        ::close(told[1]);
        ::usleep(static_cast<useconds_t>(rng.below(8000)));
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        for (std::int64_t at = 0; ::read(told[0], &at, sizeof at) == sizeof at;) confirmed = at + 1;
        ::close(told[0]);
        const auto all = read_log(path);
        REQUIRE(all.summary.bad == 0);
        REQUIRE(static_cast<std::int64_t>(all.records.size()) >= confirmed);
        for (std::size_t i = 0; i < all.records.size(); ++i) REQUIRE(all.records[i].sequence == static_cast<std::int64_t>(i));
    }
    CHECK(confirmed > 0);
    MESSAGE(confirmed << " records confirmed");
}
