// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/io/autotvm_archive.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/metatune/super_graph_text.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/space/autotvm_convolution.hpp>
#include <augur/space/autotvm_nest.hpp>
#include <augur/workload/iterator_features.hpp>

namespace {

using augur::result;

constexpr std::size_t least_points = 200;

/// The tasks of logs in one list, the same for every order of the files.
result<std::vector<augur::autotvm_archive>> read_tasks(device_records& device, const std::vector<std::string>& paths, examples::executor& threads) {
    auto files = augur::read_autotvm_archives(paths, threads);
    if (!files) return files.error();
    std::vector<augur::autotvm_archive> all;
    for (auto& f : *files) {
        device.cleaned.bad += f.report.summary.bad + (f.report.summary.torn ? 1 : 0) + f.bad;
        for (auto& a : f.tasks) {
            device.cleaned.records += a.configs.size();
            device.cleaned.bad += a.records.bad;
            all.push_back(std::move(a));
        }
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.records.workload < b.records.workload; });
    return all;
}

/// Appends a task, unless all of it failed or it has too few points, which teaches nothing.
void add_task(device_records& device, augur::autotvm_archive& a) {
    const examples::cleaning told = examples::clean(a.records, a.configs);
    std::string name = a.records.workload;
    auto made = examples::make_recording(std::move(name), std::move(a.records));
    if (!made || made->space.size() < least_points) return;
    device.cleaned.copied += told.copied;
    device.cleaned.scaled += told.scaled;
    device.cleaned.slow_sessions += told.slow_sessions;
    device.tasks.push_back(*std::move(made));
    device.configs.push_back(std::move(a.configs));
}

/// @param learned  logs whose tasks are only learned from; empty: none
result<void> add_logs(device_records& device, const std::vector<std::string>& replayed, const std::vector<std::string>& learned, std::size_t tasks,
                      std::uint64_t seed, examples::executor& threads) {
    auto all = read_tasks(device, replayed, threads);
    if (!all) return all.error();
    device.all_tasks = all->size();
    augur::random_engine rng(seed);
    rng.shuffle(std::span(*all));
    for (auto& a : *all) {
        if (device.tasks.size() == tasks) break;
        if (learned.empty() || augur::parse_autotvm_convolution(a.records.workload)) add_task(device, a);
    }
    device.replayed = device.tasks.size();
    if (!learned.empty()) {
        std::set<std::string, std::less<>> seen;
        for (const auto& t : device.tasks) seen.insert(t.name);
        auto others = read_tasks(device, learned, threads);
        if (!others) return others.error();
        for (auto& a : *others)
            if (!seen.contains(a.records.workload)) add_task(device, a);
    }
    device.loops = loop_columns_of(device);
    auto graphs = recorded_loops_of(device, false);
    if (!graphs) return graphs.error();
    device.in_super_graph.graphs = *std::move(graphs);
    return {};
}

std::uint64_t key_of(const augur::tuning_archive& task, const augur::configuration& c) {
    return augur::mix64(augur::hash_schedule(c) ^ augur::fnv1a64(task.workload));
}

using loops_by_key = std::unordered_map<std::uint64_t, metatune::loop_rows>;

/// Records of a template: all of the tasks that are replayed, and those that are learned from.
struct template_records {
    std::vector<std::pair<std::size_t, std::size_t>> replayed, learned;
};

/// Adds the loops of the records of a template to `rows`, in the slots of the super-graph whose text is returned, or as plain graphs.
result<std::string> place_loops(const device_records& device, std::string_view form, const template_records& of, bool plain, loops_by_key& rows) {
    metatune::super_graph graph; // of the loops of all tasks: a structure, no measurement
    std::unordered_map<std::uint64_t, augur::iterator_features> features;
    for (const auto* list : {&of.replayed, &of.learned})
        for (const auto& [t, i] : *list) {
            const auto& archive = device.tasks[t].archive;
            const std::uint64_t key = key_of(archive, archive.records[i].point);
            if (features.contains(key)) continue;
            const auto convolution = augur::parse_autotvm_convolution(archive.workload);
            if (!convolution) return convolution.error();
            const auto nest = augur::autotvm_nest::make(*convolution, device.configs[t][i]);
            if (!nest) return nest.error();
            auto loops = augur::iterator_features_of(*nest);
            if (!loops) return loops.error();
            if (auto added = plain ? result<void>() : graph.add(*loops, form); !added) return added.error();
            features.emplace(key, *std::move(loops));
        }
    std::vector<metatune::loop_rows*> all;
    std::vector<const metatune::loop_rows*> learned;
    for (const auto& [key, loops] : features) {
        auto placed = plain ? metatune::rows_of(loops) : graph.place(loops, form);
        if (!placed) return placed.error();
        all.push_back(&rows.insert_or_assign(key, *std::move(placed)).first->second);
    }
    for (const auto& [t, i] : of.learned) learned.push_back(&rows.at(key_of(device.tasks[t].archive, device.tasks[t].archive.records[i].point)));
    const auto columns = metatune::standardisation::fit(learned);
    for (auto* one : all)
        if (auto applied = columns.apply(*one); !applied) return applied.error();
    return plain ? "plain" : metatune::to_text(graph);
}

} // namespace

result<void> loop_columns::operator()(const augur::tuning_archive& task, const augur::configuration& c, std::span<float> row) const {
    const auto at = rows->find(key_of(task, c));
    if (at == rows->end())
        return augur::error{augur::errc::not_found, "expected a configuration of a convolution that AutoTVM's features are known of"};
    std::fill(std::copy(at->second.begin(), at->second.end(), row.begin()), row.end(), 0.0F);
    return {};
}

std::string_view form_of(const device_records& on, std::size_t t) {
    const std::string_view key = on.tasks[t].archive.workload;
    return key.substr(0, key.find(','));
}

