// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>
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

/// Do all configurations of a convolution fit its shape? Two tasks of a V100 in public logs have the knobs of another padding. True for other templates.
bool fits_its_shape(const augur::autotvm_archive& a) {
    const auto convolution = augur::parse_autotvm_convolution(a.records.workload);
    return !convolution ||
           std::all_of(a.configs.begin(), a.configs.end(), [&](const auto& c) { return augur::autotvm_nest::make(*convolution, c).has_value(); });
}

/// @param learned  logs whose tasks are only learned from; empty: none
result<void> add_logs(device_records& device, const std::vector<std::string>& replayed, const std::vector<std::string>& learned,
                      const task_choice& choice, examples::executor& threads) {
    auto all = read_tasks(device, replayed, threads);
    if (!all) return all.error();
    device.all_tasks = all->size();
    const auto usable = [&](const augur::autotvm_archive& a) { // where loops are wanted of all
        if (learned.empty() || fits_its_shape(a)) return true;
        std::fprintf(stderr, "search_tables: left out, a configuration does not fit its shape: %s\n", a.records.workload.c_str());
        return false;
    };
    augur::random_engine rng(choice.seed);
    rng.shuffle(std::span(*all));
    for (auto& a : *all) {
        if (device.tasks.size() == choice.tasks) break;
        const bool readable = choice.any_template || learned.empty() || augur::parse_autotvm_convolution(a.records.workload);
        if (readable && (!choice.by_hash || held_out_by_hash(a.records.workload)) && usable(a)) add_task(device, a);
    }
    device.replayed = device.tasks.size();
    if (!learned.empty()) {
        std::set<std::string, std::less<>> seen;
        for (const auto& t : device.tasks) seen.insert(numbers_of(t.name));
        auto others = read_tasks(device, learned, threads);
        if (!others) return others.error();
        for (auto& a : *others)
            if (!seen.contains(numbers_of(a.records.workload)) && !(choice.by_hash && held_out_by_hash(a.records.workload)) && usable(a))
                add_task(device, a);
    }
    device.loops = loop_columns_of(device);
    return {};
}

/// Reads archives of Kernel Tuner, a task each.
result<void> add_archives(device_records& device, const std::vector<std::string>& paths) {
    for (const auto& path : paths) {
        augur::tuning_archive archive;
        if (auto read = augur::read_tuning_archive(path, archive); !read) return read.error();
        device.cleaned.records += archive.records.size();
        device.cleaned.bad += archive.bad;
        std::string name = archive.workload;
        auto made = examples::make_recording(std::move(name), std::move(archive));
        if (!made) return made.error();
        device.tasks.push_back(*std::move(made));
        device.configs.emplace_back();
    }
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

/// The loops of a recorded configuration, from which the rows of both graphs are made.
result<augur::iterator_features> loops_of(const device_records& device, std::size_t t, std::size_t i) {
    const auto convolution = augur::parse_autotvm_convolution(device.tasks[t].archive.workload);
    if (!convolution) return convolution.error();
    const auto nest = augur::autotvm_nest::make(*convolution, device.configs[t][i]);
    if (!nest) return nest.error();
    return augur::iterator_features_of(*nest);
}

/// Calls f(task, index, key) for each configuration of a template, once; the first error ends it.
template <class F>
result<void> for_each_configuration(const device_records& device, const template_records& of, F&& f) {
    std::unordered_set<std::uint64_t> seen;
    for (const auto* list : {&of.replayed, &of.learned})
        for (const auto& [t, i] : *list) {
            const auto& archive = device.tasks[t].archive;
            const std::uint64_t key = key_of(archive, archive.records[i].point);
            if (!seen.insert(key).second) continue;
            if (result<void> done = f(t, i, key); !done) return done;
        }
    return {};
}

/// Adds the loops of the records of a template to `rows`, in the slots of the super-graph whose text is returned, or as plain graphs.
result<std::string> place_loops(const device_records& device, std::string_view form, const template_records& of, bool plain, loops_by_key& rows) {
    metatune::super_graph graph; // of the loops of all tasks: a structure, no measurement
    std::unordered_map<std::uint64_t, augur::iterator_features> features;
    const auto gathered = for_each_configuration(device, of, [&](std::size_t t, std::size_t i, std::uint64_t key) -> result<void> {
        auto loops = loops_of(device, t, i);
        if (!loops) return loops.error();
        if (auto added = plain ? result<void>() : graph.add(*loops, form); !added) return added;
        features.emplace(key, *std::move(loops));
        return {};
    });
    if (!gathered) return gathered.error();
    for (const auto& [key, loops] : features) {
        auto placed = plain ? metatune::rows_of(loops) : graph.place(loops, form);
        if (!placed) return placed.error();
        rows.insert_or_assign(key, *std::move(placed));
    }
    return plain ? "plain" : metatune::to_text(graph);
}

/// Adds the parameters of the records of a template to `rows`: numbers as in the features of loops, sign(x) log2(|x| + 1), texts by their rank.
result<std::string> place_knobs(const device_records& device, const template_records& of, loops_by_key& rows) {
    const auto& first = of.learned.front();
    examples::parameter_columns columns(device.tasks[first.first].archive);
    for (const auto* list : {&of.replayed, &of.learned})
        for (const auto& [t, i] : *list) columns.add(device.tasks[t].archive.records[i].point);
    const auto placed = for_each_configuration(device, of, [&](std::size_t t, std::size_t i, std::uint64_t key) -> result<void> {
        const auto& archive = device.tasks[t].archive;
        metatune::loop_rows row{
            augur::nn::matrix<float>::Zero(1, static_cast<augur::nn::index>(columns.columns())), {1}, {metatune::loop_rows::no_parent}};
        if (auto read = columns(archive, archive.records[i].point, {row.features.data(), columns.columns()}); !read) return read;
        for (float& x : std::span(row.features.data(), columns.columns())) x = std::copysign(std::log2(std::abs(x) + 1), x);
        rows.insert_or_assign(key, std::move(row));
        return {};
    });
    if (!placed) return placed.error();
    return std::string("knobs");
}

} // namespace

