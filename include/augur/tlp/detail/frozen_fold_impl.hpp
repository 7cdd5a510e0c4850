// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_FROZEN_FOLD_IMPL_HPP
#define AUGUR_TLP_DETAIL_FROZEN_FOLD_IMPL_HPP

/// @file
/// Definitions of tlp/detail/frozen_forward.hpp: `fold`, one product for the output of attention and the first residual layer.

#include <augur/tlp/detail/frozen_forward.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// w.z <- output of attention and the first residual block, computed with `values`. Panel by panel, so that a panel of all rows of the group stays in
/// the cache.
template <class T>
void frozen_forward<T>::fold(worker& w, index common) {
    list_operands(w, common);
    if (common > 0) weigh_single_rows(w, common);
    const fold_weights weights = convert_weights(w, common);
    for (index p = 0; p < net_->fold_panels; ++p) {
        if (common > 0) {
            if constexpr (!std::is_same_v<T, float>) pair_values(w, common, p);
            sum_repeated_rows(w, weights, p);
            sum_single_rows(w, common, weights, p);
        }
        add_own_keys(w, common, weights, p);
    }
}

/// w.values <- values of the common keys, then of the own keys of each candidate; w.init <- initial sums of each row: with common keys w.sums, else the
/// base. With common keys also w.bases <- base of each distinct row; w.means <- mean of each head; w.shares <- weight of the common keys, by place.
template <class T>
void frozen_forward<T>::list_operands(worker& w, index common) {
    const auto& net = *net_;
    const index columns = net.tail.width;
    const auto id_of = [&](const candidate& b, index r) { return present_[groups_.rows()[b.from + static_cast<std::size_t>(r)]]; };
    w.values.clear();
    w.init.clear();
    w.means.clear();
    w.bases.clear();
    for (index j = 0; j < common; ++j) w.values.push_back(values_of(id_of(w.candidates.front(), j)));
    for (const candidate& b : w.candidates) {
        for (index j = common; j < b.rows; ++j) w.values.push_back(values_of(id_of(b, j)));
        for (index r = 0; r < b.rows; ++r) {
            if (common == 0) {
                w.init.push_back(base_of(id_of(b, r)));
                continue;
            }
            const auto place = static_cast<index>(w.place[static_cast<std::size_t>(b.row + r)]);
            w.init.push_back(w.sums.data() + place * columns);
            std::copy_n(w.weights.data() + b.weights + r * b.weights_row, net.lanes, w.shares.data() + place * net.lanes);
        }
    }
    if (common == 0) return;
    for (index h = 0; h < net.heads; ++h) w.means.push_back(w.mix.data() + h * columns);
    for (const std::uint32_t row : w.distinct) w.bases.push_back(base_of(present_[row]));
}

/// Multiplies the weights of the common keys by the row's share, for rows that occur once.
template <class T>
void frozen_forward<T>::weigh_single_rows(worker& w, index common) {
    namespace k = nn::kernels;
    const index lanes = net_->lanes, row = k::whole_blocks(common, k::key_block) * lanes;
    for (index s = w.often; s < static_cast<index>(w.distinct.size()); ++s) {
        const float* const share = w.shares.data() + w.slot_begin[static_cast<std::size_t>(s)] * lanes;
        for (index i = 0; i < common * lanes; i += k::head_lanes)
            for (index l = 0; l < k::head_lanes; ++l) w.common.data()[s * row + i + l] *= share[i % lanes + l];
    }
}

/// Returns the weights in T; for bf16 converts them into w.narrow and makes w.pairs_at.
template <class T>
auto frozen_forward<T>::convert_weights(worker& w, index common) -> fold_weights {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const index row = k::whole_blocks(common, k::key_block) * net.lanes;
    if constexpr (std::is_same_v<T, float>) {
        return {w.weights.data(), w.common.data(), w.common.data() + w.often * row, row, row, common, w.values.data()};
    } else {
        const candidate& b = w.candidates.back();
        const index all = b.weights + k::whole_blocks(b.rows, k::query_block) * b.weights_row;
        k::to_bf16(w.weights.data(), w.narrow.data(), all);
        if (common == 0) return {.own = w.narrow.data()};
        const index pair = net.tail.pair, steps = (common + pair - 1) / pair, repeated_row = steps * net.lanes * pair;
        T *const repeated = w.narrow.data() + all, *const single = repeated + w.often * repeated_row;
        for (index s = 0; s < w.often; ++s)
            for (index j = 0; j < common; j += pair) {
                const float* const key = w.common.data() + s * row + j * net.lanes;
                k::to_bf16_pairs(key, j + 1 < common ? key + net.lanes : nullptr, repeated + s * repeated_row + j * net.lanes, net.lanes);
            }
        k::to_bf16(w.common.data() + w.often * row, single, (static_cast<index>(w.distinct.size()) - w.often) * row);
        w.pairs_at.clear();
        for (index j = 0; j < steps; ++j) w.pairs_at.push_back(w.pairs.data() + j * pair_panel());
        return {w.narrow.data(), repeated, single, repeated_row, row, steps, w.pairs_at.data()};
    }
}

