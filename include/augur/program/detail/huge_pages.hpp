// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_HUGE_PAGES_HPP
#define AUGUR_PROGRAM_DETAIL_HUGE_PAGES_HPP

/// @file
/// Memory for tables that are read at random: the fewer pages it has, the fewer of their addresses have to be looked up.

#include <cstddef>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace augur::inline v0::detail {

/// Asks for pages of 2 MiB where it hands out several of them; the system may decline.
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
