// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlm`: a corpus, a model that learns from it, points that it writes; wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_TLM_PROGRAM // else there is no Eigen

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/dataset/file.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/record.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/concepts.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tlm/generate/gpt2_session.hpp>
#include <augur/tlm/generate/token_walk.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/tlm/vocabulary.hpp>
#include <augur/tlm/weights_file.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/networks.hpp>

#include "child_program.hpp"

namespace tlm_test {

namespace {

int run_tlm(const scratch& folder, const strings& arguments) { return wait_for(start(folder, AUGUR_TLM_PROGRAM, arguments)); }

/// Waits, without a pause, until something is so; false: not within a minute.
template <class F>
bool comes(F so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!so())
        if (std::chrono::steady_clock::now() > end) return false;
    return true;
}

/// Trains a small language model on a small corpus; its folder.
std::string train_model(const scratch& folder) {
    const auto corpus = folder / "corpus.bin", model = folder / "base";
    REQUIRE(run_tlm(folder, {"corpus", "--out", corpus, "--kernels", "12", "--sentences", "20", "--threads", "1"}) == 0);
    REQUIRE(run_tlm(folder, {"train", "--corpus", corpus, "--model", model, "--layers", "1", "--width", "16", "--heads", "2", "--hidden", "32",
                             "--epochs", "1", "--numbers", "factors", "--threads", "1"}) == 0);
    return model;
}

/// Kernel and schedule of each record of a log in its order, and the latency.
using logged = std::vector<std::pair<std::string, double>>;
logged records_of(const std::string& path) {
    logged out;
    auto reader = augur::log_reader::open(path);
    for (augur::record r; reader;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        out.emplace_back(r.task.workload_key + augur::to_json(r.schedule), r.measured.latency());
    }
    return out;
}

} // namespace

TEST_CASE("tlm: a corpus, a model, points of a kernel that it never saw") {
    const scratch folder("tlm");
    const auto corpus = folder / "corpus.bin", model = folder / "model";
    REQUIRE(run_tlm(folder, {"corpus", "--out", corpus, "--kernels", "12", "--sentences", "20", "--threads", "1"}) == 0);
    CHECK(contains(contents(folder / "out"), "kernels              12"));
    const strings train{"train", "--corpus", corpus, "--model",  model, "--layers",  "1",       "--width",   "16", "--heads",
                        "2",     "--hidden", "32",   "--epochs", "1",   "--numbers", "factors", "--threads", "1"};
    REQUIRE(run_tlm(folder, train) == 0);
    CHECK(contains(contents(folder / "out"), "nats a token"));
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) CHECK(std::filesystem::exists(model + "/" + file));
    REQUIRE(run_tlm(folder,
                    {"generate", "--model", model, "--kernel", "dense:m=24,n=40,k=56,bias,relu", "--count", "10", "--show", "--threads", "1"}) == 0);
    const auto out = contents(folder / "out");
    CHECK(contains(out, "sketch ="));
    CHECK(contains(out, "points 10, of which 10 can be lowered"));
    REQUIRE(run_tlm(folder, {"generate", "--model", model, "--kernel", "dense:m=24,n=40,k=56,bias,relu", "--count", "10", "--precision", "bf16",
                             "--unconstrained"}) == 0);
    CHECK(contains(contents(folder / "out"), "sentences a legal one"));
    REQUIRE(run_tlm(folder, {"train", "--corpus", corpus, "--base", model, "--model", folder / "tuned", "--epochs", "1", "--threads", "1"}) == 0);
}

namespace {

/// The sentences that `generate --show` has printed, in their order: each word has a blank before it.
strings sentences_in(const std::string& out) {
    strings all;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(' ')) all.push_back(line);
    return all;
}

