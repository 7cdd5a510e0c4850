// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What predicts, without learning, and how well.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "crop_tables.hpp"
#include "statistics.hpp"

namespace examples {

namespace {

/// Instructions that ran, on all threads.
double instructions_of(const augur::program_features& p) {
    double sum = 0;
    for (const auto& f : p.functions)
        for (std::uint32_t b = 0; b < f.flow.size(); ++b) sum += static_cast<double>(f.flow[b].count) * static_cast<double>(f.flow[b].code.size());
    return sum;
}

} // namespace

double upper_median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<double> times_of(const measured_task& t) {
    std::vector<double> times;
    for (const auto& p : t.programs) times.push_back(p.seconds);
    return times;
}

void add_score(task_score& sum, const task_score& one, double share) {
    sum.top1 += share * one.top1;
    sum.top5 += share * one.top5;
    sum.spearman += share * one.spearman;
    sum.error += share * one.error;
    sum.median_error += share * one.median_error;
}

task_score score_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
    const std::size_t n = predicted.size();
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return predicted[a] != predicted[b] ? predicted[a] < predicted[b] : measured[a] != measured[b] ? measured[a] < measured[b] : a < b;
    });
    const double best = *std::min_element(measured.begin(), measured.end());
    const auto top = [&](std::size_t k) {
        std::size_t begin = 0, end = 0; // the programs that are predicted as the k-th one is
        while (end < (std::min)(k, n)) {
            begin = end;
            while (end < n && !(predicted[order[begin]] < predicted[order[end]])) ++end;
        }
        double least = std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t i = 0; i < begin; ++i) least = (std::min)(least, measured[order[i]]);
        const auto drawn = static_cast<double>((std::min)(k, n) - begin), alike = static_cast<double>(end - begin);
        double none = 1; // the chance that none of those drawn is among the fastest few of them
        for (std::size_t i = begin; i < end; ++i) {
            double behind = 1;
            for (double d = 0; d < drawn; ++d) behind *= (std::max)(0.0, (alike - static_cast<double>(i - begin) - 1 - d) / (alike - d));
            sum += best / (std::min)(least, measured[order[i]]) * (none - behind);
            none = behind;
        }
        return sum;
    };
    std::vector<double> errors;
    for (std::size_t i = 0; i < n; ++i) errors.push_back(std::abs(predicted[i] - measured[i]) / measured[i]);
    const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(n);
    return {top(1), top(5), spearman(predicted, measured), mean, upper_median(errors)};
}

augur::result<std::vector<score_row>> crop_rows(const std::vector<measured_task>& tasks, const augur::machine& target, int threads) {
    augur::crop::options plain;
    plain.breakdown = false;
    auto published = augur::crop::options::as_published();
    published.breakdown = false;
    augur::crop::predictor ours(target, plain), theirs(target, published);
    std::optional<augur::error> refused;
    const auto row = [&](std::string name, bool seconds, auto&& predict) {
        score_row made{std::move(name), seconds, {}, {}};
        for (const auto& t : tasks) {
            std::vector<double> predicted;
            for (const auto& p : t.programs) predicted.push_back(predict(p));
            made.scores.push_back(score_of(predicted, times_of(t)));
        }
        return made;
    };
    const auto seconds_by = [&](augur::crop::predictor& predictor, const measured_program& p, const augur::program_features& features) {
        const auto got = predictor.predict(features, threads);
        if (!got) refused = augur::error{got.error().code, p.name + ": " + got.error().detail};
        return got ? got->seconds : std::numeric_limits<double>::infinity();
    };
    std::vector<score_row> out;
    if (std::all_of(tasks.begin(), tasks.end(), [](const measured_task& t) {
            return std::all_of(t.programs.begin(), t.programs.end(), [](const measured_program& p) { return p.compiled.has_value(); });
        }))
        out.push_back(row("Crop, through clang", true, [&](const measured_program& p) { return seconds_by(ours, p, *p.compiled); }));
    out.push_back(row("Crop", true, [&](const measured_program& p) { return seconds_by(ours, p, p.features); }));
    out.push_back(row("Crop as published", true, [&](const measured_program& p) { return seconds_by(theirs, p, p.features); }));
    out.push_back(row("instruction count", false, [](const measured_program& p) { return instructions_of(p.compiled ? *p.compiled : p.features); }));
    if (refused) return *refused;
    return out;
}

namespace {

/// What one round says of the programs, judged by what all say; absent where a program was not measured in each of several rounds.
score_row round_row(const std::vector<measured_task>& tasks) {
    score_row row{"measured once", true, {}, "one round of several"};
    for (const auto& t : tasks) {
        const auto count = t.programs.front().rounds.size();
        if (count < 2 || !std::all_of(t.programs.begin(), t.programs.end(), [&](const measured_program& p) { return p.rounds.size() == count; }))
            return {row.name, true, {}, "not all programs were measured in each of several rounds"};
        task_score mean;
        for (std::size_t round = 0; round < count; ++round) {
            std::vector<double> times;
            for (const auto& p : t.programs) times.push_back(p.rounds[round]);
            add_score(mean, score_of(times, times_of(t)), 1 / static_cast<double>(count));
        }
        row.scores.push_back(mean);
    }
    return row;
}

} // namespace

std::vector<score_row> chance_rows(const std::vector<measured_task>& tasks) {
    score_row drawn{"drawn at random", false, {}, {}}, middle{"median program", false, {}, {}};
    for (const auto& t : tasks) {
        const auto times = times_of(t);
        drawn.scores.push_back(score_of(std::vector<double>(times.size(), 0.0), times)); // all alike
        task_score m;
        m.top1 = m.top5 = *std::min_element(times.begin(), times.end()) / upper_median(times);
        middle.scores.push_back(m);
    }
    std::vector<score_row> out{std::move(drawn), std::move(middle)};
    if (auto again = round_row(tasks); !again.scores.empty()) out.push_back(std::move(again));
    return out;
}

} // namespace examples
