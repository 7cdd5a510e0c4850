// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/lower/replay.hpp>
#include <augur/loopnest/lower/replay_cache.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/io/ansor_log.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/io/loopnest/tvm_dag.hpp>
#include <augur/loopnest/ir/dag_class.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/walk.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "../../io/logged_dags.hpp"
#include "../../may_skip.hpp"
#include "../../record/logs.hpp"
#include "../dags.hpp"

using namespace augur;
using namespace augur::loopnest;

namespace {

step_list steps_of(const std::string& text) {
    json_reader in(text);
    step_list list;
    REQUIRE(read_steps(in, list));
    return list;
}

/// A copy of a vector: stage 0 is the input, stage 1 the result.
testing_dags::dag_ptr copy_of(std::int64_t extent) {
    compute_dag d;
    const auto in = d.input("p0", {extent});
    d.compute("out", {{"i", extent}}, ex::read(in, {ex::axis(0)}));
    return testing_dags::share(std::move(d));
}

std::string fault_of(const testing_dags::dag_ptr& dag, const std::string& steps) {
    const auto r = replay(dag, steps_of(steps));
    if (!r.fault) return "none";
    CHECK(!r.why.detail.empty());
    return std::string(to_string(*r.fault));
}

ansor_space space_of(const testing_dags::dag_ptr& dag) {
    ansor_options options;
    options.num_cores = 2;
    auto space = ansor_space::create(dag, options);
    REQUIRE(space);
    return *std::move(space);
}

} // namespace

TEST_CASE("replay: a split of another extent, as TVM replays it") {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/split_replay.json");
    const auto vectors = nlohmann::json::parse(file);
    CHECK(vectors["cases"].size() == 55);
    for (const auto& c : vectors["cases"]) {
        CAPTURE(c.dump());
        step_list list;
        list.steps.push_back(split_step{1, 0, 12345, c["lengths"].get<std::vector<std::int64_t>>(), true}); // the recorded extent does not count
        const auto r = replay(copy_of(c["extent"]), list);
        REQUIRE(!r.fault);
        const auto& s = r.state.stages()[1];
        CHECK(s.var_of(0).extent == c["outer"].get<std::int64_t>());
        CHECK(r.inexact == !c["exact"].get<bool>());
        CHECK(r.inexact == c["guard_needed"].get<bool>());
        CHECK(r.oversized == c["factor_exceeds_extent"].get<bool>());
        CHECK(r.padded_ratio == doctest::Approx(c["padded_ratio"].get<double>()));
        CHECK(std::get<split_step>(r.steps.steps[0]).extent == c["extent"].get<std::int64_t>());
    }
}

TEST_CASE("replay: a fault for each reason") {
    const auto copy = copy_of(64);
    CHECK(fault_of(copy, R"([["SP", 1, 0, 64, [8], 1], ["AN", 1, 1, 2]])") == "none");
    CHECK(fault_of(copy, R"([["SP", 2, 0, 64, [8], 1]])") == "stage"); // one stage less than where it comes from
    CHECK(fault_of(copy, R"([["SP", 0, 0, 64, [8], 1]])") == "stage"); // an input
    CHECK(fault_of(copy, R"([["AN", 1, 1, 3]])") == "stage");
    CHECK(fault_of(copy, R"([["CA", 1, 7, 0]])") == "stage");
    CHECK(fault_of(copy, R"([["FU", 1, [0, 1]]])") == "stage");
    CHECK(fault_of(copy, R"([["AN", 1, 0, 3], ["AN", 1, 0, 2]])") == "annotation");
    CHECK(fault_of(copy, R"([["RE", 1, [0, 1]]])") == "order");
    CHECK(fault_of(copy, R"([["CI", 1]])") == "placement"); // the result
    CHECK(fault_of(copy, R"([["FSP", 1, 0, 0, 2]])") == "step");
    CHECK(fault_of(copy, R"([["SP", 1, 0, 64, [8], 1], ["SPP", 1, 0, 8, [2], 1]])") == "step"); // of another compiler
    CHECK(fault_of(copy, R"([["SP", 1, 0, 64, [1099511627776, 1099511627776], 1]])") == "step");
    CHECK(fault_of(copy, R"([["SP", 1, 0, 64, [8], 1], ["AN", 1, 0, 5], ["AN", 1, 1, 6]])") == "target"); // blockIdx.x, threadIdx.x
    CHECK(fault_of(copy, R"([["AN", 1, 7, 6]])") == "target");
    const auto conv = testing_dags::conv2d_nhwc_bias_relu(8, 8, 4, 4, 3, 1, 1);
    const auto last = std::to_string(conv->ops.size() - 1), before = std::to_string(conv->ops.size() - 2);
    CHECK(fault_of(conv, "[[\"CA\", " + before + ", " + last + ", 0], [\"FU\", " + last + ", [0, 1]]]") == "fusion"); // a stage hangs on the first
    CHECK(fault_of(copy, R"([["SP", 1, 0, 64, [0], 1]])") == "bounds");                                               // a length that was not chosen
}

