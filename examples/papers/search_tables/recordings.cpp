// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <unordered_map>
#include <utility>
#include <variant>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/io/autotvm_archive.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/space/autotvm_convolution.hpp>
#include <augur/space/autotvm_nest.hpp>
#include <augur/workload/iterator_features.hpp>

namespace {

using augur::result;

constexpr std::size_t least_points = 200;

/// The tasks of a device in one list, the same for every order of the files.
result<void> add_logs(device_records& device, const std::vector<std::string>& paths, std::size_t tasks, std::uint64_t seed,
                      examples::executor& threads) {
    auto files = augur::read_autotvm_archives(paths, threads);
    if (!files) return files.error();
    std::vector<augur::autotvm_archive> all;
    for (auto& f : *files) {
        device.cleaned.bad += f.report.summary.bad + (f.report.summary.torn ? 1 : 0);
        for (auto& a : f.tasks) {
            device.cleaned.records += a.configs.size();
            device.cleaned.bad += a.records.bad;
            all.push_back(std::move(a));
        }
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.records.workload < b.records.workload; });
    device.all_tasks = all.size();
    augur::random_engine rng(seed);
    rng.shuffle(std::span(all));
    for (auto& a : all) {
        if (device.tasks.size() == tasks) break;
        const examples::cleaning told = examples::clean(a.records, a.configs);
        std::string name = a.records.workload;
        auto made = examples::make_recording(std::move(name), std::move(a.records));
        if (!made || made->space.size() < least_points) continue; // a task where all failed, or of too few points, teaches nothing
        device.cleaned.copied += told.copied;
        device.cleaned.scaled += told.scaled;
        device.cleaned.slow_sessions += told.slow_sessions;
        device.tasks.push_back(*std::move(made));
        device.configs.push_back(std::move(a.configs));
    }
    device.loops = loop_columns_of(device);
    return {};
}

std::uint64_t key_of(const augur::tuning_archive& task, const augur::configuration& c) {
    return augur::mix64(augur::hash_schedule(c) ^ augur::fnv1a64(task.workload));
}

} // namespace

result<void> loop_columns::operator()(const augur::tuning_archive& task, const augur::configuration& c, std::span<float> row) const {
    const auto at = rows->find(key_of(task, c));
    if (at == rows->end())
        return augur::error{augur::errc::not_found, "expected a configuration of a convolution that AutoTVM's features are known of"};
    std::fill(std::copy(at->second.begin(), at->second.end(), row.begin()), row.end(), 0.0F);
    return {};
}

loop_columns loop_columns_of(const device_records& device) {
    std::unordered_map<std::uint64_t, std::vector<float>> rows;
    std::size_t touches = 0, width = 0;
    struct known {
        augur::iterator_features features;
        const augur::autotvm_config* config;
    };
    std::vector<std::pair<std::uint64_t, known>> all;
    std::vector<bool> with_rows(device.tasks.size(), false);
    for (std::size_t t = 0; t < device.tasks.size(); ++t) {
        const auto& archive = device.tasks[t].archive;
        const auto convolution = augur::parse_autotvm_convolution(archive.workload);
        if (!convolution) continue; // another template
        for (std::size_t i = 0; i < device.configs[t].size(); ++i) {
            const auto nest = augur::autotvm_nest::make(*convolution, device.configs[t][i]);
            if (!nest) continue;
            auto features = augur::iterator_features_of(*nest);
            if (!features) continue;
            for (const auto& loop : features->loops) touches = (std::max)(touches, loop.touches.size());
            all.push_back({key_of(archive, archive.records[i].point), {*std::move(features), &device.configs[t][i]}});
            with_rows[t] = true;
        }
    }
    const std::size_t columns = augur::iterator_row_columns(touches);
    for (const auto& [key, k] : all) {
        std::vector<float> row(k.features.loops.size() * columns);
        for (std::size_t i = 0; i < k.features.loops.size(); ++i)
            augur::write_iterator_row(k.features.loops[i], std::span(row).subspan(i * columns, columns));
        for (const auto& knob : k.config->knobs)
            if (knob.kind == augur::autotvm_knob_kind::other)
                if (const auto* number = std::get_if<std::int64_t>(&knob.values.front())) row.push_back(static_cast<float>(*number));
        width = (std::max)(width, row.size());
        rows.insert_or_assign(key, std::move(row));
    }
    return {std::make_shared<const std::unordered_map<std::uint64_t, std::vector<float>>>(std::move(rows)), width, std::move(with_rows)};
}

