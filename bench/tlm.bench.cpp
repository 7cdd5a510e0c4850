// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TLM: sentences, GPT-2 in generation and training as a share of the machine's multiply-adds, masks. Sizes: the paper's 12 x 768, and 4 x 256.
#include <augur/tlm.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/workload/networks.hpp>
#include <benchmark/benchmark.h>

#include "limits.hpp"

namespace tlm = augur::tlm;
namespace nn = augur::nn;

namespace {

const tlm::gpt2_config large{4096, 512, 12, 768, 12, 3072}, small{4096, 512, 4, 256, 4, 1024};

template <tlm::precision Precision>
const tlm::frozen_gpt2& frozen(const tlm::gpt2_config& c) {
    static const tlm::frozen_gpt2 models[] = {
        tlm::frozen_gpt2(tlm::gpt2<float>::random_init(large, augur::random_engine(1)), {.precision = Precision}),
        tlm::frozen_gpt2(tlm::gpt2<float>::random_init(small, augur::random_engine(1)), {.precision = Precision})};
    return models[c == large ? 0 : 1];
}
const tlm::frozen_gpt2& frozen(const tlm::gpt2_config& c, tlm::precision p) {
    return p == tlm::precision::bf16 ? frozen<tlm::precision::bf16>(c) : frozen<tlm::precision::single>(c);
}

std::vector<tlm::token> tokens(std::size_t n, std::uint64_t seed) {
    augur::random_engine rng(seed);
    std::vector<tlm::token> out(n);
    for (auto& t : out) t = static_cast<tlm::token>(rng.below(4096));
    return out;
}

/// Multiply-adds, twice, of a token that attends to `keys` tokens, without and with the logits.
double operations(const tlm::gpt2_config& c, double keys, bool logits) {
    const auto d = static_cast<double>(c.width), f = static_cast<double>(c.hidden);
    return 2 * (static_cast<double>(c.layers) * (4 * d * d + 2 * d * f + 2 * keys * d) + (logits ? d * static_cast<double>(c.words) : 0));
}

/// Bytes a second out of 256 MiB, as limit/read_bandwidth, at this moment: the best of three tries.
double read_bandwidth_now() {
    static const std::vector<std::uint64_t> memory(std::size_t{1} << 25U, 1);
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        const double start = limits::thread_seconds();
        std::uint64_t sum[8] = {};
        for (std::size_t at = 0; at < memory.size(); at += 8)
            for (std::size_t j = 0; j < 8; ++j) sum[j] += memory[at + j];
        benchmark::DoNotOptimize(sum);
        best = (std::max)(best, static_cast<double>(memory.size() * sizeof memory[0]) / (limits::thread_seconds() - start));
    }
    return best;
}

/// How much of its bound timed work reaches: the time of its operations at the peak, and of the bytes of all weights, which each step reads, out of memory.
/// Memory is measured before and behind all pieces: right before one it would take the weights out of the caches.
class share_of_bound {
public:
    share_of_bound(const tlm::gpt2_config& c, tlm::precision p)
        : bf16_(p == tlm::precision::bf16), weights_((bf16_ ? 2 : 4) * c.parameters()), peak_(bf16_ ? limits::dot_bf16_now : limits::fma_f32_now),
          bandwidth_(read_bandwidth_now()) {}
    void begin() { peak_.begin(); }
    void end(double work, double steps, double seconds) {
        peak_.end(work, seconds);
        steps_ += steps;
        seconds_ += seconds;
    }
    void report(benchmark::State& state) const {
        const double bytes_a_second = weights_ * steps_ / seconds_, bandwidth = (bandwidth_ + read_bandwidth_now()) / 2;
        state.counters[bf16_ ? "of_bf16" : "of_fma"] = peak_.value();
        state.counters["of_bound"] = peak_.value() + bytes_a_second / bandwidth; // both times of the bound over that of the work
        state.counters["weights_GB/s"] = 1e-9 * bytes_a_second;
    }

private:
    bool bf16_;
    double weights_; ///< bytes
    limits::share_of_peak peak_;
    double bandwidth_, steps_ = 0, seconds_ = 0;
};

constexpr std::size_t prompt = 100, length = 60;

