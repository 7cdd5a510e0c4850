// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_TABLES_TRANSFORMER_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_TABLES_TRANSFORMER_HPP

/// @file
/// A transformer over the rows of schedules, which learns from schedules without labels before it learns to rank (Zhai et al. 2023, section 6.2.2).
///
/// The authors pre-train on kinds of rows alone (GPT: their loss on the numbers compares the logits with themselves) or on rows as words of a
/// vocabulary (BERT: a row that was never seen is no word). Here both tell a row's kind, by cross entropy, and its numbers, by squared error.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/input_encoding.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/transformer.hpp>

namespace examples {

/// What is learned without labels.
enum class unlabelled : std::uint8_t {
    next_row,   ///< GPT: a row sees itself and those before it, and tells the next
    hidden_rows ///< BERT: a row in seven is hidden, and told from all the others
};

/// Parameters. The decoder reads the mean over the rows (GPT) or a row in front of all others (BERT), as the authors' do.
template <augur::nn::scalar S>
struct row_transformer {
    augur::nn::linear<S> input;   ///< (inputs, D); places are columns of a row, so they need no table of their own
    augur::nn::matrix<S> special; ///< (2, D) added to a hidden row, to the row in front
    augur::nn::transformer_stack<S> stack;
    augur::nn::linear<S> kind, numbers; ///< (D, kinds), (D, numbers)
    augur::nn::linear<S> hidden, score; ///< (D, 256), (256, 1)

    static row_transformer random_init(const augur::tlp::config& c, augur::nn::index layers, augur::nn::index width, augur::nn::index heads,
                                       augur::random_engine rng) {
        using namespace augur::nn;
        row_transformer net{linear<S>::zeros(c.inputs(), width),
                            matrix<S>::Zero(2, width),
                            transformer_stack<S>::zeros(layers, width, heads, 4 * width),
                            linear<S>::zeros(width, c.numbers_at),
                            linear<S>::zeros(width, c.numbers),
                            linear<S>::zeros(width, 256),
                            linear<S>::zeros(256, 1)};
        init(net.input, rng);
        fill_uniform(net.special, 0.05, rng);
        init(net.stack, rng);
        for (auto* layer : {&net.kind, &net.numbers, &net.hidden, &net.score}) init(*layer, rng);
        return net;
    }

    template <class F, class... N>
    static void visit(F&& f, N&... nets) {
        using namespace augur::nn;
        linear<S>::visit(f, nets.input...);
        f("special", nets.special...);
        transformer_stack<S>::visit(f, nets.stack...);
        linear<S>::visit(f, nets.kind...);
        linear<S>::visit(f, nets.numbers...);
        linear<S>::visit(f, nets.hidden...);
        linear<S>::visit(f, nets.score...);
    }
};

/// Some schedules on their way through the model and back.
///
/// begin, add..., forward; then tell or rank; then backward. Reused, it stops allocating.
template <augur::nn::scalar S>
class row_pass {
public:
    using model = row_transformer<S>;
    using index = augur::nn::index;

