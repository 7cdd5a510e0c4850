// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/llvm/options.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace options_test {

using augur::ir_options;
using changes = std::vector<std::pair<std::string, void (*)(ir_options&)>>;

TEST_CASE("ir_options: each option out of its range is refused by its name") {
    const changes all{{"threads", [](ir_options& o) { o.threads = 0; }},
                      {"threads", [](ir_options& o) { o.threads = 257; }},
                      {"time_limit_seconds", [](ir_options& o) { o.time_limit_seconds = 0; }},
                      {"time_limit_seconds", [](ir_options& o) { o.time_limit_seconds = 86401; }},
                      {"time_limit_seconds", [](ir_options& o) { o.time_limit_seconds = std::nan(""); }},
                      {"memory_limit_bytes", [](ir_options& o) { o.memory_limit_bytes = 1; }},
                      {"memory_limit_bytes", [](ir_options& o) { o.memory_limit_bytes = (std::uint64_t{1} << 44U) + 1; }},
                      {"reserve_bytes", [](ir_options& o) { o.reserve_bytes = 4095; }},
                      {"reserve_bytes", [](ir_options& o) { o.reserve_bytes = (std::uint64_t{1} << 40U) + 1; }},
                      {"trace.rate", [](ir_options& o) { o.trace.rate = 0; }},
                      {"trace.rate", [](ir_options& o) { o.trace.rate = 1.01; }},
                      {"trace.rate", [](ir_options& o) { o.trace.rate = std::nan(""); }},
                      {"trace.sets", [](ir_options& o) { o.trace.sets.assign(17, 64); }},
                      {"trace.sets", [](ir_options& o) { o.trace.sets = {0}; }},
                      {"trace.sets", [](ir_options& o) { o.trace.sets = {64, (1U << 26U) + 1}; }},
                      {"trace.line_bytes", [](ir_options& o) { o.trace.line_bytes = 32; }},
                      {"arguments", [](ir_options& o) { o.arguments = {std::int64_t{1}, augur::ir_buffer{(std::uint64_t{1} << 40U) + 1}}; }}};
    for (const auto& changed : all) {
        CAPTURE(changed.first);
        ir_options o;
        changed.second(o);
        const auto fits = augur::check_ir_options(o);
        REQUIRE_FALSE(fits);
        CHECK(fits.error().code == augur::errc::invalid_argument);
        CHECK_MESSAGE(fits.error().detail.starts_with("ir_options." + changed.first + ": expected "), fits.error().detail);
    }
}

TEST_CASE("ir_options: the ends of each range are in it") {
    CHECK(augur::check_ir_options({}));
    const changes all{{"threads", [](ir_options& o) { o.threads = 256; }},
                      {"time_limit_seconds", [](ir_options& o) { o.time_limit_seconds = 86400; }},
                      {"memory_limit_bytes", [](ir_options& o) { o.memory_limit_bytes = std::uint64_t{1} << 20U; }},
                      {"memory_limit_bytes", [](ir_options& o) { o.memory_limit_bytes = std::uint64_t{1} << 44U; }},
                      {"reserve_bytes", [](ir_options& o) { o.reserve_bytes = 4096; }},
                      {"reserve_bytes", [](ir_options& o) { o.reserve_bytes = std::uint64_t{1} << 40U; }},
                      {"trace.rate", [](ir_options& o) { o.trace.rate = 1; }},
                      {"trace.sets", [](ir_options& o) { o.trace.sets.assign(16, 1); }},
                      {"trace.sets", [](ir_options& o) { o.trace.sets = {std::uint64_t{1} << 26U}; }},
                      {"trace.line_bytes", [](ir_options& o) { o.trace.line_bytes = 128; }},
                      {"arguments", [](ir_options& o) { o.arguments = {augur::ir_buffer{std::uint64_t{1} << 40U}}; }}};
    for (const auto& changed : all) {
        CAPTURE(changed.first);
        ir_options o;
        changed.second(o);
        CHECK(augur::check_ir_options(o));
    }
}

} // namespace options_test
