// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rounds.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <augur/core/steady_seconds.hpp>
#include <augur/loopnest/run/roofline.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/tune/tuner.hpp>

#include "statistics.hpp"

namespace examples {

namespace {

constexpr int windows = 15;                // a visit
constexpr double window_seconds = 0.003;   // at least
constexpr double undisturbed = 1.05;       // times the limit's fastest visit is undisturbed
constexpr std::size_t least_counted = 3;   // rounds, the least disturbed ones when fewer are undisturbed
constexpr int qualifying_rounds = 3;       // of the finalists among themselves
constexpr std::int64_t blas_extent = 1024; // of the product that OpenBLAS is the rival of

double fastest(std::span<const double> seconds) {
    return seconds.empty() ? std::numeric_limits<double>::infinity() : *std::min_element(seconds.begin(), seconds.end());
}

/// The value below which a share `q` of them lies; 0 of none.   pre: all are finite
double quantile(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const double at = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = (std::min)(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

/// A matrix as the runner makes its buffers: huge pages where there are some, the same numbers.
float* matrix(std::uint64_t fill) {
    constexpr std::size_t n = static_cast<std::size_t>(blas_extent * blas_extent), unit = std::size_t{2} << 20U;
    auto* const out = static_cast<float*>(std::aligned_alloc(unit, n * sizeof(float)));
    if (out == nullptr) return nullptr;
    (void)::madvise(out, n * sizeof(float), MADV_HUGEPAGE);
    const augur::loopnest::program_buffer b{augur::loopnest::program_buffer::role::input, blas_extent * blas_extent, fill};
    for (std::size_t i = 0; i < n; ++i) out[i] = augur::loopnest::program_input_value(b, static_cast<std::int64_t>(i));
    return out;
}

/// The processor whose kernels OpenBLAS uses for a level; null: its own choice.
const char* openblas_core(augur::isa_level l) {
    switch (l) {
    case augur::isa_level::x86_64_v2: return "Nehalem";
    case augur::isa_level::x86_64_v3: return "Haswell";
    case augur::isa_level::x86_64_v4: return "SkylakeX";
    default: return nullptr;
    }
}

/// The fastest window of one visit to OpenBLAS, `threads` threads; infinity where the library is not installed. To be called in a process of its own,
/// whose threads and environment end with it.
double openblas_here(int threads, augur::isa_level l) {
    constexpr double none = std::numeric_limits<double>::infinity();
    if (const char* core = openblas_core(l); core != nullptr && ::setenv("OPENBLAS_CORETYPE", core, 1) != 0) return none;
    void* const library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return none;
    using sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    using set_threads = void (*)(int);
    const auto multiply = reinterpret_cast<sgemm>(::dlsym(library, "cblas_sgemm"));
    const auto use = reinterpret_cast<set_threads>(::dlsym(library, "openblas_set_num_threads"));
    if (multiply == nullptr || use == nullptr) return none;
    use(threads);
    const float *const a = matrix(1), *const b = matrix(2);
    float* const c = matrix(3);
    if (a == nullptr || b == nullptr || c == nullptr) return none;
    const auto run = [&](double at_least) { // mean seconds of one product
        constexpr int n = static_cast<int>(blas_extent);
        const double begin = augur::steady_seconds();
        double passed = 0;
        int calls = 0;
        for (; calls == 0 || passed < at_least; ++calls) {
            multiply(101, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n); // row-major, nothing transposed
            passed = augur::steady_seconds() - begin;
        }
        return passed / calls;
    };
    (void)run(4 * window_seconds); // its threads wake up
    double best = none;
    for (int i = 0; i < windows; ++i) best = (std::min)(best, run(window_seconds));
    return best;
}

double openblas(int threads, augur::isa_level l) {
    constexpr double none = std::numeric_limits<double>::infinity();
    int ends[2];
    if (::pipe(ends) != 0) return none;
    const pid_t child = ::fork();
    if (child == 0) {
        const double seconds = openblas_here(threads, l);
        ::_exit(::write(ends[1], &seconds, sizeof seconds) == static_cast<ssize_t>(sizeof seconds) ? 0 : 1);
    }
    (void)::close(ends[1]);
    double seconds = none;
    if (child > 0 && ::read(ends[0], &seconds, sizeof seconds) != static_cast<ssize_t>(sizeof seconds)) seconds = none;
    (void)::close(ends[0]);
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return seconds;
}

/// A kernel on its way: what is run for it, and what came of it.
struct contest {
    rival against{};
    std::vector<std::size_t> finalists; ///< places among the built programs, the winner first when that is known
    std::size_t limit = 0;              ///< place of the limit's program
    double scale = 0;                   ///< seconds that the limit allows the kernel, for each second of its program
    struct round {
        double kernel, before, after; ///< seconds; of the limit: that it allows
        [[nodiscard]] double slower() const { return (std::max)(before, after); }
        [[nodiscard]] double share() const { return (before + after) / (2 * kernel); }
    };
    std::vector<round> rounds;
};

} // namespace

augur::result<std::vector<comparison>> compare_with_limits(augur::session& s, const augur::search_report& found, int rounds,
                                                           progress_line& progress) {
    auto& runner = s.runner();
    const int threads = s.report().threads;
    const auto level = s.options().compiler.isa;
    const bool has_blas = std::isfinite(openblas(threads, level));
    std::vector<augur::loopnest::generated_program> programs{augur::loopnest::fma_limit(s.host(), threads)};
    std::vector<contest> all(s.tasks().size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& b = s.report().kernels[i];
        if (b.elsewhere) continue; // all its latencies are of that machine
        const auto& k = s.tasks()[i].workload();
        const bool product =
            k.kind() == augur::kernel_kind::dense && k.fused().empty() && k["m"] == blas_extent && k["n"] == blas_extent && k["k"] == blas_extent;
        double amount = b.needed_flops;
        if (b.bound == augur::roofline_bound::read_bandwidth) {
            all[i].against = rival::read_bandwidth;
            all[i].limit = programs.size();
            programs.push_back(augur::loopnest::read_limit(s.host(), threads, static_cast<std::int64_t>(b.bytes)));
            amount = b.bytes;
        } else if (b.bound == augur::roofline_bound::function) {
            all[i].against = rival::function;
            all[i].limit = programs.size();
            programs.push_back(augur::loopnest::function_limit(s.host(), threads, b.function));
            amount = s.tasks()[i].dag()->evaluations(b.function);
        } else {
            all[i].against = product && has_blas ? rival::openblas : rival::fma_peak;
        }
        all[i].scale = amount / programs[all[i].limit].flops;
        for (const auto& f : found.finalists[i]) {
            auto p = runner.program_of(s.tasks()[i], f.schedule, static_cast<unsigned>(programs.size()));
            if (!p) continue; // it was measured once, so this is not expected
            all[i].finalists.push_back(programs.size());
            programs.push_back(std::move(*p));
        }
    }

    const auto usual = runner.programs().options().timing;
    auto timing = usual;
    timing.repeats = windows;
    timing.min_repeat_seconds = window_seconds;
    timing.enough_seconds = 2;
    if (auto set = runner.programs().set_timing(timing); !set) return set.error();
    const auto built = runner.programs().build(programs);
    const auto visit = [&](std::size_t i, const augur::loopnest::expected_outputs& right) {
        const auto m = runner.programs().run(built, i, right);
        return m.ok() ? fastest(m.seconds) : std::numeric_limits<double>::infinity();
    };
    const auto running = [] { return !stop_requested().load(); };

    for (std::size_t i = 0; i < all.size() && running(); ++i) {
        progress.show(i, all.size(), "the best of the finalists: " + s.report().kernels[i].label, false);
        std::vector<std::pair<double, std::size_t>> order;
        std::vector<std::vector<double>> seconds(all[i].finalists.size());
        for (int r = 0; r < qualifying_rounds; ++r)
            for (std::size_t k = 0; k < seconds.size(); ++k) seconds[k].push_back(visit(all[i].finalists[k], runner.right(s.tasks()[i])));
        for (std::size_t k = 0; k < seconds.size(); ++k) order.emplace_back(median(seconds[k]), all[i].finalists[k]); // a visit may have failed
        std::sort(order.begin(), order.end());
        for (std::size_t k = 0; k < order.size(); ++k) all[i].finalists[k] = order[k].second;
    }
    for (int r = 0; r < rounds && running(); ++r) {
        progress.show(static_cast<std::size_t>(r), static_cast<std::size_t>(rounds), "rounds beside the limits", true);
        for (std::size_t i = 0; i < all.size() && running(); ++i) {
            auto& c = all[i];
            if (c.finalists.empty()) continue;
            const auto limit = [&] {
                return c.against == rival::openblas ? openblas(threads, level) : c.scale * visit(c.limit, augur::loopnest::expected_outputs{});
            };
            const double before = limit();
            const double kernel = visit(c.finalists.front(), runner.right(s.tasks()[i]));
            const double after = limit();
            if (!running()) break;
            if (!std::isfinite(before + after)) return augur::error{augur::errc::io, s.report().kernels[i].label + ": its limit cannot be measured"};
            if (std::isfinite(kernel)) c.rounds.push_back({kernel, before, after});
        }
    }
    progress.clear();
    if (auto set = runner.programs().set_timing(usual); !set) return set.error();

    std::vector<comparison> out;
    for (auto& c : all) {
        comparison to{c.against};
        std::vector<double> kernel, limit, shares, every;
        for (const auto& r : c.rounds) every.push_back(r.share());
        std::sort(c.rounds.begin(), c.rounds.end(), [](const auto& a, const auto& b) { return a.slower() < b.slower(); });
        double best = std::numeric_limits<double>::infinity();
        for (const auto& r : c.rounds) best = (std::min)({best, r.before, r.after});
        for (const auto& r : c.rounds) {
            if (r.slower() > undisturbed * best && kernel.size() >= least_counted) break;
            kernel.push_back(r.kernel);
            limit.push_back((r.before + r.after) / 2);
            shares.push_back(r.share());
        }
        to.counted = static_cast<int>(kernel.size());
        to.seconds = quantile(kernel, 0.5);
        to.limit = quantile(limit, 0.5);
        to.share = quantile(shares, 0.5);
        to.low = quantile(shares, 0.25);
        to.high = quantile(shares, 0.75);
        to.all = quantile(every, 0.5);
        out.push_back(to);
    }
    return out;
}

} // namespace examples
