// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GPT and BERT of the tables.
#include "pretrain.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include <augur/record/replace_file.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/dataset/top_k.hpp>

#include "report.hpp"

namespace examples {
namespace {

using augur::errc;
using augur::error;
using augur::result;
using row_net = row_transformer<float>;
using record_list = std::vector<std::uint32_t>;

constexpr std::size_t pass_size = 16; // schedules of a pass: fixed, so that sums do not depend on the threads

bool is_known(const augur::dataset& data, const augur::tlp::row_table& table, std::uint32_t record) { return table.knows(data.schedule(record)); }

/// All that an interrupted training needs.
struct training_state {
    std::uint64_t run = 0, epoch = 0, best = 0, steps = 0; ///< epochs of both parts
    double best_worth = -1;
    row_net net, best_net, first, second;

    template <class F>
    void walk(F&& f) {
        for (auto* number : {&run, &epoch, &best, &steps}) f(reinterpret_cast<char*>(number), sizeof *number);
        f(reinterpret_cast<char*>(&best_worth), sizeof best_worth);
        for (auto* n : {&net, &best_net, &first, &second})
            row_net::visit([&](auto&&, auto& p) { f(reinterpret_cast<char*>(p.data()), static_cast<std::size_t>(p.size()) * sizeof(float)); }, *n);
    }
    [[nodiscard]] result<void> save(const std::string& path) {
        std::string text;
        walk([&](const char* bytes, std::size_t n) { text.append(bytes, n); });
        const std::uint64_t sum = augur::fnv1a64(text);
        text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
        return augur::replace_file(path, text);
    }
    /// False, and the state is as before, when there is no file of this run, or it is damaged.
    bool load(const std::string& path, std::uint64_t expected_run) {
        std::size_t size = sizeof(std::uint64_t);
        walk([&](const char*, std::size_t n) { size += n; });
        const auto read = augur::read_whole_file(path, size);
        if (!read || read->size() != size) return false;
        const std::string& text = *read;
        std::uint64_t sum = 0, whose = 0;
        std::memcpy(&sum, text.data() + size - sizeof sum, sizeof sum);
        std::memcpy(&whose, text.data(), sizeof whose);
        if (sum != augur::fnv1a64(std::string_view(text).substr(0, size - sizeof sum)) || whose != expected_run) return false;
        std::size_t at = 0;
        walk([&](char* bytes, std::size_t n) {
            std::memcpy(bytes, text.data() + at, n);
            at += n;
        });
        return true;
    }
};

/// Samples in lists of one task, shuffled.
std::vector<record_list> ranked_lists(const augur::tlp::training_samples& samples, const record_list& usable, std::size_t most,
                                      augur::random_engine rng) {
    std::vector<record_list> lists;
    for (std::size_t i = 0; i < usable.size();) {
        std::size_t end = i;
        while (end < usable.size() && samples.groups[usable[end]] == samples.groups[usable[i]]) ++end;
        record_list group(usable.begin() + static_cast<std::ptrdiff_t>(i), usable.begin() + static_cast<std::ptrdiff_t>(end));
        rng.shuffle(std::span(group));
        const std::size_t parts = (group.size() + most - 1) / most;
        for (std::size_t p = 0; p < parts; ++p)
            lists.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(group.size() * p / parts),
                               group.begin() + static_cast<std::ptrdiff_t>(group.size() * (p + 1) / parts));
        i = end;
    }
    rng.shuffle(std::span(lists));
    return lists;
}

double cosine(double done) { return 0.01 + 0.99 * 0.5 * (1 + std::cos(3.14159265358979323846 * done)); }

} // namespace

std::vector<float> pretrained_scores(const row_net& net, const augur::dataset& data, const augur::tlp::row_table& table,
                                     const augur::tlp::config& input, unlabelled how, std::span<const std::uint32_t> of, executor& threads) {
    std::vector<float> scores(of.size());
    threads.bulk((of.size() + pass_size - 1) / pass_size, [&](std::size_t p) {
        thread_local row_pass<float> pass;
        const std::size_t first = p * pass_size, n = (std::min)(pass_size, of.size() - first);
        pass.begin(table, input, how);
        for (std::size_t i = first; i < first + n; ++i) {
            const bool known = is_known(data, table, of[i]);
            pass.add(known ? data.schedule(of[i]) : std::span<const augur::primitive_id>(), nullptr);
        }
        pass.forward(net);
        pass.rank(net, std::span(scores).subspan(first, n));
        for (std::size_t i = first; i < first + n; ++i)
            if (!is_known(data, table, of[i])) scores[i] = -std::numeric_limits<float>::infinity();
    });
    return scores;
}

