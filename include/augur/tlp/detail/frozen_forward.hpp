// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_FROZEN_FORWARD_HPP
#define AUGUR_TLP_DETAIL_FROZEN_FORWARD_HPP

/// @file
/// Forward pass of the frozen TLP model: packed weights, and scoring of candidates given as row ids with multiplicities.
///
/// The layers before attention depend on one row only, so their results are cached in a table:
///
///     z0       encoder(row) + bo
///     q, k, v  projections of encoder(row); q and k with one vector lane per head
///     values   for each head h: Wo_h v_h  and  W1 Wo_h v_h, where W1 is the first residual layer
///     base     z0  and  W1 z0 + b1
///
/// After attention a row of a candidate is z = z0 + sum over heads and keys of (attention weight) Wo_h v_h. W1 z + b1 is the same sum over the second
/// halves of values and base. So one product with rows gathered from the table replaces the output projection and the first residual layer. Columns
/// of both halves alternate within a panel, so that max(W1 z + b1, 0) + z is computed in registers. Values and base are computed only if the
/// candidates of a batch share enough rows to save multiplications.
///
/// The candidates of a group (tlp/detail/prefix_groups.hpp) share a set C of rows. For a query, C acts as one additional key: its score is the
/// log-sum-exp of the scores over C, its value the mean of C's values under the query's attention weights. That mean is computed once per distinct
/// query row that occurs more than once in the group. The product per candidate then covers only the keys outside C, about a third of all. In bf16
/// the means are float, so that they are rounded only once.

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
#include <augur/tlp/input_encoding.hpp>
#include <augur/tlp/detail/prefix_groups.hpp>
#include <augur/tlp/inference/row_ids.hpp>
#include <augur/tlp/model.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Packed parameters, shared as const. T is the type of the layers after attention, float or bf16; the layers before attention are float.
template <class T>
struct frozen_weights {
    using index = std::ptrdiff_t;
    nn::kernels::panel_kernels<float> single;  ///< kernels of the layers before attention
    nn::kernels::panel_kernels<float> context; ///< kernels of the weighted sum of v; 16 columns, because heads are rarely wider
    nn::kernels::panel_kernels<T> tail;        ///< kernels of the layers after attention
    nn::kernels::head_lane_kernels lanes_of;
    nn::kernels::isa level;

    tlp::config config;
    index columns = 0, width = 0, heads = 0;              ///< inputs of the first layer, D, H
    index head = 0, head_room = 0, groups = 0, lanes = 0; ///< D / H, D / H rounded up to whole panels, ceil(H / 8), 8 groups
    bool has_block = false;
    index half = 0; ///< columns of z per panel of the fold: W / 2, or W without a residual block
    index fold_panels = 0, fold_columns = 0;
    index q_at = 0, k_at = 0, v_at = 0, row_size = 0; ///< offsets in and size of a row's entry; z0 is at offset 0
    index head_steps = 0, values_size = 0;            ///< values of a row: (fold_panels, head_steps, W [, 2])
    index widest = 0;                                 ///< maximum columns of an activation
    index context_row = 0;                            ///< row stride of the attention result, zero-padded to whole AMX tiles

    std::vector<nn::kernels::packed_panels<float>> encoder;
    std::vector<nn::kernels::packed_panels<float>> project;    ///< (1) q | k | v
    std::vector<nn::kernels::packed_panels<float>> first;      ///< (0 or 1) W1 and b1
    std::vector<nn::kernels::packed_panels<float>> fold_value; ///< (H) v_h -> [Wo_h v | W1 Wo_h v]
    std::vector<nn::kernels::packed_panels<T>> combine;        ///< (1) Wo without bias
    std::vector<nn::kernels::packed_panels<T>> blocks;
    std::vector<nn::kernels::packed_panels<T>> decoder; ///< without the last layer
    std::vector<float> out_bias;                        ///< bo
    std::vector<float> last;                            ///< weights of the last layer, zero-padded to a multiple of 8
    float last_bias = 0;

