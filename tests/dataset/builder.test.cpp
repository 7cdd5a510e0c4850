// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/dataset/builder.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/dataset/add_trials.hpp>
#include <augur/record/log_writer.hpp>
#include <augur/record/logged_schedule.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/tune/trial_log.hpp>
#include <doctest/doctest.h>

#include "../record/logs.hpp"
#include "datasets.hpp"

namespace builder_test {
namespace {

struct plan { // a schedule of another compiler
    std::int64_t rows = 1;
    double share = 0;
};
struct plan_task {
    std::string name;
    [[nodiscard]] std::string_view key() const { return name; }
    [[nodiscard]] static std::string_view target() { return "my cpu"; }
};
struct hardware_task : plan_task {
    [[nodiscard]] augur::logged_task logged() const {
        augur::logged_task out;
        out.workload_key = "[\"" + name + "\"]";
        out.target = "llvm";
        out.hardware = {8, 64, 64, 0, 0, 0, 0, 0};
        return out;
    }
};

} // namespace

} // namespace builder_test

template <>
struct augur::schedule_traits<builder_test::plan> {
    static void visit(const builder_test::plan& p, auto& sink) {
        sink.primitive("tile");
        sink.name("i");
        sink.number(p.rows);
        sink.primitive("share");
        sink.number(p.share);
    }
    template <class Task>
    static result<builder_test::plan> rebuild(const Task&, std::span<const schedule_item> items) {
        if (items.size() != 5) return error{errc::illegal_schedule, "expected tile, i, rows, share, number"};
        return builder_test::plan{items[2].integer, items[4].real};
    }
};

namespace builder_test {

using namespace datasets;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The same, done simply: texts instead of ids, maps instead of indices.
struct twin_record {
    std::string schedule;
    double seconds;
    outcome status;
};
struct twin_task {
    std::string key, target;
    std::array<std::int64_t, 8> hardware;
    std::set<std::string> sources;
    std::vector<twin_record> records;
};
std::vector<twin_task> twin(const std::vector<made_up>& all, const dataset_options& options) {
    std::vector<twin_task> tasks;
    for (const auto& m : all) {
        auto at = std::find_if(tasks.begin(), tasks.end(),
                               [&](const auto& t) { return t.key == m.key && t.target == m.target && t.hardware == m.hardware; });
        if (at == tasks.end()) at = tasks.insert(at, {m.key, m.target, m.hardware, {}, {}});
        at->sources.insert(m.source);
        if (m.measured.status == outcome::unstable) continue; // refused
        double seconds = infinity;
        if (m.measured.ok()) {
            seconds = 0;
            for (const double s : m.measured.seconds) seconds += s / static_cast<double>(m.measured.seconds.size());
        }
        const std::string text = spell(m.schedule);
        const auto equal = std::find_if(at->records.begin(), at->records.end(), [&](const auto& r) { return r.schedule == text; });
        if (!options.merge_equal || equal == at->records.end()) at->records.push_back({text, seconds, m.measured.status});
        else if (seconds < equal->seconds) equal->seconds = seconds, equal->status = m.measured.status;
    }
    for (auto& t : tasks)
        if (!options.failures) std::erase_if(t.records, [](const auto& r) { return r.status != outcome::ok; });
    std::erase_if(tasks, [](const auto& t) { return t.records.empty(); });
    return tasks;
}

} // namespace

TEST_CASE("dataset_builder: a twin of texts and maps holds the same") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const dataset_options options{.merge_equal = seed % 2 == 0, .failures = seed % 3 != 0};
        const auto all = make(900, 1 + seed * 3, seed);
        const dataset data = build(all, options);
        const auto expected = twin(all, options);
        REQUIRE(data.tasks() == expected.size());
        std::uint64_t at = 0, failed = 0;
        for (std::size_t t = 0; t < expected.size(); ++t) {
            const dataset_task task = data.task(t);
            CHECK(task.key == expected[t].key);
            CHECK(task.target == expected[t].target);
            CHECK(task.hardware == expected[t].hardware);
            std::set<std::string> sources;
            for (const auto s : task.sources) sources.emplace(data.source(s));
            CHECK(sources == expected[t].sources);
            CHECK(std::is_sorted(task.sources.begin(), task.sources.end()));
            REQUIRE(task.first == at);
            REQUIRE(task.last - task.first == expected[t].records.size());
            for (const auto& r : expected[t].records) {
                CHECK(spell(data.visit(at)) == r.schedule);
                CHECK(data.status(at) == r.status);
                CHECK((data.seconds(at) == r.seconds || std::abs(data.seconds(at) / r.seconds - 1) < 1e-14));
                failed += r.status == outcome::ok ? 0U : 1U;
                ++at;
            }
        }
        REQUIRE(data.size() == at);
        const dataset_report& report = data.report();
        CHECK(report.added + report.not_finite == all.size());
        CHECK(report.records == at);
        CHECK(report.failed == failed);
        CHECK(report.merged + report.dropped + report.records == report.added);
        CHECK((report.merged == 0) == !options.merge_equal);
        CHECK((report.dropped == 0) == options.failures);
        CHECK(report.primitives == data.primitives().size());
    }
}

