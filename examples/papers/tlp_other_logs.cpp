// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TLP on the logs of other tuners: AutoTVM (tasks of one device, some of them left out) and Kernel Tuner (one kernel on several devices, each left out in
// turn). The share of the best latency that its first pick and the best of its first five have, beside picks at random. tlp_other_logs --help.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/top_k.hpp>
#include <augur/io/autotvm_log.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>

#include "console.hpp"
#include "executor.hpp"
#include "flags.hpp"
#include "program.hpp"
#include "tlp_fit.hpp"

namespace {

using augur::error, augur::result;

struct wishes {
    std::vector<std::string> autotvm, archives;
    std::size_t epochs = 8, seeds = 3, left_out = 4;
    int threads = 2;
};

/// Scores of the picks on the tasks that were left out.
struct picks {
    double top_1 = 0, top_5 = 0;
};

/// What random picks score on some tasks: the median schedule as the first pick, five as the mean of 200 draws.
picks at_random(const augur::dataset& data, std::span<const std::uint32_t> tasks) {
    augur::random_engine rng(1);
    double best = 0, one = 0, five = 0;
    for (const auto t : tasks) {
        const auto labels = augur::labels(data, t);
        if (!std::isfinite(labels.min_seconds)) continue;
        std::vector<double> latencies;
        for (const double l : labels.values) latencies.push_back(labels.min_seconds / (std::max)(l, 1e-5)); // a failure costs 1e5 times the best
        std::sort(latencies.begin(), latencies.end());
        double least_of_five = 0;
        constexpr int draws = 200;
        for (int d = 0; d < draws; ++d) {
            double least = latencies[rng.below(latencies.size())];
            for (int i = 1; i < 5; ++i) least = (std::min)(least, latencies[rng.below(latencies.size())]);
            least_of_five += least / draws;
        }
        best += labels.min_seconds;
        one += latencies[latencies.size() / 2];
        five += least_of_five;
    }
    return {best / one, best / five};
}

result<picks> train_and_pick(const augur::dataset& data, std::span<const std::uint32_t> train_tasks, std::span<const std::uint32_t> test_tasks,
                             const wishes& w, std::uint64_t seed, examples::executor& threads) {
    const auto tlp = examples::fit_tlp(data, examples::records_of(data, train_tasks), w.epochs, seed, threads);
    if (!tlp) return tlp.error();
    const auto test_records = examples::records_of(data, test_tasks);
    const auto test = augur::tlp::make_samples(data, std::span<const std::uint32_t>(test_records));
    augur::tlp::forward_backward<float> pass;
    const auto score = augur::tlp::evaluate_top_k(tlp->net, tlp->table, data, test, 0, threads, pass);
    return picks{score.score(0), score.score(1)};
}

/// A row of the table: trainings with several seeds.
result<std::vector<std::string>> row_of(const std::string& name, const augur::dataset& data, std::span<const std::uint32_t> train,
                                        std::span<const std::uint32_t> test, const wishes& w, examples::executor& threads) {
    std::vector<picks> all;
    for (std::uint64_t seed = 1; seed <= w.seeds; ++seed) {
        const auto one = train_and_pick(data, train, test, w, seed, threads);
        if (!one) return error{one.error().code, name + ": " + one.error().detail};
        all.push_back(*one);
        std::fprintf(stderr, "%s, seed %llu: top-1 %.3f top-5 %.3f\n", name.c_str(), static_cast<unsigned long long>(seed), one->top_1, one->top_5);
    }
    const auto cell = [&](double picks::* what) {
        double mean = 0, least = 1;
        for (const auto& p : all) {
            mean += p.*what / static_cast<double>(all.size());
            least = (std::min)(least, p.*what);
        }
        return std::pair(examples::text_of("%.3f", mean), examples::text_of("%.3f", least));
    };
    const auto random = at_random(data, test);
    const auto one = cell(&picks::top_1), five = cell(&picks::top_5);
    return std::vector<std::string>{name,
                                    std::to_string(examples::records_of(data, train).size()),
                                    std::to_string(test.size()),
                                    one.first,
                                    one.second,
                                    examples::text_of("%.3f", random.top_1),
                                    five.first,
                                    examples::text_of("%.3f", random.top_5)};
}

/// One data set for each device, which is what the file's name begins with: its tasks whose hash is 0 modulo `left_out` are left out.
result<void> autotvm_rows(const wishes& w, examples::executor& threads, std::vector<std::vector<std::string>>& rows) {
    std::vector<std::pair<std::string, std::vector<std::string>>> devices;
    for (const auto& path : w.autotvm) {
        const auto name = std::filesystem::path(path).filename().string();
        const auto device = name.substr(0, name.find('.'));
        const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& d) { return d.first == device; });
        if (found != devices.end()) found->second.push_back(path);
        else devices.push_back({device, {path}});
    }
    for (const auto& [device, paths] : devices) {
        augur::dataset_builder builder;
        if (auto read = augur::read_autotvm_logs(paths, threads, builder); !read) return read.error();
        const augur::dataset data = std::move(builder).finish();
        std::vector<std::uint32_t> train, test;
        for (std::uint32_t t = 0; t < data.tasks(); ++t) (augur::fnv1a64(data.task(t).key) % w.left_out == 0 ? test : train).push_back(t);
        if (train.empty() || test.empty()) return error{augur::errc::not_found, device + ": expected tasks to train on and tasks to leave out"};
        auto row = row_of("AutoTVM " + device, data, train, test, w, threads);
        if (!row) return row.error();
        rows.push_back(*std::move(row));
    }
    return {};
}

