// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules of the embedded compiler's kernels: drawn, measured, and given features without a compiler and, where asked, with one.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <augur/llvm/compiler.hpp>
#include <augur/loopnest/crop/crop_nest.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/tune/trial_log.hpp>

#include "crop_tables.hpp"
#include "session.hpp"

namespace examples {

namespace {

namespace fs = std::filesystem;
using augur::error;
using augur::result;

/// The IR of a candidate and the features of that, from files that an earlier call has left, else made and left there.
result<void> compile(const augur::ir_compiler& clang, const augur::loopnest::generated_program& p, const std::string& folder,
                     measured_program& into) {
    const auto stem = folder + "/" + text_of("%016llx", static_cast<unsigned long long>(clang.key(p))), torn = stem + ".part";
    into.ir = stem + ".ll";
    if (std::error_code wrong; !fs::exists(into.ir, wrong)) {
        if (auto written = clang.write(p, torn); !written) return written.error();
        fs::rename(torn, into.ir, wrong);
        if (wrong) return error{augur::errc::io, into.ir + ": " + wrong.message()};
    }
    auto features = kept_features(stem + ".features.json", into.ir, augur::ir_compiler::run_of(p));
    if (!features) return features.error();
    into.compiled = std::move(*features);
    return {};
}

/// How long the schedule of a trial took in each round in which it did not fail.
std::vector<double> times_of(const augur::logged_trial<augur::step_list>& trial, std::span<const augur::trials_in_log<>> rounds) {
    std::vector<double> times;
    for (const auto& round : rounds) {
        const auto same = std::find_if(round.trials.begin(), round.trials.end(),
                                       [&](const auto& other) { return other.task == trial.task && other.schedule == trial.schedule; });
        if (same != round.trials.end() && same->outcome.ok()) times.push_back(same->outcome.latency());
    }
    return times;
}

} // namespace

result<std::vector<measured_task>> measure_loopnest(const loopnest_options& o, progress_line& progress) {
    std::error_code wrong;
    fs::create_directories(o.cache + "/clang", wrong);
    if (wrong) return error{augur::errc::io, o.cache + ": " + wrong.message()};
    std::optional<augur::ir_compiler> clang;
    if (!o.clang.empty()) {
        auto found = augur::ir_compiler::find({o.clang, {}});
        if (!found) return found.error();
        clang.emplace(std::move(*found));
    }
    augur::session_options wanted;
    wanted.work = draw_kernels(o.kernels, o.seed);
    wanted.search.trials = o.schedules;
    wanted.search.model = "none";
    wanted.search.scheduler = augur::scheduling::round_robin;
    wanted.resume = true;
    wanted.search.seed = o.seed;
    wanted.threads = o.threads;
    wanted.compiler.command = o.compiler;
    const auto log_of = [&](std::size_t round) { // other seeds are other schedules
        return o.cache + "/loopnest-" + std::to_string(o.seed) + (round == 0 ? "" : "-" + std::to_string(round + 1)) + ".jsonl";
    };
    wanted.log = log_of(0);
    wanted.take_over = false; // predictions are for this machine
    auto session = augur::session::create(std::move(wanted));
    if (!session) return session.error();
    const auto hooks = hooks_on(progress);
    std::vector<augur::trials_in_log<>> rounds;
    for (std::size_t round = 0; round < o.rounds; ++round) {
        const auto log = log_of(round);
        if (round > 0)
            if (auto opened = session->open_log(log, true); !opened) return opened.error();
        const auto name = o.rounds == 1 ? std::string("measure") : "measure, round " + std::to_string(round + 1);
        if (const auto measured = session->search(name, session->options().search, true, hooks); measured.failed) return *measured.failed;
        if (stop_requested().load()) return error{augur::errc::interrupted, "stopped; what was measured is in " + session->options().log};
        auto trials = augur::read_trials(log, session->tasks(), session->made_with());
        if (!trials) return trials.error();
        rounds.push_back(std::move(*trials));
    }
    std::vector<measured_task> out;
    const auto c_code = augur::loopnest::c_options::of(session->host());
    for (const auto& t : session->tasks()) {
        measured_task task;
        task.name = augur::kernel_label(t.workload());
        std::size_t number = 0;
        for (const auto& trial : rounds.front().trials) {
            if (trial.task != augur::task_identity(t) || number == o.schedules) continue;
            if (stop_requested().load()) return error{augur::errc::interrupted, "stopped; what was measured is in " + session->options().log};
            progress.show(out.size() * o.schedules + number, session->tasks().size() * o.schedules, "features: " + task.name, number == 0);
            measured_program p;
            p.name = "schedule " + std::to_string(number++);
            p.rounds = times_of(trial, rounds);
            p.steps = trial.schedule;
            const auto leave_out = [&](const std::string& why) { task.left_out.push_back(task.name + ", " + p.name + ": " + why); };
            if (p.rounds.empty()) {
                leave_out(std::string(to_string(trial.outcome.status)) + ": " + trial.outcome.reason);
                continue;
            }
            p.seconds = upper_median(p.rounds);
            augur::loopnest::loop_state state(t.dag());
            if (auto applied = state.apply(trial.schedule); !applied) return applied.error();
            const auto lowered = augur::loopnest::lower(state);
            if (!lowered) return lowered.error();
            auto features = augur::loopnest::crop_features(*lowered, c_code);
            if (!features) {
                leave_out(features.error().detail);
                continue;
            }
            p.features = std::move(*features);
            if (clang) {
                if (auto compiled = compile(*clang, augur::loopnest::write_c(*lowered, c_code), o.cache + "/clang", p); !compiled) {
                    leave_out("through clang: " + compiled.error().detail);
                    continue;
                }
            }
            task.programs.push_back(std::move(p));
        }
        if (!task.programs.empty()) out.push_back(std::move(task));
        else
            for (const auto& text : task.left_out) std::fprintf(stderr, "left out: %s\n", text.c_str());
    }
    progress.clear();
    if (out.empty()) return error{augur::errc::not_found, session->options().log + ": no schedule was measured"};
    return out;
}

} // namespace examples