/// w.pairs <- panel p of the common keys' values: pairs of heads become pairs of keys. Only for bf16.
template <class T>
void frozen_forward<T>::pair_values(worker& w, index common, index p) {
    const auto& net = *net_;
    const index columns = net.tail.width, pair = net.tail.pair;
    for (index j = 0; j < common; j += pair)
        for (index s = 0; s < net.head_steps; ++s) {
            const index from = p * value_panel() + s * columns * pair;
            T* const to = w.pairs.data() + j / pair * pair_panel() + s * 2 * columns * pair;
            const T* const first = w.values[static_cast<std::size_t>(j)] + from;
            const T* const second = j + 1 < common ? w.values[static_cast<std::size_t>(j + 1)] + from : nullptr;
            nn::kernels::transpose_pairs(first, second, to, to + columns * pair, columns);
        }
}

/// w.sums <- base + contribution of the common keys in panel p, for all occurrences of repeated rows.
template <class T>
void frozen_forward<T>::sum_repeated_rows(worker& w, const fold_weights& weights, index p) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const index columns = net.tail.width, pair = net.tail.pair;
    static constexpr float zeros[64] = {};
    const float* none = zeros;
    k::panel_tile<T> mean; // mean of the common keys' values, by head
    mean.a_segment = net.lanes * pair;
    mean.a_row = weights.repeated_row;
    mean.segments = weights.values;
    mean.count = weights.steps;
    mean.steps = 1;
    mean.init = &none;
    mean.sums_row = net.heads * columns;
    k::panel_tile<float> start; // base + mean for all occurrences of a distinct row; float, so that it is rounded only once
    start.a_row = net.lanes;
    start.a_segment = 1;
    start.segments = w.means.data();
    start.count = columns == net.single.width ? 1 : net.heads;
    start.steps = net.heads / start.count;
    start.y_row = columns;
    for (index from = 0; from < w.often; from += slot_block) {
        const index to = (std::min)(from + slot_block, w.often);
        for (index s = from; s < to; ++s) // prefetch: the rows are scattered in memory
            for (index c = 0; c < columns; c += 16) __builtin_prefetch(w.bases[static_cast<std::size_t>(s)] + p * columns + c);
        for (index h = 0; h < net.heads; ++h) {
            mean.a = weights.repeated + from * weights.repeated_row + h * pair;
            mean.offset = (pair == 1 ? p * value_panel() : 0) + h * columns * pair;
            mean.sums = w.mix.data() + h * columns;
            net.tail(k::panel_end::sums, to - from, mean);
        }
        for (index s = from; s < to; ++s) {
            const index first = w.slot_begin[static_cast<std::size_t>(s)], n = w.slot_begin[static_cast<std::size_t>(s) + 1] - first;
            start.init = w.bases.data() + s;
            start.a = w.shares.data() + first * net.lanes;
            for (index c = 0; c < columns; c += net.single.width) {
                start.offset = (s - from) * net.heads * columns + c;
                start.init_offset = p * columns + c;
                start.y = w.sums.data() + first * columns + c;
                net.single(k::panel_end::linear, n, start);
            }
        }
    }
}

/// `sum_repeated_rows` for rows that occur once.
template <class T>
void frozen_forward<T>::sum_single_rows(worker& w, index common, const fold_weights& weights, index p) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const index columns = net.tail.width;
    k::panel_tile<T> t;
    t.a = weights.single;
    t.a_row = weights.single_row;
    t.a_segment = net.lanes;
    t.segments = w.values.data();
    t.count = common;
    t.steps = net.head_steps;
    t.offset = p * value_panel();
    t.init = w.bases.data() + w.often;
    t.init_next = 1;
    t.init_offset = p * columns;
    t.sums = w.sums.data() + w.slot_begin[static_cast<std::size_t>(w.often)] * columns;
    t.sums_row = columns;
    net.tail(k::panel_end::sums, static_cast<index>(w.distinct.size()) - w.often, t);
}

/// Panel p of w.z <- initial sums + contribution of the own keys, and the residual block.
template <class T>
void frozen_forward<T>::add_own_keys(worker& w, index common, const fold_weights& weights, index p) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    constexpr index line = 64 / static_cast<index>(sizeof(T)); // of the cache
    const index panel = value_panel(), own_weights = common > 0 ? net.lanes : 0;
    k::panel_tile<T> t;
    t.steps = net.head_steps;
    t.a_segment = net.lanes;
    t.init_next = 1;
    t.init_offset = common > 0 ? 0 : p * net.tail.width;
    t.offset = p * panel;
    t.y_row = net.widest;
    t.segments = w.values.data() + common;
    for (const candidate& b : w.candidates) {
        t.a = weights.own + b.weights + own_weights;
        t.a_row = b.weights_row;
        t.count = b.own;
        t.init = w.init.data() + b.row;
        t.y = w.z.data() + b.row * net.widest + p * net.half;
        if (&b != &w.candidates.back()) // prefetch the values of the next candidate
            for (index j = 0; j < (&b)[1].own; ++j)
                for (index c = 0; c < panel; c += line) __builtin_prefetch(t.segments[b.own + j] + t.offset + c);
        net.tail(net.has_block ? k::panel_end::fold : k::panel_end::linear, b.rows, t);
        t.segments += b.own;
    }
}

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