result<void> loop_columns::operator()(const augur::tuning_archive& task, const augur::configuration& c, std::span<float> row) const {
    const auto at = rows->find(key_of(task, c));
    if (at == rows->end())
        return augur::error{augur::errc::not_found, "expected a configuration of a convolution that AutoTVM's features are known of"};
    std::fill(std::copy(at->second.begin(), at->second.end(), row.begin()), row.end(), 0.0F);
    return {};
}

std::string numbers_of(std::string_view workload) {
    const auto c = augur::parse_autotvm_convolution(workload);
    if (!c) return std::string(workload);
    std::string out(augur::autotvm_template_names[static_cast<std::size_t>(c->form)]);
    const auto add = [&out](std::int64_t n) { out += ' ' + std::to_string(n); };
    for (const std::int64_t n : {static_cast<std::int64_t>(c->type), c->batch, c->in_channels, c->out_channels}) add(n);
    for (const auto& w : {c->y, c->x})
        for (const std::int64_t n : {w.in, w.k, w.stride, w.dilation, w.pad_before, w.pad_behind}) add(n);
    return out;
}

bool held_out_by_hash(std::string_view workload) {
    return augur::parse_autotvm_convolution(workload) && augur::fnv1a64(numbers_of(workload)) % 5 == 0;
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

std::uint64_t hash_records(const device_records& on, const std::vector<std::pair<std::size_t, std::size_t>>& records, std::uint64_t hash) {
    for (const auto& [t, i] : records) {
        const auto& archive = on.tasks[t].archive;
        hash = augur::fnv1a64(archive.workload, hash);
        for (const std::uint64_t bits :
             {augur::hash_schedule(archive.records[i].point), std::bit_cast<std::uint64_t>(archive.records[i].measured.latency())})
            hash = augur::mix64(hash ^ bits);
    }
    return hash;
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

result<recorded_loops> recorded_loops_of(const device_records& device, encoding as) {
    recorded_loops out;
    auto rows = std::make_shared<loops_by_key>();
    if (device.replayed < device.tasks.size()) { // something is learned
        std::map<std::string, template_records, std::less<>> templates;
        for (std::size_t t = 0; t < device.replayed; ++t) {
            if (as != encoding::knobs && !augur::parse_autotvm_convolution(device.tasks[t].archive.workload)) continue;
            auto& of = templates[std::string(form_of(device, t))];
            if (of.replayed.empty()) of.learned = history(device, t);
            for (std::size_t i = 0; i < device.tasks[t].archive.records.size(); ++i) of.replayed.emplace_back(t, i);
        }
        for (const auto& [form, of] : templates) {
            if (of.learned.empty()) continue;
            loops_by_key placed;
            auto text = as == encoding::knobs ? place_knobs(device, of, placed) : place_loops(device, form, of, as == encoding::plain, placed);
            if (!text) return text.error();
            std::vector<const metatune::loop_rows*> learned;
            for (const auto& [t, i] : of.learned)
                learned.push_back(&placed.at(key_of(device.tasks[t].archive, device.tasks[t].archive.records[i].point)));
            const auto columns = metatune::standardisation::fit(learned);
            for (auto& [key, one] : placed)
                if (auto applied = columns.apply(one); !applied) return applied.error();
            rows->merge(placed);
            out.templates.emplace(form, *std::move(text));
        }
    }
    out.rows = std::move(rows);
    return out;
}

result<std::vector<device_records>> read_devices(const std::string& data, const std::vector<std::string>& devices, const task_choice& choice,
                                                 examples::executor& threads) {
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
        std::vector<std::string> learned, others;
        auto colon = device.find(':');
        const std::string replayed = device.substr(0, colon);
        device_records d;
        d.device = device;
        const auto paths = paths_of(logs, replayed);
        while (colon != std::string::npos) {
            const auto from = colon + 1;
            colon = device.find(':', from);
            const auto& name = learned.emplace_back(device.substr(from, colon - from));
            const auto found = paths_of(paths.empty() ? archives : logs, name);
            if (found.empty())
                return augur::error{augur::errc::not_found, data + (paths.empty() ? ": expected kernel-tuner/" : ": expected autotvm/") + name +
                                                                (paths.empty() ? "*.json.gz" : "*.jsonl.gz") + ", found none"};
            others.insert(others.end(), found.begin(), found.end());
        }
        if (!paths.empty()) {
            if (auto read = add_logs(d, paths, others, choice, threads); !read) return read.error();
            if (d.replayed == 0 && !devices.empty())
                return augur::error{augur::errc::not_found, data + ": expected a task of " + device + " with at least " +
                                                                std::to_string(least_points) + " points, found none"};
            out.push_back(std::move(d));
            continue;
        }
        d.exhaustive = true;
        if (auto read = add_archives(d, paths_of(archives, replayed)); !read) return read.error();
        d.replayed = d.all_tasks = d.tasks.size();
        if (auto read = add_archives(d, others); !read) return read.error();
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
    auto& graphs = out.as(encoding::super_graph).graphs;
    graphs.templates.emplace("tiles", "");
    graphs.rows = std::move(rows);
    return out;
}
