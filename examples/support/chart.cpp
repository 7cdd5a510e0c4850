// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "console.hpp"

namespace examples {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A length of a drawing, rounded to a tenth.
std::string px(double x) { return text_of("%g", std::round(x * 10) / 10); }

std::string classes(std::string_view look) { return look.empty() ? std::string() : " class=\"" + escaped(look) + "\""; }

/// Begins with the accessible name; ended by `finish`.
class drawing {
public:
    /// @param alone  a file of its own, with a name space, a style and a background; else an element of a page
    drawing(double width, double height, std::string_view title, bool alone) {
        out_ = "<svg" + std::string(alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "") + " viewBox=\"0 0 " + px(width) + " " + px(height) +
               "\" role=\"img\">\n<title>" + escaped(title) + "</title>\n";
        if (!alone) return;
        out_ += "<style>\n" + std::string(chart_style()) + "</style>\n";
        box("page", 0, 0, width, height);
    }
    void text(double x, double y, std::string_view anchor, std::string_view words, std::string_view look = {}) {
        out_ += "<text" + classes(look) + " x=\"" + px(x) + "\" y=\"" + px(y) + "\"";
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
        out_ += "<" + element + classes(look) + attributes;
        out_ += note.empty() ? "/>\n" : "><title>" + escaped(note) + "</title></" + element + ">\n";
    }