/// A kernel as `generate --threads` sees it on this machine.
struct prompted_kernel {
    std::string prompt;
    augur::loopnest::ansor_space space;
};
prompted_kernel kernel_here(const std::string& text, int threads) {
    const auto host = augur::detect_machine();
    std::string_view isa; // the highest level of this machine
    for (const auto l : {augur::isa_level::x86_64_v2, augur::isa_level::x86_64_v3, augur::isa_level::x86_64_v4, augur::isa_level::aarch64})
        if (augur::machine_at(host, l)) isa = augur::to_string(l);
    const auto task = augur::loopnest::kernel_task::create(*augur::kernel::parse(text), {});
    REQUIRE(task);
    augur::loopnest::ansor_options options;
    options.num_cores = threads;
    auto space = augur::loopnest::ansor_space::create(task->dag(), options);
    REQUIRE(space);
    return {augur::tlm::prompt_text(*task, augur::identify(host, isa, threads, "")), *std::move(space)};
}

struct walked_point {
    augur::decision_vector decisions;
    double log_probability = 0; ///< of its tokens, each among the legal ones
};

/// Walks to a point of a kernel with one sequence of the model: `choose(walk, logits)` takes a legal token.
template <class Choose>
walked_point walk_with(const augur::tlm::language_model& language, const prompted_kernel& kernel, const Choose& choose) {
    const augur::tlm::frozen_gpt2 model(language.net);
    std::vector<augur::tlm::token> tokens{augur::tlm::vocabulary::begin};
    language.words.append_text(kernel.prompt, tokens);
    auto session = model.open(tokens);
    REQUIRE(session);
    session->sequences(1);
    const std::size_t only = 0;
    std::vector<float> logits(model.words());
    walked_point out;
    augur::tlm::token_walk<augur::loopnest::ansor_space> walk(kernel.space, language.words, language.form);
    for (std::vector<augur::tlm::token> passed; walk.advance(passed); passed.clear()) {
        session->append(0, passed);
        REQUIRE(session->logits(std::span(&only, 1), logits));
        const augur::tlm::token chosen = choose(walk, logits);
        double sum = 0;
        for (const auto t : walk.choices()) sum += std::exp(static_cast<double>(logits[t]) - static_cast<double>(logits[chosen]));
        out.log_probability -= std::log(sum);
        session->append(0, std::span(&chosen, 1));
        walk.choose(chosen);
    }
    REQUIRE_FALSE(walk.failed());
    out.decisions = walk.decisions();
    return out;
}

} // namespace

TEST_CASE("tlm: the most likely point is what a greedy walk chooses, whatever the seed and the other kernels; a beam sorts its points") {
    const scratch folder("tlm");
    const auto model = train_model(folder);
    const auto language = augur::tlm::load(model);
    REQUIRE(language);
    const std::string first = "dense:m=24,n=40,k=56,bias,relu", second = "dense:m=16,n=64,k=32,bias";
    const auto likely = [&](const strings& more) {
        strings arguments{"generate", "--model", model, "--likely", "--show"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        REQUIRE(run_tlm(folder, arguments) == 0);
        return sentences_in(contents(folder / "out"));
    };
    const auto greedy = [&](const std::string& text, int threads) {
        const auto kernel = kernel_here(text, threads);
        const auto walked = walk_with(*language, kernel, [](const auto& walk, const std::vector<float>& logits) {
            const auto legal = walk.choices();
            return *std::max_element(legal.begin(), legal.end(), [&](auto a, auto b) { return logits[a] < logits[b]; });
        });
        return *augur::tlm::sentence_text("", kernel.space, walked.decisions);
    };
    const auto expected = greedy(first, 1);
    CHECK(likely({"--kernel", first, "--count", "1", "--threads", "1"}) == strings{expected});
    CHECK(contains(contents(folder / "out"), "points 1, of which 1 can be lowered"));
    CHECK(likely({"--kernel", first, "--count", "1", "--threads", "1", "--seed", "2"}) == strings{expected});
    // The number of threads is a word of the prompt. Here it is also that of the kernels that are written at the same time.
    CHECK(likely({"--kernel", first, "--kernel", second, "--count", "1", "--threads", "2"}) == strings{greedy(first, 2), greedy(second, 2)});
    const auto one_by_one = likely({"--kernel", first, "--count", "4", "--batch", "1", "--threads", "1"});
    REQUIRE(std::set<std::string>(one_by_one.begin(), one_by_one.end()).size() == 4);
    CHECK(one_by_one.front() == expected);

    const auto beam = likely({"--kernel", first, "--count", "4", "--threads", "1"});
    REQUIRE(std::set<std::string>(beam.begin(), beam.end()).size() == 4);
    REQUIRE(beam.size() == 4);
    const auto kernel = kernel_here(first, 1);
    std::vector<double> bits; // of each point
    for (const auto& sentence : beam) {
        std::vector<std::string_view> words;
        augur::tlm::vocabulary::each_word(sentence, [&](std::string_view word) { words.push_back(word); });
        const auto point = augur::tlm::read_sentence(kernel.space, words);
        REQUIRE(point);
        const auto walked = walk_with(*language, kernel, [&](const auto& walk, const std::vector<float>&) {
            const auto token = walk.towards((*point)[walk.decisions().size()]);
            REQUIRE(token);
            return *token;
        });
        CHECK(walked.decisions == *point);
        bits.push_back(-walked.log_probability / std::log(2.0));
    }
    for (std::size_t i = 1; i < bits.size(); ++i) CHECK(bits[i - 1] <= bits[i] + 1e-6); // the most likely one comes first
    const auto name = augur::kernel::parse(first)->text();
    std::istringstream lines(contents(folder / "out"));
    double printed = -1;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name)) continue;
        std::istringstream row(line.substr(name.size()));
        std::size_t points = 0, legal = 0;
        row >> points >> legal >> printed;
        CHECK(points == 4);
        CHECK(legal == 4);
    }
    CHECK(std::abs(printed - (bits[0] + bits[1] + bits[2] + bits[3]) / 4) < 0.051); // it has one decimal
}

