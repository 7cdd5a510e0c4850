// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include <augur/record/log_reader.hpp>
#include <augur/session/report.hpp>
#include <augur/workload/networks.hpp>

#include "console.hpp"
#include "runs.hpp"

namespace transfer_figures {

namespace {

using examples::text_of;
using examples::transfer_result;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::string_view speedup_unit = "speed-up over untuned schedules";

/// The kernel in "transfer from KERNEL, same dag, ...", as `augur::transferred_schedule::text` writes it; empty: the schedule was searched.
std::string source_of(std::string_view origin) {
    constexpr std::string_view before = "transfer from ", behind = ", same ";
    if (!origin.starts_with(before)) return {};
    origin.remove_prefix(before.size());
    return std::string(origin.substr(0, origin.find(behind)));
}

/// The first run of each network by this chooser, in the order of the results.
std::vector<const run*> first_runs(std::span<const run> runs, std::string_view chooser) {
    std::vector<const run*> out;
    for (const auto& r : runs)
        if (r.chooser == chooser && std::none_of(out.begin(), out.end(), [&](const run* o) { return o->network == r.network; })) out.push_back(&r);
    return out;
}

/// "resnet_50", or "7 networks".
std::string names(const std::string& logs) {
    const auto commas = std::count(logs.begin(), logs.end(), ',');
    return commas == 0 ? logs : std::to_string(commas + 1) + " networks";
}

/// The latency of a network after so many records of each kernel, the best of each.
double best_total(const network_log& log, std::size_t trials) {
    double sum = 0;
    for (const auto& k : log.kernels) {
        double best = infinity;
        for (std::size_t i = 0; i < (std::min)(trials, k.trials.size()); ++i) best = (std::min)(best, k.trials[i].latency);
        sum += k.uses * best;
    }
    return sum;
}
std::size_t most_trials(const network_log& log) {
    std::size_t most = 0;
    for (const auto& k : log.kernels) most = (std::max)(most, k.trials.size());
    return most;
}

/// Figure 1: what a long search gains, and how long it takes. The gain is of latencies that were timed again, for one record may have been disturbed.
void add_searches(const figure_data& data, std::span<const run> runs, std::vector<figure>& out) {
    figure gains{"figure1_speedup", {"Figure 1a: speed-up by a full search of each network", std::string(speedup_unit), {"full search"}, {}}};
    figure times{"figure1_seconds", {"Figure 1b: time of the full search", "seconds, from the first to the last record", {"full search"}, {}}};
    for (const auto& log : data.searches) {
        const auto timed = std::find_if(runs.begin(), runs.end(), [&](const run& r) { return r.network == log.network; });
        gains.chart.groups.push_back({log.network, {{0, timed == runs.end() ? 0 : timed->full_speedup(), "not timed again"}}});
        times.chart.groups.push_back({log.network, {{0, seconds_of(log)}}});
    }
    if (data.searches.empty()) return;
    out.push_back(std::move(gains));
    out.push_back(std::move(times));
}

/// Figure 4: the kernels of the paper's first target with each schedule that its first source has for them.
void add_pairs(const figure_data& data, std::vector<figure>& out) {
    constexpr std::string_view target = "resnet_18", source = "resnet_50";
    const auto tuned = augur::find_network(source);
    const auto log = std::find_if(data.pairs.begin(), data.pairs.end(), [&](const network_log& l) { return l.network == target; });
    if (!tuned || log == data.pairs.end()) return;
    figure pairs{"figure4", {"Figure 4: kernels of " + std::string(target) + " with each schedule of " + std::string(source), "", {}, {}}};
    pairs.chart.unit = "latency as a share of that with the untuned schedule (less is better)";
    pairs.chart.series = {"schedule of a kernel of " + std::string(source)};
    for (const auto& k : log->kernels) {
        double untuned = k.trials.front().latency; // the least of its timings, for each may have been disturbed
        for (const auto& r : data.results)
            if (r.network == target && r.kernel == k.workload.text() && r.untuned > 0) untuned = (std::min)(untuned, r.untuned);
        auto& group = pairs.chart.groups.emplace_back(examples::bar_group{augur::kernel_label(k.workload), {}});
        for (const auto& t : k.trials)
            for (const auto& s : tuned->kernels)
                if (t.source == s.workload.text()) {
                    const double share = t.latency / untuned;
                    group.bars.push_back({0, share, std::isfinite(share) ? augur::kernel_label(s.workload) : "failed"});
                }
        if (group.bars.empty()) group.bars.push_back({0, 0, "no schedule of its class"});
    }
    out.push_back(std::move(pairs));
}

struct named_chooser {
    std::string_view chooser, name;
};
constexpr std::array shown_choosers{named_chooser{"trees", "transfer, ranked by trees"}, named_chooser{"trees-alone", "search by those trees"},
                                    named_chooser{"random", "random schedules"}};

/// The speed-ups of a network by each chooser with the same number of measurements, and by the long search.
examples::bar_group speedups(std::span<const run> runs, std::span<const named_chooser> shown, const run& transferred, const std::string& label) {
    examples::bar_group out{label, {}};
    for (std::size_t i = 0; i < shown.size(); ++i)
        for (const auto* r : first_runs(runs, shown[i].chooser))
            if (r->network == transferred.network) out.bars.push_back({i, r->speedup()});
    out.bars.push_back({shown.size(), transferred.full_speedup()});
    return out;
}
std::vector<std::string> speedup_series() {
    std::vector<std::string> out;
    for (const auto& c : shown_choosers) out.emplace_back(c.name);
    out.emplace_back("full search");
    return out;
}

/// Figure 5: transfer and searches with as few measurements; and how many the long search needs to be as fast.
void add_networks(const figure_data& data, std::span<const run> runs, std::vector<figure>& out) {
    figure gains{"figure5_speedup", {"Figure 5a: speed-up with four measurements a kernel", std::string(speedup_unit), speedup_series(), {}}};
    figure needs{
        "figure5_measurements",
        {"Figure 5b: measurements for that speed-up", "measurements a kernel", {"transfer, ranked by trees", "full search, to be as fast"}, {}}};
    for (const auto* r : first_runs(runs, shown_choosers.front().chooser)) {
        gains.chart.groups.push_back(speedups(runs, shown_choosers, *r, r->network));
        const auto log = std::find_if(data.searches.begin(), data.searches.end(), [&](const network_log& l) { return l.network == r->network; });
        if (log == data.searches.end()) continue;
        const auto most = most_trials(*log);
        std::size_t needed = 1;
        while (needed <= most && best_total(*log, needed) > r->over_full() * best_total(*log, most)) ++needed;
        auto& bars = needs.chart.groups.emplace_back(examples::bar_group{r->network, {}}).bars;
        bars.push_back({0, r->count(&transfer_result::measurements) / static_cast<double>(r->kernels.size())});
        if (needed <= most) bars.push_back({1, static_cast<double>(needed)});
        else bars.push_back({1, 0, "not with " + std::to_string(most)});
    }
    if (!gains.chart.groups.empty()) out.push_back(std::move(gains));
    if (!needs.chart.groups.empty()) out.push_back(std::move(needs));
}

/// Figure 6: kernels on a machine without logs, with the schedules of another machine.
void add_elsewhere(const figure_data& data, std::vector<figure>& out) {
    constexpr std::array shown{named_chooser{"class", "transfer from another machine"}, named_chooser{"random", "random schedules"}};
    figure gains{"figure6", {"Figure 6: schedules of another machine", std::string(speedup_unit), {}, {}}};
    for (const auto& c : shown) gains.chart.series.emplace_back(c.name);
    gains.chart.series.emplace_back("full search");
    for (const auto& r : data.elsewhere) {
        auto& groups = gains.chart.groups;
        auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.label == r.label; });
        if (at == groups.end()) at = groups.insert(at, {r.label, {{shown.size(), r.full > 0 ? r.untuned / r.full : 0}}});
        for (std::size_t i = 0; i < shown.size(); ++i)
            if (r.chooser == shown[i].chooser) at->bars.insert(std::prev(at->bars.end()), {i, r.untuned / r.latency});
    }
    if (!gains.chart.groups.empty()) out.push_back(std::move(gains));
}

