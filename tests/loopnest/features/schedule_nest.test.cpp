// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loops of schedules for super-graphs: their names tell them apart and do not depend on sizes, their accesses are those of the lowered kernel.
#include <augur/loopnest/features/schedule_nest.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/loopnest/schedule/space.hpp>
#include <augur/search/random.hpp>
#include <augur/search/seen.hpp>

#include "kernels.hpp"

namespace schedule_nest_test {

using namespace augur;

using namespace augur::loopnest;

kernel_task task_of(std::string_view text) {
    auto t = kernel_task::create(*kernel::parse(text), {});
    REQUIRE(t);
    return *std::move(t);
}

std::vector<step_list> some_schedules(const kernel_task& t, std::size_t count) {
    ansor_options options;
    options.num_cores = 2;
    const auto space = ansor_space::create(t.dag(), options);
    REQUIRE(space);
    seen_points seen;
    random_engine rng(7);
    std::vector<decision_vector> points;
    draw_unseen(*space, seen, count, rng, points);
    std::vector<step_list> out;
    for (const auto& p : points)
        if (auto s = space->realise(p)) out.push_back(*std::move(s));
    return out;
}

/// By buffer, how often each element is stored, over all iterations, guards left out.
using stores = std::map<std::pair<std::size_t, std::int64_t>, std::int64_t>;

/// From the lowered kernel, with its own arithmetic of indices.
class kernel_stores {
public:
    explicit kernel_stores(const lowered_kernel& k) : kernel_(k), values_(k.terms) {
        for (const auto n : k.roots) run(k.nests[n], 0);
    }
    stores out;

private:
    const lowered_kernel& kernel_;
    loopnest::detail::term_values values_;

    void run(const lowered_nest& n, std::size_t depth) {
        if (depth == n.loops.size()) {
            ++out[{static_cast<std::size_t>(n.buffer), values_.evaluate(n.index)}];
            return;
        }
        const auto& l = n.loops[depth];
        for (std::int64_t i = 0; i < l.extent; ++i) {
            if (l.term >= 0) values_.set(l.term, i);
            for (const auto a : l.attached) run(kernel_.nests[a], 0);
            run(n, depth + 1);
        }
    }
};

/// From the nest, by its digits.
class nest_stores {
public:
    explicit nest_stores(const loop_nest_builder& n) : nest_(n) { run(0); }
    stores out;

private:
    const loop_nest_builder& nest_;
    std::vector<std::int64_t> at_;

    void run(std::uint32_t node) {
        for (const auto c : nest_.nodes()[node].children) {
            const auto& n = nest_.nodes()[c];
            if (!n.is_loop()) {
                const auto& a = nest_.statements()[n.statement].accesses.back();
                std::int64_t index = a.offset;
                for (const auto& d : a.digits) index += d.at(at_[d.loop]);
                ++out[{a.buffer, index}];
                continue;
            }
            at_.push_back(0);
            for (std::int64_t i = 0; i < n.extent; ++i) {
                at_.back() = i;
                run(c);
            }
            at_.pop_back();
        }
    }
};

std::string names_of(const iterator_features& f) {
    std::string out;
    for (const auto& l : f.loops) out += (out.empty() ? "" : " ") + l.axis + "[" + std::to_string(l.level) + "]";
    return out;
}

} // namespace schedule_nest_test

TEST_CASE("schedule_nest: the loops of a product, by hand") {
    using namespace schedule_nest_test;
    const auto f = schedule_features(task_of("matmul:m=4,n=6,k=8"), {});
    REQUIRE(f);
    CHECK(names_of(*f) == "reduce0.s1[0] reduce0.s0[0] reduce0.r0[0]");
    REQUIRE(f->loops.size() == 3);
    const auto &i = f->loops[0], &k = f->loops[2];
    CHECK(i.length == 4);
    CHECK(k.topdown == 4 * 6 * 8);
    CHECK(k.nest_level == 3);
    CHECK(k.parent == loop_features::no_parent);
    CHECK(k.additions == 1);
    CHECK(k.multiplications == 1);
    REQUIRE(i.touches.size() == 4); // input, input, and the result twice: each step adds to it
    CHECK(f->buffers[i.touches[0].buffer] == "input");
    CHECK(i.touches[0].stride == 8); // a row of the first one
    CHECK(i.touches[0].count == 4 * 8);
    CHECK(i.touches[0].reuse == 6);
    CHECK(i.touches[1].stride == 0); // the second one does not move
    CHECK(i.touches[1].count == 6 * 8);
    CHECK(i.touches[1].reuse == 4);
    for (const std::size_t result : {2U, 3U}) {
        CHECK(f->buffers[i.touches[result].buffer] == "output");
        CHECK(i.touches[result].stride == 6);
        CHECK(i.touches[result].count == 4 * 6);
        CHECK(i.touches[result].reuse == 8);
    }
}