    std::string out_;
};

/// The distance of the ticks of a linear axis: 1, 2 or 5 times a power of ten, at most six of them.
double tick_step(double length) {
    const double least = length / 6, power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

/// Counts as they are, other numbers with three digits that count.
std::string value_text(double x) { return x == std::floor(x) && x < 1e6 ? text_of("%.0f", x) : three_digits(x); }

constexpr double least_value = 1e-300, greatest_value = 1e300; // so that sums and quotients of lengths are numbers
bool drawn(double value) { return value >= least_value && value <= greatest_value; }

constexpr double letter = 7.2, heading_letter = 8.5; // width of a letter, or more, in wide fonts, too
double width_of(std::string_view text) { return letter * static_cast<double>(text.size()); }

/// Where the names of the series stand, in lines as wide as the drawing.
struct key_layout {
    static constexpr double line = 16;
    std::vector<std::pair<double, double>> at;
    double bottom; ///< of the last line

    key_layout(const std::vector<std::string>& names, double left, double top, double width) : bottom(top) {
        double x = left;
        for (const auto& name : names) {
            const double wide = 32 + width_of(name);
            if (x > left && x + wide > left + width) {
                x = left;
                bottom += line;
            }
            at.emplace_back(x, bottom);
            x += wide;
        }
    }
};

/// The least and the greatest value of an axis, and its ticks.
struct axis_scale {
    double low, high;
    bool logarithmic;
    std::vector<std::pair<double, std::string>> ticks;

    explicit axis_scale(const chart_axis& axis) : low(infinity), high(-infinity), logarithmic(axis.logarithmic) {
        include(axis.low);
        include(axis.high);
    }
    [[nodiscard]] bool has(double value) const { return logarithmic ? drawn(value) : std::abs(value) <= greatest_value; }
    void include(double value) {
        if (!has(value)) return;
        low = (std::min)(low, value);
        high = (std::max)(high, value);
    }
    /// To be called when all values are in; one value alone stands in the middle.
    void finish() {
        if (!(high - low >= least_value)) {
            const double aside = std::abs(low) < least_value ? 1 : std::abs(low) / 10;
            low = logarithmic ? low / 1.1 : low - aside;
            high = logarithmic ? high * 1.1 : high + aside;
        }
        if (logarithmic && high > 3 * low) { // else such ticks differ in digits that are not shown
            for (int i = 0; i <= 4; ++i) {
                const double value = i == 4 ? high : low * std::pow(high / low, i / 4.0);
                ticks.emplace_back(value, value_text(value));
            }
            return;
        }
        const double step = tick_step(high - low), first = std::ceil(low / step * (1 - 1e-9) - 1e-9);
        for (int i = 0; i <= 6 && (first + i) * step <= high + step * 1e-6; ++i)
            ticks.emplace_back((first + i) * step, text_of("%.7g", (first + i) * step));
    }
    /// 0 at the low end, 1 at the high one.
    [[nodiscard]] double part(double value) const {
        return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    }
    [[nodiscard]] double widest_tick() const {
        double widest = 0;
        for (const auto& [at, text] : ticks) widest = (std::max)(widest, width_of(text));
        return widest;
    }
};

constexpr double curves_width = 520, curves_height = 264, margin = 10;

/// Draws the chart with its upper left corner at (left, top); false when there is no point to draw, and nothing is drawn.
bool draw_curves(drawing& out, const curve_chart& chart, double left, double top, double width) {
    axis_scale x(chart.x), y(chart.y);
    const auto shown = [&](const chart_point& p) { return x.has(p.x) && y.has(p.y); };
    bool any = false;
    for (const auto& c : chart.curves)
        for (const auto& p : c.points)
            if (shown(p)) {
                x.include(p.x);
                y.include(p.y);
                any = true;
            }
    if (!any) return false;
    x.finish();
    y.finish();
    const double x0 = left + margin + y.widest_tick() + 6, x1 = left + width - margin - x.widest_tick() / 2;
    const double y0 = top + curves_height - 40, y1 = top + 30;
    const auto x_of = [&](double value) { return x0 + (x1 - x0) * x.part(value); };
    const auto y_of = [&](double value) { return y0 - (y0 - y1) * y.part(value); };
    for (const auto& [at, text] : y.ticks) {
        out.path("grid", "M" + px(x0) + " " + px(y_of(at)) + "H" + px(x1));
        out.text(x0 - 6, y_of(at) + 4, "end", text);
    }
    for (const auto& [at, text] : x.ticks) out.text(x_of(at), y0 + 16, "middle", text);
    out.text((x0 + x1) / 2, y0 + 32, "middle", chart.x.name);
    out.text(left + margin, top + 14, "start", chart.y.name);
    for (const auto& c : chart.curves) {
        std::string path;
        for (const auto& p : c.points) {
            if (!shown(p)) continue;
            const std::string at_x = px(x_of(p.x)), at_y = px(y_of(p.y));
            if (path.empty()) path = "M" + at_x + " " + at_y + "h0"; // one point is a dot
            else path += chart.steps ? "H" + at_x + "V" + at_y : "L" + at_x + " " + at_y;
        }
        if (!path.empty()) out.path("curve " + c.look, path, c.name);
    }
    return true;
}

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
    constexpr double pitch = 12, gap = 8, beside = 64; // of bars, between groups, for the value beside a bar
    double widest = 0, rows = 0, high = 0, note = 0;
    const auto rows_of = [](const bar_group& g) { return static_cast<double>((std::max)(g.bars.size(), std::size_t{1})); };
    for (const auto& g : chart.groups) {
        widest = (std::max)(widest, width_of(g.label));
        rows += rows_of(g);
        for (const auto& b : g.bars)
            if (drawn(b.value)) high = (std::max)(high, b.value);
            else note = (std::max)(note, width_of(b.note));
    }
    if (!(high > 0)) high = 1;
    const double left = margin + widest + 6, heading = heading_letter * static_cast<double>(chart.title.size());
    const double plot = (std::max)({420.0, 2 * margin + heading - left - beside, note - beside}), width = left + plot + beside;
    const bool named = chart.series.size() > 1;
    const key_layout keys(named ? chart.series : std::vector<std::string>(), margin, 44, width - margin);
    const double top = keys.bottom + (named ? 22 : 0), bottom = top + pitch * rows + gap * static_cast<double>(chart.groups.size());

    drawing out(width, bottom + 40, chart.title, true);
    out.text(margin, 22, "start", chart.title, "head");
    for (std::size_t i = 0; i < keys.at.size(); ++i) {
        out.box("key " + series_look(i), keys.at[i].first, keys.at[i].second - 9, 10, 10);
        out.text(keys.at[i].first + 14, keys.at[i].second, "start", chart.series[i]);
    }
    const double step = tick_step(high), last = std::ceil(high / step * (1 - 1e-9));
    for (double i = 0; i <= last; ++i) {
        const double tick = left + plot * i / last;
        out.path("grid", "M" + px(tick) + " " + px(top - 4) + "V" + px(bottom));
        out.text(tick, bottom + 14, "middle", text_of("%.7g", step * i));
    }
    out.text(left + plot / 2, bottom + 30, "middle", chart.unit);
    double y = top;
    for (const auto& g : chart.groups) {
        out.text(left - 6, y + pitch * rows_of(g) / 2 + 3, "end", g.label);
        double bar = y;
        for (const auto& b : g.bars) {
            const double length = drawn(b.value) ? plot * (b.value / (step * last)) : 0;
            if (length > 0) out.box("bar " + series_look(b.series), left, bar, length, pitch - 2, b.note);
            out.text(left + length + 4, bar + 9, "start", length > 0 ? value_text(b.value) : b.note.empty() ? "-" : b.note);
            bar += pitch;
        }
        y += pitch * rows_of(g) + gap;
    }
    return out.finish();
}

std::string to_svg(const curve_chart& chart) {
    drawing out(curves_width, curves_height, chart.title, false);
    return draw_curves(out, chart, 0, 0, curves_width) ? out.finish() : std::string();
}

std::string to_svg(std::span<const curve_chart> charts, std::size_t columns) {
    columns = (std::max)((std::min)(columns, charts.size()), std::size_t{1});
    double width = curves_width, height = curves_height; // of each chart
    std::string title;
    std::vector<std::vector<std::string>> names;
    for (const auto& chart : charts) {
        title += (title.empty() ? "" : "; ") + chart.title;
        auto& own = names.emplace_back();
        for (const auto& c : chart.curves) own.push_back(c.name);
        width = (std::max)(width, heading_letter * static_cast<double>(chart.title.size()) + 2 * margin);
        for (const auto& name : own) width = (std::max)(width, width_of(name) + 32 + margin);
    }
    const auto keys_of = [&](std::size_t i, double left, double top) { return key_layout(names[i], left + margin, top + 42, width - margin); };
    for (std::size_t i = 0; i < charts.size(); ++i) height = (std::max)(height, keys_of(i, 0, 0).bottom + 10 + curves_height);
    const auto rows = (charts.size() + columns - 1) / columns;
    drawing out(width * static_cast<double>(columns), height * static_cast<double>(rows), title, true);
    for (std::size_t i = 0; i < charts.size(); ++i) {
        const double left = width * static_cast<double>(i % columns), top = height * static_cast<double>(i / columns);
        const key_layout keys = keys_of(i, left, top);
        out.text(left + margin, top + 22, "start", charts[i].title, "head");
        for (std::size_t c = 0; c < keys.at.size(); ++c) {
            const auto [x, y] = keys.at[c];
            out.path("curve " + charts[i].curves[c].look, "M" + px(x) + " " + px(y - 4) + "h10");
            out.text(x + 14, y, "start", names[i][c]);
        }
        if (!draw_curves(out, charts[i], left, top + height - curves_height, width))
            out.text(left + margin, top + height - curves_height + 30, "start", "nothing to draw");
    }
    return out.finish();
}

std::vector<chart_point> best_so_far(std::span<const double> values, std::span<const double> at) {
    const auto x_of = [&](std::size_t i) { return at.empty() ? static_cast<double>(i + 1) : at[i]; };
    std::vector<chart_point> out;
    double best = infinity;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] < best && std::isfinite(values[i])) {
            best = values[i];
            out.push_back({x_of(i), best});
        }
    if (!out.empty()) out.push_back({x_of(values.size() - 1), best});
    return out;
}

