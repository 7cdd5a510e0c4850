// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/inference/frozen_model.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>
#include <thread>

#include <doctest/doctest.h>

#include "../model/counted_memory.hpp"
#include "data.hpp"

using counted_memory::allocations, counted_memory::live, counted_memory::peak;
using tlp_data::named_kernel, tlp_data::two_threads;

namespace {

template <class M>
std::vector<float> scores_of(M& model, std::span<const augur::step_list> batch) {
    std::vector<float> scores(batch.size(), -9);
    REQUIRE(model.score(named_kernel{}, batch, std::span<float>(scores)));
    return scores;
}

augur::tlp::trained_model model_of(const augur::tlp::schema& schema, const augur::tlp::config& config, std::uint64_t seed = 3) {
    auto model = augur::tlp::trained_model::random_init(schema, config, augur::random_engine(seed));
    REQUIRE(model);
    return *std::move(model);
}

/// The largest difference relative to the spread of the scores.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double worst = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        worst = (std::max)(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
        size = (std::max)(size, std::abs(static_cast<double>(a[i])));
    }
    return worst / size;
}

struct kernel_set {
    augur::isa level = augur::isa::generic;
    bool amx = false;
};
std::vector<kernel_set> kernel_sets() {
    std::vector<kernel_set> all;
    for (const auto level : {augur::isa::generic, augur::isa::avx2, augur::isa::avx512})
        if (level <= augur::best_isa()) all.push_back({level, false});
    if (augur::nn::kernels::amx_ready()) all.push_back({augur::isa::avx512, true});
    return all;
}

/// Rows that no other schedule has.
struct unshared {
    std::uint64_t seed = 0;
    void visit(auto& sink) const {
        augur::random_engine rng(seed);
        for (int r = 0; r < 25; ++r) {
            sink.primitive("SP");
            for (int i = 0; i < 9; ++i) sink.number(static_cast<std::int64_t>(rng.below(512)));
        }
    }
};

std::vector<std::size_t> best_first(const std::vector<float>& scores) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    return order;
}

double spearman(const std::vector<float>& a, const std::vector<float>& b) {
    const auto ranks = [](const std::vector<float>& s) {
        std::vector<double> r(s.size());
        const auto order = best_first(s);
        for (std::size_t i = 0; i < order.size(); ++i) r[order[i]] = static_cast<double>(i);
        return r;
    };
    const auto x = ranks(a), y = ranks(b);
    const auto n = static_cast<double>(a.size());
    double d = 0;
    for (std::size_t i = 0; i < x.size(); ++i) d += (x[i] - y[i]) * (x[i] - y[i]);
    return 1 - 6 * d / (n * (n * n - 1));
}

} // namespace

static_assert(augur::cost_model<augur::tlp::frozen_scorer<augur::serial_executor>, augur::step_list, named_kernel>);

TEST_CASE("tlp frozen: scores of the plain path, for every shape, size of batch and instruction set") {
    const auto batch = tlp_data::random_schedules(300, 5);
    augur::serial_executor serial;
    auto odd = augur::tlp::config::small(0);
    odd.encoder = {20, 30}; // nothing is a multiple of a vector
    odd.heads = 3;
    odd.decoder = {17};
    auto plain = augur::tlp::config::small(0);
    plain.residual_blocks = 0;
    plain.decoder = {};
    auto many = augur::tlp::config::small(0);
    many.encoder = {48};
    many.heads = 12; // two groups of lanes
    many.residual_blocks = 3;
    many.outputs = 2;
    for (const auto& config : {augur::tlp::config::small(0), augur::tlp::config::full(0), augur::tlp::config::authors(0), odd, plain, many})
        for (const auto& schema : {augur::tlp::schema::ansor(), augur::tlp::schema::authors_cpu(), augur::tlp::schema::authors_cpu(3, 14)})
            for (const auto [level, amx] : kernel_sets()) {
                const auto model = model_of(schema, config);
                augur::tlp::scorer<augur::serial_executor> scorer(model, serial, model.model.decoders.size() - 1);
                augur::tlp::freeze_options options;
                options.level = level;
                options.amx = amx;
                options.output = model.model.decoders.size() - 1;
                const auto frozen = augur::tlp::freeze(model, options);
                REQUIRE(frozen);
                auto fast = frozen->scorer(serial);
                CAPTURE(schema.name);
                CAPTURE(static_cast<int>(options.level));
                CAPTURE(options.amx);
                CAPTURE(config.encoder.size());
                for (const std::size_t n : {std::size_t{300}, std::size_t{1}, std::size_t{7}}) {
                    const auto part = std::span(batch).subspan(100 * (n % 3), n % 300 == 0 ? 200 : n);
                    CHECK(distance(scores_of(scorer, part), scores_of(fast, part)) < (amx ? 5e-5 : 2e-5));
                }
            }
}

