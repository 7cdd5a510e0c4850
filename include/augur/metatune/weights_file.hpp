// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_WEIGHTS_FILE_HPP
#define AUGUR_METATUNE_WEIGHTS_FILE_HPP

/// @file
/// Saves and loads MetaTune's networks as safetensors files: weights (in, out), in the metadata config and super-graph; means and scales of the columns;
/// a probe and its outputs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/record/replace_file.hpp>

namespace augur::inline v0 {
namespace metatune {

/// What a weights file holds.
struct trained_network {
    network<float> net;
    std::string graph_template;   ///< text of the super-graph that the network was trained on; empty: none
    standardisation columns = {}; ///< of the features that it was trained on
};

namespace detail {

inline std::string config_json(const config& c) {
    std::string text;
    json_writer out(text);
    const auto list = [&](std::string_view key, const std::vector<nn::index>& widths) {
        out.key(key).begin_array();
        for (const auto w : widths) out.value(w);
        out.end_array();
    };
    out.begin_object().key("features").value(c.features);
    list("convolutions", c.convolutions);
    list("head", c.head);
    out.key("outputs").value(c.outputs).key("nested").value(c.nested ? 1 : 0).key("masked").value(c.masked ? 1 : 0).end_object();
    return text;
}

inline result<config> read_config(std::string_view text) {
    json_reader in(text);
    config c;
    std::array<bool, 6> seen{};
    std::string_view key;
    const auto number = [&](std::size_t which, auto& to, std::int64_t most) {
        std::int64_t n = 0;
        if (std::exchange(seen[which], true)) in.fail(errc::parse, "the key '" + std::string(key) + "' twice");
        else if (in.read(n) && (n < 0 || n > most)) in.fail(errc::parse, "expected 0 to " + std::to_string(most) + ", got " + std::to_string(n));
        to = static_cast<std::remove_reference_t<decltype(to)>>(n);
    };
    const auto list = [&](std::size_t which, std::vector<nn::index>& widths) {
        if (std::exchange(seen[which], true)) in.fail(errc::parse, "the key '" + std::string(key) + "' twice");
        widths.clear();
        in.begin_array();
        while (in.next_element()) {
            std::int64_t n = 0;
            if (widths.size() == 16) in.fail(errc::limit, "more than 16 layers");
            else if (in.read(n)) widths.push_back(static_cast<nn::index>(n));
        }
    };
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "features") number(0, c.features, 16384);
        else if (key == "convolutions") list(1, c.convolutions);
        else if (key == "head") list(2, c.head);
        else if (key == "outputs") number(3, c.outputs, 2);
        else if (key == "nested") number(4, c.nested, 1);
        else if (key == "masked") number(5, c.masked, 1);
        else in.fail(errc::parse, "unknown key '" + std::string(key.substr(0, 40)) + "'");
    }
    if (!in.finish()) return error{in.error().code, "metatune weights: config " + in.error().detail};
    if (!std::all_of(seen.begin(), seen.end(), [](bool s) { return s; }))
        return error{errc::parse,
                     "metatune weights: expected a config with features, convolutions, head, outputs, nested and masked, one is missing"};
    if (auto fits = c.check(); !fits) return fits.error();
    return c;
}

/// Number of tensors and parameters of a network, computed without allocating it.
inline std::pair<std::size_t, double> parameter_count_of(const config& c) {
    const auto widths = c.head_widths();
    double parameters = static_cast<double>(c.convolutions.back()) + 1;
    const auto layer = [&](nn::index in, nn::index out) { parameters += (static_cast<double>(in) + 1) * static_cast<double>(out); };
    nn::index in = c.features;
    for (const nn::index w : c.convolutions) layer(std::exchange(in, w), w);
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) layer(widths[l], widths[l + 1]);
    return {2 * (c.convolutions.size() + widths.size()), parameters};
}

/// Outputs for a probe: a chain of loops, of which those without features are absent.   (1, outputs)
inline nn::matrix<float> probe_outputs(const network<float>& net, const nn::matrix<float>& features) {
    loop_rows loops{features, {}, {}};
    for (nn::index s = 0; s < features.rows(); ++s) {
        loops.present.push_back(features.row(s).isZero(0) ? 0 : 1);
        loops.parents.push_back(s == 0 ? loop_rows::no_parent : static_cast<std::uint32_t>(s - 1));
    }
    candidate_graphs one(net.config);
    [[maybe_unused]] const auto added = one.add(loops);
    AUGUR_ASSERT(added, "metatune weights: probe");
    network_activation<float> kept;
    nn::matrix<float> y(1, net.config.outputs);
    net.forward(one, kept, y);
    return y;
}

inline constexpr nn::index probe_slots = 5;

} // namespace detail

/// Serialises a network to the bytes of a weights file.
inline std::string to_safetensors(const trained_network& trained) {
    nn::safetensors_writer out;
    out.metadata("format", "augur-metatune");
    out.metadata("version", "1");
    out.metadata("config", detail::config_json(trained.net.config));
    out.metadata("graph_template", trained.graph_template);
    const auto add = [&](std::string_view name, const auto& p) {
        const std::array<std::uint64_t, 2> shape{static_cast<std::uint64_t>(p.rows()), static_cast<std::uint64_t>(p.cols())};
        out.tensor(name, std::span(shape).subspan(p.RowsAtCompileTime == 1 ? 1 : 0), {p.data(), static_cast<std::size_t>(p.size())});
    };
    network<float>::visit(add, trained.net);
    for (const auto& [name, values] : {std::pair{"columns.mean", &trained.columns.mean}, std::pair{"columns.scale", &trained.columns.scale}})
        if (!values->empty()) out.tensor(name, std::array{static_cast<std::uint64_t>(values->size())}, *values);
    nn::matrix<float> probe = nn::matrix<float>::Zero(detail::probe_slots, trained.net.config.features);
    for (nn::index s = 0; s < probe.rows(); ++s)
        for (nn::index f = 0; s != 2 && f < probe.cols(); ++f) probe(s, f) = static_cast<float>((s + 3 * f + 1) % 7) / 4;
    add("probe.features", probe);
    add("probe.outputs", detail::probe_outputs(trained.net, probe));
    return out.file();
}

