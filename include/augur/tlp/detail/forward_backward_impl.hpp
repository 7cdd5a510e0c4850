// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_FORWARD_BACKWARD_IMPL_HPP
#define AUGUR_TLP_DETAIL_FORWARD_BACKWARD_IMPL_HPP

/// @file
/// Definitions of tlp/train/forward_backward.hpp.

#include <algorithm>
#include <cmath>
#include <utility>

#include <augur/tlp/input_encoding.hpp>
#include <augur/tlp/train/forward_backward.hpp>

namespace augur::inline v0::tlp {

namespace detail {

template <nn::scalar S>
template <bulk_executor Executor>
void packed_model<S>::pack(const model<S>& net, Executor& executor) {
    encoder.resize(net.encoder.size());
    in_proj.resize((std::max)(net.attention.size(), std::size_t{1}));
    out_proj.resize(net.attention.size());
    blocks.resize(net.blocks.size());
    decoders.resize(net.decoders.size());
    all.clear();
    const auto take = [&](const nn::linear<S>& layer, nn::packed_weights<S>& to) { all.emplace_back(&layer, &to); };
    take(net.projection(), in_proj[0]);
    for (std::size_t a = 1; a < net.attention.size(); ++a) take(net.attention[a].in_proj, in_proj[a]);
    for (std::size_t a = 0; a < net.attention.size(); ++a) take(net.attention[a].out_proj, out_proj[a]);
    for (std::size_t l = 0; l < net.encoder.size(); ++l) take(net.encoder[l], encoder[l]);
    for (std::size_t b = 0; b < net.blocks.size(); ++b) take(net.blocks[b].inner, blocks[b]);
    for (std::size_t k = 0; k < net.decoders.size(); ++k) {
        decoders[k].resize(net.decoders[k].size());
        for (std::size_t l = 0; l < net.decoders[k].size(); ++l) take(net.decoders[k][l], decoders[k][l]);
    }
    executor.bulk(all.size(), [&](std::size_t i) { all[i].second->pack(*all[i].first); });
}

} // namespace detail

template <nn::scalar S>
template <bulk_executor Executor>
void forward_backward<S>::encode(const model<S>& net, const deduplicated_batch& batch, Executor& executor, bool keep) {
    const auto u = static_cast<nn::index>(batch.distinct());
    const auto e = static_cast<nn::index>(batch.columns());
    AUGUR_ASSERT(e == net.config.columns, "tlp: the batch and the model differ in columns");
    encoded_.resize(net.encoder.size());
    rows_.shape(u, net.config.inputs());
    for (std::size_t l = 0; l < net.encoder.size(); ++l) encoded_[l].shape(u, net.encoder[l].W.cols());
    AUGUR_ASSERT(net.lstm.empty() || batch.order() == row_order::kept, "tlp: an LSTM needs the rows in order");
    const nn::linear<S>& projection = net.projection();
    projected_.shape(u, projection.W.cols());
    if (!net.lstm.empty()) detail::shared_prefixes::sort(batch, sorted_);
    const std::size_t pieces = static_cast<std::size_t>((u + row_piece - 1) / row_piece);
    executor.bulk(pieces, [&](std::size_t p) {
        const auto first = static_cast<nn::index>(p) * row_piece;
        const nn::index n = (std::min)(row_piece, u - first);
        auto rows = rows_.view();
        for (nn::index i = first; i < first + n; ++i) encode_input(net.config, batch.rows().data() + i * e, rows.data() + i * rows.cols());
        for (std::size_t l = 0; l < net.encoder.size(); ++l) {
            auto out = encoded_[l].view();
            const auto* packed = keep ? &packed_.encoder[l] : nullptr;
            if (l == 0) net.encoder[l].forward(rows.middleRows(first, n), out.middleRows(first, n), packed);
            else net.encoder[l].forward(encoded_[l - 1].view().middleRows(first, n), out.middleRows(first, n), packed);
            nn::relu<S>(out.middleRows(first, n));
        }
        projection.forward(encoded_.back().view().middleRows(first, n), projected_.view().middleRows(first, n),
                           keep ? packed_.in_proj.data() : nullptr);
    });
}

/// qkv (T, 3D) <- queries, keys and values of the rows `ids`, copied from the table.
template <nn::scalar S>
void forward_backward<S>::copy_projected(std::span<const std::uint32_t> ids, nn::buffer<S>& qkv) const {
    const auto table = projected_.view();
    const nn::index width = table.cols();
    S* to = qkv.shape(static_cast<nn::index>(ids.size()), width).data();
    for (const std::uint32_t id : ids) to = std::copy_n(table.data() + static_cast<nn::index>(id) * width, width, to);
}

template <nn::scalar S>
void forward_backward<S>::attend(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last,
                                 detail::batch_piece<S>& piece, bool keep) const {
    const nn::index from = batch.begin()[first];
    const nn::index t = batch.begin()[last] - from;
    const nn::index d = net.config.width();
    piece.begin.clear();
    for (std::size_t n = first; n <= last; ++n) piece.begin.push_back(batch.begin()[n] - from);
    const auto repeat = batch.repeat().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(t));
    const auto ids = batch.ids().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(t));

    piece.x.resize(net.attention.size());
    piece.attention.resize(net.attention.size());
    copy_projected(ids, piece.attention[0].qkv);
    const auto table = encoded_.back().view();
    for (std::size_t a = 0; a < net.attention.size(); ++a) {
        const auto& layer = net.attention[a];
        auto& kept = piece.attention[a];
        if (a > 0) layer.in_proj.forward(piece.x[a].view(), kept.qkv.shape(t, 3 * d), keep ? &packed_.in_proj[a] : nullptr);
        layer.attend({piece.begin, repeat}, kept);
        auto out = (a + 1 < net.attention.size() ? piece.x[a + 1] : piece.z[0]).shape(t, d);
        layer.out_proj.forward(kept.context.view(), out, keep ? &packed_.out_proj[a] : nullptr);
        if (a > 0) nn::detail::add<S>(piece.x[a].view(), out);
        else
            for (nn::index i = 0; i < t; ++i) nn::detail::add<S>(table.row(static_cast<nn::index>(ids[static_cast<std::size_t>(i)])), out.row(i));
    }
}

