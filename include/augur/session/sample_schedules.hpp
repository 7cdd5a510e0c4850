// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_SAMPLE_SCHEDULES_HPP
#define AUGUR_SESSION_SAMPLE_SCHEDULES_HPP

/// @file
/// Random schedules of a kernel, which show what schedules of it look like.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/search/random.hpp>
#include <augur/search/seen.hpp>

namespace augur::inline v0 {

/// At most `count` different schedules.
[[nodiscard]] inline std::vector<step_list> sample_schedules(const loopnest::ansor_space& space, std::size_t count, std::uint64_t seed) {
    seen_points seen;
    random_engine rng(seed);
    std::vector<decision_vector> points;
    draw_unseen(space, seen, count, rng, points);
    std::vector<step_list> out;
    for (const auto& p : points)
        if (auto made = space.realise(p)) out.push_back(*std::move(made));
    return out;
}

} // namespace augur::inline v0

#endif
