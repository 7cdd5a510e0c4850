// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_IMPL_HPP
#define AUGUR_MODEL_TLP_IMPL_HPP

/// @file
/// Bodies of tlp.hpp.

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <augur/model/tlp.hpp>

namespace augur::inline v0 {

inline tlp_config tlp_config::full(nn::index columns) {
    tlp_config c;
    c.columns = columns;
    return c;
}

inline tlp_config tlp_config::authors(nn::index columns) {
    tlp_config c = full(columns);
    c.scaling = tlp_scaling::raw;
    c.dead_layer = true;
    return c;
}

inline tlp_config tlp_config::small(nn::index columns) {
    tlp_config c;
    c.columns = columns;
    c.encoder = {64, 64};
    c.heads = 4;
    c.residual_blocks = 1;
    c.decoder = {64};
    return c;
}

inline result<void> tlp_config::check() const {
    const auto wrong = [](std::string what) { return error{errc::shape_mismatch, "tlp config: " + std::move(what)}; };
    constexpr nn::index most = 16384;
    if (columns < 1 || columns > most) return wrong("expected 1 to 16384 columns, got " + std::to_string(columns));
    if (encoder.empty() || encoder.size() > 16 || decoder.size() > 16 || residual_blocks < 0 || residual_blocks > 16)
        return wrong("expected 1 to 16 encoder layers and 0 to 16 residual blocks and decoder layers");
    for (const auto* stack : {&encoder, &decoder})
        for (const nn::index w : *stack)
            if (w < 1 || w > most) return wrong("expected a width of 1 to 16384, got " + std::to_string(w));
    if (heads < 1 || width() % heads != 0)
        return wrong("expected heads that divide the width " + std::to_string(width()) + ", got " + std::to_string(heads));
    return {};
}

template <nn::scalar S>
tlp_network<S> tlp_network<S>::zeros(const tlp_config& config) {
    AUGUR_ASSERT(config.check(), "tlp: config");
    tlp_network net;
    net.config = config;
    nn::index in = config.columns;
    for (const nn::index w : config.encoder) {
        net.encoder.push_back(nn::linear<S>::zeros(in, w));
        in = w;
    }
    net.attention = nn::attention<S>::zeros(in, config.heads);
    if (config.dead_layer) net.dead.push_back(nn::linear<S>::zeros(in, in));
    for (nn::index b = 0; b < config.residual_blocks; ++b) net.blocks.push_back(nn::residual<S>::zeros(in));
    for (const nn::index w : config.decoder) {
        net.decoder.push_back(nn::linear<S>::zeros(in, w));
        in = w;
    }
    net.decoder.push_back(nn::linear<S>::zeros(in, 1));
    return net;
}

template <nn::scalar S>
tlp_network<S> tlp_network<S>::random_init(const tlp_config& config, random rng) {
    tlp_network net = zeros(config);
    for (auto& layer : net.encoder) nn::init(layer, rng);
    nn::init(net.attention, rng);
    for (auto& layer : net.dead) nn::init(layer, rng);
    for (auto& block : net.blocks) nn::init(block, rng);
    for (auto& layer : net.decoder) nn::init(layer, rng);
    return net;
}

template <nn::scalar S>
template <class F, class... N>
void tlp_network<S>::visit(F&& f, N&... nets) {
    const tlp_network& first = std::get<0>(std::tie(nets...));
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
    for (std::size_t i = 0; i < first.encoder.size(); ++i) walk("encoder." + std::to_string(2 * i), nets.encoder[i]...);
    walk("attention", nets.attention...);
    for (std::size_t i = 0; i < first.dead.size(); ++i) walk("l0.0", nets.dead[i]...);
    for (std::size_t i = 0; i < first.blocks.size(); ++i) walk("l_list." + std::to_string(i) + ".0", nets.blocks[i]...);
    for (std::size_t i = 0; i < first.decoder.size(); ++i) walk("decoder." + std::to_string(2 * i), nets.decoder[i]...);
}

} // namespace augur::inline v0

#endif
