// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/tuner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/search/evolutionary.hpp>
#include <augur/search/in_turn.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>
#include <augur/tune/replay_runner.hpp>

#include "../search/threads.hpp"
#include "../space/toy.hpp"

namespace tuner_test {

using augur::measurement;
using augur::outcome;
using toy::schedule;
using toy::task;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

using record = augur::logged_trial<schedule>;

// Latency in seconds: a bowl with a rough bottom, another one for each task; one candidate in 16 fails.
double latency(const task& t, const schedule& s) {
    std::uint64_t h = augur::fnv1a64(t.name);
    double sum = 1;
    for (std::size_t i = 0; i < s.numbers.size(); ++i) {
        h = augur::mix64(h ^ static_cast<std::uint64_t>(s.numbers[i]));
        const double d = static_cast<double>(s.numbers[i]) - static_cast<double>((3 * i + t.name.size()) % 16);
        sum += d * d / 32;
    }
    return 1e-3 * (sum + static_cast<double>(h % 100) / 500);
}
measurement measure_toy(const task& t, const schedule& s) {
    measurement m;
    if (augur::hash_schedule(s) % 16 == 0) {
        m.status = outcome::run_crash;
        m.reason = "signal 11";
    } else {
        m.status = outcome::ok;
        m.seconds = {latency(t, s)};
    }
    return m;
}

// Learns the mean log latency of each value at each place.
struct table_model {
    static constexpr augur::score_meaning meaning = augur::score_meaning::negative_log_latency;
    std::map<std::array<std::int64_t, 2>, std::array<double, 2>> table;
    std::size_t updates = 0;
    std::vector<std::size_t> sizes;

    augur::result<void> score(const task&, std::span<const schedule> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < batch[i].numbers.size(); ++k) {
                const auto at = table.find({static_cast<std::int64_t>(k), batch[i].numbers[k]});
                if (at != table.end()) sum -= at->second[0] / at->second[1];
            }
            scores[i] = static_cast<float>(sum);
        }
        return {};
    }
    augur::result<void> update(std::span<const augur::observation<schedule, task>> records) {
        ++updates;
        sizes.push_back(records.size());
        table.clear();
        for (const auto& r : records) {
            const double y = r.outcome->ok() ? std::log(r.outcome->latency()) + 7 : 3;
            for (std::size_t k = 0; k < r.schedule->numbers.size(); ++k) {
                auto& cell = table[{static_cast<std::int64_t>(k), r.schedule->numbers[k]}];
                cell[0] += y;
                cell[1] += 1;
            }
        }
        return {};
    }
};

augur::evolutionary_options small() {
    augur::evolutionary_options o;
    o.population = 64;
    o.generations = 2;
    return o;
}

// So many trials of all tasks together.
augur::tuning_options budget(std::size_t trials, std::size_t round = 8, std::size_t tasks = 2) {
    augur::tuning_options o;
    o.trials = trials / tasks;
    o.round = round;
    o.batch = 3;
    o.seed = 42;
    return o;
}

struct log_sink { // the log, in memory
    std::vector<record> records;
    augur::result<void> operator()(const task& t, const schedule& s, const measurement& m) {
        records.push_back({augur::task_identity(t), s, m});
        return {};
    }
};

std::vector<task> two_tasks() { return {{"conv", 3}, {"dense", 1}}; }

// One run over grids with a fresh model and fresh strategies.
struct outcome_of_run {
    augur::tuning_summary summary;
    std::vector<record> written;
    std::vector<std::pair<std::size_t, schedule>> trials;
    std::vector<std::size_t> model_sizes;
    augur::resume_report report;
};
template <class E = augur::serial_executor, class Runner>
outcome_of_run run(Runner& runner, const augur::tuning_options& options, std::vector<record> records = {}, E* executor = nullptr,
                   std::size_t stop_after = 1000000, toy::grid space = {}) {
    const auto tasks = two_tasks();
    const std::vector<toy::grid> spaces(2, space);
    std::vector<augur::evolutionary<E>> strategies;
    for (int i = 0; i < 2; ++i) {
        if (executor != nullptr) strategies.emplace_back(small(), *executor);
        else strategies.emplace_back(small());
    }
    table_model model;
    using tuner_type = augur::tuner<task, toy::grid, augur::evolutionary<E>, table_model, E>;
    auto go = [&](tuner_type& t) {
        outcome_of_run out;
        out.report = t.resume(std::move(records));
        log_sink sink;
        auto summary = t.run(runner, {.sink = std::ref(sink), .stop = [&] { return sink.records.size() >= stop_after; }});
        REQUIRE(summary);
        out.summary = *summary;
        out.written = std::move(sink.records);
        for (const auto& x : t.trials()) out.trials.emplace_back(x.task, x.schedule);
        out.model_sizes = model.sizes;
        return out;
    };
    if (executor != nullptr) {
        tuner_type t(tasks, spaces, strategies, model, *executor, options);
        return go(t);
    }
    tuner_type t(tasks, spaces, strategies, model, options);
    return go(t);
}

std::set<std::pair<std::string, std::uint64_t>> keys(const std::vector<record>& records) {
    std::set<std::pair<std::string, std::uint64_t>> out;
    for (const auto& r : records) out.emplace(r.task, augur::hash_schedule(r.schedule));
    return out;
}

} // namespace

