// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/model/ensemble.hpp>
#include <augur/search/annealing.hpp>
#include <augur/search/bayes/bayesian_search.hpp>
#include <augur/search/descent.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>
#include <augur/search/surrogate_search.hpp>
#include <augur/space/describe.hpp>
#ifdef AUGUR_HAS_XGBOOST
#include <augur/xgboost/autotvm_trees.hpp>
#include <augur/xgboost/trees_online.hpp>
#endif

#include "adaptation.hpp"
#include "chameleon.hpp"
#include "console.hpp"

namespace {

using examples::recorded_model;
using examples::recorded_strategy;

#ifdef AUGUR_HAS_XGBOOST
using knobs = examples::parameter_columns;

template <class Rows>
using autotvm_trees = augur::autotvm_trees<augur::configuration, augur::tuning_archive, Rows>;

/// AutoTVM has both losses; that of a regression predicts speeds.
bool is_regression(std::string_view search) { return search == "chameleon" || search.find(":reg") != std::string_view::npos; }

augur::autotvm_trees_options tree_options(std::string_view search) {
    augur::autotvm_trees_options o;
    o.trees = augur::autotvm_tree_options(search == "sa+xgb:64" ? 64 : 16);
    o.trees.objective = is_regression(search) ? augur::tree_objective::squared_error : augur::tree_objective::rank_pairwise;
    return o;
}
template <class Rows>
recorded_model model_of(autotvm_trees<Rows> trees, std::string_view search) {
    recorded_model out(std::move(trees));
    return is_regression(search) ? out.predicting_by_scores() : out;
}
recorded_model online_trees(const examples::recording& on, std::uint64_t seed) {
    auto o = augur::few_sample_trees();
    o.seed = seed;
    o.column_share = 0.8; // few columns, each of which matters
    return recorded_model(augur::trees_online<augur::configuration, augur::tuning_archive, knobs>(knobs(on.archive), o));
}

std::vector<augur::observation<augur::configuration, augur::tuning_archive>> history_of(const device_records& on, std::size_t t) {
    std::vector<augur::observation<augur::configuration, augur::tuning_archive>> out;
    for (const auto& [task, record] : history(on, t)) {
        const auto& archive = on.tasks[task].archive;
        out.push_back({&archive, &archive.records[record].point, &archive.records[record].measured});
    }
    return out;
}
#endif

/// Trees that learned from the other tasks.
bool knows_by_trees(std::string_view search) { return search.ends_with(":history"); }

/// How the name of a search ends, by what its networks read.
constexpr std::array<std::string_view, encodings> encoding_ends{"", ":plain", ":knobs"};
/// A search without that end.
std::string_view base_of(std::string_view search) {
    return search.substr(0, search.size() - encoding_ends[static_cast<std::size_t>(encoding_of(search))].size());
}
bool is_mean(std::string_view search) { return search.ends_with(":mean"); }
bool is_supervised(std::string_view search) { return search.starts_with("bo+supervised"); }

/// MetaTune's cost model, which says beside its score, the sum of a speed and a logarithm, what speed it expects.
class adapting_network {
public:
    using cost_model = metatune::cost_model<augur::configuration, augur::tuning_archive, recorded_loops>;
    static constexpr augur::score_meaning meaning = cost_model::meaning;

    adapting_network(const recorded_loops& loops, const metatune::network<float>& start, const metatune::fine_tuning_options& options)
        : model_(loops, start, options), loops_(loops), start_(start) {}

    augur::result<void> score(const augur::tuning_archive& t, std::span<const augur::configuration> batch, std::span<float> scores) {
        return model_.score(t, batch, scores);
    }
    augur::result<void> update(recorded_model::records records) { return model_.update(records); }
    /// to[i] <- speed of batch[i] times its chance to be valid; -infinity without loops.
    augur::result<void> speeds(const augur::tuning_archive& t, std::span<const augur::configuration> batch, std::span<float> to) {
        const auto* const adapted = model_.adapted(t);
        const auto& net = adapted != nullptr ? *adapted : start_;
        metatune::task_samples samples;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            to[i] = -std::numeric_limits<float>::infinity();
            auto loops = loops_(t, batch[i]);
            if (!loops || !metatune::check(*loops, net.config)) continue;
            samples.candidates.push_back(*std::move(loops));
            places.push_back(i);
        }
        const auto predicted = examples::predict_speeds(net, samples);
        for (std::size_t k = 0; k < places.size(); ++k) to[places[k]] = static_cast<float>(predicted[k]);
        return {};
    }

private:
    cost_model model_;
    recorded_loops loops_;
    metatune::network<float> start_;
};

