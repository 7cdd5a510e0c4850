// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of the TLP paper for the logs at hand, beside the paper's numbers.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <augur/target/machine.hpp>

#include "flags.hpp"
#include "program.hpp"
#include "tables.hpp"

namespace {

using augur::errc;
using augur::error;
using augur::result;

struct wishes {
    examples::table_source from{"", {}, "tlp_tables.cache", false, examples::default_test_networks()};
    examples::table_budget budget;
    std::vector<std::string> tables, rows; ///< none: all
    std::string figures;
    std::size_t threads = 0;
    bool quick = false, list = false, printed_only = false;
};

/// "40000x10", or "40000": records x epochs; 0 is all there are.
result<void> read_budget(std::string_view text, std::size_t& records, std::size_t& epochs) {
    const auto cross = text.find('x');
    const auto r = augur::parse_int(text.substr(0, cross));
    const auto e =
        cross == std::string_view::npos ? std::optional<std::int64_t>(static_cast<std::int64_t>(epochs)) : augur::parse_int(text.substr(cross + 1));
    if (!r || !e || *r < 0 || *e < 0 || *r > 1'000'000'000 || *e > 100'000)
        return error{errc::invalid_argument, "expected records x epochs, such as 40000x10, got '" + examples::shown(text) + "'"};
    records = static_cast<std::size_t>(*r);
    epochs = static_cast<std::size_t>(*e);
    return {};
}

/// @return true: go on
result<bool> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    bool help = false;
    std::vector<std::string> names;
    for (const auto& t : examples::all_tables()) names.push_back(t.id);
    flags.add(
        "table", "ID", "one table, may be given again: 1 repetition figure-6 3 4 6.1.3 5 6 7 8 9 figure-9 ablation;\ndefault: all",
        [&](std::string_view text) -> result<void> {
            const std::string id(text == "6" || text == "7" ? "6-7" : text);
            if (std::find(names.begin(), names.end(), id) == names.end())
                return error{errc::invalid_argument, "there is no table '" + examples::shown(text) + "'"};
            w.tables.push_back(id);
            return {};
        },
        true);
    flags.add_texts("cells", "TEXT", "only rows whose name has TEXT in it; may be given again", w.rows);
    flags.add_data_folder("ansor-x86-24core/ and ansor-gpu/", w.from.data);
    flags.add_texts("own", "FILE", "a log of another CPU, e.g. of tune --collect; may be given again", w.from.own);
    flags.add("test-networks", "NAME,NAME...", "logs by name whose tasks are the test; default resnet_50,mobilenet_v2,resnext_50",
              [&](std::string_view text) -> result<void> {
                  w.from.test_networks.clear();
                  while (!text.empty()) {
                      const auto comma = (std::min)(text.find(','), text.size());
                      const std::string name(text.substr(0, comma));
                      if (name.empty()) return error{errc::invalid_argument, "expected names with commas between them"};
                      if (std::find(w.from.test_networks.begin(), w.from.test_networks.end(), name) == w.from.test_networks.end())
                          w.from.test_networks.push_back(name);
                      text.remove_prefix((std::min)(comma + 1, text.size()));
                  }
                  if (w.from.test_networks.empty()) return error{errc::invalid_argument, "expected at least one name"};
                  return {};
              });
    flags.add_text("cache", "FOLDER", "data sets, results and checkpoints; default tlp_tables.cache", w.from.cache);
    flags.add("budget", "RECORDSxEPOCHS", "of a cell; default 40000x10", [&](std::string_view text) -> result<void> {
        if (auto read = read_budget(text, w.budget.records, w.budget.epochs); !read) return read;
        if (w.budget.records < 2 || w.budget.epochs < 1) return error{errc::invalid_argument, "expected at least 2 records and 1 epoch"};
        return {};
    });
    flags.add("full-budget", "RECORDSxEPOCHS", "of a cell at full size (default and faithful in table 5); 0 is all; default 0x0",
              [&](std::string_view text) { return read_budget(text, w.budget.full_records, w.budget.full_epochs); });
    flags.add_number("seeds", "N", "of a cell; default 3", w.budget.seeds, 1, 1000);
    flags.add_number("full-seeds", "N", "of a cell at full size; default 5", w.budget.full_seeds, 1, 1000);
    flags.add_text("figures", "FOLDER", "write figures 6 and 9 as SVG", w.figures);
    flags.add_number("threads", "N", "default: all processors", w.threads, 1, 1024);
    flags.add_switch("strict", "stop at the first bad line of a log; default: bad lines are counted and reported", w.from.strict);
    flags.add_switch("list", "name the cells and which are done; compute nothing", w.list);
    flags.add_switch("print", "print what is done; compute nothing", w.printed_only);
    flags.add_switch("quick", "on small made-up logs, with small budgets, batches of 64 and a quarter of the widths", w.quick);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf("usage: tlp_tables [flags]\n\n%s\nA cell that was computed is kept in the cache; a run that was killed goes on.\n"
                    "Exit code: 0 done, 1 it failed on the way, 2 wrong flags or no data, 130 interrupted (Ctrl-C).\n",
                    flags.help().c_str());
        return false;
    }
    if (w.quick) {
        if (flags.given("data") || flags.given("own"))
            return error{errc::invalid_argument, "--quick makes its own logs: it does not go with --data and --own"};
        w.budget.narrower = 4;
        if (!flags.given("cache")) w.from.cache = "tlp_tables.quick";
        w.budget.batch = 64;
        if (!flags.given("budget")) w.budget.records = 300, w.budget.epochs = 6;
        if (!flags.given("full-budget")) w.budget.full_records = 600, w.budget.full_epochs = 12;
        if (!flags.given("seeds")) w.budget.seeds = 1;
        if (!flags.given("full-seeds")) w.budget.full_seeds = 2;
    }
    return true;
}

