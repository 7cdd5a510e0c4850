// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_CHART_HPP
#define AUGUR_EXAMPLES_SUPPORT_CHART_HPP

/// @file
/// Charts as SVG, for a page or as files of their own. The same data give the same bytes.

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

/// Text for XML and HTML, in content and in attributes. What is no printable ASCII becomes a '?'.
[[nodiscard]] std::string escaped(std::string_view text);

/// A bar, as long as its value.
struct chart_bar {
    std::size_t series = 0;
    double value = 0;      ///< not a positive number: no bar
    std::string note = {}; ///< shown under the pointer, or in place of a bar that there is not; may be empty
};
struct bar_group {
    std::string label;
    std::vector<chart_bar> bars;
};

/// Groups of bars from top to bottom, so that long labels can be read; the axis begins at 0. Each bar has its value beside it.
struct bar_chart {
    std::string title;               ///< the heading, and the drawing's accessible name
    std::string unit;                ///< of the axis
    std::vector<std::string> series; ///< names for the key
    std::vector<bar_group> groups;
};
/// A whole file: brings its own style.
[[nodiscard]] std::string to_svg(const bar_chart& chart);

/// An axis of curves: as long as the points need, or longer.
struct chart_axis {
    std::string name;                                       ///< and the unit
    bool logarithmic = false;                               ///< what is not positive is left out
    double low = std::numeric_limits<double>::infinity();   ///< the axis has at least this value
    double high = -std::numeric_limits<double>::infinity(); ///< and this one
};
struct chart_point {
    double x = 0, y = 0;
};
struct chart_curve {
    std::string name;                ///< shown under the pointer
    std::string look;                ///< classes of the style; `series_look`, or of the page
    std::vector<chart_point> points; ///< from left to right; what is not a number on the axes is left out
};
struct curve_chart {
    std::string title; ///< the heading, and the drawing's accessible name
    chart_axis x, y;
    bool steps = false; ///< a curve stays as it is until the next point; else it is a line through the points
    std::vector<chart_curve> curves;
};
/// An element of a page that has `chart_style`; without heading and key. Empty when there is no point to draw.
[[nodiscard]] std::string to_svg(const curve_chart& chart);
/// A whole file, the charts in rows of `columns`, each with its heading and the names of its curves.
[[nodiscard]] std::string to_svg(std::span<const curve_chart> charts, std::size_t columns);

/// The points of a search that is better with lower values: where the best value falls, and the end.
/// @param values  of the trials in order; what is not finite has failed
/// @param at      x of each trial; empty: 1, 2, 3, ...
[[nodiscard]] std::vector<chart_point> best_so_far(std::span<const double> values, std::span<const double> at = {});

/// The classes of the i-th curve or bar of a chart; 24 of them differ.
[[nodiscard]] std::string series_look(std::size_t i);
/// The rules of all charts but for classes that a page adds, for its style element.
[[nodiscard]] std::string_view chart_style();
/// A curve's line and name, for the key that a page has above its charts.
[[nodiscard]] std::string curve_key(std::string_view look, std::string_view name);

} // namespace examples

#endif
