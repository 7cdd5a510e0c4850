// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_HPP
#define AUGUR_TLP_HPP

/// @file
/// TLP and MTL-TLP (Zhai et al. 2023): the cost model that reads schedule primitives as a language. All public headers of the component `augur::tlp`.

#include <augur/tlp/features.hpp>
#include <augur/tlp/inference/frozen_model.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/online.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/schema.hpp>
#include <augur/tlp/scorer.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/train/mtl_loss.hpp>
#include <augur/tlp/train/samples.hpp>
#include <augur/tlp/train/speed_loss.hpp>
#include <augur/tlp/vocabulary.hpp>
#include <augur/tlp/weights_file.hpp>

#endif
