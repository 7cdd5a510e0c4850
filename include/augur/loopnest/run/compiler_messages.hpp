// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_COMPILER_MESSAGES_HPP
#define AUGUR_LOOPNEST_RUN_COMPILER_MESSAGES_HPP

/// @file
/// Output of a C compiler as a line of a record.

#include <cstddef>
#include <string>
#include <string_view>

namespace augur::inline v0::loopnest {

namespace detail {

/// Compiler output for a record: printable characters, one line, at most `limit` bytes.
inline std::string one_line(std::string_view text, std::size_t limit = 400) {
    std::string line;
    for (const char c : text) {
        if (line.size() >= limit) break;
        const bool printable = c >= ' ' && c != 127;
        if (printable) line.push_back(c);
        else if (!line.empty() && line.back() != ' ') line.push_back(' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

/// `text` with a path that differs between runs replaced.
inline std::string without_path(std::string text, std::string_view path, std::string_view instead) {
    for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos; at += instead.size()) text.replace(at, path.size(), instead);
    return text;
}

} // namespace detail

/// The relevant part of the compiler output for a record: from its first error on, as one line of at most 400 bytes.
[[nodiscard]] inline std::string first_compiler_error(std::string_view output) {
    const auto at = output.find("error");
    const auto line = at == std::string_view::npos ? 0 : output.rfind('\n', at);
    return detail::one_line(output.substr(line == std::string_view::npos ? 0 : line));
}

} // namespace augur::inline v0::loopnest

#endif
