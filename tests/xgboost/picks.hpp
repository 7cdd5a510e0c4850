// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_XGBOOST_PICKS_HPP
#define AUGUR_TESTS_XGBOOST_PICKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/model/concepts.hpp>

#include "candidates.hpp"

/// A schedule is the number of its row in `candidates`; one from `bad` on has none.
struct pick {
    std::uint32_t row = 0;
    void visit(auto& sink) const {
        sink.primitive("pick");
        sink.number(std::int64_t{row});
    }
};
struct task_of_kernel {
    std::string name;
    const candidates* all = nullptr;
    [[nodiscard]] std::string_view key() const { return name; }
};
struct row_of_pick {
    std::uint32_t bad = 1000, not_finite = 1000;
    static constexpr std::size_t columns() { return ::columns; }
    augur::result<void> operator()(const task_of_kernel& t, const pick& p, std::span<float> row) const {
        if (p.row >= bad) return augur::error{augur::errc::illegal_schedule, "no row"};
        std::copy_n(t.all->rows.begin() + static_cast<std::ptrdiff_t>(p.row * columns()), columns(), row.begin());
        if (p.row >= not_finite) row.back() = std::numeric_limits<float>::infinity();
        return {};
    }
};
/// A second model: likes every third, cannot score the sevenths.
struct likes_thirds {
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    static float of(const pick& p) { return p.row % 7 == 6 ? -std::numeric_limits<float>::infinity() : p.row % 3 == 0 ? 9.0F : 1.0F; }
    static augur::result<void> score(const task_of_kernel&, std::span<const pick> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = of(batch[i]);
        return {};
    }
};
inline std::vector<pick> picks(std::uint32_t from, std::uint32_t to) {
    std::vector<pick> out;
    for (; from < to; ++from) out.push_back({from});
    return out;
}

#endif
