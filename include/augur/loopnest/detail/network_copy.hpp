// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_NETWORK_COPY_HPP
#define AUGUR_LOOPNEST_DETAIL_NETWORK_COPY_HPP

/// @file
/// C for the nodes of a network that move elements: slices, permutations, concatenations.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/workload/network_graph.hpp>

namespace augur::inline v0::loopnest::detail {

/// Loops that copy elements from one tensor to another, outermost first.
struct copy_nest {
    struct loop {
        std::int64_t extent, read, write; ///< strides in elements
    };
    std::vector<loop> loops;
    std::int64_t read_offset = 0, write_offset = 0;

    void add(std::int64_t extent, std::int64_t read, std::int64_t write) {
        if (extent == 1) return;
        if (!loops.empty() && loops.back().read == read * extent && loops.back().write == write * extent)
            loops.back() = {loops.back().extent * extent, read, write};
        else loops.push_back({extent, read, write});
    }

    /// A function for `launch` over the outermost loop; its context is an array of the two tensors.
    [[nodiscard]] std::string function(const std::string& name) const {
        std::string out = "static void " + name +
                          "(void *context, int64_t begin, int64_t end) {\n    const float *x = ((float *const *)context)[0] + " +
                          std::to_string(read_offset) + ";\n    float *y = ((float *const *)context)[1] + " + std::to_string(write_offset) + ";\n";
        std::string from, to;
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const auto v = "i" + std::to_string(i);
            out += "    for (int64_t " + v + " = " + (i == 0 ? "begin" : "0") + "; " + v + " < " +
                   (i == 0 ? "end" : std::to_string(loops[i].extent)) + "; ++" + v + ")\n";
            from += (i == 0 ? "" : " + ") + v + " * " + std::to_string(loops[i].read);
            to += (i == 0 ? "" : " + ") + v + " * " + std::to_string(loops[i].write);
        }
        return out + "    y[" + (to.empty() ? "0" : to) + "] = x[" + (from.empty() ? "0" : from) + "];\n}\n";
    }
    [[nodiscard]] std::int64_t count() const { return loops.empty() ? 1 : loops.front().extent; }
};

/// The copies of a node, one an input; none for a node that moves nothing.
inline std::vector<copy_nest> copies_of(const network_graph& g, std::size_t node) {
    std::vector<copy_nest> out;
    if (const auto* copy = std::get_if<strided_copy>(&g.nodes()[node].action)) {
        copy_nest nest;
        nest.read_offset = copy->offset;
        auto dense = elements_of(copy->shape);
        for (std::size_t a = 0; a < copy->shape.size(); ++a) {
            dense /= copy->shape[a];
            nest.add(copy->shape[a], copy->strides[a], dense);
        }
        out.push_back(std::move(nest));
    } else if (const auto* join = std::get_if<concatenation>(&g.nodes()[node].action)) {
        std::int64_t outer = 1, inner = 1, offset = 0;
        const auto& shape = g.shape_of(node);
        for (std::size_t a = 0; a < shape.size(); ++a) (a < join->axis ? outer : inner) *= shape[a];
        for (const auto p : g.nodes()[node].inputs) {
            const auto chunk = elements_of(g.shape_of(p)) / outer;
            copy_nest nest;
            nest.write_offset = offset;
            nest.add(outer, chunk, inner);
            nest.add(chunk, 1, 1);
            out.push_back(std::move(nest));
            offset += chunk;
        }
    }
    return out;
}

} // namespace augur::inline v0::loopnest::detail

#endif
