// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/tlp.hpp>

#include <augur/model/tlp_pass.hpp>

#include <set>
#include <thread>

#include <augur/nn/loss.hpp>
#include <doctest/doctest.h>

#include "tlp_data.hpp"

using augur::tlp_config;
using augur::tlp_network;
using augur::tlp_schema;
namespace nn = augur::nn;

namespace {

/// Starts a thread for each index: worst order for a result that depended on it.
struct eager_threads {
    template <class F>
    void bulk(std::size_t n, const F& f) const {
        std::vector<std::thread> all;
        for (std::size_t i = n; i-- > 0;) all.emplace_back([&f, i] { f(i); });
        for (auto& t : all) t.join();
    }
    [[nodiscard]] static std::size_t concurrency() { return 3; }
};
static_assert(augur::bulk_executor<eager_threads>);

std::vector<augur::step_list> reference_schedules() {
    return {tlp_data::steps_of(tlp_data::load("tlp_cpu_rf_cr.json")["record_line"].get<std::string>()),
            tlp_data::steps_of(tlp_data::load("tlp_cpu_chw.json")["record_line"].get<std::string>())};
}

template <class S>
std::vector<S> score(const tlp_network<S>& net, const augur::tlp_bags& bags) {
    augur::serial_executor serial;
    augur::tlp_pass<S> pass;
    std::vector<S> out(bags.size());
    pass.forward(net, bags, serial, out);
    return out;
}

} // namespace

TEST_CASE("tlp: names, sizes and order of the parameters are the authors'") {
    const auto expected = tlp_data::load("tlp_forward.json")["models"]["AttentionModule"];
    auto net = tlp_network<float>::zeros(tlp_config::authors(22));
    std::size_t k = 0;
    tlp_network<float>::visit(
        [&](std::string_view name, const auto& p) {
            REQUIRE(k < expected["params"].size());
            CHECK(name == expected["params"][k][0].get<std::string>());
            const auto shape = expected["params"][k][1].get<std::vector<nn::index>>();
            if (shape.size() == 2) CHECK((p.rows() == shape[1] && p.cols() == shape[0]));
            else CHECK((p.rows() == 1 && p.cols() == shape[0]));
            ++k;
        },
        net);
    CHECK(k == expected["params"].size());
    CHECK(nn::parameter_count(net) == 676161);
    CHECK(nn::parameter_count(tlp_network<float>::zeros(tlp_config::full(22))) == 676161 - 65792);
}

TEST_CASE("tlp: the authors' forward, in double and float") {
    const auto expected = tlp_data::load("tlp_forward.json")["models"]["AttentionModule"];
    const auto schema = tlp_schema::authors_cpu();
    const auto bags = tlp_data::bags_of(reference_schedules(), schema);
    const auto exact = score(tlp_data::reference_network<double>(22), bags);
    const auto narrow = score(tlp_data::reference_network<float>(22), bags);
    const auto small_inputs = score(tlp_data::reference_network<double>(22), tlp_data::bags_of(reference_schedules(), schema, 1.0F / 64));
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(exact[i] == doctest::Approx(expected["output"][i].get<double>()).epsilon(1e-12));
        CHECK(static_cast<double>(narrow[i]) == doctest::Approx(expected["output"][i].get<double>()).epsilon(1e-5));
        CHECK(small_inputs[i] == doctest::Approx(expected["output_for_features_div_64"][i].get<double>()).epsilon(1e-12));
    }
}

TEST_CASE("tlp: three steps of the authors' training") {
    const auto j = tlp_data::load("tlp_train_trace.json");
    std::vector<augur::step_list> schedules;
    for (const auto& line : j["records"]) schedules.push_back(tlp_data::steps_of(line.get<std::string>()));
    const auto labels = j["labels"].get<std::vector<double>>();
    const auto bags = tlp_data::bags_of(schedules, tlp_schema::authors_cpu(), 1.0F / 64);
    auto net = tlp_data::reference_network<double>(22);
    auto grad = net;
    nn::adam<tlp_network<double>> adam(net);
    nn::lambda_rank rank;
    augur::serial_executor serial;
    augur::tlp_pass<double> pass;
    std::vector<double> scores(4), d_scores(4);
    for (const auto& step : j["trace"]) {
        CAPTURE(step["step"].get<int>());
        pass.forward_to_train(net, bags, serial, scores);
        for (std::size_t i = 0; i < 4; ++i) CHECK(scores[i] == doctest::Approx(step["preds"][i].get<double>()).epsilon(1e-6));
        const double loss = rank(std::span<const double>(scores), std::span<const double>(labels), std::span<double>(d_scores));
        CHECK(loss == doctest::Approx(step["loss"].get<double>()).epsilon(1e-6));
        if (!step.contains("grad_norm_before_clip")) continue;
        pass.backward(net, bags, serial, std::span<const double>(d_scores), grad);
        CHECK(nn::clip_norm(grad, 0.5) == doctest::Approx(step["grad_norm_before_clip"].get<double>()).epsilon(1e-6));
        adam.step(net, grad);
    }
}

