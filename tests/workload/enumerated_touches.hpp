// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_WORKLOAD_ENUMERATED_TOUCHES_HPP
#define AUGUR_TESTS_WORKLOAD_ENUMERATED_TOUCHES_HPP

// What loops touch, by running through all their iterations: the twin of iterator_features.hpp for accesses that reach each element by one combination of
// the loops that move them.

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <augur/workload/iterator_features.hpp>
#include <augur/workload/loop_nest.hpp>

namespace enumerated {

using namespace augur;

/// The loops around a node, from the outermost.
inline std::vector<std::uint32_t> path_of(const loop_nest_builder& nest, std::uint32_t node) {
    std::vector<std::uint32_t> path;
    for (auto at = nest.nodes()[node].parent; at != 0; at = nest.nodes()[at].parent) path.insert(path.begin(), at);
    return path;
}

inline std::int64_t address(const nest_access& a, const std::vector<std::int64_t>& iteration) {
    std::int64_t sum = a.offset;
    for (const auto& d : a.digits) sum += d.at(iteration[d.loop]);
    return sum;
}

/// The elements that the loops path[from...] touch while those outside are in their first iteration, and how many iterations they have.
struct work {
    std::int64_t elements = 0, iterations = 0;
};
inline work work_of(const loop_nest_builder& nest, const std::vector<std::uint32_t>& path, const nest_access& a, std::size_t from) {
    std::set<std::int64_t> elements;
    std::vector<std::int64_t> at(path.size(), 0);
    work w;
    for (;;) {
        elements.insert(address(a, at));
        ++w.iterations;
        std::size_t i = path.size();
        while (i > from && ++at[i - 1] == nest.nodes()[path[i - 1]].extent) at[--i] = 0;
        if (i == from) break;
    }
    w.elements = static_cast<std::int64_t>(elements.size());
    return w;
}

inline int rank_of(nest_annotation a) {
    using enum nest_annotation;
    switch (a) {
    case block_x:
    case block_y:
    case block_z: return 2;
    case thread_x:
    case thread_y:
    case thread_z:
    case parallel: return 1;
    default: return 0;
    }
}

/// Touch of an access by the i-th loop of its path; buffer and access are those of the caller.
inline buffer_touch touch_of(const loop_nest_builder& nest, const std::vector<std::uint32_t>& path, const nest_access& a, std::size_t i) {
    const auto rank = [&](std::size_t l) { return rank_of(nest.nodes()[path[l]].annotation); };
    buffer_touch t;
    const work all = work_of(nest, path, a, i);
    t.count = all.elements;
    t.reuse = all.iterations / all.elements;
    std::vector<std::int64_t> at(path.size(), 0);
    std::set<std::int64_t> steps;
    for (std::int64_t n = 1, last = address(a, at); n < nest.nodes()[path[i]].extent; ++n) {
        at[i] = n;
        steps.insert(address(a, at) - last);
        last = address(a, at);
    }
    if (steps.size() == 1) t.stride = *steps.begin();
    else if (steps.size() > 1) t.stride = 1;                           // TVM sees no coefficient
    for (std::size_t j = i + 1; rank(i) > 0 && j < path.size(); ++j) { // where the work of one thread or block begins
        if (rank(j) + 1 != rank(i) || rank(j - 1) != rank(i)) continue;
        const work one = work_of(nest, path, a, j);
        t.thread_count = all.elements / one.elements;
        t.thread_reuse = t.reuse / (one.iterations / one.elements);
        break;
    }
    return t;
}

} // namespace enumerated

#endif
