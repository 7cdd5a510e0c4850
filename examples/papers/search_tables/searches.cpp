// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include <augur/core/random_engine.hpp>

#include <augur/search/annealing.hpp>
#include <augur/search/bayes/bayesian_search.hpp>
#include <augur/search/descent.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>
#ifdef AUGUR_HAS_XGBOOST
#include <augur/xgboost/autotvm_trees.hpp>
#include <augur/xgboost/trees_online.hpp>
#endif

namespace {

using examples::recorded_model;
using examples::recorded_strategy;

struct prepared {
    recorded_strategy strategy;
    recorded_model model;
};

#ifdef AUGUR_HAS_XGBOOST
using rows = examples::parameter_columns;

recorded_model ranking_trees(const examples::recording& on, std::uint32_t plan, augur::tree_objective loss) {
    augur::autotvm_trees_options o;
    o.trees = augur::autotvm_tree_options(plan);
    o.trees.objective = loss;
    return recorded_model(augur::autotvm_trees<augur::configuration, augur::tuning_archive, rows>(rows(on.archive), o));
}
recorded_model online_trees(const examples::recording& on, std::uint64_t seed) {
    auto o = augur::few_sample_trees();
    o.seed = seed;
    o.column_share = 0.8; // few columns, each of which matters
    return recorded_model(augur::trees_online<augur::configuration, augur::tuning_archive, rows>(rows(on.archive), o));
}
#endif

/// `n` of the recorded points, all if there are not so many.
std::vector<augur::decision_vector> uniform_points(const examples::recording& on, std::size_t n, std::uint64_t seed) {
    std::vector<std::size_t> order(on.space.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    augur::random_engine rng(seed);
    rng.shuffle(std::span(order));
    std::vector<augur::decision_vector> out;
    for (std::size_t i = 0; i < order.size() && i < n; ++i) out.push_back(on.space.point(order[i]));
    return out;
}

} // namespace

std::vector<std::string> search_names() {
#ifdef AUGUR_HAS_XGBOOST
    return {"random", "descent", "sa+xgb", "sa+xgb:64", "evolution+trees", "bo"};
#else
    return {"random", "descent", "bo"};
#endif
}

examples::search_curve run_search(const device_records& on, std::size_t t, std::string_view search, std::size_t trials, std::uint64_t seed) {
    const examples::recording& task = on.tasks[t];
    augur::tuning_options options;
    options.trials = trials;
    options.round = 16;
    options.batch = 16;
    options.seed = seed;
    // All searches of a seed begin with the same points, uniform among the recorded ones: a walk through the space is not uniform there.
    const auto run = [&]<class Strategy>(Strategy strategy, recorded_model model = {}) {
        const std::size_t given = std::is_same_v<Strategy, augur::random_search> ? trials : options.round;
        return run_recorded(task, recorded_strategy(augur::initial_points<Strategy>(std::move(strategy), uniform_points(task, given, seed), true)),
                            std::move(model), options);
    };
    if (search == "descent") {
        augur::descent_options o;
        o.restart = true;
        return run(augur::coordinate_descent(o));
    }
    if (search == "bo") return run(augur::bayesian_search<>{});
#ifdef AUGUR_HAS_XGBOOST
    if (search == "sa+xgb") return run(augur::simulated_annealing<>{}, ranking_trees(task, 16, augur::tree_objective::rank_pairwise));
    if (search == "sa+xgb:64") { // AutoTVM's plan
        options.round = 64;
        return run(augur::simulated_annealing<>{}, ranking_trees(task, 64, augur::tree_objective::rank_pairwise));
    }
    if (search == "evolution+trees") {
        augur::evolutionary_options o;
        o.population = 256;
        return run(augur::evolutionary<>(o), online_trees(task, seed));
    }
#endif
    return run(augur::random_search{});
}
