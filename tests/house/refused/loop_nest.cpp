// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/loop_nest.hpp>
struct nest {
#if FAIL
    void visit(auto&) {} // not const: reading a nest must not change it
#else
    void visit(auto&) const {}
#endif
};
template <augur::loop_nest N>
void features(const N&) {}
void check(const nest& n) { features(n); }
