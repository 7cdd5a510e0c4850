// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_TILE_SHAPE_HPP
#define AUGUR_LOOPNEST_DETAIL_TILE_SHAPE_HPP

/// @file
/// Choice of the register tile of a reduction: the number of results computed at once.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace augur::inline v0::loopnest::detail {

/// Lanes computed at once, and iterations of each other loop of the tile.
struct tile_shape {
    std::int64_t lanes = 1;
    std::vector<std::int64_t> parts;
    double cycles = 0; ///< estimate for all results: of one reduce step (`of_products`, `of_windowed_products`), or of the reduction (`of_windows`)
    std::vector<bool> window; ///< the reduce loops over a window, if each element of the image is loaded once for all results that it takes part in
};

/// True for so many lanes that two narrower vectors would hold them, where one vector has some lanes left over.
[[nodiscard]] constexpr bool is_part_of_vector(std::int64_t lanes, std::int64_t width) noexcept {
    return lanes > 2 && lanes < width && !std::has_single_bit(static_cast<std::uint64_t>(lanes));
}

/// A loop of a tile whose reads overlap between iterations, as pooling windows do: an iteration reads `length` positions, and consecutive
/// iterations start `stride` positions apart. stride 0: no overlap.
struct tile_window {
    std::int64_t stride = 0;
    std::int64_t length = 1;

    /// Distinct positions that `n` iterations read.
    [[nodiscard]] std::int64_t positions(std::int64_t n) const noexcept { return stride > 0 ? (n - 1) * stride + length : n * length; }

    /// Positions that exactly one of `n` iterations reads.
    [[nodiscard]] std::int64_t alone(std::int64_t n) const noexcept {
        if (stride == 0 || n == 1) return n * length;
        return 2 * stride + (n - 2) * (std::max)(2 * stride - length, std::int64_t{0}); // the first and the last iteration have one neighbour
    }

    /// Operations to combine `n` windows if each position costs `cost` operations and shared positions are combined once. Positions of a single
    /// window are added step by step; the first value of a result needs no operation.
    [[nodiscard]] std::int64_t operations(std::int64_t n, std::int64_t cost) const noexcept {
        const auto single = alone(n);
        return (positions(n) - single) * (cost - 1) + (n * length - single) + single * cost - n;
    }
};

/// Chooses register tiles for processors with two multiply-adds and two loads per cycle and a latency of 4 cycles (Intel since Haswell, AMD since
/// Zen 2).
class tile_chooser {
public:
    /// @param lanes      float lanes of the widest vector
    /// @param registers  number of vector registers
    tile_chooser(std::int64_t lanes, std::int64_t registers) : width_(lanes), registers_(registers) {}

    /// The same for a tile whose last vector may have lanes behind the last iteration.
    [[nodiscard]] tile_chooser with_lanes_behind(bool allowed) const {
        auto out = *this;
        out.lanes_behind_ = allowed;
        return out;
    }