TEST_CASE("tlp: backward agrees with central differences") {
    const auto schema = tlp_schema::ansor(64, 6, 0);
    auto config = tlp_config::small(static_cast<nn::index>(schema.columns));
    config.encoder = {6, 8};
    config.heads = 2;
    config.decoder = {5};
    const auto bags = tlp_data::bags_of(tlp_data::random_schedules(40, 3), schema); // two pieces
    auto net = tlp_network<double>::random_init(config, augur::random(5));
    auto grad = net;
    augur::serial_executor serial;
    augur::tlp_pass<double> pass;
    std::vector<double> scores(40), weight(40);
    augur::random rng(9);
    for (double& w : weight) w = rng.uniform(-1, 1);
    const auto loss = [&] {
        pass.forward_to_train(net, bags, serial, scores);
        double sum = 0;
        for (std::size_t i = 0; i < 40; ++i) sum += weight[i] * scores[i];
        return sum;
    };
    loss();
    pass.backward(net, bags, serial, std::span<const double>(weight), grad);
    double worst = 0, scale = 1e-3;
    tlp_network<double>::visit(
        [&](std::string_view, auto& p, const auto& g) {
            for (nn::index i = 0; i < p.size(); i += 3) {
                const double keep = p.data()[i], h = 1e-6;
                p.data()[i] = keep + h;
                const double up = loss();
                p.data()[i] = keep - h;
                const double down = loss();
                p.data()[i] = keep;
                scale = (std::max)(scale, std::abs(g.data()[i]));
                worst = (std::max)(worst, std::abs(g.data()[i] - (up - down) / (2 * h)));
            }
        },
        net, grad);
    CHECK(worst / scale < 1e-6);
}

TEST_CASE("tlp: the same bits whatever the threads, the neighbours and the place in the batch") {
    const auto schema = tlp_schema::ansor();
    const auto schedules = tlp_data::random_schedules(150, 1);
    const auto net = tlp_network<float>::random_init(tlp_config::small(static_cast<nn::index>(schema.columns)), augur::random(5));
    const auto bags = tlp_data::bags_of(schedules, schema);
    CHECK(bags.distinct() < 400);
    const auto all = score(net, bags);
    CHECK(std::set<float>(all.begin(), all.end()).size() > 50);

    eager_threads threads;
    augur::tlp_pass<float> pass;
    std::vector<float> same(all.size());
    pass.forward(net, bags, threads, same);
    CHECK(same == all);
    for (const std::size_t n : {0U, 1U, 77U, 149U}) CHECK(score(net, tlp_data::bags_of({schedules[n]}, schema)).front() == all[n]);

    std::vector<float> d(all.size());
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<float>(i % 7) - 3;
    auto one = net, many = net;
    augur::serial_executor serial;
    augur::tlp_pass<float> other;
    other.forward_to_train(net, bags, serial, same);
    CHECK(same == all);
    other.backward(net, bags, serial, std::span<const float>(d), one);
    pass.forward_to_train(net, bags, threads, same);
    pass.backward(net, bags, threads, std::span<const float>(d), many);
    tlp_network<float>::visit([](std::string_view, const auto& a, const auto& b) { CHECK(a == b); }, one, many);
}

TEST_CASE("tlp bags: rows are shared, repeated rows counted, batches forgotten") {
    augur::tlp_bags bags(3);
    const std::vector<float> rows{1, 2, 3, 0, 0, 0, 1, 2, 3};
    bags.add(rows);
    bags.add(std::span<const float>(rows).first(3));
    CHECK(bags.size() == 2);
    CHECK(bags.distinct() == 2);
    CHECK(std::vector<std::uint32_t>(bags.ids().begin(), bags.ids().end()) == std::vector<std::uint32_t>{0, 1, 0});
    CHECK(std::vector<std::uint32_t>(bags.repeat().begin(), bags.repeat().end()) == std::vector<std::uint32_t>{2, 1, 1});
    augur::tlp_bags copy(3);
    copy.add(bags, 1);
    copy.add(bags, 0);
    CHECK(copy.distinct() == 2);
    CHECK(copy.repeat()[1] == 2);
    bags.clear();
    CHECK((bags.size() == 0 && bags.distinct() == 0));
    std::vector<float> many(3 * 5000);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i / 3);
    bags.add(many); // the table grows
    CHECK(bags.distinct() == 5000);
    bags.add(many);
    CHECK(bags.distinct() == 5000);
}

TEST_CASE("tlp config: what does not fit together is refused") {
    auto config = tlp_config::full(22);
    CHECK(config.check());
    config.heads = 7;
    CHECK(config.check().why().code == augur::errc::shape_mismatch);
    config = tlp_config::full(0);
    CHECK(!config.check());
    config = tlp_config::full(22);
    config.encoder.clear();
    CHECK(!config.check());
    config = tlp_config::full(22);
    config.decoder.push_back(1 << 20);
    CHECK(!config.check());
}
