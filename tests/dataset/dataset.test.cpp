// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/dataset/dataset.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/dataset/builder.hpp>
#include <augur/record/line_reader.hpp>
#include <augur/record/record.hpp>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "datasets.hpp"

namespace dataset_test {

using namespace datasets;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("dataset: labels as the authors' (vector), and with failures worth nothing") {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/tlp_labels.json");
    const auto vector = nlohmann::json::parse(file);
    const auto build_one = [](const nlohmann::json& costs) {
        dataset_builder builder;
        const auto t = builder.task("k", "llvm", {});
        REQUIRE(t);
        std::int64_t i = 0;
        for (const auto& c : costs) {
            measurement m;
            m.seconds = c.get<std::vector<double>>();
            m.status = m.seconds.front() >= 1e10 ? outcome::run_crash : outcome::ok;
            REQUIRE(builder.add(*t, builder.source("s"), step_list{{annotate_step{i++, 0, {}}}}, m));
        }
        return std::move(builder).finish();
    };
    const auto check = [&](const nlohmann::json& of) {
        const dataset data = build_one(of["costs"]);
        const task_labels faithful = labels(data, 0, label_rule::faithful);
        const auto expected = of["labels"].get<std::vector<double>>();
        CHECK(faithful.min_seconds == of["min_cost"].get<double>());
        REQUIRE(faithful.values.size() == expected.size());
        const task_labels ours = labels(data, 0);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CHECK(std::abs(faithful.values[i] / expected[i] - 1) < 1e-12);
            if (data.status(i) == outcome::ok) CHECK(ours.values[i] == faithful.values[i]);
            else CHECK(ours.values[i] == 0);
        }
        return ours.min_seconds;
    };
    CHECK(check(vector) == vector["min_cost"].get<double>());
    CHECK(check(vector["all_failed"]) == infinity);
}

TEST_CASE("dataset: at most 160 bytes a record") {
    // one step in two hundred distinct, as in the paper and in the logs; 21 steps a record on a CPU, 37 on a GPU
    for (const std::size_t steps : {21UL, 37UL}) {
        augur::random_engine draw(1);
        dataset_builder builder;
        std::vector<primitive_id> ids;
        constexpr std::size_t records = 100'000;
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(records * steps / 200); ++i) {
            ids.clear();
            REQUIRE(intern(builder.primitives(), step_list{{split_step{i, 0, 334'540'800, {8, 4, 2, 1}, true}}}, ids));
        }
        for (std::size_t r = 0; r < records; ++r) {
            const auto t = builder.task("[\"" + std::to_string(r / 1000) + "\"]", "llvm", {});
            ids.resize(steps);
            for (auto& id : ids) id = static_cast<primitive_id>(draw.below(builder.primitives().size()));
            REQUIRE(t);
            REQUIRE(builder.add(*t, builder.source("s"), ids, 1e-3, outcome::ok));
        }
        const dataset data = std::move(builder).finish();
        REQUIRE(data.size() == records);
        MESSAGE(steps << " steps: " << data.report().bytes_a_record() << " bytes a record");
        CHECK(data.report().bytes_a_record() < 18 + 3.5 * static_cast<double>(steps));
    }
}

