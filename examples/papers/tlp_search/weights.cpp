// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <augur/dataset/builder.hpp>
#include <augur/io/ansor_dataset.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/weights_file.hpp>

#include "executor.hpp"

namespace examples {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view own_log = "collect";

/// The records of tasks, at most `most` of each, drawn at random.
std::vector<std::uint32_t> draw(const augur::dataset& data, std::span<const std::uint32_t> tasks, std::size_t most) {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t t : tasks) {
        auto records = augur::tlp::records_of(data, std::span(&t, 1));
        augur::random_engine(1).stream(t).shuffle(std::span<std::uint32_t>(records));
        records.resize((std::min)(records.size(), most));
        out.insert(out.end(), records.begin(), records.end());
    }
    return out;
}

/// This machine's log, and the other platform's where it is wanted.
augur::result<std::vector<std::string>> logs_of(const search_plan& plan, bool other) {
    std::vector<std::string> paths{plan.folder + "/" + std::string(own_log) + ".jsonl"};
    if (!other) return paths;
    const std::string folder = plan.data + "/ansor-x86-24core";
    std::error_code wrong;
    for (const auto& entry : fs::directory_iterator(folder, wrong))
        if (entry.path().filename().string().find(".json") != std::string::npos) paths.push_back(entry.path().string());
    if (plan.data.empty() || paths.size() == 1)
        return augur::error{augur::errc::not_found, "no logs of the other platform (x86-24core): expected ansor-x86-24core/*.jsonl.gz in " +
                                                        (plan.data.empty() ? "--data, AUGUR_DATA or ../shared/data" : plan.data)};
    std::sort(paths.begin() + 1, paths.end());
    return paths;
}

} // namespace

std::string other_platform(const search_plan& plan) {
    const auto paths = logs_of(plan, true);
    std::string out;
    if (!paths) return out;
    std::error_code gone;
    for (std::size_t i = 1; i < paths->size(); ++i) {
        const fs::path path((*paths)[i]);
        out += path.filename().string() + " " + std::to_string(fs::file_size(path, gone)) + " bytes " +
               std::to_string(fs::last_write_time(path, gone).time_since_epoch().count()) + "\n";
    }
    return out;
}

augur::result<bool> train_weights(const search_plan& plan, std::string_view name, progress_line& progress) {
    const std::string stem = plan.folder + "/" + std::string(name), weights = stem + ".safetensors", checkpoint = stem + ".checkpoint";
    std::error_code wrong;
    if (fs::exists(weights, wrong)) return true;
    const bool mtl = name == "mtl";
    const auto paths = logs_of(plan, mtl);
    if (!paths) return paths.error();
    executor threads = make_executor(plan.options.threads);
    augur::dataset_builder builder;
    const auto read = augur::read_ansor_logs(*paths, threads, builder);
    if (!read) return read.error();
    std::size_t bad = 0;
    for (const auto& r : *read) bad += r.summary.bad;
    if (bad > 0) std::fprintf(stderr, "%zu lines of the logs are damaged and are passed over\n", bad);
    const auto data = std::move(builder).finish();

    // The searched network's kernels teach nobody, on neither platform: `collect` holds none of them.
    const std::string_view searched = plan.options.work.name;
    const auto held_out = augur::held_out_by_source(data, std::span(&searched, 1)); // an error: the logs do not know it
    std::vector<std::uint32_t> own, other;
    for (std::uint32_t t = 0; t < data.tasks(); ++t) {
        const auto from = data.task(t).sources;
        if (std::any_of(from.begin(), from.end(), [&](std::uint32_t s) { return data.source(s) == own_log; })) own.push_back(t);
        else if (!held_out || !(*held_out)[t]) other.push_back(t);
    }
    std::vector<std::vector<std::uint32_t>> heads;
    heads.push_back(mtl ? draw(data, own, plan.labels) : augur::tlp::records_of(data, own));
    if (mtl) heads.push_back(draw(data, other, plan.other));
    augur::tlp::label_options labels;
    labels.least_of_given = mtl; // a few records of a task do not know its least latency
    const auto samples = augur::tlp::make_samples(data, heads, labels);
    // This machine's few records count as much as the other platform's many: an epoch passes over them until it has seen as many of both.
    const std::size_t few = (std::max)(heads.front().size(), std::size_t{1});
    const std::size_t passes = mtl ? std::clamp(heads.back().size() / few, std::size_t{1}, std::size_t{1024}) : 1;

    const auto schema = augur::tlp::schema::ansor();
    auto config = plan.small ? augur::tlp::config::small(0) : augur::tlp::config::full(0);
    config.outputs = static_cast<augur::nn::index>(heads.size());
    auto model = augur::tlp::trained_model::random_init(schema, config, augur::random_engine(1));
    if (!model) return model.error();
    const augur::tlp::row_table table(schema, data.primitives());
    augur::tlp::training_options options;
    options.fine.target_head_passes = passes;
    options.epochs = std::clamp(1000 * plan.effort / (samples.size() + (passes - 1) * few + 1), std::size_t{2}, std::size_t{200});
    options.checkpoint = checkpoint;
    const std::string title = std::string(mtl ? "training MTL-TLP" : "training TLP") + " on " + std::to_string(samples.size()) + " schedules";
    const auto told = [&](const augur::tlp::training_progress& p) {
        progress.show(p.epoch, p.epochs, title + text_of("  loss %.4f  ", p.last.loss) + clock_text(p.seconds_left) + " left",
                      p.epoch % 8 == 1 || p.epoch == p.epochs);
        return !stop_requested().load();
    };
    const auto fitted = augur::tlp::train_on_dataset(model->model, table, data, samples, augur::tlp::training_samples{}, threads, options, told);
    progress.clear();
    if (!fitted) return fitted.error();
    if (fitted->stopped) return false;
    if (auto saved = augur::tlp::save(*model, weights); !saved) return saved.error();
    fs::remove(checkpoint, wrong);
    std::fprintf(stderr, "%s, %zu tasks of this machine, %zu of the other, %zu epochs, in each %zu times over this machine's, loss %.4f to %.4f\n",
                 title.c_str(), own.size(), mtl ? other.size() : 0, options.epochs, passes, fitted->history.front().loss,
                 fitted->history.back().loss);
    return true;
}

} // namespace examples
