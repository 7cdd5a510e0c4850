// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_CURSOR_HPP
#define AUGUR_LOOPNEST_SCHEDULE_CURSOR_HPP

/// @file
/// A position in the decision tree of the schedules of a kernel.
///
/// Source: src/auto_scheduler/search_policy/sketch_policy_rules.cc of TVM, the rules that sample the initial population.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/compute_location.hpp>
#include <augur/loopnest/detail/sketch_plan.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/schedule/ansor_options.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/describe.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// What an `ansor_space` consists of.
struct space_tree {
    std::shared_ptr<const compute_dag> dag;
    ansor_options options;
    std::vector<sketch_plan> plans; ///< the likely ones first
    std::size_t likely = 0;         ///< number of likely plans
};

} // namespace detail

/// A position in the decision tree of an `ansor_space`.
class ansor_cursor {
public:
    explicit ansor_cursor(const detail::space_tree& tree) : tree_(&tree) { ask({decision_kind::sketch, tree.plans.size(), 0, true, tree.likely}); }

    /// The open decision; empty at a leaf.
    [[nodiscard]] std::optional<decision> next() const noexcept { return pending_; }

    /// Chooses the value of the open decision.   pre: a decision is open, and value < next()->options
    void choose(std::uint64_t value) {
        AUGUR_ASSERT(pending_ && value < pending_->options, "ansor_cursor::choose: no decision is open, or not one of its options");
        if (phase_ == phase::sketch) {
            plan_ = &tree_->plans[static_cast<std::size_t>(value)];
            filled_ = plan_->steps.steps;
            enter(phase::tiles);
        } else if (phase_ == phase::tiles) {
            const auto& open = plan_->splits[at_++];
            auto& split = *std::get_if<split_step>(&filled_[open.step]);
            open.tiles->lengths_of(value, split.lengths);
            moved_ = moved_ || split.extent % std::accumulate(split.lengths.begin(), split.lengths.end(), std::int64_t{1}, std::multiplies<>()) != 0;
        } else {
            for (const auto& step : emits(value)) {
                apply(step);
                if (phase_ == phase::locations && tree_->options.faithful) static_cast<void>(view_.apply(step));
                moved_ = moved_ || phase_ == phase::locations;
            }
            ++at_;
        }
        advance();
    }

    /// The steps that `choose(value)` adds.   pre: as `choose`, and the open decision is neither the sketch nor a tile size
    [[nodiscard]] std::vector<transform_step> emits(std::uint64_t value) const {
        const auto v = static_cast<std::size_t>(value);
        switch (phase_) {
        case phase::locations: {
            const auto s = static_cast<std::int64_t>(plan_->movable[at_]);
            const auto& location = locations_[v];
            switch (location.type) {
            case detail::compute_location::kind::stay: return {};
            case detail::compute_location::kind::inlined: return {compute_inline_step{s}};
            case detail::compute_location::kind::root: return {compute_root_step{s}};
            case detail::compute_location::kind::at: break;
            }
            return {compute_at_step{s, static_cast<std::int64_t>(location.stage), static_cast<std::int64_t>(location.iter)}};
        }
        case phase::parallel: {
            const auto n = loops_of(v);
            return fused(0, (std::max)(n, std::size_t{1}), n != 1, loop_annotation::parallel);
        }
        case phase::unroll: return {pragma_step{static_cast<std::int64_t>(at_), 0, "auto_unroll_max_step$" + std::to_string(unroll_steps[v])}};
        case phase::vectorize: {
            const auto n = loops_of(v);
            if (n == 0) return {};
            return fused(state_.stages()[at_].iters.size() - n, n, n > 1, loop_annotation::vectorize);
        }
        default: return {};
        }
    }

    /// The stage of the open decision.   pre: as `emits`
    [[nodiscard]] std::size_t stage_index() const { return phase_ == phase::locations ? plan_->movable[at_] : at_; }

    /// The name of the open decision: its kind, then the operation and, for a tile size, the loop.   pre: a decision is open
    void describe(auto& sink) const {
        constexpr std::array<std::string_view, 6> kinds{"sketch", "SP", "CA", "parallel", "unroll", "vectorize"};
        sink.primitive(kinds[static_cast<std::size_t>(phase_)]);
        if (phase_ == phase::tiles) {
            sink.name(plan_->splits[at_].stage);
            sink.name(plan_->splits[at_].loop);
        } else if (phase_ != phase::sketch) {
            sink.name(state_.dag().ops[stage_index()].name);
        }
    }

