// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/schedule/space.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/json.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/count.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

#include "../../may_skip.hpp"
#include "dags.hpp"
#include "kernels.hpp"

using namespace augur;

using namespace augur::loopnest;
using namespace augur::loopnest::testing_dags;

namespace {

ansor_space space_of(dag_ptr dag, ansor_options options) {
    auto out = ansor_space::create(std::move(dag), options);
    REQUIRE_MESSAGE(static_cast<bool>(out), out.error().detail);
    return *std::move(out);
}
ansor_options cores(std::int64_t n) {
    ansor_options o;
    o.num_cores = n;
    return o;
}

std::vector<std::pair<std::string, dag_ptr>> kernels() {
    return {{"matmul", matmul(512, 512, 512)},
            {"small matmul", matmul(8, 8, 512)},
            {"odd matmul", matmul(7, 13, 31)},
            {"one row", matmul(1, 1000, 512, true)},
            {"double matmul", double_matmul(64)},
            {"conv nhwc", conv2d_nhwc_bias_relu(56, 56, 64, 64, 3, 1, 1)},
            {"conv nhwc stride 2", conv2d_nhwc_bias_relu(57, 57, 24, 40, 3, 2, 1)},
            {"conv 1x1", conv2d_nhwc_bias_relu(14, 14, 512, 512, 1, 1, 0)},
            {"conv nchw", conv2d_nchw_bn_relu(1, 28, 28, 32, 96, 3, 1, 1)},
            {"max pool", max_pool2d_nchw(1, 112, 112, 64, 3, 2, 1)},
            {"max pool nhwc", max_pool2d_nhwc(1, 57, 57, 48, 3, 2, 1)},
            {"row sum", row_reduce({1024}, 2048, reducer::sum)},
            {"min", row_reduce({10}, 1024, reducer::min)},
            {"softmax", softmax({128}, 768)},
            {"softmax 4d", softmax({1, 12, 128}, 128)},
            {"winograd", winograd_nhwc(28, 28, 16, 16, 1)},
            {"scalar", zero_rank(128)}};
}

/// The kernels whose schedules TVM wrote to the vectors.
dag_ptr recorded_kernel(const std::string& task) {
    if (task == "dense_512") return matmul(512, 512, 512, true);
    if (task == "r18_3x3_64x56_nhwc") return conv2d_nhwc_bias_relu(56, 56, 64, 64, 3, 1, 1);
    if (task == "conv3x3_nhwc_128x14") return conv2d_nhwc_bias_relu(14, 14, 128, 128, 3, 1, 1);
    if (task == "softmax_128x768") return softmax({128}, 768);
    if (task == "rowsum_1024x2048") return row_reduce({1024}, 2048, reducer::sum);
    if (task == "maxpool_nchw_64x112") return max_pool2d_nchw(1, 112, 112, 64, 3, 2, 1);
    return nullptr;
}

/// Is the list in the space, and do its decisions give it back byte for byte?
bool reproduces(const ansor_space& space, const std::string& json) {
    const auto list = parse_steps(json);
    if (!list) return false;
    const auto decisions = space.decide(*list);
    if (!decisions) return false;
    const auto again = space.realise(*decisions);
    return again && to_json(*again) == json;
}

/// No loop is parallel inside a parallel one, vectors are short, every loop has an extent, every length divides: what a state must keep.
/// An axis with large prime factors may be split like one that is up to an eighth longer, unless the space is faithful to Ansor.
std::string broken_rule(const loop_state& s, const ansor_options& options) {
    for (std::size_t i = 0; i < s.stages().size(); ++i) {
        const auto& st = s.stages()[i];
        if (s.dag().ops[i].placeholder() || st.placement == stage::place::inlined) continue;
        for (const auto& it : st.iters) {
            if (st.vars[it.var].extent < 1) return "a loop without extent";
            if (it.annotation == loop_annotation::parallel && st.placement != stage::place::root) return "parallel inside another stage";
            if (it.annotation == loop_annotation::vectorize && st.vars[it.var].extent > options.max_vectorize) return "a long vector";
            if (it.annotation == loop_annotation::vectorize && st.vars[it.var].reduce) return "a vector over a reduction";
        }
    }
    for (const auto& step : s.steps()) {
        const auto* split = std::get_if<split_step>(&step);
        if (split == nullptr) continue;
        std::int64_t product = 1;
        for (const auto l : split->lengths) product *= l;
        if (product < 1) return "a length below 1";
        if (split->extent % product == 0) continue;
        if (options.faithful) return "lengths do not divide";
        auto rest = split->extent;
        for (const int p : {2, 3, 5, 7})
            while (rest % p == 0) rest /= p;
        if (rest == 1) return "lengths do not divide an extent of small factors";
        if (product > split->extent + split->extent / 8) return "a tile that ends more than an eighth behind its axis";
    }
    return {};
}

} // namespace

