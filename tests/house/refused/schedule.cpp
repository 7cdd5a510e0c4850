// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/schedule/concepts.hpp>
struct plan {
#if FAIL
    void visit(auto& sink) { sink.primitive("split"); } // not const: reading a schedule must not change it
#else
    void visit(auto& sink) const { sink.primitive("split"); }
#endif
};
auto check(const plan& p) { return augur::testing::check_schedule(p); }
