// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "headroom.hpp"
#include "writers.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include <augur/session/options.hpp>

#include "chart.hpp"
#include "console.hpp"
#include "statistics.hpp"

namespace {

constexpr std::array<std::size_t, 8> milestones{1, 4, 8, 16, 32, 64, 128, 256};
constexpr std::array<std::size_t, 6> mean_milestones{1, 4, 10, 16, 32, 64};
constexpr std::size_t hardness_trials = 16; ///< the kernels with the least share for random after so many are the hard ones

std::string percent(double share) { return examples::text_of("%.1f %%", 100 * share); }

bool begins_untuned(const guide& g) {
    return g.model != "none" ||
           std::find(augur::session_strategies.begin(), augur::session_strategies.end(), g.strategy) != augur::session_strategies.end();
}

/// The least latency of the untuned schedule, which is the first trial of many searches.
double least_untuned(const kernel_record& r) {
    double least = r.untuned > 0 ? r.untuned : std::numeric_limits<double>::infinity();
    for (std::size_t g = 0; g < guides.size(); ++g)
        if (begins_untuned(guides[g]) && !r.searches[g].latencies.empty()) least = (std::min)(least, r.searches[g].latencies[0]);
    return least;
}

/// The share of a guide after a number of trials. That of random search is the mean over any order. Where the untuned schedule is the first trial, its least
/// measurement counts: it is the same schedule in all of them, and one trial in thirty has noise of a factor of two.
double share_of(const kernel_record& r, std::size_t g, std::size_t trials) {
    const auto& latencies = r.searches[g].latencies;
    if (g == 0) return expected_share_after(latencies, r.best(), trials);
    const double share = share_after(latencies, r.best(), trials);
    return begins_untuned(guides[g]) && trials > 0 && !latencies.empty() ? (std::max)(share, r.best() / least_untuned(r)) : share;
}

/// The guides that all records have.
std::vector<std::size_t> measured_guides(std::span<const kernel_record> records) {
    std::vector<std::size_t> out;
    for (std::size_t g = 0; g < guides.size(); ++g)
        if (std::none_of(records.begin(), records.end(), [&](const kernel_record& r) { return r.searches[g].latencies.empty(); })) out.push_back(g);
    return out;
}

/// Whether a guide may end before its trials are used up, as nothing more is written or fits; a kernel then keeps what it has.
bool ends_early(const guide& g) { return g.strategy == all_transfers || std::find(writers.begin(), writers.end(), g.strategy) != writers.end(); }

/// The trials of a guide that all records have; of one that ends early the most that one has.
std::size_t trials_of(std::span<const kernel_record> records, std::size_t g) {
    std::size_t least = guides[g].trials, most = 0;
    for (const auto& r : records) {
        least = (std::min)(least, r.searches[g].latencies.size());
        most = (std::max)(most, r.searches[g].latencies.size());
    }
    return ends_early(guides[g]) ? most : least;
}

/// Whether something tells hard kernels from easy ones.
bool has_kinds(const std::vector<std::size_t>& measured, const table_options& options) {
    return !options.hard.empty() || (!measured.empty() && measured[0] == 0);
}

/// For each kernel: whether it is named, or, without names, whether random search has less than the median share after 16 trials.
std::vector<bool> hard_ones(std::span<const kernel_record> records, std::span<const std::string> named = {}) {
    if (!named.empty()) {
        std::vector<bool> out;
        for (const auto& r : records) out.push_back(std::find(named.begin(), named.end(), r.kernel) != named.end());
        return out;
    }
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < records.size(); ++i) order.emplace_back(share_of(records[i], 0, hardness_trials), i);
    std::sort(order.begin(), order.end());
    std::vector<bool> out(records.size(), false);
    for (std::size_t i = 0; i < records.size() / 2; ++i) out[order[i].second] = true;
    return out;
}

