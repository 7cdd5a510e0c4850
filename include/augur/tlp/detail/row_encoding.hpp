// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_ROW_ENCODING_HPP
#define AUGUR_TLP_DETAIL_ROW_ENCODING_HPP

/// @file
/// The rules of a schema that turn primitives into feature rows, and the schedule sink that applies them. All encoders of rows use these: rows of
/// floats (`extract_features`), a row per primitive of a table (`row_table`), short keys (`row_ids`).

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/tlp/launch_features.hpp>
#include <augur/tlp/schema.hpp>

namespace augur::inline v0::tlp::detail {

/// The columns of a row that are 1, counted from 1; 0: none.
struct one_hots {
    std::uint32_t kind = 0;     ///< from the first column of the row
    std::uint32_t position = 0; ///< from the first position column
};

/// Numbers of rows of a schedule in the matrix: encoded rows, then rows of zeros.
struct row_counts {
    std::size_t encoded = 0, padding = 0;
};

/// Rules of a schema. A row has the columns kinds, numbers, positions. A view of the schema.
class row_encoding {
public:
    explicit row_encoding(const tlp::schema& schema)
        : schema_(&schema), positions_(schema.positions), numbers_end_(schema.columns - schema.positions),
          encoded_kinds_((std::min)(numbers_end_, schema.kinds.size() + (schema.unknown == unknown_word::other ? 1 : 0))),
          refused_kind_(schema.unknown == unknown_word::refuse ? schema.kinds.size() : no_kind) {}

    /// Number of number columns; later parameters of a primitive are cropped.
    [[nodiscard]] std::size_t numbers() const { return numbers_end_ > schema_->kind_columns ? numbers_end_ - schema_->kind_columns : 0; }
    /// Index of a kind in the vocabulary; the number of kinds for an unknown kind.
    [[nodiscard]] std::size_t kind_index(std::string_view kind) const {
        std::size_t index = 0;
        while (index < schema_->kinds.size() && schema_->kinds[index] != kind) ++index; // with gcc faster than std::find, which unrolls
        return index;
    }
    [[nodiscard]] bool refuses_kind(std::size_t index) const { return index == refused_kind_; }
    /// One-hots of row `row` of a schedule, given the kind of its primitive.
    [[nodiscard]] one_hots columns(std::size_t row, std::size_t kind_index) const {
        return {kind_index < encoded_kinds_ ? static_cast<std::uint32_t>(kind_index + 1) : 0, position(row)};
    }
    [[nodiscard]] std::uint32_t position(std::size_t row) const { return static_cast<std::uint32_t>((std::min)(row + 1, positions_)); }
    /// Value of a name as a parameter of a primitive of kind `kind`; nullopt if the schema refuses it.
    [[gnu::always_inline, nodiscard]] std::optional<float> name_value(std::string_view kind, std::string_view name) const {
        for (const word& w : schema_->words)
            if (w.text == name && w.kind == kind) return w.value;
        switch (schema_->unknown) {
        case unknown_word::refuse: return std::nullopt;
        case unknown_word::zeros: return 0.0F;
        case unknown_word::other: break;
        }
        const auto dollar = name.rfind('$');
        const auto n = dollar == std::string_view::npos ? std::nullopt : parse_int(name.substr(dollar + 1));
        return n ? static_cast<float>(*n) + 1 : -1.0F;
    }
    /// Crops and pads a schedule of `rows` rows.
    [[nodiscard]] row_counts crop(std::size_t rows) const {
        const std::size_t encoded = (std::min)(rows, schema_->rows);
        return {encoded, schema_->pad ? schema_->rows - encoded : 0};
    }

    /// row (E): sets the columns of `ones` to 1.
    void set(one_hots ones, float* row) const {
        if (ones.kind > 0) row[ones.kind - 1] = 1;
        if (ones.position > 0) row[numbers_end_ + ones.position - 1] = 1;
    }

private:
    static constexpr std::size_t no_kind = ~std::size_t{0};

