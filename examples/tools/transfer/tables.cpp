// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transfer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <augur/core/random_engine.hpp>

#include "console.hpp"

using examples::milliseconds;
using examples::text_of;
using examples::transfer_result;

const chooser* find_chooser(std::string_view name) {
    const auto at = std::find_if(choosers.begin(), choosers.end(), [&](const chooser& c) { return c.name == name; });
    return at == choosers.end() ? nullptr : &*at;
}

namespace {

constexpr auto npos = static_cast<std::size_t>(-1);

/// The fastest transferred schedule of a kernel; null: none ran.
const augur::transferred_schedule* fastest(const augur::search_report& search, std::size_t kernel) {
    const augur::transferred_schedule* out = nullptr;
    if (kernel < search.transfers.size())
        for (const auto& t : search.transfers[kernel].proposed)
            if (t.latency > 0 && std::isfinite(t.latency) && (out == nullptr || t.latency < out->latency)) out = &t;
    return out;
}

/// The latency of the full search, or of anything faster; 0: not known.
double full_latency(const augur::session_report& report, std::size_t full, std::size_t kernel) {
    if (full == npos || report.searches[full].latencies[kernel].empty()) return 0;
    const double found = report.searches[full].result[kernel].latency;
    return std::isfinite(found) ? found : 0;
}

/// How many times as slow as the best of the untuned schedule and all transferred ones is the best of the untuned one and three, on average over all
/// choices of three. Of the latencies as recorded.
double three_over_all(double untuned, const augur::kernel_transfers& transfers) {
    std::vector<double> found;
    for (const auto& t : transfers.proposed) found.push_back((std::min)(t.latency > 0 ? t.latency : untuned, untuned));
    std::sort(found.begin(), found.end());
    const auto n = static_cast<double>(found.size());
    if (n <= 3) return 1;
    double sum = 0, left = n * (n - 1) * (n - 2); // ordered choices; `left`: of those from i on
    const double all = left;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double m = n - static_cast<double>(i) - 1, later = m * (m - 1) * (m - 2);
        sum += (left - later) / all * found[i];
        left = later;
    }
    return sum / found.front();
}

std::string percent(double share) { return std::isfinite(share) && share > 0 ? text_of("%.1f %%", 100 * share) : "-"; }

/// Geometric mean, and the interval of it that 95 of 100 draws of the values with replacement give.
struct mean_share {
    double mean = 0, low = 0, high = 0, least = 0;
};
mean_share mean_of(const std::vector<double>& shares) {
    if (shares.empty()) return {};
    std::vector<double> logs;
    for (const double s : shares) logs.push_back(std::log(s));
    const auto n = logs.size();
    augur::random_engine rng(1);
    std::vector<double> means(2000);
    for (auto& m : means) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += logs[rng.below(n)];
        m = sum / static_cast<double>(n);
    }
    std::sort(means.begin(), means.end());
    double sum = 0;
    for (const double l : logs) sum += l;
    return {std::exp(sum / static_cast<double>(n)), std::exp(means[50]), std::exp(means[1949]), *std::min_element(shares.begin(), shares.end())};
}

} // namespace

std::vector<transfer_result> results_of(const augur::session_report& report, std::size_t search, std::string_view chooser, std::size_t full) {
    std::vector<transfer_result> out;
    const auto& s = report.searches[search];
    std::string logs;
    for (const auto& path : report.options.transfer_from) logs += (logs.empty() ? "" : ", ") + std::filesystem::path(path).stem().string();
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const auto& kernel = report.kernels[k];
        transfer_result r;
        r.network = report.options.work.name;
        r.kernel = report.options.work.kernels[k].workload.text();
        r.label = kernel.label;
        r.machine = to_text(report.made_with.machine);
        r.chooser = chooser;
        r.uses = kernel.uses;
        r.untuned = kernel.untuned;
        r.latency = s.result[k].latency;
        r.full = full_latency(report, full, k);
        r.measurements = s.latencies[k].size() + (find_chooser(chooser)->model == "none" && kernel.untuned > 0 ? 1 : 0);
        r.adapted = k < s.transfers.size() ? s.transfers[k].adapted : 0;
        r.logs = logs;
        if (const auto* best = fastest(s, k)) r.source = best->source;
        if (find_chooser(chooser)->first == every && r.adapted > 0 && kernel.untuned > 0)
            r.of_three = r.latency * three_over_all(kernel.untuned, s.transfers[k]);
        out.push_back(std::move(r));
    }
    return out;
}

