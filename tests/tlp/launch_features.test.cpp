// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/launch_features.hpp>

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/tlp/features.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/schedule/steps_json.hpp>

#include "../loopnest/dags.hpp"

namespace {

using thread_rows = std::vector<augur::tlp::launch_follower::row>;

augur::step_list steps_in(const std::string& text) {
    augur::json_reader in(text);
    augur::step_list list;
    REQUIRE(augur::read_steps(in, list));
    return list;
}

thread_rows rows_of(const augur::step_list& s) {
    augur::recording_sink seen;
    augur::tlp::launch_follower follower;
    augur::tlp::launch_feature_sink<augur::recording_sink> sink(seen, follower);
    s.visit(sink);
    sink.finish();
    const auto told = follower.rows();
    // what was passed on: the schedule, then "TH" and four numbers a row
    augur::recording_sink plain;
    s.visit(plain);
    REQUIRE(seen.items.size() == plain.items.size() + 5 * told.size());
    for (std::size_t i = 0; i < plain.items.size(); ++i)
        CHECK((seen.items[i].type == plain.items[i].type && seen.items[i].text == plain.items[i].text));
    for (std::size_t r = 0; r < told.size(); ++r) {
        const auto* at = &seen.items[plain.items.size() + 5 * r];
        CHECK(at[0].text == "TH");
        for (std::size_t k = 0; k < 4; ++k) CHECK(at[1 + k].integer == told[r][k]);
    }
    return {told.begin(), told.end()};
}

/// A product of 64 x 256 and 256 x 96 on a GPU, as Ansor's sketch tiles it.
const char* const product = R"([["CHW", 2, "local"],
    ["SP", 2, 0, 64, [2, 4, 2, 1], 1], ["SP", 2, 5, 96, [1, 8, 3, 1], 1], ["SP", 2, 10, 256, [4, 2], 1],
    ["RE", 2, [0, 5, 1, 6, 2, 7, 10, 11, 3, 8, 12, 4, 9]],
    ["FSP", 3, 0, 1, 3], ["FSP", 3, 4, 2, 3], ["RE", 3, [0, 4, 1, 5, 2, 6, 3, 7]], ["CA", 2, 3, 5],
    ["CHR", 1, "shared", [2]], ["CA", 2, 3, 6],
    ["FU", 4, [0, 1]], ["AN", 4, 0, 5], ["FU", 4, [1, 2]], ["AN", 4, 1, 4], ["FU", 4, [2, 3]], ["AN", 4, 2, 6],
    ["FU", 2, [0, 1]], ["SP", 2, 0, 96, [3], 1], ["AN", 2, 1, 2], ["FFSP", 2, 0, [2, 1], 1, 1], ["AN", 2, 1, 6],
    ["PR", 3, 0, "auto_unroll_max_step$512"]])";

} // namespace

TEST_CASE("thread rows: worked by hand") {
    // rows 64 = 4 x 2 x 4 x (2 1), columns 96 = 4 x 1 x 8 x (3 1): 4 4 blocks, 2 1 virtual threads, 4 8 threads; a thread has 2 3 elements for each
    // virtual one. The copy of B has no row
    CHECK(rows_of(steps_in(product)) == thread_rows{{32, 12, 2, 16}});
    // an elementwise kernel: all loops fused, then split
    CHECK(rows_of(steps_in(R"([["FU", 1, [0, 1, 2, 3]], ["SP", 1, 0, 6000, [32], 1], ["AN", 1, 0, 5], ["AN", 1, 1, 6]])")) ==
          thread_rows{{32, 1, 0, 188}});
    // outside in: 5 parts of 20
    CHECK(rows_of(steps_in(R"([["SP", 1, 0, 100, [5], 0], ["AN", 1, 0, 5], ["AN", 1, 1, 6]])")) == thread_rows{{20, 1, 0, 5}});
    // no extent was told
    CHECK(rows_of(steps_in(R"([["AN", 1, 0, 6]])")) == thread_rows{{0, 1, 0, 0}});
    // the second stage is split like the first, but it is the one that has another number after the insertion
    CHECK(rows_of(steps_in(R"([["SP", 1, 0, 40, [8], 1], ["CHW", 1, "local"], ["AN", 2, 1, 6], ["AN", 1, 0, 6]])")) ==
          thread_rows{{8, 5, 0, 0}, {0, 1, 0, 0}});
    // CPU schedules have none
    CHECK(rows_of(steps_in(R"([["SP", 1, 0, 40, [8], 1], ["AN", 1, 0, 3], ["AN", 1, 1, 2]])")).empty());
}

TEST_CASE("thread rows: the extents are those of the loop nest that the steps make") {
    const auto dag = augur::loopnest::testing_dags::matmul(64, 96, 256);
    augur::loopnest::loop_state state(dag);
    const augur::step_list s = steps_in(product);
    REQUIRE(state.apply(s));
    const auto& c = state.stages().back();
    std::int64_t threads = 0, work = 1;
    for (std::size_t i = 0; i < c.iters.size(); ++i) {
        if (c.iters[i].annotation == augur::loop_annotation::thread_x) threads = c.var_of(i).extent;
        else if (c.iters[i].annotation != augur::loop_annotation::block_x) work *= c.var_of(i).extent;
    }
    const auto told = rows_of(s);
    REQUIRE(told.size() == 1);
    CHECK(told[0][0] == threads);
    CHECK(told[0][1] == work);
    CHECK(told[0][0] * told[0][1] * told[0][3] == 64 * 96);
}

