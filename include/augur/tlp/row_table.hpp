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

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/tlp/detail/row_encoding.hpp>
#include <augur/tlp/launch_features.hpp>
#include <augur/tlp/schema.hpp>

namespace augur::inline v0::tlp {

/// Row id of each primitive of a table. Primitives whose features are equal (after cropping and encoding of names) share a row.
///
/// The position columns of the rows are 0; `write` sets them. Threads: concurrent const calls are safe.
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
        std::vector<float> row(schema_.columns);
        while (rows_.size() < primitives.size()) {
            const auto id = static_cast<primitive_id>(rows_.size());
            if (schema_.launch_features) keep_integers(id, primitives);
            detail::row_encoder<row_without_position> encoder(schema_, {{schema_, row}});
            primitives.visit(id, encoder);
            rows_.push_back(encoder.rows().failed != errc{} ? refused : intern(row.data()));
        }
    }

    /// Does the vocabulary have all primitives of a schedule, also those that are cropped?   pre: every id is below size()
    [[nodiscard]] bool knows(std::span<const primitive_id> schedule) const {
        return std::none_of(schedule.begin(), schedule.end(), [this](primitive_id id) { return rows_[id] == refused; });
    }

    /// Scratch memory of `visit_rows`. Reuse one object for many schedules.
    struct scratch {
        launch_follower follower;
        std::vector<float> launch_rows; ///< (., E)
    };

    /// Visits the rows that `extract_features` writes for a schedule, in order: calls `primitive(row id, position)` for a primitive's row, with the
    /// position counted from 1 (0: the schema has no positions), and `launch(row (E))` for a launch-feature row. The rows of zeros that pad the
    /// schedule come last and are not visited.
    ///
    /// @return number of rows of zeros
    /// @note   O(steps); allocates only to grow the scratch memory. pre: knows(schedule)
    template <class F, class G>
    std::size_t visit_rows(std::span<const primitive_id> schedule, scratch& memory, F&& primitive, G&& launch) const {
        const detail::row_encoding encoding(schema_);
        const std::size_t primitives = encoding.crop(schedule.size()).encoded;
        for (std::size_t i = 0; i < primitives; ++i) primitive(rows_[schedule[i]], encoding.position(i));
        if (!schema_.launch_features) return encoding.crop(primitives).padding;
        memory.follower.clear();
        for (const primitive_id id : schedule)
            memory.follower.step(steps_[id], std::span(integers_).subspan(first_integer_[id], first_integer_[id + 1] - first_integer_[id]));
        const std::size_t rows = encoding.crop(primitives + memory.follower.rows().size()).encoded;
        memory.launch_rows.resize((rows - primitives) * schema_.columns);
        detail::row_encoder<detail::float_rows> encoder(schema_, {schema_, memory.launch_rows}, primitives);
        memory.follower.visit(encoder);
        for (std::size_t i = 0; i < rows - primitives; ++i)
            launch(std::span<const float>(memory.launch_rows).subspan(i * schema_.columns, schema_.columns));
        return encoder.finish().padding;
    }

    /// out (E) <- row `row` at a position from `visit_rows`.   pre: row < distinct()
    void write(std::uint32_t row, std::uint32_t position, float* out) const {
        std::copy_n(values(row).begin(), schema_.columns, out);
        detail::row_encoding(schema_).set({0, position}, out);
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

    /// Encodes one primitive; its position is not known yet.
    struct row_without_position : detail::float_rows {
        void begin(std::size_t at, detail::one_hots ones) { detail::float_rows::begin(at, {ones.kind, 0}); }
    };

    struct integer_sink {
        std::vector<std::int64_t>& integers;
        void primitive(std::string_view) const {}
        void number(std::integral auto n) const { integers.push_back(static_cast<std::int64_t>(n)); }
        void number(double) const {}
        void name(std::string_view) const {}
    };
    void keep_integers(primitive_id id, const primitive_table& primitives) {
        steps_.push_back(step_index(primitives.kind(id)));
        integer_sink sink{integers_};
        primitives.visit(id, sink);
        first_integer_.push_back(integers_.size());
    }

    tlp::schema schema_;
    std::vector<std::uint32_t> rows_;           ///< row id by primitive
    std::vector<std::size_t> steps_;            ///< step type (`step_index`) by primitive; only with launch features
    std::vector<std::int64_t> integers_;        ///< integer parameters of all primitives; only with launch features
    std::vector<std::size_t> first_integer_{0}; ///< (primitives + 1) offsets into integers_
    std::vector<float> values_;                 ///< (distinct, E)
    augur::detail::hash_index index_;
};

} // namespace augur::inline v0::tlp

#endif
