// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_FROZEN_PASS_HPP
#define AUGUR_MODEL_TLP_FROZEN_PASS_HPP

/// @file
/// TLP's network packed for inference, and a forward pass over bags of row ids.
///
/// What a row becomes before attention depends on the row alone, so it is kept in a table:
///
///     z0       encoder(row) + bo
///     q, k, v  its projections; q and k one lane a head
///     values   for each head h: Wo_h v_h  and  W1 Wo_h v_h, where W1 is the first residual layer
///     base     z0  and  W1 z0 + b1
///
/// Behind attention a row of a candidate is z = z0 + sum over heads and keys of (attention weight) Wo_h v_h, and W1 z + b1 the same sum over the
/// second halves: one product with rows that are gathered from the table ("values"), without the output projection and the first residual layer.
/// Columns of both halves alternate within a panel, so that max(W1 z + b1, 0) + z is made in registers. Values and base are made only where the
/// candidates of a batch share so many rows that they pay.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/model/tlp.hpp>
#include <augur/model/tlp_frozen_rows.hpp>
#include <augur/model/tlp_input.hpp>
#include <augur/nn/kernels/head_lanes.hpp>
#include <augur/nn/kernels/panel.hpp>

namespace augur::inline v0 {

namespace detail {

/// Packed parameters. Const and shared. T is float or bf16: of the layers behind attention; those before it are float.
template <class T>
struct frozen_network {
    using index = std::ptrdiff_t;
    nn::kernels::panel_kernels<float> single;  ///< before attention
    nn::kernels::panel_kernels<float> context; ///< 16 columns: a head is rarely wider than that twice
    nn::kernels::panel_kernels<T> tail;
    nn::kernels::head_lane_kernels lanes_of;
    nn::kernels::isa level;

    tlp_config config;
    index columns = 0, width = 0, heads = 0;          ///< inputs of the first layer, D, H
    index head = 0, head_room = 0, groups = 0, lanes = 0; ///< D / H, the same in whole panels, ceil(H / 8), 8 of them
    bool has_block = false;
    index half = 0;        ///< columns of z in a panel of the fold: half of W, or W without a residual block
    index fold_panels = 0, fold_columns = 0;
    index q_at = 0, k_at = 0, v_at = 0, row_size = 0; ///< in a row's entry; z0 is at 0
    index head_steps = 0, values_size = 0;            ///< of a row: (fold_panels, head_steps, W [, 2])
    index widest = 0;                                 ///< columns of an activation

    std::vector<nn::kernels::packed_panels<float>> encoder;
    std::vector<nn::kernels::packed_panels<float>> project;    ///< one: q | k | v
    std::vector<nn::kernels::packed_panels<float>> first;      ///< W1 and b1, or none
    std::vector<nn::kernels::packed_panels<float>> fold_value; ///< one a head: v_h -> [Wo_h v | W1 Wo_h v]
    std::vector<nn::kernels::packed_panels<T>> combine;        ///< one: Wo alone
    std::vector<nn::kernels::packed_panels<T>> blocks;
    std::vector<nn::kernels::packed_panels<T>> decoder;        ///< without the last
    std::vector<float> out_bias;                               ///< bo
    std::vector<float> last;                                   ///< weights of the last layer, zeros up to a multiple of 8
    float last_bias = 0;

    /// pre: attention backbone with one layer
    frozen_network(const tlp_network<float>& net, std::size_t output, nn::kernels::isa isa, nn::kernels::panel_kernels<T> kernels);
};

/// Memory of a scorer: the table of rows, the batch, and scratch for each thread of the executor.
template <class T>
class frozen_pass {
public:
    /// Rows of a tile: what it needs stays in the second-level cache.
    static constexpr std::ptrdiff_t tile_rows = 96;
    static constexpr std::size_t row_block = 64;

