// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/meta_schedule_log.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/record/meta_schedule_line.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/tlp/vocabulary.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "../record/meta_schedule_lines.hpp"
#include "../search/threads.hpp"
#include "same.hpp"

using namespace augur;

namespace {

/// What a reader says about a log: the records and the bad lines, as texts.
struct account {
    std::vector<std::string> records, bad;
    log_summary summary;
    std::size_t instructions = 0; ///< calls of `step`
};

std::string words(const logged_task& task, const meta_schedule_trace& trace, const measurement& m) {
    std::string text = task.workload_key + " " + task.target + " " + to_json(trace) + " " + std::string(to_string(m.status)) + " " + m.reason;
    for (const double s : m.seconds) append_number_hex(text += " ", s);
    return text;
}

struct sink {
    account seen{};
    std::vector<logged_task> tasks{};
    std::vector<trace_instruction> instructions{};
    std::uint32_t task(const logged_task& t) { return tasks.push_back(t), static_cast<std::uint32_t>(tasks.size() - 1); }
    std::uint32_t step(const meta_schedule_trace& one) {
        CHECK(one.instructions.size() == 1);
        return ++seen.instructions, instructions.push_back(one.instructions.front()), static_cast<std::uint32_t>(instructions.size() - 1);
    }
    result<void> add(const record_view& trial) {
        meta_schedule_trace trace;
        for (const auto n : trial.steps) trace.instructions.push_back(instructions.at(n));
        CHECK(trial.task == tasks.at(trial.task_number));
        seen.records.push_back(words(trial.task, trace, trial.measured));
        return {};
    }
};
static_assert(trial_sink<sink, meta_schedule_trace> && !trial_sink<sink>);

using hashes = std::optional<std::vector<std::string>>;

account by_reader(const std::string& text, const hashes& workloads, log_read_options options = {}, std::size_t block = std::size_t{1} << 18U) {
    sink to;
    options.on_bad_line = [&](const bad_line& line) { to.seen.bad.push_back(line.text()); };
    same::memory_source source{text};
    meta_schedule_log_reader<sink> reader("log", workloads, to, options, block);
    const auto done = reader.read(source);
    CHECK(done);
    to.seen.summary = reader.summary();
    return to.seen;
}

/// The same by `parse_meta_schedule_line`, line by line.
account by_lines(const std::string& text, const hashes& workloads) {
    account seen;
    std::size_t number = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const auto size = std::min(rest.find('\n'), rest.size());
        const bool unended = size == rest.size();
        std::string_view line = rest.substr(0, size);
        rest.remove_prefix(unended ? size : size + 1);
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line.front() == '#') continue;
        const auto parsed = parse_meta_schedule_line(line, {}, number);
        std::string problem;
        if (!parsed) {
            problem = parsed.error().detail; // line:column: reason
        } else if (workloads && static_cast<std::size_t>(parsed->workload) >= workloads->size()) {
            problem = std::to_string(number) + ":" + std::to_string(line.find('[') + 2) + ": expected a workload below " +
                      std::to_string(workloads->size()) + ", got " + std::to_string(parsed->workload);
        } else {
            const auto workload = workloads ? (*workloads)[static_cast<std::size_t>(parsed->workload)] : "log#" + std::to_string(parsed->workload);
            seen.records.push_back(words(meta_schedule_task(*parsed, workload), parsed->trace, meta_schedule_measurement(*parsed)));
            continue;
        }
        const auto reason = problem.find(": ") + 2;
        seen.bad.push_back("log:" + problem.substr(0, reason) + (unended ? "the log ends within a record: " : "") + problem.substr(reason));
    }
    return seen;
}

void check_same(const std::string& text, const hashes& workloads = std::nullopt, std::size_t block = std::size_t{1} << 18U) {
    CAPTURE(text);
    const account fast = by_reader(text, workloads, {}, block), slow = by_lines(text, workloads);
    CHECK(fast.records == slow.records);
    CHECK(fast.bad == slow.bad);
    CHECK(fast.summary.records == slow.records.size());
    CHECK(fast.summary.bad + (fast.summary.torn ? 1 : 0) == slow.bad.size());
}

std::vector<std::string> all_lines() {
    std::vector<std::string> lines = meta_schedule_lines::usual();
    const auto odd = meta_schedule_lines::odd();
    lines.insert(lines.end(), odd.begin(), odd.end());
    return lines;
}

const hashes two{{"6909843517902726160", "15095101507213612640"}};
const std::string known = meta_schedule_lines::usual()[0] + "\n" + meta_schedule_lines::usual()[1] + "\n";

} // namespace

TEST_CASE("meta_schedule_log: every spelling is read, or refused, as by parse_meta_schedule_line") {
    for (const auto& line : all_lines())
        for (const auto& workloads : {hashes(), two}) {
            check_same(line, workloads);
            check_same(known + line + "\r\n" + known + line + "\n# remark\n\n", workloads);
        }
}

TEST_CASE("meta_schedule_log: every line cut at every byte, and with every byte changed, is read or refused with its place") {
    for (const auto& line : meta_schedule_lines::usual())
        for (std::size_t n = 0; n < line.size(); ++n) {
            check_same(known + line.substr(0, n), two);
            check_same(line + "\n" + line.substr(0, n) + "\n" + line + "\n");
            std::string changed = line;
            changed[n] = static_cast<char>(static_cast<unsigned char>(changed[n]) ^ (1U << (n % 8)));
            check_same(line + "\n" + changed + "\n" + line + "\n", two);
        }
}

