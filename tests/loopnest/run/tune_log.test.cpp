// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/trial_log.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/tlp/online.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/tune/replay_runner.hpp>

#include "../search/threads.hpp"

namespace {

using augur::measurement;
using augur::outcome;
using augur::step_list;
using augur::loopnest::ansor_space;
using augur::loopnest::kernel_task;

const augur::toolchain made_with(augur::identify({}, "", 2, "a compiler"), "-O2");

struct problem {
    std::vector<kernel_task> tasks;
    std::vector<ansor_space> spaces;
};
problem two_kernels() {
    problem p;
    for (const char* text : {"dense:m=24,n=40,k=16,bias,relu", "conv2d:h=12,w=12,c=8,f=16,k=3,pad=1,bias"}) {
        auto t = kernel_task::create(*augur::kernel::parse(text), augur::hardware_params{});
        REQUIRE(t);
        auto s = ansor_space::create(t->dag());
        REQUIRE(s);
        p.tasks.push_back(std::move(*t));
        p.spaces.push_back(std::move(*s));
    }
    return p;
}

// What a machine might say: a function of the schedule, one candidate in 16 fails.
measurement measured(const kernel_task&, const step_list& s) {
    measurement m;
    const auto h = augur::hash_schedule(s);
    if (h % 16 == 0) {
        m.status = outcome::run_crash;
        m.reason = "died by signal 11";
        return m;
    }
    m.status = outcome::ok;
    const double x = 1e-3 * (1 + static_cast<double>(h % 1000) / 500) * (1 + static_cast<double>(s.steps.size() % 5));
    m.seconds = {x, x * 1.5, x};
    return m;
}

struct scratch_file {
    std::string path;
    scratch_file() {
        std::string name = std::string(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") + "/augur-tune-XXXXXX";
        const int fd = ::mkstemp(name.data());
        REQUIRE(fd >= 0);
        ::close(fd);
        path = name;
    }
    ~scratch_file() { ::unlink(path.c_str()); }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
};

std::string contents(const std::string& path) {
    std::string text;
    if (std::FILE* f = std::fopen(path.c_str(), "r")) {
        char block[65536];
        for (std::size_t n = 0; (n = std::fread(block, 1, sizeof block, f)) > 0;) text.append(block, n);
        std::fclose(f);
    }
    return text;
}

// Up to the last line that ends a record or the header.
std::string whole_part(const std::string& text) {
    std::size_t end = 0;
    for (std::size_t from = 0, to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
        if (text.compare(from, 3, "# {") == 0) end = to + 1;
    return text.substr(0, end);
}

// So many trials of two tasks.
augur::tuning_options budget(std::size_t trials) {
    augur::tuning_options o;
    o.trials = trials / 2;
    o.round = 8;
    o.batch = 4;
    o.seed = 7;
    return o;
}

// A run that resumes from the log; tells `out` after each record that is safe.
augur::result<void> run_logged(const problem& p, const std::string& path, std::size_t trials, int out) {
    auto log = augur::log_writer::open(path);
    if (!log) return log.error();
    auto old = augur::read_trials(path, p.tasks, made_with);
    if (!old) return old.error();
    std::vector<augur::random_search> strategies(p.tasks.size());
    augur::tuner t(p.tasks, p.spaces, strategies, budget(trials));
    t.resume(std::move(old->trials));
    augur::function_runner runner([](const kernel_task& task, const step_list& s) {
        ::usleep(200);
        return measured(task, s);
    });
    augur::log_sink write(*log, made_with);
    const auto sink = [&](const kernel_task& task, const step_list& s, const measurement& m) -> augur::result<void> {
        if (auto written = write(task, s, m); !written) return written;
        if (out >= 0 && ::write(out, "x", 1) != 1) return augur::error{augur::errc::io, "pipe"};
        return {};
    };
    const auto done = t.run(runner, {.sink = std::ref(sink)});
    if (!done) return done.error();
    return {};
}

struct logged {
    std::vector<std::string> schedules; // task and steps, in order
    augur::log_summary summary;
};
logged read_all(const std::string& path) {
    logged out;
    auto reader = augur::log_reader::open(path);
    REQUIRE(reader);
    for (augur::record r;;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        REQUIRE(r.sequence == static_cast<std::int64_t>(out.schedules.size())); // none lost, none doubled, in order
        out.schedules.push_back(r.task.workload_key + augur::to_json(augur::to_ansor_line(r)));
    }
    out.summary = reader->summary();
    return out;
}
std::set<std::string> schedules_of(const std::string& path, const problem& p) {
    auto old = augur::read_trials(path, p.tasks, made_with);
    REQUIRE(old);
    std::set<std::string> out;
    for (const auto& t : old->trials) out.insert(t.task + std::to_string(augur::hash_schedule(t.schedule)));
    CHECK(out.size() == old->trials.size());
    return out;
}

} // namespace

TEST_CASE("killed a hundred times, a run loses no record, doubles none and ends with its budget") {
    const auto p = two_kernels();
    const scratch_file log;
    constexpr std::size_t trials = 600;
    augur::random_engine rng(20);
    std::string before;
    std::size_t kills = 0;
    for (int round = 0; round < 100; ++round) {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::close(ends[0]);
            ::_exit(run_logged(p, log.path, trials, ends[1]) ? 0 : 1);
        }
        ::close(ends[1]);
        // After a few records, and a random while: anywhere in a write, a proposal, a measurement, or the replay at the start.
        char byte = 0;
        std::size_t safe = 0;
        for (std::size_t wait_for = rng.below(5); safe < wait_for && ::read(ends[0], &byte, 1) == 1;) ++safe;
        ::usleep(static_cast<useconds_t>(rng.below(1500)));
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        kills += WIFSIGNALED(status) ? 1 : 0;
        while (::read(ends[0], &byte, 1) == 1) ++safe;
        ::close(ends[0]);

        auto now = whole_part(contents(log.path));
        const auto old = read_all(log.path);
        CHECK(old.summary.bad == 0);
        const auto earlier = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) / 2; // beside the header two lines a record
        CHECK(old.schedules.size() >= earlier + safe);                                                     // what was acknowledged is there
        CHECK(old.schedules.size() <= earlier + safe + 1);
        CHECK(now.starts_with(before));
        before = std::move(now);
    }
    CHECK(kills > 50);
    MESSAGE(kills << " kills, " << read_all(log.path).schedules.size() << " records before the last run");
    REQUIRE(run_logged(p, log.path, trials, -1));
    CHECK(read_all(log.path).schedules.size() == trials);
    const auto all = schedules_of(log.path, p);
    CHECK(all.size() == trials);

