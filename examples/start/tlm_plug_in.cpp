// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A language model that writes the schedules of a compiler of your own: it learns from the fast schedules of some kernels, and writes those of another.
// Then the same with a model of your own, the trigram counter of trigrams.hpp.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/tlm.hpp>

#include "trigrams.hpp"

namespace mycc { // a compiler that knows nothing of augur

struct kernel { // its task
    std::string name;
    std::int64_t m = 0, n = 0;
};
struct plan { // its schedule
    std::int64_t rows = 1, columns = 1;
    int unroll = 0;
};
double run(const kernel& k, const plan& p) { // seconds; here a made-up machine that likes 8 columns, tiles of 64 and a little unrolling
    const auto tile = static_cast<double>(p.rows * p.columns);
    double seconds = 1e-9 * static_cast<double>(k.m * k.n) * (1 + std::abs(std::log2(static_cast<double>(p.columns)) - 3));
    seconds *= 1 + std::abs(std::log2(tile) - 6) / 2;
    return seconds * (p.unroll == 1 ? 0.8 : 1);
}

} // namespace mycc

template <>
struct augur::task_traits<mycc::kernel> {
    static std::string_view key(const mycc::kernel& k) { return k.name; }
};

// Its decisions, with their meanings: names and words of a language model's sentences.
struct plan_space {
    mycc::kernel k;

    struct walk {
        mycc::kernel k;
        std::vector<std::uint64_t> chosen;
        static std::uint64_t powers(std::int64_t n) { return static_cast<std::uint64_t>(std::log2(static_cast<double>(n))) + 1; }
        [[nodiscard]] std::optional<augur::decision> next() const {
            using kind = augur::decision_kind;
            switch (chosen.size()) {
            case 0: return augur::decision{kind::tile_size, powers(k.m)};
            case 1: return augur::decision{kind::tile_size, powers(k.n)};
            case 2: return augur::decision{kind::unroll, 3};
            default: return std::nullopt;
            }
        }
        void choose(std::uint64_t value) { chosen.push_back(value); }
        void describe(auto& sink) const { sink.primitive(chosen.empty() ? "rows" : chosen.size() == 1 ? "columns" : "unroll"); }
        [[nodiscard]] augur::decision_scale scale() const { return {augur::decision_scale::kind::ordinal}; }
        void words(std::uint64_t value, auto& sink) const {
            sink.number(chosen.size() < 2 ? std::int64_t{1} << value : static_cast<std::int64_t>(value));
        }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item> words) const {
            if (words.size() != 1 || words[0].integer < 0) return std::nullopt;
            const auto n = static_cast<std::uint64_t>(words[0].integer);
            return (std::min)(chosen.size() < 2 ? static_cast<std::uint64_t>(std::log2(static_cast<double>(n) + 0.5)) : n, next()->options - 1);
        }
    };
    [[nodiscard]] walk cursor() const { return {k, {}}; }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> chosen) const {
        return walk{k, {chosen.begin(), chosen.end()}}.next();
    }
    [[nodiscard]] static mycc::plan make(std::span<const std::uint64_t> chosen) {
        return {std::int64_t{1} << chosen[0], std::int64_t{1} << chosen[1], static_cast<int>(chosen[2])};
    }
};
static_assert(augur::described_space<plan_space>);

int main() {
    namespace tlm = augur::tlm;
    using mycc::kernel, mycc::run;
    const auto failed = [](const augur::error& why) { return std::puts(why.detail.c_str()), 1; };
    const auto mean_of = [](const kernel& k, const std::vector<augur::decision_vector>& points) {
        double sum = 0;
        for (const auto& p : points) sum += run(k, plan_space::make(p));
        return 1e6 * sum / static_cast<double>(points.size());
    };
    // 1. Some kernels are measured at random; the fastest tenth of their schedules become sentences.
    augur::random_engine rng(1);
    augur::dataset_builder fast;
    for (const std::int64_t m : {32, 64, 128, 256})
        for (const std::int64_t n : {32, 64, 128}) {
            const kernel k{"add " + std::to_string(m) + " " + std::to_string(n), m, n};
            const plan_space space{k};
            std::vector<std::pair<double, augur::decision_vector>> measured;
            for (int i = 0; i < 100; ++i) {
                auto p = augur::sample_path(space, rng).values;
                measured.emplace_back(run(k, plan_space::make(p)), std::move(p));
            }
            std::sort(measured.begin(), measured.end());
            for (std::size_t i = 0; i < 10; ++i)
                if (auto added =
                        tlm::add_sentence(fast, fast.source("my log"), tlm::prompt_text(k, {}), space, measured[i].second, measured[i].first);
                    !added)
                    return failed(added.error());
        }
    const auto corpus = std::move(fast).finish();
    // 2. A vocabulary and a small GPT-2.
    const auto words = tlm::count_words(corpus).build(tlm::number_form::factors); // so that no size is unknown
    if (!words) return failed(words.error());
    const tlm::corpus_tokens tokens(corpus, *words);
    auto net = tlm::gpt2<float>::random_init(
        {.words = static_cast<augur::nn::index>(words->size()), .context = 64, .layers = 2, .width = 32, .heads = 2, .hidden = 64},
        augur::random_engine(1));
    tlm::training_options options;
    options.epochs = 40;
    options.learning_rate = 3e-3;
    augur::serial_executor executor;
    const auto quiet = [](const tlm::training_progress&) { return true; };
    if (auto trained = tlm::train(net, corpus, tokens, tlm::sentence_form::full, options, executor, quiet); !trained) return failed(trained.error());
    // 3. A kernel that it never saw: 12 points, each legal and none twice.
    const kernel unseen{"add 512 96", 512, 96};
    const plan_space space{unseen};
    tlm::generation_options wanted;
    wanted.count = 12;
    const auto points_by = [&](const auto& model) -> augur::result<std::vector<augur::decision_vector>> {
        auto writer = tlm::generator<std::remove_cvref_t<decltype(model)>, plan_space>::create(model, *words, tlm::sentence_form::full,
                                                                                               tlm::prompt_text(unseen, {}), space);
        if (!writer) return writer.error();
        const auto points = writer->generate(wanted);
        if (!points) return points.error();
        std::vector<augur::decision_vector> out;
        for (const auto& p : *points) out.push_back(p.decisions);
        return out;
    };
    const tlm::frozen_gpt2 model(std::move(net));
    const auto by_gpt2 = points_by(model);
    if (!by_gpt2) return failed(by_gpt2.error());
    const auto by_trigrams = points_by(examples::trigrams(words->size(), corpus, tokens, tlm::sentence_form::full));
    if (!by_trigrams) return failed(by_trigrams.error());
    std::vector<augur::decision_vector> at_random;
    for (int i = 0; i < 12; ++i) at_random.push_back(augur::sample_path(space, rng).values);
    const double gpt2 = mean_of(unseen, *by_gpt2), three = mean_of(unseen, *by_trigrams), random = mean_of(unseen, at_random);
    std::printf("mean of 12 schedules of a kernel that was never measured: GPT-2 %.1f us, trigrams %.1f us, random %.1f us\n", gpt2, three, random);
    return gpt2 < random && three < random ? 0 : 1;
}