/// piece.h_before, piece.c_before <- states of the parents of a level's prefixes, from `from`; zeros if `from` is null (first level).
template <nn::scalar S>
void forward_backward<S>::load_previous_states(const detail::shared_prefixes::level& level, const detail::lstm_states<S>* from, nn::index width,
                                               detail::batch_piece<S>& piece) {
    const auto n = static_cast<nn::index>(level.row.size());
    auto h = piece.h_before.shape(n, width);
    auto c = piece.c_before.shape(n, width);
    if (from == nullptr) {
        h.setZero();
        c.setZero();
        return;
    }
    const auto h_from = from->h.view();
    const auto c_from = from->c.view();
    for (nn::index i = 0; i < n; ++i) {
        const auto parent = static_cast<nn::index>(level.parent[static_cast<std::size_t>(i)]);
        std::copy_n(h_from.data() + parent * width, width, h.data() + i * width);
        std::copy_n(c_from.data() + parent * width, width, c.data() + i * width);
    }
}

template <nn::scalar S>
void forward_backward<S>::run_lstm(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last,
                                   detail::batch_piece<S>& piece, bool keep) const {
    const nn::index d = net.config.width();
    piece.prefixes.build(batch, std::span<const std::uint32_t>(sorted_).subspan(first, last - first));
    const auto ends = piece.prefixes.ends();
    const std::size_t depth = piece.prefixes.depth();
    const auto state_at = [&](std::size_t l) -> detail::lstm_states<S>& { return piece.states[keep ? l : l % 2]; };
    if (piece.states.size() < (keep ? depth : 2)) piece.states.resize(keep ? depth : 2);
    auto z = piece.z[0].shape(static_cast<nn::index>(last - first), d);
    z.setZero(); // for empty sequences
    const auto gates_table = projected_.view();
    for (std::size_t l = 0; l < depth; ++l) {
        const auto& level = piece.prefixes.at(l);
        const auto n = static_cast<nn::index>(level.row.size());
        auto& now = state_at(l);
        auto gates = now.gates.shape(n, 4 * d);
        for (nn::index i = 0; i < n; ++i)
            std::copy_n(gates_table.data() + static_cast<nn::index>(level.row[static_cast<std::size_t>(i)]) * 4 * d, 4 * d, gates.data() + i * 4 * d);
        load_previous_states(level, l == 0 ? nullptr : &state_at(l - 1), d, piece);
        auto h = now.h.shape(n, d);
        net.lstm.front().step(piece.h_before.view(), piece.c_before.view(), gates, now.c.shape(n, d), h);
        for (std::size_t s = 0; s < ends.size(); ++s)
            if (ends[s].depth == l + 1) z.row(static_cast<nn::index>(s)) = h.row(static_cast<nn::index>(ends[s].node));
    }
}

