// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trains TLP on tuning logs, for `tune --weights`. tlp_pretrain --help, docs/tuning.md.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/split.hpp>
#include <augur/io/ansor_dataset.hpp>
#include <augur/target/machine.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/weights_file.hpp>
#include <augur/workload/networks.hpp>

#include "executor.hpp"
#include "flags.hpp"
#include "program.hpp"
#include "report.hpp"

namespace {

namespace tlp = augur::tlp;
using augur::errc;
using augur::error;
using examples::text_of;

struct wishes {
    std::vector<std::string> logs, left_out;
    std::string weights, size = "full";
    std::size_t most = 0, validation = 0, threads = 0;
    tlp::training_options training;
};

/// The workload keys of the kernels of networks.   Errors: not_found
augur::result<std::set<std::string>> keys_of(std::span<const std::string> networks) {
    std::set<std::string> out;
    for (const auto& name : networks) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels) out.insert(k.workload.workload_key());
    }
    return out;
}

augur::result<augur::dataset> read(const wishes& w, examples::executor& threads) {
    augur::dataset_builder builder;
    const auto reports = augur::read_ansor_logs(w.logs, threads, builder);
    if (!reports) return reports.error();
    for (std::size_t i = 0; i < w.logs.size(); ++i) {
        const auto& read = (*reports)[i].summary;
        if (read.bad > 0) std::fprintf(stderr, "%s: %zu damaged lines are passed over\n", w.logs[i].c_str(), read.bad);
        if (read.torn) std::fprintf(stderr, "%s: the last record is cut off and is passed over\n", w.logs[i].c_str());
    }
    augur::dataset_options options;
    options.cap = w.most;
    options.seed = w.training.seed;
    return std::move(builder).finish(options);
}

