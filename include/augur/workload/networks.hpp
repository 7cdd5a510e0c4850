// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_NETWORKS_HPP
#define AUGUR_WORKLOAD_NETWORKS_HPP

/// @file
/// Well-known networks after operator fusion, as graphs and as lists of kernels: batch 1, 224 x 224 images in NHWC, batch normalisation folded into the
/// convolutions before it. Convolutional networks are those of torchvision.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <augur/core/error.hpp>
#include <augur/workload/detail/image_networks.hpp>
#include <augur/workload/detail/transformer_networks.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/network.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0 {

namespace detail {

/// The value of `name` in "name=1,other=2", `fallback` if it is not there; removes it from the text.
inline result<std::int64_t> take_network_parameter(std::string& text, std::string_view name, std::int64_t fallback, std::int64_t least,
                                                   std::int64_t most) {
    const auto prefix = std::string(name) + "=";
    const auto at = text.starts_with(prefix) ? 0 : text.find("," + prefix);
    if (at == std::string::npos) return fallback;
    const auto begin = text.find('=', at) + 1;
    const auto end = (std::min)(text.find(',', begin), text.size());
    const auto number = parse_int(std::string_view(text).substr(begin, end - begin));
    if (!number || *number < least || *number > most)
        return error{errc::invalid_argument, "'" + std::string(name) + "' must be a number within " + std::to_string(least) + " and " +
                                                 std::to_string(most) + ", is '" + text.substr(begin, (std::min)(end - begin, std::size_t{40})) +
                                                 "'"};
    text.erase(at, end - at + (at == 0 && end < text.size() ? 1 : 0));
    return *number;
}

} // namespace detail

/// The names that `find_network` accepts.
inline constexpr std::array<std::string_view, 10> network_names{"resnet_18", "resnet_50", "resnext_50",   "mobilenet_v2", "mnasnet1_0",
                                                                "vgg_16",    "alexnet",   "densenet_121", "bert_base",    "gpt2"};

/// Returns the graph of a network by name. `bert_base` and `gpt2` have parameters: `bert_base:tokens=384`, `gpt2:tokens=1,past=127`. Defaults: 128 tokens,
/// no past ones.
/// Errors: not_found, which lists the names; invalid_argument (a parameter that there is not, or a value outside its range)
[[nodiscard]] inline result<network_graph> find_network_graph(std::string_view text) {
    const auto colon = text.find(':');
    const auto name = text.substr(0, colon);
    std::string parameters(colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1));
    std::int64_t tokens = 0, past = 0;
    if (name == "bert_base" || name == "gpt2") {
        const auto own = [&](std::string_view parameter, std::int64_t fallback, std::int64_t least, std::int64_t& to) -> result<void> {
            const auto value = detail::take_network_parameter(parameters, parameter, fallback, least, 4096);
            if (!value) return error{value.error().code, std::string(name) + ": " + value.error().detail};
            to = *value;
            return {};
        };
        if (auto taken = own("tokens", 128, 1, tokens); !taken) return taken.error();
        if (name == "gpt2")
            if (auto taken = own("past", 0, 0, past); !taken) return taken.error();
    }
    if (std::find(network_names.begin(), network_names.end(), name) == network_names.end())
        return error{errc::not_found, "network '" + std::string(name.substr(0, 40)) + "' is unknown; known are " + detail::join_names(network_names)};
    if (!parameters.empty() || text.ends_with(':'))
        return error{errc::invalid_argument, std::string(name) + ": there is no parameter '" + parameters.substr(0, 40) + "'"};
    if (name == "resnet_18") return detail::resnet("resnet_18", {2, 2, 2, 2}, false);
    if (name == "resnet_50") return detail::resnet("resnet_50", {3, 4, 6, 3}, true);
    if (name == "resnext_50") return detail::resnet("resnext_50", {3, 4, 6, 3}, true, 32, 4);
    if (name == "mobilenet_v2") return detail::mobilenet_v2();
    if (name == "mnasnet1_0") return detail::mnasnet1_0();
    if (name == "vgg_16") return detail::vgg_16();
    if (name == "alexnet") return detail::alexnet();
    if (name == "densenet_121") return detail::densenet_121();
    return name == "gpt2" ? detail::gpt2(std::string(text), tokens, past) : detail::bert_base(std::string(text), tokens);
}

/// Returns the kernels of a network by name.   Errors: those of `find_network_graph`
[[nodiscard]] inline result<network> find_network(std::string_view text) {
    const auto graph = find_network_graph(text);
    if (!graph) return graph.error();
    return graph->kernels();
}

} // namespace augur::inline v0

#endif
