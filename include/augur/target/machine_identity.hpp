// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_MACHINE_IDENTITY_HPP
#define AUGUR_TARGET_MACHINE_IDENTITY_HPP

/// @file
/// Identity of the platform that a latency was measured on: processor, instruction set, threads, caches and compiler. One line of JSON as text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_object.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0 {

/// What a latency depends on beside the kernel, its schedule and the compiler flags. A field that nobody has named is "unknown".
///
/// Two platforms are one only if all fields are equal (`operator==`): each field alone can change which schedule is the fastest. An unknown field is
/// equal to an unknown one only. docs/decisions/0023 has the reasons.
struct machine_identity {
    std::string vendor = "unknown";     ///< x86: `AuthenticAMD`, `GenuineIntel`; Arm: the number of the implementer, `0x41`
    std::string family = "unknown";     ///< x86: CPU family; Arm: version of the architecture
    std::string model = "unknown";      ///< x86: model number; Arm: part number. Intel's family 6 has every core since 1995
    std::string model_name = "unknown"; ///< product name, which tells products of other clocks and memory channels; hypervisors may shorten it
    std::string isa = "unknown";        ///< level of the code as compiled (`isa_level_names`), not of the processor; `x86-64`: below x86-64-v2
    std::string threads = "unknown";    ///< of a kernel
    std::string caches = "unknown";     ///< data and unified caches from the innermost, bytes of one instance: `L1 48K, L2 1M, L3 32M`
    std::string compiler = "unknown";   ///< name and version

    friend bool operator==(const machine_identity&, const machine_identity&) = default;
};

namespace detail {

inline constexpr std::array<std::string machine_identity::*, 8> identity_fields{
    &machine_identity::vendor, &machine_identity::family,  &machine_identity::model,  &machine_identity::model_name,
    &machine_identity::isa,    &machine_identity::threads, &machine_identity::caches, &machine_identity::compiler};
inline constexpr std::array<std::string_view, 8> identity_names{"vendor", "family", "model", "model_name", "isa", "threads", "caches", "compiler"};

/// Bytes in the largest unit that divides them.
inline std::string size_text(std::int64_t bytes) {
    if (bytes % (1 << 20) == 0) return std::to_string(bytes >> 20U) + "M";
    return bytes % (1 << 10) == 0 ? std::to_string(bytes >> 10U) + "K" : std::to_string(bytes);
}

inline void write_identity(json_writer& out, const machine_identity& id) {
    out.begin_object();
    for (std::size_t i = 0; i < identity_fields.size(); ++i)
        if (id.*identity_fields[i] != "unknown") out.key(identity_names[i]).value(id.*identity_fields[i]);
    out.end_object();
}

/// Reads an object. Fields that it lacks become "unknown"; a field with a name that is not listed is an error.
inline bool read_identity(json_reader& in, machine_identity& id) {
    id = {};
    json_members members(in, identity_names);
    for (std::size_t i = 0; members.next(i);)
        if (!in.read(id.*identity_fields[i])) return false;
    return in.ok();
}

} // namespace detail

/// Identity of kernels on a machine.
/// @param isa       level of the code as compiled; empty: unknown
/// @param threads   of a kernel; 0: one per processor
/// @param compiler  name and version; empty: unknown
[[nodiscard]] inline machine_identity identify(const machine& m, std::string_view isa, int threads, std::string_view compiler) {
    machine_identity id;
    const auto set = [](std::string& field, std::string_view value) {
        if (!value.empty()) field = value;
    };
    set(id.vendor, m.vendor);
    set(id.family, m.family);
    set(id.model, m.model);
    set(id.model_name, m.cpu_name);
    set(id.isa, isa);
    set(id.threads, std::to_string(threads > 0 ? threads : m.processors));
    std::string caches;
    for (const auto& c : m.caches) caches += (caches.empty() ? "L" : ", L") + std::to_string(c.level) + " " + detail::size_text(c.bytes);
    set(id.caches, caches);
    set(id.compiler, compiler);
    return id;
}

/// One line of JSON: an object with the known fields. `parse_machine_identity` returns the same identity if all values are UTF-8.
[[nodiscard]] inline std::string to_text(const machine_identity& id) {
    std::string text;
    json_writer out(text);
    detail::write_identity(out, id);
    return text;
}

/// Parses the text of an identity. A missing field is "unknown".
/// Errors  parse: no object, a field with another name, a field that comes twice, a value that is no string
[[nodiscard]] inline result<machine_identity> parse_machine_identity(std::string_view text) {
    json_reader in(text, {4096, 1024, 2});
    machine_identity id;
    if (!detail::read_identity(in, id) || !in.finish()) return error{in.error().code, "machine identity: " + in.error().detail};
    return id;
}

/// The first field that differs, with both values: `model: expected '2', got '143'`. Empty if the identities are equal.
[[nodiscard]] inline std::string first_difference(const machine_identity& expected, const machine_identity& got) {
    for (std::size_t i = 0; i < detail::identity_fields.size(); ++i) {
        const std::string &e = expected.*detail::identity_fields[i], &g = got.*detail::identity_fields[i];
        if (e != g) return std::string(detail::identity_names[i]) + ": expected '" + e + "', got '" + g + "'";
    }
    return {};
}

/// Short name for tables: `AMD EPYC (AuthenticAMD 26/2), x86-64-v4, 2 threads`.
[[nodiscard]] inline std::string machine_label(const machine_identity& id) {
    return id.model_name + " (" + id.vendor + " " + id.family + "/" + id.model + "), " + id.isa + ", " + id.threads + " threads";
}

} // namespace augur::inline v0

#endif
