// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_DETAIL_NEST_INDEX_HPP
#define AUGUR_SPACE_DETAIL_NEST_INDEX_HPP

/// @file
/// Arithmetic on the indices of a loop nest: `n * 12 + f % 4 * 3` instead of lists of digits.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0::detail {

/// A sum of digits. Digits that are always 0 are left out, and a quotient and a remainder that make up one digit become that digit again, as in TVM's
/// simplified indices.
class nest_index {
public:
    nest_index() = default; ///< 0
    /// The iteration number of a loop.
    nest_index(std::uint32_t loop, std::int64_t extent) {
        if (extent > 1) terms_[size_++] = {{loop, 1, 1, 0}, extent};
    }

    [[nodiscard]] std::vector<nest_digit> digits() const {
        std::vector<nest_digit> out(size_);
        for (std::size_t i = 0; i < size_; ++i) out[i] = terms_[i].digit;
        return out;
    }

    friend nest_index operator*(nest_index a, std::int64_t factor) {
        for (std::size_t i = 0; i < a.size_; ++i) a.terms_[i].digit.stride *= factor;
        return a;
    }
    friend nest_index operator+(nest_index a, const nest_index& b) {
        for (std::size_t i = 0; i < b.size_; ++i) a.add(b.terms_[i]);
        return a;
    }
    /// pre: at most one digit, of stride 1, whose modulo is a multiple of the divisor
    friend nest_index operator/(nest_index a, std::int64_t divisor) {
        if (a.size_ == 0) return a;
        auto& [digit, values] = a.only();
        AUGUR_ASSERT(digit.modulo % divisor == 0, "nest_index: the quotient of a remainder");
        digit.divide *= divisor;
        digit.modulo /= divisor;
        values = (values + divisor - 1) / divisor;
        if (values == 1) a.size_ = 0;
        return a;
    }
    /// pre: as for `/`
    friend nest_index operator%(nest_index a, std::int64_t modulo) {
        if (a.size_ == 0) return a;
        auto& [digit, values] = a.only();
        if (modulo >= values) return a;
        AUGUR_ASSERT(digit.modulo % modulo == 0, "nest_index: the remainder of a remainder");
        digit.modulo = values = modulo;
        if (values == 1) a.size_ = 0;
        return a;
    }

private:
    struct term {
        nest_digit digit;
        std::int64_t values = 0; ///< how many values the quotient or remainder has
    };
    std::array<term, 16> terms_; // a convolution on a GPU has 15
    std::size_t size_ = 0;

    [[nodiscard]] term& only() {
        AUGUR_ASSERT(size_ == 1 && terms_[0].digit.stride == 1, "nest_index: division of a sum");
        return terms_[0];
    }
    /// Does `high` continue `low`, as the quotient that belongs to the remainder?
    [[nodiscard]] static bool continues(const nest_digit& high, const nest_digit& low) noexcept {
        return low.modulo > 0 && high.loop == low.loop && high.divide == low.divide * low.modulo && high.stride == low.stride * low.modulo;
    }
    void add(term t) {
        for (std::size_t i = 0; i < size_; ++i) {
            const term& other = terms_[i];
            const bool above = continues(t.digit, other.digit);
            if (!above && !continues(other.digit, t.digit)) continue;
            const term &high = above ? t : other, &low = above ? other : t;
            t = {{t.digit.loop, low.digit.stride, low.digit.divide, high.digit.modulo * low.digit.modulo}, high.values * low.values};
            terms_[i] = terms_[--size_];
            return add(t);
        }
        AUGUR_ASSERT(size_ < terms_.size(), "nest_index: too many digits");
        terms_[size_++] = t;
    }
};

} // namespace augur::inline v0::detail

#endif
