// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `tune --language FOLDER` from outside: kill -9 while the language model writes or learns, and a budget below a round.
#include <doctest/doctest.h>

#ifdef AUGUR_TLM_PROGRAM // else there is no Eigen

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/record/log_reader.hpp>
#include <augur/record/record.hpp>
#include <augur/schedule/steps_json.hpp>

#include "child_program.hpp"

namespace tune_tlm_test {

namespace {

/// Schedule and latency of each record of a log in its order: the untuned schedule, then the trials.
using logged = std::vector<std::pair<std::string, double>>;
logged records_of(const std::string& path) {
    logged out;
    auto reader = augur::log_reader::open(path);
    REQUIRE(reader);
    for (augur::record r;;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        CHECK(r.sequence == static_cast<std::int64_t>(out.size()));
        out.emplace_back(augur::to_json(r.schedule), r.measured.latency());
    }
    CHECK(reader->summary().bad == 0);
    return out;
}
strings schedules(const logged& of) {
    strings out;
    for (const auto& r : of) out.push_back(r.first);
    return out;
}
/// How many different schedules the trials have.
std::size_t different(const logged& of) {
    std::set<std::string> seen;
    for (std::size_t i = 1; i < of.size(); ++i) seen.insert(of[i].first);
    return seen.size();
}

/// A folder with a small language model, and runs of `tune` that let it write the candidates of one kernel.
struct written_kernel {
    const scratch folder{"tune_tlm"};
    const std::string model = folder / "model";

    written_kernel() {
        const auto corpus = folder / "corpus.bin";
        const auto run_tlm = [&](const strings& arguments) { return wait_for(start(folder, AUGUR_TLM_PROGRAM, arguments)); };
        REQUIRE(run_tlm({"corpus", "--out", corpus, "--kernels", "12", "--sentences", "20", "--threads", "1"}) == 0);
        REQUIRE(run_tlm({"train", "--corpus", corpus, "--model", model, "--layers", "1", "--width", "16", "--heads", "2", "--hidden", "32",
                         "--epochs", "1", "--numbers", "factors", "--threads", "1"}) == 0);
    }
    [[nodiscard]] pid_t start_tune(const std::string& log, const strings& more) const {
        strings arguments{
            "--kernel",    "dense:m=16,n=64,k=32,bias", "--language", model, "--threads", "1", "--log", folder / log, "--no-limits", "--compiler",
            quick_compiler};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return start(folder, AUGUR_TUNE_PROGRAM, arguments);
    }
    /// Kills a run as soon as its log has so many records, and reads what is there.
    [[nodiscard]] logged killed_at(std::size_t records, const std::string& log, const strings& more) const {
        const auto path = folder / log;
        REQUIRE(kill_when(start_tune(log, more), [&] { return lines_in(path) >= 1 + 2 * records; })); // behind a header two lines a record
        auto out = records_of(path);
        REQUIRE(out.size() >= records);
        return out;
    }
    /// Kills a run at each of these numbers of records, resumes it each time, in the end without an interruption, and reads the whole log.
    [[nodiscard]] logged killed_and_resumed(const std::vector<std::size_t>& at, const std::string& log, strings more) const {
        logged before;
        const auto goes_on_from = [&](const logged& now) { // no record is lost or measured again
            REQUIRE(now.size() >= before.size());
            CHECK(std::equal(before.begin(), before.end(), now.begin()));
            before = now;
        };
        for (std::size_t i = 0; i < at.size(); ++i) {
            goes_on_from(killed_at(at[i], log, more));
            if (i == 0) more.emplace_back("--resume");
        }
        REQUIRE(wait_for(start_tune(log, more)) == 0);
        goes_on_from(records_of(folder / log));
        return before;
    }
};

/// What the model alone writes, in three rounds.
strings twelve_trials(const strings& more) {
    strings out{"--search", "tlm", "--model", "none", "--trials", "12", "--round", "4"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}
constexpr std::size_t all_records = 13; // the untuned schedule and twelve trials

} // namespace

TEST_CASE("tune --search tlm: killed at any time and resumed, a language model that does not learn writes what it writes in one run") {
    const written_kernel k;
    const auto whole = k.killed_at(all_records, "whole", twelve_trials({"--fixed-language"}));
    CHECK(whole.size() == all_records);
    CHECK(different(whole) == 12);
    const auto resumed = k.killed_and_resumed({1, 5, all_records}, "killed", twelve_trials({"--fixed-language"}));
    CHECK(schedules(resumed) == schedules(whole));
    const auto said = contents(k.folder / "out");
    CAPTURE(said);
    CHECK(contains(said, "tlm: 12 trials in "));
    CHECK(contains(said, ", 0 measured now, 12 taken from the log"));
    CHECK(contains(said, "language model: fine-tuned 0 times, 12 points were measured"));
}

TEST_CASE("tune --search tlm: killed while it writes or learns, no record is lost or comes twice, and the model learns what it would have learned") {
    const written_kernel k;
    const auto resumed = k.killed_and_resumed({5, 9}, "killed", twelve_trials({}));
    CHECK(resumed.size() == all_records);
    CHECK(different(resumed) == 12);
    const auto said = contents(k.folder / "out");
    CAPTURE(said);
    CHECK(contains(said, "tlm: 12 trials in "));
    CHECK(contains(said, "language model: fine-tuned 1 times, 12 points were measured")); // on the first eight
    { // What it writes then depends on these eight latencies. So this run takes them from the log; nothing kills it before all is measured.
        std::ifstream from(k.folder / "killed");
        std::ofstream to(k.folder / "again");
        std::string line;
        for (int i = 0; i < 1 + 2 * 9 && std::getline(from, line); ++i) to << line << '\n';
    }
    CHECK(schedules(k.killed_at(all_records, "again", twelve_trials({"--resume"}))) == schedules(resumed));
    // Before it has learned anything it writes what a model writes that never learns.
    const auto fixed = schedules(k.killed_at(9, "fixed", twelve_trials({"--fixed-language"}))), learning = schedules(resumed);
    CHECK(std::equal(fixed.begin(), fixed.begin() + 9, learning.begin()));
}

TEST_CASE("tune --model auto: a budget below a round and below the drafts of the language model is used up, and the notes say what was chosen") {
    const written_kernel k;
    REQUIRE(wait_for(k.start_tune("auto", {"--model", "auto", "--trials", "3", "--round", "8"})) == 0);
    const auto said = contents(k.folder / "out");
    CAPTURE(said);
#ifdef AUGUR_HAS_XGBOOST
    const std::string name = "tlm+trees", guide = "trees that learn from what is measured";
#else
    const std::string name = "tlm+tlp", guide = "TLP that learns from what is measured";
#endif
    CHECK(contains(said, "3 trials a kernel in rounds of 3\n"));
    CHECK(contains(said, name + ": 3 trials in "));
    CHECK(contains(said, ", 3 measured now;"));
    CHECK(contains(said,
                   "model auto: a language model drafts 16 trials of a kernel, then evolution from what was measured and transferred, ranked by " +
                       guide));
    CHECK(contains(said, "language model: fine-tuned 0 times, 3 points were measured"));
    const auto measured = records_of(k.folder / "auto");
    REQUIRE(measured.size() == 4);
    CHECK(different(measured) == 3);
    CHECK(measured[1].first == measured[0].first); // the first trial is the untuned schedule
    // The second one is the point that the language model finds most likely: a cost model without measurements ranks nothing.
    const auto alone = k.killed_at(2, "alone", {"--model", "none", "--trials", "1"});
    CHECK(measured[2].first == alone[1].first);
}

} // namespace tune_tlm_test

#endif