TEST_CASE("tuner: uses the whole budget, measures nothing twice, adds up") {
    augur::function_runner runner(measure_toy);
    const auto out = run(runner, budget(100));
    CHECK(out.written.size() == 100);
    CHECK(keys(out.written).size() == 100);
    CHECK(out.summary.trials == 100);
    CHECK(out.summary.measured == 100);
    CHECK(out.summary.recorded == 0);
    CHECK(!out.summary.interrupted);
    CHECK(!out.summary.exhausted);
    std::size_t failed = 0;
    std::array<double, 2> best{inf, inf};
    for (const auto& r : out.written) {
        failed += r.outcome.ok() ? 0U : 1U;
        auto& b = best[r.task == augur::task_identity(two_tasks()[0]) ? 0 : 1];
        b = std::min(b, r.outcome.latency());
    }
    CHECK(failed > 0);
    CHECK(out.summary.counts[static_cast<std::size_t>(outcome::run_crash)] == failed);
    CHECK(out.summary.counts[0] == 100 - failed);
    CHECK(out.summary.first_failure.find(": run_crash: signal 11") != std::string::npos);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto& t = out.summary.tasks[i];
        CHECK(t.best_latency == best[i]);
        REQUIRE(t.best_trial);
        CHECK(out.trials[*t.best_trial].first == i);
        CHECK(latency(two_tasks()[i], out.trials[*t.best_trial].second) == best[i]);
    }
    CHECK(out.summary.tasks[0].trials + out.summary.tasks[1].trials == 100);
    CHECK(out.model_sizes.front() == 8); // after the first round, and after every round
    CHECK(out.model_sizes.back() == 100);
    CHECK(out.model_sizes.size() == out.summary.tasks[0].rounds + out.summary.tasks[1].rounds);
}

TEST_CASE("tuner: the model that learns finds better kernels than random search with the same budget") {
    double learned = 0;
    double blind = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        augur::function_runner runner(measure_toy);
        auto options = budget(120);
        options.seed = seed;
        const auto out = run(runner, options);
        for (const auto& t : out.summary.tasks) learned += t.best_latency;
        const auto tasks = two_tasks();
        const std::vector<toy::grid> spaces(2);
        std::vector<augur::random_search> strategies(2);
        augur::tuner t(tasks, spaces, strategies, options);
        auto summary = t.run(runner);
        REQUIRE(summary);
        for (const auto& x : summary->tasks) blind += x.best_latency;
    }
    CHECK(learned < 0.8 * blind);
}

TEST_CASE("tuner: given the same measurements, one thread and several propose the same") {
    augur::function_runner live(measure_toy);
    const auto first = run(live, budget(96));
    augur::replay_runner replay; // from here on nothing is computed, only looked up
    for (const auto& r : first.written) replay.add(r.task, r.schedule, r.outcome);
    for (const std::size_t n : {1U, 2U, 4U}) {
        toy::threads pool{n};
        const auto again = run(replay, budget(96), {}, &pool);
        CHECK(again.trials == first.trials);
        CHECK(again.summary.counts[static_cast<std::size_t>(outcome::runner_error)] == 0);
    }
    auto other = budget(96);
    other.seed = 43;
    CHECK(run(live, other).trials != first.trials);
}

TEST_CASE("tuner: resumed after any number of records it ends with the same trials, none measured or written twice") {
    augur::function_runner runner(measure_toy);
    const auto options = budget(60, 7);
    const auto whole = run(runner, options);
    REQUIRE(whole.written.size() == 60);
    for (std::size_t cut = 0; cut <= 60; ++cut) {
        CAPTURE(cut);
        std::vector<record> log(whole.written.begin(), whole.written.begin() + static_cast<std::ptrdiff_t>(cut));
        std::size_t asked = 0;
        augur::function_runner counting([&](const task& t, const schedule& s) { return ++asked, measure_toy(t, s); });
        const auto rest = run(counting, options, log);
        REQUIRE(asked == 60 - cut);
        REQUIRE(rest.report.taken == cut);
        REQUIRE(rest.summary.recorded == cut);
        REQUIRE(rest.summary.measured == 60 - cut);
        REQUIRE(rest.trials == whole.trials);
        REQUIRE(rest.model_sizes == whole.model_sizes);
        log.insert(log.end(), rest.written.begin(), rest.written.end());
        REQUIRE(keys(log) == keys(whole.written));
        REQUIRE(log.size() == 60);
        for (std::size_t i = 0; i < 2; ++i) REQUIRE(rest.summary.tasks[i].best_latency == whole.summary.tasks[i].best_latency);
    }
}

TEST_CASE("tuner: the rounds of each task grow from the first one to full ones") {
    augur::function_runner runner(measure_toy);
    const auto records_after_rounds = [&](std::size_t trials, std::size_t first, std::size_t round, std::size_t tasks = 1, std::size_t known = 0) {
        const std::vector<task> all{{"conv", 3}, {"dense", 1}};
        const std::vector<toy::grid> spaces(tasks);
        std::vector<augur::random_search> strategies(tasks);
        table_model model; // is trained after each round
        auto options = budget(trials, round, tasks);
        options.first_round = first;
        options.scheduler.strategy = augur::scheduling::round_robin;
        options.replay = false;
        const std::span<const task> tuned(all.data(), tasks);
        augur::tuner t(tuned, spaces, strategies, model, options);
        std::vector<record> records;
        for (std::size_t i = 0; i < known; ++i) {
            const schedule s{{100 + static_cast<std::int64_t>(i)}};
            records.push_back({augur::task_identity(all[0]), s, measure_toy(all[0], s)});
        }
        t.resume(records);
        const auto summary = t.run(runner);
        REQUIRE(summary);
        CHECK(summary->trials == trials);
        return model.sizes;
    };
    using sizes = std::vector<std::size_t>;
    CHECK(records_after_rounds(70, 0, 16) == sizes{16, 32, 48, 64, 70});
    CHECK(records_after_rounds(70, 4, 16) == sizes{4, 8, 16, 32, 48, 64, 70});
    CHECK(records_after_rounds(60, 3, 16) == sizes{3, 6, 12, 24, 40, 56, 60});
    CHECK(records_after_rounds(40, 1, 8) == sizes{1, 2, 4, 8, 16, 24, 32, 40});
    for (const std::size_t first : {16U, 17U, 1000U}) CHECK(records_after_rounds(70, first, 16) == sizes{16, 32, 48, 64, 70});
    CHECK(records_after_rounds(5, 3, 16) == sizes{3, 5});
    CHECK(records_after_rounds(2, 3, 16) == sizes{2});                                    // a round is at most the trials of a task
    CHECK(records_after_rounds(72, 4, 16, 2) == sizes{4, 8, 12, 16, 24, 32, 48, 64, 72}); // each task for itself
    CHECK(records_after_rounds(60, 4, 16, 1, 10) == sizes{20, 36, 52, 60});               // known trials count
}