TEST_CASE("tlp frozen: rows by their keys are the rows of the features") {
    auto batch = tlp_data::random_schedules(50, 9);
    batch[3].steps.emplace_back(augur::cache_write_step{0, "local"});
    batch[3].steps.emplace_back(augur::foreign_step{"XYZ", "[\"XYZ\",1]"});
    batch[4].steps.clear();
    auto zeros = augur::tlp::schema::authors_cpu(7, 30);
    zeros.unknown = augur::tlp::unknown_word::zeros;
    zeros.positions = 5;      // shares the last place, and leaves room for few numbers
    augur::step_list threads; // both kinds of row, and a thread row that is one already
    threads.steps = {augur::split_step{0, 0, 60, {6}, true}, augur::annotate_step{0, 0, augur::loop_annotation::block_x},
                     augur::annotate_step{0, 1, augur::loop_annotation::thread_x}};
    batch.push_back(threads);
    batch.push_back(threads);
    for (const auto& schema : {augur::tlp::schema::ansor(), augur::tlp::schema::ansor_gpu(), augur::tlp::schema::authors_cpu(),
                               augur::tlp::schema::authors_cpu(25, 9), zeros}) {
        CAPTURE(schema.name);
        augur::tlp::row_ids rows(schema, 4096);
        std::vector<float> want(schema.rows * schema.columns), got(schema.columns);
        for (const auto& s : batch) {
            const auto n = augur::tlp::extract_features(s, schema, std::span<float>(want));
            std::vector<std::uint32_t> ids;
            std::vector<float> times;
            REQUIRE(rows.add(s, ids, times) == static_cast<bool>(n));
            if (!n) CHECK((ids.empty() && times.empty()));
            if (!n) continue;
            augur::tlp::deduplicated_batch left(schema.columns), right(schema.columns);
            left.add(std::span<const float>(want).first(*n * schema.columns));
            std::vector<float> all;
            for (std::size_t i = 0; i < ids.size(); ++i) {
                rows.write(ids[i], got.data());
                for (float t = 0; t < times[i]; ++t) all.insert(all.end(), got.begin(), got.end());
            }
            right.add(std::span<const float>(all));
            // the same rows in the same order of first occurrence, as often
            CHECK(std::equal(left.rows().begin(), left.rows().end(), right.rows().begin(), right.rows().end()));
            CHECK(std::equal(left.repeat().begin(), left.repeat().end(), right.repeat().begin(), right.repeat().end()));
        }
    }
}

TEST_CASE("tlp frozen: the same batch gives the same scores, whatever came before and however many threads, and nothing is allocated") {
    const auto model = model_of(augur::tlp::schema::ansor(), augur::tlp::config::small(0));
    const auto batch = tlp_data::random_schedules(300, 5), other = tlp_data::random_schedules(200, 6);
    augur::serial_executor serial;
    two_threads threads;
    augur::tlp::freeze_options few;
    few.rows = 100; // the batch has more: it is cut
    for (const auto& options : {augur::tlp::freeze_options{}, few}) {
        const auto frozen = augur::tlp::freeze(model, options);
        REQUIRE(frozen);
        auto scorer = frozen->scorer(serial);
        const auto scores = scores_of(scorer, batch);
        CHECK(distance(scores_of(scorer, std::span(batch).subspan(30, 50)), {scores.begin() + 30, scores.begin() + 80}) < 1e-5);
        auto second = frozen->scorer(threads);
        static_cast<void>(scores_of(second, other)); // knows other rows
        CHECK(scores_of(second, batch) == scores);
        std::vector<float> again(300), one(1);
        const named_kernel k;
        bool fine = static_cast<bool>(scorer.score(k, std::span<const augur::step_list>(batch), std::span<float>(again)));
        fine = fine && scorer.score(k, std::span<const augur::step_list>(batch).first(1), std::span<float>(one));
        const std::size_t before = allocations;
        for (int i = 0; i < 3; ++i) fine = fine && scorer.score(k, std::span<const augur::step_list>(batch), std::span<float>(again));
        fine = fine && scorer.score(k, std::span<const augur::step_list>(batch).first(1), std::span<float>(one));
        CHECK(allocations == before);
        CHECK(fine);
        CHECK(again == scores);
    }
}