template <nn::scalar S>
void forward_backward<S>::run(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last,
                              detail::batch_piece<S>& piece, std::span<S> scores, bool keep) const {
    const nn::index d = net.config.width();
    const std::size_t outputs = net.decoders.size();
    piece.z.resize(net.blocks.size() + 1);
    piece.hidden.resize(net.blocks.size());
    piece.decoded.resize(outputs);
    const bool recurrent = !net.lstm.empty();
    if (recurrent) run_lstm(net, batch, first, last, piece, keep);
    else attend(net, batch, first, last, piece, keep);
    const nn::index t = std::as_const(piece.z[0]).view().rows();
    for (std::size_t b = 0; b < net.blocks.size(); ++b)
        net.blocks[b].forward(piece.z[b].view(), piece.hidden[b].shape(t, d), piece.z[b + 1].shape(t, d), keep ? &packed_.blocks[b] : nullptr);
    for (std::size_t k = 0; k < outputs; ++k) {
        const auto& decoder = net.decoders[k];
        auto& decoded = piece.decoded[k];
        decoded.resize(decoder.size());
        for (std::size_t l = 0; l < decoder.size(); ++l) {
            auto out = decoded[l].shape(t, decoder[l].W.cols());
            decoder[l].forward(l == 0 ? piece.z.back().view() : decoded[l - 1].view(), out, keep ? &packed_.decoders[k][l] : nullptr);
            if (l + 1 < decoder.size()) nn::relu<S>(out);
        }
        const S* out = std::as_const(decoded).back().view().data();
        if (recurrent) {
            for (std::size_t n = first; n < last; ++n) scores[schedule(net, n) * outputs + k] = out[n - first];
            continue;
        }
        const auto repeat = batch.repeat().subspan(static_cast<std::size_t>(batch.begin()[first]), static_cast<std::size_t>(t));
        for (std::size_t n = first; n < last; ++n) {
            S sum(0);
            for (nn::index i = piece.begin[n - first]; i < piece.begin[n - first + 1]; ++i)
                sum += S(static_cast<double>(repeat[static_cast<std::size_t>(i)])) * out[i];
            scores[n * outputs + k] = sum;
        }
    }
}

