// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_LANE_CHOOSER_HPP
#define AUGUR_LOOPNEST_DETAIL_LANE_CHOOSER_HPP

/// @file
/// Which loop of a reduction is vectorised, and the shape of the register tile around it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/nest_loops.hpp>
#include <augur/loopnest/detail/tile_shape.hpp>
#include <augur/loopnest/lower/lower.hpp>

namespace augur::inline v0::loopnest::detail {

/// The loops of a reduction, of which one becomes the lanes.
struct reduction_loops {
    const term_table& terms;
    const lowered_nest& nest;
    const std::vector<lowered_loop>& loops;
    std::size_t group, after_reduce; ///< [group, after_reduce): the reduce loops around the tile
    bool neutral_in_registers;

    [[nodiscard]] bool in_tile(std::size_t i) const { return i >= after_reduce && loops[i].annotation != loop_annotation::parallel; }
    /// The loops of the tile when loop `v` is the lanes.
    [[nodiscard]] std::vector<lowered_loop> rows(std::size_t v) const {
        std::vector<lowered_loop> out;
        for (auto i = after_reduce; i < loops.size(); ++i)
            if (i != v && in_tile(i)) out.push_back(loops[i]);
        return out;
    }
    [[nodiscard]] std::span<const lowered_loop> reduce() const { return std::span(loops).subspan(group, after_reduce - group); }
    [[nodiscard]] std::int64_t steps() const {
        std::int64_t n = 1;
        for (const auto& l : reduce()) n *= l.extent;
        return n;
    }
};

/// Compares the loops of a reduction as lanes by the cycles of their register tiles.
class lane_chooser {
public:
    /// @param masks_are_free  see `c_options::masks_are_free`
    lane_chooser(const tile_chooser& shapes, bool masks_are_free) : choose_(shapes), masks_are_free_(masks_are_free) {}

    /// The tile of the loops of `c` if loop `v` is the lanes; `c.loops.size()`: scalar code.
    [[nodiscard]] tile_shape shape_of(const reduction_loops& c, std::size_t v) const {
        const bool ends_anywhere = masks_are_free_ && v < c.loops.size() && lanes_may_end_anywhere(c.terms, c.nest, c.loops[v].term);
        return shape_of(c, v, choose_.with_lanes_behind(ends_anywhere));
    }

    /// The loop to vectorise in the tile of a reduction: `v`, or a loop along which all reads are adjacent or constant, when that saves more than the
    /// stores cost. The filters of an NCHW convolution are such a loop: its packed weight is contiguous along them, while its results are not. A
    /// vectorize annotation therefore says that a loop may be the lanes, not that it must.
    [[nodiscard]] std::size_t cheapest(const reduction_loops& c, std::size_t v) const {
        if (overlap(windows_of(c.nest, c.rows(v), c.reduce()))) return v;
        auto best = v;
        auto least = 0.95 * tile_cycles(c, v); // estimates that are close do not overrule the schedule
        for (auto i = c.after_reduce; i < c.loops.size(); ++i) {
            bool one = false;
            if (i == v || !c.in_tile(i) || !smooth(c.terms, c.nest.value, c.loops[i].term, one) || !one) continue;
            const auto cycles = tile_cycles(c, i);
            if (cycles >= least) continue;
            least = cycles;
            best = i;
        }
        return best;
    }

private:
    tile_chooser choose_;
    bool masks_are_free_;

    [[nodiscard]] tile_shape shape_of(const reduction_loops& c, std::size_t v, const tile_chooser& choose) const {
        const auto rows = c.rows(v);
        const auto lanes = v < c.loops.size() ? c.loops[v].extent : 1;
        std::vector<std::int64_t> extents;
        for (const auto& l : rows) extents.push_back(l.extent);
        const auto windows = windows_of(c.nest, rows, c.reduce());
        if (overlap(windows)) return choose.of_windows(lanes, extents, windows, c.steps());
        std::vector<bool> own(rows.size(), false);
        each_read(c.nest.value, [&](const lowered_expr& e) {
            const auto moves = [&](const lowered_loop& l) { return c.terms.depends(e.index, [&](int t) { return t == l.term; }); };
            if (only_read(c.nest.value) != nullptr || v == c.loops.size() || !moves(c.loops[v])) return;
            for (std::size_t i = 0; i < rows.size(); ++i) own[i] = own[i] || moves(rows[i]);
        });
        if (std::find(own.begin(), own.end(), true) == own.end()) own.clear();
        if (v < c.loops.size())
            if (const auto phases = phases_of(c.terms, c.nest, c.loops[v].term); !phases.empty())
                return shape_of_phases(c, choose, phases, rows, lanes, own);
        auto shape = choose.of_products(lanes, extents, c.steps(), own);
        auto windowed = windowed_shape(c, v, choose, rows, extents);
        const bool all_own = !own.empty() && std::find(own.begin(), own.end(), false) == own.end();
        return windowed.lanes > 0 && (all_own || windowed.cycles < shape.cycles) ? windowed : shape;
    }