TEST_CASE("dataset_builder: builders that are merged in order hold what one would, ids and all") {
    const auto all = make(2000, 17, 5);
    const std::string one = spell(build(all));
    for (const std::size_t parts : {2UL, 3UL, 7UL, 50UL}) {
        std::vector<dataset_builder> builders(parts);
        for (std::size_t i = 0; i < all.size(); ++i) add(builders[i * parts / all.size()], all[i]);
        dataset_builder whole;
        for (auto& b : builders) REQUIRE(whole.merge(std::move(b)));
        const dataset data = std::move(whole).finish();
        CHECK(spell(data) == one);
        CHECK(data.report().added + data.report().not_finite == all.size());
    }
}

TEST_CASE("dataset_builder: a latency that is none is set aside and counted; a failure is kept, whatever its latency") {
    dataset_builder builder;
    const auto t = builder.task("k", "llvm", {});
    const auto s = builder.source("net");
    REQUIRE(t);
    const primitive_id none[1] = {};
    for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0, -1.0})
        CHECK(builder.add(*t, s, std::span(none, 0), bad, outcome::ok));
    CHECK(builder.add(*t, s, std::span(none, 0), 1e-3, outcome::run_crash));
    CHECK(builder.add(*t, s, step_list{}, measurement{.status = outcome::ok, .seconds = {}, .reason = {}})); // ok, without a time
    // one repeat that is none spoils the mean
    CHECK(builder.add(*t, s, step_list{}, measurement{.status = outcome::ok, .seconds = {3e-3, -1e-3}, .reason = {}}));
    CHECK(builder.add(*t, s, step_list{}, measurement{.status = outcome::ok, .seconds = {0, 4e-3}, .reason = {}}));
    CHECK(builder.add(*t, s, step_list{}, measurement{.status = outcome::ok, .seconds = {4e-3, infinity}, .reason = {}}));
    CHECK(
        builder.add(*t, s, step_list{}, measurement{.status = outcome::unstable, .seconds = {1e10}, .reason = {}})); // as TVM writes what has no time
    CHECK(builder.add(*t, s, step_list{}, measurement{.status = outcome::unstable, .seconds = {0}, .reason = {}}));
    const auto empty = builder.task("nothing of it is kept", "llvm", {});
    REQUIRE(empty);
    CHECK(builder.add(*empty, s, std::span(none, 0), 0.0, outcome::ok));
    const dataset data = std::move(builder).finish();
    CHECK(data.report().not_finite == 6);
    CHECK(data.report().not_positive == 7);
    CHECK(data.tasks() == 1);
    REQUIRE(data.size() == 1);
    CHECK(data.seconds(0) == infinity);
    CHECK(data.status(0) == outcome::run_crash);
    CHECK(data.schedule(0).empty());
}

TEST_CASE("dataset_builder: a schedule is limited, and the builder goes on") {
    dataset_builder builder;
    const auto t = builder.task("k", "llvm", {});
    REQUIRE(t);
    const std::vector<primitive_id> longest(detail::id_list::longest + 1);
    const auto refused = builder.add(*t, builder.source("s"), longest, 1, outcome::ok);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::limit);
    CHECK(refused.error().detail.find("1048576") != std::string::npos);
    CHECK(builder.add(*t, 0, std::span(longest).first(detail::id_list::longest), 1, outcome::ok));
    CHECK(std::move(builder).finish().size() == 1);
}

