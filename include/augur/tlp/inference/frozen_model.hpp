// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_INFERENCE_FROZEN_MODEL_HPP
#define AUGUR_TLP_INFERENCE_FROZEN_MODEL_HPP

/// @file
/// A trained TLP in its inference form: packed weights, a table of rows that outlives a batch, kernels chosen by what the processor has.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/model/concepts.hpp>
#include <augur/tlp/detail/frozen_forward.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/inference/row_ids.hpp>
#include <augur/tlp/scorer.hpp>

namespace augur::inline v0::tlp {

/// Numbers behind attention; before it they are float, and sums are float in both.
enum class precision : std::uint8_t {
    single, ///< float; with AMX 16 binary digits of each factor count, see nn/kernels/amx.hpp
    bf16    ///< 8 binary digits: faster where the processor has AMX, or AVX512_BF16 and is not Intel's; elsewhere it is taken for `single`
};

struct freeze_options {
    tlp::precision precision = tlp::precision::single;
    std::size_t output = 0;                           ///< of a network with several
    std::size_t rows = 1536;                          ///< most distinct rows that a scorer keeps; 22 kB each at the authors' widths
    nn::kernels::isa level = nn::kernels::best_isa(); ///< for tests: a lesser instruction set
    bool amx = true;                                  ///< false for tests: without AMX where the processor has it
    bool portable_bf16 = false;                       ///< for tests: bf16 where the processor has none or a slow one
};

template <bulk_executor Executor>
class frozen_scorer;

/// An immutable model that scores and does not learn. Cheap to copy: copies share the weights.
class frozen_model {
public:
    [[nodiscard]] const tlp::schema& schema() const { return *schema_; }
    /// What it computes in: `single` where bf16 was asked for and would not be faster.
    [[nodiscard]] tlp::precision precision() const { return half_ ? tlp::precision::bf16 : tlp::precision::single; }

    /// A cost model on this one. The executor must outlive it, this need not; make one a thread.
    template <bulk_executor Executor>
    [[nodiscard]] frozen_scorer<Executor> scorer(Executor& executor) const {
        return frozen_scorer<Executor>(*this, executor);
    }

private:
    friend result<frozen_model> freeze(const trained_model& model, const freeze_options& options);
    template <bulk_executor Executor>
    friend class frozen_scorer;
    frozen_model() = default;

    std::shared_ptr<const tlp::schema> schema_;
    std::shared_ptr<const detail::packed_network<float>> single_; ///< one of the two
    std::shared_ptr<const detail::packed_network<nn::kernels::bf16>> half_;
    std::size_t rows_ = 0;
};

/// The inference form of a model.
///
/// @note errors: unsupported for a backbone other than one layer of attention; invalid_argument for an output that is not there; limit for more than
///       2^20 rows; shape_mismatch for a model whose parts do not fit; a parameter that is no finite number, named. About 20 ms at the authors' size.
[[nodiscard]] inline result<frozen_model> freeze(const trained_model& model, const freeze_options& options = {}) {
    const auto& config = model.network.config;
    if (auto fits = model.schema.check(); !fits) return fits.error();
    if (auto fits = config.check(); !fits) return fits.error();
    if (config.columns != static_cast<nn::index>(model.schema.columns))
        return error{errc::shape_mismatch,
                     "tlp freeze: a network for " + std::to_string(config.columns) + " columns, a schema of " + std::to_string(model.schema.columns)};
    if (config.backbone != backbone::attention || config.attention_layers != 1)
        return error{errc::unsupported, "tlp freeze: expected one layer of attention, got " +
                                            (config.backbone == backbone::attention ? std::to_string(config.attention_layers) : "an LSTM")};
    if (options.output >= model.network.decoders.size())
        return error{errc::invalid_argument, "tlp freeze: expected an output below " + std::to_string(model.network.decoders.size()) + ", got " +
                                                 std::to_string(options.output)};
    if (options.rows > std::size_t{1} << 20U) // 22 GB
        return error{errc::limit, "tlp freeze: expected at most 1048576 rows kept, got " + std::to_string(options.rows)};
    if (const auto bad = model.network.not_finite(); !bad.empty())
        return error{errc::invalid_argument, "tlp freeze: expected finite parameters, '" + bad + "' has a NaN or an infinity"};

    namespace k = nn::kernels;
    frozen_model out;
    out.schema_ = std::make_shared<const tlp::schema>(model.schema);
    out.rows_ = options.rows;
    const bool amx = options.amx && options.level == k::isa::avx512 && k::amx_ready();
    const bool native = k::has_bf16() && options.level == k::isa::avx512;
    if (options.precision == tlp::precision::bf16 && (amx || (native && k::has_fast_bf16()) || options.portable_bf16))
        out.half_ =
            std::make_shared<const detail::packed_network<k::bf16>>(model.network, options.output, options.level, amx, k::bf16_panels(native, amx));
    else
        out.single_ = std::make_shared<const detail::packed_network<float>>(model.network, options.output, options.level, amx,
                                                                            k::float_panels(options.level, amx));
    return out;
}

/// Scores schedules with a frozen TLP. Models `cost_model` for every schedule and task.
///
/// Scores are those of `scorer` up to rounding (1e-4 relative in float). The same batch gives the same scores to the last bit, whatever was
/// scored before and however many threads there are; beside other neighbours a score may differ by rounding, since the batch decides which of two
/// equal forms is computed.
///
/// Memory: at most `rows` rows are kept. A larger batch is scored in parts, each with its own table.
template <bulk_executor Executor>
class frozen_scorer {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    frozen_scorer(frozen_model model, Executor& executor)
        : model_(std::move(model)), executor_(&executor), rows_(std::make_unique<row_ids>(model_.schema(), model_.rows_)) {
        if (model_.half_) half_.emplace(*model_.half_, *rows_);
        else single_.emplace(*model_.single_, *rows_);
    }

