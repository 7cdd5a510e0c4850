// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_FEATURES_HPP
#define AUGUR_TLP_FEATURES_HPP

/// @file
/// Feature extraction of TLP (Zhai et al. 2023, section 4): encodes a schedule as a matrix with one row per primitive.
///
/// A row is a one-hot of the primitive's kind, followed by its numeric parameters in order; a lookup table maps names to numbers. Rows are cropped
/// or zero-padded to `columns`, the matrix to `rows`: the last primitives and the last parameters are cropped. A schema may append a one-hot of the
/// primitive's position. The attention model has no positional encoding, so it ranks better and trains in half the time with that one-hot when
/// there are few records.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/tlp/detail/row_encoding.hpp>
#include <augur/tlp/launch_features.hpp>
#include <augur/tlp/schema.hpp>

namespace augur::inline v0::tlp {

/// Writes the features of `s` to `out`, row-major (L, E).
///
/// @param out       schema.rows * schema.columns floats; with padding all are written, without it only the returned number of rows
/// @param follower  scratch memory for launch features; reuse one object for many schedules
/// @return          number of valid rows: L with padding, else min(steps + launch-feature rows, L)
/// @note            errors: unknown_primitive (names the step and the word) with unknown_word::refuse; invalid_argument for a number that is not
///                  finite in float. Linear in the steps; allocates only for an error and to grow `follower`; safe to call concurrently on distinct
///                  memory. pre: schema.check()
template <class S>
[[nodiscard]] result<std::size_t> extract_features(const S& s, const tlp::schema& schema, std::span<float> out, launch_follower& follower) {
    augur::detail::require_schedule<S>();
    AUGUR_ASSERT(out.size() == schema.rows * schema.columns, "extract_features: shape");
    detail::row_encoder<detail::float_rows> encoder(schema, detail::float_rows{schema, out});
    const auto [encoded, padding] = detail::encode_rows(s, schema.launch_features, follower, encoder);
    if (auto& rows = encoder.rows(); rows.failed != errc{}) return error{rows.failed, std::move(rows.failure)};
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(encoded * schema.columns), padding * schema.columns, 0.0F);
    return encoded + padding;
}

/// As above, with scratch memory of its own.
template <class S>
[[nodiscard]] result<std::size_t> extract_features(const S& s, const tlp::schema& schema, std::span<float> out) {
    launch_follower follower;
    return extract_features(s, schema, out, follower);
}

} // namespace augur::inline v0::tlp

#endif
