// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How near tuned kernels come to the machine's limits: tunes each, then measures it beside its limit, round after round.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "flags.hpp"
#include "program.hpp"
#include "report.hpp"
#include "rounds.hpp"
#include "session.hpp"

namespace {

/// Kernels of one kind, and the share of their limit that their geometric mean must reach.
struct kernel_class {
    const char* name;
    double share;
    std::vector<const char*> kernels;
};

/// The kernels were fixed before the code generator was optimised for their classes; they are not exchanged, or the table would be of what it is good at.
const std::vector<kernel_class>& classes() {
    static const std::vector<kernel_class> all{
        {"conv2d_nhwc",
         0.85,
         {"conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,relu", "conv2d:h=56,w=56,c=64,f=128,k=3,stride=2,pad=1,bias,relu",
          "conv2d:h=28,w=28,c=128,f=128,k=3,pad=1,bias,relu", "conv2d:h=28,w=28,c=128,f=256,k=3,stride=2,pad=1,bias,relu",
          "conv2d:h=14,w=14,c=256,f=256,k=3,pad=1,bias,relu", "conv2d:h=14,w=14,c=256,f=512,k=3,stride=2,pad=1,bias,relu",
          "conv2d:h=7,w=7,c=512,f=512,k=3,pad=1,bias,relu", "conv2d:h=28,w=28,c=96,f=96,k=3,pad=2,dilation=2,relu",
          "conv2d:n=4,h=14,w=14,c=128,f=128,k=3,pad=1,bias,relu"}},
        {"conv2d_nchw",
         0.85,
         {"conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,layout=nchw,bias,relu", "conv2d:h=56,w=56,c=64,f=128,k=3,stride=2,pad=1,layout=nchw,bias,relu",
          "conv2d:h=28,w=28,c=64,f=96,k=3,pad=1,layout=nchw,bias,relu", "conv2d:h=14,w=14,c=256,f=256,k=3,pad=1,layout=nchw,bias,relu",
          "conv2d:h=7,w=7,c=512,f=512,k=3,pad=1,layout=nchw,bias,relu", "conv2d:h=28,w=28,c=96,f=96,k=3,pad=2,dilation=2,layout=nchw,relu",
          "conv2d:n=4,h=14,w=14,c=128,f=128,k=3,pad=1,layout=nchw,bias,relu"}},
        {"conv1x1_nhwc",
         0.85,
         {"conv2d:h=56,w=56,c=64,f=128,k=1,stride=2,bias", "conv2d:h=28,w=28,c=128,f=256,k=1,stride=2,bias",
          "conv2d:h=14,w=14,c=256,f=512,k=1,stride=2,bias", "conv2d:h=56,w=56,c=64,f=256,k=1,bias,relu",
          "conv2d:h=14,w=14,c=1024,f=256,k=1,bias,relu"}},
        {"conv1x1_nchw",
         0.85,
         {"conv2d:h=28,w=28,c=128,f=128,k=1,layout=nchw,bias,relu", "conv2d:h=56,w=56,c=64,f=256,k=1,layout=nchw,bias,relu",
          "conv2d:h=28,w=28,c=128,f=256,k=1,stride=2,layout=nchw,bias", "conv2d:h=14,w=14,c=1024,f=256,k=1,layout=nchw,bias,relu"}},
        {"stem",
         0.80,
         {"conv2d:h=224,w=224,c=3,f=64,k=7,stride=2,pad=3,bias,relu", "conv2d:h=224,w=224,c=3,f=64,k=7,stride=2,pad=3,layout=nchw,bias,relu",
          "conv2d:h=224,w=224,c=3,f=32,k=3,stride=2,pad=1,bias,relu6"}},
        {"conv2d_transpose",
         0.85,
         {"conv2d_transpose:h=4,w=4,c=512,f=256,k=4,stride=2,pad=1", "conv2d_transpose:h=8,w=8,c=256,f=128,k=4,stride=2,pad=1",
          "conv2d_transpose:h=16,w=16,c=128,f=64,k=4,stride=2,pad=1,layout=nchw"}},
        {"grouped",
         0.75,
         {"conv2d:h=56,w=56,c=128,f=128,k=3,pad=1,groups=32,bias,relu", "conv2d:h=28,w=28,c=256,f=256,k=3,pad=1,groups=32,bias,relu",
          "conv2d:h=28,w=28,c=256,f=256,k=3,pad=1,groups=32,layout=nchw,bias,relu",
          "conv2d:h=14,w=14,c=512,f=512,k=3,pad=1,groups=32,layout=nchw,bias,relu"}},
        {"depthwise_nhwc",
         0.75,
         {"depthwise_conv2d:h=112,w=112,c=32,k=3,pad=1,bias,relu6", "depthwise_conv2d:h=56,w=56,c=144,k=3,stride=2,pad=1,bias,relu6",
          "depthwise_conv2d:h=14,w=14,c=576,k=3,pad=1,bias,relu6", "depthwise_conv2d:h=7,w=7,c=960,k=5,pad=2,bias,relu"}},
        {"depthwise_nchw",
         0.75,
         {"depthwise_conv2d:h=112,w=112,c=32,k=3,pad=1,layout=nchw,bias,relu6",
          "depthwise_conv2d:h=56,w=56,c=144,k=3,stride=2,pad=1,layout=nchw,bias,relu6",
          "depthwise_conv2d:h=14,w=14,c=576,k=3,pad=1,layout=nchw,bias,relu6"}},
        {"dense", 0.85, {"dense:m=1024,n=1024,k=1024", "dense:m=128,n=3072,k=768,bias,gelu", "dense:m=128,n=768,k=768,bias"}},
        {"dense_vector", 0.70, {"dense:m=1,n=1000,k=512,bias", "dense:m=1,n=1000,k=2048,bias", "dense:m=1,n=4096,k=4096,bias,relu"}},
        {"attention",
         0.80,
         {"batch_matmul:b=12,m=128,n=128,k=64", "batch_matmul:b=12,m=128,n=64,k=128,transb=0", "batch_matmul:b=12,m=512,n=512,k=64",
          "batch_matmul:b=12,m=512,n=64,k=512,transb=0"}},
        {"pooling",
         0.70,
         {"max_pool2d:h=112,w=112,c=64,k=3,stride=2,pad=1", "max_pool2d:h=112,w=112,c=64,k=3,stride=2,pad=1,layout=nchw",
          "avg_pool2d:h=56,w=56,c=128,k=2,stride=2", "avg_pool2d:h=28,w=28,c=256,k=3,stride=1,pad=1,layout=nchw", "global_avg_pool2d:h=7,w=7,c=2048",
          "global_avg_pool2d:h=7,w=7,c=2048,layout=nchw"}},
        {"elementwise",
         0.70,
         {"elementwise:h=56,w=56,c=256,add,relu", "elementwise:h=28,w=28,c=512,layout=nchw,scale,relu", "elementwise:h=1,w=128,c=3072,gelu"}},
        {"softmax", 0.70, {"softmax:m=1536,n=128", "softmax:m=6144,n=512", "softmax:m=128,n=1000"}},
        {"layer_norm", 0.70, {"layer_norm:m=128,n=768", "layer_norm:m=512,n=1024", "layer_norm:m=384,n=512"}},
        {"odd_sizes",
         0.70,
         {"conv2d:h=23,w=23,c=67,f=71,k=3,pad=1,relu", "conv2d:h=13,w=13,c=61,f=53,k=3,pad=1,layout=nchw,relu", "dense:m=127,n=509,k=257,bias",
          "batch_matmul:b=7,m=101,n=97,k=53"}},
    };
    return all;
}

/// The class that a kernel of the table belongs to; null for another kernel.
const kernel_class* class_of(const augur::kernel& k) {
    for (const auto& c : classes())
        for (const auto* text : c.kernels)
            if (const auto known = augur::kernel::parse(text); known && known->text() == k.text()) return &c;
    return nullptr;
}

/// Prints, for each class, the geometric mean of its shares, 0 if nothing of a kernel ran; returns how many classes miss their goal.
/// @param elsewhere  kernels measured on another machine, which do not count
int print_classes(const std::vector<const kernel_class*>& class_of_kernel, const std::vector<examples::comparison>& compared,
                  const std::vector<bool>& elsewhere) {
    std::vector<std::vector<std::string>> rows{{"class", "kernels", "share", "lowest", "wanted", ""}};
    int missed = 0;
    for (const auto& c : classes()) {
        double logarithms = 0, least = 1e9;
        std::size_t n = 0;
        for (std::size_t i = 0; i < compared.size(); ++i) {
            if (class_of_kernel[i] != &c || elsewhere[i]) continue;
            logarithms += std::log(compared[i].share);
            least = (std::min)(least, compared[i].share);
            ++n;
        }
        if (n == 0) continue;
        const double mean = std::exp(logarithms / static_cast<double>(n));
        missed += mean >= c.share ? 0 : 1;
        rows.push_back({c.name, std::to_string(n), examples::text_of("%.1f %%", 100 * mean), examples::text_of("%.1f %%", 100 * least),
                        examples::text_of("%.0f %%", 100 * c.share), mean >= c.share ? "met" : "missed"});
    }
    std::printf("\n%s\nshare: geometric mean over the kernels of a class\n", examples::table_text(rows).c_str());
    return missed;
}

int run(augur::session_options options, int rounds, bool strict) {
    examples::catch_signals();
    std::vector<const kernel_class*> class_of_kernel;
    for (const auto& k : options.work.kernels) class_of_kernel.push_back(class_of(k.workload));
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
        {"kernel", "naive ms", "tuned ms", "x naive", "GFLOP/s", "limit", "share", "quartiles", "rounds", "of all", "class"}};
    const bool machines = examples::measured_elsewhere(report);
    if (machines) rows[0].emplace_back("machine");
    const auto percent = [](double x) { return examples::text_of("%.1f %%", 100 * x); };
    for (std::size_t i = 0; i < report.kernels.size(); ++i) {
        const auto& b = report.kernels[i];
        const auto& c = (*compared)[i];
        const std::string class_name = class_of_kernel[i] != nullptr ? class_of_kernel[i]->name : "";
        if (b.elsewhere) { // its limit and its share would be of this machine
            rows.push_back({b.label, "-", examples::milliseconds(found.best_latency[i]), "-", "-", "-", "-", "-", "-", "-", class_name,
                            examples::machine_of(b)});
            continue;
        }
        if (!(c.seconds > 0)) { // nothing ran
            rows.push_back({b.label, examples::milliseconds(b.naive), "-", "-", "-", "-", "0.0 %", "-", "-", "-", class_name});
            if (machines) rows.back().push_back(examples::machine_of(b));
            continue;
        }
        const auto of_limit = [&](double amount) { return c.limit > 0 ? examples::text_of("%.1f", amount / c.limit * 1e-9) : "-"; };
        rows.push_back({b.label, examples::milliseconds(b.naive), examples::milliseconds(c.seconds), examples::text_of("%.0f", b.naive / c.seconds),
                        examples::text_of("%.1f", b.flops / c.seconds * 1e-9),
                        c.against == examples::rival::openblas         ? "OpenBLAS " + of_limit(b.flops)
                        : c.against == examples::rival::read_bandwidth ? "read " + of_limit(b.bytes)
                        : c.against == examples::rival::function
                            ? std::string(b.bound_name()) + " " + of_limit(session->tasks()[i].dag()->evaluations(b.function))
                            : "FMA " + of_limit(b.needed_flops),
                        percent(c.share), percent(c.low) + " to " + percent(c.high), std::to_string(c.counted), percent(c.all), class_name});
        if (machines) rows.back().push_back(examples::machine_of(b));
    }
    std::printf("\n%s\n", examples::table_text(rows).c_str());
    std::printf("limit: GFLOP/s, GB/s or 10^9 evaluations a second. A timing is the fastest of fifteen windows of 3 ms; %d rounds of limit, "
                "kernel, limit. share: median of "
                "the limit's\n"
                "time over the kernel's in the rounds whose two timings of the limit were within 5 %% of its fastest (how many: rounds); of all: in "
                "all rounds\n",
                rounds);
    for (const auto& line : examples::account_of(found)) std::printf("%s\n", line.c_str());
    std::vector<bool> elsewhere;
    for (const auto& b : report.kernels) elsewhere.push_back(b.elsewhere.has_value());
    const int missed = print_classes(class_of_kernel, *compared, elsewhere);
    if (examples::stop_requested().load()) return examples::interrupted;
    return strict && missed > 0 ? examples::failed : examples::done;
}

} // namespace

