// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_FEATURES_HPP
#define AUGUR_TLP_FEATURES_HPP

/// @file
/// TLP's features (Zhai et al. 2023, section 4): a schedule as a matrix, one row a primitive.
///
/// A row is a one-hot of the primitive's kind, then its numbers in order; a name becomes a number by a table. Rows are cut or padded with zeros to
/// `columns`, the matrix to `rows`: late primitives and the tails of long lists fall off first. We may append a one-hot of the primitive's place,
/// which the network, blind to order, cannot see otherwise: it ranks better and learns in half the time when records are few.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/number.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/tlp/launch_features.hpp>

namespace augur::inline v0::tlp {

/// What a name after a primitive of one kind is worth.
struct word {
    std::string kind;
    std::string text;
    float value = 0;

    friend bool operator==(const tlp::word&, const tlp::word&) = default;
};

/// What becomes of a primitive whose kind is not in the vocabulary, and of a name that is not in the table.
enum class unknown_word : std::uint8_t {
    refuse, ///< errc::unknown_primitive
    zeros,  ///< a kind: no column is set; a name: 0
    other,  ///< a kind: the column behind the known ones; a name: the number behind its last '$' plus 1, or -1
};

struct vocabulary_options; // tlp/vocabulary.hpp

/// How schedules become matrices: vocabulary, sizes and rules. A model is bound to the schema it was trained with.
struct schema {
    std::string name;               ///< for a reader
    std::vector<std::string> kinds; ///< in the order of their columns
    std::vector<tlp::word> words;
    std::size_t kind_columns = 0; ///< width of the one-hot block; those behind `kinds` (and `other`) are spare
    std::size_t rows = 0;         ///< L, the most primitives that are seen
    std::size_t columns = 0;      ///< E, the whole width of a row
    std::size_t positions = 0;    ///< the last columns of a row: a one-hot of its place in the schedule; places beyond share the last
    unknown_word unknown = unknown_word::refuse;
    bool pad = true; ///< short schedules are filled up to L rows of zeros, which the network reads like any other row
    /// GPU schedules: behind the primitives a row of kind "TH" for each stage on threads: threads a block, work a thread, virtual threads, blocks
    /// (tlp/launch_features.hpp)
    bool launch_features = false;

    /// The authors' encoding of CPU schedules (LLVM vocabulary). Crops that they report: 25x22 (best), 25x40, 54x22, 54x40.
    static tlp::schema authors_cpu(std::size_t rows = 25, std::size_t columns = 22);
    /// The authors' encoding of GPU schedules (CUDA vocabulary), 40x20.
    static tlp::schema authors_gpu(std::size_t rows = 40, std::size_t columns = 20);
    /// Ansor's whole step language for CPU and GPU alike, room for kinds to come, places, no padding; a pragma counts by its number, not by a table.
    static tlp::schema ansor(std::size_t rows = 64, std::size_t numbers = 12, std::size_t positions = 32);

    /// The same with `launch_features`: which programs of a GPU are very slow, or fail, is a matter of products that no single step tells.
    static tlp::schema ansor_gpu(std::size_t rows = 64, std::size_t numbers = 12, std::size_t positions = 32);

    /// A vocabulary of somebody else's language: the kinds and names that these schedules use. Defined in tlp/vocabulary.hpp.
    template <schedule S>
    static result<tlp::schema> learn(std::span<const S> schedules, const vocabulary_options& options);

    /// Sizes that fit together: every kind (and `other`) has a column, L and E are at least 1, and there are at most 2^24 features.
    [[nodiscard]] result<void> check() const;
    /// Equal for equal encodings, whatever the name; in files of trees and checkpoints.
    [[nodiscard]] std::uint64_t hash() const;

    friend bool operator==(const tlp::schema&, const tlp::schema&) = default;
};

namespace detail {

struct known_word_sink {
    const tlp::schema& schema;
    bool any = false;

