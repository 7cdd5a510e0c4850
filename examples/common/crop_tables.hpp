// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_CROP_TABLES_HPP
#define AUGUR_EXAMPLES_CROP_TABLES_HPP

/// @file
/// Crop's tables: programs that were measured, what predicts their time, and how well.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/model/crop_predict.hpp>
#include <augur/program/features.hpp>

#include "console.hpp"

namespace examples {

/// A program of a task: what it does, and how long it took, in seconds.
struct measured_program {
    std::string name;
    augur::program_features features;
    double one_thread = 0;
    double two_threads = 0; ///< 0: not measured
};

/// One kernel, written in many ways.
struct measured_task {
    std::string name;
    std::vector<measured_program> programs;
    std::vector<std::string> left_out; ///< programs without features, and why
};

struct gather_options {
    std::string data;           ///< folder: <task>.jsonl and <task>.ll.tar.xz
    std::string cache;          ///< folder for the features; what is there is not gathered again
    std::string only;           ///< tasks whose name has this
    int threads = 1;            ///< features for so many threads
    std::size_t most = 1000000; ///< programs a task
};

/// Reads the measurements and gathers the features of all programs in the folder.
/// @note errors: of files; a program that has no features is left out and told
augur::result<std::vector<measured_task>> gather_programs(const gather_options& o, progress_line& progress);

/// Seconds, or anything that grows with them, for a program.
struct predictor_row {
    std::string name;
    bool seconds = false; ///< absolute: its error can be told
    std::function<double(const measured_program&)> predict;
};

/// How a row does on a task: of the times, best over the best of the first k; rank correlation; absolute error.
struct task_score {
    double top1 = 0, top5 = 0, spearman = 0, error = 0, median_error = 0;
};

/// pre: as many of each, at least one
task_score score_of(const std::vector<double>& predicted, const std::vector<double>& measured);
/// What programs drawn at random have, on the average.
task_score score_of_random(const std::vector<double>& measured);

/// Instructions that ran, on all threads.
double instructions_of(const augur::program_features& p);

/// Prints the tables; `threads` is 1 or 2.
augur::result<void> print_crop_tables(const std::vector<measured_task>& tasks, const augur::machine& target, int threads);
/// Figure 6: measured and predicted times of each task's programs, by measured time.
augur::result<void> draw_crop_curves(const std::vector<measured_task>& tasks, const augur::machine& target, int threads, const std::string& path);

} // namespace examples

#endif
