// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_WEIGHTS_METADATA_HPP
#define AUGUR_TLP_DETAIL_WEIGHTS_METADATA_HPP

/// @file
/// What a weights file of TLP says beside its tensors: schema and config as JSON, the probe input and its score, the tensors that a config has.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/schema.hpp>
#include <augur/tlp/scorer.hpp>

namespace augur::inline v0::tlp::detail {

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

} // namespace augur::inline v0::tlp::detail

#endif
