// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include <augur/core/whole_file.hpp>
#include <augur/record/file_descriptor.hpp>
#include <augur/record/replace_file.hpp>

#include "chart.hpp"
#include "console.hpp"
#include "flags.hpp"

namespace examples {

bool measured_elsewhere(const augur::session_report& s) {
    return std::any_of(s.kernels.begin(), s.kernels.end(), [](const augur::kernel_report& k) { return k.elsewhere.has_value(); });
}

std::string machine_of(const augur::kernel_report& k) { return k.elsewhere ? augur::machine_label(*k.elsewhere) : "this one"; }

std::vector<std::vector<std::string>> result_table(const augur::session_report& s) {
    const auto& searches = s.searches;
    std::vector<std::vector<std::string>> rows{{"kernel", "uses", "naive ms", "untuned ms"}};
    for (std::size_t k = 0; k + 1 < searches.size(); ++k) rows[0].push_back(searches[k].name + " ms");
    for (const char* name : {"tuned ms", "speed-up", "GFLOP/s", "of limit"}) rows[0].emplace_back(name);
    const bool machines = measured_elsewhere(s);
    if (machines) rows[0].emplace_back("machine");
    const auto times = [](double slow, double fast) { return slow > 0 && fast > 0 && std::isfinite(fast) ? text_of("%.1fx", slow / fast) : "-"; };
    std::vector<double> total(searches.size());
    double naive = 0, untuned = 0, flops = 0, least = 0;
    const auto add = [](double& sum, double uses, double x) { sum += x > 0 ? uses * x : std::numeric_limits<double>::infinity(); };
    for (std::size_t i = 0; i < s.kernels.size(); ++i) {
        const augur::kernel_report& b = s.kernels[i];
        auto& row = rows.emplace_back(std::vector<std::string>{b.label, text_of("%g", b.uses), milliseconds(b.naive), milliseconds(b.untuned)});
        for (std::size_t k = 0; k < searches.size(); ++k) {
            row.push_back(milliseconds(searches[k].result[i].latency));
            add(total[k], b.uses, searches[k].result[i].latency);
        }
        const double tuned = searches.back().result[i].latency;
        row.push_back(times(b.naive, tuned));
        row.push_back(std::isfinite(tuned) && b.flops > 0 ? text_of("%.1f", b.flops / tuned * 1e-9) : "-");
        row.push_back(std::isfinite(tuned) && b.limit > 0 ? text_of("%.0f%% %-4s", 100 * b.limit / tuned, std::string(b.bound_name()).c_str()) : "-");
        if (machines) row.push_back(machine_of(b));
        add(naive, b.uses, b.naive);
        add(untuned, b.uses, b.untuned);
        add(least, b.uses, b.limit);
        flops += b.uses * b.flops;
    }
    auto& row = rows.emplace_back(std::vector<std::string>{s.options.work.name, "", milliseconds(naive), milliseconds(untuned)});
    for (const double t : total) row.push_back(milliseconds(t));
    const double tuned = total.back();
    row.push_back(std::isfinite(naive) ? times(naive, tuned) : "-");
    row.push_back(std::isfinite(tuned) ? text_of("%.1f", flops / tuned * 1e-9) : "-");
    row.push_back(std::isfinite(tuned) && std::isfinite(least) ? text_of("%.0f%%     ", 100 * least / tuned) : "-");
    if (machines) row.emplace_back("several");
    return rows;
}

/// Where it ran, what compiled it, and what was asked for: name and text.
std::vector<std::pair<std::string, std::string>> facts_of(const augur::session_report& s) {
    std::vector<std::pair<std::string, std::string>> facts;
    const auto& made = s.made_with;
    facts.emplace_back("machine", made.machine.model_name + " (" + made.machine.vendor + " " + made.machine.family + "/" + made.machine.model +
                                      "), " + std::to_string(s.host.processors) + " processors, vectors of " +
                                      std::to_string(s.host.vector_bytes * 8) + " bits, " + made.machine.caches);
    facts.emplace_back("ISA level", std::string(to_string(s.options.compiler.isa)) + ", code of " + made.machine.isa);
    facts.emplace_back("compiler", made.machine.compiler);
    facts.emplace_back("flags", made.flags);
    facts.emplace_back("threads", std::to_string(s.threads));
    if (s.roofline.flops_all > 0)
        facts.emplace_back("limits measured",
                           text_of("%.1f GFLOP/s of %s, %.1f GB/s read from memory", s.roofline.flops_all * 1e-9,
                                   s.host.has_multiply_add() ? "fused multiply-adds" : "multiplications and additions", s.roofline.read_all * 1e-9));
    if (!s.roofline_error.empty()) facts.emplace_back("limits not measured", s.roofline_error);
    facts.emplace_back("work", s.options.work.name + ", " + std::to_string(s.kernels.size()) + " kernels, " +
                                   std::to_string(s.options.search.trials) + " trials a kernel in rounds of " +
                                   std::to_string(s.options.search.round_size()));
    facts.emplace_back("seed", std::to_string(s.options.search.seed));
    if (!s.options.log.empty()) facts.emplace_back("log", s.options.log);
    return facts;
}

/// How a search went, in sentences.
std::vector<std::string> account_of(const augur::search_report& s) {
    std::vector<std::string> lines;
    if (s.summary) {
        const auto& m = *s.summary;
        const auto share = [&](double part) { return m.seconds > 0 ? 100 * part / m.seconds : 0; };
        lines.push_back(s.name + ": " + std::to_string(m.trials) + " trials in " + clock_text(m.seconds) + ", " + std::to_string(m.measured) +
                        " measured now" + (m.recorded > 0 ? ", " + std::to_string(m.recorded) + " taken from the log" : "") +
                        text_of("; measuring %.0f%%, training %.1f%%, proposing %.1f%% of the time", share(m.measure_seconds), share(m.train_seconds),
                                share(m.propose_seconds)));
        if (m.interrupted) lines.push_back(s.name + ": interrupted");
        if (m.exhausted) lines.push_back(s.name + ": ended early, no kernel has anything left to try");
        if (m.model_errors > 0)
            lines.push_back(s.name + ": " + std::to_string(m.model_errors) +
                            " rounds went on without the model, the first because: " + m.first_model_error);
    }
    if (s.failed) lines.push_back(s.name + ": ended by an error: " + s.failed->detail);
    for (std::size_t i = 1; i < s.counts.size(); ++i)
        if (s.counts[i] > 0)
            lines.push_back(s.name + ": " + std::to_string(s.counts[i]) + " trials ended as " +
                            std::string(to_string(static_cast<augur::outcome>(i))) + ", the first: " + s.first_reason[i]);
    for (const auto& n : s.notes) lines.push_back(n);
    augur::outcome_counts transferred{};
    for (const auto& k : s.transfers)
        for (const auto& t : k.proposed)
            if (t.latency > 0) ++transferred[static_cast<std::size_t>(t.status)];
    for (std::size_t i = 0; i < transferred.size(); ++i)
        if (transferred[i] > 0)
            lines.push_back(s.name + ": " + std::to_string(transferred[i]) + " transferred schedules ended as " +
                            std::string(to_string(static_cast<augur::outcome>(i))));
    return lines;
}

/// The best latency so far over the trials of one kernel, a curve a search. Empty when nothing succeeded.
std::string curve_svg(const augur::session_report& s, std::size_t kernel) {
    const double untuned = 1e3 * s.kernels[kernel].untuned;
    curve_chart chart{"tuning curve", {"trials", false, 0}, {"ms", true}, true, {}};
    chart.curves.push_back({"untuned " + three_digits(untuned) + " ms", "untuned", {}});
    double trials = 0; // the last that is drawn
    for (std::size_t k = 0; k < s.searches.size(); ++k) {
        std::vector<double> values;
        for (const double seconds : s.searches[k].latencies[kernel]) values.push_back(1e3 * seconds);
        auto points = best_so_far(values);
        if (!points.empty()) trials = (std::max)(trials, points.back().x);
        chart.curves.push_back({s.searches[k].name, k + 1 == s.searches.size() ? "tuned" : "other", std::move(points)});
    }
    if (!(trials > 0)) return {};
    chart.curves[0].points = {{0, untuned}, {trials, untuned}};
    return to_svg(chart);
}

std::string html_head(std::string_view title, std::string_view style) {
    return R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>)" + escaped(title) +
           R"(</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 80em; padding: 0 1em; color: #222; background: #fff; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
table { border-collapse: collapse; } td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
dl div { display: grid; grid-template-columns: 10em 1fr; column-gap: 1em; } dt { font-weight: bold; } dd { margin: 0; overflow-wrap: anywhere; }
.key svg { width: 2.5em; height: .8em; vertical-align: middle; } .key span { margin-right: 1.5em; }
)" + std::string(chart_style()) +
           std::string(style) + "</style>\n</head>\n<body>\n";
}

