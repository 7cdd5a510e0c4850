// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does meta-training help a graph network to adapt to an unseen task? metatune_tables --help, docs/results/metatune.md.
#include "metatune_tables.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <thread>
#include <utility>

#include "console.hpp"
#include "flags.hpp"
#include "program.hpp"
#include "statistics.hpp"

namespace {

using namespace metatune_tables;
using examples::text_of;
using text_table = std::vector<std::vector<std::string>>;

constexpr std::array<std::size_t, 2> shot_counts{5, 20};
constexpr std::array<start, 6> starts{start::constant_mean, start::constant_high, start::random,
                                      start::pretrained,    start::first_order,   start::second_order};
constexpr std::array<std::size_t, 4> tried_steps{0, 20, 100, 300}; ///< of Adam, when the model adapts

const augur::error stopped{augur::errc::interrupted, "stopped before the tables were whole"};

struct wishes {
    std::string data;
    std::vector<std::string> devices;
    training_plan plan;
    sample_sizes sizes;
    std::size_t seeds = 3, threads = 0, inner_rate = 10'000, tuning_rate = 1000;
    bool quick = false, help = false;
};

augur::result<void> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    flags.add_text("data", "FOLDER", "has autotvm/; default: the variable AUGUR_DATA, else ../shared/data", w.data);
    std::string known;
    for (const log_pair& p : log_pairs) known += (known.empty() ? "" : "|") + std::string(p.device);
    flags.add(
        "device", known, "a device; may be given again; default: the first two",
        [&w, known](std::string_view text) -> augur::result<void> {
            if (std::none_of(log_pairs.begin(), log_pairs.end(), [&](const log_pair& p) { return p.device == text; }))
                return augur::error{augur::errc::invalid_argument, "expected " + known + ", got '" + examples::shown(text) + "'"};
            w.devices.emplace_back(text);
            return {};
        },
        true);
    flags.add_number("epochs", "N", "epochs of pre-training, and of each training behind it; default 100", w.plan.epochs, 1, 100'000);
    flags.add_number("train-points", "N", "configurations of a task to learn from; default 200", w.sizes.train, 40, 1'000'000);
    flags.add_number("test-points", "N", "configurations of a task to be judged by, the points to adapt to among them; default 520", w.sizes.test, 40,
                     1'000'000);
    flags.add_number("inner-rate", "N", "rate of the steps of SGD that adapt, in millionths; default 10000", w.inner_rate, 1, 1'000'000);
    flags.add_number("tuning-rate", "N", "rate of the steps of Adam behind them, in millionths; default 1000", w.tuning_rate, 1, 1'000'000);
    flags.add_number("seeds", "N", "draws of the points to adapt to; default 3", w.seeds, 1, 1000);
    flags.add_number("seed", "N", "of the samples and the trainings; default 1", w.plan.seed, 0, 1'000'000'000'000);
    flags.add_number("threads", "N", "the tables are the same; default: all processors", w.threads, 1, 1024);
    flags.add_switch("frozen", "meta-training and adaptation change the head only, as in the paper", w.plan.frozen);
    flags.add_switch("quick", "made-up tasks instead of data, a few epochs", w.quick);
    flags.add_switch("help", "print this", w.help);
    if (auto read = flags.parse(arguments); !read) return read;
    if (w.help) std::printf("usage: metatune_tables [flags]\n\n%s", flags.help().c_str());
    w.sizes.seed = w.plan.seed;
    w.plan.inner.inner_rate = static_cast<double>(w.inner_rate) * 1e-6;
    if (w.quick) w.plan.epochs = (std::min)(w.plan.epochs, std::size_t{10});
    if (w.devices.empty()) w.devices = {std::string(log_pairs[0].device), std::string(log_pairs[1].device)};
    if (w.threads == 0) w.threads = (std::max)(1U, std::thread::hardware_concurrency());
    if (w.data.empty()) {
        const char* const set = std::getenv("AUGUR_DATA");
        w.data = set != nullptr && *set != '\0' ? set : "../shared/data";
    }
    return {};
}

/// Scores of the tasks of one device, by row.
using by_start = std::map<start, std::vector<scores>>;

double mean_of(const std::vector<scores>& of, double scores::* part) {
    double sum = 0;
    for (const scores& s : of) sum += s.*part / static_cast<double>(of.size());
    return sum;
}

using steps_of_start = std::array<std::size_t, starts.size()>; ///< of Adam

/// Judges all rows on these tasks.
augur::result<by_start> judge_all(const std::vector<metatune::network<float>>& nets, const std::vector<table_task>& tasks, adaptation how,
                                  const steps_of_start& steps, examples::executor& threads) {
    by_start out;
    for (const start s : starts) {
        how.fine_tuning.steps = steps[static_cast<std::size_t>(s)];
        auto judged = judge(s, nets[static_cast<std::size_t>(s)], tasks, how, threads);
        if (!judged) return judged.error();
        if (examples::stop_requested()) return stopped;
        out[s] = *std::move(judged);
    }
    return out;
}

/// Chooses the steps of Adam of each row: the least mean error on tasks that nothing was trained on.
augur::result<steps_of_start> choose_steps(const std::vector<metatune::network<float>>& nets, const device_tasks& on, const adaptation& how,
                                           examples::executor& threads) {
    text_table table{{text_of("%s, %zu points: held-out MSE (Spearman)", on.device.c_str(), how.shots)}};
    for (const std::size_t steps : tried_steps) table[0].push_back(text_of("%zu steps", steps));
    for (const start s : starts)
        if (s >= start::random) table.push_back({std::string(start_names[static_cast<std::size_t>(s)])});
    steps_of_start best{};
    std::array<double, starts.size()> least{};
    for (const std::size_t steps : tried_steps) {
        steps_of_start same;
        same.fill(steps);
        auto judged = judge_all(nets, on.held_out, how, same, threads);
        if (!judged) return judged.error();
        std::size_t row = 0;
        for (const auto& [s, of] : *judged) {
            if (s < start::random) continue;
            const double mse = mean_of(of, &scores::mse);
            table[++row].push_back(text_of("%.4f (%.3f)", mse, mean_of(of, &scores::spearman)));
            const auto at = static_cast<std::size_t>(s);
            if (steps != tried_steps.front() && mse >= least[at]) continue;
            least[at] = mse;
            best[at] = steps;
        }
    }
    std::printf("%s\n", examples::table_text(table).c_str());
    return best;
}

/// One table of means, a row for each start.
void print_means(const std::string& device, const std::array<by_start, shot_counts.size()>& results) {
    text_table table{{device}};
    for (const std::size_t shots : shot_counts)
        for (const char* what : {"MSE", "MSE(D)", "Spearman"}) table[0].push_back(text_of("%s, %zu points", what, shots));
    for (const start s : starts) {
        auto& row = table.emplace_back(std::vector<std::string>{std::string(start_names[static_cast<std::size_t>(s)])});
        for (const by_start& of : results) {
            row.push_back(text_of("%.4f", mean_of(of.at(s), &scores::mse)));
            row.push_back(text_of("%.4f", mean_of(of.at(s), &scores::mse_fast)));
            row.push_back(s < start::random ? "-" : text_of("%.3f", mean_of(of.at(s), &scores::spearman)));
        }
    }
    std::printf("%s\n", examples::table_text(table).c_str());
}

/// Shares of the tasks on which one start is better than another, and mean differences with 95 % intervals over the tasks.
void add_comparison(text_table& table, const std::string& device, std::size_t shots, const by_start& of, start a, start b) {
    std::vector<double> mse, spearman;
    for (std::size_t t = 0; t < of.at(a).size(); ++t) {
        mse.push_back(of.at(a)[t].mse - of.at(b)[t].mse);
        spearman.push_back(of.at(a)[t].spearman - of.at(b)[t].spearman);
    }
    const auto share = [](const std::vector<double>& differences, double sign) {
        const auto good = std::count_if(differences.begin(), differences.end(), [&](double d) { return sign * d > 0; });
        return text_of("%.0f %%", 100.0 * static_cast<double>(good) / static_cast<double>(differences.size()));
    };
    const auto interval = [](const std::vector<double>& differences) {
        const auto m = examples::arithmetic(differences);
        return text_of("%+.4f (%+.4f to %+.4f)", m.mean, m.low, m.high);
    };
    table.push_back({device, std::to_string(shots), std::string(start_names[static_cast<std::size_t>(a)]),
                     std::string(start_names[static_cast<std::size_t>(b)]), share(mse, -1), share(spearman, 1), interval(mse), interval(spearman)});
}

augur::result<void> run(const wishes& w) {
    auto threads = examples::make_executor(w.threads);
    text_table compared{{"device", "points", "start", "than", "MSE better", "Spearman better", "MSE, difference", "Spearman, difference"}};
    const std::size_t devices = w.quick ? 1 : w.devices.size();
    for (std::size_t d = 0; d < devices; ++d) {
        const auto logs = std::find_if(log_pairs.begin(), log_pairs.end(), [&](const log_pair& p) { return p.device == w.devices[d]; });
        const auto on = w.quick ? made_up_device() : read_device(w.data, *logs, w.sizes, threads);
        if (!on) return on.error();
        std::printf("%s: %zu tasks to learn from, %zu to choose by, %zu to be judged by; %zu shared ones left out, %zu copied records left out\n\n",
                    on->device.c_str(), on->train.size(), on->held_out.size(), on->test.size(), on->shared, on->copied);
        std::array<by_start, shot_counts.size()> results;
        for (std::size_t k = 0; k < shot_counts.size(); ++k) {
            const std::size_t shots = shot_counts[k];
            std::fprintf(stderr, "%s, %zu points: training\n", on->device.c_str(), shots);
            const auto nets = train(*on, shots, w.plan, threads);
            if (!nets) return nets.error();
            adaptation how;
            how.shots = shots;
            how.seeds = w.seeds;
            how.fine_tuning.inner_rate = w.plan.inner.inner_rate;
            how.fine_tuning.inner_steps = w.plan.inner.inner_steps;
            how.fine_tuning.learning_rate = static_cast<double>(w.tuning_rate) * 1e-6;
            how.fine_tuning.frozen = w.plan.frozen;
            std::fprintf(stderr, "%s, %zu points: adapting\n", on->device.c_str(), shots);
            const auto steps = choose_steps(*nets, *on, how, threads);
            if (!steps) return steps.error();
            auto judged = judge_all(*nets, on->test, how, *steps, threads);
            if (!judged) return judged.error();
            results[k] = *std::move(judged);
            for (const auto& [a, b] : {std::pair{start::second_order, start::random}, std::pair{start::second_order, start::pretrained},
                                       std::pair{start::second_order, start::first_order}, std::pair{start::pretrained, start::random}})
                add_comparison(compared, on->device, shots, results[k], a, b);
        }
        print_means(on->device, results);
    }
    std::printf("%s", examples::table_text(compared).c_str());
    return {};
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    if (auto read = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w); !read)
        return examples::complain("metatune_tables", read.error(), examples::misuse);
    if (w.help) return examples::done;
    examples::catch_signals();
    const auto ran = run(w);
    if (ran) return examples::done;
    const auto code = ran.error().code;
    return examples::complain("metatune_tables", ran.error(),
                              code == augur::errc::interrupted ? examples::interrupted
                              : code == augur::errc::limit     ? examples::failed
                                                               : examples::misuse);
}
