// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/tuning_archive.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#ifdef AUGUR_TEST_NLOHMANN
#include <nlohmann/json.hpp>
#endif

#include <augur/core/executor.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/workload/concepts.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "archives.hpp"

namespace tuning_archive_test {

using namespace augur;

static_assert(task<tuning_archive>);

namespace {

struct parsed {
    tuning_archive archive;
    std::string error; ///< empty: none
    errc code{};
    std::vector<std::string> bad;
};
parsed parse(std::string_view text, tuning_archive before = {}) {
    parsed out;
    out.archive = std::move(before);
    archive_read_options options;
    options.on_bad_entry = [&](const bad_line& b) { out.bad.push_back(b.text()); };
    if (auto r = parse_tuning_archive(text, "some/cache.json", out.archive, options); !r) out.error = r.error().detail, out.code = r.error().code;
    CHECK(out.bad.size() + before.bad == out.archive.bad);
    return out;
}

bool same(const measured_configuration& a, const measured_configuration& b) {
    const measurement &x = a.measured, &y = b.measured;
    return a.point == b.point && x.status == y.status && x.seconds == y.seconds && x.total_seconds == y.total_seconds &&
           x.compile_cpu_seconds == y.compile_cpu_seconds && x.timestamp == y.timestamp && x.reason == y.reason;
}

/// Does a message begin with file, line and column?
bool has_place(const std::string& message) {
    constexpr std::string_view file = "some/cache.json:";
    if (!message.starts_with(file)) return false;
    std::size_t at = file.size();
    for (int i = 0; i < 2; ++i) {
        const std::size_t from = at;
        while (at < message.size() && message[at] >= '0' && message[at] <= '9') ++at;
        if (at == from || message[at] != ':' || message[from] == '0') return false;
        ++at;
    }
    return true;
}

/// Made at the first use: a variable of this unit was made before the inline variables of archives.hpp with clang 19 and precompiled headers.
const std::string& whole() {
    static const std::string text = archives::cache_of(archives::entries);
    return text;
}

} // namespace

TEST_CASE("tuning_archive: a cache of Kernel Tuner") {
    const auto p = parse(whole());
    CHECK(p.error.empty());
    CHECK(p.bad.empty());
    const tuning_archive& a = p.archive;
    CHECK(a.key() == "add [4096,16]");
    CHECK(a.target() == "Some GPU");
    REQUIRE(a.records.size() == 4);
    CHECK(a.records[0].point == configuration{{{"block", std::int64_t{16}}, {"share", 0.5}, {"layout", "row"}}});
    const measurement& m = a.records[0].measured;
    CHECK(m.ok());
    CHECK(m.seconds == std::vector<double>{3.0 / 1000, 2.0 / 1000, 2.5 / 1000});
    CHECK(m.latency() == 2.5 / 1000);
    CHECK(m.total_seconds == 1.0);
    CHECK(m.compile_cpu_seconds == 0.9005);
    CHECK(m.timestamp == 1703238845); // date -u -d '2023-12-22 09:54:05' +%s
    CHECK(a.records[1].measured.status == outcome::run_crash);
    CHECK(a.records[1].measured.reason == "RuntimeFailedConfig");
    CHECK(a.records[1].measured.timestamp == 86401);
    CHECK(a.records[1].measured.total_seconds == 0.5005);
    CHECK(a.records[2].measured.status == outcome::compile_error);
    CHECK(a.records[2].point.parameters[0].name == "block"); // the order of the file, not that of the entry
    CHECK(a.records[3].measured.seconds == std::vector<double>{0.00125});
    CHECK(a.records[3].measured.timestamp == 0);
}

TEST_CASE("tuning_archive: a T4 file has the same records") {
    const auto cache = parse(whole());
    const auto results = parse(archives::t4);
    CHECK(results.error.empty());
    CHECK(results.archive.key() == "cache");
    REQUIRE(results.archive.records.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        CHECK(same(cache.archive.records[i], results.archive.records[i]));
    }
}

TEST_CASE("tuning_archive: units of T4") {
    for (const auto& [unit, seconds] : {std::pair{"s", 4.0}, {"ms", 4e-3}, {"us", 4e-6}, {"nanoseconds", 4e-9}}) {
        const auto p = parse(std::string(R"({"results": [{"configuration": {"a": true}, "invalidity": "correct", "times": {"runtimes": [4], )") +
                             R"("compilation": 4}, "measurements": [{"value": 5, "unit": ")" + unit + "\", \"name\": \"time\"}]}]}");
        CHECK(p.error.empty());
        REQUIRE(p.archive.records.size() == 1);
        CHECK(p.archive.records[0].measured.seconds == std::vector<double>{seconds});
        CHECK(p.archive.records[0].measured.total_seconds == seconds);
        CHECK(p.archive.records[0].point.parameters[0].value == tuning_value(std::int64_t{1}));
    }
}