bool wanted(const wishes& w, const examples::table_cell& c) {
    return w.rows.empty() || std::any_of(w.rows.begin(), w.rows.end(), [&](const std::string& r) { return c.row.find(r) != std::string::npos; });
}

std::string facts(const examples::table_world& world, bool made_up, int argc, char** argv) {
    const augur::machine on = augur::detect_machine();
    std::string out = "command   tlp_tables";
    for (int i = 1; i < argc; ++i) out += std::string(" ") + argv[i];
    char day[32] = "";
    const std::time_t now = std::time(nullptr);
    if (std::tm parts{}; ::gmtime_r(&now, &parts) != nullptr) std::strftime(day, sizeof day, "%Y-%m-%d", &parts);
    out += "\nmachine   " + on.cpu_name + ", " + std::to_string(on.processors) + " processors\ndate      " + day + "\n";
    if (made_up) out += "logs      made up: the numbers below show that the programs work, and nothing else\n";
    for (const auto& set : world.sets) {
        const augur::dataset_report& r = set.data.report();
        std::string names;
        for (const std::string& p : set.platforms) {
            const std::size_t held = set.test(p).size();
            names += (names.empty() ? "" : ", ") + p + " (" + std::to_string(held) + " tasks held out)";
        }
        out += "data      " + names + ": " + std::to_string(set.data.tasks()) + " tasks, " + std::to_string(r.records) + " records (" +
               std::to_string(r.failed) + " failed), " + std::to_string(r.primitives) + " primitives, " +
               examples::text_of("%.0f bytes a record", r.bytes_a_record()) + "\n";
    }
    return out;
}

