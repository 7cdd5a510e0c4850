// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/record/replace_file.hpp>

#include "report.hpp"

namespace examples {
namespace {

/// No file that is written may be another one of the run; the weights alone may be learned on in their place.
augur::result<void> keep_apart(const job& j) {
    struct named {
        const char* flag;
        const std::string* path;
        bool written;
    };
    const named files[] = {{"--log", &j.what.log, true},      {"--report", &j.report, true},         {"--save-model", &j.save_model, true},
                           {"--known", &j.what.known, false}, {"--machine", &j.what.machine, false}, {"--model", &j.what.weights, false}};
    const auto real = [](const std::string& path) {
        std::error_code unknown;
        auto found = std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
        return unknown ? std::filesystem::path(path) : found;
    };
    for (const auto& a : files)
        for (const auto& b : files) {
            if (&a >= &b || !(a.written || b.written) || a.path->empty() || b.path->empty()) continue;
            if (a.path == &j.save_model && b.path == &j.what.weights) continue;
            std::error_code none;
            if (real(*a.path) == real(*b.path) || std::filesystem::equivalent(*a.path, *b.path, none))
                return augur::error{augur::errc::invalid_argument, std::string(a.flag) + " and " + b.flag + " are the same file, " + *a.path};
        }
    return {};
}

} // namespace

int run_job(const char* program, job j) {
    catch_signals();
    if (auto apart = keep_apart(j); !apart) return complain(program, apart.error(), misuse);
    session s(std::move(j.what));
    if (auto ready = s.prepare(); !ready) return complain(program, ready.error(), misuse);
    for (const auto* path : {&j.report, &j.save_model}) { // now, not after the work
        if (path->empty()) continue;
        if (auto writable = can_write(*path); !writable) return complain(program, writable.error(), misuse);
    }

    progress_line progress;
    if (!j.collect)
        if (auto measured = s.measure_baselines(progress); !measured) return complain(program, measured.error(), failed);
    for (const auto& [name, text] : facts_of(s)) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    std::fflush(stdout);

    std::vector<searched> searches;
    if (j.compare_random && !stop_requested().load()) searches.push_back(s.search("random", false, false, progress));
    searches.push_back(s.search(s.with.guided ? std::string(to_string(s.with.by)) : "random", s.with.guided, true, progress));
    const bool error = searches.back().failed.has_value();
    if (!error && !j.collect) s.measure_best(searches, progress);

    std::printf("\n");
    if (!j.collect) std::printf("%s\n", table_text(result_table(s, searches)).c_str());
    for (const auto& one : searches)
        for (const auto& line : account_of(one)) std::printf("%s\n", line.c_str());
    int code = stop_requested().load() ? interrupted : done;
    if (!s.with.log.empty()) std::printf("log     %s\n", s.with.log.c_str());
    if (!j.report.empty()) {
        if (auto written = augur::replace_file(j.report, report_html(s, searches)); !written) code = complain(program, written.error(), failed);
        else std::printf("report  %s\n", j.report.c_str());
    }
    if (!j.save_model.empty()) {
        if (auto written = s.save_model(j.save_model); !written && code == interrupted) std::printf("no model: nothing was learned yet\n");
        else if (!written) code = complain(program, written.error(), failed);
        else std::printf("model   %s\n", j.save_model.c_str());
    }
    std::fflush(stdout);
    if (error) return complain(program, *searches.back().failed, failed);
    for (std::size_t i = 0; i < s.tasks.size() && code == done; ++i)
        if (!std::isfinite(searches.back().best_latency[i]))
            code = complain(program, {augur::errc::not_found, "no trial of " + s.baselines[i].name + " succeeded"}, failed);
    return code;
}

} // namespace examples
