// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows.hpp"

#include <algorithm>
#include <cmath>

#include "chart.hpp"
#include "report.hpp"
#include "statistics.hpp"

namespace examples {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class F>
double geometric_mean(std::span<const search_trace> traces, const F& value) {
    double sum = 0;
    for (const auto& t : traces) sum += std::log(value(t));
    return std::exp(sum / static_cast<double>(traces.size()));
}
template <class F>
double median_over(std::span<const search_trace> traces, const F& value) {
    std::vector<double> values;
    for (const auto& t : traces) values.push_back(value(t));
    return median(std::move(values));
}

/// The row that the others must reach: boosted trees, as in the paper Ansor; where they are absent another one that learns online, else the first.
const search_outcome* baseline_of(std::span<const search_outcome> all) {
    const search_outcome* found = nullptr;
    for (const std::string_view id : {"trees", "online", ""})
        for (const auto& o : all)
            if (found == nullptr && !o.traces.empty() && (id.empty() || o.row->id == id)) found = &o;
    return found;
}

/// When the search was first as good as `target`, up to the rounding of a mean: candidates and seconds, infinity when it never was.
std::pair<double, double> reached(const search_trace& t, double target) {
    const auto at = std::find_if(t.network.begin(), t.network.end(), [&](double x) { return x <= target * (1 + 1e-9); });
    if (at == t.network.end()) return {infinity, infinity};
    const auto i = static_cast<std::size_t>(at - t.network.begin());
    return {static_cast<double>(i + 1), t.seconds[i]};
}

/// Seconds of the network, the best schedules measured again.
double again(const augur::session& s, const search_trace& t) {
    double sum = 0;
    for (std::size_t k = 0; k < s.report().kernels.size(); ++k) {
        const double checked = t.result.checked_latency[k];
        sum += s.report().kernels[k].uses * (checked > 0 ? checked : infinity);
    }
    return sum;
}

std::string number(const char* format, double x) { return std::isfinite(x) ? text_of(format, x) : "-"; }

/// A row has the same look in all charts.
std::string look_of(const search_row& row) { return series_look(static_cast<std::size_t>(&row - search_rows)); }

/// The tuning curves of all searches, a step where the network became faster.
std::string curves_svg(std::span<const search_outcome> all, bool over_time, double target) {
    curve_chart chart{"tuning curves", {over_time ? "seconds, models included" : "measured candidates", false, 0}, {"ms", true}, true, {}};
    double most = 0;
    for (const auto& o : all)
        for (const auto& t : o.traces) {
            std::vector<double> milliseconds_of;
            for (const double seconds : t.network) milliseconds_of.push_back(1e3 * seconds);
            auto points = best_so_far(milliseconds_of, over_time ? std::span<const double>(t.seconds) : std::span<const double>());
            if (!points.empty()) most = (std::max)(most, points.back().x);
            chart.curves.push_back({std::string(o.row->name) + ", seed " + std::to_string(t.seed), look_of(*o.row), std::move(points)});
        }
    if (most > 0) chart.curves.push_back({"baseline", "target", {{0, 1e3 * target}, {most, 1e3 * target}}});
    return to_svg(chart);
}

} // namespace

std::vector<std::vector<std::string>> search_table(const augur::session& s, std::span<const search_outcome> all) {
    const search_outcome* const baseline = baseline_of(all);
    const auto last = [](const search_trace& t) { return t.last(); };
    const double target = baseline != nullptr ? geometric_mean(baseline->traces, last) : infinity;
    const double whole = baseline != nullptr ? median_over(baseline->traces, [](const search_trace& t) { return t.total_seconds; }) : infinity;
    bool checked = false;
    for (const auto& o : all)
        for (const auto& t : o.traces) checked = checked || std::isfinite(again(s, t));
    std::vector<std::vector<std::string>> rows{{"search", "seeds", "network ms"}};
    if (checked) rows[0].push_back("again ms");
    for (const char* head : {"against baseline", "candidates", "seconds", "of them model", "reached", "candidates to it", "seconds to it", "speed-up",
                             "paper CPU / GPU"})
        rows[0].emplace_back(head);
    for (const auto& o : all) {
        auto& row = rows.emplace_back(std::vector<std::string>{std::string(o.row->name), std::to_string(o.traces.size())});
        if (o.traces.empty()) {
            row.resize(rows[0].size(), "-");
            row[2] = "absent";
            row.back() = o.row->paper;
            continue;
        }
        const std::span<const search_trace> traces(o.traces);
        const double network = geometric_mean(traces, last);
        const double seconds = median_over(traces, [&](const search_trace& t) { return reached(t, target).second; });
        const auto hits = std::count_if(traces.begin(), traces.end(), [&](const search_trace& t) { return std::isfinite(reached(t, target).first); });
        row.push_back(milliseconds(network));
        if (checked) row.push_back(milliseconds(geometric_mean(traces, [&](const search_trace& t) { return again(s, t); })));
        row.push_back(number("%.3f", network / target));
        row.push_back(number("%.0f", median_over(traces, [](const search_trace& t) { return static_cast<double>(t.network.size()); })));
        row.push_back(number("%.1f", median_over(traces, [](const search_trace& t) { return t.total_seconds; })));
        row.push_back(number("%.1f", median_over(traces, [](const search_trace& t) { return t.total_seconds - t.measuring; })));
        row.push_back(std::to_string(hits) + " of " + std::to_string(traces.size()));
        row.push_back(number("%.0f", median_over(traces, [&](const search_trace& t) { return reached(t, target).first; })));
        row.push_back(number("%.1f", seconds));
        row.push_back(number("%.2fx", &o == baseline ? 1.0 : std::isfinite(seconds) ? whole / seconds : infinity));
        row.emplace_back(o.row->paper);
    }
    return rows;
}

