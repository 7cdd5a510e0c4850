// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/target/machine_file.hpp>
#include <augur/target/machine_presets.hpp>

#include <cstdio>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/core/whole_file.hpp>
#include <doctest/doctest.h>

#ifdef AUGUR_TEST_NLOHMANN
#include <nlohmann/json.hpp>
#endif

namespace machine_file_test {

using namespace augur;

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const auto at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, std::string(from));
    return text.replace(at, from.size(), to);
}

/// The n-th JSON block of docs/program.md.
std::string documented(int n) {
    const auto page = read_whole_file(AUGUR_TEST_DIR "/../docs/program.md", std::size_t{1} << 20U);
    REQUIRE_MESSAGE(page, (page ? "" : page.error().detail));
    constexpr std::string_view opens = "\n```json\n";
    std::size_t at = 0;
    for (int i = 0; i <= n; ++i) {
        at = page->find(opens, at);
        REQUIRE(at != std::string::npos);
        at += opens.size();
    }
    return page->substr(at, page->find("\n```", at) - at);
}

/// The error of a text that must be refused.
std::string refusal(const std::string& text, machine_file_form form = machine_file_form::whole) {
    const auto m = machine_from_json(text, form);
    REQUIRE_MESSAGE(!m, text);
    return m.error().detail;
}

[[maybe_unused]] const instruction_cost& cost_of(const machine& m, instruction_class op, element_type type, std::int64_t lanes) {
    for (const auto& c : m.costs)
        if (c.op == op && c.type == type && c.lanes == lanes) return c;
    FAIL("no such cost");
    return m.costs.front();
}

} // namespace

TEST_CASE("machine file: presets are consistent and come back equal") {
    for (const auto name : machine_preset_names) {
        const auto m = machine_preset(name);
        REQUIRE(m);
        CAPTURE(std::string(name));
        const auto checked = check_machine(*m);
        CHECK_MESSAGE(checked, (checked ? "" : checked.error().detail));
        const auto text = machine_to_json(*m);
        const auto back = machine_from_json(text);
        REQUIRE_MESSAGE(back, (back ? "" : back.error().detail));
        CHECK(*back == *m);
        CHECK(machine_to_json(*back) == text);
#ifdef AUGUR_TEST_NLOHMANN
        const auto other = nlohmann::json::parse(text); // another reader sees the same
        CHECK(other["caches"][1]["bytes"] == m->caches[1].bytes);
        CHECK(other["costs"].size() == m->costs.size());
        CHECK(other["core"]["issue_width"] == m->core.issue_width);
#endif
    }
    auto named = xeon_gold_5220r(); // optional members
    named.vendor = "GenuineIntel";
    named.family = "6";
    named.model = "85";
    const auto back = machine_from_json(machine_to_json(named));
    REQUIRE(back);
    CHECK(*back == named);
    CHECK(machine_preset("pdp-11").error().code == errc::not_found);
}

