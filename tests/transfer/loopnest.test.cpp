// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules transferred between kernels of the embedded compiler: what they compute, by words and by steps.
#include <augur/transfer/schedule_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/dag_class.hpp>
#include <augur/loopnest/lower/interpret.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/lower/replay.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/walk.hpp>
#include <doctest/doctest.h>

#include "../loopnest/kernels.hpp"

using namespace augur;
using namespace augur::loopnest;

namespace {

using kernel_pairs = std::vector<std::pair<std::string, std::string>>;

/// Pairs of one class: shapes that share factors, shapes that do not, and a window or a stride that differs.
const kernel_pairs& pairs_of_a_class() {
    static const kernel_pairs pairs{
        {"dense:m=8,n=12,k=16,bias,relu", "dense:m=5,n=16,k=7,bias,relu"},
        {"dense:m=1,n=24,k=32", "dense:m=6,n=10,k=9"},
        {"batch_matmul:b=2,m=6,n=8,k=4", "batch_matmul:b=3,m=4,n=5,k=9"},
        {"conv2d:h=6,w=6,c=4,f=8,k=3,pad=1,bias,relu", "conv2d:h=7,w=5,c=3,f=10,k=3,pad=1,bias,relu"},
        {"conv2d:h=6,w=6,c=4,f=8,k=3,pad=1,bias,relu", "conv2d:h=9,w=9,c=2,f=4,k=5,stride=2,pad=2,bias,relu"},
        {"conv2d:h=6,w=6,c=8,f=8,k=1,bias,add,relu", "conv2d:h=5,w=7,c=6,f=12,k=1,bias,add,relu"},
        {"conv2d:h=6,w=6,c=4,f=8,k=3,pad=1,layout=nchw,bias", "conv2d:h=8,w=4,c=6,f=6,k=3,pad=1,layout=nchw,bias"},
        {"depthwise_conv2d:h=8,w=8,c=8,k=3,pad=1,bias,relu6", "depthwise_conv2d:h=7,w=7,c=6,k=3,stride=2,pad=1,bias,relu6"},
        {"max_pool2d:h=8,w=8,c=4,k=2,stride=2", "max_pool2d:h=9,w=9,c=3,k=3,stride=2,pad=1"},
        {"global_avg_pool2d:h=4,w=4,c=8", "global_avg_pool2d:h=7,w=7,c=5"},
        {"softmax:m=6,n=8", "softmax:m=5,n=12"},
        {"layer_norm:m=6,n=8", "layer_norm:m=4,n=15"},
    };
    return pairs;
}

/// A kernel that has schedules, and one that takes them.
struct direction {
    std::string from, to;
    std::shared_ptr<const compute_dag> source_dag, target_dag;
    ansor_space source, target;
};

/// Calls `f` with each pair, both ways.
/// @param evolved  the space of the sources has all options, those that only mutations reach among them
template <class F>
void for_both_ways(const kernel_pairs& pairs, bool evolved, const F& f) {
    for (const auto& pair : pairs)
        for (const bool back : {false, true}) {
            const std::string &from = back ? pair.second : pair.first, &to = back ? pair.first : pair.second;
            CAPTURE(from);
            CAPTURE(to);
            const auto source_dag = dag_of(from), target_dag = dag_of(to);
            ansor_options options;
            options.num_cores = 2;
            const auto target = ansor_space::create(target_dag, options);
            options.evolved = evolved;
            const auto source = ansor_space::create(source_dag, options);
            REQUIRE(source);
            REQUIRE(target);
            f(direction{from, to, source_dag, target_dag, *source, *target});
        }
}

double error_of(const loop_state& state, const std::vector<std::vector<float>>& inputs, const std::vector<std::vector<float>>& want) {
    const auto kernel = lower(state);
    if (!kernel) FAIL(kernel.error().detail);
    const auto got = interpret(*kernel, inputs);
    if (!got) FAIL(got.error().detail);
    REQUIRE(got->size() == want.size());
    double worst = 0;
    for (std::size_t o = 0; o < want.size(); ++o) worst = std::max(worst, largest_error((*got)[o], want[o]));
    return worst;
}

} // namespace

