// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/concepts.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct space {
    std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return {}; }
#if FAIL
    plan realise(std::span<const std::uint64_t>) const { return {}; } // realising can fail: a result
#else
    augur::result<plan> realise(std::span<const std::uint64_t>) const { return plan{}; }
#endif
};
template <augur::decision_space<plan> P>
void sample(const P&) {}
void check(const space& s) { sample(s); }