TEST_CASE("machine file: the presets say what their sources say") {
    const auto xeon = xeon_gold_5220r(); // Crop, Table 1: 48 threads; 1536 KB, 48 MB, 71.5 MB in sum; 8, 16, 11 ways; 4, 14, 59.5, 108 cycles
    CHECK(xeon.caches[0].bytes * 48 == 1536 << 10);
    CHECK(xeon.caches[1].bytes * 48 == 48 << 20);
    CHECK(xeon.caches[2].bytes * 2 == (std::int64_t{143} << 20) / 2);
    CHECK(xeon.caches[0].ways == 8);
    CHECK(xeon.caches[1].ways == 16);
    CHECK(xeon.caches[2].ways == 11);
    CHECK(xeon.caches[0].latency == 4);
    CHECK(xeon.caches[1].latency == 14);
    CHECK(xeon.caches[2].latency == 59.5);
    CHECK(xeon.memory.latency == 108);
    CHECK(xeon.processors == 48);
#ifdef AUGUR_TEST_NLOHMANN
    std::FILE* f = std::fopen(AUGUR_TEST_DIR "/vectors/crop_microbench_zen4.json", "rb");
    REQUIRE(f != nullptr);
    std::string text;
    for (int c = std::fgetc(f); c != EOF; c = std::fgetc(f)) text += static_cast<char>(c);
    std::fclose(f);
    const auto zen4 = epyc_zen4();
    int seen = 0;
    const auto vectors = nlohmann::json::parse(text); // must live while its rows are walked
    for (const auto& row : vectors["rows"]) {
        const std::string op = row["op"];
        if (op == "fma v32f32" || op.find("i64") != std::string::npos) continue; // longer than a register; chains of two instructions
        const auto blank = op.find(' ');
        const auto type = op.substr(blank + 1);
        const std::int64_t lanes = type == "v16f32" ? 16 : type == "v8f32" ? 8 : 1;
        const auto word = op.substr(0, blank);
        const auto name = word == "max(select)" ? "fminmax" : word == "sqrt" ? "fsqrt" : word;
        const auto& c = cost_of(zen4, *parse_instruction_class(name), element_type::f32, lanes);
        CAPTURE(op);
        CHECK(c.from == provenance::measured);
        CHECK(c.latency == doctest::Approx(row["latency_cycles"].get<double>()).epsilon(0.01));
        CHECK(c.throughput == doctest::Approx(row["recip_throughput_cycles"].get<double>()).epsilon(0.06));
        ++seen;
    }
    CHECK(seen == 14);
#endif
}

TEST_CASE("machine file: what is zero, negative or inconsistent is refused by the name of its field") {
    const std::vector<std::pair<std::string, std::function<void(machine&)>>> wrong{
        {"processors", [](machine& m) { m.processors = 0; }},
        {"vector_bytes", [](machine& m) { m.vector_bytes = 48; }},
        {"clock_hz", [](machine& m) { m.clock_hz = 0; }},
        {"clock_hz", [](machine& m) { m.clock_hz = std::numeric_limits<double>::quiet_NaN(); }},
        {"issue_width", [](machine& m) { m.core.issue_width = 0; }},
        {"window", [](machine& m) { m.core.window = -320; }},
        {"mispredict", [](machine& m) { m.core.mispredict = 0; }},
        {"store_forward", [](machine& m) { m.core.store_forward = -1; }},
        {"predicted_trips", [](machine& m) { m.core.predicted_trips = -1; }},
        {"parallel_launch", [](machine& m) { m.core.parallel_launch = std::numeric_limits<double>::infinity(); }},
        {"folds", [](machine& m) { m.core.folds = ~0U; }},
        {"caches", [](machine& m) { m.caches.clear(); }},
        {"caches[1].level", [](machine& m) { m.caches[1].level = 1; }},
        {"caches[0].line_bytes", [](machine& m) { m.caches[0].line_bytes = 0; }},
        {"caches[1].line_bytes", [](machine& m) { m.caches[0].line_bytes = 128; }},
        {"caches[0].bytes", [](machine& m) { m.caches[0].bytes = -1; }},
        {"caches[0].bytes", [](machine& m) { m.caches[0].bytes = 1536 << 10; }}, // Crop's Table 1 taken by its word
        {"caches[1].bytes", [](machine& m) { m.caches[1].bytes = 48 << 20; }},
        {"caches[1].bytes", [](machine& m) { m.caches[1].bytes = 16 << 10; }},
        {"caches[0].sharers", [](machine& m) { m.caches[0].sharers = 0; }},
        {"caches[1].sharers", [](machine& m) { m.caches[0].sharers = 2; }},
        {"caches[0].ways", [](machine& m) { m.caches[0].ways = 0; }},
        {"caches[0].ways", [](machine& m) { m.caches[0].ways = 7; }},
        {"caches[1].latency", [](machine& m) { m.caches[1].latency = 4; }},
        {"caches[2].latency", [](machine& m) { m.caches[2].latency = 0; }},
        {"caches[0].bytes_per_cycle", [](machine& m) { m.caches[0].bytes_per_cycle = -64; }},
        {"caches[0].set_cycles", [](machine& m) { m.caches[0].set_cycles = -6; }},
        {"memory.latency", [](machine& m) { m.memory.latency = 50; }},
        {"memory.bytes", [](machine& m) { m.memory.bytes = -1; }},
        {"memory.bytes_per_second", [](machine& m) { m.memory.bytes_per_second = -1; }},
        {"memory.core_bytes_per_second", [](machine& m) { m.memory.core_bytes_per_second = 2 * (m.memory.bytes_per_second = 1e10); }},
        {"units[0].name", [](machine& m) { m.units[0].name.clear(); }},
        {"units[1].name", [](machine& m) { m.units[1].name = m.units[0].name; }},
        {"units[0].count", [](machine& m) { m.units[0].count = 0; }},
        {"units", // 320 in all
         [](machine& m) {
             for (int i = 0; m.units.size() < 20; ++i) m.units.push_back({"more " + std::to_string(i), 16});
             for (auto& u : m.units) u.count = 16;
         }},
        {"lanes", [](machine& m) { m.costs[0].lanes = 3; }},
        {"lanes", [](machine& m) { m.costs[0].lanes = std::int64_t{1} << 60; }},
        {"lanes", [](machine& m) { m.costs[0].lanes = 256; }},
        {"lanes", [](machine& m) { m.costs[1] = m.costs[0]; }},
        {"costs[0] (fadd f32).latency", [](machine& m) { m.costs[0].latency = 0; }},
        {"costs[1] (fadd f64).throughput", [](machine& m) { m.costs[1].throughput = -0.5; }},
        {"unit", [](machine& m) { m.costs[0].unit = 99; }},
    };
    for (const auto& w : wrong) {
        const auto& field = w.first;
        auto m = epyc_zen4();
        w.second(m);
        const auto said = check_machine(m);
        CAPTURE(field);
        REQUIRE(!said);
        CHECK(said.error().code == errc::invalid_argument);
        CHECK_MESSAGE(said.error().detail.find(field + ":") != std::string::npos, said.error().detail);
    }
}