/// 60 tokens behind a prompt of 100, `batch` sequences at a time; items are tokens.
void decode(benchmark::State& state, const tlm::gpt2_config& c, std::size_t batch, tlm::precision p) {
    const auto& model = frozen(c, p);
    if (model.precision() != p) return state.SkipWithError("bf16 is not faster here");
    auto session = *model.open(tokens(prompt, 2));
    std::vector<std::size_t> all(batch);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<float> logits(batch * model.words());
    const auto next = tokens(batch * length, 3);
    share_of_bound share(c, p);
    double work = 0;
    for (std::size_t t = 0; t < length; ++t) work += static_cast<double>(batch) * operations(c, static_cast<double>(prompt + t + 1), true);
    const auto run = [&] {
        session.sequences(batch);
        for (std::size_t t = 0; t < length; ++t) {
            for (std::size_t i = 0; i < batch; ++i) session.append(i, std::span(next).subspan(t * batch + i, 1));
            benchmark::DoNotOptimize(session.logits(all, logits));
        }
    };
    run(); // memory is there, then
    for (auto _ : state) {
        state.PauseTiming();
        share.begin();
        state.ResumeTiming();
        const double start = limits::thread_seconds();
        run();
        const double seconds = limits::thread_seconds() - start;
        state.PauseTiming();
        share.end(work, static_cast<double>(length), seconds);
        state.ResumeTiming();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(batch * length) * state.iterations());
    share.report(state);
    state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * work * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// The same of 64 sequences, by the clock, on as many threads as the argument says.
void decode_on_threads(benchmark::State& state, const tlm::gpt2_config& c) {
    constexpr std::size_t batch = 64;
    augur::thread_pool_executor threads(static_cast<std::size_t>(state.range(0)));
    if (threads.concurrency() > std::thread::hardware_concurrency()) return state.SkipWithError("fewer processors");
    const tlm::frozen_gpt2 model(frozen(c, tlm::precision::single).net(), threads);
    auto session = *model.open(tokens(prompt, 2));
    std::vector<std::size_t> all(batch);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<float> logits(batch * model.words());
    const auto next = tokens(batch * length, 3);
    for (auto _ : state) {
        session.sequences(batch);
        for (std::size_t t = 0; t < length; ++t) {
            for (std::size_t i = 0; i < batch; ++i) session.append(i, std::span(next).subspan(t * batch + i, 1));
            benchmark::DoNotOptimize(session.logits(all, logits));
        }
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(batch * length) * state.iterations());
}

/// A prompt of 100 tokens; items are tokens.
void prefill(benchmark::State& state, const tlm::gpt2_config& c, tlm::precision p) {
    const auto& model = frozen(c, p);
    if (model.precision() != p) return state.SkipWithError("bf16 is not faster here");
    const auto text = tokens(prompt, 2);
    share_of_bound share(c, p);
    double work = operations(c, 0, true) - operations(c, 0, false);
    for (std::size_t t = 0; t < prompt; ++t) work += operations(c, static_cast<double>(t + 1), false);
    for (auto _ : state) {
        state.PauseTiming();
        share.begin();
        state.ResumeTiming();
        const double start = limits::thread_seconds();
        benchmark::DoNotOptimize(model.open(text));
        const double seconds = limits::thread_seconds() - start;
        state.PauseTiming();
        share.end(work, 1, seconds);
        state.ResumeTiming();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(prompt) * state.iterations());
    share.report(state);
}

/// Forward, backward and AdamW of 4 sequences of 64 tokens, each of which is learned; items are tokens.
void train(benchmark::State& state, const tlm::gpt2_config& c) {
    auto net = tlm::gpt2<float>::random_init(c, augur::random_engine(1));
    auto grad = tlm::gpt2<float>::zeros(c);
    nn::adam<tlm::gpt2<float>> adam(net, {.learning_rate = 1e-4, .weight_decay = 0});
    tlm::gpt2_pass<float> pass;
    const std::vector<std::uint8_t> learned(65, 1);
    double work = 0;
    for (int t = 0; t < 64; ++t) work += 4 * 3 * operations(c, t + 1, true);
    share_of_bound share(c, tlm::precision::single);
    const auto step = [&] {
        pass.begin();
        for (std::uint64_t i = 0; i < 4; ++i) pass.sentence(tokens(65, i), learned);
        pass.forward(net);
        nn::set_zero(grad);
        benchmark::DoNotOptimize(pass.loss(net, 1.0 / 256, grad));
        pass.backward(net, grad);
        nn::clip_norm(grad, 1);
        adam.step(net, grad);
    };
    step(); // memory is there, then
    for (auto _ : state) {
        state.PauseTiming();
        share.begin();
        state.ResumeTiming();
        const double start = limits::thread_seconds();
        step();
        const double seconds = limits::thread_seconds() - start;
        state.PauseTiming();
        share.end(work, 1, seconds);
        state.ResumeTiming();
    }
    state.SetItemsProcessed(256 * state.iterations());
    share.report(state);
}

/// resnet_50's kernel with the largest decision.
struct largest {
    std::size_t at = 0; ///< which decision it is
    std::uint64_t options = 0;
    augur::decision_vector before; ///< the decisions that lead to it
    augur::loopnest::ansor_space space;
    std::string prompt;
    tlm::vocabulary words;

    largest() : space(make()), prompt(text()), words(build(space)) {}
    static std::string text() { // with the token that begins a sentence, as long as the prompt of the others
        std::string out;
        for (std::size_t i = 2; i < ::prompt; ++i) out += "conv2d ";
        return out += "PPT";
    }
    augur::loopnest::ansor_space make() {
        std::optional<augur::loopnest::ansor_space> best;
        const auto network = *augur::find_network("resnet_50");
        for (const auto& k : network.kernels) {
            auto s = *augur::loopnest::ansor_space::create(augur::loopnest::kernel_task::create(k.workload, {})->dag(), {});
            augur::random_engine rng(1);
            const auto path = augur::sample_path(s, rng);
            for (std::size_t i = 0; i < path.decisions.size(); ++i)
                if (path.decisions[i].options > options) {
                    options = path.decisions[i].options;
                    at = i;
                    before.assign(path.values.begin(), path.values.begin() + static_cast<std::ptrdiff_t>(i));
                    best.emplace(s);
                }
        }
        return *best;
    }
    static tlm::vocabulary build(const augur::loopnest::ansor_space& s) {
        augur::dataset_builder to;
        const auto source = to.source("x");
        static_cast<void>(tlm::sample_sentences(to, source, "conv2d PPT", s, 2000, augur::random_engine(1)));
        auto counted = tlm::count_words(std::move(to).finish());
        auto v = *counted.build();
        for (int i = 0; v.size() < 4096; ++i) { // as many words as the models have
            for (std::size_t n = 4096 - v.size(); n > 0; --n) counted.add("word" + std::to_string(i) + "x" + std::to_string(n));
            v = *counted.build();
        }
        return v;
    }
};
const largest& largest_decision() {
    static const largest one;
    return one;
}

/// As `decode`, with a mask from the space; items are tokens behind the prompt, those without an alternative too, whose logits the model does not tell.
void constrained(benchmark::State& state, const tlm::gpt2_config& c) {
    const auto& one = largest_decision();
    const auto& model = frozen(c, tlm::precision::single);
    auto g =
        *tlm::generator<tlm::frozen_gpt2, augur::loopnest::ansor_space>::create(model, one.words, tlm::sentence_form::compact, one.prompt, one.space);
    tlm::generation_options o;
    limits::share_of_peak share;
    const auto keys = static_cast<double>(prompt); // those behind the prompt are left out of the account
    const auto work = [&] {
        return static_cast<double>(g.report().choices()) * operations(c, keys, true) +
               static_cast<double>(g.report().forced) * operations(c, keys, false);
    };
    for (auto _ : state) {
        state.PauseTiming();
        ++o.seed;
        const double before = work();
        share.begin();
        state.ResumeTiming();
        const double start = limits::thread_seconds();
        benchmark::DoNotOptimize(g.generate(o));
        const double seconds = limits::thread_seconds() - start;
        state.PauseTiming();
        share.end(work() - before, seconds);
        state.ResumeTiming();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(g.report().choices() + g.report().forced));
    state.counters["of_fma"] = share.value();
    state.counters["points"] = benchmark::Counter(static_cast<double>(g.report().points), benchmark::Counter::kIsRate);
}

/// The legal tokens of the largest decision, spelled at random; items are tokens. The walk to it is the same for both, and outside.
void mask(benchmark::State& state) {
    const auto& one = largest_decision();
    augur::random_engine rng(1);
    std::int64_t steps = 0;
    std::vector<tlm::token> passed;
    for (auto _ : state) {
        state.PauseTiming();
        tlm::token_walk<augur::loopnest::ansor_space> walk(one.space, one.words, tlm::sentence_form::compact);
        static_cast<void>(walk.advance(passed));
        while (walk.decisions().size() < one.at) {
            walk.choose(*walk.towards(one.before[walk.decisions().size()]));
            static_cast<void>(walk.advance(passed));
        }
        state.ResumeTiming();
        while (walk.decisions().size() == one.at) {
            walk.choose(walk.choices()[rng.below(walk.choices().size())]);
            ++steps;
            if (!walk.advance(passed)) break;
        }
    }
    state.SetItemsProcessed(steps);
    state.counters["options"] = static_cast<double>(one.options);
}

/// The same by listing every option of the decision.
void mask_naive(benchmark::State& state) {
    const auto& one = largest_decision();
    augur::random_engine rng(1);
    std::int64_t steps = 0;
    std::vector<std::uint8_t> legal(one.words.size());
    tlm::sentence_walk<augur::loopnest::ansor_space> walk(one.space);
    static_cast<void>(walk.next());
    for (const auto v : one.before) {
        walk.choose(v);
        static_cast<void>(walk.next());
    }
    for (auto _ : state) {
        std::vector<std::vector<tlm::token>> options(one.options);
        for (std::uint64_t v = 0; v < one.options; ++v) {
            tlm::word_sink sink([&](std::string_view w) { one.words.append(w, options[v]); });
            walk.value(v, sink);
        }
        const auto& chosen = options[rng.below(one.options)];
        for (std::size_t at = 0; at < chosen.size(); ++at) {
            std::fill(legal.begin(), legal.end(), std::uint8_t{0});
            std::size_t several = 0;
            for (const auto& o : options)
                if (std::equal(o.begin(), o.begin() + static_cast<std::ptrdiff_t>(at), chosen.begin()) && legal[o[at]]++ == 0) ++several;
            benchmark::DoNotOptimize(legal.data());
            steps += several > 1 ? 1 : 0;
        }
    }
    state.SetItemsProcessed(steps);
}

/// Sentences of resnet_50's largest convolution, sampled and written; beside `tlm/sample/points`, the sampling alone.
void sample(benchmark::State& state) {
    const auto& one = largest_decision();
    std::uint64_t seed = 0;
    for (auto _ : state) {
        augur::dataset_builder to;
        const auto source = to.source("x");
        benchmark::DoNotOptimize(tlm::sample_sentences(to, source, one.prompt, one.space, 1000, augur::random_engine(++seed)));
    }
    state.SetItemsProcessed(1000 * state.iterations());
}
void sample_points(benchmark::State& state) {
    const auto& one = largest_decision();
    augur::random_engine rng(1);
    for (auto _ : state)
        for (int i = 0; i < 1000; ++i) benchmark::DoNotOptimize(augur::sample_path(one.space, rng));
    state.SetItemsProcessed(1000 * state.iterations());
}

} // namespace