result<std::vector<device_records>> read_devices(const std::string& data, const std::vector<std::string>& devices, std::size_t tasks,
                                                 std::uint64_t seed, examples::executor& threads) {
    namespace fs = std::filesystem;
    std::map<std::string, std::vector<std::string>> logs, archives; // by device: the name of the file up to the first dot
    for (const auto& [folder, into] : {std::pair{"autotvm", &logs}, {"kernel-tuner", &archives}}) {
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(fs::path(data) / folder, code)) {
            const auto name = entry.path().filename().string();
            const auto device = name.substr(0, name.find('.'));
            if (name.find(".json") == std::string::npos) continue;
            if (devices.empty() || std::find(devices.begin(), devices.end(), device) != devices.end())
                (*into)[device].push_back(entry.path().string());
        }
    }
    std::vector<device_records> out;
    for (auto& [device, paths] : logs) {
        std::sort(paths.begin(), paths.end());
        device_records d{device, false, {}, {}, {}, 0, {}};
        if (auto read = add_logs(d, paths, tasks, seed, threads); !read) return read.error();
        out.push_back(std::move(d));
    }
    for (auto& [device, paths] : archives) {
        std::sort(paths.begin(), paths.end());
        device_records d{device, true, {}, {}, {}, paths.size(), {}};
        for (const auto& path : paths) {
            augur::tuning_archive archive;
            if (auto read = augur::read_tuning_archive(path, archive); !read) return read.error();
            d.cleaned.records += archive.records.size();
            d.cleaned.bad += archive.bad;
            std::string name = archive.workload;
            auto made = examples::make_recording(std::move(name), std::move(archive));
            if (!made) return made.error();
            d.tasks.push_back(*std::move(made));
            d.configs.emplace_back();
        }
        out.push_back(std::move(d));
    }
    if (out.empty())
        return augur::error{augur::errc::not_found, data + ": expected autotvm/DEVICE.*.jsonl.gz or kernel-tuner/DEVICE.json.gz, found none"};
    return out;
}

device_records made_up_device() {
    device_records out{"made up", true, {}, {}, {}, 2, {}};
    for (const int best : {3, 5}) {
        augur::tuning_archive archive;
        archive.workload = "tiles, best at 2^" + std::to_string(best);
        for (std::int64_t x = 0; x < 8; ++x)
            for (std::int64_t y = 0; y < 8; ++y)
                for (std::int64_t unroll = 0; unroll < 4; ++unroll) {
                    augur::measured_configuration r;
                    r.point.parameters = {{"tile_x", std::int64_t{1} << x}, {"tile_y", std::int64_t{1} << y}, {"unroll", unroll}};
                    const double far = std::pow(static_cast<double>(x - best), 2) + std::pow(static_cast<double>(y - 2), 2);
                    if (x + y > 11) {
                        r.measured.status = augur::outcome::compile_error;
                    } else {
                        r.measured.status = augur::outcome::ok;
                        r.measured.seconds = {1e-3 * (1 + 0.2 * far + 0.1 * static_cast<double>(unroll == 2 ? 0 : 1))};
                    }
                    r.measured.total_seconds = 1;
                    archive.records.push_back(std::move(r));
                }
        std::string name = archive.workload;
        out.tasks.push_back(*examples::make_recording(std::move(name), std::move(archive)));
        out.configs.emplace_back();
    }
    return out;
}