TEST_CASE("tuning_archive: bad T4 results are counted, and the first good one names the parameters") {
    const auto result = [](const std::string& configuration, const std::string& rest) {
        return R"({"configuration": {)" + configuration + R"(}, "times": {"runtimes": [4]}, )" + rest + "}";
    };
    const std::string good = result(R"("a": 1, "b": 2)", R"("invalidity": "correct")");
    const std::vector<std::pair<std::string, std::string>> bad{
        {result(R"("a": 1, "a": 2)", R"("invalidity": "correct")"), "'a' stands twice"},
        {result("", R"("invalidity": "correct")"), "expected at least one parameter, got none"},
        {result(R"("x": null)", R"("invalidity": "correct")"), "expected a number, a text or a truth value"},
        {result(R"("x": 1)", R"("correctness": 1)"), "'invalidity' is missing"},
        {result(R"("x": 1)", R"("invalidity": "odd")"), "expected an invalidity such as correct, compile or runtime, got 'odd'"},
        {R"({"invalidity": "correct", "times": {}})", "'configuration' is missing"},
        {result(R"("x": 1)", R"("invalidity": "correct", "measurements": [{"name": "time", "value": 1, "unit": "days"}])"),
         "expected the unit s, ms, us or ns of the time, got 'days'"},
        {R"({"configuration": {"x": 1}, "invalidity": "correct", "times": {}})", "expected a time or a failure, got neither"},
    };
    for (const auto& pair : bad) {
        CAPTURE(pair.first);
        const auto p = parse("{\"results\": [" + pair.first + ",\n" + good + "]}");
        CHECK(p.error.empty());
        REQUIRE(p.archive.records.size() == 1);
        CHECK(to_string(p.archive.records[0].point) == "a=1 b=2");
        REQUIRE(p.bad.size() == 1);
        CHECK(p.bad[0].starts_with("some/cache.json:1:"));
        CHECK(p.bad[0].ends_with(": " + pair.second));
    }
    const auto other = parse("{\"results\": [" + good + ",\n" + result(R"("a": 1, "c": 2)", R"("invalidity": "correct")") + "]}");
    REQUIRE(other.bad.size() == 1);
    CHECK(other.bad[0] == "some/cache.json:2:33: 'c' is no parameter of the results before");
}

TEST_CASE("tuning_archive: old and odd failures") {
    const auto status_of = [](std::string_view time) {
        const auto p = parse(archives::cache_of({R"("k": {"block": 1, "share": 0.5, "layout": "row", )" + std::string(time) + "}"}));
        REQUIRE(p.archive.records.size() == 1);
        CHECK(p.archive.records[0].measured.seconds.empty() != p.archive.records[0].measured.ok());
        return p.archive.records[0].measured.status;
    };
    CHECK(status_of(R"("time": 1e20)") == outcome::runner_error);
    CHECK(status_of(R"("time": 0)") == outcome::unstable);
    CHECK(status_of(R"("time": 1, "times": [1, -1])") == outcome::unstable);
    CHECK(status_of(R"("time": "InvalidConfig")") == outcome::illegal_schedule);
    CHECK(status_of(R"("time": "?")") == outcome::runner_error);
    CHECK(status_of(R"("times": [1])") == outcome::ok);
}

