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
constexpr std::array<std::size_t, 7> mean_milestones{1, 4, 10, 16, 32, 64, 256};
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

/// How many of Crop's picks all records have.
std::size_t common_picks(std::span<const kernel_record> records) {
    std::size_t out = std::numeric_limits<std::size_t>::max();
    for (const auto& r : records) out = (std::min)(out, r.picks.size());
    return records.empty() ? 0 : out;
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
    std::size_t least = records.empty() ? 0 : std::numeric_limits<std::size_t>::max(), most = 0;
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

/// A value of each kernel of some records, and its name, in the order of their first records: the geometric mean over the records of a kernel, for an
/// interval is over kernels, not over their runs.
template <class F>
std::vector<std::pair<double, std::string_view>> named_by_kernel(std::span<const kernel_record> records, const F& value_of,
                                                                 const std::vector<bool>& chosen) {
    std::vector<std::pair<double, std::string_view>> out;
    std::vector<double> counts;
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!chosen[i]) continue;
        const double value = value_of(records[i]);
        const auto found = std::find_if(out.begin(), out.end(), [&](const auto& k) { return k.second == records[i].kernel; });
        const auto at = static_cast<std::size_t>(found - out.begin());
        if (at == out.size()) {
            out.emplace_back(0, records[i].kernel);
            counts.push_back(0);
        }
        out[at].first += std::log(value);
        ++counts[at];
    }
    for (std::size_t k = 0; k < out.size(); ++k) out[k].first = std::exp(out[k].first / counts[k]);
    return out;
}
/// The values alone.
template <class F>
std::vector<double> by_kernel(std::span<const kernel_record> records, const F& value_of, const std::vector<bool>& chosen) {
    std::vector<double> out;
    for (const auto& [value, name] : named_by_kernel(records, value_of, chosen)) out.push_back(value);
    return out;
}

/// For each record: whether it is of a kernel.
std::vector<bool> records_of(std::span<const kernel_record> records, std::string_view kernel) {
    std::vector<bool> out;
    for (const auto& r : records) out.push_back(r.kernel == kernel);
    return out;
}

