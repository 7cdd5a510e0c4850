// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_C_OPTIONS_HPP
#define AUGUR_LOOPNEST_CODEGEN_C_OPTIONS_HPP

/// @file
/// Options of C code generation: the vector registers of the target, and limits.

#include <cstddef>

namespace augur::inline v0::loopnest {

/// Target parameters and limits of the generated C.
struct c_options {
    int vector_floats = 16; ///< float lanes of the widest vector register
    int vector_registers = 32;
    int max_unrolled = 1024;                               ///< limit for the vector operations in one unrolled sequence
    unsigned id = 0;                                       ///< makes the entry names of a translation unit distinct
    std::size_t max_source_bytes = std::size_t{16} << 20U; ///< limit for one program; a kernel that needs more gets an empty source
};

} // namespace augur::inline v0::loopnest

#endif
