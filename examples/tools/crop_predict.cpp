// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long will this program take on that machine? LLVM IR in, one number out, and where it goes. Nothing is measured; the program runs once, here, in
// a child, to be counted (docs/llvm.md).   Run: crop_predict matmul.ll --machine epyc-zen4 --threads 2
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <augur/core/whole_file.hpp>
#include <augur/llvm/features_of_ir.hpp>
#include <augur/crop/predictor.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/target/find_machine.hpp>

#include "flags.hpp"

namespace {

using augur::errc;
using augur::error;
using augur::result;

enum : int { done = 0, failed = 1, misuse = 2 };

int complain(const error& why, int code) {
    std::fprintf(stderr, "crop_predict: %s\n", why.detail.c_str());
    return code;
}

std::string with_unit(double seconds) {
    char text[32];
    const char* unit = seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us";
    std::snprintf(text, sizeof text, "%.4g %s", seconds * (seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6), unit);
    return text;
}

void print(const augur::crop::prediction& p, const augur::machine& m, std::size_t most) {
    std::printf("%s\n\n", with_unit(p.seconds).c_str());
    std::printf("%.4g cycles at %.3g GHz, %d thread%s, %s; limited by %s\n", p.cycles, m.clock_hz * 1e-9, p.threads, p.threads == 1 ? "" : "s",
                m.cpu_name.c_str(), augur::crop::limit_text(p.limited_by, p.unit).c_str());
    std::printf("costs of instructions: %.0f %% measured, %.0f %% tables, %.0f %% defaults; of unknown class: %.2g %%\n", 100 * p.trust[2],
                100 * p.trust[1], 100 * p.trust[0], 100 * p.unknown_share);
    std::printf("\n%-8s %12s %12s\n", "level", "accesses", "waited for");
    for (const auto& l : p.levels)
        std::printf("%-8s %10.3f %% %10.3f %%\n", l.name.c_str(), 100 * l.share, p.cycles > 0 ? 100 * l.stall_cycles / p.cycles : 0);
    if (p.mispredict_cycles > 0) std::printf("branches that were not foreseen: %.3g %%\n", 100 * p.mispredict_cycles / p.cycles);
    if (p.launch_cycles > 0) std::printf("handing work to threads: %.3g %%\n", 100 * p.launch_cycles / p.cycles);
    struct row {
        const augur::crop::function_share* f;
        const augur::crop::block_share* b;
    };
    std::vector<row> rows;
    for (const auto& f : p.functions)
        for (const auto& b : f.blocks)
            if (b.cycles > 0) rows.push_back({&f, &b});
    std::sort(rows.begin(), rows.end(), [](const row& x, const row& y) { return x.b->cycles > y.b->cycles; });
    std::printf("\n%8s %12s %10s  %-16s block\n", "time", "count", "cycles", "limited by");
    for (std::size_t i = 0; i < rows.size() && i < most; ++i)
        std::printf("%6.2f %% %12.0f %10.1f  %-16s %s: %s\n", 100 * rows[i].b->cycles / p.cycles, rows[i].b->count,
                    rows[i].b->cycles / (std::max)(rows[i].b->count, 1.0), augur::crop::limit_text(rows[i].b->limited_by, rows[i].b->unit).c_str(),
                    rows[i].f->name.c_str(), rows[i].b->name.c_str());
    if (rows.size() > most) std::printf("and %zu more\n", rows.size() - most);
}

struct wishes {
    std::string path, machine, features; ///< machine: empty: the one that this is
    augur::ir_options ir;
    augur::crop::options model;
    double clock = 0; ///< in GHz; 0: that of the machine
    std::size_t blocks = 8;
    bool json = false, quiet = false;
};

void add_positive(examples::flag_set& flags, const char* name, const char* value, const char* help, double& to) {
    flags.add(name, value, help, [&to](std::string_view text) -> result<void> {
        const auto n = augur::parse_double(text);
        if (!n || !std::isfinite(*n) || !(*n > 0))
            return error{errc::invalid_argument, "expected a number above 0, got '" + examples::shown(text) + "'"};
        to = *n;
        return {};
    });
}

result<bool> read_flags(std::span<char* const> arguments, wishes& w) {
    constexpr std::int64_t most = std::int64_t{1} << 62U;
    examples::flag_set flags;
    bool cold = false, published = false, help = false;
    std::uint64_t mebibytes = w.ir.memory_limit_bytes >> 20U;
    flags.add_text("machine", "NAME|FILE", "a preset (epyc-zen4, epyc-7763, xeon-gold-5220r, cortex-a72) or a machine file; default: this machine",
                   w.machine);
    add_positive(flags, "clock", "GHZ", "of the machine, instead of its file's", w.clock);
    flags.add_number("threads", "N", "threads that the program has; default 1", w.ir.threads, 1, 256);
    flags.add_text("entry", "NAME", "the function to run; default: the one that there is", w.ir.entry);
    flags.add("arguments", "A,B,...", "bytes of a buffer (4096), a tensor (512x64xf32), a number (=7, =0.5); default: buffers of any size",
              [&](std::string_view text) -> result<void> {
                  for (std::size_t at = 0, end = 0; at <= text.size(); at = end + 1) {
                      end = (std::min)(text.find(',', at), text.size());
                      auto argument = augur::parse_ir_argument(text.substr(at, end - at));
                      if (!argument) return argument.error();
                      w.ir.arguments.push_back(*std::move(argument));
                  }
                  return {};
              });
    flags.add_number("exact", "N", "accesses to memory that are counted one by one, the others are sampled; default 67108864", w.ir.trace.exact, 0,
                     most);
    flags.add_number("trace-limit", "N", "the trace ends after so many accesses", w.ir.trace.most, 1, most);
    flags.add_switch("cold", "nothing is in a cache at the start; default: the program runs again and again", cold);
    flags.add_switch("published", "Crop as in the paper", published);
    add_positive(flags, "time-limit", "SECONDS", "of the run that is counted; default 10", w.ir.time_limit_seconds);
    flags.add_number("memory-limit", "MIB", "of that run; default 4096", mebibytes, 1, std::int64_t{1} << 24U);
    flags.add_text("features", "FILE", "write what was gathered", w.features);
    flags.add_number("blocks", "N", "so many blocks in the breakdown; default 8", w.blocks, 0, 1'000'000);
    flags.add_switch("json", "the prediction as JSON", w.json);
    flags.add_switch("quiet", "no progress", w.quiet);
    flags.add_switch("help", "print this", help);
    if (!arguments.empty() && !std::string_view(arguments.front()).starts_with("--")) {
        w.path = arguments.front();
        arguments = arguments.subspan(1);
    }
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf("usage: crop_predict FILE.ll|FILE.bc|FEATURES.json [flags]\n\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags or "
                    "files.\n",
                    flags.help().c_str());
        return false;
    }
    if (w.path.empty()) return error{errc::invalid_argument, "expected a file of LLVM IR or of features, then flags; try --help"};
    for (const char* name : {"entry", "arguments", "exact", "trace-limit", "cold", "time-limit", "memory-limit"})
        if (w.path.ends_with(".json") && flags.given(name))
            return error{errc::invalid_argument, "--" + std::string(name) + " is for IR: the features of " + w.path + " were counted before"};
    if (std::error_code none; w.path == w.features || std::filesystem::equivalent(w.path, w.features, none))
        return error{errc::invalid_argument, "--features would replace " + w.path};
    w.ir.trace.warm = !cold;
    w.ir.memory_limit_bytes = mebibytes << 20U;
    if (published) w.model = augur::crop::options::as_published();
    return true;
}

