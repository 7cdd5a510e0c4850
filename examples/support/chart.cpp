// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "console.hpp"

namespace examples {

namespace {

/// A length of a drawing, rounded to a tenth.
std::string px(double x) { return text_of("%g", std::round(x * 10) / 10); }

/// Begins with the accessible name; ended by `finish`.
class drawing {
public:
    drawing(double width, double height, std::string_view title, std::string_view style = {}) {
        out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + px(width) + " " + px(height) + "\" role=\"img\">\n";
        out_ += "<title>" + escaped(title) + "</title>\n" + std::string(style);
    }
    void text(double x, double y, std::string_view anchor, std::string_view words, std::string_view look = {}) {
        out_ += "<text" + (look.empty() ? std::string() : " class=\"" + std::string(look) + "\"") + " x=\"" + px(x) + "\" y=\"" + px(y) + "\"";
        if (anchor != "start") out_ += " text-anchor=\"" + std::string(anchor) + "\"";
        out_ += ">" + escaped(words) + "</text>\n";
    }
    /// @param d  lines, as SVG writes them
    void path(std::string_view look, const std::string& d, std::string_view note = {}) { shape("path", look, " d=\"" + d + "\"", note); }
    void box(std::string_view look, double x, double y, double width, double height, std::string_view note = {}) {
        shape("rect", look, " x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(width) + "\" height=\"" + px(height) + "\"", note);
    }
    [[nodiscard]] std::string finish() { return std::move(out_) + "</svg>\n"; }

private:
    void shape(std::string_view name, std::string_view look, const std::string& attributes, std::string_view note) {
        const std::string element(name);
        out_ += "<" + element + " class=\"" + escaped(look) + "\"" + attributes;
        out_ += note.empty() ? "/>\n" : "><title>" + escaped(note) + "</title></" + element + ">\n";
    }

    std::string out_;
};

/// The distance of the ticks of an axis from 0 to `high`: 1, 2 or 5 times a power of ten, at most six of them.
double tick_step(double high) {
    const double least = high / 6, power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

/// Counts as they are, other numbers with three digits that count.
std::string value_text(double x) { return x == std::floor(x) && x < 1e6 ? text_of("%.0f", x) : three_digits(x); }

bool drawn(double value) { return std::isfinite(value) && value > 0; }

constexpr double letter = 7.2, heading_letter = 8.5; // width of a letter, or more, in wide fonts, too

constexpr std::size_t colours = 5;
constexpr std::string_view bar_style = R"(<style>
text { font: 11px system-ui, sans-serif; fill: #444; } .head { font-size: 13px; font-weight: bold; fill: #222; } .page { fill: #fff; }
.grid { stroke: #e4e4e4; fill: none; } .s0 { fill: #0b62a4; } .s1 { fill: #d9822b; } .s2 { fill: #999; } .s3 { fill: #5b8c5a; } .s4 { fill: #8e5aa8; }
</style>
)";

} // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += c >= ' ' && c < 127 ? c : '?'; break;
        }
    }
    return out;
}

