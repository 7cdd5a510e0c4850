// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main of every test executable. Exit code 77: nothing failed, but a case was skipped (may_skip.hpp).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "may_skip.hpp"

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const int failed = context.run();
    return failed == 0 && any_case_skipped() && !context.shouldExit() ? 77 : failed;
}
