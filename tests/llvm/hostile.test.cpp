// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <augur/record/replace_file.hpp>

#include "program.hpp"

namespace {
augur::error refusal(
    const std::string& entry, augur::ir_options o = {}, const std::string& file = "hostile.ll",
    const std::function<void(const augur::ir_progress&)>& progress = [](const augur::ir_progress&) {}) {
    o.entry = entry;
    if (o.time_limit_seconds == 10) o.time_limit_seconds = 40; // a build of a sanitizer on a busy machine is slow
    const auto made = augur::features_of_ir_file(file.front() == '/' ? file : ir_file(file), o, progress);
    INFO(entry);
    REQUIRE_FALSE(made);
    return made.error();
}
void says(const augur::error& why, augur::errc code, const std::string& text) {
    INFO(why.detail);
    CHECK(to_string(why.code) == to_string(code));
    CHECK(why.detail.find(text) != std::string::npos);
}
using augur::errc;
} // namespace

TEST_CASE("ir: what does not end is ended, and where it was is told") {
    augur::ir_options o;
    o.time_limit_seconds = 0.5;
    says(refusal("endless", o), errc::limit, "time limit of 0.5 seconds while it was to run");
    says(refusal("endless", o), errc::limit, "function 'endless', block 'spin'");
    says(refusal("endless_stores", o), errc::limit, "time limit");
}

TEST_CASE("ir: memory has a limit") {
    augur::ir_options o;
    o.memory_limit_bytes = std::uint64_t{256} << 20U;
    const auto glutton = refusal("glutton", o); // its allocations come to nothing one day, and it does not look
    says(glutton, errc::illegal_schedule, "null pointer");
    says(glutton, errc::illegal_schedule, "asked for 1048576 bytes, more than the memory limit has left");
    says(refusal("hoarder", o), errc::limit, "memory limit");
}

TEST_CASE("ir: wild accesses are named") {
    says(refusal("wild"), errc::illegal_schedule, "wild access to memory");
    says(refusal("null"), errc::illegal_schedule, "null pointer");
    augur::ir_options o;
    o.arguments = {augur::ir_buffer{4096, {}}};
    says(refusal("beyond", o), errc::illegal_schedule, "byte 8192 of argument 0, which has 4096");
    o.arguments = {std::int64_t{0}};
    says(refusal("deep", o), errc::illegal_schedule, "wild access");
    says(refusal("divides"), errc::illegal_schedule, "division");
}

TEST_CASE("ir: what cannot be run is refused before") {
    says(refusal("assembly"), errc::unsupported, "function 'assembly'");
    says(refusal("assembly"), errc::unsupported, "inline assembly");
    says(refusal("gives_up"), errc::invalid_argument, "ended itself");
    says(refusal("reaches_out"), errc::not_found, "'getpid'");
    says(refusal("nobody"), errc::not_found, "no function 'nobody', there is 'endless'");
    says(refusal(""), errc::not_found, "which function is to run?");
    says(refusal("deep"), errc::invalid_argument, "argument 0 of 'deep': expected an integer");
    says(refusal("refuses"), errc::illegal_schedule, "failed with -7");
    augur::ir_options o;
    o.arguments = {augur::ir_buffer{}};
    says(refusal("fine", o), errc::invalid_argument, "takes 0 arguments, got 1");
    o.arguments = {std::int64_t{1}};
    says(refusal("wild", o), errc::invalid_argument, "takes 0 arguments");
    o = {};
    o.threads = 0;
    says(refusal("fine", o), errc::invalid_argument, "ir_options.threads");
    o = {};
    o.trace.rate = 0;
    says(refusal("fine", o), errc::invalid_argument, "trace.rate");
}

TEST_CASE("ir: symbols of the caller's") {
    augur::ir_options o;
    o.entry = "reaches_out";
    o.symbols = {{"getpid", reinterpret_cast<const void*>(+[] { return 5; })}};
    const auto p = features_of("hostile.ll", o);
    CHECK(p.functions.size() == 1);
}

TEST_CASE("ir: unreadable files") {
    says(refusal("f", {}, "torn.ll"), errc::parse, "torn.ll:2:");
    says(refusal("f", {}, "nothing.ll"), errc::not_found, "nothing.ll");
    says(refusal("f", {}, "/"), errc::not_found, "");
    const std::string path = "augur_ir_test_" + std::to_string(::getpid()) + ".bc";
    for (const std::string& bytes :
         {std::string("BC\xC0\xDE\x35\x14\x00\x00\x05\x00\x00\x00\x62\x0C\x30\x24", 16), std::string(1000, '\0'), std::string()}) {
        REQUIRE(augur::replace_file(path, bytes));
        const auto why = refusal("f", {}, std::filesystem::absolute(path).string());
        CHECK((why.code == errc::parse || why.code == errc::not_found || why.code == errc::unsupported));
        CHECK_FALSE(why.detail.empty());
    }
    std::remove(path.c_str());
}

TEST_CASE("ir: it stops when it is asked to") {
    std::atomic<bool> stop{false};
    augur::ir_options o;
    o.stop = &stop;
    // Once its child runs, and before it is at its time limit.
    const auto why = refusal("endless", o, "hostile.ll", [&](const augur::ir_progress& p) { stop = stop || std::string_view(p.step) == "run"; });
    says(why, errc::interrupted, "stopped");
}

TEST_CASE("ir: progress") {
    std::vector<std::string> steps;
    const auto made = augur::features_of_ir_file(ir_file("hostile.ll"), {.entry = "fine"}, [&](const augur::ir_progress& p) {
        if (steps.empty() || steps.back() != p.step) steps.emplace_back(p.step);
    });
    REQUIRE(made);
    CHECK(steps == std::vector<std::string>{"read", "analyse", "compile", "run", "done"});
}

TEST_CASE("ir: a child leaves nothing behind") {
    // no zombie, no descriptor
    const auto open_files = [] {
        std::size_t n = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
        return n;
    };
    const auto before = open_files();
    for (int i = 0; i < 3; ++i) refusal("wild");
    CHECK(open_files() == before);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("ir_argument: texts") {
    CHECK(std::get<augur::ir_buffer>(*augur::parse_ir_argument("4096")).bytes == 4096);
    const auto t = std::get<augur::ir_buffer>(*augur::parse_ir_argument("512x64xf16"));
    CHECK(t.bytes == 65536);
    CHECK(t.shape == std::vector<std::int64_t>{512, 64});
    CHECK(t.type == augur::element_type::f16);
    CHECK(std::get<std::int64_t>(*augur::parse_ir_argument("=-7")) == -7);
    CHECK(std::get<double>(*augur::parse_ir_argument("=0.5")) == 0.5);
    for (const char* const bad : {"", "=", "0", "-4", "12x", "x", "xf32", "0xf32", "4xf31", "4x4", "f32", "=x", "99999999x99999999xf32"})
        CHECK_FALSE(augur::parse_ir_argument(bad));
}
