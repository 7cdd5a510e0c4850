// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_FROZEN_FORWARD_IMPL_HPP
#define AUGUR_TLP_DETAIL_FROZEN_FORWARD_IMPL_HPP

/// @file
/// Definitions of tlp/detail/frozen_forward.hpp: packing of weights, encoding of rows, layers after attention.

#include <augur/tlp/detail/frozen_forward.hpp>

namespace augur::inline v0::tlp {

namespace detail {

template <class T>
frozen_weights<T>::frozen_weights(const model<float>& net, std::size_t output, nn::kernels::isa isa, bool amx, nn::kernels::panel_kernels<T> kernels)
    : single(nn::kernels::float_panels(isa, amx)), context(nn::kernels::narrow_float_panels(isa)), tail(kernels),
      lanes_of(nn::kernels::head_lane_functions(isa)), level(isa) {
    namespace k = nn::kernels;
    const auto& attention = net.attention.front();
    const auto& layers = net.decoders[output];
    config = net.config;
    columns = net.config.inputs();
    width = net.config.width();
    heads = attention.heads;
    head = width / heads;
    head_room = k::whole_blocks(head, context.width);
    groups = (heads + k::head_lanes - 1) / k::head_lanes;
    lanes = groups * k::head_lanes;
    has_block = !net.blocks.empty();

    for (const auto& l : net.encoder) encoder.push_back(packed_layer(single, l));
    pack_projection(attention);
    pack_output_projection(net);
    for (const auto& b : net.blocks) blocks.push_back(packed_layer(tail, b.inner));
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) decoder.push_back(packed_layer(tail, layers[l]));
    context_row = k::whole_blocks(heads * head_room, k::amx_depth);
    out_bias.assign(attention.out_proj.b.data(), attention.out_proj.b.data() + width);
    const auto& end = layers.back();
    last.assign(static_cast<std::size_t>(k::whole_blocks(end.W.rows(), 8)), 0.0F);
    for (index i = 0; i < end.W.rows(); ++i) last[static_cast<std::size_t>(i)] = end.W(i, 0);
    last_bias = end.b(0);
    choose_strides();
}

template <class T>
template <class U>
nn::kernels::packed_panels<U> frozen_weights<T>::packed_layer(const nn::kernels::panel_kernels<U>& kernels, const nn::linear<float>& l) {
    return {kernels, l.W.rows(), l.W.cols(), [&](index i, index c) { return l.W(i, c); }, [&](index c) { return l.b(c); }};
}

/// Packs q and k with one lane per head, v with each head in whole panels.
template <class T>
void frozen_weights<T>::pack_projection(const nn::attention<float>& attention) {
    namespace k = nn::kernels;
    const index qk = lanes * head;
    const float scale = 1 / std::sqrt(static_cast<float>(head));
    const auto column_of = [&](index c) { // column of in_proj; -1 for padding
        if (c < 2 * qk) {
            const index lane = c % k::head_lanes, d = c % qk / k::head_lanes % head, h = c % qk / (k::head_lanes * head) * k::head_lanes + lane;
            return h < heads ? c / qk * width + h * head + d : index{-1};
        }
        const index h = (c - 2 * qk) / head_room, d = (c - 2 * qk) % head_room;
        return d < head ? 2 * width + h * head + d : index{-1};
    };
    project.emplace_back(
        single, width, 2 * qk + heads * head_room,
        [&](index i, index c) {
            const index from = column_of(c);
            return from < 0 ? 0.0F : attention.in_proj.W(i, from) * (c < qk ? scale : 1.0F);
        },
        [&](index c) {
            const index from = column_of(c);
            return from < 0 ? 0.0F : attention.in_proj.b(from) * (c < qk ? scale : 1.0F);
        });
}

/// Packs [Wo | Wo W1] with alternating halves, and Wo alone.
template <class T>
void frozen_weights<T>::pack_output_projection(const model<float>& net) {
    const auto& attention = net.attention.front();
    half = has_block ? tail.width / 2 : tail.width;
    fold_panels = (width + half - 1) / half;
    fold_columns = fold_panels * tail.width;
    nn::matrix<double> folded;
    if (has_block && !tail.amx) {
        first.push_back(packed_layer(single, net.blocks.front().inner));
        folded = attention.out_proj.W.template cast<double>() * net.blocks.front().inner.W.template cast<double>();
    }
    const auto fold = [&](index i, index c) {
        const index z = c / tail.width * half + c % tail.width % half;
        if (z >= width) return 0.0F;
        return c % tail.width < half ? attention.out_proj.W(i, z) : static_cast<float>(folded(i, z));
    };
    const auto no_bias = [](index) { return 0.0F; };
    for (index h = 0; h < heads && !tail.amx; ++h)
        fold_value.emplace_back(single, head, fold_columns, [&](index i, index c) { return fold(h * head + i, c); }, no_bias);
    combine.emplace_back(
        tail, heads * head_room, width,
        [&](index i, index c) { return i % head_room < head ? attention.out_proj.W(i / head_room * head + i % head_room, c) : 0.0F; }, no_bias);
}

/// Offsets and strides of the rows' entries and values.
template <class T>
void frozen_weights<T>::choose_strides() {
    namespace k = nn::kernels;
    const index qk = lanes * head;
    q_at = combine.front().panels * tail.width;
    k_at = q_at + qk;
    v_at = k_at + qk;
    const index projected = project.front().panels * single.width;
    row_size = k::whole_blocks(q_at + projected, 16);
    if (row_size / 16 % 2 == 0) row_size += 16; // a stride of a multiple of 4 KiB would map a column of all rows to one cache set
    head_steps = (heads + tail.pair - 1) / tail.pair;
    // stride of an odd multiple of 512 bytes: others would map a panel of all rows to few cache sets
    constexpr auto step = static_cast<index>(512 / sizeof(T));
    values_size = k::whole_blocks(fold_panels * head_steps * tail.width * tail.pair, step);
    if (values_size / step % 2 == 0) values_size += step;
    widest = fold_panels * half;
    for (const auto* stack : {&combine, &blocks, &decoder})
        for (const auto& l : *stack) widest = (std::max)(widest, l.panels * tail.width);
}

/// entries (to - from, row_size) <- entries of the rows [from, to).   pre: to - from <= tile_rows
template <class T>
void frozen_forward<T>::encode(worker& w, std::size_t from, std::size_t to, float* entries) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const auto n = static_cast<index>(to - from);
    index ld = net.columns;
    for (const auto& l : net.encoder) ld = (std::max)(ld, l.panels * net.single.width);
    float* x = w.a.reserve(tile_rows * static_cast<std::size_t>(ld));
    float* y = w.b.reserve(tile_rows * static_cast<std::size_t>(ld));
    float* const row = w.input.reserve(static_cast<std::size_t>(net.config.columns));
    for (index r = 0; r < n; ++r) {
        rows_->write(from + static_cast<std::size_t>(r), row);
        encode_input(net.config, row, x + r * ld);
    }
    for (const auto& l : net.encoder) {
        const bool last = &l == &net.encoder.back();
        k::panel_layer<float>(net.single, k::panel_end::relu, n,
                              {.a = x, .a_row = ld, .y = last ? entries : y, .y_row = last ? net.row_size : ld, .room = room(w, l)}, l);
        std::swap(x, y);
    }
    const auto& project = net.project.front();
    k::panel_layer<float>(net.single, k::panel_end::linear, n,
                          {.a = entries, .a_row = net.row_size, .y = entries + net.q_at, .y_row = net.row_size, .room = room(w, project)}, project);
    for (index r = 0; r < n; ++r) k::add(net.out_bias.data(), entries + r * net.row_size, net.width);
}

