// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_SKETCH_PLAN_HPP
#define AUGUR_LOOPNEST_DETAIL_SKETCH_PLAN_HPP

/// @file
/// A sketch as the space of schedules uses it: its open split lengths, and which stages have a decision.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <augur/loopnest/detail/tile_sizes.hpp>
#include <augur/loopnest/schedule/sketch.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// A split step whose lengths are a decision.
struct open_split {
    std::size_t step = 0;
    std::shared_ptr<const tile_sizes> tiles;
    bool reduce = false;
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

/// Finds the decisions of sketches. Equal extents share their tables of tile sizes.
class sketch_planner {
public:
    /// @param exact  only tile sizes that divide their extent
    sketch_planner(std::int64_t max_innermost, bool exact) : max_innermost_(max_innermost), exact_(exact) {}

    [[nodiscard]] sketch_plan plan(const std::shared_ptr<const compute_dag>& dag, sketch s) {
        sketch_plan p;
        loop_state before(dag);
        for (std::size_t i = 0; i < s.steps.steps.size(); ++i) {
            auto step = s.steps.steps[i];
            if (auto* split = std::get_if<split_step>(&step); split != nullptr && split->lengths.front() == 0) {
                const auto& st = before.stages()[static_cast<std::size_t>(split->stage)];
                const bool reduces = st.var_of(static_cast<std::size_t>(split->iter)).reduce; // a cut tile would need a condition at each step
                p.splits.push_back({i, sizes(split->extent, split->lengths.size(), exact_ || reduces), reduces});
                split->lengths.assign(split->lengths.size(), 1);
            }
            const auto done = before.apply(step);
            AUGUR_ASSERT(done.has_value(), "sketch_planner: the steps of a sketch are legal");
        }
        for (std::size_t i = s.state.stages().size(); i-- > 0;) {
            if (s.state.dag().ops[i].placeholder() || s.state.stages()[i].placement == stage::place::inlined) continue;
            if (is_cache_read(s.steps.steps, i)) p.copies.push_back(i);
            else if (!is_tiled(s.state, i) && !s.accesses->needs_tiling(i)) p.movable.push_back(i);
        }
        p.steps = std::move(s.steps);
        p.state = std::move(s.state);
        p.accesses = std::move(s.accesses);
        return p;
    }

private:
    std::int64_t max_innermost_;
    bool exact_;
    std::map<std::tuple<std::int64_t, std::size_t, bool>, std::shared_ptr<const tile_sizes>> sizes_;

    [[nodiscard]] std::shared_ptr<const tile_sizes> sizes(std::int64_t extent, std::size_t lengths, bool exact) {
        auto& known = sizes_[{extent, lengths, exact}];
        if (!known) known = std::make_shared<const tile_sizes>(extent, lengths, max_innermost_, exact);
        return known;
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
