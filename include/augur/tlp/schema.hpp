// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_SCHEMA_HPP
#define AUGUR_TLP_SCHEMA_HPP

/// @file
/// Schema of TLP's features (Zhai et al. 2023, section 4): vocabulary, matrix size and rules of the encoding.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/number.hpp>
#include <augur/tlp/launch_features.hpp>

namespace augur::inline v0::tlp {

/// Vocabulary entry: the numeric value of name `text` as a parameter of primitives of kind `kind`.
struct word {
    std::string kind;
    std::string text;
    float value = 0;

    friend bool operator==(const word&, const word&) = default;
};

/// How to encode a primitive whose kind, or a name that, is not in the vocabulary.
enum class unknown_word : std::uint8_t {
    refuse, ///< errc::unknown_primitive
    zeros,  ///< unknown kind: no one-hot column is set; unknown name: 0
    other,  ///< unknown kind: the column after the known kinds; unknown name: 1 + the integer after its last '$', or -1 without one
};

struct vocabulary_options; // tlp/vocabulary.hpp

/// Encoding of schedules as matrices: vocabulary, matrix size and rules. A model accepts only features of the schema it was trained with.
struct schema {
    std::string name;               ///< for messages; not part of the encoding
    std::vector<std::string> kinds; ///< in the order of their columns
    std::vector<word> words;
    std::size_t kind_columns = 0; ///< width of the one-hot block; columns after `kinds` (and `other`) are spare
    std::size_t rows = 0;         ///< L, maximum number of encoded primitives
    std::size_t columns = 0;      ///< E, total width of a row
    std::size_t positions = 0;    ///< width of the position one-hot, the last columns of a row; later positions share the last column
    unknown_word unknown = unknown_word::refuse;
    bool pad = true; ///< fill short schedules to L rows with rows of zeros, which the model reads like any other row
    /// GPU schedules: after the primitives, append one row of kind "TH" per stage bound to threadIdx.x, with four numbers: threads per block, work
    /// per thread, virtual threads, blocks (tlp/launch_features.hpp)
    bool launch_features = false;

    /// The authors' encoding of CPU schedules (LLVM vocabulary). Matrix sizes in the paper: 25x22 (best), 25x40, 54x22, 54x40.
    static schema authors_cpu(std::size_t rows = 25, std::size_t columns = 22);
    /// The authors' encoding of GPU schedules (CUDA vocabulary), 40x20.
    static schema authors_gpu(std::size_t rows = 40, std::size_t columns = 20);
    /// All of Ansor's transform steps, for CPU and GPU: 14 kinds in 20 kind columns, position one-hot, no padding; a pragma is encoded by 1 + the
    /// integer after its '$', not by the lookup table.
    static schema ansor(std::size_t rows = 64, std::size_t numbers = 12, std::size_t positions = 32);

    /// `ansor` with `launch_features`: whether a GPU program is very slow or fails depends on products of extents from several steps.
    static schema ansor_gpu(std::size_t rows = 64, std::size_t numbers = 12, std::size_t positions = 32);

    /// Builds a schema for any schedule language from the kinds and names in `schedules`, a vector, an array or a span of them. Defined in tlp/vocabulary.hpp.
    template <class Range>
    static result<schema> learn(const Range& schedules, const vocabulary_options& options);

    /// Validates the sizes: every kind (and `other`) has a column, L and E are 1 to 65536, L * E is at most 2^24, values of words are finite.
    /// Errors: shape_mismatch, limit, invalid_argument.
    [[nodiscard]] result<void> check() const;
    /// 64-bit hash of the encoding; ignores `name`. Stored in files of boosted trees and part of the run hash in checkpoints.
    [[nodiscard]] std::uint64_t hash() const;

