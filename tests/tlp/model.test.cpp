// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/model.hpp>

#include <augur/tlp/train/forward_backward.hpp>

#include <algorithm>
#include <set>
#include <thread>

#include <augur/nn/train/loss.hpp>
#include <doctest/doctest.h>

#include "data.hpp"

using augur::tlp::config;
using augur::tlp::model;
using augur::tlp::schema;
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
std::vector<S> score(const augur::tlp::model<S>& net, const augur::tlp::deduplicated_batch& bags) {
    augur::serial_executor serial;
    augur::tlp::forward_backward<S> pass;
    std::vector<S> out(bags.size() * net.decoders.size());
    pass.forward(net, bags, serial, out);
    return out;
}

} // namespace

TEST_CASE("tlp: names, sizes and order of the parameters are the authors'") {
    const auto models = tlp_data::load("tlp_forward.json")["models"];
    const struct {
        const char* name;
        augur::tlp::config config;
    } all[] = {{"AttentionModule", augur::tlp::config::authors(22)},
               {"LSTMModule", augur::tlp::config::authors_lstm(22)},
               {"MTLTLPAttentionModule(2 heads)", augur::tlp::config::authors_mtl(22, 2)}};
    for (const auto& [model, config] : all) {
        const std::string named(model); // clang 14 captures no part of a binding
        CAPTURE(named);
        const auto expected = models[model];
        REQUIRE(config.check());
        auto net = augur::tlp::model<float>::zeros(config);
        std::size_t k = 0;
        augur::tlp::model<float>::visit(
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
        CHECK(nn::parameter_count(net) == expected["n_params"].get<std::size_t>());
    }
}

TEST_CASE("tlp: as many parameters as the authors count") {
    const auto count = [](const augur::tlp::config& config) { return nn::parameter_count(augur::tlp::model<float>::zeros(config)); };
    CHECK(count(augur::tlp::config::authors(22)) == 676161);
    CHECK(count(augur::tlp::config::authors(20)) == 676033);
    CHECK(count(augur::tlp::config::full(22)) == 676161 - 65792);
    CHECK(count(augur::tlp::config::authors_lstm(22)) == 873537);
    CHECK(count(augur::tlp::config::authors_mtl(22, 2)) == 783170);
    CHECK(count(augur::tlp::config::authors_mtl(22, 3)) == 890179);
    CHECK(count(augur::tlp::config::authors_mtl(22, 5)) == 1104197);
    auto wide = augur::tlp::config::authors(22);
    wide.encoder = {64, 128, 256, 512};
    CHECK(count(wide) == 2185537);
    wide.encoder = {64, 256, 512, 768};
    wide.decoder = {512, 256, 128};
    CHECK(count(wide) == 5235905);
}

TEST_CASE("tlp: the authors' forward, in double and float") {
    const auto expected = tlp_data::load("tlp_forward.json")["models"]["AttentionModule"];
    const auto schema = augur::tlp::schema::authors_cpu();
    const auto bags = tlp_data::bags_of(reference_schedules(), schema);
    const auto exact = score(tlp_data::reference_model<double>(22), bags);
    const auto narrow = score(tlp_data::reference_model<float>(22), bags);
    const auto small_inputs = score(tlp_data::reference_model<double>(22), tlp_data::bags_of(reference_schedules(), schema, 1.0F / 64));
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(exact[i] == doctest::Approx(expected["output"][i].get<double>()).epsilon(1e-12));
        CHECK(static_cast<double>(narrow[i]) == doctest::Approx(expected["output"][i].get<double>()).epsilon(1e-5));
        CHECK(small_inputs[i] == doctest::Approx(expected["output_for_features_div_64"][i].get<double>()).epsilon(1e-12));
    }
}

