// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of Transfer-Tuning (Gibson and Cano, PACT 2022) that follow from its table 2 alone: which network each network takes schedules from, and how
// many pairs of kernel and schedule that is. Ends with 1 where a number is not the one that the paper prints. With --search, tables 1 to 4 for other
// networks, with --figures the figures, from what was measured of these. Measures nothing.
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/record/replace_file.hpp>
#include <augur/transfer/source_ranking.hpp>

#include "chart.hpp"
#include "console.hpp"
#include "figures.hpp"
#include "flags.hpp"
#include "networks.hpp"
#include "program.hpp"

namespace {

namespace transfer = augur::transfer;

/// A row of table 2, and of table 3: the choices of the heuristic with the speed-ups that the paper measured; 0: it prints a dash.
struct paper_network {
    std::string name;
    std::vector<transfer::class_share> classes;
    std::string tuning_model;
    std::array<std::size_t, 3> choices; ///< M1 to M10
    std::array<double, 3> speedups;
    std::size_t measurements; ///< that the text prints; 0: none
};

const std::vector<paper_network>& paper_networks() {
    static const std::vector<paper_network> table{
        {"ResNet50",
         {{"A", 4, 0.17}, {"B", 1, 0.00}, {"C", 1, 0.00}, {"D", 1, 0.06}, {"E", 16, 0.67}, {"G", 4, 0.10}},
         "GoogLeNet",
         {7, 8, 3},
         {1.16, 1.0, 1.09},
         0},
        {"AlexNet", {{"B", 3, 0.00}, {"D", 1, 0.06}, {"E", 5, 0.14}, {"H", 2, 0.80}, {"I", 1, 0.00}}, "VGG-16", {3, 7, 1}, {4.6, 1.05, 1.03}, 0},
        {"VGG-16", {{"B", 5, 0.00}, {"D", 1, 0.01}, {"E", 9, 0.59}, {"H", 2, 0.40}, {"I", 1, 0.00}}, "GoogLeNet", {7, 1, 8}, {1.19, 1.0, 1.0}, 0},
        {"MobileNetV2",
         {{"A", 7, 0.15}, {"C", 1, 0.00}, {"D", 1, 0.24}, {"J", 8, 0.32}, {"K", 5, 0.15}, {"L", 10, 0.14}},
         "EfficientNetB4",
         {6, 5, 8},
         {1.2, 1.21, 1.19},
         0},
        {"EfficientNetB0",
         {{"A", 14, 0.09}, {"C", 11, 0.04}, {"D", 1, 0.12}, {"K", 5, 0.09}, {"M", 8, 0.39}, {"N", 12, 0.27}, {"O", 7, 0.00}},
         "EfficientNetB4",
         {6, 4, 8},
         {1.23, 1.08, 1.09},
         764},
        {"EfficientNetB4",
         {{"A", 16, 0.11}, {"C", 13, 0.03}, {"D", 1, 0.10}, {"K", 7, 0.14}, {"M", 9, 0.39}, {"N", 14, 0.23}, {"O", 9, 0.00}},
         "EfficientNetB0",
         {5, 4, 8},
         {1.13, 1.04, 1.03},
         775},
        {"GoogLeNet", {{"B", 10, 0.01}, {"C", 1, 0.00}, {"D", 1, 0.04}, {"E", 49, 0.95}}, "ResNet50", {1, 3, 8}, {1.15, 1.04, 1.0}, 0},
        {"MnasNet1.0",
         {{"A", 7, 0.17}, {"D", 1, 0.25}, {"E", 9, 0.31}, {"K", 5, 0.15}, {"P", 12, 0.13}},
         "GoogLeNet",
         {7, 1, 3},
         {1.26, 1.25, 1.18},
         0},
        {"BERT",
         {{"D", 1, 0.00}, {"Q", 3, 0.98}, {"R", 2, 0.02}, {"S", 1, 0.00}, {"T", 1, 0.00}, {"U", 1, 0.00}, {"V", 1, 0.00}},
         "MobileBERT",
         {10, 0, 0},
         {59, 0, 0},
         0},
        {"MobileBERT", {{"D", 1, 0.00}, {"Q", 4, 0.97}, {"R", 2, 0.03}, {"S", 1, 0.00}}, "BERT", {9, 0, 0}, {13, 0, 0}, 0}};
    return table;
}

/// Table 4, and section 5.2: percent of the speed-up and of the time of Ansor's full search; how many times as long Ansor needs for the same speed.
struct paper_result {
    const char* network;
    double speedup_percent, time_percent, ansor_time;
};
constexpr std::array paper_results{paper_result{"ResNet18", 49.2, 0.48, 4.8},         paper_result{"ResNet50", 40.65, 2.91, 1.8},
                                   paper_result{"AlexNet", 71.54, 0.64, 3.1},         paper_result{"VGG-16", 17.69, 1.41, 2.6},
                                   paper_result{"MobileNetV2", 29.16, 1.1, 4.2},      paper_result{"EfficientNetB0", 80.14, 5.34, 2.15},
                                   paper_result{"EfficientNetB4", 52.35, 6.41, 2.23}, paper_result{"GoogLeNet", 48.0, 2.0, 5.3},
                                   paper_result{"MnasNet1.0", 44.18, 2.4, 2.5},       paper_result{"BERT", 88.41, 0.08, 33},
                                   paper_result{"MobileBERT", 18.96, 0.1, 10}};

std::string pair_text(const transfer::pair_counts& c) { return std::to_string(c.pairs) + " + " + std::to_string(c.kernels); }

/// Prints the table of one rule.   @return  the numbers that are not the paper's
std::size_t print_sources(transfer::source_rule rule) {
    const auto& networks = paper_networks();
    std::size_t wrong = 0;
    std::vector<std::vector<std::string>> rows{
        {"target", "choice 1", "2", "3", "paper's", "pairs + kernels", "paper's", "time of kernels with a class"}};
    for (std::size_t t = 0; t < networks.size(); ++t) {
        std::vector<std::size_t> others;
        std::vector<std::span<const transfer::class_share>> sources;
        for (std::size_t i = 0; i < networks.size(); ++i) {
            if (i == t) continue;
            others.push_back(i);
            sources.emplace_back(networks[i].classes);
        }
        const auto ranking = transfer::rank_sources(networks[t].classes, sources, rule);
        std::vector<std::string> row{networks[t].name};
        std::string printed;
        for (std::size_t place = 0; place < 3; ++place) {
            const auto& r = ranking[place];
            row.push_back(r.tied ? "tie" : networks[others[r.source]].name);
            const auto choice = networks[t].choices[place];
            wrong += choice == 0 ? (r.tied ? 0 : 1) : (others[r.source] + 1 == choice ? 0 : 1);
            printed += (printed.empty() ? "" : ", ") + (choice == 0 ? "-" : "M" + std::to_string(choice));
        }
        const auto& first = networks[others[ranking[0].source]];
        wrong += first.name == networks[t].tuning_model ? 0 : 1;
        const auto counts = transfer::count_pairs(networks[t].classes, first.classes);
        if (networks[t].measurements != 0) wrong += counts.measurements() == networks[t].measurements ? 0 : 1;
        row.push_back(printed);
        row.push_back(pair_text(counts));
        row.push_back(networks[t].measurements == 0 ? "-" : std::to_string(networks[t].measurements));
        row.push_back(examples::text_of("%.0f %%", 100 * counts.transferable_share));
        rows.push_back(std::move(row));
    }
    std::printf("%s", examples::table_text(rows).c_str());
    return wrong;
}

/// Prints all tables.   @return  the numbers that are not the paper's
std::size_t print_tables() {
    std::printf("Which network to take schedules from, by equation 1, P^2 sqrt(W):\n\n");
    std::size_t wrong = print_sources(transfer::source_rule::square_root);
    std::printf("\nThe same by P^2 W, which the paper's tables cannot tell from equation 1:\n\n");
    wrong += print_sources(transfer::source_rule::linear);

    double speedup = 0, time = 0, ansor = 0;
    for (const auto& r : paper_results) {
        speedup += r.speedup_percent / static_cast<double>(paper_results.size());
        time += r.time_percent / static_cast<double>(paper_results.size());
        ansor += r.ansor_time / static_cast<double>(paper_results.size());
    }
    const std::vector<std::vector<std::string>> means{
        {"mean over eleven networks, as the paper measured them", "of its rows", "printed"},
        {"percent of the speed-up of Ansor's full search", examples::text_of("%.3f", speedup), "49.12 (49.13 in the abstract)"},
        {"percent of its search time", examples::text_of("%.3f", time), "2.08"},
        {"times as long as transfer-tuning, for Ansor to be as fast", examples::text_of("%.3f", ansor), "6.5"}};
    wrong += examples::text_of("%.3f %.3f %.3f", speedup, time, ansor) == "49.116 2.079 6.516" ? 0 : 1;
    std::printf("\n%s\n%zu numbers are not the paper's.\n", examples::table_text(means).c_str(), wrong);
    return wrong;
}

struct wishes {
    std::string figures;                                       ///< folder; empty: none
    std::vector<std::string> results, elsewhere, lengths;      ///< files
    std::vector<std::pair<std::string, std::string>> searches, ///< network, log
        pairs;
};

augur::result<bool> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    bool help = false;
    const auto add_logs = [&](const char* name, const char* text, std::vector<std::pair<std::string, std::string>>& to) {
        flags.add(
            name, "NETWORK=LOG", text,
            [&to](std::string_view given) -> augur::result<void> {
                const auto split = given.rfind('='); // a network may have parameters
                if (split == std::string_view::npos || split == 0 || split + 1 == given.size())
                    return augur::error{augur::errc::invalid_argument, "expected NETWORK=LOG, got '" + examples::shown(given) + "'"};
                to.emplace_back(given.substr(0, split), given.substr(split + 1));
                return {};
            },
            true);
    };
    flags.add_text("figures", "FOLDER", "write the figures as SVG, from the files that the flags below name", w.figures);
    flags.add_texts("results", "FILE", "what `transfer --results` wrote; may be given again", w.results);
    flags.add_texts("elsewhere", "FILE", "the same of `transfer --other-machines`, for Figure 6; may be given again", w.elsewhere);
    flags.add_texts("lengths", "FILE", "the same of networks with schedules of the same network at another length, for Figure 7; may be given again",
                    w.lengths);
    add_logs("search", "log of a long search of a network by `tune`; may be given again. Without --figures: print tables 1 to 4 of these networks",
             w.searches);
    add_logs("pairs", "log of a network by `transfer --by all`; may be given again", w.pairs);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) std::printf("usage: transfer_tables [flags]\n\n%s", flags.help().c_str());
    else if (!w.figures.empty() && w.results.empty() && w.elsewhere.empty() && w.lengths.empty() && w.searches.empty() && w.pairs.empty())
        return augur::error{augur::errc::invalid_argument, "--figures: expected --results, --elsewhere, --lengths, --search or --pairs with it"};
    else if (w.figures.empty() && w.searches.empty() && !(w.results.empty() && w.elsewhere.empty() && w.lengths.empty() && w.pairs.empty()))
        return augur::error{augur::errc::invalid_argument, "expected --search for tables, or --figures"};
    else if (w.figures.empty() && !(w.elsewhere.empty() && w.lengths.empty() && w.pairs.empty()))
        return augur::error{augur::errc::invalid_argument, "--elsewhere, --lengths and --pairs are for figures: expected --figures with them"};
    return !help;
}