std::string to_svg(const bar_chart& chart) {
    constexpr double pitch = 12, gap = 8, margin = 10, beside = 64; // of bars, between groups, of the drawing, for the value beside a bar
    std::size_t longest = 0, bars = 0;
    double high = 0;
    for (const auto& g : chart.groups) {
        longest = (std::max)(longest, g.label.size());
        bars += g.bars.size();
        for (const auto& b : g.bars) high = drawn(b.value) ? (std::max)(high, b.value) : high;
    }
    if (!(high > 0)) high = 1;
    const double left = margin + letter * static_cast<double>(longest) + 6;
    const double plot = (std::max)(420.0, 2 * margin + heading_letter * static_cast<double>(chart.title.size()) - left - beside),
                 width = left + plot + beside;

    std::vector<std::pair<double, double>> keys; // where they stand
    double x = margin, top = 44;
    if (chart.series.size() > 1) {
        for (const auto& name : chart.series) {
            const double wide = 32 + letter * static_cast<double>(name.size());
            if (x > margin && x + wide > width) {
                x = margin;
                top += 16;
            }
            keys.emplace_back(x, top);
            x += wide;
        }
        top += 22;
    }
    const double bottom = top + pitch * static_cast<double>(bars) + gap * static_cast<double>(chart.groups.size());

    drawing out(width, bottom + 40, chart.title, bar_style);
    out.box("page", 0, 0, width, bottom + 40);
    out.text(margin, 22, "start", chart.title, "head");
    for (std::size_t i = 0; i < keys.size(); ++i) {
        out.box("key s" + std::to_string(i % colours), keys[i].first, keys[i].second - 9, 10, 10);
        out.text(keys[i].first + 14, keys[i].second, "start", chart.series[i]);
    }
    const double step = tick_step(high), last = std::ceil(high / step * (1 - 1e-9));
    for (double i = 0; i <= last; ++i) {
        const double tick = left + plot * i / last;
        out.path("grid", "M" + px(tick) + " " + px(top - 4) + "V" + px(bottom));
        out.text(tick, bottom + 14, "middle", text_of("%g", step * i));
    }
    out.text(left + plot / 2, bottom + 30, "middle", chart.unit);
    double y = top;
    for (const auto& g : chart.groups) {
        out.text(left - 6, y + pitch * static_cast<double>(g.bars.size()) / 2 + 3, "end", g.label);
        for (const auto& b : g.bars) {
            const double length = drawn(b.value) ? plot * b.value / (step * last) : 0;
            if (length > 0) out.box("bar s" + std::to_string(b.series % colours), left, y, length, pitch - 2, b.note);
            out.text(left + length + 4, y + 9, "start", length > 0 ? value_text(b.value) : b.note.empty() ? "-" : b.note);
            y += pitch;
        }
        y += gap;
    }
    return out.finish();
}

std::string to_svg(const curve_chart& chart) {
    constexpr double width = 520, height = 256, left = 64, right = 12, top = 28, bottom = 36;
    double low = std::numeric_limits<double>::infinity(), high = 0;
    std::size_t trials = 1;
    const auto range = [&](double value) {
        low = (std::min)(low, value);
        high = (std::max)(high, value);
    };
    for (const auto& c : chart.curves) {
        double best = std::numeric_limits<double>::infinity();
        trials = (std::max)(trials, c.values.size());
        for (const double value : c.values) {
            best = (std::min)(best, value);
            if (std::isfinite(best)) range(best);
        }
    }
    if (!std::isfinite(low)) return {};
    if (chart.level > 0) range(chart.level);
    low /= 1.1;
    high *= 1.1;
    const auto x_of = [&](double trial) { return left + (width - left - right) * trial / static_cast<double>(trials); };
    const auto y_of = [&](double value) { return top + (height - top - bottom) * std::log(high / value) / std::log(high / low); };

    drawing out(width, height, chart.title);
    for (int i = 0; i <= 4; ++i) {
        const double value = high * std::pow(low / high, i / 4.0), trial = static_cast<double>(trials) * i / 4;
        out.path("grid", "M" + px(left) + " " + px(y_of(value)) + "H" + px(width - right));
        out.text(left - 6, y_of(value) + 4, "end", three_digits(value));
        out.text(x_of(trial), height - bottom + 16, "middle", text_of("%.0f", trial));
    }
    out.text((left + width) / 2, height - 4, "middle", chart.trials);
    out.text(left - 6, top - 14, "end", chart.unit);
    if (chart.level > 0)
        out.path(chart.level_name, "M" + px(left) + " " + px(y_of(chart.level)) + "H" + px(width - right),
                 chart.level_name + " " + three_digits(chart.level) + " " + chart.unit);
    for (const auto& c : chart.curves) {
        double best = std::numeric_limits<double>::infinity();
        std::string path;
        for (std::size_t i = 0; i < c.values.size(); ++i) {
            const double value = c.values[i];
            const double from = x_of(static_cast<double>(i)), to = x_of(static_cast<double>(i + 1));
            if (std::isfinite(best)) path += "H" + px(from);
            if (value < best) path += std::isfinite(best) ? "V" + px(y_of(value)) : "M" + px(from) + " " + px(y_of(value));
            best = (std::min)(best, value);
            if (std::isfinite(best)) path += "H" + px(to);
        }
        out.path(c.look, path, c.name);
    }
    return out.finish();
}

} // namespace examples
