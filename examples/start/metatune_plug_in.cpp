// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune for a compiler of your own: from its loop nests and measurements to weights, and a search for a kernel that was never measured.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/thread_pool.hpp>
#include <augur/metatune/cost_model.hpp>
#include <augur/metatune/nest_rows.hpp>
#include <augur/metatune/weights_file.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/space/walk.hpp>
#include <augur/tune/tuner.hpp>

namespace mycc { // a compiler that knows nothing of augur

struct kernel { // its task: C(m,n) += A(m,k) B(k,n)
    std::string name;
    std::int64_t m = 0, n = 0, k = 0;
};
struct plan { // its schedule: a tile size of each loop, and two switches
    std::int64_t rows = 1, columns = 1, depth = 1;
    bool simd = false, parallel = false;
};
struct program { // its loops
    kernel of;
    plan by;
};
double run(const kernel& k, const plan& p) { // seconds; a made-up machine with 4 cores, vectors of 8 floats and a cache of 4096 floats
    const auto of = [](std::int64_t x) { return static_cast<double>(x); };
    const double work = of(k.m * k.n * k.k), tile = of(p.rows * p.depth + p.depth * p.columns + p.rows * p.columns);
    const double lanes = p.simd ? of((std::min)(p.columns, std::int64_t{8})) * 0.8 : 1;
    const double traffic = 4 * (1 / of(p.rows) + 1 / of(p.columns) + 1 / of(p.depth)) * (std::max)(1.0, tile / 4096);
    const double cores = p.parallel ? (std::min)(4.0, of(k.m / p.rows)) : 1;
    return 1e-10 * work * (1 / lanes + traffic) / cores + (p.parallel ? 2e-6 : 0);
}

} // namespace mycc

// 1. How a schedule is read, what a task is called, and what the loops of a program are. Loops and buffers of one name correspond in all kernels.
template <>
struct augur::schedule_traits<mycc::plan> {
    static void visit(const mycc::plan& p, auto& sink) {
        sink.primitive("tile");
        for (const auto size : {p.rows, p.columns, p.depth}) sink.number(size);
        if (p.simd) sink.primitive("simd");
        if (p.parallel) sink.primitive("parallel");
    }
};
template <>
struct augur::task_traits<mycc::kernel> {
    static std::string_view key(const mycc::kernel& k) { return k.name; }
};
template <>
struct augur::loop_nest_traits<mycc::program> {
    static void visit(const mycc::program& program, auto& sink) {
        const auto& [k, p] = program;
        for (const auto& [name, floats] : {std::pair{"A", k.m * k.k}, std::pair{"B", k.k * k.n}, std::pair{"C", k.m * k.n}}) {
            name_next(sink, name);
            sink.buffer(4 * floats);
        }
        const auto loop = [&](const char* axis, std::uint32_t level, std::int64_t length, nest_annotation how) {
            name_next(sink, axis, level);
            sink.begin_loop(length, how);
        };
        using enum nest_annotation;
        loop("i", 0, k.m / p.rows, p.parallel ? parallel : serial); // loop 0; the digits of an access count loops from the outermost
        loop("j", 0, k.n / p.columns, serial);
        loop("k", 0, k.k / p.depth, serial);
        loop("k", 1, p.depth, serial);
        loop("i", 1, p.rows, serial);
        loop("j", 1, p.columns, p.simd ? vectorized : serial);
        constexpr auto f32 = element_type::f32;
        const nest_access a{0, f32, 0, {{0, p.rows * k.k}, {4, k.k}, {2, p.depth}, {3, 1}}};
        const nest_access b{1, f32, 0, {{2, p.depth * k.n}, {3, k.n}, {1, p.columns}, {5, 1}}};
        const nest_access c{2, f32, 0, {{0, p.rows * k.n}, {4, k.n}, {1, p.columns}, {5, 1}}};
        nest_statement s;
        s.store(c, s.add(instruction_class::fma, f32, {s.load(a), s.load(b), s.load(c)}));
        sink.statement(s);
        for (int i = 0; i < 6; ++i) sink.end_loop();
    }
};
struct loops_of { // the candidate as a loop nest; with several threads it is called concurrently
    augur::result<mycc::program> operator()(const mycc::kernel& k, const mycc::plan& p) const { return mycc::program{k, p}; }
};

// 2. The decisions that make a schedule, and how it is measured: see plug_in.cpp.
struct plan_space {
    mycc::kernel k;
    std::optional<augur::decision> next(std::span<const std::uint64_t> chosen) const {
        if (chosen.size() < 3) return augur::decision{augur::decision_kind::tile_size, 7}; // 1, 2, 4, ... 64
        if (chosen.size() < 5) return augur::decision{chosen.size() == 3 ? augur::decision_kind::vectorize : augur::decision_kind::parallel, 2};
        return std::nullopt;
    }
    augur::result<mycc::plan> realise(std::span<const std::uint64_t> c) const {
        if (c.size() != 5) return augur::error{augur::errc::illegal_schedule, "a plan has five decisions"};
        return mycc::plan{std::int64_t{1} << c[0], std::int64_t{1} << c[1], std::int64_t{1} << c[2], c[3] == 1, c[4] == 1};
    }
};
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

