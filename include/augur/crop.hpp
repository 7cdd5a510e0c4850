// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CROP_HPP
#define AUGUR_CROP_HPP

/// @file
/// Crop (Sun et al. 2024): the analytical cost model. All public headers of the component `augur::crop`.

#include <augur/crop/cost_model.hpp>
#include <augur/crop/prediction.hpp>
#include <augur/crop/predictor.hpp>

#endif
