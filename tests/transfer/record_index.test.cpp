// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/transfer/record_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

using namespace augur;
using transfer::record_index, transfer::near_record, transfer::workload_arguments;

namespace {

struct kernel_like {
    class_levels levels;
    workload_arguments arguments;
};
kernel_like draw(random_engine& rng) {
    const auto operations = std::to_string(rng.below(3)), dag = operations + "/" + std::to_string(rng.below(2));
    kernel_like k;
    k.arguments.dag = dag;
    std::string text = dag;
    for (int i = 0; i < 2; ++i) {
        k.arguments.arguments.push_back({std::int64_t{1} << rng.below(4), {}});
        text += "," + std::to_string(k.arguments.arguments.back().number);
    }
    k.levels.set(class_level::prefix, operations == "2" ? "b" : "a")
        .set(class_level::operations, operations)
        .set(class_level::structure, std::to_string(rng.below(2)));
    if (rng.below(5) != 0) k.levels.set(class_level::dag, dag).set(class_level::workload, text);
    return k;
}

} // namespace

TEST_CASE("record index: what a scan of all records finds, at every level") {
    random_engine rng(7);
    std::vector<kernel_like> kernels;
    record_index index(6);
    struct entry {
        std::size_t kernel;
        double latency;
    };
    std::vector<entry> records;
    for (int k = 0; k < 60; ++k) {
        kernels.push_back(draw(rng));
        CHECK(index.add_kernel(kernels.back().levels, kernels.back().arguments) == static_cast<std::size_t>(k));
    }
    for (std::uint64_t r = 0; r < 3000; ++r) {
        records.push_back({rng.below(kernels.size()), 1 + static_cast<double>(rng.below(50))});
        index.add_record(records.back().kernel, r, records.back().latency);
    }
    std::size_t found = 0;
    for (int t = 0; t < 40; ++t) {
        const auto target = draw(rng);
        for (const auto level : {class_level::prefix, class_level::operations, class_level::canonical, class_level::structure, class_level::dag,
                                 class_level::workload}) {
            std::vector<near_record> all;
            for (std::uint64_t r = 0; r < records.size(); ++r) {
                const auto& k = kernels[records[r].kernel];
                const class_agreement agreement(k.levels, target.levels);
                if (!agreement.at(level) || agreement.at(class_level::workload)) continue;
                all.push_back({r, records[r].kernel, *agreement.finest(), workload_distance(target.arguments, k.arguments), records[r].latency});
            }
            std::sort(all.begin(), all.end());
            std::vector<std::size_t> taken(kernels.size());
            std::vector<near_record> expected; // no more of a kernel than are kept
            for (const auto& r : all)
                if (taken[r.kernel]++ < 6 && expected.size() < 16) expected.push_back(r);
            const auto got = index.nearest(target.levels, target.arguments, 16, level);
            REQUIRE(got.size() == expected.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
                CHECK(got[i].record == expected[i].record);
                CHECK(got[i].kernel == expected[i].kernel);
                CHECK(got[i].distance == expected[i].distance);
                CHECK(got[i].latency == expected[i].latency);
            }
            found += got.size();
        }
    }
    CHECK(found > 500);
}

TEST_CASE("record index: the example") {
    struct record {
        std::uint64_t offset;
        double latency;
    };
    struct logged_kernel {
        class_levels levels;
        workload_arguments arguments;
        std::vector<record> records;
    };
    const auto dense = class_levels().set(class_level::operations, "dense");
    const std::vector<logged_kernel> kernels{{dense, {}, {{100, 3.0}, {200, 1.0}}}, {dense, {}, {{300, 2.0}}}, {{}, {}, {{400, 0.5}}}};
    const logged_kernel target{dense, {}, {}};
    std::vector<std::uint64_t> read;
    const auto read_record = [&](std::uint64_t offset) { read.push_back(offset); };
#include <snippets/transfer/record_index.hpp.1.inc>
    CHECK(read == std::vector<std::uint64_t>{200, 300, 100});
}

TEST_CASE("record index: nothing is near to a kernel without a class, and none of nothing") {
    record_index index;
    const class_levels unknown;
    CHECK(index.nearest(unknown, {}, 16).empty());
    const auto k = index.add_kernel(unknown, {});
    index.add_record(k, 1, 1.0);
    CHECK(index.nearest(unknown, {}, 16).empty());
    const auto known = class_levels().set(class_level::operations, "dense");
    index.add_record(index.add_kernel(known, {}), 2, 1.0);
    CHECK(index.nearest(known, {}, 0).empty());
    REQUIRE(index.nearest(known, {}, 16).size() == 1);
    CHECK(index.kernels() == 2);
}