int main() {
    namespace metatune = augur::metatune;
    using mycc::kernel, mycc::plan, mycc::run;
    const auto failed = [](const augur::error& why) { return std::puts(why.detail.c_str()), 1; };
    augur::thread_pool_executor threads; // the results are the same for any number of threads
    // 3. The super-graph has slots for the loops of the candidates that are added: one of every loop structure. Here all plans have the same loops.
    const auto features = augur::iterator_features_of(mycc::program{{"", 64, 64, 64}, {}});
    if (!features) return failed(features.error());
    metatune::super_graph graph;
    if (auto added = graph.add(*features, "matmul"); !added) return failed(added.error());
    // 4. What was measured: 80 plans of each of 12 kernels.
    const metatune::nest_rows rows(graph, {}, loops_of(), "matmul");
    augur::random_engine rng(1);
    std::vector<metatune::task_samples> samples;
    for (const std::int64_t m : {64, 256})
        for (const std::int64_t n : {64, 128, 512})
            for (const std::int64_t k : {64, 256}) {
                const kernel task{"matmul", m, n, k};
                const plan_space space{task};
                samples.emplace_back();
                for (int i = 0; i < 80; ++i) {
                    const plan p = *space.realise(augur::sample_path(space, rng).values);
                    auto loops = rows(task, p);
                    if (!loops) return failed(loops.error());
                    samples.back().candidates.push_back(*std::move(loops));
                    samples.back().seconds.push_back(run(task, p)); // infinity for a candidate that fails
                }
            }
    // 5. Standardisation, pre-training, and meta-training for the fine-tuning that the search does. The file has weights, super-graph and columns.
    const auto columns = metatune::standardise(samples);
    if (!columns) return failed(columns.error());
    metatune::config shape;
    shape.features = static_cast<augur::nn::index>(graph.columns());
    metatune::training_state state(metatune::network<float>::random_init(shape, augur::random_engine(1)));
    const auto go_on = [](const metatune::training_progress&) { return true; };
    metatune::pretraining_options first;
    first.epochs = 40; // few samples
    if (auto done = metatune::pretrain(state, samples, threads, first, go_on); !done) return failed(done.error());
    const metatune::fine_tuning_options adapts;
    auto second = metatune::meta_training_options::preparing(adapts);
    second.steps = 200;
    state = metatune::training_state(std::move(state.net));
    if (auto done = metatune::meta_train(state, samples, threads, second, go_on); !done) return failed(done.error());
    const std::string file = "metatune_plug_in.safetensors";
    if (auto saved = metatune::save({state.net, metatune::to_text(graph), *columns}, file); !saved) return failed(saved.error());
    // 6. The search, usually another program: the weights rank the plans of a kernel that was never measured, and adapt to it after each round.
    const auto loaded = metatune::load(file);
    std::remove(file.c_str());
    if (!loaded) return failed(loaded.error());
    auto read = metatune::nest_rows<loops_of>::create(*loaded, {}, "matmul");
    if (!read) return failed(read.error());
    metatune::cost_model<plan, kernel, metatune::nest_rows<loops_of>, augur::thread_pool_executor> model(*std::move(read), loaded->net, threads,
                                                                                                         adapts);
    const std::array tasks{kernel{"matmul 192x320x128", 192, 320, 128}};
    const std::array spaces{plan_space{tasks[0]}};
    std::array<augur::evolutionary<>, 1> strategies{augur::evolutionary(augur::evolutionary_options{.population = 256})};
    augur::tuning_options options;
    options.trials = 12;
    options.round = 4;
    augur::tuner tuner(tasks, spaces, strategies, model, options);
    my_runner runner;
    const auto summary = tuner.run(runner);
    if (!summary) return failed(summary.error());
    if (model.last_failure()) return failed(*model.last_failure()); // why a candidate of the last batch has no score
    // 7. All plans, to compare with.
    std::vector<double> all;
    for (std::uint64_t i = 0; i < 7 * 7 * 7 * 4; ++i)
        all.push_back(run(tasks[0], *spaces[0].realise(std::array{i % 7, i / 7 % 7, i / 49 % 7, i / 343 % 2, i / 686})));
    std::sort(all.begin(), all.end());
    const double best = summary->tasks[0].best_latency;
    std::printf("%s: %.1f us after %zu trials; best of all %zu plans %.1f us; best of %zu at random about %.1f us\n", tasks[0].name.c_str(),
                best * 1e6, summary->trials, all.size(), all.front() * 1e6, summary->trials, all[all.size() / (summary->trials + 1)] * 1e6);
    return best <= 1.1 * all.front() ? 0 : 1; // it runs as a test, so it checks itself
}
