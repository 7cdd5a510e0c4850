// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "iterate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include <augur/record/log_reader.hpp>
#include <augur/record/record.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/workload/kernel.hpp>

#include "console.hpp"
#include "program.hpp"
#include "session.hpp"
#include "statistics.hpp"

namespace {

/// Geometric mean over the kernels of the latency of the untuned schedule over the best of it and the first `n` trials; without kernels whose untuned
/// schedule failed.
double speed_up(const augur::session_report& r, const augur::search_report& s, std::size_t n) {
    double sum = 0, kernels = 0;
    for (std::size_t k = 0; k < r.kernels.size(); ++k) {
        if (!(r.kernels[k].untuned > 0)) continue;
        double best = r.kernels[k].untuned;
        for (std::size_t i = 0; i < (std::min)(n, s.latencies[k].size()); ++i) best = (std::min)(best, s.latencies[k][i]);
        sum += std::log(r.kernels[k].untuned / best);
        ++kernels;
    }
    return kernels > 0 ? std::exp(sum / kernels) : 1;
}

/// Trials of a kernel that may bring little before a search has converged: the paper's 20 000 measurements of 2169 kernels (section 6.2).
constexpr std::size_t window = 9;

/// What some kernels began with and their trials, in seconds.
struct measured_kernels {
    std::vector<double> untuned;
    std::vector<std::vector<double>> trials;

    void add(const augur::session_report& r, const augur::search_report& s) {
        for (std::size_t k = 0; k < r.kernels.size(); ++k) {
            untuned.push_back(r.kernels[k].untuned > 0 ? r.kernels[k].untuned : std::numeric_limits<double>::infinity());
            trials.push_back(s.latencies[k]);
        }
    }
    /// A row of the table of convergence, which looks at the first `programs` trials of each kernel.
    [[nodiscard]] std::vector<std::string> row(const std::string& name, std::size_t programs) const {
        const auto totals = examples::total_latencies(untuned, trials, programs);
        std::vector<std::string> out{name, examples::milliseconds(totals.front()), examples::milliseconds(totals.back())};
        for (const double share : {0.01, 0.001}) {
            const auto at = examples::converged_at(totals, window, share);
            out.push_back(at ? std::to_string(*at) : "-");
        }
        return out;
    }
};

} // namespace

augur::result<std::vector<std::string>> measure_batches(const iteration& it) {
    std::error_code failed;
    std::filesystem::create_directories(it.folder, failed);
    if (failed) return augur::error{augur::errc::io, it.folder + ": " + failed.message()};
    const auto& kernels = it.options.work.kernels;
    std::vector<std::pair<std::string, std::size_t>> by_class;
    for (std::size_t k = 0; k < kernels.size(); ++k) by_class.emplace_back(kernels[k].workload.class_name(), k);
    std::sort(by_class.begin(), by_class.end());
    const std::size_t batches = (std::min)(it.batches, kernels.size());
    std::vector<std::string> logs;
    std::vector<std::vector<std::string>> rows{{"batch", "kernels", "demonstrations", "untuned / best of 1", "of 4", "of all", "failed", "seconds"}};
    std::vector<std::vector<std::string>> marks{{"batch", "untuned ms", "best ms", "below 1 %", "below 1 per mille"}};
    measured_kernels all;
    examples::progress_line line;
    const auto hooks = examples::hooks_on(line);
    for (std::size_t b = 0; b < batches; ++b) {
        auto o = it.options;
        o.work = {"batch " + std::to_string(b + 1), {}};
        for (std::size_t k = b; k < kernels.size(); k += batches) o.work.kernels.push_back(kernels[by_class[k].second]);
        o.demonstrations.insert(o.demonstrations.end(), logs.begin(), logs.end() - static_cast<std::ptrdiff_t>((std::min)(it.lag, logs.size())));
        o.log = it.folder + "/batch" + std::to_string(b + 1) + ".jsonl";
        o.resume = true;
        o.search.model = "none";
        o.search.trials = o.search.round = it.programs;
        o.search.scheduler = augur::scheduling::round_robin;
        o.limits = false;
        o.search.language_learns = false; // within a batch it is one model
        logs.push_back(o.log);
        auto s = augur::session::create(std::move(o));
        if (!s) return s.error();
        if (auto measured = s->measure_baselines(hooks); !measured) return measured.error();
        const auto found =
            s->search("batch " + std::to_string(b + 1), s->options().search, true, hooks); // no second measurement: these are to learn from
        line.clear();
        if (found.failed) return *found.failed;
        const auto& report = s->report();
        if (examples::stop_requested())
            return augur::error{augur::errc::interrupted, "stopped in batch " + std::to_string(b + 1) + "; the same command goes on"};
        std::size_t trials = 0, ok = found.counts[static_cast<std::size_t>(augur::outcome::ok)];
        for (const auto& l : found.latencies) trials += l.size();
        rows.push_back({std::to_string(b + 1), std::to_string(report.kernels.size()), std::to_string(s->options().demonstrations.size()) + " logs",
                        examples::text_of("%.3f", speed_up(report, found, 1)), examples::text_of("%.3f", speed_up(report, found, 4)),
                        examples::text_of("%.3f", speed_up(report, found, trials)), std::to_string(trials - ok),
                        examples::text_of("%.0f", found.summary ? found.summary->seconds : 0)});
        measured_kernels here;
        here.add(report, found);
        marks.push_back(here.row(std::to_string(b + 1), it.programs));
        all.add(report, found);
    }
    marks.push_back(all.row("all", it.programs));
    std::printf(
        "%s\n%sms: sum of the kernels, best: of the first %zu programs of each; below 1 %%: programs of a kernel after which the last %zu have "
        "lowered this sum by less; -: not yet\n\n",
        examples::table_text(rows).c_str(), examples::table_text(marks).c_str(), it.programs, window);
    return logs;
}

augur::result<std::size_t> copy_records(const std::string& from, const std::string& to, std::span<const augur::kernel> left_out) {
    auto reader = augur::log_reader::open(from);
    if (!reader) return reader.error();
    std::string text = augur::log_header();
    std::size_t copied = 0;
    for (augur::record r;;) {
        const auto more = reader->next(r);
        if (!more) return more.error();
        if (!*more) break;
        const auto k = augur::kernel::from_workload_key(r.task.workload_key);
        if (k && std::find(left_out.begin(), left_out.end(), *k) != left_out.end()) continue;
        text += augur::to_text(r);
        ++copied;
    }
    if (auto written = augur::replace_file(to, text); !written) return written.error();
    return copied;
}
