// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A language model that writes schedules: makes a corpus, trains on it, generates. tlm --help, include/augur/tlm/README.md.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/printable.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/dataset/file.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/session/demonstrations.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/tlm.hpp>

#include "copies.hpp"
#include "flags.hpp"
#include "iterate.hpp"
#include "kernels.hpp"
#include "program.hpp"
#include "report.hpp"
#include "session.hpp"

namespace {

namespace tlm = augur::tlm;
using augur::errc;
using augur::error;

struct wishes {
    std::string corpus, model, base, checkpoint;
    std::vector<std::string> networks{"resnet_18", "resnext_50", "mnasnet1_0", "vgg_16", "alexnet", "densenet_121", "gpt2"};
    std::vector<std::string> left_out{"resnet_50",           "mobilenet_v2",         "bert_base",
                                      "bert_base:tokens=64", "bert_base:tokens=256", "bert_base:tokens=384"}; ///< the test networks of `headroom`
    std::vector<std::string> logs;
    std::size_t kernels = 1000, sentences = 100, best = 10;
    std::string numbers = "words", form = "compact", precision = "single";
    tlm::gpt2_config config;
    tlm::training_options training;
    tlm::generation_options generation;
    augur::network work;
    iteration batches;
    double most_gflop = 2;
    std::uint64_t seed = 1;
    std::size_t threads = 0;
    bool show = false, unconstrained = false, likely = false, weighted = false;
};

/// The prompt's machine: this one.
augur::machine_identity here(std::size_t threads) {
    const auto host = augur::detect_machine();
    std::string_view isa;
    for (const auto l : {augur::isa_level::x86_64_v2, augur::isa_level::x86_64_v3, augur::isa_level::x86_64_v4, augur::isa_level::aarch64})
        if (augur::machine_at(host, l)) isa = augur::to_string(l);
    return augur::identify(host, isa, static_cast<int>(threads), "");
}

augur::result<augur::loopnest::ansor_space> space_of(const augur::loopnest::kernel_task& t, std::size_t threads) {
    augur::loopnest::ansor_options options;
    options.num_cores = augur::detect_machine().hardware(static_cast<int>(threads)).num_cores;
    return augur::loopnest::ansor_space::create(t.dag(), options);
}

std::string percent(double part, double whole) { return examples::text_of("%.2f %%", whole > 0 ? 100 * part / whole : 0); }

/// Prints kernels of networks and variants of them, for `iterate` and `tune`: the classes take turns.
augur::result<int> print_kernels(const wishes& w) {
    const auto kernels = varied_kernels(w.networks, w.left_out, (std::max)(w.kernels, std::size_t{64}) * 4, w.seed);
    if (!kernels) return kernels.error();
    std::map<std::string, std::vector<std::string>> classes;
    std::size_t fitting = 0;
    for (const auto& k : *kernels) {
        const auto task = augur::loopnest::kernel_task::create(k.workload, {});
        if (!task) return error{task.error().code, k.workload.text() + ": " + task.error().detail};
        if (task->flops() > w.most_gflop * 1e9) continue;
        classes[k.workload.class_name()].push_back(k.workload.text());
        ++fitting;
    }
    if (fitting < w.kernels)
        return error{errc::limit, "kernels: expected " + std::to_string(w.kernels) + ", " + std::to_string(fitting) + " of " +
                                      std::to_string(kernels->size()) + " variants have at most so many operations"};
    for (std::size_t turn = 0, printed = 0; printed < w.kernels; ++turn)
        for (const auto& [name, texts] : classes)
            if (turn < texts.size() && printed < w.kernels) {
                std::printf("%s\n", texts[turn].c_str());
                ++printed;
            }
    return examples::done;
}

augur::result<int> make_corpus(const wishes& w) {
    const auto kernels = varied_kernels(w.networks, w.left_out, w.kernels, w.seed);
    if (!kernels) return kernels.error();
    const auto machine = here(w.threads);
    const auto make = [&](std::size_t i) -> augur::result<tlm::corpus_kernel<augur::loopnest::ansor_space>> {
        const auto& k = (*kernels)[i];
        auto task = augur::loopnest::kernel_task::create(k.workload, {});
        if (!task) return error{task.error().code, k.workload.text() + ": " + task.error().detail};
        auto space = space_of(*task, w.threads);
        if (!space) return error{space.error().code, k.workload.text() + ": " + space.error().detail};
        return tlm::corpus_kernel<augur::loopnest::ansor_space>{tlm::prompt_text(*task, machine), *std::move(space), k.network};
    };
    augur::thread_pool_executor threads(w.threads);
    examples::progress_line line;
    const double start = augur::steady_seconds();
    const auto corpus = tlm::sample_corpus(kernels->size(), make, w.sentences, w.seed, threads, [&](std::size_t done) {
        line.show(done, kernels->size(), "kernels", done == kernels->size());
        return !examples::stop_requested();
    });
    line.clear();
    if (!corpus) return corpus.error();
    const double seconds = augur::steady_seconds() - start;
    if (auto written = augur::write_dataset(w.corpus, *corpus); !written) return written.error();
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(w.corpus, failed);
    if (failed) return error{errc::io, w.corpus + ": " + failed.message()};
    std::printf("kernels              %zu\nsentences            %zu\nbytes a sentence     %.1f\nsentences a minute   %.0f\ndistinct decisions   %zu\n"
                "corpus               %s\n",
                corpus->tasks(), corpus->size(), static_cast<double>(bytes) / static_cast<double>(corpus->size()),
                60 * static_cast<double>(corpus->size()) / seconds, corpus->primitives().size(), w.corpus.c_str());
    return examples::done;
}

/// The kernels of networks.   Errors: those of `find_network`
augur::result<std::vector<augur::kernel>> kernels_of(std::span<const std::string> networks) {
    std::vector<augur::kernel> out;
    for (const auto& name : networks) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels) out.push_back(k.workload);
    }
    return out;
}

