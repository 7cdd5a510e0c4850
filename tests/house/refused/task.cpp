// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/concepts.hpp>
struct kernel {
#if FAIL
    int id() const { return 7; } // no key
#else
    const char* key() const { return "dense"; }
#endif
};
double check(const kernel& k) { return augur::task_weight(k); }