/// For each record: whether its kernel is named, or, without names, whether random search has less than the median share of it after 16 trials.
std::vector<bool> hard_ones(std::span<const kernel_record> records, std::span<const std::string> named = {}) {
    std::vector<std::string_view> hard(named.begin(), named.end());
    if (named.empty()) {
        const auto shares =
            named_by_kernel(records, [](const kernel_record& r) { return share_of(r, 0, hardness_trials); }, std::vector<bool>(records.size(), true));
        std::vector<std::pair<double, std::size_t>> order;
        for (std::size_t k = 0; k < shares.size(); ++k) order.emplace_back(shares[k].first, k);
        std::sort(order.begin(), order.end());
        for (std::size_t k = 0; k < order.size() / 2; ++k) hard.push_back(shares[order[k].second].second);
    }
    std::vector<bool> out;
    for (const auto& r : records) out.push_back(std::find(hard.begin(), hard.end(), r.kernel) != hard.end());
    return out;
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

/// Records, and what their tables have in common.
struct compared_records {
    std::span<const kernel_record> records;
    std::vector<bool> hard, easy;
    std::vector<std::size_t> measured; ///< `measured_guides`
    bool kinds, randomly;              ///< `has_kinds`; all have a random search
    std::size_t over;                  ///< the guide that the others are compared with; `guides.size()`: none is measured

    compared_records(std::span<const kernel_record> all, const table_options& options)
        : records(all), hard(hard_ones(all, options.hard)), easy(hard), measured(measured_guides(all)), kinds(has_kinds(measured, options)),
          randomly(!measured.empty() && measured[0] == 0),
          over(std::find(measured.begin(), measured.end(), options.over) != measured.end() ? options.over
               : measured.empty()                                                          ? guides.size()
                                                                                           : measured[0]) {
        easy.flip();
    }
};

/// Shares by the number of trials: median and least over the records of all, hard or easy kernels.
titled_table shares_table(const compared_records& of, const std::string& group) {
    titled_table t{"Share of the best known latency after a number of trials, " + group + " kernels", {{"trials"}}};
    for (const auto g : of.measured)
        for (const char* statistic : {" median", " lowest"}) t.rows[0].push_back(std::string(guides[g].name) + statistic);
    for (const auto n : milestones) {
        std::vector<std::string> row{std::to_string(n)};
        for (const auto g : of.measured) {
            std::vector<double> shares;
            for (std::size_t i = 0; i < of.records.size(); ++i)
                if (group == "all" || of.hard[i] == (group == "hard")) shares.push_back(share_of(of.records[i], g, n));
            const bool none = n > trials_of(of.records, g) || shares.empty();
            row.push_back(none ? "-" : percent(examples::median(shares)));
            row.push_back(none ? "-" : percent(*std::min_element(shares.begin(), shares.end())));
        }
        t.rows.push_back(std::move(row));
    }
    return t;
}

/// Means of the shares, ratios of sums and means over those of another guide, of the hard or the easy kernels; nothing where there are none of them.
void add_means(const compared_records& of, bool only_hard, std::vector<titled_table>& out) {
    const auto& chosen = only_hard ? of.hard : of.easy;
    if (!of.kinds || of.measured.empty() || std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return;
    const std::string kernels = std::string(", ") + (only_hard ? "hard" : "easy") + " kernels";
    std::vector<std::string> head{"search"};
    for (const std::size_t n : mean_milestones) head.push_back(std::to_string(n));
    titled_table means{"Geometric mean of the share of the best known latency and its 95 % interval" + kernels, {head}};
    titled_table sums{"Sum of the best known latencies over the sum of those found" + kernels, {head}};
    titled_table ratios{"How much faster a search is than " + std::string(guides[of.over].name) +
                            " after a number of trials (geometric mean, 95 % interval)" + kernels,
                        {head}};
    for (const auto g : of.measured) {
        std::vector<std::string> mean{std::string(guides[g].name)}, ratio = mean, sum = mean;
        for (const std::size_t n : mean_milestones) {
            const bool one = n <= trials_of(of.records, g), both = one && n <= trials_of(of.records, of.over);
            sum.push_back(!one || g == 0 ? "-" : examples::text_of("%.3f", share_of_sums(of.records, g, n, chosen))); // random: a share is a mean
            mean.push_back(!one ? "-" : mean_text(by_kernel(of.records, [&](const kernel_record& r) { return share_of(r, g, n); }, chosen)));
            ratio.push_back(!both ? "-"
                                  : mean_text(by_kernel(
                                        of.records, [&](const kernel_record& r) { return share_of(r, g, n) / share_of(r, of.over, n); }, chosen)));
        }
        means.rows.push_back(std::move(mean));
        sums.rows.push_back(std::move(sum));
        if (g != of.over) ratios.rows.push_back(std::move(ratio));
    }
    if (const std::size_t picks = common_picks(of.records); picks > 0) { // no search: each is measured whatever the others were
        std::vector<std::string> mean{"Crop's best of 512"}, ratio = mean;
        for (const std::size_t n : mean_milestones) {
            const auto share = [n](const kernel_record& r) { return share_after(r.picks, r.best(), n); };
            mean.push_back(n > picks ? "-" : mean_text(by_kernel(of.records, share, chosen)));
            ratio.push_back(
                n > picks || n > trials_of(of.records, of.over)
                    ? "-"
                    : mean_text(by_kernel(of.records, [&](const kernel_record& r) { return share(r) / share_of(r, of.over, n); }, chosen)));
        }
        means.rows.push_back(std::move(mean));
        ratios.rows.push_back(std::move(ratio));
    }
    out.push_back(std::move(means));
    out.push_back(std::move(sums));
    if (ratios.rows.size() > 1) out.push_back(std::move(ratios));
}

/// The winners of the searches over those of another guide. Winners of one run were timed next to each other, those of another run were not.
titled_table winners_table(const compared_records& of) {
    titled_table t{"How much faster the winner of a search is, timed again, than that of " +
                       std::string(of.measured.empty() ? "" : guides[of.over].name) + " (geometric mean, 95 % interval)",
                   {{"search", "kernels", "all", "hard", "easy"}}};
    for (const auto g : of.measured) {
        std::vector<bool> timed, timed_hard, timed_easy;
        for (std::size_t i = 0; i < of.records.size(); ++i) {
            timed.push_back(of.records[i].searches[g].winner > 0 && of.records[i].searches[of.over].winner > 0);
            timed_hard.push_back(timed[i] && of.hard[i]);
            timed_easy.push_back(timed[i] && !of.hard[i]);
        }
        const auto ratio = [&](const kernel_record& r) { return r.searches[of.over].winner / r.searches[g].winner; };
        const auto all = by_kernel(of.records, ratio, timed);
        if (g == of.over || all.empty()) continue;
        t.rows.push_back({std::string(guides[g].name), std::to_string(all.size()), mean_text(all)});
        for (const auto* kind : {&timed_hard, &timed_easy}) {
            const auto ratios = by_kernel(of.records, ratio, *kind);
            t.rows.back().push_back(ratios.empty() || !of.kinds ? "-" : mean_text(ratios));
        }
    }
    return t;
}

/// Trials and seconds of the searches, and what they need for some shares.
titled_table cost_table(const compared_records& of) {
    titled_table t{
        "What the searches took, all kernels; until the geometric mean of the share of the best known latency is 0.90 and 0.95",
        {{"guide", "trials", "seconds", "choosing and learning", "trials a kernel to 0.90", "seconds", "trials a kernel to 0.95", "seconds"}}};
    const auto all_records = static_cast<double>(of.records.size());
    std::vector<double> wanted_sums{std::log(0.90) * all_records, std::log(0.95) * all_records};
    constexpr std::size_t few = 10; // the paper's question: what does a rival need to match ten programs?
    if (of.over < guides.size() && of.over != 0 && trials_of(of.records, of.over) >= few)
        if (const double sum = sum_of_logarithms(of.records, of.over, few); std::isfinite(sum)) {
            wanted_sums.push_back(sum);
            t.title += ", and what " + std::string(guides[of.over].name) + " has after " + std::to_string(few);
            t.rows[0].emplace_back("trials a kernel to match it");
            t.rows[0].emplace_back("seconds");
        }
    for (const auto g : of.measured) {
        std::size_t trials = 0, clocked_trials = 0;  // of the searches whose seconds are known: a resumed one does not know them
        double seconds = 0, choosing = 0, timed = 0; // timed: of the searches whose choosing is known
        for (const auto& r : of.records) {
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
            const auto needed = trials_until(of.records, g, wanted);
            row.push_back(needed == 0 ? "-" : std::to_string(needed));
            row.push_back(needed == 0 || !clocked ? "-"
                                                  : examples::text_of("%.0f", seconds / static_cast<double>(clocked_trials) *
                                                                                  static_cast<double>(needed * of.records.size())));
        }
        t.rows.push_back(std::move(row));
    }
    return t;
}

/// The latency of a network after a number of trials of each of its kernels: the best of these schedules, by the uses of the kernel (Zhai et al. 2024,
/// Figures 10 and 11, without what lies between kernels). No rows but the head where a kernel has no record.
titled_table network_table(const compared_records& of, const augur::network& network) {
    titled_table t{"Latency of " + network.name + ", ms: the sum over its kernels by their uses", {{"search"}}};
    for (const std::size_t n : mean_milestones) t.rows[0].push_back(std::to_string(n));
    t.rows[0].emplace_back("all");
    t.rows[0].emplace_back("trials");
    const auto sum = [&](const auto& latency_of) {
        double seconds = 0;
        for (const auto& k : network.kernels) {
            const auto latencies = named_by_kernel(of.records, latency_of, records_of(of.records, k.workload.text()));
            seconds += k.uses * (latencies.empty() ? std::numeric_limits<double>::infinity() : latencies.front().first);
        }
        return seconds;
    };
    const double untuned = sum(least_untuned), best = sum([](const kernel_record& r) { return r.best(); });
    if (!std::isfinite(best)) return t;
    const auto add = [&](std::string_view name, double seconds) {
        t.rows.push_back({std::string(name)});
        t.rows.back().resize(mean_milestones.size() + 1, "-");
        t.rows.back().push_back(examples::milliseconds(seconds));
        t.rows.back().emplace_back("-");
    };
    add("the untuned schedules", untuned);
    for (const auto g : of.measured) {
        if (g == 0) continue; // random: a share is a mean
        const auto after = [&](std::size_t trials) { return sum([&](const kernel_record& r) { return r.best() / share_of(r, g, trials); }); };
        const std::size_t all = trials_of(of.records, g);
        std::vector<std::string> row{std::string(guides[g].name)};
        for (const std::size_t n : mean_milestones) row.push_back(n > all ? "-" : examples::milliseconds(after(n)));
        row.push_back(examples::milliseconds(after(all)));
        row.push_back(std::to_string(all));
        t.rows.push_back(std::move(row));
    }
    add("the best of all", best);
    return t;
}

/// The kernels one by one.
/// @param own  those of the records that are listed, here and below
titled_table kernel_table(const compared_records& of, std::span<const kernel_record> own) {
    std::set<std::string> machines;
    for (const auto& r : of.records) machines.insert(augur::machine_label(r.machine));
    titled_table t{"Kernels", {{"kernel", "network", "best us", "limit", "of the limit", "found by", "untuned", "kind"}}};
    if (machines.size() > 1) t.rows[0].emplace_back("machine");
    for (std::size_t i = 0; i < own.size(); ++i) {
        const auto& r = own[i];
        double winner = r.untuned > 0 ? r.untuned : std::numeric_limits<double>::infinity();
        std::string_view finder = "untuned";
        for (const auto g : of.measured)
            if (r.searches[g].winner > 0 && r.searches[g].winner < winner) {
                winner = r.searches[g].winner;
                finder = guides[g].name;
            }
        t.rows.push_back({r.label, r.network, examples::text_of("%.1f", winner * 1e6), r.bound, r.limit > 0 ? percent(r.limit / winner) : "-",
                          std::string(finder), r.untuned > 0 ? percent(winner / r.untuned) : "-",
                          !of.kinds    ? "-"
                          : of.hard[i] ? "hard"
                                       : "easy"});
        if (machines.size() > 1) t.rows.back().push_back(augur::machine_label(r.machine));
    }
    return t;
}

/// Crop's picks, next to as many random schedules.
titled_table pick_table(const compared_records& of, std::span<const kernel_record> own) {
    titled_table t{"Crop's best of 512 random schedules, as a share of the best known latency",
                   {{"kernel", "its first", "best of its four", "four at random"}}};
    for (const auto& r : own)
        if (!r.picks.empty() && of.randomly)
            t.rows.push_back({r.label, percent(share_at(r, r.picks[0])), percent(share_after(r.picks, r.best(), 4)), percent(share_of(r, 0, 4))});
    return t;
}

/// The shares of one guide, kernel by kernel.
titled_table guide_table(const compared_records& of, std::span<const kernel_record> own, std::size_t g) {
    titled_table t{"Share of the best known latency, " + std::string(guides[g].name), {{"kernel"}}};
    for (const auto n : milestones)
        if (n <= trials_of(of.records, g)) t.rows[0].push_back(std::to_string(n));
    for (const auto& r : own) {
        std::vector<std::string> row{r.label};
        for (const auto n : milestones)
            if (n <= trials_of(of.records, g)) row.push_back(percent(share_of(r, g, n)));
        t.rows.push_back(std::move(row));
    }
    return t;
}

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
    const compared_records of(records, options);
    std::vector<titled_table> out;
    for (const char* group : {"all", "hard", "easy"})
        if (of.kinds || group == std::string_view("all")) out.push_back(shares_table(of, group));
    for (const bool only_hard : {true, false}) add_means(of, only_hard, out);
    if (auto winners = winners_table(of); winners.rows.size() > 1) out.push_back(std::move(winners));
    for (const auto& name : options.networks)
        if (const auto network = augur::find_network(name))
            if (auto latencies = network_table(of, *network); latencies.rows.size() > 1) out.push_back(std::move(latencies));
    out.push_back(cost_table(of));
    const auto own = records.first((std::min)(options.own, records.size()));
    out.push_back(kernel_table(of, own));
    if (auto picks = pick_table(of, own); picks.rows.size() > 1) out.push_back(std::move(picks));
    for (const auto g : of.measured) out.push_back(guide_table(of, own, g));
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
    const compared_records of(records, options);
    const std::vector<bool> all(records.size(), true);
    std::vector<std::pair<std::string, const std::vector<bool>*>> groups{{"All", &all}};
    if (of.kinds) groups = {{"Hard", &of.hard}, {"Easy", &of.easy}};
    if (of.kinds && !records.empty())
        std::erase_if(groups, [](const auto& g) { return std::find(g.second->begin(), g.second->end(), true) == g.second->end(); });
    std::vector<examples::curve_chart> charts;
    for (const auto& [group, chosen] : groups) {
        examples::curve_chart chart{group + " kernels: median share of the best known latency",
                                    {"trials", true, 1, static_cast<double>(milestones.back())},
                                    {"%", false, 0, 100},
                                    false,
                                    {}};
        for (const auto g : of.measured) {
            auto& curve = chart.curves.emplace_back(examples::chart_curve{std::string(guides[g].name), examples::series_look(g), {}});
            for (std::size_t n = 1; n <= trials_of(records, g); n = n < 16 ? n + 1 : n + n / 16) {
                std::vector<double> shares;
                for (std::size_t i = 0; i < records.size(); ++i)
                    if ((*chosen)[i]) shares.push_back(share_of(records[i], g, n));
                if (!shares.empty()) curve.points.push_back({static_cast<double>(n), 100 * examples::median(shares)});
            }
        }
        charts.push_back(std::move(chart));
    }
    return to_svg(charts, charts.size());
}
