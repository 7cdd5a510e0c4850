// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_NEST_ROWS_HPP
#define AUGUR_METATUNE_NEST_ROWS_HPP

/// @file
/// Candidates of a compiler of your own as a trained network reads them: their loop nests in the slots of its super-graph, standardised.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/printable.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/metatune/super_graph_text.hpp>
#include <augur/metatune/weights_file.hpp>
#include <augur/workload/iterator_features.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0 {
namespace metatune {

namespace detail {
template <class R>
concept nest_result =
    std::same_as<R, result<typename R::value_type>> && (loop_nest<typename R::value_type> || std::same_as<typename R::value_type, iterator_features>);
}

/// Rows of the loops of a candidate. Models `loop_rows_of` for the tasks and schedules of `NestOf`.
///
/// NestOf  `nest_of(task, schedule) -> result<N>`, where N is a `loop_nest`, or `iterator_features` if you change what `iterator_features_of` returns.
///         Equal arguments give equal nests; an error: the candidate has no loops
/// Role    a string, the role of all tasks in the super-graph; or a function of the task that returns its role
/// Threads concurrent const calls are allowed if `NestOf` and `Role` allow them
template <class NestOf, class Role = std::string>
class nest_rows {
public:
    /// Rows for training. With an empty standardisation they are what `standardise` (samples.hpp) takes.
    nest_rows(super_graph graph, standardisation columns, NestOf nest_of, Role role)
        : graph_(std::move(graph)), columns_(std::move(columns)), nest_of_(std::move(nest_of)), role_(std::move(role)) {}

    /// Rows for a trained network: with the super-graph and the standardisation of its weights file.
    /// Errors: version_mismatch, the file has no super-graph, one of other columns than the network, or one without the role
    [[nodiscard]] static result<nest_rows> create(const trained_network& trained, NestOf nest_of, Role role) {
        const auto refused = [](std::string what) { return error{errc::version_mismatch, "metatune weights: expected " + std::move(what)}; };
        auto graph = parse_super_graph(trained.graph_template);
        if (!graph) return refused("the super-graph that they were trained on; " + graph.error().detail);
        if (graph->columns() != static_cast<std::size_t>(trained.net.config.features))
            return refused(std::to_string(graph->columns()) + " features a loop, as in the super-graph, got " +
                           std::to_string(trained.net.config.features));
        if constexpr (std::convertible_to<const Role&, std::string_view>) {
            const std::string_view wanted = role;
            const auto& slots = graph->slots();
            if (std::none_of(slots.begin(), slots.end(), [&](const loop_slot& s) { return s.parent == loop_rows::no_parent && s.role == wanted; }))
                return refused("weights for the role '" + printable(wanted.substr(0, 40)) +
                               (slots.empty() ? "', their super-graph is empty" : "', these are for '" + slots.front().role.substr(0, 40) + "'"));
        }
        return nest_rows(*std::move(graph), trained.columns, std::move(nest_of), std::move(role));
    }

    /// Errors: those of `NestOf`, `iterator_features_of`, `super_graph::place` (not_found names a loop without a slot) and `standardisation::apply`
    template <class Task, class S>
        requires requires(const NestOf& f, const Task& t, const S& s) {
            { f(t, s) } -> detail::nest_result;
        }
    [[nodiscard]] result<loop_rows> operator()(const Task& task, const S& schedule) const {
        const auto nest = nest_of_(task, schedule);
        if (!nest) return nest.error();
        if constexpr (std::same_as<std::remove_cvref_t<decltype(*nest)>, iterator_features>) {
            return rows_of_features(task, *nest);
        } else {
            const auto features = iterator_features_of(*nest);
            if (!features) return features.error();
            return rows_of_features(task, *features);
        }
    }

    [[nodiscard]] const super_graph& graph() const noexcept { return graph_; }

private:
    template <class Task>
    [[nodiscard]] result<loop_rows> rows_of_features(const Task& task, const iterator_features& features) const {
        auto rows = [&] {
            if constexpr (std::convertible_to<const Role&, std::string_view>) return graph_.place(features, role_);
            else return graph_.place(features, role_(task));
        }();
        if (!rows) return rows;
        if (auto applied = columns_.apply(*rows); !applied) return applied.error();
        return rows;
    }

    super_graph graph_;
    standardisation columns_;
    NestOf nest_of_;
    Role role_;
};

template <class NestOf>
nest_rows(super_graph, standardisation, NestOf, const char*) -> nest_rows<NestOf>;

} // namespace metatune
} // namespace augur::inline v0

#endif
