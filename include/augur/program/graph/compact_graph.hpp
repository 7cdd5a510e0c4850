// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_GRAPH_COMPACT_GRAPH_HPP
#define AUGUR_PROGRAM_GRAPH_COMPACT_GRAPH_HPP

/// @file
/// A directed graph of fixed shape in compressed sparse row (CSR) form, with successor and predecessor lists and a value at each vertex and edge. It
/// models VertexListGraph, EdgeListGraph and BidirectionalGraph of Boost.Graph; vertex and edge bundles and the vertex index are property maps.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// The value type of edges without a value.
struct no_label {
    friend bool operator==(no_label, no_label) = default;
};

namespace detail {

/// Iterator over make(0), make(1), make(2), ...: used for every vertex and edge list of a compact_graph.
template <class Make>
class index_iterator {
public:
    using value_type = decltype(std::declval<const Make&>()(std::uint32_t{}));
    using reference = value_type;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag; // Boost.Graph reads the category and accepts a reference that is a value

    index_iterator() = default;
    index_iterator(std::uint32_t at, Make make) : at_(at), make_(make) {}
    value_type operator*() const { return make_(at_); }
    value_type operator[](difference_type n) const { return make_(static_cast<std::uint32_t>(static_cast<difference_type>(at_) + n)); }
    index_iterator& operator++() { return ++at_, *this; }
    index_iterator& operator--() { return --at_, *this; }
    index_iterator operator++(int) { return {at_++, make_}; }
    index_iterator operator--(int) { return {at_--, make_}; }
    index_iterator& operator+=(difference_type n) { return at_ = static_cast<std::uint32_t>(static_cast<difference_type>(at_) + n), *this; }
    index_iterator& operator-=(difference_type n) { return *this += -n; }
    friend index_iterator operator+(index_iterator i, difference_type n) { return i += n; }
    friend index_iterator operator+(difference_type n, index_iterator i) { return i += n; }
    friend index_iterator operator-(index_iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(const index_iterator& a, const index_iterator& b) {
        return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
    }
    friend bool operator==(const index_iterator& a, const index_iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const index_iterator& a, const index_iterator& b) { return a.at_ <=> b.at_; }

private:
    std::uint32_t at_ = 0;
    Make make_{};
};

} // namespace detail

/// A directed graph with a `V` at each vertex and an `E` at each edge. Vertices are numbered 0, 1, 2, ... in the order of the constructor's argument;
/// the out-edges of a vertex keep the order of the argument. Values may be changed, the shape may not.
/// Limits     2^32 - 2 vertices, 2^32 - 2 edges
template <class V, class E = no_label>
class compact_graph {
public:
    using vertex_descriptor = std::uint32_t;
    struct edge_descriptor {
        std::uint32_t source = 0;
        std::uint32_t target = 0;
        std::uint32_t index = 0; ///< number of the edge; edges are sorted by source
        friend bool operator==(const edge_descriptor&, const edge_descriptor&) = default;
        friend auto operator<=>(const edge_descriptor&, const edge_descriptor&) = default;
    };
    struct new_edge {
        std::uint32_t source = 0;
        std::uint32_t target = 0;
        E label{};
    };

    compact_graph() = default;
    /// pre: `source` and `target` of every edge are vertices. O(V + E)
    compact_graph(std::vector<V> vertices, std::vector<new_edge> edges) : vertices_(std::move(vertices)) {
        const std::size_t n = vertices_.size();
        if (n == 0) return; // equal to a default-constructed graph
        out_.assign(n + 1, 0);
        in_.assign(n + 1, 0);
        for (const auto& e : edges) {
            AUGUR_ASSERT(e.source < n && e.target < n, "compact_graph: an edge without its end");
            ++out_[e.source + 1];
            ++in_[e.target + 1];
        }
        for (std::size_t v = 0; v < n; ++v) {
            out_[v + 1] += out_[v];
            in_[v + 1] += in_[v];
        }
        auto next_out = out_;
        auto next_in = in_;
        source_.resize(edges.size());
        target_.resize(edges.size());
        in_edge_.resize(edges.size());
        labels_.resize(edges.size());
        for (auto& e : edges) {
            const auto at = next_out[e.source]++;
            source_[at] = e.source;
            target_[at] = e.target;
            labels_[at] = std::move(e.label);
        }
        for (std::uint32_t at = 0; at < edges.size(); ++at) in_edge_[next_in[target_[at]]++] = at;
    }

