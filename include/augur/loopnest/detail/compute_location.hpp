// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_COMPUTE_LOCATION_HPP
#define AUGUR_LOOPNEST_DETAIL_COMPUTE_LOCATION_HPP

/// @file
/// Candidate compute locations of a stage (Ansor's GetComputeLocationCandidates, src/auto_scheduler/search_policy/utils.cc).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/schedule/access_analysis.hpp>
#include <augur/loopnest/schedule/sketch.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest::detail {

struct compute_location {
    enum class kind : std::uint8_t { stay, inlined, root, at } type = kind::stay;
    std::size_t stage = 0; ///< for kind::at: the stage in whose loop nest to compute
    std::size_t iter = 0;
    bool likely = true; ///< false: the stage would be computed once more for each result that reads it
};

/// The only reader of `s`, or the only root stage that contains all readers; npos if there is none.
[[nodiscard]] inline std::size_t single_consumer(const loop_state& state, const access_analysis& accesses, std::size_t s) {
    const auto consumers = accesses.consumers(state.stages(), s);
    if (consumers.size() == 1) return consumers[0];
    std::size_t common = loop_state::npos;
    for (const auto c : consumers) {
        const auto& st = state.stages()[c];
        const auto root = st.placement == stage::place::at ? st.at_stage : c;
        if (common != loop_state::npos && common != root) return loop_state::npos;
        common = root;
    }
    return common;
}

/// Adds the loops inside which `s` may be computed: those of its reader, then those around the reader.
///
/// A loop that runs once is the same location as the loop around it. Ansor omits such a loop if it knows the extent, and thereby loses some
/// locations and duplicates others. Here, unless `faithful`, the outermost of the equivalent loops represents the location.
inline void add_loops(const loop_state& state, const access_analysis& accesses, std::size_t s, bool faithful, std::vector<compute_location>& out) {
    const auto reader = single_consumer(state, accesses, s);
    if (reader == loop_state::npos) return;
    const auto& target = state.stages()[reader];
    const bool attached = target.placement == stage::place::at;

    // Inside this number of iterations a reduction is computed again, and another stage has too few elements for vectors.
    double most_iterations = 1;
    for (const auto& a : state.dag().ops[s].axes) most_iterations *= static_cast<double>(a.extent);
    if (!has_reduce_loop(state.stages()[s])) most_iterations /= 4;
    double iterations = 1;
    const auto add = [&](std::size_t at, std::size_t i, std::vector<compute_location>& to) {
        to.push_back({compute_location::kind::at, at, i, faithful || iterations <= most_iterations});
    };

    std::vector<compute_location> outer_options;
    bool taken = !attached; // an option exists for the location before the first loop (for a root stage: the root)
    if (attached) {
        const auto& outer = state.stages()[target.at_stage];
        bool taken_outer = outer.placement != stage::place::at;
        for (std::size_t i = 0; i < outer.iters.size(); ++i) {
            const auto& v = outer.var_of(i);
            if (v.extent != 1) taken_outer = false;
            iterations *= static_cast<double>(v.extent);
            if (outer.iters[i].var == target.at_var) taken = taken_outer;
            if (v.reduce || outer.iters[i].annotation == loop_annotation::unroll || state.has_attached(target.at_stage, i)) break;
            if (faithful ? v.extent == 1 : taken_outer) continue;
            add(target.at_stage, i, outer_options);
            taken_outer = true;
        }
    }

    const auto outermost_part = [&](std::size_t var) {
        return std::any_of(target.relations.begin(), target.relations.end(),
                           [&](const loop_relation& r) { return r.type == loop_relation::kind::split && r.parts.front() == var; });
    };
    const bool tiled = is_tiled(state, reader);
    bool in_reduction = false;
    for (std::size_t i = 0; i < target.iters.size(); ++i) {
        const auto& v = target.var_of(i);
        if (v.reduce ? !tiled : in_reduction) break; // neither into a plain reduction nor into the inner tiles
        in_reduction = in_reduction || v.reduce;
        if (target.iters[i].annotation == loop_annotation::unroll) break;
        if (v.extent != 1) taken = false;
        if (!v.reduce) iterations *= static_cast<double>(v.extent);
        if (faithful ? v.extent != 1 && !(attached && !v.reduce && outermost_part(target.iters[i].var)) : !taken) {
            add(reader, i, out);
            taken = true;
        }
        if (state.has_attached(reader, i)) break; // an attached reader of this loop would run before a deeper location
    }
    out.insert(out.end(), outer_options.begin(), outer_options.end());
    if (faithful) return;
    std::vector<compute_location> unlikely; // behind the likely ones, where a uniform sample does not reach
    std::size_t to = 0;
    for (const auto& l : out) {
        if (l.likely) out[to++] = l;
        else unlikely.push_back(l);
    }
    std::copy(unlikely.begin(), unlikely.end(), out.begin() + static_cast<std::ptrdiff_t>(to));
}

