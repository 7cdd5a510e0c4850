// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How near tuned kernels come to the machine's limits: tunes each, then measures it beside its limit, round after round.
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "flags.hpp"
#include "program.hpp"
#include "rounds.hpp"
#include "session.hpp"

namespace {

/// A kernel and the least share of its limit that it must reach.
struct bar {
    const char* kernel;
    double share;
};
constexpr std::array bars{
    bar{"conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,relu", 0.65},
    bar{"conv2d:h=56,w=56,c=64,f=128,k=3,stride=2,pad=1,bias,relu", 0.65},
    bar{"conv2d:h=28,w=28,c=128,f=128,k=3,pad=1,bias,relu", 0.65},
    bar{"conv2d:h=28,w=28,c=128,f=256,k=3,stride=2,pad=1,bias,relu", 0.65},
    bar{"conv2d:h=14,w=14,c=256,f=256,k=3,pad=1,bias,relu", 0.65},
    bar{"conv2d:h=14,w=14,c=256,f=512,k=3,stride=2,pad=1,bias,relu", 0.65},
    bar{"conv2d:h=7,w=7,c=512,f=512,k=3,pad=1,bias,relu", 0.65},
    bar{"conv2d:h=56,w=56,c=64,f=128,k=1,stride=2,bias", 0.55},
    bar{"conv2d:h=28,w=28,c=128,f=256,k=1,stride=2,bias", 0.55},
    bar{"conv2d:h=14,w=14,c=256,f=512,k=1,stride=2,bias", 0.55},
    bar{"max_pool2d:h=112,w=112,c=64,k=3,stride=2,pad=1", 0.70},
    bar{"elementwise:h=56,w=56,c=256,add,relu", 0.70},
    bar{"dense:m=1,n=1000,k=512,bias", 0.70},
    bar{"dense:m=1024,n=1024,k=1024", 0.85},
};

/// The share that a kernel must reach; 0: none.
double wanted_of(const augur::kernel& k) {
    for (const auto& b : bars)
        if (const auto known = augur::kernel::parse(b.kernel); known && known->text() == k.text()) return b.share;
    return 0;
}

int run(augur::session_options options, int rounds, bool all) {
    examples::catch_signals();
    std::vector<double> wanted;
    if (options.work.kernels.empty())
        for (const auto& b : bars) options.work.add(augur::kernel::parse(b.kernel));
    for (const auto& k : options.work.kernels) wanted.push_back(wanted_of(k.workload));
    auto session = augur::session::create(std::move(options));
    if (!session) return examples::complain("quality", session.error(), examples::misuse);
    examples::progress_line progress;
    const auto hooks = examples::hooks_on(progress);
    if (auto measured = session->measure_baselines(hooks); !measured) return examples::complain("quality", measured.error(), examples::failed);
    const auto& report = session->report();
    if (!report.roofline_error.empty()) // without it there is nothing to judge by
        return examples::complain("quality", {augur::errc::io, "limits not measured: " + report.roofline_error}, examples::failed);
    for (const auto& [name, text] : examples::facts_of(report)) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    const auto found = session->search("tlp", report.options.search, true, hooks);
    if (found.failed) return examples::complain("quality", *found.failed, examples::failed);
    const auto compared = examples::compare_with_limits(*session, found, rounds, progress);
    if (!compared) return examples::complain("quality", compared.error(), examples::failed);

    std::vector<std::vector<std::string>> rows{
        {"kernel", "naive ms", "tuned ms", "x naive", "GFLOP/s", "limit", "share", "quartiles", "rounds", "of all", "wanted", ""}};
    const auto percent = [](double x) { return examples::text_of("%.1f %%", 100 * x); };
    int missed = 0;
    for (std::size_t i = 0; i < report.kernels.size(); ++i) {
        const auto& b = report.kernels[i];
        const auto& c = (*compared)[i];
        const bool met = c.seconds > 0 && c.share >= wanted[i] && (b.memory_bound || b.naive / c.seconds >= 10);
        missed += met ? 0 : 1;
        const auto of_limit = [&](double amount) { return c.limit > 0 ? examples::text_of("%.1f", amount / c.limit * 1e-9) : "-"; };
        rows.push_back({b.label, examples::milliseconds(b.naive), examples::milliseconds(c.seconds), examples::text_of("%.0f", b.naive / c.seconds),
                        examples::text_of("%.1f", b.flops / c.seconds * 1e-9),
                        c.against == examples::rival::openblas         ? "OpenBLAS " + of_limit(b.flops)
                        : c.against == examples::rival::read_bandwidth ? "read " + of_limit(b.bytes)
                                                                       : "FMA " + of_limit(b.flops),
                        percent(c.share), percent(c.low) + " to " + percent(c.high), std::to_string(c.counted), percent(c.all),
                        wanted[i] > 0 ? percent(wanted[i]) : "", met ? "met" : "missed"});
    }
    std::printf("\n%s\n", examples::table_text(rows).c_str());
    std::printf("limit: GFLOP/s or GB/s. A visit takes the fastest of fifteen windows of 3 ms; %d rounds of limit, kernel, limit. share: median of "
                "the limit's\n"
                "time over the kernel's in the rounds whose two visits to the limit were within 5 %% of its fastest (how many: rounds); of all: in "
                "all rounds\n",
                rounds);
    for (const auto& line : examples::account_of(found)) std::printf("%s\n", line.c_str());
    if (examples::stop_requested().load()) return examples::interrupted;
    return all && missed > 0 ? examples::failed : examples::done;
}

} // namespace

int main(int argc, char** argv) {
    augur::session_options s;
    s.work.name = "quality";
    s.search.trials = 128;
    int rounds = 15;
    bool strict = false, help = false;
    examples::flag_set flags;
    flags.add(
        "kernel", "KERNEL", "only this one; may be given again",
        [&](std::string_view text) -> augur::result<void> {
            const auto k = augur::kernel::parse(text);
            if (!k) return k.error();
            s.work.add(k);
            return {};
        },
        true);
    flags.add_number("trials", "N", "candidates a kernel, on average; default 128", s.search.trials, 1, 1'000'000);
    flags.add_number("seed", "N", "of all random numbers; default 1", s.search.seed, 0, 9'223'372'036'854'775'807);
    flags.add_number("threads", "N", "threads that kernels use; default: all processors", s.threads, 1, 1024);
    flags.add_number("rounds", "N", "of kernels beside their limits in the end; default 15", rounds, 1, 1000);
    flags.add_text("log", "FILE", "write each record as soon as it is measured", s.log);
    flags.add_switch("resume", "go on with the log", s.resume);
    flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc", s.compiler.command);
    flags.add_switch("strict", "exit code 1 when a bar is missed", strict);
    flags.add_switch("help", "print this", help);
    s.search.even = true;
    if (auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read)
        return examples::complain("quality", read.error(), examples::misuse);
    if (help) {
        std::printf("usage: quality [flags]\n\n%s", flags.help().c_str());
        return examples::done;
    }
    return run(std::move(s), rounds, strict);
}