TEST_CASE("space: programs that TVM sampled are in it, byte for byte") {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/ansor_tvm_steps.txt");
    REQUIRE(file);
    std::map<std::string, ansor_space> spaces;
    std::string line;
    int lines = 0;
    while (std::getline(file, line)) {
        const auto gap = line.find(' ');
        const auto task = line.substr(0, gap);
        CAPTURE(line);
        if (spaces.count(task) == 0) {
            const auto dag = recorded_kernel(task);
            REQUIRE(dag);
            spaces.emplace(task, space_of(dag, ansor_options::as_tvm(2)));
        }
        CHECK(reproduces(spaces.at(task), line.substr(gap + 1)));
        ++lines;
    }
    CHECK(lines == 18);
}

TEST_CASE("space: all programs that TVM sampled for six kernels are in it" MAY_SKIP) {
    const char* set = std::getenv("AUGUR_DATA");
    const std::string data = set != nullptr ? set : std::string(AUGUR_TEST_DIR) + "/../../shared/data";
    int sampled = 0, evolved = 0, evolved_found = 0, evolved_missing = 0;
    for (const char* task :
         {"dense_512", "r18_3x3_64x56_nhwc", "conv3x3_nhwc_128x14", "softmax_128x768", "rowsum_1024x2048", "maxpool_nchw_64x112"}) {
        std::ifstream file(data + "/ll/" + task + ".jsonl");
        if (!file) SKIP_CASE("no " << data << "/ll/" << task << ".jsonl (set AUGUR_DATA)");
        auto options = ansor_options::as_tvm(2);
        const auto space = space_of(recorded_kernel(task), options);
        options.evolved = true;
        const auto all = space_of(recorded_kernel(task), options);
        std::string line;
        while (std::getline(file, line)) {
            json_reader in(line);
            std::string_view key;
            std::string origin;
            step_list list;
            in.begin_object();
            while (in.next_member(key)) {
                if (key == "origin") in.read(origin);
                else if (key == "steps") { // [[key, target, ...], [stages, steps]]
                    in.begin_array();
                    in.next_element();
                    in.skip();
                    in.next_element();
                    in.begin_array();
                    in.next_element();
                    in.skip();
                    in.next_element();
                    read_steps(in, list);
                    in.next_element();
                    in.next_element();
                } else in.skip();
            }
            REQUIRE(in.finish());
            const bool found = reproduces(space, to_json(list));
            CAPTURE(to_json(list));
            if (origin == "random") {
                CHECK(found);
                ++sampled;
            } else { // tile sizes were mutated below annotations that TVM would not choose with them
                ++evolved;
                evolved_found += found ? 1 : 0;
                evolved_missing += reproduces(all, to_json(list)) ? 0 : 1;
            }
        }
    }
    MESSAGE("sampled " << sampled << ", all found; evolved " << evolved << ", found " << evolved_found);
    CHECK(sampled == 202);
    CHECK(evolved_missing == 0); // of the space with what evolution reaches
}

