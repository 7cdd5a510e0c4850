// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_LOOPNEST_RANDOM_SCHEDULE_HPP
#define AUGUR_TESTS_LOOPNEST_RANDOM_SCHEDULE_HPP

// Random steps, legal or not, without regard to any sketch: what the state accepts must compute the right result.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/schedule/state.hpp>

namespace random_schedule {

using namespace augur;

using namespace augur::loopnest;

inline transform_step step(const loop_state& s, augur::random_engine& rng) {
    const auto pick = [&](std::size_t n) { return static_cast<std::int64_t>(rng.below(n == 0 ? 1 : n)); };
    const auto stage = pick(s.stages().size());
    const auto& st = s.stages()[static_cast<std::size_t>(stage)];
    const auto loops = st.iters.size();
    const auto loop = pick(loops);
    switch (rng.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3: {
        split_step x{stage, loop, 0, {}, rng.below(10) != 0};
        const auto parts = 1 + rng.below(3);
        for (std::uint64_t k = 0; k < parts; ++k) x.lengths.push_back(1 + pick(5));
        return x;
    }
    case 4: {
        fuse_step x{stage, {loop}};
        if (static_cast<std::size_t>(loop) + 1 < loops) x.iters.push_back(loop + 1);
        return x;
    }
    case 5:
    case 6: {
        reorder_step x{stage, {}};
        for (std::size_t i = 0; i < loops; ++i) x.order.push_back(static_cast<std::int64_t>(i));
        if (rng.below(2) == 0) rng.shuffle(std::span<std::int64_t>(x.order));
        else if (loops > 1) std::swap(x.order[static_cast<std::size_t>(pick(loops))], x.order[static_cast<std::size_t>(pick(loops))]);
        return x;
    }
    case 7:
    case 8:
    case 9: {
        const auto target = stage + 1 + pick(s.stages().size() - static_cast<std::size_t>(stage));
        const auto n = static_cast<std::size_t>(target) < s.stages().size() ? s.stages()[static_cast<std::size_t>(target)].iters.size() : 1;
        return compute_at_step{stage, target, pick(n)};
    }
    case 10: return compute_inline_step{stage};
    case 11: return cache_write_step{stage, "local"};
    case 12: return rfactor_step{stage, loop, pick(3)};
    case 13: return annotate_step{stage, loop, rng.below(2) == 0 ? loop_annotation::vectorize : loop_annotation::parallel};
    case 14: return pragma_step{stage, loop, rng.below(2) == 0 ? "auto_unroll_max_step$16" : "auto_unroll_max_step$512"};
    default: {
        for (std::size_t i = s.steps().size(); i-- > 0;)
            if (const auto* from = std::get_if<split_step>(&s.steps()[i]))
                return follow_split_step{stage, loop, static_cast<std::int64_t>(i), 1 + pick(from->lengths.size() + 1)};
        return cache_read_step{stage, "local", {stage + 1}};
    }
    }
}

/// A state with some random steps that can be lowered. The steps that are refused are left out.
inline loop_state sample(std::shared_ptr<const compute_dag> dag, augur::random_engine& rng, int tries) {
    loop_state s(std::move(dag));
    for (int i = 0; i < tries; ++i) {
        auto next = s;
        if (!next.apply(step(s, rng))) continue;
        if (!lower(next)) continue;
        s = std::move(next);
    }
    return s;
}

} // namespace random_schedule

#endif
