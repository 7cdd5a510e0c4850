// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_INFERENCE_ROW_IDS_HPP
#define AUGUR_TLP_INFERENCE_ROW_IDS_HPP

/// @file
/// Interning table for feature rows: converts a schedule to row ids without writing the full rows.
///
/// A feature row is a kind, a position and a few numbers; all other columns are 0. The table stores these words as the key, which is four to five
/// times shorter than the row. It persists across batches, so that results computed for a row are reused.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/nn/kernels/panel_layer.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/tlp/detail/row_encoding.hpp>
#include <augur/tlp/launch_features.hpp>
#include <augur/tlp/schema.hpp>

namespace augur::inline v0::tlp {

/// Distinct rows under one schema, numbered in order of insertion. The owner empties the table when it is full. A value. Threads: one per object.
class row_ids {
public:
    /// @param capacity  maximum number of rows; raised to schema.rows.   pre: schema.check()
    row_ids(const tlp::schema& schema, std::size_t capacity)
        : schema_(schema), words_(1 + detail::row_encoding(schema).numbers()), capacity_((std::max)(capacity, schema.rows)),
          stride_((heading + words_ + 15) / 16 * 16), slots_(256), entries_(capacity_ * stride_), read_((schema.rows + 1) * stride_),
          names_(std::bit_ceil(4 * schema.kinds.size() + 1), name_slot{0, none, schema.kinds.size()}) {
        for (std::size_t i = 0; i < words_; ++i) factors_.push_back(mix64(i + 1) | 1U);
        for (std::size_t k = 0; k < schema_.kinds.size(); ++k)
            if (name_slot& at = name_at(schema_.kinds[k]); at.size == none) at = {pack(schema_.kinds[k]), size32(schema_.kinds[k]), k};
    }

    /// Removes all rows.
    void clear() {
        size_ = 0;
        std::fill(slots_.begin(), slots_.end(), slot{});
    }

    [[nodiscard]] std::size_t size() const { return size_; } ///< number of rows
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    /// Is there room for any schedule, even if all its rows are new?
    [[nodiscard]] bool has_room() const { return size_ + schema_.rows <= capacity_; }

    /// Appends the ids of the distinct rows of a schedule to `ids`, and their multiplicities to `times`.
    /// Returns false and appends nothing if the schema refuses a word. Allocates only to grow.   pre: has_room()
    template <schedule S>
    [[nodiscard]] bool add(const S& s, std::vector<std::uint32_t>& ids, std::vector<float>& times) {
        AUGUR_ASSERT(has_room(), "row_ids: full");
        if (++schedule_ == 0) { // the counter wrapped: stamps of old entries would be valid again
            for (std::size_t id = 0; id < size_; ++id) entry(id)[0] = 0;
            schedule_ = 1;
        }
        detail::row_encoder<key_rows> encoder(schema_, {*this, read_.data(), factors_.data()});
        const auto [encoded, padding] = detail::encode_rows(s, schema_.launch_features, follower_, encoder);
        if (encoder.rows().refused) return false;
        // look up all rows in a separate loop, so that their cache misses overlap
        const std::size_t first = ids.size();
        ids.resize(first + schema_.rows);
        times.resize(first + schema_.rows);
        std::uint32_t* const to_ids = ids.data() + first;
        float* const to_times = times.data() + first;
        std::uint32_t distinct = 0;
        const auto count = [&](std::uint32_t id, float n) {
            std::uint32_t* const row = entry(id);
            if (row[0] == schedule_) {
                to_times[row[1] & 0xFFFFU] += n;
                return;
            }
            row[0] = schedule_;
            row[1] = (row[1] & 0xFFFF0000U) | distinct;
            to_ids[distinct] = id;
            to_times[distinct++] = n;
        };
        for (std::size_t i = 0; i < encoded; ++i) count(find(read_.data() + i * stride_), 1);
        if (padding > 0) {
            std::fill_n(read_.data(), stride_, 0U);
            count(find(read_.data()), static_cast<float>(padding));
        }
        ids.resize(first + distinct);
        times.resize(first + distinct);
        return true;
    }

    /// row (E) <- features of row `id`, as `extract_features` writes them.
    void write(std::size_t id, float* row) const {
        const std::uint32_t* key = entries_.data() + id * stride_ + heading;
        detail::float_rows rows{schema_, {row, schema_.columns}};
        rows.begin(0, {key[0] & 0xFFFFU, key[0] >> 16U});
        for (std::size_t i = 1; i < words_; ++i) rows.number(i - 1, std::bit_cast<float>(key[i]));
    }

private:
    static constexpr std::uint32_t none = 0xFFFFFFFFU;
    struct slot {
        std::uint32_t tag = 0; ///< high 32 bits of the hash
        std::uint32_t id = none;
    };
    /// Layout of an entry, one cache line for short rows. Word 0: number of the last schedule with this row. Word 1: low half: index of the row in
    /// that schedule; high half: index of the last nonzero word of the key. Then the key. In read_ word 0 is the tag, word 1 the last column written.
    static constexpr std::size_t heading = 2;
    std::uint32_t* entry(std::size_t id) { return entries_.data() + id * stride_; }
    struct name_slot {
        std::uint64_t word = 0;
        std::uint32_t size = none;
        std::size_t kind = 0; ///< index in the vocabulary; of a free slot the number of kinds
    };