TEST_CASE("tlm: a corpus has the classes of the networks that are left out, and none of their workloads") {
    const scratch folder("tlm");
    const auto corpus = folder / "corpus.bin";
    REQUIRE(run_tlm(folder, {"corpus", "--out", corpus, "--kernels", "1000", "--sentences", "1"}) == 0);
    const auto read = augur::map_dataset(corpus);
    REQUIRE(read);
    REQUIRE(read->tasks() == 1000);
    const auto words_of = [](std::string_view text) {
        std::string out;
        augur::tlm::text_words(text, [&](std::string_view word) { (out += word) += ' '; });
        return out;
    };
    std::set<std::string> left_out;
    std::map<std::string, int> kernels; // of the classes that are left out
    for (const char* name : {"resnet_50", "mobilenet_v2", "bert_base", "bert_base:tokens=64", "bert_base:tokens=256", "bert_base:tokens=384"}) {
        const auto network = augur::find_network(name);
        REQUIRE(network);
        for (const auto& k : network->kernels) {
            left_out.insert(words_of(k.workload.workload_key()));
            kernels[words_of(k.workload.class_name())] = 0;
        }
    }
    for (std::size_t t = 0; t < read->tasks(); ++t) {
        std::string begun; // a prompt begins with the words of a workload key, which begins with those of a class
        bool is_left_out = false;
        augur::tlm::vocabulary::each_word(read->task(t).key, [&](std::string_view word) {
            const bool is_number = word.find_first_not_of("0123456789") == std::string_view::npos;
            if (const auto of = kernels.find(begun); is_number && of != kernels.end()) ++of->second;
            is_left_out |= left_out.contains((begun += word) += ' ');
        });
        CHECK_FALSE(is_left_out);
    }
    for (const auto& of : kernels) CHECK_MESSAGE(of.second >= 5, of.first);
}

