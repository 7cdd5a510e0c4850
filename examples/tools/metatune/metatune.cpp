// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune on tuning logs: trains a network, and shows how well it adapts. metatune --help, docs/tuning.md.
#include "metatune.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/target/machine.hpp>
#include <augur/workload/networks.hpp>

#include "adaptation.hpp"
#include "console.hpp"
#include "flags.hpp"
#include "program.hpp"

namespace {

namespace metatune = augur::metatune;
using namespace metatune_program;
using augur::errc;
using augur::error;
using examples::text_of;

struct wishes {
    std::vector<std::string> logs, left_out, slots;
    std::string weights; ///< written or read
    training_plan plan;
    std::size_t most = 512, structures = 256, threads = 0, seeds = 3, count = 47;
    std::uint64_t seed = 1;
};

augur::result<std::vector<augur::kernel>> kernels_of(std::span<const std::string> networks) {
    std::vector<augur::kernel> out;
    for (const auto& name : networks) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels) out.push_back(k.workload);
    }
    return out;
}

/// Reads the logs and tells what is in them.
augur::result<log_contents> read(const wishes& w, examples::executor& threads) {
    const auto left_out = kernels_of(w.left_out);
    if (!left_out) return left_out.error();
    auto found = read_logs(w.logs, *left_out, w.most, w.seed, threads);
    if (!found) return found;
    std::size_t schedules = 0;
    for (const auto& k : found->kernels) schedules += k.schedules.size();
    std::printf("kernels     %zu, with %zu schedules of %zu records; %zu of other compilers, %zu left out, %zu damaged lines\n",
                found->kernels.size(), schedules, found->records, found->foreign, found->left_out, found->bad);
    return found;
}

void tell_unread(const std::vector<kernel_samples>& kernels) {
    std::size_t unread = 0;
    const kernel_samples* first = nullptr;
    for (const auto& k : kernels) {
        if (unread == 0 && k.unread > 0) first = &k;
        unread += k.unread;
    }
    if (first != nullptr) std::printf("unread      %zu schedules; the first, of %s: %s\n", unread, first->name.c_str(), first->first_unread.c_str());
}

augur::result<int> pretrain(wishes w) {
    auto threads = examples::make_executor(w.threads);
    const auto unmeasured = kernels_of(w.slots);
    if (!unmeasured) return unmeasured.error();
    const auto found = read(w, threads);
    if (!found) return found.error();
    const auto graph = graph_of(found->kernels, *unmeasured, w.structures, w.seed, threads);
    if (!graph) return graph.error();
    auto kernels = samples_of(found->kernels, {*graph, {}}, threads);
    tell_unread(kernels);
    const auto columns = standardise(kernels);
    if (!columns) return columns.error();
    w.plan.shape.features = static_cast<augur::nn::index>(graph->columns());
    w.plan.seed = w.plan.supervised.seed = w.plan.meta.seed = w.seed;
    std::printf("super-graph %zu slots, %zu columns\n", graph->slots().size(), graph->columns());
    std::fflush(stdout);

    examples::progress_line line;
    double told = augur::steady_seconds();
    const double start = told;
    auto trained = train(kernels, w.plan, threads, [&](std::string_view stage, const metatune::training_progress& p) {
        const double now = augur::steady_seconds();
        const bool often = now - told > 10 || p.step == p.steps;
        if (often) told = now;
        line.show(p.step, p.steps, text_of("%s  loss %.4f", std::string(stage).c_str(), p.loss), often);
        return !examples::stop_requested();
    });
    line.clear();
    if (!trained && trained.error().code == errc::interrupted)
        return error{errc::interrupted, trained.error().detail + "; the same command goes on from " + w.plan.checkpoint};
    if (!trained) return trained.error();
    if (auto saved = metatune::save({*std::move(trained), to_text(*graph), *columns}, w.weights); !saved) return saved.error();
    std::error_code failed;
    std::filesystem::remove(w.plan.checkpoint, failed);
    if (failed) return error{errc::io, w.plan.checkpoint + ": " + failed.message()};
    std::printf("seconds     %.0f\nweights     %s\n", augur::steady_seconds() - start, w.weights.c_str());
    return examples::done;
}

constexpr std::array<std::size_t, 3> shown_points{0, 5, 20};
using by_points = std::array<examples::adaptation_scores, shown_points.size()>;

/// Means over the draws; `net_of` gives the weights of each.
template <class NetOf>
augur::result<by_points> scores_of(const NetOf& net_of, const kernel_samples& kernel, std::size_t seeds) {
    by_points out;
    for (std::size_t p = 0; p < shown_points.size(); ++p)
        for (std::size_t seed = 1; seed <= seeds; ++seed) {
            const auto one = examples::adapt_and_judge(net_of(seed), kernel.samples, kernel.samples.least(), shown_points[p], seed, {});
            if (!one) return error{one.error().code, kernel.name + ": " + one.error().detail};
            out[p].mse += one->mse / static_cast<double>(seeds);
            out[p].spearman += one->spearman / static_cast<double>(seeds);
        }
    return out;
}

