// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_CROP_TABLES_CROP_TABLES_HPP
#define AUGUR_EXAMPLES_PAPERS_CROP_TABLES_CROP_TABLES_HPP

/// @file
/// Crop's tables: programs that were measured, what predicts their time or their order, and how well.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/llvm/options.hpp>
#include <augur/crop/predictor.hpp>
#include <augur/program/features.hpp>
#include <augur/schedule/steps.hpp>

#include "console.hpp"

namespace examples {

// ---- what was measured

/// A program of a task: what it does, how it was made, and how long it took.
struct measured_program {
    std::string name;
    augur::program_features features;
    double seconds = 0;                              ///< the median of `rounds`
    std::vector<double> rounds;                      ///< each time it was measured, minutes apart
    augur::step_list steps;                          ///< the schedule, in Ansor's words
    std::string ir;                                  ///< file with its LLVM IR; empty: none. Of a nest: what `compiled` is of
    std::optional<augur::program_features> compiled; ///< of a nest: as a compiler's IR has them
};

/// One kernel, written in many ways.
struct measured_task {
    std::string name;
    std::vector<measured_program> programs;
    std::vector<std::string> left_out; ///< programs that were not measured or have no features, and why
};

struct gather_options {
    std::string data;           ///< folder: <task>.jsonl and <task>.ll.tar.xz
    std::string cache;          ///< folder for the features; what is there is not gathered again
    std::string only;           ///< tasks whose name has this
    int threads = 1;            ///< features for so many threads, and the times with them
    std::size_t most = 1000000; ///< programs a task
};

/// Reads the measurements and gathers the features of all programs in the folder. A task that was not measured with so many threads is left out.
/// @note errors: of files; not_found, no task is left. A program that has no features is left out and told
augur::result<std::vector<measured_task>> gather_programs(const gather_options& o, progress_line& progress);

struct loopnest_options {
    std::string cache;          ///< folder for the logs of what was measured, one a round, and for features
    std::size_t kernels = 20;   ///< drawn from the networks; at 20 at least 5 convolutions, 3 depthwise, 3 products, 2 softmax or norm, 2 pooling
    std::size_t schedules = 64; ///< a kernel, uniform samples of its space
    std::size_t rounds = 1;     ///< all schedules are measured so many times, one round after the other
    std::uint64_t seed = 1;
    int threads = 1;
    std::string compiler; ///< that makes the programs which are measured; empty: as `compiler_options`
    std::string clang;    ///< whose IR gives features as well; empty: none
};

/// Measures schedules of kernels of the embedded compiler, or reads what an earlier call has left in the log, and gives them Crop's features of the
/// nest. After Ctrl-C what was measured is in the log.
/// @note errors: those of the runner and of files
augur::result<std::vector<measured_task>> measure_loopnest(const loopnest_options& o, progress_line& progress);

/// Features of a program in LLVM IR from the file that an earlier call has left, else gathered and left there.
augur::result<augur::program_features> kept_features(const std::string& kept, const std::string& ir, augur::ir_options how);

// ---- what predicts

/// How a row does on a task: of the times, best over the best of the first k; rank correlation; absolute error.
struct task_score {
    double top1 = 0, top5 = 0, spearman = 0, error = 0, median_error = 0;
};

/// A row of the table.
struct score_row {
    std::string name;
    bool seconds = false;           ///< what it predicts are seconds: its error can be told
    std::vector<task_score> scores; ///< by task; empty: the row is absent
    std::string note;               ///< what it learned from, or why it is absent
};

/// For each program seconds, or anything that grows with them. Of programs that are predicted alike each is as likely to be taken first.
/// pre: as many of each, at least one
task_score score_of(const std::vector<double>& predicted, const std::vector<double>& measured);
/// sum += share * one
void add_score(task_score& sum, const task_score& one, double share);
std::vector<double> times_of(const measured_task& t);
/// The middle value; of an even number the higher of the two.   pre: not empty
double upper_median(std::vector<double> values);

/// Crop, ours (through a compiler first, where all programs have that) and as published, and the count of instructions.
augur::result<std::vector<score_row>> crop_rows(const std::vector<measured_task>& tasks, const augur::machine& target, int threads);
/// A program drawn at random, and the median one; where programs were measured more than once, also what one round says of them all, the mean over
/// the rounds: no prediction is asked to do better.
std::vector<score_row> chance_rows(const std::vector<measured_task>& tasks);

struct rival_options {
    std::size_t seeds = 3;  ///< whose mean is told; 0: no row
    std::uint64_t seed = 1; ///< the first one
    std::size_t folds = 5;  ///< a task is judged by models that were trained on the tasks of the other folds
};
/// TLP and boosted trees on its features, each trained on all, 5 % and 0.5 % of the programs of other tasks.
/// @note errors: interrupted; those of training
augur::result<std::vector<score_row>> learned_rows(const std::vector<measured_task>& tasks, const rival_options& o, progress_line& progress);

/// Cycles of each block by llvm-mca, times how often it ran, on one thread; kept beside the IR. The tools are llc-19 and llvm-mca-19, or without the
/// number; without them, or where one refuses a program, the row is absent.
/// @param cpu  their -mcpu
/// @note errors: interrupted, io
augur::result<score_row> mca_row(const std::vector<measured_task>& tasks, const augur::machine& target, const std::string& cpu,
                                 progress_line& progress);

// ---- showing

/// The tables: by task the first row beside the count of instructions, then the mean of each row.
void print_crop_tables(const std::vector<measured_task>& tasks, const std::vector<score_row>& rows, const std::string& title);
/// Figure 6: measured and predicted times of each task's programs, by measured time.
augur::result<void> draw_crop_curves(const std::vector<measured_task>& tasks, const augur::machine& target, int threads, const std::string& path);

} // namespace examples

#endif
