// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/xgboost/trees_online.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct kernel {
    const char* key() const { return "dense"; }
};
struct row {
#if !FAIL // how long a row is, it says itself
    std::size_t columns() const { return 1; }
#endif
    augur::result<void> operator()(const kernel&, const plan&, std::span<float>) const { return {}; }
};
template <augur::row_features_of<plan, kernel> F>
void learn(F&&) {}
void check() { learn(row{}); }
