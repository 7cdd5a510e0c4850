// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/concepts.hpp>

#include <augur/program/graph/graphlet.hpp>
#include <augur/program/graph/dot.hpp>
#include <augur/program/pipeline/simulator.hpp>

#include <string>
#include <utility>
#include <vector>

#include <augur/target/machine_presets.hpp>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/topological_sort.hpp>
#include <doctest/doctest.h>

using namespace augur;

namespace {

using op = instruction_class;

/// Somebody's instruction, which knows how it is said in our words.
struct their_instruction {
    std::string mnemonic;
    operator instruction() const { return {mnemonic == "ld" ? op::load : op::fadd, element_type::f32, fold_hint::none, 4}; }
};
using bundled = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, instruction>;
using converted = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, their_instruction>;

/// A graph in lists, whose descriptors are pointers, with the instructions under a key of their own.
struct instruction_key {
    using kind = boost::vertex_property_tag;
};
using keyed = boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS, boost::property<instruction_key, instruction>>;

/// Exactly what the concept asks for, and nothing more.
struct archetype {
    archetype() = delete;
    explicit archetype(int) {}
    archetype(const archetype&) = delete;

    struct vertex {
        int at = 0;
        friend bool operator==(const vertex&, const vertex&) = default;
        friend bool operator<(const vertex& a, const vertex& b) { return a.at < b.at; }
    };
    struct edge {};
    struct vertex_walk {
        int at = 0;
        vertex operator*() const { return {at}; }
        vertex_walk& operator++() { return ++at, *this; }
        friend bool operator==(const vertex_walk&, const vertex_walk&) = default;
    };
    struct edge_walk {
        int left = 0;
        edge operator*() const { return {}; }
        edge_walk& operator++() { return --left, *this; }
        friend bool operator==(const edge_walk&, const edge_walk&) = default;
    };
    using vertex_descriptor = vertex;
    using edge_descriptor = edge;
    using vertex_iterator = vertex_walk;
    using out_edge_iterator = edge_walk;
    using in_edge_iterator = edge_walk;
    using adjacency_iterator = void;
    using edge_iterator = void;
    using directed_category = boost::bidirectional_tag;
    using edge_parallel_category = boost::allow_parallel_edge_tag;
    struct traversal_category : boost::vertex_list_graph_tag, boost::bidirectional_graph_tag {};
    using vertices_size_type = std::size_t;
    using edges_size_type = std::size_t;
    using degree_size_type = std::size_t;

    struct map {};
    friend instruction get(map, const vertex& v) { return {v.at == 0 ? op::load : op::fmul, element_type::f32, fold_hint::none, 8}; }
    friend std::pair<vertex_walk, vertex_walk> vertices(const archetype&) { return {{0}, {2}}; }
    friend std::pair<edge_walk, edge_walk> out_edges(const vertex& v, const archetype&) { return {{v.at == 0 ? 1 : 0}, {0}}; } // 0 -> 1
    friend vertex target(edge, const archetype&) { return {1}; }
};

using undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, int>;
using forward_only = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, instruction>;
using wrong_value = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, std::string>;

} // namespace

template <>
struct augur::graphlet_traits<keyed> {
    static auto instructions(const keyed& g) { return get(instruction_key(), g); }
};
template <>
struct augur::graphlet_traits<archetype> {
    static archetype::map instructions(const archetype&) { return {}; }
};

static_assert(task_graphlet<graphlet> && task_graphlet<bundled> && task_graphlet<converted> && task_graphlet<keyed> && task_graphlet<archetype>);
static_assert(!task_graphlet<forward_only> && !task_graphlet<wrong_value> && !task_graphlet<undirected>);
template augur::result<graphlet> augur::to_graphlet(const archetype&); // bodies need no more than the concept asks
template std::string augur::graphlet_to_dot(const archetype&, std::string_view);

TEST_CASE("graphlet: ours is a Boost.Graph") {
    BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<graphlet>));
    BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<graphlet>));
    BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<graphlet>));
    BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<graphlet, graphlet::vertex_descriptor, boost::vertex_index_t>));
    graphlet_builder b;
    const auto x = b.add({op::load, element_type::f32, fold_hint::none, 8});
    const auto y = b.add({op::load, element_type::f32, fold_hint::none, 8});
    const auto p = b.add({op::fmul, element_type::f32, fold_hint::multiply_add, 8}, {x, y});
    b.add({op::fadd, element_type::f32, fold_hint::none, 8}, {p, p});
    const auto g = std::move(b).take();
    CHECK(num_vertices(g) == 4);
    CHECK(num_edges(g) == 4);
    CHECK(degree(p, g) == 4);
    std::vector<graphlet::vertex_descriptor> order;
    boost::topological_sort(g, std::back_inserter(order)); // an algorithm of Boost's takes it as it is
    CHECK(order.size() == 4);
    CHECK(order.front() == 3);
    std::size_t in = 0;
    const auto [first, last] = in_edges(3, g);
    for (auto e = first; e != last; ++e) {
        CHECK(source(*e, g) == p);
        CHECK(target(*e, g) == 3);
        ++in;
    }
    CHECK(in == 2);
    CHECK(get(get(boost::vertex_bundle, g), p).op == op::fmul);
}

