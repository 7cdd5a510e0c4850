// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "whole.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/loopnest/codegen/network_files.hpp>
#include <augur/loopnest/run/in_model_pass.hpp>
#include <augur/loopnest/run/network_runner.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/session/network_weights.hpp>

namespace examples {

namespace {

constexpr int rounds = 5;

/// The schedules of the last search, and for each kernel the others that are worth a try. A kernel whose every candidate failed takes the untuned one.
struct chosen {
    std::vector<augur::step_list> schedules;
    std::vector<std::vector<augur::step_list>> others;
    std::vector<double> alone;                     ///< seconds of a call; infinity: not measured on this machine
    std::vector<std::vector<double>> others_alone; ///< as the search recorded them
};
chosen choose(const augur::session& s, const augur::session_report& report) {
    chosen out;
    const auto& search = report.searches.back();
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const auto& best = search.result[k];
        const bool found = std::isfinite(best.latency);
        out.schedules.push_back(found ? best.schedule : s.untuned_schedule(k));
        out.alone.push_back(report.kernels[k].elsewhere ? std::numeric_limits<double>::infinity() : best.latency);
        if (!found) std::printf("no schedule of %s could be measured alone: the network has its untuned one\n", report.kernels[k].label.c_str());
        auto& others = out.others.emplace_back();
        auto& others_alone = out.others_alone.emplace_back();
        for (const auto& f : search.finalists[k]) {
            if (augur::hash_schedule(f.schedule) == augur::hash_schedule(out.schedules[k])) continue;
            others.push_back(f.schedule);
            others_alone.push_back(f.latency);
        }
    }
    return out;
}

/// A row a kernel, then the copies, the sum, and the network.
std::vector<std::vector<std::string>> whole_table(const augur::session_report& report, const std::vector<double>& alone,
                                                  const std::vector<double>& inside, double copies, double whole) {
    std::vector<std::vector<std::string>> rows{{"kernel", "uses", "alone ms", "inside ms", "inside/alone", "limit ms", "bound", "of network"}};
    double all_alone = 0, all_inside = copies, limit = 0;
    const auto ratio = [](double a, double b) { return b > 0 && std::isfinite(b) ? text_of("%.2f", a / b) : std::string("-"); };
    const auto share = [&](double seconds) { return text_of("%.1f%%", 100 * seconds / whole); };
    for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const auto& r = report.kernels[k];
        const double once = inside[k] / r.uses;
        rows.push_back({r.label, text_of("%.0f", r.uses), milliseconds(alone[k]), milliseconds(once), ratio(once, alone[k]),
                        r.limit > 0 ? milliseconds(r.limit) : "-", r.limit > 0 ? std::string(r.bound_name()) : "-", share(inside[k])});
        all_alone += alone[k] * r.uses;
        all_inside += inside[k];
        limit += r.limit * r.uses;
    }
    if (copies > 0) rows.push_back({"copies", "", "", milliseconds(copies), "", "", "", share(copies)});
    rows.push_back({"sum over uses", "", milliseconds(all_alone), milliseconds(all_inside), ratio(all_inside, all_alone),
                    limit > 0 ? milliseconds(limit) : "-", "", share(all_inside)});
    rows.push_back({"network", "", "", milliseconds(whole), ratio(whole, all_alone), "", "", "100.0%"});
    return rows;
}

augur::result<void> write_files(augur::session& s, augur::loopnest::network_runner& net, const std::vector<augur::step_list>& schedules,
                                const std::string& folder) {
    const auto program = net.program_of(schedules);
    if (!program) return program.error();
    const auto constants = net.constants(*program);
    if (!constants) return constants.error();
    const auto& cc = s.runner().programs().used_compiler();
    std::string build;
    for (const auto& word : cc.command) build += word + " ";
    for (const auto& flag : cc.flags) build += flag + " ";
    build += "-o net main.c net.c -lm -lpthread";
    const auto files = augur::loopnest::write_network_files(net.graph(), *program, build);
    const auto weights = augur::loopnest::packed_weights(*program, *constants);
    const std::array<const std::string*, network_file_names.size()> texts{&files.header, &files.source, &files.main, &weights};
    for (std::size_t i = 0; i < texts.size(); ++i)
        if (auto written = augur::replace_file(folder + "/" + network_file_names[i], *texts[i]); !written) return written;
    std::printf("written %s: net.h, net.c (%.0f KB), main.c, net.weights (%.1f MB); build it there: %s\n", folder.c_str(),
                static_cast<double>(files.source.size()) / 1e3, static_cast<double>(weights.size()) / 1e6, build.c_str());
    return {};
}

} // namespace

