// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_AFFINE_HPP
#define AUGUR_LOOPNEST_DETAIL_AFFINE_HPP

/// @file
/// Affine index expressions: sums of loop variables with integer factors, and of quotients and remainders of such sums. Each term has a known range.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0::loopnest {

/// constant + sum of factor * term. Terms are sorted by number and factors are nonzero, so equal sums compare equal.
struct affine {
    std::int64_t constant = 0;
    std::vector<std::pair<int, std::int64_t>> terms; ///< (term, factor)

    affine() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): implicit conversion from a constant is intended
    affine(std::int64_t c) : constant(c) {}

    [[nodiscard]] bool is_constant() const noexcept { return terms.empty(); }
    [[nodiscard]] std::int64_t factor(int term) const noexcept {
        for (const auto& [t, f] : terms)
            if (t == term) return f;
        return 0;
    }

    affine& add(const affine& other, std::int64_t scale = 1) {
        constant += other.constant * scale;
        if (scale == 0 || other.terms.empty()) return *this;
        std::vector<std::pair<int, std::int64_t>> merged;
        merged.reserve(terms.size() + other.terms.size());
        auto a = terms.begin();
        auto b = other.terms.begin();
        while (a != terms.end() || b != other.terms.end()) {
            if (b == other.terms.end() || (a != terms.end() && a->first < b->first)) merged.push_back(*a++);
            else if (a == terms.end() || b->first < a->first) {
                merged.emplace_back(b->first, b->second * scale);
                ++b;
            } else {
                if (const auto f = a->second + b->second * scale; f != 0) merged.emplace_back(a->first, f);
                ++a;
                ++b;
            }
        }
        terms = std::move(merged);
        return *this;
    }

    friend affine operator+(affine a, const affine& b) { return std::move(a.add(b)); }
    friend affine operator-(affine a, const affine& b) { return std::move(a.add(b, -1)); }
    friend affine operator*(affine a, std::int64_t f) {
        if (f == 0) return {};
        a.constant *= f;
        for (auto& t : a.terms) t.second *= f;
        return a;
    }
    friend bool operator==(const affine&, const affine&) = default;
};

/// Smallest and largest value, both inclusive.
struct index_range {
    std::int64_t low = 0;
    std::int64_t high = 0;
    friend bool operator==(const index_range&, const index_range&) = default;
};

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    const auto q = a / b;
    return a % b < 0 ? q - 1 : q;
}

/// The terms of the affine expressions of one kernel. Quotients and remainders are simplified by the range of their operand. Equal terms share one
/// number, so the equal indices that tiling produces compare equal.
class term_table {
public:
    struct term {
        enum class kind : std::uint8_t { loop, quotient, remainder } type{};
        affine operand;           ///< of a quotient or remainder
        std::int64_t divisor = 1; ///< of a quotient or remainder
        index_range range;
    };

    [[nodiscard]] const term& operator[](int t) const { return terms_[static_cast<std::size_t>(t)]; }
    [[nodiscard]] std::size_t size() const noexcept { return terms_.size(); }

    /// Adds a loop variable over [0, extent) and returns its term number.
    int loop(std::int64_t extent) {
        terms_.push_back({term::kind::loop, {}, 1, {0, extent - 1}});
        return static_cast<int>(terms_.size()) - 1;
    }

    static affine value(int t) {
        affine a;
        a.terms.emplace_back(t, 1);
        return a;
    }

    [[nodiscard]] index_range range(const affine& a) const {
        index_range r{a.constant, a.constant};
        for (const auto& [t, f] : a.terms) {
            const auto& x = (*this)[t].range;
            r.low += f > 0 ? f * x.low : f * x.high;
            r.high += f > 0 ? f * x.high : f * x.low;
        }
        return r;
    }

    /// floor(a / by).   pre: by > 0
    affine quotient(const affine& a, std::int64_t divisor) {
        AUGUR_ASSERT(divisor > 0, "term_table: divisor");
        if (divisor == 1) return a;
        auto [whole, rest] = cut(a, divisor);
        const auto r = range(rest);
        if (const auto q = floor_div(r.low, divisor); q == floor_div(r.high, divisor)) return whole + affine(q);
        if (const auto parts = digits(rest, divisor); parts.base > 1) return whole + quotient(parts.high, divisor / parts.base);
        const auto [g, small] = reduce(rest, divisor);
        return whole + value(intern(term::kind::quotient, small, divisor / g));
    }

    /// a - by * floor(a / by).   pre: by > 0
    affine remainder(const affine& a, std::int64_t divisor) {
        AUGUR_ASSERT(divisor > 0, "term_table: divisor");
        if (divisor == 1) return {};
        auto [whole, rest] = cut(a, divisor);
        const auto r = range(rest);
        if (const auto q = floor_div(r.low, divisor); q == floor_div(r.high, divisor)) return rest - affine(q * divisor);
        if (const auto parts = digits(rest, divisor); parts.base > 1) return remainder(parts.high, divisor / parts.base) * parts.base + parts.low;
        const auto [g, small] = reduce(rest, divisor);
        const auto low_part = rest.constant - floor_div(rest.constant, g) * g;
        return value(intern(term::kind::remainder, small, divisor / g)) * g + affine(low_part);
    }