TEST_CASE("replay: a split that follows one from the outside splits from the inside, as in TVM") {
    const auto dag = testing_dags::conv2d_nhwc_bias_relu(14, 14, 32, 48, 3, 1, 1);
    const auto last = dag->ops.size() - 1, conv = dag->ops.size() - 4;
    step_list list;
    list.steps.push_back(split_step{std::int64_t(last), 3, 48, {2, 4, 2}, false});
    list.steps.push_back(follow_split_step{std::int64_t(conv), 3, 0, 2});
    const auto r = replay(dag, list);
    REQUIRE(!r.fault);
    const auto extents = [&](std::size_t s) {
        std::vector<std::int64_t> out;
        for (std::size_t i = 3; i < r.state.stages()[s].iters.size() && !r.state.stages()[s].var_of(i).reduce; ++i)
            out.push_back(r.state.stages()[s].var_of(i).extent);
        return out;
    };
    CHECK(extents(last) == std::vector<std::int64_t>{2, 4, 2, 3});
    CHECK(extents(conv) == std::vector<std::int64_t>{3, 2, 8});
}

TEST_CASE("replay: rfactor leaves reduce axes that are not split before those of the split, as in TVM") {
    const auto dag = testing_dags::conv2d_nhwc_bias_relu(14, 14, 32, 48, 3, 1, 1);
    const auto conv = std::int64_t(dag->ops.size() - 4);
    step_list list;
    list.steps.push_back(split_step{conv, 6, 32, {4}, true}); // rc, behind ry and rx
    list.steps.push_back(reorder_step{conv, {0, 1, 2, 3, 6, 4, 5, 7}});
    list.steps.push_back(rfactor_step{conv, 7, 4});
    const auto r = replay(dag, list);
    REQUIRE_MESSAGE(!r.fault, r.why.detail);
    std::vector<std::int64_t> extents;
    for (const auto& axis : r.state.dag().ops[std::size_t(conv)].reduce_axes) extents.push_back(axis.extent);
    CHECK(extents == std::vector<std::int64_t>{3, 3, 8});
}

TEST_CASE("replay: what a log may insert is bounded") {
    const auto copies = [](std::size_t count, const std::string& scope) {
        step_list list;
        for (std::size_t i = 0; i < count; ++i) list.steps.push_back(cache_read_step{std::int64_t(i), scope, {std::int64_t(i) + 1}});
        return replay(copy_of(64), list);
    };
    CHECK(!copies(500, "s").fault);
    CHECK(copies(600, "s").fault);
    CHECK(copies(2, std::string(3000, 's')).fault);
}