augur::result<void> prepare_whole(whole_job& job) {
    if (!job.folder.empty()) {
        std::error_code wrong;
        std::filesystem::create_directories(job.folder, wrong);
        if (wrong) return augur::error{augur::errc::io, job.folder + ": " + wrong.message()};
        for (const char* name : network_file_names)
            if (auto trial = augur::file_replacement::open(job.folder + "/" + name); !trial) return trial.error(); // leaves nothing behind
    }
    if (job.parameters.empty()) return {};
    auto found = augur::find_network_weights(job.parameters, *job.graph);
    if (!found) return found.error();
    job.weights = *std::move(found);
    return {};
}

augur::result<augur::loopnest::network_runner> open_network(augur::session& s, const whole_job& job, progress_line& line) {
    line.show(0, 1, "the naive network", true);
    auto net = augur::loopnest::network_runner::create(s.runner(), *job.graph, s.tasks(), job.weights);
    line.clear();
    return net;
}

augur::result<std::vector<double>> weights_inside(const augur::session& s, augur::loopnest::network_runner& net, progress_line& line) {
    const auto& report = s.report();
    std::vector<augur::step_list> schedules;
    for (std::size_t k = 0; k < s.tasks().size(); ++k) schedules.push_back(s.untuned_schedule(k));
    line.show(0, 1, "the untuned network", true);
    const auto inside = net.times_inside(schedules);
    line.clear();
    if (!inside) return inside.error();
    auto out = net.seconds_of_kernels(*inside);
    for (std::size_t k = 0; k < out.size(); ++k) {
        const auto& kernel = report.kernels[k];
        out[k] = out[k] > 0 && kernel.untuned > 0 && std::isfinite(kernel.untuned) ? out[k] / kernel.untuned : kernel.uses;
    }
    return out;
}

augur::result<void> measure_whole(augur::session& s, augur::loopnest::network_runner& net, const augur::session_report& report, const whole_job& job,
                                  progress_line& line) {
    auto [schedules, others, alone, others_alone] = choose(s, report);
    line.show(0, 1, "the network", true);
    const auto first = net.measure(schedules);
    line.clear();
    if (!first) return first.error();
    if (!first->ok()) return augur::error{augur::errc::io, "the network: " + std::string(to_string(first->status)) + ": " + first->reason};
    const auto trials = augur::loopnest::in_model_pass(net, alone, others, schedules, rounds, &stop_requested());
    if (!trials) return trials.error();
    for (const auto& t : *trials)
        std::printf("inside  %s: its %s schedule, network %s to %s ms, %s\n", report.kernels[t.kernel].label.c_str(),
                    t.alternative == 0 ? "next" : "second next", milliseconds(t.before).c_str(), milliseconds(t.after).c_str(),
                    t.kept ? "kept" : "not kept");
    for (const auto& t : *trials)
        if (t.kept) alone[t.kernel] = others_alone[t.kernel][t.alternative];

    const auto program = net.program_of(schedules);
    if (!program) return program.error();
    const auto inside = net.times_inside(schedules);
    if (!inside) return inside.error();
    const auto kernels = net.seconds_of_kernels(*inside);
    double copies = 0;
    for (const double t : *inside) copies += t;
    for (const double t : kernels) copies -= t;
    const auto whole = net.compare(std::span(&schedules, 1), rounds).front();
    if (stop_requested()) return augur::error{augur::errc::interrupted, "stopped while the network was measured"};
    if (!std::isfinite(whole.median)) return augur::error{augur::errc::io, "the network failed in most of its processes"};
    std::printf("\n%s", table_text(whole_table(report, alone, kernels, copies, whole.median)).c_str());
    std::printf("network %s ms, %s to %s over %d processes; naive nests on one thread %s ms\n", milliseconds(whole.median).c_str(),
                milliseconds(whole.least).c_str(), milliseconds(whole.most).c_str(), rounds, milliseconds(net.naive_seconds()).c_str());
    std::printf("memory  arena %.2f MB, %.2f MB live at once, %.2f MB without sharing\n", static_cast<double>(program->arena_bytes) / 1e6,
                static_cast<double>(program->live_bytes) / 1e6, static_cast<double>(program->tensor_bytes) / 1e6);
    if (!job.parameters.empty()) {
        const auto outputs = augur::loopnest::program_runner::read_reference(net.right());
        if (!outputs) return outputs.error();
        for (std::size_t o = 0; o < outputs->size(); ++o) {
            const auto& values = (*outputs)[o];
            const auto most = std::max_element(values.begin(), values.end());
            std::printf("output  %s: the largest is number %td, %.5g\n", net.graph().describe(net.graph().outputs()[o]).c_str(),
                        most - values.begin(), static_cast<double>(*most));
        }
    }
    if (!job.folder.empty()) return write_files(s, net, schedules, job.folder);
    return {};
}

} // namespace examples
