// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_BATCH_HPP
#define AUGUR_TLP_BATCH_HPP

/// @file
/// Deduplicated batch of schedules: a table of distinct feature rows, and per schedule the ids of its rows.
///
/// The attention model ignores the order of the rows, and of all rows of the schedules of one task only 0.2 to 1.5 % are distinct. So each schedule
/// is stored as distinct row ids with their multiplicity, or, for a model that depends on the order (LSTM), as the sequence of its row ids.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/attention.hpp>
#include <augur/nn/types.hpp>
#include <augur/tlp/row_table.hpp>

namespace augur::inline v0::tlp {

/// Whether a batch keeps the order of a schedule's rows.
enum class row_order : std::uint8_t {
    free, ///< equal rows of a schedule are merged and counted
    kept  ///< one entry per row, in order
};

/// Table of distinct rows and the rows of each schedule. Its memory grows to the largest batch and is reused. A value.
class deduplicated_batch {
public:
    /// @param columns  E, the width of a row
    explicit deduplicated_batch(std::size_t columns, row_order order = row_order::free) : columns_(columns), order_(order) { clear(); }

    /// Removes all schedules and rows; keeps the memory.
    void clear() {
        rows_.clear();
        begin_.assign(1, 0);
        ids_.clear();
        repeat_.clear();
        distinct_ = 0;
        table_ = nullptr;
        ++epoch_;
        if (epoch_ == 0) { // the counter wrapped: epochs of old slots would be valid again
            for (auto* index : {&value_index_, &key_index_}) std::fill(index->slots.begin(), index->slots.end(), slot{});
            epoch_ = 1;
        }
        value_index_.used = key_index_.used = 0;
    }

    /// Appends a schedule with rows (n, E), row-major. O(n E).
    void add(std::span<const float> rows) {
        AUGUR_ASSERT(rows.size() % columns_ == 0, "deduplicated_batch: shape");
        const std::size_t first = ids_.size();
        for (std::size_t at = 0; at < rows.size(); at += columns_) put(first, find(rows.data() + at), 1);
        begin_.push_back(static_cast<nn::index>(ids_.size()));
    }

    /// Appends schedule `n` of `other`.   pre: equal columns, the same order, another object
    void add(const deduplicated_batch& other, std::size_t n) {
        AUGUR_ASSERT(other.columns_ == columns_ && other.order_ == order_ && &other != this, "deduplicated_batch: shape");
        const std::size_t first = ids_.size();
        for (auto t = static_cast<std::size_t>(other.begin_[n]); t < static_cast<std::size_t>(other.begin_[n + 1]); ++t)
            put(first, find(other.rows_.data() + other.ids_[t] * columns_), other.repeat_[t]);
        begin_.push_back(static_cast<nn::index>(ids_.size()));
    }

    /// Appends a schedule given by the ids of its primitives, with the cropping, padding and positions of the table's schema (as `extract_features`).
    /// O(n); does not read the values of rows that are already in the batch.
    ///
    /// @return false, and nothing is appended, if the vocabulary refuses a primitive (`table.check` reports it)
    /// @note   pre: every id is below table.size(); one table per batch. A row that was also added by value is stored twice: slower, scores are equal
    [[nodiscard]] bool add(std::span<const primitive_id> schedule, const row_table& table) {
        AUGUR_ASSERT(table.schema().columns == columns_ && (table_ == nullptr || table_ == &table), "deduplicated_batch: one table per batch");
        if (!table.knows(schedule)) return false;
        table_ = &table;
        const std::size_t first = ids_.size();
        const std::size_t zeros = table.visit_rows(
            schedule, scratch_, [&](std::uint32_t row, std::uint32_t position) { put(first, find(row, position), 1); },
            [&](std::span<const float> row) { put(first, find(row.data()), 1); });
        if (zeros > 0) put(first, find(row_table::padding, 0), static_cast<std::uint32_t>(zeros));
        begin_.push_back(static_cast<nn::index>(ids_.size()));
        return true;
    }

