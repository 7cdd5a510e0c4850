// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_BENCH_TRACES_HPP
#define AUGUR_BENCH_TRACES_HPP

/// @file
/// Memory traces of tensor programs, line addresses of 64 bytes, as tests/vectors/crop_cachesim.json describes them.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace traces {

using lines = std::vector<std::uint64_t>;
inline constexpr std::uint64_t base = 0x100000000 / 64;

/// C (n, n) += A (n, n) B (n, n) in float with rows of `ld`, in tiles of b, `vector` columns at a time.
inline lines mm_blocked(std::uint64_t n, std::uint64_t b, std::uint64_t vector, std::uint64_t ld) {
    const std::uint64_t size = (n * ld * 4 + 63) / 64, A = base, B = A + size + 1, C = B + size + 1;
    const auto line = [ld](std::uint64_t of, std::uint64_t i, std::uint64_t j) { return of + (i * ld + j) * 4 / 64; };
    lines out;
    out.reserve(n * n * (3 * (n + vector - 1) / vector + (n + b - 1) / b));
    for (std::uint64_t i0 = 0; i0 < n; i0 += b)
        for (std::uint64_t j0 = 0; j0 < n; j0 += b)
            for (std::uint64_t k0 = 0; k0 < n; k0 += b)
                for (std::uint64_t i = i0; i < (std::min)(n, i0 + b); ++i)
                    for (std::uint64_t k = k0; k < (std::min)(n, k0 + b); ++k) {
                        out.push_back(line(A, i, k));
                        for (std::uint64_t j = j0; j < (std::min)(n, j0 + b); j += vector)
                            for (const auto x : {line(B, k, j), line(C, i, j), line(C, i, j)}) out.push_back(x);
                    }
    return out;
}

/// The same by three plain loops.
inline lines mm_naive(std::uint64_t n, std::uint64_t ld) {
    const std::uint64_t size = (n * ld * 4 + 63) / 64, A = base, B = A + size + 1, C = B + size + 1;
    const auto line = [ld](std::uint64_t of, std::uint64_t i, std::uint64_t j) { return of + (i * ld + j) * 4 / 64; };
    lines out;
    out.reserve(n * n * (2 * n + 1));
    for (std::uint64_t i = 0; i < n; ++i)
        for (std::uint64_t j = 0; j < n; ++j) {
            for (std::uint64_t k = 0; k < n; ++k)
                for (const auto x : {line(A, i, k), line(B, k, j)}) out.push_back(x);
            out.push_back(line(C, i, j));
        }
    return out;
}

/// A convolution of 3 by 3, channels in groups of 16 (a line), rows of 14 points at a time.
inline lines conv16c(std::uint64_t in_channels, std::uint64_t out_channels, std::uint64_t height, std::uint64_t width) {
    const std::uint64_t hp = height + 2, wp = width + 2;
    const std::uint64_t in = base, weight = in + in_channels / 16 * hp * wp + 1, result = weight + out_channels / 16 * in_channels * 9 + 1;
    lines out;
    for (std::uint64_t ob = 0; ob < out_channels / 16; ++ob)
        for (std::uint64_t h = 0; h < height; ++h)
            for (std::uint64_t w = 0; w < width; w += 14) {
                for (std::uint64_t ic = 0; ic < in_channels; ++ic)
                    for (std::uint64_t r = 0; r < 3; ++r)
                        for (std::uint64_t s = 0; s < 3; ++s) {
                            out.push_back(weight + (ob * in_channels + ic) * 9 + r * 3 + s);
                            for (std::uint64_t x = 0; x < 14; ++x) out.push_back(in + (ic / 16 * hp + h + r) * wp + w + x + s);
                        }
                for (std::uint64_t x = 0; x < 14; ++x) out.push_back(result + (ob * height + h) * width + w + x);
            }
    return out;
}

/// n accesses, each to one of `count` lines.
inline lines uniform(std::size_t n, std::uint64_t count, std::uint64_t seed = 1) {
    augur::random_engine draw(seed);
    lines out(n);
    for (auto& x : out) x = draw.below(count);
    return out;
}

} // namespace traces

#endif
