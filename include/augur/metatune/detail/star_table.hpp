// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_DETAIL_STAR_TABLE_HPP
#define AUGUR_METATUNE_DETAIL_STAR_TABLE_HPP

/// @file
/// Embeddings of candidates whose graphs are stars: loops that candidates share are computed once.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/network.hpp>
#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/kernels/graph.hpp>
#include <augur/nn/kernels/line_buffer.hpp>
#include <augur/nn/layers/activation.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace metatune::detail {

/// Distinct loops of candidates, and the candidates as lists of them.
///
/// Without edges between loops, two convolutions (W1, b1), (W2, b2) show the nodes of a loop nothing but its own features f, the number S of loops, and
/// what all roots have after the first convolution, relu(b1). By Kipf's normalisation, with t = relu(b1) W2:
///
///     first   `for`      u = relu(f W1 / sqrt 6 + b1)
///             `iterval`  v = relu(f W1 / 2 + b1)
///     second  `for`      relu(w / sqrt 6 + t / sqrt(3 (S + 1)) + b2),   w = (u sqrt(2 / 3) + v) W2
///             `iterval`  relu(w / 2 + b2)
///             root       relu((sum of u) W2 / sqrt(3 (S + 1)) + t / (S + 1) + b2)
///
/// The adjacency of the two nodes of a loop has rank 1, so they share one product. A row of the table has u, the loop's part of the gated sum, and its
/// part of the maximum, which is 0 for a masked loop: after ReLU no node is below.
///
/// Each embedding depends on its candidate only, to the bit. Threads: one
class star_table {
public:
    static constexpr nn::index block = 48; ///< rows of a product that stay in the first-level cache

    /// Does the table hold for networks of this configuration?
    [[nodiscard]] static bool covers(const config& c) { return !c.nested && c.convolutions.size() == 2; }

    /// pre: covers(c)
    explicit star_table(const config& c) : columns_(static_cast<std::size_t>(c.features)), masked_(c.masked) {
        for (std::uint64_t i = 0; i < (columns_ + 1) / 2; ++i) factors_.push_back(mix64(i) | 1U);
    }

    /// Removes all candidates; what follows is for `net`, which must not change. Loops and their rows stay where convolutions and gate are those of before:
    /// a search with frozen convolutions scores most loops of a task many times, by networks that differ in the head.
    void begin(const network<float>& net) {
        if (same_layers(net)) clear_candidates();
        else restart(net);
    }

    /// Removes all candidates and loops and keeps the memory; what follows is for `net`.
    void restart(const network<float>& net) {
        convolutions_ = net.convolutions;
        gate_ = net.read_out.gate;
        clear_candidates();
        index_.clear();
        kinds_.clear();
        uses_.clear();
        rows_.clear();
        last_.clear();
        computed_ = 0;
        const auto& [W1, b1] = net.convolutions[0];
        const auto& [W2, b2] = net.convolutions[1];
        first_.pack(W1.rows(), W1.cols(), {W1.data(), W1.outerStride(), 1});
        second_.pack(W2.rows(), W2.cols(), {W2.data(), W2.outerStride(), 1});
        stride_ = (b1.size() + 2 * b2.size() + 15) / 16 * 16;
        const nn::row_vector<float> root = b1.cwiseMax(0.0F);
        from_root_.resize(b2.size());
        second_.gemm(1, {root.data(), root.size(), 1}, from_root_.data(), from_root_.size());
    }

    /// Appends a candidate.   pre: check(loops, config)
    void add(const loop_rows& loops) {
        const auto slots = static_cast<std::uint32_t>(loops.present.size());
        const auto candidate = static_cast<std::uint32_t>(size());
        last_.resize(slots, none);
        for (std::uint32_t s = 0; s < slots; ++s) {
            const loop_kind kind{slots, !masked_ || loops.present[s] != 0};
            const float* const row = loops.features.data() + s * columns_;
            if (last_[s] == none || !same(last_[s], row, kind)) last_[s] = intern(row, kind); // neighbours share loops
            use& of = uses_[last_[s]];
            if (of.candidate != candidate) {
                of = {candidate, static_cast<std::uint32_t>(loops_.size())};
                loops_.push_back(static_cast<nn::index>(last_[s]));
                times_.push_back(0);
            }
            ++times_[of.place];
        }
        begin_.push_back(loops_.size());
        slots_.push_back(slots);
    }
    /// Removes the candidates, keeps their loops.
    void clear_candidates() {
        for (const nn::index loop : loops_) uses_[static_cast<std::size_t>(loop)].candidate = none;
        loops_.clear();
        times_.clear();
        begin_.resize(1);
        slots_.clear();
    }

