// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_NETWORK_WEIGHTS_HPP
#define AUGUR_SESSION_NETWORK_WEIGHTS_HPP

/// @file
/// The weights of a network from a safetensors file.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/network_program.hpp>
#include <augur/workload/kernel_signature.hpp>
#include <augur/workload/network_graph.hpp>
#ifdef AUGUR_HAS_TLP
#include <augur/nn/safetensors.hpp>
#endif

namespace augur::inline v0 {

/// Finds the constants of a network in a safetensors file by the names of their nodes and operands, `layer1.0.conv1.weight`, and inputs by their
/// names. Every constant must be there; inputs need not be, and other tensors are passed over. Axes of extent 1 do not count: a bias is (C).
///
/// Shapes are those of `kernel_kind`: the filter of a convolution in NHWC is (K,K,C/G,F).
///
/// Errors: those of `nn::load_bytes` and `nn::parse_safetensors`, so that a file which ends early is refused; not_found, version_mismatch (a type that
///         is not F32), shape_mismatch, parse (a number that is not finite), each with the name; unsupported (a machine whose numbers have another byte
///         order, a build without the component nn)
/// Cost:   reads the whole file into memory
[[nodiscard]] inline result<loopnest::network_weights> find_network_weights(const std::string& path, const network_graph& g) {
#ifdef AUGUR_HAS_TLP // which brings nn
    const auto refused = [&](const error& e) { return error{e.code, path + ": " + e.detail}; };
    if (std::endian::native != std::endian::little) return error{errc::unsupported, "weights: expected a machine with little-endian numbers"};
    const auto bytes = nn::load_bytes(path);
    if (!bytes) return bytes.error();
    const auto header = nn::parse_safetensors(*bytes);
    if (!header) return refused(header.error());
    const auto without_ones = [](const auto& shape) {
        std::vector<std::uint64_t> out;
        for (const auto n : shape)
            if (n != 1) out.push_back(static_cast<std::uint64_t>(n));
        return out;
    };
    loopnest::network_weights out;
    const std::unique_ptr<char, void (*)(void*)> whole(::realpath(path.c_str(), nullptr), &std::free);
    out.file = whole != nullptr ? whole.get() : path;
    const auto take = [&](const std::string& name, const std::vector<std::int64_t>& shape) -> result<void> {
        const auto* t = header->find(name);
        const auto expected = t != nullptr && without_ones(t->shape) == without_ones(shape)
                                  ? std::vector<std::uint64_t>(t->shape.begin(), t->shape.end())
                                  : std::vector<std::uint64_t>(shape.begin(), shape.end());
        std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
        if (auto read = nn::read_tensor(*bytes, *header, name, expected, values); !read) return read;
        out.offsets[name] = static_cast<std::int64_t>(header->data + t->begin);
        return {};
    };
    for (std::size_t i = 0; i < g.nodes().size(); ++i) {
        const auto& node = g.nodes()[i];
        if (std::holds_alternative<network_input>(node.action) && header->find(node.name) != nullptr)
            if (auto taken = take(node.name, g.shape_of(i)); !taken) return refused(taken.error());
        const auto* k = g.kernel_of(i);
        if (k == nullptr) continue;
        const auto signature = signature_of(*k);
        for (const auto& o : signature.operands)
            if (o.constant)
                if (auto taken = take(node.name + "." + o.name, o.shape); !taken) return refused(taken.error());
    }
    return out;
#else
    (void)g;
    return error{errc::unsupported, path + ": weights of a network need the component augur::nn, which this build does not have"};
#endif
}

} // namespace augur::inline v0

#endif
