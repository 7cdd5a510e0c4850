// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_HPP
#define AUGUR_LOOPNEST_HPP

/// @file
/// The embedded compiler: operators, their schedules, lowering, C, measurement. All public headers of the component `augur::loopnest`.

#include <augur/loopnest/codegen/c_writer.hpp>
#include <augur/loopnest/codegen/naive_evaluator.hpp>
#include <augur/loopnest/codegen/naive_program.hpp>
#include <augur/loopnest/codegen/network_files.hpp>
#include <augur/loopnest/codegen/network_program.hpp>
#include <augur/loopnest/features/nest_features.hpp>
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/loopnest/features/schedule_nest.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/lower/interpret.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/lower/replay_cache.hpp>
#include <augur/loopnest/run/in_model_pass.hpp>
#include <augur/loopnest/run/network_runner.hpp>
#include <augur/loopnest/run/roofline.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>

#endif