/// Sentences of the fastest schedules of tuning logs, with their latencies: what a model is fine-tuned on.
augur::result<int> sentences_of_logs(const wishes& w) {
    const auto left_out = kernels_of(w.left_out);
    if (!left_out) return left_out.error();
    const auto read = augur::read_demonstrations(w.logs, w.best, *left_out);
    if (!read) return read.error();
    if (auto saved = augur::write_dataset(w.corpus, read->sentences); !saved) return saved.error();
    std::printf("%s\ncorpus      %s\n", read->text().c_str(), w.corpus.c_str());
    return examples::done;
}

augur::result<int> train(wishes w) {
    const auto corpus = augur::map_dataset(w.corpus);
    if (!corpus) return corpus.error();
    const auto form = w.form == "full" ? tlm::sentence_form::full : tlm::sentence_form::compact;
    std::optional<tlm::language_model> model;
    if (!w.base.empty()) {
        auto loaded = tlm::load(w.base);
        if (!loaded) return loaded.error();
        model.emplace(*std::move(loaded));
    } else {
        auto words = tlm::count_words(*corpus).build(w.numbers == "factors" ? tlm::number_form::factors : tlm::number_form::words);
        if (!words) return words.error();
        w.config.words = static_cast<augur::nn::index>(words->size());
        if (auto fits = w.config.check(); !fits) return fits.error();
        model.emplace(tlm::language_model{tlm::gpt2<float>::random_init(w.config, augur::random_engine(w.seed)), *std::move(words), form});
    }
    std::error_code failed;
    std::filesystem::create_directories(w.model, failed);
    if (failed) return error{errc::io, w.model + ": " + failed.message()};
    const tlm::corpus_tokens tokens(*corpus, model->words);
    std::printf("sentences   %zu of %zu kernels\nwords       %zu, %zu of the corpus are unknown\nparameters  %.2f million\n", corpus->size(),
                corpus->tasks(), model->words.size(), tokens.unknown().size(), model->net.config().parameters() / 1e6);
    augur::thread_pool_executor threads(w.threads);
    examples::progress_line line;
    double loss = 0, last_loss = 0;
    std::size_t averaged = 0;
    w.training.seed = w.seed;
    w.training.weighted = w.weighted;
    w.training.checkpoint = w.checkpoint;
    const double start = augur::steady_seconds();
    double rate = 0;
    const auto trained = tlm::train(model->net, *corpus, tokens, model->form, w.training, threads, [&](const tlm::training_progress& p) {
        loss += p.loss;
        ++averaged;
        rate = p.tokens_per_second;
        if (p.step % 100 == 0 || p.step == p.steps) {
            last_loss = loss / static_cast<double>(averaged);
            line.show(p.step, p.steps,
                      examples::text_of("epoch %.2f  loss %.4f  %.0f tokens a second  %.0f s left", p.epoch, last_loss, p.tokens_per_second,
                                        p.seconds_left),
                      true);
            loss = 0;
            averaged = 0;
        }
        return !examples::stop_requested();
    });
    line.clear();
    if (!trained && trained.error().code == errc::interrupted)
        return error{errc::interrupted, trained.error().detail + "; the same command goes on from " + w.checkpoint};
    if (!trained) return trained.error();
    if (auto saved = tlm::save(*model, w.model); !saved) return saved.error();
    std::filesystem::remove(w.checkpoint, failed);
    if (failed) return error{errc::io, w.checkpoint + ": " + failed.message()};
    if (rate > 0) std::printf("loss        %.4f nats a token, mean of the last steps\n", last_loss);
    std::printf("seconds     %.0f, %.0f tokens a second\nmodel       %s\n", augur::steady_seconds() - start, rate, w.model.c_str());
    return examples::done;
}

