// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_DETAIL_RAW_JSON_HPP
#define AUGUR_SCHEDULE_DETAIL_RAW_JSON_HPP

/// @file
/// JSON of others that is kept as text. A record is one line, so the text has no line breaks.

#include <algorithm>
#include <string>
#include <string_view>

#include <augur/core/json.hpp>

namespace augur::inline v0::detail {

inline bool breaks_line(char c) { return c == '\n' || c == '\r' || c == '\t'; }

/// Line breaks and tabs become spaces: strings of valid JSON have none, so they can only be white space between values.
inline void to_one_line(std::string& json) { std::replace_if(json.begin(), json.end(), breaks_line, ' '); }

/// Whether a text is one JSON value on one line.
inline bool is_json_line(std::string_view text) {
    json_reader in(text);
    return std::none_of(text.begin(), text.end(), breaks_line) && in.skip() && in.finish();
}

} // namespace augur::inline v0::detail

#endif