TEST_CASE("machine file: strict reading") {
    const auto text = machine_to_json(epyc_zen4());
    const auto refuse = [&](std::string_view from, std::string_view to, errc code, std::string_view says) {
        const auto m = machine_from_json(replaced(text, from, to));
        REQUIRE(!m);
        CHECK(m.error().code == code);
        CHECK_MESSAGE(m.error().detail.find(says) != std::string::npos, m.error().detail);
    };
    refuse("augur-machine", "augur-features", errc::version_mismatch, "expected 'augur-machine', got 'augur-features'");
    refuse("\"version\": 1", "\"version\": 2", errc::version_mismatch, "expected version 1, got 2");
    refuse("\"version\": 1", "\"revision\": 1", errc::parse, "'revision' is not known here");
    refuse("\"clock_hz\"", "\"clock_mhz\"", errc::parse, "'clock_mhz' is not known here");
    refuse("\"clock_hz\": 3.69e+09", "\"processors\": 2", errc::parse, "'processors' stands twice");
    refuse(", \"clock_hz\": 3.69e+09", "", errc::parse, "'clock_hz' is missing");
    refuse("\"ways\": 8, ", "", errc::parse, "'ways' is missing");
    refuse("\"op\": \"fadd\"", "\"op\": \"fsub\"", errc::parse, "'fsub' is no instruction class");
    refuse("\"type\": \"f32\"", "\"type\": \"float\"", errc::parse, "'float' is no element type");
    refuse("\"unit\": \"fp add\"", "\"unit\": \"p5\"", errc::parse, "'p5' is none of \"units\"");
    refuse("\"from\": \"measured\"", "\"from\": \"guessed\"", errc::parse, "'guessed' is no provenance");
    refuse("\"splat\"", "\"none\"", errc::parse, "'none' is not to be listed");
    refuse("\"latency\": 14", "\"latency\": -14", errc::invalid_argument, "caches[1].latency: expected 0.25 to 100000, got -14");
    refuse("\"latency\": 14", "\"latency\": 1e999", errc::limit, "beyond the range of a double");
    CHECK(machine_from_json("").error().code == errc::parse);
    CHECK(machine_from_json("[]").error().code == errc::parse);
    CHECK(read_machine("/nowhere/at/all").error().code == errc::io);
    CHECK(read_machine("/dev/zero").error().detail == "/dev/zero: expected a regular file, got a device");
}