template <class T>
void frozen_forward<T>::make_values(worker& w, std::size_t from, std::size_t to) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const auto n = static_cast<index>(to - from);
    const index ld = k::whole_blocks(net.fold_columns, net.single.width) + net.single.width, columns = net.tail.width, pair = net.tail.pair;
    float* const y = w.a.reserve(row_block * static_cast<std::size_t>(ld));
    for (const auto& l : net.first)
        k::panel_layer<float>(net.single, k::panel_end::linear, n, {.a = entry(from), .a_row = net.row_size, .y = y, .y_row = ld}, l);
    for (index r = 0; r < n; ++r)
        for (index c = 0; c < net.width; c += net.half) {
            float* const base = base_of(from) + r * net.fold_columns + c / net.half * columns;
            const index some = (std::min)(net.half, net.width - c);
            std::copy_n(entry(from) + r * net.row_size + c, some, base);
            if (net.has_block) std::copy_n(y + r * ld + c, some, base + net.half);
        }
    float* const next = w.b.reserve(row_block * static_cast<std::size_t>(ld));
    for (index h = 0; h < net.heads; h += pair) {
        const auto head = [&](index at, float* destination) {
            k::panel_layer<float>(net.single, k::panel_end::linear, n,
                                  {.a = entry(from) + net.v_at + at * net.head_room, .a_row = net.row_size, .y = destination, .y_row = ld},
                                  net.fold_value[static_cast<std::size_t>(at)]);
        };
        head(h, y);
        const bool two = pair > 1 && h + 1 < net.heads;
        if (two) head(h + 1, next);
        for (index r = 0; r < n; ++r)
            for (index p = 0; p < net.fold_panels; ++p) {
                const index at = r * ld + p * columns;
                T* const out = values_of(from) + r * net.values_size + (p * net.head_steps + h / pair) * columns * pair;
                if constexpr (std::is_same_v<T, float>) std::copy_n(y + at, columns, out);
                else k::to_bf16_pairs(y + at, two ? next + at : nullptr, out, columns);
            }
    }
}