/// A value of each kernel of some records, the geometric mean over the records of a kernel: an interval is over kernels, not over their runs.
template <class F>
std::vector<double> by_kernel(std::span<const kernel_record> records, const F& value_of, const std::vector<bool>& chosen) {
    std::vector<std::string_view> names;
    std::vector<double> sums, counts;
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!chosen[i]) continue;
        const double value = value_of(records[i]);
        const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), records[i].kernel) - names.begin());
        if (at == names.size()) {
            names.emplace_back(records[i].kernel);
            sums.push_back(0);
            counts.push_back(0);
        }
        sums[at] += std::log(value);
        ++counts[at];
    }
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = std::exp(sums[k] / counts[k]);
    return sums;
}

/// The geometric mean of shares, and its 95 % interval. A kernel without a success makes it 0.
std::string mean_text(std::span<const double> shares) {
    if (std::any_of(shares.begin(), shares.end(), [](double s) { return !(s > 0); })) return "0";
    const auto m = examples::geometric(shares);
    return m.count < 2 ? examples::text_of("%.3f", m.mean) : examples::text_of("%.3f (%.3f to %.3f)", m.mean, m.low, m.high);
}

/// The ratio of sums, as the paper has it (Zhai et al. 2024, section 6): slow kernels count most.
double share_of_sums(std::span<const kernel_record> records, std::size_t g, std::size_t trials, const std::vector<bool>& chosen) {
    const auto sum = [&](const auto& value_of) {
        const auto all = by_kernel(records, value_of, chosen);
        return std::accumulate(all.begin(), all.end(), 0.0);
    };
    return sum([](const kernel_record& r) { return r.best(); }) / sum([&](const kernel_record& r) { return r.best() / share_of(r, g, trials); });
}

double sum_of_logarithms(std::span<const kernel_record> records, std::size_t g, std::size_t trials) {
    double sum = 0;
    for (const auto& r : records) sum += std::log(share_of(r, g, trials));
    return sum;
}

/// The trials of a guide after which the sum of the logarithms of the shares is as wanted; 0: it never is.
std::size_t trials_until(std::span<const kernel_record> records, std::size_t g, double wanted) {
    for (std::size_t n = 1; n <= trials_of(records, g); ++n)
        if (sum_of_logarithms(records, g, n) >= wanted) return n;
    return 0;
}

/// The share of the best latency that a latency is; 0 where there is none.
double share_at(const kernel_record& r, double latency) { return latency > 0 ? r.best() / latency : 0; }

} // namespace

double share_after(std::span<const double> latencies, double best, std::size_t trials) {
    double least = std::numeric_limits<double>::infinity();
    for (const double l : latencies.first((std::min)(trials, latencies.size()))) least = (std::min)(least, l);
    return best / least;
}

double expected_share_after(std::span<const double> latencies, double best, std::size_t trials) {
    if (latencies.empty()) return 0;
    std::vector<double> sorted(latencies.begin(), latencies.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size(), k = (std::min)(trials, n);
    double mean = 0, none_before = 1; // the probability that a subset has none of the latencies before i
    for (std::size_t i = 0; i + k <= n; ++i) {
        const double first = static_cast<double>(k) / static_cast<double>(n - i); // that it has i, if none before
        mean += none_before * first * (best / sorted[i]);
        none_before *= 1 - first;
    }
    return mean;
}

augur::result<std::vector<test_kernel>> hard_kernels(std::span<const kernel_record> records, std::size_t easy) {
    std::vector<test_kernel> out;
    if (records.size() < 2) return augur::error{augur::errc::invalid_argument, "expected two kernels or more, got " + std::to_string(records.size())};
    for (const auto& r : records)
        if (r.searches[0].latencies.empty() || !(r.best() > 0 && std::isfinite(r.best())))
            return augur::error{augur::errc::invalid_argument, "expected a random search of " + r.kernel + " that succeeded"};
    auto chosen = hard_ones(records);
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < records.size(); ++i)
        if (!chosen[i]) others.push_back(i);
    easy = (std::min)(easy, others.size());
    for (std::size_t i = 0; i < easy; ++i) chosen[others[i * others.size() / easy]] = true;
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!chosen[i]) continue;
        auto k = augur::kernel::parse(records[i].kernel);
        if (!k) return k.error();
        out.emplace_back(records[i].network, *std::move(k));
    }
    return out;
}