TEST_CASE("tuner: resumed while its rounds grow it ends with the same trials") {
    augur::function_runner runner(measure_toy);
    auto options = budget(60, 16);
    const auto full = run(runner, options);
    options.first_round = 2;
    const auto whole = run(runner, options);
    REQUIRE(whole.written.size() == 60);
    CHECK(whole.trials != full.trials);
    CHECK(whole.model_sizes.front() == 2);
    for (std::size_t cut = 0; cut <= 60; ++cut) {
        CAPTURE(cut);
        const auto rest = run(runner, options, {whole.written.begin(), whole.written.begin() + static_cast<std::ptrdiff_t>(cut)});
        REQUIRE(rest.summary.recorded == cut);
        REQUIRE(rest.summary.measured == 60 - cut);
        REQUIRE(rest.trials == whole.trials);
        REQUIRE(rest.model_sizes == whole.model_sizes);
    }
}

TEST_CASE("tuner: resumed without replay, or from another seed's log, it measures nothing twice and uses the budget") {
    augur::function_runner runner(measure_toy);
    const auto whole = run(runner, budget(60, 7));
    for (const bool replay : {false, true})
        for (std::size_t cut = 0; cut <= 60; cut += 5) {
            CAPTURE(replay);
            CAPTURE(cut);
            std::vector<record> log(whole.written.begin(), whole.written.begin() + static_cast<std::ptrdiff_t>(cut));
            if (cut > 0) log.push_back(log.front());                          // a duplicate
            log.push_back({"of another task", schedule{{1}}, measurement{}}); // and a stranger
            auto options = budget(60, 7);
            options.replay = replay;
            options.seed = replay ? 1234 : 42;
            const auto rest = run(runner, options, log);
            CHECK(rest.report.taken == cut);
            CHECK(rest.report.duplicates == (cut > 0 ? 1 : 0));
            CHECK(rest.report.foreign == 1);
            CHECK(rest.summary.recorded == cut);
            CHECK(rest.summary.measured == 60 - cut);
            CHECK(rest.summary.trials == 60);
            auto all = keys(rest.written);
            CHECK(all.size() == 60 - cut);
            for (std::size_t i = 0; i < cut; ++i) all.emplace(whole.written[i].task, augur::hash_schedule(whole.written[i].schedule));
            CHECK(all.size() == 60);
            if (!rest.model_sizes.empty()) CHECK(rest.model_sizes.back() == 60); // the model has learnt from the records as well
        }
}

TEST_CASE("tuner: a larger budget goes on where the smaller one ended") {
    augur::function_runner runner(measure_toy);
    const auto part = run(runner, budget(40));
    const auto whole = run(runner, budget(80));
    const auto rest = run(runner, budget(80), part.written);
    CHECK(rest.trials == whole.trials);
    CHECK(rest.summary.recorded == 40);
    CHECK(rest.summary.measured == 40);
}

TEST_CASE("tuner: records of two logs are as those of one") {
    augur::function_runner runner(measure_toy);
    const auto whole = run(runner, budget(40));
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<record> first(whole.written.begin(), whole.written.begin() + 10), second(whole.written.begin() + 5, whole.written.begin() + 15);
    for (auto* log : {&first, &second})
        for (auto& r : *log) r.task = augur::task_identity(tasks[0]);
    auto joined = first;
    joined.insert(joined.end(), second.begin(), second.end());
    for (const bool replay : {true, false}) {
        auto options = budget(60, 7, 1);
        options.replay = replay;
        const auto trials_after = [&](const std::vector<std::vector<record>>& parts) {
            std::vector<augur::random_search> strategies(1);
            augur::tuner t(tasks, spaces, strategies, options);
            std::size_t taken = 0, duplicates = 0;
            for (const auto& part : parts) {
                const auto report = t.resume(part);
                taken += report.taken;
                duplicates += report.duplicates;
            }
            CHECK(taken == keys(joined).size());
            CHECK(duplicates == joined.size() - keys(joined).size());
            const auto summary = t.run(runner);
            REQUIRE(summary);
            CHECK(summary->recorded == taken);
            CHECK(summary->trials == 60);
            std::vector<schedule> out;
            for (const auto& x : t.trials()) out.push_back(x.schedule);
            return out;
        };
        CHECK(keys(joined).size() <= 15); // the logs overlap
        CHECK(trials_after({first, second, {}}) == trials_after({joined}));
    }
}