    /// Rows of a `row_encoder` as keys in read_. The hash of a key is the sum of its words, each times its own factor, so trailing zeros do not change
    /// it and are not written.
    struct key_rows {
        row_ids& table;
        std::uint32_t* row; ///< current row
        const std::uint64_t* factors;
        std::uint64_t hash = 0;
        bool refused = false;

        [[gnu::always_inline]] std::size_t kind_index(std::string_view kind) { return table.name_at(kind).kind; }
        [[gnu::always_inline]] void begin(std::size_t at, detail::one_hots ones) {
            row = table.read_.data() + (std::min)(at, table.schema_.rows) * table.stride_; // rows from L on share one scratch row
            row[heading] = ones.kind | ones.position << 16U;
            hash = row[heading] * factors[0];
        }
        void number(std::size_t i, float value) {
            const auto bits = std::bit_cast<std::uint32_t>(value);
            row[heading + 1 + i] = bits;
            hash += bits * factors[1 + i];
        }
        void end(std::size_t numbers) {
            row[0] = static_cast<std::uint32_t>(hash >> 32U);
            row[1] = static_cast<std::uint32_t>(numbers);
        }
        void refuse(std::size_t, const char*, std::string_view) { refused = true; }
        void refuse(std::size_t, double) { refused = true; }
    };

    /// First eight bytes of a name (all bytes of a shorter one): unique among names of equal length up to eight bytes.
    [[gnu::always_inline]] static std::uint64_t pack(std::string_view name) {
        const std::size_t n = name.size(), part = n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : n;
        std::uint64_t front = 0, back = 0;
        const auto both = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
            std::memcpy(&front, name.data(), N);
            std::memcpy(&back, name.data() + n - N, N);
        };
        if (part == 2) both(std::integral_constant<std::size_t, 2>{});
        else if (part == 4) both(std::integral_constant<std::size_t, 4>{});
        else if (part == 8) both(std::integral_constant<std::size_t, 8>{});
        else if (part == 1) both(std::integral_constant<std::size_t, 1>{});
        return part == 8 ? front : front | back << (8 * part);
    }
    static std::uint32_t size32(std::string_view name) { return static_cast<std::uint32_t>(name.size()); }
    /// Slot of a kind's name, or the free slot for it.
    [[gnu::always_inline, nodiscard]] name_slot& name_at(std::string_view name) {
        const std::uint64_t word = pack(name);
        const std::size_t mask = names_.size() - 1;
        for (std::size_t at = (word + name.size()) * 0x9E3779B97F4A7C15ULL >> 32U;; ++at) {
            name_slot& s = names_[at & mask];
            if (s.size == none) return s;
            if (s.word == word && s.size == name.size() && (name.size() <= 8 || schema_.kinds[s.kind] == name)) return s;
        }
    }

    /// Finds or inserts a row of read_; returns its id.
    std::uint32_t find(const std::uint32_t* row) {
        std::uint32_t last = row[1];
        while (last > 0 && row[heading + last] == 0) --last;
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = row[0] & mask;; at = (at + 1) & mask) {
            const slot s = slots_[at];
            if (s.id == none) return insert(row, last);
            if (s.tag == row[0] && same(entry(s.id), row, last)) return s.id;
        }
    }
    [[nodiscard]] static bool same(const std::uint32_t* known, const std::uint32_t* row, std::uint32_t last) {
        return known[1] >> 16U == last && std::equal(row + heading, row + heading + last + 1, known + heading);
    }
    std::uint32_t insert(const std::uint32_t* row, std::uint32_t last) {
        if (2 * (size_ + 1) > slots_.size()) {
            std::vector<slot> old(2 * slots_.size());
            old.swap(slots_);
            for (const slot& s : old)
                if (s.id != none) place(s);
        }
        const auto id = static_cast<std::uint32_t>(size_++);
        place({row[0], id});
        std::uint32_t* const to = entry(id);
        to[0] = 0;
        to[1] = last << 16U;
        std::fill_n(std::copy_n(row + heading, last + 1, to + heading), words_ - last - 1, 0U);
        return id;
    }
    void place(slot s) {
        std::size_t at = s.tag & (slots_.size() - 1);
        while (slots_[at].id != none) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = s;
    }

    schema schema_;
    std::size_t words_; ///< words per key: kind and position, then the numbers
    std::size_t capacity_;
    std::size_t stride_; ///< words per entry
    std::size_t size_ = 0;
    std::uint32_t schedule_ = 0;
    std::vector<slot> slots_; ///< open addressing, the size is a power of two, load factor at most 1/2
    nn::kernels::line_buffer<std::uint32_t> entries_;
    nn::kernels::line_buffer<std::uint32_t> read_; ///< (L + 1) keys of the current schedule before look-up
    std::vector<std::uint64_t> factors_;
    std::vector<name_slot> names_; ///< open addressing
    launch_follower follower_;
};

} // namespace augur::inline v0::tlp

#endif
