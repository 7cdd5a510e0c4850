// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/crop/cost_model.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct kernel {
    const char* key() const { return "dense"; }
};
#if FAIL // what can fail says so
augur::program_features features(const kernel&, const plan&) { return {}; }
#else
augur::result<augur::program_features> features(const kernel&, const plan&) { return augur::program_features{}; }
#endif
template <class F>
    requires augur::crop::feature_extractor<F, plan, kernel>
void rank(F*) {}
void check() { rank(&features); }