TEST_CASE("graphlet: foreign graphs become ours, whatever their descriptors are") {
    bundled by_number;
    keyed by_pointer;
    graphlet_builder ours;
    std::vector<keyed::vertex_descriptor> pointers;
    for (int i = 0; i < 6; ++i) {
        const instruction what{i < 3 ? op::load : op::fma, element_type::f32, i == 1 ? fold_hint::splat : fold_hint::none, 16};
        add_vertex(what, by_number);
        pointers.push_back(add_vertex(by_pointer));
        put(instruction_key(), by_pointer, pointers.back(), what);
        ours.add(what);
    }
    for (const auto& [from, to] : {std::pair{0U, 3U}, {1U, 3U}, {3U, 4U}, {2U, 5U}, {4U, 5U}}) {
        add_edge(from, to, by_number);
        add_edge(pointers[from], pointers[to], by_pointer);
        ours.after(from, to);
    }
    const auto g = std::move(ours).take();
    const auto a = to_graphlet(by_number), b = to_graphlet(by_pointer);
    REQUIRE(a);
    REQUIRE(b);
    CHECK(*a == g);
    CHECK(*b == g);
    CHECK(content_hash(*a) == content_hash(g));
    CHECK(*to_graphlet(g) == g);
    CHECK(graphlet_to_dot(by_pointer) == graphlet_to_dot(g));
    add_edge(5, 1, by_number);
    const auto back = to_graphlet(by_number);
    REQUIRE(!back);
    CHECK(back.error().code == errc::invalid_argument);
    CHECK(back.error().detail == "graphlet: an edge from vertex 5 to 1, expected one to a later vertex");
    const auto small = to_graphlet(archetype(0));
    REQUIRE(small);
    const cost_table costs(epyc_zen4());
    pipeline pipe(costs, {unit_model::ideal, false});
    CHECK(pipe.block(*small) == 4 + 3);
}

TEST_CASE("graphlet: equal content, equal hash, and any change is another") {
    const auto make = [](int what) {
        graphlet_builder b;
        const auto x = b.add({what == 1 ? op::store : op::load, what == 2 ? element_type::f64 : element_type::f32,
                              what == 3 ? fold_hint::operand : fold_hint::none, what == 4 ? 8U : 16U});
        const auto y = b.add({op::load, element_type::f32, fold_hint::none, 1});
        b.add({op::fadd, element_type::f32, fold_hint::none, 16}, {what == 5 ? y : x});
        if (what == 6) b.after(x, y);
        return content_hash(std::move(b).take());
    };
    CHECK(make(0) == make(0));
    CHECK(make(0) == 0x869C9ABCD21B0A7ULL); // files and machines agree: it never changes
    for (int i = 1; i <= 6; ++i) CHECK(make(0) != make(i));
}

TEST_CASE("graphlet: dot") {
    graphlet_builder b;
    const auto x = b.add({op::load, element_type::f32, fold_hint::operand, 16});
    b.add({op::fadd, element_type::f32, fold_hint::none, 1}, {x});
    CHECK(graphlet_to_dot(std::move(b).take(), "a \"b\" \\ c\n") == "digraph \"a \\\"b\\\" \\\\ c\" {\n"
                                                                    "  v0 [label=\"0 load f32x16 (operand)\"];\n"
                                                                    "  v1 [label=\"1 fadd f32\"];\n"
                                                                    "  v0 -> v1;\n"
                                                                    "}\n");
    const control_flow_graph flow({{"entry", {}, 1}, {"body \"x\"", {}, 10}}, {{0, 1, {1, {}}}, {1, 1, {9, {}}}});
    CHECK(control_flow_to_dot(flow, "f") == "digraph \"f\" {\n"
                                            "  node [shape=box];\n"
                                            "  b0 [label=\"entry: 0 instructions, 1 times\"];\n"
                                            "  b1 [label=\"body \\\"x\\\": 0 instructions, 10 times\"];\n"
                                            "  b0 -> b1 [label=\"1\"];\n"
                                            "  b1 -> b1 [label=\"9\"];\n"
                                            "}\n");
}