/// A kernel of a network that is left out must not be measured.   Errors: invalid_argument, with the kernel; those of `find_network`
augur::result<void> check_left_out(const wishes& w) {
    for (const auto& name : w.left_out) {
        const auto left_out = kernels_of(std::span(&name, 1));
        if (!left_out) return error{left_out.error().code, "--left-out: " + left_out.error().detail};
        for (const auto& k : w.batches.options.work.kernels)
            if (std::find(left_out->begin(), left_out->end(), k.workload) != left_out->end())
                return error{errc::invalid_argument, "--left-out: " + name + " has " + k.workload.text() + ", which is to be measured"};
    }
    return {};
}

/// Where `iterate` copies a log without the kernels that are left out.
std::string copied_log(const wishes& w, std::size_t i) { return w.batches.folder + "/log" + std::to_string(i + 1) + ".jsonl"; }

/// The logs that `iterate` learns from beside its own: with networks that are left out, copies without their kernels. A log without other kernels is
/// not among them.
augur::result<std::vector<std::string>> learned_logs(const wishes& w) {
    if (w.left_out.empty()) return w.logs;
    const auto left_out = kernels_of(w.left_out);
    if (!left_out) return left_out.error();
    std::vector<std::string> out;
    for (std::size_t i = 0; i < w.logs.size(); ++i) {
        const auto copied = copy_records(w.logs[i], copied_log(w, i), *left_out);
        if (!copied) return copied.error();
        if (*copied > 0) out.push_back(copied_log(w, i));
    }
    return out;
}

/// Measures kernels batch by batch, and fine-tunes the model on all of them.
augur::result<int> iterate(wishes w) {
    w.batches.options.search.language = w.base;
    w.batches.options.search.seed = w.seed;
    w.batches.options.threads = static_cast<int>(w.threads);
    w.batches.options.demonstrations_best = w.best;
    w.batches.options.demonstrations_weighted = w.weighted;
    std::string settings =
        examples::text_of("seed %llu\nbatches %zu\nprograms %zu\nlag %zu\nbest %zu\nweighted %d\n", static_cast<unsigned long long>(w.seed),
                          w.batches.batches, w.batches.programs, w.batches.lag, w.best, w.weighted ? 1 : 0);
    std::string left_out;
    for (const auto& name : w.left_out) left_out += " " + name;
    if (!left_out.empty()) settings += "left out" + left_out + "\n"; // only if there are some: older work folders have no such line
    std::vector<std::string> read{w.base + "/model.safetensors", w.base + "/tokenizer.json"};
    read.insert(read.end(), w.logs.begin(), w.logs.end());
    for (const auto& file : read) {
        const auto bytes = augur::read_whole_file(file, std::size_t{1} << 34U);
        if (!bytes) return bytes.error();
        settings += examples::text_of("learned %016llx\n", static_cast<unsigned long long>(augur::fnv1a64(*bytes)));
    }
    for (const auto& k : w.batches.options.work.kernels) settings += k.workload.text() + "\n";
    if (auto mine = examples::claim_folder(w.batches.folder, settings); !mine) return mine.error();
    auto learned = learned_logs(w);
    if (!learned) return learned.error();
    w.batches.options.demonstrations = *std::move(learned);
    const auto logs = measure_batches(w.batches);
    if (!logs) return logs.error();
    w.logs.insert(w.logs.end(), logs->begin(), logs->end());
    w.corpus = w.batches.folder + "/sentences.bin";
    if (const auto written = sentences_of_logs(w); !written) return written;
    w.training = tlm::fine_tuning();
    return train(std::move(w));
}