template <nn::scalar S>
void forward_backward<S>::attend_backward(const model<S>& net, const deduplicated_batch& batch, std::size_t first, detail::batch_piece<S>& piece,
                                          nn::buffer<S>* now, nn::buffer<S>* next, model<S>& grad, detail::row_sums<S>& sums) const {
    const nn::index t = piece.begin.back(), d = net.config.width();
    const auto from = static_cast<std::size_t>(batch.begin()[first]);
    const auto repeat = batch.repeat().subspan(from, static_cast<std::size_t>(t));
    const auto ids = batch.ids().subspan(from, static_cast<std::size_t>(t));
    for (std::size_t a = net.attention.size(); a-- > 0;) {
        const auto& layer = net.attention[a];
        auto& kept = piece.attention[a];
        layer.out_proj.backward(kept.context.view(), now->view(), kept.d_context.shape(t, d), grad.attention[a].out_proj, &packed_.out_proj[a]);
        if (a == 0) copy_projected(ids, kept.qkv);
        layer.attend_backward({piece.begin, repeat}, kept);
        if (a == 0) break;
        auto d_input = next->shape(t, d);
        layer.in_proj.backward(piece.x[a].view(), kept.d_qkv.view(), d_input, grad.attention[a].in_proj, &packed_.in_proj[a]);
        d_input += now->view();
        std::swap(now, next);
    }
    const auto d_x = std::as_const(*now).view(); // the residual path around attention
    const auto d_qkv = std::as_const(piece.attention[0].d_qkv).view();
    auto to_encoded = sums.d_encoded.view();
    auto to_projected = sums.d_projected.view();
    for (nn::index i = 0; i < t; ++i) {
        const auto row = static_cast<nn::index>(sums.local[ids[static_cast<std::size_t>(i)]]);
        nn::detail::add<S>(d_x.row(i), to_encoded.row(row));
        nn::detail::add<S>(d_qkv.row(i), to_projected.row(row));
    }
}

template <nn::scalar S>
void forward_backward<S>::run_lstm_backward(const model<S>& net, detail::batch_piece<S>& piece, const nn::buffer<S>& d_last, model<S>& grad) {
    const nn::index d = net.config.width();
    const auto ends = piece.prefixes.ends();
    const std::size_t depth = piece.prefixes.depth();
    for (std::size_t l = 0; l < depth; ++l) {
        const auto n = static_cast<nn::index>(piece.prefixes.at(l).row.size());
        piece.states[l].d_h.shape(n, d).setZero();
        piece.states[l].d_c.shape(n, d).setZero();
    }
    for (std::size_t s = 0; s < ends.size(); ++s)
        if (ends[s].depth > 0)
            piece.states[ends[s].depth - 1].d_h.view().row(static_cast<nn::index>(ends[s].node)) += d_last.view().row(static_cast<nn::index>(s));
    for (std::size_t l = depth; l-- > 0;) {
        const auto& level = piece.prefixes.at(l);
        auto& now = piece.states[l];
        const auto n = static_cast<nn::index>(level.row.size());
        load_previous_states(level, l == 0 ? nullptr : &piece.states[l - 1], d, piece);
        auto d_h = piece.d_h_before.shape(n, d);
        auto d_c = piece.d_c_before.shape(n, d);
        net.lstm.front().step_backward(piece.h_before.view(), piece.c_before.view(), now.gates.view(), now.c.view(), now.d_h.view(), now.d_c.view(),
                                       now.d_gates.shape(n, 4 * d), d_h, d_c, grad.lstm.front());
        if (l == 0) break;
        auto h_sum = piece.states[l - 1].d_h.view();
        auto c_sum = piece.states[l - 1].d_c.view();
        for (nn::index i = 0; i < n; ++i) {
            const auto parent = static_cast<nn::index>(level.parent[static_cast<std::size_t>(i)]);
            h_sum.row(parent) += d_h.row(i);
            c_sum.row(parent) += d_c.row(i);
        }
    }
}

