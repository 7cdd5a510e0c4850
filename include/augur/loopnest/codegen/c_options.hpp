// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_C_OPTIONS_HPP
#define AUGUR_LOOPNEST_CODEGEN_C_OPTIONS_HPP

/// @file
/// Options of C code generation: the vector registers of the target, and limits.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// Target parameters and limits of the generated C.
struct c_options {
    int vector_floats = 16; ///< float lanes of the widest vector register
    int vector_registers = 32;
    bool multiply_add = true;                              ///< one instruction multiplies and adds; else the product takes a register
    int max_unrolled = 1024;                               ///< limit for the vector operations in one unrolled sequence
    unsigned id = 0;                                       ///< makes the entry names of a translation unit distinct
    std::size_t max_source_bytes = std::size_t{16} << 20U; ///< limit for one program; a kernel that needs more gets an empty source

    /// Loads and stores under a mask are as fast as others: AVX-512.
    [[nodiscard]] bool masks_are_free() const noexcept { return vector_floats == 16; }

    /// The options for the vectors of a machine.
    [[nodiscard]] static c_options of(const machine& m) {
        c_options o;
        o.vector_floats = static_cast<int>(std::clamp(m.vector_bytes / 4, std::int64_t{1}, std::int64_t{16}));
        o.vector_registers = m.vector_registers();
        o.multiply_add = m.has_multiply_add();
        return o;
    }
};

} // namespace augur::inline v0::loopnest

#endif
