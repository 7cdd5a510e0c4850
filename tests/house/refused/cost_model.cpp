// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/concepts.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct kernel {
    const char* key() const { return "dense"; }
};
struct model {
#if !FAIL // a model must say what its scores mean
    static constexpr auto meaning = augur::score_meaning::rank;
#endif
    augur::result<void> score(const kernel&, std::span<const plan>, std::span<float>) { return {}; }
};
template <augur::cost_model<plan, kernel> M>
void rank(M&) {}
void check(model& m) { rank(m); }