/// w.out <- score contribution of each row, from the output of attention in w.z.
template <class T>
void frozen_forward<T>::layers(worker& w) {
    namespace k = nn::kernels;
    const auto& net = *net_;
    const index rows = w.candidates.back().row + w.candidates.back().rows, ld = net.context_row;
    index from = 0;
    for (index left = (rows + tile_rows - 1) / tile_rows; left > 0; --left) {
        const index m = left == 1 ? rows - from : (std::min)(k::whole_blocks((rows - from + left - 1) / left, net.tail.rows), tile_rows);
        T* y = w.y0.data();
        T* next = w.y1.data();
        const auto apply = [&](k::panel_end end, const k::packed_panels<T>& layer, const T* x, index x_row, const float* const* init = nullptr) {
            k::panel_layer<T>(net.tail, end, m,
                              {.a = x, .a_row = x_row, .y = next, .y_row = net.widest, .x = x, .x_row = x_row, .init = init, .room = room(w, layer)},
                              layer);
            std::swap(y, next);
        };
        std::size_t block = 0;
        const T* x = w.z.data() + from * net.widest;
        index x_row = net.widest;
        const auto take = [&] {
            x = y;
            x_row = net.widest;
        };
        if (use_values_) {
            block = 1;
        } else {
            apply(k::panel_end::linear, net.combine.front(), w.z.data() + from * ld, ld, w.init.data() + from);
            take();
        }
        for (; block < net.blocks.size(); ++block) {
            apply(k::panel_end::residual, net.blocks[block], x, x_row);
            take();
        }
        for (const auto& l : net.decoder) {
            apply(k::panel_end::relu, l, x, x_row);
            take();
        }
        for (index r = 0; r < m; ++r) {
            const T* const row = x + r * x_row;
            float sum[8] = {};
            for (std::size_t j = 0; j < net.last.size(); j += 8)
                for (std::size_t e = 0; e < 8; ++e) sum[e] += k::to_float(row[j + e]) * net.last[j + e];
            w.out.data()[from + r] = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + net.last_bias;
        }
        from += m;
    }
}

/// owner_ <- for each new row the only group that has it, or `several`.
template <class T>
void frozen_forward<T>::find_owners(std::span<const std::size_t> begin) {
    constexpr std::uint32_t none = several - 1;
    for (const std::uint32_t id : present_) owner_.push_back(id < encoded_ ? several : none);
    const auto groups = groups_.groups();
    for (std::uint32_t g = 0; g < groups.size(); ++g)
        for (std::uint32_t i = groups[g].first; i < groups[g].last; ++i) {
            const std::size_t c = groups_.order()[i];
            for (const std::uint32_t local : groups_.rows().subspan(begin[c], begin[c + 1] - begin[c]))
                owner_[local] = owner_[local] == none || owner_[local] == g ? g : several;
        }
}

