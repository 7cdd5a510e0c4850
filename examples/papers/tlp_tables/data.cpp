// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logs on disk -> data sets, kept as mapped files; and small made-up logs for --quick.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <augur/record/replace_file.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/io/ansor_dataset.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/file.hpp>
#include <augur/dataset/split.hpp>

#include "flags.hpp"
#include "report.hpp"
#include "tables.hpp"
#include "nest.hpp"

namespace examples {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view separator = ": ";

struct log_file {
    std::string path, platform;
};

/// Puts the platform in front of the target: V100 and K80 call theirs by one name.
struct platform_sink {
    augur::dataset_sink inner;
    std::string platform;

    std::uint32_t task(const augur::logged_task& task) {
        augur::logged_task named = task;
        named.target = platform + std::string(separator) + named.target;
        return inner.task(named);
    }
    std::uint32_t step(const augur::step_list& one) { return inner.step(one); }
    augur::result<void> add(const augur::record_view& trial) { return inner.add(trial); }
};

/// The logs of a folder by name; "v100_conv.jsonl.gz" is of platform v100 where `platform` is empty.
std::vector<log_file> logs_in(const std::string& folder, std::string_view platform) {
    std::vector<log_file> found;
    std::error_code gone;
    for (fs::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
        const std::string name = at->path().filename().string();
        if (name.find(".json") == std::string::npos) continue;
        found.push_back({at->path().string(), std::string(platform.empty() ? std::string_view(name).substr(0, name.find('_')) : platform)});
    }
    std::sort(found.begin(), found.end(), [](const log_file& a, const log_file& b) { return a.path < b.path; });
    return found;
}

/// Of names, sizes and times: what a cached data set was made from. A strict run does not take one that may have passed over bad lines.
std::uint64_t origin_of(const std::vector<log_file>& files, bool strict) {
    std::uint64_t hash = augur::fnv1a64(strict ? "tables 1 strict" : "tables 1");
    for (const log_file& f : files) {
        std::error_code gone;
        hash = augur::fnv1a64(f.platform, augur::fnv1a64(fs::path(f.path).filename().string(), hash));
        hash = augur::mix64(hash ^ static_cast<std::uint64_t>(fs::file_size(f.path, gone)));
        hash = augur::mix64(hash ^ static_cast<std::uint64_t>(fs::last_write_time(f.path, gone).time_since_epoch().count()));
    }
    return hash;
}

augur::result<augur::dataset> read(const std::vector<log_file>& files, bool strict, executor& threads) {
    std::vector<std::string> paths;
    std::vector<augur::dataset_builder> parts(files.size());
    std::vector<platform_sink> sinks;
    for (std::size_t i = 0; i < files.size(); ++i) {
        paths.push_back(files[i].path);
        sinks.push_back({augur::dataset_sink(parts[i], augur::source_name(files[i].path)), files[i].platform});
    }
    augur::log_read_options options;
    options.strict = strict;
    std::size_t told = 0;
    options.on_bad_line = [&](const augur::bad_line& bad) {
        if (++told <= 10) std::fprintf(stderr, "%s\n", bad.text().c_str());
    };
    const auto reports = augur::read_ansor_logs(paths, threads, [&](std::size_t i) -> platform_sink& { return sinks[i]; }, options);
    if (!reports) return reports.error();
    augur::dataset_builder all;
    for (auto& part : parts)
        if (auto merged = all.merge(std::move(part)); !merged) return merged.error();
    std::size_t records = 0, bad = 0;
    for (const auto& r : *reports) records += r.summary.records, bad += r.summary.bad;
    std::fprintf(stderr, "read %zu records of %zu logs, %zu bad lines\n", records, files.size(), bad);
    return std::move(all).finish();
}

augur::result<table_data> load(const std::string& name, const std::vector<log_file>& files, const table_source& from, executor& threads) {
    const std::string path = from.cache + "/" + name + ".dataset";
    const std::uint64_t origin = origin_of(files, from.strict);
    auto data = augur::map_dataset(path, {.content = {}, .origin = origin});
    if (!data) {
        if (data.error().code != augur::errc::not_found) std::fprintf(stderr, "%s; reading the logs again\n", data.error().detail.c_str());
        data = read(files, from.strict, threads);
        if (!data) return data.error();
        if (auto written = augur::write_dataset(path, *data, origin); !written) return written.error();
        data = augur::map_dataset(path, {.content = {}, .origin = origin});
        if (!data) return data.error();
    }
    table_data out;
    out.data = *std::move(data);
    out.content = augur::content_hash(out.data);

    std::vector<std::string_view> held;
    for (const std::string_view network : from.test_networks)
        for (std::uint32_t s = 0; s < out.data.sources(); ++s)
            if (out.data.source(s) == network) held.push_back(network);
    const std::vector<bool> by_key = augur::held_out_by_key(out.data);
    auto by_source = augur::held_out_by_source(out.data, held);
    if (!by_source) return by_source.error();
    for (std::uint32_t t = 0; t < out.data.tasks(); ++t) {
        const std::string_view target = out.data.task(t).target;
        const std::string platform(target.substr(0, target.find(separator)));
        const bool has_networks = platform != "own" && !held.empty();
        out.held_out.push_back(has_networks ? (*by_source)[t] : by_key[t]);
        if (std::find(out.platforms.begin(), out.platforms.end(), platform) == out.platforms.end()) out.platforms.push_back(platform);
    }
    out.test_networks.assign(held.begin(), held.end());
    out.own_test = from.test_networks != default_test_networks();
    return out;
}

} // namespace