    const tlp::schema* schema_;
    std::size_t positions_;
    std::size_t numbers_end_;   ///< first position column
    std::size_t encoded_kinds_; ///< kinds with a column: those of the vocabulary, then, with unknown_word::other, one for all other kinds
    std::size_t refused_kind_;  ///< index of the kinds that are refused
};

/// Schedule sink that encodes each primitive as a row. `Rows` stores the rows:
///
///     std::size_t kind_index(std::string_view kind)          as `row_encoding::kind_index`
///     void begin(std::size_t row, one_hots ones)             begins row `row` of the schedule, which may be beyond L
///     void number(std::size_t i, float value)                sets number column i of the row
///     void end(std::size_t numbers)                          ends the row: the number columns from `numbers` on are 0
///     void refuse(std::size_t row, const char* item, std::string_view text)   the schema refuses a kind or a name
///     void refuse(std::size_t row, double number)            no float holds a number
template <class Rows>
class row_encoder {
public:
    /// @param first  index of the first row in its schedule
    row_encoder(const tlp::schema& schema, Rows rows, std::size_t first = 0)
        : encoding_(schema), numbers_(encoding_.numbers()), next_(first), rows_(std::move(rows)) {}

    [[gnu::always_inline]] void primitive(std::string_view kind) { // inlined, so that the look-up of a constant kind is a constant
        end();
        kind_ = kind;
        number_ = 0;
        const std::size_t index = rows_.kind_index(kind);
        if (encoding_.refuses_kind(index)) rows_.refuse(next_, "primitive", kind);
        rows_.begin(next_, encoding_.columns(next_, index));
        ++next_;
    }
    void number(std::integral auto n) { put(static_cast<float>(static_cast<std::int64_t>(n))); }
    void number(double n) {
        const auto value = static_cast<float>(n);
        if (!std::isfinite(value)) rows_.refuse(row(), n);
        put(value);
    }
    void name(std::string_view text) {
        if (const auto value = encoding_.name_value(kind_, text)) put(*value);
        else rows_.refuse(row(), "name", text);
    }

    /// Ends the schedule.
    row_counts finish() {
        end();
        return encoding_.crop(next_);
    }
    [[nodiscard]] Rows& rows() { return rows_; }

private:
    [[nodiscard]] std::size_t row() const { return next_ == 0 ? 0 : next_ - 1; }
    void put(float value) {
        if (number_ < numbers_) rows_.number(number_, value);
        ++number_;
    }
    void end() { rows_.end((std::min)(number_, numbers_)); }

    row_encoding encoding_;
    std::size_t numbers_;
    std::size_t next_;       ///< index of the next row
    std::size_t number_ = 0; ///< number of parameters of the current primitive so far
    std::string_view kind_;  ///< kind of the current primitive, a view into the schedule
    Rows rows_;
};

/// Encodes a schedule: a row per primitive, then, with `launch_features`, the launch-feature rows.
template <schedule S, class Rows>
row_counts encode_rows(const S& s, bool launch_features, launch_follower& follower, row_encoder<Rows>& encoder) {
    if (launch_features) {
        launch_feature_sink<row_encoder<Rows>> extended(encoder, follower);
        schedule_traits<S>::visit(s, extended);
        extended.finish();
    } else {
        schedule_traits<S>::visit(s, encoder);
    }
    return encoder.finish();
}

/// Rows of floats, (., E) row-major. A row beyond the end of `out` is checked and not written. Keeps the first error.
struct float_rows {
    const tlp::schema& schema;
    std::span<float> out; ///< rows that are not written
    float* row = nullptr; ///< current row; null for a row beyond the end
    errc failed{};
    std::string failure{};

    [[nodiscard]] std::size_t kind_index(std::string_view kind) const { return row_encoding(schema).kind_index(kind); }
    void begin(std::size_t, one_hots ones) {
        row = out.empty() ? nullptr : out.data();
        if (row == nullptr) return;
        out = out.subspan(schema.columns);
        std::fill_n(row, schema.columns, 0.0F);
        row_encoding(schema).set(ones, row);
    }
    void number(std::size_t i, float value) {
        if (row != nullptr) row[schema.kind_columns + i] = value;
    }
    void end(std::size_t) const {}
    [[gnu::cold, gnu::noinline]] void refuse(std::size_t at, const char* item, std::string_view text) {
        fail(at, errc::unknown_primitive,
             std::string(item) + " '" + std::string(text.substr(0, 80)) + "' is not in the vocabulary '" + schema.name + "'");
    }
    [[gnu::cold, gnu::noinline]] void refuse(std::size_t at, double number) {
        std::string text;
        if (std::isfinite(number)) append_number(text, number);
        else text = std::isnan(number) ? "NaN" : "an infinity";
        fail(at, errc::invalid_argument, "expected a number that is finite in float, got " + text);
    }

private:
    void fail(std::size_t at, errc code, const std::string& message) {
        if (failed != errc{}) return;
        failed = code;
        failure = "step " + std::to_string(at) + ": " + message;
    }
};

} // namespace augur::inline v0::tlp::detail

#endif
