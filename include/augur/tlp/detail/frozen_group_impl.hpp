// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_FROZEN_GROUP_IMPL_HPP
#define AUGUR_TLP_DETAIL_FROZEN_GROUP_IMPL_HPP

/// @file
/// Definitions of tlp/detail/frozen_forward.hpp: scoring of one group of candidates.

#include <augur/tlp/detail/frozen_forward.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Reserves memory for the largest group in every worker, because any worker may score it.
template <class T>
void frozen_forward<T>::reserve(std::span<const std::size_t> begin) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const auto size = [](index n) { return static_cast<std::size_t>(n); };
    index most_rows = 0, most_candidates = 0, most_weights = 0, most_common = 0, most_slots = 0, longest = 0;
    for (const group& g : groups_.groups()) {
        const index common = static_cast<index>(g.shared);
        index rows = 0, weights = 0;
        for (std::uint32_t i = g.first; i < g.last; ++i) {
            const auto c = groups_.order()[i];
            const auto n = static_cast<index>(begin[c + 1] - begin[c]);
            rows += n;
            weights += k::whole_blocks(n, k::query_block) * (1 + k::whole_blocks(n - common, k::key_block)) * net.lanes;
            longest = (std::max)(longest, n);
        }
        most_rows = (std::max)(most_rows, rows);
        most_candidates = (std::max)(most_candidates, static_cast<index>(g.last - g.first));
        most_weights = (std::max)(most_weights, weights);
        if (common == 0) continue;
        most_slots = (std::max)(most_slots, (std::min)(rows, static_cast<index>(present_.size())));
        most_common = (std::max)(most_common, common);
    }
    const index panel = use_values_ ? net.tail.width : net.context_row;
    const index common_weights = k::whole_blocks(most_slots, k::query_block) * k::whole_blocks(most_common, k::key_block) * net.lanes;
    const index blocks = k::query_block * k::key_block;
    for (worker& w : workers_) {
        w.candidates.reserve(size(most_candidates));
        w.weights.reserve(size(most_weights));
        w.z.reserve(size((k::whole_blocks(most_rows, tile_rows)) * (use_values_ ? net.widest : panel)));
        for (const auto* stack : {&net.combine, &net.blocks, &net.decoder})
            for (const auto& l : *stack) room(w, l);
        w.y0.reserve(size(tile_rows * net.widest));
        w.y1.reserve(size(tile_rows * net.widest));
        w.out.reserve(size(most_rows));
        if (!owner_.empty()) {
            w.transient.reserve(size(most_rows * net.row_size));
            w.own.reserve(size(most_rows));
        }
        w.means.reserve(size(net.heads));
        w.bases.reserve(size(most_slots));
        for (auto* list : {&w.q, &w.k}) list->reserve(size((std::max)(most_slots, longest) + blocks));
        w.init.reserve(size(most_rows));
        w.values.reserve(size(most_rows));
        w.times.reserve(size(longest + 1));
        if (!use_values_ && (most_slots > 0 || !std::is_same_v<T, float>)) w.sums.reserve(size(2 * longest * panel));
        if (!std::is_same_v<T, float> && use_values_) w.narrow.reserve(size(most_weights + net.tail.pair * common_weights));
        if (most_slots == 0) continue;
        w.slot_of.resize((std::max)(w.slot_of.size(), rows_->capacity()));
        w.stamp.resize(w.slot_of.size());
        w.distinct.reserve(size(most_slots));
        w.slot.reserve(size(most_rows));
        w.place.reserve(size(most_rows));
        w.slot_begin.reserve(size(most_slots + 1));
        w.common.reserve(size(common_weights));
        w.log_sums.reserve(size(most_slots * net.lanes));
        w.mix.reserve(size(use_values_ ? slot_block * net.heads * panel : most_slots * panel));
        if (!use_values_) continue;
        w.shares.reserve(size(most_rows * net.lanes));
        if (net.tail.pair > 1) {
            w.pairs.reserve(size((most_common + 1) / 2 * net.head_steps * 4 * panel));
            w.pairs_at.reserve(size((most_common + 1) / 2));
        }
        w.sums.reserve(size(most_rows * panel));
    }
}