TEST_CASE("schedule_nest: the loops of a tiled convolution with padding, by their names") {
    using namespace schedule_nest_test;
    const auto t = task_of("conv2d:n=1,h=8,w=8,c=4,f=8,k=3,stride=1,pad=1,layout=nhwc,bias,relu");
    const auto plain = schedule_features(t, {});
    REQUIRE(plain);
    CHECK(names_of(*plain) == "before0.s3[0] before0.s2[0] before0.s1[0] before0.s0[0] "
                              "reduce0.s3[0] reduce0.s2[0] reduce0.s1[0] reduce0.s0[0] reduce0.r2[0] reduce0.r1[0] reduce0.r0[0] "
                              "after0.s3[0] after0.s2[0] after0.s1[0] after0.s0[0] output0.s3[0] output0.s2[0] output0.s1[0] output0.s0[0]");
    step_list steps;
    const auto last = static_cast<std::int64_t>(t.dag()->ops.size()) - 1;
    steps.steps.push_back(split_step{last, 3, 8, {4}, true}); // channels
    steps.steps.push_back(fuse_step{last, {0, 1, 2}});        // n, y, x
    steps.steps.push_back(annotate_step{last, 0, loop_annotation::parallel});
    steps.steps.push_back(annotate_step{last, 2, loop_annotation::vectorize});
    const auto tiled = schedule_features(t, steps);
    REQUIRE(tiled);
    const auto names = names_of(*tiled);
    CHECK(names.ends_with("output0.s3s2s1[0] output0.s0[0] output0.s0[1]"));
    const auto& loops = tiled->loops;
    CHECK(loops[loops.size() - 3].annotation == nest_annotation::parallel);
    CHECK(loops[loops.size() - 3].length == 64);
    CHECK(loops.back().annotation == nest_annotation::vectorized);
    CHECK(loops.back().length == 4);
}

TEST_CASE("schedule_nest: stores what the lowered kernel stores, and names tell loops apart") {
    using namespace schedule_nest_test;
    std::size_t checked = 0;
    for (const auto text : small_kernels) {
        CAPTURE(text);
        const auto t = task_of(text);
        std::map<std::string, std::set<std::string>> by_steps; // names by the kinds of the steps
        for (const auto& schedule : some_schedules(t, 12)) {
            loop_state s(t.dag());
            REQUIRE(s.apply(schedule));
            const auto lowered = lower(s);
            if (!lowered) continue;
            loop_nest_builder nest;
            const schedule_nest all{&s, &*lowered};
            loop_nest_traits<schedule_nest>::visit(all, nest);
            REQUIRE(nest.balanced());
            bool plain = true; // indices without quotients of several loops, whose carries a nest does not have
            for (const auto& n : lowered->nests)
                for (const auto& [term, factor] : n.index.terms) plain = plain && lowered->terms[term].type == term_table::term::kind::loop;
            if (plain) {
                CHECK(nest_stores(nest).out == kernel_stores(*lowered).out);
                ++checked;
            }
            const auto f = schedule_features(t, schedule);
            REQUIRE(f);
            std::set<std::pair<std::string, std::uint32_t>> names;
            for (const auto& l : f->loops) CHECK(names.emplace(l.axis, l.level).second);
        }
    }
    CHECK(checked > 100);
}

TEST_CASE("schedule_nest: lengths of splits do not change the names") {
    using namespace schedule_nest_test;
    const auto t = task_of("dense:m=12,n=24,k=16,bias,relu");
    std::string first;
    for (const std::int64_t length : {1, 2, 12}) {
        step_list steps;
        const auto last = static_cast<std::int64_t>(t.dag()->ops.size()) - 1;
        steps.steps.push_back(split_step{last, 0, 12, {length, 1}, true});
        steps.steps.push_back(reorder_step{last, {0, 3, 1, 2}});
        const auto f = schedule_features(t, steps);
        REQUIRE(f);
        if (first.empty()) first = names_of(*f);
        CHECK(names_of(*f) == first);
    }
}

TEST_CASE("schedule_nest: the pragma unrolls the inner loops that it has room for; a step that does not apply is told") {
    using namespace schedule_nest_test;
    const auto t = task_of("matmul:m=4,n=6,k=8");
    const auto result = static_cast<std::int64_t>(t.dag()->ops.size()) - 1;
    step_list steps;
    steps.steps.push_back(pragma_step{result, 0, "auto_unroll_max_step$47"});
    auto f = schedule_features(t, steps);
    REQUIRE(f);
    CHECK(f->loops[1].annotation == nest_annotation::serial);
    CHECK(f->loops[2].annotation == nest_annotation::unrolled);
    std::get<pragma_step>(steps.steps[0]).text = "auto_unroll_max_step$48";
    f = schedule_features(t, steps);
    REQUIRE(f);
    CHECK(f->loops[0].annotation == nest_annotation::serial);
    CHECK(f->loops[1].annotation == nest_annotation::unrolled);
    steps.steps.push_back(annotate_step{99, 0, loop_annotation::parallel});
    f = schedule_features(t, steps);
    REQUIRE_FALSE(f);
    CHECK(f.error().code == errc::illegal_schedule);
}
