// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Charts as SVG, read back from the XML; and the figures of Transfer-Tuning, from results and logs that were made up.
#include <doctest/doctest.h>

#ifdef AUGUR_TRANSFER_TABLES_PROGRAM // else there is no Eigen

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/session/report.hpp>
#include <augur/workload/networks.hpp>

#include "../../examples/papers/transfer_tables/figures.hpp"
#include "chart.hpp"
#include "child_program.hpp"
#include "made_up_result.hpp"

namespace chart_test {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct element {
    std::string name, text;
    std::map<std::string, std::string> attributes;

    [[nodiscard]] double number(const std::string& attribute) const { return std::strtod(attributes.at(attribute).c_str(), nullptr); }
    [[nodiscard]] bool is(const std::string& look) const {
        const auto at = attributes.find("class");
        return at != attributes.end() && (at->second + " ").starts_with(look + " ");
    }
};

std::string unescaped(std::string text) {
    for (const auto& [entity, c] :
         {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&quot;", "\""), std::pair("&#39;", "'"), std::pair("&amp;", "&")})
        for (auto at = text.find(entity); at != std::string::npos; at = text.find(entity, at + 1))
            text.replace(at, std::string_view(entity).size(), c);
    return text;
}

/// The elements of an XML text in their order. What is not well-formed fails the test.
std::vector<element> parse(const std::string& xml) {
    std::vector<element> out;
    std::vector<std::size_t> open;
    std::size_t at = 0;
    const auto until = [&](std::string_view ends) {
        const auto from = at;
        at = (std::min)(xml.find_first_of(ends, at), xml.size());
        REQUIRE(at < xml.size());
        return xml.substr(from, at - from);
    };
    const auto plain = [](const std::string& text) {
        for (auto amp = text.find('&'); amp != std::string::npos; amp = text.find('&', amp + 1)) {
            const auto entity = text.substr(amp, text.find(';', amp) - amp + 1);
            CHECK((entity == "&lt;" || entity == "&gt;" || entity == "&quot;" || entity == "&#39;" || entity == "&amp;"));
        }
        return unescaped(text);
    };
    while (at < xml.size()) {
        REQUIRE(xml[at++] == '<');
        if (xml[at] == '/') {
            ++at;
            REQUIRE(!open.empty());
            CHECK(until(">") == out[open.back()].name);
            open.pop_back();
            ++at;
        } else {
            element& e = out.emplace_back();
            e.name = until(" />");
            while (xml[at] == ' ') {
                ++at;
                const auto name = until("=");
                REQUIRE(xml.substr(at, 2) == "=\"");
                at += 2;
                CHECK(e.attributes.emplace(name, plain(until("\""))).second);
                ++at;
            }
            if (xml[at] == '/') ++at;
            else open.push_back(out.size() - 1);
            REQUIRE(xml[at++] == '>');
        }
        const auto end = (std::min)(xml.find('<', at), xml.size());
        const auto text = plain(xml.substr(at, end - at));
        if (!open.empty()) out[open.back()].text += text;
        at = end;
    }
    CHECK(open.empty());
    for (auto& e : out)
        while (e.text.ends_with('\n')) e.text.pop_back();
    return out;
}

std::vector<element> all(const std::vector<element>& elements, const std::string& name, const std::string& look = {}) {
    std::vector<element> out;
    std::copy_if(elements.begin(), elements.end(), std::back_inserter(out),
                 [&](const element& e) { return e.name == name && (look.empty() || e.is(look)); });
    return out;
}
bool has_text(const std::vector<element>& elements, const std::string& text) {
    return std::any_of(elements.begin(), elements.end(), [&](const element& e) { return e.name == "text" && e.text == text; });
}

/// No text leaves the drawing or lies upon another, if letters are on average no wider than 0.64 of the font.
void check_layout(const std::vector<element>& elements) {
    struct box {
        double left, right, top, bottom;
        std::string text;
    };
    std::vector<box> boxes;
    double width = 0, height = 0;
    REQUIRE(std::sscanf(elements.front().attributes.at("viewBox").c_str(), "0 0 %lf %lf", &width, &height) == 2);
    for (const auto& e : all(elements, "text")) {
        const double size = e.is("head") ? 13 : 11, wide = 0.64 * size * static_cast<double>(e.text.size());
        const auto anchor = e.attributes.find("text-anchor");
        const double left = e.number("x") - (anchor == e.attributes.end() ? 0 : anchor->second == "middle" ? wide / 2 : wide);
        boxes.push_back({left, left + wide, e.number("y") - 0.75 * size, e.number("y") + 0.2 * size, e.text});
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto& a = boxes[i];
        CAPTURE(a.text);
        CHECK(a.left >= 0);
        CHECK(a.right <= width);
        CHECK(a.bottom <= height);
        for (std::size_t j = 0; j < i; ++j) {
            const auto& b = boxes[j];
            CAPTURE(b.text);
            CHECK((a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom));
        }
    }
}

