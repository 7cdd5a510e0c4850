// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_TRANSFER_SCHEDULE_TEXT_HPP
#define AUGUR_EXAMPLES_TOOLS_TRANSFER_SCHEDULE_TEXT_HPP

/// @file
/// A schedule in the words of Transfer-Tuning's Algorithm 1.

#include <memory>
#include <string>
#include <vector>

#include <augur/loopnest/ir/dag.hpp>
#include <augur/schedule/steps.hpp>

/// A line a step, with the stage and the names of the loops: `C: j.0, j.1 <- Split(j, 8)`, `C: Parallel(i.0@j.0)`. Ends at the first step that does not
/// apply, with the reason.
[[nodiscard]] std::vector<std::string> schedule_text(std::shared_ptr<const augur::loopnest::compute_dag> dag, const augur::step_list& schedule);

#endif
