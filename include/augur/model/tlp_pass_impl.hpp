// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_PASS_IMPL_HPP
#define AUGUR_MODEL_TLP_PASS_IMPL_HPP

/// @file
/// Bodies of tlp_pass.hpp.

#include <algorithm>
#include <cmath>
#include <utility>

#include <augur/model/tlp_pass.hpp>

namespace augur::inline v0 {

template <nn::scalar S>
template <bulk_executor Executor>
void tlp_pass<S>::encode(const tlp_network<S>& net, const tlp_bags& bags, Executor& executor) {
    const auto u = static_cast<nn::index>(bags.distinct());
    const auto e = static_cast<nn::index>(bags.columns());
    AUGUR_ASSERT(e == net.config.columns, "tlp: rows of another width than the network's");
    encoded_.resize(net.encoder.size());
    rows_.shape(u, e);
    for (std::size_t l = 0; l < net.encoder.size(); ++l) encoded_[l].shape(u, net.encoder[l].W.cols());
    qkv_.shape(u, 3 * net.config.width());
    const std::size_t pieces = static_cast<std::size_t>((u + row_piece - 1) / row_piece);
    executor.bulk(pieces, [&](std::size_t p) {
        const auto first = static_cast<nn::index>(p) * row_piece;
        const nn::index n = (std::min)(row_piece, u - first);
        auto rows = rows_.view();
        const float* from = bags.rows().data() + first * e;
        S* to = rows.data() + first * e;
        if (net.config.scaling == tlp_scaling::raw)
            for (nn::index i = 0; i < n * e; ++i) to[i] = static_cast<S>(from[i]);
        else
            for (nn::index i = 0; i < n * e; ++i)
                to[i] = static_cast<S>(from[i] == 0 ? 0.0F : std::copysign(1.44269504F * std::log1p(std::abs(from[i])), from[i]));
        for (std::size_t l = 0; l < net.encoder.size(); ++l) {
            auto out = encoded_[l].view();
            if (l == 0) net.encoder[l].forward(rows.middleRows(first, n), out.middleRows(first, n));
            else net.encoder[l].forward(encoded_[l - 1].view().middleRows(first, n), out.middleRows(first, n));
            nn::relu<S>(out.middleRows(first, n));
        }
        auto qkv = qkv_.view();
        net.attention.in_proj.forward(encoded_.back().view().middleRows(first, n), qkv.middleRows(first, n));
    });
}

template <nn::scalar S>
void tlp_pass<S>::run(const tlp_network<S>& net, const tlp_bags& bags, std::size_t first, std::size_t last, detail::tlp_piece<S>& piece,
                      std::span<S> scores) {
    const nn::index from = bags.begin()[first];
    const nn::index t = bags.begin()[last] - from;
    const nn::index d = net.config.width();
    piece.begin.clear();
    for (std::size_t n = first; n <= last; ++n) piece.begin.push_back(bags.begin()[n] - from);
    const auto repeat = bags.repeat().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(t));
    const auto ids = bags.ids().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(t));

    auto x = piece.x.shape(t, d);
    auto qkv = piece.attention.qkv.shape(t, 3 * d);
    const auto table = std::as_const(encoded_).back().view();
    const auto qkv_table = std::as_const(qkv_).view();
    for (nn::index i = 0; i < t; ++i) {
        const auto id = static_cast<nn::index>(ids[static_cast<std::size_t>(i)]);
        std::copy_n(table.data() + id * d, d, x.data() + i * d);
        std::copy_n(qkv_table.data() + id * 3 * d, 3 * d, qkv.data() + i * 3 * d);
    }
    net.attention.attend({piece.begin, repeat}, piece.attention);

    piece.z.resize(net.blocks.size() + 1);
    piece.hidden.resize(net.blocks.size());
    piece.decoded.resize(net.decoder.size());
    auto z = piece.z[0].shape(t, d);
    net.attention.out_proj.forward(piece.attention.context.view(), z);
    z += x;
    for (std::size_t b = 0; b < net.blocks.size(); ++b)
        net.blocks[b].forward(piece.z[b].view(), piece.hidden[b].shape(t, d), piece.z[b + 1].shape(t, d));
    for (std::size_t l = 0; l < net.decoder.size(); ++l) {
        auto out = piece.decoded[l].shape(t, net.decoder[l].W.cols());
        net.decoder[l].forward(l == 0 ? piece.z.back().view() : piece.decoded[l - 1].view(), out);
        if (l + 1 < net.decoder.size()) nn::relu<S>(out);
    }
    const S* out = std::as_const(piece.decoded).back().view().data();
    for (std::size_t n = first; n < last; ++n) {
        S sum(0);
        for (nn::index i = piece.begin[n - first]; i < piece.begin[n - first + 1]; ++i)
            sum += S(static_cast<double>(repeat[static_cast<std::size_t>(i)])) * out[i];
        scores[n] = sum;
    }
}