TEST_CASE("space: every sample is a legal program, and its steps give its decisions back") {
    for (const auto& kernel : kernels()) {
        const auto& name = kernel.first;
        const auto& dag = kernel.second;
        for (const bool faithful : {false, true}) {
            CAPTURE(name);
            CAPTURE(faithful);
            auto options = faithful ? ansor_options::as_tvm(4) : cores(4);
            const auto space = space_of(dag, options);
            augur::random_engine rng(17);
            std::set<std::string> programs;
            std::set<decision_vector> vectors;
            for (int i = 0; i < 500; ++i) {
                const auto v = sample_path(space, rng).values;
                const auto list = space.realise(v);
                REQUIRE_MESSAGE(static_cast<bool>(list), list.error().detail);
                CAPTURE(to_json(*list));
                loop_state fresh(dag); // from the beginning, as a log is replayed
                REQUIRE(fresh.apply(*list));
                REQUIRE(infer_bounds(fresh));
                CHECK(broken_rule(fresh, options) == "");
                programs.insert(to_json(*list));
                vectors.insert(v);
                if (i % 5 != 0) continue;
                const auto back = space.decide(*list);
                REQUIRE(back);
                CHECK(*back == v);
                const auto state = space.state(v);
                REQUIRE(state);
                CHECK(state->schedule() == *list);
                for (std::size_t s = 0; s < fresh.stages().size();
                     ++s) { // the extents that decisions were made with are those that bound inference finds
                    if (dag->ops.size() != fresh.stages().size() || state->stages()[s].placement == stage::place::inlined) continue;
                    for (const auto& it : fresh.stages()[s].iters)
                        CHECK(state->stages()[s].vars[it.var].extent == fresh.stages()[s].vars[it.var].extent);
                }
            }
            CHECK(programs.size() == vectors.size()); // other decisions, other steps
        }
    }
}

TEST_CASE("space: cursor and next agree, values beyond the options are refused") {
    const auto space = space_of(conv2d_nhwc_bias_relu(14, 14, 16, 32, 3, 1, 1), cores(2));
    augur::random_engine rng(3);
    for (int i = 0; i < 20; ++i) {
        auto cursor = space.cursor();
        decision_vector v;
        while (const auto d = cursor.next()) {
            CHECK(space.next(v) == d);
            CHECK(d->options >= 1);
            CHECK(d->preferred < d->options);
            v.push_back(rng.below(d->options));
            cursor.choose(v.back());
        }
        CHECK_FALSE(space.next(v));
        REQUIRE(space.realise(v));
        auto bad = v;
        bad.push_back(0);
        CHECK(space.realise(bad).error().code == errc::illegal_schedule);
        bad.resize(v.size() - 1);
        CHECK(space.realise(bad).error().code == errc::illegal_schedule);
        bad = v;
        bad[i % 2 == 0 ? 0 : bad.size() / 2] = 1000000;
        CHECK(space.realise(bad).error().code == errc::illegal_schedule);
        CHECK(space.state(bad).error().code == errc::illegal_schedule);
    }
}

TEST_CASE("space: tile sizes are drawn uniformly") {
    const auto space = space_of(matmul(8, 8, 64), cores(1));
    augur::random_engine rng(11);
    std::map<std::uint64_t, int> sketches;
    std::vector<int> tiles(20, 0); // 8 = a b c d
    const int n = 20000;
    int tiled = 0;
    for (int i = 0; i < n; ++i) {
        const auto path = sample_path(space, rng);
        ++sketches[path.values[0]];
        if (path.decisions[1].options != 20) continue;
        ++tiles[static_cast<std::size_t>(path.values[1])];
        ++tiled;
    }
    REQUIRE(space.sketches() == 3);
    for (const auto& [s, count] : sketches) CHECK(count == doctest::Approx(n / 3.0).epsilon(0.05));
    double chi2 = 0;
    for (const int t : tiles) chi2 += (t - tiled / 20.0) * (t - tiled / 20.0) / (tiled / 20.0);
    CHECK(chi2 < 50.8); // 19 degrees of freedom, 1 in 10000
}

