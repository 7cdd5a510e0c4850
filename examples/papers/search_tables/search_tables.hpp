// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_HPP
#define AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_HPP

/// @file
/// Searches compared on recorded measurements: what is replayed, the searches, the results, the tables.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/metatune/cost_model.hpp>
#include <augur/metatune/training.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <augur/tlm/weights_file.hpp>

#include "cleaning.hpp"
#include "executor.hpp"
#include "keyed_results.hpp"
#include "recorded.hpp"

// ---- recordings.cpp

/// AutoTVM's features of the recorded configurations of a device: the rows of the loops of a configuration, one after the other, then its values that
/// are no part of a split. Models `row_features_of<configuration, tuning_archive>`; a configuration of a template without a nest has no row.
struct loop_columns {
    std::shared_ptr<const std::unordered_map<std::uint64_t, std::vector<float>>> rows; ///< by task and configuration
    std::size_t width = 0;
    std::vector<bool> known; ///< by task: its configurations have rows

    [[nodiscard]] std::size_t columns() const { return width; }
    augur::result<void> operator()(const augur::tuning_archive& task, const augur::configuration& c, std::span<float> row) const;
};

namespace metatune = augur::metatune;

/// What MetaTune's networks read of a configuration.
enum class encoding : std::uint8_t {
    super_graph, ///< its loops, in the slots of the super-graph of its template
    plain,       ///< its loops as a graph of their own
    knobs        ///< no loops, only the values of its parameters: one row, which every template has
};
inline constexpr std::size_t encodings = 3;

/// The rows of recorded configurations. Models `metatune::loop_rows_of`.
struct recorded_loops {
    std::map<std::string, std::string, std::less<>>
        templates; ///< of each template that was learned from: text of its super-graph, "plain" or "knobs"
    std::shared_ptr<const std::unordered_map<std::uint64_t, metatune::loop_rows>> rows; ///< by task and configuration

    augur::result<metatune::loop_rows> operator()(const augur::tuning_archive& task, const augur::configuration& c) const;
};

/// MetaTune's networks of one template, trained alike on the same records.
struct template_networks {
    metatune::network<float> supervised, meta;
};

/// The rows of a device's replayed records and of those of `history`, and the networks that read them.
struct learned_graphs {
    recorded_loops graphs;
    std::map<std::string, std::vector<template_networks>, std::less<>> networks; ///< by template, then by training; after `learn_networks`
};

/// Language models of one template, trained alike on the same records, by training.
using template_languages = std::vector<std::shared_ptr<const augur::tlm::language_model>>;

/// Tasks of one device whose records are replayed.
struct device_records {
    std::string device;       ///< REPLAYED, or REPLAYED:LEARNED:.., the names of logs
    bool exhaustive = false;  ///< every point of the space is recorded
    std::size_t replayed = 0; ///< the first of the tasks; the others are only learned from
    std::vector<examples::recording> tasks;
    std::vector<std::vector<augur::autotvm_config>> configs; ///< by task, then as its records; empty for Kernel Tuner
    examples::cleaning cleaned;
    std::size_t all_tasks = 0; ///< in the logs that are replayed
    loop_columns loops;
    std::array<learned_graphs, encodings> learned;                    ///< by encoding; without rows until somebody wants them (`recorded_loops_of`)
    std::map<std::string, template_languages, std::less<>> languages; ///< by template; after `learn_languages`

    [[nodiscard]] learned_graphs& as(encoding e) { return learned[static_cast<std::size_t>(e)]; }
    [[nodiscard]] const learned_graphs& as(encoding e) const { return learned[static_cast<std::size_t>(e)]; }
};

/// Template of a task: the key of its workload up to the first comma.
std::string_view form_of(const device_records& on, std::size_t t);
/// What is known before task `t` of a device is searched, of the tasks with the same template: those that are only learned from, or, if there are none,
/// all others. About 200 records of each, in equal distances. Task and index of the record.
std::vector<std::pair<std::size_t, std::size_t>> history(const device_records& on, std::size_t t);
/// Hash of some records of a device, tasks and latencies included, that goes on from `hash`.
std::uint64_t hash_records(const device_records& on, const std::vector<std::pair<std::size_t, std::size_t>>& records, std::uint64_t hash = 0);

