// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_METATUNE_TABLES_HPP
#define AUGUR_EXAMPLES_PAPERS_METATUNE_TABLES_HPP

/// @file
/// MetaTune (Ryu, Sung 2021): how well its network adapts to a task from a few measurements, on recorded AutoTVM logs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/metatune.hpp>
#include <augur/tlp/model.hpp>

#include "adaptation.hpp"
#include "cleaning.hpp"
#include "console.hpp"
#include "executor.hpp"
#include "keyed_results.hpp"

namespace metatune_tables {

namespace metatune = augur::metatune;

// ---- tasks.cpp

/// What a model reads of a candidate.
enum class model_input : std::uint8_t {
    super_graph, ///< its loops in the slots of a super-graph of all tasks
    plain,       ///< its loops as a graph of their own
    primitives   ///< the rows of TLP: its knobs
};
inline constexpr std::size_t model_inputs = 3;

/// Configurations of a task that ran, each once.
struct table_task {
    std::string name;               ///< key of the workload
    metatune::task_samples samples; ///< for TLP a row is a knob of the configuration, and every row is present
    double least = 0;               ///< seconds of the best configuration of the log, which need not be among the samples
};

/// A log to learn from and a log to be judged by.
struct log_pair {
    std::string_view device, learn, judge; ///< file `autotvm/DEVICE.NETWORK.jsonl.gz`
    std::string_view form;                 ///< the template whose tasks are used
};
inline constexpr std::array<log_pair, 4> log_pairs{{{"cuda_gtx1650", "vgg-16", "resnet-18", "conv2d_nchw.cuda"},
                                                    {"cuda_rtx3080", "vgg-16", "resnet-18", "conv2d_nchw.cuda"},
                                                    {"x86_amd_3700x", "mobilenet", "resnet-18", "conv2d_NCHWc.x86"},
                                                    {"x86_i7_3770", "mobilenet", "resnet-18", "conv2d_NCHWc.x86"}}};

/// Tasks of a device. The settings are chosen on `held_out`, which nothing is trained on; `test` is used once.
struct device_tasks {
    std::string device;
    std::size_t features = 0; ///< of a loop
    augur::tlp::config tlp;   ///< for `model_input::primitives`
    std::vector<table_task> train, held_out, test;
    std::size_t shared = 0; ///< tasks of the first log that are left out because the second one has them
    std::size_t copied = 0; ///< records that are left out
};

/// Sizes of the sampled tasks.
struct sample_sizes {
    std::size_t train = 200, test = 520; ///< configurations of a task
    std::uint64_t seed = 1;              ///< of the draw
};
/// Reads the two logs of a device. Every fourth task of the first one is held out.
/// Errors: those of the readers, of the graphs and of the vocabulary; invalid_argument (fewer than 3 tasks to learn from, none to be judged by).
augur::result<device_tasks> read_device(const std::string& data, const log_pair& logs, const sample_sizes& sizes, model_input input,
                                        examples::executor& threads);
/// Made-up loops whose lengths have an effect that differs from task to task, for `--quick`. The super-graph has a slot that none of them fills.
device_tasks made_up_device(model_input input = model_input::super_graph);

// ---- adaptation.cpp

/// How a network gets its weights, or the constant that needs none.
enum class start : std::uint8_t { constant_mean, constant_high, random, pretrained, first_order, second_order, reptile };
inline constexpr std::array<std::string_view, 7> start_names{
    "constant, mean of the points", "constant, the best point",   "random weights",       "supervised",
    "meta-trained, first order",    "meta-trained, second order", "meta-trained, Reptile"};
inline std::string name_of(start s) { return std::string(start_names[static_cast<std::size_t>(s)]); }

/// A choice that the paper leaves open or shows the effect of, made otherwise.
struct network_variant {
    std::string_view name = "usual";
    model_input input = model_input::super_graph; ///< `primitives`: TLP in place of the graph network
    bool masked = true, nested = false;           ///< see `metatune::config`
    bool frozen = false;                          ///< meta-training and adaptation change the head only, as in the paper
};
inline constexpr std::array<network_variant, 6> variants{{{},
                                                          {.name = "plain", .input = model_input::plain},
                                                          {.name = "tlp", .input = model_input::primitives},
                                                          {.name = "unmasked", .masked = false},
                                                          {.name = "nested", .nested = true},
                                                          {.name = "frozen", .frozen = true}}};

/// Sizes of the trainings. The supervised and the meta-trained networks begin with `epochs` of pre-training; then each gets as many more steps.
struct training_plan {
    std::size_t epochs = 100, batch = 128;
    std::size_t meta_tasks = 4, queries = 20; ///< of a step; the shots are the points to adapt to
    double learning_rate = 1e-3;
    augur::nn::maml_options inner{1e-2, 5};
    network_variant network;
    std::uint64_t seed = 1;
};

/// Trains for adaptation to `shots` points. The networks by `start`; those of the constants are not used.   Errors: those of the trainings.
augur::result<std::vector<metatune::network<float>>> train(const device_tasks& on, std::size_t shots, const training_plan& plan,
                                                           examples::executor& threads);

using scores = examples::adaptation_scores;
struct adaptation {
    std::size_t shots = 5, seeds = 3;
    metatune::fine_tuning_options fine_tuning;
};
/// The scores of each task, means over the draws of the points; after a request to stop they are of no use.   Errors: those of `fine_tune`
augur::result<std::vector<scores>> judge(start from, const metatune::network<float>& net, const std::vector<table_task>& tasks, const adaptation& how,
                                         examples::executor& threads);

inline constexpr std::array<std::size_t, 4> tried_steps{0, 20, 100, 300}; ///< of Adam, when a network adapts
/// What the tables show of a start.
struct adapted_row {
    std::array<scores, tried_steps.size()> held_out; ///< means over the tasks held out, by the steps; of a constant 0
    std::vector<scores> test;                        ///< by task, with the steps that have the least error on the tasks held out
};
using adapted_rows = std::map<start, adapted_row>;
scores mean_of(const std::vector<scores>& of);
/// Trains for adaptation to `how.shots` points and judges all starts; by `judged(start, tasks, steps of Adam) -> result<std::vector<scores>>`.
/// Errors: those of `judged`; interrupted.
template <class Judged>
augur::result<adapted_rows> adapted_by(const device_tasks& on, Judged&& judged);
/// The same with the graph network.   Errors: those of `train` and `judge`; interrupted.
augur::result<adapted_rows> adapt_all(const device_tasks& on, const training_plan& plan, adaptation how, examples::executor& threads);

template <class Judged>
augur::result<adapted_rows> adapted_by(const device_tasks& on, Judged&& judged) {
    adapted_rows out;
    for (std::size_t at = 0; at < start_names.size(); ++at) {
        const auto from = static_cast<start>(at);
        adapted_row& row = out[from];
        std::size_t best = 0;
        for (std::size_t i = 0; from >= start::random && i < tried_steps.size(); ++i) {
            const augur::result<std::vector<scores>> held_out = judged(from, on.held_out, tried_steps[i]);
            if (!held_out) return held_out.error();
            row.held_out[i] = mean_of(*held_out);
            if (row.held_out[i].mse < row.held_out[best].mse) best = i;
        }
        augur::result<std::vector<scores>> test = judged(from, on.test, tried_steps[best]);
        if (!test) return test.error();
        if (examples::stop_requested()) return augur::error{augur::errc::interrupted, "stopped before the tables were whole"};
        row.test = *std::move(test);
    }
    return out;
}

// ---- tlp.cpp

/// `adapt_all` with `tlp::config::small` and the same steps, batches and rates: what meta-training adds to another differentiable model.
/// Errors: limit (the training diverged); interrupted.
augur::result<adapted_rows> adapt_all_tlp(const device_tasks& on, const training_plan& plan, const adaptation& how, examples::executor& threads);

// ---- results.cpp

/// Names all that `adapt_all` depends on.
std::string identity_of(const device_tasks& on, const training_plan& plan, const adaptation& how);

/// A line of the file of results: a call of `adapt_all`.
struct result_format {
    struct value_type {
        std::string title; ///< for people
        adapted_rows rows;
    };
    using key_type = std::string; ///< `identity_of`
    static constexpr const char* program = "metatune_tables";
    static void write(augur::json_writer& out, const std::string& identity, const value_type& of);
    static void read(augur::json_reader& in, std::string& identity, value_type& of);
};
/// The rows of a work folder.
using result_file = examples::keyed_results<result_format>;

} // namespace metatune_tables

#endif
