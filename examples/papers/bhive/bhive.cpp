// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pipeline simulator of Crop on basic blocks whose throughput was measured (BHive): rank correlation and error, beside llvm-mca.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/io/byte_source.hpp>
#include <augur/program/pipeline/blocks.hpp>
#include <augur/target/find_machine.hpp>
#include <augur/target/uops_info.hpp>

#include "bhive.hpp"
#include "console.hpp"
#include "flags.hpp"

namespace {

using augur::errc;
using augur::error;
using augur::result;
using examples::text_of;

enum : int { done = 0, failed = 1, misuse = 2 };

struct wishes {
    std::string blocks, machine = "xeon-gold-5220r", uops, mca;
    std::size_t most = std::numeric_limits<std::size_t>::max(), worst = 0;
    double fetch = 16;
};

result<std::string> whole_file(const std::string& path) {
    auto source = augur::byte_source::open(path);
    if (!source) return source.error();
    std::string text;
    for (std::vector<char> part(std::size_t{1} << 16U);;) {
        const auto got = source->read(part.data(), part.size());
        if (!got) return got.error();
        if (*got == 0) return text;
        text.append(part.data(), *got);
        if (text.size() > std::size_t{256} << 20U) return error{errc::limit, path + ": more than 256 MiB"};
    }
}

/// Costs, issue width and window of the table, where one is given; all else of the machine.
result<augur::machine> machine_of(const wishes& w) {
    auto m = augur::find_machine(w.machine);
    if (!m || w.uops.empty()) return m;
    const auto text = whole_file(w.uops);
    if (!text) return text.error();
    const auto file = w.uops.substr(w.uops.rfind('/') == std::string::npos ? 0 : w.uops.rfind('/') + 1);
    auto table = augur::import_uops_info(*text, file.substr(0, file.find('.')));
    if (!table) return error{table.error().code, w.uops + ": " + table.error().detail};
    table->caches = m->caches;
    table->memory = m->memory;
    table->clock_hz = m->clock_hz;
    return augur::complete_machine(*std::move(table));
}

/// One line: hexadecimal machine code, cycles of 100 rounds, Intel syntax.
result<examples::measured_block> read_block(std::string_view line) {
    const auto one = line.find('\t'), two = one == std::string_view::npos ? one : line.find('\t', one + 1);
    if (two == std::string_view::npos) return error{errc::parse, "expected machine code, cycles and instructions, with tabs between"};
    examples::measured_block b;
    const auto hex = line.substr(0, one), cycles = line.substr(one + 1, two - one - 1);
    if (hex.empty() || hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        return error{errc::parse, "'" + examples::shown(hex) + "' is no machine code in hexadecimal"};
    const auto [end, bad] = std::from_chars(cycles.data(), cycles.data() + cycles.size(), b.cycles);
    if (bad != std::errc{} || end != cycles.data() + cycles.size() || !(b.cycles > 0 && b.cycles < 1e9))
        return error{errc::parse, "'" + examples::shown(cycles) + "' are no cycles above 0"};
    b.cycles /= 100;
    b.bytes = static_cast<double>(hex.size() / 2);
    b.text = line.substr(two + 1);
    auto code = examples::x86_graphlet(b.text);
    if (!code) return code.error();
    b.code = *std::move(code);
    return b;
}

/// Cycles a round, each block a loop that has run for a while.
std::vector<double> simulate(const std::vector<examples::measured_block>& blocks, const augur::cost_table& costs) {
    augur::block_pipeline pipe(costs);
    std::vector<augur::native_code> native;
    std::vector<double> out;
    for (const auto& b : blocks) {
        costs.lower(b.code.code, native);
        augur::lowered_block low{&b.code.code, native, 0};
        for (const auto& c : native) low.slots += c.slots();
        out.push_back(pipe.round(low, b.code.carried, pipe.alone(low)));
    }
    return out;
}

struct group {
    const char* name;
    bool (*is)(const examples::x86_block&);
};
constexpr group groups[] = {
    {"with a division", [](const auto& b) { return b.divides; }},
    {"with vectors", [](const auto& b) { return b.vectors; }},
    {"through memory", [](const auto& b) { return b.through_memory; }},
    {"loads and stores", [](const auto& b) { return b.loads && b.stores; }},
    {"stores", [](const auto& b) { return b.stores; }},
    {"loads", [](const auto& b) { return b.loads; }},
    {"registers only", [](const auto&) { return true; }},
};

void print_tables(const std::vector<examples::measured_block>& blocks, const std::vector<examples::block_row>& rows) {
    std::vector<double> measured;
    std::vector<std::size_t> common;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        measured.push_back(blocks[b].cycles);
        const bool all = std::all_of(rows.begin(), rows.end(), [&](const auto& r) { return r.cycles.empty() || r.cycles[b] > 0; });
        if (all) common.push_back(b);
    }
    const auto percent = [](double x) { return text_of("%.1f %%", 100 * x); };
    std::vector<std::vector<std::string>> table{{"cycles of a round", "Kendall", "median error", "mean error", "could not"}};
    for (const auto& r : rows) {
        if (r.cycles.empty()) continue;
        const auto s = examples::score_blocks(r.cycles, measured, common);
        const auto not_done = std::count_if(r.cycles.begin(), r.cycles.end(), [](double c) { return !(c > 0); });
        table.push_back(
            {r.name, std::isfinite(s.tau) ? text_of("%.3f", s.tau) : "-", percent(s.median_error), percent(s.error), std::to_string(not_done)});
    }
    std::printf("%zu blocks that all rows could do\n\n%s\n", common.size(), examples::table_text(table).c_str());
    for (const auto& r : rows)
        if (r.cycles.empty()) std::printf("%s is absent: %s\n", r.name.c_str(), r.note.c_str());

    std::vector<std::vector<std::string>> each{{"median error, mean error", "blocks"}};
    for (const auto& r : rows)
        if (!r.cycles.empty()) each[0].push_back(r.name);
    std::vector<std::size_t> rest = common;
    for (const auto& g : groups) {
        std::vector<std::size_t> mine, others;
        for (const auto b : rest) (g.is(blocks[b].code) ? mine : others).push_back(b);
        rest = others;
        if (mine.empty()) continue;
        each.push_back({g.name, std::to_string(mine.size())});
        for (const auto& r : rows) {
            if (r.cycles.empty()) continue;
            const auto s = examples::score_blocks(r.cycles, measured, mine);
            each.back().push_back(percent(s.median_error) + ", " + percent(s.error));
        }
    }
    std::printf("%s\n", examples::table_text(each).c_str());
}

/// The blocks whose cycles are predicted worst, by the ratio.
void print_worst(const std::vector<examples::measured_block>& blocks, const std::vector<double>& cycles, std::size_t most) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t b = 0; b < blocks.size(); ++b) order.emplace_back(-std::fabs(std::log(cycles[b] / blocks[b].cycles)), b);
    std::sort(order.begin(), order.end());
    std::printf("line, cycles measured and predicted, the block\n");
    for (std::size_t i = 0; i < (std::min)(most, order.size()); ++i) {
        const auto& b = blocks[order[i].second];
        std::printf("%zu %.2f %.2f %s\n", b.line, b.cycles, cycles[order[i].second], b.text.c_str());
    }
}

