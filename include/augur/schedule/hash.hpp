// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_HASH_HPP
#define AUGUR_SCHEDULE_HASH_HPP

/// @file
/// 64-bit hash of a schedule: its primitives, numbers and names.

#include <bit>
#include <concepts>
#include <cstdint>
#include <string_view>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// A sink that hashes the calls of a visit: equal calls give an equal `state`, on every machine. Allocates nothing.
struct hashing_sink {
    std::uint64_t state = 0;
    void primitive(std::string_view s) noexcept { take(1, fnv1a64(s)); }
    void number(std::integral auto i) noexcept { take(2, static_cast<std::uint64_t>(static_cast<std::int64_t>(i))); }
    void number(double d) noexcept { take(3, std::bit_cast<std::uint64_t>(d)); }
    void name(std::string_view s) noexcept { take(4, fnv1a64(s)); }

private:
    void take(std::uint64_t kind, std::uint64_t value) noexcept { state = mix64(mix64(state ^ kind) ^ value); }
};

/// The hash of a schedule. Schedules with equal visits have equal hashes, on every machine. Linear in the steps; allocates nothing.
template <class S>
[[nodiscard]] std::uint64_t hash_schedule(const S& s) {
    detail::require_schedule<S>();
    hashing_sink sink;
    schedule_traits<S>::visit(s, sink);
    return sink.state;
}

} // namespace augur::inline v0

#endif