TEST_CASE("tuner: stopped, it has written all that was measured, and can be resumed") {
    augur::function_runner runner(measure_toy);
    const auto whole = run(runner, budget(60, 7));
    for (const std::size_t after : {0U, 1U, 10U, 33U, 59U}) {
        CAPTURE(after);
        const auto part = run<augur::serial_executor>(runner, budget(60, 7), {}, nullptr, after);
        CHECK(part.summary.interrupted);
        CHECK(part.summary.measured == part.written.size());
        CHECK(part.written.size() >= after);
        CHECK(part.written.size() < after + 3); // the batch that ran was finished
        const auto rest = run(runner, budget(60, 7), part.written);
        CHECK(!rest.summary.interrupted);
        CHECK(rest.trials == whole.trials);
    }
    // Stopped again while it replays: the summary knows the records.
    const auto stopped = run<augur::serial_executor>(runner, budget(60, 7), whole.written, nullptr, 0);
    CHECK(stopped.summary.interrupted);
    CHECK(stopped.summary.trials == 60);
    CHECK(stopped.summary.tasks[0].best_latency == whole.summary.tasks[0].best_latency);
}

TEST_CASE("tuner: a space smaller than the budget ends the run in good order") {
    augur::function_runner runner(measure_toy);
    const auto out = run(runner, budget(500), {}, static_cast<augur::serial_executor*>(nullptr), 1000000, toy::grid{3, 4});
    CHECK(out.summary.exhausted);
    CHECK(out.summary.trials == 128); // both tasks: 64 leaves
    CHECK(keys(out.written).size() == 128);
    const auto again = run(runner, budget(500), out.written, static_cast<augur::serial_executor*>(nullptr), 1000000, toy::grid{3, 4});
    CHECK(again.summary.exhausted);
    CHECK(again.summary.measured == 0);
    CHECK(again.summary.trials == 128);
}

namespace {
struct twins : toy::grid { // two decision vectors a schedule, and the space does not say so
    [[nodiscard]] augur::result<schedule> realise(std::span<const std::uint64_t> p) const {
        auto s = toy::grid::realise(p);
        s->numbers[0] /= 2;
        return s;
    }
};
struct holes : toy::grid {
    [[nodiscard]] augur::result<schedule> realise(std::span<const std::uint64_t> p) const {
        if (p[0] % 4 == 1) return augur::error{augur::errc::illegal_schedule, "a hole"};
        return toy::grid::realise(p);
    }
};
struct troubled {
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    int calls = 0;
    augur::result<void> score(const task&, std::span<const schedule>, std::span<float> scores) {
        if (++calls % 2 == 0) return augur::error{augur::errc::shape_mismatch, "no head for this target"};
        std::fill(scores.begin(), scores.end(), std::nanf(""));
        return {};
    }
    augur::result<void> update(std::span<const augur::observation<schedule, task>>) { return augur::error{augur::errc::limit, "diverged"}; }
};
struct slow_model : table_model {
    double* now = nullptr;
    augur::result<void> update(std::span<const augur::observation<schedule, task>> records) {
        *now += 5;
        return table_model::update(records);
    }
};
template <class Space>
augur::tuning_summary run_on(const Space& space, std::size_t trials, std::vector<record>& written) {
    const std::vector<task> tasks(1);
    const std::vector<Space> spaces(1, space);
    std::vector<augur::random_search> strategies(1);
    augur::tuner t(tasks, spaces, strategies, budget(trials, 8, 1));
    augur::function_runner runner(measure_toy);
    log_sink sink;
    auto summary = t.run(runner, {.sink = std::ref(sink)});
    REQUIRE(summary);
    written = sink.records;
    return *summary;
}
} // namespace

TEST_CASE("tuner: equal schedules of different points are measured once; points without schedule are no trials") {
    std::vector<record> written;
    const auto t = run_on(twins{{3, 4}}, 32, written);
    CHECK(t.trials == 32);
    CHECK(t.repeated > 0);
    CHECK(keys(written).size() == 32);
    const auto h = run_on(holes{{3, 4}}, 48, written);
    CHECK(h.trials == 48);
    CHECK(h.unrealised > 0);
    CHECK(keys(written).size() == 48);
}

TEST_CASE("tuner: a runner that lies is caught") {
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::random_search> strategies(1);
    augur::tuner t(tasks, spaces, strategies, budget(30, 6, 1));
    struct liar {
        int call = 0;
        std::vector<measurement> measure(const task&, std::span<const schedule> candidates) {
            std::vector<measurement> out(candidates.size());
            for (auto& m : out) {
                m.status = outcome::ok;
                constexpr double times[] = {0, -1, std::numeric_limits<double>::quiet_NaN(), inf, 1e-3};
                m.seconds = {times[call % 5]};
            }
            if (call % 5 == 4) out.pop_back();
            ++call;
            return out;
        }
    } runner;
    log_sink sink;
    auto summary = t.run(runner, {.sink = std::ref(sink)});
    REQUIRE(summary);
    CHECK(summary->trials == 30);
    CHECK(summary->counts[static_cast<std::size_t>(outcome::unstable)] == 24);
    CHECK(summary->counts[static_cast<std::size_t>(outcome::runner_error)] == 2);
    CHECK(summary->counts[0] == 4);
    CHECK(summary->tasks[0].best_latency == 1e-3);
    for (const auto& r : sink.records) CHECK((r.outcome.ok() || !r.outcome.reason.empty()));
}

