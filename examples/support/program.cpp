// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.hpp"

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/record/replace_file.hpp>

#include "console.hpp"
#include "report.hpp"
#include "session.hpp"

namespace examples {

namespace {

std::vector<named_file> files_of(const job& j) {
    std::vector<named_file> out{
        {"--log", j.options.log, true}, {"--report", j.report, true}, {"--known", j.options.known, false}, {"--machine", j.options.machine, false}};
    for (const auto& log : j.options.transfer_from) out.push_back({"--transfer", log, false});
    for (const auto& log : j.options.demonstrations) out.push_back({"--demonstrations", log, false});
    out.push_back({"--parameters", j.whole.parameters, false});
    for (const char* name : network_file_names)
        if (!j.whole.folder.empty()) out.push_back({"--emit", j.whole.folder + "/" + name, true});
    return out;
}

/// The weights alone may be learned on in their place.
augur::result<void> keep_apart(const job& j) {
    auto with_weights = files_of(j), with_model = with_weights;
    with_weights.push_back({"--save-model", j.save_model, true});
    if (auto apart = keep_apart(with_weights); !apart) return apart;
    with_model.push_back({"--model", j.options.search.model, false});
    with_model.push_back({"--weights", j.options.search.weights, false});
    return keep_apart(with_model);
}

/// What a session would report if its search had been this one.
augur::session_report report_of(augur::session& s, augur::search_report found, const augur::session_hooks& hooks) {
    s.measure_best(std::span(&found, 1), hooks);
    auto report = s.report();
    report.searches = {std::move(found)};
    return report;
}

} // namespace

int run_job(const char* program, job j) {
    catch_signals();
    if (auto apart = keep_apart(j); !apart) return complain(program, apart.error(), misuse);
    const auto log = j.no_search ? std::exchange(j.options.log, {}) : std::string();
    auto session = augur::session::create(j.options);
    if (!session) return complain(program, session.error(), misuse);
    std::optional<augur::search_report> recorded; // in place of a search
    if (j.no_search) {
        auto found = log.empty() ? augur::result<augur::search_report>(augur::search_report("untuned", session->tasks().size()))
                                 : session->recorded("recorded", log);
        if (!found) return complain(program, found.error(), misuse);
        recorded = *std::move(found);
    }
    if (!j.save_model.empty() && !session->trains_tlp())
        return complain(program, {augur::errc::invalid_argument, "--save-model writes the weights of TLP, which this search does not train"}, misuse);
    if (auto ready = prepare_whole(j.whole); !ready) return complain(program, ready.error(), misuse);
    for (const auto* path : {&j.report, &j.save_model}) { // now, not after the work
        if (path->empty()) continue;
        if (auto writable = can_write(*path); !writable) return complain(program, writable.error(), misuse);
    }

    progress_line line;
    const auto hooks = hooks_on(line);
    if (!j.options.collect)
        if (auto measured = session->measure_baselines(hooks); !measured) return complain(program, measured.error(), failed);
    line.clear();
    for (const auto& [name, text] : facts_of(session->report())) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    std::fflush(stdout);
    std::optional<augur::loopnest::network_runner> whole;
    const auto open_whole = [&]() -> augur::result<void> {
        auto opened = open_network(*session, j.whole, line);
        if (!opened) return opened.error();
        whole.emplace(*std::move(opened));
        return {};
    };
    if (j.whole.weighs && !stop_requested().load()) {
        if (auto opened = open_whole(); !opened) return complain(program, opened.error(), failed);
        const auto weights = weights_inside(*session, *whole, line);
        if (!weights) return complain(program, weights.error(), failed);
        if (auto weighed = session->weigh(*weights); !weighed) return complain(program, weighed.error(), failed);
    }
    const auto report = recorded ? augur::result<augur::session_report>(report_of(*session, *std::move(recorded), hooks)) : session->tune(hooks);
    line.clear();
    if (!report) return complain(program, report.error(), failed);

    std::printf("\n");
    if (!j.options.collect) std::printf("%s\n", table_text(result_table(*report)).c_str());
    for (const auto& one : report->searches)
        for (const auto& text : account_of(one)) std::printf("%s\n", text.c_str());
    int code = stop_requested().load() ? interrupted : done;
    if (!j.options.log.empty()) std::printf("log     %s\n", j.options.log.c_str());
    if (!j.report.empty()) {
        if (auto written = augur::replace_file(j.report, report_html(*report)); !written) code = complain(program, written.error(), failed);
        else std::printf("report  %s\n", j.report.c_str());
    }
    if (!j.save_model.empty()) {
        if (auto written = session->save_model(j.save_model); !written && code == interrupted) std::printf("no model: nothing was learned yet\n");
        else if (!written) code = complain(program, written.error(), failed);
        else std::printf("model   %s\n", j.save_model.c_str());
    }
    std::fflush(stdout);
    const auto& tuned = report->searches.back();
    if (tuned.failed) return complain(program, *tuned.failed, failed);
    if (j.whole.graph && code == done) {
        auto measured = whole ? augur::result<void>() : open_whole();
        if (measured) measured = measure_whole(*session, *whole, *report, j.whole, line);
        if (!measured) code = complain(program, measured.error(), failed);
        if (stop_requested().load()) code = interrupted;
        std::fflush(stdout);
    }
    if (j.no_search) return code;
    for (std::size_t i = 0; i < report->kernels.size() && code == done; ++i)
        if (!std::isfinite(tuned.best_latency[i]))
            code = complain(program, {augur::errc::not_found, "no trial of " + report->kernels[i].label + " succeeded"}, failed);
    return code;
}

} // namespace examples
