// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CROP_FEATURES_HPP
#define AUGUR_LOOPNEST_CROP_FEATURES_HPP

/// @file
/// What Crop asks of the embedded compiler's schedules: features of the program. Needs the component `program` (Boost).

#include <cstddef>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/loopnest/crop/crop_nest.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/program/features.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// For `crop::model`: nothing is compiled, nothing runs.
///
/// Fewer accesses are followed than `nest_options` has by default, for a search asks for thousands: 1 ms a schedule, not 10. Of 512 random schedules
/// of 8 kernels the order is the same (rank correlation with measured times within 0.01).
struct crop_feature_extractor {
    c_options code; ///< as the runner writes it, `native_c_options`
    nest_options nest = few_accesses();

    [[nodiscard]] static nest_options few_accesses() {
        nest_options o;
        o.accesses = 1U << 14U;
        return o;
    }
    /// @note errors: those of applying, lowering, and features_of_nest
    [[nodiscard]] result<program_features> operator()(const kernel_task& t, const step_list& schedule) const {
        loop_state s(t.dag());
        if (auto applied = s.apply(schedule); !applied) return applied.error();
        const auto lowered = lower(s);
        if (!lowered) return lowered.error();
        return crop_features(*lowered, code, nest);
    }
};

} // namespace augur::inline v0::loopnest

#endif
