// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HTML report of `tune`, from a session that was made up.
#include "../../examples/support/report.hpp"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "page_layout.hpp"

namespace {

std::string made_up_report() {
    auto work = augur::find_network("resnet_18");
    REQUIRE(work);
    work->kernels.erase(work->kernels.begin() + 5, work->kernels.end());
    examples::settings settings;
    settings.work = *std::move(work);
    settings.trials = 64;
    settings.threads = 2;
    settings.log = "/home/somebody/a-folder-with-a-long-name/another-folder-with-a-long-name/and-a-log-of-the-tuner.jsonl";
    examples::session s(std::move(settings));
    s.on.cpu_name = "AMD EPYC 9655P 96-Core Processor of a machine whose name takes more than one line on a page that is not very wide at all";
    s.peak.flops_all = 478e9; // "limits measured"
    s.peak.read_all = 41e9;
    std::vector<examples::searched> searches(2);
    searches[0].name = "random";
    searches[1].name = "tuned";
    for (std::size_t k = 0; k < s.with.work.kernels.size(); ++k) {
        const auto& kernel = s.with.work.kernels[k];
        auto task = augur::loopnest::kernel_task::create(kernel.what, s.on.hardware(2));
        REQUIRE(task);
        s.tasks.push_back(*std::move(task));
        const double scale = k == 0 ? 0.5 : k == 1 ? 1e-3 : 1e-6; // ticks of all lengths
        s.baselines.push_back({examples::label(kernel.what), 2, 900 * scale, 40 * scale, 1e9 * scale, 1e6, 5 * scale, k == 1});
        for (auto& one : searches) {
            auto& trials = one.latencies.emplace_back();
            for (int i = 0; i < 64; ++i) trials.push_back(scale * (&one == &searches[0] ? 13 : 10) * (1 + 20.0 / (i + 1)));
            one.best_latency.push_back(trials.back());
            one.checked_latency.push_back(trials.back());
        }
    }
    return examples::report_html(s, searches);
}

} // namespace

TEST_CASE("report: in a browser no text lies upon another, and each fact stands beside its name") {
    const scratch folder("report-test");
    const auto page = made_up_report();
    CHECK(contains(page, "limits measured"));
    CHECK_FALSE(contains(page, "<script"));
    if (const char* const keep = std::getenv("AUGUR_KEEP_REPORT")) std::ofstream(keep) << page; // to look at
    check_layout(folder, page);
}