TEST_CASE("tuning_archive: bad entries are counted with place and reason, the others are read") {
    const std::vector<std::pair<std::string, std::string>> bad{
        {R"("k": {"block": 16, "share": 0.5, "time": 1})", "11:42: parameter 'layout' is missing"},
        {R"("k": {"block": 16, "share": 0.5, "layout": "row"})", "11:44: expected a time or a failure, got neither"},
        {R"("k": {"block": 16, "block": 16, "share": 0.5, "layout": "row", "time": 1})", "11:16: 'block' stands twice"},
        {R"("k": {"block": [16], "share": 0.5, "layout": "row", "time": 1})", "11:17: expected a number, a text or a truth value"},
        {R"("k": {"block": 16, "share": 0.5, "layout": "row", "time": NaN})", "11:59: expected a number, got 'N'"},
        {R"("k": {"block": 16, "share": 0.5, "layout": "row", "time": 1, "times": [1, "2"]})", "11:75: expected a number, got '\"'"},
        {R"("k": {"block": 16, "share": 0.5, "layout": "row, "time": 1})", "11:51: expected ',' or '}', got 't'"},
        {R"("k": 5)", "11:6: expected an object, got '5'"},
        {R"("k": [[{"a": "}"}], {}])", "11:6: expected an object, got '['"},
    };
    for (const auto& pair : bad) {
        const auto& entry = pair.first;
        const auto& message = pair.second;
        CAPTURE(entry);
        auto list = archives::entries;
        list.insert(list.begin() + 2, entry);
        const auto p = parse(archives::cache_of(list));
        CHECK(p.error.empty());
        CHECK(p.archive.records.size() == 4);
        REQUIRE(p.bad.size() == 1);
        CHECK(p.bad[0] == "some/cache.json:" + message);
        std::string lines = archives::cache_of(list); // with the line ends of another system
        for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 2) lines.insert(at, 1, '\r');
        const auto other = parse(lines);
        CHECK(other.error.empty());
        CHECK(other.archive.records.size() == 4);
        CHECK(other.bad == p.bad);
    }
}

TEST_CASE("tuning_archive: a text that is no archive") {
    const std::vector<std::pair<std::string, std::string>> texts{
        {"", "some/cache.json:1:1: expected an object, got the end; the file ends early, the entries before this place were read"},
        {"[]", "some/cache.json:1:1: expected an object, got '['"},
        {"{}", "some/cache.json:1:1: expected a member 'cache' (Kernel Tuner) or 'results' (T4), got none"},
        {"{\"cache\": {}}", "some/cache.json:1:12: expected 'tune_params_keys' before 'cache'"},
        {"{\"tune_params_keys\": []}", "some/cache.json:1:22: expected at least one parameter, got none"},
        {"{\"tune_params_keys\": [\"a\", \"a\"]}", "some/cache.json:1:28: 'a' stands twice"},
        {"{\"schema_version\": \"2.0.0\"}", "some/cache.json:1:20: expected schema version 1, got '2.0.0'"},
        {"{\"results\": []} x", "some/cache.json:1:17: expected the end, got 'x'"},
    };
    for (const auto& pair : texts) {
        CAPTURE(pair.first);
        CHECK(parse(pair.first).error == pair.second);
    }
    CHECK(parse("{\"schema_version\": \"2.0.0\"}").code == errc::version_mismatch);
    CHECK(parse("{\"results\": []}").error.empty());
}

TEST_CASE("tuning_archive: a cache of other parameters behind results") {
    const std::string results = archives::t4.substr(0, archives::t4.find_last_of('}'));
    const auto p = parse(results + ", \"tune_params_keys\": [\"other\"], \"cache\": {}}");
    CHECK(p.code == errc::invalid_argument);
    CHECK(p.error.find("expected the parameters of the records before (") != std::string::npos);
    CHECK(p.archive.records.size() == parse(archives::t4).archive.records.size());
}

