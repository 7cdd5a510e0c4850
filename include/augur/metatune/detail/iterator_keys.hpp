// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_DETAIL_ITERATOR_KEYS_HPP
#define AUGUR_METATUNE_DETAIL_ITERATOR_KEYS_HPP

/// @file
/// What tells the accesses and loops of a candidate from each other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/printable.hpp>
#include <augur/metatune/loop_graph.hpp>
#include <augur/workload/iterator_features.hpp>

namespace augur::inline v0 {
namespace metatune::detail {

/// Name of the buffer, how many buffers of that name are before it, number of the access.
using touch_key = std::tuple<std::string_view, std::uint32_t, std::uint32_t>;

[[nodiscard]] inline error refuse(errc code, const std::string& reason) { return {code, "super-graph: " + reason}; }

/// The touches of all loops, one loop after the other. Checks the features.
[[nodiscard]] inline result<std::vector<touch_key>> touch_keys_of(const iterator_features& features) {
    std::vector<std::uint32_t> repeats; // of buffers
    for (auto b = features.buffers.begin(); b != features.buffers.end(); ++b)
        repeats.push_back(static_cast<std::uint32_t>(std::count(features.buffers.begin(), b, *b)));
    std::vector<touch_key> keys;
    for (std::size_t i = 0; i < features.loops.size(); ++i) {
        const loop_features& loop = features.loops[i];
        const auto bad = [i](const char* reason) {
            return refuse(errc::invalid_argument, "loop " + std::to_string(i) + " of the features: expected " + reason);
        };
        if (loop.parent != loop_features::no_parent && loop.parent >= i) return bad("the loop around it before it");
        for (const buffer_touch& t : loop.touches) {
            if (t.buffer >= repeats.size()) return bad("touches of buffers that are there");
            const touch_key key{features.buffers[t.buffer], repeats[t.buffer], t.access};
            if (&t != loop.touches.data() && !(keys.back() < key)) return bad("touches ordered by name of the buffer, then access");
            keys.push_back(key);
        }
    }
    return keys;
}

/// The loop with those around it: "conv2d: yy[0]/ff[1]".
[[nodiscard]] inline std::string path_of(const iterator_features& features, std::string_view role, std::size_t loop) {
    std::string path;
    for (std::size_t i = loop; i != loop_features::no_parent; i = features.loops[i].parent)
        path = loop_name(printable(features.loops[i].axis), features.loops[i].level) + (path.empty() ? "" : "/") + path;
    return printable(role) + ": " + path;
}

} // namespace metatune::detail
} // namespace augur::inline v0

#endif
