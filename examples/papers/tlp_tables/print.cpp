// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables as text, figures as SVG.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <span>
#include <unordered_set>

#include <augur/record/replace_file.hpp>
#include <augur/core/hash.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/train/samples.hpp>

#include "chart.hpp"
#include "report.hpp"
#include "statistics.hpp"
#include "tables.hpp"

namespace examples {
namespace {

std::string score_text(double x) { return std::isfinite(x) ? text_of("%.4f", x) : "-"; }

double mean_of(const std::vector<double>& values) { return values.empty() ? std::numeric_limits<double>::quiet_NaN() : arithmetic(values).mean; }

/// "0.9012 +- 0.0031": mean and half of the 95 % interval.
std::string mean_text(const std::vector<double>& values) {
    const auto m = arithmetic(values);
    if (m.count == 0 || !std::isfinite(m.mean)) return "-";
    return m.count < 2 ? text_of("%.4f", m.mean) : text_of("%.4f +- %.4f", m.mean, m.high - m.mean);
}

/// How many numbers and names a primitive has.
struct item_counter {
    std::size_t items = 0;
    void primitive(std::string_view) {}
    void number(std::integral auto) { ++items; }
    void number(double) { ++items; }
    void name(std::string_view) { ++items; }
};

std::vector<std::uint32_t> records_on(const table_data& set, std::string_view platform) {
    std::vector<std::uint32_t> all(set.data.tasks());
    for (std::uint32_t t = 0; t < all.size(); ++t) all[t] = t;
    return augur::tlp::records_of(set.data, set.on(platform, all));
}

std::string table_1(const table_world& world) {
    // the paper's order and numbers; kinds that it does not have follow
    std::vector<std::pair<std::string, std::size_t>> kinds{{"RE", 40}, {"FU", 22}, {"SP", 18},  {"FSP", 15}, {"CA", 14}, {"AN", 14},
                                                           {"RF", 14}, {"PR", 14}, {"CHW", 13}, {"CR", 12},  {"CI", 12}};
    std::vector<std::map<std::string, std::size_t>> longest;
    std::vector<std::vector<std::string>> rows{{"kind", "paper (CPU)"}};
    for (const table_data& set : world.sets)
        for (const std::string& platform : set.platforms) {
            rows[0].push_back(platform);
            auto& most = longest.emplace_back();
            std::vector<bool> used(set.data.primitives().size());
            for (const std::uint32_t r : records_on(set, platform))
                for (const augur::primitive_id id : set.data.schedule(r)) used[id] = true;
            for (augur::primitive_id id = 0; id < used.size(); ++id) {
                if (!used[id]) continue;
                item_counter counter;
                set.data.primitives().visit(id, counter);
                const std::string kind(set.data.primitives().kind(id));
                auto& here = most[kind];
                here = (std::max)(here, 11 + counter.items);
                if (std::none_of(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == kind; })) kinds.emplace_back(kind, 0);
            }
        }
    for (const auto& [kind, paper] : kinds) {
        auto& row = rows.emplace_back(std::vector<std::string>{kind, paper > 0 ? std::to_string(paper) : "-"});
        for (const auto& most : longest) row.push_back(most.count(kind) > 0 ? std::to_string(most.at(kind)) : "-");
    }
    return table_text(rows);
}

/// How many different sequences there are of `count` many that `ids_of(record, out)` writes.
template <class Ids>
std::size_t different(const std::vector<std::uint32_t>& records, Ids&& ids_of) {
    std::unordered_set<std::uint64_t> seen;
    std::vector<std::uint32_t> ids;
    for (const std::uint32_t r : records) {
        ids.clear();
        ids_of(r, ids);
        seen.insert(augur::fnv1a64({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ids[0])}));
    }
    return seen.size();
}