/// Reads a network from the bytes of a weights file.
///
/// Errors: those of `parse_safetensors`; version_mismatch (not a MetaTune file, another version, or the probe gets other outputs), parse,
/// shape_mismatch (a tensor that does not fit the config, or an additional tensor), not_found (a missing tensor).
inline result<trained_network> from_safetensors(std::string_view file, const nn::safetensors_limits& limits = {}) {
    const auto wrong = [](errc code, std::string message) { return error{code, "metatune weights: " + std::move(message)}; };
    const auto header = nn::parse_safetensors(file, limits);
    if (!header) return header.error();
    if (auto fits = header->check_format("augur-metatune"); !fits) return wrong(fits.error().code, fits.error().detail);
    const auto config = detail::read_config(header->metadata_text("config"));
    if (!config) return config.error();
    // check that the file has the parameters of the config before allocating them
    const auto [tensors, parameters] = detail::parameter_count_of(*config);
    const bool standardised = header->find("columns.mean") != nullptr;
    const std::size_t needed = tensors + (standardised ? 4 : 2);
    if (header->tensors.size() != needed)
        return wrong(errc::shape_mismatch,
                     "the config needs " + std::to_string(needed) + " tensors, the file has " + std::to_string(header->tensors.size()));
    if (parameters > static_cast<double>(file.size()) / 4)
        return wrong(errc::shape_mismatch, "the config needs more parameters than the file has bytes for");

    trained_network trained{network<float>::zeros(*config), std::string(header->metadata_text("graph_template")), {}};
    result<void> outcome;
    const auto read = [&](std::string_view name, auto& p) {
        if (!outcome) return;
        const std::array<std::uint64_t, 2> shape{static_cast<std::uint64_t>(p.rows()), static_cast<std::uint64_t>(p.cols())};
        outcome = nn::read_tensor(file, *header, name, std::span(shape).subspan(p.RowsAtCompileTime == 1 ? 1 : 0),
                                  {p.data(), static_cast<std::size_t>(p.size())});
    };
    network<float>::visit(read, trained.net);
    nn::matrix<float> probe(detail::probe_slots, config->features), expected(1, config->outputs);
    read("probe.features", probe);
    read("probe.outputs", expected);
    if (standardised)
        for (const auto& [name, values] : {std::pair{"columns.mean", &trained.columns.mean}, std::pair{"columns.scale", &trained.columns.scale}}) {
            values->resize(static_cast<std::size_t>(config->features));
            if (outcome) outcome = nn::read_tensor(file, *header, name, std::array{static_cast<std::uint64_t>(config->features)}, *values);
        }
    if (!outcome) return outcome.error();
    const nn::matrix<float> got = detail::probe_outputs(trained.net, probe);
    for (nn::index o = 0; o < got.cols(); ++o)
        if (!(std::abs(got(0, o) - expected(0, o)) <= 1e-4F * (std::max)(1.0F, std::abs(expected(0, o)))))
            return wrong(errc::version_mismatch, "output " + std::to_string(o) + " of the probe is " + std::to_string(got(0, o)) +
                                                     ", the file says " + std::to_string(expected(0, o)));
    return trained;
}

/// Saves a network. Replaces the file atomically (`replace_file`); the data are durable on return.
/// Errors, after which the file is unchanged: io, not_found (the folder); invalid_argument for what could not be loaded again: a parameter that is
/// not finite, a super-graph's text that is not UTF-8, other numbers of means or scales than features.
inline result<void> save(const trained_network& trained, const std::string& path) {
    if (const auto bad = trained.net.not_finite(); !bad.empty())
        return error{errc::invalid_argument, path + ": expected finite parameters, '" + bad + "' has a NaN or an infinity"};
    const std::string bytes = to_safetensors(trained);
    if (const auto back = from_safetensors(bytes); !back || back->graph_template != trained.graph_template || back->columns != trained.columns)
        return error{errc::invalid_argument,
                     path + ": expected a network that can be loaded again" +
                         (back ? ", the super-graph's text or the columns would read back as others" : ": " + back.error().detail)};
    return replace_file(path, bytes);
}

/// Loads a network from a file. Errors: io, limit, and those of `from_safetensors`.
inline result<trained_network> load(const std::string& path, const nn::safetensors_limits& limits = {}) {
    auto bytes = nn::load_bytes(path, limits);
    if (!bytes) return bytes.error();
    auto trained = from_safetensors(*bytes, limits);
    if (!trained) return error{trained.error().code, "'" + path + "': " + trained.error().detail};
    return trained;
}

/// Loads a network that must have been trained on the super-graph `graph_template`. Errors: also version_mismatch (another super-graph).
inline result<trained_network> load(const std::string& path, std::string_view graph_template, const nn::safetensors_limits& limits = {}) {
    auto trained = load(path, limits);
    if (!trained || trained->graph_template == graph_template) return trained;
    return error{errc::version_mismatch, "'" + path + "': expected the super-graph '" + std::string(graph_template.substr(0, 80)) + "', got '" +
                                             trained->graph_template.substr(0, 80) + "'"};
}

} // namespace metatune
} // namespace augur::inline v0

#endif