result<augur::program_features> gather(const wishes& w) {
    if (w.path.ends_with(".json")) {
        const auto text = augur::read_whole_file(w.path, std::size_t{1} << 30U);
        if (!text) return text.error();
        return augur::features_from_json(*text);
    }
    const bool shows = !w.quiet && !w.json && ::isatty(STDERR_FILENO) != 0;
    auto features = augur::features_of_ir_file(w.path, w.ir, [&](const augur::ir_progress& p) {
        if (shows)
            std::fprintf(stderr, "\r%-8.*s %6.1f s %12llu accesses ", static_cast<int>(p.step.size()), p.step.data(), p.seconds,
                         static_cast<unsigned long long>(p.accesses));
    });
    if (shows) std::fputs("\r\033[K", stderr);
    return features;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w);
    if (!go) return complain(go.error(), misuse);
    if (!*go) return done;
    auto machine = w.machine.empty() ? result<augur::machine>(augur::complete_machine(augur::detect_machine())) : augur::find_machine(w.machine);
    if (!machine) return complain(machine.error(), misuse);
    if (w.clock > 0) machine->clock_hz = w.clock * 1e9;
    const auto features = gather(w);
    if (!features) return complain(features.error(), failed);
    if (!w.features.empty())
        if (auto written = augur::replace_file(w.features, augur::features_to_json(*features)); !written) return complain(written.error(), failed);
    const auto predicted = augur::crop::predict(*features, *machine, w.ir.threads, w.model);
    if (!predicted) return complain(predicted.error(), failed);
    if (w.json) std::printf("%s\n", augur::crop::prediction_to_json(*predicted).c_str());
    else {
        print(*predicted, *machine, w.blocks);
        std::printf("\n%s\n", features->source.c_str());
    }
    return done;
}