TEST_CASE("space: the decisions of a small kernel, one by one") {
    // C (4, 6) = A (4, 8) B (8, 6): untouched tensors, so all options are known by hand
    const auto space = space_of(matmul(4, 6, 8), cores(1));
    REQUIRE(space.sketches() == 3);
    auto c = space.cursor();
    CHECK(c.next() == decision{decision_kind::sketch, 3, 0, true});
    c.choose(0);                                                        // SSRSRS without a cache stage
    CHECK(c.next() == decision{decision_kind::tile_size, 10, 0, true}); // 4 into 4 levels
    c.choose(3);                                                        // [1, 2, 1]
    CHECK(c.next() == decision{decision_kind::tile_size, 16, 0, true}); // 6 into 4
    c.choose(2);                                                        // [1, 1, 3]
    CHECK(c.next() == decision{decision_kind::tile_size, 4, 0, true});  // 8 into 2
    c.choose(1);                                                        // [2]
    // loops i0 j0 i1 j1 | k: parallel over 1 to 4 of them; 16 = 16 * 1 core is not beyond, so all four: 2 * 2 * 1 * 1
    CHECK(c.next() == decision{decision_kind::parallel, 4, 3, false});
    c.choose(1);
    CHECK(c.next() == decision{decision_kind::unroll, 4, 0, true});
    c.choose(2);
    CHECK(c.next() == decision{decision_kind::vectorize, 1, 0, true});
    c.choose(0);
    CHECK_FALSE(c.next());
    CHECK(to_json(c.state().schedule()) == R"([["SP", 2, 0, 4, [1, 2, 1], 1], ["SP", 2, 4, 6, [1, 1, 3], 1], ["SP", 2, 8, 8, [2], 1], )"
                                           R"(["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["FU", 2, [0, 1]], ["AN", 2, 0, 3], )"
                                           R"(["PR", 2, 0, "auto_unroll_max_step$64"], ["AN", 2, 8, 2]])");
}

TEST_CASE("space: neighbours move one divisor, mutants and children stay legal") {
    const auto space = space_of(conv2d_nhwc_bias_relu(56, 56, 64, 64, 3, 1, 1), cores(2));
    augur::random_engine rng(5);
    decision_path last = sample_path(space, rng);
    for (int i = 0; i < 300; ++i) {
        const auto path = sample_path(space, rng);
        for (const auto& other : {mutate_path(space, path, mutation_weights::cpu(), rng), cross_paths(space, path, last, rng)}) {
            const auto list = space.realise(other.values);
            REQUIRE(list);
            loop_state s(std::make_shared<const compute_dag>(space.dag()));
            REQUIRE(s.apply(*list));
            CHECK(infer_bounds(s));
        }
        const std::vector<std::uint64_t> prefix(path.values.begin(), path.values.begin() + 4); // the fourth split: 64 channels
        const auto near = space.neighbour(prefix, path.values[4], rng);
        const factorisation tiles(64, 3);
        auto a = tiles.lengths_of(path.values[4]);
        auto b = tiles.lengths_of(near);
        a.insert(a.begin(), 64 / (a[0] * a[1] * a[2]));
        b.insert(b.begin(), 64 / (b[0] * b[1] * b[2]));
        int changed = 0;
        for (std::size_t k = 0; k < 4; ++k) changed += a[k] != b[k] ? 1 : 0;
        CHECK(changed == 2);
        last = path;
    }
    CHECK(space.neighbour(last.values, 3, rng) == 3); // behind the tile sizes it has no opinion
}

TEST_CASE("space: by default each location is another program, and none is lost") {
    // Where the padding of a convolution is computed: the loops around it that run more than once, and whether it is inlined.
    const auto dag = conv2d_nhwc_bias_relu(56, 56, 64, 64, 3, 1, 1);
    const auto usual = space_of(dag, cores(2));
    auto as_tvm = ansor_options::as_tvm(2);
    const auto faithful = space_of(dag, as_tvm);
    augur::random_engine rng(23);
    for (int i = 0; i < 100; ++i) {
        const auto path = sample_path(usual, rng);
        std::vector<std::uint64_t> prefix;
        for (std::size_t k = 0; path.decisions[k].kind != decision_kind::compute_location; ++k) prefix.push_back(path.values[k]);
        if (path.values[0] == 0) prefix.push_back(0); // the consumer is not tiled and movable as well: leave it
        const auto places = [&](const ansor_space& space) {
            std::vector<std::vector<std::string>> out;
            auto c = space.cursor();
            for (const auto v : prefix) c.choose(v);
            if (c.next()->kind != decision_kind::compute_location) return out;
            for (std::uint64_t v = 0; v < c.next()->options; ++v) {
                auto branch = c;
                branch.choose(v);
                loop_state s = branch.state();
                REQUIRE(infer_bounds(s));
                const auto* st = &s.stages()[1];
                if (st->placement == stage::place::inlined) continue;
                std::vector<std::string> around;
                while (st->placement == stage::place::at) {
                    const auto& target = s.stages()[st->at_stage];
                    for (std::size_t k = target.iter_of(st->at_var) + 1; k-- > 0;)
                        if (target.var_of(k).extent > 1) around.push_back(std::to_string(st->at_stage) + target.var_of(k).name);
                    st = &target;
                }
                out.push_back(std::move(around));
            }
            return out;
        };
        const auto ours = places(usual);
        const auto theirs = places(faithful);
        const std::set<std::vector<std::string>> unique(ours.begin(), ours.end());
        CHECK(unique.size() == ours.size());
        for (const auto& p : theirs) CHECK(unique.count(p) == 1);
    }
}

