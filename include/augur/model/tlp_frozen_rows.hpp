// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_FROZEN_ROWS_HPP
#define AUGUR_MODEL_TLP_FROZEN_ROWS_HPP

/// @file
/// Schedules as ids of rows that were seen before, without writing the rows out.
///
/// A row of TLP's features is a kind, a place and a few numbers, everything else is zero. These few words are its key: four to five times shorter
/// than the row. The table outlives a batch, so that what was computed for a row need not be computed again.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/number.hpp>
#include <augur/feature/tlp.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// Distinct rows under one schema, numbered as they come; at most `capacity`, then it is emptied by its owner. A value. One thread an object.
class tlp_frozen_rows {
public:
    /// @param capacity  rows that it holds; at least those of one schedule.   pre: schema.check()
    tlp_frozen_rows(const tlp_schema& schema, std::size_t capacity)
        : schema_(schema), numbers_end_(schema.columns - schema.positions),
          words_(1 + (numbers_end_ > schema.kind_columns ? numbers_end_ - schema.kind_columns : 0)), capacity_((std::max)(capacity, schema.rows)),
          slots_(std::bit_ceil(2 * capacity_ + 2)), keys_(capacity_ * words_), stamps_(capacity_), key_(words_) {
        for (const auto& kind : schema_.kinds) packed_.push_back(pack(kind));
    }

    /// Forgets all rows.
    void clear() {
        size_ = 0;
        std::fill(slots_.begin(), slots_.end(), slot{});
    }

    [[nodiscard]] std::size_t size() const { return size_; } ///< rows known
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    /// May a schedule be added whatever its rows?
    [[nodiscard]] bool has_room() const { return size_ + schema_.rows <= capacity_; }

    /// Appends the distinct rows of a schedule to `ids`, and how often each occurs to `times`.
    /// False, with nothing appended, where the schema refuses a word. Allocates only to grow the vectors.   pre: has_room()
    template <schedule S>
    [[nodiscard]] bool add(const S& s, std::vector<std::uint32_t>& ids, std::vector<float>& times) {
        AUGUR_ASSERT(has_room(), "tlp_frozen_rows: full");
        ++schedule_;
        sink k{*this, ids, times, ids.size()};
        schedule_traits<S>::visit(s, k);
        k.flush();
        if (k.failed) {
            ids.resize(k.first);
            times.resize(k.first);
            return false;
        }
        if (schema_.pad && k.steps < schema_.rows) {
            std::fill(key_.begin(), key_.end(), 0U);
            count(find(), k.first, ids, times, static_cast<float>(schema_.rows - k.steps));
        }
        return true;
    }

    /// row (E) <- row `id`, as `tlp_features` writes it.
    void write(std::size_t id, float* row) const {
        const std::uint32_t* key = keys_.data() + id * words_;
        std::fill_n(row, schema_.columns, 0.0F);
        for (std::size_t i = 1; i < words_; ++i) row[schema_.kind_columns + i - 1] = std::bit_cast<float>(key[i]);
        const std::size_t kind = key[0] & 0xFFFFU, place = key[0] >> 16U;
        if (place > 0) row[numbers_end_ + place - 1] = 1;
        if (kind > 0) row[kind - 1] = 1;
    }

private:
    struct slot {
        std::uint64_t hash = 0;
        std::uint32_t id = none;
    };
    struct stamp {
        std::uint64_t schedule = 0; ///< the last one that has the row
        std::size_t at = 0;         ///< and where its id stands
    };
    static constexpr std::uint32_t none = 0xFFFFFFFFU;

    /// Follows `tlp_sink` word by word.
    struct sink {
        tlp_frozen_rows& rows;
        std::vector<std::uint32_t>& ids;
        std::vector<float>& times;
        std::size_t first;
        std::size_t steps = 0;
        std::size_t column = 0; ///< of the next number, from the end of the kinds on
        bool failed = false;
        std::string_view kind{};

