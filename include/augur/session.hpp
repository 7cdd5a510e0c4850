// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_HPP
#define AUGUR_SESSION_HPP

/// @file
/// Tunes kernels or a network with the embedded compiler: `augur::session`, its options and its report. All of the component `augur::session`.

#include <augur/session/network_weights.hpp>
#include <augur/session/options.hpp>
#include <augur/session/report.hpp>
#include <augur/session/session.hpp>

// The definitions of the members.
#include <augur/session/detail/baselines.hpp>
#include <augur/session/detail/prepare.hpp>
#include <augur/session/detail/search.hpp>

#endif