augur::result<int> adapt(const wishes& w) {
    auto threads = examples::make_executor(w.threads);
    const auto trained = metatune::load(w.weights);
    if (!trained) return trained.error();
    const auto rows = augur::schedule_rows::create(*trained);
    if (!rows) return error{rows.error().code, "'" + w.weights + "': " + rows.error().detail};
    const auto found = read(w, threads);
    if (!found) return found.error();
    auto kernels = samples_of(found->kernels, *rows, threads);
    tell_unread(kernels);
    std::erase_if(kernels, [](const kernel_samples& k) { // something has to be left to predict, and to compare with
        return k.samples.candidates.size() < 2 * shown_points.back() || !std::isfinite(k.samples.least());
    });
    if (kernels.empty())
        return error{errc::not_found,
                     text_of("no kernel has %zu schedules that the weights can read, and a valid one among them", 2 * shown_points.back())};
    std::vector<augur::result<by_points>> known(kernels.size(), by_points{}), unknown = known;
    threads.bulk(2 * kernels.size(), [&](std::size_t i) {
        if (examples::stop_requested()) return;
        const auto& kernel = kernels[i / 2];
        const auto random = augur::random_engine(w.seed).stream(i / 2);
        if (i % 2 == 0) known[i / 2] = scores_of([&](std::uint64_t) { return trained->net; }, kernel, w.seeds);
        else
            unknown[i / 2] = scores_of(
                [&](std::uint64_t seed) { return metatune::network<float>::random_init(trained->net.config, random.stream(seed)); }, kernel, w.seeds);
    });
    if (examples::stop_requested()) return error{errc::interrupted, "stopped before the table was whole"};

    std::vector<std::vector<std::string>> table{{"kernel"}};
    for (const std::size_t points : shown_points) {
        table[0].push_back(text_of("MSE, %zu points", points));
        table[0].emplace_back("Spearman");
    }
    const auto add_row = [&](std::string name, const by_points& of) {
        auto& row = table.emplace_back(std::vector<std::string>{std::move(name)});
        for (const auto& s : of) {
            row.push_back(text_of("%.4f", s.mse));
            row.push_back(text_of("%.3f", s.spearman));
        }
    };
    std::array<by_points, 2> mean{};
    std::array<std::size_t, shown_points.size()> better{};
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        for (const auto* one : {&known[k], &unknown[k]})
            if (!*one) return one->error();
        add_row(kernels[k].name, *known[k]);
        for (std::size_t p = 0; p < shown_points.size(); ++p) {
            const auto share = 1 / static_cast<double>(kernels.size());
            for (const auto& [to, from] : {std::pair{&mean[0][p], &(*known[k])[p]}, std::pair{&mean[1][p], &(*unknown[k])[p]}}) {
                to->mse += share * from->mse;
                to->spearman += share * from->spearman;
            }
            better[p] += (*known[k])[p].spearman > (*unknown[k])[p].spearman ? 1 : 0;
        }
    }
    add_row("mean", mean[0]);
    add_row("mean, random weights", mean[1]);
    std::printf("\n%s\nBetter Spearman than random weights:", examples::table_text(table).c_str());
    for (std::size_t p = 0; p < shown_points.size(); ++p)
        std::printf("%s %zu of %zu kernels after %zu points", p == 0 ? "" : ",", better[p], kernels.size(), shown_points[p]);
    std::printf("\n");
    return examples::done;
}

augur::result<int> draw(const wishes& w) {
    const auto kernels = draw_kernels(w.count, w.seed);
    if (!kernels) return kernels.error();
    for (const auto& k : *kernels) std::printf("%s\n", k.text().c_str());
    return examples::done;
}

constexpr const char* usage =
    "usage: metatune draw [flags]                                prints kernels to measure and train on, for `tune --kernel TEXT --collect N`\n"
    "       metatune pretrain --log LOG ... --out FILE [flags]   trains on tuning logs, for `tune --model FILE`\n"
    "       metatune adapt --weights FILE --log LOG [flags]     error and rank correlation on the kernels of a log, after 0, 5 and 20 of their "
    "records\n\n"
    "metatune COMMAND --help prints the flags.\n";