/// Computes the entries of new rows and, if use_values_, the missing values of the batch's rows.
template <class T>
template <bulk_executor Executor>
void frozen_forward<T>::make_rows(Executor& executor) {
    const auto& net = *net_;
    const std::size_t known = rows_->size();
    table_.resize((std::max)(table_.size(), (known + row_block - 1) / row_block));
    values_.resize(table_.size());
    bases_.resize(table_.size());
    has_values_.resize((std::max)(has_values_.size(), table_.size() * row_block));
    const auto pieces = [&](std::size_t from, const auto& wanted) {
        pieces_.clear();
        for (std::size_t id = from; id < known; ++id) {
            if (!wanted(id)) continue;
            if (!pieces_.empty() && pieces_.back().second == id && id % row_block != 0) ++pieces_.back().second;
            else pieces_.emplace_back(id, id + 1);
        }
    };
    const auto is_transient = [&](std::size_t id) { return !owner_.empty() && stamp_[id] == batch_ && owner_[local_[id]] != several; };
    pieces(encoded_, [&](std::size_t id) { return !is_transient(id); });
    for (const auto& p : pieces_) table_[p.first / row_block].reserve(row_block * static_cast<std::size_t>(net.row_size));
    spread(executor, pieces_.size(), [&](worker& w, std::size_t i) { encode(w, pieces_[i].first, pieces_[i].second, entry(pieces_[i].first)); });
    encoded_ = known;
    entry_of_.clear();
    for (const std::uint32_t id : present_) entry_of_.push_back(is_transient(id) ? nullptr : entry(id));
    if (!use_values_) return;
    pieces(0, [&](std::size_t id) { return stamp_[id] == batch_ && has_values_[id] == 0; });
    for (const auto& p : pieces_) {
        values_[p.first / row_block].reserve(row_block * static_cast<std::size_t>(net.values_size));
        bases_[p.first / row_block].reserve(row_block * static_cast<std::size_t>(net.fold_columns));
        std::fill(has_values_.begin() + static_cast<index>(p.first), has_values_.begin() + static_cast<index>(p.second), std::uint8_t{1});
    }
    spread(executor, pieces_.size(), [&](worker& w, std::size_t i) { make_values(w, pieces_[i].first, pieces_[i].second); });
}

template <class T>
template <bulk_executor Executor>
void frozen_forward<T>::forward(std::span<const std::size_t> begin, std::span<const std::uint32_t> ids, std::span<const float> times,
                                Executor& executor, std::span<float> scores, bool keep) {
    if (workers_.size() < static_cast<std::size_t>(executor.concurrency())) workers_.resize(static_cast<std::size_t>(executor.concurrency()));
    ++batch_;
    present_.clear();
    at_.resize(ids.size());
    for (std::size_t t = 0; t < ids.size(); ++t) {
        if (stamp_[ids[t]] != batch_) {
            stamp_[ids[t]] = batch_;
            local_[ids[t]] = static_cast<std::uint32_t>(present_.size());
            present_.push_back(ids[t]);
        }
        at_[t] = local_[ids[t]];
    }
    groups_.build(begin, at_, times, present_.size());

    // compare the multiplications with and without values; the decision depends on the batch only, not on the content of the table
    const auto d = static_cast<double>(net_->width), layers = net_->has_block ? 2.0 : 1.0;
    use_values_ =
        !net_->tail.amx && static_cast<double>(ids.size()) * layers * d * d > groups_.products() * static_cast<double>(net_->heads) * layers * d +
                                                                                  static_cast<double>(present_.size()) * (layers + 1) * d * d;

    owner_.clear();
    if (!use_values_) groups_.thin(tile_rows);
    if (!use_values_ && !keep) find_owners(begin);
    make_rows(executor);
    reserve(begin);
    spread(executor, groups_.groups().size(), [&](worker& w, std::size_t i) { score(w, static_cast<std::uint32_t>(i), begin, scores); });
}

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
