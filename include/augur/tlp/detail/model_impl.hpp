// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_MODEL_IMPL_HPP
#define AUGUR_TLP_DETAIL_MODEL_IMPL_HPP

/// @file
/// Definitions of tlp/model.hpp.

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <augur/tlp/model.hpp>

namespace augur::inline v0::tlp {

inline config config::with_input(const tlp::schema& schema) const {
    config c = *this;
    c.columns = static_cast<nn::index>(schema.columns);
    c.numbers_at = static_cast<nn::index>((std::min)(schema.kind_columns, schema.columns - (std::min)(schema.positions, schema.columns)));
    c.numbers = static_cast<nn::index>(schema.columns - (std::min)(schema.positions, schema.columns)) - c.numbers_at;
    return c;
}

inline config config::full(nn::index columns) {
    config c;
    c.columns = columns;
    return c;
}

inline config config::authors(nn::index columns) {
    config c = full(columns);
    c.scaling = scaling::raw;
    c.dead_layer = true;
    return c;
}

inline config config::authors_lstm(nn::index columns) {
    config c = full(columns);
    c.scaling = scaling::raw;
    c.backbone = backbone::lstm;
    return c;
}

inline config config::authors_mtl(nn::index columns, nn::index platforms) {
    config c = authors(columns);
    c.outputs = platforms;
    return c;
}

inline config config::medium(nn::index columns) {
    config c = full(columns);
    c.encoder = {64, 128, 128};
    c.decoder = {128, 64};
    return c;
}

inline config config::small(nn::index columns) {
    config c;
    c.columns = columns;
    c.encoder = {64, 64};
    c.heads = 4;
    c.residual_blocks = 1;
    c.decoder = {64};
    return c;
}

inline result<void> config::check() const {
    const auto wrong = [](std::string what) { return error{errc::shape_mismatch, "tlp config: " + std::move(what)}; };
    constexpr nn::index most = 16384;
    if (columns < 1 || columns > most) return wrong("expected 1 to 16384 columns, got " + std::to_string(columns));
    if (numbers_at < 0 || numbers < 0 || numbers_at > columns || numbers > columns - numbers_at)
        return wrong("numbers in columns " + std::to_string(numbers_at) + " to " + std::to_string(numbers_at + numbers) + " of " +
                     std::to_string(columns));
    if (encoder.empty() || encoder.size() > 16 || decoder.size() > 16 || residual_blocks < 0 || residual_blocks > 16)
        return wrong("expected 1 to 16 encoder layers and 0 to 16 residual blocks and decoder layers");
    for (const auto* stack : {&encoder, &decoder})
        for (const nn::index w : *stack)
            if (w < 1 || w > most) return wrong("expected a width of 1 to 16384, got " + std::to_string(w));
    if (outputs < 1 || outputs > 64) return wrong("expected 1 to 64 outputs, got " + std::to_string(outputs));
    if (backbone == backbone::lstm) return dead_layer ? wrong("the network with an LSTM has no dead layer") : result<void>();
    if (attention_layers < 1 || attention_layers > 16) return wrong("expected 1 to 16 attention layers, got " + std::to_string(attention_layers));
    if (heads < 1 || width() % heads != 0)
        return wrong("expected heads that divide the width " + std::to_string(width()) + ", got " + std::to_string(heads));
    return {};
}

template <nn::scalar S>
model<S> model<S>::zeros(const tlp::config& config) {
    AUGUR_ASSERT(config.check(), "tlp: config");
    model net;
    net.config = config;
    nn::index in = config.inputs();
    for (const nn::index w : config.encoder) {
        net.encoder.push_back(nn::linear<S>::zeros(in, w));
        in = w;
    }
    if (config.backbone == backbone::lstm) net.lstm.push_back(nn::lstm<S>::zeros(in, in));
    else net.attention.assign(static_cast<std::size_t>(config.attention_layers), nn::attention<S>::zeros(in, config.heads));
    if (config.dead_layer) net.dead.push_back(nn::linear<S>::zeros(in, in));
    for (nn::index b = 0; b < config.residual_blocks; ++b) net.blocks.push_back(nn::residual<S>::zeros(in));
    std::vector<nn::linear<S>> decoder;
    for (const nn::index w : config.decoder) {
        decoder.push_back(nn::linear<S>::zeros(in, w));
        in = w;
    }
    decoder.push_back(nn::linear<S>::zeros(in, 1));
    net.decoders.assign(static_cast<std::size_t>(config.outputs), decoder);
    return net;
}

template <nn::scalar S>
model<S> model<S>::random_init(const tlp::config& config, random_engine rng) {
    model net = zeros(config);
    for (auto& layer : net.encoder) nn::init(layer, rng);
    for (auto& layer : net.attention) nn::init(layer, rng);
    for (auto& layer : net.lstm) nn::init(layer, rng);
    for (auto& layer : net.dead) nn::init(layer, rng);
    for (auto& block : net.blocks) nn::init(block, rng);
    for (auto& decoder : net.decoders)
        for (auto& layer : decoder) nn::init(layer, rng);
    return net;
}

template <nn::scalar S>
model<S> model<S>::only(std::size_t output) const {
    AUGUR_ASSERT(output < decoders.size(), "tlp: no such output");
    model net = *this;
    net.config.outputs = 1;
    net.decoders = {decoders[output]};
    return net;
}

template <nn::scalar S>
template <class F, class... N>
void model<S>::visit(F&& f, N&... nets) {
    const model& first = std::get<0>(std::tie(nets...));
    std::string name;
    const auto walk = [&](const std::string& prefix, auto&... layers) {
        const auto named = [&](std::string_view leaf, auto&... parameters) {
            name = prefix;
            name += '.';
            name += leaf;
            f(std::string_view(name), parameters...);
        };
        std::remove_const_t<std::remove_reference_t<std::tuple_element_t<0, std::tuple<decltype(layers)...>>>>::visit(named, layers...);
    };
    const bool recurrent = !first.lstm.empty();
    const std::string encoder = recurrent ? "lstm_linar_encoder." : "encoder."; // spelling of the authors' code
    for (std::size_t i = 0; i < first.encoder.size(); ++i) walk(encoder + std::to_string(2 * i), nets.encoder[i]...);
    for (std::size_t i = 0; i < first.attention.size(); ++i) walk(i == 0 ? "attention" : "attention_" + std::to_string(i), nets.attention[i]...);
    for (std::size_t i = 0; i < first.lstm.size(); ++i) walk("lstm", nets.lstm[i]...);
    for (std::size_t i = 0; i < first.dead.size(); ++i) walk("l0.0", nets.dead[i]...);
    const std::string block = recurrent ? "l" : "l_list.";
    for (std::size_t i = 0; i < first.blocks.size(); ++i) walk(block + std::to_string(i) + ".0", nets.blocks[i]...);
    for (std::size_t h = 0; h < first.decoders.size(); ++h) {
        const std::string decoder = first.decoders.size() == 1 ? "decoder." : "mtl_heads." + std::to_string(h) + ".";
        for (std::size_t i = 0; i < first.decoders[h].size(); ++i) walk(decoder + std::to_string(2 * i), nets.decoders[h][i]...);
    }
}

} // namespace augur::inline v0::tlp

#endif