    friend bool operator==(const schema&, const schema&) = default;
};

inline schema schema::authors_cpu(std::size_t rows, std::size_t columns) {
    schema s;
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

inline schema schema::authors_gpu(std::size_t rows, std::size_t columns) {
    schema s;
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

inline schema schema::ansor(std::size_t rows, std::size_t numbers, std::size_t positions) {
    schema s;
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

inline schema schema::ansor_gpu(std::size_t rows, std::size_t numbers, std::size_t positions) {
    schema s = ansor(rows, numbers, positions);
    s.name = "ansor-gpu";
    s.kinds.emplace_back(launch_follower::kind);
    s.launch_features = true;
    return s;
}

inline result<void> schema::check() const {
    const std::size_t need = kinds.size() + (unknown == unknown_word::other ? 1 : 0);
    if (kind_columns < need)
        return error{errc::shape_mismatch,
                     "tlp schema '" + name + "': " + std::to_string(need) + " kinds need as many columns, it has " + std::to_string(kind_columns)};
    if (rows == 0 || columns == 0 || rows > 65536 || columns > 65536)
        return error{errc::shape_mismatch, "tlp schema '" + name + "': expected 1 to 65536 rows and columns, got " + std::to_string(rows) + " x " +
                                               std::to_string(columns)};
    if (rows * columns > std::size_t{1} << 24U) // bounds the memory that a reader of a file allocates
        return error{errc::limit,
                     "tlp schema '" + name + "': " + std::to_string(rows) + " x " + std::to_string(columns) + " features, the limit is 16777216"};
    if (positions > columns)
        return error{errc::shape_mismatch, "tlp schema '" + name + "': " + std::to_string(positions) + " positions do not fit into " +
                                               std::to_string(columns) + " columns"};
    for (const auto& w : words)
        if (!std::isfinite(w.value))
            return error{errc::invalid_argument, "tlp schema '" + name + "': expected a finite value of the name '" + w.kind + "." + w.text +
                                                     "', got " + std::to_string(w.value)};
    return {};
}

inline std::uint64_t schema::hash() const {
    std::string text = "tlp2";
    // the length prefix keeps different lists of strings from giving the same text
    const auto add = [&](std::string_view part) { ((text += std::to_string(part.size())) += ':') += part; };
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

/// Checks that two schemas are the same encoding; their names may differ. A model and its input features must have the same encoding.
///
/// @param a_from, b_from  origin of each schema for the message, e.g. a file name
/// @return                errors: version_mismatch, which shows the first difference
inline result<void> same_schema(const schema& a, std::string_view a_from, const schema& b, std::string_view b_from) {
    const auto differ = [&](const std::string& a_value, const std::string& b_value) {
        const auto side = [](const schema& s, std::string_view from, const std::string& value) {
            return "'" + std::string(from) + "' (schema '" + s.name + "') has " + value;
        };
        return error{errc::version_mismatch, "tlp schema: " + side(a, a_from, a_value) + ", " + side(b, b_from, b_value)};
    };
    const auto crop = [](const schema& s) { return std::to_string(s.rows) + " x " + std::to_string(s.columns) + " features"; };
    if (a.rows != b.rows || a.columns != b.columns) return differ(crop(a), crop(b));
    const auto kind = [](const schema& s, std::size_t i) {
        return i < s.kinds.size() ? "kind " + std::to_string(i) + " '" + s.kinds[i] + "'" : std::to_string(s.kinds.size()) + " kinds";
    };
    for (std::size_t i = 0; i < (std::max)(a.kinds.size(), b.kinds.size()); ++i)
        if (i >= a.kinds.size() || i >= b.kinds.size() || a.kinds[i] != b.kinds[i]) return differ(kind(a, i), kind(b, i));
    const auto word = [](const schema& s, std::size_t i) {
        if (i >= s.words.size()) return std::to_string(s.words.size()) + " names";
        std::string text = "name '" + s.words[i].kind + "." + s.words[i].text + "' = ";
        append_number(text, static_cast<double>(s.words[i].value));
        return text;
    };
    for (std::size_t i = 0; i < (std::max)(a.words.size(), b.words.size()); ++i)
        if (i >= a.words.size() || i >= b.words.size() || !(a.words[i] == b.words[i])) return differ(word(a, i), word(b, i));
    const auto rules = [](const schema& s) {
        return std::to_string(s.kind_columns) + " columns for kinds, " + std::to_string(s.positions) + " for places, rule " +
               std::to_string(static_cast<int>(s.unknown)) + " for the unknown and " + (s.pad ? "padding" : "no padding") +
               (s.launch_features ? ", thread rows" : "");
    };
    if (rules(a) != rules(b)) return differ(rules(a), rules(b));
    return {};
}

} // namespace augur::inline v0::tlp

#endif