    [[nodiscard]] std::size_t size() const { return begin_.size() - 1; } ///< number of candidates, G
    [[nodiscard]] std::size_t distinct() const { return kinds_.size(); } ///< number of distinct loops, D

    /// y <- embeddings of the candidates.   y (G, 2M)
    void embed(const network<float>& net, nn::out<float> y) {
        table_.reserve((std::max)(distinct(), std::size_t{1}) * static_cast<std::size_t>(stride_));
        const auto rows = static_cast<nn::index>(distinct());
        for (nn::index parts = (rows - computed_ + block - 1) / block; parts > 0; --parts) tabulate(net, (rows - computed_ + parts - 1) / parts);
        const auto& second = net.convolutions[1];
        const nn::index hidden = second.W.rows(), width = second.W.cols();
        const nn::kernels::row_source u{table_.data(), stride_}, gated{u.data + hidden, u.stride}, most{gated.data + width, u.stride};
        nn::map<float> sums = hidden_.shape(y.rows(), hidden), roots = nodes_.shape(y.rows(), width);
        zeros_.assign(static_cast<std::size_t>((std::max)(hidden, width)), 0.0F);
        for (nn::index r = 0; r < y.rows(); ++r) {
            const std::size_t first = begin_[static_cast<std::size_t>(r)];
            const auto count = static_cast<nn::index>(begin_[static_cast<std::size_t>(r) + 1] - first);
            const nn::index* const loops = loops_.data() + first;
            const double* const times = times_.data() + first;
            float* const to = y.data() + r * y.outerStride();
            nn::kernels::weighted_rows(u, loops, times, count, zeros_.data(), sums.data() + r * hidden, hidden);
            nn::kernels::weighted_rows(gated, loops, times, count, zeros_.data(), to, width);
            std::fill_n(to + width, width, 0.0F);
            nn::kernels::row_maxima(most, loops, count, to + width, width);
        }
        second_.gemm(y.rows(), {sums.data(), hidden, 1}, roots.data(), width);
        for (nn::index r = 0; r < y.rows(); ++r) {
            const float nodes = static_cast<float>(slots_[static_cast<std::size_t>(r)]) + 1; // the root and its neighbours
            float* const root = roots.data() + r * width;
            float* const to = y.data() + r * y.outerStride();
            constexpr nn::index only = 0;
            start_ = second.b + from_root_ / nodes;
            nn::kernels::scaled_relu(1 / std::sqrt(3 * nodes), root, start_.data(), root, width);
            nn::kernels::add_scaled(gate_of(net, root), root, to, width);
            nn::kernels::row_maxima({root, width}, &only, 1, to + width, width);
        }
    }

private:
    static constexpr std::uint32_t none = augur::detail::hash_index::none;

    /// What an entry depends on, beside the features.
    struct loop_kind {
        std::uint32_t slots;
        bool counts; ///< in the read-out
        friend bool operator==(const loop_kind&, const loop_kind&) = default;
    };
    /// Where the last candidate that has a loop has it.
    struct use {
        std::uint32_t candidate = none, place = 0;
    };

    [[nodiscard]] bool same_layers(const network<float>& net) const {
        const auto same_bits = [](const auto& a, const auto& b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
        };
        const auto same_layer = [&](const auto& a, const auto& b) { return same_bits(a.W, b.W) && same_bits(a.b, b.b); };
        return std::equal(convolutions_.begin(), convolutions_.end(), net.convolutions.begin(), net.convolutions.end(), same_layer) &&
               same_layer(gate_, net.read_out.gate);
    }
    [[nodiscard]] bool same(std::uint32_t loop, const float* row, const loop_kind& kind) const {
        return kinds_[loop] == kind && std::memcmp(rows_.data() + loop * columns_, row, columns_ * sizeof(float)) == 0;
    }
    std::uint32_t intern(const float* row, const loop_kind& kind) {
        std::uint64_t hash = 2 * std::uint64_t{kind.slots} + (kind.counts ? 1 : 0);
        for (std::size_t pair = 0; pair < columns_ / 2; ++pair) { // independent products: a chain would wait for each
            std::uint64_t two = 0;
            std::memcpy(&two, row + 2 * pair, sizeof two);
            hash += two * factors_[pair];
        }
        if (columns_ % 2 != 0) hash += std::bit_cast<std::uint32_t>(row[columns_ - 1]) * factors_.back();
        hash = mix64(hash);
        if (const auto at = index_.find(hash, [&](std::uint32_t loop) { return same(loop, row, kind); }); at != none) return at;
        const auto loop = static_cast<std::uint32_t>(kinds_.size());
        kinds_.push_back(kind);
        uses_.emplace_back();
        rows_.insert(rows_.end(), row, row + columns_);
        index_.insert(hash, loop);
        return loop;
    }