/// Which tasks of a device with AutoTVM logs are replayed, of those with 200 points or more.
struct task_choice {
    std::size_t tasks = 6;    ///< at most
    std::uint64_t seed = 1;   ///< of the draw
    bool any_template = true; ///< false: where others are learned from, only tasks whose loops are known
    bool by_hash = false;     ///< no draw: convolutions with `held_out_by_hash`; no other task is replayed, and none of them is learned from
};
/// Is the key a convolution, and the FNV-1a-64 of its numbers 0 modulo 5? The numbers do not depend on how the key writes them ("SAME" or a number), so
/// a task is held out on all devices.
bool held_out_by_hash(std::string_view workload);
/// The numbers of a convolution; of a template whose loops are not known its key.
std::string numbers_of(std::string_view workload);

/// The devices of a data folder (`autotvm/`, `kernel-tuner/`). A device is named REPLAYED or REPLAYED:LEARNED:.., each a log's name up to the first dot,
/// or up to `.jsonl`. All tasks of LEARNED are kept but the convolutions that are replayed; the one kernel of Kernel Tuner is learned from other devices.
/// Errors: those of the readers; not_found (nothing is there).
augur::result<std::vector<device_records>> read_devices(const std::string& data, const std::vector<std::string>& devices, const task_choice& choice,
                                                        examples::executor& threads);

/// A made-up device with two tasks, for `--quick`.
device_records made_up_device();

/// The features of all records of a device.
loop_columns loop_columns_of(const device_records& device);
/// The rows of the records that are replayed and of their `history`. Columns have mean 0 and deviation 1 over the latter. Loops are known of some
/// templates only (`parse_autotvm_convolution`).
/// Errors: those of the nests and of the super-graph; shape_mismatch, tasks of one template with other parameters
augur::result<recorded_loops> recorded_loops_of(const device_records& device, encoding as);

// ---- networks.cpp

/// Sizes of the trainings of MetaTune's networks. Both begin with about `steps` of supervised training, in whole epochs; then each gets as many more.
struct network_plan {
    std::size_t steps = 1000, batch = 128;
    std::size_t shots = 16, queries = 32, meta_tasks = 4, cold = 2; ///< of a step of meta-training
    double learning_rate = 1e-3;
    augur::nn::maml_options inner{1e-2, 5};
};

/// Trains the networks of each template that was learned from, `trainings` times with the seeds 1, 2, .., which give the start weights and the order
/// of the samples. Trainings run in parallel, and are the same for any number of threads. Networks are kept in `work`, and read from there by the next
/// call with the same records and plan.
/// Errors: those of the trainings and the files; interrupted.
augur::result<void> learn_networks(std::span<device_records> devices, const network_plan& plan, std::size_t trainings, const std::string& work,
                                   examples::executor& threads);

// ---- languages.cpp

/// A task as a prompt: the numbers of a convolution, else its key.
std::string prompt_of(const device_records& on, std::size_t t);
/// The fastest of what is known before task `t` is searched: up to `best` of each other task, with the fastest of each in turn.
std::vector<std::pair<std::size_t, std::size_t>> fastest_known(const device_records& on, std::size_t t, std::size_t best);

/// Sizes of the trainings of language models, of 2 layers of 128.
struct language_plan {
    std::size_t sentences = 1000, epochs = 4; ///< sampled from the space of each task that is learned from
    std::size_t best = 16, fine_epochs = 100; ///< measured sentences of each of these tasks, and epochs of fine-tuning on them
};
/// Trains the language models of each template that was learned from, `trainings` times, as `learn_networks` does; they are not kept.
/// Errors: those of `tlm::sample_corpus` and `tlm::train`; interrupted.
augur::result<void> learn_languages(std::span<device_records> devices, const language_plan& plan, std::size_t trainings, examples::executor& threads);
/// A search whose points a language model writes, which is fine-tuned on the fastest after 16, 32, .. trials.   pre: `of` has models of its template
examples::recorded_strategy language_search(const device_records& on, std::size_t t, std::uint64_t seed);

// ---- searches.cpp

