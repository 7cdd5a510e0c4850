// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/nest/options.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <augur/program/nest/features_of_nest.hpp>
#include <augur/target/machine_presets.hpp>
#include <doctest/doctest.h>

namespace nest_options_test {

using namespace augur;

namespace {

/// A level of `caches`: its number, bytes, bytes of a line, sharers, ways.
machine x86(std::int64_t vector_bytes, std::vector<cache_level> caches) {
    machine m;
    m.architecture = "x86_64";
    m.vector_bytes = vector_bytes;
    m.caches = std::move(caches);
    return m;
}

} // namespace

TEST_CASE("nest options: of a machine with AVX2 and of one with AVX-512") {
    // Skylake client: 16 registers of 32 bytes; 32 KiB of 8 ways, 256 KiB of 4 ways, 8 MiB of 16 ways
    const auto avx2 = nest_options::of(x86(32, {{1, 32768, 64, 2, 8}, {2, 262144, 64, 2, 4}, {3, 8388608, 64, 8, 16}}));
    CHECK(avx2.registers == 16);
    CHECK(avx2.register_bytes == 32);
    CHECK(avx2.line_bytes == 64);
    CHECK(avx2.sets == std::vector<std::uint64_t>{64, 1024});
    // Sapphire Rapids: 32 registers of 64 bytes; 48 KiB of 12 ways, 2 MiB of 16 ways, 105 MiB of 15 ways
    const auto avx512 = nest_options::of(x86(64, {{1, 49152, 64, 2, 12}, {2, 2097152, 64, 2, 16}, {3, 110100480, 64, 112, 15}}));
    CHECK(avx512.registers == 32);
    CHECK(avx512.register_bytes == 64);
    CHECK(avx512.line_bytes == 64);
    CHECK(avx512.sets == std::vector<std::uint64_t>{64, 2048});
    const nest_options usual; // what no machine tells
    for (const auto& o : {avx2, avx512}) {
        CHECK(o.unrolled == usual.unrolled);
        CHECK(o.accesses == usual.accesses);
        CHECK(o.warm == usual.warm);
    }
}

TEST_CASE("nest options: other lines, equal set counts, and what a machine does not tell") {
    machine arm; // 32 registers of 16 bytes; lines of 128 bytes; 128 KiB of 8 ways and 16 MiB of 128 ways: 128 and 1024 sets
    arm.architecture = "aarch64";
    arm.caches = {{1, 131072, 128, 1, 8}, {2, 16777216, 128, 4, 128}};
    const auto o = nest_options::of(arm);
    CHECK(o.registers == 32);
    CHECK(o.register_bytes == 16);
    CHECK(o.line_bytes == 128);
    CHECK(o.sets == std::vector<std::uint64_t>{128, 1024});

    CHECK(nest_options::of(x86(32, {{1, 65536, 64, 1, 16}, {2, 131072, 64, 1, 32}})).sets == std::vector<std::uint64_t>{64}); // both have 64
    const nest_options usual;
    const auto unknown = nest_options::of(x86(16, {{1, 32768, 64, 1, 0}})); // nobody knows the ways
    CHECK(unknown.sets == usual.sets);
    CHECK(nest_options::of(x86(16, {})).line_bytes == usual.line_bytes);
    CHECK(nest_options::of(x86(16, {})).sets == usual.sets);
    CHECK(nest_options::of(x86(16, {{1, 32768, 0, 1, 8}})).sets == usual.sets);
}

TEST_CASE("nest options: a sum in more values than the machine has registers is loaded and stored in the loop") {
    loop_nest_builder nest; // 20 sums over 64 rows of 20 vectors of 8 floats
    nest.buffer(std::int64_t{64} * 20 * 8 * 4);
    nest.buffer(std::int64_t{20} * 8 * 4);
    nest.begin_loop(64, nest_annotation::serial);
    nest.begin_loop(20, nest_annotation::unrolled);
    nest.begin_loop(8, nest_annotation::vectorized);
    nest_statement s;
    const nest_access sum{1, element_type::f32, 0, {{1, 8}, {2, 1}}};
    const auto old = s.load(sum);
    const auto x = s.load({0, element_type::f32, 0, {{0, 160}, {1, 8}, {2, 1}}});
    s.store(sum, s.add(instruction_class::fadd, element_type::f32, {old, x}));
    nest.statement(s);
    for (int i = 0; i < 3; ++i) nest.end_loop();
    const auto stores = [&](const machine& m) { // how many vectors are stored
        const auto p = features_of_nest(nest, nest_options::of(m));
        REQUIRE(p);
        std::uint64_t n = 0;
        for (const auto& b : p->functions[0].flow.values())
            for (const auto& i : b.code.values()) n += i.op == instruction_class::store ? b.count : 0;
        return n;
    };
    CHECK(stores(epyc_zen4()) == 20);          // AVX-512: each once, after the loop
    CHECK(stores(epyc_7763()) == 16 + 4 * 64); // AVX2: 16 of them once, the other four in each row
}

} // namespace nest_options_test
