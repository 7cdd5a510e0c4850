// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>

#include <augur/record/replace_file.hpp>

#include "crop_tables.hpp"

namespace examples {

namespace {

/// Places in rising order; equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i + 1;
        while (end < order.size() && !(values[order[i]] < values[order[end]])) ++end;
        for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + end - 1) / 2;
        i = end;
    }
    return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    const double ma = std::accumulate(a.begin(), a.end(), 0.0) / n, mb = std::accumulate(b.begin(), b.end(), 0.0) / n;
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += (a[i] - ma) * (b[i] - mb);
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
    }
    return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<double> times_of(const measured_task& t, int threads) {
    std::vector<double> times;
    for (const auto& p : t.programs) times.push_back(threads == 1 ? p.one_thread : p.two_threads);
    return times;
}

std::string number(double x) { return std::isfinite(x) ? text_of("%.3f", x) : "-"; }
std::string percent(double x) { return std::isfinite(x) ? text_of("%.1f %%", 100 * x) : "-"; }

void add(task_score& sum, const task_score& one, double share) {
    sum.top1 += share * one.top1;
    sum.top5 += share * one.top5;
    sum.spearman += share * one.spearman;
    sum.error += share * one.error;
    sum.median_error += share * one.median_error;
}

std::vector<std::string> row_of(const std::string& name, const task_score& s, bool seconds) {
    return {name, number(s.top1), number(s.top5), number(s.spearman), seconds ? percent(s.error) : "-", seconds ? percent(s.median_error) : "-"};
}

} // namespace

task_score score_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
    std::vector<std::size_t> order(predicted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return predicted[a] != predicted[b] ? predicted[a] < predicted[b] : a < b; });
    const double best = *std::min_element(measured.begin(), measured.end());
    const auto top = [&](std::size_t k) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < (std::min)(k, order.size()); ++i) least = (std::min)(least, measured[order[i]]);
        return best / least;
    };
    std::vector<double> errors;
    for (std::size_t i = 0; i < predicted.size(); ++i) errors.push_back(std::abs(predicted[i] - measured[i]) / measured[i]);
    const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
    return {top(1), top(5), correlation(ranks_of(predicted), ranks_of(measured)), mean, median(errors)};
}

task_score score_of_random(const std::vector<double>& measured) {
    auto rising = measured;
    std::sort(rising.begin(), rising.end());
    const auto n = static_cast<double>(rising.size());
    task_score s{0, 0, 0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
    double none = 1; // the chance that none of five is among the first i
    for (std::size_t i = 0; i < rising.size(); ++i) {
        s.top1 += rising[0] / rising[i] / n;
        double behind = 1;
        for (double k = 0; k < 5; ++k) behind *= (std::max)(0.0, (n - static_cast<double>(i) - 1 - k) / (std::max)(1.0, n - k));
        s.top5 += rising[0] / rising[i] * (none - behind);
        none = behind;
    }
    return s;
}

double instructions_of(const augur::program_features& p) {
    double sum = 0;
    for (const auto& f : p.functions)
        for (std::uint32_t b = 0; b < f.flow.size(); ++b)
            sum +=
                static_cast<double>(f.flow[b].count) * static_cast<double>(f.flow[b].code.size()) * (f.parallel ? static_cast<double>(f.count) : 1);
    return sum;
}

augur::result<void> print_crop_tables(const std::vector<measured_task>& tasks, const augur::machine& target, int threads) {
    augur::crop::options plain;
    plain.breakdown = false;
    auto published = augur::crop::options::as_published();
    published.breakdown = false;
    augur::crop::predictor ours(target, plain), theirs(target, published);
    std::string refused;
    const auto seconds_by = [&](augur::crop::predictor& by) {
        return [&by, &refused, threads](const measured_program& p) {
            const auto got = by.predict(p.features, threads);
            if (!got) refused = p.name + ": " + got.why().detail;
            return got ? got->seconds : std::numeric_limits<double>::infinity();
        };
    };
    const std::vector<predictor_row> rows{{"Crop", true, seconds_by(ours)},
                                          {"Crop as published", true, seconds_by(theirs)},
                                          {"instruction count", false, [](const measured_program& p) { return instructions_of(p.features); }}};
    std::vector<task_score> mean(rows.size() + 2);
    std::vector<std::vector<std::string>> each{{"task", "programs", "Spearman", "top-1", "top-5", "error", "by instructions"}};
    std::vector<const measured_task*> used;
    for (const auto& t : tasks)
        if (!t.programs.empty() && (threads == 1 || t.programs[0].two_threads > 0)) used.push_back(&t);
    if (used.empty()) return augur::error{augur::errc::not_found, "no task was measured with " + std::to_string(threads) + " threads"};
    const double share = 1 / static_cast<double>(used.size());
    for (const auto* t : used) {
        const auto times = times_of(*t, threads);
        std::vector<task_score> scores;
        for (const auto& row : rows) {
            std::vector<double> predicted;
            for (const auto& p : t->programs) predicted.push_back(row.predict(p));
            scores.push_back(score_of(predicted, times));
        }
        if (!refused.empty()) return augur::error{augur::errc::invalid_argument, refused};
        for (std::size_t r = 0; r < rows.size(); ++r) add(mean[r], scores[r], share);
        add(mean[rows.size()], score_of_random(times), share);
        task_score middle;
        middle.top1 = middle.top5 = *std::min_element(times.begin(), times.end()) / median(times);
        add(mean[rows.size() + 1], middle, share);
        each.push_back({t->name, std::to_string(times.size()), number(scores[0].spearman), number(scores[0].top1), number(scores[0].top5),
                        percent(scores[0].error), number(scores.back().spearman)});
    }
    std::printf("\n%s, %d thread%s, %zu tasks\n\n", target.cpu_name.c_str(), threads, threads == 1 ? "" : "s", used.size());
    std::printf("%s\n", table_text(each).c_str());
    std::vector<std::vector<std::string>> table{{"mean over tasks", "top-1", "top-5", "Spearman", "error", "median error"}};
    for (std::size_t r = 0; r < rows.size(); ++r) table.push_back(row_of(rows[r].name, mean[r], rows[r].seconds));
    table.push_back(row_of("drawn at random", mean[rows.size()], false));
    table.push_back(row_of("median program", mean[rows.size() + 1], false));
    table.push_back({"paper, Crop", "0.755", "0.865", "-", "-", "-"});
    table.push_back({"paper, TLP", "0.874", "0.943", "-", "-", "-"});
    std::printf("%s\n", table_text(table).c_str());
    return {};
}

augur::result<void> draw_crop_curves(const std::vector<measured_task>& tasks, const augur::machine& target, int threads, const std::string& path) {
    constexpr double wide = 300, high = 160, gap = 40;
    augur::crop::options plain;
    plain.breakdown = false;
    augur::crop::predictor crop(target, plain);
    std::string panels;
    std::size_t drawn = 0;
    for (const auto& t : tasks) {
        if (t.programs.empty() || (threads == 2 && t.programs[0].two_threads <= 0)) continue;
        const auto times = times_of(t, threads);
        std::vector<std::size_t> order(times.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
        std::vector<double> predicted;
        for (const auto& p : t.programs) {
            auto got = crop.predict(p.features, threads);
            if (!got) return got.why();
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