std::vector<std::pair<std::size_t, std::size_t>> history(const device_records& on, std::size_t t) {
    std::vector<std::pair<std::size_t, std::size_t>> out;
    for (std::size_t i = on.replayed < on.tasks.size() ? on.replayed : 0; i < on.tasks.size(); ++i) {
        if (i == t || form_of(on, i) != form_of(on, t)) continue;
        const std::size_t records = on.tasks[i].archive.records.size(), step = (std::max)(records / 200, std::size_t{1});
        for (std::size_t k = 0; k < records; k += step) out.emplace_back(i, k);
    }
    return out;
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

result<metatune::loop_rows> recorded_loops::operator()(const augur::tuning_archive& task, const augur::configuration& c) const {
    const auto at = rows->find(key_of(task, c));
    if (at != rows->end()) return at->second;
    return augur::error{augur::errc::not_found, "expected a recorded configuration whose loops are known"};
}

result<recorded_loops> recorded_loops_of(const device_records& device, bool plain) {
    if (device.replayed == device.tasks.size()) return recorded_loops{}; // nothing is learned
    std::map<std::string, template_records, std::less<>> templates;
    for (std::size_t t = 0; t < device.replayed; ++t) {
        if (!augur::parse_autotvm_convolution(device.tasks[t].archive.workload)) continue;
        auto& of = templates[std::string(form_of(device, t))];
        if (of.replayed.empty()) of.learned = history(device, t);
        for (std::size_t i = 0; i < device.tasks[t].archive.records.size(); ++i) of.replayed.emplace_back(t, i);
    }
    recorded_loops out;
    auto rows = std::make_shared<loops_by_key>();
    for (const auto& [form, of] : templates) {
        if (of.learned.empty()) continue;
        auto graph = place_loops(device, form, of, plain, *rows);
        if (!graph) return graph.error();
        out.templates.emplace(form, *std::move(graph));
    }
    out.rows = std::move(rows);
    return out;
}

result<std::vector<device_records>> read_devices(const std::string& data, const std::vector<std::string>& devices, std::size_t tasks,
                                                 std::uint64_t seed, examples::executor& threads) {
    namespace fs = std::filesystem;
    std::map<std::string, std::string> logs, archives; // path by name, up to `.json`
    std::set<std::string> all;                         // devices: the names up to the first dot
    for (const auto& [folder, into] : {std::pair{"autotvm", &logs}, {"kernel-tuner", &archives}}) {
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(fs::path(data) / folder, code)) {
            const auto name = entry.path().filename().string();
            const auto end = name.find(".json");
            if (end == std::string::npos) continue;
            into->emplace(name.substr(0, end), entry.path().string());
            all.insert(name.substr(0, name.find('.')));
        }
    }
    const auto paths_of = [](const std::map<std::string, std::string>& from, const std::string& wanted) {
        std::vector<std::string> paths;
        for (const auto& [name, path] : from)
            if (name == wanted || name.starts_with(wanted + ".")) paths.push_back(path);
        return paths;
    };
    std::vector<device_records> out;
    for (const std::string& device : devices.empty() ? std::vector<std::string>(all.begin(), all.end()) : devices) {
        const auto colon = device.find(':');
        const std::string replayed = device.substr(0, colon), learned = colon == std::string::npos ? "" : device.substr(colon + 1);
        device_records d;
        d.device = device;
        const auto paths = paths_of(logs, replayed), others = learned.empty() ? std::vector<std::string>() : paths_of(logs, learned);
        if (!learned.empty() && others.empty())
            return augur::error{augur::errc::not_found, data + ": expected autotvm/" + learned + "*.jsonl.gz, found none"};
        if (!paths.empty()) {
            if (auto read = add_logs(d, paths, others, tasks, seed, threads); !read) return read.error();
            if (d.replayed == 0 && !devices.empty())
                return augur::error{augur::errc::not_found, data + ": expected a task of " + device + " with at least " +
                                                                std::to_string(least_points) + " points, found none"};
            out.push_back(std::move(d));
            continue;
        }
        d.exhaustive = true;
        for (const auto& path : paths_of(archives, replayed)) {
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
        d.replayed = d.all_tasks = d.tasks.size();
        if (d.replayed > 0) out.push_back(std::move(d));
        else if (!devices.empty())
            return augur::error{augur::errc::not_found,
                                data + ": expected autotvm/" + replayed + "*.jsonl.gz or kernel-tuner/" + replayed + "*.json.gz, found none"};
    }
    if (out.empty())
        return augur::error{augur::errc::not_found, data + ": expected autotvm/DEVICE.*.jsonl.gz or kernel-tuner/DEVICE.json.gz, found none"};
    return out;
}

device_records made_up_device() {
    device_records out;
    out.device = "made up";
    out.exhaustive = true;
    out.replayed = out.all_tasks = 2;
    auto rows = std::make_shared<loops_by_key>();
    for (const int best : {3, 5, 2, 4}) { // the last two are only learned from
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
                    metatune::loop_rows loops{augur::nn::matrix<float>::Zero(2, 3), {1, 1}, {metatune::loop_rows::no_parent, 0}};
                    loops.features << static_cast<float>(x) / 4 - 1, static_cast<float>(unroll) / 2, 0, static_cast<float>(y) / 4 - 1, 0, 1;
                    rows->emplace(key_of(archive, r.point), std::move(loops));
                    archive.records.push_back(std::move(r));
                }
        std::string name = archive.workload;
        out.tasks.push_back(*examples::make_recording(std::move(name), std::move(archive)));
        out.configs.emplace_back();
    }
    out.in_super_graph.graphs.templates.emplace("tiles", "");
    out.in_super_graph.graphs.rows = std::move(rows);
    return out;
}
