// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nests of a compiler of one's own as rows for a trained network: numbers by hand, roles, errors, and scores of a network with standardised columns.
#include <augur/metatune/nest_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/metatune/cost_model.hpp>
#include <augur/metatune/samples.hpp>
#include <augur/workload/iterator_features.hpp>
#include <augur/workload/loop_nest.hpp>

namespace mt = augur::metatune;
namespace nn = augur::nn;

namespace {

struct fill_task {
    std::string name = "fill";
    [[nodiscard]] std::string_view key() const { return name; }
};
/// One loop of so many iterations; 0: none, below 0: it cannot be lowered.
struct fill_schedule {
    std::int64_t length = 1;
    const char* axis = "i";
    void visit(auto& sink) const {
        sink.primitive("loop");
        sink.number(length);
    }
};
/// y[i] = ..., i < length
struct fill_nest {
    augur::result<augur::loop_nest_builder> operator()(const fill_task&, const fill_schedule& s) const {
        if (s.length < 0) return augur::error{augur::errc::illegal_schedule, "below 0"};
        augur::loop_nest_builder nest;
        nest.name("y");
        const auto y = nest.buffer(4);
        nest.name(s.axis);
        nest.begin_loop(s.length, augur::nest_annotation::serial);
        augur::nest_statement to;
        to.store({y, augur::element_type::f32, 0, {{0, 1}}}, augur::nest_operation::none);
        nest.statement(to);
        nest.end_loop();
        return nest;
    }
};
/// The features of the nest, with another name of the axis.
struct fill_features {
    augur::result<augur::iterator_features> operator()(const fill_task& t, const fill_schedule& s) const {
        const auto nest = fill_nest()(t, s);
        if (!nest) return nest.error();
        auto features = augur::iterator_features_of(*nest);
        if (features) features->loops[0].axis = "x";
        return features;
    }
};
struct name_of_task {
    const std::string& operator()(const fill_task& t) const { return t.name; }
};
using rows_of_fill = mt::nest_rows<fill_nest>;
static_assert(mt::loop_rows_of<const rows_of_fill, fill_schedule, fill_task>);
static_assert(mt::loop_rows_of<mt::nest_rows<fill_features, name_of_task>, fill_schedule, fill_task>);
struct not_a_nest {
    augur::result<int> operator()(const fill_task&, const fill_schedule&) const { return 1; }
};
struct not_a_result {
    augur::loop_nest_builder operator()(const fill_task&, const fill_schedule&) const { return {}; }
};
static_assert(!mt::loop_rows_of<mt::nest_rows<not_a_nest>, fill_schedule, fill_task>);
static_assert(!mt::loop_rows_of<mt::nest_rows<not_a_result>, fill_schedule, fill_task>);

mt::super_graph graph_of_fill(const std::vector<const char*>& roles) {
    mt::super_graph graph;
    const auto features = augur::iterator_features_of(*fill_nest()({}, {3}));
    for (const char* role : roles) REQUIRE(graph.add(*features, role));
    return graph;
}

/// Two candidates with 3 and 7 iterations: log2(length + 1) is 2 and 3.
std::vector<mt::task_samples> two_samples(const mt::super_graph& graph) {
    const mt::nest_rows raw(graph, {}, fill_nest(), "fill");
    std::vector<mt::task_samples> all(2);
    for (const std::int64_t length : {3, 7}) {
        auto rows = raw(fill_task(), fill_schedule{length});
        REQUIRE(rows);
        CHECK(rows->features(0, 0) == (length == 3 ? 2.0F : 3.0F));
        all[length == 3 ? 0 : 1].candidates.push_back(*std::move(rows));
        all[length == 3 ? 0 : 1].seconds.push_back(1);
    }
    return all;
}

mt::trained_network trained_on(const mt::super_graph& graph, mt::standardisation columns) {
    mt::config c;
    c.features = static_cast<nn::index>(graph.columns());
    c.convolutions = {8, 8};
    c.head = {8};
    return {mt::network<float>::random_init(c, augur::random_engine(2)), to_text(graph), std::move(columns)};
}

} // namespace

TEST_CASE("metatune nest_rows: standardised rows in the slots of the file's super-graph") {
    const auto graph = graph_of_fill({"fill"});
    auto samples = two_samples(graph);
    auto columns = mt::standardise(samples); // mean 2.5, deviation 0.5, over all tasks
    REQUIRE(columns);
    CHECK(columns->mean[0] == 2.5F);
    CHECK(columns->scale[0] == 2.0F);
    CHECK(columns->scale[1] == 0.0F); // the nest level does not vary
    CHECK(samples[0].candidates[0].features(0, 0) == -1.0F);
    CHECK(samples[1].candidates[0].features(0, 0) == 1.0F);

    const auto rows = rows_of_fill::create(trained_on(graph, *columns), {}, "fill");
    REQUIRE(rows);
    CHECK(rows->graph() == graph);
    const auto seen = (*rows)(fill_task(), fill_schedule{7}), unseen = (*rows)(fill_task(), fill_schedule{15});
    REQUIRE((seen && unseen));
    CHECK(seen->features == samples[1].candidates[0].features);
    CHECK(unseen->features(0, 0) == 3.0F); // log2(16) is 4
    CHECK(unseen->features(0, 1) == 0.0F);
    CHECK(unseen->present == std::vector<std::uint8_t>{1});
}

