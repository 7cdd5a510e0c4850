// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_SKETCH_PLAN_HPP
#define AUGUR_LOOPNEST_DETAIL_SKETCH_PLAN_HPP

/// @file
/// A sketch as the space of schedules uses it: its open split lengths, and which stages have a decision.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/loopnest/detail/tile_sizes.hpp>
#include <augur/loopnest/schedule/sketch.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// A split step whose lengths are a decision.
struct open_split {
    std::size_t step = 0;
    std::shared_ptr<const tile_sizes> tiles;
    bool reduce = false;
    std::string stage; ///< name of the operation
    std::string loop;  ///< name of the loop that is split
};

/// A step of a sketch as a word, the same for every shape: kind, operation, loops by name, and numbers that do not depend on extents. `before` is the
/// state that the step is applied to.
[[nodiscard]] inline std::string structure_word(const transform_step& step, const loop_state& before) {
    std::string out;
    const auto add = [&](const std::string& text) { out.append(" ").append(text); };
    const auto add_stage = [&](std::int64_t s) { add(before.dag().ops[static_cast<std::size_t>(s)].name); };
    const auto add_loop = [&](std::int64_t s, std::int64_t i) {
        add(before.stages()[static_cast<std::size_t>(s)].var_of(static_cast<std::size_t>(i)).name);
    };
    visit_step(step, [&](const auto& x) {
        using step_type = std::decay_t<decltype(x)>;
        out.append(x.kind);
        if constexpr (!std::is_same_v<step_type, foreign_step>) add_stage(x.stage);
        if constexpr (requires { x.iter; }) add_loop(x.stage, x.iter);
        if constexpr (std::is_same_v<step_type, split_step>) add(std::to_string(x.lengths.size()));
        if constexpr (std::is_same_v<step_type, follow_split_step>) add(std::to_string(x.parts));
        if constexpr (std::is_same_v<step_type, rfactor_step>) add(std::to_string(x.factor_axis));
        if constexpr (std::is_same_v<step_type, pragma_step>) add(x.text);
        if constexpr (std::is_same_v<step_type, reorder_step>)
            for (const auto i : x.order) add_loop(x.stage, i);
        if constexpr (std::is_same_v<step_type, fuse_step>)
            for (const auto i : x.iters) add_loop(x.stage, i);
        if constexpr (std::is_same_v<step_type, compute_at_step>) {
            add_stage(x.target_stage);
            add_loop(x.target_stage, x.target_iter);
        }
        if constexpr (requires { x.scope; }) add(x.scope);
        if constexpr (std::is_same_v<step_type, cache_read_step>)
            for (const auto r : x.readers) add_stage(r);
    });
    return out;
}

/// A sketch with the decisions that are independent of tile sizes.
struct sketch_plan {
    step_list steps; ///< open lengths are 0
    std::vector<open_split> splits;
    std::vector<std::size_t> movable; ///< stages with a compute-location decision, last first
    std::vector<std::size_t> copies;  ///< copies of operands (CHR): the sketch says where they are made, and their reader how
    loop_state state;                 ///< after Ansor's convention: loops of open splits have no extent
    std::shared_ptr<const access_analysis> accesses;
    std::vector<std::string> structure;          ///< a word for each step
    std::vector<std::uint64_t> structure_hashes; ///< of these words

    /// The number of steps, then a name for each.
    void words(auto& sink) const {
        sink.number(static_cast<std::int64_t>(structure.size()));
        for (const auto& word : structure) sink.name(word);
    }

    /// The tile sizes that turn the steps of the sketch into the first steps of `list`; none if `list` begins differently.
    [[nodiscard]] std::optional<decision_vector> tiles_of(const std::vector<transform_step>& list) const {
        if (list.size() < steps.steps.size()) return std::nullopt;
        decision_vector out;
        for (std::size_t i = 0; i < steps.steps.size(); ++i) {
            if (out.size() == splits.size() || splits[out.size()].step != i) {
                if (!(list[i] == steps.steps[i])) return std::nullopt; // != of a variant would be compiled beside the == that `step_list` has
                continue;
            }
            const auto *filled = std::get_if<split_step>(&list[i]), *wanted = std::get_if<split_step>(&steps.steps[i]);
            if (filled == nullptr || wanted == nullptr) return std::nullopt;
            auto open = *filled;
            open.lengths.assign(open.lengths.size(), 0);
            const auto tile = splits[out.size()].tiles->index_of(filled->lengths);
            if (open != *wanted || !tile) return std::nullopt;
            out.push_back(*tile);
        }
        return out;
    }
};

/// The plan with these words, else the one with the largest share of common steps; nullopt: no plan has a step in common, or the words have another form.
[[nodiscard]] inline std::optional<std::uint64_t> nearest_plan(std::span<const sketch_plan> plans, std::span<const schedule_item> words) {
    constexpr std::size_t most = 256; // steps that are compared
    std::array<std::uint64_t, most> given{};
    if (words.empty() || words[0].type != schedule_item::kind::integer) return std::nullopt;
    const std::size_t n = (std::min)(words.size() - 1, most);
    for (std::size_t i = 0; i < n; ++i) {
        if (words[i + 1].type != schedule_item::kind::name) return std::nullopt;
        given[i] = fnv1a64(words[i + 1].text);
    }
    const std::span<const std::uint64_t> wanted(given.data(), n);
    std::optional<std::uint64_t> best;
    double most_common = 0; // steps in both, of the steps in either
    for (std::size_t p = 0; p < plans.size(); ++p) {
        const auto& steps = plans[p].structure_hashes;
        if (std::equal(steps.begin(), steps.end(), wanted.begin(), wanted.end())) return p;
        std::size_t common = 0;
        for (const auto h : steps) common += std::find(wanted.begin(), wanted.end(), h) != wanted.end() ? 1 : 0;
        const auto share =
            static_cast<double>(common) / static_cast<double>((std::max)(steps.size() + (n > common ? n - common : 0), std::size_t{1}));
        if (share > most_common) {
            best = p;
            most_common = share;
        }
    }
    return best;
}

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
            p.structure.push_back(structure_word(step, before));
            p.structure_hashes.push_back(fnv1a64(p.structure.back()));
            if (auto* split = std::get_if<split_step>(&step); split != nullptr && split->lengths.front() == 0) {
                const auto& st = before.stages()[static_cast<std::size_t>(split->stage)];
                const bool reduces = st.var_of(static_cast<std::size_t>(split->iter)).reduce; // a cut tile would need a condition at each step
                p.splits.push_back({i, sizes(split->extent, split->lengths.size(), exact_ || reduces), reduces,
                                    before.dag().ops[static_cast<std::size_t>(split->stage)].name,
                                    st.var_of(static_cast<std::size_t>(split->iter)).name});
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
