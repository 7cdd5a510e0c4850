// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_SCHEDULE_ROWS_HPP
#define AUGUR_SESSION_SCHEDULE_ROWS_HPP

/// @file
/// Schedules of the embedded compiler as MetaTune's network reads them. Empty without the component metatune (AUGUR_HAS_METATUNE).

#ifdef AUGUR_HAS_METATUNE

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/loopnest/features/schedule_nest.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/metatune/super_graph_text.hpp>
#include <augur/metatune/weights_file.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0 {

/// Rows of the loops of a schedule in the slots of a super-graph. Models `metatune::loop_rows_of`.
///
/// All kernels have one role, for `loopnest::schedule_nest` names their loops alike: a convolution and a product share the slots of their tiles.
/// Threads: concurrent const calls are allowed
class schedule_rows {
public:
    static constexpr std::string_view role = "schedule"; ///< in super-graphs

    schedule_rows(metatune::super_graph graph, metatune::standardisation columns) : graph_(std::move(graph)), columns_(std::move(columns)) {}
    /// Those that a network was trained on.
    /// Errors: version_mismatch, the file has no super-graph of schedules, or one of other columns than the network
    [[nodiscard]] static result<schedule_rows> create(const metatune::trained_network& trained) {
        const auto refused = [](std::string what) { return error{errc::version_mismatch, "metatune weights: expected " + std::move(what)}; };
        auto graph = metatune::parse_super_graph(trained.graph_template);
        if (!graph) return refused("the super-graph that they were trained on; " + graph.error().detail);
        for (const auto& slot : graph->slots())
            if (slot.role != role)
                return refused("weights for the schedules of the embedded compiler, these are for '" + slot.role.substr(0, 40) + "'");
        if (graph->columns() != static_cast<std::size_t>(trained.net.config.features))
            return refused(std::to_string(graph->columns()) + " features a loop, as in the super-graph, got " +
                           std::to_string(trained.net.config.features));
        return schedule_rows(*std::move(graph), trained.columns);
    }

    /// Errors: those of `schedule_features` and `super_graph::place`, not_found names a loop without a slot
    /// Cost: about 0.1 ms, most of it lowering
    [[nodiscard]] result<metatune::loop_rows> operator()(const loopnest::kernel_task& t, const step_list& schedule) const {
        const auto features = loopnest::schedule_features(t, schedule);
        if (!features) return features.error();
        auto rows = graph_.place(*features, role);
        if (!rows) return rows;
        if (auto applied = columns_.apply(*rows); !applied) return applied.error();
        return rows;
    }

    [[nodiscard]] const metatune::super_graph& graph() const noexcept { return graph_; }

private:
    metatune::super_graph graph_;
    metatune::standardisation columns_;
};

} // namespace augur::inline v0

#endif // AUGUR_HAS_METATUNE

#endif