int complain(const error& why, int code) {
    std::fprintf(stderr, "bhive: %s\n", why.detail.c_str());
    return code;
}

int run(const wishes& w) {
    const auto machine = machine_of(w);
    if (!machine) return complain(machine.error(), misuse);
    if (const auto whole = augur::check_machine(*machine); !whole) return complain(whole.error(), misuse);
    const auto text = whole_file(w.blocks);
    if (!text) return complain(text.error(), misuse);

    std::vector<examples::measured_block> blocks;
    std::map<std::string, std::size_t> unknown;
    std::size_t bad = 0, with_unknown = 0, number = 0;
    for (std::string_view rest = *text; !rest.empty() && blocks.size() < w.most;) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix((std::min)(rest.size(), line.size() + 1));
        ++number;
        if (line.empty() || line.front() == '#') continue;
        auto b = read_block(line);
        if (!b) {
            if (++bad <= 10) std::fprintf(stderr, "bhive: %s:%zu: %s\n", w.blocks.c_str(), number, b.error().detail.c_str());
            continue;
        }
        b->line = number;
        with_unknown += b->code.unknown.empty() ? 0 : 1;
        for (const auto& name : b->code.unknown) ++unknown[name];
        blocks.push_back(*std::move(b));
    }
    if (bad > 10) std::fprintf(stderr, "bhive: %s: %zu more lines like these\n", w.blocks.c_str(), bad - 10);
    if (blocks.empty()) return complain({errc::not_found, w.blocks + ": no block that can be read"}, failed);

    const augur::cost_table costs(*machine);
    std::vector<examples::block_row> rows{{"Crop's core", simulate(blocks, costs), ""}};
    examples::block_row fetched{text_of("and %.0f bytes fetched a cycle", w.fetch), rows[0].cycles, ""}, counted{"max(1, n / 4)", {}, ""};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        fetched.cycles[b] = (std::max)(fetched.cycles[b], blocks[b].bytes / w.fetch);
        counted.cycles.push_back((std::max)(1.0, static_cast<double>(blocks[b].code.instructions) / 4));
    }
    rows.push_back(std::move(fetched));
    if (!w.mca.empty()) {
        auto mca = examples::mca_blocks(blocks, w.mca);
        if (!mca) return complain(mca.error(), failed);
        rows.push_back(*std::move(mca));
    }
    rows.push_back(std::move(counted));

    std::printf("%s, %zu blocks", machine->cpu_name.c_str(), blocks.size());
    if (bad > 0) std::printf(", %zu lines left out", bad);
    std::printf("; %zu have an instruction of class unknown:", with_unknown);
    std::vector<std::pair<std::size_t, std::string>> most;
    for (const auto& [name, times] : unknown) most.emplace_back(times, name);
    std::sort(most.begin(), most.end(),
              [](const auto& a, const auto& b) { return a.first > b.first || (a.first == b.first && a.second < b.second); });
    for (std::size_t i = 0; i < (std::min)(most.size(), std::size_t{8}); ++i) std::printf(" %s %zu", most[i].second.c_str(), most[i].first);
    std::printf("%s\n", most.empty() ? " none" : "");
    print_tables(blocks, rows);
    if (w.worst > 0) print_worst(blocks, rows[1].cycles, w.worst);
    return done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    bool help = false;
    examples::flag_set flags;
    flags.add_text("blocks", "FILE",
                   "measured blocks, a line each, plain or packed: machine code in hexadecimal, cycles of 100 rounds,\n"
                   "instructions in Intel's syntax with ; between; tabs between the three",
                   w.blocks);
    flags.add_text("machine", "FILE", "machine file, or the name of a preset; default xeon-gold-5220r", w.machine);
    flags.add_text("uops", "FILE", "its core's costs from a table of uops.info, SKL.json.gz say, named after the architecture", w.uops);
    flags.add_text("mca", "CPU", "a row of llvm-mca for this -mcpu", w.mca);
    flags.add_number("most", "N", "blocks, the first of the file; default: all", w.most, 1, 1'000'000'000);
    flags.add_number("worst", "N", "also print the N blocks that are predicted worst, by the second row", w.worst, 1, 1'000'000'000);
    flags.add_number("fetch", "N", "bytes of code that the core fetches a cycle; default 16", w.fetch, 1, 1024);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read)
        return complain(read.error(), misuse);
    if (help) {
        std::printf("usage: bhive --blocks FILE [flags]\n\n%s", flags.help().c_str());
        return done;
    }
    if (w.blocks.empty()) return complain({errc::invalid_argument, "--blocks is needed; try --help"}, misuse);
    return run(w);
}
