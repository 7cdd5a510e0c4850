// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_SKETCH_PLAN_HPP
#define AUGUR_LOOPNEST_DETAIL_SKETCH_PLAN_HPP

/// @file
/// A sketch as the space of schedules uses it: its open split lengths, and which stages have a decision.

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <augur/loopnest/schedule/sketch.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/factorisation.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// A split step whose lengths are a decision.
struct open_split {
    std::size_t step = 0;
    std::shared_ptr<const factorisation> tiles;
};

/// A sketch with the decisions that are independent of tile sizes.
struct sketch_plan {
    step_list steps; ///< open lengths are 0
    std::vector<open_split> splits;
    std::vector<std::size_t> movable; ///< stages with a compute-location decision, last first
    std::vector<std::size_t> copies;  ///< copies of operands (CHR): the sketch says where they are made, and their reader how
    loop_state state;                 ///< after Ansor's convention: loops of open splits have no extent
    std::shared_ptr<const access_analysis> accesses;

    /// The tile sizes that turn the steps of the sketch into the first steps of `list`; none if `list` begins differently.
    [[nodiscard]] std::optional<decision_vector> tiles_of(const std::vector<transform_step>& list) const {
        if (list.size() < steps.steps.size()) return std::nullopt;
        decision_vector out;
        for (std::size_t i = 0; i < steps.steps.size(); ++i) {
            if (out.size() == splits.size() || splits[out.size()].step != i) {
                if (list[i] != steps.steps[i]) return std::nullopt;
                continue;
            }
            const auto* filled = std::get_if<split_step>(&list[i]);
            if (filled == nullptr) return std::nullopt;
            auto open = *filled;
            open.lengths.assign(open.lengths.size(), 0);
            const auto tile = splits[out.size()].tiles->index_of(filled->lengths);
            if (transform_step(std::move(open)) != steps.steps[i] || !tile) return std::nullopt;
            out.push_back(*tile);
        }
        return out;
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
