// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_ONLINE_HPP
#define AUGUR_TLM_ONLINE_HPP

/// @file
/// A language model that is fine-tuned on what a running search measures.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/retraining_schedule.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/gpt2_session.hpp>
#include <augur/tlm/gpt2.hpp>
#include <augur/tlm/train/trainer.hpp>
#include <augur/tlm/vocabulary.hpp>
#include <augur/tlm/weights_file.hpp>

namespace augur::inline v0::tlm {

/// The defaults of fine-tuning: ten epochs at a constant rate.
[[nodiscard]] inline training_options fine_tuning() {
    training_options o;
    o.epochs = 10;
    o.learning_rate = 3e-4;
    o.decays = false;
    return o;
}

/// What `online_model` learns from, and when.
struct online_options {
    training_options fit = fine_tuning(); ///< without checkpoint and without `records`
    std::size_t best = 10;                ///< points of a kernel that it learns from, its fastest ones; the authors': 1
    double within = 1.5;                  ///< of the least latency of a kernel: slower points are not learned, however few remain
    std::size_t first_update = 64;        ///< measured points at the first fine-tuning; 0: it never learns
    double growth = 2;                    ///< fine-tuning after first_update * growth^k points; at least `least_retraining_growth`
    std::function<bool(const training_progress&)> progress{}; ///< of a fine-tuning; false ends it, and the model stays as it is

    /// Errors: invalid_argument
    [[nodiscard]] result<void> check() const {
        if (!fit.checkpoint.empty() || !fit.records.empty())
            return error{errc::invalid_argument, "tlm online: expected a training without checkpoint and without records"};
        if (best > 0 && within >= 1 && growth >= least_retraining_growth) return {};
        return error{errc::invalid_argument, "tlm online: expected at least one point of a kernel, within a factor of at least 1, and a growth of at "
                                             "least 1.01, got " +
                                                 std::to_string(best) + ", " + std::to_string(within) + " and " + std::to_string(growth)};
    }
};

/// A language model that the searches of several kernels share (`generative_search`). What they measure are its demonstrations.
///
/// Each fine-tuning starts from the weights of the beginning, and learns from exactly the first 64, 128, ... points that were measured, of each kernel
/// the fastest. So the model depends on the points and their order only, and a resumed search gets the same model as an uninterrupted one.
///
/// Threads  one thread at a time; it computes on the executor
template <bulk_executor E>
class online_model {
public:
    /// pre: options.check()
    online_model(language_model base, E& threads, online_options options = {})
        : base_(std::move(base)), threads_(&threads), options_(std::move(options)),
          current_(std::make_shared<const frozen_gpt2>(base_.net, threads)) {
        AUGUR_ASSERT(options_.check(), "tlm::online_model: options");
    }
    online_model(const online_model&) = delete;
    online_model& operator=(const online_model&) = delete;

    /// Learns from sentences that were measured before, for example of other kernels, now and in each fine-tuning.
    /// Errors: those of `train` and of `dataset_builder`; limit: no sentence fits into the context. The weights are as before, but the sentences stay and take
    /// part in each later fine-tuning. An empty data set is no error and trains nothing
    [[nodiscard]] result<void> demonstrate(dataset sentences) {
        before_.emplace(std::move(sentences));
        return fine_tune(tried_);
    }
    /// A measured point of a kernel: seconds; what is no number above 0 has failed. One that was observed before is passed over, and one that the space
    /// does not have is not learned. The space must outlive the model.
    template <decision_tree P>
    void observe(std::string_view prompt, const P& space, std::span<const std::uint64_t> decisions, double seconds) {
        const auto [at, is_new] = places_.try_emplace({std::string(prompt), &space}, kernels_.size());
        if (is_new)
            kernels_.push_back(
                {std::string(prompt), {}, [&space](dataset_builder& to, std::uint32_t source, std::string_view text, const demonstration& d) {
                     return add_sentence(to, source, text, space, *d.decisions, d.seconds);
                 }});
        const auto [point, first_time] = kernels_[at->second].points.emplace(decisions.begin(), decisions.end());
        if (first_time) observed_.push_back({at->second, &*point, seconds > 0 ? seconds : std::numeric_limits<double>::infinity()});
    }
    /// The model, after a fine-tuning if one is due. A fine-tuning that fails leaves the model as it is: see `failed`.
    [[nodiscard]] std::shared_ptr<const frozen_gpt2> current() {
        const auto due = options_.first_update == 0 ? 0 : last_retraining(observed_.size(), options_.first_update, options_.growth);
        if (due > tried_) {
            tried_ = due;
            if (auto done = fine_tune(due); !done && !failed_) failed_ = done.error();
        }
        return current_;
    }

