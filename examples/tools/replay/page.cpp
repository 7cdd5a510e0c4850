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
std::string curves_svg(const replayed& r, std::size_t trials) {
    constexpr double width = 560, height = 260, left = 52, right = 12, top = 24, bottom = 36;
    const double x_step = (width - left - right) / static_cast<double>(trials);
    const auto y_of = [&](double share) { return top + (height - top - bottom) * (1 - share); };
    std::string out = text_of("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"share of the optimum over trials\">\n", width, height);
    for (int i = 0; i <= 4; ++i) {
        const double share = i / 4.0, trial = static_cast<double>(trials) * i / 4;
        out += text_of("<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>\n", left, y_of(share),
                       width - right, left - 6, y_of(share) + 4, share);
        out += text_of("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n", left + x_step * trial, height - bottom + 16, trial);
    }
    for (std::size_t s = 0; s < r.curves.size(); ++s) {
        std::string path;
        for (std::size_t t = 1; t <= trials; ++t) {
            const double share = median_over(r.curves[s], [&](const search_curve& c) { return c.share(r.on->optimum, t); });
            path += text_of("%s%.1f %.1f", path.empty() ? "M" : "L", left + x_step * static_cast<double>(t), y_of(share));
        }
        out += text_of("<path class=\"s%zu\" d=\"", s % 4) + path + "\"/>\n";
    }
    return out + text_of("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">trials</text></svg>\n", (left + width) / 2, height - 4);
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
                                          R"(figure { margin: 0; max-width: 40em; } svg { width: 100%; } svg path { fill: none; stroke-width: 2; }
.grid { stroke: #e4e4e4; stroke-width: 1; } .s0 { stroke: #d9822b; } .s1 { stroke: #0b62a4; } .s2 { stroke: #3a7d44; } .s3 { stroke: #8e44ad; }
)");
    out += "<h1>Searches on recorded measurements</h1>\n<p class=\"key\">";
    for (std::size_t s = 0; s < names.size(); ++s)
        out +=
            text_of("<span><svg viewBox=\"0 0 30 8\"><path class=\"s%zu\" d=\"M0 4H30\"/></svg> ", s % 4) + examples::escaped(names[s]) + "</span>";
    out +=
        text_of("</p>\n<p>Least recorded latency over the best latency so far, median of %zu seeds. Seconds: recorded time of compiling and running "
                "the trials.</p>\n",
                seeds);
    for (const replayed& r : all) {
        const auto& on = *r.on;
        out += "<h2>" + examples::escaped(on.name) + "</h2>\n";
        out += text_of("<p>%zu points, the best has %s ms; measuring all took %.0f s.</p>\n", on.space.size(),
                       examples::milliseconds(on.optimum).c_str(), on.seconds);
        out += examples::html_table(table_of(r, names, trials)) + "<figure>" + curves_svg(r, trials) + "</figure>\n";
    }
    return out + "</body>\n</html>\n";
}
