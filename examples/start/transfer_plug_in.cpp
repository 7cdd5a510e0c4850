// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tuned schedules of two kernels, reused for a third one of another shape: the space of a compiler of your own says what its decisions mean, so that
// each decision of a tuned schedule becomes the nearest legal one of the other shape. Three measurements then come near the best schedule.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/space/check.hpp>
#include <augur/space/walk.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/resume.hpp>

namespace mycc { // a compiler that knows nothing of augur

struct kernel { // its task
    std::string name;
    std::int64_t m = 0, n = 0;
};
struct plan { // its schedule: tiles, which need not be powers of two, but divide the extents
    std::int64_t rows = 1, columns = 1;
    int unroll = 0;
};
double run(const kernel& k, const plan& p) { // seconds; here a made-up machine that likes 8 columns, tiles of 64 and a little unrolling
    const auto columns = static_cast<double>(p.columns), tile = static_cast<double>(p.rows * p.columns);
    const double seconds = 1e-9 * static_cast<double>(k.m * k.n) * (1 + std::abs(std::log2(columns) - 3)) * (1 + std::abs(std::log2(tile) - 6) / 2);
    return seconds * (p.unroll == 1 ? 0.8 : 1);
}

} // namespace mycc

// 1. How a schedule is read, what a task is called, and its class: schedules go to kernels of the same class, without `kernel_class` to none.
template <>
struct augur::schedule_traits<mycc::plan> {
    static void visit(const mycc::plan& p, auto& sink) {
        sink.primitive("tile"), sink.number(p.rows), sink.number(p.columns);
        sink.primitive("unroll"), sink.number(p.unroll);
    }
};
template <>
struct augur::task_traits<mycc::kernel> {
    static std::string_view key(const mycc::kernel& k) { return k.name; }
    static std::string_view kernel_class(const mycc::kernel&) { return "add"; }
};

// 2. The decisions: names that are the same in every shape, the words of each option, and the option nearest to given words.
struct plan_space {
    mycc::kernel k;

    static std::vector<std::int64_t> divisors(std::int64_t n) {
        std::vector<std::int64_t> out;
        for (std::int64_t d = 1; d <= n; ++d)
            if (n % d == 0) out.push_back(d);
        return out;
    }
    struct walk {
        std::vector<std::int64_t> options[3]; // of rows, columns, unroll
        std::size_t at = 0;
        std::optional<augur::decision> next() const {
            using kind = augur::decision_kind;
            return at < 3 ? std::optional(augur::decision{at < 2 ? kind::tile_size : kind::unroll, options[at].size()}) : std::nullopt;
        }
        void choose(std::uint64_t) { ++at; }
        void describe(auto& sink) const { sink.primitive(at == 0 ? "rows" : at == 1 ? "columns" : "unroll"); }
        augur::decision_scale scale() const { return {augur::decision_scale::kind::ordinal}; }
        void words(std::uint64_t value, auto& sink) const { sink.number(options[at][value]); }
        std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item> words) const {
            if (words.size() != 1 || words[0].integer < 0) return std::nullopt;
            const auto ratio = [&](std::int64_t n) {
                return std::abs(std::log2(1.0 + static_cast<double>(n)) - std::log2(1.0 + static_cast<double>(words[0].integer)));
            };
            const auto& all = options[at];
            return static_cast<std::uint64_t>(std::min_element(all.begin(), all.end(), [&](auto a, auto b) { return ratio(a) < ratio(b); }) -
                                              all.begin());
        }
    };
    walk cursor() const { return {{divisors(k.m), divisors(k.n), {0, 1, 2}}}; }
    std::optional<augur::decision> next(std::span<const std::uint64_t> chosen) const {
        walk w = cursor();
        w.at = chosen.size();
        return w.next();
    }
    augur::result<mycc::plan> realise(std::span<const std::uint64_t> chosen) const {
        if (chosen.size() != 3) return augur::error{augur::errc::illegal_schedule, "a plan has three decisions"};
        const walk w = cursor();
        return mycc::plan{w.options[0][chosen[0]], w.options[1][chosen[1]], static_cast<int>(chosen[2])};
    }
    augur::result<augur::decision_vector> decide(const mycc::plan& p) const { // the point of a plan: logs hold plans
        if (p.rows < 1 || p.columns < 1 || k.m % p.rows != 0 || k.n % p.columns != 0 || p.unroll < 0 || p.unroll > 2)
            return augur::error{augur::errc::illegal_schedule, "expected tiles that divide the extents"};
        const walk w = cursor();
        augur::decision_vector out;
        for (std::size_t i = 0; const std::int64_t n : {p.rows, p.columns, std::int64_t{p.unroll}}) {
            out.push_back(static_cast<std::uint64_t>(std::find(w.options[i].begin(), w.options[i].end(), n) - w.options[i].begin()));
            ++i;
        }
        return out;
    }
};
static_assert(augur::described_space<plan_space> && augur::decision_space<plan_space, mycc::plan>);

