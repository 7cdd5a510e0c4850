// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_AFFINE_HPP
#define AUGUR_LOOPNEST_DETAIL_AFFINE_HPP

/// @file
/// Index arithmetic: sums of loop variables with integer factors, and of quotients and remainders of such sums, each with a known range.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0::loopnest {

/// constant + sum of factor * term. Terms are sorted by number, factors are not 0, so equal sums compare equal.
struct affine {
    std::int64_t constant = 0;
    std::vector<std::pair<int, std::int64_t>> terms; ///< (term, factor)

    affine() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a number is a sum
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

/// The terms that the sums of one kernel are made of. Quotients and remainders are simplified by the ranges of what they divide;
/// equal ones get one number, so equal indices have equal sums in the cases that tiling makes.
class term_table {
public:
    struct term {
        enum class kind : std::uint8_t { loop, quotient, remainder } what{};
        affine of;           ///< of a quotient or remainder
        std::int64_t by = 1; ///< likewise
        index_range range;
    };

    [[nodiscard]] const term& operator[](int t) const { return terms_[static_cast<std::size_t>(t)]; }
    [[nodiscard]] std::size_t size() const noexcept { return terms_.size(); }

    /// A new loop variable over [0, extent).
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
    affine quotient(const affine& a, std::int64_t by) {
        AUGUR_ASSERT(by > 0, "term_table: divisor");
        if (by == 1) return a;
        auto [whole, rest] = cut(a, by);
        const auto r = range(rest);
        if (const auto q = floor_div(r.low, by); q == floor_div(r.high, by)) return whole + affine(q);
        const auto [g, small] = reduce(rest, by);
        return whole + value(intern(term::kind::quotient, small, by / g));
    }

    /// a - by * floor(a / by).   pre: by > 0
    affine remainder(const affine& a, std::int64_t by) {
        AUGUR_ASSERT(by > 0, "term_table: divisor");
        if (by == 1) return {};
        auto [whole, rest] = cut(a, by);
        const auto r = range(rest);
        if (const auto q = floor_div(r.low, by); q == floor_div(r.high, by)) return rest - affine(q * by);
        const auto [g, small] = reduce(rest, by);
        const auto low_part = rest.constant - floor_div(rest.constant, g) * g;
        return value(intern(term::kind::remainder, small, by / g)) * g + affine(low_part);
    }

    /// Does the value of `t` change with a loop for which `varies(loop)` holds?
    template <class F>
    [[nodiscard]] bool depends(int t, const F& varies) const {
        const auto& x = (*this)[t];
        if (x.what == term::kind::loop) return varies(t);
        return std::any_of(x.of.terms.begin(), x.of.terms.end(), [&](const auto& p) { return depends(p.first, varies); });
    }
    template <class F>
    [[nodiscard]] bool depends(const affine& a, const F& varies) const {
        return std::any_of(a.terms.begin(), a.terms.end(), [&](const auto& p) { return depends(p.first, varies); });
    }

    /// `a` with every loop t replaced by what `with(t)` gives (an `affine`; `value(t)` to keep it).
    template <class F>
    affine substitute(const affine& a, const F& with) {
        affine out(a.constant);
        for (const auto& [t, f] : a.terms) {
            const auto what = (*this)[t].what;
            if (what == term::kind::loop) {
                out.add(with(t), f);
                continue;
            }
            const auto by = (*this)[t].by;
            const auto inner = substitute(affine((*this)[t].of), with); // a copy: interning may move the table
            if (inner == (*this)[t].of) out.add(value(t), f);
            else out.add(what == term::kind::quotient ? quotient(inner, by) : remainder(inner, by), f);
        }
        return out;
    }

    /// The box that `a` sweeps while the loops for which `varies` holds run: its least value as a sum of the fixed ones, and how many values from
    /// there. Never smaller than the truth.
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

    /// a = by * whole + rest, where rest holds the terms whose factor `by` does not divide, and a constant in [0, by).
    static std::pair<affine, affine> cut(const affine& a, std::int64_t by) {
        affine whole(floor_div(a.constant, by));
        affine rest(a.constant - whole.constant * by);
        for (const auto& [t, f] : a.terms) {
            if (f % by == 0) whole.terms.emplace_back(t, f / by);
            else rest.terms.emplace_back(t, f);
        }
        return {whole, rest};
    }

    /// A common factor of `by` and of the factors in `rest`, and rest divided by it, rounded down.
    static std::pair<std::int64_t, affine> reduce(const affine& rest, std::int64_t by) {
        std::int64_t g = by;
        for (const auto& [t, f] : rest.terms) g = std::gcd(g, f);
        affine small(floor_div(rest.constant, g));
        for (const auto& [t, f] : rest.terms) small.terms.emplace_back(t, f / g);
        return {g, small};
    }

    int intern(term::kind what, const affine& of, std::int64_t by) {
        for (std::size_t t = 0; t < terms_.size(); ++t)
            if (terms_[t].what == what && terms_[t].by == by && terms_[t].of == of) return static_cast<int>(t);
        const auto r = range(of);
        const auto low = floor_div(r.low, by);
        const auto high = floor_div(r.high, by);
        index_range own{low, high};
        if (what == term::kind::remainder) own = low == high ? index_range{r.low - low * by, r.high - low * by} : index_range{0, by - 1};
        terms_.push_back({what, of, by, own});
        return static_cast<int>(terms_.size()) - 1;
    }
};

} // namespace augur::inline v0::loopnest

#endif
