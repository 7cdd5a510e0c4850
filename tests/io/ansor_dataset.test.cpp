// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/ansor_dataset.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <augur/record/log_reader.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "../search/threads.hpp"

namespace ansor_dataset_test {

using namespace augur;

namespace {

std::string tvm_line(std::int64_t i) { return to_json(to_ansor_line(logs::record(i))) + "\n"; }

#ifdef AUGUR_HAS_ZLIB // real logs are packed
/// The same data set by the strict reader, one record after the other.
dataset_builder by_strict_reader(const std::vector<std::string>& paths) {
    dataset_builder builder;
    for (const auto& path : paths) {
        const logs::unpacked file(path);
        log_reader reader(path, file.fd());
        const auto source = builder.source(source_name(path));
        record record;
        for (auto more = reader.next(record); more && *more; more = reader.next(record)) {
            const auto task = builder.task(record.task.workload_key, record.task.target, record.task.hardware);
            REQUIRE(task);
            const auto on = builder.on(*task, record.machine);
            REQUIRE(on);
            REQUIRE(builder.add(*on, source, record.schedule, record.measured));
        }
    }
    return builder;
}
#endif

/// What a data set says, in words: equal texts, equal data sets.
std::string words(const dataset& data, std::size_t stride = 1) {
    std::string text;
    for (std::size_t t = 0; t < data.tasks(); ++t) {
        const auto task = data.task(t);
        text.append(task.key).append(" ").append(task.target);
        for (const auto n : task.hardware) append_number(text += " ", n);
        for (const auto s : task.sources) text.append(" ").append(data.source(s));
        text.append(" ").append(task.machine);
        append_number(text += " ", task.first);
        append_number(text += " ", task.last);
        text += "\n";
    }
    for (std::size_t r = 0; r < data.size(); r += stride) {
        text += to_string(data.status(r));
        if (std::isfinite(data.seconds(r))) append_number(text += " ", data.seconds(r));
        for (const auto id : data.schedule(r)) append_number(text += " ", id);
        text += "\n";
    }
    return text;
}

} // namespace

TEST_CASE("ansor_dataset: names of sources") {
    CHECK(source_name("logs/resnet_50.jsonl.gz") == "resnet_50");
    CHECK(source_name("a.json") == "a");
    CHECK(source_name("/x.y/b") == "b");
    CHECK(source_name("v0.3.log.zst") == "v0.3");
    CHECK(source_name(".hidden") == ".hidden");
    CHECK(source_name("").empty());
}

TEST_CASE("ansor_dataset: any number of threads gives the data set that the strict reader gives") {
    const logs::folder tmp;
    std::vector<std::string> paths;
    auto rng = augur::random_engine(8);
    for (int file = 0; file < 7; ++file) {
        std::string text = file == 3 ? log_header() : "";
        for (int i = 0; i < 200; ++i) {
            const auto n = static_cast<std::int64_t>(rng.below(40)) + 5 * file;
            auto ours = logs::record(n);
            if (i % 3 == 1) ours.machine.threads = "4"; // two machines, and records that say nothing
            if (i % 3 == 2) ours.machine = {};
            text += file == 3 ? to_text(ours) : tvm_line(n);
        }
        paths.push_back(tmp / ("net" + std::to_string(file) + ".json").c_str());
        logs::write(paths.back(), text);
        REQUIRE(std::system(("gzip '" + paths.back() + "'").c_str()) == 0);
        paths.back() += ".gz";
    }
#ifndef AUGUR_HAS_ZLIB
    for (auto& path : paths) {
        REQUIRE(std::system(("gzip -d '" + path + "'").c_str()) == 0);
        path.resize(path.size() - 3);
    }
#endif
    const auto read = [&](auto executor) {
        dataset_builder builder;
        const auto reports = read_ansor_logs(paths, executor, builder);
        REQUIRE(reports);
        CHECK(reports->size() == paths.size());
        return std::move(builder).finish({.merge_equal = false});
    };
    const dataset one = read(serial_executor());
    const dataset four = read(toy::threads{4});
    CHECK(one.size() == 1400);
    CHECK(one.sources() == 7);
    CHECK(one.source(3) == "net3");
    CHECK(words(one) == words(four));
#ifdef AUGUR_HAS_ZLIB
    CHECK(words(one) == words(by_strict_reader(paths).finish({.merge_equal = false})));
#endif
}

TEST_CASE("ansor_dataset: times that are none are set aside and counted, failures are kept") {
    const logs::folder tmp;
    const std::string path = tmp / "a.json";
    std::string text;
    for (const char* r :
         {"[[0.5, 0.25], 0, 1, 2]", "[[0], 0, 1, 2]", "[[0.5, -0.1], 0, 1, 2]", "[[1e10], 0, 1, 2]", "[[], 0, 1, 2]", "[[1e10], 4, 1, 2]"})
        text += std::string(R"({"i": [["k", "llvm"], [[], [["CI", 1]]]], "r": )") + r + ", \"v\": \"v0.6\"}\n";
    logs::write(path, text);
    const std::vector<std::string> paths{path};
    dataset_builder builder;
    serial_executor executor;
    REQUIRE(read_ansor_logs(paths, executor, builder));
    const dataset data = std::move(builder).finish({.merge_equal = false});
    REQUIRE(data.size() == 2);
    CHECK(data.seconds(0) == 0.375);
    CHECK(data.status(1) == outcome::run_crash);
    CHECK(std::isinf(data.seconds(1)));
    CHECK(data.report().not_positive == 2);
    CHECK(data.report().not_finite == 2);
    CHECK(data.report().failed == 1);
}

#ifdef AUGUR_HAS_ZLIB
TEST_CASE("ansor_dataset: real logs" MAY_SKIP) {
    std::vector<std::string> paths;
    for (const auto& file : logs::ansor_files())
#ifdef AUGUR_TEST_SLOW
        paths.push_back(file.string());
#else
        if (file.string().find("ansor-misc") != std::string::npos) paths.push_back(file.string());
#endif
    if (paths.empty()) SKIP_CASE("no data (AUGUR_DATA)");
    std::sort(paths.begin(), paths.end());
    dataset_builder builder;
    toy::threads executor{2};
    REQUIRE(read_ansor_logs(paths, executor, builder));
    const dataset data = std::move(builder).finish({.merge_equal = false});
    MESSAGE(data.size() << " records, " << data.tasks() << " tasks, " << data.primitives().size() << " primitives, " << data.report().bytes_a_record()
                        << " bytes a record");
    CHECK(data.size() > 10'000);
    CHECK(words(data, 7) == words(by_strict_reader(paths).finish({.merge_equal = false}), 7));
}
#endif

} // namespace ansor_dataset_test
