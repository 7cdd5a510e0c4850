// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables as text, the curves as SVG.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <augur/record/replace_file.hpp>

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
    constexpr double wide = 300, high = 160, gap = 40;
    augur::crop::options plain;
    plain.breakdown = false;
    augur::crop::predictor crop(target, plain);
    std::string panels;
    std::size_t drawn = 0;
    for (const auto& t : tasks) {
        const auto times = times_of(t);
        std::vector<std::size_t> order(times.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
        std::vector<double> predicted;
        for (const auto& p : t.programs) {
            auto got = crop.predict(p.features, threads);
            if (!got) return got.error();
            predicted.push_back(got->seconds);
        }
        double low = times[order[0]], top = times[order.back()];
        for (const double p : predicted) low = (std::min)(low, p), top = (std::max)(top, p);
        const double x0 = gap + static_cast<double>(drawn % 3) * (wide + gap), y0 = gap + static_cast<double>(drawn / 3) * (high + gap);
        const auto line = [&](const std::vector<double>& values, const char* colour) {
            std::string points;
            for (std::size_t i = 0; i < order.size(); ++i)
                points +=
                    text_of("%.1f,%.1f ", x0 + wide * static_cast<double>(i) / static_cast<double>((std::max)(order.size(), std::size_t{2}) - 1),
                            y0 + high - high * std::log(values[order[i]] / low) / std::log(top / low * 1.0001));
            return "<polyline fill=\"none\" stroke=\"" + std::string(colour) + "\" points=\"" + points + "\"/>\n";
        };
        panels += text_of("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" stroke=\"#ccc\"/>\n", x0, y0, wide, high);
        panels += text_of("<text x=\"%.0f\" y=\"%.0f\">%s, %.4g to %.4g ms</text>\n", x0, y0 - 6, t.name.c_str(), low * 1e3, top * 1e3);
        panels += line(predicted, "#d95f02") + line(times, "#1b6ca8");
        ++drawn;
    }
    const double full_wide = gap + 3 * (wide + gap), full_high = gap + static_cast<double>((drawn + 2) / 3) * (high + gap);
    const std::string text =
        text_of("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n", full_wide,
                full_high) +
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"40\" y=\"14\">measured (blue) and predicted (orange) time of "
        "each program, logarithmic, by measured time</text>\n" +
        panels + "</svg>\n";
    return augur::replace_file(path, text);
}

} // namespace examples
