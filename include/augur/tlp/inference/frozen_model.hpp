// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_INFERENCE_FROZEN_MODEL_HPP
#define AUGUR_TLP_INFERENCE_FROZEN_MODEL_HPP

/// @file
/// Inference-only TLP model: packed weights, rows cached across batches, and kernels selected for the instruction set of the CPU.

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
#include <augur/tlp/inference/row_ids.hpp>
#include <augur/tlp/schema.hpp>
#include <augur/tlp/scorer.hpp>

namespace augur::inline v0::tlp {

/// Precision of the layers after attention. The layers before attention and all sums are float.
enum class precision : std::uint8_t {
    single, ///< float; with AMX the factors have 16-bit significands, see nn/kernels/amx.hpp
    bf16    ///< bfloat16 (8-bit significand): faster with AMX, or with AVX512_BF16 on CPUs other than Intel's; on other CPUs `single` is used
};

/// Options of `freeze`.
struct freeze_options {
    tlp::precision precision = tlp::precision::single;
    std::size_t output = 0;                           ///< output to score by
    std::size_t rows = 1536;                          ///< capacity of a scorer's row cache; 22 kB per row with the authors' widths
    nn::kernels::isa level = nn::kernels::best_isa(); ///< for tests: a lower instruction set
    bool amx = true;                                  ///< for tests: false disables AMX
    bool portable_bf16 = false;                       ///< for tests: bf16 also without fast hardware support
};

template <bulk_executor Executor>
class frozen_scorer;

/// Immutable model for scoring only, made by `freeze`. Cheap to copy: copies share the weights.
class frozen_model {
public:
    [[nodiscard]] const tlp::schema& schema() const { return *schema_; }
    /// Precision in use: `single` if bf16 was requested but is not faster on this CPU.
    [[nodiscard]] tlp::precision precision() const { return half_ ? tlp::precision::bf16 : tlp::precision::single; }

    /// Creates a scorer, which keeps its own copy of the model. The executor must outlive it; use one scorer per thread.
    template <bulk_executor Executor>
    [[nodiscard]] frozen_scorer<Executor> scorer(Executor& executor) const {
        return frozen_scorer<Executor>(*this, executor);
    }

private:
    friend result<frozen_model> freeze(const trained_model& trained, const freeze_options& options);
    template <bulk_executor Executor>
    friend class frozen_scorer;
    frozen_model() = default;

    std::shared_ptr<const tlp::schema> schema_;
    std::shared_ptr<const detail::frozen_weights<float>> single_; ///< exactly one of single_ and half_ is set
    std::shared_ptr<const detail::frozen_weights<nn::kernels::bf16>> half_;
    std::size_t rows_ = 0;
};

/// Packs a trained model for inference.
///
/// @note errors: unsupported for a backbone other than one attention layer; invalid_argument for an output out of range or a parameter that is not
///       finite (named); limit for more than 2^20 cached rows; shape_mismatch if schema and config do not fit together. About 20 ms at the authors'
///       size.
[[nodiscard]] inline result<frozen_model> freeze(const trained_model& trained, const freeze_options& options = {}) {
    const auto& config = trained.model.config;
    if (auto fits = trained.schema.check(); !fits) return fits.error();
    if (auto fits = config.check(); !fits) return fits.error();
    if (config.columns != static_cast<nn::index>(trained.schema.columns))
        return error{errc::shape_mismatch, "tlp freeze: expected a model with the schema's " + std::to_string(trained.schema.columns) +
                                               " columns, got " + std::to_string(config.columns)};
    if (config.backbone != backbone::attention || config.attention_layers != 1)
        return error{errc::unsupported, "tlp freeze: expected one layer of attention, got " +
                                            (config.backbone == backbone::attention ? std::to_string(config.attention_layers) : "an LSTM")};
    if (options.output >= trained.model.decoders.size())
        return error{errc::invalid_argument, "tlp freeze: expected an output below " + std::to_string(trained.model.decoders.size()) + ", got " +
                                                 std::to_string(options.output)};
    if (options.rows > std::size_t{1} << 20U) // 22 GB
        return error{errc::limit, "tlp freeze: expected at most 1048576 rows kept, got " + std::to_string(options.rows)};
    if (const auto bad = trained.model.not_finite(); !bad.empty())
        return error{errc::invalid_argument, "tlp freeze: expected finite parameters, '" + bad + "' has a NaN or an infinity"};

    namespace k = nn::kernels;
    frozen_model out;
    out.schema_ = std::make_shared<const tlp::schema>(trained.schema);
    out.rows_ = options.rows;
    const bool amx = options.amx && options.level == k::isa::avx512 && k::amx_ready();
    const auto half = k::fast_bf16_panels(options.level, options.amx, options.portable_bf16);
    if (options.precision == tlp::precision::bf16 && half)
        out.half_ = std::make_shared<const detail::frozen_weights<k::bf16>>(trained.model, options.output, options.level, amx, *half);
    else
        out.single_ = std::make_shared<const detail::frozen_weights<float>>(trained.model, options.output, options.level, amx,
                                                                            k::float_panels(options.level, amx));
    return out;
}

/// Scores schedules with a frozen TLP. Models `cost_model` for every schedule and task.
///
/// Scores equal those of `scorer` up to rounding (1e-4 relative in float). Equal batches give bit-identical scores, independent of earlier batches
/// and of the number of threads. The score of a schedule may differ by rounding in another batch, because the batch decides which of two equivalent
/// algorithms is used.
///
/// Memory: at most `freeze_options::rows` rows are cached. A batch with more distinct rows is scored in parts, each with an empty cache.
template <bulk_executor Executor>
class frozen_scorer {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    frozen_scorer(frozen_model model, Executor& executor)
        : model_(std::move(model)), executor_(&executor), rows_(std::make_unique<row_ids>(model_.schema(), model_.rows_)) {
        if (model_.half_) half_.emplace(*model_.half_, *rows_);
        else single_.emplace(*model_.single_, *rows_);
    }

    /// scores[i] <- score of batch[i], higher is better; -infinity if the vocabulary refuses a word or the score is NaN.
    /// After a batch of the same size and number of distinct rows it allocates only for the executor.
    /// Errors: shape_mismatch if the spans differ in length.
    template <class Range, task Task>
    result<void> score(const Task&, const Range& schedules, std::span<float> scores) {
        const auto batch = schedule_span(schedules);
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch,
                         "tlp: expected as many scores as schedules, got " + std::to_string(scores.size()) + " and " + std::to_string(batch.size())};
        start_part();
        unknown_.clear();
        bool fresh = rows_->size() == 0;
        std::size_t first = 0;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (!rows_->has_room()) {
                if (fresh) { // the batch exceeds the cache: score the schedules so far
                    forward(scores.subspan(first, i - first), false);
                    first = i;
                } else { // restart with an empty cache, so that the parts do not depend on earlier batches
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

    /// Empties the row cache; scores do not change.
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
    std::unique_ptr<row_ids> rows_;                       ///< on the heap: single_ or half_ keeps a pointer to it when the scorer moves
    std::optional<detail::frozen_forward<float>> single_; ///< exactly one of single_ and half_ is set
    std::optional<detail::frozen_forward<nn::kernels::bf16>> half_;
    std::vector<std::size_t> begin_;
    std::vector<std::uint32_t> ids_;
    std::vector<float> times_;
    std::vector<std::size_t> unknown_;
};

} // namespace augur::inline v0::tlp

#endif