std::string series_look(std::size_t i) {
    constexpr std::size_t colours = 8, strokes = 3;
    const std::size_t stroke = i / colours % strokes;
    return "s" + std::to_string(i % colours) + (stroke > 0 ? " d" + std::to_string(stroke) : "");
}

std::string_view chart_style() {
    return R"(svg text { font: 11px system-ui, sans-serif; fill: #444; } svg .head { font-size: 13px; font-weight: bold; fill: #222; } .page { fill: #fff; }
.grid { stroke: #e4e4e4; fill: none; } .bar, .key { fill: currentColor; } .curve { stroke: currentColor; fill: none; stroke-width: 2; stroke-linecap: round; }
.s0 { color: #0b62a4; } .s1 { color: #d9822b; } .s2 { color: #999; } .s3 { color: #5b8c5a; } .s4 { color: #8e5aa8; } .s5 { color: #b3245c; }
.s6 { color: #1aa6b7; } .s7 { color: #7a5230; } .d1 { stroke-dasharray: 6 4; } .d2 { stroke-dasharray: 1 4; }
)";
}

std::string curve_key(std::string_view look, std::string_view name) {
    return "<span><svg viewBox=\"0 0 30 8\"><path class=\"curve " + escaped(look) + "\" d=\"M2 4H28\"/></svg> " + escaped(name) + "</span>";
}

} // namespace examples
