// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_MODEL_COUNTED_MEMORY_HPP
#define AUGUR_TESTS_MODEL_COUNTED_MEMORY_HPP

#include <atomic>
#include <cstddef>

/// What this program's operator new did so far (counted_memory.test.cpp replaces it).
namespace counted_memory {
inline std::atomic<std::size_t> allocations{0}; ///< calls
inline std::atomic<std::size_t> live{0};        ///< bytes
inline std::atomic<std::size_t> peak{0};        ///< most bytes at once; may be set
} // namespace counted_memory

#endif