TEST_CASE("tlp: the authors' LSTM and two-headed network, in double and float") {
    const auto models = tlp_data::load("tlp_forward.json")["models"];
    const auto schema = augur::tlp::schema::authors_cpu();
    const auto kept = augur::tlp::row_order::kept;
    const auto in_order = tlp_data::bags_of(reference_schedules(), schema, 1, kept);
    const auto small_inputs = tlp_data::bags_of(reference_schedules(), schema, 1.0F / 64, kept);
    const auto lstm = augur::tlp::config::authors_lstm(22), mtl = augur::tlp::config::authors_mtl(22, 2);
    const auto exact = score(tlp_data::reference_model<double>(lstm), in_order);
    const auto narrow = score(tlp_data::reference_model<float>(lstm), in_order);
    const auto small = score(tlp_data::reference_model<double>(lstm), small_inputs);
    const auto heads = score(tlp_data::reference_model<double>(mtl), tlp_data::bags_of(reference_schedules(), schema));
    for (std::size_t i = 0; i < 2; ++i) {
        const auto& e = models["LSTMModule"];
        CHECK(exact[i] == doctest::Approx(e["output"][i].get<double>()).epsilon(1e-12));
        CHECK(static_cast<double>(narrow[i]) == doctest::Approx(e["output"][i].get<double>()).epsilon(1e-5));
        CHECK(small[i] == doctest::Approx(e["output_for_features_div_64"][i].get<double>()).epsilon(1e-12));
        for (std::size_t k = 0; k < 2; ++k)
            CHECK(heads[2 * i + k] == doctest::Approx(models["MTLTLPAttentionModule(2 heads)"]["output"][k][i].get<double>()).epsilon(1e-12));
    }
}

