// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_FROZEN_FORWARD_HPP
#define AUGUR_TLP_DETAIL_FROZEN_FORWARD_HPP

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
///
/// Candidates of a group (tlp/detail/prefix_groups.hpp) have a set C of rows in common. For a query all of C is one more key: its score is the logarithm of
/// the sum of e^score over C, its value the mean of C's values under that query's weights. That mean is made once for each row that the group has
/// more than once, so a candidate's own product is left with the rows that the others do not have, a third of all. In bf16 the means are float,
/// so that nothing is rounded twice.

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
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/head_lanes.hpp>
#include <augur/nn/kernels/panel_layer.hpp>
#include <augur/tlp/detail/input_encoding.hpp>
#include <augur/tlp/detail/prefix_groups.hpp>
#include <augur/tlp/inference/row_ids.hpp>
#include <augur/tlp/model.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Packed parameters. Const and shared. T is float or bf16: of the layers behind attention; those before it are float.
template <class T>
struct packed_network {
    using index = std::ptrdiff_t;
    nn::kernels::panel_kernels<float> single;  ///< before attention
    nn::kernels::panel_kernels<float> context; ///< 16 columns: few heads are wide enough for more
    nn::kernels::panel_kernels<T> tail;
    nn::kernels::head_lane_kernels lanes_of;
    nn::kernels::isa level;

    tlp::config config;
    index columns = 0, width = 0, heads = 0;              ///< inputs of the first layer, D, H
    index head = 0, head_room = 0, groups = 0, lanes = 0; ///< D / H, the same in whole panels, ceil(H / 8), 8 of them
    bool has_block = false;
    index half = 0; ///< columns of z in a panel of the fold: half of W, or W without a residual block
    index fold_panels = 0, fold_columns = 0;
    index q_at = 0, k_at = 0, v_at = 0, row_size = 0; ///< in a row's entry; z0 is at 0
    index head_steps = 0, values_size = 0;            ///< of a row: (fold_panels, head_steps, W [, 2])
    index widest = 0;                                 ///< columns of an activation
    index context_row = 0;                            ///< of the heads' results, zeros up to a whole tile

    std::vector<nn::kernels::packed_panels<float>> encoder;
    std::vector<nn::kernels::packed_panels<float>> project;    ///< one: q | k | v
    std::vector<nn::kernels::packed_panels<float>> first;      ///< W1 and b1, or none
    std::vector<nn::kernels::packed_panels<float>> fold_value; ///< one a head: v_h -> [Wo_h v | W1 Wo_h v]
    std::vector<nn::kernels::packed_panels<T>> combine;        ///< one: Wo alone
    std::vector<nn::kernels::packed_panels<T>> blocks;
    std::vector<nn::kernels::packed_panels<T>> decoder; ///< without the last
    std::vector<float> out_bias;                        ///< bo
    std::vector<float> last;                            ///< weights of the last layer, zeros up to a multiple of 8
    float last_bias = 0;

    /// pre: attention backbone with one layer
    packed_network(const model<float>& net, std::size_t output, nn::kernels::isa isa, bool amx, nn::kernels::panel_kernels<T> kernels);
};

/// Memory of a scorer: the table of rows, the batch, and scratch for each thread of the executor.
template <class T>
class frozen_forward {
public:
    /// Rows that go through the layers together: what they need stays in the second-level cache.
    static constexpr std::ptrdiff_t tile_rows = 128;
    static constexpr std::size_t row_block = 64;
    static constexpr std::ptrdiff_t slot_block = 12; ///< distinct rows whose means stay in the first-level cache

    frozen_forward(const packed_network<T>& net, const row_ids& rows)
        : net_(&net), rows_(&rows), stamp_(rows.capacity()), local_(rows.capacity()) {}

    /// Forgets what was computed; to be called with `rows.clear()`.
    void clear() {
        encoded_ = 0;
        std::fill(has_values_.begin(), has_values_.end(), std::uint8_t{0});
    }