std::string html_facts(const augur::session_report& s) {
    std::string out = "<h1>" + escaped(s.options.work.name) + "</h1>\n<dl>\n";
    for (const auto& [name, text] : facts_of(s)) out += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(text) + "</dd></div>\n";
    return out + "</dl>\n";
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
    std::string out = "<table>\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
        out += "<tr>";
        for (const auto& cell : rows[r]) out += (r == 0 ? "<th>" : "<td>") + escaped(cell) + (r == 0 ? "</th>" : "</td>");
        out += "</tr>\n";
    }
    return out + "</table>\n";
}

/// The whole report; refers to nothing outside.
std::string report_html(const augur::session_report& s) {
    std::string out = html_head("augur: tuning report", R"(tr:last-child td { font-weight: bold; border-bottom: 0; }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(24em, 1fr)); gap: 1em 2em; }
figure { margin: 0; min-width: 0; } figcaption { font-size: .9em; overflow-wrap: anywhere; } svg { width: 100%; }
.untuned { color: #999; stroke-dasharray: 2 4; stroke-width: 1.5; } .tuned { color: #0b62a4; stroke-width: 2.5; }
.other { color: #d9822b; stroke-dasharray: 6 4; }
)");
    out += html_facts(s) + "<h2>Latency</h2>\n" + html_table(result_table(s));
    out += "<p>Naive: the loops of the definition on one thread. Untuned: the outermost loop parallel, the innermost one a vector. "
           "The limit is the peak of fused multiply-adds (fma) or the read bandwidth for a working set of the kernel's size (read), measured in this "
           "run. The last row is weighted by uses.</p>\n<h2>Best latency over trials</h2>\n<p class=\"key\">";
    for (std::size_t k = 0; k < s.searches.size(); ++k) out += curve_key(k + 1 == s.searches.size() ? "tuned" : "other", s.searches[k].name);
    out += curve_key("untuned", "untuned") + "</p>\n<div class=\"curves\">\n";
    for (std::size_t i = 0; i < s.kernels.size(); ++i) {
        const auto svg = curve_svg(s, i);
        out += "<figure>" + (svg.empty() ? std::string("<p>no trial succeeded</p>") : svg) + "<figcaption>" + escaped(s.kernels[i].label) +
               "<br><code>" + escaped(s.options.work.kernels[i].workload.text()) + "</code></figcaption></figure>\n";
    }
    out += "</div>\n<h2>The run</h2>\n<ul>\n";
    for (const auto& one : s.searches)
        for (const auto& line : account_of(one)) out += "<li>" + escaped(line) + "</li>\n";
    return out + "</ul>\n</body>\n</html>\n";
}

augur::result<void> keep_apart(const std::vector<named_file>& files) {
    const auto real = [](const std::string& path) {
        std::error_code unknown;
        auto found = std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
        return unknown ? std::filesystem::path(path) : found;
    };
    for (std::size_t i = 0; i < files.size(); ++i)
        for (std::size_t k = i + 1; k < files.size(); ++k) {
            const auto &a = files[i], &b = files[k];
            if (!(a.written || b.written) || a.path.empty() || b.path.empty()) continue;
            std::error_code none;
            if (real(a.path) == real(b.path) || std::filesystem::equivalent(a.path, b.path, none))
                return augur::error{augur::errc::invalid_argument, a.flag + " and " + b.flag + " are the same file, " + a.path};
        }
    return {};
}

augur::result<void> can_write(const std::string& path) {
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) {
        const auto opened = augur::open_regular_file(path, O_WRONLY | O_APPEND);
        return opened ? augur::result<void>() : opened.error();
    }
    const auto trial = augur::file_replacement::open(path); // under another name: one that is killed here leaves no empty file
    return trial ? augur::result<void>() : trial.error();
}

augur::result<void> claim_folder(const std::string& folder, const std::string& settings) {
    std::error_code wrong;
    std::filesystem::create_directories(folder, wrong);
    if (wrong) return augur::error{augur::errc::io, folder + ": " + wrong.message()};
    const std::string path = folder + "/settings.txt";
    std::string before;
    if (std::filesystem::exists(path, wrong)) {
        auto read = augur::read_whole_file(path, std::size_t{1} << 20U);
        if (!read) return read.error();
        before = *std::move(read);
    }
    if (before.empty()) return augur::replace_file(path, settings);
    if (before == settings) return {};
    const auto at = static_cast<std::size_t>(std::mismatch(before.begin(), before.end(), settings.begin(), settings.end()).first - before.begin());
    const auto line = before.rfind('\n', at == 0 ? 0 : at - 1);
    const auto from = line == std::string::npos ? 0 : line + 1;
    return augur::error{augur::errc::invalid_argument, folder + " holds searches with other settings ('" +
                                                           shown(before.substr(from, before.find('\n', from) - from)) +
                                                           "' in its settings.txt): give another --work"};
}

} // namespace examples