    [[nodiscard]] std::size_t size() const { return begin_.size() - 1; } ///< N, schedules
    [[nodiscard]] std::size_t distinct() const { return distinct_; }     ///< U, distinct rows
    [[nodiscard]] std::size_t columns() const { return columns_; }       ///< E
    [[nodiscard]] row_order order() const { return order_; }
    [[nodiscard]] std::span<const float> rows() const { return rows_; }             ///< (U, E)
    [[nodiscard]] std::span<const nn::index> begin() const { return begin_; }       ///< (N + 1) offsets into ids and repeat
    [[nodiscard]] std::span<const std::uint32_t> ids() const { return ids_; }       ///< (T) row ids; distinct within a schedule with order `free`
    [[nodiscard]] std::span<const std::uint32_t> repeat() const { return repeat_; } ///< (T) multiplicities; 1 with order `kept`

private:
    struct slot {
        std::uint32_t epoch = 0; ///< valid if equal to epoch_; otherwise the slot is free
        std::uint32_t id = 0;
        std::uint64_t hash = 0;
    };
    struct slot_index { ///< open addressing, the size is a power of two
        std::vector<slot> slots;
        std::size_t used = 0;
    };

    void put(std::size_t first, std::uint32_t id, std::uint32_t times) {
        if (order_ == row_order::kept) {
            ids_.insert(ids_.end(), times, id);
            repeat_.insert(repeat_.end(), times, 1);
            return;
        }
        for (std::size_t t = first; t < ids_.size(); ++t)
            if (ids_[t] == id) {
                repeat_[t] += times;
                return;
            }
        ids_.push_back(id);
        repeat_.push_back(times);
    }

    /// Finds or inserts a row by its values.
    std::uint32_t find(const float* row) {
        std::uint64_t hash = columns_;
        for (std::size_t i = 0; i < columns_; i += 2) {
            std::uint64_t two = 0;
            std::memcpy(&two, row + i, i + 1 < columns_ ? 8 : 4);
            hash = (hash ^ two) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29U;
        }
        const auto same = [&](std::uint32_t id) { return std::memcmp(rows_.data() + id * columns_, row, columns_ * sizeof(float)) == 0; };
        bool fresh = false;
        const std::uint32_t id = seek(value_index_, hash, same, fresh);
        if (fresh) rows_.insert(rows_.end(), row, row + columns_);
        return id;
    }

    /// Finds or inserts a row by its id in the row table and its position.
    std::uint32_t find(std::uint32_t row, std::uint32_t position) {
        const std::uint64_t hash = mix64((static_cast<std::uint64_t>(row) << 32U) | position); // mix64 is injective: equal hashes are equal keys
        bool fresh = false;
        const std::uint32_t id = seek(key_index_, hash, [](std::uint32_t) { return true; }, fresh);
        if (fresh) {
            rows_.resize(rows_.size() + columns_);
            table_->write(row, position, rows_.data() + rows_.size() - columns_);
        }
        return id;
    }

    template <class Same>
    std::uint32_t seek(slot_index& index, std::uint64_t hash, const Same& same, bool& fresh) {
        if (index.slots.size() < 2 * (index.used + 1)) grow(index.slots);
        const std::size_t mask = index.slots.size() - 1;
        for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
            slot& s = index.slots[at];
            if (s.epoch != epoch_) {
                s = {epoch_, static_cast<std::uint32_t>(distinct_++), hash};
                ++index.used;
                fresh = true;
                return s.id;
            }
            if (s.hash == hash && same(s.id)) return s.id;
        }
    }

    void grow(std::vector<slot>& slots) const {
        std::vector<slot> old(slots.empty() ? 1024 : 2 * slots.size());
        old.swap(slots);
        const std::size_t mask = slots.size() - 1;
        for (const slot& s : old) {
            if (s.epoch != epoch_) continue;
            std::size_t at = s.hash & mask;
            while (slots[at].epoch == epoch_) at = (at + 1) & mask;
            slots[at] = s;
        }
    }

    std::size_t columns_;
    row_order order_;
    std::vector<float> rows_;
    std::vector<nn::index> begin_;
    std::vector<std::uint32_t> ids_, repeat_;
    slot_index value_index_, key_index_;
    const row_table* table_ = nullptr; ///< of this batch
    row_table::scratch scratch_;
    std::size_t distinct_ = 0;
    std::uint32_t epoch_ = 0;
};

} // namespace augur::inline v0::tlp

#endif
