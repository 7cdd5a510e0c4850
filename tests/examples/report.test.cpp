// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HTML report of `tune`, from a session that was made up.
#include "../may_skip.hpp"
#include "../../examples/support/report.hpp"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "page_layout.hpp"

namespace report_test {

namespace {

std::string made_up_report() {
    auto work = augur::find_network("resnet_18");
    REQUIRE(work);
    work->kernels.erase(work->kernels.begin() + 5, work->kernels.end());
    augur::session_report r;
    r.options.work = *std::move(work);
    r.options.log = "/home/somebody/a-folder-with-a-long-name/another-folder-with-a-long-name/and-a-log-of-the-tuner.jsonl";
    r.threads = 2;
    r.host.cpu_name = "AMD EPYC 9655P 96-Core Processor of a machine whose name takes more than one line on a page that is not very wide at all";
    r.roofline.flops_all = 478e9; // "limits measured"
    r.roofline.read_all = 41e9;
    const std::size_t kernels = r.options.work.kernels.size();
    r.searches = {augur::search_report("random", kernels), augur::search_report("tuned", kernels)};
    for (std::size_t k = 0; k < kernels; ++k) {
        const double scale = k == 0 ? 0.5 : k == 1 ? 1e-3 : 1e-6; // ticks of all lengths
        r.kernels.push_back({augur::kernel_label(r.options.work.kernels[k].workload), 2, 1e9 * scale, 1e9 * scale, 1e6, 900 * scale, 40 * scale,
                             5 * scale, k == 1 ? augur::roofline_bound::read_bandwidth : augur::roofline_bound::multiply_adds});
        for (auto& one : r.searches) {
            auto& trials = one.latencies[k];
            for (int i = 0; i < 64; ++i) trials.push_back(scale * (&one == &r.searches[0] ? 13 : 10) * (1 + 20.0 / (i + 1)));
            one.best_latency[k] = one.checked_latency[k] = one.result[k].latency = trials.back();
        }
    }
    return examples::report_html(r);
}

} // namespace

TEST_CASE("report: in a browser no text lies upon another, and each fact stands beside its name" MAY_SKIP) {
    const scratch folder("report-test");
    const auto page = made_up_report();
    CHECK(contains(page, "limits measured"));
    CHECK_FALSE(contains(page, "<script"));
    if (const char* const keep = std::getenv("AUGUR_KEEP_REPORT")) std::ofstream(keep) << page; // to look at
    if (!check_layout(folder, page)) SKIP_CASE("there is no chromium (Debian: apt-get install chromium)");
}

} // namespace report_test