    /// The tile of a sum of products of which a step concerns one of so many neighbouring results (`phases_of`): the others need no registers then.
    [[nodiscard]] tile_shape shape_of_phases(const reduction_loops& c, const tile_chooser& choose, const std::vector<lowered_expr>& phases,
                                             const std::vector<lowered_loop>& rows, std::int64_t lanes, const std::vector<bool>& own) const {
        std::vector<std::int64_t> extents, periods;
        for (const auto& l : rows) {
            periods.push_back(period_of(c.terms, phases, l.term));
            extents.push_back((l.extent + periods.back() - 1) / periods.back());
        }
        auto shape = choose.of_products(lanes, extents, c.steps(), own);
        for (std::size_t i = 0; i < rows.size(); ++i) shape.parts[i] = (std::min)(shape.parts[i] * periods[i], rows[i].extent);
        return shape;
    }

    /// The tile of a product of overlapping windows and a filter that stays in registers. `lanes` is 0 if the loops are not such a product, or if that
    /// does not pay.
    [[nodiscard]] tile_shape windowed_shape(const reduction_loops& c, std::size_t v, const tile_chooser& choose,
                                            const std::vector<lowered_loop>& rows, const std::vector<std::int64_t>& extents) const {
        tile_shape best;
        best.lanes = 0;
        if (v == c.loops.size()) return best;
        const auto product = windowed_product_of(c.terms, c.nest, rows);
        const auto moves = [&](const lowered_expr& e) { return c.terms.depends(e.index, [&](int t) { return t == c.loops[v].term; }); };
        if (!product || !moves(*product->image)) return best;
        const auto& image = product->image->index;
        const auto reduce = c.reduce();
        const auto lane_step = image.factor(c.loops[v].term);
        // Windows over all reduce loops along which the image overlaps, or over one of them if the filter is too large for the registers.
        for (std::size_t only = 0; only <= reduce.size(); ++only) {
            std::vector<bool> window(reduce.size(), false);
            std::vector<lowered_loop> loops;
            bool along_lanes = false;
            std::int64_t steps = 1;
            for (std::size_t k = 0; k < reduce.size(); ++k) {
                if (only < reduce.size() && only != k) continue;
                const auto lanes = lane_step > 0 && image.factor(reduce[k].term) > 0 && lane_step % image.factor(reduce[k].term) == 0;
                const auto one = windows_of(image, rows, reduce.subspan(k, 1));
                if (!lanes && !overlap(one)) continue;
                window[k] = true;
                along_lanes = along_lanes || lanes;
                steps *= reduce[k].extent;
                loops.push_back(reduce[k]);
            }
            const auto windows = windows_of(image, rows, std::span<const lowered_loop>(loops));
            if (!overlap(windows)) continue;
            const double load_slots = along_lanes || lane_step != 1 ? 2 : 1;
            auto shape = choose.of_windowed_products(c.loops[v].extent, extents, product->fixed, windows, steps, c.steps(), moves(*product->filter),
                                                     load_slots);
            const bool alone = std::all_of(shape.parts.begin(), shape.parts.end(), [](std::int64_t part) { return part == 1; }); // nothing is shared
            if (shape.lanes == 0 || alone || (best.lanes > 0 && shape.cycles >= best.cycles)) continue;
            best = std::move(shape);
            best.window = std::move(window);
        }
        return best;
    }

    /// Estimated cycles of one reduce step of all results of the tile loops, with loop `v` as the lanes; includes a step's share of the stores.
    [[nodiscard]] double tile_cycles(const reduction_loops& c, std::size_t v) const {
        const auto shape = shape_of(c, v, choose_); // whole vectors: other loops fill those, and products along them are faster than estimated
        const auto rows = c.rows(v);
        const auto lanes = v < c.loops.size() ? c.loops[v].extent : 1;
        const auto vectors = static_cast<double>(choose_.vectors(lanes));
        double cycles = shape.cycles;
        if (v == c.loops.size()) return cycles;
        each_read(c.nest.value, [&](const lowered_expr& e) {
            bool one = false;
            if (smooth(c.terms, e, c.loops[v].term, one)) return;
            double loads = vectors;
            for (const auto& l : rows)
                if (c.terms.depends(e.index, [&](int t) { return t == l.term; })) loads *= static_cast<double>(l.extent);
            cycles += loads * choose_.gather_cycles(lanes, e.index.factor(c.loops[v].term));
        });
        double results = vectors;
        for (const auto& l : rows) results *= static_cast<double>(l.extent);
        double store = 1;
        if (c.nest.index.factor(c.loops[v].term) != 1) {
            std::int64_t adjacent = 1;
            for (std::size_t i = 0; i < rows.size(); ++i)
                if (c.nest.index.factor(rows[i].term) == 1) adjacent = shape.parts[i];
            store = choose_.scatter_cycles(lanes, adjacent);
        }
        return cycles + results * store * (c.neutral_in_registers ? 1 : 2) / static_cast<double>(c.steps());
    }
};

} // namespace augur::inline v0::loopnest::detail

#endif