TEST_CASE("tuner: a runner that fails again and again ends the run, with what it measured before") {
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    struct board { // answers `good` times, then never; or it loses every second candidate
        std::size_t good;
        bool flaky;
        std::size_t asked = 0;
        std::vector<measurement> measure(const task&, std::span<const schedule> candidates) {
            std::vector<measurement> out(candidates.size());
            for (auto& m : out) {
                const bool answers = flaky ? asked % 2 == 0 : asked < good;
                ++asked;
                m.reason = "no answer";
                if (!answers) continue;
                m.status = outcome::ok;
                m.seconds = {1e-3};
            }
            return out;
        }
    };
    auto options = budget(30, 6, 1);
    for (const std::size_t allowed : {std::size_t{0}, std::size_t{8}, std::size_t{64}}) {
        options.runner_errors = allowed;
        for (const bool flaky : {false, true}) {
            std::vector<augur::random_search> strategies(1);
            augur::tuner t(tasks, spaces, strategies, options);
            board gone{10, flaky};
            log_sink sink;
            const auto summary = t.run(gone, {.sink = std::ref(sink)});
            CHECK(t.trials().size() == sink.records.size());
            if (allowed == 8 && !flaky) {
                REQUIRE(!summary);
                CHECK(summary.error().code == augur::errc::io);
                CHECK(summary.error().detail.find("8 candidates in a row, at last: no answer") != std::string::npos);
                CHECK(t.trials().size() >= 18);
                CHECK(t.trials().size() < 18 + options.batch);
            } else REQUIRE(summary);
        }
    }
    options.runner_errors = 8; // a stop is not the runner's fault
    std::vector<augur::random_search> strategies(1);
    augur::tuner t(tasks, spaces, strategies, options);
    board gone{0, false};
    const auto summary = t.run(gone, {.stop = [&] { return gone.asked >= 8; }});
    REQUIRE(summary);
    CHECK(summary->interrupted);
}

TEST_CASE("tuner: more measurements than candidates end the run, and the first of them are kept") {
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::random_search> strategies(1);
    augur::tuner t(tasks, spaces, strategies, budget(30, 6, 1));
    struct generous {
        std::vector<measurement> measure(const task&, std::span<const schedule> candidates) {
            measurement m;
            m.status = outcome::ok;
            m.seconds = {1e-3};
            return std::vector<measurement>(candidates.size() + 1, m);
        }
    } runner;
    log_sink sink;
    const auto summary = t.run(runner, {.sink = std::ref(sink)});
    REQUIRE(!summary);
    CHECK(summary.error().code == augur::errc::invalid_argument);
    CHECK(summary.error().detail.find("gave") != std::string::npos);
    CHECK(t.trials().size() == sink.records.size());
    CHECK(!sink.records.empty());
}

TEST_CASE("tuner: recorded trials that are taken together are told once, before the first measurement") {
    augur::function_runner runner(measure_toy);
    const auto whole = run(runner, budget(60, 7));
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::random_search> strategies(1);
    auto options = budget(60, 7, 1);
    options.replay = false;
    augur::tuner t(tasks, spaces, strategies, options);
    std::vector<record> log(whole.written.begin(), whole.written.begin() + 25);
    for (auto& r : log) r.task = augur::task_identity(tasks[0]);
    const auto taken = t.resume(log).taken;
    REQUIRE(taken > 1);
    std::vector<std::size_t> told;
    log_sink sink;
    REQUIRE(t.run(runner, {.sink = std::ref(sink), .progress = [&](const augur::tuning_progress& p) { told.push_back(p.trials); }}));
    REQUIRE(!told.empty());
    CHECK(told.front() == taken);
    CHECK(told.size() == 1 + 60 - taken);
}

TEST_CASE("tuner: one repeat that is no time makes a trial unstable, wherever it stands, and the reason names it") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::pair<std::vector<double>, std::string>> lies{{{1e-3, 1e-3, nan}, "nan s"},    {{nan, 1e-3, 1e-3}, "nan s"},
                                                                        {{1e-3, inf, 1e-3}, "inf s"},    {{-5, 1e-3, 1e-3}, "-5.000000 s"},
                                                                        {{0, 1e-3, 1e-3}, "0.000000 s"}, {{}, "none"}};
    for (const auto& [seconds, came] : lies) {
        const std::vector<task> tasks(1);
        const std::vector<toy::grid> spaces(1);
        std::vector<augur::random_search> strategies(1);
        augur::tuner t(tasks, spaces, strategies, budget(1, 1, 1));
        augur::function_runner runner([&](const task&, const schedule&) {
            measurement m;
            m.status = outcome::ok;
            m.seconds = seconds;
            return m;
        });
        REQUIRE(t.run(runner));
        CHECK(t.trials()[0].outcome.status == outcome::unstable);
        CHECK(t.trials()[0].outcome.reason == "expected finite times above zero, " + came + " came");
    }
}

namespace {
struct placed { // one kernel on two targets
    std::string where;
    [[nodiscard]] std::string_view key() const { return "mm"; }
    [[nodiscard]] std::string_view target() const { return where; }
};
} // namespace

