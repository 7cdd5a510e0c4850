// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_BOOSTED_TREES_HPP
#define AUGUR_XGBOOST_BOOSTED_TREES_HPP

/// @file
/// Gradient-boosted regression trees (Chen and Guestrin 2016) through the C API of XGBoost 1.7, the kind of cost model that Ansor uses.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/number.hpp>
#include <augur/xgboost/tree_options.hpp>

#include <xgboost/c_api.h>

namespace augur::inline v0 {

namespace detail {

/// Indices of the `top` largest numbers, or of all if there are fewer, the largest first. Of equal numbers the first is first; NaN is last.
[[nodiscard]] inline std::vector<std::uint32_t> largest(std::span<const float> by, std::size_t top) {
    std::vector<std::uint32_t> order(by.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>((std::min)(top, order.size()));
    std::partial_sort(order.begin(), end, order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const bool nan_a = std::isnan(by[a]), nan_b = std::isnan(by[b]);
        if (nan_a || nan_b) return nan_a != nan_b ? nan_b : a < b;
        return by[a] != by[b] ? by[a] > by[b] : a < b;
    });
    order.erase(end, order.end());
    return order;
}

/// Average recall for fixed labels and many scores, e.g. those of each round of a training: sorts the labels once.
class label_recall {
public:
    label_recall(std::span<const float> labels, std::size_t top) : top_(top), rank_(labels.size(), labels.size()) {
        std::size_t next = 0;
        for (const auto i : largest(labels, top)) rank_[i] = next++;
    }
    /// `average_recall` of these scores and the labels. O(N log top) time.   pre: as many scores as labels, top >= 1
    [[nodiscard]] double operator()(std::span<const float> scores) const {
        const auto chosen = largest(scores, top_);
        std::vector<std::size_t> begin(chosen.size(), 0); // [n]: samples that count from n + 1 on: those of both lists
        for (std::size_t k = 0; k < chosen.size(); ++k)
            if (const std::size_t from = (std::max)(k, rank_[chosen[k]]); from < begin.size()) ++begin[from];
        double sum = 0;
        std::size_t both = 0;
        for (std::size_t n = 0; n < begin.size(); ++n) {
            both += begin[n];
            sum += static_cast<double>(both) / static_cast<double>(n + 1);
        }
        return sum / static_cast<double>(top_);
    }

private:
    std::size_t top_;
    std::vector<std::size_t> rank_; ///< by sample: number of better labels; N for those that are not among the best `top`
};

struct xgb_matrix_free {
    void operator()(DMatrixHandle handle) const noexcept { XGDMatrixFree(handle); }
};
struct xgb_booster_free {
    void operator()(BoosterHandle handle) const noexcept { XGBoosterFree(handle); }
};
using xgb_matrix = std::unique_ptr<void, xgb_matrix_free>;
using xgb_booster = std::unique_ptr<void, xgb_booster_free>;

/// XGBoost's last error message without its stack trace.
[[nodiscard]] inline error xgb_error(errc code, std::string_view call) {
    const std::string_view text = XGBGetLastError();
    return error{code, std::string(call).append(": ").append(text.substr(0, (std::min)(text.find('\n'), std::size_t{400})))};
}

[[nodiscard]] inline result<void> xgb_set(BoosterHandle booster, const char* name, const std::string& value) {
    if (XGBoosterSetParam(booster, name, value.c_str()) != 0) return xgb_error(errc::invalid_argument, name);
    return {};
}

} // namespace detail

/// The mean, over n from 1 to `top`, of the share of the n best samples by score that are among the n best by label; 1 for a perfect order. Of
/// equal numbers the first is better; NaN is worst. With fewer samples than `top`, the sum over all of them divided by `top`.
/// Source: AutoTVM, python/tvm/autotvm/tuner/metric.py, as its comment defines it; its code leaves the last of each n samples out.   pre: as many
/// scores as labels, top >= 1
[[nodiscard]] inline double average_recall(std::span<const float> scores, std::span<const float> labels, std::size_t top) {
    return detail::label_recall(labels, top)(scores);
}

/// Trained trees, immutable. A value: copies share the trees.
///
/// Threads     concurrent const calls are safe, also on copies
class boosted_trees {
public:
    /// Trains trees.
    ///
    /// Equal samples and options give equal trees on one machine with one version of XGBoost, for any number of threads.
    /// Errors: shape_mismatch (spans that do not fit together, no sample), invalid_argument (an option, a label or margin that is not finite,
    /// decreasing groups; errors of XGBoost, e.g. for infinite features, with its message).
    /// Cost: peak memory of 12 bytes per feature value in addition to the samples; O(rounds * depth * N * C) time.
    [[nodiscard]] static result<boosted_trees> train(const tree_samples& samples, const boosted_trees_options& options = {}) {
        if (auto fits = options.check(); !fits) return fits.error();
        if (auto fits = check(samples); !fits) return fits.error();
        const std::size_t count = samples.labels.size();
        const bool ranks = options.objective == tree_objective::rank_pairwise;
        const std::uint32_t threads = ranks ? 1 : options.threads;
        const auto refused = [](std::string_view call) { return detail::xgb_error(errc::invalid_argument, call); };

        DMatrixHandle raw = nullptr;
        if (XGDMatrixCreateFromMat_omp(samples.x.data(), count, samples.columns, std::numeric_limits<float>::quiet_NaN(), &raw,
                                       static_cast<int>(threads)) != 0)
            return refused("features");
        const detail::xgb_matrix matrix(raw);
        if (XGDMatrixSetFloatInfo(raw, "label", samples.labels.data(), count) != 0) return refused("labels");
        if (options.weigh_by_label && !ranks && XGDMatrixSetFloatInfo(raw, "weight", samples.labels.data(), count) != 0) return refused("weights");
        if (ranks) {
            const std::vector<unsigned> sizes = group_sizes(samples);
            if (XGDMatrixSetUIntInfo(raw, "group", sizes.data(), sizes.size()) != 0) return refused("groups");
        }
        if (!samples.margins.empty()) {
            std::vector<float> margins(samples.margins.begin(), samples.margins.end());
            for (float& m : margins) m += static_cast<float>(options.start); // XGBoost takes a margin instead of the start
            if (XGDMatrixSetFloatInfo(raw, "base_margin", margins.data(), count) != 0) return refused("margins");
        }

        BoosterHandle handle = nullptr;
        if (XGBoosterCreate(&raw, 1, &handle) != 0) return refused("booster");
        const detail::xgb_booster booster(handle);
        const auto text = [](double number) {
            std::string out;
            append_number(out, number);
            return out;
        };
        const std::pair<const char*, std::string> parameters[] = {
            {"verbosity", "0"},
            {"objective", ranks ? "rank:pairwise" : "reg:squarederror"},
            {"disable_default_eval_metric", "1"},
            {"base_score", text(options.start)},
            {"max_depth", std::to_string(options.depth)},
            {"eta", text(options.learning_rate)},
            {"gamma", text(options.min_split_loss)},
            {"min_child_weight", text(options.min_child_weight)},
            {"subsample", text(options.row_share)},
            {"colsample_bytree", text(options.column_share)},
            {"tree_method", options.bins == 0 ? "exact" : "hist"},
            {"max_bin", std::to_string(options.bins == 0 ? 256 : options.bins)},
            {"seed", std::to_string(options.seed & 0x7FFFFFFFU)},
            {"nthread", std::to_string(threads)},
        };
        for (const auto& [name, value] : parameters)
            if (auto done = detail::xgb_set(handle, name, value); !done) return done.error();
        const detail::label_recall recall_of(samples.labels, options.stop_recall);
        double best = -1;
        for (std::uint32_t round = 0, best_round = 0; round < options.rounds; ++round) {
            if (XGBoosterUpdateOneIter(handle, static_cast<int>(round), raw) != 0) return refused("round " + std::to_string(round));
            if (options.stop_recall == 0) continue;
            const bst_ulong* shape = nullptr;
            bst_ulong dimensions = 0;
            const float* scores = nullptr; // of the training samples; XGBoost keeps them from round to round
            constexpr const char* margin = R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
            if (XGBoosterPredictFromDMatrix(handle, raw, margin, &shape, &dimensions, &scores) != 0) return refused("recall");
            if (const double recall = recall_of({scores, count}); recall > best) {
                best = recall;
                best_round = round;
            } else if (round - best_round >= options.patience) {
                break;
            }
        }

        bst_ulong length = 0;
        const char* bytes = nullptr;
        if (XGBoosterSaveModelToBuffer(handle, R"({"format":"ubj"})", &length, &bytes) != 0) return refused("save");
        return adopt({bytes, static_cast<std::size_t>(length)}, samples.columns, options.threads);
    }

