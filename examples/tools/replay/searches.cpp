// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay.hpp"

#include <augur/search/bayes/bayesian_search.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#ifdef AUGUR_HAS_XGBOOST
#include <augur/xgboost/trees_online.hpp>
#endif

std::vector<std::string> search_names() {
#ifdef AUGUR_HAS_XGBOOST
    return {"random", "bayesian", "evolutionary+trees"};
#else
    return {"random", "bayesian"};
#endif
}

search_curve run_search(const recording& on, std::string_view name, const augur::tuning_options& options, augur::t4_results* trials) {
#ifdef AUGUR_HAS_XGBOOST
    if (name == "evolutionary+trees") {
        augur::evolutionary_options o;
        o.population = 256;
        auto trees = augur::few_sample_trees();
        trees.seed = options.seed;
        trees.column_share = 0.8; // few columns, each of which matters
        augur::trees_online<augur::configuration, augur::tuning_archive, examples::parameter_columns> model(examples::parameter_columns(on.archive),
                                                                                                            trees);
        return run_recorded(on, examples::recorded_strategy(augur::evolutionary<>(o)), examples::recorded_model(std::move(model)), options, trials);
    }
#endif
    return run_recorded(
        on, name == "bayesian" ? examples::recorded_strategy(augur::bayesian_search<>{}) : examples::recorded_strategy(augur::random_search{}), {},
        options, trials);
}