TEST_CASE("machine file: torn and damaged texts are refused or read, never more") {
    const auto text = machine_to_json(cortex_a72());
    for (std::size_t n = 0; n + 2 < text.size(); n += 7) CHECK(!machine_from_json(std::string_view(text).substr(0, n)));
    augur::random_engine r(11);
    int read = 0;
    for (int i = 0; i < 1500; ++i) {
        auto damaged = text;
        for (int k = 0; k < 3; ++k) damaged[r.below(damaged.size())] = static_cast<char>(r.below(256));
        if (const auto m = machine_from_json(damaged)) {
            ++read;
            CHECK(check_machine(*m));
        }
    }
    CHECK(read < 1000);
}

TEST_CASE("machine file: this machine, with defaults where nobody looked, can be predicted for and written") {
    const auto seen = detect_machine();
    const auto m = complete_machine(seen);
    const auto checked = check_machine(m);
    CHECK_MESSAGE(checked, (checked ? "" : checked.error().detail));
    CHECK(m.processors == seen.processors);
    for (std::size_t i = 0; i < seen.caches.size(); ++i) CHECK(m.caches[i].bytes == seen.caches[i].bytes);
    CHECK(m.caches.front().from == provenance::defaulted);
    const auto back = machine_from_json(machine_to_json(m));
    REQUIRE_MESSAGE(back, (back ? "" : back.error().detail));
    CHECK(*back == m);
    CHECK(check_machine(complete_machine({})));
    CHECK(!check_machine({}));
}

