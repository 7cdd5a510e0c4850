// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_DETAIL_JSON_FAULT_HPP
#define AUGUR_CORE_DETAIL_JSON_FAULT_HPP

/// @file
/// Error of the JSON lexers (json_number.hpp, json_string.hpp).

#include <augur/core/error.hpp>

namespace augur::inline v0::detail {

/// Place, code and message of a token that is not JSON.
struct json_fault {
    const char* at = nullptr;
    errc code{};
    const char* reason = nullptr;

    /// Returns nullptr, the end of a token that was not read.
    const char* set(const char* place, errc kind, const char* message) noexcept {
        at = place;
        code = kind;
        reason = message;
        return nullptr;
    }
};

} // namespace augur::inline v0::detail

#endif