/// Bars and axis have one scale, and every value has its bar.
void check_bars(const examples::bar_chart& chart) {
    const auto elements = parse(to_svg(chart));
    check_layout(elements);
    CHECK(elements.front().name == "svg");
    CHECK(elements.front().attributes.at("xmlns") == "http://www.w3.org/2000/svg");
    CHECK(elements.front().attributes.at("role") == "img");
    CHECK(elements[1].name == "title");
    CHECK(elements[1].text == chart.title);
    CHECK(has_text(elements, chart.title));
    CHECK(has_text(elements, chart.unit));
    std::vector<double> values;
    for (const auto& g : chart.groups) {
        CHECK(has_text(elements, g.label));
        for (const auto& b : g.bars)
            if (std::isfinite(b.value) && b.value > 0) values.push_back(b.value);
            else CHECK(has_text(elements, b.note.empty() ? "-" : b.note));
    }
    if (chart.series.size() > 1)
        for (const auto& s : chart.series) CHECK(has_text(elements, s));
    const auto bars = all(elements, "rect", "bar"), texts = all(elements, "text");
    REQUIRE(bars.size() == values.size());
    double left = -1, scale = 0; // of the axis, from the texts of its ticks
    for (const auto& t : texts) {
        char* end = nullptr;
        const double tick = std::strtod(t.text.c_str(), &end);
        if (t.attributes.count("text-anchor") == 0 || t.attributes.at("text-anchor") != "middle" || *end != '\0' || t.text.empty()) continue;
        if (tick == 0) left = t.number("x");
        else scale = (t.number("x") - left) / tick;
    }
    REQUIRE(scale > 0);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        CHECK(bars[i].number("x") == doctest::Approx(left));
        CHECK(std::abs(bars[i].number("width") - scale * values[i]) < 0.2); // lengths are rounded to a tenth
    }
}

} // namespace

TEST_CASE("chart: bars are as long as their values on the axis, and every text is there") {
    augur::random_engine rng(3);
    const std::string letters = "abc <&>\"' XYZ-+0123456789";
    for (int round = 0; round < 60; ++round) {
        const auto words = [&](std::size_t least, std::size_t most) {
            std::string out;
            for (auto n = least + rng.below(most - least); n > 0; --n) out += letters[rng.below(letters.size())];
            return "w" + out;
        };
        examples::bar_chart chart{words(1, 90), words(1, 40), {}, {}};
        const auto series = 1 + rng.below(5), groups = 1 + rng.below(20);
        for (std::size_t s = 0; s < series; ++s) chart.series.push_back(words(3, 30));
        const double size = std::pow(10, static_cast<double>(rng.below(9)) - 4);
        for (std::size_t g = 0; g < groups; ++g) {
            auto& group = chart.groups.emplace_back(examples::bar_group{words(1, 45), {}});
            for (std::size_t s = 0; s < series; ++s)
                group.bars.push_back({s, rng.below(12) == 0 ? (g % 2 == 0 ? inf : -1.0) : size * (1 + static_cast<double>(rng.below(1000))) / 1000,
                                      rng.below(3) == 0 ? words(1, 8) : ""});
        }
        CAPTURE(round);
        check_bars(chart);
        CHECK(to_svg(chart) == to_svg(chart));
    }
}

TEST_CASE("chart: nothing to draw is a drawing with its labels, and what is not printable is a question mark") {
    examples::bar_chart chart{"t\n\x01\xc3", "u", {"s"}, {{"g", {{0, std::nan(""), "failed"}, {0, 0}}}}};
    const auto elements = parse(to_svg(chart));
    CHECK(has_text(elements, "t???"));
    CHECK(has_text(elements, "failed"));
    CHECK(has_text(elements, "-"));
    CHECK(all(elements, "rect", "bar").empty());
    chart.groups.clear();
    check_bars({"title", "unit", {}, {}});
}