int run(std::string_view command, std::span<char* const> arguments) {
    wishes w;
    examples::flag_set flags;
    bool help = false;
    const bool trains = command == "pretrain", draws = command == "draw";
    if (!trains && !draws && command != "adapt") {
        std::fprintf(command.empty() || command == "--help" ? stdout : stderr, "%s", usage);
        return command == "--help" ? examples::done : examples::misuse;
    }
    if (draws) {
        flags.add_number("count", "N", "kernels; default 47, as in the paper", w.count, 1, 5000);
    } else {
        flags.add_texts("log", "LOG", "log of `tune`, plain, .gz or .zst; may be given again", w.logs);
        flags.add_list("left-out", "networks none of whose kernels is taken; default none", w.left_out);
        flags.add_number("most", "N", "schedules of a kernel, some are drawn; default 512", w.most, 1, 1'000'000);
        flags.add_number("threads", "N", "threads; the result is the same for any number; default: all processors", w.threads, 1, 1024);
    }
    if (trains) {
        auto& meta = w.plan.meta;
        flags.add_text("out", "FILE", "where the weights are written", w.weights);
        flags.add_text("checkpoint", "FILE",
                       "written each minute and when it is interrupted: the same command goes on from it; removed once the\nweights are written; "
                       "default OUT.checkpoint",
                       w.plan.checkpoint);
        flags.add_number("structures", "N", "random schedules of each kernel, whose loops get slots, too; default 256", w.structures, 0, 1'000'000);
        flags.add_list("slots", "networks whose kernels get slots in this way although no log has them: those to be tuned; default none", w.slots);
        flags.add_number("epochs", "N", "of pre-training; default 75", w.plan.supervised.epochs, 1, 1'000'000);
        flags.add_number("meta-steps", "N", "of meta-training; default 12800; 0: none", meta.steps, 0, 100'000'000);
        flags.add_number("ways", "N", "kernels of a meta-task; default 1", meta.ways, 1, 65536);
        flags.add_number("shots", "N", "candidates of each to adapt to; default 20", meta.shots, 1, 65536);
        flags.add_number("queries", "N", "others of each; default 20", meta.queries, 1, 65536);
        flags.add_number("meta-tasks", "N", "of a step; default 32", meta.batch, 1, 65536);
        flags.add_number("cold", "N", "of the --meta-tasks, those without candidates to adapt to; default a quarter", meta.cold, 0, 65536);
    } else if (!draws) {
        flags.add_text("weights", "FILE", "weights of MetaTune", w.weights);
        flags.add_number("seeds", "N", "draws of the measured points; default 3", w.seeds, 1, 1000);
    }
    flags.add_number("seed", "N", "default 1", w.seed, 0, 1'000'000'000);
    flags.add_switch("help", "print this", help);
    auto parsed = flags.parse(arguments);
    const auto needs = [](const char* flag) { return error{errc::invalid_argument, "expected " + std::string(flag) + "; try --help"}; };
    if (parsed && !help && !draws && w.logs.empty()) parsed = needs("--log LOG");
    if (parsed && !help && !draws && w.weights.empty()) parsed = needs(trains ? "--out FILE" : "--weights FILE");
    if (parsed && !flags.given("cold")) w.plan.meta.cold = w.plan.meta.batch / 4;
    if (parsed && w.plan.meta.cold > w.plan.meta.batch)
        parsed =
            error{errc::invalid_argument, text_of("--cold: expected at most the %zu of --meta-tasks, got %zu", w.plan.meta.batch, w.plan.meta.cold)};
    if (!parsed) return examples::complain("metatune", parsed.error(), examples::misuse);
    if (help) {
        std::printf("%s\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags, 130 interrupted.\n", usage, flags.help().c_str());
        return examples::done;
    }
    if (trains && w.plan.checkpoint.empty()) w.plan.checkpoint = w.weights + ".checkpoint";
    std::vector<examples::named_file> files{{trains ? "--out" : "--weights", w.weights, trains}, {"--checkpoint", w.plan.checkpoint, true}};
    for (const auto& log : w.logs) files.push_back({"--log", log, false});
    if (auto apart = examples::keep_apart(files); !apart) return examples::complain("metatune", apart.error(), examples::misuse);
    for (const auto* names : {&w.left_out, &w.slots})
        if (auto found = kernels_of(*names); !found) return examples::complain("metatune", found.error(), examples::misuse);
    if (trains)
        if (auto writable = examples::can_write(w.weights); !writable) return examples::complain("metatune", writable.error(), examples::misuse);
    if (w.threads == 0) w.threads = static_cast<std::size_t>((std::max)(augur::detect_machine().processors, 1));
    examples::catch_signals();
    const auto finished = trains ? pretrain(std::move(w)) : draws ? draw(w) : adapt(w);
    if (!finished)
        return examples::complain("metatune", finished.error(),
                                  finished.error().code == errc::interrupted ? examples::interrupted : examples::failed);
    return *finished;
}

} // namespace

int main(int argc, char** argv) {
    const std::span<char* const> all(argv, static_cast<std::size_t>(argc > 0 ? argc : 0));
    return examples::finish(
        run(all.size() > 1 ? std::string_view(all[1]) : std::string_view(), all.size() > 2 ? all.subspan(2) : std::span<char* const>()));
}