TEST_CASE("machine file: the smallest file of the document") {
    const auto text = documented(0);
    const auto m = machine_from_json(text);
    REQUIRE_MESSAGE(m, (m ? "" : m.error().detail));
    machine expected;
    expected.cpu_name = "a core with AVX2";
    expected.architecture = "x86_64";
    expected.processors = 8;
    expected.vector_bytes = 32;
    expected.clock_hz = 3e9;
    expected.core = {4, 224, 15, 5, 0, 0, 0, provenance::defaulted};
    expected.caches = {{1, 32768, 64, 2, 8, 4, 0, provenance::table}};
    expected.memory = {0, 300, 0, 0, provenance::defaulted};
    CHECK(*m == expected);

    const auto whole = [&](const std::string& more) { return replaced(text, "\n \"core\"", "\n " + more + "\n \"core\""); };
    for (const char* const more : {R"("vendor": "GenuineIntel",)", R"("family": "6",)", R"("model": "85",)", R"("features": ["fma", "avx2"],)"}) {
        CAPTURE(std::string(more));
        CHECK(machine_from_json(whole(more)));
    }
    const auto costs = documented(1);
    const auto cut = costs.find("\n \"costs\"");
    REQUIRE(cut != std::string::npos);
    const auto costly = machine_from_json(whole(costs + ","));
    REQUIRE_MESSAGE(costly, (costly ? "" : costly.error().detail));
    expected.units = {{"fp", 2}, {"load", 2}};
    expected.costs = {{instruction_class::fma, element_type::f32, 8, 4, 0.5, 0, provenance::table},
                      {instruction_class::load, element_type::f32, 8, 4, 0.5, 1, provenance::table}};
    CHECK(*costly == expected);
    const auto units = costs.substr(0, cut); // with a comma at its end
    CHECK(refusal(whole(costs.substr(cut + 1) + "," + units)).find("'fp' is none of \"units\", which must stand before \"costs\"") !=
          std::string::npos);
    CHECK(refusal(whole(costs.substr(cut + 1) + ",")).find("which must stand before") != std::string::npos);
#ifdef AUGUR_TEST_NLOHMANN
    // nothing in it can be left out: each member, of the file and of the objects in it
    using json = nlohmann::ordered_json;
    int left_out = 0;
    const auto without_each = [&](const json& file, const json::json_pointer& at, machine_file_form form, const std::set<std::string>& needed) {
        for (const auto& member : file[at].items()) {
            auto less = file;
            less[at].erase(member.key());
            CAPTURE(member.key());
            const auto read = machine_from_json(less.dump(), form);
            CHECK(bool(read) == (needed.count(member.key()) == 0));
            const bool special = member.key() == "format" || member.key() == "version" || member.key() == "units"; // which the next member misses
            if (!m && !special) CHECK_MESSAGE(m.error().detail.find("'" + member.key() + "' is missing") != std::string::npos, m.error().detail);
            ++left_out;
        }
    };
    const auto file = json::parse(replaced(text, "\n \"core\"", "\n " + costs + ",\n \"core\""));
    constexpr auto strict = machine_file_form::whole, partial = machine_file_form::partial;
    without_each(
        file, json::json_pointer(""), strict,
        {"format", "version", "name", "architecture", "processors", "vector_bytes", "clock_hz", "core", "caches", "memory", "units"}); // of the costs
    without_each(file, json::json_pointer("/core"), strict, {"issue_width", "window", "mispredict", "store_forward", "folds", "from"});
    without_each(file, json::json_pointer("/caches/0"), strict, {"level", "bytes", "line_bytes", "sharers", "ways", "latency", "from"});
    without_each(file, json::json_pointer("/memory"), strict, {"latency", "from"});
    without_each(file, json::json_pointer(""), partial, {"format", "version", "architecture", "processors", "vector_bytes", "units"});
    without_each(file, json::json_pointer("/core"), partial, {});
    without_each(file, json::json_pointer("/caches/0"), partial, {"level", "bytes", "line_bytes", "sharers"});
    without_each(file, json::json_pointer("/memory"), partial, {});
    for (const auto form : {strict, partial}) {
        without_each(file, json::json_pointer("/units/0"), form, {"name", "count"});
        without_each(file, json::json_pointer("/costs/0"), form, {"op", "type", "lanes", "latency", "throughput", "unit", "from"});
    }
    CHECK(left_out == 2 * (12 + 6 + 7 + 2 + 2 + 7));
#endif
}

