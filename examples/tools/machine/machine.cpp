// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures this machine and writes its machine file: what instructions, caches, memory, branches and launches cost. See docs/machine.md.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/whole_file.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/target/uops_info.hpp>

#include "console.hpp"
#include "flags.hpp"
#include "measure.hpp"

namespace {

using examples::table_text;
using examples::text_of;
using rows = std::vector<std::vector<std::string>>;

std::string number(double v) { return v <= 0 ? "-" : text_of("%.3g", v); }
std::string percent(double v) { return text_of("%.1f %%", 100 * v); }

void print(const examples::machine_meter& meter, const augur::machine& m) {
    const auto& times = meter.times();
    const auto spread = [&](const std::string& name) {
        const auto at = times.find(name);
        return at == times.end() ? std::string("-") : percent(at->second.spread());
    };
    std::printf("%s, %d processors, vectors of %lld bytes\n", m.cpu_name.c_str(), m.processors, static_cast<long long>(m.vector_bytes));
    std::printf("clock %.3f GHz while the longest vectors are multiplied, else %.3f GHz\n\n", m.clock_hz * 1e-9, meter.clock_hz() * 1e-9);

    rows core{{"core", "value", "", "spread"}};
    const auto from = [](augur::provenance p) { return std::string(to_string(p)); };
    core.push_back({"issue width", number(m.core.issue_width), "instructions a cycle", spread("nop")});
    core.push_back({"window", number(m.core.window), "instructions", spread("window.24")});
    core.push_back({"branch not foreseen", number(m.core.mispredict), "cycles", spread("branches.random")});
    core.push_back({"rounds foreseen", number(m.core.predicted_trips), "", spread("loops.16")});
    core.push_back({"load behind a store", number(m.core.store_forward), "cycles", spread("forward.vector")});
    core.push_back({"  of an integer, and an addition", number(times.count("forward.integer") != 0 ? times.at("forward.integer").cycles() : 0),
                    "cycles", spread("forward.integer")});
    core.push_back({"launch", number(m.core.parallel_launch), "cycles", spread("launch")});
    core.push_back({"all of these are", from(m.core.from), "", ""});
    std::printf("%s\n", table_text(core).c_str());

    rows levels{{"level", "bytes", "sharers", "latency", "spread", "bytes/cycle", "spread", "from"}};
    for (const auto& c : m.caches) {
        const auto name = "L" + std::to_string(c.level);
        levels.push_back({name, std::to_string(c.bytes), std::to_string(c.sharers), number(c.latency), spread(name + ".chase"),
                          number(c.bytes_per_cycle), spread(name + ".read"), from(c.from)});
    }
    levels.push_back({"memory", std::to_string(m.memory.bytes), std::to_string(m.processors), number(m.memory.latency), spread("memory.chase"),
                      number(m.memory.core_bytes_per_second / m.clock_hz), spread("memory.read.1"), from(m.memory.from)});
    const auto gigabytes = [](double bytes) { return bytes > 0 ? text_of("%.1f", bytes * 1e-9) : std::string("-"); };
    std::printf("%smemory: %s GB/s one core, %s GB/s all\n\n", table_text(levels).c_str(), gigabytes(m.memory.core_bytes_per_second).c_str(),
                gigabytes(m.memory.bytes_per_second).c_str());

    rows costs{{"instruction", "type", "lanes", "latency", "spread", "throughput", "spread", "unit", "from"}};
    for (const auto& c : m.costs) {
        const int lanes = static_cast<int>(c.lanes);
        const bool branch = c.op == augur::instruction_class::branch;
        costs.push_back({std::string(to_string(c.op)), std::string(to_string(c.type)), std::to_string(lanes), number(c.latency),
                         spread(branch ? "branch" : examples::probe_name(c.op, c.type, lanes, true)), number(c.throughput),
                         spread(branch ? "branch" : examples::probe_name(c.op, c.type, lanes, false)),
                         m.units[c.unit].name + text_of(" (%d)", m.units[c.unit].count), from(c.from)});
    }
    std::printf("%s\n", table_text(costs).c_str());
    for (const auto& n : meter.notes()) std::printf("note: %s\n", n.c_str());
}

/// What a published table says of the same instructions.
augur::result<void> compare(const augur::machine& m, const std::string& path) {
    const auto slash = path.rfind('/');
    const auto file = path.substr(slash == std::string::npos ? 0 : slash + 1);
    const auto text = augur::read_whole_file(path, std::size_t{64} << 20U);
    if (!text) return text.error();
    const auto table = augur::import_uops_info(*text, file.substr(0, file.find('.')));
    if (!table) return augur::error{table.error().code, path + ": " + table.error().detail};
    rows out{{"instruction", "type", "lanes", "latency", "table", "throughput", "table", ""}};
    int same = 0, all = 0;
    for (const auto& c : m.costs)
        for (const auto& t : table->costs) {
            if (c.op != t.op || c.type != t.type || c.lanes != t.lanes) continue;
            const auto near = [](double a, double b) { return std::fabs(a - b) <= (std::max)(0.1 * b, 0.06); };
            const bool latency = near(c.latency, t.latency), throughput = near(c.throughput, t.throughput);
            ++all;
            same += latency && throughput ? 1 : 0;
            if (!latency || !throughput)
                out.push_back({std::string(to_string(c.op)), std::string(to_string(c.type)), std::to_string(c.lanes), number(c.latency),
                               number(t.latency), number(c.throughput), number(t.throughput),
                               latency      ? "throughput"
                               : throughput ? "latency"
                                            : "both"});
        }
    std::printf("%s: %d of %d costs are equal (10 %%)%s\n%s\n", table->cpu_name.c_str(), same, all, same < all ? ", these are not:" : "",
                same < all ? table_text(out).c_str() : "");
    return {};
}

int complain(const augur::error& why, int code) {
    std::fprintf(stderr, "machine: %s\n", why.detail.c_str());
    return code;
}

} // namespace

