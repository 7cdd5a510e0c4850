// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_PROGRAM_LRU_CACHE_HPP
#define AUGUR_TESTS_PROGRAM_LRU_CACHE_HPP

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

/// A cache, access by access: each place knows when it was used last, and the one used longest ago goes.
template <class Place = by_modulo>
class lru_cache {
public:
    lru_cache(std::uint64_t sets, std::size_t ways, Place placing = {}) : sets_(sets), ways_(ways), placing_(placing), places_(sets * ways) {}

    bool access(std::uint64_t line) {
        place* const set = &places_[placing_(line) % sets_ * ways_];
        place* oldest = set;
        ++now_;
        for (place* p = set; p != set + ways_; ++p) {
            if (p->used > 0 && p->line == line) {
                p->used = now_;
                return true;
            }
            if (p->used < oldest->used) oldest = p;
        }
        *oldest = {line, now_};
        return false;
    }
    std::uint64_t hits(const std::vector<std::uint64_t>& lines) {
        std::uint64_t n = 0;
        for (const auto line : lines) n += access(line) ? 1 : 0;
        return n;
    }

private:
    struct place {
        std::uint64_t line = 0;
        std::uint64_t used = 0; ///< 0: empty
    };
    std::uint64_t sets_;
    std::size_t ways_;
    Place placing_;
    std::vector<place> places_;
    std::uint64_t now_ = 0;
};

#endif
