// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/kernels/head_lanes.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"

namespace k = augur::nn::kernels;

TEST_CASE("head lanes: softmax with multiplicities against a double loop") {
    for (const auto level : {k::isa::generic, k::isa::avx2, k::isa::avx512}) {
        if (level > k::best_isa()) continue;
        const auto f = k::head_lane_functions(level);
        for (const std::ptrdiff_t n : {1, 3, 4, 13})
            for (const std::ptrdiff_t heads : {3, 8, 12}) {
                const std::ptrdiff_t d = 5, groups = (heads + 7) / 8, lanes = 8 * groups, size = lanes * d;
                const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
                augur::random_engine rng(7);
                std::vector<float> q(at(n * size)), key(at(n * size)), times(at(n));
                for (float& x : q) x = static_cast<float>(rng.uniform(-3, 3));
                for (float& x : key) x = static_cast<float>(rng.uniform(-3, 3));
                for (float& x : times) x = static_cast<float>(1 + rng.below(3));
                const std::ptrdiff_t row = k::whole_blocks(n, k::key_block) * lanes;
                std::vector<const float*> qs, ks;
                for (std::ptrdiff_t i = 0; i < k::whole_blocks(n, k::query_block * k::key_block); ++i) {
                    qs.push_back(q.data() + (std::min)(i, n - 1) * size);
                    ks.push_back(key.data() + (std::min)(i, n - 1) * size);
                }
                std::vector<float> w(at(k::whole_blocks(n, k::query_block) * row)), logs(at(n * lanes));
                f.scores(qs.data(), n, ks.data(), n, d, groups, w.data(), row);
                f.soften(w.data(), n, row, times.data(), n, lanes, logs.data());
                double worst = 0;
                for (std::ptrdiff_t i = 0; i < n; ++i)
                    for (std::ptrdiff_t h = 0; h < heads; ++h) {
                        std::vector<double> e;
                        double sum = 0;
                        for (std::ptrdiff_t j = 0; j < n; ++j) {
                            double s = 0;
                            for (std::ptrdiff_t c = 0; c < d; ++c) {
                                const std::ptrdiff_t place = (h / 8 * d + c) * 8 + h % 8;
                                s += static_cast<double>(q[at(i * size + place)]) * static_cast<double>(key[at(j * size + place)]);
                            }
                            e.push_back(static_cast<double>(times[at(j)]) * std::exp(s));
                            sum += e.back();
                        }
                        for (std::ptrdiff_t j = 0; j < n; ++j)
                            worst = std::max(worst, std::abs(e[at(j)] / sum - static_cast<double>(w[at(i * row + j * lanes + h)])));
                        worst =
                            std::max(worst, std::abs(std::log(sum) - static_cast<double>(logs[at(i * lanes + h)])) / (1 + std::abs(std::log(sum))));
                    }
                CAPTURE(n);
                CAPTURE(heads);
                CHECK(worst < 3e-6);

                auto slope = w; // dL/d(share), any numbers
                for (float& x : slope) x = static_cast<float>(rng.uniform(-2, 2));
                const auto d_share = slope;
                f.soften_backward(w.data(), slope.data(), n, row, n, lanes, 0.25F);
                for (std::ptrdiff_t i = 0; i < n; ++i)
                    for (std::ptrdiff_t l = 0; l < lanes; ++l) {
                        const auto of = [&](const std::vector<float>& x, std::ptrdiff_t j) {
                            return static_cast<double>(x[at(i * row + j * lanes + l)]);
                        };
                        double mean = 0;
                        for (std::ptrdiff_t j = 0; j < n; ++j) mean += of(w, j) * of(d_share, j);
                        for (std::ptrdiff_t j = 0; j < n; ++j)
                            worst = std::max(worst, std::abs(of(w, j) * (of(d_share, j) - mean) * 0.25 - of(slope, j)));
                    }
                CHECK(worst < 3e-6);
            }
    }
}

TEST_CASE("head lanes: AVX2 and AVX-512 agree to the last bit, beside any number of queries and keys" MAY_SKIP) {
    if (k::best_isa() < k::isa::avx512) SKIP_CASE("no AVX-512 here");
    for (const std::ptrdiff_t queries : {1, 2, 3, 4, 9})
        for (const std::ptrdiff_t keys : {1, 3, 4, 6, 7, 9, 10, 25})
            for (const std::ptrdiff_t groups : {1, 2}) {
                const std::ptrdiff_t d = 7, lanes = 8 * groups, row = (2 + k::whole_blocks(keys, k::key_block)) * lanes;
                const auto run = [&](k::isa level) {
                    const auto f = k::head_lane_functions(level);
                    augur::random_engine rng(9);
                    const auto draw = [&](std::ptrdiff_t n) {
                        std::vector<float> x(static_cast<std::size_t>(n));
                        for (float& v : x) v = static_cast<float>(rng.uniform(-5, 5));
                        return x;
                    };
                    const auto q = draw(queries * lanes * d), key = draw(keys * lanes * d);
                    std::vector<float> times(static_cast<std::size_t>(keys), 1.0F);
                    times.back() = 3;
                    std::vector<const float*> qs, ks;
                    for (std::ptrdiff_t i = 0; i < k::whole_blocks(queries, k::query_block); ++i)
                        qs.push_back(q.data() + (std::min)(i, queries - 1) * lanes * d);
                    for (std::ptrdiff_t j = 0; j < k::whole_blocks(keys, k::key_block); ++j)
                        ks.push_back(key.data() + (std::min)(j, keys - 1) * lanes * d);
                    auto out = draw(k::whole_blocks(queries, k::query_block) * row + queries * lanes + 1); // weights, then the sums' logarithms
                    f.scores(qs.data(), queries, ks.data(), keys, d, groups, out.data(), row);
                    f.soften(out.data(), queries, row, times.data(), keys, lanes, out.data() + k::whole_blocks(queries, k::query_block) * row);
                    auto back = draw(k::whole_blocks(queries, k::query_block) * row);
                    f.soften_backward(out.data(), back.data(), queries, row, keys, lanes, 0.5F);
                    out.insert(out.end(), back.begin(), back.end());
                    return out;
                };
                CAPTURE(queries);
                CAPTURE(keys);
                CHECK(run(k::isa::avx2) == run(k::isa::avx512));
            }
}