TEST_CASE("space: bad options and foreign steps are told") {
    CHECK(ansor_space::create(matmul(8, 8, 8), cores(0)).error().code == errc::invalid_argument);
    auto o = cores(1);
    o.max_vectorize = 0;
    CHECK(ansor_space::create(matmul(8, 8, 8), o).error().code == errc::invalid_argument);
    CHECK(ansor_space::create(matmul(0, 8, 8), cores(1)).error().code == errc::shape_mismatch);

    const auto space = space_of(matmul(8, 8, 8), cores(1));
    CHECK(space.decide({}).error().code == errc::not_found);
    augur::random_engine rng(2);
    for (int i = 0; i < 200; ++i) { // one step lost, doubled or of another kernel
        const auto list = *space.realise(sample_path(space, rng).values);
        auto broken = list;
        const auto at = static_cast<std::ptrdiff_t>(rng.below(list.steps.size()));
        if (i % 3 == 0) broken.steps.erase(broken.steps.begin() + at);
        else if (i % 3 == 1) broken.steps.insert(broken.steps.begin() + at, list.steps[static_cast<std::size_t>(at)]);
        else broken.steps[static_cast<std::size_t>(at)] = split_step{0, 0, 8, {3}, true};
        const auto found = space.decide(broken);
        if (found) CHECK(*space.realise(*found) == broken);
        else CHECK(found.error().code == errc::not_found);
    }
}

TEST_CASE("space: leaves are counted by the generic code") {
    const auto space = space_of(row_reduce({3}, 4, reducer::sum), cores(8)); // 4 <= 8 cores: one sketch without steps
    REQUIRE(space.sketches() == 1);
    augur::random_engine rng(1);
    const auto count = count_leaves(space, rng);
    CHECK(count.exact);
    CHECK(count.leaves == 4); // unroll alone
}

TEST_CASE("space: samples are of the likely options, and the others are in the space, too") {
    const auto has = [](const step_list& list, std::string_view kind) {
        return std::any_of(list.steps.begin(), list.steps.end(),
                           [&](const transform_step& s) { return std::visit([](const auto& x) { return std::string_view(x.kind); }, s) == kind; });
    };
    struct expectation {
        const char* kernel;
        const char* always; ///< a step of every sample
        const char* never;
    };
    for (const auto& [kernel, always, never] :
         {expectation{"batch_matmul:b=12,m=128,n=128,k=64", "CHR", "RF"}, expectation{"softmax:m=1536,n=128", "SP", "RF"},
          expectation{"batch_matmul:b=12,m=1,n=128,k=64", "SP", "CHR"}, expectation{"layer_norm:m=128,n=768", "SP", "CHW"}}) {
        CAPTURE(kernel);
        const auto dag = ::dag_of(kernel);
        const auto space = space_of(dag, cores(2));
        augur::random_engine rng(9);
        for (int i = 0; i < 40; ++i) {
            const auto list = space.realise(sample_path(space, rng).values);
            REQUIRE(list);
            CHECK(has(*list, always));
            CHECK_FALSE(has(*list, never));
        }
        const auto first = space.next({});
        REQUIRE(first);
        REQUIRE(first->likely > 0);
        REQUIRE(first->likely < first->options);
        decision_vector other(1, first->options - 1); // an unlikely sketch, with the first option of everything else
        while (const auto d = space.next(other)) other.push_back(d->likely > 0 ? d->options - 1 : 0);
        const auto list = space.realise(other);
        REQUIRE(list);
        const auto back = space.decide(*list);
        REQUIRE(back);
        CHECK(*back == other);
    }
}