    [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
    [[nodiscard]] std::size_t edge_count() const noexcept { return target_.size(); }
    [[nodiscard]] const V& operator[](vertex_descriptor v) const noexcept { return vertices_[v]; }
    [[nodiscard]] V& operator[](vertex_descriptor v) noexcept { return vertices_[v]; }
    [[nodiscard]] const E& operator[](const edge_descriptor& e) const noexcept { return labels_[e.index]; }
    [[nodiscard]] E& operator[](const edge_descriptor& e) noexcept { return labels_[e.index]; }
    [[nodiscard]] edge_descriptor edge(std::uint32_t index) const noexcept { return {source_[index], target_[index], index}; }

    /// (V) the values of the vertices.
    [[nodiscard]] std::span<const V> values() const noexcept { return vertices_; }
    /// (V + 1) row offsets: the out-edges of vertex v are rows()[v] ... rows()[v + 1] - 1. Empty when there are no vertices.
    [[nodiscard]] std::span<const std::uint32_t> rows() const noexcept { return out_; }
    /// (E) the target of each edge; edges are sorted by source.
    [[nodiscard]] std::span<const std::uint32_t> targets() const noexcept { return target_; }
    /// The number of in-edges of a vertex.
    [[nodiscard]] std::uint32_t predecessors(vertex_descriptor v) const noexcept { return in_[v + 1] - in_[v]; }

    friend bool operator==(const compact_graph&, const compact_graph&) = default;

    // Requirements of Boost.Graph, read by boost::graph_traits.
    using directed_category = boost::bidirectional_tag;
    using edge_parallel_category = boost::allow_parallel_edge_tag;
    struct traversal_category : boost::vertex_list_graph_tag, boost::edge_list_graph_tag, boost::bidirectional_graph_tag {};
    using vertices_size_type = std::size_t;
    using edges_size_type = std::size_t;
    using degree_size_type = std::size_t;
    using adjacency_iterator = void;
    using vertex_bundled = V;
    using edge_bundled = E;

private:
    struct make_vertex {
        vertex_descriptor operator()(std::uint32_t i) const { return i; }
    };
    struct make_out {
        const compact_graph* g = nullptr;
        edge_descriptor operator()(std::uint32_t i) const { return g->edge(i); }
    };
    struct make_in {
        const compact_graph* g = nullptr;
        edge_descriptor operator()(std::uint32_t i) const { return g->edge(g->in_edge_[i]); }
    };

public:
    using vertex_iterator = detail::index_iterator<make_vertex>;
    using out_edge_iterator = detail::index_iterator<make_out>;
    using edge_iterator = detail::index_iterator<make_out>;
    using in_edge_iterator = detail::index_iterator<make_in>;

    static vertex_descriptor null_vertex() noexcept { return static_cast<vertex_descriptor>(-1); }

    friend std::pair<vertex_iterator, vertex_iterator> vertices(const compact_graph& g) {
        return {{0, {}}, {static_cast<std::uint32_t>(g.size()), {}}};
    }
    friend std::pair<edge_iterator, edge_iterator> edges(const compact_graph& g) {
        return {{0, {&g}}, {static_cast<std::uint32_t>(g.edge_count()), {&g}}};
    }
    friend std::pair<out_edge_iterator, out_edge_iterator> out_edges(vertex_descriptor v, const compact_graph& g) {
        return {{g.out_[v], {&g}}, {g.out_[v + 1], {&g}}};
    }
    friend std::pair<in_edge_iterator, in_edge_iterator> in_edges(vertex_descriptor v, const compact_graph& g) {
        return {{g.in_[v], {&g}}, {g.in_[v + 1], {&g}}};
    }
    friend std::size_t num_vertices(const compact_graph& g) { return g.size(); }
    friend std::size_t num_edges(const compact_graph& g) { return g.edge_count(); }
    friend std::size_t out_degree(vertex_descriptor v, const compact_graph& g) { return g.out_[v + 1] - g.out_[v]; }
    friend std::size_t in_degree(vertex_descriptor v, const compact_graph& g) { return g.in_[v + 1] - g.in_[v]; }
    friend std::size_t degree(vertex_descriptor v, const compact_graph& g) { return out_degree(v, g) + in_degree(v, g); }
    friend vertex_descriptor source(const edge_descriptor& e, const compact_graph&) { return e.source; }
    friend vertex_descriptor target(const edge_descriptor& e, const compact_graph&) { return e.target; }

    /// A readable property map of the values of vertices or edges.
    template <class Key, class Value>
    struct bundle_map {
        using key_type = Key;
        using value_type = Value;
        using reference = const Value&;
        using category = boost::readable_property_map_tag;
        const compact_graph* g = nullptr;
        friend reference get(const bundle_map& m, const Key& k) { return (*m.g)[k]; }
    };
    friend bundle_map<vertex_descriptor, V> get(boost::vertex_bundle_t, const compact_graph& g) { return {&g}; }
    friend bundle_map<edge_descriptor, E> get(boost::edge_bundle_t, const compact_graph& g) { return {&g}; }
    friend boost::identity_property_map get(boost::vertex_index_t, const compact_graph&) { return {}; }
    friend vertex_descriptor get(boost::vertex_index_t, const compact_graph&, vertex_descriptor v) { return v; }

private:
    std::vector<V> vertices_;
    std::vector<std::uint32_t> out_, in_; // (V + 1)
    std::vector<std::uint32_t> source_, target_, in_edge_;
    std::vector<E> labels_;
};

} // namespace augur::inline v0

/// The vertex index map, for algorithms of Boost.Graph.
template <class V, class E>
struct boost::property_map<augur::compact_graph<V, E>, boost::vertex_index_t> {
    using type = boost::identity_property_map;
    using const_type = type;
};

#endif