    /// Number of vectors that hold `lanes` lanes: all of one width, the widest that fits; the last one overlaps its neighbour if `lanes` is no multiple.
    /// With lanes behind the last iteration, a part of a vector is one vector.
    [[nodiscard]] std::int64_t vectors(std::int64_t lanes) const noexcept {
        if (lanes < 1) return 0;
        if (lanes_behind_ && is_part_of_vector(lanes, width_)) return 1;
        const auto width = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>((std::min)(lanes, width_))));
        return (lanes + width - 1) / width;
    }

    /// Partial sums per result of a tile. Eight sums in total hide the latency of 4 cycles. A short reduction of `steps` needs no partial sums, since
    /// the processor overlaps it with the next tile.
    [[nodiscard]] std::int64_t turns(std::int64_t rows, std::int64_t vectors, std::int64_t steps) const {
        const auto sums = rows * vectors;
        if (sums * steps < 256) return 1;
        return (std::max)((std::min)((8 + sums - 1) / sums, room(rows, vectors) / sums), std::int64_t{1});
    }

    /// The fastest tile shape for a matrix product: `total_lanes` lanes times all of `extents`. Each result is a sum over `steps` products of
    /// an operand broadcast to a row and a row of vectors.
    /// @param own  the loops of whose iterations each has a row of vectors of its own, as in a grouped or depthwise convolution; empty: none
    [[nodiscard]] tile_shape of_products(std::int64_t total_lanes, const std::vector<std::int64_t>& extents, std::int64_t steps,
                                         const std::vector<bool>& own = {}) const {
        struct tile_kind {
            std::int64_t rows, own_rows, count; // rows of results and of vectors, and the number of such tiles
        };
        bool all_own = !own.empty(); // a sum and its vector each, and a row of the others; ten sums share most loads that can be shared
        for (std::size_t i = 0; i < own.size(); ++i) all_own = all_own && (own[i] || extents[i] == 1);
        std::vector<std::size_t> order; // where there are registers for many rows, loops that share a row of vectors come first, then the inner ones
        const auto shares = [&](std::size_t i) { return registers_ <= 16 || own.empty() || !own[i]; };
        for (const bool first : {true, false})
            for (std::size_t i = extents.size(); i-- > 0;)
                if (shares(i) == first) order.push_back(i);
        tile_shape best;
        auto least = std::numeric_limits<double>::infinity();
        for (std::int64_t width = 8; width >= 1; --width) { // of equal shapes the widest wins: it reads the broadcast operand least often
            tile_shape shape{(std::min)(total_lanes, width * width_), extents, 0, {}};
            const auto whole = vectors(shape.lanes);
            const auto left = vectors(total_lanes % shape.lanes);
            const auto sums = own.empty() ? room(2, whole) : all_own ? (std::min)((registers_ - whole) / 2, std::int64_t{10}) : registers_ * 5 / 8;
            auto most = (std::max)(sums / whole, std::int64_t{1});
            std::vector<tile_kind> tiles{{1, 1, 1}};
            for (const auto i : order) {
                const auto parts = (extents[i] + most - 1) / most;
                const auto part = shape.parts[i] = (extents[i] + parts - 1) / parts;
                for (std::size_t k = tiles.size(); k-- > 0;) {
                    const auto t = tiles[k];
                    const bool many = !own.empty() && own[i];
                    tiles[k] = {t.rows * part, t.own_rows * (many ? part : 1), t.count * (extents[i] / part)};
                    if (const auto rest = extents[i] % part; rest > 0) tiles.push_back({t.rows * rest, t.own_rows * (many ? rest : 1), t.count});
                }
                most /= part;
            }
            double cycles = 0;
            for (const auto& t : tiles) {
                const auto loads = [&](std::int64_t v) { // vectors of several rows are rarely aligned
                    return own.empty() ? static_cast<double>(t.rows + v)
                                       : 1.5 * static_cast<double>(t.own_rows * v) + static_cast<double>(t.rows / t.own_rows);
                };
                cycles +=
                    static_cast<double>(t.count) * (static_cast<double>(total_lanes / shape.lanes) * step_cycles(t.rows, whole, steps, loads(whole)) +
                                                    (left > 0 ? step_cycles(t.rows, left, steps, loads(left)) : 0));
            }
            cycles *= 1 + 0.01 * static_cast<double>(tiles.size()); // each tile shape has its own code
            if (cycles >= least) continue;
            least = shape.cycles = cycles;
            best = std::move(shape);
        }
        return best;
    }

    /// The fastest tile shape for products of overlapping windows and a filter that stays in registers: each element of the image is loaded once for
    /// all results of a tile. `lanes` is 0 if the filter does not fit.
    ///
    /// @param fixed          loops of which a tile has one iteration
    /// @param steps          positions of a window
    /// @param all_steps      steps of the reduction, of which windows are a part
    /// @param filter_vectors whether the filter differs between lanes; else its elements are broadcast
    /// @param load_slots     cost of a load: 2 if it is unaligned or shuffled
    [[nodiscard]] tile_shape of_windowed_products(std::int64_t total_lanes, const std::vector<std::int64_t>& extents, const std::vector<bool>& fixed,
                                                  const std::vector<tile_window>& windows, std::int64_t steps, std::int64_t all_steps,
                                                  bool filter_vectors, double load_slots) const {
        tile_shape best{0, {}, std::numeric_limits<double>::infinity(), {}};
        std::vector<std::int64_t> parts(extents.size(), 1);
        for (std::int64_t width = 1; width <= 4; ++width) {
            const auto lanes = (std::min)(total_lanes, width * width_);
            const auto whole = vectors(lanes);
            const auto filter = steps * (filter_vectors ? whole : 1);
            const auto each = [&](const auto& self, std::size_t i, std::int64_t left) -> void {
                if (i < extents.size()) {
                    for (parts[i] = fixed[i] ? 1 : (std::min)(extents[i], left); parts[i] >= 1; --parts[i]) self(self, i + 1, left / parts[i]);
                    parts[i] = 1;
                    return;
                }
                const auto rows_of_lanes = static_cast<double>(total_lanes / lanes * whole + vectors(total_lanes % lanes));
                double loads = rows_of_lanes * static_cast<double>(steps), results = rows_of_lanes;
                double tiles = static_cast<double>((total_lanes + lanes - 1) / lanes);
                for (std::size_t k = 0; k < extents.size(); ++k) {
                    const auto rest = extents[k] % parts[k];
                    const auto positions = extents[k] / parts[k] * windows[k].positions(parts[k]) + (rest > 0 ? windows[k].positions(rest) : 0);
                    loads *= static_cast<double>(positions) / static_cast<double>(windows[k].length);
                    results *= static_cast<double>(extents[k]);
                    tiles *= static_cast<double>((extents[k] + parts[k] - 1) / parts[k]);
                }
                const double latency = all_steps < 64 ? 0 : 4; // the multiply-adds of a result wait for each other; short reductions overlap
                const auto busy =
                    (std::max)({results * static_cast<double>(steps) / 2, loads * load_slots / 2, tiles * static_cast<double>(steps) * latency});
                const auto cycles = (busy + tiles * (4 + static_cast<double>(filter) / 2)) / static_cast<double>(steps);
                if (cycles < best.cycles) best = {lanes, parts, cycles, {}};
            };
            if (const auto room = registers_ - 2 - filter; room >= whole) each(each, 0, room / whole);
        }
        return best;
    }

    /// Cycles to assemble a vector from elements that are `stride` apart in memory; 0: at other distances. Two neighbouring vectors need one shuffle.
    [[nodiscard]] double gather_cycles(std::int64_t lanes, std::int64_t stride) const noexcept {
        return stride == 2 ? 2.0 : static_cast<double>((std::min)(lanes, width_));
    }

    /// Cycles to store a vector whose lanes are not adjacent in memory, if `rows` vectors of the tile hold adjacent elements: the vectors are
    /// transposed in registers, and each lane becomes one store of adjacent elements.
    [[nodiscard]] double scatter_cycles(std::int64_t lanes, std::int64_t rows) const noexcept {
        const auto width = (std::min)(lanes, width_);
        const auto block = std::bit_floor(static_cast<std::uint64_t>((std::max)((std::min)(rows, width), std::int64_t{1})));
        return static_cast<double>(std::bit_width(block) - 1) + static_cast<double>(width) / static_cast<double>(block) * 1.5;
    }

    /// The fastest tile shape for overlapping windows. A window has `steps` positions; `windows` has its length and stride along each of `extents`.
    /// Neighbouring windows share loads along all loops, and operations along one loop, where their common positions are combined once.
    ///
    /// @param total_lanes  lanes along the vectorised loop
    [[nodiscard]] tile_shape of_windows(std::int64_t total_lanes, const std::vector<std::int64_t>& extents, const std::vector<tile_window>& windows,
                                        std::int64_t steps) const {
        const auto wide = (std::min)(total_lanes, 2 * width_); // a single vector would use only a part of each fetched line
        window_search search{*this, total_lanes, extents, windows, steps, {}, {}, std::numeric_limits<double>::infinity()};
        for (std::int64_t width = 8; width >= 1; --width) {
            search.shape = {(std::min)(total_lanes, width * width_), std::vector<std::int64_t>(extents.size(), 1), 0, {}};
            if (search.shape.lanes < wide && std::isfinite(search.least)) break;
            search.vary(0, registers_ / vectors(search.shape.lanes));
        }
        return std::move(search.best);
    }