TEST_CASE("thread rows: steps that contradict themselves end the following, and nothing breaks") {
    // a split of what is not there, a source that comes later, a fusion of loops that are not neighbours
    using namespace augur;
    using namespace augur::loopnest;
    for (const transform_step& bad : {transform_step(split_step{-1, 0, 8, {2}, true}), transform_step(split_step{1, 5000, 8, {2}, true}),
                                      transform_step(split_step{99999999, 0, 8, {2}, true}), transform_step(follow_split_step{1, 0, 7, 2}),
                                      transform_step(fuse_step{1, {0, 2}}), transform_step(follow_fused_split_step{1, 0, {0}, 3, true})}) {
        const split_step good{1, 0, 40, {8}, true};
        const annotate_step bound{1, 1, loop_annotation::thread_x};
        CHECK(rows_of({{good, bound}}) == thread_rows{{8, 5, 0, 0}});
        CHECK(rows_of({{good, bad, bound}}).empty());
        CHECK(rows_of({{good, bound, bad, bound}}) == thread_rows{{8, 5, 0, 0}});
    }
    // above 2^40 a product is not known
    CHECK(rows_of(steps_in(R"([["SP", 1, 0, 9007199254740993, [8, 1048576, 2097152], 1], ["AN", 1, 1, 6]])")) == thread_rows{{8, 0, 0, 0}});
    augur::random_engine rng(5);
    augur::tlp::launch_follower follower;
    for (int n = 0; n < 2000; ++n) {
        follower.clear();
        for (int i = 0; i < 12; ++i) {
            std::vector<std::int64_t> numbers(rng.below(7));
            for (auto& x : numbers) {
                x = static_cast<std::int64_t>(rng.below(9)) - 1;
                if (rng.below(20) == 0) x = static_cast<std::int64_t>(rng()) >> rng.below(64);
            }
            follower.step(rng.below(std::variant_size_v<augur::transform_step>), numbers);
        }
        for (const auto& row : follower.rows())
            for (const auto x : row) CHECK(x >= 0);
    }
}

TEST_CASE("thread rows: behind the primitives, the same from a schedule and from ids, within the crop") {
    const augur::step_list s = steps_in(product);
    augur::primitive_table primitives;
    std::vector<augur::primitive_id> ids;
    REQUIRE(augur::intern(primitives, s, ids));
    augur::tlp::launch_follower reused;
    for (const std::size_t places : {std::size_t{0}, std::size_t{8}})
        for (const std::size_t rows : {std::size_t{64}, ids.size() + 1, ids.size(), std::size_t{4}})
            for (const bool pad : {false, true}) {
                auto schema = augur::tlp::schema::ansor_gpu(rows, 12, places), plain = augur::tlp::schema::ansor(rows, 12, places);
                schema.pad = plain.pad = pad;
                REQUIRE(schema.check());
                CHECK(schema.hash() != plain.hash());
                CHECK_FALSE(augur::tlp::same_schema(schema, "a", plain, "b"));
                const std::size_t e = schema.columns;
                std::vector<float> got(rows * e), want(rows * e);
                const auto n = augur::tlp::extract_features(s, schema, got), m = augur::tlp::extract_features(s, plain, want);
                REQUIRE((n && m));
                std::vector<float> again(rows * e);
                REQUIRE(augur::tlp::extract_features(augur::step_list(), schema, again, reused));
                again.assign(rows * e, 0.0F);
                REQUIRE(augur::tlp::extract_features(s, schema, again, reused));
                CHECK(again == got);
                if (rows > ids.size()) {
                    if (!pad) CHECK(*n == *m + 1);
                    float* const row = want.data() + ids.size() * e;
                    row[14] = 1; // the column of TH, the first spare one of `ansor`
                    const float numbers[] = {32, 12, 2, 16};
                    std::copy(std::begin(numbers), std::end(numbers), row + schema.kind_columns);
                    if (places > 0) row[e - 1] = 1;
                }
                CHECK(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(*n * e), want.begin()));
                const augur::tlp::row_table table(schema, primitives);
                augur::tlp::deduplicated_batch by_ids(e, augur::tlp::row_order::kept), by_rows(e, augur::tlp::row_order::kept);
                REQUIRE(by_ids.add(ids, table));
                by_rows.add(std::span<const float>(got).first(*n * e));
                REQUIRE(by_ids.ids().size() == *n);
                for (std::size_t i = 0; i < *n; ++i)
                    CHECK(std::equal(by_ids.rows().begin() + static_cast<std::ptrdiff_t>(by_ids.ids()[i] * e),
                                     by_ids.rows().begin() + static_cast<std::ptrdiff_t>((by_ids.ids()[i] + 1) * e),
                                     got.begin() + static_cast<std::ptrdiff_t>(i * e)));
            }
}
