// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_WEIGHTS_FILE_HPP
#define AUGUR_TLP_WEIGHTS_FILE_HPP

/// @file
/// Saves and loads TLP models as safetensors files: the authors' parameter names, weights in torch's (out, in) layout; the metadata holds schema,
/// config and the score of a probe input.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/tlp/scorer.hpp>

namespace augur::inline v0::tlp {

namespace detail {

inline std::string schema_json(const schema& s) {
    std::string text;
    json_writer out(text);
    out.begin_object().key("name").value(s.name).key("kinds").begin_array();
    for (const auto& k : s.kinds) out.value(k);
    out.end_array().key("words").begin_array();
    for (const auto& w : s.words) out.begin_array().value(w.kind).value(w.text).value(static_cast<double>(w.value)).end_array();
    out.end_array().key("kind_columns").value(s.kind_columns).key("rows").value(s.rows).key("columns").value(s.columns);
    out.key("positions").value(s.positions).key("unknown").value(static_cast<int>(s.unknown)).key("pad").value(s.pad ? 1 : 0);
    if (s.launch_features) out.key("thread_rows").value(1); // absent otherwise: files of other schemas keep their format
    out.end_object();
    return text;
}

inline std::string config_json(const config& c) {
    std::string text;
    json_writer out(text);
    const auto list = [&](const std::vector<nn::index>& widths) {
        out.begin_array();
        for (const auto w : widths) out.value(w);
        out.end_array();
    };
    out.begin_object().key("columns").value(c.columns).key("encoder");
    list(c.encoder);
    out.key("backbone").value(static_cast<int>(c.backbone)).key("attention_layers").value(c.attention_layers);
    out.key("heads").value(c.heads).key("residual_blocks").value(c.residual_blocks).key("decoder");
    list(c.decoder);
    out.key("outputs").value(c.outputs);
    out.key("numbers_at").value(c.numbers_at).key("numbers").value(c.numbers);
    out.key("scaling").value(static_cast<int>(c.scaling)).key("dead_layer").value(c.dead_layer ? 1 : 0).end_object();
    return text;
}

/// Reads an integer in [0, most].
template <class N>
bool read_bounded(json_reader& in, N& to, std::int64_t most) {
    std::int64_t n = 0;
    if (!in.read(n)) return false;
    if (n < 0 || n > most) return in.fail(errc::parse, "expected 0 to " + std::to_string(most) + ", got " + std::to_string(n));
    to = static_cast<N>(n);
    return true;
}

inline result<schema> read_schema(std::string_view text) {
    json_reader in(text);
    schema s;
    std::string_view key;
    constexpr std::array<std::string_view, 9> needed{"name", "kinds", "words", "kind_columns", "rows", "columns", "positions", "unknown", "pad"};
    std::array<bool, needed.size()> seen{};
    in.begin_object();
    while (in.next_member(key)) {
        const auto at = static_cast<std::size_t>(std::find(needed.begin(), needed.end(), key) - needed.begin());
        if (at < needed.size() && std::exchange(seen[at], true)) in.fail(errc::parse, "the key '" + std::string(key) + "' twice");
        if (key == "name") {
            in.read(s.name);
        } else if (key == "kinds") {
            in.begin_array();
            while (in.next_element()) in.read(s.kinds.emplace_back());
        } else if (key == "words") {
            in.begin_array();
            while (in.next_element()) {
                auto& w = s.words.emplace_back();
                double value = 0;
                const auto wrong = [&] { return in.fail(errc::parse, "expected a kind, a text and a value"); };
                const auto field = [&](auto& to) { return (in.next_element() || wrong()) && in.read(to); };
                if (in.begin_array() && field(w.kind) && field(w.text) && field(value) && in.next_element()) wrong();
                w.value = static_cast<float>(value);
            }
        } else if (key == "kind_columns") {
            read_bounded(in, s.kind_columns, 65536);
        } else if (key == "rows") {
            read_bounded(in, s.rows, 65536);
        } else if (key == "columns") {
            read_bounded(in, s.columns, 65536);
        } else if (key == "positions") {
            read_bounded(in, s.positions, 65536);
        } else if (key == "unknown") {
            read_bounded(in, s.unknown, 2);
        } else if (key == "pad") {
            read_bounded(in, s.pad, 1);
        } else if (key == "thread_rows") {
            read_bounded(in, s.launch_features, 1);
        } else {
            in.fail(errc::parse, "unknown key '" + std::string(key.substr(0, 40)) + "'");
        }
    }
    if (!in.finish()) return error{in.error().code, "tlp weights: schema " + in.error().detail};
    if (const auto lacks = std::find(seen.begin(), seen.end(), false); lacks != seen.end())
        return error{errc::parse, "tlp weights: schema: expected the key '" + std::string(needed[static_cast<std::size_t>(lacks - seen.begin())]) +
                                      "', it is missing"};
    if (auto fits = s.check(); !fits) return fits.error();
    return s;
}

inline result<config> read_config(std::string_view text) {
    json_reader in(text);
    config c;
    std::string_view key;
    const auto list = [&](std::vector<nn::index>& widths) {
        widths.clear();
        in.begin_array();
        while (in.next_element()) {
            if (widths.size() == 64) in.fail(errc::limit, "more than 64 layers");
            else read_bounded(in, widths.emplace_back(), 16384);
        }
    };
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "columns") read_bounded(in, c.columns, 16384);
        else if (key == "encoder") list(c.encoder);
        else if (key == "backbone") read_bounded(in, c.backbone, 1);
        else if (key == "attention_layers") read_bounded(in, c.attention_layers, 16);
        else if (key == "heads") read_bounded(in, c.heads, 16384);
        else if (key == "outputs") read_bounded(in, c.outputs, 64);
        else if (key == "residual_blocks") read_bounded(in, c.residual_blocks, 16);
        else if (key == "decoder") list(c.decoder);
        else if (key == "numbers_at") read_bounded(in, c.numbers_at, 16384);
        else if (key == "numbers") read_bounded(in, c.numbers, 16384);
        else if (key == "scaling") read_bounded(in, c.scaling, 2);
        else if (key == "dead_layer") read_bounded(in, c.dead_layer, 1);
        else in.fail(errc::parse, "unknown key '" + std::string(key.substr(0, 40)) + "'");
    }
    if (!in.finish()) return error{in.error().code, "tlp weights: config " + in.error().detail};
    if (auto fits = c.check(); !fits) return fits.error();
    return c;
}