std::vector<std::string> search_names();
/// Does a search need `learn_networks`?
bool uses_network(std::string_view search);
/// Does a search need `learn_languages`?
bool uses_language(std::string_view search);
/// What its networks read.
encoding encoding_of(std::string_view search);
/// How many of the seeds 1, 2, .. are searches of their own: where nothing but the networks is drawn, one for each training; of their mean one, and
/// none if it is that of one training.
std::size_t distinct_seeds(std::string_view search, std::size_t seeds, std::size_t trainings);
/// Whether a search can be run on a task: those with features of loops need a template whose loops are known, those with a history 500 records of
/// other tasks of that template, those with a network one of that template.
bool applies(const device_records& on, std::size_t t, std::string_view search);
/// Names the records that a search learns from before it begins, the `history` of task `t`: they depend on the data and on the drawn tasks.
/// Empty: it learns from none.
std::string learned_by(std::string_view search, const device_records& on, std::size_t t);
/// The first round of a search for which `wanted` is asked: 0 for those that have a plan of their own, or none.
std::size_t first_round_of(std::string_view search, std::size_t wanted);
/// Trials of a search, and of its first round (`tuning_options::first_round`).
struct search_budget {
    std::size_t trials = 128, first_round = 0;
};
/// Runs a search on task `t` of a device. The other tasks of the device are the history of the searches that know one. Seed s takes the networks of
/// training 1 + (s - 1) mod the number of trainings.
examples::search_curve run_search(const device_records& on, std::size_t t, std::string_view search, const search_budget& budget, std::uint64_t seed);

/// MetaTune's MSE and MSE(D), as in `examples::adaptation_scores`: of what a model predicted of the trials of a search, and of a constant in its place,
/// the best speed that it had learned from.
using model_errors = std::array<double, 4>;
/// None where the model predicts no speeds.
std::optional<model_errors> errors_of(const examples::search_curve& curve, double optimum);

// ---- results.cpp

/// A search of a task with one seed.
struct search_result {
    std::string device, task, search;
    std::uint64_t seed = 0;
    std::size_t trials = 0;                                      ///< that were asked for
    std::size_t first_round = 0;                                 ///< after `first_round_of`
    std::size_t trainings = 1;                                   ///< of the networks
    double optimum = 0, proposing = 0;                           ///< seconds
    std::vector<double> best;                                    ///< after each trial
    double measuring = std::numeric_limits<double>::quiet_NaN(); ///< seconds that the trials took when they were recorded; NaN: not known
    std::optional<model_errors> errors{};
    std::string learned{}; ///< `learned_by`; empty also in older files, so that a search that learns from records is run again
};
/// Device, task, search, first round, seed and what it learned from.
using result_key = std::tuple<std::string, std::string, std::string, std::size_t, std::uint64_t, std::string>;
inline result_key key_of(const search_result& r) { return {r.device, r.task, r.search, r.first_round, r.seed, r.learned}; }

/// A line of the file of results: a search.
struct result_format {
    using key_type = result_key;
    using value_type = search_result;
    static constexpr const char* program = "search_tables";
    static void write(augur::json_writer& out, const result_key& key, const search_result& r);
    static void read(augur::json_reader& in, result_key& key, search_result& r);
};
/// The results of a work folder.
using result_file = examples::keyed_results<result_format>;
/// Errors: those of `result_file::open`; invalid_argument (a result with another number of trials, or one of a search with a network and another
/// number of trainings).
augur::result<result_file> open_results(std::string path, std::size_t trials, std::size_t trainings);

// ---- tables.cpp

using text_table = std::vector<std::vector<std::string>>;
/// By device and search: the share of the best after 8, 16, 32, 64 and 128 trials, and the trials to 0.95 of it, geometric means over the tasks of the
/// geometric means over the seeds; a search that did not get there counts `trials`, and the share of those is told.
/// pre: `results` has one first round and one set of learned records a search, here and below
text_table share_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                       const std::vector<std::string>& searches, std::size_t trials);
/// MetaTune's Table 3: minutes of a device's searches, sums over the tasks of the means over the seeds. Measuring is what the log says that building and
/// running each candidate took, one after the other; beside it comes what strategy and model took on this machine.
text_table minutes_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                         const std::vector<std::string>& searches, std::size_t trials);
/// MetaTune's Table 4: the errors of the models that predict speeds, means over the tasks of the means over the seeds.
text_table error_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                       const std::vector<std::string>& searches, std::size_t trials);
/// How much better `search` is than `other`, with intervals over all tasks of all given devices.
text_table ratio_table(const std::map<result_key, search_result>& results, const std::vector<std::string>& devices,
                       const std::vector<std::string>& searches, std::size_t trials);

#endif
