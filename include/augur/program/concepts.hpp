// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_CONCEPTS_HPP
#define AUGUR_PROGRAM_CONCEPTS_HPP

/// @file
/// What the library asks of a task graphlet: the instructions of a basic block and what must be done before what.

#include <concepts>
#include <cstdint>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>

#include <augur/target/machine_instructions.hpp>

namespace augur::inline v0 {

/// What stands at a vertex of a graphlet. Nothing in it belongs to a machine: how many native instructions so many lanes are, and what becomes of the
/// hint, is decided when a machine is at hand.
struct instruction {
    instruction_class op = instruction_class::unknown;
    element_type type = element_type::i64;
    fold_hint fold = fold_hint::none;
    std::uint32_t lanes = 1; ///< 1 for a scalar

    friend bool operator==(const instruction&, const instruction&) = default;
};

/// How to read the instructions of a graph of type G. The default takes the bundled property of its vertices; specialise it for a graph that keeps
/// them elsewhere.
template <class G>
struct graphlet_traits {
    /// A readable property map from vertices to what converts to `instruction`.
    static auto instructions(const G& g)
        requires requires { get(boost::vertex_bundle, g); }
    {
        return get(boost::vertex_bundle, g);
    }
};

/// A task graphlet (Crop, section 3.1.2): instructions, and an edge from each to those that need its result.
///
/// Syntax      a VertexListGraph and BidirectionalGraph of Boost.Graph; `get(graphlet_traits<G>::instructions(g), v)` converts to `instruction`
/// Semantics   vertices come in program order; every edge leads from an earlier vertex to a later one. An edge from a store to a load means that the
/// load
///             reads what the store wrote
/// Cost        reading is linear in vertices and edges
/// Threads     concurrent reads of one const graph are allowed
template <class G>
concept task_graphlet = std::convertible_to<typename boost::graph_traits<G>::traversal_category, boost::vertex_list_graph_tag> &&
                        std::convertible_to<typename boost::graph_traits<G>::traversal_category, boost::bidirectional_graph_tag> &&
                        requires(const G& g, typename boost::graph_traits<G>::vertex_descriptor v) {
                            { get(graphlet_traits<G>::instructions(g), v) } -> std::convertible_to<instruction>;
                        };

} // namespace augur::inline v0

#endif
