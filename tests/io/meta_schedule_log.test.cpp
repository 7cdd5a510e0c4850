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
#include "accounts.hpp"

namespace meta_schedule_log_test {

using namespace augur;

namespace {

using accounts::hashes, accounts::meta_schedule_by_reader;

void check_same(const std::string& text, const hashes& workloads = std::nullopt, std::size_t block = accounts::usual_block) {
    CAPTURE(text);
    CHECK(accounts::difference(meta_schedule_by_reader(text, workloads, {}, block), accounts::meta_schedule_by_lines(text, workloads)) == "");
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
    const auto seen = meta_schedule_by_reader(known, two, options);
    CHECK(seen.records.size() == 1);
    REQUIRE(seen.bad.size() == 1);
    CHECK(seen.bad[0].ends_with("more instructions than the limit of 3"));
    std::string text;
    for (int i = 0; i < 100; ++i) text += known;
    CHECK(meta_schedule_by_reader(text, two).records.size() == 200);
    CHECK(meta_schedule_by_reader(text, two).steps < 40);
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

} // namespace meta_schedule_log_test
