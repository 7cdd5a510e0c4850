// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does meta-training help a graph network to adapt to an unseen task? metatune_tables --help, docs/results/metatune.md.
#include "metatune_tables.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
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

struct wishes {
    std::string data, work;
    std::vector<std::string> devices, variants;
    training_plan plan;
    sample_sizes sizes;
    std::size_t seeds = 3, threads = 0, inner_rate = 10'000, tuning_rate = 1000;
    bool frozen = false, quick = false, help = false;
};

template <class T, std::size_t N>
std::vector<std::string> names_of(const std::array<T, N>& all, std::string_view T::* name) {
    std::vector<std::string> out;
    for (const T& one : all) out.emplace_back(one.*name);
    return out;
}

augur::result<void> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    flags.add_data_folder("autotvm/", w.data);
    flags.add_text("work", "FOLDER", "where finished parts of the tables are kept; the same command goes on from them; default: nowhere", w.work);
    const auto add_names = [&flags](std::string name, const std::vector<std::string>& known, std::string help, std::vector<std::string>& to) {
        std::string list;
        for (const std::string& one : known) list += (list.empty() ? "" : "|") + one;
        const auto take = [&to, known, list](std::string_view text) -> augur::result<void> {
            if (std::find(known.begin(), known.end(), text) == known.end())
                return augur::error{augur::errc::invalid_argument, "expected " + list + ", got '" + examples::shown(text) + "'"};
            to.emplace_back(text);
            return {};
        };
        flags.add(std::move(name), list, std::move(help), take, true);
    };
    add_names("device", names_of(log_pairs, &log_pair::device), "a device; may be given again; default: the first two", w.devices);
    add_names("variant", names_of(variants, &network_variant::name),
              "a network; may be given again, the first one is what the others are compared with; default: usual.\n"
              "plain has no super-graph, tlp is TLP in place of the graph network, unmasked lets null nodes into the read-out, nested joins the "
              "loops of a nest,\n"
              "frozen is --frozen",
              w.variants);
    flags.add_number("epochs", "N", "epochs of pre-training, and of each training behind it; default 100", w.plan.epochs, 1, 100'000);
    flags.add_number("train-points", "N", "configurations of a task to learn from; default 200", w.sizes.train, 40, 1'000'000);
    flags.add_number("test-points", "N", "configurations of a task to be judged by, the points to adapt to among them; default 520", w.sizes.test, 40,
                     1'000'000);
    flags.add_number("inner-rate", "N", "rate of the steps of SGD that adapt, in millionths; default 10000", w.inner_rate, 1, 1'000'000);
    flags.add_number("tuning-rate", "N", "rate of the steps of Adam behind them, in millionths; default 1000", w.tuning_rate, 1, 1'000'000);
    flags.add_number("seeds", "N", "draws of the points to adapt to; default 3", w.seeds, 1, 1000);
    flags.add_number("seed", "N", "of the samples and the trainings; default 1", w.plan.seed, 0, 1'000'000'000'000);
    flags.add_number("threads", "N", "the tables are the same; default: all processors", w.threads, 1, 1024);
    flags.add_switch("frozen",
                     "meta-training and adaptation change the head only, as in the paper; of all variants that are given, none of which is tlp",
                     w.frozen);
    flags.add_switch("quick", "made-up tasks instead of data, a few epochs", w.quick);
    flags.add_switch("help", "print this", w.help);
    if (auto read = flags.parse(arguments); !read) return read;
    if (w.help) std::printf("usage: metatune_tables [flags]\n\n%s", flags.help().c_str());
    if (w.frozen && std::find(w.variants.begin(), w.variants.end(), "tlp") != w.variants.end())
        return augur::error{augur::errc::invalid_argument, "--frozen is for the graph network: it does not go with --variant tlp"};
    w.sizes.seed = w.plan.seed;
    w.plan.inner.inner_rate = static_cast<double>(w.inner_rate) * 1e-6;
    if (w.quick) w.plan.epochs = (std::min)(w.plan.epochs, std::size_t{10});
    if (w.variants.empty()) w.variants = {std::string(variants[0].name)};
    if (w.devices.empty()) w.devices = {std::string(log_pairs[0].device), std::string(log_pairs[1].device)};
    if (w.threads == 0) w.threads = (std::max)(1U, std::thread::hardware_concurrency());
    return {};
}

