// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transfer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <augur/core/number.hpp>
#include <augur/core/random_engine.hpp>

#include "console.hpp"
#include "flags.hpp"

using examples::milliseconds;
using examples::text_of;
using examples::transfer_result;

const chooser* find_chooser(std::string_view name) {
    const auto at = std::find_if(choosers.begin(), choosers.end(), [&](const chooser& c) { return c.name == name; });
    return at == choosers.end() ? nullptr : &*at;
}

augur::result<counted_chooser> read_chooser(std::string_view text) {
    const auto colon = text.find(':');
    counted_chooser out{find_chooser(text.substr(0, colon)), 0};
    if (out.by == nullptr) {
        std::string list;
        for (const auto& c : choosers) list += (list.empty() ? "" : ",") + std::string(c.name);
        return augur::error{augur::errc::invalid_argument, "expected one of " + list + ", got '" + examples::shown(text) + "'"};
    }
    if (colon == std::string_view::npos) return out;
    const auto number = text.substr(colon + 1);
    const auto read = augur::parse_int(number);
    if (!read || *read < 1 || *read > 1000 || out.by->first == every || out.by->first == replays)
        return augur::error{augur::errc::invalid_argument,
                            "expected a number from 1 to 1000 behind the colon, of a chooser that takes one, got '" + examples::shown(text) + "'"};
    out.count = static_cast<std::size_t>(*read);
    return out;
}

namespace {

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
    if (full == compared_searches::none || report.searches[full].latencies[kernel].empty()) return 0;
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

/// What a search measured of a kernel, in order, the untuned schedule among it. One without a model does not measure that one itself.
std::vector<double> measured_by(const augur::session_report& report, std::size_t search, std::size_t kernel, bool has_untuned) {
    auto out = report.searches[search].latencies[kernel];
    if (!has_untuned && report.kernels[kernel].untuned > 0) out.insert(out.begin(), report.kernels[kernel].untuned);
    return out;
}
/// Do the trials of a search begin with the untuned schedule?
bool begins_untuned(const augur::session_report& report, std::size_t search, const compared_searches& compared) {
    if (search == compared.full) return true;
    const auto by = read_chooser(report.searches[search].name);
    return by && by->by->model != "none";
}
double least_of(const std::vector<double>& latencies) {
    return latencies.empty() ? std::numeric_limits<double>::infinity() : *std::min_element(latencies.begin(), latencies.end());
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

/// The names of all choosers, in the order of the results.
std::vector<std::string> choosers_of(std::span<const transfer_result> results) {
    std::vector<std::string> out;
    for (const auto& r : results)
        if (std::find(out.begin(), out.end(), r.chooser) == out.end()) out.push_back(r.chooser);
    return out;
}

/// Kernels are compared within a network, a machine and the logs that schedules were taken from.
using network_key = std::array<std::string, 3>;
network_key network_of(const transfer_result& r) { return {r.machine, r.logs, r.network}; }
using kernel_key = std::pair<network_key, std::string>;
kernel_key kernel_of(const transfer_result& r) { return {network_of(r), r.kernel}; }

} // namespace

std::vector<transfer_result> results_of(const augur::session_report& report, std::size_t search, const compared_searches& compared) {
    std::vector<transfer_result> out;
    const auto& s = report.searches[search];
    const auto by = read_chooser(s.name);
    std::string logs;
    for (const auto& path : report.options.transfer_from) logs += (logs.empty() ? "" : ", ") + std::filesystem::path(path).stem().string();
    const double seconds = s.summary && s.summary->measured > 0 ? s.summary->seconds / static_cast<double>(s.summary->measured) : 0;
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const auto& kernel = report.kernels[k];
        transfer_result r;
        r.network = report.options.work.name;
        r.kernel = report.options.work.kernels[k].workload.text();
        r.label = kernel.label;
        r.machine = to_text(report.made_with.machine);
        r.chooser = s.name;
        r.uses = kernel.uses;
        r.untuned = kernel.untuned;
        r.latency = s.result[k].latency;
        r.full = full_latency(report, compared.full, k);
        const auto measured = measured_by(report, search, k, begins_untuned(report, search, compared));
        r.measurements = measured.size();
        r.adapted = k < s.transfers.size() ? s.transfers[k].adapted : 0;
        r.logs = logs;
        r.seconds = seconds;
        const double wanted = least_of(measured_by(report, compared.first, k, begins_untuned(report, compared.first, compared)));
        const auto reached = std::find_if(measured.begin(), measured.end(), [&](double x) { return x <= wanted; });
        if (reached != measured.end() && std::isfinite(wanted)) r.needed = static_cast<std::size_t>(reached - measured.begin()) + 1;
        if (const auto* best = fastest(s, k)) r.source = best->source;
        if (by && by->by->first == every && r.adapted > 0 && kernel.untuned > 0)
            r.of_three = r.latency * three_over_all(kernel.untuned, s.transfers[k]);
        out.push_back(std::move(r));
    }
    return out;
}