TEST_CASE("dataset: ids of up to three bytes come back as they were given") {
    using detail::packed_id;
    for (const primitive_id id : {0U, 1U, 255U, 256U, 65'535U, 65'536U, 0xABCDEFU, 0xFFFFFFU}) CHECK(packed_id::pack(id).get() == id);
    dataset_builder builder, other;
    std::vector<primitive_id> ids, taken;
    for (std::int64_t i = 0; i < 70'000; ++i) REQUIRE(intern(builder.primitives(), step_list{{annotate_step{i, 0, {}}}}, ids));
    REQUIRE(intern(other.primitives(), step_list{{annotate_step{69'999, 0, {}}, annotate_step{70'000, 0, {}}}}, taken));
    const auto t = builder.task("k", "llvm", {}), u = other.task("k", "llvm", {});
    REQUIRE((t && u));
    REQUIRE(builder.add(*t, builder.source("s"), ids, 1e-3, outcome::ok));
    REQUIRE(builder.add(*t, 0, std::span(ids).last(64), 1e-3, outcome::ok)); // the longest that takes no allocation, and one more
    REQUIRE(builder.add(*t, 0, std::span(ids).last(65), 1e-3, outcome::ok));
    REQUIRE(other.add(*u, other.source("s"), taken, 1e-3, outcome::ok));
    REQUIRE(builder.merge(std::move(other)));
    const dataset data = std::move(builder).finish();
    REQUIRE(data.size() == 4);
    const auto is = [&](std::size_t r, std::span<const primitive_id> expected) {
        const auto kept = data.schedule(r);
        CHECK(std::equal(kept.begin(), kept.end(), expected.begin(), expected.end()));
    };
    is(0, ids);
    is(1, std::span(ids).last(64));
    is(2, std::span(ids).last(65));
    is(3, std::vector<primitive_id>{69'999, 70'000});
#ifdef AUGUR_TEST_SLOW
    dataset_builder full;
    for (std::int64_t i = 0; i < std::int64_t{1} << 24; ++i) {
        ids.clear();
        REQUIRE(intern(full.primitives(), step_list{{annotate_step{i, 0, {}}}}, ids));
    }
    const auto v = full.task("k", "llvm", {});
    REQUIRE(v);
    CHECK(full.add(*v, full.source("s"), ids, 1e-3, outcome::ok));
    REQUIRE(intern(full.primitives(), step_list{{annotate_step{-1, 0, {}}}}, ids));
    const auto refused = full.add(*v, 0, ids, 1e-3, outcome::ok);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::limit);
#endif
}

TEST_CASE("dataset: real logs" MAY_SKIP) {
    const auto folder = logs::data();
    if (folder.empty()) SKIP_CASE("no data (AUGUR_DATA)");
    std::size_t lines = 2000;
#ifdef AUGUR_TEST_SLOW
    lines = std::numeric_limits<std::size_t>::max();
#endif
    for (const char* name : {"ansor-x86-24core/resnext_50.jsonl.gz", "ansor-gpu/v100_conv.jsonl.gz"}) {
        const logs::unpacked file(folder / name);
        line_reader in(file.fd());
        dataset_builder builder;
        std::vector<step_list> kept;
        std::size_t steps = 0;
        std::string_view line;
        for (std::size_t n = 0; n < lines && in.next(line) == line_reader::status::line; ++n) {
            auto parsed = parse_ansor_line(line);
            if (!parsed) continue;
            const record record = to_record(*std::move(parsed));
            const auto t = builder.task(record.task.workload_key, record.task.target, record.task.hardware);
            REQUIRE(t);
            REQUIRE(builder.add(*t, builder.source(name), record.schedule, record.measured));
            kept.push_back(record.schedule);
            steps += record.schedule.steps.size();
        }
        REQUIRE(!kept.empty());
        const std::size_t distinct = builder.primitives().size();
        const dataset data = std::move(builder).finish({.merge_equal = false});
        MESSAGE(std::string(name) << ": " << data.size() << " records, " << data.tasks() << " tasks, " << steps << " steps, " << distinct
                                  << " distinct, " << data.report().bytes_a_record() << " bytes a record");
#ifdef AUGUR_TEST_SLOW
        CHECK(data.report().bytes_a_record() <= 160);
#endif
        REQUIRE(data.size() + data.report().not_finite + data.report().not_positive == kept.size());
        CHECK(data.report().ids == steps);
        if (data.size() == kept.size() && data.tasks() == 1)
            for (std::size_t r = 0; r < kept.size(); ++r) CHECK(spell(data.visit(r)) == spell(kept[r]));
        std::map<std::string, int> ours, theirs; // whatever the order of the tasks
        for (std::size_t r = 0; r < data.size(); ++r) ++ours[spell(data.visit(r))];
        for (const auto& s : kept) ++theirs[spell(s)];
        CHECK(ours == theirs);
    }
}

} // namespace dataset_test
