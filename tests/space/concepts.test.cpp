// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/concepts.hpp>

#include <doctest/doctest.h>

namespace concepts_test {

namespace {

struct plan {
    void visit(auto& sink) const {
        sink.primitive("split");
        sink.number(static_cast<std::int64_t>(outer));
        sink.number(static_cast<std::int64_t>(inner));
    }
    std::uint64_t outer, inner;
};

struct archetype { // exactly the contract: const calls, nothing copied. Two decisions; the options of the second hang on the first
    archetype() = default;
    archetype(const archetype&) = delete;
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> prefix) const {
        if (prefix.empty()) return augur::decision{augur::decision_kind::tile_size, 3, 0, true};
        if (prefix.size() == 1) return augur::decision{augur::decision_kind::tile_size, 3 - prefix[0], 0, true};
        return {};
    }
    [[nodiscard]] augur::result<plan> realise(std::span<const std::uint64_t> decisions) const {
        if (next(decisions)) return augur::error{augur::errc::invalid_argument, "expected a complete prefix of 2 decisions"};
        return plan{decisions[0], decisions[1]};
    }
};
struct mutating {
    std::optional<augur::decision> next(std::span<const std::uint64_t>);
    augur::result<plan> realise(std::span<const std::uint64_t>);
};
struct infallible {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const;
    [[nodiscard]] plan realise(std::span<const std::uint64_t>) const;
};

/// Complete prefixes below `prefix`, by walking the tree.
template <class S, augur::decision_space<S> P>
std::uint64_t leaves(const P& space, augur::decision_vector prefix) {
    const auto here = space.next(prefix);
    if (!here) return space.realise(prefix) ? 1 : 0;
    std::uint64_t sum = 0;
    for (std::uint64_t v = 0; v < here->options; ++v) {
        prefix.push_back(v);
        sum += leaves<S>(space, prefix);
        prefix.pop_back();
    }
    return sum;
}

} // namespace

static_assert(augur::decision_space<archetype, plan>);
static_assert(!augur::decision_space<archetype, int>); // int is no schedule
static_assert(!augur::decision_space<mutating, plan> && !augur::decision_space<infallible, plan>);

TEST_CASE("decision_space: the tree is walked with nothing but next and realise") {
    const archetype space;
    CHECK(leaves<plan>(space, {}) == 3 + 2 + 1);
    const augur::decision_vector open{1};
    const auto made = space.realise(open);
    REQUIRE(!made);
    CHECK(made.error().code == augur::errc::invalid_argument);
}

} // namespace concepts_test