    void primitive(std::string_view kind) { any = any || std::find(schema.kinds.begin(), schema.kinds.end(), kind) != schema.kinds.end(); }
    void number(std::int64_t) const noexcept {}
    void number(double) const noexcept {}
    void name(std::string_view) const noexcept {}
};

/// Has the schema the kind of one primitive at least?
template <schedule S>
[[nodiscard]] bool knows_all_words(const tlp::schema& schema, const S& s) {
    known_word_sink sink{schema};
    schedule_traits<S>::visit(s, sink);
    return sink.any;
}

/// Writes rows as the visit goes along. The first failure sticks.
struct feature_sink {
    const tlp::schema& schema;
    float* out;
    std::size_t steps = 0;   ///< seen so far
    float* row = nullptr;    ///< the current one; null beyond L
    std::size_t column = 0;  ///< next number of the row
    std::string_view kind{}; ///< of the current primitive, a view into the schedule
    errc failed{};
    std::string failure{};

    void primitive(std::string_view next) {
        kind = next;
        const std::size_t at = steps++;
        row = at < schema.rows ? out + at * schema.columns : nullptr;
        if (row != nullptr) {
            std::fill_n(row, schema.columns, 0.0F);
            if (schema.positions > 0) row[numbers_end() + (std::min)(at, schema.positions - 1)] = 1;
        }
        column = schema.kind_columns;
        std::size_t k = 0;
        while (k < schema.kinds.size() && schema.kinds[k] != next) ++k;
        if (k == schema.kinds.size() && schema.unknown == unknown_word::refuse) return refuse("primitive", next);
        if (k == schema.kinds.size() && schema.unknown == unknown_word::zeros) return;
        if (row != nullptr && k < numbers_end()) row[k] = 1;
    }
    void number(std::int64_t n) { put(static_cast<float>(n)); }
    void number(double n) {
        const auto value = static_cast<float>(n);
        if (!std::isfinite(value)) {
            std::string came;
            if (std::isfinite(n)) append_number(came, n);
            else came = std::isnan(n) ? "NaN" : "an infinity";
            fail(errc::invalid_argument, "expected a number that is finite in float, got " + came);
        }
        put(value);
    }
    void name(std::string_view text) {
        for (const tlp::word& w : schema.words)
            if (w.text == text && w.kind == kind) return put(w.value);
        switch (schema.unknown) {
        case unknown_word::refuse: return refuse("name", text);
        case unknown_word::zeros: return put(0);
        case unknown_word::other: break;
        }
        const auto dollar = text.rfind('$');
        const auto n = dollar == std::string_view::npos ? std::nullopt : parse_int(text.substr(dollar + 1));
        put(n ? static_cast<float>(*n) + 1 : -1.0F);
    }

private:
    [[nodiscard]] std::size_t numbers_end() const { return schema.columns - schema.positions; }
    void put(float value) {
        if (row != nullptr && column < numbers_end()) row[column] = value;
        ++column;
    }
    void refuse(const char* what, std::string_view which) {
        fail(errc::unknown_primitive,
             std::string(what) + " '" + std::string(which.substr(0, 80)) + "' is not in the vocabulary '" + schema.name + "'");
    }
    void fail(errc code, const std::string& why) {
        if (failed != errc{}) return;
        failed = code;
        failure = "step " + std::to_string(steps == 0 ? 0 : steps - 1) + ": " + why;
    }
};

/// Replays a schedule into a sink of rows: its primitives and, where the schema has them, thread rows.
template <schedule S, class Sink>
void visit_with_launch_features(const S& s, bool launch_features, launch_follower& follower, Sink& sink) {
    if (!launch_features) return schedule_traits<S>::visit(s, sink);
    launch_feature_sink<Sink> both(sink, follower);
    schedule_traits<S>::visit(s, both);
    both.finish();
}

} // namespace detail

/// Writes the features of `s` to `out`, row-major (L, E).
///
/// @param out   schema.rows * schema.columns floats; with padding all of them are written, without it only the rows that are there
/// @return      how many rows are to be read: L with padding, else min(steps and thread rows, L)
/// @note        errors: unknown_primitive (names step and word) as the schema has it; invalid_argument, a number that no float holds.
///              Linear in the steps; allocates only for an error and for thread rows; safe to call concurrently on distinct memory.
///              pre: schema.check()
template <schedule S>
[[nodiscard]] result<std::size_t> extract_features(const S& s, const tlp::schema& schema, std::span<float> out) {
    AUGUR_ASSERT(out.size() == schema.rows * schema.columns, "tlp_features: shape");
    detail::feature_sink sink{schema, out.data()};
    launch_follower follower;
    detail::visit_with_launch_features(s, schema.launch_features, follower, sink);
    if (sink.failed != errc{}) return error{sink.failed, std::move(sink.failure)};
    const std::size_t seen = (std::min)(sink.steps, schema.rows);
    if (!schema.pad) return seen;
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(seen * schema.columns), out.end(), 0.0F);
    return schema.rows;
}

