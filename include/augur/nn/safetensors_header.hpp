// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_SAFETENSORS_HEADER_HPP
#define AUGUR_NN_SAFETENSORS_HEADER_HPP

/// @file
/// The header of a safetensors weights file, which is validated as a whole.
///
///     u64 little-endian header length | JSON header | data
///
/// The header maps names to {"dtype", "shape", "data_offsets": [begin, end]} and "__metadata__" to a map of strings. The tensors cover the data
/// without overlaps and gaps.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>

namespace augur::inline v0 {
namespace nn {

/// Limits of the reader; a file beyond a limit is an error.
struct safetensors_limits {
    std::size_t file = std::size_t{1} << 34U; ///< bytes
    std::size_t header = 100'000'000;         ///< bytes
    std::size_t tensors = 1'000'000;          ///< and entries of the metadata
    std::size_t rank = 32;                    ///< dimensions of a tensor
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
    /// The value of a key; empty if there is none.
    [[nodiscard]] std::string_view metadata_text(std::string_view key) const {
        const std::string* const text = find_metadata(key);
        return text != nullptr ? std::string_view(*text) : std::string_view();
    }
    /// Is the file of version 1 of a format of this library?   Errors: version_mismatch
    [[nodiscard]] result<void> check_format(std::string_view format) const {
        const auto came = [&](const char* key) { return ", got '" + std::string(metadata_text(key).substr(0, 40)) + "'"; };
        if (metadata_text("format") != format)
            return error{errc::version_mismatch, "expected metadata format '" + std::string(format) + "'" + came("format")};
        if (metadata_text("version") != "1") return error{errc::version_mismatch, "expected version 1" + came("version")};
        return {};
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
                if (header.metadata.size() == limits.tensors) {
                    in.fail(errc::limit, "more metadata than the limit of " + std::to_string(limits.tensors) + " entries");
                    break;
                }
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

} // namespace nn
} // namespace augur::inline v0

#endif
