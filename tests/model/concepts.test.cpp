// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/concepts.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>

namespace concepts_test {

namespace {

struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
    int factor = 0;
};
struct kernel {
    [[nodiscard]] std::string_view key() const { return "dense"; }
};

struct archetype { // exactly the contract
    archetype() = default;
    archetype(const archetype&) = delete;
    [[maybe_unused]] static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    augur::result<void> score(const kernel&, std::span<const plan> batch, std::span<float> scores) {
        if (batch.size() != scores.size()) return augur::error{augur::errc::shape_mismatch, "one score a schedule"};
        for (std::size_t i = 0; i < batch.size(); ++i)
            scores[i] = batch[i].factor < 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(batch[i].factor);
        return {};
    }
};
struct learner {
    static constexpr augur::score_meaning meaning = augur::score_meaning::negative_log_latency;
    static augur::result<void> score(const kernel&, std::span<const plan>, std::span<float>) { return {}; }
    static augur::result<void> update(std::span<const augur::observation<plan, kernel>>) { return {}; }
};
struct without_meaning {
    static augur::result<void> score(const kernel&, std::span<const plan>, std::span<float>) { return {}; }
};
struct silent { // cannot say that it failed
    [[maybe_unused]] static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    static void score(const kernel&, std::span<const plan>, std::span<float>) {}
};

template <class S, class Task, augur::cost_model<S, Task> M>
augur::result<std::size_t> best(M& model, const Task& t, std::span<const S> batch) {
    std::vector<float> scores(batch.size());
    if (auto done = model.score(t, batch, scores); !done) return done.error();
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

} // namespace

static_assert(augur::cost_model<archetype, plan, kernel> && !augur::trainable_cost_model<archetype, plan, kernel>);
static_assert(augur::trainable_cost_model<learner, plan, kernel>);
static_assert(!augur::cost_model<without_meaning, plan, kernel> && !augur::cost_model<silent, plan, kernel>);
static_assert(!augur::cost_model<archetype, int, kernel> && !augur::cost_model<archetype, plan, int>);

TEST_CASE("cost_model: higher is better, -infinity is last, lengths must agree") {
    archetype model;
    const std::array<plan, 3> batch{plan{2}, plan{7}, plan{-1}};
    const auto winner = best(model, kernel{}, std::span<const plan>(batch));
    REQUIRE(winner);
    CHECK(*winner == 1);
    std::array<float, 2> small{};
    const auto wrong = model.score(kernel{}, batch, small);
    REQUIRE(!wrong);
    CHECK(wrong.error().code == augur::errc::shape_mismatch);
}

} // namespace concepts_test
