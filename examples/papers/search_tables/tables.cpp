// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "console.hpp"
#include "statistics.hpp"

using examples::geometric;
using examples::mean_interval;
using examples::text_of;

namespace {

constexpr std::array<std::size_t, 5> marks{8, 16, 32, 64, 128};

/// What one search has on one task: means over the seeds, of shares and trials geometric ones.
struct task_summary {
    std::array<double, marks.size()> share{};
    double trials = 0;    ///< to 0.95
    double reached = 0;   ///< share of the seeds that got there
    double proposing = 0; ///< seconds of a search
    double measuring = 0; ///< the same; NaN: not known of one of them
    model_errors errors{};
    std::size_t seeds = 0, judged = 0; ///< of these, those with errors
};

using summaries = std::map<std::string, task_summary>; ///< by device and task

summaries summarise(const std::map<result_key, search_result>& results, const std::string& device, const std::string& search, std::size_t trials) {
    summaries out;
    for (const auto& [key, r] : results) {
        if (r.device != device || r.search != search || r.best.empty()) continue;
        task_summary& s = out[device + '\n' + r.task];
        examples::search_curve curve;
        curve.best = r.best;
        for (std::size_t m = 0; m < marks.size(); ++m)
            s.share[m] += std::log((std::max)(curve.share(r.optimum, (std::min)(marks[m], trials)), 1e-3)); // no success yet: a thousandth
        const double to = curve.trials_to(r.optimum, 0.95);
        s.reached += std::isfinite(to) ? 1 : 0;
        s.trials += std::log(std::isfinite(to) ? to : static_cast<double>(trials));
        s.proposing += r.proposing;
        s.measuring += r.measuring;
        for (std::size_t e = 0; r.errors && e < s.errors.size(); ++e) s.errors[e] += (*r.errors)[e];
        s.judged += r.errors ? 1 : 0;
        ++s.seeds;
    }
    for (auto& [task, s] : out) {
        const auto n = static_cast<double>(s.seeds);
        for (double& share : s.share) share = std::exp(share / n);
        s.trials = std::exp(s.trials / n);
        s.reached /= n;
        s.proposing /= n;
        s.measuring /= n;
        for (double& e : s.errors) e /= static_cast<double>(s.judged); // NaN without one
    }
    return out;
}

std::string with_interval(const mean_interval& m, int digits) {
    if (m.count < 2) return m.count == 0 ? "-" : text_of("%.*f", digits, m.mean);
    return text_of("%.*f (%.*f to %.*f)", digits, m.mean, digits, m.low, digits, m.high);
}

} // namespace

text_table share_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                       const std::vector<std::string>& searches, std::size_t trials) {
    text_table out{{"device", "search"}};
    for (const auto m : marks)
        if (m <= trials) out[0].push_back(text_of("%zu", m));
    for (const char* title : {"trials to 0.95", "not reached", "s proposing"}) out[0].emplace_back(title);
    for (const auto& device : devices)
        for (const auto& search : searches) {
            const auto by_task = summarise(results, device, search, trials);
            if (by_task.empty()) continue;
            auto& row = out.emplace_back(std::vector<std::string>{device, search});
            const auto mean_of = [&](auto&& of) {
                std::vector<double> values;
                for (const auto& [task, s] : by_task) values.push_back(of(s));
                return geometric(values).mean;
            };
            for (std::size_t m = 0; m < marks.size(); ++m)
                if (marks[m] <= trials) row.push_back(text_of("%.3f", mean_of([&](const task_summary& s) { return s.share[m]; })));
            row.push_back(text_of("%.1f", mean_of([](const task_summary& s) { return s.trials; })));
            double reached = 0, proposing = 0;
            for (const auto& [task, s] : by_task) {
                reached += s.reached / static_cast<double>(by_task.size());
                proposing += s.proposing / static_cast<double>(by_task.size());
            }
            row.push_back(text_of("%.2f", 1 - reached));
            row.push_back(text_of("%.2f", proposing));
        }
    return out;
}

text_table minutes_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                         const std::vector<std::string>& searches, std::size_t trials) {
    text_table out{{"device", "search", "tasks", "measuring", "in all"}};
    const auto minutes = [](double seconds) { return std::isfinite(seconds) ? text_of("%.2f", seconds / 60) : "-"; };
    for (const auto& device : devices)
        for (const auto& search : searches) {
            const auto by_task = summarise(results, device, search, trials);
            double measuring = 0, proposing = 0;
            for (const auto& [task, s] : by_task) {
                measuring += s.measuring;
                proposing += s.proposing;
            }
            if (!by_task.empty()) out.push_back({device, search, std::to_string(by_task.size()), minutes(measuring), minutes(measuring + proposing)});
        }
    return out;
}

text_table error_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                       const std::vector<std::string>& searches, std::size_t trials) {
    text_table out{{"device", "search", "MSE", "MSE(D)", "MSE, constant", "MSE(D), constant", "tasks"}};
    for (const auto& device : devices)
        for (const auto& search : searches) {
            std::array<std::vector<double>, std::tuple_size_v<model_errors>> errors;
            for (const auto& [task, s] : summarise(results, device, search, trials))
                for (std::size_t e = 0; s.judged > 0 && e < errors.size(); ++e) errors[e].push_back(s.errors[e]);
            if (errors[0].empty()) continue;
            auto& row = out.emplace_back(std::vector<std::string>{device, search});
            for (const auto& of_tasks : errors) row.push_back(text_of("%.4f", examples::arithmetic(of_tasks).mean));
            row.push_back(std::to_string(errors[0].size()));
        }
    return out;
}

text_table ratio_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                       const std::vector<std::string>& searches, std::size_t trials) {
    text_table out{{"search over another"}};
    for (const auto m : marks)
        if (m <= trials) out[0].push_back(text_of("best, %zu", m));
    out[0].emplace_back("trials to 0.95");
    for (const auto& search : searches)
        for (const auto& other : searches) {
            if (search == other || !(other == searches.front() || search == searches.back())) continue; // over the first, and the last over all
            std::array<std::vector<double>, marks.size()> ratios;
            std::vector<double> trial_ratios;
            for (const auto& device : devices) {
                const auto a = summarise(results, device, search, trials), b = summarise(results, device, other, trials);
                for (const auto& [task, s] : a) {
                    const auto at = b.find(task);
                    if (at == b.end()) continue;
                    for (std::size_t m = 0; m < marks.size(); ++m) ratios[m].push_back(s.share[m] / at->second.share[m]);
                    trial_ratios.push_back(s.trials / at->second.trials);
                }
            }
            if (trial_ratios.empty()) continue;
            std::string title = search + " over ";
            title += other;
            auto& row = out.emplace_back(std::vector<std::string>{std::move(title)});
            for (std::size_t m = 0; m < marks.size(); ++m)
                if (marks[m] <= trials) row.push_back(with_interval(geometric(ratios[m]), 3));
            row.push_back(with_interval(geometric(trial_ratios), 2));
        }
    return out;
}
