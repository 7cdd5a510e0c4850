// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_PRECOMPILED_HPP
#define AUGUR_TESTS_PRECOMPILED_HPP

/// @file
/// The headers that most units of tests and examples include, compiled once (AUGUR_PRECOMPILE). A unit still includes what it uses, so that it compiles
/// without this file as well.

#include <augur/crop.hpp>
#include <augur/loopnest.hpp>
#include <augur/metatune.hpp>
#include <augur/search/bayes/bayesian_search.hpp>
#include <augur/session.hpp>
#include <augur/tlm.hpp>
#include <augur/tlp.hpp>
#include <augur/transfer.hpp>
#ifdef AUGUR_HAS_XGBOOST
#include <augur/xgboost/trees_online.hpp>
#endif

#endif