tlm::freeze_options freezing(const wishes& w) { return {.precision = w.precision == "bf16" ? tlm::precision::bf16 : tlm::precision::single}; }

constexpr std::string_view kind_names[] = {"sketch", "tile size", "compute location", "parallel", "unroll", "vectorize", "other"};

/// Says which words of the prompts the model does not know.
void print_unknown(const std::set<std::string>& words) {
    if (words.empty()) return;
    constexpr std::size_t most = 10;
    std::string some;
    std::size_t n = 0;
    for (const auto& word : words)
        if (n++ < most) some += (n > 1 ? ", " : "") + augur::printable(word);
    std::printf("note: the vocabulary does not have %zu words of the prompts, the model reads [UNK] in their place: %s%s\n", n, some.c_str(),
                n > most ? ", ..." : "");
}

/// How often the model writes something legal by itself.
augur::result<int> generate_unconstrained(const wishes& w) {
    auto loaded = tlm::load(w.model);
    if (!loaded) return loaded.error();
    const tlm::frozen_gpt2 model(std::move(loaded->net), freezing(w));
    const auto machine = here(w.threads);
    std::vector<std::vector<std::string>> rows{{"kernel", "points", "sentences", "illegal", "sentences a legal one"}};
    std::size_t calls = 0, illegal = 0, points = 0, forced = 0;
    std::array<std::size_t, augur::decision_kinds> choices{};
    std::set<std::string> unknown;
    for (const auto& [kernel, uses] : w.work.kernels) {
        if (examples::stop_requested()) break;
        const auto task = augur::loopnest::kernel_task::create(kernel, {});
        if (!task) return error{task.error().code, kernel.text() + ": " + task.error().detail};
        const auto space = space_of(*task, w.threads);
        if (!space) return space.error();
        const auto written = tlm::generate_unconstrained(model, loaded->words, loaded->form, tlm::prompt_text(*task, machine), *space, w.generation);
        if (!written) return error{written.error().code, kernel.text() + ": " + written.error().detail};
        calls += written->calls;
        illegal += written->illegal;
        points += written->points.size();
        forced += written->illegal_forced;
        unknown.insert(written->unknown_words.begin(), written->unknown_words.end());
        for (std::size_t k = 0; k < choices.size(); ++k) choices[k] += written->illegal_choices[k];
        rows.push_back({kernel.text(), std::to_string(written->points.size()), std::to_string(written->calls), std::to_string(written->illegal),
                        examples::text_of("%.3f", written->calls_a_legal_one())});
    }
    rows.push_back({"all", std::to_string(points), std::to_string(calls), std::to_string(illegal),
                    examples::text_of("%.3f", static_cast<double>(calls) / static_cast<double>((std::max)(calls - illegal, std::size_t{1})))});
    std::vector<std::vector<std::string>> causes{{"first illegal token", "sentences"}};
    for (std::size_t k = 0; k < choices.size(); ++k)
        if (choices[k] > 0) causes.push_back({std::string(kind_names[k]), std::to_string(choices[k])});
    for (const auto& n : choices) illegal -= n;
    causes.push_back({"without an alternative", std::to_string(forced)});
    causes.push_back({"beyond the context", std::to_string(illegal - forced)});
    std::printf("%s\n%s", examples::table_text(rows).c_str(), examples::table_text(causes).c_str());
    print_unknown(unknown);
    return examples::done;
}

/// What was written for a kernel.
struct written {
    std::size_t points = 0, legal = 0;
    double bits = 0, seconds = 0;
    tlm::generation_report report;
    copied_points copies;
    std::string sentences;
    std::optional<error> failed;
};