    /// pre: a decision is open
    [[nodiscard]] decision_scale scale() const {
        using kind = decision_scale::kind;
        if (phase_ == phase::tiles) {
            const auto& tiles = *plan_->splits[at_].tiles;
            return {kind::factorisation, tiles.extent(), tiles.lengths(), tiles.max_innermost()};
        }
        const bool ascending = phase_ == phase::unroll || (!tree_->options.evolved && (phase_ == phase::parallel || phase_ == phase::vectorize));
        return {ascending ? kind::ordinal : kind::categorical};
    }

    /// The words of a value of the open decision:
    ///
    ///     sketch            the number of steps, then a name for each
    ///     tile_size         the lengths
    ///     compute_location  "stay", "inline", "root", or "at" with operation, loop and number of the loop
    ///     parallel          the number of fused loops, 0: the outermost in a fusion of one loop
    ///     unroll            the maximum
    ///     vectorize         the number of fused loops, 0: no vector
    ///
    /// pre: a decision is open, value < next()->options
    void words(std::uint64_t value, auto& sink) const {
        const auto v = static_cast<std::size_t>(value);
        switch (phase_) {
        case phase::sketch: return tree_->plans[v].words(sink);
        case phase::tiles: {
            std::array<std::int64_t, most_lengths> lengths{};
            const auto& tiles = *plan_->splits[at_].tiles;
            tiles.lengths_of(value, std::span(lengths).first(tiles.lengths()));
            for (std::size_t i = 0; i < tiles.lengths(); ++i) sink.number(lengths[i]);
            return;
        }
        case phase::locations: return detail::location_words(locations_[v], seen_state(), sink);
        case phase::unroll: return sink.number(unroll_steps[v]);
        default: return sink.number(static_cast<std::int64_t>(loops_of(v)));
        }
    }

    /// The value of the open decision that is nearest to the given words, the value that has these words if there is one: of tile sizes by ratio, of
    /// numbers by difference (unroll by ratio), of sketches that with the most common steps, of locations the same loop, else one of the same operation,
    /// else the first. Nullopt for words of another form.   pre: a decision is open
    [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const schedule_item> words) const {
        using item = schedule_item::kind;
        if (phase_ == phase::sketch) return detail::nearest_plan(tree_->plans, words);
        if (phase_ == phase::locations) return detail::nearest_location(locations_, seen_state(), words);
        if (std::any_of(words.begin(), words.end(), [](const schedule_item& w) { return w.type != item::integer; })) return std::nullopt;
        if (phase_ == phase::tiles) {
            std::array<std::int64_t, most_lengths> lengths{};
            const auto& tiles = *plan_->splits[at_].tiles;
            if (words.size() != tiles.lengths()) return std::nullopt;
            std::transform(words.begin(), words.end(), lengths.begin(), [](const schedule_item& w) { return w.integer; });
            return tiles.nearest(std::span(lengths).first(words.size()));
        }
        if (words.size() != 1) return std::nullopt;
        const auto wanted = std::clamp(words[0].integer, std::int64_t{0}, std::int64_t{1} << 20U); // a product of two must fit
        if (phase_ == phase::unroll) {
            std::size_t v = 0; // the limits between two maxima are their geometric means
            while (v + 1 < unroll_steps.size() && wanted > 0 && wanted * wanted >= (std::max)(unroll_steps[v], std::int64_t{1}) * unroll_steps[v + 1])
                ++v;
            return v;
        }
        const auto distance = [&](std::uint64_t v) { return std::abs(static_cast<std::int64_t>(loops_of(static_cast<std::size_t>(v))) - wanted); };
        std::uint64_t best = 0;
        for (std::uint64_t v = 1; v < pending_->options; ++v)
            if (distance(v) < distance(best)) best = v;
        return best;
    }

    /// Spells a tile size length by length.
    class speller_type {
    public:
        explicit speller_type(const ansor_cursor& cursor) : spells_(begin(cursor)) {}
        [[nodiscard]] std::uint64_t choices() const {
            return std::visit([](const auto& s) { return s.choices(); }, spells_);
        }
        void word(std::uint64_t choice, auto& sink) const {
            std::visit([&](const auto& s) { s.word(choice, sink); }, spells_);
        }
        void choose(std::uint64_t choice) {
            std::visit([&](auto& s) { s.choose(choice); }, spells_);
        }
        [[nodiscard]] std::uint64_t value() const {
            return std::visit([](const auto& s) { return s.value(); }, spells_);
        }

