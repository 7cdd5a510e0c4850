// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_NEST_FOOTPRINTS_HPP
#define AUGUR_LOOPNEST_DETAIL_NEST_FOOTPRINTS_HPP

/// @file
/// Footprints of the accesses of a bounded loop nest at each loop depth, in elements and cache lines.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/schedule/state.hpp>

namespace augur::inline v0::loopnest::detail {

/// A loop around the body of a stage: of the stage itself or of an enclosing stage. Loops that run once are excluded.
struct nest_loop {
    int term = -1; ///< term number; -1: no loop
    double extent = 1;
    bool reduce = false;
    loop_annotation annotation = loop_annotation::none;
};

/// Elements and cache lines that a stage touches while its loops from depth d inwards run; d = 0 is the whole nest, d = loops one execution of
/// the body. The box of an access is the product of the index ranges: an upper bound.
class nest_footprints {
public:
    /// Starts a stage with its loops, outermost first; their terms are below `terms`.
    void begin(std::span<const nest_loop> loops, std::size_t terms, double elements_a_line) {
        loops_ = loops.size();
        line_ = elements_a_line;
        accesses_ = 0;
        place_.assign(terms, -1);
        for (std::size_t k = 0; k < loops_; ++k) place_[static_cast<std::size_t>(loops[k].term)] = static_cast<int>(k);
        elements_.clear();
        lines_.clear();
        varies_.clear();
        strides_.clear();
    }

    /// Starts an access; calls of `dimension` follow, last dimension first, then `close`.
    void open() {
        ++accesses_;
        elements_.resize(accesses_ * (loops_ + 1), 1);
        lines_.resize(accesses_ * (loops_ + 1), 1);
        varies_.resize(accesses_ * loops_, 0);
        strides_.push_back({0, 0});
        run_open_.assign(loops_ + 1, 1);
        pitch_ = 1;
    }

    /// Adds a dimension of `extent` elements with the affine index `index`; null for an index that is not affine, which may reach every element.
    void dimension(const term_table& terms, const affine* index, double extent) {
        auto& stride = strides_.back();
        steps_.assign(loops_ + 1, 0); // [k]: growth of the box in elements by loop k
        if (index == nullptr) {
            steps_[loops_] = extent;
            std::fill(varies_.end() - static_cast<std::ptrdiff_t>(loops_), varies_.end(), std::uint8_t{1});
            for (auto& s : stride) s = (std::max)(s, pitch_);
        } else {
            std::array<bool, 2> moves{};
            std::array<double, 2> factor{1, 1};
            for (const auto& [t, f] : index->terms) {
                const int deepest = reach(terms, t, moves);
                if (deepest < 0) continue;
                const auto& x = terms[t];
                const double each = std::abs(static_cast<double>(f));
                steps_[static_cast<std::size_t>(deepest)] += each * static_cast<double>(x.range.high - x.range.low);
                const auto from_inner = loops_ - 1 - static_cast<std::size_t>(deepest);
                if (x.type == term_table::term::kind::loop && from_inner < 2) factor[from_inner] = each;
            }
            for (std::size_t j = 0; j < 2; ++j)
                if (moves[j]) stride[j] = stride[j] == 0 ? pitch_ * factor[j] : (std::min)(stride[j], pitch_ * factor[j]);
        }
        double* const elements = row(elements_);
        double* const run = row(lines_); // until `close`: length of the contiguous run, in elements
        double swept = 1;
        for (std::size_t d = loops_ + 1; d-- > 0;) {
            swept += steps_[d];
            const double e = (std::min)(extent, swept);
            elements[d] *= e;
            if (run_open_[d] == 0) continue;
            run[d] *= e;
            run_open_[d] = e < extent ? 0 : 1;
        }
        pitch_ *= extent;
    }

    void close() {
        const double* const elements = row(elements_);
        double* const lines = row(lines_);
        for (std::size_t d = 0; d <= loops_; ++d) lines[d] = elements[d] / lines[d] * std::ceil(lines[d] / line_);
    }

    [[nodiscard]] std::size_t accesses() const noexcept { return accesses_; }
    [[nodiscard]] double elements(std::size_t access, std::size_t depth) const { return elements_[access * (loops_ + 1) + depth]; }
    /// Cache lines of all contiguous runs; each run is assumed to start at a line boundary.
    [[nodiscard]] double lines(std::size_t access, std::size_t depth) const { return lines_[access * (loops_ + 1) + depth]; }
    /// True if the access moves with loop `k`.
    [[nodiscard]] bool varies(std::size_t access, std::size_t k) const { return varies_[access * loops_ + k] != 0; }
    /// Stride in elements of one step of the innermost (0) or second innermost (1) loop; 0: the access does not move. If the loop moves several
    /// dimensions, the smallest stride; a quotient or remainder counts as moving by one.
    [[nodiscard]] double stride(std::size_t access, std::size_t from_inner) const { return strides_[access][from_inner]; }

private:
    std::size_t loops_ = 0, accesses_ = 0;
    double line_ = 16, pitch_ = 1;
    std::vector<int> place_; ///< position of each loop's term among the loops of the stage; -1: other terms
    std::vector<double> elements_, lines_, steps_;
    std::vector<std::uint8_t> varies_, run_open_;
    std::vector<std::array<double, 2>> strides_;

    [[nodiscard]] double* row(std::vector<double>& table) const { return table.data() + (accesses_ - 1) * (loops_ + 1); }

    /// The innermost loop on which term `t` depends, -1: none; marks all such loops.
    int reach(const term_table& terms, int t, std::array<bool, 2>& moves) {
        const auto& x = terms[t];
        if (x.type != term_table::term::kind::loop) {
            int deepest = -1;
            for (const auto& [part, factor] : x.operand.terms) deepest = (std::max)(deepest, reach(terms, part, moves));
            return deepest;
        }
        const int k = place_[static_cast<std::size_t>(t)];
        if (k < 0) return k;
        varies_[(accesses_ - 1) * loops_ + static_cast<std::size_t>(k)] = 1;
        if (const auto from_inner = loops_ - 1 - static_cast<std::size_t>(k); from_inner < 2) moves[from_inner] = true;
        return k;
    }
};

} // namespace augur::inline v0::loopnest::detail

#endif