written write_points(const wishes& w, const tlm::frozen_gpt2& model, const tlm::language_model& language, const augur::transfer::schedule_pool& known,
                     const augur::kernel& kernel, const augur::machine_identity& machine) {
    written out;
    const auto fail = [&](const error& e) { out.failed = error{e.code, kernel.text() + ": " + e.detail}; };
    const auto task = augur::loopnest::kernel_task::create(kernel, {});
    if (!task) return fail(task.error()), std::move(out);
    const auto space = space_of(*task, w.threads);
    if (!space) return fail(space.error()), std::move(out);
    auto g = tlm::generator<tlm::frozen_gpt2, augur::loopnest::ansor_space>::create(model, language.words, language.form,
                                                                                    tlm::prompt_text(*task, machine), *space);
    if (!g) return fail(g.error()), std::move(out);
    const double start = augur::steady_seconds();
    const auto points = g->generate(w.generation);
    out.seconds = augur::steady_seconds() - start;
    if (!points) return fail(points.error()), std::move(out);
    out.points = points->size();
    for (const auto& point : *points) {
        auto state = space->state(point.decisions);
        out.legal += state && augur::loopnest::infer_bounds(*state) && augur::loopnest::lower(*state) ? 1 : 0;
        out.bits -= point.log_probability / 0.6931471805599453;
        if (w.show) out.sentences += *tlm::sentence_text("", *space, point.decisions) + "\n";
    }
    out.copies = count_copies(known, *task, *space, *points);
    out.report = g->report();
    return out;
}

augur::result<int> generate(const wishes& w) {
    auto loaded = tlm::load(w.model);
    if (!loaded) return loaded.error();
    const auto known = read_schedules(w.logs, w.best);
    if (!known) return known.error();
    const tlm::frozen_gpt2 model(std::move(loaded->net), freezing(w));
    const auto machine = here(w.threads);
    const auto& kernels = w.work.kernels;
    std::vector<written> all(kernels.size());
    augur::thread_pool_executor threads(w.threads);
    const double start = augur::steady_seconds();
    threads.bulk(kernels.size(), [&](std::size_t i) {
        if (!examples::stop_requested()) all[i] = write_points(w, model, *loaded, *known, kernels[i].workload, machine);
    });
    const double seconds = augur::steady_seconds() - start;
    std::vector<std::vector<std::string>> rows{{"kernel", "points", "legal", "bits a point", "forced tokens", "masked", "seconds"}};
    if (!w.logs.empty()) rows.front().insert(rows.front().end(), {"adapted schedules", "points equal to one"});
    std::array<tlm::generation_report::by_kind, augur::decision_kinds> kinds{};
    std::size_t points = 0, legal = 0, unsayable = 0, discarded = 0, copied = 0;
    std::set<std::string> unknown;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto& one = all[i];
        if (one.failed) return *one.failed;
        std::printf("%s", one.sentences.c_str());
        double masked = 0;
        for (std::size_t k = 0; k < kinds.size(); ++k) {
            masked += one.report.kinds[k].masked;
            kinds[k].choices += one.report.kinds[k].choices;
            kinds[k].masked += one.report.kinds[k].masked;
        }
        points += one.points;
        legal += one.legal;
        copied += one.copies.copied;
        unsayable += one.report.unsayable;
        discarded += one.report.discarded;
        unknown.insert(one.report.unknown_words.begin(), one.report.unknown_words.end());
        const auto chosen = static_cast<double>(one.report.choices());
        rows.push_back({kernels[i].workload.text(), std::to_string(one.points), std::to_string(one.legal),
                        examples::text_of("%.1f", one.bits / static_cast<double>((std::max)(one.points, std::size_t{1}))),
                        percent(static_cast<double>(one.report.forced), static_cast<double>(one.report.forced) + chosen), percent(masked, chosen),
                        examples::text_of("%.2f", one.seconds)});
        if (!w.logs.empty()) rows.back().insert(rows.back().end(), {std::to_string(one.copies.adapted), std::to_string(one.copies.copied)});
    }
    std::printf("%s\n", examples::table_text(rows).c_str());
    std::vector<std::vector<std::string>> by_kind{{"decision", "tokens chosen", "probability of what is not legal"}};
    for (std::size_t k = 0; k < kinds.size(); ++k)
        if (kinds[k].choices > 0)
            by_kind.push_back(
                {std::string(kind_names[k]), std::to_string(kinds[k].choices), percent(kinds[k].masked, static_cast<double>(kinds[k].choices))});
    std::printf("%s\npoints %zu, of which %zu can be lowered; thrown away: %zu; legal choices that the vocabulary cannot tell: %zu; %.1f s\n",
                examples::table_text(by_kind).c_str(), points, legal, discarded, unsayable, seconds);
    if (!w.logs.empty())
        std::printf("%zu of %zu points (%s) equal a schedule of the logs, adapted to the kernel\n", copied, points,
                    percent(static_cast<double>(copied), static_cast<double>(points)).c_str());
    print_unknown(unknown);
    return legal == points ? examples::done : examples::failed;
}

