// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/concepts.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct kernel {
    const char* key() const { return "dense"; }
};
struct bench {
#if FAIL
    std::vector<double> measure(const kernel&, std::span<const plan>) { return {}; } // no room for what failed
#else
    std::vector<augur::measurement> measure(const kernel&, std::span<const plan>) { return {}; }
#endif
};
template <augur::runner<plan, kernel> R>
void measure(R&) {}
void check(bench& b) { measure(b); }
