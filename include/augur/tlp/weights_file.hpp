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
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/detail/weights_metadata.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/schema.hpp>
#include <augur/tlp/scorer.hpp>

namespace augur::inline v0::tlp {

/// Serialises a model to the bytes of a weights file; `from_safetensors` refuses those of a model that `save` refuses.
/// pre: the model has the columns of its schema
inline std::string to_safetensors(const trained_model& trained) {
    nn::safetensors_writer out;
    out.metadata("format", "augur-tlp");
    out.metadata("version", "1");
    out.metadata("schema", detail::schema_json(trained.schema));
    out.metadata("config", detail::config_json(trained.model.config));
    const deduplicated_batch probe = detail::make_probe(trained);
    std::string score;
    if (const float s = detail::score_probe(trained, probe); std::isfinite(s)) append_number(score, static_cast<double>(s)); // no reader accepts ""
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
    if (auto fits = header->check_format("augur-tlp"); !fits) return wrong(fits.error().code, fits.error().detail);
    auto schema = detail::read_schema(header->metadata_text("schema"));
    if (!schema) return schema.error();
    auto config = detail::read_config(header->metadata_text("config"));
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
    const auto expected = parse_double(header->metadata_text("probe_score"));
    const float got = detail::score_probe(trained, input);
    if (!expected || !(std::abs(static_cast<double>(got) - *expected) <= 1e-4 * (std::max)(1.0, std::abs(*expected))))
        return wrong(errc::version_mismatch, "the known input scores " + std::to_string(got) + ", the file says '" +
                                                 std::string(header->metadata_text("probe_score").substr(0, 40)) + "'");
    return trained;
}

/// Saves a model. Replaces the file atomically (`replace_file`); the data are durable on return. Reads the bytes back before it writes them.
/// Errors, after which the file is unchanged: io, not_found (the folder); invalid_argument for a model that could not be loaded again: a parameter
/// that is not finite (named in the message), a probe score that is not finite, other columns than the schema, a word of the schema that is not
/// UTF-8.
inline result<void> save(const trained_model& trained, const std::string& path) {
    if (const auto bad = trained.model.not_finite(); !bad.empty())
        return error{errc::invalid_argument, path + ": expected finite parameters, '" + bad + "' has a NaN or an infinity"};
    if (static_cast<std::size_t>(trained.model.config.columns) != trained.schema.columns) // the probe needs them to be equal
        return error{errc::invalid_argument, path + ": expected a model with the " + std::to_string(trained.schema.columns) +
                                                 " columns of its schema, got " + std::to_string(trained.model.config.columns)};
    const std::string bytes = to_safetensors(trained);
    if (const auto back = from_safetensors(bytes); !back || !same_schema(back->schema, "", trained.schema, ""))
        return error{errc::invalid_argument, path + ": expected a model that can be loaded again" +
                                                 (back ? ", a kind or a word of the schema is not UTF-8" : ": " + back.error().detail)};
    return replace_file(path, bytes);
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