    /// pre: attention backbone with one attention layer
    frozen_weights(const model<float>& net, std::size_t output, nn::kernels::isa isa, bool amx, nn::kernels::panel_kernels<T> kernels);

private:
    template <class U>
    static nn::kernels::packed_panels<U> packed_layer(const nn::kernels::panel_kernels<U>& kernels, const nn::linear<float>& l);
    void pack_projection(const nn::attention<float>& attention);
    void pack_output_projection(const model<float>& net);
    void choose_strides();
};

/// State of a scorer: the table of rows, the current batch, and scratch memory for each thread of the executor.
template <class T>
class frozen_forward {
public:
    /// Rows per pass through the layers; their activations fit in the second-level cache.
    static constexpr std::ptrdiff_t tile_rows = 128;
    static constexpr std::size_t row_block = 64;     ///< rows per memory block of the table
    static constexpr std::ptrdiff_t slot_block = 12; ///< distinct rows per block; their means fit in the first-level cache

    frozen_forward(const frozen_weights<T>& net, const row_ids& rows) : net_(&net), rows_(&rows), stamp_(rows.capacity()), local_(rows.capacity()) {}

    /// Empties the table; call it together with `rows.clear()`.
    void clear() {
        encoded_ = 0;
        std::fill(has_values_.begin(), has_values_.end(), std::uint8_t{0});
    }

    /// scores[n] <- score of candidate n: row ids ids[begin[n], begin[n + 1]) with multiplicities times[].
    ///
    /// @param keep  false if clear() follows. New rows that occur in one group only are then transient: they are computed right before their group is
    ///              scored, in scratch memory that stays in the cache, and get no entry in the table.
    template <bulk_executor Executor>
    void forward(std::span<const std::size_t> begin, std::span<const std::uint32_t> ids, std::span<const float> times, Executor& executor,
                 std::span<float> scores, bool keep);

private:
    using index = std::ptrdiff_t;
    using group = prefix_groups::group;
    /// A candidate of the current group.
    struct candidate {
        std::size_t from = 0;               ///< offset in rows() and times() of prefix_groups
        index row = 0;                      ///< index of its first row in the group
        index rows = 0, own = 0;            ///< number of rows, number of rows that are not common to the group
        index weights = 0, weights_row = 0; ///< offset and row stride of its attention weights
    };
    struct worker {
        nn::kernels::line_buffer<float> input, a, b; ///< (tile_rows, .) activations of the encoder; values in float
        nn::kernels::line_buffer<float> transient;   ///< entries of the transient rows of the group
        std::vector<std::uint32_t> own;              ///< transient rows of the group, by index in the batch
        std::vector<candidate> candidates;
        std::vector<std::uint32_t> distinct;              ///< distinct rows of the group, by index in the batch; repeated rows first
        index often = 0;                                  ///< number of repeated rows (occur more than once in the group)
        std::vector<std::uint32_t> slot_of, stamp;        ///< by index in the batch: index in `distinct`, valid if the stamp equals `epoch`
        std::vector<std::uint32_t> slot, place;           ///< by row of the group: index in `distinct`; position in the order by slot
        std::vector<index> slot_begin;                    ///< (distinct + 1) offsets of the slots in that order
        nn::kernels::line_buffer<float> common, log_sums; ///< (distinct, common keys, lanes) weights of the common keys; (distinct, lanes)
        nn::kernels::line_buffer<float> mix;              ///< means over the common keys: (slot_block, heads, W) of a panel, or (distinct, heads' v)
        nn::kernels::line_buffer<float> weights, shares;  ///< (rows, [1 +] own keys, lanes); weight of the common keys, by place
        nn::kernels::line_buffer<T> narrow;               ///< `weights` and `common` converted to T
        nn::kernels::line_buffer<T> pairs;                ///< bf16: (pairs of common keys, heads, W, 2) values of a panel
        nn::kernels::line_buffer<nn::kernels::bf16> halves; ///< AMX in float: rows of a layer, split into high and low bf16
        nn::kernels::line_buffer<float> sums;               ///< (rows by place, W) contribution of the common keys; or (rows, heads' v)
        nn::kernels::line_buffer<T> z;                      ///< (rows, .) output of attention
        nn::kernels::line_buffer<T> y0, y1;                 ///< (tile_rows, widest) outputs of layers
        nn::kernels::line_buffer<float> out;                ///< (rows) output of the last layer
        std::vector<const float*> q, k, init, means, bases;
        std::vector<const T*> values, pairs_at;
        std::vector<float> times;
        std::uint32_t epoch = 0;
    };