/// MetaTune's model of a task, which begins with what it learned from other tasks: of the training of the seed, or the mean of all trainings, each of
/// which adapts on its own; the mean predicts no speeds.
recorded_model network_model(const device_records& on, std::size_t t, std::string_view search, std::uint64_t seed) {
    const learned_graphs& learned = on.as(encoding_of(search));
    std::span<const template_networks> networks = learned.networks.find(form_of(on, t))->second;
    if (!is_mean(search)) networks = networks.subspan((seed - 1) % networks.size(), 1);
    metatune::fine_tuning_options o; // as meta-training prepares for
    o.inner_rate = network_plan{}.inner.inner_rate;
    o.inner_steps = network_plan{}.inner.inner_steps;
    o.steps = 0;
    o.frozen = false;
    std::vector<adapting_network> members;
    for (const auto& n : networks) members.emplace_back(learned.graphs, is_supervised(search) ? n.supervised : n.meta, o);
    return is_mean(search) ? recorded_model(augur::ensemble(std::move(members))) : recorded_model(std::move(members.front()));
}

/// Bayesian optimisation whose prior mean is a model that chooses the first points, too.
augur::bayesian_options with_prior() {
    augur::bayesian_options o;
    o.initial = 0;
    o.prior_mean = true;
    return o;
}

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

/// What is fastest in other tasks, as the nearest recorded points of this one; at most `most`.
std::vector<augur::decision_vector> transferred_points(const device_records& on, std::size_t t, std::size_t most) {
    std::vector<augur::decision_vector> out;
    for (const auto& [other, record] : fastest_known(on, t, most)) {
        const auto& from = on.tasks[other];
        const auto point = from.space.decide(from.archive.records[record].point);
        if (!point) continue;
        const auto words = augur::describe_point(from.space, *point);
        if (!words) continue;
        auto adapted = augur::adapt_point(on.tasks[t].space, *words).path.values;
        if (out.size() < most && std::find(out.begin(), out.end(), adapted) == out.end()) out.push_back(std::move(adapted));
    }
    return out;
}

} // namespace

std::vector<std::string> search_names() {
    std::vector<std::string> out{"random", "descent", "bo"};
#ifdef AUGUR_HAS_XGBOOST
    for (const char* name : {"sa+xgb:64", "sa+xgb", "sa+xgb:reg", "sa+xgb:loops", "sa+xgb:history", "sa+xgb:reg:history", "chameleon",
                             "evolution+trees", "bo+xgb:history"})
        out.emplace_back(name);
#endif
    for (const char* name :
         {"bo+supervised", "bo+supervised:mean", "evolution+meta", "rl+meta", "rl+meta:plain", "bo+meta:faithful", "bo+meta:faithful:plain",
          "bo+meta:mean", "bo+meta:plain", "bo+meta:knobs", "bo+supervised:knobs", "tlm", "transferred", "bo+meta"})
        out.emplace_back(name);
    return out;
}

bool uses_network(std::string_view search) { return search.find("+meta") != std::string_view::npos || is_supervised(search); }
bool uses_language(std::string_view search) { return search == "tlm"; }
encoding encoding_of(std::string_view search) {
    for (std::size_t e = 1; e < encodings; ++e)
        if (search.ends_with(encoding_ends[e])) return static_cast<encoding>(e);
    return encoding::super_graph;
}

std::size_t distinct_seeds(std::string_view search, std::size_t seeds, std::size_t trainings) {
    if (is_mean(search)) return trainings > 1 ? 1 : 0;
    if (search == "bo+xgb:history") return 1; // its trees have one seed
    const auto base = base_of(search);
    return base == "bo+meta" || base == "bo+supervised" ? trainings : seeds;
}

bool applies(const device_records& on, std::size_t t, std::string_view search) {
    const bool loops = t < on.loops.known.size() && on.loops.known[t];
    if (search == "sa+xgb:loops") return loops;
#ifdef AUGUR_HAS_XGBOOST
    if (knows_by_trees(search) && !(loops && history(on, t).size() >= augur::autotvm_trees_options{}.history_rows)) return false;
#endif
    if (search == "transferred" || uses_language(search)) return on.replayed < on.tasks.size() && !history(on, t).empty();
    return !uses_network(search) || on.as(encoding_of(search)).graphs.templates.contains(form_of(on, t));
}

std::string learned_by(std::string_view search, const device_records& on, std::size_t t) {
    if (!uses_network(search) && !uses_language(search) && !knows_by_trees(search) && search != "transferred") return {};
    return examples::text_of("%016llx", static_cast<unsigned long long>(hash_records(on, history(on, t))));
}

std::size_t first_round_of(std::string_view search, std::size_t wanted) { return search == "random" || search == "sa+xgb:64" ? 0 : wanted; }