template <class T>
void frozen_forward<T>::score(worker& w, std::uint32_t group_at, std::span<const std::size_t> begin, std::span<float> scores) {
    const group& g = groups_.groups()[group_at];
    const index common = static_cast<index>(g.shared);
    gather(w, g, begin);
    if (!owner_.empty()) encode_own(w, group_at);
    if (common > 0) attend_common(w, common);
    attend_own(w, common);
    if (use_values_) fold(w, common);
    else combine(w, common);
    layers(w);
    for (std::uint32_t i = g.first; i < g.last; ++i) {
        const candidate& b = w.candidates[i - g.first];
        const float* const out = w.out.data() + b.row;
        float score = 0;
        for (index r = 0; r < b.rows; ++r) score += groups_.times()[b.from + static_cast<std::size_t>(r)] * out[r];
        scores[groups_.order()[i]] = score;
    }
}

/// Fills w.candidates and, if there are common rows, the index of distinct rows: w.distinct, w.often, w.slot, w.place, w.slot_begin.
template <class T>
void frozen_forward<T>::gather(worker& w, const group& g, std::span<const std::size_t> begin) {
    namespace k = nn::kernels;
    const index common = static_cast<index>(g.shared);
    w.candidates.clear();
    index row = 0, weights = 0;
    for (std::uint32_t i = g.first; i < g.last; ++i) {
        const std::size_t c = groups_.order()[i];
        candidate b;
        b.from = begin[c];
        b.row = row;
        b.rows = static_cast<index>(begin[c + 1] - begin[c]);
        b.own = b.rows - common;
        b.weights = weights;
        b.weights_row = ((common > 0 ? 1 : 0) + k::whole_blocks(b.own, k::key_block)) * net_->lanes;
        w.candidates.push_back(b);
        row += b.rows;
        weights += k::whole_blocks(b.rows, k::query_block) * b.weights_row;
    }
    if (common == 0) return;
    if (++w.epoch == 0) { // the counter wrapped: old stamps would be valid again
        std::fill(w.stamp.begin(), w.stamp.end(), 0U);
        w.epoch = 1;
    }
    w.distinct.clear();
    w.slot.clear();
    w.place.clear();
    const auto each_row = [&](const auto& f) {
        for (const candidate& b : w.candidates)
            for (const std::uint32_t local : groups_.rows().subspan(b.from, static_cast<std::size_t>(b.rows))) f(local);
    };
    each_row([&](std::uint32_t local) {
        if (w.stamp[local] != w.epoch) {
            w.stamp[local] = w.epoch;
            w.slot_of[local] = 0; // counts the occurrences until the slots are assigned
            w.distinct.push_back(local);
        }
        ++w.slot_of[local];
    });
    const auto often = std::partition(w.distinct.begin(), w.distinct.end(), [&](std::uint32_t local) { return w.slot_of[local] > 1; });
    w.often = often - w.distinct.begin();
    w.slot_begin.assign(1, 0);
    for (std::size_t s = 0; s < w.distinct.size(); ++s) {
        w.slot_begin.push_back(w.slot_begin.back() + w.slot_of[w.distinct[s]]);
        w.slot_of[w.distinct[s]] = static_cast<std::uint32_t>(s);
    }
    each_row([&](std::uint32_t local) {
        w.slot.push_back(w.slot_of[local]);
        w.place.push_back(static_cast<std::uint32_t>(w.slot_begin[w.slot_of[local]]++));
    });
    for (std::size_t s = w.slot_begin.size() - 1; s > 0; --s) w.slot_begin[s] = w.slot_begin[s - 1];
    w.slot_begin[0] = 0;
}

/// Computes the entries of the transient rows of this group.
template <class T>
void frozen_forward<T>::encode_own(worker& w, std::uint32_t group_at) {
    w.own.clear();
    for (const candidate& b : w.candidates)
        for (const std::uint32_t local : groups_.rows().subspan(b.from, static_cast<std::size_t>(b.rows))) {
            if (owner_[local] != group_at || entry_of_[local] != nullptr) continue;
            entry_of_[local] = w.transient.data() + static_cast<index>(w.own.size()) * net_->row_size;
            w.own.push_back(local);
        }
    for (std::size_t from = 0, to = 0; from < w.own.size(); from = to) { // encode rows with consecutive ids together
        for (to = from + 1; to < w.own.size() && to < from + tile_rows && present_[w.own[to]] == present_[w.own[to - 1]] + 1;) ++to;
        encode(w, present_[w.own[from]], present_[w.own[to - 1]] + 1, w.transient.data() + static_cast<index>(from) * net_->row_size);
    }
}

