// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The least that a user writes: a schedule type of their own, read through the concept.
#include <augur/schedule/concepts.hpp>

namespace theirs {
struct plan {
    int factor = 4;
};
} // namespace theirs

template <>
struct augur::schedule_traits<theirs::plan> {
    static void visit(const theirs::plan& p, auto& sink) {
        sink.primitive("split");
        sink.number(std::int64_t{p.factor});
    }
};
static_assert(augur::schedule<theirs::plan>);

int main() { return augur::testing::check_schedule(theirs::plan{}) ? 0 : 1; }
