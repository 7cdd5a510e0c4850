// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "report.hpp"

namespace examples {

int run_job(const char* program, job j) {
    catch_signals();
    session s(std::move(j.what));
    if (auto ready = s.prepare(); !ready) return complain(program, ready.why(), misuse);
    for (const auto* path : {&j.report, &j.save_model}) { // now, not after the work
        if (path->empty()) continue;
        if (auto writable = can_write(*path); !writable) return complain(program, writable.why(), misuse);
    }

    progress_line progress;
    if (!j.collect)
        if (auto measured = s.measure_baselines(progress); !measured) return complain(program, measured.why(), failed);
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
        if (auto written = write_file(j.report, report_html(s, searches)); !written) code = complain(program, written.why(), failed);
        else std::printf("report  %s\n", j.report.c_str());
    }
    if (!j.save_model.empty()) {
        if (auto written = s.save_model(j.save_model); !written) code = complain(program, written.why(), failed);
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