/// w.common, w.log_sums <- attention weights and log-sum-exp of every distinct row over the common keys.
template <class T>
void frozen_forward<T>::attend_common(worker& w, index common) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const auto slots = static_cast<index>(w.distinct.size());
    const candidate& b = w.candidates.front();
    w.q.clear();
    w.k.clear();
    for (index s = 0; s < k::whole_blocks(slots, k::query_block); ++s)
        w.q.push_back(entry_of_[w.distinct[static_cast<std::size_t>((std::min)(s, slots - 1))]] + net.q_at);
    for (index j = 0; j < k::whole_blocks(common, k::key_block); ++j)
        w.k.push_back(entry_of_[groups_.rows()[b.from + static_cast<std::size_t>((std::min)(j, common - 1))]] + net.k_at);
    const index row = k::whole_blocks(common, k::key_block) * net.lanes;
    net.lanes_of.scores(w.q.data(), slots, w.k.data(), common, net.head, net.groups, w.common.data(), row);
    net.lanes_of.soften(w.common.data(), slots, row, groups_.times().data() + b.from, common, net.lanes, w.log_sums.data());
}

/// w.weights <- attention weights of every row: one for the common keys together, then one per own key.
template <class T>
void frozen_forward<T>::attend_own(worker& w, index common) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const index common_key = common > 0 ? 1 : 0;
    for (const candidate& b : w.candidates) {
        if (b.rows == 0) continue;
        float* const weights = w.weights.data() + b.weights;
        const auto local = groups_.rows().subspan(b.from, static_cast<std::size_t>(b.rows));
        w.q.clear();
        w.k.clear();
        for (index i = 0; i < k::whole_blocks(b.rows, k::query_block); ++i)
            w.q.push_back(entry_of_[local[static_cast<std::size_t>((std::min)(i, b.rows - 1))]] + net.q_at);
        for (index j = 0; j < k::whole_blocks(b.own, k::key_block); ++j)
            w.k.push_back(entry_of_[local[static_cast<std::size_t>(common + (std::min)(j, b.own - 1))]] + net.k_at);
        if (&b != &w.candidates.back()) { // prefetch the keys of the next candidate
            const candidate& next = (&b)[1];
            for (index j = common; j < next.rows; ++j) {
                const float* const key = entry_of_[groups_.rows()[next.from + static_cast<std::size_t>(j)]] + net.k_at;
                for (index c = 0; c < net.lanes * net.head; c += 16) __builtin_prefetch(key + c);
            }
        }
        net.lanes_of.scores(w.q.data(), b.rows, w.k.data(), b.own, net.head, net.groups, weights + common_key * net.lanes, b.weights_row);
        w.times.assign(static_cast<std::size_t>(common_key), 1.0F);
        for (index j = 0; j < b.own; ++j) w.times.push_back(groups_.times()[b.from + static_cast<std::size_t>(common + j)]);
        for (index i = 0; i < common_key * b.rows; ++i)
            std::copy_n(w.log_sums.data() + static_cast<index>(w.slot[static_cast<std::size_t>(b.row + i)]) * net.lanes, net.lanes,
                        weights + i * b.weights_row);
        net.lanes_of.soften(weights, b.rows, b.weights_row, w.times.data(), common_key + b.own, net.lanes, nullptr);
    }
}

