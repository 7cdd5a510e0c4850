// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLM_OFFLINE_HPP
#define AUGUR_EXAMPLES_PAPERS_TLM_OFFLINE_HPP

/// @file
/// TLM (Zhai et al. 2024): how well the probability that a language model gives to a schedule ranks recorded schedules, without a measurement.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/top_k.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/schedule/ansor_options.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/gpt2_session.hpp>
#include <augur/tlm/gpt2.hpp>
#include <augur/tlm/train/trainer.hpp>
#include <augur/tlm/vocabulary.hpp>

#include "executor.hpp"
#include "keyed_results.hpp"

namespace tlm_offline {

namespace tlm = augur::tlm;
using augur::decision_vector;
using augur::loopnest::ansor_space;

inline constexpr auto form = tlm::sentence_form::compact; ///< of all sentences

/// What the flags say.
struct wishes {
    std::string data, work, numbers = "factors", vocabulary = "all";
    std::vector<std::size_t> counts{1000, 10000, 40000}; ///< sentences that a model learns from
    tlm::gpt2_config config;
    tlm::training_options training;
    std::size_t fastest = 10, tasks = 40, records = 256, least_records = 64, samples = 64, threads = 0;
    std::uint64_t seed = 1;
    bool quick = false;
};

inline augur::error stopped() { return {augur::errc::interrupted, "stopped; with --work FILE the same command goes on"}; }

// ---- tasks.cpp

/// A task and the latencies of its records; the points of the search space that they are take time, so they are found when they are needed.
struct recorded_task {
    std::string name, prompt;
    std::shared_ptr<const augur::loopnest::compute_dag> dag;
    augur::loopnest::ansor_options options;
    bool tested = false; ///< occurs in a test network
    std::vector<double> seconds;
    std::function<augur::result<decision_vector>(const ansor_space&, std::size_t)> point; ///< of a record
};

/// The tasks of the logs that have a DAG, in the order in which they come. The records of a task are those of all networks that have it.
/// Errors: not_found: no logs; those of the files
augur::result<std::vector<recorded_task>> read_tasks(const wishes& w, examples::executor& threads);
/// Tasks of the embedded compiler with sampled points, for `--quick`.   Errors: those of the kernels and spaces
augur::result<std::vector<recorded_task>> made_up_tasks(const wishes& w);

// ---- material.cpp

/// A point to learn from.
struct lesson {
    std::size_t task = 0;
    decision_vector point;
    double seconds = 0;
};

/// A task to be judged by, its points in an order that does not depend on their latencies.
struct judged_task {
    ansor_space space;
    std::string name, prompt;
    std::vector<decision_vector> points;
    std::vector<double> seconds;
    std::vector<double> lengths;              ///< words of the sentences
    std::set<std::string, std::less<>> words; ///< of them all, each once
};

struct material {
    std::vector<std::string> prompts;               ///< of all tasks
    std::vector<std::optional<ansor_space>> spaces; ///< of the tasks that are learned from
    std::vector<lesson> lessons;                    ///< in random order, so that the first n are a sample
    std::vector<judged_task> tested;
};

/// Numbers of the latencies, the least first; equal ones in their order.
std::vector<std::size_t> fastest_first(std::span<const double> seconds);
/// Draws what is learned and what is judged, and finds the points of the search spaces.
/// Errors: not_found: one of them is empty; interrupted
augur::result<material> prepare(const wishes& w, const std::vector<recorded_task>& tasks, examples::executor& threads);
/// The first lessons as sentences, the same on any number of threads.   Errors: those of `tlm::add_sentence` and `dataset_builder::merge`
augur::result<augur::dataset> corpus_of(const material& m, std::size_t count, examples::executor& threads);

// ---- scoring.cpp

/// The tokens of a point behind its prompt, the end included, and the choices among them. Without tokens: the vocabulary cannot tell it.
struct told_point {
    struct choice {
        std::size_t at;          ///< of the token
        std::size_t first, last; ///< its legal tokens, in `legal`
    };
    std::vector<tlm::token> tokens, legal;
    std::vector<choice> choices;
};
/// Errors: those of the walk
augur::result<told_point> tell(const ansor_space& space, const decision_vector& point, const tlm::vocabulary& words);

/// Scores of the points of a task: the sum of the log-probabilities of their choices among the legal tokens, and that of all their tokens among all
/// tokens.
using both_scores = std::array<std::vector<double>, 2>;
/// -infinity where the vocabulary cannot tell the point.   Errors: those of the model
augur::result<both_scores> log_probabilities(const tlm::frozen_gpt2& model, std::span<const tlm::token> prompt, std::span<const told_point> points);

/// How well scores rank: top-1 and top-5 (geometric mean over the tasks of the best latency over the least of the picks), the same as ratios of sums,
/// median of Spearman's correlation with the speed, and mean score of the fastest and of the middle twentieth of each task.
using ranking = std::array<double, 7>;

/// Adds up how scores rank tasks.
class judgement {
public:
    /// Equal scores rank in the order of the points, which is random. Scores that are not finite are in no mean.
    void add(const judged_task& task, const std::vector<double>& scores);
    /// pre: a task was added
    [[nodiscard]] ranking numbers() const;

private:
    std::array<std::vector<double>, 2> shares_; ///< top-1 and top-5 of each task
    std::array<std::vector<double>, 2> means_;  ///< of the fastest and the middle
    augur::top_k_score sums_{std::vector<std::size_t>{1, 5}};
    std::vector<double> correlations_;
};

// ---- training.cpp

/// What a model has, all as numbers that can be kept.
struct model_result {
    std::array<double, 6> model{}; ///< sentences, tasks, words, million parameters, share of legal sentences, points that it cannot tell
    std::array<ranking, 2> by{};   ///< as `both_scores`
};
/// A model of the first `count` lessons.
/// @param checkpoint  file from which an interrupted training goes on; empty: none
/// Errors: limit: a sentence is longer than the context; interrupted; those of the training and of the model
augur::result<model_result> train_and_judge(const wishes& w, const material& m, std::size_t count, const std::string& checkpoint,
                                            examples::executor& threads);

// ---- results.cpp

/// Of all that decides the result of a model.
std::string identity_of(const wishes& w, const material& m, std::size_t count);

/// A line of the file of results: a model.
struct result_format {
    using key_type = std::string; ///< `identity_of`
    using value_type = model_result;
    static constexpr const char* program = "tlm_offline";
    static void write(augur::json_writer& out, const std::string& identity, const model_result& one);
    static void read(augur::json_reader& in, std::string& identity, model_result& one);
};
/// The results of finished models, in a file that the same command goes on with.
using result_file = examples::keyed_results<result_format>;

} // namespace tlm_offline

#endif