TEST_CASE("replay: a split that pads the layout of a constant is told, of the axes that index it alone") {
    const auto dag = testing_dags::matmul(20, 50, 30); // C(i, j) = sum of A(i, k) B(k, j); B is a constant
    const auto pads = [&](const std::string& steps) {
        const auto r = replay(dag, steps_of(steps));
        REQUIRE(!r.fault);
        CHECK(replay_cache(dag).check(steps_of(steps)) == static_cast<const replay_verdict&>(r));
        return r.padded_layout;
    };
    CHECK(pads(R"([["SP", 2, 1, 50, [16], 1]])"));                           // j
    CHECK(pads(R"([["SP", 2, 2, 30, [4], 1]])"));                            // k
    CHECK(!pads(R"([["SP", 2, 1, 50, [10], 1]])"));                          // divides
    CHECK(!pads(R"([["SP", 2, 0, 20, [16], 1]])"));                          // i, which B does not have
    CHECK(pads(R"([["SP", 2, 1, 50, [10], 1], ["SP", 2, 2, 10, [4], 1]])")); // a part of j
    CHECK(pads(R"([["FU", 2, [0, 1]], ["SP", 2, 0, 1000, [16], 1]])"));      // i and j as one loop
    CHECK(!pads(R"([["SP", 2, 1, 50, [10], 1], ["SP", 2, 0, 20, [16], 1]])"));
}

TEST_CASE("replay: a list that was cut off applies or has a fault, and the cache says the same") {
    const auto small = testing_dags::conv2d_nhwc_bias_relu(14, 14, 32, 48, 3, 1, 1),
               large = testing_dags::conv2d_nhwc_bias_relu(28, 20, 24, 96, 3, 1, 1);
    const auto space = space_of(small);
    random_engine rng(9);
    replay_cache cache(large);
    std::size_t applied = 0, faults = 0;
    for (int i = 0; i < 20; ++i) {
        auto list = space.realise(sample_path(space, rng).values);
        REQUIRE(list);
        while (!list->steps.empty()) {
            if (i % 2 == 0) list->steps.pop_back();
            else list->steps.erase(list->steps.begin()); // what remains names loops that were never made
            const auto r = replay(large, *list);
            CHECK(cache.check(*list) == static_cast<const replay_verdict&>(r));
            CHECK(r.fault.has_value() == !r.why.detail.empty());
            ++(r.fault ? faults : applied);
        }
    }
    CHECK(applied > 20);
    CHECK(faults > 20);
}

TEST_CASE("replay: a schedule on its own kernel is exact, on another shape of its class it applies") {
    const auto small = testing_dags::conv2d_nhwc_bias_relu(14, 14, 32, 48, 3, 1, 1),
               large = testing_dags::conv2d_nhwc_bias_relu(28, 20, 24, 96, 3, 1, 1);
    const auto space = space_of(small);
    random_engine rng(5);
    std::size_t padded = 0;
    for (int i = 0; i < 200; ++i) {
        const auto list = space.realise(sample_path(space, rng).values);
        REQUIRE(list);
        const auto own = replay(small, *list);
        REQUIRE(!own.fault);
        CHECK(!own.inexact);
        CHECK(own.padded_ratio == 1);
        const auto other = replay(large, *list);
        if (other.fault) FAIL_CHECK(other.why.detail);
        else {
            const auto again = replay(large, other.steps);
            CHECK(!again.fault);
            CHECK(again.steps == other.steps);
        }
        padded += other.inexact ? 1 : 0;
    }
    CHECK(padded > 20);
    const auto dense = testing_dags::matmul(64, 64, 64);
    const auto list = space.realise(sample_path(space, rng).values);
    CHECK(replay(dense, *list).fault);
}

