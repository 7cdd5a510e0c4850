// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_PROFILE_JSON_HPP
#define AUGUR_PROGRAM_REUSE_PROFILE_JSON_HPP

/// @file
/// JSON reader and writer of memory profiles: reuse profiles and associativity profiles, strict and versioned.
///
///     {"format": "augur-reuse-profile", "version": 1, "line_bytes": 64, "cold": 4, "bins": [[0, 12], [3, 1], [1024, 7]]}
///     {"format": "augur-set-profile", "version": 1, "line_bytes": 64, "sets": 64, "accesses": 20, "hits": [12, 1, 0, 0, 0, 0, 0, 0],
///      "fills": 7, "crowded": 0}
///
/// `bins` has the non-empty bins by rising distance: the lowest distance of the bin and its count. `fills` and `crowded` are optional; without them
/// no fill conflicts are modelled.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/json.hpp>
#include <augur/core/json_object.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/program/reuse/profile.hpp>

namespace augur::inline v0 {

inline constexpr std::int64_t memory_profile_version = 1;

namespace detail {

inline constexpr std::array<std::string_view, 5> reuse_profile_members{"format", "version", "line_bytes", "cold", "bins"};
inline constexpr std::array<std::string_view, 8> set_profile_members{"format",   "version", "line_bytes", "sets",
                                                                     "accesses", "hits",    "fills",      "crowded"};
inline constexpr std::int64_t most_accesses = std::int64_t{1} << 53U; ///< integers up to here are exact in a double

inline bool read_line_bytes(json_reader& in, std::int64_t& out) {
    if (!in.read(out)) return false;
    const auto known = check_line_bytes(out);
    return known || in.fail(known.error().code, known.error().detail);
}

} // namespace detail

/// Writes a profile as one JSON object.
inline void write_json(json_writer& w, const reuse_profile& p) {
    w.begin_object().key("format").value("augur-reuse-profile").key("version").value(memory_profile_version);
    w.key("line_bytes").value(p.line_bytes()).key("cold").value(p.cold()).key("bins").begin_array();
    for (std::size_t b = 0; b < reuse_profile::bins; ++b)
        if (p.count(b) > 0) w.begin_array().value(reuse_profile::low(b)).value(p.count(b)).end_array();
    w.end_array().end_object();
}
inline void write_json(json_writer& w, const associativity_profile& p) {
    w.begin_object().key("format").value("augur-set-profile").key("version").value(memory_profile_version);
    w.key("line_bytes").value(p.line_bytes).key("sets").value(p.sets).key("accesses").value(p.accesses).key("hits").begin_array();
    for (const auto n : p.hits) w.value(n);
    w.end_array().key("fills").value(p.fills).key("crowded").value(p.crowded).end_object();
}

/// Reads a profile as `write_json` writes it. Returns false after an error, which is then the error of the reader: an unknown, repeated or missing
/// member, another version, an unsupported line size, bins that are unknown, empty or not in rising order, more than 2^53 accesses.
inline bool read_json(json_reader& in, reuse_profile& out) {
    detail::json_members members(in, detail::reuse_profile_members);
    if (!members.header("augur-reuse-profile", memory_profile_version)) return false;
    std::int64_t line_bytes = 64, cold = 0, total = 0;
    reuse_profile read; // holds the counts, because the line size may follow them in the text
    for (std::size_t m = 0; members.next(m);) {
        if (m == 2) {
            detail::read_line_bytes(in, line_bytes);
        } else if (m == 3) {
            detail::read_integer(in, cold, 0, detail::most_accesses);
        } else if (m == 4) {
            in.begin_array();
            for (std::int64_t least = 0; in.next_element();) {
                std::int64_t distance = 0, n = 0;
                const bool pair = in.begin_array() && in.next_element() && detail::read_integer(in, distance, least, std::int64_t{1} << 62U) &&
                                  in.next_element() && detail::read_integer(in, n, 1, detail::most_accesses - total) && !in.next_element();
                if (!pair) return in.fail(errc::parse, "expected [distance, count]"); // keeps an earlier error
                const auto lowest = reuse_profile::low(reuse_profile::bin_of(static_cast<std::uint64_t>(distance)));
                if (lowest != static_cast<std::uint64_t>(distance))
                    return in.fail(errc::parse,
                                   "expected the lowest distance of a bin, " + std::to_string(lowest) + " perhaps, got " + std::to_string(distance));
                read.add(static_cast<std::uint64_t>(distance), static_cast<std::uint64_t>(n));
                total += n;
                least = distance + 1;
            }
        }
    }
    if (!members.need(0b11111)) return false;
    if (cold > detail::most_accesses - total) return in.fail(errc::limit, "more than 2^53 accesses");
    out = reuse_profile(line_bytes);
    for (std::size_t b = 0; b < reuse_profile::bins; ++b)
        if (read.count(b) > 0) out.add(reuse_profile::low(b), read.count(b));
    out.add_cold(static_cast<std::uint64_t>(cold));
    return true;
}
/// The same for an associativity profile. Further errors: more hits than accesses, more positions than `associativity_stream::deepest`.
inline bool read_json(json_reader& in, associativity_profile& out) {
    detail::json_members members(in, detail::set_profile_members);
    if (!members.header("augur-set-profile", memory_profile_version)) return false;
    associativity_profile read;
    std::int64_t hits = 0;
    for (std::size_t m = 0; members.next(m);) {
        if (m == 2) {
            detail::read_line_bytes(in, read.line_bytes);
        } else if (m == 3) {
            detail::read_integer(in, read.sets, 1, std::int64_t{1} << 26U);
        } else if (m == 4) {
            detail::read_integer(in, read.accesses, 0, detail::most_accesses);
        } else if (m == 5) {
            in.begin_array();
            while (in.next_element()) {
                std::int64_t n = 0;
                detail::read_integer(in, n, 0, detail::most_accesses - hits);
                if (in.ok() && read.hits.size() == associativity_stream::deepest)
                    in.fail(errc::limit, "more than " + std::to_string(associativity_stream::deepest) + " places");
                read.hits.push_back(static_cast<std::uint64_t>(n));
                hits += n;
            }
            if (in.ok() && read.hits.empty()) in.fail(errc::parse, "expected the hits of one place or more");
        } else if (m == 6) {
            detail::read_integer(in, read.fills, 0, detail::most_accesses);
        } else if (m == 7) {
            detail::read_integer(in, read.crowded, 0, detail::most_accesses);
        }
    }
    if (!members.need(0b111111)) return false;
    if (static_cast<std::uint64_t>(hits) > read.accesses)
        return in.fail(errc::invalid_argument, std::to_string(hits) + " hits of " + std::to_string(read.accesses) + " accesses");
    out = std::move(read);
    return true;
}

/// The JSON text of a profile. `Profile` is `reuse_profile` or `associativity_profile`.
template <class Profile>
[[nodiscard]] std::string profile_to_json(const Profile& p) {
    std::string text;
    json_writer w(text);
    write_json(w, p);
    return text;
}
/// Reads a profile from a JSON text.
/// @note errors: those of `read_json`, with line and column
template <class Profile>
[[nodiscard]] result<Profile> profile_from_json(std::string_view text) {
    json_reader in(text);
    Profile out;
    if (!read_json(in, out) || !in.finish()) return in.error();
    return out;
}

} // namespace augur::inline v0

#endif
