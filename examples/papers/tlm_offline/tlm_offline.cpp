// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How well does the probability that a language model gives to a schedule rank recorded schedules? Models learn from the fastest records of some
// tasks of TVM's auto_scheduler and are judged on tasks of other networks, without a measurement. tlm_offline --help, docs/results/tlm_model.md.
#include "tlm_offline.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/nn/types.hpp>
#include <augur/target/machine.hpp>

#include "console.hpp"
#include "flags.hpp"
#include "program.hpp"

namespace {

using namespace tlm_offline;
using examples::text_of;
using text_table = std::vector<std::vector<std::string>>;

constexpr std::size_t draws = 32; ///< of random scores: of one, the numbers would be luck

std::vector<std::string> row_of(std::string name, const ranking& r, bool is_probability) {
    std::vector<std::string> out{std::move(name)};
    for (std::size_t i = 0; i < 5; ++i) out.push_back(text_of("%.3f", r[i]));
    for (std::size_t i = 5; i < r.size(); ++i) out.push_back(is_probability ? text_of("%.2f", r[i]) : "-");
    return out;
}

/// The rows of what knows nothing of latencies: random scores, and the fewest words first.
void add_baselines(text_table& rows, const material& m, std::uint64_t seed) {
    judgement by_chance, by_length;
    for (std::size_t t = 0; t < m.tested.size(); ++t) {
        const auto& task = m.tested[t];
        auto rng = augur::random_engine(seed).stream(3).stream(t);
        std::vector<double> scores(task.points.size());
        for (std::size_t i = 0; i < draws; ++i) {
            for (double& s : scores) s = rng.uniform();
            by_chance.add(task, scores);
        }
        std::transform(task.lengths.begin(), task.lengths.end(), scores.begin(), [](double words) { return -words; });
        by_length.add(task, scores);
    }
    rows.push_back(row_of("random", by_chance.numbers(), false));
    rows.push_back(row_of("length", by_length.numbers(), false));
}

/// The result of a model of `n` sentences: that of the file, else of a training.
augur::result<model_result> result_of(const wishes& w, const material& m, std::size_t n, result_file& results, examples::executor& threads) {
    const auto identity = identity_of(w, m, n);
    if (const auto* known = results.find(identity)) return *known;
    const auto checkpoint = w.work.empty() ? std::string() : w.work + "." + identity + ".checkpoint";
    auto fresh = train_and_judge(w, m, n, checkpoint, threads);
    if (!fresh) return fresh;
    if (auto added = results.add(identity, *fresh); !added) return added.error();
    std::error_code failed;
    if (!checkpoint.empty()) std::filesystem::remove(checkpoint, failed);
    if (failed) return augur::error{augur::errc::io, checkpoint + ": " + failed.message()};
    return fresh;
}

augur::result<int> run(wishes w) {
    auto results = result_file::open(w.work);
    if (!results) return results.error();
    auto threads = examples::make_executor(w.threads);
    const auto tasks = w.quick ? made_up_tasks(w) : read_tasks(w, threads);
    if (!tasks) return tasks.error();
    const auto m = prepare(w, *tasks, threads);
    if (!m) return m.error();
    for (auto& n : w.counts) {
        if (n <= m->lessons.size()) continue;
        std::printf("%zu sentences were asked for, there are %zu\n", n, m->lessons.size());
        n = m->lessons.size();
    }
    std::sort(w.counts.begin(), w.counts.end());
    w.counts.erase(std::unique(w.counts.begin(), w.counts.end()), w.counts.end());

    text_table models{{"model", "sentences", "tasks", "words", "million parameters", "legal sentences", "points not told"}};
    text_table rows{{"ranked by", "top-1", "top-5", "top-1 of sums", "top-5 of sums", "Spearman", "fastest twentieth", "middle twentieth"}};
    add_baselines(rows, *m, w.seed);
    for (const std::size_t n : w.counts) {
        const auto one = result_of(w, *m, n, *results, threads);
        if (!one) return one.error();
        const auto name = std::to_string(n) + " sentences";
        const auto& numbers = one->model;
        models.push_back({name, text_of("%.0f", numbers[0]), text_of("%.0f", numbers[1]), text_of("%.0f", numbers[2]), text_of("%.2f", numbers[3]),
                          text_of("%.1f %%", 100 * numbers[4]), text_of("%.0f", numbers[5])});
        rows.push_back(row_of(name + ", legal tokens", one->by[0], true));
        rows.push_back(row_of(name + ", all tokens", one->by[1], true));
    }
    std::printf(
        "\nlegal sentences: of %zu samples of each task without a mask\n\n%s\n"
        "The best latency over the least of the 1 and 5 highest scores, geometric mean over the tasks and ratio of sums; median over the tasks of "
        "Spearman's correlation of score and speed; mean log-probability of a sentence. Random: mean of %zu draws; length: the fewest words "
        "first\n\n%s",
        w.samples, examples::table_text(models).c_str(), draws, examples::table_text(rows).c_str());
    return examples::done;
}

/// A model and a training of a few seconds, where nothing else was asked for.
void make_quick(const examples::flag_set& flags, wishes& w) {
    const auto set = [&](const char* flag, auto& to, auto value) {
        if (!flags.given(flag)) to = value;
    };
    set("sentences", w.counts, std::vector<std::size_t>{16, 64});
    set("layers", w.config.layers, augur::nn::index{1});
    set("width", w.config.width, augur::nn::index{16});
    set("heads", w.config.heads, augur::nn::index{2});
    set("hidden", w.config.hidden, augur::nn::index{32});
    set("epochs", w.training.epochs, std::size_t{16});
    set("records", w.records, std::size_t{64});
    w.training.prompts = 1; // small steps, for there are few sentences
    w.training.sentences = 4;
    w.training.learning_rate = 1e-2;
    w.samples = 16;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    examples::flag_set flags;
    bool help = false;
    flags.add_data_folder("ansor-x86-24core/ and task-dags.jsonl.gz", w.data);
    flags.add_counts("sentences", "numbers of sentences to learn from, a model each; default 1000,10000,40000", w.counts);
    flags.add_number("fastest", "N", "percent of the records of a task, the fastest ones, that sentences are drawn from; default 10", w.fastest, 1,
                     100);
    flags.add_choice("numbers", {"words", "factors"}, "numbers as words or as prime factors; default factors: no extent is unknown", w.numbers);
    flags.add_choice("vocabulary", {"all", "corpus"},
                     "words of the judged sentences as well, or of the learned ones alone, so that others cannot be told; default all", w.vocabulary);
    flags.add_number("layers", "N", "default 4", w.config.layers, 1, 64);
    flags.add_number("width", "N", "default 256", w.config.width, 1, 8192);
    flags.add_number("heads", "N", "default 4", w.config.heads, 1, 128);
    flags.add_number("hidden", "N", "width between the two maps of a layer; default 1024", w.config.hidden, 1, 32768);
    flags.add_number("context", "N", "most tokens of a sentence with its prompt; default 512", w.config.context, 8, 65536);
    flags.add_number("epochs", "N", "default 2", w.training.epochs, 1, 10000);
    flags.add_number("tasks", "N", "tasks of test networks to be judged by; default 40", w.tasks, 1, 1'000'000);
    flags.add_number("records", "N", "of each of these tasks; default 256", w.records, 1, 1'000'000);
    flags.add_text("work", "FILE", "where finished models' results are kept; the same command goes on from it; default: nowhere", w.work);
    flags.add_number("seed", "N", "default 1", w.seed, 0, 1'000'000'000);
    flags.add_number("threads", "N", "the tables are the same; default: all processors", w.threads, 1, 1024);
    flags.add_switch("quick", "made-up tasks instead of data, a small model", w.quick);
    flags.add_switch("help", "print this", help);
    auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
    if (read && w.quick) make_quick(flags, w);
    if (read && !help) {
        auto sizes = w.config;
        sizes.words = 1; // not known yet
        read = sizes.check();
    }
    if (!read) return examples::complain("tlm_offline", read.error(), examples::misuse);
    if (help) {
        std::printf("usage: tlm_offline [flags]\n\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags, 130 interrupted.\n",
                    flags.help().c_str());
        return examples::done;
    }
    if (w.threads == 0) w.threads = static_cast<std::size_t>((std::max)(augur::detect_machine().processors, 1));
    examples::catch_signals();
    const auto done = run(std::move(w));
    if (!done)
        return examples::complain("tlm_offline", done.error(),
                                  done.error().code == augur::errc::interrupted ? examples::interrupted : examples::failed);
    return *done;
}