result<pretrained> pretrain_and_rank(const augur::dataset& data, const augur::tlp::row_table& table, const augur::tlp::config& input,
                                     std::span<const std::uint32_t> unlabelled_records, const augur::tlp::training_samples& train,
                                     const augur::tlp::training_samples& validation, executor& threads, const pretrain_options& options,
                                     const std::function<bool(const pretrain_progress&)>& progress) {
    AUGUR_ASSERT(train.outputs == 1 && validation.outputs == 1, "pretrain_and_rank: one output");
    const auto start = std::chrono::steady_clock::now();
    record_list before, usable;
    for (const std::uint32_t r : unlabelled_records)
        if (is_known(data, table, r)) before.push_back(r);
    for (std::uint32_t i = 0; i < train.size(); ++i)
        if (is_known(data, table, train.records[i])) usable.push_back(i);
    if (before.empty() || usable.empty()) return error{errc::not_found, "pre-training: no schedules to learn from"};

    const augur::random_engine rng(options.seed);
    training_state at;
    at.run = options.run;
    at.net = row_net::random_init(input, options.layers, options.width, options.heads, rng.stream(0));
    at.best_net = at.first = at.second = at.net;
    augur::nn::adam<row_net> adam(at.net, {.learning_rate = options.learning_rate});
    if (at.load(options.checkpoint, options.run)) adam.restore(at.first, at.second, at.steps);
    const std::size_t resumed = at.epoch;

    std::vector<row_pass<float>> passes((options.list + pass_size - 1) / pass_size);
    std::vector<row_net> parts(passes.size(), at.net);
    row_net grad = at.net;
    augur::nn::lambda_rank rank;
    // one list of schedules through the passes and back; `loss_of(passes in use)` stands between
    const auto step = [&](const record_list& list, const auto& add, const auto& loss_of, double rate) {
        const std::size_t n = (list.size() + pass_size - 1) / pass_size;
        threads.bulk(n, [&](std::size_t p) {
            augur::nn::set_zero(parts[p]);
            passes[p].begin(table, input, options.how);
            for (std::size_t i = p * pass_size; i < (std::min)(list.size(), (p + 1) * pass_size); ++i) add(passes[p], list[i]);
            passes[p].forward(at.net);
        });
        const double loss = loss_of(n);
        threads.bulk(n, [&](std::size_t p) { passes[p].backward(at.net, parts[p]); });
        augur::nn::sum_of(grad, std::span<const row_net>(parts).first(n), threads);
        augur::nn::clip_norm(grad, options.clip);
        adam.settings().learning_rate = options.learning_rate * rate;
        adam.step(at.net, grad);
        return loss;
    };

    const std::size_t all = options.epochs_before + options.epochs;
    std::vector<float> scores, labels, sharp, d_scores, d_regret;
    while (at.epoch < all) {
        const bool first_part = at.epoch < options.epochs_before;
        const std::size_t epoch = first_part ? at.epoch : at.epoch - options.epochs_before;
        const std::size_t epochs = first_part ? options.epochs_before : options.epochs;
        const augur::random_engine draw = rng.stream(1 + at.epoch);
        std::vector<record_list> lists;
        if (first_part) {
            record_list order = before;
            draw.stream(0).shuffle(std::span(order));
            for (std::size_t i = 0; i < order.size(); i += options.list)
                lists.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(i),
                                   order.begin() + static_cast<std::ptrdiff_t>((std::min)(order.size(), i + options.list)));
        } else {
            lists = ranked_lists(train, usable, options.list, draw.stream(0));
        }
        double sum = 0;
        for (std::size_t l = 0; l < lists.size(); ++l) {
            const double rate =
                cosine((static_cast<double>(epoch) + static_cast<double>(l) / static_cast<double>(lists.size())) / static_cast<double>(epochs));
            const record_list& list = lists[l];
            if (first_part) {
                sum += step(
                    list,
                    [&](row_pass<float>& pass, std::uint32_t record) {
                        augur::random_engine hide = draw.stream(1 + record);
                        pass.add(data.schedule(record), &hide);
                    },
                    [&](std::size_t n) {
                        std::size_t targets = 0;
                        for (std::size_t p = 0; p < n; ++p) targets += passes[p].targets();
                        std::vector<double> loss(n);
                        const float share = 1.0F / static_cast<float>((std::max)(targets, std::size_t{1}));
                        threads.bulk(n, [&](std::size_t p) { loss[p] = passes[p].tell(at.net, share, parts[p]); });
                        double total = 0;
                        for (const double one : loss) total += one;
                        return total;
                    },
                    rate);
            } else {
                sum += step(
                    list, [&](row_pass<float>& pass, std::uint32_t i) { pass.add(data.schedule(train.records[i]), nullptr); },
                    [&](std::size_t n) {
                        scores.resize(list.size());
                        d_scores.resize(list.size());
                        d_regret.resize(list.size());
                        labels.clear();
                        sharp.clear();
                        for (const std::uint32_t i : list) {
                            labels.push_back(train.labels[i]);
                            sharp.push_back(static_cast<float>(std::pow(train.labels[i], options.sharpness)));
                        }
                        const auto of = [&](std::vector<float>& v, std::size_t p) {
                            return std::span(v).subspan(p * pass_size, (std::min)(pass_size, list.size() - p * pass_size));
                        };
                        threads.bulk(n, [&](std::size_t p) { passes[p].rank(at.net, of(scores, p)); });
                        const auto share = 1 / static_cast<float>(list.size());
                        double loss = share * rank(std::span<const float>(scores), std::span<const float>(sharp), std::span<float>(d_scores));
                        loss += options.regret * augur::nn::expected_regret(std::span<const float>(scores), std::span<const float>(labels),
                                                                            std::span<float>(d_regret));
                        for (std::size_t i = 0; i < list.size(); ++i)
                            d_scores[i] = share * d_scores[i] + static_cast<float>(options.regret) * d_regret[i];
                        threads.bulk(n, [&](std::size_t p) { passes[p].rank_backward(at.net, of(d_scores, p), parts[p]); });
                        return loss;
                    },
                    rate);
            }
        }
        if (!std::isfinite(sum)) return error{errc::limit, "pre-training: the loss of epoch " + std::to_string(epoch + 1) + " is not finite"};

        pretrain_progress told{first_part, epoch + 1, epochs, sum / static_cast<double>(lists.size()), 0, 0, 0};
        if (!first_part) {
            const auto judged = pretrained_scores(at.net, data, table, input, options.how, validation.records, threads);
            augur::top_k_score top({1, 5});
            for (std::size_t i = 0, end = 0; i < validation.size(); i = end) {
                while (end < validation.size() && validation.groups[end] == validation.groups[i]) ++end;
                top.add(std::span(judged).subspan(i, end - i), std::span<const float>(validation.labels).subspan(i, end - i),
                        validation.least[validation.groups[i]]);
            }
            if (top.tasks() > 0) told.top_1 = top.score(0), told.top_5 = top.score(1);
            // without validation the last epoch counts
            if (top.tasks() == 0 || told.top_1 + told.top_5 > at.best_worth) {
                at.best = epoch;
                at.best_worth = told.top_1 + told.top_5;
                at.best_net = at.net;
            }
        }
        ++at.epoch;
        if (!options.checkpoint.empty()) {
            at.first = adam.first();
            at.second = adam.second();
            at.steps = adam.steps();
            if (auto saved = at.save(options.checkpoint); !saved) return saved.error();
        }
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        told.seconds_left = seconds / static_cast<double>(at.epoch - resumed) * static_cast<double>(all - at.epoch);
        if (!progress(told) && at.epoch < all) return error{errc::interrupted, "stopped"};
    }
    return pretrained{std::move(at.best_net), at.best};
}

} // namespace examples