TEST_CASE("tuner: one key on two targets is two tasks, also for records and for a replay; one task twice is refused") {
    const std::vector<placed> tasks{{"cpu"}, {"gpu"}};
    const std::vector<toy::grid> spaces(2);
    std::vector<augur::random_search> strategies(2);
    const auto seconds = [](const placed& t, const schedule&) { return t.where == "cpu" ? 2e-3 : 1e-5; };
    augur::function_runner runner(seconds);
    std::vector<record> log;
    augur::replay_runner replay;
    const auto sink = [&](const placed& t, const schedule& s, const measurement& m) {
        log.push_back({augur::task_identity(t), s, m});
        replay.add(log.back().task, s, m);
        return augur::result<void>();
    };
    augur::tuner first(tasks, spaces, strategies, budget(20));
    REQUIRE(first.run(runner, {.sink = std::ref(sink)}));
    REQUIRE(log.size() == 20);
    for (const auto& r : log) {
        const std::vector<schedule> asked{r.schedule};
        const bool cpu = r.task == augur::task_identity(tasks[0]);
        CHECK(replay.measure(tasks[cpu ? 0 : 1], std::span<const schedule>(asked))[0].latency() == (cpu ? 2e-3 : 1e-5));
    }

    std::vector<augur::random_search> again(2);
    augur::tuner second(tasks, spaces, again, budget(30));
    CHECK(second.resume(log).taken == 20);
    const auto summary = second.run(runner);
    REQUIRE(summary);
    CHECK(summary->tasks[0].best_latency == 2e-3);
    CHECK(summary->tasks[1].best_latency == 1e-5);

    const std::vector<placed> twice{{"cpu"}, {"cpu"}};
    augur::tuner none(twice, spaces, again, budget(30));
    const auto refused = none.run(runner);
    REQUIRE(!refused);
    CHECK(refused.error().detail == "tuning: expected tasks that differ in target or key, 1 of 2 came twice");
}

TEST_CASE("tuner: a model in trouble costs its scores, not the run") {
    troubled model;
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::evolutionary<>> strategies(1, augur::evolutionary<>(small()));
    augur::tuner t(tasks, spaces, strategies, model, budget(40, 8, 1));
    augur::function_runner runner(measure_toy);
    auto summary = t.run(runner);
    REQUIRE(summary);
    CHECK(summary->trials == 40);
    CHECK(summary->model_errors >= 5);
    CHECK(summary->first_model_error == "no head for this target");
}

TEST_CASE("tuner: a sink that fails ends the run after its batch, all of which was offered to it and is still there") {
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::random_search> strategies(1);
    augur::tuner t(tasks, spaces, strategies, budget(30, 8, 1));
    augur::function_runner runner(measure_toy);
    int written = 0;
    auto summary = t.run(runner, {.sink = [&](const task&, const schedule&, const measurement&) -> augur::result<void> {
                             if (++written == 11) return augur::error{augur::errc::io, "no space left on device"};
                             return {};
                         }});
    REQUIRE(!summary);
    CHECK(summary.error().code == augur::errc::io);
    CHECK(written == 11);
    CHECK(t.trials().size() == 11);

    // The others of its batch were measured, too: what the sink does not take of one it may take of the next.
    std::vector<augur::random_search> anew(1);
    auto in_fours = budget(30, 8, 1);
    in_fours.batch = 4;
    augur::tuner u(tasks, spaces, anew, in_fours);
    written = 0;
    const auto failed = u.run(runner, {.sink = [&](const task&, const schedule&, const measurement&) -> augur::result<void> {
                                  if (++written == 10) return augur::error{augur::errc::io, "no space left on device"};
                                  return {};
                              }});
    REQUIRE(!failed);
    CHECK(written == 12);
    CHECK(u.trials().size() == 12);
}

TEST_CASE("tuner: senseless options are refused") {
    const auto tasks = two_tasks();
    const std::vector<toy::grid> spaces(2);
    augur::function_runner runner(measure_toy);
    auto refused = [&](const augur::tuning_options& o) {
        std::vector<augur::random_search> strategies(2);
        augur::tuner t(tasks, spaces, strategies, o);
        auto summary = t.run(runner);
        REQUIRE(!summary);
        CHECK(summary.error().code == augur::errc::invalid_argument);
        return summary.error().detail;
    };
    CHECK(refused(budget(1)) == "tuning: expected at least one trial per task, and a budget that can be counted, got 0 for each of 2 tasks");
    CHECK(refused(budget(std::numeric_limits<std::size_t>::max(), 8, 1)).find("can be counted") != std::string::npos);
    CHECK(refused(budget(10, 0)) == "tuning: expected round, batch and attempts of at least 1, 0, 3 and 4 came");
    auto shrinking = budget(10);
    shrinking.train_growth = 0.5;
    CHECK(refused(shrinking) == "tuning: expected train_growth of 1, or of at least 1.01, 0.500000 came");
    auto creeping = budget(10);
    creeping.train_growth = std::nextafter(1.0, 2.0);
    refused(creeping);
    for (double augur::task_scheduler_options::* const number :
         {&augur::task_scheduler_options::delta, &augur::task_scheduler_options::beta, &augur::task_scheduler_options::alpha})
        for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
            auto o = budget(10);
            o.scheduler.*number = bad;
            refused(o);
        }
    auto blind = budget(10);
    blind.scheduler.window = 0;
    refused(blind);
    std::vector<augur::random_search> nobody;
    const std::vector<task> no_tasks;
    const std::vector<toy::grid> no_spaces;
    augur::tuner none(no_tasks, no_spaces, nobody, budget(10));
    CHECK(!none.run(runner));
}

TEST_CASE("tuner: a weight that is none is refused with the name of its task") {
    struct weighed {
        double much = 1;
        [[nodiscard]] static std::string_view key() { return "mm"; }
        [[nodiscard]] double weight() const { return much; }
    };
    const std::vector<toy::grid> spaces(1);
    augur::function_runner runner([](const weighed&, const schedule&) { return 1e-3; });
    for (const double bad : {-1.0, inf, std::numeric_limits<double>::quiet_NaN()}) {
        const std::vector<weighed> tasks{{bad}};
        std::vector<augur::random_search> strategies(1);
        augur::tuner t(tasks, spaces, strategies, budget(10, 8, 1));
        const auto summary = t.run(runner);
        REQUIRE(!summary);
        CHECK(summary.error().detail.find("'mm'") != std::string::npos);
    }
}

