// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_SAFETENSORS_HPP
#define AUGUR_NN_SAFETENSORS_HPP

/// @file
/// Reader and writer of safetensors weights files.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/nn/safetensors_header.hpp>

namespace augur::inline v0 {
namespace nn {

/// Reads the values of a tensor of type F32 and of shape `shape`.
/// Errors: not_found, version_mismatch (another type), shape_mismatch, parse (a value that is not finite).
inline result<void> read_tensor(std::string_view file, const safetensors_header& header, std::string_view name, std::span<const std::uint64_t> shape,
                                std::span<float> to) {
    const auto wrong = [&](errc code, std::string what) { return error{code, "safetensors: tensor '" + std::string(name) + "' " + std::move(what)}; };
    const auto spell = [](std::span<const std::uint64_t> s) {
        std::string text = "[";
        for (const auto n : s) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
        return text + "]";
    };
    const tensor_entry* const t = header.find(name);
    if (t == nullptr) return wrong(errc::not_found, "is not in the file");
    if (t->type != "F32") return wrong(errc::version_mismatch, "has type " + std::string(t->type) + ", expected F32");
    if (!std::equal(shape.begin(), shape.end(), t->shape.begin(), t->shape.end()) || to.size() * 4 != t->end - t->begin)
        return wrong(errc::shape_mismatch, "has shape " + spell(t->shape) + ", expected " + spell(shape));
    const char* from = file.data() + header.data + t->begin;
    for (std::size_t i = 0; i < to.size(); ++i) {
        std::uint32_t bits = 0;
        for (std::size_t b = 4; b-- > 0;) bits = (bits << 8U) | static_cast<unsigned char>(from[4 * i + b]);
        to[i] = std::bit_cast<float>(bits);
        if (!std::isfinite(to[i])) return wrong(errc::parse, "has a number that is not finite at element " + std::to_string(i));
    }
    return {};
}

/// Builds a safetensors file in memory.
class safetensors_writer {
public:
    void metadata(std::string_view key, std::string_view value) { metadata_.emplace_back(key, value); }

    /// Adds a tensor of type F32.   pre: the product of the shape is the number of values; names are unique
    void tensor(std::string_view name, std::span<const std::uint64_t> shape, std::span<const float> values) {
        tensors_.push_back({std::string(name), "F32", {shape.begin(), shape.end()}, data_.size(), data_.size() + 4 * values.size()});
        const auto begin = data_.size();
        data_.resize(begin + 4 * values.size());
        char* to = data_.data() + begin;
        for (const float v : values) to = put(std::bit_cast<std::uint32_t>(v), 4, to);
    }

    /// Returns the bytes of the file. The header is padded with spaces, so that the data begin at a multiple of 8.
    [[nodiscard]] std::string file() const {
        std::string header;
        json_writer out(header);
        out.begin_object();
        if (!metadata_.empty()) {
            out.key("__metadata__").begin_object();
            for (const auto& [k, v] : metadata_) out.key(k).value(v);
            out.end_object();
        }
        for (const auto& t : tensors_) {
            out.key(t.name).begin_object().key("dtype").value(t.type).key("shape").begin_array();
            for (const auto n : t.shape) out.value(n);
            out.end_array().key("data_offsets").begin_array().value(t.begin).value(t.end).end_array().end_object();
        }
        out.end_object();
        header.append((8 - header.size() % 8) % 8, ' ');
        std::string whole;
        whole.reserve(8 + header.size() + data_.size());
        whole.resize(8);
        put(header.size(), 8, whole.data());
        whole += header;
        whole += data_;
        return whole;
    }

private:
    /// Little-endian; returns the end of what it wrote.
    static char* put(std::uint64_t n, int bytes, char* to) {
        for (int i = 0; i < bytes; ++i) *to++ = static_cast<char>((n >> static_cast<unsigned>(8 * i)) & 0xFFU);
        return to;
    }

    std::vector<std::pair<std::string, std::string>> metadata_;
    std::vector<tensor_entry> tensors_;
    std::string data_;
};

/// Loads the bytes of a weights file. Validates the header against the size of the file before it allocates memory for the data.
/// Errors: io (not a regular file, ...), limit, those of `parse_safetensors`; every message begins with the path.
inline result<std::string> load_bytes(const std::string& path, const safetensors_limits& limits = {}) {
    auto file = whole_file::open(path);
    if (!file) return file.error();
    const auto wrong = [&](const error& cause) { return error{cause.code, path + ": " + cause.detail}; };
    if (file->size() > limits.file) return wrong({errc::limit, "larger than the limit of " + std::to_string(limits.file) + " bytes"});
    std::string bytes;
    if (auto done = file->read(bytes, 8); !done) return done.error();
    const auto length = detail::safetensors_length(bytes, file->size(), limits);
    if (!length) return wrong(length.error());
    if (auto done = file->read(bytes, *length); !done) return done.error();
    const auto header = detail::read_safetensors_header(std::string_view(bytes).substr(8), file->size(), limits);
    if (!header) return wrong(header.error());
    bytes.reserve(static_cast<std::size_t>(file->size()));
    if (auto done = file->read(bytes, static_cast<std::size_t>(file->size()) - bytes.size()); !done) return done.error();
    return bytes; // shorter if the file was truncated meanwhile; parsing the bytes detects that
}

} // namespace nn
} // namespace augur::inline v0

#endif
