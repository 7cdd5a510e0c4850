// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/crop/cost_model.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/thread_pool.hpp>
#include <augur/program/features_json.hpp>
#include <augur/target/machine_presets.hpp>
#include <doctest/doctest.h>

#include "../program/sample_program.hpp"

namespace predictor_test {

using namespace augur;

namespace {

using op = instruction_class;
constexpr auto f32 = element_type::f32;
constexpr auto i64 = element_type::i64;
constexpr auto plain = fold_hint::none;

graphlet side_by_side(std::size_t n, instruction what) {
    graphlet_builder b;
    for (std::size_t i = 0; i < n; ++i) b.add(what);
    return std::move(b).take();
}
function_features function(std::string name, std::vector<basic_block> blocks, std::vector<control_flow_graph::new_edge> edges,
                           std::uint64_t count = 1) {
    function_features f;
    f.name = std::move(name);
    f.count = count;
    f.flow = control_flow_graph(std::move(blocks), std::move(edges));
    return f;
}
/// A loop of `rounds` rounds around code, with a counter and a branch, and an entry before it.
program_features loop(graphlet body, std::uint64_t rounds, std::vector<dependence> carried = {}) {
    program_features p;
    p.functions.push_back(function("f", {{"entry", side_by_side(1, {op::branch, i64, plain, 1}), 1}, {"loop", std::move(body), rounds}},
                                   {{0, 1, {1, {}}}, {1, 1, {rounds - 1, std::move(carried)}}}));
    return p;
}
/// Makes a function the body of a parallel loop of `count` iterations, each as the function was.
void run_in_parallel(function_features& f, std::uint64_t count) {
    f.parallel = true;
    f.count *= count;
    for (std::uint32_t b = 0; b < f.flow.size(); ++b) f.flow[b].count *= count;
    for (std::uint32_t e = 0; e < f.flow.edge_count(); ++e) f.flow[f.flow.edge(e)].count *= count;
}
crop::prediction predicted(const program_features& p, const machine& m, int threads = 1, crop::options o = {}) {
    auto r = crop::predict(p, m, threads, o);
    REQUIRE_MESSAGE(r, (r ? "" : r.error().detail));
    return std::move(*r);
}

} // namespace

TEST_CASE("crop: Eq. 1 as published is the sum of blocks alone times their counts") {
    const auto m = xeon_gold_5220r();
    const cost_table costs(m);
    pipeline pipe(costs, {unit_model::ideal, false});
    auto p = sample_program();
    p.memory.clear(); // all in the first cache
    for (const int threads : {1, 3, 4, 10, 48}) {
        const auto got = predicted(p, m, threads, crop::options::as_published());
        double sum = 0;
        for (const auto& f : p.functions)
            for (const auto& b : f.flow.values())
                sum +=
                    pipe.block(b.code) * effective_count(f.count, static_cast<double>(b.count) / static_cast<double>(f.count), threads, f.parallel);
        CHECK(got.cycles == doctest::Approx(sum).epsilon(1e-12));
        CHECK(got.seconds == doctest::Approx(sum / 2.2e9).epsilon(1e-12));
        double parts = 0;
        for (const auto& f : got.functions) {
            double blocks = f.launch_cycles;
            for (const auto& b : f.blocks) blocks += b.cycles;
            CHECK(blocks == doctest::Approx(f.cycles));
            parts += f.cycles;
        }
        CHECK(parts == doctest::Approx(got.cycles));
    }
}

TEST_CASE("crop: loops cost what limits them, and it is named") {
    auto m = epyc_zen4();
    const auto each = [&](const program_features& p, const crop::options& o = {}) { return predicted(p, m, 1, o).cycles / 1e6; };
    const auto named = [&](const program_features& p) {
        const auto got = predicted(p, m);
        return crop::limit_text(got.limited_by, got.unit);
    };
    const auto fma = loop(side_by_side(12, {op::fma, f32, plain, 16}), 1'000'000);
    CHECK(each(fma) == doctest::Approx(12).epsilon(0.001)); // one 512-bit multiply-add a cycle
    CHECK(named(fma) == "unit fp multiply");
    const auto integers = loop(side_by_side(60, {op::move, i64, plain, 1}), 1'000'000);
    m.costs.push_back({op::move, i64, 1, 1, 0.01, 3, provenance::table});
    CHECK(each(integers) == doctest::Approx(10).epsilon(0.001)); // six a cycle
    CHECK(named(integers) == "front");
    graphlet_builder b;
    b.add({op::fadd, f32, plain, 16});
    const auto sum = loop(std::move(b).take(), 1'000'000, {{0, 0}});
    CHECK(each(sum) == doctest::Approx(3).epsilon(0.001));
    CHECK(named(sum) == "dependences");
    CHECK(each(sum, crop::options::as_published()) == doctest::Approx(3).epsilon(0.001));
    CHECK(each(fma, crop::options::as_published()) ==
          doctest::Approx(14).epsilon(0.001)); // two start every other cycle, and the last take 4: the pipeline drains each round
}

TEST_CASE("crop: a loop costs the same however it is cut into blocks") {
    const auto m = epyc_zen4();
    // Two chains of four additions each, and multiplications beside them: cut between the chains it is a loop of two blocks, of which neither sees
    // the other's rounds by itself.
    const auto half = [](std::size_t products) {
        graphlet_builder b;
        std::uint32_t last = b.add({op::load, f32, plain, 8});
        for (int i = 0; i < 4; ++i) last = b.add({op::fadd, f32, plain, 8}, {last});
        for (std::size_t i = 0; i < products; ++i) b.add({op::fmul, f32, plain, 16});
        return std::move(b).take();
    };
    const std::uint64_t rounds = 100'000;
    const instruction jump{op::branch, i64, fold_hint::always, 1};
    for (const std::size_t products : {0U, 3U, 12U, 40U}) {
        CAPTURE(products);
        const auto a = half(products), b = half(products / 2);
        const double whole = predicted(loop(superblock(a, b, {}), rounds), m).cycles;
        program_features cut;
        cut.functions.push_back(function(
            "f",
            {{"entry", side_by_side(1, {op::branch, i64, plain, 1}), 1}, {"a", a, rounds}, {"b", b, rounds}, {"c", side_by_side(1, jump), rounds}},
            {{0, 1, {1, {}}}, {1, 2, {rounds, {}}}, {2, 3, {rounds, {}}}, {3, 1, {rounds - 1, {}}}}));
        CHECK(predicted(cut, m).cycles == doctest::Approx(whole).epsilon(0.04));
    }
    // So are iterations that are dealt to threads: on one thread they are a loop.
    program_features iterations;
    iterations.functions.push_back(function("f", {{"body", half(3), rounds}}, {}, rounds));
    iterations.functions[0].parallel = true;
    CHECK(predicted(iterations, m).cycles == doctest::Approx(predicted(loop(half(3), rounds), m).cycles).epsilon(0.01));
    CHECK(predicted(iterations, m, 2).cycles == doctest::Approx(predicted(iterations, m).cycles / 2).epsilon(0.01));
    // Inner rounds are the inner loop's, entering it costs little more: 1000 times 100 rounds.
    const auto body = half(4);
    program_features nest;
    nest.functions.push_back(
        function("f", {{"entry", side_by_side(1, {op::branch, i64, plain, 1}), 1}, {"outer", half(0), 1000}, {"inner", body, 100'000}},
                 {{0, 1, {1, {}}}, {1, 2, {1000, {}}}, {2, 2, {99'000, {}}}, {2, 1, {999, {}}}}));
    crop::options foreseen;
    foreseen.branches = false;
    const double inner = predicted(loop(body, 100'000), m).cycles, outer = predicted(loop(half(0), 1000), m).cycles;
    const double all = predicted(nest, m, 1, foreseen).cycles;
    CHECK(all >= 0.99 * inner);
    CHECK(all <= inner + 4 * outer);
}

TEST_CASE("crop: memory, by latency and by bandwidth") {
    auto m = epyc_zen4();
    m.memory.core_bytes_per_second = 3.69e9 * 8; // 8 bytes a cycle: a line in 8
    m.memory.bytes_per_second = 3.69e9 * 12;
    graphlet_builder b;
    const auto x = b.add({op::load, f32, plain, 16});
    b.add({op::fadd, f32, plain, 16}, {x});
    auto p = loop(std::move(b).take(), 1'000'000);
    reuse_profile near(64), far(64);
    near.add(0, 1'000'000);
    far.add_cold(1'000'000);
    p.memory = {{1, near, near, {}}};
    const auto in_cache = predicted(p, m);
    CHECK(in_cache.cycles == doctest::Approx(1e6).epsilon(0.01)); // a load of 64 bytes a cycle
    CHECK(in_cache.levels[0].share == 1);
    CHECK(in_cache.levels.back().share == 0);
    p.memory = {{1, far, far, {}}};
    const auto streamed = predicted(p, m);
    CHECK(streamed.cycles == doctest::Approx(8e6).epsilon(0.01));
    CHECK(streamed.limited_by == crop::limit::bandwidth);
    CHECK(streamed.levels.back().name == "memory");
    CHECK(streamed.levels.back().share == 1);
    CHECK(streamed.levels.back().stall_cycles == doctest::Approx(7e6).epsilon(0.01));
    CHECK(streamed.functions[0].load_latency == doctest::Approx(400));
    crop::options latency_only;
    latency_only.bandwidth = false;
    CHECK(predicted(p, m, 1, latency_only).cycles == doctest::Approx(403.0 * 2 / 320 * 1e6).epsilon(0.03)); // the window: 160 lines in flight
    graphlet_builder chain; // each address comes from the load before it
    chain.add({op::load, i64, plain, 1});
    auto chase = loop(std::move(chain).take(), 1'000'000, {{0, 0}});
    chase.memory = p.memory;
    const auto chased = predicted(chase, m);
    CHECK(chased.cycles == doctest::Approx(400e6).epsilon(0.01));
    CHECK(chased.limited_by == crop::limit::latency);
    auto half = far; // half of the accesses from memory: conditional rates say 200, Eq. 6 as printed says less behind the first level
    half.add(0, 1'000'000);
    chase.memory = {{1, half, half, {}}};
    CHECK(predicted(chase, m).cycles == doctest::Approx(202e6).epsilon(0.01));
    crop::options paper;
    paper.eq6 = eq6_mode::paper;
    // P = 1/2 at each level: 4/2 + 1/2 (14/2 + 1/2 (50/2 + 400/2)) = 61.75 cycles
    CHECK(predicted(chase, m, 1, paper).functions[0].load_latency == doctest::Approx(61.75));
    // loads and stores share the bandwidth; a line that is written to comes and goes
    graphlet_builder copy;
    copy.add({op::store, f32, plain, 16}, {copy.add({op::load, f32, plain, 16})});
    auto copied = loop(std::move(copy).take(), 1'000'000);
    copied.memory = p.memory;
    CHECK(predicted(copied, m).cycles == doctest::Approx(24e6).epsilon(0.01));
    auto fill = loop(side_by_side(1, {op::store, f32, plain, 16}), 1'000'000);
    fill.memory = p.memory;
    CHECK(predicted(fill, m).cycles == doctest::Approx(16e6).epsilon(0.01));
    // two threads have 12 bytes a cycle together
    run_in_parallel(p.functions[0], 2);
    CHECK(predicted(p, m, 1).cycles == doctest::Approx(16e6).epsilon(0.01));
    CHECK(predicted(p, m, 2).cycles == doctest::Approx(64.0 / 6 * 1e6).epsilon(0.01));
}

TEST_CASE("crop: caches that threads share") {
    auto m = epyc_7763(); // 64 cores, 128 threads; 32 KB for two threads, 32 MB for sixteen
    auto p = sample_program();
    p.memory.clear();
    reuse_profile fits_l1(64), fits_half(64);
    fits_l1.add(200, 1000); // 512 lines in the first level
    p.memory = {{1, fits_l1, fits_l1, {}}};
    const auto l1 = [&](int threads) { return predicted(p, m, threads).levels[0].share; };
    CHECK(l1(1) > 0.98);
    CHECK(l1(64) == doctest::Approx(l1(1)));     // a core for each
    CHECK(l1(128) < 0.75);                       // two on a core: half the cache each
    CHECK(l1(1000) == doctest::Approx(l1(128))); // no more than there are
    reuse_profile all(64);
    all.add(50, 1000);
    p.memory.push_back({128, fits_l1, all, {}}); // how they disturb one another was counted
    CHECK(l1(128) > 0.99);
    CHECK(l1(64) > 0.98);
}

TEST_CASE("crop: a serial function has caches and memory for itself") {
    auto p = loop(side_by_side(1, {op::load, f32, plain, 1}), 100'000);
    reuse_profile streams(64);
    streams.add_cold(100'000);
    p.memory = {{1, streams, streams, {}}};
    const auto m = epyc_7763();
    CHECK(predicted(p, m, 128).cycles == predicted(p, m, 1).cycles);
    run_in_parallel(p.functions[0], 128);
    const double traffic = 128e5 * 64 / m.memory.bytes_per_second; // of all lines, seconds: the threads share the bandwidth
    CHECK(predicted(p, m, 128).seconds == doctest::Approx(traffic).epsilon(0.02));
    CHECK(predicted(p, m, 1).seconds >= 0.99 * traffic);
}

TEST_CASE("crop: exact set profiles, where they are and are asked for") {
    const auto m = epyc_zen4();
    auto p = loop(side_by_side(1, {op::load, f32, plain, 1}), 1000);
    reuse_profile near(64);
    near.add(10, 1000);
    p.memory = {{1, near, near, {{64, 64, 1000, {100, 50, 0, 0, 0, 0, 0, 0}}}}}; // a column: ten lines in one set
    crop::options by_distance;
    by_distance.set_profiles = false;
    CHECK(predicted(p, m, 1, by_distance).levels[0].share > 0.99);
    CHECK(predicted(p, m).levels[0].share == doctest::Approx(0.15));
}

TEST_CASE("crop: lines that come into one set wait for one another") {
    auto m = epyc_zen4();
    auto p = loop(side_by_side(1, {op::load, f32, plain, 1}), 1000);
    reuse_profile far(64);
    far.add(2000, 1000); // in the second level
    const associativity_profile column{64, 64, 1000, {250, 250, 0, 0, 0, 0, 0, 0}, 600, 450};
    p.memory = {{1, far, far, {column}}};
    const double free = predicted(p, m).cycles;
    m.caches[0].set_cycles = 8; // half of the loads come from further, three quarters of these into one set: 8 * 0.5 * 0.75 cycles
    CHECK(cycles_of_sets(column, m.caches[0]) == 3);
    CHECK(predicted(p, m).cycles == doctest::Approx(3000).epsilon(0.05));
    CHECK(free < 2500);
    crop::options without;
    without.set_profiles = false;
    CHECK(predicted(p, m, 1, without).cycles == predicted(p, epyc_zen4(), 1, without).cycles);
    p.memory[0].sets[0] = {64, 64, 0, {0, 0, 0, 0, 0, 0, 0, 0}}; // of nothing
    CHECK(cycles_of_sets(p.memory[0].sets[0], m.caches[0]) == 0);
}

TEST_CASE("crop: branches that are not foreseen, and work handed to threads") {
    auto m = epyc_zen4();
    auto p = sample_program();
    p.memory.clear();
    CHECK(predicted(p, m).mispredict_cycles == 10 * 13); // an end of the loop in each of ten iterations
    m.core.predicted_trips = 16;
    CHECK(predicted(p, m).mispredict_cycles == 0);
    m.core.predicted_trips = 15;
    CHECK(predicted(p, m).mispredict_cycles == 130);
    CHECK(predicted(p, m, 2).mispredict_cycles == 65);
    m.core.parallel_launch = 5000;
    CHECK(predicted(p, m, 1).launch_cycles == 0);
    const auto two = predicted(p, m, 2);
    CHECK(two.launch_cycles == 5000);
    CHECK(two.limited_by == crop::limit::launch);
}

TEST_CASE("crop: where mispredicted branches cost most of the time, they are named") {
    auto m = epyc_zen4();
    m.core.mispredict = 10'000;
    auto p = sample_program();
    p.memory.clear();
    const auto got = predicted(p, m);
    CHECK(got.mispredict_cycles == 10 * 10'000.0);
    CHECK(got.mispredict_cycles > 0.9 * got.cycles);
    CHECK(got.limited_by == crop::limit::branches);
    const auto& blocks = got.functions[1].blocks;
    CHECK(blocks[2].limited_by == crop::limit::branches);          // "tail", behind the end of the loop
    for (const std::size_t b : {std::size_t{0}, std::size_t{1}}) { // the others are as with branches that cost nothing
        crop::options foreseen;
        foreseen.branches = false;
        const auto block = predicted(p, m, 1, foreseen).functions[1].blocks[b];
        CHECK(blocks[b].limited_by == block.limited_by);
        CHECK(blocks[b].unit == block.unit);
        CHECK(blocks[b].cycles == block.cycles);
    }
}

TEST_CASE("crop: without a breakdown the times are the same, and no bottleneck is named") {
    auto p = sample_program(1);
    reuse_profile far(64);
    far.add_cold(100);
    p.memory = {{1, far, far, {}}}; // with stalls, which the breakdown times apart
    for (const auto name : machine_preset_names) {
        const auto m = *machine_preset(name);
        for (const int threads : {1, 4}) {
            CAPTURE(name);
            CAPTURE(threads);
            crop::options times;
            times.breakdown = false;
            const auto whole = predicted(p, m, threads), brief = predicted(p, m, threads, times);
            CHECK(brief.seconds == whole.seconds);
            CHECK(brief.cycles == whole.cycles);
            CHECK(brief.mispredict_cycles == whole.mispredict_cycles);
            CHECK(whole.limited_by != crop::limit::none);
            CHECK(brief.limited_by == crop::limit::none);
            CHECK(brief.unit.empty());
            REQUIRE(brief.functions.size() == whole.functions.size());
            for (std::size_t f = 0; f < whole.functions.size(); ++f) {
                CHECK(brief.functions[f].cycles == whole.functions[f].cycles);
                REQUIRE(brief.functions[f].blocks.size() == whole.functions[f].blocks.size());
                for (std::size_t b = 0; b < whole.functions[f].blocks.size(); ++b) {
                    CHECK(brief.functions[f].blocks[b].cycles == whole.functions[f].blocks[b].cycles);
                    CHECK(brief.functions[f].blocks[b].limited_by == crop::limit::none);
                    CHECK(brief.functions[f].blocks[b].stall_cycles == 0);
                }
            }
        }
    }
}

TEST_CASE("crop: the JSON text of a prediction has each number in its place") {
    crop::prediction p;
    p.seconds = 1.5;
    p.cycles = 2.5;
    p.threads = 3;
    p.limited_by = crop::limit::unit;
    p.unit = "fp \"add\"";
    p.mispredict_cycles = 4.5;
    p.launch_cycles = 5.5;
    p.unknown = 6;
    p.unknown_share = 0.25;
    p.trust = {0.125, 0.375, 0.5};
    p.levels = {{"L1", 0.75, 7.5}, {"memory", 0.0625, 8.5}};
    p.functions = {{"f", true, 9.5, 10.5, 11.5, 12.5, 13.5, {{"L1", 14.5, 15.5}}, {{"loop", 16.5, 17.5, 18.5, crop::limit::front, {}}}}, {}};
    CHECK(crop::prediction_to_json(p) ==
          R"({"seconds": 1.5, "cycles": 2.5, "threads": 3, "limited_by": "unit fp \"add\"", "mispredict_cycles": 4.5, "launch_cycles": 5.5, )"
          R"("unknown": 6, "unknown_share": 0.25, "default": 0.125, "table": 0.375, "measured": 0.5, )"
          R"("levels": [{"name": "L1", "share": 0.75, "stall_cycles": 7.5}, {"name": "memory", "share": 0.0625, "stall_cycles": 8.5}], )"
          R"("functions": [{"name": "f", "parallel": true, "cycles": 9.5, "load_latency": 10.5, "load_interval": 11.5, "mispredict_cycles": 12.5, )"
          R"("launch_cycles": 13.5, "levels": [{"name": "L1", "share": 14.5, "stall_cycles": 15.5}], )"
          R"("blocks": [{"name": "loop", "count": 16.5, "cycles": 17.5, "stall_cycles": 18.5, "limited_by": "front"}]}, )"
          R"({"name": "", "parallel": false, "cycles": 0, "load_latency": 0, "load_interval": 0, "mispredict_cycles": 0, "launch_cycles": 0, )"
          R"("levels": [], "blocks": []}]})");
}

TEST_CASE("crop: what is not known is told, never refused") {
    auto p = sample_program();
    const auto m = epyc_zen4();
    CHECK(predicted(p, m).unknown == 0);
    auto strange = loop(side_by_side(3, {op::unknown, i64, plain, 1}), 100);
    const auto got = predicted(strange, m);
    CHECK(got.unknown == 3);
    CHECK(got.unknown_share == doctest::Approx(300.0 / 301));
    CHECK(got.cycles > 0);
    CHECK(got.trust[0] == doctest::Approx(300.0 / 301));
    CHECK(got.trust[0] + got.trust[1] + got.trust[2] == doctest::Approx(1));
    CHECK(predicted({}, m).seconds == 0);
    auto never = p;
    never.functions.pop_back();
    never.functions[0].count = 0;
    never.functions[0].flow[0].count = 0;
    CHECK(predicted(never, m).seconds == 0);
    CHECK(predicted(never, m).limited_by == crop::limit::none);
}

TEST_CASE("crop: what cannot be right is refused") {
    auto p = sample_program();
    const auto m = epyc_zen4();
    CHECK(crop::predict(p, m, 0).error().code == errc::invalid_argument);
    CHECK(crop::predict(p, {}, 1).error().detail.find("machine: ") == 0);
    p.functions[1].flow[1].count = 3;
    CHECK(crop::predict(p, m).error().detail.find("crop: function 'body': block 1 ('loop')") == 0);
    p = sample_program();
    p.memory[0] = {1, reuse_profile(128), reuse_profile(128), {}};
    p.memory.resize(1);
    const auto wide = crop::predict(p, m);
    REQUIRE(!wide);
    CHECK(wide.error().code == errc::shape_mismatch);
    CHECK_MESSAGE(wide.error().detail.find("lines of 128") != std::string::npos, wide.error().detail);
}

TEST_CASE("crop: features that travelled are predicted alike, again and again, by any predictor") {
    const auto p = sample_program(3);
    const auto back = features_from_json(features_to_json(p));
    REQUIRE(back);
    for (const auto name : machine_preset_names) {
        crop::predictor one(*machine_preset(name));
        const auto first = one.predict(p, 2);
        REQUIRE(first);
        REQUIRE(one.predict(sample_program(), 1));
        const auto again = one.predict(*back, 2);
        CHECK(crop::prediction_to_json(*again) == crop::prediction_to_json(*first));
        crop::predictor other = std::move(one);
        CHECK(crop::prediction_to_json(*other.predict(p, 2)) == crop::prediction_to_json(*first));
    }
}

namespace {
struct plan {
    int unroll = 1;
    void visit(auto& sink) const {
        sink.primitive("unroll");
        sink.number(std::int64_t{unroll});
    }
};
struct kernel {
    static const char* key() { return "fma"; }
};
result<program_features> features_of(const kernel&, const plan& s) {
    if (s.unroll < 1) return error{errc::illegal_schedule, "unroll below 1"};
    graphlet_builder b; // 1024 multiply-adds into `unroll` sums
    std::vector<dependence> carried;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(s.unroll); ++i) carried.push_back({b.add({op::fma, f32, plain, 8}), i});
    return loop(std::move(b).take(), 1024 / static_cast<std::uint64_t>(s.unroll), carried);
}
using model_type = crop::model<decltype(&features_of)>;
} // namespace
static_assert(cost_model<model_type, plan, kernel>);

TEST_CASE("crop: a cost model that ranks schedules without data") {
    model_type model(epyc_zen4(), 1, &features_of);
    const std::vector<plan> plans{{1}, {2}, {8}, {-1}, {16}};
    std::vector<float> scores(5);
    REQUIRE(model.score(kernel{}, std::span<const plan>(plans), scores));
    CHECK(scores[0] < scores[1]);
    CHECK(scores[1] < scores[2]); // eight sums keep two units of four cycles busy
    CHECK(scores[3] == -std::numeric_limits<float>::infinity());
    CHECK(model.last_failure()->detail == "unroll below 1");
    CHECK(scores[4] == doctest::Approx(scores[2]).epsilon(0.02));
    CHECK(scores[0] == doctest::Approx(-std::log(4 * 1024 / 3.69e9)).epsilon(0.002));
    CHECK(model.score(kernel{}, std::span<const plan>(plans), std::span<float>(scores).first(2)).error().code == errc::shape_mismatch);
}

TEST_CASE("crop: the scores and the last failure are those of one worker, whatever the executor") {
    std::vector<plan> plans;
    for (int i = 0; i < 41; ++i) plans.push_back({i % 9 == 4 ? -i : 1 + i % 16});
    const auto failing_by_number = [](const kernel& k, const plan& s) -> result<program_features> {
        if (s.unroll < 1) return error{errc::illegal_schedule, "unroll of " + std::to_string(s.unroll)};
        return features_of(k, s);
    };
    crop::model alone(epyc_zen4(), 1, failing_by_number);
    std::vector<float> expected(plans.size());
    REQUIRE(alone.score(kernel{}, std::span<const plan>(plans), expected));
    for (const auto workers : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{64}}) {
        thread_pool_executor threads(workers);
        crop::model model(epyc_zen4(), 1, failing_by_number, threads);
        std::vector<float> scores(plans.size());
        for (int round = 0; round < 2; ++round) {
            REQUIRE(model.score(kernel{}, std::span<const plan>(plans), scores));
            CHECK(scores == expected);
            CHECK(model.last_failure()->detail == "unroll of -40");
        }
        REQUIRE(model.score(kernel{}, std::span<const plan>(plans).first(3), std::span(scores).first(3)));
        CHECK_FALSE(model.last_failure());
    }
}

} // namespace predictor_test
