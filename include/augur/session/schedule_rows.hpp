// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_SCHEDULE_ROWS_HPP
#define AUGUR_SESSION_SCHEDULE_ROWS_HPP

/// @file
/// Schedules of the embedded compiler as MetaTune's network reads them. Empty without the component metatune (AUGUR_HAS_METATUNE).

#ifdef AUGUR_HAS_METATUNE

#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/loopnest/features/schedule_nest.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/metatune/nest_rows.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/metatune/weights_file.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/workload/iterator_features.hpp>

namespace augur::inline v0 {

namespace detail {
struct features_of_schedule {
    [[nodiscard]] result<iterator_features> operator()(const loopnest::kernel_task& t, const step_list& schedule) const {
        return loopnest::schedule_features(t, schedule);
    }
};
} // namespace detail

/// Rows of the loops of a schedule in the slots of a super-graph. Models `metatune::loop_rows_of`.
///
/// All kernels have one role, for `loopnest::schedule_nest` names their loops alike: a convolution and a product share the slots of their tiles.
/// Cost: about 0.1 ms a schedule, most of it lowering
/// Threads: concurrent const calls are allowed
class schedule_rows : public metatune::nest_rows<detail::features_of_schedule> {
public:
    static constexpr std::string_view role = "schedule"; ///< in super-graphs

    schedule_rows(metatune::super_graph graph, metatune::standardisation columns)
        : nest_rows(std::move(graph), std::move(columns), {}, std::string(role)) {}
    /// Those that a network was trained on.   Errors: those of `nest_rows::create`
    [[nodiscard]] static result<schedule_rows> create(const metatune::trained_network& trained) {
        auto rows = nest_rows::create(trained, {}, std::string(role));
        if (!rows) return rows.error();
        return schedule_rows(*std::move(rows));
    }

private:
    explicit schedule_rows(nest_rows rows) : nest_rows(std::move(rows)) {}
};

} // namespace augur::inline v0

#endif // AUGUR_HAS_METATUNE

#endif
