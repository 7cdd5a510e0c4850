// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: this type is no schedule: specialise augur::schedule_traits for it
#include <augur/dataset/builder.hpp>
struct plan {
#if FAIL // it is the sink that a schedule is shown to
    void visit() const {}
#else
    void visit(auto& sink) const { sink.primitive("split"); }
#endif
};
auto check(augur::dataset_builder& b, const plan& p, const augur::measurement& m) { return b.add(0, 0, p, m); }