/// Figure 7: a network with the schedules of the same network at another length.
void add_lengths(const figure_data& data, std::vector<figure>& out) {
    constexpr std::array shown{named_chooser{"all", "schedules of the other length, adapted"},
                               named_chooser{"replayed", "the same, replayed unchanged"}, named_chooser{"random", "random schedules"}};
    const auto runs = runs_of(data.lengths);
    figure gains{"figure7", {"Figure 7: a network whose length varies", std::string(speedup_unit), {}, {}}};
    for (const auto& c : shown) gains.chart.series.emplace_back(c.name);
    gains.chart.series.emplace_back("full search");
    for (const auto* r : first_runs(runs, shown.front().chooser)) gains.chart.groups.push_back(speedups(runs, shown, *r, r->network));
    if (!gains.chart.groups.empty()) out.push_back(std::move(gains));
}

/// Figure 8: the schedules of one network or of all, each measured.
void add_pools(std::span<const run> runs, std::vector<figure>& out) {
    constexpr std::string_view all = "all";
    figure gains{"figure8_speedup",
                 {"Figure 8a: schedules of one network, or of all", std::string(speedup_unit), {"all pairs measured", "full search"}, {}}};
    figure needs{"figure8_measurements", {"Figure 8b: pairs of kernel and schedule that are measured", "measurements", {"all pairs"}, {}}};
    const auto insert = [](figure& f, examples::bar_group group) { // the runs of a network stand together
        const auto before = [](const auto& a, const auto& b) { return a.label.substr(0, a.label.find(' ')) < b.label.substr(0, b.label.find(' ')); };
        auto& groups = f.chart.groups;
        groups.insert(std::upper_bound(groups.begin(), groups.end(), group, before), std::move(group));
    };
    for (const auto& r : runs) {
        const auto same = [&](const run& o) { return o.chooser == all && o.network == r.network && o.machine == r.machine; };
        if (r.chooser != all || std::count_if(runs.begin(), runs.end(), same) < 2) continue;
        const auto label = r.network + " from " + names(r.logs);
        insert(gains, {label, {{0, r.speedup()}, {1, r.full_speedup()}}});
        insert(needs, {label, {{0, r.count(&transfer_result::adapted)}}});
    }
    if (gains.chart.groups.empty()) return;
    out.push_back(std::move(gains));
    out.push_back(std::move(needs));
}

} // namespace

augur::result<network_log> read_network_log(const std::string& network, const std::string& path) {
    const auto known = augur::find_network(network);
    if (!known) return known.error();
    network_log out{network, {}};
    for (const auto& k : known->kernels) out.kernels.push_back({k.workload, static_cast<double>(k.uses), {}});
    auto reader = augur::log_reader::open(path);
    if (!reader) return reader.error();
    for (augur::record r;;) {
        const auto more = reader->next(r);
        if (!more) return more.error();
        if (!*more) break;
        for (auto& k : out.kernels)
            if (k.workload.workload_key() == r.task.workload_key)
                k.trials.push_back({r.measured.latency(), r.measured.timestamp, source_of(r.origin)});
    }
    for (const auto& k : out.kernels)
        if (k.trials.empty()) return augur::error{augur::errc::not_found, path + ": expected records of each kernel, none of " + k.workload.text()};
    return out;
}

std::vector<figure> draw(const figure_data& data) {
    std::vector<figure> out;
    const auto runs = runs_of(data.results);
    add_searches(data, runs, out);
    add_pairs(data, out);
    add_networks(data, runs, out);
    add_elsewhere(data, out);
    add_lengths(data, out);
    add_pools(runs, out);
    return out;
}

} // namespace transfer_figures
