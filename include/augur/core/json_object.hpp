// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_JSON_OBJECT_HPP
#define AUGUR_CORE_JSON_OBJECT_HPP

/// @file
/// Strict reading of JSON objects: unknown, duplicate and missing members are errors.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/json.hpp>

namespace augur::inline v0::detail {

/// Steps through the members of an object with a fixed list of member names.
///
/// ```cpp
/// json_members members(in, names);                               // opens the object
/// for (std::size_t i = 0; members.next(i);) in.read(numbers[i]); // i is the index of the name in `names`; each value must be read
/// members.need(0b101);                                           // fails unless names[0] and names[2] were present
/// ```
template <std::size_t N>
class json_members {
    static_assert(N <= 64);

public:
    json_members(json_reader& in, const std::array<std::string_view, N>& names) : in_(&in), names_(&names) { in.begin_object(); }

    bool next(std::size_t& i) {
        std::string_view key;
        if (!in_->next_member(key)) return false;
        for (i = 0; i < N; ++i) {
            if ((*names_)[i] != key) continue;
            if (((seen_ >> i) & 1U) != 0) return in_->fail(errc::parse, "'" + std::string(key) + "' stands twice");
            seen_ |= std::uint64_t{1} << i;
            return true;
        }
        return in_->fail(errc::parse, "'" + std::string(key.substr(0, 40)) + "' is not known here");
    }

    /// Reads the first two members of an augur file: names[0] must be `format`, and names[1] must be `version`.
    /// Errors: parse (other members), version_mismatch (another format or version).
    bool header(std::string_view format, std::int64_t version) {
        std::size_t i = 0;
        std::string_view text;
        std::int64_t n = 0;
        if (!next(i)) return in_->fail(errc::parse, "expected '" + std::string((*names_)[0]) + "' first");
        if (i != 0 || !in_->read(text)) return in_->fail(errc::parse, "expected '" + std::string((*names_)[0]) + "' first");
        if (text != format)
            return in_->fail(errc::version_mismatch, "expected '" + std::string(format) + "', got '" + std::string(text.substr(0, 40)) + "'");
        if (!next(i) || i != 1 || !in_->read(n)) return in_->fail(errc::parse, "expected '" + std::string((*names_)[1]) + "' next");
        if (n != version) return in_->fail(errc::version_mismatch, "expected version " + std::to_string(version) + ", got " + std::to_string(n));
        return true;
    }

    /// Fails unless every member whose bit is set in `wanted` was present.
    bool need(std::uint64_t wanted) {
        for (std::size_t i = 0; in_->ok() && i < N; ++i)
            if (((wanted & ~seen_) >> i & 1U) != 0) return in_->fail(errc::parse, "'" + std::string((*names_)[i]) + "' is missing");
        return in_->ok();
    }

private:
    json_reader* in_;
    const std::array<std::string_view, N>* names_;
    std::uint64_t seen_ = 0;
};
template <std::size_t N>
json_members(json_reader&, const std::array<std::string_view, N>&) -> json_members<N>;

/// Steps to the next element of an array; an array that ends here is an error.
inline bool need_element(json_reader& in) { return in.next_element() || in.fail(errc::parse, "expected another element"); }
/// Leaves an array; a further element is an error.
inline bool end_elements(json_reader& in) {
    return in.ok() && (!in.next_element() || in.fail(errc::parse, "expected the end of the array, got another element"));
}

/// Reads an integer from `low` to `high`. Error `invalid_argument`: outside of these bounds.
template <class Int>
bool read_integer(json_reader& in, Int& out, std::int64_t low, std::int64_t high) {
    std::int64_t n = 0;
    if (!in.read(n)) return false;
    if (n < low || n > high)
        return in.fail(errc::invalid_argument, "expected " + std::to_string(low) + " to " + std::to_string(high) + ", got " + std::to_string(n));
    out = static_cast<Int>(n);
    return true;
}

/// Reads the name of an enumerator; `names` lists the names by value. `label` names the enum in the error.
template <class Enum, std::size_t N>
bool read_name(json_reader& in, const std::array<std::string_view, N>& names, Enum& out, const char* label) {
    std::string_view text;
    if (!in.read(text)) return false;
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == text) return out = static_cast<Enum>(i), true;
    return in.fail(errc::parse, "'" + std::string(text.substr(0, 40)) + "' is no " + label);
}

} // namespace augur::inline v0::detail

#endif