augur::result<int> pretrain(const wishes& w) {
    auto threads = examples::make_executor(w.threads);
    const auto left_out = keys_of(w.left_out);
    if (!left_out) return left_out.error();
    const auto data = read(w, threads);
    if (!data) return data.error();
    std::vector<bool> unused(data->tasks());
    for (std::uint32_t t = 0; t < data->tasks(); ++t)
        if (const auto k = augur::kernel::from_workload_key(data->task(t).key)) unused[t] = left_out->contains(k->workload_key());
    const auto split = augur::split_tasks(*data, unused, static_cast<double>(w.validation) / 100, w.training.seed);
    const auto learned = tlp::records_of(*data, split.train), judged = tlp::records_of(*data, split.validation);
    std::printf("learned     %zu kernels, %zu schedules\nvalidation  %zu kernels, %zu schedules\nleft out    %zu kernels\n", split.train.size(),
                learned.size(), split.validation.size(), judged.size(), split.test.size());
    if (learned.empty()) return error{errc::not_found, "--log: expected kernels to learn from, the logs have none that is not left out"};
    std::fflush(stdout);

    const auto schema = tlp::schema::ansor(); // that of the session's searches
    auto model = tlp::trained_model::random_init(schema,
                                                 w.size == "small"    ? tlp::config::small(0)
                                                 : w.size == "medium" ? tlp::config::medium(0)
                                                                      : tlp::config::full(0),
                                                 augur::random_engine(w.training.seed));
    if (!model) return model.error();
    const tlp::row_table rows(schema, data->primitives());
    examples::progress_line line;
    const auto trained = tlp::train_on_dataset(model->model, rows, *data, tlp::make_samples(*data, learned), tlp::make_samples(*data, judged),
                                               threads, w.training, [&](const tlp::training_progress& p) {
                                                   auto text = text_of("epochs  loss %.4f", p.last.loss);
                                                   if (!judged.empty()) text += text_of("  top-1 %.3f  top-5 %.3f", p.last.top_1, p.last.top_5);
                                                   line.show(p.epoch, p.epochs, text + "  " + examples::clock_text(p.seconds_left) + " left", true);
                                                   return !examples::stop_requested();
                                               });
    line.clear();
    if (!trained) return trained.error();
    if (trained->stopped) return error{errc::interrupted, "the same command goes on from " + w.training.checkpoint};
    if (trained->refused > 0) std::printf("refused     %zu schedules with words that no Ansor schedule has\n", trained->refused);
    const auto& best = trained->history[trained->best];
    std::printf("epoch       %zu of %zu: loss %.4f", trained->best + 1, trained->history.size(), best.loss);
    if (!judged.empty()) std::printf(", top-1 %.3f, top-5 %.3f on the kernels for validation", best.top_1, best.top_5);
    std::printf("\n");
    if (auto saved = tlp::save(*model, w.weights); !saved) return saved.error();
    std::error_code failed;
    std::filesystem::remove(w.training.checkpoint, failed);
    if (failed) return error{errc::io, w.training.checkpoint + ": " + failed.message()};
    std::printf("weights     %s\n", w.weights.c_str());
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    examples::flag_set flags;
    bool help = false;
    flags.add_texts("log", "LOG", "tuning log, plain, .gz or .zst; may be given again. A kernel on two machines is two kernels", w.logs);
    flags.add_text("out", "FILE", "where the weights are written, for `tune --weights FILE` or `tune --model FILE`", w.weights);
    flags.add_list("left-out", "networks none of whose kernels is learned or judged; default none", w.left_out);
    flags.add_choice("size", {"small", "medium", "full"}, "of TLP; default full, the paper's", w.size);
    flags.add_number("most", "N", "schedules of a kernel, some are drawn; default all", w.most, 1, 1'000'000);
    flags.add_number(
        "validation", "PERCENT",
        "of the kernels, drawn, which are not learned and choose the epoch whose weights are written; default 0: all are learned,\nand the last "
        "epoch is written",
        w.validation, 0, 90);
    flags.add_number("epochs", "N", "default 12", w.training.epochs, 1, 100'000);
    flags.add_text("checkpoint", "FILE",
                   "written after each epoch: the same command goes on from it; removed once the weights are written;\ndefault OUT.checkpoint",
                   w.training.checkpoint);
    flags.add_number("seed", "N", "default 1", w.training.seed, 0, 1'000'000'000);
    flags.add_number("threads", "N", "threads; the weights are the same for any number; default: all processors", w.threads, 1, 1024);
    flags.add_switch("help", "print this", help);
    auto parsed = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
    if (parsed && help) {
        std::printf("usage: tlp_pretrain --log LOG --out FILE [flags]\n\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags or files, 130 "
                    "interrupted (Ctrl-C).\n",
                    flags.help().c_str());
        return examples::finish(examples::done);
    }
    if (parsed && w.logs.empty()) parsed = error{errc::invalid_argument, "expected --log LOG; try --help"};
    if (parsed && w.weights.empty()) parsed = error{errc::invalid_argument, "expected --out FILE; try --help"};
    if (w.training.checkpoint.empty()) w.training.checkpoint = w.weights + ".checkpoint";
    std::vector<examples::named_file> files{{"--out", w.weights, true}, {"--checkpoint", w.training.checkpoint, true}};
    for (const auto& log : w.logs) files.push_back({"--log", log, false});
    if (parsed) parsed = examples::keep_apart(files);
    if (parsed)
        if (auto known = keys_of(w.left_out); !known) parsed = known.error();
    if (parsed) parsed = examples::can_write(w.weights);
    if (!parsed) return examples::complain("tlp_pretrain", parsed.error(), examples::misuse);
    if (w.threads == 0) w.threads = static_cast<std::size_t>((std::max)(augur::detect_machine().processors, 1));
    examples::catch_signals();
    const auto done = pretrain(w);
    if (!done)
        return examples::complain("tlp_pretrain", done.error(), done.error().code == errc::interrupted ? examples::interrupted : examples::failed);
    return examples::finish(*done);
}
