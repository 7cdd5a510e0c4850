// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does TLP save measurements? The latency reached after N trials a kernel with TLP against that of random search after three times as many.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "flags.hpp"
#include "program.hpp"
#include "session.hpp"
#include "statistics.hpp"

namespace {

/// Latency of the best of the first n trials.
double best_of(std::span<const double> latencies, std::size_t n) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < (std::min)(n, latencies.size()); ++i) best = (std::min)(best, latencies[i]);
    return best;
}

struct plan {
    std::size_t trials = 48;   ///< N
    std::size_t pool = 256;    ///< random candidates a kernel, measured once
    std::size_t seeds = 3;     ///< live runs with TLP
    std::size_t resamples = 5; ///< orders in which the pool is drawn
};

int run(augur::session_options options, const plan& p) {
    examples::catch_signals();
    auto session = augur::session::create(std::move(options));
    if (!session) return examples::complain("tlp_versus_random", session.error(), examples::misuse);
    examples::progress_line progress;
    const auto hooks = examples::hooks_on(progress);
    const auto& report = session->report();
    if (auto measured = session->measure_baselines(hooks); !measured)
        return examples::complain("tlp_versus_random", measured.error(), examples::failed);
    for (const auto& [name, text] : examples::facts_of(report)) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    auto settings = report.options.search;
    settings.scheduler = augur::scheduling::round_robin;
    settings.trials = p.pool;
    settings.model = "none";
    std::vector<augur::search_report> searches{session->search("random", settings, false, hooks)};
    settings.trials = p.trials;
    settings.model = "tlp";
    const auto first = settings.seed;
    for (std::size_t i = 0; i < p.seeds && !examples::stop_requested().load(); ++i) {
        settings.seed = first + i;
        searches.push_back(session->search("tlp " + std::to_string(settings.seed), settings, false, hooks));
    }
    if (examples::stop_requested().load()) return examples::interrupted;
    for (const auto& one : searches)
        if (one.failed) return examples::complain("tlp_versus_random", *one.failed, examples::failed);
    // The untuned schedule is the first trial of TLP and counts for random search as well, with its least measurement.
    std::vector<double> untuned;
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const double baseline = report.kernels[k].untuned;
        untuned.push_back(baseline > 0 ? baseline : std::numeric_limits<double>::infinity());
        for (std::size_t i = 1; i < searches.size(); ++i) untuned[k] = (std::min)(untuned[k], best_of(searches[i].latencies[k], 1));
    }
    std::vector<std::vector<double>> drawn_n(report.kernels.size()), drawn_3n(report.kernels.size());
    augur::random_engine rng(first);
    for (std::size_t k = 0; k < report.kernels.size(); ++k)
        for (std::size_t r = 0; r < p.resamples; ++r) {
            auto order = searches[0].latencies[k];
            rng.shuffle(std::span<double>(order));
            drawn_n[k].push_back((std::min)(best_of(order, p.trials), untuned[k]));
            drawn_3n[k].push_back((std::min)(best_of(order, 3 * p.trials), untuned[k]));
        }

    std::vector<std::vector<std::string>> rows{{"kernel", "random N ms", "random 3N ms", "TLP N ms", "TLP N / random 3N", "share of limit"}};
    std::vector<double> ratios;
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        std::vector<double> live;
        for (std::size_t i = 1; i < searches.size(); ++i) live.push_back((std::min)(best_of(searches[i].latencies[k], p.trials), untuned[k]));
        const double tlp = examples::geometric(live).mean, random_n = examples::geometric(drawn_n[k]).mean,
                     random_3n = examples::geometric(drawn_3n[k]).mean;
        if (!std::isfinite(tlp) || !std::isfinite(random_3n)) continue;
        ratios.push_back(tlp / random_3n);
        rows.push_back({report.kernels[k].label, examples::milliseconds(random_n), examples::milliseconds(random_3n), examples::milliseconds(tlp),
                        examples::text_of("%.3f", ratios.back()),
                        report.kernels[k].limit > 0 ? examples::text_of("%.0f %%", 100 * report.kernels[k].limit / tlp) : "-"});
    }
    if (ratios.empty())
        return examples::complain("tlp_versus_random", {augur::errc::not_found, "expected a kernel that both searches can run, found none"},
                                  examples::failed);
    std::printf("\n%s\n", examples::table_text(rows).c_str());
    const auto all = examples::geometric(ratios);
    std::printf("TLP after N = %zu against random search after 3N = %zu, geometric mean over %zu kernels: %.3f, 95 %% interval %.3f to %.3f\n",
                p.trials, 3 * p.trials, all.count, all.mean, all.low, all.high);
    std::printf("(random: %zu candidates a kernel measured once, %zu orders; TLP: %zu live runs; below 1 TLP needs less than a third of the trials;\n"
                "each latency is of one measurement, and the least of 3N favours random search)\n",
                p.pool, p.resamples, p.seeds);
    for (const auto& one : searches)
        for (const auto& line : examples::account_of(one)) std::printf("%s\n", line.c_str());
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    augur::session_options s;
    plan p;
    std::string network = "resnet_18";
    bool help = false;
    examples::flag_set flags;
    flags.add_text("network", "NAME", "whose kernels; default resnet_18", network);
    flags.add(
        "kernel", "KERNEL", "this one, without a network; may be given again",
        [&](std::string_view text) -> augur::result<void> {
            const auto k = augur::kernel::parse(text);
            if (!k) return k.error();
            s.work.add(*k);
            s.work.name = "chosen kernels";
            return {};
        },
        true);
    flags.add_number("trials", "N", "of a kernel with TLP; random search gets three times as many; default 48", p.trials, 1, 100'000);
    flags.add_number("pool", "N", "random candidates a kernel; default 256", p.pool, 1, 1'000'000);
    flags.add_number("seeds", "N", "live runs with TLP; default 3", p.seeds, 1, 100);
    flags.add_number("seed", "N", "the first of them; default 1", s.search.seed, 0, 9'223'372'036'854'775'807);
    flags.add_number("threads", "N", "threads that kernels use; default: all processors", s.threads, 1, 1024);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read)
        return examples::complain("tlp_versus_random", read.error(), examples::misuse);
    if (help) {
        std::printf("usage: tlp_versus_random [flags]\n\n%s", flags.help().c_str());
        return examples::done;
    }
    if (p.pool < 3 * p.trials)
        return examples::complain("tlp_versus_random", {augur::errc::invalid_argument, "--pool must be at least three times --trials"},
                                  examples::misuse);
    if (flags.given("network") && flags.given("kernel"))
        return examples::complain("tlp_versus_random", {augur::errc::invalid_argument, "--network does not go with --kernel"}, examples::misuse);
    if (s.work.kernels.empty()) {
        auto found = augur::find_network(network);
        if (!found) return examples::complain("tlp_versus_random", found.error(), examples::misuse);
        s.work = std::move(*found);
    }
    return run(std::move(s), p);
}
