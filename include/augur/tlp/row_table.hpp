// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_ROW_TABLE_HPP
#define AUGUR_TLP_ROW_TABLE_HPP

/// @file
/// Cache of feature rows: maps each primitive of a data set's primitive table to its row under one schema.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/tlp/features.hpp>

namespace augur::inline v0::tlp {

/// Row id of each primitive of a table. Primitives whose features are equal (after cropping and encoding of names) share a row.
///
/// The position columns of the rows are 0; `deduplicated_batch::add` sets them. Threads: concurrent const calls are safe.
class row_table {
public:
    static constexpr std::uint32_t padding = 0;          ///< id of the row of zeros
    static constexpr std::uint32_t refused = 0xFFFFFFFF; ///< id of a primitive that the vocabulary refuses

    /// pre: schema.check()
    explicit row_table(tlp::schema schema) : schema_(std::move(schema)), values_(schema_.columns, 0.0F) {
        AUGUR_ASSERT(schema_.check(), "tlp::row_table: schema");
        index_.insert(hash(values_.data()), padding);
    }
    /// Creates the table with the rows of all `primitives`.
    row_table(tlp::schema schema, const primitive_table& primitives) : row_table(std::move(schema)) { extend(primitives); }

    /// Adds the rows of the primitives with ids from size() on.   pre: `primitives` is the same table as before, grown. O(new primitives * E)
    void extend(const primitive_table& primitives) {
        tlp::schema placeless = schema_;
        placeless.rows = 1;
        std::vector<float> row(schema_.columns);
        while (rows_.size() < primitives.size()) {
            const auto id = static_cast<primitive_id>(rows_.size());
            if (schema_.launch_features) keep_items(id, primitives);
            std::fill(row.begin(), row.end(), 0.0F);
            detail::feature_sink sink{placeless, row.data()};
            primitives.visit(id, sink);
            std::fill(row.end() - static_cast<std::ptrdiff_t>(schema_.positions), row.end(), 0.0F);
            rows_.push_back(sink.failed != errc{} ? refused : intern(row.data()));
        }
    }

    /// Calls `add(row)` (E) for each launch-feature ("TH") row of a schedule, position columns 0; no call without `launch_features`. O(steps).
    /// pre: every id is below size()
    template <class F>
    void for_launch_features(std::span<const primitive_id> schedule, launch_follower& follower, std::vector<float>& row, F&& add) const {
        if (!schema_.launch_features) return;
        follower.clear();
        for (const primitive_id id : schedule)
            follower.step(steps_[id], std::span(items_).subspan(first_item_[id], first_item_[id + 1] - first_item_[id]));
        tlp::schema placeless = schema_;
        placeless.rows = 1;
        for (const launch_follower::row& numbers : follower.rows()) {
            row.assign(schema_.columns, 0.0F);
            detail::feature_sink sink{placeless, row.data()};
            sink.primitive(launch_follower::kind);
            for (const std::int64_t n : numbers) sink.number(n);
            std::fill(row.end() - static_cast<std::ptrdiff_t>(schema_.positions), row.end(), 0.0F);
            add(std::span<float>(row));
        }
    }

    [[nodiscard]] const tlp::schema& schema() const { return schema_; }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }                         ///< number of primitives
    [[nodiscard]] std::size_t distinct() const { return values_.size() / schema_.columns; } ///< number of distinct rows, including padding
    [[nodiscard]] std::uint32_t row(primitive_id id) const { return rows_[id]; }            ///< pre: id < size()
    [[nodiscard]] std::span<const float> values(std::uint32_t row) const {                  ///< (E) pre: row < distinct()
        return std::span<const float>(values_).subspan(row * schema_.columns, schema_.columns);
    }

    /// Checks that the schema can encode a schedule. Errors: unknown_primitive (names the step), not_found (an id beyond the table).
    [[nodiscard]] result<void> check(std::span<const primitive_id> schedule, const primitive_table& primitives) const {
        for (std::size_t i = 0; i < schedule.size(); ++i) {
            if (schedule[i] >= size() || schedule[i] >= primitives.size())
                return error{errc::not_found, "step " + std::to_string(i) + ": primitive " + std::to_string(schedule[i]) + " of a table of " +
                                                  std::to_string((std::min)(size(), primitives.size()))};
            if (rows_[schedule[i]] == refused)
                return error{errc::unknown_primitive,
                             "step " + std::to_string(i) + ": primitive '" + std::string(primitives.kind(schedule[i]).substr(0, 80)) +
                                 "' or a name in it is not in the vocabulary '" + schema_.name + "', or no float holds a number in it"};
        }
        return {};
    }

private:
    [[nodiscard]] std::uint64_t hash(const float* row) const {
        return mix64(fnv1a64({reinterpret_cast<const char*>(row), schema_.columns * sizeof(float)}));
    }
    std::uint32_t intern(const float* row) {
        const std::uint64_t h = hash(row);
        const std::size_t bytes = schema_.columns * sizeof(float);
        const auto at = index_.find(h, [&](std::uint32_t r) { return std::memcmp(values_.data() + r * schema_.columns, row, bytes) == 0; });
        if (at != augur::detail::hash_index::none) return at;
        const auto number = static_cast<std::uint32_t>(distinct());
        values_.insert(values_.end(), row, row + schema_.columns);
        index_.insert(h, number);
        return number;
    }

    struct item_sink {
        std::vector<std::int64_t>& items;
        void primitive(std::string_view) const {}
        void number(std::integral auto n) const { items.push_back(static_cast<std::int64_t>(n)); }
        void number(double) const {}
        void name(std::string_view) const {}
    };
    void keep_items(primitive_id id, const primitive_table& primitives) {
        steps_.push_back(step_index(primitives.kind(id)));
        item_sink sink{items_};
        primitives.visit(id, sink);
        first_item_.push_back(items_.size());
    }

    tlp::schema schema_;
    std::vector<std::uint32_t> rows_;        ///< row id by primitive
    std::vector<std::size_t> steps_;         ///< step type (`step_index`) by primitive; only with launch features
    std::vector<std::int64_t> items_;        ///< integer parameters of all primitives; only with launch features
    std::vector<std::size_t> first_item_{0}; ///< (primitives + 1) offsets into items_
    std::vector<float> values_;              ///< (distinct, E)
    augur::detail::hash_index index_;
};

} // namespace augur::inline v0::tlp

#endif