using by_shots = std::array<adapted_rows, shot_counts.size()>; ///< of a device and a variant
/// A row of a table.
struct shown_row {
    std::string name;
    const by_shots* of;
    start from;
    [[nodiscard]] const std::vector<scores>& scores_at(std::size_t shots) const { return (*of)[shots].at(from).test; }
};

/// How the steps of Adam were chosen.
void print_held_out(const std::string& title, std::size_t shots, const adapted_rows& rows) {
    text_table table{{text_of("%s, %zu points: held-out MSE (Spearman)", title.c_str(), shots)}};
    for (const std::size_t steps : tried_steps) table[0].push_back(text_of("%zu steps", steps));
    for (const auto& [from, row] : rows) {
        if (from < start::random) continue;
        auto& line = table.emplace_back(std::vector<std::string>{name_of(from)});
        for (const scores& s : row.held_out) line.push_back(text_of("%.4f (%.3f)", s.mse, s.spearman));
    }
    std::printf("%s\n", examples::table_text(table).c_str());
}

void print_means(const std::string& title, const std::vector<shown_row>& rows) {
    text_table table{{title}};
    for (const std::size_t shots : shot_counts)
        for (const char* what : {"MSE", "MSE(D)", "Spearman"}) table[0].push_back(text_of("%s, %zu points", what, shots));
    for (const shown_row& row : rows) {
        auto& line = table.emplace_back(std::vector<std::string>{row.name});
        for (std::size_t k = 0; k < shot_counts.size(); ++k) {
            const scores mean = mean_of(row.scores_at(k));
            line.push_back(text_of("%.4f", mean.mse));
            line.push_back(text_of("%.4f", mean.mse_fast));
            line.push_back(row.from < start::random ? "-" : text_of("%.3f", mean.spearman));
        }
    }
    std::printf("%s\n", examples::table_text(table).c_str());
}

/// Shares of the tasks on which one row is better than another, and mean differences with 95 % intervals over the tasks.
void add_comparison(text_table& table, const std::string& device, std::size_t k, const shown_row& a, const shown_row& b) {
    std::vector<double> mse, spearman;
    for (std::size_t t = 0; t < a.scores_at(k).size(); ++t) {
        mse.push_back(a.scores_at(k)[t].mse - b.scores_at(k)[t].mse);
        spearman.push_back(a.scores_at(k)[t].spearman - b.scores_at(k)[t].spearman);
    }
    const auto share = [](const std::vector<double>& differences, double sign) {
        const auto good = std::count_if(differences.begin(), differences.end(), [&](double d) { return sign * d > 0; });
        return text_of("%.0f %%", 100.0 * static_cast<double>(good) / static_cast<double>(differences.size()));
    };
    const auto interval = [](const std::vector<double>& differences) {
        const auto m = examples::arithmetic(differences);
        return text_of("%+.4f (%+.4f to %+.4f)", m.mean, m.low, m.high);
    };
    table.push_back({device, std::to_string(shot_counts[k]), a.name, b.name, share(mse, -1), share(spearman, 1), interval(mse), interval(spearman)});
}

/// The rows of a device and a variant for each number of points, from the work folder where they are there.
augur::result<by_shots> adapt_to_all(const wishes& w, const network_variant& network, const device_tasks& on, result_file& kept,
                                     examples::executor& threads) {
    training_plan plan = w.plan;
    plan.network = network;
    plan.network.frozen = network.frozen || w.frozen;
    by_shots out;
    for (std::size_t k = 0; k < shot_counts.size(); ++k) {
        adaptation how;
        how.shots = shot_counts[k];
        how.seeds = w.seeds;
        how.fine_tuning.inner_rate = plan.inner.inner_rate;
        how.fine_tuning.inner_steps = plan.inner.inner_steps;
        how.fine_tuning.learning_rate = static_cast<double>(w.tuning_rate) * 1e-6;
        how.fine_tuning.frozen = plan.network.frozen;
        const std::string identity = identity_of(on, plan, how);
        if (kept.find(identity) == nullptr) {
            const auto title = text_of("%s, %s, %zu points", on.device.c_str(), std::string(network.name).c_str(), how.shots);
            std::fprintf(stderr, "%s: training and adapting\n", title.c_str());
            auto rows = network.input == model_input::primitives ? adapt_all_tlp(on, plan, how, threads) : adapt_all(on, plan, how, threads);
            if (!rows) return rows.error();
            if (auto added = kept.add(identity, {title, *std::move(rows)}); !added) return added.error();
        }
        out[k] = kept.find(identity)->rows;
    }
    return out;
}

