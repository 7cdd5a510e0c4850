// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main of every test executable.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