    /// scores[i] <- the model's score of batch[i]; -infinity where the vocabulary does not know a word, or where the score is no number.
    /// Allocates nothing once it has seen a batch as large with as many distinct rows, apart from what the executor does.
    /// Errors: shape_mismatch when the spans differ in length.
    template <schedule S, task Task>
    result<void> score(const Task&, std::span<const S> batch, std::span<float> scores) {
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch,
                         "tlp: " + std::to_string(batch.size()) + " schedules, but room for " + std::to_string(scores.size()) + " scores"};
        start_part();
        unknown_.clear();
        bool fresh = rows_->size() == 0;
        std::size_t first = 0;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (!rows_->has_room()) {
                if (fresh) { // larger than the table: score what there is
                    forward(scores.subspan(first, i - first), false);
                    first = i;
                } else { // only now is the cut where it would be without rows from before
                    i = 0;
                    unknown_.clear();
                }
                fresh = true;
                clear();
                start_part();
            }
            if (!rows_->add(batch[i], ids_, times_)) unknown_.push_back(i);
            begin_.push_back(ids_.size());
        }
        forward(scores.subspan(first), true);
        for (const std::size_t i : unknown_) scores[i] = -std::numeric_limits<float>::infinity();
        for (float& s : scores)
            if (std::isnan(s)) s = -std::numeric_limits<float>::infinity();
        return {};
    }

    /// Forgets the rows of earlier batches; scores do not change.
    void clear() {
        rows_->clear();
        if (half_) half_->clear();
        if (single_) single_->clear();
    }

private:
    void start_part() {
        begin_.assign(1, 0);
        ids_.clear();
        times_.clear();
    }
    void forward(std::span<float> scores, bool keep) {
        if (half_) half_->forward(begin_, ids_, times_, *executor_, scores, keep);
        else single_->forward(begin_, ids_, times_, *executor_, scores, keep);
    }

    frozen_model model_;
    Executor* executor_;
    std::unique_ptr<row_ids> rows_;            ///< where it is, for the passes hold on to it
    std::optional<detail::frozen_forward<float>> single_; ///< one of the two
    std::optional<detail::frozen_forward<nn::kernels::bf16>> half_;
    std::vector<std::size_t> begin_;
    std::vector<std::uint32_t> ids_;
    std::vector<float> times_;
    std::vector<std::size_t> unknown_;
};

} // namespace augur::inline v0::tlp

#endif
