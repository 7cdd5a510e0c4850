// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_READ_HPP
#define AUGUR_LOOPNEST_DETAIL_C_READ_HPP

/// @file
/// Code generation for reads and stores: one element, or a vector of elements along one loop.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/loopnest/detail/c_text.hpp>
#include <augur/loopnest/detail/tile_shape.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_read : protected c_text {
protected:
    using c_text::c_text;

    struct lane_segment {
        std::int64_t first;
        int width, behind;
    };

    struct lanes {
        int term = -1; ///< term of the vectorised loop; -1: scalar
        std::int64_t first = 0;
        int width = 1;
        int behind = 0; ///< so many of the last lanes are behind the last iteration: they read nothing outside a buffer, and are not stored

        [[nodiscard]] int used() const noexcept { return width - behind; }
    };
    struct value_text {
        std::string text;
        bool vector = false;
    };
    std::vector<std::pair<std::string, value_text>> loaded_; ///< reads that the current straight-line code already holds in a local variable
    std::vector<int> tile_terms_;                            ///< tile loops; a read independent of them is kept in a register; empty: no effect
    int held_buffer_ = -1;                                   ///< reads of this buffer are kept in registers; -1: of none
    bool shared_reads_ = false;                              ///< reads have several uses: gcc would repeat an unaligned load for each
    /// Elements of a buffer that the current tile reads under the condition `when` (empty: in any case), so that loads under that condition may cover
    /// them: `length` from `first` on.
    struct touched_elements {
        int buffer;
        std::string when;
        affine first;
        std::int64_t length;
    };
    std::vector<touched_elements> touched_;
    bool in_place_ = false;     ///< write reads in place, without a local variable
    bool halves_apart_ = false; ///< vectors of eight lanes have the order in which one shuffle within the halves leaves every second element

    /// The iteration of the vectorised loop, counted from the first one of `l`, in lane `lane`.
    [[nodiscard]] std::int64_t iteration_of(const lanes& l, int lane) const {
        constexpr std::array<std::int64_t, 8> apart{0, 1, 4, 5, 2, 3, 6, 7}; // of aug_inner_halves8, its own inverse
        return halves_apart_ && l.width == 8 ? apart[static_cast<std::size_t>(lane)] : lane;
    }

    /// Adds the read `e` to `touched_`.
    void touch(const lowered_expr& e, const lanes& l, const std::string& when) {
        auto first = at_lane(e.index, l, 0);
        auto length = at_lane(e.index, l, l.used() - 1) - first;
        if (!length.is_constant() || length.constant < 0) return;
        for (auto& t : touched_)
            if (const auto from = first - t.first; t.buffer == e.buffer && t.when == when && from.is_constant()) {
                const auto end = (std::max)(t.length, from.constant + length.constant + 1);
                if (from.constant < 0) t.first = std::move(first);
                t.length = end - (std::min)(from.constant, std::int64_t{0});
                return;
            }
        touched_.push_back({e.buffer, when, std::move(first), length.constant + 1});
    }

    affine at_lane(const affine& a, const lanes& l, int lane) {
        if (l.term < 0) return known(a);
        fixed_.emplace_back(l.term, l.first + iteration_of(l, lane));
        auto out = known(a);
        fixed_.pop_back();
        return out;
    }

    bool moves_with_lanes(const affine& a, const lanes& l) {
        return l.term >= 0 && kernel_.terms.depends(a, [&](int t) { return t == l.term; });
    }

    /// A vector assembled from scalar lanes.
    value_text gather(int width, const std::function<std::string(int)>& lane) {
        std::string text = "(aug_v" + std::to_string(width) + "){";
        for (int i = 0; i < width; ++i) text += (i > 0 ? ", " : "") + lane(i);
        return {text + "}", true};
    }

    /// The mask of the lanes that are iterations. GCC before 14 loads the whole vector under a mask that it knows (bug 110309).
    [[nodiscard]] static std::string used_mask(const lanes& l) {
        return "aug_mask(" + std::to_string((1U << static_cast<unsigned>(l.used())) - 1U) + "u)";
    }

    /// A load of all lanes from `place`; where lanes behind the last iteration may lie outside of the buffer, they are 0.
    [[nodiscard]] static std::string load_text(const std::string& place, const lanes& l, bool inside) {
        const auto width = std::to_string(l.width);
        return l.behind == 0 || inside ? "aug_load" + width + "(" + place + ")"
                                       : "aug_load_mask" + width + "(" + place + ", " + used_mask(l) + ", 0.0f)";
    }

    /// Declares `v` as `text`. A vector that is `held` stays in a register, and is not loaded again for each of its uses.
    void declare_value(const value_text& v, int width, const std::string& text, bool held) {
        held = held && v.vector && width > 2;
        const auto type = v.vector ? "aug_v" + std::to_string(width) : std::string("float");
        line((held ? "" : "const ") + type + " " + v.text + " = " + text + ";");
        if (held) line("aug_hold" + std::to_string(width) + "(" + v.text + ");");
    }

    value_text read(int buffer, const affine& index, const lanes& l) {
        const auto first = at_lane(index, l, 0);
        const auto place = address(buffer, first); // no structured binding: clang 14 and 15 cannot capture one
        const auto scalar = [](const std::pair<std::string, std::int64_t>& a) { return a.first + "[" + std::to_string(a.second) + "]"; };
        const auto keep = [&](std::string key, std::string text, bool vector) -> value_text {
            for (const auto& [k, v] : loaded_)
                if (k == key) return v;
            if (in_place_) return {std::move(text), vector};
            value_text v{fresh("x"), vector};
            const bool held = shared_reads_ || buffer == held_buffer_ || (!tile_terms_.empty() && !depends_on(index, tile_terms_));
            declare_value(v, l.width, text, held);
            loaded_.emplace_back(std::move(key), v);
            return v;
        };
        const auto same = [&]() -> value_text { // one element for all lanes
            const auto text = scalar(place);
            if (buffer != held_buffer_ || l.width == 1) return keep(text, text, false);
            const auto widened_text = "aug_set" + std::to_string(l.width) + "(" + text + ")";
            return keep(widened_text, widened_text, true);
        };
        if (l.width == 1 || !moves_with_lanes(index, l)) return same();
        std::vector<affine> each;
        std::int64_t stride = 0;
        bool regular = true;
        for (int i = 0; i < l.width; ++i) {
            each.push_back(at_lane(index, l, i));
            const auto distance = each.back() - first;
            regular = regular && distance.is_constant();
            if (i == 1) stride = distance.constant;
            regular = regular && distance.constant == stride * i;
        }
        if (regular && stride == 0) return same();
        if (regular && stride == 1) {
            const bool inside = kernel_.terms.range(first).high + l.width <= kernel_.buffers[static_cast<std::size_t>(buffer)].elements;
            const auto text = load_text(place.first + " + " + std::to_string(place.second), l, inside);
            return keep(text, text, true);
        }
        AUGUR_ASSERT(l.behind == 0, "c_read: lanes that are not adjacent have no lanes behind them");
        const auto load = [&](const affine& from, bool held) -> std::string {
            const auto at = address(buffer, from);
            const auto text = "aug_load" + std::to_string(l.width) + "(" + at.first + " + " + std::to_string(at.second) + ")";
            if (held && std::none_of(loaded_.begin(), loaded_.end(), [&](const auto& known) { return known.first == text; })) return {};
            const auto shared = std::exchange(shared_reads_, true); // by shuffles
            auto name = keep(text, text, true).text;
            shared_reads_ = shared;
            return name;
        };
        if (auto text = shuffled_read(buffer, each, false, load); !text.empty()) return keep(text, text, true);
        auto v = gather(l.width, [&](int i) { return scalar(address(buffer, each[static_cast<std::size_t>(i)])); });
        return keep(v.text, v.text, true);
    }

    /// A vector whose elements lie at constant distances within two neighbouring vectors of `buffer`, e.g. every second element, or the channel of a group
    /// that several filters read: one or two loads and a shuffle. `load(offset, held)` is the name of a loaded vector; empty if `held` and there is
    /// none yet. Empty if the elements lie further apart, or if the loads could leave the buffer and are not `masked`.
    template <class F>
    std::string shuffled_read(int buffer, const std::vector<affine>& each, bool masked, const F& load) {
        const auto width = static_cast<std::int64_t>(each.size());
        if (width < 4) return {};
        std::vector<std::int64_t> distance;
        for (const auto& e : each) {
            const auto d = e - each.front();
            if (!d.is_constant()) return {};
            distance.push_back(d.constant);
        }
        const auto low = *std::min_element(distance.begin(), distance.end());
        const auto high = *std::max_element(distance.begin(), distance.end());
        const auto vectors = (high - low) / width + 1;
        if (vectors > 2) return {};
        auto before = kernel_.terms.range(each.front() + affine(low)); // elements of the buffer before the first, and behind the loads
        before.high = kernel_.buffers[static_cast<std::size_t>(buffer)].elements - before.high - vectors * width;
        for (const auto& t : touched_)
            if (const auto from = each.front() + affine(low) - t.first; t.buffer == buffer && t.when.empty() && from.is_constant()) {
                before.low = (std::max)(before.low, from.constant);
                before.high = (std::max)(before.high, t.length - from.constant - vectors * width);
            }
        auto back = masked ? 0 : (std::max)(-before.high, std::int64_t{0}); // starts earlier, so that the last load ends inside the buffer
        const bool odd =
            (each.front().constant + low - back) % 2 != 0; // then the reads of its even neighbour have the same loads, often aligned ones
        if (odd && (masked || back < before.low) && back + 1 + high - low < vectors * width) ++back;
        if ((!masked && back > before.low) || back + high - low >= vectors * width) return {};
        const auto ahead = vectors * width - 1 - (high - low); // an earlier pair of loads may begin that much before the first element
        bool every_second = vectors == 2;
        for (std::size_t i = 0; i < distance.size(); ++i)
            every_second = every_second && distance[i] == 2 * iteration_of({-1, 0, static_cast<int>(width)}, static_cast<int>(i));
        const auto shuffled = [&](std::int64_t shift, bool held) -> std::string {
            const auto start = each.front() + affine(low - shift);
            const auto first = load(start, held);
            const auto second = vectors == 2 && !first.empty() ? load(start + affine(width), held) : first;
            if (first.empty() || second.empty()) return {};
            if (every_second && shift <= 1)
                return std::string(halves_apart_ && width == 8 ? "aug_apart_" : "aug_unzip_") + (shift == 0 ? "even" : "odd") +
                       std::to_string(width) + "(" + first + ", " + second + ")";
            std::string text = "AUG_SHUFFLE(" + std::to_string(width) + ", " + first + ", " + second;
            for (const auto d : distance) text += ", " + std::to_string(d - low + shift);
            return text + ")";
        };
        for (auto shift = back; shift <= ahead; ++shift)
            if (auto text = shuffled(shift, true); !text.empty()) return text;
        return shuffled(back, false);
    }

    static std::string widened(const value_text& v, int width) {
        return v.vector || width == 1 ? v.text : "aug_set" + std::to_string(width) + "(" + v.text + ")";
    }

    void store(int buffer, const affine& index, const lanes& l, const value_text& v) {
        const auto first = at_lane(index, l, 0);
        if (l.width == 1) {
            const auto [name, offset] = address(buffer, first);
            line(name + "[" + std::to_string(offset) + "] = " + v.text + ";");
            return;
        }
        const auto text = widened(v, l.width);
        bool dense = true;
        std::vector<affine> each;
        for (int i = 0; i < l.used(); ++i) {
            each.push_back(at_lane(index, l, i));
            const auto distance = each.back() - first;
            dense = dense && distance.is_constant() && distance.constant == i;
        }
        const auto width = std::to_string(l.width);
        if (dense) {
            const auto [name, offset] = address(buffer, first);
            const auto place = name + " + " + std::to_string(offset);
            if (l.behind == 0) line("aug_store" + width + "(" + place + ", " + text + ");");
            else line("aug_store_mask" + width + "(" + place + ", " + used_mask(l) + ", " + text + ");");
            return;
        }
        const auto tmp = fresh("y");
        line("const aug_v" + width + " " + tmp + " = " + text + ";");
        for (int i = 0; i < l.used(); ++i) {
            const auto [name, offset] = address(buffer, each[static_cast<std::size_t>(i)]);
            line(name + "[" + std::to_string(offset) + "] = " + tmp + "[" + std::to_string(i) + "];");
        }
    }

    /// `count` lanes as vectors of one width, the widest power of two that fits. If `count` is no multiple, the last vector overlaps its neighbour:
    /// the shared elements are computed twice, which costs less than narrower vectors. Stores have to follow the loads of both: then this is exact
    /// for results that are accumulated in memory or written over an operand, too. For unrolled lanes: the result has one element per vector.
    /// @param ends_anywhere  less than a vector may be one vector with lanes behind the last iteration (`tile_chooser::vectors`)
    [[nodiscard]] std::vector<lane_segment> segments(std::int64_t count, bool ends_anywhere) const {
        std::vector<lane_segment> out;
        if (ends_anywhere && is_part_of_vector(count, options_.vector_floats)) {
            const auto whole = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(count)));
            return {{0, whole, whole - static_cast<int>(count)}};
        }
        const auto width = static_cast<std::int64_t>(
            std::bit_floor(static_cast<std::uint64_t>((std::min)(count, static_cast<std::int64_t>(options_.vector_floats)))));
        for (std::int64_t at = 0; at < count; at += width) out.push_back({(std::min)(at, count - width), static_cast<int>(width), 0});
        return out;
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
