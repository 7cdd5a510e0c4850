// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_TRANSPOSE_HPP
#define AUGUR_LOOPNEST_DETAIL_C_TRANSPOSE_HPP

/// @file
/// Code generation for register tiles whose lanes are not adjacent in memory: their vectors are transposed in registers on the way to and from
/// memory, as for NCHW convolutions that are vectorised along their filters.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/c_windows.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_transpose : protected c_windows {
protected:
    using c_windows::c_windows;

    /// The loop of the tile along which the elements at `index` are adjacent in memory, if the lanes are not; `p.tile.size()` if there is none.
    [[nodiscard]] static std::size_t adjacent_rows(const tile_plan& p, const affine& index) {
        std::size_t i = p.tile.size();
        if (p.lanes.term < 0 || p.lanes.extent < 2 || index.factor(p.lanes.term) == 1) return i;
        while (i-- > 0)
            if (p.tile[i].extent > 1 && index.factor(p.tile[i].term) == 1) return i;
        return p.tile.size();
    }

    /// Calls `f(segment, names)` for each set of vectors of a tile that lie next to each other along the loop `across`; `names` are the places of their
    /// variables in the order of `each_vector`. The other loops of the tile are fixed meanwhile.
    template <class F>
    void each_transposed(const tile_plan& p, std::size_t across, const F& f) {
        const auto parts = segments(p.lanes.extent, p.lanes_behind);
        std::size_t stride = parts.size(); // distance of neighbours along `across`
        for (auto i = across + 1; i < p.tile.size(); ++i) stride *= static_cast<std::size_t>(p.tile[i].extent);
        const auto length = static_cast<std::size_t>(p.tile[across].extent);
        const auto enter = [&](auto&& self, std::size_t depth, std::size_t base) -> void {
            if (depth < p.tile.size()) {
                std::size_t inner = parts.size();
                for (auto i = depth + 1; i < p.tile.size(); ++i) inner *= static_cast<std::size_t>(p.tile[i].extent);
                const std::int64_t count = depth == across ? 1 : p.tile[depth].extent;
                for (std::int64_t i = 0; i < count; ++i) {
                    if (depth != across) fixed_.emplace_back(p.tile[depth].term, i);
                    self(self, depth + 1, base + static_cast<std::size_t>(i) * inner);
                    if (depth != across) fixed_.pop_back();
                }
                return;
            }
            for (std::size_t k = 0; k < parts.size(); ++k) {
                std::vector<std::size_t> names;
                for (std::size_t i = 0; i < length; ++i) names.push_back(base + i * stride + k);
                f(parts[k], names);
            }
        };
        enter(enter, 0, 0);
    }

    /// The address of the element at lane `lane` and row `row` of the loop `across`, with the other loops of the tile fixed.
    std::string element_address(const tile_plan& p, std::size_t across, int buffer, const affine& index, std::int64_t lane, std::int64_t row) {
        fixed_.emplace_back(p.lanes.term, lane);
        fixed_.emplace_back(p.tile[across].term, row);
        const auto place = address(buffer, known(index));
        fixed_.resize(fixed_.size() - 2);
        return place.first + " + " + std::to_string(place.second);
    }

    /// The blocks in which `rows` vectors of `width` lanes are transposed: their size and first rows. The last block overlaps its neighbour.
    static std::pair<int, std::vector<std::int64_t>> transposed_blocks(std::int64_t rows, int width) {
        const auto size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>((std::min)(rows, static_cast<std::int64_t>(width)))));
        std::vector<std::int64_t> first;
        for (std::int64_t at = 0; at < rows; at += size) first.push_back((std::min)(at, rows - size));
        return {static_cast<int>(size), std::move(first)};
    }

    /// Eight vectors of eight lanes transposed, by 24 shuffles that are one instruction each with AVX; rounds of `aug_zip` cross the halves of a register
    /// in each round, and need 48 to 72.
    std::vector<std::string> transposed8(std::vector<std::string> rows) {
        const auto exchange = [&](std::size_t distance, const char* what) {
            for (std::size_t i = 0; i < 8; ++i) {
                if ((i & distance) != 0) continue;
                const auto a = std::exchange(rows[i], fresh("z")), b = std::exchange(rows[i + distance], fresh("z"));
                line("const aug_v8 " + rows[i] + " = aug_low_" + what + "8(" + a + ", " + b + ");");
                line("const aug_v8 " + rows[i + distance] + " = aug_high_" + what + "8(" + a + ", " + b + ");");
            }
        };
        exchange(1, "words");
        exchange(2, "pairs");
        exchange(4, "halves");
        std::swap(rows[1], rows[2]); // the first two rounds interleave, where a transposition exchanges
        std::swap(rows[5], rows[6]);
        return rows;
    }

    /// Stores the results `sums` of a tile whose lanes are not adjacent in memory: blocks of vectors are transposed by rounds of interleaving.
    void store_transposed(const tile_plan& p, std::size_t across, const std::vector<std::string>& sums) {
        each_transposed(p, across, [&](const lane_segment& s, const std::vector<std::size_t>& names) {
            const auto w = std::to_string(s.width);
            const auto blocks = transposed_blocks(p.tile[across].extent, s.width);
            const auto size = static_cast<std::size_t>(blocks.first);
            for (const auto row : blocks.second) {
                std::vector<std::string> now(size), next(size);
                for (std::size_t i = 0; i < size; ++i) now[i] = sums[names[static_cast<std::size_t>(row) + i]];
                const bool whole = size == 8 && s.width == 8;
                if (whole) now = transposed8(now);
                for (auto rounds = whole ? std::size_t{1} : size; rounds > 1; rounds /= 2) {
                    for (std::size_t i = 0; i < size / 2; ++i)
                        for (const std::size_t half : {0U, 1U}) {
                            next[2 * i + half] = fresh("z");
                            line("const aug_v" + w + " " + next[2 * i + half] + " = aug_zip_" + (half == 0 ? "low" : "high") + w + "(" + now[i] +
                                 ", " + now[i + size / 2] + ");");
                        }
                    std::swap(now, next);
                }
                const auto pieces = static_cast<std::size_t>(s.width) / size; // lanes of one vector
                for (std::size_t k = 0; k < size; ++k)
                    for (std::size_t piece = 0; piece < pieces; ++piece) {
                        const auto to =
                            element_address(p, across, p.nest.buffer, p.nest.index, s.first + static_cast<std::int64_t>(k * pieces + piece), row);
                        if (pieces == 1) line("aug_store" + w + "(" + to + ", " + now[k] + ");");
                        else line("aug_store_part" + w + "_" + std::to_string(size) + "(" + to + ", " + now[k] + ", " + std::to_string(piece) + ");");
                    }
            }
        });
    }

    /// Loads the elements at `index` of a buffer for all vectors of a tile, into fresh variables in the order of `each_vector`; the inverse of
    /// `store_transposed`.
    std::vector<std::string> load_transposed(const tile_plan& p, std::size_t across, int buffer, const affine& index) {
        std::size_t count = 0;
        each_vector(p, 0, [&](const lanes&) { ++count; });
        std::vector<std::string> sums(count);
        for (auto& s : sums) s = fresh("a");
        each_transposed(p, across, [&](const lane_segment& s, const std::vector<std::size_t>& names) {
            const auto w = std::to_string(s.width);
            const auto blocks = transposed_blocks(p.tile[across].extent, s.width);
            const auto size = static_cast<std::size_t>(blocks.first);
            const auto pieces = static_cast<std::size_t>(s.width) / size;
            std::int64_t loaded = 0; // rows that an earlier block has
            for (const auto row : blocks.second) {
                std::vector<std::string> now(size), next(size);
                for (std::size_t k = 0; k < size; ++k) {
                    now[k] = fresh("z");
                    std::string text;
                    for (std::size_t piece = 0; piece < pieces; ++piece)
                        text += (piece > 0 ? ", " : "") +
                                element_address(p, across, buffer, index, s.first + static_cast<std::int64_t>(k * pieces + piece), row);
                    line("const aug_v" + w + " " + now[k] + " = aug_load" + w +
                         (pieces == 1 ? "(" + text + ");" : "_" + std::to_string(size) + "((const float *const[]){" + text + "});"));
                }
                const bool whole = size == 8 && s.width == 8;
                if (whole) now = transposed8(now);
                for (auto rounds = whole ? std::size_t{1} : size; rounds > 1; rounds /= 2) {
                    for (std::size_t i = 0; i < size / 2; ++i)
                        for (const std::size_t half : {0U, 1U}) {
                            next[i + half * size / 2] = fresh("z");
                            line("const aug_v" + w + " " + next[i + half * size / 2] + " = aug_unzip_" + (half == 0 ? "even" : "odd") + w + "(" +
                                 now[2 * i] + ", " + now[2 * i + 1] + ");");
                        }
                    std::swap(now, next);
                }
                for (auto i = loaded - row; i < static_cast<std::int64_t>(size); ++i)
                    line("aug_v" + w + " " + sums[names[static_cast<std::size_t>(row + i)]] + " = " + now[static_cast<std::size_t>(i)] + ";");
                loaded = row + static_cast<std::int64_t>(size);
            }
        });
        return sums;
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