TEST_CASE("meta_schedule_log: logs of chance in blocks of any size") {
    auto rng = random_engine(2);
    const auto lines = all_lines();
    for (int round = 0; round < 500; ++round) {
        std::string text;
        for (auto n = rng.below(12); n > 0; --n) text += lines[rng.below(rng.below(2) == 0 ? 6 : lines.size())] + "\n";
        if (!text.empty() && rng.below(3) == 0) text.resize(rng.below(text.size()));
        check_same(text, rng.below(2) == 0 ? two : hashes(), 1 + rng.below(2000));
    }
}

TEST_CASE("meta_schedule_log: limits; what repeats is parsed once") {
    log_read_options options;
    options.steps = 3;
    const auto seen = by_reader(known, two, options);
    CHECK(seen.records.size() == 1);
    REQUIRE(seen.bad.size() == 1);
    CHECK(seen.bad[0].ends_with("more instructions than the limit of 3"));
    std::string text;
    for (int i = 0; i < 100; ++i) text += known;
    CHECK(by_reader(text, two).records.size() == 200);
    CHECK(by_reader(text, two).instructions < 40);
}

TEST_CASE("meta_schedule_log: databases in folders, with their workloads, on any number of threads") {
    const logs::folder tmp;
    std::vector<meta_schedule_files> databases;
    const auto lines = meta_schedule_lines::usual();
    auto rng = random_engine(3);
    for (int d = 0; d < 4; ++d) {
        const std::string folder = tmp / ("net" + std::to_string(d)).c_str();
        std::filesystem::create_directory(folder);
        databases.push_back(meta_schedule_files::in_folder(folder));
        std::string text;
        for (int i = 0; i < 200; ++i) text += lines[rng.below(lines.size())] + "\n";
        logs::write(databases.back().records, text + "garbage\n");
        logs::write(databases.back().workloads, R"(["6909843517902726160","bW9kdWxl"])"
                                                "\n"
                                                R"(["15095101507213612640","bW9kdWxl"])"
                                                "\n"
                                                R"(["1","x"])"
                                                "\n");
    }
    const auto read = [&](auto executor) {
        dataset_builder builder;
        const auto reports = read_meta_schedule_logs(databases, executor, builder);
        REQUIRE(reports);
        for (const auto& report : *reports) CHECK((report.summary.records == 200 && report.summary.bad == 1));
        return std::move(builder).finish({.merge_equal = false});
    };
    const dataset one = read(serial_executor()), four = read(toy::threads{4});
    REQUIRE(one.size() == 800);
    REQUIRE(four.size() == 800);
    CHECK(one.source(2) == "net2");
    CHECK(one.tasks() == 4); // the same in each database: three workloads, one of them with two targets
    for (std::size_t r = 0; r < one.size(); ++r) {
        CHECK(hash_schedule(one.visit(r)) == hash_schedule(four.visit(r)));
        CHECK(one.status(r) == four.status(r));
    }
    tlp::vocabulary_builder counts;
    for (std::size_t r = 0; r < one.size(); ++r) counts.see(one.visit(r));
    CHECK(counts.schema());

    logs::write(databases[2].workloads, "[\"1\",\"x\"]\n[\"2\"]\n[\"3\",\"x\"]\n");
    dataset_builder builder;
    serial_executor executor;
    const auto damaged = read_meta_schedule_logs(databases, executor, builder);
    REQUIRE(!damaged);
    CHECK(damaged.error().detail == databases[2].workloads + ":2:2: missing: module");
    databases[2].workloads = tmp / "none";
    CHECK(read_meta_schedule_logs(databases, executor, builder).error().code == errc::not_found);
}

#ifdef AUGUR_HAS_ZLIB
TEST_CASE("meta_schedule_log: real databases" MAY_SKIP) {
    const auto folder = logs::data() / "meta-schedule";
    if (logs::data().empty() || !std::filesystem::is_directory(folder)) SKIP_CASE("no data (AUGUR_DATA)");
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().string().ends_with("database_tuning_record.json.gz")) paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    CHECK(paths.size() == 25);
    std::size_t records = 0, failed = 0, with_workloads = 0;
    for (const auto& path : paths) {
        CAPTURE(path);
        const logs::unpacked unpacked(path);
        std::string all;
        char* text = nullptr;
        std::size_t room = 0;
        for (ssize_t size = ::getline(&text, &room, unpacked.pipe); size > 0; size = ::getline(&text, &room, unpacked.pipe)) {
            const std::string_view whole(text, static_cast<std::size_t>(size));
            all += whole;
            const auto line = parse_meta_schedule_line(whole.substr(0, whole.size() - 1));
            REQUIRE(line);
            CHECK(to_json(*line) == whole.substr(0, whole.size() - 1));
        }
        std::free(text);
        check_same(all);

        // the workload file of a database has the next number in its name
        std::string workloads;
        const auto number = std::atoi(std::filesystem::path(path).filename().c_str());
        for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
            if (number > 0 && std::atoi(entry.path().filename().c_str()) == number + 1 &&
                entry.path().string().ends_with("database_workload.json.gz"))
                workloads = entry.path().string();
        with_workloads += workloads.empty() ? 0 : 1;
        dataset_builder builder;
        serial_executor executor;
        const std::vector<meta_schedule_files> database{{path, workloads}};
        const auto reports = read_meta_schedule_logs(database, executor, builder);
        REQUIRE(reports);
        CHECK((*reports)[0].summary.bad == 0);
        const dataset data = std::move(builder).finish({.merge_equal = false});
        CHECK(data.size() == (*reports)[0].summary.records);
        records += data.size();
        failed += data.report().failed;
    }
    CHECK(records == 207 + 143 + 177 + 60 + 292);
    CHECK(failed == 64);
    CHECK(with_workloads == 19);
}
#endif