TEST_CASE("tlm: kernels to measure are of all classes, none of a network that is left out, and not too large") {
    const scratch folder("tlm");
    REQUIRE(run_tlm(folder, {"kernels", "--kernels", "120", "--most-gflop", "0.5"}) == 0);
    std::vector<augur::kernel> tested;
    for (const char* name : {"resnet_50", "mobilenet_v2", "bert_base", "bert_base:tokens=64", "bert_base:tokens=256", "bert_base:tokens=384"}) {
        const auto network = augur::find_network(name);
        REQUIRE(network);
        for (const auto& k : network->kernels) tested.push_back(k.workload);
    }
    std::map<std::string, int> of_class;
    std::set<std::string> lines;
    std::istringstream printed(contents(folder / "out"));
    for (std::string line; std::getline(printed, line);) {
        const auto k = augur::kernel::parse(line);
        REQUIRE_MESSAGE(k, line);
        CHECK(std::find(tested.begin(), tested.end(), *k) == tested.end());
        ++of_class[k->class_name()];
        lines.insert(line);
    }
    CHECK(lines.size() == 120);
    int least = 120, most = 0;
    for (const auto& [name, n] : of_class) least = (std::min)(least, n), most = (std::max)(most, n);
    CHECK(least >= 2);
    CHECK(most <= least + 8);
    CHECK(run_tlm(folder, {"kernels", "--kernels", "60", "--most-gflop", "0.0000001"}) == 1);
    CHECK(contains(contents(folder / "err"), "have at most so many operations"));
}

TEST_CASE("tlm: a training that is interrupted or killed goes on by the same command, and ends with the same bytes") {
    const scratch folder("tlm");
    const auto corpus = folder / "corpus.bin", whole = folder / "whole", model = folder / "model", checkpoint = model + ".checkpoint";
    REQUIRE(run_tlm(folder, {"corpus", "--out", corpus, "--kernels", "4", "--sentences", "20", "--threads", "1"}) == 0);
    const auto train = [&](const std::string& to) {
        return strings{"train",    "--corpus", corpus,      "--model", to,         "--layers", "1",         "--width", "16",        "--heads", "2",
                       "--hidden", "32",       "--prompts", "1",       "--epochs", "30",       "--dropout", "0.1",     "--threads", "1"};
    };
    REQUIRE(run_tlm(folder, train(whole)) == 0);
    CHECK(!std::filesystem::exists(whole + ".checkpoint"));
    std::filesystem::remove(folder / "err"); // that of the run before
    const pid_t first = start(folder, AUGUR_TLM_PROGRAM, train(model + "/"));
    REQUIRE(comes([&] { return contains(contents(folder / "err"), "100/"); }));
    ::kill(first, SIGINT);
    REQUIRE(wait_for(first) == 130);
    CHECK(contains(contents(folder / "err"), "the same command goes on from " + checkpoint));
    CHECK(std::filesystem::exists(checkpoint));
    CHECK(run_tlm(folder, {"train", "--corpus", corpus, "--model", model}) == 1); // of other sizes
    CHECK(contains(contents(folder / "err"), "another training"));
    for (const int milliseconds : {5, 40, 150}) {
        const pid_t child = start(folder, AUGUR_TLM_PROGRAM, train(model));
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        ::kill(child, SIGKILL);
        wait_for(child);
        CHECK((std::filesystem::exists(checkpoint) || std::filesystem::exists(model + "/model.safetensors"))); // it can be faster
    }
    REQUIRE(run_tlm(folder, train(model)) == 0);
    CHECK(contents(model + "/model.safetensors") == contents(whole + "/model.safetensors"));
    CHECK(!std::filesystem::exists(checkpoint));
    const auto briefly = [&](const std::string& to) {
        return strings{"train",   "--corpus", corpus,     "--model", to,         "--layers", "1",         "--width", "16",
                       "--heads", "2",        "--hidden", "32",      "--epochs", "1",        "--threads", "1"};
    };
    auto with_prompts = briefly(folder / "all");
    with_prompts.emplace_back("--learn-all");
    REQUIRE(run_tlm(folder, briefly(folder / "values")) == 0);
    REQUIRE(run_tlm(folder, with_prompts) == 0);
    CHECK(contents(folder / "all/model.safetensors") != contents(folder / "values/model.safetensors"));
}

