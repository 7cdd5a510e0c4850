// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_OPTIONS_HPP
#define AUGUR_SESSION_OPTIONS_HPP

/// @file
/// Options and callbacks of a tuning session, and the names of its models.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <augur/loopnest/run/compiler.hpp>
#include <augur/search/task_scheduler.hpp>
#include <augur/workload/class_levels.hpp>
#include <augur/workload/networks.hpp>

namespace augur::inline v0 {

/// The names of the models that can guide a search; any other name is the path of a weights file of TLP or MetaTune, whose format says which.
///
/// | name     | guides by                                                                                        | component          |
/// |----------|--------------------------------------------------------------------------------------------------|--------------------|
/// | `none`   | no model: random search, unless `strategy` is `descent` or `bayes` or a `language` is given      |                    |
/// | `tlp`    | a TLP that learns from what is measured                                                          | tlp                |
/// | `crop`   | Crop's prediction from the loops; learns nothing; needs `session_options::machine`               | crop               |
/// | `trees`  | boosted trees on features of the loops that learn from what is measured                          | xgboost            |
/// | `hybrid` | Crop's prediction, corrected by such trees; needs `session_options::machine`                     | crop, xgboost      |
/// | `nest`   | such trees, pre-trained on the records of other kernels; needs `known` or `transfer_from`        | xgboost            |
/// | `auto`   | one of these, chosen by what is known (`choose_search`)                                          |                    |
inline constexpr std::array<std::string_view, 7> session_models{"none", "tlp", "crop", "trees", "hybrid", "nest", "auto"};

/// The names of the strategies that propose the candidates of a search.
///
/// | name           | proposes                                                                                     | component     |
/// |----------------|----------------------------------------------------------------------------------------------|---------------|
/// | `evolutionary` | what evolves under the model's scores (`evolutionary`)                                       |               |
/// | `annealing`    | what AutoTVM's simulated annealing finds under the model's scores (`simulated_annealing`)    |               |
/// | `descent`      | neighbours of the fastest schedule so far (`coordinate_descent`); needs no model             |               |
/// | `bayes`        | what a Gaussian process expects most of (`bayesian_search`); needs no model, one that is     | search_bayes  |
/// |                | there is its prior mean                                                                      |               |
inline constexpr std::array<std::string_view, 4> session_strategies{"evolutionary", "annealing", "descent", "bayes"};

/// One search over all kernels of a session.
struct session_search {
    std::string model = "auto";    ///< one of `session_models`, or the path of the weights with which TLP or MetaTune begins
    std::string weights;           ///< path of weights of TLP or MetaTune that the model "auto" may choose; empty: none
    std::string strategy;          ///< one of `session_strategies`; empty: `evolutionary`, without a model random search
    std::size_t descend_after = 0; ///< trials of a kernel after which its candidates are those of `descent`, whatever proposed before; 0: never
    /// Folder of a language model (`tlm::save`) that writes the candidates. The model chooses the best of them; with the model "none" all are measured.
    /// Empty: the candidates are evolved.
    std::string language;
    bool language_learns = true; ///< it is fine-tuned on what is measured
    /// Trials of a kernel that the language model drafts, the untuned schedule among them; after them the candidates are evolved. 0: all. Without effect
    /// with the model "none".
    std::size_t language_trials = 0;
    /// "crop": Crop chooses many candidates, the model the best of them (`draft_then_verify`); empty: the model scores all. The model `auto` may set it:
    /// clear it when you give the options of a session another model or strategy.
    std::string draft;
    std::size_t trials = 64;     ///< of each kernel, on average
    std::size_t round = 0;       ///< trials of a kernel between two decisions of the task scheduler; 0: a quarter of `trials`, within 4 and 64
    std::size_t first_round = 0; ///< of the first round of a kernel; see `tuning_options::first_round`
    /// How the trials are divided among the kernels; `gradient`: where they reduce the time of the network most; `round_robin`: evenly.
    scheduling scheduler = scheduling::gradient;
    std::uint64_t seed = 1;
    /// Schedules of `transfer_from` that a kernel begins with, at most: the one that the draft, else the model, ranks highest, then those with the largest
    /// share of unchanged decisions (`transfer::choose_transfers`).
    std::size_t transfers = 16;
    bool evolve_transfers = true; ///< all schedules of `transfer_from` that fit join the population of the evolutionary search
    bool only_transfers = false;  ///< nothing else is proposed, whatever `trials` says; for the model `none`
    std::size_t population = 0;   ///< of the evolutionary search; 0: 2048, or 256 where Crop scores, which takes a millisecond per schedule