/// Biases are row vectors in memory and rank-1 tensors in a file; weights are (in, out) in memory and (out, in), as in torch, in a file.
template <class P>
inline constexpr bool is_vector = P::RowsAtCompileTime == 1;

/// Probe input for any schema: one schedule of up to 8 rows with different kinds and small numbers.
inline deduplicated_batch make_probe(const trained_model& trained) {
    const schema& s = trained.schema;
    deduplicated_batch batch = trained.batch();
    std::vector<float> rows;
    for (std::size_t r = 0; r < (std::min)(s.rows, std::size_t{8}); ++r) {
        rows.insert(rows.end(), s.columns, 0.0F);
        float* const row = rows.data() + r * s.columns;
        row[r % s.columns] = 1;
        for (std::size_t c = s.kind_columns; c < s.columns; ++c) row[c] = static_cast<float>((r + 3 * c) % 17);
    }
    batch.add(rows);
    return batch;
}
/// Sum of the probe's scores over all outputs.
inline float score_probe(const trained_model& trained, const deduplicated_batch& probe) {
    forward_backward<float> pass;
    serial_executor serial;
    std::vector<float> scores(trained.model.decoders.size());
    pass.forward(trained.model, probe, serial, scores);
    float sum = 0;
    for (const float s : scores) sum += s;
    return sum;
}

