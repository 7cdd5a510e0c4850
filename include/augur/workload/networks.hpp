// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_NETWORKS_HPP
#define AUGUR_WORKLOAD_NETWORKS_HPP

/// @file
/// Well-known networks after operator fusion, as graphs and as lists of kernels: batch 1, 224 x 224 images in NHWC, batch normalisation folded into the
/// convolutions before it. Convolutional networks are those of torchvision.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/core/printable.hpp>
#include <augur/workload/detail/image_networks.hpp>
#include <augur/workload/detail/transformer_networks.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/network.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0 {

namespace detail {

/// A parameter of a network, as in "bert_base:tokens=384".
struct network_parameter {
    std::string_view name;
    std::int64_t least; ///< of the value
    std::int64_t value; ///< the default, until a text gives another
    bool given = false;
};

/// Reads "tokens=1,past=127", each parameter at most once.   Errors: invalid_argument
inline result<void> read_network_parameters(std::string_view text, std::span<network_parameter> known) {
    constexpr std::int64_t most = 4096;
    const auto refused = [](std::string what) { return error{errc::invalid_argument, std::move(what)}; };
    for (;;) {
        const auto comma = text.find(',');
        const auto item = text.substr(0, comma);
        const auto equals = item.find('=');
        if (item.empty()) return refused("expected <parameter>=<number> after ':' and after each ',', got nothing");
        const auto p = std::find_if(known.begin(), known.end(), [&](const network_parameter& k) { return k.name == item.substr(0, equals); });
        if (p == known.end() || equals == std::string_view::npos) return refused("there is no parameter '" + printable(item) + "'");
        if (std::exchange(p->given, true)) return refused("'" + std::string(p->name) + "' is given twice");
        const auto number = parse_int(item.substr(equals + 1));
        if (!number || *number < p->least || *number > most)
            return refused("'" + std::string(p->name) + "' must be a number within " + std::to_string(p->least) + " and " + std::to_string(most) +
                           ", is '" + printable(item.substr(equals + 1)) + "'");
        p->value = *number;
        if (comma == std::string_view::npos) return {};
        text.remove_prefix(comma + 1);
    }
}

} // namespace detail

/// The names that `find_network` accepts.
inline constexpr std::array<std::string_view, 10> network_names{"resnet_18", "resnet_50", "resnext_50",   "mobilenet_v2", "mnasnet1_0",
                                                                "vgg_16",    "alexnet",   "densenet_121", "bert_base",    "gpt2"};

/// Returns the graph of a network by name. `bert_base` and `gpt2` have parameters: `bert_base:tokens=384`, `gpt2:tokens=1,past=127`. Defaults: 128 tokens,
/// no past ones.
/// Errors: not_found, which lists the names; invalid_argument (a parameter that is missing, unknown or given twice, or a value outside its range)
[[nodiscard]] inline result<network_graph> find_network_graph(std::string_view text) {
    const auto colon = text.find(':');
    const auto name = text.substr(0, colon);
    if (std::find(network_names.begin(), network_names.end(), name) == network_names.end())
        return error{errc::not_found, "network '" + printable(name) + "' is unknown; known are " + detail::join_names(network_names)};
    std::array<detail::network_parameter, 2> parameters{{{"tokens", 1, 128}, {"past", 0, 0}}};
    const std::size_t own = name == "gpt2" ? 2 : name == "bert_base" ? 1 : 0;
    if (colon != std::string_view::npos)
        if (auto read = detail::read_network_parameters(text.substr(colon + 1), std::span(parameters).first(own)); !read)
            return error{read.error().code, std::string(name) + ": " + read.error().detail};
    if (name == "resnet_18") return detail::resnet("resnet_18", {2, 2, 2, 2}, false);
    if (name == "resnet_50") return detail::resnet("resnet_50", {3, 4, 6, 3}, true);
    if (name == "resnext_50") return detail::resnet("resnext_50", {3, 4, 6, 3}, true, 32, 4);
    if (name == "mobilenet_v2") return detail::mobilenet_v2();
    if (name == "mnasnet1_0") return detail::mnasnet1_0();
    if (name == "vgg_16") return detail::vgg_16();
    if (name == "alexnet") return detail::alexnet();
    if (name == "densenet_121") return detail::densenet_121();
    const auto& [tokens, past] = parameters;
    return name == "gpt2" ? detail::gpt2(std::string(text), tokens.value, past.value) : detail::bert_base(std::string(text), tokens.value);
}

/// Returns the kernels of a network by name.   Errors: those of `find_network_graph`
[[nodiscard]] inline result<network> find_network(std::string_view text) {
    const auto graph = find_network_graph(text);
    if (!graph) return graph.error();
    return graph->kernels();
}

} // namespace augur::inline v0

#endif