int run(const wishes& given, int argc, char** argv) {
    const auto complain = [](const error& why, int code) { return examples::complain("tlp_tables", why, code); };
    wishes w = given;
    examples::catch_signals();
    if (w.quick) {
        w.from.data = w.from.cache + "/logs";
        std::error_code none;
        if (!std::filesystem::exists(w.from.data, none))
            if (auto made = examples::write_quick_logs(w.from.data, 60); !made) return complain(made.error(), examples::failed);
    }
    examples::executor threads = examples::make_executor(w.threads);
    const auto world = examples::load_tables(w.from, threads);
    if (!world) return complain(world.error(), examples::misuse);
    if (!w.figures.empty()) {
        std::error_code wrong;
        std::filesystem::create_directories(w.figures, wrong);
        if (wrong) return complain({errc::io, w.figures + ": " + wrong.message()}, examples::misuse);
    }
    std::printf("%s", facts(*world, w.quick, argc, argv).c_str());
    examples::cell_runner runner(*world, w.budget, w.from.cache, threads);
    if (auto opened = runner.open(); !opened) return complain(opened.error(), examples::failed);
    const auto cells = examples::all_cells(*world);
    const auto margins = examples::all_margins(*world);
    const auto in_table = [&](const std::string& id) {
        return w.tables.empty() || std::find(w.tables.begin(), w.tables.end(), id) != w.tables.end();
    };

    std::size_t total = 0, at = 0;
    for (const auto& c : cells)
        if (in_table(c.table) && wanted(w, c)) total += runner.seeds_of(c);
    examples::progress_line progress;
    for (const auto& table : examples::all_tables()) {
        if (!in_table(table.id)) continue;
        std::vector<examples::shown_cell> shown;
        for (auto cell = cells.begin(); cell != cells.end(); ++cell) {
            if (cell->table != table.id || !wanted(w, *cell)) continue;
            auto& one = shown.emplace_back(examples::shown_cell{&*cell, {}, runner.missing_here(*cell)});
            for (std::uint64_t seed = 1; seed <= runner.seeds_of(*cell); ++seed) {
                ++at;
                if (w.list || w.printed_only) {
                    if (auto done = runner.known(*cell, seed)) one.seeds.emplace(seed, *done);
                    continue;
                }
                const std::string label =
                    std::to_string(at) + " of " + std::to_string(total) + ", table " + table.id + ", " + cell->row + ", seed " + std::to_string(seed);
                auto score = runner.run(*cell, seed, progress, label);
                progress.clear();
                if (score) {
                    one.seeds.emplace(seed, *std::move(score));
                } else if (score.error().code == errc::interrupted) {
                    std::fprintf(stderr, "stopped at cell %s; the same command goes on\n", label.c_str());
                    return examples::interrupted;
                } else if (score.error().code == errc::unsupported || score.error().code == errc::not_found) {
                    one.why_not = score.error().detail;
                    break;
                } else {
                    return complain(score.error(), examples::failed);
                }
                if (examples::stop_requested().load()) return examples::interrupted;
            }
        }
        std::printf("\n%s\n\n", table.title.c_str());
        if (w.list) {
            for (const auto& c : shown)
                std::printf("%s: %zu of %zu seeds%s%s\n", c.cell->row.c_str(), c.seeds.size(), runner.seeds_of(*c.cell),
                            c.why_not.empty() ? "" : "; ", c.why_not.c_str());
            continue;
        }
        const auto statistics = examples::print_statistics(table.id, *world, w.figures);
        if (!statistics) return complain(statistics.error(), examples::failed);
        std::printf("%s", statistics->c_str());
        if (!shown.empty()) std::printf("%s", examples::print_table(table, shown, margins, w.budget).c_str());
        if (table.id == "figure-9" && !w.figures.empty())
            if (auto drawn = examples::write_figure_9(w.figures, shown); !drawn) return complain(drawn.error(), examples::failed);
        std::fflush(stdout);
    }
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    const auto read = read_flags({argv + 1, static_cast<std::size_t>(argc - (argc > 0 ? 1 : 0))}, w);
    if (!read) return examples::complain("tlp_tables", read.error(), examples::misuse);
    return *read ? run(w, argc, argv) : examples::done;
}
