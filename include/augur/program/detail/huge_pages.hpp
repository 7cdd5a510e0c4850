// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_HUGE_PAGES_HPP
#define AUGUR_PROGRAM_DETAIL_HUGE_PAGES_HPP

/// @file
/// Allocator with 2 MiB pages for large tables with random access, which reduces TLB misses.

#include <cstddef>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace augur::inline v0::detail {

/// Allocates as operator new does, and advises the kernel to use 2 MiB pages for blocks of at least two of them (Linux; the kernel may decline).
template <class T>
struct huge_page_allocator {
    using value_type = T;
    huge_page_allocator() = default;
    template <class U>
    huge_page_allocator(const huge_page_allocator<U>&) noexcept {} // NOLINT(google-explicit-constructor): as allocators are

    [[nodiscard]] T* allocate(std::size_t n) {
        void* const p = ::operator new(n * sizeof(T), alignment(n));
#ifdef __linux__
        if (n * sizeof(T) >= several) ::madvise(p, n * sizeof(T) / page * page, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t n) noexcept { ::operator delete(p, alignment(n)); }
    friend bool operator==(const huge_page_allocator&, const huge_page_allocator&) noexcept { return true; }

private:
    static constexpr std::size_t page = std::size_t{2} << 20U, several = 2 * page;
    static std::align_val_t alignment(std::size_t n) noexcept { return std::align_val_t{n * sizeof(T) < several ? alignof(T) : page}; }
};

} // namespace augur::inline v0::detail

#endif