TEST_CASE("tlp frozen: bf16 keeps the ranking") {
    const auto batch = tlp_data::random_schedules(400, 5);
    augur::serial_executor serial;
    for (const std::uint64_t seed : {3U, 4U}) {
        auto model = model_of(augur::tlp::schema::ansor(), augur::tlp::config::full(0), seed);
        for (auto& l : model.model.encoder) l.W *= 2; // as after training: rows differ, and so do scores
        augur::tlp::freeze_options options;
        const auto single = augur::tlp::freeze(model, options);
        options.precision = augur::tlp::precision::bf16;
        options.portable_bf16 = true;
        const auto half = augur::tlp::freeze(model, options);
        REQUIRE((single && half));
        CHECK(single->precision() == augur::tlp::precision::single);
        CHECK(half->precision() == augur::tlp::precision::bf16);
        auto a = single->scorer(serial);
        auto b = half->scorer(serial);
        const auto exact = scores_of(a, batch), rounded = scores_of(b, batch);
        CHECK(spearman(exact, rounded) > 0.998);
        CHECK(distance(exact, rounded) < 0.01);
        // top-k: how near the best of the k best by the rounded scores comes to the best
        const auto [low, high] = std::minmax_element(exact.begin(), exact.end());
        const auto order = best_first(rounded);
        for (const std::size_t k : {1U, 5U}) {
            float best = *low;
            for (std::size_t i = 0; i < k; ++i) best = (std::max)(best, exact[order[i]]);
            CHECK((*high - best) / (*high - *low) < 0.002F);
        }
        for (std::size_t i = 0; i < 8; ++i) // alone, where the heads' results are folded instead
            CHECK(std::abs(scores_of(b, std::span(batch).subspan(i, 1))[0] - exact[i]) < 0.01F * std::abs(exact[i]) + 0.01F * (*high - *low));
    }
    augur::tlp::freeze_options options;
    options.precision = augur::tlp::precision::bf16;
    const auto native = augur::tlp::freeze(model_of(augur::tlp::schema::ansor(), augur::tlp::config::small(0)), options);
    REQUIRE(native);
    CHECK((native->precision() == augur::tlp::precision::bf16) == (augur::nn::kernels::has_fast_bf16() || augur::nn::kernels::amx_ready()));
}

TEST_CASE("tlp frozen: bf16 is near float for every instruction set, also where heads and widths leave pairs and panels unfilled") {
    const auto batch = tlp_data::random_schedules(300, 5);
    augur::serial_executor serial;
    auto odd = augur::tlp::config::small(0);
    odd.encoder = {20, 30};
    odd.heads = 3;
    odd.decoder = {17};
    auto many = augur::tlp::config::small(0);
    many.encoder = {48};
    many.heads = 12;
    auto plain = augur::tlp::config::small(0);
    plain.residual_blocks = 0;
    for (const auto& config : {augur::tlp::config::small(0), odd, many, plain}) {
        const auto model = model_of(augur::tlp::schema::ansor(), config);
        augur::tlp::scorer<augur::serial_executor> exact(model, serial);
        const auto want = scores_of(exact, batch);
        for (const auto [level, amx] : kernel_sets()) {
            augur::tlp::freeze_options options;
            options.level = level;
            options.amx = amx;
            options.precision = augur::tlp::precision::bf16;
            options.portable_bf16 = true;
            const auto half = augur::tlp::freeze(model, options);
            REQUIRE(half);
            CHECK(half->precision() == augur::tlp::precision::bf16);
            auto scorer = half->scorer(serial);
            CAPTURE(config.encoder.size());
            CAPTURE(config.heads);
            CAPTURE(static_cast<int>(level));
            CHECK(distance(want, scores_of(scorer, batch)) < 0.01);
        }
    }
}