TEST_CASE("chart: bars of all sizes are short texts within the drawing, and a group without bars has its place") {
    for (const double value : {5e-324, 1e-310, 1e-200, 1.2345e-7, 0.00012345, 999999.5, 123456789.0, 1e200, 1.7e308}) {
        examples::bar_chart chart{"t", "u", {"s"}, {{"none", {}}, {"no bars", {}}, {"g", {{0, value}}}}};
        CAPTURE(value);
        const auto elements = parse(to_svg(chart));
        check_layout(elements);
        CHECK(all(elements, "rect", "bar").size() == (value > 1e-300 && value < 1e300 ? 1 : 0));
    }
}

namespace {

/// Where a line goes: absolute M, L, H and V, and the h0 of a dot.
std::vector<examples::chart_point> corners(const std::string& d) {
    std::vector<examples::chart_point> out;
    for (std::size_t at = 0; at < d.size();) {
        const char letter = d[at];
        char* end = nullptr;
        const double first = std::strtod(d.c_str() + at + 1, &end);
        auto p = out.empty() ? examples::chart_point() : out.back();
        if (letter == 'V') p.y = first;
        else if (letter != 'h') p.x = first;
        if (letter == 'M' || letter == 'L') p.y = std::strtod(end, &end);
        REQUIRE(at + 1 < static_cast<std::size_t>(end - d.c_str()));
        out.push_back(p);
        at = static_cast<std::size_t>(end - d.c_str());
    }
    return out;
}

/// What one tick of an axis says, and where it stands.
struct tick {
    double at = 0, value = 0;
};
std::vector<tick> ticks(const std::vector<element>& elements, const std::string& anchor, const std::string& coordinate) {
    std::vector<tick> out;
    for (const auto& t : all(elements, "text")) {
        char* end = nullptr;
        const double value = std::strtod(t.text.c_str(), &end);
        if (t.attributes.count("text-anchor") > 0 && t.attributes.at("text-anchor") == anchor && *end == '\0')
            out.push_back({t.number(coordinate), value});
    }
    return out;
}

/// Where a value is by the first and the last tick.
double place(const std::vector<tick>& ticks, bool logarithmic, double value) {
    const auto& a = ticks.front();
    const auto& b = ticks.back();
    const auto along = [&](double x) { return logarithmic ? std::log(x) : x; };
    return a.at + (b.at - a.at) * ((along(value) - along(a.value)) / (along(b.value) - along(a.value)));
}

} // namespace