    private:
        using spelling = std::variant<augur::detail::value_speller<ansor_cursor>, detail::tile_sizes::speller>;
        spelling spells_;

        static spelling begin(const ansor_cursor& cursor) {
            if (cursor.phase_ == phase::tiles) return detail::tile_sizes::speller(*cursor.plan_->splits[cursor.at_].tiles);
            return augur::detail::value_speller<ansor_cursor>(cursor);
        }
    };
    /// pre: a decision is open, and the cursor outlives the speller
    [[nodiscard]] speller_type speller() const { return speller_type(*this); }

    /// The kernel after the steps chosen so far. The steps of the sketch are applied after the last tile size is chosen.
    [[nodiscard]] const loop_state& state() const& noexcept { return state_; }
    [[nodiscard]] loop_state&& state() && noexcept { return std::move(state_); }

    /// The error that ended the walk early: a step was refused, which is a defect of the space. Empty otherwise.
    [[nodiscard]] const std::string& broken() const noexcept { return broken_; }

private:
    enum class phase : std::uint8_t { sketch, tiles, locations, parallel, unroll, vectorize, done };

    static constexpr std::array<std::int64_t, 4> unroll_steps{0, 16, 64, 512};
    static constexpr std::size_t most_lengths = 8; ///< of an open split; SSRSRS has three

    const detail::space_tree* tree_;
    const detail::sketch_plan* plan_ = nullptr;
    phase phase_ = phase::sketch;
    std::size_t at_ = 0; ///< index within the phase: of a split, of an entry of `movable`, or of a stage
    bool moved_ = false; ///< some extents are unknown until bound inference runs: of attached stages, or of tiles that the end of an axis cuts
    std::vector<transform_step> filled_;
    loop_state state_;
    loop_state view_; ///< for a faithful space: the sketch with the chosen locations and the extents that Ansor knows
    std::vector<detail::compute_location> locations_;
    std::size_t usual_ = 0; ///< parallel, vectorize: largest number of loops that an option without `evolved` fuses; 0: no vector is short enough
    std::optional<decision> pending_;
    std::string broken_;

    /// The state in which the locations are found.
    [[nodiscard]] const loop_state& seen_state() const noexcept { return tree_->options.faithful ? view_ : state_; }

    void ask(decision d) {
        if (d.likely == d.options) d.likely = 0;
        pending_ = d;
    }
    void enter(phase p) {
        phase_ = p;
        at_ = 0;
    }
    void fail(const error& cause) {
        if (broken_.empty()) broken_ = cause.detail;
    }
    void apply(const transform_step& step) {
        if (auto done = state_.apply(step); !done) fail(done.error());
    }
    void bound() {
        if (!moved_) return;
        if (auto done = infer_bounds(state_); !done) fail(done.error());
        moved_ = false;
    }

    /// The number of loops that option `v` of parallel or vectorize fuses: 1 to `usual_`, then 0, then the others.
    [[nodiscard]] std::size_t loops_of(std::size_t v) const noexcept { return v < usual_ ? v + 1 : v == usual_ ? 0 : v; }

    /// Steps that annotate the fusion of `n` loops of stage `at_` starting at `first`. `fuse`: with a step for the fusion.
    [[nodiscard]] std::vector<transform_step> fused(std::size_t first, std::size_t n, bool fuse, loop_annotation annotation) const {
        const auto s = static_cast<std::int64_t>(at_);
        const auto begin = static_cast<std::int64_t>(first);
        std::vector<transform_step> out;
        if (fuse) {
            std::vector<std::int64_t> loops(n);
            for (std::size_t i = 0; i < n; ++i) loops[i] = static_cast<std::int64_t>(first + i);
            out.emplace_back(fuse_step{s, std::move(loops)});
        }
        out.emplace_back(annotate_step{s, begin, annotation});
        return out;
    }