    /// Attention weights in T and the values of the common keys, operands of `fold`. In bf16 a step over the common keys takes two keys of repeated rows.
    struct fold_weights {
        const T* own = nullptr;                 ///< as `worker::weights`
        const T* repeated = nullptr;            ///< (repeated rows, steps, lanes [, 2]) common keys
        const T* single = nullptr;              ///< (rows that occur once, common keys, lanes) common keys
        index repeated_row = 0, single_row = 0; ///< row strides
        index steps = 0;                        ///< over the common keys of repeated rows
        const T* const* values = nullptr;       ///< (steps) values of the common keys
    };

    float* entry(std::size_t id) { return table_[id / row_block].data() + static_cast<index>(id % row_block) * net_->row_size; }
    T* values_of(std::size_t id) { return values_[id / row_block].data() + static_cast<index>(id % row_block) * net_->values_size; }
    float* base_of(std::size_t id) { return bases_[id / row_block].data() + static_cast<index>(id % row_block) * net_->fold_columns; }

    /// Scratch memory for the rows of a layer that uses AMX; null for other layers.
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
    void list_operands(worker& w, index common);
    void weigh_single_rows(worker& w, index common);
    fold_weights convert_weights(worker& w, index common);
    void pair_values(worker& w, index common, index p);
    void sum_repeated_rows(worker& w, const fold_weights& weights, index p);
    void sum_single_rows(worker& w, index common, const fold_weights& weights, index p);
    void add_own_keys(worker& w, index common, const fold_weights& weights, index p);
    [[nodiscard]] index value_panel() const { return net_->head_steps * net_->tail.width * net_->tail.pair; } ///< size of a panel of a row's values
    [[nodiscard]] index pair_panel() const { return net_->head_steps * 2 * net_->tail.width * net_->tail.pair; } ///< the same of two rows, in w.pairs
    void combine(worker& w, index common);
    void layers(worker& w);

    /// Calls f(worker, i) for all i < n in parallel.
    template <bulk_executor Executor, class F>
    void spread(Executor& executor, std::size_t n, const F& f) {
        const std::size_t workers = (std::min)(n, workers_.size());
        std::atomic<std::size_t> next{0};
        executor.bulk(workers, [&](std::size_t w) {
            for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) f(workers_[w], i);
        });
    }

    const frozen_weights<T>* net_;
    const row_ids* rows_;
    std::vector<nn::kernels::line_buffer<float>> table_; ///< blocks of row_block entries
    std::vector<nn::kernels::line_buffer<T>> values_;
    std::vector<nn::kernels::line_buffer<float>> bases_;
    std::vector<std::uint8_t> has_values_;
    std::size_t encoded_ = 0; ///< number of rows with an entry
    std::vector<worker> workers_;

    // current batch
    std::uint64_t batch_ = 0;
    std::vector<std::uint64_t> stamp_;   ///< by id: number of the last batch with the row
    std::vector<std::uint32_t> local_;   ///< by id: index among the distinct rows of the batch
    std::vector<std::uint32_t> present_; ///< ids of the distinct rows of the batch
    std::vector<std::uint32_t> at_;      ///< rows of all candidates as indices into present_
    prefix_groups groups_;
    bool use_values_ = false;
    static constexpr std::uint32_t several = ~0U;
    std::vector<std::uint32_t> owner_;                        ///< by index in the batch: the only group of a transient row, else `several`
    std::vector<const float*> entry_of_;                      ///< by index in the batch; of a transient row null until its group is scored
    std::vector<std::pair<std::size_t, std::size_t>> pieces_; ///< rows [first, second) of one row_block
};

} // namespace detail

} // namespace augur::inline v0::tlp

#include <augur/tlp/detail/frozen_fold_impl.hpp>
#include <augur/tlp/detail/frozen_forward_impl.hpp>
#include <augur/tlp/detail/frozen_group_impl.hpp>

#endif
