// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_JSON_HPP
#define AUGUR_CORE_JSON_HPP

/// @file
/// Strict JSON pull parser (RFC 8259): the caller asks for the value that it expects next. For output see core/json_writer.hpp.
///
/// ```cpp
/// json_reader in(text);
/// std::vector<std::int64_t> list;
/// in.begin_array();
/// while (in.next_element()) in.read(list.emplace_back());
/// if (!in.finish()) return in.error(); // "1:7: expected an integer, got '"'"
/// ```
///
/// The first error is kept: every later call returns false and changes nothing, so one check at the end is enough. A call that does not fit the
/// current position, e.g. next_element after the end of an array, is such an error and not a broken precondition, because a text can cause it.

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <augur/core/config.hpp>
#include <augur/core/detail/json_string.hpp>
#include <augur/core/error.hpp>
#include <augur/core/number.hpp>

namespace augur::inline v0 {

/// Limits of a reader; a text that exceeds one is an error of code `limit`.
struct json_limits {
    std::size_t document = std::size_t{16} << 20U; ///< bytes of the text
    std::size_t string = std::size_t{1} << 20U;    ///< bytes of one string, after decoding its escapes
    int depth = 64;                                ///< nesting of arrays and objects; at most 1024
};

/// A position in a text: line and column, both counted from 1. Columns count bytes.
struct json_position {
    std::size_t line = 0;
    std::size_t column = 0;
};

/// The kind of the next value.
enum class json_kind : std::uint8_t { none, null, boolean, number, string, array, object };

/// A number: an integer if it is written as one and fits into 64 bits, and always a double.
struct json_number {
    bool is_integer = false;
    std::int64_t integer = 0; ///< valid if is_integer
    double real = 0;          ///< always valid
};

/// Reads one JSON text. A returned view is valid as long as the text; a view of a string with escapes is valid until the next string is read.
///
/// Cost       linear in the text; allocates for strings with escapes and for the message of an error
/// Threads    one thread per reader
class json_reader {
public:
    /// pre: the text outlives the reader.   `first_line` is the line number that errors report for the first line of the text.
    explicit json_reader(std::string_view text, json_limits limits = {}, std::size_t first_line = 1)
        : begin_(text.data()), end_(text.data() + text.size()), at_(begin_), value_(begin_), limits_(limits), first_line_(first_line) {
        if (limits_.depth > max_depth) limits_.depth = max_depth;
        if (text.size() > limits_.document) limit("text", limits_.document);
    }
    json_reader(const json_reader&) = delete;
    json_reader& operator=(const json_reader&) = delete;

    /// The kind of the next value; `none` at the end, before text that begins no value, and after an error.
    [[nodiscard]] json_kind peek() noexcept {
        space();
        if (failed_ || at_ == end_) return json_kind::none;
        switch (*at_) {
        case '{': return json_kind::object;
        case '[': return json_kind::array;
        case '"': return json_kind::string;
        case 't':
        case 'f': return json_kind::boolean;
        case 'n': return json_kind::null;
        case '-': return json_kind::number;
        default: return detail::is_digit(*at_) ? json_kind::number : json_kind::none;
        }
    }

    bool begin_array() { return open('[', "an array", false); }
    bool begin_object() { return open('{', "an object", true); }

    /// Steps to the next element of the innermost array; the caller must then read the element. False after the last element, and after an error.
    /// Error `parse`: the innermost container is no array, e.g. because the array has already ended.
    bool next_element() {
        if (failed_) return false;
        if (depth_ == 0 || inside_object()) return expected("an array that goes on");
        if (owed_) return expected("a value");
        return advance(']', "',' or ']'");
    }

    /// Steps to the next member of the innermost object; the caller must then read the value of the member. `key` is valid until the next key.
    /// Error `parse`: the innermost container is no object.
    bool next_member(std::string_view& key) {
        if (failed_) return false;
        if (depth_ == 0 || !inside_object()) return expected("an object that goes on");
        if (owed_) return expected("a value");
        if (!advance('}', "',' or '}'")) return false;
        space();
        if (at_ == end_ || *at_ != '"') return expected("a key in quotes");
        if (!string(key, key_scratch_)) return false;
        space();
        if (at_ == end_ || *at_ != ':') return expected("':'");
        ++at_;
        return true;
    }

