// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_MACHINE_INSTRUCTIONS_HPP
#define AUGUR_TARGET_MACHINE_INSTRUCTIONS_HPP

/// @file
/// Instruction classes, element types and fold hints: the vocabulary that programs and machine descriptions share.
///
/// The names are written to files: append, never rename.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace augur::inline v0 {

/// The class of an instruction. Class, element type and number of lanes together determine its cost.
enum class instruction_class : std::uint8_t {
    unknown, ///< none of the others; has a default cost and is counted
    fadd,    ///< floating-point addition, subtraction, negation
    fmul,
    fma, ///< fused multiply-add, a * b + c
    fdiv,
    fsqrt,
    fminmax, ///< minimum, maximum, absolute value
    compare, ///< integer or floating-point comparison, by the element type
    select,
    ialu, ///< integer addition, logic, shift, address arithmetic
    imul,
    idiv,    ///< division and remainder
    convert, ///< between element types
    shuffle, ///< also insert, extract and splat
    reduce,  ///< horizontal reduction of all lanes
    load,
    store,
    gather, ///< load with one address per lane
    scatter,
    branch, ///< also switch and return
    move,   ///< phi, bitcast, copies: free on most machines
    exp,
    log,
    tanh,
    erf,
    pow,
    call, ///< a call of any other function
};
inline constexpr std::size_t instruction_classes = 27;

/// The type of a lane. A pointer is an i64.
enum class element_type : std::uint8_t { i1, i8, i16, i32, i64, f16, bf16, f32, f64 };
inline constexpr std::size_t element_types = 9;

/// How an instruction may be folded into another one in machine code. The front end marks the folds that the program allows; `machine::folds` says
/// which of them the machine applies.
enum class fold_hint : std::uint8_t {
    none,
    always,         ///< emits no instruction on any machine: a phi, a bitcast
    address,        ///< address arithmetic used only by loads and stores: a constant offset, or an index scaled by 1, 2, 4 or 8
    extend,         ///< widening or narrowing between i32 and i64
    splat,          ///< broadcast of a value that was just loaded
    compare_branch, ///< a comparison used only by a branch
    multiply_add,   ///< a multiplication used only by one addition, into which it may be contracted
    operand,        ///< a load used only by one arithmetic instruction: a memory operand, so the load is executed without an instruction of its own
};
inline constexpr std::size_t fold_hints = 8;

namespace detail {
inline constexpr std::array<std::string_view, instruction_classes> instruction_class_names{
    "unknown", "fadd", "fmul",  "fma",    "fdiv",    "fsqrt",  "fminmax", "compare", "select", "ialu", "imul", "idiv", "convert", "shuffle",
    "reduce",  "load", "store", "gather", "scatter", "branch", "move",    "exp",     "log",    "tanh", "erf",  "pow",  "call"};
inline constexpr std::array<std::string_view, element_types> element_type_names{"i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
inline constexpr std::array<std::string_view, fold_hints> fold_hint_names{"none",  "always",         "address",      "extend",
                                                                          "splat", "compare_branch", "multiply_add", "operand"};

template <class Enum>
constexpr std::optional<Enum> named(std::span<const std::string_view> names, std::string_view text) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return static_cast<Enum>(i);
    return std::nullopt;
}
template <std::size_t N>
constexpr std::string_view name_of(const std::array<std::string_view, N>& names, std::size_t i) noexcept {
    return i < N ? names[i] : std::string_view("?");
}
} // namespace detail

constexpr std::string_view to_string(instruction_class c) noexcept {
    return detail::name_of(detail::instruction_class_names, static_cast<std::size_t>(c));
}
constexpr std::string_view to_string(element_type t) noexcept { return detail::name_of(detail::element_type_names, static_cast<std::size_t>(t)); }
constexpr std::string_view to_string(fold_hint f) noexcept { return detail::name_of(detail::fold_hint_names, static_cast<std::size_t>(f)); }

/// The enumerator of a name; nullopt if there is none.
constexpr std::optional<instruction_class> parse_instruction_class(std::string_view text) noexcept {
    return detail::named<instruction_class>(detail::instruction_class_names, text);
}
constexpr std::optional<element_type> parse_element_type(std::string_view text) noexcept {
    return detail::named<element_type>(detail::element_type_names, text);
}
constexpr std::optional<fold_hint> parse_fold_hint(std::string_view text) noexcept { return detail::named<fold_hint>(detail::fold_hint_names, text); }

/// Bytes of one lane in a vector register; an i1 counts as one byte.
constexpr std::int64_t bytes_of(element_type t) noexcept {
    constexpr std::array<std::int64_t, element_types> bytes{1, 1, 2, 4, 8, 2, 2, 4, 8};
    return bytes[static_cast<std::size_t>(t)];
}
constexpr bool is_float(element_type t) noexcept { return t >= element_type::f16; }

} // namespace augur::inline v0

#endif