    /// out[i] <- prediction for row i of x (N, C); NaN marks a missing value.
    ///
    /// The prediction for a row does not depend on the other rows or on the number of threads.
    /// Errors: shape_mismatch; errors of XGBoost.
    [[nodiscard]] result<void> predict(std::span<const float> x, std::span<float> out) const {
        if (x.size() != out.size() * columns_)
            return error{errc::shape_mismatch, "boosted trees: expected " + std::to_string(out.size()) + " rows of " + std::to_string(columns_) +
                                                   " features, got " + std::to_string(x.size()) + " features"};
        return predict(booster_.get(), x, out, columns_);
    }

    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }

    /// Serialises the trees: magic with version, `features`, columns, length and checksum (five 64-bit words, little-endian), then XGBoost's UBJSON.
    ///
    /// @param features  hash of the meaning of the columns, e.g. `tlp::schema::hash()`
    [[nodiscard]] std::string save(std::uint64_t features = 0) const {
        std::string out(header_bytes, '\0');
        put(out, 0, magic);
        put(out, 1, features);
        put(out, 2, columns_);
        put(out, 3, model_->size());
        put(out, 4, checksum(out, *model_));
        return out += *model_;
    }

    /// Reads trees written by `save` with the same `features`.
    ///
    /// The checksum detects truncated and corrupted files, not manipulated ones. XGBoost does not validate its trees: load only trusted files.
    /// Errors: version_mismatch (another format, or trees on other features), parse (truncated, corrupted, or rejected by XGBoost).
    [[nodiscard]] static result<boosted_trees> load(std::string_view bytes, std::uint64_t features = 0, std::uint32_t threads = 1) {
        if (bytes.size() < header_bytes || get(bytes, 0) != magic)
            return error{errc::version_mismatch, "boosted trees: expected a file that begins with 'augtree1' and has 40 bytes or more, got " +
                                                     std::to_string(bytes.size()) + " bytes of another format"};
        const std::string_view model = bytes.substr(header_bytes);
        if (get(bytes, 3) != model.size())
            return error{errc::parse,
                         "boosted trees: expected " + std::to_string(get(bytes, 3)) + " bytes after the header, got " + std::to_string(model.size())};
        if (model.empty() || get(bytes, 4) != checksum(bytes, model))
            return error{errc::parse, "boosted trees: wrong checksum, the data are corrupted"};
        if (get(bytes, 1) != features)
            return error{errc::version_mismatch, "boosted trees: expected trees on features " + std::to_string(features) +
                                                     " (hash of the schema), got " + std::to_string(get(bytes, 1))};
        return adopt(model, static_cast<std::size_t>(get(bytes, 2)), threads);
    }

private:
    static constexpr std::uint64_t magic = 0x3165657274677561; // "augtree1"
    static constexpr std::size_t header_bytes = 40;

