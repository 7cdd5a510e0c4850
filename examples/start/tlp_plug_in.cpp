// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TLP on the schedules of a compiler of your own, asked by a search of your own. `docs/learning.md` goes through it.
#include <algorithm>
#include <cmath>
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

struct tile {
    std::string loop;
    std::int64_t size = 1;
};
struct plan { // its schedule
    std::vector<tile> tiles{{"i", 1}, {"j", 1}, {"k", 1}};
    bool simd = false;
};
struct kernel { // its task
    std::string name;
    double work = 1;
};
double run(const kernel& k, const plan& p) { // seconds; here a made-up machine that likes tiles of 16, and vectors along a long j
    double seconds = 1e-3 * k.work;
    for (const auto& t : p.tiles) seconds *= 1 + 0.3 * std::abs(std::log2(static_cast<double>(t.size)) - 4);
    return p.simd ? seconds * (p.tiles[1].size >= 8 ? 0.3 : 1.5) : seconds;
}
plan any(std::mt19937& rng) {
    plan p;
    for (auto& t : p.tiles) t.size = std::int64_t{1} << (rng() % 7);
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
            for (const auto size : {best.tiles[i].size / 2, best.tiles[i].size * 2})
                if (size >= 1 && size <= 64) (near.push_back(best), near.back().tiles[i].size = size);
    }
}

} // namespace mycc

// 1. How a schedule is read, and what a task is called.
template <>
struct augur::schedule_traits<mycc::plan> {
    static void visit(const mycc::plan& p, auto& sink) {
        for (const auto& t : p.tiles) sink.primitive("tile"), sink.name(t.loop), sink.number(t.size);
        if (p.simd) sink.primitive("simd");
    }
};
template <>
struct augur::task_traits<mycc::kernel> {
    static std::string_view key(const mycc::kernel& k) { return k.name; }
};

int main() {
    using namespace mycc;
    const auto failed = [](const augur::error& why) { return std::puts(why.detail.c_str()), 1; };
    // 2. What was measured: three kernels, 500 schedules each.
    const std::vector<kernel> kernels{{"conv", 1}, {"dense", 3}, {"pool", 0.2}};
    std::mt19937 rng(1);
    augur::dataset_builder log;
    std::vector<plan> plans;
    for (const auto& k : kernels)
        for (int i = 0; i < 500; ++i) {
            augur::measurement m;
            m.status = augur::outcome::ok;
            m.seconds = {run(k, plans.emplace_back(any(rng)))};
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
    options.epochs = 40;             // few records
    augur::serial_executor executor; // or `tbb_executor`, or your own threads
    const auto report =
        augur::tlp::train_on_dataset(trained->model, rows, data, augur::tlp::make_samples(data, augur::tlp::records_of(data, split.train)),
                                     augur::tlp::make_samples(data, augur::tlp::records_of(data, split.validation)), executor, options);
    if (!report) return failed(report.error());
    // 4. The inference form behind the search's own interface: one model, a scorer a thread.
    const auto frozen = augur::tlp::freeze(*trained);
    if (!frozen) return failed(frozen.error());
    auto scorer = frozen->scorer(executor);
    const kernel unseen{"a kernel that was never measured", 7};
    const auto cost = [&](const std::vector<plan>& candidates) {
        std::vector<float> scores(candidates.size(), -INFINITY);
        if (auto done = scorer.score(unseen, std::span(candidates), std::span(scores)); !done) failed(done.error());
        return scores;
    };
    const plan best = search(cost, rng);
    std::printf("top-1 of kernels left out %.3f; found tiles %lld %lld %lld%s\n", report->history[report->best].top_1,
                static_cast<long long>(best.tiles[0].size), static_cast<long long>(best.tiles[1].size), static_cast<long long>(best.tiles[2].size),
                best.simd ? ", simd" : "");
    const plan ideal{{{"i", 16}, {"j", 16}, {"k", 16}}, true};
    return run(unseen, best) <= 2 * run(unseen, ideal) ? 0 : 1; // it runs as a test, so it checks itself
}
