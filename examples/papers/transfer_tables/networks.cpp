// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "networks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include <augur/loopnest/ir/task.hpp>
#include <augur/session/report.hpp>
#include <augur/transfer/source_ranking.hpp>
#include <augur/workload/class_levels.hpp>

#include "console.hpp"
#include "runs.hpp"

namespace transfer_figures {

namespace {

using examples::text_of;

/// A, B, ..., Z, AA: classes are named in the order in which they come.
class class_names {
public:
    const std::string& of(const std::string& operations) {
        const auto at = names_.find(operations);
        if (at != names_.end()) return at->second;
        std::string name;
        for (std::size_t n = names_.size() + 1; n > 0; n = (n - 1) / 26) name.insert(name.begin(), static_cast<char>('A' + (n - 1) % 26));
        order_.push_back(operations);
        return names_.emplace(operations, std::move(name)).first->second;
    }
    [[nodiscard]] const std::vector<std::string>& operations() const noexcept { return order_; }

private:
    std::map<std::string, std::string> names_;
    std::vector<std::string> order_;
};

struct classified_network {
    std::vector<std::string> classes; ///< of each kernel
    std::vector<double> shares;       ///< of the untuned network's time, of each kernel with its uses
    std::vector<augur::transfer::class_share> by_class;
};

augur::result<classified_network> classify(const network_log& log, class_names& names) {
    classified_network out;
    double all = 0;
    for (const auto& k : log.kernels) {
        const auto task = augur::loopnest::kernel_task::create(k.workload, {});
        if (!task) return task.error();
        out.classes.push_back(names.of(task->class_levels().at(augur::class_level::operations)));
        out.shares.push_back(k.uses * k.trials.front().latency);
        all += out.shares.back();
    }
    for (std::size_t i = 0; i < out.classes.size(); ++i) {
        out.shares[i] /= all;
        auto at = std::find_if(out.by_class.begin(), out.by_class.end(), [&](const auto& c) { return c.kernel_class == out.classes[i]; });
        if (at == out.by_class.end()) at = out.by_class.insert(at, {out.classes[i], 0, 0});
        ++at->kernels;
        at->share += out.shares[i];
    }
    return out;
}

table kernels_of(const network_log& log, const classified_network& network) {
    table out{"Table 1: kernels of " + log.network, {{"class", "kernel", "uses", "untuned ms", "share of the network's time"}}};
    for (std::size_t i = 0; i < log.kernels.size(); ++i) {
        const auto& k = log.kernels[i];
        out.rows.push_back({network.classes[i], augur::kernel_label(k.workload), text_of("%g", k.uses),
                            examples::milliseconds(k.trials.front().latency), text_of("%.1f %%", 100 * network.shares[i])});
    }
    return out;
}

/// The speed-up of a run of a network with the schedules of one log, all pairs measured, else those that trees rank highest; "-": there is none.
std::string measured_speedup(std::span<const run> runs, const std::string& network, const std::string& source) {
    for (const auto* chooser : {"all", "trees", "class"})
        for (const auto& r : runs)
            if (r.network == network && r.logs == source && r.chooser == chooser) return text_of("%.3f", r.speedup()) + " (" + chooser + ")";
    return "-";
}

} // namespace

augur::result<std::vector<table>> tables_of(std::span<const named_log> logs, std::span<const examples::transfer_result> results) {
    class_names names;
    std::vector<classified_network> networks;
    for (const auto& l : logs) {
        auto network = classify(l.log, names);
        if (!network) return network.error();
        networks.push_back(*std::move(network));
    }
    std::vector<table> out;
    if (logs.empty()) return out;
    const auto runs = runs_of(results);
    out.push_back(kernels_of(logs[0].log, networks[0]));

    table classes{"Table 2: classes, kernels of each and their share of the network's time", {{"network", "kernels", "classes", "first choice"}}};
    table choices{"Table 3: sources by equation 1",
                  {{"target", "choice", "source", "pairs + kernels", "kernels with a class", "their time", "speed-up measured"}}};
    for (std::size_t t = 0; t < logs.size(); ++t) {
        std::vector<std::size_t> others;
        std::vector<std::span<const augur::transfer::class_share>> sources;
        for (std::size_t i = 0; i < logs.size(); ++i) {
            if (i == t) continue;
            others.push_back(i);
            sources.emplace_back(networks[i].by_class);
        }
        const auto ranked = augur::transfer::rank_sources(networks[t].by_class, sources);
        std::string text;
        for (const auto& c : networks[t].by_class)
            text += (text.empty() ? "" : ", ") + std::to_string(c.kernels) + " " + c.kernel_class + " " + text_of("%.0f %%", 100 * c.share);
        classes.rows.push_back({logs[t].log.network, std::to_string(logs[t].log.kernels.size()), text,
                                ranked.empty() || ranked[0].value <= 0 ? "-" : logs[others[ranked[0].source]].log.network});
        for (std::size_t i = 0; i < (std::min)(ranked.size(), std::size_t{3}); ++i) {
            if (ranked[i].value <= 0) break;
            const auto& source = logs[others[ranked[i].source]];
            const auto counts = augur::transfer::count_pairs(networks[t].by_class, networks[others[ranked[i].source]].by_class);
            choices.rows.push_back({logs[t].log.network, std::to_string(ranked[i].rank) + (ranked[i].tied ? ", a tie" : ""), source.log.network,
                                    std::to_string(counts.pairs) + " + " + std::to_string(counts.kernels), std::to_string(counts.transferable),
                                    text_of("%.0f %%", 100 * counts.transferable_share), measured_speedup(runs, logs[t].log.network, source.name)});
        }
    }
    out.push_back(std::move(classes));
    table legend{"The classes: sequences of operations", {{"class", "operations"}}};
    const auto sequences = names.operations(); // a copy: `of` may add to it
    for (const auto& operations : sequences) legend.rows.push_back({names.of(operations), operations});
    out.push_back(std::move(legend));
    out.push_back(std::move(choices));

    table parts{"Table 4: of the long search",
                {{"network", "chosen by", "speed-up", "of the long search", "percent of it", "seconds", "of the long search", "percent of them"}}};
    for (const auto& r : runs) {
        const auto log = std::find_if(logs.begin(), logs.end(), [&](const named_log& l) { return l.log.network == r.network; });
        if (log == logs.end() || r.chooser != results.front().chooser) continue;
        double seconds = 0;
        for (const auto* k : r.kernels) seconds += static_cast<double>(k->measurements) * k->seconds;
        const double full = seconds_of(log->log);
        parts.rows.push_back({r.network, r.chooser, text_of("%.3f", r.speedup()), text_of("%.3f", r.full_speedup()),
                              text_of("%.0f", 100 * (r.speedup() - 1) / (r.full_speedup() - 1)), seconds > 0 ? text_of("%.0f", seconds) : "-",
                              text_of("%.0f", full), seconds > 0 && full > 0 ? text_of("%.0f", 100 * seconds / full) : "-"});
    }
    if (parts.rows.size() > 1) out.push_back(std::move(parts));
    return out;
}

} // namespace transfer_figures