    /// True if the value of `t` depends on a loop for which `varies(loop)` is true.
    template <class F>
    [[nodiscard]] bool depends(int t, const F& varies) const {
        const auto& x = (*this)[t];
        if (x.type == term::kind::loop) return varies(t);
        return std::any_of(x.operand.terms.begin(), x.operand.terms.end(), [&](const auto& p) { return depends(p.first, varies); });
    }
    template <class F>
    [[nodiscard]] bool depends(const affine& a, const F& varies) const {
        return std::any_of(a.terms.begin(), a.terms.end(), [&](const auto& p) { return depends(p.first, varies); });
    }

    /// `a` with every loop t replaced by the affine `replacement(t)`; `value(t)` keeps the loop.
    template <class F>
    affine substitute(const affine& a, const F& replacement) {
        affine out(a.constant);
        for (const auto& [t, f] : a.terms) {
            const auto type = (*this)[t].type;
            if (type == term::kind::loop) {
                out.add(replacement(t), f);
                continue;
            }
            const auto divisor = (*this)[t].divisor;
            const auto inner = substitute(affine((*this)[t].operand), replacement); // copy: interning may reallocate the table
            if (inner == (*this)[t].operand) out.add(value(t), f);
            else out.add(type == term::kind::quotient ? quotient(inner, divisor) : remainder(inner, divisor), f);
        }
        return out;
    }

    /// An interval that contains the values of `a` while the loops run for which `varies` is true: its least value, affine in the fixed loops, and
    /// its length.
    template <class F>
    [[nodiscard]] std::pair<affine, std::int64_t> sweep(const affine& a, const F& varies) const {
        std::pair<affine, std::int64_t> out{affine(a.constant), 1};
        for (const auto& [t, f] : a.terms) {
            if (!depends(t, varies)) {
                out.first.add(value(t), f);
                continue;
            }
            const auto& r = (*this)[t].range;
            out.first.constant += f > 0 ? f * r.low : f * r.high;
            out.second += (f > 0 ? f : -f) * (r.high - r.low);
        }
        return out;
    }

private:
    std::vector<term> terms_;

    /// Decomposes a = by * whole + rest; rest has the terms whose factor `by` does not divide and a constant in [0, by).
    static std::pair<affine, affine> cut(const affine& a, std::int64_t divisor) {
        affine whole(floor_div(a.constant, divisor));
        affine rest(a.constant - whole.constant * divisor);
        for (const auto& [t, f] : a.terms) {
            if (f % divisor == 0) whole.terms.emplace_back(t, f / divisor);
            else rest.terms.emplace_back(t, f);
        }
        return {whole, rest};
    }

    /// high * base + low, where `base` divides the divisor and low lies in [0, base): then low does not change the quotient.
    struct two_digits {
        std::int64_t base = 1;
        affine high, low;
    };
    /// That of the largest base for which some term is left in low; base 1: there is none. So (32 q + t) / 160 is q / 5 for t below 32.
    [[nodiscard]] two_digits digits(const affine& rest, std::int64_t divisor) const {
        two_digits best;
        for (const auto& [of, factor] : rest.terms) {
            const auto base = std::gcd(divisor, factor);
            if (base <= best.base) continue;
            const auto quotient = floor_div(rest.constant, base);
            two_digits one{base, affine(quotient), affine(rest.constant - quotient * base)};
            for (const auto& [t, f] : rest.terms) (f % base == 0 ? one.high : one.low).terms.emplace_back(t, f % base == 0 ? f / base : f);
            if (one.low.terms.empty()) continue;
            if (const auto r = range(one.low); r.low >= 0 && r.high < base) best = std::move(one);
        }
        return best;
    }

    /// A common divisor of `by` and of the factors in `rest`, and rest divided by it, rounded down.
    static std::pair<std::int64_t, affine> reduce(const affine& rest, std::int64_t divisor) {
        std::int64_t g = divisor;
        for (const auto& [t, f] : rest.terms) g = std::gcd(g, f);
        affine small(floor_div(rest.constant, g));
        for (const auto& [t, f] : rest.terms) small.terms.emplace_back(t, f / g);
        return {g, small};
    }

    int intern(term::kind type, const affine& operand, std::int64_t divisor) {
        for (std::size_t t = 0; t < terms_.size(); ++t)
            if (terms_[t].type == type && terms_[t].divisor == divisor && terms_[t].operand == operand) return static_cast<int>(t);
        const auto r = range(operand);
        const auto low = floor_div(r.low, divisor);
        const auto high = floor_div(r.high, divisor);
        index_range bounds{low, high};
        if (type == term::kind::remainder)
            bounds = low == high ? index_range{r.low - low * divisor, r.high - low * divisor} : index_range{0, divisor - 1};
        terms_.push_back({type, operand, divisor, bounds});
        return static_cast<int>(terms_.size()) - 1;
    }
};

} // namespace augur::inline v0::loopnest

#endif
