// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The transformer of Table 8: gradients against central differences, and what a row may see.
#include "../../examples/papers/tlp_tables/transformer.hpp"

#include <cmath>
#include <vector>

#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/schedule/steps.hpp>
#include <doctest/doctest.h>

namespace tables_transformer_test {

using namespace augur;
using examples::row_pass;
using examples::row_transformer;
using examples::unlabelled;

namespace {

/// Schedules of 1 to 5 steps.
struct logged {
    dataset data;
    tlp::row_table table{tlp::schema::ansor(8, 4, 4)};
    tlp::config input = tlp::config::full(0).with_input(table.schema());

    logged() {
        dataset_builder builder;
        const auto task = builder.task("[\"kernel\"]", "llvm", {});
        REQUIRE(task);
        for (std::int64_t n = 1; n <= 5; ++n) {
            step_list s;
            for (std::int64_t i = 0; i < n; ++i) {
                if (i % 2 == 0) s.steps.emplace_back(split_step{2, i, 512, {std::int64_t{1} << (n + i), 4 + i}, true});
                else s.steps.emplace_back(annotate_step{2, n * i, loop_annotation::parallel});
            }
            measurement m;
            m.status = outcome::ok;
            m.seconds = {1e-3};
            REQUIRE(builder.add(*task, builder.source("log"), s, m));
        }
        data = std::move(builder).finish();
        table.extend(data.primitives());
    }
    [[nodiscard]] row_transformer<double> model() const { return row_transformer<double>::random_init(input, 2, 8, 2, augur::random_engine(5)); }
    void fill(row_pass<double>& pass, unlabelled how, bool hide) const {
        augur::random_engine rng(9);
        pass.begin(table, input, how);
        for (std::uint32_t r = 0; r < data.size(); ++r) pass.add(data.schedule(r), hide ? &rng : nullptr);
    }
};

template <class Loss>
void check_gradient(row_transformer<double> net, const row_transformer<double>& grad, const Loss& loss) {
    std::size_t at = 0, moved = 0;
    double worst = 0;
    row_transformer<double>::visit(
        [&](auto&&, auto& p, const auto& g) {
            for (nn::index i = 0; i < p.size(); ++i) {
                if (++at % 5 != 0) continue;
                double& x = p.data()[i];
                const double before = x, h = 1e-5;
                x = before + h;
                const double up = loss(net);
                x = before - h;
                const double down = loss(net);
                x = before;
                const double slope = (up - down) / (2 * h);
                worst = (std::max)(worst, std::abs(slope - g.data()[i]) / (1 + std::abs(slope)));
                moved += std::abs(slope) > 1e-9 ? 1 : 0;
            }
        },
        net, grad);
    CHECK(worst < 1e-7);
    CHECK(moved > at / 20);
}

} // namespace

TEST_CASE("row_transformer: gradients of both losses, GPT and BERT") {
    const logged log;
    const auto net = log.model();
    for (const unlabelled how : {unlabelled::next_row, unlabelled::hidden_rows}) {
        CAPTURE(static_cast<int>(how));
        row_pass<double> pass;
        auto zero = net;
        row_transformer<double>::visit([](auto&&, auto& p) { p.setZero(); }, zero);

        auto grad = zero;
        log.fill(pass, how, true);
        CHECK(pass.targets() >= (how == unlabelled::next_row ? 10U : 5U)); // all but the first rows; one a schedule or more
        pass.forward(net);
        pass.tell(net, 0.1, grad);
        pass.backward(net, grad);
        check_gradient(net, grad, [&](const auto& n) {
            row_pass<double> again;
            auto unused = zero;
            log.fill(again, how, true);
            again.forward(n);
            return again.tell(n, 0.1, unused);
        });

        grad = zero;
        const std::vector<double> weights{1, -2, 0.5, 3, -1};
        std::vector<double> scores(5);
        log.fill(pass, how, false);
        pass.forward(net);
        pass.rank(net, scores);
        pass.rank_backward(net, weights, grad);
        pass.backward(net, grad);
        check_gradient(net, grad, [&](const auto& n) {
            row_pass<double> again;
            std::vector<double> s(5);
            log.fill(again, how, false);
            again.forward(n);
            again.rank(n, s);
            double sum = 0;
            for (std::size_t i = 0; i < s.size(); ++i) sum += weights[i] * s[i];
            return sum;
        });
    }
}

} // namespace tables_transformer_test
