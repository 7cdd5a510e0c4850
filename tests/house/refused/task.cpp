// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/concepts.hpp>
struct kernel {
#if FAIL
    int id() const { return 7; } // no key
#else
    const char* key() const { return "dense"; }
#endif
};
double weight(const augur::task auto& t) { return augur::task_traits<std::remove_cvref_t<decltype(t)>>::weight(t); }
double check(const kernel& k) { return weight(k); }