template <nn::scalar S>
void tlp_pass<S>::run_back(const tlp_network<S>& net, const tlp_bags& bags, std::size_t first, std::size_t last, detail::tlp_piece<S>& piece,
                           std::span<const S> d_scores, tlp_network<S>& grad) {
    const nn::index from = bags.begin()[first];
    const nn::index t = bags.begin()[last] - from;
    const nn::index d = net.config.width();
    const auto repeat = bags.repeat().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(t));

    auto d_out = piece.d_a.shape(t, 1);
    for (std::size_t n = first; n < last; ++n)
        for (nn::index i = piece.begin[n - first]; i < piece.begin[n - first + 1]; ++i)
            d_out(i, 0) = S(static_cast<double>(repeat[static_cast<std::size_t>(i)])) * d_scores[n];
    nn::buffer<S>* now = &piece.d_a; // dL/d(output of the layer)
    nn::buffer<S>* next = &piece.d_b;
    for (std::size_t l = net.decoder.size(); l-- > 0;) {
        const auto input = l == 0 ? piece.z.back().view() : piece.decoded[l - 1].view();
        auto d_input = next->shape(t, input.cols());
        net.decoder[l].backward(input, now->view(), d_input, grad.decoder[l]);
        if (l > 0) nn::relu_backward<S>(input, d_input);
        std::swap(now, next);
    }
    for (std::size_t b = net.blocks.size(); b-- > 0;) {
        net.blocks[b].backward(piece.z[b].view(), piece.hidden[b].view(), now->view(), piece.scratch.shape(t, d), next->shape(t, d), grad.blocks[b]);
        std::swap(now, next);
    }
    piece.d_x.shape(t, d) = now->view(); // the residual path around attention
    net.attention.out_proj.backward(piece.attention.context.view(), now->view(), piece.attention.d_context.shape(t, d), grad.attention.out_proj);
    net.attention.attend_backward({piece.begin, repeat}, piece.attention);
}

template <nn::scalar S>
template <bulk_executor Executor>
void tlp_pass<S>::backward(const tlp_network<S>& net, const tlp_bags& bags, Executor& executor, std::span<const S> d_scores, tlp_network<S>& grad) {
    const auto u = static_cast<nn::index>(bags.distinct());
    const nn::index d = net.config.width();
    const std::size_t pieces = (bags.size() + train_piece - 1) / train_piece;
    while (grads_.size() < pieces || (!grads_.empty() && !(grads_.front().config == net.config))) {
        if (!grads_.empty() && !(grads_.front().config == net.config)) grads_.clear();
        grads_.push_back(tlp_network<S>::zeros(net.config));
    }
    executor.bulk(pieces, [&](std::size_t p) {
        nn::set_zero(grads_[p]);
        run_back(net, bags, p * train_piece, (std::min)(bags.size(), (p + 1) * train_piece), pieces_[p], d_scores, grads_[p]);
    });

    // rows that schedules share: add their gradients up, in the order of the schedules, one slice of columns a call
    auto d_encoded = d_encoded_.shape(u, d);
    auto d_qkv = d_qkv_.shape(u, 3 * d);
    constexpr nn::index slices = 4;
    executor.bulk(2 * slices, [&](std::size_t call) {
        const bool is_qkv = call >= slices;
        auto& sum = is_qkv ? d_qkv : d_encoded;
        const nn::index low = sum.cols() * static_cast<nn::index>(call % slices) / slices;
        const nn::index n = sum.cols() * static_cast<nn::index>(call % slices + 1) / slices - low;
        sum.middleCols(low, n).setZero();
        for (std::size_t p = 0; p < pieces; ++p) {
            const auto part = is_qkv ? pieces_[p].attention.d_qkv.view() : pieces_[p].d_x.view();
            const nn::index from = bags.begin()[p * train_piece];
            for (nn::index i = 0; i < part.rows(); ++i)
                sum.row(static_cast<nn::index>(bags.ids()[static_cast<std::size_t>(from + i)])).segment(low, n) += part.row(i).segment(low, n);
        }
    });

    // the encoder, its rows cut into as many parts as there are gradients
    d_layer_.resize(net.encoder.size());
    for (std::size_t l = 0; l + 1 < net.encoder.size(); ++l) d_layer_[l].shape(u, net.encoder[l].W.cols());
    const nn::index share = pieces == 0 ? 1 : (u + static_cast<nn::index>(pieces) - 1) / static_cast<nn::index>(pieces);
    auto d_last = d_layer_.back().shape(u, d);
    executor.bulk(pieces, [&](std::size_t p) {
        const nn::index first = (std::min)(u, static_cast<nn::index>(p) * share);
        const nn::index n = (std::min)(share, u - first);
        if (n == 0) return;
        auto& own = grads_[p];
        const auto rows_of = [&](auto&& m) { return m.middleRows(first, n); };
        net.attention.in_proj.backward(rows_of(encoded_.back().view()), rows_of(d_qkv), rows_of(d_last), own.attention.in_proj);
        rows_of(d_last) += rows_of(d_encoded);
        for (std::size_t l = net.encoder.size(); l-- > 0;) {
            auto d_out = d_layer_[l].view();
            nn::relu_backward<S>(rows_of(encoded_[l].view()), rows_of(d_out));
            if (l == 0) {
                net.encoder[0].backward(rows_of(rows_.view()), rows_of(d_out), own.encoder[0]);
            } else {
                auto d_in = d_layer_[l - 1].view();
                net.encoder[l].backward(rows_of(encoded_[l - 1].view()), rows_of(d_out), rows_of(d_in), own.encoder[l]);
            }
        }
    });

    nn::set_zero(grad);
    for (std::size_t p = 0; p < pieces; ++p) nn::add_to(grad, grads_[p]);
}

} // namespace augur::inline v0

#endif