std::vector<titled_table> tables_of(std::span<const kernel_record> records, const table_options& options) {
    std::vector<titled_table> out;
    const auto hard = hard_ones(records, options.hard);
    auto easy = hard;
    easy.flip();
    const auto measured = measured_guides(records);
    const bool kinds = has_kinds(measured, options), randomly = !measured.empty() && measured[0] == 0;
    const std::size_t over = std::find(measured.begin(), measured.end(), options.over) != measured.end() ? options.over
                             : measured.empty()                                                          ? guides.size()
                                                                                                         : measured[0];
    std::set<std::string> machines;
    for (const auto& r : records) machines.insert(augur::machine_label(r.machine));

    for (const std::string group : {"all", "hard", "easy"}) {
        if (group != "all" && !kinds) break;
        titled_table t{"Share of the best known latency after a number of trials, " + group + " kernels", {{"trials"}}};
        for (const auto g : measured)
            for (const char* statistic : {" median", " lowest"}) t.rows[0].push_back(std::string(guides[g].name) + statistic);
        for (const auto n : milestones) {
            std::vector<std::string> row{std::to_string(n)};
            for (const auto g : measured) {
                std::vector<double> shares;
                for (std::size_t i = 0; i < records.size(); ++i)
                    if (group == "all" || hard[i] == (group == "hard")) shares.push_back(share_of(records[i], g, n));
                const bool none = n > trials_of(records, g) || shares.empty();
                row.push_back(none ? "-" : percent(examples::median(shares)));
                row.push_back(none ? "-" : percent(*std::min_element(shares.begin(), shares.end())));
            }
            t.rows.push_back(std::move(row));
        }
        out.push_back(std::move(t));
    }
    for (const bool only_hard : {true, false}) {
        const auto& chosen = only_hard ? hard : easy;
        if (!kinds || std::find(chosen.begin(), chosen.end(), true) == chosen.end()) continue;
        const std::string kernels = std::string(", ") + (only_hard ? "hard" : "easy") + " kernels";
        std::vector<std::string> head{"search"};
        for (const std::size_t n : mean_milestones) head.push_back(std::to_string(n));
        titled_table means{"Geometric mean of the share of the best known latency and its 95 % interval" + kernels, {head}};
        titled_table sums{"Sum of the best known latencies over the sum of those found" + kernels, {head}};
        titled_table ratios{"How much faster a search is than " + std::string(guides[over].name) +
                                " after a number of trials (geometric mean, 95 % interval)" + kernels,
                            {head}};
        for (const auto g : measured) {
            std::vector<std::string> mean{std::string(guides[g].name)}, ratio = mean, sum = mean;
            for (const std::size_t n : mean_milestones) {
                const bool one = n <= trials_of(records, g), both = one && n <= trials_of(records, over);
                sum.push_back(!one || g == 0 ? "-" : examples::text_of("%.3f", share_of_sums(records, g, n, chosen))); // random: a share is a mean
                mean.push_back(!one ? "-" : mean_text(by_kernel(records, [&](const kernel_record& r) { return share_of(r, g, n); }, chosen)));
                ratio.push_back(
                    !both ? "-"
                          : mean_text(by_kernel(records, [&](const kernel_record& r) { return share_of(r, g, n) / share_of(r, over, n); }, chosen)));
            }
            means.rows.push_back(std::move(mean));
            sums.rows.push_back(std::move(sum));
            if (g != over) ratios.rows.push_back(std::move(ratio));
        }
        out.push_back(std::move(means));
        out.push_back(std::move(sums));
        if (ratios.rows.size() > 1) out.push_back(std::move(ratios));
    }
    // winners of one run were timed next to each other, those of another run were not
    titled_table winners{"How much faster the winner of a search is, timed again, than that of " +
                             std::string(measured.empty() ? "" : guides[over].name) + " (geometric mean, 95 % interval)",
                         {{"search", "kernels", "all", "hard", "easy"}}};
    for (const auto g : measured) {
        std::vector<bool> timed, timed_hard, timed_easy;
        for (std::size_t i = 0; i < records.size(); ++i) {
            timed.push_back(records[i].searches[g].winner > 0 && records[i].searches[over].winner > 0);
            timed_hard.push_back(timed[i] && hard[i]);
            timed_easy.push_back(timed[i] && !hard[i]);
        }
        const auto ratio = [&](const kernel_record& r) { return r.searches[over].winner / r.searches[g].winner; };
        const auto all = by_kernel(records, ratio, timed);
        if (g == over || all.empty()) continue;
        winners.rows.push_back({std::string(guides[g].name), std::to_string(all.size()), mean_text(all)});
        for (const auto* kind : {&timed_hard, &timed_easy}) {
            const auto ratios = by_kernel(records, ratio, *kind);
            winners.rows.back().push_back(ratios.empty() || !kinds ? "-" : mean_text(ratios));
        }
    }
    if (winners.rows.size() > 1) out.push_back(std::move(winners));

    titled_table cost{
        "What the searches took, all kernels; until the geometric mean of the share of the best known latency is 0.90 and 0.95",
        {{"guide", "trials", "seconds", "choosing and learning", "trials a kernel to 0.90", "seconds", "trials a kernel to 0.95", "seconds"}}};
    const auto all_records = static_cast<double>(records.size());
    std::vector<double> wanted_sums{std::log(0.90) * all_records, std::log(0.95) * all_records};
    constexpr std::size_t few = 10; // the paper's question: what does a rival need to match ten programs?
    if (over < guides.size() && over != 0 && trials_of(records, over) >= few)
        if (const double sum = sum_of_logarithms(records, over, few); std::isfinite(sum)) {
            wanted_sums.push_back(sum);
            cost.title += ", and what " + std::string(guides[over].name) + " has after " + std::to_string(few);
            cost.rows[0].emplace_back("trials a kernel to match it");
            cost.rows[0].emplace_back("seconds");
        }
    for (const auto g : measured) {
        std::size_t trials = 0, clocked_trials = 0;  // of the searches whose seconds are known: a resumed one does not know them
        double seconds = 0, choosing = 0, timed = 0; // timed: of the searches whose choosing is known
        for (const auto& r : records) {
            const auto& s = r.searches[g];
            trials += s.latencies.size();
            clocked_trials += s.seconds > 0 ? s.latencies.size() : 0;
            seconds += s.seconds;
            choosing += s.choosing;
            timed += s.choosing > 0 ? s.seconds : 0;
        }
        const bool clocked = seconds > 0;
        std::vector<std::string> row{std::string(guides[g].name), std::to_string(trials),
                                     clocked ? examples::text_of("%.0f", seconds * static_cast<double>(trials) / static_cast<double>(clocked_trials))
                                             : "-",
                                     timed > 0 ? percent(choosing / timed) : "-"};
        for (const double wanted : wanted_sums) {
            const auto needed = trials_until(records, g, wanted);
            row.push_back(needed == 0 ? "-" : std::to_string(needed));
            row.push_back(needed == 0 || !clocked ? "-"
                                                  : examples::text_of("%.0f", seconds / static_cast<double>(clocked_trials) *
                                                                                  static_cast<double>(needed * records.size())));
        }
        cost.rows.push_back(std::move(row));
    }
    out.push_back(std::move(cost));

    titled_table each{"Kernels", {{"kernel", "network", "best us", "limit", "of the limit", "found by", "untuned", "kind"}}};
    titled_table crop{"Crop's best of 512 random schedules, as a share of the best known latency",
                      {{"kernel", "its first", "best of its four", "four at random"}}};
    if (machines.size() > 1) each.rows[0].emplace_back("machine");
    const std::size_t own = (std::min)(options.own, records.size());
    for (std::size_t i = 0; i < own; ++i) {
        const auto& r = records[i];
        double winner = r.untuned > 0 ? r.untuned : std::numeric_limits<double>::infinity();
        std::string_view finder = "untuned";
        for (const auto g : measured)
            if (r.searches[g].winner > 0 && r.searches[g].winner < winner) {
                winner = r.searches[g].winner;
                finder = guides[g].name;
            }
        each.rows.push_back({r.label, r.network, examples::text_of("%.1f", winner * 1e6), r.bound, r.limit > 0 ? percent(r.limit / winner) : "-",
                             std::string(finder), r.untuned > 0 ? percent(winner / r.untuned) : "-",
                             !kinds    ? "-"
                             : hard[i] ? "hard"
                                       : "easy"});
        if (machines.size() > 1) each.rows.back().push_back(augur::machine_label(r.machine));
        if (!r.picks.empty() && randomly)
            crop.rows.push_back({r.label, percent(share_at(r, r.picks[0])), percent(share_at(r, *std::min_element(r.picks.begin(), r.picks.end()))),
                                 percent(share_of(r, 0, r.picks.size()))});
    }
    out.push_back(std::move(each));
    if (crop.rows.size() > 1) out.push_back(std::move(crop));

    for (const auto g : measured) {
        titled_table one{"Share of the best known latency, " + std::string(guides[g].name), {{"kernel"}}};
        for (const auto n : milestones)
            if (n <= trials_of(records, g)) one.rows[0].push_back(std::to_string(n));
        for (const auto& r : records.first(own)) {
            std::vector<std::string> row{r.label};
            for (const auto n : milestones)
                if (n <= trials_of(records, g)) row.push_back(percent(share_of(r, g, n)));
            one.rows.push_back(std::move(row));
        }
        out.push_back(std::move(one));
    }
    return out;
}