template <nn::scalar S>
void forward_backward<S>::run_backward(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last,
                                       detail::batch_piece<S>& piece, std::span<const S> d_scores, model<S>& grad, detail::row_sums<S>& sums,
                                       bool decoders_only) const {
    const bool recurrent = !net.lstm.empty();
    const std::size_t outputs = net.decoders.size();
    const nn::index t = std::as_const(piece.z[0]).view().rows();
    const nn::index d = net.config.width();
    const auto repeat = recurrent ? std::span<const std::uint32_t>()
                                  : batch.repeat().subspan(static_cast<std::size_t>(batch.begin()[first]), static_cast<std::size_t>(t));
    nn::buffer<S>* now = &piece.d_a; // dL/d(output of the layer)
    nn::buffer<S>* next = &piece.d_b;
    std::size_t heads = 0; // outputs with labels in this piece
    for (std::size_t k = 0; k < outputs; ++k) {
        bool labelled = false;
        for (std::size_t n = first; n < last && !labelled; ++n) labelled = !(d_scores[schedule(net, n) * outputs + k] == S(0));
        if (!labelled) continue;
        auto d_out = now->shape(t, 1);
        for (std::size_t n = first; n < last; ++n) {
            const S& d_score = d_scores[schedule(net, n) * outputs + k];
            if (recurrent) d_out(static_cast<nn::index>(n - first), 0) = d_score;
            else
                for (nn::index i = piece.begin[n - first]; i < piece.begin[n - first + 1]; ++i)
                    d_out(i, 0) = S(static_cast<double>(repeat[static_cast<std::size_t>(i)])) * d_score;
        }
        const auto& decoder = net.decoders[k];
        for (std::size_t l = decoder.size(); l-- > 0;) {
            const auto input = l == 0 ? piece.z.back().view() : piece.decoded[k][l - 1].view();
            if (l == 0 && decoders_only) {
                decoder[l].backward(input, now->view(), grad.decoders[k][l]);
                break;
            }
            auto d_input = next->shape(t, input.cols());
            decoder[l].backward(input, now->view(), d_input, grad.decoders[k][l], &packed_.decoders[k][l]);
            if (l > 0) nn::relu_backward<S>(input, d_input);
            std::swap(now, next);
        }
        if (decoders_only) continue;
        if (outputs > 1 && heads == 0) piece.d_z.shape(t, d) = now->view();
        if (outputs > 1 && heads > 0) piece.d_z.view() += now->view();
        ++heads;
    }
    if (decoders_only) return;
    if (heads == 0) now->shape(t, d).setZero();
    else if (outputs > 1) now->shape(t, d) = piece.d_z.view();
    for (std::size_t b = net.blocks.size(); b-- > 0;) {
        net.blocks[b].backward(piece.z[b].view(), piece.hidden[b].view(), now->view(), piece.scratch.shape(t, d), next->shape(t, d), grad.blocks[b],
                               &packed_.blocks[b]);
        std::swap(now, next);
    }
    if (recurrent) run_lstm_backward(net, piece, *now, grad);
    else attend_backward(net, batch, first, piece, now, next, grad, sums);
}

template <nn::scalar S>
template <bulk_executor Executor>
void forward_backward<S>::backward(const model<S>& net, const deduplicated_batch& batch, Executor& executor, std::span<const S> d_scores,
                                   model<S>& grad, bool decoders_only) {
    const std::size_t size = net.lstm.empty() ? train_piece : lstm_piece;
    const std::size_t pieces = (batch.size() + size - 1) / size;
    const std::size_t parts = (std::min)(pieces, most_gradients); // ranges of pieces, each with its own gradient
    if (!grads_.empty() && !(grads_.front().config == net.config)) grads_.clear();
    while (grads_.size() < parts) grads_.push_back(model<S>::zeros(net.config));
    if (sums_.size() < parts) sums_.resize(parts);
    const bool recurrent = !net.lstm.empty();
    executor.bulk(parts, [&](std::size_t g) {
        nn::set_zero(grads_[g]);
        const auto row_at = [&](std::size_t p) { return static_cast<std::size_t>(batch.begin()[(std::min)(batch.size(), p * size)]); };
        const std::size_t from = row_at(pieces * g / parts), to = row_at(pieces * (g + 1) / parts);
        if (!recurrent && !decoders_only) sums_[g].begin(batch.ids().subspan(from, to - from), batch.distinct(), net.config.width());
        each_piece(g, parts, pieces, [&](std::size_t p) {
            run_backward(net, batch, p * size, (std::min)(batch.size(), (p + 1) * size), pieces_[p], d_scores, grads_[g], sums_[g], decoders_only);
        });
    });
    if (!decoders_only) encode_backward(net, batch, executor, pieces, parts);
    if (parts == 0) nn::set_zero(grad);
    else nn::sum_of(grad, std::span<const model<S>>(grads_).first(parts), executor);
}