augur::result<void> write_figures(const wishes& w) {
    transfer_figures::figure_data data;
    for (auto [files, results] :
         {std::pair(&w.results, &data.results), std::pair(&w.elsewhere, &data.elsewhere), std::pair(&w.lengths, &data.lengths)})
        for (const auto& path : *files) {
            auto read = examples::read_results(path);
            if (!read) return read.error();
            results->insert(results->end(), read->begin(), read->end());
        }
    for (auto [names, logs] : {std::pair(&w.searches, &data.searches), std::pair(&w.pairs, &data.pairs)})
        for (const auto& [network, path] : *names) {
            auto read = transfer_figures::read_network_log(network, path);
            if (!read) return read.error();
            logs->push_back(*std::move(read));
        }
    const auto figures = transfer_figures::draw(data);
    if (figures.empty()) return augur::error{augur::errc::not_found, "expected results or logs of which a figure can be drawn, found none"};
    std::error_code wrong;
    std::filesystem::create_directories(w.figures, wrong);
    if (wrong) return augur::error{augur::errc::io, w.figures + ": " + wrong.message()};
    for (const auto& figure : figures) {
        const auto path = w.figures + "/" + figure.name + ".svg";
        if (auto written = augur::replace_file(path, examples::to_svg(figure.chart)); !written) return written;
        std::printf("figure  %s\n", path.c_str());
    }
    return {};
}

augur::result<void> print_networks(const wishes& w) {
    std::vector<transfer_figures::named_log> logs;
    std::vector<examples::transfer_result> results;
    for (const auto& [network, path] : w.searches) {
        auto read = transfer_figures::read_network_log(network, path);
        if (!read) return read.error();
        logs.push_back({std::filesystem::path(path).stem().string(), *std::move(read)});
    }
    for (const auto& path : w.results) {
        auto read = examples::read_results(path);
        if (!read) return read.error();
        results.insert(results.end(), read->begin(), read->end());
    }
    const auto tables = transfer_figures::tables_of(logs, results);
    if (!tables) return tables.error();
    for (const auto& t : *tables) std::printf("%s\n\n%s\n", t.title.c_str(), examples::table_text(t.rows).c_str());
    return {};
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w);
    if (!go) return examples::complain("transfer_tables", go.error(), examples::misuse);
    if (!*go) return examples::done;
    if (!w.figures.empty() || !w.searches.empty()) {
        if (auto written = w.figures.empty() ? print_networks(w) : write_figures(w); !written)
            return examples::complain("transfer_tables", written.error(), examples::failed);
        return examples::done;
    }
    return print_tables() == 0 ? examples::done : examples::failed;
}
