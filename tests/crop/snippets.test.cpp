// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C++ blocks of program/, crop/ and model/ that predict from the features of a program.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/graph/adjacency_list.hpp>

#include <augur/crop.hpp>
#include <augur/model/residual.hpp>
#include <augur/program/cache/access_costs.hpp>
#include <augur/program/features_json.hpp>
#include <augur/program/nest/features_of_nest.hpp>
#include <augur/program/pipeline/simulator.hpp>
#include <augur/program/reuse/stream.hpp>
#include <augur/target/find_machine.hpp>
#include <augur/workload/loop_nest.hpp>

#include <doctest/doctest.h>

namespace {

struct my_kernel {
    std::int64_t bytes = 4096, extent = 64;
    augur::nest_statement body;
};
/// x[i] = x[i] + x[i] for each i.
my_kernel doubling() {
    my_kernel k;
    const augur::nest_access x{0, augur::element_type::f32, 0, {{0, 1}}};
    const auto v = k.body.load(x);
    k.body.store(x, k.body.add(augur::instruction_class::fadd, augur::element_type::f32, {v, v}));
    return k;
}

} // namespace

using augur::nest_annotation;
#include <snippets/docs/nests.md.1.inc>

using namespace augur;

namespace {

struct their_instruction {
    instruction i;
    operator instruction() const { return i; }
};
struct plan {
    int tile = 1;
    void visit(auto& sink) const {
        sink.primitive("tile");
        sink.number(tile);
    }
};
struct doubling_task {
    [[nodiscard]] static std::string_view key() { return "doubling"; }
};
result<program_features> features_of(const doubling_task&, const plan&) { return features_of_nest(doubling()); }

} // namespace

TEST_CASE("snippets: a graphlet and its cycles") {
    const auto two = [] {
#include <snippets/program/graph/graphlet.hpp.1.inc>
        return g;
    };
    CHECK(two().size() == 2);
#include <snippets/program/README.md.1.inc>
    CHECK(cycles > 0);
}

TEST_CASE("snippets: cycles of a graph of Boost.Graph") {
    const auto machine = epyc_zen4();
    const their_instruction their_block{{instruction_class::fadd, element_type::f32, fold_hint::none, 8}};
    const auto graph_of = [](const their_instruction& i) {
        boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, their_instruction> g;
        boost::add_vertex(i, g);
        return g;
    };
#include <snippets/docs/program.md.1.inc>
    CHECK(cycles > 0);
}

TEST_CASE("snippets: hit rates of a stream") {
    const auto first = [](std::span<const std::uint64_t> lines) {
#include <snippets/program/README.md.2.inc>
        return rate;
    };
    CHECK(first(std::array<std::uint64_t, 4>{1, 2, 1, 2}) == doctest::Approx(0.5));
    const std::array<std::vector<std::uint64_t>, 2> chunks{{{1, 2, 1, 2}, {1, 2, 1, 2}}};
    const auto machine = epyc_zen4();
    const auto second = [&] {
#include <snippets/docs/program.md.2.inc>
        return l1;
    };
    CHECK(second() == doctest::Approx(0.75));
#include <snippets/program/reuse/stream.hpp.1.inc>
    CHECK(hit_rate(profile, 8, 512) == doctest::Approx(0.75));
}

TEST_CASE("snippets: a loop nest is predicted, for one machine after the other") {
    const auto kernel = doubling();
    const auto& nest = kernel;
    const auto machine = epyc_zen4();
    const int threads = 1;
    const auto of_kernel = [&] {
#include <snippets/docs/nests.md.2.inc>
        return p->seconds;
    };
    const auto of_nest = [&] {
#include <snippets/program/nest/features_of_nest.hpp.1.inc>
        return p->seconds;
    };
    CHECK(of_kernel() > 0);
    CHECK(of_nest() < of_kernel()); // on 8 threads
    const auto read_back = [&] {
#include <snippets/program/README.md.3.inc>
        return *features_from_json(text);
    };
    const auto features = read_back();
#include <snippets/docs/program.md.3.inc>
    CHECK(json.find("seconds") != std::string::npos);
    CHECK(p->seconds == of_kernel());
}

namespace {

[[maybe_unused]] double predict_for_file(std::string_view text) { // reads a file of the folder that a program runs in
#include <snippets/crop/predictor.hpp.1.inc>
    return p->seconds;
}

} // namespace

TEST_CASE("snippets: features from elsewhere are predicted") {
    const auto text = features_to_json(*features_of_nest(doubling()));
#include <snippets/crop/README.md.1.inc>
    CHECK(p);
}

TEST_CASE("snippets: Crop is a cost model") {
    const auto machine = epyc_zen4();
    const std::vector<plan> schedules(3);
    std::vector<float> scores(3, -1.0F);
    const doubling_task task;
    using my_task = doubling_task;
    using my_schedule = plan;
#include <snippets/crop/cost_model.hpp.1.inc>
    REQUIRE(scored);
    CHECK(scores[0] > 0);
    CHECK(scores[0] == scores[2]);
}