TEST_CASE("tuning_archive: the cache of an interrupted run keeps its records") {
    for (const char* end : {"", ",", ",\n", "}", "}\n"}) {
        std::string text = archives::head + archives::entries[0] + ",\n" + archives::entries[1] + end;
        const auto p = parse(text);
        CHECK(p.archive.records.size() == 2);
        CHECK(p.code == errc::parse);
        CHECK(has_place(p.error));
        CHECK(p.error.find("the file ends early") != std::string::npos);
    }
}

TEST_CASE("tuning_archive: every truncation is an error with its place, and what was read before is kept") {
    for (const std::string& text : {whole(), archives::t4}) {
        const auto all = parse(text).archive.records;
        const std::size_t end = text.find_last_of('}');
        for (std::size_t n = 0; n <= end; ++n) {
            const auto p = parse(std::string_view(text).substr(0, n));
            REQUIRE(has_place(p.error));
            REQUIRE(p.bad.empty());
            REQUIRE(p.archive.records.size() <= all.size());
            for (std::size_t i = 0; i < p.archive.records.size(); ++i) REQUIRE(same(p.archive.records[i], all[i]));
        }
    }
}

TEST_CASE("tuning_archive: every flipped bit gives records, a bad entry or an error with its place") {
    for (const std::string& text : {whole(), archives::t4}) {
        std::string flipped = text;
        for (std::size_t i = 0; i < text.size(); ++i) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                flipped[i] = static_cast<char>(static_cast<unsigned char>(text[i]) ^ (1U << bit));
                const auto p = parse(flipped);
                REQUIRE((p.error.empty() || has_place(p.error)));
                REQUIRE(p.archive.records.size() <= 4);
                for (const auto& b : p.bad) REQUIRE(has_place(b));
#ifdef AUGUR_TEST_NLOHMANN
                if (!nlohmann::json::accept(flipped)) REQUIRE((!p.error.empty() || !p.bad.empty()));
#endif
            }
            flipped[i] = text[i];
        }
    }
}

TEST_CASE("tuning_archive: a further file appends, one of another kernel is refused") {
    const auto first = parse(whole());
    const auto both = parse(whole(), first.archive);
    CHECK(both.error.empty());
    REQUIRE(both.archive.records.size() == 8);
    CHECK(same(both.archive.records[5], first.archive.records[1]));
    const auto replaced = [&](std::string_view from, std::string_view to) {
        std::string text = whole();
        text.replace(text.find(from), from.size(), to);
        return parse(text, first.archive);
    };
    CHECK(replaced("Some GPU", "Another").error == "some/cache.json:2:16: expected the device 'Some GPU' of the records before, got 'Another'");
    CHECK(replaced("4096", "8192").error == "some/cache.json:8:11: expected the kernel 'add [4096,16]' of the records before, got 'add [8192,16]'");
    CHECK(replaced("\"share\", ", "").error ==
          "some/cache.json:5:31: expected the parameters of the records before (block, share, layout), got others");
    CHECK(replaced("4096", "8192").code == errc::invalid_argument);
    CHECK(replaced("4096", "8192").archive.records.size() == 4);
}

