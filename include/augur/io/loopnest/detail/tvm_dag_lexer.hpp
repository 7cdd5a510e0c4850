// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_LEXER_HPP
#define AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_LEXER_HPP

/// @file
/// Lexer of the text of a TVM compute DAG (io/loopnest/tvm_dag.hpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>

namespace augur::inline v0::detail {

inline constexpr std::int64_t tvm_max_integer = std::int64_t{1} << 31U; ///< limit on an extent of the key and on an integer of the DAG text
inline constexpr std::size_t tvm_max_axes = 64;                         ///< limit on the axes of one operation: a set of axes is a 64-bit mask

/// Reads the tokens of a DAG text line by line. The first error is kept and begins with line:column; a call that fails returns false.
class tvm_dag_lexer {
public:
    /// A number of an expression.
    struct number {
        bool is_integer = false;
        std::int64_t integer = 0; ///< valid if is_integer
        double real = 0;          ///< valid unless is_integer
    };

    explicit tvm_dag_lexer(std::string_view text) : text_(text) {}

    [[nodiscard]] bool more_lines() const noexcept { return at_ < text_.size(); }
    /// Begins the line at the current position.
    void begin_line() noexcept { line_end_ = (std::min)(text_.find('\n', at_), text_.size()); }
    void next_line() noexcept {
        at_ = line_end_ + 1;
        ++line_;
        line_start_ = at_;
    }
    [[nodiscard]] std::size_t line() const noexcept { return line_; } ///< from 1

    [[nodiscard]] std::size_t position() const noexcept { return at_; }
    [[nodiscard]] std::string_view since(std::size_t begin) const noexcept { return text_.substr(begin, at_ - begin); }
    /// Moves to `token`, if the rest of the line has it.
    bool seek(std::string_view token) noexcept {
        const auto found = text_.substr(0, line_end_).find(token, at_);
        if (found == std::string_view::npos) return false;
        at_ = found;
        return true;
    }
    void skip_space() noexcept {
        while (at_ < line_end_ && text_[at_] == ' ') ++at_;
    }
    [[nodiscard]] bool at_line_end() noexcept { return skip_space(), at_ == line_end_; }
    [[nodiscard]] bool at_number() const noexcept { return is_digit(peek()) || peek() == '-'; }

    bool accept(std::string_view token) noexcept {
        skip_space();
        if (!text_.substr(at_, line_end_ - at_).starts_with(token)) return false;
        at_ += token.size();
        return true;
    }
    bool expect(std::string_view token) { return accept(token) || expected("'" + std::string(token) + "'"); }
    /// Reads a name; empty if there is none.
    std::string_view word() noexcept {
        skip_space();
        const auto begin = at_;
        if (starts_name(peek()))
            while (starts_name(peek()) || is_digit(peek()) || peek() == '.') ++at_;
        return since(begin);
    }
    bool integer(std::int64_t& value, std::string_view item) {
        skip_space();
        const auto begin = at_;
        if (peek() == '-') ++at_;
        while (is_digit(peek())) ++at_;
        const auto digits = since(begin);
        if (digits.empty() || digits == "-") return expected(item);
        const auto n = parse_int(digits);
        if (!n || *n > tvm_max_integer || *n < -tvm_max_integer)
            return fail(errc::limit, "expected an integer of at most 2^31, got " + std::string(digits.substr(0, 40)), begin);
        value = *n;
        return true;
    }
    /// Reads an integer or a float32. pre: at_number()
    bool read(number& out) {
        const auto begin = at_;
        if (peek() == '-') ++at_;
        bool real = false;
        while (is_digit(peek()) || peek() == '.' || peek() == 'e' || ((peek() == '+' || peek() == '-') && text_[at_ - 1] == 'e')) {
            real = real || !is_digit(peek());
            ++at_;
        }
        const auto digits = since(begin);
        if (peek() == 'f') real = true, ++at_;
        if (starts_name(peek()) || is_digit(peek())) return expected("the end of a number");
        out.is_integer = !real;
        if (!real) {
            at_ = begin;
            return integer(out.integer, "an integer");
        }
        const auto v = parse_double(digits);
        if (!v) return fail(errc::parse, "expected a number, got " + std::string(digits.substr(0, 40)), begin);
        if (!(*v <= 3.5e38 && *v >= -3.5e38)) return fail(errc::limit, "expected a float32, got " + std::string(digits.substr(0, 40)), begin);
        out.real = *v;
        return true;
    }

    [[nodiscard]] bool failed() const noexcept { return error_.code != errc{}; }
    /// pre: failed()
    [[nodiscard]] const augur::error& error() const noexcept { return error_; }
    bool fail(errc code, const std::string& message, std::size_t at) {
        if (!failed()) error_ = {code, std::to_string(line_) + ":" + std::to_string(at - line_start_ + 1) + ": " + message};
        return false;
    }
    bool fail(errc code, const std::string& message) { return fail(code, message, at_); }
    bool expected(std::string_view item) {
        skip_space();
        std::string got = "the end of the line";
        if (at_ < line_end_) {
            const char c = text_[at_];
            got = c >= ' ' && c <= '~' ? std::string("'") + c + "'" : "byte " + std::to_string(static_cast<unsigned char>(c));
        }
        return fail(errc::parse, "expected " + std::string(item) + ", got " + got);
    }

private:
    [[nodiscard]] char peek() const noexcept { return at_ < line_end_ ? text_[at_] : '\0'; }
    static bool starts_name(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

    std::string_view text_;
    std::size_t at_ = 0, line_ = 1, line_start_ = 0, line_end_ = 0;
    augur::error error_{};
};

} // namespace augur::inline v0::detail

#endif