TEST_CASE("metatune nest_rows: a network trained on standardised columns scores as in its training") {
    const auto graph = graph_of_fill({"fill"});
    auto samples = two_samples(graph);
    const auto raw = samples;
    const auto columns = mt::standardise(samples);
    REQUIRE(columns);
    const auto trained = trained_on(graph, *columns);
    mt::cost_model<fill_schedule, fill_task, rows_of_fill> model(*rows_of_fill::create(trained, {}, "fill"), trained.net);
    const std::vector<fill_schedule> schedules{{3}, {7}};
    std::vector<float> scores(2);
    REQUIRE(model.score(fill_task(), std::span<const fill_schedule>(schedules), std::span<float>(scores)));
    const auto by_network = [&](const mt::loop_rows& rows) {
        mt::candidate_graphs one(trained.net.config);
        REQUIRE(one.add(rows));
        mt::network_activation<float> kept;
        nn::matrix<float> y(1, 2);
        trained.net.forward(one, kept, y);
        return static_cast<double>(mt::score_of({y.data(), 2}));
    };
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(static_cast<double>(scores[i]) == doctest::Approx(by_network(samples[i].candidates[0])).epsilon(1e-5));
        CHECK(static_cast<double>(scores[i]) != doctest::Approx(by_network(raw[i].candidates[0])).epsilon(1e-3));
    }
}

TEST_CASE("metatune nest_rows: features in place of a nest, and roles by the task") {
    mt::super_graph graph;
    const fill_features features;
    for (const char* role : {"fill", "scale"}) REQUIRE(graph.add(*features({}, {3}), role));
    const auto rows = mt::nest_rows<fill_features, name_of_task>::create(trained_on(graph, {}), {}, {});
    REQUIRE(rows);
    const auto fill = (*rows)(fill_task{"fill"}, fill_schedule{3}), scale = (*rows)(fill_task{"scale"}, fill_schedule{3});
    REQUIRE((fill && scale));
    CHECK(fill->present == std::vector<std::uint8_t>{1, 0}); // slots are sorted by role
    CHECK(scale->present == std::vector<std::uint8_t>{0, 1});
    CHECK(fill->features.row(0) == scale->features.row(1));
    const auto other = (*rows)(fill_task{"pool"}, fill_schedule{3});
    REQUIRE_FALSE(other);
    CHECK(other.error().code == augur::errc::not_found);
}

TEST_CASE("metatune nest_rows: what does not fit is refused, and errors are passed on") {
    const auto graph = graph_of_fill({"conv", "fill"});
    const auto refusal = [](const mt::trained_network& trained, const char* role) {
        const auto rows = rows_of_fill::create(trained, {}, role);
        REQUIRE_FALSE(rows);
        CHECK(rows.error().code == augur::errc::version_mismatch);
        return rows.error().detail;
    };
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    auto trained = trained_on(graph, {});
    CHECK(rows_of_fill::create(trained, {}, "conv"));
    CHECK(has(refusal(trained, "pool"), "for the role 'pool', these are for 'conv'"));
    CHECK(has(refusal(trained_on(mt::super_graph(), {}), "fill"), "their super-graph is empty"));
    trained.graph_template = "";
    CHECK(has(refusal(trained, "fill"), "the super-graph that they were trained on"));
    trained.graph_template = to_text(mt::super_graph());
    CHECK(has(refusal(trained, "fill"), "18 features a loop, as in the super-graph, got 24"));

    const auto rows = rows_of_fill::create(trained_on(graph, {}), {}, "fill");
    REQUIRE(rows);
    const auto code_of = [&](const fill_schedule& s) {
        const auto got = (*rows)(fill_task(), s);
        REQUIRE_FALSE(got);
        return got.error().code;
    };
    CHECK(code_of({-1}) == augur::errc::illegal_schedule);         // of the compiler
    CHECK(code_of({0}) == augur::errc::invalid_argument);          // a loop without iterations
    CHECK(code_of({3, "another loop"}) == augur::errc::not_found); // without a slot
    mt::standardisation narrow{{1}, {1}};
    CHECK_FALSE(rows_of_fill(graph, narrow, {}, "fill")(fill_task(), fill_schedule{3}));
}

TEST_CASE("metatune standardise: candidates without loops are left as they are, other columns are refused") {
    const auto graph = graph_of_fill({"fill"});
    auto samples = two_samples(graph);
    samples[0].candidates.emplace_back();
    samples[0].seconds.push_back(std::numeric_limits<double>::infinity());
    const auto columns = mt::standardise(samples);
    REQUIRE(columns);
    CHECK(columns->mean[0] == 2.5F);
    CHECK(samples[0].candidates[1].features.size() == 0);
    samples[1].candidates.push_back(samples[1].candidates[0]);
    samples[1].candidates[1].features = nn::matrix<float>::Ones(1, 3);
    const auto before = samples[0].candidates[0].features;
    const auto refused = mt::standardise(samples);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == augur::errc::shape_mismatch);
    CHECK(samples[0].candidates[0].features == before);
    std::vector<mt::task_samples> none(2);
    const auto empty = mt::standardise(none);
    REQUIRE(empty);
    CHECK(empty->mean.empty());
}
