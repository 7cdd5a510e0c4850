// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_MAY_SKIP_HPP
#define AUGUR_TESTS_MAY_SKIP_HPP

// Cases that need more than this machine may have: data, a browser, a program. `TEST_CASE("name" MAY_SKIP)` gives them a ctest entry of their own,
// which is skipped, not passed, when one of them ends with `SKIP_CASE(reason)`.

#include <doctest/doctest.h>

#define MAY_SKIP *doctest::test_suite("may skip")

/// Has a case of this executable been skipped?
inline bool& any_case_skipped() {
    static bool skipped = false;
    return skipped;
}

/// Leaves the case.
#define SKIP_CASE(reason)                                                                                                                            \
    do {                                                                                                                                             \
        MESSAGE("skipped: " << reason);                                                                                                              \
        any_case_skipped() = true;                                                                                                                   \
        return;                                                                                                                                      \
    } while (false)

#endif