        void primitive(std::string_view next) {
            flush();
            const auto& schema = rows.schema_;
            kind = next;
            const std::size_t at = steps++;
            column = 0;
            std::fill(rows.key_.begin(), rows.key_.end(), 0U);
            const std::size_t place = schema.positions > 0 ? 1 + (std::min)(at, schema.positions - 1) : 0;
            std::size_t k = rows.kind_of(next);
            if (k == schema.kinds.size() && schema.unknown == tlp_unknown::refuse) failed = true;
            if (k == schema.kinds.size() && schema.unknown == tlp_unknown::zeros) k = rows.numbers_end_;
            rows.key_[0] = static_cast<std::uint32_t>((k < rows.numbers_end_ ? k + 1 : 0) | place << 16U);
        }
        void number(std::int64_t n) { put(static_cast<float>(n)); }
        void number(double n) { put(static_cast<float>(n)); }
        void name(std::string_view text) {
            const auto& schema = rows.schema_;
            for (const tlp_word& w : schema.words)
                if (w.text == text && w.kind == kind) return put(w.value);
            if (schema.unknown == tlp_unknown::refuse) failed = true;
            if (schema.unknown != tlp_unknown::other) return put(0);
            const auto dollar = text.rfind('$');
            const auto n = dollar == std::string_view::npos ? std::nullopt : parse_int(text.substr(dollar + 1));
            put(n ? static_cast<float>(*n) + 1 : -1.0F);
        }
        void flush() {
            if (steps > 0 && steps <= rows.schema_.rows && !failed) rows.count(rows.find(), first, ids, times, 1);
        }

    private:
        void put(float value) {
            if (++column < rows.words_) rows.key_[column] = std::bit_cast<std::uint32_t>(value);
        }
    };

    /// Up to eight letters in one word; longer names are told apart by comparing them.
    static std::uint64_t pack(std::string_view name) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < name.size() && i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
        return word;
    }
    [[nodiscard]] std::size_t kind_of(std::string_view name) const {
        const std::uint64_t word = pack(name);
        std::size_t k = 0;
        for (; k < packed_.size(); ++k)
            if (packed_[k] == word && schema_.kinds[k] == name) break;
        return k;
    }

    std::uint32_t find() {
        std::uint64_t hash = words_;
        for (std::size_t i = 0; i < words_; i += 2) {
            const std::uint64_t two = key_[i] | std::uint64_t{i + 1 < words_ ? key_[i + 1] : 0} << 32U;
            hash = (hash ^ two) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29U;
        }
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
            slot& s = slots_[at];
            if (s.id == none) {
                s = {hash, static_cast<std::uint32_t>(size_)};
                std::copy(key_.begin(), key_.end(), keys_.begin() + static_cast<std::ptrdiff_t>(size_ * words_));
                stamps_[size_] = {};
                return static_cast<std::uint32_t>(size_++);
            }
            if (s.hash == hash && std::memcmp(keys_.data() + s.id * words_, key_.data(), words_ * sizeof(std::uint32_t)) == 0) return s.id;
        }
    }

    void count(std::uint32_t id, std::size_t first, std::vector<std::uint32_t>& ids, std::vector<float>& times, float n) {
        stamp& seen = stamps_[id];
        if (seen.schedule == schedule_ && seen.at >= first) {
            times[seen.at] += n;
            return;
        }
        seen = {schedule_, ids.size()};
        ids.push_back(id);
        times.push_back(n);
    }

    tlp_schema schema_;
    std::size_t numbers_end_;
    std::size_t words_; ///< of a key: kind and place, then the numbers
    std::size_t capacity_;
    std::size_t size_ = 0;
    std::uint64_t schedule_ = 0;
    std::vector<slot> slots_; ///< open addressing, a power of two
    std::vector<std::uint32_t> keys_;
    std::vector<stamp> stamps_;
    std::vector<std::uint32_t> key_; ///< of the row that is being read
    std::vector<std::uint64_t> packed_;
};

} // namespace augur::inline v0

#endif