/// w.z <- output of attention and the first residual block, computed with `values`. Panel by panel, so that a panel of all rows of the group stays in
/// the cache.
template <class T>
void frozen_forward<T>::fold(worker& w, index common) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const index columns = net.tail.width, panel = net.head_steps * columns * net.tail.pair;
    const auto local = [&](const candidate& b, index r) { return present_[groups_.rows()[b.from + static_cast<std::size_t>(r)]]; };
    w.values.clear();
    w.init.clear();
    for (index j = 0; j < common; ++j) w.values.push_back(values_of(local(w.candidates.front(), j)));
    for (const candidate& b : w.candidates) {
        for (index j = common; j < b.rows; ++j) w.values.push_back(values_of(local(b, j)));
        for (index r = 0; r < b.rows; ++r) {
            if (common == 0) {
                w.init.push_back(base_of(local(b, r)));
                continue;
            }
            const auto place = static_cast<index>(w.place[static_cast<std::size_t>(b.row + r)]);
            w.init.push_back(w.sums.data() + place * columns);
            std::copy_n(w.weights.data() + b.weights + r * b.weights_row, net.lanes, w.shares.data() + place * net.lanes);
        }
    }
    const auto slots = static_cast<index>(w.distinct.size());
    const index row = k::whole_blocks(common, k::key_block) * net.lanes;
    w.means.clear();
    w.bases.clear();
    if (common > 0) {
        for (index h = 0; h < net.heads; ++h) w.means.push_back(w.mix.data() + h * columns);
        for (index s = 0; s < slots; ++s) w.bases.push_back(base_of(present_[w.distinct[static_cast<std::size_t>(s)]]));
        for (index s = w.often; s < slots; ++s) // rows that occur once: final weights of the common keys
            for (index i = 0; i < common * net.lanes; i += k::head_lanes)
                for (index l = 0; l < k::head_lanes; ++l)
                    w.common.data()[s * row + i + l] *= w.shares.data()[w.slot_begin[static_cast<std::size_t>(s)] * net.lanes + i % net.lanes + l];
    }
    const index pair = net.tail.pair, keys = (common + pair - 1) / pair; // steps over the common keys
    const index pair_panel = net.head_steps * 2 * columns * pair;
    const T* weights = nullptr;        // weights of own keys
    const T* common_weights = nullptr; // weights of common keys, for repeated rows; in bf16 two keys per step
    const T* single_weights = nullptr; // weights of common keys, for rows that occur once
    index common_row = row;
    const T* const* common_values = w.values.data();
    if constexpr (std::is_same_v<T, float>) {
        weights = w.weights.data();
        common_weights = w.common.data();
        single_weights = common_weights + w.often * row;
    } else {
        const candidate& b = w.candidates.back();
        const index all = b.weights + k::whole_blocks(b.rows, k::query_block) * b.weights_row;
        k::to_bf16(w.weights.data(), w.narrow.data(), all);
        weights = w.narrow.data();
        if (common > 0) {
            common_row = keys * net.lanes * pair;
            T *const pairs = w.narrow.data() + all, *const halves = pairs + w.often * common_row;
            for (index s = 0; s < w.often; ++s)
                for (index j = 0; j < common; j += pair) {
                    const float* const key = w.common.data() + s * row + j * net.lanes;
                    k::to_bf16_pairs(key, j + 1 < common ? key + net.lanes : nullptr, pairs + s * common_row + j * net.lanes, net.lanes);
                }
            k::to_bf16(w.common.data() + w.often * row, halves, (slots - w.often) * row);
            common_weights = pairs;
            single_weights = halves;
            w.pairs_at.clear();
            for (index j = 0; j < keys; ++j) w.pairs_at.push_back(w.pairs.data() + j * pair_panel);
            common_values = w.pairs_at.data();
        }
    }
    constexpr index line = 64 / static_cast<index>(sizeof(T)); // of the cache
    const index own_weights = common > 0 ? net.lanes : 0;
    for (index p = 0; p < net.fold_panels; ++p) {
        if (common > 0) {
            static constexpr float zeros[64] = {};
            const float* none = zeros;
            if constexpr (!std::is_same_v<T, float>) // pairs of heads -> pairs of keys
                for (index j = 0; j < common; j += pair)
                    for (index s = 0; s < net.head_steps; ++s) {
                        const index from = p * panel + s * columns * pair;
                        T* const to = w.pairs.data() + j / pair * pair_panel + s * 2 * columns * pair;
                        const T* const first = w.values[static_cast<std::size_t>(j)] + from;
                        const T* const second = j + 1 < common ? w.values[static_cast<std::size_t>(j + 1)] + from : nullptr;
                        k::transpose_pairs(first, second, to, to + columns * pair, columns);
                    }
            k::panel_tile<T> mean; // mean of the common keys' values, by head
            mean.a_segment = net.lanes * pair;
            mean.a_row = common_row;
            mean.segments = common_values;
            mean.count = keys;
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
                    mean.a = common_weights + from * common_row + h * pair;
                    mean.offset = (pair == 1 ? p * panel : 0) + h * columns * pair;
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
            k::panel_tile<T> single_rows; // rows that occur once
            single_rows.a = single_weights;
            single_rows.a_row = row;
            single_rows.a_segment = net.lanes;
            single_rows.segments = w.values.data();
            single_rows.count = common;
            single_rows.steps = net.head_steps;
            single_rows.offset = p * panel;
            single_rows.init = w.bases.data() + w.often;
            single_rows.init_next = 1;
            single_rows.init_offset = p * columns;
            single_rows.sums = w.sums.data() + w.slot_begin[static_cast<std::size_t>(w.often)] * columns;
            single_rows.sums_row = columns;
            net.tail(k::panel_end::sums, slots - w.often, single_rows);
        }
        k::panel_tile<T> t;
        t.steps = net.head_steps;
        t.a_segment = net.lanes;
        t.init_next = 1;
        t.init_offset = common > 0 ? 0 : p * columns;
        t.offset = p * panel;
        t.y_row = net.widest;
        t.segments = w.values.data() + common;
        for (const candidate& b : w.candidates) {
            t.a = weights + b.weights + own_weights;
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
}

/// w.z <- concatenated attention results of the heads; w.init <- z0 of each row, to which the output projection adds.
template <class T>
void frozen_forward<T>::combine(worker& w, index common) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    static constexpr float zeros[64] = {};
    const float* const none = zeros;
    const index ld = net.context_row;
    const auto row_of = [&](const candidate& b, index r) { return entry_of_[groups_.rows()[b.from + static_cast<std::size_t>(r)]]; };
    k::panel_tile<float> t;
    t.a_segment = net.lanes;
    t.steps = 1;
    t.y_row = ld;
    const auto all_heads = [&](index rows, const float* weights, float* y) {
        for (index p = 0; p < net.heads * net.head_room; p += net.context.width) {
            t.a = weights + p / net.head_room;
            t.offset = p;
            t.init_offset = t.init == &none ? 0 : p;
            t.y = y + p;
            net.context(k::panel_end::linear, rows, t);
        }
    };
    const auto gather_keys = [&](const candidate& b, index from, index to) {
        w.k.clear();
        for (index j = from; j < to; ++j) w.k.push_back(row_of(b, j) + net.v_at);
        t.segments = w.k.data();
        t.count = to - from;
    };
    if (common > 0) {
        gather_keys(w.candidates.front(), 0, common);
        t.a_row = k::whole_blocks(common, k::key_block) * net.lanes;
        t.init = &none;
        t.init_next = 0;
        all_heads(static_cast<index>(w.distinct.size()), w.common.data(), w.mix.data());
    }
    for (const candidate& b : w.candidates) {
        const float* const weights = w.weights.data() + b.weights;
        float* const start = w.sums.data(); // (rows, ld) initial sums, followed by (rows, ld) results if T is not float
        t.init = &none;
        t.init_next = 0;
        w.init.clear();
        for (index r = 0; r < (common > 0 ? b.rows : 0); ++r) {
            const float* const mean = w.mix.data() + static_cast<index>(w.slot[static_cast<std::size_t>(b.row + r)]) * ld;
            const float* const share = weights + r * b.weights_row;
            for (index h = 0; h < net.heads; ++h)
                for (index c = h * net.head_room; c < (h + 1) * net.head_room; ++c) start[r * ld + c] = share[h] * mean[c];
            w.init.push_back(start + r * ld);
            t.init = w.init.data();
            t.init_next = 1;
        }
        gather_keys(b, common, b.rows);
        t.a_row = b.weights_row;
        float* y = nullptr;
        if constexpr (std::is_same_v<T, float>) y = w.z.data() + b.row * ld;
        else y = start + b.rows * ld;
        all_heads(b.rows, weights + (common > 0 ? net.lanes : 0), y);
        if constexpr (!std::is_same_v<T, float>) k::to_bf16(y, w.z.data() + b.row * ld, b.rows * ld);
    }
    w.init.clear();
    for (const candidate& b : w.candidates)
        for (index r = 0; r < b.rows; ++r) w.init.push_back(row_of(b, r));
}

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
