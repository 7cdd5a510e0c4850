// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/executor.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

struct archetype { // exactly the contract: lvalue only, an f that takes an index, nothing copied
    archetype() = default;
    archetype(const archetype&) = delete;
    template <class F>
    void bulk(std::size_t n, const F& f) & {
        for (std::size_t i = n; i > 0; --i) f(i - 1); // an order that nobody may lean on
    }
    [[nodiscard]] unsigned char concurrency() const { return 1; } // convertible will do
};
struct without_concurrency {
    void bulk(std::size_t, const auto&) {}
};
struct for_functions_only {
    void bulk(std::size_t, void (*)(std::size_t)) {}
    [[nodiscard]] std::size_t concurrency() const { return 1; }
};

template <augur::bulk_executor E>
std::vector<int> squares(E& executor, std::size_t n) {
    std::vector<int> out(n);
    executor.bulk(n, [&](std::size_t i) { out[i] = static_cast<int>(i * i); });
    return out;
}

} // namespace

static_assert(augur::bulk_executor<archetype> && augur::bulk_executor<augur::serial_executor> && augur::bulk_executor<const augur::serial_executor>);
static_assert(!augur::bulk_executor<without_concurrency> && !augur::bulk_executor<for_functions_only> && !augur::bulk_executor<int>);

TEST_CASE("bulk_executor: the order of the calls does not show") {
    archetype backwards;
    augur::serial_executor forwards;
    CHECK(squares(backwards, 9) == squares(forwards, 9));
    CHECK(squares(backwards, 3) == std::vector<int>{0, 1, 4});
    CHECK(squares(backwards, 0).empty());
}
