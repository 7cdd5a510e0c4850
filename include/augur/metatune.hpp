// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_HPP
#define AUGUR_METATUNE_HPP

/// @file
/// MetaTune (Ryu and Sung 2021): a graph network over the loops of a candidate, meta-trained to adapt to unseen kernels. All public headers of the
/// component `augur::metatune`.

#include <augur/metatune/checkpoint.hpp>
#include <augur/metatune/cost_model.hpp>
#include <augur/metatune/fine_tuning.hpp>
#include <augur/metatune/inference.hpp>
#include <augur/metatune/loop_graph.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/loss.hpp>
#include <augur/metatune/nest_rows.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/samples.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/metatune/super_graph_text.hpp>
#include <augur/metatune/training.hpp>
#include <augur/metatune/weights_file.hpp>

#endif
