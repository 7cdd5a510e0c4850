// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_TRAIN_TRAINER_HPP
#define AUGUR_TLM_TRAIN_TRAINER_HPP

/// @file
/// Trains a GPT-2 on a corpus: pre-training on sampled sentences and supervised fine-tuning on measured ones (Zhai et al. 2024, section 5.1).

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/number.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/file.hpp>
#include <augur/nn/layers/dropout.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/nn/train/checkpoint_file.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/gpt2.hpp>

namespace augur::inline v0::tlm {

/// Options of `train`.
struct training_options {
    std::size_t epochs = 2;
    std::size_t prompts = 4;     ///< groups of a batch; each is a unit of parallel work
    std::size_t sentences = 8;   ///< of a group, all of one prompt, whose rows they share
    double learning_rate = 1e-3; ///< the authors': 5e-5, for batches of 20 sentences
    bool decays = true;          ///< linearly to 0 at the end, as in pre-training; false: constant, as in fine-tuning
    double warm_up = 0.02;       ///< share of the steps in which the rate rises from 0
    double clip = 1;             ///< of the norm of the gradient
    double dropout = 0;          ///< rate of what GPT-2 drops (`gpt2_pass::forward`), below 1; the authors': 0.1
    bool learn_all = false;      ///< prompts and padding to the context are learned, too, as in the authors' programs; else the values of decisions
    /// A sentence counts by the least latency of its prompt's learned sentences over its own. Sentences then share no rows of their prompt, which
    /// costs more time and memory the longer prompts are. False: all count alike, as in the authors' programs, which compute this label and leave it.
    bool weighted = false;
    std::uint64_t seed = 1;
    /// File from which a call with equal corpus, options and first weights goes on; another one is refused. The vocabulary is not compared: it must be
    /// equal, too. Empty: none.
    std::string checkpoint;
    double checkpoint_seconds = 60;     ///< between two of them; the last step always writes one
    std::vector<std::uint32_t> records; ///< of the corpus, to learn from; failed ones, and numbers beyond the corpus, are passed over; empty: all

    /// Errors: invalid_argument
    [[nodiscard]] result<void> check() const {
        const auto wrong = [](const char* expected, double came) {
            return error{errc::invalid_argument, std::string("training: expected ") + expected + ", got " + std::to_string(came)};
        };
        if (epochs == 0 || prompts == 0 || sentences == 0)
            return error{errc::invalid_argument, "training: expected at least one epoch, prompt and sentence"};
        if (!(learning_rate >= 0) || !std::isfinite(learning_rate)) return wrong("a finite learning rate of at least 0", learning_rate);
        if (!(warm_up >= 0 && warm_up <= 1)) return wrong("a warm-up of 0 to 1", warm_up);
        if (!(clip > 0)) return wrong("a limit of the gradient's norm above 0", clip);
        if (!(dropout >= 0 && dropout < 1)) return wrong("a dropout rate of 0 to below 1", dropout);
        return {};
    }
};

/// What `train` tells after each step.
struct training_progress {
    std::size_t step = 0, steps = 0;
    double epoch = 0;             ///< epochs done
    double loss = 0;              ///< of the step, nats a learned token
    double tokens_per_second = 0; ///< rows of the model: tokens of prompts, once a group, and of sentences
    double seconds_left = 0;
    double learning_rate = 0;
};

namespace detail {

/// What a training consists of: in each epoch the records of each task in random order, in groups of one task, the groups in random order. All
/// sentences of a group have one weight.
class training_plan {
public:
    training_plan(const dataset& corpus, const training_options& o) : corpus_(&corpus), options_(&o), most_(o.weighted ? 1 : o.sentences) {
        std::vector<std::uint8_t> wanted(corpus.size(), o.records.empty() ? 1 : 0);
        for (const auto r : o.records)
            if (r < corpus.size()) wanted[r] = 1;
        for (std::size_t t = 0; t < corpus.tasks(); ++t) {
            const auto task = corpus.task(t);
            task_records of{t, std::numeric_limits<double>::infinity(), {}};
            for (auto r = task.first; r < task.last; ++r) {
                if (wanted[r] == 0 || corpus.status(r) != outcome::ok) continue;
                of.records.push_back(static_cast<std::uint32_t>(r));
                of.least = (std::min)(of.least, corpus.seconds(r));
            }
            sentences_ += of.records.size();
            groups_ += (of.records.size() + most_ - 1) / most_;
            if (!of.records.empty()) tasks_.push_back(std::move(of));
        }
    }
    struct group {
        std::size_t task = 0;
        double weight = 1; ///< of each sentence
        std::vector<std::uint32_t> records;
    };
    [[nodiscard]] std::size_t sentences() const noexcept { return sentences_; } ///< of an epoch
    [[nodiscard]] std::size_t groups() const noexcept { return groups_; }       ///< of an epoch
    /// Groups of a unit of parallel work: a batch has as many sentences with weights as it has at most without.
    [[nodiscard]] std::size_t groups_of_part() const noexcept { return options_->weighted ? options_->sentences : 1; }
    [[nodiscard]] std::size_t groups_of_batch() const noexcept { return options_->prompts * groups_of_part(); }
    [[nodiscard]] std::size_t steps() const noexcept { return (groups_ + groups_of_batch() - 1) / groups_of_batch(); }