    const scratch_file other; // the same schedules as those of a run that nobody disturbed
    REQUIRE(run_logged(p, other.path, trials, -1));
    CHECK(schedules_of(other.path, p) == all);
}

TEST_CASE("trials of another kernel, machine or compiler are counted and left out") {
    const auto p = two_kernels();
    const scratch_file log;
    {
        auto writer = augur::log_writer::open(log.path);
        REQUIRE(writer);
        augur::random_engine rng(1);
        const auto s = p.spaces[0].realise(augur::sample_path(p.spaces[0], rng).values);
        REQUIRE(s);
        augur::record r;
        r.task = p.tasks[0].logged();
        r.schedule = *s;
        r.measured = measured(p.tasks[0], *s);
        r.machine = made_with.machine;
        r.flags = made_with.flags;
        REQUIRE(writer->append(r));
        auto cores = r;
        cores.task.hardware[0] = 99;
        REQUIRE(writer->append(cores));
        auto target = r;
        target.task.target = "llvm -keys=cpu";
        REQUIRE(writer->append(target));
        auto flags = r;
        flags.flags = "-O0";
        REQUIRE(writer->append(flags));
        REQUIRE(writer->append(r)); // twice: the tuner tells
        auto kernel = r;
        kernel.task.workload_key = "[\"another\"]";
        REQUIRE(writer->append(kernel));
    }
    std::FILE* const f = std::fopen(log.path.c_str(), "a");
    REQUIRE(f != nullptr);
    std::fputs("nonsense\n", f);
    std::fclose(f);
    std::vector<std::string> bad;
    augur::log_read_options read;
    read.on_bad_line = [&](const augur::bad_line& b) { bad.push_back(b.text()); };
    const auto got = augur::read_trials(log.path, p.tasks, made_with, read);
    REQUIRE(got);
    CHECK(got->trials.size() == 2);
    CHECK(got->other_target == 2);
    CHECK(got->other_toolchain == 1);
    CHECK(got->other_task == 1);
    CHECK(got->log.bad == 1);
    CHECK(bad.size() == 1);
    CHECK_FALSE(augur::read_trials("/nowhere/log.jsonl", p.tasks, made_with));
}

namespace {

// One search under TLP; the schedules in the order in which they were measured.
template <class Executor, class Runner>
std::vector<std::uint64_t> guided(const problem& p, Executor& threads, Runner& runner, augur::log_writer* log, std::size_t& trainings) {
    augur::evolutionary_options small;
    small.population = 128;
    small.generations = 2;
    std::vector<augur::evolutionary<Executor>> strategies(p.tasks.size(), augur::evolutionary<Executor>(small, threads));
    augur::tlp::online_options options;
    options.first_update = 16;
    options.fit.fine.least_steps = 20;
    options.fit.epochs = 4;
    using model_type = augur::tlp::online_model<step_list, kernel_task, Executor>;
    model_type model(threads, options);
    augur::tuner t(p.tasks, p.spaces, strategies, model, threads, budget(80));
    std::vector<std::uint64_t> order;
    const auto sink = [&](const kernel_task& task, const step_list& s, const measurement& m) -> augur::result<void> {
        order.push_back(augur::hash_schedule(s));
        if (log != nullptr) return augur::log_sink(*log, made_with)(task, s, m);
        return {};
    };
    const auto summary = t.run(runner, {.sink = std::ref(sink)});
    REQUIRE(summary);
    CHECK(summary->model_errors == 0);
    CHECK(summary->counts[static_cast<std::size_t>(outcome::runner_error)] == 0); // all were in the log
    trainings = model.trainings();
    return order;
}

} // namespace

TEST_CASE("with TLP learning online, a replayed log gives the same proposals on one thread and on two") {
    const auto p = two_kernels();
    const scratch_file log;
    std::size_t trainings = 0;
    std::vector<std::uint64_t> live;
    {
        auto writer = augur::log_writer::open(log.path);
        REQUIRE(writer);
        augur::serial_executor serial;
        augur::function_runner runner(measured);
        live = guided(p, serial, runner, &*writer, trainings);
        CHECK(live.size() == 80);
        CHECK(trainings >= 2);
    }
    const auto old = augur::read_trials(log.path, p.tasks, made_with);
    REQUIRE(old);
    augur::replay_runner replay;
    for (const auto& t : old->trials) replay.add(t.task, t.schedule, t.outcome);
    augur::serial_executor one;
    CHECK(guided(p, one, replay, nullptr, trainings) == live);
    toy::threads two{2};
    CHECK(guided(p, two, replay, nullptr, trainings) == live);
}