    /// The round that is used: `round` or its default, at most `trials`.
    [[nodiscard]] std::size_t round_size() const noexcept {
        if (round != 0) return (std::min)(round, trials);
        return (std::min)(std::clamp(trials / 4, std::size_t{4}, std::size_t{64}), trials);
    }
    friend bool operator==(const session_search&, const session_search&) = default;
};

/// What a session tunes, for which machine, with which compiler, and where its records go.
struct session_options {
    network work;                        ///< name and kernels
    session_search search;               ///< the search of `session::tune`
    bool compare_random = false;         ///< `tune` also searches at random, with the same budget, for comparison; not logged
    bool collect = false;                ///< only the records count: no baselines, no untuned schedule as the first record, no second measurement
    bool limits = true;                  ///< measure the roofline of the machine and the limit of each kernel, for the report; 3 s and more
    int threads = 0;                     ///< of the tuned kernels and of the search; 0: all processors
    loopnest::compiler_options compiler; ///< default: the variable CC, else cc
    std::string log;                     ///< path; empty: none
    bool resume = false;                 ///< continue with the records of `log`; without it a log that has records is refused
    bool take_over = true;               ///< with `resume`: kernels that another machine has finished keep its records; else all are searched here
    std::string machine;                 ///< that Crop predicts: a machine file or the name of a preset
    /// Log of kernels on this machine, for the model `nest`; empty: those of `transfer_from`. For `auto` it is one of these as well.
    std::string known;
    /// Logs that the language model is fine-tuned on first, also of other machines; without the session's kernels. With the model `auto` and none given,
    /// those of `transfer_from`.
    std::vector<std::string> demonstrations;
    std::size_t demonstrations_best = 10;   ///< schedules of each kernel that it learns from, its fastest ones, of these logs and of its own search
    bool demonstrations_weighted = false;   ///< fast ones count more: `tlm::training_options::weighted`
    std::vector<std::string> transfer_from; ///< logs of other kernels on this machine: each kernel begins with the schedules of its class in them
    class_level transfer_level = class_level::operations; ///< at which the kernels must agree; `structure` lets relu take schedules of relu6
    std::size_t transfer_best = 1;                        ///< schedules of each kernel of these logs that may be transferred, its best ones
    /// What other machines, compilers or flags have measured in these logs may be transferred, too, the session's kernels among it.
    bool transfer_other_machines = false;
};

/// What a session does at the moment.
struct session_progress {
    std::string stage;           ///< "baselines", the name of the search, "fine-tuning", "checking the best"
    std::string kernel;          ///< label of the kernel
    std::size_t done = 0;        ///< kernels, trials of all kernels during a search, or steps of a fine-tuning
    std::size_t total = 0;       ///< of the same unit
    bool searching = false;      ///< the members below have values
    double best_latency = 0;     ///< of the kernel, seconds; infinity before the first success
    double expected_latency = 0; ///< of the best candidate that is not measured yet; see `tuning_progress`
    std::size_t failed = 0;      ///< trials
    double seconds_left = 0;     ///< estimated
};

/// Callbacks of a session; each may be left out.
struct session_hooks {
    std::function<void(const session_progress&)> progress{};
    std::function<void(const std::string&)> note{}; ///< what was taken from a log and what was not, before the search; also in the report
    /// Called between measurements and in fine-tuning; true ends the search after the running batch, which is finished and written.
    std::function<bool()> stop{};
};

} // namespace augur::inline v0

#endif
