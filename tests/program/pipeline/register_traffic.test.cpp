// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/pipeline/register_traffic.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/target/machine_presets.hpp>
#include <doctest/doctest.h>

namespace register_traffic_test {

using namespace augur;

namespace {

using op = instruction_class;
constexpr auto f32 = element_type::f32;

/// A block that holds `n` vectors from other blocks, the first `changed` of which it changes.
struct holder {
    graphlet code;
    std::vector<std::uint8_t> changed;
    holder(std::uint32_t n, std::uint32_t changes, instruction what) {
        graphlet_builder b;
        for (std::uint32_t i = 0; i < n; ++i) b.add({op::fma, what.type, fold_hint::none, what.lanes}, {b.add(what)});
        code = std::move(b).take();
        changed.assign(code.size(), 0);
        for (std::uint32_t i = 0; i < changes; ++i) changed[2 * i] = 1;
    }
};
struct added {
    std::size_t loads = 0, shuffles = 0, stores = 0;
    friend bool operator==(const added&, const added&) = default;
};
added traffic(const holder& h, const register_file& registers) {
    const auto more = with_register_traffic(h.code, h.changed, registers);
    if (!more) return {};
    for (std::uint32_t v = 0; v < h.code.size(); ++v) {
        CHECK((*more)[v] == h.code[v]);
        CHECK(more->predecessors(v) == h.code.predecessors(v));
    }
    added a;
    for (auto v = static_cast<std::uint32_t>(h.code.size()); v < more->size(); ++v) {
        a.loads += (*more)[v].op == op::load ? 1 : 0;
        a.shuffles += (*more)[v].op == op::shuffle ? 1 : 0;
        a.stores += (*more)[v].op == op::store ? 1 : 0;
    }
    return a;
}
instruction held(std::uint32_t lanes, element_type type = f32) { return {op::move, type, fold_hint::always, lanes}; }

} // namespace

TEST_CASE("register traffic: what fits costs nothing, what does not is loaded, and stored when it changes") {
    const register_file wide{32, 64}, narrow{16, 32};
    CHECK(traffic({30, 30, held(16)}, wide) == added{});
    CHECK(traffic({33, 33, held(16)}, wide) == added{3, 0, 3});
    CHECK(traffic({33, 31, held(16)}, wide) == added{3, 0, 1}); // those that stay the same are the first to go
    CHECK(traffic({33, 0, held(16)}, wide) == added{3, 0, 0});
    CHECK(traffic({8, 8, held(16)}, narrow) == added{2, 0, 2}); // two registers each
    CHECK(traffic({8, 8, held(16)}, wide) == added{});
    CHECK(traffic({40, 40, held(1)}, wide) == added{10, 0, 10});           // a float takes a whole one
    CHECK(traffic({40, 40, held(1, element_type::i64)}, wide) == added{}); // other registers
    CHECK(traffic({40, 40, held(16, element_type::i1)}, wide) == added{});
}

TEST_CASE("register traffic: vectors of odd length go lane by lane, unless one register has room") {
    const register_file wide{32, 64}, narrow{16, 32};
    CHECK(traffic({1, 1, held(12)}, wide) == added{});
    CHECK(traffic({1, 1, held(12)}, narrow) == added{0, 24, 0});
    CHECK(traffic({1, 1, held(28)}, wide) == added{0, 56, 0}); // put together and taken apart
    CHECK(traffic({1, 0, held(28)}, wide) == added{0, 28, 0});
    CHECK(traffic({2, 2, held(28)}, wide) == added{26, 112, 26}); // 56 lanes for 30 registers
}

TEST_CASE("register traffic: registers of machines") {
    CHECK(register_file::make(epyc_zen4()).count == 32);
    CHECK(register_file::make(*machine_preset("epyc-7763")).count == 16);
    CHECK(register_file::make(*machine_preset("cortex-a72")).count == 32);
    CHECK(register_file::make(epyc_zen4()).bytes == 64);
}

} // namespace register_traffic_test