TEST_CASE("tlm: a corpus that is killed at any moment is not there or whole, and comes out the same") {
    const scratch folder("tlm");
    std::filesystem::create_directory(folder / "made");
    const auto whole = folder / "whole.bin", corpus = folder / "made/corpus.bin";
    const auto arguments = [](const std::string& to) {
        return strings{"corpus", "--out", to, "--kernels", "12", "--sentences", "20", "--threads", "2"};
    };
    const auto before = std::chrono::steady_clock::now();
    REQUIRE(run_tlm(folder, arguments(whole)) == 0);
    const std::chrono::duration<double, std::micro> full_time = std::chrono::steady_clock::now() - before;
    const auto expected = contents(whole);
    const auto is_writing = [&] {
        for (const auto& entry : std::filesystem::directory_iterator(folder / "made"))
            if (std::error_code gone; entry.path().extension() == ".part" && std::filesystem::file_size(entry.path(), gone) > 0 && !gone) return true;
        return false;
    };
#ifdef AUGUR_TEST_SLOW
    constexpr int rounds = 400;
#else
    constexpr int rounds = 10;
#endif
    augur::random_engine rng(1);
    int killed = 0;
    for (int round = 0; round < rounds; ++round) {
        const pid_t child = start(folder, AUGUR_TLM_PROGRAM, arguments(corpus));
        if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(rng.below(static_cast<std::uint64_t>(full_time.count()) + 1)));
        else REQUIRE(comes([&] { return is_writing() || std::filesystem::exists(corpus); }));
        ::kill(child, SIGKILL);
        killed += wait_for(child) == -SIGKILL ? 1 : 0;
        CHECK((!std::filesystem::exists(corpus) || contents(corpus) == expected));
        std::filesystem::remove_all(folder / "made");
        std::filesystem::create_directory(folder / "made");
    }
    CHECK(killed > 0);
    REQUIRE(run_tlm(folder, arguments(corpus)) == 0);
    CHECK(contents(corpus) == expected);
}

TEST_CASE("tlm: the fastest schedules of a log become sentences") {
    const scratch folder("tlm");
    const auto log = folder / "log.jsonl", corpus = folder / "corpus.bin";
    REQUIRE(wait_for(
                start(folder, AUGUR_TUNE_PROGRAM, {"--kernel", "dense:m=16,n=64,k=32,bias", "--collect", "4", "--log", log, "--threads", "1"})) == 0);
    REQUIRE(run_tlm(folder, {"sentences", "--out", corpus, "--log", log, "--best", "3"}) == 0);
    CHECK(contains(contents(folder / "out"), "3 sentences of 1 kernels; of 4 records 0 of other compilers, 0 left out, 0 no points"));
    CHECK(run_tlm(folder, {"sentences", "--out", corpus}) == 2);
    CHECK(run_tlm(folder, {"sentences", "--out", log, "--log", log}) == 2); // nothing is written over a log that is read
    CHECK(run_tlm(folder, {"train", "--corpus", corpus, "--checkpoint", corpus, "--model", folder / "m"}) == 2);
    CHECK(run_tlm(folder, {"sentences", "--out", corpus, "--log", folder / "none"}) == 1);
}

