// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_JSON_WRITER_HPP
#define AUGUR_CORE_JSON_WRITER_HPP

/// @file
/// JSON writer that appends to a string, in the format of TVM's auto_scheduler logs (dmlc::JSONWriter), byte for byte.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include <augur/core/detail/json_string.hpp>
#include <augur/core/json.hpp>
#include <augur/core/number.hpp>

namespace augur::inline v0 {

/// Appends `text` as a JSON string. A byte that is not valid UTF-8 becomes U+FFFD, so the output is always valid JSON.
/// Escapes the same characters as dmlc's writer, in the same form, and the other control characters as \u00XX.
inline void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    const char* const end = text.data() + text.size();
    const char* from = text.data();
    const char* p = from;
    while (p != end) {
        const auto c = static_cast<unsigned char>(*p);
        const auto kind = detail::string_bytes[c];
        if (kind == detail::string_byte::plain) {
            ++p;
            continue;
        }
        const std::size_t n = detail::utf8_length(p, end);
        if (kind == detail::string_byte::multibyte && n > 0) {
            p += n;
            continue;
        }
        out.append(from, p);
        constexpr char hex[] = "0123456789abcdef";
        if (kind == detail::string_byte::multibyte) out += "\xEF\xBF\xBD";
        else if (c == '"' || c == '\\') (out += '\\') += *p;
        else if (c == '\n') out += "\\n";
        else if (c == '\r') out += "\\r";
        else if (c == '\t') out += "\\t";
        else (out += c < 0x10 ? "\\u000" : "\\u001") += hex[c & 15U];
        from = ++p;
    }
    out.append(from, p);
    out += '"';
}

/// Appends JSON to a string, with the separators of dmlc's one-line writer (`, ` and `: `), as in TVM's logs.
/// pre: the calls form a valid JSON text, with a key before every value of an object
class json_writer {
public:
    explicit json_writer(std::string& out) noexcept : out_(&out) {}

    json_writer& begin_array() { return begin('['); }
    json_writer& end_array() { return end(']'); }
    json_writer& begin_object() { return begin('{'); }
    json_writer& end_object() { return end('}'); }
    json_writer& key(std::string_view name) {
        separate();
        append_json_string(*out_, name);
        *out_ += ": ";
        comma_ = false;
        return *this;
    }
    json_writer& value(std::string_view text) {
        separate();
        append_json_string(*out_, text);
        return *this;
    }
    json_writer& value(const char* text) { return value(std::string_view(text)); }
    template <std::integral I>
    json_writer& value(I number) {
        separate();
        if constexpr (std::same_as<I, bool>) *out_ += number ? "true" : "false";
        else append_number(*out_, number);
        return *this;
    }
    /// Writes the shortest text that parses to the same double. Infinity and NaN become null, because JSON has neither.
    json_writer& value(double number) {
        if (!std::isfinite(number)) return raw("null");
        separate();
        append_number(*out_, number);
        return *this;
    }
    /// Writes six significant digits, as TVM writes costs.
    json_writer& value_6(double number) {
        if (!std::isfinite(number)) return raw("null");
        separate();
        append_number_6(*out_, number);
        return *this;
    }
    json_writer& null() { return raw("null"); }
    /// Writes a text that is already JSON.
    json_writer& raw(std::string_view json) {
        separate();
        out_->append(json);
        return *this;
    }

private:
    void separate() {
        if (comma_) *out_ += ", ";
        comma_ = true;
    }
    json_writer& begin(char bracket) {
        separate();
        *out_ += bracket;
        comma_ = false;
        return *this;
    }
    json_writer& end(char bracket) {
        *out_ += bracket;
        comma_ = true;
        return *this;
    }

    std::string* out_;
    bool comma_ = false;
};

} // namespace augur::inline v0

#endif
