// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_FROZEN_GROUP_IMPL_HPP
#define AUGUR_TLP_DETAIL_FROZEN_GROUP_IMPL_HPP

/// @file
/// Definitions of tlp/detail/frozen_forward.hpp: scoring of one group of candidates. `fold` is in tlp/detail/frozen_fold_impl.hpp.

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
