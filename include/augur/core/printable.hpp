// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_PRINTABLE_HPP
#define AUGUR_CORE_PRINTABLE_HPP

/// @file
/// Text from outside for an error message.

#include <string>
#include <string_view>

namespace augur::inline v0 {

/// Control characters and bytes beyond ASCII become '?', at most 40 characters.
[[nodiscard]] inline std::string printable(std::string_view text) {
    std::string out(text.substr(0, 40));
    for (auto& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
    return text.size() > 40 ? out + "..." : out;
}

} // namespace augur::inline v0

#endif
