// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/target/machine_identity.hpp>

#include <array>
#include <string>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/target/machine_presets.hpp>

namespace machine_identity_test {

using namespace augur;

namespace {

using field = std::string machine_identity::*;
constexpr std::array<field, 8> fields{&machine_identity::vendor, &machine_identity::family,  &machine_identity::model,  &machine_identity::model_name,
                                      &machine_identity::isa,    &machine_identity::threads, &machine_identity::caches, &machine_identity::compiler};
constexpr std::array<const char*, 8> names{"vendor", "family", "model", "model_name", "isa", "threads", "caches", "compiler"};

machine_identity turin() { return {"AuthenticAMD", "26", "2", "AMD EPYC", "x86-64-v4", "2", "L1 48K, L2 1M, L3 32M", "cc 12.2.0"}; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("machine_identity: the text is one line that gives the identity back, and a missing field is unknown") {
    CHECK(to_text(turin()) ==
          R"({"vendor": "AuthenticAMD", "family": "26", "model": "2", "model_name": "AMD EPYC", "isa": "x86-64-v4", "threads": "2", )"
          R"("caches": "L1 48K, L2 1M, L3 32M", "compiler": "cc 12.2.0"})");
    CHECK(to_text(machine_identity{}) == "{}");
    const auto none = parse_machine_identity("{}");
    REQUIRE(none);
    for (const auto f : fields) CHECK((*none).*f == "unknown");

    random_engine draw(5);
    for (int i = 0; i < 500; ++i) { // any subset of fields, any ASCII text
        machine_identity id;
        for (const auto f : fields) {
            if (draw.below(2) == 0) continue;
            id.*f = "";
            for (auto n = draw.below(12); n-- > 0;) id.*f += static_cast<char>(draw.below(128));
        }
        const auto text = to_text(id);
        CHECK(text.find('\n') == std::string::npos);
        const auto again = parse_machine_identity(text);
        REQUIRE(again);
        CHECK(*again == id);
        CHECK(first_difference(id, *again).empty());
    }
}

TEST_CASE("machine_identity: a text that is none is refused, and the message names what is wrong") {
    const auto why = [](const char* text) {
        const auto id = parse_machine_identity(text);
        REQUIRE_FALSE(id);
        return id.error().detail;
    };
    CHECK(contains(why(R"({"vendor": "a", "socket": "2"})"), "'socket' is not known here"));
    CHECK(contains(why(R"({"vendor": "a", "vendor": "b"})"), "'vendor' stands twice"));
    for (const char* bad : {"", "unknown", "[]", R"({"vendor": 1})", R"({"vendor": "a")", "{} {}", R"({"vendor": ["a"]})"})
        CHECK(why(bad).starts_with("machine identity: "));
}

TEST_CASE("machine_identity: each field alone makes another platform, and the first that differs is named") {
    for (std::size_t i = 0; i < fields.size(); ++i) {
        auto other = turin();
        other.*fields[i] = "x";
        CHECK(other != turin());
        CHECK(first_difference(turin(), other) == std::string(names[i]) + ": expected '" + turin().*fields[i] + "', got 'x'");
        for (std::size_t k = i + 1; k < fields.size(); ++k) other.*fields[k] = "y";
        CHECK(first_difference(turin(), other).starts_with(std::string(names[i]) + ":"));
        auto lacks = turin();
        lacks.*fields[i] = "unknown";
        CHECK(contains(first_difference(turin(), lacks), "got 'unknown'"));
    }
    CHECK(first_difference(turin(), turin()).empty());
    CHECK(machine_label(turin()) == "AMD EPYC (AuthenticAMD 26/2), x86-64-v4, 2 threads");
}

TEST_CASE("machine_identity: of machines") {
    // Two processors of a Zen 5 and of a Sapphire Rapids: the hardware parameters of the log line are equal.
    machine zen5, sapphire_rapids;
    detail::read_cpuinfo("vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nflags\t\t: avx avx512f\n", zen5);
    detail::read_cpuinfo("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz\n"
                         "flags\t\t: avx avx512f\n\nprocessor\t: 1\nvendor_id\t: other\n",
                         sapphire_rapids);
    zen5.processors = sapphire_rapids.processors = 2;
    CHECK(zen5.hardware() == sapphire_rapids.hardware());
    const auto a = identify(zen5, "x86-64-v4", 0, "cc 12"), b = identify(sapphire_rapids, "x86-64-v4", 0, "cc 12");
    CHECK(a.threads == "2");
    CHECK(first_difference(a, b) == "vendor: expected 'AuthenticAMD', got 'GenuineIntel'");
    CHECK(b.model == "143");
    CHECK(first_difference(a, identify(zen5, "x86-64-v3", 0, "cc 12")) == "isa: expected 'x86-64-v4', got 'x86-64-v3'");
    CHECK(first_difference(a, identify(zen5, "x86-64-v4", 1, "cc 12")) == "threads: expected '2', got '1'");

    machine arm;
    detail::read_cpuinfo(
        "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\n", arm);
    const auto c = identify(arm, "", 4, "");
    CHECK(c.vendor == "0x41");
    CHECK(c.family == "8");
    CHECK(c.model == "0xd08");
    CHECK(c.model_name == "unknown");
    CHECK(c.isa == "unknown");
    CHECK(c.caches == "unknown");
    CHECK(c.compiler == "unknown");
    CHECK(identify(epyc_7763(), "", 1, "").caches == "L1 32K, L2 512K, L3 32M");
    CHECK(identify(xeon_gold_5220r(), "", 1, "").caches == "L1 32K, L2 1M, L3 36608K");

    const auto here = identify(detect_machine(), "x86-64-v3", 0, "cc");
    CHECK(here == identify(detect_machine(), "x86-64-v3", 0, "cc"));
#ifdef __x86_64__
    CHECK(here.vendor != "unknown"); // cpuid, which every x86 kernel shows
    CHECK(here.family != "unknown");
    CHECK(here.model != "unknown");
#endif
}

} // namespace machine_identity_test