/// Number of tensors and parameters of a model of config `c`, computed without allocating the model.
struct parameter_count {
    std::size_t tensors = 0;
    double parameters = 0; ///< double, so that it cannot overflow
};
inline parameter_count parameter_count_of(const config& c) {
    parameter_count size;
    const auto layer = [&](nn::index in, nn::index out) {
        size.tensors += 2;
        size.parameters += (static_cast<double>(in) + 1) * static_cast<double>(out);
    };
    nn::index in = c.inputs();
    for (const nn::index w : c.encoder) layer(std::exchange(in, w), w);
    const nn::index d = in;
    if (c.backbone == backbone::lstm) {
        layer(d, 4 * d);
        layer(d, 4 * d);
    }
    for (nn::index a = 0; c.backbone == backbone::attention && a < c.attention_layers; ++a) {
        layer(d, 3 * d);
        layer(d, d);
    }
    for (nn::index b = 0; b < c.residual_blocks + (c.dead_layer ? 1 : 0); ++b) layer(d, d);
    for (nn::index k = 0; k < c.outputs; ++k) {
        in = d;
        for (const nn::index w : c.decoder) layer(std::exchange(in, w), w);
        layer(in, 1);
    }
    return size;
}

} // namespace detail

/// Serialises a model to the bytes of a weights file.
inline std::string to_safetensors(const trained_model& trained) {
    nn::safetensors_writer out;
    out.metadata("format", "augur-tlp");
    out.metadata("version", "1");
    out.metadata("schema", detail::schema_json(trained.schema));
    out.metadata("config", detail::config_json(trained.model.config));
    const deduplicated_batch probe = detail::make_probe(trained);
    std::string score;
    append_number(score, static_cast<double>(detail::score_probe(trained, probe)));
    out.metadata("probe_score", score);
    const std::array<std::uint64_t, 2> probe_shape{probe.distinct(), probe.columns()};
    out.tensor("probe.rows", probe_shape, probe.rows());
    tlp::model<float>::visit(
        [&](std::string_view name, const auto& p) {
            const auto rows = static_cast<std::uint64_t>(p.rows()), cols = static_cast<std::uint64_t>(p.cols());
            const auto n = static_cast<std::size_t>(p.size());
            if constexpr (detail::is_vector<std::remove_cvref_t<decltype(p)>>) {
                out.tensor(name, std::array{cols}, {p.data(), n});
            } else {
                const nn::matrix<float> transposed = p.transpose();
                out.tensor(name, std::array{cols, rows}, {transposed.data(), n});
            }
        },
        trained.model);
    return out.file();
}

