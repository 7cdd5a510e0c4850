// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_TEXT_CACHE_HPP
#define AUGUR_IO_DETAIL_TEXT_CACHE_HPP

/// @file
/// Cache from text to number, keyed by the bytes of the text, so that repeated parts of a log are parsed once.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::inline v0::detail {

/// Loads eight bytes in little-endian order.   pre: eight bytes at `at` are readable
inline std::uint64_t eight_bytes(const char* at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

/// Sets the high bit of each zero byte of `word`. The lowest set bit is exact; higher set bits can be false positives.
inline std::uint64_t zero_bytes(std::uint64_t word) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    return (word - ones) & ~word & (ones * 0x80);
}

/// Incremental hash of a text in 8-byte words. `finish` takes the last 0 to 7 bytes.
struct word_hash {
    std::uint64_t state = 0;

    static constexpr std::uint64_t first_bytes(std::uint64_t word, std::size_t n) noexcept { return word & ((std::uint64_t{1} << (8 * n)) - 1); }

    void add(std::uint64_t word) noexcept { state = (std::rotl(state, 23) ^ word) * 0x9FB21C651E98DF25ULL; }
    [[nodiscard]] std::uint64_t finish(std::uint64_t word, std::size_t n) noexcept {
        add(first_bytes(word, n) + (n << 60U));
        return state ^ (state << 32U); // text_cache uses the upper 32 bits
    }
};

/// Hash of a text.   pre: eight bytes after the text are readable
inline std::uint64_t hash_words(std::string_view text) noexcept {
    word_hash hash;
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; left -= 8, at += 8) hash.add(eight_bytes(at));
    return hash.finish(eight_bytes(at), left);
}

/// Cache from texts to numbers, with open addressing. It can drop a text that collides with many others, and it drops all texts when it is full.
///
/// Memory     at most 32 MiB of text and 32 MiB of slots
/// Threads    one thread per cache
class text_cache {
public:
    static constexpr std::uint32_t none = 0xFFFFFFFFU;
    static constexpr std::size_t longest = std::size_t{1} << 14U; ///< limit on one text in bytes

    /// Number of the text, or `none`.   pre: eight bytes after the text are readable
    [[nodiscard]] std::uint32_t find(std::uint64_t hash, std::string_view text) const noexcept {
        const slot* s = slots_.data() + place(tag(hash));
        for (const slot* const last = s + reach; s < last && s->number != none; ++s)
            if (s->tag == tag(hash) && s->size == text.size() && same(bytes_.data() + s->first, text)) return s->number;
        return none;
    }

    /// Stores the number of a text. A text longer than `longest` is not stored.
    void insert(std::uint64_t hash, std::string_view text, std::uint32_t number) {
        if (text.size() > longest || find(hash, text) != none) return;
        const std::size_t padded = (text.size() + 7) / 8 * 8;
        if (bytes_.size() + padded > most_bytes || used_ == most_texts) clear();
        if (2 * (used_ + 1) > slots_.size() - reach) grow();
        const slot made{tag(hash), static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(text.size()), number};
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        bytes_.resize(made.first + padded);
        put(made);
    }

    void clear() {
        bytes_.clear();
        slots_.assign(first_slots + reach, {});
        used_ = 0;
    }
    [[nodiscard]] std::size_t size() const noexcept { return used_; }

private:
    struct slot {
        std::uint32_t tag = 0;
        std::uint32_t first = 0; ///< offset of its bytes in `bytes_`
        std::uint32_t size = 0;
        std::uint32_t number = none;
    };
    static constexpr std::size_t reach = 16;        ///< maximum probe length in slots
    static constexpr std::size_t first_slots = 256; ///< initial number of slots, a power of two
    static constexpr std::size_t most_bytes = std::size_t{1} << 25U;
    static constexpr std::size_t most_texts = std::size_t{1} << 19U;

    static std::uint32_t tag(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32U); }
    [[nodiscard]] std::size_t place(std::uint32_t tag_of) const noexcept { return tag_of & (slots_.size() - reach - 1); }

    /// Compares a stored text, padded with zeros to 8-byte words, with `text`.
    static bool same(const char* kept, std::string_view text) noexcept {
        const char* at = text.data();
        std::size_t left = text.size();
        for (; left >= 8; left -= 8, at += 8, kept += 8)
            if (eight_bytes(at) != eight_bytes(kept)) return false;
        return left == 0 || word_hash::first_bytes(eight_bytes(at), left) == eight_bytes(kept);
    }
    void put(const slot& made) {
        std::size_t i = place(made.tag);
        const std::size_t last = i + reach - 1;
        while (i < last && slots_[i].number != none) ++i;
        if (slots_[i].number == none) ++used_;
        slots_[i] = made;
    }
    void grow() {
        std::vector<slot> old(2 * (slots_.size() - reach) + reach);
        std::swap(old, slots_);
        used_ = 0;
        for (const slot& s : old)
            if (s.number != none) put(s);
    }

    std::vector<char> bytes_;
    std::vector<slot> slots_ = std::vector<slot>(first_slots + reach);
    std::size_t used_ = 0;
};

} // namespace augur::inline v0::detail

#endif