TEST_CASE("tlm: it learns from kernels that it measures batch by batch, a killed one goes on, and tune lets it write the candidates") {
    const scratch folder("tlm");
    const auto base = train_model(folder), kernel = std::string("dense:m=16,n=64,k=32,bias");
    const auto iterate = [&](const std::string& name) {
        return strings{"iterate",
                       "--base",
                       base,
                       "--work",
                       folder / ("work_" + name),
                       "--model",
                       folder / name,
                       "--kernel",
                       kernel,
                       "--kernel",
                       "dense:m=16,n=32,k=32",
                       "--batches",
                       "2",
                       "--programs",
                       "3",
                       "--threads",
                       "1"};
    };
    std::filesystem::remove(folder / "err");
    const pid_t child = start(folder, AUGUR_TLM_PROGRAM, iterate("killed"));
    REQUIRE(comes([&] { return contains(contents(folder / "work_killed/batch1.jsonl"), "\"record\""); }));
    ::kill(child, SIGKILL);
    wait_for(child);
    REQUIRE(run_tlm(folder, iterate("killed")) == 0);
    CHECK(contains(contents(folder / "out"), "sentences of 2 kernels; of 8 records")); // with the untuned schedules
    CHECK(contains(contents(folder / "out"), "below 1 per mille"));
    const auto first_batch = contents(folder / "work_killed/batch1.jsonl"), second_batch = contents(folder / "work_killed/batch2.jsonl");
    const auto written = contents(folder / "killed/model.safetensors");
    CHECK(!written.empty());
    REQUIRE(run_tlm(folder, iterate("killed")) == 0); // nothing is left to measure, and the model comes out the same
    auto otherwise = iterate("killed");
    otherwise.insert(otherwise.end(), {"--lag", "1"});
    CHECK(run_tlm(folder, otherwise) == 1);
    CHECK(contains(contents(folder / "err"), "other settings ('lag 0'"));
    CHECK(contents(folder / "work_killed/batch1.jsonl") == first_batch);
    CHECK(contents(folder / "work_killed/batch2.jsonl") == second_batch);
    CHECK(contents(folder / "killed/model.safetensors") == written);

    const auto tune = [&](strings more) {
        strings all{"--kernel", kernel, "--trials", "4", "--threads", "1", "--no-limits"};
        all.insert(all.end(), more.begin(), more.end());
        return wait_for(start(folder, AUGUR_TUNE_PROGRAM, all));
    };
    REQUIRE(tune({"--language", base, "--model", "none", "--demonstrations", folder / "work_killed/batch1.jsonl"}) == 0);
    CHECK(contains(contents(folder / "out"), "tlm: 4 trials"));
    CHECK(tune({"--search", "tlm"}) == 2);
    CHECK(tune({"--search", "random", "--language", base}) == 2);
    CHECK(tune({"--fixed-language"}) == 2);
    CHECK(tune({"--language", folder / "none"}) == 2);
    CHECK(contains(contents(folder / "err"), "config.json"));
    CHECK(run_tlm(folder, {"iterate", "--base", base, "--work", folder / "w"}) == 2);
}

