// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TLP on the schedules of a compiler of your own, asked by a search of your own. `docs/learning.md` goes through it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/tlp/vocabulary.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/inference/frozen_model.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/split.hpp>

namespace mycc { // a compiler and a search framework that know nothing of augur

struct loop {
    std::string name;
    std::int64_t extent = 1;
};
struct kernel { // its task
    std::string name;
    std::array<loop, 3> loops;
};
struct plan { // its schedule: the tile of each loop; the extents are the kernel's
    std::array<std::int64_t, 3> tiles{1, 1, 1};
    bool simd = false;
};
double run(const kernel& k, const plan& p) { // seconds; a made-up machine: tiles of the square root of an extent are best, and vectors along a long j
    double seconds = 1e-9;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto extent = static_cast<double>(k.loops[i].extent), tile = static_cast<double>(p.tiles[i]);
        seconds *= extent * (1 + 0.5 * std::abs(std::log2(tile) - std::log2(extent) / 2));
    }
    return p.simd ? seconds * (p.tiles[1] >= 8 ? 0.3 : 1.5) : seconds;
}
plan any(std::mt19937& rng) {
    plan p;
    for (auto& t : p.tiles) t = std::int64_t{1} << (rng() % 7);
    p.simd = rng() % 2 == 1;
    return p;
}
using cost_function = std::function<std::vector<float>(const std::vector<plan>&)>; // higher is better
plan search(const cost_function& cost, std::mt19937& rng) { // its search: the best of 64, then the best neighbour as long as there is a better one
    std::vector<plan> near(64);
    for (plan& p : near) p = any(rng);
    for (float most = -INFINITY;;) {
        const auto scores = cost(near);
        const auto at = std::max_element(scores.begin(), scores.end());
        const plan best = near[static_cast<std::size_t>(at - scores.begin())];
        if (*at <= most) return best;
        most = *at;
        near.assign(2, best);
        near[1].simd = !best.simd;
        for (std::size_t i = 0; i < best.tiles.size(); ++i)
            for (const auto size : {best.tiles[i] / 2, best.tiles[i] * 2})
                if (size >= 1 && size <= 64) (near.push_back(best), near.back().tiles[i] = size);
    }
}

} // namespace mycc

// 1. How a schedule is read, and what a task is called. The model sees what `visit` emits and nothing of the task: without the extents, equal tiles
// of a large and of a small kernel would have one score. A plan does not hold the extents, so the schedule here is a plan with its kernel.
struct kernel_plan {
    const mycc::kernel* k;
    mycc::plan p;
};
template <>
struct augur::schedule_traits<kernel_plan> {
    static void visit(const kernel_plan& s, auto& sink) {
        for (std::size_t i = 0; i < s.p.tiles.size(); ++i) {
            const auto& loop = s.k->loops[i];
            sink.primitive("tile"), sink.name(loop.name), sink.number(loop.extent), sink.number(s.p.tiles[i]);
        }
        if (s.p.simd) sink.primitive("simd");
    }
};
template <>
struct augur::task_traits<mycc::kernel> {
    static std::string_view key(const mycc::kernel& k) { return k.name; }
};

int main() {
    using namespace mycc;
    const auto failed = [](const augur::error& why) { return std::puts(why.detail.c_str()), 1; };
    // 2. What was measured: 27 kernels, 60 schedules each.
    std::vector<kernel> kernels;
    for (const std::int64_t i : {16, 64, 256})
        for (const std::int64_t j : {64, 256, 1024})
            for (const std::int64_t k : {16, 128, 512})
                kernels.push_back(
                    {"dense " + std::to_string(i) + " " + std::to_string(j) + " " + std::to_string(k), {{{"i", i}, {"j", j}, {"k", k}}}});
    std::mt19937 rng(1);
    augur::dataset_builder log;
    std::vector<kernel_plan> plans;
    for (const auto& k : kernels)
        for (int i = 0; i < 60; ++i) {
            augur::measurement m;
            m.status = augur::outcome::ok;
            m.seconds = {run(k, plans.emplace_back(kernel_plan{&k, any(rng)}).p)};
            if (auto done = log.add(*log.task(k.name, "my cpu", {}), log.source("my log"), plans.back(), m); !done) return failed(done.error());
        }
    const auto data = std::move(log).finish();
    // 3. The words of the language, and a network that learns from all kernels but those it is judged by.
    const auto schema = augur::tlp::schema::learn(plans, {});
    if (!schema) return failed(schema.error());
    auto trained = augur::tlp::trained_model::random_init(*schema, augur::tlp::config::small(0), augur::random_engine(1));
    if (!trained) return failed(trained.error());
    const augur::tlp::row_table rows(*schema, data.primitives());
    const auto split = augur::split_tasks(data, std::vector<bool>(data.tasks()), 1.0 / 3);
    augur::tlp::training_options options;
    options.epochs = 40; // few records
    options.batch = 128;
    augur::serial_executor executor; // or `tbb_executor`, or your own threads
    const auto report =
        augur::tlp::train_on_dataset(trained->model, rows, data, augur::tlp::make_samples(data, augur::tlp::records_of(data, split.train)),
                                     augur::tlp::make_samples(data, augur::tlp::records_of(data, split.validation)), executor, options);
    if (!report) return failed(report.error());
    // 4. The inference form behind the search's own interface: one model, a scorer a thread.
    const auto frozen = augur::tlp::freeze(*trained);
    if (!frozen) return failed(frozen.error());
    auto scorer = frozen->scorer(executor);
    double ratio = 0; // of the plans found, to the best of all
    for (const kernel& unseen : {kernel{"small", {{{"i", 16}, {"j", 128}, {"k", 32}}}}, kernel{"large", {{{"i", 256}, {"j", 512}, {"k", 512}}}}}) {
        const auto cost = [&](const std::vector<plan>& candidates) {
            std::vector<kernel_plan> read;
            for (const plan& p : candidates) read.push_back({&unseen, p});
            std::vector<float> scores(candidates.size(), -INFINITY);
            if (auto done = scorer.score(unseen, std::span<const kernel_plan>(read), std::span(scores)); !done) failed(done.error());
            return scores;
        };
        const plan best = search(cost, rng);
        double ideal = INFINITY;
        for (int t = 0; t < 7 * 7 * 7 * 2; ++t)
            ideal = std::min(ideal, run(unseen, {{1 << (t / 98), 1 << (t / 14 % 7), 1 << (t / 2 % 7)}, t % 2 == 1}));
        std::printf("%s: found tiles %lld %lld %lld%s, %.2f of the least time\n", unseen.name.c_str(), static_cast<long long>(best.tiles[0]),
                    static_cast<long long>(best.tiles[1]), static_cast<long long>(best.tiles[2]), best.simd ? ", simd" : "",
                    run(unseen, best) / ideal);
        ratio = std::max(ratio, run(unseen, best) / ideal);
    }
    std::printf("top-1 of kernels left out %.3f\n", report->history[report->best].top_1);
    return ratio <= 1.6 ? 0 : 1; // it runs as a test, so it checks itself
}
