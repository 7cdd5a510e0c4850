// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_SESSION_EXTERN_HPP
#define AUGUR_EXAMPLES_SUPPORT_SESSION_EXTERN_HPP

/// @file
/// Says that the tuning session is compiled in session.cpp. Where a session is used in more than one file of a program, this saves half a minute each.

#include <augur/session/session.hpp>

extern template class augur::basic_session<>;

#endif