TEST_CASE("replay cache: what replay says, of every schedule on every kernel, whatever the lengths") {
    const std::vector<testing_dags::dag_ptr> dags{testing_dags::conv2d_nhwc_bias_relu(14, 14, 32, 48, 3, 1, 1),
                                                  testing_dags::conv2d_nhwc_bias_relu(28, 20, 24, 96, 3, 1, 1),
                                                  testing_dags::conv2d_nhwc_bias_relu(7, 7, 1, 1, 1, 1, 0),
                                                  testing_dags::matmul(64, 48, 512),
                                                  testing_dags::matmul(2, 2, 4096),
                                                  testing_dags::softmax({16}, 128)};
    std::vector<replay_cache> caches;
    for (const auto& dag : dags) caches.emplace_back(dag);
    random_engine rng(3);
    std::size_t faults = 0, inexact = 0, factored = 0, checked = 0;
    const auto compare = [&](const step_list& list) {
        for (std::size_t d = 0; d < dags.size(); ++d) {
            const replay_verdict expected = replay(dags[d], list), got = caches[d].check(list);
            if (expected == got) continue;
            FAIL_CHECK("kernel " << d << ": expected " << (expected.fault ? to_string(*expected.fault) : "none") << ", " << expected.padded_ratio
                                 << "; got " << (got.fault ? to_string(*got.fault) : "none") << ", " << got.padded_ratio << "; " << to_json(list));
        }
    };
    for (std::size_t d = 0; d < dags.size(); ++d) {
        ansor_options options;
        options.num_cores = 8;
        const auto space = ansor_space::create(dags[d], options);
        REQUIRE(space);
        for (int i = 0; i < 300; ++i) {
            auto list = *space->realise(sample_path(*space, rng).values);
            compare(list);
            for (int change = 0; change < 3; ++change) { // the same structures with other numbers, some of them wrong
                for (auto& step : list.steps)
                    if (auto* split = std::get_if<split_step>(&step))
                        for (auto& l : split->lengths) {
                            const auto dice = rng.below(40);
                            if (dice == 0) l = static_cast<std::int64_t>(rng.below(3)) - 1;
                            else if (dice == 1) l = std::int64_t{1} << rng.below(63);
                            else if (dice < 20) l = 1 + static_cast<std::int64_t>(rng.below(70));
                        }
                compare(list);
            }
            const auto own = caches[d].check(list);
            faults += own.fault ? 1 : 0;
            inexact += own.inexact ? 1 : 0;
            factored += std::any_of(list.steps.begin(), list.steps.end(), [](const auto& s) { return std::holds_alternative<rfactor_step>(s); });
            ++checked;
        }
    }
    CHECK(faults > 0);
    CHECK(faults < checked);
    CHECK(inexact > 0);
    CHECK(factored > 0);
}

TEST_CASE("replay cache: the example") {
    const auto dag = copy_of(64);
    const std::vector<step_list> schedules{steps_of(R"([["SP", 1, 0, 64, [8], 1]])"), steps_of(R"([["SP", 2, 0, 64, [8], 1]])"),
                                           steps_of(R"([["SP", 1, 0, 64, [4], 1]])")};
    std::vector<step_list> usable;
#include <snippets/loopnest/lower/replay_cache.hpp.1.inc>
    CHECK(usable == std::vector<step_list>{schedules[0], schedules[2]});
    CHECK(cache.structures() == 2);
}

TEST_CASE("replay cache: TVM's steps that the space does not make") {
    const auto dag = testing_dags::conv2d_nhwc_bias_relu(14, 14, 32, 48, 3, 1, 1);
    const auto last = std::to_string(dag->ops.size() - 1), conv = std::to_string(dag->ops.size() - 3);
    replay_cache cache(dag);
    for (const std::string steps :
         {"[\"SP\", $L, 3, 48, [2, 4, 2], 1], [\"FSP\", $C, 3, 0, 1]", "[\"SP\", $L, 3, 48, [2, 4, 2], 1], [\"FSP\", $C, 3, 0, 3]",
          "[\"SP\", $L, 3, 48, [2, 4, 2], 1], [\"FSP\", $C, 3, 0, 4]", "[\"SP\", $L, 3, 48, [2, 4, 2], 0], [\"FSP\", $C, 3, 0, 2]",
          "[\"SP\", $L, 3, 48, [5, 3], 1], [\"SP\", $L, 2, 14, [4, 2], 1], [\"FFSP\", $C, 3, [0, 1], 1, 1], [\"FFSP\", $C, 1, [0, 1], 0, 0]",
          "[\"FU\", $L, [0, 1, 2]], [\"SP\", $L, 0, 196, [9, 5], 1]", "[\"CHW\", $C, \"local\"], [\"SP\", $C, 3, 48, [7], 1]",
          "[\"CHR\", 0, \"shared\", [1]], [\"SP\", 1, 1, 14, [4], 1], [\"CA\", 1, 2, 0], [\"SP\", 1, 1, 14, [4], 1]",
          "[\"SP\", $L, 3, 48, [4], 1], [\"AN\", $L, 0, 5], [\"AN\", $L, 9, 5]",
          "[\"CA\", $C, $L, 2], [\"SP\", $C, 1, 14, [4], 1], [\"CR\", $C], [\"SP\", $C, 5, 32, [5], 1]",
          "[\"SP\", $L, 3, 48, [4], 1], [\"SPP\", $L, 1, 14, [2], 1]"}) {
        std::string text = "[" + steps + "]";
        for (const auto& [name, number] : {std::pair("$L", last), std::pair("$C", conv)})
            for (auto at = text.find(name); at != std::string::npos; at = text.find(name)) text.replace(at, 2, number);
        CAPTURE(text);
        auto list = steps_of(text);
        const replay_verdict expected = replay(dag, list);
        for (int again = 0; again < 2; ++again) CHECK(cache.check(list) == expected);
    }
    CHECK(cache.structures() == 11);
}