text_table kernel_table(const augur::session_report& report, std::size_t search, std::size_t full) {
    const auto& s = report.searches[search];
    text_table rows{{"kernel", "uses", "adapted", "source of the best", "untuned ms", "transferred ms", "speed-up"}};
    if (full != npos) rows[0].insert(rows[0].end(), {"full ms", "of full"});
    double untuned = 0, found = 0, known = 0;
    const auto times = [](double slow, double fast) {
        return slow > 0 && fast > 0 && std::isfinite(slow / fast) ? text_of("%.2fx", slow / fast) : "-";
    };
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const auto& kernel = report.kernels[k];
        const auto* best = fastest(s, k);
        const double result = s.result[k].latency, longest = full_latency(report, full, k);
        rows.push_back({kernel.label, text_of("%g", kernel.uses), std::to_string(k < s.transfers.size() ? s.transfers[k].adapted : 0),
                        best == nullptr ? "-" : best->source, milliseconds(kernel.untuned), milliseconds(result), times(kernel.untuned, result)});
        if (full != npos) rows.back().insert(rows.back().end(), {milliseconds(longest), percent(longest / result)});
        untuned += kernel.uses * kernel.untuned;
        found += kernel.uses * result;
        known += kernel.uses * (longest > 0 ? longest : std::numeric_limits<double>::infinity());
    }
    rows.push_back({report.options.work.name, "", "", "", milliseconds(untuned), milliseconds(found), times(untuned, found)});
    if (full != npos) rows.back().insert(rows.back().end(), {milliseconds(known), percent(known / found)});
    return rows;
}

text_table summary_table(std::span<const transfer_result> results) {
    // a kernel has a source if some chooser that transfers found one
    std::map<std::pair<std::string, std::string>, bool> has_source;
    for (const auto& r : results) has_source[{r.network, r.kernel}] = has_source[{r.network, r.kernel}] || r.adapted > 0;
    text_table rows{{"kernels", "chosen by", "measurements", "share of full", "95 % interval", "lowest", "share of the speed-up"}};
    for (const bool sourced : {true, false})
        for (std::size_t row = 0; row <= choosers.size(); ++row) {
            const bool three = row == choosers.size(); // any three of all
            const auto& c = three ? *find_chooser("all") : choosers[row];
            std::vector<double> shares;
            double measured = 0;
            std::map<std::string, std::array<double, 3>> networks; // untuned, found, full
            for (const auto& r : results) {
                if (r.chooser != c.name || !(r.full > 0) || !(r.untuned > 0) || (has_source[{r.network, r.kernel}] != sourced)) continue;
                if (three && !(r.of_three > 0)) continue;
                const double latency = three ? r.of_three : r.latency;
                shares.push_back(r.full / latency);
                measured += three ? (std::min)(4.0, 1.0 + static_cast<double>(r.adapted)) : static_cast<double>(r.measurements);
                auto& sums = networks[r.network];
                sums[0] += r.uses * r.untuned;
                sums[1] += r.uses * latency;
                sums[2] += r.uses * r.full;
            }
            if (shares.empty()) continue;
            double gained = 0;
            for (const auto& [name, sums] : networks) gained += (sums[0] / sums[1] - 1) / (sums[0] / sums[2] - 1);
            const auto mean = mean_of(shares);
            rows.push_back({std::to_string(shares.size()) + (sourced ? " with a source" : " without"), three ? "any three" : std::string(c.name),
                            text_of("%.1f", measured / static_cast<double>(shares.size())), text_of("%.3f", mean.mean),
                            text_of("%.3f to %.3f", mean.low, mean.high), text_of("%.3f", mean.least),
                            std::isfinite(gained) ? text_of("%.2f", gained / static_cast<double>(networks.size())) : "-"});
        }
    return rows;
}

text_table rivals_table(std::span<const transfer_result> results) {
    text_table rows{{"kernels", "against", "faster by", "95 % interval"}};
    if (results.empty()) return rows;
    std::map<std::pair<std::string, std::string>, std::map<std::string, const transfer_result*>> kernels;
    for (const auto& r : results)
        if (r.full > 0 && r.untuned > 0) kernels[{r.network, r.kernel}][r.chooser] = &r;
    std::vector<std::pair<double, const std::map<std::string, const transfer_result*>*>> all; // share of random schedules, 0 if not measured
    bool has_random = true;
    for (const auto& [name, by] : kernels) {
        if (std::none_of(by.begin(), by.end(), [](const auto& entry) { return entry.second->adapted > 0; })) continue;
        const auto random = by.find("random");
        has_random = has_random && random != by.end();
        all.emplace_back(random == by.end() ? 0 : random->second->full / random->second->latency, &by);
    }
    const auto& first = results.front().chooser;
    const auto add = [&](const std::string& title) {
        for (const auto& c : choosers) {
            std::vector<double> ratios;
            for (const auto& [share, by] : all) {
                const auto one = by->find(first), other = by->find(std::string(c.name));
                if (c.name != first && one != by->end() && other != by->end()) ratios.push_back(other->second->latency / one->second->latency);
            }
            if (ratios.empty()) continue;
            const auto mean = mean_of(ratios);
            rows.push_back({std::to_string(ratios.size()) + title, std::string(c.name), text_of("%.3f", mean.mean),
                            text_of("%.3f to %.3f", mean.low, mean.high)});
        }
    };
    add(" with a source");
    if (has_random && all.size() > 1) {
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
            const auto &x = *a.second->begin()->second, &y = *b.second->begin()->second;
            return std::tie(a.first, x.network, x.kernel) < std::tie(b.first, y.network, y.kernel);
        });
        all.resize(all.size() / 2);
        add(" hard ones of these");
    }
    return rows;
}
