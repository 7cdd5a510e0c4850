// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler of your own under our tuner: your schedule, your task, your space, your way to measure. Nothing of it is derived from a class of ours.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/search/random.hpp>
#include <augur/space/check.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/tune/tuning_log.hpp>
#include <augur/tune/tuner.hpp>

namespace mycc { // a compiler that knows nothing of augur

struct plan { // its schedule: two tile sizes and whether the outer loop is parallel
    std::int64_t rows = 1, columns = 1;
    bool parallel = false;
};
struct kernel { // its task
    std::string name;
    std::int64_t m = 0, n = 0;
};
double run(const kernel& k, const plan& p) { // seconds of a program; here a made-up machine with 8 registers and a small cache
    const auto tiles = static_cast<double>((k.m / p.rows) * (k.n / p.columns));
    const double spills = p.rows * p.columns > 8 ? 4 : 1, misses = 1 + std::abs(std::log2(static_cast<double>(p.columns)) - 2);
    return 1e-9 * tiles * static_cast<double>(p.rows * p.columns) * spills * misses / (p.parallel ? 2 : 1) + 1e-9 * tiles;
}

} // namespace mycc

// 1. How a schedule is read, for features, learned models and de-duplication, and how it is made again, for a log to go on with.
template <>
struct augur::schedule_traits<mycc::plan> {
    static void visit(const mycc::plan& p, auto& sink) {
        sink.primitive("tile");
        sink.number(p.rows);
        sink.number(p.columns);
        if (p.parallel) sink.primitive("parallel");
    }
    static result<mycc::plan> rebuild(const mycc::kernel&, std::span<const schedule_item> seen) {
        const bool whole = seen.size() >= 3 && seen.size() <= 4 && seen[0].text == "tile" && (seen.size() == 3 || seen[3].text == "parallel");
        if (!whole || seen[1].integer < 1 || seen[2].integer < 1)
            return error{errc::illegal_schedule, "expected: tile, rows, columns, perhaps parallel"};
        return mycc::plan{seen[1].integer, seen[2].integer, seen.size() == 4};
    }
};

// 2. What a task is called, and what else is known of it; its target, its weight and its class are left to their defaults.
template <>
struct augur::task_traits<mycc::kernel> {
    static std::string_view key(const mycc::kernel& k) { return k.name; }
    static double flops(const mycc::kernel& k) { return 2.0 * static_cast<double>(k.m * k.n); }
};

// 3. The decisions that make a schedule, one after the other, each with its legal options given the ones before.
struct tiling_space {
    mycc::kernel k;

    static std::uint64_t powers(std::int64_t n) { return static_cast<std::uint64_t>(std::log2(static_cast<double>(n))) + 1; }
    std::optional<augur::decision> next(std::span<const std::uint64_t> chosen) const {
        using kind = augur::decision_kind;
        switch (chosen.size()) {
        case 0: return augur::decision{kind::tile_size, powers(k.m)};
        case 1: return augur::decision{kind::tile_size, powers(k.n)};
        case 2: return augur::decision{kind::parallel, std::uint64_t{k.m >> chosen[0] > 1 ? 2U : 1U}}; // one tile alone cannot be shared out
        default: return std::nullopt;
        }
    }
    augur::result<mycc::plan> realise(std::span<const std::uint64_t> chosen) const {
        if (chosen.size() != 3) return augur::error{augur::errc::illegal_schedule, "a plan has three decisions"};
        return mycc::plan{std::int64_t{1} << chosen[0], std::int64_t{1} << chosen[1], chosen[2] == 1};
    }
};

// 4. How candidates are measured. One that fails would be a measurement with another outcome, never an exception.
struct my_runner {
    static std::vector<augur::measurement> measure(const mycc::kernel& k, std::span<const mycc::plan> candidates) {
        std::vector<augur::measurement> out(candidates.size());
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            out[i].status = augur::outcome::ok;
            out[i].seconds = {mycc::run(k, candidates[i])};
        }
        return out;
    }
};

int main(int argc, char** argv) { // plug_in [LOG]: with a log every trial is kept, and the next run goes on with them
    using namespace mycc;
    static_assert(augur::rebuildable_schedule<plan, kernel> && augur::task<kernel> && augur::decision_space<tiling_space, plan> &&
                  augur::runner<my_runner, plan, kernel>);
    const std::array tasks{kernel{"add 64x64", 64, 64}, kernel{"add 256x32", 256, 32}};
    const std::array spaces{tiling_space{tasks[0]}, tiling_space{tasks[1]}};
    augur::random_engine rng(1);
    if (auto sound = augur::testing::check_space<plan>(spaces[0], rng); !sound) return std::puts(sound.error().detail.c_str()), 1;

    // 5. The loop. With a cost model behind `strategies` the search is guided: see guided_plug_in.cpp.
    std::array<augur::random_search, 2> strategies;
    augur::tuning_options options;
    options.trials = 120; // of each task: more than there are: a space that is used up ends its task
    options.round = 10;
    augur::tuner tuner(tasks, spaces, strategies, options);
    my_runner runner;
    const augur::toolchain made_with(augur::identify(augur::detect_machine(), "", 1, "mycc 1.0"), "-O3"); // latencies of others would not count
    std::optional<augur::tuning_log<plan>> log;
    augur::tuning_hooks<plan, kernel> hooks; // none is needed
    if (argc > 1) {
        auto opened = augur::open_tuning_log<plan>(argv[1], tasks, made_with);
        if (!opened) return std::puts(opened.error().detail.c_str()), 1;
        log.emplace(*std::move(opened));
        for (const auto& text : log->passed_over()) std::puts(text.c_str());
        std::printf("%zu trials taken from the log\n", tuner.resume(std::move(log->found.trials)).taken);
        hooks.sink = augur::log_sink(log->writer, made_with);
    }
    const auto summary = tuner.run(runner, hooks);
    if (!summary) return std::puts(summary.error().detail.c_str()), 1;
    bool best_found = true;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto& t = summary->tasks[i];
        if (!t.best_trial) return std::printf("%s: every candidate failed\n", tasks[i].name.c_str()), 1;
        const auto& p = tuner.trials()[*t.best_trial].schedule;
        std::printf("%-10s %3zu trials, best %6.2f us: tile %lldx%lld%s\n", tasks[i].name.c_str(), t.trials, t.best_latency * 1e6,
                    static_cast<long long>(p.rows), static_cast<long long>(p.columns), p.parallel ? ", parallel" : "");
        best_found = best_found && p.columns == 4 && p.rows == 2 && p.parallel;
    }
    return best_found ? 0 : 1; // it runs as a test, so it checks itself
}
