// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces operator new for the tests of this folder, which ask what is allocated.
#include "counted_memory.hpp"

#include <cstdlib>
#include <memory>
#include <new>

#include <doctest/doctest.h>

namespace {
constexpr std::size_t header = 64; ///< keeps what follows aligned, and holds the size

void* take(std::size_t n) {
    ++counted_memory::allocations;
    const std::size_t now = counted_memory::live += n;
    if (now > counted_memory::peak) counted_memory::peak = now;
    void* p = std::aligned_alloc(header, (n + 2 * header - 1) / header * header);
    if (p == nullptr) std::abort();
    *static_cast<std::size_t*>(p) = n;
    return static_cast<char*>(p) + header;
}
void give(void* p) {
    if (p == nullptr) return;
    p = static_cast<char*>(p) - header;
    counted_memory::live -= *static_cast<std::size_t*>(p);
    std::free(p);
}
} // namespace
// not inlined: GCC would see free() meet a new-expression and warn
#define AUGUR_TEST_NOINLINE __attribute__((noinline))
AUGUR_TEST_NOINLINE void* operator new(std::size_t n) { return take(n); }
AUGUR_TEST_NOINLINE void* operator new(std::size_t n, std::align_val_t) { return take(n); }
AUGUR_TEST_NOINLINE void operator delete(void* p) noexcept { give(p); }
AUGUR_TEST_NOINLINE void operator delete(void* p, std::size_t) noexcept { give(p); }
AUGUR_TEST_NOINLINE void operator delete(void* p, std::align_val_t) noexcept { give(p); }
AUGUR_TEST_NOINLINE void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give(p); }

TEST_CASE("memory is counted") {
    const std::size_t calls = counted_memory::allocations, before = counted_memory::live;
    auto a = std::make_unique<char[]>(1000);
    a[0] = 1;
    CHECK(counted_memory::allocations == calls + 1);
    CHECK(counted_memory::live == before + 1000);
    a.reset();
    CHECK(counted_memory::live == before);
}
