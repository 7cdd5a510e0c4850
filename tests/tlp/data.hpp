// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_MODEL_TLP_DATA_HPP
#define AUGUR_TESTS_MODEL_TLP_DATA_HPP

/// @file
/// What the TLP tests share: a kernel, an executor, reference networks, schedules of reference records, and random schedules.

#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/schedule/steps_json.hpp>

namespace tlp_data {

struct named_kernel {
    std::string name = "a";
    [[nodiscard]] std::string_view key() const { return name; }
};

/// Two threads that take the work in another order than one would.
struct two_threads {
    template <class F>
    void bulk(std::size_t n, const F& f) const {
        std::thread other([&] {
            for (std::size_t i = 1; i < n; i += 2) f(i);
        });
        for (std::size_t i = 0; i < n; i += 2) f(i);
        other.join();
    }
    [[nodiscard]] static std::size_t concurrency() { return 2; }
};

inline nlohmann::json load(const std::string& name) {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/" + name);
    return nlohmann::json::parse(file);
}

inline augur::step_list steps_of(const std::string& line) {
    const std::string text = nlohmann::json::parse(line)["i"][1][1].dump();
    augur::json_reader in(text);
    augur::step_list list;
    REQUIRE(augur::read_steps(in, list));
    return list;
}

inline augur::tlp::deduplicated_batch bags_of(const std::vector<augur::step_list>& schedules, const augur::tlp::schema& schema, float scale = 1,
                                              augur::tlp::row_order order = augur::tlp::row_order::free) {
    augur::tlp::deduplicated_batch bags(schema.columns, order);
    std::vector<float> rows(schema.rows * schema.columns);
    for (const auto& s : schedules) {
        const auto n = augur::tlp::extract_features(s, schema, rows);
        REQUIRE(n);
        for (float& x : rows) x *= scale;
        bags.add(std::span<const float>(rows).first(*n * schema.columns));
    }
    return bags;
}

/// The weights of the reference file: a hash of the place of each element, in torch's order (out, in).
template <class S>
augur::tlp::model<S> reference_model(const augur::tlp::config& config) {
    auto net = augur::tlp::model<S>::zeros(config);
    std::uint32_t k = 0;
    augur::tlp::model<S>::visit(
        [&](std::string_view, auto& p) {
            constexpr bool is_matrix = std::remove_cvref_t<decltype(p)>::RowsAtCompileTime != 1;
            const auto in = p.rows(); // ours is (in, out)
            for (augur::nn::index i = 0; i < p.size(); ++i) {
                std::uint32_t h = static_cast<std::uint32_t>(i) + 0x9E3779B9U * (k + 1);
                h ^= h >> 16U;
                h *= 0x85EBCA6BU;
                h ^= h >> 13U;
                h *= 0xC2B2AE35U;
                h ^= h >> 16U;
                const double a = is_matrix ? 1 / std::sqrt(static_cast<double>(in)) : 0.05;
                const double value = a * (2.0 * h / 4294967296.0 - 1);
                if (is_matrix) p(i % in, i / in) = static_cast<S>(value); // torch element (i / in, i % in)
                else p(0, i) = static_cast<S>(value);
            }
            ++k;
        },
        net);
    return net;
}
template <class S>
augur::tlp::model<S> reference_model(augur::nn::index columns) {
    return reference_model<S>(augur::tlp::config::authors(columns));
}

/// A random tiled matrix product, much as Ansor's: some of the rows are shared by many.
inline augur::step_list random_schedule(augur::random_engine& rng) {
    augur::step_list list;
    const auto power = [&](int most) { return std::int64_t{1} << rng.below(static_cast<std::uint64_t>(most) + 1); };
    for (std::int64_t axis = 0; axis < 2; ++axis) list.steps.emplace_back(augur::split_step{2, 4 * axis, 512, {power(3), power(2), power(4)}, true});
    list.steps.emplace_back(augur::split_step{2, 8, 512, {power(6)}, true});
    list.steps.emplace_back(augur::reorder_step{2, {0, 4, 1, 5, 8, 2, 6, 9, 3, 7}});
    list.steps.emplace_back(augur::fuse_step{2, {0, 1}});
    list.steps.emplace_back(augur::annotate_step{2, 0, augur::loop_annotation::parallel});
    list.steps.emplace_back(augur::pragma_step{2, 0, "auto_unroll_max_step$" + std::to_string(rng.below(2) == 0 ? 64 : 512)});
    if (rng.below(2) == 0) list.steps.emplace_back(augur::annotate_step{2, 9, augur::loop_annotation::vectorize});
    return list;
}
inline std::vector<augur::step_list> random_schedules(std::size_t n, std::uint64_t seed) {
    augur::random_engine rng(seed);
    std::vector<augur::step_list> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(random_schedule(rng));
    return all;
}

} // namespace tlp_data

#endif
