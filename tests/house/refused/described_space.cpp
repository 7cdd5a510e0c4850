// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <optional>
#include <span>

#include <augur/space/describe.hpp>

struct cursor {
    [[nodiscard]] std::optional<augur::decision> next() const { return std::nullopt; }
    void choose(std::uint64_t) {}
    void describe(auto& sink) const { sink.primitive("tile"); }
    [[nodiscard]] augur::decision_scale scale() const { return {}; }
#if FAIL
    [[nodiscard]] std::uint64_t words(std::uint64_t value) const { return value; } // words go to a sink
#else
    void words(std::uint64_t value, auto& sink) const { sink.number(value); }
#endif
    [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item>) const { return std::nullopt; }
};

struct tree {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return std::nullopt; }
    [[nodiscard]] ::cursor cursor() const { return {}; }
};

bool empty() { return augur::adapt_point(tree{}, {}).path.values.empty(); }
