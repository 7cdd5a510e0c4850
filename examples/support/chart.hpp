// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_CHART_HPP
#define AUGUR_EXAMPLES_SUPPORT_CHART_HPP

/// @file
/// Charts as SVG, for a page or as files of their own. The same data give the same bytes.

#include <cstddef>
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

/// The best value so far over the trials of a search.
struct chart_curve {
    std::string name;
    std::string look;           ///< class in the style of the page
    std::vector<double> values; ///< a trial each; infinity: it failed
};
/// Falling curves on a logarithmic axis; the page brings the style.
struct curve_chart {
    std::string title;  ///< the drawing's accessible name
    std::string unit;   ///< of the values
    std::string trials; ///< name of the axis of trials
    double level = 0;   ///< dotted line across, of the class `level_name`; 0: none
    std::string level_name;
    std::vector<chart_curve> curves;
};
/// Empty when no value is finite.
[[nodiscard]] std::string to_svg(const curve_chart& chart);

} // namespace examples

#endif