TEST_CASE("tlm: batches that are killed while it samples, fine-tunes, measures or trains have the candidates and the model of a whole run") {
    const scratch folder("tlm");
    const auto base = train_model(folder);
    const auto start_iterate = [&](const std::string& name) {
        const auto work = folder / ("work_" + name), model = folder / name;
        const strings kernels{"--kernel", "dense:m=16,n=64,k=32,bias", "--kernel", "dense:m=16,n=32,k=32"};
        strings arguments{"iterate", "--base",     base, "--work",     work,        "--model", model,        "--batches",
                          "2",       "--programs", "3",  "--weighted", "--threads", "1",       "--compiler", quick_compiler};
        arguments.insert(arguments.end(), kernels.begin(), kernels.end());
        return start(folder, AUGUR_TLM_PROGRAM, arguments);
    };
    const auto log_of = [&](const std::string& name, int batch) { return folder / ("work_" + name + "/batch" + std::to_string(batch) + ".jsonl"); };
    // Behind the header each record has a line of comments.
    const auto has_records = [](const std::string& log, std::size_t n) { return lines_in(log) >= 1 + 2 * n; };
    constexpr std::size_t of_batch = 4;                      // the untuned schedule and three programs
    const auto schedules_of = [&](const std::string& path) { // latencies are not the same twice
        std::vector<std::string> out;
        for (const auto& r : records_of(path)) out.push_back(r.first);
        std::sort(out.begin(), out.end());
        return out;
    };

    // Batch 1 without an interruption.
    const pid_t reference = start_iterate("reference");
    REQUIRE(kill_when(reference, [&] { return has_records(log_of("reference", 1), of_batch); }));
    const auto first_batch = schedules_of(log_of("reference", 1));
    REQUIRE(first_batch.size() == of_batch);

    const auto check = [&](const std::string& name, const auto& killed) { // `killed(run)`: false after the last run, which nothing kills
        logged before[2];
        bool goes_on = true;
        for (int run = 0; goes_on; ++run) {
            goes_on = killed(run);
            for (int b = 0; b < 2; ++b) {
                const auto now = records_of(log_of(name, b + 1));
                REQUIRE(now.size() >= before[b].size());
                CHECK(std::equal(before[b].begin(), before[b].end(), now.begin())); // none is lost or measured again
                before[b] = now;
            }
        }
        CHECK(schedules_of(log_of(name, 1)) == first_batch);
        const auto second_batch = schedules_of(log_of(name, 2));
        CHECK(second_batch.size() == of_batch);
        // Batch 2 without an interruption, by a model that knows the same latencies of batch 1.
        std::filesystem::copy_file(log_of(name, 1), log_of("reference", 1), std::filesystem::copy_options::overwrite_existing);
        std::filesystem::remove(log_of("reference", 2));
        REQUIRE(kill_when(start_iterate("reference"), [&] { return has_records(log_of("reference", 2), of_batch); }));
        CHECK(schedules_of(log_of("reference", 2)) == second_batch);
        // The model, by the other commands.
        const auto sentences = folder / "sentences.bin";
        REQUIRE(run_tlm(folder, {"sentences", "--out", sentences, "--log", log_of(name, 1), "--log", log_of(name, 2)}) == 0);
        REQUIRE(run_tlm(folder, {"train", "--corpus", sentences, "--base", base, "--model", folder / "again", "--epochs", "10", "--rate", "0.0003",
                                 "--constant", "--weighted", "--threads", "1"}) == 0);
        const auto written = contents(folder / (name + "/model.safetensors"));
        CHECK(!written.empty());
        CHECK(contents(folder / "again/model.safetensors") == written);
    };
    check("killed", [&](int run) {
        const pid_t child = start_iterate("killed");
        switch (run) {
        case 0: return kill_when(child, [&] { return has_records(log_of("killed", 1), 1); }); // the model samples
        case 1: return kill_when(child, [&] { return has_records(log_of("killed", 1), 3); });
        case 2: return kill_when(child, [&] { return has_records(log_of("killed", 2), 1); }); // it is fine-tuned on batch 1
        case 3: return kill_when(child, [&] { return has_records(log_of("killed", 2), 3); });
        case 4: return kill_when(child, [&] { return std::filesystem::exists(folder / "work_killed/sentences.bin"); }); // it learns from both
        default: REQUIRE(wait_for(child) == 0); return false;
        }
    });
#ifdef AUGUR_TEST_SLOW
    augur::random_engine rng(1);
    for (int round = 0; round < 10; ++round) {
        const auto name = "random" + std::to_string(round);
        int kills = 0;
        check(name, [&](int run) {
            const pid_t child = start_iterate(name);
            const auto most = std::chrono::milliseconds(500 * (run + 2)); // longer and longer, so that it comes to an end
            std::this_thread::sleep_for(std::chrono::microseconds(rng.below(static_cast<std::uint64_t>(std::chrono::microseconds(most).count()))));
            ::kill(child, SIGKILL);
            const int code = wait_for(child);
            REQUIRE((code == 0 || code == -SIGKILL));
            kills += code != 0 ? 1 : 0;
            return code != 0;
        });
        CHECK(kills > 0);
    }
#endif
}

TEST_CASE("tlm: with a lag of one batch, a batch is written by the model that knows all batches but the one before it") {
    const scratch folder("tlm");
    const auto base = train_model(folder);
    const std::string a = "dense:m=16,n=64,k=32", b = "dense:m=16,n=32,k=32", c = "dense:m=32,n=32,k=16"; // of one class: batches 1, 2 and 3
    const auto log_of = [&](const std::string& name, int batch) { return folder / (name + "/batch" + std::to_string(batch) + ".jsonl"); };
    const auto iterate = [&](const std::string& name, const strings& kernels, const std::string& lag) {
        strings arguments{"iterate",   "--base",     base,          "--work", folder / name, "--model", folder / (name + "_model"),
                          "--batches", "3",          "--programs",  "4",      "--lag",       lag,       "--threads",
                          "1",         "--compiler", quick_compiler};
        for (const auto& k : kernels) {
            arguments.emplace_back("--kernel");
            arguments.push_back(k);
        }
        return run_tlm(folder, arguments);
    };
    const auto schedules_of = [&](const std::string& name, int batch) { // of one kernel, so in the order of the search
        strings out;
        for (const auto& r : records_of(log_of(name, batch))) out.push_back(r.first);
        return out;
    };
    REQUIRE(iterate("lagging", {a, b, c}, "1") == 0);
    const auto second = schedules_of("lagging", 2), third = schedules_of("lagging", 3);
    REQUIRE(second.size() == 5); // the untuned schedule and four programs
    REQUIRE(third.size() == 5);
    CHECK(second.front().starts_with(augur::kernel::parse(b)->workload_key()));
    CHECK(third.front().starts_with(augur::kernel::parse(c)->workload_key()));

    // Batch 2 is the base's, which has learned nothing.
    REQUIRE(iterate("alone", {b}, "0") == 0);
    CHECK(schedules_of("alone", 1) == second);
    // Batch 3 is that of a model which has learned batch 1 and nothing else.
    std::filesystem::create_directory(folder / "without");
    std::filesystem::copy_file(log_of("lagging", 1), log_of("without", 1));
    REQUIRE(iterate("without", {a, c}, "0") == 0);
    CHECK(contents(log_of("without", 1)) == contents(log_of("lagging", 1))); // nothing is measured again
    CHECK(schedules_of("without", 2) == third);
}