TEST_CASE("tuner: training after 64, 128, 256 records, and the time it takes by the clock given") {
    slow_model model;
    double now = 100;
    model.now = &now;
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::evolutionary<>> strategies(1, augur::evolutionary<>(small()));
    auto options = budget(300, 10, 1);
    options.train_first = 64;
    options.train_growth = 2;
    augur::tuner t(tasks, spaces, strategies, model, options);
    augur::function_runner runner([&](const task& x, const schedule& s) {
        now += 0.1;
        return measure_toy(x, s);
    });
    std::vector<augur::tuning_progress> seen;
    auto summary = t.run(runner, {.progress = [&](const augur::tuning_progress& p) { seen.push_back(p); }, .clock = [&] { return now; }});
    REQUIRE(summary);
    CHECK(model.sizes == std::vector<std::size_t>{70, 130, 260});
    CHECK(summary->train_seconds == doctest::Approx(15));
    CHECK(summary->measure_seconds == doctest::Approx(30));
    CHECK(summary->propose_seconds == doctest::Approx(0).scale(1));
    CHECK(summary->seconds == doctest::Approx(45));
    CHECK(summary->training_share() == doctest::Approx(1.0 / 3));
    REQUIRE(seen.size() == 300);
    for (std::size_t i = 0; i < 300; ++i) {
        CHECK(seen[i].trials == i + 1);
        CHECK(seen[i].task_trials == i + 1);
        CHECK(seen[i].trials_total == 300);
        if (i > 0) CHECK(seen[i].best_latency <= seen[i - 1].best_latency);
    }
    CHECK(seen[149].seconds_left == doctest::Approx(seen[149].seconds).epsilon(0.01));
    CHECK(seen.back().seconds_left == 0);
    CHECK(seen.back().best_latency == summary->tasks[0].best_latency);
}

namespace {
struct knowing { // the scores are any line of the logarithm of the latency
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    double slope;
    augur::result<void> score(const task& t, std::span<const schedule> batch, std::span<float> scores) const {
        for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = static_cast<float>(5 + slope * std::log(latency(t, batch[i])));
        return {};
    }
};
} // namespace

TEST_CASE("tuner: the progress has what the model expects of the best candidate that is not measured yet") {
    const std::vector<task> tasks{{"conv"}};
    const std::vector<toy::grid> spaces(1);
    for (const double slope : {-3.0, 2.0, 0.0}) {
        std::vector<augur::random_search> strategies(1);
        knowing model{slope};
        augur::tuner t(tasks, spaces, strategies, model, budget(64, 16, 1));
        std::vector<augur::tuning_progress> seen;
        augur::function_runner runner(measure_toy);
        REQUIRE(t.run(runner, {.progress = [&](const augur::tuning_progress& p) { seen.push_back(p); }}));
        REQUIRE(seen.size() == 64);
        for (std::size_t i = 0; i < seen.size(); ++i) {
            double best = inf; // of the rest of the round, whether it will fail or not
            for (std::size_t k = i + 1; k < (i / 16 + 1) * 16; ++k) best = (std::min)(best, latency(tasks[0], t.trials()[k].schedule));
            if (slope < 0 && i >= 16 && best < inf) CHECK(seen[i].expected_latency == doctest::Approx(best).epsilon(1e-4));
            else CHECK(seen[i].expected_latency == inf); // nothing measured yet, scores that mean nothing, or the end of a round
        }
    }
}

namespace {
struct believing : augur::random_search { // that the first number of a point is its latency
    [[nodiscard]] static double expected_latency(std::span<const std::uint64_t> point) { return 1 + static_cast<double>(point[0]); }
};
} // namespace

TEST_CASE("tuner: the progress has what the strategy expects, where no model has an opinion") {
    const std::vector<task> tasks{{"conv"}};
    const std::vector<toy::grid> spaces(1);
    const auto run_and_compare = [&](auto& t, std::size_t of_strategy) {
        std::vector<double> seen;
        augur::function_runner runner(measure_toy);
        REQUIRE(t.run(runner, {.progress = [&](const augur::tuning_progress& p) { seen.push_back(p.expected_latency); }}));
        REQUIRE(seen.size() == 64);
        for (std::size_t i = 0; i < seen.size(); ++i) {
            double best = inf;
            for (std::size_t k = i + 1; k < (i / 16 + 1) * 16; ++k)
                best = (std::min)(best, 1 + static_cast<double>(t.trials()[k].schedule.numbers[0]));
            if (i < of_strategy || best == inf) CHECK(seen[i] == best);
            else CHECK(seen[i] < 1); // the model's: no kernel is that slow
        }
    };
    std::vector<believing> strategies(1);
    augur::tuner alone(tasks, spaces, strategies, budget(64, 16, 1));
    run_and_compare(alone, 64);
    for (const double slope : {-3.0, 0.0}) { // a model that knows, but has no opinion before something was measured; one that never has any
        std::vector<believing> others(1);
        knowing model{slope};
        augur::tuner t(tasks, spaces, others, model, budget(64, 16, 1));
        run_and_compare(t, slope < 0 ? 16U : 64U);
    }

    // strategies around another one pass it on
    const augur::decision_vector point{4, 0};
    using begun = augur::initial_points<believing>;
    CHECK(augur::in_turn<begun, augur::random_search>(begun(believing(), {}), 8, augur::random_search()).expected_latency(point) == 5);
    using silent = augur::in_turn<augur::random_search, augur::random_search>;
    CHECK(silent(augur::random_search(), 8, augur::random_search()).expected_latency(point) == inf);
}