const std::vector<std::string>& default_test_networks() {
    static const std::vector<std::string> names{"resnet_50", "mobilenet_v2", "resnext_50"};
    return names;
}

std::vector<std::uint32_t> table_data::on(std::string_view platform, const std::vector<std::uint32_t>& tasks) const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t t : tasks) {
        const std::string_view target = data.task(t).target;
        if (target.substr(0, target.find(separator)) == platform) out.push_back(t);
    }
    return out;
}

std::vector<std::uint32_t> table_data::test(std::string_view platform) const {
    std::vector<std::uint32_t> held;
    for (std::uint32_t t = 0; t < data.tasks(); ++t)
        if (held_out[t]) held.push_back(t);
    return on(platform, held);
}

const table_data* table_world::find(std::string_view platform) const {
    for (const table_data& one : sets)
        if (std::find(one.platforms.begin(), one.platforms.end(), platform) != one.platforms.end()) return &one;
    return nullptr;
}

augur::result<table_world> load_tables(const table_source& from, executor& threads) {
    std::error_code wrong;
    fs::create_directories(from.cache, wrong);
    if (wrong) return augur::error{augur::errc::io, from.cache + ": cannot make the folder: " + wrong.message()};
    auto cpu = logs_in(from.data + "/ansor-x86-24core", "x86-24core");
    for (const std::string& path : from.own) cpu.push_back({path, "own"});
    auto gpu = logs_in(from.data + "/ansor-gpu", "");
    table_world world;
    for (const auto& [name, files] : {std::pair{"cpu", &cpu}, std::pair{"gpu", &gpu}}) {
        if (files->empty()) continue;
        auto set = load(name, *files, from, threads);
        if (!set) return set.error();
        for (const char* dags : {"/task-dags.jsonl", "/task-dags.jsonl.gz"})
            if (auto done = read_dags(from.data + dags, *set); !done) return done.error();
        world.sets.push_back(*std::move(set));
    }
    if (world.sets.empty())
        return augur::error{augur::errc::not_found,
                            "no logs: expected *.json* in ansor-x86-24core/ or ansor-gpu/ of '" + from.data + "', or --own FILE; --quick needs none"};
    for (const std::string& network : from.test_networks) {
        const auto has = [&](const table_data& set) {
            return std::find(set.test_networks.begin(), set.test_networks.end(), network) != set.test_networks.end();
        };
        if (from.test_networks == default_test_networks() || std::any_of(world.sets.begin(), world.sets.end(), has)) continue;
        std::string known;
        for (const table_data& set : world.sets)
            for (std::uint32_t s = 0; s < set.data.sources(); ++s) known += (known.empty() ? "" : ", ") + std::string(set.data.source(s));
        return augur::error{augur::errc::invalid_argument, "test network '" + shown(network) + "': there is no log of that name, only " + known};
    }
    return world;
}