    /// scores[n] <- score of the bag ids, times [begin[n], begin[n + 1]).
    ///
    /// keep: false when clear() follows. A row that only one group of candidates has then passes: it is made right before its group is scored, in
    /// memory that stays in the cache, and has no entry in the table.
    template <bulk_executor Executor>
    void forward(std::span<const std::size_t> begin, std::span<const std::uint32_t> ids, std::span<const float> times, Executor& executor,
                 std::span<float> scores, bool keep);

private:
    using index = std::ptrdiff_t;
    using group = prefix_groups::group;
    /// A bag of a group.
    struct candidate {
        std::size_t from = 0;               ///< into rows() and times() of the groups
        index row = 0;                      ///< its first row among those of the group
        index rows = 0, own = 0;            ///< how many, and how many that not all of the group have
        index weights = 0, weights_row = 0; ///< where its attention weights begin, and from one row to the next
    };
    struct worker {
        nn::kernels::line_buffer<float> input, a, b; ///< (tile_rows, .) rows on their way through the encoder; values in float
        nn::kernels::line_buffer<float> passing;     ///< (passing rows of a group) entries
        std::vector<std::uint32_t> own;              ///< those rows, by number in the batch
        std::vector<candidate> candidates;
        std::vector<std::uint32_t> distinct;                ///< rows of the group, by number in the batch; those that occur more than once first
        index often = 0;                                    ///< how many of them do
        std::vector<std::uint32_t> slot_of, stamp;          ///< by number in the batch: where among those, if the stamp is this group's
        std::vector<std::uint32_t> slot, place;             ///< by row of the group: the same; its place when rows are sorted by slot
        std::vector<index> slot_begin;                      ///< (distinct + 1) in that order
        nn::kernels::line_buffer<float> common, log_sums;   ///< (distinct, common keys, lanes) weights among them; (distinct, lanes)
        nn::kernels::line_buffer<float> mix;                ///< their means: (slot_block, heads, W) of a panel, or (distinct, heads' v)
        nn::kernels::line_buffer<float> weights, shares;    ///< (rows, [1 +] own keys, lanes); the first of each, by place
        nn::kernels::line_buffer<T> narrow;                 ///< weights and common in T
        nn::kernels::line_buffer<T> pairs;                  ///< (pairs of common keys, heads, W, 2) of a panel: their values, for bf16
        nn::kernels::line_buffer<nn::kernels::bf16> halves; ///< AMX: rows of a layer in two halves
        nn::kernels::line_buffer<float> sums;               ///< (rows by place, W) what the common keys make of a panel; or (rows, heads' v)
        nn::kernels::line_buffer<T> z;                      ///< (rows, .) behind attention
        nn::kernels::line_buffer<T> y0, y1;                 ///< (tile_rows, widest) behind the layers
        nn::kernels::line_buffer<float> out;                ///< (rows) behind the last
        std::vector<const float*> q, k, init, means, bases;
        std::vector<const T*> values, pairs_at;
        std::vector<float> times;
        std::uint32_t epoch = 0;
    };

    float* entry(std::size_t id) { return table_[id / row_block].data() + static_cast<index>(id % row_block) * net_->row_size; }
    T* values_of(std::size_t id) { return values_[id / row_block].data() + static_cast<index>(id % row_block) * net_->values_size; }
    float* base_of(std::size_t id) { return bases_[id / row_block].data() + static_cast<index>(id % row_block) * net_->fold_columns; }

    /// Where a layer by AMX splits its rows; null for the others.
    template <class U>
    static nn::kernels::bf16* room(worker& w, const nn::kernels::packed_panels<U>& layer) {
        if (layer.tiles.data() == nullptr) return nullptr;
        return w.halves.reserve(
            static_cast<std::size_t>(2 * nn::kernels::amx_rows * nn::kernels::whole_blocks(layer.inputs, nn::kernels::amx_depth)));
    }

    template <bulk_executor Executor>
    void make_rows(Executor& executor);
    void find_owners(std::span<const std::size_t> begin);
    void encode(worker& w, std::size_t first, std::size_t last, float* entries);
    void encode_own(worker& w, std::uint32_t group_at);
    void make_values(worker& w, std::size_t first, std::size_t last);
    void reserve(std::span<const std::size_t> begin);

    void score(worker& w, std::uint32_t group_at, std::span<const std::size_t> begin, std::span<float> scores);
    void gather(worker& w, const group& g, std::span<const std::size_t> begin);
    void attend_common(worker& w, index common);
    void attend_own(worker& w, index common);
    void fold(worker& w, index common);
    void combine(worker& w, index common);
    void layers(worker& w);

    /// f(worker, i) for all i < n, as many at a time as the executor likes.
    template <bulk_executor Executor, class F>
    void spread(Executor& executor, std::size_t n, const F& f) {
        const std::size_t workers = (std::min)(n, workers_.size());
        std::atomic<std::size_t> next{0};
        executor.bulk(workers, [&](std::size_t w) {
            for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) f(workers_[w], i);
        });
    }

    const packed_network<T>* net_;
    const row_ids* rows_;
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
    std::vector<std::uint32_t> at_;      ///< the ids of all bags as such numbers
    prefix_groups groups_;
    bool use_values_ = false;
    static constexpr std::uint32_t several = ~0U;
    std::vector<std::uint32_t> owner_;                        ///< by number in the batch: the only group that has a passing row, else `several`
    std::vector<const float*> entry_of_;                      ///< by number in the batch; of a passing row not before its group is scored
    std::vector<std::pair<std::size_t, std::size_t>> pieces_; ///< rows [first, second) of one row_block
};

} // namespace detail

} // namespace augur::inline v0::tlp

#include <augur/tlp/detail/frozen_forward_impl.hpp>
#include <augur/tlp/detail/frozen_group_impl.hpp>

#endif
