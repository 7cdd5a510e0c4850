// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_FEATURES_NEST_ROW_HPP
#define AUGUR_LOOPNEST_FEATURES_NEST_ROW_HPP

/// @file
/// What boosted trees ask of the embedded compiler's schedules: a row of numbers.

#include <cstddef>
#include <span>

#include <augur/core/error.hpp>
#include <augur/loopnest/features/nest_features.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// For `trees_online` and `task_normalised_model`: the numbers of `nest_extractor`.   Threads: one each
class nest_row {
public:
    explicit nest_row(const nest_target& on) : extractor_(on) {}

    [[nodiscard]] static constexpr std::size_t columns() noexcept { return nest_feature_count; }
    /// @note errors: those of applying and of `bound`
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