int run(const wishes& w) {
    const auto complain = [](const augur::error& why, int code) { return examples::complain("metatune_tables", why, code); };
    std::error_code code;
    if (!w.work.empty()) std::filesystem::create_directories(w.work, code); // the file says what is wrong
    auto kept = result_file::open(w.work.empty() ? "" : w.work + "/results.jsonl");
    if (!kept) return complain(kept.error(), examples::misuse);
    auto threads = examples::make_executor(w.threads);
    text_table compared{{"device", "points", "start", "than", "MSE better", "Spearman better", "MSE, difference", "Spearman, difference"}};
    const std::size_t devices = w.quick ? 1 : w.devices.size();
    for (std::size_t d = 0; d < devices; ++d) {
        const auto logs = std::find_if(log_pairs.begin(), log_pairs.end(), [&](const log_pair& p) { return p.device == w.devices[d]; });
        std::array<std::optional<device_tasks>, model_inputs> read;
        std::vector<by_shots> results;
        std::string device;
        for (const std::string& name : w.variants) {
            const auto network = std::find_if(variants.begin(), variants.end(), [&](const network_variant& v) { return v.name == name; });
            auto& on = read[static_cast<std::size_t>(network->input)];
            if (!on) {
                auto tasks = w.quick ? made_up_device(network->input) : read_device(w.data, *logs, w.sizes, network->input, threads);
                if (!tasks) return complain(tasks.error(), examples::misuse);
                on = *std::move(tasks);
            }
            if (device.empty())
                std::printf(
                    "%s: %zu tasks to learn from, %zu to choose by, %zu to be judged by; %zu shared ones left out, %zu copied records left out\n\n",
                    on->device.c_str(), on->train.size(), on->held_out.size(), on->test.size(), on->shared, on->copied);
            device = on->device;
            auto rows = adapt_to_all(w, *network, *on, *kept, threads);
            if (!rows) return complain(rows.error(), examples::exit_code_of(rows.error()));
            results.push_back(*std::move(rows));
        }
        const auto of_variant = [&](std::size_t v, start from) { return shown_row{w.variants[v] + ": " + name_of(from), &results[v], from}; };
        std::vector<shown_row> by_variant;
        for (std::size_t v = 0; v < results.size(); ++v) {
            const std::string title = results.size() == 1 ? device : device + ", " + w.variants[v];
            std::vector<shown_row> rows;
            for (const auto& [from, row] : results[v][0]) rows.push_back({name_of(from), &results[v], from});
            for (std::size_t k = 0; k < shot_counts.size(); ++k) {
                print_held_out(title, shot_counts[k], results[v][k]);
                for (const auto& [a, b] : {std::pair{start::second_order, start::random}, std::pair{start::second_order, start::pretrained},
                                           std::pair{start::second_order, start::first_order}, std::pair{start::second_order, start::reptile},
                                           std::pair{start::pretrained, start::random}})
                    add_comparison(compared, title, k, rows[static_cast<std::size_t>(a)], rows[static_cast<std::size_t>(b)]);
                if (v > 0) add_comparison(compared, device, k, of_variant(v, start::second_order), of_variant(0, start::second_order));
            }
            print_means(title, rows);
            for (const start from : {start::pretrained, start::first_order, start::second_order, start::reptile})
                by_variant.push_back(of_variant(v, from));
        }
        if (results.size() > 1) print_means(device, by_variant);
    }
    std::printf("%s", examples::table_text(compared).c_str());
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    if (auto read = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w); !read)
        return examples::complain("metatune_tables", read.error(), examples::misuse);
    examples::catch_signals();
    return examples::finish(w.help ? examples::done : run(w));
}
