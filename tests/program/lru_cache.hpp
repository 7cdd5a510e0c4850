// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_PROGRAM_LRU_CACHE_HPP
#define AUGUR_TESTS_PROGRAM_LRU_CACHE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// The set is the line modulo the number of sets.
struct by_modulo {
    std::uint64_t operator()(std::uint64_t line) const { return line; }
};
/// The finaliser of MurmurHash3: a set as good as drawn at random.
struct by_murmur {
    std::uint64_t seed = 0;
    std::uint64_t operator()(std::uint64_t line) const {
        line += seed;
        line = (line ^ (line >> 33U)) * 0xFF51AFD7ED558CCDULL;
        line = (line ^ (line >> 33U)) * 0xC4CEB9FE1A85EC53ULL;
        return line ^ (line >> 33U);
    }
};

/// A cache, access by access: sets of lines, the least recently used one goes.
template <class Place = by_modulo>
class lru_cache {
public:
    lru_cache(std::uint64_t sets, std::size_t ways, Place place = {}) : ways_(ways), place_(place), sets_(sets) {}

    bool access(std::uint64_t line) {
        auto& set = sets_[place_(line) % sets_.size()];
        const auto at = std::find(set.begin(), set.end(), line);
        const bool hit = at != set.end();
        if (hit) set.erase(at);
        set.insert(set.begin(), line);
        if (set.size() > ways_) set.pop_back();
        return hit;
    }
    std::uint64_t hits(const std::vector<std::uint64_t>& lines) {
        std::uint64_t n = 0;
        for (const auto line : lines) n += access(line) ? 1 : 0;
        return n;
    }

private:
    std::size_t ways_;
    Place place_;
    std::vector<std::vector<std::uint64_t>> sets_;
};

#endif
