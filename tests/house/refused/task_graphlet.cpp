// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/concepts.hpp>

#include <boost/graph/adjacency_list.hpp>

#if FAIL // who reads a graphlet asks what comes before a vertex
using sides = boost::directedS;
#else
using sides = boost::bidirectionalS;
#endif
using graph = boost::adjacency_list<boost::vecS, boost::vecS, sides, augur::instruction>;

template <augur::task_graphlet G>
void simulate(const G&) {}
void check(const graph& g) { simulate(g); }