/// A number of a range, which `expected` describes.
void add_real(examples::flag_set& flags, const char* name, const char* help, double& to, const char* expected, bool (*fits)(double)) {
    flags.add(name, "X", help, [&to, expected, fits](std::string_view text) -> augur::result<void> {
        const auto x = augur::parse_double(text);
        if (!x || !fits(*x))
            return error{errc::invalid_argument, "expected a number " + std::string(expected) + ", got '" + examples::shown(text) + "'"};
        to = *x;
        return {};
    });
}

constexpr const char* usage = "usage: tlm corpus --out FILE [flags]       samples sentences of kernels and their variants\n"
                              "       tlm sentences --out FILE --log LOG [flags]   takes the fastest schedules of logs\n"
                              "       tlm train --corpus FILE --model FOLDER [flags]\n"
                              "       tlm generate --model FOLDER --network NETWORK [flags]\n"
                              "       tlm kernels [flags]                    prints kernels and variants, for --kernel of iterate\n"
                              "       tlm iterate --base FOLDER --work FOLDER --model FOLDER --network NETWORK [flags]\n"
                              "                                             measures kernels in batches, learns from each, writes the model\n\n"
                              "tlm COMMAND --help prints the flags.\n";

int run(std::string_view command, std::span<char* const> arguments) {
    wishes w;
    examples::flag_set flags;
    bool help = false, constant = false;
    constexpr auto is_positive = [](double x) { return x > 0; };
    constexpr const char* weighted = "a sentence counts by the latency of its kernel's fastest one over its own; default: all alike, as the authors'";
    const auto needs = [](const std::string& value, const char* flag) {
        return value.empty() ? augur::result<void>(error{errc::invalid_argument, "expected " + std::string(flag) + "; try --help"})
                             : augur::result<void>();
    };
    if (command == "corpus") {
        flags.add_text("out", "FILE", "the corpus, a data-set file", w.corpus);
        flags.add_list("networks", "networks whose kernels, and variants of them, are taken", w.networks);
        flags.add_list("left-out", "networks none of whose kernels is taken; default resnet_50, mobilenet_v2, and bert_base of 64 to 384 tokens",
                       w.left_out);
        flags.add_number("kernels", "N", "kernels; default 1000", w.kernels, 1, 1000000);
        flags.add_number("sentences", "N", "sentences of a kernel; default 100", w.sentences, 1, 1000000);
    } else if (command == "kernels") {
        flags.add_list("networks", "networks whose kernels, and variants of them, are printed", w.networks);
        flags.add_list("left-out", "networks none of whose kernels is printed; default resnet_50, mobilenet_v2, and bert_base of 64 to 384 tokens",
                       w.left_out);
        flags.add_number("kernels", "N", "kernels; default 1000", w.kernels, 1, 100000);
        add_real(flags, "most-gflop", "operations of a kernel at most, in thousand millions; default 2", w.most_gflop, "above 0", is_positive);
    } else if (command == "sentences") {
        flags.add_text("out", "FILE", "the corpus, a data-set file", w.corpus);
        flags.add_texts("log", "LOG", "log of `tune`; may be given again", w.logs);
        flags.add_number("best", "N", "schedules of a kernel, the fastest ones; default 10", w.best, 1, 1000000);
        w.left_out.clear();
        flags.add_list("left-out", "networks none of whose kernels is taken; default none", w.left_out);
    } else if (command == "train") {
        flags.add_switch("constant", "a constant learning rate, for fine-tuning", constant);
        flags.add_text("corpus", "FILE", "what to learn from", w.corpus);
        flags.add_text("model", "FOLDER", "where the model is written", w.model);
        flags.add_text("base", "FOLDER", "a model to go on from (fine-tuning); its sizes and vocabulary are kept", w.base);
        flags.add_text("checkpoint", "FILE",
                       "written each minute and when it is interrupted: the same command goes on from it; removed once the\nmodel is written; "
                       "default MODEL.checkpoint",
                       w.checkpoint);
        flags.add_number("layers", "N", "default 4", w.config.layers, 1, 64);
        flags.add_number("width", "N", "default 256", w.config.width, 1, 8192);
        flags.add_number("heads", "N", "default 4", w.config.heads, 1, 128);
        flags.add_number("hidden", "N", "width between the two maps of a layer; default 1024", w.config.hidden, 1, 32768);
        flags.add_number("context", "N", "most tokens of a sentence with its prompt; default 512", w.config.context, 8, 65536);
        flags.add_choice("numbers", {"words", "factors"}, "numbers as words or as prime factors; default words", w.numbers);
        flags.add_choice("sentences", {"compact", "full"}, "values alone, or with the names of decisions; default compact", w.form);
        flags.add_number("epochs", "N", "default 2", w.training.epochs, 1, 10000);
        flags.add_number("prompts", "N", "groups of a batch; default 4", w.training.prompts, 1, 1024);
        flags.add_number("group", "N", "sentences of a group; default 8", w.training.sentences, 1, 1024);
        add_real(flags, "rate", "learning rate; default 0.001", w.training.learning_rate, "above 0", is_positive);
        add_real(flags, "dropout", "share of activations that are dropped in training, the authors' 0.1; default 0", w.training.dropout,
                 "from 0 to below 1", [](double x) { return x >= 0 && x < 1; });
        flags.add_switch("weighted", weighted, w.weighted);
        flags.add_switch("learn-all",
                         "prompts and padding to the context are learned too, as by the authors' programs; default: the values of decisions",
                         w.training.learn_all);
    } else if (command == "iterate") {
        flags.add_text("base", "FOLDER", "the model of the beginning; each fine-tuning starts from it", w.base);
        flags.add_text("model", "FOLDER", "where the model that knows all batches is written", w.model);
        flags.add_text("work", "FOLDER", "a log a batch; the same command goes on with them", w.batches.folder);
        examples::add_work_flags(flags, "network", w.batches.options.work);
        flags.add_texts("log", "LOG", "log of other kernels that it learns from as well, from the first batch on; may be given again", w.logs);
        w.left_out.clear();
        flags.add_list("left-out",
                       "networks none of whose kernels is measured or learned: to measure one is refused, records of --log are passed over;\n"
                       "default none",
                       w.left_out);
        flags.add_number("batches", "N", "default 4", w.batches.batches, 1, 10000);
        flags.add_number("programs", "N",
                         "of a kernel; default 16: first the model's most likely one (greedy), then 11 samples of the model, then 4 (a quarter of\n"
                         "all but the first) drawn at random from the search space; the untuned schedule is measured as well",
                         w.batches.programs, 1, 100000);
        flags.add_number("lag", "N", "the latest batches that a model does not know yet; default 0", w.batches.lag, 0, 10000);
        flags.add_number("best", "N", "schedules of a kernel that are learned, the fastest ones; default 10, the authors' 1", w.best, 1, 1000000);
        flags.add_switch("weighted", weighted, w.weighted);
        flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc",
                       w.batches.options.compiler.command);
    } else if (command == "generate") {
        flags.add_text("model", "FOLDER", "a trained model", w.model);
        examples::add_work_flags(flags, "network", w.work);
        flags.add_number("count", "N", "points of a kernel; default 64", w.generation.count, 1, 10000000);
        flags.add_number("batch", "N", "sequences at a time; default 64", w.generation.batch, 1, 4096);
        flags.add_number("top-k", "N", "only the most likely so many tokens; default all", w.generation.top_k, 1, 1000000);
        add_real(flags, "top-p", "only the most likely tokens with so much probability together; default 1", w.generation.top_p,
                 "above 0 and at most 1", [](double x) { return x > 0 && x <= 1; });
        add_real(flags, "temperature", "default 1", w.generation.temperature, "above 0", is_positive);
        flags.add_switch("aligned", "samples with the model's own ratios between points (grammar-aligned decoding): some are thrown away",
                         w.generation.aligned);
        flags.add_choice("precision", {"single", "bf16"}, "of the model; bf16 where the processor is faster with it; default single", w.precision);
        flags.add_switch("likely", "the most likely points (beam search; with --count 1 greedy), not samples", w.likely);
        flags.add_switch("unconstrained", "without a mask: how often what the model writes is legal", w.unconstrained);
        flags.add_switch("show", "print the sentences", w.show);
        flags.add_texts("log", "LOG",
                        "log of other kernels, e.g. one that the model was fine-tuned on: counts the points that equal a schedule of the logs,\n"
                        "adapted to the kernel; may be given again",
                        w.logs);
        flags.add_number("best", "N", "schedules of each kernel of the logs, the fastest ones; default 10", w.best, 1, 1000000);
    } else {
        std::fprintf(command.empty() || command == "--help" ? stdout : stderr, "%s", usage);
        return command == "--help" ? examples::done : examples::misuse;
    }
    if (command != "kernels" && command != "sentences") flags.add_number("threads", "N", "default: all processors", w.threads, 1, 1024);
    if (command != "sentences") flags.add_number("seed", "N", "default 1", w.seed, 0, 1000000000);
    flags.add_switch("help", "print this", help);
    auto read = flags.parse(arguments);
    if (read && !help) {
        if (command == "kernels") read = {};
        else if (command == "corpus") read = needs(w.corpus, "--out FILE");
        else if (command == "sentences") read = w.logs.empty() ? needs("", "--log LOG") : needs(w.corpus, "--out FILE");
        else if (command == "iterate")
            read = w.batches.options.work.kernels.empty() ? needs("", "--network NETWORK or --kernel KERNEL")
                   : w.base.empty()                       ? needs("", "--base FOLDER")
                   : w.batches.folder.empty()             ? needs("", "--work FOLDER")
                                                          : needs(w.model, "--model FOLDER");
        else if (command == "train") read = w.corpus.empty() ? needs("", "--corpus FILE") : needs(w.model, "--model FOLDER");
        else read = w.work.kernels.empty() ? needs("", "--network NETWORK or --kernel KERNEL") : needs(w.model, "--model FOLDER");
        for (const char* name : {"likely", "aligned", "show", "log"})
            if (read && w.unconstrained && flags.given(name))
                read = error{errc::invalid_argument, std::string("--unconstrained counts samples: it does not go with --") + name};
        if (read && command == "iterate") read = check_left_out(w);
    }
    if (!read) return examples::complain("tlm", read.error(), examples::misuse);
    if (help) {
        std::printf("%s\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags, 130 interrupted.\n", usage, flags.help().c_str());
        return examples::done;
    }
    if (w.checkpoint.empty() && (command == "train" || command == "iterate")) {
        while (w.model.size() > 1 && w.model.ends_with('/')) w.model.pop_back(); // beside the folder, not in it
        w.checkpoint = w.model + ".checkpoint";
    }
    std::vector<examples::named_file> files{{command == "train" ? "--corpus" : "--out", w.corpus, command != "train"},
                                            {"--checkpoint", w.checkpoint, true}};
    for (const auto& log : w.logs) files.push_back({"--log", log, false});
    if (command == "iterate")
        for (const auto& [flag, folder] : {std::pair{"--base", w.base}, std::pair{"--model", w.model}, std::pair{"--work", w.batches.folder}})
            files.push_back({flag, folder, true});
    if (command == "iterate" && !w.left_out.empty())
        for (std::size_t i = 0; i < w.logs.size(); ++i) files.push_back({"--work", copied_log(w, i), true});
    if (auto apart = examples::keep_apart(files); !apart) return examples::complain("tlm", apart.error(), examples::misuse);
    if (command == "corpus" || command == "sentences") // now, not after the work
        if (auto writable = examples::can_write(w.corpus); !writable) return examples::complain("tlm", writable.error(), examples::misuse);
    if (w.threads == 0) w.threads = static_cast<std::size_t>((std::max)(augur::detect_machine().processors, 1));
    w.generation.seed = w.seed;
    w.generation.sample = !w.likely;
    w.training.decays = !constant; // of `train`
    examples::catch_signals();
    const auto done = command == "kernels"     ? print_kernels(w)
                      : command == "corpus"    ? make_corpus(w)
                      : command == "sentences" ? sentences_of_logs(w)
                      : command == "train"     ? train(std::move(w))
                      : command == "iterate"   ? iterate(std::move(w))
                      : w.unconstrained        ? generate_unconstrained(w)
                                               : generate(w);
    if (!done) return examples::complain("tlm", done.error(), done.error().code == errc::interrupted ? examples::interrupted : examples::failed);
    return examples::stop_requested() ? examples::interrupted : *done;
}

} // namespace

int main(int argc, char** argv) {
    const std::span<char* const> all(argv, static_cast<std::size_t>(argc > 0 ? argc : 0));
    return examples::finish(
        run(all.size() > 1 ? std::string_view(all[1]) : std::string_view(), all.size() > 2 ? all.subspan(2) : std::span<char* const>()));
}