    bool read(std::string_view& out) { return begin_value() && (*at_ == '"' ? string(out, scratch_) : expected("a string")); }
    bool read(std::string& out) {
        std::string_view view;
        if (!read(view)) return false;
        out.assign(view);
        return true;
    }
    /// Reads a 64-bit integer without fraction or exponent.
    bool read(std::int64_t& out) {
        if (!begin_value()) return false;
        const char* p = at_;
        const bool negative = *p == '-';
        if (negative) ++p;
        if (p == end_ || !detail::is_digit(*p)) return expected("an integer");
        std::uint64_t magnitude = 0;
        const char* const first = p;
        for (; p != end_ && detail::is_digit(*p) && p - first < 19; ++p) magnitude = magnitude * 10 + static_cast<std::uint64_t>(*p - '0');
        if (*first == '0' && p - first > 1) return fail_at(first, errc::parse, "a number must not begin with 0");
        if (p != end_ && (*p == '.' || *p == 'e' || *p == 'E'))
            return fail_at(value_, errc::parse, "expected an integer, got a fraction or an exponent");
        const auto max_magnitude = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
        if ((p != end_ && detail::is_digit(*p)) || magnitude > max_magnitude + (negative ? 1U : 0U))
            return fail_at(value_, errc::limit, "expected an integer of 64 bits, got a larger one");
        out = negative ? static_cast<std::int64_t>(~magnitude + 1U) : static_cast<std::int64_t>(magnitude);
        at_ = p;
        return true;
    }
    bool read(double& out) {
        json_number number;
        if (!read(number)) return false;
        out = number.real;
        return true;
    }
    /// Reads any number. A number beyond the range of a double is an error; an integer beyond 64 bits is returned as a double.
    bool read(json_number& out) {
        if (!begin_value()) return false;
        const char* p = at_;
        const bool negative = *p == '-';
        if (negative) ++p;
        if (p == end_ || !detail::is_digit(*p)) return expected("a number");
        const char* const first = p;
        std::uint64_t mantissa = 0; // may overflow: more than 19 digits take the slow path below
        std::int64_t scale = 0;
        std::size_t digits = 0;
        const auto run = [&] {
            const char* const from = p;
            for (; p != end_ && detail::is_digit(*p); ++p) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
            digits += static_cast<std::size_t>(p - from);
            return p - from;
        };
        if (run() > 1 && *first == '0') return fail_at(first, errc::parse, "a number must not begin with 0");
        bool integer = true;
        if (p != end_ && *p == '.') {
            integer = false;
            ++p;
            const auto fraction = run();
            if (fraction == 0) return fail_at(p, errc::parse, "expected a digit after the decimal point");
            scale = -static_cast<std::int64_t>(fraction);
        }
        if (p != end_ && (*p == 'e' || *p == 'E')) {
            integer = false;
            ++p;
            const bool negative_exponent = p != end_ && *p == '-';
            if (p != end_ && (*p == '-' || *p == '+')) ++p;
            if (p == end_ || !detail::is_digit(*p)) return fail_at(p, errc::parse, "expected a digit in the exponent");
            std::int64_t e = 0;
            for (; p != end_ && detail::is_digit(*p); ++p)
                if (e < 100'000) e = e * 10 + (*p - '0');
            scale += negative_exponent ? -e : e;
        }
        const std::string_view text(value_, static_cast<std::size_t>(p - value_));
        out.is_integer = false;
        if (integer) {
            if (const auto exact = parse_int(text)) {
                out.is_integer = true;
                out.integer = *exact;
            }
        }
        if (digits <= 19 && detail::exact_decimal(mantissa, scale, out.real)) {
            if (negative) out.real = -out.real;
        } else {
            const auto real = parse_double(text);
            if (!real || !(*real <= (std::numeric_limits<double>::max)() && *real >= std::numeric_limits<double>::lowest()))
                return fail_at(value_, errc::limit, "a number beyond the range of a double");
            out.real = *real;
        }
        at_ = p;
        return true;
    }
    bool read(bool& out) {
        if (!begin_value()) return false;
        if (literal("true")) return out = true, true;
        if (literal("false")) return out = false, true;
        return expected("true or false");
    }
    bool read_null() { return begin_value() && (literal("null") || expected("null")); }

    /// Skips one value of any kind. The value is checked as strictly as a value that is read.
    bool skip() {
        const int outer_depth = depth_;
        for (;;) {
            std::string_view text;
            json_number number;
            bool flag = false;
            switch (peek()) {
            case json_kind::object: begin_object(); break;
            case json_kind::array: begin_array(); break;
            case json_kind::string: read(text); break;
            case json_kind::number: read(number); break;
            case json_kind::boolean: read(flag); break;
            case json_kind::null: read_null(); break;
            case json_kind::none: begin_value() && expected("a value"); break;
            }
            for (;;) { // after a value: step to the next value and leave every container that ends here
                if (failed_) return false;
                if (depth_ == outer_depth) return true;
                if (inside_object() ? next_member(text) : next_element()) break;
            }
        }
    }

    /// Skips one value and returns its text, without the surrounding white space.
    bool raw(std::string_view& out) {
        if (!begin_value()) return false;
        const std::size_t from = offset();
        if (!skip()) return false;
        out = since(from);
        return true;
    }
    /// The number of bytes read so far.
    [[nodiscard]] std::size_t offset() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
    /// The text from byte `from` to the current position; empty if `from` lies after the current position, which an error can cause.
    [[nodiscard]] std::string_view since(std::size_t from) const noexcept {
        return from <= offset() ? std::string_view(begin_ + from, offset() - from) : std::string_view();
    }

    /// True if no error occurred and only white space is left.
    bool finish() {
        if (failed_) return false;
        space();
        if (at_ != end_ || depth_ > 0) return expected(depth_ > 0 ? "the container to be read to its end" : "the end");
        return true;
    }

    /// Reports an error of the caller at the value that was read or begun last. Returns false.
    bool fail(errc code, std::string reason) { return fail_at(value_, code, std::move(reason)); }

    [[nodiscard]] bool ok() const noexcept { return !failed_; }
    /// pre: !ok(). The message without its position.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    [[nodiscard]] errc code() const noexcept { return code_; }
    /// pre: !ok(). The message begins with line:column.
    [[nodiscard]] augur::error error() const {
        AUGUR_ASSERT(failed_, "json_reader: no error");
        const auto at = position();
        return {code_, std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + reason_};
    }
    /// The position of the error, or the current position if there is no error.
    [[nodiscard]] json_position position() const noexcept {
        json_position at{first_line_, 1};
        for (const char* p = begin_; p != at_; ++p) {
            ++at.column;
            if (*p == '\n') at = {at.line + 1, 1};
        }
        return at;
    }

private:
    static constexpr int max_depth = 1024;

    void space() noexcept {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    }
    bool begin_value() {
        if (failed_) return false;
        space();
        value_ = at_;
        owed_ = false;
        return at_ != end_ || expected("a value");
    }
    [[nodiscard]] bool inside_object() const noexcept { // pre: depth_ > 0
        const auto level = static_cast<unsigned>(depth_ - 1);
        return ((objects_[level / 64] >> (level % 64)) & 1U) != 0;
    }
    bool open(char bracket, const char* wanted, bool object) {
        if (!begin_value()) return false;
        if (*at_ != bracket) return expected(wanted);
        if (depth_ >= limits_.depth) return limit("nesting", static_cast<std::size_t>(limits_.depth));
        const auto level = static_cast<unsigned>(depth_++);
        const std::uint64_t bit = std::uint64_t{1} << (level % 64);
        objects_[level / 64] = object ? objects_[level / 64] | bit : objects_[level / 64] & ~bit;
        fresh_ = true;
        ++at_;
        return true;
    }
    bool advance(char bracket, const char* wanted) {
        space();
        if (at_ != end_ && *at_ == bracket) {
            ++at_;
            --depth_;
            fresh_ = false;
            return false;
        }
        if (fresh_) return fresh_ = false, owed_ = true;
        if (at_ == end_ || *at_ != ',') return expected(wanted);
        ++at_;
        return owed_ = true;
    }
    bool literal(std::string_view word) noexcept {
        if (static_cast<std::size_t>(end_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0) return false;
        at_ += word.size();
        return true;
    }
    /// Reads the string whose opening quote is at at_.
    bool string(std::string_view& out, std::string& scratch) {
        const char* const start = ++at_;
        const char* p = start;
        const char* from = start; // begin of the characters that are not yet copied to scratch
        scratch.clear();
        for (;;) {
            while (end_ - p >= 8 && detail::eight_plain(p)) p += 8;
            while (p != end_ && detail::string_bytes[static_cast<unsigned char>(*p)] == detail::string_byte::plain) ++p;
            if (p == end_) return fail_at(p, errc::parse, "a string without a closing quote");
            switch (detail::string_bytes[static_cast<unsigned char>(*p)]) {
            case detail::string_byte::plain: break;
            case detail::string_byte::quote: {
                const std::string_view last(from, static_cast<std::size_t>(p - from));
                if (scratch.size() + last.size() > limits_.string) return limit("string", limits_.string);
                at_ = p + 1;
                if (from == start) return out = last, true;
                scratch.append(last);
                out = scratch;
                return true;
            }
            case detail::string_byte::control: return fail_at(p, errc::parse, "a control character inside a string must be escaped");
            case detail::string_byte::multibyte: {
                const std::size_t n = detail::utf8_length(p, end_);
                if (n == 0) return fail_at(p, errc::parse, "a string that is not UTF-8");
                p += n;
                break;
            }
            case detail::string_byte::escape:
                scratch.append(from, p);
                if (scratch.size() > limits_.string) return limit("string", limits_.string);
                if (!escape(p, scratch)) return false;
                from = p;
                break;
            }
        }
    }
    bool escape(const char*& p, std::string& scratch) {
        const char* const backslash = p++;
        switch (p == end_ ? '\0' : *p++) {
        case '"': scratch += '"'; return true;
        case '\\': scratch += '\\'; return true;
        case '/': scratch += '/'; return true;
        case 'b': scratch += '\b'; return true;
        case 'f': scratch += '\f'; return true;
        case 'n': scratch += '\n'; return true;
        case 'r': scratch += '\r'; return true;
        case 't': scratch += '\t'; return true;
        case 'u': break;
        default: return fail_at(backslash, errc::parse, "an unknown escape inside a string");
        }
        std::uint32_t code = 0;
        if (!hex4(p, code)) return fail_at(backslash, errc::parse, "\\u must be followed by four hexadecimal digits");
        if (code >= 0xD800 && code < 0xE000) {
            std::uint32_t low = 0;
            if (code >= 0xDC00 || end_ - p < 2 || p[0] != '\\' || p[1] != 'u' || !hex4(p += 2, low) || low < 0xDC00 || low >= 0xE000)
                return fail_at(backslash, errc::parse, "an unpaired surrogate inside a string");
            code = 0x10000U + ((code - 0xD800U) << 10U) + (low - 0xDC00U);
        }
        detail::append_utf8(scratch, code);
        return true;
    }
    bool hex4(const char*& p, std::uint32_t& code) const noexcept {
        if (end_ - p < 4) return false;
        const auto [at, failure] = std::from_chars(p, p + 4, code, 16);
        if (failure != std::errc{} || at != p + 4) return false;
        p = at;
        return true;
    }

    bool expected(const char* wanted) {
        std::string got = "the end";
        if (at_ != end_) {
            const auto c = static_cast<unsigned char>(*at_);
            constexpr char hex[] = "0123456789ABCDEF";
            got = c >= 0x20 && c < 0x7F ? std::string{'\'', *at_, '\''} : std::string("byte 0x") + hex[c >> 4U] + hex[c & 15U];
        }
        return fail_at(at_, errc::parse, std::string("expected ") + wanted + ", got " + got);
    }
    bool limit(const char* item, std::size_t bound) {
        return fail_at(at_, errc::limit, std::string(item) + " beyond the limit of " + std::to_string(bound));
    }
    bool fail_at(const char* place, errc code, std::string reason) {
        if (failed_) return false;
        failed_ = true;
        at_ = place;
        code_ = code;
        reason_ = std::move(reason);
        return false;
    }

    const char* begin_;
    const char* end_;
    const char* at_;
    const char* value_; ///< begin of the value that was read last
    json_limits limits_;
    std::size_t first_line_;
    std::array<std::uint64_t, max_depth / 64> objects_{}; ///< one bit per nesting level: 1 for an object, 0 for an array
    int depth_ = 0;
    bool fresh_ = false; ///< the innermost container has just been opened
    bool owed_ = false;  ///< the reader stepped to an element or member whose value is not read yet
    bool failed_ = false;
    errc code_{};
    std::string reason_;
    std::string scratch_;
    std::string key_scratch_;
};

} // namespace augur::inline v0

#endif