/// Reads a model from the bytes of a weights file.
///
/// Errors: those of `parse_safetensors`; version_mismatch (not a TLP file, another version, or the probe input gets another score), parse,
/// shape_mismatch (a tensor that does not fit the config, or an additional tensor), not_found (a missing tensor).
inline result<trained_model> from_safetensors(std::string_view file, const nn::safetensors_limits& limits = {}) {
    const auto wrong = [](errc code, std::string message) { return error{code, "tlp weights: " + std::move(message)}; };
    auto header = nn::parse_safetensors(file, limits);
    if (!header) return header.error();
    const auto entry = [&](const char* key) {
        const std::string* const text = header->find_metadata(key);
        return text != nullptr ? std::string_view(*text) : std::string_view();
    };
    if (entry("format") != "augur-tlp")
        return wrong(errc::version_mismatch, "expected metadata format 'augur-tlp', got '" + std::string(entry("format").substr(0, 40)) + "'");
    if (entry("version") != "1")
        return wrong(errc::version_mismatch, "expected version 1, got '" + std::string(entry("version").substr(0, 40)) + "'");
    auto schema = detail::read_schema(entry("schema"));
    if (!schema) return schema.error();
    auto config = detail::read_config(entry("config"));
    if (!config) return config.error();
    if (static_cast<std::size_t>(config->columns) != schema->columns)
        return wrong(errc::shape_mismatch,
                     "the schema has " + std::to_string(schema->columns) + " columns, the config " + std::to_string(config->columns));
    // check that the file has the parameters of the config before allocating them
    const detail::parameter_count need = detail::parameter_count_of(*config);
    if (header->tensors.size() != need.tensors + 1)
        return wrong(errc::shape_mismatch,
                     "the config needs " + std::to_string(need.tensors + 1) + " tensors, the file has " + std::to_string(header->tensors.size()));
    if (need.parameters > static_cast<double>(file.size()) / 4)
        return wrong(errc::shape_mismatch, "the config needs more parameters than the file has bytes for");

    trained_model trained{std::move(*schema), tlp::model<float>::zeros(*config)};
    result<void> outcome;
    tlp::model<float>::visit(
        [&](std::string_view name, auto& p) {
            if (!outcome) return;
            const auto rows = static_cast<std::uint64_t>(p.rows()), cols = static_cast<std::uint64_t>(p.cols());
            const auto n = static_cast<std::size_t>(p.size());
            if constexpr (detail::is_vector<std::remove_cvref_t<decltype(p)>>) {
                outcome = nn::read_tensor(file, *header, name, std::array{cols}, {p.data(), n});
            } else {
                nn::matrix<float> transposed(p.cols(), p.rows());
                outcome = nn::read_tensor(file, *header, name, std::array{cols, rows}, {transposed.data(), n});
                p = transposed.transpose();
            }
        },
        trained.model);
    if (!outcome) return outcome.error();

    const nn::tensor_entry* const probe = header->find("probe.rows");
    const std::uint64_t rows = probe != nullptr && !probe->shape.empty() ? probe->shape.front() : 0;
    if (rows > 64) return wrong(errc::limit, "the known input has " + std::to_string(rows) + " rows, expected at most 64");
    std::vector<float> known(static_cast<std::size_t>(rows) * trained.schema.columns);
    outcome = nn::read_tensor(file, *header, "probe.rows", std::array<std::uint64_t, 2>{rows, trained.schema.columns}, known);
    if (!outcome) return outcome.error();
    deduplicated_batch input = trained.batch();
    input.add(known);
    const auto expected = parse_double(entry("probe_score"));
    const float got = detail::score_probe(trained, input);
    if (!expected || !(std::abs(static_cast<double>(got) - *expected) <= 1e-4 * (std::max)(1.0, std::abs(*expected))))
        return wrong(errc::version_mismatch,
                     "the known input scores " + std::to_string(got) + ", the file says '" + std::string(entry("probe_score").substr(0, 40)) + "'");
    return trained;
}

/// Saves a model. Replaces the file atomically (`replace_file`); the data are durable on return.
/// Errors: io, not_found (the folder); invalid_argument for a model that could not be loaded again: a parameter that is not finite (named in the
/// message), or a word of the schema that is not UTF-8. On an error the file is unchanged.
inline result<void> save(const trained_model& trained, const std::string& path) {
    if (const auto bad = trained.model.not_finite(); !bad.empty())
        return error{errc::invalid_argument, path + ": expected finite parameters, '" + bad + "' has a NaN or an infinity"};
    const auto schema = detail::read_schema(detail::schema_json(trained.schema));
    if (!schema || !same_schema(*schema, "", trained.schema, ""))
        return error{errc::invalid_argument, path + ": expected a schema whose kinds and words are UTF-8, '" + trained.schema.name +
                                                 (schema ? "' would read back as another" : "' would not read back: " + schema.error().detail)};
    return replace_file(path, to_safetensors(trained));
}

/// Loads a model from a file. Errors: io, limit, and those of `from_safetensors`.
inline result<trained_model> load(const std::string& path, const nn::safetensors_limits& limits = {}) {
    auto bytes = nn::load_bytes(path, limits);
    if (!bytes) return bytes.error();
    auto model = from_safetensors(*bytes, limits);
    if (!model) return error{model.error().code, "'" + path + "': " + model.error().detail};
    return model;
}

/// Loads a model that must have the schema `expected`, e.g. that of a data set; `expected_from` names its origin in messages.
/// Errors: also version_mismatch, which shows the first difference of the schemas.
inline result<trained_model> load(const std::string& path, const schema& expected, std::string_view expected_from,
                                  const nn::safetensors_limits& limits = {}) {
    auto model = load(path, limits);
    if (!model) return model;
    if (auto same = same_schema(model->schema, path, expected, expected_from); !same) return same.error();
    return model;
}

} // namespace augur::inline v0::tlp

#endif
