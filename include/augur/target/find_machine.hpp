// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_FIND_MACHINE_HPP
#define AUGUR_TARGET_FIND_MACHINE_HPP

/// @file
/// A machine by name: a preset, or a machine file.

#include <string>

#include <augur/core/error.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_check.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/target/machine_presets.hpp>

namespace augur::inline v0 {

/// The preset of this name, else the machine in the file of this name.
/// Errors  those of `read_machine` and `check_machine`
[[nodiscard]] inline result<machine> find_machine(const std::string& name) {
    auto found = machine_preset(name);
    if (!found) found = read_machine(name);
    if (!found) return found.error();
    if (auto whole = check_machine(*found); !whole) return whole.error();
    return found;
}

} // namespace augur::inline v0

#endif
