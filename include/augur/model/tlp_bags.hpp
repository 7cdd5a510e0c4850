// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_BAGS_HPP
#define AUGUR_MODEL_TLP_BAGS_HPP

/// @file
/// A batch of schedules as bags of rows.
///
/// TLP does not see the order of the rows, and the schedules of one task are made of few distinct rows (0.2 to 1.5 % of all). So a batch is a table
/// of distinct rows, and for each schedule which of them it has, and how often.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/random.hpp>
#include <augur/nn/attention.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {

/// Distinct rows and who has them. Grows to its largest batch and then allocates no more. A value.
class tlp_bags {
public:
    /// @param columns  E, the width of a row
    explicit tlp_bags(std::size_t columns) : columns_(columns) { clear(); }

    /// Forgets all; keeps the memory.
    void clear() {
        rows_.clear();
        begin_.assign(1, 0);
        ids_.clear();
        repeat_.clear();
        distinct_ = 0;
        ++epoch_;
        if (epoch_ == 0) { // 2^32 batches later: old marks would look new
            for (slot& s : slots_) s = {};
            epoch_ = 1;
        }
    }

    /// Appends a schedule of rows (n, E), row-major. O(n E).
    void add(std::span<const float> rows) {
        AUGUR_ASSERT(rows.size() % columns_ == 0, "tlp_bags: shape");
        const std::size_t first = ids_.size();
        for (std::size_t at = 0; at < rows.size(); at += columns_) put(first, find(rows.data() + at), 1);
        begin_.push_back(static_cast<nn::index>(ids_.size()));
    }

    /// Appends schedule `n` of `other`.   pre: equal columns, another object
    void add(const tlp_bags& other, std::size_t n) {
        AUGUR_ASSERT(other.columns_ == columns_ && &other != this, "tlp_bags: shape");
        const std::size_t first = ids_.size();
        for (auto t = static_cast<std::size_t>(other.begin_[n]); t < static_cast<std::size_t>(other.begin_[n + 1]); ++t)
            put(first, find(other.rows_.data() + other.ids_[t] * columns_), other.repeat_[t]);
        begin_.push_back(static_cast<nn::index>(ids_.size()));
    }

    [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }            ///< N, schedules
    [[nodiscard]] std::size_t distinct() const { return distinct_; }                ///< U, distinct rows
    [[nodiscard]] std::size_t columns() const { return columns_; }                  ///< E
    [[nodiscard]] std::span<const float> rows() const { return rows_; }             ///< (U, E)
    [[nodiscard]] std::span<const nn::index> begin() const { return begin_; }       ///< (N + 1), into ids and repeat
    [[nodiscard]] std::span<const std::uint32_t> ids() const { return ids_; }       ///< (T) row of the table, distinct within a schedule
    [[nodiscard]] std::span<const std::uint32_t> repeat() const { return repeat_; } ///< (T) how often

private:
    struct slot {
        std::uint32_t epoch = 0; ///< the batch it belongs to
        std::uint32_t id = 0;
        std::uint64_t hash = 0;
    };

    void put(std::size_t first, std::uint32_t id, std::uint32_t times) {
        for (std::size_t t = first; t < ids_.size(); ++t)
            if (ids_[t] == id) {
                repeat_[t] += times;
                return;
            }
        ids_.push_back(id);
        repeat_.push_back(times);
    }

    std::uint32_t find(const float* row) {
        if (slots_.size() < 2 * (distinct_ + 1)) grow();
        std::uint64_t hash = columns_;
        for (std::size_t i = 0; i < columns_; i += 2) {
            std::uint64_t two = 0;
            std::memcpy(&two, row + i, i + 1 < columns_ ? 8 : 4);
            hash = (hash ^ two) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29U;
        }
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
            slot& s = slots_[at];
            if (s.epoch != epoch_) {
                s = {epoch_, static_cast<std::uint32_t>(distinct_++), hash};
                rows_.insert(rows_.end(), row, row + columns_);
                return s.id;
            }
            if (s.hash == hash && std::memcmp(rows_.data() + s.id * columns_, row, columns_ * sizeof(float)) == 0) return s.id;
        }
    }

    void grow() {
        std::vector<slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
        old.swap(slots_);
        const std::size_t mask = slots_.size() - 1;
        for (const slot& s : old) {
            if (s.epoch != epoch_) continue;
            std::size_t at = s.hash & mask;
            while (slots_[at].epoch == epoch_) at = (at + 1) & mask;
            slots_[at] = s;
        }
    }

    std::size_t columns_;
    std::vector<float> rows_;
    std::vector<nn::index> begin_;
    std::vector<std::uint32_t> ids_, repeat_;
    std::vector<slot> slots_; ///< open addressing, a power of two
    std::size_t distinct_ = 0;
    std::uint32_t epoch_ = 0;
};

} // namespace augur::inline v0

#endif
