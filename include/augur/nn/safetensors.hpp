// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_SAFETENSORS_HPP
#define AUGUR_NN_SAFETENSORS_HPP

/// @file
/// Reader and writer of safetensors weights files; the reader validates the whole header.
///
///     u64 little-endian header length | JSON header | data
///
/// The header maps names to {"dtype", "shape", "data_offsets": [begin, end]} and "__metadata__" to a map of strings. The tensors cover the data
/// without overlaps and gaps.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/whole_file.hpp>

namespace augur::inline v0 {
namespace nn {

/// Limits of the reader; a file beyond a limit is an error.
struct safetensors_limits {
    std::size_t file = std::size_t{1} << 34U; ///< bytes
    std::size_t header = 100'000'000;         ///< bytes
    std::size_t tensors = 1'000'000;
    std::size_t rank = 32; ///< dimensions of a tensor
};

/// Header entry of a tensor: type, shape and byte range in the data.
struct tensor_entry {
    std::string name;
    std::string_view type; ///< "F32" and so on
    std::vector<std::uint64_t> shape;
    std::size_t begin = 0, end = 0;
};

/// The header of a file.
struct safetensors_header {
    std::vector<std::pair<std::string, std::string>> metadata; ///< sorted by key
    std::vector<tensor_entry> tensors;                         ///< sorted by name
    std::size_t data = 0;                                      ///< offset of the data in the file

    [[nodiscard]] const tensor_entry* find(std::string_view name) const {
        const auto at = std::lower_bound(tensors.begin(), tensors.end(), name, [](const tensor_entry& t, std::string_view n) { return t.name < n; });
        return at != tensors.end() && at->name == name ? &*at : nullptr;
    }
    [[nodiscard]] const std::string* find_metadata(std::string_view key) const {
        const auto at = std::lower_bound(metadata.begin(), metadata.end(), key, [](const auto& m, std::string_view k) { return m.first < k; });
        return at != metadata.end() && at->first == key ? &at->second : nullptr;
    }
};

namespace detail {

struct tensor_type {
    std::string_view name;
    std::size_t bytes;
};
inline constexpr std::array<tensor_type, 13> tensor_types = {{{"F64", 8},
                                                              {"F32", 4},
                                                              {"F16", 2},
                                                              {"BF16", 2},
                                                              {"I64", 8},
                                                              {"I32", 4},
                                                              {"I16", 2},
                                                              {"I8", 1},
                                                              {"U64", 8},
                                                              {"U32", 4},
                                                              {"U16", 2},
                                                              {"U8", 1},
                                                              {"BOOL", 1}}};

/// Reads {"dtype", "shape", "data_offsets"}. Returns false on an error, which is stored in `in`.
inline bool read_tensor(json_reader& in, tensor_entry& to, const safetensors_limits& limits) {
    bool has_type = false, has_shape = false, has_offsets = false;
    std::size_t width = 0;
    std::string_view key;
    const auto once = [&](bool& flag) { return std::exchange(flag, true) ? in.fail(errc::parse, "a key of a tensor occurs twice") : true; };
    if (!in.begin_object()) return false;
    while (in.next_member(key)) {
        if (key == "dtype") {
            std::string_view text;
            if (!once(has_type) || !in.read(text)) return false;
            const auto at = std::find_if(tensor_types.begin(), tensor_types.end(), [&](const tensor_type& t) { return t.name == text; });
            if (at == tensor_types.end()) return in.fail(errc::parse, "unknown dtype '" + std::string(text.substr(0, 40)) + "'");
            to.type = at->name;
            width = at->bytes;
        } else if (key == "shape") {
            if (!once(has_shape) || !in.begin_array()) return false;
            while (in.next_element()) {
                std::int64_t n = 0;
                if (!in.read(n)) return false;
                if (n < 0) return in.fail(errc::parse, "expected a dimension of at least 0, got " + std::to_string(n));
                if (to.shape.size() == limits.rank) return in.fail(errc::limit, "more dimensions than the limit of " + std::to_string(limits.rank));
                to.shape.push_back(static_cast<std::uint64_t>(n));
            }
        } else if (key == "data_offsets") {
            std::array<std::int64_t, 2> at{};
            if (!once(has_offsets) || !in.begin_array()) return false;
            for (auto& n : at)
                if ((!in.next_element() && !in.fail(errc::parse, "expected two offsets")) || !in.read(n)) return false;
            if (in.next_element()) return in.fail(errc::parse, "expected two offsets, got more");
            if (at[0] < 0 || at[1] < at[0])
                return in.fail(errc::parse, "expected 0 <= begin <= end, got " + std::to_string(at[0]) + " and " + std::to_string(at[1]));
            to.begin = static_cast<std::size_t>(at[0]);
            to.end = static_cast<std::size_t>(at[1]);
        } else {
            return in.fail(errc::parse, "unknown key '" + std::string(key.substr(0, 40)) + "' of a tensor");
        }
    }
    if (!in.ok()) return false;
    if (!has_type || !has_shape || !has_offsets) return in.fail(errc::parse, "a tensor needs dtype, shape and data_offsets");
    std::uint64_t bytes = width;
    bool empty = false;
    for (const std::uint64_t n : to.shape) empty |= n == 0;
    for (const std::uint64_t n : to.shape) {
        if (empty) break;
        if (bytes > std::numeric_limits<std::uint64_t>::max() / n) return in.fail(errc::shape_mismatch, "the shape is larger than 2^64 bytes");
        bytes *= n;
    }
    if (empty) bytes = 0;
    if (bytes != to.end - to.begin)
        return in.fail(errc::shape_mismatch,
                       "the shape needs " + std::to_string(bytes) + " bytes, the offsets give " + std::to_string(to.end - to.begin));
    return true;
}

/// Reads the header length from the first 8 bytes of a file of `size` bytes. Errors: parse, limit.
inline result<std::size_t> safetensors_length(std::string_view front, std::uint64_t size, const safetensors_limits& limits) {
    const auto wrong = [](errc code, std::string what) { return error{code, "safetensors: " + std::move(what)}; };
    if (size < 8 || front.size() < 8)
        return wrong(errc::parse, "expected at least 8 bytes, got " + std::to_string((std::min)(size, std::uint64_t{front.size()})));
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) length = (length << 8U) | static_cast<unsigned char>(front[i]);
    if (length > limits.header)
        return wrong(errc::limit, "a header of " + std::to_string(length) + " bytes, the limit is " + std::to_string(limits.header));
    if (length > size - 8) return wrong(errc::parse, "a header of " + std::to_string(length) + " bytes in a file of " + std::to_string(size));
    return static_cast<std::size_t>(length);
}

/// Reads a header and validates it against the size of its file; does not read the data. Errors: those of `parse_safetensors`.
inline result<safetensors_header> read_safetensors_header(std::string_view text, std::uint64_t size, const safetensors_limits& limits) {
    const auto wrong = [](errc code, std::string what) { return error{code, "safetensors: " + std::move(what)}; };
    if (text.empty() || text.front() != '{') return wrong(errc::parse, "the header must begin with '{'");

    safetensors_header header;
    header.data = 8 + text.size();
    json_reader in(text, {limits.header, limits.header, 8});
    std::string_view key;
    bool has_metadata = false;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "__metadata__") {
            if (std::exchange(has_metadata, true)) {
                in.fail(errc::parse, "a second __metadata__");
                break;
            }
            in.begin_object();
            while (in.next_member(key)) {
                auto& entry = header.metadata.emplace_back(std::string(key), std::string());
                if (!in.read(entry.second)) break;
            }
            continue;
        }
        if (header.tensors.size() == limits.tensors) {
            in.fail(errc::limit, "more tensors than the limit of " + std::to_string(limits.tensors));
            break;
        }
        auto& tensor = header.tensors.emplace_back();
        tensor.name = key;
        if (!detail::read_tensor(in, tensor, limits)) break;
    }
    if (!in.finish()) return wrong(in.error().code, "header " + in.error().detail);