    boosted_trees(std::shared_ptr<const std::string> model, std::shared_ptr<void> booster, std::size_t columns)
        : model_(std::move(model)), booster_(std::move(booster)), columns_(columns) {}

    static result<void> check(const tree_samples& s) {
        if (s.labels.empty() || s.columns == 0 || s.x.size() / s.columns != s.labels.size() || s.x.size() % s.columns != 0)
            return error{errc::shape_mismatch, "boosted trees: expected samples of 1 or more columns and a label each, got " +
                                                   std::to_string(s.x.size()) + " features, " + std::to_string(s.columns) + " columns, " +
                                                   std::to_string(s.labels.size()) + " labels"};
        if (!s.groups.empty() && s.groups.size() != s.labels.size())
            return error{errc::shape_mismatch,
                         "boosted trees: " + std::to_string(s.groups.size()) + " groups for " + std::to_string(s.labels.size()) + " samples"};
        if (!s.margins.empty() && s.margins.size() != s.labels.size())
            return error{errc::shape_mismatch,
                         "boosted trees: " + std::to_string(s.margins.size()) + " margins for " + std::to_string(s.labels.size()) + " samples"};
        for (std::size_t i = 0; i < s.labels.size(); ++i)
            if (!std::isfinite(s.labels[i]) || (!s.margins.empty() && !std::isfinite(s.margins[i])))
                return error{errc::invalid_argument, "boosted trees: the label or margin of sample " + std::to_string(i) + " is not finite"};
        if (const auto at = std::is_sorted_until(s.groups.begin(), s.groups.end()); at != s.groups.end())
            return error{errc::invalid_argument, "boosted trees: the group of sample " + std::to_string(at - s.groups.begin()) +
                                                     " is below the previous one; expected samples sorted by group"};
        return {};
    }

