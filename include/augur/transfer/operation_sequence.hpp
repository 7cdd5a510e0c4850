// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TRANSFER_OPERATION_SEQUENCE_HPP
#define AUGUR_TRANSFER_OPERATION_SEQUENCE_HPP

/// @file
/// The sequence of operations of a kernel, from the name that TVM gave it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/number.hpp>

namespace augur::inline v0::transfer {

namespace detail {

/// TVM cuts longer names: 80 characters, then '_', a hash of the whole name, and '_'.
inline constexpr std::size_t longest_name = 80;

using augur::detail::is_digit;

constexpr bool is_hexadecimal(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'f'); }

/// Without `_17`, which makes the name of a function unique in its module. What belongs to an operation (conv2d, contrib_conv3d_NDHWc) has no '_' before.
inline std::string_view without_number(std::string_view name) {
    std::size_t digits = 0;
    while (digits < name.size() && is_digit(name[name.size() - 1 - digits])) ++digits;
    const bool numbered = digits > 0 && digits < name.size() && name[name.size() - 1 - digits] == '_';
    return numbered ? name.substr(0, name.size() - 1 - digits) : name;
}

/// One name in the form of all eras, at most 80 characters of it.
inline std::string normalised_name(std::string_view name) {
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    for (const std::string_view prefix : {"tvmgen_default_", "vm_mod_", "default_"}) // of the module, TVM 0.9 and later
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    std::string_view unique = without_number(name);
    if (unique.size() > longest_name && unique[longest_name] == '_') { // 80 characters and a hash: a name that was cut
        const auto hash = unique.substr(longest_name + 1, unique.size() - longest_name - 1 - (unique.ends_with('_') ? 1 : 0));
        if (!hash.empty() && std::all_of(hash.begin(), hash.end(), is_hexadecimal)) unique = unique.substr(0, longest_name);
    }
    if (name.size() > longest_name && unique.size() > longest_name) unique = unique.substr(0, longest_name); // as if TVM had cut it
    if (unique.starts_with("fused_")) unique.remove_prefix(6);
    std::string out(unique);
    std::replace(out.begin(), out.end(), '.', '_'); // nn.conv2d and nn_conv2d
    while (out.ends_with('_')) out.pop_back();
    return out;
}

} // namespace detail

/// The sequence of operations that a description or function name of TVM stands for, equal for names of every era: without the prefix of a module, the
/// number that makes a name unique, and `fused_`; with '_' for '.'; a comma-separated set sorted, each member once; a name of more than 80 characters as
/// the beginning that TVM keeps of it, so that two of them may be taken for one. Other names pass through, so an empty one stays empty.
///
/// Source  TVM, src/relay/backend/compile_engine.cc, te_compiler_cache.cc (names), python/tvm/auto_scheduler/relay_integration.py (sets)
/// Cost    linear in the name, a few allocations
[[nodiscard]] inline std::string operation_sequence(std::string_view name) {
    std::vector<std::string> members;
    for (std::size_t at = 0; at <= name.size();) {
        const auto end = (std::min)(name.find(',', at), name.size());
        if (auto one = detail::normalised_name(name.substr(at, end - at)); !one.empty()) members.push_back(std::move(one));
        at = end + 1;
    }
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    std::string out;
    for (const auto& m : members) out.append(out.empty() ? "" : ",").append(m);
    return out;
}

} // namespace augur::inline v0::transfer

#endif