    std::sort(header.metadata.begin(), header.metadata.end());
    for (std::size_t i = 1; i < header.metadata.size(); ++i)
        if (header.metadata[i].first == header.metadata[i - 1].first)
            return wrong(errc::parse, "metadata key '" + header.metadata[i].first + "' twice");
    // the tensors must cover the data to the end, without overlaps and gaps
    std::sort(header.tensors.begin(), header.tensors.end(),
              [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::size_t at = 0;
    for (const auto& t : header.tensors) {
        if (t.begin != at)
            return wrong(errc::shape_mismatch, "tensor '" + t.name + "' begins at " + std::to_string(t.begin) + ", expected " + std::to_string(at));
        at = t.end;
    }
    if (at != size - header.data)
        return wrong(errc::shape_mismatch, "the tensors need " + std::to_string(at) + " bytes, the file has " + std::to_string(size - header.data));
    std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < header.tensors.size(); ++i)
        if (header.tensors[i].name == header.tensors[i - 1].name) return wrong(errc::parse, "tensor '" + header.tensors[i].name + "' twice");
    return header;
}

} // namespace detail

/// Reads and validates the header of a file in memory.
///
/// Errors: parse (length, JSON, missing, unknown or repeated keys, dtype), shape_mismatch (shape and offsets disagree, overlap, gap, missing or
/// additional data), limit. Cost: O(n log n) in the number of header entries.
inline result<safetensors_header> parse_safetensors(std::string_view file, const safetensors_limits& limits = {}) {
    const auto length = detail::safetensors_length(file, file.size(), limits);
    if (!length) return length.error();
    return detail::read_safetensors_header(file.substr(8, *length), file.size(), limits);
}

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
        for (const float v : values) put(std::bit_cast<std::uint32_t>(v), 4);
    }

    /// Returns the bytes of the file. The header is padded with spaces, so that the data begin at a multiple of 8.
    [[nodiscard]] std::string file() {
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
        std::swap(whole, data_);
        put(header.size(), 8);
        std::swap(whole, data_);
        whole += header;
        whole += data_;
        return whole;
    }

private:
    void put(std::uint64_t n, int bytes) {
        for (int i = 0; i < bytes; ++i) data_.push_back(static_cast<char>((n >> static_cast<unsigned>(8 * i)) & 0xFFU));
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
