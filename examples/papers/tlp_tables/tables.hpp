// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_TABLES_TABLES_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_TABLES_TABLES_HPP

/// @file
/// The tables of the TLP paper (Zhai et al. 2023) for the logs at hand: what is in a table (`all_cells`), how a cell is computed (`cell_runner`),
/// how it is shown (`print_table`).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/tlp/features.hpp>
#include <augur/dataset/dataset.hpp>

#include "console.hpp"
#include "executor.hpp"
#include "task_dags.hpp"

namespace examples {

// ---- data

/// The logs of platforms that share one data set, and which of its tasks are never trained on.
struct table_data {
    augur::dataset data;
    std::uint64_t content = 0;              ///< hash of it
    std::vector<bool> held_out;             ///< a flag a task
    std::vector<std::string> test_networks; ///< that the hold-out is made of; none: it is drawn by key
    bool own_test = false;                  ///< these are others than the default
    std::vector<std::string> platforms;     ///< in it
    dag_map dags;                           ///< of the tasks of which it is known

    /// The tasks of `tasks` that were measured on `platform`.
    [[nodiscard]] std::vector<std::uint32_t> on(std::string_view platform, const std::vector<std::uint32_t>& tasks) const;
    [[nodiscard]] std::vector<std::uint32_t> test(std::string_view platform) const;
};

/// All of it. A platform is in one of the two.
struct table_world {
    std::vector<table_data> sets; ///< CPUs, GPUs; either may be missing
    [[nodiscard]] const table_data* find(std::string_view platform) const;
};

/// The paper's, where BERT is missing.
[[nodiscard]] const std::vector<std::string>& default_test_networks();

struct table_source {
    std::string data;             ///< folder with ansor-x86-24core/ and ansor-gpu/, and perhaps compute DAGs, task-dags.jsonl or .gz
    std::vector<std::string> own; ///< logs of another CPU, e.g. of `tune --collect`: platform "own"
    std::string cache;            ///< folder; the data sets are kept here as files that are mapped
    bool strict = false;          ///< a bad line is the end
    std::vector<std::string> test_networks = default_test_networks();
};

/// Reads the logs, or maps what an earlier call has left in the cache. Bad lines are counted and told on stderr.
/// Errors: not_found (no log at all), invalid_argument (a test network, not by default, that no log is of), those of `read_ansor_logs`, io.
[[nodiscard]] augur::result<table_world> load_tables(const table_source& from, executor& threads);

/// Writes small logs of made-up platforms into `folder`, by name those that `load_tables` looks for. The latency follows a law that the steps tell.
[[nodiscard]] augur::result<void> write_quick_logs(const std::string& folder, std::size_t records_a_task);

// ---- cells

struct top_scores {
    double top_1 = std::numeric_limits<double>::quiet_NaN(), top_5 = std::numeric_limits<double>::quiet_NaN();
};

struct recipe;           // tables_recipe.hpp
struct pretrain_options; // tables_pretrain.hpp

/// The crop and vocabulary of the authors.
[[nodiscard]] augur::tlp::schema faithful_schema(bool gpu);

/// What an output learns: a share of the training records of a platform.
struct table_head {
    std::string platform;
    double share = 1;
};

enum class table_method : std::uint8_t {
    tlp,            ///< with several heads MTL-TLP
    fine_tune,      ///< trained on the second head's platform, then all layers on the first's
    fine_tune_head, ///< ... then the decoder alone
    gpt,            ///< a transformer, first trained on the target's schedules without labels
    bert,
    random_pick,
    median_pick,
    program_pick,     ///< the best program by the median of its records, one of these at random: what knowing everything but luck would bring
    trees_regression, ///< boosted trees on the faithful features
    trees_ranking,
    trees_nest,   ///< boosted trees on the features of the loop nest that the steps make (tables_nest.hpp)
    tlp_and_nest, ///< `round_robin_trees` on these features with TLP as the second model of their blend (decision 18)
    absent,       ///< in the paper, not here
};

struct table_cell {
    std::string table, row;
    std::vector<table_head> heads; ///< the target first
    std::string base = "default";
    table_method method = table_method::tlp;
    top_scores paper;
    std::function<void(recipe&)> change; ///< on top of `base`
    bool full = false;                   ///< all records, all epochs, more seeds; its networks stay in the cache
    std::string note;                    ///< why a row is absent, what the paper's number stands for
    std::size_t members = 1;             ///< networks whose mean is judged: those of as many seeds of the row with one
};

/// `row` of a table minus `minus`, seed by seed.
struct table_margin {
    std::string table, row, minus;
};

struct table_info {
    std::string id, title;
};

[[nodiscard]] const std::vector<table_info>& all_tables();
[[nodiscard]] std::vector<table_cell> all_cells(const table_world& world);
[[nodiscard]] std::vector<table_margin> all_margins(const table_world& world);

// ---- running

struct table_budget {
    std::size_t records = 40'000, epochs = 10; ///< of a head, of a cell
    std::size_t seeds = 3, full_seeds = 5;
    std::size_t full_records = 0, full_epochs = 0; ///< 0: all there are, as many as the recipe says
    std::size_t narrower = 1;                      ///< divides all widths of a network
    std::size_t batch = 0;                         ///< samples a step; 0: as the recipe says
};

/// Scores of records of one task, higher is better.
using table_scores = std::function<std::vector<float>(std::span<const std::uint32_t>)>;

/// What came of a cell with one seed.
struct cell_score {
    top_scores together;
    std::vector<std::pair<std::string, top_scores>> networks;
    std::size_t tasks = 0, without_record = 0;     ///< judged by; left out
    std::vector<std::string> without_nest;         ///< left out as well: hold-out tasks whose loop nests are not known, and why
    std::size_t samples = 0, epochs = 0, best = 0; ///< trained on; done; the epoch that was kept, from 1
    double seconds = 0;
};

/// Computes cells, or finds them among those computed before: `cells.jsonl` in the cache has a line for each, under a hash of all that decides it.
/// A training that is interrupted goes on from its checkpoint.
class cell_runner {
public:
    cell_runner(const table_world& world, table_budget budget, std::string cache, executor& threads);