std::vector<std::string> search_notes(const augur::session& s, const search_plan& plan, std::span<const search_outcome> all) {
    std::vector<std::string> out;
    const search_outcome* const baseline = baseline_of(all);
    out.push_back("network ms: " + s.options().work.name + ", " + std::to_string(s.tasks().size()) +
                  " kernels by uses, the best schedules found; geometric mean over the "
                  "seeds. The least of noisy numbers flatters all rows alike" +
                  std::string("; again ms: the winners once more, side by side, longer."));
    if (baseline != nullptr) {
        out.push_back(
            "baseline: " + std::string(baseline->row->name) + " after all its candidates" +
            (baseline->row->id == "trees" ? "" : " (boosted trees are absent)") +
            ". Reached: searches that were as good at some moment; candidates and seconds until then, median over the seeds, '-' where half of "
            "them never were.");
        out.push_back(
            "speed-up: the baseline's whole time over the time until then, models included; the baseline's is 1 by definition, as in Figure 13.");
    }
    out.push_back("offline models: trained on " + std::to_string(plan.collect) + " random candidates of each of " +
                  std::to_string(plan.teacher.kernels.size()) + " kernels of " + plan.teacher.name +
                  ", none of which is searched here; MTL-TLP on at most " + std::to_string(plan.labels) + " of each, and " +
                  std::to_string(plan.other) +
                  " records a task of x86-24core as the second head. As in the paper collecting and training "
                  "are not in the search time.");
    for (const auto& o : all)
        if (o.traces.empty()) out.push_back(std::string(o.row->name) + " is absent: " + o.why_not);
        else if (std::any_of(o.traces.begin(), o.traces.end(), [](const search_trace& t) { return !t.whole; }))
            out.push_back(std::string(o.row->name) + ": a search is not finished; the same command goes on");
    out.emplace_back(
        "paper (TenSet's programs, five networks, 2000 candidates): speed-up over Ansor. TenSet-MLP is quoted, not rebuilt: to its result "
        "TLP is 9.1 / 3.0 and MTL-TLP 4.7 / 2.9 times as fast; for as many candidates TLP takes 1 / 1.7 and 1 / 1.8 of its time.");
    return out;
}

std::string search_html(const augur::session& s, const search_plan& plan, std::span<const search_outcome> all) {
    const search_outcome* const baseline = baseline_of(all);
    const double target = baseline != nullptr ? geometric_mean(baseline->traces, [](const search_trace& t) { return t.last(); }) : 0;
    std::string out = html_head("augur: searches compared", R"(svg { width: 100%; max-width: 60em; }
.curve { stroke-opacity: .8; } .target { color: #000; stroke-dasharray: 2 4; stroke-width: 1; }
)");
    out += html_facts(s.report()) + "<h2>Time to the online baseline</h2>\n" + html_table(search_table(s, all));
    out += "<ul>\n";
    for (const auto& line : search_notes(s, plan, all)) out += "<li>" + escaped(line) + "</li>\n";
    out += "</ul>\n<h2>Tuning curves</h2>\n<p class=\"key\">";
    for (const auto& o : all)
        if (!o.traces.empty()) out += curve_key(look_of(*o.row), o.row->name);
    out += curve_key("target", "baseline") + "</p>\n";
    if (baseline != nullptr) out += curves_svg(all, false, target) + curves_svg(all, true, target);
    return out + "</body>\n</html>\n";
}

} // namespace examples