/// The options of a stage; the first is its current location. `faithful`: the second is an explicit root, as in Ansor. Otherwise the second is
/// inlining, if legal.
[[nodiscard]] inline std::vector<compute_location> compute_locations(const loop_state& state, const access_analysis& accesses, std::size_t s,
                                                                     bool faithful) {
    std::vector<compute_location> out{{}};
    if (faithful) out.push_back({compute_location::kind::root, 0, 0});
    else if (!accesses.output(s) && !has_reduce_loop(state.stages()[s]) && !state.has_attached(s))
        out.push_back({compute_location::kind::inlined, 0, 0});
    add_loops(state, accesses, s, faithful, out);
    return out;
}

/// Adds to the options of a stage those that Ansor's programs have as well: an explicit root, and every legal loop of its reader and of the stages around
/// the reader. Ansor leaves a stage where it is when it changes tile sizes, fusions or the location of the reader.
/// pre: `out` is of `compute_locations`, bound inference accepts `state`
inline void add_evolved_locations(loop_state state, const access_analysis& accesses, std::size_t s, std::vector<compute_location>& out) {
    using kind = compute_location::kind;
    const auto reader = single_consumer(state, accesses, s);
    if (std::none_of(out.begin(), out.end(), [](const compute_location& l) { return l.type == kind::root; }))
        out.push_back({kind::root, 0, 0, false});
    const std::size_t usual = out.size();
    for (auto target = reader; target != loop_state::npos;) {
        for (std::size_t i = 0; i < state.stages()[target].iters.size(); ++i) {
            if (std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(usual),
                            [&](const compute_location& l) { return l.type == kind::at && l.stage == target && l.iter == i; }))
                continue;
            const compute_at_step step{static_cast<std::int64_t>(s), static_cast<std::int64_t>(target), static_cast<std::int64_t>(i)};
            if (state.apply(step) && bound(state)) out.push_back({kind::at, target, i, false});
        }
        const auto& around = state.stages()[target];
        target = around.placement == stage::place::at ? around.at_stage : loop_state::npos;
    }
}

inline constexpr std::array<std::string_view, 4> location_kinds{"stay", "inline", "root", "at"}; ///< in the order of `compute_location::kind`

/// "stay", "inline", "root", or "at" with the name of the operation, the name of the loop and its number.
/// @param state  in which the location was found
void location_words(const compute_location& location, const loop_state& state, auto& sink) {
    sink.name(location_kinds[static_cast<std::size_t>(location.type)]);
    if (location.type != compute_location::kind::at) return;
    sink.name(state.dag().ops[location.stage].name);
    sink.name(state.stages()[location.stage].var_of(location.iter).name);
    sink.number(static_cast<std::int64_t>(location.iter));
}

/// The location with these words, else the nearest loop of the same operation, else the first; nullopt: words of another form.
[[nodiscard]] inline std::optional<std::uint64_t> nearest_location(std::span<const compute_location> locations, const loop_state& state,
                                                                   std::span<const schedule_item> words) {
    using item = schedule_item::kind;
    if (words.empty() || words[0].type != item::name) return std::nullopt;
    const auto word = std::find(location_kinds.begin(), location_kinds.end(), words[0].text);
    if (word == location_kinds.end()) return std::nullopt;
    const auto wanted = static_cast<compute_location::kind>(word - location_kinds.begin());
    const bool at = wanted == compute_location::kind::at;
    if (words.size() != (at ? 4U : 1U)) return std::nullopt;
    if (at && (words[1].type != item::name || words[2].type != item::name || words[3].type != item::integer)) return std::nullopt;
    const auto loop = at ? std::clamp(words[3].integer, std::int64_t{0}, static_cast<std::int64_t>(max_stage_loops)) : 0;
    std::optional<std::uint64_t> best;
    std::int64_t least = 0;
    for (std::size_t v = 0; v < locations.size(); ++v) {
        const auto& l = locations[v];
        if (l.type != wanted) continue;
        if (!at) return v;
        if (state.dag().ops[l.stage].name != words[1].text) continue;
        const auto distance = std::abs(static_cast<std::int64_t>(l.iter) - loop);
        if (distance == 0 && state.stages()[l.stage].var_of(l.iter).name == words[2].text) return v;
        if (best && distance >= least) continue;
        best = v;
        least = distance;
    }
    return best.value_or(0);
}

} // namespace augur::inline v0::loopnest::detail

#endif
