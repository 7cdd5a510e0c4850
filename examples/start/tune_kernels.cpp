// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tunes kernels from C++ with the embedded compiler; a program of its own needs only this file and the component augur::session.
#include <cmath>
#include <cstdio>

#include <augur/session.hpp>

int main() {
    augur::session_options options;
    options.work.name = "two kernels"; // or: options.work = *augur::find_network("resnet_18");
    for (const char* k : {"dense:m=16,n=256,k=64,bias,relu", "conv2d:h=14,w=14,c=16,f=32,k=3,pad=1,bias"})
        if (auto added = options.work.add(augur::kernel::parse(k)); !added) return std::puts(added.error().detail.c_str()), 2;
    options.search.model = "none"; // "tlp" learns from what is measured
    options.search.trials = 4;     // of each kernel; 64 is a useful number

    auto session = augur::session::create(options);
    if (!session) return std::puts(session.error().detail.c_str()), 2;
    const auto report = session->tune();
    if (!report) return std::puts(report.error().detail.c_str()), 1;
    const auto& search = report->searches.back();
    if (search.failed) return std::puts(search.failed->detail.c_str()), 1;
    for (std::size_t k = 0; k < report->kernels.size(); ++k)
        std::printf("%-40s untuned %8.4f ms, tuned %8.4f ms\n", report->kernels[k].label.c_str(), 1e3 * report->kernels[k].untuned,
                    1e3 * search.result[k].latency);
    std::printf("%-40s %27.4f ms\n", options.work.name.c_str(), 1e3 * report->network_latency(0));
    return std::isfinite(report->network_latency(0)) ? 0 : 1; // infinite: a kernel of which nothing ran
}