TEST_CASE("machine file: a partial file is completed, and what it says stays") {
    constexpr auto partial = machine_file_form::partial;
    const std::string least =
        R"({"format": "augur-machine", "version": 1, "architecture": "x86_64", "processors": 4, "vector_bytes": 32, "features": ["avx", "fma"]})";
    CHECK(refusal(least).find("is missing") != std::string::npos);
    const auto m = machine_from_json(least, partial);
    REQUIRE_MESSAGE(m, (m ? "" : m.error().detail));
    CHECK(m->processors == 4);
    CHECK(m->clock_hz == 3e9);
    CHECK(m->core.issue_width == 4);
    CHECK(m->core.window == 224);
    CHECK(m->core.mispredict == 15);
    CHECK(m->core.store_forward == 5);
    CHECK(m->core.predicted_trips == 0);
    CHECK(m->folds(fold_hint::multiply_add));
    CHECK(m->core.from == provenance::defaulted);
    REQUIRE(m->caches.size() == 2);
    CHECK(m->caches[0] == cache_level{1, 32768, 64, 1, 8, 4, 0, provenance::defaulted});
    CHECK(m->caches[1] == cache_level{2, 1048576, 64, 1, 8, 14, 0, provenance::defaulted});
    CHECK(m->memory.latency == 300);
    CHECK(machine_from_json(machine_to_json(*m))); // now it is whole

    const auto with = [&](const std::string& more) { return replaced(least, "}", ", " + more + "}"); };
    const auto some = machine_from_json(with(R"("clock_hz": 2e9, "core": {"window": 512, "predicted_trips": 64, "from": "measured"},
        "caches": [{"level": 1, "bytes": 49152, "line_bytes": 64, "sharers": 2, "ways": 12, "latency": 5, "from": "table"},
                   {"level": 2, "bytes": 2097152, "line_bytes": 64, "sharers": 2, "latency": 15, "from": "measured"}],
        "memory": {"latency": 400, "core_bytes_per_second": 1e10, "from": "measured"})"),
                                        partial);
    REQUIRE_MESSAGE(some, (some ? "" : some.error().detail));
    CHECK(some->clock_hz == 2e9);
    CHECK(some->core.window == 512);
    CHECK(some->core.predicted_trips == 64);
    CHECK(some->core.issue_width == 4);
    CHECK(some->core.from == provenance::defaulted); // not all of it is measured
    CHECK(some->caches[0] == cache_level{1, 49152, 64, 2, 12, 5, 0, provenance::table});
    CHECK(some->caches[1] == cache_level{2, 2097152, 64, 2, 8, 15, 0, provenance::defaulted});
    CHECK(some->memory == main_memory{0, 400, 0, 1e10, provenance::measured});

    for (const auto name : machine_preset_names) { // nothing is missing in a whole file
        const auto whole = machine_to_json(*machine_preset(name));
        const auto one = machine_from_json(whole, partial), other = machine_from_json(whole);
        REQUIRE(one);
        REQUIRE(other);
        CHECK(*one == *other);
    }
    auto seen = detect_machine(); // what is not known is written as 0
    seen.memory.latency = seen.core.window = seen.clock_hz = 0;
    const auto back = machine_from_json(machine_to_json(seen), partial);
    REQUIRE_MESSAGE(back, (back ? "" : back.error().detail));
    CHECK(*back == complete_machine(seen));

    const auto says = [&](const std::string& more, std::string_view text) {
        const auto detail = refusal(with(more), partial);
        CHECK_MESSAGE(detail.find(text) != std::string::npos, detail);
    };
    CHECK(refusal(replaced(least, R"("processors": 4, )", ""), partial).find("'processors' is missing") != std::string::npos);
    CHECK(refusal(replaced(least, R"("processors": 4)", R"("processors": 0)"), partial).find("processors: expected 1 to") != std::string::npos);
    CHECK(refusal(replaced(least, R"("processors": 4)", R"("processors": "4")"), partial).find("expected") != std::string::npos);
    says(R"("clock_hz": "3 GHz")", "expected");
    says(R"("clock_hz": null)", "expected");
    says(R"("core": [4, 224])", "expected");
    says(R"("core": {"window": true})", "expected");
    says(R"("core": {"folds": "address"})", "expected");
    says(R"("core": {"from": "guessed"})", "'guessed' is no provenance");
    says(R"("caches": {})", "expected");
    says(R"("caches": [{"level": 1.5}])", "expected");
    says(R"("memory": 300)", "expected");
    says(R"("memory": {"latency": "300"})", "expected");
    says(R"("clock_mhz": 3000)", "'clock_mhz' is not known here");
    says(R"("processors": 4)", "'processors' stands twice");
    says(R"("clock_hz": -3e9)", "clock_hz: expected");
    says(R"("caches": [{"level": 1, "bytes": 32768, "line_bytes": 0, "sharers": 1}])", "caches[0].line_bytes: expected");
    says(R"("caches": [{"level": 2, "bytes": 32768, "line_bytes": 64, "sharers": 1}])", "caches[0].level: expected 1");
    says(R"("costs": [{"op": "fma", "type": "f32", "lanes": 8}])", "'latency' is missing");
}

} // namespace machine_file_test