    /// Opens the next decision at or after `at_`, in this phase or a later one.
    void advance() {
        pending_.reset();
        if (phase_ == phase::tiles) {
            if (at_ < plan_->splits.size()) {
                const auto& tiles = *plan_->splits[at_].tiles;
                return ask({decision_kind::tile_size, tiles.count(), 0, true, tiles.likely()});
            }
            begin_locations();
        }
        if (phase_ == phase::locations && broken_.empty()) {
            if (at_ < plan_->movable.size()) {
                if (!tree_->options.faithful) bound(); // a faithful space uses the extents of `view_`
                if (broken_.empty()) return ask_location(plan_->movable[at_]);
            } else {
                bound();
                enter(phase::parallel);
            }
        }
        for (; broken_.empty() && phase_ != phase::done; enter(static_cast<phase>(static_cast<int>(phase_) + 1))) {
            for (; at_ < state_.stages().size(); ++at_) {
                if (state_.dag().ops[at_].placeholder() || state_.stages()[at_].placement == stage::place::inlined) continue;
                if (phase_ == phase::parallel ? ask_parallel() : phase_ == phase::unroll ? ask_unroll() : ask_vectorize()) return;
            }
        }
        phase_ = phase::done;
    }

    void begin_locations() {
        state_ = loop_state(tree_->dag);
        for (const auto& step : filled_) apply(step);
        filled_.clear();
        moved_ =
            moved_ || std::any_of(state_.stages().begin(), state_.stages().end(), [](const stage& s) { return s.placement == stage::place::at; });
        if (tree_->options.faithful && !plan_->movable.empty()) view_ = plan_->state;
        enter(phase::locations);
    }

    void ask_location(std::size_t s) {
        locations_ = detail::compute_locations(seen_state(), *plan_->accesses, s, tree_->options.faithful);
        const auto likely = std::count_if(locations_.begin(), locations_.end(), [](const auto& l) { return l.likely; });
        if (tree_->options.evolved) detail::add_evolved_locations(state_, *plan_->accesses, s, locations_);
        ask({decision_kind::compute_location, locations_.size(), 0, true, static_cast<std::uint64_t>(likely)});
    }

    bool ask_parallel() {
        const auto& st = state_.stages()[at_];
        if (st.placement != stage::place::root) return false;
        std::size_t most = 0;
        std::size_t preferred = 0;
        std::int64_t degree = 1;
        const auto enough = (std::min)(tree_->options.num_cores, std::int64_t{1} << 40U) * 16;
        for (std::size_t i = 0; i < st.iters.size(); ++i) {
            const auto& v = st.var_of(i);
            if (v.reduce || st.iters[i].annotation != loop_annotation::none) break;
            if (degree <= enough) preferred = most;
            degree = degree > enough ? degree : degree * v.extent;
            ++most;
            if (state_.has_attached(at_, i)) break;
        }
        if (most == 0) return false;
        usual_ = most;
        ask({decision_kind::parallel, most + (tree_->options.evolved ? 1 : 0), preferred, false});
        return true;
    }

    bool ask_unroll() {
        if (!detail::has_reduce_loop(state_.stages()[at_])) return false;
        ask({decision_kind::unroll, unroll_steps.size()});
        return true;
    }

    bool ask_vectorize() {
        const auto& st = state_.stages()[at_];
        if (st.iters.empty() || std::find(plan_->copies.begin(), plan_->copies.end(), at_) != plan_->copies.end()) return false;
        const bool tiled = detail::is_tiled(state_, at_); // in a tiled stage two neighbouring loops are not contiguous in memory
        std::size_t loops = 0;                            // that can be one vector
        std::size_t short_loops = 0;                      // of these, that are a vector of a usual length
        std::int64_t length = 1;
        for (std::size_t i = st.iters.size(); i-- > 0;) {
            const auto& v = st.var_of(i);
            const bool encloses = state_.has_attached(at_, i);
            if (v.reduce || st.iters[i].annotation != loop_annotation::none || ((tiled || encloses) && loops > 0)) break;
            if (!encloses && short_loops == loops && v.extent >= 1 && v.extent <= tree_->options.max_vectorize / length) {
                length *= v.extent;
                ++short_loops;
            }
            ++loops;
            if (encloses) break;
        }
        usual_ = short_loops > 1 ? short_loops - 1 : short_loops;
        const auto likely = (std::max)(usual_, std::size_t{1});
        ask({decision_kind::vectorize, tree_->options.evolved ? loops + 1 : likely, 0, true, likely});
        return true;
    }
};

} // namespace augur::inline v0::loopnest

#endif