TEST_CASE("dataset_builder: long schedules cross no border, and gaps are closed without harm") {
    augur::random_engine draw(3);
    dataset_builder builder;
    std::vector<std::vector<primitive_id>> expected;
    std::vector<primitive_id> ids;
    for (std::int64_t i = 0; i < 500; ++i) {
        std::vector<primitive_id> one;
        REQUIRE(intern(builder.primitives(), step_list{{annotate_step{i, 0, {}}}}, one));
    }
    const auto t = builder.task("k", "llvm", {});
    REQUIRE(t);
    for (int n = 0; n < 60; ++n) {
        ids.resize(draw.below(3) == 0 ? draw.below(200'000) : draw.below(3));
        for (auto& id : ids) id = static_cast<primitive_id>(draw.below(500));
        const bool ok = draw.below(2) == 0;
        REQUIRE(builder.add(*t, builder.source("s"), ids, 1e-3, ok ? outcome::ok : outcome::compile_error));
        if (ok) expected.push_back(ids);
    }
    const dataset data = std::move(builder).finish({.merge_equal = false, .failures = false});
    REQUIRE(data.size() == expected.size());
    for (std::size_t r = 0; r < expected.size(); ++r) {
        const auto kept = data.schedule(r);
        CHECK(std::equal(expected[r].begin(), expected[r].end(), kept.begin(), kept.end()));
    }
}

TEST_CASE("dataset_builder: the cap draws at random, by task and seed, not by what else is there") {
    const auto all = make(3000, 9, 1, 12);
    const dataset full = build(all);
    const auto drawn = [&](const std::vector<made_up>& records, std::uint64_t seed) {
        std::map<std::string, std::vector<std::string>> by_key;
        const dataset data = build(records, {.cap = 40, .seed = seed});
        for (std::size_t t = 0; t < data.tasks(); ++t) {
            const auto task = data.task(t);
            CHECK(task.last - task.first == 40);
            for (auto r = task.first; r < task.last; ++r) by_key[std::string(task.key)].push_back(spell(data.visit(r)));
        }
        CHECK(data.report().capped + data.report().records == full.report().records);
        return by_key;
    };
    const auto once = drawn(all, 7);
    CHECK(drawn(all, 7) == once);
    CHECK(drawn(all, 8) != once);
    std::vector<made_up> sorted = all;              // the tasks in another order
    for (std::size_t i = 1; i < sorted.size(); ++i) // stable; the standard one warns of its own buffer with clang
        for (std::size_t k = i; k > 0 && sorted[k].key > sorted[k - 1].key; --k) std::swap(sorted[k], sorted[k - 1]);
    CHECK(drawn(sorted, 7) == once);
    // every record has the same chance: mean place of those drawn, beside the middle
    double sum = 0;
    int n = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        dataset_builder builder;
        const auto t = builder.task("k", "llvm", {});
        REQUIRE(t);
        for (int i = 0; i < 100; ++i) REQUIRE(builder.add(*t, builder.source("s"), {}, i + 1, outcome::ok));
        const dataset data = std::move(builder).finish({.merge_equal = false, .cap = 10, .seed = seed});
        for (std::size_t r = 0; r < data.size(); ++r, ++n) sum += data.seconds(r);
    }
    CHECK(n == 2000);
    CHECK(std::abs(sum / n - 50.5) < 4 * 28.9 / std::sqrt(2000.0));
}

TEST_CASE_TEMPLATE("dataset_builder: a log of another compiler's schedules gives the data set that the schedules give", Task, plan_task,
                   hardware_task) {
    const logs::folder tmp;
    std::vector<Task> tasks(3);
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].name = "task " + std::to_string(i);
    const toolchain made_with(logs::compiled_by("mycc"), "-O3");
    dataset_builder direct, read, on_machine;
    {
        auto writer = log_writer::open(tmp / "a.log", durability::none);
        REQUIRE(writer);
        log_sink sink(*writer, made_with);
        random_engine rng(3);
        for (int i = 0; i < 200; ++i) {
            const Task& t = tasks[rng.below(tasks.size())];
            const plan p{static_cast<std::int64_t>(1 + rng.below(20)), rng.uniform(0, 1) < 0.5 ? 0.1 : 0.7};
            measurement m;
            m.status = rng.below(5) == 0 ? outcome::run_crash : outcome::ok;
            if (m.ok()) m.seconds = {rng.uniform(1e-5, 1e-3), rng.uniform(1e-5, 1e-3)};
            REQUIRE(sink(t, p, m));
            if (t.name == "task 2") continue; // not asked for below
            result<std::uint32_t> number = error{errc::not_found, {}};
            if constexpr (std::same_as<Task, hardware_task>) number = direct.task("[\"" + t.name + "\"]", "llvm", {8, 64, 64, 0, 0, 0, 0, 0});
            else number = direct.task(t.name, "my cpu", {});
            REQUIRE(number);
            REQUIRE(direct.add(*number, direct.source("my log"), p, m));
        }
    }
    const auto found = read_trials<plan>(tmp / "a.log", tasks, made_with);
    REQUIRE(found);
    REQUIRE(found->trials.size() == 200);
    const std::vector<Task> wanted(tasks.begin(), tasks.begin() + 2);
    const auto added = add_trials(read, read.source("my log"), wanted, found->trials);
    REQUIRE(added);
    CHECK(*added > 100);
    CHECK(*added < 200);
    REQUIRE(add_trials(on_machine, on_machine.source("my log"), wanted, found->trials, made_with.machine));
    const dataset expected = std::move(direct).finish(), data = std::move(read).finish(), placed = std::move(on_machine).finish();
    REQUIRE(expected.tasks() == 2);
    CHECK(spell(data) == spell(expected));
    REQUIRE(placed.tasks() == 2);
    CHECK(placed.task(0).machine == to_text(made_with.machine));
    CHECK(placed.size() == expected.size());
}

TEST_CASE("dataset_builder: the log form of another compiler's schedule is no schedule of Ansor's") {
    dataset_builder builder;
    const auto task = builder.task("k", "llvm", {});
    REQUIRE(task);
    measurement m;
    m.status = outcome::ok;
    m.seconds = {1e-3};
    const auto refused = builder.add(*task, builder.source("log"), to_logged(plan{4, 0.5}), m);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK(refused.error().detail.find("\".tile\"") != std::string::npos);
    step_list ansor; // a mark of TLM among Ansor's steps stays
    ansor.steps = {split_step{2, 0, 512, {8}, true}, foreign_step{"PPT", "[\"PPT\"]"}};
    CHECK(builder.add(*task, builder.source("log"), ansor, m));
    CHECK(std::move(builder).finish().size() == 1);
}

} // namespace builder_test