TEST_CASE("tlm: what is missing or wrong is told") {
    const scratch folder("tlm");
    CHECK(run_tlm(folder, {}) == 2);
    CHECK(run_tlm(folder, {"--help"}) == 0);
    CHECK(run_tlm(folder, {"write"}) == 2);
    CHECK(run_tlm(folder, {"corpus"}) == 2);
    CHECK(contains(contents(folder / "err"), "expected --out FILE"));
    CHECK(run_tlm(folder, {"corpus", "--out", folder / "c", "--networks", "no_such"}) == 1);
    CHECK_FALSE(std::filesystem::exists(folder / "c"));
    const std::vector<strings> nowhere{{"corpus", "--out", folder / "none/c"}, {"sentences", "--out", folder / "none/c", "--log", folder / "l"}};
    for (const auto& arguments : nowhere) { // found out before the work
        CHECK(run_tlm(folder, arguments) == 2);
        CHECK(contains(contents(folder / "err"), "none/c: cannot make a new file"));
    }
    CHECK(run_tlm(folder, {"sentences", "--out", folder / "c", "--log", folder / "l", "--seed", "5"}) == 2);
    CHECK(contains(contents(folder / "err"), "--seed"));
    CHECK(run_tlm(folder, {"kernels", "--threads", "3"}) == 2);
    CHECK(contains(contents(folder / "err"), "--threads"));
    CHECK(run_tlm(folder, {"kernels", "--networks", "gpt2:tokens=1,past=8,vgg_16", "--kernels", "2"}) == 0);
    CHECK(run_tlm(folder, {"train", "--corpus", folder / "none", "--model", folder / "m"}) == 1);
    CHECK(run_tlm(folder, {"train", "--corpus", folder / "none", "--model", folder / "m", "--rate", "-1"}) == 2);
    CHECK(run_tlm(folder, {"train", "--corpus", folder / "none", "--model", folder / "m", "--dropout", "1"}) == 2);
    CHECK(contains(contents(folder / "err"), "from 0 to below 1"));
    CHECK(run_tlm(folder, {"generate", "--model", folder / "m", "--network", "alexnet", "--unconstrained", "--likely"}) == 2);
    CHECK(contains(contents(folder / "err"), "it does not go with --likely"));
    CHECK(run_tlm(folder, {"train", "--corpus", folder / "m.checkpoint", "--model", folder / "m"}) == 2);
    CHECK(run_tlm(folder, {"generate", "--model", folder / "none", "--kernel", "dense:m=24,n=40,k=56"}) == 1);
    CHECK(contains(contents(folder / "err"), "config.json"));
    std::filesystem::remove(folder / "out");
    std::filesystem::create_symlink("/dev/full", folder / "out"); // a disk without space
    CHECK(run_tlm(folder, {"kernels", "--kernels", "2"}) == 1);
    CHECK(contains(contents(folder / "err"), "stdout: cannot be written"));
}

} // namespace tlm_test

#endif