text_table kernel_table(const augur::session_report& report, std::size_t search, const compared_searches& compared) {
    const auto& s = report.searches[search];
    text_table rows{{"kernel", "uses", "adapted", "measured", "source of the best", "untuned ms", "transferred ms", "speed-up"}};
    if (compared.full != compared_searches::none) rows[0].insert(rows[0].end(), {"full ms", "of full"});
    double untuned = 0, found = 0, known = 0;
    const auto times = [](double slow, double fast) {
        return slow > 0 && fast > 0 && std::isfinite(slow / fast) ? text_of("%.2fx", slow / fast) : "-";
    };
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const auto& kernel = report.kernels[k];
        const auto* best = fastest(s, k);
        const double result = s.result[k].latency, longest = full_latency(report, compared.full, k);
        rows.push_back({kernel.label, text_of("%g", kernel.uses), std::to_string(k < s.transfers.size() ? s.transfers[k].adapted : 0),
                        std::to_string(measured_by(report, search, k, begins_untuned(report, search, compared)).size()),
                        best == nullptr ? "-" : best->source, milliseconds(kernel.untuned), milliseconds(result), times(kernel.untuned, result)});
        if (compared.full != compared_searches::none) rows.back().insert(rows.back().end(), {milliseconds(longest), percent(longest / result)});
        untuned += kernel.uses * (kernel.untuned > 0 ? kernel.untuned : std::numeric_limits<double>::infinity());
        found += kernel.uses * result;
        known += kernel.uses * (longest > 0 ? longest : std::numeric_limits<double>::infinity());
    }
    rows.push_back({report.options.work.name, "", "", "", "", milliseconds(untuned), milliseconds(found), times(untuned, found)});
    if (compared.full != compared_searches::none) rows.back().insert(rows.back().end(), {milliseconds(known), percent(known / found)});
    return rows;
}

text_table class_table(const augur::session_report& report, std::size_t search, std::span<const std::string> classes) {
    const auto& s = report.searches[search];
    struct sums {
        std::size_t kernels = 0, adapted = 0, measured = 0, lost = 0;
        std::array<std::size_t, augur::transfer::refusal_names.size()> refused{};
        double log_speedup = 0;
    };
    std::map<std::string, sums> of_class;
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        auto& c = of_class[classes[k]];
        ++c.kernels;
        if (k >= s.transfers.size()) continue;
        c.adapted += s.transfers[k].adapted;
        for (const auto& t : s.transfers[k].proposed) c.measured += t.latency > 0 ? 1 : 0;
        for (std::size_t i = 0; i < c.refused.size(); ++i) c.refused[i] += s.transfers[k].refused[i];
        const auto* best = fastest(s, k);
        const double untuned = report.kernels[k].untuned;
        if (best == nullptr || !(untuned > 0)) continue;
        c.lost += best->latency > untuned ? 1 : 0;
        c.log_speedup += std::log(untuned / (std::min)(best->latency, untuned));
    }
    text_table rows{{"class", "kernels", "fit", "measured", "kernels none of them helps", "speed-up"}};
    for (const auto name : augur::transfer::refusal_names) rows[0].push_back(std::string(name));
    for (const auto& [name, c] : of_class) {
        rows.push_back({name, std::to_string(c.kernels), std::to_string(c.adapted), std::to_string(c.measured), std::to_string(c.lost),
                        text_of("%.3f", std::exp(c.log_speedup / static_cast<double>(c.kernels)))});
        for (const auto n : c.refused) rows.back().push_back(std::to_string(n));
    }
    return rows;
}