    [[nodiscard]] static float gate_of(const network<float>& net, const float* node) {
        const auto& gate = net.read_out.gate;
        return nn::sigmoid(gate.b[0] + nn::kernels::dot(node, gate.W.data(), gate.W.rows()));
    }

    /// Computes the rows of `count` more loops.
    void tabulate(const network<float>& net, nn::index count) {
        const nn::index first = std::exchange(computed_, computed_ + count);
        const auto& [W1, b1] = net.convolutions[0];
        const auto& [W2, b2] = net.convolutions[1];
        const nn::index hidden = W2.rows(), width = W2.cols(), features = W1.rows();
        nn::map<float> x = hidden_.shape(count, hidden), w = nodes_.shape(count, width);
        first_.gemm(count, {rows_.data() + first * features, features, 1}, x.data(), hidden);
        for (nn::index r = 0; r < count; ++r) {
            float* const u = table_.data() + (first + r) * stride_;
            float* const v = x.data() + r * hidden;
            nn::kernels::two_relus(v, 1 / std::sqrt(6.0F), b1.data(), u, 0.5F, b1.data(), std::sqrt(2.0F / 3), v, hidden);
        }
        second_.gemm(count, {x.data(), hidden, 1}, w.data(), width);
        pair_.resize(2, width);
        greatest_.resize(static_cast<std::size_t>(width));
        std::uint32_t slots = 0; // a graph with a loop has at least one
        for (nn::index r = 0; r < count; ++r) {
            const loop_kind& kind = kinds_[static_cast<std::size_t>(first + r)];
            float* const gated = table_.data() + (first + r) * stride_ + hidden;
            if (!kind.counts) {
                std::fill_n(gated, 2 * width, 0.0F);
                continue;
            }
            if (kind.slots != slots) start_ = b2 + from_root_ / std::sqrt(3 * (static_cast<float>(kind.slots) + 1));
            slots = kind.slots;
            float* const pair = pair_.data();
            nn::kernels::two_relus(w.data() + r * width, 1 / std::sqrt(6.0F), start_.data(), pair, 0.5F, b2.data(), 0, pair + width, width);
            const float gates[2] = {gate_of(net, pair), gate_of(net, pair + width)};
            constexpr std::int32_t both[2] = {0, 1};
            nn::kernels::gated_sum_and_max({pair, width}, both, 0, 2, gates, gated, gated + width, greatest_.data(), width);
        }
    }

    std::vector<nn::graph_convolution<float>> convolutions_; ///< for which the rows were computed
    nn::linear<float> gate_;
    std::size_t columns_; ///< F
    bool masked_;
    std::vector<std::uint64_t> factors_; ///< of the hash
    augur::detail::hash_index index_;
    std::vector<loop_kind> kinds_;    ///< (D)
    std::vector<use> uses_;           ///< (D)
    std::vector<float> rows_;         ///< (D, F)
    std::vector<std::uint32_t> last_; ///< the loop in each slot of the last candidate

    std::vector<nn::index> loops_;      ///< of the candidates, of equal ones the first
    std::vector<double> times_;         ///< how many slots have it; null nodes are often equal
    std::vector<std::size_t> begin_{0}; ///< (G + 1) first one of each candidate in `loops_`
    std::vector<std::uint32_t> slots_;  ///< (G) S

    nn::kernels::line_buffer<float> table_;      ///< (D, hidden + 2M), each row in cache lines of its own
    nn::index stride_ = 0;                       ///< between rows of the table
    nn::index computed_ = 0;                     ///< rows of it that are computed
    nn::buffer<float> hidden_, nodes_;           ///< (block, hidden), (block, M)
    nn::kernels::packed_operand first_, second_; ///< W1, W2
    nn::row_vector<float> from_root_, start_;    ///< (M) t; initial values of a second convolution
    nn::matrix<float> pair_;                     ///< (2, M) `for` and `iterval` of a loop
    std::vector<float> zeros_;
    std::vector<std::int32_t> greatest_; ///< not used
};

} // namespace metatune::detail
} // namespace augur::inline v0

#endif