TEST_CASE("chart: points lie where the ticks of the axes say, and nothing leaves the drawing") {
    augur::random_engine rng(5);
    for (int round = 0; round < 200; ++round) {
        examples::curve_chart chart{"<&\"' t", {"x & x", rng.below(2) == 0}, {"<y>", rng.below(2) == 0}, rng.below(2) == 0, {}};
        if (rng.below(2) == 0) chart.x.low = chart.y.low = 0;
        const double size = std::pow(10, static_cast<double>(rng.below(12)) - 6);
        const auto some = [&] { return size * static_cast<double>(1 + rng.below(1000)); };
        for (auto n = 1 + rng.below(4); n > 0; --n) {
            auto& curve = chart.curves.emplace_back(examples::chart_curve{"'" + std::to_string(n) + "' <&>", examples::series_look(n), {}});
            for (auto points = 1 + rng.below(5); points > 0; --points) curve.points.push_back({some(), some()});
            if (rng.below(3) == 0) curve.points[rng.below(curve.points.size())].y = rng.below(2) == 0 ? inf : std::nan("");
            std::sort(curve.points.begin(), curve.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
        }
        CAPTURE(round);
        const auto svg = to_svg(chart);
        if (svg.empty()) continue; // all of them no numbers
        CHECK(svg == to_svg(chart));
        CHECK(svg.find("http") == std::string::npos); // a page refers to nothing outside
        const auto elements = parse(svg);
        check_layout(elements);
        CHECK(elements[1].text == chart.title);
        CHECK(has_text(elements, chart.x.name));
        CHECK(has_text(elements, chart.y.name));
        const auto across = ticks(elements, "middle", "x");
        auto up = ticks(elements, "end", "y");
        for (auto& t : up) t.at -= 4; // the baseline of its text
        REQUIRE(across.size() > 1);
        REQUIRE(up.size() > 1);
        for (const auto& c : chart.curves) {
            std::vector<examples::chart_point> wanted;
            for (const auto& p : c.points) {
                if (!std::isfinite(p.y)) continue;
                const double x = place(across, chart.x.logarithmic, p.x), y = place(up, chart.y.logarithmic, p.y);
                if (wanted.empty()) wanted = {{x, y}, {x, y}};
                else {
                    if (chart.steps) wanted.push_back({x, wanted.back().y});
                    wanted.push_back({x, y});
                }
            }
            const auto paths = all(elements, "path", "curve " + c.look);
            REQUIRE(paths.size() == (wanted.empty() ? 0 : 1));
            if (wanted.empty()) continue;
            const auto drawn = corners(paths[0].attributes.at("d"));
            REQUIRE(drawn.size() == wanted.size());
            for (std::size_t i = 0; i < drawn.size(); ++i) { // the texts of ticks have three digits
                CHECK(std::abs(drawn[i].x - wanted[i].x) < 3);
                CHECK(std::abs(drawn[i].y - wanted[i].y) < 3);
            }
        }
    }
}

TEST_CASE("chart: curves of one value, of huge and tiny ones and of none") {
    for (const bool logarithmic : {false, true})
        for (const double value : {-1e308, -7.0, 0.0, 5e-324, 1e-290, 1.0, 123456789012.0, 1e290, 1.7e308, inf, -inf, std::nan("")}) {
            examples::curve_chart chart{"t", {"x", logarithmic}, {"y", logarithmic}, true, {{"one", "s0", {{value, value}, {value, value}}}}};
            CAPTURE(value);
            const bool there = logarithmic ? value >= 1e-300 && value <= 1e300 : std::abs(value) <= 1e300;
            const auto svg = to_svg(chart);
            REQUIRE(svg.empty() != there);
            if (!there) continue;
            CHECK(svg.find("nan") == std::string::npos);
            CHECK(svg.find("inf") == std::string::npos);
            check_layout(parse(svg));
        }
    examples::curve_chart wide{"t", {"x"}, {"y"}, false, {{"from end to end", "s0", {{-1e300, 1e-300}, {1e300, 1e300}}}}};
    check_layout(parse(to_svg(wide)));
    wide.curves.clear();
    CHECK(to_svg(wide).empty());
}

TEST_CASE("chart: a file of several charts has each with its heading and the names of its curves") {
    CHECK(parse(to_svg(std::span<const examples::curve_chart>(), 3)).front().name == "svg");
    std::vector<examples::curve_chart> charts;
    for (const char* title :
         {"first <one>", "second with a heading that is longer than a chart is wide, and so both of them become wider", "nothing"}) {
        auto& chart = charts.emplace_back(examples::curve_chart{title, {"x"}, {"y"}, false, {}});
        if (charts.size() == 3) break;
        for (std::size_t i = 0; i < 12; ++i)
            chart.curves.push_back({"a curve & its name " + std::to_string(i), examples::series_look(i), {{1, 2}, {2, static_cast<double>(i)}}});
    }
    for (const std::size_t columns : {0U, 1U, 2U, 9U}) {
        const auto elements = parse(to_svg(charts, columns));
        check_layout(elements);
        CHECK(elements.front().attributes.at("xmlns") == "http://www.w3.org/2000/svg");
        for (const auto& chart : charts) {
            CHECK(has_text(elements, chart.title));
            for (const auto& c : chart.curves) CHECK(has_text(elements, c.name));
        }
        CHECK(has_text(elements, "nothing to draw"));
        CHECK(all(elements, "path", "curve").size() == 2 * 2 * 12); // each in the key and in the chart
    }
    std::vector<std::string> looks;
    for (std::size_t i = 0; i < 24; ++i) looks.push_back(examples::series_look(i));
    std::sort(looks.begin(), looks.end());
    CHECK(std::adjacent_find(looks.begin(), looks.end()) == looks.end());
}

TEST_CASE("chart: the best value so far falls at trials that are better than all before") {
    const auto same = [](const std::vector<examples::chart_point>& points, const std::vector<std::pair<double, double>>& wanted) {
        REQUIRE(points.size() == wanted.size());
        for (std::size_t i = 0; i < points.size(); ++i) CHECK((points[i].x == wanted[i].first && points[i].y == wanted[i].second));
    };
    const std::vector<double> values{inf, 16, std::nan(""), 4, 8, -inf, 2, 2, 3}, at{0, 1, 2, 3, 5, 8, 13, 21, 34};
    same(examples::best_so_far(values), {{2, 16}, {4, 4}, {7, 2}, {9, 2}});
    same(examples::best_so_far(values, at), {{1, 16}, {3, 4}, {13, 2}, {34, 2}});
    same(examples::best_so_far(std::vector<double>{inf, inf}), {});
    same(examples::best_so_far({}), {});
}

namespace {

const transfer_figures::figure& find(const std::vector<transfer_figures::figure>& figures, const std::string& name) {
    const auto at = std::find_if(figures.begin(), figures.end(), [&](const auto& f) { return f.name == name; });
    REQUIRE(at != figures.end());
    return *at;
}

/// Each kernel of a network with these latencies.
transfer_figures::network_log log_of(const std::string& network, const std::vector<double>& latencies) {
    transfer_figures::network_log out{network, {}};
    const auto known = augur::find_network(network);
    REQUIRE(known);
    for (const auto& k : known->kernels) {
        out.kernels.push_back({k.workload, static_cast<double>(k.uses), {}});
        for (const double l : latencies)
            out.kernels.back().trials.push_back({l, 1000 + static_cast<std::int64_t>(out.kernels.back().trials.size()), ""});
    }
    return out;
}

} // namespace

TEST_CASE("transfer figures: speed-ups are of sums over kernels with their uses, the first result of a kernel counts") {
    transfer_figures::figure_data data;
    CHECK(draw(data).empty());
    auto& all_results = data.results;
    all_results = {made_up_result("net", "a", "trees", 1), made_up_result("net", "b", "trees", 3), made_up_result("net", "a", "random", 4),
                   made_up_result("net", "b", "random", 4)};
    all_results[1].uses = all_results[3].uses = 6;
    all_results.push_back(made_up_result("net", "a", "trees", 100)); // a second run
    auto figures = draw(data);
    REQUIRE(figures.size() == 1); // no logs, no pool, no parameters
    const auto& bars = find(figures, "figure5_speedup").chart.groups.at(0).bars;
    REQUIRE(bars.size() == 3);
    CHECK(bars[0].value == doctest::Approx(32.0 / 20));
    CHECK(bars[1].value == doctest::Approx(1));
    CHECK(bars[1].series == 2);
    CHECK(bars[2].value == doctest::Approx(4));

    all_results[1].full = 0; // of one kernel not known: of the network, neither
    CHECK(find(draw(data), "figure5_speedup").chart.groups.at(0).bars.at(2).value == 0);
    all_results[1].full = 1;

    for (const double latency : {2.0, 1.0}) {
        auto r = made_up_result("net", "a", "all", latency);
        r.logs = latency == 2 ? "one" : "a, b, c";
        all_results.push_back(r);
    }
    data.lengths = {made_up_result("net:tokens=4", "a", "all", 2), made_up_result("net:tokens=4", "a", "replayed", 1)};
    figures = draw(data);
    const auto& pools = find(figures, "figure8_speedup").chart.groups;
    REQUIRE(pools.size() == 2);
    CHECK(pools[0].label == "net from one");
    CHECK(pools[0].bars[0].value == doctest::Approx(2));
    CHECK(pools[1].label == "net from 3 networks");
    CHECK(pools[1].bars[0].value == doctest::Approx(4));
    CHECK(find(figures, "figure8_measurements").chart.groups[0].bars[0].value == 5);
    const auto& lengths = find(figures, "figure7").chart.groups;
    REQUIRE(lengths.size() == 1);
    CHECK(lengths[0].label == "net:tokens=4");
    REQUIRE(lengths[0].bars.size() == 3); // adapted, replayed, full
    CHECK(lengths[0].bars[0].value == doctest::Approx(2));
    CHECK(lengths[0].bars[1].value == doctest::Approx(4));
    CHECK(lengths[0].bars[2].value == doctest::Approx(4));

    data.elsewhere = {made_up_result("all kernels", "a", "class", 2), made_up_result("all kernels", "b", "class", 1),
                      made_up_result("all kernels", "a", "random", 8)};
    figures = draw(data);
    const auto& elsewhere = find(figures, "figure6").chart.groups;
    REQUIRE(elsewhere.size() == 2);
    REQUIRE(elsewhere[0].bars.size() == 3); // a kernel a group: transferred, random, full
    CHECK(elsewhere[0].bars[0].value == doctest::Approx(2));
    CHECK(elsewhere[0].bars[1].value == doctest::Approx(0.5));
    CHECK(elsewhere[0].bars[2].value == doctest::Approx(4));
    CHECK(elsewhere[1].bars.size() == 2);
    for (const auto& f : figures) check_bars(f.chart);
}

TEST_CASE("transfer figures: long searches, as many of their measurements as are needed, and pairs") {
    transfer_figures::figure_data data;
    data.searches.push_back(log_of("alexnet", {8, 4, inf, 2, 1, 3}));
    data.results = {made_up_result("alexnet", "a", "trees", 2), made_up_result("alexnet", "b", "trees", 2)};
    data.pairs.push_back(log_of("resnet_18", {4, 2, inf, 6, 1}));
    const auto tuned = augur::find_network("resnet_50");
    REQUIRE(tuned);
    for (auto& k : data.pairs[0].kernels) {
        k.trials[1].source = k.trials[2].source = tuned->kernels[3].workload.text();
        k.trials[3].source = "dense:m=1,n=1,k=1"; // of another network
    }
    data.pairs[0].kernels[1].trials.resize(1);
    const auto figures = draw(data);
    CHECK(find(figures, "figure1_speedup").chart.groups.at(0).bars.at(0).value == doctest::Approx(4)); // of what was timed again
    CHECK(find(figures, "figure1_seconds").chart.groups.at(0).bars.at(0).value == doctest::Approx(5));
    const auto& needs = find(figures, "figure5_measurements").chart.groups.at(0).bars;
    CHECK(needs[0].value == 4);
    CHECK(needs[1].value == 4); // twice the long search's latency: its fourth record
    const auto& pairs = find(figures, "figure4").chart.groups;
    REQUIRE(pairs.size() == data.pairs[0].kernels.size());
    REQUIRE(pairs[0].bars.size() == 2);
    CHECK(pairs[0].bars[0].value == doctest::Approx(0.5));
    CHECK(pairs[0].bars[0].note == augur::kernel_label(tuned->kernels[3].workload));
    CHECK(pairs[0].bars[1].note == "failed");
    CHECK(pairs[1].bars.at(0).note == "no schedule of its class");
    for (const auto& f : figures) check_bars(f.chart);

    data.results.push_back(made_up_result("resnet_18", data.pairs[0].kernels[0].workload.text(), "random", 4)); // its untuned schedule, timed again
    data.results.back().untuned = 2;
    CHECK(find(draw(data), "figure4").chart.groups.at(0).bars.at(0).value == doctest::Approx(1));

    data.results[0].latency = data.results[1].latency = 0.5; // faster than the long search
    CHECK(find(draw(data), "figure5_measurements").chart.groups.at(0).bars.at(1).note == "not with 6");
}

TEST_CASE("transfer figures: the program writes them, the same bytes again, and refuses what it cannot read") {
    const scratch folder("figures");
    const auto run = [&](const strings& arguments) { return wait_for(start(folder, AUGUR_TRANSFER_TABLES_PROGRAM, arguments)); };
    {
        std::ofstream file(folder / "results");
        file << to_line(made_up_result("net", "a", "trees", 2)) << "\n";
    }
    REQUIRE(run({"--figures", folder / "out1", "--results", folder / "results"}) == 0);
    REQUIRE(run({"--figures", folder / "out2", "--results", folder / "results"}) == 0);
    const auto svg = contents(folder / "out1/figure5_speedup.svg");
    CHECK(svg == contents(folder / "out2/figure5_speedup.svg"));
    CHECK(has_text(parse(svg), "net"));
    CHECK(run({"--figures", folder / "out1"}) == 2);
    CHECK(run({"--results", folder / "results"}) == 2);
    CHECK(run({"--figures", folder / "out1", "--search", "alexnet"}) == 2);
    CHECK(run({"--figures", folder / "out1", "--search", "no_such_net=" + folder / "results"}) == 1);
    CHECK(run({"--figures", folder / "out1", "--pairs", "alexnet=" + folder / "none"}) == 1);
    std::ofstream(folder / "log") << "";
    CHECK(run({"--figures", folder / "out1", "--search", "alexnet=" + folder / "log"}) == 1);
    CHECK(contains(contents(folder / "err"), "none of conv2d"));
    CHECK(run({"--figures", folder / "out3", "--results", folder / "log"}) == 1);
    CHECK(contains(contents(folder / "err"), "of which a figure can be drawn"));
    CHECK(run({"--help"}) == 0);
}

} // namespace chart_test

#endif