/// Backward pass through the layers that are computed once per distinct row: the gradients of the pieces -> grads_ [0, parts).
template <nn::scalar S>
template <bulk_executor Executor>
void forward_backward<S>::encode_backward(const model<S>& net, const deduplicated_batch& batch, Executor& executor, std::size_t pieces,
                                          std::size_t parts) {
    const auto u = static_cast<nn::index>(batch.distinct());
    const nn::index d = net.config.width();
    const bool recurrent = !net.lstm.empty();

    // sum the gradients of rows that occur in several parts, in the order of the parts; each call sums a slice of columns
    auto d_encoded = d_encoded_.shape(u, d);
    auto d_projected = d_projected_.shape(u, net.projection().W.cols());
    constexpr nn::index slices = 4;
    executor.bulk(2 * slices, [&](std::size_t call) {
        const bool projected = call >= slices;
        if (recurrent && !projected) return;
        auto& sum = projected ? d_projected : d_encoded;
        const auto slice = static_cast<nn::index>(call % slices);
        const nn::index low = sum.cols() * slice / slices, n = sum.cols() * (slice + 1) / slices - low;
        sum.middleCols(low, n).setZero();
        const auto add = [&](const auto& part, const std::vector<std::uint32_t>& rows) {
            for (nn::index i = 0; i < part.rows(); ++i)
                nn::detail::add<S>(part.row(i).segment(low, n), sum.row(static_cast<nn::index>(rows[static_cast<std::size_t>(i)])).segment(low, n));
        };
        for (std::size_t p = 0; recurrent && p < pieces; ++p)
            for (std::size_t l = 0; l < pieces_[p].prefixes.depth(); ++l) add(pieces_[p].states[l].d_gates.view(), pieces_[p].prefixes.at(l).row);
        for (std::size_t g = 0; !recurrent && g < parts; ++g) add(projected ? sums_[g].d_projected.view() : sums_[g].d_encoded.view(), sums_[g].rows);
    });

    // backward through the encoder; its rows are divided into as many parts as there are gradients
    d_layer_.resize(net.encoder.size());
    for (std::size_t l = 0; l + 1 < net.encoder.size(); ++l) d_layer_[l].shape(u, net.encoder[l].W.cols());
    auto d_last = d_layer_.back().shape(u, d);
    executor.bulk(parts, [&](std::size_t p) {
        const nn::index first = u * static_cast<nn::index>(p) / static_cast<nn::index>(parts);
        const nn::index n = u * static_cast<nn::index>(p + 1) / static_cast<nn::index>(parts) - first;
        if (n == 0) return;
        auto& part_grad = grads_[p];
        const auto rows_of = [&](auto&& m) { return m.middleRows(first, n); };
        net.projection().backward(rows_of(encoded_.back().view()), rows_of(d_projected), rows_of(d_last), part_grad.projection(),
                                  packed_.in_proj.data());
        if (net.lstm.empty()) rows_of(d_last) += rows_of(d_encoded);
        for (std::size_t l = net.encoder.size(); l-- > 0;) {
            auto d_out = d_layer_[l].view();
            nn::relu_backward<S>(rows_of(encoded_[l].view()), rows_of(d_out));
            if (l == 0) {
                net.encoder[0].backward(rows_of(rows_.view()), rows_of(d_out), part_grad.encoder[0]);
            } else {
                auto d_in = d_layer_[l - 1].view();
                net.encoder[l].backward(rows_of(encoded_[l - 1].view()), rows_of(d_out), rows_of(d_in), part_grad.encoder[l], &packed_.encoder[l]);
            }
        }
    });
}

} // namespace augur::inline v0::tlp

#endif