#ifdef AUGUR_HAS_ZLIB
namespace {

/// A kernel of the real logs that has a DAG, and some of its schedules.
struct logged_kernel {
    testing_dags::dag_ptr dag;
    std::string hash; ///< that TVM gives the DAG without its extents
    class_levels levels;
    std::vector<step_list> some;
};

std::map<std::string, logged_kernel> logged_kernels() {
    std::map<std::string, logged_kernel> out;
    for (const auto& [key, text] : logged_dags::read()) {
        auto parsed = parse_tvm_dag(text, key);
        if (!parsed) continue;
        auto levels = class_levels_of(parsed->dag);
        out[key] = {testing_dags::share(std::move(parsed->dag)), logged_dags::hash_of(key), std::move(levels), {}};
    }
    return out;
}

/// Replays each good record on its own kernel.
struct replaying_sink {
    std::map<std::string, logged_kernel>* kernels;
    std::vector<step_list> steps{};
    std::size_t tasks = 0, records = 0, faults = 0, inexact = 0, other_extents = 0, other_verdicts = 0;
    std::map<std::string, replay_cache> caches{};

    std::uint32_t task(const logged_task&) { return static_cast<std::uint32_t>(tasks++); }
    std::uint32_t step(const step_list& one) { return steps.push_back(one), static_cast<std::uint32_t>(steps.size() - 1); }
    result<void> add(const record_view& r) {
        const auto found = kernels->find(r.task.workload_key);
        if (r.measured.status != outcome::ok || found == kernels->end()) return {};
        step_list list;
        for (const auto n : r.steps) list.steps.push_back(steps[n].steps.front());
        const auto replayed = replay(found->second.dag, list);
        auto& cache = caches.try_emplace(r.task.workload_key, found->second.dag).first->second;
        other_verdicts += cache.check(list) == replayed ? 0 : 1;
        faults += replayed.fault ? 1 : 0;
        inexact += replayed.inexact ? 1 : 0;
        other_extents += replayed.steps == list ? 0 : 1;
        if (records++ % 50 == 0 && found->second.some.size() < 10) found->second.some.push_back(std::move(list));
        return {};
    }
};

} // namespace