int main(int argc, char** argv) {
    augur::session_options s;
    s.search.model = "tlp";
    s.work.name = "quality";
    s.search.trials = 128;
    int rounds = 15;
    bool strict = false, help = false;
    std::string names;
    for (const auto& c : classes()) names += (names.empty() ? "" : ", ") + std::string(c.name);
    examples::flag_set flags;
    flags.add(
        "kernel", "KERNEL", "only this one; may be given again",
        [&](std::string_view text) -> augur::result<void> {
            const auto k = augur::kernel::parse(text);
            if (!k) return k.error();
            s.work.add(*k);
            return {};
        },
        true);
    flags.add(
        "class", "NAME", "the kernels of this class: " + names + "; may be given again; default: all classes",
        [&](std::string_view text) -> augur::result<void> {
            for (const auto& c : classes()) {
                if (c.name != text) continue;
                for (const auto* k : c.kernels)
                    if (auto added = s.work.add(augur::kernel::parse(k)); !added) return added;
                return {};
            }
            return augur::error{augur::errc::invalid_argument, "expected a class, one of " + names + ", got '" + std::string(text) + "'"};
        },
        true);
    flags.add_number("trials", "N", "candidates of each kernel; default 128", s.search.trials, 1, 1'000'000);
    flags.add_number("seed", "N", "of all random numbers; default 1", s.search.seed, 0, 9'223'372'036'854'775'807);
    flags.add_number("threads", "N", "threads that kernels use; default: all processors", s.threads, 1, 1024);
    flags.add_number("rounds", "N", "final timings of each kernel, each between two timings of its limit; default 15", rounds, 1, 1000);
    flags.add_text("log", "FILE", "write each record as soon as it is measured", s.log);
    flags.add_switch("resume", "go on with the log", s.resume);
    flags.add_isa_level(s.compiler.isa);
    flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc", s.compiler.command);
    flags.add_switch("strict", "exit code 1 when a class misses its goal", strict);
    flags.add_switch("help", "print this", help);
    s.search.scheduler = augur::scheduling::round_robin;
    if (auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read)
        return examples::complain("quality", read.error(), examples::misuse);
    if (help) {
        std::printf("usage: quality [flags]\n\n%s", flags.help().c_str());
        return examples::finish(examples::done);
    }
    if (s.work.kernels.empty())
        for (const auto& c : classes())
            for (const auto* k : c.kernels)
                if (auto added = s.work.add(augur::kernel::parse(k)); !added) return examples::complain("quality", added.error(), examples::misuse);
    return examples::finish(run(std::move(s), rounds, strict));
}
