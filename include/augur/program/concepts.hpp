// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_CONCEPTS_HPP
#define AUGUR_PROGRAM_CONCEPTS_HPP

/// @file
/// The concept `task_graphlet` (Crop, section 3.1.2): a Boost.Graph model of the instructions of a basic block and their data dependences.

#include <concepts>
#include <cstdint>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>

#include <augur/target/machine_instructions.hpp>

namespace augur::inline v0 {

/// A hardware-independent instruction, the value of a graphlet vertex. `cost_table` decides for a machine how many native instructions it needs and
/// whether the fold hint applies.
struct instruction {
    instruction_class op = instruction_class::unknown;
    element_type type = element_type::i64;
    fold_hint fold = fold_hint::none;
    std::uint32_t lanes = 1; ///< 1 for a scalar

    friend bool operator==(const instruction&, const instruction&) = default;
};

/// How to read the instructions of a graph of type G. The default reads the vertex bundle; specialise it for a graph that stores them elsewhere.
template <class G>
struct graphlet_traits {
    /// A readable property map from vertices to a type that converts to `instruction`.
    static auto instructions(const G& g)
        requires requires { get(boost::vertex_bundle, g); }
    {
        return get(boost::vertex_bundle, g);
    }
};

/// A task graphlet (Crop, section 3.1.2): instructions, with an edge from each instruction to each user of its result.
///
/// Syntax      a VertexListGraph and BidirectionalGraph of Boost.Graph; `get(graphlet_traits<G>::instructions(g), v)` converts to `instruction`
/// Semantics   vertices are in program order; every edge leads from an earlier vertex to a later one. An edge from a store to a load means that the
///             load reads the value of the store
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
