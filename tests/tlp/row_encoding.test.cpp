// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/detail/row_encoding.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/inference/row_ids.hpp>
#include <augur/tlp/row_table.hpp>

namespace {

using augur::tlp::unknown_word;

/// A schedule of any items.
struct item_list {
    std::vector<augur::schedule_item> items;

    template <class Sink>
    void visit(Sink& sink) const {
        for (const auto& item : items) switch (item.type) {
            case augur::schedule_item::kind::primitive: sink.primitive(std::string_view(item.text)); break;
            case augur::schedule_item::kind::integer: sink.number(item.integer); break;
            case augur::schedule_item::kind::real: sink.number(item.real); break;
            case augur::schedule_item::kind::name: sink.name(std::string_view(item.text)); break;
            }
    }
};

/// Steps of Ansor with fields that often do not fit, and kinds and names of no vocabulary; some schedules bind loops to threads.
item_list random_items(augur::random_engine& rng, bool strange) {
    constexpr std::array<std::string_view, 12> kinds{"AN", "FU", "PR", "RE", "SP", "FSP", "FFSP", "CA", "CI", "CHW", "tile", "a kind of 17 bytes"};
    constexpr std::array<std::string_view, 6> names{"local", "shared", "auto_unroll_max_step$64", "auto_unroll_max_step$7", "innermost", "a$b"};
    augur::recording_sink out;
    if (rng.below(2) == 0) {
        out.primitive("SP");
        for (const std::int64_t n : {0, 0, 96, 3 + static_cast<int>(rng.below(3)), 1}) out.number(n);
        for (const std::int64_t loop : {0, 1}) {
            out.primitive("AN");
            for (const std::int64_t n : {std::int64_t{0}, loop, 5 + loop}) out.number(n);
        }
    }
    for (std::size_t left = rng.below(9); left > 0; --left) {
        out.primitive(kinds[rng.below(strange ? kinds.size() : kinds.size() - 2)]);
        for (std::size_t n = rng.below(8); n > 0; --n) switch (rng.below(strange ? 40 : 39)) {
            case 39: out.number(std::numeric_limits<double>::infinity()); break;
            case 38: out.number(0.5 * static_cast<double>(rng.below(9))); break;
            case 37: out.name(names[rng.below(strange ? names.size() : 2)]); break;
            default: out.number(static_cast<std::int64_t>(rng.below(5)) - 1); break;
            }
    }
    return {std::move(out.items)};
}

std::vector<augur::tlp::schema> schemas() {
    std::vector<augur::tlp::schema> all;
    for (const auto unknown : {unknown_word::refuse, unknown_word::zeros, unknown_word::other})
        for (const bool pad : {false, true})
            for (const std::size_t rows : {std::size_t{1}, std::size_t{6}, std::size_t{12}})
                for (const std::size_t numbers : {std::size_t{0}, std::size_t{3}, std::size_t{8}})
                    for (const std::size_t positions : {std::size_t{0}, std::size_t{3}, std::size_t{32}}) {
                        auto schema = augur::tlp::schema::ansor_gpu(rows, numbers, positions);
                        schema.unknown = unknown;
                        schema.pad = pad;
                        schema.words.push_back({"SP", "local", 7});
                        schema.launch_features = unknown == unknown_word::other || pad;
                        all.push_back(schema);
                        if (numbers > 0 || positions == 0) continue;
                        schema.columns = positions + 5; // the positions take columns of kinds
                        all.push_back(schema);
                    }
    return all;
}

} // namespace

TEST_CASE("tlp row encoding: a schedule has the same rows as floats, as keys and by the ids of its primitives") {
    augur::random_engine rng(3);
    std::vector<item_list> schedules(150);
    for (std::size_t i = 0; i < schedules.size(); ++i) schedules[i] = random_items(rng, i % 2 == 0);
    augur::primitive_table primitives;
    std::vector<std::vector<augur::primitive_id>> ids(schedules.size());
    for (std::size_t i = 0; i < schedules.size(); ++i) REQUIRE(augur::intern(primitives, schedules[i], ids[i]));
    std::size_t refused = 0, launch_rows = 0;
    for (const auto& schema : schemas()) {
        REQUIRE(schema.check());
        const std::size_t e = schema.columns;
        const augur::tlp::row_table table(schema, primitives);
        augur::tlp::row_ids keys(schema, 2000);
        augur::tlp::deduplicated_batch in_order(e, augur::tlp::row_order::kept), merged(e);
        std::vector<float> matrix(schema.rows * e), row(e);
        for (std::size_t i = 0; i < schedules.size(); ++i) {
            CAPTURE(i);
            const auto rows = augur::tlp::extract_features(schedules[i], schema, matrix);
            std::vector<std::uint32_t> row_ids;
            std::vector<float> times;
            const std::size_t before = in_order.ids().size(), merged_before = merged.ids().size();
            REQUIRE(keys.add(schedules[i], row_ids, times) == static_cast<bool>(rows));
            REQUIRE(in_order.add(ids[i], table) == static_cast<bool>(rows));
            REQUIRE(merged.add(ids[i], table) == static_cast<bool>(rows));
            CHECK(static_cast<bool>(table.check(ids[i], primitives)) == static_cast<bool>(rows));
            if (!rows) {
                ++refused;
                continue;
            }
            if (schema.launch_features && *rows > ids[i].size() && !schema.pad) ++launch_rows;
            const auto expected = [&](std::size_t r) { return std::span<const float>(matrix).subspan(r * e, e); };
            const auto equal = [](std::span<const float> a, std::span<const float> b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
            // in order, by ids
            REQUIRE(in_order.ids().size() == before + *rows);
            for (std::size_t r = 0; r < *rows; ++r) CHECK(equal(in_order.rows().subspan(in_order.ids()[before + r] * e, e), expected(r)));
            // merged, by keys and by ids: the distinct rows in order of their first occurrence
            std::size_t distinct = 0;
            for (std::size_t r = 0; r < *rows; ++r) {
                std::size_t first = 0, count = 0;
                while (!equal(expected(first), expected(r))) ++first;
                if (first < r) continue;
                for (std::size_t other = r; other < *rows; ++other) count += equal(expected(other), expected(r)) ? 1 : 0;
                REQUIRE(distinct < row_ids.size());
                keys.write(row_ids[distinct], row.data());
                CHECK(equal(row, expected(r)));
                CHECK(times[distinct++] == static_cast<float>(count));
            }
            CHECK(distinct == row_ids.size());
            REQUIRE(merged.ids().size() >= merged_before + distinct); // more if a launch-feature row is equal to another row
            std::size_t total = 0;
            for (std::size_t t = merged_before; t < merged.ids().size(); ++t) total += merged.repeat()[t];
            CHECK(total == *rows);
        }
    }
    CHECK(refused > 100);
    CHECK(launch_rows > 100);
}