    /// Reads the results of earlier runs. Errors: io.
    [[nodiscard]] augur::result<void> open();
    [[nodiscard]] std::size_t seeds_of(const table_cell& cell) const;
    /// Why this build has no such cell, although others have; empty: it has.
    [[nodiscard]] static std::string missing_here(const table_cell& cell);
    /// The result when there is one already.
    [[nodiscard]] std::optional<cell_score> known(const table_cell& cell, std::uint64_t seed) const;
    /// Computes and keeps it; only then are its checkpoints removed. Errors: unsupported (not in this build), interrupted (by a signal: its
    /// checkpoint stays), io, those of training.
    [[nodiscard]] augur::result<cell_score> run(const table_cell& cell, std::uint64_t seed, progress_line& progress, const std::string& label);

private:
    [[nodiscard]] std::size_t epochs_for(std::size_t samples) const;
    [[nodiscard]] pretrain_options pretraining_of(const table_cell& cell, std::uint64_t seed) const;
    [[nodiscard]] recipe recipe_for(const table_cell& cell, std::size_t outputs, std::uint64_t seed) const;
    [[nodiscard]] std::string hash_of(const table_cell& cell, std::uint64_t seed) const;
    [[nodiscard]] augur::result<cell_score> train(const table_cell& cell, std::uint64_t seed, progress_line& progress, const std::string& label);
    [[nodiscard]] std::string checkpoint_of(const table_cell& cell, std::uint64_t seed) const;
    [[nodiscard]] augur::result<cell_score> pretrain(const table_cell& cell, std::uint64_t seed, progress_line& progress, const std::string& label);
    [[nodiscard]] augur::result<cell_score> trees(const table_cell& cell, std::uint64_t seed) const;
    /// @param language  the second opinion; none: the trees alone
    /// @param out       what the training of that gave
    [[nodiscard]] augur::result<cell_score> nest_trees(const table_cell& cell, std::uint64_t seed, const table_scores& language,
                                                       cell_score out) const;
    [[nodiscard]] augur::result<cell_score> pick(const table_cell& cell, std::uint64_t seed) const;
    /// Judges by the hold-out tasks that the cell can score.
    void judge_cell(const table_cell& cell, const table_scores& score, cell_score& out) const;
    /// Hold-out tasks of a platform whose loop nests are not known, with the reason. Replays them once; told on stderr.
    const std::map<std::uint32_t, std::string>& check_nests(const std::string& platform);
    [[nodiscard]] augur::result<void> keep(const table_cell& cell, std::uint64_t seed, const cell_score& score);

    const table_world* world_;
    table_budget budget_;
    std::string cache_;
    executor* threads_;
    std::map<std::string, cell_score> known_;                                               ///< by hash
    std::map<std::string, std::map<std::uint32_t, std::string>, std::less<>> without_nest_; ///< by platform
    std::vector<std::string> finished_; ///< checkpoints of the present cell, of no more use once it is kept
};

// ---- showing

/// A cell's results by seed.
struct shown_cell {
    const table_cell* cell = nullptr;
    std::map<std::uint64_t, cell_score> seeds;
    std::string why_not; ///< there are none
};

/// A table: the paper's numbers, ours, by network, margins.
[[nodiscard]] std::string print_table(const table_info& table, const std::vector<shown_cell>& cells, const std::vector<table_margin>& margins,
                                      const table_budget& budget);

/// Table 1 (longest primitives), section 4.3 (repetitions), Figure 6 (lengths): what needs no training. `folder` gets the figure; empty: none.
[[nodiscard]] augur::result<std::string> print_statistics(std::string_view id, const table_world& world, const std::string& folder);

/// Figure 9 into `folder`: curves of top-1 over the target's records. Error: io.
[[nodiscard]] augur::result<void> write_figure_9(const std::string& folder, const std::vector<shown_cell>& cells);

} // namespace examples

#endif
