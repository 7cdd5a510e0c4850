// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_INSERTED_STAGE_HPP
#define AUGUR_LOOPNEST_DETAIL_INSERTED_STAGE_HPP

/// @file
/// Which step of a schedule inserted a stage: a cache write (CHW), a cache read (CHR) or an rfactor (RF).

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest::detail {

/// The step that inserted stage `stage`, which is numbered as after all of `steps`; null if the stage is one of the kernel. Steps use the stage
/// numbers that are valid at their time. O(steps).
inline const transform_step* step_that_inserted(std::span<const transform_step> steps, std::size_t stage) {
    auto s = static_cast<std::int64_t>(stage);
    for (auto i = steps.size(); i-- > 0;) {
        std::int64_t inserted = -1;
        if (const auto* w = std::get_if<cache_write_step>(&steps[i])) inserted = w->stage;
        else if (const auto* r = std::get_if<cache_read_step>(&steps[i])) inserted = r->stage + 1;
        else if (const auto* f = std::get_if<rfactor_step>(&steps[i])) inserted = f->stage;
        if (inserted < 0) continue;
        if (s == inserted) return &steps[i];
        if (s > inserted) --s;
    }
    return nullptr;
}

/// True if a cache read inserted stage `stage`.
inline bool is_cache_read(std::span<const transform_step> steps, std::size_t stage) {
    const auto* step = step_that_inserted(steps, stage);
    return step != nullptr && std::holds_alternative<cache_read_step>(*step);
}

} // namespace augur::inline v0::loopnest::detail

#endif
