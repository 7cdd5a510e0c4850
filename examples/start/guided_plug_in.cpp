// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tuner with a learned model, for a compiler of your own: evolution under a TLP that learns from the records of the run, and finds the best
// schedule of a space after measuring a part of it. `plug_in.cpp` is the same without a model; it has the log, resumption, and comments on 1 to 4.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlp/online.hpp>
#include <augur/tlp/vocabulary.hpp>
#include <augur/tune/tuner.hpp>

namespace mycc { // a compiler that knows nothing of augur

struct kernel { // its task
    std::string name;
    std::int64_t m = 0, n = 0;
};
struct plan { // its schedule: the loops with their tiles, and how often the innermost loop is unrolled
    std::int64_t m = 1, n = 1, rows = 1, columns = 1, unroll = 1;
    bool parallel = false;
};
double run(const plan& p) { // seconds of a program; here a made-up machine
    const auto off = [](double wanted, std::int64_t got) { return std::abs(std::log2(wanted) - std::log2(static_cast<double>(got))); };
    const double wide = p.n >= 256 ? 32 : 8; // what is best depends on the shape
    double seconds = 1e-9 * static_cast<double>(p.m * p.n) * (1 + 0.4 * off(wide, p.columns)) * (1 + 0.3 * off(128 / wide, p.rows));
    seconds *= 1 + 0.2 * off(4, p.unroll) + (p.unroll * p.columns > 128 ? 1 : 0);
    return p.parallel ? seconds / 4 + 1e-6 * static_cast<double>(p.rows) / static_cast<double>(p.m) + 2e-6 : seconds;
}

} // namespace mycc

// 1. How a schedule is read: with the extent of each loop that is split, for the model sees nothing of a task but what `visit` says.
template <>
struct augur::schedule_traits<mycc::plan> {
    static void visit(const mycc::plan& p, auto& sink) {
        sink.primitive("tile"), sink.name("m"), sink.number(p.m), sink.number(p.rows);
        sink.primitive("tile"), sink.name("n"), sink.number(p.n), sink.number(p.columns);
        sink.primitive("unroll"), sink.number(p.unroll);
        if (p.parallel) sink.primitive("parallel");
    }
};

// 2. What a task is called.
template <>
struct augur::task_traits<mycc::kernel> {
    static std::string_view key(const mycc::kernel& k) { return k.name; }
};

// 3. The decisions that make a schedule.
struct plan_space {
    mycc::kernel k;

    static std::uint64_t powers(std::int64_t n) { return static_cast<std::uint64_t>(std::log2(static_cast<double>(n))) + 1; }
    std::optional<augur::decision> next(std::span<const std::uint64_t> chosen) const {
        using kind = augur::decision_kind;
        const std::array<augur::decision, 4> all{
            {{kind::tile_size, powers(k.m)}, {kind::tile_size, powers(k.n)}, {kind::unroll, 5}, {kind::parallel, 2}}};
        return chosen.size() < all.size() ? std::optional(all[chosen.size()]) : std::nullopt;
    }
    augur::result<mycc::plan> realise(std::span<const std::uint64_t> chosen) const {
        if (chosen.size() != 4) return augur::error{augur::errc::illegal_schedule, "a plan has four decisions"};
        return mycc::plan{k.m, k.n, std::int64_t{1} << chosen[0], std::int64_t{1} << chosen[1], std::int64_t{1} << chosen[2], chosen[3] == 1};
    }
};

// 4. How candidates are measured.
struct my_runner {
    static std::vector<augur::measurement> measure(const mycc::kernel&, std::span<const mycc::plan> candidates) {
        std::vector<augur::measurement> out(candidates.size());
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            out[i].status = augur::outcome::ok;
            out[i].seconds = {mycc::run(candidates[i])};
        }
        return out;
    }
};

int main() {
    using namespace mycc;
    const auto failed = [](const augur::error& why) { return std::puts(why.detail.c_str()), 1; };
    const std::array tasks{kernel{"add 256x64", 256, 64}, kernel{"add 64x1024", 64, 1024}};
    const std::array spaces{plan_space{tasks[0]}, plan_space{tasks[1]}};

    // 5. The executors. The tuner realises points on its executor, a strategy breeds and scores on its own, the model trains and scores on its own.
    //    They may be one object, as the three never compute at the same time. The runner needs none. An executor of your own has `bulk(n, f)` and
    //    `concurrency()` (core/executor.hpp); then the library starts no thread.
    augur::thread_pool_executor threads(2);

    // 6. The model. Its vocabulary comes from some schedules of the spaces, which are not measured.
    augur::random_engine rng(1);
    std::vector<plan> examples;
    for (const auto& space : spaces)
        for (int i = 0; i < 100; ++i) examples.push_back(*space.realise(augur::sample_path(space, rng).values));
    const auto schema = augur::tlp::schema::learn(examples, {});
    if (!schema) return failed(schema.error());
    augur::tlp::online_options learning;
    learning.schema = *schema;
    learning.first_update = 32; // records: before them the search is random; then at 64 and 128
    learning.fit.epochs = 40;
    learning.fit.fine.least_steps = 120; // so that the example is short
    augur::tlp::online_model<plan, kernel, augur::thread_pool_executor> model(threads, learning);

    // 7. A strategy a task, and the loop.
    augur::evolutionary_options search;
    search.population = 256; // of some 700: the default is for spaces of millions of points
    std::vector strategies(2, augur::evolutionary(search, threads));
    augur::tuning_options options;
    options.trials = 96; // of each task, on average
    options.round = 16;
    options.seed = 1;
    augur::tuner tuner(tasks, spaces, strategies, model, threads, options);
    my_runner runner;
    const auto summary = tuner.run(runner);
    if (!summary) return failed(summary.error());

    // 8. All points of the spaces, to check the result.
    bool best_found = summary->model_errors == 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        std::size_t points = 0;
        double least = INFINITY;
        for (std::uint64_t rows = 0; rows < plan_space::powers(tasks[i].m); ++rows)
            for (std::uint64_t columns = 0; columns < plan_space::powers(tasks[i].n); ++columns)
                for (std::uint64_t rest = 0; rest < 10; ++rest, ++points)
                    least = std::min(least, run(*spaces[i].realise(std::array{rows, columns, rest / 2, rest % 2})));
        const auto& t = summary->tasks[i];
        std::printf("%-12s %3zu trials of %3zu points, best %.3f us, best of all %.3f us\n", tasks[i].name.c_str(), t.trials, points,
                    t.best_latency * 1e6, least * 1e6);
        best_found = best_found && t.best_latency == least && t.trials < points / 2;
    }
    return best_found ? 0 : 1; // it runs as a test, so it checks itself
}
