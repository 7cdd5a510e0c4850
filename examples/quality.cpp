// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How near tuned kernels come to the machine's limits: tunes each, then measures it beside the limits of the same run.
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "common/flags.hpp"
#include "common/program.hpp"

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

/// Seconds of one 1024^3 product by OpenBLAS, `threads` threads, the median of several; 0 where the library is not installed.
double openblas_seconds(int threads) {
    void* const library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 0;
    using sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    using set_threads = void (*)(int);
    const auto multiply = reinterpret_cast<sgemm>(::dlsym(library, "cblas_sgemm"));
    const auto use = reinterpret_cast<set_threads>(::dlsym(library, "openblas_set_num_threads"));
    if (multiply == nullptr || use == nullptr) return 0;
    use(threads);
    constexpr int n = 1024;
    std::vector<float> a(n * n, 0.5F), b(n * n, 0.25F), c(n * n, 0.0F);
    augur::measurement m;
    m.status = augur::outcome::ok;
    const augur::steady_seconds now;
    for (int i = 0; i < 40; ++i) {
        const double begin = now();
        multiply(101, 111, 111, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n); // row-major, nothing transposed
        if (i >= 5) m.seconds.push_back(now() - begin);
    }
    return m.latency();
}

/// The share that a kernel must reach; 0: none.
double wanted_of(const augur::kernel& k) {
    for (const auto& b : bars)
        if (const auto known = augur::kernel::parse(b.kernel); known && known->text() == k.text()) return b.share;
    return 0;
}

int run(examples::settings settings, bool all) {
    examples::catch_signals();
    std::vector<double> wanted;
    if (settings.work.kernels.empty())
        for (const auto& b : bars) settings.work.add(augur::kernel::parse(b.kernel));
    for (const auto& k : settings.work.kernels) wanted.push_back(wanted_of(k.what));
    examples::session s(std::move(settings));
    if (auto ready = s.prepare(); !ready) return examples::complain("quality", ready.why(), examples::misuse);
    examples::progress_line progress;
    if (auto measured = s.measure_baselines(progress); !measured) return examples::complain("quality", measured.why(), examples::failed);
    for (const auto& [name, text] : examples::facts_of(s)) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    std::vector<examples::searched> searches{s.search("tlp", true, true, progress)};
    if (searches[0].failed) return examples::complain("quality", *searches[0].failed, examples::failed);
    if (!examples::stop_requested().load()) s.measure_best(searches, progress);
    const double blas = openblas_seconds(s.with.threads);
    // The limits once more: on a shared machine they differ, and the higher of two is nearer to the truth.
    const auto limits = s.baselines;
    if (auto measured = s.measure_baselines(progress); !measured) return examples::complain("quality", measured.why(), examples::failed);
    for (std::size_t i = 0; i < s.tasks.size(); ++i)
        if (s.baselines[i].least == 0 || s.baselines[i].least > limits[i].least) s.baselines[i] = limits[i];
    std::printf("at the end       %.1f GFLOP/s of fused multiply-adds, %.1f GB/s read from memory; each share is of the higher limit of two\n",
                s.peak.flops_all * 1e-9, s.peak.read_all * 1e-9);

    std::vector<std::vector<std::string>> rows{{"kernel", "naive ms", "tuned ms", "x naive", "GFLOP/s", "limit", "share", "wanted", ""}};
    int missed = 0;
    for (std::size_t i = 0; i < s.tasks.size(); ++i) {
        const auto& b = s.baselines[i];
        const double seconds = searches[0].latency(i);
        const bool product = b.name == "dense 1024x1024x1024" && blas > 0;
        const double share = (product ? blas : b.least) / seconds;
        const bool met = share >= wanted[i] && (b.by_memory || b.naive / seconds >= 10);
        missed += met ? 0 : 1;
        rows.push_back({b.name, examples::milliseconds(b.naive), examples::milliseconds(seconds), examples::text_of("%.0f", b.naive / seconds),
                        examples::text_of("%.1f", b.flops / seconds * 1e-9),
                        product       ? "OpenBLAS"
                        : b.by_memory ? "read"
                                      : "FMA peak",
                        examples::text_of("%.0f %%", 100 * share), wanted[i] > 0 ? examples::text_of("%.0f %%", 100 * wanted[i]) : "",
                        met ? "met" : "missed"});
    }
    std::printf("\n%s\n", examples::table_text(rows).c_str());
    if (blas > 0) std::printf("OpenBLAS 1024^3, %d threads: %.3f ms, %.1f GFLOP/s\n", s.with.threads, blas * 1e3, 2.147483648 / blas);
    else std::printf("OpenBLAS is not installed: the product is compared with the FMA peak\n");
    for (const auto& line : examples::account_of(searches[0])) std::printf("%s\n", line.c_str());
    if (examples::stop_requested().load()) return examples::interrupted;
    return all && missed > 0 ? examples::failed : examples::done;
}

} // namespace

int main(int argc, char** argv) {
    examples::settings s;
    s.work.name = "quality";
    s.trials = 128;
    bool strict = false, help = false;
    examples::flag_set flags;
    flags.add(
        "kernel", "KERNEL", "only this one; may be given again",
        [&](std::string_view text) -> augur::result<void> {
            const auto k = augur::kernel::parse(text);
            if (!k) return k.why();
            s.work.add(k);
            return {};
        },
        true);
    flags.add_number("trials", "N", "candidates a kernel, on average; default 128", s.trials, 1, 1'000'000);
    flags.add_number("seed", "N", "of all random numbers; default 1", s.seed, 0, 9'223'372'036'854'775'807);
    flags.add_number("threads", "N", "threads that kernels use; default: all processors", s.threads, 1, 1024);
    flags.add_text("log", "FILE", "write each record as soon as it is measured", s.log);
    flags.add_switch("resume", "go on with the log", s.resume);
    flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc", s.compiler.command);
    flags.add_switch("strict", "exit code 1 when a bar is missed", strict);
    flags.add_switch("help", "print this", help);
    s.even = true;
    if (auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read)
        return examples::complain("quality", read.why(), examples::misuse);
    if (help) {
        std::printf("usage: quality [flags]\n\n%s", flags.help().c_str());
        return examples::done;
    }
    return run(std::move(s), strict);
}
