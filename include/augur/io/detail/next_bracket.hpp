// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_NEXT_BRACKET_HPP
#define AUGUR_IO_DETAIL_NEXT_BRACKET_HPP

/// @file
/// Search for square brackets, eight bytes at a time.

#include <algorithm>
#include <bit>
#include <cstdint>

#include <augur/io/detail/text_cache.hpp>

namespace augur::inline v0::detail {

/// First bracket of either kind in [at, end); `end` if there is none.   pre: eight bytes after `end` are readable
inline const char* next_bracket(const char* at, const char* const end) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    for (; at < end; at += 8) {
        const std::uint64_t word = eight_bytes(at);
        const std::uint64_t found = zero_bytes(word ^ (ones * '[')) | zero_bytes(word ^ (ones * ']'));
        if (found != 0) return (std::min)(at + (std::countr_zero(found) >> 3U), end);
    }
    return end;
}

} // namespace augur::inline v0::detail

#endif