    [[nodiscard]] std::vector<group> epoch(std::size_t number) const {
        auto rng = random_engine(options_->seed).stream(number);
        std::vector<group> out;
        for (const auto& t : tasks_) {
            auto records = t.records;
            rng.shuffle(std::span(records));
            for (std::size_t i = 0; i < records.size(); i += most_)
                out.push_back({t.task,
                               options_->weighted ? t.least / corpus_->seconds(records[i]) : 1,
                               {records.begin() + static_cast<std::ptrdiff_t>(i),
                                records.begin() + static_cast<std::ptrdiff_t>((std::min)(records.size(), i + most_))}});
        }
        rng.shuffle(std::span(out));
        return out;
    }

private:
    struct task_records {
        std::size_t task = 0;
        double least = 0; ///< seconds
        std::vector<std::uint32_t> records;
    };
    const dataset* corpus_;
    const training_options* options_;
    std::size_t most_; ///< sentences of a group
    std::vector<task_records> tasks_;
    std::size_t sentences_ = 0, groups_ = 0;
};

/// Hash of what decides the outcome of a training but the vocabulary: corpus, options and the weights that it starts from.
[[nodiscard]] inline std::uint64_t training_hash(const gpt2<float>& net, const dataset& corpus, sentence_form form, const training_options& o) {
    const auto bytes = []<class T>(std::span<const T> values) {
        return std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    };
    const std::uint64_t numbers[] = {content_hash(corpus),
                                     o.epochs,
                                     o.prompts,
                                     o.sentences,
                                     o.seed,
                                     static_cast<std::uint64_t>(form),
                                     static_cast<std::uint64_t>(o.decays),
                                     static_cast<std::uint64_t>(o.learn_all),
                                     static_cast<std::uint64_t>(o.weighted),
                                     std::bit_cast<std::uint64_t>(o.learning_rate),
                                     std::bit_cast<std::uint64_t>(o.warm_up),
                                     std::bit_cast<std::uint64_t>(o.clip),
                                     std::bit_cast<std::uint64_t>(o.dropout),
                                     static_cast<std::uint64_t>(net.stack.layers.front().attention.heads)};
    std::uint64_t hash = fnv1a64(bytes(std::span<const std::uint32_t>(o.records)), fnv1a64(bytes(std::span<const std::uint64_t>(numbers))));
    gpt2<float>::visit(
        [&](const std::string& name, const auto& p) {
            hash = fnv1a64(bytes(std::span<const float>(p.data(), static_cast<std::size_t>(p.size()))), fnv1a64(name, hash));
        },
        net);
    return hash;
}

[[nodiscard]] inline bool all_finite(const gpt2<float>& net) {
    bool all = true;
    gpt2<float>::visit([&](const std::string&, const auto& p) { all = all && p.allFinite(); }, net);
    return all;
}

/// A checkpoint: parameters and moments under the names of the parameters, with the step and what decides the outcome in the metadata.
class checkpoint_file {
public:
    [[nodiscard]] static result<void> save(const std::string& path, std::uint64_t run, std::size_t step, const gpt2<float>& net,
                                           const nn::adam<gpt2<float>>& adam) {
        nn::safetensors_writer out;
        out.metadata("format", format);
        out.metadata("version", "1");
        out.metadata("run", std::to_string(run));
        out.metadata("step", std::to_string(step));
        out.metadata("checksum", checksum(run, step, net, adam.first(), adam.second()));
        gpt2<float>::visit(
            [&](const std::string& name, const auto& p, const auto& m, const auto& v) {
                const std::pair<const char*, const float*> parts[] = {{"", p.data()}, {"first.", m.data()}, {"second.", v.data()}};
                const auto n = static_cast<std::size_t>(p.size());
                for (const auto& [prefix, values] : parts) out.tensor(prefix + name, std::array<std::uint64_t, 1>{n}, {values, n});
            },
            net, adam.first(), adam.second());
        return replace_file(path, out.file());
    }
    /// The step that it has reached; 0, and nothing is changed: there is no checkpoint.
    /// Errors: version_mismatch: one of another training, or a damaged file; those of the file
    [[nodiscard]] static result<std::size_t> load(const std::string& path, std::uint64_t run, gpt2<float>& net, nn::adam<gpt2<float>>& adam) {
        if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return std::size_t{0};
        const auto file = nn::load_checkpoint_file(path, format, {.file = most_bytes});
        if (!file) return file.error();
        if (file->header.metadata_text("run") != std::to_string(run))
            return file->wrong(errc::version_mismatch, "a checkpoint of another training; remove it, or name another file");
        const auto reached = file->header.metadata_text("step");
        const auto step = parse_int(reached);
        if (!step || *step < 0) return file->wrong(errc::parse, "expected a step, got '" + printable(reached.substr(0, 40)) + "'");
        auto loaded = net, first = net, second = net;
        result<void> outcome;
        gpt2<float>::visit(
            [&](const std::string& name, auto& p, auto& m, auto& v) {
                const std::pair<const char*, float*> parts[] = {{"", p.data()}, {"first.", m.data()}, {"second.", v.data()}};
                const auto n = static_cast<std::size_t>(p.size());
                for (const auto& [prefix, values] : parts)
                    if (outcome) outcome = nn::read_tensor(file->bytes, file->header, prefix + name, std::array<std::uint64_t, 1>{n}, {values, n});
            },
            loaded, first, second);
        if (!outcome) return file->wrong(outcome.error().code, outcome.error().detail);
        if (checksum(run, static_cast<std::size_t>(*step), loaded, first, second) != file->header.metadata_text("checksum"))
            return file->wrong(errc::version_mismatch, "the checksum does not fit: the file is damaged");
        net = std::move(loaded);
        adam.restore(std::move(first), std::move(second), static_cast<std::size_t>(*step));
        return static_cast<std::size_t>(*step);
    }

private:
    static constexpr std::string_view format = "augur-tlm-checkpoint";
    static constexpr std::size_t most_bytes = std::size_t{1} << 35U; ///< parameters and moments of the largest `gpt2_config`

