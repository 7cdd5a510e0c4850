// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `tune --model FILE` and `--known LOG` from outside: weights and what other kernels showed choose what is measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/wait.h>

#include <augur/loopnest/ir/task.hpp>
#include <augur/tlp/weights_file.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/log_writer.hpp>

#include "scratch.hpp"

namespace tune_model_test {

namespace {

namespace fs = std::filesystem;

const std::string tiny = "dense:m=16,n=32,k=16,bias";

// The schedules that a run of one round measures, in order, as text.
std::vector<augur::step_list> measured_with(const scratch& folder, const std::string& model, const std::string& log, const std::string& more = "") {
    const std::string command = std::string("'") + AUGUR_TUNE_PROGRAM + "' --kernel " + tiny + " --trials 8 --round 8 --threads 1 --no-limits --model '" + model +
                                "' --log '" + (folder / log) + "' " + more + " > '" + (folder / "out") + "' 2>&1";
    int code = 1;
    std::stringstream said;
    for (int attempt = 0; attempt < 3 && code != 0; ++attempt) { // on a busy machine a measurement may time out
        fs::remove(folder / log);
        code = std::system(command.c_str());
        said << std::ifstream(folder / "out").rdbuf();
    }
    CAPTURE(command);
    CAPTURE(said.str());
    REQUIRE(code == 0);
    auto reader = augur::log_reader::open(folder / log);
    REQUIRE(reader);
    std::vector<augur::step_list> out;
    for (augur::record r;;) {
        const auto next = reader->next(r);
        REQUIRE(next);
        if (!*next) break;
        out.push_back(r.schedule);
    }
    REQUIRE(out.size() == 9);
    out.erase(out.begin()); // the untuned schedule
    return out;
}

// What a model thinks of them on average.
double mean_score(const augur::tlp::trained_model& model, const std::vector<augur::step_list>& schedules) {
    augur::serial_executor serial;
    auto scorer = model.scorer(serial);
    const auto what = augur::kernel::parse(tiny);
    REQUIRE(what);
    const auto task = augur::loopnest::kernel_task::create(*what, {});
    REQUIRE(task);
    std::vector<float> scores(schedules.size());
    REQUIRE(scorer.score(*task, std::span<const augur::step_list>(schedules), std::span<float>(scores)));
    double sum = 0;
    for (const float s : scores) sum += static_cast<double>(s);
    return sum / static_cast<double>(scores.size());
}

} // namespace

TEST_CASE("tune --model FILE: the first round is the model's choice; --save-model writes what --model reads") {
    const scratch folder("tune-model");
    std::vector<augur::tlp::trained_model> models;
    for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}}) {
        auto m = augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(), augur::tlp::config::small(0), augur::random_engine(seed));
        REQUIRE(m);
        REQUIRE(augur::tlp::save(*m, folder / std::to_string(seed)));
        models.push_back(std::move(*m));
    }
    const auto none = measured_with(folder, "tlp", "none.jsonl", "--save-model '" + (folder / "learned") + "'");
    const auto first = measured_with(folder, folder / "1", "first.jsonl");
    const auto second = measured_with(folder, folder / "2", "second.jsonl");
    CHECK(first != second);
    // Even a model that knows nothing has its likes: each finds its own choice better than chance, and than the other's choice.
    CHECK(mean_score(models[0], first) > mean_score(models[0], none));
    CHECK(mean_score(models[0], first) > mean_score(models[0], second));
    CHECK(mean_score(models[1], second) > mean_score(models[1], none));
    CHECK(mean_score(models[1], second) > mean_score(models[1], first));

    const auto learned = augur::tlp::load(folder / "learned");
    REQUIRE(learned);
    const auto third = measured_with(folder, folder / "learned", "third.jsonl");
    CHECK(mean_score(*learned, third) > mean_score(*learned, none));
}

#ifdef AUGUR_EXAMPLES_NEST_MODELS
namespace {

bool unrolls(const augur::step_list& s) {
    for (const auto& step : s.steps)
        if (const auto* p = std::get_if<augur::pragma_step>(&step); p != nullptr && (p->text.ends_with("$64") || p->text.ends_with("$512")))
            return true;
    return false;
}

// A log as it was but for the latencies, which tell a world where unrolled schedules take a third or three times as long.
void write_world(const std::string& from, const std::string& to, bool unrolled_is_fast) {
    auto reader = augur::log_reader::open(from);
    auto writer = augur::log_writer::open(to);
    REQUIRE(reader);
    REQUIRE(writer);
    for (augur::record r;;) {
        const auto next = reader->next(r);
        REQUIRE(next);
        if (!*next) break;
        for (auto& s : r.measured.seconds) s = unrolls(r.schedule) == unrolled_is_fast ? 1e-3 : 3e-3;
        REQUIRE(writer->append(r));
    }
}

} // namespace

TEST_CASE("tune --model nest --known LOG: the first round is what was fast in other kernels") {
    const scratch folder("tune-known");
    const std::string collect = std::string("'") + AUGUR_TUNE_PROGRAM + "' --kernel dense:m=32,n=64,k=32,bias --kernel dense:m=48,n=16,k=64,bias" +
                                " --threads 1 --collect 32 --log '" + (folder / "collected") + "' > '" + (folder / "out") + "' 2>&1";
    REQUIRE(std::system(collect.c_str()) == 0);
    std::size_t unrolled[2] = {};
    for (const bool fast : {false, true}) {
        const auto world = folder / (fast ? "fast" : "slow");
        write_world(folder / "collected", world, fast);
        for (const auto& s : measured_with(folder, "nest", fast ? "a.jsonl" : "b.jsonl", "--known '" + world + "'"))
            unrolled[fast] += unrolls(s) ? 1U : 0U;
    }
    CHECK(unrolled[true] >= 5); // of 8: the first is the untuned schedule, and one is random
    CHECK(unrolled[false] <= 2);

    // Of other machines, threads or compilers nothing is known: that is said, and nothing is measured.
    const std::string other = std::string("'") + AUGUR_TUNE_PROGRAM + "' --kernel " + tiny + " --trials 8 --threads 2 --no-limits --model nest --known '" +
                              (folder / "fast") + "' > '" + (folder / "out") + "' 2>&1";
    const int status = std::system(other.c_str());
    std::stringstream said;
    said << std::ifstream(folder / "out").rdbuf();
    CAPTURE(said.str());
    CHECK(WEXITSTATUS(status) == 2);
    CHECK(said.str().find("64 of another target or number of threads") != std::string::npos);
}
#endif

} // namespace tune_model_test