std::string repetition(const table_world& world) {
    std::vector<std::vector<std::string>> rows{
        {"", "programs", "sequences", "repeated", "of rows x columns", "different", "repeated", "primitives", "different", "share"},
        {"paper, CPU", "8650000", "8560000", "1.0430 %", "25 x 22", "8530000", "1.4034 %", "-", "-", "-"}};
    for (const table_data& set : world.sets) {
        const augur::dataset_report& report = set.data.report();
        for (const std::string& platform : set.platforms) {
            const auto records = records_on(set, platform);
            const augur::tlp::schema faithful = faithful_schema(platform != "x86-24core" && platform != "own");
            const augur::tlp::row_table table(faithful, set.data.primitives());
            std::size_t primitives = 0;
            std::unordered_set<augur::primitive_id> kinds;
            const auto whole = different(records, [&](std::uint32_t r, std::vector<std::uint32_t>& ids) {
                const auto s = set.data.schedule(r);
                ids.assign(s.begin(), s.end());
                primitives += s.size();
                kinds.insert(s.begin(), s.end());
            });
            const auto cropped = different(records, [&](std::uint32_t r, std::vector<std::uint32_t>& ids) {
                const auto s = set.data.schedule(r);
                for (std::size_t i = 0; i < (std::min)(s.size(), faithful.rows); ++i) ids.push_back(table.row(s[i]));
            });
            const auto share = [&](std::size_t part) {
                return text_of("%.4f %%", 100 * (1 - static_cast<double>(part) / static_cast<double>((std::max)(records.size(), std::size_t{1}))));
            };
            rows.push_back(
                {platform, std::to_string(records.size()), std::to_string(whole), share(whole),
                 std::to_string(faithful.rows) + " x " + std::to_string(faithful.columns), std::to_string(cropped), share(cropped),
                 std::to_string(primitives), std::to_string(kinds.size()),
                 text_of("%.3f %%", 100 * static_cast<double>(kinds.size()) / static_cast<double>((std::max)(primitives, std::size_t{1})))});
        }
        rows.push_back({"  these logs", std::to_string(report.added), "", "", "", "", "", "", "", ""});
        rows.back()[1] = std::to_string(report.added);
        rows.back()[2] = "less " + std::to_string(report.merged) + " equal";
        rows.back()[3] =
            text_of("%.4f %%", 100 * static_cast<double>(report.merged) / static_cast<double>((std::max)(report.added, std::uint64_t{1})));
    }
    return table_text(rows) +
           "Programs of a platform are those left after equal sequences of one task were merged; the lines below say how many those were.\n";
}

augur::result<std::string> figure_6(const table_world& world, const std::string& folder) {
    curve_chart drawn{"Figure 6: lengths of schedules", {"primitives of a schedule"}, {"records", false, 0}, true, {}};
    std::vector<std::vector<std::string>> rows{
        {"platform", "most frequent length", "its records", "median", "longest", "longer than 25", "longer than 54"},
        {"paper, CPU", "21", "1807960", "-", "54", "-", "0.0 %"}};
    for (const table_data& set : world.sets)
        for (const std::string& platform : set.platforms) {
            std::map<std::size_t, std::size_t> count;
            std::size_t all = 0;
            for (const std::uint32_t r : records_on(set, platform)) ++count[set.data.schedule(r).size()], ++all;
            if (all == 0) continue;
            auto most = count.begin();
            std::size_t median = 0, below = 0;
            std::array<std::size_t, 2> beyond{};
            chart_curve curve{platform, series_look(drawn.curves.size()), {}};
            for (auto at = count.begin(); at != count.end(); ++at) {
                if (at->second > most->second) most = at;
                if (2 * below < all) median = at->first;
                below += at->second;
                if (at->first > 25) beyond[0] += at->second;
                if (at->first > 54) beyond[1] += at->second;
            }
            for (std::size_t length = 0; length <= count.rbegin()->first + 1; ++length) { // a length is as wide as 1
                const auto at = count.find(length);
                curve.points.push_back({static_cast<double>(length) - 0.5, at == count.end() ? 0.0 : static_cast<double>(at->second)});
            }
            drawn.curves.push_back(std::move(curve));
            const auto share = [&](std::size_t n) { return text_of("%.1f %%", 100 * static_cast<double>(n) / static_cast<double>(all)); };
            rows.push_back({platform, std::to_string(most->first), std::to_string(most->second), std::to_string(median),
                            std::to_string(count.rbegin()->first), share(beyond[0]), share(beyond[1])});
        }
    if (!folder.empty())
        if (auto written = augur::replace_file(folder + "/figure-6.svg", to_svg(std::span(&drawn, 1), 1)); !written) return written.error();
    return table_text(rows);
}

