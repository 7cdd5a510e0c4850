// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: this type is no schedule: specialise augur::schedule_traits for it
#include <vector>

#include <augur/schedule/hash.hpp>
struct plan {
#if !FAIL
    void visit(auto& sink) const { sink.primitive("split"); }
#endif
};
auto check(const plan& p) { return augur::hash_schedule(p); }