    /// Forgets all schedules.
    /// @param input  how rows become numbers (`encode_input`)
    void begin(const augur::tlp::row_table& table, const augur::tlp::config& input, unlabelled how) {
        table_ = &table;
        input_ = &input;
        how_ = how;
        begin_.assign(1, 0);
        x_.clear();
        in_front_.clear();
        hidden_.clear();
        targets_.clear();
    }
    /// Adds a schedule.   pre: the table knows its primitives
    /// @param rng  hides rows (BERT); null: none
    void add(std::span<const augur::primitive_id> schedule, augur::random_engine* rng) {
        const augur::tlp::schema& schema = table_->schema();
        const auto width = static_cast<std::size_t>(input_->inputs());
        const std::size_t n = (std::min)(schedule.size(), schema.rows);
        auto t = begin_.back();
        if (how_ == unlabelled::hidden_rows) {
            x_.resize(x_.size() + width, S(0));
            in_front_.push_back(t++);
        }
        std::vector<float> row(schema.columns);
        const std::size_t must_hide = rng != nullptr && n > 0 ? static_cast<std::size_t>(rng->below(n)) : n;
        for (std::size_t i = 0; i < n; ++i, ++t) {
            const std::uint32_t id = table_->row(schedule[i]);
            const auto values = table_->values(id);
            row.assign(values.begin(), values.end());
            if (how_ == unlabelled::hidden_rows && rng != nullptr && (i == must_hide || rng->below(7) == 0)) {
                std::fill(row.begin(), row.end(), 0.0F);
                hidden_.push_back(t);
                targets_.push_back({t, id});
            }
            if (how_ == unlabelled::next_row && i > 0) targets_.push_back({t - 1, id});
            if (schema.positions > 0) row[schema.columns - schema.positions + (std::min)(i, schema.positions - 1)] = 1;
            x_.resize(x_.size() + width);
            augur::tlp::encode_input(*input_, row.data(), x_.data() + x_.size() - width);
        }
        begin_.push_back(t);
    }
    [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
    [[nodiscard]] std::size_t targets() const { return targets_.size(); }

    void forward(const model& net) {
        const index t = begin_.back(), d = net.input.W.cols();
        auto x = embedded_.shape(t, d);
        net.input.forward(rows(), x);
        for (const index at : hidden_) x.row(at) += net.special.row(0);
        for (const index at : in_front_) x.row(at) += net.special.row(1);
        net.stack.forward(x, which(), kept_, top_.shape(t, d));
        d_top_.shape(t, d).setZero();
    }

    /// How well the rows that are to be told are told: ten times the cross entropy of the kinds, the authors' weight, and the squared error of the
    /// numbers' logarithms, summed over the targets times `share`. Adds the derivative to what `backward` goes back from.
    double tell(const model& net, S share, model& grad) {
        using std::exp, std::log;
        if (targets_.empty()) return 0;
        const auto n = static_cast<index>(targets_.size()), d = net.input.W.cols(), kinds = net.kind.W.cols(), numbers = net.numbers.W.cols();
        auto picked = picked_.shape(n, d), d_picked = d_picked_.shape(n, d);
        for (index i = 0; i < n; ++i) picked.row(i) = top_.view().row(targets_[static_cast<std::size_t>(i)].at);
        auto kind = a_.shape(n, kinds), number = b_.shape(n, numbers);
        net.kind.forward(picked, kind);
        net.numbers.forward(picked, number);
        double loss = 0;
        for (index i = 0; i < n; ++i) {
            const auto truth = table_->values(targets_[static_cast<std::size_t>(i)].row);
            const S most = kind.row(i).maxCoeff();
            S all(0);
            for (index k = 0; k < kinds; ++k) all += exp(kind(i, k) - most);
            const S log_all = most + log(all);
            for (index k = 0; k < kinds; ++k) {
                const S y(truth[static_cast<std::size_t>(k)] != 0 ? 1.0 : 0.0), log_p = kind(i, k) - log_all;
                loss -= static_cast<double>(S(10) * share * y * log_p);
                kind(i, k) = S(10) * share * (exp(log_p) - y);
            }
            for (index k = 0; k < numbers; ++k) {
                const S weight = S(2) * share / S(static_cast<double>(numbers));
                const float told = augur::tlp::detail::scaled_logarithm_cached(truth[static_cast<std::size_t>(input_->numbers_at + k)]);
                const S off = number(i, k) - S(static_cast<double>(told) / 4);
                loss += static_cast<double>(weight * off * off) / 2;
                number(i, k) = weight * off;
            }
        }
        net.kind.backward(picked, kind, d_picked, grad.kind);
        auto more = c_.shape(n, d);
        net.numbers.backward(picked, number, more, grad.numbers);
        auto d_top = d_top_.view();
        for (index i = 0; i < n; ++i) d_top.row(targets_[static_cast<std::size_t>(i)].at) += d_picked.row(i) + more.row(i);
        return loss;
    }

    /// scores (N) <- of the schedules.
    void rank(const model& net, std::span<S> scores) {
        const auto n = static_cast<index>(size()), d = net.input.W.cols();
        auto pooled = picked_.shape(n, d);
        for (index i = 0; i < n; ++i) {
            const index from = begin_[static_cast<std::size_t>(i)], rows = begin_[static_cast<std::size_t>(i) + 1] - from;
            if (how_ == unlabelled::hidden_rows) pooled.row(i) = top_.view().row(from);
            else if (rows == 0) pooled.row(i).setZero();
            else pooled.row(i) = top_.view().middleRows(from, rows).colwise().mean();
        }
        auto wide = a_.shape(n, net.hidden.W.cols());
        net.hidden.forward(pooled, wide);
        augur::nn::relu<S>(wide);
        auto out = b_.shape(n, 1);
        net.score.forward(wide, out);
        std::copy_n(out.data(), n, scores.data());
    }
    /// Given dL/dscores (N); after `rank`.
    void rank_backward(const model& net, std::span<const S> d_scores, model& grad) {
        const auto n = static_cast<index>(size()), d = net.input.W.cols();
        const augur::nn::matrix<S> d_out = Eigen::Map<const augur::nn::matrix<S>>(d_scores.data(), n, 1);
        auto d_wide = c_.shape(n, net.hidden.W.cols());
        net.score.backward(a_.view(), d_out, d_wide, grad.score);
        augur::nn::relu_backward<S>(a_.view(), d_wide);
        auto d_pooled = d_picked_.shape(n, d);
        net.hidden.backward(picked_.view(), d_wide, d_pooled, grad.hidden);
        auto d_top = d_top_.view();
        for (index i = 0; i < n; ++i) {
            const index from = begin_[static_cast<std::size_t>(i)], rows = begin_[static_cast<std::size_t>(i) + 1] - from;
            if (how_ == unlabelled::hidden_rows) d_top.row(from) += d_pooled.row(i);
            else
                for (index t = from; t < from + rows; ++t) d_top.row(t) += d_pooled.row(i) / S(static_cast<double>(rows));
        }
    }

    /// grad += dL/d(parameters below the top); after `tell` or `rank_backward`.
    void backward(const model& net, model& grad) {
        auto dx = d_top_.view();
        net.stack.backward(embedded_.view(), which(), kept_, dx, dx, grad.stack);
        net.input.backward(rows(), dx, grad.input);
        for (const index at : hidden_) grad.special.row(0) += dx.row(at);
        for (const index at : in_front_) grad.special.row(1) += dx.row(at);
    }

private:
    struct target {
        index at;          ///< row of the batch
        std::uint32_t row; ///< of the table: what is to be told there
    };
    [[nodiscard]] augur::nn::sequences which() const { return {begin_, {}, how_ == unlabelled::next_row}; }
    [[nodiscard]] Eigen::Map<const augur::nn::matrix<S>> rows() const { return {x_.data(), begin_.back(), input_->inputs()}; }

    const augur::tlp::row_table* table_ = nullptr;
    const augur::tlp::config* input_ = nullptr;
    unlabelled how_ = unlabelled::next_row;
    std::vector<index> begin_{0}, in_front_, hidden_;
    std::vector<S> x_;
    std::vector<target> targets_;
    augur::nn::transformer_stack_activation<S> kept_;
    augur::nn::buffer<S> embedded_, top_, d_top_;        ///< (T, D)
    augur::nn::buffer<S> picked_, d_picked_, a_, b_, c_; ///< of the heads
};

} // namespace examples

#endif
