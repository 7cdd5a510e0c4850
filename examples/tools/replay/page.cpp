// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay.hpp"

#include <algorithm>
#include <cmath>

#include "chart.hpp"
#include "console.hpp"
#include "report.hpp"

using examples::text_of;

namespace {

template <class F>
double median_over(const std::vector<search_curve>& seeds, F&& of) {
    std::vector<double> values;
    for (const auto& c : seeds) values.push_back(of(c));
    return median(std::move(values));
}

/// Median share of the optimum over the trials, a line for each search.
std::string curves_svg(const replayed& r, const std::vector<std::string>& names, std::size_t trials) {
    examples::curve_chart chart{"share of the optimum over trials", {"trials", false, 0}, {"share of the optimum", false, 0, 1}, false, {}};
    for (std::size_t s = 0; s < r.curves.size(); ++s) {
        auto& curve = chart.curves.emplace_back(examples::chart_curve{names[s], examples::series_look(s), {}});
        for (std::size_t t = 1; t <= trials; ++t)
            curve.points.push_back(
                {static_cast<double>(t), median_over(r.curves[s], [&](const search_curve& c) { return c.share(r.on->optimum, t); })});
    }
    return to_svg(chart);
}

} // namespace

std::vector<std::vector<std::string>> table_of(const replayed& r, const std::vector<std::string>& names, std::size_t trials) {
    std::vector<std::vector<std::string>> rows{{"search"}};
    std::vector<std::size_t> marks;
    for (const std::size_t part : {8U, 4U, 2U, 1U})
        if (const std::size_t mark = trials / part; mark > 0 && (marks.empty() || marks.back() < mark)) marks.push_back(mark);
    for (const auto mark : marks) rows[0].push_back("at " + std::to_string(mark));
    rows[0].emplace_back("trials to 0.95");
    rows[0].emplace_back("seconds");
    for (std::size_t s = 0; s < names.size(); ++s) {
        auto& row = rows.emplace_back(std::vector<std::string>{names[s]});
        const auto& seeds = r.curves[s];
        for (const auto mark : marks)
            row.push_back(text_of("%.3f", median_over(seeds, [&](const search_curve& c) { return c.share(r.on->optimum, mark); })));
        const double needed = median_over(seeds, [&](const search_curve& c) { return c.trials_to(r.on->optimum, 0.95); });
        row.push_back(std::isfinite(needed) ? text_of("%.0f", needed) : "-");
        row.push_back(text_of("%.0f", median_over(seeds, [](const search_curve& c) { return c.seconds.empty() ? 0.0 : c.seconds.back(); })));
    }
    return rows;
}

std::string page_of(const std::vector<replayed>& all, const std::vector<std::string>& names, std::size_t trials, std::size_t seeds) {
    std::string out = examples::html_head("augur: searches replayed",
                                          R"(figure { margin: 0; max-width: 40em; } svg { width: 100%; }
)");
    out += "<h1>Searches on recorded measurements</h1>\n<p class=\"key\">";
    for (std::size_t s = 0; s < names.size(); ++s) out += examples::curve_key(examples::series_look(s), names[s]);
    out +=
        text_of("</p>\n<p>Least recorded latency over the best latency so far, median of %zu seeds. Seconds: recorded time of compiling and running "
                "the trials.</p>\n",
                seeds);
    for (const replayed& r : all) {
        const auto& on = *r.on;
        out += "<h2>" + examples::escaped(on.name) + "</h2>\n";
        out += text_of("<p>%zu points, the best has %s ms; measuring all took %.0f s.</p>\n", on.space.size(),
                       examples::milliseconds(on.optimum).c_str(), on.seconds);
        out += examples::html_table(table_of(r, names, trials)) + "<figure>" + curves_svg(r, names, trials) + "</figure>\n";
    }
    return out + "</body>\n</html>\n";
}