std::vector<double> values_of(const shown_cell& c, double top_scores::* which) {
    std::vector<double> out;
    for (const auto& [seed, score] : c.seeds) out.push_back(score.together.*which);
    return out;
}

} // namespace

augur::result<std::string> print_statistics(std::string_view id, const table_world& world, const std::string& folder) {
    if (id == "1") return table_1(world);
    if (id == "repetition") return repetition(world);
    if (id == "figure-6") return figure_6(world, folder);
    return std::string();
}

std::string print_table(const table_info& table, const std::vector<shown_cell>& cells, const std::vector<table_margin>& margins,
                        const table_budget& budget) {
    std::vector<std::vector<std::string>> rows{{"", "paper top-1", "top-5", "top-1", "top-5", "seeds", "samples", "epochs", "s a seed"}};
    std::vector<std::string> notes;
    std::size_t without = 0;
    for (const shown_cell& c : cells) {
        auto& row = rows.emplace_back(
            std::vector<std::string>{c.cell->row + (c.cell->full ? " *" : ""), score_text(c.cell->paper.top_1), score_text(c.cell->paper.top_5)});
        if (!c.why_not.empty()) notes.push_back(c.cell->row + ": " + c.why_not);
        if (!c.cell->note.empty()) notes.push_back(c.cell->row + ": " + c.cell->note);
        if (c.seeds.empty()) {
            row.resize(rows[0].size(), "-");
            continue;
        }
        double seconds = 0;
        for (const auto& [seed, s] : c.seeds) {
            seconds += s.seconds / static_cast<double>(c.seeds.size());
            without = (std::max)(without, s.without_record);
        }
        const cell_score& first = c.seeds.begin()->second;
        for (auto& text : {mean_text(values_of(c, &top_scores::top_1)), mean_text(values_of(c, &top_scores::top_5)), std::to_string(c.seeds.size()),
                           first.samples > 0 ? std::to_string(first.samples) : std::string("-"),
                           first.epochs > 0 ? std::to_string(first.epochs) : std::string("-"), text_of(seconds < 10 ? "%.1f" : "%.0f", seconds)})
            row.push_back(text);
    }
    std::string out = table_text(rows);

    std::vector<std::string> networks;
    for (const shown_cell& c : cells)
        for (const auto& [seed, s] : c.seeds)
            for (const auto& [name, top] : s.networks)
                if (std::find(networks.begin(), networks.end(), name) == networks.end()) networks.push_back(name);
    if (!networks.empty()) {
        std::vector<std::vector<std::string>> by_network{{"top-1, top-5 by network"}};
        by_network[0].insert(by_network[0].end(), networks.begin(), networks.end());
        for (const shown_cell& c : cells) {
            std::vector<std::string> row{c.cell->row};
            bool any = false;
            for (const std::string& network : networks) {
                std::vector<double> one, five;
                for (const auto& [seed, s] : c.seeds)
                    for (const auto& [name, top] : s.networks)
                        if (name == network) one.push_back(top.top_1), five.push_back(top.top_5);
                any = any || !one.empty();
                row.push_back(score_text(mean_of(one)) + " " + score_text(mean_of(five)));
            }
            if (any) by_network.push_back(std::move(row));
        }
        out += "\n" + table_text(by_network);
    }

    std::vector<std::vector<std::string>> differences{{"margin", "top-1", "top-5", "counts"}};
    for (const table_margin& m : margins) {
        if (m.table != table.id) continue;
        const auto find = [&](const std::string& row) {
            return std::find_if(cells.begin(), cells.end(), [&](const shown_cell& c) { return c.cell->row == row; });
        };
        const auto a = find(m.row), b = find(m.minus);
        if (a == cells.end() || b == cells.end() || b->seeds.empty()) continue;
        std::vector<double> one, five;
        for (const auto& [seed, s] : a->seeds) {
            // what has one seed stands for all
            const auto other = b->cell->method == table_method::median_pick ? b->seeds.begin() : b->seeds.find(seed);
            if (other == b->seeds.end()) continue;
            one.push_back(s.together.top_1 - other->second.together.top_1);
            five.push_back(s.together.top_5 - other->second.together.top_5);
        }
        if (one.empty()) continue;
        const auto counts = [](const std::vector<double>& d) {
            const auto mean = arithmetic(d);
            return mean.count > 1 && (mean.low > 0 || mean.high < 0);
        };
        differences.push_back({m.row + " - " + m.minus, mean_text(one), mean_text(five),
                               std::string(counts(one) ? "top-1" : "") + (counts(one) && counts(five) ? ", " : "") + (counts(five) ? "top-5" : "")});
    }
    if (differences.size() > 1) out += "\n" + table_text(differences);

    const auto number = [](std::size_t n, const char* all) { return n == 0 ? std::string(all) : std::to_string(n); };
    out += "+- is half of the 95 % interval over seeds; a margin counts when its interval leaves out 0.\n";
    out +=
        text_of("At most %zu records a platform and %zu epochs (up to %zu where records are few)", budget.records, budget.epochs, 5 * budget.epochs) +
        "; rows with *: " + number(budget.full_records, "all") + " records, " + number(budget.full_epochs, "the recipe's") + " epochs.\n";
    if (budget.narrower > 1) out += text_of("Networks have 1/%zu of the widths.\n", budget.narrower);
    if (budget.batch > 0) out += text_of("Batches of %zu.\n", budget.batch);
    if (without > 0) out += text_of("Up to %zu hold-out tasks of a platform have no valid record and leave both sums.\n", without);
    std::vector<std::string> named;
    for (const shown_cell& c : cells)
        for (const auto& [seed, s] : c.seeds)
            for (const std::string& task : s.without_nest)
                if (std::find(named.begin(), named.end(), task) == named.end()) named.push_back(task);
    if (!named.empty()) {
        out += text_of("%zu hold-out tasks are left out of the rows on loop nests:\n", named.size());
        for (std::string& task : named) {
            for (char& c : task)
                if (c < ' ' || c == 127) c = '?'; // of a log: safe to show, and whole, for names differ at their ends
            out += "  " + task + "\n";
        }
    }
    for (const std::string& n : notes) out += n + ".\n";
    return out;
}

augur::result<void> write_figure_9(const std::string& folder, const std::vector<shown_cell>& cells) {
    curve_chart drawn{"Figure 9: records of the target", {"records of the target that are trained on", true}, {"top-1"}, false, {}};
    for (const char* name : {"alone", "with k80"}) drawn.curves.push_back({name, series_look(drawn.curves.size()), {}});
    std::map<double, double> records; // of the target, by share: those of the cells with the target alone
    for (const shown_cell& c : cells)
        if (c.cell->heads.size() == 1 && !c.seeds.empty()) records[c.cell->heads[0].share] = static_cast<double>(c.seeds.begin()->second.samples);
    for (const shown_cell& c : cells) {
        if (c.seeds.empty() || records.count(c.cell->heads[0].share) == 0) continue;
        drawn.curves[c.cell->heads.size() - 1].points.push_back({records[c.cell->heads[0].share], mean_of(values_of(c, &top_scores::top_1))});
    }
    return augur::replace_file(folder + "/figure-9.svg", to_svg(std::span(&drawn, 1), 1));
}

} // namespace examples