private:
    static constexpr std::int64_t first_level_bytes = 16384; ///< of one operand, beside the other and the results

    std::int64_t width_;
    std::int64_t registers_;
    bool lanes_behind_ = false;

    /// Registers left for results: the broadcast operand needs one, and the other operand a row of vectors, or none if the tile has a single row.
    [[nodiscard]] std::int64_t room(std::int64_t rows, std::int64_t vectors) const { return registers_ - 1 - (rows > 1 ? vectors : 0); }

    /// Cycles of one reduce step of a tile.
    [[nodiscard]] double step_cycles(std::int64_t rows, std::int64_t vectors, std::int64_t steps, double loads) const {
        const auto r = static_cast<double>(rows);
        const auto v = static_cast<double>(vectors);
        const auto waits = rows * vectors * steps < 256 ? 0.0 : 4.0 / static_cast<double>(turns(rows, vectors, steps));
        if (registers_ > 16 || rows == 1) return (std::max)({r * v / 2, loads / 2, waits}); // a single row reads each vector once
        // Few registers make tiles of few rows, whose vectors come again and again from the second-level cache, by whole lines; and a tile that leaves
        // no register free is copied and spilled. The three factors are fits to tiles of 1 to 13 rows and 1 to 8 vectors on Zen 3 (gcc 12).
        const auto row_bytes = vectors * width_ * 4;
        const auto lines = row_bytes * steps > first_level_bytes ? static_cast<double>((row_bytes + 63) / 64) * 3.2 : 0.0;
        const auto copies = rows * vectors + vectors + 1 >= registers_ ? 1.15 : 1.0;
        return (std::max)({r * v / 2 * copies, loads * 0.6, waits, lines});
    }

    struct window_search {
        const tile_chooser& chooser;
        std::int64_t total_lanes;
        const std::vector<std::int64_t>& extents;
        const std::vector<tile_window>& windows;
        std::int64_t steps;
        tile_shape shape;
        tile_shape best;
        double least;

        /// Tries all lengths of the loops from `i` on for which the tile has at most `left` times as many results.
        void vary(std::size_t i, std::int64_t left) {
            if (i == extents.size()) return judge();
            for (std::int64_t part = 1; part <= (std::min)(extents[i], left); ++part) {
                shape.parts[i] = part;
                vary(i + 1, left / part);
            }
        }

        /// The sum of `f` over the tiles along loop `k`.
        template <class F>
        [[nodiscard]] double sum_over_tiles(std::size_t k, F&& f) const {
            const auto rest = extents[k] % shape.parts[k];
            return static_cast<double>(extents[k] / shape.parts[k] * f(shape.parts[k]) + (rest > 0 ? f(rest) : 0));
        }

        void judge() {
            const auto vectors =
                static_cast<double>(chooser.vectors(total_lanes - total_lanes % shape.lanes) + chooser.vectors(total_lanes % shape.lanes));
            double tiles = static_cast<double>((total_lanes + shape.lanes - 1) / shape.lanes);
            double loads = vectors * static_cast<double>(steps);
            double results = vectors;
            std::int64_t sums = chooser.vectors(shape.lanes);
            int uneven = 0;
            for (std::size_t k = 0; k < extents.size(); ++k) {
                loads *= sum_over_tiles(k, [&](std::int64_t n) { return windows[k].positions(n); }) / static_cast<double>(windows[k].length);
                tiles *= sum_over_tiles(k, [](std::int64_t) { return std::int64_t{1}; });
                results *= static_cast<double>(extents[k]);
                sums *= shape.parts[k];
                uneven += extents[k] % shape.parts[k] > 0 ? 1 : 0;
            }
            double operations = results * static_cast<double>(steps - 1);
            auto held = sums + 1; // plus one loaded value
            for (std::size_t k = 0; k < extents.size(); ++k) {
                if (windows[k].stride == 0 || shape.parts[k] == 1) continue;
                const auto each = steps / windows[k].length;
                const auto n =
                    results / static_cast<double>(extents[k]) * sum_over_tiles(k, [&](std::int64_t i) { return windows[k].operations(i, each); });
                if (n >= operations) continue;
                operations = n;
                held = sums + 1 + sums / shape.parts[k] / chooser.vectors(shape.lanes); // plus the shared partial sums
            }
            if (held > chooser.registers_) return;
            // A tile costs its pointers and jumps; each shape with a remainder needs its own code.
            const auto cycles = ((loads + operations) / 2 + 4 * tiles) * (1 + 0.02 * uneven);
            if (cycles >= least) return;
            least = shape.cycles = cycles;
            best = shape;
        }
    };
};

} // namespace augur::inline v0::loopnest::detail

#endif
