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
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/config.hpp>
#include <augur/core/detail/json_number.hpp>
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
        detail::json_fault fault;
        const char* const next = detail::scan_number(at_, end_, out, fault);
        if (next == nullptr) return fault.reason == nullptr ? expected("a number") : fail_at(fault.at, fault.code, fault.reason);
        at_ = next;
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
        detail::json_fault fault;
        ++at_;
        const char* const next = detail::decode_string(at_, end_, limits_.string, out, scratch, fault);
        if (next == nullptr) return fault.reason == nullptr ? limit("string", limits_.string) : fail_at(fault.at, fault.code, fault.reason);
        at_ = next;
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