inline tlp::schema tlp::schema::authors_cpu(std::size_t rows, std::size_t columns) {
    tlp::schema s;
    s.name = "authors-cpu";
    s.kinds = {"CI", "RE", "AN", "RF", "CHW", "SP", "CR", "CA", "FU", "FSP", "PR"};
    s.words = {{"PR", "auto_unroll_max_step$16", 1},
               {"PR", "auto_unroll_max_step$0", 2},
               {"PR", "auto_unroll_max_step$512", 3},
               {"PR", "auto_unroll_max_step$64", 4},
               {"CHW", "local", 1},
               {"CHW", "shared", 2},
               {"CHW", "global", 3},
               {"CHR", "shared", 1}};
    s.kind_columns = s.kinds.size();
    s.rows = rows;
    s.columns = columns;
    return s;
}

inline tlp::schema tlp::schema::authors_gpu(std::size_t rows, std::size_t columns) {
    tlp::schema s;
    s.name = "authors-gpu";
    s.kinds = {"AN", "CHR", "CHW", "CI", "CA", "FFSP", "SP", "FU", "RE", "PR", "FSP"};
    s.words = {{"PR", "auto_unroll_max_step$0", 1},
               {"PR", "auto_unroll_max_step$16", 2},
               {"PR", "auto_unroll_max_step$64", 3},
               {"PR", "auto_unroll_max_step$1024", 4},
               {"PR", "auto_unroll_max_step$512", 5},
               {"CHW", "local", 1},
               {"CHW", "shared", 2},
               {"CHW", "global", 3},
               {"CHR", "shared", 1}};
    s.kind_columns = s.kinds.size();
    s.rows = rows;
    s.columns = columns;
    return s;
}

inline tlp::schema tlp::schema::ansor(std::size_t rows, std::size_t numbers, std::size_t positions) {
    tlp::schema s;
    s.name = "ansor";
    s.kinds = {"AN", "FU", "PR", "RE", "SP", "FSP", "FFSP", "SA", "CA", "CI", "CR", "CHR", "CHW", "RF"};
    s.words = {{"CHW", "local", 1}, {"CHW", "shared", 2}, {"CHW", "global", 3}, {"CHR", "local", 1}, {"CHR", "shared", 2}, {"CHR", "global", 3}};
    s.kind_columns = 20;
    s.rows = rows;
    s.columns = s.kind_columns + numbers + positions;
    s.positions = positions;
    s.unknown = unknown_word::other;
    s.pad = false;
    return s;
}

inline tlp::schema tlp::schema::ansor_gpu(std::size_t rows, std::size_t numbers, std::size_t positions) {
    tlp::schema s = ansor(rows, numbers, positions);
    s.name = "ansor-gpu";
    s.kinds.emplace_back("TH");
    s.launch_features = true;
    return s;
}