/// One data set of all devices; each is left out in turn.
result<void> archive_rows(const wishes& w, examples::executor& threads, std::vector<std::vector<std::string>>& rows) {
    augur::dataset_builder builder;
    for (const auto& path : w.archives) {
        augur::tuning_archive archive;
        if (auto read = augur::read_tuning_archive(path, archive); !read) return read.error();
        const auto task = builder.task(archive.key(), archive.target().empty() ? path : std::string(archive.target()), {});
        if (!task) return task.error();
        const auto source = builder.source(path);
        for (const auto& r : archive.records)
            if (auto added = builder.add(*task, source, r.point, r.measured); !added) return added.error();
    }
    const augur::dataset data = std::move(builder).finish();
    if (data.tasks() < 2) return error{augur::errc::not_found, "expected records of two devices, got those of " + std::to_string(data.tasks())};
    for (std::uint32_t left_out = 0; left_out < data.tasks(); ++left_out) {
        std::vector<std::uint32_t> train;
        for (std::uint32_t t = 0; t < data.tasks(); ++t)
            if (t != left_out) train.push_back(t);
        auto row = row_of("Kernel Tuner " + std::string(data.task(left_out).target), data, train, std::vector<std::uint32_t>{left_out}, w, threads);
        if (!row) return row.error();
        rows.push_back(*std::move(row));
    }
    return {};
}

int run(const wishes& w) {
    examples::catch_signals();
    auto threads = examples::make_executor(w.threads);
    std::vector<std::vector<std::string>> rows{{"left out", "trained on", "tasks", "top-1", "lowest seed", "at random", "top-5", "at random"}};
    result<void> done;
    if (!w.autotvm.empty()) done = autotvm_rows(w, threads, rows);
    if (done && !w.archives.empty()) done = archive_rows(w, threads, rows);
    if (rows.size() > 1) std::printf("%s", examples::table_text(rows).c_str());
    if (!done)
        return examples::complain("tlp_other_logs", done.error(),
                                  done.error().code == augur::errc::interrupted ? examples::interrupted : examples::failed);
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    examples::flag_set flags;
    bool help = false;
    flags.add_texts("autotvm", "LOG", "AutoTVM log; its name begins with the device, up to a dot; may be given again", w.autotvm);
    flags.add_texts("archive", "FILE", "Kernel Tuner cache or T4 file of a kernel on a device; give at least two devices", w.archives);
    flags.add_number("epochs", "N", "of a training; default 8", w.epochs, 1, 1000);
    flags.add_number("seeds", "N", "trainings; default 3", w.seeds, 1, 100);
    flags.add_number("leave-out", "N", "one AutoTVM task in so many; default 4", w.left_out, 2, 100);
    flags.add_number("threads", "N", "default 2", w.threads, 1, 1024);
    flags.add_switch("help", "print this", help);
    const auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
    if (!read) return examples::complain("tlp_other_logs", read.error(), examples::misuse);
    if (help) {
        std::printf("usage: tlp_other_logs [flags]\n\n%s\n", flags.help().c_str());
        return examples::done;
    }
    if (w.autotvm.empty() ? w.archives.size() < 2 : w.archives.size() == 1)
        return examples::complain("tlp_other_logs",
                                  {augur::errc::invalid_argument, "expected --autotvm or --archive of two devices, got " +
                                                                      std::to_string(w.archives.size()) + " --archive; try --help"},
                                  examples::misuse);
    return run(w);
}
