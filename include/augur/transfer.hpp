// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TRANSFER_HPP
#define AUGUR_TRANSFER_HPP

/// @file
/// Transfer-Tuning (Gibson and Cano 2022): reuse of schedules between kernels. All public headers of the component `augur::transfer`.

#include <augur/transfer/operation_sequence.hpp>
#include <augur/transfer/record_index.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/transfer/source_cover.hpp>
#include <augur/transfer/source_ranking.hpp>
#include <augur/transfer/workload_distance.hpp>

#endif