inline result<void> tlp::schema::check() const {
    const std::size_t need = kinds.size() + (unknown == unknown_word::other ? 1 : 0);
    if (kind_columns < need)
        return error{errc::shape_mismatch,
                     "tlp schema '" + name + "': " + std::to_string(need) + " kinds need as many columns, it has " + std::to_string(kind_columns)};
    if (rows == 0 || columns == 0 || rows > 65536 || columns > 65536)
        return error{errc::shape_mismatch, "tlp schema '" + name + "': expected 1 to 65536 rows and columns, got " + std::to_string(rows) + " x " +
                                               std::to_string(columns)};
    if (rows * columns > std::size_t{1} << 24U) // a reader takes memory for them
        return error{errc::limit,
                     "tlp schema '" + name + "': " + std::to_string(rows) + " x " + std::to_string(columns) + " features, the limit is 16777216"};
    if (positions > columns)
        return error{errc::shape_mismatch, "tlp schema '" + name + "': " + std::to_string(positions) + " positions do not fit into " +
                                               std::to_string(columns) + " columns"};
    for (const auto& w : words)
        if (!std::isfinite(w.value))
            return error{errc::invalid_argument, "tlp schema '" + name + "': the name '" + w.kind + "." + w.text + "' is worth " +
                                                     std::to_string(w.value) + ", expected a number"};
    return {};
}

inline std::uint64_t tlp::schema::hash() const {
    std::string text = "tlp2";
    const auto add = [&](std::string_view part) { ((text += std::to_string(part.size())) += ':') += part; }; // so no two lists read alike
    add(std::to_string(kinds.size()));
    for (const auto& k : kinds) add(k);
    for (const auto& w : words) {
        add(w.kind);
        add(w.text);
        add(std::to_string(std::bit_cast<std::uint32_t>(w.value + 0.0F))); // -0 is 0
    }
    for (const std::size_t n : {kind_columns, rows, columns, positions, static_cast<std::size_t>(unknown), static_cast<std::size_t>(pad)})
        add(std::to_string(n));
    add(launch_features ? "thread rows" : "");
    return fnv1a64(text);
}

/// Are two schemas the same encoding (their names may differ)? A model and what it is given must agree in it.
///
/// @param a_from, b_from  where each comes from, e.g. a file; said in the error
/// @return                errors: version_mismatch, with what both have where they differ first
inline result<void> same_schema(const tlp::schema& a, std::string_view a_from, const tlp::schema& b, std::string_view b_from) {
    const auto differ = [&](const std::string& of_a, const std::string& of_b) {
        const auto side = [](const tlp::schema& s, std::string_view from, const std::string& has) {
            return "'" + std::string(from) + "' (schema '" + s.name + "') has " + has;
        };
        return error{errc::version_mismatch, "tlp schema: " + side(a, a_from, of_a) + ", " + side(b, b_from, of_b)};
    };
    const auto crop = [](const tlp::schema& s) { return std::to_string(s.rows) + " x " + std::to_string(s.columns) + " features"; };
    if (a.rows != b.rows || a.columns != b.columns) return differ(crop(a), crop(b));
    const auto kind = [](const tlp::schema& s, std::size_t i) {
        return i < s.kinds.size() ? "kind " + std::to_string(i) + " '" + s.kinds[i] + "'" : std::to_string(s.kinds.size()) + " kinds";
    };
    for (std::size_t i = 0; i < (std::max)(a.kinds.size(), b.kinds.size()); ++i)
        if (i >= a.kinds.size() || i >= b.kinds.size() || a.kinds[i] != b.kinds[i]) return differ(kind(a, i), kind(b, i));
    const auto word = [](const tlp::schema& s, std::size_t i) {
        if (i >= s.words.size()) return std::to_string(s.words.size()) + " names";
        std::string text = "name '" + s.words[i].kind + "." + s.words[i].text + "' = ";
        append_number(text, static_cast<double>(s.words[i].value));
        return text;
    };
    for (std::size_t i = 0; i < (std::max)(a.words.size(), b.words.size()); ++i)
        if (i >= a.words.size() || i >= b.words.size() || !(a.words[i] == b.words[i])) return differ(word(a, i), word(b, i));
    const auto rules = [](const tlp::schema& s) {
        return std::to_string(s.kind_columns) + " columns for kinds, " + std::to_string(s.positions) + " for places, rule " +
               std::to_string(static_cast<int>(s.unknown)) + " for the unknown and " + (s.pad ? "padding" : "no padding") +
               (s.launch_features ? ", thread rows" : "");
    };
    if (rules(a) != rules(b)) return differ(rules(a), rules(b));
    return {};
}

} // namespace augur::inline v0::tlp

#endif
