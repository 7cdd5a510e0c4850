// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_PROTOBUF_HPP
#define AUGUR_EXAMPLES_TOOLS_PROTOBUF_HPP

/// @file
/// Writes messages of Protocol Buffers (protobuf.dev/programming-guides/encoding).

#include <cstdint>
#include <string>
#include <string_view>

namespace examples {

/// A message, field by field. A field that is added again is repeated.
class protobuf_message {
public:
    void add_integer(unsigned field, std::int64_t value) {
        varint(field << 3U);
        varint(static_cast<std::uint64_t>(value));
    }
    /// Text, bytes, or a message.
    void add_bytes(unsigned field, std::string_view bytes) {
        varint(field << 3U | 2U);
        varint(bytes.size());
        bytes_ += bytes;
    }
    void add_message(unsigned field, const protobuf_message& m) { add_bytes(field, m.bytes_); }

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;

    void varint(std::uint64_t n) {
        for (; n > 127; n >>= 7U) bytes_ += static_cast<char>(n | 128U);
        bytes_ += static_cast<char>(n);
    }
};

} // namespace examples

#endif