TEST_CASE("replay: real logs replay on their own kernels as they were recorded, and within a DAG on every shape" MAY_SKIP) {
    const auto folder = logs::data() / "ansor-x86-24core";
    if (logs::data().empty() || !std::filesystem::is_directory(folder)) SKIP_CASE("no data (AUGUR_DATA)");
    auto kernels = logged_kernels();
    std::vector<std::string> names{"alexnet", "resnet_18"};
    std::size_t records = 5200 + 15359;
#ifdef AUGUR_TEST_SLOW
    names = {"alexnet", "densenet_121", "googlenet", "mobilenet_v2", "resnet_152", "resnet_18", "resnet_50", "resnext_50", "vgg_16"};
    records = 250684;
#endif
    std::size_t seen = 0;
    for (const auto& name : names) {
        auto source = byte_source::open((folder / (name + ".jsonl.gz")).string());
        REQUIRE(source);
        replaying_sink sink{&kernels};
        ansor_log_reader<replaying_sink> reader(name, sink);
        REQUIRE(reader.read(*source));
        CHECK(sink.faults == 0);
        CHECK(sink.inexact == 0);
        CHECK(sink.other_extents == 0);
        CHECK(sink.other_verdicts == 0);
        seen += sink.records;
    }
    CHECK(seen == records);

    // pairs of kernels of a class. Two filters: by the structure of the kernels, and by that of the schedule on the kernel, whose first member is replayed
    struct counts {
        std::size_t kept = 0, kept_refused = 0, dropped = 0, dropped_accepted = 0;
        void add(bool keeps, bool refused) {
            ++(keeps ? kept : dropped);
            kept_refused += keeps && refused ? 1 : 0;
            dropped_accepted += !keeps && !refused ? 1 : 0;
        }
        [[nodiscard]] double precision() const { return 1 - static_cast<double>(kept_refused) / static_cast<double>(kept); }
        [[nodiscard]] double recall() const {
            const auto accepted = static_cast<double>(kept - kept_refused);
            return accepted / (accepted + static_cast<double>(dropped_accepted));
        }
    };
    std::map<std::string, replay_cache> caches;
    std::map<std::string, std::map<std::uint64_t, bool>> replayed_before; // by kernel and structure: refused
    std::size_t other_verdicts = 0, of_one_dag = 0, refused_of_one_dag = 0, of_one_prefix = 0, refused_of_one_prefix = 0, structures = 0;
    counts by_kernels, by_schedule;
    for (const auto& [key, from] : kernels)
        for (const auto& list : from.some)
            for (const auto& [other, to] : kernels) {
                const class_agreement agreement(from.levels, to.levels);
                if (key == other || !agreement.at(class_level::prefix)) continue;
                if (!agreement.at(class_level::operations)) {
                    ++of_one_prefix;
                    refused_of_one_prefix += replay(to.dag, list).fault ? 1 : 0;
                    continue;
                }
                const auto replayed = replay(to.dag, list);
                other_verdicts += caches.try_emplace(other, to.dag).first->second.check(list) == replayed ? 0 : 1;
                const bool refused = replayed.fault.has_value();
                if (from.hash == to.hash) {
                    ++of_one_dag;
                    refused_of_one_dag += refused ? 1 : 0;
                } else {
                    by_kernels.add(agreement.at(class_level::structure), refused);
                }
                const auto [known, fresh] = replayed_before[other].try_emplace(loopnest::detail::step_skeleton(list).hash(), refused);
                if (fresh) ++structures;
                else by_schedule.add(!known->second, refused);
            }
    MESSAGE(of_one_dag << " replays within a DAG; between DAGs " << by_kernels.kept << " of equal structure, of others "
                       << by_kernels.dropped_accepted << " of " << by_kernels.dropped << " apply, recall " << by_kernels.recall()
                       << "; by the structure of the schedule " << by_schedule.kept << " kept and " << by_schedule.dropped << " not, after "
                       << structures << " replays: precision " << by_schedule.precision() << ", recall " << by_schedule.recall() << "; "
                       << refused_of_one_prefix << " of " << of_one_prefix << " refused between classes that share a prefix");
    CHECK(refused_of_one_prefix < of_one_prefix); // the stages in common are the first ones
    CHECK(of_one_dag > 0);
    CHECK(refused_of_one_dag == 0);
    CHECK(by_kernels.kept > 0);
    CHECK(by_kernels.kept_refused == 0);
    CHECK(by_schedule.kept > 0);
    CHECK(by_schedule.dropped > 0);
    CHECK(by_schedule.precision() >= 0.99);
    CHECK(by_schedule.recall() >= 0.99);
    CHECK(other_verdicts == 0);
}
#endif