TEST_CASE("tlp frozen: memory is bounded, also where no row is shared") {
    const auto model = model_of(augur::tlp::schema::ansor(), augur::tlp::config::full(0));
    const auto frozen = augur::tlp::freeze(model);
    REQUIRE(frozen);
    augur::serial_executor serial;
    std::vector<unshared> batch;
    for (std::uint64_t i = 0; i < 150; ++i) batch.push_back({i}); // 3750 rows
    const auto many = tlp_data::random_schedules(600, 1);
    std::vector<float> scores(batch.size());
    const std::size_t before = live;
    peak = before;
    {
        auto scorer = frozen->scorer(serial);
        static_cast<void>(scores_of(scorer, many));
        REQUIRE(scorer.score(named_kernel{}, std::span<const unshared>(batch), std::span<float>(scores)));
        static_cast<void>(scores_of(scorer, many));
    }
    CHECK(peak - before < 64'000'000);
    CHECK(live == before);
    auto plain = model.scorer(serial);
    std::vector<float> want(batch.size());
    REQUIRE(plain.score(named_kernel{}, std::span<const unshared>(batch), std::span<float>(want)));
    CHECK(distance(want, scores) < 2e-5);
}

TEST_CASE("tlp frozen: queries that are far from every key, and from some") {
    auto model = model_of(augur::tlp::schema::ansor(), augur::tlp::config::small(0));
    model.model.attention.front().in_proj.W *= 40; // the exponentials of a pair table would vanish
    const auto batch = tlp_data::random_schedules(300, 5);
    augur::serial_executor serial;
    auto plain = model.scorer(serial);
    const auto frozen = augur::tlp::freeze(model);
    REQUIRE(frozen);
    auto fast = frozen->scorer(serial);
    CHECK(distance(scores_of(plain, batch), scores_of(fast, batch)) < 1e-4);
}

TEST_CASE("tlp frozen: what cannot be scored or frozen") {
    auto model = model_of(augur::tlp::schema::authors_cpu(), augur::tlp::config::small(0));
    augur::serial_executor serial;
    const auto frozen = augur::tlp::freeze(model);
    REQUIRE(frozen);
    auto scorer = frozen->scorer(serial);
    auto batch = tlp_data::random_schedules(3, 5);
    batch[1].steps.emplace_back(augur::storage_align_step{0, 0, 8, 0});
    const auto scores = scores_of(scorer, batch);
    CHECK(std::isfinite(scores[0]));
    CHECK(scores[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isfinite(scores[2]));
    CHECK(scores_of(scorer, {}).empty());
    std::vector<float> short_of(2);
    CHECK(scorer.score(named_kernel{}, std::span<const augur::step_list>(batch), std::span<float>(short_of)).error().code ==
          augur::errc::shape_mismatch);

    const auto refused = [](const augur::tlp::trained_model& m, const augur::tlp::freeze_options& options = {}) {
        return augur::tlp::freeze(m, options).error();
    };
    auto lstm = augur::tlp::config::small(0);
    lstm.backbone = augur::tlp::backbone::lstm;
    CHECK(refused(model_of(augur::tlp::schema::ansor(), lstm)).code == augur::errc::unsupported);
    auto deep = augur::tlp::config::small(0);
    deep.attention_layers = 2;
    CHECK(refused(model_of(augur::tlp::schema::ansor(), deep)).code == augur::errc::unsupported);
    augur::tlp::freeze_options options;
    options.output = 1;
    CHECK(refused(model, options).code == augur::errc::invalid_argument);
    options = {};
    options.rows = std::size_t{1} << 60U;
    CHECK(refused(model, options).code == augur::errc::limit);
    auto other = model;
    other.schema = augur::tlp::schema::ansor();
    CHECK(refused(other).code == augur::errc::shape_mismatch);
    model.model.blocks.front().inner.W(0, 0) = std::numeric_limits<float>::quiet_NaN();
    const auto why = refused(model);
    CHECK(why.code == augur::errc::invalid_argument);
    CHECK(why.detail.find("l_list.0.0.weight") != std::string::npos);
}