    [[nodiscard]] const vocabulary& words() const noexcept { return base_.words; }
    [[nodiscard]] sentence_form form() const noexcept { return base_.form; }
    [[nodiscard]] std::size_t observed() const noexcept { return observed_.size(); } ///< different points, those that failed as well
    [[nodiscard]] std::size_t fine_tunings() const noexcept { return fine_tunings_; }
    /// Words of the last demonstrations that the vocabulary does not have: it learns their sentences with an unknown word in that place.
    [[nodiscard]] std::span<const std::string> unknown() const noexcept { return unknown_; }
    /// Sentences of the last demonstrations that are longer than the context, and so not learned.
    [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }
    [[nodiscard]] const std::optional<error>& failed() const noexcept { return failed_; } ///< the first fine-tuning that failed, while it searched

private:
    struct demonstration {
        std::size_t kernel;
        const decision_vector* decisions;
        double seconds;
    };
    struct observed_kernel {
        std::string prompt;
        std::set<decision_vector> points; ///< whose addresses are stable
        std::function<result<void>(dataset_builder&, std::uint32_t, std::string_view, const demonstration&)> write;
    };

    language_model base_;
    E* threads_;
    online_options options_;
    std::shared_ptr<const frozen_gpt2> current_;
    std::optional<dataset> before_;
    std::map<std::pair<std::string, const void*>, std::size_t> places_; ///< of kernels in `kernels_`: prompts may be equal
    std::deque<observed_kernel> kernels_;
    std::vector<demonstration> observed_;
    std::size_t tried_ = 0, fine_tunings_ = 0;
    std::vector<std::string> unknown_;
    std::size_t left_out_ = 0;
    std::optional<error> failed_;

    /// The demonstrations among the first `count` points, and those from before.
    result<dataset> demonstrations(std::size_t count) {
        dataset_builder to;
        if (before_) {
            const auto source = to.source("before");
            std::vector<primitive_id> ids;
            for (std::size_t t = 0; t < before_->tasks(); ++t) {
                const auto task = before_->task(t);
                const auto at = to.task(task.key, {}, {});
                if (!at) return at.error();
                for (auto r = task.first; r < task.last; ++r) {
                    ids.clear();
                    primitive_interner sink(to.primitives(), ids);
                    for (const auto id : before_->schedule(r)) before_->primitives().visit(id, sink);
                    if (auto done = sink.finish(); !done) return done.error();
                    if (auto added = to.add(*at, source, ids, before_->seconds(r), before_->status(r)); !added) return added.error();
                }
            }
        }
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const auto &x = observed_[a], &y = observed_[b];
            if (x.kernel != y.kernel) return x.kernel < y.kernel;
            return x.seconds != y.seconds ? x.seconds < y.seconds : a < b;
        });
        const auto source = to.source("measured");
        std::size_t taken = 0;
        double least = 0; // of the kernel
        for (std::size_t i = 0; i < count; ++i) {
            const auto& d = observed_[order[i]];
            if (i == 0 || observed_[order[i - 1]].kernel != d.kernel) {
                taken = 0;
                least = d.seconds;
            }
            if (taken == options_.best || !(d.seconds <= options_.within * least) || !std::isfinite(d.seconds)) continue;
            const auto added = kernels_[d.kernel].write(to, source, kernels_[d.kernel].prompt, d);
            if (!added && added.error().code == errc::illegal_schedule) continue; // the space has changed
            if (!added) return added.error();
            ++taken;
        }
        return std::move(to).finish();
    }

    /// The sentences that fit into the context.
    std::vector<std::uint32_t> fitting(const dataset& corpus, const corpus_tokens& tokens) const {
        std::vector<std::uint32_t> out;
        std::vector<token> ids;
        std::vector<std::uint8_t> learned;
        for (std::size_t t = 0; t < corpus.tasks(); ++t) {
            const auto task = corpus.task(t);
            for (auto r = task.first; r < task.last; ++r) {
                ids.clear();
                learned.clear();
                tokens.append(r, base_.form, ids, learned);
                if (tokens.prompt(t).size() + ids.size() - 1 <= static_cast<std::size_t>(base_.net.places.W.rows()))
                    out.push_back(static_cast<std::uint32_t>(r));
            }
        }
        return out;
    }

    result<void> fine_tune(std::size_t count) {
        const auto corpus = demonstrations(count);
        if (!corpus) return corpus.error();
        if (corpus->size() == 0) return {}; // all have failed
        const corpus_tokens tokens(*corpus, base_.words);
        unknown_.assign(tokens.unknown().begin(), tokens.unknown().end());
        auto options = options_.fit;
        options.records = fitting(*corpus, tokens);
        left_out_ = corpus->size() - options.records.size();
        if (options.records.empty()) return error{errc::limit, "tlm online: all sentences are longer than the context"};
        auto net = base_.net;
        const auto go_on = [&](const training_progress& p) { return !options_.progress || options_.progress(p); };
        if (auto trained = train(net, *corpus, tokens, base_.form, options, *threads_, go_on); !trained) return trained;
        current_ = std::make_shared<const frozen_gpt2>(std::move(net), *threads_);
        ++fine_tunings_;
        return {};
    }
};

} // namespace augur::inline v0::tlm

#endif
