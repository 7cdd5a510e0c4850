// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/target/isa_level.hpp>

#include <algorithm>
#include <string>

#include <augur/target/machine_check.hpp>
#include <augur/target/machine_presets.hpp>

#include <doctest/doctest.h>

namespace isa_level_test {

using namespace augur;

namespace {

constexpr isa_level levels[] = {isa_level::native, isa_level::x86_64_v2, isa_level::x86_64_v3, isa_level::x86_64_v4, isa_level::aarch64};

machine preset(const char* name) {
    auto m = machine_preset(name);
    REQUIRE(m);
    return *std::move(m);
}

} // namespace

TEST_CASE("isa_level: names are read back, others are refused") {
    for (const auto l : levels) {
        const auto read = parse_isa_level(to_string(l));
        REQUIRE(read);
        CHECK(*read == l);
    }
    for (const char* wrong : {"", "v3", "x86-64", "x86-64-v5", "X86-64-V3", "avx2"}) {
        const auto read = parse_isa_level(wrong);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == errc::invalid_argument);
        CHECK(read.error().detail.find("expected native, x86-64-v2") != std::string::npos);
        CHECK(read.error().detail.find("'" + std::string(wrong) + "'") != std::string::npos);
    }
    CHECK(target_text(isa_level::native) == "c -keys=cpu -mcpu=native"); // as in logs of earlier versions
    CHECK(target_text(isa_level::x86_64_v3) == "c -keys=cpu -mcpu=x86-64-v3");
}

TEST_CASE("isa_level: registers and multiply-add of the levels") {
    struct {
        isa_level level;
        int bytes, registers;
        bool multiply_add;
    } const expected[] = {{isa_level::x86_64_v2, 16, 16, false},
                          {isa_level::x86_64_v3, 32, 16, true},
                          {isa_level::x86_64_v4, 64, 32, true},
                          {isa_level::aarch64, 16, 32, true}};
    for (const auto& e : expected) {
        const auto m = machine_of(e.level);
        CAPTURE(to_string(e.level));
        CHECK(m.vector_bytes == e.bytes);
        CHECK(m.vector_registers() == e.registers);
        CHECK(m.has_multiply_add() == e.multiply_add);
        CHECK(std::is_sorted(m.features.begin(), m.features.end()));
        const auto same = machine_at(m, e.level);
        REQUIRE(same);
        CHECK(*same == m);
    }
}

TEST_CASE("isa_level: a machine at a level has what the level has") {
    for (const char* name : {"xeon-gold-5220r", "epyc-7763", "epyc-zen4", "cortex-a72"})
        for (const auto l : levels) {
            CAPTURE(name);
            CAPTURE(to_string(l));
            const auto whole = preset(name);
            const auto m = machine_at(whole, l);
            const bool arm = whole.architecture == "aarch64";
            const bool runs = l == isa_level::native || (l == isa_level::aarch64) == arm;
            REQUIRE(static_cast<bool>(m) == (runs && !(l == isa_level::x86_64_v4 && std::string(name) == "epyc-7763")));
            if (!m) {
                CHECK(m.error().code == errc::unsupported);
                CHECK(m.error().detail.find(to_string(l)) != std::string::npos);
                continue;
            }
            CHECK(check_machine(*m));
            if (l == isa_level::native) {
                CHECK(*m == whole);
                continue;
            }
            CHECK(m->vector_bytes == machine_of(l).vector_bytes);
            CHECK(m->has_multiply_add() == (l != isa_level::x86_64_v2));
            CHECK(m->folds(fold_hint::multiply_add) == (whole.folds(fold_hint::multiply_add) && l != isa_level::x86_64_v2));
            CHECK(m->caches == whole.caches);
            const auto count = [&](const machine& of, auto&& wanted) { return std::count_if(of.costs.begin(), of.costs.end(), wanted); };
            CHECK(count(*m, [](const instruction_cost& c) { return c.lanes == 1 && c.op != instruction_class::fma; }) ==
                  count(whole, [](const instruction_cost& c) { return c.lanes == 1 && c.op != instruction_class::fma; }));
        }
}

TEST_CASE("isa_level: this machine at a level, or the reason why not") {
    const auto here = detect_machine();
    const auto native = detect_machine(isa_level::native);
    REQUIRE(native);
    CHECK(native->vector_bytes == here.vector_bytes);
    for (const auto l : levels) {
        const auto m = detect_machine(l);
        CAPTURE(to_string(l));
        if (m) {
            CHECK(m->vector_bytes <= here.vector_bytes);
            CHECK(m->processors == here.processors);
            continue;
        }
        CHECK(m.error().code == errc::unsupported);
        CHECK(m.error().detail.find("expected") != std::string::npos);
    }
    CHECK(static_cast<bool>(detect_machine(isa_level::aarch64)) == (here.architecture == "aarch64"));
}

} // namespace isa_level_test
