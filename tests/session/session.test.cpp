// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/session.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <augur/record/log_reader.hpp>
#include <augur/record/log_writer.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/session/demonstrations.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/walk.hpp>

#include "../may_skip.hpp"

namespace {

// The C++ blocks of session/ tune a network for minutes: compiled, not called.
[[maybe_unused]] augur::result<void> tune_resnet_18() {
#include <snippets/session/session.hpp.1.inc>
    return {};
}
[[maybe_unused]] augur::result<void> tune_resnet_18_until_interrupted() {
    static const bool ctrl_c = false;
#include <snippets/session/README.md.1.inc>
    return report ? augur::result<void>{} : report.error();
}

namespace fs = std::filesystem;

struct scratch {
    fs::path path;
    scratch() {
        std::string name = (fs::temp_directory_path() / "session-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~scratch() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    std::string operator/(const std::string& file) const { return (path / file).string(); }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What these cases look at does not depend on how fast the candidates are, nor on how well their times are known.
std::vector<std::string> quick_flags() {
    auto flags = augur::loopnest::isa_flags(augur::isa_level::native);
    flags.insert(flags.end(), {"-O0", "-w"});
    return flags;
}
augur::result<augur::session> quick_session(const augur::session_options& o) {
    auto s = augur::session::create(o);
    if (s) {
        augur::loopnest::timing_options timing;
        timing.repeats = 3;
        timing.min_repeat_seconds = 1e-4;
        REQUIRE(s->runner().programs().set_timing(timing));
    }
    return s;
}

augur::session_options two_kernels() {
    augur::session_options o;
    o.compiler.flags = quick_flags();
    o.work.name = "two kernels";
    for (const char* k : {"dense:m=16,n=32,k=16,bias", "dense:m=16,n=48,k=16"}) o.work.add(*augur::kernel::parse(k));
    o.search.model = "none";
    o.search.trials = 4;
    o.search.scheduler = augur::scheduling::round_robin;
    o.limits = false;
    o.threads = 1;
    return o;
}

std::vector<augur::record> records(const std::string& path) {
    std::vector<augur::record> out;
    auto reader = augur::log_reader::open(path);
    REQUIRE(reader);
    for (augur::record r;;) {
        const auto has_record = reader->next(r);
        REQUIRE(has_record);
        if (!*has_record) return out;
        out.push_back(r);
    }
}

std::string error_of(const augur::session_options& o) {
    const auto s = augur::session::create(o);
    REQUIRE_FALSE(s);
    return s.error().detail;
}

/// A compiler that breaks what it compiles, as the file `mode` says; to the log it is the same compiler.
void write_breaking_compiler(const scratch& folder) {
    std::ofstream script(folder / "cc");
    script << "#!/bin/sh\nmode=$(cat '" << folder / "mode" << "' 2> /dev/null)\nfor source; do :; done\n"
           << "case \"$mode:$source\" in\n"
           << "broken:*/b[0-9]*.c) echo 'program.c:1:1: error: broken on purpose' >&2; exit 1 ;;\n"
           << "wrong:*/b[0-9]*.c) sed -i 's/b\\[0\\]/b[1]/g' \"$source\" ;;\n"
           << "endless:*/b[0-9]*.c) sed -i 's/^void .*(float \\*const \\*b.*) {$/& for (;;) __asm__ volatile(\"\");/' \"$source\" ;;\n"
           << "esac\nexec cc \"$@\"\n";
    script.close();
    fs::permissions(folder / "cc", fs::perms::owner_all);
}

} // namespace

TEST_CASE("session: wrong options are refused before anything is measured") {
    const scratch folder;
    const auto good = two_kernels();
    auto o = good;
    o.work.kernels.clear();
    CHECK(contains(error_of(o), "at least one kernel"));
    o = good;
    o.work.kernels.push_back(o.work.kernels.front());
    CHECK(contains(error_of(o), "came twice"));
    o = good;
    o.search.trials = 0;
    CHECK(contains(error_of(o), "at least one trial"));
    o = good;
    o.collect = true;
    CHECK(contains(error_of(o), "expects a log"));
    o = good;
    o.compiler.command = "/no/such/cc";
    CHECK(contains(error_of(o), "/no/such/cc"));
    o = good;
    o.log = folder / "refused.jsonl";
    o.compiler.command = "/no/such/cc"; // the level is refused first
    for (const auto level : {augur::isa_level::aarch64, augur::isa_level::x86_64_v4}) {
        if (augur::detect_machine(level)) continue;
        o.compiler.isa = level;
        CHECK(contains(error_of(o), "ISA level " + std::string(to_string(level)) + ": expected"));
    }
    CHECK_FALSE(fs::exists(o.log));
    o = good;
    o.machine = "cortex-a72";
    o.compiler.isa = augur::isa_level::x86_64_v2;
    if (augur::detect_machine(o.compiler.isa)) CHECK(contains(error_of(o), "architecture 'aarch64'"));
    o = good;
    o.machine = "no-such-machine";
    CHECK(contains(error_of(o), "no-such-machine"));
#ifdef AUGUR_HAS_TLP
    o = good;
    o.search.weights = "trees";
    CHECK(contains(error_of(o), "weights 'trees': expected a file"));
    o = good;
    o.search.model = "treees";
    CHECK(contains(error_of(o), "model 'treees': expected auto, none, tlp, crop, trees, hybrid, nest or a weights file"));
#endif
#ifdef AUGUR_HAS_CROP
    o = good;
    o.search.model = "crop";
    CHECK(contains(error_of(o), "model 'crop': expected a machine"));
#endif
#ifdef AUGUR_HAS_XGBOOST
    o = good;
    o.search.model = "nest";
    CHECK(contains(error_of(o), "model 'nest': expected a log of other kernels"));
#endif
}

TEST_CASE("session: the untuned schedule is the first record, no trial, and the result is never slower") {
    const scratch folder;
    auto o = two_kernels();
    o.limits = true;
    o.compiler.flags.clear(); // all as a user has it
    o.log = folder / "log.jsonl";
    auto s = std::make_unique<augur::result<augur::session>>(augur::session::create(o));
    REQUIRE(*s);
    auto& session = **s;
    std::size_t calls = 0, last_done = 0;
    augur::session_hooks hooks;
    hooks.progress = [&](const augur::session_progress& p) {
        ++calls;
        if (p.searching) last_done = p.done;
    };
    const auto report = session.tune(hooks);
    REQUIRE(report);
    CHECK(calls >= 8);
    CHECK(last_done == 8);
    REQUIRE(report->searches.size() == 1);
    const auto& search = report->searches[0];
    REQUIRE_FALSE(search.failed);
    REQUIRE(search.summary);
    CHECK(search.name == "random");
    CHECK(search.summary->measured == 8);
    double sum = 0;
    for (std::size_t k = 0; k < 2; ++k) {
        CHECK(search.latencies[k].size() == 4);
        CHECK(report->kernels[k].naive > 0);
        CHECK(report->kernels[k].untuned > 0);
        CHECK(report->kernels[k].limit > 0);
        CHECK(search.result[k].latency <= report->kernels[k].untuned);
        CHECK(search.result[k].latency <= search.found(k));
        const bool is_untuned = search.result[k].latency == report->kernels[k].untuned;
        const auto untuned = augur::hash_schedule(session.untuned_schedule(k));
        if (is_untuned) CHECK(augur::hash_schedule(search.result[k].schedule) == untuned);
        sum += search.result[k].latency;
    }
    CHECK(report->network_latency(0) == doctest::Approx(sum));

    const auto all = records(o.log);
    REQUIRE(all.size() == 10);
    for (std::size_t k = 0; k < 2; ++k) // the baselines come before the search
        CHECK(augur::hash_schedule(all[k].schedule) == augur::hash_schedule(session.untuned_schedule(k)));

    // Resumed: neither the untuned schedules nor the trials are measured or written again.
    s.reset(); // closes the log
    CHECK(contains(error_of(o), "holds 10 records"));
    o.resume = true;
    auto again = quick_session(o);
    REQUIRE(again);
    std::vector<std::string> notes;
    hooks.note = [&](const std::string& text) { notes.push_back(text); };
    const auto resumed = again->tune(hooks);
    REQUIRE(resumed);
    const auto& taken = resumed->searches[0];
    REQUIRE(taken.summary);
    CHECK(taken.summary->measured == 0);
    CHECK(taken.summary->recorded == 8);
    CHECK(taken.latencies == search.latencies);
    CHECK(taken.notes == notes);
    REQUIRE(notes.size() == 1);
    CHECK(contains(notes[0], "8 records are taken over"));
    CHECK(records(o.log).size() == 10);
}

TEST_CASE("session: what a log holds of others is passed over, and said by reason") {
    const scratch folder;
    auto o = two_kernels();
    o.log = folder / "log.jsonl";
    o.search.trials = 2;
    o.compiler.flags.clear();
    {
        auto s = quick_session(o);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    o.resume = true;
    o.work.kernels.erase(o.work.kernels.begin()); // three records of another kernel
    o.compiler.flags = {"-O2", "-fopenmp-simd"};  // three of another toolchain
    auto s = quick_session(o);
    REQUIRE(s);
    const auto report = s->tune();
    REQUIRE(report);
    const auto& search = report->searches[0];
    REQUIRE(search.summary);
    CHECK(search.summary->measured == 2);
    std::string notes;
    for (const auto& n : search.notes) notes += n + "\n";
    CHECK(contains(notes, "nothing to resume"));
    CHECK(contains(notes, "3 records are of other kernels"));
    CHECK(contains(notes, "3 records are of another compiler or other flags"));
    CHECK(contains(notes, "the first: flags: expected '-O2 -fopenmp-simd', got '-O2 -march="));
}

TEST_CASE("session: records of two ISA levels in one log are not mixed" MAY_SKIP) {
    const scratch folder;
    auto o = two_kernels();
    o.log = folder / "log.jsonl";
    o.search.trials = 2;
    o.compiler.flags.clear();
    o.compiler.isa = augur::isa_level::x86_64_v2;
    if (!augur::detect_machine(o.compiler.isa)) SKIP_CASE("no x86-64-v2 here");
    {
        auto s = quick_session(o);
        REQUIRE(s);
        CHECK(s->host().vector_bytes == 16);
        REQUIRE(s->tune());
    }
    o.resume = true;
    o.compiler.isa = augur::isa_level::native;
    auto s = quick_session(o);
    REQUIRE(s);
    const auto report = s->tune();
    REQUIRE(report);
    const auto& search = report->searches[0];
    REQUIRE(search.summary);
    CHECK(search.summary->measured == 4);
    CHECK(search.summary->recorded == 0);
    std::string notes;
    for (const auto& n : search.notes) notes += n + "\n";
    CHECK(contains(notes, "6 records are of other targets"));
    CHECK(contains(notes, "expected 'c -keys=cpu -mcpu=native' with 1 cores"));
    CHECK(contains(notes, "got 'c -keys=cpu -mcpu=x86-64-v2' with 1 cores and vectors of 16 bytes"));
    std::size_t of_v2 = 0;
    for (const auto& r : records(o.log)) of_v2 += contains(r.task.target, "x86-64-v2") && contains(r.flags, "-march=x86-64-v2") ? 1 : 0;
    CHECK(of_v2 == 6);
    CHECK(records(o.log).size() == 12);
}

namespace {

/// Writes the records of `from` for which `wanted` is true to `to`, as another machine would have written them.
template <class Wanted>
augur::machine_identity move_records(const std::string& from, const std::string& to, Wanted wanted) {
    auto writer = augur::log_writer::open(to);
    REQUIRE(writer);
    augur::machine_identity other;
    for (auto r : records(from)) {
        other = r.machine;
        other.model = "999";
        if (!wanted(r)) continue;
        r.machine = other;
        REQUIRE(writer->append(r));
    }
    return other;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const auto& l : lines) out += l + "\n";
    return out;
}

} // namespace

TEST_CASE("session: a record has the machine, and the level of the code as it was compiled") {
    const scratch folder;
    auto o = two_kernels();
    o.work.kernels.pop_back();
    o.compiler.flags.clear();
    o.collect = true;
    o.search.trials = 1;
    o.log = folder / "log.jsonl";
    for (const bool narrow : {false, true}) {
        if (narrow) o.compiler.flags = {"-O2", "-mno-avx"}; // without an option of ours
        o.resume = narrow;
        auto s = quick_session(o);
        REQUIRE(s);
        REQUIRE(s->tune());
        const auto& m = s->made_with().machine;
        CHECK(s->tasks()[0].target() == "c -keys=cpu -mcpu=native " + augur::to_text(m));
        const auto all = records(o.log);
        REQUIRE(all.size() == (narrow ? 2 : 1));
        CHECK(all.back().machine == m);
        CHECK(all.back().task.target == "c -keys=cpu -mcpu=native"); // TVM's line is as it was
        CHECK(m.threads == "1");
        CHECK(m.compiler != "unknown");
#ifdef __x86_64__
        const bool wide = augur::detect_machine().has("avx512f");
        if (narrow) CHECK((m.isa == "x86-64" || m.isa == "x86-64-v2"));
        else if (wide) CHECK(m.isa == "x86-64-v4");
#endif
    }
}

TEST_CASE("session: a kernel that another machine has finished stays, an unfinished one starts anew") {
    const scratch folder;
    auto o = two_kernels();
    o.search.trials = 3;
    o.log = folder / "whole.jsonl";
    double untuned = 0, best = HUGE_VAL;
    std::string first_key;
    {
        auto s = quick_session(o);
        REQUIRE(s);
        REQUIRE(s->tune());
        first_key = s->tasks()[0].key();
    }
    for (const auto& r : records(o.log))
        if (r.task.workload_key == first_key) {
            if (untuned == 0) untuned = r.measured.latency();
            else best = (std::min)(best, r.measured.latency());
        }
    // Another machine finished the first kernel and was interrupted in the second one, after two of three trials.
    std::size_t of_second = 0;
    const auto other =
        move_records(o.log, folder / "moved.jsonl", [&](const auto& r) { return r.task.workload_key == first_key || ++of_second <= 3; });
    o.log = folder / "moved.jsonl";
    o.resume = true;
    for (const bool again : {false, true}) {
        auto s = quick_session(o);
        REQUIRE(s);
        const auto report = s->tune();
        REQUIRE(report);
        const auto& k = report->kernels;
        REQUIRE(k[0].elsewhere);
        CHECK(*k[0].elsewhere == other);
        CHECK_FALSE(k[1].elsewhere);
        CHECK(k[0].naive == 0); // it would be of this machine
        CHECK(k[0].limit == 0);
        CHECK(k[0].untuned == untuned);
        CHECK(k[1].naive > 0);
        const auto& search = report->searches[0];
        REQUIRE(search.summary);
        CHECK(search.latencies[0].size() == 3);
        CHECK(search.best_latency[0] == best);
        CHECK(search.checked_latency[0] == 0);
        CHECK(search.result[0].latency == (std::min)(best, untuned));
        CHECK(search.latencies[1].size() == 3);
        CHECK(search.summary->measured == (again ? 0 : 3));
        CHECK(search.summary->recorded == (again ? 3 : 0));
        const auto notes = joined(search.notes);
        CHECK(contains(notes, "1 kernels were finished on another machine, " + augur::machine_label(other) + " (model: expected '" +
                                  report->made_with.machine.model + "', got '999'); their 3 records stay"));
        CHECK(contains(notes, "3 records are of another machine (model: expected '"));
        std::size_t here = 0, there = 0;
        for (const auto& r : records(o.log)) {
            if (r.machine == report->made_with.machine) {
                ++here;
                CHECK(r.task.workload_key != first_key);
            } else ++there;
        }
        CHECK(here == 4); // the untuned schedule and three trials
        CHECK(there == 7);
    }
    o.take_over = false; // then nothing of another machine counts
    auto s = quick_session(o);
    REQUIRE(s);
    const auto report = s->tune();
    REQUIRE(report);
    CHECK_FALSE(report->kernels[0].elsewhere);
    REQUIRE(report->searches[0].summary);
    CHECK(report->searches[0].summary->measured == 3);
    CHECK(report->kernels[0].naive > 0);
}

TEST_CASE("session: all kernels finished on another machine: nothing is left to measure") {
    const scratch folder;
    auto o = two_kernels();
    o.collect = true;
    o.search.trials = 2;
    o.log = folder / "whole.jsonl";
    {
        auto s = quick_session(o);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    (void)move_records(o.log, folder / "moved.jsonl", [](const auto&) { return true; });
    o.log = folder / "moved.jsonl";
    CHECK(contains(error_of(o), "holds 4 records: expected another file, or `resume`, to continue with them"));
    o.resume = true;
    {
        auto s = quick_session(o);
        REQUIRE(s);
        const auto report = s->tune();
        REQUIRE(report);
        REQUIRE(report->searches[0].summary);
        CHECK(report->searches[0].summary->measured == 0);
        CHECK(std::isfinite(report->network_latency(0)));
        CHECK(records(o.log).size() == 4);
    }
#ifdef AUGUR_HAS_XGBOOST
    auto nest = two_kernels(); // and such a log teaches this machine nothing
    nest.search.model = "nest";
    nest.known = o.log;
    const auto refused = error_of(nest);
    CHECK(contains(refused, "4 of another machine (model: expected '"));
    CHECK(contains(refused, "got '999')"));
    auto more = o;
    more.take_over = false;
    {
        auto own = quick_session(more); // two records of each kernel of this machine behind those of the other one
        REQUIRE(own);
        REQUIRE(own->tune());
    }
    auto taught = quick_session(nest);
    REQUIRE(taught);
    const auto found = taught->search("nest", nest.search, false);
    const auto notes = joined(found.notes);
    CHECK(contains(notes, "4 candidates of 2 kernels are known"));
    CHECK(contains(notes, "4 records are of another machine (model: expected '"));
#endif
}

TEST_CASE("session: collecting writes the candidates alone") {
    const scratch folder;
    auto o = two_kernels();
    o.log = folder / "log.jsonl";
    o.collect = true;
    o.search.trials = 3;
    auto s = quick_session(o);
    REQUIRE(s);
    const auto report = s->tune();
    REQUIRE(report);
    CHECK(report->kernels[0].untuned == 0);
    CHECK(report->searches[0].checked_latency[0] == 0);
    CHECK(records(o.log).size() == 6);
}

TEST_CASE("session: trials go where the weights say") {
    auto o = two_kernels();
    o.search.scheduler = augur::scheduling::gradient;
    o.search.trials = 6;
    o.search.round = 2;
    for (const std::size_t heavy : {0U, 1U}) {
        auto s = quick_session(o);
        REQUIRE(s);
        std::vector<double> weights(2, 1e-9);
        weights[heavy] = 1e9;
        REQUIRE(s->weigh(weights));
        for (const std::vector<double>& wrong : {std::vector<double>{1}, {1, 0}, {1, -1}, {1, std::nan("")}, {1, HUGE_VAL}}) {
            const auto refused = s->weigh(wrong);
            REQUIRE(!refused);
            CHECK(refused.error().code == augur::errc::invalid_argument);
        }
        for (const std::size_t first : {0U, 1U}) {
            o.search.first_round = first;
            const auto found = s->search("by weight", o.search, false);
            CHECK(found.latencies[heavy].size() == 10 + first); // one round of each kernel, then all
            CHECK(found.latencies[1 - heavy].size() == 2 - first);
        }
    }
}

TEST_CASE("session: the scheduler of the authors of TLM goes on with the kernel whose first latency, times its uses, is the largest") {
    auto o = two_kernels();
    o.search.scheduler = augur::scheduling::windowed;
    o.search.trials = 4;
    o.search.round = 2;
    for (const std::size_t heavy : {0U, 1U}) {
        auto s = quick_session(o);
        REQUIRE(s);
        std::vector<double> weights(2, 1e-9);
        weights[heavy] = 1e9;
        REQUIRE(s->weigh(weights));
        const auto found = s->search("windowed", o.search, false);
        CHECK(found.latencies[heavy].size() == 6); // a round of each kernel, then two of this one, whose window of three rounds is not full
        CHECK(found.latencies[1 - heavy].size() == 2);
    }
}

TEST_CASE("session: a stop request ends it with a report") {
    auto o = two_kernels();
    o.search.trials = 1000;
    auto s = quick_session(o);
    REQUIRE(s);
    int left = 12;
    augur::session_hooks hooks;
    hooks.stop = [&] { return --left < 0; };
    const auto report = s->tune(hooks);
    REQUIRE(report);
    REQUIRE(report->searches[0].summary);
    CHECK(report->searches[0].summary->interrupted);
    CHECK(report->searches[0].summary->trials < 100); // it is asked once a round and a kernel
}

TEST_CASE("session: every model of this build guides a search") {
    const scratch folder;
    auto o = two_kernels();
    o.search.trials = 4;
    o.search.population = 32;
    o.machine = augur::detect_machine().architecture == "x86_64" ? "epyc-zen4" : "cortex-a72";
    o.log = folder / "known.jsonl";
    o.collect = true;
    {
        auto s = quick_session(o);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    o.collect = false;
    o.log.clear();
    o.known = folder / "known.jsonl";
    auto s = quick_session(o);
    REQUIRE(s);
    for (const auto model : augur::session_models) {
        CAPTURE(model);
        auto settings = o.search;
        settings.model = model;
        const auto found = s->search(std::string(model), settings, false);
        const bool predicts = model == "crop" || model == "hybrid", grows_trees = model == "trees" || model == "hybrid" || model == "nest";
        const bool absent =
            (model == "tlp" && !augur::detail::has_tlp) || (predicts && !augur::detail::has_crop) || (grows_trees && !augur::detail::has_xgboost);
        REQUIRE(found.failed.has_value() == absent);
        if (absent) {
            CHECK(found.failed->code == augur::errc::unsupported);
            continue;
        }
        REQUIRE(found.summary);
        CHECK(found.summary->model_errors == 0);
        CHECK(found.summary->first_model_error == "");
        CHECK(found.summary->trials == 8);
        for (std::size_t k = 0; k < 2; ++k) CHECK(std::isfinite(found.best_latency[k]));
    }
}

TEST_CASE("session: every strategy of this build proposes, and descends in the end") {
    struct kind {
        const char *strategy, *model, *name;
        std::size_t descend_after;
    };
    auto o = two_kernels();
    o.search.trials = 8;
    o.search.population = 32;
    auto s = quick_session(o);
    REQUIRE(s);
    std::vector<kind> kinds{{"descent", "none", "descent", 0}, {"", "none", "random+descent", 5}};
#ifdef AUGUR_HAS_SEARCH_BAYES
    kinds.push_back({"bayes", "none", "bayes", 0});
#endif
#ifdef AUGUR_HAS_XGBOOST
    kinds.push_back({"annealing", "trees", "annealing+trees", 0});
    kinds.push_back({"evolutionary", "trees", "trees+descent", 5});
#endif
    for (const auto& k : kinds) {
        CAPTURE(k.name);
        auto settings = o.search;
        settings.strategy = k.strategy;
        settings.model = k.model;
        settings.descend_after = k.descend_after;
        CHECK(augur::detail::search_name(settings) == k.name);
        const auto found = s->search(k.name, settings, false);
        REQUIRE_FALSE(found.failed);
        REQUIRE(found.summary);
        CHECK(found.summary->trials == 16);
        CHECK(found.summary->model_errors == 0);
        for (std::size_t i = 0; i < 2; ++i) CHECK(std::isfinite(found.best_latency[i]));
    }
    o.search.trials = 4;
    o.search.strategy = "descent";
    o.search.descend_after = 2;
    o.compare_random = true; // stays at random
    {
        auto both = quick_session(o);
        REQUIRE(both);
        const auto report = both->tune();
        REQUIRE(report);
        REQUIRE(report->searches.size() == 2);
        CHECK(report->searches[0].name == "random");
        CHECK_FALSE(report->searches[0].failed);
        CHECK(report->searches[0].summary->trials == 8);
        CHECK(report->searches[1].name == "descent+descent");
    }
    o.search.descend_after = 0;
    o.search.strategy = "none";
    CHECK(contains(error_of(o), "strategy 'none': expected evolutionary, annealing, descent or bayes"));
    o.search.strategy = "annealing";
    CHECK(contains(error_of(o), "strategy 'annealing': expected a model that guides it"));
    o.search.strategy = "descent";
    o.search.only_transfers = true;
    CHECK(contains(error_of(o), "which propose everything"));
    o.search.strategy.clear();
    o.search.descend_after = 2;
    CHECK(contains(error_of(o), "expected no descent after them"));
}

TEST_CASE("session: the model auto takes what is known, and says what it took") {
    const scratch folder;
    auto known = two_kernels();
    known.search.trials = 8;
    known.log = folder / "others.jsonl";
    {
        auto s = quick_session(known);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    (void)move_records(known.log, folder / "elsewhere.jsonl", [](const auto&) { return true; });
    augur::session_options o;
    o.compiler.flags = quick_flags(); // as `known`
    o.work.add(*augur::kernel::parse("dense:m=16,n=24,k=16"));
    o.limits = false;
    o.threads = 1;
    o.search.trials = 4;
    o.search.population = 32;
    REQUIRE(o.search.model == "auto");
    {
        auto s = quick_session(o);
        REQUIRE(s);
        const auto report = s->tune();
        REQUIRE(report);
#ifdef AUGUR_HAS_XGBOOST
        CHECK(report->searches[0].name == "trees");
        CHECK(contains(joined(report->searches[0].notes), "model auto: evolution, ranked by trees that learn from what is measured"));
#endif
    }
    o.known = folder / "elsewhere.jsonl"; // another machine's records decide nothing, and are told
    {
        const auto s = quick_session(o);
        REQUIRE(s);
#ifdef AUGUR_HAS_XGBOOST
        CHECK(s->options().search.model == "trees");
#endif
    }
#ifdef AUGUR_HAS_XGBOOST
    for (const bool transferred : {false, true}) {
        o.known = transferred ? "" : folder / "others.jsonl";
        o.transfer_from = {folder / (transferred ? "others.jsonl" : "elsewhere.jsonl")};
        auto s = quick_session(o);
        REQUIRE(s);
        CHECK(s->options().search.model == "nest");
        const auto report = s->tune();
        REQUIRE(report);
        CHECK(report->searches[0].name == "nest");
        const auto notes = joined(report->searches[0].notes);
        CAPTURE(notes);
        CHECK(contains(notes, "model auto: evolution, ranked by trees that know 18 records of other kernels"));
        CHECK(contains(notes, "2 schedules of 2 kernels may be transferred"));
        CHECK(contains(notes, "18 records are of other machines") != transferred);
    }
    o.known = folder / "none.jsonl";
    CHECK(contains(error_of(o), "none.jsonl"));
#endif
}

TEST_CASE("session: schedules of other kernels come first, and the kernel's own are not taken") {
    const scratch folder;
    auto known = two_kernels();
    known.work.kernels.clear();
    known.work.add(*augur::kernel::parse("dense:m=16,n=32,k=16"));
    known.work.add(*augur::kernel::parse("dense:m=64,n=64,k=32"));
    known.collect = true;
    known.log = folder / "known.jsonl";
    {
        auto s = quick_session(known);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    auto o = two_kernels(); // of the two kernels only the second has a class there, without a bias
    o.transfer_from = {known.log};
    o.log = folder / "log.jsonl";
    auto s = quick_session(o);
    REQUIRE(s);
    const auto found = s->search("random", o.search, true);
    REQUIRE_FALSE(found.failed);
    CHECK(std::any_of(found.notes.begin(), found.notes.end(), [](const std::string& n) {
        return contains(n, "transfer: 1 of 2 kernels begin with 2 schedules of others") && contains(n, "2 other class");
    }));
    const auto space = [&](std::size_t kernel) -> const augur::loopnest::ansor_space& { return s->spaces()[kernel]; };
    augur::loopnest::ansor_options options;
    options.num_cores = s->host().hardware(1).num_cores;
    std::vector<augur::step_list> expected; // of the better trial of each known kernel
    for (const auto& k : known.work.kernels) {
        const augur::record* best = nullptr;
        const auto all = records(known.log);
        for (const auto& r : all)
            if (r.task.workload_key == k.workload.workload_key() && (best == nullptr || r.measured.latency() < best->measured.latency())) best = &r;
        REQUIRE(best != nullptr);
        const auto task = augur::loopnest::kernel_task::create(k.workload, s->host().hardware(1));
        REQUIRE(task);
        const auto source = augur::loopnest::ansor_space::create(task->dag(), options);
        REQUIRE(source);
        const auto words = augur::describe_point(*source, *source->decide(best->schedule));
        REQUIRE(words);
        expected.push_back(*space(1).realise(augur::adapt_point(space(1), *words).path.values));
    }
    std::vector<augur::step_list> measured;
    for (const auto& r : records(o.log))
        if (r.task.workload_key == o.work.kernels[1].workload.workload_key()) measured.push_back(r.schedule);
    REQUIRE(measured.size() >= 2);
    for (const auto& e : expected) CHECK(std::find(measured.begin(), measured.begin() + 2, e) != measured.begin() + 2);
    REQUIRE(found.transfers.size() == 2);
    CHECK(found.transfers[0].proposed.empty());
    CHECK(found.transfers[0].refused[static_cast<std::size_t>(augur::transfer::refusal::other_class)] == 2);
    CHECK(found.transfers[1].adapted == 2);
    REQUIRE(found.transfers[1].proposed.size() == 2);
    for (const auto& t : found.transfers[1].proposed) { // the log says where its record comes from
        CHECK(t.latency > 0);
        CHECK((t.status == augur::outcome::ok) == std::isfinite(t.latency));
        CHECK(contains(t.source, "dense:"));
        const auto all = records(o.log);
        const auto at = std::find_if(all.begin(), all.end(), [&](const augur::record& r) { return !r.origin.empty() && r.schedule == t.schedule; });
        REQUIRE(at != all.end());
        CHECK(at->origin == t.text());
        CHECK(at->measured.latency() == t.latency);
    }

    const auto again = s->recorded("before", o.log); // the trials of the log are those of the search
    REQUIRE(again);
    CHECK(again->latencies == found.latencies);
    CHECK(again->best_latency == found.best_latency);
    CHECK(s->recorded("none", folder / "none.jsonl").error().code == augur::errc::not_found);

    auto none = o.search;
    none.transfers = 0;
    none.evolve_transfers = false;
    const auto without = s->search("random", none, false);
    CHECK(without.transfers.empty());

    o.log.clear();
    o.transfer_best = 0;
    CHECK(contains(error_of(o), "expected to transfer at least the best schedule of a kernel"));
    o.transfer_best = 100; // all that there are
    auto all = quick_session(o);
    REQUIRE(all);
    const auto wide = all->search("random", o.search, false);
    REQUIRE(wide.transfers.size() == 2);
    CHECK(wide.transfers[1].adapted + wide.transfers[1].refused[static_cast<std::size_t>(augur::transfer::refusal::duplicate)] == 8);
    o.transfer_from = {folder / "none.jsonl"};
    CHECK(contains(error_of(o), "none.jsonl"));
}

TEST_CASE("session: at the level of the structure a kernel takes the schedules of another element-wise operation") {
    const scratch folder;
    auto known = two_kernels();
    known.work.kernels.clear();
    known.work.add(*augur::kernel::parse("dense:m=16,n=32,k=16,relu6"));
    known.collect = true;
    known.log = folder / "known.jsonl";
    {
        auto s = quick_session(known);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    auto o = two_kernels();
    o.work.kernels.clear();
    o.work.add(*augur::kernel::parse("dense:m=16,n=48,k=16,relu"));
    o.transfer_from = {known.log};
    for (const auto level : {augur::class_level::operations, augur::class_level::structure}) {
        CAPTURE(to_string(level));
        const bool coarse = level == augur::class_level::structure;
        o.transfer_level = level;
        auto s = quick_session(o);
        REQUIRE(s);
        const auto found = s->search("random", o.search, false);
        REQUIRE_FALSE(found.failed);
        REQUIRE(found.transfers.size() == 1);
        CHECK(found.transfers[0].adapted == (coarse ? 1 : 0));
        CHECK(found.transfers[0].proposed.size() == (coarse ? 1 : 0));
        CHECK(found.transfers[0].refused[static_cast<std::size_t>(augur::transfer::refusal::other_class)] == (coarse ? 0 : 1));
    }
}

TEST_CASE("session: schedules of another machine are transferred where that is asked for, the kernel's own among them") {
    const scratch folder;
    auto known = two_kernels();
    known.collect = true;
    known.log = folder / "known.jsonl";
    {
        auto s = quick_session(known);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    { // as if a machine with wider vectors and more threads had measured it
        auto to = augur::log_writer::open(folder / "server.jsonl");
        REQUIRE(to);
        for (auto r : records(known.log)) {
            r.machine.isa = "another";
            r.machine.threads = "8";
            r.task.hardware[0] = 8;
            r.task.hardware[1] = 128;
            REQUIRE(to->append(std::move(r)));
        }
    }
    auto o = two_kernels();
    o.transfer_from = {folder / "server.jsonl"};
    {
        auto s = quick_session(o);
        REQUIRE(s);
        const auto found = s->search("random", o.search, true);
        for (const auto& t : found.transfers) CHECK(t.proposed.empty());
        CHECK(contains(joined(found.notes), "0 schedules of others"));
    }
    o.transfer_other_machines = true;
    auto s = quick_session(o);
    REQUIRE(s);
    const auto found = s->search("random", o.search, true);
    REQUIRE(found.transfers.size() == 2);
    for (std::size_t k = 0; k < 2; ++k) {
        REQUIRE(found.transfers[k].proposed.size() == 1);
        const auto& t = found.transfers[k].proposed[0];
        CHECK(t.level == augur::class_level::workload);
        CHECK(t.source == o.work.kernels[k].workload.text() + " of another machine");
        CHECK(t.latency > 0);
    }
}

TEST_CASE("session: transferred schedules that do not compile, are wrong or never end are told by name, and the untuned one stands") {
    const scratch folder;
    write_breaking_compiler(folder);
    auto known = two_kernels();
    known.work.kernels.clear();
    known.work.add(*augur::kernel::parse("dense:m=32,n=16,k=16"));
    known.collect = true;
    known.compiler.command = folder / "cc";
    known.log = folder / "known.jsonl";
    {
        auto s = quick_session(known);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    auto o = known;
    o.collect = false;
    o.work.kernels.clear();
    o.work.add(*augur::kernel::parse("dense:m=16,n=16,k=16"));
    o.transfer_from = {known.log};
    const std::pair<const char*, augur::outcome> modes[] = {
        {"broken", augur::outcome::compile_error}, {"wrong", augur::outcome::wrong_result}, {"endless", augur::outcome::run_timeout}};
    for (const auto& one : modes) {
        const std::string mode = one.first;
        const auto expected = one.second;
        CAPTURE(mode);
        fs::remove(folder / "mode");
        o.log = folder / (mode + ".jsonl");
        auto s = quick_session(o);
        REQUIRE(s);
        REQUIRE(s->measure_baselines());
        std::ofstream(folder / "mode") << mode;
        auto search = o.search;
        search.only_transfers = true;
        const auto found = s->search("transfers", search, true);
        REQUIRE_FALSE(found.failed);
        REQUIRE(found.transfers.size() == 1);
        REQUIRE(!found.transfers[0].proposed.empty());
        CHECK(found.latencies[0].size() == found.transfers[0].proposed.size());
        for (const auto& t : found.transfers[0].proposed) {
            CHECK(t.status == expected);
            CHECK(std::isinf(t.latency));
        }
        CHECK(std::isinf(found.best_latency[0]));
        CHECK(found.result[0].latency == s->report().kernels[0].untuned);
        CHECK(records(o.log).size() == 1 + found.latencies[0].size()); // with the untuned one: nothing measured is lost
    }
}

TEST_CASE("session: a schedule that fails when it is timed again is no result; the random baseline has no schedules of others") {
    const scratch folder;
    write_breaking_compiler(folder);
    auto o = two_kernels();
    o.compiler.command = folder / "cc";
    o.work.kernels.clear();
    o.work.add(*augur::kernel::parse("dense:m=32,n=16,k=16"));
    o.collect = true;
    o.log = folder / "known.jsonl";
    {
        auto s = quick_session(o);
        REQUIRE(s);
        REQUIRE(s->tune());
    }
    o.collect = false;
    o.transfer_from = {o.log};
    o.log.clear();
    o.work.kernels.clear();
    o.work.add(*augur::kernel::parse("dense:m=16,n=16,k=16"));
    o.compare_random = true;
    auto s = quick_session(o);
    REQUIRE(s);
    augur::session_hooks hooks;
    hooks.progress = [&](const augur::session_progress& p) {
        if (p.stage == "checking the best") std::ofstream(folder / "mode") << "wrong";
    };
    const auto report = s->tune(hooks);
    REQUIRE(report);
    REQUIRE(report->searches.size() == 2);
    CHECK(report->searches[0].transfers.empty());
    CHECK(!report->searches[1].transfers.empty());
    for (const auto& search : report->searches) {
        CAPTURE(search.name);
        CHECK(std::isfinite(search.best_latency[0])); // in the search
        CHECK(search.finalists[0].empty());
        CHECK(search.result[0].latency == report->kernels[0].untuned);
        CHECK(std::any_of(search.notes.begin(), search.notes.end(),
                          [](const std::string& n) { return contains(n, "failed when it was timed again: wrong_result"); }));
    }
}

#if defined(AUGUR_HAS_CROP) && defined(AUGUR_HAS_XGBOOST)
TEST_CASE("session: Crop drafts, trees verify; a draft that nothing verifies is refused") {
    auto o = two_kernels();
    o.search.draft = "crop";
    CHECK(contains(error_of(o), "draft 'crop': expected a model that verifies it, 'none' came"));
    o.search.model = "trees";
    CHECK(contains(error_of(o), "model 'crop+trees': expected a machine"));
    o.machine = "epyc-zen4";
    o.search.trials = 8;
    o.search.round = 4;
    o.search.population = 16;
    auto s = quick_session(o);
    if (!s) { // Crop's machine is another architecture than this one
        CHECK(contains(s.error().detail, "architecture"));
        return;
    }
    const auto found = s->search("crop+trees", o.search, false);
    REQUIRE_FALSE(found.failed);
    CHECK(found.summary->trials == 16);
    CHECK(found.summary->model_errors == 0);
    o.search.draft = "tlp";
    CHECK(contains(error_of(o), "draft 'tlp': expected crop"));
}
#endif

#ifdef AUGUR_HAS_TLM
namespace {

/// Measures random candidates of `two_kernels`, so many of each; the path of their log.
std::string collect_known(const scratch& folder, std::size_t trials) {
    auto known = two_kernels();
    known.collect = true;
    known.search.trials = trials;
    known.log = folder / "known.jsonl";
    auto s = quick_session(known);
    REQUIRE(s);
    REQUIRE(s->tune());
    return known.log;
}

/// Writes a small language model that knows the words of the fastest schedules of some logs, and nothing else.
void save_language(const std::string& to, const std::vector<std::string>& logs) {
    const auto read = augur::read_demonstrations(logs, 5);
    REQUIRE(read);
    auto words = *augur::tlm::count_words(read->sentences).build();
    const augur::tlm::gpt2_config config{static_cast<augur::nn::index>(words.size()), 256, 2, 32, 2, 64};
    fs::create_directories(to);
    REQUIRE(augur::tlm::save({augur::tlm::gpt2<float>::random_init(config, augur::random_engine(1)), std::move(words), {}}, to));
}

} // namespace

TEST_CASE("session: demonstrations are the fastest schedules of each kernel and machine; what is left out is counted by reason") {
    const scratch folder;
    const auto task_of = [](const char* text) { return *augur::loopnest::kernel_task::create(*augur::kernel::parse(text), {}); };
    const auto tuned = task_of("dense:m=16,n=32,k=16,bias"), other = task_of("dense:m=24,n=40,k=56"), tested = task_of("dense:m=16,n=48,k=16");
    const auto space = *augur::loopnest::ansor_space::create(tuned.dag()), other_space = *augur::loopnest::ansor_space::create(other.dag());
    augur::random_engine rng(1);
    std::vector<augur::decision_vector> points;
    while (points.size() < 4) {
        auto point = augur::sample_path(space, rng).values;
        if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(std::move(point));
    }
    augur::machine_identity here, there;
    here.model = "1";
    there.model = "2";
    auto foreign = tuned.logged();
    foreign.workload_key = R"(["4fbdf8a5d7b1", 16, 32])"; // as TVM has it
    const std::vector<std::string> logs{folder / "log.jsonl"};
    {
        auto to = augur::log_writer::open(logs[0]);
        REQUIRE(to);
        const auto add = [&](const augur::logged_task& task, augur::step_list schedule, double seconds, const augur::machine_identity& machine) {
            augur::record r;
            r.task = task;
            r.schedule = std::move(schedule);
            r.measured.status = seconds > 0 ? augur::outcome::ok : augur::outcome::run_crash;
            if (seconds > 0) r.measured.seconds = {seconds};
            r.machine = machine;
            REQUIRE(to->append(std::move(r)));
        };
        const auto schedule = [&](std::size_t point) { return *space.realise(points[point]); };
        add(tuned.logged(), schedule(0), 3e-3, here);
        add(tuned.logged(), schedule(1), 1e-3, here);
        add(tuned.logged(), schedule(2), 2e-3, here);
        add(tuned.logged(), schedule(1), 5e-4, here); // again
        add(tuned.logged(), schedule(3), 0, here);    // failed
        add(tuned.logged(), schedule(0), 5e-3, there);
        add(tuned.logged(), *other_space.realise(augur::sample_path(other_space, rng).values), 1e-6, here); // no point of the space
        add(foreign, schedule(0), 1e-6, here);
        add(foreign, schedule(1), 1e-6, there);
        add(tested.logged(), schedule(0), 1e-6, here);
        add(tuned.logged(), schedule(3), 1e-6, here); // the one that is damaged now
    }
    std::stringstream written;
    written << std::ifstream(logs[0]).rdbuf();
    auto lines = written.str();
    const std::string checksum = "\"crc\": \"";
    auto& digit = lines[lines.rfind(checksum) + checksum.size()];
    digit = digit == '0' ? '1' : '0';
    std::ofstream(logs[0]) << lines << "no record\n";

    const std::vector<augur::kernel> left_out{tested.workload()};
    const auto read = augur::read_demonstrations(logs, 2, left_out);
    REQUIRE(read);
    CHECK(read->records == 10);
    CHECK(read->foreign == 2);
    CHECK(read->left_out == 1);
    CHECK(read->outside == 1);
    CHECK(read->damaged == 2);
    CHECK(read->text() ==
          "3 sentences of 2 kernels; of 10 records 2 of other compilers, 1 left out, 1 no points of the spaces here, 2 damaged lines");
    std::map<std::string, std::vector<std::pair<double, std::string>>> expected, got; // latency and sentence, by prompt
    const auto sentence = [&](std::size_t point) { return *augur::tlm::sentence_text("", space, points[point]); };
    expected[augur::tlm::prompt_text(tuned, here)] = {{5e-4, sentence(1)}, {2e-3, sentence(2)}};
    expected[augur::tlm::prompt_text(tuned, there)] = {{5e-3, sentence(0)}};
    for (std::size_t t = 0; t < read->sentences.tasks(); ++t) {
        const auto of_prompt = read->sentences.task(t);
        for (auto r = of_prompt.first; r < of_prompt.last; ++r) {
            std::string words;
            augur::tlm::append_words(words, read->sentences.visit(r));
            got[std::string(of_prompt.key)].emplace_back(read->sentences.seconds(r), words);
        }
    }
    CHECK(got == expected);

    const std::vector<augur::kernel> all{tuned.workload(), tested.workload()};
    const auto none = augur::read_demonstrations(logs, 2, all);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == augur::errc::not_found);
    CHECK(contains(none.error().detail, "0 sentences of 0 kernels; of 10 records 2 of other compilers, 8 left out, 0 no points of the spaces here, "
                                        "2 damaged lines"));
}

TEST_CASE("session: a language model writes the candidates, alone or as drafts, learns, and a stopped search goes on") {
    const scratch folder;
    const std::vector<std::string> logs{collect_known(folder, 12)}; // their sentences are the demonstrations
    const auto read = augur::read_demonstrations(logs, 5);
    REQUIRE(read);
    CHECK(read->records == 24);
    CHECK(read->sentences.tasks() == 2);
    CHECK(read->sentences.size() == 10);
    const std::vector<augur::kernel> without{*augur::kernel::parse("dense:m=16,n=48,k=16")};
    const auto some = augur::read_demonstrations(logs, 5, without);
    REQUIRE(some);
    CHECK(some->left_out == 12);
    CHECK(some->sentences.tasks() == 1);
    save_language(folder / "model", logs);

    auto o = two_kernels();
    o.work.kernels.clear();
    for (const char* k : {"dense:m=16,n=32,k=32,bias", "dense:m=32,n=48,k=16"}) o.work.add(*augur::kernel::parse(k));
    o.search.language = folder / "model";
    o.search.trials = 8;
    o.search.round = 4;
    o.demonstrations = logs;
    const auto tune = [&](const std::string& log, std::size_t stop_after) {
        o.log = folder / log;
        o.resume = true;
        auto s = quick_session(o);
        REQUIRE(s);
        std::size_t done = 0;
        augur::session_hooks hooks;
        hooks.progress = [&](const augur::session_progress& p) { done = p.searching ? p.done : done; };
        hooks.stop = [&] { return done >= stop_after; };
        auto found = s->search("tlm", o.search, true, hooks);
        REQUIRE_FALSE(found.failed);
        return found;
    };
    const auto whole = tune("whole.jsonl", 1000);
    CHECK(whole.summary->trials == 16);
    const auto noted = [&](const std::string& text) {
        return std::any_of(whole.notes.begin(), whole.notes.end(), [&](const auto& n) { return contains(n, text); });
    };
    CHECK(noted("demonstrations: "));
    CHECK(noted("fine-tuned 2 times, 16 points were measured")); // on the demonstrations, and after 8 points
    std::vector<std::string> schedules;
    for (const auto& r : records(o.log)) schedules.push_back(r.task.workload_key + to_json(r.schedule));
    CHECK(schedules.size() == 16);
    static_cast<void>(tune("stopped.jsonl", 5));
    const auto begun = records(o.log).size();
    CHECK(begun < 16);
    const auto resumed = tune("stopped.jsonl", 1000);
    CHECK(resumed.summary->recorded == begun);
    CHECK(records(o.log).size() == 16);
    { // the first ten records, behind the header: what is learned of eight of them decides the others, which nothing is learned of
        std::ifstream from(folder / "whole.jsonl");
        std::ofstream to(folder / "ten.jsonl");
        std::string line;
        for (int i = 0; i < 1 + 2 * 10 && std::getline(from, line); ++i) to << line << '\n';
    }
    CHECK(tune("ten.jsonl", 1000).summary->recorded == 10);
    const auto all = records(o.log);
    REQUIRE(all.size() == 16);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].task.workload_key + to_json(all[i].schedule) == schedules[i]);

    std::vector<std::string> models; // that choose among what the language model drafts
#ifdef AUGUR_HAS_TLP
    models.emplace_back("tlp");
#endif
#ifdef AUGUR_HAS_CROP
    models.emplace_back("crop");
    o.machine = augur::detect_machine().architecture == "x86_64" ? "epyc-zen4" : "cortex-a72";
#endif
#ifdef AUGUR_HAS_XGBOOST
    models.emplace_back("trees");
#endif
    o.resume = false;
    o.demonstrations.clear();
    for (const auto& model : models) {
        CAPTURE(model);
        o.log = folder / (model + ".jsonl");
        auto s = quick_session(o);
        REQUIRE(s);
        auto drafting = o.search;
        drafting.model = model;
        drafting.language_learns = false;
        drafting.trials = 6; // the models that learn do so after eight of the twelve
        const auto drafted = s->search("tlm+" + model, drafting, true);
        REQUIRE_FALSE(drafted.failed);
        CHECK(drafted.summary->trials == 12);
        CHECK(drafted.summary->model_errors == 0);
        std::set<std::string> different;
        for (const auto& r : records(o.log)) {
            different.insert(r.task.workload_key + to_json(r.schedule));
            CHECK(r.measured.status != augur::outcome::illegal_schedule);
            CHECK(s->spaces()[r.task.workload_key == s->tasks()[0].key() ? 0U : 1U].decide(r.schedule));
        }
        CHECK(different.size() == 12);
        for (std::size_t k = 0; k < 2; ++k) CHECK(std::isfinite(drafted.best_latency[k]));
    }
    o = two_kernels();
    o.demonstrations_best = 0;
    CHECK(contains(error_of(o), "at least one demonstration"));
    o = two_kernels();
    o.search.language = folder / "model";
    o.search.only_transfers = true;
    CHECK(contains(error_of(o), "only transfers"));
    o.search.only_transfers = false;
    o.demonstrations = logs; // of its own kernels, which it does not take
    CHECK(contains(error_of(o), "no schedule of the search spaces"));
    o = two_kernels();
    o.demonstrations = logs;
    CHECK(contains(error_of(o), "demonstrations are for a language model"));
    o.search.language = folder / "no model";
    CHECK(contains(error_of(o), "no model"));
    o.search.language = folder / "model";
    o.search.draft = "crop";
    o.search.model = "trees";
    CHECK(contains(error_of(o), "draft"));
    o.search.draft.clear();
    o.demonstrations = {folder / "missing.jsonl"};
    CHECK(contains(error_of(o), "missing.jsonl"));
}

#ifdef AUGUR_HAS_XGBOOST
TEST_CASE("session: with a language model the records of another machine are demonstrations, and the model auto takes them for nothing else") {
    const scratch folder;
    const auto here = collect_known(folder, 8), elsewhere = folder / "elsewhere.jsonl";
    (void)move_records(here, elsewhere, [](const auto&) { return true; });
    save_language(folder / "model", {here, elsewhere});
    auto o = two_kernels();
    o.work.kernels.clear();
    o.work.add(*augur::kernel::parse("dense:m=16,n=24,k=16"));
    o.search.model = "auto";
    o.search.language = folder / "model";
    o.search.language_trials = 2;         // two drafts behind the untuned schedule, then evolution
    o.search.trials = o.search.round = 4; // one round, for which nothing has been measured
    o.search.population = 32;
    o.demonstrations_best = 3;
    o.transfer_from = {here};
    {
        const auto s = quick_session(o);
        REQUIRE(s);
        CHECK(s->options().search.model == "nest"); // the trees know the records of this machine
    }
    o.transfer_from = {elsewhere};
    o.log = folder / "auto.jsonl";
    auto told = o; // that these are demonstrations, and nothing of other records
    {
        auto s = quick_session(o);
        REQUIRE(s);
        told.search = s->options().search;
        CHECK(told.search.model == "trees");
        const auto found = s->search("tlm+trees", told.search, true);
        REQUIRE_FALSE(found.failed);
        const auto notes = joined(found.notes);
        CAPTURE(notes);
        CHECK(contains(notes, "demonstrations: 6 sentences of 2 kernels; of 16 records 0 of other compilers, 0 left out"));
        CHECK(contains(notes, "16 of another machine (model: expected '"));
        CHECK(contains(notes, elsewhere + ": 0 schedules of 0 kernels may be transferred"));
        CHECK(contains(notes, elsewhere + ": 16 records are of other machines, compilers or flags and are passed over"));
        CHECK(contains(notes, "language model: fine-tuned 1 times, 4 points were measured"));
        REQUIRE(found.transfers.size() == 1);
        CHECK(found.transfers[0].adapted == 0);
        CHECK(found.transfers[0].proposed.empty());
    }
    told.transfer_from.clear();
    told.demonstrations = {elsewhere};
    told.log = folder / "told.jsonl";
    auto s = quick_session(told);
    REQUIRE(s);
    const auto found = s->search("tlm+trees", told.search, true);
    REQUIRE_FALSE(found.failed);
    CHECK(contains(joined(found.notes), "demonstrations: 6 sentences of 2 kernels; of 16 records"));
    const auto measured = records(o.log), expected = records(told.log);
    REQUIRE(measured.size() == 4);
    REQUIRE(expected.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(measured[i].schedule == expected[i].schedule);
}
#endif

TEST_CASE("session: logs without a demonstration are a note where the model auto has looked for one, and an error where they were given as such") {
    const scratch folder;
    const auto own = collect_known(folder, 8);
    save_language(folder / "model", {own});
    auto o = two_kernels();
    o.search.model = "auto";
    o.search.language = folder / "model";
    o.search.trials = o.search.round = 2;
    o.search.population = 32;
    o.transfer_from = {own};
    const std::string nothing = "the logs have no schedule of the search spaces here: 0 sentences of 0 kernels; of 16 records 0 of other compilers, "
                                "16 left out, 0 no points of the spaces here, 0 damaged lines";
    {
        auto s = quick_session(o);
        REQUIRE(s);
        const auto found = s->search("auto", s->options().search, false);
        REQUIRE_FALSE(found.failed);
        CHECK(found.summary->trials == 4);
        const auto notes = joined(found.notes);
        CAPTURE(notes);
        CHECK(contains(notes, "demonstrations: " + nothing));
        CHECK(contains(notes, "language model: fine-tuned 0 times, 4 points were measured"));
    }
    o.demonstrations = {own};
    CHECK(error_of(o) == nothing);
}
#endif