    static std::vector<unsigned> group_sizes(const tree_samples& s) {
        std::vector<unsigned> sizes;
        for (std::size_t i = 0; i < s.labels.size(); ++i) {
            if (i == 0 || (!s.groups.empty() && s.groups[i] != s.groups[i - 1])) sizes.push_back(0);
            ++sizes.back();
        }
        return sizes;
    }

    /// Makes a booster from XGBoost's bytes and predicts once: XGBoost configures a booster on its first use, and a shared booster must not change.
    static result<boosted_trees> adopt(std::string_view model, std::size_t columns, std::uint32_t threads) {
        BoosterHandle handle = nullptr;
        if (XGBoosterCreate(nullptr, 0, &handle) != 0) return detail::xgb_error(errc::invalid_argument, "booster");
        std::shared_ptr<void> booster(handle, detail::xgb_booster_free());
        if (auto done = detail::xgb_set(handle, "verbosity", "0"); !done) return done.error();
        if (XGBoosterLoadModelFromBuffer(handle, model.data(), model.size()) != 0) return detail::xgb_error(errc::parse, "boosted trees");
        bst_ulong has = 0;
        if (XGBoosterGetNumFeature(handle, &has) != 0) return detail::xgb_error(errc::parse, "boosted trees");
        if (has != columns)
            return error{errc::parse,
                         "boosted trees: " + std::to_string(columns) + " columns in the header, " + std::to_string(has) + " in the trees"};
        if (auto done = detail::xgb_set(handle, "nthread", std::to_string(threads)); !done) return done.error();
        const std::vector<float> row(columns);
        float value = 0;
        if (auto done = predict(handle, row, {&value, 1}, columns); !done) return done.error();
        return boosted_trees(std::make_shared<const std::string>(model), std::move(booster), columns);
    }

    static result<void> predict(BoosterHandle booster, std::span<const float> x, std::span<float> out, std::size_t columns) {
        if (out.empty()) return {};
        // XGBoost takes NumPy's array interface
        const std::string rows = R"({"version":3,"typestr":"<f4","data":[)" + std::to_string(reinterpret_cast<std::uintptr_t>(x.data())) +
                                 R"(,true],"shape":[)" + std::to_string(out.size()) + ',' + std::to_string(columns) + "]}";
        constexpr const char* config =
            R"({"type":0,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false,"cache_id":0,"missing":NaN})";
        const bst_ulong* shape = nullptr;
        bst_ulong dimensions = 0;
        const float* values = nullptr;
        if (XGBoosterPredictFromDense(booster, rows.c_str(), config, nullptr, &shape, &dimensions, &values) != 0)
            return detail::xgb_error(errc::invalid_argument, "boosted trees");
        if (dimensions != 1 || shape[0] != out.size())
            return error{errc::shape_mismatch, "boosted trees: expected one value a row, the model gives more"};
        std::copy_n(values, out.size(), out.begin());
        return {};
    }

    static void put(std::string& to, std::size_t word, std::uint64_t value) {
        for (std::size_t i = 0; i < 8; ++i) to[word * 8 + i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
    static std::uint64_t get(std::string_view from, std::size_t word) {
        std::uint64_t value = 0;
        for (std::size_t i = 8; i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(from[word * 8 + i]);
        return value;
    }
    static std::uint64_t checksum(std::string_view header, std::string_view model) { return fnv1a64(model, fnv1a64(header.substr(0, 32))); }

    std::shared_ptr<const std::string> model_; ///< UBJSON
    std::shared_ptr<void> booster_;
    std::size_t columns_;
};

} // namespace augur::inline v0

#endif