int main() {
    using namespace mycc;
    const auto failed = [](const augur::error& why) { return std::puts(why.detail.c_str()), 1; };
    // 3. The pool: the three fastest of 100 random schedules of each of two kernels. With a log the trials come from `read_trials<plan>`.
    augur::random_engine rng(1);
    augur::transfer::schedule_pool pool;
    for (const kernel& k : {kernel{"add 64x48", 64, 48}, kernel{"add 100x256", 100, 256}}) {
        const plan_space space{k};
        std::vector<augur::logged_trial<plan>> trials;
        for (int i = 0; i < 100; ++i) {
            augur::measurement m;
            const plan p = *space.realise(augur::sample_path(space, rng).values);
            m.status = augur::outcome::ok;
            m.seconds = {run(k, p)};
            trials.push_back({augur::task_identity(k), p, m});
        }
        if (auto added = pool.add_fastest(k, space, trials, "my cpu", 3); !added) return failed(added.error());
    }
    // 4. What they are for a kernel whose extents have other divisors.
    const kernel unseen{"add 180x112", 180, 112};
    const plan_space space{unseen};
    if (auto sound = augur::testing::check_described_space(space, rng); !sound) return failed(sound.error());
    const auto found = pool.adapt(space, augur::task_class_levels(unseen), "my cpu");
    std::printf("%zu schedules of other kernels give %zu points\n", pool.schedules().size(), found.points.size());
    // 5. Which of them to measure: one by a score, higher is better, the others by the share of decisions that did not change. Any cost model can
    //    score (search/bound_scorer.hpp); this rule of thumb prefers large tiles. A tuner measures such points first with search/initial_points.hpp.
    auto scorer = [&](std::span<const augur::decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto p = space.realise(points[i]);
            scores[i] = p ? static_cast<float>(p->rows * p->columns) : -INFINITY;
        }
        return {};
    };
    const auto chosen = augur::transfer::choose_transfers(found.points, scorer, 3);
    if (!chosen) return failed(chosen.error());
    double best = INFINITY, least = INFINITY, sum = 0;
    for (const auto& t : *chosen) {
        const auto p = space.realise(t.point);
        if (!p) return failed(p.error());
        const double seconds = run(unseen, *p);
        std::printf("%-11s -> tile %2lldx%-2lld unroll %d, %zu of 3 decisions unchanged, %.1f us\n", pool.schedules()[t.source].name.c_str(),
                    static_cast<long long>(p->rows), static_cast<long long>(p->columns), p->unroll, t.equal, seconds * 1e6);
        best = std::min(best, seconds);
    }
    // 6. All points of the space, to check the result.
    const auto all = space.cursor();
    for (const auto rows : all.options[0])
        for (const auto columns : all.options[1])
            for (int unroll = 0; unroll < 3; ++unroll) {
                const double seconds = run(unseen, {rows, columns, unroll});
                least = std::min(least, seconds);
                sum += seconds;
            }
    const auto points = static_cast<double>(all.options[0].size() * all.options[1].size() * 3);
    std::printf("best of %zu transferred %.1f us; best of all %.0f points %.1f us, their mean %.1f us\n", chosen->size(), best * 1e6, points,
                least * 1e6, sum / points * 1e6);
    return best <= 1.25 * least && best < 0.5 * sum / points ? 0 : 1; // it runs as a test, so it checks itself
}
