// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long will this program take on that machine? LLVM IR in, one number out, and where it goes. Nothing is measured; the program runs once, here, in
// a child, to be counted (docs/llvm.md).   Run: crop_predict matmul.ll --machine epyc-zen4 --threads 2
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <augur/core/whole_file.hpp>
#include <augur/llvm/features_of_ir.hpp>
#include <augur/crop/predictor.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/target/machine_presets.hpp>

namespace {

constexpr const char* usage =
    "usage: crop_predict FILE.ll|FILE.bc|FEATURES.json [options]\n"
    "  --machine NAME|FILE.json  a preset (epyc-zen4, epyc-7763, xeon-gold-5220r, cortex-a72) or a machine file; without it: the machine that this "
    "is\n"
    "  --clock GHZ               of the machine, instead of its file's\n"
    "  --threads N               1\n"
    "  --entry NAME              the function to run; without it: the one that there is\n"
    "  --arguments A,B,...       bytes of a buffer (4096), a tensor (512x64xf32), a number (=7, =0.5); without it: buffers of any size\n"
    "  --exact N                 accesses to memory that are counted one by one, the others are sampled (67108864)\n"
    "  --trace-limit N           the trace ends after so many accesses\n"
    "  --cold                    nothing is in a cache at the start; without it: the program runs again and again\n"
    "  --published               Crop as in the paper\n"
    "  --time-limit SECONDS      10\n"
    "  --memory-limit MIB        4096\n"
    "  --features FILE           writes what was gathered\n"
    "  --blocks N                so many blocks in the breakdown (8)\n"
    "  --json                    the prediction as JSON\n"
    "  --quiet                   no progress\n";

int fail(const std::string& text) {
    std::fprintf(stderr, "crop_predict: %s\n", text.c_str());
    return 1;
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

augur::result<augur::machine> find_machine(const std::string& name) {
    if (name.empty()) return augur::complete_machine(augur::detect_machine());
    if (name.ends_with(".json")) return augur::read_machine(name);
    return augur::machine_preset(name);
}

augur::result<std::string> read_text(const std::string& path) { return augur::read_whole_file(path, std::size_t{1} << 30U); }

} // namespace

int main(int argc, char** argv) {
    std::string path, machine_name, features_path;
    std::string_view of_ir; // a flag that says how IR is run
    augur::ir_options options;
    augur::crop::options model;
    double clock = 0;
    std::size_t blocks = 8;
    bool json = false, quiet = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        const auto is = [&](std::string_view name) { return flag == name; };
        if (is("--json")) json = true;
        else if (is("--quiet")) quiet = true;
        else if (is("--cold")) options.trace.warm = false, of_ir = flag;
        else if (is("--published")) model = augur::crop::options::as_published();
        else if (is("--help")) return std::fputs(usage, stdout), 0;
        else if (!flag.starts_with("--") && path.empty()) path = flag;
        else if (!flag.starts_with("--") || i + 1 == argc) return std::fputs(usage, stderr), 2;
        else {
            const std::string value = argv[++i];
            for (const char* name : {"--entry", "--arguments", "--exact", "--trace-limit", "--time-limit", "--memory-limit"})
                if (is(name)) of_ir = flag;
            const auto whole = augur::parse_int(value).value_or(-1);
            const auto number = augur::parse_double(value).value_or(-1);
            const auto count = static_cast<std::uint64_t>((std::max)(whole, std::int64_t{0}));
            if (is("--machine")) machine_name = value;
            else if (is("--entry")) options.entry = value;
            else if (is("--features")) features_path = value;
            else if (is("--arguments")) {
                for (std::size_t at = 0; at <= value.size();) {
                    const auto end = (std::min)(value.find(',', at), value.size());
                    auto argument = augur::parse_ir_argument(std::string_view(value).substr(at, end - at));
                    if (!argument) return fail(argument.error().detail);
                    options.arguments.push_back(*argument);
                    at = end + 1;
                }
            } else if (is("--clock") && number > 0) clock = number;
            else if (is("--time-limit") && number > 0) options.time_limit_seconds = number;
            else if (is("--threads") && whole > 0) options.threads = static_cast<int>((std::min)(whole, std::int64_t{256}));
            else if (is("--exact") && whole >= 0) options.trace.exact = count;
            else if (is("--trace-limit") && whole > 0) options.trace.most = count;
            else if (is("--memory-limit") && whole > 0) options.memory_limit_bytes = count << 20U;
            else if (is("--blocks") && whole >= 0) blocks = static_cast<std::size_t>(count);
            else return fail("'" + std::string(flag) + " " + value + "' is nothing that it knows (--help)");
        }
    }
    if (path.empty()) return std::fputs(usage, stderr), 2;
    if (!of_ir.empty() && path.ends_with(".json")) return fail(std::string(of_ir) + " is for IR: the features of " + path + " were counted before");
    if (std::error_code none; path == features_path || std::filesystem::equivalent(path, features_path, none))
        return fail("--features would replace " + path);

    auto machine = find_machine(machine_name);
    if (!machine) return fail(machine.error().detail);
    if (clock > 0) machine->clock_hz = clock * 1e9;
    const bool shows = !quiet && !json && ::isatty(2) != 0;
    const auto progress = [&](const augur::ir_progress& p) {
        if (shows)
            std::fprintf(stderr, "\r%-8.*s %6.1f s %12llu accesses ", static_cast<int>(p.step.size()), p.step.data(), p.seconds,
                         static_cast<unsigned long long>(p.accesses));
    };
    const auto gather = [&]() -> augur::result<augur::program_features> {
        if (!path.ends_with(".json")) return augur::features_of_ir_file(path, options, progress);
        auto text = read_text(path);
        if (!text) return text.error();
        return augur::features_from_json(*text);
    };
    const auto features = gather();
    if (shows) std::fputs("\r\033[K", stderr);
    if (!features) return fail(features.error().detail);
    if (!features_path.empty()) {
        if (auto written = augur::replace_file(features_path, augur::features_to_json(*features)); !written) return fail(written.error().detail);
    }
    const auto predicted = augur::crop::predict(*features, *machine, options.threads, model);
    if (!predicted) return fail(predicted.error().detail);
    if (json) std::printf("%s\n", augur::crop::prediction_to_json(*predicted).c_str());
    else {
        print(*predicted, *machine, blocks);
        std::printf("\n%s\n", features->source.c_str());
    }
    return 0;
}