std::optional<model_errors> errors_of(const examples::search_curve& curve, double optimum) {
    if (curve.expected.empty()) return std::nullopt;
    metatune::task_samples measured;
    std::vector<double> predicted, constant;
    for (const examples::expected_trial& e : curve.expected) {
        measured.seconds.push_back(e.seconds);
        constant.push_back(optimum / e.least);
        predicted.push_back(e.speed * constant.back());
    }
    const auto of_model = examples::judge_speeds(std::move(predicted), 1, measured, optimum);
    const auto of_constant = examples::judge_speeds(std::move(constant), 1, measured, optimum);
    return model_errors{of_model.mse, of_model.mse_fast, of_constant.mse, of_constant.mse_fast};
}

examples::search_curve run_search(const device_records& on, std::size_t t, std::string_view named, const search_budget& budget, std::uint64_t seed) {
    const std::string_view search = base_of(named);
    const examples::recording& task = on.tasks[t];
    augur::tuning_options options;
    options.trials = budget.trials;
    options.round = on.exhaustive ? 8 : 16; // so few points matter more where a search ends after 64
    options.first_round = budget.first_round;
    options.batch = 64;
    options.seed = seed;
    // All searches of a seed begin with the same points, uniform among the recorded ones: a walk through the space is not uniform there. They are those of
    // the first round, or what Bayesian optimisation draws.
    const auto run = [&]<class Strategy>(Strategy strategy, recorded_model model = {}) {
        std::size_t given = options.round;
        if (options.first_round > 0) given = (std::min)(given, options.first_round);
        if constexpr (std::is_same_v<Strategy, augur::random_search>) given = options.trials;
        if constexpr (std::is_same_v<Strategy, augur::bayesian_search<>>) given = (std::max)(given, strategy.options().initial);
        return run_recorded(task, recorded_strategy(augur::initial_points<Strategy>(std::move(strategy), uniform_points(task, given, seed), true)),
                            std::move(model), options);
    };
    if (search == "descent") {
        augur::descent_options o;
        o.restart = true;
        return run(augur::coordinate_descent(o));
    }
    if (search == "bo") return run(augur::bayesian_search<>{});
    if (search == "transferred")
        return run_recorded(task, recorded_strategy(augur::initial_points<augur::random_search>({}, transferred_points(on, t, options.trials), true)),
                            {}, options);
    if (uses_language(search)) return run_recorded(task, language_search(on, t, seed), {}, options);
    if (search == "evolution+meta") {
        augur::evolutionary_options o;
        o.population = 256;
        return run_recorded(task, recorded_strategy(augur::evolutionary<>(o)), network_model(on, t, named, seed), options);
    }
    if (search == "rl+meta") // an agent is rewarded with speeds
        return run_recorded(task, recorded_strategy(examples::chameleon{}), network_model(on, t, named, seed).scoring_by_speeds(), options);
    if (search == "bo+meta:faithful")
        return run_recorded(task, recorded_strategy(augur::surrogate_search(augur::bayesian_search<>{})), network_model(on, t, named, seed), options);
#ifdef AUGUR_HAS_XGBOOST
    const auto of_knobs = [&] { return model_of(autotvm_trees<knobs>(knobs(task.archive), tree_options(search)), search); };
    if (search == "sa+xgb:64") { // AutoTVM's plan
        options.round = 64;
        return run(augur::simulated_annealing<>{}, of_knobs());
    }
    if (search == "sa+xgb" || search == "sa+xgb:reg") return run(augur::simulated_annealing<>{}, of_knobs());
    if (search == "sa+xgb:loops")
        return run(augur::simulated_annealing<>{}, model_of(autotvm_trees<loop_columns>(on.loops, tree_options(search)), search));
    if (knows_by_trees(search)) { // the trees of the other tasks choose the first points, too
        autotvm_trees<loop_columns> trees(on.loops, tree_options(search));
        if (auto learned = trees.learn_history(history_of(on, t)); !learned) {
            examples::search_curve out;
            out.failed = learned.error();
            return out;
        }
        recorded_model knowing = model_of(std::move(trees), search);
        if (search.starts_with("sa+")) return run_recorded(task, recorded_strategy(augur::simulated_annealing<>{}), std::move(knowing), options);
        return run_recorded(task, recorded_strategy(augur::bayesian_search<>(with_prior())), std::move(knowing), options);
    }
    if (search == "chameleon") return run(examples::chameleon{}, of_knobs());
    if (search == "evolution+trees") {
        augur::evolutionary_options o;
        o.population = 256;
        return run(augur::evolutionary<>(o), online_trees(task, seed));
    }
#endif
    if (uses_network(search)) // the networks choose the first points, too
        return run_recorded(task, recorded_strategy(augur::bayesian_search<>(with_prior())), network_model(on, t, named, seed), options);
    return run(augur::random_search{});
}