/// A product of two matrices, tiled twice. A platform likes inner tiles of one size, outer ones of another and one depth of unrolling; what misses
/// them pays for it; a tile that is too large for the platform fails.
augur::result<void> write_quick_logs(const std::string& folder, std::size_t records_a_task) {
    struct taste {
        const char* target;
        double inner, outer, unroll; ///< log2
    };
    std::string dags;
    const auto write = [&](const std::string& name, const taste& likes, std::uint64_t first_task, std::size_t tasks) -> augur::result<void> {
        static constexpr std::array<int, 4> unrolls{0, 16, 64, 512};
        std::string text;
        for (std::uint64_t t = first_task; t < first_task + tasks; ++t) {
            augur::random_engine shape(augur::mix64(t)); // platforms share tasks
            const auto rows = 32LL << shape.below(5), columns = 32LL << shape.below(5), depth = 16LL << shape.below(5);
            const auto number = static_cast<long long>(t);
            dags += text_of("{\"key\": \"[\\\"product\\\", %lld, %lld, %lld]\", \"dag\": \"p0 = PLACEHOLDER [%lld, %lld]\\np1 = PLACEHOLDER [%lld, "
                            "%lld]\\nproduct(i, j) += (p0[i, k]*p1[k, j])\"}\n",
                            rows, columns, depth + number, rows, depth, depth, columns);
            augur::random_engine rng = augur::random_engine(augur::fnv1a64(name)).stream(t);
            for (std::size_t r = 0; r < records_a_task; ++r) {
                const auto tile = [&](long long extent) { return 1LL << rng.below(static_cast<std::uint64_t>(std::log2(extent)) + 1); };
                const auto inner = tile((std::min)(columns, 64LL)), outer = tile(columns / inner), high = tile(rows), deep = tile(depth);
                const auto unroll = unrolls[rng.below(unrolls.size())];
                const auto miss = [](double a, double b) { return (a - b) * (a - b); };
                const double cost = 0.10 * miss(std::log2(inner), likes.inner) + 0.05 * miss(std::log2(high), likes.outer) +
                                    0.02 * miss(std::log2(deep), 3) + 0.02 * miss(unroll == 0 ? 0 : std::log2(unroll), likes.unroll);
                const bool fails = inner * outer * high >= 8192;
                const double noise = 1 + 0.02 * rng.uniform();
                const double seconds = static_cast<double>(rows * columns * depth) * 1e-10 * (0.5 + cost) * noise;
                char line[1024];
                const int n = std::snprintf(
                    line, sizeof line,
                    "{\"i\": [[\"[\\\"product\\\", %lld, %lld, %lld]\", \"%s\", [8, 64, 64, 0, 0, 0, 0, 0], \"\", 1, []], [[], [[\"SP\", 2, 0, %lld, "
                    "[%lld], 1], [\"SP\", 2, 2, %lld, [%lld, %lld], 1], [\"SP\", 2, 5, %lld, [%lld], 1], [\"RE\", 2, [0, 2, 5, 1, 3, 6, 4]], "
                    "[\"FU\", 2, [0, 1]], [\"AN\", 2, 0, 3], [\"PR\", 2, 0, \"auto_unroll_max_step$%d\"]%s]]], \"r\": [[%.6g], %d, 1, 1600000000], "
                    "\"v\": \"v0.6\"}\n",
                    rows, columns, depth + number, likes.target, rows, high, columns, outer, inner, depth, deep, unroll,
                    rng.below(2) == 0 ? "" : ", [\"AN\", 2, 5, 2]", fails ? 1e10 : seconds, fails ? 4 : 0);
                text.append(line, static_cast<std::size_t>(n));
            }
        }
        return augur::replace_file(folder + "/" + name + ".json", text);
    };
    std::error_code wrong;
    for (const char* sub : {"/ansor-x86-24core", "/ansor-gpu"}) fs::create_directories(folder + sub, wrong);
    if (wrong) return augur::error{augur::errc::io, folder + ": cannot make the folders: " + wrong.message()};
    const taste cpu{"llvm", 4, 2, 6}, v100{"cuda", 3, 4, 6}, k80{"cuda", 2, 4, 4}, mi50{"rocm", 4, 3, 6};
    std::uint64_t first = 0;
    for (const char* name : {"alexnet", "vgg_16", "resnet_18", "resnet_50", "mobilenet_v2", "resnext_50"}) {
        if (auto done = write(std::string("ansor-x86-24core/") + name, cpu, first, 3); !done) return done;
        first += 3;
    }
    for (const auto& [name, likes] : {std::pair{"v100_matmul", v100}, std::pair{"k80_matmul", k80}, std::pair{"mi50_matmul", mi50}})
        if (auto done = write(std::string("ansor-gpu/") + name, likes, 100, 24); !done) return done;
    return augur::replace_file(folder + "/task-dags.jsonl", dags);
}

} // namespace examples
