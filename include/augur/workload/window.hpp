// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_WINDOW_HPP
#define AUGUR_WORKLOAD_WINDOW_HPP

/// @file
/// The value of a kernel's parameter, which may differ between spatial axes, and the window of an operator along one axis.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <augur/core/number.hpp>

namespace augur::inline v0 {

/// The value of a parameter: one number, or one for each spatial axis, or (padding) first those before each axis and then those behind each axis.
/// Text form: `3`, `3x5`, `0x1x2x1`.
class parameter_value {
public:
    static constexpr std::size_t capacity = 6; ///< both sides of three axes

    constexpr parameter_value() = default; ///< no number
    constexpr parameter_value(std::int64_t number) : numbers_{number}, count_(1) {}
    constexpr parameter_value(std::initializer_list<std::int64_t> numbers) {
        for (const auto n : numbers) add(n);
    }

    /// Numbers with `separator` between them; nothing if a part is no whole number.
    static std::optional<parameter_value> parse(std::string_view text, std::string_view separator = "x") {
        parameter_value out;
        for (std::size_t at = 0;;) {
            const auto end = (std::min)(text.find(separator, at), text.size());
            const auto number = parse_int(text.substr(at, end - at));
            if (!number) return std::nullopt;
            out.add(*number);
            if (end == text.size()) return out;
            at = end + separator.size();
        }
    }
    [[nodiscard]] std::string text(std::string_view separator = "x") const {
        std::string out;
        for (std::size_t i = 0; i < count_; ++i) out.append(i == 0 ? "" : separator).append(std::to_string((*this)[i]));
        return out;
    }

    /// How many numbers were given; those beyond the capacity are counted and not kept.
    [[nodiscard]] constexpr std::size_t count() const noexcept { return count_; }
    /// pre: i < capacity
    [[nodiscard]] constexpr std::int64_t operator[](std::size_t i) const noexcept { return numbers_[i]; }
    /// The number for spatial axis `axis` of `rank`: before the axis, and, where the value tells them apart, behind it.
    [[nodiscard]] constexpr std::int64_t before(std::size_t axis) const noexcept { return numbers_[count_ == 1 ? 0 : axis]; }
    [[nodiscard]] constexpr std::int64_t behind(std::size_t axis, std::size_t rank) const noexcept {
        return count_ == 2 * rank ? numbers_[rank + axis] : before(axis);
    }

    /// The same value in as few numbers as possible.   pre: count() is 1, rank or 2 rank
    [[nodiscard]] constexpr parameter_value shortened(std::size_t rank) const {
        const auto begin = numbers_.begin();
        parameter_value out = *this;
        const auto keep = [&](std::size_t n) {
            for (std::size_t i = n; i < out.count_; ++i) out.numbers_[i] = 0;
            out.count_ = n;
        };
        if (count_ == 2 * rank && std::equal(begin, begin + static_cast<std::ptrdiff_t>(rank), begin + static_cast<std::ptrdiff_t>(rank))) keep(rank);
        if (out.count_ > 1 && out.count_ == rank && std::count(begin, begin + static_cast<std::ptrdiff_t>(rank), *begin) == std::ptrdiff_t(rank))
            keep(1);
        return out;
    }

    friend constexpr bool operator==(const parameter_value&, const parameter_value&) = default;

private:
    std::array<std::int64_t, capacity> numbers_{};
    std::size_t count_ = 0;

    constexpr void add(std::int64_t n) {
        if (count_ < capacity) numbers_[count_] = n;
        ++count_;
    }
};

/// An operator's window along one spatial axis.
struct window_axis {
    std::int64_t in = 1;         ///< extent of the input
    std::int64_t out = 1;        ///< extent of the output
    std::int64_t k = 1;          ///< elements of the window
    std::int64_t stride = 1;     ///< between neighbouring windows; in a transposed convolution between the outputs of neighbouring inputs
    std::int64_t dilation = 1;   ///< between neighbouring elements of a window
    std::int64_t pad_before = 0; ///< border of the input; what a transposed convolution cuts off its output
    std::int64_t pad_behind = 0;
    std::int64_t opad = 0; ///< what a transposed convolution adds behind its output

    /// The extent that a window covers.
    [[nodiscard]] constexpr std::int64_t span() const noexcept { return dilation * (k - 1) + 1; }
};

} // namespace augur::inline v0

#endif