    [[nodiscard]] static std::string checksum(std::uint64_t run, std::size_t step, const gpt2<float>& net, const gpt2<float>& first,
                                              const gpt2<float>& second) {
        std::uint32_t sum = crc32(std::to_string(run) + ' ' + std::to_string(step));
        gpt2<float>::visit(
            [&](const std::string&, const auto& p, const auto& m, const auto& v) {
                for (const float* values : {p.data(), m.data(), v.data()})
                    sum = crc32({reinterpret_cast<const char*>(values), static_cast<std::size_t>(p.size()) * sizeof(float)}, sum);
            },
            net, first, second);
        return std::to_string(sum);
    }
};

} // namespace detail

/// Trains a model with AdamW (no weight decay, as the authors) on the values of decisions.
///
/// The loss is the mean over the learned tokens of a batch, by the weights of their sentences (`training_options::weighted`). Batches, masks of
/// dropout, sums and so the trained bits depend on the seed and the options, not on the number of threads, nor on whether the training was interrupted.
///
/// @param tokens    of the corpus, by the vocabulary of the model
/// @param progress  `progress(training_progress)` -> bool after each step; false: write the checkpoint and stop
/// Errors           invalid_argument (the options); not_found: nothing to learn from; shape_mismatch: a token beyond the model; limit: a sentence is longer
///                  than the context, or the loss or a parameter is no number; interrupted; version_mismatch: the checkpoint is of another training; io
/// Cost             per token and layer 6 (4 D^2 + 2 D F) operations, and 6 D V per learned token; memory of at most `prompts` + 3 models
template <bulk_executor E, class Progress>
[[nodiscard]] result<void> train(gpt2<float>& net, const dataset& corpus, const corpus_tokens& tokens, sentence_form form,
                                 const training_options& options, E& threads, const Progress& progress) {
    if (auto sound = options.check(); !sound) return sound;
    const auto config = net.config();
    const detail::training_plan plan(corpus, options);
    if (plan.sentences() == 0) return error{errc::not_found, "training: the corpus has no sentence to learn from"};
    nn::adam<gpt2<float>> adam(net, {.learning_rate = options.learning_rate, .weight_decay = 0});
    std::size_t step = 0;
    std::uint64_t run = 0;
    if (!options.checkpoint.empty()) {
        run = detail::training_hash(net, corpus, form, options);
        const auto reached = detail::checkpoint_file::load(options.checkpoint, run, net, adam);
        if (!reached) return reached.error();
        step = *reached;
    }
    const std::size_t a_epoch = plan.steps(), steps = a_epoch * options.epochs, resumed = step;

    const std::size_t groups_of_part = plan.groups_of_part(), groups_of_batch = plan.groups_of_batch();
    std::vector<gpt2_pass<float>> passes((std::min)(groups_of_batch, plan.groups()));
    std::vector<gpt2<float>> parts((passes.size() + groups_of_part - 1) / groups_of_part, gpt2<float>::zeros(config));
    auto grad = gpt2<float>::zeros(config);
    std::vector<detail::training_plan::group> groups;
    std::size_t groups_of = (std::numeric_limits<std::size_t>::max)();
    const double start = steady_seconds();
    double saved_at = 0, rows = 0;
    const nn::dropout masks{options.dropout, random_engine(options.seed).stream((std::numeric_limits<std::uint64_t>::max)())}; // no epoch's stream
    for (; step < steps; ++step) {
        if (const auto epoch = step / a_epoch; epoch != groups_of) {
            groups = plan.epoch(epoch);
            groups_of = epoch;
        }
        const auto first = step % a_epoch * groups_of_batch, n = (std::min)(groups_of_batch, groups.size() - first);
        std::vector<result<void>> filled(n);
        threads.bulk(n, [&](std::size_t p) {
            auto& pass = passes[p];
            std::vector<token> ids;
            std::vector<std::uint8_t> learned;
            const auto& group = groups[first + p];
            const auto prompt = tokens.prompt(group.task);
            pass.begin();
            if (!options.learn_all) pass.prompt(prompt);
            const auto is_beyond = [&](token t) { return static_cast<nn::index>(t) >= config.words; };
            if (std::any_of(prompt.begin(), prompt.end(), is_beyond)) filled[p] = error{errc::shape_mismatch, "training: a token beyond the model"};
            for (const auto r : group.records) {
                ids.clear();
                learned.clear();
                tokens.append(r, form, ids, learned);
                if (static_cast<nn::index>(prompt.size() + ids.size()) - 1 > config.context)
                    filled[p] = error{errc::limit, "training: a sentence of " + std::to_string(prompt.size() + ids.size()) +
                                                       " tokens, the context is " + std::to_string(config.context)};
                else if (std::any_of(ids.begin(), ids.end(), is_beyond))
                    filled[p] = error{errc::shape_mismatch, "training: a token beyond the model"};
                else if (!options.learn_all) pass.sentence(ids, learned);
                else { // nothing is shared, for each sentence learns its prompt
                    ids.insert(ids.begin(), prompt.begin(), prompt.end());
                    ids.resize((std::max)(ids.size(), static_cast<std::size_t>(config.context)), vocabulary::padding);
                    learned.assign(ids.size(), 1);
                    pass.sentence(ids, learned);
                }
            }
            if (filled[p]) pass.forward(net, masks.stream(step).stream(p));
        });
        double learned = 0; // tokens, by weight
        for (std::size_t p = 0; p < n; ++p) {
            if (!filled[p]) return filled[p].error();
            learned += groups[first + p].weight * static_cast<double>(passes[p].targets());
            rows += static_cast<double>(passes[p].rows());
        }
        const double share = learned > 0 ? 1 / learned : 1;
        std::vector<double> losses(n);
        const std::size_t n_parts = (n + groups_of_part - 1) / groups_of_part;
        threads.bulk(n_parts, [&](std::size_t part) {
            nn::set_zero(parts[part]);
            for (std::size_t p = part * groups_of_part; p < (std::min)(n, (part + 1) * groups_of_part); ++p) {
                losses[p] = passes[p].loss(net, share * groups[first + p].weight, parts[part]);
                passes[p].backward(net, parts[part]);
            }
        });
        double loss = 0;
        for (const double l : losses) loss += l;
        if (!std::isfinite(loss)) return error{errc::limit, "training: the loss of step " + std::to_string(step + 1) + " is no number"};
        nn::sum_of(grad, std::span<const gpt2<float>>(parts).first(n_parts), threads);
        nn::clip_norm(grad, options.clip);
        const double done = static_cast<double>(step) / static_cast<double>(steps), warm = options.warm_up * static_cast<double>(steps);
        const double rising = static_cast<double>(step + 1) < warm ? static_cast<double>(step + 1) / warm : 1;
        adam.settings().learning_rate = options.learning_rate * rising * (options.decays ? 1 - done : 1);
        adam.step(net, grad);
        if (step + 1 == steps && !detail::all_finite(net)) return error{errc::limit, "training: the last step gave parameters that are no numbers"};

        training_progress told;
        told.step = step + 1;
        told.steps = steps;
        told.epoch = static_cast<double>(step + 1) / static_cast<double>(a_epoch);
        told.loss = loss;
        told.learning_rate = adam.settings().learning_rate;
        const double seconds = steady_seconds() - start;
        told.tokens_per_second = rows / seconds;
        told.seconds_left = seconds / static_cast<double>(step + 1 - resumed) * static_cast<double>(steps - step - 1);
        const bool go_on = progress(std::as_const(told));
        if (!options.checkpoint.empty() && (!go_on || step + 1 == steps || seconds - saved_at > options.checkpoint_seconds)) {
            if (auto saved = detail::checkpoint_file::save(options.checkpoint, run, step + 1, net, adam); !saved) return saved;
            saved_at = seconds;
        }
        if (!go_on && step + 1 < steps)
            return error{errc::interrupted, "training: stopped after " + std::to_string(step + 1) + " of " + std::to_string(steps) + " steps"};
    }
    return {};
}

} // namespace augur::inline v0::tlm

#endif