BENCHMARK_CAPTURE(decode, large64, large, 64, tlm::precision::single)->Name("tlm/decode/batch64/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, large1, large, 1, tlm::precision::single)->Name("tlm/decode/batch1/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prefill, large, large, tlm::precision::single)->Name("tlm/prefill/100/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, large64_bf16, large, 64, tlm::precision::bf16)->Name("tlm/decode/batch64/bf16")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, large1_bf16, large, 1, tlm::precision::bf16)->Name("tlm/decode/batch1/bf16")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prefill, large_bf16, large, tlm::precision::bf16)->Name("tlm/prefill/100/bf16")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(train, large, large)->Name("tlm/train/b4t64/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(constrained, large, large)->Name("tlm/decode/constrained")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, small64, small, 64, tlm::precision::single)->Name("tlm/small/decode/batch64/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prefill, small, small, tlm::precision::single)->Name("tlm/small/prefill/100/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, small64_bf16, small, 64, tlm::precision::bf16)->Name("tlm/small/decode/batch64/bf16")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(train, small, small)->Name("tlm/small/train/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(constrained, small, small)->Name("tlm/small/decode/constrained")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode_on_threads, large, large)->Name("tlm/decode/batch64/threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode_on_threads, small, small)
    ->Name("tlm/small/decode/batch64/threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(mask)->Name("tlm/mask");
BENCHMARK(mask_naive)->Name("tlm/mask/naive");
BENCHMARK(sample)->Name("tlm/sample")->Unit(benchmark::kMillisecond);
BENCHMARK(sample_points)->Name("tlm/sample/points")->Unit(benchmark::kMillisecond);
