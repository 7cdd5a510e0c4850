// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_MEMORY_HPP
#define AUGUR_LLVM_RUN_MEMORY_HPP

/// @file
/// Memory of the traced program: mappings at fixed addresses with guard regions, and a heap. Fixed addresses make the profiles reproducible; guard
/// regions detect wild accesses.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <augur/core/error.hpp>

namespace augur::inline v0::detail {

/// Zero-filled mappings in one address range, each followed by an inaccessible guard region.
class fenced_memory {
public:
    /// Maps `bytes` at a page boundary, readable and writable, and returns the address. Error: io.
    result<std::uint64_t> map(std::uint64_t bytes, const std::string& name) {
        const std::uint64_t room = (std::max)((bytes + page - 1) / page, std::uint64_t{1}) * page;
        // The address is a hint: if it is occupied, the system chooses another one.
        void* const at = ::mmap(reinterpret_cast<void*>(next_), room + fence, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED || ::mprotect(at, room, PROT_READ | PROT_WRITE) != 0)
            return error{errc::io, "cannot reserve " + std::to_string(room) + " bytes of addresses for " + name + ": " + std::strerror(errno)};
        const auto place = reinterpret_cast<std::uint64_t>(at);
        // Arrays at power-of-two distances would map to the same cache sets; the varying offset avoids that, as in real programs.
        next_ = place + room + fence + ((places_.size() * 37) % 1024 + 1) * page;
        places_.push_back({place, bytes, room, name});
        return place;
    }

    /// Describes an address in words. Allocates nothing, because the signal handler calls it.
    void describe(std::uint64_t address, char* text, std::size_t room) const noexcept {
        if (address < 65536) {
            std::snprintf(text, room, "address 0x%llx: a null pointer", static_cast<unsigned long long>(address));
            return;
        }
        const mapping* below = nullptr;
        for (const auto& p : places_)
            if (p.from <= address && (below == nullptr || p.from > below->from)) below = &p;
        const bool far = below == nullptr || address - below->from > below->room + (std::uint64_t{1} << 40U);
        if (far)
            std::snprintf(text, room, "address 0x%llx, which is nowhere near the memory that it was given", static_cast<unsigned long long>(address));
        else
            std::snprintf(text, room, "byte %llu of %s, which has %llu", static_cast<unsigned long long>(address - below->from), below->name.c_str(),
                          static_cast<unsigned long long>(below->bytes));
    }

private:
    static constexpr std::uint64_t page = 4096, fence = std::uint64_t{1} << 20U;
    struct mapping {
        std::uint64_t from, bytes, room;
        std::string name;
    };
    std::uint64_t next_ = 0x200000000000ULL;
    std::vector<mapping> places_;
};

/// Heap of the traced program. It reuses the smallest free block that is large enough, the last freed first, as TVM's workspace pool does.
class fenced_heap {
public:
    result<void> open(fenced_memory& memory, std::uint64_t bytes) {
        auto at = memory.map(bytes, "the heap");
        if (!at) return at.error();
        next_ = *at;
        end_ = *at + bytes;
        return {};
    }
    void* allocate(std::uint64_t bytes, std::uint64_t align = 64) {
        bytes = (std::max)(bytes, std::uint64_t{1});
        align = std::clamp(align, std::uint64_t{64}, std::uint64_t{1} << 20U);
        for (auto f = free_.lower_bound(bytes); f != free_.end() && f->first / 2 <= bytes; ++f) {
            if (f->second % align != 0) continue;
            const auto at = f->second;
            used_[at] = f->first;
            free_.erase(f);
            return reinterpret_cast<void*>(at);
        }
        const std::uint64_t at = (next_ + align - 1) / align * align;
        if (bytes > end_ || at > end_ - bytes) {
            refused_ = (std::max)(refused_, bytes);
            return nullptr;
        }
        next_ = at + bytes;
        used_[at] = bytes;
        return reinterpret_cast<void*>(at);
    }
    void release(void* p) {
        const auto at = used_.find(reinterpret_cast<std::uint64_t>(p));
        if (at == used_.end()) return;
        free_.emplace_hint(free_.lower_bound(at->second), at->second, at->first);
        used_.erase(at);
    }
    [[nodiscard]] std::uint64_t size_of(void* p) const {
        const auto at = used_.find(reinterpret_cast<std::uint64_t>(p));
        return at == used_.end() ? 0 : at->second;
    }
    /// Size in bytes of the largest allocation that failed; 0: none failed.
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

private:
    std::uint64_t next_ = 0, end_ = 0, refused_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> used_;
    std::multimap<std::uint64_t, std::uint64_t> free_; ///< (size, address); among equal sizes the last freed block is first
};

} // namespace augur::inline v0::detail

#endif
