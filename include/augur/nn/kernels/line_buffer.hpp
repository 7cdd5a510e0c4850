// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_LINE_BUFFER_HPP
#define AUGUR_NN_KERNELS_LINE_BUFFER_HPP

/// @file
/// Growing buffer aligned to cache lines, for vector kernels.

#include <cstddef>
#include <vector>

namespace augur::inline v0 {
namespace nn::kernels {

/// Buffer aligned to a cache line. Grows and keeps its contents.
template <class T>
class line_buffer {
public:
    line_buffer() = default;
    explicit line_buffer(std::size_t n) { reserve(n); }
    T* reserve(std::size_t n) {
        const std::size_t lines = (n + per_line - 1) / per_line;
        if (lines_.size() < lines) lines_.resize(lines);
        return data();
    }
    [[nodiscard]] T* data() { return lines_.empty() ? nullptr : lines_.data()->x; }
    [[nodiscard]] const T* data() const { return lines_.empty() ? nullptr : lines_.data()->x; }

private:
    static constexpr std::size_t per_line = 64 / sizeof(T);
    struct alignas(64) line {
        T x[per_line];
    };
    std::vector<line> lines_;
};

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