TEST_CASE("tuner: a task that only fails does not take the budget of the others") {
    const auto tasks = two_tasks();
    const std::vector<toy::grid> spaces(2);
    std::vector<augur::random_search> strategies(2);
    augur::tuner t(tasks, spaces, strategies, budget(100));
    augur::function_runner runner([](const task& x, const schedule& s) {
        if (x.name == "dense") return measurement{};
        return measure_toy(x, s);
    });
    auto summary = t.run(runner);
    REQUIRE(summary);
    CHECK(summary->trials == 100);
    CHECK(summary->tasks[1].trials == 24);
    CHECK(summary->tasks[1].best_latency == inf);
    CHECK(!summary->tasks[1].best_trial);
}

namespace {
struct invertible : toy::grid {
    [[nodiscard]] augur::result<augur::decision_vector> decide(const schedule& s) const {
        if (s.numbers.size() != levels) return augur::error{augur::errc::not_found, "of another space"};
        return augur::decision_vector(s.numbers.begin(), s.numbers.end());
    }
};
struct spy { // proposes at random and keeps what it is told
    augur::random_search inner;
    std::vector<augur::measured_decisions> told;
    template <augur::decision_tree P, augur::point_scorer F>
    augur::result<std::vector<augur::decision_vector>> propose(const P& p, F& f, std::size_t n, augur::random_engine& rng) {
        return inner.propose(p, f, n, rng);
    }
    void observe(std::span<const augur::measured_decisions> points) {
        told.insert(told.end(), points.begin(), points.end());
        inner.observe(points);
    }
};
} // namespace

TEST_CASE("tuner: where the space can decide a schedule, the strategies get the recorded points") {
    const std::vector<task> tasks(1);
    const std::vector<invertible> spaces(1);
    std::vector<record> log;
    for (std::int64_t i = 0; i < 10; ++i)
        log.push_back({augur::task_identity(tasks[0]), schedule{{i, 1, 2, 3, 4, 5}}, measure_toy(tasks[0], {{i, 1, 2, 3, 4, 5}})});
    log.push_back({augur::task_identity(tasks[0]), schedule{{1}}, measurement{}}); // no point of the space
    std::vector<spy> strategies(1);
    auto options = budget(11, 8, 1);
    options.replay = false;
    augur::tuner t(tasks, spaces, strategies, options);
    CHECK(t.resume(log).taken == 11);
    augur::function_runner runner(measure_toy);
    auto summary = t.run(runner);
    REQUIRE(summary);
    CHECK(summary->recorded == 11);
    CHECK(summary->measured == 0);
    REQUIRE(strategies[0].told.size() == 10);
    for (std::uint64_t i = 0; i < 10; ++i) {
        CHECK(strategies[0].told[i].decisions == augur::decision_vector{i, 1, 2, 3, 4, 5});
        CHECK(strategies[0].told[i].latency == log[i].outcome.latency());
    }
}

TEST_CASE("tuner: a second run is an error and changes nothing") {
    const std::vector<task> tasks(1);
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::random_search> strategies(1);
    struct steady {
        std::vector<measurement> measure(const task&, std::span<const schedule> candidates) {
            measurement m;
            m.seconds = {1e-3};
            return std::vector<measurement>(candidates.size(), m);
        }
    } runner;
    augur::tuner t(tasks, spaces, strategies, budget(10, 8, 1));
    REQUIRE(t.run(runner));
    const auto again = t.run(runner);
    REQUIRE(!again);
    CHECK(again.error().code == augur::errc::invalid_argument);
    CHECK(t.trials().size() == 10);
}

TEST_CASE("tuner: types are deduced from vectors, arrays and spans, and temporaries are refused") {
    const std::array tasks{task{}};
    const std::vector<toy::grid> spaces(1);
    std::vector<augur::random_search> strategies(1);
    table_model model;
    augur::serial_executor executor;
    using plain = augur::tuner<task, toy::grid, augur::random_search>;
    using guided = augur::tuner<task, toy::grid, augur::random_search, table_model>;
    static_assert(std::is_same_v<decltype(augur::tuner(tasks, spaces, strategies)), plain>);
    static_assert(std::is_same_v<decltype(augur::tuner(std::span(tasks), spaces, std::span(strategies), budget(3))), plain>);
    static_assert(std::is_same_v<decltype(augur::tuner(tasks, spaces, strategies, model)), guided>);
    static_assert(std::is_same_v<decltype(augur::tuner(tasks, spaces, strategies, model, executor, budget(3))), guided>);
    using tasks_type = std::array<task, 1>;
    static_assert(std::is_constructible_v<plain, const tasks_type&, const std::vector<toy::grid>&, std::vector<augur::random_search>&>);
    static_assert(!std::is_constructible_v<plain, tasks_type, const std::vector<toy::grid>&, std::vector<augur::random_search>&>);
    static_assert(!std::is_constructible_v<plain, const tasks_type&, std::vector<toy::grid>, std::vector<augur::random_search>&>);
    static_assert(!std::is_constructible_v<plain, const tasks_type&, const std::vector<toy::grid>&, std::vector<augur::random_search>>);
}

} // namespace tuner_test