TEST_CASE("transfer: what a transferred schedule computes, 200 for each pair, both ways") {
    std::size_t by_words = 0, by_steps = 0, refused = 0, guarded = 0;
    for_both_ways(pairs_of_a_class(), true, [&](const direction& d) {
        const auto levels = class_levels_of(*d.target_dag);
        transfer::schedule_pool pool;
        random_engine rng(fnv1a64(d.from));
        std::vector<step_list> schedules;
        for (int i = 0; i < 200; ++i) {
            auto point = sample_path(d.source, rng).values;
            if (i % 2 == 1) { // any of the options, as in TVM's logs
                point.clear();
                while (const auto next = d.source.next(point)) point.push_back(rng.below(next->options));
            }
            REQUIRE(pool.add(d.from, class_levels_of(*d.source_dag), "", d.source, point, 1));
            schedules.push_back(*d.source.realise(point));
        }
        const auto [inputs, want] = evaluated(*d.target_dag);
        const auto found = pool.adapt(d.target, levels, "", {class_level::operations, false, false});
        CHECK(found.points.size() + found.count(transfer::refusal::duplicate) == 200);
        for (const auto& p : found.points) {
            const auto state = d.target.state(p.point);
            REQUIRE(state);
            CHECK(error_of(*state, inputs, want) <= 2e-5);
            ++by_words;
        }
        const bool same_structure = levels.at(class_level::structure) == class_levels_of(*d.source_dag).at(class_level::structure);
        for (std::size_t i = 0; i < schedules.size(); i += 4) { // the paper's way
            const auto replayed = replay(d.target_dag, schedules[i]);
            if (replayed.fault) {
                CHECK(!same_structure);
                ++refused;
                continue;
            }
            const auto list = to_json(schedules[i]);
            CAPTURE(list);
            CHECK(error_of(replayed.state, inputs, want) <= 2e-5);
            ++by_steps;
            guarded += replayed.inexact ? 1 : 0;
        }
    });
    MESSAGE(by_words << " by words, " << by_steps << " by steps, of which " << guarded << " need guards; " << refused << " refused");
    CHECK(by_words > 2000);
    CHECK(guarded > 200);
}

TEST_CASE("transfer: between classes that share a prefix, the stages in common keep their decisions and the result is right") {
    const kernel_pairs pairs{
        {"conv2d:h=6,w=6,c=4,f=8,k=3,pad=1,bias,relu", "conv2d:h=6,w=6,c=4,f=8,k=3,pad=1,bias,add,relu"}, // classes E and F of the paper
        {"conv2d:h=6,w=6,c=8,f=8,k=1", "conv2d:h=5,w=7,c=6,f=12,k=1,bias,relu"},
        {"depthwise_conv2d:h=8,w=8,c=8,k=3,pad=1,bias", "depthwise_conv2d:h=7,w=7,c=6,k=3,stride=2,pad=1,bias,relu6"},
        {"dense:m=8,n=12,k=16,bias", "dense:m=5,n=16,k=7,bias,gelu"},
    };
    std::size_t points = 0, kept = 0;
    for_both_ways(pairs, false, [&](const direction& d) {
        transfer::schedule_pool pool;
        random_engine rng(fnv1a64(d.from));
        for (int i = 0; i < 100; ++i) REQUIRE(pool.add(d.from, class_levels_of(*d.source_dag), "", d.source, sample_path(d.source, rng).values, 1));
        const auto levels = class_levels_of(*d.target_dag);
        CHECK(pool.adapt(d.target, levels, "", {class_level::operations, false, false}).count(transfer::refusal::other_class) == 100);
        const auto found = pool.adapt(d.target, levels, "", {class_level::prefix, false, false});
        CHECK(found.points.size() + found.count(transfer::refusal::duplicate) == 100);
        const auto [inputs, want] = evaluated(*d.target_dag);
        for (const auto& p : found.points) {
            CHECK(p.level == class_level::prefix);
            const auto state = d.target.state(p.point);
            REQUIRE(state);
            CHECK(error_of(*state, inputs, want) <= 2e-5);
            ++points;
            // by hand: a decision of a stage that the source has takes its words where they are legal, another one the preferred value
            const auto words = describe_point(d.target, p.point);
            REQUIRE(words);
            const auto& given = pool.schedules()[p.source].words;
            auto cursor = d.target.cursor();
            for (std::size_t i = 0; i < p.point.size(); ++i) {
                const auto named =
                    std::find_if(given.decisions.begin(), given.decisions.end(), [&](const auto& e) { return e.name == words->decisions[i].name; });
                if (named == given.decisions.end()) CHECK(p.point[i] == cursor.next()->preferred);
                else if (const auto value = cursor.nearest(given.words(*named))) {
                    CHECK(p.point[i] == *value);
                    ++kept;
                }
                cursor.choose(p.point[i]);
            }
        }
    });
    MESSAGE(points << " points, " << kept << " decisions of the sources");
    CHECK(points > 300);
    CHECK(kept > 4 * points);
}