int main(int argc, char** argv) {
    std::string out = "machine.json", table;
    augur::loopnest::compiler_options compiler;
    bool quick = false, help = false;
    examples::flag_set flags;
    flags.add_text("out", "FILE", "where the machine file goes (machine.json)", out);
    flags.add_switch("quick", "fewer repeats: some seconds less, more noise", quick);
    flags.add_text("cc", "COMMAND", "C compiler (CC, else cc)", compiler.command);
    flags.add_isa_level(compiler.isa);
    flags.add_text("compare", "FILE", "also print where a table of uops.info, ICL.json say, has other costs", table);
    flags.add_switch("help", "this text", help);
    if (auto read = flags.parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1)); !read) return complain(read.error(), 2);
    if (help) {
        std::printf("machine [flags]: measures what this machine's instructions, caches, memory and branches cost\n%s", flags.help().c_str());
        return 0;
    }
    examples::catch_signals();
    auto file = augur::file_replacement::open(out); // before half a minute is spent
    if (!file) return complain(file.error(), 2);
    const auto start = std::chrono::steady_clock::now();
    auto host = augur::detect_machine(compiler.isa);
    if (!host) return complain(host.error(), 2);
    examples::machine_meter meter(*std::move(host), compiler, quick, &examples::stop_requested());
    examples::progress_line progress;
    const auto m = meter.run(progress);
    progress.clear();
    if (!m) return complain(m.error(), m.error().code == augur::errc::interrupted ? 130 : 1);
    print(meter, *m);
    if (auto written = file->write(augur::machine_to_json(*m)); !written) return complain(written.error(), 1);
    if (auto kept = file->commit(); !kept) return complain(kept.error(), 1);
    std::printf("%s written, %.1f s\n", out.c_str(), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!table.empty())
        if (auto compared = compare(*m, table); !compared) return complain(compared.error(), 1);
    return 0;
}