std::string markdown_of(std::span<const titled_table> tables) {
    std::string out;
    for (const auto& t : tables) {
        out += (out.empty() ? "" : "\n") + t.title + ":\n\n";
        for (std::size_t r = 0; r < t.rows.size(); ++r) {
            out += "|";
            for (const auto& cell : t.rows[r]) out += " " + cell + " |";
            out += "\n";
            if (r > 0) continue;
            for (std::size_t i = 0; i < t.rows[0].size(); ++i) out += "|---";
            out += "|\n";
        }
    }
    return out;
}

std::string chart_of(std::span<const kernel_record> records, const table_options& options) {
    const auto measured = measured_guides(records);
    const auto hard = hard_ones(records, options.hard);
    std::vector<examples::curve_chart> charts;
    for (const bool of_hard : {true, false}) {
        examples::curve_chart chart{std::string(of_hard ? "Hard" : "Easy") + " kernels: median share of the best known latency",
                                    {"trials", true, 1, static_cast<double>(milestones.back())},
                                    {"%", false, 0, 100},
                                    false,
                                    {}};
        for (const auto g : measured) {
            auto& curve = chart.curves.emplace_back(examples::chart_curve{std::string(guides[g].name), examples::series_look(g), {}});
            for (std::size_t n = 1; n <= trials_of(records, g); n = n < 16 ? n + 1 : n + n / 16) {
                std::vector<double> shares;
                for (std::size_t i = 0; i < records.size(); ++i)
                    if (hard[i] == of_hard) shares.push_back(share_of(records[i], g, n));
                if (!shares.empty()) curve.points.push_back({static_cast<double>(n), 100 * examples::median(shares)});
            }
        }
        charts.push_back(std::move(chart));
    }
    return to_svg(charts, charts.size());
}
