// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables as text, the curves as SVG.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <augur/record/replace_file.hpp>

#include "chart.hpp"
#include "crop_tables.hpp"

namespace examples {

namespace {

std::string number(double x) { return std::isfinite(x) ? text_of("%.3f", x) : "-"; }
std::string percent(double x) { return std::isfinite(x) ? text_of("%.1f %%", 100 * x) : "-"; }

} // namespace

void print_crop_tables(const std::vector<measured_task>& tasks, const std::vector<score_row>& rows, const std::string& title) {
    const auto count = std::find_if(rows.begin(), rows.end(), [](const score_row& r) { return r.name == "instruction count"; });
    std::vector<std::vector<std::string>> each{{"task", "programs", "Spearman", "top-1", "top-5", "error", "by instructions"}};
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        const auto& s = rows.front().scores[t];
        each.push_back({tasks[t].name, std::to_string(tasks[t].programs.size()), number(s.spearman), number(s.top1), number(s.top5), percent(s.error),
                        count == rows.end() ? "-" : number(count->scores[t].spearman)});
    }
    std::printf("\n%s\n\n%s\n", title.c_str(), table_text(each).c_str());
    std::vector<std::vector<std::string>> table{{"mean over tasks", "top-1", "top-5", "Spearman", "error", "median error", "learned from"}};
    for (const auto& row : rows) {
        if (row.scores.empty()) continue;
        task_score mean;
        for (const auto& s : row.scores) add_score(mean, s, 1 / static_cast<double>(row.scores.size()));
        table.push_back({row.name, number(mean.top1), number(mean.top5), number(mean.spearman), row.seconds ? percent(mean.error) : "-",
                         row.seconds ? percent(mean.median_error) : "-", row.note.empty() ? "-" : row.note});
    }
    table.push_back({"paper, Crop", "0.755", "0.865", "-", "-", "-", "-"});
    table.push_back({"paper, XGBoost", "0.770", "0.910", "-", "-", "-", "8000 k"});
    table.push_back({"paper, TLP", "0.874", "0.943", "-", "-", "-", "500 k, and 8000 k of another machine"});
    std::printf("%s\n", table_text(table).c_str());
    for (const auto& row : rows)
        if (row.scores.empty()) std::printf("%s is absent: %s\n", row.name.c_str(), row.note.c_str());
}

augur::result<void> draw_crop_curves(const std::vector<measured_task>& tasks, const augur::machine& target, int threads, const std::string& path) {
    augur::crop::options plain;
    plain.breakdown = false;
    augur::crop::predictor crop(target, plain);
    std::vector<curve_chart> charts;
    for (const auto& t : tasks) {
        const auto times = times_of(t);
        std::vector<std::size_t> order(times.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
        curve_chart chart{t.name, {"programs by measured time"}, {"ms", true}, false, {}};
        for (const char* name : {"predicted", "measured"}) chart.curves.push_back({name, series_look(chart.curves.size()), {}});
        for (std::size_t i = 0; i < order.size(); ++i) {
            auto got = crop.predict(t.programs[order[i]].features, threads);
            if (!got) return got.error();
            chart.curves[0].points.push_back({static_cast<double>(i + 1), 1e3 * got->seconds});
            chart.curves[1].points.push_back({static_cast<double>(i + 1), 1e3 * times[order[i]]});
        }
        charts.push_back(std::move(chart));
    }
    return augur::replace_file(path, to_svg(charts, 3));
}

} // namespace examples