TEST_CASE("tlp: three steps of the authors' training") {
    const auto j = tlp_data::load("tlp_train_trace.json");
    std::vector<augur::step_list> schedules;
    for (const auto& line : j["records"]) schedules.push_back(tlp_data::steps_of(line.get<std::string>()));
    const auto labels = j["labels"].get<std::vector<double>>();
    const auto bags = tlp_data::bags_of(schedules, augur::tlp::schema::authors_cpu(), 1.0F / 64);
    auto net = tlp_data::reference_model<double>(22);
    auto grad = net;
    nn::adam<augur::tlp::model<double>> adam(net);
    nn::lambda_rank rank;
    augur::serial_executor serial;
    augur::tlp::forward_backward<double> pass;
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

namespace {
struct shape {
    const char* what;
    augur::tlp::config config;
};
/// One of each kind, small.
std::vector<shape> shapes(std::size_t columns) {
    auto config = augur::tlp::config::small(static_cast<nn::index>(columns));
    config.encoder = {6, 8};
    config.heads = 2;
    config.decoder = {5};
    std::vector<shape> all{
        {"attention", config}, {"three attention layers", config}, {"three outputs", config}, {"lstm", config}, {"lstm, two outputs", config}};
    all[1].config.attention_layers = 3;
    all[2].config.outputs = 3;
    all[3].config.backbone = all[4].config.backbone = augur::tlp::backbone::lstm;
    all[4].config.outputs = 2;
    all[4].config.residual_blocks = 0;
    return all;
}
} // namespace

TEST_CASE("tlp: backward agrees with central differences") {
    const auto schema = augur::tlp::schema::ansor(64, 6, 0);
    for (const auto& [what, config] : shapes(schema.columns)) {
        const std::string named(what);
        CAPTURE(named);
        const std::size_t n = config.backbone == augur::tlp::backbone::lstm ? 300 : 40; // two pieces
        const auto bags = tlp_data::bags_of(tlp_data::random_schedules(n, 3), schema, 1, config.order());
        auto net = augur::tlp::model<double>::random_init(config, augur::random_engine(5));
        auto grad = net;
        augur::serial_executor serial;
        augur::tlp::forward_backward<double> pass;
        std::vector<double> scores(n * net.decoders.size()), weight(scores.size());
        augur::random_engine rng(9);
        for (double& w : weight) w = rng.uniform(-1, 1);
        const auto loss = [&] {
            pass.forward_to_train(net, bags, serial, scores);
            double sum = 0;
            for (std::size_t i = 0; i < scores.size(); ++i) sum += weight[i] * scores[i];
            return sum;
        };
        loss();
        pass.backward(net, bags, serial, std::span<const double>(weight), grad);
        double worst = 0, scale = 1e-3;
        augur::tlp::model<double>::visit(
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
}

TEST_CASE("tlp: the same bits whatever the threads, the neighbours and the place in the batch") {
    const auto schema = augur::tlp::schema::ansor();
    const auto schedules = tlp_data::random_schedules(600, 1);
    auto small = shapes(schema.columns);
    for (auto& [what, config] : small) {
        const std::string named(what);
        CAPTURE(named);
        config.encoder = {32, 32};
        const std::size_t outputs = static_cast<std::size_t>(config.outputs);
        const auto net = augur::tlp::model<float>::random_init(config, augur::random_engine(5));
        const auto bags = tlp_data::bags_of(schedules, schema, 1, config.order());
        CHECK(bags.distinct() < 400);
        const auto all = score(net, bags);
        CHECK(std::set<float>(all.begin(), all.end()).size() > 200);

        eager_threads threads;
        augur::tlp::forward_backward<float> pass;
        std::vector<float> same(all.size());
        pass.forward(net, bags, threads, same);
        CHECK(same == all);
        for (const std::size_t n : {0U, 1U, 77U, 599U}) {
            const auto one = score(net, tlp_data::bags_of({schedules[n]}, schema, 1, config.order()));
            for (std::size_t k = 0; k < outputs; ++k) CHECK(one[k] == all[n * outputs + k]);
        }

        std::vector<float> d(all.size());
        for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<float>(i % 7) - 3;
        auto one = net, many = net;
        augur::serial_executor serial;
        augur::tlp::forward_backward<float> other;
        other.forward_to_train(net, bags, serial, same);
        CHECK(same == all);
        other.backward(net, bags, serial, std::span<const float>(d), one);
        pass.forward_to_train(net, bags, threads, same);
        pass.backward(net, bags, threads, std::span<const float>(d), many);
        augur::tlp::model<float>::visit([](std::string_view, const auto& a, const auto& b) { CHECK(a == b); }, one, many);
    }
}

TEST_CASE("tlp: a backward pass of the decoders alone gives their gradients the same bits, and 0 to all others") {
    const auto schema = augur::tlp::schema::ansor(64, 6, 0);
    augur::serial_executor serial;
    for (const auto& [what, config] : shapes(schema.columns)) {
        const std::string named(what);
        CAPTURE(named);
        const auto net = augur::tlp::model<float>::random_init(config, augur::random_engine(5));
        const auto bags = tlp_data::bags_of(tlp_data::random_schedules(70, 3), schema, 1, config.order());
        std::vector<float> scores(70 * net.decoders.size()), d(scores.size());
        for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<float>(i % 5) - 1;
        auto whole = net, part = net;
        augur::tlp::forward_backward<float> pass;
        pass.forward_to_train(net, bags, serial, scores);
        pass.backward(net, bags, serial, std::span<const float>(d), whole);
        pass.backward(net, bags, serial, std::span<const float>(d), part, true);
        augur::tlp::model<float>::visit(
            [](std::string_view name, const auto& a, const auto& b) {
                const bool of_decoder = name.starts_with("decoder.") || name.starts_with("mtl_heads.");
                if (of_decoder) CHECK(a == b);
                else CHECK(b.isZero(0));
                CHECK(!a.isZero(0));
            },
            whole, part);
    }
}

TEST_CASE("tlp: one pass serves networks of several shapes, and batches that are empty or hold an empty schedule") {
    const auto schema = augur::tlp::schema::ansor(64, 6, 0);
    augur::serial_executor serial;
    augur::tlp::forward_backward<double> pass;
    const auto schedules = tlp_data::random_schedules(50, 3);
    for (int round = 0; round < 2; ++round)
        for (const auto& [what, config] : shapes(schema.columns)) {
            const std::string named(what);
            CAPTURE(named);
            const auto net = augur::tlp::model<double>::random_init(config, augur::random_engine(5));
            auto bags = tlp_data::bags_of(schedules, schema, 1, config.order());
            bags.add(std::span<const float>());
            std::vector<double> scores(51 * net.decoders.size()), d(scores.size(), 1.0);
            auto grad = net, fresh = net;
            pass.forward_to_train(net, bags, serial, scores);
            CHECK(scores == score(net, bags));
            pass.backward(net, bags, serial, std::span<const double>(d), grad);
            augur::tlp::forward_backward<double> new_pass;
            new_pass.forward_to_train(net, bags, serial, scores);
            new_pass.backward(net, bags, serial, std::span<const double>(d), fresh);
            augur::tlp::model<double>::visit([](std::string_view, const auto& a, const auto& b) { CHECK(a == b); }, grad, fresh);
            const augur::tlp::deduplicated_batch none(schema.columns, config.order());
            pass.forward_to_train(net, none, serial, {});
            pass.backward(net, none, serial, {}, grad);
            augur::tlp::model<double>::visit([](std::string_view, const auto& a) { CHECK(a.isZero(0)); }, grad);
        }
}

TEST_CASE("tlp: the LSTM sees the order of the rows, attention does not") {
    const auto schema = augur::tlp::schema::ansor(64, 6, 0);
    auto schedules = tlp_data::random_schedules(1, 3);
    schedules.push_back(schedules[0]);
    std::reverse(schedules[1].steps.begin(), schedules[1].steps.end());
    const auto all = shapes(schema.columns);
    for (const std::size_t k : {0U, 3U}) {
        const auto net = augur::tlp::model<double>::random_init(all[k].config, augur::random_engine(5));
        const auto s = score(net, tlp_data::bags_of(schedules, schema, 1, all[k].config.order()));
        if (k == 0) CHECK(s[0] == doctest::Approx(s[1]).epsilon(1e-12));
        else CHECK(std::abs(s[0] - s[1]) > 1e-6);
    }
}

TEST_CASE("tlp prefixes: each beginning once, as a brute-force set says") {
    augur::random_engine rng(4);
    augur::tlp::deduplicated_batch bags(1, augur::tlp::row_order::kept);
    std::vector<std::vector<float>> sequences;
    for (int n = 0; n < 200; ++n) {
        std::vector<float> rows(rng.below(7));
        for (float& x : rows) x = static_cast<float>(rng.below(3));
        bags.add(rows);
        sequences.push_back(rows);
    }
    std::vector<std::uint32_t> order;
    augur::tlp::detail::shared_prefixes::sort(bags, order);
    augur::tlp::detail::shared_prefixes tree;
    tree.build(bags, order);
    for (std::size_t l = 0; l < tree.depth(); ++l) {
        std::set<std::vector<float>> distinct;
        for (const auto& s : sequences)
            if (s.size() > l) distinct.insert(std::vector<float>(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(l) + 1));
        CHECK(tree.at(l).row.size() == distinct.size());
    }
    for (std::size_t i = 0; i < order.size(); ++i) { // from its end back to the root every sequence is spelt
        std::vector<float> spelt;
        auto [depth, node] = tree.ends()[i];
        for (; depth > 0; --depth) {
            spelt.insert(spelt.begin(), bags.rows()[tree.at(depth - 1).row[node]]);
            node = tree.at(depth - 1).parent[node];
        }
        CHECK(spelt == sequences[order[i]]);
    }
}

TEST_CASE("tlp bags: by the ids of primitives, the same batch as by features") {
    const auto schedules = tlp_data::random_schedules(120, 8);
    augur::primitive_table primitives;
    std::vector<std::vector<augur::primitive_id>> ids(schedules.size());
    for (std::size_t n = 0; n < schedules.size(); ++n) REQUIRE(augur::intern(primitives, schedules[n], ids[n]));
    for (const auto& schema :
         {augur::tlp::schema::ansor(), augur::tlp::schema::ansor(5, 4, 3), augur::tlp::schema::authors_cpu(), augur::tlp::schema::authors_cpu(7, 9)})
        for (const auto order : {augur::tlp::row_order::free, augur::tlp::row_order::kept}) {
            const augur::tlp::row_table table(schema, primitives);
            const auto expected = tlp_data::bags_of(schedules, schema, 1, order);
            augur::tlp::deduplicated_batch bags(schema.columns, order);
            for (int again = 0; again < 2; ++again) {
                bags.clear();
                for (const auto& s : ids) CHECK(bags.add(s, table));
            }
            const auto equal = [](const auto& a, const auto& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
            CHECK(equal(bags.rows(), expected.rows()));
            CHECK(equal(bags.begin(), expected.begin()));
            CHECK(equal(bags.ids(), expected.ids()));
            CHECK(equal(bags.repeat(), expected.repeat()));
        }
}

TEST_CASE("tlp bags: a primitive that the vocabulary refuses leaves the batch as it was") {
    augur::primitive_table primitives;
    std::vector<augur::primitive_id> good, bad;
    auto s = tlp_data::random_schedules(1, 8)[0];
    REQUIRE(augur::intern(primitives, s, good));
    augur::tlp::row_table table(augur::tlp::schema::authors_cpu(), primitives);
    s.steps.emplace_back(augur::storage_align_step{0, 0, 8, 0});
    REQUIRE(augur::intern(primitives, s, bad));
    CHECK(table.check(bad, primitives).error().code == augur::errc::not_found); // the table has grown since
    table.extend(primitives);
    augur::tlp::deduplicated_batch bags(22);
    CHECK(bags.add(good, table));
    CHECK(!bags.add(bad, table));
    CHECK(bags.size() == 1);
    CHECK(table.check(good, primitives));
    CHECK(table.check(bad, primitives).error().detail ==
          "step " + std::to_string(bad.size() - 1) +
              ": primitive 'SA' or a name in it is not in the vocabulary 'authors-cpu', or no float holds a number in it");
}

TEST_CASE("tlp bags: rows are shared, repeated rows counted, batches forgotten") {
    augur::tlp::deduplicated_batch bags(3);
    const std::vector<float> rows{1, 2, 3, 0, 0, 0, 1, 2, 3};
    bags.add(rows);
    bags.add(std::span<const float>(rows).first(3));
    CHECK(bags.size() == 2);
    CHECK(bags.distinct() == 2);
    CHECK(std::vector<std::uint32_t>(bags.ids().begin(), bags.ids().end()) == std::vector<std::uint32_t>{0, 1, 0});
    CHECK(std::vector<std::uint32_t>(bags.repeat().begin(), bags.repeat().end()) == std::vector<std::uint32_t>{2, 1, 1});
    augur::tlp::deduplicated_batch copy(3);
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
    auto config = augur::tlp::config::full(22);
    CHECK(config.check());
    config.heads = 7;
    CHECK(config.check().error().code == augur::errc::shape_mismatch);
    config = augur::tlp::config::full(0);
    CHECK(!config.check());
    config = augur::tlp::config::full(22);
    config.encoder.clear();
    CHECK(!config.check());
    config = augur::tlp::config::full(22);
    config.decoder.push_back(1 << 20);
    CHECK(!config.check());
    config = augur::tlp::config::full(22);
    config.outputs = 0;
    CHECK(config.check().error().detail == "tlp config: expected 1 to 64 outputs, got 0");
    config.outputs = 65;
    CHECK(!config.check());
    config = augur::tlp::config::full(22);
    config.attention_layers = 0;
    CHECK(!config.check());
    config = augur::tlp::config::authors(22);
    config.backbone = augur::tlp::backbone::lstm;
    CHECK(!config.check()); // no dead layer there
    config = augur::tlp::config::authors_lstm(22);
    config.encoder = {10};
    config.attention_layers = 0; // of attention alone, as are heads that do not divide 10
    CHECK(config.check());
    CHECK(augur::tlp::model<float>::zeros(config).attention.empty());
}
