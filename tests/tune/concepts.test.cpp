// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/concepts.hpp>

#include <doctest/doctest.h>

#include <array>

namespace concepts_test {

namespace {

struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
    int factor = 0;
};
struct kernel {
    [[nodiscard]] std::string_view key() const { return "dense"; }
};

struct archetype { // exactly the contract: a failure is a measurement
    archetype() = default;
    archetype(const archetype&) = delete;
    std::vector<augur::measurement> measure(const kernel&, std::span<const plan> candidates) {
        std::vector<augur::measurement> out(candidates.size());
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (candidates[i].factor == 0) {
                out[i].status = augur::outcome::run_crash;
                out[i].reason = "division by zero";
                continue;
            }
            out[i].status = augur::outcome::ok;
            out[i].seconds = {1.0 / candidates[i].factor};
        }
        return out;
    }
};
struct all_or_nothing { // one bad candidate would lose the others
    static augur::result<std::vector<augur::measurement>> measure(const kernel&, std::span<const plan>);
};
struct one_by_one {
    static augur::measurement measure(const kernel&, const plan&);
};

template <class S, class Task, augur::runner<S, Task> R>
double best_latency(R& r, const Task& t, std::span<const S> candidates) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& m : r.measure(t, candidates)) best = (std::min)(best, m.latency());
    return best;
}

} // namespace

static_assert(augur::runner<archetype, plan, kernel>);
static_assert(!augur::runner<archetype, int, kernel> && !augur::runner<archetype, plan, int>);
static_assert(!augur::runner<all_or_nothing, plan, kernel> && !augur::runner<one_by_one, plan, kernel>);

TEST_CASE("runner: a failed candidate costs nobody else anything") {
    archetype r;
    const std::array<plan, 3> candidates{plan{2}, plan{0}, plan{4}};
    const auto measured = r.measure(kernel{}, candidates);
    REQUIRE(measured.size() == 3);
    CHECK(measured[1].latency() == std::numeric_limits<double>::infinity());
    CHECK(best_latency(r, kernel{}, std::span<const plan>(candidates)) == 0.25);
}

} // namespace concepts_test