TEST_CASE("tuning_archive: files, packed and cut" MAY_SKIP) {
#ifndef AUGUR_HAS_ZLIB
    SKIP_CASE("no zlib");
#endif
    if (std::system("command -v gzip >/dev/null") != 0) SKIP_CASE("no gzip");
    const logs::folder folder;
    const std::string plain = folder / "a.json", packed = folder / "b.json.gz", cut = folder / "c.json.gz";
    std::vector<std::string> many; // long enough to be several blocks of gzip
    for (int i = 0; i < 4000; ++i)
        many.push_back("\"" + std::to_string(i) + R"(": {"block": )" + std::to_string(i * 7919 % 4001) +
                       R"(, "share": 0.5, "layout": "row", "time": )" + std::to_string(i * i % 10007 + 1) + ".5}");
    const std::string text = archives::cache_of(many);
    std::ofstream(plain) << text;
    REQUIRE(std::system(("gzip -c '" + plain + "' > '" + packed + "'").c_str()) == 0);
    std::filesystem::copy_file(packed, cut);
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
    const std::vector<std::string> paths{plain, packed, cut, folder / "none.json"};
    serial_executor one;
    thread_pool_executor four(4);
    const auto files = read_tuning_archives(paths, one);
    const auto again = read_tuning_archives(paths, four);
    REQUIRE(files.size() == 4);
    CHECK((!files[0].failed && !files[1].failed && files[2].failed && files[3].failed));
    CHECK(files[0].archive.records.size() == 4000);
    CHECK(files[1].archive.records.size() == 4000);
    CHECK(files[2].archive.records.size() > 100);
    CHECK(files[2].archive.records.size() < 4000);
    CHECK(files[2].failed->detail.starts_with(cut + ":" + std::to_string(9 + files[2].archive.records.size()) + ":")); // the line of the next entry
    CHECK(files[2].failed->detail.ends_with("(" + cut + ": damaged gzip: the file ends too early)"));
    CHECK(files[3].failed->code == errc::not_found);
    for (std::size_t f = 0; f < 4; ++f) {
        REQUIRE(again[f].archive.records.size() == files[f].archive.records.size());
        for (std::size_t i = 0; i < files[f].archive.records.size(); ++i) {
            REQUIRE(same(files[f].archive.records[i], again[f].archive.records[i]));
            REQUIRE(same(files[f].archive.records[i], files[0].archive.records[i]));
        }
    }
    tuning_archive small;
    archive_read_options options;
    options.bytes = 1000;
    const auto refused = read_tuning_archive(packed, small, options);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::limit);
}

#ifdef AUGUR_TEST_NLOHMANN
TEST_CASE("tuning_archive: real caches, beside another parser" MAY_SKIP) {
#ifndef AUGUR_HAS_ZLIB
    SKIP_CASE("no zlib");
#endif
    const auto paths = archives::real_files();
    if (paths.empty()) SKIP_CASE("no kernel-tuner/*.json.gz (AutoTuningAssociation/benchmark_hub; set AUGUR_DATA)");
    serial_executor one;
    const auto files = read_tuning_archives(paths, one);
    for (const auto& f : files) {
        CAPTURE(f.path);
        REQUIRE(!f.failed);
        CHECK(f.archive.bad == 0);
        CHECK(f.archive.records.size() == 4362);
        auto source = byte_source::open(f.path);
        REQUIRE(source);
        std::string text;
        std::vector<char> block(1U << 20U);
        for (auto got = source->read(block.data(), block.size()); got && *got > 0; got = source->read(block.data(), block.size()))
            text.append(block.data(), *got);
        const auto json = nlohmann::ordered_json::parse(text);
        CHECK(f.archive.device == json["device_name"].get<std::string>());
        std::size_t i = 0;
        for (const auto& [key, e] : json["cache"].items()) {
            const auto& r = f.archive.records[i++];
            for (const auto& p : r.point.parameters) REQUIRE(e[p.name].get<std::int64_t>() == std::get<std::int64_t>(p.value));
            REQUIRE(r.measured.ok() == e["time"].is_number());
            REQUIRE(r.measured.total_seconds * 1e3 == doctest::Approx(e["compile_time"].get<double>() + e["benchmark_time"].get<double>()));
            if (!r.measured.ok()) continue;
            REQUIRE(r.measured.seconds.size() == e["times"].size());
            for (std::size_t k = 0; k < r.measured.seconds.size(); ++k) REQUIRE(r.measured.seconds[k] == e["times"][k].get<double>() / 1000);
        }
        CHECK(i == 4362);
    }
}
#endif

} // namespace tuning_archive_test