    frozen_pass(const frozen_network<T>& net, const tlp_frozen_rows& rows)
        : net_(&net), rows_(&rows), stamp_(rows.capacity()), local_(rows.capacity()) {}

    /// Forgets what was computed; to be called with `rows.clear()`.
    void clear() {
        encoded_ = 0;
        std::fill(has_values_.begin(), has_values_.end(), std::uint8_t{0});
    }

    /// scores[n] <- score of the bag ids, times [begin[n], begin[n + 1]).
    template <bulk_executor Executor>
    void forward(std::span<const std::size_t> begin, std::span<const std::uint32_t> ids, std::span<const float> times, Executor& executor,
                 std::span<float> scores);

private:
    using index = std::ptrdiff_t;
    struct worker {
        nn::kernels::line_buffer<float> input, a, b;      ///< (row_block, .) rows on their way through the encoder; heads' results; values in float
        nn::kernels::line_buffer<float> weights;          ///< (rows, keys, lanes) attention weights of a tile
        nn::kernels::line_buffer<T> narrow;               ///< the same in T
        nn::kernels::line_buffer<T> y0, y1;               ///< (rows, widest) behind the layers
        std::vector<const float*> q, k, z0, base, v;      ///< by row of the tile
        std::vector<const T*> values;
        bool safe = true; ///< no pair's weight would vanish
    };

    float* entry(std::size_t id) { return table_[id / row_block].data() + static_cast<index>(id % row_block) * net_->row_size; }
    T* values_of(std::size_t id) { return values_[id / row_block].data() + static_cast<index>(id % row_block) * net_->values_size; }

    float* base_of(std::size_t id) { return bases_[id / row_block].data() + static_cast<index>(id % row_block) * net_->fold_columns; }

    void encode(worker& w, std::size_t first, std::size_t last);
    void make_values(worker& w, std::size_t first, std::size_t last);
    void score_pairs(worker& w, std::size_t first, std::size_t last);
    void tile(worker& w, std::size_t first, std::size_t last, std::span<const std::size_t> begin, std::span<const std::uint32_t> ids,
              std::span<const float> times, std::span<float> scores);

    /// f(worker, i) for all i < n, as many at a time as the executor likes.
    template <bulk_executor Executor, class F>
    void spread(Executor& executor, std::size_t n, const F& f) {
        const std::size_t workers = (std::min)(n, workers_.size());
        std::atomic<std::size_t> next{0};
        executor.bulk(workers, [&](std::size_t w) {
            for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) f(workers_[w], i);
        });
    }

    const frozen_network<T>* net_;
    const tlp_frozen_rows* rows_;
    std::vector<nn::kernels::line_buffer<float>> table_; ///< row_block entries each
    std::vector<nn::kernels::line_buffer<T>> values_;
    std::vector<nn::kernels::line_buffer<float>> bases_;
    std::vector<std::uint8_t> has_values_;
    std::size_t encoded_ = 0; ///< rows with an entry
    std::vector<worker> workers_;

    // the batch
    std::uint64_t batch_ = 0;
    std::vector<std::uint64_t> stamp_;   ///< by id: the last batch that has it
    std::vector<std::uint32_t> local_;   ///< by id: its number among the batch's distinct rows
    std::vector<std::uint32_t> present_; ///< those rows
    std::vector<std::uint32_t> at_;      ///< `ids` as such numbers
    std::vector<std::size_t> tiles_;     ///< first candidate of each, and the end
    bool use_values_ = false, use_pairs_ = false;
    nn::kernels::line_buffer<float> pairs_; ///< (U, U rounded up, lanes) exp of the shifted scores
    std::vector<const float*> pair_q_, pair_k_;
    index pair_row_ = 0;
    std::vector<std::pair<std::size_t, std::size_t>> pieces_; ///< rows [first, second) of one row_block
};

} // namespace detail

} // namespace augur::inline v0

#include <augur/model/tlp_frozen_impl.hpp>

#endif
