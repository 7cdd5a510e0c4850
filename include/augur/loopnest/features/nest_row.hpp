// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_FEATURES_NEST_ROW_HPP
#define AUGUR_LOOPNEST_FEATURES_NEST_ROW_HPP

/// @file
/// Feature extractor for boosted trees: one row of `nest_extractor` features per schedule of the embedded compiler.

#include <cstddef>
#include <span>

#include <augur/core/error.hpp>
#include <augur/loopnest/features/nest_features.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// Extractor for `trees_online` and `task_normalised_model`.   Threads: one object per thread
class nest_row {
public:
    explicit nest_row(const nest_target& target) : extractor_(target) {}

    [[nodiscard]] static constexpr std::size_t columns() noexcept { return nest_feature_count; }
    /// @note errors: those of applying the schedule and of `bound`
    [[nodiscard]] result<void> operator()(const kernel_task& t, const step_list& schedule, std::span<float> row) {
        loop_state s(t.dag());
        if (auto applied = s.apply(schedule); !applied) return applied.error();
        return extractor_.extract(s, row);
    }

private:
    nest_extractor extractor_;
};

} // namespace augur::inline v0::loopnest

#endif