text_table summary_table(std::span<const transfer_result> results) {
    // a kernel has a source if some chooser that transfers found one
    std::map<kernel_key, bool> has_source;
    for (const auto& r : results) has_source[kernel_of(r)] |= r.adapted > 0;
    text_table rows{{"kernels", "chosen by", "measurements", "share of full", "95 % interval", "lowest", "share of the speed-up"}};
    const auto names = choosers_of(results);
    for (const bool sourced : {true, false})
        for (std::size_t row = 0; row <= names.size(); ++row) {
            const bool three = row == names.size(); // any three of all
            const std::string name = three ? "all" : names[row];
            std::vector<double> shares;
            double measured = 0;
            std::map<network_key, std::array<double, 3>> networks; // untuned, found, full
            for (const auto& r : results) {
                if (r.chooser != name || !(r.full > 0) || !(r.untuned > 0) || has_source[kernel_of(r)] != sourced) continue;
                if (three && !(r.of_three > 0)) continue;
                const double latency = three ? r.of_three : r.latency;
                shares.push_back(r.full / latency);
                measured += three ? (std::min)(4.0, 1.0 + static_cast<double>(r.adapted)) : static_cast<double>(r.measurements);
                auto& sums = networks[network_of(r)];
                sums[0] += r.uses * r.untuned;
                sums[1] += r.uses * latency;
                sums[2] += r.uses * r.full;
            }
            if (shares.empty()) continue;
            double gained = 0;
            for (const auto& [network, sums] : networks) gained += (sums[0] / sums[1] - 1) / (sums[0] / sums[2] - 1);
            const auto mean = mean_of(shares);
            rows.push_back({std::to_string(shares.size()) + (sourced ? " with a source" : " without"), three ? "any three" : name,
                            text_of("%.1f", measured / static_cast<double>(shares.size())), text_of("%.3f", mean.mean),
                            text_of("%.3f to %.3f", mean.low, mean.high), text_of("%.3f", mean.least),
                            std::isfinite(gained) ? text_of("%.2f", gained / static_cast<double>(networks.size())) : "-"});
        }
    return rows;
}

text_table rivals_table(std::span<const transfer_result> results) {
    text_table rows{{"kernels", "against", "faster by", "95 % interval", "measurements to be as fast", "seconds", "never"}};
    if (results.empty()) return rows;
    std::map<kernel_key, std::map<std::string, const transfer_result*>> kernels;
    for (const auto& r : results)
        if (r.full > 0 && r.untuned > 0) kernels[kernel_of(r)][r.chooser] = &r;
    std::vector<std::pair<double, decltype(kernels)::const_pointer>> all; // share of random schedules, 0 if not measured
    bool has_random = true;
    for (const auto& kernel : kernels) {
        const auto& by = kernel.second;
        if (std::none_of(by.begin(), by.end(), [](const auto& entry) { return entry.second->adapted > 0; })) continue;
        const auto random = std::find_if(by.begin(), by.end(), [](const auto& entry) { return entry.first.starts_with("random"); });
        has_random = has_random && random != by.end();
        all.emplace_back(random == by.end() ? 0 : random->second->full / random->second->latency, &kernel);
    }
    const auto& first = results.front().chooser;
    const auto add = [&](const std::string& title) {
        for (const auto& name : choosers_of(results)) {
            std::vector<double> ratios;
            double needed = 0, seconds = 0;
            std::size_t never = 0;
            for (const auto& [share, kernel] : all) {
                const auto& by = kernel->second;
                const auto one = by.find(first), other = by.find(name);
                if (name == first || one == by.end() || other == by.end()) continue;
                const auto& r = *other->second;
                ratios.push_back(r.latency / one->second->latency);
                const auto n = static_cast<double>(r.needed > 0 ? r.needed : r.measurements);
                needed += n;
                seconds += n * r.seconds;
                never += r.needed == 0 ? 1 : 0;
            }
            if (ratios.empty()) continue;
            const auto mean = mean_of(ratios);
            const auto n = static_cast<double>(ratios.size());
            rows.push_back({std::to_string(ratios.size()) + title, name, text_of("%.3f", mean.mean), text_of("%.3f to %.3f", mean.low, mean.high),
                            text_of("%.1f", needed / n), seconds > 0 ? text_of("%.1f", seconds / n) : "-", std::to_string(never)});
        }
    };
    add(" with a source");
    if (has_random && all.size() > 1) {
        std::sort(all.begin(), all.end(),
                  [](const auto& a, const auto& b) { return std::tie(a.first, a.second->first) < std::tie(b.first, b.second->first); });
        all.resize(all.size() / 2);
        add(" hard ones of these");
    }
    return rows;
}
